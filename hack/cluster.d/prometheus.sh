# shellcheck shell=bash
# Prometheus and promtool from Debian's package, for tests. Sourced after hack/lib.sh. The package is
# unpacked into the cache, not installed: installing it would start a service.

PROMETHEUS_ENTRY=prometheus-bookworm-1

# prometheus_tools: afterwards the cache has prometheus and promtool.
prometheus_tools() {
	cache_entry "$PROMETHEUS_ENTRY" fetch_prometheus
}

# link_prometheus FOLDER: beside kubectl.
link_prometheus() {
	mkdir -p "$1"
	ln -sfn "$CACHE/$PROMETHEUS_ENTRY"/{prometheus,promtool} "$1/"
}

fetch_prometheus() {
	local folder=$1
	step "fetching Prometheus from Debian (once)"
	(cd "$folder" && { apt-get download prometheus || { apt_get update && apt-get download prometheus; }; })
	dpkg -x "$folder"/prometheus_*.deb "$folder/root"
	mv "$folder"/root/usr/bin/{prometheus,promtool} "$folder/"
	rm -rf "$folder/root" "$folder"/*.deb
}
