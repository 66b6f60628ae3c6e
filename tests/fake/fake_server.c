#include "fake/fake_server.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/kind.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "fake/fake_client.h"

struct line {
	char *text;
};

struct fake_server {
	const struct api_kind *kind;
	struct fake_server *first; /* whose client it is       */
	struct fake_server *next;  /* of those that have joined */
	struct kube_client *client;
	json_t *objects;            /* name -> object                                        */
	json_t *answered;           /* name -> resourceVersion that was answered last        */
	ARRAY(struct line) changes; /* that the watch has not shown                */
	json_t *applied;            /* "manager name subresource" -> what was applied last   */
	char *hidden;
	bool deletes_unseen;
	void (*edit)(json_t *object); /* NULL: none */
	enum fake_watch watch;
	struct {
		fake_asked_fn *on_asked;
		void *arg;
	} listeners[2];
	int version;
	int uids;
	size_t writes;
	struct str log, told;
};

struct fake_server *fake_server_join(struct fake_server *first, const struct api_kind *kind)
{
	struct fake_server *server = xcalloc(1, sizeof(*server));

	server->kind = kind;
	server->first = first ? first : server;
	server->client = first ? first->client : fake_client_new();
	if (first) {
		server->next = first->next;
		first->next = server;
	}
	server->objects = json_object();
	server->answered = json_object();
	server->applied = json_object();
	server->hidden = xstrdup("");
	server->version = 100;
	return server;
}

struct fake_server *fake_server_new(const struct api_kind *kind)
{
	return fake_server_join(NULL, kind);
}

static void forget_changes(struct fake_server *server)
{
	for (size_t i = 0; i < server->changes.len; i++)
		free(server->changes.items[i].text);
	server->changes.len = 0;
}

static void leave(struct fake_server *server)
{
	struct fake_server *before = server->first;

	while (before->next != server)
		before = before->next;
	before->next = server->next;
}

struct fake_server *fake_server_of(struct fake_server *first, const char *plural)
{
	struct fake_server *server = first;

	while (server && strcmp(server->kind->plural, plural) != 0)
		server = server->next;
	assert(server);
	return server;
}

struct fake_server *fake_server_free(struct fake_server *server)
{
	if (!server)
		return NULL;
	while (server->first == server && server->next)
		fake_server_free(server->next);
	if (server->first != server)
		leave(server);
	forget_changes(server);
	array_done(&server->changes);
	json_decref(server->objects);
	json_decref(server->answered);
	json_decref(server->applied);
	str_done(&server->log);
	str_done(&server->told);
	free(server->hidden);
	free(server);
	return NULL;
}

struct kube_client *fake_server_client(struct fake_server *server)
{
	return server->client;
}

void fake_server_set_watch(struct fake_server *server, enum fake_watch watch)
{
	server->watch = watch;
	if (watch != FAKE_WATCH_BY_HAND)
		(void)fake_server_show(server, SIZE_MAX);
}

void fake_server_listen(struct fake_server *server, fake_asked_fn *on_asked, void *arg)
{
	size_t i = server->first->listeners[0].on_asked != NULL;

	assert(!server->first->listeners[i].on_asked);
	server->first->listeners[i].on_asked = on_asked;
	server->first->listeners[i].arg = arg;
}

/* --- objects ---------------------------------------------------------------------------------- */

static json_t *meta_of(const json_t *object)
{
	return json_object_get(object, "metadata");
}

static const char *meta_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(meta_of(object), key));

	return text ? text : "";
}

static void set_meta(json_t *object, const char *key, const char *text)
{
	if (!meta_of(object))
		json_object_set_new(object, "metadata", json_object());
	json_object_set_new(meta_of(object), key, json_string(text));
}

static void merge(json_t *target, json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach (patch, key, value) {
		if (json_is_null(value)) {
			json_object_del(target, key);
			continue;
		}
		if (!json_is_object(value)) {
			json_object_set(target, key, value);
			continue;
		}
		if (!json_is_object(json_object_get(target, key)))
			json_object_set_new(target, key, json_object());
		merge(json_object_get(target, key), value);
	}
}

static bool is_hidden(const struct fake_server *server, const char *name)
{
	return strcmp(name, server->hidden) == 0;
}

static void change(struct fake_server *server, const char *type, json_t *object)
{
	char version[16];
	auto_free char *text = NULL;

	(void)snprintf(version, sizeof(version), "%d", ++server->version);
	set_meta(object, "resourceVersion", version);
	server->writes++;
	if (is_hidden(server, meta_text(object, "name")))
		return;
	text = json_map_text(object);
	array_add(&server->changes)->text =
		xasprintf("{\"type\":\"%s\",\"object\":%s}", type, text);
}

static bool is_over(const json_t *object)
{
	return *meta_text(object, "deletionTimestamp") &&
	       json_array_size(json_object_get(meta_of(object), "finalizers")) == 0;
}

/* What it does not say of itself it gets. */
static void add(struct fake_server *server, const char *name, json_t *object)
{
	auto_free char *uid = xasprintf("u%d", ++server->uids);

	set_meta(object, "name", name);
	if (!*meta_text(object, "uid"))
		set_meta(object, "uid", uid);
	if (!json_object_get(meta_of(object), "generation"))
		json_object_set_new(meta_of(object), "generation", json_integer(1));
	json_object_set(server->objects, name, object);
	change(server, "ADDED", object);
}

static void create(struct fake_server *server, const char *name, json_t *object)
{
	json_object_del(object, "status");
	json_object_del(meta_of(object), "uid");
	json_object_del(meta_of(object), "generation");
	add(server, name, object);
}

static json_int_t generation_of(const json_t *object)
{
	return json_integer_value(json_object_get(meta_of(object), "generation"));
}

static const json_t *label_of(const json_t *object)
{
	return json_object_get(json_object_get(meta_of(object), "labels"), "nodename");
}

/* Put @changed in the place of the object @name. */
static void replace(struct fake_server *server, const char *name, json_t *changed)
{
	const json_t *before = json_object_get(server->objects, name);

	if (json_equal(before, changed))
		return;
	if (json_object_get(changed, "spec") &&
	    !json_equal(json_object_get(before, "spec"), json_object_get(changed, "spec")))
		json_object_set_new(meta_of(changed), "generation",
				    json_integer(1 + generation_of(before)));
	if (is_hidden(server, name) && !label_of(before) && label_of(changed)) {
		fake_server_hide(server, "");
		change(server, "ADDED", changed);
	} else {
		change(server, is_over(changed) ? "DELETED" : "MODIFIED", changed);
	}
	if (is_over(changed))
		json_object_del(server->objects, name);
	else
		json_object_set(server->objects, name, changed);
}

/* The object after the patch, as the API server makes it: status and the rest apart. */
static json_t *patched(const json_t *object, const json_t *patch, bool status)
{
	json_t *changed = json_deep_copy(object);
	auto_json json_t *part = json_deep_copy(patch);

	if (!status) {
		json_object_del(part, "status");
		merge(changed, part);
	} else if (json_object_get(part, "status")) {
		auto_json json_t *alone =
			json_pack("{s:O}", "status", json_object_get(part, "status"));

		merge(changed, alone);
	}
	set_meta(changed, "uid", meta_text(object, "uid"));
	set_meta(changed, "resourceVersion", meta_text(object, "resourceVersion"));
	return changed;
}

/* @text with " for '; the caller frees. */
static char *with_quotes(const char *text)
{
	char *made = xstrdup(text);

	for (char *c = made; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return made;
}

/* A user has changed something. */
static void show_soon(struct fake_server *server)
{
	if (server->watch != FAKE_WATCH_BY_HAND)
		(void)fake_server_show(server, SIZE_MAX);
}

void fake_server_write(struct fake_server *server, const char *name, const char *text)
{
	const json_t *object = json_object_get(server->objects, name);
	auto_free char *made = with_quotes(text);
	auto_json json_t *json = json_loads(made, 0, NULL);
	auto_json json_t *changed = NULL;

	assert(json);
	if (!object) {
		create(server, name, json);
	} else {
		changed = patched(object, json, false);
		replace(server, name, changed);
	}
	show_soon(server);
}

void fake_server_write_status(struct fake_server *server, const char *name, const char *text)
{
	const json_t *object = json_object_get(server->objects, name);
	auto_free char *made = with_quotes(text);
	auto_json json_t *status = json_loads(made, 0, NULL);
	auto_json json_t *json = json_pack("{s:O}", "status", status);
	auto_json json_t *changed = patched(object, json, true);

	assert(object);
	replace(server, name, changed);
	show_soon(server);
}

void fake_server_put(struct fake_server *server, const char *name, const char *text)
{
	auto_free char *made = with_quotes(text);
	auto_json json_t *json = json_loads(made, 0, NULL);

	assert(json && !json_object_get(server->objects, name));
	add(server, name, json);
	show_soon(server);
}

static void delete_object(struct fake_server *server, const char *name)
{
	const json_t *object = json_object_get(server->objects, name);
	auto_json json_t *changed = json_deep_copy(object);

	if (!object || *meta_text(object, "deletionTimestamp"))
		return;
	set_meta(changed, "deletionTimestamp", "2026-01-02T03:04:05Z");
	json_object_set_new(meta_of(changed), "generation",
			    json_integer(1 + generation_of(object)));
	replace(server, name, changed);
}

void fake_server_delete(struct fake_server *server, const char *name)
{
	delete_object(server, name);
	show_soon(server);
}

void fake_server_set_edit(struct fake_server *server, void (*edit)(json_t *object))
{
	server->edit = edit;
}

void fake_server_allow_unseen_deletes(struct fake_server *server)
{
	server->deletes_unseen = true;
}

void fake_server_hide(struct fake_server *server, const char *name)
{
	free(server->hidden);
	server->hidden = xstrdup(name);
}

const json_t *fake_server_get(const struct fake_server *server, const char *name)
{
	return json_object_get(server->objects, name);
}

const char *fake_server_text(const struct fake_server *server, const char *name, const char *member)
{
	const json_t *at = fake_server_get(server, name);
	auto_free char *copy = xstrdup(member);
	char *rest = copy;
	char *key;
	const char *text;

	while ((key = strsep(&rest, ".")))
		at = json_object_get(at, key);
	text = json_string_value(at);
	return text ? text : "";
}

/* --- requests --------------------------------------------------------------------------------- */

/* One request, and what is to be answered. */
struct served {
	struct fake_server *server;
	const struct fake_request *request;
	char *name; /* "": of the collection */
	bool is_status;
	json_t *body;
	int status;
	json_t *answer;
};

static void fail_with(struct served *s, int status, const char *reason)
{
	s->status = status;
	s->answer = json_pack("{s:s, s:s, s:{s:s}}", "kind", "Status", "reason", reason, "details",
			      "name", s->name);
}

static void answer_object(struct served *s, json_t *object)
{
	s->status = 200;
	s->answer = json_incref(object);
}

static void serve_list(struct served *s)
{
	json_t *items = json_array();
	const char *name;
	json_t *object;
	char version[16];

	(void)snprintf(version, sizeof(version), "%d", s->server->version);
	json_object_foreach (s->server->objects, name, object) {
		if (!is_hidden(s->server, name))
			json_array_append(items, object);
	}
	forget_changes(s->server);
	s->status = 200;
	s->answer =
		json_pack("{s:{s:s}, s:o}", "metadata", "resourceVersion", version, "items", items);
}

static void serve_create(struct served *s)
{
	free(s->name);
	s->name = xstrdup(meta_text(s->body, "name"));
	if (json_object_get(s->server->objects, s->name)) {
		fail_with(s, 409, "AlreadyExists");
		return;
	}
	create(s->server, s->name, s->body);
	answer_object(s, s->body);
}

static size_t finalizers(const json_t *object)
{
	return json_array_size(json_object_get(meta_of(object), "finalizers"));
}

/* Where @list has the item of the same node; -1: nowhere. status.nodes of a HostDeviceConfig is a map
 * by "node"; other lists are replaced. */
static int item_of(const json_t *list, const json_t *item)
{
	const json_t *node = json_object_get(item, "node");
	const json_t *other;
	size_t i;

	json_array_foreach (list, i, other) {
		if (node && json_equal(json_object_get(other, "node"), node))
			return (int)i;
	}
	return -1;
}

static bool is_map_by_node(const json_t *list)
{
	return json_object_get(json_array_get(list, 0), "node") != NULL;
}

/* The same as give_up() of the items of a list. */
static void give_up_items(json_t *target, const json_t *before, const json_t *now)
{
	const json_t *item;
	size_t i;

	json_array_foreach (before, i, item) {
		int at = item_of(target, item);

		if (at >= 0 && item_of(now, item) < 0)
			json_array_remove(target, (size_t)at);
	}
}

/* Take off @target what @before has and @now has not: an apply without them. What has another value
 * by now is of who has changed it. */
static void give_up(json_t *target, json_t *before, const json_t *now)
{
	const char *key;
	json_t *value;

	json_object_foreach (before, key, value) {
		json_t *kept = json_object_get(now, key);
		json_t *list = json_object_get(target, key);

		if (json_is_object(value) && json_is_object(list))
			give_up(list, value, kept);
		else if (is_map_by_node(value))
			give_up_items(list, value, kept);
		else if (!kept && json_equal(json_object_get(target, key), value))
			json_object_del(target, key);
		if (is_map_by_node(value) && json_array_size(list) == 0)
			json_object_del(target, key);
	}
}

/* Give the lists of @applied that are maps the items of @object that it does not have. */
static void keep_items(json_t *applied, const json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach (applied, key, value) {
		json_t *had = json_object_get(object, key);
		json_t *list;
		json_t *item;
		size_t i;

		if (json_is_object(value))
			keep_items(value, had);
		if (!is_map_by_node(value))
			continue;
		list = json_is_array(had) ? json_deep_copy(had) : json_array();
		json_array_foreach (value, i, item) {
			int at = item_of(list, item);

			if (at >= 0)
				json_array_set(list, (size_t)at, item);
			else
				json_array_append(list, item);
		}
		json_object_set_new(applied, key, list);
	}
}

/* What one field manager applies. */
struct application {
	const char *manager;
	const char *name; /* of the object */
	json_t *body;
	bool is_status;
};

/* @object after the apply: it has what is applied, and no more what the manager applied before. */
static json_t *applied_to(const struct fake_server *server, const struct application *a,
			  const json_t *object)
{
	auto_free char *key = xasprintf("%s %s %d", a->manager, a->name, a->is_status);
	json_t *before = json_object_get(server->applied, key);
	auto_json json_t *had = json_deep_copy(object);
	auto_json json_t *body = json_deep_copy(a->body);
	json_t *changed;

	if (before)
		give_up(a->is_status ? json_object_get(had, "status") : had,
			a->is_status ? json_object_get(before, "status") : before,
			a->is_status ? json_object_get(a->body, "status") : a->body);
	keep_items(body, had);
	changed = patched(had, body, a->is_status);
	json_object_set_new(server->applied, key, json_deep_copy(a->body));
	return changed;
}

/* The field manager of the request; the caller frees. */
static char *manager_of(const struct served *s)
{
	static const char key[] = "fieldManager=";
	const char *at = strstr(s->request->path, key);

	return at ? xstrndup(at + strlen(key), strcspn(at + strlen(key), "&")) : xstrdup("");
}

static void serve_patch(struct served *s, json_t *object)
{
	bool apply = strstr(s->request->content_type, "apply") != NULL;
	auto_free char *manager = manager_of(s);
	const struct application application = { manager, s->name, s->body, s->is_status };
	auto_json json_t *changed = NULL;
	const char *answered = json_string_value(json_object_get(s->server->answered, s->name));

	if (apply && s->server->edit)
		s->server->edit(s->body);
	if (!object && apply && !s->is_status) {
		create(s->server, s->name, s->body);
		answer_object(s, s->body);
		return;
	}
	if (!object) {
		fail_with(s, 404, "NotFound");
		return;
	}
	assert(apply || (*meta_text(s->body, "uid") && *meta_text(s->body, "resourceVersion")));
	if (!apply && (strcmp(meta_text(s->body, "uid"), meta_text(object, "uid")) != 0 ||
		       strcmp(meta_text(s->body, "resourceVersion"),
			      meta_text(object, "resourceVersion")) != 0)) {
		fail_with(s, 409, "Conflict");
		return;
	}
	changed = apply ? applied_to(s->server, &application, object)
			: patched(object, s->body, s->is_status);
	if (finalizers(changed) < finalizers(object))
		assert(answered && strcmp(answered, meta_text(object, "resourceVersion")) == 0);
	replace(s->server, s->name, changed);
	answer_object(s, changed);
}

static void serve_delete(struct served *s, json_t *object)
{
	json_t *conditions = json_object_get(s->body, "preconditions");
	const char *uid = json_string_value(json_object_get(conditions, "uid"));
	const char *version = json_string_value(json_object_get(conditions, "resourceVersion"));

	assert((uid && version) || s->server->deletes_unseen);
	if (!object) {
		fail_with(s, 404, "NotFound");
		return;
	}
	if (uid && version &&
	    (strcmp(uid, meta_text(object, "uid")) != 0 ||
	     strcmp(version, meta_text(object, "resourceVersion")) != 0)) {
		fail_with(s, 409, "Conflict");
		return;
	}
	delete_object(s->server, s->name);
	object = json_object_get(s->server->objects, s->name);
	if (object)
		answer_object(s, object);
	else
		s->answer = json_pack("{s:s}", "kind", "Status");
	s->status = 200;
}

static void serve(struct served *s)
{
	json_t *object = json_object_get(s->server->objects, s->name);
	const char *method = s->request->method;

	if (strcmp(method, "POST") == 0)
		serve_create(s);
	else if (!*s->name)
		serve_list(s);
	else if (strcmp(method, "PATCH") == 0)
		serve_patch(s, object);
	else if (strcmp(method, "DELETE") == 0)
		serve_delete(s, object);
	else if (object)
		answer_object(s, object);
	else
		fail_with(s, 404, "NotFound");
}

/* Where the plural of the server's kind ends in @path; NULL: it is of another kind. */
static const char *after_plural(const struct fake_server *server, const char *path)
{
	auto_free char *plural = xasprintf("/%s", server->kind->plural);
	const char *at = strstr(path, plural);

	at = at ? at + strlen(plural) : NULL;
	return at && strchr("/?", *at) ? at : NULL;
}

/* "/apis/.../PLURAL/NAME/status?x" */
static void parse(struct served *s)
{
	const char *at = NULL;
	size_t len;

	for (s->server = s->server->first; s->server; s->server = s->server->next) {
		at = after_plural(s->server, s->request->path);
		if (at)
			break;
	}
	assert(at);
	at += *at == '/';
	len = strcspn(at, "/?");
	s->name = xstrndup(at, len);
	s->is_status = strncmp(at + len, "/status", strlen("/status")) == 0;
	s->body = json_loads(s->request->body, 0, NULL);
}

/* The answer is about to be given; the request is still there. */
static void tell(const struct served *s, int status, const char *version)
{
	struct fake_server *first = s->server->first;
	const struct fake_asked asked = { s->server->kind,
					  s->request->method,
					  *s->name ? s->name : meta_text(s->body, "name"),
					  s->is_status,
					  s->body,
					  status,
					  version };

	if (*version && *s->name && !is_over(s->answer))
		json_object_set_new(s->server->answered, s->name, json_string(version));
	for (size_t i = 0; i < ARRAY_LEN(first->listeners); i++) {
		if (first->listeners[i].on_asked)
			first->listeners[i].on_asked(first->listeners[i].arg, &asked);
	}
}

/* An object in the place of the one that was asked for; nothing of a collection. */
static void answer_like(const struct served *s, enum fake_fault fault)
{
	const char *name = *s->name ? s->name : meta_text(s->body, "name");
	auto_free char *text =
		xasprintf("{\"metadata\":{\"name\":\"%s%s\",\"uid\":\"u\"%s%s}}", name,
			  fault == FAULT_ANOTHER ? "-other" : "",
			  fault == FAULT_NO_VERSION ? "" : ",\"resourceVersion\":\"1\"",
			  fault == FAULT_UNREADABLE ? ",\"labels\":7" : "");

	fake_client_answer(s->server->client, 200, *name ? text : "{}");
}

/* What is answered in place of the right thing; status 0: nothing, with the code of the failure. */
static const struct bad_answer {
	int status;
	int code;
	bool done; /* what was asked for */
} bad_answers[FAKE_FAULTS] = {
	[FAULT_NO_ANSWER] = { .code = -ETIMEDOUT },
	[FAULT_LOST] = { .code = -EIO, .done = true },
	[FAULT_TOO_LARGE] = { .code = -EMSGSIZE, .done = true },
	[FAULT_TROUBLE] = { .status = 500 },
	[FAULT_TOO_MANY] = { .status = 429 },
	[FAULT_DENIED] = { .status = 403 },
	[FAULT_CONFLICT] = { .status = 409 },
	[FAULT_GONE] = { .status = 410 },
	[FAULT_INVALID] = { .status = 422 },
	[FAULT_NOT_SERVED] = { .status = 404 },
	[FAULT_STRANGE] = { .status = 200 },
	[FAULT_NO_JSON] = { .status = 200 },
	[FAULT_ANOTHER] = { .status = 200 },
	[FAULT_NO_VERSION] = { .status = 200 },
	[FAULT_UNREADABLE] = { .status = 200 },
};

static void serve_badly(struct served *s, enum fake_fault fault)
{
	const struct bad_answer *bad = &bad_answers[fault];
	struct kube_client *client = s->server->client;

	if (bad->done)
		serve(s);
	tell(s, bad->status, "");
	if (bad->status == 0)
		fake_client_fail(client, bad->code);
	else if (fault == FAULT_STRANGE)
		fake_client_answer(client, 200, "{}");
	else if (fault == FAULT_NO_JSON)
		fake_client_answer(client, 200, "<html>");
	else if (bad->status == 200)
		answer_like(s, fault);
	else
		fake_client_answer_later(client, bad->status, "{\"kind\":\"Status\"}",
					 bad->status == 429 ? 1000 : 0);
}

/* Somebody labels the object, and the watch shows it before the answer that is under way. */
static void overtake(const struct served *s)
{
	if (json_object_get(s->server->objects, s->name))
		fake_server_write(s->server, s->name, "{'metadata':{'labels':{'later':'yes'}}}");
	(void)fake_server_show(s->server, SIZE_MAX);
	(void)fake_client_choose_call(s->server->client);
}

static void log_request(const struct served *s)
{
	struct fake_server *first = s->server->first;
	bool several = first->next != NULL;

	if (!*s->name && strcmp(s->request->method, "GET") == 0)
		return;
	str_addf(&first->log, "%s%s%s%s%s%s|", s->request->method, several || *s->name ? " " : "",
		 several ? s->server->kind->plural : "", several && *s->name ? "/" : "", s->name,
		 s->is_status ? "/status" : "");
}

static void serve_well(struct served *s, enum fake_fault fault)
{
	struct fake_server *server = s->server;
	auto_free char *text = NULL;

	serve(s);
	text = json_map_text(s->answer);
	if (fault == FAULT_OVERTAKEN)
		overtake(s);
	if (server->watch == FAKE_WATCH_FIRST) {
		(void)fake_server_show(server, SIZE_MAX);
		(void)fake_client_choose_call(server->client);
	}
	tell(s, s->status, meta_text(s->answer, "resourceVersion"));
	fake_client_answer(server->client, s->status, text);
	if (server->watch == FAKE_WATCH_NEXT)
		(void)fake_server_show(server, SIZE_MAX);
}

void fake_server_apply_status(struct fake_server *server, const char *manager, const char *name,
			      const char *text)
{
	const json_t *object = json_object_get(server->objects, name);
	auto_free char *made = with_quotes(text);
	auto_json json_t *status = json_loads(made, 0, NULL);
	auto_json json_t *body = json_pack("{s:O}", "status", status);
	const struct application application = { manager, name, body, true };
	auto_json json_t *changed = NULL;

	assert(object && status);
	changed = applied_to(server, &application, object);
	replace(server, name, changed);
	show_soon(server);
}

bool fake_server_serve(struct fake_server *server, enum fake_fault fault)
{
	struct served s = { .server = server };

	if (!fake_client_choose_call(server->client))
		return false;
	s.request = fake_client_request(server->client);
	parse(&s);
	log_request(&s);
	if (fault == FAULT_NONE || fault == FAULT_OVERTAKEN)
		serve_well(&s, fault);
	else
		serve_badly(&s, fault);
	free(s.name);
	json_decref(s.body);
	json_decref(s.answer);
	return true;
}

bool fake_server_show(struct fake_server *server, size_t count)
{
	auto_free char *plural = xasprintf("/%s?", server->kind->plural);
	bool shown = false;

	while (count-- > 0 && server->changes.len > 0 &&
	       fake_client_choose_stream(server->client, plural)) {
		auto_free char *text = server->changes.items[0].text;

		memmove(server->changes.items, server->changes.items + 1,
			--server->changes.len * sizeof(*server->changes.items));
		(void)fake_client_line(server->client, text);
		shown = true;
	}
	return shown;
}

bool fake_server_show_any(struct fake_server *server, uint64_t which)
{
	size_t kinds = 0;

	for (const struct fake_server *s = server->first; s; s = s->next)
		kinds++;
	server = server->first;
	for (which %= kinds; which > 0; which--)
		server = server->next;
	return fake_server_show(server, 1);
}

bool fake_server_step(struct fake_server *server)
{
	bool stepped = fake_server_serve(server, FAULT_NONE);

	for (struct fake_server *s = server->first; s && !stepped; s = s->next)
		stepped = fake_server_show(s, 1);
	return stepped;
}

void fake_server_end_watch(struct fake_server *server)
{
	auto_free char *plural = xasprintf("/%s?", server->kind->plural);

	if (fake_client_choose_stream(server->client, plural))
		fake_client_answer(server->client, 410, "{\"kind\":\"Status\"}");
}

const char *fake_server_log(struct fake_server *server)
{
	str_clear(&server->told);
	str_add(&server->told, str_cstr(&server->log));
	str_clear(&server->log);
	return str_cstr(&server->told);
}

size_t fake_server_count(const struct fake_server *server)
{
	return json_object_size(server->objects);
}

size_t fake_server_writes(const struct fake_server *server)
{
	return server->writes;
}

size_t fake_server_all_writes(const struct fake_server *server)
{
	size_t writes = 0;

	for (server = server->first; server; server = server->next)
		writes += server->writes;
	return writes;
}
