/* nvml_line: which lines of hostdev-nvml the agent takes, and what it makes of them. */
#include <errno.h>
#include <string.h>

#include "agent/nvidia/nvml_line.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

#define GPU     "\"address\":\"0000:3b:00.0\",\"uuid\":\"GPU-1\""
#define SIXTEEN "0123456789abcdef"

static struct kind_case {
	const char *name;
	const char *line;
	enum nvml_line_kind kind;
} kinds[] = {
	{ "at an address", "{\"kind\":\"at\",\"n\":1,\"address\":\"0000:3b:00.0\"}", NVML_LINE_AT },
	{ "at an index", "{\"kind\":\"at\",\"n\":1,\"index\":0}", NVML_LINE_AT },
	{ "system", "{\"kind\":\"system\",\"n\":1,\"gpus\":0}", NVML_LINE_SYSTEM },
	{ "gpu", "{\"kind\":\"gpu\",\"n\":1," GPU "}", NVML_LINE_GPU },
	{ "mig", "{\"kind\":\"mig\",\"n\":1," GPU ",\"gi\":0,\"ci\":0}", NVML_LINE_MIG },
	{ "pair", "{\"kind\":\"pair\",\"n\":1," GPU ",\"peer\":\"0000:3c:00.0\",\"nvlinks\":0}",
	  NVML_LINE_PAIR },
	{ "switch", "{\"kind\":\"switch\",\"n\":1," GPU ",\"nvlinks\":12}", NVML_LINE_SWITCH },
	{ "probe", "{\"kind\":\"probe\",\"n\":1," GPU ",\"well\":true}", NVML_LINE_PROBE },
	{ "problem of nobody", "{\"kind\":\"problem\",\"code\":999}", NVML_LINE_PROBLEM },
	{ "failed", "{\"kind\":\"failed\",\"code\":9}", NVML_LINE_FAILED },
	{ "end", "{\"kind\":\"end\",\"n\":1}", NVML_LINE_END },
	{ "watched", "{\"kind\":\"watched\"," GPU "}", NVML_LINE_WATCHED },
	{ "watching", "{\"kind\":\"watching\",\"gpus\":8}", NVML_LINE_WATCHING },
	{ "event", "{\"kind\":\"event\",\"type\":\"xid\",\"data\":79}", NVML_LINE_EVENT },
	{ "lost", "{\"kind\":\"lost\"," GPU ",\"code\":15}", NVML_LINE_LOST },
	{ "idle", "{\"kind\":\"idle\"}", NVML_LINE_IDLE },
	{ "a kind of a newer child", "{\"kind\":\"weather\"}", NVML_LINE_OTHER },
};

static void a_line_has_its_kind(void **state)
{
	const struct kind_case *c = *state;
	struct nvml_line line;
	struct err err = { 0 };

	assert_int_equal(nvml_line_parse(c->line, strlen(c->line), &line, &err), 0);
	assert_int_equal(line.kind, c->kind);
	nvml_line_done(&line);
}

static struct refused_case {
	const char *name;
	const char *line;
	const char *says;
} refused[] = {
	{ "not JSON", "{\"kind\":", "line of hostdev-nvml: " },
	{ "no kind", "{\"n\":1}", "kind" },
	{ "at nowhere", "{\"kind\":\"at\",\"n\":1}", "has no address or index" },
	{ "a GPU without a question", "{\"kind\":\"gpu\"," GPU "}", "has no n" },
	{ "a GPU without an address", "{\"kind\":\"gpu\",\"n\":1,\"uuid\":\"GPU-1\"}",
	  "has no address" },
	{ "a GPU without a UUID", "{\"kind\":\"gpu\",\"n\":1,\"address\":\"0000:3b:00.0\"}",
	  "has no uuid" },
	{ "an address that is none", "{\"kind\":\"at\",\"address\":\"../../etc\"}",
	  "address has another" },
	{ "a peer that is none", "{\"kind\":\"pair\",\"n\":1," GPU ",\"peer\":\"x\",\"nvlinks\":0}",
	  "peer has another" },
	{ "a pair without a peer", "{\"kind\":\"pair\",\"n\":1," GPU ",\"nvlinks\":0}",
	  "has no peer" },
	{ "a pair without links", "{\"kind\":\"pair\",\"n\":1," GPU ",\"peer\":\"0000:3c:00.0\"}",
	  "has no nvlinks" },
	{ "a UUID that is none",
	  "{\"kind\":\"watched\",\"address\":\"0000:3b:00.0\",\"uuid\":\"1\"}",
	  "uuid has another" },
	{ "a UUID with a comma, which parts UUIDs",
	  "{\"kind\":\"watched\",\"address\":\"0000:3b:00.0\",\"uuid\":\"GPU-1,GPU-2\"}",
	  "uuid has another" },
	{ "a UUID that is too long",
	  "{\"kind\":\"watched\",\"address\":\"0000:3b:00.0\",\"uuid\":\"GPU-" SIXTEEN SIXTEEN
		  SIXTEEN SIXTEEN SIXTEEN SIXTEEN "\"}",
	  "uuid has another" },
	{ "a profile that is no part of a resource's name",
	  "{\"kind\":\"mig\",\"n\":1," GPU ",\"gi\":0,\"ci\":0,\"profile\":\"1g/5gb\"}",
	  "profile has another" },
	{ "a cluster that is no number", "{\"kind\":\"gpu\",\"n\":1," GPU ",\"cluster\":\"xyz\"}",
	  "cluster has another" },
	{ "a MIG device without an instance", "{\"kind\":\"mig\",\"n\":1," GPU ",\"gi\":0}",
	  "has no gi or ci" },
	{ "an event without a type", "{\"kind\":\"event\",\"data\":79}", "has no type" },
	{ "a failure without a code", "{\"kind\":\"failed\"}", "has no code" },
	{ "a negative code", "{\"kind\":\"failed\",\"code\":-9}", "code has another" },
	{ "a negative question", "{\"kind\":\"end\",\"n\":-1}", "n has another" },
	{ "a number that is a text", "{\"kind\":\"failed\",\"code\":\"9\"}", "code" },
	{ "a number that is too large", "{\"kind\":\"failed\",\"code\":5000000000}", "code" },
	{ "a watch of nobody knows how many", "{\"kind\":\"watching\"}", "has no gpus" },
};

static void a_wrong_line_is_refused_whole(void **state)
{
	const struct refused_case *c = *state;
	struct nvml_line line;
	struct err err = { 0 };

	assert_true(nvml_line_parse(c->line, strlen(c->line), &line, &err) < 0);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.msg, c->says));
	assert_true(nvml_line_parse(c->line, strlen(c->line), &line, NULL) < 0);
}

static void what_is_not_said_is_minus_one(void **state)
{
	static const char text[] = "{\"kind\":\"gpu\",\"n\":1," GPU "}";
	struct nvml_line line;

	assert_int_equal(nvml_line_parse(text, strlen(text), &line, NULL), 0);
	assert_int_equal(line.index, -1);
	assert_int_equal(line.minor, -1);
	assert_int_equal(line.memory_mib, -1);
	assert_int_equal(line.recovery, -1);
	assert_int_equal(line.clique, -1);
	assert_null(line.name);
	assert_false(line.well);
	nvml_line_done(&line);
}

static void texts_are_cleaned_and_cut(void **state)
{
	struct nvml_line line;
	struct str text = STR_INIT;

	str_add(&text, "{\"kind\":\"failed\",\"code\":9,\"message\":\"a\\u0007b");
	for (int i = 0; i < 1000; i++)
		str_add(&text, "\xc3\xa4");
	str_add(&text, "\"}");
	assert_int_equal(nvml_line_parse(text.buf, text.len, &line, NULL), 0);
	assert_memory_equal(line.message, "a\\x07b", 6);
	assert_true(strlen(line.message) <= NVML_LINE_MESSAGE_MAX);
	nvml_line_done(&line);
	str_done(&text);
}

static void a_line_has_a_limit(void **state)
{
	struct nvml_line line;
	struct err err = { 0 };
	auto_free char *text = xmalloc(NVML_LINE_MAX + 1);

	memset(text, ' ', NVML_LINE_MAX + 1);
	assert_int_equal(nvml_line_parse(text, NVML_LINE_MAX + 1, &line, &err), -EMSGSIZE);
}

static struct event_case {
	const char *name;
	enum nvml_event_type type;
} events[] = {
	{ "xid", NVML_EVENT_TYPE_XID },
	{ "doubleBitEcc", NVML_EVENT_TYPE_DOUBLE_BIT_ECC },
	{ "mig", NVML_EVENT_TYPE_MIG },
	{ "unavailable", NVML_EVENT_TYPE_UNAVAILABLE },
	{ "recovery", NVML_EVENT_TYPE_RECOVERY },
	{ "something", NVML_EVENT_TYPE_OTHER },
};

static void an_event_has_its_type(void **state)
{
	const struct event_case *c = *state;
	auto_free char *text =
		xasprintf("{\"kind\":\"event\",\"type\":\"%s\",\"data\":79,\"gi\":3}", c->name);
	struct nvml_line line;

	assert_int_equal(nvml_line_parse(text, strlen(text), &line, NULL), 0);
	assert_int_equal(line.event, c->type);
	assert_int_equal(line.data, 79);
	assert_int_equal(line.gi, 3);
	assert_int_equal(line.ci, -1);
	nvml_line_done(&line);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, kinds, a_line_has_its_kind);
	suite_rows(&suite, refused, a_wrong_line_is_refused_whole);
	suite_rows(&suite, events, an_event_has_its_type);
	suite_add(&suite, "what a line does not say is -1", what_is_not_said_is_minus_one, NULL);
	suite_add(&suite, "texts are cleaned and cut", texts_are_cleaned_and_cut, NULL);
	suite_add(&suite, "a line has a limit", a_line_has_a_limit, NULL);
	return suite_run(&suite, "nvml_line");
}
