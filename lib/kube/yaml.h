/*
 * yaml: YAML text to JSON values and back. The only module that knows libyaml.
 *
 * Reads one document of YAML 1.1 as Kubernetes' tools read it: plain scalars become null, bool,
 * number or string, quoted ones strings. Tags other than !!str, merge keys and keys that are not
 * strings are refused.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct err;
struct str;

enum {
	YAML_TEXT_MAX = 1 << 20, /* bytes of text                              */
	YAML_DEPTH_MAX = 64,     /* nested mappings and sequences              */
	YAML_NODES_MAX = 50000,  /* values in all, with every alias written out */
};

/* Parse @text into *@ret_value, which the caller unrefs; an empty document is null. @name says in
 * messages where the text is from. Errors (ERR_INVALID): -EFBIG for one of the limits, -EINVAL
 * otherwise; the message begins with "name:line:". */
int yaml_parse(const char *name, const char *text, size_t len, json_t **ret_value, struct err *err);

/* Append @value in block style as kubectl prints it: keys sorted, sequences not indented below
 * their key, strings quoted only where a reader could take them for something else. Ends in a
 * newline. Several documents are the caller's to separate with "---\n". */
void yaml_write(json_t *value, struct str *out);
