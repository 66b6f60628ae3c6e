#include "api/json_map_read.h"

#include <string.h>

#include "api/pcidevice.h"
#include "base/err.h"
#include "unit/suite.h"

static const char ordinary[] =
	"{\"apiVersion\":\"devices.harvesterhci.io/v1beta1\",\"kind\":\"PCIDevice\",\"metadata\":{"
	"\"name\":\"n-1\",\"labels\":{\"nodename\":\"n\",\"a\":\"\"},\"annotations\":null,"
	"\"finalizers\":[\"x/y\"],\"generation\":3,\"managedFields\":[{\"f:a\":{\".\":{}}}],"
	"\"ownerReferences\":[{\"kind\":\"Node\",\"name\":\"n\",\"uid\":\"u\",\"controller\":true,"
	"\"apiVersion\":\"v1\"}]},\"status\":{\"numaNode\":-1,\"bootVGA\":false,\"conditions\":[{"
	"\"type\":\"Claimable\",\"status\":\"False\"}],\"totalVFs\":7}}";

/* Bends the ordinary text: @from becomes @to. */
static struct bend_case {
	const char *name;
	const char *from;
	const char *to;
} bends[] = {
	{ "an ordinary object", "n-1", "n-1" },
	{ "blanks everywhere", "{\"name\"", " { \"name\" " },
	{ "an escape in a value", "n-1", "n\\u002d1" },
	{ "an escape in a key that counts", "\"name\":\"n-1\"", "\"n\\u0061me\":\"n-1\"" },
	{ "an escape in a label's key", "\"nodename\"", "\"node\\nname\"" },
	{ "an escape in what is skipped", "f:a", "f\\\\a" },
	{ "a NUL in a value", "n-1", "n\\u0000-1" },
	{ "a NUL in a label", "\"a\":\"\"", "\"a\":\"b\\u0000c\"" },
	{ "a NUL in what is skipped", "\"f:a\":", "\"f:b\":\"\\u0000\",\"f:a\":" },
	{ "a NUL in a key that is skipped", "f:a", "f\\u0000a" },
	{ "an empty string", "\"x/y\"", "\"\"" },
	{ "an empty name", "n-1", "" },
	{ "no name", "\"name\":\"n-1\",", "" },
	{ "a name of null", "\"n-1\"", "null" },
	{ "a name that is a number", "\"n-1\"", "1" },
	{ "two names", "\"name\":\"n-1\"", "\"name\":\"n-0\",\"name\":\"n-1\"" },
	{ "two lists of one name", "\"finalizers\"", "\"finalizers\":[\"w\"],\"finalizers\"" },
	{ "two labels of one name", "\"a\":\"\"", "\"a\":\"1\",\"a\":\"2\"" },
	{ "a label that is null", "\"a\":\"\"", "\"a\":null" },
	{ "a label that is a number", "\"a\":\"\"", "\"a\":1" },
	{ "labels that are a list", "{\"nodename\":\"n\",\"a\":\"\"}", "[]" },
	{ "a list of strings with null", "\"x/y\"", "null,\"x\"" },
	{ "a list of strings that is one string", "[\"x/y\"]", "\"x/y\"" },
	{ "a list of objects with null", "{\"type\"", "null,{\"type\"" },
	{ "a list of objects with a number", "{\"type\"", "1,{\"type\"" },
	{ "an empty list", "[\"x/y\"]", "[]" },
	{ "a struct that is null", "{\"numaNode\":-1,", "null,\"x\":{\"numaNode\":-1," },
	{ "a struct that is a string", "{\"numaNode\":-1,", "\"s\",\"x\":{\"numaNode\":-1," },
	{ "a bool that is a number", "false", "0" },
	{ "a bool that is true", "false", "true" },
	{ "a number that is minus zero", "-1", "-0" },
	{ "a number that is a fraction", "-1", "1.5" },
	{ "a number with an exponent", "-1", "1e2" },
	{ "a number that does not fit into 32 bits", "-1", "4294967296" },
	{ "a number of eighteen digits", "\"generation\":3", "\"generation\":-999999999999999999" },
	{ "the largest number", "\"generation\":3", "\"generation\":9223372036854775807" },
	{ "a number that does not fit into 64 bits", "\"generation\":3",
	  "\"generation\":9223372036854775808" },
	{ "a number too large in what is skipped",
	  "\"f:a\":", "\"f:b\":9223372036854775808,\"f:a\":" },
	{ "a fraction too large in what is skipped", "\"f:a\":", "\"f:b\":1e400,\"f:a\":" },
	{ "many digits in what is skipped", "\"f:a\":", "\"f:b\":0.12345678901234567890,\"f:a\":" },
	{ "a number that is a string", "\"generation\":3", "\"generation\":\"3\"" },
	{ "something after it", "7}}", "7}} x" },
	{ "a brace missing", "7}}", "7}" },
	{ "trouble in what is skipped", "\"f:a\"", "\"f:\\ud800\"" },
	{ "bytes that are not UTF-8", "n-1", "n\xff" },
	{ "a list instead", "{\"apiVersion\"", "[{\"apiVersion\"" },
};

static char *bend(const struct bend_case *row)
{
	const char *at = strstr(ordinary, row->from);

	assert_non_null(at);
	return xasprintf("%.*s%s%s", (int)(at - ordinary), ordinary, row->to,
			 at + strlen(row->from));
}

/* Both ways come to the same object or to the same complaint. */
static void assert_same(const char *text, size_t len)
{
	struct pcidevice fast;
	struct pcidevice slow;
	struct err fast_err = { 0 };
	struct err slow_err = { 0 };
	int r = json_map_parse(pcidevice_kind.map, text, len, &slow, &slow_err);

	assert_int_equal(json_map_read(pcidevice_kind.map, text, len, &fast, &fast_err), r);
	assert_string_equal(fast_err.msg, slow_err.msg);
	assert_true(json_map_equal(pcidevice_kind.map, &fast, &slow));
	json_map_done(pcidevice_kind.map, &fast);
	json_map_done(pcidevice_kind.map, &slow);
}

static void both_ways_agree(void **state)
{
	auto_free char *text = bend(*state);

	assert_same(text, strlen(text));
}

static void values_are_read(void **state)
{
	struct pcidevice device;
	struct err err = { 0 };

	assert_int_equal(
		json_map_read(pcidevice_kind.map, ordinary, strlen(ordinary), &device, &err), 0);
	assert_string_equal(device.meta.name, "n-1");
	assert_int_equal(device.meta.generation, 3);
	assert_string_equal(json_pairs_get(&device.meta.labels, "nodename"), "n");
	assert_true(json_strs_has(&device.meta.finalizers, "x/y"));
	assert_true(device.meta.owner_refs.items[0].controller);
	assert_int_equal(device.status.numa_node, -1);
	assert_int_equal(device.status.total_vfs, 7);
	assert_string_equal(device.status.conditions.items[0].type, "Claimable");
	json_map_done(pcidevice_kind.map, &device);
}

static void every_cut_agrees(void **state)
{
	for (size_t len = 0; len <= strlen(ordinary); len++)
		assert_same(ordinary, len);
}

/* One byte put, moved or taken at random. */
static void random_damage_agrees(void **state)
{
	static const char bytes[] = "{}[]\",:\\0123456789truefalsn-.e \x01\x80\xc3\xa9";
	uint64_t seed = 1;

	for (int i = 0; i < 20000; i++) {
		auto_free char *text = xstrdup(ordinary);
		size_t len = strlen(text);
		uint64_t n = suite_random(&seed);

		text[n % len] = bytes[(n >> 32) % (sizeof(bytes) - 1)];
		assert_same(text, len);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "values are read", values_are_read, NULL);
	suite_rows(&suite, bends, both_ways_agree);
	suite_add(&suite, "every cut agrees", every_cut_agrees, NULL);
	suite_add(&suite, "random damage agrees", random_damage_agrees, NULL);
	return suite_run(&suite, "json_map_read");
}
