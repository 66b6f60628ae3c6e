#include "agent/nvidia/nvidia_migs.h"

#include <stdlib.h>
#include <string.h>

#include "agent/nvidia/nvml_line.h"
#include "base/array.h"
#include "base/mem.h"

static void mig_done(struct nvidia_mig *mig)
{
	free(mig->uuid);
	free(mig->profile);
	free(mig->trouble);
}

void nvidia_migs_done(struct nvidia_migs *migs)
{
	for (size_t i = 0; i < migs->len; i++)
		mig_done(&migs->items[i]);
	array_done(migs);
}

void nvidia_migs_add(struct nvidia_migs *migs, const struct nvml_line *line)
{
	if (migs->len == NVIDIA_MIGS_MAX)
		return;
	*array_add(migs) = (struct nvidia_mig){
		.uuid = xstrdup(line->uuid),
		.profile = xstrdup_or_null(line->profile),
		.slot = line->slot,
		.gi = line->gi,
		.ci = line->ci,
		.memory_mib = line->memory_mib,
		.multiprocessors = line->multiprocessors,
		.gpu_slices = line->gpu_slices,
		.compute_slices = line->compute_slices,
		.copy_engines = line->copy_engines,
		.decoders = line->decoders,
		.encoders = line->encoders,
		.jpeg_engines = line->jpeg_engines,
		.ofa_engines = line->ofa_engines,
		.is_whole = line->compute_slices == line->gpu_slices,
	};
}

static struct nvidia_mig *find(const struct nvidia_migs *migs, const char *uuid)
{
	for (size_t i = 0; i < migs->len; i++) {
		if (strcmp(migs->items[i].uuid, uuid) == 0)
			return &migs->items[i];
	}
	return NULL;
}

static bool is_same(const struct nvidia_mig *a, const struct nvidia_mig *b)
{
	return a->slot == b->slot && a->gi == b->gi && a->ci == b->ci &&
	       a->is_whole == b->is_whole && (!a->profile) == (!b->profile) &&
	       (!a->profile || strcmp(a->profile, b->profile) == 0);
}

bool nvidia_migs_set(struct nvidia_migs *migs, struct nvidia_migs *now)
{
	bool differs = migs->len != now->len;

	for (size_t i = 0; i < now->len; i++) {
		struct nvidia_mig *known = find(migs, now->items[i].uuid);

		differs = differs || !known || !is_same(known, &now->items[i]);
		if (!known)
			continue;
		now->items[i].trouble = take_ptr(known->trouble);
		now->items[i].told_ill = known->told_ill;
	}
	nvidia_migs_done(migs);
	*migs = *now;
	*now = (struct nvidia_migs){ 0 };
	return differs;
}

size_t nvidia_migs_fall_ill(struct nvidia_migs *migs, int gi, int ci, const char *trouble,
			    size_t *ret_news)
{
	size_t found = 0;
	size_t news = 0;

	for (size_t i = 0; i < migs->len; i++) {
		struct nvidia_mig *mig = &migs->items[i];

		if (mig->gi != gi || (ci >= 0 && mig->ci != ci))
			continue;
		found++;
		if (mig->trouble)
			continue;
		news++;
		mig->trouble = xstrdup(trouble);
	}
	*ret_news = news;
	return found;
}

void nvidia_migs_recover(struct nvidia_migs *migs)
{
	for (size_t i = 0; i < migs->len; i++) {
		free(migs->items[i].trouble);
		migs->items[i].trouble = NULL;
	}
}

const char *nvidia_migs_trouble(const struct nvidia_migs *migs)
{
	for (size_t i = 0; i < migs->len; i++) {
		if (migs->items[i].trouble)
			return migs->items[i].trouble;
	}
	return NULL;
}
