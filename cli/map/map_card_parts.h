/* map_card_parts: the parts that cards of several kinds have. For map_card.c. */
#pragma once

struct api_conditions;
struct api_meta;
struct cluster_device;
struct pcidevice_allocations;
struct state_verdict;
struct str;

/* The node that an object says itself, else its label; may be NULL. */
const char *map_card_node_name(const char *said, const struct api_meta *meta);

/* A member, left out where @value is NULL or "". */
void map_card_text(struct str *out, const char *key, const char *value);

/* A line of the details, between open and close of the array "facts"; left out likewise. */
void map_card_fact(struct str *out, const char *label, const char *value);
/* The same with a number, left out if it is negative. */
void map_card_fact_int(struct str *out, const char *label, long long value);

/* "state", "reason" and "say". */
void map_card_verdict(struct str *out, const struct state_verdict *verdict);

/* The same of what is judged by the objects of @device (cli/model/state.h). */
void map_card_state(struct str *out, const struct cluster_device *device);

void map_card_conditions(struct str *out, const struct api_conditions *conditions);

/* "pods": "namespace/name" and container of each. */
void map_card_pods(struct str *out, const struct pcidevice_allocations *allocations);

/* What the "claim" of a device is made of; what is NULL is left out. */
struct map_card_claim {
	const struct api_meta *meta;
	const char *owner;
	const char *step;
	const char *holder;
	const struct api_conditions *conditions;
};

void map_card_claim(struct str *out, const struct map_card_claim *claim);
