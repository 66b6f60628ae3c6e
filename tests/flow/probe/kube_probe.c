/*
 * kube-probe: drives the client by hand, for tests.
 *
 *	kube-probe KUBECONFIG [CONTEXT]
 *
 * Reads commands from standard input, one per line, and writes one JSON object per event:
 *
 *	send VERB METHOD PATH TIMEOUT_MS [CONTENT_TYPE BODY]   one request
 *	watch PATH TIMEOUT_MS [note|refuse|cancel|free|send]   a stream, and what its first line does
 *	cancel N      the Nth call of all
 *	metrics       print the metrics
 *	free          free the client with all that is in flight
 *
 * At the end of the input it waits for what is in flight, frees the client, and says whether the
 * loop closed cleanly.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/num.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/metrics.h"

enum { CALLS_MAX = 256, WORDS_MAX = 7, COMMAND_MAX = 1 << 20 };

struct probe;

struct call {
	struct probe *probe;
	struct kube_call *call; /* NULL: over */
	char *on_first;
	uint64_t start_ms;
	unsigned lines;
	size_t line_bytes;
};

struct probe {
	uv_loop_t loop;
	uv_poll_t input;
	struct kube_config config;
	struct kube_client *client;
	struct metrics *metrics;
	struct lines commands;
	struct call calls[CALLS_MAX];
	unsigned ncalls;
	unsigned in_flight;
	bool input_over;
};

static void emit(json_t *event)
{
	if (json_dumpf(event, stdout, JSON_COMPACT) < 0 || putchar('\n') == EOF ||
	    fflush(stdout) == EOF)
		exit(1);
	json_decref(event);
}

static unsigned number_of(const struct call *call)
{
	return (unsigned)(call - call->probe->calls);
}

static void free_client(struct probe *probe)
{
	probe->client = kube_client_free(probe->client);
	probe->in_flight = 0;
	for (unsigned i = 0; i < probe->ncalls; i++)
		probe->calls[i].call = NULL;
}

static void leave_if_over(struct probe *probe)
{
	if (probe->input_over && probe->in_flight == 0)
		free_client(probe);
}

/* VmHWM, because getrusage() also counts what the parent had when it started this program
 * (fs/exec.c, setmax_mm_hiwater_rss). A sanitizer's memory says nothing of ours. */
static json_int_t peak_rss_kib(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 0;
#else
	auto_free char *status = NULL;
	const char *peak;
	uint64_t kib = 0;

	if (file_read(AT_FDCWD, "/proc/self/status", 1 << 16, &status, NULL, NULL) < 0)
		return -1;
	peak = strstr(status, "VmHWM:");
	for (peak += strcspn(peak, "0123456789"); *peak >= '0' && *peak <= '9'; peak++)
		kib = kib * 10 + (uint64_t)(*peak - '0');
	return (json_int_t)kib;
#endif
}

static void on_done(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct call *call = arg;
	json_t *event = json_pack("{s:s, s:I, s:i, s:I, s:s, s:I, s:I, s:i, s:I}", "event", "done",
				  "call", (json_int_t)number_of(call), "result", result, "kind",
				  (json_int_t)(result < 0 ? err->kind : 0), "message",
				  result < 0 ? err->msg : "", "retry_after_ms",
				  (json_int_t)response->retry_after_ms, "body_len",
				  (json_int_t)response->body_len, "status", response->status, "ms",
				  (json_int_t)(uv_now(&call->probe->loop) - call->start_ms));

	json_object_set_new(event, "lines", json_integer(call->lines));
	json_object_set_new(event, "line_bytes", json_integer((json_int_t)call->line_bytes));
	json_object_set_new(event, "peak_rss_kib", json_integer(peak_rss_kib()));
	json_object_set_new(event, "body",
			    response->body_len < 4096 ? json_string(response->body) : json_null());
	emit(event);
	call->call = NULL;
	call->probe->in_flight--;
	leave_if_over(call->probe);
}

static void start(struct probe *probe, const struct kube_request *request, line_fn *on_each,
		  const char *on_first);

static void cancel(struct call *call)
{
	if (!call->call)
		return;
	kube_call_cancel(call->call);
	call->call = NULL;
	call->probe->in_flight--;
	emit(json_pack("{s:s, s:I}", "event", "cancelled", "call", (json_int_t)number_of(call)));
	leave_if_over(call->probe);
}

static int on_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct call *call = arg;
	struct probe *probe = call->probe;

	(void)line;
	call->line_bytes += len;
	if (call->lines++ > 0)
		return 0;
	emit(json_pack("{s:s, s:I}", "event", "line", "call", (json_int_t)number_of(call)));
	if (strcmp(call->on_first, "refuse") == 0)
		return err_set(err, ERR_INVALID, -EBADMSG, "this line is not to my liking");
	if (strcmp(call->on_first, "cancel") == 0)
		cancel(call);
	else if (strcmp(call->on_first, "free") == 0)
		free_client(probe);
	else if (strcmp(call->on_first, "send") == 0)
		start(probe,
		      &(struct kube_request){
			      .verb = "get", .resource = "things", .method = "GET", .path = "/ok" },
		      NULL, "");
	return 0;
}

static void start(struct probe *probe, const struct kube_request *request, line_fn *on_each,
		  const char *on_first)
{
	struct call *call = &probe->calls[probe->ncalls];

	if (!probe->client || probe->ncalls == CALLS_MAX)
		return;
	probe->ncalls++;
	probe->in_flight++;
	call->probe = probe;
	call->on_first = xstrdup(on_first);
	uv_update_time(&probe->loop);
	call->start_ms = uv_now(&probe->loop);
	if (on_each)
		call->call = kube_client_stream(probe->client, request, on_each, on_done, call);
	else
		call->call = kube_client_send(probe->client, request, on_done, call);
}

static void command_send(struct probe *probe, char *const *words)
{
	struct kube_request request = {
		.verb = words[1],
		.resource = "things",
		.method = words[2],
		.path = words[3],
		.content_type = words[5],
		.body = words[6],
		.body_len = words[6] ? strlen(words[6]) : 0,
	};

	str_to_u64(words[4], &request.timeout_ms);
	start(probe, &request, NULL, "");
}

static void command_watch(struct probe *probe, char *const *words)
{
	struct kube_request request = {
		.verb = "watch",
		.resource = "things",
		.method = "GET",
		.path = words[1],
	};

	str_to_u64(words[2], &request.timeout_ms);
	start(probe, &request, on_line, words[3] ? words[3] : "");
}

static void command_cancel(struct probe *probe, char *const *words)
{
	uint64_t n;

	if (str_to_u64(words[1], &n) && n < probe->ncalls)
		cancel(&probe->calls[n]);
}

static void command_metrics(struct probe *probe, char *const *words)
{
	auto_str struct str text = STR_INIT;

	(void)words;
	metrics_write(probe->metrics, &text);
	emit(json_pack("{s:s, s:s}", "event", "metrics", "text", str_cstr(&text)));
}

static void command_free(struct probe *probe, char *const *words)
{
	(void)words;
	free_client(probe);
}

static const struct {
	const char *name;
	void (*run)(struct probe *probe, char *const *words);
} commands[] = {
	{ "send", command_send },       { "watch", command_watch }, { "cancel", command_cancel },
	{ "metrics", command_metrics }, { "free", command_free },
};

static int on_command(void *arg, const char *line, size_t len, struct err *err)
{
	auto_free char *text = xstrndup(line, len);
	char *words[WORDS_MAX] = { 0 };
	char *rest = text;

	(void)err;
	/* The last word is the rest of the line, blanks included. */
	for (size_t i = 0; i + 1 < WORDS_MAX && rest; i++)
		words[i] = strsep(&rest, " ");
	words[WORDS_MAX - 1] = rest;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (words[0] && strcmp(words[0], commands[i].name) == 0)
			commands[i].run(arg, words);
	}
	return 0;
}

static void on_input(uv_poll_t *poll, int status, int events)
{
	struct probe *probe = poll->data;
	char chunk[4096];
	ssize_t n = status < 0 ? 0 : read(STDIN_FILENO, chunk, sizeof(chunk));

	(void)events;
	if (n > 0) {
		lines_feed(&probe->commands, chunk, (size_t)n, on_command, probe, NULL);
		return;
	}
	uv_close((uv_handle_t *)poll, NULL);
	probe->input_over = true;
	leave_if_over(probe);
}

static void load_config(struct probe *probe, int argc, char **argv)
{
	struct kube_config_source source = { .path = argv[1],
					     .context = argc > 2 ? argv[2] : NULL };
	struct err err = { 0 };

	if (kube_config_load(&source, &probe->config, &err) == 0)
		return;
	(void)fprintf(stderr, "kube-probe: %s\n", err.msg);
	exit(2);
}

int main(int argc, char **argv)
{
	struct probe *probe = xcalloc(1, sizeof(*probe));
	int closed;

	if (argc < 2) {
		(void)fputs("usage: kube-probe KUBECONFIG [CONTEXT]\n", stderr);
		return 2;
	}
	load_config(probe, argc, argv);
	probe->commands.max = COMMAND_MAX;
	uv_loop_init(&probe->loop);
	probe->metrics = metrics_new();
	probe->client =
		kube_client_new(&probe->loop, &probe->config, "kube-probe/1", probe->metrics);
	uv_poll_init(&probe->loop, &probe->input, STDIN_FILENO);
	probe->input.data = probe;
	uv_poll_start(&probe->input, UV_READABLE, on_input);
	uv_run(&probe->loop, UV_RUN_DEFAULT);
	closed = uv_loop_close(&probe->loop);
	emit(json_pack("{s:s, s:i}", "event", "closed", "loop", closed));

	for (unsigned i = 0; i < probe->ncalls; i++)
		free(probe->calls[i].on_first);
	lines_done(&probe->commands);
	metrics_free(probe->metrics);
	kube_config_done(&probe->config);
	free(probe);
	return closed == 0 ? 0 : 1;
}
