/*
 * id_names: what pci.ids and usb.ids call the ids that were seen on this node.
 *
 * A cache in front of `hostdev-names`: an id is asked for once in the life of the agent, so
 * that a rescan need not read the files again.
 */
#pragma once

#include <stddef.h>

struct err;
struct facts;
struct id_names;
struct json_strs;

struct id_names *id_names_new(void);
/* Takes NULL, returns NULL. */
struct id_names *id_names_free(struct id_names *names);

/* Append to @ret_ids what @facts needs and the cache does not know, as it takes it
 * ("pci:8086:10d3", "pciclass:0200", "usb:0627:0001"), each once; ids that are not hex digits are
 * left out, so that one of them cannot spoil the request for the others. */
void id_names_missing(const struct id_names *names, const struct facts *facts,
		      struct json_strs *ret_ids);

/* Take one line of `hostdev-names`. ERR_INVALID for one that cannot be read; problem lines
 * are logged. */
int id_names_add_line(struct id_names *names, const char *line, size_t len, struct err *err);

/* What was asked for and not answered has no name: it is not asked for again. */
void id_names_resolve(struct id_names *names, const struct json_strs *ids);

/* Two names of one id: vendor and product, or class and subclass. Each may be NULL. */
struct id_name {
	char *first;
	char *second;
};

/* Never NULL; both names are NULL for an unknown id. Valid as long as @names. */
const struct id_name *id_names_get(const struct id_names *names, const char *id);
