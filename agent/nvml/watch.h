/*
 * watch: the role of hostdev-nvml that waits for events of GPUs.
 *
 *	{"kind":"watched","address":"0000:3b:00.0","uuid":"GPU-...","events":33034,"recovery":0,
 *	 "well":true}
 *	{"kind":"watching","gpus":8}                           from here on, nothing is missed
 *	{"kind":"event","address":...,"uuid":...,"type":"xid","data":79}
 *	{"kind":"lost","address":...,"uuid":...,"function":...,"code":15,"message":...}
 *	{"kind":"idle"}                                        every 5 s without any other line
 *
 * An event of a MIG device also has "gi" and "ci".
 *
 * NVML queues events only after registration, so every GPU is read after it is registered; its
 * "watched" line has what happened before. If the wait fails because a GPU is lost, that GPU leaves
 * the set, and the others are registered and read again. The library's wait blocks, so standard
 * input is checked between two waits. The watch ends when standard input is closed, and with an
 * "end" line when no GPU is left.
 */
#pragma once

struct gpu_addresses;
struct nvml_place;

enum { WATCH_WAIT_MS = 5000 };

/* Watch the GPUs at @addresses (none: all); lines go to @fd. The exit status of the program. */
int watch_run(const struct nvml_place *place, const struct gpu_addresses *addresses, int fd);
