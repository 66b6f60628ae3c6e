/* virtualmachine: what is read of the objects of KubeVirt, and that the rest does not matter. */
#include "api/virtualmachine.h"

#include <string.h>

#include "api/json_map.h"
#include "api/object.h"
#include "base/err.h"
#include "base/mem.h"
#include "unit/suite.h"

static void decode(const char *text, struct virtualmachine **ret_vm)
{
	auto_free char *copy = xstrdup(text);
	auto_json json_t *json = NULL;
	struct err err = { 0 };
	void *object = NULL;

	for (char *s = copy; *s; s++)
		*s = *s == '\'' ? '"' : *s;
	assert_int_equal(json_map_load(copy, strlen(copy), &json, &err), 0);
	if (api_object_decode(&virtualmachine_kind, json, &object, &err) < 0)
		fail_msg("%s", err.msg);
	*ret_vm = object;
}

static void devices_are_read(void **state)
{
	struct virtualmachine *vm = NULL;

	decode("{'apiVersion':'kubevirt.io/v1','kind':'VirtualMachine',"
	       "'metadata':{'name':'a','namespace':'n','annotations':{'x':'y',"
	       "'harvesterhci.io/deviceAllocationDetails':'{}'}},"
	       "'spec':{'template':{'spec':{'nodeSelector':{'k':'v'},'domain':{'devices':{"
	       "'disks':[{'name':'d'}],'gpus':[{'name':'g','deviceName':'r/g','tag':'t'}],"
	       "'hostDevices':[{'name':'h','deviceName':'r/h'},{'name':'dra'}]}}}}}}",
	       &vm);
	assert_string_equal(vm->meta.meta.namespace_, "n");
	assert_string_equal(vm->meta.annotations.allocation, "{}");
	assert_string_equal(json_pairs_get(&vm->spec.template_.spec.node_selector, "k"), "v");
	assert_int_equal(vm->spec.template_.spec.domain.devices.host_devices.len, 2);
	assert_string_equal(
		vm->spec.template_.spec.domain.devices.host_devices.items[0].device_name, "r/h");
	assert_string_equal(vm->spec.template_.spec.domain.devices.gpus.items[0].name, "g");
	api_object_free(&virtualmachine_kind, vm);
}

static struct may_run_case {
	const char *name;
	const char *spec; /* and status */
	bool may_run;
} may_runs[] = {
	{ "a machine that says nothing may run", "{}", true },
	{ "running: false does not", "{'running':false}", false },
	{ "running: true", "{'running':true}", true },
	{ "Halted does not", "{'runStrategy':'Halted'}", false },
	{ "Halted, on its way down", "{'runStrategy':'Halted'},'status':{'created':true}", true },
	{ "Manual, not started", "{'runStrategy':'Manual'},'status':{'created':false}", false },
	{ "Manual, started", "{'runStrategy':'Manual'},'status':{'created':true}", true },
	{ "Manual, running", "{'runStrategy':'Manual'},'status':{'ready':true}", true },
	{ "RerunOnFailure", "{'runStrategy':'RerunOnFailure'}", true },
};

static void may_run_as_the_table_says(void **state)
{
	const struct may_run_case *row = *state;
	auto_free char *text = xasprintf("{'metadata':{'name':'a'},'spec':%s}", row->spec);
	struct virtualmachine *vm = NULL;

	decode(text, &vm);
	assert_int_equal(virtualmachine_may_run(vm), row->may_run);
	api_object_free(&virtualmachine_kind, vm);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "devices, selector and allocations are read", devices_are_read, NULL);
	suite_rows(&suite, may_runs, may_run_as_the_table_says);
	return suite_run(&suite, "virtualmachine");
}
