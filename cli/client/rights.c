#include "cli/client/rights.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/json_values.h"
#include "api/pcidevice.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/client/session.h"

struct rights {
	json_t *review;
	const json_t *rules; /* borrowed from it */
	bool incomplete;
};

struct rights *rights_free(struct rights *rights)
{
	if (rights)
		json_decref(rights->review);
	free(rights);
	return NULL;
}

int rights_parse(const char *text, size_t len, struct rights **ret_rights, struct err *err)
{
	auto_json json_t *review = NULL;
	const json_t *status;
	struct rights *rights;
	int r = json_map_load(text, len, &review, err);

	if (r < 0)
		return r;
	status = json_object_get(review, "status");
	rights = xcalloc(1, sizeof(*rights));
	rights->rules = json_object_get(status, "resourceRules");
	rights->incomplete = json_is_true(json_object_get(status, "incomplete"));
	rights->review = take_ptr(review);
	*ret_rights = rights;
	return 0;
}

int rights_read(struct session *session, struct rights **ret_rights, struct err *err)
{
	/* The rules of ClusterRoleBindings are the same in every namespace. */
	static const char body[] = "{\"apiVersion\":\"authorization.k8s.io/v1\","
				   "\"kind\":\"SelfSubjectRulesReview\","
				   "\"spec\":{\"namespace\":\"default\"}}";
	auto_answer struct session_answer answer = { 0 };
	int r = session_review(session, "authorization.k8s.io", "selfsubjectrulesreviews", body,
			       &answer, err);

	return r < 0 ? r : rights_parse(answer.body, answer.len, ret_rights, err);
}

/* Is @word, or "*", in the list @key of the rule? */
static bool lists(const json_t *rule, const char *key, const char *word)
{
	const json_t *list = json_object_get(rule, key);
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		const char *text = json_string_value(item);

		if (text && (strcmp(text, word) == 0 || strcmp(text, "*") == 0))
			return true;
	}
	return false;
}

static bool is_about(const json_t *rule, const char *resource, const char *verb)
{
	return lists(rule, "verbs", verb) && lists(rule, "apiGroups", pcidevice_kind.group) &&
	       lists(rule, "resources", resource);
}

bool rights_allow(const struct rights *rights, const char *resource, const char *name,
		  const char *verb)
{
	const json_t *rule;
	size_t i;

	if (!rights || rights->incomplete)
		return true;
	json_array_foreach (rights->rules, i, rule) {
		const json_t *names = json_object_get(rule, "resourceNames");

		if (is_about(rule, resource, verb) &&
		    (json_array_size(names) == 0 || lists(rule, "resourceNames", name)))
			return true;
	}
	return false;
}

void rights_names(const struct rights *rights, const char *resource, const char *verb,
		  struct json_strs *names)
{
	const json_t *rule;
	size_t i;

	json_array_foreach (rights->rules, i, rule) {
		const json_t *listed = json_object_get(rule, "resourceNames");
		const json_t *name;
		size_t k;

		if (!is_about(rule, resource, verb))
			continue;
		json_array_foreach (listed, k, name) {
			if (json_is_string(name))
				json_strs_add(names, json_string_value(name));
		}
	}
}

bool rights_claim(const struct rights *rights, enum device_type type, const char *names)
{
	auto_free char *copy = xstrdup(names);
	char *left = copy;
	const char *name;

	while ((name = strsep(&left, " "))) {
		if (*name && !rights_allow(rights, type == DEVICE_USB ? "usbdevices" : "pcidevices",
					   name, "claim"))
			return false;
	}
	return true;
}

static const char *claims_of(enum device_type type)
{
	return type == DEVICE_USB ? "usbdeviceclaims" : "pcideviceclaims";
}

/* A claim has any name: a rule that names objects does not allow to create one. */
static bool may_create(const struct rights *rights, enum device_type type)
{
	return rights_allow(rights, claims_of(type), "", "create");
}

static char *lacks(const char *verb, const char *names)
{
	return xasprintf("Ask an administrator for the verb %s on %s, which you do not have.", verb,
			 names);
}

char *rights_how(const struct rights *rights, enum device_type type, const char *name,
		 const char *rest)
{
	if (!may_create(rights, type))
		return xasprintf(
			"Ask an administrator for the role hostdev-user, without which you may "
			"create no %s.",
			claims_of(type));
	if (!rights_claim(rights, type, name))
		return lacks("claim", name);
	if (!rest)
		return xasprintf("Claim it: kubectl hostdev claim %s", name);
	if (rights_allow(rights, "pcidevices", name, "claim-group"))
		return xasprintf(
			"Unless another user has claimed a part of it, claim its whole IOMMU "
			"group: kubectl hostdev claim %s --include-group",
			name);
	if (*rest && rights_claim(rights, type, rest))
		return xasprintf(
			"Claim the functions of its IOMMU group together: kubectl hostdev claim %s "
			"%s",
			name, rest);
	return *rest ? lacks("claim", rest) : lacks("claim-group", name);
}
