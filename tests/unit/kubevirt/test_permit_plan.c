#include "controller/kubevirt/permit_plan.h"

#include <stdio.h>

#include "unit/kubevirt/permits_text.h"

/* Entries of three models, of us and of somebody else. */
#define THEIRS(selector, resource) \
	"{'pciVendorSelector':'" selector "','resourceName':'" resource "'}"
#define EXTERNAL(selector, resource)                                      \
	"{'externalResourceProvider':true,'pciVendorSelector':'" selector \
	"','resourceName':'" resource "'}"
#define A             EXTERNAL("0001:000a", "x.com/a")
#define B             EXTERNAL("0001:000b", "x.com/b")
#define C             EXTERNAL("0001:000c", "x.com/c")
#define THEM          THEIRS("1111:1111", "them.com/t")
#define KEY_A         "0001:000a=x.com/a"
#define KEY_B         "0001:000b=x.com/b"
#define KEY_C         "0001:000c=x.com/c"
#define WISH_A        "pci:" KEY_A " "
#define WISH_B        "pci:" KEY_B " "
#define WISH_C        "pci:" KEY_C " "
#define RECORD(keys)  "{'pciHostDevices':[" keys "]}"
#define CREATED(keys) "{'pciHostDevices':[" keys "],'created':true}"
#define PCI(entries)  "{'pciHostDevices':[" entries "]}"
#define A_LIST        "'pciHostDevices':[" A "]"
#define STICK                                                                    \
	"{'externalResourceProvider':true,'resourceName':'k.io/s','selectors':[" \
	"{'vendor':'0951','product':'1666'}]}"
#define MDEV \
	"{'externalResourceProvider':true,'mdevNameSelector':'T4-1B','resourceName':'n.com/T4-1B'}"

static struct plan_case {
	const char *name;
	const char *permitted; /* NULL: there are no permittedHostDevices */
	const char *record;    /* NULL: there is none                     */
	const char *desired;
	bool create;
	const char *permitted_after; /* NULL: none */
	const char *record_after;
	const char *clash;
} cases[] = {
	/* Somebody else's. */
	{ "nothing of ours, nothing wished", PCI(THEM), NULL, "", false, PCI(THEM), NULL, NULL },
	{ "harvester-api 4.1: A, B, C of somebody else, A is reconciled", PCI(A "," B "," C), NULL,
	  WISH_A, false, PCI(A "," B "," C), NULL, NULL },
	{ "harvester-api 4.1: then B", PCI(A "," B "," C), NULL, WISH_A WISH_B, false,
	  PCI(A "," B "," C), NULL, NULL },
	{ "harvester-api 4.1: A, B, C of ours, all wished", PCI(A "," B "," C),
	  RECORD("'" KEY_A "','" KEY_B "','" KEY_C "'"), WISH_A WISH_B WISH_C, false,
	  PCI(A "," B "," C), RECORD("'" KEY_A "','" KEY_B "','" KEY_C "'"), NULL },
	{ "harvester-api 4.1: C, A, B of ours stay in that order", PCI(C "," A "," B),
	  RECORD("'" KEY_A "','" KEY_B "','" KEY_C "'"), WISH_A WISH_B WISH_C, false,
	  PCI(C "," A "," B), RECORD("'" KEY_A "','" KEY_B "','" KEY_C "'"), NULL },
	{ "an entry without external provider stays as it is, and is told",
	  PCI(THEIRS("0001:000a", "x.com/a")), NULL, WISH_A, false,
	  PCI(THEIRS("0001:000a", "x.com/a")), NULL, "x.com/a" },
	{ "so is one that has another model served under our name",
	  PCI(THEIRS("9999:9999", "x.com/a")), NULL, WISH_A, false,
	  PCI(THEIRS("9999:9999", "x.com/a") "," A), RECORD("'" KEY_A "'"), "x.com/a" },
	{ "and one in another list", "{'usb':[{'resourceName':'x.com/a'}]}", NULL, WISH_A, false,
	  "{'usb':[{'resourceName':'x.com/a'}]," A_LIST "}", RECORD("'" KEY_A "'"), "x.com/a" },
	{ "somebody else's twins are that one's affair", PCI(THEM "," THEM), NULL, WISH_A, false,
	  PCI(THEM "," THEM "," A), RECORD("'" KEY_A "'"), NULL },
	{ "what is no entry is left alone", PCI("{'x':1},{'resourceName':'r'}"), NULL, WISH_A,
	  false, PCI("{'x':1},{'resourceName':'r'}," A), RECORD("'" KEY_A "'"), NULL },
	{ "lists that we do not know stay", "{'newList':[{'a':'b'}]}", NULL, WISH_A, false,
	  "{'newList':[{'a':'b'}]," A_LIST "}", RECORD("'" KEY_A "'"), NULL },

	/* Ours come and go. */
	{ "a wish is added at the end", PCI(THEM), NULL, WISH_A, false, PCI(THEM "," A),
	  RECORD("'" KEY_A "'"), NULL },
	{ "wishes are added in the order of their keys, whatever order they came in", PCI(THEM),
	  NULL, WISH_C WISH_A WISH_B WISH_A, false, PCI(THEM "," A "," B "," C),
	  RECORD("'" KEY_A "','" KEY_B "','" KEY_C "'"), NULL },
	{ "what is released goes, from the middle too", PCI(A "," B "," THEM "," C),
	  RECORD("'" KEY_A "','" KEY_B "','" KEY_C "'"), WISH_A WISH_C, false,
	  PCI(A "," THEM "," C), RECORD("'" KEY_A "','" KEY_C "'"), NULL },
	{ "the last one takes list and record with it", PCI(A), RECORD("'" KEY_A "'"), "", false,
	  "{}", NULL, NULL },
	{ "what is not ours stays when it is released", PCI(A), NULL, "", false, PCI(A), NULL,
	  NULL },
	{ "one goes and another comes", PCI(A "," THEM), RECORD("'" KEY_A "'"), WISH_B, false,
	  PCI(THEM "," B), RECORD("'" KEY_B "'"), NULL },
	{ "one model may have several resources, and one resource several models", PCI(""), NULL,
	  "pci:0001:000a=x.com/a pci:0001:000a=x.com/b pci:0001:000b=x.com/a", false,
	  PCI(A "," EXTERNAL("0001:000a", "x.com/b") "," EXTERNAL("0001:000b", "x.com/a")),
	  RECORD("'" KEY_A "','0001:000a=x.com/b','0001:000b=x.com/a'"), NULL },
	{ "all lists", "{}", NULL, WISH_A "mdev:T4-1B=n.com/T4-1B usb:0951:1666=k.io/s", false,
	  "{" A_LIST ",'mediatedDevices':[" MDEV "],'usb':[" STICK "]}",
	  "{'pciHostDevices':['" KEY_A
	  "'],'mediatedDevices':['T4-1B=n.com/T4-1B'],'usb':['k.io/s']}",
	  NULL },
	{ "and all of them empty again",
	  "{" A_LIST ",'mediatedDevices':[" MDEV "],'usb':[" STICK "]}",
	  "{'pciHostDevices':['" KEY_A
	  "'],'mediatedDevices':['T4-1B=n.com/T4-1B'],'usb':['k.io/s']}",
	  "", false, "{}", NULL, NULL },
	{ "a USB device's ids change with the device", "{'usb':[" STICK "]}", "{'usb':['k.io/s']}",
	  "usb:0951:9999=k.io/s", false,
	  "{'usb':[{'externalResourceProvider':true,'resourceName':'k.io/s','selectors':["
	  "{'vendor':'0951','product':'9999'}]}]}",
	  "{'usb':['k.io/s']}", NULL },

	/* Drift. */
	{ "removed by somebody: comes back", PCI(THEM), RECORD("'" KEY_A "'"), WISH_A, false,
	  PCI(THEM "," A), RECORD("'" KEY_A "'"), NULL },
	{ "the flag switched off: on again", PCI(THEIRS("0001:000a", "x.com/a") "," THEM),
	  RECORD("'" KEY_A "'"), WISH_A, false, PCI(A "," THEM), RECORD("'" KEY_A "'"), NULL },
	{ "harvester-api 4.1: what that bug made of ours is put right", PCI(B "," C "," C),
	  RECORD("'" KEY_A "','" KEY_B "','" KEY_C "'"), WISH_A WISH_B WISH_C, false,
	  PCI(B "," C "," A), RECORD("'" KEY_A "','" KEY_B "','" KEY_C "'"), NULL },
	{ "twins of what is released go both", PCI(A "," THEM "," A), RECORD("'" KEY_A "'"), "",
	  false, PCI(THEM), NULL, NULL },
	{ "ids in capital letters are the same entry", PCI(EXTERNAL("0001:000A", "x.com/a")),
	  RECORD("'" KEY_A "'"), WISH_A, false, PCI(A), RECORD("'" KEY_A "'"), NULL },
	{ "of somebody else they are as good", PCI(EXTERNAL("0001:000A", "x.com/a")), NULL, WISH_A,
	  false, PCI(EXTERNAL("0001:000A", "x.com/a")), NULL, NULL },
	{ "without record all entries are somebody else's", PCI(A "," B), NULL, WISH_A WISH_C,
	  false, PCI(A "," B "," C), RECORD("'" KEY_C "'"), NULL },
	{ "a record that nobody can read says nothing, and is written anew", PCI(A), "nonsense",
	  WISH_B, false, PCI(A "," B), RECORD("'" KEY_B "'"), NULL },
	{ "it goes when there is nothing to say", PCI(A), "nonsense", "", false, PCI(A), NULL,
	  NULL },
	{ "a record of other things likewise", PCI(A), "{'pciHostDevices':[1,{}],'usb':3}", "",
	  false, PCI(A), NULL, NULL },
	{ "what is recorded and nowhere is forgotten", PCI(THEM), RECORD("'" KEY_A "'"), "", false,
	  PCI(THEM), NULL, NULL },

	/* No lists. */
	{ "no permittedHostDevices permit everything: they stay away", NULL, NULL, WISH_A, false,
	  NULL, NULL, NULL },
	{ "also with a record, which goes", NULL, RECORD("'" KEY_A "'"), WISH_A, false, NULL, NULL,
	  NULL },
	{ "empty ones permit nothing: an entry is added", "{}", NULL, WISH_A, false, PCI(A),
	  RECORD("'" KEY_A "'"), NULL },
	{ "asked to, they are made", NULL, NULL, WISH_A, true, PCI(A), CREATED("'" KEY_A "'"),
	  NULL },
	{ "but not for nothing", NULL, NULL, "", true, NULL, NULL, NULL },
	{ "made anew after somebody has removed them", NULL, CREATED("'" KEY_A "'"), WISH_A, true,
	  PCI(A), CREATED("'" KEY_A "'"), NULL },
	{ "with the last entry they go again", PCI(A), CREATED("'" KEY_A "'"), "", true, NULL, NULL,
	  NULL },
	{ "also when nobody asks for them any more", PCI(A), CREATED("'" KEY_A "'"), "", false,
	  NULL, NULL, NULL },
	{ "but not somebody else's entry with them", PCI(A "," THEM), CREATED("'" KEY_A "'"), "",
	  true, PCI(THEM), NULL, NULL },
	{ "nor a list that we do not know", "{'newList':[1]," A_LIST "}", CREATED("'" KEY_A "'"),
	  "", true, "{'newList':[1]}", NULL, NULL },
	{ "those of somebody else stay, empty", PCI(A), RECORD("'" KEY_A "'"), "", true, "{}", NULL,
	  NULL },
};

static void assert_json(const char *what, const json_t *is, const char *want)
{
	auto_json json_t *expected = want ? json_of(want) : NULL;
	auto_free char *text = is ? json_map_text(is) : NULL;

	if (expected ? !json_equal(is, expected) : is != NULL)
		fail_msg("%s: %s instead of %s", what, text ? text : "none", want ? want : "none");
}

/* Nothing is left to do once it is done, and all that is not ours is as it was. */
static void assert_settled(json_t *object, const struct permit_desired *desired, bool create)
{
	auto_json json_t *bare = kubevirt_of(NULL, NULL);
	auto_json json_t *copy = json_deep_copy(object);
	struct permit_plan plan;

	permit_plan(object, desired, create, &plan);
	if (plan.patch) {
		auto_free char *text = json_map_text(plan.patch);

		fail_msg("not settled: %s", text);
	}
	assert_int_equal(plan.added + plan.removed + plan.mended, 0);
	permit_plan_done(&plan);
	json_object_del(json_object_get(json_object_get(copy, "spec"), "configuration"),
			"permittedHostDevices");
	json_object_del(json_object_get(copy, "metadata"), "annotations");
	assert_true(json_equal(copy, bare));
}

SUITE_CLOSING(permit_desired, struct permit_desired, permit_desired_done);

static void plan_matches_table(void **state)
{
	const struct plan_case *c = suite_row(state);
	auto_json json_t *object = kubevirt_of(c->permitted, c->record);
	auto_json json_t *before = json_deep_copy(object);
	auto_json json_t *record = NULL;
	struct permit_desired *desired = *state;
	struct permit_plan plan;

	wish_read(c->desired, desired);
	permit_plan(object, desired, c->create, &plan);
	assert_true(json_equal(object, before));
	if (plan.patch) {
		assert_string_equal(
			json_string_value(json_object_get(json_object_get(plan.patch, "metadata"),
							  "resourceVersion")),
			"7");
		merge(object, plan.patch);
		assert_false(json_equal(object, before));
	}
	assert_json("permittedHostDevices", permitted_of(object), c->permitted_after);
	record = record_of(object) ? json_loads(record_of(object), 0, NULL) : NULL;
	assert_json("record", record, c->record_after);
	assert_string_equal(plan.clash ? plan.clash : "none", c->clash ? c->clash : "none");
	assert_settled(object, desired, c->create);
	permit_plan_done(&plan);
}

static void changes_are_counted(void **state)
{
	auto_json json_t *object =
		kubevirt_of(PCI(THEIRS("0001:000a", "x.com/a") "," B "," B "," THEM),
			    RECORD("'" KEY_A "','" KEY_B "'"));
	struct permit_desired *desired = *state;
	struct permit_plan plan;

	wish_read(WISH_A WISH_B WISH_C, desired);
	permit_plan(object, desired, false, &plan);
	assert_int_equal(plan.added, 1);
	assert_int_equal(plan.removed, 1);
	assert_int_equal(plan.mended, 1);
	permit_plan_done(&plan);
}

/* --- the property: any history of wishes and of others' writes -------------------------------- */

enum { MODELS = 6, STEPS = 4000 };

static json_t *random_entry(uint64_t *seed)
{
	unsigned number = (unsigned)(suite_random(seed) % MODELS);
	auto_free char *selector = xasprintf("0001:%04x", number);
	auto_free char *resource = xasprintf("x.com/%u", number);
	json_t *entry =
		json_pack("{s:s, s:s}", "pciVendorSelector", selector, "resourceName", resource);

	if (suite_random(seed) % 2)
		json_object_set_new(entry, "externalResourceProvider", json_true());
	return entry;
}

static void random_wish(uint64_t *seed, struct permit_desired *desired)
{
	for (unsigned i = 0; i < MODELS; i++) {
		auto_free char *selector = xasprintf("0001:%04x", i);
		auto_free char *resource = xasprintf("x.com/%u", i);

		if (suite_random(seed) % 2)
			permit_desired_add(desired, PERMIT_PCI, selector, resource);
	}
	permit_desired_sort(desired);
}

/* Somebody adds, removes or changes an entry, or takes everything away. */
static void disturb(uint64_t *seed, json_t *object)
{
	json_t *permitted = permitted_of(object);
	json_t *list = json_object_get(permitted, "pciHostDevices");
	size_t len = json_array_size(list);

	switch (suite_random(seed) % 8) {
	case 0:
		if (permitted && !list)
			json_object_set_new(permitted, "pciHostDevices", json_array());
		return;
	case 1:
		json_array_remove(list, len > 0 ? suite_random(seed) % len : 0);
		return;
	case 2:
		if (len > 0)
			json_object_set_new(json_array_get(list, suite_random(seed) % len),
					    "externalResourceProvider", json_false());
		return;
	default:
		if (list)
			json_array_insert_new(list, suite_random(seed) % (len + 1),
					      random_entry(seed));
		return;
	}
}

static bool recorded(json_t *object, json_t *entry)
{
	auto_free char *key = permit_key(PERMIT_PCI, entry);

	return record_of(object) && strstr(record_of(object), key);
}

/* Every entry of @before that was not ours is in @after, in that order. */
static void assert_theirs_stay(json_t *before, json_t *after)
{
	json_t *was = json_object_get(permitted_of(before), "pciHostDevices");
	json_t *is = json_object_get(permitted_of(after), "pciHostDevices");
	size_t at = 0;

	for (size_t i = 0; i < json_array_size(was); i++) {
		json_t *entry = json_array_get(was, i);

		if (recorded(before, entry))
			continue;
		while (at < json_array_size(is) && !json_equal(json_array_get(is, at), entry))
			at++;
		assert_true(at < json_array_size(is));
		at++;
	}
}

static void assert_wishes_are_there(json_t *object, const struct permit_desired *desired)
{
	json_t *is = json_object_get(permitted_of(object), "pciHostDevices");

	for (size_t i = 0; i < desired->lists[PERMIT_PCI].len; i++) {
		const char *key = desired->lists[PERMIT_PCI].items[i].key;
		bool found = false;

		for (size_t j = 0; j < json_array_size(is) && !found; j++) {
			auto_free char *has = permit_key(PERMIT_PCI, json_array_get(is, j));

			found = strcmp(has, key) == 0;
		}
		assert_true(found);
	}
}

static void nothing_of_others_is_lost_whatever_happens(void **state)
{
	auto_json json_t *object = kubevirt_of("{}", NULL);
	uint64_t seed = 1;

	for (int i = 0; i < STEPS; i++) {
		auto_json json_t *before = NULL;
		struct permit_desired desired = { 0 };
		struct permit_plan plan;

		disturb(&seed, object);
		random_wish(&seed, &desired);
		before = json_deep_copy(object);
		permit_plan(object, &desired, false, &plan);
		if (plan.patch)
			merge(object, plan.patch);
		assert_theirs_stay(before, object);
		assert_wishes_are_there(object, &desired);
		assert_settled(object, &desired, false);
		permit_plan_done(&plan);
		permit_desired_done(&desired);
		if (json_array_size(json_object_get(permitted_of(object), "pciHostDevices")) > 24) {
			json_decref(object);
			object = kubevirt_of("{}", NULL);
		}
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "nothing of others is lost, whatever happens",
		  nothing_of_others_is_lost_whatever_happens, NULL);
	suite_fixture(&suite, &permit_desired_fixture);
	suite_rows(&suite, cases, plan_matches_table);
	suite_add(&suite, "changes are counted", changes_are_counted, NULL);
	return suite_run(&suite, "permit_plan");
}
