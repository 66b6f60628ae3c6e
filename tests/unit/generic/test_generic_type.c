/* generic_type: device nodes that many containers share: every generic row of KubeVirt's table. */
#include "agent/generic/generic_type.h"

#include "agent/generic/pre_open.h"
#include "agent/generic/shared.h"
#include "unit/folder.h"
#include "unit/generic/asked.h"

#include <sys/sysmacros.h>

#define NODE(name, path, more) \
	"{'resourceName':'a.io/" name "','path':'" path "','count':2" more "}"
#define ONE(name, path, more) "'genericDevices':[" NODE(name, path, more) "]"
#define OPEN                  ",'preOpen':true"
#define CLAIMED(path)                                                                          \
	path " is a VFIO device node, and pods get those with claims only: remove the entry, " \
	     "and claim the device or add it to pciHostDevices"

/* In place of the helper's: "/dev/net/tun" cannot be opened. */
const char *pre_open_trouble(struct pre_open *opens, const char *path)
{
	assert_null(opens);
	if (strcmp(path, "/dev/new") == 0)
		return "/dev/new is being opened";
	return strcmp(path, "/dev/net/tun") == 0 ? "/dev/net/tun cannot be opened: No such device"
						 : NULL;
}

bool pre_open_untried(const struct pre_open *opens, const char *path)
{
	assert_null(opens);
	return strcmp(path, "/dev/new") == 0 || strcmp(path, "/dev/mine") == 0;
}

static struct type_case {
	const char *name;
	const char *spec;
	const char *nodes[3]; /* below /dev: nodes; "x=" a file that is none */
	const char *offers;
	const char *gives; /* for all units of the first resource; NULL: not asked */
	const char *troubles;
	const char *labels; /* of the node: "a=1"; NULL: none */
	const char *taken;
} rows[] = {
	/* clang-format off */
	{ "kubevirt-contract 1.2 (hypervisor): /dev/kvm, one node for one container, whatever it asks for",
	  ONE("kvm", "/dev/kvm", ""), { "kvm" }, "a.io/kvm kvm0 kvm1|", "/dev/kvm>/dev/kvm:rw", .troubles = "" },
	{ "kubevirt-contract 1.2 (tun): opened first, not healthy while that fails",
	  ONE("tun", "/dev/net/tun", OPEN), { "net/tun" },
	  "a.io/tun !/dev/net/tun cannot be opened: No such device tun0 tun1|",
	  "/dev/net/tun cannot be opened: No such device",
	  .troubles = "genericDevices[0] a.io/tun NodeUnusable: /dev/net/tun cannot be opened: No such device|" },
	{ "a node that is being opened for the first time is no trouble yet", ONE("new", "/dev/new", OPEN), { "new" },
	  "a.io/new !/dev/new is being opened new0 new1|", "/dev/new is being opened", .troubles = "" },
	{ "tun without opening", ONE("tun", "/dev/net/tun", ",'permissions':'rwm'"), { "net/tun" }, "a.io/tun tun0 tun1|",
	  "/dev/net/tun>/dev/net/tun:rwm", .troubles = "" },
	{ "kubevirt-contract 1.2 (vhost-net): opened", ONE("vhost-net", "/dev/vhost-net", OPEN), { "vhost-net" },
	  "a.io/vhost-net vhost-net0 vhost-net1|", "/dev/vhost-net>/dev/vhost-net:rw", .troubles = "" },
	{ "kubevirt-contract 1.2 (vsock): opened", ONE("vhost-vsock", "/dev/vhost-vsock", OPEN), { "vhost-vsock" },
	  "a.io/vhost-vsock vhost-vsock0 vhost-vsock1|", "/dev/vhost-vsock>/dev/vhost-vsock:rw", .troubles = "" },
	{ "kubevirt-contract 1.2 (sev): opened", ONE("sev", "/dev/sev", OPEN), { "sev" },
	  "a.io/sev sev0 sev1|", "/dev/sev>/dev/sev:rw", .troubles = "" },
	{ "a node under another path in the container", ONE("kvm", "/dev/kvm", ",'containerPath':'/opt/kvm'"), { "kvm" },
	  "a.io/kvm kvm0 kvm1|", "/dev/kvm>/opt/kvm:rw", .troubles = "" },
	{ "a node that is not there is not healthy, and told",
	  ONE("kvm", "/dev/kvm", ""), { NULL }, "a.io/kvm !/dev/kvm is not there kvm0 kvm1|", "/dev/kvm is not there",
	  .troubles = "genericDevices[0] a.io/kvm NodeMissing: /dev/kvm is not there: load the driver that makes it, or keep the entry to "
	  "nodes that have it by a nodeSelector|" },
	{ "a file that is no node is not lent", ONE("kvm", "/dev/kvm", ""), { "kvm=" },
	  "a.io/kvm !/dev/kvm is no device node kvm0 kvm1|", "/dev/kvm is no device node",
	  .troubles = "genericDevices[0] a.io/kvm NodeUnusable: /dev/kvm is no device node|" },
	{ "a way to a disk is not offered", ONE("kvm", "/dev/nvme0", ""), { "nvme0", "disk" },
	  "a.io/kvm !/dev/nvme0 is a control node of a disk: set allowHostCritical to offer it all the same kvm0 kvm1|",
	  "/dev/nvme0 is a control node of a disk: set allowHostCritical to offer it all the same",
	  .troubles = "genericDevices[0] a.io/kvm NodeHostCritical: /dev/nvme0 is a control node of a disk: set allowHostCritical to "
	  "offer it all the same|" },
	{ "nor is one by a subsystem of several paths", ONE("kvm", "/dev/ng0n1", ""), { "ng0n1", "paths" },
	  "a.io/kvm !/dev/ng0n1 is a control node of a disk: set allowHostCritical to offer it all the same kvm0 kvm1|",
	  "/dev/ng0n1 is a control node of a disk: set allowHostCritical to offer it all the same",
	  .troubles = "genericDevices[0] a.io/kvm NodeHostCritical: /dev/ng0n1 is a control node of a disk: set allowHostCritical to "
	  "offer it all the same|" },
	{ "nor is the way to the BMC", ONE("kvm", "/dev/ipmi0", ""), { "ipmi0", "bmc" },
	  "a.io/kvm !/dev/ipmi0 is the way to the machine's management controller (IPMI): set allowHostCritical to offer it all "
	  "the same kvm0 kvm1|",
	  "/dev/ipmi0 is the way to the machine's management controller (IPMI): set allowHostCritical to offer it all the same",
	  .troubles = "genericDevices[0] a.io/kvm NodeHostCritical: /dev/ipmi0 is the way to the machine's management controller "
	  "(IPMI): set allowHostCritical to offer it all the same|" },
	{ "nor is what cannot be looked up", ONE("kvm", "/dev/odd", ""), { "odd", "unread" },
	  "a.io/kvm !/dev/odd is a device of which nothing can be read below /sys: set allowHostCritical to offer it all the same "
	  "kvm0 kvm1|",
	  "/dev/odd is a device of which nothing can be read below /sys: set allowHostCritical to offer it all the same",
	  .troubles = "genericDevices[0] a.io/kvm NodeHostCritical: /dev/odd is a device of which nothing can be read below /sys: "
	  "set allowHostCritical to offer it all the same|" },
	{ "unless the entry says so", ONE("kvm", "/dev/nvme0", ",'allowHostCritical':true"), { "nvme0", "disk" },
	  "a.io/kvm kvm0 kvm1|", "/dev/nvme0>/dev/nvme0:rw", .troubles = "" },
	{ "a VFIO group is one pod's, with a claim, whatever the entry says",
	  ONE("kvm", "/dev/vfio/12", ",'allowHostCritical':true"), { "vfio/12" }, "a.io/kvm !" CLAIMED("/dev/vfio/12") " kvm0 kvm1|",
	  CLAIMED("/dev/vfio/12"), .troubles = "genericDevices[0] a.io/kvm NodeUnusable: " CLAIMED("/dev/vfio/12") "|" },
	{ "also before there is a node, which preOpen would open", ONE("kvm", "/dev/vfio/devices/vfio0", OPEN), { NULL },
	  "a.io/kvm !" CLAIMED("/dev/vfio/devices/vfio0") " kvm0 kvm1|", CLAIMED("/dev/vfio/devices/vfio0"),
	  .troubles = "genericDevices[0] a.io/kvm NodeUnusable: " CLAIMED("/dev/vfio/devices/vfio0") "|" },
	{ "also by another name, by the number of the group", ONE("kvm", "/dev/mine", OPEN), { "mine", "vfio group" },
	  "a.io/kvm !" CLAIMED("/dev/mine") " kvm0 kvm1|", CLAIMED("/dev/mine"),
	  .troubles = "genericDevices[0] a.io/kvm NodeUnusable: " CLAIMED("/dev/mine") "|" },
	{ "of the container of groups", ONE("kvm", "/dev/mine", ""), { "mine", "vfio container" },
	  "a.io/kvm !" CLAIMED("/dev/mine") " kvm0 kvm1|", CLAIMED("/dev/mine"),
	  .troubles = "genericDevices[0] a.io/kvm NodeUnusable: " CLAIMED("/dev/mine") "|" },
	{ "and of a device's own node", ONE("kvm", "/dev/mine", ""), { "mine", "vfio device" },
	  "a.io/kvm !" CLAIMED("/dev/mine") " kvm0 kvm1|", CLAIMED("/dev/mine"),
	  .troubles = "genericDevices[0] a.io/kvm NodeUnusable: " CLAIMED("/dev/mine") "|" },
	{ "one that is not there, of an entry for other nodes, is nobody's trouble",
	  ONE("kvm", "/dev/kvm", ",'nodeSelector':{'a':'1'}"), { NULL }, "", NULL, .troubles = "" },
	{ "an entry for other nodes", ONE("kvm", "/dev/kvm", ",'nodeSelector':{'a':'1'}"), { "kvm" }, "",
	  "the resource is not configured", .troubles = "" },
	{ "an entry for this node", ONE("kvm", "/dev/kvm", ",'nodeSelector':{'a':'1'}"), { "kvm" }, "a.io/kvm kvm0 kvm1|",
	  "/dev/kvm>/dev/kvm:rw", .troubles = "", .labels = "a=1" },
	{ "two entries of one name for this node: the first counts, and that is told",
	  "'genericDevices':[" NODE("kvm", "/dev/kvm", ",'nodeSelector':{'a':'1'}") ","
	  NODE("kvm", "/dev/sev", ",'nodeSelector':{'a':'1'}") "]", { "kvm", "sev" }, "a.io/kvm kvm0 kvm1|", "/dev/kvm>/dev/kvm:rw",
	  "genericDevices[1] a.io/kvm SameName: entry 0 has the same name on this node, and the first counts|", .labels = "a=1" },
	{ "a resource that a claimed device has is told of, and hurts no other",
	  "'genericDevices':[" NODE("kvm", "/dev/kvm", "") "," NODE("sev", "/dev/sev", "") "]", { "kvm", "sev" },
	  "a.io/kvm kvm0 kvm1|a.io/sev sev0 sev1|", NULL,
	  "genericDevices[0] a.io/kvm NameTaken: devices of another type (pci) already have this resource name on this node: give the "
	  "entry another name|", .taken = "a.io/kvm" },
	/* clang-format on */
};

struct scene {
	struct folder folder;
	char *dev;
	char *sysfs;
	struct config *config;
	struct json_pairs labels;
	struct asked_plugins plugins;
	struct generic_type *type;
};

/* Links to a node that everybody has. */
static void put_node(const struct folder *folder, const char *name)
{
	auto_free char *path = xasprintf("dev/%s", name);
	auto_free char *whole = folder_path(folder, path);
	size_t len = strlen(whole);

	if (whole[len - 1] == '=') {
		whole[len - 1] = path[strlen(path) - 1] = '\0';
		folder_put(folder, path, "");
		return;
	}
	folder_put(folder, path, "");
	assert_int_equal(unlink(whole), 0);
	assert_int_equal(symlink("/dev/null", whole), 0);
}

/* The node that put_node() links to is that of @device, below /sys/devices. */
static void put_disk(const struct folder *folder, const char *device)
{
	static const char *const parts[] = { "sys", "sys/dev", "sys/dev/char" };
	auto_free char *target = xasprintf("../../devices/%s", device);
	auto_free char *link = NULL;
	struct stat st;

	assert_int_equal(stat("/dev/null", &st), 0);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		auto_free char *path = folder_path(folder, parts[i]);

		assert_int_equal(mkdir(path, 0700), 0);
	}
	link = xasprintf("%s/sys/dev/char/%u:%u", folder->path, major(st.st_rdev),
			 minor(st.st_rdev));
	assert_int_equal(symlink(target, link), 0);
}

static void scene_open(struct scene *scene, const struct type_case *row)
{
	static const struct {
		const char *name;
		const char *device;
	} places[] = {
		{ "disk", "pci0000:00/0000:01:00.0/nvme/nvme0" },
		{ "paths", "virtual/nvme-subsystem/nvme-subsys0/ng0n1" },
		{ "bmc", "pci0000:00/0000:01:00.2/ipmi/ipmi0" },
		{ "vfio group", "virtual/vfio/12" },
		{ "vfio container", "virtual/misc/vfio" },
		{ "vfio device", "pci0000:00/0000:01:00.0/vfio-dev/vfio0" },
	};

	*scene = (struct scene){ .plugins = { .taken = row->taken } };
	folder_init(&scene->folder);
	scene->dev = folder_path(&scene->folder, "dev");
	assert_int_equal(mkdir(scene->dev, 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(row->nodes) && row->nodes[i]; i++)
		put_node(&scene->folder, row->nodes[i]);
	if (row->labels)
		json_pairs_set(&scene->labels, "a", row->labels + strlen("a="));
	scene->sysfs = folder_path(&scene->folder, "sys");
	for (size_t i = 0; row->nodes[1] && i < ARRAY_LEN(places); i++) {
		if (strcmp(row->nodes[1], places[i].name) == 0)
			put_disk(&scene->folder, places[i].device);
	}
	if (row->nodes[1] && strcmp(row->nodes[1], "unread") == 0)
		folder_put(&scene->folder, "sys/dev", "no folder");
	scene->config = asked_config(row->spec);
	scene->type = generic_type_new(scene->dev, scene->sysfs, NULL);
	generic_type_set(scene->type, scene->config, &scene->labels);
}

static void scene_close(struct scene *scene)
{
	generic_type_free(scene->type);
	config_free(scene->config);
	json_pairs_done(&scene->labels);
	str_done(&scene->plugins.offered);
	folder_done(&scene->folder);
	free(scene->dev);
	free(scene->sysfs);
}

SUITE_CLOSING(scene, struct scene, scene_close);

static void offer(struct scene *scene, struct str *ret_troubles)
{
	struct config_troubles troubles = { 0 };

	str_clear(ret_troubles);
	generic_type_offer(scene->type, asked_as_plugins(&scene->plugins), &troubles);
	asked_troubles(ret_troubles, &troubles);
	config_troubles_done(&troubles);
}

static void is_offered_and_given(void **state)
{
	const struct type_case *row = suite_row(state);
	auto_str struct str troubles = STR_INIT;
	auto_free char *resource = NULL;
	auto_free char *gives = NULL;
	struct scene *scene = *state;

	scene_open(scene, row);
	resource = xstrdup(scene->config->generics.items[0].resource);
	offer(scene, &troubles);
	assert_string_equal(str_cstr(&scene->plugins.offered), row->offers);
	assert_string_equal(str_cstr(&troubles), row->troubles);
	gives = asked_allocate(&generic_device_type, scene->type, resource, "kvm0 kvm1");
	if (row->gives)
		assert_string_equal(gives, row->gives);
}

/* KubeVirt's defect 6: one response object for all containers. */
static void each_container_gets_its_own(void **state)
{
	static const struct type_case row = { .spec = ONE("kvm", "/dev/kvm", ""),
					      .nodes = { "kvm" } };
	auto_str struct str troubles = STR_INIT;
	struct scene *scene = *state;

	scene_open(scene, &row);
	offer(scene, &troubles);
	for (int i = 0; i < 3; i++) {
		auto_free char *gives =
			asked_allocate(&generic_device_type, scene->type, "a.io/kvm", "kvm0");

		assert_string_equal(gives, "/dev/kvm>/dev/kvm:rw");
	}
}

/* For any number of units: report each change once, and nothing else. */
static void only_changes_are_told(void **state)
{
	static const struct type_case row = {
		.spec = "'genericDevices':[{'resourceName':'a.io/kvm','path':'/dev/kvm'}]",
		.nodes = { "kvm" },
	};
	auto_str struct str troubles = STR_INIT;
	struct asked_plugins other = { 0 };
	struct config *again;
	struct scene *scene = *state;

	scene_open(scene, &row);
	for (int i = 0; i < 5; i++)
		offer(scene, &troubles);
	assert_int_equal(scene->plugins.sets, 1);
	assert_non_null(strstr(str_cstr(&scene->plugins.offered), " kvm999|"));

	put_node(&scene->folder, "kvm2");
	offer(scene, &troubles);
	assert_int_equal(scene->plugins.sets, 1);

	again = asked_config(row.spec); /* the same once more, as after an edit elsewhere */
	generic_type_set(scene->type, again, &scene->labels);
	config_free(scene->config);
	scene->config = again;
	offer(scene, &troubles);
	assert_int_equal(scene->plugins.sets, 2);

	generic_type_offer(scene->type, asked_as_plugins(&other), &(struct config_troubles){ 0 });
	assert_int_equal(other.sets, 1);
	str_done(&other.offered);
}

/* Adding, changing and removing an entry does so with its resource alone. */
static void entries_come_and_go(void **state)
{
	static const struct type_case row = { .spec = ONE("kvm", "/dev/kvm", ""),
					      .nodes = { "kvm", "sev" } };
	static const struct {
		const char *spec;
		const char *offers;
	} steps[] = {
		{ "'genericDevices':[" NODE("kvm", "/dev/kvm", "") "," NODE("sev", "/dev/sev",
									    "") "]",
		  "a.io/kvm kvm0 kvm1|a.io/sev sev0 sev1|" },
		{ "'genericDevices':[" NODE("sev", "/dev/sev", ",'permissions':'r'") "]",
		  "a.io/sev sev0 sev1|" },
		{ "'genericDevices':[{'resourceName':'a.io/sev','path':'/dev/sev','count':3}]",
		  "a.io/sev sev0 sev1 sev2|" },
		{ "", "" },
	};
	auto_str struct str troubles = STR_INIT;
	struct scene *scene = *state;

	scene_open(scene, &row);
	offer(scene, &troubles);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct config *next = asked_config(steps[i].spec);

		generic_type_set(scene->type, next, &scene->labels);
		config_free(scene->config);
		scene->config = next;
		offer(scene, &troubles);
		assert_string_equal(str_cstr(&scene->plugins.offered), steps[i].offers);
	}
}

static void long_names_make_ids_of_their_length(void **state)
{
	struct units units;
	auto_free char *name = xasprintf("a.io/%063d", 0);

	units_init(&units, name, 10000);
	assert_int_equal(units.len, 10000);
	assert_true(strlen(units.devices[9999].id) <= PLUGIN_ID_MAX);
	assert_non_null(strstr(units.devices[9999].id, "09999"));
	units_done(&units);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "long names make ids of their length",
		  long_names_make_ids_of_their_length, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, rows, is_offered_and_given);
	suite_add(&suite, "kubevirt-contract 1.6 (6): each container gets a response of its own",
		  each_container_gets_its_own, NULL);
	suite_add(&suite, "only changes are told", only_changes_are_told, NULL);
	suite_add(&suite, "entries come and go", entries_come_and_go, NULL);
	return suite_run(&suite, "generic_type");
}
