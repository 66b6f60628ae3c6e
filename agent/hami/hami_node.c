#include "agent/hami/hami_node.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/hami/hami_lock.h"
#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "api/json_map.h"
#include "api/node.h"
#include "api/patch.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/reconcile.h"

#define REQUESTING "Requesting"
#define DELETED    "Deleted"

enum { SECOND_MS = 1000, STAMP_MAX = 64 };

struct hami_node {
	const struct this_node *node;
	enum hami_form form;
	struct reconcile *reconcile;
	bool known; /* `gpus` are the node's */
	ARRAY(struct hami_gpu) gpus;
	struct json_strs texts; /* the strings of the GPUs            */
	char *done;             /* the lock to remove; NULL: none     */
	bool met;               /* the cache has shown that lock      */
	char *handshake;        /* of the Node, as last seen          */
	uint64_t seen_ms;
};

/* --- the plan --------------------------------------------------------------------------------- */

static enum hami_form form_of(const struct hami_node_case *c)
{
	enum hami_form form = c->form;

	if (form == HAMI_FORM_AUTO)
		form = hami_register_form(api_meta_annotation(&c->node->meta, HAMI_REGISTER));
	return form == HAMI_FORM_AUTO ? HAMI_FORM_JSON : form;
}

static void plan_register(const struct hami_node_case *c, json_t *annotations)
{
	const char *have = api_meta_annotation(&c->node->meta, HAMI_REGISTER);
	auto_str struct str want = STR_INIT;

	hami_register_write(c->gpus, c->ngpus, form_of(c), &want);
	if (!str_match(have, str_cstr(&want)))
		json_put_text(annotations, HAMI_REGISTER, str_cstr(&want));
}

/* In the form of HAMi's plugin. The scheduler reads only the first word. */
static void put_answer(int64_t wall_ms, json_t *annotations)
{
	time_t seconds = (time_t)(wall_ms / SECOND_MS);
	char text[STAMP_MAX] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		(void)strftime(text, sizeof(text), "Reported %Y-%m-%d %H:%M:%S +0000 UTC", &tm);
	json_put_text(annotations, HAMI_HANDSHAKE, text);
}

/* Only for schedulers up to 2.7: later ones would ask again because of an answer. */
static void plan_handshake(const struct hami_node_case *c, json_t *annotations, struct decision *d)
{
	const char *have = api_meta_annotation(&c->node->meta, HAMI_HANDSHAKE);
	bool asks = have && strncmp(have, REQUESTING, strlen(REQUESTING)) == 0;
	bool gone = !have || !*have || strncmp(have, DELETED, strlen(DELETED)) == 0;

	if (form_of(c) != HAMI_FORM_TEXT)
		return;
	if (gone || (asks && c->waited_ms >= HAMI_ANSWER_MS))
		put_answer(c->now_wall_ms, annotations);
	else if (asks)
		d->again_ms = HAMI_ANSWER_MS - c->waited_ms;
}

void hami_node_plan(const struct hami_node_case *c, struct decision *ret_decision)
{
	auto_json json_t *annotations = json_object();
	struct decision *d = ret_decision;

	if (c->gpus) {
		plan_register(c, annotations);
		plan_handshake(c, annotations, d);
	}
	if (c->done && str_match(api_meta_annotation(&c->node->meta, HAMI_LOCK), c->done))
		json_put(annotations, HAMI_LOCK, json_null());
	if (json_object_size(annotations) == 0)
		return;
	d->again_ms = 0;
	d->step = STEP_PATCH;
	d->body = patch_new(&c->node->meta);
	json_put(json_object_get(d->body, "metadata"), "annotations", take_ptr(annotations));
}

/* --- the reconciler --------------------------------------------------------------------------- */

/* The annotation @key of the Node in the cache; NULL: it has none. */
static const char *annotation(const struct hami_node *hami, const char *key)
{
	const struct node *node = node_reconcile_object(hami->node);

	return node ? api_meta_annotation(&node->meta, key) : NULL;
}

static void plan(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	static const struct hami_gpu none;
	const struct hami_node *hami = arg;
	uint64_t now_ms = clock_now_ms(hami->node->clock);
	const struct hami_node_case c = {
		.node = view->object,
		.gpus = !hami->known         ? NULL
			: hami->gpus.len > 0 ? hami->gpus.items
					     : &none,
		.ngpus = hami->gpus.len,
		.form = hami->form,
		.done = hami->done,
		.waited_ms = hami->seen_ms ? now_ms - hami->seen_ms : 0,
		.now_wall_ms = view->now_wall_ms,
	};

	hami_node_plan(&c, ret_decision);
}

/* Note when the handshake last changed. */
static void note_handshake(struct hami_node *hami)
{
	const char *now = annotation(hami, HAMI_HANDSHAKE);

	if (hami->seen_ms && str_equal(now, hami->handshake))
		return;
	free(hami->handshake);
	hami->handshake = xstrdup_or_null(now);
	hami->seen_ms = clock_now_ms(hami->node->clock);
}

/* Forget the lock to remove once it is gone. */
static void note_lock(struct hami_node *hami)
{
	bool there = hami->done && str_match(annotation(hami, HAMI_LOCK), hami->done);

	if (!there && hami->met) {
		free(hami->done);
		hami->done = NULL;
	}
	hami->met = there;
}

void hami_node_changed(struct hami_node *hami)
{
	note_handshake(hami);
	note_lock(hami);
	reconcile_changed(hami->reconcile, hami->node->name);
}

static void gpus_done(struct hami_node *hami)
{
	array_done(&hami->gpus);
	json_strs_done(&hami->texts);
}

static const char *keep(struct hami_node *hami, const char *text)
{
	if (!text)
		return NULL;
	json_strs_add(&hami->texts, text);
	return hami->texts.items[hami->texts.len - 1];
}

void hami_node_set(struct hami_node *hami, const struct hami_gpu *gpus, size_t len)
{
	gpus_done(hami);
	hami->known = gpus;
	for (size_t i = 0; gpus && i < len; i++) {
		struct hami_gpu *gpu = array_add(&hami->gpus);

		*gpu = gpus[i];
		gpu->uuid = keep(hami, gpus[i].uuid);
		gpu->name = keep(hami, gpus[i].name);
		gpu->trouble = keep(hami, gpus[i].trouble);
	}
	reconcile_enqueue(hami->reconcile, hami->node->name);
}

void hami_node_release(struct hami_node *hami, const char *lock)
{
	char *copy = xstrdup(lock);

	free(hami->done);
	hami->done = copy;
	hami->met = false;
	note_lock(hami);
	reconcile_enqueue(hami->reconcile, hami->node->name);
}

const char *hami_node_lock(const struct hami_node *hami)
{
	const char *lock = annotation(hami, HAMI_LOCK);

	return str_match(lock, hami->done) ? NULL : lock;
}

struct hami_node *hami_node_new(const struct this_node *node, enum hami_form form)
{
	struct hami_node *hami = xcalloc(1, sizeof(*hami));
	const struct reconcile_spec spec = {
		.name = "hami-node",
		.plan = plan,
		.arg = hami,
	};

	hami->node = node;
	hami->form = form;
	hami->reconcile = node_reconcile_self(node, &spec);
	return hami;
}

struct hami_node *hami_node_free(struct hami_node *hami)
{
	if (!hami)
		return NULL;
	reconcile_free(hami->reconcile);
	gpus_done(hami);
	free(hami->done);
	free(hami->handshake);
	free(hami);
	return NULL;
}
