/*
 * preferred_set: which of the available devices belong together best, by the weights of their
 * pairs. Pure.
 *
 * The devices are divided into sets of the size that a container needs, and one smaller set of
 * what is left. The division with the greatest total weight counts, so that what stays available
 * is as good as possible, too; and the heaviest full set of it is chosen, of all divisions with
 * this total. If the container must have some of the devices, only divisions that have these in
 * one full set count, and this set is chosen. Of equal sets the same one is chosen every time; if
 * all pairs have the same weight, the first devices. NVIDIA's plugin goes by the same rule
 * (gpuallocator/besteffort_policy.go of go-gpuallocator); where equal totals allow several sets,
 * the one here is never lighter.
 *
 * This is exact for up to PREFERRED_EXACT_MAX devices: of 16, some 0.1 ms on machines with few
 * different weights, and at most some ms with random ones. It takes 256 KiB meanwhile. Among more
 * there are too many divisions: the set is built from the heaviest pair, or from what it must
 * have, by adding the device with the greatest weight to those chosen, and improved by exchanging
 * two devices while this adds weight, at most as often as the set has devices.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PREFERRED_EXACT_MAX = 16,
	PREFERRED_SET_MAX = 64,
};

/* @weights: a row of @len for each device, the same in both directions. The first @nmusts devices
 * have to be chosen. @len is at most PREFERRED_SET_MAX, @size at most @len, @nmusts at most @size.
 * Fills in @chosen for each device. */
void preferred_set(const uint16_t *weights, size_t len, size_t nmusts, size_t size, bool *chosen);
