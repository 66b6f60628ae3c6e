/* fuzz_vf_message: any bytes as an answer of rtnetlink, and, one on each line, as the words of the
 * verb vfs. Whatever is taken is within its bounds. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/helper/vf/vf_job.h"
#include "agent/helper/vf/vf_message.h"
#include "base/err.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEQ = 7, WORDS_MAX = 64 };

static void check_setting(const struct vf_setting *setting)
{
	assert(setting->index >= 0 && setting->index <= VF_INDEX_MAX);
	assert(setting->vlan >= -1 && setting->vlan <= VF_VLAN_MAX);
	assert(setting->qos >= -1 && setting->qos <= VF_QOS_MAX);
	assert(setting->trust >= -1 && setting->trust <= 1);
	assert(setting->spoof_check >= -1 && setting->spoof_check <= 1);
	assert(!setting->mac[0] || strlen(setting->mac) == VF_MAC_SIZE - 1);
}

static void check_answer(const uint8_t *data, size_t size)
{
	struct vf_reply reply = { 0 };
	struct err err = { 0 };
	int r = vf_message_take(data, size, SEQ, "eth0", &reply, &err);

	assert(r <= VF_ANSWER_OTHER && reply.code <= 0);
	assert(r >= 0 || (err.msg[0] && reply.settings.len == 0));
	for (size_t i = 0; i < reply.settings.len; i++)
		check_setting(&reply.settings.items[i]);
	vf_settings_done(&reply.settings);
}

static void check_words(char *text)
{
	char *words[WORDS_MAX + 1] = { NULL };
	struct vf_job job = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < WORDS_MAX && text; i++)
		words[i] = strsep(&text, "\n");
	if (vf_job_parse(words, &job, &err) < 0) {
		assert(err.code == -EINVAL && err.msg[0] && job.settings.len == 0);
		return;
	}
	assert(job.address && job.id && job.count >= -1 && job.count <= VF_INDEX_MAX + 1);
	for (size_t i = 0; i < job.settings.len; i++)
		check_setting(&job.settings.items[i]);
	vf_job_done(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = xstrndup((const char *)data, size);

	check_answer(data, size);
	check_words(text);
	return 0;
}
