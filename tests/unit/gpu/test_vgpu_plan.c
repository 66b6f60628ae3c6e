#include "agent/gpu/vgpu_plan.h"

#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/resource_name.h"
#include "api/vgpudevice.h"
#include "unit/gpu/gpu_scene.h"

#define NAME "node1-000008004"
#define OBJECT(spec, status)                                                                     \
	"{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'VGPUDevice',"                   \
	"'metadata':{'name':'" NAME "','uid':'u1','resourceVersion':'7','generation':3},"        \
	"'spec':{'address':'" VF1 "','nodeName':'node1','parentGPUDeviceAddress':'" PF "'," spec \
	"},'status':{" status "}}"
#define ON(type)      "'enabled':true,'vGPUTypeName':'" type "'"
#define OFF           "'enabled':false"
#define MANAGED(type) "'managedType':'" type "'"
#define SAYS(reason) \
	"'conditions':[{'type':'Ready','status':'False','reason':'" reason "','message':'m'}]"
#define CLAIM(annotations, meta)                                                   \
	"{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'PCIDeviceClaim'," \
	"'metadata':{'name':'" NAME "','uid':'c1','resourceVersion':'9'" meta      \
	",'annotations':{" annotations "}}}"
#define SKIP        "'pcidevices.harvesterhci.io/skip-vfio-binding':'true'"
#define RESOURCE    ",'pcidevice.harvesterhci.io/override-resource-name':'nvidia.com/NVIDIA_A2-4C'"
#define OUR_CLAIM   CLAIM(SKIP RESOURCE, "")
#define THEIR_CLAIM CLAIM("", "")
#define ADOPT       "spec {'enabled':true,'vGPUTypeName':'NVIDIA A2-4C'}"

enum past { NO_PAST, RUNNING, FAILED, FAILED_LONG_AGO, STUCK };

/* clang-format off */
static struct plan_case {
	const char *name;
	const char *lines[8];
	const char *object;
	const char *decision;
	const char *claim;
	const char *user; /* "": somebody, not known yet who */
	enum past past;
	bool unknown, card_wanted, taken;
} cases[] = {
	/* --- objects */
	{ "a function is listed as not enabled", { NO_VGPU }, NULL,
	  .decision = "create {'address':'" VF1 "','enabled':false,'nodeName':'node1','parentGPUDeviceAddress':'" PF "'}" },
	{ "a vGPU that is there already is adopted as enabled, not switched off (harvester-api 2.7)", { A_VGPU }, NULL,
	  .decision = "create {'vGPUTypeName':'NVIDIA A2-4C','address':'" VF1 "','enabled':true,'nodeName':'node1','parentGPUDeviceAddress':'" PF "'}" },
	{ "one whose type nobody names is called by its number", { CARD, FUNCTIONS, VGPU(VF1, "9999", "") }, NULL,
	  .decision = "create {'vGPUTypeName':'9999','address':'" VF1 "','enabled':true,'nodeName':'node1','parentGPUDeviceAddress':'" PF "'}" },
	{ "a mediated device that is there is adopted likewise", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV }, NULL,
	  .decision = "create {'vGPUTypeName':'NVIDIA A2-4C','address':'" VF1 "','enabled':true,'nodeName':'node1','parentGPUDeviceAddress':'" PF "'}" },
	{ "nothing is listed before the vGPUs were looked at", { CARD, FUNCTIONS }, NULL, "rest", .unknown = true },
	/* --- enabling: attributes */
	{ "before anything is done it is told", { NO_VGPU }, OBJECT(ON("NVIDIA A2-4C"), ""), .decision = "tell Applying" },
	{ "told, it is done", { NO_VGPU }, OBJECT(ON("NVIDIA A2-4C"), MANAGED("1146")), .decision = "act set " VF1 " 1146" },
	{ "a type may be asked for by its number", { NO_VGPU }, OBJECT(ON("1146"), MANAGED("1146")), .decision = "act set " VF1 " 1146" },
	{ "while it is done nothing else is", { NO_VGPU }, OBJECT(ON("NVIDIA A2-4C"), MANAGED("1146")), "rest", .past = RUNNING },
	{ "its failure is told", { NO_VGPU }, OBJECT(ON("NVIDIA A2-4C"), MANAGED("1146")), "tell WriteFailed", .past = FAILED },
	{ "and after a while it is tried again", { NO_VGPU }, OBJECT(ON("NVIDIA A2-4C"), MANAGED("1146")), "act set " VF1 " 1146", .past = FAILED_LONG_AGO },
	{ "a child that does not end is told", { NO_VGPU }, OBJECT(ON("NVIDIA A2-4C"), MANAGED("1146")), "tell Stuck", .past = STUCK },
	{ "a type that cannot be made now is told", { NO_VGPU }, OBJECT(ON("NVIDIA A2-16C"), ""), .decision = "tell TypeNotAvailable" },
	{ "no type at all likewise", { NO_VGPU }, OBJECT("'enabled':true", ""), .decision = "tell TypeNotAvailable" },
	{ "a function that is claimed itself is no vGPU", { NO_VGPU }, OBJECT(ON("NVIDIA A2-4C"), ""), "tell Claimed", .claim = THEIR_CLAIM },
	{ "without a driver of vGPUs there is none", { CARD, FUNCTIONS }, OBJECT(ON("NVIDIA A2-4C"), ""), .decision = "tell NoBackend" },
	{ "made", { A_VGPU }, OBJECT(ON("NVIDIA A2-4C"), MANAGED("1146")), .decision = "tell Configured" },
	/* --- enabling: mediated devices */
	{ "a mediated device is told first", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "1") }, OBJECT(ON("NVIDIA A2-4C"), ""), .decision = "tell Applying" },
	{ "and then made", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "1") }, OBJECT(ON("NVIDIA A2-4C"), MANAGED("nvidia-746")), .decision = "act make " VF1 " nvidia-746" },
	{ "no more instances of the type", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0") }, OBJECT(ON("NVIDIA A2-4C"), ""), .decision = "tell TypeNotAvailable" },
	{ "made as a mediated device", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV, MDEV_RECORD }, OBJECT(ON("NVIDIA A2-4C"), MANAGED("nvidia-746")), .decision = "tell Configured" },
	{ "made, but its resource is claimed devices' of another kind", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV, MDEV_RECORD },
	  OBJECT(ON("NVIDIA A2-4C"), MANAGED("nvidia-746")), .decision = "tell NameTaken", .taken = true },
	/* --- disabling */
	{ "disabled, its claim goes first", { A_VGPU }, OBJECT(OFF, MANAGED("1146")), "unclaim", .claim = OUR_CLAIM },
	{ "then the vGPU", { A_VGPU }, OBJECT(OFF, MANAGED("1146")), .decision = "act set " VF1 " 0" },
	{ "not while a pod has it", { A_VGPU }, OBJECT(OFF, MANAGED("1146")), "tell InUse", .user = "pod default/vm-1" },
	{ "not while it is not known whether one has it", { A_VGPU }, OBJECT(OFF, MANAGED("1146")), "rest again", .user = "" },
	{ "a mediated device is removed", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV, MDEV_RECORD }, OBJECT(OFF, MANAGED("nvidia-746")),
	  .decision = "act remove " VF1 " " MDEV_UUID },
	{ "one that somebody else has made is not", { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV }, OBJECT(OFF, MANAGED("nvidia-746")), .decision = "tell WriteFailed" },
	{ "all is gone", { NO_VGPU }, OBJECT(OFF, MANAGED("1146")), .decision = "tell Disabled" },
	/* --- others */
	{ "a vGPU that somebody else makes later is adopted, never switched off (harvester-api 2.7)", { A_VGPU }, OBJECT(OFF, ""), .decision = ADOPT },
	{ "also if another type was ours once", { A_VGPU }, OBJECT(OFF, MANAGED("1145")), .decision = ADOPT },
	{ "another type that somebody else has made is adopted", { A_VGPU }, OBJECT(ON("NVIDIA A2-2B"), ""), .decision = ADOPT },
	/* --- another type */
	{ "another type comes by way of none", { CARD, FUNCTIONS, VGPU(VF1, "1146", A2_TYPES) }, OBJECT(ON("NVIDIA A2-2B"), MANAGED("1146")), .decision = "act set " VF1 " 0" },
	{ "and not while a pod has the vGPU", { CARD, FUNCTIONS, VGPU(VF1, "1146", A2_TYPES) }, OBJECT(ON("NVIDIA A2-2B"), MANAGED("1146")), "tell InUse",
	  .user = "pod default/vm-1" },
	{ "what is ours now is told before the new one", { NO_VGPU }, OBJECT(ON("NVIDIA A2-2B"), MANAGED("1146")), .decision = "tell Applying" },
	/* --- gone, not ours */
	{ "an enabled one that is gone keeps its object", { BARE_CARD }, OBJECT(ON("NVIDIA A2-4C"), MANAGED("1146")), .decision = "tell DeviceGone" },
	{ "so does one whose card is to be divided again", { BARE_CARD }, OBJECT(OFF, ""), "tell DeviceGone", .card_wanted = true },
	{ "another loses it", { BARE_CARD }, OBJECT(OFF, SAYS("Disabled")), .decision = "delete" },
	{ "an object for what is no function says so, and is kept", { NULL }, OBJECT(OFF, ""), .decision = "tell NotSupported" },
	{ "however often it is looked at", { NULL }, OBJECT(OFF, SAYS("NotSupported")), .decision = "tell NotSupported" },
	{ "enabled or not", { NULL }, OBJECT(ON("NVIDIA A2-4C"), ""), .decision = "tell NotSupported" },
	{ "until the function is there", { NO_VGPU }, OBJECT(OFF, SAYS("NotSupported")), .decision = "tell Disabled" },
	{ "nothing is decided before the vGPUs were looked at", { CARD, FUNCTIONS }, OBJECT(ON("NVIDIA A2-4C"), ""), "rest", .unknown = true },
	{ "a function of another node is not touched", { NO_VGPU },
	  "{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'VGPUDevice','metadata':{'name':'" NAME "'},"
	  "'spec':{'nodeName':'node2','enabled':true,'vGPUTypeName':'NVIDIA A2-4C'}}", .decision = "rest" },
	{ "an object that is being deleted is let go", { A_VGPU },
	  "{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'VGPUDevice','metadata':{'name':'" NAME "',"
	  "'deletionTimestamp':'2026-01-01T00:00:00Z'},'spec':{'nodeName':'node1'}}", .decision = "rest" },
};
/* clang-format on */

struct scene {
	struct gpu_scene gpu;
	struct vgpudevice *object;
	struct pcideviceclaim *claim;
	struct pcidevice *device;
	struct vgpu_case c;
};

static void scene_init(struct scene *s, const struct plan_case *row)
{
	static const struct gpu_act set = { .verb = GPU_SET_TYPE, .address = VF1, .type = "1146" };

	gpu_scene_init(&s->gpu, row->lines);
	s->object = gpu_scene_object(&vgpudevice_kind, row->object);
	s->claim = gpu_scene_object(&pcideviceclaim_kind, row->claim);
	s->device = gpu_scene_object(&pcidevice_kind,
				     "{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':"
				     "'PCIDevice','metadata':{'name':'" NAME "','uid':'d1'}}");
	s->c = (struct vgpu_case){
		.node_name = NODE,
		.name = NAME,
		.object = s->object,
		.known = !row->unknown,
		.card_wanted = row->card_wanted,
		.taken = row->taken,
		.device = s->device,
		.claim = s->claim,
		.used = row->user != NULL,
		.user = row->user && *row->user ? row->user : NULL,
		.now_wall_ms = 1000,
	};
	s->c.function = gpu_cards_function(&s->gpu.cards, VF1, &s->c.card);
	if (row->past == NO_PAST)
		return;
	s->c.past = (struct gpu_past){
		.act = &set,
		.newer = row->past == RUNNING,
		.failed = row->past == FAILED || row->past == FAILED_LONG_AGO,
		.reason = "WriteFailed",
		.message = "it says '0' all the same",
		.wait_ms = row->past == FAILED ? 1000 : 0,
		.stuck = row->past == STUCK ? "hostdev-helper does not end" : NULL,
	};
}

static void scene_done(struct scene *s)
{
	api_object_free(&vgpudevice_kind, s->object);
	api_object_free(&pcideviceclaim_kind, s->claim);
	api_object_free(&pcidevice_kind, s->device);
	gpu_scene_done(&s->gpu);
}

SUITE_CLOSING(scene, struct scene, scene_done);

static void plan_is(void **state)
{
	const struct plan_case *row = suite_row(state);
	struct gpu_decision d;
	auto_free char *text = NULL;
	struct scene *s = *state;

	scene_init(s, row);
	vgpu_plan(&s->c, &d);
	text = gpu_scene_decision(&d);
	assert_string_equal(text, row->decision);
	if (d.step == GPU_TELL) {
		struct vgpudevice *told = gpu_scene_told(&vgpudevice_kind, s->object, d.body);
		struct gpu_decision again;

		/* The same status is not written again. */
		s->c.object = told;
		vgpu_plan(&s->c, &again);
		assert_int_not_equal(again.step, GPU_TELL);
		gpu_decision_done(&again);
		api_object_free(&vgpudevice_kind, told);
	}
	gpu_decision_done(&d);
}

/* What a TELL makes of the status, for the lines; the caller frees. */
static struct vgpudevice *tell(struct scene *s, const struct plan_case *row)
{
	struct vgpudevice *told;
	struct gpu_decision d;

	scene_init(s, row);
	vgpu_plan(&s->c, &d);
	assert_int_equal(d.step, GPU_TELL);
	told = gpu_scene_told(&vgpudevice_kind, s->object, d.body);
	gpu_decision_done(&d);
	return told;
}

static void status_is_harvesters(void **state)
{
	static const struct plan_case attributes = {
		.lines = { A_VGPU }, .object = OBJECT(ON("NVIDIA A2-4C"), MANAGED("1146"))
	};
	static const struct plan_case mdev = {
		.lines = { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV, MDEV_RECORD },
		.object = OBJECT(ON("NVIDIA A2-4C"), MANAGED("nvidia-746"))
	};
	struct vgpudevice *told;
	struct scene s;

	told = tell(&s, &attributes);
	assert_string_equal(told->status.status, "vGPUConfigured");
	assert_string_equal(told->status.uuid, "1146");
	assert_string_equal(told->status.type_name, "NVIDIA A2-4C");
	assert_string_equal(json_pairs_get(&told->status.available_types, "NVIDIA A2-4C"), "1146");
	api_object_free(&vgpudevice_kind, told);
	scene_done(&s);

	told = tell(&s, &mdev);
	assert_string_equal(told->status.uuid, MDEV_UUID);
	assert_string_equal(told->status.type_name, "NVIDIA A2-4C");
	api_object_free(&vgpudevice_kind, told);
	scene_done(&s);
}

/* A driver lists a type no longer once the function has it; its name is known from before. */
static void name_outlives_table(void **state)
{
	static const struct plan_case row = {
		.lines = { CARD, FUNCTIONS, VGPU(VF1, "1146", "") },
		.object = OBJECT(ON("NVIDIA A2-4C"),
				 MANAGED("1146") ",'availableTypes':{'NVIDIA A2-4C':'1146'}")
	};
	struct scene *s = *state;
	struct vgpudevice *told = tell(s, &row);

	assert_string_equal(told->status.type_name, "NVIDIA A2-4C");
	api_object_free(&vgpudevice_kind, told);
}

static void siblings_types_are_refreshed(void **state)
{
	static const struct plan_case before = { .lines = { NO_VGPU }, .object = OBJECT(OFF, "") };
	/* A sibling took so much of the card that only the smaller type is left. */
	static const char *const after[] = { CARD, FUNCTIONS,
					     VGPU(VF1, "0", ",'1145  : NVIDIA A2-2B'"),
					     VGPU(VF2, "1146", ""), NULL };
	struct gpu_scene scene;
	struct gpu_decision d;
	struct vgpudevice *told;
	struct vgpudevice *again;
	struct scene *s = *state;

	told = tell(s, &before);
	assert_int_equal(told->status.available_types.len, 2);
	gpu_scene_init(&scene, after);
	s->c.object = told;
	s->c.function = gpu_cards_function(&scene.cards, VF1, &s->c.card);
	vgpu_plan(&s->c, &d);
	assert_int_equal(d.step, GPU_TELL);
	again = gpu_scene_told(&vgpudevice_kind, told, d.body);
	assert_int_equal(again->status.available_types.len, 1);
	assert_string_equal(again->status.available_types.items[0].key, "NVIDIA A2-2B");
	api_object_free(&vgpudevice_kind, again);
	api_object_free(&vgpudevice_kind, told);
	gpu_decision_done(&d);
	gpu_scene_done(&scene);
}

static void vgpu_is_lent_by_a_claim(void **state)
{
	static const struct plan_case row = { .lines = { A_VGPU },
					      .object =
						      OBJECT(ON("NVIDIA A2-4C"), MANAGED("1146")) };
	static const struct plan_case stale = {
		.lines = { A_VGPU },
		.object = OBJECT(ON("NVIDIA A2-4C"), MANAGED("1146")),
		.claim = CLAIM(SKIP ",'pcidevice.harvesterhci.io/override-resource-name':"
				    "'nvidia.com/NVIDIA_A2-2B'",
			       "")
	};
	struct vgpudevice *told;
	struct gpu_decision d;
	struct pcideviceclaim *claim;
	struct err err = { 0 };
	struct scene s;
	void *decoded;

	told = tell(&s, &row);
	s.c.object = told;
	vgpu_plan(&s.c, &d);
	assert_int_equal(d.step, GPU_CLAIM);
	assert_int_equal(api_object_decode(&pcideviceclaim_kind, d.body, &decoded, &err), 0);
	claim = decoded;
	assert_string_equal(claim->meta.name, NAME);
	assert_string_equal(claim->spec.address, VF1);
	assert_string_equal(api_meta_annotation(&claim->meta, NAMES_ANNOTATION_SKIP_VFIO), "true");
	assert_string_equal(api_meta_annotation(&claim->meta, NAMES_ANNOTATION_RESOURCE_NAME),
			    "nvidia.com/NVIDIA_A2-4C");
	assert_string_equal(api_meta_label(&claim->meta, NAMES_LABEL_PARENT_GPU),
			    "node1-000008000");
	assert_string_equal(claim->meta.owner_refs.items[0].kind, "PCIDevice");
	assert_string_equal(claim->meta.owner_refs.items[0].uid, "d1");
	assert_string_equal(claim->meta.owner_refs.items[1].kind, "VGPUDevice");
	api_object_free(&pcideviceclaim_kind, claim);
	gpu_decision_done(&d);
	s.c.device = NULL; /* without its PCIDevice there is none yet */
	vgpu_plan(&s.c, &d);
	assert_int_equal(d.step, GPU_REST);
	scene_done(&s);
	api_object_free(&vgpudevice_kind, told);

	told = tell(&s, &stale);
	s.c.object = told;
	vgpu_plan(&s.c, &d);
	assert_int_equal(d.step, GPU_CLAIM);
	gpu_decision_done(&d);
	api_object_free(&vgpudevice_kind, told);
	scene_done(&s);
}

/* The resource of a mediated device is another plugin's: no claim. */
static void mediated_device_needs_no_claim(void **state)
{
	static const struct plan_case row = {
		.lines = { CARD, FUNCTIONS, MDEV_PARENT(VF1, "0"), MDEV, MDEV_RECORD },
		.object = OBJECT(ON("NVIDIA A2-4C"), MANAGED("nvidia-746"))
	};
	struct scene *s = *state;
	struct vgpudevice *told = tell(s, &row);
	struct gpu_decision d;

	s->c.object = told;
	vgpu_plan(&s->c, &d);
	assert_int_equal(d.step, GPU_REST);
	api_object_free(&vgpudevice_kind, told);
}

static struct resource_case {
	const char *name;
	const char *type;
	const char *resource;
} resources[] = {
	{ "blanks become underscores", "NVIDIA A2-4C", "nvidia.com/NVIDIA_A2-4C" },
	{ "what a resource cannot have is left out (harvester-api 3.1: their pattern never did)",
	  "GRID T4/1Q (test)", "nvidia.com/GRID_T41Q_test" },
	{ "a name ends in a letter or digit", "NVIDIA A2-4C_", "nvidia.com/NVIDIA_A2-4C" },
	{ "and begins with one", "-x", "nvidia.com/x" },
	{ "a long name is cut", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg",
	  "nvidia.com/aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg" },
	{ "nothing is called vGPU", "***", "nvidia.com/vGPU" },
};

static void resource_is(void **state)
{
	const struct resource_case *c = *state;
	auto_free char *resource = vgpu_resource(c->type);

	assert_string_equal(resource, c->resource);
	assert_true(names_valid_offered_resource(resource));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, resources, resource_is);
	suite_add(&suite, "the status is Harvester's", status_is_harvesters, NULL);
	suite_add(&suite, "a vGPU is lent by a claim that skips vfio-pci", vgpu_is_lent_by_a_claim,
		  NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, cases, plan_is);
	suite_add(&suite, "the type's name outlives the driver's table", name_outlives_table, NULL);
	suite_add(&suite, "what siblings can be is told anew after one has changed",
		  siblings_types_are_refreshed, NULL);
	suite_add(&suite, "a mediated device needs no claim", mediated_device_needs_no_claim, NULL);
	return suite_run(&suite, "vgpu_plan");
}
