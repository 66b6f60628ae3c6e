/* config: what a HostDeviceConfig asks for, what of it is left out, and why. */
#include "agent/config/config.h"

#include <jansson.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/object.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "unit/suite.h"

/* The object whose spec is @spec, with ' for ". */
static struct hostdeviceconfig *object_of(const char *spec)
{
	auto_free char *text = xasprintf("{'metadata':{'name':'default'},'spec':{%s}}", spec);
	auto_json json_t *json = NULL;
	struct err err = { 0 };
	void *object = NULL;

	for (char *c = text; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	assert_int_equal(json_map_load(text, strlen(text), &json, &err), 0);
	if (api_object_decode(&hostdeviceconfig_kind, json, &object, &err) < 0)
		fail_msg("%s", err.msg);
	return object;
}

static struct config *config_of(const char *spec)
{
	struct hostdeviceconfig *object = object_of(spec);
	struct config *config = config_new(object);

	api_object_free(&hostdeviceconfig_kind, object);
	return config;
}

static void say_pairs(struct str *out, const struct json_pairs *pairs)
{
	for (size_t i = 0; i < pairs->len; i++)
		str_addf(out, " if %s=%s", pairs->items[i].key, pairs->items[i].value);
}

static void say_strs(struct str *out, const struct json_strs *list)
{
	for (size_t i = 0; i < list->len; i++)
		str_addf(out, " %s", list->items[i]);
}

static const char *dra_of(enum config_dra dra)
{
	static const char *const words[] = { "", " by DRA", " by DRA on demand" };

	return words[dra];
}

static void say_usb(struct str *out, const struct config_usb *usb)
{
	str_addf(out, "usb %s%s%s", usb->resource, usb->external ? " external" : "",
		 dra_of(usb->dra));
	for (size_t i = 0; i < usb->selectors.len; i++) {
		const struct config_usb_selector *s = &usb->selectors.items[i];

		str_addf(out, " %04x:%04x", s->vendor, s->product);
		str_addf(out, "%s%s", s->serial ? "#" : "", s->serial ? s->serial : "");
		str_addf(out, "%s%s", s->port_path ? "@" : "", s->port_path ? s->port_path : "");
	}
	str_add(out, ";");
}

static void say_devices(struct str *out, const struct config *c)
{
	for (size_t i = 0; i < c->pci.len; i++)
		str_addf(out, "pci %s %04x:%04x%s%s;", c->pci.items[i].resource,
			 c->pci.items[i].vendor, c->pci.items[i].device,
			 c->pci.items[i].external ? " external" : "", dra_of(c->pci.items[i].dra));
	for (size_t i = 0; i < c->usb.len; i++)
		say_usb(out, &c->usb.items[i]);
	for (size_t i = 0; i < c->mdevs.len; i++)
		str_addf(out, "mdev %s %s%s%s;", c->mdevs.items[i].resource, c->mdevs.items[i].type,
			 c->mdevs.items[i].external ? " external" : "",
			 dra_of(c->mdevs.items[i].dra));
}

static void say_types(struct str *out, const struct config_mdev_types *types)
{
	if (!types->enabled)
		str_add(out, "types off;");
	if (types->types.len > 0) {
		str_add(out, "types");
		say_strs(out, &types->types);
		str_add(out, ";");
	}
	for (size_t i = 0; i < types->nodes.len; i++) {
		str_add(out, "types");
		say_strs(out, &types->nodes.items[i].types);
		say_pairs(out, &types->nodes.items[i].selector);
		str_add(out, ";");
	}
}

static void say_socket(struct str *out, const struct config_socket *s)
{
	str_addf(out, "socket %s %s %s %u", s->resource, s->folder, s->file, s->count);
	if (s->misc)
		str_addf(out, " misc %s", s->misc);
	if (s->has_owner)
		str_addf(out, " %u:%u", s->uid, s->gid);
	if (s->selinux_label)
		str_addf(out, " %s", s->selinux_label);
	str_add(out, s->optional ? " optional" : "");
	say_pairs(out, &s->selector);
	str_add(out, ";");
}

static void say_shared(struct str *out, const struct config *c)
{
	for (size_t i = 0; i < c->generics.len; i++) {
		const struct config_generic *g = &c->generics.items[i];

		str_addf(out, "node %s %s>%s %s %u%s", g->resource, g->path, g->container_path,
			 g->permissions, g->count, g->pre_open ? " open" : "");
		str_add(out, g->allow_critical ? " critical" : "");
		say_pairs(out, &g->selector);
		str_add(out, ";");
	}
	for (size_t i = 0; i < c->sockets.len; i++)
		say_socket(out, &c->sockets.items[i]);
	if (c->iommufd.enabled)
		str_addf(out, "iommufd %s %u;", c->iommufd.resource, c->iommufd.count);
	for (size_t i = 0; i < c->nvidia.len; i++) {
		str_addf(out, "nvidia[%zu] '%s'", c->nvidia.items[i].index,
			 c->nvidia.items[i].text);
		say_pairs(out, &c->nvidia.items[i].selector);
		str_add(out, ";");
	}
}

static void say(struct str *out, const struct config *c)
{
	say_devices(out, c);
	say_types(out, &c->mdev_types);
	say_shared(out, c);
	for (size_t i = 0; i < c->troubles.len; i++) {
		const struct config_trouble *t = &c->troubles.items[i];

		str_addf(out, "! %s[%d] %s: %s;", t->list, (int)t->index,
			 t->resource ? t->resource : "-", t->message);
	}
	if (c->troubles.more)
		str_addf(out, "! and %zu more;", c->troubles.more);
}

#define PCI(name, ids) "{'resourceName':'" name "','pciVendorSelector':'" ids "'}"
#define PCIX(name, ids) \
	"{'resourceName':'" name "','pciVendorSelector':'" ids "','externalResourceProvider':true}"
#define MDEV(name, type) "{'resourceName':'" name "','mdevNameSelector':'" type "'}"
#define NODE(name, more) "{'resourceName':'" name "'" more "}"
#define KVM(more)        NODE("a.io/kvm", ",'path':'/dev/kvm'" more)
#define QGS(more)        NODE("a.io/tdx", ",'socketPath':'/var/run/tdx-qgs/qgs.socket'" more)
#define USB(selectors)   "'usb':[{'resourceName':'a.io/u','selectors':[" selectors "]}]"
#define NAME_RULE                                                                            \
	"must be DOMAIN/NAME, with a domain outside kubernetes.io and a name of at most 63 " \
	"letters, digits, '.', '-' or '_'"
#define IDS_RULE  "must be vendor and device, four hexadecimal digits each, such as 8086:10d3"
#define PATH_RULE "must be an absolute path without '..' and '//', of at most 255 bytes"
#define PORT_RULE "must be a bus and its ports, such as 1-2.3"

static struct text_case {
	const char *name;
	const char *spec;
	const char *says;
} texts[] = {
	/* clang-format off */
	{ "an empty config asks for nothing, and mediated devices are managed", "", "" },
	{ "a PCI selector in either case", "'pciHostDevices':[" PCI("intel.com/qat", "8086:37C8") "]",
	  "pci intel.com/qat 8086:37c8;" },
	{ "several selectors make a pool", "'pciHostDevices':[" PCI("a.io/x", "1af4:1041") "," PCI("a.io/x", "1af4:1042") "]",
	  "pci a.io/x 1af4:1041;pci a.io/x 1af4:1042;" },
	{ "one selector is one resource's: the first keeps it",
	  "'pciHostDevices':[" PCI("a.io/x", "1af4:1041") "," PCI("a.io/y", "1AF4:1041") "]",
	  "pci a.io/x 1af4:1041;! pciHostDevices[1] a.io/y: pciVendorSelector '1AF4:1041': an entry with resource 'a.io/x' already selects these devices;" },
	{ "what another plugin serves is known as such", "'pciHostDevices':[" PCIX("nvidia.com/a", "10de:20b0") "]",
	  "pci nvidia.com/a 10de:20b0 external;" },
	{ "an entry of each kind may be DRA's, once something is claimed",
	  "'pciHostDevices':[{'resourceName':'a.io/x','pciVendorSelector':'1af4:1041','dra':{'mode':'Claimed'}}],"
	  "'usb':[{'resourceName':'a.io/u','selectors':[{'vendor':'1','product':'2'}],'dra':{'mode':'Claimed'}}],"
	  "'mediatedDevices':[{'resourceName':'a.io/m','mdevNameSelector':'t','dra':{'mode':'Claimed'}}]",
	  "pci a.io/x 1af4:1041 by DRA;usb a.io/u by DRA 0001:0002;mdev a.io/m t by DRA;" },
	{ "off and nothing are the device plugin",
	  "'pciHostDevices':[{'resourceName':'a.io/x','pciVendorSelector':'1af4:1041','dra':{'mode':'Off'}},"
	  "{'resourceName':'a.io/y','pciVendorSelector':'1af4:1042','dra':{}}]",
	  "pci a.io/x 1af4:1041;pci a.io/y 1af4:1042;" },
	{ "PCI functions on demand, other devices not",
	  "'pciHostDevices':[{'resourceName':'a.io/x','pciVendorSelector':'1af4:1041','dra':{'mode':'OnDemand'}}],"
	  "'mediatedDevices':[{'resourceName':'a.io/m','mdevNameSelector':'t','dra':{'mode':'OnDemand'}}]",
	  "pci a.io/x 1af4:1041 by DRA on demand;! mediatedDevices[0] a.io/m: dra.mode OnDemand: only entries of "
	  "pciHostDevices can have it; set Claimed;" },
	{ "on demand, but another plugin serves it",
	  "'pciHostDevices':[{'resourceName':'a.io/x','pciVendorSelector':'1af4:1041','externalResourceProvider':true,"
	  "'dra':{'mode':'OnDemand'}}]",
	  "! pciHostDevices[0] a.io/x: dra.mode OnDemand: another device plugin serves the entry "
	  "(externalResourceProvider): remove one of the two fields;" },
	{ "another mode is refused", "'mediatedDevices':[{'resourceName':'a.io/m','mdevNameSelector':'t','dra':{'mode':'off'}}]",
	  "! mediatedDevices[0] a.io/m: dra.mode 'off': must be Off or Claimed;" },
	{ "what another plugin serves is not DRA's",
	  "'usb':[{'resourceName':'a.io/u','selectors':[{'vendor':'1','product':'2'}],'externalResourceProvider':true,"
	  "'dra':{'mode':'Claimed'}}]",
	  "! usb[0] a.io/u: dra.mode Claimed: another device plugin serves the entry (externalResourceProvider): "
	  "remove one of the two fields;" },
	{ "half of a pool cannot be another plugin's",
	  "'pciHostDevices':[" PCIX("a.io/x", "10de:20b0") "," PCI("a.io/x", "10de:20b1") "]",
	  "pci a.io/x 10de:20b0 external;! pciHostDevices[1] a.io/x: another entry with the same name has another externalResourceProvider;" },
	{ "a selector is vendor and device", "'pciHostDevices':[" PCI("a.io/x", "10de:*") "," PCI("a.io/x", "10de") ","
	  PCI("a.io/x", "10de:20bg") "," PCI("a.io/x", "110de:20b0") "," PCI("a.io/x", "") "]",
	  "! pciHostDevices[0] a.io/x: pciVendorSelector '10de:*': " IDS_RULE
	  ";! pciHostDevices[1] a.io/x: pciVendorSelector '10de': " IDS_RULE
	  ";! pciHostDevices[2] a.io/x: pciVendorSelector '10de:20bg': " IDS_RULE
	  ";! pciHostDevices[3] a.io/x: pciVendorSelector '110de:20b0': " IDS_RULE
	  ";! pciHostDevices[4] a.io/x: pciVendorSelector is missing: " IDS_RULE ";" },
	{ "a bad entry hurts no other", "'pciHostDevices':[" PCI("qat", "8086:37c8") "," PCI("a.io/y", "8086:37c8") "]",
	  "pci a.io/y 8086:37c8;! pciHostDevices[0] qat: resourceName 'qat': " NAME_RULE ";" },
	{ "a resource has a name", "'pciHostDevices':[{'pciVendorSelector':'8086:10d3'}]",
	  "! pciHostDevices[0] -: resourceName is missing: " NAME_RULE ";" },
	{ "Kubernetes' own domain is nobody's", "'pciHostDevices':[" PCI("x.kubernetes.io/y", "8086:37c8") "]",
	  "! pciHostDevices[0] x.kubernetes.io/y: resourceName 'x.kubernetes.io/y': " NAME_RULE ";" },
	{ "two names that make one variable cannot both be",
	  "'pciHostDevices':[" PCI("a.io/x.y", "1af4:1041") "," PCI("a.io/X_y", "1af4:1042") "]",
	  "pci a.io/x.y 1af4:1041;! pciHostDevices[1] a.io/X_y: containers would get the devices of 'a.io/x.y' and of this "
	  "in one variable: names that differ only in case, '/' and '.' cannot both be used;" },
	{ "variables of different kinds do not meet",
	  "'pciHostDevices':[" PCI("a.io/x.y", "1af4:1041") "],'mediatedDevices':[" MDEV("a.io/X_y", "t") "]",
	  "pci a.io/x.y 1af4:1041;mdev a.io/X_y t;" },
	{ "a name belongs to one list",
	  "'pciHostDevices':[" PCI("a.io/kvm", "1af4:1041") "],'genericDevices':[" KVM("") "]",
	  "pci a.io/kvm 1af4:1041;! genericDevices[0] a.io/kvm: the name is that of an entry of pciHostDevices already: "
	  "give it another;" },

	{ "a USB selector, with serial and port",
	  USB("{'vendor':'46f4','product':'1','serial':'A 1','portPath':'1-2.3.4'}"), "usb a.io/u 46f4:0001#A 1@1-2.3.4;" },
	{ "a bundle keeps the order of its selectors", USB("{'vendor':'2','product':'1'},{'vendor':'1','product':'2'}"),
	  "usb a.io/u 0002:0001 0001:0002;" },
	{ "the selector that is wrong is named", USB("{'vendor':'2','product':'1'},{'vendor':'1','product':'x'}"),
	  "! usb[0] a.io/u: selectors[1]: product 'x': must be up to four hexadecimal digits;" },
	{ "a bundle of nothing is wrong", USB(""), "! usb[0] a.io/u: selectors has 0 items: must be 1 to 16;" },
	{ "a port path has a bus and ports", USB("{'vendor':'2','product':'1','portPath':'1-2.'}"),
	  "! usb[0] a.io/u: selectors[0]: portPath '1-2.': " PORT_RULE ";" },
	{ "a bus alone is no port path", USB("{'vendor':'2','product':'1','portPath':'1'}"),
	  "! usb[0] a.io/u: selectors[0]: portPath '1': " PORT_RULE ";" },

	{ "blanks of a type are underscores, and those around it nothing",
	  "'mediatedDevices':[" MDEV("nvidia.com/GRID_T4-1Q", " GRID T4-1Q ") "]", "mdev nvidia.com/GRID_T4-1Q GRID_T4-1Q;" },
	{ "a type is one resource's", "'mediatedDevices':[" MDEV("a.io/x", "A B") "," MDEV("a.io/y", "A_B") "]",
	  "mdev a.io/x A_B;! mediatedDevices[1] a.io/y: mdevNameSelector 'A_B': an entry with resource 'a.io/x' already selects these devices;" },
	{ "types of the cluster and of nodes, in the order that was written",
	  "'mediatedDevicesConfiguration':{'mediatedDeviceTypes':['z','a b','z'],'nodeMediatedDeviceTypes':["
	  "{'nodeSelector':{'k':'v','a':''},'mediatedDeviceTypes':['y','b']},{'mediatedDeviceTypes':['x']}]}",
	  "types z a_b;types y b if a= if k=v;types x;" },
	{ "kubevirt-contract 2 (inputs: deprecated name): it counts, where there are none by the other",
	  "'mediatedDevicesConfiguration':{'mediatedDevicesTypes':['z','a b'],'nodeMediatedDeviceTypes':["
	  "{'mediatedDevicesTypes':['x']},{'mediatedDeviceTypes':['y'],'mediatedDevicesTypes':['x']}]}",
	  "types z a_b;types x;types y;" },
	{ "a wrong one of those is named so", "'mediatedDevicesConfiguration':{'mediatedDevicesTypes':['a',' ']}",
	  "types a;! mediatedDevicesConfiguration[-1] -: mediatedDevicesTypes[1]: type is missing: must be printable text of at most 255 bytes;" },
	{ "types can be switched off", "'mediatedDevicesConfiguration':{'enabled':false}", "types off;" },
	{ "a type without a name is left out", "'mediatedDevicesConfiguration':{'mediatedDeviceTypes':['a',' ','b']}",
	  "types a b;! mediatedDevicesConfiguration[-1] -: mediatedDeviceTypes[1]: type is missing: must be printable text of at most 255 bytes;" },
	{ "a label that no node can have", "'mediatedDevicesConfiguration':{'nodeMediatedDeviceTypes':[{'nodeSelector':"
	  "{'k':'-'},'mediatedDeviceTypes':['a']}]}",
	  "! mediatedDevicesConfiguration.nodeMediatedDeviceTypes[0] -: nodeSelector '-': a label can have no such value;" },

	{ "a node with all that is usual", "'genericDevices':[" KVM("") "]", "node a.io/kvm /dev/kvm>/dev/kvm rw 1000;" },
	{ "a node with all that can be said",
	  "'genericDevices':[" KVM(",'containerPath':'/x','count':3,'permissions':'mrw','preOpen':true,'nodeSelector':{'a':'b'}") "]",
	  "node a.io/kvm /dev/kvm>/x mrw 3 open if a=b;" },
	{ "a node that may be a disk", "'genericDevices':[" KVM(",'allowHostCritical':true") "]",
	  "node a.io/kvm /dev/kvm>/dev/kvm rw 1000 critical;" },
	{ "a node is below /dev", "'genericDevices':[" NODE("a.io/x", ",'path':'/etc/shadow'") "]",
	  "! genericDevices[0] a.io/x: path '/etc/shadow': must be a device node below /dev;" },
	{ "a path leads nowhere else", "'genericDevices':[" NODE("a.io/x", ",'path':'/dev/../etc/shadow'") ","
	  NODE("a.io/x", ",'path':'/dev//kvm'") "," NODE("a.io/x", ",'path':'/dev/kvm/'") "," NODE("a.io/x", ",'path':'/dev/.'") ","
	  NODE("a.io/x", ",'path':'dev/kvm'") "]",
	  "! genericDevices[0] a.io/x: path '/dev/../etc/shadow': " PATH_RULE ";! genericDevices[1] a.io/x: path '/dev//kvm': "
	  PATH_RULE ";! genericDevices[2] a.io/x: path '/dev/kvm/': " PATH_RULE ";! genericDevices[3] a.io/x: path '/dev/.': "
	  PATH_RULE ";! genericDevices[4] a.io/x: path 'dev/kvm': " PATH_RULE ";" },
	{ "permissions are of three letters", "'genericDevices':[" KVM(",'permissions':'rx'") "," KVM(",'permissions':'rr'") "]",
	  "! genericDevices[0] a.io/kvm: permissions 'rx': must be some of the letters r, w and m;"
	  "! genericDevices[1] a.io/kvm: permissions 'rr': must be some of the letters r, w and m;" },
	{ "units are counted within bounds", "'genericDevices':[" KVM(",'count':10001") "," KVM(",'count':-1") "]",
	  "! genericDevices[0] a.io/kvm: count 10001: a resource has 1 to 10000 units;"
	  "! genericDevices[1] a.io/kvm: count -1: a resource has 1 to 10000 units;" },
	{ "a name comes once in a list", "'genericDevices':[" KVM("") "," KVM("") "]",
	  "node a.io/kvm /dev/kvm>/dev/kvm rw 1000;! genericDevices[1] a.io/kvm: another entry of this list has the name "
	  "already: give it another;" },
	{ "a name may come for different nodes",
	  "'genericDevices':[" KVM(",'nodeSelector':{'a':'1'}") "," KVM(",'nodeSelector':{'a':'2'}") "]",
	  "node a.io/kvm /dev/kvm>/dev/kvm rw 1000 if a=1;node a.io/kvm /dev/kvm>/dev/kvm rw 1000 if a=2;" },

	{ "a socket with all that is usual", "'socketDevices':[" QGS("") "]",
	  "socket a.io/tdx /var/run/tdx-qgs qgs.socket 1000;" },
	{ "a socket with all that can be said",
	  "'socketDevices':[" QGS(",'count':5,'countFromMisc':'tdx','optional':true,'owner':{'uid':107,'gid':0},"
	  "'seLinuxLabel':'s:o:t:s0','nodeSelector':{'a':'b'}") "]",
	  "socket a.io/tdx /var/run/tdx-qgs qgs.socket 5 misc tdx 107:0 s:o:t:s0 optional if a=b;" },
	{ "a folder of the system is no container's", "'socketDevices':["
	  NODE("a.io/x", ",'socketPath':'/var/run/x.sock'") "," NODE("a.io/x", ",'socketPath':'/run/x.sock'") ","
	  NODE("a.io/x", ",'socketPath':'/x.sock'") "]",
	  "! socketDevices[0] a.io/x: socketPath '/var/run/x.sock': the socket must be in a folder of its own, since "
	  "containers get the whole folder;! socketDevices[1] a.io/x: socketPath '/run/x.sock': the socket must be in a folder "
	  "of its own, since containers get the whole folder;! socketDevices[2] a.io/x: socketPath '/x.sock': the socket must "
	  "be in a folder of its own, since containers get the whole folder;" },
	{ "an owner is a user and a group", "'socketDevices':[" QGS(",'owner':{'uid':107}") "," QGS(",'owner':{'uid':0,'gid':4294967295}") "]",
	  "! socketDevices[0] a.io/tdx: owner: must have both uid and gid, each from 0 to 4294967294;"
	  "! socketDevices[1] a.io/tdx: owner: must have both uid and gid, each from 0 to 4294967294;" },
	{ "a resource of the misc controller is no path", "'socketDevices':[" QGS(",'countFromMisc':'../x'") "]",
	  "! socketDevices[0] a.io/tdx: countFromMisc '../x': must be a resource of the misc controller, such as tdx;" },

	{ "configurations of NVIDIA's GPUs", "'nvidia':[{'config':'a','nodeSelector':{'x':'y'}},{'config':'b'}]",
	  "nvidia[0] 'a' if x=y;nvidia[1] 'b';" },
	{ "a configuration that is empty", "'nvidia':[{'config':''},{'config':'b','nodeSelector':{'':'z'}},{'config':'c'}]",
	  "nvidia[2] 'c';! nvidia[0] -: config: is missing or empty;"
	  "! nvidia[1] -: nodeSelector is missing: must be the key of a label;" },
	{ "iommufd is where a launcher looks for it", "'iommufd':{'enabled':true}", "iommufd devices.kubevirt.io/iommufd 1000;" },
	{ "iommufd under another name", "'iommufd':{'enabled':true,'resourceName':'a.io/fd','count':7}", "iommufd a.io/fd 7;" },
	{ "iommufd is off unless it is on", "'iommufd':{'resourceName':'no name','count':-7}", "" },
	{ "iommufd's name may be taken", "'genericDevices':[" KVM("") "],'iommufd':{'enabled':true,'resourceName':'a.io/kvm'}",
	  "node a.io/kvm /dev/kvm>/dev/kvm rw 1000;! iommufd[-1] a.io/kvm: the name is that of an entry of genericDevices "
	  "already: give it another;" },
	/* clang-format on */
};

static void text_is_taken(void **state)
{
	const struct text_case *row = *state;
	struct config *config = config_of(row->spec);
	auto_str struct str out = STR_INIT;

	say(&out, config);
	assert_string_equal(str_cstr(&out), row->says);
	config_free(config);
}

static void no_config_is_an_empty_one(void **state)
{
	struct config *config = config_new(NULL);
	auto_str struct str out = STR_INIT;

	say(&out, config);
	assert_string_equal(str_cstr(&out), "");
	assert_true(config->mdev_types.enabled);
	config_free(config);
}

/* Lists that a user can make endless are limited, and one line reports the rest. */
static void lists_are_bounded(void **state)
{
	auto_str struct str spec = STR_INIT;
	struct config *config;

	str_add(&spec, "'genericDevices':[");
	for (int i = 0; i < 3 * CONFIG_ENTRIES_MAX; i++)
		str_addf(&spec, "%s{'resourceName':'a.io/n%d','path':'/dev/n'}", i ? "," : "", i);
	str_add(&spec, "],'socketDevices':[");
	for (int i = 0; i < CONFIG_ENTRIES_MAX; i++)
		str_addf(&spec, "%s{'resourceName':'\\u001b[31m','socketPath':'x'}", i ? "," : "");
	str_add(&spec, "]");
	config = config_of(str_cstr(&spec));
	assert_int_equal(config->generics.len, CONFIG_ENTRIES_MAX);
	assert_int_equal(config->troubles.len, CONFIG_TROUBLES_MAX);
	assert_int_equal(config->troubles.more, CONFIG_ENTRIES_MAX + 1 - CONFIG_TROUBLES_MAX);
	assert_string_equal(config->troubles.items[0].message,
			    "the list has 384 entries: those behind 128 are left out");
	assert_string_equal(config->troubles.items[1].resource, "\\x1b[31m");
	config_free(config);
}

static struct selects_case {
	const char *name;
	const char *selector; /* "key=value", one word each */
	const char *labels;
	bool selects;
} selections[] = {
	{ "no selector takes every node", "", "a=b", true },
	{ "a label that is there", "a=b", "c=d a=b", true },
	{ "all labels must be there", "a=b c=d", "a=b", false },
	{ "the value counts", "a=b", "a=c", false },
	{ "an empty value is a value", "a=", "a=", true },
	{ "an empty value is no missing label", "a=", "b=", false },
};

static void fill(struct json_pairs *pairs, const char *words)
{
	auto_free char *text = xstrdup(words);
	char *rest = NULL;

	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *value = strchr(word, '=');

		*value++ = '\0';
		json_pairs_set(pairs, word, value);
	}
}

SUITE_CLOSING(json_pairs, struct json_pairs, json_pairs_done);

static void selector_selects(void **state)
{
	const struct selects_case *row = suite_row(state);
	struct json_pairs selector = { 0 };
	struct json_pairs *labels = *state;

	fill(&selector, row->selector);
	fill(labels, row->labels);
	assert_int_equal(config_selects(&selector, labels), row->selects);
	json_pairs_done(&selector);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, texts, text_is_taken);
	suite_add(&suite, "no config is an empty one", no_config_is_an_empty_one, NULL);
	suite_add(&suite, "lists are bounded", lists_are_bounded, NULL);
	suite_fixture(&suite, &json_pairs_fixture);
	suite_rows(&suite, selections, selector_selects);
	return suite_run(&suite, "config");
}
