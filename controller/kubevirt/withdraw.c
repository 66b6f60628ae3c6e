#include "controller/kubevirt/withdraw.h"

#include <stdlib.h>

#include "api/hostdeviceconfig.h"
#include "api/kubevirt.h"
#include "base/mem.h"
#include "controller/kubevirt/kubevirt_ties.h"
#include "controller/kubevirt/permit_plan.h"
#include "controller/kubevirt/permits.h"
#include "kube/informer.h"
#include "kube/store.h"

struct withdraw {
	struct kubevirt_ties ties;
	struct store *config; /* always empty: uninstall deletes the HostDeviceConfig first */
	struct informer *kubevirts;
	struct permits *permits;
	bool asked; /* withdraw_run() was called */
};

static bool is_asked(void *arg)
{
	const struct withdraw *withdraw = arg;

	return withdraw->asked;
}

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	const struct withdraw *withdraw = arg;

	(void)before;
	(void)after;
	if (withdraw->asked)
		permits_on_change(withdraw->permits, name);
}

struct withdraw *withdraw_new(const struct withdraw_deps *deps)
{
	struct withdraw *withdraw = xcalloc(1, sizeof(*withdraw));

	withdraw->config = store_new(&hostdeviceconfig_kind);
	withdraw->kubevirts =
		informer_new(&(struct informer_deps){ deps->client, deps->clock, NULL },
			     &(struct informer_spec){ .kind = &kubevirt_kind,
						      .optional = true,
						      .handlers = { .on_change = on_change },
						      .arg = withdraw });
	withdraw->ties = (struct kubevirt_ties){
		.client = deps->client,
		.clock = deps->clock,
		.stores = deps->stores,
		.config = withdraw->config,
		.kubevirts = withdraw->kubevirts,
		.ready = is_asked,
		.arg = withdraw,
	};
	withdraw->permits = permits_new(&withdraw->ties);
	informer_start(withdraw->kubevirts);
	return withdraw;
}

struct withdraw *withdraw_free(struct withdraw *withdraw)
{
	if (!withdraw)
		return NULL;
	permits_free(withdraw->permits);
	informer_free(withdraw->kubevirts);
	store_free(withdraw->config);
	free(withdraw);
	return NULL;
}

static bool has_ours(const struct entry *entry)
{
	const struct kubevirt *kubevirt = entry->object;

	return kubevirt && api_meta_annotation(&kubevirt->meta, PERMIT_ANNOTATION);
}

static const struct entry *next_with_ours(const struct withdraw *withdraw, size_t *cursor)
{
	const struct entry *entry;

	while ((entry = store_next(informer_store(withdraw->kubevirts), cursor)) &&
	       !has_ours(entry))
		;
	return entry;
}

void withdraw_run(struct withdraw *withdraw)
{
	const struct entry *entry;
	size_t cursor = 0;

	withdraw->asked = true;
	while ((entry = next_with_ours(withdraw, &cursor)))
		permits_enqueue(withdraw->permits, entry->name);
}

bool withdraw_is_done(const struct withdraw *withdraw, const char **ret_name)
{
	size_t cursor = 0;
	const struct entry *entry = next_with_ours(withdraw, &cursor);

	*ret_name = entry ? entry->name : NULL;
	return !entry && informer_synced(withdraw->kubevirts);
}
