/* offers: a device is offered once, by DRA or to the kubelet, and one of both has it at a time. */
#include "agent/config/config.h"
#include "agent/dra/dra_codec.h"
#include "agent/resource/offers.h"
#include "api/pcidevice.h"
#include "base/array.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/kubelet/dra_client.h"
#include "unit/resource/offers_scene.h"

#define UID      "11111111-aaaa-4bbb-8ccc-000000000001"
#define PREPARE  "NodePrepareResources"
#define UNDO     "NodeUnprepareResources"
#define NIC_NAME "pci-0000-01-00-0"

struct dra {
	struct scene *scene;
	char *path, *cdi_dir;
	struct grpc_uv_client *client;
	struct config_pci entry;
	struct config config;
	struct str results;
};

static void dra_begin(struct dra *dra)
{
	struct scene *scene = dra->scene;

	scene->offers =
		offers_new(&scene->node.this_node, &(struct offers_deps){
							   .claims = scene->node.claims,
							   .devices = scene->node.devices,
							   .options = { .cdi_dir = dra->cdi_dir },
							   .changed = on_changed,
							   .arg = scene,
						   });
	offers_set_config(scene->offers, &dra->config);
	offers_update(scene->offers);
	pass(scene, 1000);
	str_clear(&scene->stage.log);
}

/* With a claimed NIC that an entry gives to DRA. */
static void dra_init(struct dra *dra)
{
	struct scene *scene = scene_new();

	dra->scene = scene;
	dra->path = folder_path(&scene->stage.folder, "plugins/hostdev.io/dra.sock");
	dra->cdi_dir = folder_path(&scene->stage.folder, "cdi");
	dra->client = grpc_uv_client_new(&scene->stage.loop, dra->path, NULL);
	dra->entry = (struct config_pci){ .resource = pods_unconst("a.io/nic"),
					  .vendor = 0x8086,
					  .device = 0x10d3,
					  .dra = CONFIG_DRA_CLAIMED };
	dra->config = (struct config){ .pci = { .items = &dra->entry, .len = 1 } };
	scene->node.this_node.client = fake_client_new();
	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	dra_begin(dra);
}

static void dra_done(struct dra *dra)
{
	struct kube_client *client = dra->scene->node.this_node.client;

	grpc_uv_client_free(dra->client);
	dra->scene->offers = offers_free(dra->scene->offers);
	kube_client_free(client);
	scene_free(dra->scene);
	free(dra->path);
	free(dra->cdi_dir);
	str_done(&dra->results);
}

SUITE_FIXTURE(dra, struct dra, dra_init, dra_done);

static void on_message(void *arg, const char *data, size_t len)
{
	struct dra *dra = arg;
	struct dra_results results = { 0 };

	assert_int_equal(dra_codec_read_prepared(data, len, &results, NULL), 0);
	assert_int_equal(results.len, 1);
	for (size_t i = 0; i < results.items[0].devices.len; i++)
		str_addf(&dra->results, "%s/%s|", results.items[0].devices.items[i].pool,
			 results.items[0].devices.items[i].device);
	str_addf(&dra->results, "%s|", str_or_empty(results.items[0].error));
	dra_results_done(&results);
}

static void on_end(void *arg, const struct grpc_result *result)
{
	(void)arg;
	assert_int_equal(result->status, GRPC_OK);
}

static void call(struct dra *dra, const char *method)
{
	auto_free char *path = xasprintf("/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/%s", method);
	struct dra_claims claims = { 0 };
	auto_str struct str data = STR_INIT;
	struct grpc_request request = {
		.path = path, .on_message = on_message, .on_end = on_end, .arg = dra
	};

	*array_add(&claims) = (struct dra_claim){ .ns = xstrdup("default"),
						  .name = xstrdup("nic"),
						  .uid = xstrdup(UID) };
	assert_int_equal(dra_codec_write_claims(&claims, &data, NULL), 0);
	dra_claims_done(&claims);
	request.data = str_cstr(&data);
	request.len = data.len;
	assert_int_equal(grpc_uv_client_call(dra->client, &request, NULL, NULL), 0);
	settle(dra->scene);
}

/* A failure is told in the claim's status; this API server refuses that. */
static void refuse_status(const struct dra *dra)
{
	struct kube_client *client = dra->scene->node.this_node.client;

	if (fake_client_open(client) == 0)
		return;
	assert_string_equal(fake_client_request(client)->method, "PATCH");
	fake_client_answer(client, 403, "{}");
	settle(dra->scene);
}

/* @wanted: how it ends. */
static void prepare(struct dra *dra, const char *wanted)
{
	call(dra, PREPARE);
	fake_client_answer(dra->scene->node.this_node.client, 200,
			   "{\"kind\":\"ResourceClaim\",\"apiVersion\":\"resource.k8s.io/v1\","
			   "\"metadata\":{\"name\":\"nic\",\"namespace\":\"default\","
			   "\"uid\":\"" UID "\"},\"status\":{\"allocation\":{\"devices\":{"
			   "\"results\":[{\"request\":\"a\",\"driver\":\"hostdev.io\","
			   "\"pool\":\"node1\",\"device\":\"" NIC_NAME "\"}]}}}}");
	settle(dra->scene);
	assert_string_equal(str_cstr(&dra->results), wanted);
	str_clear(&dra->results);
	refuse_status(dra);
}

static void undo(struct dra *dra)
{
	call(dra, UNDO);
	assert_non_null(strchr(str_cstr(&dra->results), '|'));
	str_clear(&dra->results);
}

/* Many claims make one. */
static void wait_for_update(struct dra *dra)
{
	pass(dra->scene, 60);
}

static void claim_holds_its_device(void **state)
{
	struct dra *dra = *state;
	struct json_strs ids = { 0 };

	assert_null(dra->scene->kubelet.stream);
	assert_holder(dra->scene, "free");
	prepare(dra, "node1/" NIC_NAME "||");
	assert_holder(dra->scene, "ResourceClaim default/nic");
	assert_false(told(dra->scene, "changed"));
	wait_for_update(dra);
	assert_true(told(dra->scene, "changed " NIC "|"));
	offers_ids(dra->scene->offers, &ids);
	assert_true(json_strs_has(&ids, NIC));
	json_strs_done(&ids);
	undo(dra);
	assert_holder(dra->scene, "free");
	wait_for_update(dra);
	assert_true(told(dra->scene, "changed " NIC "|"));
}

/* "default/vm-1/main by nic, ..."; "?": it is not known. */
static void assert_holders(struct dra *dra, const char *wanted)
{
	const struct pcidevice_allocations *list = offers_allocations(dra->scene->offers, NIC);
	auto_str struct str text = STR_INIT;

	for (size_t i = 0; list && i < list->len; i++) {
		const struct pcidevice_allocation *a = &list->items[i];

		str_addf(&text, "%s%s/%s/%s by %s", i ? ", " : "", a->namespace, a->pod,
			 a->container, a->resource_claim ? a->resource_claim : "the plugin");
	}
	assert_string_equal(list ? str_cstr(&text) : "?", wanted);
}

/* As the kubelet lists the device of the claim. */
static void list_claimed(struct dra *dra, const char *pod, const char *claim, const char *device)
{
	struct scene *scene = dra->scene;

	assert_true(scene->listed_len < ARRAY_LEN(scene->listed));
	scene->listed[scene->listed_len++] =
		(struct pod_device){ "hostdev.io", device, "default", pod, "main", claim };
}

static void pods_of_a_claim_are_known(void **state)
{
	struct dra *dra = *state;

	assert_holders(dra, "");
	prepare(dra, "node1/" NIC_NAME "||");
	list_claimed(dra, "vm-1", "nic", NIC_NAME);
	str_clear(&dra->scene->stage.log);
	pass(dra->scene, 1000);
	assert_holders(dra, "default/vm-1/main by nic");
	assert_true(told(dra->scene, "changed " NIC "|"));
	list_claimed(dra, "vm-2", "nic", NIC_NAME); /* shares the claim */
	pass(dra->scene, 31000);
	assert_holders(dra, "default/vm-1/main by nic, default/vm-2/main by nic");
	assert_holder(dra->scene, "ResourceClaim default/nic");
}

/* The kubelet's list is older than the end of the claim. */
static void claim_that_has_ended_has_no_pods(void **state)
{
	struct dra *dra = *state;

	prepare(dra, "node1/" NIC_NAME "||");
	list_claimed(dra, "vm-1", "nic", NIC_NAME);
	pass(dra->scene, 1000);
	undo(dra);
	assert_holders(dra, "");
	pass(dra->scene, 1000);
	assert_holders(dra, "");
	assert_holder(dra->scene, "free");
	prepare(dra, "node1/" NIC_NAME "||"); /* the next pod does not wait for the next list */
	pass(dra->scene, 1000);
	assert_holders(dra, "default/vm-1/main by nic");
}

/* Of claims that are not prepared, and of devices that the claim does not have. */
static void other_claims_do_not_count(void **state)
{
	struct dra *dra = *state;

	prepare(dra, "node1/" NIC_NAME "||");
	list_claimed(dra, "vm-1", "other", NIC_NAME);
	list_claimed(dra, "vm-1", "nic", "pci-0000-02-00-0");
	pass(dra->scene, 1000);
	assert_holders(dra, "");
}

static void pods_of_a_claim_are_not_known_yet(void **state)
{
	struct dra *dra = *state;

	prepare(dra, "node1/" NIC_NAME "||");
	dra->scene->pods = grpc_uv_server_free(dra->scene->pods);
	dra->scene->offers = offers_free(dra->scene->offers);
	settle(dra->scene);
	list_claimed(dra, "vm-1", "nic", NIC_NAME);
	dra_begin(dra);
	assert_holders(dra, "?");
	pods_serve(dra->scene);
	pass(dra->scene, 31000);
	assert_holders(dra, "default/vm-1/main by nic");
}

static void container_gets_what_the_plugin_would_give(void **state)
{
	struct dra *dra = *state;
	auto_free char *path = xasprintf("%s/hostdev.io-device_" UID ".json", dra->cdi_dir);
	auto_free char *text = xcalloc(1, 1 << 16);
	auto_close int fd = -1;

	prepare(dra, "node1/" NIC_NAME "||");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, (1 << 16) - 1) > 0);
	assert_non_null(strstr(text, "{\"path\":\"/dev/vfio/vfio\",\"permissions\":\"mrw\"},"
				     "{\"path\":\"/dev/vfio/12\",\"permissions\":\"mrw\"}"));
	assert_non_null(strstr(text, "=" NIC "\"]}"));
}

/* The entry is gone, or says that the device plugin offers them: not before the claim is. */
static void mode_is_off_while_a_claim_has_it(void **state)
{
	struct dra *dra = *state;

	prepare(dra, "node1/" NIC_NAME "||");
	dra->entry.dra = CONFIG_DRA_OFF;
	offers_update_soon(dra->scene->offers);
	pass(dra->scene, 3000);
	assert_null(dra->scene->kubelet.stream);
	undo(dra);
	wait_for_update(dra);
	await_stream(dra->scene);
}

/* A pod got it from the kubelet before. */
static void mode_is_on_while_a_pod_has_it(void **state)
{
	struct dra *dra = *state;

	dra->entry.dra = CONFIG_DRA_OFF;
	offers_update_soon(dra->scene->offers);
	await_stream(dra->scene);
	allocate(dra->scene);
	dra->entry.dra = CONFIG_DRA_CLAIMED;
	offers_update_soon(dra->scene->offers);
	pass(dra->scene, 1000);
	prepare(dra,
		"ResourceClaim default/nic: device '" NIC_NAME
		"' is not offered here now: it is gone, a pod has it by its device plugin, "
		"its PCIDeviceClaim or USBDeviceClaim is deleted, or the HostDeviceConfig does not select it|");
}

/* The agent has just begun: a pod that the kubelet will name may have the device. */
static void kubelet_has_not_answered(void **state)
{
	struct dra *dra = *state;

	dra->scene->pods = grpc_uv_server_free(dra->scene->pods);
	dra->scene->offers = offers_free(dra->scene->offers);
	settle(dra->scene);
	dra_begin(dra);
	prepare(dra,
		"ResourceClaim default/nic: device '" NIC
		"' is in use by a pod, perhaps: the kubelet has not listed its pods yet; it is "
		"free when the pod has ended|");
	pass(dra->scene, 15000);
	prepare(dra, "node1/" NIC_NAME "||");
}

static void unhealthy_device_is_refused(void **state)
{
	struct dra *dra = *state;
	auto_free char *node = folder_path(&dra->scene->node.folder, "dev/vfio/12");

	assert_int_equal(unlink(node), 0);
	prepare(dra, "ResourceClaim default/nic: device '" NIC
		     "' is not ready: /dev/vfio/12 is not there|");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &dra_fixture);
	suite_add(&suite, "a claim holds its device", claim_holds_its_device, NULL);
	suite_add(&suite, "the pods of a claim are known", pods_of_a_claim_are_known, NULL);
	suite_add(&suite, "a claim that has ended has no pods", claim_that_has_ended_has_no_pods,
		  NULL);
	suite_add(&suite, "other claims do not count", other_claims_do_not_count, NULL);
	suite_add(&suite, "the pods of a claim are not known yet",
		  pods_of_a_claim_are_not_known_yet, NULL);
	suite_add(&suite, "a container gets what the device plugin would give",
		  container_gets_what_the_plugin_would_give, NULL);
	suite_add(&suite, "the mode is off while a claim has it", mode_is_off_while_a_claim_has_it,
		  NULL);
	suite_add(&suite, "the mode is on while a pod has it", mode_is_on_while_a_pod_has_it, NULL);
	suite_add(&suite, "the kubelet has not listed its pods yet", kubelet_has_not_answered,
		  NULL);
	suite_add(&suite, "a device without its node is refused", unhealthy_device_is_refused,
		  NULL);
	return suite_run(&suite, "offers_dra");
}
