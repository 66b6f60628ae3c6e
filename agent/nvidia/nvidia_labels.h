/*
 * nvidia_labels: the labels of the Node that describe its GPUs, under the names and with the values
 * of NVIDIA's GPU Feature Discovery. Pure.
 *
 * "gpu.product" and the labels beside it are of one model: the one that the most GPUs have, of
 * equal ones the first by address. GPU Feature Discovery takes any of them. A GPU that a claim
 * takes is not counted.
 */
#pragma once

#include "agent/nvidia/nvidia_devices.h"

struct json_pairs;
struct nvidia_config;
struct nvidia_gpus;

/* All that they depend on. Borrowed. */
struct nvidia_label_case {
	const struct nvidia_gpus *gpus;
	const struct nvidia_config *config;
	enum nvidia_mig_strategy mig;
	const char *driver;  /* "550.54.15"; NULL: unknown */
	int cuda;            /* 12040: 12.4; -1: unknown   */
	const char *machine; /* the product name of the machine's firmware; NULL: unknown */
};

/* The labels by their keys, "nvidia.com/gpu.count" and so on, which the caller releases. Of no GPU
 * there are none. */
void nvidia_labels_make(const struct nvidia_label_case *c, struct json_pairs *ret_labels);
