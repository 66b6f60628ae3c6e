#include "controller/gate.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/admission/admission.h"
#include "controller/leader.h"
#include "controller/webhook/webhook.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/listen.h"
#include "kube/program.h"
#include "kube/serve.h"

enum { CLIENT_CA_MAX = 256 * 1024 };

struct gate {
	struct leader *leader;
	struct clock *clock;
	struct events *events;
	/* With its own rate limits and queue, to protect the others. */
	struct events *unverified_events;
	struct admission *admission;
	struct webhook *webhook;
	struct clock_timer *timer; /* ends the drain */
	void (*drained)(void *arg);
	void *arg;
};

static bool leads(void *arg)
{
	const struct gate *gate = arg;

	return leader_leads(gate->leader);
}

static void on_started(void *arg)
{
	struct gate *gate = arg;

	webhook_lead(gate->webhook);
}

static void on_drained(void *arg)
{
	const struct gate *gate = arg;

	gate->drained(gate->arg);
}

static int check_ready(void *arg, struct err *err)
{
	struct gate *gate = arg;

	return webhook_ready(gate->webhook, err);
}

/* NULL if not set; the caller frees it. */
static int read_client_ca(const struct gate_options *options, char **ret_pem, struct err *err)
{
	int r;

	if (!options->client_ca || !*options->client_ca)
		return 0;
	r = file_read(AT_FDCWD, options->client_ca, CLIENT_CA_MAX, ret_pem, NULL, err);
	return r < 0 ? err_wrap(err, "--webhook-client-ca") : 0;
}

static int open_webhook(struct gate *gate, struct program *program,
			const struct gate_options *options, struct err *err)
{
	struct listen_address address = { 0 };
	struct webhook_options webhook = {
		.client = program->client,
		.clock = gate->clock,
		.metrics = program->metrics,
		.address = &address,
		.ns = options->ns,
		.rules = admission_rules(gate->admission),
		.leads = leads,
		.arg = gate,
	};
	auto_free char *client_ca = NULL;
	int r = read_client_ca(options, &client_ca, err);

	if (r < 0)
		return r;
	webhook.client_ca = client_ca;
	r = listen_address_parse(options->listen, &address, err);
	for (size_t i = 0; i < options->hosts->len; i++)
		json_strs_add(&webhook.hosts, options->hosts->items[i]);
	if (r == 0)
		r = webhook_new(&program->loop, &webhook, &gate->webhook, err);
	json_strs_done(&webhook.hosts);
	return r < 0 ? err_wrap(err, "--webhook-listen") : 0;
}

bool gate_opens(const struct gate_options *options)
{
	return strcmp(options->listen, "off") != 0;
}

static struct events *make_events(const struct gate *gate, struct program *program,
				  const struct gate_options *options, bool together)
{
	return events_new(&(struct events_deps){ .client = program->client,
						 .clock = gate->clock,
						 .metrics = program->metrics,
						 .component = "hostdev-controller",
						 .host = options->pod_name,
						 .together = together });
}

int gate_new(struct program *program, struct leader *leader, struct cache *cache,
	     const struct gate_options *options, struct gate **ret_gate, struct err *err)
{
	struct gate *gate;
	int r;

	*ret_gate = NULL;
	if (!gate_opens(options))
		return 0;
	gate = xcalloc(1, sizeof(*gate));
	gate->leader = leader;
	gate->clock = clock_new(&program->loop);
	gate->timer = clock_timer_new(gate->clock, on_drained, gate);
	gate->events = make_events(gate, program, options, false);
	gate->unverified_events = make_events(gate, program, options, true);
	gate->admission = admission_new(
		&(struct admission_options){ .cache = cache,
					     .clock = gate->clock,
					     .events = gate->events,
					     .unverified_events = gate->unverified_events,
					     .leads = leads,
					     .arg = gate,
					     .refuse_pinned = options->refuse_pinned });
	r = open_webhook(gate, program, options, err);
	if (r < 0) {
		gate_free(gate);
		return r;
	}
	leader_add(leader, &(struct leader_callbacks){ .started = on_started, .arg = gate });
	serve_add_check(program->serve, SERVE_READYZ, "webhook", check_ready, gate);
	log_info("webhook listening", log_int("port", webhook_port(gate->webhook)));
	*ret_gate = gate;
	return 0;
}

void gate_drain(struct gate *gate, void (*done)(void *arg), void *arg)
{
	if (!gate) {
		done(arg);
		return;
	}
	gate->drained = done;
	gate->arg = arg;
	webhook_drain(gate->webhook);
	clock_timer_start(gate->clock, gate->timer, GATE_DRAIN_MS);
}

struct gate *gate_free(struct gate *gate)
{
	if (!gate)
		return NULL;
	clock_timer_free(gate->clock, gate->timer);
	webhook_free(gate->webhook);
	admission_free(gate->admission);
	events_free(gate->events);
	events_free(gate->unverified_events);
	clock_free(gate->clock);
	free(gate);
	return NULL;
}
