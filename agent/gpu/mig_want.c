#include "agent/gpu/mig_want.h"

#include <stdlib.h>
#include <string.h>

#include "agent/gpu/mig_look.h"
#include "api/migconfiguration.h"
#include "base/array.h"

static struct mig_need *find(struct mig_needs *needs, int profile)
{
	for (size_t i = 0; i < needs->len; i++) {
		if (needs->items[i].profile == profile)
			return &needs->items[i];
	}
	return NULL;
}

/* The card's profile that @request means. The number counts; without one, the name. */
static struct mig_need *meant(struct mig_needs *needs, const struct mig_request *request)
{
	if (request->id >= 0)
		return find(needs, request->id);
	for (size_t i = 0; request->name && i < needs->len; i++) {
		if (strcmp(needs->items[i].name, request->name) == 0)
			return &needs->items[i];
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const struct mig_need *x = a;
	const struct mig_need *y = b;

	if (x->memory_mib != y->memory_mib)
		return x->memory_mib > y->memory_mib ? -1 : 1;
	if (x->total != y->total)
		return x->total < y->total ? -1 : 1;
	return (x->profile > y->profile) - (x->profile < y->profile);
}

void mig_needs_make(const struct migconfiguration_spec *spec, const struct mig_look *look,
		    struct mig_needs *ret_needs)
{
	struct mig_needs needs = { 0 };

	for (size_t i = 0; i < look->profiles.len; i++) {
		const struct smi_profile *p = &look->profiles.items[i];

		if (!find(&needs, p->id))
			*array_add(&needs) = (struct mig_need){ .profile = p->id,
								.name = p->name,
								.memory_mib = p->memory_mib,
								.total = p->total };
	}
	for (size_t i = 0; i < look->instances.len; i++) {
		struct mig_need *need = find(&needs, look->instances.items[i].profile);

		if (need)
			need->there++;
	}
	for (size_t i = 0; i < spec->profiles.len; i++) {
		const struct mig_request *request = &spec->profiles.items[i];
		struct mig_need *need = meant(&needs, request);

		if (request->requested <= 0)
			continue;
		if (need)
			need->wanted += request->requested;
		else if (!needs.unknown)
			needs.unknown = request->name ? request->name : "?";
	}
	if (needs.len > 0)
		qsort(needs.items, needs.len, sizeof(needs.items[0]), by_size);
	*ret_needs = needs;
}

void mig_needs_done(struct mig_needs *needs)
{
	array_done(needs);
}

const struct mig_need *mig_needs_missing(const struct mig_needs *needs)
{
	for (size_t i = 0; i < needs->len; i++) {
		if (needs->items[i].there < needs->items[i].wanted)
			return &needs->items[i];
	}
	return NULL;
}

const struct mig_need *mig_needs_surplus(const struct mig_needs *needs)
{
	for (size_t i = 0; i < needs->len; i++) {
		if (needs->items[i].there > needs->items[i].wanted)
			return &needs->items[i];
	}
	return NULL;
}
