/*
 * claims: random lives of three claims, a network card of its own and two that share an IOMMU
 * group, between users, a kernel, helpers that fail, and an API server that fails.
 */
#include "agent/claim/claims.h"

#include <string.h>

#include "api/json_map.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/array.h"
#include "base/log.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "unit/agent/fake_binder.h"
#include "unit/agent/world.h"
#include "unit/kube/random_life.h"
#include "unit/this_node.h"

struct events {
	size_t count;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	(void)type;
	assert_non_null(about->meta->name);
	assert_non_null(reason);
	assert_non_null(fmt);
	events->count++;
}

/* As the kernel and the disk have it. */
struct function {
	const char *address;
	const char *name;
	const char *group;
	bool there;
	bool bound;  /* to vfio-pci                     */
	char *claim; /* of its record; NULL: it has none */
	char *uid;
};

enum { NIC, FIRST, SECOND, FUNCTIONS };

struct life {
	struct fake_server *server; /* of PCIDeviceClaims */
	struct fake_server *device_server;
	struct fake_clock *clock;
	struct events events;
	struct informer *claim_informer;
	struct informer *device_informer;
	struct this_node node;
	struct claims *claims;
	struct world world;
	struct function functions[FUNCTIONS];
	bool pod;       /* one has the network card */
	size_t moves;   /* how often a scan was due */
	size_t scanned; /* moves that one has followed */
};

/* --- the agent -------------------------------------------------------------------------------- */

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct life *l = arg;

	(void)before;
	(void)after;
	if (l->claims)
		claims_enqueue(l->claims, name);
}

static void on_synced(void *arg)
{
	struct life *l = arg;

	if (l->claims)
		claims_enqueue_all(l->claims);
}

static void on_moved(void *arg)
{
	struct life *l = arg;

	l->moves++;
}

static bool is_free(void *arg, const char *address, char **ret_holder)
{
	const struct life *l = arg;

	if (!l->pod || strcmp(address, l->functions[NIC].address) != 0)
		return true;
	*ret_holder = xstrdup("pod default/vm-1");
	return false;
}

static bool is_usb_free(void *arg, const char *port, char **ret_holder)
{
	(void)arg;
	(void)port;
	*ret_holder = NULL;
	return true;
}

static struct informer *new_informer(struct life *l, const struct api_kind *kind)
{
	return informer_new(&(struct informer_deps){ .client = fake_server_client(l->server),
						     .clock = fake_clock_as_clock(l->clock) },
			    &(struct informer_spec){
				    .kind = kind,
				    .handlers = { .on_change = on_change, .on_synced = on_synced },
				    .arg = l,
			    });
}

static void agent_begin(struct life *l)
{
	l->claim_informer = new_informer(l, &pcideviceclaim_kind);
	l->device_informer = new_informer(l, &pcidevice_kind);
	l->node = this_node_of(fake_server_client(l->server), fake_clock_as_clock(l->clock),
			       &l->events);
	l->node.claims[INVENTORY_PCI] = l->claim_informer;
	l->node.devices[INVENTORY_PCI] = l->device_informer;
	l->claims = claims_new(&l->node, &(struct claims_deps){
						 .on_moved = on_moved,
						 .is_free = is_free,
						 .is_usb_free = is_usb_free,
						 .arg = l,
					 });
	informer_start(l->claim_informer);
	informer_start(l->device_informer);
}

static void agent_end(struct life *l)
{
	l->claims = claims_free(l->claims);
	l->claim_informer = informer_free(l->claim_informer);
	l->device_informer = informer_free(l->device_informer);
	assert_int_equal(fake_client_open(fake_server_client(l->server)), 0);
	assert_null(fake.binder);
	assert_null(fake.watch);
	world_close(&l->world);
	l->world = (struct world){ 0 };
}

static void life_open(struct life *l)
{
	*l = (struct life){
		.server = fake_server_new(&pcideviceclaim_kind),
		.clock = fake_clock_new(),
		.functions = { { .address = "0000:01:00.0",
				 .name = "node1-000001000",
				 .group = "1",
				 .there = true },
			       { .address = "0000:07:01.0",
				 .name = "node1-000007010",
				 .group = "7",
				 .there = true },
			       { .address = "0000:07:02.0",
				 .name = "node1-000007020",
				 .group = "7",
				 .there = true } },
	};
	l->device_server = fake_server_join(l->server, &pcidevice_kind);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		fake_server_write(l->device_server, l->functions[i].name,
				  "{'metadata':{'annotations':{'harvesterhci.io/pcideviceDriver':"
				  "'e1000e'}}}");
		/* As if each write of the agent were there at once. */
		fake_server_write_status(l->device_server, l->functions[i].name,
					 "{'kernelDriverInUse':'vfio-pci'}");
	}
	agent_begin(l);
}

static void function_forget(struct function *f)
{
	free(f->claim);
	free(f->uid);
	f->claim = f->uid = NULL;
}

static void life_close(struct life *l)
{
	agent_end(l);
	kube_client_free(fake_server_client(l->server));
	fake_server_free(l->device_server);
	fake_server_free(l->server);
	fake_clock_free(l->clock);
	for (size_t i = 0; i < FUNCTIONS; i++)
		function_forget(&l->functions[i]);
}

/* --- the node --------------------------------------------------------------------------------- */

static void scan(struct life *l)
{
	struct world before = l->world;

	l->scanned = l->moves;
	fake_clock_advance(l->clock, 1);
	fake.now_ms = clock_now_ms(fake_clock_as_clock(l->clock));
	world_open(&l->world);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		const struct function *f = &l->functions[i];
		auto_free char *pci = xasprintf(
			"{\"kind\":\"pci\",\"address\":\"%s\",\"vendor\":\"8086\",\"device\":"
			"\"10d3\",\"class\":\"020000\",\"iommuGroup\":\"%s\",\"driver\":\"%s\"}",
			f->address, f->group, f->bound ? "vfio-pci" : "e1000e");
		auto_free char *record = xasprintf(
			"{\"kind\":\"record\",\"address\":\"%s\",\"claim\":\"%s\",\"uid\":\"%s\","
			"\"driver\":\"vfio-pci\",\"native\":\"e1000e\",\"id\":\"8086:10d3\"}",
			f->address, f->claim ? f->claim : "", f->uid ? f->uid : "");

		if (f->there)
			world_add(&l->world, pci);
		if (f->claim)
			world_add(&l->world, record);
	}
	world_look(&l->world, &(struct inventory_options){ .node_name = "node1" });
	l->world.inventory->began_ms = fake.now_ms;
	l->node.inventory = l->world.inventory;
	claims_update_attempts(l->claims);
	claims_enqueue_all(l->claims);
	if (before.inventory)
		world_close(&before);
	fake_clock_settle(l->clock);
}

static struct function *find(struct life *l, const char *address)
{
	size_t i = 0;

	while (strcmp(l->functions[i].address, address) != 0)
		i++;
	return &l->functions[i];
}

/* The helper does what it was told, of the first @count functions. */
static void obey(struct life *l, const struct fake_job *job, size_t count)
{
	for (size_t i = 0; i < job->addresses.len && i < count; i++) {
		struct function *f = find(l, job->addresses.items[i]);
		const char *claim = json_pairs_get(&job->owners, f->address);

		function_forget(f);
		f->bound = f->there && job->verb == BINDER_BIND;
		if (job->verb == BINDER_BIND) {
			f->claim = xstrdup(claim);
			f->uid = xstrdup(json_pairs_get(&job->claims, claim));
		}
	}
}

/* As the helper reads them back; texts are literals or the functions'. */
static struct binder_outcome outcome_of(struct life *l, enum task_result result,
					struct binder_seen *seen)
{
	static char vfio[] = "vfio-pci", native[] = "e1000e", reason[] = "UnbindFailed",
		    text[] = "so it was", holder[] = "process 123 (qemu)";
	const struct fake_job *job = fake.binder->jobs.items[0];
	struct binder_outcome outcome = { .task = { .result = result, .message = text } };

	if (result != TASK_DONE)
		outcome.task.reason = reason;
	if (result == TASK_HELD)
		outcome.task.holder = holder;
	outcome.task.holder_pid = result == TASK_HELD ? 123 : 0;
	if (result == TASK_STUCK)
		return outcome;
	for (size_t i = 0; i < job->addresses.len; i++) {
		const struct function *f = find(l, job->addresses.items[i]);

		seen[outcome.seen.len++] = (struct binder_seen){
			.address = job->addresses.items[i],
			.driver = f->bound   ? vfio
				  : f->there ? native
					     : NULL,
			.override = f->bound ? vfio : NULL,
		};
	}
	outcome.seen.items = seen;
	return outcome;
}

static void end_job(struct life *l, enum task_result result)
{
	struct binder_seen seen[FUNCTIONS];

	fake.now_ms = clock_now_ms(fake_clock_as_clock(l->clock));
	fake_binder_end(outcome_of(l, result, seen));
}

/* The oldest job ends well or badly, gets stuck, or ends after that; or its step takes long. */
static void something_of_a_job(struct life *l, uint64_t *seed)
{
	static const enum task_result results[] = { TASK_HELD, TASK_REFUSED, TASK_BUSY, TASK_FAILED,
						    TASK_STUCK };
	uint64_t what = suite_random(seed) % 12;
	enum task_result result;
	struct fake_job *job;

	if (fake.binder->jobs.len == 0)
		return;
	job = fake.binder->jobs.items[0];
	if (job->stuck) {
		if (what % 2)
			obey(l, job, suite_random(seed) % 3);
		fake_binder_unstick();
	} else if (what < 2) {
		fake_binder_late();
	} else if (what < 8) {
		obey(l, job, FUNCTIONS);
		end_job(l, TASK_DONE);
	} else {
		result = results[suite_random(seed) % ARRAY_LEN(results)];
		if (result == TASK_FAILED)
			obey(l, job, suite_random(seed) % 3);
		end_job(l, result);
	}
}

/* --- who lives with it ------------------------------------------------------------------------ */

static void user_does(struct life *l, uint64_t *seed)
{
	struct function *f = &l->functions[suite_random(seed) % FUNCTIONS];
	auto_free char *text = NULL;

	switch (suite_random(seed) % 8) {
	case 0:
	case 1:
		fake_server_delete(l->server, f->name);
		return;
	case 2:
		l->pod = !l->pod;
		return;
	case 3: /* pulled out, or put in again */
		f = &l->functions[NIC];
		f->there = !f->there;
		f->bound = false;
		return;
	case 4: /* by force */
		if (fake_server_get(l->server, f->name))
			fake_server_write(l->server, f->name, "{'metadata':{'finalizers':null}}");
		return;
	default:
		text = xasprintf("{'spec':{'address':'%s','nodeName':'node1','userName':'u',"
				 "'disableResourcePooling':%s,'includeIOMMUGroup':%s}}",
				 f->address, suite_random(seed) % 2 ? "true" : "false",
				 f == &l->functions[SECOND] ? "true" : "false");
		fake_server_write(l->server, f->name, text);
		return;
	}
}

/* Helpers end by themselves, with what they were told done. */
static void begin_again(void *arg)
{
	struct life *l = arg;

	for (size_t i = 0; i < fake.binder->jobs.len; i++)
		obey(l, fake.binder->jobs.items[i], i % 3);
	agent_end(l);
	agent_begin(l);
}

static void something(void *arg, uint64_t *seed)
{
	struct life *l = arg;

	switch (suite_random(seed) % 8) {
	case 0:
	case 1:
		scan(l);
		return;
	case 2:
	case 3:
		something_of_a_job(l, seed);
		return;
	case 4:
		if (fake.watch)
			fake.watch->fn(fake.watch->arg);
		return;
	default:
		user_does(l, seed);
		return;
	}
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Helpers succeed, and scans follow. */
static void end_well(void *arg)
{
	struct life *l = arg;

	l->pod = false;
	l->functions[NIC].there = true;
	while (fake.binder->jobs.len > 0) {
		struct fake_job *job = fake.binder->jobs.items[0];

		if (!job->stuck)
			obey(l, job, FUNCTIONS);
		if (job->stuck)
			fake_binder_unstick();
		else
			end_job(l, TASK_DONE);
	}
	scan(l);
}

static const char *status_of(const struct life *l, size_t i, const char *type)
{
	const json_t *object = fake_server_get(l->server, l->functions[i].name);
	const json_t *list = json_object_get(json_object_get(object, "status"), "conditions");
	const json_t *condition;
	size_t at;

	json_array_foreach (list, at, condition) {
		if (strcmp(json_string_value(json_object_get(condition, "type")), type) == 0)
			return json_string_value(json_object_get(condition, "status"));
	}
	return "";
}

static void fail_life(const struct life *l, const char *what)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		const struct function *f = &l->functions[i];
		const json_t *claim = fake_server_get(l->server, f->name);
		auto_free char *spec = claim ? json_map_text(json_object_get(claim, "spec")) : NULL;

		print_error("%s is%s bound, recorded for %s/%s; claim %s %s, Ready is '%s'\n",
			    f->address, f->bound ? "" : " not", f->claim ? f->claim : "-",
			    f->uid ? f->uid : "-",
			    fake_server_text(l->server, f->name, "metadata.uid"), spec ? spec : "-",
			    status_of(l, i, "Ready"));
	}
	fail_msg("%s", what);
}

/* What is bound is bound for a claim that is there, which says so. */
static void assert_consistent(const struct life *l, size_t i)
{
	const struct function *f = &l->functions[i];
	const json_t *claim = fake_server_get(l->server, f->name);

	if (f->bound != (f->claim != NULL))
		fail_life(l, "what is bound has a record, and nothing else");
	if (f->claim && strcmp(fake_server_text(l->server, f->claim, "metadata.uid"), f->uid) != 0)
		fail_life(l, "a record is of a claim that is gone");
	if (!claim)
		return;
	assert_string_equal(fake_server_text(l->server, f->name, "metadata.deletionTimestamp"), "");
	if (strcmp(status_of(l, i, "Ready"), f->bound ? "True" : "False") != 0)
		fail_life(l, "what is bound is Ready, and nothing else");
}

/* The second of the group includes the first; without it, a claim of the first alone is refused,
 * whatever it has had before. */
static void assert_end(void *arg)
{
	const struct life *l = arg;
	const struct function *nic = &l->functions[NIC];
	bool first = fake_server_get(l->server, l->functions[FIRST].name) != NULL;
	bool second = fake_server_get(l->server, l->functions[SECOND].name) != NULL;

	assert_consistent(l, NIC);
	if (nic->bound != (fake_server_get(l->server, nic->name) != NULL))
		fail_life(l, "what is claimed is bound, and nothing else");
	if (first && !second)
		return;
	assert_consistent(l, FIRST);
	assert_consistent(l, SECOND);
	if (l->functions[FIRST].bound != second || l->functions[SECOND].bound != second)
		fail_life(l, "the group is bound for the second, and for nobody else");
}

static void *open_life(struct random_world *world)
{
	struct life *l = xcalloc(1, sizeof(*l));

	life_open(l);
	scan(l);
	*world = (struct random_world){ .server = l->server, .clock = l->clock };
	return l;
}

static void close_life(void *arg)
{
	life_close(arg);
	free(arg);
}

static const struct random_kind claims = {
	.name = "PCIDeviceClaims",
	.open = open_life,
	.close = close_life,
	.something = something,
	.begin_again = begin_again,
	.end_well = end_well,
	.assert_end = assert_end,
};

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	random_lives(&suite, &claims, 60);
	return suite_run(&suite, "claims_life");
}
