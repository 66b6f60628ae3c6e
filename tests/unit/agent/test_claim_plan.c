/* claim_plan: where a claim comes to, and with what words, in one state of the world after
 * another. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/claim/claim_plan.h"
#include "api/pcidevice.h"
#include "api/usbdeviceclaim.h"
#include "base/array.h"
#include "base/str.h"
#include "unit/agent/claim_store.h"
#include "unit/agent/world.h"

#define FINALIZER NAMES_FINALIZER_HARVESTER_PCI

/* clang-format off */
#define PCI(address, id, rest) \
	"{'kind':'pci','address':'" address "','vendor':'8086','device':'" id "'," \
	"'class':'020000','iommuGroup':'12'" rest "}"
#define NIC(driver)   PCI(ADDRESS, "10d3", ",'driver':'" driver "'")
#define BARE          PCI(ADDRESS, "10d3", "")
#define OTHER(driver) PCI(SIBLING, "10d4", ",'driver':'" driver "'")
#define VGPU_FUNCTION(role) \
	"{'kind':'pci','address':'" ADDRESS "','vendor':'10de','device':'25b6','class':'030200'," \
	"'iommuGroup':'12','driver':'nvidia','role':'" role "'}"
#define VGPU(type) "{'kind':'vgpu','address':'" ADDRESS "','current':'" type "'}"
#define BARE_OTHER    PCI(SIBLING, "10d4", "")
#define USE_OF(address, reason) \
	"{'kind':'use','pci':'" address "','reason':'" reason "','detail':'it is needed'}"
#define USE(reason)   USE_OF(ADDRESS, reason)
#define RECORDED(address, id, claim, uid, native) \
	"{'kind':'record','address':'" address "','claim':'" claim "','uid':'" uid "'," \
	"'driver':'vfio-pci','id':'" id "'" native "}"
#define CONTROLLER "{'kind':'pci','address':'" ADDRESS "','vendor':'8086','device':'10d3'," \
	"'class':'0c0330','iommuGroup':'12','driver':'xhci_hcd'}"
#define STICK_ON(node, address) "'nodeName':'" node "','pciAddress':'" address "','portPath':'1-2'"
#define RECORD    RECORDED(ADDRESS, "8086:10d3", NAME, "u1", ",'native':'e1000e'")
#define OLD       RECORDED(ADDRESS, "8086:10d3", NAME, "u0", ",'native':'e1000e'")
#define OTHERS    RECORDED(SIBLING, "8086:10d4", SIBLINGS, "u2", ",'native':'8139cp'")
#define INCLUDED  RECORDED(SIBLING, "8086:10d4", NAME, "u1", ",'native':'8139cp'")

#define CLAIM_OF(name, uid, meta, spec, status) \
	"{'metadata':{'name':'" name "','uid':'" uid "','resourceVersion':'7','generation':1" meta "}," \
	"'spec':{" spec "},'status':{" status "}}"
#define CLAIM(meta, spec, status) CLAIM_OF(NAME, "u1", meta, spec, status)
/* Bound under an earlier boot; first so, by an earlier version of ours; a device of its model in
 * another group. */
#define BOOTED(more)  RECORDED(ADDRESS, "8086:10d3", NAME, "u1", ",'native':'e1000e','bound':'old'" more)
#define EARLIER       RECORDED(ADDRESS, "8086:10d3", NAME, "u1", ",'native':'e1000e','boot':'old'")
#define TWIN_ADDRESS "0000:02:00.0"
#define AT_TWIN(address, id, more) "{'kind':'pci','address':'" address "','vendor':'8086','device':'" id "'," \
	"'class':'020000','driver':'e1000e','iommuGroup':'13'" more "}"
#define TWIN(more) AT_TWIN(TWIN_ADDRESS, "10d3", more)
#define BY_ADDRESS ",'annotations':{'" NAMES_ANNOTATION_BY_ADDRESS "':'true'}"
#define SERIAL  "00-11-22-33-44-55-66-7"
#define MARKED  ",'finalizers':['" FINALIZER "']"
#define DELETED ",'deletionTimestamp':'2026-01-01T00:00:00Z'"
#define SKIPPED ",'annotations':{'" NAMES_ANNOTATION_SKIP_VFIO "':''}"
#define NAMED   ",'annotations':{'" NAMES_ANNOTATION_RESOURCE_NAME "':'cpu'}"
#define OVERRIDE ",'annotations':{'" NAMES_ANNOTATION_OVERRIDE "':'true'}"
#define TOLD    "'kernelDriverToUnbind':'e1000e','iommuGroup':'12','passthroughEnabled':false"
#define LENT    "'kernelDriverToUnbind':'e1000e','iommuGroup':'12','passthroughEnabled':true"
#define READY   READY_ONLY "]"
#define REFUSED(reason) "'conditions':[{'type':'Ready','status':'False','reason':'" reason "','message':'m'}]"
#define OFFERED_AS(resource) "{'type':'Offered','status':'True','reason':'Offered','message':" \
	"'node node1 offers it as " resource "'}"
#define WAS_OFFERED READY_ONLY "," OFFERED_AS("intel.com/NIC") "]"
#define READY_ONLY  LENT ",'conditions':[{'type':'Ready','status':'True','reason':'Ready'}," \
	"{'type':'DriverBound','status':'True','reason':'Bound'}"
#define REFUSED_AS(reason) LENT ",'conditions':[{'type':'Ready','status':'False','reason':'" reason "','message':'m'}," \
	"{'type':'DriverBound','status':'True','reason':'Bound'}," \
	"{'type':'Offered','status':'False','reason':'" reason "','message':'m'}]"
#define AFTER_READY(reason) LENT ",'conditions':[{'type':'Ready','status':'False','reason':'" reason "','message':'m'}," \
	"{'type':'DriverBound','status':'True','reason':'Bound','lastTransitionTime':'2026-01-01T00:00:00Z'}," \
	"{'type':'Offered','status':'False','reason':'" reason "','message':'m','lastTransitionTime':'2026-01-01T00:00:07Z'}]"
#define GROUP   "'includeIOMMUGroup':true"
#define OF(user) "'userName':'" user "'"
#define UNACCEPTED "{'type':'Accepted','status':'False','reason':'GroupShared','message':'m'}"
#define BORN(second) ",'creationTimestamp':'2026-01-01T00:00:0" second "Z'"
#define SIBLING_CLAIM(meta, spec) CLAIM_OF(SIBLINGS, "u2", meta, spec, "'iommuGroup':'12'")
/* clang-format on */

struct last {
	bool there;
	enum binder_verb verb;
	enum task_result result;
	const char *reason;
	bool newer;
	const char *driver; /* of ADDRESS, as read back; NULL: not read back; "": none */
};

static struct plan_case {
	const char *name;
	const char *lines[6];
	const char *claim; /* NULL: there is none */
	const char *other; /* NULL: likewise, of the sibling */
	struct last last;
	enum binder_state state;
	bool late;              /* the step takes long */
	const char *driverless; /* a class that the node leaves without driver; NULL: none */
	bool unpublished;       /* there is no PCIDevice yet */
	bool lags;              /* it says another driver    */
	struct claim_offer offer;

	/* Where it comes to, when what it wants written is written. */
	enum claim_step step;
	int writes;
	const char *job;     /* BIND, RELEASE: as job_text() tells it              */
	const char *ready;   /* reason of Ready in the end; NULL: there is none    */
	const char *event;   /* reasons of events on the way, in order; NULL: none */
	const char *tells;   /* part of the events' messages; NULL: not looked at   */
	const char *says;    /* part of the message of Ready; NULL: not looked at  */
	const char *offered; /* status and reason of Offered; NULL: not looked at */
	const char *native;  /* what the status says it goes back to; NULL: not looked at */

	const char *allocated, *allocated_to;
	const char *bind_trouble;
	const char *usb_pod_of; /* the controller that a pod has a device of; NULL: none */
	const char *usb[3];     /* the status of USBDeviceClaims "stick0", "stick1", ... */
	bool usb_waits;         /* they have no device yet         */
	uint64_t unproven_ms;   /* it has not been free for long enough */
} cases[] = {
#include "unit/agent/claim_plan_cases.h"
};

struct room {
	struct world world;
	struct store *claims;
	struct store *usb_claims;
	struct json_pairs usb_pods;
	struct pcidevice *device;
	struct json_strs drivers;
	struct json_strs driverless;
	struct binder_outcome outcome;
	struct claim_case c;

	int writes;
	struct str events;
	struct str told; /* their messages */
	struct claim_decision decision;
};

static void add_line(struct room *room, const char *text)
{
	auto_json json_t *json = object_json(text);
	auto_free char *line = json_map_text(json);

	world_add(&room->world, line);
}

static void add_claim(struct room *room, const char *text)
{
	auto_json json_t *json = text ? object_json(text) : NULL;

	if (json)
		claim_store_put(room->claims, json);
}

static void add_usb_claims(struct room *room, const struct plan_case *row)
{
	for (size_t i = 0; i < ARRAY_LEN(row->usb) && row->usb[i]; i++) {
		auto_free char *text = xasprintf(
			"{'metadata':{'name':'stick%zu','uid':'s','resourceVersion':'7',"
			"'finalizers':['%s']},'status':{%s}}",
			i, row->usb_waits ? "a.io/b" : NAMES_FINALIZER_HARVESTER_USB, row->usb[i]);
		auto_json json_t *json = object_json(text);

		object_put(room->usb_claims, &usbdeviceclaim_kind, json);
	}
}

/* As the agent writes it once it has seen the device. */
static struct pcidevice *published(const struct world *world, const struct plan_case *row)
{
	const struct pcidevice *device = inventory_find(world->inventory, INVENTORY_PCI, NAME);
	struct pcidevice *copy;

	if (!device)
		return NULL;
	copy = api_object_copy(&pcidevice_kind, device);
	copy->meta.uid = xstrdup("d1");
	if (copy->status.kernel_driver_in_use)
		json_pairs_set(&copy->meta.annotations, NAMES_ANNOTATION_DRIVER, "e1000e");
	if (row->lags || row->last.driver) {
		free(copy->status.kernel_driver_in_use);
		copy->status.kernel_driver_in_use =
			xstrdup(row->lags ? "e1000e" : row->last.driver);
	}
	return copy;
}

static void set_last(struct room *room, const struct last *last)
{
	struct binder_outcome *outcome = &room->outcome;

	if (!last->there)
		return;
	*outcome = (struct binder_outcome){
		.task.result = last->result,
		.task.reason = xstrdup_or_null(last->reason),
		.task.message = xstrdup("so it came"),
		.task.holder = last->result == TASK_HELD ? xstrdup("process 7 (qemu)") : NULL,
		.task.holder_pid = last->result == TASK_HELD ? 7 : 0,
	};
	if (last->driver)
		*array_add(&outcome->seen) = (struct binder_seen){
			.address = xstrdup(ADDRESS),
			.driver = *last->driver ? xstrdup(last->driver) : NULL,
		};
	room->c.last =
		(struct claim_attempt){ &outcome->task, last->verb, last->newer, &outcome->seen };
}

static void room_open(struct room *room, const struct plan_case *row)
{
	*room = (struct room){ .claims = store_new(&pcideviceclaim_kind),
			       .usb_claims = store_new(&usbdeviceclaim_kind) };
	world_open(&room->world);
	for (size_t i = 0; i < ARRAY_LEN(row->lines) && row->lines[i]; i++)
		add_line(room, row->lines[i]);
	world_look(&room->world, &(struct inventory_options){ .node_name = NODE });
	add_claim(room, row->claim);
	add_claim(room, row->other);
	add_usb_claims(room, row);
	room->device = row->unpublished ? NULL : published(&room->world, row);
	json_strs_add(&room->drivers, "mlx5_vfio_pci");
	if (row->driverless)
		json_strs_add(&room->driverless, row->driverless);
	if (row->usb_pod_of)
		json_pairs_set(&room->usb_pods, row->usb_pod_of,
			       "pod default/vm has the device in port 1-2");
	room->c = (struct claim_case){
		.node_name = NODE,
		.name = NAME,
		.inventory = room->world.inventory,
		.claims = room->claims,
		.usb_claims = room->usb_claims,
		.usb_pods = &room->usb_pods,
		.device = room->device,
		.state = row->state,
		.trouble = { .pid = 123,
			     .verb = "bind",
			     .step = "Unbind",
			     .address = ADDRESS,
			     .age_ms = 7000,
			     .late = row->late },
		.unproven_ms = row->unproven_ms,
		.offer = row->offer,
		.allocated = row->allocated,
		.allocated_to = row->allocated_to,
		.bind_trouble = row->bind_trouble,
		.vfio_drivers = &room->drivers,
		.driverless = &room->driverless,
		.now_wall_ms = WORLD_NOW,
	};
	set_last(room, &row->last);
}

static void room_close(struct room *room)
{
	claim_decision_done(&room->decision);
	binder_outcome_done(&room->outcome);
	json_strs_done(&room->drivers);
	json_strs_done(&room->driverless);
	json_pairs_done(&room->usb_pods);
	str_done(&room->events);
	str_done(&room->told);
	api_object_free(&pcidevice_kind, room->device);
	store_free(room->claims);
	store_free(room->usb_claims);
	world_close(&room->world);
}

SUITE_CLOSING(room, struct room, room_close);

static void plan(struct room *room)
{
	claim_decision_done(&room->decision);
	room->c.claim = store_object(room->claims, NAME);
	claim_plan(&room->c, &room->decision);
	if (room->decision.bound)
		str_addf(&room->events, "%sBound", room->events.len ? " " : "");
	if (!room->decision.event_reason)
		return;
	str_addf(&room->events, "%s%s", room->events.len ? " " : "", room->decision.event_reason);
	str_addf(&room->told, "%s\n", room->decision.event_message);
	assert_non_null(room->decision.event_message);
}

/* Write and read as long as that is what is wanted. */
static void settle(struct room *room)
{
	for (int i = 0; i < 8; i++) {
		plan(room);
		if (room->decision.step == CLAIM_READ) {
			assert_false(room->c.fresh);
			room->c.fresh = true;
		} else if (room->decision.step == CLAIM_MARK || room->decision.step == CLAIM_TELL) {
			claim_store_patch(room->claims, NAME, room->decision.body);
			room->writes++;
			room->c.fresh = true;
		} else {
			return;
		}
	}
	fail_msg("it does not come to an end");
}

/* "12: 0000:01:00.0 vfio-pci e1000e node1-000001000/u1; ..." */
static char *job_text(const struct binder_job *job)
{
	struct str text = STR_INIT;

	if (job->len > 0)
		str_addf(&text, "%s:", job->group ? job->group : "-");
	for (size_t i = 0; i < job->len; i++) {
		const struct binder_function *f = &job->items[i];

		str_addf(&text, "%s %s %s %s %s %s/%s%s%s", i ? ";" : "", f->address, f->id,
			 f->driver,
			 !f->native   ? "?"
			 : *f->native ? f->native
				      : "-",
			 f->claim, f->uid, f->allow_unknown ? " unknown" : "",
			 f->driverless ? " none" : "");
	}
	return str_detach(&text);
}

static const struct api_condition *condition(const struct room *room, const char *type)
{
	const struct pcideviceclaim *claim = store_object(room->claims, NAME);

	return claim ? api_conditions_find(&claim->status.conditions, type) : NULL;
}

static void check_truth(const struct room *room)
{
	const struct pcideviceclaim *claim = store_object(room->claims, NAME);
	const struct api_condition *bound = condition(room, "DriverBound");

	if (bound && room->writes > 0)
		assert_int_equal(claim->status.passthrough_enabled,
				 strcmp(bound->status, "True") == 0);
}

static void comes_to(void **state)
{
	const struct plan_case *row = suite_row(state);
	struct room *room = *state;
	auto_free char *job = NULL;
	const struct api_condition *ready;

	room_open(room, row);
	settle(room);
	job = job_text(&room->decision.job);
	ready = condition(room, "Ready");
	assert_int_equal(room->decision.step, row->step);
	assert_string_equal(job, row->job ? row->job : "");
	assert_string_equal(ready && ready->reason ? ready->reason : "",
			    row->ready ? row->ready : "");
	assert_int_equal(room->writes, row->writes);
	assert_string_equal(str_cstr(&room->events), row->event ? row->event : "");
	if (row->tells && !strstr(str_cstr(&room->told), row->tells))
		fail_msg("%s", str_cstr(&room->told));
	if (row->says && !strstr(ready->message, row->says))
		fail_msg("%s", ready->message);
	if (row->offered) {
		const struct api_condition *offered = condition(room, "Offered");
		auto_free char *text = xasprintf("%s %s", offered->status, offered->reason);

		assert_string_equal(text, row->offered);
	}
	if (row->native) {
		const struct pcideviceclaim *claim = store_object(room->claims, NAME);

		assert_string_equal(claim->status.kernel_driver_to_unbind, row->native);
	}
	check_truth(room);

	/* Looked at again later, it wants the same and writes nothing. */
	room->writes = 0;
	room->c.now_wall_ms += 3000;
	room->c.trouble.age_ms += 3700;
	settle(room);
	assert_int_equal(room->decision.step, row->step);
	assert_int_equal(room->writes, 0);
}

#include "unit/agent/claim_plan_bodies.h"

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &room_fixture);
	suite_rows(&suite, cases, comes_to);
	add_bodies(&suite);
	return suite_run(&suite, "claim_plan");
}
