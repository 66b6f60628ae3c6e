package interop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const frameMax = 16384

// A peer writes frames by hand. What it writes waits for flush, and may be nonsense.
type peer struct {
	*http2.Framer // writes
	t             *testing.T
	conn          *net.UnixConn
	out, block    bytes.Buffer
	hpack         *hpack.Encoder

	mu      sync.Mutex
	answers map[uint32]*reply
	goaway  *http2.GoAwayFrame
	ended   bool
}

// reply is what came on one stream.
type reply struct {
	http, grpc, message string
	data                int
	over                bool // an end, or a reset
}

func (a *reply) String() string {
	if a.grpc == "" {
		return "HTTP " + a.http
	}
	return a.grpc + ": " + a.message
}

// connect is a connection on which nothing was said; its answers are read if it listens.
func connect(t *testing.T, path string, listens bool) *peer {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path})
	check(t, err)
	p := &peer{t: t, conn: conn, answers: map[uint32]*reply{}}
	p.Framer = http2.NewFramer(&p.out, nil)
	p.AllowIllegalWrites = true
	p.hpack = hpack.NewEncoder(&p.block)
	t.Cleanup(func() { conn.Close() })
	if listens {
		go p.listen()
	}
	return p
}

// greet is a connection that has begun as it should.
func greet(t *testing.T, path string, settings ...http2.Setting) *peer {
	t.Helper()
	p := connect(t, path, true)
	p.out.WriteString(http2.ClientPreface)
	p.WriteSettings(settings...)
	p.flush()
	return p
}

func (p *peer) listen() {
	framer := http2.NewFramer(nil, p.conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := framer.ReadFrame()
		p.mu.Lock()
		if err != nil {
			p.ended = true
			p.mu.Unlock()
			return
		}
		p.take(frame)
		p.mu.Unlock()
	}
}

func (p *peer) take(frame http2.Frame) {
	id := frame.Header().StreamID
	if p.answers[id] == nil {
		p.answers[id] = &reply{}
	}
	a := p.answers[id]
	switch f := frame.(type) {
	case *http2.MetaHeadersFrame:
		for _, field := range f.Fields {
			switch field.Name {
			case ":status":
				a.http = field.Value
			case "grpc-status":
				a.grpc = field.Value
			case "grpc-message":
				a.message = field.Value
			}
		}
		a.over = a.over || f.StreamEnded()
	case *http2.DataFrame:
		a.data += len(f.Data())
		a.over = a.over || f.StreamEnded()
	case *http2.RSTStreamFrame:
		if a.http == "" {
			a.http = "reset " + f.ErrCode.String()
		}
		a.over = true
	case *http2.GoAwayFrame:
		goaway := *f
		p.goaway = &goaway
	}
}

// flush sends what was written; false: the other side has closed, or does not read.
func (p *peer) flush() bool {
	p.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, err := p.conn.Write(p.out.Bytes())
	p.out.Reset()
	return err == nil
}

func (p *peer) isOver() (bool, *http2.GoAwayFrame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended, p.goaway
}

// closes waits until the other side has closed.
func (p *peer) closes(within time.Duration) *http2.GoAwayFrame {
	p.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if over, goaway := p.isOver(); over {
			return goaway
		}
	}
	p.t.Fatalf("not closed within %v", within)
	return nil
}

// answer waits for the end of a stream.
func (p *peer) answer(id uint32) *reply {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		p.mu.Lock()
		a, ended := p.answers[id], p.ended
		over := a != nil && a.over
		p.mu.Unlock()
		if over {
			return a
		}
		if ended {
			p.t.Fatalf("the connection ended before stream %d", id)
		}
	}
	p.t.Fatalf("no answer on stream %d", id)
	return nil
}

// head is a block of headers: of a usual call of the method, with others in place of some, or besides.
func (p *peer) head(path string, others ...string) []byte {
	fields := []string{":method", "POST", ":scheme", "http", ":path", path, ":authority", "localhost",
		"content-type", "application/grpc", "te", "trailers"}
	usual := len(fields)
	for i := 0; i < len(others); i += 2 {
		if at := slices.Index(fields[:usual], others[i]); at >= 0 {
			fields[at+1] = others[i+1]
		} else {
			fields = append(fields, others[i], others[i+1])
		}
	}
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		p.hpack.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(p.block.Bytes())
}

// open writes a block of headers in as many frames as it takes.
func (p *peer) open(id uint32, block []byte, end bool) {
	first := block[:min(len(block), frameMax)]
	block = block[len(first):]
	p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndStream: end, EndHeaders: len(block) == 0})
	for len(block) > 0 {
		part := block[:min(len(block), frameMax)]
		block = block[len(part):]
		p.WriteContinuation(id, len(block) == 0, part)
	}
}

// prefixed is a message as gRPC frames it, with a length that may be a lie.
func prefixed(flag byte, length uint32, message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, length), message...)
}

func plain(message []byte) []byte {
	return prefixed(0, uint32(len(message)), message)
}

// send writes and flushes data and the stream's end, within windows that are large enough.
func (p *peer) send(id uint32, data []byte) {
	for len(data) > frameMax {
		p.WriteData(id, false, data[:frameMax])
		data = data[frameMax:]
	}
	p.WriteData(id, true, data)
	p.flush()
}

// A target is a node whose kubelet and one other client are served while it is attacked.
type target struct {
	*node
	kubelet  *fakeKubelet
	client   plugin.DevicePluginClient
	device   string
	devices  int
	stop     chan struct{}
	calls    chan []time.Duration
	path     string
	began    int // KiB
	failures chan error
}

var memory = regexp.MustCompile(`Vm(RSS|HWM):\s+(\d+) kB`)

// resident is the program's memory in KiB: now, and at its peak since resetPeak.
func resident(t *testing.T, pid int) (now, peak int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check(t, err)
	for _, m := range memory.FindAllStringSubmatch(string(text), -1) {
		kib, err := strconv.Atoi(m[2])
		check(t, err)
		if m[1] == "RSS" {
			now = kib
		} else {
			peak = kib
		}
	}
	return now, peak
}

func resetPeak(t *testing.T, pid int) {
	t.Helper()
	check(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0))
}

func newTarget(t *testing.T, devices, digits int) *target {
	g := &target{node: newNode(t, fmt.Sprint(devices, digits)), devices: devices, stop: make(chan struct{}),
		calls: make(chan []time.Duration, 1), failures: make(chan error, 1)}
	g.kubelet = newKubelet(t, g.dir)
	g.kubelet.serve("kubelet.sock")
	g.kubelet.takes(devices)
	g.path = g.endpoint()
	g.client = plugin.NewDevicePluginClient(dial(t, g.path))
	g.device = fmt.Sprintf("device-%0*d", digits, 0)
	g.allocates(50)
	resetPeak(t, g.pid)
	g.began, _ = resident(t, g.pid)
	go g.allocateOn()
	return g
}

func (g *target) allocates(times int) {
	g.t.Helper()
	for range times {
		_, err := g.client.Allocate(within(g.t), allocateRequest(g.device))
		check(g.t, err)
	}
}

// allocateOn is the other client: a call every few milliseconds.
func (g *target) allocateOn() {
	var took []time.Duration
	for {
		select {
		case <-g.stop:
			g.calls <- took
			return
		case <-time.After(3 * time.Millisecond):
		}
		began := time.Now()
		if _, err := g.client.Allocate(within(g.t), allocateRequest(g.device)); err != nil {
			g.failures <- err
			g.calls <- took
			return
		}
		took = append(took, time.Since(began))
	}
}

// survives ends the test: everybody was served, and memory grew by no more than so many KiB.
func (g *target) survives(growth int) {
	g.t.Helper()
	close(g.stop)
	took := <-g.calls
	select {
	case err := <-g.failures:
		g.t.Fatalf("another client was not served: %v", err)
	default:
	}
	slices.Sort(took)
	var median, slowest time.Duration
	if len(took) > 0 {
		median, slowest = took[len(took)/2], took[len(took)-1]
	}
	_, peak := resident(g.t, g.pid)
	g.t.Logf("%d calls of another client, median %v, slowest %v; peak of memory %d KiB more than the %d KiB before",
		len(took), median, slowest, peak-g.began, g.began)
	if median > unhurried {
		g.t.Fatalf("calls usually took %v", median)
	}
	if peak-g.began > growth {
		g.t.Fatalf("memory grew by %d KiB", peak-g.began)
	}
	g.allocates(10)
	g.say(fmt.Sprintf("offer %s %d", resource, g.devices+1))
	for got := 0; got != g.devices+1; {
		select {
		case got = <-g.kubelet.lists:
		case <-time.After(patience):
			g.t.Fatal("the kubelet gets no lists any more")
		}
	}
	if calls := len(g.kubelet.attempts()); calls != 1 {
		g.t.Fatalf("the kubelet had to be told %d times", calls)
	}
	g.node.stop()
}

// leaves waits until the program has no more descriptors than that.
func (n *node) leaves(fds int) {
	n.t.Helper()
	now := 0
	for end := time.Now().Add(prompt); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if now = countFds(n.t, n.pid); now <= fds {
			return
		}
	}
	n.t.Fatalf("%d descriptors, not %d", now, fds)
}
