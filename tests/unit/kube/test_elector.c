#include "kube/elector.h"

#include <string.h>

#include "api/lease.h"
#include "api/object.h"
#include "unit/suite.h"

enum { ACTS_MAX = 6 };

static struct see_case {
	const char *name;
	struct {
		const char *holder; /* NULL: nobody's; "none": there is no Lease */
		const char *renewed;
		uint64_t after_ms;
		enum elector_act act;
	} looks[ACTS_MAX];
} sees[] = {
	{ "there is no Lease", { { "none", "", 0, ELECTOR_CREATE } } },
	{ "nobody holds it", { { NULL, "1", 0, ELECTOR_CLAIM } } },
	{ "we hold it", { { "us", "1", 0, ELECTOR_RENEW } } },
	{ "another gives signs of life for ever",
	  { { "b", "1", 0, ELECTOR_WAIT },
	    { "b", "2", 14000, ELECTOR_WAIT },
	    { "b", "3", 14000, ELECTOR_WAIT },
	    { "b", "4", 14000, ELECTOR_WAIT } } },
	{ "another is silent for as long as its Lease lasts",
	  { { "b", "1", 0, ELECTOR_WAIT },
	    { "b", "1", 14999, ELECTOR_WAIT },
	    { "b", "1", 1, ELECTOR_CLAIM } } },
	{ "its clock is a day ahead: only that it ticks counts",
	  { { "b", "2099-01-01T00:00:00Z", 0, ELECTOR_WAIT },
	    { "b", "2099-01-01T00:00:00Z", 15000, ELECTOR_CLAIM } } },
	{ "its clock goes backwards: that is a sign of life too",
	  { { "b", "9", 0, ELECTOR_WAIT },
	    { "b", "1", 14000, ELECTOR_WAIT },
	    { "b", "1", 14000, ELECTOR_WAIT } } },
	{ "another took over from another",
	  { { "b", "1", 0, ELECTOR_WAIT },
	    { "c", "1", 14000, ELECTOR_WAIT },
	    { "c", "1", 14000, ELECTOR_WAIT } } },
	{ "it was released", { { "b", "1", 0, ELECTOR_WAIT }, { NULL, "2", 10, ELECTOR_CLAIM } } },
};

static struct lease *lease_of(const char *holder, const char *renewed)
{
	struct lease *lease;

	if (holder && strcmp(holder, "none") == 0)
		return NULL;
	lease = api_object_new(&lease_kind);
	lease->spec.holder_identity = xstrdup_or_null(holder);
	lease->spec.renew_time = xstrdup(renewed);
	lease->spec.lease_duration_seconds = 15;
	return lease;
}

SUITE_CLOSING(elector, struct elector, elector_done);

static void lease_is_judged(void **state)
{
	const struct see_case *row = suite_row(state);
	struct elector *e = *state;
	uint64_t now_ms = 77;

	e->identity = "us";
	for (size_t i = 0; i < ACTS_MAX && row->looks[i].act != 0; i++) {
		struct lease *lease = lease_of(row->looks[i].holder, row->looks[i].renewed);

		now_ms += row->looks[i].after_ms;
		assert_int_equal(elector_observe(e, lease, now_ms), row->looks[i].act);
		api_object_free(&lease_kind, lease);
	}
}

static void leading_ends_with_the_renewal(void **state)
{
	struct elector *e = *state;
	struct lease *lease = lease_of("us", "1");

	e->identity = "us";
	assert_false(elector_may_lead(e, 0));
	elector_won(e, lease, 1000, 4000);
	api_object_free(&lease_kind, lease);
	/* From when it was sent, not from when the answer came. */
	assert_true(elector_may_lead(e, 10999));
	assert_false(elector_may_lead(e, 11000));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &elector_fixture);
	suite_rows(&suite, sees, lease_is_judged);
	suite_add(&suite, "leading ends with the renewal", leading_ends_with_the_renewal, NULL);
	return suite_run(&suite, "elector");
}
