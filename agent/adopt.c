#include "agent/adopt.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/node/this_node.h"
#include "api/json_map.h"
#include "api/kind.h"
#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/patch.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/vgpudevice.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/apply.h"
#include "kube/fetch.h"
#include "kube/url.h"
#include "kube/workq_run.h"

enum {
	AGAIN_MS = 10 * 60 * 1000,
	PAGE = 500,
	ERRANDS_AT_A_TIME = 4,
};

/* The name of a network card's object says its interface, which may be the end of another node's
 * name. */
static const struct {
	const struct api_kind *kind;
	bool named; /* after the address of a function */
} kinds[] = {
	{ &sriovnetworkdevice_kind, false },
	{ &sriovgpudevice_kind, true },
	{ &vgpudevice_kind, true },
	{ &migconfiguration_kind, true },
};

/* One key of the queue at work: "plural", which is listed, or "plural/name". */
struct errand {
	struct adopt *adopt;
	size_t kind;
	const char *key;
	const char *name; /* in the key; NULL: a list */
	struct kube_call *call;
	work_end_fn *end;
	void *end_arg;
};

struct adopt {
	const struct this_node *node;
	char *label;
	struct workq_run *queue;
	struct errand *errands[ERRANDS_AT_A_TIME];
	size_t len;
};

static const char *text_in(const json_t *object, const char *part, const char *member)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(object, part), member));

	return text ? text : "";
}

static const char *label_of(const json_t *object)
{
	const json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");
	const char *label = json_string_value(json_object_get(labels, NAMES_LABEL_NODE));

	return label ? label : "";
}

/* Is it one of this node without a label? An object for a graphics card must have the name of a
 * function: the policy refuses writes to any other. */
static bool is_ours(const struct adopt *adopt, size_t kind, const json_t *object)
{
	const char *node = adopt->node->name;
	const char *said = text_in(object, "spec", "nodeName");
	char address[NAMES_ADDRESS_SIZE];

	if (*label_of(object) || (*said && strcmp(said, node) != 0))
		return false;
	if (kinds[kind].named &&
	    names_pcidevice_address(node, text_in(object, "metadata", "name"), address) < 0)
		return false;
	return *said || kinds[kind].named;
}

static void end_errand(struct errand *errand, int result, const struct err *err)
{
	struct adopt *adopt = errand->adopt;

	for (size_t i = 0; i < adopt->len; i++) {
		if (adopt->errands[i] == errand)
			adopt->errands[i] = adopt->errands[--adopt->len];
	}
	errand->end(errand->end_arg, result, err);
	free(errand);
}

/* --- one object ------------------------------------------------------------------------------- */

static void on_labelled(void *arg, int result, const struct kube_response *response,
			const struct err *err)
{
	struct errand *errand = arg;

	(void)response;
	if (result == 0)
		log_info("object had no label of its node and has it now",
			 log_str("kind", kinds[errand->kind].kind->kind),
			 log_str("object", errand->name));
	end_errand(errand, result == -ENOENT ? 0 : result, err);
}

static void give_label(struct errand *errand, const json_t *object)
{
	auto_json json_t *body = patch_new_at(text_in(object, "metadata", "uid"),
					      text_in(object, "metadata", "resourceVersion"));

	json_object_set_new(json_object_get(body, "metadata"), "labels",
			    json_pack("{s:s}", NAMES_LABEL_NODE, errand->adopt->label));
	errand->call = apply_merge(errand->adopt->node->client,
				   &(struct apply_request){
					   .kind = kinds[errand->kind].kind,
					   .name = errand->name,
					   .field_manager = "hostdev-agent",
					   .object = body,
				   },
				   on_labelled, errand);
}

static void on_object(void *arg, int result, const struct kube_response *response,
		      const struct err *err)
{
	struct errand *errand = arg;
	auto_json json_t *object = NULL;
	struct err cause = *err;

	if (result == 0)
		result = json_map_load(response->body, response->body_len, &object, &cause);
	if (result < 0) {
		end_errand(errand, result == -ENOENT ? 0 : result, &cause);
		return;
	}
	if (is_ours(errand->adopt, errand->kind, object))
		give_label(errand, object);
	else
		end_errand(errand, 0, NULL); /* by now */
}

/* --- lists ------------------------------------------------------------------------------------ */

static void on_list(void *arg, int result, const struct kube_response *response,
		    const struct err *err);

static void list(struct errand *errand, const char *token)
{
	const struct api_kind *kind = kinds[errand->kind].kind;
	auto_str struct str path = STR_INIT;

	url_object(&path, kind, NULL, NULL, NULL);
	url_add_query(&path, &(struct url_query){
				     .label_selector = "!" NAMES_LABEL_NODE,
				     .continue_token = token,
				     .limit = PAGE,
			     });
	errand->call = kube_client_send(errand->adopt->node->client,
					&(struct kube_request){
						.verb = "list",
						.resource = kind->plural,
						.method = "GET",
						.path = str_cstr(&path),
					},
					on_list, errand);
}

static void take_list(struct errand *errand, const json_t *body)
{
	struct adopt *adopt = errand->adopt;
	const json_t *items = json_object_get(body, "items");
	size_t i;
	const json_t *item;

	json_array_foreach (items, i, item) {
		auto_free char *key =
			xasprintf("%s/%s", errand->key, text_in(item, "metadata", "name"));

		if (is_ours(adopt, errand->kind, item))
			workq_run_add(adopt->queue, key);
	}
}

/* A kind that is not installed has no objects yet. */
static void on_list(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct errand *errand = arg;
	auto_json json_t *body = NULL;
	struct err cause = *err;
	const char *token;

	if (result == 0)
		result = json_map_load(response->body, response->body_len, &body, &cause);
	if (result < 0 && cause.kind != ERR_INVALID) {
		end_errand(errand, result, &cause);
		return;
	}
	take_list(errand, body);
	token = text_in(body, "metadata", "continue");
	if (*token) {
		list(errand, token);
		return;
	}
	workq_run_add_after(errand->adopt->queue, errand->key, AGAIN_MS);
	end_errand(errand, 0, NULL);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	struct adopt *adopt = arg;
	struct errand *errand = xcalloc(1, sizeof(*errand));
	size_t len = strcspn(key, "/");

	*errand = (struct errand){ .adopt = adopt, .key = key, .end = end, .end_arg = end_arg };
	while (strncmp(kinds[errand->kind].kind->plural, key, len) != 0 ||
	       kinds[errand->kind].kind->plural[len])
		errand->kind++;
	assert(adopt->len < ERRANDS_AT_A_TIME);
	adopt->errands[adopt->len++] = errand;
	if (!key[len]) {
		list(errand, NULL);
		return;
	}
	errand->name = key + len + 1;
	errand->call = fetch_object(adopt->node->client, kinds[errand->kind].kind, errand->name,
				    on_object, errand);
}

struct adopt *adopt_new(const struct this_node *node)
{
	struct adopt *adopt = xcalloc(1, sizeof(*adopt));

	adopt->node = node;
	adopt->label = names_label_value(node->name);
	adopt->queue = workq_run_new(&(struct workq_run_spec){
		.name = "unlabelled",
		.max_running = ERRANDS_AT_A_TIME,
		.work = work,
		.arg = adopt,
		.clock = node->clock,
		.metrics = node->metrics,
	});
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		workq_run_add(adopt->queue, kinds[i].kind->plural);
	return adopt;
}

struct adopt *adopt_free(struct adopt *adopt)
{
	if (!adopt)
		return NULL;
	while (adopt->len > 0) {
		struct errand *errand = adopt->errands[--adopt->len];

		kube_call_cancel(errand->call);
		errand->end(errand->end_arg, 0, NULL);
		free(errand);
	}
	workq_run_free(adopt->queue);
	free(adopt->label);
	free(adopt);
	return NULL;
}
