#include "base/standard_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void standard_fds_open(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* open() returns the lowest free descriptor, which is this one. */
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", O_RDWR) <
			    0) /* NOLINT(android-cloexec-open): children inherit it */
			return;
	}
}
