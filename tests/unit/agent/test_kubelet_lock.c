#include "agent/standby.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "unit/folder.h"
#include "unit/suite.h"

static int opened(const struct folder *folder)
{
	struct err err = { 0 };
	int fd = -1;

	assert_int_equal(kubelet_lock_open(folder->path, &fd, &err), 0);
	assert_true(fd >= 0);
	return fd;
}

static void one_at_a_time(void **state)
{
	struct folder *folder = *state;
	struct err err = { 0 };
	int first, second;

	first = opened(folder);
	second = opened(folder);
	assert_int_equal(fcntl(first, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(kubelet_lock_try(first, &err), 0);
	assert_int_equal(kubelet_lock_try(first, &err), 0);
	assert_int_equal(kubelet_lock_try(second, &err), KUBELET_LOCK_BUSY);
	close(first);
	assert_int_equal(kubelet_lock_try(second, &err), 0);
	close(second);
}

/* A machine without a kubelet, where a kubelet will be, and whose folder has no file of ours
 * yet. */
static void where_it_lies(void **state)
{
	struct folder *folder = *state;
	auto_free char *nowhere = NULL;
	auto_free char *path = NULL;
	struct stat st;
	struct err err = { 0 };
	int fd = -1;

	nowhere = folder_path(folder, "kubelet");
	path = folder_path(folder, "plugins/hostdev/agent.lock");
	assert_int_equal(kubelet_lock_open(nowhere, &fd, &err), KUBELET_LOCK_NONE);
	assert_int_equal(fd, -1);
	assert_int_equal(access(nowhere, F_OK), -1);
	close(opened(folder));
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	close(opened(folder));
}

static void assert_refused(const struct folder *folder, int code)
{
	struct err err = { 0 };
	int fd = -1;

	assert_int_equal(kubelet_lock_open(folder->path, &fd, &err), code);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(err.msg, "/plugins/hostdev/agent.lock': "));
	assert_non_null(strstr(err.msg, strerror(-code)));
}

/* Nothing of that makes it wait, or write elsewhere. */
static void what_is_in_the_way(void **state)
{
	struct folder folder;
	auto_free char *path = NULL;

	folder_init(&folder);
	folder_put(&folder, "plugins", "no folder");
	assert_refused(&folder, -ENOTDIR);
	folder_done(&folder);

	folder_init(&folder);
	close(opened(&folder));
	path = folder_path(&folder, "plugins/hostdev/agent.lock");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("elsewhere", path), 0);
	assert_refused(&folder, -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_refused(&folder, -EISDIR);
	folder_done(&folder);
}

static void no_lock(void **state)
{
	struct err err = { 0 };

	assert_int_equal(kubelet_lock_try(-1, &err), -EBADF);
	assert_string_equal(err.msg, "lock the kubelet's folder: Bad file descriptor");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "what is in the way is an error", what_is_in_the_way, NULL);
	suite_add(&suite, "what cannot be locked is an error", no_lock, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_add(&suite, "one has it at a time, until it is closed", one_at_a_time, NULL);
	suite_add(&suite, "it lies among the plugins of a kubelet that is there", where_it_lies,
		  NULL);
	return suite_run(&suite, "kubelet_lock");
}
