#include "cli/map/map_reply.h"

#include "base/str.h"
#include "cli/map/map_guard.h"
#include "kube/serve.h"
#include "page/page.h"

enum MHD_Result map_reply(struct MHD_Connection *connection, unsigned status, const char *type,
			  struct MHD_Response *response)
{
	enum MHD_Result result;

	for (const struct serve_header *h = page_files.headers; h->name; h++)
		MHD_add_response_header(response, h->name, h->value);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result map_reply_copy(struct MHD_Connection *connection, unsigned status, const char *type,
			       const void *data, size_t len)
{
	struct str body = STR_INIT;

	str_add_mem(&body, data, len);
	return map_reply(
		connection, status, type,
		MHD_create_response_from_buffer(len, str_detach(&body), MHD_RESPMEM_MUST_FREE));
}

enum MHD_Result map_reply_refuse(struct MHD_Connection *connection,
				 const struct map_verdict *verdict)
{
	auto_str struct str line = STR_INIT;

	str_addf(&line, "%s\n", verdict->why);
	return map_reply_copy(connection, verdict->status, "text/plain; charset=utf-8",
			      str_cstr(&line), line.len);
}
