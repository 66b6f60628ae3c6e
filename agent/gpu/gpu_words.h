/* gpu_words: the command line of an act. Pure. */
#pragma once

#include <stdbool.h>

#include "api/json_values.h"

struct gpu_act;
struct gpu_options;

/* The words, without the program's name, for the caller to release with json_strs_done(). Returns the
 * vendor's command that is to be run; NULL: hostdev-helper. */
const char *gpu_words(const struct gpu_options *options, const struct gpu_act *act,
		      struct json_strs *ret_words);
