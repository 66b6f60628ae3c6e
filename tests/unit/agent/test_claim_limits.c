/* claim_limits: whatever the node says, the API server takes the claim's status. */
#include "agent/claim/claim_status.h"

#include <string.h>

#include "api/pcideviceclaim.h"
#include "base/str.h"
#include "unit/schema.h"
#include "unit/suite.h"

#define X16 "xxxxxxxxxxxxxxxx"
#define X64 X16 X16 X16 X16

/* @n copies of @part. */
static char *many(const char *part, size_t n)
{
	struct str text = STR_INIT;

	while (n--)
		str_add(&text, part);
	return str_detach(&text);
}

/* Every text is the same. */
static void fill(struct pcideviceclaim_status *status, const char *part, size_t times)
{
	status->kernel_driver_to_unbind = many(part, times);
	status->iommu_group = many(part, times);
	status->step = many(part, times);
	status->holder = many(part, times);
}

/* The rules about spec are the API server's own. */
static void assert_taken(const struct pcideviceclaim_status *status)
{
	auto_json json_t *schema = schema_load("devices.harvesterhci.io_pcideviceclaims.yaml");
	auto_json json_t *json = json_map_encode(pcideviceclaim_status_map, status);
	json_t *part = json_object_get(json_object_get(schema, "properties"), "status");
	auto_str struct str problem = STR_INIT;

	assert_non_null(part);
	if (!schema_takes(part, json, "status", &problem))
		fail_msg("%.200s", problem.buf);
}

static struct odd_case {
	const char *name;
	const char *part; /* every text of the status is this, */
	size_t times;     /* so many times                     */
} odds[] = {
	{ "nothing", "", 0 },
	{ "a number", "7", 1 },
	{ "a number too long for a group", "7", 11 },
	{ "words", "a b", 1 },
	{ "text as long as a step", X64, 1 },
	{ "text longer than a step", X64 "x", 1 },
	{ "text longer than a driver's name", X64, 5 },
	{ "text longer than a holder", X64, 17 },
	{ "text without end", X64, 4096 },
	{ "characters of several bytes", "\xe2\x82\xac", 2000 },
	{ "bytes that are no text", "\xff\n\x1b", 2000 },
};

static void odd_texts_are_taken(void **state)
{
	const struct odd_case *c = *state;
	struct pcideviceclaim_status status = { .observed_generation = -1 };

	fill(&status, c->part, c->times);
	claim_limits_apply(&status);
	assert_taken(&status);
	assert_non_null(status.holder);
	assert_int_equal(status.holder[0] != '\0', c->times > 0);
	json_map_done(pcideviceclaim_status_map, &status);
}

static void what_fits_stays(void **state)
{
	struct pcideviceclaim_status status = {
		.kernel_driver_to_unbind = xstrdup("e1000e"),
		.passthrough_enabled = true,
		.observed_generation = 3,
		.iommu_group = xstrdup("12"),
		.step = xstrdup(X64),
		.holder = many(X64, 16),
	};
	struct pcideviceclaim_status before;

	json_strs_add(&status.iommu_group_members, "0000:01:00.0");
	json_strs_add(&status.iommu_group_members, "10000000:01:00.7");
	json_map_copy(pcideviceclaim_status_map, &before, &status);
	claim_limits_apply(&status);
	assert_true(json_map_equal(pcideviceclaim_status_map, &status, &before));
	assert_taken(&status);
	json_map_done(pcideviceclaim_status_map, &before);
	json_map_done(pcideviceclaim_status_map, &status);
}

static void long_texts_end_in_dots(void **state)
{
	struct pcideviceclaim_status status = { 0 };

	fill(&status, X64, 17);
	claim_limits_apply(&status);
	assert_int_equal(strlen(status.step), 64);
	assert_string_equal(status.step + 61, "...");
	assert_int_equal(strlen(status.holder), 1024);
	assert_string_equal(status.holder + 1021, "...");
	assert_null(status.iommu_group);
	json_map_done(pcideviceclaim_status_map, &status);
}

static void members_are_addresses_and_bounded(void **state)
{
	struct pcideviceclaim_status status = { 0 };

	json_strs_add(&status.iommu_group_members, "no address");
	for (unsigned i = 0; i < 1100; i++) {
		auto_free char *address = xasprintf("%04x:01:00.0", i);

		json_strs_add(&status.iommu_group_members, address);
	}
	claim_limits_apply(&status);
	assert_int_equal(status.iommu_group_members.len, 1024);
	assert_string_equal(status.iommu_group_members.items[0], "0000:01:00.0");
	assert_taken(&status);
	json_map_done(pcideviceclaim_status_map, &status);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, odds, odd_texts_are_taken);
	suite_add(&suite, "what fits stays as it is", what_fits_stays, NULL);
	suite_add(&suite, "long texts end in dots, what is no number goes", long_texts_end_in_dots,
		  NULL);
	suite_add(&suite, "members are addresses, and no more than the schema takes",
		  members_are_addresses_and_bounded, NULL);
	return suite_run(&suite, "claim_limits");
}
