#include <stdbool.h>
#include <string.h>

#include "api/json_values.h"
#include "base/err.h"
#include "base/str.h"
#include "controller/webhook/certificate.h"
#include "unit/suite.h"

static const int64_t hour = (int64_t)60 * 60 * 1000;
static const int64_t day = (int64_t)24 * 60 * 60 * 1000;
static const int64_t start = (int64_t)1800000000 * 1000; /* 2027-01-15 */

static struct json_strs hosts_of(const char *first, const char *second)
{
	struct json_strs hosts = { 0 };

	json_strs_add(&hosts, first);
	if (second)
		json_strs_add(&hosts, second);
	return hosts;
}

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		n++;
	return n;
}

static unsigned cas_of(const struct certificate_set *set)
{
	return count(set->ca_certs, "BEGIN CERTIFICATE");
}

static void do_step(struct certificate_set *set, enum certificate_step step,
		    const struct json_strs *hosts, int64_t now_ms)
{
	struct err err = { 0 };

	assert_int_equal(certificate_set_apply(set, step, hosts, now_ms, &err), 0);
	assert_string_equal(err.msg, "");
}

static void a_new_set_serves(void **state)
{
	struct json_strs hosts = hosts_of("hostdev-webhook.sys.svc", "127.0.0.1");
	struct certificate_set set = { 0 };
	struct certificate_facts facts;

	do_step(&set, CERTIFICATE_START_OVER, &hosts, start);
	facts = certificate_facts_read(&set, &hosts, start);
	assert_true(facts.signs && facts.serves && facts.by_newest && !facts.overlaps);
	assert_int_equal(facts.ca.made_ms, start);
	assert_int_equal(facts.ca.end_ms, start + 365 * day);
	assert_int_equal(facts.serving.made_ms, start);
	assert_int_equal(facts.serving.end_ms, start + 90 * day);
	certificate_set_done(&set);
	json_strs_done(&hosts);
}

static struct damage_case {
	const char *name;
	int64_t after_ms;
	const char *host; /* asked for; NULL: the one it was made for */
	enum { NOTHING, SERVING, SERVING_KEY, OTHER_KEY, CA, CA_KEY, HUGE_CA } lost;
	bool signs;
	bool serves;
} damages[] = {
	{ "nothing is lost", 0, NULL, NOTHING, true, true },
	{ "an API server's clock may be behind", -hour, NULL, NOTHING, true, true },
	{ "but not by a day", -day, NULL, NOTHING, false, false },
	{ "the last hour counts", 90 * day - hour, NULL, NOTHING, true, true },
	{ "the served one has run out", 90 * day, NULL, NOTHING, true, false },
	{ "all has run out", 366 * day, NULL, NOTHING, false, false },
	{ "another host is not served", 0, "other.svc", NOTHING, true, false },
	{ "another address is not served", 0, "10.0.0.1", NOTHING, true, false },
	{ "without a certificate nothing is served", 0, NULL, SERVING, true, false },
	{ "nor without its key", 0, NULL, SERVING_KEY, true, false },
	{ "nor with the key of another", 0, NULL, OTHER_KEY, true, false },
	{ "without the CA nothing is good", 0, NULL, CA, false, false },
	{ "without the CA's key it still serves", 0, NULL, CA_KEY, false, true },
	{ "a CA too large to read is none", 0, NULL, HUGE_CA, false, false },
};

static void lose(struct certificate_set *set, const struct damage_case *c)
{
	struct str huge = STR_INIT;

	switch (c->lost) {
	case NOTHING:
		break;
	case SERVING:
		set->serving.cert[40] ^= 1;
		break;
	case SERVING_KEY:
		free(take_ptr(set->serving.key));
		break;
	case OTHER_KEY:
		free(set->serving.key);
		set->serving.key = xstrdup(set->ca_key);
		break;
	case CA:
		free(take_ptr(set->ca_certs));
		break;
	case CA_KEY:
		set->ca_key[0] = '\0';
		break;
	case HUGE_CA:
		while (huge.len <= CERTIFICATE_PEM_MAX)
			str_add(&huge, set->ca_certs);
		free(set->ca_certs);
		set->ca_certs = str_detach(&huge);
		break;
	}
}

static void damage_is_seen(void **state)
{
	const struct damage_case *c = *state;
	struct json_strs hosts = hosts_of("hostdev-webhook.sys.svc", "::1");
	struct certificate_set set = { 0 };
	struct certificate_facts facts;

	do_step(&set, CERTIFICATE_START_OVER, &hosts, start);
	lose(&set, c);
	if (c->host)
		json_strs_add(&hosts, c->host);
	facts = certificate_facts_read(&set, &hosts, start + c->after_ms);
	assert_int_equal(facts.signs, c->signs);
	assert_int_equal(facts.serves, c->serves);
	certificate_set_done(&set);
	json_strs_done(&hosts);
}

static void two_cas_overlap(void **state)
{
	struct json_strs hosts = hosts_of("a.svc", NULL);
	struct certificate_set set = { 0 };
	struct certificate_facts facts;

	do_step(&set, CERTIFICATE_START_OVER, &hosts, start);
	do_step(&set, CERTIFICATE_ADD_CA, &hosts, start + day);
	assert_int_equal(cas_of(&set), 2);
	facts = certificate_facts_read(&set, &hosts, start + day);
	assert_true(facts.signs && facts.serves && !facts.by_newest && facts.overlaps);
	assert_int_equal(facts.ca.made_ms, start + day);
	assert_int_equal(facts.serving.made_ms, start);

	/* Another one, before the first had its turn: what serves stays trusted. */
	do_step(&set, CERTIFICATE_ADD_CA, &hosts, start + 2 * day);
	assert_int_equal(cas_of(&set), 2);
	facts = certificate_facts_read(&set, &hosts, start + 2 * day);
	assert_true(facts.signs && facts.serves && !facts.by_newest);

	do_step(&set, CERTIFICATE_RENEW, &hosts, start + 3 * day);
	facts = certificate_facts_read(&set, &hosts, start + 3 * day);
	assert_true(facts.signs && facts.serves && facts.by_newest && facts.overlaps);

	do_step(&set, CERTIFICATE_DROP_CA, &hosts, start + 4 * day);
	assert_int_equal(cas_of(&set), 1);
	facts = certificate_facts_read(&set, &hosts, start + 4 * day);
	assert_true(facts.signs && facts.serves && facts.by_newest && !facts.overlaps);
	certificate_set_done(&set);
	json_strs_done(&hosts);
}

static void it_ends_with_its_ca(void **state)
{
	struct json_strs hosts = hosts_of("a.svc", NULL);
	struct certificate_set set = { 0 };
	struct certificate_facts facts;

	do_step(&set, CERTIFICATE_START_OVER, &hosts, start);
	do_step(&set, CERTIFICATE_RENEW, &hosts, start + 360 * day);
	facts = certificate_facts_read(&set, &hosts, start + 360 * day);
	assert_true(facts.serves);
	assert_int_equal(facts.serving.end_ms, facts.ca.end_ms);
	certificate_set_done(&set);
	json_strs_done(&hosts);
}

static void a_ca_without_its_key_signs_nothing(void **state)
{
	struct json_strs hosts = hosts_of("a.svc", NULL);
	struct certificate_set set = { .ca_certs = xstrdup("x"), .ca_key = xstrdup("y") };
	struct err err = { 0 };

	assert_true(certificate_set_apply(&set, CERTIFICATE_RENEW, &hosts, start, &err) < 0);
	assert_non_null(strstr(err.msg, "read the certificate authority: "));
	assert_string_equal(set.ca_certs, "x");
	assert_null(set.serving.cert);
	certificate_set_done(&set);
	json_strs_done(&hosts);
}

static void it_comes_through_a_secret(void **state)
{
	struct json_strs hosts = hosts_of("a.svc", NULL);
	struct certificate_set set = { 0 };
	struct certificate_set again;
	struct json_pairs data = { 0 };

	do_step(&set, CERTIFICATE_START_OVER, &hosts, start);
	certificate_set_encode(&set, &data);
	certificate_set_decode(&data, &again);
	assert_string_equal(again.serving.cert, set.serving.cert);
	assert_string_equal(again.serving.key, set.serving.key);
	assert_string_equal(again.ca_certs, set.ca_certs);
	assert_string_equal(again.ca_key, set.ca_key);
	certificate_set_done(&again);

	json_pairs_set(&data, "tls.key", "no base64!");
	json_pairs_remove(&data, "ca.key");
	certificate_set_decode(&data, &again);
	assert_null(again.serving.key);
	assert_null(again.ca_key);
	assert_string_equal(again.ca_certs, set.ca_certs);
	certificate_set_done(&again);
	certificate_set_done(&set);
	json_pairs_done(&data);
	json_strs_done(&hosts);
}

/*
 * Five years, looked at every now and then by a leader that is sometimes away: at each time there
 * is a certificate by a CA that was trusted at least half an hour before.
 */
static void no_time_is_without_a_trusted_certificate(void **state)
{
	struct json_strs hosts = hosts_of("a.svc", NULL);
	struct certificate_set set = { 0 };
	auto_free char *bundle = NULL; /* what API servers trust, half an hour late */
	uint64_t seed = 7;
	unsigned steps = 0;

	for (int64_t now = start; now < start + (int64_t)(5 * 365) * day;) {
		struct certificate_facts facts = certificate_facts_read(&set, &hosts, now);
		bool trusted = bundle && set.ca_certs && strcmp(bundle, set.ca_certs) == 0;
		int64_t next = 0;
		enum certificate_step step = certificate_plan(&facts, trusted, now, &next);

		if (step != CERTIFICATE_KEEP) {
			do_step(&set, step, &hosts, now);
			steps++;
			next = now;
		}
		if (bundle) {
			struct certificate_set seen = set;

			seen.ca_certs = bundle;
			assert_true(certificate_facts_read(&seen, &hosts, now).serves);
		}
		now += hour / 2;
		free(bundle);
		bundle = xstrdup(set.ca_certs);
		if (next > now)
			now = next;
		now += (int64_t)(suite_random(&seed) % (uint64_t)(20 * day));
	}
	assert_true(steps > 25 && steps < 60);
	certificate_set_done(&set);
	json_strs_done(&hosts);
}

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

	suite_rows(&suite, damages, damage_is_seen);
	suite_add(&suite, "a new set serves", a_new_set_serves, NULL);
	suite_add(&suite, "two CAs overlap", two_cas_overlap, NULL);
	suite_add(&suite, "a certificate ends with its CA", it_ends_with_its_ca, NULL);
	suite_add(&suite, "a CA without its key signs nothing", a_ca_without_its_key_signs_nothing,
		  NULL);
	suite_add(&suite, "it comes through a Secret", it_comes_through_a_secret, NULL);
	suite_add(&suite, "no time is without a trusted certificate",
		  no_time_is_without_a_trusted_certificate, NULL);
	suite_rows(&suite, cases, plan_matches_table);
	return suite_run(&suite, "certificate");
}
