/*
 * map_callers: who is connected to the page's server, and which of them have shown the token.
 *
 * Any process of this machine can connect, and need not say anything. Strangers are few at a time and not for
 * long.
 */
#pragma once

#include <microhttpd.h>

#include "kube/callers.h"

enum {
	MAP_STRANGERS_MAX = 32, /* connections without the token          */
	MAP_STRANGER_S = 5,     /* that such a one may say nothing        */
	MAP_FRIEND_S = 30,      /* and one that has shown it              */
	MAP_CONNECTIONS_MAX = 256,
};

/* The daemon's MHD_OPTION_NOTIFY_CONNECTION; @arg: the struct callers of the strangers. */
void map_callers_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
			enum MHD_ConnectionNotificationCode what);

/* Who has sent a request with the token is none of the strangers any more. */
void map_callers_admit(struct MHD_Connection *connection);
