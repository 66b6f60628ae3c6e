/*
 * message: protobuf-c messages to bytes and back, with bounds.
 *
 * Strings of an unpacked message are what the peer sent: perhaps not UTF-8.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

struct err;
struct str;

/* Memory that one unpacked message may take: a message of two bytes per item takes some 40 times its
 * size. */
enum { GRPC_UNPACKED_MAX = 64 << 20 };

/* Append @message to @out. -EMSGSIZE, and @out as it was, if it is longer than @max. */
int grpc_message_pack(const ProtobufCMessage *message, size_t max, struct str *out,
		      struct err *err);

/* The message of type @type in @data, which the caller gives to grpc_message_free(). -EBADMSG if it is
 * none, -EMSGSIZE if it would take more than GRPC_UNPACKED_MAX. */
int grpc_message_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len,
			ProtobufCMessage **ret_message, struct err *err);

/* Takes NULL, returns NULL. */
void *grpc_message_free(void *message);
