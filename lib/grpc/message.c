#include "grpc/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

int grpc_message_pack(const ProtobufCMessage *message, size_t max, struct str *out, struct err *err)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	auto_free uint8_t *data = NULL;

	if (len > max)
		return err_set(err, ERR_INVALID, -EMSGSIZE,
			       "%s of %zu bytes; at most %zu can be sent",
			       message->descriptor->name, len, max);
	data = xmalloc(len + 1);
	str_add_mem(out, data, protobuf_c_message_pack(message, data));
	return 0;
}

struct budget {
	size_t left;
	bool spent;
};

static void *budget_alloc(void *arg, size_t size)
{
	struct budget *b = arg;

	if (size > b->left) {
		b->spent = true;
		return NULL;
	}
	b->left -= size;
	return xmalloc(size ? size : 1);
}

static void budget_free(void *arg, void *data)
{
	(void)arg;
	free(data);
}

int grpc_message_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len,
			ProtobufCMessage **ret_message, struct err *err)
{
	struct budget budget = { .left = GRPC_UNPACKED_MAX };
	ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };
	ProtobufCMessage *message = protobuf_c_message_unpack(type, &allocator, len, data);

	if (budget.spent && !message)
		return err_set(err, ERR_INVALID, -EMSGSIZE, "%s of %zu bytes takes too much memory",
			       type->name, len);
	if (!message)
		return err_set(err, ERR_INVALID, -EBADMSG, "no %s in these %zu bytes", type->name,
			       len);
	*ret_message = message;
	return 0;
}

/* budget_alloc() allocates with malloc(), so no allocator is needed to free it. */
void *grpc_message_free(void *message)
{
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
	return NULL;
}
