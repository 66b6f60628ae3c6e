package interop

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	allocateCall  = "/v1beta1.DevicePlugin/Allocate"
	preferredCall = "/v1beta1.DevicePlugin/GetPreferredAllocation"
)

// marshalled is a good request for one device.
func marshalled(t *testing.T) []byte {
	data, err := proto.Marshal(allocateRequest("device-0"))
	check(t, err)
	return data
}

// withUnknown is the same with fields of every kind that no version of the API has, inside and outside.
func withUnknown(t *testing.T) []byte {
	var unknown []byte
	unknown = protowire.AppendVarint(protowire.AppendTag(unknown, 99, protowire.VarintType), 1<<63)
	unknown = protowire.AppendFixed32(protowire.AppendTag(unknown, 100, protowire.Fixed32Type), 7)
	unknown = protowire.AppendFixed64(protowire.AppendTag(unknown, 101, protowire.Fixed64Type), 7)
	unknown = protowire.AppendString(protowire.AppendTag(unknown, 536870911, protowire.BytesType), "\xff\n")
	container, err := proto.Marshal(allocateRequest("device-0").ContainerRequests[0])
	check(t, err)
	inside := append(bytes.Clone(unknown), container...)
	return append(protowire.AppendBytes(protowire.AppendTag(bytes.Clone(unknown), 1, protowire.BytesType), inside), unknown...)
}

// nested is groups in groups.
func nested(depth int) []byte {
	return append(bytes.Repeat([]byte{0x7b}, depth), bytes.Repeat([]byte{0x7c}, depth)...)
}

// containers is a request of many containers without a device.
func containers(n int) []byte {
	return bytes.Repeat([]byte{0x0a, 0x00}, n)
}

func TestRow41MalformedMessages(t *testing.T) {
	g := newTarget(t, 2, 1)
	good := marshalled(t)
	compressed := []string{"grpc-encoding", "gzip"}
	cases := []struct {
		name, path string
		others     []string
		data       []byte
		want       string
	}{
		{"a good call", allocateCall, nil, plain(good), "0: "},
		{"unknown fields", allocateCall, nil, plain(withUnknown(t)), "0: "},
		{"a message cut off", allocateCall, nil, plain(good[:len(good)-1]), "3: no v1beta1.AllocateRequest in these"},
		{"no protobuf at all", allocateCall, nil, plain([]byte("{\"devicesIds\": []}")), "3: no v1beta1.AllocateRequest"},
		{"a length that never ends", allocateCall, nil, plain(bytes.Repeat([]byte{0xff}, 20)), "3: "},
		{"a length of 2^63", allocateCall, nil, plain(append([]byte{0x0a}, protowire.AppendVarint(nil, 1<<63)...)), "3: "},
		{"a field of number 0", allocateCall, nil, plain([]byte{0x02, 0x00}), "3: "},
		{"100,000 nested groups", allocateCall, nil, plain(nested(100000)), "3: "},
		{"a device's ID that is not UTF-8", allocateCall, nil, plain([]byte{0x0a, 0x04, 0x0a, 0x02, 0xff, 0xfe}), "5: "},
		{"a device that there is not", allocateCall, nil, plain([]byte("\n\x0e\n\x0cdevice\n\x1b[31m")), "5: "},
		{"no device", allocateCall, nil, plain([]byte{0x0a, 0x00}), "3: "},
		{"nothing asked for", allocateCall, nil, plain(nil), "3: a request for no container"},
		{"a preferred allocation is never an error", preferredCall, nil, plain([]byte{0xff}), "0: "},
		{"an empty message where one is wanted", "/v1beta1.DevicePlugin/GetDevicePluginOptions", nil, plain([]byte("junk")), "0: "},

		{"a message's length of 4 GiB", allocateCall, nil, prefixed(0, 1<<32-1, good), "8: message longer than allowed (4294967295)"},
		{"a length beyond the body", allocateCall, nil, prefixed(0, 1000, good), "13: stream ended inside of a message"},
		{"a length below the body", allocateCall, nil, prefixed(0, uint32(len(good)-1), good), "13: stream ended inside of a message"},
		{"part of a prefix", allocateCall, nil, []byte{0, 0}, "13: stream ended inside of a message"},
		{"no message", allocateCall, nil, nil, "13: no request message"},
		{"two messages", allocateCall, nil, append(plain(good), plain(good)...), "13: more than one request message"},
		{"a compressed flag", allocateCall, nil, prefixed(1, uint32(len(good)), good), "12: compressed message"},
		{"a compressed call", allocateCall, compressed, prefixed(1, uint32(len(good)), good), "12: compressed messages"},
		{"an unknown flag", allocateCall, nil, prefixed(0x80, uint32(len(good)), good), "13: message with unknown flags (128)"},
		{"an oversized message", allocateCall, nil, plain(make([]byte, 4<<20+1)), "8: message longer than allowed (4194305)"},

		{"a wrong method", "/v1beta1.DevicePlugin/Deallocate", nil, plain(good), "12: unknown method '/v1beta1.DevicePlugin/Deallocate'"},
		{"a wrong service", "/v1beta1.Registration/Register", nil, plain(good), "12: unknown method"},
		{"a wrong version", "/v1.DevicePlugin/Allocate", nil, plain(good), "12: unknown method"},
		{"a path below another", allocateCall + "/", nil, plain(good), "12: unknown method"},
		{"a method of 4 KiB", "/" + strings.Repeat("x", 4096), nil, plain(good), "12: unknown method '/" + strings.Repeat("x", 199) + "'"},
		{"a method with escapes", "/%0a\"'%1b[31m", nil, plain(good), "12: unknown method '/%250a\"'%251b[31m'"},
		{"JSON", allocateCall, []string{"content-type", "application/json"}, plain(good), "HTTP 415"},
		{"gRPC for browsers", allocateCall, []string{"content-type", "application/grpc-web"}, plain(good), "HTTP 415"},
		{"no content type", allocateCall, []string{"content-type", ""}, plain(good), "HTTP 415"},
		{"GET", allocateCall, []string{":method", "GET"}, plain(good), "HTTP 405"},
		{"a timeout that is none", allocateCall, []string{"grpc-timeout", "1 year"}, plain(good), "13: malformed grpc-timeout"},
		{"a header with a line break", allocateCall, []string{"x-y", "a\r\nlevel=error"}, plain(good), "HTTP reset PROTOCOL_ERROR"},
		{"a good call after all of these", allocateCall, nil, plain(good), "0: "},
	}
	p := greet(t, g.path)
	id := uint32(1)
	for _, c := range cases {
		p.open(id, p.head(c.path, c.others...), false)
		p.send(id, c.data)
		if got := p.answer(id).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
		id += 2
	}
	if over, goaway := p.isOver(); over || goaway != nil {
		t.Errorf("the connection is over: %v", goaway)
	}
	p.conn.Close()
	g.survives(16 << 10)
}

// A message of two bytes per item takes many times its size, for as long as it is read.
func TestRow41MessageOfManyItems(t *testing.T) {
	g := newTarget(t, 2, 1)
	p := greet(t, g.path)
	for id := uint32(1); id < 20; id += 2 {
		p.open(id, p.head(allocateCall), false)
		p.send(id, plain(containers(2000000)))
		want := "8: v1beta1.AllocateRequest of 4000000 bytes takes too much memory"
		if got := p.answer(id).String(); got != want {
			t.Fatalf("%q, not %q", got, want)
		}
	}
	if now, _ := resident(t, g.pid); now-g.began > 16<<10 {
		t.Errorf("%d KiB were not given back", now-g.began)
	}
	p.conn.Close()
	g.survives(80 << 10)
}

// What is wrong below gRPC ends the connection, and that one only.
func TestRow41MalformedFrames(t *testing.T) {
	g := newTarget(t, 2, 1)
	fds := countFds(t, g.pid)
	cases := []struct {
		name  string
		write func(p *peer)
		want  http2.ErrCode
	}{
		{"a frame longer than agreed", func(p *peer) { p.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, frameMax+1)) },
			http2.ErrCodeFrameSize},
		{"DATA of no stream", func(p *peer) { p.WriteRawFrame(http2.FrameData, 0, 0, []byte("x")) }, http2.ErrCodeProtocol},
		{"DATA of a stream that was not opened", func(p *peer) { p.WriteRawFrame(http2.FrameData, 0, 9, []byte("x")) },
			http2.ErrCodeProtocol},
		{"a header block that is none", func(p *peer) { p.open(1, bytes.Repeat([]byte{0xff}, 50), true) }, http2.ErrCodeCompression},
		{"headers of a stream of ours", func(p *peer) { p.open(2, p.head(allocateCall), true) }, http2.ErrCodeProtocol},
		{"padding longer than its frame", func(p *peer) {
			p.open(1, p.head(allocateCall), false)
			p.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, []byte{200, 1})
		}, http2.ErrCodeProtocol},
		{"more than the window", func(p *peer) {
			p.open(1, p.head(allocateCall), false)
			p.WriteWindowUpdate(0, 1<<31-1)
			p.WriteWindowUpdate(0, 1<<31-1)
		}, http2.ErrCodeFlowControl},
		{"SETTINGS of five bytes", func(p *peer) { p.WriteRawFrame(http2.FrameSettings, 0, 0, make([]byte, 5)) },
			http2.ErrCodeFrameSize},
		{"a push", func(p *peer) { p.WriteRawFrame(http2.FramePushPromise, 4, 1, make([]byte, 4)) }, http2.ErrCodeProtocol},
	}
	for _, c := range cases {
		p := greet(t, g.path)
		c.write(p)
		p.flush()
		goaway := p.closes(prompt)
		if goaway == nil || goaway.ErrCode != c.want {
			t.Errorf("%s: %v, not %v", c.name, goaway, c.want)
		}
	}
	g.leaves(fds)
	g.survives(2 << 10)
}
