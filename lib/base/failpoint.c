#include "base/failpoint.h"

/* Otherwise this file is empty, and failpoint() is the header's empty function. */
#ifdef HOSTDEV_FAILPOINTS

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* True if the environment names this failpoint. */
static bool is_chosen(const char *name, bool *ret_parent)
{
	const char *chosen = getenv("HOSTDEV_FAILPOINT");
	size_t len = strlen(name);

	if (!chosen || strncmp(chosen, name, len) != 0)
		return false;
	*ret_parent = strcmp(chosen + len, "+parent") == 0;
	return *ret_parent || chosen[len] == '\0';
}

static bool is_first_time(void)
{
	const char *path = getenv("HOSTDEV_FAILPOINT_ONCE");
	auto_close int fd = -1;

	if (!path)
		return true;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd >= 0;
}

void failpoint(const char *name)
{
	bool parent = false;

	if (!is_chosen(name, &parent) || !is_first_time())
		return;
	/* If the parent has exited, our parent is init, which must not be killed. */
	if (parent && getppid() > 1)
		kill(getppid(), SIGKILL);
	kill(getpid(), SIGKILL);
}

#endif
