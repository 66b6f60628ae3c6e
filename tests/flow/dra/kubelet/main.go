// kubelet plays the kubelet for DRA drivers: it registers and calls them as its standard input says.
//
//	kubelet
//
// Each line is a command, which is answered by one line of JSON. Times are in ns.
//
//	register REGISTRY DRIVER               waits for the driver's socket in the folder REGISTRY and registers the driver
//	connect DRIVER SOCKET SERVICE          connects without registration; SERVICE is v1.DRAPlugin or v1beta1.DRAPlugin
//	prepare DRIVER NAMESPACE NAME UID      calls NodePrepareResources for one claim
//	unprepare DRIVER NAMESPACE NAME UID    calls NodeUnprepareResources for one claim
//	forget DRIVER                          closes the connections to the driver, as a kubelet that ends
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	drabeta "k8s.io/kubelet/pkg/apis/dra/v1beta1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const patience = 45 * time.Second // the kubelet's limit of one call

type device struct {
	Pool     string   `json:"pool"`
	Device   string   `json:"device"`
	Requests []string `json:"requests"`
	CDI      []string `json:"cdi"`
}

// answer is what a command prints.
type answer struct {
	Took     int64    `json:"took"`
	Error    string   `json:"error,omitempty"`
	Services []string `json:"services,omitempty"`
	Devices  []device `json:"devices,omitempty"`
}

// caller is one version of the service.
type caller interface {
	prepare(ctx context.Context, namespace, name, uid string) ([]device, error)
	unprepare(ctx context.Context, namespace, name, uid string) error
}

type driver struct {
	caller
	conns []*grpc.ClientConn
}

type kubelet map[string]*driver

func dial(path string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+path, grpc.WithAuthority("localhost"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", addr)
		}))
}

// register asks the socket DRIVER-reg.sock, as the kubelet's plugin watcher does.
func (k kubelet) register(ctx context.Context, registry, name string) ([]string, error) {
	path := filepath.Join(registry, name+"-reg.sock")
	for {
		if _, err := os.Stat(path); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("there is no %s", path)
		case <-time.After(time.Millisecond):
		}
	}
	conn, err := dial(path)
	if err != nil {
		return nil, err
	}
	client := registration.NewRegistrationClient(conn)
	info, err := client.GetInfo(ctx, &registration.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return nil, err
	}
	if info.Type != registration.DRAPlugin || info.Name != name {
		return nil, fmt.Errorf("%s is a %s named %s", path, info.Type, info.Name)
	}
	service := info.SupportedVersions[slices.IndexFunc(info.SupportedVersions, known)]
	if err := k.connect(name, info.Endpoint, service); err != nil {
		return nil, err
	}
	k[name].conns = append(k[name].conns, conn)
	_, err = client.NotifyRegistrationStatus(ctx, &registration.RegistrationStatus{PluginRegistered: true})
	return info.SupportedVersions, err
}

func known(service string) bool {
	return service == dra.DRAPluginService || service == drabeta.DRAPluginService
}

func (k kubelet) connect(name, socket, service string) error {
	conn, err := dial(socket)
	if err != nil {
		return err
	}
	one := &driver{conns: []*grpc.ClientConn{conn}}
	switch service {
	case dra.DRAPluginService:
		one.caller = v1{dra.NewDRAPluginClient(conn)}
	case drabeta.DRAPluginService:
		one.caller = v1beta1{drabeta.NewDRAPluginClient(conn)}
	default:
		return fmt.Errorf("unknown service %s", service)
	}
	k[name] = one
	return nil
}

func (k kubelet) forget(name string) {
	for _, conn := range k[name].conns {
		conn.Close()
	}
	delete(k, name)
}

type v1 struct{ dra.DRAPluginClient }

func (c v1) prepare(ctx context.Context, namespace, name, uid string) ([]device, error) {
	got, err := c.NodePrepareResources(ctx, &dra.NodePrepareResourcesRequest{
		Claims: []*dra.Claim{{Namespace: namespace, Name: name, Uid: uid}}})
	if err != nil {
		return nil, err
	}
	one := got.Claims[uid]
	if one == nil {
		return nil, errors.New("an answer without the claim")
	}
	if one.Error != "" {
		return nil, errors.New(one.Error)
	}
	devices := []device{}
	for _, d := range one.Devices {
		devices = append(devices, device{d.PoolName, d.DeviceName, d.RequestNames, d.CdiDeviceIds})
	}
	return devices, nil
}

func (c v1) unprepare(ctx context.Context, namespace, name, uid string) error {
	got, err := c.NodeUnprepareResources(ctx, &dra.NodeUnprepareResourcesRequest{
		Claims: []*dra.Claim{{Namespace: namespace, Name: name, Uid: uid}}})
	if err != nil {
		return err
	}
	one := got.Claims[uid]
	if one == nil {
		return errors.New("an answer without the claim")
	}
	if one.Error != "" {
		return errors.New(one.Error)
	}
	return nil
}

type v1beta1 struct{ drabeta.DRAPluginClient }

func (c v1beta1) prepare(ctx context.Context, namespace, name, uid string) ([]device, error) {
	got, err := c.NodePrepareResources(ctx, &drabeta.NodePrepareResourcesRequest{
		Claims: []*drabeta.Claim{{Namespace: namespace, Name: name, Uid: uid}}})
	if err != nil {
		return nil, err
	}
	one := got.Claims[uid]
	if one == nil {
		return nil, errors.New("an answer without the claim")
	}
	if one.Error != "" {
		return nil, errors.New(one.Error)
	}
	devices := []device{}
	for _, d := range one.Devices {
		devices = append(devices, device{d.PoolName, d.DeviceName, d.RequestNames, d.CdiDeviceIds})
	}
	return devices, nil
}

func (c v1beta1) unprepare(ctx context.Context, namespace, name, uid string) error {
	got, err := c.NodeUnprepareResources(ctx, &drabeta.NodeUnprepareResourcesRequest{
		Claims: []*drabeta.Claim{{Namespace: namespace, Name: name, Uid: uid}}})
	if err != nil {
		return err
	}
	one := got.Claims[uid]
	if one == nil {
		return errors.New("an answer without the claim")
	}
	if one.Error != "" {
		return errors.New(one.Error)
	}
	return nil
}

// run does one command.
func (k kubelet) run(words []string) (answer, error) {
	var got answer
	var err error
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	lengths := map[string]int{"register": 3, "connect": 4, "prepare": 5, "unprepare": 5, "forget": 2}
	if len(words) == 0 || len(words) != lengths[words[0]] {
		return got, fmt.Errorf("unknown command %q", words)
	}
	if name := words[1]; words[0] != "register" && words[0] != "connect" && k[name] == nil {
		return got, fmt.Errorf("%s is not connected", name)
	}
	switch words[0] {
	case "register":
		got.Services, err = k.register(ctx, words[1], words[2])
	case "connect":
		err = k.connect(words[1], words[2], words[3])
	case "prepare":
		got.Devices, err = k[words[1]].prepare(ctx, words[2], words[3], words[4])
	case "unprepare":
		err = k[words[1]].unprepare(ctx, words[2], words[3], words[4])
	case "forget":
		k.forget(words[1])
	}
	return got, err
}

func main() {
	k := kubelet{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		began := time.Now()
		got, err := k.run(strings.Fields(lines.Text()))
		got.Took = time.Since(began).Nanoseconds()
		if err != nil {
			got.Error = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
			log.Fatal(err)
		}
	}
}
