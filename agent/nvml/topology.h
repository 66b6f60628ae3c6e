/*
 * topology: how near GPUs are to each other, as lines of a reply, one for each pair and one for the
 * NVLinks of a GPU that lead to a switch.
 *
 *	{"kind":"pair","n":3,"address":"0000:3b:00.0","peer":"0000:3c:00.0","level":10,"nvlinks":2}
 *	{"kind":"switch","n":3,"address":"0000:3b:00.0","nvlinks":12}
 *
 * Levels are the library's: 0 the same board, 10 one PCIe switch, 20 several, 30 a host bridge, 40
 * a NUMA node, 50 the system. On machines with NVSwitch, every link has a switch at its other end.
 */
#pragma once

struct gpu_addresses;
struct nvml;
struct reply;

void topology_reply(const struct nvml *nvml, const struct gpu_addresses *addresses,
		    struct reply *reply);
