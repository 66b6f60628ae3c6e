/* progress: the lines of a run that goes on, and what becomes of it when nobody reads them. */
#include "agent/helper/sys/progress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/sys/holders.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

struct pipe_ends {
	struct progress progress; /* writes to it */
	int read_fd;
};

static void pipe_open(struct pipe_ends *p)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*p = (struct pipe_ends){ .progress = { .fd = fds[1] }, .read_fd = fds[0] };
}

/* All that was written is @lines; nobody writes or reads any more. */
static void pipe_close(struct pipe_ends *p, const char *lines)
{
	char text[1024];
	ssize_t n;

	close(p->progress.fd);
	n = read(p->read_fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	close(p->read_fd);
	assert_string_equal(text, lines);
}

static void steps_are_told_with_what_they_are_about(void **state)
{
	struct pipe_ends p;

	pipe_open(&p);
	progress_step(&p.progress, "uuid", NULL, "WaitLock");
	progress_step(&p.progress, "uuid", "", "WaitLock");
	progress_step(&p.progress, "address", "0000:01:00.0", "Unbind");
	pipe_close(&p, "{\"kind\":\"step\",\"step\":\"WaitLock\"}\n"
		       "{\"kind\":\"step\",\"step\":\"WaitLock\"}\n"
		       "{\"kind\":\"step\",\"address\":\"0000:01:00.0\",\"step\":\"Unbind\"}\n");
}

static void of_a_holder_is_told_what_is_known(void **state)
{
	char uuid[] = "u";
	char command[] = "qemu";
	char pod[] = "default/vm";
	char detail[] = "process 7 has it";
	char none[] = "";
	struct pipe_ends p;

	pipe_open(&p);
	progress_holder(&p.progress, "uuid", &(struct holder){ uuid, command, pod, detail, 7 });
	progress_holder(&p.progress, "uuid", &(struct holder){ uuid, none, NULL, detail, 0 });
	pipe_close(&p, "{\"kind\":\"holder\",\"uuid\":\"u\",\"pid\":7,\"command\":\"qemu\","
		       "\"pod\":\"default/vm\",\"detail\":\"process 7 has it\"}\n"
		       "{\"kind\":\"holder\",\"uuid\":\"u\",\"detail\":\"process 7 has it\"}\n");
}

static struct cause_case {
	const char *name;
	struct progress_cause cause;
	const char *text;
} causes[] = {
	{ "a cause with all that can be said",
	  { "UnbindFailed", "0000:01:00.0", "Unbind", -EBUSY, 12, "it is busy" },
	  "{\"reason\":\"UnbindFailed\",\"address\":\"0000:01:00.0\",\"step\":\"Unbind\","
	  "\"errno\":\"EBUSY\",\"pid\":12,\"message\":\"it is busy\"}" },
	{ "a cause with the least",
	  { "Busy", NULL, NULL, 0, 0, "wait" },
	  "{\"reason\":\"Busy\",\"message\":\"wait\"}" },
	{ "a code that has no name is not told",
	  { "Busy", NULL, NULL, -9999, 0, "wait" },
	  "{\"reason\":\"Busy\",\"message\":\"wait\"}" },
};

static void cause_matches_table(void **state)
{
	const struct cause_case *c = *state;
	auto_str struct str line = STR_INIT;

	str_add_char(&line, '{');
	progress_cause(&line, "address", &c->cause);
	str_add_char(&line, '}');
	assert_string_equal(str_cstr(&line), c->text);
}

static void nothing_is_written_after_a_line_that_could_not_be(void **state)
{
	struct pipe_ends p;
	struct err err = { 0 };
	int write_fd;

	pipe_open(&p);
	assert_int_equal(progress_result(&p.progress, &err), 0);
	write_fd = p.progress.fd;
	p.progress.fd = -1;
	progress_step(&p.progress, "uuid", NULL, "Create");
	p.progress.fd = write_fd;
	progress_step(&p.progress, "uuid", NULL, "Remove");
	assert_int_equal(progress_result(&p.progress, &err), -EBADF);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_string_equal(err.msg, "write the result: Bad file descriptor");
	pipe_close(&p, "");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "steps are told with what they are about, if with anything",
		  steps_are_told_with_what_they_are_about, NULL);
	suite_add(&suite, "of a holder is told what is known", of_a_holder_is_told_what_is_known,
		  NULL);
	suite_rows(&suite, causes, cause_matches_table);
	suite_add(&suite, "nothing is written after a line that could not be",
		  nothing_is_written_after_a_line_that_could_not_be, NULL);
	return suite_run(&suite, "progress");
}
