/* vf_change: what is written, said and left, from every kind of state. */
#include <sys/wait.h>

#include "unit/helper/vf_machine.h"

#define UNREADABLE_SWITCH VF_DIR "sriov_drivers_autoprobe=" TREE_TEN(TREE_TEN(TREE_TEN("01234")))
#define WORDS             "address=" VF_PF " id=8086:10c9"
#define DONE              "'Done'"
#define AUTO              "drivers_autoprobe"
#define VF0               "0000:03:10.0"
#define RECORD                \
	"{\"address\":\"" VF0 \
	"\",\"claim\":\"vm1-x\",\"uid\":\"u1\",\"driver\":\"vfio-pci\",\"id\":\"8086:10ca\"}"
#define SWITCHED VF_DIR "sriov_drivers_autoprobe=0\n", "state/autoprobe/" VF_PF "=on b00t\n"
#define ON_VFIO  "sys/bus/pci/devices/" VF0 "/driver->../../drivers/mlx5_vfio_pci"
#define PRIVILEGED \
	"; the agent needs more rights on the node, or its network namespace: install it with manifests/components/privileged"
#define AT(step) ",'address':'" VF_PF "','step':'" step "'"

/* clang-format off */
static struct change_case {
	const char *name;
	const char *words;
	int before;
	const char *entries[4]; /* more of the tree */
	const char *log;        /* of what was written */
	const char *end;
	int after;
	const char *autoprobe;
} cases[] = {
	{ "what is so already is left alone", WORDS " count=2", 2, { NULL }, "", DONE, 2, "on" },
	{ "without a number there stay as many as there are", WORDS, 3, { NULL }, "", DONE, 3, "on" },
	{ "from none to two, without drivers, now and later", WORDS " count=2", 0, { NULL },
	  AUTO "=0 numvfs=2", DONE, 2, "off recorded" },
	{ "drivers may take them if that is wanted", WORDS " count=2 autoprobe=1", 0, { NULL }, "numvfs=2", DONE, 2,
	  "on" },
	{ "from two to seven by way of none", WORDS " count=7", 2, { NULL },
	  AUTO "=0 numvfs=0 numvfs=7", DONE, 7, "off recorded" },
	{ "from seven to three by way of none", WORDS " count=3", 7, { NULL },
	  AUTO "=0 numvfs=0 numvfs=3", DONE, 3, "off recorded" },
	{ "to none at all, for which autoprobe does not matter", WORDS " count=0", 3, { NULL }, "numvfs=0", DONE, 0,
	  "on" },
	{ "autoprobe that is off already stays so", WORDS " count=1", 0, { VF_DIR "sriov_drivers_autoprobe=0\n" },
	  "numvfs=1", DONE, 1, "off" },
	{ "autoprobe that is off goes on for drivers", WORDS " count=1 autoprobe=1", 0,
	  { VF_DIR "sriov_drivers_autoprobe=0\n" }, AUTO "=1 numvfs=1", DONE, 1, "on recorded" },
	{ "and off again after them", WORDS " count=0", 2, { "state/autoprobe/" VF_PF "=off b00t\n" },
	  "numvfs=0 " AUTO "=0", DONE, 0, "off" },
	{ "what was switched stays so while there are functions", WORDS " count=2", 2, { SWITCHED }, "", DONE, 2,
	  "off recorded" },
	{ "also while their number changes", WORDS " count=3", 2, { SWITCHED }, "numvfs=0 numvfs=3", DONE, 3,
	  "off recorded" },
	{ "and is put back with the last of them", WORDS " count=0", 2, { SWITCHED }, "numvfs=0 " AUTO "=1", DONE, 0,
	  "on" },
	{ "or after somebody else has removed them", WORDS, 0, { SWITCHED }, AUTO "=1", DONE, 0, "on" },
	{ "drivers that are wanted for others end it", WORDS " count=3 autoprobe=1", 2, { SWITCHED },
	  AUTO "=1 numvfs=0 numvfs=3", DONE, 3, "on" },
	{ "a record of another boot is nobody's", WORDS " count=2", 2,
	  { VF_DIR "sriov_drivers_autoprobe=0\n", "state/autoprobe/" VF_PF "=on old\n" }, "", DONE, 2, "off recorded" },
	{ "a switch that cannot be read is not taken for none", WORDS " count=2", 0, { UNREADABLE_SWITCH }, "",
	  "'Failed','reason':'AutoprobeFailed'" AT("WaitLock") ",'errno':'EFBIG','message':'of " VF_PF
	  ": 'sriov_drivers_autoprobe' has more than 4095 bytes'", 0, "off" },
	{ "nor is its record forgotten", WORDS, 0, { UNREADABLE_SWITCH, "state/autoprobe/" VF_PF "=on b00t\n" }, "",
	  "'Failed','reason':'AutoprobeFailed'" AT("WaitLock") ",'errno':'EFBIG','message':'of " VF_PF
	  ": 'sriov_drivers_autoprobe' has more than 4095 bytes'", 0, "off recorded" },
	{ "a run after one that was cut off goes on", WORDS " count=2", 0, { SWITCHED }, "numvfs=2", DONE, 2,
	  "off recorded" },

	{ "what was before the run that was cut off counts, not what that has made of it", WORDS " count=2", 0,
	  { "state/autoprobe/" VF_PF "=off b00t\n" }, AUTO "=0 numvfs=2", DONE, 2, "off" },

	{ "more than the card can make", WORDS " count=8", 2, { NULL }, "",
	  "'Refused','reason':'TooManyVFs'" AT("WaitLock") ",'message':'" VF_PF " supports 7 virtual functions, not 8'",
	  2, "on" },
	{ "another card", "address=" VF_PF " id=8086:1533 count=0", 2, { NULL }, "",
	  "'Refused','reason':'DifferentDevice'" AT("WaitLock") ",'message':'" VF_PF
	  " is another device: '8086:10c9' instead of '8086:1533''", 2, "on" },
	{ "no card at all", "address=0000:04:00.0 id=8086:10c9 count=0", 2, { NULL }, "",
	  "'Refused','reason':'DeviceGone','address':'0000:04:00.0','step':'WaitLock',"
	  "'message':'there is no PCI function 0000:04:00.0'", 2, "on" },
	{ "a card whose driver cannot be read is not gone", WORDS " count=0", 2, { VF_DIR "driver->" TREE_UNREADABLE }, "",
	  "'Refused','reason':'UseUnknown'" AT("WaitLock") ",'errno':'ENAMETOOLONG','message':'" VF_PF
	  ": 'driver' has more than 1023 bytes'", 2, "on" },
	{ "one of them is claimed", WORDS " count=3", 2, { "state/devices/" VF0 ".json=" RECORD "\n" }, "",
	  "'Refused','reason':'VFsInUse'" AT("CheckHolders") ",'message':'" VF0 " is claimed by 'vm1-x''", 2, "on" },
	{ "the claims of those that are yet to be made stand in nobody's way", WORDS " count=3", 0,
	  { "state/devices/" VF0 ".json=" RECORD "\n" }, AUTO "=0 numvfs=3", DONE, 3, "off recorded" },
	{ "a record that cannot be read counts as a claim", WORDS " count=0", 2, { "state/devices/" VF0 ".json={}\n" },
	  "", "'Refused','reason':'VFsInUse'" AT("CheckHolders") ",'message':'" VF0
	  " may be claimed: its record cannot be read: '" VF0 ".json': 'address' is missing'", 2, "on" },
	{ "what cannot be seen may be in use: the functions", WORDS " count=0", 0, { VF_DIR "virtfn0->" TREE_UNREADABLE },
	  "", "'Refused','reason':'VFsInUse'" AT("WaitLock") ",'errno':'ENAMETOOLONG','message':'its virtual functions cannot be seen: "
	  "'virtfn0' has more than 1023 bytes'", 0, "on" },
	{ "a process has the group of one of them open", WORDS " count=0", 2,
	  { "dev/vfio/31=", "sys/dev/char/1:3->../../devices/virtual/vfio/31", "proc/123/fd/5->/dev/null" }, "",
	  "'Held','reason':'Held'" AT("CheckHolders") ",'message':'process 123 has /dev/null open'", 2, "on" },
	{ "a process has a device below one of them open", WORDS " count=0", 2,
	  { "sys/bus/pci/devices/" VF0 "/ptp/ptp0/dev=1:3\n", "sys/dev/char/1:3->../../devices/x/" VF0 "/ptp/ptp0",
	    "proc/123/fd/5->/dev/null" }, "",
	  "'Held','reason':'Held'" AT("CheckHolders") ",'message':'process 123 has /dev/null open'", 2, "on" },

	{ "the node has its address on one of them", WORDS " count=0", 2,
	  { "sys/devices/pci0000:00/" VF0 "/net/eth5/flags=0x1003\n",
	    "sys/class/net/eth5->../../devices/pci0000:00/" VF0 "/net/eth5",
	    "proc/1/net/route=Iface Destination Gateway Flags RefCnt Use Metric Mask\n"
	    "eth5 00000000 010200C0 0003 0 0 0 00000000\n" }, "",
	  "'Refused','reason':'VFsInUse'" AT("CheckHolders") ",'message':'" VF0
	  " is in use by the host: eth5 has the default route'", 2, "on" },

	{ "one of them has a driver that shows no interface", WORDS " count=0", 2,
	  { "sys/bus/pci/devices/" VF0 "/class=0x020000\n", "sys/bus/pci/devices/" VF0 "/driver->../../drivers/mlx5_core",
	    PROC_OF_HOST },
	  "", "'Refused','reason':'VFsInUse'" AT("CheckHolders") ",'message':'the agent cannot see whether the host uses " VF0
	  ": its driver mlx5_core shows no interface; take it off that driver if nothing uses it'", 2, "on" },

	{ "one of them is open for all that VFIO shows", WORDS " count=0", 2,
	  { ON_VFIO, "sys/bus/pci/devices/" VF0 "/enable=1\n" }, "",
	  "'Refused','reason':'VFsInUse'" AT("CheckHolders") ",'message':'" VF0
	  " is on mlx5_vfio_pci, and is enabled: a program may have it open'", 2, "on" },
	{ "or may be", WORDS " count=0", 2, { ON_VFIO, "sys/bus/pci/devices/" VF0 "/enable=" TREE_TEN(TREE_TEN(TREE_TEN("01234"))) },
	  "", "'Refused','reason':'VFsInUse'" AT("CheckHolders") ",'errno':'EFBIG','message':'" VF0
	  " is on mlx5_vfio_pci, and is enabled: a program may have it open'", 2, "on" },
	{ "nobody has it open, so that the next one is read", WORDS " count=0", 2,
	  { ON_VFIO, "sys/bus/pci/devices/" VF0 "/enable=0\n", "state/devices/0000:03:10.1.json={}\n" }, "",
	  "'Refused','reason':'VFsInUse'" AT("CheckHolders") ",'message':'0000:03:10.1 may be claimed: its record cannot "
	  "be read: '0000:03:10.1.json': 'address' is missing'", 2, "on" },
	{ "the driver of one of them cannot be read", WORDS " count=0", 2,
	  { "sys/bus/pci/devices/" VF0 "/class=0x120000\n",
	    "sys/bus/pci/devices/" VF0 "/driver->" TREE_UNREADABLE, PROC_OF_HOST },
	  "", "'Refused','reason':'VFsInUse'" AT("CheckHolders") ",'message':'" VF0
	  " may be in use by the host: its driver cannot be read'", 2, "on" },

	{ "settings of what was made just now", WORDS " count=2 vf=0 mac=02:00:00:00:00:01 vlan=5 vf=1 trust=1", 0,
	  { NULL }, AUTO "=0 numvfs=2 vf0:MAC address vf0:VLAN vf1:trust", DONE, 2, "off recorded" },
	{ "settings are put back when they were created again", WORDS " count=1 vf=0 spoofcheck=0", 2, { NULL },
	  AUTO "=0 numvfs=0 numvfs=1 vf0:spoof check", DONE, 1, "off recorded" },
	{ "settings that are so already are not written", WORDS " vf=0 spoofcheck=1 trust=0 vlan=0", 1, { NULL }, "", DONE,
	  1, "on" },
	{ "the MAC address of a function that somebody has, who is not trusted", WORDS " vf=1 mac=02:00:00:00:00:01", 2,
	  { "dev/vfio/31=" }, "vf1:MAC address", DONE, 2, "on" },
	{ "settings of what does not exist are passed over", WORDS " vf=1 trust=1", 1, { NULL }, "", DONE, 1, "on" },
};

static struct settings_case {
	const char *name;
	const char *words;
	int fault_at;
	int fault;
	const char *log;
	const char *end;
	int read_fault;
	bool is_admin;
} settings[] = {
	{ "a setting that the card refuses keeps no other from being set", WORDS " vf=0 vlan=5 trust=1 vf=1 trust=1", 1,
	  -EOPNOTSUPP, "vf0:VLAN vf0:trust vf1:trust",
	  "'Failed','reason':'SettingsFailed'" AT("SetFunctions") ",'errno':'EOPNOTSUPP','message':'the VLAN of virtual "
	  "function 0: change 'eth1' by rtnetlink: Operation not supported'", 0, true },
	{ "a setting that the card takes and does not keep", WORDS " vf=1 mac=02:00:00:00:00:01", 1,
	  VF_MACHINE_NO_EFFECT, "vf1:MAC address",
	  "'Failed','reason':'SettingsFailed'" AT("SetFunctions") ",'message':'the MAC address of virtual function 1 is "
	  "not what it was set to, and 0 more settings are not'", 0, true },
	{ "the card's interface is not in the agent's network namespace", WORDS " vf=1 vlan=5", 0, 0, "",
	  "'Failed','reason':'AgentNotPrivileged'" AT("SetFunctions") ",'errno':'ENODEV','message':'read 'eth1' by "
	  "rtnetlink: No such device" PRIVILEGED "'", -ENODEV, true },
	{ "the kernel cannot be asked for another reason", WORDS " vf=1 vlan=5", 0, 0, "",
	  "'Failed','reason':'SettingsFailed'" AT("SetFunctions") ",'errno':'ENOBUFS','message':'read 'eth1' by "
	  "rtnetlink: No buffer space available'", -ENOBUFS, true },
	{ "the agent may not change interfaces", WORDS " vf=1 vlan=5", 1, -EPERM, "vf1:VLAN",
	  "'Failed','reason':'AgentNotPrivileged'" AT("SetFunctions") ",'errno':'EPERM','message':'the VLAN of virtual "
	  "function 1: change 'eth1' by rtnetlink: Operation not permitted" PRIVILEGED "'", 0, false },
	{ "a driver answers an agent that may as if it might not", WORDS " vf=1 vlan=5", 1, -EPERM, "vf1:VLAN",
	  "'Failed','reason':'SettingsFailed'" AT("SetFunctions") ",'errno':'EPERM','message':'the VLAN of virtual "
	  "function 1: change 'eth1' by rtnetlink: Operation not permitted'", 0, true },
};

static struct fault_case {
	const char *name;
	const char *words;
	int fault_at;
	int fault;
	const char *log;
	const char *end;
	int after;
} faults[] = {
	{ "autoprobe that cannot be switched ends it before anything is lost", WORDS " count=3", 1, -EIO,
	  AUTO "=0",
	  "'Failed','reason':'AutoprobeFailed'" AT("SetAutoprobe") ",'errno':'EIO','message':'write 0 to "
	  "'sriov_drivers_autoprobe' of " VF_PF ": Input/output error'", 2 },
	{ "a number that cannot be removed", WORDS " count=3", 2, -EBUSY, AUTO "=0 numvfs=0 " AUTO "=1",
	  "'Failed','reason':'NumVFsFailed'" AT("RemoveFunctions") ",'errno':'EBUSY','message':'write 0 to "
	  "'sriov_numvfs' of " VF_PF ": Device or resource busy; it has 2 virtual functions'", 2 },
	{ "a number that cannot be made leaves autoprobe as it was", WORDS " count=3", 3, -ENOMEM,
	  AUTO "=0 numvfs=0 numvfs=3 " AUTO "=1",
	  "'Failed','reason':'NumVFsFailed'" AT("MakeFunctions") ",'errno':'ENOMEM','message':'write 3 to "
	  "'sriov_numvfs' of " VF_PF ": Cannot allocate memory; it has 0 virtual functions'", 0 },
	{ "a write that the kernel takes and nothing comes of", WORDS " count=3", 3, VF_MACHINE_NO_EFFECT,
	  AUTO "=0 numvfs=0 numvfs=3 " AUTO "=1",
	  "'Failed','reason':'NumVFsFailed'" AT("MakeFunctions") ",'message':'write 3 to 'sriov_numvfs' of " VF_PF
	  ": the kernel accepted the write, but the number did not change; it has 0 virtual functions'", 0 },
	{ "/sys that is read-only for the agent", WORDS " count=3", 1, -EROFS, AUTO "=0",
	  "'Failed','reason':'AgentNotPrivileged'" AT("SetAutoprobe") ",'errno':'EROFS','message':'write 0 to "
	  "'sriov_drivers_autoprobe' of " VF_PF ": Read-only file system" PRIVILEGED "'", 2 },
	{ "a number that a security module keeps the agent from", WORDS " count=3", 2, -EACCES,
	  AUTO "=0 numvfs=0 " AUTO "=1", "'Failed','reason':'AgentNotPrivileged'" AT("RemoveFunctions")
	  ",'errno':'EACCES','message':'write 0 to 'sriov_numvfs' of " VF_PF ": Permission denied; it has 2 virtual "
	  "functions" PRIVILEGED "'", 2 },
	{ "a number that the driver does not permit", WORDS " count=3", 2, -EPERM, AUTO "=0 numvfs=0 " AUTO "=1",
	  "'Failed','reason':'NumVFsFailed'" AT("RemoveFunctions") ",'errno':'EPERM','message':'write 0 to "
	  "'sriov_numvfs' of " VF_PF ": Operation not permitted; it has 2 virtual functions'", 2 },
};
/* clang-format on */

static void changes_match_the_table(void **state)
{
	const struct change_case *c = suite_row(state);
	auto_str struct str end = STR_INIT;
	struct vf_machine *m = *state;

	vf_machine_init(m, c->before);
	for (size_t i = 0; i < ARRAY_LEN(c->entries) && c->entries[i]; i++)
		tree_add(&m->tree, c->entries[i]);
	vf_machine_run(m, c->words, &end);
	assert_string_equal(str_cstr(&m->log), c->log);
	assert_string_equal(str_cstr(&end), c->end);
	assert_int_equal(m->count, c->after);
	assert_string_equal(vf_machine_autoprobe(m), c->autoprobe);
	/* The folders of those with more below cannot be removed by the machine. */
}

static void settings_match_the_table(void **state)
{
	const struct settings_case *c = suite_row(state);
	auto_str struct str end = STR_INIT;
	struct vf_machine *m = *state;

	vf_machine_init(m, 2);
	m->fault_at = c->fault_at;
	m->fault = c->fault;
	m->read_fault = c->read_fault;
	m->links.is_admin = c->is_admin;
	vf_machine_run(m, c->words, &end);
	assert_string_equal(str_cstr(&m->log), c->log);
	assert_string_equal(str_cstr(&end), c->end);
}

static void faults_match_the_table(void **state)
{
	const struct fault_case *c = suite_row(state);
	auto_str struct str end = STR_INIT;
	struct vf_machine *m = *state;

	vf_machine_init(m, 2);
	m->fault_at = c->fault_at;
	m->fault = c->fault;
	vf_machine_run(m, c->words, &end);
	assert_string_equal(str_cstr(&m->log), c->log);
	assert_string_equal(str_cstr(&end), c->end);
	assert_int_equal(m->count, c->after);
	assert_string_equal(vf_machine_autoprobe(m), "on");
}

static void no_interface_is_reported(void **state)
{
	auto_str struct str end = STR_INIT;
	struct vf_machine *m = *state;

	vf_machine_init(m, 1);
	m->no_links = true;
	vf_machine_run(m, WORDS " vf=0 trust=1", &end);
	assert_string_equal(str_cstr(&end),
			    "'Failed','reason':'SettingsFailed'" AT(
				    "SetFunctions") ",'message':'" VF_PF
						    " has no network interface, through which its "
						    "virtual functions are set'");
}

/* The user of a trusted function may have changed its address, but cannot change its VLAN. */
static void a_trusted_user_keeps_his_address(void **state)
{
	static const char words[] = WORDS " vf=1 mac=02:00:00:00:00:01 vlan=5 trust=1";
	auto_str struct str end = STR_INIT;
	struct vf_machine *m = *state;

	vf_machine_init(m, 2);
	m->settings.items[1].trust = 1;
	tree_add(&m->tree, "dev/vfio/31=");
	vf_machine_run(m, words, &end);
	assert_string_equal(str_cstr(&m->log), "vf1:VLAN");
	assert_string_equal(str_cstr(&end), DONE);
	assert_int_equal(unlinkat(m->tree.fd, "dev/vfio/31", 0), 0);
	vf_machine_run(m, words, &end);
	assert_string_equal(str_cstr(&m->log), "vf1:VLAN vf1:MAC address");
}

/* Somebody moves one of the functions: not even autoprobe is touched. */
static void a_group_that_is_moved_is_left_alone(void **state)
{
	static const char *const locks[] = { "state/group-20.lock", "state/group-31.lock" };

	for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
		auto_str struct str end = STR_INIT;
		struct vf_machine m;
		auto_close int fd = -1;

		vf_machine_init(&m, 2);
		fd = openat(m.tree.fd, locks[i], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
		vf_machine_run(&m, WORDS " count=0", &end);
		assert_non_null(strstr(str_cstr(&end), "'Busy','reason':'Busy'"));
		assert_string_equal(str_cstr(&m.log), "");
		vf_machine_done(&m);
	}
}

/* Which cannot be taken twice. */
static void functions_of_one_group_have_one_lock(void **state)
{
	auto_str struct str end = STR_INIT;
	struct vf_machine *m = *state;

	vf_machine_init(m, 0);
	m->one_group = true;
	assert_int_equal(vf_machine_set(m, 2), 0);
	vf_machine_run(m, WORDS " count=0", &end);
	assert_string_equal(str_cstr(&end), DONE);
	assert_int_equal(m->count, 0);
}

/* The power goes before each write in turn; the next run gets where it should. */
static void a_crash_anywhere_is_made_good(void **state)
{
	for (int at = 1; at <= 5; at++) {
		auto_str struct str end = STR_INIT;
		struct vf_machine m;
		int status;
		pid_t pid;

		vf_machine_init(&m, 2);
		pid = fork();
		if (pid == 0) {
			m.crash_at = at;
			vf_machine_run(&m, WORDS " count=3 vf=1 trust=1 vlan=9", &end);
			_exit(1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		/* What the child did to the tree, its memory took with it. */
		for (m.count = 0; m.count < VF_MACHINE_TOTAL; m.count++) {
			auto_free char *link = xasprintf(VF_DIR "virtfn%d", m.count);

			if (faccessat(m.tree.fd, link, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
				break;
		}
		vf_settings_done(&m.settings);
		for (int i = 0; i < m.count; i++)
			*vf_settings_add(&m.settings, i) = (struct vf_setting){ .index = i };
		vf_machine_run(&m, WORDS " count=3 vf=1 trust=1 vlan=9", &end);
		assert_string_equal(str_cstr(&end), DONE);
		assert_int_equal(m.count, 3);
		assert_string_equal(vf_machine_autoprobe(&m), "off recorded");
		assert_int_equal(m.settings.items[1].vlan, 9);
		vf_machine_done(&m);
	}
}

/* The scan tells of a switch that has to be put back, in this boot only. */
static void the_scan_lists_what_is_to_be_restored(void **state)
{
	static const char *const entries[] = { "sys/",
					       "proc/sys/kernel/random/boot_id=b00t\n",
					       "state/autoprobe/0000:03:00.0=on b00t\n",
					       "state/autoprobe/0000:03:00.1=off b00t\n",
					       "state/autoprobe/0000:04:00.0=on old\n",
					       "state/autoprobe/x=on b00t\n",
					       NULL };
	auto_str struct str lines = STR_INIT;

	scan_entries(entries, NULL, "autoprobe", &lines);
	assert_string_equal(str_cstr(&lines), "{'kind':'autoprobe','address':'0000:03:00.0'}\n"
					      "{'kind':'autoprobe','address':'0000:03:00.1'}\n");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a group that is moved is left alone",
		  a_group_that_is_moved_is_left_alone, NULL);
	suite_add(&suite, "a crash before any write is made good by the next run",
		  a_crash_anywhere_is_made_good, NULL);
	suite_add(&suite, "the scan lists what is to be restored",
		  the_scan_lists_what_is_to_be_restored, NULL);
	suite_fixture(&suite, &vf_machine_fixture);
	suite_rows(&suite, cases, changes_match_the_table);
	suite_rows(&suite, settings, settings_match_the_table);
	suite_rows(&suite, faults, faults_match_the_table);
	suite_add(&suite, "no interface is reported", no_interface_is_reported, NULL);
	suite_add(&suite, "a trusted user keeps his address", a_trusted_user_keeps_his_address,
		  NULL);
	suite_add(&suite, "functions of one group have one lock",
		  functions_of_one_group_have_one_lock, NULL);
	return suite_run(&suite, "vf_change");
}
