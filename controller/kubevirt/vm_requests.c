#include "controller/kubevirt/vm_requests.h"

#include <string.h>

#include "api/virtualmachine.h"

static const struct virtualmachine_devices *gpus_of(const struct virtualmachine *vm)
{
	return &vm->spec.template_.spec.domain.devices.gpus;
}

bool vm_requests_gpu(const struct virtualmachine *vm, const char *resource)
{
	const struct virtualmachine_devices *gpus = gpus_of(vm);

	for (size_t i = 0; i < gpus->len; i++) {
		const char *name = gpus->items[i].device_name;

		if (name && strcmp(name, resource) == 0)
			return true;
	}
	return false;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_deleted(const struct virtualmachine *vm)
{
	return vm->meta.meta.deletion_timestamp != NULL;
}

bool vm_requests_equal(const struct virtualmachine *a, const struct virtualmachine *b)
{
	const struct virtualmachine_devices *x = gpus_of(a);
	const struct virtualmachine_devices *y = gpus_of(b);
	bool same = is_deleted(a) == is_deleted(b) && x->len == y->len &&
		    same_text(a->meta.annotations.allocation, b->meta.annotations.allocation);

	for (size_t i = 0; same && i < x->len; i++)
		same = same_text(x->items[i].device_name, y->items[i].device_name);
	return same;
}
