/* Any bytes as what a kubelet sends and gets, and any text as a ResourceClaim, by the first byte:
 * what is read is in bounds and can be written, and what is written is read as the same. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/dra/dra_codec.h"
#include "api/names.h"
#include "api/resourceclaim.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "fake/kubelet/dra_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_claims(const char *data, size_t len)
{
	struct dra_claims claims = { 0 };
	struct dra_claims again = { 0 };
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	if (dra_codec_read_claims(data, len, &claims, &err) < 0) {
		assert(err.code < 0 && err.msg[0] && claims.len == 0);
		return;
	}
	assert(claims.len <= DRA_CLAIMS_MAX);
	for (size_t i = 0; i < claims.len; i++) {
		assert(strlen(claims.items[i].uid) <= DRA_UID_MAX);
		assert(!strpbrk(claims.items[i].uid, "./"));
		assert(names_valid_object(claims.items[i].ns));
		assert(names_valid_object(claims.items[i].name));
	}
	assert(dra_codec_write_claims(&claims, &out, NULL) == 0);
	assert(dra_codec_read_claims(str_cstr(&out), out.len, &again, NULL) == 0);
	assert(again.len == claims.len);
	dra_claims_done(&again);
	dra_claims_done(&claims);
}

static void try_prepared(const char *data, size_t len)
{
	struct dra_results results = { 0 };
	struct dra_results again = { 0 };
	auto_str struct str out = STR_INIT;

	if (dra_codec_read_prepared(data, len, &results, NULL) < 0)
		return;
	assert(dra_codec_write_prepared(&results, &out, NULL) == 0);
	assert(dra_codec_read_prepared(str_cstr(&out), out.len, &again, NULL) == 0);
	assert(again.len == results.len);
	for (size_t i = 0; i < results.len; i++)
		assert(again.items[i].devices.len == results.items[i].devices.len);
	dra_results_done(&again);
	dra_results_done(&results);
}

static void try_unprepared(const char *data, size_t len)
{
	struct dra_results results = { 0 };
	auto_str struct str out = STR_INIT;
	auto_str struct str text = STR_INIT;

	if (dra_codec_read_unprepared(data, len, &results, NULL) == 0)
		assert(dra_codec_write_unprepared(&results, &out, NULL) == 0);
	(void)dra_codec_read_health(data, len, &text, NULL);
	dra_results_done(&results);
}

static void try_object(const char *data, size_t len)
{
	struct resourceclaim *claim = NULL;
	struct err err = { 0 };

	if (resourceclaim_parse(data, len, &claim, &err) < 0) {
		assert(err.code < 0 && err.msg[0] && !claim);
		return;
	}
	for (size_t i = 0; i < claim->status.allocation.devices.results.len; i++) {
		const struct resourceclaim_result *result =
			&claim->status.allocation.devices.results.items[i];
		auto_free char *base = resourceclaim_base_request(result->request);

		assert(strncmp(base, result->request, strlen(base)) == 0 && !strchr(base, '/'));
	}
	resourceclaim_free(claim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const tries[])(const char *data, size_t len) = { try_claims, try_prepared,
								       try_unprepared, try_object };

	if (size > 0)
		tries[data[0] % ARRAY_LEN(tries)]((const char *)data + 1, size - 1);
	return 0;
}
