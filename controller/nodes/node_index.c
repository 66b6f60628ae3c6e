#include "controller/nodes/node_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

struct node_index {
	struct map *nodes; /* key -> struct node_state */
	bool agents;
	size_t counts[REACH_LEN];
};

/* Counters of a node. */
enum tally {
	RUNNING, /* running agent pods */
	PODS,    /* agent pods, running or not */
	OBJECTS,
	TALLIES
};

struct node_state {
	char *name; /* the longest name seen: a label value may be shorter than the node's name */
	bool exists;
	bool ready;
	int has[TALLIES];
	enum reach reach;    /* current state */
	enum reach counted;  /* the state it is counted as; UNKNOWN: not counted */
	uint64_t not_ok_ms;  /* when it stopped being OK */
	uint64_t missing_ms; /* when the Node disappeared */
};

struct node_index *node_index_new(bool agents)
{
	struct node_index *index = xcalloc(1, sizeof(*index));

	index->nodes = map_new();
	index->agents = agents;
	return index;
}

static void state_free(void *arg)
{
	struct node_state *state = arg;

	free(state->name);
	free(state);
}

struct node_index *node_index_free(struct node_index *index)
{
	if (!index)
		return NULL;
	map_free_with(index->nodes, state_free);
	free(index);
	return NULL;
}

char *node_index_key(const char *name)
{
	return names_label_value(name);
}

static enum reach reach_of(const struct node_index *index, const struct node_state *state)
{
	if (!state->exists)
		return REACH_NODE_GONE;
	if (!state->ready)
		return REACH_NODE_NOT_READY;
	return index->agents && state->has[RUNNING] == 0 ? REACH_AGENT_DOWN : REACH_OK;
}

static struct node_state *state_of(struct node_index *index, const char *key, const char *name,
				   uint64_t now_ms)
{
	struct node_state *state = map_get(index->nodes, key);

	if (!state) {
		state = xcalloc(1, sizeof(*state));
		state->name = xstrdup(name);
		state->reach = REACH_NODE_GONE;
		state->not_ok_ms = state->missing_ms = now_ms;
		map_set(index->nodes, key, state);
	}
	if (strlen(name) > strlen(state->name))
		str_set(&state->name, name);
	return state;
}

/* A node without devices and without an agent pod does not need an agent. */
static void update_counts(struct node_index *index, struct node_state *state)
{
	enum reach reach =
		state->has[OBJECTS] > 0 || state->has[PODS] > 0 ? state->reach : REACH_UNKNOWN;

	if (state->counted != REACH_UNKNOWN)
		index->counts[state->counted]--;
	if (reach != REACH_UNKNOWN)
		index->counts[reach]++;
	state->counted = reach;
}

static void update_state(struct node_index *index, const char *key, struct node_state *state,
			 uint64_t now_ms)
{
	enum reach reach = reach_of(index, state);

	if (state->reach == REACH_OK && reach != REACH_OK)
		state->not_ok_ms = now_ms;
	if (state->reach != REACH_NODE_GONE && reach == REACH_NODE_GONE)
		state->missing_ms = now_ms;
	state->reach = reach;
	update_counts(index, state);
	if (!state->exists && state->has[RUNNING] == 0 && state->has[PODS] == 0 &&
	    state->has[OBJECTS] == 0)
		state_free(map_remove(index->nodes, key));
}

void node_index_set(struct node_index *index, const char *name, bool there, bool ready,
		    uint64_t now_ms)
{
	auto_free char *key = node_index_key(name);
	struct node_state *state = state_of(index, key, name, now_ms);

	state->exists = there;
	state->ready = ready;
	update_state(index, key, state, now_ms);
}

static void tally_add(struct node_index *index, const char *name, enum tally what, int sign,
		      uint64_t now_ms)
{
	auto_free char *key = node_index_key(name);
	struct node_state *state = state_of(index, key, name, now_ms);

	state->has[what] += sign;
	assert(state->has[what] >= 0);
	update_state(index, key, state, now_ms);
}

void node_index_agent(struct node_index *index, const char *name, int sign, uint64_t now_ms)
{
	tally_add(index, name, RUNNING, sign, now_ms);
}

void node_index_pod(struct node_index *index, const char *name, int sign, uint64_t now_ms)
{
	tally_add(index, name, PODS, sign, now_ms);
}

void node_index_object(struct node_index *index, const char *name, int sign, uint64_t now_ms)
{
	tally_add(index, name, OBJECTS, sign, now_ms);
}

static const struct node_state *look_up(const struct node_index *index, const char *name)
{
	auto_free char *key = node_index_key(name);

	return map_get(index->nodes, key);
}

enum reach node_index_reach(const struct node_index *index, const char *name, uint64_t now_ms,
			    uint64_t *ret_wait_ms)
{
	const struct node_state *state = look_up(index, name);

	*ret_wait_ms = 0;
	if (!state)
		return REACH_NODE_GONE;
	if (state->reach == REACH_OK || now_ms - state->not_ok_ms >= NODE_INDEX_HOLD_MS)
		return state->reach;
	*ret_wait_ms = NODE_INDEX_HOLD_MS - (now_ms - state->not_ok_ms);
	return REACH_UNKNOWN;
}

bool node_index_gone(const struct node_index *index, const char *name, uint64_t *ret_since_ms)
{
	const struct node_state *state = look_up(index, name);

	if (!state || state->exists || state->has[OBJECTS] == 0)
		return false;
	*ret_since_ms = state->missing_ms;
	return true;
}

size_t node_index_count(const struct node_index *index, enum reach reach)
{
	return index->counts[reach];
}

bool node_index_has(const struct node_index *index, const char *name)
{
	return look_up(index, name);
}

const char *node_index_name(const struct node_index *index, const char *key)
{
	const struct node_state *state = map_get(index->nodes, key);

	return state ? state->name : key;
}

const char *node_index_next(const struct node_index *index, size_t *cursor)
{
	const char *key;

	return map_next(index->nodes, cursor, &key, NULL) ? key : NULL;
}
