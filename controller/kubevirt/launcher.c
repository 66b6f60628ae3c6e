#include "controller/kubevirt/launcher.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

static const char prefix[] = "virt-launcher-";

enum {
	PREFIX_LEN = sizeof(prefix) - 1,
	RANDOM_LEN = 5,
	POD_MAX = 63,
	VM_LEFT = POD_MAX - RANDOM_LEN -
		  PREFIX_LEN,  /* characters of a virtual machine's name kept in a pod's name: 44 */
	KEY_LEN = VM_LEFT - 1, /* one less, as the last one may be the dash */
};

/* The name in "namespace/name". */
static const char *name_of(const char *full)
{
	const char *slash = strchr(full, '/');

	return slash ? slash + 1 : full;
}

/* The part between prefix and random suffix, with the dash if there is one; NULL: not a
 * virt-launcher. */
static const char *middle_of(const char *pod, size_t *ret_len)
{
	const char *name = name_of(pod);
	size_t len = strlen(name);

	if (len <= PREFIX_LEN + RANDOM_LEN || len > POD_MAX ||
	    strncmp(name, prefix, PREFIX_LEN) != 0)
		return NULL;
	*ret_len = len - PREFIX_LEN - RANDOM_LEN;
	return name + PREFIX_LEN;
}

static char *key_of(const char *full, const char *name, size_t len)
{
	size_t before = (size_t)(name_of(full) - full);

	return xasprintf("%.*s%.*s", (int)before, full, (int)(len < KEY_LEN ? len : KEY_LEN), name);
}

char *launcher_key_of_vm(const char *vm)
{
	return key_of(vm, name_of(vm), strlen(name_of(vm)));
}

char *launcher_key_of_pod(const char *pod)
{
	size_t len;
	const char *middle = middle_of(pod, &len);

	if (!middle)
		return NULL;
	if (len == VM_LEFT)
		return key_of(pod, middle, KEY_LEN);
	if (middle[len - 1] != '-' || len == 1)
		return NULL;
	return key_of(pod, middle, len - 1);
}

bool launcher_is_cut(const char *pod)
{
	size_t len;

	return middle_of(pod, &len) && len == VM_LEFT;
}

static bool same_namespace(const char *a, const char *b)
{
	size_t a_len = (size_t)(name_of(a) - a);
	size_t b_len = (size_t)(name_of(b) - b);

	return a_len == b_len && memcmp(a, b, a_len) == 0;
}

bool launcher_runs(const char *pod, const char *vm)
{
	const char *name = name_of(vm);
	size_t vm_len = strlen(name);
	size_t len;
	const char *middle = middle_of(pod, &len);

	if (!middle || !same_namespace(pod, vm) || vm_len == 0)
		return false;
	if (vm_len >= VM_LEFT)
		return len == VM_LEFT && memcmp(middle, name, VM_LEFT) == 0;
	return len == vm_len + 1 && middle[vm_len] == '-' && memcmp(middle, name, vm_len) == 0;
}
