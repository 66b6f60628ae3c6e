/* usb_node: the owner of a node changes, and of nothing else. */
#include "agent/usb/usb_node.h"

#include <fcntl.h>

#include "base/err.h"
#include "unit/usb/nodes.h"

#define FIVE "/dev/bus/usb/001/005"

static const struct usb_node qemu = { .uid = USB_NODE_UID, .gid = USB_NODE_GID };

/* After nodes_open(). */
static struct usb_node_at at(const char *path)
{
	return (struct usb_node_at){ nodes()->dev, path, nodes_calls() };
}

static void assert_owner(unsigned device, const char *wanted)
{
	auto_free char *owner = nodes_owner(device);

	assert_string_equal(owner, wanted);
}

static void the_owner_of_a_node_is_changed_and_restored(void **state)
{
	struct usb_node_at five;
	struct usb_node owner = qemu;
	struct usb_node before;
	struct usb_node after;

	nodes_open();
	five = at(FIVE);
	nodes_make(5);
	nodes()->items[0].gid = 46; /* plugdev */
	assert_int_equal(usb_node_read(&five, &before, NULL), 0);
	owner.inode = before.inode;
	assert_int_equal(usb_node_set_owner(&five, &owner, NULL), 0);
	assert_owner(5, "107:107");
	assert_int_equal(usb_node_read(&five, &after, NULL), 0);
	assert_int_equal(after.uid, 107);
	assert_int_equal(usb_node_set_owner(&five, &before, NULL), 0);
	assert_owner(5, "0:46");
	nodes_close();
}

static struct refused_case {
	const char *name;
	const char *path;
	int code;
} refused[] = {
	/* clang-format off */
	{ "a node that is not there", "/dev/bus/usb/001/006", -ENOENT },
	{ "a link to a node", "/dev/bus/usb/001/007", -ENODEV },
	{ "a node below a folder that is a link", "/dev/bus/usb/002/005", -ELOOP },
	{ "a plain file", "/dev/bus/usb/001/008", -ENODEV },
	{ "the node of another device", "/dev/bus/usb/001/009", -ENODEV },
	{ "a path out of the folder", "/dev/bus/usb/../../../etc/passwd", -EINVAL },
	{ "a path of other nodes", "/dev/vfio/12", -EINVAL },
	{ "no device number", "/dev/bus/usb/001/000", -EINVAL },
	{ "a device number that no bus has", "/dev/bus/usb/001/128", -EINVAL },
	{ "numbers with something behind", "/dev/bus/usb/001/005x", -EINVAL },
	{ "one folder too many", "/dev/bus/usb/001/05/5", -EINVAL },
	/* clang-format on */
};

static void link_to(const char *from, const char *to)
{
	auto_free char *path = xasprintf("%s/bus/usb/%s", nodes()->dev, from);

	assert_int_equal(symlink(to, path), 0);
}

/* Every one of them stands beside a node that is well. */
static void is_refused(void **state)
{
	const struct refused_case *row = *state;
	struct usb_node_at node_at;
	struct usb_node node = { 0 };
	struct err err = { 0 };

	nodes_open();
	node_at = at(row->path);
	nodes_make(5);
	nodes_make(9);
	nodes()->items[1].rdev = makedev(189, 99);
	link_to("001/007", "005");
	link_to("002", "001");
	folder_put(&nodes()->folder, "dev/bus/usb/001/008", "");
	assert_int_equal(usb_node_read(&node_at, &node, &err), row->code);
	assert_int_equal(usb_node_set_owner(&node_at, &qemu, &err), row->code);
	assert_owner(5, "0:0");
	assert_owner(9, "0:0");
	nodes_close();
}

static void a_node_that_was_created_again_keeps_its_owner(void **state)
{
	struct usb_node_at five;
	struct usb_node owner = qemu;
	struct usb_node before;

	nodes_open();
	five = at(FIVE);
	nodes_make(5);
	assert_int_equal(usb_node_read(&five, &before, NULL), 0);
	owner.inode = before.inode + 1000;
	assert_int_equal(usb_node_set_owner(&five, &owner, NULL), -ESTALE);
	assert_owner(5, "0:0");
	nodes_close();
}

static void a_chown_that_is_refused_is_reported(void **state)
{
	struct usb_node_at five;
	struct usb_node owner = qemu;
	struct usb_node before;
	struct err err = { 0 };

	nodes_open();
	five = at(FIVE);
	nodes_make(5);
	nodes()->refuse = EPERM;
	assert_int_equal(usb_node_read(&five, &before, NULL), 0);
	owner.inode = before.inode;
	assert_int_equal(usb_node_set_owner(&five, &owner, &err), -EPERM);
	assert_non_null(strstr(err.msg, FIVE));
	nodes_close();
}

/* With the kernel's own calls: a file is no device, whatever its owner. */
static void the_kernel_is_asked_by_itself(void **state)
{
	struct usb_node_at five = { .device_path = FIVE };
	struct usb_node node;

	nodes_open();
	folder_put(&nodes()->folder, "dev/bus/usb/001/005", "");
	five.dev_root = nodes()->dev;
	assert_int_equal(usb_node_read(&five, &node, NULL), -ENODEV);
	nodes_close();
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "the owner of a node is changed and restored",
		  the_owner_of_a_node_is_changed_and_restored, NULL);
	suite_rows(&suite, refused, is_refused);
	suite_add(&suite, "a node that was created again keeps its owner",
		  a_node_that_was_created_again_keeps_its_owner, NULL);
	suite_add(&suite, "a chown that is refused is reported",
		  a_chown_that_is_refused_is_reported, NULL);
	suite_add(&suite, "the kernel is asked by itself", the_kernel_is_asked_by_itself, NULL);
	return suite_run(&suite, "usb_node");
}
