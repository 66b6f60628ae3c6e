/* failpoint: who dies where, in children that the test can afford to lose. */
#include "base/failpoint.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "unit/folder.h"
#include "unit/suite.h"

enum { PASSED = 42 };

/* @once is a file below the test's folder. */
static void pass(const struct folder *folder, const char *chosen, const char *once)
{
	auto_free char *path = once ? folder_path(folder, once) : NULL;

	unsetenv("HOSTDEV_FAILPOINT");
	unsetenv("HOSTDEV_FAILPOINT_ONCE");
	if (chosen)
		setenv("HOSTDEV_FAILPOINT", chosen, 1);
	if (path)
		setenv("HOSTDEV_FAILPOINT_ONCE", path, 1);
	failpoint("helper-unbind-before");
	_exit(PASSED);
}

static bool was_killed(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), PASSED);
	return false;
}

static bool dies(const struct folder *folder, const char *chosen, const char *once)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		pass(folder, chosen, once);
	return was_killed(pid);
}

static struct failpoint_case {
	const char *name;
	const char *chosen; /* NULL: not in the environment */
	bool dies;
} cases[] = {
	{ "nobody dies unasked", NULL, false },
	{ "nobody dies of an empty name", "", false },
	{ "the chosen place is the last", "helper-unbind-before", true },
	{ "another place is passed", "helper-unbind-after", false },
	{ "the beginning of a name is another name", "helper-unbind", false },
	{ "a longer name is another name", "helper-unbind-before-that", false },
	{ "a longer name with a parent, too", "helper-unbind-before-that+parent", false },
	{ "what is no parent is no name", "helper-unbind-before+", false },
};

static void failpoint_matches_table(void **state)
{
	const struct failpoint_case *c = *state;

	assert_int_equal(dies(NULL, c->chosen, NULL), c->dies);
}

static void once_is_once(void **state)
{
	struct folder *folder = *state;
	auto_free char *mark = NULL;

	mark = folder_path(folder, "died");
	assert_false(dies(folder, "another", "died"));
	assert_int_equal(access(mark, F_OK), -1);
	assert_true(dies(folder, "helper-unbind-before", "died"));
	assert_int_equal(access(mark, F_OK), 0);
	assert_false(dies(folder, "helper-unbind-before", "died"));
	assert_false(dies(folder, "helper-unbind-before", "no/such/folder"));
}

/* Write the child's pid and wait for ever; the child passes when @go_fd says so. */
static void be_parent(int tell_fd, int go_fd)
{
	pid_t pid = fork();
	char go;

	if (pid == 0) {
		if (read(go_fd, &go, 1) == 1)
			pass(NULL, "helper-unbind-before+parent", NULL);
		_exit(1);
	}
	if (pid < 0 || write(tell_fd, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	for (;;)
		pause();
}

static void the_parent_dies_too(void **state)
{
	pid_t parent;
	pid_t child = -1;
	int tell[2];
	int go[2];

	/* So that the orphan's end can be seen. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0)
		be_parent(tell[1], go[0]);
	assert_int_equal(read(tell[0], &child, sizeof(child)), sizeof(child));
	assert_int_equal(write(go[1], "g", 1), 1);
	assert_true(was_killed(parent));
	assert_true(was_killed(child));
	for (size_t i = 0; i < 2; i++) {
		close(tell[i]);
		close(go[i]);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, failpoint_matches_table);
	suite_add(&suite, "the parent dies, too, if asked for", the_parent_dies_too, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_add(&suite, "who dies once does not die again", once_is_once, NULL);
	return suite_run(&suite, "failpoint");
}
