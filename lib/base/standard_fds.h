/*
 * standard_fds: makes sure that descriptors 0, 1 and 2 are open.
 *
 * A shell can close them (`>&-`). The first files that the program opens would then get these
 * numbers: log lines would be written into a socket, and libuv aborts when it has to close one of
 * them.
 */
#pragma once

/* Open /dev/null for each closed one. Must be called before anything else is opened. */
void standard_fds_open(void);
