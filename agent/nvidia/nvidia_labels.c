#include "agent/nvidia/nvidia_labels.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nvidia/nvidia_config.h"
#include "agent/nvidia/nvidia_gpus.h"
#include "api/json_values.h"
#include "base/mem.h"
#include "base/str.h"

#define PREFIX "nvidia.com/"

enum {
	VALUE_MAX = 63, /* bytes of a label's value, by Kubernetes */
	CLASS_GRAPHICS = 0x030000,
	CLASS_COMPUTE = 0x030200,
	CLUSTER_DIGITS = 32,
};

/* --- values ----------------------------------------------------------------------------------- */

static bool is_plain(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* As GPU Feature Discovery does it: words are joined by '-', and what a value cannot have is left
 * out. It does not look at the length, or at the first and the last character, which a value must
 * begin and end with. */
static char *clean(const char *text)
{
	auto_str struct str out = STR_INIT;
	bool gap = false;
	size_t len;

	for (; *text; text++) {
		if (is_plain(*text)) {
			if (gap && out.len > 0)
				str_add_char(&out, '-');
			gap = false;
			str_add_char(&out, *text);
		}
		gap = gap || *text == ' ';
	}
	len = out.len < VALUE_MAX ? out.len : VALUE_MAX;
	text = str_cstr(&out);
	while (len > 0 && !isalnum((unsigned char)text[len - 1]))
		len--;
	while (len > 0 && !isalnum((unsigned char)*text)) {
		text++;
		len--;
	}
	return xasprintf("%.*s", (int)len, text);
}

/* @name "gpu" and @part "count": the label nvidia.com/gpu.count. */
static void put(struct json_pairs *labels, const char *name, const char *part, const char *value)
{
	auto_free char *key = xasprintf(PREFIX "%s.%s", name, part);
	auto_free char *cleaned = clean(value);

	(void)json_pairs_set(labels, key, cleaned);
}

/* One that is not known has no label. */
static void put_number(struct json_pairs *labels, const char *name, const char *part, int64_t value)
{
	auto_free char *text = NULL;

	if (value < 0)
		return;
	text = xasprintf("%" PRId64, value);
	put(labels, name, part, text);
}

static void put_bool(struct json_pairs *labels, const char *name, const char *part, bool value)
{
	put(labels, name, part, value ? "true" : "false");
}

/* --- the node --------------------------------------------------------------------------------- */

static bool counts(const struct nvidia_gpu *gpu)
{
	return gpu->looked && gpu->name && !gpu->claim;
}

/* "550.54.15" has three numbers, "550.54" two. */
static void put_driver(const char *version, struct json_pairs *labels)
{
	static const char *const parts[][2] = { { "major", "major" },
						{ "minor", "minor" },
						{ "rev", "revision" } };
	auto_free char *copy = xstrdup(version);
	char *rest = copy;

	put(labels, "cuda", "driver-version.full", version);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const char *number = rest ? strsep(&rest, ".") : "";
		auto_free char *old = xasprintf("driver.%s", parts[i][0]);
		auto_free char *new = xasprintf("driver-version.%s", parts[i][1]);

		put(labels, "cuda", old, number);
		put(labels, "cuda", new, number);
	}
}

static void put_cuda(int version, struct json_pairs *labels)
{
	int major = version / 1000;
	int minor = version % 1000 / 10;
	auto_free char *full = xasprintf("%d.%d", major, minor);

	put_number(labels, "cuda", "runtime.major", major);
	put_number(labels, "cuda", "runtime.minor", minor);
	put_number(labels, "cuda", "runtime-version.major", major);
	put_number(labels, "cuda", "runtime-version.minor", minor);
	put(labels, "cuda", "runtime-version.full", full);
}

static const char *mode_of(unsigned pci_class)
{
	if (pci_class == CLASS_GRAPHICS)
		return "graphics";
	return pci_class == CLASS_COMPUTE ? "compute" : "unknown";
}

/* The clique of all GPUs that are in an NVLink fabric; none if they are in several. */
static void put_clique(const struct nvidia_gpus *gpus, struct json_pairs *labels)
{
	const struct nvidia_gpu *first = NULL;
	auto_free char *value = NULL;

	for (size_t i = 0; i < gpus->len; i++) {
		const struct nvidia_gpu *gpu = &gpus->items[i];

		if (!counts(gpu) || !gpu->cluster || strlen(gpu->cluster) != CLUSTER_DIGITS)
			continue;
		if (first &&
		    (strcmp(first->cluster, gpu->cluster) != 0 || first->clique != gpu->clique))
			return;
		first = gpu;
	}
	if (!first || first->clique < 0)
		return;
	/* A UUID as text. */
	value = xasprintf("%.8s-%.4s-%.4s-%.4s-%s.%" PRId64, first->cluster, first->cluster + 8,
			  first->cluster + 12, first->cluster + 16, first->cluster + 20,
			  first->clique);
	put(labels, "gpu", "clique", value);
}

static const char *sharing_of(const struct nvidia_config *config)
{
	if (config->mps_root)
		return "mps";
	return config->sharings.len > 0 ? "time-slicing" : "none";
}

static void put_node(const struct nvidia_label_case *c, struct json_pairs *labels)
{
	const struct nvidia_gpus *gpus = c->gpus;
	bool can_mig = false;
	bool has_mig = false;
	unsigned pci_class = 0;
	bool alike = true;

	for (size_t i = 0; i < gpus->len; i++) {
		const struct nvidia_gpu *gpu = &gpus->items[i];

		if (!counts(gpu))
			continue;
		can_mig = can_mig || gpu->can_mig;
		has_mig = has_mig || gpu->has_mig;
		alike = alike && (!pci_class || pci_class == gpu->pci_class);
		pci_class = gpu->pci_class;
	}
	put(labels, "gpu", "machine", c->machine && *c->machine ? c->machine : "unknown");
	put(labels, "gpu", "mode", mode_of(alike ? pci_class : 0));
	put(labels, "gpu", "sharing-strategy", sharing_of(c->config));
	put_bool(labels, "mig", "capable", can_mig);
	put_bool(labels, "mps", "capable", c->config->mps_root && !has_mig);
	if (c->driver)
		put_driver(c->driver, labels);
	if (c->cuda >= 0)
		put_cuda(c->cuda, labels);
	if (c->mig != NVIDIA_MIG_NONE)
		put(labels, "mig", "strategy", c->mig == NVIDIA_MIG_SINGLE ? "single" : "mixed");
	put_clique(gpus, labels);
}

/* --- GPUs and MIG devices --------------------------------------------------------------------- */

static const char *family_of(int major, int minor)
{
	static const char *const families[] = {
		[1] = "tesla",      [2] = "fermi",      [3] = "kepler", [5] = "maxwell",
		[6] = "pascal",     [7] = "volta",      [8] = "ampere", [9] = "hopper",
		[10] = "blackwell", [12] = "blackwell",
	};

	if (major == 7 && minor >= 5)
		return "turing";
	if (major == 8 && minor >= 9)
		return "ada-lovelace";
	return major < (int)ARRAY_LEN(families) && families[major] ? families[major] : "undefined";
}

/* What is left of GPUs in MIG mode, which GPU Feature Discovery calls not shared at all, has 0
 * replicas; @sharing NULL: it is not shared. */
static void put_product(const char *name, const char *product, bool shareable,
			const struct nvidia_sharing *sharing, struct json_pairs *labels)
{
	bool marked = sharing && strcmp(sharing->name, sharing->resource) == 0;
	auto_free char *value = xasprintf("%s%s", product, marked ? "-SHARED" : "");

	put(labels, name, "product", value);
	put_number(labels, name, "replicas", !shareable ? 0 : sharing ? sharing->replicas : 1);
}

static size_t count_model(const struct nvidia_gpus *gpus, const char *model)
{
	size_t n = 0;

	for (size_t i = 0; i < gpus->len; i++)
		n += counts(&gpus->items[i]) && strcmp(gpus->items[i].name, model) == 0;
	return n;
}

/* The first GPU of the main model, one that is not in MIG mode before others; NULL: there is
 * none. */
static const struct nvidia_gpu *main_gpu(const struct nvidia_gpus *gpus)
{
	const struct nvidia_gpu *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < gpus->len; i++) {
		const struct nvidia_gpu *gpu = &gpus->items[i];
		size_t n = counts(gpu) ? count_model(gpus, gpu->name) : 0;
		bool plainer = best && best->has_mig && !gpu->has_mig && n == most &&
			       strcmp(best->name, gpu->name) == 0;

		if (n <= most && !plainer)
			continue;
		best = gpu;
		most = n;
	}
	return best;
}

static const struct nvidia_sharing *sharing_of_gpu(const struct nvidia_devices *devices,
						   const struct nvidia_gpu *gpu)
{
	for (size_t i = 0; i < devices->len; i++) {
		if (devices->items[i].gpu == gpu && !devices->items[i].mig)
			return devices->items[i].sharing;
	}
	return NULL;
}

static void put_gpu(const struct nvidia_gpus *gpus, const struct nvidia_devices *devices,
		    const struct nvidia_gpu *gpu, struct json_pairs *labels)
{
	put_product("gpu", gpu->name, !gpu->has_mig,
		    gpu->has_mig ? NULL : sharing_of_gpu(devices, gpu), labels);
	put_number(labels, "gpu", "count", (int64_t)count_model(gpus, gpu->name));
	if (gpu->memory_mib > 0)
		put_number(labels, "gpu", "memory", gpu->memory_mib);
	if (gpu->compute_major <= 0)
		return;
	put(labels, "gpu", "family", family_of(gpu->compute_major, gpu->compute_minor));
	put_number(labels, "gpu", "compute.major", gpu->compute_major);
	put_number(labels, "gpu", "compute.minor", gpu->compute_minor);
}

static bool is_labelled_mig(const struct nvidia_device *device)
{
	return device->mig && counts(device->gpu);
}

static size_t count_migs(const struct nvidia_devices *devices, const char *resource)
{
	size_t n = 0;

	for (size_t i = 0; i < devices->len; i++)
		n += is_labelled_mig(&devices->items[i]) &&
		     strcmp(devices->items[i].resource, resource) == 0;
	return n;
}

/* All devices of a resource are alike. */
static void put_mig(const struct nvidia_devices *devices, const struct nvidia_device *device,
		    struct json_pairs *labels)
{
	const struct nvidia_mig *mig = device->mig;
	const char *name = device->resource + strlen(PREFIX);
	auto_free char *product = xasprintf("%s-MIG-%s", device->gpu->name, mig->profile);

	put_product(name, product, true, device->sharing, labels);
	put_number(labels, name, "count", (int64_t)count_migs(devices, device->resource));
	put_number(labels, name, "memory", mig->memory_mib);
	put_number(labels, name, "multiprocessors", mig->multiprocessors);
	put_number(labels, name, "slices.gi", mig->gpu_slices);
	put_number(labels, name, "slices.ci", mig->compute_slices);
	put_number(labels, name, "engines.copy", mig->copy_engines);
	put_number(labels, name, "engines.decoder", mig->decoders);
	put_number(labels, name, "engines.encoder", mig->encoders);
	put_number(labels, name, "engines.jpeg", mig->jpeg_engines);
	put_number(labels, name, "engines.ofa", mig->ofa_engines);
}

/* The last one of a resource wins: it is put over the others. */
static void put_migs(const struct nvidia_devices *devices, struct json_pairs *labels)
{
	for (size_t i = devices->len; i > 0; i--) {
		if (is_labelled_mig(&devices->items[i - 1]))
			put_mig(devices, &devices->items[i - 1], labels);
	}
}

static bool has_any(const struct nvidia_devices *devices)
{
	for (size_t i = 0; i < devices->len; i++) {
		if (counts(devices->items[i].gpu))
			return true;
	}
	return false;
}

/* GPUs in MIG mode of which the strategy single can offer nothing. */
static void put_invalid(const struct nvidia_gpu *gpu, struct json_pairs *labels)
{
	auto_free char *product = xasprintf("%s-MIG-INVALID", gpu->name);

	put(labels, "gpu", "product", product);
	put_number(labels, "gpu", "count", 0);
	put_number(labels, "gpu", "replicas", 0);
	put_number(labels, "gpu", "memory", 0);
}

void nvidia_labels_make(const struct nvidia_label_case *c, struct json_pairs *ret_labels)
{
	const struct nvidia_gpu *gpu = main_gpu(c->gpus);
	struct nvidia_devices devices;

	*ret_labels = (struct json_pairs){ 0 };
	if (!gpu)
		return;
	nvidia_devices_make(c->gpus, c->config, c->mig, &devices);
	put_node(c, ret_labels);
	put_gpu(c->gpus, &devices, gpu, ret_labels);
	put_migs(&devices, ret_labels);
	if (c->mig == NVIDIA_MIG_SINGLE && !has_any(&devices))
		put_invalid(gpu, ret_labels);
	nvidia_devices_done(&devices);
}
