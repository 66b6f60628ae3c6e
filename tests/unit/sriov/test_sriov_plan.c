/* sriov_plan: where a card comes to, and with what words, in one state of the world after
 * another. */
#include "unit/sriov/card_scene.h"

#define SETTING ",'virtualFunctions':[{'index':1,'vlan':5}]"
#define FAR     ",'virtualFunctions':[{'index':6,'vlan':5}]"
#define BOTH    ",'virtualFunctions':[{'index':6,'vlan':5},{'index':1,'vlan':5}]"
#define TWICE                                                                \
	",'virtualFunctions':[{'index':0,'macAddress':'02:00:00:00:00:0A'}," \
	"{'index':1,'macAddress':'02:00:00:00:00:0a'}]"
#define JOB "address=" PF " id=8086:10c9"
#define READY_AT(generation)                                                                      \
	"'status':'sriovNetworkDeviceEnabled','observedGeneration':" generation ",'address':'" PF \
	"','device':'8086:10c9','vfAddresses':['0000:03:10.0','0000:03:10.2'],"                   \
	"'vfPCIDevices':['node1-000003100','node1-000003102'],"                                   \
	"'conditions':[{'type':'Accepted','status':'True','reason':'Accepted',"                   \
	"'message':'may be carried out','observedGeneration':" generation                         \
	",'lastTransitionTime':'2026-01-01T00:00:00Z'},"                                          \
	"{'type':'Ready','status':'True','reason':'Ready','message':'2 virtual functions, as "    \
	"requested','observedGeneration':" generation                                             \
	",'lastTransitionTime':'2026-01-01T00:00:00Z'}]"

#define CARD_DRIVEN CARD_WITH(",'driver':'igb'" VFS)
#define UNREAD(class_)                                                                     \
	"{'kind':'unknown','question':'Routes','unread':true,'pciClasses':['" class_ "']," \
	"'usbClasses':[],'detail':'the routes cannot be read'}"

/* clang-format off */
static struct plan_case {
	const char *name;
	const char *lines[6];
	const char *object; /* NULL: there is none */
	const char *other;  /* another object      */
	const char *user;
	const char *claimed;
	const char *failed; /* reason of the last run's failure */
	uint64_t hold_ms;
	bool unknown, verified, held;
	const char *stuck;
	size_t unpublished; /* virtual functions without a PCIDevice */

	/* Where it comes to, when what it wants written is written. */
	enum sriov_step step;
	int writes;
	const char *job;      /* APPLY                                  */
	const char *accepted; /* status and reason in the end           */
	const char *ready;
	const char *event;    /* reasons of events on the way, in order; "": none */
	const char *says;     /* part of the message of Ready           */
} cases[] = {
	{ "a card of which there is no object gets one that asks for nothing", { CARD_2 }, .step = SRIOV_REST,
	  .writes = 2, .accepted = "True Accepted", .ready = "True AsFound", .event = "",
	  .says = "spec.numVFs is not set: the 2 existing virtual functions stay as they are" },
	{ "a card that the node needs gets none", { CARD, USE(PF, "HostNetwork") }, .step = SRIOV_REST },
	{ "a card whose interface has an address gets one", { CARD, USE(PF, "InterfaceUp") }, .step = SRIOV_REST,
	  .writes = 2, .accepted = "True Accepted", .ready = "True AsFound", .event = "" },
	{ "an NVMe controller gets none", { "{'kind':'pci','address':'" PF "','vendor':'1b36','device':'0010',"
	  "'class':'010802','role':'PhysicalFunction','totalVFs':4}" }, .step = SRIOV_REST },
	{ "a card without an interface gets none yet", { CARD_OF(PF, "10c9", "") }, .step = SRIOV_REST },
	{ "a card that has an object of another name gets no second one", { CARD },
	  .other = OBJECT_OF("node1-old", MARKED, SPEC("0"), SEEN), .step = SRIOV_REST },
	{ "a card that the scan could not read is left alone", { "{'kind':'pci','address':'" PF "',"
	  "'role':'PhysicalFunction','totalVFs':7,'class':'020000','interface':'eth1'}" }, OBJECT("2"),
	  .step = SRIOV_REST, .accepted = "-", .ready = "-", .event = "" },

	{ "from none to two", { CARD }, OBJECT_SEEN("2"), .step = SRIOV_APPLY, .writes = 1,
	  .job = JOB " count=2 autoprobe=0", .accepted = "True Accepted", .ready = "False Applying", .event = "",
	  .says = "there are 0 virtual functions, and 2 are requested" },
	{ "harvester 2.6: from two to seven is one job, which goes by way of none", { CARD_2 }, OBJECT_SEEN("7"),
	  .step = SRIOV_APPLY, .writes = 1, .job = JOB " count=7 autoprobe=0", .accepted = "True Accepted",
	  .ready = "False Applying", .event = "" },
	{ "what was told already is read again before anything is removed", { CARD_2 },
	  OBJECT_OF(NAME, MARKED, SPEC("0"), "'status':'sriovNetworkDeviceEnabled','observedGeneration':3,'address':'" PF
	  "','device':'8086:10c9','vfAddresses':['0000:03:10.0','0000:03:10.2'],"
	  "'vfPCIDevices':['node1-000003100','node1-000003102'],'conditions':[{'type':'Accepted','status':'True',"
	  "'reason':'Accepted','message':'may be carried out','observedGeneration':3,"
	  "'lastTransitionTime':'2026-01-01T00:00:00Z'},{'type':'Ready','status':'False','reason':'Applying',"
	  "'message':'there are 2 virtual functions, and 0 are requested','observedGeneration':3,"
	  "'lastTransitionTime':'2026-01-01T00:00:00Z'}]"),
	  .step = SRIOV_READ, .accepted = "True Accepted", .ready = "False Applying", .event = "" },
	{ "as many as wanted", { CARD_2 }, OBJECT_SEEN("2"), .step = SRIOV_REST, .writes = 1,
	  .accepted = "True Accepted", .ready = "True Ready", .event = "", .says = "2 virtual functions, as requested" },
	{ "they are not ready before all have PCIDevices", { CARD_2 }, OBJECT_SEEN("2"), .unpublished = 1, .step = SRIOV_REST,
	  .writes = 1, .accepted = "True Accepted", .ready = "False Applying", .event = "",
	  .says = "1 of 2 virtual functions have no PCIDevice yet" },
	{ "and stay so if one is deleted", { CARD_2 }, OBJECT_OF(NAME, MARKED, SPEC("2"), READY_AT("3")), .unpublished = 1,
	  .step = SRIOV_REST, .writes = 0, .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "what is as wanted, and said, writes nothing", { CARD_2 }, OBJECT_OF(NAME, MARKED, SPEC("2"), READY_AT("3")),
	  .step = SRIOV_REST, .writes = 0, .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "others of the same number are listed without an event",
	  { CARD_WITH(",'virtualFunctions':['0000:03:11.0','0000:03:11.2']") },
	  OBJECT_OF(NAME, MARKED, SPEC("2"), READY_AT("3")), .step = SRIOV_REST, .writes = 1,
	  .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "a serial number that this scan does not tell stays known", { CARD_2 },
	  OBJECT_OF(NAME, MARKED, SPEC("2"), READY_AT("3") ",'serialNumber':'00-01'"), .step = SRIOV_REST,
	  .writes = 0, .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "harvester 2.6: drivers of the node take them only if the spec says so", { CARD },
	  OBJECT_OF(NAME, MARKED, SPEC("2") ",'driversAutoprobe':true", SEEN), .step = SRIOV_APPLY, .writes = 1,
	  .job = JOB " count=2 autoprobe=1", .accepted = "True Accepted", .ready = "False Applying", .event = "" },
	{ "somebody else removed them: they are created again, and that is reported", { CARD },
	  OBJECT_OF(NAME, MARKED, SPEC("2"), READY_AT("3")), .step = SRIOV_APPLY, .writes = 1,
	  .job = JOB " count=2 autoprobe=0", .accepted = "True Accepted", .ready = "False Applying",
	  .event = " Drifted" },
	{ "the user changed the number: nothing has drifted", { CARD_2 },
	  OBJECT_OF(NAME, MARKED, SPEC("0"), READY_AT("2")), .step = SRIOV_APPLY, .writes = 1,
	  .job = JOB " count=0 autoprobe=0", .accepted = "True Accepted", .ready = "False Applying", .event = "" },

	{ "harvester 2.6: more than the card can make", { CARD }, OBJECT_SEEN("8"), .step = SRIOV_REST, .writes = 1,
	  .accepted = "False TooManyVFs", .ready = "False TooManyVFs", .event = " TooManyVFs",
	  .says = PF " supports 7 virtual functions, not 8: set spec.numVFs to 7 or less" },
	{ "one of them is claimed", { CARD_2 }, OBJECT_SEEN("3"), .user = "0000:03:10.2 is claimed by node1-000003102",
	  .step = SRIOV_REST, .writes = 1, .accepted = "False VFsInUse", .ready = "False VFsInUse",
	  .event = " VFsInUse", .says = "cannot change from 2 to 3 virtual functions: "
	  "0000:03:10.2 is claimed by node1-000003102" },
	{ "one of them is claimed, and nothing is to change", { CARD_2 }, OBJECT_SEEN("2"),
	  .user = "0000:03:10.2 is claimed by node1-000003102", .step = SRIOV_REST, .writes = 1,
	  .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "whether a pod has one will be known in a moment", { CARD_2 }, OBJECT_SEEN("3"), .unknown = true,
	  .step = SRIOV_REST, .writes = 0, .accepted = "-", .ready = "-", .event = "" },
	{ "the node needs the card", { CARD_2, USE(PF, "HostNetwork") }, OBJECT_SEEN("3"), .step = SRIOV_REST,
	  .writes = 1, .accepted = "False HostNetwork", .ready = "False HostNetwork", .event = " HostNetwork",
	  .says = "because the node needs the card: it is needed" },
	{ "the node needs the card, which is as wanted", { CARD_2, USE(PF, "HostNetwork") }, OBJECT_SEEN("2"),
	  .step = SRIOV_REST, .writes = 1, .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "a card that is up without an address, as one of virtual functions is", { CARD, USE(PF, "Unknown") },
	  OBJECT_SEEN("3"), .step = SRIOV_APPLY, .writes = 1, .job = JOB " count=3 autoprobe=0",
	  .accepted = "True Accepted", .ready = "False Applying", .event = "" },
	{ "the node needs the card: its settings stay as they are", { CARD_2, USE(PF, "HostNetwork") },
	  OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), .step = SRIOV_REST, .writes = 1,
	  .accepted = "False HostNetwork", .ready = "False HostNetwork", .event = " HostNetwork",
	  .says = "the settings of its virtual functions stay as they are, because the node needs the card: it is needed" },
	{ "the node needs the card: settings of functions that were found stay as well", { CARD_2, USE(PF, "HostNetwork") },
	  OBJECT_OF(NAME, "," LABELS ",'annotations':{" ETH1 FOUND("2") "}", SPEC("2") SETTING, SEEN),
	  .step = SRIOV_REST, .writes = 1, .accepted = "False HostNetwork", .ready = "False HostNetwork",
	  .event = " HostNetwork" },
	{ "the node needs the virtual function that is to be set", { CARD_2, VF("0", ""), VF("2", ""),
	  USE("0000:03:10.2", "HostNetwork") }, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), .step = SRIOV_REST,
	  .writes = 1, .accepted = "False HostNetwork", .ready = "False HostNetwork", .event = " HostNetwork",
	  .says = "because the node needs 0000:03:10.2: it is needed; remove index 1 from spec.virtualFunctions" },
	{ "the node needs another virtual function than that which is to be set", { CARD_2, VF("0", ""), VF("2", ""),
	  USE("0000:03:10.0", "HostNetwork") }, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), .step = SRIOV_APPLY,
	  .writes = 1, .job = JOB " vf=1 vlan=5", .accepted = "True Accepted", .ready = "False Applying", .event = "" },
	{ "whether the node needs the card cannot be read: its number stays", { CARD_DRIVEN, UNREAD("02") },
	  OBJECT_SEEN("3"), .step = SRIOV_REST, .writes = 1, .accepted = "False UseUnknown",
	  .ready = "False UseUnknown", .event = " UseUnknown",
	  .says = "because the agent cannot see whether the node needs the card: the routes cannot be read" },
	{ "whether the node needs the card cannot be read: its settings stay", { CARD_DRIVEN, UNREAD("02") },
	  OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), .step = SRIOV_REST, .writes = 1,
	  .accepted = "False UseUnknown", .ready = "False UseUnknown", .event = " UseUnknown" },
	{ "whether the node needs the card cannot be read, and it is as wanted", { CARD_DRIVEN, UNREAD("02") },
	  OBJECT_SEEN("2"), .step = SRIOV_REST, .writes = 1, .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "what cannot be read is about disks", { CARD_DRIVEN, UNREAD("01") }, OBJECT_SEEN("3"), .step = SRIOV_APPLY,
	  .writes = 1, .job = JOB " count=3 autoprobe=0", .accepted = "True Accepted", .ready = "False Applying", .event = "" },
	{ "a card without a driver is not the node's, whatever cannot be read", { CARD_2, UNREAD("02") }, OBJECT_SEEN("3"),
	  .step = SRIOV_APPLY, .writes = 1, .job = JOB " count=3 autoprobe=0", .accepted = "True Accepted",
	  .ready = "False Applying", .event = "" },
	{ "a card of which that cannot be read gets no object", { CARD_DRIVEN, UNREAD("02") }, .step = SRIOV_REST },
	{ "the node may need the virtual function that is to be set", { CARD_2, VF("0", ""), VF("2", ""),
	  USE("0000:03:10.2", "Unknown") }, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), .step = SRIOV_REST,
	  .writes = 1, .accepted = "False UseUnknown", .ready = "False UseUnknown", .event = " UseUnknown",
	  .says = "because the node may need 0000:03:10.2: it is needed; remove index 1 from spec.virtualFunctions" },
	{ "the node may need another virtual function than that which is to be set", { CARD_2, VF("0", ""), VF("2", ""),
	  USE("0000:03:10.0", "Unknown") }, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), .step = SRIOV_APPLY,
	  .writes = 1, .job = JOB " vf=1 vlan=5", .accepted = "True Accepted", .ready = "False Applying", .event = "" },
	{ "the card itself is claimed", { CARD }, OBJECT_SEEN("2"), .claimed = "node1-000003000", .step = SRIOV_REST,
	  .writes = 1, .accepted = "False PassedThrough", .ready = "False PassedThrough", .event = " PassedThrough",
	  .says = "the card itself is claimed by node1-000003000" },
	{ "the card itself is offered without a claim", { CARD_OF(PF, "10c9", ",'driver':'vfio-pci'") }, OBJECT_SEEN("2"),
	  .step = SRIOV_REST, .writes = 1, .accepted = "False PassedThrough", .ready = "False PassedThrough",
	  .event = " PassedThrough" },
	{ "a card that is claimed may lose its virtual functions", { CARD_2 }, OBJECT_SEEN("0"),
	  .claimed = "node1-000003000", .step = SRIOV_APPLY, .writes = 1, .job = JOB " count=0 autoprobe=0",
	  .accepted = "True Accepted", .ready = "False Applying", .event = "" },
	{ "another card is at the address", { CARD_OF(PF, "1533", ",'interface':'eth1'") }, OBJECT_SEEN("2"),
	  .step = SRIOV_REST, .writes = 1, .accepted = "False DifferentDevice", .ready = "False DifferentDevice",
	  .event = " DifferentDevice", .says = "another card (8086:1533) is at " PF " now; it is not touched" },
	{ "another card of the same kind is at the address", { CARD_WITH(",'serial':'00-02'") },
	  OBJECT_OF(NAME, MARKED, SPEC("2"), SEEN ",'serialNumber':'00-01'"), .step = SRIOV_REST, .writes = 1,
	  .accepted = "False DifferentDevice", .ready = "False DifferentDevice", .event = " DifferentDevice" },
	{ "another card at another address is what the user wants", { CARD }, OBJECT_OF(NAME, MARKED, SPEC("0"),
	  "'status':'sriovNetworkDeviceDisabled','address':'0000:04:00.0','device':'8086:1533'"), .step = SRIOV_REST,
	  .writes = 1, .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "two objects of one card: of those made in one second the first by name counts", { CARD }, OBJECT_SEEN("2"),
	  OBJECT_OF("node1-a", MARKED, SPEC("0"), SEEN), .step = SRIOV_REST, .writes = 1, .accepted = "False Duplicate",
	  .ready = "False Duplicate", .event = " Duplicate", .says = "node1-a is about the same card" },
	{ "two objects of one card: the older one counts", { CARD },
	  OBJECT_OF(NAME, MARKED MADE("2026-01-01T00:00:00Z"), SPEC("2"), SEEN),
	  OBJECT_OF("node1-z", MARKED MADE("2025-12-31T23:59:59Z"), SPEC("0"), SEEN), .step = SRIOV_REST, .writes = 1,
	  .accepted = "False Duplicate", .ready = "False Duplicate", .event = " Duplicate",
	  .says = "node1-z is about the same card and older" },
	{ "and is not troubled by the other, whatever that is called", { CARD_2 },
	  OBJECT_OF(NAME, MARKED MADE("2025-12-31T23:59:59Z"), SPEC("2"), SEEN),
	  OBJECT_OF("node1-a", MARKED MADE("2026-01-01T00:00:00Z"), SPEC("0"), SEEN), .step = SRIOV_REST, .writes = 1,
	  .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "a function that can make none", { "{'kind':'pci','address':'" PF "','vendor':'8086','device':'10c9',"
	  "'class':'020000','role':'Function'}" }, OBJECT_SEEN("2"), .step = SRIOV_REST, .writes = 1,
	  .accepted = "False NotPhysicalFunction", .ready = "False NotPhysicalFunction", .event = " NotPhysicalFunction" },
	{ "an object for no card of the node", { CARD }, OBJECT_OF("node1-x", "," LABELS, "'nodeName':'node1'", ""),
	  .step = SRIOV_REST, .writes = 1, .accepted = "False DeviceNotFound", .ready = "False DeviceNotFound",
	  .event = " DeviceNotFound" },
	{ "another node's object", { CARD }, OBJECT_OF(NAME, "", "'nodeName':'node2'", ""), .step = SRIOV_REST,
	  .accepted = "-", .ready = "-", .event = "" },
	{ "an object that somebody's finalizer keeps", { CARD },
	  OBJECT_OF(NAME, MARKED ",'deletionTimestamp':'2026-01-01T00:00:00Z'", SPEC("2"), SEEN), .step = SRIOV_REST,
	  .accepted = "-", .ready = "-", .event = "" },

	{ "the card is gone, and its spec waits for it", { NULL }, OBJECT_OF(NAME, MARKED, SPEC("2"), READY_AT("3")),
	  .step = SRIOV_REST, .writes = 1, .accepted = "False DeviceGone", .ready = "False DeviceGone",
	  .event = " DeviceGone", .says = "the object is kept for its spec" },
	{ "the card is gone, and its settings wait for it", { NULL },
	  OBJECT_OF(NAME, MARKED, SPEC("0") SETTING, READY_AT("3")), .step = SRIOV_REST, .writes = 1,
	  .accepted = "False DeviceGone", .ready = "False DeviceGone", .event = " DeviceGone" },
	{ "the card is gone, and so is an object that asks for nothing", { NULL }, OBJECT_SEEN("0"),
	  .step = SRIOV_DELETE, .accepted = "-", .ready = "-", .event = "" },
	{ "the card is gone, and nobody had asked for what it had", { NULL }, OBJECT_FOUND("2", "2"),
	  .step = SRIOV_DELETE, .accepted = "-", .ready = "-", .event = "" },
	{ "harvester 2.6: the card was renumbered, and where it is now is said",
	  { CARD_OF("0000:04:00.1", "10c9", ",'interface':'eth2','serial':'00-01'"),
	    CARD_OF("0000:04:00.0", "10c9", ",'interface':'eth1','serial':'00-01'") },
	  OBJECT_OF(NAME, MARKED, SPEC("2"), SEEN ",'serialNumber':'00-01'"), .step = SRIOV_REST, .writes = 1,
	  .accepted = "False DeviceGone", .ready = "False DeviceGone", .event = " DeviceGone",
	  .says = "one with its serial number is at 0000:04:00.0; set spec.address to that" },
	{ "the card is offered, so that it has no interface: it is still known", { CARD_OF(PF, "10c9",
	  ",'driver':'vfio-pci'") }, OBJECT_SEEN("0"), .step = SRIOV_REST, .writes = 1, .accepted = "True Accepted",
	  .ready = "True Ready", .event = "" },

	{ "settings are put in place after every scan", { CARD_2 },
	  OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, READY_AT("3")), .step = SRIOV_APPLY, .writes = 0,
	  .job = JOB " vf=1 vlan=5", .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "settings that were looked at since the scan are left alone", { CARD_2 },
	  OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, READY_AT("3")), .verified = true, .step = SRIOV_REST,
	  .writes = 0, .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "settings of a new spec are told of", { CARD_2 }, OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, READY_AT("2")),
	  .step = SRIOV_APPLY, .writes = 1, .job = JOB " vf=1 vlan=5", .accepted = "True Accepted",
	  .ready = "False Applying", .event = "" },
	{ "harvester 2.6: settings go along with a new number", { CARD },
	  OBJECT_OF(NAME, MARKED, SPEC("3") ",'virtualFunctions':[{'index':2,'trust':'off','macAddress':"
	  "'02:00:00:00:00:0A'},{'index':0,'spoofCheck':'on','vlan':0,'qos':0}]", SEEN), .step = SRIOV_APPLY,
	  .writes = 1, .job = JOB " count=3 autoprobe=0 vf=0 vlan=0 qos=0 spoofcheck=1 vf=2 mac=02:00:00:00:00:0A trust=0",
	  .accepted = "True Accepted", .ready = "False Applying", .event = "" },
	{ "settings of what there is not are reported", { CARD_2 },
	  OBJECT_OF(NAME, MARKED, SPEC("2") FAR, READY_AT("3")), .step = SRIOV_REST, .writes = 1,
	  .accepted = "True Accepted", .ready = "False NoSuchVF", .event = " NoSuchVF",
	  .says = "spec.virtualFunctions has settings for index 6, but numVFs is 2, and the 2 virtual functions have the "
	  "indexes 0 to 1: raise it, or remove these settings. The other settings are applied" },
	{ "settings of what there is not are told of functions that were found, too", { CARD_2 },
	  OBJECT_OF(NAME, "," LABELS ",'annotations':{" ETH1 FOUND("2") "}", SPEC("2") FAR, SEEN), .step = SRIOV_REST,
	  .writes = 1, .accepted = "True Accepted", .ready = "False NoSuchVF", .event = " NoSuchVF" },
	{ "settings of what there is not keep no others from being put in place", { CARD_2 },
	  OBJECT_OF(NAME, MARKED, SPEC("2") BOTH, SEEN), .step = SRIOV_APPLY, .writes = 1,
	  .job = JOB " vf=1 vlan=5 vf=6 vlan=5", .accepted = "True Accepted", .ready = "False Applying", .event = "" },
	{ "and are reported once these are", { CARD_2 }, OBJECT_OF(NAME, MARKED, SPEC("2") BOTH, SEEN), .verified = true,
	  .step = SRIOV_REST, .writes = 1, .accepted = "True Accepted", .ready = "False NoSuchVF", .event = " NoSuchVF" },
	{ "settings of a card that has no virtual functions wait", { CARD },
	  OBJECT_OF(NAME, MARKED, SPEC("0") FAR, SEEN), .step = SRIOV_REST, .writes = 1, .accepted = "True Accepted",
	  .ready = "True Ready", .event = "" },
	{ "one MAC address twice, in whatever case, changes nothing", { CARD },
	  OBJECT_OF(NAME, MARKED, SPEC("2") TWICE, SEEN), .step = SRIOV_REST, .writes = 1,
	  .accepted = "False DuplicateMAC", .ready = "False DuplicateMAC", .event = " DuplicateMAC",
	  .says = "the virtual functions 0 and 1 have the same MAC address 02:00:00:00:00:0a" },
	{ "but one that is for what there will not be hinders nobody", { CARD },
	  OBJECT_OF(NAME, MARKED, SPEC("1") TWICE, SEEN), .step = SRIOV_APPLY, .writes = 1,
	  .job = JOB " count=1 autoprobe=0 vf=0 mac=02:00:00:00:00:0A vf=1 mac=02:00:00:00:00:0a", .accepted = "True Accepted",
	  .ready = "False Applying", .event = "" },
	{ "settings need an interface", { CARD_OF(PF, "10c9", VFS) },
	  OBJECT_OF(NAME, MARKED, SPEC("2") SETTING, SEEN), .step = SRIOV_REST, .writes = 1,
	  .accepted = "False NoInterface", .ready = "False NoInterface", .event = " NoInterface" },
	{ "settings of virtual functions that nobody of us has made", { CARD_2 },
	  OBJECT_OF(NAME, "," LABELS ",'annotations':{" ETH1 FOUND("2") "}", SPEC("2") SETTING, SEEN),
	  .step = SRIOV_APPLY, .writes = 1, .job = JOB " vf=1 vlan=5", .accepted = "True Accepted",
	  .ready = "False Applying", .event = "" },
	{ "autoprobe stays switched while there are virtual functions", { CARD_2, "{'kind':'autoprobe','address':'" PF "'}" },
	  OBJECT_OF(NAME, MARKED, SPEC("2"), READY_AT("3")), .step = SRIOV_REST, .writes = 0,
	  .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "and is put back when they are gone", { CARD, "{'kind':'autoprobe','address':'" PF "'}" },
	  OBJECT_OF(NAME, MARKED, SPEC("0"), READY_AT("3")), .step = SRIOV_APPLY, .writes = 1, .job = JOB,
	  .accepted = "True Accepted", .ready = "False Applying", .event = "" },

	{ "the last run failed: that is reported, and tried again later", { CARD }, OBJECT_SEEN("2"),
	  .failed = "NumVFsFailed", .hold_ms = 2000, .step = SRIOV_REST, .writes = 1, .accepted = "True Accepted",
	  .ready = "False NumVFsFailed", .event = " NumVFsFailed" },
	{ "the last run failed, and it is time to try again", { CARD }, OBJECT_SEEN("2"), .failed = "NumVFsFailed",
	  .step = SRIOV_APPLY, .writes = 1, .job = JOB " count=2 autoprobe=0", .accepted = "True Accepted",
	  .ready = "False NumVFsFailed", .event = " NumVFsFailed" },
	{ "what the last run failed at has come by itself", { CARD_2 }, OBJECT_SEEN("2"), .failed = "NumVFsFailed",
	  .hold_ms = 2000, .step = SRIOV_REST, .writes = 1, .accepted = "True Accepted", .ready = "True Ready",
	  .event = "" },
	{ "the helper is stuck: nothing is tried", { CARD }, OBJECT_SEEN("2"), .stuck = "it waits", .step = SRIOV_REST,
	  .writes = 1, .accepted = "True Accepted", .ready = "False Stuck", .event = " Stuck", .says = "it waits" },

	{ "a label that is missing, an old interface name and a missing address are put right", { CARD_2 },
	  OBJECT_OF(NAME, ",'annotations':{'sriov.devices.harvesterhi.io/interface-name':'eth0'}", "'numVFs':2", ""),
	  .step = SRIOV_REST, .writes = 2, .accepted = "True Accepted", .ready = "True Ready", .event = "" },
	{ "harvester 2.6: a card that is none of the network, by an object that somebody has made", { "{'kind':'pci','address':'" PF "','vendor':'1b36',"
	  "'device':'0010','class':'010802','role':'PhysicalFunction','totalVFs':4}" },
	  OBJECT_OF("nvme", "," LABELS, SPEC("4"), ""), .step = SRIOV_APPLY, .writes = 1,
	  .job = "address=" PF " id=1b36:0010 count=4 autoprobe=0", .accepted = "True Accepted",
	  .ready = "False Applying", .event = "" },
};

static struct mark_case {
	const char *name;
	const char *lines[2];
	const char *object; /* NULL: there is none */
	int num_vfs;
	const char *found; /* the annotation; NULL: none */
} marks[] = {
	{ "what was found is not what somebody asked for", { CARD_2 }, NULL, 2, "2" },
	{ "a number that nobody has set follows the card", { CARD_2 }, OBJECT_FOUND("0", "0"), 2, "2" },
	{ "a number that nobody has set stays while it is right", { CARD_2 }, OBJECT_FOUND("2", "2"), 2, "2" },
	{ "a number that somebody has set is his", { CARD_2 }, OBJECT_FOUND("5", "2"), 5, NULL },
	{ "a number without the annotation is somebody's", { CARD_2 }, OBJECT_SEEN("0"), 0, NULL },
	{ "an annotation of nonsense goes", { CARD_2 }, OBJECT_FOUND("2", "02"), 2, NULL },
};
/* clang-format on */

/* What is found out on the way. */
struct run {
	int writes;
	struct str events;
	json_t *object;
	bool fresh;
};

static const char *name_of(const struct plan_case *c)
{
	auto_json json_t *json = c->object ? object_json(c->object) : NULL;
	static char name[64];

	(void)snprintf(
		name, sizeof(name), "%s",
		json ? json_string_value(json_object_get(json_object_get(json, "metadata"), "name"))
		     : NAME);
	return name;
}

static void write_it(struct run *run, const char *name, const struct sriov_decision *decision)
{
	json_t *meta;

	if (!run->object)
		run->object = json_object();
	object_merge(run->object, decision->body);
	meta = json_object_get(run->object, "metadata");
	json_object_set_new(meta, "name", json_string(name));
	if (!json_object_get(meta, "uid"))
		json_object_set_new(meta, "uid", json_string("u1"));
	json_object_set_new(meta, "resourceVersion", json_string("8"));
	run->writes++;
	run->fresh = true;
}

static void plan_once(const struct plan_case *c, const char *name, const struct world *world,
		      struct run *run, struct sriov_decision *decision)
{
	struct store *store = store_new(&sriovnetworkdevice_kind);
	struct task_outcome failure = { .result = c->held ? TASK_HELD : TASK_FAILED,
					.reason = xstrdup_or_null(c->failed),
					.message = xstrdup("it did not work") };
	struct sriov_case plan = {
		.node_name = "node1",
		.name = name,
		.fresh = run->fresh,
		.inventory = world->inventory,
		.objects = store,
		.claimed = c->claimed,
		.user = c->user,
		.unknown = c->unknown,
		.failure = c->failed ? &failure : NULL,
		.hold_ms = c->hold_ms,
		.verified = c->verified,
		.unpublished = c->unpublished,
		.stuck = c->stuck,
		.now_wall_ms = WORLD_NOW,
	};

	if (c->other) {
		auto_json json_t *other = object_json(c->other);

		object_put(store, &sriovnetworkdevice_kind, other);
	}
	if (run->object)
		object_put(store, &sriovnetworkdevice_kind, run->object);
	plan.object = store_object(store, name);
	plan.pf = sriov_card_find("node1", world->inventory, name, plan.object);
	sriov_plan(&plan, decision);
	if (decision->event_reason)
		str_addf(&run->events, " %s", decision->event_reason);
	/* What was decided may point to it. */
	decision->event_reason = NULL;
	task_outcome_done(&failure);
	store_free(store);
}

static bool is_write(enum sriov_step step)
{
	return step == SRIOV_CREATE || step == SRIOV_PATCH || step == SRIOV_PATCH_STATUS;
}

static void assert_end(const struct plan_case *c, const struct run *run,
		       const struct sriov_decision *decision)
{
	auto_str struct str job = STR_INIT;

	assert_int_equal(decision->step, c->step);
	assert_int_equal(run->writes, c->writes);
	for (size_t i = 0; i < decision->job.words.len; i++)
		str_addf(&job, "%s%s", i ? " " : "", decision->job.words.items[i]);
	assert_string_equal(str_cstr(&job), c->job ? c->job : "");
	if (c->hold_ms && c->step == SRIOV_REST && !strstr(c->name, "by itself"))
		assert_int_equal(decision->again_ms, c->hold_ms);
}

static void assert_reported(const struct plan_case *c, struct run *run)
{
	void *decoded = NULL;
	const struct sriovnetworkdevice *object;
	struct err err = { 0 };
	auto_free char *accepted = NULL;
	auto_free char *ready = NULL;

	if (!run->object) {
		assert_null(c->accepted);
		return;
	}
	assert_int_equal(api_object_decode(&sriovnetworkdevice_kind, run->object, &decoded, &err),
			 0);
	object = decoded;
	accepted = scene_condition(object, "Accepted");
	ready = scene_condition(object, "Ready");
	assert_string_equal(accepted, c->accepted);
	assert_string_equal(ready, c->ready);
	assert_string_equal(str_cstr(&run->events), c->event);
	if (c->says &&
	    !strstr(api_conditions_find(&object->status.conditions, "Ready")->message, c->says))
		fail_msg("%s", api_conditions_find(&object->status.conditions, "Ready")->message);
	api_object_free(&sriovnetworkdevice_kind, decoded);
}

static void plans_match_the_table(void **state)
{
	const struct plan_case *c = suite_row(state);
	const char *name = name_of(c);
	struct sriov_decision decision = { 0 };
	struct run run = { 0 };
	struct world *world = *state;

	scene_world(world, c->lines, ARRAY_LEN(c->lines));
	run.object = c->object ? object_json(c->object) : NULL;
	for (int i = 0; i < 6; i++) {
		sriov_decision_done(&decision);
		plan_once(c, name, world, &run, &decision);
		if (!is_write(decision.step))
			break;
		write_it(&run, name, &decision);
	}
	assert_end(c, &run, &decision);
	assert_reported(c, &run);
	sriov_decision_done(&decision);
	json_decref(run.object);
	str_done(&run.events);
}

/* Until no patch is left to write. */
static void marks_match_the_table(void **state)
{
	const struct mark_case *c = suite_row(state);
	const struct plan_case plain = { 0 };
	struct sriov_decision decision = { 0 };
	struct run run = { 0 };
	struct world *world = *state;
	json_t *found;

	scene_world(world, c->lines, ARRAY_LEN(c->lines));
	run.object = c->object ? object_json(c->object) : NULL;
	for (int i = 0; i < 3; i++) {
		sriov_decision_done(&decision);
		plan_once(&plain, NAME, world, &run, &decision);
		if (decision.step != SRIOV_CREATE && decision.step != SRIOV_PATCH)
			break;
		write_it(&run, NAME, &decision);
	}
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(run.object, "spec"), "numVFs")),
		c->num_vfs);
	found = json_object_get(
		json_object_get(json_object_get(run.object, "metadata"), "annotations"),
		"hostdev.io/found-vfs");
	if (c->found)
		assert_string_equal(json_string_value(found), c->found);
	else
		assert_null(found);
	sriov_decision_done(&decision);
	json_decref(run.object);
	str_done(&run.events);
}

/* harvester 2.6: vfPCIDevices stayed as they were when the virtual functions were gone. */
static void functions_that_are_gone_are_not_listed(void **state)
{
	const struct plan_case c = { .name = "",
				     .object = OBJECT_OF(NAME, MARKED, SPEC("0"), READY_AT("3")) };
	struct sriov_decision decision = { 0 };
	struct run run = { .object = object_json(c.object) };
	const char *const lines[] = { CARD, NULL };
	struct world *world = *state;
	json_t *status;

	scene_world(world, lines, 1);
	plan_once(&c, NAME, world, &run, &decision);
	assert_int_equal(decision.step, SRIOV_PATCH_STATUS);
	status = json_object_get(decision.body, "status");
	/* Harvester's status has no empty lists. */
	assert_true(json_is_null(json_object_get(status, "vfAddresses")));
	assert_true(json_is_null(json_object_get(status, "vfPCIDevices")));
	assert_string_equal(json_string_value(json_object_get(status, "status")),
			    "sriovNetworkDeviceDisabled");
	sriov_decision_done(&decision);
	json_decref(run.object);
	str_done(&run.events);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &world_fixture);
	suite_rows(&suite, cases, plans_match_the_table);
	suite_rows(&suite, marks, marks_match_the_table);
	suite_add(&suite, "harvester 2.6: functions that are gone are not listed any more",
		  functions_that_are_gone_are_not_listed, NULL);
	return suite_run(&suite, "sriov_plan");
}
