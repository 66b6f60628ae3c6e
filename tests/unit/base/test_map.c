#include "base/map.h"

#include <stdbool.h>
#include <string.h>

#include "base/num.h"
#include "unit/suite.h"

static int values[4];

static void empty_map_has_nothing(void **state)
{
	struct map *map = map_new();
	size_t cursor = 0;

	assert_int_equal(map_len(map), 0);
	assert_null(map_get(map, "a"));
	assert_null(map_remove(map, "a"));
	assert_false(map_next(map, &cursor, NULL, NULL));
	assert_null(map_free(map));
	assert_null(map_free(NULL));
}

SUITE_OBJECT(map, map_new(), map_free);

static void set_returns_the_value_before(void **state)
{
	struct map *map = *state;

	assert_null(map_set(map, "a", &values[0]));
	assert_ptr_equal(map_set(map, "a", &values[1]), &values[0]);
	assert_int_equal(map_len(map), 1);
	assert_ptr_equal(map_get(map, "a"), &values[1]);
	assert_ptr_equal(map_remove(map, "a"), &values[1]);
	assert_null(map_get(map, "a"));
	assert_int_equal(map_len(map), 0);
}

static void keys_are_copied(void **state)
{
	struct map *map = *state;
	char key[] = "key";

	map_set(map, key, &values[0]);
	key[0] = 'X';
	assert_ptr_equal(map_get(map, "key"), &values[0]);
	assert_null(map_get(map, "Xey"));
}

static void keys_differ_by_every_byte(void **state)
{
	static const char *const keys[] = {
		"", "a", "aa", "ab", "b", "0000:00:1f.0", "0000:00:1f.1"
	};
	struct map *map = *state;
	char places[ARRAY_LEN(keys)];

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_null(map_set(map, keys[i], &places[i]));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_ptr_equal(map_get(map, keys[i]), &places[i]);
}

static void walk_may_remove_what_it_sees(void **state)
{
	struct map *map = *state;
	size_t cursor = 0;
	size_t seen = 0;
	const char *key;
	void *value;

	for (int i = 0; i < 100; i++) {
		auto_free char *text = xasprintf("key-%d", i);

		map_set(map, text, &values[i % 4]);
	}
	while (map_next(map, &cursor, &key, &value)) {
		assert_ptr_equal(map_get(map, key), value);
		assert_ptr_equal(map_remove(map, key), value);
		seen++;
	}
	assert_int_equal(seen, 100);
	assert_int_equal(map_len(map), 0);
}

/* The naive model: an array by key number. */
enum { MODEL_KEYS = 60 };

struct model {
	int *values[MODEL_KEYS];
	size_t len;
};

static int *model_put(struct model *m, size_t key, int *value)
{
	int *old = m->values[key];

	m->len += (size_t)(value != NULL) - (size_t)(old != NULL);
	m->values[key] = value;
	return old;
}

static void assert_walk_gives_model(const struct map *map, const struct model *m)
{
	bool seen[MODEL_KEYS] = { false };
	size_t cursor = 0;
	size_t count = 0;
	const char *key;
	void *value;

	while (map_next(map, &cursor, &key, &value)) {
		uint64_t number = 0;

		assert_true(str_to_u64(key + strlen("device-"), &number));
		assert_true(number < MODEL_KEYS && !seen[number]);
		assert_ptr_equal(value, m->values[number]);
		seen[number] = true;
		count++;
	}
	assert_int_equal(count, m->len);
}

static void do_something(struct map *map, struct model *m, uint64_t random, uint64_t keys)
{
	size_t number = (random >> 8) % keys;
	int *value = &values[(random >> 40) % ARRAY_LEN(values)];
	auto_free char *key = xasprintf("device-%zu", number);

	switch (random % 4) {
	case 0:
	case 1:
		assert_ptr_equal(map_set(map, key, value), model_put(m, number, value));
		break;
	case 2:
		assert_ptr_equal(map_remove(map, key), model_put(m, number, NULL));
		break;
	default:
		assert_ptr_equal(map_get(map, key), m->values[number]);
		break;
	}
	assert_int_equal(map_len(map), m->len);
}

/* A few keys churn graves, many keys make the table grow: both in one run, for several seeds. */
static void map_is_its_model(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t random = seed;
		struct map *map = map_new();
		struct model m = { .len = 0 };

		for (int i = 0; i < 3000; i++) {
			do_something(map, &m, suite_random(&random), i < 1500 ? 5 : MODEL_KEYS);
			if (i % 50 == 0)
				assert_walk_gives_model(map, &m);
		}
		map_free(map);
	}
}

/* Setting and removing must not fill the table with graves until lookups never end. */
static void churn_stays_bounded(void **state)
{
	struct map *map = *state;

	map_set(map, "stays", &values[1]);
	for (int i = 0; i < 100000; i++) {
		auto_free char *key = xasprintf("claim-%d", i);

		map_set(map, key, &values[0]);
		assert_ptr_equal(map_remove(map, key), &values[0]);
	}
	assert_null(map_get(map, "claim-1"));
	assert_ptr_equal(map_get(map, "stays"), &values[1]);
	assert_int_equal(map_len(map), 1);
}

static void count_release(void *value)
{
	++*(int *)value;
}

static void free_with_releases_each_value(void **state)
{
	struct map *map = map_new();
	int released[3] = { 0 };

	map_set(map, "a", &released[0]);
	map_set(map, "b", &released[1]);
	map_set(map, "c", &released[2]);
	map_remove(map, "b");
	assert_null(map_free_with(map, count_release));
	assert_int_equal(released[0], 1);
	assert_int_equal(released[1], 0);
	assert_int_equal(released[2], 1);
	assert_null(map_free_with(NULL, count_release));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "an empty map has nothing", empty_map_has_nothing, NULL);
	suite_add(&suite, "after any operations the map equals a list", map_is_its_model, NULL);
	suite_add(&suite, "each value that is left is released once", free_with_releases_each_value,
		  NULL);
	suite_fixture(&suite, &map_fixture);
	suite_add(&suite, "setting returns the value before", set_returns_the_value_before, NULL);
	suite_add(&suite, "keys are copied", keys_are_copied, NULL);
	suite_add(&suite, "keys that differ in a byte are different", keys_differ_by_every_byte,
		  NULL);
	suite_add(&suite, "a walk may remove what it sees", walk_may_remove_what_it_sees, NULL);
	suite_add(&suite, "a hundred thousand keys that come and go", churn_stays_bounded, NULL);
	return suite_run(&suite, "map");
}
