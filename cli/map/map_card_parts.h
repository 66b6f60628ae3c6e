/* map_card_parts: the parts that cards of several kinds have. For map_card.c. */
#pragma once

struct api_conditions;
struct api_meta;
struct cluster_device;
struct pcidevice_allocations;
struct state_verdict;
struct str;

/* The node in the object's status or spec, otherwise in its label; may be NULL. */
const char *map_card_node_name(const char *said, const struct api_meta *meta);

/* Add a member, unless @value is NULL or "". */
void map_card_text(struct str *out, const char *key, const char *value);

/* Add a line of the details, between open and close of the array "facts", unless the value is
 * NULL or "". */
void map_card_fact(struct str *out, const char *label, const char *value);
/* The same with a number, unless it is negative. */
void map_card_fact_int(struct str *out, const char *label, long long value);

/* Add "state", "reason" and "say". */
void map_card_verdict(struct str *out, const struct state_verdict *verdict);

/* The same for the state of a device, by the objects of @device (cli/model/state.h). */
void map_card_state(struct str *out, const struct cluster_device *device);

void map_card_conditions(struct str *out, const struct api_conditions *conditions);

/* Add "pods": "namespace/name" and container of each. */
void map_card_pods(struct str *out, const struct pcidevice_allocations *allocations);

/* The fields of the member "claim"; NULL ones are left out. */
struct map_card_claim {
	const struct api_meta *meta;
	const char *owner;
	const char *step;
	const char *holder;
	const struct api_conditions *conditions;
};

void map_card_claim(struct str *out, const struct map_card_claim *claim);
