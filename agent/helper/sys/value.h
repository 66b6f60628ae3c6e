/* value: the valid form of a text from outside (a word of the command line, a record). No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Each takes text that need not be terminated. */

/* A kernel driver's name: letters, digits, '_' and '-', at most 63. */
bool value_is_driver(const char *text, size_t len);

/* The driver that a function goes back to: a driver's name, or "" for none. */
bool value_is_native(const char *text, size_t len);

/* Vendor and device, "8086:10d3". */
bool value_is_id(const char *text, size_t len);

/* A Device Serial Number, "00-11-22-33-44-55-66-77". */
bool value_is_serial(const char *text, size_t len);

/* The name or uid of an object, or a boot id: letters, digits, '.', '_' and '-', at most 253. */
bool value_is_name(const char *text, size_t len);

/* An IOMMU group: its number, or "-" for none. */
bool value_is_group(const char *text, size_t len);

/* "1": a word that is either there or not. */
bool value_is_one(const char *text, size_t len);

/* A UUID as the kernel writes it, "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001". */
bool value_is_uuid(const char *text, size_t len);

/* The name of an entry of a folder in sysfs: letters, digits, '.', '_', '-', ':', ',', '+' and '@',
 * at most 253, not beginning with a '.'. */
bool value_is_entry(const char *text, size_t len);

/* "none": what a release leaves a function on, if not its driver. */
bool value_is_release(const char *text, size_t len);
