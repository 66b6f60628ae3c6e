#include "cli/why.h"

#include <string.h>

#include "api/condition.h"
#include "api/json_map.h"
#include "api/migconfiguration.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdevice.h"
#include "api/vgpudevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client/device_events.h"
#include "cli/model/age.h"
#include "cli/model/cluster.h"
#include "cli/model/dra.h"
#include "cli/print/advice.h"
#include "cli/print/device_json.h"
#include "cli/print/out_json.h"
#include "text/table.h"

enum { OWNERS = 6 };

/* The objects about a device, and their conditions. */
struct owner {
	const char *kind;
	const struct api_meta *meta; /* NULL: no spec, or there is no such object */
	const struct api_conditions *conditions;
};

#define OWNER(kind, object)                                            \
	(struct owner)                                                 \
	{                                                              \
		kind, (object) ? &(object)->meta : NULL,               \
			(object) ? &(object)->status.conditions : NULL \
	}

static void list_owners(const struct cluster_device *device, struct owner owners[OWNERS])
{
	bool usb = device->type == DEVICE_USB;

	owners[0] = (struct owner){ usb ? "USBDevice" : "PCIDevice", NULL, device->conditions };
	owners[1] = (struct owner){ usb ? "USBDeviceClaim" : "PCIDeviceClaim", device->claim,
				    device->claim_conditions };
	owners[2] = OWNER("SRIOVNetworkDevice", device->sriov);
	owners[3] = OWNER("SRIOVGPUDevice", device->gpu);
	owners[4] = OWNER("VGPUDevice", device->vgpu);
	owners[5] = OWNER("MigConfiguration", device->mig);
}

/* --- the head --------------------------------------------------------------------------------- */

enum { FIELD_WIDTH = 13 }; /* of the names in the head, and a blank */

/* Append @text, cleaned, in lines that fit the terminal. */
static void add_text(struct out *out, const char *text, size_t from, size_t indent)
{
	auto_str struct str clean = STR_INIT;

	out_text(&clean, text);
	out_wrap(out, &out->text, str_cstr(&clean), from, indent);
	str_add_char(&out->text, '\n');
}

static void add_field(struct out *out, const char *name, const char *text)
{
	if (!text[0])
		return;
	str_addf(&out->text, "%-*s", FIELD_WIDTH, name);
	add_text(out, text, FIELD_WIDTH, FIELD_WIDTH);
}

/* The reasons of conditions that are as they should be. */
static bool is_affirmation(const char *reason)
{
	static const char *const reasons[] = { "Available", "Ready", "Offered", "Lent" };

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (strcmp(reason, reasons[i]) == 0)
			return true;
	}
	return false;
}

static void add_state(const struct cluster_device *device, struct out *out)
{
	const struct state_look *look = state_look(device->verdict.state);
	bool by_node = device->fault && strcmp(device->verdict.reason, device->fault->reason) == 0;
	auto_free char *kept =
		device->verdict.state == STATE_RELEASING ? advice_kept(device->claim) : NULL;
	const char *message = by_node ? "" /* add_fault() has said it */
			      : kept  ? kept
				      : device->verdict.message;
	/* A reason that says the same as the state is a second word for one thing. */
	bool silent = message[0] && is_affirmation(device->verdict.reason);
	const char *reason = silent ? "" : device->verdict.reason;
	auto_free char *text =
		xasprintf("%s%s%s", reason, reason[0] && message[0] ? ": " : "", message);
	struct str *to = &out->text;
	size_t from = FIELD_WIDTH + 2 + strlen(look->word);

	str_addf(to, "%-*s", FIELD_WIDTH, "State:");
	out_colour(out, to, look->colour);
	str_addf(to, "%c %s", look->sign, look->word);
	if (look->colour != COLOUR_NONE)
		out_colour(out, to, COLOUR_NONE);
	if (text[0])
		str_add(to, reason[0] ? ", " : ": ");
	add_text(out, text, from + 2, FIELD_WIDTH);
}

/* "12, with 0000:01:00.1 (e1000e, claimable)": each other member with what keeps the group from
 * being claimed. */
static void add_group(struct cluster *cluster, const struct cluster_device *device, struct out *out)
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;
	auto_str struct str text = STR_INIT;
	bool first = true;

	str_add(&text, device->group);
	for (size_t i = 0; pci && i < pci->status.iommu_group_members.len; i++) {
		const char *address = pci->status.iommu_group_members.items[i];
		const struct cluster_device *other =
			cluster_device_at(cluster, device->node, address);

		if (strcmp(address, device->address) == 0)
			continue;
		str_addf(&text, "%s%s", first ? ", with " : ", ", address);
		first = false;
		/* It is on the node, as the group says, so its object may not be read. */
		if (other && !other->is_there)
			str_add(&text, " (not known)");
		else if (other)
			str_addf(&text, " (%s, %s)", other->driver[0] ? other->driver : "no driver",
				 state_look(other->verdict.state)->word);
	}
	add_field(out, "IOMMU group:", str_cstr(&text));
}

static void add_claim(const struct cluster_device *device, int64_t now_wall_ms, struct out *out)
{
	auto_str struct str text = STR_INIT;
	char age[AGE_MAX];

	if (device->type == DEVICE_MDEV)
		return;
	if (!device->claim) {
		add_field(out, "Claim:", device->claim_hidden ? "not known" : "none");
		return;
	}
	str_addf(&text, "%s%s", device->user[0] ? "of " : "(no user)", device->user);
	if (*age_text(device->claim->creation_timestamp, now_wall_ms, age))
		str_addf(&text, ", for %s", age);
	if (*age_text(device->claim->deletion_timestamp, now_wall_ms, age))
		str_addf(&text, ", deleted %s ago", age);
	add_field(out, "Claim:", str_cstr(&text));
}

/* "by DRA as pci-0000-01-00-0 in the pool vm1 (ResourceSlice vm1-hostdev.io-pci)" */
static void add_slice(const struct cluster_device *device, struct out *out)
{
	auto_free char *name = device->slice ? dra_name_of(device) : NULL;
	auto_free char *text = name ? xasprintf("by DRA as %s in the pool %s (ResourceSlice %s)",
						name, str_or_empty(device->slice->spec.pool.name),
						device->slice->meta.name)
				    : NULL;

	add_field(out, "Offered:", str_or_empty(text));
}

/* The ResourceClaim by which a container has it; NULL: none is known. */
static const struct pcidevice_allocation *claimed_by_container(const struct cluster_device *device)
{
	for (size_t i = 0; device->allocations && i < device->allocations->len; i++) {
		if (device->allocations->items[i].resource_claim)
			return &device->allocations->items[i];
	}
	return NULL;
}

/* "default/nic, prepared"; "default/nic, not prepared yet; for pod default/a". A caller who may not
 * read ResourceClaims sees those by which containers have a device. */
static void add_resource_claim(const struct cluster_device *device, struct out *out)
{
	const struct resourceclaim *claim = device->resource_claim;
	const struct pcidevice_allocation *container = claimed_by_container(device);
	auto_free char *pods = claim ? dra_pods(claim) : NULL;
	auto_str struct str text = STR_INIT;

	if (claim)
		str_addf(&text, "%s/%s, %s; %s%s", str_or_empty(claim->meta.namespace_),
			 claim->meta.name,
			 dra_is_prepared(device, claim) ? "prepared" : "not prepared yet",
			 pods[0] ? "for " : "no pod uses it", pods);
	else if (container)
		str_addf(&text, "%s/%s, prepared", str_or_empty(container->namespace),
			 container->resource_claim);
	add_field(out, "DRA claim:", str_cstr(&text));
}

/* "PCI 0000:01:00.0 on node vm1"; for a claim without a device "PCI, address not known, on node
 * vm1". */
static void add_place(const struct cluster_device *device, struct out *out)
{
	auto_free char *text =
		xasprintf("%s%s%s%s%s", device_type_word(device->type),
			  device->address[0] ? " " : ", address not known", device->address,
			  device->node[0] ? device->address[0] ? " on node " : ", on node "
					  : ", node not known",
			  device->node);

	add_field(out, "Device:", text);
}

/* Printed first, because the rest may be out of date. */
static void add_fault(const struct cluster_device *device, int64_t now_wall_ms, struct out *out)
{
	auto_free char *fault = NULL;
	auto_free char *text = NULL;
	size_t len;

	if (!device->fault)
		return;
	fault = node_fault_sentence(device->fault, device->node, now_wall_ms);
	/* Drop the full stop at the end of the message, because the sentence goes on. */
	len = strlen(device->fault->message);
	len -= len > 0 && device->fault->message[len - 1] == '.';
	text = xasprintf("%s%s%.*s; what follows is what was known before", fault,
			 len > 0 ? ": " : "", (int)len, device->fault->message);
	add_field(out, "Node:", text);
}

static void add_head(struct cluster *cluster, const struct cluster_device *device,
		     int64_t now_wall_ms, struct out *out)
{
	auto_free char *pods = device_pods(device);

	add_fault(device, now_wall_ms, out);
	add_field(out, "Name:", device->name);
	add_place(device, out);
	add_field(out, "Description:", device->description);
	add_state(device, out);
	add_field(out, "Driver:", device->driver);
	add_group(cluster, device, out);
	add_field(out, "Below:", device->parent ? device->parent->name : "");
	add_field(out, "Resource:", device->resource);
	add_slice(device, out);
	add_claim(device, now_wall_ms, out);
	add_resource_claim(device, out);
	add_field(out, "Holder:", device->holder);
	add_field(out, "Pod:", pods);
}

/* --- conditions ------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
	{ .title = "OF" },     { .title = "CONDITION" }, { .title = "STATUS" },
	{ .title = "REASON" }, { .title = "FOR" },       { .title = "MESSAGE", .wraps = true },
};

static bool is_condition(const struct api_condition *c, const char *type, const char *status,
			 const char *reason)
{
	return strcmp(c->type, type) == 0 && c->status && strcmp(c->status, status) == 0 &&
	       (!reason || (c->reason && strcmp(c->reason, reason) == 0));
}

/* Is it False on a node that is well, too? A device that its node needs is not claimable, and one
 * of two equal devices cannot be distinguished. */
static bool is_quiet(const struct api_condition *c)
{
	return is_condition(c, "Distinguishable", "False", NULL) ||
	       (is_condition(c, "Claimable", "False", NULL) &&
		!is_condition(c, "Claimable", "False", "DeviceGone"));
}

static enum out_colour colour_of(const struct api_condition *c)
{
	if (!c->status)
		return COLOUR_NONE;
	if (strcmp(c->status, "True") == 0)
		return COLOUR_GREEN;
	if (is_quiet(c))
		return COLOUR_DIM;
	return strcmp(c->status, "False") == 0 ? COLOUR_RED : COLOUR_YELLOW;
}

/* Claimable is what the node says, without claims and pods. If the device is claimed or in use, or
 * another claim excludes it, True would contradict the line State. */
static bool is_shown(const struct cluster_device *device, const struct api_condition *c)
{
	bool taken = device->claim || device->verdict.state == STATE_AVAILABLE ||
		     device->verdict.state == STATE_USED;

	if (device->verdict.state == STATE_REFUSED && is_condition(c, "Claimable", "True", NULL))
		return false;
	if (device->claim &&
	    is_condition(c, "Claimed", "True", NULL)) /* the line Claim says more */
		return false;
	return !taken || !is_condition(c, "Claimable", "True", "Available");
}

/* What was written before the last change of the spec says nothing of that change. */
static void add_message(const struct owner *owner, const struct api_condition *c,
			struct table *table)
{
	bool old = owner->meta && c->observed_generation > 0 &&
		   c->observed_generation < owner->meta->generation;
	auto_free char *text =
		old ? xasprintf("(before the last change of the object, which the node has not "
				"processed yet) %s",
				str_or_empty(c->message))
		    : NULL;

	table_add(table, text ? text : c->message);
}

static void add_conditions(const struct cluster_device *device, int64_t now_wall_ms,
			   struct out *out)
{
	struct owner owners[OWNERS];
	struct table table;
	char age[AGE_MAX];

	list_owners(device, owners);
	table_init(&table, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < OWNERS; i++) {
		for (size_t j = 0; owners[i].conditions && j < owners[i].conditions->len; j++) {
			const struct api_condition *c = &owners[i].conditions->items[j];

			if (!is_shown(device, c))
				continue;
			table_add(&table, owners[i].kind);
			table_add(&table, c->type);
			table_add_coloured(&table, c->status, colour_of(c));
			table_add(&table, c->reason);
			table_add(&table, age_text(c->last_transition_time, now_wall_ms, age));
			add_message(&owners[i], c, &table);
		}
	}
	if (table.len > 0) {
		str_add_char(&out->text, '\n');
		table_print(&table, out, true, &out->text);
	}
	table_done(&table);
}

/* --- what to do ------------------------------------------------------------------------------- */

/* Has the agent accepted the claim, in spite of what the device's condition says? */
static bool is_overridden(const struct cluster_device *device)
{
	const struct api_condition *accepted =
		device->claim_conditions ? api_conditions_find(device->claim_conditions, "Accepted")
					 : NULL;

	return device->claim && accepted && accepted->status &&
	       strcmp(accepted->status, "True") == 0;
}

/* Does the condition ask for something? False ones do, and GroupShared, which is True. */
static bool asks(const struct cluster_device *device, const struct api_condition *c)
{
	bool offered =
		device->verdict.state == STATE_AVAILABLE || device->verdict.state == STATE_USED;

	/* The claim has overridden it, or the device is offered already. */
	if ((offered || is_overridden(device)) && strcmp(c->type, "Claimable") == 0)
		return false;
	if (device->conflict && c->reason && strcmp(c->reason, "GroupShared") == 0)
		return false;
	return c->reason && c->status &&
	       (strcmp(c->status, "True") != 0 || strcmp(c->reason, "GroupShared") == 0);
}

static void advise(const struct cluster_device *device, const char *reason, const char *how,
		   struct json_strs *remedies)
{
	auto_free char *text = advice_about(reason, device->node, device->name, how);

	if (text)
		json_strs_add_new(remedies, text);
}

static void collect(const struct cluster_device *device, const char *how,
		    struct json_strs *remedies)
{
	struct owner owners[OWNERS];

	if (device->fault)
		advise(device, device->fault->reason, how, remedies);
	advise(device, device->verdict.reason, how, remedies);
	if (device->verdict.state == STATE_RELEASING) {
		auto_free char *line = advice_unkeep(device->type, device->claim);

		if (line)
			json_strs_add_new(remedies, line);
	}
	if (device->verdict.state == STATE_MISSING &&
	    (device->sriov || device->gpu || device->vgpu || device->mig))
		json_strs_add(remedies, "If the card will not come back, delete its object.");
	list_owners(device, owners);
	for (size_t i = 0; i < OWNERS; i++) {
		for (size_t j = 0; owners[i].conditions && j < owners[i].conditions->len; j++) {
			const struct api_condition *c = &owners[i].conditions->items[j];

			if (asks(device, c))
				advise(device, c->reason, how, remedies);
		}
	}
	/* For a shared group, the advice already has the command. */
	if (device->verdict.state == STATE_CLAIMABLE && device->type != DEVICE_MDEV &&
	    device->conflict != CONFLICT_GROUP &&
	    strcmp(device->verdict.reason, "GroupShared") != 0)
		json_strs_add_new(remedies, how);
}

static void add_remedies(const struct cluster_device *device, const char *how, struct out *out)
{
	struct json_strs remedies = { 0 };

	collect(device, how, &remedies);
	if (remedies.len > 0)
		str_add(&out->text, "\nWhat to do:\n");
	for (size_t i = 0; i < remedies.len; i++) {
		str_add(&out->text, "  ");
		add_text(out, remedies.items[i], 2, 4);
	}
	json_strs_done(&remedies);
}

/* --- events ----------------------------------------------------------------------------------- */

static const struct table_column event_columns[] = {
	{ .title = "LAST SEEN" },
	{ .title = "TYPE" },
	{ .title = "REASON" },
	{ .title = "ABOUT" },
	{ .title = "MESSAGE", .wraps = true },
};

static void add_events(const struct device_events *events, int64_t now_wall_ms, struct out *out)
{
	struct table table;
	char age[AGE_MAX];

	if (events->len == 0)
		return;
	table_init(&table, event_columns, ARRAY_LEN(event_columns));
	for (size_t i = 0; i < events->len; i++) {
		const struct event *event = events->items[i];

		table_add(&table, age_text(device_event_time(event), now_wall_ms, age));
		table_add(&table, event->type);
		table_add(&table, event->reason);
		table_add(&table, event->involved_object.kind);
		table_add(&table, event->message);
	}
	str_add_char(&out->text, '\n');
	table_print(&table, out, true, &out->text);
	table_done(&table);
}

/* --- for programs ----------------------------------------------------------------------------- */

static json_t *conditions_json(const struct cluster_device *device)
{
	struct owner owners[OWNERS];
	json_t *list = json_array();

	list_owners(device, owners);
	for (size_t i = 0; i < OWNERS; i++) {
		for (size_t j = 0; owners[i].conditions && j < owners[i].conditions->len; j++) {
			json_t *c =
				json_map_encode(api_condition_map, &owners[i].conditions->items[j]);

			json_object_set_new(c, "of", json_string(owners[i].kind));
			json_array_append_new(list, c);
		}
	}
	return list;
}

static void print_json(const struct cluster_device *device, const char *how,
		       const struct device_events *events, struct out *out)
{
	auto_json json_t *json = device_json(device);
	struct json_strs remedies = { 0 };
	json_t *list = json_array();

	json_object_set_new(json, "conditions", conditions_json(device));
	collect(device, how, &remedies);
	for (size_t i = 0; i < remedies.len; i++)
		json_array_append_new(list, json_string(remedies.items[i]));
	json_strs_done(&remedies);
	json_object_set_new(json, "whatToDo", list);
	list = json_array();
	for (size_t i = 0; i < events->len; i++)
		json_array_append_new(list, api_object_encode(&event_kind, events->items[i]));
	json_object_set_new(json, "events", list);
	out_json(out, json);
}

void why_print(struct cluster *cluster, const struct cluster_device *device, const char *how,
	       const struct device_events *events, int64_t now_wall_ms, struct out *out)
{
	if (out_is_json(out)) {
		print_json(device, how, events, out);
		return;
	}
	add_head(cluster, device, now_wall_ms, out);
	add_conditions(device, now_wall_ms, out);
	add_remedies(device, how, out);
	add_events(events, now_wall_ms, out);
}
