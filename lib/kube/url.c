#include "kube/url.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "api/kind.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

void url_add_escaped(struct str *out, const char *text)
{
	for (; *text; text++) {
		if (isascii(*text) && (isalnum((unsigned char)*text) || strchr("-._~", *text)))
			str_add_char(out, *text);
		else
			str_addf(out, "%%%02X", (unsigned char)*text);
	}
}

static void add_segment(struct str *out, const char *text)
{
	str_add_char(out, '/');
	url_add_escaped(out, text);
}

void url_object(struct str *out, const struct api_kind *kind, const char *ns, const char *name,
		const char *subresource)
{
	str_add(out, *kind->group ? "/apis" : "/api");
	if (*kind->group)
		add_segment(out, kind->group);
	add_segment(out, kind->version);
	if (!ns)
		ns = kind->ns;
	if (ns) {
		str_add(out, "/namespaces");
		add_segment(out, ns);
	}
	add_segment(out, kind->plural);
	if (name)
		add_segment(out, name);
	if (name && subresource)
		add_segment(out, subresource);
}

static void add_text(struct str *out, const char *name, const char *value)
{
	if (!value)
		return;
	str_add_char(out, out->len > 0 && memchr(out->buf, '?', out->len) ? '&' : '?');
	str_addf(out, "%s=", name);
	url_add_escaped(out, value);
}

static void add_number(struct str *out, const char *name, uint64_t value)
{
	auto_free char *text = NULL;

	if (value == 0)
		return;
	text = xasprintf("%" PRIu64, value);
	add_text(out, name, text);
}

static void add_flag(struct str *out, const char *name, const char *value, bool on)
{
	if (on)
		add_text(out, name, value);
}

void url_add_query(struct str *out, const struct url_query *query)
{
	add_flag(out, "watch", "true", query->watch);
	add_flag(out, "allowWatchBookmarks", "true", query->bookmarks);
	add_text(out, "labelSelector", query->label_selector);
	add_text(out, "fieldSelector", query->field_selector);
	add_text(out, "resourceVersion", query->resource_version);
	add_text(out, "resourceVersionMatch", query->resource_version_match);
	add_number(out, "limit", query->limit);
	add_text(out, "continue", query->continue_token);
	add_number(out, "timeoutSeconds", query->timeout_seconds);
	add_text(out, "fieldManager", query->field_manager);
	add_flag(out, "force", "true", query->force);
	add_flag(out, "dryRun", "All", query->dry_run);
	add_flag(out, "fieldValidation", "Strict", query->strict);
}

/* The length of the host at the start of @text: up to a port, a path or the closing bracket. */
static size_t host_length(const char *text)
{
	const char *end;

	if (*text != '[')
		return strcspn(text, ":/");
	end = strchr(text, ']');
	return end ? (size_t)(end - text) + 1 : 0;
}

static bool is_host(const char *text, size_t len)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"-._[]:%";

	return len > 0 && len < 256 && strspn(text, letters) >= len;
}

static bool parse_port(const char **at, unsigned *port)
{
	auto_free char *digits = NULL;
	uint64_t value;
	size_t len;

	if (**at != ':')
		return true;
	len = strcspn(*at + 1, "/");
	digits = xstrndup(*at + 1, len);
	if (!str_to_u64(digits, &value) || value == 0 || value > 65535)
		return false;
	*port = (unsigned)value;
	*at += 1 + len;
	return true;
}

int url_server_parse(const char *text, struct url_server *ret_server, struct err *err)
{
	bool tls = strncmp(text, "https://", 8) == 0;
	const char *host = text + (tls ? 8 : 7);
	unsigned port = tls ? 443 : 80;
	const char *rest;
	size_t prefix;
	size_t len;

	if (!tls && strncmp(text, "http://", 7) != 0)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "server '%s' does not begin with https:// (or http://)", text);
	len = host_length(host);
	rest = host + len;
	if (!is_host(host, len) || !parse_port(&rest, &port) || (*rest && *rest != '/'))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "server '%s' is not https://HOST[:PORT][/PATH]", text);
	prefix = strlen(rest);
	while (prefix > 0 && rest[prefix - 1] == '/')
		prefix--;
	if (strcspn(rest, "?# ") < prefix)
		return err_set(err, ERR_INVALID, -EINVAL, "server '%s' has more than a path", text);
	*ret_server = (struct url_server){
		.scheme = xstrdup(tls ? "https" : "http"),
		.host = xstrndup(host, len),
		.port = port,
		.prefix = xstrndup(rest, prefix),
	};
	return 0;
}

void url_server_done(struct url_server *server)
{
	free(server->scheme);
	free(server->host);
	free(server->prefix);
	*server = (struct url_server){ 0 };
}

int url_server_normal(const char *text, char **ret_text, struct err *err)
{
	struct url_server parts = { 0 };
	int r = url_server_parse(text, &parts, err);

	if (r < 0)
		return r;
	*ret_text = xasprintf("%s://%s:%u%s", parts.scheme, parts.host, parts.port, parts.prefix);
	url_server_done(&parts);
	return 0;
}
