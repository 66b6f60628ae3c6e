/* allocatable: which devices pods can get, and a kubelet that does not say. */
#include "agent/plugin/allocatable.h"

#include <errno.h>

#include "agent/plugin/podresources.h"
#include "base/err.h"
#include "fake/fake_clock.h"
#include "unit/plugin/allocatable_kubelet.h"
#include "unit/plugin/stage.h"

struct scene {
	struct stage stage;
	char *path;
	struct allocatable_kubelet kubelet;
	struct allocatable *allocatable;
	unsigned answers;
};

static void on_answer(void *arg, const struct pod_devices *devices, const struct err *err)
{
	struct scene *scene = arg;

	scene->answers++;
	assert_true((devices == NULL) == (err != NULL));
	if (err)
		stage_log(&scene->stage, err->msg);
	for (size_t i = 0; devices && i < devices->len; i++) {
		str_addf(&scene->stage.log, "%s %s%s", devices->items[i].resource,
			 devices->items[i].device, devices->items[i].pod);
		stage_log(&scene->stage, "");
	}
}

static void open_scene(struct scene *scene)
{
	stage_init(&scene->stage);
	scene->path = folder_path(&scene->stage.folder, "kubelet.sock");
	scene->kubelet.lists = "";
	scene->allocatable =
		allocatable_new(&(struct allocatable_deps){ .loop = &scene->stage.loop,
							    .clock = scene->stage.clock,
							    .socket_path = scene->path,
							    .answered = on_answer,
							    .arg = scene });
}

static void close_scene(struct scene *scene)
{
	allocatable_free(scene->allocatable);
	allocatable_kubelet_stop(&scene->kubelet);
	stage_done(&scene->stage);
	free(scene->path);
}

SUITE_FIXTURE(scene, struct scene, open_scene, close_scene);

static void begin(struct scene *scene)
{
	allocatable_kubelet_start(&scene->kubelet, &scene->stage.loop, scene->path);
}

/* Until there is one more answer. */
static void ask(struct scene *scene)
{
	unsigned before = scene->answers;

	allocatable_ask(scene->allocatable);
	assert_int_equal(scene->answers, before);
	while (scene->answers == before) {
		uv_run(&scene->stage.loop, UV_RUN_NOWAIT);
		fake_clock_settle(scene->stage.fake);
	}
}

static void the_answer_has_resources_and_devices(void **state)
{
	struct scene *scene = *state;

	begin(scene);
	ask(scene);
	assert_string_equal(str_cstr(&scene->stage.log), "");
	scene->kubelet.lists = "b/x 2,a/x 1,b/x 1";
	ask(scene);
	assert_string_equal(str_cstr(&scene->stage.log), "a/x 1|b/x 1|b/x 2|");
}

static void one_call_at_a_time(void **state)
{
	struct scene *scene = *state;

	begin(scene);
	allocatable_ask(scene->allocatable);
	ask(scene);
	assert_int_equal(scene->kubelet.asked, 1);
	ask(scene);
	assert_int_equal(scene->kubelet.asked, 2);
}

static void without_a_kubelet_there_is_an_error(void **state)
{
	struct scene *scene = *state;

	ask(scene);
	assert_non_null(strstr(str_cstr(&scene->stage.log),
			       "read the devices that pods can get from the kubelet at"));
	begin(scene);
	str_clear(&scene->stage.log);
	ask(scene);
	assert_string_equal(str_cstr(&scene->stage.log), "");
}

static void an_answer_that_cannot_be_read_is_an_error(void **state)
{
	struct scene *scene = *state;

	begin(scene);
	scene->kubelet.lists = "?";
	ask(scene);
	assert_int_equal(scene->kubelet.asked, 1);
	assert_non_null(strstr(str_cstr(&scene->stage.log), "read the devices"));
}

static void a_kubelet_that_hangs_is_given_up(void **state)
{
	struct scene *scene = *state;

	begin(scene);
	scene->kubelet.lists = NULL;
	allocatable_ask(scene->allocatable);
	while (scene->kubelet.asked == 0)
		uv_run(&scene->stage.loop, UV_RUN_NOWAIT);
	fake_clock_advance(scene->stage.fake, ALLOCATABLE_CALL_MS - 1);
	assert_int_equal(scene->answers, 0);
	fake_clock_advance(scene->stage.fake, 1);
	assert_int_equal(scene->answers, 1);
	assert_non_null(strstr(str_cstr(&scene->stage.log), "no answer within 2 s"));
	scene->kubelet.lists = "a/x 1";
	str_clear(&scene->stage.log);
	ask(scene);
	assert_string_equal(str_cstr(&scene->stage.log), "a/x 1|");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "the answer has resources and devices",
		  the_answer_has_resources_and_devices, NULL);
	suite_add(&suite, "one call at a time", one_call_at_a_time, NULL);
	suite_add(&suite, "without a kubelet there is an error",
		  without_a_kubelet_there_is_an_error, NULL);
	suite_add(&suite, "an answer that cannot be read is an error",
		  an_answer_that_cannot_be_read_is_an_error, NULL);
	suite_add(&suite, "a kubelet that hangs is given up", a_kubelet_that_hangs_is_given_up,
		  NULL);
	return suite_run(&suite, "allocatable");
}
