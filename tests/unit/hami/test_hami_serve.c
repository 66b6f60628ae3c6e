/* hami_serve: calls of a kubelet for pods of HAMi's scheduler, with an API server that answers well,
 * badly or not at all. */
#include "agent/hami/hami_serve.h"

#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/clock.h"
#include "unit/hami/hami_bench.h"

#define PATCH "PATCH pods/train|"
#define NEXT  "'2026-11-27T20:00:05Z,default,next'"

/* --- a kubelet -------------------------------------------------------------------------------- */

struct deferred {
	char *said; /* the variable "GPUS", or the error; NULL: nothing yet */
	bool unwanted;
};

void deferred_answer(struct deferred *deferred, struct allocation *allocation)
{
	assert_null(deferred->said);
	deferred->said = xstrdup(str_or_empty(json_pairs_get(&allocation->envs, "GPUS")));
	allocation_done(allocation);
}

void deferred_refuse(struct deferred *deferred, const struct err *err)
{
	assert_null(deferred->said);
	deferred->said = xasprintf("!%s", err->msg);
}

bool deferred_is_wanted(const struct deferred *deferred)
{
	return !deferred->unwanted;
}

/* --- the bench -------------------------------------------------------------------------------- */

enum { CALLS = 24 };

struct bench {
	struct hami_bench api;
	struct hami_serve *serve;
	struct deferred calls[CALLS];
	size_t len;
	const char *broken; /* a UUID that cannot be given */
};

/* "train/c0 GPU-a 3000 30" */
static int grant(void *arg, const struct hami_entry *entry, const struct hami_pod *pod,
		 const struct hami_pod_container *container, struct allocation *allocation,
		 struct err *err)
{
	const struct bench *b = arg;
	struct str out = STR_INIT;

	str_addf(&out, "%s/%s", pod->meta.name, container->name);
	for (size_t i = 0; i < entry->len; i++) {
		if (b->broken && strcmp(entry->items[i].uuid, b->broken) == 0) {
			str_done(&out);
			return err_set(err, ERR_INVALID, -19, "the node offers no GPU '%s'",
				       b->broken);
		}
		str_addf(&out, " %s %llu %llu", entry->items[i].uuid,
			 (unsigned long long)entry->items[i].memory_mib,
			 (unsigned long long)entry->items[i].cores);
	}
	(void)json_pairs_set(&allocation->envs, "GPUS", str_cstr(&out));
	str_done(&out);
	return 0;
}

static void open_bench(struct bench *b)
{
	hami_bench_init(&b->api);
	b->api.annotations = hami_node_new(&b->api.node, HAMI_FORM_AUTO);
	b->serve = hami_serve_new(&(struct hami_serve_deps){ .node = &b->api.node,
							     .annotations = b->api.annotations,
							     .grant = grant,
							     .arg = b });
	hami_bench_settle(&b->api);
}

static void close_bench(struct bench *b)
{
	hami_serve_free(b->serve);
	hami_node_free(b->api.annotations);
	b->api.annotations = NULL;
	hami_bench_done(&b->api);
	for (size_t i = 0; i < b->len; i++)
		free(b->calls[i].said);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static void settle(struct bench *b)
{
	hami_bench_settle(&b->api);
}

static void pass(struct bench *b, uint64_t ms)
{
	for (uint64_t gone = 0; gone < ms; gone += 250) {
		fake_clock_advance(b->api.clock, 250);
		settle(b);
	}
}

/* The kubelet asks for @wanted GPUs. */
static struct deferred *ask(struct bench *b, size_t wanted)
{
	struct deferred *call = &b->calls[b->len++];

	hami_serve_add(b->serve, "nvidia.com/gpu", wanted, call);
	return call;
}

static void lock(struct bench *b, const char *value)
{
	auto_free char *text =
		xasprintf("{'metadata':{'annotations':{'" HAMI_LOCK "':%s}}}", value);

	fake_server_write(b->api.nodes, "node1", text);
	settle(b);
}

static void lock_train(struct bench *b)
{
	lock(b, "'" TIME ",default,train'");
	(void)fake_server_log(b->api.nodes);
}

static const char *of_pod(struct bench *b, const char *key)
{
	return hami_bench_annotation(b->api.pods, "train", key);
}

static const char *lock_now(struct bench *b)
{
	return hami_bench_annotation(b->api.nodes, "node1", HAMI_LOCK);
}

static void said(const struct deferred *call, const char *text)
{
	assert_non_null(call->said);
	assert_string_equal(call->said, text);
}

/* An error with @text in it. */
static void refused(const struct deferred *call, const char *text)
{
	assert_non_null(call->said);
	assert_int_equal(*call->said, '!');
	if (!strstr(call->said, text))
		assert_string_equal(call->said, text);
}

/* --- it goes well ----------------------------------------------------------------------------- */

static void a_pod_takes_one_read_and_two_writes(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	lock_train(b);
	call = ask(b, 1);
	settle(b);
	said(call, "train/c0 GPU-a 3000 30");
	assert_string_equal(of_pod(b, HAMI_TO_ALLOCATE), ";");
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_SUCCESS);
	assert_string_equal(lock_now(b), "");
	assert_string_equal(fake_server_log(b->api.nodes),
			    "GET pods/train|" PATCH "PATCH nodes/node1|");
}

static void containers_come_one_after_the_other(void **state)
{
	struct bench *b = *state;
	struct deferred *first, *second;

	hami_bench_pod(&b->api, "train", SHARE "GPU-b,NVIDIA,3000,30:;GPU-a,NVIDIA,10240,0:;",
		       "21");
	lock_train(b);
	first = ask(b, 2);
	settle(b);
	said(first, "train/c0 GPU-a 3000 30 GPU-b 3000 30");
	assert_string_equal(of_pod(b, HAMI_TO_ALLOCATE), ";GPU-a,NVIDIA,10240,0:;");
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_ALLOCATING);
	assert_string_equal(lock_now(b), TIME ",default,train");
	second = ask(b, 1);
	settle(b);
	said(second, "train/c1 GPU-a 10240 0");
	assert_string_equal(of_pod(b, HAMI_TO_ALLOCATE), ";;");
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_SUCCESS);
	assert_string_equal(lock_now(b), "");
}

static void calls_wait_for_each_other(void **state)
{
	struct bench *b = *state;
	struct deferred *first, *second;

	hami_bench_pod(&b->api, "train", SHARE ";" SHARE ";", "11");
	lock_train(b);
	first = ask(b, 1);
	second = ask(b, 1);
	settle(b);
	said(first, "train/c0 GPU-a 3000 30");
	said(second, "train/c1 GPU-a 3000 30");
	assert_string_equal(fake_server_log(b->api.nodes),
			    "GET pods/train|" PATCH "GET pods/train|" PATCH "PATCH nodes/node1|");
}

static void twenty_pods_follow_each_other(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 20; i++) {
		auto_free char *name = xasprintf("p%d", i);
		auto_free char *text = xasprintf("'2026-11-27T20:00:%02dZ,default,p%d'", i, i);
		auto_free char *given = xasprintf("p%d/c0 GPU-a 3000 30", i);
		struct deferred *call;

		hami_bench_pod(&b->api, name, SHARE ";", "1");
		lock(b, text);
		call = ask(b, 1);
		settle(b);
		said(call, given);
		assert_string_equal(lock_now(b), "");
	}
}

static void the_cache_may_be_behind_the_lock(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	fake_server_write(b->api.nodes, "node1", LOCKED); /* the watch has not shown it */
	(void)fake_server_log(b->api.nodes);
	call = ask(b, 1);
	fake_clock_settle(b->api.clock);
	while (!call->said && fake_server_serve(b->api.nodes, FAULT_NONE))
		;
	said(call, "train/c0 GPU-a 3000 30");
	settle(b);
	assert_string_equal(lock_now(b), "");
}

/* ... and show the lock of the pod before. */
static void a_lock_of_the_pod_before_is_read_again(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	lock(b, "'" TIME ",default,gone'");
	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	fake_server_write(b->api.nodes, "node1",
			  "{'metadata':{'annotations':{'" HAMI_LOCK
			  "':'2026-11-27T20:00:05Z,default,train'}}}");
	call = ask(b, 1);
	fake_clock_settle(b->api.clock);
	while (!call->said && fake_server_serve(b->api.nodes, FAULT_NONE))
		;
	said(call, "train/c0 GPU-a 3000 30");
}

/* --- the API server --------------------------------------------------------------------------- */

static void a_conflict_at_the_first_patch_is_read_again(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	lock_train(b);
	call = ask(b, 1);
	fake_clock_settle(b->api.clock);
	assert_true(fake_server_serve(b->api.nodes, FAULT_NONE));
	fake_server_write(b->api.pods, "train", "{'metadata':{'labels':{'a':'b'}}}");
	settle(b);
	said(call, "train/c0 GPU-a 3000 30");
	assert_string_equal(fake_server_log(b->api.nodes),
			    "GET pods/train|" PATCH "GET pods/train|" PATCH "PATCH nodes/node1|");
}

static void a_patch_whose_answer_is_lost_is_not_repeated(void **state)
{
	struct bench *b = *state;
	struct deferred *first, *second;

	hami_bench_pod(&b->api, "train", SHARE ";GPU-b,NVIDIA,1,0:;", "11");
	lock_train(b);
	first = ask(b, 1);
	fake_clock_settle(b->api.clock);
	assert_true(fake_server_serve(b->api.nodes, FAULT_NONE));
	assert_true(fake_server_serve(b->api.nodes, FAULT_LOST));
	assert_null(first->said);
	pass(b, 500);
	said(first, "train/c0 GPU-a 3000 30");
	assert_string_equal(of_pod(b, HAMI_TO_ALLOCATE), ";GPU-b,NVIDIA,1,0:;");
	second = ask(b, 1);
	settle(b);
	said(second, "train/c1 GPU-b 1 0");
}

/* Also the last one, after which the pod does not wait any more. */
static void nor_is_the_last_patch(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	lock_train(b);
	call = ask(b, 1);
	fake_clock_settle(b->api.clock);
	assert_true(fake_server_serve(b->api.nodes, FAULT_NONE));
	assert_true(fake_server_serve(b->api.nodes, FAULT_LOST));
	pass(b, 500);
	said(call, "train/c0 GPU-a 3000 30");
	assert_string_equal(lock_now(b), "");
}

/* For @ms nobody answers. */
static void be_away(struct bench *b, uint64_t ms)
{
	for (uint64_t gone = 0; gone < ms; gone += 250) {
		fake_clock_advance(b->api.clock, 250);
		while (fake_server_serve(b->api.nodes, FAULT_NO_ANSWER))
			fake_clock_settle(b->api.clock);
	}
}

static void away_is_an_error_in_time_and_failed_when_it_is_back(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	lock_train(b);
	call = ask(b, 1);
	be_away(b, HAMI_SERVE_MS - 250);
	assert_null(call->said);
	be_away(b, 250);
	refused(call, "the API server has not told within 4500 ms which GPUs the pod gets: ");
	be_away(b, 60000);
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_ALLOCATING);
	pass(b, 600000);
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_FAILED);
	assert_string_equal(of_pod(b, HAMI_TO_ALLOCATE), SHARE ";");
	assert_string_equal(lock_now(b), "");
}

static void a_call_that_is_silent_ends_in_time(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	lock_train(b);
	call = ask(b, 1);
	fake_clock_advance(b->api.clock, HAMI_SERVE_MS);
	refused(call, "it has not answered");
}

static void a_pod_that_came_after_it_is_left_alone(void **state)
{
	struct bench *b = *state;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	lock_train(b);
	(void)ask(b, 1);
	be_away(b, HAMI_SERVE_MS);
	/* Deleted, made again under its name, and bound here again. */
	fake_server_delete(b->api.pods, "train");
	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	fake_server_write(b->api.nodes, "node1",
			  "{'metadata':{'annotations':{'" HAMI_LOCK
			  "':'2026-11-27T20:01:00Z,default,train'}}}");
	pass(b, 600000);
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_ALLOCATING);
	assert_string_equal(lock_now(b), "2026-11-27T20:01:00Z,default,train");
}

/* --- forged texts and strangers --------------------------------------------------------------- */

static struct forged_case {
	const char *name;
	const char *chosen;
	const char *words;
} forgeries[] = {
	{ "a forged UUID", "GPU-forged,NVIDIA,3000,30:;", "the node offers no GPU 'GPU-forged'" },
	{ "negative memory", "GPU-a,NVIDIA,-3000,30:;", "not a size of memory in MiB: '-3000'" },
	{ "semicolons", ";;;;", "all of hami.io/vgpu-devices-to-allocate has been allocated" },
	{ "nonsense", "drop table pods", "it does not end in ';'" },
	{ "nothing", "", "all of hami.io/vgpu-devices-to-allocate has been allocated" },
};

static void a_forged_pod_is_refused_and_the_true_one_served(void **state)
{
	struct bench *b = *state;
	const struct forged_case *c = suite_row(state);
	struct deferred *forged, *true_one;

	b->broken = "GPU-forged";
	hami_bench_pod(&b->api, "train", c->chosen, "1");
	hami_bench_pod(&b->api, "next", SHARE ";", "1");
	lock_train(b);
	forged = ask(b, 1);
	settle(b);
	refused(forged, c->words);
	refused(forged, "pod default/train: ");
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_FAILED);
	assert_string_equal(lock_now(b), "");
	lock(b, NEXT);
	true_one = ask(b, 1);
	settle(b);
	said(true_one, "next/c0 GPU-a 3000 30");
}

static void a_megabyte_is_refused(void **state)
{
	struct bench *b = *state;
	char *text = xcalloc(1, (1 << 20) + 1);
	struct deferred *call;

	memset(text, 'x', 1 << 20);
	hami_bench_pod(&b->api, "train", text, "1");
	free(text);
	lock_train(b);
	call = ask(b, 1);
	settle(b);
	refused(call, "has more than 65536 bytes");
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_FAILED);
}

static void without_a_lock_there_is_nothing(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	call = ask(b, 1);
	settle(b);
	refused(call, "the Node has no annotation hami.io/mutex.lock");
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_ALLOCATING);
}

static struct stranger_case {
	const char *name;
	const char *change; /* of the pod */
	const char *words;
} strangers[] = {
	{ "a pod of another node", "{'spec':{'nodeName':'node2'}}",
	  "not bound to the node 'node1'" },
	{ "one that has its GPUs", "{'metadata':{'annotations':{'" HAMI_PHASE "':'success'}}}",
	  "'success', not allocating" },
	{ "one that no scheduler of HAMi's has bound",
	  "{'metadata':{'annotations':{'" HAMI_PHASE "':null}}}", "'', not allocating" },
};

static void a_stranger_is_refused_and_left_alone(void **state)
{
	struct bench *b = *state;
	const struct stranger_case *c = suite_row(state);
	struct deferred *call;
	auto_free char *phase = NULL;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	fake_server_write(b->api.pods, "train", c->change);
	phase = xstrdup(of_pod(b, HAMI_PHASE));
	lock_train(b);
	call = ask(b, 1);
	settle(b);
	refused(call, c->words);
	assert_string_equal(of_pod(b, HAMI_PHASE), phase);
	assert_string_equal(of_pod(b, HAMI_TO_ALLOCATE), SHARE ";");
	assert_string_equal(lock_now(b), TIME ",default,train");
}

static void the_lock_of_a_dead_pod_is_left_to_the_scheduler(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	lock_train(b);
	call = ask(b, 1);
	settle(b);
	refused(call, "not found");
	assert_string_equal(lock_now(b), TIME ",default,train");
}

/* The kubelet does not say for which pod it asks. */
static void another_pods_request_does_not_fail_the_lock_s_pod(void **state)
{
	struct bench *b = *state;
	struct deferred *other, *own;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	lock_train(b);
	other = ask(b, 2);
	settle(b);
	refused(other, "the kubelet requests 2 GPUs, the next container, 'c0', 1,");
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_ALLOCATING);
	own = ask(b, 1);
	settle(b);
	said(own, "train/c0 GPU-a 3000 30");
	pass(b, 10000);
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_SUCCESS);
}

static void if_it_was_its_own_the_kubelet_fails_it(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	hami_bench_pod(&b->api, "train", SHARE ";", "2");
	lock_train(b);
	call = ask(b, 2);
	settle(b);
	refused(call, "has chosen 1 for it");
	fake_server_write_status(b->api.pods, "train", "{'phase':'Failed'}");
	pass(b, 4000);
	assert_string_equal(of_pod(b, HAMI_PHASE), HAMI_FAILED);
	assert_string_equal(lock_now(b), "");
}

static void nothing_is_taken_for_a_kubelet_that_has_given_up(void **state)
{
	struct bench *b = *state;
	struct deferred *call;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	lock_train(b);
	call = ask(b, 1);
	call->unwanted = true;
	settle(b);
	assert_string_equal(of_pod(b, HAMI_TO_ALLOCATE), SHARE ";");
}

static void calls_that_wait_end_with_the_agent(void **state)
{
	struct bench *b = *state;
	struct deferred *first, *second;

	hami_bench_pod(&b->api, "train", SHARE ";", "1");
	lock_train(b);
	first = ask(b, 1);
	second = ask(b, 1);
	fake_clock_settle(b->api.clock);
	b->serve = hami_serve_free(b->serve);
	refused(first, "the agent ends");
	refused(second, "the agent ends");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a pod takes one read and two writes",
		  a_pod_takes_one_read_and_two_writes, NULL);
	suite_add(&suite, "containers come one after the other",
		  containers_come_one_after_the_other, NULL);
	suite_add(&suite, "calls wait for each other", calls_wait_for_each_other, NULL);
	suite_add(&suite, "twenty pods follow each other", twenty_pods_follow_each_other, NULL);
	suite_add(&suite, "the cache may be behind the lock", the_cache_may_be_behind_the_lock,
		  NULL);
	suite_add(&suite, "a lock of the pod before is read again",
		  a_lock_of_the_pod_before_is_read_again, NULL);
	suite_add(&suite, "a conflict at the first patch is read again",
		  a_conflict_at_the_first_patch_is_read_again, NULL);
	suite_add(&suite, "a patch whose answer is lost is not repeated",
		  a_patch_whose_answer_is_lost_is_not_repeated, NULL);
	suite_add(&suite, "nor is the last patch", nor_is_the_last_patch, NULL);
	suite_add(&suite,
		  "an API server that is away is an error in time, and failed when it is back",
		  away_is_an_error_in_time_and_failed_when_it_is_back, NULL);
	suite_add(&suite, "a call that is silent ends in time", a_call_that_is_silent_ends_in_time,
		  NULL);
	suite_add(&suite, "a pod that came after it is left alone",
		  a_pod_that_came_after_it_is_left_alone, NULL);
	suite_rows(&suite, forgeries, a_forged_pod_is_refused_and_the_true_one_served);
	suite_add(&suite, "a megabyte is refused", a_megabyte_is_refused, NULL);
	suite_add(&suite, "without a lock there is nothing", without_a_lock_there_is_nothing, NULL);
	suite_rows(&suite, strangers, a_stranger_is_refused_and_left_alone);
	suite_add(&suite, "the lock of a dead pod is left to the scheduler",
		  the_lock_of_a_dead_pod_is_left_to_the_scheduler, NULL);
	suite_add(&suite, "another pod's request does not fail the lock's pod",
		  another_pods_request_does_not_fail_the_lock_s_pod, NULL);
	suite_add(&suite, "if it was its own, the kubelet fails it",
		  if_it_was_its_own_the_kubelet_fails_it, NULL);
	suite_add(&suite, "nothing is taken for a kubelet that has given up",
		  nothing_is_taken_for_a_kubelet_that_has_given_up, NULL);
	suite_add(&suite, "calls that wait end with the agent", calls_that_wait_end_with_the_agent,
		  NULL);
	return suite_run(&suite, "hami_serve");
}
