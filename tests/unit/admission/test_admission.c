/* admission: the lists that are asked for, and what is answered before and after they are read. */
#include "controller/admission/admission.h"

#include <string.h>

#include "base/err.h"
#include "controller/views/views.h"
#include "controller/webhook/admission_answer.h"
#include "controller/webhook/admission_review.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/informer.h"
#include "unit/suite.h"

#define EMPTY "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"
#define DEVICES                                                                                         \
	"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"n-000001000\"," \
	"\"uid\":\"u\"},\"status\":{\"address\":\"0000:01:00.0\",\"nodeName\":\"n\",\"iommuGroup\":"    \
	"\"1\",\"resourceName\":\"x.com/a\"}}]}"

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct views *views;
	struct admission *admission;
};

/* Its listener is what counts here. */
static void on_change(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		      const struct entry *after)
{
	(void)arg;
	(void)kind;
	(void)name;
	(void)before;
	(void)after;
}

static void on_synced(void *arg)
{
	(void)arg;
}

static void open_bench(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(), .clock = fake_clock_new() };
	b->views = views_new(&(struct informer_deps){ .client = b->client,
						      .clock = fake_clock_as_clock(b->clock) },
			     &(struct views_spec){ .machines = true,
						   .on_change = on_change,
						   .on_synced = on_synced });
	b->admission = admission_new(&(struct admission_options){ .views = b->views });
}

static void close_bench(struct bench *b)
{
	admission_free(b->admission);
	views_free(b->views);
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static void answer_list(struct bench *b, const char *part, const char *body)
{
	fake_client_choose(b->client, part);
	fake_client_answer(b->client, 200, body);
}

static const char *const lists[] = {
	"/pcideviceclaims?", "/usbdeviceclaims?", "/usbdevices?",          "/api/v1/nodes?",
	"/sriovgpudevices?", "/vgpudevices?",     "/sriovnetworkdevices?",
};

static bool is_ready(const struct bench *b, struct err *err)
{
	const struct admission_rules *rules = admission_rules(b->admission);

	return rules->ready(rules->arg, err);
}

static void ask(const struct bench *b, struct admission_answer *ret_answer)
{
	const struct admission_rules *rules = admission_rules(b->admission);
	json_t *claim = json_pack("{s:{s:s}}", "metadata", "name", "n-000001000");
	struct admission_request request = { .uid = "1",
					     .group = "devices.harvesterhci.io",
					     .version = "v1beta1",
					     .resource = "pcideviceclaims",
					     .subresource = "",
					     .name = "n-000001000",
					     .ns = "",
					     .user = "alice",
					     .operation = ADMISSION_CREATE,
					     .object = claim };

	admission_answer_init(ret_answer);
	rules->mutate(rules->arg, &request, ret_answer);
	rules->validate(rules->arg, &request, ret_answer);
	json_decref(claim);
}

static void it_is_ready_once_all_is_read(void **state)
{
	struct admission_answer answer;
	struct bench *b = *state;
	struct err err = { 0 };

	assert_int_equal(fake_client_open(b->client),
			 13); /* what pools and nodes need among them */
	assert_false(is_ready(b, &err));
	assert_non_null(strstr(err.msg, "pcidevices"));
	ask(b, &answer);
	assert_int_equal(answer.code, 503);
	admission_answer_done(&answer);

	answer_list(b, "/pcidevices?", DEVICES);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		assert_false(is_ready(b, NULL));
		answer_list(b, lists[i], EMPTY);
	}
	assert_false(is_ready(b, &err));
	assert_non_null(strstr(err.msg, "virtualmachines"));
	fake_client_choose(b->client, "/apis/kubevirt.io/v1/virtualmachines?");
	fake_client_answer(b->client, 404, "404 page not found\n"); /* KubeVirt is not installed */
	assert_true(is_ready(b, &err));
	ask(b, &answer);
	assert_true(answer.allowed);
	assert_int_equal(json_array_size(answer.patch), 3); /* spec, owners, the owner */
	admission_answer_done(&answer);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "it is ready once all is read", it_is_ready_once_all_is_read, NULL);
	return suite_run(&suite, "admission");
}
