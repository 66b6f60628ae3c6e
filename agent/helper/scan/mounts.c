#include "agent/helper/scan/mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/num.h"

enum {
	FIELDS_MAX = 64, /* optional fields are few: shared, master, propagate_from */
	DEVICE = 2,      /* places of the fields that matter */
	ROOT = 3,
	POINT = 4,
	OPTIONAL = 6,
};

/* The words of one line, each a string of its own inside @text. */
struct words {
	char *items[FIELDS_MAX];
	size_t len;
	char *text;
};

/* Blanks, tabs, newlines and backslashes inside names come as "\ooo". */
static void unescape(char *word)
{
	char *to = word;

	for (const char *from = word; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
		    from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static void words_split(struct words *words, const char *line, size_t len)
{
	char *at;

	*words = (struct words){ .text = xstrndup(line, len) };
	at = words->text;
	while (*(at += strspn(at, " \t")) && words->len < FIELDS_MAX) {
		size_t word = strcspn(at, " \t");
		bool last = at[word] == '\0';

		at[word] = '\0';
		words->items[words->len++] = at;
		at += last ? word : word + 1;
	}
	for (size_t i = 0; i < words->len; i++)
		unescape(words->items[i]);
}

bool mounts_parse_device(char *text, unsigned *ret_major, unsigned *ret_minor)
{
	char *colon = strchr(text, ':');
	uint64_t major;
	uint64_t minor;

	if (!colon)
		return false;
	*colon = '\0';
	if (!str_to_u64(text, &major) || !str_to_u64(colon + 1, &minor) || major > UINT32_MAX ||
	    minor > UINT32_MAX)
		return false;
	*ret_major = (unsigned)major;
	*ret_minor = (unsigned)minor;
	return true;
}

/* "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static bool mount_from_words(const struct words *words, struct mount *ret_mount)
{
	size_t dash = OPTIONAL;

	while (dash < words->len && strcmp(words->items[dash], "-") != 0)
		dash++;
	if (dash + 2 >= words->len || words->items[POINT][0] != '/')
		return false;
	if (!mounts_parse_device(words->items[DEVICE], &ret_mount->major, &ret_mount->minor))
		return false;
	ret_mount->root = xstrdup(words->items[ROOT]);
	ret_mount->point = xstrdup(words->items[POINT]);
	ret_mount->fstype = xstrdup(words->items[dash + 1]);
	ret_mount->source = xstrdup(words->items[dash + 2]);
	ret_mount->options = xstrdup(dash + 3 < words->len ? words->items[dash + 3] : "");
	return true;
}

/* The next line without its newline; false at the end. */
static bool next_line(const char **at, const char *end, const char **ret_line, size_t *ret_len)
{
	const char *stop;

	if (*at >= end)
		return false;
	stop = memchr(*at, '\n', (size_t)(end - *at));
	if (!stop)
		stop = end;
	*ret_line = *at;
	*ret_len = (size_t)(stop - *at);
	*at = stop + 1;
	return true;
}

size_t mounts_parse(const char *text, size_t len, struct mounts *mounts)
{
	const char *end = text + len;
	const char *line;
	size_t line_len;
	size_t bad = 0;

	while (next_line(&text, end, &line, &line_len)) {
		struct mount mount = { 0 };
		struct words words;

		words_split(&words, line, line_len);
		if (mount_from_words(&words, &mount))
			*array_add(mounts) = mount;
		else
			bad++;
		free(words.text);
	}
	return bad;
}

void mounts_done(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->len; i++) {
		free(mounts->items[i].root);
		free(mounts->items[i].point);
		free(mounts->items[i].fstype);
		free(mounts->items[i].source);
		free(mounts->items[i].options);
	}
	array_done(mounts);
}

bool mounts_path_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	if (strcmp(folder, "/") == 0)
		return true;
	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

const struct mount *mounts_backing(const struct mounts *mounts, const char *path)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < mounts->len; i++) {
		const struct mount *mount = &mounts->items[i];

		if (mounts_path_below(path, mount->point) &&
		    (!best || strlen(mount->point) >= strlen(best->point)))
			best = mount;
	}
	return best;
}

static struct swap swap_from_words(const struct words *words)
{
	struct swap swap = {
		.path = xstrdup(words->items[0]),
		.is_device = strcmp(words->items[1], "file") != 0,
	};

	if (words->len < 3 || !str_to_u64(words->items[2], &swap.kib))
		swap.kib = 0;
	return swap;
}

size_t swaps_parse(const char *text, size_t len, struct swaps *swaps)
{
	const char *end = text + len;
	const char *line;
	size_t line_len;
	bool heading = true; /* the first line */
	size_t bad = 0;

	while (next_line(&text, end, &line, &line_len)) {
		struct words words;

		words_split(&words, line, line_len);
		if (words.len >= 2 && words.items[0][0] == '/')
			*array_add(swaps) = swap_from_words(&words);
		else if (words.len > 0 && !heading)
			bad++;
		heading = false;
		free(words.text);
	}
	return bad;
}

void swaps_done(struct swaps *swaps)
{
	for (size_t i = 0; i < swaps->len; i++)
		free(swaps->items[i].path);
	array_done(swaps);
}
