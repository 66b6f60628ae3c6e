#include "cli/map/map_callers.h"

#include <stdlib.h>

#include "base/mem.h"

void map_callers_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
			enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*socket_context = xcalloc(1, sizeof(struct caller));
		callers_put(arg, *socket_context, connection);
		return;
	}
	callers_take_out(*socket_context);
	free(*socket_context);
	*socket_context = NULL;
}

void map_callers_admit(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	callers_take_out(info->socket_context);
	(void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
					(unsigned)MAP_FRIEND_S);
}
