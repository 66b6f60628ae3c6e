/* transition: what is done, said and left, from every kind of state. */
#include <sys/file.h>

#include "unit/helper/machine.h"

#define A      "0000:01:00.0"
#define B      "0000:01:00.1"
#define NATIVE MACHINE_WORDS(A, " native=e1000e")
#define BOTH   NATIVE " " MACHINE_WORDS(B, " native=e1000e")
#define RECORD(more)                                                                          \
	"state/devices/" A ".json={\"address\":\"" A "\",\"claim\":\"vm1-x\",\"uid\":\"u1\"," \
	"\"driver\":\"vfio-pci\"," more "\"boot\":\"old\"}"
#define KNOWN                 RECORD("\"native\":\"e1000e\",\"id\":\"8086:10d3\",")
#define ON(address)           "'kind':'step','address':'" address "','step'"
#define STEP(name)            "{" ON(A) ":'" name "'}\n"
#define AT_END(address, more) "{'kind':'function','address':'" address "'" more "}\n"
#define BOUND                 ",'driver':'vfio-pci','override':'vfio-pci'"
#define DONE                  "{'kind':'end','result':'Done'}\n"
#define END(result, reason, more) \
	"{'kind':'end','result':'" result "','reason':'" reason "'" more "}\n"

#define NO_AUTOPROBE "sys/bus/pci/devices/" A "/physfn/sriov_drivers_autoprobe=0\n"

#define NULL_OPEN                                                                 \
	"{'kind':'holder','address':'" A "','pid':123,'detail':'process 123 has " \
	"/dev/null open'}\n"
#define NULL_END                                                                   \
	END("Held", "Held",                                                        \
	    ",'address':'" A "','step':'CheckHolders','message':'process 123 has " \
	    "/dev/null open'")
#define NULL_HELD      NULL_OPEN AT_END(A, ",'driver':'e1000e'") NULL_END
#define NULL_HELD_BARE NULL_OPEN AT_END(A, "") NULL_END

#define NO_ROUTES                                                                  \
	AT_END(A, ",'driver':'e1000e'")                                            \
	END("Refused", "UseUnknown",                                               \
	    ",'address':'" A                                                       \
	    "','step':'CheckHolders','message':'the agent cannot see whether the " \
	    "host uses " A ": 1 line of net/route has another form than expected'")
#define NOT_KNOWN(driver, why)                                                     \
	AT_END(A, ",'driver':'" driver "'")                                        \
	END("Refused", "UseUnknown",                                               \
	    ",'address':'" A                                                       \
	    "','step':'CheckHolders','message':'the agent cannot see whether the " \
	    "host uses " A ": " why "'")
#define ENABLED(count) "sys/bus/pci/devices/" A "/enable=" #count "\n"
#define MAY_BE_OPEN(driver)                                                           \
	AT_END(A, ",'driver':'" driver "'")                                           \
	END("Refused", "UseUnknown",                                                  \
	    ",'address':'" A "','step':'CheckHolders','message':'" A " is on " driver \
	    ", and is enabled: a program may have it open'")
#define UPLINK                                                                 \
	"sys/bus/pci/devices/" A "/net/eth1/flags=0x1003\n",                   \
		"sys/bus/pci/devices/" A "/net/eth1/operstate=up\n",           \
		"sys/class/net/eth1->../../devices/pci0000:00/" A "/net/eth1", \
		"sys/devices/pci0000:00/" A "/net->../../../bus/pci/devices/" A "/net"

/* clang-format off */
static struct transition_case {
	const char *name;
	enum transition_verb verb;
	const char *words;
	const char *first[2];   /* driver and override of A; driver and override of B, if it is there */
	bool two;
	const char *entries[5]; /* more of the tree */
	const char *lines;
	const char *left;       /* A and its record afterwards; NULL: a driver that cannot be read */
} cases[] = {
	{ "bind: native driver to vfio-pci", TRANSITION_BIND, NATIVE, { "e1000e" }, false, { NULL },
	  STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord") STEP("SetOverride") STEP("Unbind")
	  STEP("Probe") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: what is bound is left alone", TRANSITION_BIND, NATIVE, { "vfio-pci", "vfio-pci" }, false,
	  { KNOWN, "dev/vfio/12=" }, STEP("WaitLock") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: what was bound by hand becomes ours without an unbind", TRANSITION_BIND,
	  MACHINE_WORDS(A, ""), { "vfio-pci" }, false, { "dev/vfio/12=" },
	  STEP("WaitLock") STEP("WriteRecord") STEP("SetOverride") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "bind: what somebody else has bound, and nobody has open, is offered", TRANSITION_BIND,
	  MACHINE_WORDS(A, " native=vfio-pci"), { "vfio-pci", "vfio-pci" }, false,
	  { "dev/vfio/12=", "sys/bus/pci/devices/" A "/enable=0\n" }, STEP("WaitLock") STEP("CheckHolders")
	  STEP("WriteRecord") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: what somebody else has bound and has open is his", TRANSITION_BIND,
	  MACHINE_WORDS(A, " native=vfio-pci"), { "vfio-pci", "vfio-pci" }, false,
	  { "dev/vfio/12=", "proc/123/fd/9->/dev/vfio/12" }, STEP("WaitLock") STEP("CheckHolders")
	  "{'kind':'holder','address':'" A "','pid':123,'detail':'process 123 has /dev/vfio/12 open'}\n"
	  AT_END(A, BOUND) END("Held", "Held", ",'address':'" A "','step':'CheckHolders','message':'process "
	  "123 has /dev/vfio/12 open'"), "vfio-pci vfio-pci -" },
	{ "bind: so it is if the process is hidden", TRANSITION_BIND,
	  MACHINE_WORDS(A, " native=vfio-pci"), { "vfio-pci", "vfio-pci" }, false,
	  { "dev/vfio/12=", "sys/bus/pci/devices/" A "/enable=1\n" }, STEP("WaitLock") STEP("CheckHolders")
	  AT_END(A, BOUND) END("Refused", "UseUnknown", ",'address':'" A "','step':'CheckHolders','message':'" A
	  " is on vfio-pci, and is enabled: a program may have it open'"),
	  "vfio-pci vfio-pci -" },
	{ "bind: unless the claim says that it may be", TRANSITION_BIND,
	  MACHINE_WORDS(A, " native=vfio-pci allow-unknown=1"), { "vfio-pci", "vfio-pci" }, false,
	  { "dev/vfio/12=", "sys/bus/pci/devices/" A "/enable=1\n" }, STEP("WaitLock") STEP("CheckHolders")
	  STEP("WriteRecord") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: a program may have open what is on another driver of VFIO than the claim's", TRANSITION_BIND, NATIVE,
	  { "odd_vfio_pci" }, false, { "dev/vfio/12=", ENABLED(1) }, STEP("WaitLock") STEP("CheckHolders") STEP("CheckHolders")
	  MAY_BE_OPEN("odd_vfio_pci"), "odd_vfio_pci - -" },
	{ "bind: also if that is its native driver", TRANSITION_BIND, MACHINE_WORDS(A, " native=odd_vfio_pci"),
	  { "odd_vfio_pci" }, false, { "dev/vfio/12=", ENABLED(1) }, STEP("WaitLock") STEP("CheckHolders") STEP("CheckHolders")
	  MAY_BE_OPEN("odd_vfio_pci"), "odd_vfio_pci - -" },
	{ "bind: also if the kernel alone knows it as one of VFIO", TRANSITION_BIND, NATIVE, { "nvgrace" }, false,
	  { "dev/vfio/12=", ENABLED(1), "sys/bus/pci/devices/" A "/vfio-dev/vfio0/" }, STEP("WaitLock") STEP("CheckHolders")
	  STEP("CheckHolders") MAY_BE_OPEN("nvgrace"), "nvgrace - -" },
	{ "bind: also if the record is of the driver that it had then", TRANSITION_BIND, NATIVE, { "odd_vfio_pci" }, false,
	  { KNOWN, "dev/vfio/12=", ENABLED(1) }, STEP("WaitLock") STEP("CheckHolders") STEP("CheckHolders")
	  MAY_BE_OPEN("odd_vfio_pci"), "odd_vfio_pci - recorded" },
	{ "bind: also if the record is of the driver that it has", TRANSITION_BIND, NATIVE, { "odd_vfio_pci" }, false,
	  { "state/devices/" A ".json={\"address\":\"" A "\",\"claim\":\"vm1-x\",\"uid\":\"u1\","
	    "\"driver\":\"odd_vfio_pci\",\"id\":\"8086:10d3\"}", "dev/vfio/12=", ENABLED(1) }, STEP("WaitLock")
	  STEP("CheckHolders") STEP("CheckHolders") MAY_BE_OPEN("odd_vfio_pci"), "odd_vfio_pci - recorded" },
	{ "bind: unless the claim allows that", TRANSITION_BIND, NATIVE " allow-unknown=1", { "odd_vfio_pci" }, false,
	  { "dev/vfio/12=", ENABLED(1) }, STEP("WaitLock") STEP("CheckHolders") STEP("CheckHolders") STEP("WriteRecord")
	  STEP("SetOverride") STEP("Unbind") STEP("Probe") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: what nobody has open there is taken", TRANSITION_BIND, NATIVE, { "odd_vfio_pci" }, false,
	  { "dev/vfio/12=", ENABLED(0) }, STEP("WaitLock") STEP("CheckHolders") STEP("CheckHolders") STEP("WriteRecord")
	  STEP("SetOverride") STEP("Unbind") STEP("Probe") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: whether it is enabled cannot be read", TRANSITION_BIND, NATIVE, { "odd_vfio_pci" }, false,
	  { "dev/vfio/12=", "sys/bus/pci/devices/" A "/enable/" }, STEP("WaitLock") STEP("CheckHolders") STEP("CheckHolders")
	  MAY_BE_OPEN("odd_vfio_pci"), "odd_vfio_pci - -" },
	{ "bind: nobody can open what pci-stub has", TRANSITION_BIND, NATIVE, { "pci-stub" }, false, { ENABLED(1) },
	  STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord") STEP("SetOverride") STEP("Unbind") STEP("Probe")
	  AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: a driver of the host enables what it has", TRANSITION_BIND, NATIVE, { "e1000e" }, false, { ENABLED(1) },
	  STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord") STEP("SetOverride") STEP("Unbind") STEP("Probe")
	  AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: a pod has open what it was allocated", TRANSITION_BIND, NATIVE, { "vfio-pci", "vfio-pci" }, false,
	  { KNOWN, "dev/vfio/12=", ENABLED(1), "proc/123/fd/9->/dev/vfio/12" }, STEP("WaitLock") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "bind: also if it was allocated what somebody else had bound", TRANSITION_BIND, MACHINE_WORDS(A, " native=vfio-pci"),
	  { "vfio-pci", "vfio-pci" }, false, { RECORD("\"native\":\"vfio-pci\",\"id\":\"8086:10d3\","), "dev/vfio/12=",
	    ENABLED(1), "proc/123/fd/9->/dev/vfio/12" }, STEP("WaitLock") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: also if its record is lost, and the claim knows the native driver", TRANSITION_BIND, NATIVE,
	  { "vfio-pci", "vfio-pci" }, false, { "dev/vfio/12=", ENABLED(1), "proc/123/fd/9->/dev/vfio/12" },
	  STEP("WaitLock") STEP("WriteRecord") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: a driver's link that cannot be read is not the lack of a driver", TRANSITION_BIND, NATIVE, { NULL }, false,
	  { "sys/bus/pci/devices/" A "/driver->" TREE_UNREADABLE }, STEP("WaitLock") END("Refused", "UseUnknown", ",'address':'" A
	  "','errno':'ENAMETOOLONG','message':'" A ": \\'driver\\' has more than 1023 bytes'"), NULL },
	{ "release: not either", TRANSITION_RELEASE, NATIVE, { NULL, "vfio-pci" }, false,
	  { KNOWN, "sys/bus/pci/devices/" A "/driver->" TREE_UNREADABLE }, STEP("WaitLock") END("Refused", "UseUnknown", ",'address':'" A
	  "','errno':'ENAMETOOLONG','message':'" A ": \\'driver\\' has more than 1023 bytes'"), NULL },
	{ "bind: a claim created again gets the record", TRANSITION_BIND,
	  "address=" A " id=8086:10d3 driver=vfio-pci claim=vm1-x uid=u2", { "vfio-pci", "vfio-pci" }, false,
	  { KNOWN, "dev/vfio/12=" }, STEP("WaitLock") STEP("WriteRecord") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "bind: a device without driver", TRANSITION_BIND, MACHINE_WORDS(A, " native="), { NULL }, false,
	  { NULL }, STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord") STEP("SetOverride")
	  STEP("Probe") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: a device whose class cannot be read may be any that the host uses", TRANSITION_BIND, NATIVE, { "e1000e" },
	  false, { "sys/bus/pci/devices/" A "/class=odd\n" }, STEP("WaitLock") STEP("CheckHolders")
	  NOT_KNOWN("e1000e", "its class cannot be read"), "e1000e - -" },
	{ "bind: unless the claim says so", TRANSITION_BIND, NATIVE " allow-unknown=1", { "e1000e" },
	  false, { "sys/bus/pci/devices/" A "/class=odd\n" }, STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord")
	  STEP("SetOverride") STEP("Unbind") STEP("Probe") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: one without a driver is nobody's, whatever its class", TRANSITION_BIND, MACHINE_WORDS(A, " native="), { NULL },
	  false, { "sys/bus/pci/devices/" A "/class=odd\n" }, STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord")
	  STEP("SetOverride") STEP("Probe") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: a VGA that does not tell whether it is the boot VGA may have the console", TRANSITION_BIND, NATIVE, { "e1000e" },
	  false, { "sys/bus/pci/devices/" A "/class=0x030000\n", "sys/bus/pci/devices/" A "/boot_vga=odd\n",
	    "sys/class/vtconsole/vtcon1/name=frame buffer\n", "sys/class/vtconsole/vtcon1/bind=1\n" },
	  STEP("WaitLock") STEP("CheckHolders") NOT_KNOWN("e1000e", "the console is on the boot VGA, and whether this is it "
	  "cannot be read"), "e1000e - -" },
	{ "bind: a device of another kind than the questions without an answer", TRANSITION_BIND, NATIVE, { "e1000e" },
	  false, { "sys/bus/pci/devices/" A "/class=0x0b4000\n", "proc/1/net/route=odd\nodd\n" }, STEP("WaitLock")
	  STEP("CheckHolders") STEP("WriteRecord") STEP("SetOverride") STEP("Unbind") STEP("Probe") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "bind: refused while a process has a device of it open", TRANSITION_BIND, NATIVE, { "e1000e" }, false,
	  { "sys/bus/pci/devices/" A "/ptp/ptp0/dev=1:3\n", "sys/dev/char/1:3->../../devices/x/" A "/ptp/ptp0",
	    "proc/123/fd/5->/dev/null" }, STEP("WaitLock") STEP("CheckHolders") NULL_HELD,
	  "e1000e - -" },
	{ "bind: refused while a process has the group of a device without driver open", TRANSITION_BIND,
	  NATIVE, { NULL }, false, { "proc/123/fd/5->/dev/null",
	  "sys/dev/char/1:3->../../devices/virtual/vfio/12" }, STEP("WaitLock") STEP("CheckHolders") NULL_HELD_BARE,
	  "- - -" },
	{ "bind: refused while a process has the group open, though its function has its driver back", TRANSITION_BIND,
	  NATIVE, { "e1000e" }, false, { "dev/vfio/12=", "proc/123/fd/5->/dev/vfio/12" }, STEP("WaitLock")
	  STEP("CheckHolders") "{'kind':'holder','address':'" A "','pid':123,'detail':'process 123 has /dev/vfio/12 open'}\n"
	  AT_END(A, ",'driver':'e1000e'") END("Held", "Held", ",'address':'" A "','step':'CheckHolders','message':"
	  "'process 123 has /dev/vfio/12 open'"), "e1000e - -" },
	{ "bind: a claim of another name gets the record", TRANSITION_BIND,
	  "address=" A " id=8086:10d3 driver=vfio-pci claim=vm1-y uid=u1", { "vfio-pci", "vfio-pci" }, false,
	  { KNOWN, "dev/vfio/12=" }, STEP("WaitLock") STEP("WriteRecord") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "bind: a native driver that the record does not know is added", TRANSITION_BIND, NATIVE, { "e1000e" }, false,
	  { "state/devices/" A ".json={\"address\":\"" A "\",\"claim\":\"vm1-x\",\"uid\":\"u1\",\"driver\":\"vfio-pci\","
	    "\"id\":\"8086:10d3\",\"serial\":\"00-00-00-00-00-00-00-01\",\"bound\":\"old\"}",
	    "proc/sys/kernel/random/boot_id=old\n" }, STEP("WaitLock")
	  STEP("CheckHolders") STEP("WriteRecord") STEP("SetOverride") STEP("Unbind") STEP("Probe") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "bind: refused while a process has an NVIDIA card open", TRANSITION_BIND, MACHINE_WORDS(A, " native=nvidia"),
	  { "nvidia" }, false, { "proc/123/fd/5->/dev/nvidia0", "proc/driver/nvidia/gpus/" A "/information=Device Minor: \t 0\n" },
	  STEP("WaitLock") STEP("CheckHolders") "{'kind':'holder','address':'" A "','pid':123,'detail':'process 123 has "
	  "/dev/nvidia0 open'}\n" AT_END(A, ",'driver':'nvidia'") END("Held", "Held", ",'address':'" A "','step':"
	  "'CheckHolders','message':'process 123 has /dev/nvidia0 open'"), "nvidia - -" },
	{ "bind: an NVIDIA card is not free where it is hidden what processes have open", TRANSITION_BIND,
	  MACHINE_WORDS(A, " native=nvidia"), { "nvidia" }, false, { "proc/123/fd=no folder" },
	  STEP("WaitLock") STEP("CheckHolders") AT_END(A, ",'driver':'nvidia'") END("Refused", "UseUnknown",
	  ",'address':'" A "','step':'CheckHolders','message':'the agent cannot see whether a process uses " A ": the "
	  "agent needs the capability SYS_PTRACE to see what processes have open'"), "nvidia - -" },
	{ "bind: unless the claim says that it may be in use", TRANSITION_BIND,
	  MACHINE_WORDS(A, " native=nvidia allow-unknown=1"), { "nvidia" }, false,
	  { "proc/123/fd=no folder" }, STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord") STEP("SetOverride")
	  STEP("Unbind") STEP("Probe") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: a group that is no more is held by nobody", TRANSITION_BIND, NATIVE, { "e1000e" }, false,
	  { "proc/123/fd/5->/dev/vfio/12 (deleted)" }, STEP("WaitLock") STEP("CheckHolders")
	  STEP("WriteRecord") STEP("SetOverride") STEP("Unbind") STEP("Probe") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "bind: refused while mediated devices hang on it", TRANSITION_BIND, NATIVE, { "e1000e" }, false,
	  { "sys/bus/mdev/devices/x->../../../devices/pci0000:00/0000:00:01.0/" A "/x" }, STEP("WaitLock") STEP("CheckHolders")
	  AT_END(A, ",'driver':'e1000e'") END("Refused", "InUse", ",'address':'" A "','step':'CheckHolders','message':'" A
	  " has mediated devices; remove them first'"), "e1000e - -" },
	{ "bind: those of another card do not matter", TRANSITION_BIND, NATIVE, { "e1000e" }, false,
	  { "sys/bus/mdev/devices/x->../../../devices/pci0000:00/" A "/" B "/x" }, STEP("WaitLock") STEP("CheckHolders")
	  STEP("WriteRecord") STEP("SetOverride") STEP("Unbind") STEP("Probe") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "bind: virtual functions that cannot be seen may be there", TRANSITION_BIND, NATIVE, { "e1000e" }, false,
	  { "sys/bus/pci/devices/" A "/virtfn0->" TREE_UNREADABLE }, STEP("WaitLock") STEP("CheckHolders")
	  AT_END(A, ",'driver':'e1000e'") END("Refused", "UseUnknown", ",'address':'" A "','step':'CheckHolders','errno':"
	  "'ENAMETOOLONG','message':'the agent cannot see whether the host uses " A ": 'bus/pci/devices/" A "/virtfn0' has more "
	  "than 1023 bytes'"), "e1000e - -" },
	{ "release: a device that cannot be read is not gone, and its record stays", TRANSITION_RELEASE, NATIVE,
	  { "vfio-pci", "vfio-pci" }, false, { KNOWN, "sys/bus/pci/devices/" A "/physfn/sriov_drivers_autoprobe/" },
	  STEP("WaitLock") END("Refused", "UseUnknown", ",'address':'" A "','errno':'EISDIR','message':'" A ": read "
	  "'physfn/sriov_drivers_autoprobe': Is a directory'"), "vfio-pci vfio-pci recorded" },
	{ "bind: one that is gone", TRANSITION_BIND, MACHINE_WORDS(B, ""), { "e1000e" }, false, { NULL },
	  "{" ON(B) ":'WaitLock'}\n" END("Refused", "DeviceGone", ",'address':'" B "','message':"
	  "'there is no PCI function " B "'"), "e1000e - -" },
	{ "bind: another device than the claim's", TRANSITION_BIND,
	  "address=" A " id=8086:1533 driver=vfio-pci claim=vm1-x uid=u1", { "e1000e" }, false, { NULL },
	  STEP("WaitLock") AT_END(A, ",'driver':'e1000e'") END("Refused", "DifferentDevice",
	  ",'address':'" A "','message':'" A " is another device: \\'8086:10d3\\' instead of "
	  "\\'8086:1533\\''"), "e1000e - -" },
	{ "bind: another device than the record's", TRANSITION_BIND, NATIVE, { "e1000e" }, false,
	  { RECORD("\"native\":\"nvme\",\"id\":\"144d:a80a\",") },
	  STEP("WaitLock") AT_END(A, ",'driver':'e1000e'") END("Refused", "DifferentDevice",
	  ",'address':'" A "','message':'" A " is another device: \\'8086:10d3\\' instead of "
	  "\\'144d:a80a\\''"), "e1000e - recorded" },
	{ "bind: an override that is somebody else's", TRANSITION_BIND, NATIVE, { "e1000e", "pci-stub" },
	  false, { NULL }, STEP("WaitLock") AT_END(A, ",'driver':'e1000e','override':'pci-stub'")
	  END("Refused", "OverrideOwned", ",'address':'" A "','message':'the driver_override of " A
	  " is \\'pci-stub\\', which hostdev did not set; clear it, or leave the device to whoever set it'"),
	  "e1000e pci-stub -" },
	{ "bind: an override of its own driver that is somebody else's", TRANSITION_BIND, NATIVE, { "e1000e", "e1000e" },
	  false, { NULL }, STEP("WaitLock") AT_END(A, ",'driver':'e1000e','override':'e1000e'")
	  END("Refused", "OverrideOwned", ",'address':'" A "','message':'the driver_override of " A
	  " is \\'e1000e\\', which hostdev did not set; clear it, or leave the device to whoever set it'"),
	  "e1000e e1000e -" },
	{ "bind: one that a release left when it was cut off", TRANSITION_BIND, NATIVE, { "e1000e", "e1000e" }, false,
	  { KNOWN }, STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord") STEP("SetOverride") STEP("Unbind")
	  STEP("Probe") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: a physical function whose virtual ones would go with it", TRANSITION_BIND, NATIVE, { "e1000e" }, false,
	  { "sys/bus/pci/devices/" A "/virtfn0->../" B },
	  STEP("WaitLock") STEP("CheckHolders") AT_END(A, ",'driver':'e1000e'") END("Refused", "InUse",
	  ",'address':'" A "','step':'CheckHolders','message':'" A " has virtual functions; claim those, "
	  "or remove them (write 0 to its sriov_numvfs)'"), "e1000e - -" },
	{ "bind: what the host uses, as a scan sees it", TRANSITION_BIND, NATIVE, { "e1000e" }, false,
	  { "sys/bus/pci/devices/" A "/infiniband/" },
	  STEP("WaitLock") STEP("CheckHolders") AT_END(A, ",'driver':'e1000e'") END("Refused", "InUse",
	  ",'address':'" A "','step':'CheckHolders','message':'" A " is in use by the host: its interface is "
	  "in another network namespace, such as a pod\\'s'"), "e1000e - -" },
	{ "bind: a host whose routes cannot be seen", TRANSITION_BIND, NATIVE, { "e1000e" }, false,
	  { "proc/1/net/route=oops\n" }, STEP("WaitLock") STEP("CheckHolders") NO_ROUTES, "e1000e - -" },
	{ "bind: ... is no matter to a claim that allows it", TRANSITION_BIND, NATIVE " allow-unknown=1",
	  { "e1000e" }, false, { "proc/1/net/route=oops\n" }, STEP("WaitLock") STEP("CheckHolders")
	  STEP("WriteRecord") STEP("SetOverride") STEP("Unbind") STEP("Probe") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "bind: ... which does not allow what is in use", TRANSITION_BIND, NATIVE " allow-unknown=1", { "e1000e" },
	  false, { "sys/bus/pci/devices/" A "/infiniband/" },
	  STEP("WaitLock") STEP("CheckHolders") AT_END(A, ",'driver':'e1000e'") END("Refused", "InUse",
	  ",'address':'" A "','step':'CheckHolders','message':'" A " is in use by the host: its interface is "
	  "in another network namespace, such as a pod\\'s'"), "e1000e - -" },
	{ "bind: ... nor to a function without driver", TRANSITION_BIND, MACHINE_WORDS(A, " native="), { NULL },
	  false, { "proc/1/net/route=oops\n" }, STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord")
	  STEP("SetOverride") STEP("Probe") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: ... nor to a device that has nothing to do with networks", TRANSITION_BIND, NATIVE, { "e1000e" },
	  false, { "proc/1/net/route=oops\n", "sys/bus/pci/devices/" A "/class=0x120000\n" },
	  STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord") STEP("SetOverride") STEP("Unbind")
	  STEP("Probe") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "bind: an interface that may be an uplink", TRANSITION_BIND, NATIVE, { "e1000e" }, false, { UPLINK },
	  STEP("WaitLock") STEP("CheckHolders") AT_END(A, ",'driver':'e1000e'") END("Refused", "UseUnknown",
	  ",'address':'" A "','step':'CheckHolders','message':'the agent cannot see whether the host uses " A
	  ": eth1 is up and connected, and may carry routes that cannot be seen: take it down (ip link set "
	  "eth1 down) if it does not'"), "e1000e - -" },
	{ "bind: ... may be taken by a claim that allows it", TRANSITION_BIND, NATIVE " allow-unknown=1",
	  { "e1000e" }, false, { UPLINK }, STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord")
	  STEP("SetOverride") STEP("Unbind") STEP("Probe") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "plan of a bind: what cannot be seen refuses it, too", TRANSITION_PLAN_BIND, NATIVE, { "e1000e" }, false,
	  { "proc/1/net/route=oops\n" }, STEP("CheckHolders") NO_ROUTES, "e1000e - -" },
	{ "bind: a neighbour with a driver of the host", TRANSITION_BIND, NATIVE, { "e1000e", NULL }, true,
	  { NULL }, STEP("WaitLock") AT_END(A, ",'driver':'e1000e'") END("Failed", "GroupNotViable",
	  ",'address':'" A "','message':'" B ", in the same IOMMU group, is bound to e1000e'"),
	  "e1000e - -" },
	{ "bind: a group that is claimed as a whole", TRANSITION_BIND, BOTH, { "e1000e" }, true, { NULL },
	  STEP("WaitLock") STEP("CheckHolders") STEP("WriteRecord") "{" ON(B) ":'WriteRecord'}\n"
	  STEP("SetOverride") STEP("Unbind") STEP("Probe") "{" ON(B) ":'SetOverride'}\n"
	  "{" ON(B) ":'Unbind'}\n{" ON(B) ":'Probe'}\n" AT_END(A, BOUND) AT_END(B, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "plan of a bind: nothing is changed", TRANSITION_PLAN_BIND, NATIVE, { "e1000e" }, false, { NULL },
	  STEP("CheckHolders") STEP("WriteRecord") STEP("SetOverride") STEP("Unbind") STEP("Probe")
	  AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "plan of a release: nothing is changed", TRANSITION_PLAN_RELEASE, NATIVE,
	  { "vfio-pci", "vfio-pci" }, false, { KNOWN }, STEP("CheckHolders") STEP("ClearOverride")
	  STEP("Unbind") STEP("Bind") STEP("RemoveRecord") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci recorded" },
	{ "plan of a release whose native driver would have to be loaded", TRANSITION_PLAN_RELEASE,
	  MACHINE_WORDS(A, " native=igb"), { "vfio-pci", "vfio-pci" }, false, { NULL }, STEP("CheckHolders")
	  STEP("ClearOverride") STEP("Unbind") STEP("LoadModule") STEP("Bind") AT_END(A, BOUND) DONE,
	  "vfio-pci vfio-pci -" },
	{ "release: back to the native driver", TRANSITION_RELEASE, NATIVE, { "vfio-pci", "vfio-pci" },
	  false, { KNOWN }, STEP("WaitLock") STEP("CheckHolders") STEP("ClearOverride") STEP("Unbind")
	  STEP("Bind") STEP("RemoveRecord") AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "release: a virtual function that no driver is offered gets its own by an override", TRANSITION_RELEASE,
	  NATIVE, { "vfio-pci", "vfio-pci" }, false, { KNOWN, NO_AUTOPROBE }, STEP("WaitLock") STEP("CheckHolders")
	  STEP("ClearOverride") STEP("Unbind") STEP("SetOverride") STEP("Probe") STEP("ClearOverride")
	  STEP("RemoveRecord") AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "release: and one that is offered to drivers needs none", TRANSITION_RELEASE,
	  NATIVE, { "vfio-pci", "vfio-pci" }, false, { KNOWN, "sys/bus/pci/devices/" A "/physfn/sriov_drivers_autoprobe=1\n" },
	  STEP("WaitLock") STEP("CheckHolders") STEP("ClearOverride") STEP("Unbind") STEP("Bind")
	  STEP("RemoveRecord") AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "release: cut off before its own driver was asked", TRANSITION_RELEASE, NATIVE, { NULL, "e1000e" }, false,
	  { KNOWN, NO_AUTOPROBE }, STEP("WaitLock") STEP("CheckHolders") STEP("Probe") STEP("ClearOverride")
	  STEP("RemoveRecord") AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "release: cut off before that override was cleared", TRANSITION_RELEASE, NATIVE, { "e1000e", "e1000e" }, false,
	  { KNOWN, NO_AUTOPROBE }, STEP("WaitLock") STEP("ClearOverride") STEP("RemoveRecord")
	  AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "plan of such a release", TRANSITION_PLAN_RELEASE, NATIVE, { "vfio-pci", "vfio-pci" }, false,
	  { KNOWN, NO_AUTOPROBE }, STEP("CheckHolders") STEP("ClearOverride") STEP("Unbind") STEP("SetOverride")
	  STEP("Probe") STEP("ClearOverride") STEP("RemoveRecord") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci recorded" },
	{ "release: a virtual function without driver is left without, autoprobe or not", TRANSITION_RELEASE,
	  MACHINE_WORDS(A, " native="), { "vfio-pci", "vfio-pci" }, false, { NO_AUTOPROBE }, STEP("WaitLock")
	  STEP("CheckHolders") STEP("ClearOverride") STEP("Unbind") AT_END(A, "") DONE, "- - -" },
	{ "release: the record's native driver beats the caller's", TRANSITION_RELEASE,
	  MACHINE_WORDS(A, " native=igb"), { "vfio-pci", "vfio-pci" }, false, { KNOWN },
	  STEP("WaitLock") STEP("CheckHolders") STEP("ClearOverride") STEP("Unbind") STEP("Bind")
	  STEP("RemoveRecord") AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "release: a record that cannot be read goes with the others", TRANSITION_RELEASE, NATIVE,
	  { "vfio-pci", "vfio-pci" }, false, { "state/devices/" A ".json={" }, STEP("WaitLock")
	  STEP("CheckHolders") STEP("ClearOverride") STEP("Unbind") STEP("Bind") STEP("RemoveRecord")
	  AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "release: a device that had no driver has none again", TRANSITION_RELEASE,
	  MACHINE_WORDS(A, " native="), { "vfio-pci", "vfio-pci" }, false, { NULL }, STEP("WaitLock")
	  STEP("CheckHolders") STEP("ClearOverride") STEP("Unbind") AT_END(A, "") DONE, "- - -" },
	{ "release: with the native driver not known the kernel chooses", TRANSITION_RELEASE,
	  MACHINE_WORDS(A, ""), { "vfio-pci", "vfio-pci" }, false, { NULL }, STEP("WaitLock")
	  STEP("CheckHolders") STEP("ClearOverride") STEP("Unbind") STEP("Probe")
	  AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "release: what was on vfio-pci before stays there, without our override", TRANSITION_RELEASE,
	  MACHINE_WORDS(A, " native=e1000e"), { "vfio-pci", "vfio-pci" }, false,
	  { RECORD("\"native\":\"vfio-pci\",\"id\":\"8086:10d3\",") },
	  STEP("WaitLock") STEP("CheckHolders") STEP("ClearOverride") STEP("RemoveRecord")
	  AT_END(A, ",'driver':'vfio-pci'") DONE, "vfio-pci - -" },
	{ "release: with the override that it had before", TRANSITION_RELEASE,
	  MACHINE_WORDS(A, " native=e1000e"), { "vfio-pci", "vfio-pci" }, false,
	  { RECORD("\"native\":\"vfio-pci\",\"override\":\"vfio-pci\",\"id\":\"8086:10d3\",") },
	  STEP("WaitLock") STEP("RemoveRecord") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci -" },
	{ "release: the same without a record, as its claim says", TRANSITION_RELEASE,
	  MACHINE_WORDS(A, " native=vfio-pci"), { "vfio-pci", "vfio-pci" }, false, { NULL },
	  STEP("WaitLock") STEP("CheckHolders") STEP("ClearOverride") AT_END(A, ",'driver':'vfio-pci'") DONE,
	  "vfio-pci - -" },
	{ "release: what was on vfio-pci and came up on its own driver stays on that", TRANSITION_RELEASE, NATIVE,
	  { "e1000e" }, false, { RECORD("\"native\":\"vfio-pci\",\"id\":\"8086:10d3\",") },
	  STEP("WaitLock") STEP("RemoveRecord") AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "release: to no driver, as the job says", TRANSITION_RELEASE, NATIVE " release=none", { "vfio-pci", "vfio-pci" },
	  false, { KNOWN }, STEP("WaitLock") STEP("CheckHolders") STEP("ClearOverride") STEP("Unbind")
	  STEP("RemoveRecord") AT_END(A, "") DONE, "- - -" },
	{ "release: to no driver, as the record says", TRANSITION_RELEASE, NATIVE, { "vfio-pci", "vfio-pci" },
	  false, { RECORD("\"native\":\"e1000e\",\"release\":\"none\",\"id\":\"8086:10d3\",") }, STEP("WaitLock")
	  STEP("CheckHolders") STEP("ClearOverride") STEP("Unbind") STEP("RemoveRecord") AT_END(A, "") DONE, "- - -" },
	{ "release: to no driver leaves what has one again", TRANSITION_RELEASE, NATIVE " release=none", { "e1000e" },
	  false, { KNOWN }, STEP("WaitLock") STEP("RemoveRecord") AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "release: to no driver leaves what was on vfio-pci before", TRANSITION_RELEASE, NATIVE " release=none",
	  { "vfio-pci", "vfio-pci" }, false, { RECORD("\"native\":\"vfio-pci\",\"id\":\"8086:10d3\",") },
	  STEP("WaitLock") STEP("CheckHolders") STEP("ClearOverride") STEP("RemoveRecord")
	  AT_END(A, ",'driver':'vfio-pci'") DONE, "vfio-pci - -" },
	{ "release: what is restored is left alone", TRANSITION_RELEASE, NATIVE, { "e1000e" }, false,
	  { KNOWN }, STEP("WaitLock") STEP("RemoveRecord") AT_END(A, ",'driver':'e1000e'") DONE,
	  "e1000e - -" },
	{ "release: what somebody else has taken is left alone", TRANSITION_RELEASE, NATIVE,
	  { "uio_pci_generic", "uio_pci_generic" }, false, { KNOWN }, STEP("WaitLock") STEP("RemoveRecord")
	  AT_END(A, ",'driver':'uio_pci_generic','override':'uio_pci_generic'") DONE,
	  "uio_pci_generic uio_pci_generic -" },
	{ "release: a record cannot take a device from a driver of the host's", TRANSITION_RELEASE, NATIVE,
	  { "ahci", "ahci" }, false, { "state/devices/" A ".json={\"address\":\"" A "\",\"claim\":\"vm1-x\",\"uid\":\"u1\","
	    "\"driver\":\"ahci\",\"native\":\"e1000e\",\"id\":\"8086:10d3\"}" }, STEP("WaitLock") STEP("RemoveRecord")
	  AT_END(A, ",'driver':'ahci','override':'ahci'") DONE, "ahci ahci -" },
	{ "release: not a plan for it either", TRANSITION_PLAN_RELEASE, NATIVE,
	  { "ahci" }, false, { "state/devices/" A ".json={\"address\":\"" A "\",\"claim\":\"vm1-x\",\"uid\":\"u1\","
	    "\"driver\":\"ahci\",\"id\":\"8086:10d3\"}" }, STEP("RemoveRecord")
	  AT_END(A, ",'driver':'ahci'") DONE, "ahci - recorded" },
	{ "release: a driver that the kernel knows as one of VFIO gives the device back", TRANSITION_RELEASE, NATIVE,
	  { "ours" }, false, { "state/devices/" A ".json={\"address\":\"" A "\",\"claim\":\"vm1-x\",\"uid\":\"u1\","
	    "\"driver\":\"ours\",\"native\":\"e1000e\",\"id\":\"8086:10d3\"}", "sys/bus/pci/devices/" A "/vfio-dev/vfio0/" },
	  STEP("WaitLock") STEP("CheckHolders") STEP("Unbind") STEP("Bind") STEP("RemoveRecord")
	  AT_END(A, ",'driver':'e1000e'") DONE, "e1000e - -" },
	{ "release: another device there is left alone", TRANSITION_RELEASE, NATIVE,
	  { "vfio-pci", "vfio-pci" }, false, { RECORD("\"native\":\"nvme\",\"id\":\"144d:a80a\",") },
	  STEP("WaitLock") STEP("RemoveRecord") AT_END(A, BOUND) DONE, "vfio-pci vfio-pci -" },
	{ "release: of what is gone only the record is there", TRANSITION_RELEASE,
	  MACHINE_WORDS("0000:09:00.0", ""), { "e1000e" }, false,
	  { "state/devices/0000:09:00.0.json={\"address\":\"0000:09:00.0\",\"claim\":\"c\",\"uid\":\"u\","
	    "\"driver\":\"vfio-pci\",\"id\":\"8086:10d3\"}" },
	  "{" ON("0000:09:00.0") ":'WaitLock'}\n{" ON("0000:09:00.0") ":'RemoveRecord'}\n" DONE,
	  "e1000e - -" },
	{ "release: refused while a process has the group open", TRANSITION_RELEASE, NATIVE,
	  { "vfio-pci", "vfio-pci" }, false,
	  { KNOWN, "proc/123/comm=qemu-system-x86\n", "proc/123/fd/5->/dev/vfio/12" },
	  STEP("WaitLock") STEP("CheckHolders") "{'kind':'holder','address':'" A "','pid':123,'command':"
	  "'qemu-system-x86','detail':'process 123 (qemu-system-x86) has /dev/vfio/12 open'}\n"
	  AT_END(A, BOUND) END("Held", "Held", ",'address':'" A "','step':'CheckHolders','message':"
	  "'process 123 (qemu-system-x86) has /dev/vfio/12 open'"), "vfio-pci vfio-pci recorded" },
};
/* clang-format on */

/* The state of A as the table has it: driver, override, and whether there is a record. */
static void check_left(struct machine *m, const char *left)
{
	auto_free char *seen = machine_state(m, A);
	auto_free char *full =
		xasprintf("%s %s", seen, machine_has_record(m, A) ? "recorded" : "-");

	assert_string_equal(full, left);
}

/* Messages quote with single quotes, which the lines of the table have for double ones. */
static char *unescape(const char *lines)
{
	auto_str struct str plain = STR_INIT;

	for (; *lines; lines++) {
		if (*lines != '\\')
			str_add_char(&plain, *lines);
	}
	return str_detach(&plain);
}

static void transition_matches_table(void **state)
{
	const struct transition_case *c = suite_row(state);
	auto_free char *lines = unescape(c->lines);
	auto_str struct str said = STR_INIT;
	struct machine *m = *state;

	m->records_come_first = c->verb == TRANSITION_BIND;
	machine_add_driver(m, "uio_pci_generic");
	machine_add(m, A, c->first[0], c->first[1]);
	if (c->two)
		machine_add(m, B, "e1000e", NULL);
	for (size_t i = 0; i < ARRAY_LEN(c->entries) && c->entries[i]; i++)
		tree_add(&m->tree, c->entries[i]);
	machine_run(m, c->verb, c->words, &said);
	assert_string_equal(str_cstr(&said), lines);
	if (c->left)
		check_left(m, c->left);
	else
		assert_int_equal(m->writes, 0);
}

/* Run A alone through @verb and expect @reason in the last line, and @left of it. */
static void expect(struct machine *m, enum transition_verb verb, const char *reason,
		   const char *left)
{
	auto_str struct str said = STR_INIT;

	machine_run(m, verb, NATIVE, &said);
	if (!strstr(str_cstr(&said), reason))
		fail_msg("no %s in %s", reason, str_cstr(&said));
	check_left(m, left);
}

/* As driverctl does it, and as the kernel's command line does: whatever it was, so it is again. */
static void offered_before(void **state)
{
	static const char *const overrides[] = { NULL, "vfio-pci" };
	static const char *const left[] = { "vfio-pci - -", "vfio-pci vfio-pci -" };

	for (size_t i = 0; i < ARRAY_LEN(overrides); i++) {
		auto_str struct str said = STR_INIT;
		struct machine m;

		machine_init(&m);
		machine_add(&m, A, "vfio-pci", overrides[i]);
		tree_add(&m.tree, "dev/vfio/12=");
		machine_run(&m, TRANSITION_BIND, MACHINE_WORDS(A, " native=vfio-pci"), &said);
		check_left(&m, "vfio-pci vfio-pci recorded");
		/* A new claim knows no more than the record. */
		machine_run(&m, TRANSITION_BIND,
			    "address=" A " id=8086:10d3 driver=vfio-pci claim=vm1-x uid=u2", &said);
		machine_run(&m, TRANSITION_RELEASE, MACHINE_WORDS(A, ""), &said);
		check_left(&m, left[i]);
		machine_done(&m);
	}
}

/* The claim asked for it at the bind, so the release leaves the device without a driver even if it
 * does not ask for it. A bind that fails restores the driver: no pod has had the device. */
static void driverless_as_recorded(void **state)
{
	auto_str struct str said = STR_INIT;
	struct machine *m = *state;

	machine_add(m, A, "e1000e", NULL);
	m->vfio_refuses = true;
	machine_run(m, TRANSITION_BIND, NATIVE " release=none", &said);
	check_left(m, "e1000e - -");
	m->vfio_refuses = false;
	machine_run(m, TRANSITION_BIND, NATIVE " release=none", &said);
	machine_run(m, TRANSITION_BIND,
		    "address=" A " id=8086:10d3 driver=vfio-pci claim=vm1-x uid=u2", &said);
	machine_run(m, TRANSITION_RELEASE, NATIVE, &said);
	check_left(m, "- - -");
}

/* A node that boots without the administrator's setting: its own driver is what it goes back to. */
static void offered_no_more(void **state)
{
	auto_str struct str said = STR_INIT;
	struct machine *m = *state;

	machine_add(m, A, "e1000e", NULL);
	tree_add(&m->tree, RECORD("\"native\":\"vfio-pci\",\"id\":\"8086:10d3\","));
	machine_run(m, TRANSITION_BIND, MACHINE_WORDS(A, " native=vfio-pci"), &said);
	check_left(m, "vfio-pci vfio-pci recorded");
	machine_run(m, TRANSITION_RELEASE, MACHINE_WORDS(A, ""), &said);
	check_left(m, "e1000e - -");
}

/* As with vDPA: a driver has the card, and no interface tells of it. */
static void without_an_interface(void **state)
{
	static const struct {
		const char *driver;
		const char *words;
		const char *reason;
	} rows[] = {
		{ "mlx5_core", NATIVE,
		  "'message':'the agent cannot see whether the host uses " A
		  ": its driver mlx5_core shows no interface; take it off that driver if "
		  "nothing uses it'" },
		{ "mlx5_core", NATIVE " allow-unknown=1", "'result':'Done'" },
		{ "uio_pci_generic", NATIVE, "'result':'Done'" },
		{ "pci-stub", NATIVE, "'result':'Done'" },
		{ "odd_vfio_pci", NATIVE, "'result':'Done'" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_str struct str said = STR_INIT;
		struct machine m;

		machine_init(&m);
		machine_add(&m, A, rows[i].driver, NULL);
		assert_int_equal(
			unlinkat(m.tree.fd, "sys/bus/pci/devices/" A "/net/eth1", AT_REMOVEDIR), 0);
		assert_int_equal(unlinkat(m.tree.fd, "sys/bus/pci/devices/" A "/net", AT_REMOVEDIR),
				 0);
		machine_run(&m, TRANSITION_BIND, rows[i].words, &said);
		if (!strstr(str_cstr(&said), rows[i].reason))
			fail_msg("%s: no %s in %s", rows[i].driver, rows[i].reason,
				 str_cstr(&said));
		machine_done(&m);
	}
}

/* The disk 8:0 of the device, and a partition of it, which is not asked about. */
static struct disk_case {
	const char *name;
	const char *words;
	int fault;
	int minor;        /* of the node, of major 8; -1: it is no block device */
	const char *held; /* at each write */
	const char *said;
} disks[] = {
	{ "a disk is held until its driver has gone", NATIVE, 0, 0, "110", "'result':'Done'" },
	{ "one that the kernel has taken is in use", NATIVE " allow-unknown=1", -EBUSY, 0, "",
	  "'reason':'InUse','address':'" A "','step':'CheckHolders','errno':'EBUSY','message':'" A
	  " is in use by the host: the kernel uses the disk sda, for a file system, ZFS, a RAID, a volume or a target'" },
	{ "without descriptors nothing is known", NATIVE, -EMFILE, 0, "",
	  "'reason':'UseUnknown','address':'" A "','step':'CheckHolders','errno':'EMFILE'" },
	{ "nor without files", NATIVE, -ENFILE, 0, "", "'errno':'ENFILE'" },
	{ "nor without memory", NATIVE, -ENOMEM, 0, "", "'errno':'ENOMEM'" },
	{ "who may open no disk asks the scan only", NATIVE, -EPERM, 0, "000", "'result':'Done'" },
	{ "another device's node is not the disk", NATIVE, 0, 1, "000", "'result':'Done'" },
	{ "nor is what is no device", NATIVE, 0, -1, "000", "'result':'Done'" },
};

static void disks_are_taken(void **state)
{
	static const char *const entries[] = {
		"sys/devices/pci0000:00/" A "/block/sda/dev=8:0\n",
		"sys/class/block/sda->../../devices/pci0000:00/" A "/block/sda",
		"sys/devices/pci0000:00/" A "/block/sda/sda1/dev=8:1\n",
		"sys/class/block/sda1->../../devices/pci0000:00/" A "/block/sda/sda1",
		"sys/devices/pci0000:00/0000:09:00.0/block/sdb/dev=8:16\n",
		"sys/class/block/sdb->../../devices/pci0000:00/0000:09:00.0/block/sdb",
	};
	const struct disk_case *c = suite_row(state);
	auto_str struct str said = STR_INIT;
	struct machine *m = *state;

	machine_add(m, A, "e1000e", NULL);
	for (size_t i = 0; i < ARRAY_LEN(entries); i++)
		tree_add(&m->tree, entries[i]);
	m->disk_fault = c->fault;
	m->disk_number = c->minor < 0 ? 0 : makedev(8, (unsigned)c->minor);
	m->held = c->held;
	machine_run(m, TRANSITION_BIND, c->words, &said);
	if (!strstr(str_cstr(&said), c->said))
		fail_msg("no %s in %s", c->said, str_cstr(&said));
	assert_int_equal(m->writes, strlen(c->held));
	assert_false(machine_holds_disk());
}

static void missing_drivers(void **state)
{
	struct machine *m = *state;

	machine_add(m, A, "e1000e", NULL);
	assert_int_equal(unlinkat(m->tree.fd, "sys/bus/pci/drivers/vfio-pci", AT_REMOVEDIR), 0);
	expect(m, TRANSITION_BIND, "'reason':'DriverMissing'", "e1000e - -");
	m->loads = "vfio-pci";
	assert_int_equal(unlinkat(m->tree.fd, "sys/module/vfio_iommu_type1", AT_REMOVEDIR), 0);
	expect(m, TRANSITION_BIND, "'reason':'NoIOMMUBackend'", "e1000e - -");
	tree_add(&m->tree, "dev/iommu=");
	expect(m, TRANSITION_BIND, "'result':'Done'", "vfio-pci vfio-pci recorded");
	assert_int_equal(unlinkat(m->tree.fd, "sys/bus/pci/drivers/e1000e", AT_REMOVEDIR), 0);
	expect(m, TRANSITION_RELEASE, "'reason':'NativeDriverMissing'", "- - recorded");
	m->loads = "e1000e";
	expect(m, TRANSITION_RELEASE, "'result':'Done'", "e1000e - -");
}

/* As after `modprobe -r vfio-pci`: the driver_override stays. */
static void driver_takes_it_when_loaded(void **state)
{
	struct machine *m = *state;

	machine_add(m, A, NULL, "vfio-pci");
	assert_int_equal(unlinkat(m->tree.fd, "sys/bus/pci/drivers/vfio-pci", AT_REMOVEDIR), 0);
	m->loads = "vfio-pci";
	expect(m, TRANSITION_BIND, "'result':'Done'", "vfio-pci vfio-pci recorded");
}

static void what_the_kernel_will_not(void **state)
{
	struct machine *m = *state;

	machine_add(m, A, "e1000e", NULL);
	m->vfio_refuses = true;
	expect(m, TRANSITION_BIND, "'reason':'ProbeFailed'", "e1000e - -");
	m->vfio_refuses = false;
	m->no_node = true;
	expect(m, TRANSITION_BIND, "'reason':'NodeMissing'", "e1000e - -");
}

/* new_id makes vfio-pci take every device of the kind, so the kernel's choice is vfio-pci again. */
static void dynamic_id(void **state)
{
	auto_str struct str said = STR_INIT;
	struct machine *m = *state;

	machine_add(m, A, "vfio-pci", "vfio-pci");
	m->grabs = true;
	machine_run(m, TRANSITION_RELEASE, MACHINE_WORDS(A, ""), &said);
	assert_non_null(strstr(str_cstr(&said), "'reason':'NativeBindFailed'"));
	assert_non_null(strstr(str_cstr(&said), "remove_id"));
}

static void no_record_no_change(void **state)
{
	struct machine m;

	machine_init(&m);
	machine_add(&m, A, "e1000e", NULL);
	tree_add(&m.tree, "state/devices=a file where the folder should be");
	expect(&m, TRANSITION_BIND, "'reason':'StateNotWritable'", "e1000e - -");
	expect(&m, TRANSITION_BIND, "in the state directory '", "e1000e - -");
	assert_int_equal(m.writes, 0);
	machine_done(&m);
	machine_init(&m);
	machine_add(&m, A, "e1000e", NULL);
	tree_add(&m.tree, "state=a file where the directory should be");
	expect(&m, TRANSITION_BIND, "Not a directory; nothing is changed without a record of it",
	       "e1000e - -");
	assert_int_equal(m.writes, 0);
	machine_done(&m);
}

static void locked_group(void **state)
{
	struct machine *m = *state;
	int fd;

	machine_add(m, A, "e1000e", NULL);
	tree_add(&m->tree, "state/group-12.lock=4711\n");
	fd = openat(m->tree.fd, "state/group-12.lock", O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	expect(m, TRANSITION_BIND, "'result':'Busy','reason':'Busy'", "e1000e - -");
	expect(m, TRANSITION_BIND, "'pid':4711", "e1000e - -");
	close(fd);
	expect(m, TRANSITION_BIND, "'result':'Done'", "vfio-pci vfio-pci recorded");
}

/* The agent hangs up when the claim is deleted, and when it ends itself. */
static void nobody_wants_it_any_more(void **state)
{
	struct machine *m = *state;
	int ends[2];

	machine_add(m, A, "e1000e", NULL);
	assert_int_equal(pipe(ends), 0);
	m->cancel_fd = ends[0];
	close(ends[1]);
	expect(m, TRANSITION_PLAN_BIND, "'result':'Done'", "e1000e - -");
	expect(m, TRANSITION_BIND, "'result':'Busy','reason':'ClaimDeleted'", "e1000e - -");
	assert_int_equal(m->writes, 0);
	close(ends[0]);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(m->cancel_fd, ends[0]);
	expect(m, TRANSITION_BIND, "'result':'Done'", "vfio-pci vfio-pci recorded");
	close(ends[1]);
	expect(m, TRANSITION_RELEASE, "'result':'Done'", "e1000e - -");
	close(ends[0]);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "what was on vfio-pci before the claim is so after it", offered_before,
		  NULL);
	suite_add(&suite, "without a record nothing is changed", no_record_no_change, NULL);
	suite_add(&suite, "a network card whose driver shows no interface may be in use",
		  without_an_interface, NULL);
	suite_fixture(&suite, &machine_fixture);
	suite_rows(&suite, cases, transition_matches_table);
	suite_rows(&suite, disks, disks_are_taken);
	suite_add(&suite, "what is to have no driver afterwards has none", driverless_as_recorded,
		  NULL);
	suite_add(&suite, "what comes up on its own driver goes back to that", offered_no_more,
		  NULL);
	suite_add(&suite, "missing drivers are asked for, and told", missing_drivers, NULL);
	suite_add(&suite, "a driver that takes its function when it is loaded has bound it",
		  driver_takes_it_when_loaded, NULL);
	suite_add(&suite, "what the kernel will not do is undone", what_the_kernel_will_not, NULL);
	suite_add(&suite, "a dynamic id of vfio-pci is reported", dynamic_id, NULL);
	suite_add(&suite, "one helper at a time for a group", locked_group, NULL);
	suite_add(&suite, "a bind that nobody wants any more changes nothing",
		  nobody_wants_it_any_more, NULL);
	return suite_run(&suite, "transition");
}
