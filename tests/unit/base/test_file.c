#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

SUITE_FIXTURE(folder, struct folder, folder_make, folder_remove);

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

/* Of every size around those at which the buffer grows, the whole comes, or nothing. */
static void large_files_come_whole(void **state)
{
	static const size_t sizes[] = { 16383, 16384, 16385, 32767, 32768, 32769, 100000 };
	auto_free char *content = xmalloc(100000);
	struct folder *f = *state;

	for (size_t i = 0; i < 100000; i++)
		content[i] = (char)('a' + i % 25);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		auto_free char *text = NULL;
		size_t len;

		folder_put(f, "x", content, sizes[i]);
		assert_int_equal(file_read(f->fd, "x", sizes[i] - 1, &text, &len, NULL), -EFBIG);
		assert_int_equal(file_read(f->fd, "x", sizes[i], &text, &len, NULL), 0);
		assert_int_equal(len, sizes[i]);
		assert_memory_equal(text, content, len);
		assert_int_equal(text[len], '\0');
	}
}

static void what_cannot_be_read(void **state)
{
	struct folder *f = *state;
	struct err err = { 0 };
	char *text = NULL;

	assert_int_equal(file_read(f->fd, "none", 10, &text, NULL, &err), -ENOENT);
	assert_string_equal(err.msg, "open 'none': No such file or directory");
	assert_int_equal(mkdirat(f->fd, "folder", 0700), 0);
	assert_int_equal(file_read(f->fd, "folder", 10, &text, NULL, &err), -EISDIR);
	assert_int_equal(file_read(-1, "x", 10, &text, NULL, &err), -EBADF);
	assert_int_equal(file_read(f->fd, "none", 10, &text, NULL, NULL), -ENOENT);
	assert_null(text);
}

static void assert_content(const struct folder *f, const char *content)
{
	auto_free char *text = NULL;
	struct err err = { 0 };

	assert_int_equal(file_read(f->fd, "state", 1 << 20, &text, NULL, &err), 0);
	assert_string_equal(text, content);
}

static void replace_leaves_one_file(void **state)
{
	struct folder *f = *state;
	struct err err = { 0 };

	assert_int_equal(file_replace_at(f->fd, "state", BYTES("old"), 0600, &err), 0);
	assert_content(f, "old");
	assert_int_equal(file_replace_at(f->fd, "state", BYTES("new content"), 0600, &err), 0);
	assert_content(f, "new content");
	assert_int_equal(file_replace_at(f->fd, "state", BYTES(""), 0600, &err), 0);
	assert_content(f, "");
	assert_int_equal(folder_count(f), 1);
}

/* One that is left has the name of the next one, whoever wrote it. */
static void swap_leaves_one_file(void **state)
{
	struct folder *f = *state;
	struct err err = { 0 };

	assert_int_equal(file_swap_at(f->fd, "state", BYTES("old"), 0644, &err), 0);
	assert_int_equal(file_replace_at(f->fd, "state.new", BYTES("half of a"), 0600, &err), 0);
	assert_int_equal(file_swap_at(f->fd, "state", BYTES("new content"), 0644, &err), 0);
	assert_content(f, "new content");
	assert_int_equal(folder_count(f), 1);
	assert_int_equal(file_swap_at(-1, "state", BYTES("x"), 0600, NULL), -EBADF);
}

/* The mode is the one asked for, whatever the umask and whatever the file had before. */
static void replace_sets_the_mode(void **state)
{
	static const unsigned modes[] = { 0600, 0644, 0640 };
	struct folder f;
	struct err err = { 0 };
	mode_t before = umask(077);

	folder_make(&f);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct stat st;

		assert_int_equal(file_replace_at(f.fd, "state", BYTES("x"), modes[i], &err), 0);
		assert_int_equal(fstatat(f.fd, "state", &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, modes[i]);
	}
	folder_remove(&f);
	umask(before);
}

/* A descriptor opened with O_PATH is enough, a closed one and a file's are not. */
static void what_a_folder_is(void **state)
{
	auto_close int path_fd = -1;
	auto_close int file_fd = -1;
	struct folder *f = *state;
	struct err err = { 0 };

	path_fd = open(f->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(file_replace_at(path_fd, "state", BYTES("x"), 0600, &err), 0);
	assert_content(f, "x");
	file_fd = openat(f->fd, "state", O_RDONLY | O_CLOEXEC);
	assert_int_equal(file_replace_at(file_fd, "y", BYTES("x"), 0600, &err), -ENOTDIR);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_string_equal(err.msg, "write 'y': Not a directory");
	assert_int_equal(file_replace_at(-1, "y", BYTES("x"), 0600, NULL), -EBADF);
	assert_int_equal(file_remove_at(file_fd, "y", &err), -ENOTDIR);
	assert_string_equal(err.msg, "remove 'y': Not a directory");
	assert_int_equal(file_sync_names(file_fd, &err), -ENOTDIR);
	assert_string_equal(err.msg, "open the folder: Not a directory");
	assert_int_equal(file_sync_names(path_fd, &err), 0);
}

static void removing(void **state)
{
	struct folder *f = *state;
	struct err err = { 0 };

	folder_put(f, "state", BYTES("x"));
	folder_put(f, "other", BYTES("x"));
	assert_int_equal(mkdirat(f->fd, "folder", 0700), 0);
	assert_int_equal(file_remove_at(f->fd, "state", &err), 0);
	assert_int_equal(folder_count(f), 2);
	assert_int_equal(file_remove_at(f->fd, "state", &err), 0);
	assert_int_equal(file_remove_at(f->fd, "folder", &err), -EISDIR);
	assert_string_equal(err.msg, "remove 'folder': Is a directory");
	assert_int_equal(folder_count(f), 2);
}

/* Whatever a process that was killed left under the temporary name, a link too, is not followed. */
static void a_left_temporary_file(void **state)
{
	auto_free char *part = xasprintf("state.%d.new", (int)getpid());
	struct folder *f = *state;
	struct err err = { 0 };

	folder_put(f, part, BYTES("a longer text than the new one"));
	assert_int_equal(file_replace_at(f->fd, "state", BYTES("new"), 0600, &err), 0);
	assert_content(f, "new");
	assert_int_equal(symlinkat("state", f->fd, part), 0);
	assert_int_equal(file_replace_at(f->fd, "state", BYTES("newer"), 0600, &err), -ELOOP);
	assert_content(f, "new");
}

static void replace_of_a_folder(void **state)
{
	struct folder *f = *state;
	struct err err = { 0 };

	assert_int_equal(mkdirat(f->fd, "state", 0700), 0);
	assert_int_equal(file_replace_at(f->fd, "state", BYTES("x"), 0600, &err), -EISDIR);
	assert_string_equal(err.msg, "write 'state': Is a directory");
	assert_int_equal(folder_count(f), 1);
}

/* A full disk, as a limit on the size of a file: the write stops half way. */
static void failed_write_keeps_the_old(void **state)
{
	static char large[100000];
	struct rlimit before;
	struct rlimit small;
	struct folder *f = *state;
	struct err err = { 0 };
	int r;

	memset(large, 'x', sizeof(large));
	assert_int_equal(file_replace_at(f->fd, "state", BYTES("old"), 0600, &err), 0);

	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){ .rlim_cur = 5000, .rlim_max = before.rlim_max };
	assert_ptr_not_equal(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	setrlimit(RLIMIT_FSIZE, &small);
	r = file_replace_at(f->fd, "state", large, sizeof(large), 0600, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_ptr_not_equal(signal(SIGXFSZ, SIG_DFL), SIG_ERR);

	assert_int_equal(r, -EFBIG);
	assert_content(f, "old");
	assert_int_equal(folder_count(f), 1);
}

enum { CONTENT = 60000, WRITES = 100 };

static void write_on_and_on(int dir_fd)
{
	auto_free char *text = xmalloc(CONTENT);
	struct err err = { 0 };

	for (int i = 0; i < WRITES; i++) {
		memset(text, i % 2 ? 'b' : 'a', CONTENT);
		if (file_replace_at(dir_fd, "state", text, CONTENT, 0600, &err) < 0)
			_exit(1);
	}
	_exit(0);
}

/* The old content or the new one, whole, as long as the other process writes. */
static void reader_sees_old_or_new(void **state)
{
	struct folder *f = *state;
	struct err err = { 0 };
	int status = 0;
	pid_t writer;

	assert_int_equal(file_replace_at(f->fd, "state", BYTES(""), 0600, &err), 0);
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0)
		write_on_and_on(f->fd);

	while (waitpid(writer, &status, WNOHANG) == 0) {
		auto_free char *text = NULL;
		size_t len = 0;

		assert_int_equal(file_read(f->fd, "state", CONTENT, &text, &len, &err), 0);
		if (len == 0)
			continue;
		assert_int_equal(len, CONTENT);
		assert_true(text[0] == 'a' || text[0] == 'b');
		assert_memory_equal(text, text + 1, CONTENT - 1);
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* More than the pipe holds, so that the writer has to wait for the reader. */
static void all_of_a_text_is_written(void **state)
{
	static char text[3 * 4096];
	static char seen[sizeof(text)];
	size_t len = 0;
	int ends[2];
	pid_t child;

	memset(text, 'x', sizeof(text));
	assert_int_equal(pipe(ends), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) >= 4096);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(file_write_all(ends[1], text, sizeof(text)) == 0 ? 0 : 1);
	close(ends[1]);
	for (ssize_t n; (n = read(ends[0], seen + len, sizeof(seen) - len)) > 0;)
		len += (size_t)n;
	close(ends[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(len, sizeof(text));
	assert_memory_equal(seen, text, sizeof(text));
	assert_int_equal(file_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(file_write_all(-1, "", 0), 0);
}

static void link_names(void **state)
{
	struct folder *f = *state;
	auto_free char *plain = xasprintf("%s/plain", f->path);
	auto_free char *link = xasprintf("%s/link", f->path);
	auto_free char *name = NULL;

	folder_put(f, "plain", "", 0);
	assert_int_equal(symlinkat("../drivers/vfio-pci", f->fd, "link"), 0);
	name = file_link_name(link);
	assert_string_equal(name, "vfio-pci");
	assert_null(file_link_name(plain));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(unlinkat(f->fd, "link", 0), 0);
	assert_null(file_link_name(link));
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, reads, read_matches_table);
	suite_add(&suite, "replacing sets the mode asked for", replace_sets_the_mode, NULL);
	suite_add(&suite, "all of a text is written, or why not is told", all_of_a_text_is_written,
		  NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_add(&suite, "the last name behind a link", link_names, NULL);
	suite_add(&suite, "large files come whole, or not at all", large_files_come_whole, NULL);
	suite_add(&suite, "what cannot be read says why", what_cannot_be_read, NULL);
	suite_add(&suite, "replacing leaves one file", replace_leaves_one_file, NULL);
	suite_add(&suite, "swapping leaves one file", swap_leaves_one_file, NULL);
	suite_add(&suite, "a folder is any descriptor of one, and nothing else", what_a_folder_is,
		  NULL);
	suite_add(&suite, "removing a file, twice, and a folder", removing, NULL);
	suite_add(&suite, "what a killed process left does no harm", a_left_temporary_file, NULL);
	suite_add(&suite, "replacing a folder fails and leaves nothing", replace_of_a_folder, NULL);
	suite_add(&suite, "a write that fails half way keeps the old content",
		  failed_write_keeps_the_old, NULL);
	suite_add(&suite, "a reader sees the old content or the new one", reader_sees_old_or_new,
		  NULL);
	return suite_run(&suite, "file");
}
