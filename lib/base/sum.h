/*
 * sum: a checksum by which a change is noticed (FNV-1a, 64 bits). Not for what somebody could
 * choose so that it collides.
 *
 *	uint64_t sum = SUM_INIT;
 *	sum_add_text(&sum, name);
 *	sum_add(&sum, &number, sizeof(number));
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SUM_INIT UINT64_C(14695981039346656037)

static inline void sum_add(uint64_t *sum, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		*sum = (*sum ^ at[i]) * UINT64_C(1099511628211);
}

/* With its end, so that "ab", "c" and "a", "bc" differ. */
static inline void sum_add_text(uint64_t *sum, const char *text)
{
	sum_add(sum, text, strlen(text) + 1);
}
