/* mdevs_bench: the type manager on a real loop, with scripts in place of hostdev-helper. One at a
 * time. */
#pragma once

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "agent/inventory/id_names.h"
#include "agent/inventory/inventory.h"
#include "agent/mdev/mdevs.h"
#include "agent/plugin/plugins.h"
#include "agent/resource/offers.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "base/log.h"
#include "fake/fake_clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/store.h"
#include "unit/agent/fake_helper.h"
#include "unit/mdev/mdev_config.h"
#include "unit/mdev/mdev_machine.h"
#include "unit/resource/quiet_offers.h"
#include "unit/this_node.h"

#define A                          \
	{                          \
		"a-1", "Type A", 2 \
	}
#define B                          \
	{                          \
		"b-1", "Type B", 1 \
	}

#define SAY(line) "echo '" line "'\n"
#define WORDS     "echo \"$@\" >>$here/words\n"
#define END       SAY("{\"kind\":\"end\",\"result\":\"Done\"}")

#define WANT(types) "'mediatedDevicesConfiguration':{'mediatedDeviceTypes':[" types "]}"

struct bench {
	struct fake_helper fake;
	struct fake_clock *clock;
	struct id_names *names;
	struct machine *machine;
	struct inventory *inventory;
	struct this_node node;
	struct config *config;
	struct mdevs *mdevs;
	int moved;
	bool running; /* the loop */
	int changed;
	int updated; /* offers */
	struct str events;
	bool has_objects;
	const char *holder; /* of whatever is asked for */
	const char *bind_trouble;
	struct offers_type type;
};

static struct bench bench;

/* --- in place of the rest of the agent -------------------------------------------------------- */

void offers_add(struct offers *offers, const struct offers_type *type)
{
	(void)offers;
	bench.type = *type;
}

void offers_update_soon(struct offers *offers)
{
	(void)offers;
	bench.updated++;
}

const char *offers_resource(const struct offers *offers, const char *id, bool *ret_ours)
{
	(void)offers;
	(void)id;
	*ret_ours = false;
	return NULL;
}

char *offers_bind_trouble(struct offers *offers, const char *id)
{
	(void)offers;
	assert_non_null(id);
	return xstrdup_or_null(bench.bind_trouble);
}

bool offers_is_free(struct offers *offers, const char *id, char **ret_holder)
{
	(void)offers;
	(void)id;
	*ret_holder = xstrdup_or_null(bench.holder);
	return !bench.holder;
}

const struct store *informer_store(const struct informer *informer)
{
	(void)informer;
	return NULL;
}

const void *store_object(const struct store *store, const char *name)
{
	static const struct mediateddeviceparent object;

	(void)store;
	assert_int_equal(strncmp(name, "node1-", 6), 0);
	return bench.has_objects ? &object : NULL;
}

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	va_list args;

	(void)events;
	assert_ptr_equal(about->kind, &mediateddeviceparent_kind);
	assert_string_equal(fmt, "%s");
	va_start(args, fmt);
	str_addf(&bench.events, "%s%s=%s;", type == EVENTS_WARNING ? "!" : "", reason,
		 va_arg(args, const char *));
	va_end(args);
}

/* Who is healthy: "+" or "-" for each device. */
static inline struct str *bench_offered(void)
{
	static struct str text;

	return &text;
}

void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	(void)plugins;
	(void)type;
	(void)type_arg;
	str_clear(bench_offered());
	for (size_t i = 0; i < len; i++) {
		for (size_t j = 0; j < resources[i].ndevices; j++)
			str_add_char(
				bench_offered(),
				resources[i].devices[j].trouble &&
						strstr(resources[i].devices[j].trouble, "removed")
					? '-'
					: '+');
	}
}

static inline void bench_on_moved(void *arg)
{
	(void)arg;
	bench.moved++;
	/* A deadline comes before the loop waits, and nothing may come after it. */
	if (bench.running)
		uv_stop(&bench.fake.loop);
}

static inline void bench_on_changed(void *arg)
{
	(void)arg;
	bench.changed++;
}

/* --- the bench -------------------------------------------------------------------------------- */

static inline void bench_open(const char *script, const struct machine_card *cards, size_t len)
{
	static struct machine machine;

	memset(&bench, 0, sizeof(bench));
	memset(&machine, 0, sizeof(machine));
	memcpy(machine.cards, cards, len * sizeof(*cards));
	log_set_level(LOG_ERROR);
	fake_helper_init(&bench.fake, script);
	bench.clock = fake_clock_new();
	bench.names = id_names_new();
	bench.machine = &machine;
	bench.has_objects = true;
	bench.node = this_node_of(NULL, fake_clock_as_clock(bench.clock),
				  (struct events *)&bench.events);
	bench.node.loop = &bench.fake.loop;
	bench.node.helper = (struct helper_place){ .path = bench.fake.path, .state_dir = "/state" };
	bench.node.deadline_ms = AMPLE_MS;
	bench.mdevs =
		mdevs_new(&bench.node, &(struct mdevs_deps){ .on_moved = bench_on_moved,
							     .on_changed = bench_on_changed });
}

static inline void bench_close(void)
{
	mdevs_free(bench.mdevs);
	inventory_free(bench.inventory);
	config_free(bench.config);
	id_names_free(bench.names);
	fake_clock_free(bench.clock);
	machine_done(bench.machine);
	str_done(&bench.events);
	str_done(bench_offered());
	fake_helper_done(&bench.fake);
}

/* What the machine has now, seen now. */
static inline void bench_see(void)
{
	static const struct inventory_options options = { .node_name = "node1" };
	struct inventory *before = bench.inventory;

	fake_clock_advance(bench.clock, 1);
	bench.inventory = inventory_new(&options, machine_facts(bench.machine), bench.names, 0);
	bench.inventory->began_ms = clock_now_ms(fake_clock_as_clock(bench.clock));
	bench.node.inventory = bench.inventory;
	mdevs_plan(bench.mdevs);
	inventory_free(before);
	fake_clock_settle(bench.clock);
}

static inline void bench_ask(const char *spec)
{
	struct config *before = bench.config;

	bench.config = config_of_spec(spec);
	mdevs_set_config(bench.mdevs, bench.config);
	config_free(before);
	fake_clock_settle(bench.clock);
}

static inline void bench_label(void)
{
	struct json_pairs labels = { 0 };

	mdevs_set_labels(bench.mdevs, &labels);
	fake_clock_settle(bench.clock);
}

/* Until @n helpers have ended, and what follows from it is under way. */
static inline void bench_run_until_moved(int n)
{
	fake_clock_settle(bench.clock);
	while (bench.moved < n) {
		bench.running = true;
		uv_run(&bench.fake.loop, UV_RUN_ONCE);
		bench.running = false;
		fake_clock_settle(bench.clock);
	}
	assert_int_equal(bench.moved, n);
}

/* Likewise, and the helpers that run miss their deadlines, however often they are given more
 * time. */
static inline void bench_expire_until_moved(int n)
{
	while (bench.moved < n) {
		fake_helper_expire(&bench.fake, NULL);
		bench.running = true;
		uv_run(&bench.fake.loop, UV_RUN_ONCE);
		bench.running = false;
	}
	bench_run_until_moved(n);
}

/* The parents for which helpers were started, sorted, since they run side by side: "+c1 -c2" (made,
 * removed). The caller frees. */
static inline char *bench_started(void)
{
	auto_free char *words = fake_helper_wrote(&bench.fake, "words");
	struct json_strs parents = { 0 };
	struct str text = STR_INIT;
	char *rest = words;
	const char *line;

	while ((line = strsep(&rest, "\n")) && *line) {
		const char *parent = strstr(line, "parent=") + strlen("parent=");
		bool makes = strncmp(line, "mdev-create ", 12) == 0;
		auto_free char *one = xasprintf("%c%.2s", makes ? '+' : '-', parent);

		json_strs_add(&parents, one);
	}
	json_strs_sort(&parents);
	for (size_t i = 0; i < parents.len; i++)
		str_addf(&text, "%s%s", i ? " " : "", parents.items[i]);
	json_strs_done(&parents);
	return str_detach(&text);
}

/* Until the scripts have written it, because a script that hangs reports nothing else. */
static inline void bench_wait_started(const char *expected)
{
	for (;;) {
		auto_free char *text = bench_started();

		if (strcmp(text, expected) == 0)
			return;
		(void)sched_yield();
	}
}

static inline void assert_started(const char *expected)
{
	auto_free char *text = bench_started();

	assert_string_equal(text, expected);
}

static inline void assert_result(const char *parent, const char *reason)
{
	const struct api_condition_value *value = mdevs_condition(bench.mdevs, parent);

	assert_string_equal(value ? value->reason : "(not known)", reason);
}

static const struct machine_card one[] = { { .name = "c1", .types = { A } } };
static const struct machine_card two[] = { { .name = "c1", .types = { A, B } },
					   { .name = "c2", .types = { A, B } } };
