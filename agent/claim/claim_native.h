/*
 * claim_native: the driver that a function returns to when its claim ends. This is a passthrough
 * driver only if the function was on it before.
 */
#pragma once

#include <stdbool.h>

struct claim_case;
struct claim_function;
struct pcideviceclaim;

/* May spec.driver name it? */
bool claim_driver_allowed(const struct claim_case *c, const char *driver);

/* Is this a passthrough driver: vfio-pci, a variant of it, pci-stub, or one that claims may name?
 * False for NULL. */
bool claim_driver_is_passthrough(const struct claim_case *c, const char *driver);

/*
 * The driver that @f goes back to; "": none; NULL: not known. Borrowed from the case.
 *
 * The first that is known of: what is recorded; the driver that it is on, if nothing has been
 * recorded; what the status of its claim says; what the annotation of its PCIDevice says; the
 * driver that the scan saw before the last transition; no driver, if it has none.
 */
const char *claim_native(const struct claim_case *c, const struct claim_function *f);

/* Will @f have no driver after @claim (NULL: not known) ends, by the claim or by the node's
 * settings? */
bool claim_leaves_driverless(const struct claim_case *c, const struct claim_function *f,
			     const struct pcideviceclaim *claim);
