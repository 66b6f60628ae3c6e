/* The suite's own: a fixture is closed after each test, after one that failed, too. */
#include "unit/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "unit/folder.h"

struct shop {
	int zero;
};

static void shop_open(struct shop *shop)
{
	printf("open%d ", shop->zero);
}

static void shop_close(struct shop *shop)
{
	printf("close%d ", shop->zero);
}

static void shop_cannot_open(struct shop *shop)
{
	shop_open(shop);
	fail_msg("the door is stuck");
}

static void shop_cannot_close(struct shop *shop)
{
	shop_close(shop);
	fail_msg("somebody is in");
}

SUITE_FIXTURE(shop, struct shop, shop_open, shop_close);
SUITE_FIXTURE(stuck, struct shop, shop_cannot_open, shop_close);
SUITE_FIXTURE(busy, struct shop, shop_open, shop_cannot_close);
SUITE_CLOSING(late, struct shop, shop_close);
SUITE_OBJECT(text, xstrdup("text"), free);

static void prints_row(void **state)
{
	printf("%s ", (const char *)suite_row(state));
}

static void prints_state(void **state)
{
	printf("%s ", (const char *)*state);
}

static void fails(void **state)
{
	prints_row(state);
	assert_string_equal("what is", "what should be");
}

static struct fixture_case {
	const char *name;
	const struct suite_fixture *fixture;
	CMUnitTestFunction fn;
	const char *printed; /* by the test and its fixture, on one line */
	const char *reason;  /* NULL: the test passes */
} cases[] = {
	{ "it is opened and closed", &shop_fixture, prints_row, "open0 row close0 ", NULL },
	{ "it is closed after a failure", &shop_fixture, fails, "open0 row close0 ",
	  "what should be" },
	{ "what did not open is not closed", &stuck_fixture, prints_row, "open0 ",
	  "the door is stuck" },
	{ "what does not close is closed once, and a failure", &busy_fixture, prints_row,
	  "open0 row close0 ", "somebody is in" },
	{ "what the test opens is closed", &late_fixture, fails, "row close0 ", "what should be" },
	{ "an object is the state", &text_fixture, prints_state, "text ", NULL },
	{ "without one the row is the state", NULL, prints_state, "row ", NULL },
	{ "without one there is a row, too", NULL, fails, "row ", "what should be" },
};

/* Run a suite of two tests, the case's own and one that passes, with its output in @out. */
static int run(const struct fixture_case *c, int out)
{
	static char row[] = "row";
	static char next[] = "next";
	struct suite suite = { 0 };
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
			_exit(99);
		(void)setvbuf(stdout, NULL, _IONBF, 0);
		*leftovers_all() = (struct leftovers){ 0 }; /* they are the outer test's */
		suite_fixture(&suite, c->fixture);
		suite_add(&suite, "this one", c->fn, row);
		suite_fixture(&suite, NULL);
		suite_add(&suite, "the next one", prints_row, next);
		_exit(suite_run(&suite, "inner"));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void fixture_matches_table(void **state)
{
	struct folder *folder = *state;
	const struct fixture_case *c = suite_row(state);
	auto_free char *path = folder_path(folder, "out");
	auto_close int out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char text[4096] = "";

	assert_true(out >= 0);
	assert_int_equal(run(c, out), c->reason ? 1 : 0);
	assert_true(pread(out, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, c->printed));
	assert_null(strstr(strstr(text, c->printed) + strlen(c->printed), "close"));
	if (c->reason)
		assert_non_null(strstr(text, c->reason));
	assert_non_null(strstr(text, "next "));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &folder_fixture);
	suite_rows(&suite, cases, fixture_matches_table);
	return suite_run(&suite, "suite");
}
