package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// list is one message of a plugin's ListAndWatch and when it came.
type list struct {
	at       int64
	resource string
	devices  []*plugin.Device
}

// kubelet does with device plugins what the real one does, and no more. What it learns goes into its
// channels, which somebody must read.
type kubelet struct {
	plugin.UnimplementedRegistrationServer
	plugins, registry string

	lists      chan list
	registered chan int64 // when a registration was answered, by either way
	found      chan int64 // when a socket of plugins_registry was seen
	known      map[string][]*plugin.Device

	server  *grpc.Server
	lock    sync.Mutex
	conns   []*grpc.ClientConn
	sockets map[string]string // of each resource
	clients map[string]plugin.DevicePluginClient
}

func newKubelet(folder string) *kubelet {
	k := &kubelet{plugins: filepath.Join(folder, "device-plugins"), registry: filepath.Join(folder, "plugins_registry"),
		lists: make(chan list, 10000), registered: make(chan int64, 10000), found: make(chan int64, 10000),
		known: map[string][]*plugin.Device{}}
	check(os.MkdirAll(k.plugins, 0o755))
	k.forget()
	return k
}

// start wipes the folder and makes the registration socket, in this order and at once, as
// pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go does; when the socket appeared.
func (k *kubelet) start() int64 {
	k.wipe("")
	k.server = grpc.NewServer()
	plugin.RegisterRegistrationServer(k.server, k)
	at := nowNs()
	listener, err := net.Listen("unix", filepath.Join(k.plugins, "kubelet.sock"))
	check(err)
	go k.server.Serve(listener)
	return at
}

// stop is a kubelet's end.
func (k *kubelet) stop() {
	k.server.Stop()
	k.forget()
}

// forget closes every connection to a plugin; what came from there is no more.
func (k *kubelet) forget() {
	k.lock.Lock()
	for _, conn := range k.conns {
		conn.Close()
	}
	k.conns = nil
	k.sockets = map[string]string{}
	k.clients = map[string]plugin.DevicePluginClient{}
	k.lock.Unlock()
	time.Sleep(20 * time.Millisecond) // who reads a connection that is closed says its last
	drain(k.lists)
	drain(k.registered)
	clear(k.known)
}

func drain[T any](from chan T) {
	for len(from) > 0 {
		<-from
	}
}

// wipe removes all sockets but this one.
func (k *kubelet) wipe(keep string) {
	for _, folder := range []string{k.plugins, k.registry} {
		names, _ := filepath.Glob(folder + "/*")
		for _, name := range names {
			if filepath.Base(name) != keep {
				os.Remove(name)
			}
		}
	}
}

func (k *kubelet) healthy() int {
	n := 0
	for _, list := range k.known {
		for _, d := range list {
			if d.Health == plugin.Healthy {
				n++
			}
		}
	}
	return n
}

// until reads lists until so many devices are healthy; when that was.
func (k *kubelet) until(healthy int) int64 {
	for {
		l := next(k.lists, fmt.Sprintf("a list with %d healthy devices, not %d,", healthy, k.healthy()))
		k.known[l.resource] = l.devices
		if k.healthy() == healthy {
			return l.at
		}
	}
}

// some is the last device of some resource.
func (k *kubelet) some() (string, string) {
	for resource, list := range k.known {
		return resource, list[len(list)-1].ID
	}
	return "", ""
}

// watchRegistry calls whoever makes a socket in plugins_registry, at once, and again after a ms while
// nobody listens there; the real kubelet looks every second.
func (k *kubelet) watchRegistry() {
	check(os.MkdirAll(k.registry, 0o755))
	watcher, err := fsnotify.NewWatcher()
	check(err)
	check(watcher.Add(k.registry))
	go func() {
		for event := range watcher.Events {
			if event.Has(fsnotify.Create) {
				k.found <- nowNs()
				check(k.introduce(event.Name))
				k.registered <- nowNs()
			}
		}
	}()
}

func (k *kubelet) introduce(path string) error {
	conn, err := dial(path)
	if err != nil {
		return err
	}
	defer conn.Close()
	client := registration.NewRegistrationClient(conn)
	info, err := client.GetInfo(context.Background(), &registration.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	if err := k.connect(info.Name, info.Endpoint); err != nil {
		return err
	}
	_, err = client.NotifyRegistrationStatus(context.Background(), &registration.RegistrationStatus{PluginRegistered: true})
	return err
}

// Register is called by plugins; like the real one it answers when it is connected to the plugin.
func (k *kubelet) Register(_ context.Context, r *plugin.RegisterRequest) (*plugin.Empty, error) {
	if err := k.connect(r.ResourceName, filepath.Join(k.plugins, r.Endpoint)); err != nil {
		return nil, err
	}
	k.registered <- nowNs()
	return &plugin.Empty{}, nil
}

func dial(path string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+path, grpc.WithAuthority("localhost"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: patience,
			Backoff: backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1}}),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", addr)
		}))
}

func (k *kubelet) connect(resource, path string) error {
	conn, err := dial(path)
	if err != nil {
		return err
	}
	client := plugin.NewDevicePluginClient(conn)
	if _, err := client.GetDevicePluginOptions(context.Background(), &plugin.Empty{}); err != nil {
		conn.Close()
		return err
	}
	k.lock.Lock()
	k.conns = append(k.conns, conn)
	k.sockets[resource] = path
	k.clients[resource] = client
	k.lock.Unlock()
	go k.watch(resource, client)
	return nil
}

func (k *kubelet) watch(resource string, client plugin.DevicePluginClient) {
	stream, err := client.ListAndWatch(context.Background(), &plugin.Empty{})
	for err == nil {
		var answer *plugin.ListAndWatchResponse
		if answer, err = stream.Recv(); err == nil {
			k.lists <- list{nowNs(), resource, answer.Devices}
		}
	}
}

// allocate is one Allocate of one device.
func (k *kubelet) allocate(resource, device string) error {
	k.lock.Lock()
	client := k.clients[resource]
	k.lock.Unlock()
	answer, err := client.Allocate(context.Background(), &plugin.AllocateRequest{
		ContainerRequests: []*plugin.ContainerAllocateRequest{{DevicesIds: []string{device}}}})
	if err != nil {
		return err
	}
	if len(answer.ContainerResponses) != 1 || len(answer.ContainerResponses[0].Devices) == 0 {
		return fmt.Errorf("%s: an answer without devices", device)
	}
	return nil
}
