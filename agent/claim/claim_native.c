#include "agent/claim/claim_native.h"

#include <string.h>

#include "agent/claim/claim_group.h"
#include "agent/claim/claim_plan.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/native_driver.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"

bool claim_driver_allowed(const struct claim_case *c, const char *driver)
{
	return strcmp(driver, "vfio-pci") == 0 ||
	       (c->vfio_drivers && json_strs_has(c->vfio_drivers, driver));
}

bool claim_driver_is_passthrough(const struct claim_case *c, const char *driver)
{
	return driver && (native_driver_is_passthrough(driver) || claim_driver_allowed(c, driver));
}

/* Anybody may have written a text of the API; the helper takes only valid names. */
static const char *plausible(const struct claim_case *c, const char *driver)
{
	return native_driver_valid(driver) && !claim_driver_is_passthrough(c, driver) ? driver
										      : NULL;
}

/* NULL: not known. */
static const char *recorded(const struct claim_case *c, const struct claim_function *f)
{
	const char *native = f->record ? f->record->native : NULL;

	return native && (!*native || claim_driver_is_passthrough(c, native))
		       ? native
		       : plausible(c, native);
}

/* The driver in the status of @claim. Harvester writes vfio-pci for devices that it has bound
 * itself. We write it only for devices that were on it before, and our statuses have conditions. */
static const char *told(const struct claim_case *c, const struct pcideviceclaim *claim)
{
	const struct pcideviceclaim_status *status = &claim->status;
	const char *native = status->kernel_driver_to_unbind;

	if (claim_driver_is_passthrough(c, native) &&
	    (status->conditions.len > 0 || !status->passthrough_enabled))
		return native;
	return plausible(c, native);
}

/* No agent has bound the device for @claim yet. */
static bool is_untouched(const struct pcideviceclaim *claim)
{
	const char *native = claim->status.kernel_driver_to_unbind;

	return !claim->status.passthrough_enabled && (!native || !*native);
}

/* Another program had bound it to a passthrough driver before it was claimed, for example driverctl
 * or the kernel's command line. */
static bool is_bound_before(const struct claim_case *c, const struct claim_function *f)
{
	if (f->recorded || !claim_driver_is_passthrough(c, f->driver))
		return false;
	if (f->claim)
		return is_untouched(f->claim);
	return f->cover && (!f->cover->status.passthrough_enabled ||
			    claim_driver_is_passthrough(c, told(c, f->cover)));
}

static const char *annotated(const struct claim_case *c, const struct claim_function *f)
{
	if (!c->device || strcmp(f->name, c->name) != 0)
		return NULL;
	return plausible(c, api_meta_annotation(&c->device->meta, NAMES_ANNOTATION_DRIVER));
}

bool claim_leaves_driverless(const struct claim_case *c, const struct claim_function *f,
			     const struct pcideviceclaim *claim)
{
	const char *release = claim ? claim->spec.release : NULL;

	if (release && strcmp(release, "None") == 0)
		return true;
	for (size_t i = 0; c->driverless && f->pci && i < c->driverless->len; i++) {
		const char *class_code = c->driverless->items[i];

		if (f->pci->class_code &&
		    strncmp(f->pci->class_code, class_code, strlen(class_code)) == 0)
			return true;
	}
	return false;
}

const char *claim_native(const struct claim_case *c, const struct claim_function *f)
{
	const char *native = recorded(c, f);

	if (!native && !f->recorded)
		native = plausible(c, f->driver);
	if (!native && is_bound_before(c, f))
		native = f->driver;
	if (!native && f->claim)
		native = told(c, f->claim);
	if (!native)
		native = annotated(c, f);
	if (!native && f->told && f->pci)
		native = plausible(c, f->pci->driver);
	if (!native && f->pci && !f->record && !(f->told ? f->pci->driver : f->driver))
		native = "";
	return native;
}
