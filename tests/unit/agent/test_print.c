/* print: whole outputs, to the blank. */
#include "agent/print.h"

#include <string.h>

#include "api/json_map.h"
#include "base/str.h"
#include "kube/yaml.h"
#include "text/out.h"
#include "unit/agent/world.h"

static const char *const lines[] = {
	("{\"kind\":\"pci\",\"address\":\"0000:01:00.0\",\"vendor\":\"8086\",\"device\":\"10d3\","
	 "\"class\":\"020000\",\"driver\":\"e1000e\",\"iommuGroup\":\"7\",\"numaNode\":0,"
	 "\"role\":\"Function\"}"),
	"{\"kind\":\"pci\",\"address\":\"0000:02:00.0\",\"class\":\"000000\"}",
	("{\"kind\":\"usb\",\"name\":\"1-2\",\"bus\":1,\"device\":5,\"vendor\":\"0951\","
	 "\"product\":\"1666\",\"speed\":480,\"serial\":\"E0D5\",\"productName\":\"\xc3\x9c\"}"),
	"{\"kind\":\"usb\",\"name\":\"1-3\",\"bus\":1,\"device\":6}",
	"{\"kind\":\"use\",\"usb\":\"1-2\",\"reason\":\"Mounted\",\"detail\":\"sdb at /m\"}",
	"{\"kind\":\"name\",\"id\":\"pciclass:0200\",\"class\":\"Net\"}",
	"{\"kind\":\"name\",\"id\":\"pci:8086:10d3\",\"vendor\":\"Intel\",\"product\":\"NIC\"}",
};

/* clang-format off */
static const char table_text[] =
"NAME              ADDRESS        ID          DRIVER   CLAIMABLE   REASON      DESCRIPTION\n"
"node1-000001000   0000:01:00.0   8086:10d3   e1000e   True        Available   Net: Intel NIC\n"
"node1-000002000   0000:02:00.0                        False       NoIOMMU     "
"Class 0000: Vendor 0000 Device 0000\n"
"\n"
"NAME                     PORT   ID          SERIAL   CLAIMABLE   REASON      DESCRIPTION\n"
"node1-0951-1666-001005   1-2    0951:1666   E0D5     False       InUse       "
"Unknown 0951:1666 [\xc3\x9c]\n"
"node1-0000-0000-001006   1-3                         True        Available   Unknown 0000:0000\n";
/* clang-format on */

static const char wide_pci_title[] =
	"NAME              ADDRESS        ID          DRIVER   CLAIMABLE   REASON      IOMMU   NUMA "
	"  ROLE       RESOURCE NAME      DESCRIPTION                           MESSAGE\n";
static const char wide_pci_row[] =
	"node1-000001000   0000:01:00.0   8086:10d3   e1000e   True        Available   7       0    "
	"  Function   intel.com/NIC      Net: Intel NIC                        may be claimed (IOMMU "
	"group 7)\n";
static const char wide_usb_row[] =
	"node1-0951-1666-001005   1-2    0951:1666   E0D5     False       InUse       480M    "
	"/dev/bus/usb/001/005   sdb at /m   Unknown 0951:1666 [\xc3\x9c]\n";

/* @width: of the terminal; 0: none. */
static char *printed_on(size_t width, const char *const *of, size_t max, enum out_format format)
{
	struct out out = { .format = format, .width = width };
	struct world world;

	world_of(&world, of, max);
	print_inventory(&out, world.inventory);
	world_close(&world);
	return str_detach(&out.text);
}

static char *printed(const char *const *of, size_t max, enum out_format format)
{
	return printed_on(0, of, max, format);
}

static void the_table_is_aligned(void **state)
{
	auto_free char *text = printed(lines, ARRAY_LEN(lines), OUT_TABLE);

	assert_string_equal(text, table_text);
}

static void the_wide_table_has_more_columns(void **state)
{
	auto_free char *text = printed(lines, ARRAY_LEN(lines), OUT_WIDE);
	const char *usb = strstr(text, "\n\n");

	assert_non_null(usb);
	assert_memory_equal(text, wide_pci_title, strlen(wide_pci_title));
	assert_memory_equal(text + strlen(wide_pci_title), wide_pci_row, strlen(wide_pci_row));
	if (!strstr(usb, wide_usb_row))
		fail_msg("%s", usb);
	assert_null(strstr(usb, " 0M"));
}

/* Columns are as wide as what is seen, not as the bytes that say it. */
static void letters_beyond_ascii_do_not_shift_columns(void **state)
{
	static const char *const twins[] = {
		"{\"kind\":\"usb\",\"name\":\"1-2\",\"bus\":1,\"device\":5,\"serial\":\"\xc3\xa4"
		"\xe2\x82\xac\"}",
		"{\"kind\":\"usb\",\"name\":\"1-3\",\"bus\":1,\"device\":6,\"serial\":\"longserial\"}",
	};
	auto_free char *text = printed(twins, ARRAY_LEN(twins), OUT_TABLE);

	assert_non_null(strstr(text, "\xc3\xa4\xe2\x82\xac           True"));
	assert_non_null(strstr(text, "longserial   True"));
}

/* A plugged device must not control the administrator's terminal. */
static void controls_never_reach_the_terminal(void **state)
{
	static const char *const evil[] = {
		"{\"kind\":\"usb\",\"name\":\"1-2\\u001b[2J\",\"bus\":1,\"device\":5,"
		"\"serial\":\"\\u001b]0;x\\u0007\",\"productName\":\"a\\nb\","
		"\"interfaces\":[{\"driver\":\"\\u009b31m\"}]}",
		"{\"kind\":\"pci\",\"address\":\"\\u001b[2J\",\"driver\":\"\\u0008\","
		"\"iommuGroup\":\"\\r\"}",
	};
	auto_free char *text = printed(evil, ARRAY_LEN(evil), OUT_WIDE);

	for (const char *c = text; *c; c++) {
		assert_true((unsigned char)*c >= ' ' || *c == '\n');
		assert_false((unsigned char)c[0] == 0xc2 && (unsigned char)c[1] < 0xa0);
	}
	assert_non_null(strstr(text, "\\x1b]0;x\\x07"));
}

static void nothing_found_is_said(void **state)
{
	auto_free char *table = printed(NULL, 0, OUT_TABLE);
	auto_free char *wide = printed(NULL, 0, OUT_WIDE);

	assert_string_equal(table, "No devices found\n");
	assert_string_equal(wide, "No devices found\n");
}

static json_t *load(const char *text, enum out_format format)
{
	json_t *list = NULL;
	struct err err = { 0 };
	int r = format == OUT_YAML ? yaml_parse("out", text, strlen(text), &list, &err)
				   : json_map_load(text, strlen(text), &list, &err);

	if (r < 0)
		fail_msg("%s", err.msg);
	return list;
}

static struct list_case {
	const char *name;
	enum out_format format;
	const char *begins;
} lists[] = {
	{ "JSON is one list of the objects", OUT_JSON, "{\n  \"apiVersion\": \"v1\"" },
	{ "YAML is one list of the objects", OUT_YAML, "apiVersion: v1\nitems:\n- apiVersion: " },
};

static void list_is_whole(void **state)
{
	const struct list_case *c = *state;
	auto_free char *text = printed(lines, ARRAY_LEN(lines), c->format);
	auto_free char *none = printed(NULL, 0, c->format);
	auto_json json_t *list = load(text, c->format);
	auto_json json_t *empty = load(none, c->format);
	const char *kind, *name, *address, *port;

	assert_memory_equal(text, c->begins, strlen(c->begins));
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_string_equal(json_string_value(json_object_get(list, "kind")), "List");
	assert_int_equal(json_array_size(json_object_get(list, "items")), 4);
	assert_int_equal(json_unpack(list, "{s:[{s:s,s:{s:s},s:{s:s}}, {}, {s:{s:s}}]}", "items",
				     "kind", &kind, "metadata", "name", &name, "status", "address",
				     &address, "status", "portPath", &port),
			 0);
	assert_string_equal(kind, "PCIDevice");
	assert_string_equal(name, "node1-000001000");
	assert_string_equal(address, "0000:01:00.0");
	assert_string_equal(port, "1-2");
	assert_int_equal(json_array_size(json_object_get(empty, "items")), 0);
	assert_true(json_is_array(json_object_get(empty, "items")));
}

static void both_lists_say_the_same(void **state)
{
	auto_free char *json_text = printed(lines, ARRAY_LEN(lines), OUT_JSON);
	auto_free char *yaml_text = printed(lines, ARRAY_LEN(lines), OUT_YAML);
	auto_json json_t *json = load(json_text, OUT_JSON);
	auto_json json_t *yaml = load(yaml_text, OUT_YAML);

	assert_true(json_equal(json, yaml));
}

/* Of a terminal. -o wide is whole. */
static void a_table_fits_the_terminal(void **state)
{
	/* clang-format off */
	static const char at_80[] =
"NAME              ADDRESS        DRIVER   CLAIMABLE   REASON      DESCRIPTION\n"
"node1-000001000   0000:01:00.0   e1000e   True        Available   Net: Intel NIC\n"
"node1-000002000   0000:02:00.0            False       NoIOMMU     Class 0000:...\n"
"\n";
	/* clang-format on */
	auto_free char *text = printed_on(80, lines, ARRAY_LEN(lines), OUT_TABLE);
	auto_free char *wide = printed_on(80, lines, ARRAY_LEN(lines), OUT_WIDE);
	auto_free char *whole = printed(lines, ARRAY_LEN(lines), OUT_WIDE);

	assert_memory_equal(text, at_80, strlen(at_80));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
	assert_string_equal(wide, whole);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "the table is aligned", the_table_is_aligned, NULL);
	suite_add(&suite, "the wide table has more columns", the_wide_table_has_more_columns, NULL);
	suite_add(&suite, "letters beyond ASCII do not shift columns",
		  letters_beyond_ascii_do_not_shift_columns, NULL);
	suite_add(&suite, "control characters never reach the terminal",
		  controls_never_reach_the_terminal, NULL);
	suite_add(&suite, "nothing found is said", nothing_found_is_said, NULL);
	suite_rows(&suite, lists, list_is_whole);
	suite_add(&suite, "JSON and YAML say the same", both_lists_say_the_same, NULL);
	suite_add(&suite, "a table fits the terminal", a_table_fits_the_terminal, NULL);
	return suite_run(&suite, "print");
}
