/*
 * vgpu: the vGPU that a virtual function of an NVIDIA card is, where the driver has no mediated
 * devices: two attributes in the function's folder nvidia/ say which types it can be and which one
 * it is.
 *
 * Knows one function at a time. The driver is not the kernel's own: nothing that it says is
 * believed unread, and a read may wait inside it, so that no scan does it.
 */
#pragma once

#include <stdbool.h>

struct err;
struct report;
struct run_options;

enum {
	VGPU_LINES_MAX = 300,  /* of the table of types that are reported   */
	VGPU_NUMBER_SIZE = 12, /* a type's number with its end */
};

/* Append what the function @address (valid) is and can be to @report. One that is no such function
 * has nothing to be told. */
void vgpu_write_line(int sysfs_fd, const char *address, struct report *report);

/* May @text be the number of a type? "0" is none. */
bool vgpu_type_check(const char *text);

/*
 * Make the function @address a vGPU of @type ("0": none), by way of none, with each write read
 * back; the last line tells how that ended. One that somebody has open is not changed. 0 however it
 * ended; < 0 if lines could not be written.
 */
int vgpu_set(const struct run_options *options, const char *address, const char *type,
	     struct err *err);
