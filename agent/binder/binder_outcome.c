/* binder_outcome: the plain values of the binder: what goes in, what comes out, and their names. */
#include <assert.h>
#include <stdlib.h>

#include "agent/binder/binder.h"
#include "base/array.h"
#include "base/mem.h"

const char *binder_verb_text(enum binder_verb verb)
{
	static const char *const texts[] = {
		[BINDER_BIND] = "bind",
		[BINDER_RELEASE] = "release",
		[BINDER_PLAN_BIND] = "plan-bind",
		[BINDER_PLAN_RELEASE] = "plan-release",
	};

	assert((size_t)verb < ARRAY_LEN(texts));
	return texts[verb];
}

void binder_job_done(struct binder_job *job)
{
	for (size_t i = 0; i < job->len; i++) {
		struct binder_function *function = &job->items[i];

		free(function->address);
		free(function->id);
		free(function->serial);
		free(function->identity);
		free(function->native);
		free(function->driver);
		free(function->claim);
		free(function->uid);
	}
	free(job->group);
	array_done(job);
	job->group = NULL;
}

void binder_outcome_done(struct binder_outcome *outcome)
{
	for (size_t i = 0; i < outcome->seen.len; i++) {
		free(outcome->seen.items[i].address);
		free(outcome->seen.items[i].driver);
		free(outcome->seen.items[i].override);
	}
	array_done(&outcome->seen);
	json_strs_done(&outcome->lines);
	task_outcome_done(&outcome->task);
	*outcome = (struct binder_outcome){ 0 };
}

void binder_outcome_copy(struct binder_outcome *to, const struct binder_outcome *from)
{
	*to = *from;
	task_outcome_copy(&to->task, &from->task);
	to->seen = (struct binder_seen_list){ 0 };
	to->lines = (struct json_strs){ 0 };
	for (size_t i = 0; i < from->seen.len; i++) {
		const struct binder_seen *seen = &from->seen.items[i];

		*array_add(&to->seen) = (struct binder_seen){
			.address = xstrdup_or_null(seen->address),
			.driver = xstrdup_or_null(seen->driver),
			.override = xstrdup_or_null(seen->override),
		};
	}
	for (size_t i = 0; i < from->lines.len; i++)
		json_strs_add(&to->lines, from->lines.items[i]);
}
