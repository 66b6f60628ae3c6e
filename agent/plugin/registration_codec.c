#include "agent/plugin/registration_codec.h"

#include <string.h>

#include "base/str.h"
#include "grpc/limits.h"
#include "grpc/message.h"
#include "proto/deviceplugin.pb-c.h"
#include "proto/pluginregistration.pb-c.h"

enum { ERROR_MAX = 200 };

/* protobuf-c's messages have no const, and it does not write to what it packs. */
static char *unconst(const char *text)
{
	union {
		const char *in;
		char *out;
	} u = { .in = text };

	return u.out;
}

int register_request_pack(const char *resource, const char *endpoint, struct str *out,
			  struct err *err)
{
	V1beta1__RegisterRequest request;

	v1beta1__register_request__init(&request);
	request.version = unconst(PLUGIN_API_VERSION);
	request.endpoint = unconst(endpoint);
	request.resource_name = unconst(resource);
	return grpc_message_pack(&request.base, GRPC_LIMITS.message_max, out, err);
}

int plugin_info_pack(const char *resource, const char *endpoint, struct str *out, struct err *err)
{
	char *versions[] = { unconst(PLUGIN_API_VERSION) };
	Pluginregistration__PluginInfo info;

	pluginregistration__plugin_info__init(&info);
	info.type = unconst("DevicePlugin");
	info.name = unconst(resource);
	info.endpoint = unconst(endpoint);
	info.supported_versions = versions;
	info.n_supported_versions = 1;
	return grpc_message_pack(&info.base, GRPC_LIMITS.message_max, out, err);
}

int registration_status_unpack(const char *data, size_t len, bool *ret_registered, char **ret_error,
			       struct err *err)
{
	auto_str struct str text = STR_INIT;
	ProtobufCMessage *message = NULL;
	const Pluginregistration__RegistrationStatus *status;
	int r = grpc_message_unpack(&pluginregistration__registration_status__descriptor, data, len,
				    &message, err);

	if (r < 0)
		return r;
	status = (const Pluginregistration__RegistrationStatus *)message;
	str_add_clean(&text, status->error, strlen(status->error));
	str_cut(&text, ERROR_MAX);
	*ret_registered = status->plugin_registered;
	*ret_error = str_detach(&text);
	grpc_message_free(message);
	return 0;
}
