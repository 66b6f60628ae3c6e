/*
 * node_parts: the parts that the node agent is made of, and how they are made and tied together.
 *
 * For node_agent and node_ties alone.
 */
#pragma once

#include "agent/inventory/inventory.h"
#include "agent/node_agent.h"

struct informer;
struct informer_deps;
struct uv_loop_s;

/* One of these per kind of device and of claim: what its informer's handlers get. */
struct watched {
	struct node_agent *agent;
	enum inventory_kind kind;
	struct informer *informer;
};

struct node_agent {
	struct node_agent_options options;
	struct clock *clock;
	struct events *events;
	struct watched devices[INVENTORY_KINDS];
	struct watched claims[INVENTORY_KINDS];
	struct informer *node;
	struct publish *publish;
	struct claims *pci_claims;
	struct node_agent_seen seen; /* until it has begun with it */
	struct clock_timer *begins;
	struct look *look;
	struct lend *lend;
	struct config_watch *config;
	const struct config *asked; /* by the HostDeviceConfig; NULL: not known yet */
	struct generics *generics;
	struct usb *usb;
	struct mdevs *mdevs;
	struct sriov *sriov;
	struct gpus *gpus;
	struct adopt *adopt;
	bool scanned;
	bool told_failure; /* an event said that scans fail */
	struct metric *listed;
};

/* Make all but `clock`, `events` and `options`, which are there, and begin to listen. */
void node_parts_make(struct node_agent *agent, struct uv_loop_s *loop,
		     const struct informer_deps *deps);
