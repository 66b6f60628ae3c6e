/* nvidia_gpus: what is made of what the children say: identity, illness and recovery of each
 * GPU. */
#include "agent/nvidia/nvidia_gpus.h"

#include "unit/nvidia/gpus_scene.h"

#define LOOK  "begin 0 1 2; look 0; look 1; look 2; end 0 1 2; "
#define MIGS  "begin 1; mig 1 7 2g.10gb; mig 1 8 2g.10gb; look 1+; end 1; "
#define RESET "the driver asks for a reset of the GPU"
#define HUNG  "a call of NVIDIA's library on it does not return"
#define LOST  "nvmlDeviceGetUUID: the GPU is lost"

static struct health_case {
	const char *name;
	const char *play;
	const char *shows;
} healths[] = {
	{ "nothing is known at first", "", "" },
	{ "an inventory tells who they are", LOOK, "GPU-0 | GPU-1 | GPU-2" },
	{ "one that is not well at first is ill", "begin 0; look 0!; end 0", "GPU-0: " RESET },
	{ "one that cannot be opened is not offered", "begin 0 1; look 0; problem 1; end 0 1",
	  "GPU-0" },
	{ "one that cannot be opened later is ill", LOOK "begin 0 1; look 0; problem 1; end 0 1",
	  "GPU-0 | GPU-1: " LOST " | GPU-2" },
	{ "what the driver says of a release is no illness for a watch without the GPU",
	  LOOK "claim 1; vacant 1; begin-watch 0 2; begin 1; releasing 1; problem 1; answered 1; "
	       "watch 0; watch 2; watching",
	  "GPU-0 | GPU-1 | GPU-2" },
	{ "nor after the claim",
	  LOOK "claim 1; vacant 1; begin-watch 0 2; begin 1; releasing 1; problem 1; answered 1; "
	       "unclaim 1; watch 0; watch 2; watching",
	  "GPU-0 | GPU-1 | GPU-2" },
	{ "one that is not told of is ill", LOOK "begin 1; end 1",
	  "GPU-0 | GPU-1: the driver does not know it | GPU-2" },
	{ "a problem of one that answers is no illness", LOOK "begin 1; problem 1; probe 1; end 1",
	  "GPU-0 | GPU-1 | GPU-2" },

	{ "a fatal Xid", LOOK "xid 1 79", "GPU-0 | GPU-1: Xid 79 | GPU-2" },
	{ "an Xid of an application", LOOK "xid 1 31", "GPU-0 | GPU-1 | GPU-2" },
	{ "the first Xid is the cause", LOOK "xid 1 48; xid 1 95",
	  "GPU-0 | GPU-1: Xid 48 | GPU-2" },
	{ "an Xid of nobody known is everybody's", LOOK "xid - 79",
	  "GPU-0: Xid 79 | GPU-1: Xid 79 | GPU-2: Xid 79" },
	{ "an Xid of a GPU that has gone", LOOK "xid 7 79", "GPU-0 | GPU-1 | GPU-2" },
	{ "an unavailable GPU", LOOK "event 2 unavailable",
	  "GPU-0 | GPU-1 | GPU-2: the driver says that it is unavailable" },
	{ "an ECC error is for the Xid that follows", LOOK "event 2 doubleBitEcc",
	  "GPU-0 | GPU-1 | GPU-2" },
	{ "a lost GPU", LOOK "lost 0", "GPU-0: the GPU is lost | GPU-1 | GPU-2" },
	{ "a GPU that hangs", LOOK "hung 0", "GPU-0: " HUNG " | GPU-1 | GPU-2" },
	{ "it is not known which one hangs", LOOK "hung - 0 1",
	  "GPU-0: " HUNG " | GPU-1: " HUNG " | GPU-2" },
	{ "no answer of the driver at all", LOOK "fail 0 1 2",
	  "GPU-0: no driver | GPU-1: no driver | GPU-2: no driver" },

	{ "MIG devices", LOOK MIGS, "GPU-0 | GPU-1 MIG-7 MIG-8 | GPU-2" },
	{ "an Xid of one of them", LOOK MIGS "xid 1 79 8",
	  "GPU-0 | GPU-1 MIG-7 MIG-8=Xid 79 | GPU-2" },
	{ "an Xid of their GPU", LOOK MIGS "xid 1 79",
	  "GPU-0 | GPU-1: Xid 79 MIG-7 MIG-8 | GPU-2" },
	{ "an Xid of instances that are not known", LOOK MIGS "xid 1 79 9",
	  "GPU-0 | GPU-1: Xid 79 MIG-7 MIG-8 | GPU-2" },
	{ "an ill MIG device after one clean probe", LOOK MIGS "xid 1 79 8; probe 1",
	  "GPU-0 | GPU-1 MIG-7 MIG-8=Xid 79 | GPU-2" },
	{ "after two", LOOK MIGS "xid 1 79 8; probe 1; probe 1",
	  "GPU-0 | GPU-1 MIG-7 MIG-8 | GPU-2" },
	{ "with another Xid between them", LOOK MIGS "xid 1 79 8; probe 1; xid 1 79 8; probe 1",
	  "GPU-0 | GPU-1 MIG-7 MIG-8=Xid 79 | GPU-2" },
	{ "it stays ill when another one comes",
	  LOOK MIGS "xid 1 79 8; begin 1; mig 1 8 2g.10gb; mig 1 9 2g.10gb; look 1+; end 1",
	  "GPU-0 | GPU-1 MIG-8=Xid 79 MIG-9 | GPU-2" },
	{ "MIG mode ends", LOOK MIGS "begin 1; look 1; end 1", "GPU-0 | GPU-1 | GPU-2" },
	{ "MIG devices of a GPU that is not well are not forgotten",
	  LOOK MIGS "begin 1; look 1!; end 1", "GPU-0 | GPU-1: " RESET " MIG-7 MIG-8 | GPU-2" },
	{ "half an answer about them is none", LOOK MIGS "begin 1; mig 1 7 2g.10gb; end 1",
	  "GPU-0 | GPU-1: the driver does not know it MIG-7 MIG-8 | GPU-2" },

	{ "what happened before the watch", LOOK "begin-watch 0 1; watch 0; watch 1!; watching",
	  "GPU-0 | GPU-1: " RESET " | GPU-2" },
	{ "a GPU that cannot be watched", LOOK "begin-watch 0 1; watch 0; problem 1; watching",
	  "GPU-0 | GPU-1: " LOST " | GPU-2" },
	{ "a question that begins meanwhile changes nothing",
	  LOOK "begin-watch 0 1; watch 0; watch 1; begin 0 1; problem 1; watching",
	  "GPU-0 | GPU-1 | GPU-2" },
	{ "a watch of some is none of the others",
	  LOOK "begin 2; problem 2; probe 2; begin-watch 0; watch 0; watch 2; watching",
	  "GPU-0 | GPU-1 | GPU-2" },

	{ "one clean probe is too few", LOOK "xid 1 79; begin 1; probe 1; end 1",
	  "GPU-0 | GPU-1: Xid 79 | GPU-2" },
	{ "two are enough", LOOK "xid 1 79; begin 1; probe 1; end 1; begin 1; probe 1; end 1",
	  "GPU-0 | GPU-1 | GPU-2" },
	{ "a fault between them counts", LOOK "xid 1 79; probe 1; probe 1!; probe 1",
	  "GPU-0 | GPU-1: " RESET " | GPU-2" },
	{ "an Xid between them counts", LOOK "xid 1 79; probe 1; xid 1 48; probe 1",
	  "GPU-0 | GPU-1: Xid 79 | GPU-2" },
	{ "a lost one that is back", LOOK "lost 0; probe 0; probe 0", "GPU-0 | GPU-1 | GPU-2" },
	{ "one without a driver that has it again",
	  LOOK "fail 0 1 2; probe 0; probe 0; probe 1; probe 2",
	  "GPU-0 | GPU-1: no driver | "
	  "GPU-2: no driver" },
	{ "one that could not be opened at first",
	  "begin 0; problem 0; end 0; begin 0; look 0; end 0", "GPU-0: " LOST },
	{ "and is probed then",
	  "begin 0; problem 0; end 0; begin 0; look 0; end 0; probe 0; probe 0", "GPU-0" },

	{ "another GPU at the same address", LOOK "probe 1 NEW",
	  "GPU-0 | GPU-NEW: it has taken the place of another GPU | GPU-2" },
	{ "it is looked at before it is well", LOOK "probe 1 NEW; probe 1 NEW; probe 1 NEW",
	  "GPU-0 | GPU-NEW: it has taken the place of another GPU | GPU-2" },
	{ "and then probed", LOOK "probe 1 NEW; look 1 NEW; probe 1 NEW; probe 1 NEW",
	  "GPU-0 | GPU-NEW | GPU-2" },

	{ "the second illness takes four probes",
	  LOOK "xid 1 79; probe 1; probe 1; xid 1 79; probe 1; probe 1; probe 1",
	  "GPU-0 | GPU-1: Xid 79 | GPU-2" },
	{ "four are enough then",
	  LOOK "xid 1 79; probe 1; probe 1; xid 1 79; probe 1; probe 1; probe 1; probe 1",
	  "GPU-0 | GPU-1 | GPU-2" },
	{ "after a long time two are enough again",
	  LOOK "xid 1 79; probe 1; probe 1; pass 600000; xid 1 79; probe 1; probe 1",
	  "GPU-0 | GPU-1 | GPU-2" },
};

static void health_matches_table(void **state)
{
	struct gpus_scene *scene = *state;
	const struct health_case *c = suite_row(state);
	auto_str struct str shows = STR_INIT;

	gpus_scene_play(scene, c->play);
	gpus_scene_show(scene, &shows);
	assert_string_equal(str_cstr(&shows), c->shows);
}

/* Whether a kubelet has to be told: 10,000 events a second are one change. */
static struct change_case {
	const char *name;
	const char *before;
	const char *play;
	bool changed;
} changes[] = {
	{ "an inventory", "", LOOK, true },
	{ "the same inventory again", LOOK, LOOK, false },
	{ "a fabric that a GPU has joined", LOOK, "fabric 0 7", true },
	{ "the same fabric", LOOK "fabric 0 7", "fabric 0 7", false },
	{ "another clique of it", LOOK "fabric 0 7", "fabric 0 8", true },
	{ "a fatal Xid", LOOK, "xid 0 79", true },
	{ "the next ones", LOOK "xid 0 79", "xid 0 79; xid 0 48", false },
	{ "a reason that a probe finds", LOOK "xid 0 79", "probe 0!", true },
	{ "the same reason again", LOOK "xid 0 79; probe 0!", "probe 0!", false },
	{ "an Xid that is ignored", LOOK, "xid 0 13", false },
	{ "a clean probe", LOOK "xid 0 79", "probe 0", false },
	{ "the last one that it takes", LOOK "xid 0 79; probe 0", "probe 0", true },
	{ "a clean probe of a healthy one", LOOK, "probe 0", false },
	{ "a topology", LOOK, "pair 0 1 10 4; placed 0 1", false },
	{ "another GPU at the same address", LOOK, "probe 1 NEW", true },
	{ "a claim", LOOK, "claim 1", true },
	{ "the same claim", LOOK "claim 1", "claim 1", false },
	{ "the end of a claim", LOOK "claim 1", "unclaim 1", true },
	{ "no claim, as before", LOOK, "unclaim 1", false },
	{ "a begin of a watch", LOOK, "begin-watch 0 1 2; watch 0; watch 1; watch 2; watching",
	  false },
};

static void change_matches_table(void **state)
{
	struct gpus_scene *scene = *state;
	const struct change_case *c = suite_row(state);

	gpus_scene_play(scene, c->before);
	scene->gpus.changed = false;
	gpus_scene_play(scene, c->play);
	assert_int_equal(scene->gpus.changed, c->changed);
}

static void what_is_known_stays_when_a_gpu_comes_or_goes(void **state)
{
	struct gpus_scene *scene = *state;
	auto_str struct str shows = STR_INIT;

	assert_false(nvidia_gpus_are_known(&scene->gpus));
	gpus_scene_play(scene, LOOK "xid 1 79");
	assert_true(nvidia_gpus_are_known(&scene->gpus));
	assert_false(gpus_scene_set(scene, 3));
	assert_true(gpus_scene_set(scene, 4));
	assert_false(nvidia_gpus_are_known(&scene->gpus));
	assert_true(gpus_scene_set(scene, 2));
	gpus_scene_show(scene, &shows);
	assert_string_equal(str_cstr(&shows), "GPU-0 | GPU-1: Xid 79");
	assert_int_equal(scene->gpus.items[1].numa_node, 1);
}

static struct weight_case {
	const char *name;
	const char *play;
	uint16_t weight; /* of GPU-0 and GPU-1 */
} weights[] = {
	{ "nothing is known", "", 0 },
	{ "one board", "pair 0 1 0 0", 60 },
	{ "one switch", "pair 0 1 10 0", 50 },
	{ "several switches", "pair 0 1 20 0", 40 },
	{ "one host bridge", "pair 0 1 30 0", 30 },
	{ "one NUMA node", "pair 0 1 40 0", 20 },
	{ "the system", "pair 0 1 50 0", 10 },
	{ "NVLinks", "pair 1 0 50 2", 210 },
	{ "an NVSwitch", "pair 0 1 50 0; switch 0 18; switch 1 18", 1810 },
	{ "an NVSwitch with fewer links to one", "pair 0 1 50 0; switch 0 18; switch 1 6", 610 },
	{ "an NVSwitch of only one", "pair 0 1 50 0; switch 0 18", 10 },
	{ "more links than there are", "pair 0 1 0 100000; switch 0 100000; switch 1 100000",
	  51060 },
	{ "a peer that has gone", "pair 0 7 0 2", 0 },
};

static void weight_matches_table(void **state)
{
	struct gpus_scene *scene = *state;
	const struct weight_case *c = suite_row(state);

	gpus_scene_play(scene, LOOK);
	gpus_scene_play(scene, c->play);
	assert_int_equal(nvidia_gpus_weight(&scene->gpus, "GPU-0", "GPU-1"), c->weight);
	assert_int_equal(nvidia_gpus_weight(&scene->gpus, "GPU-1", "GPU-0"), c->weight);
	assert_int_equal(nvidia_gpus_weight(&scene->gpus, "GPU-0", "GPU-0"), 0);
	assert_int_equal(nvidia_gpus_weight(&scene->gpus, "GPU-0", "GPU-9"), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &gpus_scene_fixture);
	suite_rows(&suite, healths, health_matches_table);
	suite_rows(&suite, changes, change_matches_table);
	suite_add(&suite, "what is known stays when a GPU comes or goes",
		  what_is_known_stays_when_a_gpu_comes_or_goes, NULL);
	suite_rows(&suite, weights, weight_matches_table);
	return suite_run(&suite, "nvidia_gpus");
}
