# shellcheck shell=bash
# Certificates and kubeconfigs of a local cluster, below DIR/pki. Sourced after
# hack/lib.sh. What exists is kept: a restarted cluster keeps its identity.

PKI_DAYS=3650

# pki_ca PKI
pki_ca() {
	local pki=$1
	[[ ! -s $pki/ca.crt ]] || return 0
	mkdir -p "$pki"
	chmod 700 "$pki"
	# The system's configuration would add extensions of its own.
	printf '[req]\ndistinguished_name = dn\n[dn]\n' >"$pki/openssl.cnf"
	pki_openssl "$pki" req -x509 -subj /CN=hostdev-local-ca -keyout "$pki/ca.key" \
		-addext basicConstraints=critical,CA:TRUE \
		-addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature \
		-addext subjectKeyIdentifier=hash -out "$pki/ca.crt.new"
	mv "$pki/ca.crt.new" "$pki/ca.crt"
}

# pki_openssl PKI ARGUMENT…: a request with a new P-256 key; the error is shown.
pki_openssl() {
	local pki=$1 output
	shift
	output=$(umask 077 && openssl "$@" -config "$pki/openssl.cnf" -days "$PKI_DAYS" -sha256 \
		-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes 2>&1) ||
		die "openssl could not make a certificate in $pki: $output"
}

# pki_issue PKI NAME SUBJECT USAGE [SANS]: NAME.crt and NAME.key. USAGE is
# clientAuth, serverAuth or both with a comma.
pki_issue() {
	local pki=$1 name=$2 subject=$3 usage=$4 sans=${5:-}
	[[ ! -s $pki/$name.crt ]] || return 0
	pki_openssl "$pki" req -x509 -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -subj "$subject" \
		-addext basicConstraints=critical,CA:FALSE \
		-addext keyUsage=critical,digitalSignature \
		-addext "extendedKeyUsage=$usage" \
		-addext authorityKeyIdentifier=keyid \
		${sans:+-addext "subjectAltName=$sans"} \
		-keyout "$pki/$name.key" -out "$pki/$name.crt.new"
	mv "$pki/$name.crt.new" "$pki/$name.crt"
}

# pki_control_plane PKI: all that the control plane itself needs. 10.0.2.2 is
# the way from a QEMU guest to the loopback of its host.
pki_control_plane() {
	local pki=$1 group=/O=system:
	pki_ca "$pki"
	pki_issue "$pki" apiserver /CN=kube-apiserver serverAuth \
		"DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:localhost,IP:127.0.0.1,IP:10.96.0.1,IP:10.0.2.2"
	pki_issue "$pki" etcd /CN=etcd serverAuth,clientAuth DNS:localhost,IP:127.0.0.1
	pki_issue "$pki" apiserver-etcd /CN=kube-apiserver-etcd clientAuth
	pki_issue "$pki" apiserver-kubelet "${group}masters/CN=kube-apiserver-kubelet" clientAuth
	pki_issue "$pki" admin "${group}masters/CN=kubernetes-admin" clientAuth
	pki_issue "$pki" controller-manager /CN=system:kube-controller-manager clientAuth
	pki_issue "$pki" scheduler /CN=system:kube-scheduler clientAuth
	if [[ ! -s $pki/sa.pub ]]; then
		(umask 077 && openssl ecparam -name prime256v1 -genkey -noout -out "$pki/sa.key")
		openssl pkey -in "$pki/sa.key" -pubout -out "$pki/sa.pub"
	fi
}

# pki_webhooks PKI: a CA that signs nothing but the certificate with which the API server asks hostdev's webhook.
pki_webhooks() {
	local pki=$1/webhooks
	pki_ca "$pki"
	pki_issue "$pki" apiserver /CN=kube-apiserver clientAuth
	(umask 077 && cat >"$pki/kubeconfig.new") <<-END
		apiVersion: v1
		kind: Config
		users:
		- name: hostdev-webhook.hostdev-system.svc
		  user: {client-certificate: $pki/apiserver.crt, client-key: $pki/apiserver.key}
	END
	mv "$pki/kubeconfig.new" "$pki/kubeconfig"
	cat >"$pki/admission.yaml" <<-END
		apiVersion: apiserver.config.k8s.io/v1
		kind: AdmissionConfiguration
		plugins:
		- name: ValidatingAdmissionWebhook
		  configuration: &webhooks
		    apiVersion: apiserver.config.k8s.io/v1
		    kind: WebhookAdmissionConfiguration
		    kubeConfigFile: $pki/kubeconfig
		- name: MutatingAdmissionWebhook
		  configuration: *webhooks
	END
}

# pki_front_proxy PKI: a CA that signs nothing but the certificate with which the API server asks other API servers.
pki_front_proxy() {
	pki_ca "$1/front-proxy"
	pki_issue "$1/front-proxy" client /CN=front-proxy-client clientAuth
}

# pki_node PKI NODE: the client certificate of the node's kubelet.
pki_node() {
	pki_issue "$1" "node-$2" "/O=system:nodes/CN=system:node:$2" clientAuth
}

# pki_user PKI NAME: the client certificate of a person in no group.
pki_user() {
	[[ $2 =~ ^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$ ]] || die "'$2' is no name of a user: lower-case letters and digits"
	pki_issue "$1" "user-$2" "/CN=$2" clientAuth
}

# kubeconfig_certificate PKI NAME SERVER: a kubeconfig on standard output that
# holds all it needs, so that it can be copied into a guest.
kubeconfig_certificate() {
	local pki=$1 name=$2
	kubeconfig_print "$pki" "$name" "$3" \
		"client-certificate-data: $(base64 -w 0 "$pki/$name.crt")" \
		"client-key-data: $(base64 -w 0 "$pki/$name.key")"
}

# kubeconfig_print PKI USER SERVER USERLINE…
kubeconfig_print() {
	local pki=$1 user=$2 server=$3
	shift 3
	cat <<-END
		apiVersion: v1
		kind: Config
		clusters:
		- name: hostdev-local
		  cluster:
		    server: $server
		    certificate-authority-data: $(base64 -w 0 "$pki/ca.crt")
		contexts:
		- name: hostdev-local
		  context:
		    cluster: hostdev-local
		    user: $user
		current-context: hostdev-local
		users:
		- name: $user
		  user:
	END
	printf '    %s\n' "$@"
}
