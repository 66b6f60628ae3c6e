/* claim_store: claims as an API server keeps them: what is written is stored, preconditions
 * count. */
#pragma once

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/names.h"
#include "api/object.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/num.h"
#include "kube/store.h"
#include "unit/kube/objects.h"
#include "unit/suite.h"

#define NODE     "node1"
#define ADDRESS  "0000:01:00.0"
#define NAME     "node1-000001000"
#define SIBLING  "0000:01:00.1"
#define SIBLINGS "node1-000001001" /* name of the sibling's claim */

static inline void claim_store_put(struct store *store, const json_t *object)
{
	object_put(store, &pcideviceclaim_kind, object);
}

/* Make the patch on the stored claim, which must be the one that the patch was made for. */
static inline void claim_store_patch(struct store *store, const char *name, json_t *patch)
{
	const struct pcideviceclaim *claim = store_object(store, name);
	auto_json json_t *object = NULL;
	auto_free char *version = NULL;
	uint64_t number = 0;
	json_t *meta;

	assert_non_null(claim);
	assert_string_equal(object_meta_text(patch, "uid"), claim->meta.uid);
	assert_string_equal(object_meta_text(patch, "resourceVersion"),
			    claim->meta.resource_version);
	object = api_object_encode(&pcideviceclaim_kind, claim);
	object_merge(object, patch);
	meta = json_object_get(object, "metadata");
	assert_true(str_to_u64(claim->meta.resource_version, &number));
	version = xasprintf("%" PRIu64, number + 1);
	json_object_set_new(meta, "resourceVersion", json_string(version));
	if (json_object_get(patch, "spec"))
		json_object_set_new(meta, "generation", json_integer(claim->meta.generation + 1));
	claim_store_put(store, object);
}
