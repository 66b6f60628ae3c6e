#include "agent/names/names.h"

#include <errno.h>

#include "agent/helper/sys/report.h"
#include "base/err.h"
#include "base/str.h"
#include "fake/tree/scan_tree.h"

static const char pci_ids[] = "# comment\n"
			      "1af4  Red Hat, Inc.\n"
			      "\t1000  Virtio network device\n"
			      "\t\t01de fffb  Propolis Virtio network device\n"
			      "8086  Intel Corporation\n"
			      "\t10d3  82574L Gigabit Network Connection\n"
			      "\n"
			      "C 02  Network controller\n"
			      "\t00  Ethernet controller\n"
			      "\tff  The last\n"
			      "C 03  Display controller\n";

static const char usb_ids[] = "# comment\n"
			      "0627  Adomax Technology Co., Ltd\n"
			      "\t0001  QEMU Tablet\n"
			      "\t\t00  Interface\n"
			      "0628  Caf\xe9\r\n"
			      "\t0001  Other\n"
			      "\n"
			      "C 03  Human Interface Device\n"
			      "\t01  Boot Interface Subclass\n"
			      "AT 0101  USB Streaming\n"
			      "HID 21  HID\n"
			      "\t0001  Not a product\n"
			      "L 0001  Arabic\n"
			      "\t01  Saudi Arabia\n";

/* clang-format off */
static struct name_case {
	const char *name;
	const char *id;
	const char *line;
} cases[] = {
	{ "a PCI device", "pci:8086:10d3",
	  "'vendor':'Intel Corporation','product':'82574L Gigabit Network Connection'" },
	{ "a device nobody knows", "pci:8086:ffff", "'vendor':'Intel Corporation'" },
	{ "a vendor nobody knows", "pci:dead:beef", "" },
	{ "digits in upper case", "pci:1AF4:1000",
	  "'vendor':'Red Hat, Inc.','product':'Virtio network device'" },
	{ "a class and subclass", "pciclass:0200",
	  "'class':'Network controller','subclass':'Ethernet controller'" },
	{ "a subclass nobody knows", "pciclass:0280", "'class':'Network controller'" },
	{ "the last subclass", "pciclass:02ff", "'class':'Network controller','subclass':'The last'" },
	{ "a class without subclasses", "pciclass:0300", "'class':'Display controller'" },
	{ "a class nobody knows", "pciclass:fe00", "" },
	{ "a USB device", "usb:0627:0001",
	  "'vendor':'Adomax Technology Co., Ltd','product':'QEMU Tablet'" },
	{ "a name that is not UTF-8, and a line end of another system", "usb:0628:0001",
	  "'vendor':'Caf\\\\xe9','product':'Other'" },
	{ "a vendor of no USB", "usb:ffff:0001", "" },
	{ "a USB class", "usbclass:03", "'class':'Human Interface Device'" },
	{ "lines of other lists are no vendors", "usb:0001:0001", "" },
};
/* clang-format on */

static void find(struct names *names, const struct tree *tree, struct report *report)
{
	auto_free char *pci_path = xasprintf("%s/pci.ids", tree->root);
	auto_free char *usb_path = xasprintf("%s/usb.ids", tree->root);

	names_find_pci(names, pci_path, report);
	names_find_usb(names, usb_path, report);
	names_write(names, report);
	names_done(names);
	str_add_mem(&report->lines, str_cstr(&report->problems), report->problems.len);
	single_quotes(&report->lines);
}

static void name_matches_table(void **state)
{
	const struct name_case *c = suite_row(state);
	auto_free char *line =
		xasprintf("{'kind':'name','id':'%s'%s%s}\n", c->id, c->line[0] ? "," : "", c->line);
	struct names names = { 0 };
	struct report report = { 0 };
	struct tree *tree = *state;

	tree_make(tree, NULL);
	tree_write(tree, "pci.ids", pci_ids, sizeof(pci_ids) - 1);
	tree_write(tree, "usb.ids", usb_ids, sizeof(usb_ids) - 1);
	assert_int_equal(names_add(&names, c->id, NULL), 0);
	find(&names, tree, &report);
	assert_memory_equal(str_cstr(&report.lines), line, strlen(line));
	report_done(&report);
}

/* clang-format off */
static struct file_case {
	const char *name;
	const char *entries[4];
	const char *lines;
} files[] = {
	{ "no files at all", { "x=" },
	  "{'kind':'name','id':'pci:8086:10d3'}\n{'kind':'name','id':'usb:0627:0001'}\n"
	  "{'kind':'problem','device':'','attribute':'pci.ids','message':'ROOT/pci.ids: No such file "
	  "or directory'}\n"
	  "{'kind':'problem','device':'','attribute':'usb.ids','message':'open 'ROOT/usb.ids': No "
	  "such file or directory'}\n" },
	{ "what stands before a broken line of pci.ids counts",
	  { "pci.ids=8086  Intel Corporation\n\t10d3  82574L\nZZZZ nonsense\n1af4  Red Hat\n",
	    "usb.ids=0627  Adomax\n" },
	  "{'kind':'name','id':'pci:8086:10d3','vendor':'Intel Corporation','product':'82574L'}\n"
	  "{'kind':'name','id':'usb:0627:0001','vendor':'Adomax'}\n"
	  "{'kind':'problem','device':'','attribute':'pci.ids','message':'ROOT/pci.ids: Parse error "
	  "at ROOT/pci.ids, line 3'}\n" },
	{ "folders instead of files", { "pci.ids/", "usb.ids/" },
	  "{'kind':'name','id':'pci:8086:10d3'}\n{'kind':'name','id':'usb:0627:0001'}\n"
	  "{'kind':'problem','device':'','attribute':'pci.ids','message':'ROOT/pci.ids is not a "
	  "file'}\n"
	  "{'kind':'problem','device':'','attribute':'usb.ids','message':'read 'ROOT/usb.ids': Is a "
	  "directory'}\n" },
	{ "empty files", { "pci.ids=", "usb.ids=" },
	  "{'kind':'name','id':'pci:8086:10d3'}\n{'kind':'name','id':'usb:0627:0001'}\n" },
};
/* clang-format on */

/* Write "ROOT" for the folder, whose name no table can know. */
static void hide_root(struct str *lines, const char *root)
{
	auto_str struct str shown = STR_INIT;
	const char *at = str_cstr(lines);

	for (const char *found; (found = strstr(at, root)) != NULL; at = found + strlen(root)) {
		str_add_mem(&shown, at, (size_t)(found - at));
		str_add(&shown, "ROOT");
	}
	str_add(&shown, at);
	str_clear(lines);
	str_add(lines, str_cstr(&shown));
}

static void files_match_table(void **state)
{
	const struct file_case *c = suite_row(state);
	struct names names = { 0 };
	struct report report = { 0 };
	struct tree *tree = *state;

	tree_make(tree, c->entries);
	assert_int_equal(names_add(&names, "pci:8086:10d3", NULL), 0);
	assert_int_equal(names_add(&names, "usb:0627:0001", NULL), 0);
	find(&names, tree, &report);
	hide_root(&report.lines, tree->root);
	assert_string_equal(str_cstr(&report.lines), c->lines);
	report_done(&report);
}

static void refused_ids(void **state)
{
	static const char *const ids[] = { "",
					   "pci",
					   "pci:",
					   "pci:8086",
					   "pci:8086:10d",
					   "pci:8086:10d3x",
					   "pci:80g6:10d3",
					   "pci:8086-10d3",
					   "pciclass:02",
					   "usbclass:0300",
					   "scsi:0000:0000",
					   "pci:+086:10d3",
					   "usb: 123:0001" };
	struct names names = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		struct err err = { 0 };

		assert_int_equal(names_add(&names, ids[i], &err), -EINVAL);
		assert_int_equal(err.kind, ERR_INVALID);
	}
	assert_int_equal(names.len, 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "identifiers of another form are refused", refused_ids, NULL);
	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, cases, name_matches_table);
	suite_rows(&suite, files, files_match_table);
	return suite_run(&suite, "names");
}
