// faultproxy stands between a client and a real kube-apiserver and misbehaves as told.
//
// It serves HTTPS with HTTP/2 by the API server's own certificate, passes every request on, and answers
// those that match a rule with the rule's fault instead (faults.go). Rules are set over plain HTTP
// at the control address: PUT /rules a JSON list of them, GET /rules the same with the number of
// requests that each has met. It prints one JSON line with both addresses and serves until its
// standard input is closed.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type connKey struct{}

func certificate(pki, name string) tls.Certificate {
	path := filepath.Join(pki, name)
	pair, err := tls.LoadX509KeyPair(path+".crt", path+".key")
	check(err)
	return pair
}

// upstream is what passes requests on: by the token in the request, or else as the administrator.
func upstream(server, pki string, rules *ruleSet) *httputil.ReverseProxy {
	target, err := url.Parse(server)
	check(err)
	pem, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	admin := certificate(pki, "admin")
	transport := func(certs ...tls.Certificate) http.RoundTripper {
		return &http.Transport{
			ForceAttemptHTTP2: true,
			TLSClientConfig:   &tls.Config{RootCAs: pool, Certificates: certs},
		}
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = target.Host
		},
		Transport:      byCredentials{transport(admin), transport()},
		FlushInterval:  -1,
		ErrorLog:       log.New(io.Discard, "", 0),
		ModifyResponse: rules.modify,
	}
}

type byCredentials struct{ admin, nobody http.RoundTripper }

func (b byCredentials) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return b.nobody.RoundTrip(r)
	}
	return b.admin.RoundTrip(r)
}

func control(rules *ruleSet) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/rules" {
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodPut {
			if err := rules.replace(r.Body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		json.NewEncoder(w).Encode(rules.list())
	})
}

func main() {
	server := flag.String("server", "", "URL of the API server")
	pki := flag.String("pki", "", "folder with ca.crt, and apiserver and admin as .crt and .key")
	flag.Parse()

	rules := &ruleSet{}
	proxy := &http.Server{
		Handler:   &faulty{rules, upstream(*server, *pki, rules)},
		ErrorLog:  log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate(*pki, "apiserver")}},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	back, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	json.NewEncoder(os.Stdout).Encode(map[string]string{
		"server": "https://" + front.Addr().String(), "control": "http://" + back.Addr().String(),
	})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	go func() { log.Fatal(http.Serve(back, control(rules))) }()
	log.Fatal(proxy.ServeTLS(front, "", ""))
}
