/* map_page: the files of the page, which are in the program: cli/map/page, embedded by CMake. */
#pragma once

#include <stddef.h>

struct map_file {
	const char *path; /* behind the token */
	const char *type; /* content type     */
	const unsigned char *data;
	size_t len;
};

/* NULL: there is none such. */
const struct map_file *map_page_file(const char *path);
