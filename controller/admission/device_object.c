#include "controller/admission/rule.h"

#include "api/names.h"
#include "api/offered_resource.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "controller/admission/annotation_rule.h"
#include "controller/admission/known.h"

bool resource_misnamed(const struct rule_case *c, const struct api_meta *meta,
		       const struct api_meta *old)
{
	const char *refused = offered_resource_refused(meta, NULL);
	auto_free char *shown = NULL;

	if (!refused || known_same(refused, old ? offered_resource_refused(old, NULL) : NULL))
		return false;
	shown = rule_quote(refused);
	return rule_refuse(c, RULE_INVALID,
			   "the annotation " NAMES_ANNOTATION_RESOURCE_NAME
			   " is '%s', but %s: " NAMES_OFFERED_RESOURCE_FORM
			   ", such as 'vendor.com/NIC'",
			   shown, offered_resource_reason(refused));
}

void pci_device_write(const struct rule_case *c)
{
	const struct pcidevice *device = c->object;
	const struct pcidevice *old = c->old;
	const struct api_meta *before = old ? &old->meta : NULL;

	if (!resource_misnamed(c, &device->meta, before))
		annotation_rule(c, &device->meta, before, ANNOTATION_OF_PCIDEVICE);
}

/* The garbage collector would delete the claims that the device owns. */
static void refuse_claimed(const struct rule_case *c, const char *kind, const char *name)
{
	rule_refuse(c, RULE_CONFLICT,
		    "%s '%s' would be deleted with it, and its user would lose the device: delete "
		    "that claim first",
		    kind, name);
}

void pci_device_delete(const struct rule_case *c)
{
	const struct pcidevice *old = c->old;
	const struct view *claim = known_pciclaim(c->known, old->meta.name);

	if (!old->meta.deletion_timestamp && claim && !claim->deleting &&
	    !known_node_gone(c->known, old->status.node_name))
		refuse_claimed(c, pcideviceclaim_kind.kind, old->meta.name);
}

void usb_device_delete(const struct rule_case *c)
{
	const struct usbdevice *old = c->old;
	const struct view *claim = known_usbclaim(c->known, old->meta.name);

	if (old->meta.deletion_timestamp || known_node_gone(c->known, old->status.node_name))
		return;
	if (claim && !claim->deleting)
		refuse_claimed(c, usbdeviceclaim_kind.kind, old->meta.name);
	else if (old->status.enabled)
		rule_refuse(c, RULE_CONFLICT,
			    "it is claimed (status.enabled): delete its USBDeviceClaim first");
}
