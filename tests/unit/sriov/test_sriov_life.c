/* sriov: random lives of an SRIOVNetworkDevice. */
#include "unit/sriov/sriov_bench.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "unit/kube/random_life.h"

static int made; /* functions that the card has */

static const char *const one[] = { CARD, NULL };

static void scan(struct bench *b)
{
	bench_scan(b, made == 0 ? one : two);
}

static void *life_open(struct random_world *world)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	bench_open(b);
	made = 0;
	*world = (struct random_world){ b->server, b->claim_server, b->clock };
	return b;
}

static void life_close(void *arg)
{
	bench_close(arg);
	free(arg);
}

static void do_task(void)
{
	made = strstr(str_cstr(&fake_task.words), "count=2") ? 2 : 0;
}

static void end_task(uint64_t *seed)
{
	if (!fake_task.runs)
		return;
	if (fake_task.task.stuck) {
		fake_task_go();
	} else if (suite_random(seed) % 8 == 0) {
		fake_task_get_stuck();
	} else if (suite_random(seed) % 3 == 0) {
		fake_task_end(TASK_FAILED, "WriteFailed");
	} else {
		do_task();
		fake_task_end(TASK_DONE, NULL);
	}
}

static void something(void *arg, uint64_t *seed)
{
	struct bench *b = arg;

	switch (suite_random(seed) % 8) {
	case 0:
	case 1:
		if (fake_server_get(b->server, NAME))
			bench_edit(b, suite_random(seed) % 2 ? "{'numVFs':2}" : "{'numVFs':0}");
		return;
	case 2:
		fake_server_delete(b->server, NAME);
		return;
	case 3:
		b->pod = suite_random(seed) % 3 == 0 ? "pod default/vm-1" : NULL;
		return;
	case 4:
	case 5:
		scan(b);
		return;
	default:
		end_task(seed);
		return;
	}
}

static void begin_again(void *arg)
{
	fake_task.runs = false; /* it ends by itself, and has done nothing */
	bench_end(arg);
	bench_start(arg);
}

static void end_well(void *arg)
{
	struct bench *b = arg;

	b->pod = NULL;
	if (fake_task.runs && fake_task.task.stuck) {
		fake_task_go();
	} else if (fake_task.runs) {
		do_task();
		fake_task_end(TASK_DONE, NULL);
	}
	scan(b);
}

static void assert_end(void *arg)
{
	struct bench *b = arg;
	auto_free char *ready = bench_ready(b);
	const json_t *spec = json_object_get(fake_server_get(b->server, NAME), "spec");

	assert_int_equal(json_integer_value(json_object_get(spec, "numVFs")), made);
	assert_int_equal(strncmp(ready, "True ", strlen("True ")), 0); /* by whomever it was made */
}

static const struct random_kind cards = {
	.name = "SRIOVNetworkDevices",
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
	random_lives(&suite, &cards, 30);
	return suite_run(&suite, "sriov_life");
}
