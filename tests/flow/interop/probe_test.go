// grpc-go, or frames by hand, on one end of a unix socket, our gRPC on the other: grpc-probe, or plugin-probe with
// the agent's device plugins.
//
// GRPC_PROBE and PLUGIN_PROBE name the programs.
package interop

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Nothing here takes long; a test that waits so long has failed.
const patience = 60 * time.Second

// As the kubelet calls.
var plaintext = []grpc.DialOption{grpc.WithAuthority("localhost"),
	grpc.WithTransportCredentials(insecure.NewCredentials())}

type probe struct {
	t     *testing.T
	stdin io.WriteCloser
	lines chan string
	done  chan error
	pid   int
	path  string // of its socket, if there is one
}

// newProbe starts the program that the variable of the environment names.
func newProbe(t *testing.T, variable string, args ...string) *probe {
	program := os.Getenv(variable)
	if program == "" {
		t.Fatalf("%s does not name a program", variable)
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	check(t, err)
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	p := &probe{t: t, stdin: stdin, lines: make(chan string, 10000), done: make(chan error, 1), pid: cmd.Process.Pid}
	go func() {
		reader := bufio.NewReaderSize(stdout, 1<<16)
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				break
			}
			p.lines <- strings.TrimSuffix(line, "\n")
		}
		close(p.lines)
		p.done <- cmd.Wait()
	}()
	p.expect("ready")
	return p
}

// stop ends the input; the probe must end by itself, with every handle of its loop closed.
func (p *probe) stop() {
	p.t.Helper()
	check(p.t, p.stdin.Close())
	line := p.next()
	for !strings.HasPrefix(line, "closed ") {
		line = p.next()
	}
	if line != "closed 0" {
		p.t.Fatalf("the probe ends with %q", line)
	}
	select {
	case err := <-p.done:
		check(p.t, err)
	case <-time.After(patience):
		p.t.Fatal("the probe does not end")
	}
}

func (p *probe) say(command string) {
	p.t.Helper()
	_, err := io.WriteString(p.stdin, command+"\n")
	check(p.t, err)
}

// next is the next line of the probe.
func (p *probe) next() string {
	p.t.Helper()
	select {
	case line, more := <-p.lines:
		if !more {
			p.t.Fatal("the probe has ended")
		}
		return line
	case <-time.After(patience):
		p.t.Fatal("the probe says nothing")
	}
	return ""
}

func (p *probe) expect(want string) {
	p.t.Helper()
	if line := p.next(); line != want {
		p.t.Fatalf("the probe says %q, not %q", line, want)
	}
}

// serve starts the probe as a server, with limits like "hello_ms=300".
func serve(t *testing.T, limits ...string) *probe {
	path := filepath.Join(t.TempDir(), "plugin.sock")
	p := newProbe(t, "GRPC_PROBE", append([]string{"serve", path}, limits...)...)
	p.path = path
	return p
}

// call starts the probe as a client.
func call(t *testing.T, path string) *probe {
	p := newProbe(t, "GRPC_PROBE", "call", path)
	p.path = path
	return p
}

func dial(t *testing.T, path string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+path, plaintext...)
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// listen starts a grpc-go server and the probe as its client.
func listen(t *testing.T, register func(*grpc.Server), options ...grpc.ServerOption) (*grpc.Server, *probe) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.sock")
	listener, err := net.Listen("unix", path)
	check(t, err)
	server := grpc.NewServer(options...)
	register(server)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return server, call(t, path)
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
