#include "controller/uninstall.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/cache/cache.h"
#include "controller/cache/view.h"
#include "controller/kubevirt/permits.h"
#include "controller/nodes/node_plan.h"
#include "kube/client.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "kube/program.h"
#include "kube/reconcile.h"
#include "kube/store.h"
#include "kube/url.h"

enum {
	LOOK_MS = 1000,
	REMIND_MS = 30 * 1000,   /* repeat an unchanged progress line */
	KUBEVIRT_MS = 15 * 1000, /* time limit for removing the entries in KubeVirts */
	RUNS_AT_A_TIME = 8,      /* per kind */
};

/* The claims of one kind. */
struct claims {
	const struct uninstall *un;
	enum view_kind kind;
	struct api_kind api;
	struct reconcile *reconcile; /* by name */
};

struct uninstall {
	struct uninstall_deps deps;
	struct clock_timer *timer;
	struct cache *cache;
	const struct store *const *stores; /* of the cache */
	struct claims pci;
	struct claims usb;
	struct withdraw *withdraw;
	struct kube_call *call; /* the deletion of the HostDeviceConfig; NULL: none in flight */
	uint64_t free_ms;       /* since when there are no claims; 0: there are some */
	uint64_t began_ms;
	uint64_t last_line_ms;
	char *last_line; /* the last progress line */
	bool synced;
	bool started; /* the HostDeviceConfig was deleted */
	bool ended;
};

static uint64_t now_ms(const struct uninstall *un)
{
	return clock_now_ms(un->deps.clock);
}

static void print_line(const struct uninstall *un, const char *line)
{
	un->deps.on_line(un->deps.arg, line);
}

static void end_with(struct uninstall *un, int status, const struct err *err)
{
	un->ended = true;
	un->deps.on_end(un->deps.arg, status, err);
}

/* --- one claim --- */

/* If the name of the node is not known, it cannot be known to be gone. */
static bool node_is_gone(const struct uninstall *un, const char *node)
{
	return node[0] && !store_get(un->stores[VIEW_NODE], node);
}

static bool is_started(void *arg)
{
	const struct claims *claims = arg;

	return claims->un->started && !claims->un->ended;
}

static void plan_claim(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct claims *claims = arg;
	const struct uninstall *un = claims->un;
	const struct view *claim = view->object;

	if (!claim->deleting)
		ret_decision->step = STEP_DELETE;
	else if (claim->has_finalizer &&
		 node_is_gone(un, node_plan_node(un->stores, claims->kind, view->key, claim)))
		retire_remove_finalizer(claims->kind, view, ret_decision);
}

static void open_claims(struct uninstall *un, struct claims *claims, enum view_kind kind)
{
	*claims = (struct claims){ .un = un, .kind = kind, .api = view_kind(kind) };
	claims->reconcile = reconcile_new(&(struct reconcile_spec){
		.name = claims->api.plural,
		.kind = &claims->api,
		.objects = cache_informers(un->cache)[kind],
		.field_manager = "hostdev-controller",
		.max_running = RUNS_AT_A_TIME,
		.is_ready = is_started,
		.plan = plan_claim,
		.arg = claims,
		.client = un->deps.client,
		.clock = un->deps.clock,
	});
}

/* --- all claims --- */

/* Our finalizer is removed, so all remaining ones are others'. */
static bool add_others(const struct view *view, struct str *line)
{
	const char *finalizers = view_text(view, VIEW_TEXT_FINALIZERS);

	if (!view->deleting || view->has_finalizer || !*finalizers)
		return false;
	str_add(line, "has the finalizer ");
	str_add_clean(line, finalizers, strlen(finalizers));
	str_add(line, " of another controller, which must remove it");
	return true;
}

static void add_why(const struct uninstall *un, const struct view *view, const char *node,
		    struct str *line)
{
	if (view && add_others(view, line))
		return;
	if (node_is_gone(un, node))
		str_add(line, "its node is gone");
	else if (view && view->reach > REACH_OK)
		str_add(line, reach_reason(view->reach));
	else if (view && !view->deleting)
		str_add(line, "its deletion is requested, and refused while a pod has the device: "
			      "kubectl hostdev who names the pod; delete it");
	else
		str_add(line, "its agent releases the device");
}

static void add_line(struct uninstall *un, enum view_kind kind, const struct entry *entry,
		     struct str *line)
{
	const struct view *view = entry->object;
	const char *node = view ? node_plan_node(un->stores, kind, entry->name, view) : "";

	str_addf(line, "\n  %s %s on node %s: ", view_whole(kind)->plural, entry->name,
		 node[0] ? node : "(unknown)");
	add_why(un, view, node, line);
}

/* Enqueue each claim of a kind; returns @before plus their number. */
static size_t run_claims(struct uninstall *un, const struct claims *claims, size_t before,
			 struct str *line)
{
	const struct store *store = un->stores[claims->kind];
	const struct entry *entry;
	size_t len = before;
	size_t cursor = 0;

	while ((entry = store_next(store, &cursor))) {
		reconcile_enqueue(claims->reconcile, entry->name);
		if (len++ < UNINSTALL_LISTED)
			add_line(un, claims->kind, entry, line);
	}
	return len;
}

static void print_progress(struct uninstall *un, size_t len, struct str *list)
{
	auto_free char *line = NULL;

	if (len > UNINSTALL_LISTED)
		str_addf(list, "\n  and %zu more", len - UNINSTALL_LISTED);
	line = xasprintf("waiting for %zu claims:%s", len, str_cstr(list));
	if (un->last_line && strcmp(un->last_line, line) == 0 &&
	    now_ms(un) - un->last_line_ms < REMIND_MS)
		return;
	print_line(un, line);
	free(un->last_line);
	un->last_line = take_ptr(line);
	un->last_line_ms = now_ms(un);
}

/* True once no KubeVirt has an entry of ours, or if waiting longer would not help, which is
 * printed. */
static bool is_withdrawn(const struct uninstall *un)
{
	auto_free char *line = NULL;
	const char *name;

	if (withdraw_is_done(un->withdraw, &name))
		return true;
	withdraw_run(un->withdraw);
	if (now_ms(un) - un->free_ms < KUBEVIRT_MS)
		return false;
	if (name) {
		line = xasprintf(
			"KubeVirt %s still has entries of hostdev in permittedHostDevices: its "
			"annotation hostdev.io/permitted-host-devices says which; remove them by "
			"hand",
			name);
		print_line(un, line);
	}
	return true;
}

static void check_progress(struct uninstall *un)
{
	auto_str struct str list = STR_INIT;
	size_t len = run_claims(un, &un->pci, 0, &list);

	len = run_claims(un, &un->usb, len, &list);
	if (len > 0) {
		un->free_ms = 0;
		print_progress(un, len, &list);
		return;
	}
	if (un->free_ms == 0)
		un->free_ms = now_ms(un);
	if (!is_withdrawn(un))
		return;
	print_line(
		un,
		"nothing is claimed any more, and every device that was is back on its driver;\n"
		"virtual functions stay as they are: set spec.numVFs of their SRIOVNetworkDevices "
		"to 0 while the agents run if they are to go;\n"
		"now delete what was deployed, and then the definitions in crds/");
	end_with(un, 0, NULL);
}

static void on_timer(void *arg)
{
	struct uninstall *un = arg;

	if (un->ended)
		return;
	if (un->deps.timeout_ms > 0 && now_ms(un) - un->began_ms >= un->deps.timeout_ms) {
		print_line(
			un,
			un->synced
				? "timed out; the status of the claims above shows what they wait "
				  "for"
				: "the time is over before everything could be listed");
		end_with(un, 1, NULL);
		return;
	}
	if (un->synced && un->started)
		check_progress(un);
	clock_timer_start(un->deps.clock, un->timer, LOOK_MS);
}

/* --- start and end --- */

static void on_config_gone(void *arg, int result, const struct kube_response *response,
			   const struct err *err)
{
	struct uninstall *un = arg;

	(void)response;
	un->call = NULL;
	if (result == 0 || result == -ENOENT) {
		un->started = true;
		return;
	}
	end_with(un, 1, err);
}

static void delete_config(struct uninstall *un)
{
	auto_str struct str path = STR_INIT;

	url_object(&path, &hostdeviceconfig_kind, NULL, "default", NULL);
	un->call = kube_client_send(un->deps.client,
				    &(struct kube_request){
					    .verb = "delete",
					    .resource = hostdeviceconfig_kind.plural,
					    .method = "DELETE",
					    .path = str_cstr(&path),
				    },
				    on_config_gone, un);
}

static void on_change(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		      const struct entry *after)
{
	const struct uninstall *un = arg;

	(void)before;
	(void)after;
	if (un->started && kind == VIEW_PCICLAIM)
		reconcile_changed(un->pci.reconcile, name);
	else if (un->started && kind == VIEW_USBCLAIM)
		reconcile_changed(un->usb.reconcile, name);
}

static void on_synced(void *arg)
{
	struct uninstall *un = arg;

	un->synced = true;
	delete_config(un);
}

struct uninstall *uninstall_new(const struct uninstall_deps *deps)
{
	struct uninstall *un = xcalloc(1, sizeof(*un));

	un->deps = *deps;
	un->timer = clock_timer_new(deps->clock, on_timer, un);
	un->began_ms = now_ms(un);
	un->cache =
		cache_new(&(struct informer_deps){ .client = deps->client, .clock = deps->clock },
			  &(struct cache_spec){
				  .on_change = on_change,
				  .on_synced = on_synced,
				  .arg = un,
			  });
	un->stores = cache_stores(un->cache);
	un->withdraw = withdraw_new(&(struct withdraw_deps){
		.client = deps->client,
		.clock = deps->clock,
		.stores = un->stores,
	});
	open_claims(un, &un->pci, VIEW_PCICLAIM);
	open_claims(un, &un->usb, VIEW_USBCLAIM);
	clock_timer_start(deps->clock, un->timer, LOOK_MS);
	return un;
}

struct uninstall *uninstall_free(struct uninstall *un)
{
	if (!un)
		return NULL;
	if (un->call)
		kube_call_cancel(un->call);
	reconcile_free(un->pci.reconcile);
	reconcile_free(un->usb.reconcile);
	withdraw_free(un->withdraw);
	cache_free(un->cache);
	clock_timer_free(un->deps.clock, un->timer);
	free(un->last_line);
	free(un);
	return NULL;
}

/* --- as a program --- */

struct run {
	struct program *program;
	int status;
};

static void on_line(void *arg, const char *line)
{
	(void)arg;
	(void)printf("%s\n", line);
	(void)fflush(stdout);
}

static void on_end(void *arg, int status, const struct err *err)
{
	struct run *run = arg;

	if (err)
		(void)fprintf(stderr,
			      "hostdev-controller uninstall: delete the HostDeviceConfig: %s\n",
			      err->msg);
	run->status = status;
	program_stop(run->program);
}

int uninstall_run(struct program *program, uint64_t timeout_ms)
{
	struct run run = { .program = program, .status = 1 };
	struct clock *clock = clock_new(&program->loop);
	struct uninstall *un = uninstall_new(&(struct uninstall_deps){
		.client = program->client,
		.clock = clock,
		.timeout_ms = timeout_ms,
		.on_line = on_line,
		.on_end = on_end,
		.arg = &run,
	});

	program_run(program, NULL, NULL);
	uninstall_free(un);
	clock_free(clock);
	return run.status;
}
