/* publish: random lives of a PCIDevice. */
#include "unit/agent/publish_bench.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "unit/kube/random_life.h"

#define NAME "node1-000001000"
#define NIC(driver)                                                                               \
	"{\"kind\":\"pci\",\"address\":\"0000:01:00.0\",\"vendor\":\"8086\",\"device\":\"10d3\"," \
	"\"class\":\"020000\",\"iommuGroup\":\"1\",\"driver\":\"" driver "\"}"

static const char *const nic[] = { NIC("e1000e"), NULL };
static const char *const nic_lent[] = { NIC("vfio-pci"), NULL };
static const char *const nothing[] = { NULL };

static void *life_open(struct random_world *world)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	bench_open(b);
	bench_lag(b);
	fake_server_set_watch(b->pci_claims, FAKE_WATCH_BY_HAND);
	bench_look(b, nic);
	*world = (struct random_world){ .server = b->server, .clock = b->clock };
	return b;
}

static void life_close(void *arg)
{
	bench_close(arg);
	free(arg);
}

static void something(void *arg, uint64_t *seed)
{
	static const char *const *const looks[] = { nic, nic_lent, nothing };
	struct bench *b = arg;
	bool there = fake_server_get(b->server, NAME) != NULL;

	switch (suite_random(seed) % 8) {
	case 0:
		fake_server_delete(b->server, NAME);
		return;
	case 1:
		if (there)
			fake_server_write(b->server, NAME, "{'metadata':{'labels':null}}");
		return;
	case 2:
		if (there)
			fake_server_write_status(b->server, NAME, "{'address':'other'}");
		return;
	case 3:
		fake_server_write(b->pci_claims, NAME, "{}");
		return;
	case 4:
		fake_server_delete(b->pci_claims, NAME);
		return;
	case 5:
		b->moving = suite_random(seed) % 4 == 0;
		return;
	default:
		bench_look(b, looks[suite_random(seed) % ARRAY_LEN(looks)]);
		return;
	}
}

static void begin_again(void *arg)
{
	struct bench *b = arg;

	bench_end(b);
	bench_begin(b);
	b->node.inventory = b->world.inventory;
	publish_enqueue_all(b->publish);
}

static void end_well(void *arg)
{
	struct bench *b = arg;

	b->moving = false;
	bench_look(b, nic);
}

static void assert_end(void *arg)
{
	const struct bench *b = arg;

	assert_string_equal(fake_server_text(b->server, NAME, "status.address"), "0000:01:00.0");
	assert_string_equal(fake_server_text(b->server, NAME, "status.kernelDriverInUse"),
			    "e1000e");
	assert_string_equal(fake_server_text(b->server, NAME, "metadata.labels.nodename"), "node1");
}

static const struct random_kind devices = {
	.name = "PCIDevices",
	.open = life_open,
	.close = life_close,
	.something = something,
	.begin_again = begin_again,
	.end_well = end_well,
	.assert_end = assert_end,
};

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	random_lives(&suite, &devices, 30);
	return suite_run(&suite, "publish_life");
}
