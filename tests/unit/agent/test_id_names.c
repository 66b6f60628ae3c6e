/* id_names: what is asked for, and that nothing is asked for twice. */
#include "agent/inventory/id_names.h"

#include <errno.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

static int answer(struct id_names *names, const char *line, struct err *err)
{
	return id_names_add_line(names, line, strlen(line), err);
}

static struct missing_case {
	const char *name;
	const char *lines[4];
	const char *ids; /* in the order of the facts */
} missing[] = {
	{ "a function needs its own name and its class's",
	  { "{\"kind\":\"pci\",\"address\":\"a\",\"vendor\":\"8086\",\"device\":\"10d3\","
	    "\"class\":\"020000\"}" },
	  "pci:8086:10d3 pciclass:0200" },
	{ "two functions of one model are asked for once",
	  { "{\"kind\":\"pci\",\"address\":\"a\",\"vendor\":\"8086\",\"device\":\"10d3\"}",
	    "{\"kind\":\"pci\",\"address\":\"b\",\"vendor\":\"8086\",\"device\":\"10d3\"}" },
	  "pci:8086:10d3" },
	{ "a USB device needs one name",
	  { "{\"kind\":\"usb\",\"name\":\"1-1\",\"vendor\":\"0627\",\"product\":\"0001\"}" },
	  "usb:0627:0001" },
	{ "without a vendor only the class is asked for",
	  { "{\"kind\":\"pci\",\"address\":\"a\",\"device\":\"10d3\",\"class\":\"020000\"}" },
	  "pciclass:0200" },
	{ "what is not hex is not asked for, what is beside it is",
	  { "{\"kind\":\"pci\",\"address\":\"a\",\"vendor\":\"80 6\",\"device\":\"10d3\","
	    "\"class\":\"xx0000\"}",
	    "{\"kind\":\"usb\",\"name\":\"1-1\",\"vendor\":\"06271\",\"product\":\"0001\"}",
	    "{\"kind\":\"usb\",\"name\":\"1-2\",\"vendor\":\"0627\",\"product\":\"0001\"}" },
	  "usb:0627:0001" },
	{ "no device needs no name", { "{\"kind\":\"end\"}" }, "" },
};

static struct facts *facts_of(const char *const *lines, size_t len)
{
	struct facts *facts = facts_new();

	for (size_t i = 0; i < len && lines[i]; i++)
		assert_int_equal(facts_add_line(facts, lines[i], strlen(lines[i]), NULL), 0);
	return facts;
}

/* The ids with a blank between. The caller frees. */
static char *missing_of(const struct id_names *names, const struct facts *facts)
{
	struct json_strs ids = { 0 };
	struct str text = STR_INIT;

	id_names_missing(names, facts, &ids);
	for (size_t i = 0; i < ids.len; i++)
		str_addf(&text, "%s%s", i ? " " : "", ids.items[i]);
	json_strs_done(&ids);
	return str_detach(&text);
}

static void missing_matches_table(void **state)
{
	const struct missing_case *c = *state;
	struct facts *facts = facts_of(c->lines, ARRAY_LEN(c->lines));
	struct id_names *names = id_names_new();
	auto_free char *ids = missing_of(names, facts);

	assert_string_equal(ids, c->ids);
	id_names_free(names);
	facts_free(facts);
}

static void what_is_known_is_not_asked_for(void **state)
{
	struct facts *facts = facts_of(missing[0].lines, 1);
	struct id_names *names = id_names_new();
	auto_free char *ids = NULL;
	auto_free char *none = NULL;
	struct json_strs asked = { 0 };

	assert_int_equal(answer(names, "{\"kind\":\"name\",\"id\":\"pci:8086:10d3\"}", NULL), 0);
	ids = missing_of(names, facts);
	assert_string_equal(ids, "pciclass:0200");

	json_strs_add(&asked, "pciclass:0200");
	id_names_resolve(names, &asked);
	none = missing_of(names, facts);
	assert_string_equal(none, "");
	assert_null(id_names_get(names, "pciclass:0200")->first);
	json_strs_done(&asked);
	id_names_free(names);
	facts_free(facts);
}

static struct answer_case {
	const char *name;
	const char *line;
	const char *id;
	const char *first;
	const char *second;
} answers[] = {
	{ "a function has a vendor and a product",
	  "{\"kind\":\"name\",\"id\":\"pci:8086:10d3\",\"vendor\":\"Intel\",\"product\":\"NIC\"}",
	  "pci:8086:10d3", "Intel", "NIC" },
	{ "a class has a class and a subclass",
	  "{\"kind\":\"name\",\"id\":\"pciclass:0200\",\"class\":\"Network\",\"subclass\":\"Eth\"}",
	  "pciclass:0200", "Network", "Eth" },
	{ "a vendor may be known alone",
	  "{\"kind\":\"name\",\"id\":\"usb:0627:0001\",\"vendor\":\"Adomax\"}", "usb:0627:0001",
	  "Adomax", NULL },
	{ "a name that is no text is none",
	  "{\"kind\":\"name\",\"id\":\"usb:0627:0001\",\"vendor\":3}", "usb:0627:0001", NULL,
	  NULL },
	{ "an id that nobody named has no name", "{\"kind\":\"end\"}", "usb:0627:0001", NULL,
	  NULL },
	{ "a problem is passed over", "{\"kind\":\"problem\",\"message\":\"no file\"}",
	  "usb:0627:0001", NULL, NULL },
};

static void assert_text(const char *is, const char *should)
{
	if (should)
		assert_string_equal(is, should);
	else
		assert_null(is);
}

SUITE_OBJECT(id_names, id_names_new(), id_names_free);

static void answer_is_kept(void **state)
{
	const struct answer_case *c = suite_row(state);
	struct id_names *names = *state;

	assert_int_equal(answer(names, c->line, NULL), 0);
	assert_text(id_names_get(names, c->id)->first, c->first);
	assert_text(id_names_get(names, c->id)->second, c->second);
}

static void settling_keeps_names(void **state)
{
	struct id_names *names = *state;
	struct json_strs asked = { 0 };

	json_strs_add(&asked, answers[0].id);
	answer(names, answers[0].line, NULL);
	id_names_resolve(names, &asked);
	assert_string_equal(id_names_get(names, answers[0].id)->first, "Intel");
	/* The last word counts. */
	answer(names, "{\"kind\":\"name\",\"id\":\"pci:8086:10d3\",\"vendor\":\"I\"}", NULL);
	assert_string_equal(id_names_get(names, answers[0].id)->first, "I");
	json_strs_done(&asked);
}

static struct refusal_case {
	const char *name;
	const char *line;
	const char *says;
} refusals[] = {
	{ "half a line is refused", "{\"kind\":\"na", "names line of the helper" },
	{ "a name without an id is refused", "{\"kind\":\"name\",\"vendor\":\"x\"}", "no id" },
};

static void line_is_refused(void **state)
{
	const struct refusal_case *c = suite_row(state);
	struct id_names *names = *state;
	struct err err = { 0 };

	assert_int_equal(answer(names, c->line, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.msg, c->says));
}

/* As many ids as there are: 0000:0000 to 0000:ffff. */
static void the_cache_is_bounded(void **state)
{
	struct id_names *names = *state;
	size_t known = 0;

	for (unsigned i = 0; i < 65536; i++) {
		auto_free char *line = xasprintf(
			"{\"kind\":\"name\",\"id\":\"usb:0000:%04x\",\"vendor\":\"v\"}", i);
		auto_free char *id = xasprintf("usb:0000:%04x", i);

		assert_int_equal(answer(names, line, NULL), 0);
		known += id_names_get(names, id)->first != NULL;
	}
	assert_in_range(known, 4096, 16384);
	assert_non_null(id_names_get(names, "usb:0000:0000")->first);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, missing, missing_matches_table);
	suite_add(&suite, "what is known is not asked for, nor what has no name",
		  what_is_known_is_not_asked_for, NULL);
	suite_fixture(&suite, &id_names_fixture);
	suite_rows(&suite, answers, answer_is_kept);
	suite_add(&suite, "settling keeps names that are known", settling_keeps_names, NULL);
	suite_rows(&suite, refusals, line_is_refused);
	suite_add(&suite, "ever new ids do not fill the memory", the_cache_is_bounded, NULL);
	return suite_run(&suite, "id_names");
}
