#include "kube/impersonate.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/config.h"

/* Characters not allowed in a header name are %-escaped (client-go transport: headerKeyEscape). */
static void add_key(struct str *header, const char *key)
{
	for (; *key; key++) {
		unsigned char c = (unsigned char)*key;

		if (isascii(c) && (isalnum(c) || strchr("!#$&'*+-.^_`|~", c)))
			str_add_char(header, (char)c);
		else
			str_addf(header, "%%%02X", c);
	}
}

void impersonate_extra(struct kube_as *as, const char *key, const char *value)
{
	auto_str struct str header = STR_INIT;

	str_add(&header, "Impersonate-Extra-");
	add_key(&header, key);
	str_addf(&header, ": %s", value);
	json_strs_add(&as->extra, str_cstr(&header));
}

static bool is_value(const char *text)
{
	while ((unsigned char)*text >= ' ' && *text != 0x7f)
		text++;
	return *text == '\0';
}

static bool are_values(const struct json_strs *list)
{
	for (size_t i = 0; i < list->len; i++) {
		if (!is_value(list->items[i]))
			return false;
	}
	return true;
}

int impersonate_check(const struct kube_as *as, struct err *err)
{
	bool more = as->uid || as->groups.len > 0 || as->extra.len > 0;

	if (!as->user && more)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "impersonation of a group or uid needs a user, too (--as NAME)");
	if ((as->user && !is_value(as->user)) || (as->uid && !is_value(as->uid)) ||
	    !are_values(&as->groups) || !are_values(&as->extra))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "impersonation: names must not contain control characters");
	return 0;
}

static void add_header(struct json_strs *headers, const char *name, const char *value)
{
	auto_free char *header = xasprintf("%s: %s", name, value);

	json_strs_add(headers, header);
}

void impersonate_headers(const struct kube_as *as, struct json_strs *headers)
{
	if (!as->user)
		return;
	add_header(headers, "Impersonate-User", as->user);
	if (as->uid)
		add_header(headers, "Impersonate-Uid", as->uid);
	for (size_t i = 0; i < as->groups.len; i++)
		add_header(headers, "Impersonate-Group", as->groups.items[i]);
	for (size_t i = 0; i < as->extra.len; i++)
		json_strs_add(headers, as->extra.items[i]);
}
