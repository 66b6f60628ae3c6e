#include "controller/admission/admission.h"

#include <stdlib.h>

#include "api/object.h"
#include "api/pod.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/admission/admission_audit.h"
#include "controller/admission/known.h"
#include "controller/admission/resources.h"
#include "controller/admission/rules.h"
#include "controller/cache/cache.h"
#include "controller/webhook/admission_review.h"
#include "kube/audit.h"
#include "kube/events.h"

/* The kinds that the rules read. */
static const enum view_kind kinds[] = {
	VIEW_PCIDEVICE, VIEW_USBDEVICE, VIEW_PCICLAIM, VIEW_USBCLAIM,       VIEW_NODE,   VIEW_NIC,
	VIEW_GPU,       VIEW_VGPU,      VIEW_VM,       VIEW_MEDIATEDDEVICE, VIEW_CONFIG,
};

struct admission {
	struct cache *cache;
	struct events *events;
	struct events *unverified_events;
	struct audit_quota *quota; /* of the lines about what may be made up */
	bool (*leads)(void *arg);
	void *arg;
	bool refuse_pinned;
	struct resources *resources;
	struct admission_rules rules;
};

/* The current state: the stores' pointers never change, but whether they are synced does. */
static struct known known_now(const struct admission *admission)
{
	struct known known = { .stores = cache_stores(admission->cache),
			       .resources = admission->resources,
			       .refuse_pinned = admission->refuse_pinned };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		known.synced[kinds[i]] = cache_synced(admission->cache, kinds[i]);
	return known;
}

/* Use the uid and the pod's name only if the API server sent the request: it sets an object's
 * uid before it calls webhooks. The cast is needed because jansson's iterators take no const. */
static void record_pod_warning(struct events *events, const struct admission_request *request,
			       const struct admission_answer *answer)
{
	union {
		const json_t *read;
		json_t *walked;
	} object = { .read = request->object };
	struct pod *pod = NULL;
	void *decoded = NULL;

	if (answer->warnings.len == 0 ||
	    api_object_decode(&pod_kind, object.walked, &decoded, NULL) < 0)
		return;
	pod = decoded;
	if (pod->meta.name && pod->meta.uid)
		events_record(events,
			      &(struct events_about){ .kind = &pod_kind, .meta = &pod->meta },
			      EVENTS_WARNING, answer->event, "%s", answer->warnings.items[0]);
	api_object_free(&pod_kind, decoded);
}

static void validate(void *arg, const struct admission_request *request,
		     struct admission_answer *answer)
{
	const struct admission *admission = arg;
	struct known known = known_now(admission);
	struct admission_trail trail = {
		.events = request->verified ? admission->events : admission->unverified_events,
		.quota = request->verified ? NULL : admission->quota,
	};

	rules_validate(&known, request, answer);
	admission_audit_refusal(&known, &trail, request, answer);
	if (answer->event && answer->allowed && !request->dry_run && request->verified &&
	    admission->events)
		record_pod_warning(admission->events, request, answer);
	admission_audit(&known, &trail, request, answer);
}

static void mutate(void *arg, const struct admission_request *request,
		   struct admission_answer *answer)
{
	const struct admission *admission = arg;
	struct known known = known_now(admission);

	rules_mutate(&known, request, answer);
}

static bool is_ready(void *arg, struct err *err)
{
	struct admission *admission = arg;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (cache_synced(admission->cache, kinds[i]))
			continue;
		err_set(err, ERR_RETRY, -1, "not read yet: %s",
			cache_line(admission->cache, kinds[i]));
		return false;
	}
	return true;
}

static void on_change(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		      const struct entry *after)
{
	const struct admission *admission = arg;

	resources_on_change(admission->resources, kind, before, after);
	if (admission->events && cache_synced(admission->cache, kind) &&
	    (!admission->leads || admission->leads(admission->arg)))
		claim_events_on_change(admission->events, cache_stores(admission->cache), kind,
				       name, before, after);
}

struct admission *admission_new(const struct admission_options *options)
{
	struct admission *admission = xcalloc(1, sizeof(*admission));

	admission->cache = options->cache;
	admission->events = options->events;
	admission->unverified_events = options->unverified_events;
	admission->quota = audit_quota_new(options->clock);
	admission->leads = options->leads;
	admission->arg = options->arg;
	admission->refuse_pinned = options->refuse_pinned;
	admission->resources = resources_new();
	admission->rules = (struct admission_rules){
		.validate = validate, .mutate = mutate, .ready = is_ready, .arg = admission
	};
	cache_listen(admission->cache,
		     &(struct cache_listener){ .on_change = on_change, .arg = admission });
	return admission;
}

struct admission *admission_free(struct admission *admission)
{
	if (!admission)
		return NULL;
	cache_forget(admission->cache, admission);
	resources_free(admission->resources);
	audit_quota_free(admission->quota);
	free(admission);
	return NULL;
}

const struct admission_rules *admission_rules(const struct admission *admission)
{
	return &admission->rules;
}
