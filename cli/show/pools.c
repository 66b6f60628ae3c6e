#include "cli/show/pools.h"

#include <stdlib.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "api/object.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/model/cluster.h"
#include "cli/show/out.h"
#include "cli/show/table.h"

enum {
	RESOURCE_LEAST = 56
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
	{ .title = "RESOURCE", .least = RESOURCE_LEAST },
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

/* The number of claimable devices by resource, and by resource and node. */
struct claimables {
	const struct pools_look *look;
	struct map *counts; /* "RESOURCE" and "RESOURCE NODE" -> int * */
};

static void count_one(struct claimables *claimables, const char *key)
{
	int *count = map_get(claimables->counts, key);

	if (!count) {
		count = xcalloc(1, sizeof(*count));
		map_set(claimables->counts, key, count);
	}
	(*count)++;
}

static void claimables_init(struct claimables *claimables, const struct pools_look *look,
			    struct cluster *cluster)
{
	const struct cluster_view *view = look->devices ? cluster_view(cluster) : NULL;

	*claimables = (struct claimables){ look, map_new() };
	for (size_t i = 0; view && i < view->len; i++) {
		const struct cluster_device *device = &view->devices[i];
		auto_free char *key = xasprintf("%s %s", device->resource, device->node);

		if (device->verdict.state != STATE_CLAIMABLE || !device->resource[0])
			continue;
		count_one(claimables, device->resource);
		count_one(claimables, key);
	}
}

static void claimables_done(struct claimables *claimables)
{
	size_t cursor = 0;
	void *count;

	while (map_next(claimables->counts, &cursor, NULL, &count))
		free(count);
	map_free(claimables->counts);
}

/* @node NULL: of all nodes. */
static int claimables_of(const struct claimables *claimables, const char *resource,
			 const char *node)
{
	auto_free char *key = xasprintf("%s%s%s", resource, node ? " " : "", node ? node : "");
	const int *count = map_get(claimables->counts, key);

	if (!claimables->look->devices)
		return -1;
	return count ? *count : 0;
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

static void add_pool(struct table *table, const struct cluster *cluster,
		     const struct devicepool *pool, const struct claimables *claimables)
{
	struct counts counts = count_pool(cluster, pool);

	counts.claimable = claimables_of(claimables, resource_of(pool), NULL);
	table_add(table, pool->spec.resource_name);
	add_counts(table, &counts);
	add_number(table, pool->status.nodes);
}

static void add_nodes(struct table *table, const struct cluster *cluster,
		      const struct devicepool *pool, const struct claimables *claimables)
{
	for (size_t i = 0; i < pool->status.per_node.len; i++) {
		const struct devicepool_node *node = &pool->status.per_node.items[i];
		const struct node_fault fault = cluster_node_fault(cluster, node->node_name);
		struct counts counts = count_node(cluster, node);
		auto_free char *text =
			fault.reason ? node_fault_text(&fault, claimables->look->now_wall_ms)
				     : NULL;

		counts.claimable = claimables_of(claimables, resource_of(pool), node->node_name);

		table_add(table, pool->spec.resource_name);
		table_add(table, node->node_name);
		add_counts(table, &counts);
		table_add_coloured(table, text, COLOUR_RED);
	}
}

static int by_resource(const void *a, const void *b)
{
	const struct devicepool *const *x = a;
	const struct devicepool *const *y = b;

	return strcmp(resource_of(*x), resource_of(*y));
}

static void print_table(struct cluster *cluster, const void *const *list, size_t len,
			const struct pools_look *look, struct out *out)
{
	struct claimables claimables;
	struct table table;

	claimables_init(&claimables, look, cluster);
	if (look->nodes)
		table_init(&table, node_columns, ARRAY_LEN(node_columns));
	else
		table_init(&table, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < len; i++) {
		if (look->nodes)
			add_nodes(&table, cluster, list[i], &claimables);
		else
			add_pool(&table, cluster, list[i], &claimables);
	}
	if (table.len > 0)
		table_print(&table, out, true, &out->text);
	table_done(&table);
	claimables_done(&claimables);
}

static void print_json(const void *const *list, size_t len, struct out *out)
{
	json_t *items = json_array();

	for (size_t i = 0; i < len; i++)
		json_array_append_new(items, api_object_encode(&devicepool_kind, list[i]));
	out_json_list(out, items);
}

void pools_print(struct cluster *cluster, const struct pools_look *look, struct out *out)
{
	size_t len;
	auto_free const void **list = cluster_objects(cluster, CLUSTER_POOL, &len);

	qsort(list, len, sizeof(*list), by_resource);
	switch (out->format) {
	case OUT_TABLE:
	case OUT_WIDE:
		print_table(cluster, list, len, look, out);
		return;
	case OUT_JSON:
	case OUT_YAML:
		print_json(list, len, out);
		return;
	case OUT_NAME:
		for (size_t i = 0; i < len; i++) {
			out_kind_name(&out->text, &devicepool_kind,
				      ((const struct devicepool *)list[i])->meta.name);
			str_add_char(&out->text, '\n');
		}
		return;
	}
}
