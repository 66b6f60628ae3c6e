package interop

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

// forward lets TCP clients, which is all that h2spec can be, reach a unix socket.
func forward(t *testing.T, path string) *net.TCPAddr {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", path)
			if err != nil {
				from.Close()
				continue
			}
			go join(from.(*net.TCPConn), to.(*net.UnixConn))
		}
	}()
	return listener.Addr().(*net.TCPAddr)
}

// join ends one direction at a time, because a socket that is closed with something unread resets its peer.
func join(a *net.TCPConn, b *net.UnixConn) {
	done := make(chan bool)
	go func() {
		io.Copy(b, a)
		b.CloseWrite()
		close(done)
	}()
	io.Copy(a, b)
	a.CloseWrite()
	<-done
	a.Close()
	b.Close()
}

// What nghttp2 does otherwise on purpose.
var deviations = map[string]string{
	"http2/5.1.1: Sends stream identifier that is numerically smaller than previous": "it is ignored, because " +
		"trailers of a stream that we have reset meanwhile look the same",
}

func TestServerConformsToHTTP2(t *testing.T) {
	p := serve(t)
	at := forward(t, p.path)
	h2spec := &config.Config{
		Host: at.IP.String(), Port: at.Port, Path: "/", Timeout: 2 * time.Second, MaxHeaderLen: 4000, Strict: true,
	}

	total := 0
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		group.Test(h2spec)
		total += report(t, group)
	}
	if total < 140 {
		t.Fatalf("only %d tests were run", total)
	}
	p.stop()
}

// report counts the tests of a group that were run.
func report(t *testing.T, group *spec.TestGroup) int {
	total := 0
	for _, test := range append(group.Tests, group.StrictTests...) {
		name := group.ID() + ": " + test.Desc
		if test.Result == nil {
			continue
		}
		total++
		reason, deviates := deviations[name]
		switch {
		case test.Result.Skipped:
			t.Errorf("%s: skipped", name)
		case test.Result.Failed && !deviates:
			t.Errorf("%s: %v", name, test.Result.Error)
		case !test.Result.Failed && deviates:
			t.Errorf("%s: does conform, though %s", name, reason)
		}
	}
	for _, part := range group.Groups {
		total += report(t, part)
	}
	return total
}
