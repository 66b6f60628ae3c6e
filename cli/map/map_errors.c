#include "cli/map/map_errors.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/client/lists.h"

#define DIGITS "0123456789"

static bool is_same(const char *a, const char *b)
{
	for (;;) {
		size_t plain = strcspn(a, DIGITS);

		if (plain != strcspn(b, DIGITS) || memcmp(a, b, plain) != 0)
			return false;
		a += plain;
		b += plain;
		if (!*a || !*b)
			return *a == *b;
		a += strspn(a, DIGITS);
		b += strspn(b, DIGITS);
	}
}

static const char *skip(const char *text, const char *before)
{
	size_t len = strlen(before);

	return text && strncmp(text, before, len) == 0 ? text + len : NULL;
}

const char *map_error_text(const char *kind, const char *error)
{
	const char *rest = skip(error, "list ");

	if (!rest)
		rest = skip(error, "watch ");
	rest = skip(skip(rest, kind), ": ");
	return rest ? rest : error;
}

/* All kinds that are forbidden share one line. */
static bool is_forbidden(const char *text)
{
	return skip(text, "403 ") != NULL;
}

static bool is_alike(const char *a, const char *b)
{
	return (is_forbidden(a) && is_forbidden(b)) || is_same(a, b);
}

static void add_reason(struct str *line, const char *error)
{
	auto_free char *user = is_forbidden(error) ? lists_forbidden_user(error) : NULL;

	if (user)
		str_addf(line, ": user '%s' may not (403 forbidden)", user);
	else
		str_addf(line, ": %s", error);
}

/* True if there is an error now, or was one before. */
static bool update_error(struct map_error *error, bool *had)
{
	const char *text = map_error_text(error->kind, error->error);
	const char *printed = error->printed ? error->printed : "";

	*had |= printed[0] != '\0';
	error->is_new = text[0] && !is_same(text, printed);
	if (!is_same(text, printed))
		str_set(&error->printed, text);
	return text[0] != '\0';
}

void map_errors_print(struct map_error *errors, size_t len, void (*print)(const char *line))
{
	bool had = false;
	bool has = false;

	for (size_t i = 0; i < len; i++)
		has |= update_error(&errors[i], &had);
	for (size_t i = 0; i < len; i++) {
		auto_str struct str line = STR_INIT;

		if (!errors[i].is_new)
			continue;
		str_addf(&line, "Cannot read %s", errors[i].kind);
		for (size_t j = i + 1; j < len; j++) {
			if (!errors[j].is_new || !is_alike(errors[i].printed, errors[j].printed))
				continue;
			str_addf(&line, ", %s", errors[j].kind);
			errors[j].is_new = false;
		}
		add_reason(&line, errors[i].printed);
		print(str_cstr(&line));
	}
	if (had && !has)
		print("All can be read again");
}

void map_errors_done(struct map_error *errors, size_t len)
{
	for (size_t i = 0; i < len; i++)
		free(errors[i].printed);
}
