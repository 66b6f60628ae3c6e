#include "text/out.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"

size_t out_width(const char *text)
{
	size_t len = 0;

	for (; *text; text++) {
		if (((unsigned char)*text & 0xc0) != 0x80)
			len++;
	}
	return len;
}

/* Bytes of @text from @at up to the next place at which it may be broken. */
static size_t unbroken(const char *text, size_t at)
{
	static const char command[] = "kubectl ";

	if (at >= 2 && strncmp(text + at - 2, ": ", 2) == 0 &&
	    strncmp(text + at, command, sizeof(command) - 1) == 0)
		return strlen(text + at);
	return strcspn(text + at, " ");
}

void out_wrap(const struct out *out, struct str *to, const char *text, size_t from, size_t indent)
{
	size_t column = from;
	size_t at = 0;

	if (out->width == 0 || out->format != OUT_TABLE) {
		str_add(to, text);
		return;
	}
	while (text[at]) {
		size_t blanks = strspn(text + at, " ");
		size_t len = unbroken(text, at + blanks);
		auto_free char *word = xstrndup(text + at + blanks, len);
		size_t width = out_width(word);

		if (column > indent && column + blanks + width > out->width) {
			str_addf(to, "\n%*s%s", (int)indent, "", word);
			column = indent + width;
		} else {
			str_addf(to, "%*s%s", (int)blanks, "", word);
			column += blanks + width;
		}
		at += blanks + len;
	}
}

static bool is_set(const char *text)
{
	return text && *text;
}

bool out_colour_rule(const struct out_env *env)
{
	if (!env->terminal || is_set(env->no_color))
		return false;
	return is_set(env->term) && strcmp(env->term, "dumb") != 0;
}

bool out_utf8_rule(const struct out_env *env)
{
	const char *locale = is_set(env->lc_all)     ? env->lc_all
			     : is_set(env->lc_ctype) ? env->lc_ctype
						     : env->lang;

	return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

size_t out_terminal_width(int fd)
{
	struct winsize size = { 0 };

	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void out_init(struct out *out, enum out_format format)
{
	struct out_env env = {
		.terminal = isatty(STDOUT_FILENO) == 1,
		.no_color = getenv("NO_COLOR"),
		.term = getenv("TERM"),
		.lc_all = getenv("LC_ALL"),
		.lc_ctype = getenv("LC_CTYPE"),
		.lang = getenv("LANG"),
	};

	*out = (struct out){
		.format = format,
		.terminal = env.terminal,
		.colour = out_colour_rule(&env),
		.utf8 = out_utf8_rule(&env),
		.width = env.terminal ? out_terminal_width(STDOUT_FILENO) : 0,
	};
}

/* Invisible characters. Some change the text around them: its direction (bidi), line separators,
 * characters without width, tags. */
static const struct {
	unsigned first, last;
} invisible[] = {
	{ 0x00ad, 0x00ad }, { 0x061c, 0x061c }, { 0x180e, 0x180e },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

static bool is_invisible(unsigned code)
{
	for (size_t i = 0; i < ARRAY_LEN(invisible); i++) {
		if (code >= invisible[i].first && code <= invisible[i].last)
			return true;
	}
	return false;
}

/* Show invisible characters as numbers. str_add_clean() does that with control characters. */
static void add_visible(struct str *to, const char *text, size_t len)
{
	size_t begin = 0;

	for (size_t at = 0, n; at < len; at += n ? n : 1) {
		unsigned code;

		n = utf8_sequence(text + at, len - at);
		code = n > 0 ? utf8_code_point(text + at, n) : 0;
		if (!is_invisible(code))
			continue;
		str_add_clean(to, text + begin, at - begin);
		str_addf(to, code > 0xffff ? "\\U%08x" : "\\u%04x", code);
		begin = at + n;
	}
	str_add_clean(to, text + begin, len - begin);
}

void out_text(struct str *to, const char *text)
{
	size_t len = strlen(text);

	if (len <= OUT_TEXT_MAX) {
		add_visible(to, text, len);
		return;
	}
	/* Do not cut a character in two: its bytes would be shown as numbers. */
	len = OUT_TEXT_MAX;
	while (len > OUT_TEXT_MAX - 4 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	add_visible(to, text, len);
	str_add(to, "...");
}

void out_colour(const struct out *out, struct str *to, enum out_colour colour)
{
	static const char *const sequences[] = {
		[COLOUR_NONE] = "\033[0m",    [COLOUR_DIM] = "\033[2m",
		[COLOUR_RED] = "\033[31m",    [COLOUR_GREEN] = "\033[32m",
		[COLOUR_YELLOW] = "\033[33m", [COLOUR_BLUE] = "\033[34m",
	};

	if (out->colour)
		str_add(to, sequences[colour]);
}
