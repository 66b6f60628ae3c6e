/* checkpoint: which devices containers have, by the kubelet's own file. */
#include "agent/plugin/checkpoint.h"

#include "api/json_values.h"
#include "unit/folder.h"

#define NAME "kubelet_internal_checkpoint"
#define NIC  "0000:01:00.0"

/* As a kubelet 1.34 writes it. */
#define OF(ids)                                                                                   \
	"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"9f6ee2b6-0000-4000-8000-000000000001\","  \
	"\"ContainerName\":\"main\",\"ResourceName\":\"unknown.com/10d3\",\"DeviceIDs\":" ids "," \
	"\"AllocResp\":\"CgA=\"}],\"RegisteredDevices\":{\"unknown.com/10d3\":[\"" NIC "\"]}},"   \
	"\"Checksum\":1}"

static struct find_case {
	const char *name;
	const char *text; /* NULL: there is no file */
	const char *id;
	enum checkpoint_answer says;
} finds[] = {
	{ "a container has it", OF("{\"0\":[\"" NIC "\"]}"), NIC, CHECKPOINT_ALLOCATED },
	{ "of several, at several nodes", OF("{\"-1\":[\"a\",\"b\"],\"1\":[\"" NIC "\"]}"), NIC,
	  CHECKPOINT_ALLOCATED },
	{ "of a kubelet that wrote no nodes", OF("[\"" NIC "\"]"), NIC, CHECKPOINT_ALLOCATED },
	{ "an ID of several", OF("{\"-1\":[\"1-2,1-3.1\"]}"), "1-3.1", CHECKPOINT_ALLOCATED },
	{ "what is only offered nobody has", OF("{\"0\":[\"a\"]}"), NIC, CHECKPOINT_FREE },
	{ "no part of an ID", OF("{\"0\":[\"" NIC "0\"]}"), NIC, CHECKPOINT_FREE },
	{ "nobody has anything", "{\"Data\":{\"PodDeviceEntries\":null}}", NIC, CHECKPOINT_FREE },
	{ "odd entries count for nothing",
	  "{\"Data\":{\"PodDeviceEntries\":[1,{\"DeviceIDs\":7},{\"DeviceIDs\":{\"0\":[null]}}]}}",
	  NIC, CHECKPOINT_FREE },
	{ "no file", NULL, NIC, CHECKPOINT_MISSING },
	{ "an empty file", "", NIC, CHECKPOINT_UNKNOWN },
	{ "half a file", "{\"Data\":{\"PodDeviceEntries\":[", NIC, CHECKPOINT_UNKNOWN },
	{ "another file", "{\"Data\":{}}", NIC, CHECKPOINT_UNKNOWN },
};

static void is_found(void **state)
{
	const struct find_case *c = suite_row(state);
	struct checkpoint *checkpoint;
	auto_free char *path = NULL;
	struct folder *folder = *state;

	path = folder_path(folder, NAME);
	if (c->text)
		folder_put(folder, NAME, c->text);
	checkpoint = checkpoint_new(path);
	assert_int_equal(checkpoint_find(checkpoint, c->id), c->says);
	checkpoint_free(checkpoint);
}

/* As the kubelet does it: another file under the same name. */
static void replace(const struct folder *folder, const char *text)
{
	auto_free char *path = folder_path(folder, NAME);
	auto_free char *fresh = folder_path(folder, "fresh");

	folder_put(folder, "fresh", text);
	assert_int_equal(rename(fresh, path), 0);
}

static void pods_are_told_apart(void **state)
{
	struct checkpoint *checkpoint;
	auto_free char *path = NULL;
	struct folder *folder = *state;

	path = folder_path(folder, NAME);
	checkpoint = checkpoint_new(path);
	assert_null(checkpoint_pod(checkpoint, NIC));
	replace(folder, OF("{\"0\":[\"" NIC "\"]}"));
	assert_string_equal(checkpoint_pod(checkpoint, NIC),
			    "9f6ee2b6-0000-4000-8000-000000000001");
	assert_null(checkpoint_pod(checkpoint, "a"));
	assert_string_equal(checkpoint_resource(checkpoint, NIC), "unknown.com/10d3");
	assert_null(checkpoint_resource(checkpoint, "a"));
	replace(folder, "{\"Data\":{\"PodDeviceEntries\":["
			"{\"PodUID\":\"p\",\"DeviceIDs\":[\"a\",\"b\"]},"
			"{\"PodUID\":\"p\",\"DeviceIDs\":[\"a\"]},"
			"{\"PodUID\":\"q\",\"DeviceIDs\":[\"b\"]},{\"DeviceIDs\":[\"c\"]}]}}");
	assert_string_equal(checkpoint_pod(checkpoint, "a"), "p");
	assert_null(checkpoint_pod(checkpoint, "b"));
	assert_int_equal(checkpoint_find(checkpoint, "b"), CHECKPOINT_ALLOCATED);
	assert_null(checkpoint_pod(checkpoint, "c"));
	assert_null(checkpoint_resource(checkpoint, "c"));
	checkpoint_free(checkpoint);
}

static void nodes_are_those_of_the_answer(void **state)
{
	struct checkpoint *checkpoint;
	auto_free char *path = NULL;
	struct folder *folder = *state;
	char *ids[] = { (char[]){ "a,c" }, (char[]){ "b" } };
	const struct json_strs both = { .items = ids, .len = 2 };
	struct json_strs nodes = { 0 };

	path = folder_path(folder, NAME);
	replace(folder,
		"{\"Data\":{\"PodDeviceEntries\":["
		"{\"PodUID\":\"p\",\"ResourceName\":\"r\",\"DeviceIDs\":[\"a,c\",\"b\"],"
		"\"AllocResp\":\"GhgKCi9kZXYvdG95L2ESCi9kZXYvdG95L2EaHAoML2Rldi90b3kvYWxsEgwvZGV2L3RveS9hbGw=\"},"
		"{\"PodUID\":\"p\",\"ResourceName\":\"r\",\"DeviceIDs\":[\"b\"],"
		"\"AllocResp\":\"GhgKCi9kZXYvdG95L3oSCi9kZXYvdG95L3o=\"}]}}");
	checkpoint = checkpoint_new(path);
	checkpoint_nodes(checkpoint, "other", &both, &nodes);
	assert_int_equal(nodes.len, 0);
	checkpoint_nodes(checkpoint, "r", &both, &nodes);
	assert_int_equal(nodes.len, 3);
	assert_true(json_strs_has(&nodes, "/dev/toy/a") && json_strs_has(&nodes, "/dev/toy/all") &&
		    json_strs_has(&nodes, "/dev/toy/z"));
	json_strs_done(&nodes);
	checkpoint_free(checkpoint);
}

static void each_writing_counts(void **state)
{
	struct checkpoint *checkpoint;
	auto_free char *path = NULL;
	struct folder *folder = *state;
	uint64_t version;

	path = folder_path(folder, NAME);
	checkpoint = checkpoint_new(path);
	assert_int_equal(checkpoint_version(checkpoint), 0);
	replace(folder, OF("{\"0\":[\"a\"]}"));
	version = checkpoint_version(checkpoint);
	assert_int_not_equal(version, 0);
	assert_int_equal(checkpoint_find(checkpoint, "a"), CHECKPOINT_ALLOCATED);
	assert_int_equal(checkpoint_version(checkpoint), version);
	replace(folder, OF("{\"0\":[\"b\"]}"));
	assert_int_not_equal(checkpoint_version(checkpoint), version);
	assert_int_equal(checkpoint_find(checkpoint, "a"), CHECKPOINT_FREE);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(checkpoint_version(checkpoint), 0);
	assert_int_equal(checkpoint_find(checkpoint, "b"), CHECKPOINT_MISSING);
	replace(folder, OF("{\"0\":[\"b\"]}"));
	assert_true(checkpoint_version(checkpoint) > version);
	assert_int_equal(checkpoint_find(checkpoint, "b"), CHECKPOINT_ALLOCATED);
	checkpoint_free(checkpoint);
}

/* Opening a pipe without a writer would block. */
static void what_is_no_file_is_not_opened(void **state)
{
	struct checkpoint *checkpoint;
	auto_free char *path = NULL;
	struct folder *folder = *state;

	path = folder_path(folder, NAME);
	assert_int_equal(mkfifo(path, 0600), 0);
	checkpoint = checkpoint_new(path);
	assert_int_equal(checkpoint_find(checkpoint, "a"), CHECKPOINT_UNKNOWN);
	checkpoint_free(checkpoint);
}

static void what_is_too_long_is_unknown(void **state)
{
	struct checkpoint *checkpoint;
	auto_free char *path = NULL;
	struct folder *folder = *state;

	path = folder_path(folder, NAME);
	folder_put(folder, NAME, OF("{\"0\":[\"a\"]}"));
	assert_int_equal(truncate(path, CHECKPOINT_MAX + 1), 0);
	checkpoint = checkpoint_new(path);
	assert_int_equal(checkpoint_find(checkpoint, "a"), CHECKPOINT_UNKNOWN);
	checkpoint_free(checkpoint);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &folder_fixture);
	suite_rows(&suite, finds, is_found);
	suite_add(&suite, "pods are told apart by their UIDs", pods_are_told_apart, NULL);
	suite_add(&suite, "nodes are those of the answer", nodes_are_those_of_the_answer, NULL);
	suite_add(&suite, "each writing counts", each_writing_counts, NULL);
	suite_add(&suite, "what is no file is not opened", what_is_no_file_is_not_opened, NULL);
	suite_add(&suite, "what is too long is unknown", what_is_too_long_is_unknown, NULL);
	return suite_run(&suite, "checkpoint");
}
