#include "api/override.h"

#include <stddef.h>
#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/mem.h"

/* Not in it: what cannot be lent (NoIOMMU, HostBridge, VirtualFunctionsActive), and what passes (InUse). */
static const char *const lifted[] = {
	"HostFunction", "HostFilesystem", "HostSwap",          "HostNetwork",
	"Console",      "UseUnknown",     "GroupHostCritical", "WideDomain",
};

bool override_lifts(const char *reason)
{
	for (size_t i = 0; reason && i < ARRAY_LEN(lifted); i++) {
		if (strcmp(lifted[i], reason) == 0)
			return true;
	}
	return false;
}

bool override_lifts_usb(const char *reason)
{
	return reason && strcmp(reason, "UseUnknown") == 0;
}

bool override_given(const struct api_meta *meta, const char *reason)
{
	const char *value = api_meta_annotation(meta, NAMES_ANNOTATION_OVERRIDE);

	return value && strcmp(value, "true") == 0 && override_lifts(reason);
}
