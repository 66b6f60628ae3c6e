/*
 * claim_job: which functions a transition moves, and what the helper must know of each. Text only.
 */
#pragma once

#include <stdbool.h>

struct binder_job;
struct claim_case;
struct claim_function;
struct claim_group;

/* Is @f moved when its group is bound? Its group is covered. */
bool claim_job_takes(const struct claim_group *group, const struct claim_function *f);

/* Is everything of it done: on the driver of its cover, and recorded for it? */
bool claim_job_has(const struct claim_function *f);

/* Has the claim anything to give back at @f? For a claim that is gone (c->claim NULL) too. */
bool claim_job_gives(const struct claim_case *c, const struct claim_group *group,
		     const struct claim_function *f);

/* All that is to be bound; the caller releases *@ret_job. */
void claim_job_bind(const struct claim_case *c, const struct claim_group *group,
		    struct binder_job *ret_job);

/* What is to be given back: the whole group of the first function that has something to give. */
void claim_job_release(const struct claim_case *c, const struct claim_group *group,
		       struct binder_job *ret_job);
