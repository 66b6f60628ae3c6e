/*
 * yaml: converts YAML text to JSON values and back. The only module that uses libyaml.
 *
 * Reads one document of YAML 1.1 like Kubernetes' tools: plain scalars become null, bool, number or
 * string; quoted scalars become strings. Tags other than !!str, merge keys and non-string keys are
 * refused.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct err;
struct str;

enum {
	YAML_TEXT_MAX = 1 << 20, /* bytes of text */
	YAML_DEPTH_MAX = 64,     /* nested mappings and sequences */
	YAML_NODES_MAX = 50000,  /* total number of values, with aliases expanded */
};

/* Parse @text into *@ret_value, which the caller unrefs; an empty document gives null. @name is
 * the file name for messages. Errors (ERR_INVALID): -EFBIG if a limit is exceeded, -EINVAL
 * otherwise; the message begins with "name:line:". */
int yaml_parse(const char *name, const char *text, size_t len, json_t **ret_value, struct err *err);

/* Append @value in block style as kubectl prints it: sorted keys, sequences not indented,
 * strings quoted only if they could be read as another type. Ends in a newline. To write several
 * documents, the caller adds "---\n" between them. */
void yaml_write(json_t *value, struct str *out);
