/* socket_type: folders of sockets that many containers share: the socket rows of KubeVirt's
 * table. */
#include "agent/generic/socket_type.h"

#include "unit/generic/asked.h"
#include "unit/generic/sockets.h"

#define QGS "/var/run/tdx-qgs/qgs.socket"
#define SOCKET(more) \
	"'socketDevices':[{'resourceName':'a.io/tdx','socketPath':'" QGS "','count':2" more "}]"

#define BY_LINK " is behind a symbolic link, which is not followed: use the path without links"

/* The report about the entry when its socket, or the file in its place, is not usable. */
#define MISSING_AT(resource, path)                                                                \
	"socketDevices[0] " resource " SocketMissing: " path                                      \
	" is not there: start the daemon that "                                                   \
	"makes it, or keep the entry to nodes that have it by a nodeSelector; an agent in a pod " \
	"sees only folders that are mounted below its --host-root|"
#define MISSING        MISSING_AT("a.io/tdx", QGS)
#define UNUSABLE(what) "socketDevices[0] a.io/tdx SocketUnusable: " what "|"

#define NO_TDX                                                                                     \
	"socketDevices[0] a.io/tdx NoCapacity: the misc cgroup controller of this node has no "    \
	"capacity 'tdx': switch it on in the firmware and the kernel, or keep the entry to nodes " \
	"that have it by a nodeSelector|"

static struct type_case {
	const char *name;
	const char *spec;
	const char *
		made; /* what is made: "f" the folder, "s" the socket, "x" a file and "l" a link of its
			   * name, "L" a link of the folder's name, to where there is such a socket */
	const char *misc; /* the text of misc.capacity; NULL: there is none */
	const char *offers;
	const char *gives;
	const char *troubles; /* NULL: none */
} rows[] = {
	/* clang-format off */
	{ "kubevirt-contract 1.2 (tdx): the folder of the socket, writable, at the same path, and no device",
	  SOCKET(",'countFromMisc':'tdx'"), "fs", "sev 7\ntdx 3\n", "a.io/tdx tdx0 tdx1 tdx2|",
	  "/var/run/tdx-qgs>/var/run/tdx-qgs", NULL },
	{ "a machine without TDX has none of it, and that is told", SOCKET(",'countFromMisc':'tdx'"), "fs", "sev 7\n", "",
	  "the resource is not configured", NO_TDX },
	{ "a kernel without the controller, too", SOCKET(",'countFromMisc':'tdx'"), "fs", NULL, "",
	  "the resource is not configured", NO_TDX },
	{ "a capacity of 0 is none", SOCKET(",'countFromMisc':'tdx'"), "fs", "tdx 0\n", "",
	  "the resource is not configured", NO_TDX },
	{ "a machine without TDX that the entry is not for has no trouble",
	  SOCKET(",'countFromMisc':'tdx','nodeSelector':{'a':'1'}"), "fs", "sev 7\n", "", "the resource is not configured", NULL },
	{ "pr-helper: as many as the config says", SOCKET(""), "fs", NULL, "a.io/tdx tdx0 tdx1|",
	  "/var/run/tdx-qgs>/var/run/tdx-qgs", NULL },
	{ "without its socket it is not healthy", SOCKET(""), "f", NULL,
	  "a.io/tdx !" QGS " is not there tdx0 tdx1|", QGS " is not there", MISSING },
	{ "without its folder, too", SOCKET(""), "", NULL, "a.io/tdx !" QGS " is not there tdx0 tdx1|",
	  QGS " is not there", MISSING },
	{ "a file of that name is no socket", SOCKET(""), "fx", NULL, "a.io/tdx !" QGS " is no socket tdx0 tdx1|",
	  QGS " is no socket", UNUSABLE(QGS " is no socket") },
	{ "kubevirt-contract 1.2 (optional socket): it is healthy without its folder", SOCKET(",'optional':true"), "", NULL,
	  "a.io/tdx tdx0 tdx1|", "/var/run/tdx-qgs>/var/run/tdx-qgs", NULL },
	{ "and without its socket", SOCKET(",'optional':true"), "f", NULL, "a.io/tdx tdx0 tdx1|",
	  "/var/run/tdx-qgs>/var/run/tdx-qgs", NULL },
	{ "but not with a file in its place", SOCKET(",'optional':true"), "fx", NULL,
	  "a.io/tdx !" QGS " is no socket tdx0 tdx1|", QGS " is no socket", UNUSABLE(QGS " is no socket") },
	{ "nor by a link to it", SOCKET(",'optional':true"), "fl", NULL,
	  "a.io/tdx !'qgs.socket'" BY_LINK " tdx0 tdx1|", "'qgs.socket'" BY_LINK, UNUSABLE("'qgs.socket'" BY_LINK) },
	{ "nor by a link to its folder", SOCKET(",'optional':true"), "L", NULL,
	  "a.io/tdx !'/var/run/tdx-qgs'" BY_LINK " tdx0 tdx1|", "'/var/run/tdx-qgs'" BY_LINK, UNUSABLE("'/var/run/tdx-qgs'" BY_LINK) },
	{ "nor is one that must be there lent by a link to its folder", SOCKET(""), "L", NULL,
	  "a.io/tdx !'/var/run/tdx-qgs'" BY_LINK " tdx0 tdx1|", "'/var/run/tdx-qgs'" BY_LINK, UNUSABLE("'/var/run/tdx-qgs'" BY_LINK) },
	{ "an entry for other nodes", SOCKET(",'nodeSelector':{'a':'1'}"), "fs", NULL, "",
	  "the resource is not configured", NULL },
	/* clang-format on */
};

struct scene {
	struct folder folder;
	char *sysfs;
	struct config *config;
	struct json_pairs labels;
	struct asked_plugins plugins;
	struct socket_type *type;
};

static void put_misc(const struct scene *scene, const char *text)
{
	folder_put(&scene->folder, "sys/fs/cgroup/misc.capacity", text);
}

static void make(const struct folder *folder, const char *made)
{
	if (strchr(made, 'f'))
		make_folders(folder, "var/run/tdx-qgs");
	if (strchr(made, 's'))
		make_socket(folder, "var/run/tdx-qgs/qgs.socket");
	if (strchr(made, 'x'))
		folder_put(folder, "var/run/tdx-qgs/qgs.socket", "");
	if (strpbrk(made, "lL")) {
		make_folders(folder, "etc");
		make_socket(folder, "etc/qgs.socket");
	}
	if (strchr(made, 'l'))
		make_link(folder, "../../../etc/qgs.socket", "var/run/tdx-qgs/qgs.socket");
	if (strchr(made, 'L')) {
		make_folders(folder, "var/run");
		make_link(folder, "../../etc", "var/run/tdx-qgs");
	}
}

static void scene_open(struct scene *scene, const struct type_case *row)
{
	*scene = (struct scene){ 0 };
	folder_init(&scene->folder);
	scene->sysfs = folder_path(&scene->folder, "sys");
	make_folders(&scene->folder, "sys/fs/cgroup");
	if (row->misc)
		put_misc(scene, row->misc);
	make(&scene->folder, row->made);
	scene->config = asked_config(row->spec);
	scene->type = socket_type_new(
		&(struct socket_roots){ .host = scene->folder.path, .sysfs = scene->sysfs });
	socket_type_set(scene->type, scene->config, &scene->labels);
}

static void scene_close(struct scene *scene)
{
	socket_type_free(scene->type);
	config_free(scene->config);
	str_done(&scene->plugins.offered);
	folder_done(&scene->folder);
	free(scene->sysfs);
}

SUITE_CLOSING(scene, struct scene, scene_close);

/* Returns the troubles; the caller frees. */
static char *offer(struct scene *scene)
{
	struct config_troubles troubles = { 0 };
	struct str out = STR_INIT;

	socket_type_offer(scene->type, asked_as_plugins(&scene->plugins), &troubles);
	asked_troubles(&out, &troubles);
	config_troubles_done(&troubles);
	return str_detach(&out);
}

static void is_offered_and_given(void **state)
{
	const struct type_case *row = suite_row(state);
	auto_free char *troubles = NULL;
	auto_free char *gives = NULL;
	struct scene *scene = *state;

	scene_open(scene, row);
	troubles = offer(scene);
	assert_string_equal(str_cstr(&scene->plugins.offered), row->offers);
	assert_string_equal(troubles, row->troubles ? row->troubles : "");
	gives = asked_allocate(&socket_device_type, scene->type, "a.io/tdx", "tdx0 tdx1");
	assert_string_equal(gives, row->gives);
}

static void expect(struct scene *scene, const char *offers, const char *wanted)
{
	auto_free char *troubles = offer(scene);

	assert_string_equal(str_cstr(&scene->plugins.offered), offers);
	assert_string_equal(troubles, wanted);
}

/* Defects 2 and #18669: systemd creates the folder again at each start of the daemon. */
static void a_socket_made_anew_is_healthy_again(void **state)
{
	static const struct type_case row = { .spec = SOCKET(""), .made = "fs" };
	static const char well[] = "a.io/tdx tdx0 tdx1|";
	static const char ill[] = "a.io/tdx !" QGS " is not there tdx0 tdx1|";
	struct scene *scene = *state;

	scene_open(scene, &row);
	expect(scene, well, "");
	drop(&scene->folder, "var/run/tdx-qgs/qgs.socket");
	expect(scene, ill, MISSING);
	drop(&scene->folder, "var/run/tdx-qgs");
	expect(scene, ill, MISSING);
	make(&scene->folder, "f");
	expect(scene, ill, MISSING);
	make_socket(&scene->folder, "var/run/tdx-qgs/qgs.socket");
	expect(scene, well, "");
	assert_int_equal(scene->plugins.sets, 3);
}

static void a_capacity_that_comes_is_counted(void **state)
{
	static const struct type_case row = { .spec = SOCKET(",'countFromMisc':'tdx'"),
					      .made = "fs" };
	struct scene *scene = *state;

	scene_open(scene, &row);
	expect(scene, "", NO_TDX);
	put_misc(scene, "tdx 2\n");
	expect(scene, "a.io/tdx tdx0 tdx1|", "");
	put_misc(scene, "tdx 1\n");
	expect(scene, "a.io/tdx tdx0|", "");
}

/* The place of KubeVirt's daemon; the owner is the one that a test can set. */
static void the_reservation_helper_is_given_its_owner(void **state)
{
#define PR "/var/run/kubevirt/daemons/pr"
	auto_free char *spec = xasprintf(
		"'socketDevices':[{'resourceName':'devices.kubevirt.io/pr-helper','socketPath':'" PR
		"/pr-helper.sock','count':2,'owner':{'uid':%u,'gid':%u}}]",
		getuid(), getgid());
	struct type_case row = { .spec = spec, .made = "" };
	auto_free char *gives = NULL;
	struct scene scene;

	scene_open(&scene, &row);
	expect(&scene,
	       "devices.kubevirt.io/pr-helper !" PR "/pr-helper.sock is not there pr-helper0 "
	       "pr-helper1|",
	       MISSING_AT("devices.kubevirt.io/pr-helper", PR "/pr-helper.sock"));
	make_folders(&scene.folder, "var/run/kubevirt/daemons/pr");
	make_socket(&scene.folder, "var/run/kubevirt/daemons/pr/pr-helper.sock");
	expect(&scene, "devices.kubevirt.io/pr-helper pr-helper0 pr-helper1|", "");
	gives = asked_allocate(&socket_device_type, scene.type, "devices.kubevirt.io/pr-helper",
			       "pr-helper1");
	assert_string_equal(gives, PR ">" PR);
	scene_close(&scene);
#undef PR
}

/* A folder behind a link is not given away: it could be anything's. */
static void an_owner_that_cannot_be_set_is_told(void **state)
{
	auto_free char *spec =
		xasprintf(SOCKET(",'owner':{'uid':%u,'gid':%u}"), getuid(), getgid());
	struct type_case row = { .spec = spec, .made = "" };
	struct scene *scene = *state;

	scene_open(scene, &row);
	expect(scene, "a.io/tdx !" QGS " is not there tdx0 tdx1|", MISSING);
	make_folders(&scene->folder, "elsewhere");
	make_socket(&scene->folder, "elsewhere/qgs.socket");
	make_folders(&scene->folder, "var/run");
	make_link(&scene->folder, "../../elsewhere", "var/run/tdx-qgs");
	expect(scene,
	       "a.io/tdx !'/var/run/tdx-qgs' is behind a symbolic link, which is not followed: use the path without links tdx0 tdx1|",
	       "socketDevices[0] a.io/tdx OwnerNotSet: '/var/run/tdx-qgs' is behind a symbolic link, which is not followed: use the path without links|");
	drop(&scene->folder, "var/run/tdx-qgs");
	make_folders(&scene->folder, "var/run/tdx-qgs");
	make_socket(&scene->folder, "var/run/tdx-qgs/qgs.socket");
	expect(scene, "a.io/tdx tdx0 tdx1|", "");
}

static struct capacity_case {
	const char *name;
	const char *text;
	unsigned count;
} capacities[] = {
	{ "a capacity among others", "sev 10\ntdx 31\nsev_es 5\n", 31 },
	{ "a name that only begins alike", "tdx_x 31\nxtdx 4\n", 0 },
	{ "no end is the bound", "tdx max\n", 100 },
	{ "more than the bound is the bound", "tdx 101\n", 100 },
	{ "what is no number is nothing", "tdx x\n", 0 },
	{ "a line without a value is nothing", "tdx\n", 0 },
	{ "a last line without an end", "tdx 3", 3 },
	{ "an empty text", "", 0 },
};

static void capacity_is_found(void **state)
{
	const struct capacity_case *row = *state;

	assert_int_equal(misc_capacity_find(row->text, "tdx", 100), row->count);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite,
		  "kubevirt-contract 1.2 (persistent reservation): the daemon's folder, once its "
		  "socket has its owner",
		  the_reservation_helper_is_given_its_owner, NULL);
	suite_rows(&suite, capacities, capacity_is_found);
	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, rows, is_offered_and_given);
	suite_add(
		&suite,
		"kubevirt-contract 1.6 (2): a socket made anew, with its folder, is healthy again",
		a_socket_made_anew_is_healthy_again, NULL);
	suite_add(&suite, "a capacity that comes is counted", a_capacity_that_comes_is_counted,
		  NULL);
	suite_add(&suite, "an owner that cannot be set is told",
		  an_owner_that_cannot_be_set_is_told, NULL);
	return suite_run(&suite, "socket_type");
}
