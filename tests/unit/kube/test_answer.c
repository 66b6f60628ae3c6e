#include "unit/suite.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/answer.h"

static struct answer_case {
	const char *name;
	int status;
	const char *body;
	int code;
	enum err_kind kind;
	const char *message;
} answers[] = {
	{ "200 is good", 200, "{}", 0, ERR_NONE, "" },
	{ "201 is good", 201, "{}", 0, ERR_NONE, "" },
	{ "a Status is quoted", 403, "{\"kind\":\"Status\",\"message\":\"pods is forbidden\"}",
	  -EACCES, ERR_RETRY, "403 forbidden: pods is forbidden" },
	{ "401 says whose fault it is", 401, "", -EACCES, ERR_RETRY,
	  "401 unauthorized: the credentials are not accepted" },
	{ "404 is absent", 404, "404 page not found\n", -ENOENT, ERR_INVALID,
	  "404 not found: 404 page not found" },
	{ "409 is a stale view", 409, "{\"reason\":\"Conflict\",\"message\":\"modified\"}", -ESTALE,
	  ERR_CONFLICT, "409 conflict: modified" },
	{ "409 AlreadyExists is another matter", 409,
	  "{\"reason\":\"AlreadyExists\",\"message\":\"exists\"}", -EEXIST, ERR_CONFLICT,
	  "409 conflict: exists" },
	{ "410 is a stale view", 410, "{\"message\":\"too old\"}", -ESTALE, ERR_CONFLICT,
	  "410 gone: too old" },
	{ "422 is the object's fault", 422, "{\"message\":\"spec.x: Required\"}", -EINVAL,
	  ERR_INVALID, "422 not valid: spec.x: Required" },
	{ "a field that the definition does not have is there once that is upgraded", 422,
	  "{\"message\":\"strict decoding error: unknown field \\\"status.step\\\"\"}", -EINVAL,
	  ERR_RETRY,
	  "422 the cluster's definition is older than this program, apply crds/: strict decoding error: "
	  "unknown field \"status.step\"" },
	{ "so is what an apply says of it", 500,
	  "{\"message\":\"failed to create typed patch object: .status.role: field not declared in schema\"}",
	  -EREMOTEIO, ERR_RETRY,
	  "500 the cluster's definition is older than this program, apply crds/: failed to create typed "
	  "patch object: .status.role: field not declared in schema" },
	{ "429 is for later", 429, "", -EAGAIN, ERR_RETRY, "429 too many requests" },
	{ "503 is for later", 503, "{\"message\":5}", -EREMOTEIO, ERR_RETRY, "503 server error" },
	{ "what a proxy says is cleaned and cut at its first line", 502, "<h1>\xff\x1b</h1>\nmore",
	  -EREMOTEIO, ERR_RETRY, "502 server error: <h1>\\xff\\x1b</h1>" },
	{ "a redirect is not an answer", 302, "", -EIO, ERR_RETRY,
	  "302 not an answer of an API server" },
	{ "no status is not an answer", 0, "", -EIO, ERR_RETRY,
	  "0 not an answer of an API server" },
	{ "a Status with control characters forges nothing", 400, "{\"message\":\"a\\nb\"}",
	  -EINVAL, ERR_INVALID, "400 bad request: a\\x0ab" },
};

static void answer_means(void **state)
{
	const struct answer_case *c = *state;
	struct err err = { 0 };

	assert_int_equal(answer_result(c->status, c->body, strlen(c->body), &err), c->code);
	assert_int_equal(err.kind, c->kind);
	assert_string_equal(err.msg, c->message);
}

static void deep_nesting_is_just_text(void **state)
{
	auto_str struct str body = STR_INIT;
	struct err err = { 0 };

	for (int i = 0; i < 10000; i++)
		str_add(&body, "{\"a\":");
	assert_int_equal(answer_result(500, str_cstr(&body), body.len, &err), -EREMOTEIO);
	assert_non_null(strstr(err.msg, "500 server error: {\"a\":{\"a\":"));
}

static struct warning_case {
	const char *name;
	const char *line;
	const char *text; /* "" for none */
} lines[] = {
	{ "a warning as API servers send it", "Warning: 299 - \"the group is shared\"\r\n",
	  "the group is shared\n" },
	{ "HTTP/2 has lower case", "warning: 299 - \"x\"\r\n", "x\n" },
	{ "quotes inside are escaped", "Warning: 299 - \"a \\\"b\\\\c\\\"\"\r\n", "a \"b\\c\"\n" },
	{ "a date behind it is of no interest",
	  "Warning: 299 - \"x\" \"Wed, 21 Oct 2015 07:28:00 GMT\"\r\n", "x\n" },
	{ "another header is none", "Content-Type: application/json\r\n", "" },
	{ "a header that begins alike is none", "Warnings: 299 - \"x\"\r\n", "" },
	{ "another code is none", "Warning: 110 - \"stale\"\r\n", "" },
	{ "another agent is none", "Warning: 299 host \"x\"\r\n", "" },
	{ "one without an end is none", "Warning: 299 - \"x\r\n", "" },
	{ "one that ends in a backslash is none", "Warning: 299 - \"x\\", "" },
	{ "an empty line is none", "\r\n", "" },
	{ "control characters are shown", "Warning: 299 - \"a\033[31mb\"\r\n", "a\\x1b[31mb\n" },
};

static void line_gives_text(void **state)
{
	const struct warning_case *c = *state;
	auto_str struct str text = STR_INIT;

	answer_add_warning(&text, c->line, strlen(c->line));
	assert_string_equal(str_cstr(&text), c->text);
}

static void any_cut_is_no_overrun(void **state)
{
	static const char line[] = "Warning: 299 - \"a\\\"b\"";

	for (size_t len = 0; len < sizeof(line) - 1; len++) {
		auto_free char *copy = xmalloc(len ? len : 1);
		auto_str struct str text = STR_INIT;

		memcpy(copy, line, len);
		answer_add_warning(&text, copy, len);
		assert_string_equal(str_cstr(&text), "");
	}
}

static void all_of_them_have_a_limit(void **state)
{
	auto_str struct str text = STR_INIT;

	for (int i = 0; i < 5000; i++)
		answer_add_warning(&text, "Warning: 299 - \"0123456789\"", 27);
	assert_true(text.len > ANSWER_WARNINGS_MAX / 2 && text.len <= ANSWER_WARNINGS_MAX);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, answers, answer_means);
	suite_add(&suite, "deep nesting is just text", deep_nesting_is_just_text, NULL);
	suite_rows(&suite, lines, line_gives_text);
	suite_add(&suite, "a line that is cut anywhere is none", any_cut_is_no_overrun, NULL);
	suite_add(&suite, "all of them have a limit", all_of_them_have_a_limit, NULL);
	return suite_run(&suite, "answer");
}
