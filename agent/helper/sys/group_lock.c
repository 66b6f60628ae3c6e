#include "agent/helper/sys/group_lock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/helper/sys/value.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

enum { PID_TEXT_SIZE = 16 };

/* Just after the other has taken the lock, this is still the pid of whoever had it before. */
static int read_pid(int fd)
{
	char text[PID_TEXT_SIZE];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	uint64_t pid = 0;

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return str_to_u64(text, &pid) && pid <= INT_MAX ? (int)pid : 0;
}

/* The pid is for people. A full disk does not keep a device from being released, so that it cannot
 * be written is no error. */
static void write_pid(int fd)
{
	char text[PID_TEXT_SIZE];
	int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (pwrite(fd, text, (size_t)len, 0) != len || ftruncate(fd, len) < 0)
		(void)ftruncate(fd, 0);
}

int thing_lock_take(int state_fd, const char *thing, int *ret_fd, int *ret_pid, struct err *err)
{
	auto_free char *name = xasprintf("%s.lock", thing);
	auto_close int fd = -1;

	assert(value_is_entry(thing, strlen(thing)));
	fd = openat(state_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", name, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_set(err, ERR_RETRY, -errno, "lock '%s': %s", name,
				       strerror(errno));
		*ret_pid = read_pid(fd);
		return GROUP_LOCK_BUSY;
	}
	write_pid(fd);
	*ret_fd = take_fd(fd);
	return 0;
}

int group_lock_take(int state_fd, const char *group, int *ret_fd, int *ret_pid, struct err *err)
{
	auto_free char *thing = xasprintf("group-%s", group);

	assert(value_is_group(group, strlen(group)));
	return thing_lock_take(state_fd, thing, ret_fd, ret_pid, err);
}
