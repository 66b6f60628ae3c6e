/* claim_pick: `claim --resource`: claims free devices of a resource, all or none. */
#pragma once

#include <stddef.h>

struct claim_wait;
struct command_run;

/* 0: *@ret_waits are the claims; the caller calls claim_wait_done() for each, and frees the array.
 * Otherwise the exit status: the cause has been printed, and what was claimed is released again. */
int claim_pick(struct command_run *run, struct claim_wait **ret_waits, size_t *ret_len);
