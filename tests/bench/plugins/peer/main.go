// peer is a device plugin on grpc-go as they are usually written: the same 64 devices and the same
// answers as bench_plugin, to measure both beside each other. Its command line and standard input are
// those of tests/bench/bench_plugin.c.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const (
	devices  = 64
	resource = "example.com/nic"
	socket   = "peer.sock"
)

// table is the devices as they are now; every watcher is told of a change.
type table struct {
	lock     sync.Mutex
	devices  []*plugin.Device
	watchers map[chan struct{}]bool
}

func newTable() *table {
	t := &table{watchers: map[chan struct{}]bool{}}
	for i := range devices {
		t.devices = append(t.devices, &plugin.Device{
			ID: fmt.Sprintf("0000:%02x:00.0", i), Health: plugin.Healthy,
			Topology: &plugin.TopologyInfo{Nodes: []*plugin.NUMANode{{ID: int64(i % 2)}}}})
	}
	return t
}

func (t *table) change(n int) {
	t.lock.Lock()
	defer t.lock.Unlock()
	old := t.devices[n%devices]
	health := plugin.Healthy
	if old.Health == plugin.Healthy {
		health = plugin.Unhealthy
	}
	t.devices[n%devices] = &plugin.Device{ID: old.ID, Health: health, Topology: old.Topology}
	for w := range t.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

func (t *table) list() *plugin.ListAndWatchResponse {
	t.lock.Lock()
	defer t.lock.Unlock()
	return &plugin.ListAndWatchResponse{Devices: append([]*plugin.Device(nil), t.devices...)}
}

func (t *table) healthy(id string) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	for _, d := range t.devices {
		if d.ID == id {
			return d.Health == plugin.Healthy
		}
	}
	return false
}

func (t *table) watch() (chan struct{}, func()) {
	w := make(chan struct{}, 1)
	t.lock.Lock()
	defer t.lock.Unlock()
	t.watchers[w] = true
	return w, func() {
		t.lock.Lock()
		defer t.lock.Unlock()
		delete(t.watchers, w)
	}
}

type service struct {
	plugin.UnimplementedDevicePluginServer
	registration.UnimplementedRegistrationServer
	table    *table
	endpoint string
}

func (s *service) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{}, nil
}

func (s *service) ListAndWatch(_ *plugin.Empty, stream plugin.DevicePlugin_ListAndWatchServer) error {
	changed, stop := s.table.watch()
	defer stop()
	for {
		if err := stream.Send(s.table.list()); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (s *service) Allocate(_ context.Context, r *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	answer := &plugin.AllocateResponse{}
	for _, container := range r.ContainerRequests {
		one := &plugin.ContainerAllocateResponse{
			Devices: []*plugin.DeviceSpec{spec("/dev/vfio/vfio")},
			Envs:    map[string]string{"PCI_RESOURCE_EXAMPLE_COM_NIC": strings.Join(container.DevicesIds, ",")}}
		for _, id := range container.DevicesIds {
			if !s.table.healthy(id) {
				return nil, fmt.Errorf("device %q is not ready", id)
			}
			one.Devices = append(one.Devices, spec("/dev/vfio/"+id))
		}
		answer.ContainerResponses = append(answer.ContainerResponses, one)
	}
	return answer, nil
}

func spec(path string) *plugin.DeviceSpec {
	return &plugin.DeviceSpec{ContainerPath: path, HostPath: path, Permissions: "mrw"}
}

func (s *service) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.DevicePlugin, Name: resource, Endpoint: s.endpoint,
		SupportedVersions: []string{plugin.Version}}, nil
}

func (s *service) NotifyRegistrationStatus(context.Context, *registration.RegistrationStatus) (
	*registration.RegistrationStatusResponse, error) {
	return &registration.RegistrationStatusResponse{}, nil
}

func serve(s *service, path string, register func(*grpc.Server)) (*grpc.Server, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer()
	register(server)
	go server.Serve(listener)
	return server, nil
}

func register(folder string) error {
	conn, err := grpc.NewClient("unix:"+filepath.Join(folder, "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = plugin.NewRegistrationClient(conn).Register(context.Background(), &plugin.RegisterRequest{
		Version: plugin.Version, Endpoint: socket, ResourceName: resource, Options: &plugin.DevicePluginOptions{}},
		grpc.WaitForReady(true))
	return err
}

// direct serves and registers, and both anew whenever the kubelet's socket is made.
func direct(s *service, folder string) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := watcher.Add(folder); err != nil {
		return err
	}
	for {
		server, err := serve(s, s.endpoint, func(g *grpc.Server) { plugin.RegisterDevicePluginServer(g, s) })
		if err != nil {
			return err
		}
		if err := register(folder); err != nil {
			log.Print(err)
		}
		for event := range watcher.Events {
			if filepath.Base(event.Name) == "kubelet.sock" && event.Has(fsnotify.Create) {
				break
			}
		}
		server.Stop()
	}
}

// byRegistry serves both services on one socket, where the kubelet finds it.
func byRegistry(s *service, folder string) error {
	s.endpoint = filepath.Join(folder, socket)
	_, err := serve(s, s.endpoint, func(g *grpc.Server) {
		plugin.RegisterDevicePluginServer(g, s)
		registration.RegisterRegistrationServer(g, s)
	})
	return err
}

func nowNs() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

func main() {
	if len(os.Args) != 4 || os.Args[1] != "direct" && os.Args[1] != "registry" {
		log.Fatal("usage: peer direct|registry KUBELET_DIR REGISTRY_DIR")
	}
	s := &service{table: newTable(), endpoint: filepath.Join(os.Args[2], socket)}
	if os.Args[1] == "direct" {
		go func() { log.Fatal(direct(s, os.Args[2])) }()
	} else if err := byRegistry(s, os.Args[3]); err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	for n := 0; lines.Scan(); n++ {
		began := nowNs()
		s.table.change(n)
		fmt.Println(began)
	}
}
