#include "agent/inventory/vendor_vfio.h"

#include <string.h>

#include "agent/inventory/facts.h"
#include "base/err.h"
#include "unit/suite.h"

#define FUNCTION(vendor, driver, role)                                        \
	"{\"kind\":\"pci\",\"address\":\"0000:08:00.4\",\"vendor\":\"" vendor \
	"\",\"driver\":\"" driver "\",\"role\":\"" role "\"}"
#define VGPU(type) "{\"kind\":\"vgpu\",\"address\":\"0000:08:00.4\",\"current\":\"" type "\"}"

/* KubeVirt's rule (its pull request 16890): a vGPU of the vendor's driver is offered as a PCI
 * device. */
static struct rule_case {
	const char *name;
	const char *function;
	const char *vgpu;
	bool candidate;
	bool serves;
} cases[] = {
	{ "a virtual function on nvidia that is a vGPU is offered",
	  FUNCTION("10de", "nvidia", "VirtualFunction"), VGPU("1145"), true, true },
	{ "one that is none is not", FUNCTION("10de", "nvidia", "VirtualFunction"), VGPU("0"), true,
	  false },
	{ "one of which nothing was seen is not", FUNCTION("10de", "nvidia", "VirtualFunction"),
	  NULL, true, false },
	{ "a physical function on nvidia is never offered so",
	  FUNCTION("10de", "nvidia", "PhysicalFunction"), VGPU("1145"), false, false },
	{ "a card without virtual functions neither", FUNCTION("10de", "nvidia", "Function"),
	  VGPU("1145"), false, false },
	{ "a virtual function on vfio-pci is offered otherwise",
	  FUNCTION("10de", "vfio-pci", "VirtualFunction"), VGPU("1145"), false, false },
	{ "another vendor's driver of that name is not meant",
	  FUNCTION("8086", "nvidia", "VirtualFunction"), VGPU("1145"), false, false },
};

SUITE_OBJECT(facts, facts_new(), facts_free);

static void rule_holds(void **state)
{
	const struct rule_case *c = suite_row(state);
	struct facts *facts = *state;
	struct json_strs addresses = { 0 };
	struct err err = { 0 };

	assert_int_equal(facts_add_line(facts, c->function, strlen(c->function), &err), 0);
	if (c->vgpu)
		assert_int_equal(facts_add_line(facts, c->vgpu, strlen(c->vgpu), &err), 0);
	vendor_vfio_candidates(facts, &addresses);
	assert_int_equal(addresses.len, c->candidate);
	assert_int_equal(vendor_vfio_serves(facts, &facts->pci.items[0]), c->serves);
	json_strs_done(&addresses);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &facts_fixture);
	suite_rows(&suite, cases, rule_holds);
	return suite_run(&suite, "vendor_vfio");
}
