/* claim_limits: a claim's status within what the schema of record takes (limits.h says why). */
#pragma once

struct pcideviceclaim_status;

/* Cut what is too long, drop what has a wrong form. Conditions are within their limits already
 * (api/condition.h). */
void claim_limits_apply(struct pcideviceclaim_status *status);
