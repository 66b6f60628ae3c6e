/*
 * grpc-probe: our gRPC on one end of a unix socket, for tests with another implementation on the
 * other.
 *
 *	grpc-probe serve SOCKET [LIMIT=N ...]   a device plugin with its registration
 *	grpc-probe call SOCKET                  a client of anything
 *
 * A LIMIT is hello_ms, request_ms or idle_ms, of grpc/limits.h.
 *
 * Reads commands from standard input and says on standard output what happens, one line each; ends
 * when the input does.
 *
 *	list N [PAD]                serve: from now on N devices, with PAD more bytes in each ID
 *	pods HEX                    serve: podresources lists that from now on, a message
 *	sync                        say "in sync"
 *	goaway                      serve: accept no more, let calls end
 *	call PATH TIMEOUT_MS unary|stream HEX     call: the request's bytes in hexadecimal, "-" for none
 *	cancel N                    call: the Nth call of all
 *	show N                      call: from now on N bytes of a message, not 1024
 */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "flow/probe/grpc_probe_plugin.h"
#include "grpc/uv_client.h"
#include "grpc/uv_server.h"

enum {
	CALLS_MAX = 4096,
	WORDS_MAX = 5,
	COMMAND_MAX = 16 << 20,
	DEVICES_MAX = 100000,
	SHOWN_MAX = 1024,
};

struct probe;

struct call {
	struct probe *probe;
	struct grpc_rpc *rpc; /* NULL: over */
};

struct probe {
	uv_loop_t loop;
	uv_poll_t input;
	struct lines commands;
	struct grpc_uv_server *server;
	struct grpc_uv_client *client;
	struct call calls[CALLS_MAX];
	size_t ncalls;
	uint64_t shown; /* bytes of a message */
	struct grpc_service service;
	struct plugin plugin;
};

static void say(const struct str *line)
{
	if (fwrite(line->buf, 1, line->len, stdout) != line->len || putchar('\n') == EOF ||
	    fflush(stdout) == EOF)
		exit(1);
}

void probe_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vprintf(fmt, args) < 0 || putchar('\n') == EOF || fflush(stdout) == EOF)
		exit(1);
	va_end(args);
}

/* --- the server ------------------------------------------------------------------------------- */

static void command_list(struct probe *probe, char *const *words)
{
	uint64_t n = 0;
	uint64_t pad = 0;

	str_to_u64(words[1], &n);
	str_to_u64(words[2], &pad);
	if (n > DEVICES_MAX || pad > SHOWN_MAX)
		exit(2);
	plugin_list(&probe->plugin, n, pad);
}

static void command_sync(struct probe *probe, char *const *words)
{
	(void)probe;
	(void)words;
	probe_say("in sync");
}

static void command_goaway(struct probe *probe, char *const *words)
{
	(void)words;
	grpc_uv_server_shutdown(probe->server);
}

/* --- the client ------------------------------------------------------------------------------- */

static size_t number_of(const struct call *call)
{
	return (size_t)(call - call->probe->calls);
}

static void on_message(void *arg, const char *data, size_t len)
{
	const struct call *call = arg;
	auto_str struct str line = STR_INIT;

	str_addf(&line, "%zu message %zu ", number_of(call), len);
	for (size_t i = 0; i < len && i < call->probe->shown; i++)
		str_addf(&line, "%02x", (unsigned)(unsigned char)data[i]);
	say(&line);
}

static void on_end(void *arg, const struct grpc_result *result)
{
	struct call *call = arg;

	call->rpc = NULL;
	probe_say("%zu end %s: %s", number_of(call), grpc_status_name(result->status),
		  result->message);
}

static bool hex_read(const char *text, struct str *out)
{
	if (strcmp(text, "-") == 0)
		return true;
	for (; text[0] && text[1]; text += 2) {
		char digits[] = { text[0], text[1], '\0' };
		uint64_t value = 0;

		if (!str_to_hex(digits, &value))
			return false;
		str_add_char(out, (char)value);
	}
	return *text == '\0';
}

static void command_call(struct probe *probe, char *const *words)
{
	auto_str struct str data = STR_INIT;
	struct grpc_request request = { .on_message = on_message, .on_end = on_end };
	struct err err = { 0 };
	struct call *call;

	if (!words[4] || !hex_read(words[4], &data) || probe->ncalls == CALLS_MAX)
		exit(2);
	call = &probe->calls[probe->ncalls++];
	call->probe = probe;
	request.path = words[1];
	str_to_u64(words[2], &request.timeout_ms);
	request.stream = strcmp(words[3], "stream") == 0;
	request.data = str_cstr(&data);
	request.len = data.len;
	request.arg = call;
	if (grpc_uv_client_call(probe->client, &request, &call->rpc, &err) < 0)
		probe_say("%zu refused: %s", number_of(call), err.msg);
}

static void command_cancel(struct probe *probe, char *const *words)
{
	uint64_t n = 0;

	if (!str_to_u64(words[1], &n) || n >= probe->ncalls || !probe->calls[n].rpc)
		return;
	grpc_rpc_cancel(probe->calls[n].rpc);
	probe->calls[n].rpc = NULL;
	probe_say("%" PRIu64 " cancelled", n);
}

static void command_show(struct probe *probe, char *const *words)
{
	if (!str_to_u64(words[1], &probe->shown))
		exit(2);
}

static void command_pods(struct probe *probe, char *const *words)
{
	str_clear(&probe->plugin.pods);
	if (!words[1] || !hex_read(words[1], &probe->plugin.pods))
		exit(2);
}

/* --- commands --------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(struct probe *probe, char *const *words);
} commands[] = {
	{ "list", command_list }, { "goaway", command_goaway }, { "sync", command_sync },
	{ "call", command_call }, { "cancel", command_cancel }, { "show", command_show },
	{ "pods", command_pods },
};

static int on_command(void *arg, const char *line, size_t len, struct err *err)
{
	auto_free char *text = xstrndup(line, len);
	char *words[WORDS_MAX] = { 0 };
	char *rest = text;

	(void)err;
	for (size_t i = 0; i < WORDS_MAX && rest; i++)
		words[i] = strsep(&rest, " ");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (words[0] && strcmp(words[0], commands[i].name) == 0)
			commands[i].run(arg, words);
	}
	return 0;
}

static void on_input(uv_poll_t *poll, int status, int events)
{
	struct probe *probe = poll->data;
	char chunk[8192];
	ssize_t n = status < 0 ? 0 : read(STDIN_FILENO, chunk, sizeof(chunk));

	(void)events;
	if (n > 0) {
		lines_feed(&probe->commands, chunk, (size_t)n, on_command, probe, NULL);
		return;
	}
	uv_close((uv_handle_t *)poll, NULL);
	probe->client = grpc_uv_client_free(probe->client);
	probe->server = grpc_uv_server_free(probe->server);
}

static void limit_set(struct grpc_limits *limits, const char *option)
{
	const struct {
		const char *name;
		uint64_t *value;
	} all[] = {
		{ "hello_ms=", &limits->hello_ms },
		{ "request_ms=", &limits->request_ms },
		{ "idle_ms=", &limits->idle_ms },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		size_t len = strlen(all[i].name);

		if (strncmp(option, all[i].name, len) == 0 &&
		    str_to_u64(option + len, all[i].value))
			return;
	}
	exit(2);
}

static int start(struct probe *probe, const char *role, const char *path, char *const *options)
{
	struct grpc_limits limits = GRPC_LIMITS;
	struct grpc_uv_server_settings settings = { .path = path,
						    .service = &probe->service,
						    .limits = &limits };
	struct err err = { 0 };

	for (; *options; options++)
		limit_set(&limits, *options);
	probe->service = (struct grpc_service){ plugin_methods, PLUGIN_NMETHODS, &probe->plugin };
	if (strcmp(role, "call") == 0)
		probe->client = grpc_uv_client_new(&probe->loop, path, NULL);
	else if (grpc_uv_server_new(&probe->loop, &settings, &probe->server, &err) < 0)
		probe_say("cannot serve: %s", err.msg);
	return err.code;
}

int main(int argc, char **argv)
{
	struct probe *probe = xcalloc(1, sizeof(*probe));
	int closed;

	if (argc < 3) {
		(void)fputs("usage: grpc-probe serve|call SOCKET [LIMIT=N ...]\n", stderr);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	probe->commands.max = COMMAND_MAX;
	probe->shown = SHOWN_MAX;
	uv_loop_init(&probe->loop);
	if (start(probe, argv[1], argv[2], argv + 3) < 0)
		return 1;
	uv_poll_init(&probe->loop, &probe->input, STDIN_FILENO);
	probe->input.data = probe;
	uv_poll_start(&probe->input, UV_READABLE, on_input);
	probe_say("ready");
	uv_run(&probe->loop, UV_RUN_DEFAULT);
	closed = uv_loop_close(&probe->loop);
	probe_say("closed %d", closed);
	lines_done(&probe->commands);
	str_done(&probe->plugin.pods);
	free(probe);
	return closed == 0 ? 0 : 1;
}
