package interop

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const watchCall = "/v1beta1.DevicePlugin/ListAndWatch"

func TestRow44HugeHeaders(t *testing.T) {
	long := func(n int) []string { return []string{"x-long", strings.Repeat("x", n)} }
	many := func(n int) []string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("x-%d", i), "y")
		}
		return all
	}
	cases := []struct {
		name   string
		others []string
		want   string // what the call is answered; "": the connection may end instead
	}{
		{"15,000 bytes", long(15000), "0: "},
		{"16,384 bytes", long(16384), "8: more than 16384 bytes of headers"},
		{"100 KiB", long(100 << 10), ""},
		{"1 MiB", long(1 << 20), ""},
		{"4 MiB", long(4 << 20), ""},
		{"300 headers", many(300), "0: "},
		{"1,000 headers", many(1000), "8: more than 16384 bytes of headers"},
		{"10,000 headers", many(10000), "HTTP reset ENHANCE_YOUR_CALM"},
		{"200,000 headers", many(200000), ""},
	}
	g := newTarget(t, 2, 1)
	fds := countFds(t, g.pid)
	data := plain(marshalled(t))
	for _, c := range cases {
		p := greet(t, g.path)
		p.open(1, p.head(allocateCall, c.others...), false)
		p.send(1, data)
		if c.want == "" {
			p.closes(prompt)
			continue
		}
		if got := p.answer(1).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
		p.conn.Close()
	}
	g.leaves(fds)
	g.survives(2 << 10)
}

// One byte on the wire for each four kilobytes of a header that the table has.
func bomb(p *peer, references int) []byte {
	block := p.head(allocateCall)
	p.block.Reset()
	p.hpack.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("y", 4000)})
	entry := bytes.Clone(p.block.Bytes())
	return append(append(block, entry...), bytes.Repeat([]byte{0x80 | 62}, references)...)
}

func TestRow44HeaderBomb(t *testing.T) {
	g := newTarget(t, 2, 1)
	fds := countFds(t, g.pid)
	for _, references := range []int{2, 3, 12000, 400000} {
		p := greet(t, g.path)
		want := "HTTP reset ENHANCE_YOUR_CALM"
		if references < 3 {
			want = "0: "
		} else if references < 10 {
			want = "8: more than 16384 bytes of headers"
		}
		for id := uint32(1); id < 40; id += 2 {
			p.open(id, bomb(p, references), false)
			p.send(id, plain(marshalled(t)))
			if got := p.answer(id).String(); !strings.HasPrefix(got, want) {
				t.Fatalf("%d references: %q, not %q", references, got, want)
			}
		}
		p.conn.Close()
	}
	// A table larger than agreed is an error of the connection.
	p := greet(t, g.path)
	p.open(1, append([]byte{0x3f, 0xe1, 0xff, 0xff, 0x07}, p.head(allocateCall)...), false)
	p.flush()
	if goaway := p.closes(prompt); goaway == nil || goaway.ErrCode != http2.ErrCodeCompression {
		t.Errorf("a large table: %v", goaway)
	}
	g.leaves(fds)
	g.survives(2 << 10)
}

// Those that never read get the newest list one day, and hold one that was begun and the newest at most; some of it
// once more where frames are made.
func TestRow44StalledWindows(t *testing.T) {
	const devices, streams = 8000, 8
	g := newTarget(t, devices, 40)
	fds := countFds(t, g.pid)
	p := greet(t, g.path, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	for id := uint32(1); id < 2*streams; id += 2 {
		p.open(id, p.head(watchCall), false)
		p.send(id, plain(nil))
	}
	// And those that do not even read from their sockets.
	var deaf []*peer
	for range 4 {
		d := connect(t, g.path, false)
		d.out.WriteString(http2.ClientPreface)
		d.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
		d.WriteWindowUpdate(0, 1<<30)
		d.open(1, d.head(watchCall), false)
		d.send(1, plain(nil))
		deaf = append(deaf, d)
	}
	for n := range 20 {
		g.say(fmt.Sprintf("offer %s %d 40", resource, devices-n))
		time.Sleep(20 * time.Millisecond)
	}
	g.say("sync")
	g.expectSoon("in sync")
	list := devices * 64
	now, _ := resident(t, g.pid)
	t.Logf("%d KiB more for %d stalled lists of %d KiB", now-g.began, streams+len(deaf), list>>10)
	// Their windows open: one list each, the newest.
	for id := uint32(1); id < 2*streams; id += 2 {
		p.WriteWindowUpdate(id, 1<<30)
	}
	p.WriteWindowUpdate(0, 1<<30)
	p.flush()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		got := p.answers[1]
		p.mu.Unlock()
		if got != nil && got.data > list/2 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no list after the stall")
		}
	}
	p.conn.Close()
	for _, d := range deaf {
		d.conn.Close()
	}
	g.leaves(fds)
	g.survives((3*(streams+len(deaf)) + 4) * list >> 10)
}

// Slow ones of every kind at once, and one who is served meanwhile. The limits are short, but long for who is not slow; the
// usual ones are ten seconds and more.
func TestRow44SlowLoris(t *testing.T) {
	server := serve(t, "hello_ms=1500", "request_ms=2500", "idle_ms=2000")
	client := plugin.NewDevicePluginClient(dial(t, server.path))
	_, err := client.Allocate(within(t), allocateRequest("a"))
	check(t, err)
	stream, err := client.ListAndWatch(within(t), &plugin.Empty{})
	check(t, err)
	_, err = stream.Recv()
	check(t, err)
	server.expect("watch opened")
	n := &node{server, t, ""}
	fds := countFds(t, server.pid)

	begun := func(p *peer) {
		p.out.WriteString(http2.ClientPreface)
		p.WriteSettings()
	}
	cut := func(p *peer, n int) { p.out.Truncate(p.out.Len() - n) }
	cases := []struct {
		name  string
		write func(p *peer)
		drip  []byte // one byte of it every 150 ms
		want  string // of stream 1, before the connection ends
	}{
		{name: "nothing", write: func(p *peer) {}},
		{name: "half a preface", write: func(p *peer) { p.out.WriteString(http2.ClientPreface[:12]) }},
		{name: "a preface by the byte", write: func(p *peer) {}, drip: []byte(http2.ClientPreface)},
		{name: "a preface and no SETTINGS", write: func(p *peer) { p.out.WriteString(http2.ClientPreface) }},
		{name: "half of the first SETTINGS", write: func(p *peer) { begun(p); cut(p, 4) }},
		{name: "no calls", write: begun},
		{name: "no calls, but PINGs by the byte", write: begun,
			drip: bytes.Repeat([]byte("\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"), 20)},
		{name: "half a frame's head", write: func(p *peer) { begun(p); p.WriteSettings(); cut(p, 5) }},
		{name: "half a block of headers", write: func(p *peer) { begun(p); p.open(1, p.head(allocateCall), false); cut(p, 20) }},
		{name: "headers by the byte", write: begun, drip: slowHeaders(t)},
		{name: "a block of headers that goes on", write: func(p *peer) {
			begun(p)
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.head(allocateCall)})
		}},
		{name: "half a message", write: func(p *peer) {
			begun(p)
			p.open(1, p.head(allocateCall), false)
			p.WriteData(1, false, prefixed(0, 100, []byte("half")))
		}, want: "4: request did not come in time"},
		{name: "a message by the byte", write: func(p *peer) {
			begun(p)
			p.open(1, p.head(allocateCall), false)
			p.WriteData(1, false, prefixed(0, 100, nil))
		}, drip: bytes.Repeat([]byte("\x00\x00\x01\x00\x00\x00\x00\x00\x01x"), 20), want: "4: request did not come in time"},
	}
	began := time.Now()
	var peers []*peer
	for _, c := range cases {
		p := connect(t, server.path, true)
		c.write(p)
		p.flush()
		peers = append(peers, p)
		go func() {
			for _, b := range c.drip {
				if _, err := p.conn.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(150 * time.Millisecond)
			}
		}()
	}
	for i, c := range cases {
		peers[i].closes(9 * time.Second)
		t.Logf("%s: closed after %v or before", c.name, time.Since(began).Round(time.Millisecond))
		if c.want != "" {
			if got := peers[i].answers[1]; got == nil || !strings.HasPrefix(got.String(), c.want) {
				t.Errorf("%s: %v, not %q", c.name, got, c.want)
			}
		}
		_, err = client.Allocate(within(t), allocateRequest("a"))
		check(t, err)
	}
	n.leaves(fds)
	server.say("list 3")
	list, err := stream.Recv() // it has been silent for longer than all of them
	check(t, err)
	if len(list.Devices) != 3 {
		t.Fatalf("%d devices", len(list.Devices))
	}
	server.stop()
}

// slowHeaders are the first frames of a call whose head comes slowly.
func slowHeaders(t *testing.T) []byte {
	p := &peer{t: t}
	p.Framer = http2.NewFramer(&p.out, nil)
	p.hpack = hpack.NewEncoder(&p.block)
	p.open(1, p.head(allocateCall), false)
	return p.out.Bytes()
}
