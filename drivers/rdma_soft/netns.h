/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a netns needs to receive RoCE packets: UDP sockets on port 4791 and
 * netfilter hooks. They exist while a link or a GID uses the netns.
 */
#ifndef RSOFT_NETNS_H
#define RSOFT_NETNS_H

#include <linux/types.h>

struct dentry;
struct net;
struct rsoft_inroutes;
struct rsoft_netns;

/* The module's folder in debugfs: switches, and a folder for each device. */
extern struct dentry *rsoft_debugfs;

/**
 * rsoft_netns_init() - register for the creation and removal of netns
 *
 * Context: module init.
 *
 * Return: 0 or a negative errno.
 */
int rsoft_netns_init(void);

/**
 * rsoft_netns_exit() - opposite of rsoft_netns_init()
 *
 * All users must have been put. No packet is in the module's receive entry
 * points when this returns.
 *
 * Context: module exit; may sleep.
 */
void rsoft_netns_exit(void);

/**
 * rsoft_netns_get() - use a netns: packets are received in it from now on
 * @net: netns
 *
 * Context: may sleep, also under rtnl.
 *
 * Return: a handle to be put; ERR_PTR(-EADDRINUSE) if another driver or
 * program owns UDP port 4791 there (one line in the log says what to do),
 * ERR_PTR(-ENODEV) if the netns is being dismantled, another errno of the
 * socket layer or netfilter.
 */
struct rsoft_netns *rsoft_netns_get(struct net *net);

/**
 * rsoft_netns_put() - stop using a netns; the last user's put frees the port
 * @ns: handle
 *
 * Context: may sleep, without rtnl.
 */
void rsoft_netns_put(struct rsoft_netns *ns);

/**
 * rsoft_netns_put_later() - the same for callers that may hold rtnl
 * @ns: handle
 *
 * The port is freed by a work item if this was the last user.
 *
 * Context: may sleep.
 */
void rsoft_netns_put_later(struct rsoft_netns *ns);

/**
 * rsoft_netns_routes() - input routes of a netns
 * @net: netns
 *
 * Context: a hook of that netns.
 *
 * Return: its routes.
 */
struct rsoft_inroutes *rsoft_netns_routes(struct net *net);

/**
 * rsoft_hook_enabled() - is receiving below UDP switched on
 *
 * The switch is the file rdma_soft/hook in debugfs. Without the hook all
 * packets come through the UDP sockets, one by one.
 *
 * Return: true unless it was switched off.
 */
bool rsoft_hook_enabled(void);

#endif
