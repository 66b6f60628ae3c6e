#include "controller/webhook/admission_review.h"

#include <errno.h>
#include <string.h>

#include "api/json_map.h"
#include "base/base64.h"
#include "base/err.h"
#include "unit/suite.h"

#define HEAD     "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
#define RESOURCE "\"resource\":{\"group\":\"g\",\"version\":\"v1\",\"resource\":\"things\"},"
#define USER     "\"userInfo\":{\"username\":\"ann\",\"groups\":[\"staff\"]},"
#define TAIL     "}}"

static struct parse_case {
	const char *name;
	const char *text;
	const char *wrong; /* part of the message; NULL: it is right */
} parses[] = {
	{ "a creation has an object",
	  HEAD "\"uid\":\"1\"," RESOURCE USER "\"operation\":\"CREATE\",\"object\":{}" TAIL, NULL },
	{ "a deletion has none",
	  HEAD "\"uid\":\"1\"," RESOURCE USER
	       "\"operation\":\"DELETE\",\"object\":null,\"oldObject\":{}" TAIL,
	  NULL },
	{ "an update needs one",
	  HEAD "\"uid\":\"1\"," RESOURCE USER "\"operation\":\"UPDATE\"" TAIL, "no 'object'" },
	{ "nothing is no review", "", "JSON" },
	{ "a list is none", "[]", "no AdmissionReview of admission.k8s.io/v1" },
	{ "v1beta1 is not spoken",
	  "{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":\"AdmissionReview\"}",
	  "no AdmissionReview of admission.k8s.io/v1" },
	{ "it asks for something",
	  "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}", "no 'request'" },
	{ "a request has a uid", HEAD RESOURCE USER "\"operation\":\"DELETE\"" TAIL, "no 'uid'" },
	{ "a uid is text", HEAD "\"uid\":1," RESOURCE USER "\"operation\":\"DELETE\"" TAIL,
	  "'uid' of the review is no text" },
	{ "a name ends where it ends",
	  HEAD "\"uid\":\"1\"," RESOURCE USER
	       "\"operation\":\"DELETE\",\"name\":\"a\\u0000b\"" TAIL,
	  "'name' of the review is no text" },
	{ "an operation is a known one",
	  HEAD "\"uid\":\"1\"," RESOURCE USER "\"operation\":\"TURN\"" TAIL,
	  "'TURN' is no operation" },
	{ "it has a resource", HEAD "\"uid\":\"1\"," USER "\"operation\":\"DELETE\"" TAIL,
	  "no 'resource'" },
	{ "somebody asks", HEAD "\"uid\":\"1\"," RESOURCE "\"operation\":\"DELETE\"" TAIL,
	  "no 'userInfo'" },
	{ "an object is an object",
	  HEAD "\"uid\":\"1\"," RESOURCE USER "\"operation\":\"CREATE\",\"object\":[]" TAIL,
	  "'object' of the review is no object" },
	{ "what follows is too much",
	  HEAD "\"uid\":\"1\"," RESOURCE USER "\"operation\":\"DELETE\"" TAIL "x", "JSON" },
};

SUITE_CLOSING(admission_review, struct admission_review, admission_review_done);
SUITE_FIXTURE(admission_answer, struct admission_answer, admission_answer_init,
	      admission_answer_done);

static void review_is_read(void **state)
{
	const struct parse_case *c = suite_row(state);
	struct admission_review *review = *state;
	struct err err = { 0 };
	int r = admission_review_parse(c->text, strlen(c->text), review, &err);

	assert_int_equal(r, c->wrong ? -EINVAL : 0);
	if (c->wrong)
		assert_non_null(strstr(err.msg, c->wrong));
}

static void a_request_has_all_parts(void **state)
{
	static const char text[] = HEAD
		"\"uid\":\"u-1\"," RESOURCE USER
		"\"subResource\":\"status\",\"name\":\"n\",\"namespace\":\"ns\",\"operation\":\"UPDATE\","
		"\"dryRun\":true,\"object\":{\"a\":1},\"oldObject\":{\"a\":2}" TAIL;
	struct admission_review *review = *state;
	const struct admission_request *request = &review->request;

	assert_int_equal(admission_review_parse(text, strlen(text), review, NULL), 0);
	assert_string_equal(request->uid, "u-1");
	assert_string_equal(request->group, "g");
	assert_string_equal(request->version, "v1");
	assert_string_equal(request->resource, "things");
	assert_string_equal(request->subresource, "status");
	assert_string_equal(request->name, "n");
	assert_string_equal(request->ns, "ns");
	assert_string_equal(request->user, "ann");
	assert_int_equal(request->operation, ADMISSION_UPDATE);
	assert_true(request->dry_run);
	assert_int_equal(json_integer_value(json_object_get(request->object, "a")), 1);
	assert_int_equal(json_integer_value(json_object_get(request->old_object, "a")), 2);
	assert_int_equal(json_array_size(json_object_get(request->user_info, "groups")), 1);
}

static void what_is_absent_is_empty(void **state)
{
	static const char text[] =
		HEAD "\"uid\":\"1\",\"resource\":{},\"userInfo\":{},\"operation\":\"CONNECT\"" TAIL;
	struct admission_review *review = *state;
	const struct admission_request *request = &review->request;

	assert_int_equal(admission_review_parse(text, strlen(text), review, NULL), 0);
	assert_string_equal(request->group, "");
	assert_string_equal(request->subresource, "");
	assert_string_equal(request->name, "");
	assert_string_equal(request->user, "");
	assert_false(request->dry_run);
	assert_null(request->object);
	assert_null(request->old_object);
}

/* A creation whose object has a list of @n ones, and a text full of brackets. */
static void long_review(struct str *out, size_t n)
{
	str_add(out, HEAD "\"uid\":\"1\"," RESOURCE USER
			  "\"operation\":\"CREATE\",\"object\":{\"t\":\"[[[{{,,\\\",[\",\"l\":[");
	for (size_t i = 0; i < n; i++)
		str_add(out, i ? ",1" : "1");
	str_add(out, "]}" TAIL);
}

static struct size_case {
	const char *name;
	size_t values;
	int result;
} sizes[] = {
	{ "many values are read", ADMISSION_VALUES_MAX - 32, 0 },
	{ "too many values are not", ADMISSION_VALUES_MAX, -EMSGSIZE },
	{ "nor is a text that is too long", ADMISSION_TEXT_MAX / 2, -EMSGSIZE },
};

static void size_is_bounded(void **state)
{
	const struct size_case *c = suite_row(state);
	struct admission_review *review = *state;
	auto_str struct str text = STR_INIT;
	struct err err = { 0 };

	long_review(&text, c->values);
	assert_int_equal(admission_review_parse(str_cstr(&text), text.len, review, &err),
			 c->result);
	assert_true(c->result == 0 || strstr(err.msg, "the review has "));
}

static void answers(const char *uid, const struct admission_answer *answer, const char *expected)
{
	auto_str struct str out = STR_INIT;
	auto_free char *whole = NULL;

	admission_review_answer(uid, answer, &out);
	whole = xasprintf("{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
			  "\"response\":{\"uid\":\"%s\",%s}}",
			  uid, expected);
	assert_string_equal(str_cstr(&out), whole);
}

static void an_answer_is_written(void **state)
{
	struct admission_answer *answer = *state;

	answers("1", answer, "\"allowed\":true");
	admission_answer_warn(answer, "%s is slow", "it");
	admission_answer_warn(answer, "%s is slow", "it");
	answers("1", answer, "\"allowed\":true,\"warnings\":[\"it is slow\"]");
	admission_answer_refuse(answer, 422, "spec.%s: no", "a");
	admission_answer_refuse(answer, 403, "bad\n%s", "\xff");
	answers("2", answer,
		"\"allowed\":false,\"status\":{\"status\":\"Failure\",\"code\":422,\"reason\":\"Invalid\","
		"\"message\":\"spec.a: no; bad\\\\x0a\\\\xff\"},\"warnings\":[\"it is slow\"]");
}

static void a_patch_is_written(void **state)
{
	struct admission_answer *answer = *state;
	auto_str struct str pointer = STR_INIT;
	auto_str struct str out = STR_INIT;
	auto_json json_t *review = NULL;
	auto_free char *patch = NULL;
	const char *text = NULL;
	size_t len;

	admission_pointer_add(&pointer, "metadata");
	admission_pointer_add(&pointer, "a~b/c");
	assert_string_equal(str_cstr(&pointer), "/metadata/a~0b~1c");
	admission_answer_patch(answer, "add", str_cstr(&pointer), json_string("x"));
	admission_answer_patch(answer, "remove", "/b", NULL);
	admission_review_answer("1", answer, &out);
	assert_int_equal(json_map_load(str_cstr(&out), out.len, &review, NULL), 0);
	assert_int_equal(json_unpack(review, "{s:{s:s}}", "response", "patch", &text), 0);
	assert_true(base64_decode(text, strlen(text), &patch, &len));
	assert_string_equal(patch,
			    "[{\"op\":\"add\",\"path\":\"/metadata/a~0b~1c\",\"value\":\"x\"},"
			    "{\"op\":\"remove\",\"path\":\"/b\"}]");
	assert_non_null(strstr(str_cstr(&out), "\"patchType\":\"JSONPatch\""));

	/* Of a refusal there is nothing to patch. */
	str_clear(&out);
	admission_answer_refuse(answer, 403, "no");
	admission_review_answer("1", answer, &out);
	assert_null(strstr(str_cstr(&out), "patch"));
}

static void an_answer_is_bounded(void **state)
{
	struct admission_answer *answer = *state;
	auto_free char *word = xmalloc(4096);

	memset(word, 'x', 4095);
	word[4095] = '\0';
	for (int i = 0; i < 100; i++) {
		admission_answer_warn(answer, "%d %s", i, word);
		admission_answer_refuse(answer, 422, "%s", word);
	}
	assert_int_equal(answer->warnings.len, ADMISSION_WARNINGS_MAX);
	assert_int_equal(strlen(answer->warnings.items[0]), ADMISSION_WARNING_MAX);
	assert_int_equal(answer->message.len, ADMISSION_MESSAGE_MAX);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &admission_review_fixture);
	suite_rows(&suite, parses, review_is_read);
	suite_rows(&suite, sizes, size_is_bounded);
	suite_add(&suite, "a request has all parts", a_request_has_all_parts, NULL);
	suite_add(&suite, "what is absent is empty", what_is_absent_is_empty, NULL);
	suite_fixture(&suite, &admission_answer_fixture);
	suite_add(&suite, "an answer is written", an_answer_is_written, NULL);
	suite_add(&suite, "a patch is written", a_patch_is_written, NULL);
	suite_add(&suite, "an answer is bounded", an_answer_is_bounded, NULL);
	return suite_run(&suite, "admission_review");
}
