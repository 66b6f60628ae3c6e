/*
 * out: text for a person: cleaned, in colours, and broken where a terminal ends.
 *
 * Anybody may have written text of the API or of a device, so it gets into tables and lines only
 * through out_text().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* In the order of out_formats. */
enum out_format { OUT_TABLE, OUT_WIDE, OUT_JSON, OUT_YAML, OUT_NAME };
enum { OUT_TEXT_MAX = 4096 }; /* shown bytes of one text */

enum out_colour {
	COLOUR_NONE,
	COLOUR_DIM,
	COLOUR_RED,
	COLOUR_GREEN,
	COLOUR_YELLOW,
	COLOUR_BLUE,
};

/* The output, and how it may look. */
struct out {
	enum out_format format;
	bool colour;
	bool terminal;        /* standard output is one */
	const char *jsonpath; /* with OUT_JSON: the template that prints it; NULL: all of it */
	bool headless;        /* tables have no titles */
	bool utf8;            /* box-drawing characters are understood */
	size_t width; /* of the terminal, in characters; 0: no terminal, lines have any length */
	struct str text;
};

/* The environment that decides about colours; NULL: not set. */
struct out_env {
	bool terminal; /* is standard output one? */
	const char *no_color;
	const char *term;
	const char *lc_all, *lc_ctype, *lang;
};

/* Colour only on a terminal that is not dumb, and never with NO_COLOR set to anything
 * (no-color.org). */
bool out_colour_rule(const struct out_env *env);
/* Does the locale say UTF-8? */
bool out_utf8_rule(const struct out_env *env);

/* Of standard output, with the environment's variables. str_done() releases out->text. */
void out_init(struct out *out, enum out_format format);

/* Columns of the terminal @fd; 0: it is none. */
size_t out_terminal_width(int fd);

/* Append @text, cut at OUT_TEXT_MAX. Control characters become \xNN, and characters that are
 * invisible or change the direction of text \uNNNN. */
void out_text(struct str *to, const char *text);

/* Characters of @text, which is what a terminal shows of most text. */
size_t out_width(const char *text);

/* Append @text, which is clean, and break it at blanks where the terminal ends. It begins in column
 * @from; its further lines begin with @indent blanks. A word is not broken, nor is a command behind
 * ": ", so that it can be copied. In -o wide, and without a terminal, nothing is broken. */
void out_wrap(const struct out *out, struct str *to, const char *text, size_t from, size_t indent);

/* Append the escape sequence that starts @colour, or ends it (COLOUR_NONE). Appends nothing
 * without colours. */
void out_colour(const struct out *out, struct str *to, enum out_colour colour);
