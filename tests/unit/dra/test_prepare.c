/* prepare: which claims are prepared, which are refused and why, and what is left of them. */
#include "agent/dra/prepare.h"

#include <errno.h>

#include "api/json_values.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/dra/prepare_scene.h"

SUITE_FIXTURE(scene, struct prepare_scene, prepare_scene_init, prepare_scene_done);

static const char nic[] = RESULT_OF("a", NIC_NAME);
static const char both[] = RESULT_OF("a", NIC_NAME) "," RESULT_OF("a", TOO_NAME);

static char *read_file(const char *folder, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = xcalloc(1, 1 << 16);

	assert_true(fd >= 0);
	assert_true(read(fd, text, (1 << 16) - 1) >= 0);
	return text;
}

/* --- prepared --------------------------------------------------------------------------------- */

static void claim_is_prepared(void **state)
{
	struct prepare_scene *scene = *state;
	const struct fake_request *get;
	auto_free char *spec = NULL;
	auto_free char *holder = NULL;

	(void)prepare_scene_begin(scene, "nic", UID1);
	get = fake_client_request(scene->dra.node.client);
	assert_string_equal(get->method, "GET");
	assert_string_equal(get->path,
			    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/nic");
	assert_int_equal(get->timeout_ms, PREPARE_GET_MS);
	dra_scene_answer(&scene->dra, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	assert_string_equal(str_cstr(&scene->dra.allocated), "example.com/nic:" NIC "|");
	prepare_scene_assert_files(scene, 1);
	spec = read_file(scene->dra.cdi_dir, "hostdev.io-device_" UID1 ".json");
	assert_non_null(strstr(spec,
			       "{\"path\":\"/dev/vfio/" NIC "\",\"hostPath\":\"/dev/vfio/group\","
			       "\"permissions\":\"rw\"}"));
	assert_non_null(strstr(spec, "\"env\":[\"PCI_RESOURCE_NIC=" NIC "\"]"));
	holder = prepare_holder(scene->prepare, NIC);
	assert_string_equal(holder, "ResourceClaim default/nic");
	assert_null(prepare_holder(scene->prepare, TOO));
}

/* What is allocated to a request goes into its own device, and the variable of all requests into
 * each container. */
static void requests_are_kept_apart(void **state)
{
	struct prepare_scene *scene = *state;
	const struct prepared_claim *claim = NULL;

	free(dra_scene_device(&scene->dra, TOO)->resource);
	dra_scene_device(&scene->dra, TOO)->resource = xstrdup("example.com/other");
	prepare_scene_prepare(scene, "nic", UID1,
			      RESULT_OF("a", NIC_NAME) "," RESULT_OF("b/x", GPU_NAME) "," RESULT_OF(
				      "a", TOO_NAME));
	stage_settle(&scene->dra.stage, "changed " NIC "|changed " GPU "|changed " TOO
					"|prepared nic: " NIC " " GPU " " TOO "|");
	assert_string_equal(str_cstr(&scene->dra.allocated),
			    "example.com/nic:" NIC "|example.com/nic:" GPU "|example.com/other:" TOO
			    "|");
	assert_int_equal(prepare_again(scene->prepare, UID1, &claim, NULL), 0);
	assert_int_equal(claim->requests.len, 2);
	assert_string_equal(claim->requests.items[0].name, "a");
	assert_int_equal(claim->requests.items[0].nodes.len, 3);
	assert_string_equal(claim->requests.items[1].name, "b");
	assert_int_equal(claim->requests.items[1].nodes.len, 2);
	assert_string_equal(json_pairs_get(&claim->envs, "PCI_RESOURCE_NIC"), NIC "," GPU "," TOO);
}

static void group_in_one_claim(void **state)
{
	struct prepare_scene *scene = *state;
	struct json_strs ids = { 0 };

	prepare_scene_prepare(scene, "nic", UID1, both);
	stage_settle(&scene->dra.stage,
		     "changed " NIC "|changed " TOO "|prepared nic: " NIC " " TOO "|");
	assert_string_equal(str_cstr(&scene->dra.allocated), "example.com/nic:" NIC " " TOO "|");
	prepare_ids(scene->prepare, &ids);
	assert_int_equal(ids.len, 2);
	json_strs_done(&ids);
}

static void results_of_others_are_theirs(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_scene_prepare(scene, "nic", UID1,
			      "{'request':'gpu','driver':'gpu.nvidia.com','pool':'p',"
			      "'device':'gpu-0','adminAccess':true}," RESULT_OF("a", NIC_NAME));
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
}

static void template_has_a_name_in_the_pod(void **state)
{
	struct prepare_scene *scene = *state;
	const struct prepared_claim *claim = NULL;
	auto_free char *object = dra_scene_object(
		"nic", UID1, "'resource.kubernetes.io/pod-claim-name':'card'", nic, "");

	(void)prepare_scene_begin(scene, "nic", UID1);
	fake_client_answer(scene->dra.node.client, 200, object);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	assert_int_equal(prepare_again(scene->prepare, UID1, &claim, NULL), 0);
	assert_string_equal(claim->pod_claim, "card");
}

/* --- refused ---------------------------------------------------------------------------------- */

#define ADMIN                                                                         \
	"{'request':'a','driver':'hostdev.io','pool':'node1','device':'pci-" NIC_NAME \
	"','adminAccess':true}"
#define OURS(source, more) "{'source':'" source "','opaque':{'driver':'hostdev.io'" more "}}"

static struct refused_case {
	const char *name;
	const char *results;
	const char *config;
	const char *annotations;
	const char *message;
} refused[] = {
	{ "not allocated", "", "", "", "it is not allocated" },
	{ "nothing of ours", "{'request':'a','driver':'x.io','pool':'p','device':'d'}", "", "",
	  "no device of hostdev.io is allocated to it" },
	{ "a device that nobody knows", RESULT_OF("a", "0000-99-00-0"), "", "",
	  "the devices of this node have not been read yet" },
	{ "admin access", ADMIN, "", "",
	  "request 'a' has adminAccess, which hostdev.io does not support" },
	{ "a device twice", RESULT_OF("a", NIC_NAME) "," RESULT_OF("b", NIC_NAME), "", "",
	  "device '" NIC "' is allocated twice to the claim" },
	{ "a request that leads elsewhere", RESULT_OF("../a", NIC_NAME), "", "",
	  "no request has the name '../a'" },
	{ "a sub-request that leads elsewhere", RESULT_OF("a/b/c", NIC_NAME), "", "",
	  "no request has the name 'a/b/c'" },
	{ "a request without a name", RESULT_OF("/b", NIC_NAME), "", "",
	  "no request has the name '/b'" },
	{ "an annotation that leads elsewhere", RESULT_OF("a", NIC_NAME), "",
	  "'resource.kubernetes.io/pod-claim-name':'../x'",
	  "its annotation resource.kubernetes.io/pod-claim-name is no name of a pod's claim" },
	{ "an unknown field of the claim's", RESULT_OF("a", NIC_NAME),
	  OURS("FromClaim", ",'parameters':{'mode':'fast'}"), "",
	  "unknown field 'mode' in the parameters for hostdev.io in the claim" },
	{ "an unknown field of the class's, after a good one", RESULT_OF("a", NIC_NAME),
	  OURS("FromClass", ",'parameters':{}") "," OURS("FromClass", ",'parameters':{'kind':'X'}"),
	  "", "unknown field 'kind' in the parameters for hostdev.io in the DeviceClass" },
	{ "an unknown field for a list of alternatives", RESULT_OF("a/b", NIC_NAME),
	  "{'source':'FromClaim','requests':['x','a'],'opaque':{'driver':'hostdev.io',"
	  "'parameters':{'mode':1}}}",
	  "", "unknown field 'mode' in the parameters for hostdev.io in the claim" },
	{ "parameters that are no object", RESULT_OF("a", NIC_NAME),
	  OURS("FromClaim", ",'parameters':[1]"), "",
	  "the parameters for hostdev.io in the claim are no object" },
};

static void refused_with_a_reason(void **state)
{
	struct prepare_scene *scene = *state;
	const struct refused_case *c = suite_row(state);
	auto_free char *object =
		dra_scene_object("nic", UID1, c->annotations, c->results, c->config);
	auto_free char *message = xasprintf("ResourceClaim default/nic: %s|", c->message);

	(void)prepare_scene_begin(scene, "nic", UID1);
	fake_client_answer(scene->dra.node.client, 200, object);
	stage_settle(&scene->dra.stage, message);
	prepare_scene_assert_nothing(scene);
	/* And nothing of it hinders the next one. */
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
}

static struct accepted_case {
	const char *name;
	const char *config;
} accepted[] = {
	{ "without parameters", OURS("FromClaim", "") },
	{ "with none", OURS("FromClaim", ",'parameters':{}") },
	{ "with those of another driver",
	  "{'source':'FromClaim','opaque':{'driver':'x.io','parameters':{'a':1}}}" },
	{ "with those of another request",
	  "{'source':'FromClaim','requests':['ab','b/a'],'opaque':{'driver':'hostdev.io',"
	  "'parameters':{'a':1}}}" },
};

static void accepted_with_configuration(void **state)
{
	struct prepare_scene *scene = *state;
	const struct accepted_case *c = suite_row(state);
	auto_free char *object = dra_scene_object("nic", UID1, "", nic, c->config);

	(void)prepare_scene_begin(scene, "nic", UID1);
	fake_client_answer(scene->dra.node.client, 200, object);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
}

/* --- devices that cannot be had now ----------------------------------------------------------- */

enum trouble {
	IT_IS_UNHEALTHY,
	IT_IS_GONE,
	A_POD_HAS_IT,
	A_PROCESS_HAS_IT,
	A_CLAIM_HAS_IT,
	A_CLAIM_HAS_ITS_GROUP,
	ITS_TYPE_REFUSES,
	ITS_TYPE_GIVES_NOTHING,
	ITS_TYPE_NEEDS_THE_KUBELET,
	ITS_TYPE_WAITS,
};

static struct device_case {
	const char *name;
	enum trouble trouble;
	const char *message;
} devices[] = {
	{ "unhealthy", IT_IS_UNHEALTHY, "device '" NIC "' is not ready: it is lost" },
	{ "gone", IT_IS_GONE,
	  "device 'pci-" NIC_NAME
	  "' is not offered here now: it is gone, a pod has it by its device "
	  "plugin, its PCIDeviceClaim or USBDeviceClaim is deleted, or the HostDeviceConfig does not select it" },
	{ "in a pod", A_POD_HAS_IT,
	  "device '" NIC "' is in use by pod default/vm-1; it is free when the pod has ended" },
	{ "open", A_PROCESS_HAS_IT,
	  "a process of a pod that has ended still has device '" NIC
	  "'; it is free when the process has ended" },
	{ "in another claim", A_CLAIM_HAS_IT,
	  "device '" NIC "' is in use by ResourceClaim default/other; it is free when that one's "
	  "pods have ended" },
	{ "half a group", A_CLAIM_HAS_ITS_GROUP,
	  "IOMMU group 14 goes to one ResourceClaim at a time, and default/other has " TOO
	  " of it; ask for all of it in one claim, with matchAttribute hostdev.io/iommuGroup" },
	{ "refused by its type", ITS_TYPE_REFUSES, "not on vfio-pci" },
	{ "with nothing for a container", ITS_TYPE_GIVES_NOTHING,
	  "device '" NIC "' of 'example.com/nic' cannot be had by a ResourceClaim" },
	{ "with something that only a device plugin can give", ITS_TYPE_NEEDS_THE_KUBELET,
	  "device '" NIC "' of 'example.com/nic' cannot be had by a ResourceClaim" },
	{ "of a type that answers later", ITS_TYPE_WAITS,
	  "devices of type 'later' cannot be had by a ResourceClaim" },
};

/* How many claims there are then. */
static size_t make_trouble(struct prepare_scene *scene, enum trouble trouble,
			   struct inventory *inventory)
{
	struct dra_device *device = dra_scene_device(&scene->dra, NIC);

	switch (trouble) {
	case IT_IS_UNHEALTHY:
		device->trouble = xstrdup("it is lost");
		return 0;
	case IT_IS_GONE:
		scene->dra.node.inventory = inventory;
		device->name[0] = 'x';
		return 0;
	case A_POD_HAS_IT:
		scene->dra.in_pod = xstrdup(NIC);
		return 0;
	case A_PROCESS_HAS_IT:
		scene->dra.busy = xstrdup(NIC);
		return 0;
	case A_CLAIM_HAS_IT:
		prepare_scene_prepare(scene, "other", UID2, nic);
		stage_settle(&scene->dra.stage, "changed " NIC "|prepared other: " NIC "|");
		return 1;
	case A_CLAIM_HAS_ITS_GROUP:
		prepare_scene_prepare(scene, "other", UID2, RESULT_OF("a", TOO_NAME));
		stage_settle(&scene->dra.stage, "changed " TOO "|prepared other: " TOO "|");
		return 1;
	case ITS_TYPE_REFUSES:
		str_add(&scene->dra.refusal, "not on vfio-pci");
		return 0;
	case ITS_TYPE_GIVES_NOTHING:
		scene->dra.gives_nothing = true;
		return 0;
	case ITS_TYPE_NEEDS_THE_KUBELET:
		scene->dra.gives_annotation = true;
		return 0;
	case ITS_TYPE_WAITS:
		device->type = &later_type;
		return 0;
	}
	return 0;
}

static void device_cannot_be_had(void **state)
{
	struct prepare_scene *scene = *state;
	const struct device_case *c = suite_row(state);
	auto_free char *message = xasprintf("ResourceClaim default/nic: %s|", c->message);
	struct inventory inventory = { 0 };
	size_t claims = make_trouble(scene, c->trouble, &inventory);

	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, message);
	prepare_scene_assert_files(scene, claims);
}

/* Another group of the same claim is no neighbour, and one without a group has none. */
static void other_groups_do_not_matter(void **state)
{
	struct prepare_scene *scene = *state;

	(void)dra_scene_add(&scene->dra, "0000:77:00.0", NULL);
	(void)dra_scene_add(&scene->dra, "0000:77:00.1", NULL);
	prepare_scene_prepare(scene, "gpu", UID2,
			      RESULT_OF("a", GPU_NAME) "," RESULT_OF("a", "0000-77-00-0"));
	stage_settle(&scene->dra.stage,
		     "changed " GPU "|changed 0000:77:00.0|prepared gpu: " GPU " 0000:77:00.0|");
	prepare_scene_prepare(scene, "nic", UID1,
			      RESULT_OF("a", NIC_NAME) "," RESULT_OF("a", "0000-77-00-1"));
	stage_settle(&scene->dra.stage,
		     "changed " NIC "|changed 0000:77:00.1|prepared nic: " NIC " 0000:77:00.1|");
	prepare_scene_assert_files(scene, 2);
}

/* The list of devices lags behind a claim that was unprepared; the device's type looks again. */
static void list_may_still_say_that_the_group_is_taken(void **state)
{
	struct prepare_scene *scene = *state;
	struct dra_device *device = dra_scene_device(&scene->dra, NIC);

	device->trouble = xstrdup("another pod has its group");
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "ResourceClaim default/nic: device '" NIC
					"' is not ready: another pod has its group|");
	device->group_taken = true;
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	stage_settle(&scene->dra.stage, "changed " NIC "|");

	device->on_demand = true; /* a bind would meet what has the group */
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "ResourceClaim default/nic: device '" NIC
					"' is not ready: another pod has its group|");
	prepare_scene_assert_files(scene, 0);
}

/* --- the API server --------------------------------------------------------------------------- */

static struct answer_case {
	const char *name;
	int status; /* 0: none, with @code */
	int code;
	const char *body;
	const char *message;
} answers[] = {
	{ "the claim is gone", 404, 0,
	  "{\"kind\":\"Status\",\"message\":\"resourceclaims \\\"nic\\\" not found\","
	  "\"details\":{\"name\":\"nic\"}}",
	  "ResourceClaim default/nic does not exist" },
	{ "the kind is not served", 404, 0, "404 page not found",
	  "the API server does not serve ResourceClaims of resource.k8s.io/v1" },
	{ "no answer", 0, -ETIMEDOUT, "", "get ResourceClaim default/nic: " },
	{ "the agent may not read it", 403, 0,
	  "{\"kind\":\"Status\",\"message\":\"resourceclaims is forbidden\"}",
	  "get ResourceClaim default/nic: " },
	{ "no JSON", 200, 0, "<html>", "ResourceClaim default/nic: JSON, line 1" },
	{ "another kind", 200, 0,
	  "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"nic\"}}",
	  "ResourceClaim default/nic: " },
	{ "results of the wrong type", 200, 0,
	  "{\"metadata\":{\"name\":\"nic\",\"uid\":\"" UID1 "\"},\"status\":{\"allocation\":"
	  "{\"devices\":{\"results\":[{\"request\":7}]}}}}",
	  "ResourceClaim default/nic: " },
};

static void answer_of_the_api_server(void **state)
{
	struct prepare_scene *scene = *state;
	const struct answer_case *c = suite_row(state);

	(void)prepare_scene_begin(scene, "nic", UID1);
	if (c->status)
		fake_client_answer(scene->dra.node.client, c->status, c->body);
	else
		fake_client_fail(scene->dra.node.client, c->code);
	stage_rest(&scene->dra.stage);
	assert_memory_equal(str_cstr(&scene->dra.stage.log), c->message, strlen(c->message));
	str_clear(&scene->dra.stage.log);
	prepare_scene_assert_nothing(scene);
}

/* --- the claim's status ----------------------------------------------------------------------- */

/* In the words that the kubelet gets. */
static void claim_is_told_the_result(void **state)
{
	struct prepare_scene *scene = *state;
	struct str *told = &scene->dra.told;

	dra_scene_device(&scene->dra, NIC)->trouble = xstrdup("it is lost");
	prepare_scene_prepare(scene, "nic", UID1, nic);
	dra_scene_assert_told(told, "failed nic: ResourceClaim default/nic: device '" NIC
				    "' is not ready: it "
				    "is lost|");
	stage_settle(&scene->dra.stage,
		     "ResourceClaim default/nic: device '" NIC "' is not ready: it is lost|");
	free(dra_scene_device(&scene->dra, NIC)->trouble);
	dra_scene_device(&scene->dra, NIC)->trouble = NULL;
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	dra_scene_assert_told(told, "prepared nic|");
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	stage_settle(&scene->dra.stage, "changed " NIC "|");
	dra_scene_assert_told(told, "unprepared " UID1 "|");
}

/* Nor one that was not read: nobody knows its devices. */
static void another_claim_is_told_nothing(void **state)
{
	struct prepare_scene *scene = *state;

	(void)prepare_scene_begin(scene, "nic", UID1);
	dra_scene_answer(&scene->dra, "nic", UID2, nic);
	(void)prepare_scene_begin(scene, "nic", UID1);
	fake_client_answer(scene->dra.node.client, 500, "{}");
	(void)prepare_scene_begin(scene, "nic", UID1);
	prepare_cancel(scene->job);
	stage_rest(&scene->dra.stage);
	str_clear(&scene->dra.stage.log);
	dra_scene_assert_told(&scene->dra.told, "");
}

/* The pod was deleted, and another one's claim has the name. */
static void replaced_under_its_name(void **state)
{
	struct prepare_scene *scene = *state;

	(void)prepare_scene_begin(scene, "nic", UID1);
	dra_scene_answer(&scene->dra, "nic", UID2, nic);
	stage_settle(&scene->dra.stage, "ResourceClaim default/nic: it was replaced by another one "
					"of this name (UID '" UID2 "')|");
	prepare_scene_assert_nothing(scene);
	/* Both may be there: the kubelet unprepares the old one when it can. */
	prepare_scene_prepare(scene, "nic", UID1, nic);
	prepare_scene_prepare(scene, "nic", UID2, RESULT_OF("a", GPU_NAME));
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|changed " GPU
					"|prepared nic: " GPU "|");
	prepare_scene_assert_files(scene, 2);
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	stage_settle(&scene->dra.stage, "changed " NIC "|");
	prepare_scene_assert_files(scene, 1);
}

/* --- twice ------------------------------------------------------------------------------------ */

static void prepared_claim_needs_no_api_server(void **state)
{
	struct prepare_scene *scene = *state;
	const struct prepared_claim *claim = NULL;
	size_t sent;

	assert_int_equal(prepare_again(scene->prepare, UID1, &claim, NULL), PREPARE_UNKNOWN);
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	sent = fake_client_sent(scene->dra.node.client);
	dra_scene_clear(&scene->dra); /* its device is not even offered any more */
	assert_int_equal(prepare_again(scene->prepare, UID1, &claim, NULL), 0);
	assert_string_equal(claim->devices.items[0].id, NIC);
	assert_int_equal(fake_client_sent(scene->dra.node.client), sent);
}

/* The kubelet gave up waiting, and asks again. */
static void two_jobs_of_one_claim(void **state)
{
	struct prepare_scene *scene = *state;

	(void)prepare_scene_begin(scene, "nic", UID1);
	(void)prepare_scene_begin(scene, "nic", UID1);
	dra_scene_answer(&scene->dra, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	fake_client_fail(scene->dra.node.client, -ETIMEDOUT);
	stage_settle(&scene->dra.stage, "prepared nic: " NIC "|");
	prepare_scene_assert_files(scene, 1);
}

/* A force-deleted pod's device is allocated a second time while both claims are on their way. */
static void two_claims_race_for_a_device(void **state)
{
	struct prepare_scene *scene = *state;

	(void)prepare_scene_begin(scene, "nic", UID1);
	(void)prepare_scene_begin(scene, "other", UID2);
	dra_scene_answer(&scene->dra, "nic", UID1, nic);
	dra_scene_answer(&scene->dra, "other", UID2, nic);
	stage_settle(&scene->dra.stage,
		     "changed " NIC "|prepared nic: " NIC "|"
		     "ResourceClaim default/other: device '" NIC "' is in use by ResourceClaim "
		     "default/nic; it is free when that one's pods have ended|");
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	prepare_scene_prepare(scene, "other", UID2, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|changed " NIC "|prepared other: " NIC "|");
}

static void cancelled_job_does_nothing(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_cancel(prepare_scene_begin(scene, "nic", UID1));
	assert_int_equal(fake_client_open(scene->dra.node.client), 0);
	stage_settle(&scene->dra.stage, "");
	prepare_scene_assert_nothing(scene);
}

/* --- undone ----------------------------------------------------------------------------------- */

static void undone_without_the_api_server(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_scene_prepare(scene, "nic", UID1, both);
	stage_settle(&scene->dra.stage,
		     "changed " NIC "|changed " TOO "|prepared nic: " NIC " " TOO "|");
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	stage_settle(&scene->dra.stage, "changed " NIC "|changed " TOO "|");
	assert_int_equal(fake_client_open(scene->dra.node.client), 0);
	prepare_scene_assert_nothing(scene);
	assert_null(prepare_holder(scene->prepare, NIC));
	/* Again, as the kubelet does if it did not get the answer; and legal at once. */
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	prepare_scene_prepare(scene, "nic", UID1, both);
	stage_settle(&scene->dra.stage,
		     "changed " NIC "|changed " TOO "|prepared nic: " NIC " " TOO "|");
}

static void undone_while_it_is_prepared(void **state)
{
	struct prepare_scene *scene = *state;

	(void)prepare_scene_begin(scene, "nic", UID1);
	(void)prepare_scene_begin(scene, "gpu", UID2);
	(void)prepare_scene_begin(scene, "nic", UID1);
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	stage_settle(&scene->dra.stage, "");
	(void)prepare_scene_begin(scene, "nic", UID1);
	for (int i = 0; i < 2; i++) {
		fake_client_choose(scene->dra.node.client, "/nic");
		dra_scene_answer(&scene->dra, "nic", UID1, nic);
		stage_settle(&scene->dra.stage,
			     "ResourceClaim default/nic was unprepared meanwhile|");
	}
	dra_scene_answer(&scene->dra, "gpu", UID2, RESULT_OF("a", GPU_NAME));
	stage_settle(&scene->dra.stage, "changed " GPU "|prepared gpu: " GPU "|");
	/* A pod that wants it after that gets it. */
	dra_scene_answer(&scene->dra, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
}

/* --- the disk --------------------------------------------------------------------------------- */

/* A claim without files for the runtime is not prepared, and its device not in use. */
static void files_cannot_be_written(void **state)
{
	struct prepare_scene *scene = *state;
	auto_free char *start =
		xasprintf("ResourceClaim default/nic: CDI file in '%s': ", scene->dra.cdi_dir);

	folder_put(&scene->dra.stage.folder, "cdi", "");
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_rest(&scene->dra.stage);
	assert_memory_equal(str_cstr(&scene->dra.stage.log), start, strlen(start));
	str_clear(&scene->dra.stage.log);
	prepare_scene_assert_nothing(scene);
	assert_int_equal(unlink(scene->dra.cdi_dir), 0);
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
}

static void checkpoint_cannot_be_written(void **state)
{
	struct prepare_scene *scene = *state;

	folder_put(&scene->dra.stage.folder, "kubelet/plugins/hostdev.io", "");
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_rest(&scene->dra.stage);
	assert_non_null(strstr(str_cstr(&scene->dra.stage.log), "Not a directory"));
	str_clear(&scene->dra.stage.log);
	prepare_scene_assert_nothing(scene);
}

/* --- the next agent --------------------------------------------------------------------------- */

static void next_agent_knows(void **state)
{
	struct prepare_scene *scene = *state;
	const struct prepared_claim *claim = NULL;

	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	prepare_scene_restart(scene, BOOT);
	prepare_scene_assert_files(scene, 1);
	assert_int_equal(prepare_again(scene->prepare, UID1, &claim, NULL), 0);
	assert_string_equal(claim->devices.items[0].id, NIC);
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	stage_settle(&scene->dra.stage, "changed " NIC "|");
	prepare_scene_assert_nothing(scene);
}

#define SAYS_FAILED \
	"{'driver':'hostdev.io','pool':'node1','device':'pci-" NIC_NAME "','conditions':[]}"

/* A claim with this in status.devices is prepared by an agent that ends at once. */
static void prepare_told(struct prepare_scene *scene, const char *entries)
{
	auto_free char *text =
		xasprintf("{'metadata':{'name':'nic','namespace':'default','uid':'" UID1 "'},"
			  "'status':{'allocation':{'devices':{'results':[%s]}},'devices':[%s]}}",
			  nic, entries);

	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	(void)prepare_scene_begin(scene, "nic", UID1);
	fake_client_answer(scene->dra.node.client, 200, text);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	dra_scene_assert_told(&scene->dra.told, "prepared nic|");
	prepare_scene_restart(scene, BOOT);
}

/* It may have ended before it has removed the entry. The API server is asked only about such
 * claims. */
static void next_agent_checks_what_is_told(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_told(scene, SAYS_FAILED);
	dra_scene_assert_told(&scene->dra.told, "check nic " UID1 "|");
	prepare_scene_restart(scene, BOOT);
	dra_scene_assert_told(&scene->dra.told, "check nic " UID1 "|");
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	stage_settle(&scene->dra.stage, "changed " NIC "|");
	dra_scene_assert_told(&scene->dra.told, "unprepared " UID1 "|");
	prepare_told(scene, "");
	dra_scene_assert_told(&scene->dra.told, "");
}

/* The kubelet prepares again what its pods need. */
static void reboot_forgets(void **state)
{
	struct prepare_scene *scene = *state;

	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	prepare_scene_restart(scene, "b00t-2");
	prepare_scene_assert_nothing(scene);
	assert_null(prepare_holder(scene->prepare, NIC));
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
}

/* /var/run/cdi was emptied while no agent ran. */
static void next_agent_restores_files(void **state)
{
	struct prepare_scene *scene = *state;
	auto_free char *path = xasprintf("%s/hostdev.io-device_" UID1 ".json", scene->dra.cdi_dir);
	auto_free char *before = NULL;
	auto_free char *after = NULL;

	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	before = read_file(scene->dra.cdi_dir, "hostdev.io-device_" UID1 ".json");
	scene->prepare = prepare_free(scene->prepare);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(scene->dra.cdi_dir), 0);
	prepare_scene_open(scene, BOOT);
	prepare_scene_assert_files(scene, 1);
	after = read_file(scene->dra.cdi_dir, "hostdev.io-device_" UID1 ".json");
	assert_string_equal(after, before);
}

/* --- files under a running pod ---------------------------------------------------------------- */

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Without time going by. */
static void await_file(struct prepare_scene *scene, const char *path)
{
	while (!is_there(path))
		stage_turn(&scene->dra.stage);
}

static void wiped_files_come_back(void **state)
{
	struct prepare_scene *scene = *state;
	auto_free char *path = xasprintf("%s/hostdev.io-device_" UID1 ".json", scene->dra.cdi_dir);

	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(unlink(path), 0);
		await_file(scene, path);
	}
	/* The folder, too. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(scene->dra.cdi_dir), 0);
	await_file(scene, path);
	/* And not what is not prepared any more. */
	assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	fake_clock_advance(scene->dra.stage.fake, KUBELET_POLL_MS);
	stage_settle(&scene->dra.stage, "changed " NIC "|");
	assert_false(is_there(path));
}

/* As long as they cannot be written, it is tried again. */
static void wiped_files_come_back_later(void **state)
{
	struct prepare_scene *scene = *state;
	auto_free char *path = xasprintf("%s/hostdev.io-device_" UID1 ".json", scene->dra.cdi_dir);

	log_set_level(LOG_ERROR + 1);
	prepare_scene_prepare(scene, "nic", UID1, nic);
	stage_settle(&scene->dra.stage, "changed " NIC "|prepared nic: " NIC "|");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(scene->dra.cdi_dir), 0);
	folder_put(&scene->dra.stage.folder, "cdi", "");
	stage_rest(&scene->dra.stage);
	fake_clock_advance(scene->dra.stage.fake, KUBELET_POLL_MS);
	stage_rest(&scene->dra.stage);
	assert_int_equal(unlink(scene->dra.cdi_dir), 0);
	fake_clock_advance(scene->dra.stage.fake, KUBELET_POLL_MS);
	stage_rest(&scene->dra.stage);
	assert_true(is_there(path));
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a claim is prepared", claim_is_prepared, NULL);
	suite_add(&suite, "requests are kept apart", requests_are_kept_apart, NULL);
	suite_add(&suite, "a group goes to one claim", group_in_one_claim, NULL);
	suite_add(&suite, "results of other drivers are theirs", results_of_others_are_theirs,
		  NULL);
	suite_add(&suite, "a claim of a template has a name in the pod",
		  template_has_a_name_in_the_pod, NULL);
	suite_rows(&suite, refused, refused_with_a_reason);
	suite_rows(&suite, accepted, accepted_with_configuration);
	suite_rows(&suite, devices, device_cannot_be_had);
	suite_add(&suite, "other groups do not matter", other_groups_do_not_matter, NULL);
	suite_add(&suite, "the list may still say that the group is taken",
		  list_may_still_say_that_the_group_is_taken, NULL);
	suite_rows(&suite, answers, answer_of_the_api_server);
	suite_add(&suite, "the claim is told the result", claim_is_told_the_result, NULL);
	suite_add(&suite, "the next agent checks what is told", next_agent_checks_what_is_told,
		  NULL);
	suite_add(&suite, "another claim is told nothing", another_claim_is_told_nothing, NULL);
	suite_add(&suite, "a claim is replaced under its name", replaced_under_its_name, NULL);
	suite_add(&suite, "a prepared claim needs no API server",
		  prepared_claim_needs_no_api_server, NULL);
	suite_add(&suite, "two jobs of one claim prepare it once", two_jobs_of_one_claim, NULL);
	suite_add(&suite, "two claims race for a device", two_claims_race_for_a_device, NULL);
	suite_add(&suite, "a cancelled job does nothing", cancelled_job_does_nothing, NULL);
	suite_add(&suite, "a claim is undone without the API server", undone_without_the_api_server,
		  NULL);
	suite_add(&suite, "a claim is undone while it is prepared", undone_while_it_is_prepared,
		  NULL);
	suite_add(&suite, "files that cannot be written", files_cannot_be_written, NULL);
	suite_add(&suite, "a checkpoint that cannot be written", checkpoint_cannot_be_written,
		  NULL);
	suite_add(&suite, "the next agent knows what is prepared", next_agent_knows, NULL);
	suite_add(&suite, "a reboot forgets what was prepared", reboot_forgets, NULL);
	suite_add(&suite, "the next agent restores files", next_agent_restores_files, NULL);
	suite_add(&suite, "wiped files come back at once", wiped_files_come_back, NULL);
	suite_add(&suite, "wiped files come back when they can", wiped_files_come_back_later, NULL);
	return suite_run(&suite, "prepare");
}
