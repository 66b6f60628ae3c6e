#include "cli/client/pod_facts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client/session.h"
#include "kube/url.h"

/* virt-controller makes a VirtualMachineInstance the owner of its pod, and puts the machine's
 * name into a label (kubevirt.io/api/core/v1: VirtualMachineNameLabel). */
static char *machine_of(const json_t *meta)
{
	const json_t *labels = json_object_get(meta, "labels");
	const json_t *owners = json_object_get(meta, "ownerReferences");
	const char *name = json_string_value(json_object_get(labels, "vm.kubevirt.io/name"));
	const json_t *owner;
	size_t i;

	if (name)
		return xstrdup(name);
	for (i = 0; i < json_array_size(owners); i++) {
		const char *kind;

		owner = json_array_get(owners, i);
		kind = json_string_value(json_object_get(owner, "kind"));
		if (kind && strcmp(kind, "VirtualMachineInstance") == 0)
			return xstrdup_or_null(json_string_value(json_object_get(owner, "name")));
	}
	return NULL;
}

static bool has_ended(const json_t *status)
{
	const char *phase = json_string_value(json_object_get(status, "phase"));

	return phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
}

static void take(const json_t *pod, struct pod_facts *ret_facts)
{
	const json_t *status = json_object_get(pod, "status");

	ret_facts->machine = machine_of(json_object_get(pod, "metadata"));
	ret_facts->deleted =
		json_object_get(json_object_get(pod, "metadata"), "deletionTimestamp") != NULL ||
		has_ended(status);
	ret_facts->started =
		xstrdup_or_null(json_string_value(json_object_get(status, "startTime")));
}

int pod_facts_parse(const char *text, size_t len, struct pod_facts *ret_facts, struct err *err)
{
	auto_json json_t *pod = NULL;
	int r = json_map_load(text, len, &pod, err);

	if (r == 0)
		take(pod, ret_facts);
	return r;
}

int pod_read(struct session *session, const char *ns, const char *name, json_t **ret_pod,
	     struct err *err)
{
	auto_str struct str path = STR_INIT;
	auto_answer struct session_answer answer = { 0 };
	int r;

	str_add(&path, "/api/v1/namespaces/");
	url_add_escaped(&path, ns);
	str_add(&path, "/pods/");
	url_add_escaped(&path, name);
	r = session_ask(session,
			&(struct kube_request){
				.verb = "get",
				.resource = "pods",
				.method = "GET",
				.path = str_cstr(&path),
			},
			&answer, err);
	return r < 0 ? r : json_map_load(answer.body, answer.len, ret_pod, err);
}

int pod_facts_read(struct session *session, const char *ns, const char *name,
		   struct pod_facts *ret_facts, struct err *err)
{
	auto_json json_t *pod = NULL;
	int r = pod_read(session, ns, name, &pod, err);

	if (r == 0)
		take(pod, ret_facts);
	return r;
}

void pod_facts_done(struct pod_facts *facts)
{
	free(facts->machine);
	free(facts->started);
	*facts = (struct pod_facts){ 0 };
}
