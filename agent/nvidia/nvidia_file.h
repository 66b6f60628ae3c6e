/*
 * nvidia_file: the configuration of this node's GPUs: from a file; from the file in a folder that
 * the Node's label selects, by the rule of NVIDIA's config-manager; or from a text that the caller
 * sets. Keeps the last valid configuration.
 *
 * Without the label, the file "default" of the folder is used, else its only file, else none. A new
 * text is used once two reads have returned it, because a file may be half written.
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

/* Set `path`, `folder` or neither (then nvidia_file_give() sets the text), and zero the rest. */
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

	bool is_read;                /* `config` is valid, or there is nothing to read */
	struct nvidia_config config; /* to be read only */
};

/* Release. */
void nvidia_file_done(struct nvidia_file *file);

/* Set the label's value; NULL: the Node does not have the label, or there is no Node. True if it
 * has changed. */
bool nvidia_file_set_label(struct nvidia_file *file, const char *value);

/* Set the text (copied; NULL: nothing is configured) to use without a path and a folder, and its
 * name for messages. True if it has changed. */
bool nvidia_file_give(struct nvidia_file *file, const char *name, const char *text);

/* Read the configuration. Returns enum nvidia_file_result, or < 0 while it is invalid; then the
 * last valid one stays. A folder is read only once the label is known, and a text once it is
 * set. */
int nvidia_file_look(struct nvidia_file *file, struct err *err);
