/*
 * gpus_scene: GPUs of a made-up node, and what a child says of them, in few words:
 *
 *	look 0		an inventory: it is well	look 0!		it is not
 *	mig 0 7 1g.5gb, look 0+		in MIG mode, with MIG-7 as GPU instance 7; mig 0 7 1c.2g.5gb is a part
 *	probe, watch	the same of the others		probe 0 NEW	it has this UUID
 *	problem 0	DeviceGetUUID fails with 15	xid 0 79, xid 0 79 GI, event 0 recovery
 *	lost 0		the watch has lost it		watching	the watch is whole
 *	fabric 0 7	look 0, in clique 7 of a cluster
 *	pair 0 1 LEVEL LINKS, switch 0 LINKS
 *	begin 0 1, begin-watch 0 1, end 0 1, placed 0 1, hung 0, hung - 0 1, fail 0 1, missed 0 1
 *	claim 0, unclaim 0	a PCIDeviceClaim takes it, or none any more
 *	vacant 0	no container has it		altered 0	an earlier agent has released it
 *	releasing 0	it was in persistence mode	released 0, drained 0	the driver lets it go
 *	attached 0	the driver has taken it back
 *	answered 0, died 0, answered-attach 0	the end of such a question
 *	cannot-release 0	the driver cannot be asked
 *	pass MS
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "agent/nvidia/nvidia_gpus.h"
#include "agent/nvidia/nvml_line.h"
#include "agent/nvidia/xid_policy.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "unit/suite.h"

struct gpus_scene {
	struct nvidia_gpus gpus;
	struct xid_policy policy;
	uint64_t now_ms;
};

static inline char *gpus_scene_address(const char *number)
{
	return xasprintf("0000:3%s:00.0", number);
}

/* GPUs 0 to @len - 1. */
static inline bool gpus_scene_set(struct gpus_scene *scene, size_t len)
{
	struct nvidia_card cards[10];
	char names[10][32];

	for (size_t i = 0; i < len; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "0000:3%zu:00.0", i);
		cards[i] = (struct nvidia_card){ names[i], (int)(i % 2), 0x030200 };
	}
	return nvidia_gpus_set(&scene->gpus, cards, len);
}

static inline void gpus_scene_open(struct gpus_scene *scene)
{
	scene->now_ms = 1000000;
	xid_policy_init(&scene->policy, NULL, NULL);
	gpus_scene_set(scene, 3);
}

static inline void gpus_scene_close(struct gpus_scene *scene)
{
	nvidia_gpus_done(&scene->gpus);
	xid_policy_done(&scene->policy);
}

SUITE_FIXTURE(gpus_scene, struct gpus_scene, gpus_scene_open, gpus_scene_close);

static inline void gpus_scene_line(struct gpus_scene *scene, const char *text)
{
	struct nvml_line line;
	struct err err = { 0 };

	if (nvml_line_parse(text, strlen(text), &line, &err) < 0)
		fail_msg("%s: %s", err.msg, text);
	nvidia_gpus_take(&scene->gpus, &scene->policy, &line, scene->now_ms);
	nvml_line_done(&line);
}

/* A line of @kind about one GPU. */
static inline void gpus_scene_state(struct gpus_scene *scene, const char *kind, char *const *words)
{
	bool ill = strchr(words[1], '!') != NULL;
	bool mig = strchr(words[1], '+') != NULL;
	auto_free char *line = NULL;

	words[1][strcspn(words[1], "!+")] = '\0';
	line = xasprintf(
		"{\"kind\":\"%s\",\"n\":1,\"address\":\"0000:3%s:00.0\",\"uuid\":\"GPU-%s\","
		"\"index\":%s,\"minor\":%s,\"mig\":%s,\"recovery\":%d,\"well\":%s}",
		kind, words[1], words[2] ? words[2] : words[1], words[1], words[1],
		mig ? "true" : "false", ill ? 1 : 0, ill ? "false" : "true");
	gpus_scene_line(scene, line);
}

/* Its slot is the GPU instance less 7. */
static inline char *gpus_scene_mig(char *const *words)
{
	return xasprintf(
		"{\"kind\":\"mig\",\"n\":1,\"address\":\"0000:3%s:00.0\",\"uuid\":\"MIG-%s\","
		"\"slot\":%d,\"gi\":%s,\"ci\":0,\"gpuSlices\":2,\"computeSlices\":%d,"
		"\"profile\":\"%s\"}",
		words[1], words[2], words[2][0] - '7', words[2], strstr(words[3], "c.") ? 1 : 2,
		words[3]);
}

/* NULL: another verb. */
static inline char *gpus_scene_driver(char *const *words)
{
	const char *verb = words[0];

	if (strcmp(verb, "releasing") == 0 || strcmp(verb, "released") == 0 ||
	    strcmp(verb, "attached") == 0)
		return xasprintf("{\"kind\":\"%s\",\"n\":1,\"address\":\"0000:3%s:00.0\","
				 "\"persistence\":true}",
				 verb, words[1]);
	if (strcmp(verb, "drained") == 0)
		return xasprintf("{\"kind\":\"released\",\"n\":1,\"address\":\"0000:3%s:00.0\","
				 "\"drained\":true}",
				 words[1]);
	return NULL;
}

static inline bool gpus_scene_say_state(struct gpus_scene *scene, char **words)
{
	static const char *const kinds[][2] = {
		{ "look", "gpu" },
		{ "probe", "probe" },
		{ "watch", "watched" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(words[0], kinds[i][0]) == 0) {
			gpus_scene_state(scene, kinds[i][1], words);
			return true;
		}
	}
	return false;
}

static inline bool gpus_scene_say(struct gpus_scene *scene, char **words)
{
	const char *verb = words[0];
	auto_free char *line = NULL;

	if (gpus_scene_say_state(scene, words))
		return true;
	if (strcmp(verb, "fabric") == 0)
		line = xasprintf(
			"{\"kind\":\"gpu\",\"n\":1,\"address\":\"0000:3%s:00.0\",\"uuid\":\"GPU-%s\","
			"\"index\":%s,\"minor\":%s,\"well\":true,"
			"\"cluster\":\"00112233445566778899aabbccddeeff\",\"clique\":%s}",
			words[1], words[1], words[1], words[1], words[2]);
	else if (strcmp(verb, "mig") == 0)
		line = gpus_scene_mig(words);
	else if (strcmp(verb, "problem") == 0)
		line = xasprintf("{\"kind\":\"problem\",\"n\":1,\"address\":\"0000:3%s:00.0\","
				 "\"function\":\"nvmlDeviceGetUUID\",\"code\":15,"
				 "\"message\":\"the GPU is lost\"}",
				 words[1]);
	else if (strcmp(verb, "xid") == 0 && strcmp(words[1], "-") == 0)
		line = xasprintf("{\"kind\":\"event\",\"type\":\"xid\",\"data\":%s}", words[2]);
	else if (strcmp(verb, "xid") == 0)
		line = xasprintf(
			"{\"kind\":\"event\",\"address\":\"0000:3%s:00.0\",\"type\":\"xid\","
			"\"data\":%s,\"gi\":%s}",
			words[1], words[2], words[3] ? words[3] : "-1");
	else if (strcmp(verb, "event") == 0)
		line = xasprintf(
			"{\"kind\":\"event\",\"address\":\"0000:3%s:00.0\",\"type\":\"%s\"}",
			words[1], words[2]);
	else if (strcmp(verb, "lost") == 0)
		line = xasprintf(
			"{\"kind\":\"lost\",\"address\":\"0000:3%s:00.0\",\"uuid\":\"GPU-%s\","
			"\"code\":15,\"message\":\"the GPU is lost\"}",
			words[1], words[1]);
	else if (strcmp(verb, "watching") == 0)
		line = xstrdup("{\"kind\":\"watching\",\"gpus\":1}");
	else if (strcmp(verb, "pair") == 0)
		line = xasprintf("{\"kind\":\"pair\",\"n\":1,\"address\":\"0000:3%s:00.0\","
				 "\"peer\":\"0000:3%s:00.0\",\"level\":%s,\"nvlinks\":%s}",
				 words[1], words[2], words[3], words[4]);
	else if (strcmp(verb, "switch") == 0)
		line = xasprintf("{\"kind\":\"switch\",\"n\":1,\"address\":\"0000:3%s:00.0\","
				 "\"nvlinks\":%s}",
				 words[1], words[2]);
	else
		line = gpus_scene_driver(words);
	if (line)
		gpus_scene_line(scene, line);
	return line;
}

static inline void gpus_scene_list(char *const *words, struct json_strs *addresses)
{
	for (; *words; words++) {
		auto_free char *address = gpus_scene_address(*words);

		json_strs_add(addresses, address);
	}
}

/* What a claim has done with the GPUs @list. False: @verb is no such word. */
static inline bool gpus_scene_release(struct gpus_scene *scene, const char *verb,
				      const struct json_strs *list)
{
	struct nvidia_gpus *gpus = &scene->gpus;

	if (strcmp(verb, "vacant") == 0)
		nvidia_gpus_set_vacant(gpus, list->items[0], true);
	else if (strcmp(verb, "altered") == 0)
		nvidia_gpus_set_altered(gpus, list->items[0], true);
	else if (strcmp(verb, "answered") == 0 || strcmp(verb, "died") == 0 ||
		 strcmp(verb, "answered-attach") == 0)
		nvidia_gpus_end_release(gpus, list, strchr(verb, '-') != NULL,
					*verb == 'd' ? "it died" : NULL, scene->now_ms);
	else if (strcmp(verb, "cannot-release") == 0)
		nvidia_gpus_cannot_release(gpus, list);
	else
		return false;
	return true;
}

static inline void gpus_scene_run(struct gpus_scene *scene, char **words)
{
	struct nvidia_gpus *gpus = &scene->gpus;
	const char *verb = words[0];
	bool nowhere = words[1] && strcmp(words[1], "-") == 0;
	struct json_strs list = { 0 };
	uint64_t ms;

	gpus_scene_list(words + 1 + nowhere, &list);
	if (strcmp(verb, "begin") == 0) {
		nvidia_gpus_begin(gpus, &list, false);
		nvidia_gpus_begin_look(gpus, &list);
	} else if (strcmp(verb, "begin-watch") == 0)
		nvidia_gpus_begin(gpus, &list, true);
	else if (strcmp(verb, "end") == 0)
		nvidia_gpus_end(gpus, &list, scene->now_ms);
	else if (strcmp(verb, "placed") == 0)
		nvidia_gpus_placed(gpus, &list);
	else if (strcmp(verb, "missed") == 0)
		nvidia_gpus_missed(gpus, &list);
	else if (strcmp(verb, "fail") == 0)
		nvidia_gpus_fail(gpus, &list, "no driver", scene->now_ms);
	else if (strcmp(verb, "hung") == 0)
		nvidia_gpus_hung(gpus, nowhere ? NULL : list.items[0], &list, scene->now_ms);
	else if (strcmp(verb, "claim") == 0 || strcmp(verb, "unclaim") == 0)
		(void)nvidia_gpus_set_claim(gpus, list.items[0], *verb == 'c' ? "vm1-gpu" : NULL);
	else if (strcmp(verb, "pass") == 0 && str_to_u64(words[1], &ms))
		scene->now_ms += ms;
	else if (!gpus_scene_release(scene, verb, &list))
		fail_msg("no such word: '%s'", verb);
	json_strs_done(&list);
}

/* "begin 0 1; look 0; look 1!; end 0 1" */
static inline void gpus_scene_play(struct gpus_scene *scene, const char *text)
{
	auto_free char *copy = xstrdup(text);
	char *rest = copy;
	char *part;

	while ((part = strsep(&rest, ";"))) {
		char *words[12] = { NULL };
		size_t len = 0;
		char *word;

		while ((word = strsep(&part, " ")) && len < 11) {
			if (*word)
				words[len++] = word;
		}
		if (len > 0 && !gpus_scene_say(scene, words))
			gpus_scene_run(scene, words);
	}
}

/* What a kubelet is told: "GPU-0 GPU-1:trouble"; those without a UUID are not in it. */
static inline void gpus_scene_show(const struct gpus_scene *scene, struct str *out)
{
	for (size_t i = 0; i < scene->gpus.len; i++) {
		const struct nvidia_gpu *gpu = &scene->gpus.items[i];

		if (gpu->uuid)
			str_addf(out, "%s%s%s%s", out->len ? " | " : "", gpu->uuid,
				 gpu->trouble ? ": " : "", gpu->trouble ? gpu->trouble : "");
		for (size_t k = 0; k < gpu->migs.len; k++)
			str_addf(out, " %s%s%s", gpu->migs.items[k].uuid,
				 gpu->migs.items[k].trouble ? "=" : "",
				 gpu->migs.items[k].trouble ? gpu->migs.items[k].trouble : "");
	}
}
