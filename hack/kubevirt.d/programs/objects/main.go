// objects prints what virt-operator would install of KubeVirt, certificates included, as files in a folder.
//
//	objects FOLDER NODE
//
// virt-handler runs on NODE.
//
// The objects and the certificates come from the operator's own packages. Left out are what needs OpenShift or
// Prometheus, the operator itself and its webhook, the export proxy and the synchronization controller.
package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	virtv1 "kubevirt.io/api/core/v1"
	"kubevirt.io/client-go/version"

	"kubevirt.io/kubevirt/pkg/certificates/triple/cert"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/install"
	operatorutil "kubevirt.io/kubevirt/pkg/virt-operator/util"
)

const (
	namespace = "kubevirt"
	policies  = "admissionregistration.k8s.io/v1"
)

// must ends the program where err is set.
func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "objects:", err)
		os.Exit(1)
	}
}

// A file of YAML documents.
type file struct{ bytes.Buffer }

func (f *file) add(object any) {
	f.WriteString("---\n")
	f.Write(must(yaml.Marshal(object)))
}

func addAll[T any](f *file, objects []T) {
	for _, object := range objects {
		f.add(object)
	}
}

func (f *file) write(folder, name string) {
	check(os.WriteFile(filepath.Join(folder, name), f.Bytes(), 0o600))
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: objects FOLDER NODE")
		os.Exit(2)
	}
	folder, node := os.Args[1], os.Args[2]
	tag := version.Get().GitVersion
	check(os.Setenv("VIRT_OPERATOR_IMAGE", "localhost/kubevirt/virt-operator:"+tag))
	check(os.Setenv("KUBEVIRT_VERSION", tag))
	kv := &virtv1.KubeVirt{ObjectMeta: metav1.ObjectMeta{Name: "kubevirt", Namespace: namespace}}
	kv.Spec.ImagePullPolicy = "IfNotPresent"
	strategy := must(install.GenerateCurrentInstallStrategy(operatorutil.GetTargetConfigFromKV(kv), "", namespace))

	writeCRDs(folder, strategy)
	writeRights(folder, strategy)
	authority := writeCertificates(folder)
	writeWebhooks(folder, strategy, authority)
	writeHandler(folder, strategy, node)
}

// writeHandler: on an emulated node that is busy, three late answers in a row say nothing about virt-handler, and 1000
// of each of its own devices cost the kubelet much. The operator does the same where virtualMachineInstancesPerNode is set.
func writeHandler(folder string, strategy install.StrategyInterface, node string) {
	var handler file
	for _, o := range strategy.DaemonSets() {
		pod := &o.Spec.Template.Spec
		pod.NodeSelector = map[string]string{"kubernetes.io/hostname": node}
		for i := range pod.Containers {
			pod.Containers[i].Args = append(pod.Containers[i].Args, "--max-devices", "10")
			if probe := pod.Containers[i].LivenessProbe; probe != nil {
				probe.FailureThreshold = 40
			}
		}
		handler.add(o)
	}
	handler.write(folder, "daemonset.yaml")
}

func writeCRDs(folder string, strategy install.StrategyInterface) {
	var crds file
	crds.add(must(components.NewKubeVirtCrd()))
	addAll(&crds, strategy.CRDs())
	crds.write(folder, "crds.yaml")
}

func writeRights(folder string, strategy install.StrategyInterface) {
	var rights file
	rights.add(components.NewKubeVirtPriorityClassCR())
	addAll(&rights, strategy.ServiceAccounts())
	addAll(&rights, strategy.ClusterRoles())
	addAll(&rights, strategy.ClusterRoleBindings())
	addAll(&rights, strategy.Roles())
	addAll(&rights, strategy.RoleBindings())
	// The operator creates these through typed clients, and says v1 as their version.
	for _, o := range strategy.ValidatingAdmissionPolicies() {
		o.APIVersion = policies
		rights.add(o)
	}
	for _, o := range strategy.ValidatingAdmissionPolicyBindings() {
		o.APIVersion = policies
		rights.add(o)
	}
	rights.write(folder, "rights.yaml")
}

// writeCertificates returns the certificate of the authority that signs virt-api's, as PEM.
func writeCertificates(folder string) []byte {
	var certificates file
	year := &metav1.Duration{Duration: 365 * 24 * time.Hour}
	authorities := map[string]*tls.Certificate{}
	for _, o := range components.NewCACertSecrets(namespace) {
		check(components.PopulateSecretWithCertificate(o, nil, year))
		authorities[o.Name] = must(components.LoadCertificates(o))
		certificates.add(o)
	}
	for _, o := range components.NewCAConfigMaps(namespace) {
		o.Data = map[string]string{components.CABundleKey: ""}
		if ca := authorities[o.Name]; ca != nil {
			o.Data[components.CABundleKey] = string(cert.EncodeCertPEM(ca.Leaf))
		}
		certificates.add(o)
	}
	for _, o := range components.NewCertSecrets(namespace, namespace) {
		ca := authorities[components.KubeVirtCASecretName]
		if o.Name == components.VirtExportProxyCertSecretName {
			ca = authorities[components.KubeVirtExportCASecretName]
		}
		check(components.PopulateSecretWithCertificate(o, ca, year))
		certificates.add(o)
	}
	certificates.write(folder, "certificates.yaml")
	return cert.EncodeCertPEM(authorities[components.KubeVirtCASecretName].Leaf)
}

// writeWebhooks writes what leads the API server to virt-api. Its Service selects no pod: virt-api is a process.
func writeWebhooks(folder string, strategy install.StrategyInterface, authority []byte) {
	var hooks file
	for _, o := range strategy.Services() {
		if o.Name == components.VirtApiServiceName {
			o.Spec.Selector = nil
			hooks.add(o)
		}
	}
	for _, o := range strategy.ValidatingWebhookConfigurations() {
		if strings.Contains(o.Name, "operator") {
			continue
		}
		for i := range o.Webhooks {
			o.Webhooks[i].ClientConfig.CABundle = authority
		}
		hooks.add(o)
	}
	for _, o := range strategy.MutatingWebhookConfigurations() {
		for i := range o.Webhooks {
			o.Webhooks[i].ClientConfig.CABundle = authority
		}
		hooks.add(o)
	}
	for _, o := range strategy.APIServices() {
		o.Spec.CABundle = authority
		hooks.add(o)
	}
	hooks.write(folder, "webhooks.yaml")
}
