/* options_file: a program's settings (base/options.h) from a YAML file. */
#pragma once

struct err;
struct options;

/*
 * Read @path, a mapping with the flags' names as keys and scalars or lists of scalars as values.
 * Errors: -ENOENT and others of reading the file; ERR_INVALID for what is wrong in it, with the
 * file and the key in the message.
 */
int options_file(struct options *o, const char *path, struct err *err);
