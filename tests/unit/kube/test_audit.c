#include "kube/audit.h"

#include <string.h>

#include "api/pcidevice.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "fake/fake_clock.h"
#include "kube/events.h"
#include "unit/captured.h"
#include "unit/suite.h"

/* kube/events.h without an API server. */
struct events {
	struct str said;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	assert_string_equal(fmt, "%s");
	str_addf(&events->said, "%s %s %s\n", about->meta->name,
		 type == EVENTS_WARNING ? "Warning" : "Normal", reason);
}

static struct line_case {
	const char *name;
	struct audit audit;
	const char *line;
} lines[] = {
	{ "all that is known is in the line, in the order of the page",
	  { .action = "allocate",
	    .result = "Done",
	    .user = "alice",
	    .owner = "bob",
	    .kind = "PCIDevice",
	    .device = "n-000001000",
	    .node = "n",
	    .ns = "team-a",
	    .pod = "vm-1",
	    .container = "main",
	    .resource = "intel.com/X",
	    .reason = "Allocated",
	    .message = "given to a pod",
	    .verified = "true" },
	  " level=info msg=audit action=allocate result=Done user=alice owner=bob kind=PCIDevice "
	  "device=n-000001000 node=n pod=team-a/vm-1 container=main resource=intel.com/X "
	  "reason=Allocated message=\"given to a pod\" verified=true\n" },
	{ "what is not known is left out",
	  { .action = "bind", .result = "Done", .user = "", .device = "d" },
	  " level=info msg=audit action=bind result=Done device=d\n" },
	{ "trouble is a warning",
	  { .action = "bind", .result = "Stuck", .device = "d", .warning = true },
	  " level=warn msg=audit action=bind result=Stuck device=d\n" },
	{ "a name of a user forges no field and no line",
	  { .action = "claim", .result = "Refused", .user = "eve result=Done\nlevel=info" },
	  " level=info msg=audit action=claim result=Refused user=\"eve "
	  "result=Done\\x0alevel=info\"\n" },
};

static struct result_case {
	const char *name;
	const char *reason;
	bool warning;
	const char *result;
} results[] = {
	{ "what is no warning is done", "Bound", false, "Done" },
	{ "held is held", "Held", true, "Held" },
	{ "stuck is stuck", "Stuck", true, "Stuck" },
	{ "what has failed says so", "UnbindFailed", true, "Failed" },
	{ "what is lost has failed", "DriverLost", true, "Failed" },
	{ "as has what is not healthy", "Unhealthy", true, "Failed" },
	{ "all else was refused", "GroupShared", true, "Refused" },
};

static void the_result_is(void **state)
{
	const struct result_case *c = *state;

	assert_string_equal(audit_result(c->reason, c->warning), c->result);
}

static char *logged(const struct audit *audit)
{
	struct captured captured;

	captured_begin(&captured);
	audit_log(audit);
	return captured_end(&captured);
}

static void the_line_is(void **state)
{
	const struct line_case *c = *state;
	auto_free char *text = logged(&c->audit);
	const char *level = strstr(text, " level=");

	assert_non_null(level);
	assert_string_equal(level, c->line);
}

static void no_level_hides_a_line(void **state)
{
	auto_free char *text = NULL;

	log_set_level(LOG_ERROR);
	text = logged(&(struct audit){ .action = "bind", .result = "Done" });
	log_set_level(LOG_INFO);
	assert_non_null(strstr(text, "msg=audit action=bind"));
}

static void a_long_text_is_cut(void **state)
{
	char message[3 * AUDIT_TEXT_MAX];
	auto_free char *text = NULL;

	memset(message, 'a', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	text = logged(&(struct audit){ .action = "claim", .message = message });
	assert_non_null(strstr(text, "aaa...\n"));
	assert_true(strlen(text) < AUDIT_TEXT_MAX + 200);
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		n++;
	return n;
}

static char *quota_logged(struct audit_quota *quota, size_t times)
{
	struct captured captured;

	captured_begin(&captured);
	for (size_t i = 0; i < times; i++)
		audit_quota_log(quota, &(struct audit){ .action = "claim" });
	return captured_end(&captured);
}

/* Who may cause lines without end causes a few, and a count of the others. */
static void a_quota_bounds_the_lines(void **state)
{
	enum { FLOOD = AUDIT_QUOTA_BURST + 70 };
	struct fake_clock *clock = fake_clock_new();
	struct audit_quota *quota = audit_quota_new(fake_clock_as_clock(clock));
	auto_free char *flood = quota_logged(quota, FLOOD);
	auto_free char *later = NULL;
	auto_free char *told = NULL;
	auto_free char *end = NULL;
	struct captured captured;

	assert_int_equal(count(flood, "msg=audit action=claim"), AUDIT_QUOTA_BURST);
	assert_null(strstr(flood, "left out"));

	fake_clock_advance(clock, AUDIT_QUOTA_REFILL_MS);
	later = quota_logged(quota, 3);
	assert_int_equal(count(later, "msg=audit action=claim"), 1);
	assert_non_null(strstr(later, "level=warn msg=\"audit lines left out\" lines=70 "
				      "verified=false\n"));

	captured_begin(&captured);
	fake_clock_advance(clock, AUDIT_QUOTA_TOLD_MS);
	told = captured_end(&captured);
	assert_int_equal(count(told, "\n"), 1);
	assert_non_null(strstr(told, " lines=2 "));

	captured_begin(&captured);
	fake_clock_advance(clock, UINT64_C(10) * AUDIT_QUOTA_TOLD_MS);
	quota = audit_quota_free(quota);
	end = captured_end(&captured);
	assert_string_equal(end, "");
	fake_clock_free(clock);
}

static void what_is_left_out_is_told_at_the_end(void **state)
{
	struct fake_clock *clock = fake_clock_new();
	struct audit_quota *quota = audit_quota_new(fake_clock_as_clock(clock));
	auto_free char *flood = quota_logged(quota, AUDIT_QUOTA_BURST + 1);
	auto_free char *end = NULL;
	struct captured captured;

	captured_begin(&captured);
	quota = audit_quota_free(quota);
	end = captured_end(&captured);
	assert_null(strstr(flood, "left out"));
	assert_non_null(strstr(end, " lines=1 "));
	fake_clock_free(clock);
}

static void a_quota_shortens_the_texts(void **state)
{
	struct fake_clock *clock = fake_clock_new();
	struct audit_quota *quota = audit_quota_new(fake_clock_as_clock(clock));
	char name[2 * AUDIT_QUOTA_TEXT_MAX];
	auto_free char *text = NULL;
	struct captured captured;

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	captured_begin(&captured);
	audit_quota_log(quota, &(struct audit){ .action = "claim", .user = name, .device = name });
	text = captured_end(&captured);
	assert_int_equal(count(text, "aaa..."), 2);
	assert_true(strlen(text) < (size_t)(2 * AUDIT_QUOTA_TEXT_MAX + 200));
	audit_quota_free(quota);
	fake_clock_free(clock);
}

static void the_event_is_the_devices(void **state)
{
	static const struct audit audit = {
		.action = "bind", .result = "Done", .reason = "Bound", .message = "bound to x"
	};
	char name[] = "n-1";
	struct api_meta meta = { .name = name };
	struct events events = { 0 };
	struct captured captured;
	auto_free char *text = NULL;

	captured_begin(&captured);
	audit_record(&events, &(struct events_about){ &pcidevice_kind, &meta }, &audit);
	audit_record(&events, &(struct events_about){ &pcidevice_kind, NULL }, &audit);
	audit_record(NULL, &(struct events_about){ &pcidevice_kind, &meta }, &audit);
	text = captured_end(&captured);
	assert_string_equal(str_cstr(&events.said), "n-1 Normal Bound\n");
	str_done(&events.said);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, lines, the_line_is);
	suite_rows(&suite, results, the_result_is);
	suite_add(&suite, "no --log-level hides a line", no_level_hides_a_line, NULL);
	suite_add(&suite, "a long text is cut", a_long_text_is_cut, NULL);
	suite_add(&suite, "a quota bounds the lines, and counts those that it leaves out",
		  a_quota_bounds_the_lines, NULL);
	suite_add(&suite, "what is left out is told at the end, too",
		  what_is_left_out_is_told_at_the_end, NULL);
	suite_add(&suite, "a quota shortens the texts", a_quota_shortens_the_texts, NULL);
	suite_add(&suite, "the event is the device's", the_event_is_the_devices, NULL);
	return suite_run(&suite, "audit");
}
