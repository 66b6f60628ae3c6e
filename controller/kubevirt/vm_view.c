#include "controller/kubevirt/vm_view.h"

#include <string.h>

#include "api/virtualmachine.h"
#include "base/mem.h"

static size_t size_of(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static const char *place(char **at, const char *text)
{
	char *placed = *at;

	if (!text)
		return NULL;
	*at += size_of(text);
	return memcpy(placed, text, size_of(text));
}

static void *view_of(const void *object)
{
	const struct virtualmachine *vm = object;
	const struct virtualmachine_devices *gpus = &vm->spec.template_.spec.domain.devices.gpus;
	const char *allocation = vm->meta.annotations.allocation;
	size_t text = size_of(allocation);
	struct vm_view *view;
	char *at;

	for (size_t i = 0; i < gpus->len; i++)
		text += size_of(gpus->items[i].device_name);
	view = xcalloc(1, sizeof(*view) + gpus->len * sizeof(view->gpus[0]) + text);
	at = (char *)&view->gpus[gpus->len];
	view->allocation = place(&at, allocation);
	view->deleting = vm->meta.meta.deletion_timestamp != NULL;
	view->gpus_len = gpus->len;
	for (size_t i = 0; i < gpus->len; i++)
		view->gpus[i] = place(&at, gpus->items[i].device_name);
	return view;
}

struct api_kind vm_view_kind(void)
{
	struct api_kind kind = virtualmachine_kind;

	kind.digest = view_of;
	return kind;
}

bool vm_view_has_gpu(const struct vm_view *view, const char *resource)
{
	for (size_t i = 0; i < view->gpus_len; i++) {
		if (view->gpus[i] && strcmp(view->gpus[i], resource) == 0)
			return true;
	}
	return false;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool vm_view_same(const struct vm_view *a, const struct vm_view *b)
{
	bool same = a->deleting == b->deleting && a->gpus_len == b->gpus_len &&
		    same_text(a->allocation, b->allocation);

	for (size_t i = 0; same && i < a->gpus_len; i++)
		same = same_text(a->gpus[i], b->gpus[i]);
	return same;
}
