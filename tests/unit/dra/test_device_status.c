/* device_status: what a ResourceClaim's status says of devices that could not be prepared, and when
 * that is written. */
#include "agent/dra/device_status.h"

#include <errno.h>
#include <string.h>

#include "agent/node/this_node.h"
#include "api/json_map.h"
#include "api/resourceclaim.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/captured.h"
#include "unit/suite.h"
#include "unit/this_node.h"

#define UID1 "11111111-aaaa-4bbb-8ccc-000000000001"
#define UID2 "22222222-aaaa-4bbb-8ccc-000000000002"
#define THEN "2025-11-12T13:14:15Z"
#define PATH                                                                     \
	"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/nic/status?" \
	"fieldManager=hostdev-agent&force=true"

#define RESULT(driver, pool, device) \
	"{'request':'a','driver':'" driver "','pool':'" pool "','device':'" device "'}"
#define NIC RESULT("hostdev.io", "node1", "pci-1")
#define ENTRY(pool, device, time, message)                                                 \
	"{'driver':'hostdev.io','pool':'" pool "','device':'" device "','conditions':["    \
	"{'type':'Ready','status':'False','reason':'NotPrepared','message':'" message "'," \
	"'lastTransitionTime':'" time "'}]}"
#define USB     RESULT("hostdev.io", "node1/usb", "usb-1-2")
#define FURTHER RESULT("hostdev.io", "node1/pci-8", "pci-2")
#define FOREIGN RESULT("hostdev.io", "node2", "pci-1")
#define NOW     "2026-01-02T03:04:05Z" /* of a new fake_clock */

enum { HOUR_MS = 60 * 60 * 1000 };

struct scene {
	struct fake_clock *clock;
	struct this_node node;
	struct device_status *status;
};

static void scene_open(struct scene *scene)
{
	scene->clock = fake_clock_new();
	scene->node = this_node_of(fake_client_new(), fake_clock_as_clock(scene->clock), NULL);
	scene->status = device_status_new(&scene->node);
}

static void scene_close(struct scene *scene)
{
	device_status_free(scene->status);
	assert_int_equal(fake_client_open(scene->node.client), 0);
	kube_client_free(scene->node.client);
	fake_clock_free(scene->clock);
}

SUITE_FIXTURE(scene, struct scene, scene_open, scene_close);

static char *json_of(const char *text)
{
	char *json = xstrdup(text);

	for (char *c = json; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return json;
}

/* The claim default/nic with these results, and with these entries in status.devices. */
static struct resourceclaim *claim_of(const char *uid, const char *results, const char *entries)
{
	auto_free char *text =
		xasprintf("{'metadata':{'name':'nic','uid':'%s'},'status':{'allocation':{'devices':"
			  "{'results':[%s]}},'devices':[%s]}}",
			  uid, results, entries);
	auto_free char *json = json_of(text);
	struct resourceclaim *claim = NULL;

	assert_int_equal(resourceclaim_parse(json, strlen(json), &claim, NULL), 0);
	return claim;
}

static void fail_as(struct scene *scene, const char *results, const char *entries,
		    const char *message)
{
	struct resourceclaim *claim = claim_of(UID1, results, entries);

	device_status_failed(scene->status, "default", claim, message);
	resourceclaim_free(claim);
}

static void prepare_as(struct scene *scene, const char *entries)
{
	struct resourceclaim *claim = claim_of(UID1, NIC, entries);

	device_status_prepared(scene->status, "default", claim);
	resourceclaim_free(claim);
}

static size_t writes(struct scene *scene)
{
	fake_clock_settle(scene->clock);
	return fake_client_sent(scene->node.client);
}

/* The open request applies these entries, "" none at all. */
static void assert_applies(struct scene *scene, const char *uid, const char *entries)
{
	auto_free char *status =
		*entries ? xasprintf(",'status':{'devices':[%s]}", entries) : xstrdup("");
	auto_free char *text = xasprintf("{'metadata':{'uid':'%s','name':'nic','namespace':"
					 "'default'}%s,'apiVersion':'resource.k8s.io/v1','kind':"
					 "'ResourceClaim'}",
					 uid, status);
	auto_free char *json = json_of(text);
	auto_json json_t *expected = NULL;
	auto_json json_t *body = NULL;
	const struct fake_request *request;

	fake_clock_settle(scene->clock);
	assert_int_equal(fake_client_open(scene->node.client), 1);
	request = fake_client_request(scene->node.client);
	assert_string_equal(request->method, "PATCH");
	assert_string_equal(request->content_type, "application/apply-patch+yaml");
	assert_string_equal(request->path, PATH);
	assert_int_equal(json_map_load(json, strlen(json), &expected, NULL), 0);
	assert_int_equal(json_map_load(request->body, strlen(request->body), &body, NULL), 0);
	if (!json_equal(body, expected))
		fail_msg("%s\nin place of\n%s", request->body, json);
}

static void answer(struct scene *scene, int status, const char *text)
{
	auto_free char *json = json_of(text);

	fake_client_answer(scene->node.client, status, json);
	fake_clock_settle(scene->clock);
}

/* As the API server does that has the feature. */
static void answer_kept(struct scene *scene)
{
	auto_free char *body = xstrdup(fake_client_request(scene->node.client)->body);

	answer(scene, 200, body);
}

/* --- written ---------------------------------------------------------------------------------- */

static void failure_is_told_and_taken_back(void **state)
{
	struct scene *scene = *state;

	fail_as(scene, NIC, "", "it is lost");
	assert_int_equal(fake_client_sent(scene->node.client), 0); /* nothing waits for it */
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "it is lost"));
	answer_kept(scene);
	prepare_as(scene, ENTRY("node1", "pci-1", NOW, "it is lost"));
	assert_applies(scene, UID1, "");
	answer(scene, 200, "{}");
	/* And that is all. */
	prepare_as(scene, "");
	device_status_unprepared(scene->status, UID1);
	fake_clock_advance(scene->clock, HOUR_MS);
	assert_int_equal(writes(scene), 2);
}

static void success_costs_nothing(void **state)
{
	struct scene *scene = *state;

	prepare_as(scene, "");
	prepare_as(scene, "{'driver':'gpu.nvidia.com','pool':'node1','device':'gpu-0'}");
	prepare_as(scene, "{}");
	device_status_unprepared(scene->status, UID1);
	assert_int_equal(writes(scene), 0);
}

static void each_device_of_this_node_is_told_of(void **state)
{
	static const char results[] =
		NIC "," RESULT("gpu.nvidia.com", "node1", "gpu-0") "," USB "," FOREIGN "," FURTHER;
	static const char entries[] = ENTRY("node1", "pci-1", NOW, "x") "," ENTRY(
		"node1/usb", "usb-1-2", NOW, "x") "," ENTRY("node1/pci-8", "pci-2", NOW, "x");
	struct scene *scene = *state;

	fail_as(scene, results, "", "x");
	assert_applies(scene, UID1, entries);
	answer_kept(scene);
}

static void claim_without_devices_of_this_node(void **state)
{
	struct scene *scene = *state;

	fail_as(scene, "", "", "it is not allocated");
	fail_as(scene, FOREIGN, "", "x");
	fail_as(scene, RESULT("hostdev.io", "node1/pci-9", "pci-1"), "", "x");
	assert_int_equal(writes(scene), 0);
}

/* The time stays that of the first failure. */
static void another_message_is_written(void **state)
{
	struct scene *scene = *state;

	fail_as(scene, NIC, "", "one");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	answer_kept(scene);
	fake_clock_advance(scene->clock, 60000);
	fail_as(scene, NIC, ENTRY("node1", "pci-1", NOW, "one"), "two");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "two"));
	answer_kept(scene);
}

static void same_message_is_not_written_again(void **state)
{
	struct scene *scene = *state;

	fail_as(scene, NIC, "", "one");
	fail_as(scene, NIC, "", "one"); /* before it is sent */
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	fail_as(scene, NIC, "", "one"); /* before it is answered */
	answer_kept(scene);
	for (int i = 0; i < 5; i++) {
		fake_clock_advance(scene->clock, 15000);
		fail_as(scene, NIC, ENTRY("node1", "pci-1", NOW, "one"), "one");
	}
	assert_int_equal(writes(scene), 1);
	/* Somebody has removed it. */
	fail_as(scene, NIC, "", "one");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	answer_kept(scene);
}

static void long_message_is_cut(void **state)
{
	struct scene *scene = *state;
	char message[DEVICE_STATUS_MESSAGE_MAX + 2];
	auto_free char *entry = NULL;

	memset(message, 'x', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	fail_as(scene, NIC, "", message);
	memcpy(message + DEVICE_STATUS_MESSAGE_MAX - 3, "...", 4);
	entry = xasprintf(ENTRY("node1", "pci-1", NOW, "%s"), message);
	assert_applies(scene, UID1, entry);
	answer_kept(scene);
	/* What is there is what was cut. */
	memset(message, 'x', sizeof(message) - 1);
	fail_as(scene, NIC, entry, message);
	assert_int_equal(writes(scene), 1);
}

static void control_characters_are_escaped(void **state)
{
	struct scene *scene = *state;

	fail_as(scene, NIC, "", "a\x01");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "a\\\\x01"));
	answer_kept(scene);
}

/* --- while a write is under way --------------------------------------------------------------- */

static void prepared_before_the_answer(void **state)
{
	struct scene *scene = *state;

	fail_as(scene, NIC, "", "one");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	prepare_as(scene, "");
	answer_kept(scene);
	assert_applies(scene, UID1, "");
	answer(scene, 200, "{}");
	assert_int_equal(writes(scene), 2);
}

static void unprepared_before_the_answer(void **state)
{
	struct scene *scene = *state;

	fail_as(scene, NIC, "", "one");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	device_status_unprepared(scene->status, UID1);
	answer_kept(scene);
	assert_applies(scene, UID1, "");
	answer(scene, 200, "{}");
}

static void api_server_in_trouble_is_asked_again(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR);
	fail_as(scene, NIC, "", "one");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	answer(scene, 500, "{}");
	fail_as(scene, NIC, "", "one");
	fake_clock_advance(scene->clock, 60000);
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	answer(scene, 401, "{}"); /* the token has just expired */
	fake_clock_advance(scene->clock, 60000);
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	answer_kept(scene);
	assert_int_equal(writes(scene), 3);
}

static void agent_ends_during_a_write(void **state)
{
	struct scene *scene = *state;

	fail_as(scene, NIC, "", "one");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	scene->status = device_status_free(scene->status);
	assert_int_equal(fake_client_open(scene->node.client), 0);
	scene->status = device_status_new(&scene->node);
}

/* --- what an earlier agent has written -------------------------------------------------------- */

static void next_agent_knows_what_is_told(void **state)
{
	struct scene *scene = *state;
	const char entry[] = ENTRY("node1", "pci-1", THEN, "one");

	fail_as(scene, NIC, entry, "one");
	assert_int_equal(writes(scene), 0);
	fail_as(scene, NIC, entry, "two");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", THEN, "two"));
	answer_kept(scene);
	device_status_unprepared(scene->status, UID1);
	assert_applies(scene, UID1, "");
	answer(scene, 200, "{}");
}

static void next_agent_takes_it_back(void **state)
{
	struct scene *scene = *state;

	prepare_as(scene, ENTRY("node1", "pci-1", THEN, "one"));
	assert_applies(scene, UID1, "");
	answer(scene, 200, "{}");
	assert_int_equal(writes(scene), 1);
}

/* --- a claim that an earlier agent has prepared ----------------------------------------------- */

#define CLAIM_OF(uid, entries)                  \
	"{'metadata':{'name':'nic','uid':'" uid \
	"'},'status':{'allocation':{'devices':{'results':[" NIC "]}},'devices':[" entries "]}}"

/* It is read, and no more is open. */
static void assert_reads(struct scene *scene)
{
	const struct fake_request *request;

	fake_clock_settle(scene->clock);
	assert_int_equal(fake_client_open(scene->node.client), 1);
	request = fake_client_request(scene->node.client);
	assert_string_equal(request->method, "GET");
	assert_string_equal(request->path,
			    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/nic");
}

static struct check_case {
	const char *name;
	int status;
	const char *body;
	bool stale; /* the entry is removed */
} checks[] = {
	{ "its entry is still there", 200, CLAIM_OF(UID1, ENTRY("node1", "pci-1", THEN, "one")),
	  true },
	{ "it has none", 200, CLAIM_OF(UID1, ""), false },
	{ "it has one of another node", 200, CLAIM_OF(UID1, ENTRY("node2", "pci-1", THEN, "one")),
	  false },
	{ "another claim has the name", 200, CLAIM_OF(UID2, ENTRY("node1", "pci-1", THEN, "one")),
	  false },
	{ "it is gone", 404, "{}", false },
	{ "it may not be read", 403, "{}", false },
	{ "it is no claim", 200, "[", false },
};

static void entry_is_removed_by_the_next_agent(void **state)
{
	struct scene *scene = *state;
	const struct check_case *c = suite_row(state);

	device_status_check(scene->status, UID1, "default", "nic");
	assert_int_equal(fake_client_sent(scene->node.client), 0); /* nothing waits for it */
	assert_reads(scene);
	answer(scene, c->status, c->body);
	if (c->stale) {
		assert_applies(scene, UID1, "");
		answer(scene, 200, "{}");
	}
	device_status_unprepared(scene->status, UID1);
	fake_clock_advance(scene->clock, HOUR_MS);
	assert_int_equal(writes(scene), c->stale ? 2 : 1);
}

static void api_server_is_asked_again_for_the_claim(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR);
	device_status_check(scene->status, UID1, "default", "nic");
	assert_reads(scene);
	answer(scene, 500, "{}");
	fake_clock_advance(scene->clock, 60000);
	assert_reads(scene);
	/* It ends meanwhile, which does not change that its entry must go. */
	device_status_unprepared(scene->status, UID1);
	answer(scene, 200, CLAIM_OF(UID1, ENTRY("node1", "pci-1", THEN, "one")));
	assert_applies(scene, UID1, "");
	answer(scene, 200, "{}");
	assert_int_equal(writes(scene), 3);
}

/* It was unprepared and is prepared again while it is read: the newer attempt counts. */
static void newer_attempt_counts(void **state)
{
	struct scene *scene = *state;

	device_status_check(scene->status, UID1, "default", "nic");
	assert_reads(scene);
	fail_as(scene, NIC, "", "one");
	answer(scene, 200, CLAIM_OF(UID1, ENTRY("node1", "pci-1", THEN, "old")));
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	answer_kept(scene);
	device_status_check(scene->status, UID2, "default", "nic");
	assert_reads(scene);
	fake_client_fail(scene->node.client, -ETIMEDOUT);
	assert_int_equal(writes(scene), 3);
}

/* --- an API server that does not take it ------------------------------------------------------ */

static const char warning[] = "does not say why devices are not prepared";

static struct obstacle_case {
	const char *name;
	int status;
	const char *body;
	const char *log;
} obstacles[] = {
	{ "the gate is off", 200, "{'metadata':{'name':'nic'},'status':{}}",
	  "DRAResourceClaimDeviceStatus" },
	{ "it has only an entry of another driver", 200,
	  "{'status':{'devices':[{'driver':'x.io','pool':'p','device':'d'}]}}",
	  "DRAResourceClaimDeviceStatus" },
	{ "the agent may not write it", 403, "{}", "denied" },
	{ "it is not served", 404, "404 page not found", "not found" },
};

/* However many claims there are. */
static void told_once_and_tried_every_ten_minutes(void **state)
{
	struct scene *scene = *state;
	const struct obstacle_case *c = suite_row(state);
	struct resourceclaim *other = claim_of(UID2, NIC, "");
	struct captured captured;
	auto_free char *log = NULL;
	const char *line;

	log_set_level(LOG_INFO);
	captured_begin(&captured);
	fail_as(scene, NIC, "", "one");
	fake_clock_settle(scene->clock);
	answer(scene, c->status, c->body);
	fail_as(scene, NIC, "", "two");
	device_status_failed(scene->status, "default", other, "other");
	for (size_t i = 1; i <= 3; i++) {
		fake_clock_advance(scene->clock, DEVICE_STATUS_AGAIN_MS - 1000);
		assert_int_equal(writes(scene), i);
		fake_clock_advance(scene->clock, 1000);
		assert_int_equal(writes(scene), i + 1);
		answer(scene, c->status, c->body);
	}
	/* Now it may be written. */
	fake_clock_advance(scene->clock, DEVICE_STATUS_AGAIN_MS);
	answer_kept(scene);
	fake_clock_settle(scene->clock);
	answer_kept(scene);
	assert_int_equal(writes(scene), 6);
	log = captured_end(&captured);
	line = strstr(log, warning);
	assert_non_null(line);
	assert_non_null(strstr(line, c->log));
	assert_null(strstr(line + 1, warning));
	line = strstr(line, "says again why devices are not prepared");
	assert_non_null(line);
	assert_null(strstr(line + 1, "says again"));
	resourceclaim_free(other);
}

/* What is not wanted any more is not tried again. */
static void refused_entry_is_dropped_with_its_claim(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR);
	fail_as(scene, NIC, "", "one");
	fake_clock_settle(scene->clock);
	prepare_as(scene, ""); /* before the answer */
	answer(scene, 403, "{}");
	fail_as(scene, NIC, "", "two");
	device_status_unprepared(scene->status, UID1);
	fail_as(scene, NIC, "", "three");
	prepare_as(scene, "");
	fake_clock_advance(scene->clock, HOUR_MS);
	assert_int_equal(writes(scene), 1);
	fail_as(scene, NIC, "", "four");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", "2026-01-02T04:04:05Z", "four"));
	answer_kept(scene);
}

/* The entry is older than the refusal. */
static void refused_removal_is_tried_again(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR);
	prepare_as(scene, ENTRY("node1", "pci-1", THEN, "one"));
	assert_applies(scene, UID1, "");
	answer(scene, 403, "{}");
	device_status_unprepared(scene->status, UID1);
	fake_clock_advance(scene->clock, DEVICE_STATUS_AGAIN_MS);
	assert_applies(scene, UID1, "");
	answer(scene, 200, "{}");
	fake_clock_advance(scene->clock, HOUR_MS);
	assert_int_equal(writes(scene), 2);
}

/* It was deleted, or another claim has the name, or the device is not allocated any more: that says
 * nothing of other claims. */
static struct refused_case {
	const char *name;
	int status;
	const char *body;
} refused[] = {
	{ "the claim is gone", 404, "{'kind':'Status','details':{'name':'nic'}}" },
	{ "the claim was replaced", 422, "{'kind':'Status','message':'uid: field is immutable'}" },
};

static void one_claim_is_refused(void **state)
{
	struct scene *scene = *state;
	const struct refused_case *c = suite_row(state);
	struct resourceclaim *other = claim_of(UID2, NIC, "");

	log_set_level(LOG_ERROR);
	fail_as(scene, NIC, "", "one");
	fake_clock_settle(scene->clock);
	answer(scene, c->status, c->body);
	fake_clock_advance(scene->clock, HOUR_MS);
	assert_int_equal(writes(scene), 1);
	device_status_failed(scene->status, "default", other, "one");
	resourceclaim_free(other);
	fake_clock_settle(scene->clock);
	assert_int_equal(writes(scene), 2);
	fake_client_fail(scene->node.client, -ETIMEDOUT);
}

static void there_are_not_too_many(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i <= DEVICE_STATUS_CLAIMS_MAX; i++) {
		auto_free char *uid = xasprintf("uid-%d", i);
		struct resourceclaim *claim = claim_of(uid, NIC, "");

		device_status_failed(scene->status, "default", claim, "one");
		resourceclaim_free(claim);
		if (fake_client_open(scene->node.client) == 0)
			fake_clock_settle(scene->clock);
		if (fake_client_open(scene->node.client) > 0)
			answer_kept(scene);
	}
	assert_int_equal(writes(scene), DEVICE_STATUS_CLAIMS_MAX);
	/* One that is prepared makes room. */
	device_status_unprepared(scene->status, "uid-7");
	assert_applies(scene, "uid-7", "");
	answer(scene, 200, "{}");
	fail_as(scene, NIC, "", "one");
	assert_applies(scene, UID1, ENTRY("node1", "pci-1", NOW, "one"));
	answer_kept(scene);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a failure is told, and taken back", failure_is_told_and_taken_back,
		  NULL);
	suite_add(&suite, "success costs nothing", success_costs_nothing, NULL);
	suite_add(&suite, "each device of this node is told of",
		  each_device_of_this_node_is_told_of, NULL);
	suite_add(&suite, "a claim without devices of this node",
		  claim_without_devices_of_this_node, NULL);
	suite_add(&suite, "another message is written", another_message_is_written, NULL);
	suite_add(&suite, "the same message is not written again",
		  same_message_is_not_written_again, NULL);
	suite_add(&suite, "a long message is cut", long_message_is_cut, NULL);
	suite_add(&suite, "control characters are escaped", control_characters_are_escaped, NULL);
	suite_add(&suite, "prepared before the answer", prepared_before_the_answer, NULL);
	suite_add(&suite, "unprepared before the answer", unprepared_before_the_answer, NULL);
	suite_add(&suite, "an API server in trouble is asked again",
		  api_server_in_trouble_is_asked_again, NULL);
	suite_add(&suite, "the agent ends during a write", agent_ends_during_a_write, NULL);
	suite_add(&suite, "the next agent knows what is told", next_agent_knows_what_is_told, NULL);
	suite_add(&suite, "the next agent takes it back", next_agent_takes_it_back, NULL);
	suite_rows(&suite, checks, entry_is_removed_by_the_next_agent);
	suite_add(&suite, "the API server is asked again for the claim",
		  api_server_is_asked_again_for_the_claim, NULL);
	suite_add(&suite, "a newer attempt counts", newer_attempt_counts, NULL);
	suite_rows(&suite, obstacles, told_once_and_tried_every_ten_minutes);
	suite_add(&suite, "a refused entry is dropped with its claim",
		  refused_entry_is_dropped_with_its_claim, NULL);
	suite_add(&suite, "a refused removal is tried again", refused_removal_is_tried_again, NULL);
	suite_rows(&suite, refused, one_claim_is_refused);
	suite_add(&suite, "there are not too many", there_are_not_too_many, NULL);
	return suite_run(&suite, "device_status");
}
