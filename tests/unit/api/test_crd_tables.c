/* The C tables against crds/, the schema of record: every field of a table is in the schema with
 * that type, and every field of the schema is in the table or in a list of what is not used. */
#include <fcntl.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/hostdeviceconfig.h"
#include "api/json_map.h"
#include "api/kind.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "api/migconfiguration.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include "unit/suite.h"

enum { CRD_MAX = 256 * 1024, DEPTH_MAX = 64 };

static struct crd_case {
	const char *name;
	const struct api_kind *kind;
	const char *unused[8]; /* what no program reads or writes yet */
} cases[] = {
	{ "DevicePool is in the schema as in the table", &devicepool_kind, { NULL } },
	{ "HostDeviceConfig is in the schema as in the table", &hostdeviceconfig_kind, { NULL } },
	{ "MediatedDevice is in the schema as in the table", &mediateddevice_kind, { NULL } },
	{ "MediatedDeviceParent is in the schema as in the table",
	  &mediateddeviceparent_kind,
	  { NULL } },
	{ "PCIDevice is in the schema as in the table", &pcidevice_kind, { "spec: object" } },
	{ "PCIDeviceClaim is in the schema as in the table", &pcideviceclaim_kind, { NULL } },
	{ "SRIOVNetworkDevice is in the schema as in the table",
	  &sriovnetworkdevice_kind,
	  { NULL } },
	{ "MigConfiguration is in the schema as in the table", &migconfiguration_kind, { NULL } },
	{ "SRIOVGPUDevice is in the schema as in the table", &sriovgpudevice_kind, { NULL } },
	{ "VGPUDevice is in the schema as in the table", &vgpudevice_kind, { NULL } },
	{ "USBDevice is in the schema as in the table", &usbdevice_kind, { NULL } },
	{ "USBDeviceClaim is in the schema as in the table", &usbdeviceclaim_kind, { NULL } },
};

/* What one side says: "status.vfAddresses[]: string", and paths that are always written. */
struct fields {
	struct json_strs types;
	struct json_strs written;
};

static void fields_done(struct fields *fields)
{
	json_strs_done(&fields->types);
	json_strs_done(&fields->written);
}

SUITE_CLOSING(fields, struct fields, fields_done);

static void add_type(struct json_strs *list, const char *path, const char *type)
{
	auto_free char *text = xasprintf("%s: %s", path, type);

	json_strs_add(list, text);
}

/* --- the schema: just as much YAML as our files use ------------------------------------------- */

struct level {
	size_t indent;
	char *key;
};

struct schema {
	struct level levels[DEPTH_MAX];
	size_t depth;
	struct fields fields;
};

static void schema_pop(struct schema *schema, size_t indent)
{
	while (schema->depth > 0 && schema->levels[schema->depth - 1].indent >= indent)
		free(schema->levels[--schema->depth].key);
}

/* The path of the field whose schema the levels lead to: "" for the top, NULL when they lead to
 * something else. The caller frees. */
static char *schema_path(const struct schema *schema)
{
	auto_str struct str path = STR_INIT;
	size_t i = 0;

	while (i < schema->depth && strcmp(schema->levels[i].key, "openAPIV3Schema") != 0)
		i++;
	if (i == schema->depth)
		return NULL;
	for (i++; i < schema->depth; i++) {
		const char *key = schema->levels[i].key;

		if (strcmp(key, "items") == 0)
			str_add(&path, "[]");
		else if (strcmp(key, "additionalProperties") == 0)
			str_add(&path, "{}");
		else if (strcmp(key, "properties") == 0 && i + 1 < schema->depth)
			str_addf(&path, "%s%s", path.len ? "." : "", schema->levels[++i].key);
		else
			return NULL;
	}
	return str_detach(&path);
}

/* @value is "[a, b]". */
static void schema_required(struct schema *schema, const char *path, char *value)
{
	char *rest = NULL;

	for (char *name = strtok_r(value, "[, ]", &rest); name;
	     name = strtok_r(NULL, "[, ]", &rest)) {
		auto_free char *field = xasprintf("%s.%s", path, name);

		json_strs_add(&schema->fields.written, field);
	}
}

static void schema_line(struct schema *schema, char *line)
{
	size_t indent = strspn(line, " ");
	char *key = line + indent;
	char *value = strchr(key, ':');
	auto_free char *path = NULL;

	if (!value || key[0] == '-' || key[0] == '#')
		return;
	*value++ = '\0';
	value += strspn(value, " ");

	schema_pop(schema, indent);
	path = schema_path(schema);
	if (path && path[0] && strcmp(key, "type") == 0 && value[0])
		add_type(&schema->fields.types, path, value);
	if (path && strcmp(key, "required") == 0)
		schema_required(schema, path, value);

	assert_true(schema->depth < DEPTH_MAX);
	schema->levels[schema->depth++] = (struct level){ indent, xstrdup(key) };
}

static void schema_load(const struct api_kind *kind, struct fields *ret_fields)
{
	auto_free char *path = xasprintf("crds/%s_%s.yaml", kind->group, kind->plural);
	auto_free char *text = NULL;
	struct schema schema = { 0 };
	struct err err = { 0 };
	char *rest = NULL;

	if (file_read(AT_FDCWD, path, CRD_MAX, &text, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		schema_line(&schema, line);
	schema_pop(&schema, 0);
	*ret_fields = schema.fields;
}

/* --- the table -------------------------------------------------------------------------------- */

static const char *const type_names[] = {
	[JSON_ROW_STR] = "string",    [JSON_ROW_BOOL] = "boolean", [JSON_ROW_INT] = "integer",
	[JSON_ROW_INT64] = "integer", [JSON_ROW_STRS] = "array",   [JSON_ROW_PAIRS] = "object",
	[JSON_ROW_STRUCT] = "object", [JSON_ROW_LIST] = "array",
};

static void table_add(const struct json_row *map, const char *path, struct fields *fields)
{
	for (const struct json_row *row = map; row->type != JSON_ROW_END; row++) {
		auto_free char *own = xasprintf("%s%s%s", path, path[0] ? "." : "", row->key);
		auto_free char *items = xasprintf("%s[]", own);
		auto_free char *values = xasprintf("%s{}", own);

		if (strcmp(own, "metadata") == 0) /* the API server's own */
			continue;
		add_type(&fields->types, own, type_names[row->type]);
		if (row->need != JSON_OPTIONAL)
			json_strs_add(&fields->written, own);
		if (row->type == JSON_ROW_STRUCT)
			table_add(row->map, own, fields);
		if (row->type == JSON_ROW_STRS)
			add_type(&fields->types, items, "string");
		if (row->type == JSON_ROW_PAIRS)
			add_type(&fields->types, values, "string");
		if (row->type == JSON_ROW_LIST) {
			add_type(&fields->types, items, "object");
			table_add(row->map, items, fields);
		}
	}
}

/* --- the comparison --------------------------------------------------------------------------- */

/* Appends a line for each text of @some that @all lacks. */
static void add_missing(struct str *problems, const struct json_strs *some,
			const struct json_strs *all, const char *what)
{
	for (size_t i = 0; i < some->len; i++)
		if (!json_strs_has(all, some->items[i]))
			str_addf(problems, "\n%s: %s", what, some->items[i]);
}

static void table_equals_schema(void **state)
{
	const struct crd_case *c = suite_row(state);
	auto_str struct str problems = STR_INIT;
	struct fields schema = { 0 };
	struct fields *table = *state;

	schema_load(c->kind, &schema);
	table_add(c->kind->map, "", table);
	assert_true(schema.types.len > 3);

	add_missing(&problems, &table->types, &schema.types, "not in the schema");
	for (size_t i = 0; i < ARRAY_LEN(c->unused) && c->unused[i]; i++)
		if (!json_strs_remove(&schema.types, c->unused[i]) ||
		    json_strs_has(&table->types, c->unused[i]))
			str_addf(&problems, "\nnot unused: %s", c->unused[i]);
	add_missing(&problems, &schema.types, &table->types, "not in the table");
	add_missing(&problems, &schema.written, &table->written,
		    "required, but not always written");
	if (problems.len)
		fail_msg("%s%s", c->kind->kind, str_cstr(&problems));

	fields_done(&schema);
}

/* The reader of YAML above could be blind; this is what it must see. */
static void schema_is_read_whole(void **state)
{
	static const char *const seen[] = {
		"spec: object",
		"status.address: string",
		"status.iommuGroupMembers: array",
		"status.iommuGroupMembers[]: string",
		"status.conditions[]: object",
		"status.conditions[].type: string",
		"status.conditions[].message: string",
	};
	struct fields *schema = *state;

	schema_load(&pcidevice_kind, schema);
	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		assert_true(json_strs_has(&schema->types, seen[i]));
	assert_true(json_strs_has(&schema->written, "status.conditions[].lastTransitionTime"));
	assert_int_equal(schema->written.len, 5);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &fields_fixture);
	suite_rows(&suite, cases, table_equals_schema);
	suite_add(&suite, "the schema is read whole", schema_is_read_whole, NULL);
	return suite_run(&suite, "crd_tables");
}
