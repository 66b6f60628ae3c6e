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

int plugin_info_pack(const struct plugin_info *info, struct str *out, struct err *err)
{
	char *versions[PLUGIN_VERSIONS_MAX] = { 0 };
	Pluginregistration__PluginInfo message;

	pluginregistration__plugin_info__init(&message);
	message.type = unconst(info->type);
	message.name = unconst(info->name);
	message.endpoint = unconst(info->endpoint);
	message.supported_versions = versions;
	while (info->versions[message.n_supported_versions]) {
		versions[message.n_supported_versions] =
			unconst(info->versions[message.n_supported_versions]);
		message.n_supported_versions++;
	}
	return grpc_message_pack(&message.base, GRPC_LIMITS.message_max, out, err);
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
