/* claim_pick: `claim --resource`: claims free devices of a resource, all or none. */
#pragma once

#include <stddef.h>

struct claim_wait;
struct command_run;

/* 0: *@ret_waits are the claims, which the caller frees after claim_wait_done() of each. Otherwise the
 * exit status: the cause has been printed, and what was claimed is released again. */
int claim_pick(struct command_run *run, struct claim_wait **ret_waits, size_t *ret_len);
