/*
 * map_streams: the pages that listen: one endless answer of server-sent events each.
 *
 * A stream is suspended in the HTTP daemon while there is nothing to send. One that takes too little of
 * what it is sent is ended, and its page comes again for all of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <microhttpd.h>

enum {
	MAP_STREAMS_MAX = 16,
	MAP_STREAM_BACKLOG_MAX = 8 * 1024 * 1024, /* beyond what it began with */
};

struct map_stream;

struct map_streams {
	struct map_stream *first;
	size_t len;
};

/* Answer with a new stream that begins with the @len bytes at @text, which are copied. The caller has
 * seen that there are less than MAP_STREAMS_MAX. */
enum MHD_Result map_streams_open(struct map_streams *streams, struct MHD_Connection *connection,
				 const char *text, size_t len);

/* Send to all. Not from within the daemon's callbacks. */
void map_streams_send(struct map_streams *streams, const char *text, size_t len);

/* End all: the daemon may be stopped then, and releases them. */
void map_streams_end(struct map_streams *streams);
