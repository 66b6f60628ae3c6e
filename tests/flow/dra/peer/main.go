// peer is a DRA driver as drivers are usually written: on Kubernetes' own helper, kubeletplugin. For the PCI functions that it
// is told it does what hostdev does for claimed ones: a slice, CDI files with the nodes of VFIO, metadata. Unlike hostdev it
// keeps no checkpoint, so that a claim does not survive it.
//
//	peer [-qps N] -kubeconfig FILE -node NAME -devices ADDRESS,... [-kubelet-dir DIR] [-cdi-dir DIR] [-sysfs-root DIR]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/api/metadata/v1alpha1"
	"k8s.io/dynamic-resource-allocation/api/metadata/v1beta1"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

const (
	driverName = "peer.example.com"
	busID      = "resource.kubernetes.io/pciBusID"
)

var (
	qps        = flag.Float64("qps", 0, "requests to the API server per second; 0 is client-go's default")
	kubeconfig = flag.String("kubeconfig", "", "the API server and who asks it")
	node       = flag.String("node", "", "name of the node")
	addresses  = flag.String("devices", "", "PCI addresses of its devices, with commas")
	kubeletDir = flag.String("kubelet-dir", "/var/lib/kubelet", "the kubelet's folder")
	cdiDir     = flag.String("cdi-dir", "/var/run/cdi", "folder of the CDI files")
	sysfs      = flag.String("sysfs-root", "/sys", "where sysfs is")
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type peer struct {
	addresses map[string]string // of each device, by its name in the slice
	prepared  map[types.UID][]kubeletplugin.Device
	holders   map[string]types.UID // the claim that has a device
}

func (p *peer) PrepareResourceClaims(_ context.Context, claims []*resource.ResourceClaim) (
	map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		devices, err := p.prepare(claim)
		results[claim.UID] = kubeletplugin.PrepareResult{Devices: devices, Err: err}
	}
	return results, nil
}

func (p *peer) prepare(claim *resource.ResourceClaim) ([]kubeletplugin.Device, error) {
	if devices, ok := p.prepared[claim.UID]; ok {
		return devices, nil
	}
	devices, specs := []kubeletplugin.Device{}, []any{}
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != driverName {
			continue
		}
		address, ok := p.addresses[result.Device]
		if holder := p.holders[result.Device]; !ok || holder != "" {
			return nil, fmt.Errorf("device %s: unknown, or in use by claim %q", result.Device, holder)
		}
		group, err := os.Readlink(filepath.Join(*sysfs, "bus/pci/devices", address, "iommu_group"))
		if err != nil {
			return nil, err
		}
		id := string(claim.UID) + "-" + result.Device
		specs = append(specs, map[string]any{"name": id, "containerEdits": map[string]any{
			"env":         []string{"PCI_RESOURCE_PEER_EXAMPLE_COM_PCI=" + address},
			"deviceNodes": []any{vfioNode("vfio"), vfioNode(filepath.Base(group))}}})
		devices = append(devices, kubeletplugin.Device{Requests: []string{result.Request}, PoolName: result.Pool,
			DeviceName: result.Device, CDIDeviceIDs: []string{driverName + "/device=" + id},
			Metadata: &kubeletplugin.DeviceMetadata{Attributes: map[string]resource.DeviceAttribute{
				busID: {StringValue: &address}}}})
	}
	if err := writeSpec(claim.UID, specs); err != nil {
		return nil, err
	}
	p.prepared[claim.UID] = devices
	for _, device := range devices {
		p.holders[device.DeviceName] = claim.UID
	}
	return devices, nil
}

func vfioNode(name string) any {
	return map[string]any{"path": "/dev/vfio/" + name, "permissions": "rw"}
}

func specPath(uid types.UID) string {
	return filepath.Join(*cdiDir, driverName+"-device_"+string(uid)+".json")
}

func writeSpec(uid types.UID, devices []any) error {
	text, err := json.Marshal(map[string]any{"cdiVersion": "0.5.0", "kind": driverName + "/device", "devices": devices})
	if err != nil {
		return err
	}
	path := specPath(uid)
	if err := os.WriteFile(path+".tmp", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func (p *peer) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (
	map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range claims {
		err := os.Remove(specPath(claim.UID))
		if os.IsNotExist(err) {
			err = nil
		}
		for _, device := range p.prepared[claim.UID] {
			delete(p.holders, device.DeviceName)
		}
		delete(p.prepared, claim.UID)
		results[claim.UID] = err
	}
	return results, nil
}

func (p *peer) HandleError(_ context.Context, err error, message string) {
	log.Printf("%s: %v", message, err)
}

func (p *peer) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

func (p *peer) resources() resourceslice.DriverResources {
	var slice resourceslice.Slice
	for name, address := range p.addresses {
		slice.Devices = append(slice.Devices, resource.Device{Name: name,
			Attributes: map[resource.QualifiedName]resource.DeviceAttribute{busID: {StringValue: &address}}})
	}
	return resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{*node: {Slices: []resourceslice.Slice{slice}}}}
}

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	p := &peer{addresses: map[string]string{}, prepared: map[types.UID][]kubeletplugin.Device{},
		holders: map[string]types.UID{}}
	for _, address := range strings.Split(*addresses, ",") {
		p.addresses["pci-"+strings.NewReplacer(":", "-", ".", "-").Replace(address)] = address
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	check(err)
	config.QPS, config.Burst, config.UserAgent = float32(*qps), int(2**qps), "peer"
	client, err := kubernetes.NewForConfig(config)
	check(err)
	data := filepath.Join(*kubeletDir, "plugins", driverName)
	check(os.MkdirAll(data, 0o755))
	check(os.MkdirAll(*cdiDir, 0o755))
	helper, err := kubeletplugin.Start(ctx, p, kubeletplugin.DriverName(driverName), kubeletplugin.NodeName(*node),
		kubeletplugin.KubeClient(client), kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(*kubeletDir, "plugins_registry")),
		kubeletplugin.CDIDirectory(*cdiDir), kubeletplugin.EnableDeviceMetadata(true,
			[]schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion}))
	check(err)
	check(helper.PublishResources(ctx, p.resources()))
	<-ctx.Done()
	helper.Stop()
}
