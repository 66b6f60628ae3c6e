#include "agent/gpu/card_plan.h"

#include "api/sriovgpudevice.h"
#include "unit/gpu/gpu_scene.h"

#define NAME "node1-000008000"
#define OBJECT(spec, status)                                                              \
	"{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'SRIOVGPUDevice',"        \
	"'metadata':{'name':'" NAME "','uid':'u1','resourceVersion':'7','generation':3}," \
	"'spec':{'address':'" PF "','nodeName':'node1'," spec "},'status':{" status "}}"
#define ON      "'enabled':true"
#define OFF     "'enabled':false"
#define MANAGED "'managed':true"
#define SAYS(reason) \
	"'conditions':[{'type':'Ready','status':'False','reason':'" reason "','message':'m'}]"
#define ADOPT "spec {'enabled':true}"

enum past { NO_PAST, RUNNING, FAILED, FAILED_LONG_AGO, STUCK };

/* clang-format off */
static struct plan_case {
	const char *name;
	const char *lines[8];
	const char *object;
	const char *decision;
	bool claimed;
	const char *user;
	enum past past;
	bool unknown;
} cases[] = {
	/* --- which cards are listed */
	{ "a card without virtual functions is listed as not enabled", { BARE_CARD }, NULL,
	  .decision = "create {'address':'" PF "','nodeName':'node1','enabled':false}" },
	{ "virtual functions that are there already are adopted", { A_VGPU }, NULL,
	  .decision = "create {'address':'" PF "','nodeName':'node1','enabled':true}" },
	{ "a card that is claimed itself is not listed", { BARE_CARD }, NULL, "rest", .claimed = true },
	{ "a card that is not there is not listed", { VF_LINE(VF1) }, NULL, .decision = "rest" },
	/* --- enabling */
	{ "before anything is done it is told", { BARE_CARD }, OBJECT(ON, ""), .decision = "tell Applying" },
	{ "told, it is done", { BARE_CARD }, OBJECT(ON, MANAGED), .decision = "act enable " PF },
	{ "while it is done nothing else is", { BARE_CARD }, OBJECT(ON, MANAGED), "rest", .past = RUNNING },
	{ "its failure is told", { BARE_CARD }, OBJECT(ON, MANAGED), "tell ToolFailed", .past = FAILED },
	{ "and after a while it is tried again", { BARE_CARD }, OBJECT(ON, MANAGED), "act enable " PF, .past = FAILED_LONG_AGO },
	{ "a child that does not end is told", { BARE_CARD }, OBJECT(ON, MANAGED), "tell Stuck", .past = STUCK },
	{ "done", { A_VGPU }, OBJECT(ON, MANAGED), .decision = "tell Enabled" },
	/* --- disabling */
	{ "disabled", { CARD, FUNCTIONS }, OBJECT(OFF, MANAGED), .decision = "act disable " PF },
	{ "not while a vGPU is there", { A_VGPU }, OBJECT(OFF, MANAGED), "tell InUse", .user = "a vGPU is there" },
	{ "not while it is not known whether there is one", { CARD, FUNCTIONS }, OBJECT(OFF, MANAGED), "rest again", .unknown = true },
	{ "all is gone", { BARE_CARD }, OBJECT(OFF, MANAGED), .decision = "tell Disabled" },
	/* --- others */
	{ "virtual functions that somebody else has made are adopted, not removed", { CARD, FUNCTIONS }, OBJECT(OFF, ""), .decision = ADOPT },
	{ "also if a vGPU is there", { A_VGPU }, OBJECT(OFF, ""), .decision = ADOPT },
	{ "a card of another node is not touched", { BARE_CARD },
	  "{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'SRIOVGPUDevice','metadata':{'name':'" NAME "'},"
	  "'spec':{'address':'" PF "','nodeName':'node2','enabled':true}}", .decision = "rest" },
	{ "an object that is being deleted is let go", { BARE_CARD },
	  "{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'SRIOVGPUDevice','metadata':{'name':'" NAME "',"
	  "'deletionTimestamp':'2026-01-01T00:00:00Z'},'spec':{'nodeName':'node1','enabled':true}}", .decision = "rest" },
	/* --- gone */
	{ "an enabled card that is gone keeps its object", { VF_LINE(VF1) }, OBJECT(ON, MANAGED), .decision = "tell DeviceGone" },
	{ "one that is not enabled loses it", { VF_LINE(VF1) }, OBJECT(OFF, SAYS("Disabled")), .decision = "delete" },
	{ "also one that was enabled when it went", { VF_LINE(VF1) }, OBJECT(OFF, SAYS("DeviceGone")), .decision = "delete" },
	{ "an object for what is no card says so, and is kept", { VF_LINE(VF1) }, OBJECT(OFF, ""), .decision = "tell NotSupported" },
	{ "however often it is looked at", { VF_LINE(VF1) }, OBJECT(OFF, SAYS("NotSupported")), .decision = "tell NotSupported" },
	{ "enabled or not", { VF_LINE(VF1) }, OBJECT(ON, ""), .decision = "tell NotSupported" },
	{ "until the card is there", { BARE_CARD }, OBJECT(OFF, SAYS("NotSupported")), .decision = "tell Disabled" },
	{ "one that is claimed itself loses it, too", { BARE_CARD }, OBJECT(OFF, ""), "delete", .claimed = true },
	{ "unless it is enabled", { BARE_CARD }, OBJECT(ON, ""), "tell PassedThrough", .claimed = true },
};
/* clang-format on */

static void fill_past(const struct plan_case *c, struct gpu_past *past)
{
	static const struct gpu_act enable = { .verb = GPU_ENABLE_VFS, .address = PF, .card = PF };

	if (c->past == NO_PAST)
		return;
	past->act = &enable;
	past->newer = c->past == RUNNING;
	past->failed = c->past == FAILED || c->past == FAILED_LONG_AGO;
	past->reason = "ToolFailed";
	past->message = "it said no";
	past->wait_ms = c->past == FAILED ? 1000 : 0;
	past->stuck = c->past == STUCK ? "sriov-manage does not end" : NULL;
}

static void plan_is(void **state)
{
	const struct plan_case *row = suite_row(state);
	struct sriovgpudevice *object = gpu_scene_object(&sriovgpudevice_kind, row->object);
	struct gpu_scene *scene = *state;
	struct gpu_decision d;
	auto_free char *text = NULL;

	gpu_scene_init(scene, row->lines);
	struct card_case c = {
		.node_name = NODE,
		.name = NAME,
		.object = object,
		.card = gpu_cards_find(&scene->cards, PF),
		.known = !row->unknown,
		.claimed = row->claimed,
		.user = row->user,
		.now_wall_ms = 1000,
	};
	fill_past(row, &c.past);
	card_plan(&c, &d);
	text = gpu_scene_decision(&d);
	assert_string_equal(text, row->decision);
	if (d.step == GPU_TELL) {
		struct sriovgpudevice *told = gpu_scene_told(&sriovgpudevice_kind, object, d.body);
		struct gpu_decision again;

		/* The same status is not written again. */
		c.object = told;
		card_plan(&c, &again);
		assert_int_not_equal(again.step, GPU_TELL);
		gpu_decision_done(&again);
		api_object_free(&sriovgpudevice_kind, told);
	}
	gpu_decision_done(&d);
	api_object_free(&sriovgpudevice_kind, object);
}

static void status_lists_functions(void **state)
{
	struct sriovgpudevice *object = gpu_scene_object(&sriovgpudevice_kind, OBJECT(ON, MANAGED));
	static const char *const lines[] = { A_VGPU, NULL };
	struct gpu_scene *scene = *state;
	struct gpu_decision d;
	struct sriovgpudevice *told;

	gpu_scene_init(scene, lines);
	card_plan(&(struct card_case){ .node_name = NODE,
				       .name = NAME,
				       .object = object,
				       .card = gpu_cards_find(&scene->cards, PF),
				       .known = true },
		  &d);
	told = gpu_scene_told(&sriovgpudevice_kind, object, d.body);
	assert_int_equal(told->status.vf_addresses.len, 2);
	assert_string_equal(told->status.vf_addresses.items[1], VF2);
	assert_string_equal(told->status.vgpu_devices.items[0], "node1-000008004");
	assert_string_equal(d.event_reason, "Enabled");
	assert_false(d.warning);
	api_object_free(&sriovgpudevice_kind, told);
	api_object_free(&sriovgpudevice_kind, object);
	gpu_decision_done(&d);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &gpu_scene_fixture);
	suite_rows(&suite, cases, plan_is);
	suite_add(&suite, "the status lists the functions and their objects",
		  status_lists_functions, NULL);
	return suite_run(&suite, "card_plan");
}
