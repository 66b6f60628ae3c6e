/* stage: stores of views, filled by the text of objects, which tell of each change. */
#pragma once

#include "base/err.h"
#include "base/json_read.h"
#include "controller/cache/view.h"
#include "kube/store.h"
#include "unit/suite.h"

struct stage {
	struct api_kind kinds[VIEW_KINDS];
	struct store *stores[VIEW_KINDS];
	const struct store *seen[VIEW_KINDS]; /* the same, for who only reads */
	void (*hear)(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		     const struct entry *after);
	void *arg;
	enum view_kind changing;
	int versions;
};

static inline void stage_open(struct stage *stage)
{
	for (int i = 0; i < VIEW_KINDS; i++) {
		stage->kinds[i] = view_kind((enum view_kind)i);
		stage->stores[i] = store_new(&stage->kinds[i]);
		stage->seen[i] = stage->stores[i];
	}
}

static inline void stage_close(struct stage *stage)
{
	for (int i = 0; i < VIEW_KINDS; i++)
		store_free(stage->stores[i]);
}

SUITE_FIXTURE(stage, struct stage, stage_open, stage_close);

static inline void stage_tell(void *arg, const struct entry *before, const struct entry *after)
{
	struct stage *stage = arg;

	if (stage->hear)
		stage->hear(stage->arg, stage->changing, after ? after->name : before->name, before,
			    after);
}

/* The object @name is now as @rest says: what follows its metadata, or "" if there is no more.
 * @meta is the like within the metadata. */
static inline void stage_put_meta(struct stage *stage, enum view_kind kind, const char *name,
				  const char *meta, const char *rest)
{
	auto_free char *text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"u-%s\","
					 "\"resourceVersion\":\"%d\"%s%s}%s%s}",
					 name, name, ++stage->versions, *meta ? "," : "", meta,
					 *rest ? "," : "", rest);
	struct json_text json = { .text = text, .len = strlen(text) };
	struct err err = { 0 };
	struct entry *entry = entry_decode(&stage->kinds[kind], &json, &err);

	if (!entry || !entry->object)
		fail_msg("%s: %s", text, err.msg);
	stage->changing = kind;
	store_put(stage->stores[kind], entry, stage_tell, stage);
}

static inline void stage_put(struct stage *stage, enum view_kind kind, const char *name,
			     const char *rest)
{
	stage_put_meta(stage, kind, name, "", rest);
}

static inline void stage_remove(struct stage *stage, enum view_kind kind, const char *name)
{
	stage->changing = kind;
	store_remove(stage->stores[kind], name, NULL, stage_tell, stage);
}
