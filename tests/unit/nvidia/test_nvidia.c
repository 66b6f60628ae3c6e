/* nvidia: the GPUs of a made-up node, read, watched and probed by hostdev-nvml itself beside the
 * stand-in for NVIDIA's library. The clock is the test's. */
#include "agent/nvidia/nvidia.h"

#include "agent/config/config.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/nvidia/nvidia_elsewhere.h"
#include "agent/nvidia/nvidia_gpus.h"
#include "agent/plugin/allocatable.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "unit/agent/fake_helper.h"
#include "unit/nvidia/nvidia_offers.h"
#include "unit/nvidia/nvml_play.h"
#include "unit/plugin/allocatable_kubelet.h"
#include "unit/this_node.h"

enum {
	CARDS_MAX = 4,
	QUIET_TURNS = 100,   /* of the loop, after the last child has answered */
	TEXT_MAX = 16 << 10, /* bytes of a file that is read */
};

#define SHORT(n) "GPU-00000000-0000-0000-0000-00000000000" n
#define ALL      "nvidia.com/gpu: " SHORT("0") "@-1 | " SHORT("1") "@-1 | " SHORT("2") "@-1"
#define ILL      "nvidia.com/gpu: " SHORT("0") "@-1 | " SHORT("1") "@-1 Xid 79 | " SHORT("2") "@-1"

struct bench {
	struct fake_helper fake; /* its loop */
	struct play play;        /* the program and its scene */
	struct fake_clock *clock;
	struct this_node node;
	struct inventory inventory;
	struct facts facts;
	struct pci_facts cards[CARDS_MAX];
	struct nvidia_options options;
	struct nvidia *nvidia;
	struct nvidia_offers offers;
	unsigned changes;
	const char *claimed; /* address of a card; NULL: none          */
	const char *given;   /* the unit that the pod has; NULL: none   */
	const char *given_too;
	bool kubelet_is_silent;
	struct allocatable_kubelet kubelet;
	struct config config; /* the HostDeviceConfig */
	char *report;         /* of its entries        */
};

static void on_changed(void *arg)
{
	struct bench *b = arg;

	b->changes++;
	nvidia_offer(b->nvidia, nvidia_offers_plugins(&b->offers));
}

/* "0 FileUsed: text" */
static void on_report(void *arg, const struct config_troubles *troubles)
{
	struct bench *b = arg;
	const struct config_trouble *first = troubles->items;

	free(b->report);
	b->report = troubles->len == 0 ? xstrdup("")
				       : xasprintf("%s[%d] %s: %s", first->list, (int)first->index,
						   first->reason, first->message);
}

static char *claim_of(void *arg, const char *address)
{
	const struct bench *b = arg;

	return b->claimed && strcmp(b->claimed, address) == 0 ? xstrdup("vm1-claim") : NULL;
}

static void add_given(void *arg, struct json_strs *ids)
{
	const struct bench *b = arg;

	if (b->given)
		json_strs_add(ids, b->given);
	if (b->given_too)
		json_strs_add(ids, b->given_too);
}

static bool is_free(void *arg, const char *id, char **ret_holder)
{
	const struct bench *b = arg;

	*ret_holder = str_equal(id, b->given) ? xstrdup("pod default/train") : NULL;
	return !b->kubelet_is_silent && !*ret_holder;
}

static const struct pcidevice_allocations *allocations_of(void *arg, const char *id)
{
	static char namespace[] = "default", pod[] = "train", container[] = "c";
	static struct pcidevice_allocation one = { namespace, pod, container, NULL };
	static const struct pcidevice_allocations none = { 0 };
	static const struct pcidevice_allocations some = { &one, 1, 1 };
	const struct bench *b = arg;

	if (b->kubelet_is_silent)
		return NULL;
	return str_equal(id, b->given) || str_equal(id, b->given_too) ? &some : &none;
}

static char *text(const char *s)
{
	return xstrdup(s);
}

static void add_card(struct bench *b, const char *address, const char *driver)
{
	b->cards[b->facts.pci.len++] = (struct pci_facts){ .address = text(address),
							   .vendor = text("10de"),
							   .class_code = text("030200"),
							   .driver = text(driver),
							   .numa_node = -1,
							   .role = text("Function") };
}

static void open_bench(struct bench *b)
{
	auto_free char *link = NULL;

	fake_helper_init(&b->fake, "exit 1");
	play_open(&b->play);
	folder_put(&b->play.folder, "lib64/none", "");
	link = folder_path(&b->play.folder, "lib64/libnvidia-ml.so.1");
	assert_int_equal(symlink(b->play.library, link), 0);
	assert_int_equal(setenv("HOSTDEV_FAKE_NVML", b->play.folder.path, 1), 0);
	play_scene(&b->play, THREE);
	b->clock = fake_clock_new();
	b->node = this_node_of(NULL, fake_clock_as_clock(b->clock), NULL);
	b->node.metrics = metrics_new();
	b->node.loop = &b->fake.loop;
	b->node.kubelet_dir = b->play.folder.path;
	b->node.helper.path = b->play.program; /* hostdev-nvml is beside it */
	b->facts.pci.items = b->cards;
	b->inventory.facts = &b->facts;
	b->node.inventory = &b->inventory;
	add_card(b, ADDRESS(1), "nvidia");
	add_card(b, ADDRESS(0), "nvidia");
	add_card(b, ADDRESS(2), "nvidia");
	b->options = (struct nvidia_options){ .on = true,
					      .driver_root = b->play.folder.path,
					      .lists = NVIDIA_LIST_ENVVAR };
}

static void close_bench(struct bench *b)
{
	nvidia_free(b->nvidia);
	allocatable_kubelet_stop(&b->kubelet);
	free(b->report);
	for (size_t i = 0; i < b->config.nvidia.len; i++) {
		free(b->config.nvidia.items[i].text);
		json_pairs_done(&b->config.nvidia.items[i].selector);
	}
	array_done(&b->config.nvidia);
	metrics_free(b->node.metrics);
	fake_clock_free(b->clock);
	for (size_t i = 0; i < CARDS_MAX; i++) {
		free(b->cards[i].address);
		free(b->cards[i].vendor);
		free(b->cards[i].class_code);
		free(b->cards[i].driver);
		free(b->cards[i].role);
	}
	fake_helper_done(&b->fake);
	play_close(&b->play);
	str_done(&b->offers.text);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

/* Nothing is known of the GPUs yet. */
static void make(struct bench *b)
{
	const struct nvidia_deps deps = { .changed = on_changed,
					  .claim_of = claim_of,
					  .given = add_given,
					  .is_free = is_free,
					  .allocations = allocations_of,
					  .report = on_report,
					  .arg = b };

	b->nvidia = nvidia_new(&b->node, &b->options, &deps);
	nvidia_set_config(b->nvidia, &b->config);
}

static void start(struct bench *b)
{
	make(b);
	nvidia_find_gpus(b->nvidia);
}

/* --- turns of the loop, and what is waited for ------------------------------------------------ */

/* Let what is due run, and read what children say, for a moment. Deadlines of children are the
 * test's, which says so with fake_helper_expire(): none passes because the machine is busy. */
static void turn(struct bench *b)
{
	fake_clock_settle(b->clock);
	fake_helper_hold(&b->fake);
	uv_run(&b->fake.loop, UV_RUN_NOWAIT);
	fake_clock_settle(b->clock);
	(void)usleep(1000);
}

static uint64_t wait_begins(void)
{
	return timefmt_now_ms() + PLAY_WAIT_MS;
}

/* One more turn of a wait that began with wait_begins(); @what is waited for. */
static void wait_turn(struct bench *b, uint64_t until_ms, const char *what)
{
	if (timefmt_now_ms() > until_ms)
		fail_msg("waited in vain: %s; offered: %s", what, str_cstr(&b->offers.text));
	turn(b);
}

static bool is_offered(struct bench *b, const char *wanted)
{
	return strcmp(str_cstr(&b->offers.text), wanted) == 0;
}

static void wait_offer(struct bench *b, const char *wanted)
{
	uint64_t until_ms = wait_begins();

	while (!is_offered(b, wanted))
		wait_turn(b, until_ms, wanted);
}

/* The same while time goes by. */
static void wait_offer_later(struct bench *b, const char *wanted)
{
	uint64_t until_ms = wait_begins();

	while (!is_offered(b, wanted)) {
		fake_clock_advance(b->clock, 100);
		wait_turn(b, until_ms, wanted);
	}
}

/* --- children --------------------------------------------------------------------------------- */

struct children {
	size_t busy; /* that answer a question, or have ended and are not read to the end */
	size_t watches;
	size_t hanging; /* in a call of the library */
	pid_t watch;    /* the last one */
	const struct bench *bench;
};

static bool is_watch(pid_t pid)
{
	auto_free char *path = xasprintf("/proc/%d/cmdline", (int)pid);
	auto_free char *words = NULL;
	size_t len = 0;

	return file_read(AT_FDCWD, path, TEXT_MAX, &words, &len, NULL) == 0 &&
	       len > strlen(words) && strcmp(words + strlen(words) + 1, "watch") == 0;
}

static bool hangs(const struct bench *b, pid_t pid)
{
	auto_free char *name = xasprintf("%d.hangs", (int)pid);
	auto_free char *path = folder_path(&b->play.folder, name);

	return access(path, F_OK) == 0;
}

static void count_child(uv_handle_t *handle, void *arg)
{
	struct children *children = arg;
	pid_t pid;

	if (handle->type != UV_PROCESS)
		return;
	pid = uv_process_get_pid((uv_process_t *)handle);
	if (!uv_is_active(handle)) {
		children->busy++;
		return;
	}
	children->hanging += hangs(children->bench, pid);
	if (!is_watch(pid)) {
		children->busy++;
		return;
	}
	children->watches++;
	children->watch = pid;
}

static struct children look_at_children(struct bench *b)
{
	struct children children = { .bench = b };

	uv_walk(&b->fake.loop, count_child, &children);
	return children;
}

/* Until all questions are answered and there is one watch at most, and then for a moment more, for
 * what must not happen. */
static void settle(struct bench *b)
{
	uint64_t until_ms = wait_begins();
	unsigned quiet = 0;

	while (quiet < QUIET_TURNS) {
		struct children children = look_at_children(b);

		quiet = children.busy == 0 && children.watches <= 1 ? quiet + 1 : 0;
		wait_turn(b, until_ms, "children that end");
	}
}

/* Until so many children hang, and what they have said before has been read. */
static void wait_hanging(struct bench *b, size_t wanted)
{
	uint64_t until_ms = wait_begins();

	while (look_at_children(b).hanging < wanted)
		wait_turn(b, until_ms, "children that hang");
	for (int i = 0; i < 3; i++)
		turn(b);
}

/* The process of the only watch. */
static pid_t watch_pid(struct bench *b)
{
	uint64_t until_ms = wait_begins();
	struct children children = look_at_children(b);

	for (; children.watches != 1; children = look_at_children(b))
		wait_turn(b, until_ms, "a watch");
	return children.watch;
}

static bool try_tell(struct bench *b, pid_t pid, const char *commands)
{
	bool told;

	b->play.pid = pid;
	told = play_try_tell(&b->play, commands);
	b->play.pid = -1;
	return told;
}

/* Has the library of the process @pid been asked to wait for events? It is told to write down what
 * it was asked for, which it does at its next call, or in the wait. */
static bool waits_for_events(struct bench *b, pid_t pid)
{
	auto_free char *name = xasprintf("%d.calls", (int)pid);
	auto_free char *path = folder_path(&b->play.folder, name);
	auto_free char *command = xasprintf("calls %s\n", path);
	auto_free char *calls = NULL;

	return try_tell(b, pid, command) &&
	       file_read(AT_FDCWD, path, TEXT_MAX, &calls, NULL, NULL) == 0 &&
	       strstr(calls, "EventSetWait");
}

/* Until the watch hears of events. */
static pid_t wait_watching(struct bench *b)
{
	uint64_t until_ms = wait_begins();
	pid_t pid = watch_pid(b);

	for (; !waits_for_events(b, pid); pid = watch_pid(b))
		wait_turn(b, until_ms, "a watch that waits for events");
	return pid;
}

static void tell_watch(struct bench *b, const char *commands)
{
	assert_true(try_tell(b, wait_watching(b), commands));
}

/* It is gone afterwards; another one may have taken its place. */
static void kill_watch(struct bench *b)
{
	uint64_t until_ms = wait_begins();
	pid_t pid = watch_pid(b);

	assert_int_equal(kill(pid, SIGKILL), 0);
	while (kill(pid, 0) == 0)
		wait_turn(b, until_ms, "the end of the watch");
}

/* --- metrics ---------------------------------------------------------------------------------- */

static bool shows(const struct bench *b, const char *line)
{
	auto_str struct str text = STR_INIT;

	metrics_write(b->node.metrics, &text);
	return strstr(str_cstr(&text), line) != NULL;
}

static void wait_line(struct bench *b, const char *line)
{
	uint64_t until_ms = wait_begins();

	while (!shows(b, line))
		wait_turn(b, until_ms, line);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void all_gpus_are_offered_at_once(void **state)
{
	struct bench *b = *state;
	auto_free char *answer = NULL;

	start(b);
	wait_offer(b, ALL);
	assert_int_equal(b->offers.sets, 1);
	answer = nvidia_offers_allocate(b->offers.type_arg, SHORT("2"));
	assert_string_equal(answer, "NVIDIA_VISIBLE_DEVICES=" SHORT("2"));
	settle(b);
	assert_int_equal(b->offers.sets, 1);
}

static void it_is_off_by_default(void **state)
{
	struct bench *b = *state;

	b->options.on = false;
	start(b);
	settle(b);
	assert_int_equal(b->changes, 0);
	nvidia_offer(b->nvidia, nvidia_offers_plugins(&b->offers));
	assert_int_equal(b->offers.sets, 0);
}

static void only_gpus_of_nvidia_s_driver_count(void **state)
{
	struct bench *b = *state;

	free(b->cards[0].driver);
	b->cards[0].driver = text("vfio-pci");
	free(b->cards[2].role);
	b->cards[2].role = text("VirtualFunction");
	start(b);
	wait_offer(b, "nvidia.com/gpu: " SHORT("0") "@-1");
	/* The driver has it now. */
	free(b->cards[0].driver);
	b->cards[0].driver = text("nvidia");
	nvidia_find_gpus(b->nvidia);
	wait_offer(b, "nvidia.com/gpu: " SHORT("0") "@-1 | " SHORT("1") "@-1");
	/* A claim takes it. */
	b->facts.pci.len = 0;
	nvidia_find_gpus(b->nvidia);
	wait_offer(b, "");
}

static void an_xid_is_one_change_and_two_probes_cure_it(void **state)
{
	struct bench *b = *state;

	start(b);
	wait_offer(b, ALL);
	settle(b);
	tell_watch(b, "xid 1 79\nxid 1 48\nxid 2 31\n");
	wait_offer(b, ILL);
	wait_line(b, "hostdev_gpu_xids_total{address=\"" ADDRESS(2) "\",xid=\"31\"} 1\n");
	settle(b);
	assert_int_equal(b->offers.sets, 2);
	fake_clock_advance(b->clock, GPU_PROBE_MS);
	settle(b);
	assert_int_equal(b->offers.sets, 2);
	fake_clock_advance(b->clock, GPU_PROBE_MS);
	wait_offer(b, ALL);
	assert_int_equal(b->offers.sets, 3);
}

#define TAKEN                                         \
	"nvidia.com/gpu: " SHORT("0") "@-1 | " SHORT( \
		"1") "@-1 the PCIDeviceClaim 'vm1-claim' takes it | " SHORT("2") "@-1"

static void a_claim_withdraws_one_gpu(void **state)
{
	struct bench *b = *state;
	pid_t before;

	start(b);
	wait_offer(b, ALL);
	settle(b);
	before = watch_pid(b);
	b->claimed = ADDRESS(1);
	nvidia_find_gpus(b->nvidia);
	wait_offer(b, TAKEN);
	settle(b);
	assert_int_not_equal(watch_pid(b), before);
	tell_watch(b, "xid 1 79\n"); /* it does not watch this one */
	settle(b);
	assert_string_equal(str_cstr(&b->offers.text), TAKEN);
	b->claimed = NULL;
	nvidia_find_gpus(b->nvidia);
	wait_offer(b, ALL);
	settle(b);
	tell_watch(b, "xid 1 79\n");
	wait_offer(b, ILL);
}

/* Of card 1, when the driver has been asked. The caller frees. */
static char *bind_trouble(struct bench *b)
{
	uint64_t until_ms = wait_begins();

	for (;;) {
		auto_free char *trouble = nvidia_bind_trouble(b->nvidia, ADDRESS(1));

		if (!trouble || !strstr(trouble, "is asked to let the GPU go"))
			return take_ptr(trouble);
		wait_turn(b, until_ms, trouble);
	}
}

/* Until card 1 can be bound, though the driver has refused that before. */
static void wait_bindable(struct bench *b)
{
	uint64_t until_ms = wait_begins();

	for (;;) {
		auto_free char *trouble = nvidia_bind_trouble(b->nvidia, ADDRESS(1));

		if (!trouble)
			return;
		wait_turn(b, until_ms, trouble);
	}
}

static void take_card(struct bench *b, const char *claimed)
{
	b->claimed = claimed;
	nvidia_find_gpus(b->nvidia);
}

/* Card 1 has this persistence mode and drain state, as "01". */
static void has_state(const struct bench *b, const char *wanted)
{
	static const char *const names[] = { "persistence", "drain" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		auto_free char *path =
			xasprintf("%s/" ADDRESS(1) ".%s", b->play.folder.path, names[i]);
		auto_free char *text = NULL;

		assert_int_equal(file_read(AT_FDCWD, path, 16, &text, NULL, NULL), 0);
		assert_int_equal(*text, wanted[i]);
	}
}

static struct bind_case {
	const char *name;
	const char *claimed, *given;
	bool silent;
	const char *trouble; /* a part of it; NULL: none */
} binds[] = {
	{ "a GPU that is still offered", NULL, NULL, false, "can still get the GPU" },
	{ "a GPU that no pod has", ADDRESS(1), NULL, false, NULL },
	{ "a GPU that a pod has", ADDRESS(1), SHORT("1"), false,
	  "pod default/train has the GPU as '" SHORT("1") "'" },
	{ "a share of it", ADDRESS(1), SHORT("1") "::3", false,
	  "pod default/train has the GPU as '" SHORT("1") "::3'" },
	{ "a pod has another GPU", ADDRESS(1), SHORT("2"), false, NULL },
	{ "a kubelet that has not said", ADDRESS(1), NULL, true,
	  "not known yet whether a container" },
};

static void a_card_is_bound_when_no_container_has_it(void **state)
{
	const struct bind_case *c = suite_row(state);
	struct bench *b = *state;
	auto_free char *trouble = NULL;
	auto_free char *other = NULL;

	start(b);
	wait_offer(b, ALL);
	b->claimed = c->claimed;
	b->given = c->given;
	b->kubelet_is_silent = c->silent;
	nvidia_find_gpus(b->nvidia);
	other = nvidia_bind_trouble(b->nvidia, "0000:99:00.0");
	assert_null(other);
	trouble = bind_trouble(b);
	if (!c->trouble)
		assert_null(trouble);
	else if (!trouble || !strstr(trouble, c->trouble))
		fail_msg("'%s' is not in '%s'", c->trouble, trouble ? trouble : "");
}

static struct told_case {
	const char *name;
	const char *claimed, *given, *given_too;
	const char *trouble; /* NULL: none                       */
	int pods;            /* -1: not known                    */
	bool silent;
} tolds[] = {
	{ "a GPU that is free", NULL, NULL, NULL, NULL, 0, false },
	{ "a GPU that a pod has", NULL, SHORT("1"), NULL, NULL, 1, false },
	{ "a pod that has two shares of it is one", NULL, SHORT("1") "::0", SHORT("1") "::1", NULL,
	  1, false },
	{ "a pod that has another GPU", NULL, SHORT("2"), NULL, NULL, 0, false },
	{ "a kubelet that has not said", NULL, NULL, NULL, NULL, -1, true },
	{ "a GPU that a claim takes", ADDRESS(1), NULL, NULL,
	  "the PCIDeviceClaim 'vm1-claim' takes it", 0, false },
};

static void a_pcidevice_tells_what_containers_get(void **state)
{
	const struct told_case *c = suite_row(state);
	struct bench *b = *state;
	const struct pcidevice_allocations *list;
	const char *resource, *trouble;

	start(b);
	assert_false(nvidia_has(b->nvidia, "0000:99:00.0"));
	assert_true(nvidia_has(b->nvidia, ADDRESS(1)));
	assert_false(nvidia_offered(b->nvidia, ADDRESS(1), &resource, &trouble));
	assert_null(nvidia_allocations(b->nvidia, ADDRESS(1)));
	wait_offer(b, ALL);
	b->claimed = c->claimed;
	b->given = c->given;
	b->given_too = c->given_too;
	b->kubelet_is_silent = c->silent;
	nvidia_find_gpus(b->nvidia);
	assert_true(nvidia_offered(b->nvidia, ADDRESS(1), &resource, &trouble));
	assert_string_equal(resource, "nvidia.com/gpu");
	assert_true(str_equal(trouble, c->trouble));
	list = nvidia_allocations(b->nvidia, ADDRESS(1));
	assert_int_equal(list ? (int)list->len : -1, c->pods);
	if (list && list->len > 0)
		assert_string_equal(list->items[0].pod, "train");
}

/* A program that begins while the claim waits does not know what the pods' units are of. */
static void a_card_that_has_not_told_its_uuid_is_not_bound(void **state)
{
	struct bench *b = *state;
	char *trouble;

	b->claimed = ADDRESS(1);
	start(b);
	trouble = nvidia_bind_trouble(b->nvidia, ADDRESS(1));
	assert_non_null(strstr(trouble, "has not reported its UUID"));
	free(trouble);
	wait_offer(b, TAKEN);
	assert_null(bind_trouble(b));
}

/* A broken GPU can be claimed, if no pod has a GPU that is not known. */
static void a_card_that_does_not_answer_waits_for_unknown_units_only(void **state)
{
	static const struct {
		const char *given;
		bool trouble;
	} rows[] = { { NULL, false },
		     { SHORT("2"), false },
		     { "GPU-unknown", true },
		     { "MIG-unknown", true },
		     { "1-2.3", false } };
	struct bench *b = *state;
	char *trouble;

	play_scene(&b->play, THREE "lost 1\n");
	b->claimed = ADDRESS(1);
	start(b);
	settle(b);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		b->given = rows[i].given;
		trouble = bind_trouble(b);
		assert_int_equal(trouble != NULL, rows[i].trouble);
		free(trouble);
	}
	b->given = NULL;
	b->kubelet_is_silent = true;
	trouble = nvidia_bind_trouble(b->nvidia, ADDRESS(1));
	assert_non_null(strstr(trouble, "not known yet whether"));
	free(trouble);
}

static void a_claimed_card_is_drained_and_as_before_afterwards(void **state)
{
	struct bench *b = *state;
	auto_free char *trouble = NULL;

	start(b);
	wait_offer(b, ALL);
	b->given = SHORT("1");
	take_card(b, ADDRESS(1));
	settle(b);
	trouble = bind_trouble(b);
	assert_non_null(strstr(trouble, "pod default/train has the GPU"));
	/* The pod ends. */
	b->given = NULL;
	nvidia_pods_changed(b->nvidia);
	assert_null(bind_trouble(b));
	has_state(b, "01");
	wait_offer(b, TAKEN);
	/* The claim is deleted before the card was bound. */
	take_card(b, NULL);
	wait_offer(b, ALL);
	has_state(b, "10");
}

static void set_driver(struct bench *b, const char *driver)
{
	free(b->cards[0].driver);
	b->cards[0].driver = text(driver);
	nvidia_find_gpus(b->nvidia);
}

static void a_card_that_comes_back_is_as_before(void **state)
{
	struct bench *b = *state;

	start(b);
	wait_offer(b, ALL);
	take_card(b, ADDRESS(1));
	assert_null(bind_trouble(b));
	set_driver(b, "vfio-pci");
	settle(b);
	assert_null(bind_trouble(b));
	has_state(b, "01");
	b->claimed = NULL;
	set_driver(b, "nvidia");
	wait_offer(b, ALL);
	has_state(b, "10");
}

static void stop(struct bench *b)
{
	b->nvidia = nvidia_free(b->nvidia);
	uv_run(&b->fake.loop, UV_RUN_NOWAIT);
	str_clear(&b->offers.text);
}

static void restart(struct bench *b)
{
	stop(b);
	start(b);
}

static void a_restarted_agent_gives_back_what_it_finds_drained(void **state)
{
	struct bench *b = *state;
	auto_free char *folder = folder_path(&b->play.folder, "state");

	b->node.helper.state_dir = folder;
	start(b);
	wait_offer(b, ALL);
	take_card(b, ADDRESS(1));
	assert_null(bind_trouble(b));
	/* The claim still waits: for a process that has the card, say. */
	restart(b);
	assert_null(bind_trouble(b));
	has_state(b, "01");
	/* It is deleted while no agent runs. */
	b->claimed = NULL;
	restart(b);
	wait_offer(b, ALL);
	has_state(b, "10");
	/* That is not done twice. */
	folder_put(&b->play.folder, ADDRESS(1) ".persistence", "0");
	restart(b);
	wait_offer(b, ALL);
	has_state(b, "00");
}

/* The first look at the node has them before the claims are known. */
static void what_it_finds_drained_waits_for_the_claims(void **state)
{
	struct bench *b = *state;
	auto_free char *folder = folder_path(&b->play.folder, "state");

	b->node.helper.state_dir = folder;
	start(b);
	wait_offer(b, ALL);
	take_card(b, ADDRESS(1));
	assert_null(bind_trouble(b));
	stop(b);
	make(b);
	nvidia_find_gpus_in(b->nvidia, &b->facts);
	settle(b);
	has_state(b, "01");
	nvidia_find_gpus(b->nvidia);
	assert_null(bind_trouble(b));
	has_state(b, "01");
	take_card(b, NULL);
	wait_offer(b, ALL);
	has_state(b, "10");
}

static struct refuse_case {
	const char *name;
	const char *scene;
	const char *trouble;
} refusals[] = {
	{ "persistence mode that cannot be turned off", "error 1 DeviceSetPersistenceMode 4\n",
	  "does not let the GPU go: nvmlDeviceSetPersistenceMode: no permission" },
	{ "a GPU in use", "error 1 DeviceModifyDrainState 19\n",
	  "does not let the GPU go: nvmlDeviceModifyDrainState: the GPU is in use" },
};

static void a_card_that_the_driver_keeps_is_not_bound(void **state)
{
	const struct refuse_case *c = suite_row(state);
	struct bench *b = *state;
	auto_free char *scene = xasprintf(THREE "%s", c->scene);
	auto_free char *trouble = NULL;

	play_scene(&b->play, scene);
	start(b);
	wait_offer(b, ALL);
	take_card(b, ADDRESS(1));
	trouble = bind_trouble(b);
	assert_non_null(trouble);
	assert_non_null(strstr(trouble, c->trouble));
	/* It is asked again. */
	play_scene(&b->play, THREE);
	fake_clock_advance(b->clock, GPU_PROBE_MS);
	wait_bindable(b);
	has_state(b, "01");
	take_card(b, NULL);
	wait_offer(b, ALL);
	has_state(b, "10");
}

static void on_claim(void *arg, const char *name, const struct entry *before,
		     const struct entry *after)
{
}

static void an_administrator_can_override_that(void **state)
{
	struct bench *b = *state;
	struct kube_client *client = fake_client_new();
	struct informer *claims =
		informer_new(&(struct informer_deps){ .client = client, .clock = b->node.clock },
			     &(struct informer_spec){ .kind = &pcideviceclaim_kind,
						      .handlers = { .on_change = on_claim } });
	auto_free char *trouble = NULL;

	play_scene(&b->play, THREE "error 1 DeviceSetPersistenceMode 4\n");
	b->node.claims[INVENTORY_PCI] = claims;
	informer_start(claims);
	start(b);
	settle(b);
	fake_client_answer(client, 200, "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
	on_changed(b);
	wait_offer(b, ALL);
	take_card(b, ADDRESS(1));
	trouble = bind_trouble(b);
	assert_non_null(trouble);
	assert_int_equal(
		fake_client_line(
			client,
			"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"vm1-claim\","
			"\"uid\":\"1\",\"resourceVersion\":\"6\",\"annotations\":{"
			"\"hostdev.io/allow-host-critical\":\"true\"}}}}"),
		0);
	assert_null(bind_trouble(b));
	/* A container that has it is another matter. */
	b->given = SHORT("1");
	free(trouble);
	trouble = bind_trouble(b);
	assert_non_null(strstr(trouble, "pod default/train has the GPU"));
	b->nvidia = nvidia_free(b->nvidia);
	informer_free(claims);
	turn(b);
	kube_client_free(client);
}

static void a_release_that_hangs_keeps_the_card_and_no_other_gpu(void **state)
{
	struct bench *b = *state;
	auto_free char *trouble = NULL;

	play_scene(&b->play, THREE "hang 1 DeviceModifyDrainState\n");
	start(b);
	wait_offer(b, ALL);
	take_card(b, ADDRESS(1));
	wait_hanging(b, 1);
	(void)wait_watching(b); /* or its deadline, too, would pass in a call */
	turn(b);
	fake_helper_expire(&b->fake, NULL);
	trouble = bind_trouble(b);
	assert_non_null(trouble);
	assert_non_null(strstr(trouble, "a call of NVIDIA's library on it does not return"));
	wait_offer(b, TAKEN);
}

/* As with an agent without --nvidia. */
static void a_driver_that_cannot_be_asked_lets_go(void **state)
{
	struct bench *b = *state;

	start(b);
	wait_offer(b, ALL);
	settle(b); /* a question that is under way would fail, and the next one come later */
	play_scene(&b->play, THREE "init 18\n");
	take_card(b, ADDRESS(1));
	assert_null(bind_trouble(b));
}

/* A MIG device that is gone may have been the card's. */
static void mig_devices_count_as_their_card(void **state)
{
	static const struct {
		const char *given;
		bool trouble;
	} rows[] = { { "MIG-7", true }, { "MIG-8", false }, { "MIG-gone", true } };
	struct bench *b = *state;

	b->options.mig = "mixed";
	play_scene(&b->play, THREE "mig 1 7 0 MIG-7 0 1 1 4864\nmig 2 8 0 MIG-8 0 1 1 4864\n");
	b->claimed = ADDRESS(1);
	start(b);
	settle(b);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_free char *trouble = NULL;

		b->given = rows[i].given;
		trouble = nvidia_bind_trouble(b->nvidia, ADDRESS(1));
		assert_int_equal(trouble != NULL, rows[i].trouble);
	}
}

static void each_gpu_has_metrics(void **state)
{
	struct bench *b = *state;
	auto_str struct str text = STR_INIT;

	start(b);
	wait_offer(b, ALL);
	wait_line(b, "hostdev_gpu_healthy{address=\"" ADDRESS(1) "\",uuid=\"" SHORT("1") "\"} 1\n");
	settle(b);
	tell_watch(b, "xid 1 79\nxid 1 79\nxid 2 31\n");
	wait_offer(b, ILL);
	settle(b);
	wait_line(b, "hostdev_gpu_healthy{address=\"" ADDRESS(1) "\",uuid=\"" SHORT("1") "\"} 0\n");
	wait_line(b, "hostdev_gpu_healthy{address=\"" ADDRESS(2) "\",uuid=\"" SHORT("2") "\"} 1\n");
	wait_line(b, "hostdev_gpu_xids_total{address=\"" ADDRESS(1) "\",xid=\"79\"} 2\n");
	wait_line(b, "hostdev_gpu_xids_total{address=\"" ADDRESS(2) "\",xid=\"31\"} 1\n");
	b->claimed = ADDRESS(1); /* that containers do not get it is wanted */
	nvidia_find_gpus(b->nvidia);
	wait_line(b, "hostdev_gpu_healthy{address=\"" ADDRESS(1) "\",uuid=\"" SHORT("1") "\"} 1\n");
	b->facts.pci.len = 0;
	nvidia_find_gpus(b->nvidia);
	metrics_write(b->node.metrics, &text);
	assert_null(strstr(str_cstr(&text), ADDRESS(1)));
}

/* The next one is started at once, and hears of what comes then. */
static void a_killed_watch_is_replaced(void **state)
{
	struct bench *b = *state;

	start(b);
	wait_offer(b, ALL);
	settle(b);
	kill_watch(b);
	settle(b);
	assert_int_equal(b->offers.sets, 1);
	tell_watch(b, "xid 1 79\n");
	wait_offer(b, ILL);
	/* The second time within a minute it has to wait. */
	kill_watch(b);
	settle(b);
	assert_int_equal(look_at_children(b).watches, 0);
	fake_clock_advance(b->clock, NVIDIA_REPLACE_MS);
	assert_int_not_equal(watch_pid(b), 0);
}

static void a_gpu_that_hangs_is_ill_and_the_others_are_offered(void **state)
{
	struct bench *b = *state;

	play_scene(&b->play, THREE "hang 1 DeviceGetMemoryInfo\n");
	start(b);
	wait_hanging(b, 2); /* the question and the watch */
	assert_int_equal(b->offers.sets, 0);
	fake_helper_expire(&b->fake, NULL);
	/* It was not told who it is before it hung. */
	wait_offer(b, "nvidia.com/gpu: " SHORT("0") "@-1 | " SHORT("2") "@-1");
	/* A minute later it is asked alone, and is well after two probes. */
	play_scene(&b->play, THREE);
	settle(b);
	fake_clock_advance(b->clock, GPU_SILENT_MS);
	settle(b);
	fake_clock_advance(b->clock, GPU_PROBE_MS);
	settle(b);
	fake_clock_advance(b->clock, GPU_PROBE_MS);
	wait_offer(b, ALL);
}

static void a_driver_that_comes_late_is_found(void **state)
{
	struct bench *b = *state;

	play_scene(&b->play, THREE "init 9\n");
	start(b);
	settle(b);
	assert_string_equal(str_cstr(&b->offers.text), "");
	play_scene(&b->play, THREE);
	fake_clock_advance(b->clock, NVIDIA_ABSENT_MS);
	settle(b);
	fake_clock_advance(b->clock, GPU_PROBE_MS);
	settle(b);
	fake_clock_advance(b->clock, GPU_PROBE_MS);
	wait_offer(b, ALL);
}

static void a_cdi_file_is_waited_for(void **state)
{
	struct bench *b = *state;

	b->options.lists = NVIDIA_LIST_CDI_CRI;
	b->node.host_root = b->play.folder.path;
	folder_put(&b->play.folder, "etc/none", "");
	folder_put(&b->play.folder, "etc/cdi/a.json",
		   "{\"kind\":\"nvidia.com/gpu\",\"devices\":[{\"name\":\"" SHORT("0") "\"}]}");
	b->facts.pci.len = 2;
	start(b);
	wait_offer(b, "nvidia.com/gpu: " SHORT("0") "@-1 | " SHORT(
			      "1") "@-1 no CDI file in /etc/cdi or "
				   "/var/run/cdi describes it; run nvidia-ctk cdi generate with "
				   "--device-name-strategy=uuid");
	folder_put(&b->play.folder, "etc/cdi/b.json",
		   "{\"kind\":\"nvidia.com/gpu\",\"devices\":[{\"name\":\"" SHORT("1") "\"}]}");
	fake_clock_advance(b->clock, NVIDIA_LOOK_MS);
	wait_offer(b, "nvidia.com/gpu: " SHORT("0") "@-1 | " SHORT("1") "@-1");
}

static void why_no_cdi_file_is_written_is_told(void **state)
{
	struct bench *b = *state;
	auto_free char *wanted = NULL;

	b->options.lists = NVIDIA_LIST_CDI_CRI;
	b->options.ctk = b->fake.path;
	b->node.host_root = b->play.folder.path;
	b->facts.pci.len = 1;
	start(b);
	wanted = xasprintf(
		"nvidia.com/gpu: " SHORT(
			"1") "@-1 no CDI file describes it, and %s cdi generate "
			     "failed: helper exited with status 1; its messages are in the agent's log",
		b->fake.path);
	settle(b);
	fake_clock_advance(b->clock, NVIDIA_LOOK_MS);
	wait_offer(b, wanted);
}

#define NO_MPS                                                                            \
	" no MPS daemon serves the resource: RESOURCE/pipe/control does not exist below " \
	"flags.mpsRoot"
#define NO_IMEX " /dev/nvidia-caps-imex-channels/channel0 does not exist, and imex.required is set"

/* An empty file, and all folders above it. */
static void folder_put_all(const struct folder *folder, const char *name)
{
	for (const char *end = strchr(name, '/'); end; end = strchr(end + 1, '/')) {
		auto_free char *none = xasprintf("%.*s/none", (int)(end - name), name);

		folder_put(folder, none, "");
	}
	folder_put(folder, name, "");
}

static void an_mps_daemon_is_waited_for(void **state)
{
	struct bench *b = *state;
	auto_free char *path = folder_path(&b->play.folder, "config.yaml");

	b->options.config_file = path;
	b->node.host_root = b->play.folder.path;
	folder_put(&b->play.folder, "config.yaml",
		   "sharing: {mps: {resources: [{name: gpu, replicas: 2, devices: [0]}]}}");
	b->facts.pci.len = 2;
	start(b);
	wait_offer(b, "nvidia.com/gpu: " SHORT("0") "::0@-1 of " SHORT("0") NO_MPS
		   " | " SHORT("0") "::1@-1 of " SHORT("0") NO_MPS " | " SHORT("1") "@-1");
	folder_put_all(&b->play.folder, "run/nvidia/mps/nvidia.com/gpu/pipe/control");
	fake_clock_advance(b->clock, NVIDIA_LOOK_MS);
	wait_offer(b, "nvidia.com/gpu: " SHORT("0") "::0@-1 of " SHORT("0") " | " SHORT(
			      "0") "::1@-1 of " SHORT("0") " | " SHORT("1") "@-1");
}

static void an_imex_channel_that_is_required_is_waited_for(void **state)
{
	struct bench *b = *state;
	auto_free char *path = folder_path(&b->play.folder, "config.yaml");
	auto_free char *dev = folder_path(&b->play.folder, "dev");

	b->options.config_file = path;
	b->node.helper.dev_root = dev;
	folder_put(&b->play.folder, "config.yaml", "imex: {channelIDs: [0], required: true}");
	b->facts.pci.len = 1;
	start(b);
	wait_offer(b, "nvidia.com/gpu: " SHORT("1") "@-1" NO_IMEX);
	folder_put_all(&b->play.folder, "dev/nvidia-caps-imex-channels/channel0");
	fake_clock_advance(b->clock, NVIDIA_LOOK_MS);
	wait_offer(b, "nvidia.com/gpu: " SHORT("1") "@-1");
}

/* As NVIDIA's plugin has it; the caller closes it. */
static int listen_as_plugin(const struct bench *b)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	folder_put(&b->play.folder, "device-plugins/none", "");
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "%s/device-plugins/nvidia-gpu.sock", b->play.folder.path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static void nothing_is_offered_beside_nvidia_s_plugin(void **state)
{
	struct bench *b = *state;
	int fd = listen_as_plugin(b);

	start(b);
	settle(b);
	assert_string_equal(str_cstr(&b->offers.text), "");
	/* Its socket is left behind when it is killed. */
	close(fd);
	fake_clock_advance(b->clock, NVIDIA_LOOK_MS);
	settle(b);
	assert_string_equal(str_cstr(&b->offers.text), "");
	fake_clock_advance(b->clock, NVIDIA_LOOK_MS);
	wait_offer(b, ALL);
}

/* A kubelet that starts removes its socket, and it makes it again. */
static void nvidia_s_plugin_may_make_its_socket_again(void **state)
{
	struct bench *b = *state;
	auto_free char *path = folder_path(&b->play.folder, "device-plugins/nvidia-gpu.sock");
	int fd = listen_as_plugin(b);

	start(b);
	settle(b);
	for (int i = 0; i < 3; i++) {
		close(fd);
		assert_int_equal(unlink(path), 0);
		fake_clock_advance(b->clock, NVIDIA_LOOK_MS);
		settle(b);
		assert_string_equal(str_cstr(&b->offers.text), "");
		fd = listen_as_plugin(b);
		fake_clock_advance(b->clock, NVIDIA_LOOK_MS);
	}
	settle(b);
	assert_string_equal(str_cstr(&b->offers.text), "");
	close(fd);
}

static void nothing_is_offered_when_nvidia_s_plugin_comes(void **state)
{
	struct bench *b = *state;
	int fd;

	start(b);
	wait_offer(b, ALL);
	fd = listen_as_plugin(b);
	fake_clock_advance(b->clock, NVIDIA_LOOK_MS);
	wait_offer(b, "");
	close(fd);
}

/* A kubelet that lists these devices of all plugins. */
static void list_allocatable(struct bench *b, const char *lists)
{
	auto_free char *path = NULL;

	b->kubelet.lists = lists;
	if (b->kubelet.server)
		return;
	folder_put(&b->play.folder, "pod-resources/none", "");
	path = folder_path(&b->play.folder, "pod-resources/kubelet.sock");
	allocatable_kubelet_start(&b->kubelet, &b->fake.loop, path);
}

/* Until the kubelet has been asked @times times more, and all is done that follows. */
static void wait_asked(struct bench *b, unsigned times)
{
	unsigned asked = b->kubelet.asked + times;
	uint64_t until_ms = wait_begins();

	while (b->kubelet.asked < asked) {
		fake_clock_advance(b->clock, 100);
		wait_turn(b, until_ms, "a question to the kubelet");
	}
	settle(b);
}

static struct foreign_case {
	const char *name;
	const char *lists;
	const char *why; /* what the PCIDevice says; NULL: the GPUs are offered */
} foreigns[] = {
	{ "no other plugin", "", NULL },
	{ "a plugin of other resources", "nvidia.com/GA102 0000:01:00.0,a.io/nic 1", NULL },
	{ "a plugin of the same resource", "nvidia.com/gpu other-0",
	  "another device plugin offers nvidia.com/gpu, with the device 'other-0', on the node" },
	{ "of the same GPUs", "a.io/nic 1,nvidia.com/gpu " SHORT("0"),
	  "another device plugin offers nvidia.com/gpu, with the device '" SHORT(
		  "0") "', on the node" },
	{ "an answer that cannot be read", "?", NULL },
};

static void nothing_is_offered_beside_another_plugin(void **state)
{
	struct bench *b = *state;
	const struct foreign_case *c = suite_row(state);
	const char *resource = NULL;
	const char *trouble = NULL;

	list_allocatable(b, c->lists);
	start(b);
	wait_asked(b, c->why ? 2 : 1);
	assert_string_equal(str_cstr(&b->offers.text), c->why ? "" : ALL);
	assert_true(nvidia_offered(b->nvidia, ADDRESS(0), &resource, &trouble));
	assert_true(str_equal(trouble, c->why));
	assert_true(!resource == (c->why != NULL));
	list_allocatable(b, "");
	wait_offer_later(b, ALL);
	assert_true(nvidia_offered(b->nvidia, ADDRESS(0), &resource, &trouble));
	assert_null(trouble);
}

/* A plugin that ends is on the list for a moment yet. */
static void a_plugin_that_has_just_ended_is_no_other_one(void **state)
{
	struct bench *b = *state;

	list_allocatable(b, "nvidia.com/gpu " SHORT("0"));
	start(b);
	wait_asked(b, 1);
	assert_string_equal(str_cstr(&b->offers.text), "");
	list_allocatable(b, "");
	fake_clock_advance(b->clock, ELSEWHERE_AGAIN_MS);
	wait_offer(b, ALL);
	assert_int_equal(b->offers.sets, 1);
}

static void another_plugin_that_comes_later_gets_the_gpus(void **state)
{
	struct bench *b = *state;

	list_allocatable(b, "");
	start(b);
	wait_offer(b, ALL);
	list_allocatable(b, "nvidia.com/gpu " SHORT("1")); /* that is ours */
	wait_asked(b, 2);
	assert_string_equal(str_cstr(&b->offers.text), ALL);
	list_allocatable(b, "nvidia.com/gpu " SHORT("1") ",nvidia.com/gpu other-0");
	wait_asked(b, 2);
	assert_string_equal(str_cstr(&b->offers.text), "");
	list_allocatable(b, "");
	wait_offer_later(b, ALL);
}

/* Nor does a kubelet that starts again give them back: it answers late, and knows no plugin before
 * that has registered again. */
static void a_kubelet_that_starts_again_takes_no_gpus_from_it(void **state)
{
	struct bench *b = *state;
	static const char *const answers[] = { "?", "", "?" };
	unsigned sets;

	list_allocatable(b, "nvidia.com/gpu other-0");
	start(b);
	wait_asked(b, 2);
	sets = b->offers.sets;
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		list_allocatable(b, answers[i]);
		wait_asked(b, 1);
		assert_string_equal(str_cstr(&b->offers.text), "");
	}
	list_allocatable(b, "nvidia.com/gpu other-0");
	wait_asked(b, 2);
	list_allocatable(b, "");
	wait_asked(b, 1);
	assert_string_equal(str_cstr(&b->offers.text), "");
	assert_int_equal(b->offers.sets, sets);
	wait_offer_later(b, ALL);
}

/* One answer does not make another plugin, and a question without an answer does not end one. */
static void a_kubelet_that_falls_silent_leaves_it_open(void **state)
{
	struct bench *b = *state;

	list_allocatable(b, "nvidia.com/gpu other-0");
	start(b);
	wait_asked(b, 1);
	list_allocatable(b, "?");
	wait_asked(b, 2);
	assert_int_equal(b->offers.sets, 0);
	list_allocatable(b, "");
	wait_offer_later(b, ALL);
}

/* It does not keep the GPUs from containers for longer than a call may take. */
static void a_kubelet_that_hangs_knows_no_other_plugin(void **state)
{
	struct bench *b = *state;
	uint64_t until_ms = wait_begins();

	list_allocatable(b, NULL);
	start(b);
	while (b->kubelet.asked == 0)
		wait_turn(b, until_ms, "a question to the kubelet");
	assert_string_equal(str_cstr(&b->offers.text), "");
	fake_clock_advance(b->clock, ALLOCATABLE_CALL_MS);
	wait_offer(b, ALL);
}

#define TWO_SHARES(n) SHORT(n) "::0@-1 of " SHORT(n) " | " SHORT(n) "::1@-1 of " SHORT(n)

static void open_folder(struct bench *b, const char *folder)
{
	b->options.config_dir = folder;
	b->facts.pci.len = 2;
	folder_put(&b->play.folder, "config/two",
		   "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}");
	folder_put(&b->play.folder, "config/none", "version: v1");
}

static void set_label(struct bench *b, const char *value)
{
	struct json_pairs labels = { 0 };

	(void)json_pairs_set(&labels, "nvidia.com/device-plugin.config", value);
	nvidia_set_labels(b->nvidia, &labels);
	json_pairs_done(&labels);
}

static void the_label_s_file_is_followed(void **state)
{
	struct bench *b = *state;
	auto_free char *folder = folder_path(&b->play.folder, "config");

	open_folder(b, folder);
	start(b);
	settle(b);
	assert_int_equal(b->offers.sets, 0);
	set_label(b, "two");
	wait_offer(b, "nvidia.com/gpu: " TWO_SHARES("0") " | " TWO_SHARES("1"));
	/* A file that is missing, then a wrong one, change nothing. */
	set_label(b, "missing");
	folder_put(&b->play.folder, "config/wrong", "version: v7");
	settle(b);
	set_label(b, "wrong");
	settle(b);
	fake_clock_advance(b->clock, NVIDIA_SETTLE_MS);
	settle(b);
	assert_int_equal(b->offers.sets, 1);
	set_label(b, "none");
	settle(b);
	fake_clock_advance(b->clock, NVIDIA_SETTLE_MS);
	wait_offer(b, "nvidia.com/gpu: " SHORT("0") "@-1 | " SHORT("1") "@-1");
}

/* Add an entry for nodes whose label "gpus" is @label; NULL: for all. */
static void add_entry(struct bench *b, const char *label, const char *text)
{
	struct config_nvidia *entry = array_add(&b->config.nvidia);

	*entry = (struct config_nvidia){ .index = b->config.nvidia.len - 1, .text = xstrdup(text) };
	if (label)
		(void)json_pairs_set(&entry->selector, "gpus", label);
}

static void an_entry_of_the_hostdeviceconfig_is_followed(void **state)
{
	struct bench *b = *state;
	struct json_pairs labels = { 0 };
	struct config none = { 0 };

	b->facts.pci.len = 2;
	add_entry(b, "two", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}");
	add_entry(b, NULL, "version: v7");
	start(b);
	settle(b);
	/* The labels are waited for. */
	assert_int_equal(b->offers.sets, 0);
	(void)json_pairs_set(&labels, "gpus", "two");
	nvidia_set_labels(b->nvidia, &labels);
	wait_offer(b, "nvidia.com/gpu: " TWO_SHARES("0") " | " TWO_SHARES("1"));
	assert_string_equal(b->report, "");
	nvidia_set_labels(b->nvidia, NULL);
	settle(b);
	fake_clock_advance(b->clock, NVIDIA_SETTLE_MS);
	settle(b);
	assert_string_equal(b->report, "nvidia[1] Invalid: HostDeviceConfig nvidia[1]: unknown "
				       "version: 'v7'");
	assert_int_equal(b->offers.sets, 1);
	nvidia_set_config(b->nvidia, &none);
	settle(b);
	fake_clock_advance(b->clock, NVIDIA_SETTLE_MS);
	wait_offer(b, "nvidia.com/gpu: " SHORT("0") "@-1 | " SHORT("1") "@-1");
	assert_string_equal(b->report, "");
	json_pairs_done(&labels);
}

static void a_file_goes_before_an_entry(void **state)
{
	struct bench *b = *state;
	auto_free char *path = folder_path(&b->play.folder, "config.yaml");

	b->options.config_file = path;
	folder_put(&b->play.folder, "config.yaml", "version: v1");
	add_entry(b, NULL, "version: v7");
	start(b);
	nvidia_set_labels(b->nvidia, NULL);
	wait_offer(b, ALL);
	assert_string_equal(b->report, "nvidia[0] FileUsed: the agent of this node has a "
				       "configuration file of its own");
}

static void the_command_line_goes_before_the_file(void **state)
{
	struct bench *b = *state;
	auto_free char *path = folder_path(&b->play.folder, "config.yaml");
	auto_free char *answer = NULL;

	b->options.config_file = path;
	folder_put(&b->play.folder, "config.yaml",
		   "flags: {plugin: {deviceListStrategy: cdi-cri}}");
	start(b);
	wait_offer(b, ALL);
	answer = nvidia_offers_allocate(b->offers.type_arg, SHORT("2"));
	assert_string_equal(answer, "NVIDIA_VISIBLE_DEVICES=" SHORT("2"));
}

static void the_file_s_way_is_taken(void **state)
{
	struct bench *b = *state;
	auto_free char *path = folder_path(&b->play.folder, "config.yaml");
	auto_free char *answer = NULL;

	b->options.config_file = path;
	b->options.lists = 0;
	folder_put(&b->play.folder, "config.yaml",
		   "flags: {plugin: {deviceListStrategy: volume-mounts}}");
	start(b);
	wait_offer(b, ALL);
	answer = nvidia_offers_allocate(b->offers.type_arg, SHORT("2"));
	assert_non_null(strstr(answer, "/dev/null>/var/run/nvidia-container-devices/"));
}

#define MIG_7 "mig 1 7 0 MIG-7 0 1 1 4864\n"
#define MIG_8 "mig 1 8 0 MIG-8 0 1 1 4864\n"
#define WHOLE "nvidia.com/gpu: " SHORT("0") "@-1 | " SHORT("2") "@-1; "

/* Their event, and without it a look each minute. */
static void mig_devices_come_and_go(void **state)
{
	struct bench *b = *state;
	char mixed[] = "mixed";

	b->options.mig = mixed;
	play_scene(&b->play, THREE MIG_7);
	start(b);
	wait_offer(b, WHOLE "nvidia.com/mig-1g.5gb: MIG-7@-1 of " SHORT("1"));
	settle(b);
	(void)wait_watching(b); /* it has read its scene */
	play_scene(&b->play, THREE MIG_7 MIG_8);
	fake_clock_advance(b->clock, GPU_URGENT_MS);
	tell_watch(b, MIG_8);
	wait_offer(b, WHOLE
		   "nvidia.com/mig-1g.5gb: MIG-7@-1 of " SHORT("1") " | MIG-8@-1 of " SHORT("1"));
	play_scene(&b->play, THREE MIG_8);
	/* A look that has begun before does not see that, and the next one comes later. */
	for (int i = 0; i < 3; i++) {
		settle(b);
		fake_clock_advance(b->clock, NVIDIA_MIG_MS);
	}
	wait_offer(b, WHOLE "nvidia.com/mig-1g.5gb: MIG-8@-1 of " SHORT("1"));
}

static void a_program_that_is_missing_offers_nothing(void **state)
{
	struct bench *b = *state;
	char nowhere[] = "/nonexistent/hostdev-helper";

	b->node.helper.path = nowhere;
	start(b);
	settle(b);
	assert_int_equal(b->offers.sets, 0);
	b->node.helper.path = b->play.program;
}

static void add_followed(struct suite *suite)
{
	suite_add(suite, "MIG devices count as their card", mig_devices_count_as_their_card, NULL);
	suite_add(suite, "each GPU has metrics", each_gpu_has_metrics, NULL);
	suite_add(suite, "a killed watch is replaced", a_killed_watch_is_replaced, NULL);
	suite_add(suite, "a GPU that hangs is ill, and the others are offered",
		  a_gpu_that_hangs_is_ill_and_the_others_are_offered, NULL);
	suite_add(suite, "a driver that comes late is found", a_driver_that_comes_late_is_found,
		  NULL);
	suite_add(suite, "a CDI file is waited for", a_cdi_file_is_waited_for, NULL);
	suite_add(suite, "why no CDI file is written is told", why_no_cdi_file_is_written_is_told,
		  NULL);
	suite_add(suite, "an MPS daemon is waited for", an_mps_daemon_is_waited_for, NULL);
	suite_add(suite, "an IMEX channel that is required is waited for",
		  an_imex_channel_that_is_required_is_waited_for, NULL);
	suite_add(suite, "nothing is offered beside NVIDIA's plugin",
		  nothing_is_offered_beside_nvidia_s_plugin, NULL);
	suite_add(suite, "NVIDIA's plugin may make its socket again",
		  nvidia_s_plugin_may_make_its_socket_again, NULL);
	suite_add(suite, "nothing is offered when NVIDIA's plugin comes",
		  nothing_is_offered_when_nvidia_s_plugin_comes, NULL);
	suite_rows(suite, foreigns, nothing_is_offered_beside_another_plugin);
	suite_add(suite, "a plugin that has just ended is no other one",
		  a_plugin_that_has_just_ended_is_no_other_one, NULL);
	suite_add(suite, "another plugin that comes later gets the GPUs",
		  another_plugin_that_comes_later_gets_the_gpus, NULL);
	suite_add(suite, "a kubelet that starts again takes no GPUs from it",
		  a_kubelet_that_starts_again_takes_no_gpus_from_it, NULL);
	suite_add(suite, "a kubelet that falls silent leaves it open",
		  a_kubelet_that_falls_silent_leaves_it_open, NULL);
	suite_add(suite, "a kubelet that hangs knows no other plugin",
		  a_kubelet_that_hangs_knows_no_other_plugin, NULL);
	suite_add(suite, "the label's file is followed", the_label_s_file_is_followed, NULL);
	suite_add(suite, "an entry of the HostDeviceConfig is followed",
		  an_entry_of_the_hostdeviceconfig_is_followed, NULL);
	suite_add(suite, "a file goes before an entry", a_file_goes_before_an_entry, NULL);
	suite_add(suite, "the command line goes before the file",
		  the_command_line_goes_before_the_file, NULL);
	suite_add(suite, "the file's way is taken", the_file_s_way_is_taken, NULL);
	suite_add(suite, "MIG devices come and go", mig_devices_come_and_go, NULL);
	suite_add(suite, "a program that is missing offers nothing",
		  a_program_that_is_missing_offers_nothing, NULL);
}

int main(void)
{
	struct suite suite = { 0 };

	(void)signal(SIGPIPE, SIG_IGN);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "all GPUs are offered at once", all_gpus_are_offered_at_once, NULL);
	suite_add(&suite, "it is off by default", it_is_off_by_default, NULL);
	suite_add(&suite, "only GPUs of NVIDIA's driver count", only_gpus_of_nvidia_s_driver_count,
		  NULL);
	suite_add(&suite, "an Xid is one change, and two probes cure it",
		  an_xid_is_one_change_and_two_probes_cure_it, NULL);
	suite_add(&suite, "a claim withdraws one GPU", a_claim_withdraws_one_gpu, NULL);
	suite_rows(&suite, tolds, a_pcidevice_tells_what_containers_get);
	suite_rows(&suite, binds, a_card_is_bound_when_no_container_has_it);
	suite_add(&suite, "a card that has not told its UUID is not bound",
		  a_card_that_has_not_told_its_uuid_is_not_bound, NULL);
	suite_add(&suite, "a card that does not answer waits for unknown units only",
		  a_card_that_does_not_answer_waits_for_unknown_units_only, NULL);
	suite_add(&suite, "a claimed card is drained, and as before afterwards",
		  a_claimed_card_is_drained_and_as_before_afterwards, NULL);
	suite_add(&suite, "a card that comes back is as before",
		  a_card_that_comes_back_is_as_before, NULL);
	suite_add(&suite, "a restarted agent gives back what it finds drained",
		  a_restarted_agent_gives_back_what_it_finds_drained, NULL);
	suite_add(&suite, "what it finds drained waits for the claims",
		  what_it_finds_drained_waits_for_the_claims, NULL);
	suite_rows(&suite, refusals, a_card_that_the_driver_keeps_is_not_bound);
	suite_add(&suite, "an administrator can override that", an_administrator_can_override_that,
		  NULL);
	suite_add(&suite, "a release that hangs keeps the card, and no other GPU",
		  a_release_that_hangs_keeps_the_card_and_no_other_gpu, NULL);
	suite_add(&suite, "a driver that cannot be asked lets go",
		  a_driver_that_cannot_be_asked_lets_go, NULL);
	add_followed(&suite);
	return suite_run(&suite, "nvidia");
}
