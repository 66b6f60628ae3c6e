/* publish_plan: what is written, and above all: when nothing is. */
#include "agent/publish/publish_plan.h"

#include <stdbool.h>
#include <string.h>

#include "api/names.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/array.h"
#include "base/mem.h"
#include "unit/agent/verdict.h"
#include "unit/suite.h"

static struct pcidevice *nic(int64_t at)
{
	struct pcidevice *device = api_object_new(&pcidevice_kind);

	device->meta.name = xstrdup("node1-000001000");
	json_pairs_set(&device->meta.labels, NAMES_LABEL_NODE, "node1");
	json_pairs_set(&device->meta.annotations, NAMES_ANNOTATION_DRIVER, "e1000e");
	device->status.address = xstrdup("0000:01:00.0");
	device->status.resource_name = xstrdup("intel.com/NIC");
	device->status.kernel_driver_in_use = xstrdup("e1000e");
	verdict_say(&device->status.conditions, "Claimable", API_TRUE, "Available", at);
	return device;
}

/* As the agent has said it of a device that is claimed. */
static void say_claimed(struct pcidevice *seen)
{
	api_conditions_set(
		&seen->status.conditions,
		&(struct api_condition_value){
			.type = "Claimed",
			.status = API_TRUE,
			.reason = "Claimed",
			.message =
				"the PCIDeviceClaim of the same name shows for whom, and its state",
		},
		THEN);
}

static void no_change(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	(void)seen;
}

static void foreign_label(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	json_pairs_set(&seen->meta.labels, "owner", "somebody");
	json_pairs_set(&seen->meta.annotations, "note", "mine");
}

static void foreign_condition(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	verdict_say(&seen->status.conditions, "Healthy", API_TRUE, "Checked", THEN);
}

static void nameless_condition(struct pcidevice *wanted, struct pcidevice *seen)
{
	foreign_condition(wanted, seen);
	free(seen->status.conditions.items[1].type);
	seen->status.conditions.items[1].type = NULL;
}

static void driver_changed(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)seen;
	free(wanted->status.kernel_driver_in_use);
	wanted->status.kernel_driver_in_use = xstrdup("vfio-pci");
	json_pairs_remove(&wanted->meta.annotations, NAMES_ANNOTATION_DRIVER);
}

static void label_lost(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	json_pairs_remove(&seen->meta.labels, NAMES_LABEL_NODE);
}

static void edited_by_hand(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	free(seen->status.address);
	seen->status.address = xstrdup("elsewhere");
}

static void field_left_over(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	seen->status.iommu_group = xstrdup("7");
}

static void driver_remembered(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	json_pairs_set(&seen->meta.annotations, NAMES_ANNOTATION_DRIVER, "e1000");
}

static void vfio_remembered(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	json_pairs_set(&seen->meta.annotations, NAMES_ANNOTATION_DRIVER, "vfio-pci");
}

static void stub_remembered(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	json_pairs_set(&seen->meta.annotations, NAMES_ANNOTATION_DRIVER, "pci-stub");
}

static void nonsense_remembered(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	json_pairs_set(&seen->meta.annotations, NAMES_ANNOTATION_DRIVER, "../../e1000e");
}

static void name_overridden(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	json_pairs_set(&seen->meta.annotations, NAMES_ANNOTATION_RESOURCE_NAME, "example.com/mine");
}

static void name_overridden_already(struct pcidevice *wanted, struct pcidevice *seen)
{
	name_overridden(wanted, seen);
	free(seen->status.resource_name);
	seen->status.resource_name = xstrdup("example.com/mine");
}

static void name_override_invalid(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	json_pairs_set(&seen->meta.annotations, NAMES_ANNOTATION_RESOURCE_NAME, "no good/../name");
}

static void verdict_changed(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)seen;
	verdict_say(&wanted->status.conditions, "Claimable", API_FALSE, "HostNetwork", NOW);
}

static void only_the_message_changed(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)seen;
	verdict_say(&wanted->status.conditions, "Claimable", API_TRUE, "GroupShared", NOW);
}

static void twin_found(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)seen;
	verdict_say(&wanted->status.conditions, "Distinguishable", API_FALSE, "IdentityByModelOnly",
		    NOW);
}

static void twin_told_in_another_order(struct pcidevice *wanted, struct pcidevice *seen)
{
	twin_found(wanted, seen);
	api_conditions_remove(&seen->status.conditions, "Claimable");
	verdict_say(&seen->status.conditions, "Distinguishable", API_FALSE, "IdentityByModelOnly",
		    THEN);
	verdict_say(&seen->status.conditions, "Claimable", API_TRUE, "Available", THEN);
}

static void twin_gone(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	verdict_say(&seen->status.conditions, "Distinguishable", API_FALSE, "IdentityByModelOnly",
		    THEN);
}

static void lent_as_told(struct pcidevice *wanted, struct pcidevice *seen)
{
	(void)wanted;
	*array_add(&seen->status.allocations) = (struct pcidevice_allocation){
		.namespace = xstrdup("default"), .pod = xstrdup("vm-1"), .container = xstrdup("c")
	};
}

static void lent_and_changed(struct pcidevice *wanted, struct pcidevice *seen)
{
	lent_as_told(wanted, seen);
	driver_changed(wanted, seen);
}

static struct plan_case {
	const char *name;
	void (*change)(struct pcidevice *wanted, struct pcidevice *seen);
	enum publish_step step;
	const char *has;   /* text in the body */
	const char *lacks; /* text not in it  */
} cases[] = {
	{ "an object that is as it should be is left alone", no_change, PUBLISH_NOTHING, "", NULL },
	{ "labels and annotations of others are left alone", foreign_label, PUBLISH_NOTHING, "",
	  NULL },
	{ "conditions of others are left alone", foreign_condition, PUBLISH_NOTHING, "", NULL },
	{ "a condition without a type is nobody's", nameless_condition, PUBLISH_NOTHING, "", NULL },
	{ "another driver is written", driver_changed, PUBLISH_STATUS,
	  "\"kernelDriverInUse\":\"vfio-pci\"", NULL },
	{ "a lost label comes back", label_lost, PUBLISH_OBJECT, "\"nodename\":\"node1\"",
	  "status" },
	{ "an edit by hand is repaired", edited_by_hand, PUBLISH_STATUS, "0000:01:00.0",
	  "elsewhere" },
	{ "a field that no longer applies goes", field_left_over, PUBLISH_STATUS, "address",
	  "\"iommuGroup\":\"7\"" },
	{ "the driver of a device that nobody claims is remembered anew", driver_remembered,
	  PUBLISH_OBJECT, "\"harvesterhci.io/pcideviceDriver\":\"e1000e\"", NULL },
	{ "a remembered vfio-pci is put right", vfio_remembered, PUBLISH_OBJECT,
	  "\"harvesterhci.io/pcideviceDriver\":\"e1000e\"", NULL },
	{ "an override of the resource name is taken", name_overridden, PUBLISH_STATUS,
	  "\"resourceName\":\"example.com/mine\"", NULL },
	{ "an override that was taken is left alone", name_overridden_already, PUBLISH_NOTHING, "",
	  NULL },
	{ "an override that is no resource name is not taken", name_override_invalid,
	  PUBLISH_NOTHING, "", NULL },
	{ "a new verdict moves the transition time", verdict_changed, PUBLISH_STATUS,
	  "1970-01-01T00:33:20Z", "1970-01-01T00:16:40Z" },
	{ "a twin that has come is told", twin_found, PUBLISH_STATUS,
	  "\"reason\":\"IdentityByModelOnly\"", NULL },
	{ "a twin that is told is not told again", twin_told_in_another_order, PUBLISH_NOTHING, "",
	  NULL },
	{ "a twin that has gone goes", twin_gone, PUBLISH_STATUS, "Claimable", "Distinguishable" },
	{ "a new reason with the same verdict keeps it", only_the_message_changed, PUBLISH_STATUS,
	  "1970-01-01T00:16:40Z", "1970-01-01T00:33:20Z" },
};

/* Likewise of a device that is claimed. */
static struct plan_case claimed_cases[] = {
	{ "a claimed device's remembered driver is kept, whatever is bound now", driver_remembered,
	  PUBLISH_NOTHING, "", NULL },
	{ "a remembered pci-stub is put right, claimed or not", stub_remembered, PUBLISH_OBJECT,
	  "\"harvesterhci.io/pcideviceDriver\":\"e1000e\"", NULL },
	{ "a text that is no driver is put right, claimed or not", nonsense_remembered,
	  PUBLISH_OBJECT, "\"harvesterhci.io/pcideviceDriver\":\"e1000e\"", NULL },
};

/* Who was given the device, as far as is known. */
static struct lent_case {
	struct plan_case plan;
	enum { UNKNOWN, NOBODY, VM } lent;
} lents[] = {
	{ { "a pod that got the device is told", no_change, PUBLISH_STATUS, "\"pod\":\"vm-1\"",
	    NULL },
	  VM },
	{ { "a pod that is told already is not told again", lent_as_told, PUBLISH_NOTHING, "",
	    NULL },
	  VM },
	{ { "a pod that is gone goes", lent_as_told, PUBLISH_STATUS, "address", "vm-1" }, NOBODY },
	{ { "while it is not known who has the device, what is told stays", lent_as_told,
	    PUBLISH_NOTHING, "", NULL },
	  UNKNOWN },
	{ { "another change does not lose it then", lent_and_changed, PUBLISH_STATUS,
	    "\"pod\":\"vm-1\"", NULL },
	  UNKNOWN },
};

static void check_body(const struct plan_case *c, const json_t *body)
{
	auto_free char *text = body ? json_map_text(body) : xstrdup("");

	assert_non_null(strstr(text, c->has));
	if (c->lacks)
		assert_null(strstr(text, c->lacks));
	if (!*c->has)
		assert_null(body);
}

static void plan_comes_to(const struct plan_case *c, bool claimed,
			  const struct pcidevice_allocations *allocations)
{
	struct pcidevice *wanted = nic(NOW);
	struct pcidevice *seen = nic(THEN);
	struct publish_case question = {
		.kind = INVENTORY_PCI,
		.wanted = wanted,
		.seen = seen,
		.claimed = claimed,
		.allocations = allocations,
		.now_wall_ms = NOW,
	};
	auto_json json_t *body = NULL;

	if (claimed)
		say_claimed(seen);
	c->change(wanted, seen);
	assert_int_equal(publish_plan(&question, &body), c->step);
	check_body(c, body);
	api_object_free(&pcidevice_kind, wanted);
	api_object_free(&pcidevice_kind, seen);
}

static void plan_is(void **state)
{
	plan_comes_to(*state, false, NULL);
}

static void plan_of_a_claimed_one_is(void **state)
{
	plan_comes_to(*state, true, NULL);
}

static void plan_of_lent_is(void **state)
{
	const struct lent_case *row = *state;
	struct pcidevice *vm = nic(THEN);
	static const struct pcidevice_allocations none = { 0 };
	const struct pcidevice_allocations *known[] = {
		[UNKNOWN] = NULL, [NOBODY] = &none, [VM] = &vm->status.allocations
	};

	lent_as_told(NULL, vm);
	plan_comes_to(&row->plan, true, known[row->lent]);
	api_object_free(&pcidevice_kind, vm);
}

/* A device that is bound already: only the claim knows its driver from before. */
static struct told_case {
	const char *name;
	const char *remembered; /* the annotation; NULL: none */
	const char *told;       /* the claim's status         */
	const char *driver;     /* now; NULL: vfio-pci         */
	const char *has;        /* text of the body; NULL: nothing is written */
} tolds[] = {
	{ "harvester-api 2.3: where vfio-pci is remembered, the claim says what it was", "vfio-pci",
	  "e1000e", NULL, "\"harvesterhci.io/pcideviceDriver\":\"e1000e\"" },
	{ "so where nothing is remembered", NULL, "e1000e", NULL,
	  "\"harvesterhci.io/pcideviceDriver\":\"e1000e\"" },
	{ "what is remembered counts before what the claim says", "igb", "e1000e", NULL, NULL },
	{ "a claim that says vfio-pci knows nothing", "vfio-pci", "vfio-pci", NULL, NULL },
	{ "the driver that it is on counts before what the claim says", "vfio-pci", "igb", "e1000e",
	  "\"harvesterhci.io/pcideviceDriver\":\"e1000e\"" },
};

static void set_driver(struct pcidevice *device, const char *remembered)
{
	json_pairs_remove(&device->meta.annotations, NAMES_ANNOTATION_DRIVER);
	if (remembered)
		json_pairs_set(&device->meta.annotations, NAMES_ANNOTATION_DRIVER, remembered);
}

static void claim_tells_the_driver(void **state)
{
	const struct told_case *row = *state;
	struct pcidevice *wanted = nic(NOW);
	struct pcidevice *seen = nic(THEN);
	struct pcideviceclaim *claim = api_object_new(&pcideviceclaim_kind);
	struct publish_case question = { .kind = INVENTORY_PCI,
					 .wanted = wanted,
					 .seen = seen,
					 .claimed = true,
					 .claim = claim };
	auto_json json_t *body = NULL;
	auto_free char *text = NULL;

	say_claimed(seen);
	claim->status.kernel_driver_to_unbind = xstrdup(row->told);
	set_driver(wanted, row->driver);
	set_driver(seen, row->remembered);
	assert_int_equal(publish_plan(&question, &body),
			 row->has ? PUBLISH_OBJECT : PUBLISH_NOTHING);
	text = row->has ? json_map_text(body) : xstrdup("");
	assert_non_null(strstr(text, row->has ? row->has : ""));
	api_object_free(&pcidevice_kind, wanted);
	api_object_free(&pcidevice_kind, seen);
	api_object_free(&pcideviceclaim_kind, claim);
}

/* Beside Claimable, which does not change: once, and no longer than that. */
static void a_claim_is_said(void **state)
{
	struct pcidevice *wanted = nic(THEN);
	struct pcidevice *seen = nic(THEN);
	struct publish_case question = {
		.kind = INVENTORY_PCI,
		.wanted = wanted,
		.seen = seen,
		.claimed = true,
		.now_wall_ms = NOW,
	};
	auto_json json_t *said = NULL;
	auto_json json_t *taken_back = NULL;
	auto_json json_t *none = NULL;
	auto_free char *text = NULL;
	auto_free char *after = NULL;

	(void)state;
	assert_int_equal(publish_plan(&question, &said), PUBLISH_STATUS);
	text = json_map_text(said);
	assert_non_null(strstr(text, "\"reason\":\"Available\""));
	assert_non_null(strstr(text, "\"type\":\"Claimed\""));
	say_claimed(seen);
	assert_int_equal(publish_plan(&question, &none), PUBLISH_NOTHING);
	question.claimed = false;
	assert_int_equal(publish_plan(&question, &taken_back), PUBLISH_STATUS);
	after = json_map_text(taken_back);
	assert_non_null(strstr(after, "\"reason\":\"Available\""));
	assert_null(strstr(after, "Claimed"));
	api_object_free(&pcidevice_kind, wanted);
	api_object_free(&pcidevice_kind, seen);
}

static void a_new_device_is_created(void **state)
{
	struct pcidevice *wanted = nic(NOW);
	struct publish_case question = { .kind = INVENTORY_PCI, .wanted = wanted };
	auto_json json_t *body = NULL;
	auto_json json_t *status = publish_first_status(
		&(struct publish_case){ .kind = INVENTORY_PCI, .wanted = wanted });
	auto_free char *text = json_map_text(status);

	assert_int_equal(publish_plan(&question, &body), PUBLISH_OBJECT);
	assert_non_null(strstr(text, "0000:01:00.0"));
	assert_non_null(strstr(text, "Claimable"));
	api_object_free(&pcidevice_kind, wanted);
}

/* What Harvester's objects have, and who reads them may expect. */
static void a_device_without_a_driver_says_so_as_harvester_does(void **state)
{
	struct pcidevice *wanted = nic(NOW);
	struct pcidevice *seen = nic(THEN);
	struct publish_case question = { .kind = INVENTORY_PCI, .wanted = wanted };
	auto_json json_t *created = NULL;
	auto_json json_t *body = NULL;
	auto_json json_t *whole = NULL;
	auto_free char *text = NULL;
	auto_free char *all = NULL;

	json_pairs_remove(&wanted->meta.annotations, NAMES_ANNOTATION_DRIVER);
	assert_int_equal(publish_plan(&question, &created), PUBLISH_OBJECT);
	text = json_map_text(created);
	assert_non_null(strstr(text, "\"" NAMES_ANNOTATION_DRIVER "\":\"\""));
	assert_non_null(strstr(text, "\"spec\":{}"));
	whole = publish_object(INVENTORY_PCI, wanted);
	all = json_map_text(whole);
	assert_non_null(strstr(all, "\"" NAMES_ANNOTATION_DRIVER "\":\"\""));
	assert_non_null(strstr(all, "\"spec\":{}"));

	question.seen = seen;
	json_pairs_set(&seen->meta.annotations, NAMES_ANNOTATION_DRIVER, "");
	assert_int_equal(publish_plan(&question, &body), PUBLISH_NOTHING);
	json_pairs_set(&seen->meta.annotations, NAMES_ANNOTATION_DRIVER, "vfio-pci");
	assert_int_equal(publish_plan(&question, &body), PUBLISH_NOTHING);
	api_object_free(&pcidevice_kind, wanted);
	api_object_free(&pcidevice_kind, seen);
}

static void a_vanished_device_is_deleted(void **state)
{
	struct pcidevice *seen = nic(THEN);
	struct publish_case question = { .kind = INVENTORY_PCI, .seen = seen };
	auto_json json_t *body = NULL;

	assert_int_equal(publish_plan(&question, &body), PUBLISH_DELETE);
	assert_null(body);
	api_object_free(&pcidevice_kind, seen);
}

/* Said once: the object then says it, and the next look gives no step. */
static void a_vanished_device_that_is_claimed_is_kept_and_said_so(void **state)
{
	struct pcidevice *seen = nic(THEN);
	struct publish_case question = {
		.kind = INVENTORY_PCI, .seen = seen, .claimed = true, .now_wall_ms = NOW
	};
	auto_json json_t *body = NULL;
	auto_json json_t *again = NULL;
	auto_free char *text = NULL;

	assert_int_equal(publish_plan(&question, &body), PUBLISH_STATUS);
	text = json_map_text(body);
	assert_non_null(strstr(text, "DeviceGone"));
	assert_non_null(strstr(text, "0000:01:00.0"));

	json_map_done(pcidevice_status_map, &seen->status);
	assert_int_equal(json_map_decode(pcidevice_status_map, json_object_get(body, "status"),
					 &seen->status, NULL),
			 0);
	assert_int_equal(publish_plan(&question, &again), PUBLISH_NOTHING);
	api_object_free(&pcidevice_kind, seen);
}

/* Its claim cannot be deleted while the object names a pod. */
static void a_vanished_devices_pod_is_told_as_long_as_it_has_it(void **state)
{
	static const struct pcidevice_allocations none = { 0 };
	struct pcidevice *seen = nic(THEN);
	struct pcidevice *vm = nic(THEN);
	const struct pcidevice_allocations *known[] = { NULL, &vm->status.allocations, &none };

	(void)state;
	lent_as_told(NULL, seen);
	lent_as_told(NULL, vm);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		struct publish_case question = { .kind = INVENTORY_PCI,
						 .seen = seen,
						 .claimed = true,
						 .allocations = known[i],
						 .now_wall_ms = NOW };
		auto_json json_t *body = NULL;
		auto_free char *text = NULL;

		assert_int_equal(publish_plan(&question, &body), PUBLISH_STATUS);
		text = json_map_text(body);
		assert_non_null(strstr(text, "DeviceGone"));
		assert_int_equal(strstr(text, "vm-1") != NULL, known[i] != &none);
	}
	api_object_free(&pcidevice_kind, vm);
	api_object_free(&pcidevice_kind, seen);
}

static void nothing_wanted_and_nothing_there_is_nothing(void **state)
{
	auto_json json_t *body = NULL;

	assert_int_equal(publish_plan(&(struct publish_case){ 0 }, &body), PUBLISH_NOTHING);
}

/* Server-side apply leaves what others wrote: those fields are named for a patch, and only
 * those. */
static void what_an_apply_leaves_is_named(void **state)
{
	auto_json json_t *body = json_pack("{s:{s:s}}", "status", "address", "0000:01:00.0");
	auto_json json_t *clean = json_pack("{s:{s:s,s:s}}", "status", "address", "0000:01:00.0",
					    "somebodysField", "kept");
	auto_json json_t *stale =
		json_pack("{s:{s:s,s:s,s:i}}", "status", "address", "0000:01:00.0",
			  "kernelDriverInUse", "vfio-pci", "numaNode", 3);
	auto_json json_t *patch = publish_left_over(INVENTORY_PCI, body, stale);
	auto_free char *text = json_map_text(patch);

	assert_null(publish_left_over(INVENTORY_PCI, body, clean));
	assert_string_equal(text, "{\"status\":{\"kernelDriverInUse\":null,\"numaNode\":null}}");
}

static void a_device_that_a_pod_has_keeps_the_name_that_it_has_it_as(void **state)
{
	struct pcidevice *wanted = nic(NOW);
	struct pcidevice *seen = nic(NOW);
	struct publish_case question = {
		.kind = INVENTORY_PCI, .wanted = wanted, .seen = seen, .resource = "intel.com/NIC"
	};
	auto_json json_t *body = NULL;
	auto_json json_t *renamed = NULL;
	auto_free char *text = NULL;

	name_overridden(wanted, seen);
	assert_int_equal(publish_plan(&question, &body), PUBLISH_NOTHING);
	question.resource = NULL; /* the pod is gone */
	assert_int_equal(publish_plan(&question, &renamed), PUBLISH_STATUS);
	text = json_map_text(renamed);
	assert_non_null(strstr(text, "\"resourceName\":\"example.com/mine\""));
	api_object_free(&pcidevice_kind, wanted);
	api_object_free(&pcidevice_kind, seen);
}

/* What the object says of a HostDeviceConfig: "STATUS REASON RESOURCE", or "NOTHING" if nothing is
 * to be written. */
static char *said_of(const struct publish_case *question)
{
	auto_json json_t *body = NULL;
	const json_t *status;
	const json_t *conditions;
	const json_t *offered = NULL;

	if (publish_plan(question, &body) == PUBLISH_NOTHING)
		return xstrdup("NOTHING");
	status = json_object_get(body, "status");
	conditions = json_object_get(status, "conditions");
	for (size_t i = 0; i < json_array_size(conditions); i++) {
		const json_t *one = json_array_get(conditions, i);

		if (strcmp(json_string_value(json_object_get(one, "type")), "Offered") == 0)
			offered = one;
	}
	return xasprintf("%s %s %s",
			 offered ? json_string_value(json_object_get(offered, "status")) : "-",
			 offered ? json_string_value(json_object_get(offered, "reason")) : "-",
			 json_string_value(json_object_get(status, "resourceName")));
}

static struct offer_case {
	const char *name;
	struct publish_offer offer;
	bool claimed;
	bool seen; /* the object says already that it is offered as a.io/nic */
	const char *says;
} offers[] = {
	{ "it is lent",
	  { true, "the HostDeviceConfig", "a.io/nic", NULL, false, false, NULL },
	  false,
	  false,
	  "True Offered a.io/nic" },
	{ "it is offered on demand, and nobody has it",
	  { .known = true,
	    .by = "the HostDeviceConfig",
	    .resource = "a.io/nic",
	    .on_demand = true },
	  false,
	  false,
	  "True Offered a.io/nic" },
	{ "it is lent on demand",
	  { .known = true,
	    .by = "the HostDeviceConfig",
	    .resource = "a.io/nic",
	    .on_demand = true,
	    .bound_for = "ResourceClaim default/nic" },
	  false,
	  false,
	  "True BoundOnDemand a.io/nic" },
	{ "it could not be bound on demand",
	  { .known = true,
	    .by = "the HostDeviceConfig",
	    .resource = "a.io/nic",
	    .trouble = "eth0 is up",
	    .on_demand = true },
	  false,
	  false,
	  "False Unhealthy a.io/nic" },
	{ "it is said already",
	  { true, "the HostDeviceConfig", "a.io/nic", NULL, false, false, NULL },
	  false,
	  true,
	  "NOTHING" },
	{ "it is not healthy",
	  { true, "the HostDeviceConfig", "a.io/nic", "/dev/vfio/12 is not there", false, false,
	    NULL },
	  false,
	  true,
	  "False Unhealthy a.io/nic" },
	{ "another plugin offers it",
	  { true, "the agent (--nvidia)", NULL, "another device plugin does", false, false, NULL },
	  false,
	  true,
	  "False OtherPlugin intel.com/NIC" },
	{ "a pod has another of its group",
	  { true, "the HostDeviceConfig", "a.io/nic", "a pod has it", true, false, NULL },
	  false,
	  true,
	  "False GroupInUse a.io/nic" },
	{ "it is lent no more",
	  { true, "the HostDeviceConfig", NULL, NULL, false, false, NULL },
	  false,
	  true,
	  "- - intel.com/NIC" },
	{ "it is not known yet",
	  { false, "the HostDeviceConfig", NULL, NULL, false, false, NULL },
	  false,
	  true,
	  "NOTHING" },
	{ "it was never lent",
	  { true, "the HostDeviceConfig", NULL, NULL, false, false, NULL },
	  false,
	  false,
	  "NOTHING" },
	{ "it is claimed meanwhile",
	  { true, "the HostDeviceConfig", "a.io/nic", NULL, false, false, NULL },
	  true,
	  true,
	  "- - intel.com/NIC" },
};

static void what_a_config_lends_is_said(void **state)
{
	const struct offer_case *row = suite_row(state);
	struct pcidevice *wanted = nic(NOW);
	struct pcidevice *seen = nic(NOW);
	struct publish_case question = { .kind = INVENTORY_PCI,
					 .wanted = wanted,
					 .seen = seen,
					 .offer = row->offer,
					 .claimed = row->claimed };
	auto_free char *says = NULL;

	if (row->seen) {
		free(seen->status.resource_name);
		seen->status.resource_name = xstrdup("a.io/nic");
		api_conditions_set(&seen->status.conditions,
				   &(struct api_condition_value){
					   .type = "Offered",
					   .status = API_TRUE,
					   .reason = "Offered",
					   .message = "the HostDeviceConfig offers it as a.io/nic",
				   },
				   NOW);
	}
	says = said_of(&question);
	assert_string_equal(says, row->says);
	api_object_free(&pcidevice_kind, wanted);
	api_object_free(&pcidevice_kind, seen);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, plan_is);
	suite_rows(&suite, claimed_cases, plan_of_a_claimed_one_is);
	suite_rows(&suite, tolds, claim_tells_the_driver);
	suite_rows(&suite, offers, what_a_config_lends_is_said);
	for (size_t i = 0; i < ARRAY_LEN(lents); i++)
		suite_add(&suite, lents[i].plan.name, plan_of_lent_is, &lents[i]);
	suite_add(&suite, "a claim is said", a_claim_is_said, NULL);
	suite_add(&suite, "a new device is created, then gets its status", a_new_device_is_created,
		  NULL);
	suite_add(&suite, "a device that a pod has keeps the name that it has it as",
		  a_device_that_a_pod_has_keeps_the_name_that_it_has_it_as, NULL);
	suite_add(&suite, "a device without a driver says so as Harvester does",
		  a_device_without_a_driver_says_so_as_harvester_does, NULL);
	suite_add(&suite, "a vanished device is deleted", a_vanished_device_is_deleted, NULL);
	suite_add(&suite, "a vanished device that is claimed is kept, and that is said once",
		  a_vanished_device_that_is_claimed_is_kept_and_said_so, NULL);
	suite_add(&suite, "a vanished device's pod is told as long as it has it",
		  a_vanished_devices_pod_is_told_as_long_as_it_has_it, NULL);
	suite_add(&suite, "nothing wanted and nothing there is nothing",
		  nothing_wanted_and_nothing_there_is_nothing, NULL);
	suite_add(&suite, "what an apply leaves of others' fields is named for a patch",
		  what_an_apply_leaves_is_named, NULL);
	return suite_run(&suite, "publish_plan");
}
