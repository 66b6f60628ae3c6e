/* Messages of the device plugin API: the bytes, and back. */
#include "agent/plugin/plugin_codec.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "fake/kubelet/plugin_client.h"
#include "unit/suite.h"

/* Field numbers and types are those of the kubelet's api.proto; written by hand. */
#define OPTIONS "\x10\x01" /* get_preferred_allocation_available = 2: true */
#define LIST                                                                                    \
	"\x0a\x12\x0a\x01"                                                                      \
	"a\x12\x07Healthy\x1a\x04\x0a\x02\x08\x01" /* ID 1, health 2, topology 3 {nodes {1}} */ \
	"\x0a\x0e\x0a\x01"                                                                      \
	"b\x12\x09Unhealthy"
#define ALLOCATE                             \
	"\x0a\x06\x0a\x01"                   \
	"b\x0a\x01"                          \
	"a" /* container_requests 1 { 1 } */ \
	"\x0a\x03\x0a\x01"                   \
	"c"
#define ALLOCATIONS                                                                         \
	"\x0a\x2e\x0a\x06\x0a\x01"                                                          \
	"K\x12\x01V" /* envs 1 { key 1, value 2 } */                                        \
	"\x12\x08\x0a\x01"                                                                  \
	"/\x12\x01~\x18\x01"         /* mounts 2 { container 1, host 2, read_only 3 } */    \
	"\x1a\x09\x0a\x01p\x12\x01q" /* devices 3 { container 1, host 2, permissions 3 } */ \
	"\x1a\x01r"                                                                         \
	"\x22\x06\x0a\x01"                                                                  \
	"A\x12\x01"                                                                         \
	"B"                     /* annotations 4 { key 1, value 2 } */                      \
	"\x2a\x07\x0a\x05v/c=d" /* cdi_devices 5 { name 1 } */
#define PREFERENCES        \
	"\x0a\x0b\x0a\x01" \
	"a\x0a\x01"        \
	"b\x12\x01"        \
	"a\x18\x02" /* available 1, must_include 2, size 3 */
#define PREFERRED           \
	"\x0a\x03\x0a\x01"  \
	"a\x0a\x03\x0a\x01" \
	"b"

static void assert_bytes(struct str *out, const char *bytes, size_t len)
{
	assert_int_equal(out->len, len);
	assert_memory_equal(str_cstr(out), bytes, len);
}

static void options_there_and_back(void **state)
{
	struct plugin_options options = { .preferred_allocation = true };
	auto_str struct str out = STR_INIT;

	assert_int_equal(plugin_codec_write_options(&options, &out, NULL), 0);
	assert_bytes(&out, OPTIONS, sizeof(OPTIONS) - 1);
	options = (struct plugin_options){ .pre_start_required = true };
	assert_int_equal(plugin_codec_read_options(out.buf, out.len, &options, NULL), 0);
	assert_true(options.preferred_allocation);
	assert_false(options.pre_start_required);
}

static void list_there_and_back(void **state)
{
	const struct plugin_device devices[] = { { .id = "a", .healthy = true, .numa_node = 1 },
						 { .id = "b", .numa_node = -1 } };
	struct plugin_listed list = { 0 };
	auto_str struct str out = STR_INIT;

	assert_int_equal(plugin_codec_write_list(devices, 2, &out, NULL), 0);
	assert_bytes(&out, LIST, sizeof(LIST) - 1);
	assert_int_equal(plugin_codec_read_list(out.buf, out.len, &list, NULL), 0);
	assert_int_equal(list.len, 2);
	assert_string_equal(list.items[0].id, "a");
	assert_string_equal(list.items[0].health, "Healthy");
	assert_int_equal(list.items[0].numa_node, 1);
	assert_string_equal(list.items[1].id, "b");
	assert_string_equal(list.items[1].health, "Unhealthy");
	assert_int_equal(list.items[1].numa_node, -1);
	plugin_listed_done(&list);
}

static struct plugin_ids two_lists(const char *first, const char *second, const char *third)
{
	struct plugin_ids ids = { 0 };

	array_add(&ids);
	json_strs_add(&ids.items[0], first);
	if (second)
		json_strs_add(&ids.items[0], second);
	array_add(&ids);
	json_strs_add(&ids.items[1], third);
	return ids;
}

SUITE_CLOSING(plugin_ids, struct plugin_ids, plugin_ids_done);
SUITE_CLOSING(plugin_allocations, struct plugin_allocations, plugin_allocations_done);

static void allocate_there_and_back(void **state)
{
	struct plugin_ids ids = two_lists("b", "a", "c");
	struct plugin_ids *back = *state;
	auto_str struct str out = STR_INIT;

	assert_int_equal(plugin_codec_write_allocate(&ids, &out, NULL), 0);
	assert_bytes(&out, ALLOCATE, sizeof(ALLOCATE) - 1);
	assert_int_equal(plugin_codec_read_allocate(out.buf, out.len, back, NULL), 0);
	assert_int_equal(back->len, 2);
	assert_true(json_strs_equal(&back->items[0], &ids.items[0]));
	assert_true(json_strs_equal(&back->items[1], &ids.items[1]));
	plugin_ids_done(&ids);
}

static void preferred_there_and_back(void **state)
{
	struct plugin_ids ids = two_lists("a", NULL, "b");
	struct plugin_ids *back = *state;
	auto_str struct str out = STR_INIT;

	assert_int_equal(plugin_codec_write_preferred(&ids, &out, NULL), 0);
	assert_bytes(&out, PREFERRED, sizeof(PREFERRED) - 1);
	assert_int_equal(plugin_codec_read_preferred(out.buf, out.len, back, NULL), 0);
	assert_int_equal(back->len, 2);
	assert_true(json_strs_equal(&back->items[0], &ids.items[0]));
	plugin_ids_done(&ids);
}

static void allocations_there_and_back(void **state)
{
	struct plugin_allocations all = { 0 };
	struct plugin_allocations *back = *state;
	auto_str struct str out = STR_INIT;
	const struct allocation *one;

	array_add(&all);
	json_pairs_set(&all.items[0].envs, "K", "V");
	allocation_add_mount(&all.items[0], "/", "~", true);
	allocation_add_device_as(&all.items[0], "p", "q", "r");
	allocation_add_device_as(&all.items[0], "p", "other", "w"); /* once */
	json_pairs_set(&all.items[0].annotations, "A", "B");
	assert_int_equal(allocation_add_cdi_device(&all.items[0], "v/c=d", NULL), 0);
	assert_int_equal(allocation_add_cdi_device(&all.items[0], "v/c=d", NULL), 0); /* once */
	assert_int_equal(plugin_codec_write_allocations(&all, &out, NULL), 0);
	assert_bytes(&out, ALLOCATIONS, sizeof(ALLOCATIONS) - 1);
	assert_int_equal(plugin_codec_read_allocations(out.buf, out.len, back, NULL), 0);
	assert_int_equal(back->len, 1);
	one = &back->items[0];
	assert_string_equal(json_pairs_get(&one->envs, "K"), "V");
	assert_int_equal(one->mounts.len, 1);
	assert_string_equal(one->mounts.items[0].container_path, "/");
	assert_string_equal(one->mounts.items[0].host_path, "~");
	assert_true(one->mounts.items[0].read_only);
	assert_int_equal(one->devices.len, 1);
	assert_string_equal(one->devices.items[0].container_path, "p");
	assert_string_equal(one->devices.items[0].host_path, "q");
	assert_string_equal(one->devices.items[0].permissions, "r");
	assert_int_equal(one->annotations.len, 1);
	assert_string_equal(json_pairs_get(&one->annotations, "A"), "B");
	assert_int_equal(one->cdi_devices.len, 1);
	assert_string_equal(one->cdi_devices.items[0], "v/c=d");
	plugin_allocations_done(&all);
}

static void preferences_there_and_back(void **state)
{
	struct plugin_preferences preferences = { 0 };
	struct plugin_preferences back = { 0 };
	auto_str struct str out = STR_INIT;

	array_add(&preferences)->size = 2;
	json_strs_add(&preferences.items[0].available, "a");
	json_strs_add(&preferences.items[0].available, "b");
	json_strs_add(&preferences.items[0].must_include, "a");
	assert_int_equal(plugin_codec_write_preferences(&preferences, &out, NULL), 0);
	assert_bytes(&out, PREFERENCES, sizeof(PREFERENCES) - 1);
	assert_int_equal(plugin_codec_read_preferences(out.buf, out.len, &back, NULL), 0);
	assert_int_equal(back.len, 1);
	assert_int_equal(back.items[0].size, 2);
	assert_true(json_strs_equal(&back.items[0].available, &preferences.items[0].available));
	assert_true(
		json_strs_equal(&back.items[0].must_include, &preferences.items[0].must_include));
	plugin_preferences_done(&preferences);
	plugin_preferences_done(&back);
}

/* --- what is refused -------------------------------------------------------------------------- */

typedef int read_fn(const char *data, size_t len, struct err *err);

static int read_options(const char *data, size_t len, struct err *err)
{
	struct plugin_options options;

	return plugin_codec_read_options(data, len, &options, err);
}

static int read_list(const char *data, size_t len, struct err *err)
{
	struct plugin_listed list;

	return plugin_codec_read_list(data, len, &list, err);
}

static int read_allocate(const char *data, size_t len, struct err *err)
{
	struct plugin_ids ids;

	return plugin_codec_read_allocate(data, len, &ids, err);
}

static int read_allocations(const char *data, size_t len, struct err *err)
{
	struct plugin_allocations all;

	return plugin_codec_read_allocations(data, len, &all, err);
}

static int read_preferences(const char *data, size_t len, struct err *err)
{
	struct plugin_preferences preferences;

	return plugin_codec_read_preferences(data, len, &preferences, err);
}

static int read_preferred(const char *data, size_t len, struct err *err)
{
	struct plugin_ids ids;

	return plugin_codec_read_preferred(data, len, &ids, err);
}

static struct bad_case {
	const char *name;
	read_fn *read;
	bool has_containers;
} readers[] = {
	{ "no options", read_options, false },
	{ "no list", read_list, false },
	{ "no allocate request", read_allocate, true },
	{ "no allocate response", read_allocations, true },
	{ "no preferred request", read_preferences, true },
	{ "no preferred response", read_preferred, true },
};

static void bad_bytes_are_refused(void **state)
{
	const struct bad_case *c = *state;
	char containers[2 * (PLUGIN_CONTAINERS_MAX + 1)];
	struct err err = { 0 };

	assert_int_equal(c->read("\x0a\xff", 2, &err), -EBADMSG);
	assert_int_equal(err.kind, ERR_INVALID);
	for (size_t i = 0; i < sizeof(containers); i++)
		containers[i] = i % 2 ? 0 : 0x0a;
	if (c->has_containers)
		assert_int_equal(c->read(containers, sizeof(containers), &err), -EMSGSIZE);
}

/* The kubelet's library could not read it, and would end the stream. */
static void text_has_to_be_utf8(void **state)
{
	struct plugin_allocations *all = *state;
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	str_add(&out, "as it was");
	array_add(all);
	json_pairs_set(&all->items[0].envs, "K", "\xff");
	assert_int_equal(plugin_codec_write_allocations(all, &out, &err), -EINVAL);
	assert_string_equal(str_cstr(&out), "as it was");
	json_pairs_remove(&all->items[0].envs, "K");
	json_pairs_set(&all->items[0].annotations, "A", "\xff");
	assert_int_equal(plugin_codec_write_allocations(all, &out, &err), -EINVAL);
	assert_string_equal(str_cstr(&out), "as it was");
}

static void message_has_to_fit(void **state)
{
	static char id[PLUGIN_MESSAGE_MAX + 1];
	const struct plugin_device device = { .id = id, .healthy = true, .numa_node = -1 };
	/* 2 * (tag, length of 4) and "\x12\x07Healthy" */
	const size_t around = 2 * 5 + 9;
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	memset(id, 'x', PLUGIN_MESSAGE_MAX);
	id[PLUGIN_MESSAGE_MAX - around + 1] = '\0';
	assert_int_equal(plugin_codec_write_list(&device, 1, &out, &err), -EMSGSIZE);
	assert_int_equal(out.len, 0);
	id[PLUGIN_MESSAGE_MAX - around] = '\0';
	assert_int_equal(plugin_codec_write_list(&device, 1, &out, &err), 0);
	assert_int_equal(out.len, PLUGIN_MESSAGE_MAX);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "options there and back", options_there_and_back, NULL);
	suite_add(&suite, "a list there and back", list_there_and_back, NULL);
	suite_add(&suite, "a preferred request there and back", preferences_there_and_back, NULL);
	suite_rows(&suite, readers, bad_bytes_are_refused);
	suite_add(&suite, "a message has to fit", message_has_to_fit, NULL);
	suite_fixture(&suite, &plugin_ids_fixture);
	suite_add(&suite, "an Allocate there and back", allocate_there_and_back, NULL);
	suite_add(&suite, "a preferred answer there and back", preferred_there_and_back, NULL);
	suite_fixture(&suite, &plugin_allocations_fixture);
	suite_add(&suite, "allocations there and back", allocations_there_and_back, NULL);
	suite_add(&suite, "text has to be UTF-8", text_has_to_be_utf8, NULL);
	return suite_run(&suite, "plugin_codec");
}
