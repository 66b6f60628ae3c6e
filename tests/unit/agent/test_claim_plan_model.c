/*
 * The property of claim_plan: with a kernel that obeys and an API server that stores what is
 * written, two claims of one group come to rest from wherever they start, in the same state
 * whatever crash comes in between, and then write nothing more.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/claim/claim_plan.h"
#include "api/pcidevice.h"
#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "unit/agent/claim_store.h"
#include "unit/agent/world.h"

enum { FUNCTIONS = 2, STEPS_MAX = 48, NOWNERS = 3, QUIET = 2, TEXT_SIZE = 64 };

enum driver { DRIVER_NONE, DRIVER_NATIVE, DRIVER_VFIO, NDRIVERS };
enum record { RECORD_NONE, RECORD_OWN, RECORD_OLD, NRECORDS };
enum wish { WISH_NONE, WISH_LIVE, WISH_GROUP, WISH_DELETED, NWISHES };

/* How a crash cuts a transition off; the agent forgets all in any case. */
enum cut { CUT_AFTER, CUT_RECORDS_ONLY, CUT_HALF, NCUTS };

static const char *const addresses[FUNCTIONS] = { ADDRESS, SIBLING };
static const char *const names[FUNCTIONS] = { NAME, SIBLINGS };
static const char *const natives[FUNCTIONS] = { "e1000e", "8139cp" };
static const char *const uids[FUNCTIONS] = { "u0", "u1" };
static const char *const ids[FUNCTIONS] = { "10d3", "10d4" };

struct start {
	enum driver driver[FUNCTIONS];
	enum record record[FUNCTIONS];
	enum wish wish[FUNCTIONS];
	unsigned owners; /* 0: one; 1, 2: two, of which the first or the second claim is older */
};

struct function {
	char driver[TEXT_SIZE]; /* "": none */
	bool recorded;
	char claim[TEXT_SIZE], uid[TEXT_SIZE];
};

/* What a crash has left: all that the next agent decides on. */
struct crash {
	int step;
	enum cut cut;
	struct function functions[FUNCTIONS];
	json_t *claims[FUNCTIONS]; /* NULL: there is none     */
	char *text;                /* without versions and times */
};

struct crashes {
	struct crash *items;
	size_t len, cap;
};

struct model {
	struct function functions[FUNCTIONS];
	struct store *claims;
	struct pcidevice *devices[FUNCTIONS];

	const struct world *world; /* one of `worlds` */
	bool scanned;              /* the world is as the kernel is */
	struct binder_outcome outcome;
	enum binder_verb verb;
	bool past; /* @outcome is set, and newer than the world */

	int steps, writes;
	struct crashes *crashes; /* what each crash would have left; NULL: not noted */
	const char *what;        /* the start, for messages */
};

static void set(char text[TEXT_SIZE], const char *value)
{
	(void)snprintf(text, TEXT_SIZE, "%s", value);
}

/* What was made before: worlds by their lines, ends (texts) by what a crash has left. Most of the
 * time would go into making them again. */
static struct map *worlds, *ends;

static const struct world *world_with(const char *lines)
{
	struct world *world = map_get(worlds, lines);
	auto_free char *text = xstrdup(lines);
	char *rest = text;
	const char *line;

	if (world)
		return world;
	world = xcalloc(1, sizeof(*world));
	world_open(world);
	while ((line = strsep(&rest, "\n")) && *line)
		world_add(world, line);
	world_look(world, &(struct inventory_options){ .node_name = NODE });
	map_set(worlds, lines, world);
	return world;
}

static void forget_all(void)
{
	size_t cursor = 0;
	void *world = NULL;
	void *end = NULL;

	while (map_next(worlds, &cursor, NULL, &world)) {
		world_close(world);
		free(world);
	}
	worlds = map_free(worlds);
	cursor = 0;
	while (map_next(ends, &cursor, NULL, &end))
		free(end);
	ends = map_free(ends);
}

static void scan(struct model *m)
{
	auto_str struct str lines = STR_INIT;

	for (int i = 0; i < FUNCTIONS; i++) {
		const struct function *f = &m->functions[i];

		str_addf(
			&lines,
			"{\"kind\":\"pci\",\"address\":\"%s\",\"vendor\":\"8086\",\"device\":\"%s\","
			"\"class\":\"020000\",\"iommuGroup\":\"12\",\"driver\":\"%s\"}\n",
			addresses[i], ids[i], f->driver);
		if (f->recorded)
			str_addf(
				&lines,
				"{\"kind\":\"record\",\"address\":\"%s\",\"claim\":\"%s\",\"uid\":\"%s\","
				"\"driver\":\"vfio-pci\",\"id\":\"8086:%s\",\"native\":\"%s\"}\n",
				addresses[i], f->claim, f->uid, ids[i], natives[i]);
	}
	m->world = world_with(str_cstr(&lines));
	binder_outcome_done(&m->outcome);
	m->past = false;
	m->scanned = true;
}

static void start_claim(struct model *m, int i, const struct start *start)
{
	static const char *const meta[NWISHES] = {
		[WISH_LIVE] = "",
		[WISH_GROUP] = "",
		[WISH_DELETED] = ",'deletionTimestamp':'2026-01-01T00:00:00Z',"
				 "'finalizers':['" NAMES_FINALIZER_HARVESTER_PCI "']",
	};
	enum wish wish = start->wish[i];
	auto_free char *text = NULL;
	auto_json json_t *json = NULL;

	if (wish == WISH_NONE)
		return;
	text = xasprintf("{'metadata':{'name':'%s','uid':'%s','resourceVersion':'1',"
			 "'generation':1,'creationTimestamp':'2026-01-01T00:00:0%dZ'%s},"
			 "'spec':{'userName':'%s','includeIOMMUGroup':%s}}",
			 names[i], uids[i], start->owners == 2 ? FUNCTIONS - i : i, meta[wish],
			 start->owners ? uids[i] : "", wish == WISH_GROUP ? "true" : "false");
	json = object_json(text);
	claim_store_put(m->claims, json);
}

static struct pcidevice *published(int i)
{
	struct pcidevice *device = api_object_new(&pcidevice_kind);

	device->meta.name = xstrdup(names[i]);
	device->meta.uid = xstrdup("d");
	json_pairs_set(&device->meta.annotations, NAMES_ANNOTATION_DRIVER, natives[i]);
	return device;
}

static void model_open(struct model *m, const struct start *start)
{
	*m = (struct model){ .claims = store_new(&pcideviceclaim_kind) };
	for (int i = 0; i < FUNCTIONS; i++) {
		struct function *f = &m->functions[i];
		const char *driver[NDRIVERS] = { "", natives[i], "vfio-pci" };

		set(f->driver, driver[start->driver[i]]);
		set(f->claim, names[i]);
		set(f->uid, start->record[i] == RECORD_OLD ? "old" : uids[i]);
		f->recorded = start->record[i] != RECORD_NONE;
		m->devices[i] = published(i);
		start_claim(m, i, start);
	}
	scan(m);
}

static void model_close(struct model *m)
{
	binder_outcome_done(&m->outcome);
	for (int i = 0; i < FUNCTIONS; i++)
		api_object_free(&pcidevice_kind, m->devices[i]);
	store_free(m->claims);
}

static struct function *function_of(struct model *m, const char *address)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		if (strcmp(addresses[i], address) == 0)
			return &m->functions[i];
	}
	fail_msg("%s: no such function", address);
	return NULL;
}

static const char *owner_of(const struct pcideviceclaim *claim)
{
	return claim->spec.user_name ? claim->spec.user_name : "";
}

static bool is_bound_for(const struct model *m, const struct binder_function *job)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		const struct function *f = &m->functions[i];

		if (strcmp(addresses[i], job->address) == 0)
			return f->recorded && strcmp(f->driver, "vfio-pci") == 0 &&
			       strcmp(f->claim, job->claim) == 0 && strcmp(f->uid, job->uid) == 0;
	}
	return false;
}

/* What must hold before a device is touched. What was bound for somebody else stays so. */
static void check_bind(const struct model *m, const struct claim_case *c,
		       const struct binder_job *job)
{
	assert_true(c->fresh);
	assert_true(api_meta_has_finalizer(&c->claim->meta, NAMES_FINALIZER_HARVESTER_PCI));
	assert_string_equal(c->claim->status.iommu_group, "12");
	assert_int_equal(c->claim->status.observed_generation, c->claim->meta.generation);
	for (size_t i = 0; i < job->len; i++) {
		const struct pcideviceclaim *claim = store_object(m->claims, job->items[i].claim);

		assert_non_null(claim);
		assert_null(claim->meta.deletion_timestamp);
		assert_true(api_meta_has_finalizer(&claim->meta, NAMES_FINALIZER_HARVESTER_PCI));
		if (!is_bound_for(m, &job->items[i]))
			assert_string_equal(owner_of(claim), owner_of(c->claim));
	}
}

/* Never half a group: who is not moved along is on no native driver. */
static void check_whole(const struct model *m, const struct binder_job *job)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		bool moved = false;

		for (size_t j = 0; j < job->len; j++)
			moved |= strcmp(job->items[j].address, addresses[i]) == 0;
		if (!moved && strcmp(m->functions[i].driver, natives[i]) == 0)
			fail_msg("%s: half a group", m->what);
	}
}

static void move(struct function *f, const struct binder_function *job, enum binder_verb verb)
{
	if (verb == BINDER_RELEASE) {
		set(f->driver, job->native ? job->native : f->driver);
		f->recorded = false;
		return;
	}
	set(f->driver, job->driver);
}

static void record(struct function *f, const struct binder_function *job)
{
	f->recorded = true;
	set(f->claim, job->claim);
	set(f->uid, job->uid);
}

/* Versions and times change nothing that the next agent does. */
static char *crash_text(const struct crash *crash)
{
	struct str text = STR_INIT;

	for (int i = 0; i < FUNCTIONS; i++) {
		const struct function *f = &crash->functions[i];
		auto_json json_t *json = json_deep_copy(crash->claims[i]);
		json_t *conditions = json_object_get(json_object_get(json, "status"), "conditions");
		auto_free char *claim = NULL;
		json_t *condition;
		size_t k;

		json_object_del(json_object_get(json, "metadata"), "resourceVersion");
		json_array_foreach (conditions, k, condition)
			json_object_del(condition, "lastTransitionTime");
		claim = json ? json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
		str_addf(&text, "%s|%d|%s|%s|%s\n", f->driver, f->recorded, f->claim, f->uid,
			 str_or_empty(claim));
	}
	return str_detach(&text);
}

/* The agent may die now. */
static void note_crash(struct model *m, enum cut cut)
{
	struct crash *crash;

	if (!m->crashes)
		return;
	crash = array_add(m->crashes);
	*crash = (struct crash){ .step = m->steps, .cut = cut };
	memcpy(crash->functions, m->functions, sizeof(crash->functions));
	for (int i = 0; i < FUNCTIONS; i++) {
		const void *claim = store_object(m->claims, names[i]);

		crash->claims[i] = claim ? api_object_encode(&pcideviceclaim_kind, claim) : NULL;
	}
	crash->text = crash_text(crash);
}

static void crashes_done(struct crashes *crashes)
{
	for (size_t i = 0; i < crashes->len; i++) {
		for (int k = 0; k < FUNCTIONS; k++)
			json_decref(crashes->items[i].claims[k]);
		free(crashes->items[i].text);
	}
	array_done(crashes);
}

static void transit_to(struct model *m, const struct binder_job *job, enum cut cut)
{
	size_t len = cut == CUT_AFTER ? job->len : cut == CUT_RECORDS_ONLY ? 0 : (job->len + 1) / 2;

	for (size_t i = 0; i < job->len && job->verb == BINDER_BIND; i++)
		record(function_of(m, job->items[i].address), &job->items[i]);
	for (size_t i = 0; i < len; i++)
		move(function_of(m, job->items[i].address), &job->items[i], job->verb);
	if (cut == CUT_HALF && job->verb == BINDER_BIND)
		function_of(m, job->items[0].address)->driver[0] = '\0';
}

static void transit(struct model *m, const struct binder_job *job)
{
	struct function before[FUNCTIONS];

	memcpy(before, m->functions, sizeof(before));
	for (enum cut cut = CUT_AFTER + 1; cut < NCUTS; cut++) {
		transit_to(m, job, cut);
		note_crash(m, cut);
		memcpy(m->functions, before, sizeof(before));
	}
	transit_to(m, job, CUT_AFTER);

	binder_outcome_done(&m->outcome);
	m->outcome =
		(struct binder_outcome){ .task = { .result = TASK_DONE, .message = xstrdup("") } };
	for (size_t i = 0; i < job->len; i++) {
		const struct function *f = function_of(m, job->items[i].address);

		*array_add(&m->outcome.seen) = (struct binder_seen){
			.address = xstrdup(job->items[i].address),
			.driver = *f->driver ? xstrdup(f->driver) : NULL,
		};
	}
	m->verb = job->verb;
	m->past = true;
	m->scanned = false;
}

static void write_claim(struct model *m, const char *name, json_t *body)
{
	const struct pcideviceclaim *claim;

	claim_store_patch(m->claims, name, body);
	claim = store_object(m->claims, name);
	if (claim->meta.deletion_timestamp && claim->meta.finalizers.len == 0)
		store_remove(m->claims, name, NULL, object_ignore_change, NULL);
	m->writes++;
}

/* Do the step. True if another may follow in this run. */
static bool act(struct model *m, struct claim_case *c, const struct claim_decision *decision)
{
	if (decision->step == CLAIM_REST)
		return false;
	m->steps++;
	if (m->steps > STEPS_MAX)
		fail_msg("%s: no end", m->what);
	switch (decision->step) {
	case CLAIM_REST:
		break;
	case CLAIM_READ:
		assert_false(c->fresh);
		break;
	case CLAIM_MARK:
	case CLAIM_TELL:
	case CLAIM_UNMARK:
		write_claim(m, c->name, decision->body);
		break;
	case CLAIM_BIND:
		check_bind(m, c, &decision->job);
		check_whole(m, &decision->job);
		transit(m, &decision->job);
		break;
	case CLAIM_RELEASE:
		assert_true(c->fresh);
		transit(m, &decision->job);
		break;
	}
	c->fresh = true;
	note_crash(m, CUT_AFTER);
	return true;
}

/* One run of the agent's work on one claim. The PCIDevice says at once which driver the device is
 * on. */
static void work(struct model *m, int i)
{
	bool more = true;
	bool fresh = false;

	while (more) {
		char **shown = &m->devices[i]->status.kernel_driver_in_use;
		struct claim_decision decision;
		struct claim_case c = {
			.node_name = NODE,
			.name = names[i],
			.claim = store_object(m->claims, names[i]),
			.fresh = fresh,
			.inventory = m->world->inventory,
			.claims = m->claims,
			.device = m->devices[i],
			.last = { m->past ? &m->outcome.task : NULL, m->verb, m->past,
				  &m->outcome.seen },
			.now_wall_ms = WORLD_NOW + m->steps * 1000,
		};

		free(*shown);
		*shown = xstrdup(m->functions[i].driver);
		claim_plan(&c, &decision);
		more = act(m, &c, &decision);
		fresh = c.fresh;
		claim_decision_done(&decision);
	}
}

/* Until nothing has happened for two rounds: one before and one after the scan. */
static void run(struct model *m)
{
	for (int quiet = 0; quiet < QUIET;) {
		int before = m->steps;

		for (int i = 0; i < FUNCTIONS; i++)
			work(m, i);
		quiet = m->steps == before ? quiet + 1 : 0;
		if (!m->scanned && quiet > 0)
			scan(m);
	}
}

static const char *ready(const struct pcideviceclaim *claim)
{
	const struct api_condition *condition =
		api_conditions_find(&claim->status.conditions, "Ready");

	return condition ? condition->reason : "";
}

static char *state_text(const struct model *m)
{
	struct str text = STR_INIT;

	for (int i = 0; i < FUNCTIONS; i++) {
		const struct function *f = &m->functions[i];
		const struct pcideviceclaim *claim = store_object(m->claims, names[i]);

		str_addf(&text, "[%s %s %s]", f->driver, f->recorded ? f->claim : "",
			 f->recorded ? f->uid : "");
		if (claim)
			str_addf(&text, "(%d %s)", claim->status.passthrough_enabled, ready(claim));
	}
	return str_detach(&text);
}

/* Claims of several owners: one of them has the group. */
static void check_owners(const struct model *m)
{
	const struct pcideviceclaim *first = store_object(m->claims, names[0]);
	const struct pcideviceclaim *second = store_object(m->claims, names[1]);

	if (first && second && strcmp(owner_of(first), owner_of(second)) != 0 &&
	    strcmp(ready(first), "Ready") == 0 && strcmp(ready(second), "Ready") == 0)
		fail_msg("%s: two owners have it", m->what);
}

/* What must hold at rest. */
static void check_rest(const struct model *m)
{
	bool lent = false;

	for (int i = 0; i < FUNCTIONS; i++) {
		const struct function *f = &m->functions[i];
		const struct pcideviceclaim *claim = store_object(m->claims, names[i]);
		bool vfio = strcmp(f->driver, "vfio-pci") == 0;

		if (!claim) {
			lent |= vfio && f->recorded;
			continue;
		}
		lent |= strcmp(ready(claim), "Ready") == 0;
		assert_null(claim->meta.deletion_timestamp);
		assert_int_equal(claim->status.passthrough_enabled, vfio);
		if (strcmp(ready(claim), "Ready") == 0)
			assert_true(vfio && f->recorded && claim->meta.finalizers.len == 1);
	}
	for (int i = 0; i < FUNCTIONS; i++) {
		if (lent && strcmp(m->functions[i].driver, natives[i]) == 0)
			fail_msg("%s: half a group is lent", m->what);
	}
}

/* The end is checked, and what another agent makes of it: nothing. */
static char *rest_of(struct model *m)
{
	m->writes = 0;
	scan(m);
	run(m);
	assert_int_equal(m->writes, 0);
	check_rest(m);
	check_owners(m);
	return state_text(m);
}

/* As another agent finds it. */
static char *end_of_crash(const struct crash *crash, const char *what)
{
	struct model m;
	char *end;

	model_open(&m, &(struct start){ 0 });
	m.what = what;
	memcpy(m.functions, crash->functions, sizeof(m.functions));
	for (int i = 0; i < FUNCTIONS; i++) {
		if (crash->claims[i])
			claim_store_put(m.claims, crash->claims[i]);
	}
	scan(&m);
	run(&m);
	end = rest_of(&m);
	model_close(&m);
	return end;
}

/* Two owners had it before that was refused. A crash in the release of one changes which was
 * first. */
static bool is_open(const struct start *start)
{
	return start->owners > 0 && start->record[0] == RECORD_OWN &&
	       start->record[1] == RECORD_OWN;
}

static void check_crash(const struct start *start, const char *what, const char *end,
			const struct crash *crash)
{
	const char *other = map_get(ends, crash->text);

	if (!other) {
		map_set(ends, crash->text, end_of_crash(crash, what));
		other = map_get(ends, crash->text);
	}
	if (strcmp(end, other) != 0 && !is_open(start))
		fail_msg("%s, crash %u after step %d:\n%s, not\n%s", what, crash->cut, crash->step,
			 other, end);
}

static void check_start(const struct start *start)
{
	auto_free char *what =
		xasprintf("drivers %u%u records %u%u wishes %u%u owners %u", start->driver[0],
			  start->driver[1], start->record[0], start->record[1], start->wish[0],
			  start->wish[1], start->owners);
	struct crashes crashes = { 0 };
	auto_free char *end = NULL;
	struct model m;

	model_open(&m, start);
	m.what = what;
	m.crashes = &crashes;
	run(&m);
	m.crashes = NULL;
	end = rest_of(&m);
	for (size_t i = 0; i < crashes.len; i++)
		check_crash(start, what, end, &crashes.items[i]);
	crashes_done(&crashes);
	model_close(&m);
}

/* @n counts through all starts. False past the last. */
static bool start_of(unsigned n, struct start *ret_start)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		ret_start->driver[i] = n % NDRIVERS;
		n /= NDRIVERS;
		ret_start->record[i] = n % NRECORDS;
		n /= NRECORDS;
		ret_start->wish[i] = n % NWISHES;
		n /= NWISHES;
	}
	ret_start->owners = n % NOWNERS;
	return n < NOWNERS;
}

/* What only repeats the same with one owner need not be looked at. */
static bool is_worth_it(const struct start *start)
{
	if (start->owners == 0)
		return true;
	for (int i = 0; i < FUNCTIONS; i++) {
		if (start->wish[i] == WISH_NONE || start->record[i] == RECORD_OLD)
			return false;
	}
	return true;
}

static void every_start_comes_to_one_rest(void **state)
{
	struct start start;

	for (unsigned n = 0; start_of(n, &start); n++) {
		if (is_worth_it(&start))
			check_start(&start);
	}
}

static void a_life_is_four_writes(void **state)
{
	static const struct start start = { .driver = { DRIVER_NATIVE, DRIVER_NONE },
					    .wish = { WISH_LIVE, WISH_NONE } };
	struct model m;
	auto_json json_t *object = NULL;
	json_t *meta;

	model_open(&m, &start);
	m.what = "a life";
	run(&m);
	assert_int_equal(m.writes, 3);
	object = api_object_encode(&pcideviceclaim_kind, store_object(m.claims, NAME));
	meta = json_object_get(object, "metadata");
	json_object_set_new(meta, "deletionTimestamp", json_string("2026-01-01T00:00:00Z"));
	claim_store_put(m.claims, object);
	run(&m);
	assert_int_equal(m.writes, 4);
	assert_null(store_get(m.claims, NAME));
	assert_string_equal(m.functions[0].driver, "e1000e");
	model_close(&m);
}

int main(void)
{
	struct suite suite = { 0 };
	int failed;

	worlds = map_new();
	ends = map_new();
	suite_add(&suite, "every start comes to one rest, whatever crash comes in between",
		  every_start_comes_to_one_rest, NULL);
	suite_add(&suite, "the life of a claim is four writes", a_life_is_four_writes, NULL);
	failed = suite_run(&suite, "claim_plan_model");
	forget_all();
	return failed;
}
