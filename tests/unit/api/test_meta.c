#include "api/meta.h"

#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

/* As the API server sends it, with what we do not map among it. */
static const char text[] =
	"{\"name\":\"node1-000004000\",\"uid\":\"5f0c\",\"resourceVersion\":\"1234\","
	"\"generation\":3,"
	"\"creationTimestamp\":\"2026-01-02T03:04:05Z\","
	"\"deletionTimestamp\":\"2026-01-03T00:00:00Z\","
	"\"deletionGracePeriodSeconds\":0,\"selfLink\":null,\"generateName\":\"\","
	"\"labels\":{\"nodename\":\"node1\",\"empty\":\"\"},"
	"\"annotations\":{\"harvesterhci.io/pcideviceDriver\":\"nvidia\"},"
	"\"finalizers\":[\"wrangler.cattle.io/PCIDeviceClaimOnRemove\"],"
	"\"ownerReferences\":[{\"apiVersion\":\"devices.harvesterhci.io/v1beta1\",\"kind\":"
	"\"PCIDevice\","
	"\"name\":\"node1-000004000\",\"uid\":\"77\",\"controller\":true},{\"kind\":"
	"\"VGPUDevice\"},"
	"{\"name\":\"no kind\"}],"
	"\"managedFields\":[{\"manager\":\"x\",\"fieldsV1\":{\"f:status\":{}}}]}";

static void load(struct api_meta *meta, const char *json)
{
	struct err err = { 0 };

	if (json_map_parse(api_meta_map, json, strlen(json), meta, &err) < 0)
		fail_msg("%s", err.msg);
}

static void metadata_decodes(void **state)
{
	struct api_meta meta;

	load(&meta, text);
	assert_string_equal(meta.name, "node1-000004000");
	assert_null(meta.namespace_);
	assert_string_equal(meta.resource_version, "1234");
	assert_int_equal(meta.generation, 3);
	assert_string_equal(meta.deletion_timestamp, "2026-01-03T00:00:00Z");
	assert_int_equal(meta.owner_refs.len, 3);
	assert_true(meta.owner_refs.items[0].controller);
	json_map_done(api_meta_map, &meta);
}

static void lookups_find_what_is_there(void **state)
{
	struct api_meta meta;

	load(&meta, text);
	assert_string_equal(api_meta_label(&meta, "nodename"), "node1");
	assert_string_equal(api_meta_label(&meta, "empty"), "");
	assert_null(api_meta_label(&meta, "harvesterhci.io/pcideviceDriver"));
	assert_string_equal(api_meta_annotation(&meta, "harvesterhci.io/pcideviceDriver"),
			    "nvidia");
	assert_null(api_meta_annotation(&meta, "nodename"));
	assert_true(api_meta_has_finalizer(&meta, "wrangler.cattle.io/PCIDeviceClaimOnRemove"));
	assert_false(api_meta_has_finalizer(&meta, "wrangler.cattle.io"));
	json_map_done(api_meta_map, &meta);
}

static void owners_are_found_by_kind(void **state)
{
	struct api_meta meta;

	load(&meta, text);
	assert_string_equal(api_meta_owner(&meta, "PCIDevice")->uid, "77");
	assert_null(api_meta_owner(&meta, "VGPUDevice")->name);
	assert_null(api_meta_owner(&meta, "USBDevice"));
	json_map_done(api_meta_map, &meta);
}

static void almost_nothing_is_enough(void **state)
{
	struct api_meta meta;

	load(&meta,
	     "{\"name\":\"a\",\"labels\":null,\"ownerReferences\":null,\"creationTimestamp\":"
	     "null}");
	assert_null(meta.creation_timestamp);
	assert_null(api_meta_label(&meta, "nodename"));
	assert_null(api_meta_owner(&meta, "PCIDevice"));
	assert_false(api_meta_has_finalizer(&meta, ""));
	json_map_done(api_meta_map, &meta);
}

static void applied_metadata_has_nothing_of_the_servers(void **state)
{
	auto_json json_t *json = NULL;
	auto_free char *out = NULL;
	struct api_meta meta;

	json_map_init(api_meta_map, &meta);
	meta.name = xstrdup("a");
	json_pairs_set(&meta.labels, "nodename", "node1");
	json = json_map_encode(api_meta_map, &meta);
	out = json_map_text(json);
	assert_string_equal(out, "{\"name\":\"a\",\"labels\":{\"nodename\":\"node1\"}}");
	json_map_done(api_meta_map, &meta);
}

static void list_metadata_decodes(void **state)
{
	static const char page[] =
		"{\"resourceVersion\":\"9\",\"continue\":\"abc\",\"remainingItemCount\":17}";
	static const char last[] = "{\"resourceVersion\":\"9\",\"continue\":\"\"}";
	struct api_list_meta meta;

	assert_int_equal(json_map_parse(api_list_meta_map, page, strlen(page), &meta, NULL), 0);
	assert_string_equal(meta.continue_, "abc");
	assert_int_equal(meta.remaining, 17);
	json_map_done(api_list_meta_map, &meta);

	assert_int_equal(json_map_parse(api_list_meta_map, last, strlen(last), &meta, NULL), 0);
	assert_string_equal(meta.resource_version, "9");
	assert_null(meta.continue_);
	json_map_done(api_list_meta_map, &meta);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "metadata decodes as the server sends it", metadata_decodes, NULL);
	suite_add(&suite, "lookups find what is there and only that", lookups_find_what_is_there,
		  NULL);
	suite_add(&suite, "owners are found by kind", owners_are_found_by_kind, NULL);
	suite_add(&suite, "a name is enough", almost_nothing_is_enough, NULL);
	suite_add(&suite, "what is applied has nothing of the server's",
		  applied_metadata_has_nothing_of_the_servers, NULL);
	suite_add(&suite, "the metadata of a list decodes", list_metadata_decodes, NULL);
	return suite_run(&suite, "meta");
}
