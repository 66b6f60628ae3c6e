/* gpus: random lives of a card, its functions, and their claims. */
#include "unit/gpu/gpus_bench.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "unit/kube/random_life.h"

#define CARDS  "sriovgpudevices"
#define VGPUS  "vgpudevices"
#define CLAIMS "pcideviceclaims"
#define ON     "{'spec':{'enabled':true}}"
#define OFF    "{'spec':{'enabled':false}}"
#define A_TYPE "{'spec':{'enabled':true,'vGPUTypeName':'NVIDIA A2-4C'}}"

/* The card as it is. */
struct card {
	bool is_divided;
	bool is_vgpu[2];
};

static const char *const functions[] = { FN4, FN5 };
static const char *const addresses[] = { VF1, VF5 };

static void scan_card(struct bench *b, const struct card *card)
{
	const char *lines[] = { BARE_CARD, NULL, NULL, NULL, NULL, NULL };

	if (card->is_divided) {
		lines[0] = CARD;
		lines[1] = VF_LINE(VF1);
		lines[2] = VF_LINE(VF2);
		lines[3] =
			card->is_vgpu[0] ? VGPU(VF1, "1146", A2_TYPES) : VGPU(VF1, "0", A2_TYPES);
		lines[4] =
			card->is_vgpu[1] ? VGPU(VF2, "1146", A2_TYPES) : VGPU(VF2, "0", A2_TYPES);
	}
	bench_scan(b, lines);
}

/* Does the API server offer the function to anybody? */
static bool is_claimed(struct bench *b, const char *function)
{
	const json_t *claim = bench_object(b, CLAIMS, function);

	return claim && !object_meta_text(claim, "deletionTimestamp");
}

/* What a program that succeeds does to the card; and what no program may do. */
static void change_card(struct bench *b, struct card *card, const char *words)
{
	if (strncmp(words, "/sm", strlen("/sm")) == 0) {
		card->is_divided = strstr(words, "-e") != NULL;
		assert_true(card->is_divided || (!card->is_vgpu[0] && !card->is_vgpu[1]));
	}
	for (int i = 0; i < 2; i++) {
		if (!strstr(words, "vgpu-set") || !strstr(words, addresses[i]))
			continue;
		card->is_vgpu[i] = strstr(words, "type=0") == NULL;
		assert_true(card->is_divided);
		assert_true(card->is_vgpu[i] || !is_claimed(b, functions[i]));
	}
}

static void end_program(struct bench *b, struct card *card, bool fails)
{
	const char *text = DONE;

	if (runs.len == 0)
		return;
	if (strncmp(runs.items[0].run->words, "/smi", strlen("/smi")) == 0)
		text = "[N/A]";
	else if (!fails)
		change_card(b, card, runs.items[0].run->words);
	bench_finish(b, fails ? "" : text, fails ? &bench_failed : NULL);
}

static void user_does(struct bench *b, uint64_t *seed)
{
	static const char *const plurals[] = { CARDS, VGPUS, VGPUS, CLAIMS };
	const char *kind = plurals[suite_random(seed) % ARRAY_LEN(plurals)];
	const char *name = functions[suite_random(seed) % ARRAY_LEN(functions)];

	if (kind == plurals[0])
		name = CARD_NAME;
	if (!bench_object(b, kind, name))
		return;
	if (kind == plurals[3] || suite_random(seed) % 8 == 0)
		bench_remove(b, kind, name);
	else if (suite_random(seed) % 2 == 0)
		bench_user_writes(b, kind, name, OFF);
	else
		bench_user_writes(b, kind, name, kind == plurals[0] ? ON : A_TYPE);
}

static bool is_enabled(struct bench *b, const char *kind, const char *name)
{
	return json_is_true(
		json_object_get(json_object_get(bench_object(b, kind, name), "spec"), "enabled"));
}

static void assert_settled(struct bench *b, const struct card *card)
{
	bool has_vgpu = card->is_vgpu[0] || card->is_vgpu[1];

	assert_int_equal(card->is_divided, is_enabled(b, CARDS, CARD_NAME) || has_vgpu);
	for (int i = 0; card->is_divided && i < 2; i++) {
		assert_int_equal(card->is_vgpu[i], is_enabled(b, VGPUS, functions[i]));
		assert_int_equal(card->is_vgpu[i], is_claimed(b, functions[i]));
		assert_string_equal(bench_ready(b, VGPUS, functions[i]),
				    card->is_vgpu[i] ? "Configured" : "Disabled");
	}
}

/* --- the life --------------------------------------------------------------------------------- */

struct life {
	struct bench b;
	struct card card;
};

static void *life_open(struct random_world *world)
{
	struct life *l = xcalloc(1, sizeof(*l));
	struct bench *b = &l->b;

	bench_open(b);
	b->by_hand = true;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		bench_slow(b, kinds[i]->plural);
	bench_user_writes(b, "pcidevices", CARD_NAME, "{}");
	bench_user_writes(b, "pcidevices", FN4, "{}");
	bench_user_writes(b, "pcidevices", FN5, "{}");
	scan_card(b, &l->card);
	*world = (struct random_world){ .server = b->server, .clock = b->clock };
	return l;
}

static void life_close(void *arg)
{
	struct life *l = arg;

	bench_close(&l->b);
	free(l);
}

static void something(void *arg, uint64_t *seed)
{
	struct life *l = arg;

	switch (suite_random(seed) % 8) {
	case 0:
	case 1:
		scan_card(&l->b, &l->card);
		return;
	case 2:
		l->b.pod = suite_random(seed) % 4 == 0 ? "pod default/vm" : NULL;
		return;
	case 3:
	case 4:
		end_program(&l->b, &l->card, suite_random(seed) % 4 == 0);
		return;
	default:
		user_does(&l->b, seed);
		return;
	}
}

/* A new agent scans before anything else. */
static void begin_again(void *arg)
{
	struct life *l = arg;

	bench_end(&l->b);
	bench_begin(&l->b);
	scan_card(&l->b, &l->card);
}

static void end_well(void *arg)
{
	struct life *l = arg;

	l->b.pod = NULL;
	for (int left = 20; runs.len > 0 && left > 0; left--)
		end_program(&l->b, &l->card, false);
	scan_card(&l->b, &l->card);
}

static void assert_end(void *arg)
{
	struct life *l = arg;

	assert_settled(&l->b, &l->card);
}

static const struct random_kind cards = {
	.name = "GPU kinds",
	.open = life_open,
	.close = life_close,
	.something = something,
	.begin_again = begin_again,
	.end_well = end_well,
	.assert_end = assert_end,
};

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	random_lives(&suite, &cards, 30);
	return suite_run(&suite, "gpus_life");
}
