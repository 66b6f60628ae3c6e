package interop

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// hexOf is what the probe's `call` takes.
func hexOf(t *testing.T, message proto.Message) string {
	data, err := proto.Marshal(message)
	check(t, err)
	if len(data) == 0 {
		return "-"
	}
	return hex.EncodeToString(data)
}

// answer reads the probe's line of a message of call n.
func answer(t *testing.T, p *probe, n int, message proto.Message) {
	t.Helper()
	read(t, p.next(), n, message)
}

func read(t *testing.T, line string, n int, message proto.Message) {
	t.Helper()
	var length int
	if _, err := fmt.Sscanf(line, fmt.Sprintf("%d message %%d", n), &length); err != nil {
		t.Fatalf("%q is no message of call %d", line, n)
	}
	data, err := hex.DecodeString(line[strings.LastIndex(line, " ")+1:])
	check(t, err)
	if len(data) != length {
		t.Fatalf("%d of %d bytes", len(data), length)
	}
	check(t, proto.Unmarshal(data, message))
}

// kubelet is what a device plugin and its agent call.
type kubelet struct {
	plugin.UnimplementedRegistrationServer
	podresources.UnimplementedPodResourcesListerServer
	registered chan *plugin.RegisterRequest
	pods       *podresources.ListPodResourcesResponse
}

func (k *kubelet) Register(ctx context.Context, r *plugin.RegisterRequest) (*plugin.Empty, error) {
	switch r.Endpoint {
	case "hang": // told when it begins and when it ends
		k.registered <- r
		<-ctx.Done()
		k.registered <- r
		return nil, ctx.Err()
	case "refuse":
		return nil, status.Errorf(codes.InvalidArgument, "the ResourceName %q is invalid: 5 %% über\nline", r.ResourceName)
	}
	if _, has := ctx.Deadline(); !has {
		return nil, status.Error(codes.Internal, "no deadline came")
	}
	k.registered <- r
	return &plugin.Empty{}, nil
}

func (k *kubelet) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	return k.pods, nil
}

// devices is a device plugin whose streams and calls the test leads.
type devices struct {
	plugin.UnimplementedDevicePluginServer
	lists chan int // devices of the next list; closed: the stream ends
	gone  chan struct{}
}

func (d *devices) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{PreStartRequired: true}, nil
}

func (d *devices) ListAndWatch(_ *plugin.Empty, stream plugin.DevicePlugin_ListAndWatchServer) error {
	for {
		select {
		case n, more := <-d.lists:
			if !more {
				return status.Error(codes.Aborted, "enough")
			}
			list := &plugin.ListAndWatchResponse{}
			for i := range n {
				list.Devices = append(list.Devices, &plugin.Device{ID: fmt.Sprintf("%060d", i), Health: plugin.Healthy})
			}
			if err := stream.Send(list); err != nil {
				return err
			}
		case <-stream.Context().Done():
			close(d.gone)
			return stream.Context().Err()
		}
	}
}

func (d *devices) Allocate(_ context.Context, r *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	return &plugin.AllocateResponse{ContainerResponses: []*plugin.ContainerAllocateResponse{
		{Envs: map[string]string{"N": fmt.Sprint(len(r.ContainerRequests[0].DevicesIds))}}}}, nil
}

func (d *devices) GetPreferredAllocation(_ context.Context, r *plugin.PreferredAllocationRequest) (*plugin.PreferredAllocationResponse, error) {
	return &plugin.PreferredAllocationResponse{ContainerResponses: []*plugin.ContainerPreferredAllocationResponse{
		{DeviceIDs: r.ContainerRequests[0].AvailableDeviceIDs[:1]}}}, nil
}

func (d *devices) PreStartContainer(context.Context, *plugin.PreStartContainerRequest) (*plugin.PreStartContainerResponse, error) {
	return &plugin.PreStartContainerResponse{}, nil
}

func listenKubelet(t *testing.T) (*kubelet, *probe) {
	k := &kubelet{registered: make(chan *plugin.RegisterRequest, 10)}
	_, p := listen(t, func(s *grpc.Server) {
		plugin.RegisterRegistrationServer(s, k)
		podresources.RegisterPodResourcesListerServer(s, k)
	})
	return k, p
}

func listenDevices(t *testing.T, options ...grpc.ServerOption) (*devices, *grpc.Server, *probe) {
	d := &devices{lists: make(chan int, 100), gone: make(chan struct{})}
	server, p := listen(t, func(s *grpc.Server) { plugin.RegisterDevicePluginServer(s, d) }, options...)
	return d, server, p
}

func TestClientRegisters(t *testing.T) {
	k, p := listenKubelet(t)
	request := &plugin.RegisterRequest{Version: plugin.Version, Endpoint: "a.sock", ResourceName: "example.com/a",
		Options: &plugin.DevicePluginOptions{GetPreferredAllocationAvailable: true}}

	p.say("call /v1beta1.Registration/Register 5000 unary " + hexOf(t, request))
	answer(t, p, 0, &plugin.Empty{})
	p.expect("0 end OK: ")
	if got := <-k.registered; !proto.Equal(got, request) {
		t.Fatalf("registered was %v", got)
	}
	request.Endpoint = "refuse"
	p.say("call /v1beta1.Registration/Register 5000 unary " + hexOf(t, request))
	p.expect(`1 end InvalidArgument: the ResourceName "example.com/a" is invalid: 5 % über\x0aline`)
	p.say("call /v1beta1.Registration/Unregister 5000 unary -")
	p.expect("2 end Unimplemented: unknown method Unregister for service v1beta1.Registration")
	p.stop()
}

func TestClientDeadlineEndsBothSides(t *testing.T) {
	k, p := listenKubelet(t)

	began := time.Now()
	p.say("call /v1beta1.Registration/Register 2000 unary " + hexOf(t, &plugin.RegisterRequest{Endpoint: "hang"}))
	if line := p.next(); !strings.HasPrefix(line, "0 end DeadlineExceeded: ") {
		t.Fatal(line)
	}
	if took := time.Since(began); took < 1990*time.Millisecond {
		t.Fatalf("after %v", took)
	}
	<-k.registered
	<-k.registered // its context ended too
	p.stop()
}

func TestClientCancels(t *testing.T) {
	k, p := listenKubelet(t)

	p.say("call /v1beta1.Registration/Register 0 unary " + hexOf(t, &plugin.RegisterRequest{Endpoint: "hang"}))
	<-k.registered
	p.say("cancel 0")
	p.expect("0 cancelled")
	<-k.registered
	p.stop()
}

func TestClientReadsPodResourcesOf4MiB(t *testing.T) {
	k, p := listenKubelet(t)
	ids := make([]string, 60000)
	for i := range ids {
		ids[i] = fmt.Sprintf("%060d", i)
	}
	k.pods = &podresources.ListPodResourcesResponse{PodResources: []*podresources.PodResources{{Name: "pod",
		Containers: []*podresources.ContainerResources{{Devices: []*podresources.ContainerDevices{{DeviceIds: ids}}}}}}}

	p.say("call /v1.PodResourcesLister/List 10000 unary -")
	if line, want := p.next(), fmt.Sprintf("0 message %d ", proto.Size(k.pods)); !strings.HasPrefix(line, want) {
		t.Fatalf("%.60q", line)
	}
	p.expect("0 end OK: ")
	k.pods.PodResources[0].Containers[0].Devices[0].DeviceIds = append(ids, ids[:10000]...)
	p.say("call /v1.PodResourcesLister/List 10000 unary -")
	if line := p.next(); !strings.HasPrefix(line, "1 end ResourceExhausted: message longer than allowed") {
		t.Fatalf("%.60q", line)
	}
	p.stop()
}

func TestClientCallsEveryMethodOfADevicePlugin(t *testing.T) {
	d, _, p := listenDevices(t)
	many := make([]string, 60000)
	for i := range many {
		many[i] = fmt.Sprintf("%060d", i)
	}

	p.say("call /v1beta1.DevicePlugin/GetDevicePluginOptions 0 unary -")
	options := &plugin.DevicePluginOptions{}
	answer(t, p, 0, options)
	p.expect("0 end OK: ")
	if !options.PreStartRequired {
		t.Fatalf("options are %v", options)
	}
	// A request of nearly 4 MiB.
	p.say("call /v1beta1.DevicePlugin/Allocate 0 unary " + hexOf(t, allocateRequest(many...)))
	allocated := &plugin.AllocateResponse{}
	answer(t, p, 1, allocated)
	p.expect("1 end OK: ")
	if allocated.ContainerResponses[0].Envs["N"] != "60000" {
		t.Fatalf("allocated is %v", allocated)
	}
	p.say("call /v1beta1.DevicePlugin/GetPreferredAllocation 0 unary " + hexOf(t, &plugin.PreferredAllocationRequest{
		ContainerRequests: []*plugin.ContainerPreferredAllocationRequest{{AvailableDeviceIDs: []string{"a", "b"}}}}))
	preferred := &plugin.PreferredAllocationResponse{}
	answer(t, p, 2, preferred)
	p.expect("2 end OK: ")
	p.say("call /v1beta1.DevicePlugin/PreStartContainer 0 unary " + hexOf(t, &plugin.PreStartContainerRequest{DevicesIds: []string{"a"}}))
	answer(t, p, 3, &plugin.PreStartContainerResponse{})
	p.expect("3 end OK: ")
	p.say("call /v1beta1.DevicePlugin/ListAndWatch 0 stream -")
	d.lists <- 2
	list := &plugin.ListAndWatchResponse{}
	answer(t, p, 4, list)
	if len(list.Devices) != 2 {
		t.Fatalf("list is %v", list)
	}
	// A list of nearly 4 MiB, and other calls while it comes.
	d.lists <- 55000
	for i := 5; i < 105; i++ {
		p.say("call /v1beta1.DevicePlugin/Allocate 0 unary " + hexOf(t, allocateRequest("a")))
	}
	ends, long := 0, 0
	for ends < 100 || long < 1 {
		if line := p.next(); strings.HasPrefix(line, "4 message ") {
			long++
		} else if strings.HasSuffix(line, " end OK: ") {
			ends++
		}
	}
	close(d.lists)
	p.expect("4 end Aborted: enough")
	p.stop()
}

func TestClientCancelsAStream(t *testing.T) {
	d, _, p := listenDevices(t)

	p.say("call /v1beta1.DevicePlugin/ListAndWatch 0 stream -")
	d.lists <- 1
	answer(t, p, 0, &plugin.ListAndWatchResponse{})
	p.say("cancel 0")
	p.expect("0 cancelled")
	select {
	case <-d.gone:
	case <-time.After(patience):
		t.Fatal("the server does not know that its stream was cancelled")
	}
	p.stop()
}

func TestClientHearsGoawayInMidStream(t *testing.T) {
	d, server, p := listenDevices(t)

	p.say("call /v1beta1.DevicePlugin/ListAndWatch 0 stream -")
	d.lists <- 1
	answer(t, p, 0, &plugin.ListAndWatchResponse{})
	stopped := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(stopped)
	}()
	time.Sleep(time.Second) // the GOAWAY has come
	d.lists <- 2
	list := &plugin.ListAndWatchResponse{}
	answer(t, p, 0, list)
	if len(list.Devices) != 2 {
		t.Fatalf("list after GOAWAY is %v", list)
	}
	// A new call needs a new connection, and nobody listens there.
	p.say("call /v1beta1.DevicePlugin/GetDevicePluginOptions 0 unary -")
	if line := p.next(); !strings.HasPrefix(line, "1 end Unavailable: '"+p.path+"': connect: ") {
		t.Fatal(line)
	}
	close(d.lists)
	p.expect("0 end Aborted: enough")
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Fatal("the client keeps its connection after GOAWAY")
	}
	p.stop()
}

func TestClientConnectsAgainAfterGoaway(t *testing.T) {
	// grpc-go says GOAWAY to a connection of this age. A call that crosses it on its way is refused
	// unprocessed; the one after it goes to a new connection.
	_, _, p := listenDevices(t, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 300 * time.Millisecond}))
	refused := false

	for n := range 12 {
		p.say("call /v1beta1.DevicePlugin/GetDevicePluginOptions 5000 unary -")
		line := p.next()
		if !refused && line == fmt.Sprintf("%d end Unavailable: stream was reset, HTTP/2 error 7", n) {
			refused = true
			continue
		}
		refused = false
		read(t, line, n, &plugin.DevicePluginOptions{})
		p.expect(fmt.Sprintf("%d end OK: ", n))
		time.Sleep(100 * time.Millisecond)
	}
	p.stop()
}

func TestClientSaysThatNobodyListens(t *testing.T) {
	p := call(t, t.TempDir()+"/nobody.sock")

	p.say("call /v1.PodResourcesLister/List 5000 unary -")
	p.expect("0 end Unavailable: '" + p.path + "': connect: no such file or directory")
	p.stop()
}
