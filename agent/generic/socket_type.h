/*
 * socket_type: sockets of the host's daemons, offered to pods through the kubelet: a container gets
 * the folder of the socket.
 *
 * A device is healthy while the socket exists, or always if the config says that it is optional;
 * never if the path contains a link. Folder and socket get the owner and the label from the config
 * each time they are created.
 */
#pragma once

struct config;
struct config_troubles;
struct device_type;
struct json_pairs;
struct json_strs;
struct plugins;
struct socket_type;

/* Borrowed. */
struct socket_roots {
	const char *host;  /* NULL: /    */
	const char *sysfs; /* NULL: /sys */
};

struct socket_type *socket_type_new(const struct socket_roots *roots);
/* Takes NULL, returns NULL. */
struct socket_type *socket_type_free(struct socket_type *type);

/* As those of generic_type. */
void socket_type_set(struct socket_type *type, const struct config *config,
		     const struct json_pairs *labels);
void socket_type_paths(const struct socket_type *type, struct json_strs *paths);
void socket_type_offer(struct socket_type *type, struct plugins *plugins,
		       struct config_troubles *troubles);

/* Its `arg` is the struct socket_type. */
extern const struct device_type socket_device_type;

/* The number behind @resource in @text, which is misc.capacity: a line "tdx 31" for each; 0 if
 * there is none, at most @max. */
unsigned misc_capacity_find(const char *text, const char *resource, unsigned max);
