#include "agent/nvidia/nvidia_gpus.h"

#include <stdlib.h>
#include <string.h>

#include "agent/nvidia/nvml_line.h"
#include "agent/nvidia/xid_policy.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"

#define HUNG "a call of NVIDIA's library on it does not return"

enum {
	NVLINK_WEIGHT = 100,
	NVLINKS_MAX = 255,
};

/* --- the list --------------------------------------------------------------------------------- */

static void gpu_done(struct nvidia_gpu *gpu)
{
	free(gpu->address);
	free(gpu->uuid);
	free(gpu->name);
	free(gpu->cluster);
	free(gpu->trouble);
	free(gpu->claim);
	free(gpu->refusal);
	free(gpu->problem);
	nvidia_migs_done(&gpu->migs);
	nvidia_migs_done(&gpu->told_migs);
}

void nvidia_gpus_done(struct nvidia_gpus *gpus)
{
	for (size_t i = 0; i < gpus->len; i++)
		gpu_done(&gpus->items[i]);
	free(gpus->weights);
	gpus->weights = NULL;
	array_done(gpus);
}

struct nvidia_gpu *nvidia_gpus_at(const struct nvidia_gpus *gpus, const char *address)
{
	for (size_t i = 0; address && i < gpus->len; i++) {
		if (strcmp(gpus->items[i].address, address) == 0)
			return &gpus->items[i];
	}
	return NULL;
}

const struct nvidia_gpu *nvidia_gpus_find(const struct nvidia_gpus *gpus, const char *uuid)
{
	for (size_t i = 0; uuid && i < gpus->len; i++) {
		if (gpus->items[i].uuid && strcmp(gpus->items[i].uuid, uuid) == 0)
			return &gpus->items[i];
	}
	return NULL;
}

bool nvidia_gpus_has_mig(const struct nvidia_gpus *gpus, const struct nvidia_gpu *gpu,
			 const char *uuid)
{
	for (size_t i = 0; i < gpus->len; i++) {
		const struct nvidia_migs *migs = &gpus->items[i].migs;

		for (size_t j = 0; &gpus->items[i] != gpu && j < migs->len; j++) {
			if (str_equal(migs->items[j].uuid, uuid))
				return true;
		}
	}
	return false;
}

static bool is_same_list(const struct nvidia_gpus *gpus, const struct nvidia_card *cards,
			 size_t len)
{
	if (gpus->len != len)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (strcmp(gpus->items[i].address, cards[i].address) != 0)
			return false;
	}
	return true;
}

bool nvidia_gpus_set(struct nvidia_gpus *gpus, const struct nvidia_card *cards, size_t len)
{
	struct nvidia_gpus before = *gpus;

	len = len < NVIDIA_GPUS_MAX ? len : NVIDIA_GPUS_MAX;
	if (is_same_list(gpus, cards, len))
		return false;
	*gpus = (struct nvidia_gpus){ .changed = true };
	for (size_t i = 0; i < len; i++) {
		struct nvidia_gpu *known = nvidia_gpus_at(&before, cards[i].address);
		struct nvidia_gpu *gpu = array_add(gpus);

		if (known) {
			*gpu = *known;
			*known = (struct nvidia_gpu){ .address = xstrdup("") };
		} else {
			gpu->address = xstrdup(cards[i].address);
			gpu->index = gpu->minor = -1;
			gpu->compute_major = gpu->compute_minor = -1;
		}
		gpu->numa_node = cards[i].numa_node;
		gpu->pci_class = cards[i].pci_class;
		gpu->placed = false;
	}
	gpus->weights = xcalloc(len * len + 1, sizeof(*gpus->weights));
	nvidia_gpus_done(&before);
	return true;
}

bool nvidia_gpus_are_known(const struct nvidia_gpus *gpus)
{
	for (size_t i = 0; i < gpus->len; i++) {
		const struct nvidia_gpu *gpu = &gpus->items[i];

		if (!gpu->looked && !gpu->trouble && !gpu->altered)
			return false;
	}
	return true;
}

/* --- ill and well ----------------------------------------------------------------------------- */

static bool is_ill(const struct nvidia_gpu *gpu)
{
	return gpu->trouble || nvidia_migs_trouble(&gpu->migs);
}

/* It, or a MIG device of it, falls ill, and all of it was well before. */
static void begin_illness(struct nvidia_gpu *gpu, uint64_t now_ms)
{
	bool again = gpu->well_ms > 0 && now_ms - gpu->well_ms < GPU_RELAPSE_MS;

	gpu->relapses = again ? gpu->relapses + 1 : 0;
	gpu->ask_ms = now_ms + GPU_PROBE_MS;
}

static void fall_ill(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu, char *trouble,
		     uint64_t now_ms)
{
	if (!is_ill(gpu))
		begin_illness(gpu, now_ms);
	if (!gpu->trouble || strcmp(gpu->trouble, trouble) != 0)
		gpus->changed = true;
	free(gpu->trouble);
	gpu->trouble = trouble;
	gpu->clean = 0;
}

/* What was told first is the cause of what follows. */
static void keep_ill(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu, char *trouble,
		     uint64_t now_ms)
{
	gpu->clean = 0;
	if (gpu->trouble)
		free(trouble);
	else
		fall_ill(gpus, gpu, trouble, now_ms);
}

/* Ask about it soon, but not at each of many events. */
static void hurry(struct nvidia_gpu *gpu)
{
	uint64_t soon_ms = gpu->asked_ms + GPU_URGENT_MS;

	if (!gpu->silent && gpu->ask_ms > soon_ms)
		gpu->ask_ms = soon_ms;
}

static void ask_now(struct nvidia_gpu *gpu)
{
	if (!gpu->silent)
		gpu->ask_ms = 0;
}

static void recover(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu, uint64_t now_ms)
{
	free(gpu->trouble);
	gpu->trouble = NULL;
	nvidia_migs_recover(&gpu->migs);
	gpu->unwatched = false;
	gpu->doubted = true;
	gpu->well_ms = now_ms;
	gpu->clean = 0;
	gpus->changed = true;
}

static unsigned clean_probes(const struct nvidia_gpu *gpu)
{
	unsigned relapses = gpu->relapses < GPU_RELAPSES_MAX ? gpu->relapses : GPU_RELAPSES_MAX;

	return (unsigned)GPU_CLEAN_PROBES << relapses;
}

/* Field 230 of nvml.h: what the driver asks the administrator to do. */
static const char *const recovery_actions[] = {
	[1] = "a reset of the GPU",
	[2] = "a reboot of the node",
	[3] = "an end of the traffic between GPUs",
	[4] = "an end of the GPU's work and a reset of the GPU",
	[5] = "a recovery of the IMEX domain",
	[6] = "a reset of the bus",
	[7] = "a reboot of the machine",
};

static char *trouble_of(const struct nvidia_gpu *gpu, const struct nvml_line *line)
{
	if (line->recovery > 0 && line->recovery < (int64_t)ARRAY_LEN(recovery_actions))
		return xasprintf("the driver asks for %s", recovery_actions[line->recovery]);
	if (line->recovery > 0)
		return xasprintf("the driver asks for recovery action %lld",
				 (long long)line->recovery);
	if (line->remap_failed)
		return xstrdup("the remapping of a row of its memory has failed");
	return xstrdup(gpu->problem ? gpu->problem : "it does not answer as it should");
}

/* --- lines ------------------------------------------------------------------------------------ */

/* True if another GPU is at this address than before. */
static bool take_uuid(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu,
		      const struct nvml_line *line)
{
	bool replaced = gpu->uuid && strcmp(gpu->uuid, line->uuid) != 0;

	if (gpu->uuid && !replaced)
		return false;
	str_set(&gpu->uuid, line->uuid);
	gpus->changed = true;
	if (replaced)
		gpu->looked = gpu->placed = false;
	return replaced;
}

/* Does @line tell of something that the Node's labels or a container get? A GPU joins the fabric of
 * its machine only some time after the driver is there. */
static bool is_news(const struct nvidia_gpu *gpu, const struct nvml_line *line)
{
	return !gpu->looked || gpu->index != line->index || gpu->has_mig != line->mig ||
	       gpu->memory_mib != line->memory_mib || gpu->can_mig != line->mig_capable ||
	       gpu->clique != line->clique || !str_equal(gpu->cluster, line->cluster) ||
	       !str_equal(gpu->name, line->name);
}

static void take_gpu(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu, const struct nvml_line *line,
		     uint64_t now_ms)
{
	(void)take_uuid(gpus, gpu, line);
	gpus->changed = is_news(gpu, line) || gpus->changed;
	str_set(&gpu->name, line->name);
	gpu->index = line->index;
	gpu->memory_mib = line->memory_mib;
	gpu->minor = line->minor;
	gpu->compute_major = line->compute_major;
	gpu->compute_minor = line->compute_minor;
	gpu->can_mig = line->mig_capable;
	str_set(&gpu->cluster, line->cluster);
	gpu->clique = line->clique;
	/* The MIG devices of one that is not well need not be all there. */
	if ((line->well || !gpu->looked) && nvidia_migs_set(&gpu->migs, &gpu->told_migs))
		gpus->changed = true;
	gpu->has_mig = line->mig;
	gpu->looked = true;
	if (!line->well)
		fall_ill(gpus, gpu, trouble_of(gpu, line), now_ms);
}

static void take_look(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu,
		      const struct nvml_line *line, uint64_t now_ms)
{
	if (take_uuid(gpus, gpu, line))
		fall_ill(gpus, gpu, xstrdup("it has taken the place of another GPU"), now_ms);
	else if (!line->well)
		fall_ill(gpus, gpu, trouble_of(gpu, line), now_ms);
}

static void take_probe(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu,
		       const struct nvml_line *line, uint64_t now_ms)
{
	gpu->urgent = false;
	take_look(gpus, gpu, line, now_ms);
	if (!is_ill(gpu) || !line->well || !gpu->looked)
		return;
	if (++gpu->clean >= clean_probes(gpu))
		recover(gpus, gpu, now_ms);
}

static void take_problem(struct nvidia_gpu *gpu, const struct nvml_line *line)
{
	free(gpu->problem);
	gpu->problem = xasprintf("%s: %s", line->function ? line->function : "NVML",
				 line->message ? line->message : "unknown error");
}

/* An Xid of a MIG device leaves the others of its GPU healthy; one of instances that are not known
 * does not. */
static bool take_mig_xid(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu,
			 const struct nvml_line *line, const char *trouble, uint64_t now_ms)
{
	bool was_ill = is_ill(gpu);
	size_t news = 0;

	if (line->gi < 0 || gpu->trouble ||
	    nvidia_migs_fall_ill(&gpu->migs, line->gi, line->ci, trouble, &news) == 0)
		return false;
	if (!was_ill)
		begin_illness(gpu, now_ms);
	gpu->clean = 0;
	gpus->changed = gpus->changed || news > 0;
	return true;
}

static void take_xid(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu, const struct nvml_line *line,
		     uint64_t now_ms)
{
	auto_free char *trouble = xasprintf("Xid %lld", (long long)line->data);

	if (!take_mig_xid(gpus, gpu, line, trouble, now_ms))
		keep_ill(gpus, gpu, take_ptr(trouble), now_ms);
}

static void doubt(struct nvidia_gpu *gpu)
{
	gpu->doubted = true;
	hurry(gpu);
}

static void press(struct nvidia_gpu *gpu)
{
	gpu->urgent = true;
	hurry(gpu);
}

static void take_event(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu,
		       const struct xid_policy *policy, const struct nvml_line *line,
		       uint64_t now_ms)
{
	switch (line->event) {
	case NVML_EVENT_TYPE_XID:
		if (line->data >= 0 && !xid_policy_is_fatal(policy, (uint64_t)line->data))
			return;
		/* The library does not always tell whose it is: then it can be any one's. */
		for (size_t i = 0; !gpu && i < gpus->len; i++)
			take_xid(gpus, &gpus->items[i], line, now_ms);
		if (gpu)
			take_xid(gpus, gpu, line, now_ms);
		return;
	case NVML_EVENT_TYPE_UNAVAILABLE:
		if (gpu)
			keep_ill(gpus, gpu, xstrdup("the driver says that it is unavailable"),
				 now_ms);
		return;
	case NVML_EVENT_TYPE_RECOVERY:
		if (gpu)
			press(gpu);
		return;
	case NVML_EVENT_TYPE_MIG:
		if (gpu)
			doubt(gpu);
		return;
	case NVML_EVENT_TYPE_DOUBLE_BIT_ECC:
	case NVML_EVENT_TYPE_OTHER:
		return;
	}
}

static void take_lost(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu,
		      const struct nvml_line *line, uint64_t now_ms)
{
	gpu->unwatched = true;
	fall_ill(gpus, gpu, xstrdup(line->message ? line->message : "the GPU is lost"), now_ms);
}

static void refuse(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu, const char *refusal)
{
	if (str_equal(gpu->refusal, refusal))
		return;
	str_set(&gpu->refusal, refusal);
	gpus->changed = true;
}

/* From here on the watch is whole. A GPU that a claim takes is not in it: its problem is one of the
 * release. */
static void take_watching(struct nvidia_gpus *gpus, uint64_t now_ms)
{
	for (size_t i = 0; i < gpus->len; i++) {
		struct nvidia_gpu *gpu = &gpus->items[i];

		if (gpu->watched || gpu->unwatched || gpu->claim || gpu->altered || !gpu->problem)
			continue;
		gpu->unwatched = true;
		keep_ill(gpus, gpu, xstrdup(gpu->problem), now_ms);
	}
}

/* What it was before the first of several runs counts. */
static void take_releasing(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu, bool persistent)
{
	gpus->changed = true;
	gpu->altered = true;
	gpu->persistent = gpu->persistent || persistent;
}

/* The claim may have gone meanwhile. */
static void take_released(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu, bool drained)
{
	gpus->changed = true;
	gpu->altered = gpu->altered || drained;
	gpu->released = gpu->claim != NULL;
	str_set(&gpu->refusal, NULL);
}

static void take_attached(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu)
{
	gpus->changed = true;
	gpu->altered = gpu->persistent = false;
	str_set(&gpu->refusal, NULL);
	press(gpu);
	doubt(gpu);
}

static uint16_t level_weight(int level)
{
	/* NVML's levels of a common ancestor, the nearest first. */
	static const struct {
		int level;
		uint16_t weight;
	} rows[] = { { 0, 60 }, { 10, 50 }, { 20, 40 }, { 30, 30 }, { 40, 20 }, { 50, 10 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].level == level)
			return rows[i].weight;
	}
	return 0;
}

static int limit_nvlinks(int nvlinks)
{
	return nvlinks < NVLINKS_MAX ? nvlinks : NVLINKS_MAX;
}

static uint16_t *weight_of(const struct nvidia_gpus *gpus, const struct nvidia_gpu *a,
			   const struct nvidia_gpu *b)
{
	return &gpus->weights[(size_t)(a - gpus->items) * gpus->len + (size_t)(b - gpus->items)];
}

static void take_pair(struct nvidia_gpus *gpus, const struct nvidia_gpu *gpu,
		      const struct nvml_line *line)
{
	const struct nvidia_gpu *peer = nvidia_gpus_at(gpus, line->peer);
	int weight = level_weight(line->level) + NVLINK_WEIGHT * limit_nvlinks(line->nvlinks);

	if (!peer || peer == gpu)
		return;
	*weight_of(gpus, gpu, peer) = *weight_of(gpus, peer, gpu) = (uint16_t)weight;
}

static void take_of_gpu(struct nvidia_gpus *gpus, struct nvidia_gpu *gpu,
			const struct nvml_line *line, uint64_t now_ms)
{
	switch (line->kind) {
	case NVML_LINE_GPU:
		gpu->answered = true;
		take_gpu(gpus, gpu, line, now_ms);
		return;
	case NVML_LINE_PROBE:
		gpu->answered = true;
		take_probe(gpus, gpu, line, now_ms);
		return;
	case NVML_LINE_WATCHED:
		gpu->watched = true;
		take_look(gpus, gpu, line, now_ms);
		return;
	case NVML_LINE_LOST:
		take_lost(gpus, gpu, line, now_ms);
		return;
	case NVML_LINE_PROBLEM:
		take_problem(gpu, line);
		return;
	case NVML_LINE_PAIR:
		take_pair(gpus, gpu, line);
		return;
	case NVML_LINE_MIG:
		nvidia_migs_add(&gpu->told_migs, line);
		return;
	case NVML_LINE_RELEASING:
		take_releasing(gpus, gpu, line->persistence);
		return;
	case NVML_LINE_RELEASED:
		take_released(gpus, gpu, line->drained);
		return;
	case NVML_LINE_ATTACHED:
		take_attached(gpus, gpu);
		return;
	case NVML_LINE_SWITCH:
		gpu->nvswitch_links = limit_nvlinks(line->nvlinks);
		return;
	case NVML_LINE_OTHER:
	case NVML_LINE_AT:
	case NVML_LINE_SYSTEM:
	case NVML_LINE_FAILED:
	case NVML_LINE_END:
	case NVML_LINE_WATCHING:
	case NVML_LINE_EVENT:
	case NVML_LINE_IDLE:
		return;
	}
}

void nvidia_gpus_take(struct nvidia_gpus *gpus, const struct xid_policy *policy,
		      const struct nvml_line *line, uint64_t now_ms)
{
	struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, line->address);

	/* Of a GPU that has just gone. */
	if (line->address && !gpu)
		return;
	if (line->kind == NVML_LINE_EVENT)
		take_event(gpus, gpu, policy, line, now_ms);
	else if (line->kind == NVML_LINE_WATCHING)
		take_watching(gpus, now_ms);
	else if (gpu)
		take_of_gpu(gpus, gpu, line, now_ms);
}

/* --- the beginning and the end of a run ------------------------------------------------------- */

void nvidia_gpus_begin(struct nvidia_gpus *gpus, const struct json_strs *addresses, bool watch)
{
	for (size_t i = 0; i < addresses->len; i++) {
		struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, addresses->items[i]);

		if (!gpu)
			continue;
		*(watch ? &gpu->watched : &gpu->answered) = false;
		str_set(&gpu->problem, NULL);
	}
}

void nvidia_gpus_begin_look(struct nvidia_gpus *gpus, const struct json_strs *addresses)
{
	for (size_t i = 0; i < addresses->len; i++) {
		struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, addresses->items[i]);

		if (!gpu)
			continue;
		gpu->doubted = false;
		nvidia_migs_done(&gpu->told_migs);
	}
}

void nvidia_gpus_end(struct nvidia_gpus *gpus, const struct json_strs *addresses, uint64_t now_ms)
{
	for (size_t i = 0; i < addresses->len; i++) {
		struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, addresses->items[i]);

		if (!gpu)
			continue;
		gpu->silent = gpu->urgent = false;
		if (!gpu->answered)
			fall_ill(gpus, gpu,
				 xstrdup(gpu->problem ? gpu->problem
						      : "the driver does not know it"),
				 now_ms);
		gpu->asked_ms = now_ms;
		/* One that has just been looked at, ill, is probed next. What is asked for a claim
		 * does not wait for that. */
		if (!gpu->claim && !gpu->altered)
			gpu->ask_ms = now_ms + GPU_PROBE_MS;
	}
}

void nvidia_gpus_end_release(struct nvidia_gpus *gpus, const struct json_strs *addresses,
			     bool attach, const char *message, uint64_t now_ms)
{
	for (size_t i = 0; i < addresses->len; i++) {
		struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, addresses->items[i]);

		if (!gpu)
			continue;
		gpu->silent = false;
		gpu->asked_ms = now_ms;
		/* The claim may have come or gone since. */
		if (attach ? gpu->claim || !gpu->altered : !gpu->claim || gpu->released)
			continue;
		refuse(gpus, gpu,
		       message        ? message
		       : gpu->problem ? gpu->problem
				      : "the driver does not say why");
		gpu->ask_ms = now_ms + GPU_PROBE_MS;
	}
}

void nvidia_gpus_cannot_release(struct nvidia_gpus *gpus, const struct json_strs *addresses)
{
	for (size_t i = 0; i < addresses->len; i++) {
		struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, addresses->items[i]);

		if (gpu)
			take_released(gpus, gpu, false);
	}
}

void nvidia_gpus_placed(struct nvidia_gpus *gpus, const struct json_strs *addresses)
{
	for (size_t i = 0; i < addresses->len; i++) {
		struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, addresses->items[i]);

		if (gpu)
			gpu->placed = true;
	}
}

void nvidia_gpus_fail(struct nvidia_gpus *gpus, const struct json_strs *addresses,
		      const char *message, uint64_t now_ms)
{
	for (size_t i = 0; i < addresses->len; i++) {
		struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, addresses->items[i]);

		if (!gpu)
			continue;
		fall_ill(gpus, gpu, xstrdup(message), now_ms);
		gpu->ask_ms = now_ms + GPU_PROBE_MS;
	}
}

void nvidia_gpus_hung(struct nvidia_gpus *gpus, const char *address,
		      const struct json_strs *addresses, uint64_t now_ms)
{
	for (size_t i = 0; i < addresses->len; i++) {
		struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, addresses->items[i]);

		if (!gpu || (address && strcmp(gpu->address, address) != 0))
			continue;
		fall_ill(gpus, gpu, xstrdup(HUNG), now_ms);
		if (gpu->claim || gpu->altered)
			refuse(gpus, gpu, HUNG);
		gpu->silent = gpu->unwatched = true;
		gpu->ask_ms = now_ms + GPU_SILENT_MS;
	}
}

bool nvidia_gpus_set_claim(struct nvidia_gpus *gpus, const char *address, const char *claim)
{
	struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, address);
	auto_free char *text = claim ? xasprintf("the PCIDeviceClaim '%s' takes it", claim) : NULL;

	if (!gpu || str_equal(gpu->claim, text))
		return false;
	str_set(&gpu->claim, text);
	gpus->changed = true;
	if (claim)
		return true;
	gpu->vacant = gpu->released = false;
	str_set(&gpu->refusal, NULL);
	ask_now(gpu);
	press(gpu); /* nobody has watched it meanwhile */
	doubt(gpu);
	return true;
}

void nvidia_gpus_set_vacant(struct nvidia_gpus *gpus, const char *address, bool vacant)
{
	struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, address);

	if (!gpu || gpu->vacant == vacant)
		return;
	gpu->vacant = vacant;
	ask_now(gpu);
}

void nvidia_gpus_set_altered(struct nvidia_gpus *gpus, const char *address, bool persistent)
{
	struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, address);

	if (gpu)
		take_releasing(gpus, gpu, persistent);
}

const char *nvidia_gpu_trouble(const struct nvidia_gpu *gpu)
{
	if (gpu->claim)
		return gpu->claim;
	if (gpu->altered)
		return gpu->refusal ? gpu->refusal
				    : "a claim had it, and the driver has not taken it back yet";
	return gpu->trouble;
}

void nvidia_gpus_missed(struct nvidia_gpus *gpus, const struct json_strs *addresses)
{
	for (size_t i = 0; i < addresses->len; i++) {
		struct nvidia_gpu *gpu = nvidia_gpus_at(gpus, addresses->items[i]);

		if (gpu)
			press(gpu);
	}
}

void nvidia_gpus_doubt(struct nvidia_gpus *gpus, const struct json_strs *addresses)
{
	for (size_t i = 0; i < gpus->len; i++) {
		if (!addresses || json_strs_has(addresses, gpus->items[i].address))
			doubt(&gpus->items[i]);
	}
}

/* --- pairs ------------------------------------------------------------------------------------ */

uint16_t nvidia_gpus_weight(const struct nvidia_gpus *gpus, const char *a, const char *b)
{
	const struct nvidia_gpu *x = nvidia_gpus_find(gpus, a);
	const struct nvidia_gpu *y = nvidia_gpus_find(gpus, b);
	int shared;

	if (!x || !y || x == y)
		return 0;
	shared = x->nvswitch_links < y->nvswitch_links ? x->nvswitch_links : y->nvswitch_links;
	return (uint16_t)(*weight_of(gpus, x, y) + NVLINK_WEIGHT * shared);
}
