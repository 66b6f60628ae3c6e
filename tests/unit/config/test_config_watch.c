/* config_watch: it passes on each new config, and the right agent writes its status. */
#include "agent/config/config_watch.h"

#include <jansson.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/events.h"
#include "unit/suite.h"
#include "unit/this_node.h"

#define KVM   "{'resourceName':'a.io/kvm','path':'/dev/kvm'}"
#define WRONG "{'resourceName':'kvm','path':'/dev/kvm'}"

enum { AMPLE_MS = 10000 };

struct scene {
	struct kube_client *client;
	struct fake_clock *clock;
	struct events *events;
	struct this_node node;
	struct config_watch *watch;
	struct str log; /* "2 nodes|" for each config that was handed on */
	int version;
};

static void on_config(void *arg, const struct config *config)
{
	struct scene *scene = arg;

	str_addf(&scene->log, "%zu|", config->generics.len);
}

/* With so many parts that report. */
static void scene_open_with(struct scene *scene, size_t parts)
{
	struct clock *clock;

	log_set_level(LOG_ERROR);
	*scene = (struct scene){ .client = fake_client_new(), .clock = fake_clock_new() };
	clock = fake_clock_as_clock(scene->clock);
	scene->events = events_new(&(struct events_deps){
		.client = scene->client, .clock = clock, .component = "c", .host = "n" });
	scene->node = this_node_of(scene->client, clock, scene->events);
	scene->watch = config_watch_new(&scene->node, parts, on_config, scene);
	config_watch_start(scene->watch);
}

static void scene_open(struct scene *scene)
{
	scene_open_with(scene, 0);
}

static void scene_close(struct scene *scene)
{
	config_watch_free(scene->watch);
	events_free(scene->events);
	kube_client_free(scene->client);
	fake_clock_free(scene->clock);
	str_done(&scene->log);
}

SUITE_CLOSING(scene_to_open, struct scene, scene_close);
SUITE_FIXTURE(scene, struct scene, scene_open, scene_close);

/* The object with this list of generic devices, generation and status, ' for ". The caller
 * frees. */
static char *object_text(struct scene *scene, const char *nodes, int generation, const char *status)
{
	char *text = xasprintf("{'metadata':{'name':'default','uid':'u','resourceVersion':'%d',"
			       "'generation':%d},'spec':{'genericDevices':[%s]},'status':{%s}}",
			       ++scene->version, generation, nodes, status);

	for (char *c = text; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	return text;
}

static void answer_list(struct scene *scene, const char *item)
{
	auto_free char *body = xasprintf(
		"{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[%s]}", item ? item : "");

	fake_client_choose(scene->client, "/hostdeviceconfigs?");
	assert_non_null(strstr(fake_client_request(scene->client)->path,
			       "fieldSelector=metadata.name%3Ddefault"));
	fake_client_answer(scene->client, 200, body);
	fake_clock_settle(scene->clock);
}

static void watch_event(struct scene *scene, const char *type, const char *object)
{
	auto_free char *line = xasprintf("{\"type\":\"%s\",\"object\":%s}", type, object);

	fake_client_choose(scene->client, "/hostdeviceconfigs?");
	fake_client_line(scene->client, line);
	fake_clock_settle(scene->clock);
}

static void expect_handed(struct scene *scene, const char *log)
{
	assert_string_equal(str_cstr(&scene->log), log);
	str_clear(&scene->log);
}

/* How many writes of the status wait. */
static size_t writes(const struct scene *scene)
{
	size_t others = 1; /* the watch */

	return fake_client_open(scene->client) - others;
}

/* The oldest write's status, and to whom it belongs. */
static json_t *written(struct scene *scene, const char *manager)
{
	const struct fake_request *request;
	auto_json json_t *body = NULL;
	auto_free char *name = NULL;
	const char *by;

	fake_client_choose(scene->client, "/hostdeviceconfigs/default/status?");
	request = fake_client_request(scene->client);
	by = strstr(request->path, "fieldManager=");
	assert_non_null(by);
	by += strlen("fieldManager=");
	name = xstrndup(by, strcspn(by, "&"));
	assert_string_equal(name, manager);
	assert_int_equal(json_map_load(request->body, strlen(request->body), &body, NULL), 0);
	return json_incref(json_object_get(body, "status"));
}

static const char *text_at(json_t *status, const char *list, const char *key)
{
	return json_string_value(
		json_object_get(json_array_get(json_object_get(status, list), 0), key));
}

static void a_change_is_handed_on(void **state)
{
	auto_free char *first = NULL;
	auto_free char *second = NULL;
	auto_free char *same = NULL;
	auto_free char *gone = NULL;
	struct scene *scene = *state;

	assert_false(config_watch_ready(scene->watch, NULL));
	first = object_text(scene, KVM, 1, "");
	second = object_text(scene, KVM "," WRONG, 2, "");
	same = object_text(scene, KVM "," WRONG, 2, "'observedGeneration':2");
	gone = object_text(scene, KVM "," WRONG, 2, "");
	answer_list(scene, first);
	assert_true(config_watch_ready(scene->watch, NULL));
	expect_handed(scene, "1|");
	watch_event(scene, "MODIFIED", second);
	expect_handed(scene, "1|");
	watch_event(scene, "MODIFIED", same); /* the status alone */
	expect_handed(scene, "");
	watch_event(scene, "DELETED", gone);
	expect_handed(scene, "0|");
}

static void no_config_is_handed_on_as_an_empty_one(void **state)
{
	struct scene *scene = *state;

	answer_list(scene, NULL);
	expect_handed(scene, "0|");
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(writes(scene), 0);
}

#define REFUSED(generation)                                                                      \
	"'observedGeneration':" generation ",'conditions':[{'type':'Accepted','status':'False'," \
	"'reason':'EntriesLeftOut'}]"

/* What others wrote of an older state is replaced; nodes' items go with the generation. */
static void a_new_generation_is_checked(void **state)
{
	auto_free char *object = NULL;
	auto_free char *checked = NULL;
	auto_json json_t *status = NULL;
	struct scene *scene = *state;

	object = object_text(scene, KVM "," WRONG, 7, "'observedGeneration':6");
	checked = object_text(scene, KVM "," WRONG, 7, REFUSED("7"));
	answer_list(scene, object);
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(writes(scene), 1);
	status = written(scene, "hostdev-agent");
	assert_int_equal(json_integer_value(json_object_get(status, "observedGeneration")), 7);
	assert_string_equal(text_at(status, "conditions", "status"), "False");
	assert_string_equal(text_at(status, "conditions", "reason"), "EntriesLeftOut");
	assert_string_equal(text_at(status, "entries", "resourceName"), "kvm");
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(json_object_get(status, "entries"), 0), "index")),
			 1);
	assert_true(json_is_null(json_object_get(status, "nodes")));
	assert_non_null(
		strstr(fake_client_request(scene->client)->body, "\"resourceVersion\":\"1\""));
	fake_client_answer(scene->client, 200, checked);
	fake_clock_settle(scene->clock);
	assert_int_equal(writes(scene), 1);
	fake_client_choose(scene->client, "/events"); /* and an event tells it to people */
	assert_non_null(strstr(fake_client_request(scene->client)->body, "EntriesLeftOut"));
}

/* That an entry is valid does not say that a node can apply it. */
static void valid_entries_are_not_called_applied(void **state)
{
	auto_free char *object = NULL;
	auto_json json_t *status = NULL;
	struct scene *scene = *state;

	object = object_text(scene, KVM, 7, "");
	answer_list(scene, object);
	fake_clock_advance(scene->clock, AMPLE_MS);
	status = written(scene, "hostdev-agent");
	assert_string_equal(text_at(status, "conditions", "status"), "True");
	assert_string_equal(text_at(status, "conditions", "message"), "all entries are valid");
}

/* A thousand agents see the same change: the others find it checked. */
static void what_is_checked_is_not_changed(void **state)
{
	auto_free char *object = NULL;
	auto_free char *checked = NULL;
	struct scene *scene = *state;

	fake_clock_fix_random(scene->clock, 499); /* the last to come */
	object = object_text(scene, KVM "," WRONG, 1, "");
	checked = object_text(scene, KVM "," WRONG, 1, REFUSED("1"));
	answer_list(scene, object);
	watch_event(scene, "MODIFIED", checked);
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(fake_client_sent(scene->client), 2); /* the list and the watch */
}

/* The watch shows what the first has written, and until then nothing is decided. */
static void who_comes_second_gives_way(void **state)
{
	auto_free char *object = NULL;
	auto_free char *checked = NULL;
	struct scene *scene = *state;

	object = object_text(scene, WRONG, 1, "");
	checked = object_text(scene, WRONG, 1, REFUSED("1"));
	answer_list(scene, object);
	fake_clock_advance(scene->clock, AMPLE_MS);
	json_decref(written(scene, "hostdev-agent"));
	fake_client_answer(scene->client, 409, "{\"kind\":\"Status\",\"reason\":\"Conflict\"}");
	fake_clock_advance(scene->clock, 2900);
	assert_int_equal(writes(scene), 0);
	watch_event(scene, "MODIFIED", checked);
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(writes(scene), 0);
}

/* One that the watch does not show yet may ask for something else: it is not checked by the old. */
static void an_answer_of_another_generation_is_not_checked(void **state)
{
	auto_free char *object = NULL;
	auto_free char *edited = NULL;
	struct scene *scene = *state;

	object = object_text(scene, WRONG, 1, "");
	edited = object_text(scene, KVM, 2, REFUSED("1"));
	answer_list(scene, object);
	fake_clock_advance(scene->clock, AMPLE_MS);
	json_decref(written(scene, "hostdev-agent"));
	fake_client_answer(scene->client, 200, edited);
	fake_clock_settle(scene->clock);
	fake_client_choose(scene->client, "/events");
	fake_client_answer(scene->client, 201, "{}");
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(writes(scene), 0);
	watch_event(scene, "MODIFIED", edited);
	fake_clock_advance(scene->clock, AMPLE_MS);
	json_decref(written(scene, "hostdev-agent"));
}

#define ACCEPTED "'conditions':[{'type':'Accepted','status':'True','reason':'Accepted'}]"
#define CHECKED  "'observedGeneration':1," ACCEPTED
#define OURS                                                                                    \
	",'nodes':[{'node':'node1','observedGeneration':1,'entries':[{'list':'genericDevices'," \
	"'index':0,'resourceName':'a.io/kvm','reason':'NameTaken','message':'it is taken'}]}]"

static void report_of(struct scene *scene, const char *part, const char *message)
{
	struct config_troubles troubles = { 0 };

	if (message)
		config_troubles_add(&troubles,
				    &(struct config_trouble_value){ .list = CONFIG_LIST_GENERIC,
								    .reason = CONFIG_NAME_TAKEN,
								    .resource = "a.io/kvm",
								    .message = message });
	config_watch_report(scene->watch, part, &troubles);
	config_troubles_done(&troubles);
	fake_clock_settle(scene->clock);
}

static void report(struct scene *scene, const char *message)
{
	report_of(scene, "generic", message);
}

static void send_away_events(struct scene *scene)
{
	fake_client_choose(scene->client, "/events");
	fake_client_answer(scene->client, 201, "{}");
	fake_clock_settle(scene->clock);
}

/* This node's trouble is this node's own item, by a field manager of its own; at rest nothing is
 * written. */
static void a_nodes_trouble_is_its_own_item(void **state)
{
	auto_free char *object = NULL;
	auto_free char *listed = NULL;
	auto_json json_t *status = NULL;
	auto_json json_t *empty = NULL;
	struct scene *scene = *state;

	object = object_text(scene, KVM, 1, CHECKED);
	listed = object_text(scene, KVM, 1, CHECKED OURS);
	answer_list(scene, object);
	report(scene, "it is taken");
	send_away_events(scene);
	status = written(scene, "hostdev-agent-node1");
	assert_string_equal(text_at(status, "nodes", "node"), "node1");
	assert_int_equal(json_object_size(status), 1);
	fake_client_answer(scene->client, 200, listed);
	watch_event(scene, "MODIFIED", listed);
	report(scene, "it is taken"); /* again: nothing new */
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(writes(scene), 0);

	report(scene, NULL);
	empty = written(scene, "hostdev-agent-node1");
	assert_int_equal(json_object_size(empty), 0);
}

/* An apply does not take away what others own, and so it is not applied again and again. */
static void a_nodes_item_of_others_is_applied_once(void **state)
{
	auto_free char *object = NULL;
	struct scene *scene = *state;

	object = object_text(scene, KVM, 1, CHECKED OURS);
	answer_list(scene, object);
	fake_clock_settle(scene->clock);
	json_decref(written(scene, "hostdev-agent-node1"));
	fake_client_answer(scene->client, 200, object);
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(writes(scene), 0);
}

/* As one that has just begun: what it told before stays until all of its parts have looked. */
static void a_nodes_trouble_is_reported_when_all_parts_have_reported(void **state)
{
	auto_free char *object = NULL;
	auto_free char *edited = NULL;
	struct scene *scene = *state;

	scene_open_with(scene, 2);
	object = object_text(scene, KVM, 1, CHECKED OURS);
	answer_list(scene, object);
	report_of(scene, "usb", NULL);
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(writes(scene), 0);
	report(scene, "it is taken");
	send_away_events(scene);
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(writes(scene), 0); /* it stands there already */

	edited = object_text(scene, KVM "," KVM, 2, "'observedGeneration':2," ACCEPTED);
	watch_event(scene, "MODIFIED", edited);
	report(scene, "it is taken"); /* of the new one */
	assert_int_equal(writes(scene), 0);
	report_of(scene, "usb", NULL);
	json_decref(written(scene, "hostdev-agent-node1"));
}

/* Without a kubelet no part reports: the agent does not wait for ever. */
static void silent_parts_have_no_trouble_in_the_end(void **state)
{
	auto_free char *object = NULL;
	auto_json json_t *empty = NULL;
	struct scene *scene = *state;

	scene_open_with(scene, 2);
	object = object_text(scene, KVM, 1, CHECKED OURS);
	answer_list(scene, object);
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(writes(scene), 0);
	fake_clock_advance(scene->clock, AMPLE_MS);
	empty = written(scene, "hostdev-agent-node1");
	assert_int_equal(json_object_size(empty), 0);
}

/* The write of the verdict on a generation empties the list, so no agent writes into it before. */
static void a_nodes_trouble_waits_for_the_verdict(void **state)
{
	auto_free char *object = NULL;
	auto_free char *checked = NULL;
	struct scene *scene = *state;

	object = object_text(scene, KVM, 2, CHECKED);
	checked = object_text(scene, KVM, 2, "'observedGeneration':2," ACCEPTED);
	answer_list(scene, object);
	report(scene, "it is taken");
	send_away_events(scene);
	assert_int_equal(writes(scene), 0);
	fake_clock_advance(scene->clock, AMPLE_MS);
	json_decref(written(scene, "hostdev-agent"));
	fake_client_answer(scene->client, 200, checked);
	fake_clock_settle(scene->clock);
	json_decref(written(scene, "hostdev-agent-node1"));
}

/* Beyond what the list takes, an event is all. */
static void a_full_list_is_left_alone(void **state)
{
	auto_str struct str status = STR_INIT;
	auto_free char *object = NULL;
	struct scene *scene = *state;

	str_add(&status, CHECKED ",'nodes':[");
	for (int i = 0; i < 64; i++)
		str_addf(&status, "%s{'node':'other%d'}", i ? "," : "", i);
	str_add(&status, "]");
	object = object_text(scene, KVM, 1, str_cstr(&status));
	answer_list(scene, object);
	report(scene, "it is taken");
	send_away_events(scene);
	fake_clock_advance(scene->clock, AMPLE_MS);
	assert_int_equal(writes(scene), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a change is handed on", a_change_is_handed_on, NULL);
	suite_add(&suite, "no config is handed on as an empty one",
		  no_config_is_handed_on_as_an_empty_one, NULL);
	suite_add(&suite, "a new generation is checked", a_new_generation_is_checked, NULL);
	suite_add(&suite, "valid entries are not called applied",
		  valid_entries_are_not_called_applied, NULL);
	suite_add(&suite, "what is checked is not changed", what_is_checked_is_not_changed, NULL);
	suite_add(&suite, "who comes second gives way", who_comes_second_gives_way, NULL);
	suite_add(&suite, "an answer of another generation is not checked",
		  an_answer_of_another_generation_is_not_checked, NULL);
	suite_add(&suite, "a node's item of others is applied once",
		  a_nodes_item_of_others_is_applied_once, NULL);
	suite_add(&suite, "a node's trouble is its own item", a_nodes_trouble_is_its_own_item,
		  NULL);
	suite_add(&suite, "a node's trouble waits for the verdict",
		  a_nodes_trouble_waits_for_the_verdict, NULL);
	suite_add(&suite, "a full list is left alone", a_full_list_is_left_alone, NULL);
	suite_fixture(&suite, &scene_to_open_fixture);
	suite_add(&suite, "a node's trouble is reported when all parts have reported",
		  a_nodes_trouble_is_reported_when_all_parts_have_reported, NULL);
	suite_add(&suite, "silent parts have no trouble in the end",
		  silent_parts_have_no_trouble_in_the_end, NULL);
	return suite_run(&suite, "config_watch");
}
