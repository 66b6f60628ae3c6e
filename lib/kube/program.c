#include "kube/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/listen.h"
#include "kube/loop.h"
#include "kube/metrics.h"
#include "kube/serve.h"
#include "kube/yaml.h"

/* --- the settings file --- */

/* The string that a flag would have; NULL if @value is not a scalar. */
static char *scalar_text(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return xstrdup(json_string_value(value));
	case JSON_TRUE:
	case JSON_FALSE:
		return xstrdup(json_is_true(value) ? "true" : "false");
	case JSON_INTEGER:
		return xasprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	case JSON_REAL:
	case JSON_NULL:
	case JSON_OBJECT:
	case JSON_ARRAY:
		return NULL;
	}
	return NULL;
}

static int set_scalar(struct options *o, const char *path, const char *key, const json_t *value,
		      struct err *err)
{
	auto_free char *text = scalar_text(value);

	if (!text)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "%s: %s: give text, a whole number, true or false", path, key);
	return options_set(o, key, text, OPTION_FILE, path, err);
}

static int set_list(struct options *o, const char *path, const char *key, const json_t *list,
		    struct err *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		int r = set_scalar(o, path, key, item, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* A key without a value leaves the option unchanged. */
static int set_key(struct options *o, const char *path, const char *key, const json_t *value,
		   struct err *err)
{
	if (json_is_null(value))
		return 0;
	if (json_is_array(value))
		return set_list(o, path, key, value, err);
	return set_scalar(o, path, key, value, err);
}

static int set_all(struct options *o, const char *path, json_t *doc, struct err *err)
{
	const char *key;
	json_t *value;

	if (json_is_null(doc))
		return 0;
	if (!json_is_object(doc))
		return err_set(err, ERR_INVALID, -EINVAL, "%s: not a mapping of settings", path);
	json_object_foreach (doc, key, value) {
		int r = set_key(o, path, key, value, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int program_read_file(struct options *o, const char *path, struct err *err)
{
	auto_free char *text = NULL;
	json_t *doc = NULL;
	size_t len;
	int r;

	r = file_read(AT_FDCWD, path, YAML_TEXT_MAX, &text, &len, err);
	if (r < 0)
		return err_wrap(err, "settings");
	r = yaml_parse(path, text, len, &doc, err);
	if (r < 0)
		return r;
	r = set_all(o, path, doc, err);
	json_decref(doc);
	return r;
}

/* --- the program --- */

const char *const program_log_levels[] = { "debug", "info", "warn", "error", NULL };

static const struct metric_desc build_desc = {
	.name = "hostdev_build_info",
	.help = "Always 1; the label is the version of the program.",
	.type = METRIC_GAUGE,
	.labels = { "version" },
};

/* The file is read last, because flags and environment may name it. Flags and environment
 * override it. */
static int read_sources(struct options *o, const struct program_settings *common, int argc,
			char *const *argv, int *ret_rest, struct err *err)
{
	struct listen_address address;
	int r = options_args(o, argc, argv, ret_rest, err);

	if (r != OPTIONS_OK)
		return r;
	r = options_env(o, environ, err);
	if (r == 0 && common->config_file)
		r = program_read_file(o, common->config_file, err);
	if (r == 0 && common->listen && listen_address_parse(common->listen, &address, err) < 0)
		r = err_wrap(err, "--listen");
	if (r == 0 && common->probe_listen &&
	    listen_address_parse(common->probe_listen, &address, err) < 0)
		r = err_wrap(err, "--probe-listen");
	return r;
}

static void print_help(const struct options *o, const struct options_prose *prose)
{
	auto_str struct str page = STR_INIT;

	options_help(o, prose, &page);
	(void)fputs(str_cstr(&page), stdout);
}

int program_misused(const struct options_prose *prose, const char *message)
{
	(void)fprintf(stderr, "%s: %s\n", prose->program, message);
	return 2;
}

int program_options(struct options *o, const struct program_settings *common,
		    const struct options_prose *prose, int *argc, char *const **argv)
{
	struct err err = { 0 };
	int rest = 0;
	int r = read_sources(o, common, *argc, *argv, &rest, &err);

	if (r == OPTIONS_HELP) {
		print_help(o, prose);
		return 0;
	}
	if (r == OPTIONS_VERSION) {
		(void)printf("%.*s %s\n", (int)strcspn(prose->program, " "), prose->program,
			     HOSTDEV_VERSION);
		return 0;
	}
	if (r != OPTIONS_OK)
		return program_misused(prose, err.msg);
	log_set_level((enum log_level)common->log_level);
	*argc -= rest;
	*argv += rest;
	return -1;
}

/* Check the local settings before contacting the API server. */
static int reach(struct program *p, const struct program_settings *settings, const char *user_agent,
		 struct err *err)
{
	struct kube_config_source source = { 0 };
	int r;

	kube_config_source_env(&source);
	source.path = settings->kubeconfig;
	source.context = settings->context;
	r = serve_new(&p->loop,
		      &(struct serve_options){
			      .listen = settings->listen,
			      .probe_listen = settings->probe_listen,
			      .metrics = p->metrics,
		      },
		      &p->serve, err);
	if (r < 0)
		return r;
	r = kube_config_load(&source, &p->config, err);
	if (r < 0)
		return r;
	p->client = kube_client_new(&p->loop, &p->config, user_agent, p->metrics);
	log_info("using API server", log_str("server", p->config.server),
		 log_str("from", p->config.origin), log_str("probe_listen", settings->probe_listen),
		 log_int("probe_port", serve_port(p->serve, SERVE_PROBES)),
		 log_str("listen", settings->listen),
		 log_int("port", serve_port(p->serve, SERVE_ALL)));
	return 0;
}

int program_init(struct program *p, const struct program_settings *settings, const char *user_agent,
		 struct err *err)
{
	int r;

	*p = (struct program){ 0 };
	r = loop_open(&p->loop, err);
	if (r < 0)
		return r;
	p->metrics = metrics_new();
	metric_set(metrics_family(p->metrics, &build_desc), 1,
		   (const char *const[]){ HOSTDEV_VERSION });
	process_metrics_init(&p->process, p->metrics);
	for (size_t i = 0; i < ARRAY_LEN(p->signals); i++) {
		uv_signal_init(&p->loop, &p->signals[i]);
		p->signals[i].data = p;
	}
	r = reach(p, settings, user_agent, err);
	if (r < 0)
		program_done(p);
	return r;
}

int program_cannot_start(const char *name, const struct err *err)
{
	if (err->kind == ERR_INVALID) {
		(void)fprintf(stderr, "%s: %s\n", name, err->msg);
		return 2;
	}
	log_error("cannot start", log_str("reason", err->msg));
	return 1;
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct program *p = handle->data;

	log_info("shutting down", log_str("signal", strsignal(number)));
	for (size_t i = 0; i < ARRAY_LEN(p->signals); i++)
		uv_signal_stop(&p->signals[i]);
	if (p->on_signal)
		p->on_signal(p->arg);
	else
		program_stop(p);
}

void program_run(struct program *p, void (*signal_fn)(void *arg), void *arg)
{
	static const int numbers[] = { SIGTERM, SIGINT };

	p->on_signal = signal_fn;
	p->arg = arg;
	/* A peer that closes early must cause a write error, not end the process. */
	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_LEN(p->signals); i++)
		uv_signal_start(&p->signals[i], on_signal, numbers[i]);
	uv_run(&p->loop, UV_RUN_DEFAULT);
}

void program_stop(struct program *p)
{
	uv_stop(&p->loop);
}

void program_done(struct program *p)
{
	kube_client_free(p->client);
	serve_free(p->serve);
	for (size_t i = 0; i < ARRAY_LEN(p->signals); i++)
		uv_close((uv_handle_t *)&p->signals[i], NULL);
	loop_close(&p->loop);
	metrics_free(p->metrics);
	kube_config_done(&p->config);
}
