#include "agent/helper/record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/sys/report.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "fake/tree/tree.h"

#define ADDRESS "0000:01:00.0"
#define FILE_OF "devices/" ADDRESS ".json"

#define NEEDED                                                                            \
	"\"address\":\"0000:01:00.0\",\"claim\":\"vm1-000001000\",\"uid\":\"1234-5678\"," \
	"\"driver\":\"vfio-pci\",\"id\":\"8086:10d3\""

static char address[] = ADDRESS;
static char claim[] = "vm1-000001000";
static char uid[] = "1234-5678";
static char vfio[] = "vfio-pci";
static char id[] = "8086:10d3";
static char e1000e[] = "e1000e";
static char none[] = "";
static char serial[] = "00-11-22-33-44-55-66-77";
static char boot[] = "0f8fad5b-d9cb-469f-a165-70867728950e";

#define MINIMAL .address = address, .claim = claim, .uid = uid, .driver = vfio, .id = id

static struct written_case {
	const char *name;
	struct device_record record;
	const char *text;
} written[] = {
	{ "all members",
	  { MINIMAL, .native = e1000e, .serial = serial, .boot = boot, .bound = boot },
	  "{\"address\":\"0000:01:00.0\",\"claim\":\"vm1-000001000\",\"uid\":\"1234-5678\","
	  "\"driver\":\"vfio-pci\",\"native\":\"e1000e\",\"id\":\"8086:10d3\","
	  "\"serial\":\"00-11-22-33-44-55-66-77\","
	  "\"boot\":\"0f8fad5b-d9cb-469f-a165-70867728950e\","
	  "\"bound\":\"0f8fad5b-d9cb-469f-a165-70867728950e\"}" },
	{ "a driver to go back to that is not known is left out", { MINIMAL }, "{" NEEDED "}" },
	{ "having had no driver is said",
	  { MINIMAL, .native = none },
	  "{\"address\":\"0000:01:00.0\",\"claim\":\"vm1-000001000\",\"uid\":\"1234-5678\","
	  "\"driver\":\"vfio-pci\",\"native\":\"\",\"id\":\"8086:10d3\"}" },
};

static void assert_text(const char *actual, const char *expected)
{
	assert_string_equal(actual ? actual : "(not there)", expected ? expected : "(not there)");
}

static void assert_records_equal(const struct device_record *actual,
				 const struct device_record *expected)
{
	assert_text(actual->address, expected->address);
	assert_text(actual->claim, expected->claim);
	assert_text(actual->uid, expected->uid);
	assert_text(actual->driver, expected->driver);
	assert_text(actual->native, expected->native);
	assert_text(actual->id, expected->id);
	assert_text(actual->serial, expected->serial);
	assert_text(actual->boot, expected->boot);
	assert_text(actual->bound, expected->bound);
}

static void what_is_written_is_read(void **state)
{
	const struct written_case *c = suite_row(state);
	auto_device_record struct device_record record = { 0 };
	auto_free char *text = NULL;
	struct err err = { 0 };
	struct tree *tree = *state;

	tree_make(tree, NULL);
	assert_int_equal(record_write(&device_records, tree->fd, &c->record, &err), 0);
	assert_int_equal(file_read(tree->fd, FILE_OF, 4096, &text, NULL, &err), 0);
	assert_string_equal(text, c->text);
	assert_int_equal(record_read(&device_records, tree->fd, ADDRESS, &record, &err), 0);
	assert_records_equal(&record, &c->record);
}

/* What the text is taken for is another test's; here, which file, and whose record it is. */
static void broken_files(void **state)
{
	struct device_record record = { .address = address };
	struct err err = { 0 };
	struct tree *tree = *state;

	tree_make(tree, NULL);
	tree_write(tree, FILE_OF, "{}", 2);
	assert_int_equal(record_read(&device_records, tree->fd, ADDRESS, &record, &err), -EBADMSG);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.msg, "'0000:01:00.0.json': 'address' is missing");
	tree_write(tree, "devices/0000:02:00.0.json", "{" NEEDED "}", strlen("{" NEEDED "}"));
	assert_int_equal(record_read(&device_records, tree->fd, "0000:02:00.0", &record, &err),
			 -EBADMSG);
	assert_string_equal(err.msg, "'0000:02:00.0.json' is about '0000:01:00.0'");
	assert_ptr_equal(record.address, address);
}

static void size_limit(void **state)
{
	static const char start[] = "{" NEEDED "}";
	static char text[RECORD_FILE_MAX + 1];
	auto_device_record struct device_record record = { 0 };
	struct err err = { 0 };
	struct tree *tree = *state;

	memset(text, ' ', sizeof(text));
	memcpy(text, start, sizeof(start) - 1);
	tree_make(tree, NULL);
	tree_write(tree, FILE_OF, text, RECORD_FILE_MAX);
	assert_int_equal(record_read(&device_records, tree->fd, ADDRESS, &record, &err), 0);
	tree_write(tree, FILE_OF, text, RECORD_FILE_MAX + 1);
	assert_int_equal(record_read(&device_records, tree->fd, ADDRESS, &record, &err), -EFBIG);
}

static struct hostile_case {
	const char *name;
	const char *text;
} hostile[] = {
	{ "an address that leaves the folder", "../0000:01:00.0" },
	{ "an absolute address", "/tmp/0000:01:00.0" },
	{ "a bare name", "x" },
	{ "no name", "" },
	{ "the folder above", ".." },
};

static void addresses_cannot_leave(void **state)
{
	const struct hostile_case *c = suite_row(state);
	auto_free char *name = xstrdup(c->text);
	struct device_record record = { MINIMAL };
	struct err err = { 0 };
	struct tree *tree = *state;

	record.address = name;
	tree_make(tree, (const char *const[]){ "outside.json=kept", "x.json=kept", NULL });
	assert_int_equal(record_write(&device_records, tree->fd, &record, &err), -EINVAL);
	assert_int_equal(record_read(&device_records, tree->fd, name, &record, &err), -EINVAL);
	assert_int_equal(record_remove(&device_records, tree->fd, name, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.msg, "is no PCI address"));
	assert_int_equal(faccessat(tree->fd, "devices", F_OK, 0), -1);
}

/* What could not be read back is not written. */
static void only_valid_records_are_written(void **state)
{
	char evil[] = "e1000e\",\"x\":\"";
	struct device_record no_uid = { MINIMAL };
	struct device_record bad_native = { MINIMAL, .native = evil };
	struct err err = { 0 };
	struct tree *tree = *state;

	no_uid.uid = NULL;
	tree_make(tree, NULL);
	assert_int_equal(record_write(&device_records, tree->fd, &no_uid, &err), -EINVAL);
	assert_string_equal(err.msg, "a record needs 'uid'");
	assert_int_equal(record_write(&device_records, tree->fd, &bad_native, &err), -EINVAL);
	assert_string_equal(err.msg, "'native' of a record cannot be 'e1000e\",\"x\":\"'");
	assert_int_equal(faccessat(tree->fd, "devices", F_OK, 0), -1);
}

static ino_t inode_of(const struct tree *tree)
{
	struct stat st;

	assert_int_equal(fstatat(tree->fd, FILE_OF, &st, 0), 0);
	return st.st_ino;
}

/* A replaced file is another inode. */
static void the_same_is_not_written_again(void **state)
{
	struct device_record first = { MINIMAL, .native = e1000e };
	struct device_record second = { MINIMAL, .native = e1000e, .boot = boot };
	struct tree *tree = *state;
	ino_t before;

	tree_make(tree, NULL);
	assert_int_equal(record_write(&device_records, tree->fd, &first, NULL), 0);
	before = inode_of(tree);
	assert_int_equal(record_write(&device_records, tree->fd, &first, NULL), 0);
	assert_int_equal(inode_of(tree), before);
	assert_int_equal(record_write(&device_records, tree->fd, &second, NULL), 0);
	assert_int_not_equal(inode_of(tree), before);
}

static void absent_and_removed(void **state)
{
	struct device_record record = { MINIMAL };
	struct err err = { 0 };
	struct tree *tree = *state;

	tree_make(tree, NULL);
	assert_int_equal(record_read(&device_records, tree->fd, ADDRESS, &record, &err),
			 RECORD_ABSENT);
	assert_int_equal(record_remove(&device_records, tree->fd, ADDRESS, &err), 0);
	assert_int_equal(record_write(&device_records, tree->fd, &record, &err), 0);
	assert_int_equal(record_read(&device_records, tree->fd, "0000:01:00.1", &record, &err),
			 RECORD_ABSENT);
	assert_int_equal(record_remove(&device_records, tree->fd, ADDRESS, &err), 0);
	assert_int_equal(record_read(&device_records, tree->fd, ADDRESS, &record, &err),
			 RECORD_ABSENT);
	assert_int_equal(record_remove(&device_records, tree->fd, ADDRESS, &err), 0);
}

/* The state directory of the helper is open with O_PATH, and only the owner sees into it. */
static void folder_is_made_private(void **state)
{
	auto_close int path_fd = -1;
	struct device_record record = { MINIMAL };
	struct stat st;
	struct tree *tree = *state;

	tree_make(tree, NULL);
	path_fd = tree_open(tree, ".");
	assert_int_equal(record_write(&device_records, path_fd, &record, NULL), 0);
	assert_int_equal(fstatat(tree->fd, "devices", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fstatat(tree->fd, FILE_OF, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void folder_that_is_none(void **state)
{
	struct device_record record = { MINIMAL };
	struct err err = { 0 };
	struct tree *tree = *state;

	tree_make(tree, (const char *const[]){ "devices=text", NULL });
	assert_int_equal(record_write(&device_records, tree->fd, &record, &err), -ENOTDIR);
	assert_string_equal(err.msg, "open the folder 'devices': Not a directory");
	assert_int_equal(record_read(&device_records, tree->fd, ADDRESS, &record, &err), -ENOTDIR);
	assert_int_equal(record_remove(&device_records, tree->fd, ADDRESS, &err), -ENOTDIR);
	assert_int_equal(record_write(&device_records, -1, &record, &err), -EBADF);
}

/* As on a full disk: the record that was there stays whole. */
static void failed_write_keeps_the_old(void **state)
{
	struct device_record old = { MINIMAL };
	struct device_record new = { MINIMAL, .native = e1000e };
	auto_device_record struct device_record found = { 0 };
	struct rlimit before;
	struct rlimit small;
	struct err err = { 0 };
	struct tree *tree = *state;
	int r;

	tree_make(tree, NULL);
	assert_int_equal(record_write(&device_records, tree->fd, &old, &err), 0);
	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){ .rlim_cur = 20, .rlim_max = before.rlim_max };
	assert_ptr_not_equal(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	setrlimit(RLIMIT_FSIZE, &small);
	r = record_write(&device_records, tree->fd, &new, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_ptr_not_equal(signal(SIGXFSZ, SIG_DFL), SIG_ERR);

	assert_int_equal(r, -EFBIG);
	assert_string_equal(err.msg, "write '0000:01:00.0.json': File too large");
	assert_int_equal(record_read(&device_records, tree->fd, ADDRESS, &found, &err), 0);
	assert_records_equal(&found, &old);
}

static void assert_file(const struct tree *tree, const char *path, const char *expected)
{
	auto_close int fd = openat(tree->fd, path, O_RDONLY | O_CLOEXEC);
	char text[256] = "";

	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, expected);
}

static void assert_lines(const struct tree *tree, const char *lines, const char *problems)
{
	struct report report = { 0 };

	records_write_lines(&device_records, tree->fd, -1, &report);
	assert_string_equal(str_cstr(&report.lines), lines);
	assert_string_equal(str_cstr(&report.problems), problems);
	report_done(&report);
}

/* One broken record hurts no other; leftovers and what is no record are passed over. */
static void lines_of_records(void **state)
{
	static const char text[] = "{" NEEDED ",\"native\":\"\"}\n";
	static const char *const entries[] = { "devices/0000:01:00.0.json.77.new={",
					       "devices/.hidden.json={",
					       "devices/README=text",
					       "devices/0000:02:00.0.json={}",
					       "devices/x.json={}",
					       "devices/0000:03:00.0.json->0000:01:00.0.json",
					       NULL };
	struct tree *tree = *state;

	tree_make(tree, NULL);
	assert_lines(tree, "", "");
	for (size_t i = 0; entries[i]; i++)
		tree_add(tree, entries[i]);
	tree_write(tree, FILE_OF, text, sizeof(text) - 1);
	assert_int_equal(mkfifoat(tree->fd, "devices/0000:04:00.0.json", 0600), 0);
	assert_lines(
		tree,
		"{\"kind\":\"record\",\"address\":\"0000:01:00.0\",\"claim\":\"vm1-000001000\","
		"\"uid\":\"1234-5678\",\"driver\":\"vfio-pci\",\"native\":\"\",\"id\":\"8086:10d3\","
		"\"thisBoot\":false}\n",
		"{\"kind\":\"problem\",\"device\":\"0000:02:00.0\",\"attribute\":\"record\","
		"\"message\":\"'0000:02:00.0.json': 'address' is missing; repair the file or remove it\"}\n"
		"{\"kind\":\"problem\",\"device\":\"0000:03:00.0\",\"attribute\":\"record\","
		"\"message\":\"'0000:03:00.0.json' is no file; repair the file or remove it\"}\n"
		"{\"kind\":\"problem\",\"device\":\"0000:04:00.0\",\"attribute\":\"record\","
		"\"message\":\"'0000:04:00.0.json' is no file; repair the file or remove it\"}\n"
		"{\"kind\":\"problem\",\"device\":\"x\",\"attribute\":\"record\","
		"\"message\":\"'x' is no PCI address; repair the file or remove it\"}\n");
}

static bool is_there(const struct tree *tree, const char *path)
{
	return faccessat(tree->fd, path, F_OK, 0) == 0;
}

/* What a killed writer left goes when the record is removed; what is another's or no such file
 * stays. */
static void leftovers_of_writers_go(void **state)
{
	struct tree *tree = *state;
	struct err err = { 0 };

	tree_make(tree, NULL);
	tree_add(tree, "devices/0000:01:00.0.json.30.new=");
	tree_add(tree, "devices/0000:01:00.0.json.old.new=");
	tree_add(tree, "devices/0000:01:00.1.json.30.new=");
	assert_int_equal(record_remove(&device_records, tree->fd, "0000:01:00.0", &err), 0);
	assert_false(is_there(tree, "devices/0000:01:00.0.json.30.new"));
	assert_true(is_there(tree, "devices/0000:01:00.0.json.old.new"));
	assert_true(is_there(tree, "devices/0000:01:00.1.json.30.new"));
}

/* The files of the other kinds, byte by byte as earlier versions wrote them. */
static void mdev_file(void **state)
{
	static const char text[] =
		"{\"uuid\":\"83b8f4f2-509f-382f-3c1e-e6bfe0fa1001\",\"parent\":\"mtty\","
		"\"type\":\"mtty-2\",\"owner\":\"types\",\"boot\":\"b00t\"}\n";
	static const char uuid[] = "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001";
	auto_mdev_record struct mdev_record record = { 0 };
	struct tree *tree = *state;

	tree_make(tree, NULL);
	tree_add(tree, "mdevs/");
	tree_write(tree, "mdevs/83b8f4f2-509f-382f-3c1e-e6bfe0fa1001.json", text, sizeof(text) - 1);
	assert_int_equal(record_read(&mdev_records, tree->fd, uuid, &record, NULL), 0);
	assert_string_equal(record.owner, "types");
	assert_string_equal(record.boot, "b00t");
	assert_int_equal(record_remove(&mdev_records, tree->fd, uuid, NULL), 0);
	assert_int_equal(record_write(&mdev_records, tree->fd, &record, NULL), 0);
	assert_file(tree, "mdevs/83b8f4f2-509f-382f-3c1e-e6bfe0fa1001.json", text);
}

static struct switched_case {
	const char *name;
	const char *text;
	const char *was; /* NULL: it is no record */
	const char *boot;
} switched[] = {
	{ "it was on", "on b00t\n", "on", "b00t" },
	{ "it was off", "off b00t\n", "off", "b00t" },
	{ "the boot was not known", "on \n", "on", "" },
	{ "no boot", "on\n", NULL, NULL },
	{ "neither on nor off", "1 b00t\n", NULL, NULL },
	{ "more than a boot", "on b00t x\n", NULL, NULL },
	{ "an empty file", "", NULL, NULL },
};

static void switched_file(void **state)
{
	const struct switched_case *c = suite_row(state);
	auto_autoprobe_record struct autoprobe_record record = { 0 };
	struct tree *tree = *state;

	tree_make(tree, NULL);
	tree_add(tree, "autoprobe/");
	tree_write(tree, "autoprobe/" ADDRESS, c->text, strlen(c->text));
	if (!c->was) {
		assert_int_equal(record_read(&autoprobe_records, tree->fd, ADDRESS, &record, NULL),
				 -EBADMSG);
		return;
	}
	assert_int_equal(record_read(&autoprobe_records, tree->fd, ADDRESS, &record, NULL), 0);
	assert_string_equal(record.address, ADDRESS);
	assert_string_equal(record.was, c->was);
	assert_string_equal(record.boot, c->boot);
	assert_int_equal(record_remove(&autoprobe_records, tree->fd, ADDRESS, NULL), 0);
	assert_int_equal(record_write(&autoprobe_records, tree->fd, &record, NULL), 0);
	assert_file(tree, "autoprobe/" ADDRESS, c->text);
}

/* Records of another boot and other files are not reported. */
static void lines_of_switched(void **state)
{
	struct tree *tree = *state;
	struct report report = { 0 };
	auto_close int proc_fd = -1;

	tree_make(tree, (const char *const[]){ "proc/sys/kernel/random/boot_id=b00t\n",
					       "autoprobe/0000:01:00.0=on b00t\n",
					       "autoprobe/0000:02:00.0=on 0ld\n",
					       "autoprobe/0000:03:00.0=nothing\n",
					       "autoprobe/x=on b00t\n", NULL });
	proc_fd = tree_open(tree, "proc");
	records_write_lines(&autoprobe_records, tree->fd, proc_fd, &report);
	assert_string_equal(str_cstr(&report.lines),
			    "{\"kind\":\"autoprobe\",\"address\":\"0000:01:00.0\"}\n");
	assert_int_equal(report.problems.len, 0);
	report_done(&report);
}

static void put_record(const struct tree *tree, size_t number)
{
	auto_free char *where =
		xasprintf("0000:%02zx:%02zx.%zu", number / 256, number / 8 % 32, number % 8);
	auto_free char *path = xasprintf("devices/%s.json", where);
	struct device_record record = { MINIMAL };
	auto_str struct str text = STR_INIT;

	record.address = where;
	record_format(&device_records, &record, &text);
	tree_write(tree, path, text.buf, text.len);
}

static size_t count_lines(const struct tree *tree, bool problems)
{
	struct report report = { 0 };
	const char *text;
	size_t count = 0;

	records_write_lines(&device_records, tree->fd, -1, &report);
	text = str_cstr(problems ? &report.problems : &report.lines);
	for (; (text = strchr(text, '\n')) != NULL; text++)
		count++;
	report_done(&report);
	return count;
}

static void at_most_so_many_lines(void **state)
{
	struct report report = { 0 };
	struct tree *tree = *state;

	tree_make(tree, NULL);
	for (size_t i = 0; i < RECORDS_MAX; i++)
		put_record(tree, i);
	assert_int_equal(count_lines(tree, false), RECORDS_MAX);
	assert_int_equal(count_lines(tree, true), 0);
	put_record(tree, RECORDS_MAX);
	records_write_lines(&device_records, tree->fd, -1, &report);
	assert_int_equal(report.lines.len, 0);
	assert_int_equal(report.failure.code, -E2BIG);
	assert_string_equal(report.failure.msg, "the folder 'devices' has more than 4096 files");
	report_done(&report);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, written, what_is_written_is_read);
	suite_add(&suite, "a broken record, and one of another function", broken_files, NULL);
	suite_add(&suite, "a file of more than 64 KiB is no record", size_limit, NULL);
	suite_rows(&suite, hostile, addresses_cannot_leave);
	suite_add(&suite, "only what can be read back is written", only_valid_records_are_written,
		  NULL);
	suite_add(&suite, "what says the same is not written again", the_same_is_not_written_again,
		  NULL);
	suite_add(&suite, "no folder, no file, removed twice", absent_and_removed, NULL);
	suite_add(&suite, "the folder is made, for the owner alone", folder_is_made_private, NULL);
	suite_add(&suite, "a file in the folder's place", folder_that_is_none, NULL);
	suite_add(&suite, "a write that fails keeps the old record", failed_write_keeps_the_old,
		  NULL);
	suite_add(&suite, "one line for each record, one problem for each broken one",
		  lines_of_records, NULL);
	suite_add(&suite, "leftovers of writers go", leftovers_of_writers_go, NULL);
	suite_add(&suite, "the file of a mediated device", mdev_file, NULL);
	suite_rows(&suite, switched, switched_file);
	suite_add(&suite, "one line for each switch of this boot", lines_of_switched, NULL);
	suite_add(&suite, "more than 4096 records fail the scan", at_most_so_many_lines, NULL);
	return suite_run(&suite, "record");
}
