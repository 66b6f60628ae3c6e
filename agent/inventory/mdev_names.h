/*
 * mdev_names: how types of mediated devices are called in configuration and resources, and which
 * instances are hostdev's own. Pure.
 */
#pragma once

#include <stdbool.h>

struct facts;
struct mdev_facts;

/*
 * Return the name of the type @id for users, as in KubeVirt: @name without surrounding blanks, and
 * with '_' for each blank inside; the id if a driver has no name (NULL or ""). The caller frees.
 */
char *mdev_type_name(const char *id, const char *name);

/* Does @wanted (in which a blank counts as '_') mean that type, by name or by id? */
bool mdev_type_is(const char *wanted, const char *id, const char *name);

/* Return the part of hostdev that created @mdev, according to its record, under the running kernel;
 * NULL: hostdev did not create it. */
const char *mdev_owner(const struct facts *facts, const struct mdev_facts *mdev);
