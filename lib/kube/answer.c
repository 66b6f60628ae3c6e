#include "kube/answer.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "api/json_map.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum { QUOTE_MAX = 120 };

struct meaning {
	int status;
	int code;
	enum err_kind kind;
	const char *text;
};

static const struct meaning meanings[] = {
	{ 400, -EINVAL, ERR_INVALID, "bad request" },
	{ 401, -EACCES, ERR_RETRY, "unauthorized: the credentials are not accepted" },
	{ 403, -EACCES, ERR_RETRY, "forbidden" },
	{ 404, -ENOENT, ERR_INVALID, "not found" },
	{ 405, -EINVAL, ERR_INVALID, "method not allowed" },
	{ 408, -EAGAIN, ERR_RETRY, "request timeout" },
	{ 409, -ESTALE, ERR_CONFLICT, "conflict" },
	{ 410, -ESTALE, ERR_CONFLICT, "gone" },
	{ 413, -EINVAL, ERR_INVALID, "request too large" },
	{ 415, -EINVAL, ERR_INVALID, "unsupported media type" },
	{ 422, -EINVAL, ERR_INVALID, "not valid" },
	{ 429, -EAGAIN, ERR_RETRY, "too many requests" },
};
static const struct meaning server_error = { 500, -EREMOTEIO, ERR_RETRY, "server error" };
static const struct meaning strange = { 0, -EIO, ERR_RETRY, "not an answer of an API server" };

static const struct meaning *meaning_of(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(meanings); i++) {
		if (meanings[i].status == status)
			return &meanings[i];
	}
	return status >= 500 && status < 600 ? &server_error : &strange;
}

/* The Status object's message, or the first line of a body that is not a Status. */
static void add_quote(struct str *out, const json_t *status, const char *body, size_t len)
{
	const char *message = json_get_text(status, "message");
	const char *line_end = memchr(body, '\n', len);

	if (line_end)
		len = (size_t)(line_end - body);
	if (status)
		str_add_clean(out, message, strlen(message));
	else
		str_add_clean(out, body, len < QUOTE_MAX ? len : QUOTE_MAX);
}

/* True if the API server refused a field that the installed CRD does not define, either in a
 * strict write or in an apply. The same write succeeds once the CRD is upgraded. */
static bool is_unknown_field(const json_t *status)
{
	const char *message = json_get_text(status, "message");

	return (strstr(message, "strict decoding error") && strstr(message, "unknown field")) ||
	       strstr(message, "field not declared in schema");
}

int answer_result(int status, const char *body, size_t len, struct err *err)
{
	const struct meaning *meaning = meaning_of(status);
	auto_str struct str quote = STR_INIT;
	json_t *object = NULL;
	int code = meaning->code;
	bool unknown;

	if (status >= 200 && status < 300)
		return 0;
	if (len <= ANSWER_STATUS_MAX)
		object = json_loadb(body, len, JSON_ALLOW_NUL, NULL);
	if (status == 409 && strcmp(json_get_text(object, "reason"), "AlreadyExists") == 0)
		code = -EEXIST;
	add_quote(&quote, object, body, len);
	unknown = is_unknown_field(object);
	json_decref(object);
	return err_set(err, unknown ? ERR_RETRY : meaning->kind, code, "%d %s%s%s", status,
		       unknown ? "the cluster's definition is older than this program, apply crds/"
			       : meaning->text,
		       quote.len > 0 ? ": " : "", str_cstr(&quote));
}

/* --- warnings --- */

/* Kubernetes uses only code 299 and agent "-". */
static const char warning_name[] = "warning:";
static const char warning_prefix[] = "299 - \"";

/* Append the quoted text to @to, where a backslash escapes the next character. False if the
 * closing quote is missing. */
static bool unquote(const char *text, size_t len, struct str *to)
{
	for (size_t i = 0; i < len && text[i] != '\0'; i++) {
		if (text[i] == '"')
			return true;
		if (text[i] == '\\' && ++i == len)
			return false;
		str_add_char(to, text[i]);
	}
	return false;
}

void answer_add_warning(struct str *to, const char *line, size_t len)
{
	auto_str struct str text = STR_INIT;
	size_t at = sizeof(warning_name) - 1;

	if (len < at || strncasecmp(line, warning_name, at) != 0)
		return;
	while (at < len && line[at] == ' ')
		at++;
	if (len - at < sizeof(warning_prefix) ||
	    strncmp(line + at, warning_prefix, sizeof(warning_prefix) - 1) != 0)
		return;
	at += sizeof(warning_prefix) - 1;
	if (!unquote(line + at, len - at, &text) || to->len + text.len >= ANSWER_WARNINGS_MAX)
		return;
	str_add_clean(to, str_cstr(&text), text.len);
	str_add_char(to, '\n');
}
