#include "unit/suite.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
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
	struct map_verdict verdict = map_guard_check(&guard, &c->request);

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
		struct map_verdict verdict = map_guard_check(&guard, &judge_cases[i].request);

		if (verdict.why)
			assert_null(strstr(verdict.why, TOKEN));
	}
}

static void port_80_is_left_out_of_a_host(void **state)
{
	const struct map_guard at_80 = { .token = TOKEN, .port = 80 };
	struct map_request request = { "GET", "127.0.0.1", "/" TOKEN "/" };

	assert_int_equal(map_guard_check(&at_80, &request).status, 200);
	request.host = "evil.example";
	assert_int_equal(map_guard_check(&at_80, &request).status, 421);
}

static const char token[MAP_TOKEN_SIZE] = "0123456789abcdef0123456789abcdef";

static struct is_case {
	const char *name;
	const char *text;
	bool is;
} is_cases[] = {
	{ "the token is itself", "0123456789abcdef0123456789abcdef", true },
	{ "another first letter is not it", "1123456789abcdef0123456789abcdef", false },
	{ "another last letter is not it", "0123456789abcdef0123456789abcdee", false },
	{ "a part of it is not it", "0123456789abcdef0123456789abcde", false },
	{ "more than it is not it", "0123456789abcdef0123456789abcdef0", false },
	{ "nothing is not it", "", false },
	{ "capitals are others", "0123456789ABCDEF0123456789abcdef", false },
};

static void text_is_token(void **state)
{
	const struct is_case *c = *state;

	assert_int_equal(map_token_is(token, c->text, strlen(c->text)), c->is);
}

static void one_bit_makes_another(void **state)
{
	for (size_t i = 0; i < MAP_TOKEN_LEN * (size_t)8; i++) {
		char other[MAP_TOKEN_SIZE];

		memcpy(other, token, sizeof(other));
		other[i / 8] = (char)(other[i / 8] ^ (1 << i % 8));
		assert_false(map_token_is(token, other, MAP_TOKEN_LEN));
	}
}

static void tokens_are_random_hexadecimal(void **state)
{
	char made[16][MAP_TOKEN_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(made); i++) {
		assert_int_equal(map_token_make(made[i], NULL), 0);
		assert_int_equal(strlen(made[i]), MAP_TOKEN_LEN);
		assert_int_equal(strspn(made[i], "0123456789abcdef"), MAP_TOKEN_LEN);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(made[i], made[k]);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, judge_cases, request_is_judged);
	suite_add(&suite, "no refusal tells the token", no_refusal_tells_the_token, NULL);
	suite_add(&suite, "port 80 is left out of a host", port_80_is_left_out_of_a_host, NULL);
	suite_rows(&suite, is_cases, text_is_token);
	suite_add(&suite, "a token of which one bit is another is not it", one_bit_makes_another,
		  NULL);
	suite_add(&suite, "tokens are random hexadecimal", tokens_are_random_hexadecimal, NULL);
	return suite_run(&suite, "map_guard");
}
