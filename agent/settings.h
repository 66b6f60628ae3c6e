/* settings: what hostdev-agent can be told, by flags, environment or file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/node_agent.h"
#include "base/options.h"
#include "kube/program.h"

struct settings {
	struct program_settings common;
	char *node_name;
	char *sysfs_root;
	char *proc_root;
	char *helper;
	char *pci_ids;
	char *usb_ids;
	bool show_bridges;
	bool show_hubs;
	uint64_t rescan_interval_ms;
	uint64_t scan_deadline_ms;
	int output; /* enum print_format */
};

/* The table of each command's options; *@ret_len rows. */
const struct option_row *settings_run_rows(size_t *ret_len);
const struct option_row *settings_inspect_rows(size_t *ret_len);

extern const struct options_prose settings_run_prose;
extern const struct options_prose settings_inspect_prose;

/* Fill what is still unset from the machine: its host name, the helper beside this program. Errors
 * name the setting. */
int settings_complete(struct settings *s, struct err *err);

/* The texts stay @s's. */
struct scan_options settings_scan_options(const struct settings *s);
