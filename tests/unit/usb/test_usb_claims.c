/* usb_claims: the life of a USBDeviceClaim, request by request; the API server is a few lines. */
#include "agent/usb/usb_claims.h"

#include <stdlib.h>

#include "base/log.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "unit/usb/sticks.h"

#define CLAIMS  "/usbdeviceclaims?"
#define DEVICES "/usbdevices?"
#define PCI     "/pcideviceclaims?"
#define DEVICE                                                     \
	"{\"metadata\":{\"name\":\"" STICK                         \
	"\",\"uid\":\"d1\",\"resourceVersion\":\"7\"},\"status\":" \
	"{}}"
#define MARK   "PATCH " STICK "|"
#define TELL   "PATCH " STICK "/status|"
#define READ   "GET " STICK "|"
#define UNMARK MARK

/* kube/events.h without an API server. */
struct events {
	struct str said;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	assert_string_equal(about->meta->name, STICK);
	assert_non_null(fmt);
	str_addf(&events->said, "%s %s|", type == EVENTS_WARNING ? "Warning" : "Normal", reason);
}

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct events events;
	struct informer *claim_informer, *device_informer, *pci_informer;
	struct usb_claims *claims;
	struct sticks node;
	json_t *claim; /* at the server; NULL: there is none */
	int version;
	const char *pod; /* that has socket 1-2 */
	struct str log;  /* requests, and nodes given back */
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct bench *b = arg;

	(void)before;
	(void)after;
	usb_claims_touch(b->claims, name);
}

static void on_synced(void *arg)
{
	struct bench *b = arg;

	usb_claims_look(b->claims);
}

static bool is_free(void *arg, const char *port, char **ret_holder)
{
	const struct bench *b = arg;

	assert_string_equal(port, "1-2");
	*ret_holder = b->pod ? xstrdup(b->pod) : NULL;
	return !b->pod;
}

static void give_back(void *arg, const char *port)
{
	struct bench *b = arg;

	str_addf(&b->log, "give back %s|", port);
}

static struct informer *informer(struct bench *b, const struct api_kind *kind)
{
	return informer_new(&(struct informer_deps){ .client = b->client,
						     .clock = fake_clock_as_clock(b->clock) },
			    &(struct informer_spec){
				    .kind = kind, .handlers = { on_change, on_synced }, .arg = b });
}

static void settle(struct bench *b)
{
	fake_clock_settle(b->clock);
}

static void list(struct bench *b, const char *path, const char *items)
{
	auto_free char *text =
		xasprintf("{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[%s]}", items);

	fake_client_choose(b->client, path);
	fake_client_answer(b->client, 200, text);
	settle(b);
}

/* What the node has from now on. */
static void look(struct bench *b, const char *plugged)
{
	sticks_again(&b->node);
	sticks_plug_all(&b->node, plugged);
	sticks_look(&b->node);
	usb_claims_set(b->claims, b->node.world.inventory);
	settle(b);
}

static void bench_open(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(),
			     .clock = fake_clock_new(),
			     .version = 100 };
	sticks_open(&b->node);
	b->claim_informer = informer(b, &usbdeviceclaim_kind);
	b->device_informer = informer(b, &usbdevice_kind);
	b->pci_informer = informer(b, &pcideviceclaim_kind);
	b->claims = usb_claims_new(&(struct usb_claims_deps){
		.client = b->client,
		.clock = fake_clock_as_clock(b->clock),
		.events = &b->events,
		.claims = b->claim_informer,
		.devices = b->device_informer,
		.pci_claims = b->pci_informer,
		.node_name = "node1",
		.is_free = is_free,
		.give_back = give_back,
		.arg = b,
	});
	informer_start(b->claim_informer);
	informer_start(b->device_informer);
	informer_start(b->pci_informer);
	settle(b);
	sticks_look(&b->node);
	usb_claims_set(b->claims, b->node.world.inventory);
}

static void bench_close(struct bench *b)
{
	usb_claims_free(b->claims);
	informer_free(b->claim_informer);
	informer_free(b->device_informer);
	informer_free(b->pci_informer);
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
	sticks_close(&b->node);
	json_decref(b->claim);
	str_done(&b->log);
	str_done(&b->events.said);
}

/* --- the server ------------------------------------------------------------------------- */

static void watch_tells(struct bench *b, const char *type)
{
	auto_free char *version = xasprintf("%d", ++b->version);
	auto_free char *text = NULL;
	auto_free char *line = NULL;

	json_object_set_new(json_object_get(b->claim, "metadata"), "resourceVersion",
			    json_string(version));
	text = json_map_text(b->claim);
	line = xasprintf("{\"type\":\"%s\",\"object\":%s}", type, text);
	fake_client_choose(b->client, CLAIMS);
	fake_client_line(b->client, line);
}

static void create(struct bench *b)
{
	b->claim = claim_json("{'metadata':{'name':'" STICK "','uid':'u1','generation':1},"
			      "'spec':{'userName':'admin'}}");
	watch_tells(b, "ADDED");
	settle(b);
}

static void delete_claim(struct bench *b)
{
	json_object_set_new(json_object_get(b->claim, "metadata"), "deletionTimestamp",
			    json_string("2026-01-02T03:04:05Z"));
	watch_tells(b, "MODIFIED");
	settle(b);
}

static bool is_stale(struct bench *b, json_t *patch)
{
	return strcmp(claim_meta_text(patch, "uid"), claim_meta_text(b->claim, "uid")) != 0 ||
	       strcmp(claim_meta_text(patch, "resourceVersion"),
		      claim_meta_text(b->claim, "resourceVersion")) != 0;
}

static void patch(struct bench *b, const char *path)
{
	auto_json json_t *body = json_loads(fake_client_request(b->client)->body, 0, NULL);
	auto_free char *at = xstrdup(path);
	auto_free char *text = NULL;
	bool gone;

	assert_non_null(body);
	if (is_stale(b, body)) {
		fake_client_answer(b->client, 409, "{\"kind\":\"Status\"}");
		return;
	}
	claim_merge(b->claim, body);
	gone = claim_meta_text(b->claim, "deletionTimestamp") &&
	       json_array_size(
		       json_object_get(json_object_get(b->claim, "metadata"), "finalizers")) == 0;
	watch_tells(b, gone ? "DELETED" : "MODIFIED");
	text = json_map_text(b->claim);
	fake_client_choose(b->client, at);
	fake_client_answer(b->client, 200, text);
	if (gone) {
		json_decref(b->claim);
		b->claim = NULL;
	}
}

/* The name, with "/status", of the oldest request of a claim; NULL: none waits. The caller frees. */
static char *next(struct bench *b)
{
	enum { WATCHES = 3 };
	const struct fake_request *request;
	const char *name;

	settle(b);
	if (fake_client_open(b->client) <= WATCHES)
		return NULL;
	fake_client_choose(b->client, "/usbdeviceclaims/");
	request = fake_client_request(b->client);
	name = strstr(request->path, "/usbdeviceclaims/") + strlen("/usbdeviceclaims/");
	str_addf(&b->log, "%s %.*s|", request->method, (int)strcspn(name, "?"), name);
	return xstrdup(request->path);
}

static bool serve_one(struct bench *b)
{
	auto_free char *path = next(b);
	auto_free char *text = NULL;

	if (!path)
		return false;
	if (strcmp(fake_client_request(b->client)->method, "PATCH") == 0) {
		patch(b, path);
	} else {
		text = json_map_text(b->claim);
		fake_client_answer(b->client, 200, text);
	}
	settle(b);
	return true;
}

static void serve(struct bench *b)
{
	while (serve_one(b))
		;
}

static void assert_log(struct bench *b, const char *wanted)
{
	assert_string_equal(str_cstr(&b->log), wanted);
	str_clear(&b->log);
}

static void assert_said(struct bench *b, const char *wanted)
{
	assert_string_equal(str_cstr(&b->events.said), wanted);
	str_clear(&b->events.said);
}

static void assert_has(const struct bench *b, const char *part)
{
	auto_free char *text = json_map_text(b->claim);

	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void list_all(struct bench *b)
{
	list(b, CLAIMS, "");
	list(b, DEVICES, DEVICE);
	list(b, PCI, "");
}

/* Ready, with nothing under way. */
static void open_ready(struct bench *b)
{
	bench_open(b);
	list_all(b);
	look(b, "1-2=5:A");
	create(b);
	serve(b);
	str_clear(&b->log);
	str_clear(&b->events.said);
}

/* --- tests -------------------------------------------------------------------------------- */

static void a_life_takes_three_writes(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	list_all(&b);
	look(&b, "1-2=5:A");
	create(&b);
	serve(&b);
	assert_log(&b, MARK TELL);
	assert_said(&b, "Normal Offered|");
	assert_has(&b, "\"portPath\":\"1-2\"");
	delete_claim(&b);
	serve(&b);
	assert_log(&b, READ "give back 1-2|" UNMARK);
	assert_said(&b, "Normal Released|");
	assert_null(b.claim);
	bench_close(&b);
}

static void a_ready_claim_is_left_alone(void **state)
{
	struct bench b;

	(void)state;
	open_ready(&b);
	for (unsigned i = 0; i < 3; i++) {
		look(&b, "1-2=5:A");
		usb_claims_touch(b.claims, STICK);
		usb_claims_look(b.claims);
		fake_clock_advance(b.clock, 600000);
		assert_null(next(&b));
	}
	bench_close(&b);
}

static void nothing_is_decided_before_all_is_known(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	list(&b, CLAIMS, "");
	look(&b, "1-2=5:A");
	create(&b);
	list(&b, DEVICES, DEVICE);
	fake_clock_advance(b.clock, 1000);
	fake_client_choose(b.client, PCI); /* the third list is what is still open */
	assert_int_equal(fake_client_open(b.client), 3);
	list(&b, PCI, "");
	serve(&b);
	assert_log(&b, MARK TELL);
	bench_close(&b);
}

static void unplugged_and_back_takes_a_write_each(void **state)
{
	struct bench b;

	(void)state;
	open_ready(&b);
	look(&b, "");
	serve(&b);
	assert_log(&b, TELL);
	assert_said(&b, "Warning DeviceGone|");
	sticks_claim(&b.node, CLAIM(STICK, KNOWN("1-2", "A"))); /* for the names */
	look(&b, "1-2=6:A");
	serve(&b);
	assert_log(&b, TELL);
	assert_said(&b, "Normal Offered|");
	bench_close(&b);
}

static void a_pod_keeps_the_claim(void **state)
{
	struct bench b;

	(void)state;
	open_ready(&b);
	b.pod = "pod default/vm-1";
	delete_claim(&b);
	serve(&b);
	assert_log(&b, TELL);
	assert_said(&b, "Warning Held|");
	assert_has(&b, "\"holder\":\"pod default/vm-1\"");
	fake_clock_advance(b.clock, 60000);
	serve(&b);
	assert_log(&b, "");
	b.pod = NULL;
	usb_claims_look(b.claims);
	serve(&b);
	assert_log(&b, READ "give back 1-2|" UNMARK);
	assert_null(b.claim);
	bench_close(&b);
}

static void somebody_writes(struct bench *b)
{
	json_object_set_new(b->claim, "spec", claim_json("{'userName':'root'}"));
	watch_tells(b, "MODIFIED");
}

/* Its finalizer goes only when the write that takes it off has been made. */
static void a_conflict_at_the_release_is_tried_again(void **state)
{
	struct bench b;
	auto_free char *path = NULL;

	(void)state;
	open_ready(&b);
	delete_claim(&b);
	assert_true(serve_one(&b));
	path = next(&b);
	assert_non_null(path);
	somebody_writes(&b);
	fake_client_choose(b.client, path);
	fake_client_answer(b.client, 409, "{\"kind\":\"Status\"}");
	settle(&b);
	assert_non_null(b.claim);
	assert_said(&b, "");
	fake_clock_advance(b.clock, 60000);
	serve(&b);
	assert_null(b.claim);
	assert_said(&b, "Normal Released|");
	bench_close(&b);
}

static struct failure_case {
	const char *name;
	int status; /* < 0: no answer */
	const char *body;
} failures[] = {
	/* clang-format off */
	{ "a server in trouble", 500, "{\"kind\":\"Status\"}" },
	{ "too many requests", 429, "{\"kind\":\"Status\"}" },
	{ "no answer", -EIO, NULL },
	{ "an answer that is no claim", 200, "{}" },
	{ "an answer that is no JSON", 200, "<html>" },
	{ "a path that is not served says nothing of the claim", 404, "{\"kind\":\"Status\"}" },
	/* clang-format on */
};

/* At each request of the life, once. */
static void a_failure_is_outlived(void **state)
{
	const struct failure_case *row = *state;

	for (int at = 0; at < 4; at++) {
		struct bench b;
		int served = 0;

		bench_open(&b);
		list_all(&b);
		look(&b, "1-2=5:A");
		create(&b);
		for (int i = 0; b.claim && i < 100; i++) {
			auto_free char *path = served == at ? next(&b) : NULL;

			if (path && row->status < 0)
				fake_client_fail(b.client, row->status);
			else if (path)
				fake_client_answer(b.client, row->status, row->body);
			else if (!serve_one(&b) && !claim_meta_text(b.claim, "deletionTimestamp") &&
				 strstr(str_cstr(&b.log), TELL))
				delete_claim(&b);
			served = (int)(path ? 100 : served + 1);
			settle(&b);
			fake_clock_advance(b.clock, 60000);
		}
		assert_null(b.claim);
		bench_close(&b);
	}
}

/* It was deleted before the answer of its write came. */
static void a_claim_that_vanishes_is_forgotten(void **state)
{
	struct bench b;
	auto_free char *path = NULL;

	(void)state;
	bench_open(&b);
	list_all(&b);
	look(&b, "1-2=5:A");
	create(&b);
	path = next(&b);
	assert_non_null(path);
	watch_tells(&b, "DELETED");
	fake_client_choose(b.client, path);
	fake_client_answer(b.client, 404,
			   "{\"kind\":\"Status\",\"details\":{\"name\":\"" STICK "\"}}");
	settle(&b);
	fake_clock_advance(b.clock, 600000);
	assert_null(next(&b));
	bench_close(&b);
}

static void the_end_in_the_middle_of_a_write_leaves_nothing(void **state)
{
	struct bench b;
	auto_free char *path = NULL;

	(void)state;
	bench_open(&b);
	list_all(&b);
	look(&b, "1-2=5:A");
	create(&b);
	path = next(&b);
	assert_non_null(path);
	bench_close(&b);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "a life takes three writes, and gives the node back before the last",
		  a_life_takes_three_writes, NULL);
	suite_add(&suite, "a ready claim is left alone", a_ready_claim_is_left_alone, NULL);
	suite_add(&suite, "nothing is decided before all is known",
		  nothing_is_decided_before_all_is_known, NULL);
	suite_add(&suite, "unplugged and back takes a write each",
		  unplugged_and_back_takes_a_write_each, NULL);
	suite_add(&suite, "a pod keeps the claim", a_pod_keeps_the_claim, NULL);
	suite_add(&suite, "harvester-api 2.5: a conflict at the release is tried again",
		  a_conflict_at_the_release_is_tried_again, NULL);
	suite_rows(&suite, failures, a_failure_is_outlived);
	suite_add(&suite, "a claim that vanishes is forgotten", a_claim_that_vanishes_is_forgotten,
		  NULL);
	suite_add(&suite, "the end in the middle of a write leaves nothing",
		  the_end_in_the_middle_of_a_write_leaves_nothing, NULL);
	return suite_run(&suite, "usb_claims");
}
