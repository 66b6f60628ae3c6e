// apiserver is a server that misbehaves on request: each path is one way an API server, or what
// stands between it and us, can answer. It prints one JSON line with its address and the files a
// client needs, and serves until its standard input is closed.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

var connections, requests atomic.Int64

// credentials writes a CA, a server and a client certificate to dir and returns the server's.
func credentials(dir string, names []string) (tls.Certificate, *x509.CertPool) {
	caKey, caDER := certificate(nil, nil, "fake-ca", nil)
	ca, err := x509.ParseCertificate(caDER)
	check(err)
	key, der := certificate(ca, caKey, "kube-apiserver", names)
	clientKey, clientDER := certificate(ca, caKey, "tester", nil)
	write(dir, "ca.crt", "CERTIFICATE", caDER)
	write(dir, "client.crt", "CERTIFICATE", clientDER)
	clientKeyDER, err := x509.MarshalPKCS8PrivateKey(clientKey)
	check(err)
	write(dir, "client.key", "PRIVATE KEY", clientKeyDER)
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func certificate(ca *x509.Certificate, caKey *ecdsa.PrivateKey, name string, names []string) (*ecdsa.PrivateKey, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	check(err)
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	if ca == nil {
		template.IsCA = true
		template.KeyUsage |= x509.KeyUsageCertSign
		ca, caKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
	check(err)
	return key, der
}

func write(dir, name, kind string, der []byte) {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	check(os.WriteFile(filepath.Join(dir, name), text, 0o600))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func status(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure",
		"code": code, "reason": reason, "message": message,
	})
}

func number(r *http.Request, name string, otherwise int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return otherwise
	}
	return n
}

// pour sends size bytes of the same letter.
func pour(w http.ResponseWriter, size int) {
	chunk := []byte(strings.Repeat("x", 64<<10))
	for sent := 0; sent < size; sent += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

// hang waits until the client has gone.
func hang(r *http.Request) { <-r.Context().Done() }

// watch sends n events, every ms milliseconds, and ends as the query says.
func watch(w http.ResponseWriter, r *http.Request) {
	flush(w)
	for i := 0; i < number(r, "n", 3); i++ {
		fmt.Fprintf(w, "{\"type\":\"ADDED\",\"object\":{\"n\":%d}}\n", i)
		flush(w)
		time.Sleep(time.Duration(number(r, "ms", 0)) * time.Millisecond)
	}
	switch r.URL.Query().Get("end") {
	case "reset":
		panic(http.ErrAbortHandler)
	case "hang":
		hang(r)
	}
}

func handlers(tokenFile string, strict bool) http.Handler {
	mux := http.NewServeMux()
	var unauthorized atomic.Int64
	handle := func(path string, fn http.HandlerFunc) { mux.HandleFunc(path, fn) }

	handle("/ok", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		name := ""
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			name = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		json.NewEncoder(w).Encode(map[string]any{
			"method": r.Method, "proto": r.Proto, "body": string(body), "client": name,
			"authorization": r.Header.Get("Authorization"), "agent": r.UserAgent(),
			"type": r.Header.Get("Content-Type"), "query": r.URL.RawQuery, "host": r.Host,
		})
	})
	handle("/counts", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"connections":%d,"requests":%d}`, connections.Load(), requests.Load())
	})
	handle("/status", func(w http.ResponseWriter, r *http.Request) {
		if after := r.URL.Query().Get("after"); after != "" {
			w.Header().Set("Retry-After", after)
		}
		if ms := number(r, "after-date-s", 0); ms != 0 {
			at := time.Now().Add(time.Duration(ms) * time.Second)
			w.Header().Set("Retry-After", at.UTC().Format(http.TimeFormat))
		}
		status(w, number(r, "code", 200), r.URL.Query().Get("reason"), r.URL.Query().Get("message"))
	})
	// The first request of each run of two is refused.
	handle("/401-once", func(w http.ResponseWriter, r *http.Request) {
		if unauthorized.Add(1)%2 == 1 {
			status(w, 401, "Unauthorized", "Unauthorized")
			return
		}
		fmt.Fprint(w, `{}`)
	})
	// Only the token that the file holds now is good.
	handle("/token", func(w http.ResponseWriter, r *http.Request) {
		text, _ := os.ReadFile(tokenFile)
		if r.Header.Get("Authorization") != "Bearer "+strings.TrimSpace(string(text)) {
			status(w, 401, "Unauthorized", "Unauthorized")
			return
		}
		fmt.Fprint(w, `{}`)
	})
	handle("/garbage", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<html>\x00\xff\xfe")) })
	handle("/garbage-502", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(502)
		w.Write([]byte("<html>\xff bad gateway\nsecond line"))
	})
	handle("/big", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(number(r, "code", 200))
		pour(w, 64<<20)
	})
	handle("/page", func(w http.ResponseWriter, r *http.Request) { pour(w, 8<<20) })
	handle("/deep", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(number(r, "code", 200))
		io.WriteString(w, strings.Repeat(`{"a":`, 100000))
	})
	handle("/hang", func(w http.ResponseWriter, r *http.Request) { hang(r) })
	handle("/hang-body", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"half":`)
		flush(w)
		hang(r)
	})
	handle("/reset", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(number(r, "code", 200))
		io.WriteString(w, `{"half":`)
		flush(w)
		panic(http.ErrAbortHandler)
	})
	handle("/drip", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, " ")
			flush(w)
			time.Sleep(20 * time.Millisecond)
		}
	})
	handle("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/ok", http.StatusFound)
	})
	handle("/watch", watch)
	handle("/watch-long-line", func(w http.ResponseWriter, r *http.Request) { pour(w, 64<<20) })
	// One line, cut at every byte.
	handle("/watch-bytes", func(w http.ResponseWriter, r *http.Request) {
		for _, c := range []byte("{\"type\":\"ADDED\"}\n{\"type\":\"BOOKMARK\"}\n") {
			w.Write([]byte{c})
			flush(w)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		// Over HTTP/2 this is a GOAWAY, as kube-apiserver sends it.
		if strict && r.Header.Get("Authorization") == "" {
			w.Header().Set("Connection", "close")
		}
		mux.ServeHTTP(w, r)
	})
}

func main() {
	dir := flag.String("dir", "", "folder for the certificates")
	http1 := flag.Bool("http1", false, "do not offer HTTP/2")
	strict := flag.Bool("strict", false, "take no more on a connection behind a request without a token")
	name := flag.String("name", "127.0.0.1", "the only name in the certificate")
	port := flag.Int("port", 0, "port; 0 takes a free one")
	flag.Parse()

	cert, pool := credentials(*dir, []string{*name})
	server := &http.Server{
		Handler:  handlers(filepath.Join(*dir, "token"), *strict),
		ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{cert},
			ClientAuth:   tls.VerifyClientCertIfGiven,
			ClientCAs:    pool,
		},
		ConnState: func(c net.Conn, s http.ConnState) {
			if s == http.StateNew {
				connections.Add(1)
			}
		},
	}
	if *http1 {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	check(err)
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"server": "https://" + listener.Addr().String(), "pid": os.Getpid(), "dir": *dir,
	})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(server.ServeTLS(listener, "", ""))
}
