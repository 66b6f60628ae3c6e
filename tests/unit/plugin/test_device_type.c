/* What a container gets: when it is nothing, and which names of CDI devices are taken. */
#include "agent/plugin/device_type.h"

#include <errno.h>

#include "base/err.h"
#include "unit/suite.h"

static struct cdi_case {
	const char *name;
	const char *device;
	bool is_taken;
} cdi_names[] = {
	{ "a UUID", "nvidia.com/gpu=GPU-0aa0b3c7-0d2f-4ff3-8a2a-1a2b3c4d5e6f", true },
	{ "an index", "nvidia.com/gpu=0", true },
	{ "a MIG device", "nvidia.com/gpu=0:1", true },
	{ "all that is allowed", "v-1_2.com/c-1_2.d=0.a_b-c:d", true },
	{ "one letter each", "v/c=d", true },
	{ "an empty text", "", false },
	{ "a device alone", "gpu0", false },
	{ "no class", "nvidia.com=0", false },
	{ "no device", "nvidia.com/gpu", false },
	{ "an empty vendor", "/gpu=0", false },
	{ "an empty class", "nvidia.com/=0", false },
	{ "an empty device", "nvidia.com/gpu=", false },
	{ "a vendor that begins with a digit", "3com/gpu=0", false },
	{ "a class that begins with a digit", "v/3d=0", false },
	{ "a vendor that ends with a dot", "nvidia./gpu=0", false },
	{ "a class that ends with a hyphen", "v/gpu-=0", false },
	{ "a device that ends with a colon", "v/c=0:", false },
	{ "a colon in the class", "v/c:d=0", false },
	{ "a second class", "v/c/d=0", false },
	{ "an equals sign before the class", "v=c/d=0", false },
	{ "a second equals sign", "v/c=d=e", false },
	{ "a comma", "v/c=d,v/c=e", false },
	{ "a space", "v/c=d ", false },
	{ "a letter that is not ASCII", "v/c=\xc3\xbc", false },
};

static void cdi_name_matches_table(void **state)
{
	const struct cdi_case *c = *state;
	struct allocation allocation = { 0 };
	struct err err = { 0 };

	assert_int_equal(allocation_add_cdi_device(&allocation, c->device, &err),
			 c->is_taken ? 0 : -EINVAL);
	assert_int_equal(allocation.cdi_devices.len, c->is_taken);
	assert_int_equal(err.kind, c->is_taken ? ERR_NONE : ERR_INVALID);
	allocation_done(&allocation);
}

static void add_env(struct allocation *allocation)
{
	json_pairs_set(&allocation->envs, "K", "V");
}

static void add_annotation(struct allocation *allocation)
{
	json_pairs_set(&allocation->annotations, "K", "V");
}

static void add_cdi_device(struct allocation *allocation)
{
	assert_int_equal(allocation_add_cdi_device(allocation, "v/c=d", NULL), 0);
}

static void add_device(struct allocation *allocation)
{
	allocation_add_device(allocation, "/dev/null", "r");
}

static void add_mount(struct allocation *allocation)
{
	allocation_add_mount(allocation, "/a", "/a", true);
}

static struct part_case {
	const char *name;
	void (*add)(struct allocation *allocation);
} parts[] = {
	{ "an environment variable is something", add_env },
	{ "an annotation is something", add_annotation },
	{ "a CDI device is something", add_cdi_device },
	{ "a device node is something", add_device },
	{ "a mount is something", add_mount },
};

static void part_is_something(void **state)
{
	const struct part_case *c = *state;
	struct allocation allocation = { 0 };

	assert_true(allocation_is_empty(&allocation));
	c->add(&allocation);
	assert_false(allocation_is_empty(&allocation));
	allocation_done(&allocation);
	assert_true(allocation_is_empty(&allocation));
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, cdi_names, cdi_name_matches_table);
	suite_rows(&suite, parts, part_is_something);
	return suite_run(&suite, "device_type");
}
