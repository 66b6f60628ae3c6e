/* reconcile: random lives of the toys, of such that wait, and of such that are digests. */
#include "unit/kube/reconcile_bench.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "unit/kube/random_life.h"

static const char *const names[] = { "a", "b", "w1", "wapply", "x1", "apply2" };

static struct bench *open_toys(struct random_world *world)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	bench_open(b);
	*world = (struct random_world){ .server = b->server, .clock = b->clock };
	return b;
}

static void *toys_open(struct random_world *world)
{
	struct bench *b = open_toys(world);

	b->starts_wanted = true;
	return b;
}

/* One that has its changes wait. */
static void *quiet_open(struct random_world *world)
{
	struct bench *b = toys_open(world);

	bench_end(b);
	b->quiet_ms = 300;
	bench_begin(b);
	return b;
}

/* It makes and deletes nothing. */
static void *digests_open(struct random_world *world)
{
	struct bench *b = open_toys(world);

	begin_with_digests(b);
	return b;
}

static void toys_close(void *arg)
{
	bench_close(arg);
	free(arg);
}

static void user_does(struct bench *b, uint64_t *seed)
{
	const char *name = names[suite_random(seed) % ARRAY_LEN(names)];
	auto_free char *text =
		xasprintf("{'spec':{'userName':'u%d'}}", (int)(suite_random(seed) % 5));

	switch (suite_random(seed) % 4) {
	case 0:
		fake_server_delete(b->server, name);
		return;
	case 1:
		fake_server_write(b->server, name, "{'metadata':{'labels':{'l':'1'}}}");
		return;
	default:
		fake_server_write(b->server, name, text);
		return;
	}
}

static void toys_something(void *arg, uint64_t *seed)
{
	struct bench *b = arg;

	switch (suite_random(seed) % 6) {
	case 0:
		b->busy = suite_random(seed) % 4 == 0;
		b->follows = suite_random(seed) % 4 == 0;
		b->ready = suite_random(seed) % 8 != 0;
		if (suite_random(seed) % 4 == 0)
			err_set(&b->trouble, ERR_RETRY, -EIO, "no answer");
		bench_enqueue_all(b);
		return;
	case 1:
	case 2:
		(void)bench_end_act(b);
		return;
	case 3:
		b->report = suite_random(seed) % 2 ? "late" : "later";
		reconcile_report(b->reconcile, names[suite_random(seed) % ARRAY_LEN(names)]);
		return;
	default:
		user_does(b, seed);
		return;
	}
}

static void toys_begin_again(void *arg)
{
	bench_end(arg);
	bench_begin(arg);
}

static void toys_end_well(void *arg)
{
	struct bench *b = arg;

	b->busy = b->follows = false;
	b->ready = true;
	while (bench_end_act(b))
		;
	bench_enqueue_all(b);
}

static void toys_assert_end(void *arg)
{
	const struct bench *b = arg;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const json_t *object = fake_server_get(b->server, names[i]);

		if (!object) {
			assert_true(names[i][0] != 'w');
			continue;
		}
		assert_true(names[i][0] != 'x');
		assert_string_equal(
			fake_server_text(b->server, names[i], "metadata.deletionTimestamp"), "");
		assert_string_equal(fake_server_text(b->server, names[i], "status.portPath"),
				    fake_server_text(b->server, names[i], "spec.userName"));
	}
}

static void digests_assert_end(void *arg)
{
	const struct bench *b = arg;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(fake_server_text(b->server, names[i], "status.portPath"),
				    fake_server_text(b->server, names[i], "spec.userName"));
}

static const struct random_kind toys = {
	.name = "toys",
	.open = toys_open,
	.close = toys_close,
	.something = toys_something,
	.begin_again = toys_begin_again,
	.end_well = toys_end_well,
	.assert_end = toys_assert_end,
};

int main(void)
{
	static struct random_kind quiet, digests;
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	quiet = toys;
	quiet.name = "quiet toys";
	quiet.open = quiet_open;
	digests = toys;
	digests.name = "digests";
	digests.open = digests_open;
	digests.assert_end = digests_assert_end;
	random_lives(&suite, &toys, 30);
	random_lives(&suite, &quiet, 15);
	random_lives(&suite, &digests, 15);
	return suite_run(&suite, "reconcile_life");
}
