#include "controller/kubevirt/launcher.h"

#include <string.h>

#include "base/mem.h"
#include "unit/suite.h"

#define NAME_42 "abcdefghijklmnopqrstuvwxyz0123456789abcdef"
#define NAME_43 NAME_42 "g"
#define NAME_44 NAME_43 "h"
#define DASH_44 NAME_43 "-"

static struct runs_case {
	const char *name;
	const char *pod;
	const char *vm;
	bool runs;
	bool cut;
} cases[] = {
	{ "a machine and its pod", "d/virt-launcher-one-x7k2p", "d/one", true, false },
	{ "of another namespace", "d/virt-launcher-one-x7k2p", "e/one", false, false },
	{ "of a namespace whose name begins alike", "d/virt-launcher-one-x7k2p", "dd/one", false,
	  false },
	{ "another machine's, whose name begins alike", "d/virt-launcher-one-more-x7k2p", "d/one",
	  false, false },
	{ "the other way round", "d/virt-launcher-one-x7k2p", "d/one-more", false, false },
	{ "a name that looks like the random end", "d/virt-launcher-one-x7k2p-aaaaa", "d/one-x7k2p",
	  true, false },
	{ "a name of one character", "d/virt-launcher-a-x7k2p", "d/a", true, false },
	{ "no name at all", "d/virt-launcher--x7k2p", "d/", false, false },
	{ "no dash before the random end", "d/virt-launcher-onex7k2p", "d/one", false, false },
	{ "too short for one", "d/virt-launcher-x7k2p", "d/one", false, false },
	{ "nothing but the prefix", "d/virt-launcher-", "d/one", false, false },
	{ "another pod", "d/hp-volume-one-x7k2p", "d/one", false, false },
	{ "another pod with the machine's name", "d/one", "d/one", false, false },
	{ "42 characters fit", "d/virt-launcher-" NAME_42 "-x7k2p", "d/" NAME_42, true, false },
	{ "43 fit as well", "d/virt-launcher-" NAME_43 "-x7k2p", "d/" NAME_43, true, true },
	{ "of 44 the dash is cut", "d/virt-launcher-" NAME_44 "x7k2p", "d/" NAME_44, true, true },
	{ "of more the rest", "d/virt-launcher-" NAME_44 "x7k2p", "d/" NAME_44 "-and-more", true,
	  true },
	{ "which is another's if it differs", "d/virt-launcher-" NAME_44 "x7k2p", "d/" NAME_43 "i",
	  false, true },
	{ "43 are not 44", "d/virt-launcher-" NAME_44 "x7k2p", "d/" NAME_43, false, true },
	{ "a dash there may be either's: the shorter name", "d/virt-launcher-" DASH_44 "x7k2p",
	  "d/" NAME_43, true, true },
	{ "and the longer one", "d/virt-launcher-" DASH_44 "x7k2p", "d/" DASH_44 "z", true, true },
	{ "longer than a pod's name can be", "d/virt-launcher-" NAME_44 "xx7k2p", "d/" NAME_44 "x",
	  false, false },
	{ "names without a namespace", "virt-launcher-one-x7k2p", "one", true, false },
};

static void runs_matches_table(void **state)
{
	const struct runs_case *c = *state;

	assert_int_equal(launcher_runs(c->pod, c->vm), c->runs);
	assert_int_equal(launcher_is_cut(c->pod), c->cut);
}

/* Devices that may go together have the same key. */
static void together_have_one_key(void **state)
{
	const struct runs_case *c = *state;
	auto_free char *of_pod = launcher_key_of_pod(c->pod);
	auto_free char *of_vm = launcher_key_of_vm(c->vm);

	if (c->runs) {
		assert_non_null(of_pod);
		assert_string_equal(of_pod, of_vm);
	}
	if (of_pod && !c->cut)
		assert_true(launcher_runs(c->pod, of_pod));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, runs_matches_table);
	suite_rows(&suite, cases, together_have_one_key);
	return suite_run(&suite, "launcher");
}
