#include "cli/client/claims.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/object.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client/lists.h"
#include "cli/print/advice.h"
#include "cli/print/out_json.h"
#include "kube/url.h"

#define WEBHOOK_NAME "claims.hostdev.io" /* in manifests/base */

enum { WEBHOOK_AGAIN_MS = 1000 };

enum cluster_kind claim_kind(enum device_type type)
{
	return type == DEVICE_USB ? CLUSTER_USBCLAIM : CLUSTER_PCICLAIM;
}

void claim_target_init(struct claim_target *target, const struct cluster_device *device)
{
	*target = (struct claim_target){
		.type = device->type,
		.name = xstrdup(device->name),
		.node = xstrdup(device->node),
		.address = xstrdup(device->address),
	};
}

void claim_target_done(struct claim_target *target)
{
	free(target->name);
	free(target->node);
	free(target->address);
	*target = (struct claim_target){ 0 };
}

/* Harvester's controllers need address and node. hostdev also finds them by the name. */
static json_t *body_of(const struct claim_target *target, const struct claim_spec *spec)
{
	const struct api_kind *kind = cluster_kind(claim_kind(target->type));
	auto_free char *version = api_kind_api_version(kind);
	json_t *fields = json_object();

	if (target->type == DEVICE_PCI) {
		out_set_text(fields, "address", target->address);
		out_set_text(fields, "nodeName", target->node);
		out_set_text(fields, "driver", spec->driver);
		if (spec->include_group)
			json_object_set_new(fields, "includeIOMMUGroup", json_true());
		out_set_text(fields, "release", spec->driverless ? "None" : NULL);
	}
	out_set_text(fields, "userName", spec->user);
	return json_pack("{ss,ss,s{ss},so}", "apiVersion", version, "kind", kind->kind, "metadata",
			 "name", target->name, "spec", fields);
}

char *claim_text(const struct claim_target *target, const struct claim_spec *spec)
{
	auto_json json_t *body = body_of(target, spec);

	return json_map_text(body);
}

const char *claim_misfit(enum device_type type, const struct claim_spec *spec)
{
	if (type == DEVICE_MDEV)
		return "mediated devices cannot be claimed; the HostDeviceConfig offers them";
	if (spec->user && !spec->user[0])
		return "--for: the user's name is empty";
	if (type != DEVICE_USB)
		return NULL;
	if (spec->driver)
		return "it is a USB device: --driver applies only to PCI devices";
	if (spec->driverless)
		return "it is a USB device: --release-without-driver applies only to PCI devices";
	return spec->include_group
		       ? "it is a USB device: --include-group applies only to PCI devices"
		       : NULL;
}

const char *claims_driver(const char *driver)
{
	return driver && driver[0] ? driver : "vfio-pci";
}

static enum claim_change compare_pci(const struct pcideviceclaim *claim,
				     const struct claim_spec *spec, char **ret_text)
{
	const char *driver = claims_driver(claim->spec.driver);
	bool group;
	bool driverless;

	if (spec->driver && strcmp(driver, claims_driver(spec->driver)) != 0) {
		*ret_text = xasprintf("already claimed, with driver '%s': the driver of a claim "
				      "cannot change; release it, and claim it again with "
				      "--driver %s",
				      driver, spec->driver);
		return CLAIM_OTHER;
	}
	group = spec->include_group && !claim->spec.include_iommu_group;
	driverless = spec->driverless &&
		     !(claim->spec.release && strcmp(claim->spec.release, "None") == 0);
	if (!group && !driverless)
		return CLAIM_SAME;
	*ret_text =
		xasprintf("{\"spec\":{%s%s%s}}", group ? "\"includeIOMMUGroup\":true" : "",
			  group && driverless ? "," : "", driverless ? "\"release\":\"None\"" : "");
	return CLAIM_PATCH;
}

enum claim_change claim_compare(const struct cluster_device *device, const struct claim_spec *spec,
				char **ret_text)
{
	*ret_text = NULL;
	if (spec->user && strcmp(spec->user, device->user) != 0) {
		*ret_text = xasprintf("already claimed, %s%s%s: release it, and claim it again "
				      "with --for %s",
				      device->user[0] ? "by '" : "for nobody", device->user,
				      device->user[0] ? "'" : "", spec->user);
		return CLAIM_OTHER;
	}
	if (device->type != DEVICE_PCI)
		return CLAIM_SAME;
	return compare_pci(device->claim_object, spec, ret_text);
}

/* Why the API server had no answer of our webhook: the end of @message. NULL: it had one, or did
 * not need it. */
static const char *webhook_silence(const char *message)
{
	static const char before[] = "failed calling webhook \"" WEBHOOK_NAME "\"";
	const char *cause = message ? strstr(message, before) : NULL;

	for (const char *next = cause; next && (next = strstr(next, ": "));)
		cause = next += 2;
	return cause;
}

bool claims_unchecked(const struct session_answer *answer)
{
	auto_free char *message = session_answer_message(answer);

	return answer->status >= 500 && webhook_silence(message);
}

/* A request that the webhook did not answer has had no effect. True: repeat it. */
static bool ask_again(struct session *session, const struct claim_target *target,
		      const struct session_answer *answer, bool *told)
{
	auto_str struct str text = STR_INIT;

	if (!session_has_end(session) || session_late(session) || !claims_unchecked(answer))
		return false;
	out_text(&text, target->name);
	str_add(&text, ": hostdev's webhook does not answer; trying again");
	if (!*told)
		out_say(str_cstr(&text));
	*told = true;
	return session_wait(session, WEBHOOK_AGAIN_MS) == 0 && !session_late(session);
}

/* One request to the API server about one claim. */
struct question {
	const char *verb;
	const char *method;
	const char *body; /* NULL: none */
	bool dry_run;
	bool of_all; /* its path is the collection's, not the claim's */
	const char *content_type;
};

static int ask(struct session *session, const struct claim_target *target,
	       const struct question *question, struct session_answer *ret_answer, struct err *err)
{
	const struct api_kind *kind = cluster_kind(claim_kind(target->type));
	const char *body = question->body;
	auto_str struct str path = STR_INIT;
	struct url_query query = { .dry_run = question->dry_run };
	struct session_answer answer = { 0 };
	bool told = false;
	int r;

	if (body && strcmp(question->method, "DELETE") != 0)
		query.field_manager = "kubectl-hostdev";
	url_object(&path, kind, NULL, question->of_all ? NULL : target->name, NULL);
	url_add_query(&path, &query);
	do {
		session_answer_done(&answer);
		r = session_ask(session,
				&(struct kube_request){
					.verb = question->verb,
					.resource = kind->plural,
					.method = question->method,
					.path = str_cstr(&path),
					.content_type = question->content_type,
					.body = body,
					.body_len = body ? strlen(body) : 0,
				},
				&answer, err);
	} while (r < 0 && ask_again(session, target, &answer, &told));
	*ret_answer = answer;
	return r;
}

int claim_create(struct session *session, const struct claim_target *target,
		 const struct claim_spec *spec, bool dry_run, struct session_answer *ret_answer,
		 struct err *err)
{
	auto_free char *text = claim_text(target, spec);
	const struct question question = {
		"create", "POST", text, dry_run, true, "application/json"
	};

	return ask(session, target, &question, ret_answer, err);
}

int claim_patch(struct session *session, const struct claim_target *target, const char *patch,
		bool dry_run, struct session_answer *ret_answer, struct err *err)
{
	const struct question question = { "patch", "PATCH", patch,
					   dry_run, false,   "application/merge-patch+json" };

	return ask(session, target, &question, ret_answer, err);
}

int claim_delete(struct session *session, const struct claim_target *target, bool dry_run,
		 struct session_answer *ret_answer, struct err *err)
{
	const struct question question = { .verb = "delete",
					   .method = "DELETE",
					   .dry_run = dry_run };

	return ask(session, target, &question, ret_answer, err);
}

int claim_delete_own(struct session *session, const struct claim_target *target, const char *uid,
		     struct session_answer *ret_answer, struct err *err)
{
	auto_json json_t *options = json_pack("{ss,ss,s{ss}}", "apiVersion", "v1", "kind",
					      "DeleteOptions", "preconditions", "uid", uid);
	auto_free char *text = json_map_text(options);
	const struct question question = { "delete", "DELETE", text,
					   false,    false,    "application/json" };

	return ask(session, target, &question, ret_answer, err);
}

int claim_read(struct session *session, const struct claim_target *target,
	       struct session_answer *ret_answer, struct err *err)
{
	const struct question question = { .verb = "get", .method = "GET" };

	return ask(session, target, &question, ret_answer, err);
}

char *claims_group_refusal(struct session *session, const struct claim_target *target,
			   const struct claim_spec *spec)
{
	struct claim_spec whole = *spec;
	auto_answer struct session_answer answer = { 0 };
	struct err err = { 0 };
	int r;

	whole.include_group = true;
	r = claim_create(session, target, &whole, true, &answer, &err);
	if (r == -EEXIST) {
		session_answer_done(&answer);
		r = claim_patch(session, target, "{\"spec\":{\"includeIOMMUGroup\":true}}", true,
				&answer, &err);
	}
	return r == -EACCES || (r < 0 && answer.status >= 400 && answer.status < 500)
		       ? claims_refusal(&answer, &err)
		       : NULL;
}

bool claims_mine(struct session *session, const struct cluster_device *device,
		 const struct claim_spec *spec)
{
	auto_free char *caller = NULL;

	if (!device->user[0] || (spec->user && strcmp(device->user, spec->user) == 0))
		return true;
	caller = session_caller(session);
	return !caller || strcmp(device->user, caller) == 0;
}

void claims_warn(const struct session_answer *answer)
{
	const char *line = str_or_empty(answer->warnings);
	auto_str struct str said = STR_INIT;

	for (size_t len; *line; line += len + 1) {
		auto_free char *copy = NULL;
		auto_free char *text = NULL;

		len = strcspn(line, "\n");
		copy = xstrndup(line, len);
		text = advice_flags(copy);
		str_add(&said, "Warning: ");
		out_text(&said, text);
		str_add_char(&said, '\n');
		if (!line[len])
			break;
	}
	out_say(str_cstr(&said));
}

void claims_forget_group(struct session_answer *answer)
{
	auto_str struct str kept = STR_INIT;
	const char *line = str_or_empty(answer->warnings);

	while (*line) {
		size_t len = strcspn(line, "\n");
		auto_free char *copy = xstrndup(line, len);

		if (!strstr(copy, "': waits, GroupShared: "))
			str_addf(&kept, "%s%s", kept.len ? "\n" : "", copy);
		line += len + (line[len] == '\n');
	}
	free(answer->warnings);
	answer->warnings = str_detach(&kept);
}

/* The words of one of our ValidatingAdmissionPolicies, behind the object, the policy and its
 * binding. NULL: it is none's. */
static const char *policy_words(const char *message)
{
	static const char name[] = "ValidatingAdmissionPolicy 'hostdev-";
	static const char before[] = "' denied request: ";
	const char *from = message ? strstr(message, name) : NULL;
	const char *words = from ? strstr(from, before) : NULL;

	return words ? words + sizeof(before) - 1 : NULL;
}

/* A request that RBAC refuses: 'User "bob" cannot create resource "pcideviceclaims" in API group
 * ...'. NULL: it is none. The caller frees. */
static char *right_words(const char *message)
{
	static const char cannot[] = "\" cannot ", resource[] = " resource \"";
	auto_free char *user = message ? lists_forbidden_user(message) : NULL;
	const char *verb = user ? strstr(message, cannot) : NULL;
	const char *what = verb ? strstr(verb, resource) : NULL;

	if (!what)
		return NULL;
	verb += sizeof(cannot) - 1;
	what += sizeof(resource) - 1;
	return xasprintf("user '%s' may not %.*s %.*s (403 forbidden): ask an administrator for "
			 "the role hostdev-user",
			 user, (int)strcspn(verb, " "), verb, (int)strcspn(what, "\""), what);
}

/* The words of our webhook in a refusal, without the device, which the caller names. NULL: it is
 * not the webhook's. */
static const char *webhook_words(const char *message)
{
	static const char before[] = "admission webhook \"" WEBHOOK_NAME "\" denied the request: ";
	const char *words = message ? strstr(message, before) : NULL;
	const char *end;

	if (!words)
		return NULL;
	words += sizeof(before) - 1;
	end = strstr(words, "': ");
	return end && strstr(words, "DeviceClaim '") == words + strlen("PCI") ? end + 3 : words;
}

char *claims_refusal(const struct session_answer *answer, const struct err *err)
{
	auto_free char *message = session_answer_message(answer);
	auto_free char *right = right_words(message);
	const char *policy = policy_words(message);
	const char *words = webhook_words(message);
	const char *silence = answer->status >= 500 ? webhook_silence(message) : NULL;
	auto_str struct str text = STR_INIT;

	if (silence) {
		str_add(&text, "nothing is done, because hostdev's webhook does not answer (");
		out_text(&text, silence);
		str_add(&text, "): kubectl -n hostdev-system get pods -l "
			       "app.kubernetes.io/component=controller");
	} else if (right) {
		out_text(&text, right);
	} else if (policy) {
		auto_free char *flags = advice_flags(policy);

		out_text(&text, flags);
	} else if (words) {
		out_text(&text, words);
	} else {
		out_text(&text, message && message[0] ? message : err->msg);
	}
	return str_detach(&text);
}
