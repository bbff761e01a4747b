/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast: which datagram QPs are members of which groups, and the joins at
 * the IP layer that make their packets come.
 */
#ifndef RSOFT_MCAST_H
#define RSOFT_MCAST_H

#include <linux/in6.h>
#include <rdma/ib_verbs.h>

struct net;
struct net_device;
struct rsoft_dev;
struct rsoft_qp;

/* Attachments of all QPs of a device. */
#define RSOFT_MAX_MCAST		65536

/**
 * rsoft_attach_mcast() - ops.attach_mcast
 * @ibqp: UD QP
 * @gid: group, IPv4 as mapped address
 * @lid: not used by RoCE
 *
 * Joins the group at the IP layer (IGMP, MLD): on the netdev of the link, or,
 * for a process in another netns that was given a netdev stacked on it, on
 * that one. Attaching once more changes nothing.
 *
 * Context: may sleep, takes rtnl.
 *
 * Return: 0, -ENOMEM (also if the device has RSOFT_MAX_MCAST attachments),
 * -ENODEV if the netdev has no IP (any more), or the errno of the join.
 */
int rsoft_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/**
 * rsoft_detach_mcast() - ops.detach_mcast
 * @ibqp: UD QP
 * @gid: group it was attached to
 * @lid: not used by RoCE
 *
 * Context: may sleep, takes rtnl.
 *
 * Return: 0, -EINVAL if it is not attached.
 */
int rsoft_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/**
 * rsoft_mcast_ndev_gone() - a netdev is being unregistered or moved
 * @ndev: netdev
 *
 * Leaves the groups that were joined on it. The QPs stay attached, and hear
 * nothing any more.
 *
 * Context: rtnl is held.
 */
void rsoft_mcast_ndev_gone(struct net_device *ndev);

/**
 * rsoft_mcast_find() - device of a member of a group
 * @net: netns of the packet
 * @addr: destination, IPv4 as mapped address
 * @ifindex: netdev of the packet: the one of the join, or one stacked on it
 *
 * Context: RCU read section.
 *
 * Return: the device, valid within the RCU read section, or NULL.
 */
struct rsoft_dev *rsoft_mcast_find(struct net *net,
				   const struct in6_addr *addr, int ifindex);

/**
 * rsoft_mcast_each() - call a function with each member of a group
 * @net: netns of the packet
 * @addr: destination, IPv4 as mapped address
 * @ifindex: netdev of the packet
 * @fn: called with @arg and the QP, which is held during the call only
 * @arg: passed to @fn
 *
 * Context: RCU read section.
 */
void rsoft_mcast_each(struct net *net, const struct in6_addr *addr, int ifindex,
		      void (*fn)(void *arg, struct rsoft_qp *qp), void *arg);

#endif
