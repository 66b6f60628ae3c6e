/* nvidia_ctk: when NVIDIA's program is run, by a script in its place. The clock is the test's. */
#include "agent/nvidia/nvidia_ctk.h"

#include <errno.h>

#include "agent/nvidia/cdi_files.h"
#include "api/json_values.h"
#include "base/mem.h"
#include "fake/fake_clock.h"
#include "unit/agent/fake_helper.h"

struct bench {
	struct fake_helper fake;
	struct fake_clock *clock;
	struct nvidia_ctk *ctk;
	struct cdi_files files;
	struct json_strs wanted;
	int ended;
};

static void on_ended(void *arg)
{
	struct bench *b = arg;

	b->ended++;
}

static void begin(struct bench *b, const char *body, const char *path)
{
	fake_helper_init(&b->fake, body);
	b->clock = fake_clock_new();
	b->ctk = nvidia_ctk_new(&(struct nvidia_ctk_deps){ .loop = &b->fake.loop,
							   .clock = fake_clock_as_clock(b->clock),
							   .path = path ? path : b->fake.path,
							   .host_root = "/host",
							   .ended = on_ended,
							   .arg = b });
	json_strs_add(&b->wanted, "GPU-0");
	json_strs_add(&b->wanted, "GPU-1");
}

static void done(struct bench *b)
{
	nvidia_ctk_free(b->ctk);
	fake_clock_free(b->clock);
	fake_helper_done(&b->fake);
	cdi_files_done(&b->files);
	json_strs_done(&b->wanted);
}

SUITE_CLOSING(bench, struct bench, done);

static bool look(struct bench *b)
{
	return nvidia_ctk_look(b->ctk, &b->files, &b->wanted);
}

static void run_until_ended(struct bench *b, int n)
{
	while (b->ended < n && uv_run(&b->fake.loop, UV_RUN_ONCE))
		;
	assert_int_equal(b->ended, n);
}

static void has_trouble(const struct bench *b, const char *part)
{
	const char *trouble = nvidia_ctk_trouble(b->ctk);

	if (!trouble || !strstr(trouble, part))
		fail_msg("'%s' is not in '%s'", part, trouble ? trouble : "");
}

static void a_missing_file_is_written(void **state)
{
	struct bench *b = *state;
	auto_free char *wrote = NULL;

	begin(b, "echo \"$*\" >$here/wrote; echo noise", NULL);
	assert_true(look(b));
	has_trouble(b, "is writing its CDI file");
	assert_false(look(b)); /* one at a time */
	run_until_ended(b, 1);
	wrote = fake_helper_wrote(&b->fake, "wrote");
	assert_string_equal(wrote, "cdi generate --device-name-strategy=uuid "
				   "--output=/host/var/run/cdi/nvidia.yaml\n");
	assert_null(nvidia_ctk_trouble(b->ctk));
}

static void nothing_is_written_beside_another_file(void **state)
{
	struct bench *b = *state;

	begin(b, "exit 0", NULL);
	json_strs_add(&b->files.devices, "GPU-0");
	assert_false(look(b));
	json_strs_add(&b->files.devices, "GPU-1");
	assert_false(look(b));
	assert_null(nvidia_ctk_trouble(b->ctk));
}

static void nothing_is_written_for_no_device(void **state)
{
	struct bench *b = *state;

	begin(b, "exit 0", NULL);
	json_strs_done(&b->wanted);
	assert_false(look(b));
}

/* For a device that the program leaves out, it would not be otherwise the next time. */
static void its_own_file_is_written_again_for_other_devices_only(void **state)
{
	struct bench *b = *state;

	begin(b, "exit 0", NULL);
	assert_true(look(b));
	run_until_ended(b, 1);
	json_strs_add(&b->files.devices, "GPU-0");
	fake_clock_advance(b->clock, NVIDIA_CTK_PAUSE_MS);
	assert_true(look(b)); /* GPU-1 */
	run_until_ended(b, 2);
	fake_clock_advance(b->clock, NVIDIA_CTK_PAUSE_MS);
	assert_false(look(b));
	json_strs_add(&b->wanted, "MIG-7");
	assert_true(look(b));
	run_until_ended(b, 3);
	json_strs_add(&b->wanted, "MIG-8");
	assert_false(look(b)); /* not so soon */
}

static void a_failure_is_told_and_tried_again(void **state)
{
	struct bench *b = *state;

	begin(b, "exit 3", NULL);
	assert_true(look(b));
	run_until_ended(b, 1);
	has_trouble(b, "cdi generate failed: helper exited with status 3");
	fake_clock_advance(b->clock, NVIDIA_CTK_PAUSE_MS - 1);
	assert_false(look(b));
	fake_clock_advance(b->clock, 1);
	assert_true(look(b));
	run_until_ended(b, 2);
}

static void a_program_that_hangs_is_killed(void **state)
{
	struct bench *b = *state;

	begin(b, "read x <$gate", NULL);
	assert_true(look(b));
	fake_helper_expire(&b->fake, NULL);
	run_until_ended(b, 1);
	has_trouble(b, "it did not end within a minute");
	fake_clock_advance(b->clock, NVIDIA_CTK_PAUSE_MS);
	while (!look(b)) /* when it is gone */
		uv_run(&b->fake.loop, UV_RUN_ONCE);
}

static void a_program_that_is_missing_is_told(void **state)
{
	struct bench *b = *state;

	begin(b, "exit 0", "/nonexistent/nvidia-ctk");
	assert_true(look(b));
	has_trouble(b, "no CDI file describes it: start '/nonexistent/nvidia-ctk': no such file");
}

#define ONE(suite, test) suite_add(suite, #test, test, NULL)

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	ONE(&suite, a_missing_file_is_written);
	ONE(&suite, nothing_is_written_beside_another_file);
	ONE(&suite, nothing_is_written_for_no_device);
	ONE(&suite, its_own_file_is_written_again_for_other_devices_only);
	ONE(&suite, a_failure_is_told_and_tried_again);
	ONE(&suite, a_program_that_hangs_is_killed);
	ONE(&suite, a_program_that_is_missing_is_told);
	return suite_run(&suite, "nvidia_ctk");
}
