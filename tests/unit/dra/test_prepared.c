/* prepared: the claims that are prepared, and their checkpoints. */
#include "agent/dra/prepared.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "unit/captured.h"
#include "unit/dra/made_claim.h"
#include "unit/folder.h"

#define BOOT "b00t-1"

/* Below a folder that does not exist yet. */
static char *claims_dir(const struct folder *folder)
{
	return folder_path(folder, "plugins/hostdev.io/claims");
}

static struct prepared *open_prepared(const struct folder *folder, const char *boot)
{
	auto_free char *dir = claims_dir(folder);

	return prepared_new(dir, boot);
}

static struct prepared_claim *nic(const char *uid)
{
	struct prepared_claim *claim = made_claim(uid, "nic", "nic-of-pod");

	made_claim_device(claim, "a/b", "0000:3b:00.0", "14");
	made_claim_device(claim, "c", "1-2", NULL);
	made_claim_node(made_claim_request(claim, "a"), "/dev/vfio/14", "/dev/vfio/14");
	*array_add(&claim->requests.items[0].mounts) = (struct prepared_mount){
		.path = xstrdup("/in"), .host_path = xstrdup("/out"), .read_only = true
	};
	json_pairs_set(&claim->envs, "PCI_RESOURCE_X", "0000:3b:00.0");
	return claim;
}

static void checkpoint_is_read_again(void **state)
{
	struct prepared *prepared = open_prepared(*state, BOOT);
	const struct prepared_claim *claim;
	size_t cursor = 0;

	assert_int_equal(prepared_len(prepared), 0);
	assert_int_equal(prepared_add(prepared, nic("1-a"), NULL), 0);
	assert_non_null(prepared_get(prepared, "1-a"));
	prepared_free(prepared);
	prepared = open_prepared(*state, BOOT);
	claim = prepared_next(prepared, &cursor);
	assert_ptr_equal(claim, prepared_get(prepared, "1-a"));
	assert_null(prepared_next(prepared, &cursor));
	assert_false(prepared_is_stale(prepared, claim));
	assert_string_equal(claim->ns, "default");
	assert_string_equal(claim->name, "nic");
	assert_string_equal(claim->pod_claim, "nic-of-pod");
	assert_int_equal(claim->devices.len, 2);
	assert_string_equal(claim->devices.items[0].request, "a/b");
	assert_string_equal(claim->devices.items[0].iommu_group, "14");
	assert_null(claim->devices.items[1].iommu_group);
	assert_string_equal(claim->devices.items[0].attributes,
			    "{\"resource.kubernetes.io/pciBusID\":{\"string\":\"0000:3b:00.0\"}}");
	assert_int_equal(claim->requests.len, 1);
	assert_string_equal(claim->requests.items[0].nodes.items[0].host_path, "/dev/vfio/14");
	assert_string_equal(claim->requests.items[0].nodes.items[0].permissions, "rwm");
	assert_true(claim->requests.items[0].mounts.items[0].read_only);
	assert_string_equal(json_pairs_get(&claim->envs, "PCI_RESOURCE_X"), "0000:3b:00.0");
	prepared_free(prepared);
}

static void other_boot_is_stale(void **state)
{
	struct prepared *prepared = open_prepared(*state, BOOT);

	assert_int_equal(prepared_add(prepared, nic("1-a"), NULL), 0);
	prepared_free(prepared);
	prepared = open_prepared(*state, "b00t-2");
	assert_true(prepared_is_stale(prepared, prepared_get(prepared, "1-a")));
	assert_int_equal(prepared_remove(prepared, "1-a", NULL), 0);
	assert_null(prepared_get(prepared, "1-a"));
	prepared_free(prepared);
	prepared = open_prepared(*state, BOOT);
	assert_int_equal(prepared_len(prepared), 0);
	prepared_free(prepared);
}

/* Earlier agents do not take it for a claim that is prepared: it has another version. */
static void binding_is_replaced(void **state)
{
	struct prepared *prepared = open_prepared(*state, BOOT);
	struct prepared_claim *first = nic("1-a");
	const struct prepared_claim *claim;

	first->binding = true;
	first->devices.items[0].on_demand = true;
	assert_int_equal(prepared_add(prepared, first, NULL), 0);
	prepared_free(prepared);
	prepared = open_prepared(*state, BOOT);
	claim = prepared_get(prepared, "1-a");
	assert_true(claim && claim->binding && claim->devices.items[0].on_demand);
	assert_int_equal(claim->version, 2);
	first = prepared_claim_copy(claim);
	first->binding = false;
	assert_int_equal(prepared_add(prepared, first, NULL), 0);
	assert_int_equal(prepared_len(prepared), 1);
	prepared_free(prepared);
	prepared = open_prepared(*state, BOOT);
	claim = prepared_get(prepared, "1-a");
	assert_true(claim && !claim->binding && claim->devices.items[0].on_demand);
	assert_false(claim->devices.items[1].on_demand);
	assert_int_equal(claim->version, 1);
	prepared_free(prepared);
}

static void remove_of_unknown(void **state)
{
	struct prepared *prepared = open_prepared(*state, BOOT);

	assert_int_equal(prepared_remove(prepared, "1-a", NULL), 0);
	assert_int_equal(prepared_add(prepared, nic("1-a"), NULL), 0);
	assert_int_equal(prepared_remove(prepared, "1-a", NULL), 0);
	assert_int_equal(prepared_remove(prepared, "1-a", NULL), 0);
	prepared_free(prepared);
}

static void holders_are_found(void **state)
{
	struct prepared *prepared = open_prepared(*state, BOOT);
	const struct prepared_claim *claim = NULL;

	assert_null(prepared_holder(prepared, "1-2"));
	assert_int_equal(prepared_add(prepared, nic("1-a"), NULL), 0);
	assert_string_equal(prepared_holder(prepared, "1-2")->uid, "1-a");
	assert_string_equal(prepared_holder(prepared, "0000:3b:00.0")->uid, "1-a");
	assert_null(prepared_holder(prepared, "0000:3b:00.1"));
	assert_string_equal(prepared_neighbour(prepared, "14", "0000:3b:00.1", &claim)->id,
			    "0000:3b:00.0");
	assert_string_equal(claim->uid, "1-a");
	assert_null(prepared_neighbour(prepared, "14", "0000:3b:00.0", &claim));
	assert_null(prepared_neighbour(prepared, "15", "0000:3b:00.1", &claim));
	prepared_free(prepared);
}

/* By the names that the kubelet lists. */
static void devices_are_found_by_name(void **state)
{
	struct prepared *prepared = open_prepared(*state, BOOT);

	assert_null(prepared_device_id(prepared, "default", "nic", "pci-1-2"));
	assert_int_equal(prepared_add(prepared, nic("1-a"), NULL), 0);
	assert_string_equal(prepared_device_id(prepared, "default", "nic", "pci-0000:3b:00.0"),
			    "0000:3b:00.0");
	assert_string_equal(prepared_device_id(prepared, "default", "nic", "pci-1-2"), "1-2");
	assert_null(prepared_device_id(prepared, "default", "nic", "pci-1-3"));
	assert_null(prepared_device_id(prepared, "default", "nic-2", "pci-1-2"));
	assert_null(prepared_device_id(prepared, "other", "nic", "pci-1-2"));
	assert_int_equal(prepared_remove(prepared, "1-a", NULL), 0);
	assert_null(prepared_device_id(prepared, "default", "nic", "pci-1-2"));
	prepared_free(prepared);
}

/* It is left alone, so that whoever knows more can read it, until the kubelet speaks of its
 * claim. */
static struct bad_case {
	const char *name;
	const char *text;
	const char *logged;
} bad_cases[] = {
	{ "an empty one", "", "JSON" },
	{ "half of one", "{\"version\":1,\"boot\":\"b0", "JSON" },
	{ "one without devices' names",
	  "{\"version\":1,\"boot\":\"b\",\"uid\":\"1-a\",\"namespace\":\"d\",\"name\":\"n\","
	  "\"devices\":[{}]}",
	  "devices[0].request" },
	{ "one of a later agent",
	  "{\"version\":2,\"boot\":\"b\",\"uid\":\"1-a\",\"namespace\":\"d\",\"name\":\"n\"}",
	  "has version 2, and this agent knows 1" },
	{ "one of another claim",
	  "{\"version\":1,\"boot\":\"b\",\"uid\":\"2-b\",\"namespace\":\"d\",\"name\":\"n\"}",
	  "is that of claim '2-b'" },
};

static void bad_checkpoint_stays(void **state)
{
	const struct bad_case *c = suite_row(state);
	const struct folder *folder = *state;
	auto_free char *path = folder_path(folder, "claims/1-a.json");
	auto_free char *other = folder_path(folder, "claims/notes.txt");
	auto_free char *dir = folder_path(folder, "claims");
	struct captured captured;
	struct prepared *prepared;
	auto_free char *log = NULL;

	folder_put(folder, "claims/1-a.json", c->text);
	folder_put(folder, "claims/notes.txt", "not ours");
	captured_begin(&captured);
	prepared = prepared_new(dir, BOOT);
	log = captured_end(&captured);
	assert_non_null(strstr(log, c->logged));
	assert_null(strstr(log, "notes.txt"));
	assert_int_equal(prepared_len(prepared), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(prepared_add(prepared, nic("1-a"), NULL), 0);
	prepared_free(prepared);
	prepared = prepared_new(dir, BOOT);
	assert_int_equal(prepared_len(prepared), 1);
	assert_int_equal(prepared_remove(prepared, "1-a", NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(other, F_OK), 0);
	prepared_free(prepared);
}

static void bad_checkpoint_is_unprepared(void **state)
{
	auto_free char *path = folder_path(*state, "claims/1-a.json");
	auto_free char *dir = folder_path(*state, "claims");
	struct prepared *prepared;
	struct captured captured;

	folder_put(*state, "claims/1-a.json", "{");
	captured_begin(&captured);
	prepared = prepared_new(dir, BOOT);
	free(captured_end(&captured));
	assert_int_equal(prepared_remove(prepared, "1-a", NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	prepared_free(prepared);
}

/* Nothing is prepared that is not written. */
static void folder_cannot_be_made(void **state)
{
	struct prepared *prepared;
	struct err err = { 0 };
	auto_free char *dir = folder_path(*state, "file/claims");
	struct captured captured;
	auto_free char *log = NULL;

	folder_put(*state, "file", "");
	captured_begin(&captured);
	prepared = prepared_new(dir, BOOT);
	log = captured_end(&captured);
	assert_non_null(strstr(log, "Not a directory"));
	assert_int_equal(prepared_add(prepared, nic("1-a"), &err), -ENOTDIR);
	assert_non_null(strstr(err.msg, "file/claims"));
	assert_int_equal(prepared_len(prepared), 0);
	assert_int_equal(prepared_remove(prepared, "1-a", NULL), 0);
	prepared_free(prepared);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &folder_fixture);
	suite_add(&suite, "a checkpoint is read again", checkpoint_is_read_again, NULL);
	suite_add(&suite, "one of another boot is stale", other_boot_is_stale, NULL);
	suite_add(&suite, "the checkpoint of a bind is replaced", binding_is_replaced, NULL);
	suite_add(&suite, "removing twice is no error", remove_of_unknown, NULL);
	suite_add(&suite, "the holder of a device and of its group is found", holders_are_found,
		  NULL);
	suite_add(&suite, "devices are found by their names", devices_are_found_by_name, NULL);
	suite_rows(&suite, bad_cases, bad_checkpoint_stays);
	suite_add(&suite, "a checkpoint that cannot be read is removed with its claim",
		  bad_checkpoint_is_unprepared, NULL);
	suite_add(&suite, "without its folder nothing is prepared", folder_cannot_be_made, NULL);
	return suite_run(&suite, "prepared");
}
