/*
 * nvidia_node: the labels of this node's Node that describe its GPUs, as a kind on
 * lib/kube/reconcile.h.
 *
 * They are applied by a field manager of their own, never by force. The annotation NVIDIA_RECORD
 * has the labels that were applied, with their values. A label that the Node has with another
 * value, or that is not recorded, is somebody else's, and stays as it is. While GPU Feature
 * Discovery labels the Node, the agent does not: it removes its labels, without those that Node
 * Feature Discovery already has as its own.
 */
#pragma once

#include <stdbool.h>

struct decision;
struct json_pairs;
struct node;
struct nvidia_node;
struct this_node;

#define NVIDIA_RECORD  "hostdev.io/gpu-labels"
#define NVIDIA_MANAGER "hostdev-agent-nvidia"

/* --- the plan --------------------------------------------------------------------------------- */

/* The next step so that @node has @labels. Pure. Its job is the text of the labels that are
 * somebody else's, "nvidia.com/gpu.count, nvidia.com/gpu.memory"; NULL: none. */
void nvidia_node_plan(const struct node *node, const struct json_pairs *labels,
		      struct decision *ret_decision);

/* --- the reconciler --------------------------------------------------------------------------- */

/* @node outlives it, and has a Node's informer. Nothing is written before the first
 * nvidia_node_set(). */
struct nvidia_node *nvidia_node_new(const struct this_node *node);
/* Takes NULL, returns NULL. */
struct nvidia_node *nvidia_node_free(struct nvidia_node *labelled);

/* The Node is to have these labels; copied. */
void nvidia_node_set(struct nvidia_node *labelled, const struct json_pairs *labels);

/* The Node changed in the cache, or its list is there. */
void nvidia_node_changed(struct nvidia_node *labelled);
