/*
 * out_json: what the plugin prints for programs, and how it writes its output.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "text/out.h"

struct api_kind;
struct err;

/* "jsonpath=", the last one, is followed by a template. */
extern const char *const out_formats[];
extern const char *const out_formats_unnamed[]; /* without name          */
extern const char *const out_formats_narrow[];  /* without name and wide */

/* Parse the value of --output: one of @choices, which is one of the lists above, and with OUT_JSON
 * the template of "jsonpath=TEMPLATE", which is checked, or NULL. Borrows from @text. Pure. */
int out_format_parse(const char *text, const char *const *choices, enum out_format *ret_format,
		     const char **ret_jsonpath, struct err *err);

/* Append "pcidevice.devices.harvesterhci.io/NAME", as kubectl's -o name does. */
void out_kind_name(struct str *to, const struct api_kind *kind, const char *name);

/* Set the field @key of @object, unless @text is NULL or "". */
void out_set_text(json_t *object, const char *key, const char *text);

/* Append @value as --output says: JSON, YAML, or a JSONPath template. Control characters are
 * escaped. */
void out_json(struct out *out, json_t *value);

/* Is it JSON or YAML? */
bool out_is_json(const struct out *out);

/* The same for a List with @items, which it takes. */
void out_json_list(struct out *out, json_t *items);

/* Print @text, which is clean and may have several lines, on standard error, broken where the
 * terminal ends. */
void out_say(const char *text);

/* Write out->text to standard output, and empty it. If the reader has closed the pipe, end the
 * process by SIGPIPE without a message, as other programs do. Returns false after another error,
 * which it prints. */
bool out_flush(struct out *out);
