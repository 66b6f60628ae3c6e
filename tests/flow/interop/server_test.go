package interop

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// The messages' types are of the kubelet, whose client takes 4 MiB at most.

func allocateRequest(ids ...string) *plugin.AllocateRequest {
	return &plugin.AllocateRequest{ContainerRequests: []*plugin.ContainerAllocateRequest{{DevicesIds: ids}}}
}

func wantStatus(t *testing.T, err error, code codes.Code, message string) {
	t.Helper()
	if s := status.Convert(err); s.Code() != code || !strings.Contains(s.Message(), message) {
		t.Fatalf("%v, not %v with %q", err, code, message)
	}
}

func TestServerAnswersEveryMethodOfADevicePlugin(t *testing.T) {
	p := serve(t)
	client := plugin.NewDevicePluginClient(dial(t, p.path))
	ctx := within(t)

	options, err := client.GetDevicePluginOptions(ctx, &plugin.Empty{})
	check(t, err)
	if options.PreStartRequired || !options.GetPreferredAllocationAvailable {
		t.Fatalf("options are %v", options)
	}
	preferred, err := client.GetPreferredAllocation(ctx, &plugin.PreferredAllocationRequest{
		ContainerRequests: []*plugin.ContainerPreferredAllocationRequest{{
			AvailableDeviceIDs: []string{"b", "a", "c"}, MustIncludeDeviceIDs: []string{"b"}, AllocationSize: 2,
		}}})
	check(t, err)
	if got := fmt.Sprint(preferred.ContainerResponses[0].DeviceIDs); got != "[b a]" {
		t.Fatalf("preferred are %s", got)
	}
	allocated, err := client.Allocate(ctx, allocateRequest("0000:01:00.0"))
	check(t, err)
	one := allocated.ContainerResponses[0]
	if one.Envs["DEVICE"] != "0000:01:00.0" || one.Devices[0].HostPath != "/dev/vfio/7" ||
		one.Devices[0].Permissions != "mrw" {
		t.Fatalf("allocated is %v", one)
	}
	_, err = client.Allocate(ctx, allocateRequest("unknown"))
	wantStatus(t, err, codes.NotFound, "device 'unknown': 100 % gone\nüber")
	p.stop()
}

func TestServerAnswersPluginRegistration(t *testing.T) {
	p := serve(t)
	client := registration.NewRegistrationClient(dial(t, p.path))

	info, err := client.GetInfo(within(t), &registration.InfoRequest{})
	check(t, err)
	if info.Type != "DevicePlugin" || info.Name != "example.com/thing" || info.SupportedVersions[0] != "v1beta1" {
		t.Fatalf("info is %v", info)
	}
	_, err = client.NotifyRegistrationStatus(within(t), &registration.RegistrationStatus{Error: "no such thing"})
	check(t, err)
	p.expect("registered 0: no such thing")
	p.stop()
}

func TestServerStreamsLists(t *testing.T) {
	p := serve(t)
	client := plugin.NewDevicePluginClient(dial(t, p.path))

	p.say("list 1")
	stream, err := client.ListAndWatch(within(t), &plugin.Empty{})
	check(t, err)
	for _, n := range []int{1, 3, 0} {
		if n != 1 {
			p.say(fmt.Sprintf("list %d", n))
		}
		list, err := stream.Recv()
		check(t, err)
		if len(list.Devices) != n {
			t.Fatalf("%d devices, not %d", len(list.Devices), n)
		}
		if n > 0 && (list.Devices[0].ID != "device-00" || list.Devices[0].Health != plugin.Healthy ||
			list.Devices[0].Topology.Nodes[0].ID != 1) {
			t.Fatalf("device is %v", list.Devices[0])
		}
	}
	p.expect("watch opened")
	p.stop()
	if _, err = stream.Recv(); err == nil {
		t.Fatal("the stream outlived its server")
	}
}

// longList makes the probe list nearly 4 MiB.
func longList(p *probe) int {
	const n = 55000
	p.say(fmt.Sprintf("list %d 45", n))
	return n
}

func TestServerStreamsAListOf4MiB(t *testing.T) {
	p := serve(t)
	client := plugin.NewDevicePluginClient(dial(t, p.path))
	n := longList(p)

	stream, err := client.ListAndWatch(within(t), &plugin.Empty{})
	check(t, err)
	list, err := stream.Recv()
	check(t, err)
	if len(list.Devices) != n {
		t.Fatalf("%d devices, not %d", len(list.Devices), n)
	}
	p.expect("watch opened")
	p.say("list 100000 45")
	if line := p.next(); !strings.HasPrefix(line, "list refused: ") {
		t.Fatalf("a list too long for the kubelet: %q", line)
	}
	p.say("list 2")
	list, err = stream.Recv()
	check(t, err)
	if len(list.Devices) != 2 {
		t.Fatalf("%d devices after the refused list", len(list.Devices))
	}
	p.stop()
}

func TestServerAllocatesDuringALongList(t *testing.T) {
	p := serve(t)
	client := plugin.NewDevicePluginClient(dial(t, p.path))
	ctx := within(t)
	n := longList(p)

	// Nobody reads the stream, so most of the list waits for its window.
	stream, err := client.ListAndWatch(ctx, &plugin.Empty{})
	check(t, err)
	p.expect("watch opened")
	var group sync.WaitGroup
	failures := make(chan error, 1000)
	for worker := range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range 50 {
				id := fmt.Sprintf("%d-%d", worker, i)
				answer, err := client.Allocate(ctx, allocateRequest(id))
				if err == nil && answer.ContainerResponses[0].Envs["DEVICE"] != id {
					err = fmt.Errorf("%s got %v", id, answer)
				}
				if err != nil {
					failures <- err
				}
			}
		}()
	}
	group.Wait()
	close(failures)
	check(t, <-failures)
	list, err := stream.Recv()
	check(t, err)
	if len(list.Devices) != n {
		t.Fatalf("%d devices, not %d", len(list.Devices), n)
	}
	p.stop()
}

func TestServerGivesASlowReaderTheNewestList(t *testing.T) {
	p := serve(t)
	client := plugin.NewDevicePluginClient(dial(t, p.path))
	first := longList(p)

	stream, err := client.ListAndWatch(within(t), &plugin.Empty{})
	check(t, err)
	p.expect("watch opened")
	for n := range 100 {
		p.say(fmt.Sprintf("list %d", n+1))
	}
	p.say("list 77")
	p.say("sync")
	p.expect("in sync")
	seen := []int{}
	for len(seen) == 0 || seen[len(seen)-1] != 77 || len(seen) < 2 {
		list, err := stream.Recv()
		check(t, err)
		seen = append(seen, len(list.Devices))
	}
	if seen[0] != first || len(seen) > 3 {
		t.Fatalf("lists of %v devices", seen)
	}
	p.stop()
}

func TestServerLearnsThatAStreamIsCancelled(t *testing.T) {
	p := serve(t)
	conn := dial(t, p.path)
	client := plugin.NewDevicePluginClient(conn)
	ctx, cancel := context.WithCancel(within(t))

	_, err := client.ListAndWatch(ctx, &plugin.Empty{})
	check(t, err)
	p.expect("watch opened")
	cancel()
	p.expect("watch cancelled")
	_, err = client.Allocate(within(t), allocateRequest("a"))
	check(t, err)

	_, err = client.ListAndWatch(within(t), &plugin.Empty{})
	check(t, err)
	p.expect("watch opened")
	conn.Close()
	p.expect("watch cancelled")
	p.stop()
}

func TestServerObeysADeadline(t *testing.T) {
	p := serve(t)
	client := plugin.NewDevicePluginClient(dial(t, p.path))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()

	_, err := client.PreStartContainer(ctx, &plugin.PreStartContainerRequest{})
	wantStatus(t, err, codes.DeadlineExceeded, "")
	p.expect("call hangs")
	p.expect("call cancelled")
	_, err = client.Allocate(within(t), allocateRequest("a"))
	check(t, err)
	p.stop()
}

func TestServerSaysGoawayInMidStream(t *testing.T) {
	p := serve(t)
	client := plugin.NewDevicePluginClient(dial(t, p.path))

	stream, err := client.ListAndWatch(within(t), &plugin.Empty{})
	check(t, err)
	_, err = stream.Recv()
	check(t, err)
	p.expect("watch opened")
	p.say("goaway")
	p.say("list 5")
	list, err := stream.Recv()
	check(t, err)
	if len(list.Devices) != 5 {
		t.Fatalf("%d devices after GOAWAY", len(list.Devices))
	}
	if _, err := os.Lstat(p.path); !os.IsNotExist(err) {
		t.Fatalf("the socket is there after GOAWAY: %v", err)
	}
	_, err = client.Allocate(within(t), allocateRequest("a"))
	wantStatus(t, err, codes.Unavailable, "")
	p.stop()
}

func TestServerRefusesWhatItDoesNotKnow(t *testing.T) {
	p := serve(t)
	conn := dial(t, p.path)
	client := plugin.NewDevicePluginClient(conn)

	err := conn.Invoke(within(t), "/v1beta1.DevicePlugin/Deallocate", &emptypb.Empty{}, &emptypb.Empty{})
	wantStatus(t, err, codes.Unimplemented, "unknown method '/v1beta1.DevicePlugin/Deallocate'")
	_, err = client.Allocate(within(t), allocateRequest("a"), grpc.UseCompressor(gzip.Name))
	wantStatus(t, err, codes.Unimplemented, "compressed")
	_, err = client.Allocate(within(t), allocateRequest(strings.Repeat("x", 4<<20)))
	wantStatus(t, err, codes.ResourceExhausted, "message longer than allowed")
	_, err = client.Allocate(within(t), allocateRequest(strings.Repeat("x", 4<<20-100)))
	wantStatus(t, err, codes.OK, "")
	p.stop()
}
