/*
 * fuzz_object: any text as an object of each kind (the first byte chooses it). What decodes is
 * written and decoded again, and must be the same; a copy equals it, and the fast reader agrees.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/event.h"
#include "api/json_map_read.h"
#include "api/lease.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/resourceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/err.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct api_kind *const kinds[] = {
	&pcidevice_kind, &pcideviceclaim_kind, &usbdevice_kind,     &usbdeviceclaim_kind,
	&event_kind,     &lease_kind,          &resourceclaim_kind,
};

/* The readers know nothing of kind and apiVersion, so they are asked about the map alone. */
static void check_readers_agree(const struct api_kind *kind, const char *text, size_t len)
{
	void *slow = xmalloc(kind->size);
	void *fast = xmalloc(kind->size);
	struct err slow_err = { 0 };
	struct err fast_err = { 0 };
	int r = json_map_parse(kind->map, text, len, slow, &slow_err);

	assert(json_map_read(kind->map, text, len, fast, &fast_err) == r);
	assert(strcmp(slow_err.msg, fast_err.msg) == 0);
	assert(json_map_equal(kind->map, slow, fast));
	json_map_done(kind->map, slow);
	json_map_done(kind->map, fast);
	free(slow);
	free(fast);
}

static void check_comes_through(const struct api_kind *kind, const void *object)
{
	auto_json json_t *json = api_object_encode(kind, object);
	void *copy = api_object_copy(kind, object);
	void *again = NULL;

	assert(api_object_equal(kind, object, copy));
	assert(api_object_decode(kind, json, &again, NULL) == 0);
	assert(api_object_equal(kind, object, again));
	api_object_free(kind, copy);
	api_object_free(kind, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	const struct api_kind *kind;
	auto_json json_t *json = NULL;
	void *object = NULL;
	struct err err = { 0 };

	if (size == 0)
		return 0;
	kind = kinds[data[0] % ARRAY_LEN(kinds)];
	check_readers_agree(kind, text, size - 1);

	if (json_map_load(text, size - 1, &json, &err) < 0 ||
	    api_object_decode(kind, json, &object, &err) < 0) {
		assert(err.kind == ERR_INVALID && err.msg[0]);
		return 0;
	}
	check_comes_through(kind, object);
	api_object_free(kind, object);
	return 0;
}
