/*
 * pre_open: opens device nodes once, so that the kernel loads the drivers behind them.
 *
 * A load may take long and cannot be interrupted, so each is a run of hostdev-helper.
 */
#pragma once

#include <stdbool.h>

struct pre_open;
struct this_node;

enum {
	PRE_OPEN_DEADLINE_MS = 30000,
	PRE_OPEN_RETRY_MS = 60000, /* after a failure */
};

/* @changed: what pre_open_trouble() says is not what it was. Never runs before the function that
 * was called has returned. @node and @arg are borrowed. */
struct pre_open *pre_open_new(const struct this_node *node, void (*changed)(void *arg), void *arg);
/* Takes NULL, returns NULL. The loop must run once more. */
struct pre_open *pre_open_free(struct pre_open *opens);

/* Has the node @path not been tried yet? Then pre_open_trouble() passes by itself. */
bool pre_open_untried(const struct pre_open *opens, const char *path);

/* NULL: the node @path, below /dev, has been opened. Otherwise why it has not; the first question
 * begins it. Valid until the loop runs. */
const char *pre_open_trouble(struct pre_open *opens, const char *path);
