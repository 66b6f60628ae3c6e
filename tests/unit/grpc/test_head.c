#include "grpc/head.h"

#include <string.h>

#include "unit/suite.h"

static void add(struct grpc_head *head, const char *name, const char *value)
{
	grpc_head_add(head, 200, name, value, strlen(value));
}

static void headers_of_ours_are_kept(void **state)
{
	struct grpc_head head = { .size = 0 };

	add(&head, ":path", "/a.B/C");
	add(&head, "grpc-status", "5");
	add(&head, "grpc-status", "6");
	add(&head, "x-other", "y");
	assert_string_equal(head.path, "/a.B/C");
	assert_string_equal(head.status, "5");
	assert_null(head.message);
	assert_int_equal(head.size, (5 + 6 + 32) + 2 * (11 + 1 + 32) + (7 + 1 + 32));
	assert_false(head.too_large);
	grpc_head_done(&head);
	assert_null(head.path);
	assert_int_equal(head.size, 0);
}

SUITE_CLOSING(grpc_head, struct grpc_head, grpc_head_done);

/* What is dropped counts as what is kept. */
static void size_is_bounded(void **state)
{
	struct grpc_head *head = *state;
	char value[200] = "";

	memset(value, 'x', 161);
	add(head, "x-other", value); /* 200 in all */
	assert_false(head->too_large);
	add(head, ":path", "/");
	assert_true(head->too_large);
	assert_null(head->path);
}

static struct type_case {
	const char *name;
	const char *type; /* NULL: none */
	bool grpc;
} types[] = {
	{ "the type alone", "application/grpc", true },
	{ "the type with an encoding", "application/grpc+proto", true },
	{ "the type with a parameter", "application/grpc;charset=utf-8", true },
	{ "a longer word", "application/grpc-web", false },
	{ "a shorter word", "application/grp", false },
	{ "another type", "application/json", false },
	{ "no type", NULL, false },
};

static void type_matches_table(void **state)
{
	const struct type_case *c = suite_row(state);
	struct grpc_head *head = *state;

	if (c->type)
		add(head, "content-type", c->type);
	assert_int_equal(grpc_head_is_grpc(head), c->grpc);
}

static void encodings_are_told_apart(void **state)
{
	struct grpc_head head = { .size = 0 };

	assert_true(grpc_head_is_plain(&head));
	add(&head, "grpc-encoding", "identity");
	assert_true(grpc_head_is_plain(&head));
	grpc_head_done(&head);
	add(&head, "grpc-encoding", "gzip");
	assert_false(grpc_head_is_plain(&head));
	grpc_head_done(&head);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "headers of ours are kept", headers_of_ours_are_kept, NULL);
	suite_add(&suite, "encodings are told apart", encodings_are_told_apart, NULL);
	suite_fixture(&suite, &grpc_head_fixture);
	suite_add(&suite, "the size is bounded", size_is_bounded, NULL);
	suite_rows(&suite, types, type_matches_table);
	return suite_run(&suite, "grpc head");
}
