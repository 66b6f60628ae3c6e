package interop

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

const attempts = 20 // connections of one attacker, one after the other

func TestRow42RapidReset(t *testing.T) {
	g := newTarget(t, 4, 1)
	fds := countFds(t, g.pid)
	for _, call := range []string{allocateCall, "/v1beta1.DevicePlugin/ListAndWatch", "/no/method"} {
		var last uint32
		for range attempts {
			p := greet(t, g.path)
			block := p.head(call)
			for id := uint32(1); id < 20000; id += 2 {
				p.open(id, block, false)
				p.WriteRSTStream(id, http2.ErrCodeCancel)
			}
			p.flush()
			goaway := p.closes(prompt)
			if goaway == nil || goaway.ErrCode != http2.ErrCodeInternal {
				t.Fatalf("%s: no GOAWAY for it: %v", call, goaway)
			}
			last = max(last, goaway.LastStreamID)
		}
		t.Logf("%s: at most %d of 10000 streams were taken", call, last/2+1)
		if last/2 < 200 || last/2 > 400 {
			t.Errorf("%s: the limit is 200 at once, not %d", call, last/2)
		}
		g.leaves(fds)
	}
	g.survives(2 << 10)
}

// The answer is under way when its stream is reset, and every time with the whole request.
func TestRow42RapidResetOfAnsweredCalls(t *testing.T) {
	g := newTarget(t, 4, 1)
	data := plain(marshalled(t))
	for range attempts {
		p := greet(t, g.path)
		block := p.head(allocateCall)
		for id := uint32(1); id < 10000; id += 2 {
			p.open(id, block, false)
			p.WriteData(id, true, data)
			p.WriteRSTStream(id, http2.ErrCodeCancel)
		}
		p.flush()
		p.closes(prompt)
	}
	g.survives(2 << 10)
}

// The server is made to reset the streams, which no limit of resets counts; its work ends with each.
func TestRow42ResetsThatTheServerMakes(t *testing.T) {
	g := newTarget(t, 4, 1)
	fds := countFds(t, g.pid)
	for range attempts {
		p := greet(t, g.path)
		block := p.head("/v1beta1.DevicePlugin/ListAndWatch")
		for id := uint32(1); id < 10000; id += 2 {
			p.open(id, block, false)
			p.WriteData(id, true, plain(nil))
			p.WriteRawFrame(http2.FrameWindowUpdate, 0, id, make([]byte, 4)) // by 0: an error of the stream
		}
		p.flush()
		p.conn.Close()
	}
	g.leaves(fds)
	g.survives(4 << 10)
}

func TestRow43Floods(t *testing.T) {
	floods := []struct {
		name  string
		begin func(p *peer)
		write func(p *peer)
	}{
		{"CONTINUATION of nothing", func(p *peer) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.head(allocateCall)})
		}, func(p *peer) { p.WriteContinuation(1, false, nil) }},
		{"CONTINUATION of headers", func(p *peer) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.head(allocateCall)})
		}, func(p *peer) { p.WriteContinuation(1, false, []byte("\x00\x01x\x01y\x00\x01x\x01y")) }},
		{"SETTINGS of nothing", func(p *peer) {}, func(p *peer) { p.WriteSettings() }},
		{"SETTINGS that change windows", func(p *peer) {}, func(p *peer) {
			p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1},
				http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
		}},
		{"PING", func(p *peer) {}, func(p *peer) { p.WritePing(false, [8]byte{1}) }},
		{"empty DATA", func(p *peer) { p.open(1, p.head(allocateCall), false) }, func(p *peer) { p.WriteData(1, false, nil) }},
		{"DATA of padding", func(p *peer) { p.open(1, p.head(allocateCall), false) },
			func(p *peer) { p.WriteDataPadded(1, false, nil, make([]byte, 3)) }},
	}
	for _, listens := range []bool{true, false} {
		for _, flood := range floods {
			t.Run(fmt.Sprintf("%s, answers read: %v", flood.name, listens), func(t *testing.T) {
				g := newTarget(t, 4, 1)
				fds := countFds(t, g.pid)
				began := time.Now()
				written := 0
				for range attempts {
					p := connect(t, g.path, listens)
					p.out.WriteString(http2.ClientPreface)
					p.WriteSettings()
					flood.begin(p)
					// Until it is closed: what a socket holds is written in vain.
					for going := true; going; {
						for range 10000 {
							flood.write(p)
						}
						written += p.out.Len()
						going = p.flush()
						if written > attempts<<23 {
							t.Fatalf("%d bytes are taken", written)
						}
					}
					p.conn.Close()
				}
				t.Logf("closed after %v on average", time.Since(began)/attempts)
				g.leaves(fds)
				g.survives(2 << 10)
			})
		}
	}
}

// No answer is made to these, and no memory held: they cost their sender more than us.
func TestRow43FloodsOfWhatIsIgnored(t *testing.T) {
	floods := []struct {
		name  string
		write func(p *peer, n uint32)
	}{
		{"PRIORITY", func(p *peer, n uint32) { p.WritePriority(2*n+1, http2.PriorityParam{StreamDep: 2*n + 3}) }},
		{"WINDOW_UPDATE", func(p *peer, n uint32) { p.WriteWindowUpdate(0, 1) }},
		{"an unknown kind", func(p *peer, n uint32) { p.WriteRawFrame(0xbe, 0xff, n, nil) }},
		{"DATA of a stream that is over", func(p *peer, n uint32) {
			if n == 0 {
				p.open(1, p.head("/no/method"), false)
				p.flush()
				p.answer(1)
			}
			p.WriteData(1, false, nil)
		}},
	}
	for _, flood := range floods {
		t.Run(flood.name, func(t *testing.T) {
			g := newTarget(t, 4, 1)
			p := greet(t, g.path)
			began := time.Now()
			n, frames := uint32(0), 0
			for time.Since(began) < 500*time.Millisecond {
				for range 5000 {
					flood.write(p, n)
					n++
				}
				if !p.flush() {
					_, goaway := p.isOver()
					t.Logf("closed: %v", goaway)
					break
				}
				frames += 5000
			}
			t.Logf("%d frames in %v", frames, time.Since(began))
			p.conn.Close()
			g.survives(2 << 10)
		})
	}
}

// As many connections as are taken but those of who is served, each with as many calls as are taken.
func TestRow43CallsThatWait(t *testing.T) {
	g := newTarget(t, 4, 1)
	fds := countFds(t, g.pid)
	var peers []*peer
	for range 14 {
		p := greet(t, g.path)
		block := p.head(allocateCall)
		for id := uint32(1); id < 2*100; id += 2 {
			p.open(id, block, false)
			p.WriteData(id, false, prefixed(0, 4<<20, make([]byte, 1000)))
		}
		if !p.flush() {
			t.Fatal("not taken")
		}
		peers = append(peers, p)
	}
	time.Sleep(quiet)
	refused := greet(t, g.path)
	refused.closes(prompt)
	for _, p := range peers {
		if over, _ := p.isOver(); over {
			t.Fatal("closed, though within limits")
		}
		p.conn.Close()
	}
	g.leaves(fds)
	g.survives(16 << 10)
}
