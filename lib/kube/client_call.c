#include "kube/client_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { TIMEOUT_MS = 30 * 1000, LINE_MAX_BYTES = 8 << 20 };

void call_free(struct kube_call *call)
{
	free(call->verb);
	free(call->resource);
	free(call->method);
	free(call->path);
	free(call->content_type);
	free(call->body);
	lines_done(&call->lines);
	str_done(&call->text);
	free(call);
}

void call_unlink(struct kube_call *call)
{
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
}

struct kube_call *call_new(struct kube_client *client, const struct kube_request *request,
			   struct kube_call **list, uint64_t now_ms)
{
	struct kube_call *call = xcalloc(1, sizeof(*call));

	call->client = client;
	call->verb = xstrdup(request->verb);
	call->resource = xstrdup(request->resource);
	call->method = xstrdup(request->method);
	call->path = xstrdup(request->path);
	call->content_type = xstrdup_or_null(request->content_type);
	if (request->body) {
		call->body = xmalloc(request->body_len);
		memcpy(call->body, request->body, request->body_len);
		call->body_len = request->body_len;
	}
	call->timeout_ms = request->timeout_ms ? request->timeout_ms : TIMEOUT_MS;
	call->lines.max = LINE_MAX_BYTES;
	call->start_ms = now_ms;
	call->next = *list;
	call->link = list;
	if (call->next)
		call->next->link = &call->next;
	*list = call;
	return call;
}
