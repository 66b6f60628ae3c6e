/* Any bytes as what a kubelet's podresources say: what is understood is in order, each entry once,
 * and of plain names; and half of the resources are not wanted. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/plugin/podresources.h"
#include "agent/plugin/podresources_codec.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool wants(void *arg, const char *resource)
{
	(void)arg;
	return (resource[0] & 1) != 0;
}

static const char driver[] = "hostdev.io";

static void check_name(const char *name)
{
	size_t len = strlen(name);

	assert(len > 0 && len <= 253);
	for (size_t i = 0; i < len; i++)
		assert(name[i] > ' ' && name[i] <= '~');
}

static void check(const struct pod_devices *devices, size_t i)
{
	const struct pod_device *d = &devices->items[i];
	int order;

	check_name(d->resource);
	check_name(d->device);
	check_name(d->namespace);
	check_name(d->pod);
	check_name(d->container);
	if (d->claim)
		check_name(d->claim);
	assert(d->claim ? strcmp(d->resource, driver) == 0 : wants(NULL, d->resource));
	if (i == 0)
		return;
	order = strcmp(d[-1].resource, d->resource);
	assert(order < 0 || (order == 0 && strcmp(d[-1].device, d->device) <= 0));
	assert(!pod_devices_same(&(struct pod_devices){ .items = devices->items + i - 1, .len = 1 },
				 &(struct pod_devices){ .items = devices->items + i, .len = 1 }));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct podresources_wanted wanted = { wants, NULL, driver };
	struct pod_devices devices = { 0 };
	struct err err = { 0 };

	if (podresources_unpack((const char *)data, size, &wanted, &devices, &err) < 0) {
		assert(err.kind == ERR_INVALID && !devices.items);
		return 0;
	}
	for (size_t i = 0; i < devices.len; i++)
		check(&devices, i);
	pod_devices_done(&devices);
	return 0;
}
