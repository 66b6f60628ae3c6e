/* standard_fds: in a child, whose descriptors a test may close. */
#include "base/standard_fds.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/suite.h"

static bool is_null(int fd)
{
	struct stat null;
	struct stat is;

	return stat("/dev/null", &null) == 0 && fstat(fd, &is) == 0 && is.st_rdev == null.st_rdev;
}

static struct closed_case {
	const char *name;
	bool closed[3];
} rows[] = {
	{ "standard output alone", { false, true, false } },
	{ "standard input and error", { true, false, true } },
	{ "all of them", { true, true, true } },
	{ "none", { false, false, false } },
};

/* The status of the child: 0, or 1 and the first descriptor that is not as it should be. */
static int check(const struct closed_case *row)
{
	int open_ends[2];

	if (pipe(open_ends) < 0)
		return 10;
	for (int fd = 0; fd < 3; fd++) {
		if (dup2(open_ends[0], fd) < 0)
			return 10;
	}
	for (int fd = 0; fd < 3; fd++) {
		if (row->closed[fd])
			close(fd);
	}
	standard_fds_open();
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 || is_null(fd) != row->closed[fd])
			return 1 + fd;
	}
	return 0;
}

static void what_is_closed_is_opened(void **state)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(check(*state));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, rows, what_is_closed_is_opened);
	return suite_run(&suite, "standard_fds");
}
