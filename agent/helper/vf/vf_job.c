#include "agent/helper/vf/vf_job.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/value.h"
#include "base/array.h"
#include "base/err.h"
#include "base/num.h"

typedef bool value_fn(const char *text, size_t len);

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

/* clang-format off */
static const struct text_row {
	const char *key;
	size_t at;
	value_fn *is_valid;
	const char *form; /* for messages */
} text_rows[] = {
	{ "address", offsetof(struct vf_job, address), pci_address_valid, "a PCI address such as 0000:01:00.0" },
	{ "id",      offsetof(struct vf_job, id),      value_is_id,       "vendor and device such as 8086:10c9" },
	{ "serial",  offsetof(struct vf_job, serial),  value_is_serial,   "a serial such as 00-11-22-33-44-55-66-77" },
};

static const struct number_row {
	const char *key;
	size_t at;
	int64_t max;
} number_rows[] = {
	{ "vlan",       offsetof(struct vf_setting, vlan),        VF_VLAN_MAX },
	{ "qos",        offsetof(struct vf_setting, qos),         VF_QOS_MAX },
	{ "trust",      offsetof(struct vf_setting, trust),       1 },
	{ "spoofcheck", offsetof(struct vf_setting, spoof_check), 1 },
};
/* clang-format on */

static bool is_key(const char *word, const char *key)
{
	size_t len = strlen(key);

	return strncmp(word, key, len) == 0 && word[len] == '=';
}

static int read_number(const char *word, int64_t max, int *ret_number, struct err *err)
{
	int64_t number;

	if (!str_to_i64(strchr(word, '=') + 1, &number) || number < 0 || number > max)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "word '%s': the number must be from 0 to %lld", word,
			       (long long)max);
	*ret_number = (int)number;
	return 0;
}

static int take_text(struct vf_job *job, const struct text_row *row, const char *word,
		     struct err *err)
{
	const char **place = (const char **)(void *)((char *)job + row->at);
	const char *value = strchr(word, '=') + 1;

	if (!row->is_valid(value, strlen(value)))
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s': '%s' must be %s", word,
			       row->key, row->form);
	*place = value;
	return 0;
}

/* @setting: the one that "vf=" began. */
static int take_setting(struct vf_setting *setting, const char *word, struct err *err)
{
	if (is_key(word, "mac")) {
		const char *value = strchr(word, '=') + 1;

		if (!is_mac(value, strlen(value)))
			return err_set(err, ERR_INVALID, -EINVAL,
				       "word '%s': 'mac' must be like 02:00:00:00:00:01", word);
		for (size_t i = 0; i < VF_MAC_SIZE - 1; i++)
			setting->mac[i] = (char)tolower((unsigned char)value[i]);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(number_rows); i++) {
		int *place = (int *)(void *)((char *)setting + number_rows[i].at);

		if (is_key(word, number_rows[i].key))
			return read_number(word, number_rows[i].max, place, err);
	}
	return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is not known; see --help", word);
}

static int begin_setting(struct vf_job *job, const char *word, struct err *err)
{
	size_t len = job->settings.len;
	int index = 0;

	if (read_number(word, VF_INDEX_MAX, &index, err) < 0)
		return -EINVAL;
	if (len > 0 && job->settings.items[len - 1].index >= index)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "word '%s' does not come after those of lower numbers", word);
	if (len == VF_JOB_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s': more than %d of them", word,
			       VF_JOB_MAX);
	vf_settings_add(&job->settings, index);
	return 0;
}

static int take_word(struct vf_job *job, const char *word, struct err *err)
{
	int on = 0;

	for (size_t i = 0; i < ARRAY_LEN(text_rows); i++) {
		if (is_key(word, text_rows[i].key))
			return take_text(job, &text_rows[i], word, err);
	}
	if (is_key(word, "count"))
		return read_number(word, VF_INDEX_MAX + 1, &job->count, err);
	if (is_key(word, "autoprobe")) {
		if (read_number(word, 1, &on, err) < 0)
			return -EINVAL;
		job->autoprobe = on == 1;
		return 0;
	}
	if (is_key(word, "vf"))
		return begin_setting(job, word, err);
	if (job->settings.len > 0)
		return take_setting(&job->settings.items[job->settings.len - 1], word, err);
	return err_set(err, ERR_INVALID, -EINVAL,
		       "word '%s' is not known, or stands before any 'vf='; see --help", word);
}

int vf_job_parse(char **words, struct vf_job *ret_job, struct err *err)
{
	struct vf_job job = { .count = -1 };
	int r = 0;

	for (; r == 0 && *words; words++)
		r = take_word(&job, *words, err);
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
