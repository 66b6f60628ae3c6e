#include "grpc/uv_client.h"

#include <errno.h>

#include "base/err.h"
#include "base/mem.h"
#include "grpc/session.h"
#include "grpc/uv_wire.h"

struct connection {
	struct grpc_wire wire;
	struct grpc_client *engine;
	struct grpc_uv_client *client; /* NULL: the client was freed */
	struct connection *next;
	struct connection **link; /* the pointer that points to this connection */
};

struct grpc_uv_client {
	uv_loop_t *loop;
	char *path;
	struct grpc_limits limits;
	struct connection *connections; /* only the first takes new calls */
};

static void connection_forget(struct connection *c)
{
	if (!c->client)
		return;
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->client = NULL;
}

/* The callback may start a call, which makes a new connection, or free the client. */
static void on_end(void *arg, const char *why)
{
	struct connection *c = arg;
	auto_free char *message = xasprintf("'%s': %s", c->client->path, why);

	grpc_session_lost(grpc_client_session(c->engine), message);
	connection_forget(c);
}

static void on_closed(void *arg)
{
	struct connection *c = arg;

	grpc_client_free(c->engine);
	free(c);
}

static const struct grpc_wire_ops wire_ops = { .on_end = on_end, .on_closed = on_closed };

static struct connection *connection_new(struct grpc_uv_client *client)
{
	struct connection *c = xcalloc(1, sizeof(*c));

	c->engine = grpc_client_new(&client->limits, uv_now(client->loop));
	grpc_wire_init(&c->wire, client->loop, grpc_client_session(c->engine), &wire_ops, c);
	c->client = client;
	c->link = &client->connections;
	c->next = client->connections;
	if (c->next)
		c->next->link = &c->next;
	client->connections = c;
	grpc_wire_connect(&c->wire, client->path);
	return c;
}

struct grpc_uv_client *grpc_uv_client_new(uv_loop_t *loop, const char *path,
					  const struct grpc_limits *limits)
{
	struct grpc_uv_client *client = xcalloc(1, sizeof(*client));

	client->loop = loop;
	client->path = xstrdup(path);
	client->limits = limits ? *limits : GRPC_LIMITS;
	return client;
}

struct grpc_uv_client *grpc_uv_client_free(struct grpc_uv_client *client)
{
	if (!client)
		return NULL;
	while (client->connections) {
		struct connection *c = client->connections;

		connection_forget(c);
		grpc_client_close(c->engine);
		grpc_wire_close(&c->wire);
	}
	free(client->path);
	free(client);
	return NULL;
}

int grpc_uv_client_call(struct grpc_uv_client *client, const struct grpc_request *request,
			struct grpc_rpc **ret_rpc, struct err *err)
{
	struct connection *c = client->connections;
	struct grpc_rpc *rpc;
	int r = grpc_wire_check_path(client->path, err);

	if (r < 0)
		return r;
	if (request->len > client->limits.message_max)
		return err_set(err, ERR_INVALID, -EMSGSIZE,
			       "request of %zu bytes; at most %zu can be sent", request->len,
			       client->limits.message_max);
	uv_update_time(client->loop);
	if (!c || !grpc_client_takes_calls(c->engine))
		c = connection_new(client);
	rpc = grpc_client_call(c->engine, request, uv_now(client->loop));
	if (ret_rpc)
		*ret_rpc = rpc;
	return 0;
}
