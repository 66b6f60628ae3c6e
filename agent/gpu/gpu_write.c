#include "agent/gpu/gpu_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu_keys.h"
#include "agent/gpu/gpus.h"
#include "api/json_map.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/apply.h"
#include "kube/clock.h"
#include "kube/echoes.h"
#include "kube/informer.h"
#include "kube/store.h"

static const char field_manager[] = "hostdev-agent";

struct gpu_write {
	const struct gpu_world *world;
	struct echoes *echoes;
	char *key; /* the echoes' */
	bool deletes;
	char *version; /* that was built on; NULL: none */
	struct kube_call *call;
	gpu_write_end_fn *end;
	void *arg;
};

char *gpu_write_claim_key(const char *name)
{
	return xasprintf("claim/%s", name);
}

static uint64_t now_ms(const struct gpu_write *write)
{
	return clock_now_ms(write->world->deps->clock);
}

static void release(struct gpu_write *write)
{
	free(write->key);
	free(write->version);
	free(write);
}

struct gpu_write *gpu_write_free(struct gpu_write *write)
{
	if (!write)
		return NULL;
	if (write->call)
		kube_call_cancel(write->call);
	release(write);
	return NULL;
}

static char *version_in(const struct kube_response *response)
{
	auto_json json_t *json = NULL;
	const char *version;

	if (json_map_load(response->body, response->body_len, &json, NULL) < 0)
		return NULL;
	version = json_string_value(
		json_object_get(json_object_get(json, "metadata"), "resourceVersion"));
	return xstrdup_or_null(version);
}

static int take_answer(struct gpu_write *write, const struct kube_response *response,
		       struct err *err)
{
	auto_free char *version = write->deletes ? NULL : version_in(response);

	if (!write->deletes && !version)
		return err_set(err, ERR_RETRY, -EBADMSG, "the answer to a write is not an object");
	echoes_expect(write->echoes, write->key, version, now_ms(write));
	return 0;
}

/* The object is not what we took it for: it is looked at again when the store has caught up. */
static void take_failure(struct gpu_write *write, struct err *err)
{
	if (err->code == -ENOENT)
		err->kind = ERR_CONFLICT; /* deleted meanwhile */
	if (err->code == -EMSGSIZE)
		err->kind = ERR_RETRY;
	if (err->kind == ERR_CONFLICT && write->version)
		echoes_distrust(write->echoes, write->key, write->version, now_ms(write));
}

static void on_done(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct gpu_write *write = arg;
	struct err cause = *err;

	write->call = NULL;
	if (result == -ENOENT && write->deletes)
		result = 0;
	if (result == 0)
		result = take_answer(write, response, &cause);
	if (result < 0)
		take_failure(write, &cause);
	write->end(write->arg, write, result, &cause);
	release(write);
}

static void send(struct gpu_write *write, const struct apply_request *request, bool create)
{
	struct kube_client *client = write->world->deps->client;

	write->call = create ? apply_create(client, request, on_done, write)
			     : apply_merge(client, request, on_done, write);
}

static void send_object(struct gpu_write *write, const struct apply_request *about,
			const struct gpu_decision *decision)
{
	struct apply_request request = *about;

	request.object = decision->body;
	if (decision->step == GPU_TELL)
		request.subresource = "status";
	send(write, &request, decision->step == GPU_CREATE);
}

static void send_deletion(struct gpu_write *write, const struct apply_request *about,
			  const struct entry *entry)
{
	write->deletes = true;
	write->call = apply_delete(write->world->deps->client,
				   &(struct delete_request){
					   .kind = about->kind,
					   .name = about->name,
					   .uid = entry ? entry->uid : NULL,
					   .version = entry ? entry->version : NULL,
				   },
				   on_done, write);
}

struct gpu_write *gpu_write_start(const struct gpu_world *world, struct echoes *echoes,
				  const char *key, const struct gpu_decision *decision,
				  gpu_write_end_fn *end, void *arg)
{
	enum gpu_kind kind = gpu_key_kind(key);
	const char *name = key + GPU_KEY_NAME;
	bool claim = decision->step == GPU_CLAIM || decision->step == GPU_UNCLAIM;
	const struct informer *informer = claim ? world->deps->claims : world->objects[kind];
	const struct entry *entry = store_get(informer_store(informer), name);
	struct apply_request about = {
		.kind = claim ? &pcideviceclaim_kind : gpu_kind_api(kind),
		.name = name,
		.field_manager = field_manager,
	};
	struct gpu_write *write = xcalloc(1, sizeof(*write));

	*write = (struct gpu_write){ .world = world, .echoes = echoes, .end = end, .arg = arg };
	write->key = claim ? gpu_write_claim_key(name) : xstrdup(key);
	write->version = entry ? xstrdup_or_null(entry->version) : NULL;
	log_debug("writing", log_str("object", write->key), log_int("step", decision->step));
	if (decision->step == GPU_DELETE || decision->step == GPU_UNCLAIM) {
		send_deletion(write, &about, entry);
	} else if (decision->step == GPU_CLAIM) {
		about.object = decision->body;
		send(write, &about, entry == NULL);
	} else {
		send_object(write, &about, decision);
	}
	return write;
}
