package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"
)

// faulty serves requests: by the fault of the first rule that matches, else by the API server.
type faulty struct {
	rules *ruleSet
	next  *httputil.ReverseProxy
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rule := f.rules.match(r)
	if rule == nil {
		f.next.ServeHTTP(w, r)
		return
	}
	if answer := faults[rule.Fault].answer; answer != nil {
		answer(w, r, rule)
		return
	}
	if rule.Fault == "pages" {
		askForPages(r, rule.Count)
	}
	r.Header.Del("Accept-Encoding")
	f.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), ruleKey{}, rule)))
}

type ruleKey struct{}

// A fault answers by itself, or changes the body that the API server sends; pages does neither.
type fault struct {
	answer func(http.ResponseWriter, *http.Request, *rule)
	change func(io.ReadCloser, *rule) io.ReadCloser
}

var faults = map[string]fault{
	"status":       {answer: status},      // Code, Reason, Message, RetryAfter
	"status-html":  {answer: statusHTML},  // Code, as a gateway writes it
	"watch-error":  {answer: watchError},  // 200 and an ERROR event with Code, Reason, Message
	"watch-end":    {answer: watchEnd},    // 200 and nothing
	"garbage":      {answer: garbage},     // 200 and something
	"big":          {answer: big},         // 64 MiB, as an object, list or event
	"deep":         {answer: deep},        // JSON that is nested 100,000 levels deep
	"hang":         {answer: hang},        // no head, ever
	"hang-body":    {answer: hangBody},    // a head and the first bytes
	"reset":        {answer: reset},       // of the connection
	"reset-stream": {answer: resetStream}, // of this request only
	"truncate":     {change: truncate},    // half of the body, then a reset of the stream
	"cut":          {change: cut},         // half of the body, then a proper end
	"drip":         {change: drip},        // one byte each millisecond
	"drop":         {change: drop},        // the first Count events of a watch are lost
	"duplicate":    {change: duplicate},   // events of a watch come twice
	"pages":        {},                    // a list comes in pages of Count
}

// modify changes the body of an answer whose request met such a fault. An API server that has just been told of new
// kinds refuses some requests itself (429): these stay as they are, and the fault waits for another.
func (s *ruleSet) modify(response *http.Response) error {
	rule, met := response.Request.Context().Value(ruleKey{}).(*rule)
	if !met || faults[rule.Fault].change == nil {
		return nil
	}
	if response.StatusCode >= 300 {
		s.unmeet(rule)
		return nil
	}
	body := response.Body
	if response.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = plain
	}
	response.Header.Del("Content-Encoding")
	response.Header.Del("Content-Length")
	response.ContentLength = -1
	response.Body = faults[rule.Fault].change(body, rule)
	return nil
}

// askForPages makes the API server cut a list, which it does only if it may not use its cache.
func askForPages(r *http.Request, size int) {
	query := r.URL.Query()
	query.Del("resourceVersion")
	query.Del("resourceVersionMatch")
	query.Set("limit", strconv.Itoa(size))
	r.URL.RawQuery = query.Encode()
}

// --- answers --------------------------------------------------------------

func statusObject(rule *rule) []byte {
	details := map[string]any{}
	if seconds, err := strconv.Atoi(rule.RetryAfter); err == nil {
		details["retryAfterSeconds"] = seconds
	}
	text, _ := json.Marshal(map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"code": rule.Code, "reason": rule.Reason, "message": rule.Message, "details": details,
	})
	return text
}

func status(w http.ResponseWriter, r *http.Request, rule *rule) {
	io.Copy(io.Discard, r.Body)
	if rule.RetryAfter != "" {
		w.Header().Set("Retry-After", rule.RetryAfter)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(rule.Code)
	w.Write(statusObject(rule))
}

func statusHTML(w http.ResponseWriter, r *http.Request, rule *rule) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(rule.Code)
	fmt.Fprintf(w, "<html>\n<title>%s</title>\xff\n</html>\n", rule.Message)
}

func watchError(w http.ResponseWriter, r *http.Request, rule *rule) {
	fmt.Fprintf(w, "{\"type\":\"ERROR\",\"object\":%s}\n", statusObject(rule))
}

func watchEnd(w http.ResponseWriter, r *http.Request, rule *rule) {}

func garbage(w http.ResponseWriter, r *http.Request, rule *rule) {
	io.WriteString(w, "<html>\x00\xff\xfe{\"kind\":\n[[[\n")
}

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

// frame returns what stands before and after an object in the answer that the request wants.
func frame(r *http.Request) (string, string) {
	switch verb(r) {
	case "list":
		return `{"metadata":{"resourceVersion":"1"},"items":[`, `]}`
	case "watch":
		return `{"type":"ADDED","object":`, "}\n"
	default:
		return "", ""
	}
}

func big(w http.ResponseWriter, r *http.Request, rule *rule) {
	head, tail := frame(r)
	io.WriteString(w, head+`{"metadata":{"name":"big","resourceVersion":"1","annotations":{"a":"`)
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	for i := 0; i < 1024; i++ {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
	io.WriteString(w, `"}}}`+tail)
}

func deep(w http.ResponseWriter, r *http.Request, rule *rule) {
	const levels = 100000
	head, tail := frame(r)
	io.WriteString(w, head+`{"metadata":{"name":"deep","resourceVersion":"1"},"status":`+
		strings.Repeat(`{"a":`, levels)+"1"+strings.Repeat("}", levels)+"}"+tail)
}

func hang(w http.ResponseWriter, r *http.Request, rule *rule) { <-r.Context().Done() }

func hangBody(w http.ResponseWriter, r *http.Request, rule *rule) {
	io.WriteString(w, `{"kind":`)
	flush(w)
	hang(w, r, rule)
}

func reset(w http.ResponseWriter, r *http.Request, rule *rule) {
	conn := r.Context().Value(connKey{}).(*tls.Conn).NetConn()
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

func resetStream(w http.ResponseWriter, r *http.Request, rule *rule) { panic(http.ErrAbortHandler) }

// --- bodies ---------------------------------------------------------------

// rewritten is the body that write makes of another.
func rewritten(from io.ReadCloser, write func(io.Writer, *bufio.Reader) error) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		err := write(in, bufio.NewReader(from))
		from.Close()
		in.CloseWithError(err) // nil is a proper end
	}()
	return out
}

func half(in io.Writer, from *bufio.Reader, end error) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	in.Write(text[:len(text)/2])
	return end
}

func truncate(from io.ReadCloser, rule *rule) io.ReadCloser {
	return rewritten(from, func(in io.Writer, r *bufio.Reader) error {
		return half(in, r, io.ErrUnexpectedEOF)
	})
}

func cut(from io.ReadCloser, rule *rule) io.ReadCloser {
	return rewritten(from, func(in io.Writer, r *bufio.Reader) error { return half(in, r, nil) })
}

func drip(from io.ReadCloser, rule *rule) io.ReadCloser {
	return rewritten(from, func(in io.Writer, r *bufio.Reader) error {
		for {
			b, err := r.ReadByte()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if _, err := in.Write([]byte{b}); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// lines passes a watch on, each line as often as told.
func lines(from io.ReadCloser, times func(n int) int) io.ReadCloser {
	return rewritten(from, func(in io.Writer, r *bufio.Reader) error {
		for n := 0; ; n++ {
			line, err := r.ReadBytes('\n')
			if err != nil {
				if err == io.EOF {
					return nil
				}
				return err
			}
			for i := 0; i < times(n); i++ {
				if _, err := in.Write(line); err != nil {
					return err
				}
			}
		}
	})
}

func drop(from io.ReadCloser, rule *rule) io.ReadCloser {
	return lines(from, func(n int) int {
		if n < rule.Count {
			return 0
		}
		return 1
	})
}

func duplicate(from io.ReadCloser, rule *rule) io.ReadCloser {
	return lines(from, func(n int) int { return 2 })
}
