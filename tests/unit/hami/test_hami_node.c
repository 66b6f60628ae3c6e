/* hami_node: the Node's annotations: what is written, when, and what is left alone. */
#include "agent/hami/hami_node.h"

#include "api/json_map.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/reconcile.h"
#include "unit/hami/hami_bench.h"

#define A "GPU-aaaaaaaa-0000-0000-0000-000000000000"
#define JSON                                                                \
	"[{\"id\":\"" A "\",\"count\":10,\"devmem\":15360,\"devcore\":100," \
	"\"type\":\"NVIDIA A2\",\"mode\":\"hami-core\",\"health\":true,\"devicevendor\":\"NVIDIA\"}]"
#define TEXT     A ",10,15360,100,NVIDIA-NVIDIA A2,0,true,0,hami-core:"
#define REPORTED "Reported 2001-09-09 01:46:40 +0000 UTC"

enum { WALL_S = 1000000000 };

static struct hami_gpu a2(void)
{
	return (struct hami_gpu){ .uuid = A,
				  .name = "NVIDIA A2",
				  .numa_node = -1,
				  .count = 10,
				  .memory_mib = 15360,
				  .cores = 100 };
}

/* --- the plan --------------------------------------------------------------------------------- */

static struct plan_case {
	const char *name;
	enum hami_form form;
	const char *list, *handshake, *lock; /* on the Node; NULL: none */
	bool no_gpus;                        /* they are not known */
	const char *done;
	uint64_t waited_ms;
	const char *body; /* the annotations of the patch; NULL: none */
	uint64_t again_ms;
} plans[] = {
	{ "a new Node gets the list as JSON", .body = "{\"" HAMI_REGISTER "\":1}" },
	{ "the same list is not written", .list = JSON },
	{ "a foreign list is replaced", .list = "[]", .body = "{\"" HAMI_REGISTER "\":1}" },
	{ "nothing is said of unknown GPUs", .no_gpus = true, .list = "[]" },
	{ "a list as text stays text, and is answered", .list = TEXT,
	  .body = "{\"" HAMI_HANDSHAKE "\":\"" REPORTED "\"}" },
	{ "a handshake that says so is left alone", .list = TEXT, .handshake = "Reported x" },
	{ "a question waits", .list = TEXT, .handshake = "Requesting_2026-11-27 20:00:00",
	  .waited_ms = 5000, .again_ms = 15000 },
	{ "then it is answered", .list = TEXT, .handshake = "Requesting_2026-11-27 20:00:00",
	  .waited_ms = HAMI_ANSWER_MS, .body = "{\"" HAMI_HANDSHAKE "\":\"" REPORTED "\"}" },
	{ "a node that was given up comes back", .list = TEXT, .handshake = "Deleted_x",
	  .body = "{\"" HAMI_HANDSHAKE "\":\"" REPORTED "\"}" },
	{ "later schedulers get no answer", .list = JSON, .handshake = "Requesting_x",
	  .waited_ms = 100000 },
	{ "nor when they gave the node up", .list = JSON, .handshake = "Deleted_x" },
	{ "JSON that is asked for replaces text", .form = HAMI_FORM_JSON, .list = TEXT,
	  .body = "{\"" HAMI_REGISTER "\":1}" },
	{ "text that is asked for replaces JSON, in one write", .form = HAMI_FORM_TEXT,
	  .list = JSON,
	  .body = "{\"" HAMI_REGISTER "\":1,\"" HAMI_HANDSHAKE "\":\"" REPORTED "\"}" },
	{ "a lock that is done ends", .list = JSON, .lock = TIME ",a,b", .done = TIME ",a,b",
	  .body = "{\"" HAMI_LOCK "\":null}" },
	{ "with the list in one write", .lock = TIME ",a,b", .done = TIME ",a,b",
	  .body = "{\"" HAMI_REGISTER "\":1,\"" HAMI_LOCK "\":null}" },
	{ "also while the GPUs are not known", .no_gpus = true, .lock = TIME ",a,b",
	  .done = TIME ",a,b", .body = "{\"" HAMI_LOCK "\":null}" },
	{ "the next lock of the same pod stays", .list = JSON, .lock = "2026-11-27T20:00:09Z,a,b",
	  .done = TIME ",a,b" },
	{ "another's lock stays", .list = JSON, .lock = TIME ",a,c", .done = TIME ",a,b" },
	{ "nobody's lock stays", .list = JSON, .lock = TIME ",a,b" },
};

static void annotate(struct node *node, const char *key, const char *value)
{
	if (value)
		(void)json_pairs_set(&node->meta.annotations, key, value);
}

/* The annotations of the patch, with 1 for the list, which must be the right one. */
static char *shown(const struct plan_case *c, const json_t *body)
{
	json_t *annotations = json_object_get(json_object_get(body, "metadata"), "annotations");
	const char *list = json_string_value(json_object_get(annotations, HAMI_REGISTER));

	if (list) {
		assert_string_equal(list, c->form == HAMI_FORM_TEXT ? TEXT : JSON);
		json_object_set_new(annotations, HAMI_REGISTER, json_integer(1));
	}
	return json_map_text(annotations);
}

static void plan_matches_table(void **state)
{
	const struct plan_case *c = *state;
	const struct hami_gpu gpu = a2();
	struct node node = { 0 };
	struct decision d = { 0 };
	auto_free char *text = NULL;

	node.meta.uid = xstrdup("u1");
	node.meta.resource_version = xstrdup("7");
	annotate(&node, HAMI_REGISTER, c->list);
	annotate(&node, HAMI_HANDSHAKE, c->handshake);
	annotate(&node, HAMI_LOCK, c->lock);
	hami_node_plan(&(struct hami_node_case){ .node = &node,
						 .gpus = c->no_gpus ? NULL : &gpu,
						 .ngpus = 1,
						 .form = c->form,
						 .done = c->done,
						 .waited_ms = c->waited_ms,
						 .now_wall_ms = (int64_t)WALL_S * 1000 },
		       &d);
	assert_int_equal(d.step, c->body ? STEP_PATCH : STEP_REST);
	assert_int_equal(d.again_ms, c->again_ms);
	if (c->body) {
		text = shown(c, d.body);
		assert_string_equal(text, c->body);
	}
	json_decref(d.body);
	json_map_done(node_kind.map, &node);
}

/* --- the reconciler --------------------------------------------------------------------------- */

static void open_bench(struct hami_bench *b)
{
	hami_bench_init(b);
	b->annotations = hami_node_new(&b->node, HAMI_FORM_AUTO);
	hami_bench_settle(b);
}

static void close_bench(struct hami_bench *b)
{
	hami_node_free(b->annotations);
	b->annotations = NULL;
	hami_bench_done(b);
}

SUITE_FIXTURE(bench, struct hami_bench, open_bench, close_bench);

static const char *list_of(struct hami_bench *b)
{
	return hami_bench_annotation(b->nodes, "node1", HAMI_REGISTER);
}

static void a_change_is_one_write_and_an_idle_node_none(void **state)
{
	struct hami_bench *b = *state;
	struct hami_gpu gpu = a2();
	size_t before = fake_server_writes(b->nodes);

	hami_node_set(b->annotations, &gpu, 1);
	hami_bench_settle(b);
	assert_string_equal(list_of(b), JSON);
	assert_int_equal(fake_server_writes(b->nodes), before + 1);
	for (int i = 0; i < 600; i++) {
		hami_node_set(b->annotations, &gpu, 1);
		fake_clock_advance(b->clock, 1000);
		hami_bench_settle(b);
	}
	assert_int_equal(fake_server_writes(b->nodes), before + 1);
	gpu.trouble = "Xid 79";
	hami_node_set(b->annotations, &gpu, 1);
	hami_bench_settle(b);
	assert_non_null(strstr(list_of(b), "\"health\":false"));
	assert_int_equal(fake_server_writes(b->nodes), before + 2);
}

static void a_list_that_somebody_removes_comes_back(void **state)
{
	struct hami_bench *b = *state;
	const struct hami_gpu gpu = a2();

	hami_node_set(b->annotations, &gpu, 1);
	hami_bench_settle(b);
	fake_server_write(b->nodes, "node1",
			  "{'metadata':{'annotations':{'" HAMI_REGISTER "':null}}}");
	assert_string_equal(list_of(b), "");
	hami_bench_settle(b);
	assert_string_equal(list_of(b), JSON);
}

static void a_write_that_fails_is_repeated(void **state)
{
	struct hami_bench *b = *state;
	const struct hami_gpu gpu = a2();

	hami_node_set(b->annotations, &gpu, 1);
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->nodes, FAULT_CONFLICT));
	for (int i = 0; i < 60; i++) {
		fake_clock_advance(b->clock, 1000);
		hami_bench_settle(b);
	}
	assert_string_equal(list_of(b), JSON);
}

static void unknown_gpus_leave_the_list(void **state)
{
	struct hami_bench *b = *state;
	const struct hami_gpu gpu = a2();

	hami_node_set(b->annotations, &gpu, 1);
	hami_bench_settle(b);
	hami_node_set(b->annotations, NULL, 0);
	hami_bench_settle(b);
	assert_string_equal(list_of(b), JSON);
	hami_node_set(b->annotations, &gpu, 0);
	hami_bench_settle(b);
	assert_string_equal(list_of(b), "[]");
}

static void an_old_scheduler_is_answered_within_its_minute(void **state)
{
	struct hami_bench *b = *state;
	const struct hami_gpu gpu = a2();

	fake_server_write(b->nodes, "node1",
			  "{'metadata':{'annotations':{'" HAMI_REGISTER "':'" TEXT "',"
			  "'" HAMI_HANDSHAKE "':'Requesting_2026-11-27 20:00:00'}}}");
	hami_node_set(b->annotations, &gpu, 1);
	hami_bench_settle(b);
	fake_clock_advance(b->clock, HAMI_ANSWER_MS - 1000);
	hami_bench_settle(b);
	assert_string_equal(hami_bench_annotation(b->nodes, "node1", HAMI_HANDSHAKE),
			    "Requesting_2026-11-27 20:00:00");
	fake_clock_advance(b->clock, 1000);
	hami_bench_settle(b);
	assert_int_equal(
		strncmp(hami_bench_annotation(b->nodes, "node1", HAMI_HANDSHAKE), "Reported ", 9),
		0);
}

static void a_lock_is_released_once(void **state)
{
	struct hami_bench *b = *state;

	fake_server_write(b->nodes, "node1", LOCKED);
	hami_bench_settle(b);
	assert_string_equal(hami_node_lock(b->annotations), TIME ",default,train");
	hami_node_release(b->annotations, TIME ",default,train");
	assert_null(hami_node_lock(b->annotations));
	hami_bench_settle(b);
	assert_string_equal(hami_bench_annotation(b->nodes, "node1", HAMI_LOCK), "");
	fake_server_write(b->nodes, "node1",
			  "{'metadata':{'annotations':{'" HAMI_LOCK
			  "':'2026-11-27T20:00:05Z,default,"
			  "train'}}}");
	hami_bench_settle(b);
	assert_string_equal(hami_node_lock(b->annotations), "2026-11-27T20:00:05Z,default,train");
}

/* A pod that is deleted and made again within a second. */
static void a_lock_that_reads_the_same_is_the_next_one(void **state)
{
	struct hami_bench *b = *state;

	fake_server_write(b->nodes, "node1", LOCKED);
	hami_bench_settle(b);
	hami_node_release(b->annotations, TIME ",default,train");
	hami_bench_settle(b);
	assert_string_equal(hami_bench_annotation(b->nodes, "node1", HAMI_LOCK), "");
	fake_server_write(b->nodes, "node1", LOCKED);
	hami_bench_settle(b);
	assert_string_equal(hami_node_lock(b->annotations), TIME ",default,train");
	assert_string_equal(hami_bench_annotation(b->nodes, "node1", HAMI_LOCK),
			    TIME ",default,train");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, plans, plan_matches_table);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a change is one write, and an idle node none",
		  a_change_is_one_write_and_an_idle_node_none, NULL);
	suite_add(&suite, "a list that somebody removes comes back",
		  a_list_that_somebody_removes_comes_back, NULL);
	suite_add(&suite, "a write that fails is repeated", a_write_that_fails_is_repeated, NULL);
	suite_add(&suite, "unknown GPUs leave the list", unknown_gpus_leave_the_list, NULL);
	suite_add(&suite, "an old scheduler is answered within its minute",
		  an_old_scheduler_is_answered_within_its_minute, NULL);
	suite_add(&suite, "a lock is released once", a_lock_is_released_once, NULL);
	suite_add(&suite, "a lock that reads the same is the next one",
		  a_lock_that_reads_the_same_is_the_next_one, NULL);
	return suite_run(&suite, "hami_node");
}
