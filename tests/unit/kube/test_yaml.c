#include "unit/suite.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/yaml.h"

static struct parse_case {
	const char *name;
	const char *text;
	const char *json;  /* NULL: refused */
	const char *error; /* the whole message */
} parses[] = {
	{ "an empty text is null", "", "null", NULL },
	{ "comments alone are null", "# nothing\n", "null", NULL },
	{ "a mapping", "a: 1\nb: x\n", "{\"a\":1,\"b\":\"x\"}", NULL },
	{ "nesting", "a:\n- b: [1, two]\n  c: {d: ~}\n",
	  "{\"a\":[{\"b\":[1,\"two\"],\"c\":{\"d\":null}}]}", NULL },
	{ "plain words are bool and null", "[true, False, NULL, null, ]", "[true,false,null,null]",
	  NULL },
	{ "yes and no are words", "[yes, no, on]", "[\"yes\",\"no\",\"on\"]", NULL },
	{ "quoted words are text", "['true', \"1\", !!str 2]", "[\"true\",\"1\",\"2\"]", NULL },
	{ "numbers", "[0, -7, +5, 1.5, 1e3, 007, 0x1f, 1.2.3, -]",
	  "[0,-7,5,1.5,1000.0,\"007\",\"0x1f\",\"1.2.3\",\"-\"]", NULL },
	{ "a number that fits nowhere is text", "99999999999999999999", "\"99999999999999999999\"",
	  NULL },
	{ "block text keeps its lines", "a: |\n  x\n  y\nb: >-\n  x\n  y\n",
	  "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}", NULL },
	{ "JSON is YAML", "{\"a\": [1, {\"b\": \"\\u00e4\"}]}", "{\"a\":[1,{\"b\":\"\xc3\xa4\"}]}",
	  NULL },
	{ "an alias is what it names", "a: &x [1]\nb: *x\n", "{\"a\":[1],\"b\":[1]}", NULL },
	{ "the newest anchor counts", "[&x 1, &x 2, *x]", "[1,2,2]", NULL },
	{ "a key twice is refused", "a: 1\nb: 2\na: 3\n", NULL, "t:3: key 'a' is there twice" },
	{ "a second document is refused", "a: 1\n---\nb: 2\n", NULL,
	  "t:2: a second document; only one is read" },
	{ "an alias without an anchor is refused", "a: *x\n", NULL,
	  "t:1: alias of an anchor that is not complete" },
	{ "an alias inside what it names is refused", "&x [*x]", NULL,
	  "t:1: alias of an anchor that is not complete" },
	{ "a merge key is refused", "a: &x {b: 1}\nc:\n  <<: *x\n", NULL,
	  "t:3: merge keys are not supported" },
	{ "a key that is a list is refused", "[1]: 2\n", NULL, "t:1: a key that is not a string" },
	{ "a tag is refused", "a: 1\nb: !!binary aGk=\n", NULL, "t:2: tags are not supported" },
	{ "a tag of a mapping is refused", "!x {}", NULL, "t:1: tags are not supported" },
	{ "what is not YAML is refused", "a: [1\nb: 2\n", NULL,
	  "t:2: did not find expected ',' or ']'" },
	{ "tabs do not indent", "a:\n\tb: 1\n", NULL,
	  "t:2: found character that cannot start any token" },
	{ "a NUL in a key is refused", "\"a\\0b\": 1\n", NULL, "t:1: a key with a NUL in it" },
	{ "what is not UTF-8 is refused", "a: \xff\n", NULL,
	  "t: invalid leading UTF-8 octet (byte 3)" },
};

static void text_becomes_value(void **state)
{
	const struct parse_case *c = *state;
	auto_free char *json = NULL;
	json_t *value = NULL;
	struct err err = { 0 };
	int r;

	r = yaml_parse("t", c->text, strlen(c->text), &value, &err);
	if (!c->json) {
		assert_true(r < 0);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_string_equal(err.msg, c->error);
		assert_null(value);
		return;
	}
	if (r < 0)
		fail_msg("%s", err.msg);
	json = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
	assert_string_equal(json, c->json);
	json_decref(value);
}

static int parse(const struct str *text, struct err *err)
{
	json_t *value = NULL;
	int r = yaml_parse("t", text->buf, text->len, &value, err);

	json_decref(value);
	return r;
}

static void nesting_has_an_end(void **state)
{
	for (int depth = YAML_DEPTH_MAX; depth <= YAML_DEPTH_MAX + 1; depth++) {
		auto_str struct str text = STR_INIT;
		struct err err = { 0 };

		for (int i = 0; i < depth; i++)
			str_add_char(&text, '[');
		for (int i = 0; i < depth; i++)
			str_add_char(&text, ']');
		assert_int_equal(parse(&text, &err), depth > YAML_DEPTH_MAX ? -EFBIG : 0);
	}
}

static void laughs_are_counted(void **state)
{
	auto_str struct str text = STR_INIT;
	struct err err = { 0 };

	str_add(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 10; i++) {
		str_addf(&text, "a%d: &a%d [", i, i);
		for (int j = 0; j < 10; j++)
			str_addf(&text, "%s*a%d", j ? ", " : "", i - 1);
		str_add(&text, "]\n");
	}
	assert_int_equal(parse(&text, &err), -EFBIG);
	assert_string_equal(err.msg, "t:5: too many values (aliases count as what they name)");
}

static void text_has_a_size(void **state)
{
	auto_str struct str text = STR_INIT;
	struct err err = { 0 };

	str_add(&text, "# ");
	while (text.len < YAML_TEXT_MAX)
		str_add_char(&text, 'x');
	assert_int_equal(parse(&text, &err), 0);
	str_add_char(&text, 'x');
	assert_int_equal(parse(&text, &err), -EFBIG);
}

static struct write_case {
	const char *name;
	const char *json;
	const char *yaml;
} writes[] = {
	{ "keys are sorted, lists stand below their key",
	  "{\"kind\":\"PCIDevice\",\"apiVersion\":\"v1\",\"list\":[{\"b\":1,\"a\":[2,3]},\"x\"]}",
	  "apiVersion: v1\nkind: PCIDevice\nlist:\n- a:\n  - 2\n  - 3\n  b: 1\n- x\n" },
	{ "empty ones stay on their line", "{\"a\":{},\"b\":[],\"c\":\"\",\"d\":null}",
	  "a: {}\nb: []\nc: \"\"\nd: null\n" },
	{ "a list of lists", "[[1,2],[]]", "- - 1\n  - 2\n- []\n" },
	{ "mappings in mappings", "{\"a\":{\"b\":{\"c\":true}}}", "a:\n  b:\n    c: true\n" },
	{ "words that mean something are quoted", "[\"true\",\"No\",\"null\",\"~\",\"y\",\".NaN\"]",
	  "- \"true\"\n- \"No\"\n- \"null\"\n- \"~\"\n- \"y\"\n- \".NaN\"\n" },
	{ "what looks like a number is quoted",
	  "[\"1\",\"-1.5\",\"0x1f\",\"1e3\",\"0000:00:1f.2\",\"12:30:45\",\"2026-01-02\",\"10de\",\"8086\"]",
	  "- \"1\"\n- \"-1.5\"\n- \"0x1f\"\n- \"1e3\"\n- \"0000:00:1f.2\"\n- \"12:30:45\"\n- \"2026-01-02\"\n"
	  "- \"10de\"\n- \"8086\"\n" },
	{ "plain text is plain", "[\"vfio-pci\",\"a b (c), d\",\"n1-000001f2\",\"a:b\",\"-x\"]",
	  "- vfio-pci\n- a b (c), d\n- n1-000001f2\n- a:b\n- -x\n" },
	{ "marks of YAML are quoted",
	  "[\"a: b\",\"a #b\",\"a:\",\" a\",\"a \",\"- a\",\"*a\",\"[a\",\"#a\",\"?\",\"a\\tb\",\"---\"]",
	  "- \"a: b\"\n- \"a #b\"\n- \"a:\"\n- \" a\"\n- \"a \"\n- \"- a\"\n- \"*a\"\n- \"[a\"\n- \"#a\"\n- \"?\"\n"
	  "- \"a\\tb\"\n- \"---\"\n" },
	{ "several lines are a block", "{\"a\":\"x\\n y\\n\",\"b\":[\"x\\ny\"]}",
	  "a: |\n  x\n   y\nb:\n- |-\n  x\n  y\n" },
	{ "lines that a block would change are quoted", "[\" x\\ny\",\"x \\ny\",\"x\\n\\n\"]",
	  "- \" x\\ny\"\n- \"x \\ny\"\n- \"x\\n\\n\"\n" },
	{ "what may not stand in a stream is escaped",
	  "[\"\\uffff\",\"a\\ufeff\",\"\\u2028\",\"\\u009b\"]",
	  "- \"\\uffff\"\n- \"a\\ufeff\"\n- \"\\u2028\"\n- \"\\u009b\"\n" },
	{ "other letters stand as they are", "[\"\xc3\x9c\",\"\xf0\x9f\x98\x80\"]",
	  "- \"\xc3\x9c\"\n- \"\xf0\x9f\x98\x80\"\n" },
	{ "keys are quoted like values", "{\"1\":1,\"a b\":2,\"true\":3}",
	  "\"1\": 1\na b: 2\n\"true\": 3\n" },
};

static void value_becomes_text_and_back(void **state)
{
	const struct write_case *c = *state;
	json_t *value = json_loads(c->json, 0, NULL);
	json_t *back = NULL;
	auto_str struct str text = STR_INIT;
	struct err err = { 0 };

	assert_non_null(value);
	yaml_write(value, &text);
	assert_string_equal(str_cstr(&text), c->yaml);
	if (yaml_parse("t", text.buf, text.len, &back, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(json_equal(value, back));
	json_decref(value);
	json_decref(back);
}

/* Text of the characters that are most likely to go wrong. */
static json_t *random_text(uint64_t *seed)
{
	static const char letters[] = "a1-:# \n'\"?,[]{}&*!|>%@`~.e+\\\t";
	size_t len = suite_random(seed) % 8;
	char text[8];

	for (size_t i = 0; i < len; i++)
		text[i] = letters[suite_random(seed) % (sizeof(letters) - 1)];
	return json_stringn(text, len);
}

static void any_text_comes_back_as_it_was(void **state)
{
	uint64_t seed = 11;

	for (int i = 0; i < 20000; i++) {
		json_t *text = random_text(&seed);
		json_t *value =
			json_pack("{s:[O], s:O}", "list", text, json_string_value(text), text);
		auto_str struct str yaml = STR_INIT;
		json_t *back = NULL;
		struct err err = { 0 };

		yaml_write(value, &yaml);
		if (yaml_parse("t", yaml.buf, yaml.len, &back, &err) < 0)
			fail_msg("%s in:\n%s", err.msg, str_cstr(&yaml));
		if (!json_equal(value, back))
			fail_msg("not the same:\n%s", str_cstr(&yaml));
		json_decref(text);
		json_decref(value);
		json_decref(back);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, parses, text_becomes_value);
	suite_add(&suite, "nesting has an end", nesting_has_an_end, NULL);
	suite_add(&suite, "laughs are counted", laughs_are_counted, NULL);
	suite_add(&suite, "text has a size", text_has_a_size, NULL);
	suite_rows(&suite, writes, value_becomes_text_and_back);
	suite_add(&suite, "any text comes back as it was", any_text_comes_back_as_it_was, NULL);
	return suite_run(&suite, "yaml");
}
