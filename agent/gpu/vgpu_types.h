/*
 * vgpu_types: NVIDIA's table of the vGPU types that a virtual function can be now: what its attribute
 * nvidia/creatable_vgpu_types says.
 *
 *	ID    : vGPU Name
 *	1146  : NVIDIA A2-4C
 *
 * Pure. The text comes from a driver that we do not know: what is no row of such a table is passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_pairs;
struct json_strs;

enum {
	VGPU_TYPES_MAX = 256,     /* the schema's; more are left out       */
	VGPU_TYPE_NAME_MAX = 255, /* bytes; a type with a longer one is left out */
	VGPU_TYPE_ID_MAX = 10,    /* digits */
};

/* Put the types of the table whose lines are @lines into @ret_types (empty), name -> id. Of two with one
 * name the first counts. */
void vgpu_types_parse(const struct json_strs *lines, struct json_pairs *ret_types);

/* The name of the type @id; NULL: it is not among @types. Valid until the list changes. */
const char *vgpu_types_name(const struct json_pairs *types, const char *id);

/* Is @id (may be NULL) the number of a type, and not 0, which means none? */
bool vgpu_type_valid(const char *id);
