/* history: the events of a device and of its claims, oldest first, each with its user. */
#include "unit/suite.h"

#include <string.h>

#include "cli/client/device_events.h"
#include "cli/history.h"
#include "unit/cli/made.h"

#define NAME "vm1-000003100"
#define EVENT(kind, uid, reason, message, time)                                                 \
	"{'metadata':{'name':'" reason "." uid "'},'type':'Normal','reason':'" reason           \
	"','message':'" message "','count':1,'involvedObject':{'kind':'" kind "','name':'" NAME \
	"','uid':'" uid "'},'lastTimestamp':'2026-01-02T03:" time "Z'}"

#define COUNTED(reason, message, count, first, last)                          \
	"{'metadata':{'name':'" reason "'},'type':'Normal','reason':'" reason \
	"','message':'" message "','count':" #count                           \
	",'involvedObject':{'kind':'PCIDevice','name':'" NAME                 \
	"','uid':'d'},'firstTimestamp':'2026-01-02T03:" first                 \
	"Z','lastTimestamp':'2026-01-02T03:" last "Z'}"

static const char events_json[] =
	"{'metadata':{'resourceVersion':'1'},'items':[" EVENT("PCIDevice", "d", "Released", "gone", "20:01") "," EVENT(
		"PCIDevice", "d", "Claimed", "made",
		"40:00") "," EVENT("PCIDevice", "d", "Bound", "bound",
				   "40:00") "," EVENT("PCIDeviceClaim", "new", "Bound", "bound",
						      "40:00") "," EVENT("PCIDeviceClaim", "old",
									 "Released", "gone",
									 "20:01") "," EVENT("PCIDevice",
											    "d",
											    "ClaimRefused",
											    "no",
											    "50:00") "," EVENT("PCIDevice",
													       "d",
													       "Allocated",
													       "given",
													       "59:00") "]}";

static void put_claim(struct cluster *cluster)
{
	made_put(cluster, CLUSTER_PCICLAIM,
		 "{'metadata':{'name':'" NAME
		 "','uid':'new','creationTimestamp':'2026-01-02T03:40:00Z'},"
		 "'spec':{'userName':'alice'}}");
}

static void put_nobodys_claim(struct cluster *cluster)
{
	made_put(cluster, CLUSTER_PCICLAIM,
		 "{'metadata':{'name':'" NAME
		 "','uid':'new','creationTimestamp':'2026-01-02T03:40:00Z'}}");
}

static struct history_case {
	const char *name;
	void (*put)(struct cluster *cluster);
	const char *text;
} cases[] = {
	{ "the user is of the claim that is there, and of nothing before or beside it", put_claim,
	  "TIME                   REASON         COUNT   USER    MESSAGE\n"
	  "2026-01-02T03:20:01Z   Released       1               gone\n"
	  "2026-01-02T03:40:00Z   Claimed        1       alice   made\n"
	  "2026-01-02T03:40:00Z   Bound          1       alice   bound\n"
	  "2026-01-02T03:50:00Z   ClaimRefused   1               no\n"
	  "2026-01-02T03:59:00Z   Allocated      1       alice   given\n" },
	{ "a claim may be nobody's", put_nobodys_claim,
	  "TIME                   REASON         COUNT   USER   MESSAGE\n"
	  "2026-01-02T03:20:01Z   Released       1              gone\n"
	  "2026-01-02T03:40:00Z   Claimed        1              made\n"
	  "2026-01-02T03:40:00Z   Bound          1              bound\n"
	  "2026-01-02T03:50:00Z   ClaimRefused   1              no\n"
	  "2026-01-02T03:59:00Z   Allocated      1              given\n" },
};

static void read_events(struct device_events *events)
{
	auto_free char *json = made_json(events_json);

	assert_int_equal(device_events_add(events, json, strlen(json), NULL), 0);
}

static void a_history_reads_so(void **state)
{
	const struct history_case *c = *state;
	struct cluster *cluster = made_cluster();
	auto_events struct device_events events = { .max = DEVICE_EVENTS_MAX };
	struct out out = { .format = OUT_TABLE };

	c->put(cluster);
	read_events(&events);
	history_print(cluster_device(cluster, DEVICE_PCI, NAME), &events, &out);
	assert_string_equal(str_cstr(&out.text), c->text);
	str_done(&out.text);
	cluster_free(cluster);
}

/* Two claims, of which one is left; the device was allocated and freed under both. */
static void counted_events_have_two_lines(void **state)
{
	struct cluster *cluster = made_cluster();
	auto_events struct device_events events = { .max = DEVICE_EVENTS_MAX };
	struct out out = { .format = OUT_TABLE };
	auto_free char *json = made_json("{'metadata':{'resourceVersion':'1'},'items':[" COUNTED(
		"Claimed", "made", 2, "10:00",
		"40:00") "," COUNTED("Allocated", "given", 3, "10:05",
				     "50:00") "," COUNTED("Freed", "taken", 2, "20:00",
							  "59:00") "]}");

	put_claim(cluster);
	assert_int_equal(device_events_add(&events, json, strlen(json), NULL), 0);
	history_print(cluster_device(cluster, DEVICE_PCI, NAME), &events, &out);
	assert_string_equal(str_cstr(&out.text),
			    "TIME                   REASON      COUNT    USER    MESSAGE\n"
			    "2026-01-02T03:10:00Z   Claimed     1 of 2           made\n"
			    "2026-01-02T03:10:05Z   Allocated   1 of 3           given\n"
			    "2026-01-02T03:20:00Z   Freed       1 of 2           taken\n"
			    "2026-01-02T03:40:00Z   Claimed     2 of 2   alice   made\n"
			    "2026-01-02T03:50:00Z   Allocated   3 of 3   alice   given\n"
			    "2026-01-02T03:59:00Z   Freed       2 of 2   alice   taken\n");
	str_done(&out.text);
	cluster_free(cluster);
}

#define RECORDED(version, reason, message, count, first, last)                             \
	"{'metadata':{'name':'" reason version "','resourceVersion':'" version             \
	"'},'type':'Normal','reason':'" reason "','message':'" message "','count':" #count \
	",'involvedObject':{'kind':'PCIDevice','name':'" NAME                              \
	"','uid':'d'},'firstTimestamp':'2026-01-02T03:" first                              \
	"Z','lastTimestamp':'2026-01-02T03:" last "Z'}"

/* The claim is of 03:40:00. */
static struct second_case {
	const char *name;
	const char *events;
	const char *text;
} seconds[] = {
	{ "the end of a former claim comes before the new one, and is not its owner's",
	  RECORDED("21", "Claimed", "made", 3, "10:00", "40:00") "," RECORDED(
		  "22", "Bound", "bound", 1, "40:00",
		  "40:00") "," RECORDED("20", "Unclaimed", "deleted", 2, "20:00",
					"40:00") "," RECORDED("9", "Released", "back", 1, "40:00",
							      "40:00"),
	  "2026-01-02T03:10:00Z   Claimed     1 of 3           made\n"
	  "2026-01-02T03:20:00Z   Unclaimed   1 of 2           deleted\n"
	  "2026-01-02T03:40:00Z   Unclaimed   2 of 2           deleted\n"
	  "2026-01-02T03:40:00Z   Released    1                back\n"
	  "2026-01-02T03:40:00Z   Claimed     3 of 3   alice   made\n"
	  "2026-01-02T03:40:00Z   Bound       1        alice   bound\n" },
	{ "a claim that is made and deleted in one second ends after it begins",
	  RECORDED("21", "Claimed", "made", 1, "20:00", "20:00") "," RECORDED(
		  "22", "Unclaimed", "deleted", 1, "20:00",
		  "20:00") "," RECORDED("23", "Allocated", "given", 1, "50:00", "50:00"),
	  "2026-01-02T03:20:00Z   Claimed     1           made\n"
	  "2026-01-02T03:20:00Z   Unclaimed   1           deleted\n"
	  "2026-01-02T03:50:00Z   Allocated   1   alice   given\n" },
	{ "the event of the new claim may be a moment older than it",
	  RECORDED("20", "Claimed", "with its group", 1, "39:59", "39:59") "," RECORDED(
		  "21", "Claimed", "made", 2, "39:58",
		  "39:59") "," RECORDED("22", "Freed", "taken", 1, "40:00",
					"40:00") "," RECORDED("30", "Released", "back", 1, "45:00",
							      "45:00"),
	  "2026-01-02T03:39:58Z   Claimed    1 of 2           made\n"
	  "2026-01-02T03:39:59Z   Claimed    2 of 2   alice   made\n"
	  "2026-01-02T03:39:59Z   Claimed    1                with its group\n"
	  "2026-01-02T03:40:00Z   Freed      1                taken\n"
	  "2026-01-02T03:45:00Z   Released   1        alice   back\n" },
	{ "not much older", RECORDED("20", "Claimed", "made", 1, "39:57", "39:57"),
	  "2026-01-02T03:39:57Z   Claimed   1      made\n" },
};

static void events_of_a_second_read_so(void **state)
{
	const struct second_case *c = *state;
	struct cluster *cluster = made_cluster();
	auto_events struct device_events events = { .max = DEVICE_EVENTS_MAX };
	struct out out = { .format = OUT_TABLE, .headless = true };
	auto_free char *list =
		xasprintf("{'metadata':{'resourceVersion':'1'},'items':[%s]}", c->events);
	auto_free char *json = made_json(list);

	put_claim(cluster);
	assert_int_equal(device_events_add(&events, json, strlen(json), NULL), 0);
	history_print(cluster_device(cluster, DEVICE_PCI, NAME), &events, &out);
	assert_string_equal(str_cstr(&out.text), c->text);
	str_done(&out.text);
	cluster_free(cluster);
}

/* Those of claims have uids. */
static void what_is_recorded_on_the_card_too_is_one_event(void **state)
{
	struct cluster *cluster = made_cluster();
	auto_events struct device_events events = { .max = DEVICE_EVENTS_MAX };
	struct out out = { .format = OUT_TABLE, .headless = true };
	auto_free char *json = made_json("{'metadata':{'resourceVersion':'1'},'items':[" EVENT(
		"PCIDevice", "d", "Configured", "4 functions",
		"20:01") "," EVENT("SRIOVNetworkDevice", "s", "Configured", "4 functions",
				   "20:01") "," EVENT("PCIDevice", "e", "Configured", "2 functions",
						      "20:02") "]}");

	assert_int_equal(device_events_add(&events, json, strlen(json), NULL), 0);
	history_print(cluster_device(cluster, DEVICE_PCI, NAME), &events, &out);
	assert_string_equal(str_cstr(&out.text),
			    "2026-01-02T03:20:01Z   Configured   1   alice   4 functions\n"
			    "2026-01-02T03:20:02Z   Configured   1   alice   2 functions\n");
	str_done(&out.text);
	cluster_free(cluster);
}

static void a_terminal_breaks_the_message(void **state)
{
	struct cluster *cluster = made_cluster();
	auto_events struct device_events events = { .max = DEVICE_EVENTS_MAX };
	struct out out = { .format = OUT_TABLE, .width = 60 };
	auto_free char *json = made_json("{'metadata':{'resourceVersion':'1'},'items':[" EVENT(
		"PCIDevice", "d", "Released", "0000:01:00.0 is on e1000e again",
		"20:01") "," EVENT("PCIDeviceClaim", "new", "Bound",
				   "it is on vfio-pci now, as you like it", "50:00") "]}");

	made_put(cluster, CLUSTER_PCICLAIM,
		 "{'metadata':{'name':'" NAME
		 "','uid':'new','creationTimestamp':'2026-01-02T03:40:00Z'},"
		 "'spec':{'userName':'kubernetes-admin'}}");
	assert_int_equal(device_events_add(&events, json, strlen(json), NULL), 0);
	history_print(cluster_device(cluster, DEVICE_PCI, NAME), &events, &out);
	assert_string_equal(str_cstr(&out.text),
			    "TIME                   REASON     COUNT   USER\n"
			    "    MESSAGE\n"
			    "2026-01-02T03:20:01Z   Released   1\n"
			    "    0000:01:00.0 is on e1000e again\n"
			    "2026-01-02T03:50:00Z   Bound      1       kubernetes-admin\n"
			    "    it is on vfio-pci now, as you like it\n");
	str_done(&out.text);
	cluster_free(cluster);
}

static void programs_get_the_same(void **state)
{
	struct cluster *cluster = made_cluster();
	auto_events struct device_events events = { .max = DEVICE_EVENTS_MAX };
	struct out out = { .format = OUT_JSON };
	auto_json json_t *json = NULL;
	const json_t *list;

	put_claim(cluster);
	read_events(&events);
	history_print(cluster_device(cluster, DEVICE_PCI, NAME), &events, &out);
	assert_int_equal(json_map_load(out.text.buf, out.text.len, &json, NULL), 0);
	list = json_object_get(json, "events");
	assert_int_equal(json_array_size(list), 5);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "user")),
			    "alice");
	assert_null(json_object_get(json_array_get(list, 0), "user"));
	str_done(&out.text);
	cluster_free(cluster);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, a_history_reads_so);
	suite_add(&suite, "counted events have a line for the first and the last one",
		  counted_events_have_two_lines, NULL);
	suite_rows(&suite, seconds, events_of_a_second_read_so);
	suite_add(&suite, "what is recorded on the card, too, is one event",
		  what_is_recorded_on_the_card_too_is_one_event, NULL);
	suite_add(&suite, "a terminal breaks the message into lines", a_terminal_breaks_the_message,
		  NULL);
	suite_add(&suite, "programs get the same", programs_get_the_same, NULL);
	return suite_run(&suite, "history");
}
