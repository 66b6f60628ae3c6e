/* gpu_keys: the keys of the queue: which object of which kind. Pure. */
#pragma once

#include "agent/gpu/gpu_view.h"

struct api_kind;

enum { GPU_KEY_NAME = 2 }; /* where the name begins in a key */

const struct api_kind *gpu_kind_api(enum gpu_kind kind);

/* The caller frees. */
char *gpu_key(enum gpu_kind kind, const char *name);
enum gpu_kind gpu_key_kind(const char *key);
