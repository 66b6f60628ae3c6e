/*
 * map_server: serves the page and its stream of changes over HTTP, on 127.0.0.1 only.
 *
 * Owns its socket, its connections and the token. It reads only the head of a request.
 */
#pragma once

#include <stddef.h>

struct err;
struct map_server;
struct str;
struct uv_loop_s;

enum { MAP_STREAMS_MAX = 16 }; /* pages; more are refused */

/* Append the events for a page that has just connected. */
typedef void map_server_page_fn(void *arg, struct str *out);

/* Listen on @port (0: any free one). Errors name the address; -EADDRINUSE says what to do. */
int map_server_new(struct uv_loop_s *loop, unsigned port, map_server_page_fn *on_page, void *arg,
		   struct map_server **ret_server, struct err *err);
/* Takes NULL, returns NULL. The loop must run once more. */
struct map_server *map_server_free(struct map_server *server);

/* The address of the page with its token: "http://127.0.0.1:PORT/TOKEN/". */
const char *map_server_address(const struct map_server *server);

/* Send server-sent events to all connected pages. */
void map_server_send(struct map_server *server, const char *text, size_t len);
