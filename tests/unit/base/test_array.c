#include "base/array.h"

#include "unit/suite.h"

struct part {
	int number;
	const char *name;
};

static void items_keep_order(void **state)
{
	ARRAY(int) numbers = { 0 };

	for (int i = 0; i < 1000; i++) {
		*array_add(&numbers) = i * 3;
		assert_int_equal(numbers.len, i + 1);
		assert_true(numbers.len <= numbers.cap);
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(numbers.items[i], i * 3);
	array_done(&numbers);
}

static void new_items_are_zero(void **state)
{
	static const struct part zero;
	ARRAY(struct part) parts = { 0 };

	for (int round = 0; round < 40; round++) {
		struct part *part = array_add(&parts);

		assert_memory_equal(part, &zero, sizeof(zero));
		*part = (struct part){ .number = -1, .name = "x" };
		if (round % 7 == 6)
			parts.len -= 3; /* shrunk by hand: what was there must not shine through */
	}
	array_done(&parts);
}

static void done_leaves_an_empty_array(void **state)
{
	ARRAY(const char *) names = { 0 };

	*array_add(&names) = "a";
	array_done(&names);
	assert_null(names.items);
	assert_int_equal(names.len, 0);
	assert_int_equal(names.cap, 0);

	*array_add(&names) = "b";
	assert_int_equal(names.len, 1);
	assert_string_equal(names.items[0], "b");
	array_done(&names);
	array_done(&names);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "items keep their order while the array grows", items_keep_order, NULL);
	suite_add(&suite, "a new item is zero", new_items_are_zero, NULL);
	suite_add(&suite, "a released array is empty and may be used again",
		  done_leaves_an_empty_array, NULL);
	return suite_run(&suite, "array");
}
