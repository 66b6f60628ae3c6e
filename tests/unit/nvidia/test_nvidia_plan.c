/* nvidia_plan: what is asked next, and who is watched. */
#include "agent/nvidia/nvidia_plan.h"

#include "unit/nvidia/gpus_scene.h"

#define LOOK     "begin 0 1 2; look 0; look 1; look 2; end 0 1 2; "
#define PLACED   LOOK "placed 0 1 2; "
#define RELEASED PLACED "claim 1; vacant 1; releasing 1; drained 1; answered 1; "

static struct plan_case {
	const char *name;
	const char *play;
	const char *step; /* "inventory 0 1 2", "watch 0", "+5000": again then */
	const char *watched;
	unsigned ask_in_ms; /* earlier there may be no question */
	unsigned watch_in_ms;
	bool asks;
	bool no_watch;
	bool no_attach;
} plans[] = {
	{ "new GPUs are looked at and watched", "", "inventory 0 1 2, watch 0 1 2",
	  .watched = NULL },
	{ "one question at a time", "", "watch 0 1 2", .watched = NULL, .asks = true },
	{ "nobody wants to watch", "", "inventory 0 1 2", .watched = NULL, .no_watch = true },
	{ "the topology is asked of those that are well", LOOK "xid 1 79", "topology 0 2, +5000",
	  .watched = "0 1 2" },
	{ "a topology of one GPU is none", LOOK "xid 1 79; xid 2 79", "+5000", .watched = "0 1 2" },
	{ "nothing is left to do", PLACED, "", .watched = "0 1 2" },
	{ "an ill one is not probed at once", PLACED "xid 1 79", "+5000", .watched = "0 1 2" },
	{ "it is probed then", PLACED "xid 1 79; pass 5000", "probe 1", .watched = "0 1 2" },
	{ "after a probe it is left alone", PLACED "xid 1 79; pass 5000; begin 1; probe 1; end 1",
	  "+5000", .watched = "0 1 2" },
	{ "a healthy one is probed when it is urgent", PLACED "pass 1000; missed 0 1", "probe 0 1",
	  .watched = "0 1 2" },
	{ "not at each of many events", PLACED "pass 400; event 2 recovery; event 2 recovery",
	  "+600", .watched = "0 1 2" },
	{ "one that hung is not asked for that", PLACED "hung 1; event 1 recovery", "+60000",
	  .watched = "0 1 2" },
	{ "a recovery action is urgent", PLACED "pass 1000; event 2 recovery", "probe 2",
	  .watched = "0 1 2" },
	{ "one that could not be opened is looked at again",
	  "begin 0 1 2; look 0; look 1; problem 2; end 0 1 2; placed 0 1; pass 5000", "inventory 2",
	  .watched = "0 1 2" },
	{ "the others do not wait for one that hung", "begin 0 1 2; look 0; hung 1",
	  "inventory 2, watch 0 2", .watched = NULL },
	{ "one that hung has a minute", PLACED "hung 1; pass 59999", "+1", .watched = "0 1 2" },
	{ "and is asked alone", PLACED "hung 0; hung 1; pass 60000", "probe 0",
	  .watched = "0 1 2" },
	{ "after the others", PLACED "hung 0; xid 1 79; pass 60000", "probe 1",
	  .watched = "0 1 2" },
	{ "no question follows a failed one at once", PLACED "xid 1 79; pass 5000", "+7000",
	  .watched = "0 1 2", .ask_in_ms = 7000 },
	{ "no topology either", LOOK, "+7000", .watched = "0 1 2", .ask_in_ms = 7000 },

	{ "a lost one is not watched again", PLACED "lost 1", "watch 0 2, +5000", .watched = NULL },
	{ "a watch goes on without it", PLACED "lost 1", "+5000", .watched = "0 2" },
	{ "it is watched when it is well, and looked at", PLACED "lost 1; probe 1; probe 1",
	  "watch 0 1 2, +5000", .watched = "0 2" },
	{ "a GPU is looked at when its MIG devices change", PLACED "pass 1000; event 2 mig",
	  "inventory 2", .watched = "0 1 2" },
	{ "and again when they change meanwhile",
	  PLACED "pass 1000; event 2 mig; begin 2; event 2 mig; look 2; end 2", "+5000",
	  .watched = "0 1 2" },
	{ "a look is the answer to that",
	  PLACED "pass 1000; event 2 mig; begin 2; look 2; end 2; pass 60000", "",
	  .watched = "0 1 2" },
	{ "a GPU with an ill MIG device is probed",
	  "begin 0 1 2; look 0; look 1; mig 2 7 1g.5gb; look 2+; end 0 1 2; placed 0 1 2; xid 2 79 7; "
	  "pass 5000",
	  "probe 2", .watched = "0 1 2" },
	{ "nobody is left to watch", PLACED "lost 0; lost 1; lost 2", "+5000", .watched = NULL },
	{ "one that a claim takes is left alone, and its watch ends at once",
	  PLACED "xid 1 79; event 1 mig; claim 1; pass 5000", "watch 0 2", .watched = "0 1 2",
	  .watch_in_ms = 60000 },
	{ "a watch without it goes on", PLACED "claim 1; pass 60000", "", .watched = "0 2" },
	{ "its watch ends also if there is no other one to watch",
	  PLACED "claim 0; claim 1; claim 2", "end", .watched = "0 1 2" },
	{ "before it has told who it is it is asked that", "claim 1; claim 2",
	  "inventory 0 1 2, watch 0", .watched = NULL },
	{ "it is not asked again if that fails",
	  "claim 1; begin 0 1 2; look 0; look 2; problem 1; end 0 1 2; placed 0 2; pass 60000", "",
	  .watched = "0 2" },
	{ "its links are not asked for", LOOK "claim 1; claim 2", "", .watched = "0" },
	{ "when the claim ends it is looked at and watched", PLACED "claim 1; pass 1000; unclaim 1",
	  "inventory 1, watch 0 1 2", .watched = "0 2" },
	{ "the driver lets one go that no container has", PLACED "claim 1; vacant 1", "release 1",
	  .watched = "0 2" },
	{ "not before that", PLACED "claim 1", "", .watched = "0 2" },
	{ "nor if no claim takes it", PLACED "vacant 1", "", .watched = "0 1 2" },
	{ "one at a time", PLACED "claim 1; claim 2; vacant 1; vacant 2", "release 1",
	  .watched = "0" },
	{ "once", RELEASED, "", .watched = "0 2" },
	{ "one that it does not let go is asked for again",
	  PLACED "claim 1; vacant 1; begin 1; problem 1; answered 1", "+5000", .watched = "0 2" },
	{ "also if there was no answer", PLACED "claim 1; vacant 1; died 1", "+5000",
	  .watched = "0 2" },
	{ "not if the driver cannot be asked", PLACED "claim 1; vacant 1; cannot-release 1", "",
	  .watched = "0 2" },
	{ "one that hangs in that has a minute", PLACED "claim 1; vacant 1; hung 1", "+60000",
	  .watched = "0 2" },
	{ "and is asked for again then", PLACED "claim 1; vacant 1; hung 1; pass 60000",
	  "release 1", .watched = "0 2" },
	{ "the driver takes it back when the claim ends", RELEASED "unclaim 1", "attach 1",
	  .watched = "0 2" },
	{ "and it is looked at and watched", RELEASED "unclaim 1; attached 1; answered-attach 1",
	  "inventory 1, watch 0 1 2", .watched = "0 2" },
	{ "also when the claim ends before the answer",
	  PLACED "claim 1; vacant 1; drained 1; unclaim 1; answered 1", "attach 1",
	  .watched = "0 2" },
	{ "one that it does not take back is asked for again",
	  RELEASED "unclaim 1; begin 1; problem 1; answered-attach 1", "+5000", .watched = "0 2" },
	{ "a claim that comes meanwhile has it released again",
	  RELEASED "unclaim 1; attached 1; claim 1; vacant 1; answered-attach 1", "release 1",
	  .watched = "0 2" },
	{ "a claim does not wait for the time of a probe",
	  LOOK "placed 0 1 2; begin 1; claim 1; vacant 1; look 1; end 1", "release 1",
	  .watched = "0 2" },
	{ "one that was not changed is not taken back",
	  PLACED "claim 1; vacant 1; released 1; answered 1; unclaim 1", "inventory 1, watch 0 1 2",
	  .watched = "0 2" },
	{ "one that an earlier agent has released is not looked at", "altered 1",
	  "inventory 0 2, watch 0 2", .watched = NULL },
	{ "none is taken back before claims are known", RELEASED "unclaim 1", "", .watched = "0 2",
	  .no_attach = true },
	{ "the others are asked for meanwhile", RELEASED "unclaim 1; xid 2 79; pass 5000",
	  "probe 2", .watched = "0 2", .no_attach = true },
	{ "no watch follows a failed one at once", PLACED, "+60000", .watched = NULL,
	  .watch_in_ms = 60000 },
};

static void add_step(const struct nvidia_step *step, uint64_t now_ms, struct str *out)
{
	static const char *const verbs[] = { "inventory", "topology", "probe", "release",
					     "attach" };

	if (step->ask)
		str_add(out, verbs[step->verb]);
	for (size_t i = 0; step->ask && i < step->asked.len; i++)
		str_addf(out, " %c", step->asked.items[i][6]);
	if (step->end_watch && !step->watch)
		str_addf(out, "%send", out->len ? ", " : "");
	if (step->watch)
		str_addf(out, "%swatch", out->len ? ", " : "");
	for (size_t i = 0; step->watch && i < step->watched.len; i++)
		str_addf(out, " %c", step->watched.items[i][6]);
	if (step->again_ms != UINT64_MAX)
		str_addf(out, "%s+%llu", out->len ? ", " : "",
			 (unsigned long long)(step->again_ms - now_ms));
}

static void plan_matches_table(void **state)
{
	struct gpus_scene *scene = *state;
	const struct plan_case *c = suite_row(state);
	struct json_strs watched = { 0 };
	struct nvidia_case asked = { .gpus = &scene->gpus,
				     .asks = c->asks,
				     .watches = c->watched,
				     .watched = &watched,
				     .no_watch = c->no_watch,
				     .no_attach = c->no_attach };
	struct nvidia_step step;
	auto_str struct str text = STR_INIT;

	gpus_scene_play(scene, c->play);
	for (const char *n = c->watched; n && *n; n++) {
		char number[] = { *n, '\0' };
		auto_free char *address = gpus_scene_address(number);

		if (*n != ' ')
			json_strs_add(&watched, address);
	}
	asked.now_ms = scene->now_ms;
	asked.ask_ms = scene->now_ms + c->ask_in_ms;
	asked.watch_ms = scene->now_ms + c->watch_in_ms;
	nvidia_plan(&asked, &step);
	add_step(&step, scene->now_ms, &text);
	nvidia_step_done(&step);
	json_strs_done(&watched);
	assert_string_equal(str_cstr(&text), c->step);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &gpus_scene_fixture);
	suite_rows(&suite, plans, plan_matches_table);
	return suite_run(&suite, "nvidia_plan");
}
