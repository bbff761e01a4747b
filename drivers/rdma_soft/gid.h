/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which addresses are ours: all GIDs of all links, found by netns and address.
 */
#ifndef RSOFT_GID_H
#define RSOFT_GID_H

#include <linux/in6.h>
#include <rdma/ib_verbs.h>

struct net;
struct rsoft_dev;

/**
 * rsoft_add_gid() - ops.add_gid
 * @attr: GID; its netdev may be in another netns than the link's
 * @context: set to our entry; left NULL in a netns that is being dismantled
 *
 * Context: may sleep, also under rtnl.
 *
 * Return: 0, -ENOMEM, or the errno of the sockets of a netns in which this is
 * the first GID.
 */
int rsoft_add_gid(const struct ib_gid_attr *attr, void **context);

/**
 * rsoft_del_gid() - ops.del_gid
 * @attr: GID
 * @context: our entry
 *
 * Context: may sleep, also under rtnl.
 *
 * Return: 0.
 */
int rsoft_del_gid(const struct ib_gid_attr *attr, void **context);

/**
 * rsoft_gid_find() - device that owns an address
 * @net: netns of the packet
 * @addr: destination, IPv4 as mapped address
 * @ifindex: netdev of the packet; only counts for link-local addresses
 * @vlan_id: set to the VLAN of the address's netdev, 0xffff if it has none
 *
 * If several links own it (one over a netdev, one over its lower netdev), the
 * link over the very netdev of the address is preferred.
 *
 * Context: RCU read section.
 *
 * Return: the device, valid within the RCU read section, or NULL.
 */
struct rsoft_dev *rsoft_gid_find(const struct net *net,
				 const struct in6_addr *addr, int ifindex,
				 u16 *vlan_id);

/**
 * rsoft_gid_owned() - does this device own an address
 * @dev: device
 * @net: netns of the packet
 * @addr: destination, IPv4 as mapped address
 * @ifindex: netdev of the packet; only counts for link-local addresses
 *
 * Context: RCU read section.
 *
 * Return: true if it does.
 */
bool rsoft_gid_owned(const struct rsoft_dev *dev, const struct net *net,
		     const struct in6_addr *addr, int ifindex);

#endif
