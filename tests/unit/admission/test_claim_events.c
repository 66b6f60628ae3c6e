/* claim_events: which changes of a claim are also events of its device. */
#include "controller/admission/admission_audit.h"

#include "api/meta.h"
#include "api/names.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/events.h"
#include "unit/cache/stage.h"

/* kube/events.h without an API server. */
struct events {
	struct str said;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	static const char *const plain[] = { "a claim of the device was created",
					     "the claim of the device was changed",
					     "the claim of the device was deleted" };
	auto_free char *message = NULL;
	size_t cut = 0;
	va_list ap;

	assert_int_equal(type, EVENTS_NORMAL);
	va_start(ap, fmt);
	assert_true(vasprintf(&message, fmt, ap) >= 0);
	va_end(ap);
	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		if (strncmp(message, plain[i], strlen(plain[i])) == 0)
			cut = strlen(plain[i]);
	}
	assert_true(cut > 0);
	str_addf(&events->said, "%s %s %s %s%s|", about->kind->kind, about->meta->name,
		 about->meta->uid, reason, message + cut);
}

#define META(generation, rest) "\"generation\":" generation rest
#define NOTE(value)            ",\"annotations\":{\"a\":\"" value "\"}"
#define LIFT                   ",\"annotations\":{\"" NAMES_ANNOTATION_OVERRIDE "\":\"true\"}"
#define NAMED                  ",\"annotations\":{\"" NAMES_ANNOTATION_RESOURCE_NAME "\":\"x.com/y\"}"
#define ENDS                   ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\""
#define SPEC                   "\"spec\":{\"nodeName\":\"n\"}"
#define OF(reason)             "PCIDevice d u-d " reason "|"

static struct change_case {
	const char *name;
	const char *before; /* the claim's metadata; NULL: there is none */
	const char *after;
	const char *said;
	const char *status; /* of the claim afterwards; NULL: as before */
	bool no_device;
} changes[] = {
	/* clang-format off */
	{ "a claim is made", NULL, META("1", ""), OF("Claimed"), .no_device = false },
	{ "its spec is changed", META("1", ""), META("2", ""), OF("ClaimChanged"), .no_device = false },
	{ "an annotation is added", META("1", ""), META("1", NOTE("x")), OF("ClaimChanged"), .no_device = false },
	{ "another value of it", META("1", NOTE("x")), META("1", NOTE("y")), OF("ClaimChanged"), .no_device = false },
	{ "it goes", META("1", NOTE("x")), META("1", ""), OF("ClaimChanged"), .no_device = false },
	{ "what the node needs is allowed", META("1", ""), META("1", LIFT), OF("ClaimChanged: allow-host-critical is true"),
	  .no_device = false },
	{ "and is not any more", META("1", LIFT), META("1", NOTE("x")), OF("ClaimChanged: allow-host-critical is false"),
	  .no_device = false },
	{ "its resource is named", META("1", LIFT), META("1", NAMED),
	  OF("ClaimChanged: allow-host-critical is false, override-resource-name is \"x.com/y\""), .no_device = false },
	{ "a claim is made with it", NULL, META("1", NAMED), OF("Claimed: override-resource-name is \"x.com/y\""),
	  .no_device = false },
	{ "a finalizer is nobody's wish", META("1", ""), META("1", ",\"finalizers\":[\"a/b\"]"), "", .no_device = false },
	{ "nor is a status", META("1", ""), META("1", ""), "", .status = "\"status\":{\"passthroughEnabled\":true}" },
	{ "it is being deleted", META("1", ""), META("2", ENDS), OF("Unclaimed"), .no_device = false },
	{ "it goes at once", META("1", ""), NULL, OF("Unclaimed"), .no_device = false },
	{ "its end after that is told once", META("1", ENDS), NULL, "", .no_device = false },
	{ "so is a change meanwhile", META("1", ENDS), META("2", ENDS), "", .no_device = false },
	{ "of a device that is not there nothing is told", NULL, META("1", ""), "", .no_device = true },
	/* clang-format on */
};

struct ear {
	struct stage *stage;
	struct events events;
};

static void on_change(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct ear *ear = arg;

	claim_events_on_change(&ear->events, ear->stage->seen, kind, name, before, after);
}

static void put(struct stage *stage, const char *meta, const char *status)
{
	auto_free char *rest = xasprintf("%s%s%s", SPEC, status ? "," : "", status ? status : "");

	if (meta)
		stage_put_meta(stage, VIEW_PCICLAIM, "d", meta, rest);
	else
		stage_remove(stage, VIEW_PCICLAIM, "d");
}

static void change_is_told(void **state)
{
	const struct change_case *c = suite_row(state);
	struct stage *stage = *state;
	struct ear ear = { .stage = stage };

	if (!c->no_device)
		stage_put(stage, VIEW_PCIDEVICE, "d", "");
	if (c->before)
		put(stage, c->before, NULL);
	stage->hear = on_change;
	stage->arg = &ear;
	put(stage, c->after, c->status);
	assert_string_equal(str_cstr(&ear.events.said), c->said);
	str_done(&ear.events.said);
}

static void claims_of_usb_devices_are_told_and_devices_are_not(void **state)
{
	struct stage *stage = *state;
	struct ear ear = { .stage = stage };

	stage->hear = on_change;
	stage->arg = &ear;
	stage_put(stage, VIEW_USBDEVICE, "s", "");
	stage_put(stage, VIEW_USBCLAIM, "s", "");
	assert_string_equal(str_cstr(&ear.events.said), "USBDevice s u-s Claimed|");
	str_done(&ear.events.said);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &stage_fixture);
	suite_rows(&suite, changes, change_is_told);
	suite_add(&suite, "claims of USB devices are told, and devices are not",
		  claims_of_usb_devices_are_told_and_devices_are_not, NULL);
	return suite_run(&suite, "claim_events");
}
