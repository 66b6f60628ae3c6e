#include "agent/helper/sys/group_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "fake/tree/tree.h"

static char *content(const struct tree *tree, const char *name)
{
	char *text = NULL;

	assert_int_equal(file_read(tree->fd, name, 64, &text, NULL, NULL), 0);
	return text;
}

static void taken(void **state)
{
	auto_free char *own = xasprintf("%d", (int)getpid());
	auto_free char *text = NULL;
	struct err err = { 0 };
	struct tree *tree = *state;
	int pid = 4711;
	int fd = -1;

	/* A pid from before that is longer leaves no rest. */
	tree_make(tree, (const char *const[]){ "group-12.lock=123456789012\n", NULL });
	assert_int_equal(group_lock_take(tree->fd, "12", &fd, &pid, &err), 0);
	assert_true(fd >= 0);
	assert_int_equal(pid, 4711);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	text = content(tree, "group-12.lock");
	assert_string_equal(text, own);
	close(fd);
}

/* Another process takes the lock of group 12, says so, and keeps it until it is told to end, then
 * ends without a word. */
static void keep_lock(const struct tree *tree, int say_fd, int wait_fd)
{
	char byte = 0;
	int fd = -1;
	int pid = 0;
	bool ok = group_lock_take(tree->fd, "12", &fd, &pid, NULL) == 0;

	if (!ok || write(say_fd, "x", 1) != 1)
		_exit(1);
	(void)!read(wait_fd, &byte, 1);
	_exit(0);
}

static void busy(void **state)
{
	int say[2];
	int wait[2];
	char byte;
	int status = 0;
	int fd = -1;
	int pid = 0;
	pid_t other;
	struct tree *tree = *state;
	struct err err = { 0 };

	tree_make(tree, NULL);
	assert_int_equal(pipe2(say, O_CLOEXEC), 0);
	assert_int_equal(pipe2(wait, O_CLOEXEC), 0);
	other = fork();
	assert_true(other >= 0);
	if (other == 0) {
		close(wait[1]);
		keep_lock(tree, say[1], wait[0]);
	}
	close(say[1]);
	assert_int_equal(read(say[0], &byte, 1), 1);

	assert_int_equal(group_lock_take(tree->fd, "12", &fd, &pid, &err), GROUP_LOCK_BUSY);
	assert_int_equal(pid, other);
	assert_int_equal(fd, -1);
	/* Other groups have other locks. */
	assert_int_equal(group_lock_take(tree->fd, "1", &fd, &pid, &err), 0);
	close(fd);
	assert_int_equal(group_lock_take(tree->fd, "-", &fd, &pid, &err), 0);
	close(fd);

	close(wait[1]);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	/* A lock does not outlive its process, whatever its file still says. */
	assert_int_equal(group_lock_take(tree->fd, "12", &fd, &pid, &err), 0);
	close(fd);
	close(say[0]);
	close(wait[0]);
}

static struct pid_case {
	const char *name;
	const char *text;
	int pid;
} pids[] = {
	{ "a pid", "123\n", 123 },
	{ "nothing yet", "", 0 },
	{ "no number", "abc\n", 0 },
	{ "a negative number", "-5\n", 0 },
	{ "a number that is no pid", "4294967297\n", 0 },
	{ "a text without end", "11111111111111111111111111111111111111", 0 },
};

/* The pid of the other is read from its file, and not believed when it is none. */
static void others_pid_matches_table(void **state)
{
	const struct pid_case *c = suite_row(state);
	auto_close int other = -1;
	struct tree *tree = *state;
	int fd = -1;
	int pid = 4711;

	tree_make(tree, NULL);
	tree_write(tree, "group-0.lock", c->text, strlen(c->text));
	other = openat(tree->fd, "group-0.lock", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(group_lock_take(tree->fd, "0", &fd, &pid, NULL), GROUP_LOCK_BUSY);
	assert_int_equal(pid, c->pid);
}

static void cannot(void **state)
{
	struct err err = { 0 };
	struct tree *tree = *state;
	int fd = -1;
	int pid = 0;

	tree_make(tree, (const char *const[]){ "group-3.lock/", "group-4.lock->elsewhere",
					       "file=", NULL });
	assert_int_equal(group_lock_take(tree->fd, "3", &fd, &pid, &err), -EISDIR);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_string_equal(err.msg, "open 'group-3.lock': Is a directory");
	assert_int_equal(group_lock_take(tree->fd, "4", &fd, &pid, &err), -ELOOP);
	assert_int_equal(group_lock_take(-1, "5", &fd, &pid, &err), -EBADF);
	assert_int_equal(fd, -1);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &tree_fixture);
	suite_add(&suite, "a lock that is free is taken, with the own pid in it", taken, NULL);
	suite_add(&suite, "a lock that another process has says whose it is", busy, NULL);
	suite_rows(&suite, pids, others_pid_matches_table);
	suite_add(&suite, "a state directory that cannot be used says why", cannot, NULL);
	return suite_run(&suite, "group_lock");
}
