#include "agent/gpu/mig_plan.h"

#include <errno.h>

#include "agent/gpu/smi_table.h"
#include "api/migconfiguration.h"
#include "api/sriovgpudevice.h"
#include "unit/gpu/gpu_scene.h"
#include "unit/gpu/smi_texts.h"

#define NAME "node1-000008000"
#define META "'metadata':{'name':'" NAME "','uid':'u1','resourceVersion':'7','generation':3"
#define OBJECT_OF(node, meta, spec, status)                                                    \
	"{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'MigConfiguration'," META meta \
	"},'spec':{'gpuAddress':'" PF "','nodeName':'" node "'," spec "},'status':{" status "}}"
#define OBJECT(spec, status) OBJECT_OF("node1", "", spec, status)
#define PARENT(meta, enabled)                                                                \
	"{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'SRIOVGPUDevice'," META meta \
	"},'spec':{'address':'" PF "','nodeName':'node1','enabled':" enabled "}}"
#define WANT(name, id, n) "{'name':'" name "','id':" id ",'requested':" n "}"
#define ON(profiles)      "'enabled':true,'profileSpec':[" profiles "]"
#define OFF               "'enabled':false"
#define MANAGED           "'managed':true"
#define SKIP              ",'annotations':{'harvesterhci.io/skip-mig-configuration':'true'}"
#define TWO_3G            WANT("MIG 3g.20gb", "9", "2")

enum past { NO_PAST, RUNNING, FAILED, FAILED_LONG_AGO, STUCK, MODE_DONE };

/* clang-format off */
static struct plan_case {
	const char *name;
	const char *mode;      /* NULL: nvidia-smi was not asked */
	const char *instances;
	const char *object;
	const char *decision;
	const char *computes;
	const char *parent;
	const char *user;
	const char *trouble;
	enum past past;
	bool no_card;
} cases[] = {
	/* --- which cards have one */
	{ "a divided card is asked first", NULL, NULL, NULL, "look", .parent = PARENT("", "true") },
	{ "one that can do MIG has a configuration that asks for nothing", "Enabled", SMI_NO_INSTANCES, NULL,
	  "create {'enabled':false,'gpuAddress':'" PF "','nodeName':'node1','profileSpec':["
	  "{'name':'MIG 1g.5gb','id':19,'requested':0},{'name':'MIG 1g.5gb+me','id':20,'requested':0},"
	  "{'name':'MIG 2g.10gb','id':14,'requested':0},{'name':'MIG 3g.20gb','id':9,'requested':0},"
	  "{'name':'MIG 4g.20gb','id':5,'requested':0},{'name':'MIG 7g.40gb','id':0,'requested':0}]}",
	  .parent = PARENT("", "true") },
	{ "one that cannot has none, and its mode is not touched", "[N/A]", "", NULL, "rest", .parent = PARENT("", "true") },
	{ "a card that is not divided has none", "Enabled", "", NULL, "rest", .parent = PARENT("", "false") },
	{ "a card of which nobody has an object has none (harvester-api 2.7: an agent crashed there)", "Enabled", "", NULL, .decision = "rest" },
	{ "a card that is to be left alone is not even asked", NULL, NULL, NULL, "rest", .parent = PARENT(SKIP, "true") },
	{ "without a card there is nothing to ask", NULL, NULL, NULL, "rest", .parent = PARENT("", "true"), .no_card = true },
	/* --- MIG mode */
	{ "MIG mode is not switched on by a configuration that is not enabled (harvester-api 2.7)", "Disabled", "", OBJECT(OFF, ""), .decision = "tell Disabled" },
	{ "enabled, that is told first", "Disabled", "", OBJECT(ON(TWO_3G), ""), .decision = "tell Applying" },
	{ "then the mode is switched on", "Disabled", "", OBJECT(ON(TWO_3G), MANAGED), .decision = "act mode " PF },
	{ "not while a vGPU is there", "Disabled", "", OBJECT(ON(TWO_3G), MANAGED), "tell InUse", .user = "a vGPU is there" },
	{ "a mode that waits for a reset is told, and not written again", "Disabled", "", OBJECT(ON(TWO_3G), MANAGED), "tell ModePending", .past = MODE_DONE },
	{ "a card without MIG mode is told", "[N/A]", "", OBJECT(ON(TWO_3G), ""), .decision = "tell NotSupported" },
	/* --- making */
	{ "instances are told first", "Enabled", SMI_NO_INSTANCES, OBJECT(ON(TWO_3G), ""), .decision = "tell Applying" },
	{ "then made, one at a time", "Enabled", SMI_NO_INSTANCES, OBJECT(ON(TWO_3G), MANAGED), .decision = "act create " PF " 9" },
	{ "the largest first, whatever the order of the spec (harvester-api 2.7: it was the spec's)", "Enabled", SMI_NO_INSTANCES,
	  OBJECT(ON(WANT("MIG 1g.5gb", "19", "1") "," WANT("MIG 2g.10gb", "14", "1") "," WANT("MIG 3g.20gb", "9", "1")), MANAGED),
	  .decision = "act create " PF " 9" },
	{ "of two with the same memory the one of which there can be fewer", "Enabled", SMI_NO_INSTANCES,
	  OBJECT(ON(WANT("MIG 3g.20gb", "9", "1") "," WANT("MIG 4g.20gb", "5", "1")), MANAGED), .decision = "act create " PF " 5" },
	{ "a profile may be meant by its name alone", "Enabled", SMI_NO_INSTANCES,
	  OBJECT(ON("{'name':'MIG 2g.10gb','requested':1}"), MANAGED), .decision = "act create " PF " 14" },
	{ "a profile that the card does not have is told", "Enabled", SMI_NO_INSTANCES, OBJECT(ON(WANT("MIG 1g.10gb", "77", "1")), ""), .decision = "tell UnknownProfile" },
	{ "unless none of it is asked for", "Enabled", SMI_NO_INSTANCES, OBJECT(ON(WANT("MIG 1g.10gb", "77", "0")), MANAGED), .decision = "tell Synced" },
	{ "its failure is told", "Enabled", SMI_NO_INSTANCES, OBJECT(ON(TWO_3G), MANAGED), "tell ToolFailed", .past = FAILED },
	{ "and after a while it is tried again", "Enabled", SMI_NO_INSTANCES, OBJECT(ON(TWO_3G), MANAGED), "act create " PF " 9", .past = FAILED_LONG_AGO },
	{ "while it is done nothing else is", "Enabled", SMI_NO_INSTANCES, OBJECT(ON(TWO_3G), MANAGED), "rest", .past = RUNNING },
	{ "a child that does not end is told", "Enabled", SMI_NO_INSTANCES, OBJECT(ON(TWO_3G), MANAGED), "tell Stuck", .past = STUCK },
	{ "made", "Enabled", SMI_A100_INSTANCES, OBJECT(ON(TWO_3G), MANAGED), .decision = "tell Synced" },
	/* --- drift */
	{ "an instance that somebody has removed is made again (harvester-api 2.7: it was not)", "Enabled",
	  "|   0  MIG 3g.20gb       9        1          4:4     |\n", OBJECT(ON(TWO_3G), MANAGED), .decision = "act create " PF " 9" },
	{ "one that somebody has added is told, and left alone", "Enabled", SMI_A100_INSTANCES, OBJECT(ON(WANT("MIG 3g.20gb", "9", "1")), MANAGED), .decision = "tell OutOfSync" },
	/* --- removing */
	{ "what fills an instance goes before it", "Enabled", SMI_A100_INSTANCES, OBJECT(OFF, MANAGED), "act remove-compute " PF " 1/0", .computes = SMI_A100_COMPUTES },
	{ "then the instance", "Enabled", SMI_A100_INSTANCES, OBJECT(OFF, MANAGED), "act remove-instance " PF " 1", .computes = SMI_NO_COMPUTES },
	{ "what fills another one does not go before it", "Enabled", SMI_A100_INSTANCES, OBJECT(OFF, MANAGED), "act remove-instance " PF " 1",
	  .computes = "|   0      2       MIG 1c.3g.20gb       0         1          0:1     |\n" },
	{ "not while a vGPU is there", "Enabled", SMI_A100_INSTANCES, OBJECT(OFF, MANAGED), "tell InUse", .user = "a vGPU is there" },
	{ "all is gone", "Enabled", SMI_NO_INSTANCES, OBJECT(OFF, MANAGED), .decision = "tell Disabled" },
	{ "instances that somebody else has made are left alone", "Enabled", SMI_A100_INSTANCES, OBJECT(OFF, ""), .decision = "tell Unmanaged" },
	/* --- not to be touched */
	{ "a card of another node at the same address is not touched (harvester-api 2.7: every agent did)", "Disabled", "",
	  OBJECT_OF("node2", "", ON(TWO_3G), MANAGED), .decision = "rest" },
	{ "an object of no node likewise", "Disabled", "", OBJECT_OF("", "", ON(TWO_3G), MANAGED), .decision = "rest" },
	{ "an object that is being deleted is let go (harvester-api 2.7: an agent crashed there)", "Disabled", "",
	  OBJECT_OF("node1", ",'deletionTimestamp':'2026-01-01T00:00:00Z'", ON(TWO_3G), MANAGED), "rest", .no_card = true },
	{ "a configuration with the annotation is left alone", NULL, NULL, OBJECT_OF("node1", SKIP, ON(TWO_3G), ""), .decision = "tell Skipped" },
	{ "so is one whose card has it", NULL, NULL, OBJECT(ON(TWO_3G), ""), "tell Skipped", .parent = PARENT(SKIP, "true") },
	{ "an object for what is no card says so", NULL, NULL, OBJECT(ON(TWO_3G), ""), "tell NotSupported", .no_card = true },
	{ "a card that is gone is told", NULL, NULL, OBJECT(ON(TWO_3G), MANAGED), "tell DeviceGone", .no_card = true },
	{ "what nvidia-smi does not say is told", NULL, NULL, OBJECT(ON(TWO_3G), ""), "tell ToolMissing", .trouble = "nvidia-smi cannot be run" },
	{ "before it was asked nothing is decided", NULL, NULL, OBJECT(ON(TWO_3G), MANAGED), .decision = "look" },
};
/* clang-format on */

static void monitor_init(struct mig_look *look, const struct plan_case *row)
{
	const char *texts[MIG_QUESTIONS] = { row->mode, SMI_A100_PROFILES, row->instances,
					     row->computes ? row->computes : SMI_NO_COMPUTES };
	struct err err = { 0 };

	for (int q = 0; q < MIG_QUESTIONS; q++) {
		bool failed = smi_says_none(texts[q], strlen(texts[q]));

		if (!mig_look_take(look, (enum mig_question)q, texts[q], strlen(texts[q]), failed,
				   &err))
			break;
	}
	assert_true(look->known);
}

static void fill_past(const struct plan_case *row, struct gpu_past *past)
{
	static const struct gpu_act create = { .verb = GPU_MIG_CREATE,
					       .address = PF,
					       .profile = 9 };
	static const struct gpu_act mode = { .verb = GPU_MIG_MODE_ON, .address = PF };

	if (row->past == NO_PAST)
		return;
	*past = (struct gpu_past){
		.act = row->past == MODE_DONE ? &mode : &create,
		.newer = row->past == RUNNING,
		.failed = row->past == FAILED || row->past == FAILED_LONG_AGO,
		.reason = "ToolFailed",
		.message = "Insufficient Resources",
		.wait_ms = row->past == FAILED ? 1000 : 0,
		.stuck = row->past == STUCK ? "nvidia-smi does not end" : NULL,
	};
}

struct scene {
	struct gpu_scene gpu;
	struct mig_look look;
	struct migconfiguration *object;
	struct sriovgpudevice *parent;
	struct mig_case c;
};

static void scene_init(struct scene *s, const struct plan_case *row)
{
	static const char *const lines[] = { CARD, FUNCTIONS, NULL };

	*s = (struct scene){ 0 };
	gpu_scene_init(&s->gpu, lines);
	if (row->mode)
		monitor_init(&s->look, row);
	s->object = gpu_scene_object(&migconfiguration_kind, row->object);
	s->parent = gpu_scene_object(&sriovgpudevice_kind, row->parent);
	s->c = (struct mig_case){
		.node_name = NODE,
		.name = NAME,
		.object = s->object,
		.parent = s->parent,
		.card = row->no_card ? NULL : gpu_cards_find(&s->gpu.cards, PF),
		.look = row->mode ? &s->look : NULL,
		.look_trouble = row->trouble,
		.look_reason = "ToolMissing",
		.user = row->user,
		.now_wall_ms = 1000,
	};
	fill_past(row, &s->c.past);
}

static void scene_done(struct scene *s)
{
	mig_look_done(&s->look);
	api_object_free(&migconfiguration_kind, s->object);
	api_object_free(&sriovgpudevice_kind, s->parent);
	gpu_scene_done(&s->gpu);
}

SUITE_CLOSING(scene, struct scene, scene_done);

static void plan_is(void **state)
{
	const struct plan_case *row = suite_row(state);
	auto_free char *text = NULL;
	struct gpu_decision d;
	struct scene *s = *state;

	scene_init(s, row);
	mig_plan(&s->c, &d);
	text = gpu_scene_decision(&d);
	assert_string_equal(text, row->decision);
	if (d.step == GPU_TELL) {
		struct migconfiguration *told =
			gpu_scene_told(&migconfiguration_kind, s->object, d.body);
		struct gpu_decision again;

		/* The same status is not written again. */
		s->c.object = told;
		mig_plan(&s->c, &again);
		assert_int_not_equal(again.step, GPU_TELL);
		gpu_decision_done(&again);
		api_object_free(&migconfiguration_kind, told);
	}
	gpu_decision_done(&d);
}

static struct status_case {
	const char *name;
	struct plan_case row;
	const char *status;
	bool message;
} statuses[] = {
	{ "synced",
	  { .mode = "Enabled", .instances = SMI_A100_INSTANCES, .object = OBJECT(ON(TWO_3G), "") },
	  "synced",
	  false },
	{ "out of sync, with why",
	  { .mode = "Enabled",
	    .instances = SMI_A100_INSTANCES,
	    .object = OBJECT(ON(WANT("MIG 3g.20gb", "9", "1")), "") },
	  "out-of-sync",
	  true },
	{ "disabled",
	  { .mode = "Enabled", .instances = SMI_NO_INSTANCES, .object = OBJECT(OFF, "") },
	  "disabled",
	  false },
};

static void status_is_harvesters(void **state)
{
	const struct status_case *c = suite_row(state);
	struct migconfiguration *told;
	const struct mig_profile *profile;
	struct gpu_decision d;
	struct scene *s = *state;

	scene_init(s, &c->row);
	mig_plan(&s->c, &d);
	told = gpu_scene_told(&migconfiguration_kind, s->object, d.body);
	assert_string_equal(told->status.status, c->status);
	assert_int_equal(told->status.message != NULL, c->message);
	assert_int_equal(told->status.profiles.len, 6);
	profile = &told->status.profiles.items[3];
	assert_string_equal(profile->name, "MIG 3g.20gb");
	assert_int_equal(profile->id, 9);
	assert_int_equal(profile->available, 2);
	assert_int_equal(profile->total, 2);
	assert_int_equal(profile->instances.len, s->look.instances.len);
	if (profile->instances.len == 2)
		assert_string_equal(profile->instances.items[1], "2");
	api_object_free(&migconfiguration_kind, told);
	gpu_decision_done(&d);
}

/* --- the look itself -------------------------------------------------------------------------- */

static void answers_make_a_look(void **state)
{
	static const char junk[] = "Unable to determine the device handle for GPU: Unknown Error\n";
	struct mig_look look = { 0 };
	struct err err = { 0 };

	assert_false(mig_look_take(&look, MIG_ASK_MODE, "[N/A]\n", 6, false, &err));
	assert_true(look.known);
	mig_look_done(&look);
	assert_true(mig_look_take(&look, MIG_ASK_MODE, "Enabled\n", 8, false, &err));
	assert_false(mig_look_take(&look, MIG_ASK_PROFILES, junk, strlen(junk), false, &err));
	assert_false(look.known);
	assert_int_equal(err.code, -EBADMSG);
	assert_non_null(strstr(err.msg, "Unable to determine"));
	mig_look_done(&look);
	/* An exit status says nothing if the text says that there is none; else it does. */
	assert_true(mig_look_take(&look, MIG_ASK_INSTANCES, SMI_NO_INSTANCES,
				  strlen(SMI_NO_INSTANCES), true, &err));
	assert_false(mig_look_take(&look, MIG_ASK_INSTANCES, junk, strlen(junk), true, &err));
	assert_false(look.known);
	mig_look_done(&look);
}

static void questions_are_nvidia_smis(void **state)
{
	static const char *const questions[] = {
		[MIG_ASK_MODE] = "-i " PF " --query-gpu=mig.mode.current --format=csv,noheader ",
		[MIG_ASK_PROFILES] = "mig -i " PF " -lgip ",
		[MIG_ASK_INSTANCES] = "mig -i " PF " -lgi ",
		[MIG_ASK_COMPUTES] = "mig -i " PF " -lci ",
	};

	for (int q = 0; q < MIG_QUESTIONS; q++) {
		auto_str struct str words = STR_INIT;
		const char *args[MIG_ARGS_MAX];

		mig_look_args((enum mig_question)q, PF, args);
		for (size_t i = 0; args[i]; i++)
			str_addf(&words, "%s ", args[i]);
		assert_string_equal(str_cstr(&words), questions[q]);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "answers make a look", answers_make_a_look, NULL);
	suite_add(&suite, "the questions are nvidia-smi's", questions_are_nvidia_smis, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, cases, plan_is);
	suite_rows(&suite, statuses, status_is_harvesters);
	return suite_run(&suite, "mig_plan");
}
