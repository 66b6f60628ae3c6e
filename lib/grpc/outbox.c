#include "grpc/outbox.h"

#include <string.h>

#include "base/mem.h"
#include "grpc/frame.h"

struct grpc_outbox_message {
	struct grpc_outbox_message *next;
	size_t len; /* including the prefix */
	unsigned char data[];
};

/* Append a message of @len bytes, which the caller fills in. */
static unsigned char *append(struct grpc_outbox *box, size_t len)
{
	struct grpc_outbox_message *message = xmalloc(sizeof(*message) + len);

	message->next = NULL;
	message->len = len;
	if (box->last)
		box->last->next = message;
	else
		box->first = message;
	box->last = message;
	box->bytes += len;
	return message->data;
}

bool grpc_outbox_add(struct grpc_outbox *box, size_t max, const char *data, size_t len)
{
	size_t total = GRPC_PREFIX_SIZE + len;
	unsigned char *to;

	if (box->bytes > 0 && box->bytes + total > max)
		return false;
	to = append(box, total);
	grpc_frame_prefix(len, to);
	if (len > 0)
		memcpy(to + GRPC_PREFIX_SIZE, data, len);
	return true;
}

void grpc_outbox_add_plain(struct grpc_outbox *box, const char *data, size_t len)
{
	memcpy(append(box, len), data, len);
}

static void drop_first(struct grpc_outbox *box)
{
	struct grpc_outbox_message *message = box->first;

	box->bytes -= message->len - box->sent;
	box->sent = 0;
	box->first = message->next;
	if (!box->first)
		box->last = NULL;
	free(message);
}

void grpc_outbox_drop_waiting(struct grpc_outbox *box)
{
	struct grpc_outbox_message *begun = box->sent > 0 ? box->first : NULL;
	size_t sent = box->sent;

	if (begun) {
		box->bytes -= begun->len - sent;
		box->first = begun->next;
		box->sent = 0;
	}
	while (box->first)
		drop_first(box);
	if (!begun)
		return;
	begun->next = NULL;
	*box = (struct grpc_outbox){ begun, begun, sent, begun->len - sent };
}

size_t grpc_outbox_read(struct grpc_outbox *box, unsigned char *buf, size_t len)
{
	size_t done = 0;

	while (done < len && box->first) {
		size_t n = box->first->len - box->sent;

		if (n > len - done)
			n = len - done;
		memcpy(buf + done, box->first->data + box->sent, n);
		done += n;
		box->sent += n;
		box->bytes -= n;
		if (box->sent == box->first->len)
			drop_first(box);
	}
	return done;
}

void grpc_outbox_done(struct grpc_outbox *box)
{
	while (box->first)
		drop_first(box);
}
