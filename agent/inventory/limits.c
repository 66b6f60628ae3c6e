#include "agent/inventory/limits.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "base/str.h"

static const char digits[] = "0123456789";
static const char hex_digits[] = "0123456789abcdef";

bool limit_is_id(const char *text, size_t max)
{
	return strlen(text) == max && strspn(text, hex_digits) == max;
}

bool limit_is_number(const char *text, size_t max)
{
	size_t len = strlen(text);

	return len > 0 && len <= max && strspn(text, digits) == len;
}

/* Pass @n hex digits and then @end; NULL if they are not there. NULL stays NULL. */
static const char *pass_hex(const char *text, size_t n, char end)
{
	if (!text || strspn(text, hex_digits) != n || text[n] != end)
		return NULL;
	return text + n + 1;
}

/* The domain has four digits, eight on machines with many (Hyper-V, VMD). */
bool limit_is_address(const char *text, size_t max)
{
	size_t domain = strspn(text, hex_digits);
	const char *function;

	if (strlen(text) > max || domain < 4 || domain > 8)
		return false;
	function = pass_hex(pass_hex(pass_hex(text, domain, ':'), 2, ':'), 2, '.');
	return function && function[0] >= '0' && function[0] <= '7' && function[1] == '\0';
}

/* Pass decimal digits, at least one; NULL if there is none. */
static const char *pass_number(const char *text)
{
	size_t n = strspn(text, digits);

	return n > 0 ? text + n : NULL;
}

bool limit_is_port(const char *text, size_t max)
{
	const char *rest;
	char mark = '-';

	if (strlen(text) > max)
		return false;
	if (strncmp(text, "usb", 3) == 0)
		return limit_is_number(text + 3, max);
	rest = pass_number(text);
	while (rest && *rest == mark) {
		rest = pass_number(rest + 1);
		mark = '.';
	}
	return rest && *rest == '\0' && mark == '.';
}

bool limit_is_uuid(const char *text, size_t max)
{
	const char *rest = pass_hex(pass_hex(pass_hex(text, 8, '-'), 4, '-'), 4, '-');

	rest = pass_hex(pass_hex(rest, 4, '-'), 12, '\0');
	return rest && (size_t)(rest - 1 - text) <= max;
}

bool limit_is_word(const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len == 0 || len > max)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	return true;
}

/* The schema counts characters and we count bytes: never too many. */
static void cut(char **text, size_t max)
{
	struct str clean = STR_INIT;

	str_add_clean(&clean, *text, strlen(*text));
	str_cut(&clean, max);
	free(*text);
	*text = str_detach(&clean);
}

static void drop(char **text)
{
	free(*text);
	*text = NULL;
}

void limits_apply(const struct limit *rows, size_t len, void *object)
{
	for (size_t i = 0; i < len; i++) {
		char **text = (void *)((char *)object + rows[i].at);

		if (!*text)
			continue;
		if (!rows[i].form)
			cut(text, rows[i].max);
		else if (!rows[i].form(*text, rows[i].max))
			drop(text);
	}
}

void limit_list(struct json_strs *list, size_t items_max, size_t max, limit_form_fn *form)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->len; i++) {
		if (kept < items_max && form(list->items[i], max))
			list->items[kept++] = list->items[i];
		else
			free(list->items[i]);
	}
	list->len = kept;
}

int limit_number(int number, int max, int absent)
{
	return number >= 0 && number <= max ? number : absent;
}
