#include "cli/map/map_reply.h"

#include "base/str.h"
#include "cli/map/map_guard.h"

enum MHD_Result map_reply(struct MHD_Connection *connection, unsigned status, const char *type,
			  struct MHD_Response *response)
{
	enum MHD_Result result;

	for (const struct map_header *h = map_guard_headers; h->name; h++)
		MHD_add_response_header(response, h->name, h->value);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result map_reply_refuse(struct MHD_Connection *connection,
				 const struct map_verdict *verdict)
{
	struct str body = STR_INIT;
	size_t len;

	str_addf(&body, "%s\n", verdict->why);
	len = body.len; /* str_detach() empties it */
	return map_reply(
		connection, verdict->status, "text/plain; charset=utf-8",
		MHD_create_response_from_buffer(len, str_detach(&body), MHD_RESPMEM_MUST_FREE));
}
