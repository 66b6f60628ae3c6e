#include "fake/kubelet/dra_client.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/message.h"
#include "proto/dra.pb-c.h"

static void message_done(void *p)
{
	grpc_message_free(*(void **)p);
}

/* A message that owns everything it points to. */
#define auto_message __attribute__((cleanup(message_done)))

int dra_codec_write_claims(const struct dra_claims *claims, struct str *out, struct err *err)
{
	auto_message Dra__NodePrepareResourcesRequest *message = xmalloc(sizeof(*message));

	dra__node_prepare_resources_request__init(message);
	message->claims = xcalloc(claims->len + 1, sizeof(void *));
	for (size_t i = 0; i < claims->len; i++) {
		Dra__Claim *claim = xmalloc(sizeof(*claim));

		dra__claim__init(claim);
		claim->namespace_ = xstrdup(claims->items[i].ns);
		claim->name = xstrdup(claims->items[i].name);
		claim->uid = xstrdup(claims->items[i].uid);
		message->claims[message->n_claims++] = claim;
	}
	return grpc_message_pack(&message->base, DRA_MESSAGE_MAX, out, err);
}

static struct dra_result *result_add(struct dra_results *results, const char *uid,
				     const char *error)
{
	struct dra_result *result = array_add(results);

	result->uid = xstrdup(uid);
	result->error = error[0] ? xstrdup(error) : NULL;
	return result;
}

static void device_read(const Dra__Device *message, struct dra_result *result)
{
	struct dra_result_device *device = array_add(&result->devices);

	device->request = xstrdup(message->n_request_names ? message->request_names[0] : "");
	device->pool = xstrdup(message->pool_name);
	device->device = xstrdup(message->device_name);
	for (size_t i = 0; i < message->n_cdi_device_ids; i++)
		json_strs_add(&device->cdi_ids, message->cdi_device_ids[i]);
}

int dra_codec_read_prepared(const char *data, size_t len, struct dra_results *ret_results,
			    struct err *err)
{
	auto_message Dra__NodePrepareResourcesResponse *message = NULL;
	struct dra_results results = { 0 };
	int r = grpc_message_unpack(&dra__node_prepare_resources_response__descriptor, data, len,
				    (void *)&message, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < message->n_claims; i++) {
		const Dra__NodePrepareResourceResponse *value = message->claims[i]->value;
		struct dra_result *result =
			result_add(&results, message->claims[i]->key, value ? value->error : "");

		for (size_t k = 0; value && k < value->n_devices; k++)
			device_read(value->devices[k], result);
	}
	*ret_results = results;
	return 0;
}

int dra_codec_read_unprepared(const char *data, size_t len, struct dra_results *ret_results,
			      struct err *err)
{
	auto_message Dra__NodeUnprepareResourcesResponse *message = NULL;
	struct dra_results results = { 0 };
	int r = grpc_message_unpack(&dra__node_unprepare_resources_response__descriptor, data, len,
				    (void *)&message, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < message->n_claims; i++) {
		const Dra__NodeUnprepareResourceResponse *value = message->claims[i]->value;

		(void)result_add(&results, message->claims[i]->key, value ? value->error : "");
	}
	*ret_results = results;
	return 0;
}

int dra_codec_read_health(const char *data, size_t len, struct str *out, struct err *err)
{
	auto_message Dra__NodeWatchResourcesResponse *message = NULL;
	int r = grpc_message_unpack(&dra__node_watch_resources_response__descriptor, data, len,
				    (void *)&message, err);

	for (size_t i = 0; r == 0 && i < message->n_devices; i++) {
		const Dra__DeviceHealth *device = message->devices[i];
		const Dra__DeviceIdentifier *identifier = device->device;

		str_addf(out, "%s/%s", identifier ? identifier->pool_name : "",
			 identifier ? identifier->device_name : "");
		if (device->health != DRA__HEALTH_STATUS__HEALTHY)
			str_addf(out, " %s", device->message);
		str_add_char(out, '\n');
	}
	return r < 0 ? r : 0;
}
