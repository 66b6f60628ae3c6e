package interop

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// reportTimes prints how long it took to be registered. A busy machine may be late once, but not most times; a kubelet that
// was not heard of would be found by a look every five seconds.
func reportTimes(t *testing.T, what string, took []time.Duration) {
	t.Helper()
	slices.Sort(took)
	t.Logf("%s: median %v, longest %v, of %d", what, took[len(took)/2], took[len(took)-1], len(took))
	if median := took[len(took)/2]; len(took) > 2 && median > unhurried {
		t.Fatalf("%v", median)
	}
}

func countFds(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	check(t, err)
	return len(entries)
}

func TestRow25KubeletRestarts(t *testing.T) {
	n := newNode(t, "3")
	k, _ := startKubelet(t, n.dir)
	last := k.takes(3).endpoint
	var took []time.Duration
	fds := 0

	for round := range 20 {
		k.kill()
		var began time.Time
		k, began = startKubelet(t, n.dir)
		r := k.takes(3)
		took = append(took, r.at.Sub(began))
		if r.endpoint == last {
			t.Fatalf("%s was wiped, and is back", last)
		}
		if last = r.endpoint; n.endpoint() != filepath.Join(n.dir, last) {
			t.Fatalf("served on %s, registered as %s", n.endpoint(), last)
		}
		if round == 0 {
			fds = countFds(t, n.pid)
		}
	}
	k.staysAt(1)
	if now := countFds(t, n.pid); now > fds {
		t.Fatalf("%d descriptors, %d at first", now, fds)
	}
	reportTimes(t, "kubelet.sock made anew to registered", took)
	n.stop()
}

func TestRow25KubeletIsSlowToMakeItsSocket(t *testing.T) {
	n := newNode(t, "2")
	k, _ := startKubelet(t, n.dir)
	k.takes(2)
	var took []time.Duration

	for range 5 {
		k.kill()
		wipe(t, n.dir)
		time.Sleep(quiet) // the waits have become long
		n.endpoint()
		k = newKubelet(t, n.dir)
		began := k.serve("kubelet.sock")
		took = append(took, k.takes(2).at.Sub(began))
	}
	k.staysAt(1)
	reportTimes(t, "kubelet.sock made late to registered", took)
	n.stop()
}

// bindOnly makes a socket that refuses connections until listen is called.
func bindOnly(t *testing.T, path string) (listen func() net.Listener) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	check(t, err)
	check(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}))
	return func() net.Listener {
		check(t, syscall.Listen(fd, 128))
		file := os.NewFile(uintptr(fd), path)
		defer file.Close()
		listener, err := net.FileListener(file)
		check(t, err)
		return listener
	}
}

func TestRow25KubeletIsSlowToListen(t *testing.T) {
	for _, wait := range []time.Duration{5 * time.Millisecond, 400 * time.Millisecond} {
		t.Run(wait.String(), func(t *testing.T) {
			n := newNode(t, "2")
			k, _ := startKubelet(t, n.dir)
			k.takes(2)
			k.kill()
			wipe(t, n.dir)
			k = newKubelet(t, n.dir)
			listen := bindOnly(t, filepath.Join(n.dir, "kubelet.sock"))
			time.Sleep(wait)
			began := time.Now()
			go k.server.Serve(listen())
			reportTimes(t, "kubelet listens to registered", []time.Duration{k.takes(2).at.Sub(began)})
			k.staysAt(1)
			n.stop()
		})
	}
}

// The plugin's own socket stays, so it is registered under the same name at the new kubelet, once.
func TestRow25KubeletSocketIsReplaced(t *testing.T) {
	n := newNode(t, "2")
	k, _ := startKubelet(t, n.dir)
	before := k.takes(2).endpoint
	var took []time.Duration

	for range 3 {
		next := newKubelet(t, n.dir)
		next.serve("next.sock")
		began := time.Now()
		check(t, os.Rename(filepath.Join(n.dir, "next.sock"), filepath.Join(n.dir, "kubelet.sock")))
		r := next.takes(2)
		took = append(took, r.at.Sub(began))
		if r.endpoint != before || n.endpoint() != filepath.Join(n.dir, before) {
			t.Fatalf("registered as %s, served on %s, not %s", r.endpoint, n.endpoint(), before)
		}
		if got := k.streams(); got != 0 {
			t.Fatalf("the kubelet of before, which lives on, has %d streams", got)
		}
		k.kill()
		next.staysAt(1) // the end of the old one is nothing to the new one
		k = next
	}
	reportTimes(t, "kubelet.sock replaced to registered", took)
	n.stop()
}

// The same kubelet is registered at again and again, because another one's socket was in the place of its own meanwhile.
func TestRow25KubeletSocketMovesAwayAndBack(t *testing.T) {
	n := newNode(t, "2")
	k, _ := startKubelet(t, n.dir)
	k.takes(2)
	path, aside := filepath.Join(n.dir, "kubelet.sock"), filepath.Join(n.dir, "aside")
	var took []time.Duration
	fds := 0

	for round := range 20 { // more than a plugin has connections
		check(t, os.Rename(path, aside))
		other := newKubelet(t, n.dir)
		other.serve("kubelet.sock")
		other.takes(2)
		began := time.Now()
		check(t, os.Rename(aside, path))
		took = append(took, k.takes(2).at.Sub(began))
		other.kill()
		n.allocates(plugin.NewDevicePluginClient(dial(t, n.endpoint())))
		if now := countFds(t, n.pid); round == 0 {
			fds = now
		} else if now > fds+2 {
			t.Fatalf("%d descriptors after %d rounds, %d after the first", now, round+1, fds)
		}
	}
	k.staysAt(21)
	reportTimes(t, "kubelet.sock back to registered", took)
	n.stop()
}

// The plugins have registered by a timer before they are told that the socket is there.
func TestRow25LateCreateChangesNothing(t *testing.T) {
	n := newNode(t, "2")
	n.expectSoon("waiting ")
	check(t, syscall.Kill(n.pid, syscall.SIGSTOP))
	k, _ := startKubelet(t, n.dir)
	time.Sleep(quiet) // the wait is over and the event is there when it goes on
	check(t, syscall.Kill(n.pid, syscall.SIGCONT))
	k.takes(2)
	k.staysAt(1)

	// The same socket, deleted and created as far as inotify can tell.
	path, aside := filepath.Join(n.dir, "kubelet.sock"), filepath.Join(n.dir, "aside")
	check(t, os.Link(path, aside))
	for range 20 {
		check(t, os.Remove(path))
		check(t, os.Link(aside, path))
	}
	k.staysAt(1)
	check(t, os.Chmod(path, 0o600))
	check(t, os.WriteFile(filepath.Join(n.dir, "kubelet_internal_checkpoint"), []byte("{}"), 0o600))
	k.staysAt(1)
	n.allocates(plugin.NewDevicePluginClient(dial(t, n.endpoint())))
	n.stop()
}

// gaps are the times between calls.
func gaps(calls []time.Time) []time.Duration {
	var all []time.Duration
	for i := 1; i < len(calls); i++ {
		all = append(all, calls[i].Sub(calls[i-1]))
	}
	return all
}

// backsOff is true once a wait was long; that takes few calls where each is about twice the one before.
func backsOff(t *testing.T, waits []time.Duration) bool {
	t.Helper()
	if len(waits) > 16 {
		t.Fatalf("no back-off: %v", waits)
	}
	return len(waits) > 3 && waits[len(waits)-1] > 2*quiet
}

func TestRow26RegisterIsRefused(t *testing.T) {
	n := newNode(t, "1")
	k := newKubelet(t, n.dir)
	k.setBefore(func(context.Context) error {
		return status.Error(codes.InvalidArgument, "the ResourceName is invalid\nmsg=\"no\"")
	})
	k.serve("kubelet.sock")
	client := plugin.NewDevicePluginClient(dial(t, n.endpoint()))
	n.expectSoon(fmt.Sprintf(`waiting %s: the kubelet refuses to register '%s': InvalidArgument: `+
		`the ResourceName is invalid\x0amsg="no"`, resource, resource))
	for end := time.Now().Add(patience); !backsOff(t, gaps(k.attempts())); {
		if time.Now().After(end) {
			t.Fatalf("%d calls", len(k.attempts()))
		}
		n.allocates(client)
		time.Sleep(10 * time.Millisecond)
	}
	k.setBefore(nil)
	k.takes(1)
	n.expectSoon("registered " + resource)
	k.staysAt(len(k.attempts()))
	n.stop()
}

func TestRow26RegisterHangs(t *testing.T) {
	n := newNode(t, "1")
	k := newKubelet(t, n.dir)
	given := make(chan time.Duration, 10)
	k.setBefore(func(ctx context.Context) error {
		began := time.Now()
		<-ctx.Done()
		given <- time.Since(began)
		return ctx.Err()
	})
	client := plugin.NewDevicePluginClient(dial(t, n.endpoint()))
	stream, err := client.ListAndWatch(within(t), &plugin.Empty{})
	check(t, err)
	_, err = stream.Recv()
	check(t, err)
	k.serve("kubelet.sock")

	var slowest time.Duration
	for hung := true; hung; {
		began := time.Now()
		n.allocates(client)
		slowest = max(slowest, time.Since(began))
		select {
		case after := <-given:
			t.Logf("given up after %v; slowest Allocate of meanwhile %v", after, slowest)
			if after < 9*time.Second || after > 18*time.Second { // the deadline that the kubelet hears of is 20 s
				t.Fatalf("given up after %v", after)
			}
			hung = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	if slowest > 8*time.Second {
		t.Fatalf("an Allocate took %v, as long as what hangs", slowest)
	}
	n.expectSoon("waiting " + resource + ": the kubelet has not answered Register for 10 s")
	k.setBefore(nil)
	k.takes(1)
	n.expectSoon("registered " + resource)
	n.say("offer " + resource + " 4")
	list, err := stream.Recv()
	check(t, err)
	if len(list.Devices) != 4 {
		t.Fatalf("%d devices on the stream from before", len(list.Devices))
	}
	n.stop()
}

// A kubelet that dies between a call and its answer, again and again.
func TestRow26RegisterConnectionIsDropped(t *testing.T) {
	n := newNode(t, "1")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(n.dir, "kubelet.sock")})
	check(t, err)
	listener.SetUnlinkOnClose(false)
	dropped := make(chan time.Time, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			io.ReadAtLeast(conn, make([]byte, 4096), 100) // the preface and more
			conn.Close()
			dropped <- time.Now()
		}
	}()
	client := plugin.NewDevicePluginClient(dial(t, n.endpoint()))
	var calls []time.Time
	for !backsOff(t, gaps(calls)) {
		select {
		case at := <-dropped:
			calls = append(calls, at)
		case <-time.After(patience):
			t.Fatal("not called again")
		}
		n.allocates(client)
	}
	listener.Close()
	k, began := startKubelet(t, n.dir)
	reportTimes(t, "kubelet.sock made anew to registered", []time.Duration{k.takes(1).at.Sub(began)})
	k.staysAt(1)
	n.stop()
}

// The kubelet never opens a stream anew, so the plugin has to register again; not without pause if that goes on.
func TestRow26StreamIsDropped(t *testing.T) {
	n := newNode(t, "1")
	k, _ := startKubelet(t, n.dir)
	endpoint := k.takes(1).endpoint
	n.expectSoon("registered ")
	direct := plugin.NewDevicePluginClient(dial(t, n.endpoint()))

	for range 5 {
		k.hangUp()
		if again := k.takes(1).endpoint; again != endpoint {
			t.Fatalf("registered as %s, not %s", again, endpoint)
		}
		n.expectSoon("registered ")
		n.allocates(direct)
	}
	waits := gaps(k.attempts())
	t.Logf("registered again after %v", waits)
	if len(waits) != 5 || (waits[4] < 2*waits[1] && waits[4] < quiet) { // a busy machine makes waits longer, not shorter
		t.Fatalf("no back-off: %v", waits)
	}
	k.staysAt(6)
	n.stop()
}

// Somebody else reads the list, too, before and after the kubelet: that must not pass for the kubelet's stream.
func TestRow26StreamIsDroppedBesideAnother(t *testing.T) {
	n := newNode(t, "1")
	reads := func() {
		stream, err := plugin.NewDevicePluginClient(dial(t, n.endpoint())).ListAndWatch(context.Background(), &plugin.Empty{})
		check(t, err)
		_, err = stream.Recv()
		check(t, err)
	}
	reads()
	k := newKubelet(t, n.dir)
	k.serve("kubelet.sock")
	k.takes(1)
	n.expectSoon("registered ")
	reads()
	for range 3 {
		k.hangUp()
		k.takes(1)
		n.expectSoon("registered ")
	}
	k.staysAt(4)
	n.stop()
}

// Both ends have frames of a long list under way when the connection goes.
func TestRow26StreamIsDroppedInAMessage(t *testing.T) {
	n := newNode(t, "50000 50")
	k := newKubelet(t, n.dir)
	k.serve("kubelet.sock")
	for range 5 {
		<-k.registered
		n.expectSoon("registered ")
		k.hangUp()
	}
	<-k.registered
	if got := <-k.lists; got != 50000 {
		t.Fatalf("%d devices", got)
	}
	for len(k.lists) > 0 {
		<-k.lists
	}
	n.say("offer " + resource + " 2")
	for got := <-k.lists; got != 2; got = <-k.lists {
	}
	if calls := len(k.attempts()); calls != 6 {
		t.Fatalf("%d calls of Register", calls)
	}
	n.stop()
}
