/* vf_job: what the words of the verb vfs mean, and which are refused. */
#include "agent/helper/vf/vf_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

#define PF "address=0000:03:00.0 id=8086:10c9"

enum { WORDS_MAX = 64 };

static int parse(char *text, struct vf_job *ret_job, struct err *err)
{
	char *words[WORDS_MAX + 1] = { NULL };
	char *rest = text;

	for (size_t i = 0; i < WORDS_MAX && rest; i++)
		words[i] = strsep(&rest, " ");
	return vf_job_parse(words, ret_job, err);
}

static struct taken_case {
	const char *name;
	const char *text;
	const char *want; /* count autoprobe | index mac vlan qos trust spoofcheck, ... */
} taken[] = {
	{ "a card alone: as many as there are", PF, "-1 0" },
	{ "a number of virtual functions", PF " count=7", "7 0" },
	{ "none at all", PF " count=0 autoprobe=1", "0 1" },
	{ "a serial", PF " serial=00-11-22-33-44-55-66-77 count=1", "1 0" },
	{ "settings of some of them", PF " count=3 vf=0 mac=02:00:00:00:00:0A vlan=5 vf=2 trust=1",
	  "3 0 | 0 02:00:00:00:00:0a 5 -1 -1 -1 | 2  -1 -1 1 -1" },
	{ "every setting",
	  PF " vf=65534 qos=7 vlan=4094 trust=0 spoofcheck=1 mac=ff:ee:dd:cc:bb:aa",
	  "-1 0 | 65534 ff:ee:dd:cc:bb:aa 4094 7 0 1" },
};

SUITE_CLOSING(vf_job, struct vf_job, vf_job_done);

static void words_are_taken(void **state)
{
	const struct taken_case *c = suite_row(state);
	auto_free char *text = xstrdup(c->text);
	auto_str struct str out = STR_INIT;
	struct vf_job *job = *state;
	struct err err = { 0 };

	if (parse(text, job, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(job->address, "0000:03:00.0");
	assert_string_equal(job->id, "8086:10c9");
	str_addf(&out, "%d %d", job->count, job->autoprobe);
	for (size_t i = 0; i < job->settings.len; i++) {
		const struct vf_setting *s = &job->settings.items[i];

		str_addf(&out, " | %d %s %d %d %d %d", s->index, s->mac, s->vlan, s->qos, s->trust,
			 s->spoof_check);
	}
	assert_string_equal(str_cstr(&out), c->want);
}

static struct refused_case {
	const char *name;
	const char *text;
	const char *message;
} refused[] = {
	{ "no card", "id=8086:10c9 count=1", "the words 'address=' and 'id=' are needed" },
	{ "no id", "address=0000:03:00.0", "the words 'address=' and 'id=' are needed" },
	{ "a path for an address", "address=../../x id=8086:10c9",
	  "word 'address=../../x': 'address' must be a PCI address such as 0000:01:00.0" },
	{ "a number below 0", PF " count=-1",
	  "word 'count=-1': the number must be from 0 to 65535" },
	{ "too large a number", PF " count=65536",
	  "word 'count=65536': the number must be from 0 to 65535" },
	{ "a number with more behind it", PF " count=7x",
	  "word 'count=7x': the number must be from 0 to 65535" },
	{ "one number twice", PF " count=1 count=2", "word 'count=2' is one 'count=' too many" },
	{ "one setting twice", PF " vf=1 vlan=1 vf=2 vlan=2 vlan=3",
	  "word 'vlan=3' is one 'vlan=' too many" },
	{ "a setting of no virtual function", PF " vlan=7",
	  "word 'vlan=7' is not known, or stands before any 'vf='; see --help" },
	{ "one virtual function twice", PF " vf=1 vlan=1 vf=1 vlan=2",
	  "word 'vf=1' does not come after those of lower numbers" },
	{ "a VLAN beyond the last", PF " vf=1 vlan=4095",
	  "word 'vlan=4095': the number must be from 0 to 4094" },
	{ "a priority beyond the last", PF " vf=1 qos=8",
	  "word 'qos=8': the number must be from 0 to 7" },
	{ "a switch that is neither", PF " vf=1 trust=2",
	  "word 'trust=2': the number must be from 0 to 1" },
	{ "a short MAC address", PF " vf=1 mac=02:00:00:00:00",
	  "word 'mac=02:00:00:00:00': 'mac' must be like 02:00:00:00:00:01" },
	{ "a MAC address of other letters", PF " vf=1 mac=02:00:00:00:00:0g",
	  "word 'mac=02:00:00:00:00:0g': 'mac' must be like 02:00:00:00:00:01" },
	{ "a word that is not known", PF " vf=1 speed=10",
	  "word 'speed=10' is not known; see --help" },
	{ "a word without a value", PF " vf=1 vlan", "word 'vlan' is not known; see --help" },
};

static void words_are_refused(void **state)
{
	const struct refused_case *c = *state;
	auto_free char *text = xstrdup(c->text);
	struct vf_job job = { 0 };
	struct err err = { 0 };

	assert_int_equal(parse(text, &job, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.msg, c->message);
	assert_int_equal(job.settings.len, 0);
}

static void settings_are_bounded(void **state)
{
	enum { SIZE = 24 };
	char(*texts)[SIZE] = xcalloc(VF_JOB_MAX + 3, sizeof(*texts));
	char **words = xcalloc(VF_JOB_MAX + 4, sizeof(*words));
	struct vf_job job = { 0 };
	struct err err = { 0 };

	(void)snprintf(texts[0], SIZE, "address=0000:03:00.0");
	(void)snprintf(texts[1], SIZE, "id=8086:10c9");
	for (int i = 0; i <= VF_JOB_MAX; i++)
		(void)snprintf(texts[i + 2], SIZE, "vf=%d", i);
	for (int i = 0; i < VF_JOB_MAX + 3; i++)
		words[i] = texts[i];
	assert_int_equal(vf_job_parse(words, &job, &err), -EINVAL);
	assert_string_equal(err.msg, "word 'vf=1024': more than 1024 of them");
	words[VF_JOB_MAX + 2] = NULL;
	assert_int_equal(vf_job_parse(words, &job, &err), 0);
	assert_int_equal(job.settings.len, VF_JOB_MAX);
	vf_job_done(&job);
	free(words);
	free(texts);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, refused, words_are_refused);
	suite_add(&suite, "settings are bounded", settings_are_bounded, NULL);
	suite_fixture(&suite, &vf_job_fixture);
	suite_rows(&suite, taken, words_are_taken);
	return suite_run(&suite, "vf_job");
}
