#include "agent/sriov/sriov_job.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "api/json_map.h"
#include "api/sriovnetworkdevice.h"
#include "base/array.h"
#include "base/mem.h"

enum { SETTINGS_MAX = 1024 }; /* the schema's, and the helper's */

static void add(struct sriov_job *job, char *word)
{
	*array_add(&job->words) = word;
}

static int by_index(const void *a, const void *b)
{
	const struct sriovnetworkdevice_vf *left = a;
	const struct sriovnetworkdevice_vf *right = b;

	return (left->index > right->index) - (left->index < right->index);
}

static void add_switch(struct sriov_job *job, const char *key, const char *value)
{
	if (value)
		add(job, xasprintf("%s=%d", key, strcmp(value, "on") == 0));
}

static void add_setting(struct sriov_job *job, const struct sriovnetworkdevice_vf *vf)
{
	add(job, xasprintf("vf=%d", vf->index));
	if (vf->mac_address)
		add(job, xasprintf("mac=%s", vf->mac_address));
	if (vf->vlan >= 0)
		add(job, xasprintf("vlan=%d", vf->vlan));
	if (vf->qos >= 0)
		add(job, xasprintf("qos=%d", vf->qos));
	add_switch(job, "trust", vf->trust);
	add_switch(job, "spoofcheck", vf->spoof_check);
}

/* By rising index, each once: the helper takes them in no other order. */
static void add_settings(struct sriov_job *job, const struct sriovnetworkdevice_vfs *vfs)
{
	size_t len = vfs->len < SETTINGS_MAX ? vfs->len : SETTINGS_MAX;
	auto_free struct sriovnetworkdevice_vf *sorted = xcalloc(len + 1, sizeof(*sorted));

	if (len > 0)
		memcpy(sorted, vfs->items, len * sizeof(*sorted)); /* their texts are borrowed */
	qsort(sorted, len, sizeof(*sorted), by_index);
	for (size_t i = 0; i < len; i++) {
		if (i == 0 || sorted[i].index != sorted[i - 1].index)
			add_setting(job, &sorted[i]);
	}
}

void sriov_job_make(const struct sriovnetworkdevice *object, const struct pci_facts *pf, bool count,
		    struct sriov_job *ret_job)
{
	struct sriov_job job = { .count = count };

	add(&job, xasprintf("address=%s", pf->address));
	add(&job, xasprintf("id=%s:%s", pf->vendor, pf->device));
	if (pf->serial)
		add(&job, xasprintf("serial=%s", pf->serial));
	if (count) {
		add(&job, xasprintf("count=%d", object->spec.num_vfs));
		add(&job, xasprintf("autoprobe=%d", object->spec.drivers_autoprobe));
	}
	add_settings(&job, &object->spec.virtual_functions);
	*ret_job = job;
}

void sriov_job_done(struct sriov_job *job)
{
	json_strs_done(&job->words);
	job->count = false;
}

static bool is_setting(const struct sriovnetworkdevice_vf *vf)
{
	return vf->mac_address || vf->vlan >= 0 || vf->trust || vf->spoof_check;
}

bool sriov_job_has_settings(const struct sriovnetworkdevice *object, int count)
{
	const struct sriovnetworkdevice_vfs *vfs = &object->spec.virtual_functions;

	for (size_t i = 0; i < vfs->len; i++) {
		if (vfs->items[i].index < count && is_setting(&vfs->items[i]))
			return true;
	}
	return false;
}

bool sriov_job_sets(const struct sriovnetworkdevice *object, int index)
{
	const struct sriovnetworkdevice_vfs *vfs = &object->spec.virtual_functions;

	for (size_t i = 0; i < vfs->len; i++) {
		if (vfs->items[i].index == index && is_setting(&vfs->items[i]))
			return true;
	}
	return false;
}
