/* device_count: how many devices of each kind the node has, and whether they may be claimed, as a
 * metric. */
#pragma once

struct inventory;
struct metric;
struct metrics;

/* The family; each kind and state is shown from now on. NULL for NULL. */
struct metric *device_count_new(struct metrics *metrics);

/* The node has what @inventory says. */
void device_count_set(struct metric *devices, const struct inventory *inventory);
