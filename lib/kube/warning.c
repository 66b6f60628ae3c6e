#include "kube/warning.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

/* Kubernetes uses only code 299 and agent "-". */
static const char name[] = "warning:";
static const char prefix[] = "299 - \"";

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

void warning_take(struct str *to, const char *line, size_t len)
{
	auto_str struct str text = STR_INIT;
	size_t at = sizeof(name) - 1;

	if (len < at || strncasecmp(line, name, at) != 0)
		return;
	while (at < len && line[at] == ' ')
		at++;
	if (len - at < sizeof(prefix) || strncmp(line + at, prefix, sizeof(prefix) - 1) != 0)
		return;
	at += sizeof(prefix) - 1;
	if (!unquote(line + at, len - at, &text) || to->len + text.len >= WARNING_TOTAL_MAX)
		return;
	str_add_clean(to, str_cstr(&text), text.len);
	str_add_char(to, '\n');
}
