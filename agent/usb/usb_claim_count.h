/* usb_claim_count: which reasons the condition Ready of a USBDeviceClaim has, for the metric of
 * claims. */
#pragma once

struct metrics;
struct reason_count;

/* None yet. @metrics may be NULL. */
struct reason_count *usb_claim_count_new(struct metrics *metrics);
