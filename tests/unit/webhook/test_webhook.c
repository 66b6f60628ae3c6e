#include "controller/webhook/webhook.h"

#include <string.h>

#include "base/str.h"
#include "controller/webhook/admission_review.h"
#include "kube/metrics.h"
#include "unit/suite.h"

#define REVIEW(operation)                                                                    \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{" \
	"\"uid\":\"1\",\"resource\":{},\"userInfo\":{},\"operation\":\"" operation "\"}}"

static void validate(void *arg, const struct admission_request *request,
		     struct admission_answer *answer)
{
	(void)arg;
	if (request->operation == ADMISSION_DELETE)
		admission_answer_refuse(answer, 403, "no");
}

static void mutate(void *arg, const struct admission_request *request,
		   struct admission_answer *answer)
{
	(void)arg;
	(void)request;
	admission_answer_patch(answer, "remove", "/a", NULL);
}

static struct service_case {
	const char *name;
	const char *path;
	const char *body;
	int status;
	const char *part;
	const char *metric; /* "" for none */
} cases[] = {
	{ "what is right is allowed", "/validate", REVIEW("CONNECT"), 200, "\"allowed\":true}",
	  "{path=\"validate\",result=\"allowed\"} 1" },
	{ "what is wrong is refused", "/validate", REVIEW("DELETE"), 200, "\"allowed\":false",
	  "{path=\"validate\",result=\"refused\"} 1" },
	{ "mutation is another question", "/mutate", REVIEW("DELETE"), 200, "\"patchType\"",
	  "{path=\"mutate\",result=\"allowed\"} 1" },
	{ "what is no review is no question", "/mutate", "{}", 400,
	  "the body is no AdmissionReview", "{path=\"mutate\",result=\"invalid\"} 1" },
	{ "nothing else is answered", "/metrics", REVIEW("CONNECT"), 404,
	  "there is /validate and /mutate", "" },
};

SUITE_OBJECT(metrics, metrics_new(), metrics_free);

static void post_is_answered(void **state)
{
	const struct service_case *c = suite_row(state);
	struct admission_rules rules = { .validate = validate, .mutate = mutate };
	struct metrics *metrics = *state;
	struct admission_service *service = admission_service_new(&rules, metrics);
	auto_str struct str out = STR_INIT;
	auto_str struct str seen = STR_INIT;
	auto_free char *counted = NULL;

	assert_int_equal(
		admission_service_answer(service, c->path, false, c->body, strlen(c->body), &out),
		c->status);
	assert_non_null(strstr(str_cstr(&out), c->part));
	metrics_write(metrics, &seen);
	assert_non_null(strstr(str_cstr(&seen), c->metric));
	counted = xasprintf("hostdev_webhook_seconds_count{path=\"%s\"} 1\n", c->path + 1);
	assert_int_equal(strstr(str_cstr(&seen), counted) != NULL, *c->metric != '\0');
	admission_service_free(service);
}

static void see_verified(void *arg, const struct admission_request *request,
			 struct admission_answer *answer)
{
	bool *verified = arg;

	(void)answer;
	*verified = request->verified;
}

/* Whatever its text says. */
static void the_rules_hear_whether_an_api_server_asks(void **state)
{
	static const char body[] = REVIEW("DELETE");

	(void)state;
	for (int i = 0; i < 2; i++) {
		bool verified = i == 0;
		struct admission_rules rules = { .validate = see_verified, .arg = &verified };
		struct admission_service *service = admission_service_new(&rules, NULL);
		auto_str struct str out = STR_INIT;

		assert_int_equal(admission_service_answer(service, "/validate", i == 1, body,
							  strlen(body), &out),
				 200);
		assert_int_equal(verified, i == 1);
		admission_service_free(service);
	}
}

static void a_review_that_is_too_large_is_told_so(void **state)
{
	struct admission_rules rules = { .validate = validate, .mutate = mutate };
	struct admission_service *service = admission_service_new(&rules, NULL);
	auto_str struct str body = STR_INIT;
	auto_str struct str out = STR_INIT;

	for (size_t i = 0; i <= ADMISSION_VALUES_MAX; i++)
		str_add_char(&body, '[');
	assert_int_equal(
		admission_service_answer(service, "/validate", false, body.buf, body.len, &out),
		413);
	assert_non_null(strstr(str_cstr(&out), "values: shorten the object\n"));
	admission_service_free(service);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a review that is too large is told so",
		  a_review_that_is_too_large_is_told_so, NULL);
	suite_add(&suite, "the rules hear whether an API server asks",
		  the_rules_hear_whether_an_api_server_asks, NULL);
	suite_fixture(&suite, &metrics_fixture);
	suite_rows(&suite, cases, post_is_answered);
	return suite_run(&suite, "admission_service");
}
