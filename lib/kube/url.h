/*
 * url: builds the API server's paths and queries, escaped, and parses server addresses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct api_kind;
struct err;
struct str;

/* Query parameters of a request; 0, false or NULL omits one. */
struct url_query {
	const char *label_selector;
	const char *field_selector;
	const char *resource_version; /* "" and "0" mean different things; NULL omits it */
	const char *resource_version_match;
	const char *continue_token;
	const char *field_manager;
	uint64_t limit;
	uint64_t timeout_seconds;
	bool watch;
	bool bookmarks;
	bool force; /* for server-side apply: take over fields from other managers */
	bool dry_run;
	bool strict; /* refuse fields that are not in the schema; by default they are dropped */
};

/* Append "/apis/GROUP/VERSION[/namespaces/NS]/PLURAL[/NAME[/SUBRESOURCE]][?QUERY]". @ns
 * overrides the kind's own namespace; NULL with a kind without one means cluster-wide. @name,
 * @subresource and @query may be NULL. */
void url_object(struct str *out, const struct api_kind *kind, const char *ns, const char *name,
		const char *subresource);
void url_add_query(struct str *out, const struct url_query *query);

/* Append @text with every byte outside RFC 3986's unreserved set as %XX. */
void url_add_escaped(struct str *out, const char *text);

/* The parts of a server's address; free them with url_server_done(). */
struct url_server {
	char *scheme; /* "https" or "http" */
	char *host;   /* IPv6 in brackets */
	unsigned port;
	char *prefix; /* "" or "/path" without a trailing slash */
};

/* Returns -EINVAL and says what is wrong in @text. */
int url_server_parse(const char *text, struct url_server *ret_server, struct err *err);
void url_server_done(struct url_server *server);

/* The normalized address as one string, with port and without a trailing slash; the caller frees
 * it. */
int url_server_normal(const char *text, char **ret_text, struct err *err);
