/*
 * Any bytes as each message that a kubelet may send; the first byte says which.
 *
 * What was understood can be packed. It is not always understood again: protobuf-c keeps fields
 * that it does not know and writes some of them otherwise.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/message.h"
#include "proto/deviceplugin.pb-c.h"
#include "proto/pluginregistration.pb-c.h"
#include "proto/podresources.pb-c.h"

enum { PACKED_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ProtobufCMessageDescriptor *const types[] = {
	&v1beta1__register_request__descriptor,
	&v1beta1__list_and_watch_response__descriptor,
	&v1beta1__preferred_allocation_request__descriptor,
	&v1beta1__allocate_request__descriptor,
	&v1beta1__allocate_response__descriptor,
	&v1beta1__pre_start_container_request__descriptor,
	&pluginregistration__plugin_info__descriptor,
	&pluginregistration__registration_status__descriptor,
	&v1__list_pod_resources_response__descriptor,
	&v1__allocatable_resources_response__descriptor,
	&v1__get_pod_resources_response__descriptor,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const ProtobufCMessageDescriptor *type = types[size > 0 ? data[0] % ARRAY_LEN(types) : 0];
	ProtobufCMessage *message = NULL;
	auto_str struct str packed = STR_INIT;
	struct err err = { 0 };

	if (size == 0)
		return 0;
	if (grpc_message_unpack(type, data + 1, size - 1, &message, &err) < 0) {
		assert(err.kind == ERR_INVALID && !message);
		return 0;
	}
	assert(grpc_message_pack(message, PACKED_MAX, &packed, &err) == 0);
	assert(packed.len == protobuf_c_message_get_packed_size(message));
	grpc_message_free(message);
	return 0;
}
