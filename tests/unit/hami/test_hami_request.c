/* hami_request: the scheduler's choice for a pod, which container an entry is for by all releases'
 * rules, and texts that no scheduler writes. */
#include "agent/hami/hami_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

#define ONE "GPU-a,NVIDIA,3000,30:"
#define TWO "GPU-a,NVIDIA,3000,30:GPU-b,NVIDIA,3000,30:"

/* --- reading ---------------------------------------------------------------------------------- */

static struct text_case {
	const char *name;
	const char *text;
	const char *read; /* "GPU-a 3000 30 | ..." with ';' after each entry, or the error */
} texts[] = {
	{ "two GPUs for one container, one for another", TWO ";GPU-a,NVIDIA,10240,0:;",
	  "GPU-a 3000 30 GPU-b 3000 30 ; GPU-a 10240 0 ; " },
	{ "empty entries", ";;" ONE ";", "; ; GPU-a 3000 30 ; " },
	{ "blank entries of early releases", ",,0,0:;" ONE ";", "; GPU-a 3000 30 ; " },
	{ "an entry whose last share has no ':'", "GPU-a,NVIDIA,1,0;", "GPU-a 1 0 ; " },
	{ "a model's word", "GPU-a,NVIDIA A100-SXM4-40GB,1,0:;", "GPU-a 1 0 ; " },
	{ "nothing", "", "" },
	{ "no annotation", NULL, "the pod has no annotation hami.io/vgpu-devices-to-allocate" },
	{ "semicolons only", ";;;;", "; ; ; ; " },
	{ "no ';' at the end", ONE, "it does not end in ';'" },
	{ "negative memory", "GPU-a,NVIDIA,-1,0:;", "not a size of memory in MiB: '-1'" },
	{ "no memory, which would be no limit", "GPU-a,NVIDIA,0,0:;",
	  "not a size of memory in MiB: '0'" },
	{ "memory that no GPU has", "GPU-a,NVIDIA,99999999999999999999,0:;",
	  "not a size of memory in MiB" },
	{ "memory with a unit", "GPU-a,NVIDIA,3Gi,0:;", "not a size of memory in MiB: '3Gi'" },
	{ "negative cores", "GPU-a,NVIDIA,1,-5:;", "not a percentage of a GPU: '-5'" },
	{ "a field too few", "GPU-a,NVIDIA,1:;", "expected UUID,TYPE,MEMORY,CORES" },
	{ "a field too many", "GPU-a,NVIDIA,1,2,3:;", "expected UUID,TYPE,MEMORY,CORES" },
	{ "a path for a UUID", "GPU-../../etc,NVIDIA,1,0:;", "not the UUID of a GPU" },
	{ "an empty UUID", ",NVIDIA,1,0:;", "not the UUID of a GPU: ''" },
	{ "all", "all,NVIDIA,1,0:;", "not the UUID of a GPU: 'all'" },
	{ "a comma list in disguise", "GPU-a\n,NVIDIA,1,0:;", "not the UUID of a GPU" },
	{ "another vendor's", "GPU-a,MLU,1,0:;", "not a GPU of NVIDIA: 'MLU'" },
	{ "a part of a MIG GPU", "GPU-a[1-0],NVIDIA,1,0:;", "MIG mode" },
	{ "the same GPU twice", "GPU-a,NVIDIA,1,0:GPU-a,NVIDIA,1,0:;", "is there twice" },
	{ "the same GPU for two containers", "GPU-a,NVIDIA,1,0:;GPU-a,NVIDIA,1,0:;",
	  "GPU-a 1 0 ; GPU-a 1 0 ; " },
	{ "an empty share", "GPU-a,NVIDIA,1,0::;", "expected UUID,TYPE,MEMORY,CORES, got ''" },
	{ "the error says which entry", ";x;", "hami.io/vgpu-devices-to-allocate: entry 2: " },
};

static void text_matches_table(void **state)
{
	const struct text_case *c = *state;
	struct hami_request request;
	struct err err = { 0 };
	struct str out = STR_INIT;

	if (hami_request_parse(c->text, &request, &err) < 0) {
		assert_int_equal(err.kind, ERR_INVALID);
		assert_non_null(strstr(err.msg, c->read));
		return;
	}
	for (size_t i = 0; i < request.len; i++) {
		for (size_t k = 0; k < request.items[i].len; k++) {
			const struct hami_share *share = &request.items[i].items[k];

			str_addf(&out, "%s %llu %llu ", share->uuid,
				 (unsigned long long)share->memory_mib,
				 (unsigned long long)share->cores);
		}
		str_add(&out, "; ");
	}
	assert_string_equal(str_cstr(&out), c->read);
	str_done(&out);
	hami_request_done(&request);
}

static char *repeated(const char *text, size_t times, const char *end)
{
	struct str out = STR_INIT;

	for (size_t i = 0; i < times; i++)
		str_add(&out, text);
	str_add(&out, end);
	return str_detach(&out);
}

static void refuse(char *text, const char *why)
{
	struct hami_request request;
	struct err err = { 0 };

	assert_true(hami_request_parse(text, &request, &err) < 0);
	assert_non_null(strstr(err.msg, why));
	free(text);
}

static void sizes_are_bounded(void **state)
{
	struct hami_request request;
	struct err err = { 0 };
	char *most = repeated(";", HAMI_ENTRIES_MAX, "");
	struct str gpus = STR_INIT;

	assert_int_equal(hami_request_parse(most, &request, &err), 0);
	assert_int_equal(request.len, HAMI_ENTRIES_MAX);
	hami_request_done(&request);
	free(most);
	refuse(repeated(";", HAMI_ENTRIES_MAX + 1, ""), "more than 256 containers");
	refuse(repeated("x", 1 << 20, ""), "more than 65536 bytes");
	for (int i = 0; i <= HAMI_SHARES_MAX; i++)
		str_addf(&gpus, "GPU-%d,NVIDIA,1,0:", i);
	str_add(&gpus, ";");
	refuse(str_detach(&gpus), "more than 64 GPUs for one container");
}

/* --- which is next ---------------------------------------------------------------------------- */

/* A pod: a letter is a container that requests one GPU, a capital one for two, '-' for none. */
static struct next_case {
	const char *name;
	const char *pod;
	const char *text;
	const char *order; /* the containers served, one after the other; then the error */
} nexts[] = {
	{ "one container", "a", ONE ";", "a: all of" },
	{ "by position, with empty entries", "-a-b", ";" ONE ";;" ONE ";", "ab: all of" },
	{ "without entries for those that get nothing", "-a-b", ONE ";" ONE ";", "ab: all of" },
	{ "with blank ones", "-a-b", ",,0,0:;" ONE ";,,0,0:;" ONE ";", "ab: all of" },
	{ "with blank ones for some of them only", "--a-b", ",,0,0:;" ONE ";" ONE ";",
	  "ab: all of" },
	{ "several GPUs", "A-b", TWO ";;" ONE ";", "Ab: all of" },
	{ "an init container and a side-car", "i-s-c", ONE ";" ONE ";" ONE ";", "isc: all of" },
	{ "more entries than requesters", "a-", ONE ";" ONE ";" ONE ";",
	  ": " HAMI_TO_ALLOCATE " has 3 entries" },
	{ "fewer", "ab-", ONE ";", ": " HAMI_TO_ALLOCATE " has 1 entries" },
	{ "an entry for a container that requests nothing", "a-", ";" ONE ";", ": " },
	{ "nothing was chosen", "a", ";", ": all of" },
	{ "no entries at all", "a", "", ": all of" },
	{ "two GPUs for one that requests one", "a", TWO ";", ": the kubelet requests 1 GPUs" },
	{ "one for one that requests two", "A", ONE ";", ": the kubelet requests 2 GPUs" },
	{ "a pod without containers", "", ONE ";", ": " HAMI_TO_ALLOCATE " has 1 entries" },
};

static size_t make_requesters(const char *pod, struct hami_requester requesters[8],
			      char names[8][2])
{
	size_t len = strlen(pod);

	for (size_t i = 0; i < len; i++) {
		names[i][0] = pod[i];
		names[i][1] = '\0';
		requesters[i] = (struct hami_requester){ names[i], pod[i] == '-'  ? 0
								   : pod[i] < 'a' ? 2
										  : 1 };
	}
	return len;
}

/* The next container in the order of the pod that requests and has not been served. */
static size_t kubelet_asks(const struct hami_requester *requesters, size_t len, size_t served)
{
	for (size_t i = 0; i < len; i++) {
		if (requesters[i].requests > 0 && served-- == 0)
			return requesters[i].requests;
	}
	return 1;
}

static void next_matches_table(void **state)
{
	const struct next_case *c = *state;
	struct hami_requester requesters[8];
	char names[8][2];
	size_t len = make_requesters(c->pod, requesters, names);
	struct str served = STR_INIT;
	struct err err = { 0 };
	char *text = xstrdup(c->text);
	size_t commas = 0;

	for (;;) {
		struct hami_request request;
		struct hami_next next;
		char *rest;

		assert_int_equal(hami_request_parse(text, &request, &err), 0);
		if (hami_request_next(&request, requesters, len,
				      kubelet_asks(requesters, len, served.len), &next, &err) < 0) {
			hami_request_done(&request);
			break;
		}
		str_add(&served, requesters[next.requester].name);
		rest = hami_request_without(&request, next.entry);
		assert_true(strlen(rest) < strlen(text));
		for (const char *s = rest; *s; s++)
			commas += *s == ';';
		for (const char *s = text; *s; s++)
			commas -= *s == ';';
		assert_int_equal(commas, 0);
		hami_request_done(&request);
		free(text);
		text = rest;
	}
	str_addf(&served, ": %s", err.msg);
	if (strncmp(str_cstr(&served), c->order, strlen(c->order)) != 0)
		assert_string_equal(str_cstr(&served), c->order);
	str_done(&served);
	free(text);
}

static void what_is_left_is_known(void **state)
{
	struct hami_request request;
	struct err err = { 0 };

	assert_int_equal(hami_request_parse(ONE ";;" TWO ";", &request, &err), 0);
	assert_true(hami_request_has_more(&request, 0));
	assert_true(hami_request_has_more(&request, 1));
	hami_request_done(&request);
	assert_int_equal(hami_request_parse(";,,0,0:;" TWO ";", &request, &err), 0);
	assert_false(hami_request_has_more(&request, 2));
	hami_request_done(&request);
}

static void a_wrong_number_may_be_another_pods_request(void **state)
{
	const struct hami_requester requester = { "a", 1 };
	struct hami_request request;
	struct err err = { 0 };
	struct hami_next next;

	assert_int_equal(hami_request_parse(ONE ";", &request, &err), 0);
	assert_int_equal(hami_request_next(&request, &requester, 1, 3, &next, &err), -ESTALE);
	assert_int_equal(hami_request_next(&request, &requester, 1, 1, &next, &err), 0);
	hami_request_done(&request);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, texts, text_matches_table);
	suite_add(&suite, "sizes are bounded", sizes_are_bounded, NULL);
	suite_rows(&suite, nexts, next_matches_table);
	suite_add(&suite, "what is left is known", what_is_left_is_known, NULL);
	suite_add(&suite, "a wrong number may be another pod's request",
		  a_wrong_number_may_be_another_pods_request, NULL);
	return suite_run(&suite, "hami_request");
}
