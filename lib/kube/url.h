/*
 * url: the API server's paths and queries, escaped; and the server's own address taken apart.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct api_kind;
struct err;
struct str;

/* What a request to a collection or an object may ask for; zero or NULL leaves it out. */
struct url_query {
	const char *label_selector;
	const char *field_selector;
	const char *resource_version; /* "" is not the same as "0", and NULL is not sent */
	const char *resource_version_match;
	const char *continue_token;
	const char *field_manager;
	uint64_t limit;
	uint64_t timeout_seconds;
	bool watch;
	bool bookmarks;
	bool force; /* server-side apply takes over fields of others */
	bool dry_run;
	bool strict; /* fields that the schema does not have are refused, not dropped */
};

/* Append "/apis/GROUP/VERSION[/namespaces/NS]/PLURAL[/NAME[/SUBRESOURCE]][?QUERY]". @ns overrides the
 * kind's own; NULL with a kind without one is the whole cluster. @name, @subresource and @query
 * may be NULL. */
void url_object(struct str *out, const struct api_kind *kind, const char *ns, const char *name,
		const char *subresource);
void url_add_query(struct str *out, const struct url_query *query);

/* Append @text with every byte outside RFC 3986's unreserved set as %XX. */
void url_add_escaped(struct str *out, const char *text);

/* A server's address in parts; each is the caller's to free by url_server_done(). */
struct url_server {
	char *scheme; /* "https" or "http"                      */
	char *host;   /* IPv6 in brackets                       */
	unsigned port;
	char *prefix; /* "" or "/path" without a slash at the end */
};

/* Errors: -EINVAL with what is wrong in @text. */
int url_server_parse(const char *text, struct url_server *ret_server, struct err *err);
void url_server_done(struct url_server *server);

/* The same as one text, with its port and without a slash at the end, for the caller to free. */
int url_server_normal(const char *text, char **ret_text, struct err *err);
