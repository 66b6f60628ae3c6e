/* claims_server: what the made-up API server of claims_bench does with requests, and what users do. */
#pragma once

#include "unit/agent/claims_bench.h"

/* kubectl create: @spec is JSON. Told by the watch if @watched. */
static inline void bench_create(struct bench *b, const char *name, const char *spec, bool watched)
{
	auto_free char *uid = xasprintf("u%d", ++b->uids);
	json_t *object = json_pack("{s:{s:s, s:s, s:i}, s:o}", "metadata", "name", name, "uid", uid,
				   "generation", 1, "spec", json_loads(spec, 0, NULL));

	json_object_set_new(b->objects, name, object);
	bench_stamp(b, object);
	if (watched)
		bench_tell(b, "ADDED", object);
	bench_settle(b);
}

/* Put an object there with these members of it, in JSON, as the watch shows it. */
static inline void bench_put(struct bench *b, const char *name, const char *members)
{
	auto_free char *text = xasprintf("{%s}", members);
	auto_json json_t *more = json_loads(text, 0, NULL);
	json_t *object =
		json_pack("{s:{s:s, s:s}, s:{}}", "metadata", "name", name, "uid", "u9", "spec");

	assert_non_null(more);
	json_object_update_recursive(object, more);
	json_object_set_new(b->objects, name, object);
	bench_stamp(b, object);
	bench_tell(b, "ADDED", object);
}

static inline void bench_remove(struct bench *b, const char *name)
{
	auto_json json_t *object = json_incref(json_object_get(b->objects, name));

	json_object_del(b->objects, name);
	bench_stamp(b, object);
	bench_tell(b, "DELETED", object);
}

/* kubectl delete. */
static inline void bench_delete(struct bench *b, const char *name)
{
	json_t *object = json_object_get(b->objects, name);
	json_t *meta = json_object_get(object, "metadata");

	if (json_array_size(json_object_get(meta, "finalizers")) == 0) {
		bench_remove(b, name);
	} else {
		json_object_set_new(meta, "deletionTimestamp", json_string("2026-01-02T03:04:05Z"));
		json_object_set_new(meta, "generation", json_integer(2));
		bench_stamp(b, object);
		bench_tell(b, "MODIFIED", object);
	}
	bench_settle(b);
}

/* RFC 7386. */
static inline void bench_merge(json_t *to, json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach (patch, key, value) {
		if (json_is_null(value))
			json_object_del(to, key);
		else if (json_is_object(value) && json_is_object(json_object_get(to, key)))
			bench_merge(json_object_get(to, key), value);
		else
			json_object_set(to, key, value);
	}
}

/* True if the patch is for another incarnation or version of @object. */
static inline bool bench_stale(json_t *object, json_t *patch)
{
	const char *uid = bench_meta(patch, "uid");
	const char *version = bench_meta(patch, "resourceVersion");

	return (uid && strcmp(uid, bench_meta(object, "uid")) != 0) ||
	       (version && strcmp(version, bench_meta(object, "resourceVersion")) != 0);
}

static inline void bench_not_found(struct bench *b, const char *name)
{
	auto_free char *text =
		xasprintf("{\"kind\":\"Status\",\"reason\":\"NotFound\",\"details\":{\"name\":"
			  "\"%s\",\"kind\":\"pcideviceclaims\"}}",
			  name);

	fake_client_answer(b->client, 404, text);
}

static inline void bench_apply(json_t *object, json_t *patch, bool status)
{
	json_t *part = json_object_get(patch, "status");

	if (status && part)
		bench_merge(bench_part(object, "status"), part);
	if (status)
		return;
	json_object_del(patch, "status");
	json_object_del(json_object_get(patch, "metadata"), "resourceVersion");
	bench_merge(object, patch);
}

/* The watch may tell of a change before its answer is there (b->early), or after. */
static inline void bench_changed(struct bench *b, const char *name, bool gone)
{
	auto_json json_t *object = json_incref(json_object_get(b->objects, name));
	auto_free char *path = xstrdup(fake_client_request(b->client)->path);
	auto_free char *text = json_map_text(object);

	if (gone)
		json_object_del(b->objects, name);
	if (b->early)
		bench_tell(b, gone ? "DELETED" : "MODIFIED", object);
	fake_client_choose(b->client, path);
	fake_client_answer(b->client, 200, text);
	if (!b->early)
		bench_tell(b, gone ? "DELETED" : "MODIFIED", object);
}

static inline void bench_serve_patch(struct bench *b, const char *name, bool status)
{
	json_t *object = json_object_get(b->objects, name);
	auto_json json_t *patch = json_loads(fake_client_request(b->client)->body, 0, NULL);
	auto_json json_t *before = json_deep_copy(object);
	json_t *meta;

	assert_non_null(patch);
	b->writes++;
	if (bench_stale(object, patch)) {
		fake_client_answer(b->client, 409, "{\"kind\":\"Status\"}");
		return;
	}
	bench_apply(object, patch, status);
	if (!json_equal(object, before))
		bench_stamp(b, object);
	meta = json_object_get(object, "metadata");
	bench_changed(b, name,
		      json_object_get(meta, "deletionTimestamp") &&
			      json_array_size(json_object_get(meta, "finalizers")) == 0);
}

/* How many requests wait for an answer. */
static inline size_t bench_asking(struct bench *b)
{
	enum { WATCHES = 2 };

	bench_settle(b);
	return fake_client_open(b->client) - WATCHES;
}

/* "name" or "name/status" of ".../pcideviceclaims/name/status?...". The caller frees. */
static inline char *bench_target(const char *path)
{
	const char *name = strstr(path, "/pcideviceclaims/") + strlen("/pcideviceclaims/");

	return xstrndup(name, strcspn(name, "?"));
}

/* Note the oldest request; returns its target, the caller frees. */
static inline char *bench_next(struct bench *b)
{
	const struct fake_request *request;
	char *target;

	assert_true(bench_asking(b) > 0);
	fake_client_choose(b->client, "/pcideviceclaims/");
	request = fake_client_request(b->client);
	target = bench_target(request->path);
	str_addf(&b->log, "%s %s\n", request->method, target);
	return target;
}

/* Serve the oldest request as a server does, and tell the watch of what it changed. */
static inline void bench_serve_one(struct bench *b)
{
	auto_free char *target = bench_next(b);
	bool patch = strcmp(fake_client_request(b->client)->method, "PATCH") == 0;
	char *slash = strchr(target, '/');
	auto_free char *text = NULL;
	json_t *object;

	if (slash)
		*slash = '\0';
	object = json_object_get(b->objects, target);
	text = object ? json_map_text(object) : NULL;
	if (!object)
		bench_not_found(b, target);
	else if (patch)
		bench_serve_patch(b, target, slash != NULL);
	else
		fake_client_answer(b->client, 200, text);
	bench_settle(b);
}

/* Serve until nothing is asked any more. */
static inline void bench_serve(struct bench *b)
{
	while (bench_asking(b) > 0)
		bench_serve_one(b);
}

/* The oldest request ends with @status instead, or without an answer (< 0). */
static inline void bench_refuse(struct bench *b, int status)
{
	free(bench_next(b));
	if (status < 0)
		fake_client_fail(b->client, status);
	else
		fake_client_answer(b->client, status, "{\"kind\":\"Status\"}");
	bench_settle(b);
}

/* The oldest request is answered with @body, whatever that is. */
static inline void bench_answer(struct bench *b, const char *body)
{
	free(bench_next(b));
	fake_client_answer(b->client, 200, body);
	bench_settle(b);
}

static inline void bench_end(struct bench *b, struct binder_outcome outcome)
{
	bench_settle(b);
	fake_binder_end(outcome);
	bench_settle(b);
}

static inline void bench_logged(struct bench *b, const char *expected)
{
	assert_string_equal(str_cstr(&b->log), expected);
	str_clear(&b->log);
}

static inline void bench_said(struct bench *b, const char *expected)
{
	assert_string_equal(str_cstr(&b->events.said), expected);
	str_clear(&b->events.said);
}

/* Text of the server's claim, or of a part of it ("status"); "" if there is none. The caller frees. */
static inline char *bench_text(const struct bench *b, const char *name, const char *part)
{
	json_t *object = json_object_get(b->objects, name);

	if (part)
		object = json_object_get(object, part);
	return object ? json_map_text(object) : xstrdup("");
}

static inline bool bench_is(const struct bench *b, const char *name, const char *text)
{
	auto_free char *object = bench_text(b, name, NULL);

	return strstr(object, text) != NULL;
}

static inline void bench_has(const struct bench *b, const char *name, const char *text)
{
	auto_free char *object = bench_text(b, name, NULL);

	if (!strstr(object, text))
		fail_msg("no %s in %s", text, object);
}
