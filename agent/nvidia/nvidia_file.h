/*
 * nvidia_file: the configuration file of this node: a file, or the one of a folder that the Node's
 * label names, as NVIDIA's config-manager chooses it; or a text that was given in place of both.
 * Reads it again at each look; keeps the last good one.
 *
 * Without the label, the file "default" of the folder counts, else the only file in it, else none.
 * A text that is new has to be the same at two looks: it may be half written.
 */
#pragma once

#include <stdbool.h>

#include "agent/nvidia/nvidia_config.h"

struct err;

#define NVIDIA_CONFIG_LABEL "nvidia.com/device-plugin.config"

enum nvidia_file_result {
	NVIDIA_FILE_SAME,
	NVIDIA_FILE_UNSETTLED, /* look again soon */
	NVIDIA_FILE_NEW,
};

/* Zero, with a path, a folder, or neither: then the text that is given counts. */
struct nvidia_file {
	const char *path;   /* borrowed; NULL: none */
	const char *folder; /* borrowed; NULL: none */
	bool is_labelled;   /* nvidia_file_set_label() was called   */
	char *label;        /* the label's value; NULL: there is none */
	bool is_given;      /* nvidia_file_give() was called        */
	char *given_name;   /* for messages                         */
	char *given;        /* the text; NULL: none is configured   */
	char *name;         /* of the file that was read last       */
	char *text;         /* of it                                */
	bool is_good;       /* it has become `config`               */

	bool is_read;                /* `config` is that of a file, or there is none to read */
	struct nvidia_config config; /* to be read only */
};

/* Release. */
void nvidia_file_done(struct nvidia_file *file);

/* The label's value now; NULL: the Node does not have it, or there is no Node. True if it
 * differs. */
bool nvidia_file_set_label(struct nvidia_file *file, const char *value);

/* The text (copied; NULL: nothing is configured) that counts without a path and a folder, and its
 * name for messages. True if it differs. */
bool nvidia_file_give(struct nvidia_file *file, const char *name, const char *text);

/* An enum nvidia_file_result; or < 0, as long as it lasts, and the configuration stays as it is. A
 * folder is read only once the label is known, and a text once it was given. */
int nvidia_file_look(struct nvidia_file *file, struct err *err);
