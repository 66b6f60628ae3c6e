#include <stddef.h>
#include <string.h>

#include "api/json_map.h"
#include "api/meta.h"
#include "api/pcidevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/client/pod_facts.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/model/age.h"
#include "cli/model/cluster.h"
#include "cli/model/dra.h"
#include "cli/model/narrow.h"
#include "cli/print/device_json.h"
#include "cli/target.h"
#include "text/table.h"

static const struct table_column columns[] = {
	{ .title = "DEVICE" },
	{ .title = "STATE" },
	{ .title = "CLAIM OF", .least = TABLE_NAME_LEAST },
	{ .title = "SINCE", .spare = 2, .first = true },
	{ .title = "POD", .least = TABLE_NAME_LEAST },
	{ .title = "CONTAINER", .least = TABLE_NAME_LEAST },
	{ .title = "MACHINE", .least = TABLE_NAME_LEAST },
	{ .title = "STARTED", .spare = 1, .first = true },
	{ .title = "NODE", .wide = true },
	{ .title = "ADDRESS", .wide = true },
	{ .title = "RESOURCE", .wide = true },
	{ .title = "RESOURCECLAIM", .wide = true },
};

/* "NAMESPACE/NAME" of the ResourceClaim by which the device is had, for the caller to free; NULL:
 * none is known. */
static char *resource_claim_of(const struct cluster_device *device,
			       const struct pcidevice_allocation *a)
{
	const struct resourceclaim *claim = device->resource_claim;

	if (a)
		return a->resource_claim
			       ? xasprintf("%s/%s", str_or_empty(a->namespace), a->resource_claim)
			       : NULL;
	return claim ? xasprintf("%s/%s", str_or_empty(claim->meta.namespace_), claim->meta.name)
		     : NULL;
}

/* Who has a device that no container has got yet; for the caller to free. NULL: nobody. */
static char *holder_of(const struct cluster_device *device, const char *resource_claim)
{
	if (device->holder[0])
		return xstrdup(device->holder);
	return resource_claim ? xasprintf("ResourceClaim %s", resource_claim) : NULL;
}

/* Add a row for one holder of a device. @a is NULL if it has none. */
static void add_row(struct table *table, const struct cluster_device *device,
		    const struct pcidevice_allocation *a, const struct pod_facts *facts)
{
	auto_free char *resource_claim = resource_claim_of(device, a);
	auto_free char *holder = holder_of(device, resource_claim);
	int64_t now_ms = timefmt_wall_ms();
	auto_free char *pod =
		a ? xasprintf("%s/%s", a->namespace ? a->namespace : "", a->pod ? a->pod : "")
		  : NULL;
	const struct state_look *look = state_look(device->verdict.state);
	char age[AGE_MAX];

	table_add(table, device->name);
	table_add_coloured(table, look->word, look->colour);
	table_add(table, device->claim_hidden ? "(not known)"
			 : !device->claim     ? "-"
			 : device->user[0]    ? device->user
					      : "(no user)");
	table_add(table,
		  age_text(device->claim ? device->claim->creation_timestamp : NULL, now_ms, age));
	table_add(table, pod ? pod : holder ? holder : "-");
	table_add(table, a ? a->container : NULL);
	table_add(table, facts->machine);
	table_add(table, age_text(facts->started, now_ms, age));
	table_add(table, device->node);
	table_add(table, device->address);
	table_add(table, device->resource);
	table_add(table, resource_claim);
}

/* A caller who may not read pods does not see their virtual machines. */
static void find_facts(struct command_run *run, const struct pcidevice_allocation *a,
		       struct pod_facts *facts)
{
	if (a->namespace && a->pod)
		(void)pod_facts_read(run->session, a->namespace, a->pod, facts, NULL);
}

static json_t *holder_json(const struct pcidevice_allocation *a, const struct pod_facts *facts)
{
	json_t *json = json_map_encode(pcidevice_allocation_map, a);

	out_set_text(json, "machine", facts->machine);
	out_set_text(json, "started", facts->started);
	return json;
}

/* With --namespace, only pods of that namespace. */
static bool is_asked_for(const struct command_run *run, const struct pcidevice_allocation *a)
{
	const char *ns = run->settings.ns;

	return !ns || (a->namespace && strcmp(a->namespace, ns) == 0);
}

/* Rows for the pods that may use its ResourceClaim, while no container has got the device. The
 * number of them. */
static size_t add_reserved(struct command_run *run, const struct cluster_device *device,
			   struct table *table)
{
	const struct resourceclaim *claim = device->resource_claim;
	size_t rows = 0;

	for (size_t i = 0; claim && i < claim->status.reserved_for.len; i++) {
		const struct resourceclaim_consumer *consumer =
			&claim->status.reserved_for.items[i];
		const struct pcidevice_allocation pod = { .namespace = claim->meta.namespace_,
							  .pod = consumer->name,
							  .resource_claim = claim->meta.name };
		struct pod_facts facts = { 0 };

		if (strcmp(consumer->resource, "pods") != 0)
			continue;
		find_facts(run, &pod, &facts);
		add_row(table, device, &pod, &facts);
		pod_facts_done(&facts);
		rows++;
	}
	return rows;
}

static void add_device(struct command_run *run, const struct cluster_device *device,
		       struct table *table, json_t *list)
{
	json_t *json = device_json(device);
	json_t *pods = json_array();
	struct pod_facts none = { 0 };
	size_t len = device->allocations ? device->allocations->len : 0;

	for (size_t i = 0; i < len; i++) {
		const struct pcidevice_allocation *a = &device->allocations->items[i];
		struct pod_facts facts = { 0 };

		if (!is_asked_for(run, a))
			continue;
		find_facts(run, a, &facts);
		add_row(table, device, a, &facts);
		json_array_append_new(pods, holder_json(a, &facts));
		pod_facts_done(&facts);
	}
	if (len == 0 && add_reserved(run, device, table) == 0)
		add_row(table, device, NULL, &none);
	if (len > 0)
		json_object_set(json, "pods", pods);
	json_decref(pods);
	json_array_append_new(list, json);
}

static void add_all(struct command_run *run, const struct targets *targets, struct table *table,
		    json_t *list)
{
	const char *ns = run->settings.ns;

	for (size_t i = 0; i < targets->len; i++) {
		const struct cluster_device *device = targets->devices[i];

		if (!ns || narrow_has_pod(device, ns))
			add_device(run, device, table, list);
		else
			command_note("%s: no pod of namespace '%s' has it", device->name, ns);
	}
	if (targets->len > 0)
		return;
	if (ns)
		command_note("No pod of this namespace has a device.");
	else if (targets->missing.forbidden & CLUSTER_CLAIMS)
		command_note(
			"No pod has a device. Whether devices are claimed is not known, because "
			"you may not list their claims.");
	else
		command_note("No device is claimed or in use.");
}

static int find_targets(struct command_run *run, struct targets *ret_targets)
{
	if (run->words_len == 0)
		return targets_had(run, ret_targets);
	if (!run->settings.selector)
		return targets_find(run, CLUSTER_DRA, ret_targets);
	return command_misused(run, "--selector and DEVICE cannot be combined");
}

static int run_who(struct command_run *run)
{
	auto_targets struct targets targets = { 0 };
	json_t *list = json_array();
	auto_json json_t *all = json_pack("{so}", "devices", list);
	struct table table;
	int status = find_targets(run, &targets);

	if (status != COMMAND_OK)
		return status;
	table_init(&table, columns, ARRAY_LEN(columns));
	add_all(run, &targets, &table, list);
	if (run->words_len > 0)
		targets_tell(&targets, CLUSTER_SET(CLUSTER_NODE) | CLUSTER_DRA);
	else
		command_tell_missing(&targets.missing, ~0U);
	if (out_is_json(&run->out))
		out_json(&run->out, all);
	else if (table.len > 0)
		table_print(&table, &run->out, true, &run->out.text);
	table_done(&table);
	return out_flush(&run->out) ? COMMAND_OK : COMMAND_FAILED;
}

static const struct option_row rows[] = {
	COMMAND_SELECTOR_ROW("devices"),
	COMMAND_ALL_ROW,
	COMMAND_OUTPUT_ROW(out_formats_unnamed),
	COMMAND_HEADERS_ROW,
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose prose = {
	.program = "kubectl hostdev who",
	.summary = "shows who has a device",
	.synopsis = "kubectl hostdev who [DEVICE...] [-l SELECTOR] [-n NAMESPACE | -A] [-o FORMAT]",
	.description =
		"Shows for each DEVICE the owner of its claim (spec.userName), how long it has "
		"been claimed (SINCE), and the containers that have it. If you may read pods, it "
		"also shows how long the containers have run (STARTED) and the KubeVirt "
		"VirtualMachine in them (MACHINE). Of a device that is allocated to a "
		"ResourceClaim, but that no container has got yet, it shows the pods that may "
		"use the claim.\n"
		"\n"
		"Without DEVICE, it shows all devices that are claimed or that a pod has. With "
		"--namespace, it shows only devices that pods of that namespace have.",
	.examples = " kubectl hostdev who vm1-000001000\n"
		    " kubectl hostdev who vm1/1-2.3 -o wide\n"
		    " kubectl hostdev who -n team-a",
};

const struct command who_command = {
	.word = "who",
	.summary = "Show who has a device: the owner of its claim, its pod, its virtual machine",
	COMMAND_LINE(prose, rows),
	.words_max = COMMAND_WORDS_MAX,
	.words = "DEVICE",
	.completes = COMPLETE_DEVICES,
	.of_pods = true,
	.run = run_who,
};
