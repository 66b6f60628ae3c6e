/*
 * helper_place: where hostdev-helper lies, and the folders that it works in: what everybody who has
 * it change something tells it before the job. Scans, which need less, do without.
 */
#pragma once

struct json_strs;
struct metrics;

/* Borrowed. */
struct helper_place {
	const char *path;
	const char *state_dir;
	const char *sysfs_root;  /* NULL: /sys  */
	const char *proc_root;   /* NULL: /proc */
	const char *dev_root;    /* NULL: /dev  */
	struct metrics *metrics; /* of its runs; may be NULL */
};

/* Append the options that say so, and --node-address with @node_address. What is NULL has none. */
void helper_place_words(const struct helper_place *place, const char *node_address,
			struct json_strs *words);
