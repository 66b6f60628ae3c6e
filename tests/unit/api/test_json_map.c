#include "api/json_map.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

/* One member of every type, in a list inside a struct inside a struct. */
struct item {
	char *name;
	int64_t size;
};

struct items {
	struct item *items;
	size_t len;
	size_t cap;
};

struct inner {
	char *text;
	int node;
	struct items list;
};

struct outer {
	char *id;
	char *text;
	bool flag;
	int small;
	int64_t large;
	struct json_strs strs;
	struct json_pairs pairs;
	char *raw;
	struct inner inner;
	bool last;
};

static const struct json_row item_map[] = {
	JSON_STR(struct item, name, "name", JSON_REQUIRED),
	JSON_INT(struct item, size, "size", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row inner_map[] = {
	JSON_STR(struct inner, text, "text", JSON_ALWAYS),
	JSON_INT_OR(struct inner, node, "node", JSON_OPTIONAL, -1),
	JSON_LIST(struct inner, list, "list", JSON_OPTIONAL, struct item, item_map),
	JSON_END,
};

static const struct json_row outer_map[] = {
	JSON_STR(struct outer, id, "id", JSON_REQUIRED),
	JSON_STR(struct outer, text, "text", JSON_OPTIONAL),
	JSON_BOOL(struct outer, flag, "flag", JSON_ALWAYS),
	JSON_INT(struct outer, small, "small", JSON_OPTIONAL),
	JSON_INT(struct outer, large, "large", JSON_ALWAYS),
	JSON_STRS(struct outer, strs, "strs", JSON_OPTIONAL),
	JSON_PAIRS(struct outer, pairs, "pairs", JSON_OPTIONAL),
	JSON_RAW(struct outer, raw, "raw", JSON_OPTIONAL),
	JSON_STRUCT(struct outer, inner, "inner", JSON_OPTIONAL, struct inner, inner_map),
	JSON_BOOL(struct outer, last, "last", JSON_OPTIONAL),
	JSON_END,
};

static int parse(const char *text, struct outer *ret_object, struct err *err)
{
	return json_map_parse(outer_map, text, strlen(text), ret_object, err);
}

static char *text_of(const struct outer *object)
{
	auto_json json_t *json = json_map_encode(outer_map, object);

	return json_map_text(json);
}

#define REST "\"flag\":false,\"large\":0"

static struct good_case {
	const char *name;
	const char *in;
	const char *out; /* NULL: as @in */
} goods[] = {
	{ "what is absent and optional stays absent", "{\"id\":\"a\"," REST "}", NULL },
	{ "what is always written may be absent", "{\"id\":\"a\"}", "{\"id\":\"a\"," REST "}" },
	{ "unknown fields are ignored", "{\"x\":{\"y\":[1]},\"id\":\"a\"}",
	  "{\"id\":\"a\"," REST "}" },
	{ "null is absence for every type",
	  "{\"id\":\"a\",\"text\":null,\"flag\":null,\"small\":null,\"large\":null,\"strs\":null,"
	  "\"pairs\":null,\"raw\":null,\"inner\":null,\"last\":null}",
	  "{\"id\":\"a\"," REST "}" },
	{ "an empty string, list or object is absence",
	  "{\"id\":\"a\",\"text\":\"\",\"strs\":[],\"pairs\":{},\"inner\":{\"text\":\"\","
	  "\"list\":[]}}",
	  "{\"id\":\"a\"," REST "}" },
	{ "every member comes through",
	  "{\"id\":\"a\",\"text\":\"t\",\"flag\":true,\"small\":-7,\"large\":-9223372036854775808,"
	  "\"strs\":[\"b\",\"\",\"a\"],\"pairs\":{\"k\":\"v\",\"l\":\"\"},\"inner\":{\"text\":"
	  "\"u\","
	  "\"node\":0,\"list\":[{\"name\":\"n\",\"size\":9223372036854775807},{\"name\":\"m\"}]},"
	  "\"last\":true}",
	  NULL },
	{ "a raw value of any type comes through, compact",
	  "{\"id\":\"a\"," REST ",\"raw\": { \"z\" : [1, null],\"a\":\"\\u0000\"} }",
	  "{\"id\":\"a\"," REST ",\"raw\":{\"z\":[1,null],\"a\":\"\\u0000\"}}" },
	{ "a raw value may be a string", "{\"id\":\"a\"," REST ",\"raw\":\"\"}", NULL },
	{ "a value may be the one that means absent",
	  "{\"id\":\"a\",\"small\":0,\"inner\":{\"node\":-1}}", "{\"id\":\"a\"," REST "}" },
	{ "pairs come out in order", "{\"id\":\"a\"," REST ",\"pairs\":{\"z\":\"1\",\"a\":\"2\"}}",
	  "{\"id\":\"a\"," REST ",\"pairs\":{\"a\":\"2\",\"z\":\"1\"}}" },
	{ "null in a list of strings or among pairs is an empty string",
	  "{\"id\":\"a\"," REST ",\"strs\":[null],\"pairs\":{\"a\":null}}",
	  "{\"id\":\"a\"," REST ",\"strs\":[\"\"],\"pairs\":{\"a\":\"\"}}" },
	{ "of two fields with one name the last counts", "{\"id\":\"a\",\"id\":\"b\"," REST "}",
	  "{\"id\":\"b\"," REST "}" },
	{ "characters of any length and escapes come through",
	  "{\"id\":\"\\u00e9\\ud83d\\udcbb \\\"\\\\\\n\\u001f\"," REST "}",
	  "{\"id\":\"\xc3\xa9\xf0\x9f\x92\xbb \\\"\\\\\\n\\u001F\"," REST "}" },
	{ "a NUL is shown, and what follows it stays",
	  "{\"id\":\"\\u0000\"," REST
	  ",\"strs\":[\"a\\u0000\\u0000b\"],\"pairs\":{\"k\":\"v\\u0000\"}}",
	  "{\"id\":\"\xef\xbf\xbd\"," REST ",\"strs\":[\"a\xef\xbf\xbd\xef\xbf\xbd"
	  "b\"],"
	  "\"pairs\":{\"k\":\"v\xef\xbf\xbd\"}}" },
	{ "the extremes of an int fit",
	  "{\"id\":\"a\",\"flag\":false,\"small\":2147483647,\"large\":0,\"inner\":{\"text\":\"\","
	  "\"node\":-2147483648}}",
	  NULL },
};

static void good_text_decodes(void **state)
{
	const struct good_case *c = *state;
	auto_free char *text = NULL;
	struct outer object;
	struct err err = { 0 };

	if (parse(c->in, &object, &err) < 0)
		fail_msg("%s", err.msg);
	text = text_of(&object);
	assert_string_equal(text, c->out ? c->out : c->in);
	json_map_done(outer_map, &object);
}

static struct bad_case {
	const char *name;
	const char *in;
	const char *msg;
} bads[] = {
	{ "a number for a string", "{\"id\":7}", "id: expected a string, got a number" },
	{ "an object for a string", "{\"id\":{}}", "id: expected a string, got an object" },
	{ "a required string that is missing", "{}", "id: is missing" },
	{ "a required string that is null", "{\"id\":null}", "id: is missing" },
	{ "a required string that is empty", "{\"id\":\"\"}", "id: is empty" },
	{ "a string for a boolean", "{\"id\":\"a\",\"flag\":\"true\"}",
	  "flag: expected a boolean, got a string" },
	{ "a string for a number", "{\"id\":\"a\",\"small\":\"1\"}",
	  "small: expected a whole number, got a string" },
	{ "a fraction for a number", "{\"id\":\"a\",\"small\":1.5}",
	  "small: expected a whole number, got a fraction" },
	{ "a boolean for a number", "{\"id\":\"a\",\"large\":false}",
	  "large: expected a whole number, got a boolean" },
	{ "a number one too large for an int", "{\"id\":\"a\",\"small\":2147483648}",
	  "small: the number does not fit into 32 bits" },
	{ "a number one too small for an int", "{\"id\":\"a\",\"inner\":{\"node\":-2147483649}}",
	  "inner.node: the number does not fit into 32 bits" },
	{ "an object for a list", "{\"id\":\"a\",\"strs\":{}}",
	  "strs: expected a list, got an object" },
	{ "a list among strings", "{\"id\":\"a\",\"strs\":[\"a\",[]]}",
	  "strs[1]: expected a string, got a list" },
	{ "a list for pairs", "{\"id\":\"a\",\"pairs\":[]}",
	  "pairs: expected an object, got a list" },
	{ "a number among pairs", "{\"id\":\"a\",\"pairs\":{\"k\":1}}",
	  "pairs.k: expected a string, got a number" },
	{ "a string for a struct", "{\"id\":\"a\",\"inner\":\"\"}",
	  "inner: expected an object, got a string" },
	{ "a wrong field deep inside",
	  "{\"id\":\"a\",\"inner\":{\"list\":[{\"name\":\"n\"},{\"name\":[]}]}}",
	  "inner.list[1].name: expected a string, got a list" },
	{ "a missing field deep inside", "{\"id\":\"a\",\"inner\":{\"list\":[{\"size\":1}]}}",
	  "inner.list[0].name: is missing" },
	{ "null among structs has nothing of what is required",
	  "{\"id\":\"a\",\"inner\":{\"list\":[null]}}", "inner.list[0].name: is missing" },
	{ "a list item that is no object", "{\"id\":\"a\",\"inner\":{\"list\":[1]}}",
	  "inner.list[0]: expected an object, got a number" },
	{ "a document that is a list", "[]", "expected an object, got a list" },
	{ "a document that is a string", "\"id\"", "expected an object, got a string" },
	{ "text that ends too early", "{\"id\":", NULL },
	{ "text after the end", "{\"id\":\"a\"} x", NULL },
	{ "nothing at all", "", NULL },
	{ "a byte that is not UTF-8", "{\"id\":\"\xff\"}", NULL },
	{ "half of a surrogate pair", "{\"id\":\"\\ud83d\"}", NULL },
	{ "an escaped NUL in a key", "{\"id\":\"a\",\"pairs\":{\"k\\u0000\":\"\"}}", NULL },
	{ "a number beyond 64 bits", "{\"id\":\"a\",\"large\":9223372036854775808}", NULL },
	{ "not a number", "{\"id\":\"a\",\"large\":NaN}", NULL },
};

static void bad_text_is_reported(void **state)
{
	const struct bad_case *c = *state;
	struct outer fresh;
	struct outer object;
	struct err err = { 0 };

	json_map_init(outer_map, &fresh);
	assert_int_equal(parse(c->in, &object, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_INVALID);
	if (c->msg)
		assert_string_equal(err.msg, c->msg);
	else
		assert_memory_equal(err.msg, "JSON, line 1, column ", 21);

	/* What was decoded before the error is released and gone. */
	assert_true(json_map_equal(outer_map, &object, &fresh));
	assert_null(object.id);
	assert_int_equal(object.inner.node, -1);
}

static void deep_nesting_is_an_error(void **state)
{
	enum { DEPTH = 100000 };
	static const char *const units[] = { "[", "{\"inner\":" };

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		auto_str struct str text = STR_INIT;
		struct outer object;
		struct err err = { 0 };

		for (int depth = 0; depth < DEPTH; depth++)
			str_add(&text, units[i]);
		assert_int_equal(parse(text.buf, &object, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "maximum parsing depth reached"));
	}
}

static void size_is_bounded(void **state)
{
	json_t *json = NULL;
	struct err err = { 0 };

	/* The size is checked first, so the text need not be there. */
	assert_int_equal(json_map_load("{}", (size_t)JSON_TEXT_MAX + 1, &json, &err), -EMSGSIZE);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_null(json);
}

static void lists_are_bounded(void **state)
{
	for (int too_many = 0; too_many <= 1; too_many++) {
		auto_str struct str text = STR_INIT;
		struct outer object;
		struct err err = { 0 };
		int r;

		str_add(&text, "{\"id\":\"a\",\"strs\":[\"\"");
		for (int i = 1; i < JSON_ITEMS_MAX + too_many; i++)
			str_add(&text, ",\"\"");
		str_add(&text, "]}");
		r = parse(text.buf, &object, &err);
		assert_int_equal(r, too_many ? -EINVAL : 0);
		if (too_many)
			assert_string_equal(err.msg,
					    "strs: too many items, at most 65536 are allowed");
		json_map_done(outer_map, &object);
	}
}

static void pairs_are_bounded(void **state)
{
	auto_str struct str text = STR_INIT;
	struct outer object;
	struct err err = { 0 };

	str_add(&text, "{\"id\":\"a\",\"pairs\":{\"0\":\"\"");
	for (int i = 1; i <= JSON_ITEMS_MAX; i++)
		str_addf(&text, ",\"%d\":\"\"", i);
	str_add(&text, "}}");
	assert_int_equal(parse(text.buf, &object, &err), -EINVAL);
	assert_string_equal(err.msg, "pairs: too many entries, at most 65536 are allowed");
}

static void init_makes_all_absent(void **state)
{
	struct outer object;

	memset(&object, 0xa5, sizeof(object));
	json_map_init(outer_map, &object);
	assert_null(object.id);
	assert_false(object.flag);
	assert_int_equal(object.small, 0);
	assert_int_equal(object.strs.len, 0);
	assert_int_equal(object.inner.node, -1);
	json_map_done(outer_map, &object);
	assert_int_equal(object.inner.node, -1);
}

static void empty_and_absent_strings_are_equal(void **state)
{
	struct outer a;
	struct outer b;
	auto_free char *text = NULL;

	json_map_init(outer_map, &a);
	json_map_init(outer_map, &b);
	a.text = xstrdup("");
	assert_true(json_map_equal(outer_map, &a, &b));
	text = text_of(&a);
	assert_null(strstr(text, "\"text\""));
	json_map_done(outer_map, &a);
	json_map_done(outer_map, &b);
}

static void bad_bytes_are_cleaned_not_lost(void **state)
{
	struct outer object;
	auto_free char *text = NULL;

	json_map_init(outer_map, &object);
	object.id = xstrdup("a\xff\nz");
	json_strs_add(&object.strs, "\xc3");
	json_pairs_set(&object.pairs, "\x80k", "v\xfe");
	text = text_of(&object);
	assert_string_equal(text, "{\"id\":\"a\\\\xff\\\\x0az\"," REST ",\"strs\":[\"\\\\xc3\"],"
				  "\"pairs\":{\"\\\\x80k\":\"v\\\\xfe\"}}");
	json_map_done(outer_map, &object);
}

static void bad_raw_text_is_null(void **state)
{
	struct outer object;
	auto_free char *text = NULL;

	json_map_init(outer_map, &object);
	object.id = xstrdup("a");
	object.raw = xstrdup("{\"a\":");
	text = text_of(&object);
	assert_string_equal(text, "{\"id\":\"a\"," REST ",\"raw\":null}");
	json_map_done(outer_map, &object);
}

/* --- properties over made-up objects --- */

static char *random_text(uint64_t *seed)
{
	static const char *const parts[] = { "a",  "Z",  "0",    " ",        "\"",
					     "\\", "\n", "\x7f", "\xc3\xa9", "\xf0\x9f\x92\xbb" };
	struct str text = STR_INIT;

	for (uint64_t n = suite_random(seed) % 6; n > 0; n--)
		str_add(&text, parts[suite_random(seed) % ARRAY_LEN(parts)]);
	return str_detach(&text);
}

static void random_items(struct items *list, uint64_t *seed)
{
	for (uint64_t n = suite_random(seed) % 4; n > 0; n--) {
		struct item *item = array_add(list);

		item->name = xasprintf("n%d", (int)n); /* required, so not empty */
		item->size = (int64_t)suite_random(seed);
	}
}

static void random_object(struct outer *object, uint64_t *seed)
{
	json_map_init(outer_map, object);
	object->id = xasprintf("id%d", (int)(suite_random(seed) % 3));
	object->text = random_text(seed);
	object->flag = suite_random(seed) % 2;
	object->small = (int)(suite_random(seed) % 5) - 2;
	object->large = (int64_t)suite_random(seed);
	for (uint64_t n = suite_random(seed) % 4; n > 0; n--) {
		auto_free char *text = random_text(seed);
		auto_free char *key = random_text(seed);

		json_strs_add(&object->strs, text);
		json_pairs_set(&object->pairs, key, text);
	}
	if (suite_random(seed) % 2)
		object->raw = xasprintf("{\"n\":[%d]}", (int)(suite_random(seed) % 3));
	if (suite_random(seed) % 2)
		object->inner.text = random_text(seed);
	object->inner.node = (int)(suite_random(seed) % 4) - 1;
	random_items(&object->inner.list, seed);
	object->last = suite_random(seed) % 2;
}

static void decode_undoes_encode(void **state)
{
	uint64_t seed = 7;

	for (int round = 0; round < 500; round++) {
		auto_free char *text = NULL;
		auto_free char *again = NULL;
		struct outer object;
		struct outer other;
		struct err err = { 0 };

		random_object(&object, &seed);
		text = text_of(&object);
		if (parse(text, &other, &err) < 0)
			fail_msg("%s: %s", text, err.msg);
		assert_true(json_map_equal(outer_map, &object, &other));
		again = text_of(&other);
		assert_string_equal(text, again);
		json_map_done(outer_map, &object);
		json_map_done(outer_map, &other);
	}
}

/* Equality is what the JSON says, and a copy shares nothing with its original. */
static void equal_and_copy_agree_with_the_text(void **state)
{
	uint64_t seed = 11;
	struct outer last;

	json_map_init(outer_map, &last);
	for (int round = 0; round < 500; round++) {
		auto_free char *text = NULL;
		auto_free char *last_text = text_of(&last);
		auto_free char *copy_text = NULL;
		struct outer object;
		struct outer copy;

		random_object(&object, &seed);
		text = text_of(&object);
		json_map_copy(outer_map, &copy, &object);
		assert_true(json_map_equal(outer_map, &object, &copy));
		assert_int_equal(json_map_equal(outer_map, &object, &last),
				 strcmp(text, last_text) == 0);
		json_map_done(outer_map, &object);
		copy_text = text_of(&copy);
		assert_string_equal(text, copy_text);
		json_map_done(outer_map, &last);
		last = copy;
	}
	json_map_done(outer_map, &last);
}

/* Each member by itself makes two objects differ. */
static void every_member_counts(void **state)
{
	static const char *const texts[] = {
		"{\"id\":\"a\"}",
		"{\"id\":\"b\"}",
		"{\"id\":\"a\",\"text\":\"t\"}",
		"{\"id\":\"a\",\"flag\":true}",
		"{\"id\":\"a\",\"small\":1}",
		"{\"id\":\"a\",\"large\":1}",
		"{\"id\":\"a\",\"strs\":[\"\"]}",
		"{\"id\":\"a\",\"strs\":[\"x\"]}",
		"{\"id\":\"a\",\"pairs\":{\"\":\"\"}}",
		"{\"id\":\"a\",\"pairs\":{\"\":\"x\"}}",
		"{\"id\":\"a\",\"raw\":{}}",
		"{\"id\":\"a\",\"raw\":[]}",
		"{\"id\":\"a\",\"inner\":{\"text\":\"u\"}}",
		"{\"id\":\"a\",\"inner\":{\"node\":0}}",
		"{\"id\":\"a\",\"inner\":{\"list\":[{\"name\":\"n\"}]}}",
		"{\"id\":\"a\",\"inner\":{\"list\":[{\"name\":\"m\"}]}}",
		"{\"id\":\"a\",\"inner\":{\"list\":[{\"name\":\"n\",\"size\":1}]}}",
		"{\"id\":\"a\",\"last\":true}",
	};
	struct outer objects[ARRAY_LEN(texts)];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(parse(texts[i], &objects[i], NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(texts) * ARRAY_LEN(texts); i++) {
		size_t a = i / ARRAY_LEN(texts);
		size_t b = i % ARRAY_LEN(texts);

		assert_int_equal(json_map_equal(outer_map, &objects[a], &objects[b]), a == b);
	}
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		json_map_done(outer_map, &objects[i]);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, goods, good_text_decodes);
	suite_rows(&suite, bads, bad_text_is_reported);
	suite_add(&suite, "a document 100,000 levels deep is an error", deep_nesting_is_an_error,
		  NULL);
	suite_add(&suite, "text beyond the limit is an error", size_is_bounded, NULL);
	suite_add(&suite, "lists end at the limit", lists_are_bounded, NULL);
	suite_add(&suite, "pairs end at the limit", pairs_are_bounded, NULL);
	suite_add(&suite, "a raw text that is not JSON is null", bad_raw_text_is_null, NULL);
	suite_add(&suite, "init makes everything absent", init_makes_all_absent, NULL);
	suite_add(&suite, "an empty string is an absent one", empty_and_absent_strings_are_equal,
		  NULL);
	suite_add(&suite, "bytes that are not UTF-8 are cleaned", bad_bytes_are_cleaned_not_lost,
		  NULL);
	suite_add(&suite, "decoding undoes encoding", decode_undoes_encode, NULL);
	suite_add(&suite, "equality and copies agree with the text",
		  equal_and_copy_agree_with_the_text, NULL);
	suite_add(&suite, "every member counts in a comparison", every_member_counts, NULL);
	return suite_run(&suite, "json_map");
}
