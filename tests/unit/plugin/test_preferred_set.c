/* Which devices belong together best: known machines, and all divisions of random ones. */
#include "agent/plugin/preferred_set.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "unit/suite.h"

enum { MAX = PREFERRED_SET_MAX };

struct pairs {
	size_t len;
	uint16_t weights[MAX * MAX];
};

static void pair_set(struct pairs *pairs, size_t a, size_t b, uint16_t weight)
{
	pairs->weights[a * pairs->len + b] = weight;
	pairs->weights[b * pairs->len + a] = weight;
}

static uint32_t pair_of(const struct pairs *pairs, size_t a, size_t b)
{
	return pairs->weights[a * pairs->len + b];
}

static char *chosen_of(const struct pairs *pairs, size_t nmusts, size_t size)
{
	bool chosen[MAX];
	auto_str struct str out = STR_INIT;

	preferred_set(pairs->weights, pairs->len, nmusts, size, chosen);
	for (size_t i = 0; i < pairs->len; i++) {
		if (chosen[i])
			str_addf(&out, "%s%zu", out.len ? " " : "", i);
	}
	return xstrdup(str_cstr(&out));
}

/* --- machines --------------------------------------------------------------------------------- */

/* NVLinks of a DGX-1 with V100: a hypercube. 10 for a pair without any: the GPUs are on two CPUs or
 * on one. */
static void dgx1(struct pairs *pairs)
{
	static const unsigned char links[][3] = {
		{ 0, 1, 1 }, { 0, 2, 1 }, { 0, 3, 2 }, { 0, 4, 2 }, { 1, 2, 2 }, { 1, 3, 1 },
		{ 1, 5, 2 }, { 2, 3, 2 }, { 2, 6, 1 }, { 3, 7, 1 }, { 4, 5, 1 }, { 4, 6, 1 },
		{ 4, 7, 2 }, { 5, 6, 2 }, { 5, 7, 1 }, { 6, 7, 2 },
	};

	pairs->len = 8;
	for (size_t a = 0; a < 8; a++) {
		for (size_t b = 0; b < a; b++)
			pair_set(pairs, a, b, a / 4 == b / 4 ? 20 : 10);
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		const unsigned char *l = links[i];

		pair_set(pairs, l[0], l[1], (uint16_t)(pair_of(pairs, l[0], l[1]) + 100U * l[2]));
	}
}

static void all_alike(struct pairs *pairs, size_t len)
{
	pairs->len = len;
	for (size_t a = 0; a < len; a++) {
		for (size_t b = 0; b < a; b++)
			pair_set(pairs, a, b, 1860);
	}
}

static void nvswitch(struct pairs *pairs)
{
	all_alike(pairs, 16);
}

/* Pairs on one switch, fours on one bridge, eights on one CPU. */
static void pcie(struct pairs *pairs)
{
	pairs->len = 16;
	for (size_t a = 0; a < 16; a++) {
		for (size_t b = 0; b < a; b++)
			pair_set(pairs, a, b,
				 a / 2 == b / 2   ? 50
				 : a / 4 == b / 4 ? 40
				 : a / 8 == b / 8 ? 20
						  : 10);
	}
}

/* 2 and 3 are the heaviest pair, but then 0 and 1, 4 and 5 are what is left. */
static void greed_does_not_pay(struct pairs *pairs)
{
	pairs->len = 4;
	pair_set(pairs, 0, 1, 1);
	pair_set(pairs, 2, 3, 50);
	pair_set(pairs, 0, 2, 40);
	pair_set(pairs, 1, 3, 39);
}

static void twenty(struct pairs *pairs)
{
	all_alike(pairs, 20);
	pair_set(pairs, 17, 5, 3000);
	pair_set(pairs, 17, 9, 2900);
}

static void sixty_four(struct pairs *pairs)
{
	all_alike(pairs, 64);
	for (size_t a = 40; a < 44; a++) {
		for (size_t b = 40; b < a; b++)
			pair_set(pairs, a, b, UINT16_MAX);
	}
}

static void heaviest(struct pairs *pairs)
{
	pairs->len = 16;
	for (size_t a = 0; a < 16; a++) {
		for (size_t b = 0; b < a; b++)
			pair_set(pairs, a, b, UINT16_MAX);
	}
}

static struct machine_case {
	const char *name;
	void (*make)(struct pairs *pairs);
	size_t nmusts;
	size_t size;
	const char *chosen;
} machines[] = {
	{ "nothing is needed", dgx1, 0, 0, "" },
	{ "one is the first", dgx1, 0, 1, "0" },
	{ "all are needed", dgx1, 0, 8, "0 1 2 3 4 5 6 7" },
	{ "two of a hypercube", dgx1, 0, 2, "0 3" },
	{ "four of a hypercube", dgx1, 0, 4, "0 1 2 3" },
	{ "one that it must have", dgx1, 1, 2, "0 3" },
	{ "two that it must have", dgx1, 2, 4, "0 1 2 3" },
	{ "all that it gets it must have", dgx1, 3, 3, "0 1 2" },
	{ "two of a switch", nvswitch, 0, 2, "0 1" },
	{ "five of a switch", nvswitch, 0, 5, "0 1 2 3 4" },
	{ "eight of a switch", nvswitch, 0, 8, "0 1 2 3 4 5 6 7" },
	{ "fifteen of a switch", nvswitch, 0, 15, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14" },
	{ "two of a tree", pcie, 0, 2, "0 1" },
	{ "four of a tree", pcie, 0, 4, "0 1 2 3" },
	{ "eight of a tree", pcie, 0, 8, "0 1 2 3 4 5 6 7" },
	{ "what is left counts", greed_does_not_pay, 0, 2, "0 2" },
	{ "weights as great as can be", heaviest, 0, 7, "0 1 2 3 4 5 6" },
	{ "two of twenty", twenty, 0, 2, "5 17" },
	{ "three of twenty", twenty, 0, 3, "5 9 17" },
	{ "three of twenty with musts", twenty, 2, 3, "0 1 2" },
	{ "the first of twenty", twenty, 0, 1, "0" },
	{ "four of sixty-four", sixty_four, 0, 4, "40 41 42 43" },
	{ "all of sixty-four but one", sixty_four, 1, 3, "0 1 2" },
};

static void machine_matches_table(void **state)
{
	const struct machine_case *c = *state;
	struct pairs pairs = { 0 };
	auto_free char *chosen = NULL;

	c->make(&pairs);
	chosen = chosen_of(&pairs, c->nmusts, c->size);
	assert_string_equal(chosen, c->chosen);
}

/* --- all divisions ---------------------------------------------------------------------------- */

/* What is best, by looking at every division. */
struct every {
	const struct pairs *pairs;
	size_t nmusts, size;
	uint32_t total; /* of the best divisions          */
	uint32_t set;   /* of the heaviest full set in one */
	bool found;
	unsigned sets[MAX];
	size_t nsets;
};

static uint32_t weight_of(const struct pairs *pairs, unsigned set)
{
	uint32_t weight = 0;

	for (size_t a = 0; a < pairs->len; a++) {
		for (size_t b = 0; b < a; b++) {
			if (set >> a & 1 && set >> b & 1)
				weight += pair_of(pairs, a, b);
		}
	}
	return weight;
}

static void every_take(struct every *every)
{
	unsigned musts = (1U << every->nmusts) - 1;
	uint32_t total = 0;
	uint32_t set = 0;
	bool counts = false;

	for (size_t i = 0; i < every->nsets; i++) {
		uint32_t weight = weight_of(every->pairs, every->sets[i]);
		bool full = (size_t)__builtin_popcount(every->sets[i]) == every->size;

		total += weight;
		if (!full || (every->sets[i] & musts) != musts)
			continue;
		counts = true;
		if (weight > set)
			set = weight;
	}
	if (!counts || (every->found &&
			(total < every->total || (total == every->total && set <= every->set))))
		return;
	every->found = true;
	every->total = total;
	every->set = set;
}

/* @left: devices that are in no set yet; @over: in the set that is not full. */
static void every_divide(struct every *every, unsigned left, size_t over)
{
	unsigned first = left & -left;

	if (left == 0) {
		every_take(every);
		return;
	}
	for (unsigned others = left ^ first, some = others;; some = (some - 1) & others) {
		size_t n = (size_t)__builtin_popcount(some) + 1;

		if (n == every->size || n == over) {
			every->sets[every->nsets++] = first | some;
			every_divide(every, left & ~(first | some), n == every->size ? over : 0);
			every->nsets--;
		}
		if (some == 0)
			return;
	}
}

/* The best division that has @set. */
static uint32_t total_with(const struct pairs *pairs, unsigned set, size_t size)
{
	unsigned rest = ((1U << pairs->len) - 1) & ~set;
	struct every every = { .pairs = pairs, .size = size };

	/* The rest may be less than one full set. */
	every.sets[every.nsets++] = set;
	every_divide(&every, rest, (pairs->len - size) % size);
	return every.total;
}

static void check_best(const struct pairs *pairs, size_t nmusts, size_t size)
{
	struct every every = { .pairs = pairs, .nmusts = nmusts, .size = size };
	bool chosen[MAX];
	unsigned set = 0;

	preferred_set(pairs->weights, pairs->len, nmusts, size, chosen);
	for (size_t i = 0; i < pairs->len; i++)
		set |= (unsigned)chosen[i] << i;
	assert_int_equal(__builtin_popcount(set), size);
	for (size_t i = 0; i < nmusts; i++)
		assert_true(chosen[i]);
	if (size < 2)
		return;
	every_divide(&every, (1U << pairs->len) - 1, pairs->len % size);
	assert_int_equal(total_with(pairs, set, size), every.total);
	if (nmusts == 0)
		assert_int_equal(weight_of(pairs, set), every.set);
}

/* Some with many equal weights, some with few. */
static void random_pairs(struct pairs *pairs, size_t len, uint64_t *seed)
{
	static const uint64_t kinds[] = { 2, 4, 40, UINT16_MAX + 1 };
	uint64_t kind = kinds[suite_random(seed) % (sizeof(kinds) / sizeof(kinds[0]))];

	memset(pairs, 0, sizeof(*pairs));
	pairs->len = len;
	for (size_t a = 0; a < len; a++) {
		for (size_t b = 0; b < a; b++)
			pair_set(pairs, a, b, (uint16_t)(suite_random(seed) % kind));
	}
}

static void no_division_is_better(void **state)
{
	uint64_t seed = 3;

	for (int round = 0; round < 1500; round++) {
		size_t len = 1 + suite_random(&seed) % 9;
		size_t size = 1 + suite_random(&seed) % len;
		struct pairs pairs;

		random_pairs(&pairs, len, &seed);
		check_best(&pairs, suite_random(&seed) % 2 ? 0 : suite_random(&seed) % (size + 1),
			   size);
	}
}

/* As many as the program looks at: there are up to 20,000 divisions of these. */
static void no_division_of_many_is_better(void **state)
{
	static const struct {
		size_t len, size;
	} cases[] = { { 12, 3 }, { 12, 4 }, { 11, 4 }, { 12, 5 }, { 13, 4 },
		      { 13, 5 }, { 13, 6 }, { 14, 7 }, { 16, 8 } };
	uint64_t seed = 4;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pairs pairs;

		random_pairs(&pairs, cases[i].len, &seed);
		check_best(&pairs, 0, cases[i].size);
	}
}

static uint32_t gain_of(const struct pairs *pairs, const bool *chosen, size_t device)
{
	uint32_t gain = 0;

	for (size_t i = 0; i < pairs->len; i++)
		gain += chosen[i] ? pair_of(pairs, device, i) : 0;
	return gain;
}

/* The weight of the heaviest pair, and of the device that adds the most each time. */
static uint32_t greedy_of(const struct pairs *pairs, size_t size)
{
	bool chosen[MAX] = { false };
	uint32_t weight = 0;
	size_t best = 0;

	for (size_t i = 0; i < pairs->len * pairs->len; i++) {
		if (pairs->weights[i] > pairs->weights[best])
			best = i;
	}
	chosen[best / pairs->len] = true;
	for (size_t n = 1; n < size; n++) {
		best = pairs->len;
		for (size_t i = 0; i < pairs->len; i++) {
			if (!chosen[i] &&
			    (best == pairs->len ||
			     gain_of(pairs, chosen, i) > gain_of(pairs, chosen, best)))
				best = i;
		}
		weight += gain_of(pairs, chosen, best);
		chosen[best] = true;
	}
	return weight;
}

/* What is not exact. */
static void many_are_no_worse_than_one_by_one(void **state)
{
	uint64_t seed = 5;
	unsigned better = 0;

	for (int round = 0; round < 200; round++) {
		size_t len = PREFERRED_EXACT_MAX + 1 + suite_random(&seed) % 48;
		size_t size = 2 + suite_random(&seed) % (len - 2);
		bool chosen[MAX];
		struct pairs pairs;
		uint32_t weight = 0;
		size_t n = 0;

		random_pairs(&pairs, len, &seed);
		preferred_set(pairs.weights, len, 0, size, chosen);
		for (size_t i = 0; i < len; i++) {
			n += chosen[i];
			for (size_t k = 0; k < i; k++)
				weight += chosen[i] && chosen[k] ? pair_of(&pairs, i, k) : 0;
		}
		assert_int_equal(n, size);
		assert_true(weight >= greedy_of(&pairs, size));
		better += weight > greedy_of(&pairs, size);
	}
	assert_true(better > 20);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, machines, machine_matches_table);
	suite_add(&suite, "no division is better", no_division_is_better, NULL);
	suite_add(&suite, "no division of many is better", no_division_of_many_is_better, NULL);
	suite_add(&suite, "many are no worse than one by one", many_are_no_worse_than_one_by_one,
		  NULL);
	return suite_run(&suite, "preferred_set");
}
