/* claim_count: which reasons the condition Ready of a PCIDeviceClaim has, for the metric of claims. */
#pragma once

struct metrics;
struct reason_count;

/* None yet. @metrics may be NULL. */
struct reason_count *claim_count_new(struct metrics *metrics);
