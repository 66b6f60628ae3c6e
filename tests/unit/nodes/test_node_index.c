#include "controller/nodes/node_index.h"

#include <string.h>

#include "base/str.h"
#include "unit/suite.h"

enum { START = 1000000, HOLD = NODE_INDEX_HOLD_MS };

/* One thing that happens. */
enum act {
	END,
	NODE_READY,
	NODE_UNREADY,
	NODE_DELETED,
	AGENT_UP,
	AGENT_DOWN,
	OBJECT,
	NO_OBJECT,
	WAIT
};

static struct reach_case {
	const char *name;
	bool agents;
	struct {
		enum act act;
		uint64_t ms;
	} acts[8];
	enum reach reach;
	uint64_t wait_ms;
} reaches[] = {
	{ "a node that is Ready, with an agent",
	  true,
	  { { NODE_READY, 0 }, { AGENT_UP, 0 } },
	  REACH_OK,
	  0 },
	{ "agents do not count where they are no pods", false, { { NODE_READY, 0 } }, REACH_OK, 0 },
	{ "not Ready for less than the hold is not said",
	  false,
	  { { NODE_READY, 0 }, { NODE_UNREADY, 0 }, { WAIT, HOLD - 1 } },
	  REACH_UNKNOWN,
	  1 },
	{ "not Ready for the hold is said",
	  false,
	  { { NODE_READY, 0 }, { NODE_UNREADY, 0 }, { WAIT, HOLD } },
	  REACH_NODE_NOT_READY,
	  0 },
	{ "Ready again is said at once",
	  false,
	  { { NODE_UNREADY, 0 }, { WAIT, HOLD }, { NODE_READY, 0 } },
	  REACH_OK,
	  0 },
	{ "the agent's end is said after the hold",
	  true,
	  { { NODE_READY, 0 }, { AGENT_UP, 0 }, { AGENT_DOWN, 0 }, { WAIT, HOLD } },
	  REACH_AGENT_DOWN,
	  0 },
	{ "a new agent before the old one's end is no gap",
	  true,
	  { { NODE_READY, 0 },
	    { AGENT_UP, 0 },
	    { AGENT_UP, 0 },
	    { AGENT_DOWN, 0 },
	    { WAIT, HOLD } },
	  REACH_OK,
	  0 },
	{ "not Ready goes before no agent",
	  true,
	  { { NODE_UNREADY, 0 }, { WAIT, HOLD } },
	  REACH_NODE_NOT_READY,
	  0 },
	{ "one trouble after the other is held once",
	  true,
	  { { NODE_READY, 0 },
	    { AGENT_UP, 0 },
	    { AGENT_DOWN, 0 },
	    { WAIT, HOLD / 2 },
	    { NODE_UNREADY, 0 },
	    { WAIT, HOLD / 2 } },
	  REACH_NODE_NOT_READY,
	  0 },
	{ "a node that is gone",
	  false,
	  { { OBJECT, 0 }, { NODE_READY, 0 }, { NODE_DELETED, 0 }, { WAIT, HOLD } },
	  REACH_NODE_GONE,
	  0 },
	{ "a node that never was", false, { { OBJECT, 0 }, { WAIT, HOLD } }, REACH_NODE_GONE, 0 },
	{ "nothing known of it at all", false, { { END, 0 } }, REACH_NODE_GONE, 0 },
};

static uint64_t happen(struct node_index *index, enum act act, uint64_t ms, uint64_t now_ms)
{
	switch (act) {
	case NODE_READY:
	case NODE_UNREADY:
		node_index_set(index, "n", true, act == NODE_READY, now_ms);
		break;
	case NODE_DELETED:
		node_index_set(index, "n", false, false, now_ms);
		break;
	case AGENT_UP:
	case AGENT_DOWN:
		node_index_agent(index, "n", act == AGENT_UP ? 1 : -1, now_ms);
		break;
	case OBJECT:
	case NO_OBJECT:
		node_index_object(index, "n", act == OBJECT ? 1 : -1, now_ms);
		break;
	case END:
	case WAIT:
		break;
	}
	return now_ms + ms;
}

static void reach_matches(void **state)
{
	const struct reach_case *c = *state;
	struct node_index *index = node_index_new(c->agents);
	uint64_t now_ms = START;
	uint64_t wait_ms;

	for (size_t i = 0; c->acts[i].act != END; i++)
		now_ms = happen(index, c->acts[i].act, c->acts[i].ms, now_ms);
	assert_int_equal(node_index_reach(index, "n", now_ms, &wait_ms), c->reach);
	assert_int_equal(wait_ms, c->wait_ms);
	node_index_free(index);
}

SUITE_OBJECT(node_index, node_index_new(false), node_index_free);
SUITE_OBJECT(node_index_of_agents, node_index_new(true), node_index_free);

static void a_node_is_gone_from_when_it_was_missed(void **state)
{
	struct node_index *index = *state;
	uint64_t since_ms = 0;

	node_index_set(index, "n", true, true, START);
	node_index_object(index, "n", 1, START);
	assert_false(node_index_gone(index, "n", &since_ms));
	node_index_set(index, "n", true, false, START + 1); /* unwell is not missing */
	node_index_set(index, "n", false, false, START + 2);
	node_index_object(index, "n", 1, START + 3);
	assert_true(node_index_gone(index, "n", &since_ms));
	assert_int_equal(since_ms, START + 2);

	node_index_set(index, "n", true, true, START + 4); /* back: the time starts again */
	assert_false(node_index_gone(index, "n", &since_ms));
	node_index_set(index, "n", false, false, START + 5);
	assert_true(node_index_gone(index, "n", &since_ms));
	assert_int_equal(since_ms, START + 5);
}

static void what_nothing_is_left_of_is_forgotten(void **state)
{
	struct node_index *index = *state;
	uint64_t since_ms;
	size_t cursor = 0;

	node_index_object(index, "n", 1, START);
	node_index_agent(index, "n", 1, START);
	node_index_pod(index, "n", 1, START);
	node_index_set(index, "n", true, true, START);
	node_index_set(index, "n", false, false, START);
	node_index_agent(index, "n", -1, START);
	assert_true(node_index_has(index, "n"));
	node_index_object(index, "n", -1, START);
	assert_true(node_index_has(index, "n"));
	node_index_pod(index, "n", -1, START);
	assert_false(node_index_has(index, "n"));
	assert_false(node_index_gone(index, "n", &since_ms));
	assert_null(node_index_next(index, &cursor));
}

static void assert_counts(const struct node_index *index, size_t ok, size_t gone, size_t unready,
			  size_t no_agent)
{
	assert_int_equal(node_index_count(index, REACH_OK), ok);
	assert_int_equal(node_index_count(index, REACH_NODE_GONE), gone);
	assert_int_equal(node_index_count(index, REACH_NODE_NOT_READY), unready);
	assert_int_equal(node_index_count(index, REACH_AGENT_DOWN), no_agent);
}

static void nodes_that_are_to_have_an_agent_are_counted(void **state)
{
	struct node_index *index = *state;

	node_index_set(index, "without", true, true, START); /* no device, no pod */
	assert_counts(index, 0, 0, 0, 0);
	node_index_set(index, "devices", true, true, START);
	node_index_object(index, "devices", 1, START);
	node_index_object(index, "devices", 1, START);
	assert_counts(index, 0, 0, 0, 1);
	node_index_set(index, "pod", true, true, START);
	node_index_pod(index, "pod", 1, START);
	assert_counts(index, 0, 0, 0, 2);
	node_index_agent(index, "pod", 1, START);
	assert_counts(index, 1, 0, 0, 1);
	node_index_set(index, "pod", true, false, START);
	assert_counts(index, 0, 0, 1, 1);
	node_index_set(index, "devices", false, false, START);
	assert_counts(index, 0, 1, 1, 0);
	node_index_object(index, "devices", -1, START);
	node_index_object(index, "devices", -1, START);
	node_index_agent(index, "pod", -1, START);
	node_index_pod(index, "pod", -1, START);
	assert_counts(index, 0, 0, 0, 0);
}

/* What has only the label knows no more of a long name than the label's value. */
static void a_label_value_is_the_node_that_it_is_of(void **state)
{
	struct node_index *index = *state;
	auto_str struct str name = STR_INIT;
	auto_free char *label = NULL;
	uint64_t since_ms;

	while (name.len < 100)
		str_add_char(&name, 'n');
	label = node_index_key(name.buf);
	assert_string_not_equal(label, name.buf);

	node_index_object(index, label, 1, START);
	assert_true(node_index_gone(index, name.buf, &since_ms));
	node_index_set(index, name.buf, true, true, START);
	assert_false(node_index_gone(index, label, &since_ms));
	assert_string_equal(node_index_name(index, label), name.buf);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, reaches, reach_matches);
	suite_fixture(&suite, &node_index_fixture);
	suite_add(&suite, "a node is gone from when it was missed",
		  a_node_is_gone_from_when_it_was_missed, NULL);
	suite_add(&suite, "a label value is the node that it is of",
		  a_label_value_is_the_node_that_it_is_of, NULL);
	suite_fixture(&suite, &node_index_of_agents_fixture);
	suite_add(&suite, "what nothing is left of is forgotten",
		  what_nothing_is_left_of_is_forgotten, NULL);
	suite_add(&suite, "nodes that are to have an agent are counted",
		  nodes_that_are_to_have_an_agent_are_counted, NULL);
	return suite_run(&suite, "node_index");
}
