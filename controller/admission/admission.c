#include "controller/admission/admission.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/admission/known.h"
#include "controller/admission/resources.h"
#include "controller/admission/rules.h"
#include "controller/webhook/admission_review.h"
#include "kube/informer.h"

struct admission {
	struct informer *informers[KNOWN_KINDS];
	struct resources *resources;
	struct admission_rules rules;
};

/* As of now: a store stays the same, whether it has had its list does not. */
static struct known look(const struct admission *admission)
{
	struct known known = { .resources = admission->resources };

	for (int i = 0; i < KNOWN_KINDS; i++) {
		known.stores[i] = informer_store(admission->informers[i]);
		known.synced[i] = informer_synced(admission->informers[i]);
	}
	return known;
}

static void validate(void *arg, const struct admission_request *request,
		     struct admission_answer *answer)
{
	const struct admission *admission = arg;
	struct known known = look(admission);

	rules_validate(&known, request, answer);
}

static void mutate(void *arg, const struct admission_request *request,
		   struct admission_answer *answer)
{
	const struct admission *admission = arg;
	struct known known = look(admission);

	rules_mutate(&known, request, answer);
}

static bool is_ready(void *arg, struct err *err)
{
	struct admission *admission = arg;

	for (int i = 0; i < KNOWN_KINDS; i++) {
		if (informer_synced(admission->informers[i]))
			continue;
		err_set(err, ERR_RETRY, -1, "not read yet: %s",
			informer_text(admission->informers[i]));
		return false;
	}
	return true;
}

static void on_pcidevice(void *arg, const char *name, const struct entry *before,
			 const struct entry *after)
{
	const struct admission *admission = arg;

	(void)name;
	resources_pcidevice(admission->resources, before, after);
}

static void on_usbdevice(void *arg, const char *name, const struct entry *before,
			 const struct entry *after)
{
	const struct admission *admission = arg;

	(void)name;
	resources_usbdevice(admission->resources, before, after);
}

static void on_node(void *arg, const char *name, const struct entry *before,
		    const struct entry *after)
{
	const struct admission *admission = arg;

	(void)name;
	resources_node(admission->resources, before, after);
}

/* The stores are all that counts. */
static void on_other(void *arg, const char *name, const struct entry *before,
		     const struct entry *after)
{
	(void)arg;
	(void)name;
	(void)before;
	(void)after;
}

static const struct informer_handlers handlers[KNOWN_KINDS] = {
	[KNOWN_PCIDEVICE] = { .on_change = on_pcidevice },
	[KNOWN_USBDEVICE] = { .on_change = on_usbdevice },
	[KNOWN_PCICLAIM] = { .on_change = on_other },
	[KNOWN_USBCLAIM] = { .on_change = on_other },
	[KNOWN_NODE] = { .on_change = on_node },
	[KNOWN_NIC] = { .on_change = on_other },
	[KNOWN_GPU] = { .on_change = on_other },
	[KNOWN_VGPU] = { .on_change = on_other },
	[KNOWN_VM] = { .on_change = on_other },
};

struct admission *admission_new(const struct admission_deps *deps)
{
	struct admission *admission = xcalloc(1, sizeof(*admission));
	struct informer_deps informer_deps = { .client = deps->client,
					       .clock = deps->clock,
					       .metrics = deps->metrics };

	admission->resources = resources_new();
	admission->rules = (struct admission_rules){
		.validate = validate, .mutate = mutate, .ready = is_ready, .arg = admission
	};
	for (int i = 0; i < KNOWN_KINDS; i++) {
		admission->informers[i] =
			informer_new(&informer_deps, &(struct informer_spec){
							     .kind = known_kinds[i],
							     .handlers = handlers[i],
							     .arg = admission,
						     });
		informer_start(admission->informers[i]);
	}
	return admission;
}

struct admission *admission_free(struct admission *admission)
{
	if (!admission)
		return NULL;
	for (int i = 0; i < KNOWN_KINDS; i++)
		informer_free(admission->informers[i]);
	resources_free(admission->resources);
	free(admission);
	return NULL;
}

const struct admission_rules *admission_rules(const struct admission *admission)
{
	return &admission->rules;
}
