#include "grpc/message.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "proto/deviceplugin.pb-c.h"
#include "proto/podresources.pb-c.h"
#include "unit/suite.h"

#define BYTES(text) text, sizeof(text) - 1

/* Field by field, as the numbers in proto/ say. */
static void device_is_as_on_the_wire(void **state)
{
	static const char bytes[] = "\n\x1d\n\x0c"
				    "0000:01:00.0\x12\x07Healthy\x1a\x04\n\x02\x08\x01";
	V1beta1__ListAndWatchResponse *list = NULL;
	auto_str struct str out = STR_INIT;

	assert_int_equal(grpc_message_unpack(&v1beta1__list_and_watch_response__descriptor,
					     BYTES(bytes), (ProtobufCMessage **)&list, NULL),
			 0);
	assert_int_equal(list->n_devices, 1);
	assert_string_equal(list->devices[0]->id, "0000:01:00.0");
	assert_string_equal(list->devices[0]->health, "Healthy");
	assert_int_equal(list->devices[0]->topology->nodes[0]->id, 1);
	assert_int_equal(grpc_message_pack(&list->base, 100, &out, NULL), 0);
	assert_int_equal(out.len, sizeof(bytes) - 1);
	assert_memory_equal(out.buf, bytes, out.len);
	list = grpc_message_free(list);
	assert_null(list);
}

static void maps_are_entries(void **state)
{
	static const char bytes[] = "\n\x0e\n\x06\n\x01K\x12\x01V\x1a\x04\n\x02/c";
	V1beta1__AllocateResponse *response = NULL;
	const V1beta1__ContainerAllocateResponse *one;

	assert_int_equal(grpc_message_unpack(&v1beta1__allocate_response__descriptor, BYTES(bytes),
					     (ProtobufCMessage **)&response, NULL),
			 0);
	one = response->container_responses[0];
	assert_string_equal(one->envs[0]->key, "K");
	assert_string_equal(one->envs[0]->value, "V");
	assert_string_equal(one->devices[0]->container_path, "/c");
	grpc_message_free(response);
}

/* Newer kubelets say more than we know. */
static void unknown_fields_are_skipped(void **state)
{
	V1__GetPodResourcesRequest *request = NULL;

	assert_int_equal(grpc_message_unpack(&v1__get_pod_resources_request__descriptor,
					     BYTES("\n\001p\232\001\003xyz\022\002ns"),
					     (ProtobufCMessage **)&request, NULL),
			 0);
	assert_string_equal(request->pod_name, "p");
	assert_string_equal(request->pod_namespace, "ns");
	grpc_message_free(request);
}

static struct bad_case {
	const char *name;
	const char *bytes;
	size_t len;
} bad[] = {
	{ "a field that is cut off", BYTES("\n\005ab") },
	{ "a message inside that is cut off", BYTES("\n\x02\n\x05") },
	{ "a number without an end", BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff") },
	{ "a field of number 0", BYTES("\x02\x01x") },
	{ "an unknown kind of field", BYTES("\x0f") },
	{ "a length beyond all memory", BYTES("\n\xff\xff\xff\xff\x0f") },
};

static void bad_is_refused(void **state)
{
	const struct bad_case *c = *state;
	ProtobufCMessage *message = NULL;
	struct err err = { 0 };

	assert_int_equal(grpc_message_unpack(&v1beta1__list_and_watch_response__descriptor,
					     c->bytes, c->len, &message, &err),
			 -EBADMSG);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_null(message);
}

/* 4 MiB of empty devices would become some hundred MiB. */
static void memory_is_bounded(void **state)
{
	enum { LEN = 4 << 20 };
	auto_free char *bytes = xmalloc(LEN);
	ProtobufCMessage *message = NULL;
	struct err err = { 0 };

	for (size_t i = 0; i < LEN; i++)
		bytes[i] = i % 2 ? '\0' : '\n';
	assert_int_equal(grpc_message_unpack(&v1beta1__list_and_watch_response__descriptor, bytes,
					     LEN, &message, &err),
			 -EMSGSIZE);
	assert_null(message);
}

static void too_long_is_not_packed(void **state)
{
	V1beta1__RegisterRequest request;
	char name[] = "0123456789";
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	v1beta1__register_request__init(&request);
	request.resource_name = name;
	str_add(&out, "before");
	assert_int_equal(grpc_message_pack(&request.base, 11, &out, &err), -EMSGSIZE);
	assert_string_equal(str_cstr(&out), "before");
	assert_string_equal(err.msg, "v1beta1.RegisterRequest of 12 bytes; at most 11 can be sent");
	assert_int_equal(grpc_message_pack(&request.base, 12, &out, &err), 0);
	assert_string_equal(str_cstr(&out), "before\x1a\n0123456789");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "a device is as on the wire", device_is_as_on_the_wire, NULL);
	suite_add(&suite, "maps are entries", maps_are_entries, NULL);
	suite_add(&suite, "unknown fields are skipped", unknown_fields_are_skipped, NULL);
	suite_rows(&suite, bad, bad_is_refused);
	suite_add(&suite, "memory is bounded", memory_is_bounded, NULL);
	suite_add(&suite, "what is too long is not packed", too_long_is_not_packed, NULL);
	return suite_run(&suite, "grpc message");
}
