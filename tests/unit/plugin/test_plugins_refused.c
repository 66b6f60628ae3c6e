/* What is left out of the set of resources that are offered. */
#include "fake/fake_clock.h"
#include "unit/plugin/plugins_scene.h"

#define BAD_NAME                                                                     \
	"kubelets refuse this resource name: it must be DOMAIN/NAME, with a domain " \
	"outside kubernetes.io that does not begin with 'requests.', and a name of at most 63 letters, digits, '.', '-' or '_'"
#define SIXTY "123456789012345678901234567890123456789012345678901234567890"

static struct refused_case {
	const char *name;
	const char *set;
	const char *log; /* with "register t.io/good" at the end of each */
} refused[] = {
	{ "a name without a domain", "good: x", "toy good refused: " BAD_NAME "|" },
	{ "a domain of Kubernetes", "x.kubernetes.io/a: x",
	  "toy x.kubernetes.io/a refused: " BAD_NAME "|" },
	{ "a name of a quota", "requests.t.io/a: x", "toy requests.t.io/a refused: " BAD_NAME "|" },
	{ "a name with a blank", "t.io/a b: x", "toy t.io/a b refused: " BAD_NAME "|" },
	{ "a name with a line of a log in it", "t.io/a\nlevel=error: x",
	  "toy t.io/a\nlevel=error refused: " BAD_NAME "|" },
	{ "a name with an escape for a terminal", "t.io/\x1b[2J: x",
	  "toy t.io/\x1b[2J refused: " BAD_NAME "|" },
	{ "a name that leads out of a folder", "t.io/../../x: x",
	  "toy t.io/../../x refused: " BAD_NAME "|" },
	{ "a name that is too long", "t.io/" SIXTY "1234: x",
	  "toy t.io/" SIXTY "1234 refused: " BAD_NAME "|" },
	{ "a domain that \"requests.\" makes too long",
	  SIXTY "." SIXTY "." SIXTY "." SIXTY ".a/a: x",
	  "toy " SIXTY "." SIXTY "." SIXTY "." SIXTY ".a/a refused: " BAD_NAME "|" },
	{ "a resource twice", "t.io/good: y; t.io/good: z",
	  "toy t.io/good refused: the resource is in the list twice|" },
	{ "a device twice", "t.io/good: x x",
	  "toy t.io/good refused x: two devices have the ID 'x'|" },
	{ "an ID that is too long", "t.io/good: " SIXTY "1234 x",
	  "toy t.io/good refused " SIXTY
	  "1234: the device's ID has 64 bytes; kubelets accept at most 63|" },
	{ "an ID that is not ASCII", "t.io/good: \xc3\xbc x",
	  "toy t.io/good refused \xc3\xbc: the device's ID has bytes that are not printable "
	  "ASCII|" },
	{ "an ID with an escape for a terminal", "t.io/good: \x1b[31m x",
	  "toy t.io/good refused \x1b[31m: the device's ID has bytes that are not printable "
	  "ASCII|" },
	{ "an ID with no bytes", "t.io/good: ! x",
	  "toy t.io/good refused : the device's ID is empty|" },
};

/* The others go on, and the same reason is reported once. */
static void refused_matches_table(void **state)
{
	const struct refused_case *c = suite_row(state);
	struct scene *scene = *state;
	bool has_good = strstr(c->set, "t.io/good");
	auto_free char *text = xasprintf("%s%s", c->set, has_good ? "" : "; t.io/good: x");
	auto_free char *log = xasprintf("%sregister t.io/good|", c->log);

	set(scene, text);
	stage_await(&scene->stage, log);
	set(scene, text);
	stage_settle(&scene->stage, "");
	/* It was better in between: told again. */
	set(scene, "t.io/good: x");
	set(scene, text);
	stage_settle(&scene->stage, c->log);
}

static void two_types_want_one_name(void **state)
{
	struct scene *scene = *state;

	set(scene, "t.io/a: x");
	stage_await(&scene->stage, "register t.io/a|");
	set_of(scene, &other_type, "t.io/a: y; t.io/b: z");
	stage_await(&scene->stage, "other t.io/a refused: device type 'toy' offers this resource "
				   "already|register t.io/b|");
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: x|");
	/* The first type keeps it. */
	set(scene, "t.io/a: x; t.io/b: x");
	stage_await(&scene->stage, "toy t.io/b refused: device type 'other' offers this resource "
				   "already|");
	/* And when he gives it up, the other one gets it. */
	set(scene, "");
	settle_withdrawal(scene);
	stage_settle(&scene->stage, "unregister t.io/a|list:|watch ended: OK|"
				    "toy t.io/a withdrawn|register t.io/a|");
	caller_done(&scene->caller);
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: y|");
}

static void assert_owner(const struct scene *scene, const char *wanted)
{
	const char *owner = plugins_owner(scene->plugins, "t.io/a");

	assert_string_equal(owner ? owner : "none", wanted);
}

/* As what there is after a restart, in either order. */
static void claimed_devices_go_first(void **state)
{
	static const char taken[] =
		"other t.io/a refused: device type 'toy' offers this resource already|";
	struct scene *scene = scene_new();
	auto_free char *after = xasprintf("%sregister t.io/a|", taken);

	set_of(scene, &other_type, "t.io/a: y");
	stage_await(&scene->stage, "register t.io/a|");
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: y|");
	set(scene, "*t.io/a: x");
	assert_owner(scene, "toy"); /* at once: the other gets the reason */
	settle_withdrawal(scene);
	stage_settle(
		&scene->stage,
		"unregister t.io/a|"
		"other t.io/a refused: device type 'toy' offers this resource already|list:|watch ended: OK|other t.io/a withdrawn|"
		"register t.io/a|");
	caller_done(&scene->caller);
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: x|");
	set_of(scene, &other_type, "t.io/a: y");
	assert_owner(scene, "toy");
	scene_free(scene);

	scene = scene_new();
	set(scene, "*t.io/a: x");
	set_of(scene, &other_type, "t.io/a: y");
	stage_await(&scene->stage, after);
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: x|");
	set(scene, ""); /* the claim goes */
	settle_withdrawal(scene);
	str_clear(&scene->stage.log);
	assert_owner(scene, "other");
	caller_done(&scene->caller);
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: y|");
	scene_free(scene);
}

/* Types are first in the order in which they were set first, here: toy, other. */
static void of_claimed_devices_the_first_type_has_the_name(void **state)
{
	struct scene *scene = *state;

	set(scene, "");
	set_of(scene, &other_type, "*t.io/a: y");
	stage_await(&scene->stage, "register t.io/a|");
	assert_owner(scene, "other");
	set(scene, "*t.io/a: x");
	assert_owner(scene, "toy");
	set_of(scene, &other_type, "*t.io/a: y");
	assert_owner(scene, "toy");
	set(scene, "");
	assert_owner(scene, "other");
}

static void of_two_claimed_the_first_one_stays(void **state)
{
	struct scene *scene = *state;

	set_of(scene, &other_type, "*t.io/a: y");
	stage_await(&scene->stage, "register t.io/a|");
	set(scene, "*t.io/a: x");
	stage_settle(&scene->stage,
		     "toy t.io/a refused: device type 'other' offers this resource already|");
	assert_owner(scene, "other");
}

/* 70,000 devices with IDs of 63 bytes are more than 4 MiB. */
static void list_is_too_long(void **state)
{
	enum { MANY = 70000 };
	struct scene *scene = scene_new();
	struct plugin_resource resource = { .name = "t.io/a", .ndevices = MANY };
	struct herd *herd = *state;

	herd_init(herd, MANY, PLUGIN_ID_MAX);
	resource.devices = herd->devices;
	plugins_set(scene->plugins, &toy_type, &scene->toy, &resource, 1);
	stage_settle(&scene->stage,
		     "toy t.io/a refused: list of 70000 devices: v1beta1.ListAndWatchResponse of "
		     "5460000 bytes; at most 4194304 can be sent|");
	set(scene, "t.io/a: x");
	stage_await(&scene->stage, "register t.io/a|");
	watch(scene, "t.io/a");
	stage_await(&scene->stage, "list: x|");
	plugins_set(scene->plugins, &toy_type, &scene->toy, &resource, 1);
	/* The one before stays. */
	stage_settle(&scene->stage,
		     "toy t.io/a refused: list of 70000 devices: v1beta1.ListAndWatchResponse of "
		     "5460000 bytes; at most 4194304 can be sent|");
	scene_free(scene);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "claimed devices go first, whoever came first", claimed_devices_go_first,
		  NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, refused, refused_matches_table);
	suite_add(&suite, "two types want one name", two_types_want_one_name, NULL);
	suite_add(&suite, "of claimed devices the first type has the name, whoever came first",
		  of_claimed_devices_the_first_type_has_the_name, NULL);
	suite_add(&suite, "of two claimed the first one stays", of_two_claimed_the_first_one_stays,
		  NULL);
	suite_fixture(&suite, &herd_fixture);
	suite_add(&suite, "a list is too long", list_is_too_long, NULL);
	return suite_run(&suite, "plugins: what is left out");
}
