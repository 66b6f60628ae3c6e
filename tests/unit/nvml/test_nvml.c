/* nvml: what the library's structures, codes, addresses and profiles are, without the library. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "agent/nvml/ask.h"
#include "agent/nvml/inventory.h"
#include "agent/nvml/nvml.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

/* The sizes and places that the driver has, by NVIDIA's headers of CUDA 11.8 and 13. */
_Static_assert(sizeof(struct nvml_pci) == 68, "");
_Static_assert(offsetof(struct nvml_pci, domain) == 16, "");
_Static_assert(offsetof(struct nvml_pci, device_id) == 28, "");
_Static_assert(offsetof(struct nvml_pci, bus_id) == 36, "");
_Static_assert(sizeof(struct nvml_memory) == 24, "");
_Static_assert(offsetof(struct nvml_memory, used) == 16, "");
_Static_assert(sizeof(struct nvml_attributes) == 40, "");
_Static_assert(offsetof(struct nvml_attributes, gpu_slices) == 24, "");
_Static_assert(offsetof(struct nvml_attributes, memory_mib) == 32, "");
_Static_assert(sizeof(struct nvml_event) == 32, "");
_Static_assert(offsetof(struct nvml_event, data) == 16, "");
_Static_assert(offsetof(struct nvml_event, compute_instance) == 28, "");
_Static_assert(sizeof(struct nvml_gpu_instance_info) == 24, "");
_Static_assert(offsetof(struct nvml_gpu_instance_info, profile_id) == 12, "");
_Static_assert(sizeof(struct nvml_gpu_instance_profile) == 48, "");
_Static_assert(offsetof(struct nvml_gpu_instance_profile, memory_mib) == 40, "");
_Static_assert(sizeof(struct nvml_field) == 40, "");
_Static_assert(offsetof(struct nvml_field, result) == 28, "");
_Static_assert(offsetof(struct nvml_field, value) == 32, "");
_Static_assert(sizeof(struct nvml_fabric) == 36, "");
_Static_assert(offsetof(struct nvml_fabric, cluster) == 4, "");
_Static_assert(offsetof(struct nvml_fabric, status) == 20, "");
_Static_assert(offsetof(struct nvml_fabric, state) == 28, "");
_Static_assert(NVML_FABRIC_VERSION == 0x02000024, "");

static struct profile_case {
	const char *name;
	struct nvml_attributes attributes;
	unsigned profile;
	uint64_t total_mib;
	const char *profile_name;
} profiles[] = {
	{ "a slice of an A100 with 40 GB",
	  { .gpu_slices = 1, .compute_slices = 1, .memory_mib = 4864 },
	  0,
	  40536,
	  "1g.5gb" },
	{ "with media engines",
	  { .gpu_slices = 1, .compute_slices = 1, .memory_mib = 4864 },
	  7,
	  40536,
	  "1g.5gb+me" },
	{ "with twice the memory",
	  { .gpu_slices = 1, .compute_slices = 1, .memory_mib = 9856 },
	  9,
	  40536,
	  "1g.10gb" },
	{ "a compute instance that is smaller than its GPU instance",
	  { .gpu_slices = 2, .compute_slices = 1, .memory_mib = 9856 },
	  1,
	  40536,
	  "1c.2g.10gb" },
	{ "three slices have half of the memory",
	  { .gpu_slices = 3, .compute_slices = 3, .memory_mib = 19968 },
	  2,
	  40536,
	  "3g.20gb" },
	{ "the whole GPU",
	  { .gpu_slices = 7, .compute_slices = 7, .memory_mib = 40192 },
	  4,
	  40536,
	  "7g.40gb" },
	{ "an H100 with 80 GB",
	  { .gpu_slices = 1, .compute_slices = 1, .memory_mib = 9984 },
	  0,
	  81559,
	  "1g.10gb" },
	{ "without media engines",
	  { .gpu_slices = 1, .compute_slices = 1, .memory_mib = 9984 },
	  0xd,
	  81559,
	  "1g.10gb-me" },
	{ "with all media engines",
	  { .gpu_slices = 1, .compute_slices = 1, .memory_mib = 9984 },
	  0xf,
	  81559,
	  "1g.10gb+me.all" },
	{ "with graphics",
	  { .gpu_slices = 4, .compute_slices = 4, .memory_mib = 47104 },
	  0xc,
	  97887,
	  "4g.48gb+gfx" },
	{ "no slices", { .memory_mib = 4864 }, 0, 40536, "" },
	{ "more slices than there are",
	  { .gpu_slices = 9, .compute_slices = 1, .memory_mib = 1 },
	  0,
	  40536,
	  "" },
	{ "a GPU without memory",
	  { .gpu_slices = 1, .compute_slices = 1, .memory_mib = 4864 },
	  0,
	  0,
	  "" },
	{ "more memory than the GPU has",
	  { .gpu_slices = 1, .compute_slices = 1, .memory_mib = UINT64_MAX },
	  0,
	  40536,
	  "" },
};

static void a_profile_is_named(void **state)
{
	const struct profile_case *c = *state;
	char name[32];

	inventory_profile_name(&c->attributes, c->profile, c->total_mib << 20, name, sizeof(name));
	assert_string_equal(name, c->profile_name);
}

static struct address_case {
	const char *name;
	struct nvml_pci pci;
	const char *address;
} addresses[] = {
	{ "eight digits become four", { .bus_id = "00000000:3B:00.0" }, "0000:3b:00.0" },
	{ "a domain keeps its number", { .bus_id = "0000AB01:3B:00.0" }, "ab01:3b:00.0" },
	{ "a domain beyond 16 bits is as the kernel writes it",
	  { .bus_id = "00010000:3B:00.0" },
	  "10000:3b:00.0" },
	{ "the oldest form has numbers alone",
	  { .domain = 1, .bus = 0x3b, .device = 2 },
	  "0001:3b:02.0" },
	{ "something else is none", { .bus_id = "no address" }, "" },
	{ "without an end", { .bus_id = "00000000000000000000000000000000" }, "" },
};

static void an_address_is_as_in_sysfs(void **state)
{
	const struct address_case *c = *state;
	char address[NVML_ADDRESS_SIZE];

	nvml_address(&c->pci, address);
	assert_string_equal(address, c->address);
}

static struct pci_case {
	const char *name;
	const char *address;
	struct nvml_pci pci;
} pcis[] = {
	{ "an address",
	  "0001:3b:1f.2",
	  { .domain = 1, .bus = 0x3b, .device = 0x1f, .bus_id = "00000001:3B:1F.2" } },
	{ "a domain beyond 16 bits",
	  "10000:3b:00.0",
	  { .domain = 0x10000, .bus = 0x3b, .bus_id = "00010000:3B:00.0" } },
	{ "no function", "0000:3b:00", { .domain = 0 } },
	{ "no number", "0000:3x:00.0", { .domain = 0 } },
};

static void an_address_is_as_the_library_has_it(void **state)
{
	const struct pci_case *c = *state;
	struct nvml_pci pci;

	nvml_pci_of(c->address, &pci);
	assert_memory_equal(&pci, &c->pci, sizeof(pci));
}

static struct meaning_case {
	const char *name;
	int code;
	const char *says;
} meanings[] = {
	{ "9", 9, "the NVIDIA driver is not loaded; load the kernel module nvidia" },
	{ "12", 12, "a library of the NVIDIA driver is missing" },
	{ "15", 15, "GPU is lost" },
	{ "16", 16, "needs a reset" },
	{ "17", 17, "give the container the device nodes" },
	{ "18", 18, "different versions; reload the kernel module or reboot" },
	{ "999", 999, "unknown error of the driver" },
	{ "a code of a newer driver", 12345, "does not know" },
};

static void a_code_has_its_meaning(void **state)
{
	const struct meaning_case *c = *state;

	assert_non_null(strstr(nvml_meaning(c->code), c->says));
}

static struct question_case {
	const char *name;
	const char *line;
	int result;
	int64_t number;
	enum question_verb verb;
	size_t gpus;
} questions[] = {
	{ "all GPUs", "{\"n\":1,\"ask\":\"inventory\"}", 0, 1, QUESTION_INVENTORY, 0 },
	{ "some GPUs", "{\"ask\":\"probe\",\"gpus\":[\"0000:3b:00.0\",\"0000:3c:00.0\"],\"n\":7}",
	  0, 7, QUESTION_PROBE, 2 },
	{ "members that are not known", "{\"x\":[{}],\"n\":2,\"ask\":\"topology\"}", 0, 2,
	  QUESTION_TOPOLOGY, 0 },
	{ "a release", "{\"n\":4,\"ask\":\"release\",\"gpus\":[\"0000:3b:00.0\"]}", 0, 4,
	  QUESTION_RELEASE, 1 },
	{ "an attachment",
	  "{\"n\":5,\"ask\":\"attach\",\"gpus\":[\"0000:3b:00.0\"],\"persistence\":true}", 0, 5,
	  QUESTION_ATTACH, 1 },
	{ "one without persistence mode", "{\"n\":5,\"ask\":\"attach\",\"persistence\":false}", 0,
	  5, QUESTION_ATTACH, 0 },
	{ "a persistence mode that is neither",
	  "{\"n\":5,\"ask\":\"attach\",\"persistence\":\"true\"}", -EINVAL, 5, 0, 0 },
	{ "no number", "{\"ask\":\"probe\"}", -EINVAL, 0, 0, 0 },
	{ "number 0", "{\"n\":0,\"ask\":\"probe\"}", -EINVAL, 0, 0, 0 },
	{ "a number that is none", "{\"n\":\"1\",\"ask\":\"probe\"}", -EINVAL, 0, 0, 0 },
	{ "no verb", "{\"n\":3}", -EINVAL, 3, 0, 0 },
	{ "another verb", "{\"n\":3,\"ask\":\"reset\"}", -EINVAL, 3, 0, 0 },
	{ "a verb that is a number", "{\"n\":3,\"ask\":4}", -EINVAL, 3, 0, 0 },
	{ "an address that is none", "{\"n\":3,\"ask\":\"probe\",\"gpus\":[\"GPU-1\"]}", -EINVAL, 3,
	  0, 0 },
	{ "an address that is too long",
	  "{\"n\":3,\"ask\":\"probe\",\"gpus\":[\"0000:0000:0000:0000:0000:0000:00.0\"]}", -EINVAL,
	  3, 0, 0 },
	{ "addresses that are no list", "{\"n\":3,\"ask\":\"probe\",\"gpus\":\"0000:3b:00.0\"}",
	  -EINVAL, 3, 0, 0 },
	{ "a list that does not end", "{\"n\":3,\"ask\":\"probe\",\"gpus\":[\"0000:3b:00.0\"",
	  -EINVAL, 3, 0, 0 },
	{ "more behind it", "{\"n\":3,\"ask\":\"probe\"} x", -EINVAL, 3, 0, 0 },
	{ "no object", "[1]", -EINVAL, 0, 0, 0 },
	{ "nothing", "", -EINVAL, 0, 0, 0 },
};

static void a_question_is_read(void **state)
{
	const struct question_case *c = *state;
	struct question question = { .number = 99 };
	struct err err = { 0 };

	assert_int_equal(question_parse(c->line, strlen(c->line), &question, &err), c->result);
	assert_int_equal(question.number, c->number);
	if (c->result < 0)
		return;
	assert_int_equal(question.verb, c->verb);
	assert_int_equal(question.addresses.len, c->gpus);
	assert_int_equal(question.persistence, strstr(c->line, "\"persistence\":true") != NULL);
}

static void a_question_has_so_many_addresses_at_most(void **state)
{
	struct str line = STR_INIT;
	struct question question;
	struct err err = { 0 };

	str_add(&line, "{\"n\":1,\"ask\":\"probe\",\"gpus\":[\"0000:00:00.0\"");
	for (int i = 1; i < NVML_GPUS_MAX; i++)
		str_addf(&line, ",\"0000:%02x:00.0\"", (unsigned)i);
	str_add(&line, "]}");
	assert_int_equal(question_parse(line.buf, line.len, &question, &err), 0);
	assert_int_equal(question.addresses.len, NVML_GPUS_MAX);
	line.len -= 2;
	str_add(&line, ",\"0000:ff:00.0\"]}");
	assert_int_equal(question_parse(line.buf, line.len, &question, &err), -EINVAL);
	str_done(&line);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, profiles, a_profile_is_named);
	suite_rows(&suite, addresses, an_address_is_as_in_sysfs);
	suite_rows(&suite, pcis, an_address_is_as_the_library_has_it);
	suite_rows(&suite, meanings, a_code_has_its_meaning);
	suite_rows(&suite, questions, a_question_is_read);
	suite_add(&suite, "a question has so many addresses at most",
		  a_question_has_so_many_addresses_at_most, NULL);
	return suite_run(&suite, "nvml");
}
