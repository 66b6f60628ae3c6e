/* host_state: which readings of process 1's files differ, from files. */
#include "agent/monitor/host_state.h"

#include "unit/folder.h"

#define V4_HEAD             "Iface\tDestination\tGateway\tFlags\n"
#define V4(iface, to, mask) iface "\t" to "\t00000000\t0001\t0\t0\t0\t" mask "\t0\t0\t0\n"
#define ZEROS               "00000000000000000000000000000000"
#define V6(to, bits, uses, flags, iface) \
	to " " bits " " ZEROS " 00 " ZEROS " 00000100 00000001 " uses " " flags " " iface "\n"
#define GLOBAL     "20010db8000000000000000000000005"
#define LINK_LOCAL "fe80000000000000020000fffe000001"
#define LINK_NET   "fe800000000000000000000000000000"
#define MULTICAST  "ff000000000000000000000000000000"
#define DISK       "36 35 8:17 / /mnt/data rw - xfs /dev/sdb1 rw\n"
#define POD        "37 35 0:70 / /run/a rw - overlay overlay rw\n"

struct host {
	struct folder folder;
	struct host_state *state;
};

/* veth1 is a pod's, br0 is on hardware, and eth0 is hardware. */
static void host_init(struct host *host)
{
	static const char *const links[][2] = {
		{ "eth0", "../../devices/pci0000:00/0000:00:03.0/net/eth0" },
		{ "br0", "../../devices/virtual/net/br0" },
		{ "veth1", "../../devices/virtual/net/veth1" },
	};
	static const char *const folders[] = {
		"proc",
		"proc/1",
		"sys",
		"sys/class",
		"sys/class/net",
		"sys/devices",
		"sys/devices/virtual",
		"sys/devices/virtual/net",
		"sys/devices/virtual/net/br0",
		"sys/devices/virtual/net/br0/lower_eth0",
		"sys/devices/virtual/net/veth1",
		"sys/devices/virtual/net/veth1/upper_cni0",
	};
	auto_free char *proc = NULL;
	auto_free char *sys = NULL;

	folder_init(&host->folder);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		auto_free char *path = folder_path(&host->folder, folders[i]);

		assert_int_equal(mkdir(path, 0700), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		auto_free char *name = xasprintf("sys/class/net/%s", links[i][0]);
		auto_free char *path = folder_path(&host->folder, name);

		assert_int_equal(symlink(links[i][1], path), 0);
	}
	folder_put(&host->folder, "proc/1/mountinfo", "");
	proc = folder_path(&host->folder, "proc");
	sys = folder_path(&host->folder, "sys");
	host->state = host_state_new(proc, sys);
}

static void host_done(struct host *host)
{
	host->state = host_state_free(host->state);
	folder_done(&host->folder);
}

SUITE_FIXTURE(host, struct host, host_init, host_done);

static void mounts_differ_by_what_matters(void **state)
{
	static const struct {
		const char *text;
		bool differ;
	} steps[] = {
		{ "", false },
		{ DISK, true },
		{ DISK, false },
		{ DISK POD, false },
		{ DISK, false },
		{ POD DISK, false },
		{ POD DISK "no line\n", true },
		{ POD DISK "no line\n", false },
		{ POD DISK "no line\nnor this\n", true },
		{ POD, true },
	};
	struct host *host = *state;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		folder_put(&host->folder, "proc/1/mountinfo", steps[i].text);
		assert_int_equal(host_state_mounts_differ(host->state), steps[i].differ);
	}
}

static void mounts_that_cannot_be_read_differ(void **state)
{
	struct host *host = *state;
	auto_free char *path = folder_path(&host->folder, "proc/1/mountinfo");

	assert_int_equal(unlink(path), 0);
	assert_true(host_state_mounts_differ(host->state));
	assert_true(host_state_mounts_differ(host->state));
	folder_put(&host->folder, "proc/1/mountinfo", "");
	assert_true(host_state_mounts_differ(host->state));
	assert_false(host_state_mounts_differ(host->state));
	assert_int_equal(truncate(path, (16 << 20) + 1), 0);
	assert_true(host_state_mounts_differ(host->state));
	assert_true(host_state_mounts_differ(host->state));
}

/* One after the other; a file stays as it is until it is written again. */
static const struct {
	const char *file;
	const char *text;
	bool differ;
} routes[] = {
	{ "route", V4_HEAD, true },
	{ "route", V4_HEAD, false },
	{ "route", V4_HEAD V4("eth0", "0000000A", "00FFFFFF"), true },
	{ "route", V4_HEAD V4("eth0", "0000000A", "000000FF"), true },
	{ "route", V4_HEAD V4("eth1", "0000000A", "000000FF"), true },
	{ "route", V4_HEAD V4("eth0", "0500000A", "FFFFFFFF"), true },
	{ "route", V4_HEAD V4("veth1", "0500000A", "FFFFFFFF"), true }, /* as eth0's has gone */
	{ "route", V4_HEAD, false },
	{ "route", V4_HEAD V4("veth1", "0500000A", "FFFFFFFF") V4("veth1", "0600000A", "FFFFFFFF"),
	  false },
	{ "route", V4_HEAD V4("veth1", "0000000A", "00FFFFFF"), true },
	{ "route", V4_HEAD V4("br0", "0500000A", "FFFFFFFF"), true },
	{ "route", V4_HEAD V4("gone", "0500000A", "FFFFFFFF"), true },
	{ "route", V4_HEAD V4("../net/veth1", "0500000A", "FFFFFFFF"), true },
	{ "route", V4_HEAD V4("eth0", "00000000", "00000000") V4("br0", "0500000A", "FFFFFFFF"),
	  true },
	{ "route", V4_HEAD V4("br0", "0500000A", "FFFFFFFF") V4("eth0", "00000000", "00000000"),
	  false },
	{ "route", "eth0 0\n", true },
	{ "ipv6_route", V6(GLOBAL, "40", "00000000", "00000001", "eth0"), true },
	{ "ipv6_route", V6(GLOBAL, "40", "00000007", "00000001", "eth0"), false },
	{ "ipv6_route", V6(GLOBAL, "40", "00000007", "00000001", "eth1"), true },
	{ "ipv6_route", V6(GLOBAL, "80", "00000007", "80000001", "veth1"), true },
	{ "ipv6_route", V6(GLOBAL, "80", "00000007", "00000001", "veth1"), true },
	{ "ipv6_route", "", false },
	{ "ipv6_route", V6(LINK_LOCAL, "80", "00000000", "80200001", "veth1"), false },
	{ "ipv6_route", V6(LINK_LOCAL, "80", "00000000", "80200001", "eth0"), true },
	{ "ipv6_route", "", true },
	{ "ipv6_route", V6(LINK_NET, "40", "00000000", "00000001", "veth1"), false },
	{ "ipv6_route", V6(LINK_NET, "40", "00000000", "00000001", "br0"), true },
	{ "ipv6_route", "", true },
	{ "ipv6_route", V6(MULTICAST, "08", "00000000", "00000001", "veth1"), false },
	{ "ipv6_route", V6(MULTICAST, "08", "00000000", "00000001", "eth0"), true },
	{ "ipv6_route", V6(ZEROS, "00", "00000000", "00000001", "eth0"), true },
	{ "ipv6_route", "short", true },
	{ "fib_trie", "Main:\n  /0 universe UNICAST\n", true }, /* there is such a file now */
	{ "fib_trie", "Main:\n  /32 host LOCAL\n", false },
	{ "fib_trie", "Id 100:\n  /0 universe UNICAST\n", true },
	{ "dev", "eth0: 7 7\n", false },
};

static void routes_differ_by_what_matters(void **state)
{
	struct host *host = *state;
	auto_free char *net = folder_path(&host->folder, "proc/1/net");

	assert_int_equal(mkdir(net, 0700), 0);
	assert_false(host_state_routes_differ(host->state));
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		auto_free char *name = xasprintf("proc/1/net/%s", routes[i].file);

		folder_put(&host->folder, name, routes[i].text);
		if (host_state_routes_differ(host->state) != routes[i].differ)
			fail_msg("step %zu: %s '%s'", i, routes[i].file, routes[i].text);
	}
}

static void nothing_can_be_freed(void **state)
{
	assert_null(host_state_free(NULL));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "freeing nothing is nothing", nothing_can_be_freed, NULL);
	suite_fixture(&suite, &host_fixture);
	suite_add(&suite, "mounts differ by what a scan can show", mounts_differ_by_what_matters,
		  NULL);
	suite_add(&suite, "mounts that cannot be read differ", mounts_that_cannot_be_read_differ,
		  NULL);
	suite_add(&suite, "routes differ by what a scan can show", routes_differ_by_what_matters,
		  NULL);
	return suite_run(&suite, "host_state");
}
