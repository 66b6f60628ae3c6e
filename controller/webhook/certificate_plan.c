#include "controller/webhook/certificate_plan.h"

#include "controller/webhook/certificate.h"

const char *certificate_step_text(enum certificate_step step)
{
	static const char *const texts[] = {
		[CERTIFICATE_KEEP] = "keep",       [CERTIFICATE_START_OVER] = "start-over",
		[CERTIFICATE_ADD_CA] = "add-ca",   [CERTIFICATE_RENEW] = "renew",
		[CERTIFICATE_DROP_CA] = "drop-ca",
	};

	return texts[step];
}

/* Renew after two thirds of the lifetime, which leaves a third for failures. */
static int64_t due_ms(const struct certificate_life *life)
{
	return life->made_ms + (life->end_ms - life->made_ms) / 3 * 2;
}

/* Repairs that cannot wait. */
static enum certificate_step urgent_step(const struct certificate_facts *facts)
{
	if (!facts->serves)
		return facts->signs ? CERTIFICATE_RENEW : CERTIFICATE_START_OVER;
	if (!facts->signs)
		return CERTIFICATE_ADD_CA;
	return CERTIFICATE_KEEP;
}

/* The next regular step, and when it is due. */
static enum certificate_step next_step(const struct certificate_facts *facts, bool trusted,
				       int64_t *ret_at_ms)
{
	if (!facts->by_newest) {
		*ret_at_ms = facts->ca.made_ms + CERTIFICATE_OVERLAP_MS;
		return trusted ? CERTIFICATE_RENEW : CERTIFICATE_KEEP;
	}
	if (facts->overlaps) {
		*ret_at_ms = facts->serving.made_ms + CERTIFICATE_OVERLAP_MS;
		return CERTIFICATE_DROP_CA;
	}
	if (due_ms(&facts->ca) <= due_ms(&facts->serving)) {
		*ret_at_ms = due_ms(&facts->ca);
		return CERTIFICATE_ADD_CA;
	}
	*ret_at_ms = due_ms(&facts->serving);
	return CERTIFICATE_RENEW;
}

enum certificate_step certificate_plan(const struct certificate_facts *facts, bool trusted,
				       int64_t now_ms, int64_t *ret_next_ms)
{
	enum certificate_step step = urgent_step(facts);
	int64_t at_ms;

	if (step != CERTIFICATE_KEEP)
		return step;
	step = next_step(facts, trusted, &at_ms);
	if (now_ms >= at_ms && step != CERTIFICATE_KEEP)
		return step;
	*ret_next_ms = at_ms > now_ms ? at_ms : now_ms + CERTIFICATE_OVERLAP_MS;
	return CERTIFICATE_KEEP;
}
