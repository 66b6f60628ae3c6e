/* mdevs: the type manager on a real loop, with scripts in place of hostdev-helper. */
#include "agent/mdev/mdevs.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "agent/inventory/id_names.h"
#include "agent/inventory/inventory.h"
#include "agent/lend/lend.h"
#include "agent/plugin/plugins.h"
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
#define MADE      SAY("{\"kind\":\"done\",\"uuid\":\"x\"}")
#define END       SAY("{\"kind\":\"end\",\"result\":\"Done\"}")
#define FAILED(r) \
	SAY("{\"kind\":\"end\",\"result\":\"Failed\",\"reason\":\"" r "\",\"message\":\"no\"}")
#define HANG    SAY("{\"kind\":\"step\",\"step\":\"Create\"}") "read x <$gate\n"
#define FAIL_C1 "case \"$*\" in *parent=c1*) " FAILED_INLINE "; exit 0;; esac\n"
#define FAILED_INLINE \
	"echo '{\"kind\":\"end\",\"result\":\"Failed\",\"reason\":\"CreateFailed\",\"message\":\"no\"}'"

#define WANT(types) "'mediatedDevicesConfiguration':{'mediatedDeviceTypes':[" types "]}"

struct bench {
	struct fake_helper fake;
	struct fake_clock *clock;
	struct id_names *names;
	struct machine *machine;
	struct inventory *inventory;
	struct config *config;
	struct mdevs *mdevs;
	int moved;
	bool running; /* the loop */
	int changed;
	struct str events;
	bool has_objects;
	const char *holder; /* of whatever is asked for */
	struct lend_type type;
};

static struct bench bench;

/* --- in place of the rest of the agent ------------------------------------------------------- */

void lend_add(struct lend *lend, const struct lend_type *type)
{
	(void)lend;
	bench.type = *type;
}

void lend_touch(struct lend *lend)
{
	(void)lend;
}

const char *lend_resource(const struct lend *lend, const char *id, bool *ret_ours)
{
	(void)lend;
	(void)id;
	*ret_ours = false;
	return NULL;
}

bool lend_is_free(struct lend *lend, const char *id, char **ret_holder)
{
	(void)lend;
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
	(void)events;
	(void)fmt;
	assert_ptr_equal(about->kind, &mediateddeviceparent_kind);
	assert_int_equal(type, EVENTS_WARNING);
	str_addf(&bench.events, "%s ", reason);
}

/* Who is healthy: "+" or "-" for each device. */
static struct str *offered(void)
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
	str_clear(offered());
	for (size_t i = 0; i < len; i++) {
		for (size_t j = 0; j < resources[i].ndevices; j++)
			str_add_char(
				offered(),
				resources[i].devices[j].trouble &&
						strstr(resources[i].devices[j].trouble, "removed")
					? '-'
					: '+');
	}
}

static void on_moved(void *arg)
{
	(void)arg;
	bench.moved++;
	/* A deadline comes before the loop waits, and nothing may come after it. */
	if (bench.running)
		uv_stop(&bench.fake.loop);
}

static void on_changed(void *arg)
{
	(void)arg;
	bench.changed++;
}

/* --- the bench ------------------------------------------------------------------------------- */

static void bench_open(const char *script, const struct machine_card *cards, size_t len)
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
	bench.mdevs = mdevs_new(&(struct mdevs_deps){
		.jobs = { .loop = &bench.fake.loop,
			  .clock = fake_clock_as_clock(bench.clock),
			  .helper_path = bench.fake.path,
			  .state_dir = "/state",
			  .deadline_ms = AMPLE_MS },
		.node_name = "node1",
		.moved = on_moved,
		.changed = on_changed,
	});
}

static void bench_close(void)
{
	mdevs_free(bench.mdevs);
	inventory_free(bench.inventory);
	config_free(bench.config);
	id_names_free(bench.names);
	fake_clock_free(bench.clock);
	machine_done(bench.machine);
	str_done(&bench.events);
	str_done(offered());
	fake_helper_done(&bench.fake);
}

/* What the machine has now, seen now. */
static void see(void)
{
	static const struct inventory_options options = { .node_name = "node1" };
	struct inventory *before = bench.inventory;

	fake_clock_advance(bench.clock, 1);
	bench.inventory = inventory_new(&options, machine_facts(bench.machine), bench.names, 0);
	bench.inventory->began_ms = clock_now_ms(fake_clock_as_clock(bench.clock));
	mdevs_set(bench.mdevs, bench.inventory);
	inventory_free(before);
	fake_clock_settle(bench.clock);
}

static void ask(const char *spec)
{
	struct config *before = bench.config;

	bench.config = config_of_spec(spec);
	mdevs_set_config(bench.mdevs, bench.config);
	config_free(before);
	fake_clock_settle(bench.clock);
}

static void label(void)
{
	struct json_pairs labels = { 0 };

	mdevs_set_labels(bench.mdevs, &labels);
	fake_clock_settle(bench.clock);
}

/* Until @n helpers have ended, and what follows from it is under way. */
static void run_until_moved(int n)
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

/* The parents for which helpers were started, sorted, since they run side by side: "+c1 -c2" (made,
 * removed). The caller frees. */
static char *started(void)
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

/* Until the scripts have said so: one that hangs tells nobody when it has come that far. */
static void wait_started(const char *expected)
{
	for (;;) {
		auto_free char *text = started();

		if (strcmp(text, expected) == 0)
			return;
		(void)sched_yield();
	}
}

static void assert_started(const char *expected)
{
	auto_free char *text = started();

	assert_string_equal(text, expected);
}

static void assert_fares(const char *parent, const char *reason)
{
	const struct api_condition_value *value = mdevs_condition(bench.mdevs, parent);

	assert_string_equal(value ? value->reason : "(not known)", reason);
}

static const struct machine_card one[] = { { .name = "c1", .types = { A } } };
static const struct machine_card two[] = { { .name = "c1", .types = { A, B } },
					   { .name = "c2", .types = { A, B } } };

/* --- tests ----------------------------------------------------------------------------------------- */

static void nothing_is_done_before_all_is_known(void **state)
{
	(void)state;
	bench_open(WORDS END, one, 1);
	see();
	ask(WANT("'a-1'"));
	assert_started("");
	assert_fares("c1", "(not known)");
	label();
	run_until_moved(1);
	assert_started("+c1");
	assert_fares("c1", "Creating");
	bench_close();
}

static void the_helper_gets_the_words(void **state)
{
	auto_free char *words = NULL;

	(void)state;
	bench_open(WORDS END, one, 1);
	label();
	ask(WANT("'Type A'"));
	see();
	run_until_moved(1);
	words = fake_helper_wrote(&bench.fake, "words");
	assert_non_null(strstr(words, "mdev-create --state-dir /state parent=c1 owner=types "
				      "type=a-1 uuid="));
	assert_non_null(strstr(strstr(words, " uuid=") + 1, " uuid="));
	bench_close();
}

/* What was seen before a helper ended says nothing about what it has done. */
static void an_old_look_starts_nothing_again(void **state)
{
	(void)state;
	bench_open(WORDS END, one, 1);
	label();
	see();
	ask(WANT("'a-1'"));
	run_until_moved(1);
	mdevs_set(bench.mdevs, bench.inventory);
	fake_clock_settle(bench.clock);
	assert_started("+c1");
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c1", "a-1",
		    MDEV_OWNER_TYPES);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555552", "c1", "a-1",
		    MDEV_OWNER_TYPES);
	see();
	assert_started("+c1");
	assert_fares("c1", "Configured");
	bench_close();
}

static void a_failing_parent_waits_and_blocks_no_other(void **state)
{
	(void)state;
	bench_open(WORDS FAIL_C1 END, two, 2);
	label();
	ask(WANT("'a-1'"));
	see();
	run_until_moved(2);
	assert_started("+c1 +c2");
	assert_fares("c1", "CreateFailed");
	assert_string_equal(str_cstr(&bench.events), "CreateFailed ");
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c2", "a-1",
		    MDEV_OWNER_TYPES);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555552", "c2", "a-1",
		    MDEV_OWNER_TYPES);
	see();
	assert_fares("c2", "Configured");
	assert_started("+c1 +c2");
	fake_clock_advance(bench.clock, MDEV_RETRY_MS);
	run_until_moved(3);
	see();
	fake_clock_advance(bench.clock, MDEV_RETRY_MS);
	assert_started("+c1 +c1 +c2"); /* it waits twice as long now */
	fake_clock_advance(bench.clock, MDEV_RETRY_MS);
	run_until_moved(4);
	assert_started("+c1 +c1 +c1 +c2");
	assert_string_equal(str_cstr(&bench.events), "CreateFailed "); /* no news */
	bench_close();
}

static void one_that_comes_right_again_is_told(void **state)
{
	(void)state;
	bench_open(WORDS FAILED("CreateFailed"), one, 1);
	label();
	ask(WANT("'a-1'"));
	see();
	run_until_moved(1);
	fake_helper_does(&bench.fake, WORDS END);
	see();
	fake_clock_advance(bench.clock, MDEV_RETRY_MS);
	run_until_moved(2);
	assert_fares("c1", "Creating");
	fake_helper_does(&bench.fake, WORDS FAILED("CreateFailed"));
	see();
	run_until_moved(3);
	assert_string_equal(str_cstr(&bench.events), "CreateFailed CreateFailed ");
	bench_close();
}

static void a_helper_that_cannot_be_started_is_a_failure(void **state)
{
	(void)state;
	bench_open(END, one, 1);
	assert_int_equal(unlink(bench.fake.path), 0);
	label();
	ask(WANT("'a-1'"));
	see();
	run_until_moved(1);
	assert_fares("c1", "HelperFailed");
	bench_close();
}

static void a_stuck_helper_keeps_its_parent_and_no_other(void **state)
{
	(void)state;
	bench_open(WORDS "case \"$*\" in *parent=c1*) " SAY(
			   "{\"kind\":\"step\",\"step\":\"Create\"}") "read x <$gate;; esac\n" END,
		   two, 2);
	label();
	ask(WANT("'a-1'"));
	see();
	run_until_moved(1); /* c2 */
	wait_started("+c1 +c2");
	fake_helper_expire(&bench.fake, NULL);
	run_until_moved(2);
	assert_fares("c1", "Stuck");
	see();
	fake_clock_advance(bench.clock, 100UL * MDEV_RETRY_MAX_MS);
	run_until_moved(3); /* c2 again, which still lacks its instances */
	assert_started("+c1 +c2 +c2");
	fake_helper_open_gate(&bench.fake);
	run_until_moved(4);
	see();
	run_until_moved(6);
	assert_started("+c1 +c1 +c2 +c2 +c2");
	bench_close();
}

static void only_a_few_helpers_run_at_a_time(void **state)
{
	static const struct machine_card many[] = {
		{ .name = "c1", .types = { A } }, { .name = "c2", .types = { A } },
		{ .name = "c3", .types = { A } }, { .name = "c4", .types = { A } },
		{ .name = "c5", .types = { A } }, { .name = "c6", .types = { A } },
	};

	auto_free char *counts = NULL;

	(void)state;
	bench_open(WORDS "touch $here/at-work.$$; ls $here | grep -c at-work >>$here/counts\n"
			 "read x <$gate; rm $here/at-work.$$\n" END,
		   many, 6);
	label();
	ask(WANT("'a-1'"));
	see();
	fake_helper_open_gate(&bench.fake);
	run_until_moved(6);
	assert_started("+c1 +c2 +c3 +c4 +c5 +c6");
	counts = fake_helper_wrote(&bench.fake, "counts");
	assert_int_equal(strlen(counts), 6 * strlen("1\n"));
	assert_null(strpbrk(counts, "56789"));
	bench_close();
}

static void what_is_being_removed_is_not_healthy(void **state)
{
	(void)state;
	bench_open(WORDS "read x <$gate\n" END, one, 1);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c1", "a-1",
		    MDEV_OWNER_TYPES);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555552", "c1", "a-1", NULL);
	label();
	ask("'mediatedDevices':[{'resourceName':'x.com/a','mdevNameSelector':'a-1'}]");
	see();
	bench.type.offer(bench.type.arg, NULL);
	assert_string_equal(str_cstr(offered()), "-+");
	assert_fares("c1", "Removing");
	fake_helper_open_gate(&bench.fake);
	run_until_moved(1);
	assert_started("-c1");
	bench.type.offer(bench.type.arg, NULL);
	assert_string_equal(str_cstr(offered()), "++");
	bench_close();
}

static void what_a_pod_has_waits_for_it(void **state)
{
	(void)state;
	bench_open(WORDS END, one, 1);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c1", "a-1",
		    MDEV_OWNER_TYPES);
	bench.holder = "pod default/vm-1";
	label();
	ask("");
	see();
	assert_started("");
	assert_fares("c1", "InUse");
	assert_non_null(strstr(mdevs_condition(bench.mdevs, "c1")->message, "pod default/vm-1"));
	bench.holder = NULL;
	mdevs_lent_changed(bench.mdevs);
	fake_clock_settle(bench.clock);
	run_until_moved(1);
	assert_started("-c1");
	bench_close();
}

static void a_label_of_the_node_acts_at_once(void **state)
{
	struct json_pairs labels = { 0 };

	(void)state;
	bench_open(WORDS END, two, 2);
	label();
	ask("'mediatedDevicesConfiguration':{'nodeMediatedDeviceTypes':[{'nodeSelector':{'gpu':"
	    "'big'},'mediatedDeviceTypes':['b-1']}]}");
	see();
	assert_started("");
	assert_fares("c1", "NotConfigured");
	json_pairs_set(&labels, "gpu", "big");
	mdevs_set_labels(bench.mdevs, &labels);
	json_pairs_done(&labels);
	run_until_moved(2);
	assert_started("+c1 +c2");
	bench_close();
}

static void nothing_new_tells_nothing(void **state)
{
	int changed;

	(void)state;
	bench_open(WORDS END, one, 1);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555551", "c1", "a-1", NULL);
	machine_add(bench.machine, "11111111-2222-3333-4444-555555555552", "c1", "a-1", NULL);
	label();
	ask(WANT("'a-1'"));
	see();
	changed = bench.changed;
	see();
	label();
	mdevs_lent_changed(bench.mdevs);
	fake_clock_settle(bench.clock);
	assert_int_equal(bench.changed, changed);
	assert_started("");
	bench_close();
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "before inventory, config and labels are known nothing is done",
		  nothing_is_done_before_all_is_known, NULL);
	suite_add(&suite, "the helper gets parent, type, owner and UUIDs",
		  the_helper_gets_the_words, NULL);
	suite_add(&suite, "a look from before a helper's end starts nothing",
		  an_old_look_starts_nothing_again, NULL);
	suite_add(&suite, "a parent that fails waits longer each time, and blocks no other",
		  a_failing_parent_waits_and_blocks_no_other, NULL);
	suite_add(&suite, "one that has come right and fails again is news",
		  one_that_comes_right_again_is_told, NULL);
	suite_add(&suite, "a helper that cannot be started is a failure",
		  a_helper_that_cannot_be_started_is_a_failure, NULL);
	suite_add(&suite, "a stuck helper keeps its parent, and no other",
		  a_stuck_helper_keeps_its_parent_and_no_other, NULL);
	suite_add(&suite, "only a few helpers run at a time", only_a_few_helpers_run_at_a_time,
		  NULL);
	suite_add(&suite, "what is being removed is not healthy",
		  what_is_being_removed_is_not_healthy, NULL);
	suite_add(&suite, "what a pod has waits for it", what_a_pod_has_waits_for_it, NULL);
	suite_add(&suite, "kubevirt-contract 2 (trigger): a label of the node acts at once",
		  a_label_of_the_node_acts_at_once, NULL);
	suite_add(&suite, "nothing new tells nothing", nothing_new_tells_nothing, NULL);
	return suite_run(&suite, "mdevs");
}
