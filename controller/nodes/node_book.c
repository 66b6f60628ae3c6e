#include "controller/nodes/node_book.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "base/map.h"
#include "base/mem.h"

struct node_book {
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
	bool there;
	bool ready;
	int has[TALLIES];
	enum reach reach;    /* current state */
	enum reach counted;  /* the state it is counted as; UNSAID: not counted */
	uint64_t unwell_ms;  /* when it stopped being OK */
	uint64_t missing_ms; /* when the Node disappeared */
};

struct node_book *node_book_new(bool agents)
{
	struct node_book *book = xcalloc(1, sizeof(*book));

	book->nodes = map_new();
	book->agents = agents;
	return book;
}

static void state_free(struct node_state *state)
{
	free(state->name);
	free(state);
}

struct node_book *node_book_free(struct node_book *book)
{
	size_t cursor = 0;
	void *state;

	if (!book)
		return NULL;
	while (map_next(book->nodes, &cursor, NULL, &state))
		state_free(state);
	map_free(book->nodes);
	free(book);
	return NULL;
}

char *node_book_key(const char *name)
{
	return names_label_value(name);
}

static enum reach reach_of(const struct node_book *book, const struct node_state *state)
{
	if (!state->there)
		return REACH_NODE_GONE;
	if (!state->ready)
		return REACH_NODE_NOT_READY;
	return book->agents && state->has[RUNNING] == 0 ? REACH_AGENT_DOWN : REACH_OK;
}

static struct node_state *state_of(struct node_book *book, const char *key, const char *name,
				   uint64_t now_ms)
{
	struct node_state *state = map_get(book->nodes, key);

	if (!state) {
		state = xcalloc(1, sizeof(*state));
		state->name = xstrdup(name);
		state->reach = REACH_NODE_GONE;
		state->unwell_ms = state->missing_ms = now_ms;
		map_set(book->nodes, key, state);
	}
	if (strlen(name) > strlen(state->name)) {
		free(state->name);
		state->name = xstrdup(name);
	}
	return state;
}

/* A node without devices and without an agent pod does not need an agent. */
static void update_counts(struct node_book *book, struct node_state *state)
{
	enum reach reach =
		state->has[OBJECTS] > 0 || state->has[PODS] > 0 ? state->reach : REACH_UNSAID;

	if (state->counted != REACH_UNSAID)
		book->counts[state->counted]--;
	if (reach != REACH_UNSAID)
		book->counts[reach]++;
	state->counted = reach;
}

static void update_state(struct node_book *book, const char *key, struct node_state *state,
			 uint64_t now_ms)
{
	enum reach reach = reach_of(book, state);

	if (state->reach == REACH_OK && reach != REACH_OK)
		state->unwell_ms = now_ms;
	if (state->reach != REACH_NODE_GONE && reach == REACH_NODE_GONE)
		state->missing_ms = now_ms;
	state->reach = reach;
	update_counts(book, state);
	if (!state->there && state->has[RUNNING] == 0 && state->has[PODS] == 0 &&
	    state->has[OBJECTS] == 0)
		state_free(map_remove(book->nodes, key));
}

void node_book_set(struct node_book *book, const char *name, bool there, bool ready,
		   uint64_t now_ms)
{
	auto_free char *key = node_book_key(name);
	struct node_state *state = state_of(book, key, name, now_ms);

	state->there = there;
	state->ready = ready;
	update_state(book, key, state, now_ms);
}

static void tally_add(struct node_book *book, const char *name, enum tally what, int sign,
		      uint64_t now_ms)
{
	auto_free char *key = node_book_key(name);
	struct node_state *state = state_of(book, key, name, now_ms);

	state->has[what] += sign;
	assert(state->has[what] >= 0);
	update_state(book, key, state, now_ms);
}

void node_book_agent(struct node_book *book, const char *name, int sign, uint64_t now_ms)
{
	tally_add(book, name, RUNNING, sign, now_ms);
}

void node_book_pod(struct node_book *book, const char *name, int sign, uint64_t now_ms)
{
	tally_add(book, name, PODS, sign, now_ms);
}

void node_book_object(struct node_book *book, const char *name, int sign, uint64_t now_ms)
{
	tally_add(book, name, OBJECTS, sign, now_ms);
}

static const struct node_state *look_up(const struct node_book *book, const char *name)
{
	auto_free char *key = node_book_key(name);

	return map_get(book->nodes, key);
}

enum reach node_book_reach(const struct node_book *book, const char *name, uint64_t now_ms,
			   uint64_t *ret_wait_ms)
{
	const struct node_state *state = look_up(book, name);

	*ret_wait_ms = 0;
	if (!state)
		return REACH_NODE_GONE;
	if (state->reach == REACH_OK || now_ms - state->unwell_ms >= NODE_BOOK_HOLD_MS)
		return state->reach;
	*ret_wait_ms = NODE_BOOK_HOLD_MS - (now_ms - state->unwell_ms);
	return REACH_UNSAID;
}

bool node_book_gone(const struct node_book *book, const char *name, uint64_t *ret_since_ms)
{
	const struct node_state *state = look_up(book, name);

	if (!state || state->there || state->has[OBJECTS] == 0)
		return false;
	*ret_since_ms = state->missing_ms;
	return true;
}

size_t node_book_count(const struct node_book *book, enum reach reach)
{
	return book->counts[reach];
}

bool node_book_has(const struct node_book *book, const char *name)
{
	return look_up(book, name);
}

const char *node_book_name(const struct node_book *book, const char *key)
{
	const struct node_state *state = map_get(book->nodes, key);

	return state ? state->name : key;
}

const char *node_book_next(const struct node_book *book, size_t *cursor)
{
	const char *key;

	return map_next(book->nodes, cursor, &key, NULL) ? key : NULL;
}
