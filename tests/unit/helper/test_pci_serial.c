#include "agent/helper/sys/pci_serial.h"

#include <endian.h>
#include <stdbool.h>

#include "fake/tree/tree.h"

enum { CONFIG_SIZE = 4096 };

/* A word of config space. */
struct word {
	unsigned at;
	uint32_t value;
};

static struct serial_case {
	const char *name;
	size_t size;
	const char *status;
	struct word words[8];
	const char *serial; /* NULL: none */
} cases[] = {
	{ "a serial in the first capability",
	  CONFIG_SIZE,
	  "active\n",
	  { { 0x100, 0x00010003 }, { 0x104, 0x45678901 }, { 0x108, 0x98abcdef } },
	  "98-ab-cd-ef-45-67-89-01" },
	{ "a serial behind another capability",
	  CONFIG_SIZE,
	  "active\n",
	  { { 0x100, 0x14020001 },
	    { 0x140, 0x00010003 },
	    { 0x144, 0xffff0001 },
	    { 0x148, 0x001b21ff } },
	  "00-1b-21-ff-ff-ff-00-01" },
	{ "no extended capability", CONFIG_SIZE, "active\n", { { 0x100, 0 } }, NULL },
	{ "a device that does not answer",
	  CONFIG_SIZE,
	  "active\n",
	  { { 0x100, 0xffffffff } },
	  NULL },
	{ "no serial among the capabilities",
	  CONFIG_SIZE,
	  "active\n",
	  { { 0x100, 0x00020001 } },
	  NULL },
	{ "capabilities in a ring",
	  CONFIG_SIZE,
	  "active\n",
	  { { 0x100, 0x14020001 }, { 0x140, 0x10020002 } },
	  NULL },
	{ "a serial of zero is none", CONFIG_SIZE, "active\n", { { 0x100, 0x00010003 } }, NULL },
	{ "a capability that leads into the header",
	  CONFIG_SIZE,
	  "active\n",
	  { { 0x100, 0x04020001 }, { 0x40, 0x00010003 }, { 0x44, 1 } },
	  NULL },
	{ "a device that sleeps is not woken",
	  CONFIG_SIZE,
	  "suspended\n",
	  { { 0x100, 0x00010003 }, { 0x104, 1 } },
	  NULL },
	{ "a conventional device", 256, "active\n", { { 0 } }, NULL },
};

static void write_config(const struct tree *tree, const struct serial_case *c)
{
	char space[CONFIG_SIZE] = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(c->words); i++) {
		uint32_t word = htole32(c->words[i].value);

		memcpy(space + c->words[i].at, &word, sizeof(word));
	}
	tree_write(tree, "config", space, c->size);
	tree_write(tree, "power/runtime_status", c->status, strlen(c->status));
}

static void serial_matches_table(void **state)
{
	const struct serial_case *c = suite_row(state);
	char serial[PCI_SERIAL_SIZE] = "";
	bool denied = false;
	struct tree *tree = *state;

	tree_make(tree, NULL);
	write_config(tree, c);
	assert_int_equal(pci_serial_read(tree->fd, &denied, serial), c->serial != NULL);
	assert_string_equal(serial, c->serial ? c->serial : "");
	assert_false(denied);
}

/* Once the kernel has refused, no file is opened for the others. */
static void denial_is_remembered(void **state)
{
	struct serial_case *c = &cases[0];
	char serial[PCI_SERIAL_SIZE] = "";
	bool denied = true;
	struct tree *tree = *state;

	tree_make(tree, NULL);
	write_config(tree, c);
	assert_false(pci_serial_read(tree->fd, &denied, serial));
	assert_string_equal(serial, "");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, cases, serial_matches_table);
	suite_add(&suite, "a refusal holds for the whole scan", denial_is_remembered, NULL);
	return suite_run(&suite, "pci_serial");
}
