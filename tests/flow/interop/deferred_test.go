package interop

import (
	"context"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// newLaterNode has device plugins whose type answers an Allocate when the test says so.
func newLaterNode(t *testing.T) (*node, plugin.DevicePluginClient) {
	dir, err := os.MkdirTemp("", "node-")
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	n := &node{newProbe(t, "PLUGIN_PROBE", dir), t, dir}
	n.say("later " + resource + " 3")
	return n, plugin.NewDevicePluginClient(dial(t, n.endpoint()))
}

type answered struct {
	response *plugin.AllocateResponse
	err      error
}

// asks calls Allocate, and returns when the device type was asked.
func (n *node) asks(ctx context.Context, client plugin.DevicePluginClient, device string) chan answered {
	n.t.Helper()
	answer := make(chan answered, 1)
	go func() {
		response, err := client.Allocate(ctx, allocateRequest(device))
		answer <- answered{response, err}
	}()
	n.expectSoon("asked " + device)
	return answer
}

func (n *node) answers(command, device, want string) {
	n.t.Helper()
	n.say(command + " " + device)
	n.expectSoon(want + " " + device)
}

func await(t *testing.T, answer chan answered) answered {
	t.Helper()
	select {
	case a := <-answer:
		return a
	case <-time.After(patience):
		t.Fatal("Allocate is not answered")
	}
	return answered{}
}

// arrives returns when the plugin has read all that the connection sent before.
func arrives(t *testing.T, client plugin.DevicePluginClient) {
	t.Helper()
	_, err := client.GetDevicePluginOptions(within(t), &plugin.Empty{})
	check(t, err)
}

func wantCDI(t *testing.T, a answered, device string) {
	t.Helper()
	check(t, a.err)
	one := a.response.ContainerResponses[0]
	name := "example.com/toy=" + device
	if len(one.CdiDevices) != 1 || one.CdiDevices[0].Name != name {
		t.Fatalf("CDI devices are %v", one.CdiDevices)
	}
	if len(one.Annotations) != 1 || one.Annotations["cdi.k8s.io/toy"] != name {
		t.Fatalf("annotations are %v", one.Annotations)
	}
	if len(one.Envs)+len(one.Devices)+len(one.Mounts) != 0 {
		t.Fatalf("allocated is %v", one)
	}
}

func TestAllocateIsAnsweredLaterWithCDIDevices(t *testing.T) {
	n, client := newLaterNode(t)
	first := n.asks(within(t), client, "device-0")
	second := n.asks(within(t), client, "device-1")

	_, err := client.Allocate(within(t), allocateRequest("device-0"))
	wantStatus(t, err, codes.Unavailable, "device 'device-0' of 'example.com/toy' is being allocated by another request")
	n.answers("answer", "device-1", "answered")
	wantCDI(t, await(t, second), "device-1")
	n.answers("answer", "device-0", "answered")
	wantCDI(t, await(t, first), "device-0")
	third := n.asks(within(t), client, "device-0")
	n.answers("refuse", "device-0", "answered")
	wantStatus(t, await(t, third).err, codes.Unavailable, "example.com/toy: device 'device-0' does not answer")
	n.stop()
}

func TestAllocateThatIsCancelledIsNotWanted(t *testing.T) {
	n, client := newLaterNode(t)
	ctx, cancel := context.WithCancel(context.Background())
	other := n.asks(within(t), client, "device-1")
	answer := n.asks(ctx, client, "device-0")

	cancel()
	wantStatus(t, await(t, answer).err, codes.Canceled, "")
	arrives(t, client)
	n.answers("answer", "device-0", "unwanted")
	ctx, cancel = context.WithTimeout(context.Background(), 10*quiet)
	defer cancel()
	answer = n.asks(ctx, client, "device-0")
	wantStatus(t, await(t, answer).err, codes.DeadlineExceeded, "")
	arrives(t, client)
	n.answers("refuse", "device-0", "unwanted")
	n.answers("answer", "device-1", "answered")
	wantCDI(t, await(t, other), "device-1")
	n.stop()
}

func TestAllocateIsRefusedWhenTheResourceGoes(t *testing.T) {
	n, client := newLaterNode(t)
	first := n.asks(within(t), client, "device-0")
	second := n.asks(within(t), client, "device-1")

	n.say("later " + resource + " 0")
	for _, answer := range []chan answered{first, second} {
		wantStatus(t, await(t, answer).err, codes.Unavailable, "resource 'example.com/toy' is withdrawn")
	}
	n.answers("answer", "device-0", "unwanted")
	n.stop() // the answer for device-1 comes after the end of the plugins
}
