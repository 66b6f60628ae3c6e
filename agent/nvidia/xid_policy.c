#include "agent/nvidia/xid_policy.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/num.h"

/* Errors of applications, by NVIDIA's plugin: internal/rm/health.go of k8s-device-plugin 0.20. */
static const uint64_t harmless[] = { 13, 31, 43, 45, 68, 109 };

static void take(struct xid_list *list, const char *word)
{
	uint64_t xid;

	if (strcasecmp(word, "all") == 0 || strcasecmp(word, "xids") == 0)
		list->all = true;
	else if (str_to_u64(word, &xid))
		*array_add(list) = xid;
}

static void parse(struct xid_list *list, const char *text)
{
	static const char blanks[] = " \t\r\n";
	auto_free char *copy = xstrdup(text ? text : "");
	char *rest = copy;
	char *word;

	while ((word = strsep(&rest, ","))) {
		word += strspn(word, blanks);
		for (size_t len = strlen(word); len > 0 && strchr(blanks, word[len - 1]); len--)
			word[len - 1] = '\0';
		take(list, word);
	}
}

void xid_policy_init(struct xid_policy *policy, const char *ignored, const char *fatal)
{
	*policy = (struct xid_policy){ 0 };
	parse(&policy->ignored, ignored);
	parse(&policy->fatal, fatal);
}

void xid_policy_done(struct xid_policy *policy)
{
	array_done(&policy->ignored);
	array_done(&policy->fatal);
}

static bool has(const uint64_t *xids, size_t len, uint64_t xid)
{
	for (size_t i = 0; i < len; i++) {
		if (xids[i] == xid)
			return true;
	}
	return false;
}

static bool lists(const struct xid_list *list, uint64_t xid)
{
	return list->all || has(list->items, list->len, xid);
}

bool xid_policy_is_fatal(const struct xid_policy *policy, uint64_t xid)
{
	if (lists(&policy->fatal, xid))
		return true;
	return !lists(&policy->ignored, xid) && !has(harmless, ARRAY_LEN(harmless), xid);
}

bool xid_policy_is_off(const struct xid_policy *policy)
{
	return policy->ignored.all && !policy->fatal.all && policy->fatal.len == 0;
}
