/* nvidia_config: what configuration files of NVIDIA's device plugin say, and which are refused. */
#include "agent/nvidia/nvidia_config.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

#define SLICING(text) "sharing: {timeSlicing: {" text "}}"
#define GPU(text)     SLICING("resources: [{name: nvidia.com/gpu, replicas: 4" text "}]")
#define AT            "file: sharing.timeSlicing.resources[0]: "
#define FORM                                                                                 \
	AT "devices: expected all, a number, or a list of indexes and UUIDs, with 1 to 512 " \
	   "devices"
#define IMEX "file: imex.channelIDs: expected [] or [0]"

/* NVIDIA's own example, with all fields. */
static const char whole[] =
	"version: v1\n"
	"flags:\n"
	"  migStrategy: \"none\"\n"
	"  failOnInitError: true\n"
	"  nvidiaDriverRoot: \"/\"\n"
	"  plugin:\n"
	"    passDeviceSpecs: false\n"
	"    deviceListStrategy: [volume-mounts, cdi-cri]\n"
	"    deviceIDStrategy: uuid\n"
	"  gfd: {oneshot: false, sleepInterval: 60s}\n"
	"resources:\n"
	"  gpus: [{pattern: \"*\", name: gpu}]\n"
	"sharing:\n"
	"  timeSlicing:\n"
	"    renameByDefault: true\n"
	"    failRequestsGreaterThanOne: true\n"
	"    resources:\n"
	"    - {name: nvidia.com/gpu, replicas: 10}\n"
	"    - {name: mig-1g.5gb, replicas: 2, devices: [\"0:1\", 3, GPU-1], rename: small}\n";

static struct config_case {
	const char *name;
	const char *text;
	const char *shows; /* or the error */
} cases[] = {
	{ "an empty file", "", "" },
	{ "only a version", "version: v1", "" },
	{ "JSON",
	  "{\"version\": \"v1\", \"flags\": {\"plugin\": {\"deviceListStrategy\": \"envvar\"}}}",
	  "lists=1" },
	{ "all fields", whole,
	  "lists=10 single nvidia.com/gpu>nvidia.com/gpu.shared*10:all "
	  "nvidia.com/mig-1g.5gb>nvidia.com/small*2:0:1,3,GPU-1" },
	{ "fields that are not known", "a: 1\nflags: {b: 2, plugin: {c: [3]}}", "" },
	{ "null is not there", "flags: null\nsharing: {mps: null, timeSlicing: null}", "" },
	{ "a MIG strategy", "flags: {migStrategy: mixed}", "mig=2" },
	{ "another MIG strategy", "flags: {migStrategy: both}",
	  "file: flags.migStrategy: expected none, single or mixed, got 'both'" },
	{ "packed shares", "flags: {plugin: {sharedDevicesAllocationPolicy: packed}}", "packed" },
	{ "distributed shares", "flags: {plugin: {sharedDevicesAllocationPolicy: distributed}}",
	  "" },
	{ "all devices", GPU(", devices: all"), "nvidia.com/gpu>nvidia.com/gpu*4:all" },
	{ "a number of devices", GPU(", devices: 3"), "nvidia.com/gpu>nvidia.com/gpu*4:3 first" },
	{ "a name without domain", SLICING("resources: [{name: gpu, replicas: 2}]"),
	  "nvidia.com/gpu>nvidia.com/gpu*2:all" },
	{ "one resource, different devices",
	  SLICING("resources: [{name: gpu, replicas: 2, devices: [0]}, {name: gpu, replicas: 3}]"),
	  "nvidia.com/gpu>nvidia.com/gpu*2:0 nvidia.com/gpu>nvidia.com/gpu*3:all" },
	{ "fields without effect",
	  "flags: {nvidiaDriverRoot: /run/nvidia/driver, plugin: {deviceIDStrategy: uuid}}",
	  "!flags.nvidiaDriverRoot" },
	{ "indexes", "flags: {plugin: {deviceIDStrategy: index}}", "index" },
	{ "another strategy for IDs", "flags: {plugin: {deviceIDStrategy: name}}",
	  "file: flags.plugin.deviceIDStrategy: expected uuid or index, got 'name'" },
	{ "device nodes and extras",
	  "flags: {gdsEnabled: true, gdrcopyEnabled: true, plugin: {passDeviceSpecs: true}}",
	  "nodes gds gdrcopy" },
	{ "another extra", "flags: {mofedEnabled: true, gdsEnabled: false}", "mofed" },

	{ "MPS, one share at a time unless the file says otherwise",
	  "sharing: {mps: {renameByDefault: true, resources: [{name: gpu, replicas: 4}]}}",
	  "single mps=/run/nvidia/mps nvidia.com/gpu>nvidia.com/gpu.shared*4:all" },
	{ "MPS, several shares, elsewhere, before time-slicing",
	  "flags: {mpsRoot: /mps}\n"
	  "sharing: {mps: {failRequestsGreaterThanOne: false, resources: [{name: gpu, replicas: "
	  "4}]}, timeSlicing: {resources: [{name: gpu, replicas: 2}]}}",
	  "mps=/mps nvidia.com/gpu>nvidia.com/gpu*4:all" },
	{ "no IMEX channel", "imex: {channelIDs: [], required: true}", "" },
	{ "the IMEX channel", "imex: {channelIDs: [0]}", "imex" },
	{ "the IMEX channel as a text, required", "imex: {channelIDs: [\"0\"], required: true}",
	  "imex required" },

	{ "another version", "version: v2", "file: unknown version: 'v2'" },
	{ "a list", "[1]", "file: expected an object, got a list" },
	{ "not YAML", "version: [", "file:2: did not find expected node content" },
	{ "another type", "flags: 3", "file: flags: expected an object, got a number" },
	{ "MPS of nothing", "sharing: {mps: {resources: []}}",
	  "file: sharing.mps.resources: expected 1 to 64 resources, got 0" },
	{ "one MPS client", "sharing: {mps: {resources: [{name: gpu, replicas: 1}]}}",
	  "file: sharing.mps.resources[0]: replicas: expected 2 to 48, got 1" },
	{ "more clients than MPS has", "sharing: {mps: {resources: [{name: gpu, replicas: 49}]}}",
	  "file: sharing.mps.resources[0]: replicas: expected 2 to 48, got 49" },
	{ "a relative root of MPS",
	  "flags: {mpsRoot: run/mps}\nsharing: {mps: {resources: [{name: gpu, replicas: 2}]}}",
	  "file: flags.mpsRoot: expected an absolute path of at most 512 bytes, got 'run/mps'" },
	{ "an IMEX channel that is not 0", "imex: {channelIDs: [1]}", IMEX },
	{ "two IMEX channels", "imex: {channelIDs: [0, 0]}", IMEX },
	{ "an IMEX channel of another form", "imex: {channelIDs: 0}", IMEX },
	{ "another way to list devices", "flags: {plugin: {deviceListStrategy: [envvar, a]}}",
	  "file: flags.plugin.deviceListStrategy: expected envvar, volume-mounts, cdi-annotations or "
	  "cdi-cri, got 'a'" },
	{ "a way of another type", "flags: {plugin: {deviceListStrategy: 1}}",
	  "file: flags.plugin.deviceListStrategy: expected envvar, volume-mounts, cdi-annotations or "
	  "cdi-cri, got 'another type'" },
	{ "another policy", "flags: {plugin: {sharedDevicesAllocationPolicy: near}}",
	  "file: flags.plugin.sharedDevicesAllocationPolicy: expected distributed or packed, got "
	  "'near'" },
	{ "time-slicing of nothing", SLICING("renameByDefault: true"),
	  "file: sharing.timeSlicing.resources: expected 1 to 64 resources, got 0" },
	{ "no name", SLICING("resources: [{replicas: 2}]"),
	  "file: sharing.timeSlicing.resources[0].name: is missing" },
	{ "no replicas", SLICING("resources: [{name: gpu}]"),
	  AT "replicas: expected 2 to 512, got 0" },
	{ "one replica", SLICING("resources: [{name: gpu, replicas: 1}]"),
	  AT "replicas: expected 2 to 512, got 1" },
	{ "too many", SLICING("resources: [{name: gpu, replicas: 513}]"),
	  AT "replicas: expected 2 to 512, got 513" },
	{ "a name that no resource can have", SLICING("resources: [{name: a b, replicas: 2}]"),
	  AT "not a resource's name: 'nvidia.com/a b'" },
	{ "a rename of another domain", GPU(", rename: a.com/b"),
	  AT "not a resource's name: 'nvidia.com/a.com/b'" },
	{ "no devices", GPU(", devices: []"), FORM },
	{ "zero devices", GPU(", devices: 0"), FORM },
	{ "devices of another form", GPU(", devices: some"), FORM },
	{ "a device of another form", GPU(", devices: [0x]"),
	  AT "devices: expected an index or a UUID, got '0x'" },
	{ "half an index of a MIG device", GPU(", devices: [\"0:\"]"),
	  AT "devices: expected an index or a UUID, got '0:'" },
	{ "a device twice", GPU(", devices: [0, \"0\"]"), AT "devices: '0' is there twice" },
	{ "a device of two entries",
	  SLICING("resources: [{name: gpu, replicas: 2, devices: [0, 1]}, "
		  "{name: nvidia.com/gpu, replicas: 3, devices: [1]}]"),
	  "file: sharing.timeSlicing.resources[1]: devices: '1' is also in "
	  "sharing.timeSlicing.resources[0]" },
	{ "an entry after one with all",
	  SLICING("resources: [{name: gpu, replicas: 2}, {name: gpu, replicas: 3, devices: [1]}]"),
	  "file: sharing.timeSlicing.resources[1]: name: sharing.timeSlicing.resources[0] already "
	  "shares all devices of nvidia.com/gpu" },
};

static void show_flags(const struct nvidia_config *config, struct str *out)
{
	const struct {
		bool on;
		const char *name;
	} flags[] = { { config->by_index, "index" },
		      { config->nodes, "nodes" },
		      { config->gds, "gds" },
		      { config->mofed, "mofed" },
		      { config->gdrcopy, "gdrcopy" },
		      { config->imex, "imex" },
		      { config->imex_required, "required" } };

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		str_addf(out, "%s%s", flags[i].on ? flags[i].name : "", flags[i].on ? " " : "");
}

static void show(const struct nvidia_config *config, struct str *out)
{
	if (config->lists)
		str_addf(out, "lists=%u ", config->lists);
	if (config->mig)
		str_addf(out, "mig=%d ", (int)config->mig);
	if (config->packed)
		str_add(out, "packed ");
	if (config->single)
		str_add(out, "single ");
	show_flags(config, out);
	if (config->mps_root)
		str_addf(out, "mps=%s ", config->mps_root);
	for (size_t i = 0; i < config->sharings.len; i++) {
		const struct nvidia_sharing *sharing = &config->sharings.items[i];

		str_addf(out, "%s>%s*%u:", sharing->resource, sharing->name, sharing->replicas);
		if (sharing->count)
			str_addf(out, "%u first", sharing->count);
		for (size_t k = 0; k < sharing->devices.len; k++)
			str_addf(out, "%s%s", k ? "," : "", sharing->devices.items[k]);
		str_add(out, sharing->all ? "all " : " ");
	}
	for (size_t i = 0; i < config->ignored.len; i++)
		str_addf(out, "!%s ", config->ignored.items[i]);
	if (out->len > 0)
		out->buf[--out->len] = '\0';
}

static void text_matches_table(void **state)
{
	const struct config_case *c = suite_row(state);
	struct nvidia_config config = { 0 };
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	if (nvidia_config_parse("file", c->text, strlen(c->text), &config, &err) < 0) {
		assert_int_equal(err.kind, ERR_INVALID);
		str_add(&out, err.msg);
	} else {
		show(&config, &out);
	}
	nvidia_config_done(&config);
	assert_string_equal(str_cstr(&out), c->shows);
}

static void a_file_that_is_too_long_is_refused(void **state)
{
	auto_free char *text = xcalloc(1, NVIDIA_CONFIG_MAX + 1);
	struct nvidia_config config;
	struct err err = { 0 };

	(void)state;
	memset(text, '#', NVIDIA_CONFIG_MAX + 1);
	assert_int_equal(nvidia_config_parse("file", text, NVIDIA_CONFIG_MAX + 1, &config, &err),
			 -EFBIG);
	assert_int_equal(nvidia_config_parse("file", text, NVIDIA_CONFIG_MAX, &config, &err), 0);
	nvidia_config_done(&config);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, text_matches_table);
	suite_add(&suite, "a file that is too long is refused", a_file_that_is_too_long_is_refused,
		  NULL);
	return suite_run(&suite, "nvidia_config");
}
