#include "controller/admission/rule.h"

#include <string.h>

#include "api/names.h"
#include "api/pod.h"
#include "base/mem.h"
#include "controller/admission/known.h"
#include "controller/admission/resources.h"
#include "controller/cache/view.h"
#include "controller/webhook/admission_review.h"

/* @node: NULL has nothing. */
static bool node_has(const struct view_node *node, const char *resource)
{
	size_t at = 0;
	const char *has;

	while (node && (has = view_node_resource(node, &at))) {
		if (strcmp(has, resource) == 0)
			return true;
	}
	return false;
}

/* The resource name of a PCI device whose claim has disableResourcePooling; the claim need not
 * exist. */
static bool is_of_one_device(const struct known *known, const char *resource)
{
	const struct view claim = { .alone = true };
	const char *name = strchr(resource, '/') + 1;
	const struct view *device = known_pcidevice(known, name);
	auto_free char *offered = device ? view_resource(name, device, &claim) : NULL;

	return offered && strcmp(offered, resource) == 0;
}

/* True for resources that one of our objects names or that only hostdev can offer: unplugged USB
 * devices have the domain kubevirt.io (resource_name.h). */
static bool is_ours(const struct known *known, const char *resource)
{
	static const char *const domains[] = { "kubevirt.io/", NAMES_GROUP "/",
					       NAMES_OWN_GROUP "/" };

	for (size_t i = 0; i < ARRAY_LEN(domains); i++) {
		if (strncmp(resource, domains[i], strlen(domains[i])) == 0)
			return true;
	}
	return resources_has(known->resources, resource) || is_of_one_device(known, resource);
}

/* "0", "0k", "0.0": no digit but 0 before its unit or exponent. */
static bool is_zero(const char *quantity)
{
	char end = quantity[strspn(quantity, "+-0.")];

	return end < '1' || end > '9';
}

static bool is_missing(const struct view_node *node, const struct json_pair *limit)
{
	return names_valid_offered_resource(limit->key) && !is_zero(limit->value) &&
	       !node_has(node, limit->key);
}

/* Of the extended resources that the node does not have, the first that is ours, else the first: it
 * may be misspelt. */
static void find_missing(const struct rule_case *c, const struct view_node *node,
			 const struct pod_containers *list, const char **missing, bool *ours)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct json_pairs *limits = &list->items[i].resources.limits;

		for (size_t k = 0; k < limits->len && !*ours; k++) {
			const struct json_pair *limit = &limits->items[k];

			if (!is_missing(node, limit))
				continue;
			*ours = is_ours(c->known, limit->key);
			*missing = *ours || !*missing ? limit->key : *missing;
		}
	}
}

/* A kubelet posts a mirror pod for a static pod of its node, which runs whether the mirror is
 * admitted or not. A mirror pod created by anybody else is deleted by the kubelet and never run. */
static bool is_mirror(const struct pod *pod)
{
	return api_meta_annotation(&pod->meta, "kubernetes.io/config.mirror") != NULL;
}

void pod_create(const struct rule_case *c)
{
	const struct pod *pod = c->object;
	const struct view_node *node = known_node(c->known, pod->spec.node_name);
	auto_free char *named = NULL;
	const char *missing = NULL;
	bool ours = false;

	if (known_empty(pod->spec.node_name))
		return;
	find_missing(c, node, &pod->spec.containers, &missing, &ours);
	find_missing(c, node, &pod->spec.init_containers, &missing, &ours);
	if (!missing)
		return;
	if (!node) {
		named = rule_quote(pod->spec.node_name);
		rule_warn(c,
			  "spec.nodeName skips the scheduler, and there is no node '%s': nothing "
			  "runs the pod; use nodeSelector kubernetes.io/hostname",
			  named);
		return;
	}
	if (c->known->refuse_pinned && ours && !is_mirror(pod)) {
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
