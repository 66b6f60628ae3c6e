/*
 * fuzz_admission_review: any text as a review. What is read has all its texts, is as large as the
 * bounds say, and its answer, a patch of what was asked about included, can be read again.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/json_map.h"
#include "base/err.h"
#include "controller/webhook/admission_review.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct admission_request *request)
{
	auto_str struct str pointer = STR_INIT;
	auto_str struct str out = STR_INIT;
	auto_json json_t *again = NULL;
	struct admission_answer answer;

	admission_answer_init(&answer);
	admission_pointer_add(&pointer, request->name);
	admission_answer_patch(&answer, "add", str_cstr(&pointer), json_string(request->user));
	admission_answer_warn(&answer, "%s", request->resource);
	if (request->operation == ADMISSION_DELETE)
		admission_answer_refuse(&answer, 403, "%s '%s'", request->resource, request->name);
	admission_review_answer(request->uid, &answer, &out);
	assert(json_map_load(str_cstr(&out), out.len, &again, NULL) == 0);
	admission_answer_done(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct admission_review review = { 0 };
	const struct admission_request *request = &review.request;
	struct err err = { 0 };

	if (admission_review_parse((const char *)data, size, &review, &err) < 0) {
		assert(err.kind == ERR_INVALID && err.msg[0]);
		assert(!review.json);
		return 0;
	}
	assert(request->uid[0] && request->group && request->version && request->resource);
	assert(request->subresource && request->name && request->ns && request->user);
	assert(json_is_object(request->user_info));
	assert(request->object || request->operation == ADMISSION_DELETE ||
	       request->operation == ADMISSION_CONNECT);
	check_answer(request);
	admission_review_done(&review);
	return 0;
}
