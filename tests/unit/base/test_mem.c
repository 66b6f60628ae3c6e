#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "unit/suite.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int open_null(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void descriptor_closes_with_its_block(void **state)
{
	int seen = -1;

	{
		auto_close int fd = open_null();

		seen = fd;
		assert_true(is_open(seen));
	}
	assert_false(is_open(seen));
}

static void taken_descriptor_stays_open(void **state)
{
	auto_close int mine = -1;

	{
		auto_close int fd = open_null();

		mine = take_fd(fd);
		assert_int_equal(fd, -1);
	}
	assert_true(is_open(mine));
}

static void directory_closes_with_its_block(void **state)
{
	int seen = -1;

	{
		auto_dir DIR *dir = opendir("/");

		assert_non_null(dir);
		seen = dirfd(dir);
	}
	assert_false(is_open(seen));
}

static void taken_pointer_leaves_null(void **state)
{
	auto_free char *mine = NULL;
	char *seen;

	{
		auto_free char *text = xstrdup("mine");

		seen = text;
		mine = take_ptr(text);
		assert_null(text);
	}
	assert_ptr_equal(mine, seen);
	assert_string_equal(mine, "mine");
}

static void empty_values_need_no_cleanup(void **state)
{
	auto_free char *text = NULL;
	auto_close int fd = -1;
	auto_dir DIR *dir = NULL;

	assert_null(text);
	assert_null(dir);
	assert_int_equal(fd, -1);
}

static void sizes_of_nothing(void **state)
{
	auto_free char *a = xmalloc(0);
	auto_free char *b = xcalloc(0, 8);
	auto_free char *c = xreallocarray(NULL, 0, 8);

	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
}

static void calloc_gives_zeroes(void **state)
{
	static const char zeroes[4096];
	auto_free char *a = xmalloc(sizeof(zeroes));
	auto_free char *b = NULL;

	memset(a, 0xff, sizeof(zeroes));
	free(take_ptr(a));
	b = xcalloc(sizeof(zeroes) / 8, 8);
	assert_memory_equal(b, zeroes, sizeof(zeroes));
}

static void reallocarray_keeps_content(void **state)
{
	auto_free char *text = xstrdup("content");

	text = xreallocarray(text, 1000, 1000);
	assert_string_equal(text, "content");
}

static void strings(void **state)
{
	auto_free char *cut = xstrndup("abcdef", 3);
	auto_free char *whole = xstrndup("abc", 10);
	auto_free char *printed = xasprintf("%s-%d", "node", 7);
	auto_free char *copy = xstrdup_or_null("abc");

	assert_string_equal(cut, "abc");
	assert_string_equal(whole, "abc");
	assert_string_equal(printed, "node-7");
	assert_string_equal(copy, "abc");
	assert_null(xstrdup_or_null(NULL));
}

/* In a child, because what is tested is that it does not come back. */
static void too_much_does_not_return(void **state)
{
	volatile size_t n = SIZE_MAX / 2 + 2; /* n * 2 wraps to a small number */
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		free(xreallocarray(NULL, n, 2));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a descriptor closes with its block", descriptor_closes_with_its_block,
		  NULL);
	suite_add(&suite, "a descriptor given away stays open", taken_descriptor_stays_open, NULL);
	suite_add(&suite, "a directory closes with its block", directory_closes_with_its_block,
		  NULL);
	suite_add(&suite, "a pointer given away leaves NULL", taken_pointer_leaves_null, NULL);
	suite_add(&suite, "empty values need no cleanup", empty_values_need_no_cleanup, NULL);
	suite_add(&suite, "a size of nothing is not NULL", sizes_of_nothing, NULL);
	suite_add(&suite, "calloc gives zeroes", calloc_gives_zeroes, NULL);
	suite_add(&suite, "reallocarray keeps the content", reallocarray_keeps_content, NULL);
	suite_add(&suite, "strings are copied, cut and printed", strings, NULL);
	suite_add(&suite, "a size that overflows does not return", too_much_does_not_return, NULL);
	return suite_run(&suite, "mem");
}
