#include "cli/map/map_trouble.h"

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

const char *map_trouble_text(const char *kind, const char *error)
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

static void add_reason(struct str *line, const char *said)
{
	auto_free char *user = is_forbidden(said) ? lists_forbidden_user(said) : NULL;

	if (user)
		str_addf(line, ": user '%s' may not (403 forbidden)", user);
	else
		str_addf(line, ": %s", said);
}

/* True if there is an error now, or was one before. */
static bool look(struct map_trouble *trouble, bool *had)
{
	const char *text = map_trouble_text(trouble->kind, trouble->error);
	const char *said = trouble->said ? trouble->said : "";

	*had |= said[0] != '\0';
	trouble->news = text[0] && !is_same(text, said);
	if (!is_same(text, said)) {
		free(trouble->said);
		trouble->said = xstrdup(text);
	}
	return text[0] != '\0';
}

void map_troubles_say(struct map_trouble *troubles, size_t len, void (*say)(const char *line))
{
	bool had = false;
	bool has = false;

	for (size_t i = 0; i < len; i++)
		has |= look(&troubles[i], &had);
	for (size_t i = 0; i < len; i++) {
		auto_str struct str line = STR_INIT;

		if (!troubles[i].news)
			continue;
		str_addf(&line, "Cannot read %s", troubles[i].kind);
		for (size_t j = i + 1; j < len; j++) {
			if (!troubles[j].news || !is_alike(troubles[i].said, troubles[j].said))
				continue;
			str_addf(&line, ", %s", troubles[j].kind);
			troubles[j].news = false;
		}
		add_reason(&line, troubles[i].said);
		say(str_cstr(&line));
	}
	if (had && !has)
		say("All can be read again");
}

void map_troubles_done(struct map_trouble *troubles, size_t len)
{
	for (size_t i = 0; i < len; i++)
		free(troubles[i].said);
}
