/* map_reply: answers with the headers of page.h. */
#pragma once

#include <microhttpd.h>

struct map_verdict;

/* Queue @response, which is released, with the status and the content type @type. */
enum MHD_Result map_reply(struct MHD_Connection *connection, unsigned status, const char *type,
			  struct MHD_Response *response);

/* Queue a copy of the @len bytes at @data likewise. */
enum MHD_Result map_reply_copy(struct MHD_Connection *connection, unsigned status, const char *type,
			       const void *data, size_t len);

/* Queue the refusal of @verdict. */
enum MHD_Result map_reply_refuse(struct MHD_Connection *connection,
				 const struct map_verdict *verdict);
