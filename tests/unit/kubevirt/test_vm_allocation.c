/* vm_allocation and vm_requests: what a machine says that it was given, and what that depends on. */
#include "controller/kubevirt/vm_allocation.h"

#include <string.h>

#include "api/virtualmachine.h"
#include "base/err.h"
#include "base/json_read.h"
#include "kube/store.h"
#include "unit/suite.h"

#define DETAILS "\"annotations\":{\"harvesterhci.io/deviceAllocationDetails\":\"{}\",\"a\":\"b\"}"
#define GPUS                                                                              \
	"\"spec\":{\"template\":{\"spec\":{\"domain\":{\"devices\":{\"gpus\":["           \
	"{\"name\":\"g\",\"deviceName\":\"n.com/a\"},{\"name\":\"dra\"},{\"name\":\"h\"," \
	"\"deviceName\":\"n.com/b\"}],\"hostDevices\":[{\"name\":\"x\",\"deviceName\":"   \
	"\"i.com/c\"}]}}}}}"

struct machine {
	struct entry *entry;
	const struct virtualmachine *vm;
};

static void open_machine(struct machine *m, const char *meta, const char *rest)
{
	auto_free char *text =
		xasprintf("{\"metadata\":{\"name\":\"v\",\"namespace\":\"d\",\"uid\":"
			  "\"u\",\"resourceVersion\":\"1\"%s%s}%s%s}",
			  *meta ? "," : "", meta, *rest ? "," : "", rest);
	struct err err = { 0 };

	m->entry =
		entry_decode(&virtualmachine_kind, &(struct json_text){ text, strlen(text) }, &err);
	if (!m->entry)
		fail_msg("%s: %s", text, err.msg);
	assert(m->entry && m->entry->object);
	m->vm = m->entry->object;
}

static void close_machine(struct machine *m)
{
	entry_free(&virtualmachine_kind, m->entry);
}

SUITE_CLOSING(machine, struct machine, close_machine);

static void what_is_read(void **state)
{
	struct machine m;

	open_machine(&m, DETAILS ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"", GPUS);
	assert_string_equal(m.entry->name, "d/v");
	assert_string_equal(m.vm->meta.annotations.allocation, "{}");
	assert_non_null(m.vm->meta.meta.deletion_timestamp);
	assert_int_equal(m.vm->spec.template_.spec.domain.devices.gpus.len, 3);
	assert_true(vm_requests_gpu(m.vm, "n.com/a"));
	assert_true(vm_requests_gpu(m.vm, "n.com/b"));
	assert_false(vm_requests_gpu(m.vm, "i.com/c"));
	close_machine(&m);

	open_machine(&m, "", "");
	assert_null(m.vm->meta.annotations.allocation);
	assert_null(m.vm->meta.meta.deletion_timestamp);
	assert_false(vm_requests_gpu(m.vm, "n.com/a"));
	close_machine(&m);
}

static struct same_case {
	const char *name;
	const char *meta;
	const char *rest;
	bool same;
} sames[] = {
	{ "the same", DETAILS, GPUS, true },
	{ "other annotations and spec do not count", DETAILS ",\"labels\":{\"x\":\"y\"}",
	  "\"status\":{\"ready\":true}," GPUS, true },
	{ "without what it was given", "", GPUS, false },
	{ "without GPUs", DETAILS, "", false },
	{ "about to go", DETAILS ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"", GPUS, false },
	{ "another GPU", DETAILS,
	  "\"spec\":{\"template\":{\"spec\":{\"domain\":{\"devices\":{\"gpus\":[{\"deviceName\":\"n.com/"
	  "a\"},{\"deviceName\":\"n.com/x\"},{\"deviceName\":\"n.com/b\"}]}}}}}",
	  false },
};

static void same_matches_table(void **state)
{
	const struct same_case *c = suite_row(state);
	struct machine a;
	struct machine *b = *state;

	open_machine(&a, DETAILS, GPUS);
	open_machine(b, c->meta, c->rest);
	assert_int_equal(vm_requests_equal(a.vm, b->vm), c->same);
	close_machine(&a);
}

static void the_text_is_harvester_s_in_any_order(void **state)
{
	static const char *const adds[][2] = { { "n.com/a", "n-3" },
					       { "i.com/c", "n-2" },
					       { "i.com/c", "n-1" },
					       { "a.com/d", "n-9" } };
	struct machine *m = *state;

	open_machine(m, "", GPUS);
	for (size_t first = 0; first < ARRAY_LEN(adds); first++) {
		struct vm_allocation given = { 0 };
		auto_free char *text = NULL;

		for (size_t i = 0; i < ARRAY_LEN(adds); i++) {
			const char *const *add = adds[(first + i) % ARRAY_LEN(adds)];

			vm_allocation_add(&given, m->vm, add[0], add[1]);
		}
		text = vm_allocation_text(&given);
		assert_string_equal(text, "{\"gpus\":{\"n.com/a\":[\"n-3\"]},\"hostdevices\":{"
					  "\"a.com/d\":[\"n-9\"],\"i.com/c\":[\"n-1\",\"n-2\"]}}");
	}
}

static void nothing_given_is_no_text(void **state)
{
	struct vm_allocation given = { 0 };

	assert_null(vm_allocation_text(&given));
}

static struct said_case {
	const char *name;
	const char *a;
	const char *b;
	bool same;
} saids[] = {
	{ "none and none", NULL, NULL, true },
	{ "none and something", NULL, "{}", false },
	{ "something and none", "{}", NULL, false },
	{ "the same text", "{\"a\":1}", "{\"a\":1}", true },
	{ "the same in other words", "{\"a\":1,\"b\":2}", "{ \"b\":2, \"a\":1 }", true },
	{ "something else", "{\"a\":1}", "{\"a\":2}", false },
	{ "nonsense", "{\"a\":1}", "{\"a\":1", false },
	{ "nonsense twice", "{", "{", true },
};

static void said_matches_table(void **state)
{
	const struct said_case *c = *state;

	assert_int_equal(vm_allocation_equal(c->a, c->b), c->same);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "what of a machine is read", what_is_read, NULL);
	suite_add(&suite, "nothing given is no text", nothing_given_is_no_text, NULL);
	suite_rows(&suite, saids, said_matches_table);
	suite_fixture(&suite, &machine_fixture);
	suite_rows(&suite, sames, same_matches_table);
	suite_add(&suite, "the text is Harvester's, in any order",
		  the_text_is_harvester_s_in_any_order, NULL);
	return suite_run(&suite, "vm_allocation");
}
