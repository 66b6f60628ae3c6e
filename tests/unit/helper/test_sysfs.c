#include "agent/helper/sys/sysfs.h"

#include <errno.h>

#include "base/err.h"
#include "base/str.h"
#include "fake/tree/tree.h"
#include "unit/syscall_fails.h"

static const char *const entries[] = {
	"plain=text\n",    "two=a\nb\n\n",        "bare=text",   "empty=",
	"link->a/b/c",     "dangling->nowhere/x", "folder/b10=", "folder/b9=",
	"folder/.hidden=", "empty_folder/",       NULL
};

static struct read_case {
	const char *name;
	const char *path;
	int result;
	const char *text;
} reads[] = {
	{ "one newline is cut off", "plain", 0, "text" },
	{ "only one", "two", 0, "a\nb\n" },
	{ "no newline is fine", "bare", 0, "text" },
	{ "an empty attribute is there", "empty", 0, "" },
	{ "an attribute that is not there", "none", SYSFS_ABSENT, "" },
	{ "an attribute of a device that is not there", "plain/none", SYSFS_ABSENT, "" },
	{ "a link to nowhere", "dangling", SYSFS_ABSENT, "" },
	{ "a folder is no attribute", "folder", -EISDIR, "" },
};

static void read_matches_table(void **state)
{
	const struct read_case *c = suite_row(state);
	struct sysfs_attr attr = { 0 };
	struct err err = { 0 };
	struct tree *tree = *state;

	tree_make(tree, entries);
	assert_int_equal(sysfs_read(tree->fd, c->path, &attr, &err), c->result);
	assert_int_equal(err.code, c->result < 0 ? c->result : 0);
	if (c->result == 0)
		assert_string_equal(attr.text, c->text);
}

static void limit(void **state)
{
	char text[SYSFS_ATTR_MAX + 1];
	struct sysfs_attr attr;
	struct err err = { 0 };
	struct tree *tree = *state;

	memset(text, 'x', sizeof(text));
	tree_make(tree, NULL);
	tree_write(tree, "fits", text, SYSFS_ATTR_MAX);
	tree_write(tree, "long", text, SYSFS_ATTR_MAX + 1);
	assert_int_equal(sysfs_read(tree->fd, "fits", &attr, &err), 0);
	assert_int_equal(attr.len, SYSFS_ATTR_MAX);
	assert_int_equal(sysfs_read(tree->fd, "long", &attr, &err), -EFBIG);
	assert_string_equal(err.msg, "'long' has more than 4095 bytes");
}

/* In a made-up tree a name may be a pipe without a writer. */
static void pipes_do_not_block(void **state)
{
	struct sysfs_attr attr;
	struct tree *tree = *state;

	tree_make(tree, NULL);
	assert_int_equal(mkfifoat(tree->fd, "pipe", 0600), 0);
	assert_int_equal(sysfs_read(tree->fd, "pipe", &attr, NULL), 0);
	assert_int_equal(attr.len, 0);
}

static void links(void **state)
{
	char target[SYSFS_LINK_MAX + 1];
	struct tree *tree = *state;

	tree_make(tree, entries);
	assert_int_equal(sysfs_link(tree->fd, "link", target, NULL), 0);
	assert_string_equal(target, "a/b/c");
	assert_int_equal(sysfs_link(tree->fd, "plain", target, NULL), SYSFS_ABSENT);
	assert_int_equal(sysfs_link(tree->fd, "none", target, NULL), SYSFS_ABSENT);
}

static void lists(void **state)
{
	auto_names struct sysfs_names names = { 0 };
	auto_free char *any = NULL;
	struct tree *tree = *state;

	tree_make(tree, entries);
	assert_int_equal(sysfs_list(tree->fd, "folder", &names, NULL), 0);
	assert_int_equal(names.len, 2);
	assert_string_equal(names.items[0], "b9");
	assert_string_equal(names.items[1], "b10");
	sysfs_names_done(&names);
	assert_int_equal(sysfs_list_prefix(tree->fd, "folder", "b1", &names, NULL), 0);
	assert_int_equal(names.len, 1);
	assert_string_equal(names.items[0], "b10");
	assert_int_equal(sysfs_list(tree->fd, "none", &names, NULL), SYSFS_ABSENT);
	any = sysfs_any_entry(tree->fd, "folder");
	assert_memory_equal(any, "b", 1);
	assert_null(sysfs_any_entry(tree->fd, "empty_folder"));
	assert_null(sysfs_any_entry(tree->fd, "none"));
}

/* What callers do not look at one by one they find afterwards; that a name is not there is no
 * failure. */
static void the_first_failure_is_remembered(void **state)
{
	auto_names struct sysfs_names names = { 0 };
	struct sysfs_attr attr;
	struct tree *tree = *state;
	int fd = -1;

	tree_make(tree, entries);
	sysfs_forget_failure();
	assert_int_equal(sysfs_read(tree->fd, "none", &attr, NULL), SYSFS_ABSENT);
	assert_int_equal(sysfs_open_dir(tree->fd, "none"), -1);
	assert_int_equal(errno, ENOENT);
	assert_null(sysfs_any_entry(tree->fd, "none"));
	assert_int_equal(sysfs_open_list(tree->fd, "none", &fd, &names, NULL), SYSFS_ABSENT);
	assert_int_equal(sysfs_failure()->code, 0);
	assert_int_equal(sysfs_read(tree->fd, "folder", &attr, NULL), -EISDIR);
	tree_add(tree, "loop->loop");
	assert_int_equal(sysfs_open_dir(tree->fd, "loop"), -1);
	assert_int_equal(errno, ELOOP);
	assert_string_equal(sysfs_failure()->msg, "read 'folder': Is a directory");
	sysfs_forget_failure();
	assert_int_equal(sysfs_list(tree->fd, "loop", &names, NULL), -ELOOP);
	assert_string_equal(sysfs_failure()->msg, "list 'loop': Too many levels of symbolic links");
	sysfs_forget_failure();
	assert_null(sysfs_any_entry(tree->fd, "loop"));
	assert_int_equal(sysfs_failure()->code, -ELOOP);
	sysfs_forget_failure();
	assert_int_equal(sysfs_shortage(), 0);
}

static struct shortage_case {
	const char *name;
	int code;
	int shortage;
} shortages[] = {
	{ "no descriptor of the process is left", EMFILE, -EMFILE },
	{ "no file of the machine is left", ENFILE, -ENFILE },
	{ "no memory is left", ENOMEM, -ENOMEM },
	{ "that it may not be read says something of the file", EACCES, 0 },
};

static bool runs_short(void *arg)
{
	const struct shortage_case *c = arg;
	struct sysfs_attr attr;

	return sysfs_read(AT_FDCWD, "any", &attr, NULL) == -c->code &&
	       sysfs_shortage() == c->shortage;
}

static void a_shortage_is_remembered(void **state)
{
	struct shortage_case *c = *state;

	assert_true(syscall_fails_for(SYS_openat, (unsigned)c->code, runs_short, c));
}

/* The folder of an interface that the kernel takes away is there a while longer, its attributes are
 * not. */
static bool reads_no_interface(void *arg)
{
	struct sysfs_attr attr;

	(void)arg;
	sysfs_forget_failure();
	return sysfs_read_interface(AT_FDCWD, "/proc/self/stat", &attr, NULL) == SYSFS_ABSENT &&
	       sysfs_failure()->code == 0 &&
	       sysfs_read(AT_FDCWD, "/proc/self/stat", &attr, NULL) == -EINVAL;
}

static bool reads_a_bad_interface(void *arg)
{
	struct sysfs_attr attr;

	(void)arg;
	return sysfs_read_interface(AT_FDCWD, "/proc/self/stat", &attr, NULL) == -EIO &&
	       sysfs_failure()->code == -EIO;
}

static void an_interface_that_goes_is_absent(void **state)
{
	(void)state;
	assert_true(syscall_fails_for(SYS_read, EINVAL, reads_no_interface, NULL));
	assert_true(syscall_fails_for(SYS_read, EIO, reads_a_bad_interface, NULL));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, shortages, a_shortage_is_remembered);
	suite_add(&suite, "an interface that goes is absent", an_interface_that_goes_is_absent,
		  NULL);
	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, reads, read_matches_table);
	suite_add(&suite, "an attribute is at most a page", limit, NULL);
	suite_add(&suite, "a pipe does not block", pipes_do_not_block, NULL);
	suite_add(&suite, "links and their last part", links, NULL);
	suite_add(&suite, "folders list their names in the order of numbers", lists, NULL);
	suite_add(&suite, "the first failure is remembered", the_first_failure_is_remembered, NULL);
	return suite_run(&suite, "sysfs");
}
