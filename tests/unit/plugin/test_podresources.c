/* podresources: when the kubelet is asked, and what is known when it does not answer. */
#include "agent/plugin/podresources.h"

#include <errno.h>

#include "base/err.h"
#include "fake/fake_clock.h"
#include "grpc/uv_server.h"
#include "unit/plugin/pods.h"
#include "unit/plugin/stage.h"

/* A kubelet with at most one device given away, and one that asks it. */
struct scene {
	struct stage stage;
	char *path;
	struct grpc_service service;
	struct grpc_uv_server *kubelet;
	struct grpc_call *held;
	struct pod_device device; /* .pod NULL: none */
	size_t padding;           /* bytes more in the answer */
	bool hangs;
	bool babbles;
	struct podresources *p;
	bool free_when_called;
	bool silent;
	size_t lists;
};

/* --- the kubelet ------------------------------------------------------------------------------ */

static void on_cancel(void *arg)
{
	struct scene *scene = arg;

	scene->held = NULL;
	stage_log(&scene->stage, "cancelled");
}

static void answer(struct scene *scene, struct grpc_call *call)
{
	auto_str struct str message = STR_INIT;
	auto_free char *padding = NULL;

	if (scene->device.pod)
		pods_pack(&message, &scene->device, 1);
	if (scene->padding > 0) {
		struct pod_device other = { "y/y", "d", "n", "p", "c", NULL };

		padding = xmalloc(scene->padding + 1);
		memset(padding, 'x', scene->padding);
		padding[scene->padding] = '\0';
		other.device = padding;
		pods_pack(&message, &other, 1);
	}
	if (scene->babbles)
		str_add(&message, "\xff");
	grpc_call_answer(call, str_cstr(&message), message.len);
}

static void on_list(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct scene *scene = arg;

	(void)request;
	assert_int_equal(len, 0);
	assert_null(scene->held); /* one at a time */
	scene->lists++;
	if (!scene->silent)
		stage_log(&scene->stage, "list");
	if (!scene->hangs) {
		answer(scene, call);
		return;
	}
	scene->held = call;
	grpc_call_on_cancel(call, on_cancel, scene);
}

static const struct grpc_method methods[] = { { "/v1.PodResourcesLister/List", on_list } };

static void kubelet_start(struct scene *scene)
{
	struct grpc_limits limits = GRPC_LIMITS;
	struct grpc_uv_server_settings settings = { .path = scene->path,
						    .service = &scene->service,
						    .limits = &limits };

	limits.message_max = 32 << 20;
	limits.queue_max = 64 << 20;
	assert_int_equal(grpc_uv_server_new(&scene->stage.loop, &settings, &scene->kubelet, NULL),
			 0);
}

/* --- who asks --------------------------------------------------------------------------------- */

static void on_changed(void *arg)
{
	struct scene *scene = arg;
	const struct err *stale = podresources_stale(scene->p);
	auto_str struct str shown = STR_INIT;

	pods_show(&shown, podresources_devices(scene->p));
	str_addf(&scene->stage.log, "[%s]%s|", str_cstr(&shown), stale ? " stale" : "");
	if (scene->free_when_called)
		scene->p = podresources_free(scene->p);
}

static bool wants(void *arg, const char *resource)
{
	(void)arg;
	return strncmp(resource, "x/", 2) == 0;
}

static struct scene *scene_new(void)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	struct podresources_deps deps = {
		.loop = &scene->stage.loop, .wants = wants, .changed = on_changed, .arg = scene
	};

	stage_init(&scene->stage);
	deps.clock = scene->stage.clock;
	scene->path = folder_path(&scene->stage.folder, "kubelet.sock");
	deps.socket_path = scene->path;
	scene->service = (struct grpc_service){ methods, 1, scene };
	scene->p = podresources_new(&deps);
	return scene;
}

static void scene_free(struct scene *scene)
{
	podresources_free(scene->p);
	grpc_uv_server_free(scene->kubelet);
	stage_done(&scene->stage);
	free(scene->path);
	free(scene);
}

SUITE_OBJECT(scene, scene_new(), scene_free);

static void give(struct scene *scene, const char *pod)
{
	scene->device = (struct pod_device){
		.resource = "x/a", .device = "1", .namespace = "ns", .pod = pod, .container = "main"
	};
}

static void take_back(struct scene *scene)
{
	scene->device = (struct pod_device){ 0 };
}

/* After @ms, and not sooner, it is @text. */
static void after(struct scene *scene, uint64_t ms, const char *text)
{
	stage_pass(&scene->stage, ms - 1);
	fake_clock_advance(scene->stage.fake, 1);
	stage_settle(&scene->stage, text);
}

#define POD   "[x/a 1 ns/pod/main]"
#define OTHER "[x/a 1 ns/other/main]"

/* --- tests ------------------------------------------------------------------------------------ */

static void nothing_is_asked_unasked(void **state)
{
	struct scene *scene = *state;

	kubelet_start(scene);
	stage_pass(&scene->stage, 100000);
	assert_int_equal(podresources_stale(scene->p)->code, -EAGAIN);
	assert_int_equal(podresources_devices(scene->p)->len, 0);
	/* And asked, twice. */
	podresources_ask(scene->p);
	after(scene, 100, "list|[]|");
	assert_null(podresources_stale(scene->p));
	after(scene, 2000, "list|");
	stage_pass(&scene->stage, 1000000);
}

static void asked_while_anything_is_allocated(void **state)
{
	struct scene *scene = *state;

	kubelet_start(scene);
	give(scene, "pod");
	podresources_ask(scene->p);
	after(scene, 100, "list|" POD "|");
	after(scene, 2000, "list|");
	for (int i = 0; i < 3; i++)
		after(scene, 30000, "list|");
	give(scene, "other");
	after(scene, 30000, "list|" OTHER "|");
	take_back(scene);
	after(scene, 30000, "list|[]|");
	stage_pass(&scene->stage, 1000000);
}

/* The kubelet answers Allocate before its list says who it was for. */
static void allocation_that_is_listed_late(void **state)
{
	struct scene *scene = *state;

	kubelet_start(scene);
	podresources_ask(scene->p);
	after(scene, 100, "list|[]|");
	give(scene, "pod");
	after(scene, 2000, "list|" POD "|");
}

static void requests_come_together(void **state)
{
	struct scene *scene = *state;

	kubelet_start(scene);
	for (int i = 0; i < 99; i++) {
		podresources_ask(scene->p);
		stage_pass(&scene->stage, 1);
	}
	after(scene, 1, "list|[]|");
}

static void not_more_than_four_times_a_second(void **state)
{
	struct scene *scene = *state;

	kubelet_start(scene);
	scene->silent = true;
	podresources_ask(scene->p);
	fake_clock_advance(scene->stage.fake, 100);
	stage_settle(&scene->stage, "[]|");
	for (int i = 0; i < 1000; i++) {
		podresources_ask(scene->p);
		stage_pass(&scene->stage, 10);
	}
	assert_in_range(scene->lists, 40, 41);
}

static void request_during_a_call_is_another_call(void **state)
{
	struct scene *scene = *state;
	struct grpc_call *call;

	kubelet_start(scene);
	scene->hangs = true;
	podresources_ask(scene->p);
	after(scene, 100, "list|");
	podresources_ask(scene->p);
	stage_pass(&scene->stage, 5000);
	call = scene->held;
	scene->held = NULL;
	scene->hangs = false;
	answer(scene, call);
	stage_settle(&scene->stage, "[]|");
	give(scene, "pod");
	after(scene, 100, "list|" POD "|");
	after(scene, 2000, "list|");
}

static void absent_kubelet_leaves_what_is_known(void **state)
{
	struct scene *scene = *state;
	static const uint64_t waits[] = { 1000, 2000, 4000, 8000, 16000, 30000, 30000 };

	kubelet_start(scene);
	give(scene, "pod");
	podresources_ask(scene->p);
	after(scene, 100, "list|" POD "|");
	after(scene, 2000, "list|");
	scene->kubelet = grpc_uv_server_free(scene->kubelet);
	after(scene, 30000, POD " stale|");
	assert_int_equal(podresources_stale(scene->p)->kind, ERR_RETRY);
	assert_non_null(strstr(podresources_stale(scene->p)->msg, scene->path));
	assert_string_equal(podresources_find(scene->p, "x/a", "1")->pod, "pod");
	for (size_t i = 0; i < ARRAY_LEN(waits); i++)
		after(scene, waits[i], "");
	kubelet_start(scene);
	after(scene, 30000, "list|" POD "|");
	assert_null(podresources_stale(scene->p));
}

/* An agent that begins before the kubelet. */
static void first_answer_is_waited_for(void **state)
{
	struct scene *scene = *state;

	podresources_ask(scene->p);
	after(scene, 100, "[] stale|");
	stage_pass(&scene->stage, 999);
	kubelet_start(scene);
	after(scene, 1, "list|[]|");
	after(scene, 2000, "list|");
	stage_pass(&scene->stage, 1000000);
}

static void hanging_kubelet_is_abandoned(void **state)
{
	struct scene *scene = *state;

	kubelet_start(scene);
	scene->hangs = true;
	podresources_ask(scene->p);
	after(scene, 100, "list|");
	after(scene, 10000, "[] stale|cancelled|");
	assert_int_equal(podresources_stale(scene->p)->code, -ETIMEDOUT);
	scene->hangs = false;
	after(scene, 1000, "list|[]|");
}

static void babbling_kubelet_is_not_believed(void **state)
{
	struct scene *scene = *state;

	kubelet_start(scene);
	give(scene, "pod");
	podresources_ask(scene->p);
	after(scene, 100, "list|" POD "|");
	scene->babbles = true;
	after(scene, 2000, "list|" POD " stale|");
	assert_int_equal(podresources_stale(scene->p)->kind, ERR_INVALID);
	scene->babbles = false;
	after(scene, 1000, "list|" POD "|");
}

static void answers_may_be_long(void **state)
{
	struct scene *scene = *state;

	kubelet_start(scene);
	give(scene, "pod");
	scene->padding = PODRESOURCES_MESSAGE_MAX - 100;
	podresources_ask(scene->p);
	fake_clock_advance(scene->stage.fake, 100);
	stage_await(&scene->stage, "list|" POD "|");
	scene->padding = PODRESOURCES_MESSAGE_MAX;
	fake_clock_advance(scene->stage.fake, 2000);
	stage_await(&scene->stage, "list|" POD " stale|");
}

static void may_be_freed_when_called(void **state)
{
	struct scene *scene = *state;

	scene->free_when_called = true;
	podresources_ask(scene->p);
	after(scene, 100, "[] stale|");
	assert_null(scene->p);
	assert_null(podresources_free(NULL));
}

static void freed_while_it_asks(void **state)
{
	struct scene *scene = *state;

	kubelet_start(scene);
	scene->hangs = true;
	podresources_ask(scene->p);
	after(scene, 100, "list|");
	scene->p = podresources_free(scene->p);
	stage_settle(&scene->stage, "cancelled|");
}

static void finds_a_device(void **state)
{
	struct scene *scene = *state;

	assert_null(podresources_find(scene->p, "x/a", "1"));
	kubelet_start(scene);
	give(scene, "pod");
	podresources_ask(scene->p);
	after(scene, 100, "list|" POD "|");
	assert_string_equal(podresources_find(scene->p, "x/a", "1")->container, "main");
	assert_null(podresources_find(scene->p, "x/a", "0"));
	assert_null(podresources_find(scene->p, "x/a", "2"));
	assert_null(podresources_find(scene->p, "x/b", "1"));
	assert_null(podresources_find(scene->p, "w", "1"));
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "nothing is asked unasked", nothing_is_asked_unasked, NULL);
	suite_add(&suite, "it is asked while anything is allocated",
		  asked_while_anything_is_allocated, NULL);
	suite_add(&suite, "an allocation that is listed late", allocation_that_is_listed_late,
		  NULL);
	suite_add(&suite, "requests come together", requests_come_together, NULL);
	suite_add(&suite, "not more than four times a second", not_more_than_four_times_a_second,
		  NULL);
	suite_add(&suite, "a request during a call is another call",
		  request_during_a_call_is_another_call, NULL);
	suite_add(&suite, "an absent kubelet leaves what is known",
		  absent_kubelet_leaves_what_is_known, NULL);
	suite_add(&suite, "the first answer is waited for", first_answer_is_waited_for, NULL);
	suite_add(&suite, "a kubelet that hangs is given up", hanging_kubelet_is_abandoned, NULL);
	suite_add(&suite, "a kubelet that babbles is not believed",
		  babbling_kubelet_is_not_believed, NULL);
	suite_add(&suite, "answers may be long, and too long", answers_may_be_long, NULL);
	suite_add(&suite, "may be freed when called", may_be_freed_when_called, NULL);
	suite_add(&suite, "may be freed while it asks", freed_while_it_asks, NULL);
	suite_add(&suite, "finds a device", finds_a_device, NULL);
	return suite_run(&suite, "podresources");
}
