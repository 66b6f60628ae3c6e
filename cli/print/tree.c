#include "cli/print/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/mediateddevice.h"
#include "api/pcidevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/address.h"
#include "cli/model/cluster.h"
#include "cli/model/dra.h"
#include "cli/model/dra_request.h"
#include "cli/model/part.h"
#include "cli/print/device_json.h"
#include "cli/print/out_json.h"
#include "text/table.h"

enum { TREE_BRIDGES_MAX = 32 }; /* of one function; further ones are not shown */

struct tree_roots {
	const struct cluster_device **items; /* borrowed, in the order in which they are printed */
	size_t len;
};

/* The bridges above a function, from the root bus down, up to the number that is shown;
 * borrowed. Returns their number. */
static size_t tree_bridges(const struct cluster_device *device, char *const **ret_bridges)
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;

	*ret_bridges = pci ? pci->status.bridges.items : NULL;
	if (!pci)
		return 0;
	return pci->status.bridges.len < TREE_BRIDGES_MAX ? pci->status.bridges.len
							  : TREE_BRIDGES_MAX;
}

/* Step @at of the path from the root bus to @device: a bridge, finally the device, then NULL. */
static const char *step_of(const struct cluster_device *device, size_t at)
{
	char *const *bridges;
	size_t len = tree_bridges(device, &bridges);

	if (at < len)
		return bridges[at];
	return at == len ? device->address : NULL;
}

/* The parent of a mediated device, such as "mtty", which need not be a listed device; "" of other
 * devices. */
static const char *mdev_parent(const struct cluster_device *device)
{
	const struct mediateddevice *mdev = device->type == DEVICE_MDEV ? device->object : NULL;

	return mdev ? str_or_empty(mdev->status.parent) : "";
}

/* By type, then mediated devices by parent, then in the order of the list. */
static int compare_others(const struct cluster_device *x, const struct cluster_device *y)
{
	int order = (x->type > y->type) - (x->type < y->type);

	if (order == 0)
		order = strcmp(mdev_parent(x), mdev_parent(y));
	return order ? order : (x > y) - (x < y);
}

/* The order of lspci: functions behind a bridge are sorted by the bridge's address. */
static int compare_ways(const void *a, const void *b)
{
	const struct cluster_device *x = *(const struct cluster_device *const *)a;
	const struct cluster_device *y = *(const struct cluster_device *const *)b;

	if (x->type != DEVICE_PCI || y->type != DEVICE_PCI)
		return compare_others(x, y);
	for (size_t i = 0;; i++) {
		const char *step = step_of(x, i);
		const char *other = step_of(y, i);
		int order = step && other ? strcmp(step, other) : 0;

		if (!step || !other)
			return step ? 1 : other ? -1 : (x > y) - (x < y);
		if (order)
			return order;
	}
}

/* The heading above a device without a parent: its root bus, or its type. The caller frees it. */
static char *tree_branch(const struct cluster_device *device)
{
	const char *first = step_of(device, 0);
	size_t bus = address_bus_len(first);

	switch (device->type) {
	case DEVICE_PCI:
		return bus > 0 ? xstrndup(first, bus) : xstrdup("PCI, address not known");
	case DEVICE_USB:
		return xstrdup("USB, controller not listed");
	case DEVICE_MDEV:
		break;
	}
	return mdev_parent(device)[0] ? xasprintf("mdev parent %s", mdev_parent(device))
				      : xstrdup("mdev, parent not known");
}

/* The devices of @node without a parent; tree_roots_done() frees the list. */
static void tree_roots_find(struct tree_roots *roots, const struct cluster_node *node)
{
	*roots = (struct tree_roots){ .items = xcalloc(node->len + 1,
						       sizeof(struct cluster_device *)) };
	for (size_t i = 0; i < node->len; i++) {
		if (!node->devices[i].parent)
			roots->items[roots->len++] = &node->devices[i];
	}
	if (roots->len > 0)
		qsort(roots->items, roots->len, sizeof(struct cluster_device *), compare_ways);
}

/* The first one after those with the same heading as the one @at. */
static size_t tree_next_branch(const struct tree_roots *roots, size_t at)
{
	auto_free char *branch = tree_branch(roots->items[at]);
	size_t next = at + 1;
	bool same = true;

	while (same && next < roots->len) {
		auto_free char *other = tree_branch(roots->items[next]);

		same = strcmp(branch, other) == 0;
		next += same;
	}
	return next;
}

/* The first one before @end that is neither step @level of the path of the one @at, nor behind
 * it. */
static size_t tree_next_way(const struct tree_roots *roots, size_t at, size_t end, size_t level)
{
	const char *bridge = step_of(roots->items[at], level);
	char *const *bridges;
	size_t next = at + 1;

	while (next < end && tree_bridges(roots->items[next], &bridges) > level &&
	       strcmp(bridges[level], bridge) == 0)
		next++;
	return next;
}

static void tree_roots_done(struct tree_roots *roots)
{
	free(roots->items);
	*roots = (struct tree_roots){ 0 };
}

enum { COLUMNS = 8, LEVELS_MAX = CLUSTER_DEPTH_MAX + TREE_BRIDGES_MAX + 4 };

enum { NAME_LEAST = 12 }; /* more of a pod's name than its namespace */

static const struct table_column columns[COLUMNS] = {
	{ .title = "DEVICE",
	  .least = 26,
	  .final = 22 }, /* cuts only UUIDs, and deep addresses last */
	{ .title = "STATE" },
	{ .title = "GROUP", .spare = 1 },
	{ .title = "DRIVER", .spare = 2 },
	{ .title = "CLAIM OF", .least = NAME_LEAST, .final = TABLE_NAME_LEAST },
	{ .title = "POD", .least = NAME_LEAST, .final = TABLE_NAME_LEAST },
	{ .title = "RESOURCE", .wide = true },
	{ .title = "DESCRIPTION",
	  .least = 24,
	  .final = 16,
	  .headed = true,
	  .spare = 3,
	  .kept = true },
};

/* The lines to the left of an entry, from the outermost: does each of these levels continue
 * below? */
struct tree_place {
	bool goes_on[LEVELS_MAX];
	size_t depth;
};

static void add_art(struct str *to, const struct out *out, const struct tree_place *place)
{
	for (size_t i = 0; i < place->depth; i++) {
		bool last = i + 1 == place->depth;

		if (last && out->utf8)
			str_add(to, place->goes_on[i] ? "├─" : "└─");
		else if (last)
			str_add(to, place->goes_on[i] ? "+-" : "`-");
		else if (!place->goes_on[i])
			str_add(to, "  ");
		else
			str_add(to, out->utf8 ? "│ " : "| ");
	}
}

/* Add a line that is no device, such as a bus or a bridge: only its name. */
static void add_heading(struct table *table, const struct out *out, const struct tree_place *place,
			const char *name)
{
	auto_str struct str label = STR_INIT;

	add_art(&label, out, place);
	str_add(&label, name);
	table_add(table, str_cstr(&label));
	for (int i = 1; i < COLUMNS; i++)
		table_add(table, "");
}

/* The state of a node with a problem: "? NotReady for 60m: KubeletNotReady", and its message. */
static void add_node_heading(struct table *table, const struct cluster_node *node,
			     int64_t now_wall_ms)
{
	const struct state_look *look = state_look(STATE_UNKNOWN);
	auto_free char *fault =
		node->fault.reason ? node_fault_text(&node->fault, now_wall_ms) : NULL;
	auto_free char *state = fault ? xasprintf("%c %s", look->sign, fault) : NULL;

	table_add(table, node->name[0] ? node->name : "(node not known)");
	table_add_coloured(table, state, look->colour);
	for (int i = 2; i < COLUMNS - 1; i++)
		table_add(table, "");
	table_add(table, node->fault.message);
}

/* "o claimable", "+ available", "- refused: HostNetwork". */
static void add_state(struct table *table, const struct state_verdict *verdict)
{
	const struct state_look *look = state_look(verdict->state);
	/* A device of a group that is claimed as a whole shows that. */
	bool silent =
		(verdict->state == STATE_CLAIMABLE && strcmp(verdict->reason, "GroupShared") != 0 &&
		 strcmp(verdict->reason, "GroupClaimed") != 0) ||
		verdict->state == STATE_AVAILABLE || verdict->state == STATE_USED ||
		verdict->state == STATE_STUCK;
	auto_free char *text =
		silent ? xasprintf("%c %s", look->sign, look->word)
		       : xasprintf("%c %s: %s", look->sign, look->word, verdict->reason);

	table_add_coloured(table, text, look->colour);
}

/* The owner of the claim, or that it has none. */
static const char *claim_text(const struct cluster_device *device)
{
	if (!device->claim)
		return "";
	return device->user[0] ? device->user : "(no user)";
}

/* "12", or "12 (+2 more)" for a group of three functions. Bridges above them are not claimed, and
 * not counted. */
static void add_group(struct table *table, const struct cluster_device *device)
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;
	auto_free char *text = NULL;
	size_t others = 0;

	for (size_t i = 0; pci && i < pci->status.iommu_group_members.len; i++) {
		const char *address = pci->status.iommu_group_members.items[i];

		others += strcmp(address, device->address) != 0 &&
			  !cluster_device_behind(device, address);
	}
	if (others > 0)
		text = xasprintf("%s (+%zu more)", device->group, others);
	table_add(table, text ? text : device->group);
}

static void add_device(struct table *table, const struct out *out, const struct tree_place *place,
		       const struct cluster_device *device, const char *label)
{
	auto_str struct str text = STR_INIT;
	auto_free char *holder = device_pods(device);

	add_art(&text, out, place);
	str_add(&text, label);
	table_add(table, str_cstr(&text));
	add_state(table, &device->verdict);
	add_group(table, device);
	table_add(table, device->driver);
	table_add(table, claim_text(device));
	table_add(table, holder);
	table_add(table, device->resource);
	table_add(table, device->description);
}

/* --- a node ----------------------------------------------------------------------------------- */

static char *label_of(const struct cluster_device *device)
{
	if (!device->address[0])
		return xstrdup(device->name);
	if (device->type == DEVICE_PCI)
		return xstrdup(device->address);
	return xasprintf("%s %s", device_type_word(device->type), device->address);
}

static void add_branch(struct table *table, const struct out *out, struct tree_place *place,
		       const struct cluster_device *device);

static void add_part(struct table *table, const struct out *out, const struct tree_place *place,
		     const struct part *part)
{
	auto_str struct str label = STR_INIT;

	add_art(&label, out, place);
	str_add(&label, part->what);
	table_add(table, str_cstr(&label));
	add_state(table, &part->verdict);
	for (int i = 2; i < COLUMNS - 1; i++)
		table_add(table, "");
	table_add(table, part->text);
}

/* The ResourceClaim that has the device before a container has it; NULL: there is none. */
static const struct resourceclaim *unprepared_claim(const struct cluster_device *device)
{
	const struct resourceclaim *claim = device->resource_claim;

	return claim && !dra_is_prepared(device, claim) ? claim : NULL;
}

/* "ResourceClaim default/nic   ~ pending: NotPrepared   default/pod   why" */
static void add_claim(struct table *table, const struct out *out, const struct tree_place *place,
		      const struct cluster_device *device, const struct resourceclaim *claim)
{
	struct state_verdict verdict = dra_judge(device, claim);
	auto_free char *pods = dra_pod_names(claim);
	auto_str struct str label = STR_INIT;

	add_art(&label, out, place);
	str_addf(&label, "ResourceClaim %s/%s", str_or_empty(claim->meta.namespace_),
		 claim->meta.name);
	table_add(table, str_cstr(&label));
	add_state(table, &verdict);
	for (int i = 2; i < COLUMNS - 3; i++)
		table_add(table, "");
	table_add(table, pods);
	table_add(table, "");
	table_add(table, verdict.message);
}

/* Add the devices below @device, its parts, and the ResourceClaim that waits for it. */
static void add_children(struct table *table, const struct out *out, struct tree_place *place,
			 const struct cluster_device *device)
{
	const struct resourceclaim *claim = unprepared_claim(device);
	struct part parts[PARTS_MAX];
	size_t len = parts_of(device, parts);

	place->depth++;
	if (claim) {
		place->goes_on[place->depth - 1] = device->first_child != NULL || len > 0;
		add_claim(table, out, place, device, claim);
	}
	for (const struct cluster_device *d = device->first_child; d; d = d->next) {
		place->goes_on[place->depth - 1] = d->next != NULL || len > 0;
		add_branch(table, out, place, d);
	}
	for (size_t i = 0; i < len; i++) {
		place->goes_on[place->depth - 1] = i + 1 < len;
		add_part(table, out, place, &parts[i]);
		part_done(&parts[i]);
	}
	place->depth--;
}

/* Add a device and those below it. The cluster limits the depth. */
static void add_branch(struct table *table, const struct out *out, struct tree_place *place,
		       const struct cluster_device *device)
{
	auto_free char *label = label_of(device);

	add_device(table, out, place, device, label);
	add_children(table, out, place, device);
}

struct drawing {
	struct table *table;
	const struct out *out;
	struct tree_place place;
	struct tree_roots roots;
};

/* Add the devices from @begin to @end, whose paths begin with the same @level steps. A bridge is
 * shown as a device if bridges are listed (the agent's --show-bridges). */
static void add_ways(struct drawing *d, size_t begin, size_t end, size_t level)
{
	char *const *bridges;
	size_t next;

	d->place.depth++;
	for (size_t at = begin; at < end; at = next) {
		bool behind = level < tree_bridges(d->roots.items[at], &bridges);

		next = tree_next_way(&d->roots, at, end, level);
		d->place.goes_on[d->place.depth - 1] = next < end;
		if (behind)
			add_heading(d->table, d->out, &d->place, bridges[level]);
		else
			add_branch(d->table, d->out, &d->place, d->roots.items[at++]);
		if (at < next)
			add_ways(d, at, next, level + 1);
	}
	d->place.depth--;
}

static void add_node(struct table *table, const struct out *out, const struct cluster_node *node)
{
	struct drawing d = { .table = table, .out = out, .place = { .depth = 1 } };
	size_t next;

	tree_roots_find(&d.roots, node);
	for (size_t at = 0; at < d.roots.len; at = next) {
		auto_free char *branch = tree_branch(d.roots.items[at]);

		next = tree_next_branch(&d.roots, at);
		d.place.goes_on[0] = next < d.roots.len;
		add_heading(table, out, &d.place, branch);
		add_ways(&d, at, next, 0);
	}
	tree_roots_done(&d.roots);
}

/* --- in other formats ------------------------------------------------------------------------- */

static void add_parts_json(json_t *json, const struct cluster_device *device)
{
	struct part parts[PARTS_MAX];
	size_t len = parts_of(device, parts);
	json_t *list = json_array();

	for (size_t i = 0; i < len; i++) {
		json_array_append_new(list, part_json(&parts[i]));
		part_done(&parts[i]);
	}
	if (len > 0)
		json_object_set(json, "parts", list);
	json_decref(list);
}

static json_t *branch_json(const struct cluster_device *device)
{
	json_t *json = device_json(device);
	json_t *children = json_array();

	for (const struct cluster_device *d = device->first_child; d; d = d->next)
		json_array_append_new(children, branch_json(d));
	if (json_array_size(children) > 0)
		json_object_set(json, "children", children);
	json_decref(children);
	add_parts_json(json, device);
	return json;
}

static json_t *node_json(const struct cluster_node *node)
{
	json_t *devices = json_array();
	json_t *json;

	for (size_t i = 0; i < node->len; i++) {
		if (!node->devices[i].parent)
			json_array_append_new(devices, branch_json(&node->devices[i]));
	}
	json = json_pack("{ss,so}", "name", node->name, "devices", devices);
	if (node->fault.reason)
		json_object_set_new(json, "fault", node_fault_json(&node->fault));
	return json;
}

static bool is_wanted(const struct cluster_node *node, const char *name)
{
	return !name || strcmp(node->name, name) == 0;
}

static json_t *waiting_json(const struct dra_waiting *waiting)
{
	json_t *json = json_object();

	out_set_text(json, "namespace", waiting->ns);
	out_set_text(json, "name", waiting->name);
	out_set_text(json, "pod", waiting->pod);
	out_set_text(json, "message", waiting->message);
	return json;
}

static void print_json(const struct cluster_view *view, const struct dra_waitings *waitings,
		       const char *name, struct out *out)
{
	json_t *nodes = json_array();
	json_t *waiting = json_array();
	auto_json json_t *all = json_pack("{so}", "nodes", nodes);

	for (size_t i = 0; waitings && i < waitings->len; i++)
		json_array_append_new(waiting, waiting_json(&waitings->items[i]));
	if (json_array_size(waiting) > 0)
		json_object_set(all, "waitingResourceClaims", waiting);
	json_decref(waiting);
	for (size_t i = 0; i < view->nodes_len; i++) {
		if (is_wanted(&view->nodes[i], name))
			json_array_append_new(nodes, node_json(&view->nodes[i]));
	}
	out_json(out, all);
}

static void print_table(const struct cluster_view *view, const char *name, int64_t now_wall_ms,
			struct out *out)
{
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < view->nodes_len; i++) {
		if (!is_wanted(&view->nodes[i], name))
			continue;
		add_node_heading(&table, &view->nodes[i], now_wall_ms);
		add_node(&table, out, &view->nodes[i]);
	}
	if (table.len > 0)
		table_print(&table, out, true, &out->text);
	table_done(&table);
}

static const struct table_column waiting_columns[] = {
	{ .title = "RESOURCECLAIM", .least = TABLE_NAME_LEAST },
	{ .title = "STATE" },
	{ .title = "POD", .least = TABLE_NAME_LEAST },
	{ .title = "WAITS FOR", .least = 24 },
};

static void print_waitings(const struct dra_waitings *waitings, struct out *out)
{
	const struct state_look *look = state_look(STATE_PENDING);
	auto_free char *state = xasprintf("%c %s", look->sign, look->word);
	struct table table;

	table_init(&table, waiting_columns, ARRAY_LEN(waiting_columns));
	for (size_t i = 0; i < waitings->len; i++) {
		auto_free char *name =
			xasprintf("%s/%s", waitings->items[i].ns, waitings->items[i].name);

		table_add(&table, name);
		table_add_coloured(&table, state, look->colour);
		table_add(&table, waitings->items[i].pod);
		table_add(&table, waitings->items[i].message);
	}
	if (table.len > 0) {
		str_add(&out->text, out->text.len > 0 ? "\n" : "");
		table_print(&table, out, true, &out->text);
	}
	table_done(&table);
}

static void print_names(const struct cluster_view *view, const char *name, struct out *out)
{
	for (size_t i = 0; i < view->len; i++) {
		if (name && strcmp(view->devices[i].node, name) != 0)
			continue;
		device_add_name(&out->text, &view->devices[i]);
		str_add_char(&out->text, '\n');
	}
}

void tree_print(const struct cluster_view *view, const struct dra_waitings *waitings,
		const char *node, int64_t now_wall_ms, struct out *out)
{
	switch (out->format) {
	case OUT_TABLE:
	case OUT_WIDE:
		print_table(view, node, now_wall_ms, out);
		if (waitings)
			print_waitings(waitings, out);
		return;
	case OUT_JSON:
	case OUT_YAML:
		print_json(view, waitings, node, out);
		return;
	case OUT_NAME:
		print_names(view, node, out);
		return;
	}
}
