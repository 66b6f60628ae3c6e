#include "cli/complete_values.h"

#include <jansson.h>
#include <string.h>

#include "api/json_map.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/ask/session.h"
#include "cli/complete.h"
#include "kube/config_load.h"

static void read_kubeconfig(const struct session_settings *settings, const char *flag,
			    struct json_strs *names)
{
	auto_free char *plural = xasprintf("%ss", flag);
	struct kube_config_source source = { 0 };

	kube_config_source_env(&source);
	source.path = settings->kubeconfig;
	kube_config_names(&source, plural, names);
}

static void read_namespaces(const struct session_settings *settings, struct json_strs *names)
{
	auto_answer struct session_answer answer = { 0 };
	auto_json json_t *list = NULL;
	struct session *session;
	struct err err = { 0 };
	const json_t *items;
	const json_t *item;
	size_t i;

	if (session_new(settings, &session, &err) < 0)
		return;
	if (session_ask(session,
			&(struct kube_request){
				.verb = "list",
				.resource = "namespaces",
				.method = "GET",
				.path = "/api/v1/namespaces?limit=500",
			},
			&answer, NULL) == 0 &&
	    json_map_load(answer.body, answer.len, &list, NULL) == 0) {
		items = json_object_get(list, "items");
		json_array_foreach (items, i, item) {
			const json_t *meta = json_object_get(item, "metadata");
			const char *name = json_string_value(json_object_get(meta, "name"));

			if (name)
				json_strs_add(names, name);
		}
	}
	session_free(session);
}

void complete_values(const struct complete_want *want, const struct session_settings *settings,
		     const char *prefix, struct str *to)
{
	struct json_strs names = { 0 };

	if (strcmp(want->value->name, "namespace") == 0)
		read_namespaces(settings, &names);
	else
		read_kubeconfig(settings, want->value->name, &names);
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *word = xasprintf("%s%s", want->before, names.items[i]);

		complete_offer(to, prefix, word, NULL);
	}
	json_strs_done(&names);
}
