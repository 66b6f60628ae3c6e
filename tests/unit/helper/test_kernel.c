/* kernel: which descriptors of nodes are those of disks. What writes do takes a kernel:
 * tests/flow/node. */
#include "agent/helper/sys/kernel.h"

#include <sys/types.h>

#include "fake/tree/tree.h"

static struct disk_case {
	const char *name;
	const char *entry; /* of the node dev/sda; NULL: there is none */
	int code;
} disks[] = {
	{ "a node that is not there", NULL, -ENOENT },
	{ "a file has no disk's number", "dev/sda=", 0 },
	{ "nor has a character device", "dev/sda->/dev/null", 0 },
};

static void only_block_devices_have_a_number(void **state)
{
	const struct disk_case *c = *state;
	struct kernel kernel = kernel_running();
	dev_t number = 7;
	struct tree tree;
	int fd;

	tree_make(&tree, (const char *const[]){ "dev/", c->entry, NULL });
	{
		auto_close int dev_fd = tree_open(&tree, "dev");

		fd = kernel.open_disk(kernel.arg, dev_fd, "sda", &number);
	}
	if (c->code < 0) {
		assert_int_equal(fd, c->code);
		assert_int_equal(number, 7);
	} else {
		assert_true(fd >= 0);
		assert_int_equal(number, 0);
		close(fd);
	}
	tree_done(&tree);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, disks, only_block_devices_have_a_number);
	return suite_run(&suite, "kernel");
}
