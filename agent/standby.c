#include "agent/standby.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/inventory/inventory.h"
#include "agent/monitor/monitor.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "kube/metrics.h"

/* --- the lock --------------------------------------------------------------------------------- */

/*
 * One agent at a time works with a kubelet. The lock is of a file in the folder of the agent's
 * sockets, <kubelet's folder>/plugins/hostdev: agents that do not share that folder want nothing of
 * each other's. The kernel releases it when the process has ended, however that was.
 */

enum { FOLDER_MODE = 0750 }; /* as the kubelet's own */

/* The folder @name below @at, made if need be. */
static int open_folder(int at, const char *name, bool make)
{
	if (make && mkdirat(at, name, FOLDER_MODE) < 0 && errno != EEXIST)
		return -1;
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int kubelet_lock_open(const char *kubelet_dir, int *ret_fd, struct err *err)
{
	auto_close int kubelet_fd = open_folder(AT_FDCWD, kubelet_dir, false);
	auto_close int plugins_fd = -1;
	auto_close int own_fd = -1;
	int fd = -1;

	if (kubelet_fd < 0 && errno == ENOENT)
		return KUBELET_LOCK_NONE;
	if (kubelet_fd >= 0)
		plugins_fd = open_folder(kubelet_fd, "plugins", true);
	if (plugins_fd >= 0)
		own_fd = open_folder(plugins_fd, "hostdev", true);
	if (own_fd >= 0)
		fd = openat(own_fd, "agent.lock",
			    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s/plugins/hostdev/agent.lock': %s",
			       kubelet_dir, strerror(errno));
	*ret_fd = fd;
	return 0;
}

int kubelet_lock_try(int fd, struct err *err)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return KUBELET_LOCK_BUSY;
	return err_set(err, ERR_RETRY, -errno, "lock the kubelet's folder: %s", strerror(errno));
}

/* --- standby ---------------------------------------------------------------------------------- */

/* The kernel tells of a lock's end only who sleeps in flock(), which a loop cannot. */
enum { TRY_AGAIN_MS = 50 };

struct standby {
	struct clock *clock;
	struct clock_timer *timer; /* for the next try, or for the turn */
	int lock_fd;               /* -1: without */
	char *lock_trouble;        /* NULL: none  */
	bool waits;
	struct metric *standing_by;

	/* while it waits */
	struct monitor *monitor;
	struct informer *claims;
	/* Of the last scan; NULL: it failed, or there was none yet */
	struct inventory *inventory;
	char *trouble; /* of the last scan                                        */

	void (*on_turn)(void *arg);
	void *arg;
};

static const struct metric_desc standing_by_desc = {
	.name = "hostdev_agent_standing_by",
	.help = "1 while this agent stands by, because another one works with the node's kubelet "
		"or this one cannot take over.",
	.type = METRIC_GAUGE,
};

/* --- the rehearsal ---------------------------------------------------------------------------- */

static void on_look(void *arg, struct inventory *inventory, const struct err *err)
{
	struct standby *standby = arg;

	inventory_free(standby->inventory);
	standby->inventory = inventory;
	free(standby->trouble);
	standby->trouble = inventory ? NULL : xstrdup(err->msg);
}

/* That they can be read is all that is wanted of them. */
static void on_claim(void *arg, const char *name, const struct entry *before,
		     const struct entry *after)
{
	(void)arg;
	(void)name;
	(void)before;
	(void)after;
}

static void rehearse(struct standby *standby, const struct standby_deps *deps)
{
	struct informer_deps asked = { deps->client, standby->clock, deps->metrics };
	struct monitor_options monitor = *deps->monitor;

	monitor.scan.metrics = deps->metrics;
	standby->monitor = monitor_new(deps->loop, &monitor, deps->metrics, on_look, standby);
	standby->claims = informer_new(&asked, &(struct informer_spec){
						       .kind = &pcideviceclaim_kind,
						       .handlers = { .on_change = on_claim },
					       });
	informer_start(standby->claims);
}

static bool is_rehearsed(const struct standby *standby)
{
	return standby->inventory && informer_synced(standby->claims) &&
	       informer_installed(standby->claims);
}

bool standby_ready(struct standby *standby, struct str *reason)
{
	if (!standby->waits)
		str_add(reason, "the agent begins");
	else if (!standby->inventory)
		str_addf(reason, "standing by, and the devices have not been read: %s",
			 standby->trouble ? standby->trouble : "the first scan has not ended yet");
	else if (!is_rehearsed(standby))
		str_addf(reason, "standing by, and waiting for %s", informer_text(standby->claims));
	else
		return monitor_sees_host(standby->monitor, reason);
	return false;
}

bool standby_locked(const struct standby *standby, struct str *reason)
{
	if (standby->lock_trouble && reason)
		str_add(reason, standby->lock_trouble);
	return !standby->lock_trouble;
}

/* --- the turn --------------------------------------------------------------------------------- */

/* The agent works all the same: it may be the only one. */
static void note_lock(struct standby *standby, const struct err *err)
{
	free(standby->lock_trouble);
	standby->lock_trouble = xasprintf(
		"cannot tell whether another agent works with this kubelet: %s", err->msg);
	log_warn("cannot tell whether another agent works with this kubelet",
		 log_str("reason", err->msg));
}

static void open_lock(struct standby *standby, const char *kubelet_dir)
{
	struct err err = { 0 };

	if (kubelet_lock_open(kubelet_dir, &standby->lock_fd, &err) < 0)
		note_lock(standby, &err);
}

static bool is_others_turn(struct standby *standby)
{
	struct err err = { 0 };
	int r = kubelet_lock_try(standby->lock_fd, &err);

	if (r < 0)
		note_lock(standby, &err);
	return r == KUBELET_LOCK_BUSY;
}

/* An agent that cannot do the work lets the others go first. An agent that was only restarted takes
 * its turn back. */
static void on_timer(void *arg)
{
	struct standby *standby = arg;

	if (standby->waits && (!is_rehearsed(standby) || is_others_turn(standby))) {
		clock_timer_start(standby->clock, standby->timer, TRY_AGAIN_MS);
		return;
	}
	if (standby->waits)
		log_info("the other agent has ended, taking over");
	standby->claims = informer_free(standby->claims);
	standby->waits = false;
	metric_set(standby->standing_by, 0, NULL);
	standby->on_turn(standby->arg);
}

void standby_take(struct standby *standby, struct monitor **ret_look,
		  struct inventory **ret_inventory)
{
	if (standby->monitor && !monitor_is_settled(standby->monitor))
		standby->inventory = inventory_free(standby->inventory);
	*ret_look = standby->monitor;
	*ret_inventory = standby->inventory;
	standby->monitor = NULL;
	standby->inventory = NULL;
}

struct standby *standby_new(const struct standby_deps *deps)
{
	struct standby *standby = xcalloc(1, sizeof(*standby));

	standby->clock = clock_new(deps->loop);
	standby->timer = clock_timer_new(standby->clock, on_timer, standby);
	standby->lock_fd = -1;
	standby->standing_by = metrics_family(deps->metrics, &standing_by_desc);
	standby->on_turn = deps->on_turn;
	standby->arg = deps->arg;
	open_lock(standby, deps->kubelet_dir);
	standby->waits = standby->lock_fd >= 0 && is_others_turn(standby);
	metric_set(standby->standing_by, standby->waits, NULL);
	if (standby->waits) {
		log_info("another agent works with this kubelet, standing by",
			 log_str("kubelet", deps->kubelet_dir));
		rehearse(standby, deps);
	}
	clock_timer_start(standby->clock, standby->timer, standby->waits ? TRY_AGAIN_MS : 0);
	return standby;
}

struct standby *standby_free(struct standby *standby)
{
	if (!standby)
		return NULL;
	monitor_free(standby->monitor);
	inventory_free(standby->inventory);
	informer_free(standby->claims);
	clock_timer_free(standby->clock, standby->timer);
	clock_free(standby->clock);
	if (standby->lock_fd >= 0)
		close(standby->lock_fd);
	free(standby->trouble);
	free(standby->lock_trouble);
	free(standby);
	return NULL;
}
