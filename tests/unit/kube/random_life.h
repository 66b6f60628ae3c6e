/*
 * random_life: random lives of objects between users, a node, and an API server that fails; of any
 * kind that is on lib/kube/reconcile.h.
 *
 * Requests are served in order, well or with any fault (a conflict, gone, too large, lost, ...);
 * watches show changes late, or end; the program ends in the middle and begins again; and between
 * that happens what the kind has: users' writes, scans, helpers that end. Then everything works
 * again. In the end all has to be as it should be, and nothing is written any more. What the engine
 * promises is asserted on the way by fake_reconcile, what a request has to be by fake_server.
 *
 * Each seed is a test, so that the name of the one that fails says it:
 *
 *	static const struct random_kind kind = { .name = "toys", .open = open, ... };
 *	random_lives(&suite, &kind, 20);
 */
#pragma once

#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_reconcile.h"
#include "fake/fake_server.h"
#include "unit/suite.h"

/* What the kind lives with. */
struct random_world {
	struct fake_server *server;
	struct fake_server *other; /* one with a client of its own; NULL: none */
	struct fake_clock *clock;
};

/* What a kind has. All but the first get what that has returned. */
struct random_kind {
	const char *name;
	void *(*open)(struct random_world *ret_world);
	void (*close)(void *arg); /* frees it, too */
	/* Something of users, of the node, or of helpers. */
	void (*something)(void *arg, uint64_t *seed);
	/* The program ends, and begins again; NULL: it does not. */
	void (*begin_again)(void *arg);
	/* Whatever is under way succeeds, and the node is looked at. */
	void (*end_well)(void *arg);
	/* All is as it should be. */
	void (*assert_end)(void *arg);
};

struct random_row {
	const char *name;
	const struct random_kind *kind;
	uint64_t seed;
};

static inline bool random_step(const struct random_world *world)
{
	return fake_server_step(world->server) || (world->other && fake_server_step(world->other));
}

static inline void random_settle(const struct random_world *world)
{
	unsigned left = 5000;

	do {
		fake_clock_settle(world->clock);
		if (left-- == 0)
			fail_msg("it does not come to rest: %s", fake_server_log(world->server));
	} while (random_step(world));
}

static inline void random_thing(const struct random_kind *kind, const struct random_world *world,
				void *arg, uint64_t *seed)
{
	struct fake_server *server =
		world->other && suite_random(seed) % 2 ? world->other : world->server;
	enum fake_fault fault = FAULT_NONE;

	switch (suite_random(seed) % 24) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		kind->something(arg, seed);
		return;
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
		(void)fake_server_show_any(server, suite_random(seed));
		return;
	case 10:
	case 11:
		fake_clock_advance(world->clock, suite_random(seed) % 2000);
		return;
	case 12:
		if (suite_random(seed) % 4 == 0)
			fake_server_end_watch(server);
		else if (suite_random(seed) % 4 == 0 && kind->begin_again)
			kind->begin_again(arg);
		return;
	case 13:
	case 14:
		fault = (enum fake_fault)(suite_random(seed) % FAKE_FAULTS);
		break;
	default:
		break;
	}
	(void)fake_server_serve(server, fault);
}

static inline size_t random_writes(const struct random_world *world)
{
	return fake_server_all_writes(world->server) +
	       (world->other ? fake_server_all_writes(world->other) : 0);
}

/* Everything works, for longer than the longest pause. */
static inline void random_end(const struct random_kind *kind, const struct random_world *world,
			      void *arg)
{
	for (int i = 0; i < 40; i++) {
		random_settle(world);
		kind->end_well(arg);
		random_settle(world);
		fake_clock_advance(world->clock, 20000);
	}
}

static inline void random_live(void **state)
{
	enum { THINGS = 400 };
	const struct random_row *row = suite_row(state);
	const struct random_kind *kind = row->kind;
	uint64_t seed = row->seed;
	size_t writes;
	struct random_world world = { 0 };
	void *arg;

	fake_reconcile_begin();
	arg = kind->open(&world);
	fake_reconcile_listen(world.server);
	if (world.other)
		fake_reconcile_listen(world.other);
	for (int i = 0; i < THINGS; i++) {
		fake_clock_settle(world.clock);
		random_thing(kind, &world, arg, &seed);
	}
	random_end(kind, &world, arg);
	kind->assert_end(arg);
	writes = random_writes(&world);
	random_end(kind, &world, arg);
	assert_int_equal(random_writes(&world), writes); /* of an unchanged world */
	kind->close(arg);
	fake_reconcile_end();
}

/* @count lives of the kind. */
static inline void random_lives(struct suite *suite, const struct random_kind *kind, size_t count)
{
	enum { LIVES_MAX = 64 };
	static struct random_row rows[LIVES_MAX];
	static char names[LIVES_MAX][64];
	static size_t used;

	for (size_t i = 0; i < count; i++, used++) {
		assert_true(used < LIVES_MAX);
		(void)snprintf(names[used], sizeof(names[used]), "a random life of %s, seed %zu",
			       kind->name, i);
		rows[used] = (struct random_row){ names[used], kind, i };
		suite_add(suite, rows[used].name, random_live, &rows[used]);
	}
}
