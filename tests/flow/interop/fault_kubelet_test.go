package interop

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	resource   = "example.com/toy"
	unhurried  = 2 * time.Second        // what hears of a kubelet, or is served, is usually quicker on any machine
	prompt     = 25 * time.Second       // the limits of time for a request and for an idle connection are longer
	quiet      = 300 * time.Millisecond // what has not come then does not come
	ownSockets = "hostdev-*.sock"
)

// node is a device-plugins folder and the agent's device plugins in it.
type node struct {
	*probe
	t   *testing.T
	dir string
}

func newNode(t *testing.T, devices string) *node {
	dir, err := os.MkdirTemp("", "node-") // the path of a socket in it has to be short
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	n := &node{newProbe(t, "PLUGIN_PROBE", dir), t, dir}
	n.say("offer " + resource + " " + devices)
	return n
}

// endpoint is the path of the one socket that the resource is served on.
func (n *node) endpoint() string {
	n.t.Helper()
	end := time.Now().Add(patience)
	for {
		paths, err := filepath.Glob(filepath.Join(n.dir, ownSockets))
		check(n.t, err)
		if len(paths) == 1 && listens(paths[0]) {
			return paths[0]
		}
		if time.Now().After(end) {
			n.t.Fatalf("sockets of the plugin: %v", paths)
		}
		time.Sleep(time.Millisecond)
	}
}

// listens says whether connections to the socket are accepted: it is in its folder a moment earlier. Asked of the kernel,
// because some tests count connections.
func listens(path string) bool {
	const accepts = "00010000" // __SO_ACCEPTCON
	sockets, err := os.ReadFile("/proc/net/unix")
	for _, line := range strings.Split(string(sockets), "\n") {
		words := strings.Fields(line)
		if err == nil && len(words) == 8 && words[7] == path && words[3] == accepts {
			return true
		}
	}
	return false
}

// expectSoon skips lines until one begins with want.
func (n *node) expectSoon(want string) {
	n.t.Helper()
	for !strings.HasPrefix(n.next(), want) {
	}
}

// allocates calls the plugin as a kubelet would.
func (n *node) allocates(client plugin.DevicePluginClient) {
	n.t.Helper()
	answer, err := client.Allocate(within(n.t), allocateRequest("device-0"))
	check(n.t, err)
	if got := answer.ContainerResponses[0].Devices[0].HostPath; got != "/dev/toy/device-0" {
		n.t.Fatalf("allocated is %q", got)
	}
}

// A fakeKubelet registers plugins as the kubelet does: it calls back before it answers, opens one stream, and never
// another by itself. The end of any stream takes down what is registered then, as up to 1.36.
type fakeKubelet struct {
	plugin.UnimplementedRegistrationServer
	t          *testing.T
	dir        string
	server     *grpc.Server
	registered chan taken // what it took
	lists      chan int   // how many devices a stream told of

	mu     sync.Mutex
	before func(ctx context.Context) error // runs before Register is answered; an error refuses
	calls  []time.Time                     // of Register
	conns  []*grpc.ClientConn
	newest *grpc.ClientConn // to the plugin that registered last
	open   int              // streams
}

type taken struct {
	endpoint string
	at       time.Time
}

// newKubelet is one that serves nothing yet.
func newKubelet(t *testing.T, dir string) *fakeKubelet {
	k := &fakeKubelet{t: t, dir: dir, server: grpc.NewServer(), registered: make(chan taken, 100),
		lists: make(chan int, 1000)}
	plugin.RegisterRegistrationServer(k.server, k)
	t.Cleanup(k.kill)
	return k
}

// wipe removes all sockets, as a kubelet does when it starts.
func wipe(t *testing.T, dir string) {
	entries, err := os.ReadDir(dir)
	check(t, err)
	for _, entry := range entries {
		if entry.Type()&os.ModeSocket != 0 {
			check(t, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
}

// serve listens at a socket of this name, and leaves it there when it ends.
func (k *fakeKubelet) serve(name string) time.Time {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(k.dir, name)})
	at := time.Now()
	check(k.t, err)
	listener.SetUnlinkOnClose(false)
	go k.server.Serve(listener)
	return at
}

// startKubelet starts one as after a kill of the one before.
func startKubelet(t *testing.T, dir string) (*fakeKubelet, time.Time) {
	wipe(t, dir)
	k := newKubelet(t, dir)
	return k, k.serve("kubelet.sock")
}

// kill drops all that there is; the socket's file stays.
func (k *fakeKubelet) kill() {
	k.server.Stop()
	k.hangUp()
}

// hangUp drops the connections to plugins.
func (k *fakeKubelet) hangUp() {
	k.mu.Lock()
	conns := k.conns
	k.conns = nil
	k.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
}

func (k *fakeKubelet) setBefore(before func(ctx context.Context) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.before = before
}

func (k *fakeKubelet) attempts() []time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.calls)
}

func (k *fakeKubelet) streams() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open
}

func (k *fakeKubelet) Register(ctx context.Context, r *plugin.RegisterRequest) (*plugin.Empty, error) {
	k.mu.Lock()
	k.calls = append(k.calls, time.Now())
	before := k.before
	k.mu.Unlock()
	conn, err := grpc.NewClient("unix:"+filepath.Join(k.dir, r.Endpoint), plaintext...)
	if err != nil {
		return nil, err
	}
	client := plugin.NewDevicePluginClient(conn)
	if _, err := client.GetDevicePluginOptions(ctx, &plugin.Empty{}, grpc.WaitForReady(true)); err != nil {
		conn.Close()
		return nil, err
	}
	if before != nil {
		if err := before(ctx); err != nil {
			conn.Close()
			return nil, err
		}
	}
	k.mu.Lock()
	k.conns = append(k.conns, conn)
	k.newest = conn
	k.mu.Unlock()
	go k.watch(client, taken{r.Endpoint, time.Now()})
	return &plugin.Empty{}, nil
}

func (k *fakeKubelet) watch(client plugin.DevicePluginClient, r taken) {
	stream, err := client.ListAndWatch(context.Background(), &plugin.Empty{})
	if err == nil {
		_, err = stream.Header() // the plugin has begun
	}
	if err != nil {
		return
	}
	k.mu.Lock()
	k.open++
	k.mu.Unlock()
	k.registered <- r
	for {
		list, err := stream.Recv()
		if err != nil {
			break
		}
		k.lists <- len(list.Devices)
	}
	k.mu.Lock()
	k.open--
	newest := k.newest
	k.newest = nil
	k.mu.Unlock()
	if newest != nil {
		newest.Close()
	}
}

// takes waits for a registration and its first list.
func (k *fakeKubelet) takes(devices int) taken {
	k.t.Helper()
	end := time.After(patience)
	select {
	case r := <-k.registered:
		select {
		case n := <-k.lists:
			if n != devices {
				k.t.Fatalf("%d devices, not %d", n, devices)
			}
			return r
		case <-end:
			k.t.Fatal("no list came")
		}
	case <-end:
		k.t.Fatal("nothing was registered")
	}
	return taken{}
}

// staysAt makes sure that there were so many calls of Register, one stream is open, and nothing follows.
func (k *fakeKubelet) staysAt(calls int) {
	k.t.Helper()
	time.Sleep(quiet)
	if got := len(k.attempts()); got != calls {
		k.t.Fatalf("%d calls of Register, not %d", got, calls)
	}
	if got := k.streams(); got != 1 {
		k.t.Fatalf("%d open streams", got)
	}
}
