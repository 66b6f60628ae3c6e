/* gpus: the lives of a card's objects, request by request and program by program. */
#include "agent/gpu/gpus.h"

#include <errno.h>

#include "api/names.h"
#include "base/log.h"
#include "fake/fake_clock.h"
#include "unit/gpu/gpus_bench.h"
#include "unit/gpu/smi_texts.h"

#define CARDS     "sriovgpudevices"
#define VGPUS     "vgpudevices"
#define MIGS      "migconfigurations"
#define CLAIMS    "pcideviceclaims"
#define ASK       "/smi -i " PF " --query-gpu=mig.mode.current --format=csv,noheader|"
#define LGIP      "/smi mig -i " PF " -lgip|"
#define LGI       "/smi mig -i " PF " -lgi|"
#define LCI       "/smi mig -i " PF " -lci|"
#define SET(type) "helper vgpu-set address=" VF1 " type=" type "|"
#define ON        "{'spec':{'enabled':true}}"
#define OFF       "{'spec':{'enabled':false}}"
#define A_TYPE    "{'spec':{'enabled':true,'vGPUTypeName':'NVIDIA A2-4C'}}"

static void make_devices(struct bench *b)
{
	bench_user_writes(b, "pcidevices", CARD_NAME, "{}");
	bench_user_writes(b, "pcidevices", FN4, "{}");
	bench_user_writes(b, "pcidevices", FN5, "{}");
}

static void forget(struct bench *b)
{
	str_clear(&b->writes);
	str_clear(&b->reads);
	str_clear(&b->events.recorded);
	str_clear(&programs);
}

/* nvidia-smi, if it was asked anything, answers that the card has no MIG mode. */
static void answer_na(struct bench *b)
{
	for (int left = 4; runs.len > 0 && left > 0; left--) {
		if (strncmp(runs.items[0].run->words, "/smi", strlen("/smi")) != 0)
			return;
		bench_finish(b, "[N/A]", NULL);
	}
}

/* A card that is divided, without MIG mode and without vGPUs. */
static void begin_divided(struct bench *b)
{
	bench_settle(b);
	make_devices(b);
	bench_has(b, NO_VGPU);
	bench_settle(b);
	answer_na(b);
	forget(b);
}

/* And the first function is a vGPU by now. */
static void begin_configured(struct bench *b)
{
	begin_divided(b);
	bench_user_writes(b, VGPUS, FN4, A_TYPE);
	bench_settle(b);
	bench_finish(b, DONE, NULL);
	bench_has(b, A_VGPU);
	answer_na(b);
	assert_non_null(bench_object(b, CLAIMS, FN4));
	forget(b);
}

static void a_card_is_divided_and_is_one_again(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	make_devices(b);
	bench_has(b, BARE_CARD);
	assert_writes(b, "POST card|PATCH card/status Disabled|");
	assert_events(b, "");
	bench_user_writes(b, CARDS, CARD_NAME, ON);
	bench_settle(b);
	assert_writes(b, "PATCH card/status Applying|");
	assert_events(b, "");
	assert_programs("/sm -e " PF "|"); /* and no question about MIG meanwhile */
	assert_int_equal(b->moves, 0);
	bench_finish(b, "", NULL);
	assert_int_equal(b->moves, 1);
	bench_run(b, 5000); /* nothing is done again before a scan has shown what was done */
	assert_writes(b, "");
	bench_has(b, NO_VGPU);
	answer_na(b);
	assert_events(b, "Enabled card|Enabled device|");
	assert_string_equal(bench_ready(b, CARDS, CARD_NAME), "Enabled");
	assert_writes(
		b,
		"PATCH card/status Enabled|POST vgpu4|PATCH vgpu4/status Disabled|POST vgpu5|PATCH vgpu5/status Disabled|");
	assert_programs(ASK);
	bench_user_writes(b, CARDS, CARD_NAME, OFF);
	bench_settle(b);
	assert_programs("/sm -d " PF "|");
	bench_finish(b, "", NULL);
	bench_has(b, BARE_CARD);
	assert_writes(b, "PATCH card/status Disabled|DELETE vgpu4|DELETE vgpu5|");
}

static void a_function_becomes_a_vgpu_and_is_one_no_more(void **state)
{
	struct bench *b = *state;

	begin_divided(b);
	bench_user_writes(b, VGPUS, FN4, A_TYPE);
	bench_settle(b);
	assert_writes(b, "PATCH vgpu4/status Applying|");
	assert_programs(SET("1146"));
	bench_finish(b, DONE, NULL);
	assert_programs(""); /* nothing is believed of the card before it has been scanned */
	bench_has(b, A_VGPU);
	answer_na(b);
	assert_writes(b, "POST claim4|PATCH vgpu4/status Configured|");
	assert_events(b, "Configured device4|Configured vgpu4|");
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(object_meta(bench_object(b, CLAIMS, FN4)), "annotations"),
			NAMES_ANNOTATION_RESOURCE_NAME)),
		"nvidia.com/NVIDIA_A2-4C");
	forget(b);
	/* Its claim is deleted first, so that no pod gets it. */
	bench_user_writes(b, VGPUS, FN4, OFF);
	bench_settle(b);
	assert_writes(b, "DELETE claim4|");
	assert_programs(SET("0"));
	bench_finish(b, DONE, NULL);
	bench_has(b, NO_VGPU);
	answer_na(b);
	assert_writes(b, "PATCH vgpu4/status Disabled|");
	assert_events(b, "");
}

/* nvidia-smi is asked, and answers. */
static void answer_smi(struct bench *b, const char *mode, const char *instances)
{
	bench_finish(b, mode, NULL);
	bench_finish(b, SMI_A100_PROFILES, NULL);
	if (strcmp(mode, "Enabled") != 0)
		return;
	bench_finish(b, instances, *instances == '+' ? NULL : &bench_failed);
	bench_finish(b, SMI_NO_COMPUTES, &bench_failed);
}

#define LOOK ASK LGIP LGI LCI
#define TWO_3G \
	"{'spec':{'enabled':true,'profileSpec':[{'name':'MIG 3g.20gb','id':9,'requested':2}]}}"

/* The card is divided and can do MIG; its MigConfiguration asks for nothing. */
static void begin_mig(struct bench *b)
{
	bench_settle(b);
	make_devices(b);
	bench_has(b, NO_VGPU);
	answer_smi(b, "Disabled", "");
	bench_settle(b);
	assert_string_equal(bench_ready(b, MIGS, CARD_NAME), "Disabled");
	bench_run(b, 6000); /* what nvidia-smi has said is too old for another spec */
	forget(b);
}

static void mig_instances_are_made(void **state)
{
	struct bench *b = *state;

	begin_mig(b);
	bench_user_writes(b, MIGS, CARD_NAME, TWO_3G);
	bench_settle(b);
	assert_programs(ASK);
	answer_smi(b, "Disabled", "");
	assert_writes(b, "PATCH mig/status Applying|");
	assert_programs(LGIP "/smi -i " PF " -mig 1|");
	bench_finish(b, "", NULL);
	answer_smi(b, "Enabled", SMI_NO_INSTANCES);
	assert_programs(LOOK "/smi mig -i " PF " -cgi 9 -C|");
	bench_finish(b, "", NULL);
	answer_smi(b, "Enabled", SMI_A100_INSTANCES);
	assert_programs(LOOK);
	assert_writes(b, "PATCH mig/status Synced|");
	assert_events(b, "Synced device|Synced mig|");
	bench_run(b, 6000);
	bench_user_writes(b, MIGS, CARD_NAME, OFF);
	bench_settle(b);
	answer_smi(b, "Enabled", SMI_A100_INSTANCES);
	assert_programs(LOOK "/smi mig -i " PF " -dgi -gi 1|");
	bench_finish(b, "", NULL);
	answer_smi(b, "Enabled", SMI_NO_INSTANCES);
	assert_programs(LOOK);
	assert_writes(b, "PATCH mig/status Disabled|");
}

/* Somebody changes his mind while the card is divided for him: it is not divided further. */
static void a_spec_that_changes_meanwhile_counts(void **state)
{
	struct bench *b = *state;

	begin_mig(b);
	bench_user_writes(b, MIGS, CARD_NAME, TWO_3G);
	bench_settle(b);
	answer_smi(b, "Enabled", SMI_NO_INSTANCES);
	assert_programs(LOOK "/smi mig -i " PF " -cgi 9 -C|");
	bench_user_writes(b, MIGS, CARD_NAME, OFF);
	bench_settle(b);
	bench_finish(b, "", NULL);
	bench_run(b, 5000);
	answer_smi(b, "Enabled", SMI_A100_INSTANCES);
	assert_programs(LOOK "/smi mig -i " PF " -dgi -gi 1|");
}

static void what_failed_is_told_and_tried_again(void **state)
{
	struct bench *b = *state;

	begin_divided(b);
	bench_user_writes(b, CARDS, CARD_NAME, OFF);
	bench_settle(b);
	forget(b);
	bench_finish(b, "it is in use", &bench_failed);
	assert_writes(b, "");
	bench_has(b, NO_VGPU);
	assert_writes(b, "PATCH card/status ToolFailed|");
	assert_events(b, "!ToolFailed card|!ToolFailed device|");
	assert_programs("");
	bench_run(b, 6000);
	assert_programs("/sm -d " PF "|");
	bench_finish(b, "it is in use", &bench_failed);
	bench_has(b, NO_VGPU);
	forget(b);
	bench_run(b, 9000);
	assert_programs("");
	/* Another spec is another matter. */
	bench_user_writes(b, CARDS, CARD_NAME, "{'spec':{'note':'x'}}");
	bench_settle(b);
	assert_programs("/sm -d " PF "|");
	bench_finish(b, "", NULL);
}

/* At once, as nothing has been changed; and once it is there, it is run. */
static void a_program_that_is_missing_is_told(void **state)
{
	struct bench *b = *state;

	begin_divided(b);
	programs_missing = true;
	bench_user_writes(b, CARDS, CARD_NAME, OFF);
	bench_settle(b);
	assert_string_equal(bench_ready(b, CARDS, CARD_NAME), "ToolMissing");
	assert_int_equal(runs.len, 0);
	forget(b);
	bench_run(b, 20000);
	assert_writes(b, "");
	programs_missing = false;
	bench_run(b, 20000);
	assert_programs("/sm -d " PF "|");
	bench_finish(b, "", NULL);
}

/* Another object of the name is another matter, even at the same generation. */
static void a_new_object_waits_for_no_old_failure(void **state)
{
	struct bench *b = *state;

	begin_divided(b);
	bench_user_writes(b, VGPUS, FN4, A_TYPE);
	bench_settle(b);
	bench_finish(b, "", &bench_failed);
	bench_has(b, NO_VGPU);
	answer_na(b);
	assert_string_equal(bench_ready(b, VGPUS, FN4), "HelperFailed");
	forget(b);
	bench_remove(b, VGPUS, FN4);
	bench_settle(b);
	assert_writes(b, "POST vgpu4|PATCH vgpu4/status Disabled|");
	bench_user_writes(b, VGPUS, FN4, A_TYPE);
	bench_settle(b);
	assert_programs(SET("1146"));
	bench_finish(b, DONE, NULL);
	answer_na(b);
}

/* On a node with many cards no card waits for the others. */
static void cards_are_divided_side_by_side(void **state)
{
	enum { CARDS_HERE = 12 };
	struct bench *b = *state;
	char *lines[CARDS_HERE + 1] = { NULL };
	char *at;
	int divided = 0;

	for (int i = 0; i < CARDS_HERE; i++) {
		lines[i] = xstrdup(BARE_CARD);
		at = strstr(lines[i], PF);
		at[5] = i < 6 ? 'a' : 'b';
		at[6] = (char)('0' + i % 6);
	}
	bench_settle(b);
	bench_scan(b, (const char *const *)lines);
	for (int i = 0; i < CARDS_HERE; i++) {
		auto_free char *name = xasprintf("node1-0000%c%d000", i < 6 ? 'a' : 'b', i % 6);

		bench_user_writes(b, CARDS, name, ON);
		free(lines[i]);
	}
	bench_settle(b);
	for (const char *p = strstr(str_cstr(&programs), "/sm -e"); p; p = strstr(p + 1, "/sm -e"))
		divided++;
	assert_int_equal(divided, CARDS_HERE);
	while (runs.len > 0)
		bench_finish(b, "", NULL);
}

static void a_program_that_does_not_end_keeps_the_card(void **state)
{
	struct bench *b = *state;

	begin_divided(b);
	bench_user_writes(b, VGPUS, FN4, A_TYPE);
	bench_settle(b);
	bench_user_writes(b, VGPUS, FN5, A_TYPE);
	bench_settle(b);
	assert_programs(SET("1146")); /* one at a time */
	forget(b);
	bench_finish(b, "", &bench_stuck);
	bench_has(b, NO_VGPU);
	bench_run(b, 20000);
	assert_programs("");
	assert_writes(b, "PATCH vgpu4/status Stuck|PATCH vgpu5/status Stuck|");
	assert_events(b, "!Stuck device4|!Stuck device5|!Stuck vgpu4|!Stuck vgpu5|");
	runs.items[0].run->spec.on_gone(runs.items[0].run->spec.arg, runs.items[0].run);
	runs_remove(runs.items[0].run);
	bench_run(b, 20000); /* and what it has done is not known before a scan */
	assert_programs("");
	bench_has(b, NO_VGPU);
	answer_na(b);
	bench_run(b, 20000);
	assert_int_equal(runs.len, 1);
}

static void a_vgpu_in_a_pod_is_kept(void **state)
{
	struct bench *b = *state;

	begin_configured(b);
	b->pod = "pod default/vm";
	bench_user_writes(b, VGPUS, FN4, OFF);
	bench_settle(b);
	assert_writes(b, "DELETE claim4|PATCH vgpu4/status InUse|");
	bench_user_writes(b, CARDS, CARD_NAME, OFF);
	bench_run(b, 20000);
	assert_writes(b, "PATCH card/status InUse|");
	assert_programs("");
	b->pod = NULL; /* without an event */
	bench_run(b, 6000);
	assert_programs(SET("0"));
	bench_finish(b, DONE, NULL);
}

/* The watch of claims is slow: the vGPU is not taken away while the API server has its claim. */
static void a_vgpu_outlives_its_claim(void **state)
{
	struct bench *b = *state;

	begin_divided(b);
	bench_user_writes(b, VGPUS, FN4, A_TYPE);
	bench_settle(b);
	bench_finish(b, DONE, NULL);
	answer_na(b);
	bench_slow(b, CLAIMS);
	bench_has(b, A_VGPU);
	answer_na(b);
	assert_non_null(bench_object(b, CLAIMS, FN4));
	forget(b);
	bench_user_writes(b, VGPUS, FN4, OFF);
	bench_run(b, 2000);
	assert_programs("");
	assert_writes(b, "");
	bench_catch_up(b);
	bench_settle(b);
	assert_writes(b, "DELETE claim4|");
	assert_programs(SET("0"));
	bench_finish(b, DONE, NULL);
	answer_na(b);
}

/* Nothing is decided on what the watch of the vGPUs shows, as long as it is behind. */
static void a_claim_waits_for_its_vgpu(void **state)
{
	struct bench *b = *state;

	begin_divided(b);
	bench_user_writes(b, VGPUS, FN4, A_TYPE);
	bench_settle(b);
	bench_finish(b, DONE, NULL);
	answer_na(b);
	bench_slow(b, VGPUS);
	forget(b);
	bench_has(b, A_VGPU);
	bench_run(b, 2000);
	assert_writes(b, "PATCH vgpu4/status Configured|");
	bench_catch_up(b);
	bench_settle(b);
	assert_writes(b, "POST claim4|");
}

/* A claim is not made for what the watch of the vGPUs shows, while that is behind. */
static void a_claim_is_not_made_for_what_is_outdated(void **state)
{
	struct bench *b = *state;

	begin_configured(b);
	bench_slow(b, VGPUS);
	bench_has(b, CARD, FUNCTIONS, VGPU(VF1, "1146", ",'7  : NVIDIA A2-1B'"),
		  VGPU(VF2, "0", A2_TYPES));
	assert_writes(b, "PATCH vgpu4/status Configured|");
	bench_has(b, A_VGPU); /* as it was, and as the watch shows it */
	bench_remove(b, CLAIMS, FN4);
	bench_run(b, 1000);
	assert_writes(b, "");
	bench_catch_up(b);
	bench_settle(b);
	assert_writes(b, "POST claim4|PATCH vgpu4/status Configured|");
}

/* The watch of the claims shows the new claim, and at once that another program has changed it. */
static void a_claim_that_changes_at_once_is_known(void **state)
{
	struct bench *b = *state;

	begin_configured(b);
	bench_slow(b, CLAIMS);
	bench_remove(b, CLAIMS, FN4);
	bench_catch_up(b);
	bench_slow(b, CLAIMS);
	bench_settle(b);
	assert_writes(b, "POST claim4|");
	bench_user_writes(b, CLAIMS, FN4, "{'metadata':{'labels':{'l':'1'}}}");
	bench_catch_up(b);
	bench_user_writes(b, VGPUS, FN4, OFF);
	bench_settle(b);
	assert_writes(b, "DELETE claim4|");
	assert_programs(SET("0"));
	bench_finish(b, DONE, NULL);
	answer_na(b);
}

static void a_claim_is_made_again_and_gets_the_resource_of_the_type(void **state)
{
	struct bench *b = *state;

	begin_configured(b);
	bench_remove(b, CLAIMS, FN4);
	bench_settle(b);
	assert_writes(b, "POST claim4|");
	bench_user_writes(b, CLAIMS, FN4,
			  "{'metadata':{'annotations':{'" NAMES_ANNOTATION_RESOURCE_NAME
			  "':'nvidia.com/other'}}}");
	bench_settle(b);
	assert_writes(b, "PATCH claim4|");
	/* A claim of the function itself is left alone. */
	bench_user_writes(b, CLAIMS, FN5, "{}");
	bench_run(b, 20000);
	assert_writes(b, "");
}

static void an_unchanged_node_is_not_written_about(void **state)
{
	struct bench *b = *state;

	begin_mig(b);
	bench_user_writes(b, VGPUS, FN4, A_TYPE);
	bench_settle(b);
	bench_finish(b, DONE, NULL);
	bench_has(b, A_VGPU);
	answer_smi(b, "Disabled", "");
	assert_non_null(bench_object(b, CLAIMS, FN4));
	forget(b);
	for (int i = 0; i < 3; i++) {
		bench_has(b, A_VGPU);
		gpus_enqueue_all(b->gpus);
		gpus_enqueue_device(b->gpus, CARD_NAME);
		gpus_enqueue_device(b->gpus, FN4);
		gpus_enqueue_taken(b->gpus);
		bench_run(b, 10000);
	}
	assert_writes(b, "");
	assert_programs("");
	bench_end(b);
	bench_begin(b);
	bench_settle(b);
	b->node.inventory = b->world.inventory;
	gpus_find_cards(b->gpus);
	gpus_enqueue_all(b->gpus);
	bench_settle(b);
	answer_smi(b, "Disabled", "");
	bench_run(b, 10000);
	assert_writes(b, "");
	assert_events(b, "");
}

static void who_loses_the_name_is_told(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	make_devices(b);
	bench_has(b, CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV, MDEV_RECORD);
	answer_na(b);
	assert_string_equal(bench_ready(b, VGPUS, FN4), "Configured");
	assert_string_equal(gpus_resource(b->gpus, MDEV_UUID), "nvidia.com/NVIDIA_A2-4C");
	assert_string_equal(gpus_parent_label(b->gpus, VF1), CARD_NAME);
	assert_null(gpus_parent_label(b->gpus, PF));
	assert_true(b->lent > 0); /* its resource depends on its object */
	b->lent = 0;
	bench_user_writes(b, VGPUS, FN5, "{'metadata':{'labels':{'l':'1'}}}");
	bench_settle(b);
	assert_int_equal(b->lent, 0);
	forget(b);
	b->is_taken = true;
	gpus_enqueue_taken(b->gpus);
	bench_settle(b);
	assert_writes(b, "PATCH vgpu4/status NameTaken|");
	b->is_taken = false;
	gpus_enqueue_taken(b->gpus);
	bench_settle(b);
	assert_writes(b, "PATCH vgpu4/status Configured|");
}

static void nothing_is_decided_before_all_is_known(void **state)
{
	struct bench *b = *state;
	auto_str struct str reason = STR_INIT;

	bench_settle(b);
	assert_true(gpus_ready(b->gpus, NULL)); /* nothing has been asked yet */
	b->unlisted = MIGS;
	bench_has(b, NO_VGPU);
	bench_run(b, 20000);
	assert_false(gpus_ready(b->gpus, &reason));
	assert_non_null(strstr(str_cstr(&reason), MIGS));
	assert_writes(b, "");
	assert_programs("");
	b->unlisted = NULL;
	bench_run(b, 60000);
	assert_true(gpus_ready(b->gpus, NULL));
	assert_writes(
		b,
		"POST card|PATCH card/status Enabled|POST vgpu4|PATCH vgpu4/status Disabled|POST vgpu5|PATCH vgpu5/status Disabled|");
	answer_na(b);
}

static void an_object_of_another_node_is_left_alone(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	bench_has(b, VF_LINE(VF1));
	bench_user_writes(b, CARDS, CARD_NAME,
			  "{'metadata':{'labels':{'nodename':'node1'}},'spec':{'address':'" PF
			  "','nodeName':'node2','enabled':false}}");
	bench_has(b, BARE_CARD);
	bench_run(b, 20000);
	assert_writes(b, "");
	assert_programs("");
}

static void assert_labelled(const struct bench *b, const char *plural)
{
	assert_string_equal(fake_server_text(fake_server_of(b->server, plural), CARD_NAME,
					     "metadata.labels.nodename"),
			    "node1");
}

/* Somebody made it by hand, without the label by which it is seen. */
static void an_object_without_the_label_gets_it(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	bench_hide(b, CARDS, CARD_NAME);
	bench_user_writes(b, CARDS, CARD_NAME, ON);
	bench_has(b, BARE_CARD);
	assert_writes(b, "POST card|PATCH card|PATCH card/status Applying|");
	assert_labelled(b, CARDS);
	assert_programs("/sm -e " PF "|");
}

/* A question reads the object before, too, and may find one that it did not see. */
static void a_question_finds_an_object_without_the_label(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	bench_hide(b, MIGS, CARD_NAME);
	bench_user_writes(b, MIGS, CARD_NAME,
			  "{'spec':{'nodeName':'node1','gpuAddress':'" PF "'}}");
	bench_has(b, NO_VGPU);
	answer_smi(b, "Disabled", "");
	assert_string_equal(bench_ready(b, MIGS, CARD_NAME), "Disabled");
	assert_labelled(b, MIGS);
}

static struct foreign_case {
	const char *name;
	const char *text;
} foreigns[] = {
	{ "an object that says another node is in the way", "{'spec':{'nodeName':'node2'}}" },
	{ "an object with another node's label is in the way",
	  "{'metadata':{'labels':{'nodename':'node2'}},'spec':{'nodeName':'node1'}}" },
};

static void an_object_is_in_the_way(void **state)
{
	const struct foreign_case *c = suite_row(state);
	struct bench *b = *state;

	bench_settle(b);
	bench_hide(b, CARDS, CARD_NAME);
	bench_user_writes(b, CARDS, CARD_NAME, c->text);
	bench_has(b, BARE_CARD);
	bench_run(b, 20000);
	assert_in_range(b->writes.len, 1,
			10 * strlen("POST card|")); /* refused, and not again and again */
	assert_null(strstr(str_cstr(&b->writes), "PATCH"));
	bench_remove(b, CARDS, CARD_NAME);
	bench_hide(b, CARDS, "");
	forget(b);
	bench_run(b, 60000);
	assert_writes(b, "POST card|PATCH card/status Disabled|");
}

/* A task cannot be taken back. The answer to a write is as good as a read, and while another task
 * has the card nothing is read for the next. */
static void an_object_is_read_before_its_task(void **state)
{
	struct bench *b = *state;

	begin_divided(b);
	bench_user_writes(b, VGPUS, FN4, A_TYPE);
	bench_settle(b);
	assert_programs(SET("1146"));
	bench_user_writes(b, VGPUS, FN5, A_TYPE);
	bench_run(b, 20000);
	assert_string_equal(str_cstr(&b->reads), "");
	bench_finish(b, DONE, NULL);
	bench_has(b, A_VGPU);
	answer_na(b);
	assert_non_null(strstr(str_cstr(&b->reads), "vgpu5|"));
	assert_null(strstr(str_cstr(&b->reads), "vgpu4|"));
	assert_int_equal(runs.len, 1);
}

/* The watch is slow: what is to be done is not what it shows. */
static void what_is_read_counts(void **state)
{
	struct bench *b = *state;

	begin_divided(b);
	fake_server_write_status(fake_server_of(b->server, VGPUS), FN4, "{'managedType':'1146'}");
	bench_settle(b);
	forget(b);
	bench_slow(b, VGPUS);
	bench_user_writes(b, VGPUS, FN4, A_TYPE);
	bench_user_writes(b, VGPUS, FN4, OFF);
	assert_true(fake_server_show(fake_server_of(b->server, VGPUS), 1));
	bench_settle(b);
	assert_programs("");
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a card is divided, and is one again", a_card_is_divided_and_is_one_again,
		  NULL);
	suite_add(&suite, "a function becomes a vGPU, and is one no more",
		  a_function_becomes_a_vgpu_and_is_one_no_more, NULL);
	suite_add(&suite, "MIG instances are made and removed", mig_instances_are_made, NULL);
	suite_add(&suite, "a spec that changes while a card is divided counts",
		  a_spec_that_changes_meanwhile_counts, NULL);
	suite_add(&suite, "what failed is told, and tried again",
		  what_failed_is_told_and_tried_again, NULL);
	suite_add(&suite, "a program that is missing is told", a_program_that_is_missing_is_told,
		  NULL);
	suite_add(&suite, "a new object waits for no old failure",
		  a_new_object_waits_for_no_old_failure, NULL);
	suite_add(&suite, "cards are divided side by side", cards_are_divided_side_by_side, NULL);
	suite_add(&suite, "a program that does not end keeps the card",
		  a_program_that_does_not_end_keeps_the_card, NULL);
	suite_add(&suite, "a vGPU in a pod is kept", a_vgpu_in_a_pod_is_kept, NULL);
	suite_add(&suite, "a vGPU outlives its claim", a_vgpu_outlives_its_claim, NULL);
	suite_add(&suite, "a claim waits for its vGPU", a_claim_waits_for_its_vgpu, NULL);
	suite_add(&suite, "a claim is not made for what is outdated",
		  a_claim_is_not_made_for_what_is_outdated, NULL);
	suite_add(&suite, "a claim that changes at once is known",
		  a_claim_that_changes_at_once_is_known, NULL);
	suite_add(&suite, "a claim is made again, and gets the resource of the type",
		  a_claim_is_made_again_and_gets_the_resource_of_the_type, NULL);
	suite_add(&suite, "an unchanged node is not written about",
		  an_unchanged_node_is_not_written_about, NULL);
	suite_add(&suite, "a vGPU whose name another kind has is told", who_loses_the_name_is_told,
		  NULL);
	suite_add(&suite, "nothing is decided before all is known",
		  nothing_is_decided_before_all_is_known, NULL);
	suite_add(&suite, "an object of another node is left alone",
		  an_object_of_another_node_is_left_alone, NULL);
	suite_add(&suite, "an object without the label gets it",
		  an_object_without_the_label_gets_it, NULL);
	suite_add(&suite, "a question finds an object without the label",
		  a_question_finds_an_object_without_the_label, NULL);
	suite_rows(&suite, foreigns, an_object_is_in_the_way);
	suite_add(&suite, "an object is read before its task", an_object_is_read_before_its_task,
		  NULL);
	suite_add(&suite, "what is read counts, not what the watch shows", what_is_read_counts,
		  NULL);
	return suite_run(&suite, "gpus");
}
