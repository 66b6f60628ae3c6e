/*
 * cdi_files: reads which devices of one kind the CDI files in /etc/cdi and /var/run/cdi describe,
 * by the rules of container runtimes.
 *
 * Files in /var/run/cdi override those in /etc/cdi. If two files of one folder have the same
 * device, that is a conflict, and runtimes do not know the device. Files that cannot be read are
 * skipped.
 */
#pragma once

#include <stdbool.h>

#include "api/json_values.h"

enum { CDI_FILE_MAX = 1 << 20, CDI_FILES_MAX = 256 }; /* bytes of a file; files of a folder */

/* Names without the kind, sorted. */
struct cdi_files {
	struct json_strs devices;
	struct json_strs conflicts;
};

/* Read them below @root (NULL: /). */
void cdi_files_read(const char *root, const char *kind, struct cdi_files *ret_files);
/* Release. */
void cdi_files_done(struct cdi_files *files);

bool cdi_files_equal(const struct cdi_files *a, const struct cdi_files *b);

/* Why a container cannot get the device @name, a static string; NULL: it can. */
const char *cdi_files_trouble(const struct cdi_files *files, const char *name);
