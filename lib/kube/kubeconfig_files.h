/* kubeconfig_files: kubectl's files as they are, and the entries in them. A part of kubeconfig.c and of
 * kubeconfig_user.c, for nobody else. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct err;
struct json_strs;

/* One file of the list. */
struct kubeconfig_file {
	char *path;
	json_t *doc;
};

/* In the list's order; zeroed is empty. */
struct kubeconfig_files {
	struct kubeconfig_file *items;
	size_t len;
	size_t cap;
};

/* One entry of clusters, users or contexts: what it is called, and where it was found. Borrowed from the
 * files. */
struct kubeconfig_entry {
	const char *what; /* "cluster"                                  */
	const char *name;
	const char *path;   /* of its file                                */
	const json_t *body; /* the mapping below the key of the same name */
};

/* Read every file of the colon list; those that do not exist are passed over, unless all are missing
 * (-ENOENT). In either case kubeconfig_files_done() releases. */
int kubeconfig_files_read(struct kubeconfig_files *files, const char *paths, struct err *err);
void kubeconfig_files_done(struct kubeconfig_files *files);

/* The entry called @name below @plural in the first file that has it. @what is a literal. */
int kubeconfig_find(const struct kubeconfig_files *files, const char *plural, const char *what,
		    const char *name, struct kubeconfig_entry *ret_entry, struct err *err);

/* Append the names below @plural to @names, each once. */
void kubeconfig_names(const struct kubeconfig_files *files, const char *plural,
		      struct json_strs *names);

/* The text at @key; NULL if it is none or empty. */
const char *kubeconfig_text(const json_t *object, const char *key);

/* "kubeconfig 'FILE': user 'u': KEY WHY". */
int kubeconfig_error(const struct kubeconfig_entry *entry, const char *key, const char *why,
		     struct err *err);

/* @path, if it is relative, below the folder of the entry's file. The caller frees. */
char *kubeconfig_path(const struct kubeconfig_entry *entry, const char *path);
