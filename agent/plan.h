/* plan: `hostdev-agent plan`: prints what claims would do, and does nothing. Needs no cluster. */
#pragma once

#include <stdbool.h>

#include "agent/binder/binder.h"
#include "agent/monitor/scan.h"

struct err;
struct json_strs;

struct plan_options {
	struct scan_options scan;
	struct binder_options binder;
	const struct json_strs *vfio_drivers;
	const struct json_strs *driverless;
	const char *driver; /* as spec.driver of the claims; NULL: none  */
	bool include_group; /* as spec.includeIOMMUGroup                 */
	bool release;       /* what deleting the claims would do instead */
};

enum { PLAN_REFUSED = 1 }; /* at least one of them would not be carried out as things are */

/* @words: names of claims or devices, or PCI addresses; NULL ends. 0, PLAN_REFUSED, or < 0. Runs a
 * loop of its own until it is done. */
int plan_run(const struct plan_options *options, char *const *words, struct err *err);
