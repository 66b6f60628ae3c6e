#include "agent/helper/scan/mounts.h"

#include <string.h>

#include "base/str.h"
#include "unit/suite.h"

/* clang-format off */
static struct parse_case {
	const char *name;
	const char *text;
	const char *seen; /* "major:minor point fstype source options;" for each */
	size_t bad;
} parses[] = {
	{ "a plain line", "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n",
	  "98:0 /mnt2 ext3 /dev/root rw,errors=continue;", 0 },
	{ "no optional fields", "36 35 0:20 / / rw - tmpfs none rw\n", "0:20 / tmpfs none rw;", 0 },
	{ "several optional fields", "36 35 8:1 / /a rw shared:1 master:2 unbindable - xfs /dev/sda1 rw\n",
	  "8:1 /a xfs /dev/sda1 rw;", 0 },
	{ "blanks and backslashes in names", "36 35 8:1 / /a\\040b\\134c rw - xfs /dev/sda1 rw\n",
	  "8:1 /a b\\c xfs /dev/sda1 rw;", 0 },
	{ "an escape that is none stays", "36 35 8:1 / /a\\9\\04 rw - xfs /dev/sda1 rw\n",
	  "8:1 /a\\9\\04 xfs /dev/sda1 rw;", 0 },
	{ "no options of the filesystem", "36 35 8:1 / /a rw - xfs /dev/sda1\n", "8:1 /a xfs /dev/sda1 ;", 0 },
	{ "the last line may end without a newline", "36 35 8:1 / /a rw - xfs /dev/sda1 rw",
	  "8:1 /a xfs /dev/sda1 rw;", 0 },
	{ "lines of another form are counted",
	  "\n36 35 8 / /a rw - xfs x rw\n36 35 8:1 / /a rw xfs x rw\n36 35 a:b / /a rw - xfs x rw\n"
	  "36 35 8:1 / a rw - xfs x rw\n36 35 8:1 / /a rw -\n",
	  "", 6 },
	{ "a number too large for a device", "36 35 4294967296:1 / /a rw - xfs x rw\n", "", 1 },
};
/* clang-format on */

SUITE_CLOSING(mounts, struct mounts, mounts_done);

static void parse_matches_table(void **state)
{
	const struct parse_case *c = suite_row(state);
	struct mounts *mounts = *state;
	auto_str struct str seen = STR_INIT;

	assert_int_equal(mounts_parse(c->text, strlen(c->text), mounts), c->bad);
	for (size_t i = 0; i < mounts->len; i++) {
		const struct mount *m = &mounts->items[i];

		str_addf(&seen, "%u:%u %s %s %s %s;", m->major, m->minor, m->point, m->fstype,
			 m->source, m->options);
	}
	assert_string_equal(str_cstr(&seen), c->seen);
}

/* clang-format off */
static struct backing_case {
	const char *name;
	const char *path;
	unsigned minor; /* of the mount that holds it */
} backings[] = {
	{ "the root holds what nothing else holds", "/etc/passwd", 1 },
	{ "the longest point wins", "/var/lib/kubelet", 3 },
	{ "a mount point holds itself", "/var", 2 },
	{ "a common beginning is not enough", "/var2", 1 },
	{ "of two at one point the later one", "/boot", 5 },
};
/* clang-format on */

static void backing_matches_table(void **state)
{
	static const char text[] = "1 0 8:1 / / rw - ext4 a rw\n"
				   "2 1 8:2 / /var rw - ext4 b rw\n"
				   "3 2 8:3 / /var/lib rw - ext4 c rw\n"
				   "4 1 8:4 / /boot rw - ext4 d rw\n"
				   "5 4 8:5 / /boot rw - ext4 e rw\n";
	const struct backing_case *c = suite_row(state);
	struct mounts *mounts = *state;

	assert_int_equal(mounts_parse(text, strlen(text), mounts), 0);
	assert_int_equal(mounts_backing(mounts, c->path)->minor, c->minor);
}

static void no_mounts(void **state)
{
	struct mounts mounts = { 0 };

	assert_null(mounts_backing(&mounts, "/"));
}

static void swaps(void **state)
{
	static const char text[] =
		"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
		"/dev/dm-1                               partition\t8388604\t0\t-2\n"
		"/swap\\040file file 1 0 -3\n\nnonsense\n";
	struct swaps swaps = { 0 };

	assert_int_equal(swaps_parse(text, strlen(text), &swaps), 1);
	assert_int_equal(swaps.len, 2);
	assert_string_equal(swaps.items[0].path, "/dev/dm-1");
	assert_true(swaps.items[0].is_device);
	assert_string_equal(swaps.items[1].path, "/swap file");
	assert_false(swaps.items[1].is_device);
	swaps_done(&swaps);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "without mounts nothing is held", no_mounts, NULL);
	suite_add(&suite, "swap areas, without the heading", swaps, NULL);
	suite_fixture(&suite, &mounts_fixture);
	suite_rows(&suite, parses, parse_matches_table);
	suite_rows(&suite, backings, backing_matches_table);
	return suite_run(&suite, "mounts");
}
