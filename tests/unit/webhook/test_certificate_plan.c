#include "controller/webhook/certificate_plan.h"

#include "controller/webhook/certificate.h"
#include "unit/suite.h"

enum { HOUR_MS = 60 * 60 * 1000 };

/* Hours, for readability: a CA lives from 0 to 900, what is served from 600 to 900. */
static struct plan_case {
	const char *name;
	struct certificate_facts facts;
	bool trusted;
	int64_t now;
	enum certificate_step step;
	int64_t next; /* with KEEP */
} cases[] = {
	/* clang-format off */
	{ "there is nothing", { 0 }, true, 0, CERTIFICATE_START_OVER, 0 },
	{ "nothing is served, the CA is good",
	  { .signs = true, .ca = { 0, 900 } }, false, 1, CERTIFICATE_RENEW, 0 },
	{ "what is served is good, the CA is not",
	  { .serves = true, .by_newest = true, .ca = { 0, 900 }, .serving = { 0, 300 } }, false, 1, CERTIFICATE_ADD_CA, 0 },
	{ "all is young",
	  { .signs = true, .serves = true, .by_newest = true, .ca = { 0, 900 }, .serving = { 0, 300 } }, true, 199,
	  CERTIFICATE_KEEP, 200 },
	{ "two thirds of its life are over",
	  { .signs = true, .serves = true, .by_newest = true, .ca = { 0, 900 }, .serving = { 0, 300 } }, true, 200,
	  CERTIFICATE_RENEW, 0 },
	{ "it is renewed though the configurations are not ours to write",
	  { .signs = true, .serves = true, .by_newest = true, .ca = { 0, 900 }, .serving = { 0, 300 } }, false, 200,
	  CERTIFICATE_RENEW, 0 },
	{ "two thirds of the CA's life are over",
	  { .signs = true, .serves = true, .by_newest = true, .ca = { 0, 900 }, .serving = { 600, 900 } }, true, 600,
	  CERTIFICATE_ADD_CA, 0 },
	{ "a new CA waits for its turn",
	  { .signs = true, .serves = true, .overlaps = true, .ca = { 600, 1500 }, .serving = { 600, 900 } }, true, 600,
	  CERTIFICATE_KEEP, 601 },
	{ "and signs then",
	  { .signs = true, .serves = true, .overlaps = true, .ca = { 600, 1500 }, .serving = { 600, 900 } }, true, 601,
	  CERTIFICATE_RENEW, 0 },
	{ "but not before it is trusted",
	  { .signs = true, .serves = true, .overlaps = true, .ca = { 600, 1500 }, .serving = { 600, 900 } }, false, 650,
	  CERTIFICATE_KEEP, 651 },
	{ "the old CA stays for a while",
	  { .signs = true, .serves = true, .by_newest = true, .overlaps = true, .ca = { 600, 1500 },
	    .serving = { 601, 901 } }, true, 601,
	  CERTIFICATE_KEEP, 602 },
	{ "and goes then",
	  { .signs = true, .serves = true, .by_newest = true, .overlaps = true, .ca = { 600, 1500 },
	    .serving = { 601, 901 } }, true, 602,
	  CERTIFICATE_DROP_CA, 0 },
	{ "what has run out is renewed whether trusted or not",
	  { .signs = true, .overlaps = true, .ca = { 600, 1500 }, .serving = { 601, 901 } }, false, 901,
	  CERTIFICATE_RENEW, 0 },
	/* clang-format on */
};

static struct certificate_life in_ms(struct certificate_life hours)
{
	return (struct certificate_life){ hours.made_ms * HOUR_MS, hours.end_ms * HOUR_MS };
}

static void plan_matches_table(void **state)
{
	const struct plan_case *c = *state;
	struct certificate_facts facts = c->facts;
	int64_t next = -1;

	facts.ca = in_ms(facts.ca);
	facts.serving = in_ms(facts.serving);
	assert_string_equal(certificate_step_text(
				    certificate_plan(&facts, c->trusted, c->now * HOUR_MS, &next)),
			    certificate_step_text(c->step));
	assert_int_equal(next, c->step == CERTIFICATE_KEEP ? c->next * HOUR_MS : -1);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, plan_matches_table);
	return suite_run(&suite, "certificate_plan");
}
