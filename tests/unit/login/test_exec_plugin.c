/* Programs that print credentials, scripted: what they get, what is made of what they do. */
#include "unit/folder.h"

#include <errno.h>
#include <uv.h>

#include "api/json_values.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/login/exec_plugin.h"
#include "kube/config.h"
#include "kube/credentials.h"

#define GOOD                                                                               \
	"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"v\",\"status\":{\"token\":\"" \
	"'\"$TOKEN\"'\"}}'\n"

struct scene {
	uv_loop_t loop;
	struct folder folder;
	struct kube_exec exec;
	struct kube_config config;
	struct exec_plugin *plugin;
	int result;
	size_t ended;
	char *token;
	struct err err;
	char *command;
	char version[2];
	char user[2];
};

static char *told; /* by the plugin */

static void tell(const char *text)
{
	free(told);
	told = xstrdup(text);
}

/* A program called "get" in the scene's folder, not in PATH. */
static void scene_begin(struct scene *scene, const char *script, uint64_t wait_ms)
{
	const struct exec_plugin_options options = { .wait_ms = wait_ms,
						     .tell = tell,
						     .input = -1 };

	*scene = (struct scene){ .version = "v", .user = "u" };
	uv_loop_init(&scene->loop);
	folder_init(&scene->folder);
	scene->command = folder_path(&scene->folder, "get");
	if (script) {
		auto_free char *text = xasprintf("#!/bin/sh\n%s", script);

		folder_put(&scene->folder, "get", text);
		assert_int_equal(chmod(scene->command, 0700), 0);
	}
	scene->exec = (struct kube_exec){
		.user = scene->user,
		.command = scene->command,
		.api_version = scene->version,
	};
	scene->config.exec = &scene->exec;
	scene->plugin = exec_plugin_new(&scene->loop, &scene->config, &options);
}

static void on_proof(void *arg, int result, const struct kube_proof *proof, const struct err *err)
{
	struct scene *scene = arg;

	scene->ended++;
	scene->result = result;
	free(scene->token);
	scene->token = result == 0 ? xstrdup_or_null(proof->token) : NULL;
	if (result < 0)
		scene->err = *err;
}

static void scene_start(struct scene *scene)
{
	struct kube_provider *provider = exec_plugin_provider(scene->plugin);

	provider->start(provider, on_proof, scene);
}

static void scene_run(struct scene *scene)
{
	scene_start(scene);
	assert_int_equal(scene->ended, 0);
	uv_run(&scene->loop, UV_RUN_DEFAULT);
	assert_int_equal(scene->ended, 1);
	scene->ended = 0;
}

static void scene_gives(struct scene *scene, const char *token)
{
	scene_run(scene);
	assert_int_equal(scene->result, 0);
	assert_string_equal(scene->token, token);
}

static void scene_fails(struct scene *scene, const char *part)
{
	scene_run(scene);
	assert_int_equal(scene->result, -ENOKEY);
	assert_non_null(strstr(scene->err.msg, part));
}

static void scene_end(struct scene *scene)
{
	exec_plugin_free(scene->plugin);
	uv_run(&scene->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&scene->loop), 0);
	json_strs_done(&scene->exec.args);
	json_strs_done(&scene->exec.env);
	free(scene->token);
	free(scene->command);
	free(told);
	told = NULL;
	folder_done(&scene->folder);
}

SUITE_CLOSING(scene, struct scene, scene_end);

static struct end_case {
	const char *name;
	const char *script; /* NULL: there is none */
	uint64_t wait_ms;
	const char *error; /* NULL: its token is "abc" */
} ends[] = {
	{ "a token", "TOKEN=abc\n" GOOD, 0, NULL },
	{ "a token within its time", "TOKEN=abc\n" GOOD, 20000, NULL },
	{ "words on standard error are not looked at", "echo hello >&2\nTOKEN=abc\n" GOOD, 0,
	  NULL },
	{ "a failure", "echo '{}'\nexit 7\n", 0, "it failed with exit status 7" },
	{ "a failure counts over what was printed", "TOKEN=abc\n" GOOD "exit 1\n", 0,
	  "it failed with exit status 1" },
	{ "a signal", "kill -TERM $$\nsleep 5\n", 0, "it was ended by a signal: Terminated" },
	{ "nothing", "exit 0\n", 0, "it printed nothing" },
	{ "what is no credential", "echo hello\n", 0, "it printed what is not JSON" },
	{ "as much as it may", "exec head -c 1048576 /dev/zero\n", 0,
	  "it printed what is not JSON" },
	{ "more than that", "exec head -c 1048577 /dev/zero\n", 0,
	  "it printed more than 1048576 bytes" },
	{ "without an end", "exec cat /dev/zero\n", 0, "it printed more than 1048576 bytes" },
	{ "too slow", "exec sleep 20\n", 50, "it did not end within 50 ms" },
	{ "too slow, by a child that holds the pipe", "sleep 3 2>/dev/null &\nwait\n", 50,
	  "it did not end within 50 ms" },
	{ "standard input is at its end", "read line && exit 3\nTOKEN=abc\n" GOOD, 0, NULL },
	{ "not there", NULL, 0, "there is no such program" },
};

static void end_is_told(void **state)
{
	const struct end_case *c = suite_row(state);
	auto_free char *error = NULL;
	struct scene *scene = *state;

	scene_begin(scene, c->script, c->wait_ms);
	if (c->error) {
		error = xasprintf("credentials of user 'u' from 'get': %s", c->error);
		scene_fails(scene, error);
		assert_string_equal(scene->err.msg, error);
	} else {
		scene_gives(scene, "abc");
	}
}

static void words_are_words_and_no_shell_reads_them(void **state)
{
	struct scene *scene = *state;

	scene_begin(scene, "TOKEN=\"$#:$1:$2\"\n" GOOD, 0);
	json_strs_add(&scene->exec.args, "$(false)");
	json_strs_add(&scene->exec.args, "a;b");
	scene_gives(scene, "2:$(false):a;b");
}

static void the_environment_is_ours_and_its_own(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(setenv("HOSTDEV_OURS", "ours", 1), 0);
	assert_int_equal(setenv("HOSTDEV_BOTH", "ours", 1), 0);
	scene_begin(
		scene,
		"case $KUBERNETES_EXEC_INFO in *'\"interactive\":false'*) ;; *) exit 9 ;; esac\n"
		"TOKEN=\"$HOSTDEV_OURS,$HOSTDEV_BOTH,$HOSTDEV_ITS\"\n" GOOD,
		0);
	json_strs_add(&scene->exec.env, "HOSTDEV_BOTH=its");
	json_strs_add(&scene->exec.env, "HOSTDEV_ITS=first");
	json_strs_add(&scene->exec.env, "HOSTDEV_ITS=its");
	json_strs_add(&scene->exec.env, "KUBERNETES_EXEC_INFO=forged");
	scene_gives(scene, "ours,its,its");
}

static void it_can_run_again(void **state)
{
	auto_free char *count = NULL;
	struct scene *scene = *state;

	scene_begin(scene, "echo x >>\"$COUNT\"\nTOKEN=$(wc -l <\"$COUNT\" | tr -d ' ')\n" GOOD, 0);
	count = xasprintf("COUNT=%s/count", scene->folder.path);
	json_strs_add(&scene->exec.env, count);
	scene_gives(scene, "1");
	scene_gives(scene, "2");
}

static void who_has_to_ask_needs_a_terminal(void **state)
{
	struct scene *scene = *state;

	scene_begin(scene, "TOKEN=abc\n" GOOD, 0);
	scene->exec.input = KUBE_STDIN_ALWAYS;
	scene_fails(scene, "standard input is not a terminal");
	scene->exec.input = KUBE_STDIN_IF_AVAILABLE;
	scene_gives(scene, "abc");
}

static void how_to_install_it_is_said_once(void **state)
{
	char hint[] = "Install it so.";
	struct scene *scene = *state;

	scene_begin(scene, NULL, 0);
	scene_run(scene);
	assert_null(told);
	exec_plugin_free(scene->plugin);
	scene->plugin = exec_plugin_new(&scene->loop, &scene->config,
					&(struct exec_plugin_options){ .tell = tell, .input = -1 });
	scene->exec.install_hint = hint;
	scene_run(scene);
	assert_string_equal(told, hint);
	free(told);
	told = NULL;
	scene_run(scene);
	assert_null(told);
}

static void a_file_that_is_no_program_cannot_be_started(void **state)
{
	struct scene *scene = *state;

	scene_begin(scene, NULL, 0);
	folder_put(&scene->folder, "get", "#!/nonexistent/shell\n");
	scene_fails(scene, "there is no such program");
	assert_int_equal(chmod(scene->command, 0700), 0);
	scene_fails(scene, "it cannot be started: no such file or directory");
}

static void what_is_stopped_does_not_call_back(void **state)
{
	struct scene scene;

	scene_begin(&scene, "exec sleep 20\n", 0);
	scene_start(&scene);
	uv_run(&scene.loop, UV_RUN_NOWAIT);
	exec_plugin_provider(scene.plugin)->stop(exec_plugin_provider(scene.plugin));
	uv_run(&scene.loop, UV_RUN_DEFAULT);
	assert_int_equal(scene.ended, 0);
	scene_start(&scene);
	scene_end(&scene);
	assert_int_equal(scene.ended, 0);
}

static void programs_are_found_on_path(void **state)
{
	auto_free char *path = NULL;
	auto_free char *program = NULL;
	auto_free char *found = NULL;
	struct folder *folder = *state;

	folder_put(folder, "one/get", "not executable");
	folder_put(folder, "two/get", "");
	folder_put(folder, "three/get", "");
	program = folder_path(folder, "two/get");
	assert_int_equal(chmod(program, 0700), 0);
	path = xasprintf("%s/one::relative:%s:%s/two:%s/three", folder->path, folder->path,
			 folder->path, folder->path);
	found = exec_find("get", path);
	assert_string_equal(found, program);
	assert_null(exec_find("one", path));
	assert_null(exec_find("get", NULL));
	assert_null(exec_find("get", ""));
	/* What is here is run by its path alone. */
	assert_int_equal(chdir(folder->path), 0);
	assert_null(exec_find("get", "two:"));
	free(found);
	found = exec_find("two/get", NULL);
	assert_string_equal(found, "two/get");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "what is stopped does not call back", what_is_stopped_does_not_call_back,
		  NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, ends, end_is_told);
	suite_add(&suite, "words are words, and no shell reads them",
		  words_are_words_and_no_shell_reads_them, NULL);
	suite_add(&suite, "the environment is ours, and its own",
		  the_environment_is_ours_and_its_own, NULL);
	suite_add(&suite, "it can run again", it_can_run_again, NULL);
	suite_add(&suite, "who has to ask needs a terminal", who_has_to_ask_needs_a_terminal, NULL);
	suite_add(&suite, "how to install it is said once", how_to_install_it_is_said_once, NULL);
	suite_add(&suite, "a file that is no program cannot be started",
		  a_file_that_is_no_program_cannot_be_started, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_add(&suite, "programs are found on PATH", programs_are_found_on_path, NULL);
	return suite_run(&suite, "exec_plugin");
}
