#include "api/offered_resource.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/mem.h"

static const char *annotation(const struct api_meta *meta)
{
	return meta ? api_meta_annotation(meta, NAMES_ANNOTATION_RESOURCE_NAME) : NULL;
}

static bool is_allowed(const char *name)
{
	return names_valid_offered_resource(name) && !names_kubevirts_resource(name);
}

/* The override annotation; NULL if there is none, or it is not an allowed name. */
static const char *allowed_override(const struct api_meta *meta)
{
	const char *name = annotation(meta);

	return name && is_allowed(name) ? name : NULL;
}

const char *offered_resource_refused(const struct api_meta *seen,
				     const struct pcideviceclaim *claim)
{
	const char *name = annotation(seen);

	if (!name && claim)
		name = annotation(&claim->meta);
	return name && !is_allowed(name) ? name : NULL;
}

const char *offered_resource_reason(const char *refused)
{
	return names_kubevirts_resource(refused) ? "devices.kubevirt.io is KubeVirt's own domain"
						 : "kubelets refuse that resource name";
}

/* "<vendor>.com/<name of the PCIDevice>" */
static char *own_resource(const struct pcidevice *device)
{
	const char *pool = device->status.resource_name;
	auto_free char *part = names_label_value(device->meta.name);

	return xasprintf("%.*s/%s", (int)strcspn(pool, "/"), pool, part);
}

char *offered_resource(const struct pcidevice *device, const struct api_meta *seen,
		       const struct pcideviceclaim *claim)
{
	const char *name = allowed_override(seen);

	if (!name && claim)
		name = allowed_override(&claim->meta);
	if (!name && claim && claim->spec.disable_resource_pooling && device->status.resource_name)
		return own_resource(device);
	return xstrdup_or_null(name ? name : device->status.resource_name);
}
