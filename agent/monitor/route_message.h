/*
 * route_message: what the messages of one datagram of a route netlink socket are about. No I/O.
 *
 * The kernel reports a link by rtnl_fill_ifinfo() of net/core/rtnetlink.c: struct ifinfomsg, then
 * attributes. One of them, IFLA_LINKINFO, is a nest that has the kind of a virtual link as
 * IFLA_INFO_KIND (rtnl_link_info_fill()).
 */
#pragma once

#include <stddef.h>

/* In the order of their weight. */
enum route_news {
	ROUTE_NEWS_NOTHING, /* about no hardware                                          */
	ROUTE_NEWS_ROUTES,  /* routes or addresses: only reading them shows whether they differ */
	ROUTE_NEWS_LINK,    /* a link may have changed, or be on another one, or under it */
};

/*
 * The weightiest of the news in @data, of @len bytes; what has another form than expected may be
 * about a link.
 *
 * No news of a link are
 *
 * - those of a pair of links of which a pod has the other one (veth, netkit): such a link is on no
 *   hardware, nor is it on another link. What it is a part of, a bridge, has news of its own;
 * - those of a port by its bridge (AF_BRIDGE; br_fill_ifinfo() of net/bridge/br_netlink.c). That a
 *   link has become a part of a bridge, bond or other link it also says itself (NETDEV_CHANGEUPPER
 *   in rtnetlink_event()).
 */
enum route_news route_message_read(const void *data, size_t len);
