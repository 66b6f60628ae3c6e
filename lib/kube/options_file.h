/* options_file: a program's settings (base/options.h) from a YAML file. */
#pragma once

struct err;
struct options;

/*
 * Read @path, a mapping with flag names as keys and scalars or lists of scalars as values. Errors:
 * -ENOENT and others from reading the file; ERR_INVALID for invalid content, with file and key in
 * the message.
 */
int options_file(struct options *o, const char *path, struct err *err);
