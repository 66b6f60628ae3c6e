#include "agent/helper/vf/vf_job.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/value.h"
#include "agent/helper/sys/words.h"
#include "base/err.h"
#include "base/mem.h"

static bool is_mac(const char *text, size_t len)
{
	if (len != VF_MAC_SIZE - 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (i % 3 == 2 ? text[i] != ':' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return true;
}

static int begin_setting(void *object, const struct word *word, struct err *err)
{
	struct vf_job *job = object;
	size_t len = job->settings.len;

	if (len > 0 && job->settings.items[len - 1].index >= word->number)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "word '%s' does not come after those of lower numbers", word->text);
	if (len == VF_JOB_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s': more than %d of them",
			       word->text, VF_JOB_MAX);
	vf_settings_add(&job->settings, (int)word->number);
	return 0;
}

static void *last_setting(void *object)
{
	struct vf_job *job = object;

	return &job->settings.items[job->settings.len - 1];
}

static int take_mac(void *object, const struct word *word, struct err *err)
{
	struct vf_setting *setting = object;

	(void)err;
	for (size_t i = 0; i < VF_MAC_SIZE - 1; i++)
		setting->mac[i] = (char)tolower((unsigned char)word->value[i]);
	return 0;
}

/* clang-format off */
static const struct word_row rows[] = {
	{ "address",   0, offsetof(struct vf_job, address), pci_address_valid,
	  .form = "a PCI address such as 0000:01:00.0" },
	{ "id",        0, offsetof(struct vf_job, id),      value_is_id,
	  .form = "vendor and device such as 8086:10c9" },
	{ "serial",    0, offsetof(struct vf_job, serial),  value_is_serial,
	  .form = "a serial such as 00-11-22-33-44-55-66-77" },
	{ "count",     0, offsetof(struct vf_job, count),     .max = VF_INDEX_MAX + 1 },
	{ "autoprobe", 0, offsetof(struct vf_job, autoprobe), .max = 1 },
	{ "vf",        WORD_BEGINS, .max = VF_INDEX_MAX, .take = begin_setting },
	{ "mac",        WORD_OF_ITEM, .is_valid = is_mac,
	  .form = "like 02:00:00:00:00:01", .take = take_mac },
	{ "vlan",       WORD_OF_ITEM, offsetof(struct vf_setting, vlan), .max = VF_VLAN_MAX },
	{ "qos",        WORD_OF_ITEM, offsetof(struct vf_setting, qos), .max = VF_QOS_MAX },
	{ "trust",      WORD_OF_ITEM, offsetof(struct vf_setting, trust), .max = 1 },
	{ "spoofcheck", WORD_OF_ITEM, offsetof(struct vf_setting, spoof_check), .max = 1 },
};

static const struct words_table table = {
	.rows = rows, .len = ARRAY_LEN(rows), .last_item = last_setting,
	.before = "is not known, or stands before any 'vf='; see --help",
};
/* clang-format on */

int vf_job_parse(char **words, struct vf_job *ret_job, struct err *err)
{
	struct vf_job job = { .count = -1 };
	int r = words_parse(&table, words, &job, err);

	if (r == 0 && (!job.address || !job.id))
		r = err_set(err, ERR_INVALID, -EINVAL, "the words 'address=' and 'id=' are needed");
	if (r < 0) {
		vf_job_done(&job);
		return r;
	}
	*ret_job = job;
	return 0;
}

void vf_job_done(struct vf_job *job)
{
	vf_settings_done(&job->settings);
}
