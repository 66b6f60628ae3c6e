/* scene: a session whose requests a test answers from a script. */
#pragma once

#include <string.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client/lists.h"
#include "cli/client/session.h"
#include "cli/model/cluster.h"
#include "fake/fake_client.h"
#include "unit/folder.h"
#include "unit/made_json.h"
#include "unit/suite.h"

struct scene_line {
	const char *asked; /* a part of the path; each line counts once */
	int status;
	const char *body; /* with ' for " */
};

struct scene {
	struct session *session;
	uv_idle_t idle;
	const struct scene_line *lines; /* NULL asked ends them */
	bool used[16];
	struct str log; /* method and path of each request */
	struct cluster *cluster;
	struct lists_missing missing;
	struct err err;
};

static inline size_t scene_find_line(const struct scene *scene, const char *path)
{
	size_t i = 0;

	while (scene->lines[i].asked && (scene->used[i] || !strstr(path, scene->lines[i].asked)))
		i++;
	return i;
}

/* What no line is about is not there, except the kind PCIDeviceClaim. */
static inline void scene_answer_other(struct kube_client *client, const char *path)
{
	if (strstr(path, "/pcideviceclaims?"))
		fake_client_answer(client, 200,
				   "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}");
	else
		fake_client_answer(client, 404, "{}");
}

static inline void scene_answer(uv_idle_t *idle)
{
	struct scene *scene = idle->data;
	struct kube_client *client = session_client(scene->session);
	const struct fake_request *request;
	auto_free char *body = NULL;
	size_t i;

	if (fake_client_open(client) == 0)
		return;
	request = fake_client_request(client);
	str_addf(&scene->log, "%s %s\n", request->method, request->path);
	i = scene_find_line(scene, request->path);
	if (!scene->lines[i].asked) {
		scene_answer_other(client, request->path);
		return;
	}
	scene->used[i] = true;
	body = made_json(scene->lines[i].body);
	fake_client_answer_later(client, scene->lines[i].status, body,
				 scene->lines[i].status == 429 ? 1 : 0);
}

static const char scene_kubeconfig[] =
	"current-context: c\n"
	"contexts: [{name: c, context: {cluster: c, user: u}}]\n"
	"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
	"users: [{name: u, user: {token: t}}]\n";

static inline void scene_begin(struct scene *scene, const struct scene_line *lines)
{
	struct session_settings settings = { .timeout_ms = 1000 };
	auto_free char *path = NULL;
	struct folder folder;

	*scene = (struct scene){ .lines = lines, .cluster = cluster_new() };
	folder_init(&folder);
	folder_put(&folder, "config", scene_kubeconfig);
	path = folder_path(&folder, "config");
	settings.kubeconfig = path;
	assert_int_equal(session_new(&settings, &scene->session, NULL), 0);
	uv_idle_init(session_loop(scene->session), &scene->idle);
	scene->idle.data = scene;
	uv_idle_start(&scene->idle, scene_answer);
}

static inline void scene_end(struct scene *scene)
{
	uv_close((uv_handle_t *)&scene->idle, NULL);
	session_free(scene->session);
	str_done(&scene->log);
	cluster_free(scene->cluster);
}

SUITE_CLOSING(scene, struct scene, scene_end);
