/* binder_words: a job as the command line of hostdev-helper. */
#pragma once

struct binder_job;
struct json_strs;

/* Append what goes with the verb to @options, and the functions to @words. What the job does not
 * know has no word: the helper tells "none" and "not known" apart by that. */
void binder_words(const struct binder_job *job, struct json_strs *options, struct json_strs *words);
