/* mdev_uuid: the UUIDs of the instances that hostdev makes. Pure. */
#pragma once

#include <stddef.h>

enum { MDEV_UUID_SIZE = 37 };

/*
 * The UUID (version 8, RFC 9562) of the @index-th instance of @type on @parent of @node. It is
 * always the same, so that users find an instance again that was created again, for example after a
 * reboot.
 */
void mdev_uuid_make(const char *node, const char *parent, const char *type, size_t index,
		    char ret_uuid[MDEV_UUID_SIZE]);
