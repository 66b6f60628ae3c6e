#include "agent/generic/pre_open.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/node/this_node.h"
#include "agent/process/helper_run.h"
#include "api/json_map.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

enum { MESSAGE_MAX = 200 };

/* One node. */
struct opening {
	struct pre_open *opens;
	char *path;
	struct helper_run *run;    /* NULL: none is under way */
	bool stuck;                /* the run missed its deadline, and still is there */
	char *trouble;             /* NULL: it has been opened */
	char *message;             /* why not, as the helper says; NULL: it has not said */
	bool opened;               /* the same */
	bool tried;                /* an attempt has come to an end */
	struct clock_timer *timer; /* the next attempt */
};

struct pre_open {
	const struct this_node *node;
	void (*changed)(void *arg);
	void *arg;
	struct map *openings; /* by path */
};

struct line {
	char *path;
	char *result;
	char *message;
};

static const struct json_row line_map[] = {
	JSON_STR(struct line, path, "path", JSON_REQUIRED),
	JSON_STR(struct line, result, "result", JSON_REQUIRED),
	JSON_STR(struct line, message, "message", JSON_OPTIONAL),
	JSON_END,
};

static int on_line(void *arg, const char *text, size_t len, struct err *err)
{
	struct opening *opening = arg;
	struct line line;
	auto_str struct str clean = STR_INIT;

	if (json_map_parse(line_map, text, len, &line, err) < 0)
		return err->code;
	opening->opened = strcmp(line.result, "Opened") == 0;
	if (!opening->opened && line.message) {
		str_add_clean(&clean, line.message, strnlen(line.message, MESSAGE_MAX + 1));
		str_cut(&clean, MESSAGE_MAX);
		free(opening->message);
		opening->message = str_detach(&clean);
	}
	json_map_done(line_map, &line);
	return 0;
}

static void set_trouble(struct opening *opening, char *trouble)
{
	free(opening->trouble);
	opening->trouble = trouble;
	opening->tried = true;
}

static void on_end(void *arg, int result, const struct err *err)
{
	struct opening *opening = arg;
	struct pre_open *opens = opening->opens;

	opening->stuck = err->kind == ERR_STUCK;
	if (!opening->stuck)
		opening->run = NULL;
	if (result == 0 && opening->opened) {
		set_trouble(opening, NULL);
	} else {
		set_trouble(opening, xasprintf("%s cannot be opened: %s", opening->path,
					       opening->message ? opening->message
					       : result < 0     ? err->msg
								: "the helper does not say why"));
		if (!opening->stuck)
			clock_timer_start(opens->node->clock, opening->timer, PRE_OPEN_RETRY_MS);
	}
	opens->changed(opens->arg);
}

/* The kernel came back after all; how it went is for the next attempt. */
static void on_gone(void *arg, struct helper_run *run)
{
	struct opening *opening = arg;

	(void)run;
	opening->run = NULL;
	opening->stuck = false;
	clock_timer_start(opening->opens->node->clock, opening->timer, 0);
}

static void begin(struct opening *opening)
{
	const struct this_node *node = opening->opens->node;
	const struct helper_place *helper = &node->helper;
	const char *dev_root = helper->dev_root ? helper->dev_root : "/dev";
	const char *const args[] = { "open", "--dev-root", dev_root, opening->path, NULL };
	const struct helper_spec spec = { .path = helper->path,
					  .args = args,
					  .deadline_ms = PRE_OPEN_DEADLINE_MS,
					  .metrics = node->metrics,
					  .on_line = on_line,
					  .on_end = on_end,
					  .on_gone = on_gone,
					  .arg = opening };
	struct err err = { 0 };

	opening->opened = false;
	free(opening->message);
	opening->message = NULL;
	if (helper_run_start(node->loop, &spec, &opening->run, &err) == 0)
		return;
	set_trouble(opening, xasprintf("%s cannot be opened: %s", opening->path, err.msg));
	clock_timer_start(node->clock, opening->timer, PRE_OPEN_RETRY_MS);
}

static void on_due(void *arg)
{
	begin(arg);
}

bool pre_open_untried(const struct pre_open *opens, const char *path)
{
	const struct opening *opening = map_get(opens->openings, path);

	return !opening || !opening->tried;
}

const char *pre_open_trouble(struct pre_open *opens, const char *path)
{
	struct opening *opening = map_get(opens->openings, path);

	if (opening)
		return opening->trouble;
	opening = xcalloc(1, sizeof(*opening));
	opening->opens = opens;
	opening->path = xstrdup(path);
	opening->trouble = xasprintf("%s is being opened", path);
	opening->timer = clock_timer_new(opens->node->clock, on_due, opening);
	map_set(opens->openings, path, opening);
	begin(opening);
	return opening->trouble;
}

struct pre_open *pre_open_new(const struct this_node *node, void (*changed)(void *arg), void *arg)
{
	struct pre_open *opens = xcalloc(1, sizeof(*opens));

	opens->node = node;
	opens->changed = changed;
	opens->arg = arg;
	opens->openings = map_new();
	return opens;
}

struct pre_open *pre_open_free(struct pre_open *opens)
{
	size_t cursor = 0;
	void *item = NULL;

	if (!opens)
		return NULL;
	while (map_next(opens->openings, &cursor, NULL, &item)) {
		struct opening *opening = item;

		helper_run_abandon(opening->run);
		clock_timer_free(opens->node->clock, opening->timer);
		free(opening->path);
		free(opening->trouble);
		free(opening->message);
		free(opening);
	}
	map_free(opens->openings);
	free(opens);
	return NULL;
}
