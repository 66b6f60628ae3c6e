/* settings: what hostdev-agent can be told, by flags, environment or file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/binder/binder.h"
#include "agent/drm/drm.h"
#include "agent/gpu/gpu_task.h"
#include "agent/hami/hami.h"
#include "agent/node_agent.h"
#include "agent/nvidia/nvidia.h"
#include "base/options.h"
#include "kube/program.h"

struct settings {
	struct program_settings common;
	char *node_name;
	char *sysfs_root;
	char *proc_root;
	char *dev_root;
	char *host_root;
	char *state_dir;
	char *helper;
	char *pci_ids;
	char *usb_ids;
	bool show_bridges;
	bool show_hubs;
	uint64_t rescan_interval_ms;
	uint64_t scan_deadline_ms;
	struct option_list vfio_drivers; /* beside vfio-pci */
	struct option_list driverless;   /* classes that a release leaves without driver */
	uint64_t transition_deadline_ms;
	char *sriov_manage;
	char *nvidia_smi;
	uint64_t gpu_deadline_ms;
	bool nvidia;
	char *nvidia_driver_root;
	char *nvidia_config_file;
	char *nvidia_config_dir;
	char *nvidia_mig;
	char *nvidia_ctk;
	struct option_list nvidia_lists; /* names of enum nvidia_list */
	int nvidia_labels;               /* auto, off */
	char *nvidia_ignored_xids;
	char *nvidia_fatal_xids;
	bool hami;
	int hami_form; /* enum hami_form */
	char *hami_config_file;
	char *hami_node_config_file;
	char *hami_hook;
	bool amd;
	int amd_naming; /* 1: mixed */
	bool intel;
	uint64_t intel_shares;
	bool device_plugins;
	char *kubelet_dir;
	char *cdi_dir;
	int registration;            /* enum registration_mode */
	int cdi;                     /* enum cdi_mode          */
	int output;                  /* enum out_format */
	bool include_group, release; /* of plan */
	char *driver;
};

enum settings_command { SETTINGS_RUN, SETTINGS_INSPECT, SETTINGS_PLAN };

struct settings_rows {
	struct option_row items[OPTIONS_MAX];
	size_t len;
};

/* The table of the command's options. All commands take the same file, so the keys of the others
 * are in it, too. */
void settings_rows(enum settings_command command, struct settings_rows *ret_rows);

extern const struct options_prose settings_run_prose;
extern const struct options_prose settings_inspect_prose;
extern const struct options_prose settings_plan_prose;

/* Fill what is still unset from the machine: its host name, the helper beside this program. Errors
 * name the setting. */
int settings_complete(struct settings *s, struct err *err);

/* The texts stay @s's. */
struct scan_options settings_scan_options(const struct settings *s);
struct this_node_options settings_node_options(const struct settings *s);
struct binder_options settings_binder_options(const struct settings *s);
struct offers_options settings_offers_options(const struct settings *s);
struct gpu_options settings_gpu_options(const struct settings *s);
struct nvidia_options settings_nvidia_options(const struct settings *s);
struct hami_options settings_hami_options(const struct settings *s);
struct drm_options settings_drm_options(const struct settings *s);

/* Drivers that a claim may name beside vfio-pci: @s's own list as another type, not to be
 * released. */
struct json_strs settings_vfio_drivers(const struct settings *s);

/* The first digits of PCI classes that a release leaves without driver: likewise. */
struct json_strs settings_driverless(const struct settings *s);
