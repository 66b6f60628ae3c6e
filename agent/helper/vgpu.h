/*
 * vgpu: the vGPU of a virtual function of an NVIDIA card, where the driver has no mediated devices:
 * two attributes in the function's folder nvidia/ show the types that it can have and its current
 * type.
 *
 * Handles one function at a time. The driver is not part of the kernel: its values are always read
 * back, and a read may hang in the driver, so no scan reads them.
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

/* Append the current and possible types of the function @address (valid) to @report. Nothing is
 * reported for a function that is no vGPU. */
void vgpu_write_line(int sysfs_fd, const char *address, struct report *report);

/* May @text be the number of a type? "0" is none. */
bool vgpu_type_check(const char *text);

/*
 * Set the type of the function @address to @type ("0": none), by way of none, with each write read
 * back; the last line reports the result. A function that is open is not changed. Returns 0 for
 * every result; < 0 if lines could not be written.
 */
int vgpu_set(const struct run_options *options, const char *address, const char *type,
	     struct err *err);
