#include "kube/callers.h"

#include <sys/socket.h>

#include <microhttpd.h>

void callers_remove(struct caller *caller)
{
	struct callers *row = caller->row;

	if (!row)
		return;
	if (caller->older)
		caller->older->newer = caller->newer;
	else
		row->oldest = caller->newer;
	if (caller->newer)
		caller->newer->older = caller->older;
	else
		row->newest = caller->older;
	*caller = (struct caller){ 0 };
	row->len--;
}

/* libmicrohttpd has no call that closes a connection. shutdown() makes it see end of file at
 * once. */
void callers_close(struct caller *caller)
{
	(void)shutdown(caller->fd, SHUT_RDWR);
	callers_remove(caller);
}

void callers_append(struct callers *callers, struct caller *caller,
		    struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	callers_remove(caller);
	*caller = (struct caller){
		.row = callers,
		.older = callers->newest,
		.fd = info->connect_fd,
	};
	if (callers->newest)
		callers->newest->newer = caller;
	else
		callers->oldest = caller;
	callers->newest = caller;
	if (++callers->len > callers->max)
		callers_close(callers->oldest);
}
