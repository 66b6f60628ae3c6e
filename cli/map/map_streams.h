/*
 * map_streams: the connected pages: for each an endless answer of server-sent events.
 *
 * A stream without events to send is suspended in the HTTP daemon. A stream that is read too slowly
 * is ended; its page connects again and gets everything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <microhttpd.h>

enum {
	MAP_STREAMS_MAX = 16,
	MAP_STREAM_BACKLOG_MAX = 8 * 1024 * 1024, /* beyond the first events */
};

struct map_stream;

struct map_streams {
	struct map_stream *first;
	size_t len;
};

/* Answer with a new stream that starts with the @len bytes at @text, which are copied. The
 * caller has checked that there are fewer than MAP_STREAMS_MAX. */
enum MHD_Result map_streams_open(struct map_streams *streams, struct MHD_Connection *connection,
				 const char *text, size_t len);

/* Send to all streams. Do not call it from the daemon's callbacks. */
void map_streams_send(struct map_streams *streams, const char *text, size_t len);

/* End all streams. Then the daemon may be stopped, which releases them. */
void map_streams_end(struct map_streams *streams);
