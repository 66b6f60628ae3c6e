#include "agent/claim/claim_job.h"

#include <string.h>

#include "agent/binder/binder.h"
#include "agent/claim/claim_group.h"
#include "agent/claim/claim_mark.h"
#include "agent/claim/claim_native.h"
#include "agent/claim/claim_plan.h"
#include "agent/inventory/facts.h"
#include "api/override.h"
#include "api/pcideviceclaim.h"
#include "base/array.h"
#include "base/mem.h"

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* A function without a driver and without a claim of its own does not block the group: leave it. */
bool claim_job_takes(const struct claim_group *group, const struct claim_function *f)
{
	if (!f->cover || !f->pci || f->different || claim_function_is_port(f) ||
	    !claim_group_member(group, f))
		return false;
	return f->cover == f->claim || f->driver || f->recorded;
}

bool claim_job_has(const struct claim_function *f)
{
	if (!claim_function_on_driver(f, f->cover) || !claim_function_recorded_for(f, f->cover))
		return false;
	return f->rewritten || !f->record || same(f->record->driver, claim_driver(f->cover));
}

/* Bound, but not by us, for a claim that says it was: Harvester's. */
static bool gives_adopted(const struct claim_case *c, const struct claim_group *group,
			  const struct claim_function *f)
{
	const char *native = claim_native(c, f);

	if (f != claim_group_self(group) || f->released || !c->claim ||
	    !claim_is_marked(c->claim) || claim_is_skipped(c->claim) ||
	    !claim_function_on_driver(f, c->claim))
		return false;
	return c->claim->status.passthrough_enabled || (native && *native);
}

/* The claim that the record names; NULL: not known. */
static const char *owner_of(const struct claim_function *f)
{
	if (f->rewritten)
		return f->cover ? f->cover->meta.name : NULL;
	return f->record ? f->record->claim : NULL;
}

/* A function whose record names another claim is released by that claim. */
bool claim_job_gives(const struct claim_case *c, const struct claim_group *group,
		     const struct claim_function *f)
{
	const char *owner = owner_of(f);

	if (!f->recorded)
		return !f->cover && gives_adopted(c, group, f);
	if (!owner)
		return f == claim_group_self(group);
	return strcmp(owner, c->name) == 0;
}

static char *id_of(const struct claim_function *f, bool as_recorded)
{
	if (as_recorded && f->record && f->record->id)
		return xstrdup(f->record->id);
	if (f->pci && f->pci->vendor && f->pci->device)
		return xasprintf("%s:%s", f->pci->vendor, f->pci->device);
	return xstrdup(f->record && f->record->id ? f->record->id : "0000:0000");
}

static const char *serial_of(const struct claim_function *f, bool as_recorded)
{
	if ((as_recorded || !f->pci) && f->record)
		return f->record->serial;
	return f->pci ? f->pci->serial : NULL;
}

static const char *identity_of(const struct claim_function *f, bool as_recorded)
{
	if ((as_recorded || !f->pci) && f->record)
		return f->record->identity;
	return f->pci ? f->pci->identity : NULL;
}

static struct binder_function *add(const struct claim_case *c, struct binder_job *job,
				   const struct claim_function *f)
{
	bool as_recorded = job->verb == BINDER_RELEASE;
	struct binder_function *out = array_add(job);

	out->address = xstrdup(f->address);
	out->id = id_of(f, as_recorded);
	out->serial = xstrdup_or_null(serial_of(f, as_recorded));
	out->identity = xstrdup_or_null(identity_of(f, as_recorded));
	out->native = xstrdup_or_null(claim_native(c, f));
	return out;
}

void claim_job_bind(const struct claim_case *c, const struct claim_group *group,
		    struct binder_job *ret_job)
{
	*ret_job = (struct binder_job){
		.verb = BINDER_BIND,
		.group = xstrdup_or_null(claim_group_self(group)->group),
	};
	for (size_t i = 0; i < group->len; i++) {
		const struct claim_function *f = &group->items[i];
		struct binder_function *out;

		if (!claim_job_takes(group, f))
			continue;
		out = add(c, ret_job, f);
		out->driver = xstrdup(claim_driver(f->cover));
		out->claim = xstrdup(f->cover->meta.name);
		out->uid = xstrdup(f->cover->meta.uid ? f->cover->meta.uid : "");
		out->driverless = claim_leaves_driverless(c, f, f->cover);
		out->allow_unknown =
			f->cover == f->claim && override_given(&f->cover->meta, "UseUnknown");
	}
}

/* The passthrough driver that it is on, or was put on. */
static const char *lending_driver(const struct claim_case *c, const struct claim_function *f)
{
	if (f->record && f->record->driver && *f->record->driver)
		return f->record->driver;
	if (claim_driver_lends(c, f->driver))
		return f->driver;
	return claim_driver(f->claim);
}

static void add_release(const struct claim_case *c, struct binder_job *job,
			const struct claim_function *f)
{
	struct binder_function *out = add(c, job, f);
	const struct record_facts *record = f->record;
	const char *uid = c->claim ? c->claim->meta.uid : NULL;

	out->driver = xstrdup(lending_driver(c, f));
	out->driverless = claim_leaves_driverless(c, f, f->claim ? f->claim : c->claim);
	out->claim = xstrdup(record && record->claim ? record->claim : c->name);
	out->uid = xstrdup(record && record->uid ? record->uid : uid ? uid : "unknown");
}

static const struct claim_function *first_given(const struct claim_case *c,
						const struct claim_group *group)
{
	for (size_t i = 0; i < group->len; i++) {
		if (claim_job_gives(c, group, &group->items[i]))
			return &group->items[i];
	}
	return NULL;
}

/* Those of one group go together. */
static bool goes_with(const struct claim_function *f, const struct claim_function *lead)
{
	return f == lead || same(f->group, lead->group) || (!f->group && !lead->group);
}

/* Release the claim's own functions last: as long as their records exist, the release is not
 * complete. */
void claim_job_release(const struct claim_case *c, const struct claim_group *group,
		       struct binder_job *ret_job)
{
	const struct claim_function *lead = first_given(c, group);

	*ret_job = (struct binder_job){
		.verb = BINDER_RELEASE,
		.group = xstrdup_or_null(lead->group),
	};
	for (size_t i = group->len; i-- > 0;) {
		const struct claim_function *f = &group->items[i];

		if (goes_with(f, lead) && f->recorded && !claim_job_gives(c, group, f))
			add_release(c, ret_job, f);
	}
	for (size_t i = group->len; i-- > 0;) {
		const struct claim_function *f = &group->items[i];

		if (goes_with(f, lead) && claim_job_gives(c, group, f))
			add_release(c, ret_job, f);
	}
}
