#include "agent/helper/sys/progress.h"

#include <string.h>

#include "agent/helper/sys/holders.h"
#include "agent/helper/sys/report.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json_write.h"

void progress_send(struct progress *progress, struct str *line)
{
	if (progress->code == 0)
		progress->code = file_write_all(progress->fd, str_cstr(line), line->len);
}

void progress_text(struct str *line, const char *key, const char *text)
{
	if (text && text[0])
		json_write_str(line, key, text);
}

static void add_pid(struct str *line, int pid)
{
	if (pid > 0)
		json_write_int(line, "pid", pid);
}

void progress_step(struct progress *progress, const char *key, const char *about, const char *step)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "step");
	progress_text(&line, key, about);
	json_write_str(&line, "step", step);
	report_close(&line);
	progress_send(progress, &line);
}

void progress_holder(struct progress *progress, const char *key, const struct holder *holder)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "holder");
	progress_text(&line, key, holder->address);
	add_pid(&line, holder->pid);
	progress_text(&line, "command", holder->command);
	progress_text(&line, "pod", holder->pod);
	progress_text(&line, "detail", holder->detail);
	report_close(&line);
	progress_send(progress, &line);
}

void progress_cause(struct str *line, const char *key, const struct progress_cause *cause)
{
	json_write_str(line, "reason", cause->reason);
	progress_text(line, key, cause->about);
	progress_text(line, "step", cause->step);
	if (cause->code < 0)
		progress_text(line, "errno", strerrorname_np(-cause->code));
	add_pid(line, cause->pid);
	json_write_str(line, "message", cause->message);
}

int progress_result(const struct progress *progress, struct err *err)
{
	if (progress->code == 0)
		return 0;
	return err_set(err, ERR_RETRY, progress->code, "write the result: %s",
		       strerror(-progress->code));
}
