/*
 * config_names: the resource names that the entries of a HostDeviceConfig have taken so far. Private
 * to the folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

/* Who wants a name. Texts are borrowed until the names are released. */
struct config_claim {
	const char *name;
	const char *list;
	bool external;   /* another plugin serves it                             */
	bool pools;      /* entries of its list share names, if they are alike   */
	const char *env; /* prefix of the variable made of the name; NULL: none */
};

/* Zero at first. */
struct config_names {
	struct config_claim *items;
	size_t len, cap;
};

/* 0, or -EEXIST with @err: the name is taken, or its variable is another's. */
int config_names_take(struct config_names *names, const struct config_claim *claim,
		      struct err *err);
void config_names_done(struct config_names *names);
