/* scan_tree: runs the helper's scan over a tree and keeps the lines of the kinds that a test is
 * about. */
#pragma once

#include "agent/helper/scan/scan.h"
#include "agent/helper/sys/report.h"
#include "base/str.h"
#include "fake/tree/tree.h"

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

/* Scan the machine in @tree/sys and @tree/proc, with the records in @tree/state if it has one. */
static inline void scan_tree(const struct tree *tree, const char *node_address, const char *kinds,
			     struct str *ret_lines)
{
	auto_close int sysfs_fd = tree_open(tree, "sys");
	auto_close int proc_fd = tree_open(tree, "proc");
	auto_close int state_fd = tree_open(tree, "state");
	struct report report = { 0 };

	assert_true(sysfs_fd >= 0);
	scan_run(&(struct scan_options){ sysfs_fd, proc_fd, state_fd, node_address }, &report);
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
