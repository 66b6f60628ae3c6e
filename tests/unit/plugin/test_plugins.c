/* The set of resources that are offered: what begins, changes and ends. */
#include "fake/fake_clock.h"
#include "unit/plugin/plugins_scene.h"

/* --- what begins, changes, ends --------------------------------------------------------------- */

static void resource_lives_and_ends(void **state)
{
	struct scene *scene = *state;

	set(scene, "t.io/a: x y!");
	assert_int_equal(scene->stage.log.len, 0);
	stage_await(&scene->stage, "register t.io/a|");
	fake_registration_report("t.io/a", "no kubelet");
	stage_await(&scene->stage, "toy t.io/a waiting: no kubelet|");
	fake_registration_report("t.io/a", NULL);
	stage_await(&scene->stage, "toy t.io/a registered|");
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: x y!|");
	set(scene, "t.io/a: x y!");
	stage_settle(&scene->stage, "");
	set(scene, "t.io/a: x y");
	stage_await(&scene->stage, "list: x y|");
	caller_allocate(&scene->caller, "y");
	stage_await(&scene->stage, "toy t.io/a allocated y|container: t.io/a=y /dev/toy/y:mrw "
				   "/dev/toy/all:rw|OK|");
	set(scene, "");
	settle_withdrawal(scene);
	stage_settle(&scene->stage,
		     "unregister t.io/a|list:|watch ended: OK|toy t.io/a withdrawn|");
}

static void only_what_differs_moves(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;

	set(scene, "t.io/a: x; t.io/b: y");
	stage_await(&scene->stage, "register t.io/a|register t.io/b|");
	path = xstrdup(fake_registration("t.io/b")->path);
	set(scene, "t.io/b: y; t.io/c: z");
	settle_withdrawal(scene);
	stage_settle(&scene->stage, "unregister t.io/a|toy t.io/a withdrawn|register t.io/c|");
	assert_string_equal(fake_registration("t.io/b")->path, path);
	assert_int_equal(access(path, F_OK), 0);
}

/* Two of one name would be in each other's way at the kubelet. */
static void comes_back_while_it_goes(void **state)
{
	struct scene *scene = *state;

	set(scene, "t.io/a: x");
	stage_await(&scene->stage, "register t.io/a|");
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: x|");
	set(scene, "");
	set(scene, "t.io/a: y");
	stage_await(&scene->stage, "unregister t.io/a|list:|watch ended: OK|");
	settle_withdrawal(scene);
	stage_settle(&scene->stage, "toy t.io/a withdrawn|register t.io/a|");
	caller_done(&scene->caller);
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: y|");
}

static void allocate_refused_is_reported(void **state)
{
	struct scene *scene = *state;

	set(scene, "t.io/a: x!");
	stage_await(&scene->stage, "register t.io/a|");
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: x!|");
	assert_false(plugins_list(scene->plugins, &toy_type, "t.io/a", "x"));
	caller_allocate(&scene->caller, "x");
	stage_await(&scene->stage,
		    "toy t.io/a not allocated x: device 'x' of 't.io/a' is not ready: it "
		    "is on fire|FailedPrecondition: device 'x' of 't.io/a' is not "
		    "ready: it is on fire|");
}

static void await_waiting(struct scene *scene)
{
	while (scene->other.nwaiting == 0)
		stage_turn(&scene->stage);
}

/* One event for each container, when it is answered; none for what is withdrawn before. */
static void allocate_later_is_reported_once(void **state)
{
	struct scene *scene = *state;

	set_of(scene, &later_type, "t.io/toy: x y");
	stage_await(&scene->stage, "register t.io/toy|");
	watch(scene, "t.io/toy");
	stage_await(&scene->stage, "list: x y|");
	caller_allocate(&scene->caller, "x");
	await_waiting(scene);
	stage_settle(&scene->stage, "");
	toy_answer(&scene->other, 0);
	stage_await(&scene->stage, "toy t.io/toy allocated x|"
				   "container: t.io/toy=x /dev/toy/x:mrw /dev/toy/all:rw|OK|");
	caller_allocate(&scene->caller, "y");
	await_waiting(scene);
	set_of(scene, &later_type, "");
	stage_await(&scene->stage,
		    "unregister t.io/toy|Unavailable: resource 't.io/toy' is withdrawn|list:|"
		    "watch ended: OK|");
	toy_answer(&scene->other, 0);
	settle_withdrawal(scene);
	stage_settle(&scene->stage, "toy t.io/toy withdrawn|");
}

/* --- the kubelet and the socket --------------------------------------------------------------- */

static void closed_stream_registers_again(void **state)
{
	struct scene *scene = *state;

	set(scene, "t.io/a: x");
	stage_await(&scene->stage, "register t.io/a|");
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: x|");
	/* One of two streams ends: the kubelet has us. */
	caller_watch(&scene->caller);
	stage_await(&scene->stage, "list: x|");
	grpc_rpc_cancel(scene->caller.watch);
	stage_settle(&scene->stage, "");
	caller_done(&scene->caller);
	stage_await(&scene->stage, "again t.io/a|");
}

static void removed_socket_is_created_again(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;

	set(scene, "t.io/a: x");
	stage_await(&scene->stage, "register t.io/a|");
	for (int i = 0; i < 20; i++) {
		free(path);
		path = xstrdup(fake_registration("t.io/a")->path);
		watch(scene, "t.io/a");
		stage_await(&scene->stage, "list: x|");
		assert_int_equal(unlink(path), 0);
		fake_kubelet_notify(KUBELET_TOOK_OWN);
		stage_await(&scene->stage, "unregister t.io/a|register t.io/a|watch ended: "
					   "Unavailable|");
		assert_string_not_equal(fake_registration("t.io/a")->path, path);
		caller_done(&scene->caller);
	}
}

static void await_no_folder(struct scene *scene)
{
	fake_clock_settle(scene->stage.fake);
	assert_non_null(strstr(str_cstr(&scene->stage.log), "toy t.io/a waiting: bind a socket"));
	str_clear(&scene->stage.log);
}

/* It is tried again after 100 ms, 200 ms, ..., and told once. */
static void no_folder_for_the_socket(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(rmdir(scene->dir), 0);
	set(scene, "t.io/a: x");
	await_no_folder(scene);
	fake_clock_advance(scene->stage.fake, 100);
	assert_int_equal(scene->stage.log.len, 0);
	assert_int_equal(mkdir(scene->dir, 0700), 0);
	fake_clock_advance(scene->stage.fake, 199);
	assert_int_equal(scene->stage.log.len, 0);
	fake_clock_advance(scene->stage.fake, 1);
	stage_await(&scene->stage, "register t.io/a|");
}

static void kubelet_makes_the_folder(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(rmdir(scene->dir), 0);
	set(scene, "t.io/a: x");
	await_no_folder(scene);
	assert_int_equal(mkdir(scene->dir, 0700), 0);
	fake_kubelet_notify(KUBELET_CAME);
	stage_await(&scene->stage, "register t.io/a|");
	/* Another one is the registration's business. */
	fake_kubelet_notify(KUBELET_CAME);
	stage_settle(&scene->stage, "");
}

static void withdrawn_without_a_socket(void **state)
{
	struct scene *scene = *state;

	set(scene, "t.io/a: x");
	set(scene, "");
	stage_await(&scene->stage, "toy t.io/a withdrawn|");
}

static void registered_but_no_stream(void **state)
{
	struct scene *scene = *state;

	set(scene, "t.io/a: x");
	stage_await(&scene->stage, "register t.io/a|");
	fake_kubelet_notify(KUBELET_POLLED);
	stage_settle(&scene->stage, "");
	fake_registration_report("t.io/a", NULL);
	stage_await(&scene->stage, "toy t.io/a registered|");
	fake_clock_advance(scene->stage.fake, KUBELET_POLL_MS - 1);
	fake_kubelet_notify(KUBELET_POLLED);
	stage_settle(&scene->stage, "");
	fake_clock_advance(scene->stage.fake, 1);
	fake_kubelet_notify(KUBELET_POLLED);
	stage_settle(&scene->stage, "again t.io/a|");
	/* Once for every time that it was registered. */
	fake_kubelet_notify(KUBELET_POLLED);
	stage_settle(&scene->stage, "");
	fake_registration_report("t.io/a", NULL);
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "toy t.io/a registered|list: x|");
	fake_clock_advance(scene->stage.fake, KUBELET_POLL_MS);
	fake_kubelet_notify(KUBELET_POLLED);
	stage_settle(&scene->stage, "");
}

/* The kubelet wipes its own folder when it starts, and wants the sockets there all the same if they
 * register at its socket. */
static struct folder_case {
	const char *name;
	enum registration_mode mode;
	bool registry; /* is there a folder for it? */
	bool own;
} folders[] = {
	{ "sockets are in the kubelet's folder", REGISTRATION_DIRECT, true, false },
	{ "sockets have a folder of their own", REGISTRATION_REGISTRY, true, true },
	{ "sockets have a folder of their own where there is a registry", REGISTRATION_AUTO, true,
	  true },
	{ "sockets are in the kubelet's folder where there is none", REGISTRATION_AUTO, false,
	  false },
};

static void folder_matches_table(void **state)
{
	const struct folder_case *c = suite_row(state);
	struct scene *scene = *state;
	const char *path;

	plugins_free(scene->plugins);
	scene->plugins = plugins_of(scene, c->mode, c->registry ? scene->dir : "/nonexistent");
	set(scene, "t.io/a: x");
	stage_await(&scene->stage, "register t.io/a|");
	path = fake_registration("t.io/a")->path;
	assert_int_equal(strncmp(path, scene->dir, strlen(scene->dir)) != 0, c->own);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void on_stopped(void *arg)
{
	struct scene *scene = arg;

	stage_log(&scene->stage, "stopped");
	scene->plugins = plugins_free(scene->plugins);
}

static void stop_withdraws_everything(void **state)
{
	struct scene *scene = *state;

	set(scene, "t.io/a: x");
	set_of(scene, &other_type, "t.io/b: z");
	stage_await(&scene->stage, "register t.io/a|register t.io/b|");
	watch(scene, "t.io/b");
	stage_await(&scene->stage, "list: z|");
	plugins_stop(scene->plugins, on_stopped, scene);
	assert_null(strstr(str_cstr(&scene->stage.log), "stopped"));
	settle_withdrawal(scene);
	assert_non_null(strstr(str_cstr(&scene->stage.log), "list:|watch ended: OK|"));
	assert_non_null(strstr(str_cstr(&scene->stage.log), "withdrawn|stopped|"));
	assert_null(scene->plugins);
}

static void stop_with_nothing(void **state)
{
	struct scene *scene = *state;

	plugins_stop(scene->plugins, on_stopped, scene);
	assert_int_equal(scene->stage.log.len, 0);
	stage_await(&scene->stage, "stopped|");
}

static void metrics_say_what_is_offered(void **state)
{
	static const char *const lines[] = {
		"hostdev_plugin_devices{resource=\"t.io/a\",health=\"healthy\"} 1\n",
		"hostdev_plugin_devices{resource=\"t.io/a\",health=\"unhealthy\"} 2\n",
		"hostdev_plugin_allocations_total{resource=\"t.io/a\",result=\"done\"} 1\n",
		"hostdev_plugin_allocations_total{resource=\"t.io/a\",result=\"refused\"} 1\n",
	};
	struct scene *scene = *state;
	auto_str struct str text = STR_INIT;

	set(scene, "t.io/a: x y! z!");
	stage_await(&scene->stage, "register t.io/a|");
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: x y! z!|");
	caller_allocate(&scene->caller, "x");
	caller_allocate(&scene->caller, "y");
	while (!strstr(str_cstr(&scene->stage.log), "FailedPrecondition"))
		stage_turn(&scene->stage);
	metrics_write(scene->metrics, &text);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_non_null(strstr(str_cstr(&text), lines[i]));
}

/* More names than there is room for, most of them no more. */
static void gone_resources_leave_their_room(void **state)
{
	static const char *const lines[] = {
		"hostdev_plugin_devices{resource=\"t.io/live\",health=\"healthy\"} 1\n",
		"hostdev_plugin_devices{resource=\"t.io/new\",health=\"unhealthy\"} 1\n",
		"hostdev_plugin_allocations_total{resource=\"t.io/live\",result=\"refused\"} 0\n",
		"hostdev_plugin_allocations_total{resource=\"t.io/new\",result=\"done\"} 0\n",
	};
	enum { ROUNDS = METRIC_SERIES_MAX / 4 };
	struct scene *scene = *state;
	auto_str struct str text = STR_INIT;

	for (int i = 0; i < ROUNDS; i++) {
		auto_free char *now =
			xasprintf("t.io/live: x; t.io/gone-%d-a: x; t.io/gone-%d-b: y; "
				  "t.io/gone-%d-c: z",
				  i, i, i);

		set(scene, now);
		fake_clock_settle(scene->stage.fake);
	}
	set(scene, "t.io/live: x; t.io/new: y!");
	settle_withdrawal(scene);
	assert_int_equal(fakes()->forgotten, 3 * ROUNDS);
	metrics_write(scene->metrics, &text);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_non_null(strstr(str_cstr(&text), lines[i]));
	assert_null(strstr(str_cstr(&text), "gone"));
	assert_null(strstr(str_cstr(&text), "other"));
}

/* A registration that began without room, and has had no event since. */
static void room_is_taken_when_there_is_some(void **state)
{
	static const struct metric_desc devices = { .name = "hostdev_plugin_devices" };
	static const char line[] =
		"hostdev_plugin_devices{resource=\"t.io/late\",health=\"unhealthy\"} 1\n";
	struct scene *scene = *state;
	auto_str struct str text = STR_INIT;
	char value[16];

	set(scene, "t.io/a: x");
	for (int i = 0; i < METRIC_SERIES_MAX; i++) {
		(void)snprintf(value, sizeof(value), "%d", i);
		metric_set(metrics_family(scene->metrics, &devices), 7,
			   (const char *const[]){ value, "healthy" });
	}
	set_of(scene, &other_type, "t.io/late: x!");
	metrics_write(scene->metrics, &text);
	assert_null(strstr(str_cstr(&text), line));
	set(scene, "");
	settle_withdrawal(scene);
	str_clear(&text);
	metrics_write(scene->metrics, &text);
	assert_non_null(strstr(str_cstr(&text), line));
	assert_true(fakes()->shown > 0);
}

/* The kubelet does not have them, nor a resource that has no others. */
static void devices_for_dra_are_in_no_list(void **state)
{
	struct scene *scene = *state;

	set(scene, "t.io/a: x dra1; t.io/b: dra2 dra3!");
	stage_await(&scene->stage, "toy for DRA: t.io/a=dra1 t.io/b=dra2,dra3|register t.io/a|");
	assert_true(plugins_offer(scene->plugins, "t.io/a"));
	assert_false(plugins_offer(scene->plugins, "t.io/b"));
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: x|");
	set(scene, "t.io/a: x; t.io/b: dra2");
	stage_settle(&scene->stage, "toy for DRA: t.io/b=dra2|");
	set(scene, "t.io/a: dra1");
	settle_withdrawal(scene);
	stage_settle(&scene->stage, "unregister t.io/a|toy for DRA: t.io/a=dra1|list:|watch ended: "
				    "OK|toy t.io/a withdrawn|");
	set(scene, "");
	stage_settle(&scene->stage, "toy for DRA:|");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a resource lives and ends", resource_lives_and_ends, NULL);
	suite_add(&suite, "only what differs moves", only_what_differs_moves, NULL);
	suite_add(&suite, "a resource comes back while it goes", comes_back_while_it_goes, NULL);
	suite_add(&suite, "an Allocate that was refused is reported", allocate_refused_is_reported,
		  NULL);
	suite_add(&suite, "an allocation that is answered later is reported once",
		  allocate_later_is_reported_once, NULL);
	suite_add(&suite, "devices for DRA are in no list of the kubelet",
		  devices_for_dra_are_in_no_list, NULL);
	suite_add(&suite, "a closed stream registers again", closed_stream_registers_again, NULL);
	suite_add(&suite, "a removed socket is created again", removed_socket_is_created_again,
		  NULL);
	suite_add(&suite, "there is no folder for the socket", no_folder_for_the_socket, NULL);
	suite_add(&suite, "the kubelet makes the folder", kubelet_makes_the_folder, NULL);
	suite_add(&suite, "withdrawn without a socket", withdrawn_without_a_socket, NULL);
	suite_add(&suite, "registered, but no stream", registered_but_no_stream, NULL);
	suite_rows(&suite, folders, folder_matches_table);
	suite_add(&suite, "a stop withdraws everything", stop_withdraws_everything, NULL);
	suite_add(&suite, "a stop with nothing to withdraw", stop_with_nothing, NULL);
	suite_add(&suite, "metrics say what is offered", metrics_say_what_is_offered, NULL);
	suite_add(&suite, "gone resources leave their room", gone_resources_leave_their_room, NULL);
	suite_add(&suite, "room is taken when there is some", room_is_taken_when_there_is_some,
		  NULL);
	return suite_run(&suite, "plugins");
}
