/*
 * out: what a command prints: in which format, in colour or not, and how it gets to standard output.
 *
 * Text from the API is anybody's: out_text() is the only way by which it gets into tables and lines.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"
#include "cli/model/state.h"

struct api_kind;
struct err;

/* In the order of out_formats. */
enum out_format { OUT_TABLE, OUT_WIDE, OUT_JSON, OUT_YAML, OUT_NAME };
enum { OUT_TEXT_MAX = 4096 }; /* bytes of one text from the API that are shown */

/* The last one, "jsonpath=", takes a template behind it. */
extern const char *const out_formats[];
extern const char *const out_formats_unnamed[]; /* without name          */
extern const char *const out_formats_narrow[];  /* without name and wide */

/* How it may look. */
struct out {
	enum out_format format;
	bool colour;
	bool terminal;        /* standard output is one */
	const char *jsonpath; /* with OUT_JSON: the template that prints it; NULL: all of it */
	bool headless;        /* tables go without titles */
	bool utf8;            /* box-drawing characters are understood */
	size_t width; /* of the terminal, in characters; 0: there is none, lines are as long as they are */
	struct str text;
};

/* What a program finds in its environment; NULL: not set. */
struct out_env {
	bool terminal; /* is standard output one? */
	const char *no_color;
	const char *term;
	const char *lc_all, *lc_ctype, *lang;
};

/* Colour only on a terminal that is not dumb, and never with NO_COLOR set to anything (no-color.org). */
bool out_colour_rule(const struct out_env *env);
/* Does the locale say UTF-8? */
bool out_utf8_rule(const struct out_env *env);

/* @text of --output: a format, and with OUT_JSON the template of "jsonpath=TEMPLATE", which is valid, or NULL. Borrows
 * from @text. Pure. */
int out_format_parse(const char *text, enum out_format *ret_format, const char **ret_jsonpath,
		     struct err *err);

void out_init(struct out *out, enum out_format format);

/* Append @text, cut at OUT_TEXT_MAX, with what could move a terminal's cursor shown as \xNN, and what is
 * invisible or turns the direction of text as \uNNNN. */
void out_text(struct str *to, const char *text);

/* Characters of @text, which is what a terminal shows of most text. */
size_t out_width(const char *text);

/* Append @text, which is clean, and break it at blanks where the terminal ends. It begins in column @from; its further
 * lines begin with @indent blanks. A word is not broken, nor is a command behind ": ", so that it can be copied. In
 * -o wide, and without a terminal, nothing is broken. */
void out_wrap(const struct out *out, struct str *to, const char *text, size_t from, size_t indent);

/* Append the sequence that begins @colour, or ends it (COLOUR_NONE); nothing without colours. */
void out_colour(const struct out *out, struct str *to, enum state_colour colour);

/* Append "pcidevice.devices.harvesterhci.io/NAME", as kubectl's -o name does. */
void out_kind_name(struct str *to, const struct api_kind *kind, const char *name);

/* Give @object the field @key; not where @text is NULL or "". */
void out_set_text(json_t *object, const char *key, const char *text);

/* Append @value as --output says, json, yaml or by a JSONPath template; what could move a cursor is escaped by either. */
void out_json(struct out *out, json_t *value);

/* Is it JSON or YAML? */
bool out_is_json(const struct out *out);

/* The same of a List with @items, which it takes. */
void out_json_list(struct out *out, json_t *items);

/* Write out->text to standard output, and empty it. When nobody reads any more, the process ends as others
 * do then, without a word (SIGPIPE). Otherwise an error is told, and false returned. */
bool out_flush(struct out *out);
