/*
 * gpu_deeds: the acts and the questions that are under way on behalf of objects, and what they came to.
 *
 * Ties gpu_acts to gpu_memory. Decides nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clock;
struct gpu_act;
struct gpu_acts;
struct gpu_deeds;
struct gpu_memory;
struct gpu_options;
struct uv_loop_s;

/* The card is free again; @key: of the object on whose behalf it was not, NULL: that is not known. @changed:
 * what a scan sees of it may be different now. */
typedef void gpu_deeds_over_fn(void *arg, const char *key, const char *card, bool changed);

/* @clock is borrowed. */
struct gpu_deeds *gpu_deeds_new(struct uv_loop_s *loop, struct clock *clock,
				const struct gpu_options *options, gpu_deeds_over_fn *over,
				void *arg);
/* Takes NULL, returns NULL. Children are abandoned, no callback runs. */
struct gpu_deeds *gpu_deeds_free(struct gpu_deeds *deeds);

const struct gpu_acts *gpu_deeds_acts(const struct gpu_deeds *deeds);
struct gpu_memory *gpu_deeds_memory(struct gpu_deeds *deeds);

/* For the object @key, at @generation. Nothing is begun while the card is busy; its end is told. */
void gpu_deeds_act(struct gpu_deeds *deeds, const char *key, int64_t generation,
		   const struct gpu_act *act);
void gpu_deeds_ask(struct gpu_deeds *deeds, const char *key, const char *card);
