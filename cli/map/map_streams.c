#include "cli/map/map_streams.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/map/map_reply.h"

enum { BLOCK = 32 * 1024 };

struct map_stream {
	struct map_streams *all;
	struct map_stream *next;
	struct MHD_Connection *connection;
	struct str text;
	size_t sent; /* bytes */
	size_t max;  /* waiting to be sent */
	bool suspended;
	bool ended;
};

static void wake(struct map_stream *stream)
{
	if (!stream->suspended)
		return;
	stream->suspended = false;
	MHD_resume_connection(stream->connection);
}

/* The daemon's callback that asks for more bytes. */
static ssize_t on_read(void *arg, uint64_t at, char *buf, size_t max)
{
	struct map_stream *stream = arg;
	size_t len = stream->text.len - stream->sent;

	(void)at;
	if (stream->ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (len == 0) {
		stream->suspended = true;
		MHD_suspend_connection(stream->connection);
		return 0;
	}
	if (len > max)
		len = max;
	memcpy(buf, stream->text.buf + stream->sent, len);
	stream->sent += len;
	if (stream->sent == stream->text.len) {
		str_done(&stream->text); /* the first events are large, later ones small */
		stream->sent = 0;
	}
	return (ssize_t)len;
}

static void on_closed(void *arg)
{
	struct map_stream *stream = arg;
	struct map_stream **at = &stream->all->first;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	stream->all->len--;
	str_done(&stream->text);
	free(stream);
}

enum MHD_Result map_streams_open(struct map_streams *streams, struct MHD_Connection *connection,
				 const char *text, size_t len)
{
	struct map_stream *stream = xcalloc(1, sizeof(*stream));

	stream->all = streams;
	stream->connection = connection;
	stream->max = len + MAP_STREAM_BACKLOG_MAX;
	str_add_mem(&stream->text, text, len);
	stream->next = streams->first;
	streams->first = stream;
	streams->len++;
	return map_reply(connection, MHD_HTTP_OK, "text/event-stream",
			 MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, on_read, stream,
							   on_closed));
}

void map_streams_send(struct map_streams *streams, const char *text, size_t len)
{
	for (struct map_stream *stream = streams->first; stream; stream = stream->next) {
		if (stream->text.len - stream->sent + len > stream->max)
			stream->ended = true;
		else
			str_add_mem(&stream->text, text, len);
		wake(stream);
	}
}

void map_streams_end(struct map_streams *streams)
{
	for (struct map_stream *stream = streams->first; stream; stream = stream->next) {
		stream->ended = true;
		wake(stream);
	}
}
