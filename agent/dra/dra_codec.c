#include "agent/dra/dra_codec.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/message.h"
#include "proto/dra.pb-c.h"

enum { SHOWN_MAX = 80 };

static void message_done(void *p)
{
	grpc_message_free(*(void **)p);
}

/* A message that owns everything it points to, whether it was unpacked or will be packed. */
#define auto_message __attribute__((cleanup(message_done)))

static void *pointers_new(size_t n)
{
	return xcalloc(n > 0 ? n : 1, sizeof(void *));
}

/* --- claims ----------------------------------------------------------------------------------- */

void dra_claims_done(struct dra_claims *claims)
{
	for (size_t i = 0; i < claims->len; i++) {
		free(claims->items[i].ns);
		free(claims->items[i].name);
		free(claims->items[i].uid);
	}
	array_done(claims);
}

static bool is_uid(const char *text)
{
	size_t len = strnlen(text, DRA_UID_MAX + 1);

	if (len == 0 || len > DRA_UID_MAX || text[0] == '-' || text[len - 1] == '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) && text[i] != '-')
			return false;
	}
	return true;
}

static int refuse_text(struct err *err, const char *what, const char *text)
{
	auto_str struct str shown = STR_INIT;

	str_add_clean(&shown, text, strnlen(text, SHOWN_MAX));
	return err_set(err, ERR_INVALID, -EINVAL, "no ResourceClaim has the %s '%s'", what,
		       str_cstr(&shown));
}

static int claim_check(const Dra__Claim *claim, const struct dra_claims *before, struct err *err)
{
	if (!is_uid(claim->uid))
		return refuse_text(err, "UID", claim->uid);
	if (!names_valid_object(claim->namespace_) || strlen(claim->namespace_) > NAMES_LABEL_MAX)
		return refuse_text(err, "namespace", claim->namespace_);
	if (!names_valid_object(claim->name))
		return refuse_text(err, "name", claim->name);
	for (size_t i = 0; i < before->len; i++) {
		if (strcmp(before->items[i].uid, claim->uid) == 0)
			return err_set(err, ERR_INVALID, -EINVAL,
				       "ResourceClaim '%s' is in the request twice", claim->uid);
	}
	return 0;
}

int dra_codec_read_claims(const char *data, size_t len, struct dra_claims *ret_claims,
			  struct err *err)
{
	auto_message Dra__NodePrepareResourcesRequest *message = NULL;
	struct dra_claims claims = { 0 };
	int r = grpc_message_unpack(&dra__node_prepare_resources_request__descriptor, data, len,
				    (void *)&message, err);

	if (r < 0)
		return r;
	if (message->n_claims > DRA_CLAIMS_MAX)
		return err_set(err, ERR_INVALID, -EMSGSIZE,
			       "%zu ResourceClaims in one request; at most %d are allowed",
			       message->n_claims, DRA_CLAIMS_MAX);
	for (size_t i = 0; i < message->n_claims; i++) {
		const Dra__Claim *claim = message->claims[i];

		r = claim_check(claim, &claims, err);
		if (r < 0) {
			dra_claims_done(&claims);
			return r;
		}
		*array_add(&claims) = (struct dra_claim){ .ns = xstrdup(claim->namespace_),
							  .name = xstrdup(claim->name),
							  .uid = xstrdup(claim->uid) };
	}
	*ret_claims = claims;
	return 0;
}

/* --- results ---------------------------------------------------------------------------------- */

static void result_done(struct dra_result *result)
{
	for (size_t i = 0; i < result->devices.len; i++) {
		struct dra_result_device *device = &result->devices.items[i];

		free(device->request);
		free(device->pool);
		free(device->device);
		json_strs_done(&device->cdi_ids);
	}
	array_done(&result->devices);
	free(result->uid);
	free(result->error);
}

void dra_results_done(struct dra_results *results)
{
	for (size_t i = 0; i < results->len; i++)
		result_done(&results->items[i]);
	array_done(results);
}

/* In proto3, a missing string is "". */
static char *error_write(const char *error)
{
	return error ? str_clean(error, DRA_HEALTH_TEXT_MAX) : xstrdup("");
}

static Dra__Device *device_write(const struct dra_result_device *device)
{
	Dra__Device *message = xmalloc(sizeof(*message));

	dra__device__init(message);
	message->request_names = pointers_new(1);
	message->request_names[message->n_request_names++] = xstrdup(device->request);
	message->pool_name = xstrdup(device->pool);
	message->device_name = xstrdup(device->device);
	message->cdi_device_ids = pointers_new(device->cdi_ids.len);
	for (size_t i = 0; i < device->cdi_ids.len; i++)
		message->cdi_device_ids[message->n_cdi_device_ids++] =
			xstrdup(device->cdi_ids.items[i]);
	return message;
}

static Dra__NodePrepareResourcesResponse__ClaimsEntry *
prepared_write(const struct dra_result *result)
{
	Dra__NodePrepareResourcesResponse__ClaimsEntry *entry = xmalloc(sizeof(*entry));
	Dra__NodePrepareResourceResponse *message = xmalloc(sizeof(*message));

	dra__node_prepare_resources_response__claims_entry__init(entry);
	dra__node_prepare_resource_response__init(message);
	entry->key = xstrdup(result->uid);
	entry->value = message;
	message->error = error_write(result->error);
	message->devices = pointers_new(result->devices.len);
	for (size_t i = 0; i < result->devices.len; i++)
		message->devices[message->n_devices++] = device_write(&result->devices.items[i]);
	return entry;
}

int dra_codec_write_prepared(const struct dra_results *results, struct str *out, struct err *err)
{
	auto_message Dra__NodePrepareResourcesResponse *message = xmalloc(sizeof(*message));

	dra__node_prepare_resources_response__init(message);
	message->claims = pointers_new(results->len);
	for (size_t i = 0; i < results->len; i++)
		message->claims[message->n_claims++] = prepared_write(&results->items[i]);
	return grpc_message_pack(&message->base, DRA_MESSAGE_MAX, out, err);
}

static Dra__NodeUnprepareResourcesResponse__ClaimsEntry *
unprepared_write(const struct dra_result *result)
{
	Dra__NodeUnprepareResourcesResponse__ClaimsEntry *entry = xmalloc(sizeof(*entry));
	Dra__NodeUnprepareResourceResponse *message = xmalloc(sizeof(*message));

	dra__node_unprepare_resources_response__claims_entry__init(entry);
	dra__node_unprepare_resource_response__init(message);
	entry->key = xstrdup(result->uid);
	entry->value = message;
	message->error = error_write(result->error);
	return entry;
}

int dra_codec_write_unprepared(const struct dra_results *results, struct str *out, struct err *err)
{
	auto_message Dra__NodeUnprepareResourcesResponse *message = xmalloc(sizeof(*message));

	dra__node_unprepare_resources_response__init(message);
	message->claims = pointers_new(results->len);
	for (size_t i = 0; i < results->len; i++)
		message->claims[message->n_claims++] = unprepared_write(&results->items[i]);
	return grpc_message_pack(&message->base, DRA_MESSAGE_MAX, out, err);
}

/* --- health ----------------------------------------------------------------------------------- */

static Dra__DeviceHealth *health_write(const struct dra_health *device, int64_t now_s,
				       int64_t valid_s)
{
	Dra__DeviceHealth *message = xmalloc(sizeof(*message));
	Dra__DeviceIdentifier *identifier = xmalloc(sizeof(*identifier));

	dra__device_health__init(message);
	dra__device_identifier__init(identifier);
	identifier->pool_name = xstrdup(device->pool);
	identifier->device_name = xstrdup(device->device);
	message->device = identifier;
	message->health =
		device->trouble ? DRA__HEALTH_STATUS__UNHEALTHY : DRA__HEALTH_STATUS__HEALTHY;
	message->last_updated_time = now_s;
	message->health_check_timeout_seconds = valid_s;
	message->message = error_write(device->trouble);
	return message;
}

int dra_codec_write_health(const struct dra_health *devices, size_t len, int64_t now_s,
			   int64_t valid_s, struct str *out, struct err *err)
{
	auto_message Dra__NodeWatchResourcesResponse *message = xmalloc(sizeof(*message));

	dra__node_watch_resources_response__init(message);
	message->devices = pointers_new(len);
	for (size_t i = 0; i < len; i++)
		message->devices[message->n_devices++] = health_write(&devices[i], now_s, valid_s);
	return grpc_message_pack(&message->base, DRA_MESSAGE_MAX, out, err);
}
