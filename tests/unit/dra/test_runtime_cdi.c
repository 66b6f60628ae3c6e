/* runtime_cdi: which container runtimes count as having CDI. */
#include "agent/dra/runtime_cdi.h"

#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "api/node.h"
#include "base/mem.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/informer.h"
#include "unit/suite.h"
#include "unit/this_node.h"

static struct runtime_case {
	const char *name;
	enum cdi_mode mode;
	const char *version;
	const char *trouble; /* a part of it; NULL: none */
} rows[] = {
	{ "containerd 2 has CDI", CDI_AUTO, "containerd://2.0.0", NULL },
	{ "and what comes after it", CDI_AUTO, "containerd://10.1", NULL },
	{ "also with more behind the number", CDI_AUTO, "containerd://2.2.9-rc.1+k3s", NULL },
	{ "also with a letter in front", CDI_AUTO, "containerd://v2.1.4", NULL },
	{ "containerd 1.7 is not known to have it switched on", CDI_AUTO, "containerd://1.7.35",
	  "enable_cdi = true" },
	{ "an administrator says so", CDI_ON, "containerd://1.7.35", NULL },
	{ "containerd 1.6 has none", CDI_AUTO, "containerd://1.6.20~ds1",
	  "containerd://1.6.20~ds1 is not known to have CDI" },
	{ "CRI-O has it since 1.23", CDI_AUTO, "cri-o://1.23.0", NULL },
	{ "not before", CDI_AUTO, "cri-o://1.22.5", "not known to have CDI" },
	{ "of another runtime nothing is known", CDI_AUTO, "docker://28.0.1",
	  "not known to have CDI" },
	{ "nor of a name that only begins alike", CDI_AUTO, "containerd-next://3.0.0",
	  "not known to have CDI" },
	{ "nor of a version that is none", CDI_AUTO, "containerd://latest",
	  "not known to have CDI" },
	{ "nor of half a version", CDI_AUTO, "containerd://2", "not known to have CDI" },
	{ "nor of a number that is too large", CDI_AUTO, "containerd://99999999999999999999999.0",
	  "not known to have CDI" },
	{ "nor of nothing", CDI_AUTO, NULL, "does not say" },
	{ "which an administrator may know", CDI_ON, NULL, NULL },
	{ "or switch off", CDI_OFF, "containerd://2.0.0", "--cdi=off" },
};

static void runtime_matches_table(void **state)
{
	const struct runtime_case *row = suite_row(state);
	auto_free char *trouble = runtime_cdi_trouble(row->mode, row->version);

	if (row->trouble && trouble)
		assert_non_null(strstr(trouble, row->trouble));
	assert_int_equal(trouble != NULL, row->trouble != NULL);
}

struct bench {
	struct fake_server *server;
	struct kube_client *client;
	struct fake_clock *clock;
	struct informer *self;
	struct this_node node;
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	(void)arg;
	(void)name;
	(void)before;
	(void)after;
}

static void bench_open(struct bench *b)
{
	*b = (struct bench){ .server = fake_server_new(&node_kind), .clock = fake_clock_new() };
	b->client = fake_server_client(b->server);
	fake_server_set_watch(b->server, FAKE_WATCH_NEXT);
	b->self = informer_new(&(struct informer_deps){ .client = b->client,
							.clock = fake_clock_as_clock(b->clock) },
			       &(struct informer_spec){ .kind = &node_kind,
							.handlers = { .on_change = on_change } });
	b->node = this_node_of(b->client, fake_clock_as_clock(b->clock), NULL);
	b->node.self = b->self;
	informer_start(b->self);
}

static void bench_close(struct bench *b)
{
	informer_free(b->self);
	kube_client_free(b->client);
	fake_server_free(b->server);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

static void settle(struct bench *b)
{
	do
		fake_clock_settle(b->clock);
	while (fake_server_step(b->server));
}

/* Entries that the device plugin carries out are not concerned. */
static void entries_for_dra_are_reported(void **state)
{
	static char x[] = "a.io/x", y[] = "a.io/y", z[] = "a.io/z", u[] = "a.io/u", m[] = "a.io/m";
	struct config_pci pci[] = { { .index = 3, .resource = x },
				    { .index = 5, .resource = y, .dra = CONFIG_DRA_CLAIMED },
				    { .index = 6, .resource = z, .external = true } };
	struct config_usb usb[] = { { .resource = u, .dra = CONFIG_DRA_CLAIMED } };
	struct config_mdev mdevs[] = { { .resource = m, .dra = CONFIG_DRA_CLAIMED } };
	const struct config config = { .pci = { .items = pci, .len = 3 },
				       .usb = { .items = usb, .len = 1 },
				       .mdevs = { .items = mdevs, .len = 1 } };
	struct config_troubles troubles = { 0 };
	struct bench *b = *state;
	char *trouble;

	settle(b);
	assert_false(runtime_cdi_known(&b->node, &trouble));
	runtime_cdi_report(&b->node, &config, &troubles);
	assert_int_equal(troubles.len, 0); /* as long as the Node is not known */
	fake_server_write(
		b->server, "node1",
		"{'status':{'nodeInfo':{'containerRuntimeVersion':'containerd://1.6.20'}}}");
	fake_server_write_status(b->server, "node1",
				 "{'nodeInfo':{'containerRuntimeVersion':'containerd://1.6.20'}}");
	settle(b);
	runtime_cdi_report(&b->node, &config, &troubles);
	assert_int_equal(troubles.len, 3);
	assert_string_equal(troubles.items[0].list, CONFIG_LIST_PCI);
	assert_int_equal(troubles.items[0].index, 5);
	assert_string_equal(troubles.items[0].resource, "a.io/y");
	assert_string_equal(troubles.items[0].reason, "NoCDI");
	assert_non_null(strstr(troubles.items[0].message, "containerd://1.6.20"));
	assert_string_equal(troubles.items[1].list, CONFIG_LIST_USB);
	assert_string_equal(troubles.items[2].list, CONFIG_LIST_MDEV);
	config_troubles_done(&troubles);
	fake_server_write_status(b->server, "node1",
				 "{'nodeInfo':{'containerRuntimeVersion':'containerd://2.2.9'}}");
	settle(b);
	runtime_cdi_report(&b->node, &config, &troubles);
	assert_int_equal(troubles.len, 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_rows(&suite, rows, runtime_matches_table);
	suite_add(&suite, "entries for DRA are reported", entries_for_dra_are_reported, NULL);
	return suite_run(&suite, "runtime_cdi");
}
