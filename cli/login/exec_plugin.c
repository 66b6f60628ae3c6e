#include "cli/login/exec_plugin.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/login/exec_credential.h"
#include "kube/config.h"
#include "kube/credentials.h"

/* --- the command line, and its environment ---------------------------------------------------- */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *exec_find(const char *command, const char *path)
{
	if (strchr(command, '/'))
		return is_program(command) ? xstrdup(command) : NULL;
	for (const char *at = path ? path : ""; *at;) {
		size_t len = strcspn(at, ":");
		char *file = xasprintf("%.*s/%s", (int)len, at, command);

		if (*at == '/' && is_program(file))
			return file;
		free(file);
		at += len + (at[len] == ':');
	}
	return NULL;
}

static bool has_name_of(const struct json_strs *list, const char *line)
{
	size_t len = strcspn(line, "=") + 1;

	for (size_t i = 0; i < list->len; i++) {
		if (strncmp(list->items[i], line, len) == 0)
			return true;
	}
	return false;
}

/* Append @environment (as environ) to @to, with the variables of @exec and
 * KUBERNETES_EXEC_INFO=@info in place of existing ones of these names. */
static void exec_environment(const struct kube_exec *exec, char *const *environment,
			     const char *info, struct json_strs *to)
{
	auto_free char *line = xasprintf("KUBERNETES_EXEC_INFO=%s", info);
	struct json_strs ours = { 0 };

	/* If a name is given twice, the last one counts. KUBERNETES_EXEC_INFO cannot be set by
	 * the kubeconfig. */
	json_strs_add(&ours, line);
	for (size_t i = exec->env.len; i-- > 0;) {
		if (!has_name_of(&ours, exec->env.items[i]))
			json_strs_add(&ours, exec->env.items[i]);
	}
	for (size_t i = 0; environment[i]; i++) {
		if (!has_name_of(&ours, environment[i]))
			json_strs_add(to, environment[i]);
	}
	for (size_t i = 0; i < ours.len; i++)
		json_strs_add(to, ours.items[i]);
	json_strs_done(&ours);
}

/* --- the plugin ------------------------------------------------------------------------------- */

enum { READ_BYTES = 64 * 1024 };

struct exec_plugin {
	struct kube_provider provider; /* must be first: its functions get a pointer to it */
	uv_loop_t *loop;
	const struct kube_config *config;
	struct exec_plugin_options options;
	struct run *run; /* NULL: none */
	bool told;       /* how to install it */
};

/* One run of the plugin. It outlives the struct exec_plugin until libuv has closed its handles. */
struct run {
	struct exec_plugin *plugin; /* NULL: the request was cancelled */
	kube_proof_fn *done;
	void *arg;
	uv_process_t process;
	uv_pipe_t pipe;   /* its standard output                    */
	uv_timer_t timer; /* ended by its time limit, or not started */
	unsigned handles; /* not closed yet                         */
	bool spawned;     /* spawned, or tried to: the process is a handle */
	bool ended;
	bool eof;
	int64_t status;
	int signal;
	struct str text;
	struct err err; /* why we ended it ourselves */
	char chunk[READ_BYTES];
};

/* Wipe the text before freeing it. Growing it may have left copies. */
static void wipe(struct str *text)
{
	if (text->buf)
		explicit_bzero(text->buf, text->len);
	str_done(text);
}

static void on_closed(uv_handle_t *handle)
{
	struct run *run = handle->data;

	if (--run->handles > 0)
		return;
	wipe(&run->text);
	explicit_bzero(run->chunk, sizeof(run->chunk));
	free(run);
}

static void close_handle(struct run *run, uv_handle_t *handle)
{
	handle->data = run;
	uv_close(handle, on_closed);
}

/* From here on the run belongs to its handles. */
static void run_close(struct run *run)
{
	if (run->plugin)
		run->plugin->run = NULL;
	run->plugin = NULL;
	if (run->spawned)
		close_handle(run, (uv_handle_t *)&run->process);
	close_handle(run, (uv_handle_t *)&run->pipe);
	close_handle(run, (uv_handle_t *)&run->timer);
}

/* --- how it ends ------------------------------------------------------------------------------ */

#define no_key(err, ...) err_set(err, ERR_RETRY, -ENOKEY, __VA_ARGS__)

static int judge_end(const struct run *run, struct err *err)
{
	if (run->err.code) {
		*err = run->err;
		return err->code;
	}
	if (run->signal)
		return no_key(err, "it was ended by a signal: %s", strsignal(run->signal));
	if (run->status == 0)
		return 0;
	return no_key(err, "it failed with exit status %lld", (long long)run->status);
}

static void finish(struct run *run)
{
	const struct kube_exec *exec = run->plugin->config->exec;
	const char *slash = strrchr(exec->command, '/');
	kube_proof_fn *done = run->done;
	struct exec_credential credential = { 0 };
	struct kube_proof proof = { 0 };
	struct err err = { 0 };
	void *arg = run->arg;
	int r = judge_end(run, &err);

	if (r == 0)
		r = exec_credential_read(str_cstr(&run->text), run->text.len, exec->api_version,
					 &credential, &err);
	if (r < 0)
		err_wrap(&err, "credentials of user '%.60s' from '%.60s'", exec->user,
			 slash ? slash + 1 : exec->command);
	proof.token = credential.token;
	proof.cert = credential.cert;
	proof.key = credential.key;
	proof.expires_ms = credential.expires_ms;
	run_close(run);
	done(arg, r, &proof, &err);
	exec_credential_done(&credential);
}

static void finish_if_over(struct run *run)
{
	if (run->plugin && run->ended && run->eof)
		finish(run);
}

/* Do not wait for the end of the pipe: children of the plugin may hold it. */
static void give_up(struct run *run)
{
	run->eof = true;
	uv_read_stop((uv_stream_t *)&run->pipe);
	if (!run->ended)
		(void)uv_process_kill(&run->process, SIGKILL);
}

static void on_ended(uv_process_t *process, int64_t status, int signal)
{
	struct run *run = process->data;

	run->ended = true;
	run->status = status;
	run->signal = signal;
	finish_if_over(run);
}

static void on_room(uv_handle_t *pipe, size_t wanted, uv_buf_t *ret_buf)
{
	struct run *run = pipe->data;

	(void)wanted;
	*ret_buf = uv_buf_init(run->chunk, sizeof(run->chunk));
}

static void on_printed(uv_stream_t *pipe, ssize_t len, const uv_buf_t *buf)
{
	struct run *run = pipe->data;

	if (len < 0) {
		run->eof = true;
	} else if (run->text.len + (size_t)len > EXEC_PLUGIN_PRINTS_MAX) {
		no_key(&run->err, "it printed more than %d bytes", EXEC_PLUGIN_PRINTS_MAX);
		give_up(run);
	} else {
		str_add_mem(&run->text, buf->base, (size_t)len);
	}
	finish_if_over(run);
}

static void on_time_over(uv_timer_t *timer)
{
	struct run *run = timer->data;

	no_key(&run->err, "it did not end within %llu ms",
	       (unsigned long long)run->plugin->options.wait_ms);
	give_up(run);
	finish_if_over(run);
}

static void on_not_begun(uv_timer_t *timer)
{
	finish(timer->data);
}

/* --- how it begins ---------------------------------------------------------------------------- */

static void tell_hint(struct exec_plugin *plugin)
{
	const char *hint = plugin->config->exec->install_hint;

	if (hint && plugin->options.tell && !plugin->told)
		plugin->options.tell(hint);
	plugin->told = true;
}

static int choose_input(const struct exec_plugin *plugin, bool *ret_interactive, struct err *err)
{
	bool terminal = isatty(plugin->options.input) == 1;

	switch (plugin->config->exec->input) {
	case KUBE_STDIN_NEVER:
		*ret_interactive = false;
		return 0;
	case KUBE_STDIN_IF_AVAILABLE:
		*ret_interactive = terminal;
		return 0;
	case KUBE_STDIN_ALWAYS:
		break;
	}
	if (!terminal)
		return no_key(err,
			      "it wants to ask (interactiveMode: Always), and standard input is "
			      "not a terminal");
	*ret_interactive = true;
	return 0;
}

/* Its standard error is ours. */
static int spawn(struct run *run, const char *file, char **words, char **environment,
		 bool interactive)
{
	const struct exec_plugin *plugin = run->plugin;
	uv_stdio_container_t stdio[] = {
		{ .flags = interactive ? UV_INHERIT_FD : UV_IGNORE,
		  .data.fd = plugin->options.input },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		  .data.stream = (uv_stream_t *)&run->pipe },
		{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
	};
	const uv_process_options_t options = {
		.exit_cb = on_ended,
		.file = file,
		.args = words,
		.env = environment,
		.stdio_count = (int)ARRAY_LEN(stdio),
		.stdio = stdio,
	};

	run->spawned = true;
	run->handles++;
	return uv_spawn(plugin->loop, &run->process, &options);
}

static int spawn_found(struct run *run, const char *file, const char *info, bool interactive,
		       struct err *err)
{
	const struct kube_exec *exec = run->plugin->config->exec;
	struct json_strs words = { 0 };
	struct json_strs environment = { 0 };
	int r;

	json_strs_add(&words, exec->command);
	for (size_t i = 0; i < exec->args.len; i++)
		json_strs_add(&words, exec->args.items[i]);
	exec_environment(exec, environ, info, &environment);
	*array_add(&words) = NULL;
	*array_add(&environment) = NULL;
	r = spawn(run, file, words.items, environment.items, interactive);
	json_strs_done(&words);
	json_strs_done(&environment);
	if (r < 0)
		return no_key(err, "it cannot be started: %s", uv_strerror(r));
	r = uv_read_start((uv_stream_t *)&run->pipe, on_room, on_printed);
	assert(r == 0); /* a new pipe */
	return 0;
}

static int begin(struct run *run, struct err *err)
{
	struct exec_plugin *plugin = run->plugin;
	const char *command = plugin->config->exec->command;
	auto_free char *file = exec_find(command, getenv("PATH"));
	auto_free char *info = NULL;
	bool interactive = false;
	int r;

	if (!file) {
		tell_hint(plugin);
		return no_key(err, "there is no such program%s",
			      strchr(command, '/') ? "" : " on PATH");
	}
	r = choose_input(plugin, &interactive, err);
	if (r == 0)
		r = exec_credential_ask(plugin->config, interactive, &info, err);
	return r < 0 ? r : spawn_found(run, file, info, interactive, err);
}

static void plugin_start(struct kube_provider *provider, kube_proof_fn *done, void *arg)
{
	struct exec_plugin *plugin = (struct exec_plugin *)provider;
	struct run *run = xcalloc(1, sizeof(*run));

	assert(!plugin->run);
	run->plugin = plugin;
	run->done = done;
	run->arg = arg;
	run->handles = 2;
	plugin->run = run;
	uv_pipe_init(plugin->loop, &run->pipe, 0);
	uv_timer_init(plugin->loop, &run->timer);
	run->pipe.data = run->timer.data = run->process.data = run;
	if (begin(run, &run->err) < 0) {
		run->err.code = -ENOKEY;
		run->err.kind = ERR_RETRY;
		uv_timer_start(&run->timer, on_not_begun, 0, 0);
	} else if (plugin->options.wait_ms > 0) {
		uv_timer_start(&run->timer, on_time_over, plugin->options.wait_ms, 0);
	}
}

/* Ask a running plugin to end (SIGTERM), for example one that waits for input. Does not wait for
 * it. */
static void plugin_stop(struct kube_provider *provider)
{
	struct exec_plugin *plugin = (struct exec_plugin *)provider;

	if (!plugin->run)
		return;
	if (!plugin->run->ended && plugin->run->process.pid > 0)
		(void)uv_process_kill(&plugin->run->process, SIGTERM);
	run_close(plugin->run);
}

struct exec_plugin *exec_plugin_new(struct uv_loop_s *loop, const struct kube_config *config,
				    const struct exec_plugin_options *options)
{
	struct exec_plugin *plugin = xcalloc(1, sizeof(*plugin));

	*plugin = (struct exec_plugin){
		.provider = { .start = plugin_start, .stop = plugin_stop },
		.loop = loop,
		.config = config,
		.options = *options,
	};
	return plugin;
}

struct exec_plugin *exec_plugin_free(struct exec_plugin *plugin)
{
	if (!plugin)
		return NULL;
	plugin_stop(&plugin->provider);
	free(plugin);
	return NULL;
}

struct kube_provider *exec_plugin_provider(struct exec_plugin *plugin)
{
	return &plugin->provider;
}
