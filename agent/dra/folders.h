/* folders: creates the driver's folders when they are first needed. */
#pragma once

struct err;

/* Open the folder @path (absolute): *@ret_fd. Create it and its parents with @mode if they do not
 * exist. */
int folders_open(const char *path, unsigned mode, int *ret_fd, struct err *err);
