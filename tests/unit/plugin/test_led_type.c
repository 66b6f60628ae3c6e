/* The device type that docs/add-a-device-type.md shows: it works, and the text is the code. */
#include "unit/plugin/led_type.h"

#include "base/file.h"
#include "fake/fake_clock.h"
#include "unit/plugin/caller.h"
#include "unit/plugin/fake_registration.h"

static void on_event(void *arg, const struct plugin_event *event)
{
	struct stage *stage = arg;

	if (event->kind == PLUGIN_LISTED)
		return;
	str_addf(&stage->log, "event %d|", (int)event->kind);
}

static void leds_are_allocated(void **state)
{
	struct stage *stage = *state;
	struct caller caller;
	struct leds leds = { .root = stage->folder.path };
	struct plugins_deps deps = { .registration = { .loop = &stage->loop,
						       .mode = REGISTRATION_DIRECT },
				     .fn = on_event,
				     .arg = stage };
	struct plugins *plugins;
	auto_free char *gone = NULL;
	auto_free char *answer = NULL;

	*fakes() = (struct fake_registrations){ .log = &stage->log };
	deps.registration.clock = stage->clock;
	deps.registration.kubelet_dir = stage->folder.path;
	folder_put(&stage->folder, "front", "");
	plugins = plugins_new(&deps);
	leds_offer(plugins, &leds);
	stage_await(stage, "register example.com/led|");
	caller_init(&caller, stage, fake_registration("example.com/led")->path);
	caller_watch(&caller);
	stage_await(stage, "list: front back!|");
	caller_allocate(&caller, "front");
	answer = xasprintf("event %d|container: LEDS=front %s/front:rw|OK|", PLUGIN_ALLOCATED,
			   stage->folder.path);
	stage_await(stage, answer);
	caller_allocate(&caller, "back");
	while (!strstr(str_cstr(&stage->log), "is not ready: it is broken|"))
		stage_turn(stage);
	str_clear(&stage->log);
	gone = folder_path(&stage->folder, "front");
	assert_int_equal(unlink(gone), 0);
	caller_allocate(&caller, "front");
	while (!strstr(str_cstr(&stage->log), "look at LED 'front': No such file or directory|"))
		stage_turn(stage);
	caller_done(&caller);
	plugins_free(plugins);
}

/* The tests run in the folder of the sources. */
static void text_is_the_code(void **state)
{
	auto_free char *code = NULL;
	auto_free char *text = NULL;

	assert_int_equal(
		file_read(AT_FDCWD, "tests/unit/plugin/led_type.h", 1 << 20, &code, NULL, NULL), 0);
	assert_int_equal(
		file_read(AT_FDCWD, "docs/add-a-device-type.md", 1 << 20, &text, NULL, NULL), 0);
	assert_non_null(strstr(text, code));
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "the text of the docs is the code", text_is_the_code, NULL);
	suite_fixture(&suite, &stage_fixture);
	suite_add(&suite, "LEDs are allocated", leds_are_allocated, NULL);
	return suite_run(&suite, "led_type");
}
