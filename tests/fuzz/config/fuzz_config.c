/*
 * fuzz_config: any bytes as the spec of a HostDeviceConfig. What comes of them is within its
 * bounds, and what is told of them is a status that the API server takes.
 */
#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/config/config_watch.h"
#include "api/hostdeviceconfig.h"
#include "api/json_map.h"
#include "api/object.h"
#include "base/log.h"
#include "base/mem.h"
#include "tests/unit/schema.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *schema; /* whole, and what of it is the status */
static json_t *status_schema;

/* NOLINTNEXTLINE(readability-non-const-parameter): libFuzzer's signature */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log_set_level(LOG_ERROR);
	schema = schema_load("hostdev.io_hostdeviceconfigs.yaml");
	status_schema = json_object_get(json_object_get(schema, "properties"), "status");
	assert(status_schema);
	return 0;
}

static void check_bounds(const struct config *config)
{
	assert(config->pci.len <= CONFIG_ENTRIES_MAX && config->usb.len <= CONFIG_ENTRIES_MAX);
	assert(config->mdevs.len <= CONFIG_ENTRIES_MAX);
	assert(config->troubles.len <= CONFIG_TROUBLES_MAX);
	assert(config->generics.len <= CONFIG_ENTRIES_MAX);
	for (size_t i = 0; i < config->generics.len; i++) {
		const struct config_generic *generic = &config->generics.items[i];

		assert(generic->count >= 1 && generic->count <= CONFIG_COUNT_MAX);
		assert(strncmp(generic->path, "/dev/", 5) == 0 && !strstr(generic->path, "/../"));
	}
	assert(config->sockets.len <= CONFIG_ENTRIES_MAX);
	for (size_t i = 0; i < config->sockets.len; i++) {
		assert(config->sockets.items[i].folder[0] == '/');
		assert(config->sockets.items[i].folder[1] && config->sockets.items[i].file[0]);
	}
}

static void check_status(const json_t *body)
{
	auto_json json_t *status = json_deep_copy(json_object_get(body, "status"));
	auto_str struct str problem = STR_INIT;

	/* A merge patch takes away what is null. */
	if (json_is_null(json_object_get(status, "nodes")))
		json_object_del(status, "nodes");
	if (json_is_null(json_object_get(status, "entries")))
		json_object_del(status, "entries");
	assert(schema_takes(status_schema, status, ".status", &problem));
}

static void check_telling(const struct hostdeviceconfig *object, const struct config *config)
{
	struct hostdeviceconfig judged = *object;
	char type[] = "Accepted";
	struct api_condition accepted = { .type = type };
	struct config_case c = { .object = &judged,
				 .config = config,
				 .here = &config->troubles,
				 .node = "node1",
				 .now_wall_ms = 1700000000000 };
	auto_json json_t *verdict = NULL;
	auto_json json_t *item = NULL;

	memset(&judged.status, 0, sizeof(judged.status));
	judged.meta.deletion_timestamp = NULL;
	judged.meta.generation = 7;
	verdict = config_verdict_body(&c);
	assert(verdict);
	check_status(verdict);
	judged.status.observed_generation = judged.meta.generation;
	judged.status.conditions.items = &accepted;
	judged.status.conditions.len = 1;
	item = config_node_body(&c);
	assert(!item == (config->troubles.len == 0));
	if (item)
		check_status(item);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_json json_t *json = NULL;
	struct config *config;
	void *object = NULL;

	if (json_map_load((const char *)data, size, &json, NULL) < 0 ||
	    api_object_decode(&hostdeviceconfig_kind, json, &object, NULL) < 0)
		return 0;
	config = config_new(object);
	check_bounds(config);
	check_telling(object, config);
	config_free(config);
	api_object_free(&hostdeviceconfig_kind, object);
	return 0;
}
