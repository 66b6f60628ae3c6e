#include "cli/map/map_callers.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/mem.h"

struct map_caller {
	struct map_caller *older;
	struct map_caller *newer;
	int fd; /* the daemon's; -1: not among the strangers */
};

static void take_out(struct map_callers *callers, struct map_caller *caller)
{
	if (caller->fd < 0)
		return;
	if (caller->older)
		caller->older->newer = caller->newer;
	else
		callers->oldest = caller->newer;
	if (caller->newer)
		caller->newer->older = caller->older;
	else
		callers->newest = caller->older;
	caller->fd = -1;
	callers->strangers--;
}

static void put_in(struct map_callers *callers, struct map_caller *caller)
{
	caller->older = callers->newest;
	if (callers->newest)
		callers->newest->newer = caller;
	else
		callers->oldest = caller;
	callers->newest = caller;
	callers->strangers++;
}

/* The library has no call that ends a connection; that nothing more comes on it, it finds out at once. */
static void show_out(struct map_callers *callers, struct map_caller *caller)
{
	(void)shutdown(caller->fd, SHUT_RDWR);
	take_out(callers, caller);
}

static void begin(struct map_callers *callers, struct MHD_Connection *connection,
		  void **socket_context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct map_caller *caller = xcalloc(1, sizeof(*caller));

	caller->fd = info->connect_fd;
	*socket_context = caller;
	put_in(callers, caller);
	if (callers->strangers > MAP_STRANGERS_MAX)
		show_out(callers, callers->oldest);
}

void map_callers_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
			enum MHD_ConnectionNotificationCode what)
{
	struct map_callers *callers = arg;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		begin(callers, connection, socket_context);
		return;
	}
	take_out(callers, *socket_context);
	free(*socket_context);
	*socket_context = NULL;
}

void map_callers_admit(struct map_callers *callers, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	take_out(callers, info->socket_context);
	(void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
					(unsigned)MAP_FRIEND_S);
}
