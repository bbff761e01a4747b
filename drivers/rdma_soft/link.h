/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Life cycle of a link: from `rdma link add` to the last trace of its device.
 */
#ifndef RSOFT_LINK_H
#define RSOFT_LINK_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

struct net_device;
struct rsoft_dev;
struct rsoft_netns;

/**
 * enum rsoft_link_state - where a link is in its life
 * @RSOFT_LINK_NEW: `rdma link add` is building the device
 * @RSOFT_LINK_LIVE: the device is registered
 * @RSOFT_LINK_DYING: the removal work is queued or runs
 */
enum rsoft_link_state {
	RSOFT_LINK_NEW,
	RSOFT_LINK_LIVE,
	RSOFT_LINK_DYING,
};

/**
 * struct rsoft_link - a link
 * @ref: list or removal work (one), and whoever waits or looks
 * @node: in the list of links; RCU readers, changed under the list's lock
 * @state: under the list's lock
 * @doomed: removal was asked for; under the list's lock. A link that is still
 *          new is removed by its creator
 * @ndev: netdev; valid while the link is in the list (@dev holds it)
 * @net: netns of @ndev at creation, only compared, never followed
 * @dev: device; set before the link is live, valid until the link is done
 * @ns: use of the netns's sockets and hooks; NULL once it was dropped
 * @work: removal
 * @done: removal is over, the netdev is released
 * @rcu: defers freeing past readers of the list
 */
struct rsoft_link {
	refcount_t ref;
	struct list_head node;
	enum rsoft_link_state state;
	bool doomed;
	struct net_device *ndev;
	const struct net *net;
	struct rsoft_dev *dev;
	struct rsoft_netns *ns;
	struct work_struct work;
	struct completion done;
	struct rcu_head rcu;
};

/**
 * rsoft_link_init() - register netns, netdev and rdma netlink hooks
 *
 * Context: module init; rsoft_wq and the tables exist.
 *
 * Return: 0 or the errno of what could not be registered.
 */
int rsoft_link_init(void);

/**
 * rsoft_link_exit() - remove all links and unregister everything
 *
 * All links are gone on return, and no packet enters the module any more.
 *
 * Context: module exit; may sleep.
 */
void rsoft_link_exit(void);

/**
 * rsoft_link_dealloc() - ops.dealloc_driver
 * @ibdev: device that was unregistered, by whomever
 *
 * The core unregisters devices on its own (`rdma link del`, removal of another
 * driver with the same driver id). This only frees the port and queues the
 * removal of the link, which releases the device's memory.
 *
 * rsoft_dev_create() takes a reference on the struct device before it
 * registers, and holds the netdev; the link drops both, and frees the
 * counters. When registration fails the link does nothing and
 * rsoft_dev_create() releases what it took itself.
 *
 * Context: may sleep.
 */
void rsoft_link_dealloc(struct ib_device *ibdev);

/**
 * rsoft_link_remove_net() - remove the links of a netns and wait
 * @net: netns that is being dismantled
 *
 * Context: may sleep, without rtnl.
 */
void rsoft_link_remove_net(const struct net *net);

/**
 * rsoft_link_dev_rcu() - device of the link over a netdev
 * @ndev: netdev
 *
 * Context: RCU read section.
 *
 * Return: the device, valid within the RCU read section, or NULL.
 */
struct rsoft_dev *rsoft_link_dev_rcu(const struct net_device *ndev);

#endif
