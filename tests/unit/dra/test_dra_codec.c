/* dra_codec: what a kubelet may send, and what it gets. */
#include "agent/dra/dra_codec.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "fake/kubelet/dra_client.h"
#include "unit/suite.h"

#define UID "11111111-aaaa-4bbb-8ccc-000000000001"

static void claim_add(struct dra_claims *claims, const char *ns, const char *name, const char *uid)
{
	*array_add(claims) =
		(struct dra_claim){ .ns = xstrdup(ns), .name = xstrdup(name), .uid = xstrdup(uid) };
}

static int round_trip(struct dra_claims *claims, struct dra_claims *ret_claims, struct err *err)
{
	auto_str struct str data = STR_INIT;

	assert_int_equal(dra_codec_write_claims(claims, &data, NULL), 0);
	dra_claims_done(claims);
	return dra_codec_read_claims(str_cstr(&data), data.len, ret_claims, err);
}

static void claims_are_read(void **state)
{
	struct dra_claims claims = { 0 };
	struct dra_claims read = { 0 };

	claim_add(&claims, "default", "nic", UID);
	claim_add(&claims, "kube-system", "gpu.of-vm", "2");
	assert_int_equal(round_trip(&claims, &read, NULL), 0);
	assert_int_equal(read.len, 2);
	assert_string_equal(read.items[0].ns, "default");
	assert_string_equal(read.items[0].name, "nic");
	assert_string_equal(read.items[0].uid, UID);
	assert_string_equal(read.items[1].ns, "kube-system");
	assert_string_equal(read.items[1].name, "gpu.of-vm");
	assert_string_equal(read.items[1].uid, "2");
	dra_claims_done(&read);
	assert_int_equal(dra_codec_read_claims("", 0, &read, NULL), 0);
	assert_int_equal(read.len, 0);
}

#define LONG_UID "0123456789012345678901234567890123456789012345678901234567890123"

static struct claim_case {
	const char *name;
	const char *ns;
	const char *claim;
	const char *uid;
	int code;
	const char *message;
} claim_cases[] = {
	{ "a UID that is as long as any", "default", "nic", LONG_UID, 0, "" },
	{ "a UID that is longer", "default", "nic", LONG_UID "4", -EINVAL,
	  "no ResourceClaim has the UID '" LONG_UID "4'" },
	{ "no UID", "default", "nic", "", -EINVAL, "no ResourceClaim has the UID ''" },
	{ "a UID that leads out of the folder", "default", "nic", "../../etc/cdi/x", -EINVAL,
	  "no ResourceClaim has the UID '../../etc/cdi/x'" },
	{ "a UID with a dot", "default", "nic", "a.json", -EINVAL,
	  "no ResourceClaim has the UID 'a.json'" },
	{ "a UID that no CDI device can begin with", "default", "nic", "-a", -EINVAL,
	  "no ResourceClaim has the UID '-a'" },
	{ "a UID that is no text", "default", "nic", "\xff\x01", -EINVAL,
	  "no ResourceClaim has the UID '\\xff\\x01'" },
	{ "no namespace", "", "nic", "a", -EINVAL, "no ResourceClaim has the namespace ''" },
	{ "a namespace with a slash", "a/b", "nic", "a", -EINVAL,
	  "no ResourceClaim has the namespace 'a/b'" },
	{ "a namespace that is too long", LONG_UID, "nic", "a", -EINVAL,
	  "no ResourceClaim has the namespace '" LONG_UID "'" },
	{ "no name", "default", "", "a", -EINVAL, "no ResourceClaim has the name ''" },
	{ "a name that leads elsewhere", "default", "../x", "a", -EINVAL,
	  "no ResourceClaim has the name '../x'" },
	{ "a UID that is there already", "default", "other", "1", -EINVAL,
	  "ResourceClaim '1' is in the request twice" },
};

static void claim_matches_table(void **state)
{
	const struct claim_case *c = *state;
	struct dra_claims claims = { 0 };
	struct dra_claims read = { 0 };
	struct err err = { 0 };

	claim_add(&claims, "default", "first", "1");
	claim_add(&claims, c->ns, c->claim, c->uid);
	assert_int_equal(round_trip(&claims, &read, &err), c->code);
	assert_string_equal(err.msg, c->message);
	assert_int_equal(read.len, c->code == 0 ? 2 : 0);
	dra_claims_done(&read);
}

static void claims_are_bounded(void **state)
{
	for (size_t len = DRA_CLAIMS_MAX; len <= DRA_CLAIMS_MAX + 1; len++) {
		struct dra_claims claims = { 0 };
		struct dra_claims read = { 0 };
		struct err err = { 0 };

		for (size_t i = 0; i < len; i++) {
			auto_free char *uid = xasprintf("%zu", i);

			claim_add(&claims, "default", "nic", uid);
		}
		assert_int_equal(round_trip(&claims, &read, &err),
				 len > DRA_CLAIMS_MAX ? -EMSGSIZE : 0);
		dra_claims_done(&read);
	}
}

static void rubbish_is_refused(void **state)
{
	struct dra_claims read = { 0 };
	struct dra_results results = { 0 };
	auto_str struct str out = STR_INIT;

	assert_int_equal(dra_codec_read_claims("\xff", 1, &read, NULL), -EBADMSG);
	assert_int_equal(dra_codec_read_prepared("\xff", 1, &results, NULL), -EBADMSG);
	assert_int_equal(dra_codec_read_unprepared("\xff", 1, &results, NULL), -EBADMSG);
	assert_int_equal(dra_codec_read_health("\xff", 1, &out, NULL), -EBADMSG);
}

static struct dra_result *result_add(struct dra_results *results, const char *uid,
				     const char *error)
{
	struct dra_result *result = array_add(results);

	result->uid = xstrdup(uid);
	result->error = xstrdup_or_null(error);
	return result;
}

static void results_are_written(void **state)
{
	struct dra_results results = { 0 };
	struct dra_results read = { 0 };
	auto_str struct str data = STR_INIT;
	struct dra_result *result = result_add(&results, "1", NULL);

	*array_add(&result->devices) = (struct dra_result_device){ .request = xstrdup("a"),
								   .pool = xstrdup("node1/usb"),
								   .device = xstrdup("usb-1-2") };
	json_strs_add(&result->devices.items[0].cdi_ids, "hostdev.io/device=1-a");
	*array_add(&result->devices) = (struct dra_result_device){ .request = xstrdup("a"),
								   .pool = xstrdup("node1/usb"),
								   .device = xstrdup("usb-1-3") };
	(void)result_add(&results, "2", "it is in use");
	assert_int_equal(dra_codec_write_prepared(&results, &data, NULL), 0);
	assert_int_equal(dra_codec_read_prepared(str_cstr(&data), data.len, &read, NULL), 0);
	assert_int_equal(read.len, 2);
	assert_string_equal(read.items[0].uid, "1");
	assert_null(read.items[0].error);
	assert_int_equal(read.items[0].devices.len, 2);
	assert_string_equal(read.items[0].devices.items[0].request, "a");
	assert_string_equal(read.items[0].devices.items[0].pool, "node1/usb");
	assert_string_equal(read.items[0].devices.items[0].device, "usb-1-2");
	assert_int_equal(read.items[0].devices.items[0].cdi_ids.len, 1);
	assert_string_equal(read.items[0].devices.items[0].cdi_ids.items[0],
			    "hostdev.io/device=1-a");
	assert_int_equal(read.items[0].devices.items[1].cdi_ids.len, 0);
	assert_string_equal(read.items[1].error, "it is in use");
	assert_int_equal(read.items[1].devices.len, 0);
	dra_results_done(&read);
	dra_results_done(&results);
}

/* The numbers are the kubelet's (pkg/kubelet/apis/dra/v1/api.proto): a change in both directions of
 * ours would not be seen otherwise. */
static void bytes_are_those_of_the_kubelet(void **state)
{
	static const char claim[] = "\x0a\x0c\x0a\x03"
				    "def\x12\x01"
				    "1\x1a\x02"
				    "ab";
	static const char prepared[] = "\x0a\x1a\x0a\x01"
				       "1\x12\x15\x0a\x13\x0a\x01"
				       "a\x12\x05"
				       "node1\x1a\x01"
				       "d\x22\x04"
				       "k=1a";
	static const char failed[] = "\x0a\x08\x0a\x01"
				     "1\x12\x03\x12\x01"
				     "x";
	static const char undone[] = "\x0a\x08\x0a\x01"
				     "1\x12\x03\x0a\x01"
				     "x";
	struct dra_claims claims = { 0 };
	struct dra_results results = { 0 };

	assert_int_equal(dra_codec_read_claims(claim, sizeof(claim) - 1, &claims, NULL), 0);
	assert_string_equal(claims.items[0].ns, "def");
	assert_string_equal(claims.items[0].uid, "1");
	assert_string_equal(claims.items[0].name, "ab");
	dra_claims_done(&claims);
	assert_int_equal(dra_codec_read_prepared(prepared, sizeof(prepared) - 1, &results, NULL),
			 0);
	assert_string_equal(results.items[0].devices.items[0].request, "a");
	assert_string_equal(results.items[0].devices.items[0].pool, "node1");
	assert_string_equal(results.items[0].devices.items[0].device, "d");
	assert_string_equal(results.items[0].devices.items[0].cdi_ids.items[0], "k=1a");
	dra_results_done(&results);
	assert_int_equal(dra_codec_read_prepared(failed, sizeof(failed) - 1, &results, NULL), 0);
	assert_string_equal(results.items[0].error, "x");
	dra_results_done(&results);
	assert_int_equal(dra_codec_read_unprepared(undone, sizeof(undone) - 1, &results, NULL), 0);
	assert_string_equal(results.items[0].error, "x");
	dra_results_done(&results);
}

static void errors_are_clean(void **state)
{
	struct dra_results results = { 0 };
	struct dra_results read = { 0 };
	auto_str struct str data = STR_INIT;

	(void)result_add(&results, "1", "\xff\n");
	assert_int_equal(dra_codec_write_unprepared(&results, &data, NULL), 0);
	assert_int_equal(dra_codec_read_unprepared(str_cstr(&data), data.len, &read, NULL), 0);
	assert_string_equal(read.items[0].error, "\\xff\\x0a");
	dra_results_done(&read);
	dra_results_done(&results);
}

static void health_is_a_list(void **state)
{
	static const struct dra_health devices[] = { { "node1", "a", NULL },
						     { "node1/usb", "b", "it is gone" } };
	auto_str struct str data = STR_INIT;
	auto_str struct str text = STR_INIT;

	assert_int_equal(dra_codec_write_health(devices, 2, 1700000000, 30, &data, NULL), 0);
	assert_int_equal(dra_codec_read_health(str_cstr(&data), data.len, &text, NULL), 0);
	assert_string_equal(str_cstr(&text), "node1/a\nnode1/usb/b it is gone\n");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "claims are read as they are written", claims_are_read, NULL);
	suite_rows(&suite, claim_cases, claim_matches_table);
	suite_add(&suite, "a request has not more claims than a pod", claims_are_bounded, NULL);
	suite_add(&suite, "what is no message is refused", rubbish_is_refused, NULL);
	suite_add(&suite, "results are read as they are written", results_are_written, NULL);
	suite_add(&suite, "the bytes are those of the kubelet", bytes_are_those_of_the_kubelet,
		  NULL);
	suite_add(&suite, "errors are clean text", errors_are_clean, NULL);
	suite_add(&suite, "health is a list of all devices", health_is_a_list, NULL);
	return suite_run(&suite, "dra_codec");
}
