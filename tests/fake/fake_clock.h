/* fake_clock: a clock (kube/clock.h) that stands still until the test turns it. */
#pragma once

#include <stdint.h>

#include "kube/clock.h"

struct fake_clock;

/* Begins at 1,000,000 ms; random numbers come from a fixed seed. */
struct fake_clock *fake_clock_new(void);
/* Every timer must have been freed. Returns NULL. */
struct fake_clock *fake_clock_free(struct fake_clock *fake);

struct clock *fake_clock_as_clock(struct fake_clock *fake);

/* Let @ms go by; timers that fall due run in order, each at its time. */
void fake_clock_advance(struct fake_clock *fake, uint64_t ms);

/* Let @ms go by without running any timer, as when the process is stopped. */
void fake_clock_jump(struct fake_clock *fake, uint64_t ms);

/* Run what is due now. */
void fake_clock_settle(struct fake_clock *fake);

/* How long until the next timer; UINT64_MAX if none runs. */
uint64_t fake_clock_next(const struct fake_clock *fake);

/* From now on every random number is @value. */
void fake_clock_fix_random(struct fake_clock *fake, uint64_t value);
