#include "cli/client/lists.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/event.h"
#include "api/json_map.h"
#include "api/json_map_read.h"
#include "api/names.h"
#include "api/object.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client/session.h"
#include "cli/model/dra.h"
#include "cli/model/narrow.h"
#include "kube/listwatch.h"
#include "kube/url.h"

/* The list of one kind, read page by page. */
struct listing {
	struct session *session;
	struct cluster *cluster;
	enum cluster_kind kind;
	char *label_selector; /* NULL: none */
	char *field_selector; /* likewise   */
	size_t *pending;
	size_t objects;
	size_t broken; /* objects that cannot be read */
	int status;    /* HTTP's, of the last page    */
	int result;
	struct err err;
};

static void on_page(void *arg, int result, const struct kube_response *response,
		    const struct err *err);

static void ask_page(struct listing *listing, const char *token)
{
	const struct api_kind *kind = cluster_kind(listing->kind);
	auto_str struct str path = STR_INIT;

	url_object(&path, kind, NULL, NULL, NULL);
	url_add_query(&path, &(struct url_query){
				     .limit = LISTS_PAGE,
				     .continue_token = token,
				     .label_selector = listing->label_selector,
				     .field_selector = listing->field_selector,
			     });
	kube_client_send(session_client(listing->session),
			 &(struct kube_request){
				 .verb = "list",
				 .resource = kind->plural,
				 .method = "GET",
				 .path = str_cstr(&path),
				 .timeout_ms = session_timeout_ms(listing->session),
			 },
			 on_page, listing);
}

static void end(struct listing *listing, int result)
{
	listing->result = result;
	(*listing->pending)--;
}

/* An object that cannot be read because a newer version of hostdev wrote it does not hide the
 * others. */
static void take_object(void *arg, const struct json_text *text)
{
	struct listing *listing = arg;
	const struct api_kind *kind = cluster_kind(listing->kind);
	void *object = xmalloc(kind->size);

	listing->objects++;
	if (json_map_read(kind->map, text->text, text->len, object, NULL) == 0) {
		cluster_put(listing->cluster, listing->kind, object);
		return;
	}
	listing->broken++;
	free(object);
}

static void on_page(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct listing *listing = arg;
	struct list_page page = { 0 };

	listing->status = response->status;
	if (result < 0)
		listing->err = *err;
	result = session_judge(result, &listing->err);
	if (result == 0)
		result = list_page_read(response->body, response->body_len, take_object, listing,
					&page, &listing->err);
	if (result == 0 && listing->objects > LISTS_OBJECTS_MAX)
		result = err_set(&listing->err, ERR_INVALID, -E2BIG, "more than %d objects",
				 LISTS_OBJECTS_MAX);
	if (result == 0 && page.next_page && page.next_page[0])
		ask_page(listing, page.next_page);
	else
		end(listing, result);
	list_page_done(&page);
}

/* Kinds whose lists can be limited to a node by its label. */
static bool has_node_label(enum cluster_kind kind)
{
	return kind == CLUSTER_PCIDEVICE || kind == CLUSTER_USBDEVICE || kind == CLUSTER_MDEV;
}

void lists_add_forbidden(const char *what, const char *message, struct str *to)
{
	auto_free char *user = message ? lists_forbidden_user(message) : NULL;

	if (user)
		str_addf(to, "user '%s' may not list %s (403 forbidden)", user, what);
	else
		str_addf(to, "you may not list %s (403 forbidden)", what);
}

int lists_denied(const char *plural, const char *message, struct err *err)
{
	bool events = strcmp(plural, event_kind.plural) == 0;
	auto_str struct str text = STR_INIT;

	if (!strstr(message, "403"))
		return err_set(err, ERR_INVALID, -EACCES, "%s", message);
	lists_add_forbidden(events ? "events in the namespace default" : plural, message, &text);
	return err_set(err, ERR_INVALID, -EACCES, "%s: ask an administrator for the role %s",
		       str_cstr(&text), events ? "event-reader of docs/audit.md" : "hostdev-view");
}

static int explain(struct listing *listing, struct err *err)
{
	const struct api_kind *kind = cluster_kind(listing->kind);

	*err = listing->err;
	if (listing->result == -ENOENT)
		return err_set(err, ERR_INVALID, -ENOENT,
			       "the cluster at %s knows no %s: is hostdev installed there (kubectl "
			       "apply --server-side -f crds/)?",
			       session_server(listing->session), kind->plural);
	return err->code;
}

static int judge(struct listing *listing, const struct lists_want *want,
		 struct lists_missing *ret_missing, struct err *err)
{
	struct err why = { 0 };

	if (listing->result == 0 && listing->kind == CLUSTER_NODE && listing->broken == 0)
		cluster_know_nodes(listing->cluster);
	if (listing->result == 0)
		return 0;
	explain(listing, &why);
	if (listing->result == -EACCES && !(want->optional & CLUSTER_SET(listing->kind)))
		return lists_denied(cluster_kind(listing->kind)->plural, why.msg, err);
	/* 401: no identity, so every list fails. That is an error, not a missing right. */
	if (!(want->optional & CLUSTER_SET(listing->kind)) || listing->status == 401 ||
	    (listing->result != -ENOENT && listing->result != -EACCES)) {
		*err = why;
		return why.code;
	}
	if (ret_missing) {
		ret_missing->kinds |= CLUSTER_SET(listing->kind);
		if (listing->result == -EACCES)
			ret_missing->forbidden |= CLUSTER_SET(listing->kind);
		(void)snprintf(ret_missing->why[listing->kind],
			       sizeof(ret_missing->why[listing->kind]), "%s", why.msg);
	}
	return 0;
}

static void run_lists(struct session *session, struct listing *listings, size_t len,
		      size_t *pending)
{
	unsigned tries = 0;

	/* Commands that wait catch signals, but only after their lists: here a signal ends the
	 * process. */
	if (session_run(session, pending) < 0)
		exit(130);
	for (size_t i = 0; i < len; i++) {
		while (session_again(session, listings[i].result, &listings[i].err, &tries)) {
			(*pending)++;
			listings[i].objects = 0;
			ask_page(&listings[i], NULL);
			if (session_run(session, pending) < 0)
				exit(130);
		}
	}
}

void lists_select(const struct lists_want *want, enum cluster_kind kind, char **ret_labels,
		  char **ret_fields)
{
	auto_free char *label = want->node ? names_label_value(want->node) : NULL;
	bool of_node = label && has_node_label(kind);
	bool selected = want->selector && (has_node_label(kind) || kind == CLUSTER_POOL);

	*ret_labels = of_node || selected
			      ? xasprintf("%s%s%s%s", of_node ? NAMES_LABEL_NODE "=" : "",
					  of_node ? label : "", of_node && selected ? "," : "",
					  selected ? want->selector : "")
			      : NULL;
	*ret_fields = NULL;
	if (label && kind == CLUSTER_NODE)
		*ret_fields = xasprintf("metadata.name=%s", want->node);
	if (kind == CLUSTER_SLICE)
		*ret_fields = xasprintf("spec.driver=" DRA_DRIVER "%s%s",
					want->node ? ",spec.nodeName=" : "",
					want->node ? want->node : "");
}

/* For them it matters who asks. */
static bool has_owned_claims(const struct cluster *cluster)
{
	size_t len;
	auto_free const void **claims = cluster_objects(cluster, CLUSTER_PCICLAIM, &len);
	bool owned = false;

	for (size_t i = 0; i < len && !owned; i++) {
		const struct pcideviceclaim *claim = claims[i];

		owned = claim->spec.user_name && *claim->spec.user_name;
	}
	return owned;
}

int lists_read(struct session *session, const struct lists_want *want, struct cluster *cluster,
	       struct lists_missing *ret_missing, struct err *err)
{
	struct listing listings[CLUSTER_KINDS];
	size_t pending = 0;
	size_t len = 0;
	int r = 0;

	if (ret_missing)
		*ret_missing = (struct lists_missing){ 0 };
	for (int kind = 0; kind < CLUSTER_KINDS; kind++) {
		struct listing *listing = &listings[len];

		if (!(want->kinds & CLUSTER_SET(kind)))
			continue;
		*listing = (struct listing){
			.session = session,
			.cluster = cluster,
			.kind = (enum cluster_kind)kind,
			.pending = &pending,
		};
		lists_select(want, listing->kind, &listing->label_selector,
			     &listing->field_selector);
		len++;
		pending++;
		ask_page(listing, NULL);
	}
	run_lists(session, listings, len, &pending);
	for (size_t i = 0; i < len; i++) {
		if (r == 0)
			r = judge(&listings[i], want, ret_missing, err);
		free(listings[i].label_selector);
		free(listings[i].field_selector);
	}
	if (want->selector)
		narrow_to_listed(cluster);
	if (r == 0 && (want->kinds & CLUSTER_CLAIMS) && has_owned_claims(cluster)) {
		auto_free char *caller = want->user ? NULL : session_caller(session);

		cluster_set_caller(cluster, want->user ? want->user : caller);
	}
	return r;
}

int lists_read_dra(struct session *session, unsigned kinds, struct cluster *cluster,
		   struct lists_missing *missing, struct err *err)
{
	const struct lists_want want = { .kinds = kinds, .optional = kinds };
	struct lists_missing more;
	int r;

	if (cluster_count(cluster, CLUSTER_SLICE) == 0)
		return 0;
	r = lists_read(session, &want, cluster, &more, err);
	if (r < 0)
		return r;
	missing->kinds |= more.kinds;
	missing->forbidden |= more.forbidden;
	for (int kind = 0; kind < CLUSTER_KINDS; kind++) {
		if (more.kinds & CLUSTER_SET(kind))
			memcpy(missing->why[kind], more.why[kind], sizeof(missing->why[kind]));
	}
	return 0;
}

char *lists_forbidden_user(const char *message)
{
	static const char before[] = "User \"";
	const char *user = strstr(message, before);
	const char *end = user ? strstr(user + sizeof(before) - 1, "\" cannot ") : NULL;

	if (!end || strncmp(end, "\" cannot impersonate", strlen("\" cannot impersonate")) == 0)
		return NULL;
	user += sizeof(before) - 1;
	return xstrndup(user, (size_t)(end - user));
}

void lists_forbidden_text(const struct lists_missing *missing, unsigned kinds, struct str *to)
{
	unsigned forbidden = missing->kinds & missing->forbidden & kinds;
	auto_str struct str list = STR_INIT;
	const char *why = NULL;

	for (int kind = 0; kind < CLUSTER_KINDS; kind++) {
		if (!(forbidden & CLUSTER_SET(kind)))
			continue;
		str_addf(&list, "%s%s", list.len ? ", " : "",
			 cluster_kind((enum cluster_kind)kind)->plural);
		if (!why && missing->why[kind][0])
			why = missing->why[kind];
	}
	if (missing->events)
		str_addf(&list, "%sevents", list.len ? ", " : "");
	if (list.len == 0)
		return;
	lists_add_forbidden(list.buf, why, to);
	if (forbidden & CLUSTER_SET(CLUSTER_NODE))
		str_add(to, "; whether nodes are ready is not known");
}

int lists_installed(const struct lists_missing *missing, struct err *err)
{
	static const enum cluster_kind needed[] = { CLUSTER_PCIDEVICE, CLUSTER_PCICLAIM };
	unsigned absent = missing->kinds & ~missing->forbidden;

	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		if (absent & CLUSTER_SET(needed[i]))
			return err_set(err, ERR_INVALID, -ENOENT, "%s", missing->why[needed[i]]);
	}
	return 0;
}

int lists_check(const struct lists_missing *missing, struct err *err)
{
	static const unsigned all = CLUSTER_SET(CLUSTER_PCIDEVICE) |
				    CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_MDEV);
	int r;

	if ((missing->forbidden & all) == all)
		return lists_denied(cluster_kind(CLUSTER_PCIDEVICE)->plural,
				    missing->why[CLUSTER_PCIDEVICE], err);
	r = lists_installed(missing, err);
	if (r == 0 && (missing->kinds & all) == all)
		return err_set(err, ERR_INVALID, -ENOENT, "%s", missing->why[CLUSTER_PCIDEVICE]);
	return r;
}

int lists_read_one(struct session *session, enum cluster_kind kind, const char *name,
		   struct cluster *cluster, struct err *err)
{
	const struct api_kind *k = cluster_kind(kind);
	auto_str struct str path = STR_INIT;
	auto_answer struct session_answer answer = { 0 };
	void *object;
	int r;

	url_object(&path, k, NULL, name, NULL);
	r = session_ask(session,
			&(struct kube_request){
				.verb = "get",
				.resource = k->plural,
				.method = "GET",
				.path = str_cstr(&path),
			},
			&answer, err);
	if (r < 0)
		return r;
	object = xmalloc(k->size);
	r = json_map_read(k->map, answer.body, answer.len, object, err);
	if (r < 0) {
		free(object);
		return err_wrap(err, "get %s '%.100s'", k->plural, name);
	}
	cluster_put(cluster, kind, object);
	return 0;
}
