/* binder_words: a job as the command line of hostdev-helper. */
#pragma once

struct binder_job;
struct helper_place;
struct json_strs;

/* Append the arguments for @job, the verb first. @node_address may be NULL. What the job does not
 * know has no word: the helper tells "none" and "not known" apart by that. */
void binder_words(const struct helper_place *place, const char *node_address,
		  const struct binder_job *job, struct json_strs *words);
