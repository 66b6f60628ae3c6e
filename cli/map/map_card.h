/*
 * map_card: the card of one device, node or event, as one line of JSON. Pure.
 *
 * The page does not know kinds: a card has its place (node, address, on), its state, its texts
 * (text, driver, ...), and its details (facts, conditions, claim, pods). Every function borrows the
 * objects and returns text without a line break, which the caller frees. @fault is that of the
 * node; NULL: none.
 */
#pragma once

#include "cli/model/state.h"

struct api_meta;
struct event;
struct mediateddevice;
struct migconfiguration;
struct node;
struct node_fault;
struct pcidevice;
struct pcideviceclaim;
struct resourceclaim;
struct usbdevice;
struct usbdeviceclaim;
struct vgpudevice;

/* One of @device and @claim may be NULL, not both: a claim without its device is shown as gone.
 * @resource_claim is the ResourceClaim to which the device is allocated; NULL: none is known. */
char *map_card_pci(const char *id, const struct pcidevice *device,
		   const struct pcideviceclaim *claim, const struct resourceclaim *resource_claim,
		   const struct node_fault *fault, enum state_conflict conflict);
char *map_card_usb(const char *id, const struct usbdevice *device,
		   const struct usbdeviceclaim *claim, const struct resourceclaim *resource_claim,
		   const struct node_fault *fault, enum state_conflict conflict);
char *map_card_mdev(const char *id, const struct mediateddevice *device,
		    const struct resourceclaim *resource_claim, const struct node_fault *fault);
/* The card of a part of a device (cli/model/part.h); NULL: it does not exist, and no object asks
 * for it. @function is the virtual function of the vGPU; NULL: not known. */
char *map_card_vgpu(const char *id, const struct vgpudevice *vgpu, const struct pcidevice *function,
		    const struct node_fault *fault);
char *map_card_mig(const char *id, const struct migconfiguration *mig,
		   const struct node_fault *fault);
char *map_card_node(const char *id, const struct node *node, const struct node_fault *fault);
char *map_card_event(const char *id, const struct event *event);

/* @name, which is of the object's status or spec, otherwise the node of its label; may be NULL. */
const char *map_card_node_name(const char *name, const struct api_meta *meta);
