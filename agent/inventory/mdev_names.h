/*
 * mdev_names: how types of mediated devices are called in configuration and resources, and which
 * instances are hostdev's own. Pure.
 */
#pragma once

#include <stdbool.h>

struct facts;
struct mdev_facts;

/*
 * What users call the type @id: its @name without blanks around it, with '_' for each blank inside,
 * as KubeVirt has it; the id where a driver gives no name (NULL or ""). The caller frees.
 */
char *mdev_type_name(const char *id, const char *name);

/* Does @wanted (in which a blank counts as '_') mean that type, by name or by id? */
bool mdev_type_is(const char *wanted, const char *id, const char *name);

/* On whose behalf hostdev has made @mdev, by its own record, under the kernel that runs; NULL:
 * hostdev has not made it. */
const char *mdev_owner(const struct facts *facts, const struct mdev_facts *mdev);
