/*
 * sriov_card: one object (and so one card) over time: the look that is under way, and what the last
 * run of the helper came to as long as that matters.
 *
 * A look asks sriov_plan for a step, does it, asks again, until there is none left or something has
 * to happen first. Decides nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kube/workq_run.h"

struct echoes;
struct informer;
struct inventory;
struct metric;
struct sriov_card;
struct sriov_deps;

/* What all cards share. Borrowed. */
struct sriov_context {
	const struct sriov_deps *deps;
	const struct informer *objects; /* SRIOVNetworkDevices of this node */
	const struct inventory *inventory;
	const char *node_address; /* may be NULL */
	struct echoes *echoes;
	struct metric *changes; /* {result}, may be NULL */

	/* Look at the card again after @ms. */
	void (*again)(void *arg, const char *name, uint64_t ms);
	void *arg;
};

struct sriov_card *sriov_card_new(const struct sriov_context *context, const char *name);
/* Gives up what is under way: calls are cancelled, a helper is abandoned. @end of a look runs.
 * Takes NULL, returns NULL. */
struct sriov_card *sriov_card_free(struct sriov_card *card);

/* No look is under way. @end runs exactly once, maybe before this returns. */
void sriov_card_look(struct sriov_card *card, work_end_fn *end, void *end_arg);

/* Is a helper under way, or left over? Then the card must not be freed but for the end of all. */
bool sriov_card_is_busy(const struct sriov_card *card);

/* Did its last look come to rest for the sake of claims or pods? */
bool sriov_card_waits(const struct sriov_card *card);

/* Is the helper at work on it, or about to put settings in place? */
bool sriov_card_holds(const struct sriov_card *card);
