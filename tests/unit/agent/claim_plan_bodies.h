/* What exactly is written: the second half of test_claim_plan.c. */

static struct body_case {
	const char *name;
	struct plan_case world;
	enum claim_step step;
	const char *body; /* JSON; every part of it must be in the patch */
} bodies[] = {
	/* clang-format off */
	{ "harvester-api 2.2: a mark keeps the finalizers and owners of others, behind the device",
	  { .lines = { NIC("e1000e") },
	    .claim = CLAIM(",'finalizers':['a/b'],'ownerReferences':[{'apiVersion':'v1','kind':'VGPUDevice','name':'v',"
	"'uid':'x'}]", "", "") },
	  CLAIM_MARK,
	  "{'metadata':{'uid':'u1','resourceVersion':'7','finalizers':['a/b','" FINALIZER "'],'ownerReferences':["
	  "{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'PCIDevice','name':'" NAME "','uid':'d1'},"
	  "{'apiVersion':'v1','kind':'VGPUDevice','name':'v','uid':'x'}]},"
	  "'spec':{'address':'" ADDRESS "','nodeName':'node1'}}" },
	{ "a mark does not repeat what is there",
	  { .lines = { NIC("e1000e") },
	    .claim = CLAIM(",'ownerReferences':[{'apiVersion':'x','kind':'PCIDevice','name':'v','uid':'x'}]",
			   "'address':'" ADDRESS "','nodeName':'node1'", "") },
	  CLAIM_MARK, "{'metadata':{'uid':'u1','resourceVersion':'7','finalizers':['" FINALIZER "']}}" },
	{ "an unmark leaves the finalizers of others",
	  { .lines = { NIC("e1000e") }, .claim = CLAIM(",'finalizers':['a/b','" FINALIZER "','c/d']" DELETED, "", "") },
	  CLAIM_UNMARK, "{'metadata':{'uid':'u1','resourceVersion':'7','finalizers':['a/b','c/d']}}" },
	{ "what must go from the status is null",
	  { .lines = { OTHER("8139cp") },
	    .claim = CLAIM("", "", "'iommuGroup':'9','iommuGroupMembers':['0000:01:00.0'],'step':'Bind','holder':'x'") },
	  CLAIM_TELL,
	  "{'metadata':{'uid':'u1','resourceVersion':'7'},'status':{'iommuGroup':null,'iommuGroupMembers':null,'step':null,"
	  "'holder':null,'kernelDriverToUnbind':'','passthroughEnabled':false,'observedGeneration':1}}" },
	{ "a holder and the step go into the status",
	  { .lines = { NIC("vfio-pci"), RECORD }, .claim = CLAIM(MARKED DELETED, "", READY),
	    .last = { true, BINDER_RELEASE, TASK_HELD, "Held", true, NULL } },
	  CLAIM_TELL,
	  "{'status':{'holder':'process 7 (qemu)','step':'Release','passthroughEnabled':true,"
	"'kernelDriverToUnbind':'e1000e',"
	  "'iommuGroup':'12','iommuGroupMembers':['" ADDRESS "']}}" },
	/* clang-format on */
};

/* Objects may have more than @part, everything else is equal. */
static void assert_has(json_t *whole, json_t *part, const char *key)
{
	const char *name;
	json_t *value;

	if (!json_is_object(part)) {
		auto_free char *text = whole ? json_map_text(whole) : xstrdup("nothing");

		if (!whole || !json_equal(whole, part))
			fail_msg("%s is %s", key, text);
		return;
	}
	json_object_foreach (part, name, value)
		assert_has(json_object_get(whole, name), value, name);
}

static void writes(void **state)
{
	const struct body_case *row = suite_row(state);
	auto_json json_t *want = object_json(row->body);
	struct room *room = *state;

	room_open(room, &row->world);
	plan(room);
	assert_int_equal(room->decision.step, row->step);
	assert_has(room->decision.body, want, "body");
	if (row->step == CLAIM_MARK) /* and nothing else */
		assert_true(json_equal(room->decision.body, want));
}

static void conditions_of_others_stay(void **state)
{
	struct plan_case row = {
		.lines = { NIC("e1000e"), USE("HostNetwork") },
		.claim =
			CLAIM("", "",
			      "'conditions':[{'type':'Mine','status':'True','reason':'R','message':"
			      "'m','lastTransitionTime':'2020-01-01T00:00:00Z'},"
			      "{'type':'Ready','status':'False','reason':'Old','message':'m',"
			      "'lastTransitionTime':'2020-01-01T00:00:00Z'}]"),
	};
	struct room *room = *state;

	room_open(room, &row);
	settle(room);
	assert_string_equal(condition(room, "Mine")->last_transition_time, "2020-01-01T00:00:00Z");
	/* still False: the time does not move, the reason does */
	assert_string_equal(condition(room, "Ready")->last_transition_time, "2020-01-01T00:00:00Z");
	assert_string_equal(condition(room, "Ready")->reason, "HostNetwork");
	assert_string_equal(condition(room, "Accepted")->last_transition_time,
			    "1970-01-12T13:46:40Z");
}

static void too_many_conditions_leave_room_for_ours(void **state)
{
	auto_str struct str text = STR_INIT;
	struct plan_case row = { .lines = { NIC("e1000e"), USE("HostNetwork") } };
	auto_free char *object = NULL;
	const struct pcideviceclaim *claim;
	struct room *room = *state;

	for (int i = 0; i < 16; i++)
		str_addf(&text, "%s{'type':'Mine%d','status':'True','reason':'R','message':'m'}",
			 i ? "," : "", i);
	object = xasprintf(CLAIM("", "", "'conditions':[%s]"), str_cstr(&text));
	row.claim = object;
	room_open(room, &row);
	settle(room);
	claim = store_object(room->claims, NAME);
	assert_int_equal(claim->status.conditions.len, 16);
	assert_non_null(condition(room, "Ready"));
}

static void tries_that_fail_alike_write_nothing(void **state)
{
	struct plan_case row = {
		.lines = { NIC("e1000e") },
		.claim = CLAIM(MARKED, "", ""),
		.last = { true, BINDER_BIND, TASK_FAILED, "UnbindFailed", true, NULL },
	};
	struct room *room = *state;

	room_open(room, &row);
	settle(room);
	room->writes = 0;
	for (int i = 0; i < 3; i++) {
		room->c.last.outcome = NULL; /* the next try is due */
		settle(room);
		assert_int_equal(room->decision.step, CLAIM_BIND);
		room->c.last.outcome = &room->outcome.task;
		settle(room);
		assert_int_equal(room->decision.step, CLAIM_REST);
	}
	assert_int_equal(room->writes, 0);
}

static void a_holder_is_watched(void **state)
{
	struct plan_case row = {
		.lines = { NIC("vfio-pci"), RECORD },
		.claim = CLAIM(MARKED DELETED, "", READY),
		.last = { true, BINDER_RELEASE, TASK_HELD, "Held", true, NULL },
	};
	struct room *room = *state;

	room_open(room, &row);
	settle(room);
	assert_int_equal(room->decision.watch_pid, 7);
	assert_int_equal(room->decision.again_ms, 5000);
}

/* Also when the last try came to nothing, whose holder is another one. */
static void a_pod_is_looked_at_again(void **state)
{
	struct plan_case row = {
		.lines = { NIC("vfio-pci"), RECORD },
		.claim = CLAIM(MARKED DELETED, "", READY),
		.last = { true, BINDER_RELEASE, TASK_HELD, "Held", true, NULL },
		.allocated = ADDRESS,
		.allocated_to = "pod default/vm-1",
	};
	struct room *room = *state;

	room_open(room, &row);
	settle(room);
	assert_int_equal(room->decision.watch_pid, 0);
	assert_int_equal(room->decision.again_ms, 5000);
	assert_string_equal(room->c.claim->status.holder, "pod default/vm-1");
	room->c.allocated_to = NULL;
	settle(room);
	assert_int_equal(room->decision.again_ms, 500);
}

static void add_bodies(struct suite *suite)
{
	suite_fixture(suite, &room_fixture);
	suite_rows(suite, bodies, writes);
	suite_add(suite, "conditions of others stay, and times move with the status",
		  conditions_of_others_stay, NULL);
	suite_add(suite, "too many conditions of others leave room for ours",
		  too_many_conditions_leave_room_for_ours, NULL);
	suite_add(suite, "tries that fail alike write nothing", tries_that_fail_alike_write_nothing,
		  NULL);
	suite_add(suite, "a pod is looked at every 5 s, sooner when it is not known yet",
		  a_pod_is_looked_at_again, NULL);
	suite_add(suite, "a holder is watched, and looked at every 5 s", a_holder_is_watched, NULL);
}
