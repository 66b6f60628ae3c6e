/* kubelet_watch: what it tells of sockets that come, go, are replaced and only touched. */
#include "agent/plugin/kubelet_watch.h"

#include "fake/fake_clock.h"
#include "unit/plugin/stage.h"

struct scene {
	struct stage stage;
	struct kubelet_watch *watch;
	struct kubelet_listener *listener;
	struct kubelet_listener *second;
	char *dir;
	bool free_both;
	bool makes_again;
};

static const char *const event_names[] = {
	[KUBELET_CAME] = "came",
	[KUBELET_WENT] = "went",
	[KUBELET_TOOK_OWN] = "took own",
};

static void on_event(void *arg, enum kubelet_event event)
{
	struct scene *scene = arg;

	if (event == KUBELET_POLLED)
		return;
	stage_log(&scene->stage, event_names[event]);
	if (event == KUBELET_TOOK_OWN && scene->makes_again)
		folder_put(&scene->stage.folder, "device-plugins/own.sock", "");
	if (!scene->free_both)
		return;
	scene->listener = kubelet_listener_free(scene->listener);
	scene->second = kubelet_listener_free(scene->second);
}

static struct scene *scene_new(void)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	auto_free char *own = NULL;

	stage_init(&scene->stage);
	scene->dir = folder_path(&scene->stage.folder, "device-plugins");
	own = xasprintf("%s/own.sock", scene->dir);
	assert_int_equal(mkdir(scene->dir, 0700), 0);
	folder_put(&scene->stage.folder, "device-plugins/own.sock", "");
	scene->watch = kubelet_watch_new(&scene->stage.loop, scene->stage.clock, scene->dir);
	scene->listener = kubelet_watch_listen(scene->watch, own, on_event, scene);
	return scene;
}

static void scene_free(struct scene *scene)
{
	kubelet_listener_free(scene->listener);
	kubelet_listener_free(scene->second);
	kubelet_watch_free(scene->watch);
	stage_done(&scene->stage);
	free(scene->dir);
	free(scene);
}

SUITE_OBJECT(scene, scene_new(), scene_free);

/* --- what happens in the folder --------------------------------------------------------------- */

#define KUBELET "kubelet.sock"
#define OWN     "own.sock"

static void put(struct scene *scene, const char *name)
{
	auto_free char *path = xasprintf("device-plugins/%s", name);

	folder_put(&scene->stage.folder, path, "");
}

static void drop(struct scene *scene, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", scene->dir, name);

	assert_int_equal(unlink(path), 0);
}

static void replace(struct scene *scene, const char *name)
{
	auto_free char *old = xasprintf("%s/new", scene->dir);
	auto_free char *new = xasprintf("%s/%s", scene->dir, name);

	put(scene, "new");
	assert_int_equal(rename(old, new), 0);
}

static void change_mode(struct scene *scene, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", scene->dir, name);

	assert_int_equal(chmod(path, 0700), 0);
}

static void remove_folder(struct scene *scene, const char *name)
{
	assert_int_equal(rmdir(scene->dir), 0);
}

static void make_folder(struct scene *scene, const char *name)
{
	assert_int_equal(mkdir(scene->dir, 0700), 0);
}

/* The same path, another folder, with nothing removed from the one before. */
static void swap_folder(struct scene *scene, const char *name)
{
	auto_free char *aside = folder_path(&scene->stage.folder, "aside");

	assert_int_equal(rename(scene->dir, aside), 0);
	make_folder(scene, name);
}

static void check(struct scene *scene, const char *name)
{
	kubelet_watch_check(scene->watch);
}

static void wait_a_minute(struct scene *scene, const char *name)
{
	stage_pass(&scene->stage, 60000);
}

/* clang-format off */
static struct script_case {
	const char *name;
	struct step {
		void (*act)(struct scene *scene, const char *name);
		const char *name;
		const char *log; /* NULL: the next step happens before any event        */
	} steps[16];
} scripts[] = {
	{ "a kubelet comes and goes", {
		{ put,  KUBELET, "came|" },
		{ drop, KUBELET, "went|" },
		{ put,  KUBELET, "came|" },
		{ drop, KUBELET, "went|" },
		{ put,  KUBELET, "came|" },
		{ drop, KUBELET, "went|" } } },
	{ "a replaced socket is another one", {
		{ put,     KUBELET, "came|" },
		{ replace, KUBELET, "came|" },
		{ drop,    KUBELET, NULL },
		{ put,     KUBELET, "came|" } } }, /* perhaps with the number of the one before */
	{ "other files, and other attributes, are nothing", {
		{ put,           KUBELET,                       "came|" },
		{ put,           "kubelet_internal_checkpoint", NULL },
		{ put,           "other.sock",                  NULL },
		{ drop,          "other.sock",                  NULL },
		{ change_mode,   KUBELET,                       "" },
		{ check,          NULL,                          NULL },
		{ wait_a_minute, NULL,                          "" } } },
	{ "our own socket is taken", {
		{ drop,    OWN, "took own|" },
		{ put,     OWN, "" }, /* created again */
		{ replace, OWN, "took own|" } } },
	/* A kubelet starts: our socket must be created again before the kubelet gets its path. */
	{ "our own socket comes before the kubelet's", {
		{ put,  KUBELET, NULL },
		{ drop, OWN,     NULL },
		{ check, NULL,    "took own|came|" } } },
	{ "the folder goes and comes", {
		{ put,           KUBELET, "came|" },
		{ drop,          KUBELET, NULL },
		{ drop,          OWN,     NULL },
		{ remove_folder, NULL,    "took own|went|" },
		{ make_folder,   NULL,    "" },
		{ put,           KUBELET, "came|" },
		{ drop,          KUBELET, NULL },
		{ remove_folder, NULL,    "went|" },
		{ make_folder,   NULL,    "" },
		{ put,           KUBELET, "came|" },
		{ drop,          KUBELET, NULL },
		{ remove_folder, NULL,    "went|" },
		{ make_folder,   NULL,    "" },
		{ put,           KUBELET, "came|" } } },
	{ "the folder is swapped", {
		{ put,         KUBELET, "came|" },
		{ swap_folder, NULL,    "took own|went|" },
		{ put,         KUBELET, "came|" } } },
};
/* clang-format on */

static void script_is_reported(void **state)
{
	struct scene *scene = *state;
	const struct script_case *c = suite_row(state);
	auto_free char *kubelet = xasprintf("%s/" KUBELET, scene->dir);

	assert_false(kubelet_watch_present(scene->watch));
	for (size_t i = 0; i < ARRAY_LEN(c->steps) && c->steps[i].act; i++) {
		c->steps[i].act(scene, c->steps[i].name);
		if (!c->steps[i].log)
			continue;
		stage_rest(&scene->stage);
		if (strcmp(str_cstr(&scene->stage.log), c->steps[i].log) != 0)
			fail_msg("step %zu: told '%s' instead of '%s'", i + 1,
				 str_cstr(&scene->stage.log), c->steps[i].log);
		str_clear(&scene->stage.log);
		assert_int_equal(kubelet_watch_present(scene->watch), access(kubelet, F_OK) == 0);
	}
}

/* @also: the folder is watched; else only the poll sees what happens there. */
static void check_socket_elsewhere(bool also)
{
	struct scene *scene = scene_new();
	auto_free char *dir = folder_path(&scene->stage.folder, "elsewhere");
	auto_free char *path = xasprintf("%s/own.sock", dir);

	assert_int_equal(mkdir(dir, 0700), 0);
	folder_put(&scene->stage.folder, "elsewhere/own.sock", "");
	kubelet_listener_free(scene->listener);
	scene->listener = kubelet_watch_listen(scene->watch, path, on_event, scene);
	for (int i = 0; also && i < 2; i++)
		kubelet_watch_also(scene->watch, dir);
	assert_int_equal(unlink(path), 0);
	stage_settle(&scene->stage, also ? "took own|" : "");
	scene_free(scene);
}

static void own_socket_is_elsewhere(void **state)
{
	check_socket_elsewhere(true);
	check_socket_elsewhere(false);
}

/* The socket is created again in the callback, and removed before the next look. */
static void own_socket_is_taken_twice(void **state)
{
	struct scene *scene = *state;

	scene->makes_again = true;
	drop(scene, "own.sock");
	kubelet_watch_check(scene->watch);
	scene->makes_again = false;
	drop(scene, "own.sock");
	stage_settle(&scene->stage, "took own|took own|");
}

/* Not even the folder above is there when the agent begins. */
static void folders_come_later(void **state)
{
	struct scene *scene = *state;
	auto_free char *parent = folder_path(&scene->stage.folder, "kubelet");
	auto_free char *dir = folder_path(&scene->stage.folder, "kubelet/device-plugins");

	scene->listener = kubelet_listener_free(scene->listener);
	kubelet_watch_free(scene->watch);
	scene->watch = kubelet_watch_new(&scene->stage.loop, scene->stage.clock, dir);
	scene->listener = kubelet_watch_listen(scene->watch, NULL, on_event, scene);
	assert_int_equal(mkdir(parent, 0700), 0);
	stage_pass(&scene->stage, KUBELET_POLL_MS);
	assert_int_equal(mkdir(dir, 0700), 0);
	stage_settle(&scene->stage, "");
	folder_put(&scene->stage.folder, "kubelet/device-plugins/kubelet.sock", "");
	stage_settle(&scene->stage, "came|");
}

static void checks_every_five_seconds(void **state)
{
	struct scene *scene = *state;
	auto_free char *other = folder_path(&scene->stage.folder, "elsewhere/own.sock");

	/* In a folder that inotify is not asked about. */
	folder_put(&scene->stage.folder, "elsewhere/own.sock", "");
	scene->second = kubelet_watch_listen(scene->watch, other, on_event, scene);
	assert_int_equal(unlink(other), 0);
	stage_pass(&scene->stage, KUBELET_POLL_MS - 1);
	fake_clock_advance(scene->stage.fake, 1);
	stage_settle(&scene->stage, "took own|");
	stage_pass(&scene->stage, 60000);
}

static void listeners_may_go_when_notified(void **state)
{
	struct scene *scene = *state;
	auto_free char *own = xasprintf("%s/own.sock", scene->dir);

	scene->second = kubelet_watch_listen(scene->watch, own, on_event, scene);
	scene->free_both = true;
	drop(scene, "own.sock");
	put(scene, "kubelet.sock");
	stage_settle(&scene->stage, "took own|");
	scene->second = kubelet_watch_listen(scene->watch, NULL, on_event, scene);
	scene->listener = kubelet_watch_listen(scene->watch, NULL, on_event, scene);
	drop(scene, "kubelet.sock");
	stage_settle(&scene->stage, "went|");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "an own socket in another folder", own_socket_is_elsewhere, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, scripts, script_is_reported);
	suite_add(&suite, "our own socket is taken twice", own_socket_is_taken_twice, NULL);
	suite_add(&suite, "the folders come later", folders_come_later, NULL);
	suite_add(&suite, "it checks every five seconds in any case", checks_every_five_seconds,
		  NULL);
	suite_add(&suite, "listeners may go when they are notified", listeners_may_go_when_notified,
		  NULL);
	return suite_run(&suite, "kubelet_watch");
}
