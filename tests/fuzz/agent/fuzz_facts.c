/*
 * fuzz_facts: any bytes as the lines of a helper, of devices and of names alike. What comes of them
 * is an inventory that the API server takes, and that prints in every format.
 */
#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/id_names.h"
#include "agent/inventory/inventory.h"
#include "agent/print.h"
#include "api/json_map.h"
#include "api/object.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "base/utf8.h"
#include "kube/yaml.h"
#include "tests/unit/schema.h"
#include "text/out.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *schemas[INVENTORY_KINDS];

/* NOLINTNEXTLINE(readability-non-const-parameter): libFuzzer's signature */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log_set_level(LOG_ERROR);
	schemas[INVENTORY_PCI] = schema_load("devices.harvesterhci.io_pcidevices.yaml");
	schemas[INVENTORY_USB] = schema_load("devices.harvesterhci.io_usbdevices.yaml");
	schemas[INVENTORY_MDEV] = schema_load("hostdev.io_mediateddevices.yaml");
	schemas[INVENTORY_MDEV_PARENT] = schema_load("hostdev.io_mediateddeviceparents.yaml");
	return 0;
}

static void add_line(struct facts *facts, struct id_names *names, const char *line, size_t len)
{
	struct err err = { 0 };

	if (facts_add_line(facts, line, len, &err) < 0)
		assert(err.kind == ERR_INVALID && err.msg[0]);
	if (id_names_add_line(names, line, len, &err) < 0)
		assert(err.kind == ERR_INVALID && err.msg[0]);
}

static void check_ids(const struct id_names *names, const struct facts *facts)
{
	struct json_strs ids = { 0 };

	id_names_missing(names, facts, &ids);
	for (size_t i = 0; i < ids.len; i++)
		assert(strlen(ids.items[i]) <= strlen("pci:8086:10d3"));
	json_strs_done(&ids);
}

static void check_records(const struct facts *facts)
{
	assert(facts->pci.len + facts->usb.len + facts->uses.len + facts->problems.len +
		       facts->records.len + facts->mdevs.len + facts->mdev_parents.len +
		       facts->mdev_records.len <=
	       FACTS_MAX);
	for (size_t i = 0; i < facts->records.len; i++)
		assert(facts->records.items[i].address && *facts->records.items[i].address);
}

static void check_objects(const struct inventory *inventory)
{
	for (int kind = 0; kind < INVENTORY_KINDS; kind++) {
		const struct inventory_set *set = &inventory->sets[kind];

		for (size_t i = 0; i < set->len; i++) {
			auto_json json_t *json = api_object_encode(set->kind, set->objects[i]);
			auto_str struct str problem = STR_INIT;

			if (schema_takes(schemas[kind], json, "", &problem))
				continue;
			(void)fprintf(stderr, "%s\n", problem.buf);
			abort();
		}
	}
}

/* Nothing that a terminal would obey. */
static void check_text(const struct str *text)
{
	assert(utf8_valid(text->buf, text->len));
	for (size_t i = 0; i < text->len; i++) {
		unsigned char c = (unsigned char)text->buf[i];

		assert(c == '\n' || (c >= ' ' && c != 0x7f));
	}
}

static void check_list(enum out_format format, const struct str *text, size_t items)
{
	auto_json json_t *list = NULL;
	int r = format == OUT_JSON ? json_map_load(text->buf, text->len, &list, NULL)
				   : yaml_parse("out", text->buf, text->len, &list, NULL);

	if (format == OUT_YAML && text->len > YAML_TEXT_MAX)
		return;
	assert(r == 0);
	assert(json_array_size(json_object_get(list, "items")) == items);
}

static void check_prints(const struct inventory *inventory)
{
	size_t items = 0;

	for (int kind = 0; kind < INVENTORY_KINDS; kind++)
		items += inventory->sets[kind].len;
	for (int format = OUT_TABLE; format <= OUT_YAML; format++) {
		struct out out = { .format = (enum out_format)format };

		print_inventory(&out, inventory);
		check_text(&out.text);
		if (format == OUT_YAML || format == OUT_JSON)
			check_list(out.format, &out.text, items);
		str_done(&out.text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inventory_options options = { .node_name = "node1",
					     .show_bridges = true,
					     .show_hubs = true };
	struct facts *facts = facts_new();
	struct id_names *names = id_names_new();
	struct inventory *inventory;
	const char *at = (const char *)data;
	const char *end = at + size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		add_line(facts, names, at, (size_t)(stop - at));
		at = newline ? newline + 1 : end;
	}
	check_ids(names, facts);
	check_records(facts);
	inventory = inventory_new(&options, facts, names, 0);
	check_objects(inventory);
	check_prints(inventory);
	inventory_free(inventory);
	id_names_free(names);
	return 0;
}
