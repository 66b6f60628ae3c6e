#include "cli/map/map_card_parts.h"

#include <stdio.h>

#include "api/condition.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "cli/map/map_state.h"
#include "cli/model/cluster.h"
#include "cli/model/state.h"

const char *map_card_node_name(const char *said, const struct api_meta *meta)
{
	return said ? said : api_meta_label(meta, NAMES_LABEL_NODE);
}

void map_card_text(struct str *out, const char *key, const char *value)
{
	if (value && *value)
		json_write_str(out, key, value);
}

void map_card_fact(struct str *out, const char *label, const char *value)
{
	if (!value || !*value)
		return;
	json_write_open(out, NULL, '[');
	json_write_str(out, NULL, label);
	json_write_str(out, NULL, value);
	json_write_close(out, ']');
}

void map_card_fact_int(struct str *out, const char *label, long long value)
{
	char text[24];

	if (value < 0)
		return;
	(void)snprintf(text, sizeof(text), "%lld", value);
	map_card_fact(out, label, text);
}

void map_card_verdict(struct str *out, const struct state_verdict *verdict)
{
	json_write_str(out, "state", map_state_word(verdict->state));
	map_card_text(out, "reason", verdict->reason);
	map_card_text(out, "say", verdict->message);
}

void map_card_state(struct str *out, const struct cluster_device *device)
{
	struct state_verdict verdict = state_judge(device);

	map_card_verdict(out, &verdict);
}

void map_card_conditions(struct str *out, const struct api_conditions *conditions)
{
	json_write_open(out, "conditions", '[');
	for (size_t i = 0; i < conditions->len; i++) {
		const struct api_condition *condition = &conditions->items[i];

		json_write_open(out, NULL, '{');
		map_card_text(out, "type", condition->type);
		map_card_text(out, "status", condition->status);
		map_card_text(out, "reason", condition->reason);
		map_card_text(out, "message", condition->message);
		map_card_text(out, "since", condition->last_transition_time);
		json_write_close(out, '}');
	}
	json_write_close(out, ']');
}

void map_card_pods(struct str *out, const struct pcidevice_allocations *allocations)
{
	json_write_open(out, "pods", '[');
	for (size_t i = 0; i < allocations->len; i++) {
		const struct pcidevice_allocation *one = &allocations->items[i];
		auto_free char *pod = xasprintf("%s/%s", one->namespace ? one->namespace : "",
						one->pod ? one->pod : "");

		json_write_open(out, NULL, '{');
		json_write_str(out, "pod", pod);
		map_card_text(out, "container", one->container);
		json_write_close(out, '}');
	}
	json_write_close(out, ']');
}

void map_card_claim(struct str *out, const struct map_card_claim *claim)
{
	json_write_open(out, "claim", '{');
	map_card_text(out, "owner", claim->owner);
	map_card_text(out, "step", claim->step);
	map_card_text(out, "holder", claim->holder);
	map_card_text(out, "since", claim->meta->creation_timestamp);
	map_card_text(out, "deleting", claim->meta->deletion_timestamp);
	map_card_conditions(out, claim->conditions);
	json_write_close(out, '}');
}
