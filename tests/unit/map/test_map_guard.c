#include "unit/suite.h"

#include <string.h>

#include "cli/map/map_guard.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define OURS  "127.0.0.1:8800"

static const struct map_guard guard = { .token = TOKEN, .port = 8800 };

static struct judge_case {
	const char *name;
	struct map_request request;
	unsigned status;
	const char *page;
} judge_cases[] = {
	{ "the page", { "GET", OURS, "/" TOKEN "/" }, 200, "" },
	{ "a file", { "GET", OURS, "/" TOKEN "/map.js" }, 200, "map.js" },
	{ "by the name localhost", { "GET", "LocalHost:8800", "/" TOKEN "/" }, 200, "" },
	{ "another host's name: DNS rebinding",
	  { "GET", "evil.example:8800", "/" TOKEN "/" },
	  421,
	  NULL },
	{ "an address with more behind",
	  { "GET", OURS ".evil.example", "/" TOKEN "/" },
	  421,
	  NULL },
	{ "another port", { "GET", "127.0.0.1:8801", "/" TOKEN "/" }, 421, NULL },
	{ "no port", { "GET", "127.0.0.1", "/" TOKEN "/" }, 421, NULL },
	{ "another address of this machine",
	  { "GET", "127.0.0.2:8800", "/" TOKEN "/" },
	  421,
	  NULL },
	{ "no host", { "GET", NULL, "/" TOKEN "/" }, 421, NULL },
	{ "an empty host", { "GET", "", "/" TOKEN "/" }, 421, NULL },
	{ "POST", { "POST", OURS, "/" TOKEN "/" }, 405, NULL },
	{ "HEAD", { "HEAD", OURS, "/" TOKEN "/" }, 405, NULL },
	{ "OPTIONS, which CORS begins with", { "OPTIONS", OURS, "/" TOKEN "/" }, 405, NULL },
	{ "a method in small letters", { "get", OURS, "/" TOKEN "/" }, 405, NULL },
	{ "no token", { "GET", OURS, "/" }, 403, NULL },
	{ "no token for a file", { "GET", OURS, "/map.js" }, 403, NULL },
	{ "another token", { "GET", OURS, "/1123456789abcdef0123456789abcdef/" }, 403, NULL },
	{ "the token and no slash", { "GET", OURS, "/" TOKEN }, 403, NULL },
	{ "the token and more", { "GET", OURS, "/" TOKEN "0/" }, 403, NULL },
	{ "the token further down", { "GET", OURS, "/x/" TOKEN "/" }, 403, NULL },
	{ "an empty path", { "GET", OURS, "" }, 403, NULL },
	{ "a proxy's address", { "GET", OURS, "http://" OURS "/" TOKEN "/" }, 403, NULL },
};

static void request_is_judged(void **state)
{
	const struct judge_case *c = *state;
	struct map_verdict verdict = map_guard_judge(&guard, &c->request);

	assert_int_equal(verdict.status, c->status);
	if (c->status == 200)
		assert_string_equal(verdict.page, c->page);
	else
		assert_true(strlen(verdict.why) > 0);
}

/* A refusal must not say what is right. */
static void no_refusal_tells_the_token(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(judge_cases); i++) {
		struct map_verdict verdict = map_guard_judge(&guard, &judge_cases[i].request);

		if (verdict.why)
			assert_null(strstr(verdict.why, TOKEN));
	}
}

static void port_80_is_left_out_of_a_host(void **state)
{
	const struct map_guard at_80 = { .token = TOKEN, .port = 80 };
	struct map_request request = { "GET", "127.0.0.1", "/" TOKEN "/" };

	assert_int_equal(map_guard_judge(&at_80, &request).status, 200);
	request.host = "evil.example";
	assert_int_equal(map_guard_judge(&at_80, &request).status, 421);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, judge_cases, request_is_judged);
	suite_add(&suite, "no refusal tells the token", no_refusal_tells_the_token, NULL);
	suite_add(&suite, "port 80 is left out of a host", port_80_is_left_out_of_a_host, NULL);
	return suite_run(&suite, "map_guard");
}
