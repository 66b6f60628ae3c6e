/*
 * fuzz_admission_rules: any review about a small cluster. An answer comes, a refusal says why, and
 * a patch is made of steps that the API server takes.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/json_map.h"
#include "base/err.h"
#include "base/json_read.h"
#include "controller/admission/known.h"
#include "controller/admission/resources.h"
#include "controller/admission/rules.h"
#include "controller/webhook/admission_review.h"
#include "kube/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* clang-format off */
#define META(name) "\"metadata\":{\"name\":\"" name "\",\"uid\":\"u\"}"
#define AT(address) "\"address\":\"" address "\",\"nodeName\":\"n\",\"iommuGroup\":\"1\",\"resourceName\":\"x.com/a\""
static const struct {
	enum view_kind kind;
	const char *text;
} objects[] = {
	{ VIEW_NODE, "{" META("n") "}" },
	{ VIEW_PCIDEVICE, "{" META("n-000001000") ",\"status\":{" AT("0000:01:00.0")
	  ",\"iommuGroupMembers\":[\"0000:01:00.0\",\"0000:01:00.1\"],\"totalVFs\":4}}" },
	{ VIEW_PCIDEVICE, "{" META("n-000001001") ",\"status\":{" AT("0000:01:00.1")
	  ",\"physicalFunction\":\"0000:01:00.0\",\"allocations\":[{\"pod\":\"p\"}]}}" },
	{ VIEW_PCICLAIM, "{" META("n-000001001") ",\"spec\":{\"userName\":\"bob\"}}" },
	{ VIEW_USBDEVICE, "{" META("s") ",\"status\":{\"nodeName\":\"n\",\"pciAddress\":\"0000:01:00.0\",\"portPath\":\"1-2\"}}" },
	{ VIEW_USBCLAIM, "{" META("t") ",\"status\":{\"nodeName\":\"n\",\"portPath\":\"1-2\"}}" },
	{ VIEW_VGPU, "{" META("n-000001001") ",\"spec\":{\"enabled\":true,\"nodeName\":\"n\",\"parentGPUDeviceAddress\":\"0000:01:00.0\"}}" },
	{ VIEW_VM, "{\"metadata\":{\"name\":\"v\",\"namespace\":\"d\"},\"spec\":{\"template\":{\"spec\":{\"domain\":{\"devices\":"
	  "{\"hostDevices\":[{\"name\":\"n-000001000\"}]}}}}}}" },
};
/* clang-format on */

static void ignore_change(void *arg, const struct entry *before, const struct entry *after)
{
	(void)arg;
	(void)before;
	(void)after;
}

/* Made once: the fuzzer looks for leaks of each input. */
static const struct known *cluster(void)
{
	static struct api_kind kinds[VIEW_KINDS];
	static struct store *stores[VIEW_KINDS];
	static const struct store *seen[VIEW_KINDS];
	static struct known known;
	static struct resources *resources;

	if (resources)
		return &known;
	resources = resources_new();
	resources_add(resources, "x.com/a");
	known.resources = resources;
	known.stores = seen;
	for (int i = 0; i < VIEW_KINDS; i++) {
		kinds[i] = view_kind((enum view_kind)i);
		stores[i] = store_new(&kinds[i]);
		seen[i] = stores[i];
		known.synced[i] = true;
	}
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		enum view_kind kind = objects[i].kind;
		struct json_text all = { objects[i].text, strlen(objects[i].text) };
		struct entry *entry = entry_decode(&kinds[kind], &all, NULL);

		assert(entry && entry->object);
		store_put(stores[kind], entry, ignore_change, NULL);
	}
	return &known;
}

static void check_answer(struct admission_answer *answer)
{
	assert(answer->allowed || (answer->message.len > 0 && answer->code >= 400));
	for (size_t i = 0; i < json_array_size(answer->patch); i++) {
		const json_t *step = json_array_get(answer->patch, i);

		assert(json_string_value(json_object_get(step, "op")));
		assert(*json_string_value(json_object_get(step, "path")) == '/');
	}
	admission_answer_done(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct admission_review review = { 0 };
	struct admission_answer answer;

	if (admission_review_parse((const char *)data, size, &review, NULL) < 0)
		return 0;
	admission_answer_init(&answer);
	rules_mutate(cluster(), &review.request, &answer);
	assert(answer.allowed);
	check_answer(&answer);
	admission_answer_init(&answer);
	rules_validate(cluster(), &review.request, &answer);
	check_answer(&answer);
	admission_review_done(&review);
	return 0;
}
