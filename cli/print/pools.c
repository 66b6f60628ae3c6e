#include "cli/print/pools.h"

#include <stdlib.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "api/object.h"
#include "base/array.h"
#include "base/mem.h"
#include "cli/model/cluster.h"
#include "cli/print/out_json.h"
#include "text/table.h"

enum {
	RESOURCE_LEAST = 56,
	RESOURCE_FINAL = 32,
}; /* made from a vendor and a device name, such a one says nothing when it is cut */

/* What add_counts() adds. */
/* clang-format off */
#define COUNT_COLUMNS \
	{ .title = "DEVICES", .spare = 1 }, \
	{ .title = "CLAIMABLE" }, \
	{ .title = "CLAIMED", .spare = 2 }, \
	{ .title = "HEALTHY", .wide = true }, \
	{ .title = "ALLOCATED", .spare = 3 }, \
	{ .title = "AVAILABLE" }
/* clang-format on */

static const struct table_column columns[] = {
	{ .title = "RESOURCE", .least = RESOURCE_LEAST },
	COUNT_COLUMNS,
	{ .title = "NODES", .wide = true },
};

static const struct table_column node_columns[] = {
	{ .title = "RESOURCE", .least = RESOURCE_LEAST, .final = RESOURCE_FINAL },
	{ .title = "NODE", .least = TABLE_NAME_LEAST },
	COUNT_COLUMNS,
	{ .title = "NODE IS", .least = TABLE_NAME_LEAST },
};

static void add_number(struct table *table, int number)
{
	auto_free char *text = xasprintf("%d", number);

	table_add(table, text);
}

struct counts {
	int devices;
	int claimable; /* -1: not known */
	int claimed;
	int healthy;
	int allocated;
	int available;
};

static void add_counts(struct table *table, const struct counts *counts)
{
	add_number(table, counts->devices);
	if (counts->claimable < 0)
		table_add(table, "-");
	else
		add_number(table, counts->claimable);
	add_number(table, counts->claimed);
	add_number(table, counts->healthy);
	add_number(table, counts->allocated);
	add_number(table, counts->available);
}

/* A device that became unhealthy while a pod has it counts only as allocated. */
static int available_of(int healthy, int allocated)
{
	return healthy > allocated ? healthy - allocated : 0;
}

/* The controller counts in the same way, once a node has had a problem for a while. */
static struct counts count_node(const struct cluster *cluster, const struct devicepool_node *node)
{
	bool well = !cluster_node_fault(cluster, node->node_name).reason;
	int healthy = well ? node->healthy : 0;

	return (struct counts){ .devices = node->devices,
				.claimed = node->claimed,
				.healthy = healthy,
				.allocated = node->allocated,
				.available = available_of(healthy, node->allocated) };
}

/* Sum the listed nodes; for the others, use the numbers of the pool. */
static struct counts count_pool(const struct cluster *cluster, const struct devicepool *pool)
{
	const struct devicepool_status *s = &pool->status;
	struct counts sum = { .devices = s->devices,
			      .claimed = s->claimed,
			      .healthy = s->healthy,
			      .allocated = s->allocated };
	int healthy = s->healthy;
	int allocated = s->allocated;

	for (size_t i = 0; i < s->per_node.len; i++) {
		const struct devicepool_node *node = &s->per_node.items[i];
		struct counts counts = count_node(cluster, node);

		sum.healthy -= node->healthy - counts.healthy;
		sum.available += counts.available;
		healthy -= node->healthy;
		allocated -= node->allocated;
	}
	sum.available += available_of(healthy, allocated);
	return sum;
}

static const char *resource_of(const struct devicepool *pool)
{
	return pool->spec.resource_name ? pool->spec.resource_name : "";
}

/* A row: the devices of a resource, or those of them on one node. */
struct row {
	const char *resource;
	const char *node; /* NULL: of all nodes */
	struct counts counts;
	int nodes;
};

struct rows {
	struct row *items;
	size_t len;
	size_t cap;
	const struct pools_look *look;
};

static struct row *add_row(struct rows *rows, const char *resource, const char *node)
{
	struct row *row = array_add(rows);

	*row = (struct row){ .resource = resource, .node = node };
	row->counts.claimable = rows->look->devices ? 0 : -1;
	return row;
}

/* The row of the device's resource, or of that on its node. DevicePools count neither a USB device
 * before it is claimed nor one that the HostDeviceConfig offers, so there may be none yet. NULL:
 * only some pools are shown. */
static struct row *row_of(struct rows *rows, const struct cluster_device *device)
{
	const char *node = rows->look->nodes ? device->node : NULL;

	for (size_t i = 0; i < rows->len; i++) {
		struct row *row = &rows->items[i];

		if (strcmp(row->resource, device->resource) == 0 &&
		    (!node || strcmp(row->node, node) == 0))
			return row;
	}
	return rows->look->selected ? NULL : add_row(rows, device->resource, node);
}

static bool is_on_node_before(const struct cluster_view *view, size_t at)
{
	const struct cluster_device *device = &view->devices[at];

	for (size_t i = at; i-- > 0 && strcmp(view->devices[i].node, device->node) == 0;) {
		if (strcmp(view->devices[i].resource, device->resource) == 0)
			return true;
	}
	return false;
}

/* A USB device that no pool counts: it has no claim. */
static void add_unpooled(struct row *row, const struct cluster_view *view, size_t at)
{
	const struct cluster_device *device = &view->devices[at];
	bool offered = device->verdict.state == STATE_AVAILABLE;
	bool used = device->verdict.state == STATE_USED;

	row->counts.devices++;
	row->counts.healthy += offered || used;
	row->counts.allocated += used;
	row->counts.available += offered;
	row->nodes += !is_on_node_before(view, at);
}

static void add_devices(struct rows *rows, struct cluster *cluster)
{
	const struct cluster_view *view = cluster_view(cluster);

	for (size_t i = 0; i < view->len; i++) {
		const struct cluster_device *device = &view->devices[i];
		bool unpooled = device->type == DEVICE_USB && device->is_there && !device->claim;
		bool claimable = device->verdict.state == STATE_CLAIMABLE;
		struct row *row = device->resource[0] && (unpooled || claimable)
					  ? row_of(rows, device)
					  : NULL;

		if (!row)
			continue;
		row->counts.claimable += claimable;
		if (unpooled)
			add_unpooled(row, view, i);
	}
}

static void add_pool(struct rows *rows, const struct cluster *cluster,
		     const struct devicepool *pool)
{
	struct counts counts = count_pool(cluster, pool);
	struct row *row;

	if (!rows->look->nodes) {
		row = add_row(rows, resource_of(pool), NULL);
		counts.claimable = row->counts.claimable;
		row->counts = counts;
		row->nodes = pool->status.nodes;
		return;
	}
	for (size_t i = 0; i < pool->status.per_node.len; i++) {
		const struct devicepool_node *node = &pool->status.per_node.items[i];

		row = add_row(rows, resource_of(pool), node->node_name);
		counts = count_node(cluster, node);
		counts.claimable = row->counts.claimable;
		row->counts = counts;
	}
}

/* Can nothing of it be claimed, and is nothing claimed, offered or in use? */
static bool is_idle(const struct row *row)
{
	const struct counts *c = &row->counts;

	return c->claimable == 0 && c->claimed == 0 && c->allocated == 0 && c->available == 0;
}

static void print_row(struct table *table, const struct cluster *cluster, const struct row *row,
		      int64_t now_wall_ms)
{
	const struct node_fault fault =
		row->node ? cluster_node_fault(cluster, row->node) : (struct node_fault){ 0 };
	auto_free char *text = fault.reason ? node_fault_text(&fault, now_wall_ms) : NULL;

	table_add(table, row->resource);
	if (row->node)
		table_add(table, row->node);
	add_counts(table, &row->counts);
	if (row->node)
		table_add_coloured(table, text, COLOUR_RED);
	else
		add_number(table, row->nodes);
}

static int by_resource(const void *a, const void *b)
{
	const struct devicepool *const *x = a;
	const struct devicepool *const *y = b;

	return strcmp(resource_of(*x), resource_of(*y));
}

static int by_resource_and_node(const void *a, const void *b)
{
	const struct row *x = a;
	const struct row *y = b;
	int r = strcmp(x->resource, y->resource);

	return r || !x->node ? r : strcmp(x->node, y->node);
}

static size_t print_table(struct cluster *cluster, const void *const *list, size_t len,
			  const struct pools_look *look, struct out *out)
{
	struct rows rows = { .look = look };
	struct table table;
	size_t hidden = 0;

	for (size_t i = 0; i < len; i++)
		add_pool(&rows, cluster, list[i]);
	if (look->devices)
		add_devices(&rows, cluster);
	if (rows.len > 0)
		qsort(rows.items, rows.len, sizeof(*rows.items), by_resource_and_node);
	if (look->nodes)
		table_init(&table, node_columns, ARRAY_LEN(node_columns));
	else
		table_init(&table, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < rows.len; i++) {
		if (is_idle(&rows.items[i]) && !look->all)
			hidden++;
		else
			print_row(&table, cluster, &rows.items[i], look->now_wall_ms);
	}
	if (table.len > 0)
		table_print(&table, out, true, &out->text);
	table_done(&table);
	array_done(&rows);
	return hidden;
}

static void print_json(const void *const *list, size_t len, struct out *out)
{
	json_t *items = json_array();

	for (size_t i = 0; i < len; i++)
		json_array_append_new(items, api_object_encode(&devicepool_kind, list[i]));
	out_json_list(out, items);
}

size_t pools_print(struct cluster *cluster, const struct pools_look *look, struct out *out)
{
	size_t len;
	auto_free const void **list = cluster_objects(cluster, CLUSTER_POOL, &len);

	qsort(list, len, sizeof(*list), by_resource);
	switch (out->format) {
	case OUT_TABLE:
	case OUT_WIDE:
		return print_table(cluster, list, len, look, out);
	case OUT_JSON:
	case OUT_YAML:
		print_json(list, len, out);
		break;
	case OUT_NAME:
		for (size_t i = 0; i < len; i++) {
			out_kind_name(&out->text, &devicepool_kind,
				      ((const struct devicepool *)list[i])->meta.name);
			str_add_char(&out->text, '\n');
		}
		break;
	}
	return 0;
}

void pools_faults(struct cluster *cluster, int64_t now_wall_ms, struct str *to)
{
	const struct cluster_view *view = cluster_view(cluster);
	size_t len = 0;

	for (size_t i = 0; i < view->nodes_len; i++) {
		const struct cluster_node *node = &view->nodes[i];
		auto_free char *fault = NULL;

		if (!node->name[0] || !node->fault.reason || len++ >= POOLS_FAULTS_MAX)
			continue;
		fault = node_fault_text(&node->fault, now_wall_ms);
		str_addf(to, "%s%s (%s)", len > 1 ? ", " : "", node->name, fault);
	}
	if (len > POOLS_FAULTS_MAX)
		str_addf(to, " and %zu more", len - POOLS_FAULTS_MAX);
}
