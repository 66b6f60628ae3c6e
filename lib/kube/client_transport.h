/* client_transport: the transport that a configuration says. A part of client.c, for nobody else. */
#pragma once

struct kube_config;
struct transport;
struct uv_loop_s;

/* By transport_new(): its server, how it is judged, by which proxy, and as whom. */
struct transport *client_transport(struct uv_loop_s *loop, const struct kube_config *config,
				   const char *user_agent);
