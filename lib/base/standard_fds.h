/*
 * standard_fds: descriptors 0, 1 and 2 are there, whoever started the program.
 *
 * A shell closes them on request (`>&-`). What the program opens first would take their place: its lines would go
 * into a socket, and libuv aborts when it is to close one of them.
 */
#pragma once

/* Open /dev/null for those that are closed. To be called before anything else is opened. */
void standard_fds_open(void);
