/* transition: is it still the device, the group and the driver that were meant? Before, between and
 * after. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "agent/helper/sys/sysfs.h"
#include "unit/helper/machine.h"

#define A     "0000:01:00.0"
#define B     "0000:01:00.1"
#define S1    "98-ab-cd-ef-00-00-00-01"
#define S2    "98-ab-cd-ef-00-00-00-02"
#define BARE  MACHINE_WORDS(A, " native=e1000e")
#define BOTH  BARE " " MACHINE_WORDS(B, " native=e1000e")
#define KNOWN MACHINE_WORDS(A, " serial=" S1 " native=e1000e")
#define MOUNTED                                               \
	"proc/1/mountinfo=22 1 0:20 / / rw - tmpfs none rw\n" \
	"23 22 8:0 / /data rw - ext4 /dev/sda rw\n"
#define RECORD(address, more)                                                                     \
	"state/devices/" address ".json={\"address\":\"" address "\",\"claim\":\"vm1-x\","        \
	"\"uid\":\"u1\",\"driver\":\"vfio-pci\",\"native\":\"e1000e\",\"id\":\"8086:10d3\"," more \
	"\"boot\":\"old\"}"

/* clang-format off */
/* What is known by a serial number, from the claim's job or from the record. */
static struct serial_case {
	const char *name;
	enum transition_verb verb;
	const char *words;
	const char *record; /* NULL: none */
	uint32_t serial;    /* of the device that is there; 0: it tells none */
	const char *said;   /* in the last line */
	const char *left;
} serials[] = {
	{ "bind: the serial that was meant", TRANSITION_BIND, KNOWN, NULL, 1, "'Done'", "vfio-pci vfio-pci recorded" },
	{ "bind: a twin of the device that the job means", TRANSITION_BIND, KNOWN, NULL, 2,
	  "'DifferentDevice','address':'" A "','message':'" A " is another device: '" S2 "' instead of '" S1 "''",
	  "e1000e - -" },
	{ "bind: a twin of the device that the record is of", TRANSITION_BIND, BARE, RECORD(A, "\"serial\":\"" S1 "\","), 2,
	  "'DifferentDevice','address':'" A "','message':'" A " is another device: '" S2 "' instead of '" S1 "''",
	  "e1000e - recorded" },
	{ "bind: the one that the record is of", TRANSITION_BIND, BARE, RECORD(A, "\"serial\":\"" S1 "\","), 1, "'Done'",
	  "vfio-pci vfio-pci recorded" },
	{ "bind: one that sleeps says nothing", TRANSITION_BIND, KNOWN, RECORD(A, "\"serial\":\"" S1 "\","), 0, "'Done'",
	  "vfio-pci vfio-pci recorded" },
	{ "release: a twin of the device that the job means is left alone", TRANSITION_RELEASE, KNOWN, RECORD(A, ""), 2,
	  "'Done'", "vfio-pci vfio-pci -" },
	{ "release: a twin of the device that the record is of is left alone", TRANSITION_RELEASE, BARE,
	  RECORD(A, "\"serial\":\"" S1 "\","), 2, "'Done'", "vfio-pci vfio-pci -" },
	{ "release: the one that the record is of goes back", TRANSITION_RELEASE, BARE,
	  RECORD(A, "\"serial\":\"" S1 "\","), 1, "'Done'", "e1000e - -" },
};

/* Somebody else acts after the write @at, or the kernel fails it. A bind of A and B, or of A
 * alone. */
static struct change_case {
	const char *name;
	const char *words;
	const char *first[2][2]; /* driver and override of A, and of B */
	const char *record;      /* NULL: none */
	int at;
	const char *address;     /* NULL: the write fails              */
	const char *driver;      /* NULL: the function goes            */
	const char *said;
	const char *left[2];     /* of A, and of B                     */
} changes[] = {
	{ "another driver has taken the second function while the first was moved", BOTH,
	  { { "e1000e" }, { "e1000e" } }, NULL, 1, B, "uio_pci_generic", "'reason':'DriverChanged','address':'" B
	  "','message':'" B " had the driver 'e1000e' and now has 'uio_pci_generic'; something else changes its driver'",
	  { "e1000e - -", "uio_pci_generic - -" } },
	{ "it has lost its driver meanwhile", BOTH, { { "e1000e" }, { "uio_pci_generic" } }, NULL, 3, B, "e1000e",
	  "'reason':'DriverChanged'", { "e1000e - -", "e1000e - -" } },
	{ "one that has its passthrough driver already has arrived", BOTH, { { "e1000e" }, { "e1000e" } }, NULL, 3, B,
	  "vfio-pci", "'result':'Done'", { "vfio-pci vfio-pci recorded", "vfio-pci vfio-pci recorded" } },
	{ "the function goes while it is moved", BARE, { { "e1000e" }, { NULL } }, NULL, 2, A, NULL,
	  "'reason':'DeviceGone','address':'" A "','step':'Unbind'", { "- vfio-pci -", "- - -" } },
	{ "a neighbour without driver gets one of the host's while the group is bound", BARE, { { "e1000e" }, { NULL } },
	  NULL, 3, B, "e1000e", "'reason':'GroupNotViable','address':'" A "','message':'" B ", in the same IOMMU group, is "
	  "bound to e1000e'", { "e1000e - -", "e1000e - -" } },
	{ "a function of the job is taken back by the host while the group is bound", BOTH, { { "e1000e" }, { "e1000e" } },
	  NULL, 6, A, "e1000e", "'reason':'GroupNotViable'", { "e1000e - -", "e1000e - -" } },
	{ "rolled back: what was bound without us stays bound, without our override and record", BOTH,
	  { { "vfio-pci" }, { "e1000e" } }, NULL, 4, NULL, NULL, "'reason':'ProbeFailed','address':'" B "'",
	  { "vfio-pci - -", "e1000e - -" } },
	{ "rolled back: what was bound with an override, without us, is left as it was", BOTH,
	  { { "vfio-pci", "vfio-pci" }, { "e1000e" } }, NULL, 3, NULL, NULL, "'reason':'ProbeFailed','address':'" B "'",
	  { "vfio-pci vfio-pci recorded", "e1000e - -" } },
	{ "rolled back: what an earlier run has bound stays, and so does its record", BOTH,
	  { { "vfio-pci" }, { "e1000e" } }, RECORD(A, ""), 4, NULL, NULL, "'reason':'ProbeFailed','address':'" B "'",
	  { "vfio-pci vfio-pci recorded", "e1000e - -" } },
};

/* A and B go from their drivers to vfio-pci by six writes, three each; or back. Somebody begins to
 * use B. */
static struct use_case {
	const char *name;
	enum transition_verb verb;
	const char *driver;  /* of B                                      */
	const char *entry;   /* of the tree, after the write @at          */
	int at;
	bool may_open_disks; /* then those of B are held until its unbind */
	const char *more;    /* words about B                             */
	const char *said;
	const char *left[2]; /* of A, and of B; NULL: it cannot be read   */
} later_uses[] = {
	{ "its disk is mounted while the first function is moved", TRANSITION_BIND, "e1000e", MOUNTED, 1, false, "",
	  "'result':'Failed','reason':'InUse','address':'" B "','step':'CheckHolders','message':'" B
	  " is in use by the host: sda is mounted at /data'", { "e1000e - -", "e1000e - -" } },
	{ "or just before its own turn", TRANSITION_BIND, "e1000e", MOUNTED, 3, false, "", "'reason':'InUse','address':'" B,
	  { "e1000e - -", "e1000e - -" } },
	{ "the claim may take what cannot be known, not what is used", TRANSITION_BIND, "e1000e", MOUNTED, 1, false,
	  " allow-unknown=1", "'reason':'InUse','address':'" B, { "e1000e - -", "e1000e - -" } },
	{ "a process opens what is below it", TRANSITION_BIND, "e1000e", "proc/123/fd/5->/dev/null", 3, false, "",
	  "'result':'Failed','reason':'Held','address':'" B "','step':'CheckHolders','message':'process 123 has /dev/null "
	  "open'", { "e1000e - -", "e1000e - -" } },
	{ "it gets virtual functions", TRANSITION_BIND, "e1000e", "sys/bus/pci/devices/" B "/virtfn0->../0000:01:10.0", 3,
	  false, "", "'reason':'InUse','address':'" B "','step':'CheckHolders','message':'" B " has virtual functions",
	  { "e1000e - -", "e1000e - -" } },
	{ "what the host uses can be seen no more", TRANSITION_BIND, "e1000e", "proc/1/net/route=odd\n", 3, false, "",
	  "'reason':'UseUnknown','address':'" B, { "e1000e - -", "e1000e - -" } },
	{ "as far as the claim says that it may be", TRANSITION_BIND, "e1000e", "proc/1/net/route=odd\n", 3, false,
	  " allow-unknown=1", "'result':'Done'", { "vfio-pci vfio-pci recorded", "vfio-pci vfio-pci recorded" } },
	{ "a program opens it at the driver of VFIO that it has", TRANSITION_BIND, "odd_vfio_pci",
	  "sys/bus/pci/devices/" B "/enable=1\n", 3, false, "", "'reason':'UseUnknown','address':'" B
	  "','step':'CheckHolders','message':'" B " is on odd_vfio_pci, and is enabled: a program may have it open'",
	  { "e1000e - -", "odd_vfio_pci - -" } },
	{ "a disk that is held until then is no use of the host's", TRANSITION_BIND, "e1000e", NULL, 0, true, "",
	  "'result':'Done'", { "vfio-pci vfio-pci recorded", "vfio-pci vfio-pci recorded" } },
	{ "it has no driver to take it from", TRANSITION_BIND, NULL, "proc/123/fd/5->/dev/vfio/12", 3, false, "", "'result':'Done'",
	  { "vfio-pci vfio-pci recorded", "vfio-pci vfio-pci recorded" } },
	{ "its driver can be read no more", TRANSITION_BIND, NULL, "sys/bus/pci/devices/" B "/driver->" TREE_UNREADABLE, 3,
	  false, "", "'reason':'UseUnknown','address':'" B "','errno':'ENAMETOOLONG','message':'" B ": 'driver' has more",
	  { "e1000e - -", NULL } },
	{ "after its unbind, of which the host knows", TRANSITION_BIND, "e1000e", MOUNTED, 5, false, "", "'result':'Done'",
	  { "vfio-pci vfio-pci recorded", "vfio-pci vfio-pci recorded" } },
	{ "what the host uses does not matter to what goes back to it", TRANSITION_RELEASE, "vfio-pci",
	  "proc/1/net/route=odd\n", 3, false, "", "'result':'Done'", { "e1000e - -", "e1000e - -" } },
	{ "nor does the group to what has its own driver back", TRANSITION_RELEASE, "e1000e",
	  "proc/123/fd/5->/dev/vfio/12", 3, false, "", "'result':'Done'", { "e1000e - -", "e1000e - -" } },
	{ "a process opens the group of which a part has gone back", TRANSITION_RELEASE, "vfio-pci",
	  "proc/123/fd/5->/dev/vfio/12", 3, false, "", "'result':'Failed','reason':'Held','address':'" B
	  "','step':'CheckHolders','message':'process 123 has /dev/vfio/12 open'",
	  { "e1000e - -", "vfio-pci vfio-pci recorded" } },
};
/* clang-format on */

static char *left_of(struct machine *m, const char *address)
{
	auto_free char *seen = machine_state(m, address);

	return xasprintf("%s %s", seen, machine_has_record(m, address) ? "recorded" : "-");
}

static void check(struct machine *m, enum transition_verb verb, const char *words,
		  const char *expected)
{
	auto_str struct str said = STR_INIT;

	machine_run(m, verb, words, &said);
	if (!strstr(str_cstr(&said), expected))
		fail_msg("no %s in %s", expected, str_cstr(&said));
}

static void serial_matches_table(void **state)
{
	const struct serial_case *c = suite_row(state);
	bool bound = c->verb == TRANSITION_RELEASE;
	auto_free char *left = NULL;
	struct machine *m = *state;

	machine_add(m, A, bound ? "vfio-pci" : "e1000e", bound ? "vfio-pci" : NULL);
	if (c->serial)
		machine_set_serial(m, A, c->serial);
	if (c->record)
		tree_add(&m->tree, c->record);
	check(m, c->verb, c->words, c->said);
	left = left_of(m, A);
	assert_string_equal(left, c->left);
}

static void change_matches_table(void **state)
{
	const struct change_case *c = suite_row(state);
	static const char *const addresses[] = { A, B };
	struct machine *m = *state;

	machine_add_driver(m, "uio_pci_generic");
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++)
		machine_add(m, addresses[i], c->first[i][0], c->first[i][1]);
	if (c->record)
		tree_add(&m->tree, c->record);
	if (c->address) {
		m->other.at = c->at;
		m->other.address = c->address;
		m->other.driver = c->driver;
	} else {
		m->fault_at = c->at;
		m->fault = MACHINE_NO_EFFECT;
	}
	check(m, TRANSITION_BIND, c->words, c->said);
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		auto_free char *left = left_of(m, addresses[i]);

		assert_string_equal(left, c->left[i]);
	}
}

static void later_use_stops_it(void **state)
{
	static const char *const entries[] = {
		"sys/devices/pci0000:00/" B "/block/sda/dev=8:0\n",
		"sys/class/block/sda->../../devices/pci0000:00/" B "/block/sda",
		"sys/bus/pci/devices/" B "/ptp/ptp0/dev=1:3\n",
		"sys/dev/char/1:3->../../devices/x/" B "/ptp/ptp0",
		"sys/bus/pci/devices/" B "/enable=0\n",
		"dev/vfio/12=",
	};
	const struct use_case *c = suite_row(state);
	static const char *const addresses[] = { A, B };
	bool back = c->verb == TRANSITION_RELEASE;
	auto_free char *words = xasprintf("%s%s", BOTH, c->more);
	struct machine *m = *state;

	machine_add_driver(m, "odd_vfio_pci");
	machine_add(m, A, back ? "vfio-pci" : "e1000e", back ? "vfio-pci" : NULL);
	machine_add(m, B, c->driver, back ? "vfio-pci" : NULL);
	for (size_t i = 0; i < ARRAY_LEN(entries); i++)
		tree_add(&m->tree, entries[i]);
	if (back)
		tree_add(&m->tree, RECORD(A, ""));
	if (back)
		tree_add(&m->tree, RECORD(B, ""));
	m->disk_fault = c->may_open_disks ? 0 : -EPERM;
	m->disk_number = makedev(8, 0);
	m->held = c->may_open_disks ? "111110" : NULL;
	m->other.at = c->at;
	m->other.entry = c->entry;
	check(m, c->verb, words, c->said);
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		auto_free char *left = c->left[i] ? left_of(m, addresses[i]) : NULL;

		if (left)
			assert_string_equal(left, c->left[i]);
	}
}

/* The device is there, and tells its index and maybe an address; the record or the job says
 * @known. */
static struct identity_case {
	const char *name;
	const char *record, *job; /* NULL: nothing */
	const char *serials;      /* "record device"; NULL: none */
	bool has_mac;
	const char *said;
	const char *left; /* what the record says of it */
} identities[] = {
	{ "a device is remembered by what it tells", NULL, NULL, NULL, true, "'Done'",
	  "\"identity\":\"mac=52:54:00:00:00:01,index=7\"" },
	{ "a twin of the device that the record is of", "mac=52:54:00:00:00:02,index=7", NULL, NULL,
	  true, "'DifferentDevice'", "mac=52:54:00:00:00:02,index=7" },
	{ "a twin of the device that the job means", NULL, "index=8", NULL, false,
	  "'DifferentDevice','address':'" A "','message':'" A
	  " is another device: 'index=7' instead of 'index=8''",
	  NULL },
	{ "what it does not tell any more is kept", "mac=52:54:00:00:00:01,slot=3", NULL, NULL,
	  false, "'Done'", "mac=52:54:00:00:00:01,slot=3,index=7" },
	{ "a card with its own address is the same in another place",
	  "mac=52:54:00:00:00:01,index=9", NULL, NULL, true, "'Done'",
	  "mac=52:54:00:00:00:01,index=9" },
	{ "and so is one with the same serial number", "index=9", NULL, S1, false, "'Done'",
	  "index=9" },
};

static void identity_matches_table(void **state)
{
	const struct identity_case *c = suite_row(state);
	auto_free char *words =
		xasprintf(BARE "%s%s", c->job ? " identity=" : "", c->job ? c->job : "");
	char text[1024] = "";
	auto_close int fd = -1;
	struct machine *m = *state;

	machine_add(m, A, "e1000e", NULL);
	tree_add(&m->tree, "sys/bus/pci/devices/" A "/acpi_index=7\n");
	if (c->has_mac) {
		tree_add(&m->tree,
			 "sys/bus/pci/devices/" A "/net/eth1/address=52:54:00:00:00:01\n");
		tree_add(&m->tree, "sys/bus/pci/devices/" A "/net/eth1/addr_assign_type=0\n");
		tree_add(&m->tree, "sys/bus/pci/devices/" A "/net/eth1/flags=0x1002\n");
	}
	if (c->serials)
		machine_set_serial(m, A, 1);
	if (c->record) {
		auto_free char *record = xasprintf(
			RECORD(A, "%s%s%s\"identity\":\"%s\","), c->serials ? "\"serial\":\"" : "",
			c->serials ? c->serials : "", c->serials ? "\"," : "", c->record);
		tree_add(&m->tree, record);
	}
	check(m, TRANSITION_BIND, words, c->said);
	fd = openat(m->tree.fd, "state/devices/" A ".json", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd >= 0, c->left != NULL);
	if (fd >= 0)
		assert_true(read(fd, text, sizeof(text) - 1) > 0);
	if (c->left && !strstr(text, c->left))
		fail_msg("no %s in %s", c->left, text);
}

/* A record that is written again keeps what is known. */
static void serial_is_kept(void **state)
{
	char text[1024] = "";
	auto_close int fd = -1;
	struct machine *m = *state;

	machine_add(m, A, "e1000e", NULL);
	tree_add(&m->tree, RECORD(A, "\"serial\":\"" S1 "\","));
	check(m, TRANSITION_BIND, BARE, "'Done'");
	fd = openat(m->tree.fd, "state/devices/" A ".json", O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, S1));
	assert_non_null(strstr(text, "\"bound\":\"b00t\""));
}

/* Groups are numbered as the kernel finds them: a job of an old numbering is about nothing. */
static void groups_are_compared(void **state)
{
	auto_free char *left = NULL;
	struct machine *m = *state;

	machine_add(m, A, "e1000e", NULL);
	assert_int_equal(unlinkat(m->tree.fd, "sys/bus/pci/devices/" A "/iommu_group", 0), 0);
	check(m, TRANSITION_BIND, BARE,
	      "'result':'Failed','reason':'NoIOMMUBackend','address':'" A "','message':'" A
	      " has no IOMMU group");
	tree_add(&m->tree,
		 "sys/bus/pci/devices/" A "/iommu_group->../../../../kernel/iommu_groups/13");
	tree_add(&m->tree, "sys/kernel/iommu_groups/13/devices/");
	check(m, TRANSITION_BIND, BARE,
	      "'result':'Refused','reason':'DifferentDevice','address':'" A "','message':'" A
	      " is in IOMMU group 13 now, not 12");
	assert_int_equal(m->writes, 0);
	left = left_of(m, A);
	assert_string_equal(left, "e1000e - -");
}

/* It asserts nothing: it runs in a child. What it could read may be without what tells the device
 * from another. */
static bool ends_short(struct machine *m)
{
	struct rlimit before;
	struct rlimit none;
	auto_str struct str said = STR_INIT;
	struct sysfs_attr attr;

	if (getrlimit(RLIMIT_NOFILE, &before) != 0)
		return false;
	none = (struct rlimit){ 0, before.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &none) != 0 ||
	    sysfs_read(AT_FDCWD, "/dev/null", &attr, NULL) != -EMFILE ||
	    setrlimit(RLIMIT_NOFILE, &before) != 0)
		return false;
	machine_run(m, TRANSITION_BIND, BARE, &said);
	return strstr(str_cstr(&said), "'reason':'UseUnknown'") &&
	       strstr(str_cstr(&said), A " cannot be read: Too many open files");
}

/* A is a virtual function of B. Neither has a driver. */
static void a_disk_may_be_reached_by_a_virtual_function(void **state)
{
	static const char *const entries[] = {
		"sys/devices/pci0000:00/" B "/block/sda/dev=8:0\n",
		"sys/class/block/sda->../../devices/pci0000:00/" B "/block/sda",
		"sys/bus/pci/devices/" A "/class=0x010802\n",
		"sys/bus/pci/devices/" A "/physfn->../" B,
		MOUNTED,
	};
	struct machine *m = *state;

	machine_add(m, A, NULL, NULL);
	machine_add(m, B, NULL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(entries); i++)
		tree_add(&m->tree, entries[i]);
	check(m, TRANSITION_BIND, BARE, "'reason':'UseUnknown','address':'" A);
	check(m, TRANSITION_BIND, BARE " allow-unknown=1", "'result':'Done'");
}

static void a_helper_that_ran_short_of_descriptors_changes_nothing(void **state)
{
	struct machine *m = *state;
	auto_free char *left = NULL;
	int status = -1;
	pid_t child;

	machine_add(m, A, "e1000e", NULL);
	child = fork();
	if (child == 0)
		_exit(ends_short(m) ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	left = left_of(m, A);
	assert_string_equal(left, "e1000e - -");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &machine_fixture);
	suite_rows(&suite, serials, serial_matches_table);
	suite_rows(&suite, identities, identity_matches_table);
	suite_rows(&suite, changes, change_matches_table);
	suite_rows(&suite, later_uses, later_use_stops_it);
	suite_add(&suite, "a record that is written again keeps the serial number", serial_is_kept,
		  NULL);
	suite_add(&suite, "a job for another group than the function's is refused",
		  groups_are_compared, NULL);
	suite_add(&suite, "a disk may be reached by a virtual function without a driver",
		  a_disk_may_be_reached_by_a_virtual_function, NULL);
	suite_add(&suite, "a helper that ran short of descriptors changes nothing",
		  a_helper_that_ran_short_of_descriptors_changes_nothing, NULL);
	return suite_run(&suite, "transition_check");
}
