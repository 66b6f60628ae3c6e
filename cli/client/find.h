/* find: the device that a word on the command line names. Pure. */
#pragma once

struct cluster;
struct cluster_device;
struct str;

enum { FIND_LISTED = 10 }; /* candidates that are named */

/*
 * A word is the name of an object (also with its kind, as -o name prints it; a card's
 * SRIOVNetworkDevice and the like mean its PCI function), NODE/ADDRESS, or an address that is one
 * device's alone; a PCI address may leave out the domain 0000. A kind and a name that do not go
 * together are -EINVAL, and so is the address of a bridge that is not listed itself. Result: 0 with
 * *@ret_device; -ENOENT or -ENOTUNIQ with @why, which for the latter lists the candidates.
 */
int find_device(struct cluster *cluster, const char *word, struct cluster_device **ret_device,
		struct str *why);

/* The name of the object in @word: without the prefix "pcidevice.devices.harvesterhci.io/" or
 * similar, if it has one. */
const char *find_name_part(const char *word);

/* The name of the node in @word: without the prefix "node/" or "nodes/", if it has one. */
const char *find_node_part(const char *word);

/* Length of the node's name in NODE/ADDRESS; 0 if the word has another form. */
unsigned find_node_len(const char *word);
