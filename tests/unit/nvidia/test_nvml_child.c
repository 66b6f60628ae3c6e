/* hostdev-nvml: the program itself, beside a library that fails, loses GPUs and hangs. */
#include "base/str.h"
#include "unit/nvidia/nvml_play.h"

/* ---- questions ---- */

static void an_inventory_is_told(void **state)
{
	struct play *play = *state;
	const struct nvml_line *line;

	play_scene(play,
		   THREE "driver 535.261.03\nmove 0 2\n"
			 "gpu 0000:33:00.0 " UUID(3) " name=Some_GPU minor=9 memory=81920 "
						     "compute=90 clique=5 events=0x8 mig=0\n");
	play_start(play, "ask", NULL, NULL, NULL);
	line = play_ask(play, "{\"n\":41,\"ask\":\"inventory\"}");
	assert_int_equal(line->kind, NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_GPU), 4);
	assert_int_equal(play_count(play, NVML_LINE_PROBLEM), 0);
	for (size_t i = 0; i < play->lines_len; i++)
		assert_int_equal(play->lines[i].number, 41);
	line = play_find(play, NVML_LINE_SYSTEM, NULL);
	assert_string_equal(line->driver, "535.261.03");
	assert_string_equal(line->nvml, "12.535.261.03");
	assert_int_equal(line->cuda, 12040);
	assert_int_equal(line->gpus, 4);
	line = play_find(play, NVML_LINE_GPU, UUID(0));
	assert_string_equal(line->address, ADDRESS(0));
	assert_int_equal(line->index, 2);
	assert_int_equal(line->minor, 0);
	assert_int_equal(line->clique, -1);
	assert_true(line->well);
	line = play_find(play, NVML_LINE_GPU, UUID(3));
	assert_string_equal(line->name, "Some GPU");
	assert_int_equal(line->index, 3);
	assert_int_equal(line->minor, 9);
	assert_int_equal(line->memory_mib, 81920);
	assert_int_equal(line->compute_major, 9);
	assert_int_equal(line->compute_minor, 0);
	assert_int_equal(line->clique, 5);
	assert_int_equal(line->events, 8);
	assert_int_equal(line->recovery, 0);
	assert_false(line->mig);
	assert_true(line->persistence);
}

static void a_mig_device_comes_and_goes(void **state)
{
	struct play *play = *state;
	const struct nvml_line *line;

	play_scene(play, THREE "mig 1 7 0 MIG-7 0 1 1 4864\n");
	play_start(play, "ask", NULL, NULL, NULL);
	(void)play_ask(play, "{\"n\":1,\"ask\":\"inventory\"}");
	line = play_find(play, NVML_LINE_MIG, "MIG-7");
	assert_true(line < play_find(play, NVML_LINE_GPU, UUID(1)));
	assert_string_equal(line->address, ADDRESS(1));
	assert_string_equal(line->profile, "1g.5gb");
	assert_int_equal(line->gi, 7);
	assert_int_equal(line->ci, 0);
	assert_int_equal(line->slot, 0);
	play_tell(play, "unmig 1 7 0\nmig 1 3 1 MIG-3 7 2 1 9856\n");
	(void)play_ask(play, "{\"n\":2,\"ask\":\"inventory\"}");
	assert_null(play_find(play, NVML_LINE_MIG, "MIG-7"));
	line = play_find(play, NVML_LINE_MIG, "MIG-3");
	assert_string_equal(line->profile, "1c.2g.10gb+me");
	assert_int_equal(line->gpu_slices, 2);
	assert_int_equal(line->compute_slices, 1);
	assert_int_equal(line->memory_mib, 9856);
	assert_true(play_find(play, NVML_LINE_GPU, UUID(1))->mig);
}

static void a_mig_device_that_fails_leaves_the_others(void **state)
{
	struct play *play = *state;

	play_scene(play, THREE "mig 1 7 0 MIG-7 0 1 1 4864\n"
			       "error 1 DeviceGetGpuInstanceId 999\n");
	play_start(play, "ask", NULL, NULL, NULL);
	assert_int_equal(play_ask(play, "{\"n\":1,\"ask\":\"inventory\"}")->kind, NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_MIG), 0);
	assert_int_equal(play_count(play, NVML_LINE_GPU), 3);
	assert_int_equal(play_find(play, NVML_LINE_PROBLEM, NULL)->code, 999);
}

static struct init_case {
	const char *name;
	int code;
	const char *says;
} inits[] = {
	{ "9: no driver", 9, "the NVIDIA driver is not loaded; load the kernel module" },
	{ "12: no library of the driver", 12, "a library of the NVIDIA driver is missing" },
	{ "17: blocked", 17, "the operating system blocks access" },
	{ "18: another version than the driver's", 18, "have different versions" },
	{ "999", 999, "unknown error" },
};

static void an_error_of_init_is_said_with_its_meaning(void **state)
{
	struct play *play = *state;
	const struct init_case *c = suite_row(state);
	auto_free char *scene = xasprintf("init %d\n" THREE, c->code);
	const struct nvml_line *line;

	play_scene(play, scene);
	play_start(play, "ask", NULL, NULL, NULL);
	line = play_ask(play, "{\"n\":5,\"ask\":\"inventory\"}");
	assert_int_equal(line->kind, NVML_LINE_FAILED);
	assert_int_equal(line->number, 5);
	assert_int_equal(line->code, c->code);
	assert_string_equal(line->function, "nvmlInit");
	assert_non_null(strstr(line->message, c->says));
	/* The driver is there after all. */
	play_tell(play, "init 0\n");
	assert_int_equal(play_ask(play, "{\"n\":6,\"ask\":\"inventory\"}")->kind, NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_GPU), 3);
	/* And again not. */
	play_tell(play, "init 9\n");
	assert_int_equal(play_ask(play, "{\"n\":7,\"ask\":\"inventory\"}")->kind, NVML_LINE_FAILED);
}

static void a_watch_that_cannot_begin_says_why(void **state)
{
	struct play *play = *state;
	const struct init_case *c = suite_row(state);
	auto_free char *scene = xasprintf("init %d\n" THREE, c->code);
	const struct nvml_line *line;

	play_scene(play, scene);
	play_start(play, "watch", NULL, NULL, NULL);
	line = play_until(play, NVML_LINE_FAILED);
	assert_int_equal(line->code, c->code);
	assert_non_null(strstr(line->message, c->says));
	assert_int_equal(WEXITSTATUS(play_wait(play)), 1);
}

static void without_the_library_the_answer_says_so(void **state)
{
	struct play *play = *state;
	const struct nvml_line *line;

	free(play->library);
	play->library = xstrdup("libhostdev-no-such.so.1");
	play_start(play, "ask", NULL, NULL, NULL);
	line = play_ask(play, "{\"n\":1,\"ask\":\"probe\"}");
	assert_int_equal(line->kind, NVML_LINE_FAILED);
	assert_int_equal(line->code, 12);
	assert_non_null(strstr(line->message, "libhostdev-no-such.so.1"));
	assert_non_null(strstr(line->message, "install the NVIDIA driver"));
}

static void the_library_is_found_below_a_driver_root(void **state)
{
	struct play *play = *state;
	auto_free char *folder = folder_path(&play->folder, "usr");
	auto_free char *lib64 = folder_path(&play->folder, "usr/lib64");
	auto_free char *link = folder_path(&play->folder, "usr/lib64/libnvidia-ml.so.1");

	play_scene(play, THREE);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(mkdir(lib64, 0700), 0);
	assert_int_equal(symlink(play->library, link), 0);
	free(play->library);
	play->library = xstrdup("libnvidia-ml.so.1");
	play_start(play, "ask", "--driver-root", play->folder.path, NULL);
	assert_int_equal(play_ask(play, "{\"n\":1,\"ask\":\"probe\"}")->kind, NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_PROBE), 3);
	play_kill(play);
	play_start(play, "ask", "--driver-root", "/nonexistent", NULL);
	assert_non_null(
		strstr(play_ask(play, "{\"n\":1,\"ask\":\"probe\"}")->message,
		       "no libnvidia-ml.so.1 in the folders of drivers below /nonexistent"));
}

static void a_gpu_that_is_lost_at_the_start_is_one_problem(void **state)
{
	struct play *play = *state;
	const struct nvml_line *line;

	play_scene(play, THREE "lost 1\n");
	play_start(play, "ask", NULL, NULL, NULL);
	assert_int_equal(play_ask(play, "{\"n\":1,\"ask\":\"inventory\"}")->kind, NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_GPU), 2);
	assert_int_equal(play_count(play, NVML_LINE_PROBLEM), 1);
	line = play_find(play, NVML_LINE_PROBLEM, NULL);
	assert_int_equal(line->index, 1);
	assert_int_equal(line->code, 15);
	assert_string_equal(line->function, "nvmlDeviceGetHandleByIndex");
	assert_non_null(strstr(line->message, "GPU is lost"));
	(void)play_ask(play, "{\"n\":2,\"ask\":\"inventory\",\"gpus\":[\"" ADDRESS(1) "\"]}");
	assert_int_equal(play_find(play, NVML_LINE_PROBLEM, ADDRESS(1))->code, 15);
	assert_int_equal(play_count(play, NVML_LINE_GPU), 0);
}

static void a_gpu_that_is_lost_later_is_probed_until_it_is_back(void **state)
{
	static const char question[] = "{\"n\":2,\"ask\":\"probe\",\"gpus\":[\"" ADDRESS(1) "\"]}";
	struct play *play = *state;

	play_scene(play, THREE);
	play_start(play, "ask", NULL, NULL, NULL);
	(void)play_ask(play, question);
	assert_true(play_find(play, NVML_LINE_PROBE, UUID(1))->well);
	play_tell(play, "lost 1\n");
	(void)play_ask(play, question);
	assert_null(play_find(play, NVML_LINE_PROBE, NULL));
	assert_int_equal(play_find(play, NVML_LINE_PROBLEM, ADDRESS(1))->code, 15);
	/* Handles from before are of no use after this; and it is another card. */
	play_tell(play, "back 1 " UUID(7) "\n");
	(void)play_ask(play, question);
	assert_string_equal(play_find(play, NVML_LINE_PROBE, ADDRESS(1))->uuid, UUID(7));
	assert_true(play_find(play, NVML_LINE_PROBE, UUID(7))->well);
}

static struct ill_case {
	const char *name;
	const char *command;
	int64_t recovery;
} ills[] = {
	{ "a recovery action", "field 1 1\n", 1 },
	{ "a call that has to reach the GPU fails", "error 1 DeviceGetMemoryInfo 999\n", 0 },
	{ "it needs a reset", "error 1 DeviceGetMemoryInfo 16\n", -1 },
};

static void a_gpu_that_is_ill_is_not_well(void **state)
{
	struct play *play = *state;
	const struct ill_case *c = suite_row(state);
	const struct nvml_line *line;

	play_scene(play, THREE);
	play_start(play, "ask", NULL, NULL, NULL);
	(void)play_ask(play, "{\"n\":1,\"ask\":\"probe\"}");
	play_tell(play, c->command);
	(void)play_ask(play, "{\"n\":2,\"ask\":\"probe\"}");
	line = play_find(play, NVML_LINE_PROBE, UUID(1));
	assert_false(line->well);
	assert_int_equal(line->recovery, c->recovery);
	assert_true(play_find(play, NVML_LINE_PROBE, UUID(0))->well);
	assert_true(play_find(play, NVML_LINE_PROBE, UUID(2))->well);
}

static void the_host_s_memory_is_no_illness(void **state)
{
	struct play *play = *state;
	const struct nvml_line *line;

	play_scene(play, "gpu " ADDRESS(0) " " UUID(0) " memory=0\n");
	play_start(play, "ask", NULL, NULL, NULL);
	(void)play_ask(play, "{\"n\":1,\"ask\":\"probe\"}");
	line = play_find(play, NVML_LINE_PROBE, UUID(0));
	assert_true(line->well);
	assert_int_equal(line->memory_mib, -1);
	assert_int_equal(play_count(play, NVML_LINE_PROBLEM), 0);
}

/* A copy of the library that lacks @symbols (a list that ends in NULL): their names are made
 * others. */
static void lose_symbols(struct play *play, const char *const *symbols)
{
	struct err err = { 0 };
	auto_free char *text = NULL;
	auto_close int folder = open(play->folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t len;

	assert_int_equal(file_read(AT_FDCWD, play->library, 64 << 20, &text, &len, &err), 0);
	for (; *symbols; symbols++) {
		size_t size = strlen(*symbols) + 2;
		auto_free char *name = xcalloc(1, size);
		size_t found = 0;
		char *at = text;

		memcpy(name + 1, *symbols, size - 2);
		while ((at = memmem(at, len - (size_t)(at - text), name, size))) {
			at[1] = 'x';
			found++;
		}
		assert_true(found > 0);
	}
	assert_int_equal(file_replace_at(folder, "lib.so", text, len, 0700, &err), 0);
	free(play->library);
	play->library = folder_path(&play->folder, "lib.so");
}

static void symbols_that_are_missing_are_not_supported(void **state)
{
	static const char *const missing[] = { "nvmlDeviceGetFieldValues",
					       "nvmlDeviceGetGpuFabricInfoV",
					       "nvmlDeviceGetRemappedRows",
					       "nvmlDeviceGetMigMode",
					       "nvmlDeviceGetNvLinkState",
					       "nvmlDeviceGetTopologyCommonAncestor",
					       "nvmlDeviceGetCount_v2", /* has an older form */
					       NULL };
	struct play *play = *state;
	const struct nvml_line *line;

	play_scene(play, THREE "link 0 1 4\n");
	lose_symbols(play, missing);
	play_start(play, "ask", NULL, NULL, NULL);
	assert_int_equal(play_ask(play, "{\"n\":1,\"ask\":\"inventory\"}")->kind, NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_GPU), 3);
	assert_int_equal(play_count(play, NVML_LINE_PROBLEM), 0);
	line = play_find(play, NVML_LINE_GPU, UUID(0));
	assert_int_equal(line->recovery, -1);
	assert_true(line->well);
	assert_int_equal(play_ask(play, "{\"n\":2,\"ask\":\"topology\"}")->kind, NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_PAIR), 3);
	assert_int_equal(play->lines[0].level, -1);
	assert_int_equal(play->lines[0].nvlinks, 0);
}

static void a_symbol_that_is_needed_is_a_problem(void **state)
{
	static const char *const missing[] = { "nvmlDeviceGetUUID", NULL };
	struct play *play = *state;

	play_scene(play, THREE);
	lose_symbols(play, missing);
	play_start(play, "ask", NULL, NULL, NULL);
	assert_int_equal(play_ask(play, "{\"n\":1,\"ask\":\"inventory\"}")->kind, NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_GPU), 0);
	assert_int_equal(play_count(play, NVML_LINE_PROBLEM), 3);
	assert_int_equal(play->lines[0].code, 13);
	assert_string_equal(play->lines[0].function, "nvmlDeviceGetUUID");
}

static void another_library_is_refused(void **state)
{
	static const char *const missing[] = { "nvmlInit_v2", NULL };
	struct play *play = *state;
	const struct nvml_line *line;

	play_scene(play, THREE);
	lose_symbols(play, missing);
	play_start(play, "ask", NULL, NULL, NULL);
	line = play_ask(play, "{\"n\":1,\"ask\":\"inventory\"}");
	assert_int_equal(line->kind, NVML_LINE_FAILED);
	assert_non_null(strstr(line->message, "has no nvmlInit"));
}

static void a_topology_has_every_pair_once(void **state)
{
	struct play *play = *state;
	size_t pairs = 0;

	play_scene(play, THREE "link 0 2 4\nlink 0 1 2\nswitch 1 12\nlevel 0 1 10\n");
	play_start(play, "ask", NULL, NULL, NULL);
	assert_int_equal(play_ask(play, "{\"n\":1,\"ask\":\"topology\"}")->kind, NVML_LINE_END);
	for (size_t i = 0; i < play->lines_len; i++) {
		const struct nvml_line *line = &play->lines[i];
		bool near;

		if (line->kind != NVML_LINE_PAIR)
			continue;
		pairs++;
		assert_true(strcmp(line->address, line->peer) < 0);
		near = strcmp(line->address, ADDRESS(0)) == 0 &&
		       strcmp(line->peer, ADDRESS(1)) == 0;
		assert_int_equal(line->level, near ? 10 : 50);
		assert_int_equal(line->nvlinks, near                                     ? 2
						: strcmp(line->address, ADDRESS(0)) == 0 ? 4
											 : 0);
	}
	assert_int_equal(pairs, 3);
	assert_int_equal(play_count(play, NVML_LINE_SWITCH), 1);
	assert_int_equal(play_find(play, NVML_LINE_SWITCH, ADDRESS(1))->nvlinks, 12);
}

static void a_topology_with_a_lost_gpu_has_the_other_pairs(void **state)
{
	struct play *play = *state;

	play_scene(play, THREE "error 0 DeviceGetTopologyCommonAncestor 15\n");
	play_start(play, "ask", NULL, NULL, NULL);
	assert_int_equal(play_ask(play, "{\"n\":1,\"ask\":\"topology\"}")->kind, NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_PAIR), 3);
	assert_int_equal(play_count(play, NVML_LINE_PROBLEM), 2);
	assert_int_equal(play_find(play, NVML_LINE_PAIR, ADDRESS(1))->level, 50);
}

static struct hang_case {
	const char *name;
	const char *question;
	const char *scene;
	unsigned ats; /* GPUs reported before it hangs */
	const char *at;
} hangs[] = {
	{ "in the look of an inventory", "{\"n\":1,\"ask\":\"inventory\"}",
	  "hang 1 DeviceGetMemoryInfo\n", 3 + 2, ADDRESS(1) },
	{ "in a probe",
	  "{\"n\":1,\"ask\":\"probe\",\"gpus\":[\"" ADDRESS(2) "\",\"" ADDRESS(1) "\"]}",
	  "hang 1 DeviceGetFieldValues\n", 2 + 2, ADDRESS(1) },
	{ "when its handle is taken by address",
	  "{\"n\":1,\"ask\":\"probe\",\"gpus\":[\"" ADDRESS(2) "\",\"" ADDRESS(1) "\"]}",
	  "hang 1 *\n", 2, ADDRESS(1) },
	{ "when its handle is taken by index", "{\"n\":1,\"ask\":\"inventory\"}",
	  "hang 1 DeviceGetHandleByIndex\n", 2, "1" },
	{ "in a topology", "{\"n\":1,\"ask\":\"topology\"}", "hang 1 DeviceGetNvLinkState\n", 3 + 2,
	  ADDRESS(1) },
};

static void a_call_that_hangs_says_where_and_can_be_killed(void **state)
{
	struct play *play = *state;
	const struct hang_case *c = suite_row(state);
	auto_free char *scene = xasprintf(THREE "%s", c->scene);

	play_scene(play, scene);
	play_start(play, "ask", NULL, NULL, NULL);
	play_write(play, c->question);
	play_until_it_hangs(play, c->ats);
	assert_string_equal(play->at, c->at);
	play_kill(play);
	/* The next one leaves the silent GPU out, and has its answer. */
	play_start(play, "ask", NULL, NULL, NULL);
	assert_int_equal(play_ask(play, "{\"n\":2,\"ask\":\"inventory\",\"gpus\":[\"" ADDRESS(
						0) "\",\"" ADDRESS(2) "\"]}")
				 ->kind,
			 NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_GPU), 2);
}

static void a_call_that_comes_back_is_answered(void **state)
{
	struct play *play = *state;

	play_scene(play, THREE "hang 1 DeviceGetMemoryInfo\n");
	play_start(play, "ask", NULL, NULL, NULL);
	play_write(play, "{\"n\":1,\"ask\":\"probe\",\"gpus\":[\"" ADDRESS(1) "\"]}");
	play_until_it_hangs(play, 2);
	play_tell(play, "resume\n");
	assert_int_equal(play_until(play, NVML_LINE_END)->number, 1);
	assert_true(play_find(play, NVML_LINE_PROBE, UUID(1))->well);
}

static void a_question_that_is_none_is_answered_too(void **state)
{
	struct play *play = *state;
	const struct nvml_line *line;

	play_scene(play, THREE);
	play_start(play, "ask", NULL, NULL, NULL);
	line = play_ask(play, "{\"n\":3,\"ask\":\"reset\"}");
	assert_int_equal(line->kind, NVML_LINE_FAILED);
	assert_int_equal(line->number, 3);
	assert_int_equal(line->code, 2);
	assert_int_equal(play_ask(play, "hello")->kind, NVML_LINE_FAILED);
	assert_int_equal(play_ask(play, "{\"n\":4,\"ask\":\"probe\"}")->kind, NVML_LINE_END);
	close(play->in);
	play->in = -1;
	assert_int_equal(play_wait(play), 0);
}

static void a_question_without_end_ends_the_program(void **state)
{
	struct play *play = *state;
	auto_free char *text = xmalloc(20000);

	memset(text, ' ', 20000);
	play_scene(play, THREE);
	play_start(play, "ask", NULL, NULL, NULL);
	assert_int_equal(file_write_all(play->in, text, 20000), 0);
	assert_int_equal(WEXITSTATUS(play_wait(play)), 1);
}

/* ---- the watch ---- */

/* Start a watch, and wait until it watches. */
static void watch(struct play *play, const char *scene, int gpus)
{
	play_scene(play, scene);
	play_start(play, "watch", NULL, NULL, NULL);
	assert_int_equal(play_until(play, NVML_LINE_WATCHING)->gpus, gpus);
}

static void events_are_told(void **state)
{
	struct play *play = *state;
	const struct nvml_line *line;

	watch(play, THREE, 3);
	assert_int_equal(play_count(play, NVML_LINE_WATCHED), 3);
	line = play_find(play, NVML_LINE_WATCHED, UUID(1));
	assert_true(line->well);
	assert_int_equal(line->recovery, 0);
	assert_int_equal(line->events, 0x810a);
	play_tell(play, "xid 1 79\n");
	line = play_until(play, NVML_LINE_EVENT);
	assert_string_equal(line->address, ADDRESS(1));
	assert_string_equal(line->uuid, UUID(1));
	assert_int_equal(line->event, NVML_EVENT_TYPE_XID);
	assert_int_equal(line->data, 79);
	assert_int_equal(line->gi, -1);
	assert_int_equal(line->ci, -1);
	play_tell(play, "mig 2 7 0 MIG-7 0 1 1 4864\n");
	line = play_until(play, NVML_LINE_EVENT);
	assert_string_equal(line->address, ADDRESS(2));
	assert_int_equal(line->event, NVML_EVENT_TYPE_MIG);
	assert_int_equal(line->gi, 7);
	assert_int_equal(line->ci, 0);
	play_tell(play, "event 0 0x2 0\nevent 0 0x8000 0\n");
	assert_int_equal(play_until(play, NVML_LINE_EVENT)->event, NVML_EVENT_TYPE_DOUBLE_BIT_ECC);
	assert_int_equal(play_until(play, NVML_LINE_EVENT)->event, NVML_EVENT_TYPE_RECOVERY);
}

static void some_gpus_are_watched(void **state)
{
	struct play *play = *state;

	play_scene(play, THREE "hang 1 *\n");
	play_start(play, "watch", ADDRESS(2), ADDRESS(0), NULL);
	assert_int_equal(play_until(play, NVML_LINE_WATCHING)->gpus, 2);
	assert_null(play_find(play, NVML_LINE_WATCHED, UUID(1)));
	play_tell(play, "xid 1 1\nxid 0 2\n");
	assert_int_equal(play_until(play, NVML_LINE_EVENT)->data, 2);
}

static void what_happened_before_is_seen_in_the_look(void **state)
{
	struct play *play = *state;
	const struct nvml_line *line;

	watch(play, THREE "field 1 2\n", 3);
	line = play_find(play, NVML_LINE_WATCHED, UUID(1));
	assert_false(line->well);
	assert_int_equal(line->recovery, 2);
	assert_true(play_find(play, NVML_LINE_WATCHED, UUID(0))->well);
}

/* How often the child called @function. */
static unsigned calls_of(struct play *play, const char *function)
{
	auto_free char *path = folder_path(&play->folder, "calls");
	auto_free char *command = xasprintf("calls %s\nxid 0 1\n", path);
	auto_free char *text = NULL;
	const char *at;

	/* The event is reported after the file was written. */
	play_tell(play, command);
	(void)play_until(play, NVML_LINE_EVENT);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 16, &text, NULL, NULL), 0);
	at = strstr(text, function);
	assert_non_null(at);
	return (unsigned)strtoul(at + strlen(function), NULL, 10);
}

static void a_gpu_that_is_lost_in_the_wait_leaves_the_others(void **state)
{
	struct play *play = *state;
	const struct nvml_line *line;

	watch(play, THREE, 3);
	play_tell(play, "lost 1\n");
	assert_int_equal(play_until(play, NVML_LINE_WATCHING)->gpus, 2);
	assert_int_equal(play_count(play, NVML_LINE_LOST), 1);
	assert_int_equal(play_count(play, NVML_LINE_PROBLEM), 0);
	line = play_find(play, NVML_LINE_LOST, UUID(1));
	assert_string_equal(line->address, ADDRESS(1));
	assert_string_equal(line->function, "nvmlDeviceGetMemoryInfo");
	assert_int_equal(line->code, 15);
	assert_int_equal(play_count(play, NVML_LINE_WATCHED), 2);
	play_tell(play, "xid 2 31\n");
	line = play_until(play, NVML_LINE_EVENT);
	assert_string_equal(line->uuid, UUID(2));
	assert_int_equal(line->data, 31);
	/* The wait of a set with a lost GPU returns at once; it is not called again and again. */
	assert_true(calls_of(play, "EventSetWait ") < 10);
}

/* Some answer 999 then, and take registrations all the same. */
static void a_gpu_that_fails_the_wait_and_registers_leaves_the_others(void **state)
{
	struct play *play = *state;

	watch(play, THREE, 3);
	play_tell(play, "error 1 DeviceGetMemoryInfo 999\nwait 999\n");
	assert_int_equal(play_until(play, NVML_LINE_LOST)->code, 999);
	assert_string_equal(play->lines[play->lines_len - 1].uuid, UUID(1));
	play_tell(play, "wait 0\n");
	assert_int_equal(play_until(play, NVML_LINE_WATCHING)->gpus, 2);
}

static void a_gpu_that_is_lost_while_it_registers_leaves_the_others(void **state)
{
	struct play *play = *state;

	watch(play, THREE "error 1 DeviceRegisterEvents 999\n", 2);
	assert_int_equal(play_find(play, NVML_LINE_LOST, UUID(1))->code, 999);
	play_tell(play, "xid 2 31\n");
	assert_int_equal(play_until(play, NVML_LINE_EVENT)->data, 31);
}

static void a_gpu_that_reports_no_events_is_looked_at(void **state)
{
	struct play *play = *state;

	watch(play, THREE "error 1 DeviceRegisterEvents 3\n", 3);
	assert_int_equal(play_find(play, NVML_LINE_WATCHED, UUID(1))->events, 0);
	assert_true(play_find(play, NVML_LINE_WATCHED, UUID(1))->well);
	play_tell(play, "xid 2 31\n");
	assert_int_equal(play_until(play, NVML_LINE_EVENT)->data, 31);
}

static void the_watch_ends_with_the_last_gpu(void **state)
{
	struct play *play = *state;

	watch(play, THREE, 3);
	play_tell(play, "lost 0\nlost 1\nlost 2\n");
	assert_int_equal(play_until(play, NVML_LINE_END)->kind, NVML_LINE_END);
	assert_int_equal(play_count(play, NVML_LINE_LOST), 3);
	assert_int_equal(play_wait(play), 0);
}

static void a_wait_that_fails_for_no_gpu_is_given_up(void **state)
{
	struct play *play = *state;
	const struct nvml_line *line;

	watch(play, THREE, 3);
	play_tell(play, "wait 999\n");
	line = play_until(play, NVML_LINE_FAILED);
	assert_int_equal(line->code, 999);
	assert_string_equal(line->function, "nvmlEventSetWait");
	assert_int_equal(play_count(play, NVML_LINE_PROBLEM), 3);
	assert_int_equal(play_count(play, NVML_LINE_LOST), 0);
	assert_int_equal(WEXITSTATUS(play_wait(play)), 1);
}

static void a_wait_that_fails_once_goes_on(void **state)
{
	struct play *play = *state;

	watch(play, THREE, 3);
	play_tell(play, "wait 999\n");
	assert_int_equal(play_until(play, NVML_LINE_PROBLEM)->code, 999);
	play_tell(play, "wait 0\n");
	assert_int_equal(play_until(play, NVML_LINE_WATCHING)->gpus, 3);
	play_tell(play, "xid 2 31\n");
	assert_int_equal(play_until(play, NVML_LINE_EVENT)->data, 31);
}

static void a_look_that_hangs_says_where(void **state)
{
	struct play *play = *state;

	play_scene(play, THREE "hang 1 DeviceGetMemoryInfo\n");
	play_start(play, "watch", NULL, NULL, NULL);
	/* All have opened and registered, and one was looked at. */
	play_until_it_hangs(play, 3 + 3 + 2);
	assert_string_equal(play->at, ADDRESS(1));
	play_kill(play);
}

static void a_wait_that_hangs_can_be_killed(void **state)
{
	struct play *play = *state;
	struct nvml_line line;
	size_t told = 0;

	watch(play, THREE, 3);
	play_tell(play, "hang - EventSetWait\nxid 0 1\nxid 0 2\n");
	/* A wait that was under way has the first event; the next one hangs. */
	while (play_line(play, 200, &line)) {
		assert_int_equal(line.data, 1);
		nvml_line_done(&line);
		told++;
	}
	assert_true(told <= 1);
	play_kill(play);
}

/* A number of /proc/<pid>/status, in its unit. */
static unsigned long status_of(const struct play *play, const char *key, int base)
{
	auto_free char *path = xasprintf("/proc/%d/status", (int)play->pid);
	char text[8192] = "";
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *at;

	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	at = strstr(text, key);
	assert_non_null(at);
	return strtoul(at + strlen(key), NULL, base);
}

/* Ten thousand in a row, to a reader that is slow at first. */
static void many_events_are_neither_lost_nor_kept(void **state)
{
	struct play *play = *state;
	unsigned long before_kib;
	struct nvml_line line;

	watch(play, THREE, 3);
	before_kib = status_of(play, "\nVmHWM:", 10);
	play_tell(play, "burst 1 1 20000\n");
	(void)poll(NULL, 0, 300);
	for (int64_t i = 1; i <= 20000; i++) {
		assert_true(play_line(play, PLAY_WAIT_MS, &line));
		assert_int_equal(line.kind, NVML_LINE_EVENT);
		assert_int_equal(line.data, i);
		nvml_line_done(&line);
	}
#ifndef __SANITIZE_ADDRESS__
	assert_in_range(status_of(play, "\nVmHWM:", 10), before_kib, before_kib + 256);
#else
	(void)before_kib;
#endif
	play_tell(play, "xid 0 31\n");
	assert_int_equal(play_until(play, NVML_LINE_EVENT)->data, 31);
}

static void the_watch_is_idle_until_its_input_is_closed(void **state)
{
	struct play *play = *state;

	watch(play, THREE, 3);
	assert_int_equal(play_until(play, NVML_LINE_IDLE)->kind, NVML_LINE_IDLE);
	assert_int_equal(play->lines_len, 1);
	close(play->in);
	play->in = -1;
	/* It may have seen that and be gone already; else this ends its wait. */
	(void)play_try_tell(play, "xid 0 1\n");
	assert_int_equal(play_wait(play), 0);
}

/* As an agent that crashes: in a process of its own, with the program holding @out open. */
static void start_and_die(struct play *play, int out)
{
	(void)fcntl(out, F_SETFD, 0);
	play_start(play, "ask", NULL, NULL, NULL);
	play_write(play, "{\"n\":1,\"ask\":\"inventory\"}");
	while (!memmem(play->text, play->len, "\"index\":1", 9) && play_read(play, PLAY_WAIT_MS))
		;
	_exit(write(out, &play->pid, sizeof(play->pid)) < 0);
}

static void a_program_that_hangs_does_not_outlive_the_agent(void **state)
{
	struct play *play = *state;
	struct pollfd end = { .events = POLLIN };
	pid_t program = -1;
	pid_t agent;
	int fds[2];

	play_scene(play, THREE "hang 1 DeviceGetHandleByIndex\n");
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	agent = fork();
	assert_true(agent >= 0);
	if (agent == 0)
		start_and_die(play, fds[1]);
	close(fds[1]);
	assert_int_equal(waitpid(agent, NULL, 0), agent);
	assert_int_equal(read(fds[0], &program, sizeof(program)), sizeof(program));
	end.fd = fds[0];
	if (poll(&end, 1, PLAY_WAIT_MS) != 1) {
		(void)kill(program, SIGKILL);
		fail_msg("the program %d still runs", (int)program);
	}
	assert_int_equal(read(fds[0], &program, sizeof(program)), 0);
	close(fds[0]);
}

static void it_cannot_make_device_nodes(void **state)
{
	enum { MKNOD = 27, SYS_MODULE = 16 };
	struct play *play = *state;

	watch(play, THREE, 3);
	assert_int_equal(status_of(play, "\nCapEff:", 16) & (1UL << MKNOD | 1UL << SYS_MODULE), 0);
	assert_int_equal(status_of(play, "\nCapPrm:", 16) & (1UL << MKNOD | 1UL << SYS_MODULE), 0);
	assert_int_equal(status_of(play, "\nNoNewPrivs:", 10), 1);
}

static struct usage_case {
	const char *name;
	const char *role;
	const char *argument;
} usages[] = {
	{ "another role", "reset", NULL },
	{ "an address that is none", "watch", "GPU-1" },
	{ "ask with an argument", "ask", ADDRESS(1) },
	{ "an unknown option", "ask", "--frobnicate" },
};

static void wrong_usage_is_status_2(void **state)
{
	struct play *play = *state;
	const struct usage_case *c = suite_row(state);

	play_start(play, c->role, c->argument, NULL, NULL);
	assert_int_equal(WEXITSTATUS(play_wait(play)), 2);
}

/* ---- the driver lets a GPU go ---- */

#define RELEASE "{\"n\":1,\"ask\":\"release\",\"gpus\":[\"" ADDRESS(1) "\"]}"
#define ATTACH  "{\"n\":1,\"ask\":\"attach\",\"gpus\":[\"" ADDRESS(1) "\"]}"
#define PERSIST "{\"n\":1,\"ask\":\"attach\",\"gpus\":[\"" ADDRESS(1) "\"],\"persistence\":true}"

static struct release_case {
	const char *name;
	const char *scene;
	const char *question;
	const char *says;  /* kinds of lines, and codes of problems */
	const char *state; /* persistence mode and drain state then: "01"; "-": never set */
} releases[] = {
	{ "persistence mode is turned off, and the drain state on", "", RELEASE,
	  "releasing released+ end", "01" },
	{ "a GPU that is not in persistence mode", "persistence 1 0\n", RELEASE, "released+ end",
	  "01" },
	{ "no GPU", "", "{\"n\":1,\"ask\":\"release\",\"gpus\":[]}", "end", "--" },
	{ "a drain state that another has turned on", "drain 1 1\n", RELEASE, "released end",
	  "-1" },
	{ "a driver without drain states",
	  "error 1 DeviceQueryDrainState 13\nerror 1 DeviceModifyDrainState 3\n", RELEASE,
	  "releasing released end", "0-" },
	{ "a GPU without persistence mode",
	  "error 1 DeviceGetPersistenceMode 3\n"
	  "error 1 DeviceModifyDrainState 13\n",
	  RELEASE, "released end", "--" },
	{ "persistence mode that may not be turned off", "error 1 DeviceSetPersistenceMode 4\n",
	  RELEASE, "releasing 4 end", "--" },
	{ "a GPU in use", "error 1 DeviceModifyDrainState 19\n", RELEASE, "releasing 19 end",
	  "0-" },
	{ "a drain state that may not be turned on", "error 1 DeviceModifyDrainState 4\n", RELEASE,
	  "releasing 4 released end", "0-" },
	{ "a GPU that is lost", "lost 1\n", RELEASE, "15 15 15 released end", "--" },
	{ "a GPU that the driver does not know",
	  "error 1 DeviceGetHandleByPciBusId 6\n"
	  "error 1 DeviceModifyDrainState 3\n",
	  RELEASE, "6 released end", "--" },
	{ "the drain state is turned off", "drain 1 1\n", ATTACH, "attached end", "-0" },
	{ "and persistence mode on", "drain 1 1\n", PERSIST, "attached end", "10" },
	{ "a GPU that is not in the drain state", "", ATTACH, "attached end", "--" },
	{ "a drain state that stays", "drain 1 1\nerror 1 DeviceModifyDrainState 999\n", PERSIST,
	  "999 end", "-1" },
	{ "persistence mode that cannot be turned on", "error 1 DeviceSetPersistenceMode 999\n",
	  PERSIST, "999 attached end", "--" },
};

static char state_of(const struct play *play, const char *name)
{
	auto_free char *path = xasprintf("%s/" ADDRESS(1) ".%s", play->folder.path, name);
	auto_free char *text = NULL;

	return file_read(AT_FDCWD, path, 16, &text, NULL, NULL) < 0 ? '-' : *text;
}

static void a_gpu_is_released_and_attached(void **state)
{
	struct play *play = *state;
	const struct release_case *c = suite_row(state);
	auto_free char *scene = xasprintf(THREE "%s", c->scene);
	auto_str struct str says = STR_INIT;

	play_scene(play, scene);
	play_start(play, "ask", NULL, NULL, NULL);
	(void)play_ask(play, c->question);
	for (size_t i = 0; i < play->lines_len; i++) {
		const struct nvml_line *line = &play->lines[i];

		str_add(&says, i ? " " : "");
		if (line->kind == NVML_LINE_PROBLEM)
			str_addf(&says, "%d", line->code);
		else
			str_addf(&says, "%s%s", line->kind_text, line->drained ? "+" : "");
		if (line->kind == NVML_LINE_RELEASING)
			assert_true(line->persistence);
	}
	assert_string_equal(str_cstr(&says), c->says);
	assert_int_equal(state_of(play, "persistence"), c->state[0]);
	assert_int_equal(state_of(play, "drain"), c->state[1]);
}

/* Persistence mode is that of a GPU that the library lists only after the drain state. */
static void a_drained_gpu_is_hidden_until_it_is_attached(void **state)
{
	struct play *play = *state;

	play_scene(play, THREE);
	play_start(play, "ask", NULL, NULL, NULL);
	(void)play_ask(play, RELEASE);
	(void)play_ask(play, "{\"n\":2,\"ask\":\"inventory\"}");
	assert_int_equal(play_count(play, NVML_LINE_GPU), 2);
	(void)play_ask(play, PERSIST);
	(void)play_ask(play, "{\"n\":3,\"ask\":\"inventory\"}");
	assert_int_equal(play_count(play, NVML_LINE_GPU), 3);
	assert_true(play_find(play, NVML_LINE_GPU, UUID(1))->persistence);
}

#define ONE(suite, test) suite_add(suite, #test, test, NULL)

static void add_questions(struct suite *suite)
{
	ONE(suite, an_inventory_is_told);
	ONE(suite, a_mig_device_comes_and_goes);
	ONE(suite, a_mig_device_that_fails_leaves_the_others);
	suite_rows(suite, inits, an_error_of_init_is_said_with_its_meaning);
	ONE(suite, without_the_library_the_answer_says_so);
	ONE(suite, the_library_is_found_below_a_driver_root);
	ONE(suite, a_gpu_that_is_lost_at_the_start_is_one_problem);
	ONE(suite, a_gpu_that_is_lost_later_is_probed_until_it_is_back);
	suite_rows(suite, ills, a_gpu_that_is_ill_is_not_well);
	ONE(suite, the_host_s_memory_is_no_illness);
	ONE(suite, symbols_that_are_missing_are_not_supported);
	ONE(suite, a_symbol_that_is_needed_is_a_problem);
	ONE(suite, another_library_is_refused);
	ONE(suite, a_topology_has_every_pair_once);
	ONE(suite, a_topology_with_a_lost_gpu_has_the_other_pairs);
	suite_rows(suite, hangs, a_call_that_hangs_says_where_and_can_be_killed);
	ONE(suite, a_call_that_comes_back_is_answered);
	suite_rows(suite, releases, a_gpu_is_released_and_attached);
	ONE(suite, a_drained_gpu_is_hidden_until_it_is_attached);
	ONE(suite, a_question_that_is_none_is_answered_too);
	ONE(suite, a_question_without_end_ends_the_program);
	suite_rows(suite, usages, wrong_usage_is_status_2);
}

static void add_watches(struct suite *suite)
{
	suite_rows(suite, inits, a_watch_that_cannot_begin_says_why);
	ONE(suite, events_are_told);
	ONE(suite, some_gpus_are_watched);
	ONE(suite, what_happened_before_is_seen_in_the_look);
	ONE(suite, a_gpu_that_is_lost_in_the_wait_leaves_the_others);
	ONE(suite, a_gpu_that_fails_the_wait_and_registers_leaves_the_others);
	ONE(suite, a_gpu_that_is_lost_while_it_registers_leaves_the_others);
	ONE(suite, a_gpu_that_reports_no_events_is_looked_at);
	ONE(suite, the_watch_ends_with_the_last_gpu);
	ONE(suite, a_wait_that_fails_for_no_gpu_is_given_up);
	ONE(suite, a_wait_that_fails_once_goes_on);
	ONE(suite, a_look_that_hangs_says_where);
	ONE(suite, a_wait_that_hangs_can_be_killed);
	ONE(suite, many_events_are_neither_lost_nor_kept);
	ONE(suite, the_watch_is_idle_until_its_input_is_closed);
	ONE(suite, a_program_that_hangs_does_not_outlive_the_agent);
	ONE(suite, it_cannot_make_device_nodes);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &play_fixture);
	add_questions(&suite);
	add_watches(&suite);
	return suite_run(&suite, "nvml_child");
}
