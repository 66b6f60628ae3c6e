#include "controller/admission/pod.h"

#include <string.h>

#include "api/pod.h"
#include "base/mem.h"
#include "controller/admission/known.h"
#include "controller/admission/resources.h"
#include "controller/admission/rule.h"
#include "controller/views/view.h"
#include "controller/webhook/admission_answer.h"
#include "controller/webhook/admission_review.h"

static bool node_has(const struct view_node *node, const char *resource)
{
	size_t at = 0;
	const char *has;

	while ((has = view_node_resource(node, &at))) {
		if (strcmp(has, resource) == 0)
			return true;
	}
	return false;
}

/* What no device has and no node offers is not ours to judge, nor are "cpu" and the like. */
static bool is_missing(const struct rule_case *c, const struct view_node *node,
		       const char *resource)
{
	return strchr(resource, '/') && resources_has(c->known->resources, resource) &&
	       !node_has(node, resource);
}

static const char *find_missing(const struct rule_case *c, const struct view_node *node,
				const struct pod_containers *list)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct json_pairs *limits = &list->items[i].resources.limits;

		for (size_t k = 0; k < limits->len; k++) {
			if (is_missing(c, node, limits->items[k].key))
				return limits->items[k].key;
		}
	}
	return NULL;
}

void pod_create(const struct rule_case *c)
{
	const struct pod *pod = c->object;
	const struct view_node *node = known_node(c->known, pod->spec.node_name);
	const char *missing;

	if (!node)
		return; /* no kubelet runs it */
	missing = find_missing(c, node, &pod->spec.containers);
	if (!missing)
		missing = find_missing(c, node, &pod->spec.init_containers);
	if (!missing)
		return;
	if (c->known->refuse_pinned) {
		admission_answer_about(c->answer, NULL, missing);
		rule_refuse(
			c, RULE_INVALID,
			"node %s does not offer %s, and spec.nodeName skips the scheduler: the pod "
			"would run without the device; use nodeSelector kubernetes.io/hostname "
			"in place of nodeName",
			pod->spec.node_name, missing);
		return;
	}
	rule_warn(c,
		  "spec.nodeName skips the scheduler, and node %s does not offer %s: it runs "
		  "without the device; use nodeSelector kubernetes.io/hostname",
		  pod->spec.node_name, missing);
	admission_answer_event(c->answer, "DeviceNotOffered");
}
