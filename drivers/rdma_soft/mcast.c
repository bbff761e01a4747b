// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups. A member is a UD QP that a process attached to a group; the
 * receive path finds the members of a group by netns and address, and each gets
 * its own copy. What one member sends comes back to the others of this machine
 * the way all multicast does: the IP layer loops it back where the group is
 * joined. So attaching joins at the IP layer too, whether the process has come
 * through the connection manager or not.
 *
 * Joins belong to netdevs: changes of the hash are made under rtnl.
 */
#include "mcast.h"

#include <linux/hashtable.h>
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "device.h"
#include "path.h"
#include "qp.h"

#define RSOFT_MCAST_BITS 10

/**
 * struct rsoft_mcast - one QP in one group
 * @node: in the hash
 * @cookie: netns of @ndev
 * @addr: group
 * @ifindex: of @ndev
 * @ndev: netdev on which the group is joined, NULL once it went; not held
 * @dev: device of the QP, which outlives it
 * @qpn: the QP's number; it is looked up for each packet
 * @rcu: defers freeing
 */
struct rsoft_mcast {
	struct hlist_node node;
	u64 cookie;
	struct in6_addr addr;
	int ifindex;
	struct net_device *ndev;
	struct rsoft_dev *dev;
	u32 qpn;
	struct rcu_head rcu;
};

static DEFINE_HASHTABLE(rsoft_mcasts, RSOFT_MCAST_BITS);

static u32 mcast_hash(const struct in6_addr *addr)
{
	return jhash2((const u32 *)addr, sizeof(*addr) / sizeof(u32), 0);
}

/* --- the IP layer --------------------------------------------------------- */

static int mcast_join(struct net_device *ndev, const struct in6_addr *addr)
{
	struct in_device *in_dev;
	int err;

	if (ndev->reg_state != NETREG_REGISTERED)
		return -ENODEV;
	if (!ipv6_addr_v4mapped(addr)) {
		err = ipv6_mod_enabled() ? ipv6_dev_mc_inc(ndev, addr) : -ENODEV;
		/* what it says of a netdev without IPv6 */
		return err == -EINVAL ? -ENODEV : err;
	}

	in_dev = __in_dev_get_rtnl(ndev);
	if (!in_dev)
		return -ENODEV;
	ip_mc_inc_group(in_dev, addr->s6_addr32[3]);
	return 0;
}

/* Nothing to leave where the IP layer has taken its part away already. */
static void mcast_leave(struct rsoft_mcast *m)
{
	struct net_device *ndev = m->ndev;
	struct in_device *in_dev;

	if (!ndev)
		return;

	WRITE_ONCE(m->ndev, NULL);
	if (!ipv6_addr_v4mapped(&m->addr)) {
		ipv6_dev_mc_dec(ndev, &m->addr);
		return;
	}
	in_dev = __in_dev_get_rtnl(ndev);
	if (in_dev)
		ip_mc_dec_group(in_dev, m->addr.s6_addr32[3]);
}

/* --- members -------------------------------------------------------------- */

static int mcast_is_upper_of(struct net_device *upper,
			     struct netdev_nested_priv *priv)
{
	const struct rsoft_qp *qp = priv->data;

	if (dev_net(upper)->net_cookie != qp->net_cookie)
		return 0;
	priv->data = upper;
	return 1;
}

/*
 * Where to join: a process in another netns may have been given a netdev that
 * is stacked on ours (the child interface of a container).
 */
static struct net_device *mcast_ndev(struct rsoft_qp *qp)
{
	struct netdev_nested_priv priv = { .data = qp };
	struct net_device *ndev = qp->dev->ndev;
	int found = 0;

	if (qp->user && dev_net(ndev)->net_cookie != qp->net_cookie) {
		rcu_read_lock();
		found = netdev_walk_all_upper_dev_rcu(ndev, mcast_is_upper_of,
						      &priv);
		rcu_read_unlock();
	}
	return found ? priv.data : ndev;
}

static struct rsoft_mcast *mcast_lookup(const struct rsoft_qp *qp,
					const union ib_gid *gid)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid->raw;
	struct rsoft_mcast *m;

	ASSERT_RTNL();
	hash_for_each_possible(rsoft_mcasts, m, node, mcast_hash(addr))
		if (m->qpn == qp->qpn && ipv6_addr_equal(&m->addr, addr))
			return m;
	return NULL;
}

static int mcast_add(struct rsoft_qp *qp, struct rsoft_mcast *m)
{
	struct net_device *ndev = mcast_ndev(qp);
	int err;

	ASSERT_RTNL();
	if (qp->dev->mcasts >= RSOFT_MAX_MCAST)
		return -ENOMEM;
	err = mcast_join(ndev, &m->addr);
	if (err)
		return err;

	m->cookie = dev_net(ndev)->net_cookie;
	m->ifindex = ndev->ifindex;
	m->ndev = ndev;
	m->dev = qp->dev;
	m->qpn = qp->qpn;
	hash_add_rcu(rsoft_mcasts, &m->node, mcast_hash(&m->addr));
	qp->dev->mcasts++;
	return 0;
}

int rsoft_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct rsoft_qp *qp = to_rqp(ibqp);
	struct rsoft_mcast *m;
	int err = 0;

	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return -ENOMEM;
	memcpy(&m->addr, gid->raw, sizeof(m->addr));

	rtnl_lock();
	if (!mcast_lookup(qp, gid)) {
		err = mcast_add(qp, m);
		if (!err)
			m = NULL;
	}
	rtnl_unlock();
	kfree(m);
	/* A route to the group leads back here as well from now on. */
	if (!err)
		rsoft_path_flush();
	return err;
}

int rsoft_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct rsoft_qp *qp = to_rqp(ibqp);
	struct rsoft_mcast *m;

	rtnl_lock();
	m = mcast_lookup(qp, gid);
	if (m) {
		hash_del_rcu(&m->node);
		qp->dev->mcasts--;
		mcast_leave(m);
	}
	rtnl_unlock();
	if (!m)
		return -EINVAL;

	kfree_rcu(m, rcu);
	rsoft_path_flush();
	return 0;
}

void rsoft_mcast_ndev_gone(struct net_device *ndev)
{
	struct rsoft_mcast *m;
	int i;

	ASSERT_RTNL();
	hash_for_each(rsoft_mcasts, i, m, node)
		if (m->ndev == ndev)
			mcast_leave(m);
}

/* --- packets -------------------------------------------------------------- */

static bool mcast_match(const struct rsoft_mcast *m, struct net *net,
			const struct in6_addr *addr, int ifindex)
{
	struct net_device *joined = READ_ONCE(m->ndev);
	struct net_device *ndev;

	if (!joined || m->cookie != net->net_cookie ||
	    !ipv6_addr_equal(&m->addr, addr))
		return false;
	if (m->ifindex == ifindex)
		return true;
	/* A netdev stays readable for an RCU period after it went. */
	ndev = dev_get_by_index_rcu(net, ifindex);
	return ndev && netdev_has_upper_dev_all_rcu(joined, ndev);
}

struct rsoft_dev *rsoft_mcast_find(struct net *net,
				   const struct in6_addr *addr, int ifindex)
{
	struct rsoft_mcast *m;

	hash_for_each_possible_rcu(rsoft_mcasts, m, node, mcast_hash(addr))
		if (mcast_match(m, net, addr, ifindex))
			return m->dev;
	return NULL;
}

void rsoft_mcast_each(struct net *net, const struct in6_addr *addr, int ifindex,
		      void (*fn)(void *arg, struct rsoft_qp *qp), void *arg)
{
	struct rsoft_mcast *m;
	struct rsoft_qp *qp;

	hash_for_each_possible_rcu(rsoft_mcasts, m, node, mcast_hash(addr)) {
		if (!mcast_match(m, net, addr, ifindex))
			continue;
		qp = rsoft_qp_lookup(m->qpn);
		if (!qp)
			continue;
		fn(arg, qp);
		rsoft_handle_put(qp->h);
	}
}
