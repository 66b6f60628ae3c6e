#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/err.h"
#include "unit/suite.h"

#define BYTES(s) (s), sizeof(s) - 1

/* A folder of its own for each test, and where it is. */
struct folder {
	char path[64];
	int fd;
};

static void folder_make(struct folder *f)
{
	*f = (struct folder){ .path = "/tmp/hostdev-test-file-XXXXXX" };
	assert_non_null(mkdtemp(f->path));
	leftovers_folder(f->path);
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->fd >= 0);
}

static size_t folder_count(const struct folder *f)
{
	auto_dir DIR *dir = opendir(f->path);
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	return count - 2;
}

static void folder_remove(struct folder *f)
{
	auto_dir DIR *dir = opendir(f->path);

	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (unlinkat(f->fd, entry->d_name, 0) < 0)
			unlinkat(f->fd, entry->d_name, AT_REMOVEDIR);
	}
	close(f->fd);
	assert_int_equal(rmdir(f->path), 0);
}

static void folder_put(const struct folder *f, const char *name, const char *text, size_t len)
{
	auto_close int fd = openat(f->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
}

static struct read_case {
	const char *name;
	const char *content;
	size_t len;
	size_t max;
	const char *text; /* NULL: -EFBIG */
	size_t text_len;
} reads[] = {
	{ "an empty file", BYTES(""), 10, BYTES("") },
	{ "one newline goes", BYTES("0x8086\n"), 10, BYTES("0x8086") },
	{ "two newlines leave one", BYTES("a\n\n"), 10, BYTES("a\n") },
	{ "a newline alone", BYTES("\n"), 10, BYTES("") },
	{ "no newline", BYTES("abc"), 10, BYTES("abc") },
	{ "as large as allowed", BYTES("abcd"), 4, BYTES("abcd") },
	{ "as large as allowed, its newline included", BYTES("abc\n"), 4, BYTES("abc") },
	{ "one byte too large", BYTES("abcde"), 4, NULL, 0 },
	{ "one newline too large", BYTES("abcd\n"), 4, NULL, 0 },
	{ "nothing allowed, nothing there", BYTES(""), 0, BYTES("") },
	{ "zero bytes are kept", BYTES("a\0b\n"), 10, BYTES("a\0b") },
};

static void read_matches_table(void **state)
{
	const struct read_case *c = *state;
	auto_free char *text = NULL;
	size_t len = 4711;
	struct err err = { 0 };
	struct folder f;
	int r;

	folder_make(&f);
	folder_put(&f, "x", c->content, c->len);
	r = file_read(f.fd, "x", c->max, &text, &len, &err);
	folder_remove(&f);

	if (!c->text) {
		assert_int_equal(r, -EFBIG);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.msg, "'x'"));
		assert_null(text);
		assert_int_equal(len, 4711);
		return;
	}
	assert_int_equal(r, 0);
	assert_int_equal(len, c->text_len);
	assert_memory_equal(text, c->text, c->text_len + 1);
}

static void what_cannot_be_read(void **state)
{
	struct folder f;
	struct err err = { 0 };
	char *text = NULL;

	(void)state;
	folder_make(&f);
	assert_int_equal(file_read(f.fd, "none", 10, &text, NULL, &err), -ENOENT);
	assert_string_equal(err.msg, "open 'none': No such file or directory");
	assert_int_equal(mkdirat(f.fd, "folder", 0700), 0);
	assert_int_equal(file_read(f.fd, "folder", 10, &text, NULL, &err), -EISDIR);
	assert_int_equal(file_read(-1, "x", 10, &text, NULL, &err), -EBADF);
	assert_int_equal(file_read(f.fd, "none", 10, &text, NULL, NULL), -ENOENT);
	assert_null(text);
	folder_remove(&f);
}

static void assert_content(const char *path, const char *content)
{
	auto_free char *text = NULL;
	struct err err = { 0 };

	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &text, NULL, &err), 0);
	assert_string_equal(text, content);
}

static void replace_leaves_one_file(void **state)
{
	struct folder f;
	struct err err = { 0 };
	auto_free char *path = NULL;

	(void)state;
	folder_make(&f);
	path = xasprintf("%s/state", f.path);
	assert_int_equal(file_replace(path, BYTES("old"), 0600, &err), 0);
	assert_content(path, "old");
	assert_int_equal(file_replace(path, BYTES("new content"), 0600, &err), 0);
	assert_content(path, "new content");
	assert_int_equal(file_replace(path, BYTES(""), 0600, &err), 0);
	assert_content(path, "");
	assert_int_equal(folder_count(&f), 1);
	folder_remove(&f);
}

/* The mode is the one asked for, whatever the umask and whatever the file had before. */
static void replace_sets_the_mode(void **state)
{
	static const unsigned modes[] = { 0600, 0644, 0640 };
	struct folder f;
	struct err err = { 0 };
	auto_free char *path = NULL;
	mode_t before = umask(077);

	(void)state;
	folder_make(&f);
	path = xasprintf("%s/state", f.path);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct stat st;

		assert_int_equal(file_replace(path, BYTES("x"), modes[i], &err), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, modes[i]);
	}
	folder_remove(&f);
	umask(before);
}

static void replace_in_no_folder(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(file_replace("/nonexistent/state", BYTES("x"), 0600, &err), -ENOENT);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_non_null(strstr(err.msg, "/nonexistent/state"));
}

static void replace_of_a_folder(void **state)
{
	struct folder f;
	struct err err = { 0 };
	auto_free char *path = NULL;

	(void)state;
	folder_make(&f);
	path = xasprintf("%s/state", f.path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(file_replace(path, BYTES("x"), 0600, &err), -EISDIR);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(folder_count(&f), 1);
	folder_remove(&f);
}

/* A full disk, as a limit on the size of a file: the write stops half way. */
static void failed_write_keeps_the_old(void **state)
{
	static char large[100000];
	struct rlimit before;
	struct rlimit small;
	struct folder f;
	struct err err = { 0 };
	auto_free char *path = NULL;
	int r;

	(void)state;
	memset(large, 'x', sizeof(large));
	folder_make(&f);
	path = xasprintf("%s/state", f.path);
	assert_int_equal(file_replace(path, BYTES("old"), 0600, &err), 0);

	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){ .rlim_cur = 5000, .rlim_max = before.rlim_max };
	assert_ptr_not_equal(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	setrlimit(RLIMIT_FSIZE, &small);
	r = file_replace(path, large, sizeof(large), 0600, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_ptr_not_equal(signal(SIGXFSZ, SIG_DFL), SIG_ERR);

	assert_int_equal(r, -EFBIG);
	assert_content(path, "old");
	assert_int_equal(folder_count(&f), 1);
	folder_remove(&f);
}

enum { CONTENT = 60000, WRITES = 100 };

static void write_on_and_on(const char *path)
{
	auto_free char *text = xmalloc(CONTENT);
	struct err err = { 0 };

	for (int i = 0; i < WRITES; i++) {
		memset(text, i % 2 ? 'b' : 'a', CONTENT);
		if (file_replace(path, text, CONTENT, 0600, &err) < 0)
			_exit(1);
	}
	_exit(0);
}

/* The old content or the new one, whole, as long as the other process writes. */
static void reader_sees_old_or_new(void **state)
{
	struct folder f;
	struct err err = { 0 };
	auto_free char *path = NULL;
	int status = 0;
	pid_t writer;

	(void)state;
	folder_make(&f);
	path = xasprintf("%s/state", f.path);
	assert_int_equal(file_replace(path, BYTES(""), 0600, &err), 0);
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0)
		write_on_and_on(path);

	while (waitpid(writer, &status, WNOHANG) == 0) {
		auto_free char *text = NULL;
		size_t len = 0;

		assert_int_equal(file_read(AT_FDCWD, path, CONTENT, &text, &len, &err), 0);
		if (len == 0)
			continue;
		assert_int_equal(len, CONTENT);
		assert_true(text[0] == 'a' || text[0] == 'b');
		assert_memory_equal(text, text + 1, CONTENT - 1);
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	folder_remove(&f);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, reads, read_matches_table);
	suite_add(&suite, "what cannot be read says why", what_cannot_be_read, NULL);
	suite_add(&suite, "replacing leaves one file", replace_leaves_one_file, NULL);
	suite_add(&suite, "replacing sets the mode asked for", replace_sets_the_mode, NULL);
	suite_add(&suite, "replacing in a folder that is not there", replace_in_no_folder, NULL);
	suite_add(&suite, "replacing a folder fails and leaves nothing", replace_of_a_folder, NULL);
	suite_add(&suite, "a write that fails half way keeps the old content",
		  failed_write_keeps_the_old, NULL);
	suite_add(&suite, "a reader sees the old content or the new one", reader_sees_old_or_new,
		  NULL);
	return suite_run(&suite, "file");
}
