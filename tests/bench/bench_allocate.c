/*
 * bench_allocate: how long a device plugin's Allocate takes, from a client in C.
 *
 *	bench_allocate SOCKET DEVICE WARM CALLS
 *
 * One call after the other on one connection; says for each but the first WARM ones how many ns
 * went by until its answer was read, one a line.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "agent/plugin/plugin_codec.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "fake/kubelet/plugin_client.h"
#include "grpc/uv_client.h"

enum { CALLS_MAX = 1000 * 1000 };

struct bench {
	uv_loop_t loop;
	struct grpc_uv_client *client;
	struct str request;
	uint64_t *took_ns;
	size_t done, calls;
	uint64_t began_ns;
	bool answered;
};

static void stop(const char *why)
{
	(void)fprintf(stderr, "bench_allocate: %s\n", why);
	exit(1);
}

static void call(struct bench *bench);

static void on_message(void *arg, const char *data, size_t len)
{
	struct bench *bench = arg;
	struct plugin_allocations answer = { 0 };
	struct err err = { 0 };

	if (plugin_codec_read_allocations(data, len, &answer, &err) < 0)
		stop(err.msg);
	bench->answered = answer.len == 1 && answer.items[0].devices.len > 0;
	plugin_allocations_done(&answer);
}

static void on_end(void *arg, const struct grpc_result *result)
{
	struct bench *bench = arg;

	if (result->status != GRPC_OK || !bench->answered)
		stop(result->message);
	bench->took_ns[bench->done++] = uv_hrtime() - bench->began_ns;
	if (bench->done < bench->calls)
		call(bench);
	else
		bench->client = grpc_uv_client_free(bench->client);
}

static void call(struct bench *bench)
{
	struct grpc_request request = { .path = "/v1beta1.DevicePlugin/Allocate",
					.data = str_cstr(&bench->request),
					.len = bench->request.len,
					.on_message = on_message,
					.on_end = on_end,
					.arg = bench };
	struct err err = { 0 };

	bench->answered = false;
	bench->began_ns = uv_hrtime();
	if (grpc_uv_client_call(bench->client, &request, NULL, &err) < 0)
		stop(err.msg);
}

static void write_request(struct bench *bench, const char *device)
{
	struct plugin_ids ids = { 0 };
	struct err err = { 0 };

	*array_add(&ids) = (struct json_strs){ 0 };
	*array_add(&ids.items[0]) = xstrdup(device);
	if (plugin_codec_write_allocate(&ids, &bench->request, &err) < 0)
		stop(err.msg);
	plugin_ids_done(&ids);
}

int main(int argc, char **argv)
{
	struct bench *bench = xcalloc(1, sizeof(*bench));
	uint64_t warm = 0;
	uint64_t calls = 0;

	if (argc != 5 || !str_to_u64(argv[3], &warm) || !str_to_u64(argv[4], &calls) ||
	    warm > CALLS_MAX || calls == 0 || calls > CALLS_MAX) {
		(void)fputs("usage: bench_allocate SOCKET DEVICE WARM CALLS\n", stderr);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	bench->calls = warm + calls;
	bench->took_ns = xcalloc(bench->calls, sizeof(*bench->took_ns));
	write_request(bench, argv[2]);
	uv_loop_init(&bench->loop);
	bench->client = grpc_uv_client_new(&bench->loop, argv[1], NULL);
	call(bench);
	uv_run(&bench->loop, UV_RUN_DEFAULT);
	uv_loop_close(&bench->loop);
	for (size_t i = warm; i < bench->calls; i++)
		printf("%" PRIu64 "\n", bench->took_ns[i]);
	str_done(&bench->request);
	free(bench->took_ns);
	free(bench);
	return 0;
}
