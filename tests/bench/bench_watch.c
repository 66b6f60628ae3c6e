/*
 * bench_watch: how many watch events per second one core takes from the wire's bytes to the store.
 *
 *	bench_watch [EVENTS]
 *
 * The events are PCIDevices of about 1.5 KiB as an API server sends them, with managedFields, cut
 * into lines from chunks of 16 KiB, decoded into the C struct and put into the store. The same
 * events are then parsed by jansson into trees and from there into structs, for comparison.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "api/json_map.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "base/err.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "kube/listwatch.h"

/* Twice as many events in a pass as devices, so that each pass changes every object. */
enum { PASS = 128 };
enum { EVENTS = 200 * 1000, DEVICES = 64, CHUNK = 16 * 1024, LINE_MAX_BYTES = 8 * 1024 * 1024 };

static const char event_head[] =
	"{\"type\":\"MODIFIED\",\"object\":{\"apiVersion\":\"devices.harvesterhci.io/v1beta1\","
	"\"kind\":\"PCIDevice\",\"metadata\":{\"creationTimestamp\":\"2026-01-02T03:04:05Z\","
	"\"generation\":3,\"labels\":{\"nodename\":\"node1\"},\"managedFields\":[{\"apiVersion\":"
	"\"devices.harvesterhci.io/v1beta1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{"
	"\"f:metadata\":{\"f:labels\":{\"f:nodename\":{}}}},\"manager\":\"hostdev-agent\","
	"\"operation\":\"Apply\",\"time\":\"2026-01-02T03:04:05Z\"},{\"apiVersion\":"
	"\"devices.harvesterhci.io/v1beta1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{"
	"\"f:status\":{\"f:address\":{},\"f:classId\":{},\"f:conditions\":{"
	"\"k:{\\\"type\\\":\\\"Claimable\\\"}\":{\".\":{},\"f:type\":{}}},\"f:description\":{},"
	"\"f:deviceId\":{},\"f:iommuGroup\":{},\"f:kernelDriverInUse\":{},\"f:nodeName\":{},"
	"\"f:resourceName\":{},\"f:vendorId\":{}}},\"manager\":\"hostdev-agent\",\"operation\":"
	"\"Apply\",\"subresource\":\"status\",\"time\":\"2026-01-02T03:04:05Z\"}],";
static const char event_tail[] =
	"\"spec\":{},\"status\":{\"address\":\"0000:04:00.0\",\"classId\":\"0200\",\"conditions\":[{"
	"\"lastTransitionTime\":\"2026-01-02T03:04:05Z\",\"message\":\"carries the default route\","
	"\"reason\":\"DefaultRoute\",\"status\":\"False\",\"type\":\"Claimable\"}],\"description\":"
	"\"Ethernet controller: Intel Corporation 82574L Gigabit Network Connection\",\"deviceId\":"
	"\"10d3\",\"iommuGroup\":\"12\",\"iommuGroupMembers\":[\"0000:04:00.0\"],"
	"\"kernelDriverInUse\":\"e1000e\",\"nodeName\":\"node1\",\"numaNode\":0,\"resetMethods\":["
	"\"flr\",\"bus\"],\"resourceName\":\"intel.com/82574L_GIGABIT_NETWORK_CONNECTION\","
	"\"revision\":\"00\",\"role\":\"Function\",\"subsystemVendorId\":\"8086\",\"vendorId\":"
	"\"8086\"}}}\n";

static void add_event(struct str *stream, unsigned n)
{
	str_add(stream, event_head);
	str_addf(stream,
		 "\"name\":\"node1-%09u\",\"resourceVersion\":\"%u\","
		 "\"uid\":\"8a5c1f9e-1b2c-4d3e-8f90-%012u\"},",
		 n % DEVICES, 100000 + n, n % DEVICES);
	str_add(stream, event_tail);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void on_change(void *arg, const struct entry *before, const struct entry *after)
{
	uint64_t *changes = arg;

	(void)before;
	(void)after;
	(*changes)++;
}

static void on_unreadable(void *arg, const struct err *err)
{
	(void)arg;
	(void)fprintf(stderr, "bench_watch: %s\n", err->msg);
	exit(1);
}

static int to_store(void *arg, const char *line, size_t len, struct err *err)
{
	return listwatch_apply_line(arg, line, len, err);
}

static int to_tree(void *arg, const char *line, size_t len, struct err *err)
{
	auto_json json_t *event = NULL;
	uint64_t *changes = arg;
	void *object = NULL;
	int r = json_map_load(line, len, &event, err);

	if (r < 0)
		return r;
	r = api_object_decode(&pcidevice_kind, json_object_get(event, "object"), &object, err);
	if (r < 0)
		return r;
	api_object_free(&pcidevice_kind, object);
	(*changes)++;
	return 0;
}

/* Feed the stream again and again until @events went by; the time that took. */
static uint64_t run(const struct str *stream, uint64_t events, line_fn *fn, void *arg)
{
	struct lines lines = { .max = LINE_MAX_BYTES };
	struct err err = { 0 };
	uint64_t start = cpu_ns();

	for (uint64_t n = 0; n < events; n += PASS) {
		for (size_t at = 0; at < stream->len; at += CHUNK) {
			size_t len = stream->len - at < CHUNK ? stream->len - at : CHUNK;

			if (lines_feed(&lines, stream->buf + at, len, fn, arg, &err) < 0)
				on_unreadable(NULL, &err);
		}
	}
	lines_done(&lines);
	return cpu_ns() - start;
}

static void print(const char *how, uint64_t events, uint64_t ns)
{
	printf("%-32s %9" PRIu64 " events/s\n", how, events * 1000000000U / (ns ? ns : 1));
}

int main(int argc, char **argv)
{
	auto_str struct str stream = STR_INIT;
	struct reflector reflector;
	struct store *store = store_new(&pcidevice_kind);
	uint64_t changes = 0;
	uint64_t trees = 0;
	uint64_t events = EVENTS;
	struct listwatch listwatch = {
		.kind = &pcidevice_kind,
		.store = store,
		.reflector = &reflector,
		.on_change = on_change,
		.on_unreadable = on_unreadable,
		.arg = &changes,
	};
	uint64_t ns;

	if (argc > 1 && !str_to_u64(argv[1], &events)) {
		(void)fprintf(stderr, "bench_watch: '%s' is not a number of events\n", argv[1]);
		return 2;
	}
	reflector_init(&reflector);
	for (unsigned n = 0; n < PASS; n++)
		add_event(&stream, n);

	printf("%-32s %9zu bytes\n", "one event", stream.len / PASS);
	ns = run(&stream, events, to_store, &listwatch);
	print("from bytes into the store", changes, ns);
	ns = run(&stream, events, to_tree, &trees);
	print("by jansson into a struct", trees, ns);

	reflector_done(&reflector);
	store_free(store);
	return 0;
}
