#include "agent/plugin/preferred_set.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/*
 * A division of some devices, as one number: its total weight, the greatest weight of a full set in
 * it, and as bits the set that has the first device. The greater the better; 0: not known. The
 * numbers fit: the 120 pairs of 16 devices have weights of 16 bits.
 */
enum { NUMBER_BITS = 23, SET_BITS = PREFERRED_EXACT_MAX };

static const uint64_t known = (uint64_t)1 << (2 * NUMBER_BITS + SET_BITS);

/* How often the shares are lowered, and a division is improved: further rounds cost more time than
 * they save. */
enum { SHARE_ROUNDS = 3, IMPROVE_ROUNDS = 8 };

/* Sets are bits, by the indexes of the devices. */
struct search {
	const uint16_t *weights;
	size_t len;  /* devices                             */
	size_t size; /* of a full set                       */
	size_t over; /* of the set of what is left; 0: none */
	/* For each device, so that no full set weighs more than the shares of its devices, by
	 * share_scale. */
	int32_t shares[PREFERRED_EXACT_MAX];
	int32_t share_scale;
	int32_t lost;     /* what is left weighs at least so much less than its shares */
	uint32_t set_max; /* the greatest weight of a full set                */
	uint64_t *best;   /* divisions by their devices, without device 0     */
};

/*
 * A search that visits the sets of some devices, one after the other. The value of a set is its
 * weight, times a scale, without the costs of its devices.
 */
struct step {
	struct search *search;
	void (*visit)(struct step *step, unsigned set);
	void (*raise_floor)(struct step *step);
	unsigned mask; /* the devices */
	size_t len;    /* how many    */
	size_t size;   /* of the sets */
	int32_t floor; /* sets of less value are passed over */
	uint32_t base; /* for halves: the weight of all devices */
	uint32_t least;
	uint64_t best; /* division of the devices; 0: none of at least `least` */
	/* By the place of the device in the mask. */
	unsigned bits[PREFERRED_EXACT_MAX];
	int32_t costs[PREFERRED_EXACT_MAX];
	int32_t slack[PREFERRED_EXACT_MAX]; /* by the device's index */
	int32_t sums[PREFERRED_EXACT_MAX];  /* of the weights to all devices, without the scale */
	int32_t weights[PREFERRED_EXACT_MAX][PREFERRED_EXACT_MAX]; /* times the scale */
};

/* A set that devices are added to. */
struct part {
	unsigned set;
	int32_t value;
	int32_t gains[PREFERRED_EXACT_MAX]; /* what each device would add to it */
};

static uint64_t division_of(uint32_t total, uint32_t max, unsigned set)
{
	return known | (uint64_t)total << (NUMBER_BITS + SET_BITS) | (uint64_t)max << SET_BITS |
	       set;
}

static uint32_t total_of(uint64_t division)
{
	return division >> (NUMBER_BITS + SET_BITS) & ((1U << NUMBER_BITS) - 1);
}

static uint32_t max_of(uint64_t division)
{
	return division >> SET_BITS & ((1U << NUMBER_BITS) - 1);
}

static unsigned set_of(uint64_t division)
{
	return division & ((1U << SET_BITS) - 1);
}

static unsigned first_of(unsigned mask)
{
	return (unsigned)__builtin_ctz(mask);
}

static uint32_t weight_of(const struct search *search, unsigned set)
{
	uint32_t sum = 0;

	for (; set; set &= set - 1) {
		const uint16_t *row = &search->weights[first_of(set) * search->len];

		for (unsigned others = set & (set - 1); others; others &= others - 1)
			sum += row[first_of(others)];
	}
	return sum;
}

/* --- all sets of a size ----------------------------------------------------------------------- */

static struct part part_with(const struct step *step, const struct part *part, size_t place)
{
	struct part more;

	more.set = part->set | step->bits[place];
	more.value = part->value + part->gains[place];

	for (size_t i = 0; i < step->len; i++)
		more.gains[i] = part->gains[i] + step->weights[place][i];
	return more;
}

/* With one more device that is not before @from. */
static void complete_one(struct step *step, const struct part *part, size_t from)
{
	for (size_t i = from; i < step->len; i++) {
		if (part->value + part->gains[i] >= step->floor)
			step->visit(step, part->set | step->bits[i]);
	}
}

static void complete_two(struct step *step, const struct part *part, size_t from)
{
	for (size_t i = from; i < step->len; i++) {
		int32_t value = part->value + part->gains[i];
		const int32_t *row = step->weights[i];

		for (size_t k = i + 1; k < step->len; k++) {
			if (value + part->gains[k] + row[k] >= step->floor)
				step->visit(step, part->set | step->bits[i] | step->bits[k]);
		}
	}
}

static void complete(struct step *step, const struct part *part, size_t from, size_t need)
{
	if (need == 0 && part->value >= step->floor)
		step->visit(step, part->set);
	else if (need == 1)
		complete_one(step, part, from);
	else if (need == 2)
		complete_two(step, part, from);
	for (size_t i = from; need > 2 && i + need <= step->len; i++) {
		struct part more = part_with(step, part, i);

		complete(step, &more, i + 1, need - 1);
	}
}

/* All sets that have the first @nfirsts devices. */
static void visit_sets(struct step *step, size_t nfirsts, size_t size)
{
	struct part part = { 0 };

	step->size = size;
	for (size_t i = 0; i < step->len; i++)
		part.gains[i] = -step->costs[i];
	for (size_t i = 0; i < nfirsts; i++)
		part = part_with(step, &part, i);
	complete(step, &part, nfirsts, size - nfirsts);
}

static void step_init(struct step *step, struct search *search, unsigned mask, int32_t scale)
{
	unsigned places[PREFERRED_EXACT_MAX];

	memset(step, 0, offsetof(struct step, weights));
	step->search = search;
	step->mask = mask;
	for (unsigned left = mask; left; left &= left - 1) {
		places[step->len] = first_of(left);
		step->bits[step->len++] = left & -left;
	}
	for (size_t i = 0; i < step->len; i++) {
		const uint16_t *row = &search->weights[places[i] * search->len];

		for (size_t k = 0; k < step->len; k++) {
			step->weights[i][k] = scale * row[places[k]];
			step->sums[i] += row[places[k]];
		}
	}
}

/* --- the best division ------------------------------------------------------------------------ */

static uint64_t divide_set(struct search *search, unsigned mask, size_t len, size_t nmusts,
			   uint32_t least);

static uint64_t divide(struct search *search, unsigned mask, size_t len)
{
	uint64_t *best = &search->best[mask >> 1];

	if (!*best)
		*best = divide_set(search, mask, len, 0, 0);
	return *best;
}

static void keep_better(struct step *step, uint64_t division)
{
	if (total_of(division) >= step->least && division >> SET_BITS > step->best >> SET_BITS)
		step->best = division;
}

/* The total that a division must have to be better, or as good with a greater full set. */
static uint32_t wanted(const struct step *step)
{
	if (!step->best)
		return step->least;
	return total_of(step->best) + (max_of(step->best) >= step->search->set_max);
}

static void raise_floor_of_others(struct step *step)
{
	const struct search *search = step->search;
	int32_t floor = (int32_t)wanted(step) * search->share_scale;

	if (step->len % search->size > 0 && step->size == search->size)
		floor += search->lost;
	for (size_t i = 0; i < step->len; i++)
		floor -= step->costs[i];
	step->floor = floor;
}

/* The costs are the shares. */
static void visit_others(struct step *step, unsigned set)
{
	struct search *search = step->search;
	uint32_t weight = weight_of(search, set);
	uint32_t least = wanted(step);
	uint32_t max = step->size == search->size ? weight : 0;
	uint64_t others;

	/* Only one set of all devices leaves these others: for the next steps they have to be
	 * known. */
	if (step->len == search->len)
		others = divide_set(search, step->mask & ~set, step->len - step->size, 0,
				    least > weight ? least - weight : 0);
	else
		others = divide(search, step->mask & ~set, step->len - step->size);
	if (!others)
		return;
	max = max > max_of(others) ? max : max_of(others);
	keep_better(step, division_of(weight + total_of(others), max, set));
	raise_floor_of_others(step);
}

static void raise_floor_of_halves(struct step *step)
{
	step->floor = (int32_t)wanted(step) - (int32_t)step->base;
}

/* What is not in the set is the other set. The costs are the weights to all devices, and the scale
 * is 2: so the value is how much more the two sets weigh than all devices together. */
static void visit_halves(struct step *step, unsigned set)
{
	const struct search *search = step->search;
	uint32_t weight = weight_of(search, set);
	uint32_t other = weight_of(search, step->mask & ~set);
	uint32_t max = step->size == search->size ? weight : 0;

	if (step->len - step->size == search->size && other > max)
		max = other;
	keep_better(step, division_of(weight + other, max, set));
	raise_floor_of_halves(step);
}

static void init_halves(struct step *step, struct search *search, unsigned mask)
{
	int32_t sum = 0;

	step_init(step, search, mask, 2);
	step->visit = visit_halves;
	step->raise_floor = raise_floor_of_halves;
	for (size_t i = 0; i < step->len; i++)
		sum += step->costs[i] = step->sums[i];
	step->base = (uint32_t)sum / 2;
}

static void init_others(struct step *step, struct search *search, unsigned mask)
{
	step_init(step, search, mask, search->share_scale);
	step->visit = visit_others;
	step->raise_floor = raise_floor_of_others;
	for (size_t i = 0; i < step->len; i++)
		step->costs[i] = search->shares[first_of(step->bits[i])];
}

static void try_sets(struct step *step, size_t nfirsts, size_t size)
{
	step->size = size;
	step->raise_floor(step);
	visit_sets(step, nfirsts, size);
}

/* The best division that weighs at least @least; 0: there is none. @nmusts: the first devices have
 * to be in one full set; 0: none. */
static uint64_t divide_set(struct search *search, unsigned mask, size_t len, size_t nmusts,
			   uint32_t least)
{
	struct step step;

	if (len <= search->size) {
		uint32_t weight = weight_of(search, mask);

		return division_of(weight, len == search->size ? weight : 0, mask);
	}
	if (len <= 2 * search->size)
		init_halves(&step, search, mask);
	else
		init_others(&step, search, mask);
	step.least = least;
	try_sets(&step, nmusts > 0 ? nmusts : 1, search->size);
	if (nmusts == 0 && len % search->size > 0)
		try_sets(&step, 1, search->over);
	return step.best;
}

/* --- bounds to begin with --------------------------------------------------------------------- */

static void visit_weights(struct step *step, unsigned set)
{
	struct search *search = step->search;
	uint32_t weight = weight_of(search, set);

	if (weight > search->set_max)
		search->set_max = weight;
	for (; set; set &= set - 1) {
		int32_t *share = &search->shares[first_of(set)];

		/* Each device has the same part: the weight by the size, times the scale. */
		if ((int32_t)weight > *share)
			*share = (int32_t)weight;
	}
}

/* How much less the set weighs than its shares; of those that a device is in, the least counts. */
static void visit_slack(struct step *step, unsigned set)
{
	const struct search *search = step->search;
	int32_t slack = -(int32_t)(weight_of(search, set)) * search->share_scale;

	for (unsigned left = set; left; left &= left - 1)
		slack += search->shares[first_of(left)];
	for (; set; set &= set - 1) {
		if (slack < step->slack[first_of(set)])
			step->slack[first_of(set)] = slack;
	}
}

static void find_slack(struct search *search, struct step *step, size_t size)
{
	for (size_t i = 0; i < search->len; i++)
		step->slack[i] = INT32_MAX;
	step->visit = visit_slack;
	visit_sets(step, 0, size);
}

/* A set loses at most its slack, because each of its devices loses at most a part of it. */
static void find_shares(struct search *search)
{
	struct step step;

	step_init(&step, search, (1U << search->len) - 1, 1);
	step.visit = visit_weights;
	search->share_scale = (int32_t)search->size;
	visit_sets(&step, 0, search->size);
	for (int round = 0; round < SHARE_ROUNDS; round++) {
		int32_t change = 0;

		find_slack(search, &step, search->size);
		for (size_t i = 0; i < search->len; i++) {
			int32_t part = step.slack[i] / (int32_t)search->size;

			search->shares[i] -= part;
			change += part;
		}
		if (change == 0)
			break;
	}
	if (search->over == 0)
		return;
	find_slack(search, &step, search->over);
	search->lost = INT32_MAX;
	for (size_t i = 0; i < search->len; i++)
		search->lost = step.slack[i] < search->lost ? step.slack[i] : search->lost;
}

static void visit_heaviest(struct step *step, unsigned set)
{
	step->best = division_of(weight_of(step->search, set), 0, set);
	step->floor = (int32_t)total_of(step->best) + 1;
}

/* Divide the devices of each two sets in the best way. True if any got heavier. */
static bool improve(struct search *search, unsigned *sets, size_t n)
{
	bool is_better = false;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = i + 1; k < n; k++) {
			unsigned both = sets[i] | sets[k];
			uint64_t division =
				divide_set(search, both, (size_t)__builtin_popcount(both), 0, 0);

			if (total_of(division) <=
			    weight_of(search, sets[i]) + weight_of(search, sets[k]))
				continue;
			sets[i] = set_of(division);
			sets[k] = both & ~sets[i];
			is_better = true;
		}
	}
	return is_better;
}

/* The weight of a good division: of the heaviest set, the heaviest of what is left, and so on;
 * improved. */
static uint32_t find_good(struct search *search, size_t nmusts)
{
	unsigned mask = (1U << search->len) - 1;
	unsigned sets[PREFERRED_EXACT_MAX];
	size_t nfirsts = nmusts;
	uint32_t total = 0;
	size_t n = 0;
	struct step step;

	for (size_t len = search->len; len > search->size; len -= search->size) {
		step_init(&step, search, mask, 1);
		step.visit = visit_heaviest;
		visit_sets(&step, nfirsts, search->size);
		sets[n++] = set_of(step.best);
		mask &= ~set_of(step.best);
		nfirsts = 0;
	}
	sets[n++] = mask;
	/* The first one keeps the musts. */
	for (int round = 0; round < IMPROVE_ROUNDS; round++) {
		if (!improve(search, &sets[nmusts > 0], n - (nmusts > 0)))
			break;
	}
	for (size_t i = 0; i < n; i++)
		total += weight_of(search, sets[i]);
	return total;
}

/* The greatest full set of the division; of equal ones the first that is found. */
static unsigned heaviest_of(struct search *search, uint64_t division)
{
	unsigned mask = (1U << search->len) - 1;
	size_t len = search->len;
	unsigned heaviest = 0;

	while (mask) {
		unsigned set = set_of(division);
		size_t n = (size_t)__builtin_popcount(set);

		if (n == search->size &&
		    (!heaviest || weight_of(search, set) > weight_of(search, heaviest)))
			heaviest = set;
		mask &= ~set;
		len -= n;
		division = divide_set(search, mask, len, 0, 0);
	}
	return heaviest;
}

static void choose_exactly(const uint16_t *weights, size_t len, size_t nmusts, size_t size,
			   bool *chosen)
{
	auto_free uint64_t *best = xcalloc((size_t)1 << (len - 1), sizeof(*best));
	struct search search = {
		.weights = weights, .len = len, .size = size, .over = len % size, .best = best
	};
	uint32_t least = 0;
	uint64_t division;
	unsigned set;

	if (len > 2 * size) {
		find_shares(&search);
		least = find_good(&search, nmusts);
	} else {
		search.set_max = UINT32_MAX; /* not known, nor needed */
	}
	division = divide_set(&search, (1U << len) - 1, len, nmusts, least);
	set = nmusts > 0 ? set_of(division) : heaviest_of(&search, division);
	for (size_t i = 0; i < len; i++)
		chosen[i] = set >> i & 1;
}

/* --- too many devices ------------------------------------------------------------------------- */

struct build {
	const uint16_t *weights;
	size_t len;
	size_t nmusts;
	bool chosen[PREFERRED_SET_MAX];
	uint32_t gains[PREFERRED_SET_MAX]; /* the weight of each device to those chosen */
};

static void build_put(struct build *build, size_t device, bool in)
{
	const uint16_t *row = &build->weights[device * build->len];

	build->chosen[device] = in;
	for (size_t i = 0; i < build->len; i++)
		build->gains[i] += in ? row[i] : -(uint32_t)row[i];
}

/* The first device of the heaviest pair. */
static size_t build_first(const struct build *build)
{
	size_t best = 0;

	for (size_t i = 1; i < build->len * build->len; i++) {
		if (build->weights[i] > build->weights[best])
			best = i;
	}
	return best / build->len;
}

/* The device that adds the most if @without goes (build->len: none goes); @ret_more: how much. */
static size_t build_next(const struct build *build, size_t without, int64_t *ret_more)
{
	size_t best = build->len;

	for (size_t i = 0; i < build->len; i++) {
		int64_t more = build->gains[i];

		if (without < build->len)
			more -= build->weights[without * build->len + i];
		if (build->chosen[i] || (best < build->len && more <= *ret_more))
			continue;
		best = i;
		*ret_more = more;
	}
	return best;
}

/* The exchange that adds the most weight; false: none does. */
static bool build_exchange(struct build *build)
{
	int64_t most = 0;
	size_t out = 0;
	size_t in = 0;

	for (size_t i = build->nmusts; i < build->len; i++) {
		int64_t more = 0;
		size_t next;

		if (!build->chosen[i])
			continue;
		next = build_next(build, i, &more);
		if (more - build->gains[i] <= most)
			continue;
		most = more - build->gains[i];
		out = i;
		in = next;
	}
	if (most == 0)
		return false;
	build_put(build, out, false);
	build_put(build, in, true);
	return true;
}

static void choose_nearly(const uint16_t *weights, size_t len, size_t nmusts, size_t size,
			  bool *chosen)
{
	struct build build = { .weights = weights, .len = len, .nmusts = nmusts };
	int64_t more = 0;

	for (size_t i = 0; i < nmusts; i++)
		build_put(&build, i, true);
	if (nmusts == 0)
		build_put(&build, build_first(&build), true);
	for (size_t n = nmusts > 0 ? nmusts : 1; n < size; n++)
		build_put(&build, build_next(&build, len, &more), true);
	for (size_t i = 0; i < size && build_exchange(&build); i++)
		;
	memcpy(chosen, build.chosen, len * sizeof(*chosen));
}

void preferred_set(const uint16_t *weights, size_t len, size_t nmusts, size_t size, bool *chosen)
{
	assert(len <= PREFERRED_SET_MAX && size <= len && nmusts <= size);
	for (size_t i = 0; i < len; i++)
		chosen[i] = size == len;
	if (size == 0 || size == len)
		return;
	if (size == 1)
		chosen[0] = true; /* it weighs nothing */
	else if (len <= PREFERRED_EXACT_MAX)
		choose_exactly(weights, len, nmusts, size, chosen);
	else
		choose_nearly(weights, len, nmusts, size, chosen);
}
