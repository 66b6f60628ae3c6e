/* folders: the folders in which the driver keeps files, made when they are first needed. */
#pragma once

struct err;

/* Open the folder @path (absolute) in *@ret_fd, and make it with @mode if it does not exist; its
 * parents too, with the same mode. */
int folders_open(const char *path, unsigned mode, int *ret_fd, struct err *err);
