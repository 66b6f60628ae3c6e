/* mdev_cards: the cards that plans are made for: machines of mdev_machine.h with types of three
 * sizes. */
#pragma once

#include <string.h>

#include "unit/mdev/mdev_machine.h"

#define A                          \
	{                          \
		"a-1", "Type A", 4 \
	}
#define B                          \
	{                          \
		"b-1", "Type B", 2 \
	}
#define C                          \
	{                          \
		"c-1", "Type C", 1 \
	}

#define U1 "11111111-2222-3333-4444-555555555551"
#define U2 "11111111-2222-3333-4444-555555555552"

/* clang-format off */
#define CARD(name_, ...) { .name = (name_), .types = { __VA_ARGS__ } }
#define FAILING(name_, ...) { .name = (name_), .types = { __VA_ARGS__ }, .fails = true }
#define THREE_CARDS { CARD("c1", A, B), CARD("c2", A, B), CARD("c3", A, B) }
/* clang-format on */

static inline void assert_cards(const struct machine *m, const char *expected)
{
	auto_free char *text = machine_text(m);

	assert_string_equal(text, expected);
}

static inline void machine_init(struct machine *m)
{
	static const struct machine_card cards[] = THREE_CARDS;

	memset(m, 0, sizeof(*m));
	memcpy(m->cards, cards, sizeof(cards));
}

SUITE_FIXTURE(machine, struct machine, machine_init, machine_done);

static inline void desire_and_settle(struct machine *m, const char *types)
{
	machine_desire(m, types);
	machine_settle(m);
}
