/* drm: the GPUs of AMD and Intel of a made-up node, against the answers of their vendors'
 * plugins. */
#include "agent/drm/drm.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "base/err.h"
#include "base/str.h"
#include "fake/fake_clock.h"
#include "unit/folder.h"
#include "unit/suite.h"
#include "unit/this_node.h"

#define PCI(address, vendor, driver, more)                                   \
	"{\"kind\":\"pci\",\"address\":\"" address "\",\"vendor\":\"" vendor \
	"\",\"driver\":\"" driver "\"" more "}\n"
#define DRM(name, pci, driver, card, render, more)                                                \
	"{\"kind\":\"drm\",\"name\":\"" name "\",\"pciAddress\":\"" pci "\",\"driver\":\"" driver \
	"\",\"card\":" card ",\"render\":" render more "}\n"
#define DIVIDED(compute) ",\"compute\":\"" compute "\",\"memory\":\"NPS1\""
#define NUMA(node)       ",\"numaNode\":" node

#define A0 "0000:03:00.0"
#define A1 "0000:83:00.0"
#define I0 "0000:00:02.0"

#define AMD_0 PCI(A0, "1002", "amdgpu", NUMA("0")) DRM(A0, A0, "amdgpu", "0", "128", "")
#define AMD_1 PCI(A1, "1002", "amdgpu", NUMA("1")) DRM(A1, A1, "amdgpu", "1", "129", "")
#define DIVIDED_0                                         \
	PCI(A0, "1002", "amdgpu", "")                     \
	DRM(A0, A0, "amdgpu", "0", "128", DIVIDED("DPX")) \
	DRM("amdgpu_xcp_0", A0, "amdgpu", "2", "130", DIVIDED("DPX"))
#define WHOLE_1 PCI(A1, "1002", "amdgpu", "") DRM(A1, A1, "amdgpu", "1", "129", DIVIDED("SPX"))
#define INTEL_0 PCI(I0, "8086", "i915", "") DRM(I0, I0, "i915", "0", "128", "")
#define BOTH    AMD_0 AMD_1

struct bench {
	struct folder folder;
	struct fake_clock *clock;
	struct this_node node;
	struct inventory inventory;
	struct drm *drm;
	/* "amd.com/gpu: 0000:03:00.0@0 | ..."; of the last calls of plugins_set() */
	struct str offers;
	const char *claimed, *given;
	bool kubelet_is_silent;
	unsigned changes;
};

void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	struct str *text = &((struct bench *)(void *)plugins)->offers;

	(void)type;
	(void)type_arg;
	for (size_t i = 0; i < len; i++) {
		str_addf(text, "%s%s:", text->len ? "; " : "", resources[i].name);
		for (size_t k = 0; k < resources[i].ndevices; k++) {
			const struct plugin_device *device = &resources[i].devices[k];

			assert_int_equal(device->healthy, !device->trouble);
			str_addf(text, "%s %s", k ? " |" : "", device->id);
			if (device->numa_node >= 0)
				str_addf(text, "@%d", device->numa_node);
			if (device->card)
				str_addf(text, " of %s", device->card);
			if (device->trouble)
				str_addf(text, " %s", device->trouble);
		}
	}
}

static char *claim_of(void *arg, const char *address)
{
	const struct bench *b = arg;

	return str_equal(b->claimed, address) ? xstrdup("c1") : NULL;
}

static bool is_free(void *arg, const char *id, char **ret_holder)
{
	const struct bench *b = arg;

	*ret_holder = str_equal(id, b->given) ? xstrdup("pod default/train") : NULL;
	return !b->kubelet_is_silent && !*ret_holder;
}

static void on_changed(void *arg)
{
	struct bench *b = arg;

	b->changes++;
}

static void see(struct bench *b, const char *lines)
{
	facts_free(b->inventory.facts);
	b->inventory.facts = facts_new();
	for (const char *end; (end = strchr(lines, '\n')); lines = end + 1)
		assert_int_equal(
			facts_add_line(b->inventory.facts, lines, (size_t)(end - lines), NULL), 0);
	b->inventory.facts->drms_known = true;
}

static void open_bench(struct bench *b, const struct drm_options *options, const char *lines)
{
	static const char *const nodes[] = { "kfd",           "dri/card0",      "dri/card1",
					     "dri/card2",     "dri/renderD128", "dri/renderD129",
					     "dri/renderD130" };

	folder_init(&b->folder);
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
		folder_put(&b->folder, nodes[i], "");
	folder_put(&b->folder, "dri/by-path/pci-" I0 "-card", "");
	folder_put(&b->folder, "dri/by-path/pci-" I0 "-render", "");
	folder_put(&b->folder, "dri/by-path/pci-" A0 "-card", "");
	folder_put(&b->folder, "device-plugins/kubelet_internal_checkpoint", "");
	b->clock = fake_clock_new();
	b->node = this_node_of(NULL, fake_clock_as_clock(b->clock), NULL);
	b->node.helper.dev_root = b->node.kubelet_dir = b->folder.path;
	b->node.inventory = &b->inventory;
	see(b, lines);
	b->drm = drm_new(&b->node, options, &(struct drm_deps){ on_changed, claim_of, is_free, b });
}

static void close_bench(struct bench *b)
{
	drm_free(b->drm);
	fake_clock_free(b->clock);
	facts_free(b->inventory.facts);
	str_done(&b->offers);
	folder_done(&b->folder);
}

static const char *offer(struct bench *b)
{
	str_clear(&b->offers);
	drm_offer(b->drm, (struct plugins *)(void *)b);
	return str_cstr(&b->offers);
}

/* The nodes and mounts, or the error. */
static char *allocate(const struct device_type *type, struct bench *b, const char *ids)
{
	struct allocation given = { 0 };
	struct json_strs list = { 0 };
	struct str out = STR_INIT;
	struct err err = { 0 };
	auto_free char *copy = xstrdup(ids);
	char *rest = copy;
	const char *word;

	while ((word = strsep(&rest, " ")))
		json_strs_add(&list, word);
	if (type->allocate(b->drm, "r", &list, &given, &err) < 0)
		str_add(&out, err.msg);
	for (size_t i = 0; i < given.devices.len && !err.code; i++)
		str_addf(&out, "%s%s:%s", i ? " " : "", given.devices.items[i].container_path,
			 given.devices.items[i].permissions);
	for (size_t i = 0; i < given.mounts.len; i++)
		str_addf(&out, " %s%s", given.mounts.items[i].host_path,
			 given.mounts.items[i].read_only ? ":ro" : "");
	assert_int_equal(given.envs.len + given.annotations.len + given.cdi_devices.len, 0);
	allocation_done(&given);
	json_strs_done(&list);
	return str_detach(&out);
}

/* --- the offer -------------------------------------------------------------------------------- */

/* clang-format off */
static struct offer_case {
	const char *name;
	struct drm_options options;
	const char *lines;
	const char *offer;
	const char *claimed;
	const char *missing; /* of the nodes */
} offers[] = {
	{ "GPUs of AMD by address", { .amd = true }, BOTH INTEL_0, "amd.com/gpu: " A0 "@0 | " A1 "@1", NULL, NULL },
	{ "a claim takes one", { .amd = true }, BOTH,
	  "amd.com/gpu: " A0 "@0 | " A1 "@1 the PCIDeviceClaim 'c1' takes it", A1, NULL },
	{ "one lacks a node", { .amd = true }, BOTH,
	  "amd.com/gpu: " A0 "@0 | " A1 "@1 its device node /dev/dri/renderD129 is not there", NULL, "dri/renderD129" },
	{ "without the compute driver none is healthy", { .amd = true }, AMD_0,
	  "amd.com/gpu: " A0 "@0 its device node /dev/kfd is not there", NULL, "kfd" },
	{ "parts under one name", { .amd = true }, DIVIDED_0, "amd.com/gpu: " A0 " | amdgpu_xcp_0 of " A0, NULL, NULL },
	{ "all parts of a claimed GPU are withdrawn", { .amd = true }, DIVIDED_0,
	  "amd.com/gpu: " A0 " the PCIDeviceClaim 'c1' takes it | "
	  "amdgpu_xcp_0 of " A0 " the PCIDeviceClaim 'c1' takes it", A0, NULL },
	{ "a mixture under one name is not offered", { .amd = true }, DIVIDED_0 WHOLE_1, "", NULL, NULL },
	{ "a mixture by division", { .amd = true, .amd_mixed = true }, DIVIDED_0 WHOLE_1,
	  "amd.com/dpx_nps1: " A0 " | amdgpu_xcp_0 of " A0 "; amd.com/spx_nps1: " A1, NULL, NULL },
	{ "by division what cannot be divided keeps its name", { .amd = true, .amd_mixed = true }, AMD_0,
	  "amd.com/gpu: " A0 "@0", NULL, NULL },
	{ "a GPU of Intel", { .intel = true }, INTEL_0 AMD_1, "gpu.intel.com/i915: card0-0 of " I0, NULL, NULL },
	{ "shares of it", { .intel = true, .intel_shares = 2 }, INTEL_0,
	  "gpu.intel.com/i915: card0-0 of " I0 " | card0-1 of " I0, NULL, NULL },
	{ "of one with virtual functions only these", { .intel = true },
	  PCI(I0, "8086", "xe", ",\"numVFs\":1") DRM(I0, I0, "xe", "0", "128", "")
	  PCI("0000:00:02.1", "8086", "xe", "") DRM("0000:00:02.1", "0000:00:02.1", "xe", "1", "129", ""),
	  "gpu.intel.com/xe: card1-0 of 0000:00:02.1", NULL, NULL },
	{ "both vendors", { .amd = true, .intel = true }, AMD_1 INTEL_0,
	  "amd.com/gpu: " A1 "@1; gpu.intel.com/i915: card0-0 of " I0, NULL, NULL },
	{ "nobody has asked", { 0 }, BOTH INTEL_0, "", NULL, NULL },
};
/* clang-format on */

static void offer_matches_table(void **state)
{
	const struct offer_case *c = *state;
	struct bench b = { .claimed = c->claimed };

	open_bench(&b, &c->options, c->lines);
	if (c->missing) {
		auto_free char *path = folder_path(&b.folder, c->missing);

		assert_int_equal(unlink(path), 0);
	}
	assert_string_equal(offer(&b), c->offer);
	close_bench(&b);
}

static void what_could_not_be_looked_at_stays(void **state)
{
	struct bench b = { 0 };

	open_bench(&b, &(struct drm_options){ .amd = true }, AMD_0);
	b.inventory.facts->drms_known = false;
	assert_string_equal(offer(&b), "");
	see(&b, AMD_0);
	assert_string_equal(offer(&b), "amd.com/gpu: " A0 "@0");
	see(&b, PCI(A0, "1002", "amdgpu", ""));
	b.inventory.facts->drms_known = false;
	assert_string_equal(offer(&b), "amd.com/gpu: " A0 "@0");
	b.inventory.facts->drms_known = true;
	assert_string_equal(offer(&b), "");
	close_bench(&b);
}

static void the_vendors_plugin_goes_first(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct bench b = { .claimed = A1 };
	struct drm_offered seen;
	auto_free char *path = NULL;

	open_bench(&b, &(struct drm_options){ .amd = true, .intel = true }, AMD_1 INTEL_0);
	path = folder_path(&b.folder, "device-plugins/amd.com_gpu");
	memcpy(address.sun_path, path, strlen(path));
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	fake_clock_advance(b.clock, 0);
	assert_int_equal(b.changes, 1);
	assert_string_equal(offer(&b), "gpu.intel.com/i915: card0-0 of " I0);
	assert_true(drm_offered(b.drm, A1, &seen));
	assert_null(seen.resource);
	assert_null(drm_bind_trouble(b.drm, A1));
	(void)close(fd);
	fake_clock_advance(b.clock, DRM_CHECK_MS);
	assert_int_equal(b.changes, 2);
	assert_non_null(strstr(offer(&b), "amd.com/gpu: " A1));
	close_bench(&b);
}

/* --- Allocate --------------------------------------------------------------------------------- */

/* clang-format off */
static struct answer_case {
	const char *name;
	const struct device_type *type;
	const char *lines;
	const char *ids;
	const char *answer;
	const char *claimed;
} answers[] = {
	{ "a GPU of AMD", &drm_amd_type, BOTH, A1, "/dev/kfd:rw /dev/dri/card1:rw /dev/dri/renderD129:rw", NULL },
	{ "two of them have one /dev/kfd", &drm_amd_type, BOTH, A0 " " A1,
	  "/dev/kfd:rw /dev/dri/card0:rw /dev/dri/renderD128:rw /dev/dri/card1:rw /dev/dri/renderD129:rw", NULL },
	{ "a part", &drm_amd_type, DIVIDED_0, "amdgpu_xcp_0",
	  "/dev/kfd:rw /dev/dri/card2:rw /dev/dri/renderD130:rw", NULL },
	{ "a claim has come meanwhile", &drm_amd_type, BOTH, A0 " " A1,
	  "GPU '" A1 "' is not available: the PCIDeviceClaim 'c1' takes it", A1 },
	{ "one that is gone", &drm_amd_type, AMD_0, A1, "GPU '" A1 "' is gone from the node", NULL },
	{ "a GPU of Intel", &drm_intel_type, INTEL_0, "card0-0", "/dev/dri/card0:rw /dev/dri/renderD128:rw "
	  "/dev/dri/by-path/pci-" I0 "-card:ro /dev/dri/by-path/pci-" I0 "-render:ro", NULL },
	{ "a share that is not there", &drm_intel_type, INTEL_0, "card0-1", "GPU 'card0-1' is gone from the node", NULL },
};
/* clang-format on */

/* As words: the folder of the links has no order. */
static bool has_all_words(const char *text, const char *words)
{
	auto_free char *copy = xstrdup(words);
	char *rest = copy;
	const char *word;

	while ((word = strsep(&rest, " "))) {
		if (!strstr(text, word))
			return false;
	}
	return strlen(text) == strlen(words);
}

static void answer_matches_table(void **state)
{
	const struct answer_case *c = *state;
	struct bench b = { 0 };
	auto_free char *answer = NULL;

	open_bench(&b, &(struct drm_options){ .amd = true, .intel = true }, c->lines);
	(void)offer(&b);
	b.claimed = c->claimed;
	answer = allocate(c->type, &b, c->ids);
	if (!has_all_words(answer, c->answer))
		assert_string_equal(answer, c->answer);
	close_bench(&b);
}

/* --- preferred GPUs --------------------------------------------------------------------------- */

#define HIVE(address, node, card, render, hive)    \
	PCI(address, "1002", "amdgpu", NUMA(node)) \
	DRM(address, address, "amdgpu", card, render, ",\"hive\":\"" hive "\"")

static void near_gpus_weigh_most(void **state)
{
	struct bench b = { 0 };

	open_bench(&b, &(struct drm_options){ .amd = true },
		   HIVE(A0, "0", "0", "128", "a") HIVE(A1, "1", "1", "129", "a")
			   DRM("amdgpu_xcp_0", A0, "amdgpu", "2", "130", "") INTEL_0);
	(void)offer(&b);
	assert_int_equal(drm_amd_type.choose(b.drm, "amd.com/gpu"), CHOICE_WEIGHTS);
	assert_int_equal(drm_amd_type.weight(b.drm, "amd.com/gpu", A0, "amdgpu_xcp_0"), 50);
	assert_int_equal(drm_amd_type.weight(b.drm, "amd.com/gpu", A0, A1), 30);
	assert_int_equal(drm_amd_type.weight(b.drm, "amd.com/gpu", "amdgpu_xcp_0", A1), 0);
	assert_int_equal(drm_amd_type.weight(b.drm, "amd.com/gpu", A0, "none"), 0);
	assert_int_equal(drm_intel_type.choose(b.drm, "gpu.intel.com/i915"), CHOICE_NEAR);
	close_bench(&b);
}

/* --- claims ----------------------------------------------------------------------------------- */

/* clang-format off */
static struct bind_case {
	const char *name;
	const char *lines;
	const char *address;
	const char *claimed, *given;
	bool silent, early;
	const char *trouble;
} binds[] = {
	{ "no container has it", AMD_0, A0, A0, NULL, false, false, NULL },
	{ "no claim takes it", AMD_0, A0, NULL, NULL, false, false, "containers can still get the GPU from the kubelet" },
	{ "a container has a part of it", DIVIDED_0, A0, A0, "amdgpu_xcp_0", false, false,
	  "pod default/train has the GPU as 'amdgpu_xcp_0': the card is bound when no container has it" },
	{ "a container has a share of it", INTEL_0, I0, I0, "card0-0", false, false,
	  "pod default/train has the GPU as 'card0-0': the card is bound when no container has it" },
	{ "the kubelet has not said anything", INTEL_0, I0, I0, NULL, true, false,
	  "it is not known yet whether a container has the GPU" },
	{ "nothing was offered yet", INTEL_0, I0, I0, NULL, false, true,
	  "it is not known yet whether a container has the GPU" },
	{ "it is another card", BOTH, I0, I0, A0, true, false, NULL },
};
/* clang-format on */

static void bind_matches_table(void **state)
{
	const struct bind_case *c = *state;
	struct bench b = { .claimed = c->claimed,
			   .given = c->given,
			   .kubelet_is_silent = c->silent };
	auto_free char *trouble = NULL;

	open_bench(&b, &(struct drm_options){ .amd = true, .intel = true }, c->lines);
	if (!c->early)
		(void)offer(&b);
	trouble = drm_bind_trouble(b.drm, c->address);
	if (c->trouble)
		assert_string_equal(trouble, c->trouble);
	else
		assert_null(trouble);
	close_bench(&b);
}

static void the_pcidevice_shows_the_offer(void **state)
{
	struct bench b = { .claimed = A1 };
	struct drm_offered seen;

	open_bench(&b, &(struct drm_options){ .amd = true }, BOTH);
	(void)offer(&b);
	assert_true(drm_offered(b.drm, A0, &seen));
	assert_string_equal(seen.resource, "amd.com/gpu");
	assert_string_equal(seen.by, "the agent (--amd)");
	assert_null(seen.trouble);
	assert_true(drm_offered(b.drm, A1, &seen));
	assert_string_equal(seen.trouble, "the PCIDeviceClaim 'c1' takes it");
	assert_false(drm_offered(b.drm, I0, &seen));
	close_bench(&b);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, offers, offer_matches_table);
	suite_rows(&suite, answers, answer_matches_table);
	suite_rows(&suite, binds, bind_matches_table);
	suite_add(&suite, "GPUs that could not be looked at are offered as before",
		  what_could_not_be_looked_at_stays, NULL);
	suite_add(&suite, "nothing is offered while the vendor's plugin runs",
		  the_vendors_plugin_goes_first, NULL);
	suite_add(&suite, "GPUs that are near to each other weigh most", near_gpus_weigh_most,
		  NULL);
	suite_add(&suite, "the PCIDevice shows what its GPU is offered as",
		  the_pcidevice_shows_the_offer, NULL);
	return suite_run(&suite, "drm");
}
