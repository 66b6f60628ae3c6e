/* registration_codec: the messages with which a kubelet comes to know a plugin. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct str;

#define REGISTER_PATH      "/v1beta1.Registration/Register"
#define GET_INFO_PATH      "/pluginregistration.Registration/GetInfo"
#define NOTIFY_STATUS_PATH "/pluginregistration.Registration/NotifyRegistrationStatus"
#define PLUGIN_API_VERSION "v1beta1"

/* Append what Register takes: @endpoint is the name of a socket in the kubelet's folder. */
int register_request_pack(const char *resource, const char *endpoint, struct str *out,
			  struct err *err);

enum { PLUGIN_VERSIONS_MAX = 4 };

/* What a plugin is, as GetInfo answers it. */
struct plugin_info {
	const char *type;     /* "DevicePlugin", "DRAPlugin"                           */
	const char *name;     /* of a device plugin its resource; else that of a driver */
	const char *endpoint; /* the whole path of the service's socket                 */
	const char *versions[PLUGIN_VERSIONS_MAX + 1]; /* best first, ended by NULL; static */
};

/* Append it. */
int plugin_info_pack(const struct plugin_info *info, struct str *out, struct err *err);

/* Read NotifyRegistrationStatus; *@ret_error, clean text and never NULL, is freed by the caller.
 * - BADMSG if it has no status. */
int registration_status_unpack(const char *data, size_t len, bool *ret_registered, char **ret_error,
			       struct err *err);
