#include "controller/webhook/admission_review.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/json_map.h"
#include "api/kind.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"

static const char api_version[] = "admission.k8s.io/v1";
static const char kind[] = "AdmissionReview";

static const char *const operations[] = {
	[ADMISSION_CREATE] = "CREATE",
	[ADMISSION_UPDATE] = "UPDATE",
	[ADMISSION_DELETE] = "DELETE",
	[ADMISSION_CONNECT] = "CONNECT",
};

/*
 * Counts upper bounds of the values: the first one, and one for each comma and opening bracket
 * outside of strings. Needed because a tree takes about sixty bytes where the text takes two.
 */
static size_t count_values(const char *text, size_t len)
{
	bool quoted = false;
	size_t n = 1;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\')
			i++;
		else if (!quoted && (c == ',' || c == '[' || c == '{'))
			n++;
	}
	return n;
}

static int check_size(const char *text, size_t len, struct err *err)
{
	if (len > ADMISSION_TEXT_MAX)
		return err_set(err, ERR_INVALID, -EMSGSIZE,
			       "the review has %zu bytes, at most %d are allowed", len,
			       ADMISSION_TEXT_MAX);
	if (count_values(text, len) > ADMISSION_VALUES_MAX)
		return err_set(err, ERR_INVALID, -EMSGSIZE,
			       "the review has more than %d values: shorten the object",
			       ADMISSION_VALUES_MAX);
	return 0;
}

/* The string @key of @object; "" if it has none. */
static int read_text(const json_t *object, const char *key, const char **ret_text, struct err *err)
{
	const json_t *value = json_object_get(object, key);
	const char *text;

	if (!value || json_is_null(value)) {
		*ret_text = "";
		return 0;
	}
	text = json_string_value(value);
	if (!text || strlen(text) != json_string_length(value))
		return err_set(err, ERR_INVALID, -EINVAL, "field '%s' of the review is no text",
			       key);
	*ret_text = text;
	return 0;
}

/* The object @key of @from; NULL if it has none. */
static int read_object(const json_t *from, const char *key, const json_t **ret_object,
		       struct err *err)
{
	const json_t *value = json_object_get(from, key);

	if (value && !json_is_object(value) && !json_is_null(value))
		return err_set(err, ERR_INVALID, -EINVAL, "field '%s' of the review is no object",
			       key);
	*ret_object = json_is_object(value) ? value : NULL;
	return 0;
}

/* The same for a required object. */
static int need_object(const json_t *from, const char *key, const json_t **ret_object,
		       struct err *err)
{
	int r = read_object(from, key, ret_object, err);

	if (r == 0 && !*ret_object)
		return err_set(err, ERR_INVALID, -EINVAL, "the review has no '%s'", key);
	return r;
}

static int read_operation(const json_t *from, enum admission_operation *ret_operation,
			  struct err *err)
{
	const char *word = "";
	int r = read_text(from, "operation", &word, err);

	if (r < 0)
		return r;
	for (size_t i = ADMISSION_CREATE; i < ARRAY_LEN(operations); i++) {
		if (strcmp(word, operations[i]) != 0)
			continue;
		*ret_operation = (enum admission_operation)i;
		return 0;
	}
	return err_set(err, ERR_INVALID, -EINVAL, "'%.32s' is no operation of a review", word);
}

static const struct text_row {
	const char *key;
	size_t at;
} request_texts[] = {
	{ "uid", offsetof(struct admission_request, uid) },
	{ "subResource", offsetof(struct admission_request, subresource) },
	{ "name", offsetof(struct admission_request, name) },
	{ "namespace", offsetof(struct admission_request, ns) },
}, resource_texts[] = {
	{ "group", offsetof(struct admission_request, group) },
	{ "version", offsetof(struct admission_request, version) },
	{ "resource", offsetof(struct admission_request, resource) },
};

static int read_texts(const json_t *from, const struct text_row *rows, size_t len,
		      struct admission_request *request, struct err *err)
{
	for (size_t i = 0; i < len; i++) {
		const char **text = (void *)((char *)request + rows[i].at);
		int r = read_text(from, rows[i].key, text, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int read_objects(const json_t *from, struct admission_request *request, struct err *err)
{
	int r = read_object(from, "object", &request->object, err);

	if (r == 0)
		r = read_object(from, "oldObject", &request->old_object, err);
	if (r < 0)
		return r;
	if (!request->object && request->operation != ADMISSION_DELETE &&
	    request->operation != ADMISSION_CONNECT)
		return err_set(err, ERR_INVALID, -EINVAL, "the review has no 'object'");
	return 0;
}

static int read_request(const json_t *from, struct admission_request *request, struct err *err)
{
	const json_t *resource = NULL;
	int r = read_texts(from, request_texts, ARRAY_LEN(request_texts), request, err);

	if (r == 0)
		r = read_operation(from, &request->operation, err);
	if (r == 0)
		r = need_object(from, "resource", &resource, err);
	if (r == 0)
		r = read_texts(resource, resource_texts, ARRAY_LEN(resource_texts), request, err);
	if (r == 0)
		r = need_object(from, "userInfo", &request->user_info, err);
	if (r == 0)
		r = read_text(request->user_info, "username", &request->user, err);
	if (r == 0)
		r = read_objects(from, request, err);
	if (r < 0)
		return r;
	if (!*request->uid)
		return err_set(err, ERR_INVALID, -EINVAL, "the review has no 'uid'");
	request->dry_run = json_is_true(json_object_get(from, "dryRun"));
	return 0;
}

static int check_kind(const json_t *json, struct err *err)
{
	const char *version = json_string_value(json_object_get(json, "apiVersion"));
	const char *name = json_string_value(json_object_get(json, "kind"));

	if (version && name && strcmp(version, api_version) == 0 && strcmp(name, kind) == 0)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "the body is no %s of %s", kind, api_version);
}

int admission_review_parse(const char *text, size_t len, struct admission_review *ret_review,
			   struct err *err)
{
	struct admission_request request = { 0 };
	const json_t *from = NULL;
	auto_json json_t *json = NULL;
	int r = check_size(text, len, err);

	if (r == 0)
		r = json_map_load(text, len, &json, err);
	if (r == 0)
		r = check_kind(json, err);
	if (r == 0)
		r = need_object(json, "request", &from, err);
	if (r == 0)
		r = read_request(from, &request, err);
	if (r < 0)
		return r;
	*ret_review = (struct admission_review){ .request = request, .json = take_ptr(json) };
	return 0;
}

void admission_review_done(struct admission_review *review)
{
	json_decref(review->json);
	*review = (struct admission_review){ 0 };
}

bool admission_request_is(const struct admission_request *request, const struct api_kind *of)
{
	return strcmp(of->plural, request->resource) == 0 && strcmp(of->group, request->group) == 0;
}

/* --- the answer --- */

void admission_answer_init(struct admission_answer *answer)
{
	*answer = (struct admission_answer){ .allowed = true };
}

void admission_answer_done(struct admission_answer *answer)
{
	str_done(&answer->message);
	json_strs_done(&answer->warnings);
	json_decref(answer->patch);
	answer->patch = NULL;
	free(take_ptr(answer->device));
	free(take_ptr(answer->resource));
}

/* Names in it come from outside: control characters and invalid UTF-8 are escaped. */
static char *clean_text(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));

static char *clean_text(const char *fmt, va_list args)
{
	struct str clean = STR_INIT;
	auto_free char *text = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		abort();
	str_add_clean(&clean, text, strlen(text));
	return str_detach(&clean);
}

void admission_answer_refuse(struct admission_answer *answer, int code, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = clean_text(fmt, args);
	va_end(args);
	if (answer->allowed)
		answer->code = code;
	answer->allowed = false;
	if (answer->message.len > 0)
		str_add(&answer->message, "; ");
	str_add(&answer->message, text);
	str_cut(&answer->message, ADMISSION_MESSAGE_MAX);
}

void admission_answer_warn(struct admission_answer *answer, const char *fmt, ...)
{
	auto_str struct str warning = STR_INIT;
	auto_free char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = clean_text(fmt, args);
	va_end(args);
	str_add(&warning, text);
	str_cut(&warning, ADMISSION_WARNING_MAX);
	if (answer->warnings.len < ADMISSION_WARNINGS_MAX)
		json_strs_add_new(&answer->warnings, str_cstr(&warning));
}

void admission_answer_event(struct admission_answer *answer, const char *reason)
{
	answer->event = reason;
}

void admission_answer_about(struct admission_answer *answer, const char *device,
			    const char *resource)
{
	if (answer->device || answer->resource)
		return;
	answer->device = device && *device ? xstrdup(device) : NULL;
	answer->resource = resource && *resource ? xstrdup(resource) : NULL;
}

void admission_answer_patch(struct admission_answer *answer, const char *op, const char *path,
			    json_t *value)
{
	json_t *step = json_object();

	json_put_text(step, "op", op);
	json_put_text(step, "path", path);
	if (value)
		json_put(step, "value", value);
	if (!answer->patch)
		answer->patch = json_array();
	json_add(answer->patch, step);
}

void admission_pointer_add(struct str *pointer, const char *key)
{
	str_add_char(pointer, '/');
	for (; *key; key++) {
		if (*key == '~')
			str_add(pointer, "~0");
		else if (*key == '/')
			str_add(pointer, "~1");
		else
			str_add_char(pointer, *key);
	}
}

/* metav1.StatusReason for an HTTP status; clients use it to tell errors apart. */
static const char *reason_of(int code)
{
	switch (code) {
	case 409:
		return "Conflict";
	case 422:
		return "Invalid";
	case 503:
		return "ServiceUnavailable";
	default:
		return "Forbidden";
	}
}

static json_t *refusal(const struct admission_answer *answer)
{
	json_t *status = json_object();

	json_put_text(status, "status", "Failure");
	json_put(status, "code", json_integer(answer->code));
	json_put_text(status, "reason", reason_of(answer->code));
	json_put_text(status, "message", answer->message.len ? answer->message.buf : "refused");
	return status;
}

static json_t *warnings(const struct json_strs *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->len; i++)
		json_add(array, json_string(list->items[i]));
	return array;
}

static void add_patch(json_t *response, const json_t *patch)
{
	auto_free char *text = json_map_text(patch);
	auto_free char *base64 = base64_encode(text, strlen(text));

	json_put_text(response, "patchType", "JSONPatch");
	json_put_text(response, "patch", base64);
}

void admission_review_answer(const char *uid, const struct admission_answer *answer,
			     struct str *out)
{
	auto_json json_t *review = json_object();
	json_t *response = json_object();
	auto_free char *text = NULL;

	json_put_text(review, "apiVersion", api_version);
	json_put_text(review, "kind", kind);
	json_put(review, "response", response);
	json_put_text(response, "uid", uid);
	json_put(response, "allowed", json_boolean(answer->allowed));
	if (!answer->allowed)
		json_put(response, "status", refusal(answer));
	else if (json_array_size(answer->patch) > 0)
		add_patch(response, answer->patch);
	if (answer->warnings.len > 0)
		json_put(response, "warnings", warnings(&answer->warnings));
	text = json_map_text(review);
	str_add(out, text);
}
