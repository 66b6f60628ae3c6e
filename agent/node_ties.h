/*
 * node_ties: what one part of the agent tells the others, and asks them.
 *
 * The parts know nothing of each other: each calls back through the functions that it was made with,
 * and these are they. @arg is the struct node_agent, of tie_object() and tie_list() a struct watched.
 */
#pragma once

#include <stdbool.h>

#include "agent/inventory/inventory.h"

struct api_condition_value;
struct claim_offer;
struct publish_offer;
struct config;
struct config_troubles;
struct entry;
struct err;
struct mediateddevice;
struct pcidevice_allocations;
struct plugins;

/* --- from the API server ------------------------------------------------------------------ */

/* A device or a claim changed. */
void tie_object(void *arg, const char *name, const struct entry *before, const struct entry *after);
/* The list of a kind is there. */
void tie_list(void *arg);
void tie_node(void *arg, const char *name, const struct entry *before, const struct entry *after);
void tie_node_list(void *arg);
void tie_node_denied(void *arg);
void tie_config(void *arg, const struct config *config);

/* --- from the kernel ------------------------------------------------------------------------ */

/* What a scan found; as look_fn. */
void tie_inventory(void *arg, struct inventory *inventory, const struct err *err);
void tie_uevent(void *arg);

/* --- from transitions ------------------------------------------------------------------------ */

/* Devices are on other drivers now, or made or gone: look again. */
void tie_moved(void *arg);
/* Virtual functions are as they should be: their claims may go on. */
void tie_settled(void *arg);
/* The card of the function @address has another name. */
void tie_named(void *arg, const char *address);
bool tie_is_moving(void *arg, const char *name);
/* Is it held back until its card has its virtual functions? */
bool tie_is_held(void *arg, const char *address);

/* --- who has what, and as what ------------------------------------------------------------------ */

/* As lend_is_free(). */
bool tie_is_free(void *arg, const char *address, char **ret_holder);
/* Does the kubelet offer the claimed function @address? As claims_deps has it. */
void tie_ask_offer(void *arg, const char *address, struct claim_offer *ret_offer);
/* That is not what it was. */
void tie_offer(void *arg, const char *address);
bool tie_is_taken(void *arg, const char *resource);
/* As usb_is_free(). */
bool tie_is_usb_free(void *arg, const char *port, char **ret_holder);
const struct pcidevice_allocations *tie_allocations(void *arg, enum inventory_kind kind,
						    const char *name);
/* Who has the device @address (NULL: any) is not what it was. */
void tie_lent(void *arg, const char *address);
void tie_mdevs(void *arg);
void tie_vgpus(void *arg);
/* What the generic devices are like is not what it was. */
void tie_shared(void *arg);
/* Each is one part that reports: "generic", "usb", "mdev"; tie_offer_shared() reports "pci". */
enum { TIE_REPORTS = 4 };
void tie_shared_trouble(void *arg, const struct config_troubles *troubles);
void tie_usb_trouble(void *arg, const struct config_troubles *troubles);
void tie_mdev_trouble(void *arg, const struct config_troubles *troubles);
void tie_offer_shared(void *arg, struct plugins *plugins);
const char *tie_held_as(void *arg, const char *name);
void tie_offer_selected(void *arg, enum inventory_kind kind, const char *name,
			struct publish_offer *ret_offer);
void tie_usb_selected(void *arg);
const char *tie_mdev_resource(void *arg, const struct mediateddevice *device);
const struct api_condition_value *tie_mdev_condition(void *arg, const char *parent);
const char *tie_vgpu_resource(void *arg, const char *uuid);
/* The card of a virtual function or vGPU, and the label that names it in *@ret_key; NULL: it has none. */
const char *tie_parent(void *arg, const char *name, const char **ret_key);
