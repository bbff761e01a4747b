// SPDX-License-Identifier: GPL-2.0
/*
 * Which addresses are ours: the GIDs of all links in one RCU hash, by netns
 * and address. The receive path asks it whether to take a packet, and for
 * datagrams and QP1 which device they are for.
 *
 * The core calls add and del under the mutex of its GID table, in some cases
 * under rtnl too.
 */
#include "gid.h"

#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>

#include "device.h"
#include "netns.h"

#define RSOFT_GID_BITS 10

/**
 * struct rsoft_gid - one GID of one device; constant while it is hashed
 * @node: in the hash
 * @cookie: identity of the netns of the GID's netdev
 * @addr: address
 * @ifindex: GID's netdev if the address is link-local, else 0
 * @vlan_id: VLAN of the GID's netdev, 0xffff if it has none
 * @direct: the device's link is over the GID's netdev, not below it
 * @dev: device
 * @ns: use of the netns
 * @rcu: defers freeing
 */
struct rsoft_gid {
	struct hlist_node node;
	u64 cookie;
	struct in6_addr addr;
	int ifindex;
	u16 vlan_id;
	bool direct;
	struct rsoft_dev *dev;
	struct rsoft_netns *ns;
	struct rcu_head rcu;
};

static DEFINE_HASHTABLE(rsoft_gids, RSOFT_GID_BITS);
static DEFINE_SPINLOCK(rsoft_gid_lock);

static u32 rsoft_gid_hash(u64 cookie, const struct in6_addr *addr)
{
	u64 words[2];

	/* of our own addresses: nobody else can fill a bucket */
	memcpy(words, addr, sizeof(words));
	return hash_64(words[0] + rol64(words[1], 29) + cookie, 32);
}

static int rsoft_gid_scope(const struct in6_addr *addr, int ifindex)
{
	return ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL ? ifindex : 0;
}

static void rsoft_gid_hash_add(struct rsoft_gid *gid)
{
	lockdep_assert_held(&rsoft_gid_lock);
	hash_add_rcu(rsoft_gids, &gid->node,
		     rsoft_gid_hash(gid->cookie, &gid->addr));
}

static void rsoft_gid_hash_del(struct rsoft_gid *gid)
{
	lockdep_assert_held(&rsoft_gid_lock);
	hash_del_rcu(&gid->node);
}

int rsoft_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct net_device *ndev;
	struct rsoft_gid *gid;
	struct net *net;
	int err;

	gid = kzalloc(sizeof(*gid), GFP_KERNEL);
	if (!gid)
		return -ENOMEM;

	/* The core holds the netdev, but its netns may go under our hands. */
	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	net = maybe_get_net(dev_net(ndev));
	rcu_read_unlock();
	err = 0;
	if (!net)
		goto err_free;

	gid->ns = rsoft_netns_get(net);
	gid->cookie = net->net_cookie;
	put_net(net);
	err = PTR_ERR_OR_ZERO(gid->ns);
	if (err)
		goto err_free;

	gid->dev = to_rdev(attr->device);
	gid->direct = gid->dev->ndev == ndev;
	memcpy(&gid->addr, attr->gid.raw, sizeof(gid->addr));
	gid->ifindex = rsoft_gid_scope(&gid->addr, ndev->ifindex);
	err = rdma_read_gid_l2_fields(attr, &gid->vlan_id, NULL);
	if (err)
		goto err_put_ns;

	spin_lock(&rsoft_gid_lock);
	rsoft_gid_hash_add(gid);
	spin_unlock(&rsoft_gid_lock);
	*context = gid;
	return 0;

err_put_ns:
	rsoft_netns_put_later(gid->ns);
err_free:
	kfree(gid);
	/* In a netns on its way out a GID serves nobody, and goes soon. */
	return err == -ENODEV ? 0 : err;
}

int rsoft_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct rsoft_gid *gid = *context;

	if (!gid)
		return 0;

	*context = NULL;
	spin_lock(&rsoft_gid_lock);
	rsoft_gid_hash_del(gid);
	spin_unlock(&rsoft_gid_lock);

	rsoft_netns_put_later(gid->ns);
	kfree_rcu(gid, rcu);
	return 0;
}

static bool rsoft_gid_match(const struct rsoft_gid *gid, u64 cookie,
			    const struct in6_addr *addr, int ifindex)
{
	return gid->cookie == cookie && gid->ifindex == ifindex &&
	       ipv6_addr_equal(&gid->addr, addr);
}

struct rsoft_dev *rsoft_gid_find(const struct net *net,
				 const struct in6_addr *addr, int ifindex,
				 u16 *vlan_id)
{
	u32 hash = rsoft_gid_hash(net->net_cookie, addr);
	int scope = rsoft_gid_scope(addr, ifindex);
	struct rsoft_dev *dev = NULL;
	struct rsoft_gid *gid;

	hash_for_each_possible_rcu(rsoft_gids, gid, node, hash) {
		if (!rsoft_gid_match(gid, net->net_cookie, addr, scope))
			continue;
		dev = gid->dev;
		*vlan_id = gid->vlan_id;
		if (gid->direct)
			break;
	}
	return dev;
}

bool rsoft_gid_owned(const struct rsoft_dev *dev, const struct net *net,
		     const struct in6_addr *addr, int ifindex)
{
	u32 hash = rsoft_gid_hash(net->net_cookie, addr);
	int scope = rsoft_gid_scope(addr, ifindex);
	struct rsoft_gid *gid;

	hash_for_each_possible_rcu(rsoft_gids, gid, node, hash) {
		if (gid->dev == dev &&
		    rsoft_gid_match(gid, net->net_cookie, addr, scope))
			return true;
	}
	return false;
}
