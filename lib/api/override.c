#include "api/override.h"

#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "api/reason.h"

bool override_lifts(const char *reason)
{
	return reason_is(reason, REASON_LIFTED);
}

bool override_lifts_usb(const char *reason)
{
	return reason_is(reason, REASON_LIFTED_USB);
}

bool override_applies(const struct api_meta *meta, const char *reason)
{
	const char *value = api_meta_annotation(meta, NAMES_ANNOTATION_OVERRIDE);

	return value && strcmp(value, "true") == 0 && override_lifts(reason);
}
