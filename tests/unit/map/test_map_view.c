#include "unit/suite.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <uv.h>

#include "base/num.h"
#include "base/str.h"
#include "cli/map/map_server.h"
#include "cli/map/map_view.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/made_json.h"

#define DEVICES \
	"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"n-1\",\"uid\":\"u\"}}]}"
#define FREE                                                                                             \
	"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"n1-1\",\"uid\":" \
	"\"u\"},\"status\":{\"nodeName\":\"n1\",\"conditions\":[{\"type\":\"Claimable\",\"status\":"     \
	"\"True\"}]}}]}"
#define NOTHING "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"

/* The page's program with a fake API server and clock, and real connections over loopback. */
struct scene {
	uv_loop_t loop;
	struct kube_client *client;
	struct fake_clock *clock;
	struct map_view *view;
	unsigned port;
	char path[64];
	int page;         /* a connection that asks for changes; -1: none */
	struct str heard; /* of what was sent to it                       */
};

/* "http://127.0.0.1:PORT/TOKEN/" in two. */
static void take_address(struct scene *s, const char *address)
{
	static const char before[] = "http://127.0.0.1:";
	auto_free char *port = NULL;
	const char *path;
	uint64_t number;

	assert_int_equal(strncmp(address, before, strlen(before)), 0);
	address += strlen(before);
	path = strchr(address, '/');
	assert_non_null(path);
	port = xstrndup(address, (size_t)(path - address));
	assert_true(str_to_u64(port, &number));
	s->port = (unsigned)number;
	(void)snprintf(s->path, sizeof(s->path), "%s", path);
}

static char said[2048]; /* on standard error */

static void say(const char *line)
{
	size_t len = strlen(said);

	(void)snprintf(said + len, sizeof(said) - len, "%s\n", line);
}

static void open_scene(struct scene *s)
{
	struct map_view_options options = { .cluster = "c", .user = "ann", .print = say };

	said[0] = '\0';

	*s = (struct scene){ .client = fake_client_new(), .clock = fake_clock_new(), .page = -1 };
	uv_loop_init(&s->loop);
	options.loop = &s->loop;
	options.clock = fake_clock_as_clock(s->clock);
	options.client = s->client;
	assert_int_equal(map_view_new(&options, &s->view, NULL), 0);
	take_address(s, map_view_address(s->view));
}

static void close_scene(struct scene *s)
{
	if (s->page >= 0)
		close(s->page);
	str_done(&s->heard);
	map_view_free(s->view);
	uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	kube_client_free(s->client);
	fake_clock_free(s->clock);
}

SUITE_FIXTURE(scene, struct scene, open_scene, close_scene);

static int connect_to(const struct scene *s)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)s->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* A connection on which @page was asked for. */
static int ask(const struct scene *s, const char *page)
{
	auto_free char *text = xasprintf("GET %s%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", s->path,
					 page, s->port);
	int fd = connect_to(s);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

/* Turn the loop until the peer of @fd has sent @part; @heard is all that it has sent. */
static void hear(struct scene *s, int fd, struct str *heard, const char *part)
{
	for (int turns = 0; turns < 2000 && !strstr(str_cstr(heard), part); turns++) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		char data[4096];

		uv_run(&s->loop, UV_RUN_NOWAIT);
		if (poll(&ready, 1, 1) == 1) {
			ssize_t n = read(fd, data, sizeof(data));

			assert_true(n > 0);
			str_add_mem(heard, data, (size_t)n);
		}
	}
	assert_non_null(strstr(str_cstr(heard), part));
}

static void open_page(struct scene *s)
{
	s->page = ask(s, "changes");
}

/* As hear(), of all that the page has heard since @heard was last cleared. */
static void page_hears(struct scene *s, const char *part)
{
	hear(s, s->page, &s->heard, part);
}

static void page_hears_after(struct scene *s, uint64_t ms, const char *part)
{
	fake_clock_advance(s->clock, ms);
	page_hears(s, part);
}

static bool page_has_heard(struct scene *s, const char *part)
{
	return strstr(str_cstr(&s->heard), part);
}

static void answer(struct scene *s, const char *plural, const char *body)
{
	auto_free char *part = xasprintf("/%s?", plural);

	fake_client_choose(s->client, part);
	fake_client_answer(s->client, 200, body);
}

static void a_page_hears_at_once_that_a_kind_is_read(void **state)
{
	struct scene *s = *state;

	open_page(s);
	page_hears(s, "event: end");
	str_clear(&s->heard);
	answer(s, "usbdevices", NOTHING);
	page_hears_after(s, 250, "\"text\":\"usbdevices: watching\"");
}

static void refuse(struct scene *s, const char *plural, int code)
{
	auto_free char *part = xasprintf("/%s?", plural);

	fake_client_choose(s->client, part);
	fake_client_fail(s->client, code);
}

static void what_cannot_be_read_is_said(void **state)
{
	struct scene *s = *state;

	refuse(s, "pcidevices", -EIO);
	refuse(s, "nodes", -EIO);
	refuse(s, "migconfigurations", -ETIMEDOUT);
	fake_clock_advance(s->clock, 5000);
	assert_string_equal(said,
			    "Cannot read pcidevices, nodes: no answer: Input/output error\n"
			    "Cannot read migconfigurations: no answer: Connection timed out\n");
	s->page = ask(s, "changes");
	page_hears(s, "\"error\":\"no answer: Input/output error\"");
	said[0] = '\0';
	refuse(s, "pcidevices", -EIO);
	fake_clock_advance(s->clock, 5000);
	assert_string_equal(said, "");
	answer(s, "pcidevices", NOTHING);
	answer(s, "nodes", NOTHING);
	answer(s, "migconfigurations", NOTHING);
	fake_clock_advance(s->clock, 5000);
	assert_string_equal(said, "All can be read again\n");
}

static void a_page_hears_what_changes(void **state)
{
	struct scene *s = *state;

	open_page(s);
	page_hears(s, "event: end");
	assert_true(page_has_heard(s, "Content-Type: text/event-stream"));
	assert_true(page_has_heard(s, "Content-Security-Policy: "));
	assert_false(page_has_heard(s, "event: change"));
	answer(s, "pcidevices", DEVICES);
	answer(s, "pcideviceclaims", NOTHING);
	page_hears_after(s, 250, "\"id\":\"pci/n-1\"");
	page_hears_after(s, 5000, "\"text\":\"pcidevices: watching\"");
}

/* Or it would be shown as free while it is not. */
static void a_device_waits_for_the_claims(void **state)
{
	struct scene *s = *state;

	open_page(s);
	answer(s, "pcidevices", DEVICES);
	fake_clock_advance(s->clock, 300);
	page_hears_after(s, 5000, "\"pcideviceclaims\":{\"read\":false");
	assert_false(page_has_heard(s, "pci/n-1"));
	/* Claims that cannot be read do not keep it back for ever. */
	fake_clock_advance(s->clock, 5000);
	fake_clock_advance(s->clock, 5000);
	page_hears_after(s, 250, "\"id\":\"pci/n-1\"");
}

/* They are shown then, but not as claimable. */
static void devices_whose_claims_stay_unread_are_unknown(void **state)
{
	struct scene *s = *state;

	open_page(s);
	answer(s, "pcidevices", FREE);
	answer(s, "usbdevices", FREE);
	for (int beats = 0; beats < 3; beats++)
		fake_clock_advance(s->clock, 5000);
	page_hears_after(s, 250, "\"id\":\"usb/n1-1\"");
	page_hears(s, "\"id\":\"pci/n1-1\"");
	page_hears(s, "\"state\":\"unknown\",\"reason\":\"NotRead\"");
	assert_false(page_has_heard(s, "\"state\":\"claimable\""));
}

#define OF_N1 "\"spec\":{\"nodeName\":\"n1\"}"
#define NODE(version, ready)                                                          \
	"{\"metadata\":{\"name\":\"n1\",\"uid\":\"n\",\"resourceVersion\":\"" version \
	"\"},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"" ready "\"}]}}"
#define CLAIM(reach)                                                                                     \
	"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"n1-2\",\"uid\":" \
	"\"c\"}," OF_N1                                                                                  \
	",\"status\":{\"conditions\":[{\"type\":\"NodeReachable\",\"status\":\"False\","                 \
	"\"reason\":\"" reach "\"}]}}]}"

/* One line of the watch of @plural. */
static void send_change(struct scene *s, const char *plural, const char *type, const char *object)
{
	auto_free char *part = xasprintf("/%s?", plural);
	auto_free char *line = xasprintf("{\"type\":\"%s\",\"object\":%s}", type, object);

	fake_client_choose(s->client, part);
	fake_client_line(s->client, line);
}

/* What a change of a Node makes of cards that did not change themselves. */
static void devices_follow_their_node(void **state)
{
	struct scene *s = *state;

	open_page(s);
	answer(s, "pcidevices", FREE);
	answer(s, "pcideviceclaims", NOTHING);
	page_hears_after(s, 250, "\"state\":\"claimable\"");
	answer(s, "nodes", NOTHING);
	page_hears_after(s, 250, "\"state\":\"unknown\",\"reason\":\"NodeGone\"");
	str_clear(&s->heard);
	send_change(s, "nodes", "ADDED", NODE("6", "True"));
	page_hears_after(s, 250, "\"state\":\"claimable\"");
	send_change(s, "nodes", "MODIFIED", NODE("7", "False"));
	page_hears_after(s, 250, "\"reason\":\"NodeNotReady\"");
	page_hears(s, "\"fault\":\"NodeNotReady\"");
}

/* Its agent's process is gone: another claim of the node says so. */
static void devices_follow_a_claim_of_their_node(void **state)
{
	struct scene *s = *state;

	open_page(s);
	answer(s, "pcidevices", FREE);
	answer(s, "pcideviceclaims", CLAIM("AgentNotRunning"));
	page_hears_after(s, 250, "\"id\":\"pci/n1-1\"");
	page_hears(s, "\"id\":\"pci/n1-2\"");
	assert_false(page_has_heard(s, "\"state\":\"claimable\""));
	str_clear(&s->heard);
	send_change(
		s, "pcideviceclaims", "DELETED",
		"{\"metadata\":{\"name\":\"n1-2\",\"uid\":\"c\",\"resourceVersion\":\"6\"}," OF_N1
		"}");
	page_hears_after(s, 250, "\"state\":\"claimable\"");
}

#define LISTED(items) "{'metadata':{'resourceVersion':'5'},'items':[" items "]}"
#define IN_GROUP(name, address)                                  \
	"{'metadata':{'name':'" name "','uid':'" name            \
	"'},'status':{'nodeName':'n1','address':'" address       \
	"','iommuGroupMembers':['0000:01:00.0','0000:01:00.1']," \
	"'conditions':[{'type':'Claimable','status':'True','reason':'GroupShared'}]}}"
#define BOTH IN_GROUP("n1-000001000", "0000:01:00.0") "," IN_GROUP("n1-000001001", "0000:01:00.1")
#define OWNED(owner, version, more)                                                              \
	"{'metadata':{'name':'n1-000001001','uid':'c','resourceVersion':'" version "'" more "}," \
	"'spec':{'nodeName':'n1','userName':'" owner "'}}"

/* One change of a claim. */
static void send_claim(struct scene *s, const char *type, const char *claim)
{
	auto_free char *json = made_json(claim);

	send_change(s, "pcideviceclaims", type, json);
}

static void answer_made(struct scene *s, const char *plural, const char *body)
{
	auto_free char *json = made_json(body);

	answer(s, plural, json);
}

/* All claims of an IOMMU group have one owner. */
static void functions_follow_the_claims_of_their_group(void **state)
{
	struct scene *s = *state;

	open_page(s);
	answer_made(s, "pcidevices", LISTED(BOTH));
	answer(s, "pcideviceclaims", NOTHING);
	page_hears_after(s, 250, "\"state\":\"claimable\",\"reason\":\"GroupShared\"");
	str_clear(&s->heard);
	send_claim(s, "ADDED", OWNED("bob", "6", ""));
	page_hears_after(s, 250, "\"state\":\"refused\",\"reason\":\"GroupOwned\"");
	str_clear(&s->heard);
	send_claim(s, "MODIFIED",
		   OWNED("bob", "7",
			 ",'annotations':{'pcidevices.harvesterhci.io/skip-vfio-binding':'true'}"));
	page_hears_after(s, 250, "\"state\":\"claimable\",\"reason\":\"GroupShared\"");
	send_claim(s, "MODIFIED", OWNED("bob", "8", ""));
	page_hears_after(s, 250, "\"reason\":\"GroupOwned\"");
	str_clear(&s->heard);
	send_claim(s, "MODIFIED", OWNED("ann", "9", ""));
	page_hears_after(s, 250, "\"state\":\"claimable\",\"reason\":\"GroupShared\"");
}

#define RESULT(device) "{'request':'a','driver':'hostdev.io','pool':'n1/2','device':'" device "'}"
#define RESOURCE_CLAIM(name, version, results)                          \
	"{'metadata':{'namespace':'lab','name':'" name "','uid':'" name \
	"','resourceVersion':'" version                                 \
	"'},'status':{'allocation':{'devices':{'results':[" results "]}}}}"

/* What a change of a ResourceClaim makes of the cards of its devices. */
static void devices_follow_their_resource_claim(void **state)
{
	struct scene *s = *state;
	auto_free char *first = made_json(RESOURCE_CLAIM("b", "6", RESULT("pci-0000-01-00-1")));
	auto_free char *both = made_json(RESOURCE_CLAIM("a", "7", RESULT("pci-0000-01-00-1")));
	auto_free char *none = made_json(RESOURCE_CLAIM("a", "8", ""));

	open_page(s);
	answer_made(s, "pcidevices", LISTED(BOTH));
	answer(s, "pcideviceclaims", NOTHING);
	answer(s, "resourceclaims", NOTHING);
	page_hears_after(s, 250, "\"state\":\"claimable\"");
	str_clear(&s->heard);
	send_change(s, "resourceclaims", "ADDED", first);
	page_hears_after(s, 250, "\"resourceClaim\":{\"name\":\"lab/b\"");
	assert_true(page_has_heard(s, "\"id\":\"pci/n1-000001001\""));
	assert_false(page_has_heard(s, "\"id\":\"pci/n1-000001000\""));
	str_clear(&s->heard);
	send_change(s, "resourceclaims", "ADDED", both);
	page_hears_after(s, 250, "\"resourceClaim\":{\"name\":\"lab/a\"");
	str_clear(&s->heard);
	send_change(s, "resourceclaims", "MODIFIED", none);
	page_hears_after(s, 250, "\"resourceClaim\":{\"name\":\"lab/b\"");
	str_clear(&s->heard);
	send_change(s, "resourceclaims", "DELETED", first);
	page_hears_after(s, 250, "\"state\":\"claimable\"");
	assert_false(page_has_heard(s, "resourceClaim"));
}

#define CONTROLLER                                                                           \
	"{'metadata':{'name':'n1-000001000','uid':'p'},'status':{'nodeName':'n1','address':" \
	"'0000:01:00.0','classId':'0c03','conditions':[{'type':'Claimable','status':'True'," \
	"'reason':'Available'}]}}"

/* What cannot be known is not free. */
static void a_controller_waits_for_usb_claims(void **state)
{
	struct scene *s = *state;

	open_page(s);
	answer_made(s, "pcidevices", LISTED(CONTROLLER));
	answer(s, "pcideviceclaims", NOTHING);
	page_hears_after(s, 250, "\"state\":\"unknown\",\"reason\":\"NotRead\"");
	str_clear(&s->heard);
	answer(s, "usbdeviceclaims", NOTHING);
	page_hears_after(s, 250, "\"state\":\"claimable\",\"reason\":\"Available\"");
}

static void streams_are_bounded(void **state)
{
	struct scene *s = *state;
	int fds[MAP_STREAMS_MAX + 1];

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		auto_str struct str heard = STR_INIT;

		fds[i] = ask(s, "changes");
		hear(s, fds[i], &heard, i < MAP_STREAMS_MAX ? "event: end" : "503");
	}
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
}

/* Connections of a process that has not got the token, and leaves each at half a request, or at
 * none. */
static void who_stalls_does_not_keep_others_out(void **state)
{
	static const char half[] = "GET / HTTP/1.1\r\nHost: 127";
	auto_str struct str page = STR_INIT;
	struct scene *s = *state;
	int fds[300];

	open_page(s);
	page_hears(s, "event: end");
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = connect_to(s);
		if (i % 2 == 0)
			assert_int_equal(write(fds[i], half, strlen(half)), strlen(half));
		if (i % 8 == 7) /* the backlog has an end */
			uv_run(&s->loop, UV_RUN_NOWAIT);
	}
	close(fds[0]);
	fds[0] = ask(s, "");
	hear(s, fds[0], &page, "<!doctype html>");
	str_clear(&s->heard);
	page_hears_after(s, 5000, "event: beat");
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
}

static void files_are_in_the_program(void **state)
{
	static const char *const files[][2] = {
		{ "", "<!doctype html>" },
		{ "map.css", "--ground" },
		{ "map.js", "\"use strict\"" },
		{ "icon.svg", "<svg" },
		{ "else", "404" },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		auto_str struct str heard = STR_INIT;
		int fd = ask(s, files[i][0]);

		hear(s, fd, &heard, files[i][1]);
		close(fd);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a page hears what changes", a_page_hears_what_changes, NULL);
	suite_add(&suite, "a page hears at once that a kind is read",
		  a_page_hears_at_once_that_a_kind_is_read, NULL);
	suite_add(&suite, "what cannot be read is said", what_cannot_be_read_is_said, NULL);
	suite_add(&suite, "a device waits for the claims", a_device_waits_for_the_claims, NULL);
	suite_add(&suite, "devices follow their node", devices_follow_their_node, NULL);
	suite_add(&suite, "devices follow a claim of their node",
		  devices_follow_a_claim_of_their_node, NULL);
	suite_add(&suite, "devices whose claims stay unread are unknown",
		  devices_whose_claims_stay_unread_are_unknown, NULL);
	suite_add(&suite, "functions follow the claims of their group",
		  functions_follow_the_claims_of_their_group, NULL);
	suite_add(&suite, "devices follow their ResourceClaim", devices_follow_their_resource_claim,
		  NULL);
	suite_add(&suite, "a controller waits for USB claims", a_controller_waits_for_usb_claims,
		  NULL);
	suite_add(&suite, "streams are bounded", streams_are_bounded, NULL);
	suite_add(&suite, "who stalls does not keep others out",
		  who_stalls_does_not_keep_others_out, NULL);
	suite_add(&suite, "files are in the program", files_are_in_the_program, NULL);
	return suite_run(&suite, "map_view");
}
