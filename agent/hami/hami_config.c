#include "agent/hami/hami_config.h"

#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nvidia/nvidia_devices.h"
#include "api/json_map.h"
#include "api/names.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/yaml.h"

enum {
	MIB_MAX = 1 << 30,
	LOG_LEVEL_MAX = 9,
};

void hami_config_init(struct hami_config *config)
{
	*config = (struct hami_config){ .resource = xstrdup(NVIDIA_RESOURCE),
					.split = HAMI_SPLIT,
					.memory = HAMI_WHOLE,
					.cores = HAMI_WHOLE };
}

void hami_config_done(struct hami_config *config)
{
	free(config->resource);
	free(config->log_level);
	json_strs_done(&config->filtered);
	*config = (struct hami_config){ 0 };
}

static void copy(struct hami_config *to, const struct hami_config *from)
{
	*to = *from;
	to->resource = xstrdup(from->resource);
	to->log_level = xstrdup_or_null(from->log_level);
	to->filtered = (struct json_strs){ 0 };
	for (size_t i = 0; i < from->filtered.len; i++)
		json_strs_add(&to->filtered, from->filtered.items[i]);
}

/* --- fields ----------------------------------------------------------------------------------- */

static int wrong(const char *key, const char *expected, struct err *err)
{
	return err_set(err, ERR_INVALID, -EINVAL, "%s: expected %s", key, expected);
}

/* The member of @object; NULL if it is missing or null. */
static json_t *member(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_null(value) ? NULL : value;
}

/* Each of these sets the field @to from @value. False: @value makes no sense. */

static bool take_count(const json_t *value, void *to)
{
	json_int_t count = json_integer_value(value);

	if (!json_is_integer(value) || count < 1 || count > HAMI_SPLIT_MAX)
		return false;
	*(unsigned *)to = (unsigned)count;
	return true;
}

/* Files have factors such as 1.8. */
static bool take_scaling(const json_t *value, void *to)
{
	double thousandths = json_number_value(value) * HAMI_WHOLE;

	if (!json_is_number(value) || !(thousandths >= 1 && thousandths <= HAMI_SCALING_MAX))
		return false;
	*(unsigned *)to = (unsigned)(thousandths + 0.5);
	return true;
}

static bool take_memory(const json_t *value, void *to)
{
	json_int_t mib = json_integer_value(value);

	if (!json_is_integer(value) || mib < 0 || mib > MIB_MAX)
		return false;
	*(uint64_t *)to = (uint64_t)mib;
	return true;
}

static bool take_bool(const json_t *value, void *to)
{
	if (!json_is_boolean(value))
		return false;
	*(bool *)to = json_is_true(value);
	return true;
}

static void set_text(void *to, const char *text)
{
	char **field = to;

	free(*field);
	*field = xstrdup(text);
}

/* A number, or a string that is one; an empty string sets nothing. */
static bool take_log_level(const json_t *value, void *to)
{
	const char *text = json_string_value(value);
	auto_free char *number = NULL;

	if (text && !*text)
		return true;
	if (json_is_integer(value))
		number = xasprintf("%lld", (long long)json_integer_value(value));
	if (number)
		text = number;
	if (!text || strlen(text) != 1 || *text < '0' || *text > '0' + LOG_LEVEL_MAX)
		return false;
	set_text(to, text);
	return true;
}

static bool take_resource(const json_t *value, void *to)
{
	const char *name = json_string_value(value);

	if (!name || !names_valid_offered_resource(name))
		return false;
	set_text(to, name);
	return true;
}

enum file { CLUSTER, NODE, FILES };

_Static_assert(HAMI_SPLIT_MAX == 1000, "the text of the row says so");

/* clang-format off */
#define AT(member) offsetof(struct hami_config, member)

static const struct {
	const char *keys[FILES]; /* in each file; NULL: it has no such field */
	bool (*take)(const json_t *value, void *to);
	size_t offset;
	const char *expected;
} fields[] = {
	{ { "resourceCountName", NULL }, take_resource, AT(resource), "the name of a resource" },
	{ { "deviceSplitCount", "devicesplitcount" }, take_count, AT(split), "1 to 1000" },
	{ { "deviceMemoryScaling", "devicememoryscaling" }, take_scaling, AT(memory),
	  "a factor from 0.001 to 100" },
	{ { "deviceCoreScaling", "devicecorescaling" }, take_scaling, AT(cores),
	  "a factor from 0.001 to 100" },
	{ { "preConfiguredDeviceMemory", "preconfigureddevicememory" }, take_memory, AT(memory_mib),
	  "a size of memory in MiB" },
	{ { "enableNumaTopology", "enablenumatopology" }, take_bool, AT(numa), "true or false" },
	{ { "disableCoreLimit", NULL }, take_bool, AT(no_core_limit), "true or false" },
	{ { "libCudaLogLevel", "libcudaloglevel" }, take_log_level, AT(log_level), "0 to 9" },
};
/* clang-format on */

static int take_fields(const json_t *object, enum file file, struct hami_config *config,
		       struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const char *key = fields[i].keys[file];
		const json_t *value = key ? member(object, key) : NULL;

		if (value && !fields[i].take(value, (char *)config + fields[i].offset))
			return wrong(key, fields[i].expected, err);
	}
	return 0;
}

/* --- device-config.yaml ----------------------------------------------------------------------- */

static int take_cluster(json_t *root, struct hami_config *config, struct err *err)
{
	const json_t *nvidia = member(root, "nvidia");

	if (!nvidia)
		return 0;
	if (!json_is_object(nvidia))
		return wrong("nvidia", "a mapping", err);
	return take_fields(nvidia, CLUSTER, config, err) < 0 ? err_wrap(err, "nvidia") : 0;
}

/* --- config.json ------------------------------------------------------------------------------ */

static int take_filter(const json_t *filters, const char *key, struct json_strs *to,
		       struct err *err)
{
	const json_t *list = member(filters, key);
	const json_t *value;
	size_t i;

	if (list && (!json_is_array(list) || json_array_size(list) > HAMI_FILTERS_MAX))
		return wrong(key, "a list", err);
	json_array_foreach (list, i, value) {
		auto_free char *number = NULL;

		if (json_is_integer(value))
			number = xasprintf("%lld", (long long)json_integer_value(value));
		else if (!json_is_string(value))
			return wrong(key, "UUIDs or indexes", err);
		(void)json_strs_add_new(to, number ? number : json_string_value(value));
	}
	return 0;
}

static int take_entry(const json_t *entry, struct hami_config *config, struct err *err)
{
	const json_t *filters = member(entry, "filterdevices");
	const json_t *mode = member(entry, "operatingmode");

	if (mode && (!json_is_string(mode) || strcmp(json_string_value(mode), "hami-core") != 0))
		return wrong("operatingmode", "hami-core, the only mode that this agent has", err);
	if (take_fields(entry, NODE, config, err) < 0)
		return err->code;
	if (take_filter(filters, "uuid", &config->filtered, err) < 0 ||
	    take_filter(filters, "index", &config->filtered, err) < 0)
		return err_wrap(err, "filterdevices");
	return 0;
}

static int take_node(json_t *root, const char *node, struct hami_config *config, struct err *err)
{
	const json_t *list = member(root, "nodeconfig");
	const json_t *entry;
	size_t i;

	if (list && !json_is_array(list))
		return wrong("nodeconfig", "a list", err);
	json_array_foreach (list, i, entry) {
		const char *name = json_string_value(json_object_get(entry, "name"));

		if (name && strcmp(name, node) == 0)
			return take_entry(entry, config, err) < 0
				       ? err_wrap(err, "nodeconfig[%zu]", i)
				       : 0;
	}
	return 0;
}

/* --- all of a file ---------------------------------------------------------------------------- */

/* Also reads JSON, which is valid YAML. */
static int read_file(const char *name, const char *text, size_t len, json_t **ret_root,
		     struct err *err)
{
	if (len > HAMI_CONFIG_MAX)
		return err_set(err, ERR_INVALID, -EFBIG, "%s: more than %d bytes", name,
			       HAMI_CONFIG_MAX);
	return yaml_parse(name, text, len, ret_root, err);
}

/* Replace @config by @taken if @r is 0. */
static int finish(const char *name, int r, struct hami_config *taken, struct hami_config *config,
		  struct err *err)
{
	if (r < 0) {
		hami_config_done(taken);
		return err_wrap(err, "%s", name);
	}
	hami_config_done(config);
	*config = *taken;
	return 0;
}

int hami_config_take_cluster(const char *name, const char *text, size_t len,
			     struct hami_config *config, struct err *err)
{
	auto_json json_t *root = NULL;
	struct hami_config taken;

	if (read_file(name, text, len, &root, err) < 0)
		return err->code;
	copy(&taken, config);
	return finish(name, take_cluster(root, &taken, err), &taken, config, err);
}

int hami_config_take_node(const char *name, const char *text, size_t len, const char *node,
			  struct hami_config *config, struct err *err)
{
	auto_json json_t *root = NULL;
	struct hami_config taken;

	if (read_file(name, text, len, &root, err) < 0)
		return err->code;
	copy(&taken, config);
	return finish(name, take_node(root, node, &taken, err), &taken, config, err);
}

bool hami_config_filters(const struct hami_config *config, const char *uuid, int index)
{
	auto_free char *number = xasprintf("%d", index);

	return json_strs_has(&config->filtered, uuid) ||
	       (index >= 0 && json_strs_has(&config->filtered, number));
}
