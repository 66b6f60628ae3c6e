/* config_watch: random lives of the HostDeviceConfig, as one of several agents sees it. */
#include "agent/config/config_watch.h"

#include <jansson.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/names.h"
#include "base/log.h"
#include "base/mem.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/events.h"
#include "unit/kube/random_life.h"
#include "unit/suite.h"
#include "unit/this_node.h"

#define KVM   "{'resourceName':'a.io/kvm','path':'/dev/kvm'}"
#define WRONG "{'resourceName':'kvm','path':'/dev/kvm'}"
#define NAME  HOSTDEVICECONFIG_NAME

enum { PARTS = 2 };

static const char *const part_names[PARTS] = { "generic", "usb" };

/* kube/events.h without an API server. */
struct events {
	size_t recorded;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	assert_non_null(about->meta);
	assert_true(*reason && *fmt);
	events->recorded++;
}

struct life {
	struct fake_server *server;
	struct fake_clock *clock;
	struct events events;
	struct this_node node;
	struct config_watch *watch;
	bool has_trouble[PARTS]; /* each part cannot carry out an entry        */
	size_t generics;         /* in the config that was handed on last      */
};

static void on_config(void *arg, const struct config *config)
{
	struct life *life = arg;

	life->generics = config->generics.len;
}

static void begin(struct life *life)
{
	life->watch = config_watch_new(&life->node, PARTS, on_config, life);
	config_watch_start(life->watch);
}

static void *life_open(struct random_world *ret_world)
{
	struct life *life = xcalloc(1, sizeof(*life));

	life->clock = fake_clock_new();
	life->server = fake_server_new(&hostdeviceconfig_kind);
	life->node = this_node_of(fake_server_client(life->server),
				  fake_clock_as_clock(life->clock), &life->events);
	begin(life);
	*ret_world = (struct random_world){ .server = life->server, .clock = life->clock };
	return life;
}

static void life_close(void *arg)
{
	struct life *life = arg;
	struct kube_client *client = fake_server_client(life->server);

	config_watch_free(life->watch);
	assert_int_equal(fake_client_open(client), 0);
	kube_client_free(client);
	fake_server_free(life->server);
	fake_clock_free(life->clock);
	free(life);
}

static void begin_again(void *arg)
{
	struct life *life = arg;

	config_watch_free(life->watch);
	begin(life);
}

/* --- the object as the API server has it ------------------------------------------------------ */

static const json_t *status_of(const struct life *life)
{
	return json_object_get(fake_server_get(life->server, NAME), "status");
}

static json_int_t generation_of(const struct life *life)
{
	const json_t *meta = json_object_get(fake_server_get(life->server, NAME), "metadata");

	return json_integer_value(json_object_get(meta, "generation"));
}

/* How many entries of the spec are right, or wrong. */
static size_t entries(const struct life *life, bool right)
{
	const json_t *spec = json_object_get(fake_server_get(life->server, NAME), "spec");
	const json_t *entry;
	size_t found = 0;
	size_t i;

	json_array_foreach (json_object_get(spec, "genericDevices"), i, entry) {
		const char *name = json_string_value(json_object_get(entry, "resourceName"));

		found += (strchr(name, '/') != NULL) == right;
	}
	return found;
}

/* --- what happens ----------------------------------------------------------------------------- */

static void report(const struct life *life, size_t part)
{
	struct config_troubles troubles = { 0 };

	if (life->has_trouble[part])
		config_troubles_add(&troubles,
				    &(struct config_trouble_value){ .list = CONFIG_LIST_GENERIC,
								    .reason = CONFIG_NAME_TAKEN,
								    .resource = "a.io/kvm",
								    .message = part_names[part] });
	config_watch_report(life->watch, part_names[part], &troubles);
	config_troubles_done(&troubles);
}

/* Another agent has checked this generation first. */
static void check_as_another(const struct life *life)
{
	bool ok = entries(life, false) == 0;
	auto_free char *status = xasprintf("{'observedGeneration':%lld,'nodes':null,'conditions':[{"
					   "'type':'Accepted','status':'%s','reason':'%s'}]}",
					   (long long)generation_of(life), ok ? "True" : "False",
					   ok ? "Accepted" : "EntriesLeftOut");

	fake_server_write_status(life->server, NAME, status);
}

static void something(void *arg, uint64_t *seed)
{
	static const char *const specs[] = {
		"{'spec':{'genericDevices':[" KVM "]}}",
		"{'spec':{'genericDevices':[" KVM "," WRONG "]}}",
		"{'spec':{'genericDevices':[]}}",
	};
	struct life *life = arg;
	size_t part = suite_random(seed) % PARTS;
	bool there = fake_server_get(life->server, NAME) != NULL;

	switch (suite_random(seed) % 24) {
	case 0:
		fake_server_delete(life->server, NAME);
		return;
	case 1:
		if (there)
			check_as_another(life);
		return;
	case 2:
		if (there)
			fake_server_write_status(life->server, NAME, "{'conditions':null}");
		return;
	case 3:
	case 4:
		if (there)
			fake_server_apply_status(life->server, "hostdev-agent-node2", NAME,
						 "{'nodes':[{'node':'node2'}]}");
		return;
	case 5:
	case 6:
	case 7:
		fake_server_write(life->server, NAME, specs[suite_random(seed) % ARRAY_LEN(specs)]);
		return;
	default: /* most of the time, parts look again */
		life->has_trouble[part] = suite_random(seed) % 2;
		report(life, part);
		return;
	}
}

/* --- how it ends ------------------------------------------------------------------------------ */

static void end_well(void *arg)
{
	const struct life *life = arg;

	for (size_t i = 0; i < PARTS; i++)
		report(life, i);
}

/* The item of the node; NULL: none. */
static const json_t *item_of(const struct life *life, const char *node)
{
	const json_t *item;
	size_t i;

	json_array_foreach (json_object_get(status_of(life), "nodes"), i, item) {
		if (strcmp(json_string_value(json_object_get(item, "node")), node) == 0)
			return item;
	}
	return NULL;
}

static json_int_t observed(const json_t *object)
{
	return json_integer_value(json_object_get(object, "observedGeneration"));
}

static void assert_item(const struct life *life)
{
	const json_t *item = item_of(life, "node1");
	size_t troubles = 0;

	for (size_t i = 0; i < PARTS; i++)
		troubles += life->has_trouble[i];
	assert_int_equal(item != NULL, troubles > 0);
	if (!item)
		return;
	assert_int_equal(observed(item), generation_of(life));
	assert_int_equal(json_array_size(json_object_get(item, "entries")), troubles);
}

static void assert_end(void *arg)
{
	const struct life *life = arg;
	const json_t *condition = json_array_get(json_object_get(status_of(life), "conditions"), 0);

	assert_int_equal(life->generics, entries(life, true));
	if (!fake_server_get(life->server, NAME))
		return;
	assert_int_equal(observed(status_of(life)), generation_of(life));
	assert_string_equal(json_string_value(json_object_get(condition, "status")),
			    entries(life, false) == 0 ? "True" : "False");
	assert_item(life);
}

static const struct random_kind lives = {
	.name = "the HostDeviceConfig",
	.open = life_open,
	.close = life_close,
	.something = something,
	.begin_again = begin_again,
	.end_well = end_well,
	.assert_end = assert_end,
};

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	random_lives(&suite, &lives, 40);
	return suite_run(&suite, "config_watch_life");
}
