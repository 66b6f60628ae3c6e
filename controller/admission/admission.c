#include "controller/admission/admission.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/admission/known.h"
#include "controller/admission/resources.h"
#include "controller/admission/rules.h"
#include "controller/views/views.h"
#include "controller/webhook/admission_review.h"

/* All that the rules look at. */
static const enum view_kind kinds[] = {
	VIEW_PCIDEVICE, VIEW_USBDEVICE, VIEW_PCICLAIM, VIEW_USBCLAIM, VIEW_NODE,
	VIEW_NIC,       VIEW_GPU,       VIEW_VGPU,     VIEW_VM,
};

struct admission {
	struct views *views;
	struct resources *resources;
	struct admission_rules rules;
};

/* As of now: a store stays the same, whether it has had its list does not. */
static struct known look(const struct admission *admission)
{
	struct known known = { .stores = views_stores(admission->views),
			       .resources = admission->resources };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		known.synced[kinds[i]] = views_synced(admission->views, kinds[i]);
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

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (views_synced(admission->views, kinds[i]))
			continue;
		err_set(err, ERR_RETRY, -1, "not read yet: %s",
			views_line(admission->views, kinds[i]));
		return false;
	}
	return true;
}

static void on_change(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		      const struct entry *after)
{
	const struct admission *admission = arg;

	(void)name;
	resources_hear(admission->resources, kind, before, after);
}

struct admission *admission_new(struct views *views)
{
	struct admission *admission = xcalloc(1, sizeof(*admission));

	admission->views = views;
	admission->resources = resources_new();
	admission->rules = (struct admission_rules){
		.validate = validate, .mutate = mutate, .ready = is_ready, .arg = admission
	};
	views_listen(views, &(struct views_listener){ .on_change = on_change, .arg = admission });
	return admission;
}

struct admission *admission_free(struct admission *admission)
{
	if (!admission)
		return NULL;
	views_forget(admission->views, admission);
	resources_free(admission->resources);
	free(admission);
	return NULL;
}

const struct admission_rules *admission_rules(const struct admission *admission)
{
	return &admission->rules;
}
