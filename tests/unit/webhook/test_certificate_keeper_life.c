/* certificate_keeper: random lives of the Secret. */
#include "controller/webhook/certificate_keeper.h"

#include <jansson.h>
#include <string.h>

#include "api/secret.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/webhook/certificate.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "unit/kube/random_life.h"
#include "unit/suite.h"

enum {
	HOUR_MS = 60 * 60 * 1000,
	/* A set has settled when nothing is due for longer than the rest of a life takes. */
	SETTLED_MS = 2 * HOUR_MS,
	HOURS_MAX = 30,
	MONTHS = 7 * 30 * 24, /* in hours */
};

#define NAME     CERTIFICATE_KEEPER_SECRET
#define EXTERNAL "cert-manager.io/certificate-name"

struct life {
	struct api_kind kind;
	struct fake_server *server;
	struct fake_clock *clock;
	struct certificate_keeper *keeper;
	struct json_strs hosts;
	bool follows;   /* another replica leads                */
	bool distrusts; /* the configurations lack a CA of ours */
	bool serves;    /* as told last                         */
	unsigned hours; /* that have passed in the end          */
};

static bool leads(void *arg)
{
	return !((struct life *)arg)->follows;
}

static bool trusted(void *arg)
{
	return !((struct life *)arg)->distrusts;
}

static void on_set(void *arg, const struct certificate_set *set, bool serves)
{
	struct life *life = arg;

	assert_non_null(set);
	life->serves = serves;
}

static void begin(struct life *life)
{
	life->serves = false;
	life->keeper = certificate_keeper_new(&(struct certificate_keeper_options){
		.client = fake_server_client(life->server),
		.clock = fake_clock_as_clock(life->clock),
		.ns = "sys",
		.hosts = life->hosts,
		.leads = leads,
		.trusted = trusted,
		.on_set = on_set,
		.arg = life,
	});
	certificate_keeper_start(life->keeper);
}

static void *life_open(struct random_world *ret_world)
{
	struct life *life = xcalloc(1, sizeof(*life));

	fake_reconcile_allow_random_bodies();
	life->clock = fake_clock_new();
	life->kind = secret_kind;
	life->kind.ns = "sys";
	life->server = fake_server_new(&life->kind);
	json_strs_add(&life->hosts, "a.svc");
	begin(life);
	*ret_world = (struct random_world){ .server = life->server, .clock = life->clock };
	return life;
}

static void life_close(void *arg)
{
	struct life *life = arg;
	struct kube_client *client = fake_server_client(life->server);

	certificate_keeper_free(life->keeper);
	assert_int_equal(fake_client_open(client), 0);
	kube_client_free(client);
	fake_server_free(life->server);
	fake_clock_free(life->clock);
	json_strs_done(&life->hosts);
	free(life);
}

static void begin_again(void *arg)
{
	struct life *life = arg;

	certificate_keeper_free(life->keeper);
	begin(life);
}

/* The Secret is not cert-manager's any more. */
static void forget_cert_manager(const struct life *life)
{
	if (fake_server_get(life->server, NAME))
		fake_server_write(life->server, NAME, "{'metadata':{'annotations':null}}");
}

static void something(void *arg, uint64_t *seed)
{
	struct life *life = arg;

	switch (suite_random(seed) % 10) {
	case 0:
	case 1:
		life->follows = suite_random(seed) % 2;
		certificate_keeper_enqueue(life->keeper);
		return;
	case 2:
	case 3:
		life->distrusts = suite_random(seed) % 2;
		certificate_keeper_enqueue(life->keeper);
		return;
	case 4: /* seldom, so that CAs become old */
		if (suite_random(seed) % 8 == 0)
			fake_server_delete(life->server, NAME);
		return;
	case 5:
		if (suite_random(seed) % 8 == 0)
			fake_server_write(life->server, NAME, "{'data':{'tls.key':'bm8gUEVN'}}");
		return;
	case 6:
		fake_server_write(life->server, NAME,
				  "{'metadata':{'annotations':{'" EXTERNAL "':'x'}}}");
		return;
	case 7:
		forget_cert_manager(life);
		return;
	case 8:
		/* The machine sleeps for months; the keeper plans every hour otherwise. */
		if (suite_random(seed) % 2)
			fake_clock_jump(life->clock, suite_random(seed) % MONTHS * HOUR_MS);
		return;
	default:
		fake_clock_advance(life->clock, suite_random(seed) % 24 * HOUR_MS);
		return;
	}
}

/* --- how it ends ------------------------------------------------------------------------------ */

static int64_t now_ms(const struct life *life)
{
	return clock_wall_ms(fake_clock_as_clock(life->clock));
}

static struct certificate_facts facts_of(const struct life *life)
{
	const json_t *secret = fake_server_get(life->server, NAME);
	struct certificate_set set = { 0 };
	struct certificate_facts facts;
	struct json_pairs data = { 0 };
	const char *key;
	json_t *value;

	json_object_foreach (json_object_get(secret, "data"), key, value)
		(void)json_pairs_set(&data, key, json_string_value(value));
	certificate_set_decode(&data, &set);
	facts = certificate_facts_read(&set, &life->hosts, now_ms(life));
	certificate_set_done(&set);
	json_pairs_done(&data);
	return facts;
}

static bool is_settled(const struct life *life)
{
	const struct certificate_facts facts = facts_of(life);
	int64_t next_ms = 0;

	return certificate_plan(&facts, true, now_ms(life), &next_ms) == CERTIFICATE_KEEP &&
	       next_ms - now_ms(life) >= SETTLED_MS;
}

/* It is ours, and a rotation that has begun gets the time that it needs. */
static void end_well(void *arg)
{
	struct life *life = arg;

	life->follows = life->distrusts = false;
	forget_cert_manager(life);
	certificate_keeper_enqueue(life->keeper);
	if (life->hours < HOURS_MAX && !is_settled(life)) {
		life->hours++;
		fake_clock_advance(life->clock, HOUR_MS);
	}
}

static void assert_end(void *arg)
{
	const struct life *life = arg;
	const struct certificate_facts facts = facts_of(life);

	assert_true(facts.signs);
	assert_true(facts.serves);
	assert_true(facts.by_newest);
	assert_false(facts.overlaps);
	assert_true(life->serves);
}

static const struct random_kind lives = {
	.name = "the webhook's Secret",
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
	random_lives(&suite, &lives, 8);
	return suite_run(&suite, "certificate_keeper_life");
}
