#include "agent/helper/sys/job.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

#define A0   "address=0000:01:00.0"
#define A1   "address=0000:01:00.1"
#define REST "id=8086:10d3", "driver=vfio-pci", "claim=vm1-000001000", "uid=1234-5678"

enum { WORDS_MAX = 31, WORD_SIZE = 64 };

/* Words as main() has them, which a job points into. */
struct words {
	char text[WORDS_MAX][WORD_SIZE];
	char *items[WORDS_MAX + 1];
};

static char **words_make(struct words *words, const char *const *texts)
{
	for (size_t i = 0; texts[i]; i++) {
		assert_true(i < WORDS_MAX && strlen(texts[i]) < WORD_SIZE);
		memcpy(words->text[i], texts[i], strlen(texts[i]) + 1);
		words->items[i] = words->text[i];
		words->items[i + 1] = NULL;
	}
	return words->items;
}

static void everything(void **state)
{
	static const char *const texts[] = { A0,
					     REST,
					     "serial=00-11-22-33-44-55-66-77",
					     "native=e1000e",
					     "allow-unknown=1",
					     A1,
					     REST,
					     "native=",
					     "address=10000:01:00.1",
					     "uid=u",
					     "claim=c",
					     "driver=mlx5_vfio_pci",
					     "id=15b3:101e",
					     NULL };
	const struct job_function *f;
	struct words words = { 0 };
	struct job job = { 0 };
	struct err err = { 0 };

	assert_int_equal(job_parse("12", words_make(&words, texts), &job, &err), 0);
	assert_string_equal(job.group, "12");
	assert_int_equal(job.len, 3);
	f = &job.items[0];
	assert_string_equal(f->address, "0000:01:00.0");
	assert_ptr_equal(f->address, words.text[0] + strlen("address="));
	assert_string_equal(f->id, "8086:10d3");
	assert_string_equal(f->driver, "vfio-pci");
	assert_string_equal(f->claim, "vm1-000001000");
	assert_string_equal(f->uid, "1234-5678");
	assert_string_equal(f->serial, "00-11-22-33-44-55-66-77");
	assert_string_equal(f->native, "e1000e");
	assert_string_equal(f->allow_unknown, "1");
	f = &job.items[1];
	assert_string_equal(f->address, "0000:01:00.1");
	assert_string_equal(f->native, "");
	assert_null(f->serial);
	assert_null(f->allow_unknown);
	f = &job.items[2];
	assert_string_equal(f->address, "10000:01:00.1");
	assert_string_equal(f->driver, "mlx5_vfio_pci");
	assert_string_equal(f->uid, "u");
	assert_null(f->native);
	job_done(&job);
	assert_int_equal(job.len, 0);
}

/* clang-format off */
static struct refused_case {
	const char *name;
	const char *group;
	const char *words[16];
	const char *message;
} refused[] = {
	{ "no words", "1", { NULL }, "a word 'address=' is needed" },
	{ "a word without '='", "1", { "address" }, "word 'address' is not known; see --help" },
	{ "an empty word", "1", { "" }, "word '' is not known; see --help" },
	{ "a key that is not known", "1", { A0, "colour=red" }, "word 'colour=red' is not known; see --help" },
	{ "the beginning of a key", "1", { "addr=0000:01:00.0" }, "word 'addr=0000:01:00.0' is not known; see --help" },
	{ "a word before the first function", "1", { "uid=1", A0 }, "word 'uid=1' stands before any 'address='" },
	{ "a path as address", "1", { "address=../../0000:01:00.0" },
	  "word 'address=../../0000:01:00.0': 'address' must be a PCI address such as 0000:01:00.0" },
	{ "an address in capitals", "1", { "address=0000:0A:00.0" },
	  "word 'address=0000:0A:00.0': 'address' must be a PCI address such as 0000:01:00.0" },
	{ "a driver with a slash", "1", { A0, "driver=../x" }, "word 'driver=../x': 'driver' must be a driver's name" },
	{ "no passthrough driver", "1", { A0, "driver=" }, "word 'driver=': 'driver' must be a driver's name" },
	{ "a native driver with a blank", "1", { A0, "native=a b" },
	  "word 'native=a b': 'native' must be a driver's name, or nothing" },
	{ "an id that is none", "1", { A0, "id=8086" }, "word 'id=8086': 'id' must be vendor and device such as 8086:10d3" },
	{ "an empty serial", "1", { A0, "serial=" },
	  "word 'serial=': 'serial' must be a serial such as 00-11-22-33-44-55-66-77" },
	{ "a claim with a newline", "1", { A0, "claim=a\nb" }, "word 'claim=a\nb': 'claim' must be a claim's name" },
	{ "another answer than 1", "1", { A0, "allow-unknown=0" },
	  "word 'allow-unknown=0': 'allow-unknown' must be 1" },
	{ "an empty uid", "1", { A0, "uid=" }, "word 'uid=': 'uid' must be a claim's uid" },
	{ "the same word twice", "1", { A0, "uid=1", "uid=2" }, "word 'uid=2' is one 'uid=' too many" },
	{ "an empty native driver counts as given", "1", { A0, "native=", "native=e1000e" },
	  "word 'native=e1000e' is one 'native=' too many" },
	{ "the same function twice", "1", { A0, REST, A1, REST, A0, REST }, "word '" A0 "' is there twice" },
	{ "a function without id", "1", { A0, "driver=vfio-pci", "claim=c", "uid=u" },
	  "no word 'id=' after '" A0 "'" },
	{ "a function without driver, before another", "1", { A0, "id=8086:10d3", "claim=c", "uid=u", A1, REST },
	  "no word 'driver=' after '" A0 "'" },
	{ "a function without claim", "1", { A0, "id=8086:10d3", "driver=vfio-pci", "uid=u" },
	  "no word 'claim=' after '" A0 "'" },
	{ "the last function without uid", "1", { A1, REST, A0, "id=8086:10d3", "driver=vfio-pci", "claim=c" },
	  "no word 'uid=' after '" A0 "'" },
	{ "a group that is a path", "1/..", { A0, REST }, "group '1/..' must be a number, or '-' for none" },
	{ "an empty group", "", { A0, REST }, "group '' must be a number, or '-' for none" },
};
/* clang-format on */

static void refusal_matches_table(void **state)
{
	const struct refused_case *c = *state;
	struct words words = { 0 };
	struct job job = { .group = "untouched" };
	struct err err = { 0 };

	assert_int_equal(job_parse(c->group, words_make(&words, c->words), &job, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.msg, c->message);
	assert_string_equal(job.group, "untouched");
	assert_null(job.items);
}

enum { WORDS_EACH = 5 };

/* @count functions, with different addresses. */
static int parse_many(size_t count, struct job *ret_job, struct err *err)
{
	char **words = xcalloc(count * WORDS_EACH + 1, sizeof(words[0]));
	int r;

	for (size_t i = 0; i < count; i++) {
		char **at = words + i * WORDS_EACH;

		at[0] = xasprintf("address=0000:%02zx:%02zx.%zu", i / 256, i / 8 % 32, i % 8);
		at[1] = xstrdup("id=8086:10d3");
		at[2] = xstrdup("driver=vfio-pci");
		at[3] = xstrdup("claim=c");
		at[4] = xstrdup("uid=u");
	}
	r = job_parse("-", words, ret_job, err);
	for (char **word = words; *word; word++)
		free(*word);
	free(words);
	return r;
}

static void limit(void **state)
{
	struct job job = { 0 };
	struct err err = { 0 };

	assert_int_equal(parse_many(JOB_FUNCTIONS_MAX, &job, &err), 0);
	assert_int_equal(job.len, JOB_FUNCTIONS_MAX);
	job_done(&job);
	assert_int_equal(parse_many(JOB_FUNCTIONS_MAX + 1, &job, &err), -EINVAL);
	assert_string_equal(err.msg, "word 'address=0000:04:00.0': more than 1024 functions");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "words become functions, in any order behind the address", everything,
		  NULL);
	suite_rows(&suite, refused, refusal_matches_table);
	suite_add(&suite, "at most 1024 functions", limit, NULL);
	return suite_run(&suite, "job");
}
