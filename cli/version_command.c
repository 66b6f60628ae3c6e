#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client/lists.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/commands.h"

/* As in manifests/base. */
static const char ours[] = "labelSelector=app.kubernetes.io%2Fpart-of%3Dhostdev";

static int get(struct command_run *run, const char *resource, const char *path, json_t **ret_json,
	       struct err *err)
{
	auto_answer struct session_answer answer = { 0 };
	int r = session_ask(run->session,
			    &(struct kube_request){
				    .verb = "list",
				    .resource = resource,
				    .method = "GET",
				    .path = path,
			    },
			    &answer, err);

	return r < 0 ? r : json_map_load(answer.body, answer.len, ret_json, err);
}

/* One installed part, such as "hostdev-agent", and its images. */
static void add_part(json_t *parts, const json_t *workload)
{
	const json_t *meta = json_object_get(workload, "metadata");
	const json_t *spec = json_object_get(json_object_get(workload, "spec"), "template");
	const json_t *containers = json_object_get(json_object_get(spec, "spec"), "containers");
	const json_t *container;
	size_t i;

	json_array_foreach (containers, i, container)
		json_array_append_new(parts, json_pack("{ss,ss,ss}", "namespace",
						       json_get_text(meta, "namespace"), "name",
						       json_get_text(meta, "name"), "image",
						       json_get_text(container, "image")));
}

static int add_parts(struct command_run *run, const char *resource, json_t *parts, struct err *err)
{
	auto_free char *path = xasprintf("/apis/apps/v1/%s?%s", resource, ours);
	auto_json json_t *list = NULL;
	const json_t *items;
	const json_t *item;
	size_t i;
	int r = get(run, resource, path, &list, err);

	if (r < 0)
		return r;
	items = json_object_get(list, "items");
	json_array_foreach (items, i, item)
		add_part(parts, item);
	return 0;
}

/* A caller who may not read the workloads does not see the images; that is no error. */
static void read_parts(struct command_run *run, json_t *parts)
{
	static const char *const resources[] = { "daemonsets", "deployments" };
	auto_str struct str denied = STR_INIT;
	auto_str struct str text = STR_INIT;
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
		int r = add_parts(run, resources[i], parts, &err);

		if (r == -EACCES)
			str_addf(&denied, "%s%s", denied.len ? ", " : "", resources[i]);
		else if (r < 0)
			command_note("Not shown: %s", err.msg);
	}
	if (denied.len > 0) {
		lists_add_forbidden(denied.buf, err.msg, &text);
		command_note("Not shown: %s", text.buf);
	} else if (!err.code && json_array_size(parts) == 0) {
		command_note(
			"No pods of hostdev are installed (DaemonSets and Deployments with the "
			"label app.kubernetes.io/part-of=hostdev).");
	}
}

static int read_server(struct command_run *run, json_t *all, struct err *err)
{
	auto_json json_t *version = NULL;
	json_t *parts = json_array();
	int r = get(run, "version", "/version", &version, err);

	json_object_set_new(all, "installed", parts);
	if (r < 0)
		return r;
	json_object_set_new(all, "kubernetesVersion",
			    json_string(json_get_text(version, "gitVersion")));
	read_parts(run, parts);
	return 0;
}

static void print_text(const json_t *all, struct str *to)
{
	const json_t *parts = json_object_get(all, "installed");
	const json_t *part;
	size_t i;

	str_addf(to, "Client Version: %s\n", json_get_text(all, "clientVersion"));
	if (json_object_get(all, "kubernetesVersion")) {
		str_add(to, "Kubernetes Version: ");
		out_text(to, json_get_text(all, "kubernetesVersion"));
		str_add_char(to, '\n');
	}
	json_array_foreach (parts, i, part) {
		str_add(to, "Installed: ");
		out_text(to, json_get_text(part, "namespace"));
		str_add_char(to, '/');
		out_text(to, json_get_text(part, "name"));
		str_add_char(to, ' ');
		out_text(to, json_get_text(part, "image"));
		str_add_char(to, '\n');
	}
}

static int run_version(struct command_run *run)
{
	auto_json json_t *all = json_pack("{ss}", "clientVersion", HOSTDEV_VERSION);
	int status = COMMAND_OK;
	struct err err = { 0 };

	if (!run->settings.client && !command_session(run))
		status = COMMAND_FAILED;
	else if (!run->settings.client && read_server(run, all, &err) < 0)
		status = command_fail(run, &err);
	if (run->out.format == OUT_TABLE)
		print_text(all, &run->out.text);
	else
		out_json(&run->out, all);
	return out_flush(&run->out) ? status : COMMAND_FAILED;
}

static const struct option_row rows[] = {
	{ .name = "client",
	  .type = OPTION_BOOL,
	  COMMAND_AT(client),
	  .group = "Flags",
	  .help = "Show only the plugin's version, without contacting the API server." },
	COMMAND_OUTPUT_ROW(out_formats_narrow),
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose prose = {
	.program = "kubectl hostdev version",
	.summary = "shows what is installed",
	.synopsis = "kubectl hostdev version [--client] [-o FORMAT]",
	.description =
		"Shows the versions of the plugin and of Kubernetes and, if you may read them, the "
		"images of hostdev that the cluster runs.",
	.examples = " kubectl hostdev version\n"
		    " kubectl hostdev version --client",
};

const struct command version_command = {
	.word = "version",
	.summary = "Show the versions of the plugin, the cluster and the installed images",
	COMMAND_LINE(prose, rows),
	.run = run_version,
};
