/* scan_tree: runs the helper's scan over a tree and keeps the lines of the kinds that a test is
 * about. */
#pragma once

#include "agent/helper/scan/scan.h"
#include "agent/helper/sys/report.h"
#include "base/str.h"
#include "fake/tree/tree.h"

/* A /proc in which the scan can see that the host uses nothing. */
#define PROC_ROUTES  "proc/1/net/route=Iface Destination Gateway Flags RefCnt Use Metric Mask\n"
#define PROC_MOUNTS  "proc/1/mountinfo=20 1 0:20 / / rw - tmpfs tmpfs rw\n"
#define PROC_OF_HOST PROC_MOUNTS, PROC_ROUTES
#define PROC_WHOLE   "proc/meminfo=MemTotal: 1 kB\n"

/* The interface that every kernel with networking has. */
#define SYS_LOOPBACK "sys/class/net/lo->../../devices/virtual/net/lo"

/* Lines of questions without an answer, with single quotes. */
#define UNKNOWN_LINE(question, unread, pci, usb, detail)                                     \
	"{'kind':'unknown','question':'" question "','unread':" unread ",'pciClasses':[" pci \
	"],'usbClasses':[" usb "],'detail':'" detail "'}\n"
#define UNKNOWN_STORAGE(question, unread, detail)                                            \
	UNKNOWN_LINE(question, unread,                                                       \
		     "'0000','0002','00ff','01','0805','0c00','0c03','0c04','0c06'", "'08'", \
		     detail)
#define UNKNOWN_NETWORK(question, unread, detail)                                               \
	UNKNOWN_LINE(question, unread, "'02','0c03','0c04','0c06','0d'", "'02','0a','e0','ff'", \
		     detail)
#define UNKNOWN_BOTH(question, unread, detail)                                                 \
	UNKNOWN_LINE(question, unread,                                                         \
		     "'0000','0002','00ff','01','02','0805','0c00','0c03','0c04','0c06','0d'", \
		     "'02','08','0a','e0','ff'", detail)

/* Append to @ret_lines the lines whose kind is among @kinds ("use problem"). */
static inline void scan_keep(const char *lines, const char *kinds, struct str *ret_lines)
{
	static const char head[] = "{\"kind\":\"";

	for (const char *end; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
		const char *kind = lines + sizeof(head) - 1;
		auto_free char *word = NULL;

		assert_memory_equal(lines, head, sizeof(head) - 1);
		word = xstrndup(kind, strcspn(kind, "\""));
		if (strstr(kinds, word))
			str_add_mem(ret_lines, lines, (size_t)(end - lines) + 1);
	}
	assert_string_equal(lines, "");
}

/* Double quotes become single ones, so that expected lines can stand in C without backslashes. */
static inline void single_quotes(struct str *lines)
{
	for (size_t i = 0; i < lines->len; i++) {
		if (lines->buf[i] == '"')
			lines->buf[i] = '\'';
	}
}

/* Scan the machine in @tree/sys and @tree/proc, with the nodes in @tree/dev and the records in
 * @tree/state if it has these. */
static inline void scan_bare(const struct tree *tree, const char *node_address,
			     struct report *report)
{
	auto_close int sysfs_fd = tree_open(tree, "sys");
	auto_close int proc_fd = tree_open(tree, "proc");
	auto_close int dev_fd = tree_open(tree, "dev");
	auto_close int state_fd = tree_open(tree, "state");

	assert_true(sysfs_fd >= 0);
	scan_run(&(struct scan_options){ sysfs_fd, proc_fd, dev_fd, state_fd, node_address },
		 report);
}

/* The same, with what is in the trees of every kernel. An entry "proc/meminfo->meminfo" leaves that
 * out, and so does "sys/class/net->none" for the loopback. */
static inline void scan_report(const struct tree *tree, const char *node_address,
			       struct report *report)
{
	tree_add(tree, "sys/bus/");
	tree_add(tree, "sys/class/");
	if (faccessat(tree->fd, "sys/class/net", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		tree_add(tree, SYS_LOOPBACK);
	if (faccessat(tree->fd, "proc", F_OK, 0) == 0 &&
	    faccessat(tree->fd, "proc/meminfo", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		tree_add(tree, PROC_WHOLE);
	scan_bare(tree, node_address, report);
}

/* The same; keep the lines of @kinds, with single quotes. */
static inline void scan_tree(const struct tree *tree, const char *node_address, const char *kinds,
			     struct str *ret_lines)
{
	struct report report = { 0 };

	scan_report(tree, node_address, &report);
	assert_string_equal(report.failure.msg, "");
	scan_keep(str_cstr(&report.lines), kinds, ret_lines);
	single_quotes(ret_lines);
	report_done(&report);
}

/* The same for entries instead of a tree that is there. */
static inline void scan_entries(const char *const *entries, const char *node_address,
				const char *kinds, struct str *ret_lines)
{
	struct tree tree;

	tree_make(&tree, entries);
	tree_add(&tree, "sys/");
	scan_tree(&tree, node_address, kinds, ret_lines);
	tree_done(&tree);
}
