/*
 * message: packs and unpacks protobuf-c messages, with limits.
 *
 * Strings of an unpacked message are as received and may not be UTF-8.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

struct err;
struct str;

/* Memory for one unpacked message: a message with two bytes per item needs about 40 times its
 * size. */
enum { GRPC_UNPACKED_MAX = 64 << 20 };

/* Append @message to @out. -EMSGSIZE, with @out unchanged, if it is longer than @max. */
int grpc_message_pack(const ProtobufCMessage *message, size_t max, struct str *out,
		      struct err *err);

/* Unpack @data as a message of type @type, which the caller releases with grpc_message_free().
 * -EBADMSG if it is malformed, -EMSGSIZE if it needs more than GRPC_UNPACKED_MAX. */
int grpc_message_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len,
			ProtobufCMessage **ret_message, struct err *err);

/* Takes NULL, returns NULL. */
void *grpc_message_free(void *message);
