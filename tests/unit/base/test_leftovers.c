/* The suite's own: what a test leaves when it fails. */
#include "unit/leftovers.h"

#include "unit/folder.h"
#include "unit/suite.h"

static pid_t child_that_stays(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static void folders_and_children_go(void **state)
{
	struct folder folders[2];
	pid_t pids[2];

	for (size_t i = 0; i < 2; i++) {
		folder_init(&folders[i]);
		folder_put(&folders[i], "below/file", "text");
		pids[i] = child_that_stays();
	}
	assert_int_equal(leftovers_remove(state), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(access(folders[i].path, F_OK), -1);
		assert_int_equal(kill(pids[i], 0), -1);
		assert_int_equal(errno, ESRCH);
	}
}

static void nothing_is_left_twice(void **state)
{
	struct folder folder;

	folder_init(&folder);
	assert_int_equal(leftovers_remove(state), 0);
	assert_int_equal(mkdir(folder.path, 0700), 0);
	assert_int_equal(leftovers_remove(state), 0);
	assert_int_equal(rmdir(folder.path), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "folders and children of a test go with it", folders_and_children_go,
		  NULL);
	suite_add(&suite, "what has gone is not removed again", nothing_is_left_twice, NULL);
	return suite_run(&suite, "leftovers");
}
