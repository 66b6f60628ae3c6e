/* usb_claims: random lives of a USBDeviceClaim. */
#include "unit/usb/usb_claims_bench.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "unit/kube/random_life.h"

static void *life_open(struct random_world *world)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	bench_open(b);
	fake_server_set_watch(b->server, FAKE_WATCH_BY_HAND);
	fake_server_set_watch(b->devices, FAKE_WATCH_BY_HAND);
	fake_server_set_watch(b->pci_claims, FAKE_WATCH_BY_HAND);
	*world = (struct random_world){ .server = b->server, .clock = b->clock };
	return b;
}

static void life_close(void *arg)
{
	bench_close(arg);
	free(arg);
}

static void end_task(uint64_t *seed)
{
	static const enum task_result results[] = { TASK_DONE, TASK_DONE, TASK_FAILED, TASK_BUSY,
						    TASK_REFUSED };
	enum task_result result = results[suite_random(seed) % ARRAY_LEN(results)];

	if (!fake_task.runs)
		return;
	if (fake_task.task.stuck)
		fake_task_go();
	else if (suite_random(seed) % 8 == 0)
		fake_task_get_stuck();
	else if (suite_random(seed) % 8 == 0)
		fake_task.task.spec.on_late(fake_task.task.spec.arg);
	else
		fake_task_end(result, result == TASK_DONE ? NULL : "UnbindFailed");
}

static void something(void *arg, uint64_t *seed)
{
	struct bench *b = arg;

	switch (suite_random(seed) % 8) {
	case 0:
	case 1:
		fake_server_write(b->server, STICK, "{'spec':{'userName':'admin'}}");
		return;
	case 2:
		fake_server_delete(b->server, STICK);
		return;
	case 3:
		fake_server_write(b->server, STICK, "{'metadata':{'labels':{'l':'1'}}}");
		return;
	case 4:
		b->pod = suite_random(seed) % 3 == 0 ? "pod default/vm-1" : NULL;
		return;
	case 5:
		bench_look(b, suite_random(seed) % 4 == 0 ? "" : "1-2=5:A");
		return;
	default:
		end_task(seed);
		return;
	}
}

static void begin_again(void *arg)
{
	struct bench *b = arg;

	bench_end(b);
	bench_begin(b);
	b->this_node.inventory = b->node.world.inventory;
	usb_claims_enqueue_all(b->claims);
}

static void end_well(void *arg)
{
	struct bench *b = arg;

	b->pod = NULL;
	if (fake_task.runs && fake_task.task.stuck)
		fake_task_go();
	else if (fake_task.runs)
		fake_task_end(TASK_DONE, NULL);
	bench_look(b, "1-2=5:A");
}

static void assert_end(void *arg)
{
	struct bench *b = arg;

	if (!fake_server_get(b->server, STICK))
		return;
	assert_string_equal(fake_server_text(b->server, STICK, "metadata.deletionTimestamp"), "");
	assert_string_equal(fake_server_text(b->server, STICK, "status.portPath"), "1-2");
	assert_has(b, "\"reason\":\"Ready\"");
}

static const struct random_kind claims = {
	.name = "USBDeviceClaims",
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
	random_lives(&suite, &claims, 30);
	return suite_run(&suite, "usb_claims_life");
}
