// SPDX-License-Identifier: GPL-2.0
/*
 * Where packets go: addresses are fixed when an address vector is resolved,
 * the route is looked up on first use and again whenever it went stale.
 *
 * The source GID decides netns and egress: the look-up happens in the netns of
 * its netdev, bound to that netdev. No pointer to a netns or netdev is kept;
 * both are found through the GID, which the core invalidates in time. While a
 * GID is valid its netns cannot change. When a MAC address changes or a bond
 * fails over, the core makes the GIDs of the netdev anew: what was resolved
 * before goes on with the one that took the place of its own.
 */
#include "path.h"

#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "crc.h"
#include "device.h"
#include "gso.h"
#include "proto/hdr.h"

/* Packets per skb; the stack's own senders stop there as well. */
#define RSOFT_GSO_SEGS_MAX 128
#define RSOFT_FLOW_LABEL_MASK 0xfffff
/* gso_max_size counts link-layer headers too. */
#define RSOFT_GSO_SLACK 128

static atomic_t rsoft_route_gen = ATOMIC_INIT(0);

void rsoft_path_flush(void)
{
	atomic_inc(&rsoft_route_gen);
}

/*
 * A GID of the link's own netns serves whoever may open the device, as with
 * every RDMA device that is shared between netns. One of another netns (its
 * netdev is stacked on ours, and was given to a container) serves that netns
 * alone. Kernel consumers have checked netns themselves.
 */
static bool rsoft_path_serves(const struct rsoft_dev *dev,
			      const struct net *net, gfp_t gfp)
{
	if (net_eq(net, dev_net(dev->ndev)))
		return true;
	if (!gfpflags_allow_blocking(gfp) || !in_task() ||
	    current->flags & PF_KTHREAD || !current->nsproxy)
		return true;
	return net_eq(net, current->nsproxy->net_ns);
}

/*
 * GID 0 is made of the MAC address, whether the netdev has that address or not.
 * Without it nobody answers who asks for it, so nothing would come back.
 */
static bool rsoft_path_has_addr(const struct rsoft_path *path,
				const struct net_device *ndev)
{
	const struct in6_addr *addr =
		(const struct in6_addr *)path->flow.saddr;

	if (!path->flow.ipv6 || !ipv6_mod_enabled() ||
	    !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL) ||
	    ipv6_chk_addr_and_flags(dev_net(ndev), addr, ndev, false, 1, 0))
		return true;

	ibdev_warn_ratelimited(&path->dev->ib_dev,
			       "%s has no address %pI6c: use another GID\n",
			       ndev->name, addr);
	return false;
}

static int rsoft_path_bind(struct rsoft_path *path, gfp_t gfp)
{
	const struct net_device *ndev;
	int err = -EADDRNOTAVAIL;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(path->sgid);
	if (!IS_ERR(ndev) &&
	    rsoft_path_serves(path->dev, dev_net(ndev), gfp) &&
	    rsoft_path_has_addr(path, ndev)) {
		path->net_cookie = dev_net(ndev)->net_cookie;
		path->ifindex = ndev->ifindex;
		err = 0;
	}
	rcu_read_unlock();

	/* ipv6.disable=1 leaves GIDs made from the MAC address. */
	if (path->flow.ipv6 && !ipv6_mod_enabled())
		err = -EADDRNOTAVAIL;
	if (err)
		rsoft_count(path->dev, RSOFT_CNT_TX_NO_ROUTE);
	return err;
}

static void rsoft_path_set_addrs(struct rsoft_flow *flow,
				 const union ib_gid *sgid,
				 const union ib_gid *dgid)
{
	u32 skip = flow->ipv6 ? 0 : 12;

	memcpy(flow->saddr, sgid->raw + skip, 16 - skip);
	memcpy(flow->daddr, dgid->raw + skip, 16 - skip);
}

static bool rsoft_gid_is_v4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid->raw);
}

struct rsoft_path *rsoft_path_create(struct rsoft_dev *dev,
				     const struct rdma_ah_attr *attr, u32 lqpn,
				     u32 rqpn, gfp_t gfp)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct ib_gid_attr *sgid = grh->sgid_attr;
	struct rsoft_path *path;
	int err;

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !sgid ||
	    sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP ||
	    rsoft_gid_is_v4(&sgid->gid) != rsoft_gid_is_v4(&grh->dgid))
		return ERR_PTR(-EINVAL);

	path = kzalloc(sizeof(*path), gfp);
	if (!path)
		return ERR_PTR(-ENOMEM);

	refcount_set(&path->ref, 1);
	spin_lock_init(&path->lock);
	path->dev = dev;
	path->sgid = sgid;
	path->tclass = grh->traffic_class;
	path->hop_limit = grh->hop_limit;
	path->flow_label = grh->flow_label & RSOFT_FLOW_LABEL_MASK;
	path->sl = rdma_ah_get_sl(attr);
	path->flow.ipv6 = !rsoft_gid_is_v4(&grh->dgid);
	path->flow.sport = htons(rdma_get_udp_sport(grh->flow_label, lqpn,
						    rqpn));
	path->flow.dport = htons(RSOFT_UDP_PORT);
	path->flow.frag_off = htons(IP_DF);
	rsoft_path_set_addrs(&path->flow, &sgid->gid, &grh->dgid);
	path->icrc = rsoft_crc_flow(&path->flow);
	if (attr->type == RDMA_AH_ATTR_TYPE_ROCE)
		ether_addr_copy(path->dmac, attr->roce.dmac);

	err = rsoft_path_bind(path, gfp);
	if (err) {
		kfree(path);
		return ERR_PTR(err);
	}
	rdma_hold_gid_attr(sgid);
	return path;
}

/*
 * Senders hold a reference. The receive path compares addresses under RCU
 * alone and touches neither the GID nor the route.
 */
void rsoft_path_put(struct rsoft_path *path)
{
	if (!path || !refcount_dec_and_test(&path->ref))
		return;

	dst_release(rcu_dereference_protected(path->dst, true));
	rdma_put_gid_attr(path->sgid);
	kfree_rcu(path, rcu);
}

/*
 * Where to look: on the GID's netdev. A local destination is not there: look
 * without netdev but with the source, so that two links of one netns reach
 * each other, and policy routing by source may still lead over a wire. A
 * VRF's tables are asked by the VRF.
 */
static int rsoft_path_oif(const struct net_device *ndev, bool local)
{
	if (local)
		return l3mdev_master_ifindex_rcu(ndev);
	return ndev->flags & IFF_LOOPBACK ? 0 : ndev->ifindex;
}

static struct dst_entry *rsoft_path_lookup4(const struct rsoft_path *path,
					    struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct flowi4 fl4 = {};
	struct rtable *rt;
	bool local;

	memcpy(&fl4.saddr, path->flow.saddr, sizeof(fl4.saddr));
	memcpy(&fl4.daddr, path->flow.daddr, sizeof(fl4.daddr));
	local = inet_addr_type_dev_table(net, ndev, fl4.daddr) == RTN_LOCAL;
	fl4.flowi4_oif = rsoft_path_oif(ndev, local);
	fl4.flowi4_proto = IPPROTO_UDP;
	fl4.flowi4_uid = sock_net_uid(net, NULL);
	fl4.fl4_sport = path->flow.sport;
	fl4.fl4_dport = path->flow.dport;
	rsoft_flowi4_set_tos(&fl4, path->tclass);

	rt = ip_route_output_flow(net, &fl4, NULL);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	if (rt->rt_flags & RTCF_BROADCAST) {
		ip_rt_put(rt);
		return ERR_PTR(-EACCES);
	}
	return &rt->dst;
}

static struct dst_entry *rsoft_path_lookup6(const struct rsoft_path *path,
					    struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct flowi6 fl6 = {};
	bool local = false;

	memcpy(&fl6.saddr, path->flow.saddr, sizeof(fl6.saddr));
	memcpy(&fl6.daddr, path->flow.daddr, sizeof(fl6.daddr));
	/* A link-local address means the netdev, local or not. */
	if (!(ipv6_addr_type(&fl6.daddr) & IPV6_ADDR_LINKLOCAL))
		local = ipv6_chk_addr(net, &fl6.daddr, NULL, 0);
	fl6.flowi6_oif = rsoft_path_oif(ndev, local);
	fl6.flowi6_proto = IPPROTO_UDP;
	fl6.flowi6_uid = sock_net_uid(net, NULL);
	fl6.fl6_sport = path->flow.sport;
	fl6.fl6_dport = path->flow.dport;
	fl6.flowlabel = ip6_make_flowinfo(path->tclass,
					  htonl(path->flow_label));

	return ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
}

static void rsoft_path_set_limits(struct rsoft_path *path,
				  struct dst_entry *dst)
{
	struct net_device *dev = dst_dev(dst);
	netdev_features_t csum = NETIF_F_HW_CSUM;
	u32 bytes = READ_ONCE(dev->gso_max_size);
	bool gso_ok;

	/* IPsec takes super-packets apart before it encrypts: no gain. */
	gso_ok = rsoft_gso_wanted(path->dev, dev, path->flow.ipv6) &&
		 !dst_xfrm(dst);
	csum |= path->flow.ipv6 ? NETIF_F_IPV6_CSUM : NETIF_F_IP_CSUM;
	bytes = bytes > RSOFT_GSO_SLACK ? bytes - RSOFT_GSO_SLACK : 0;

	WRITE_ONCE(path->mtu, dst_mtu(dst));
	WRITE_ONCE(path->csum_ok, dev->features & csum);
	WRITE_ONCE(path->gso_bytes, min_t(u32, bytes, RSOFT_TX_MAX));
	WRITE_ONCE(path->gso_segs, min_t(u32, READ_ONCE(dev->gso_max_segs),
					 RSOFT_GSO_SEGS_MAX));
	WRITE_ONCE(path->gso_ok, gso_ok);
}

/*
 * The netdev of a GID if that is the address, type, netdev and netns of the
 * path's own.
 */
static struct net_device *rsoft_path_same(const struct rsoft_path *path,
					  const struct ib_gid_attr *attr)
{
	struct net_device *ndev = rdma_read_gid_attr_ndev_rcu(attr);

	if (IS_ERR(ndev) || attr->gid_type != path->sgid->gid_type ||
	    memcmp(&attr->gid, &path->sgid->gid, sizeof(attr->gid)) ||
	    ndev->ifindex != path->ifindex ||
	    dev_net(ndev)->net_cookie != path->net_cookie)
		return NULL;
	return ndev;
}

/* The netdev of the source GID, valid within the caller's RCU read section. */
static struct net_device *rsoft_path_ndev(const struct rsoft_path *path)
{
	struct net_device *ndev = rdma_read_gid_attr_ndev_rcu(path->sgid);
	struct ib_device *ib_dev = &path->dev->ib_dev;
	struct net_device *heir = NULL;
	const struct ib_gid_attr *attr;
	u32 i;

	if (!IS_ERR(ndev))
		return ndev;
	for (i = 0; i < RSOFT_GID_TABLE_LEN && !heir; i++) {
		attr = rdma_get_gid_attr(ib_dev, path->sgid->port_num, i);
		if (IS_ERR(attr))
			continue;
		heir = rsoft_path_same(path, attr);
		rdma_put_gid_attr(attr);
	}
	return heir ?: ndev;
}

static struct dst_entry *rsoft_path_lookup(struct rsoft_path *path)
{
	struct net_device *ndev = rsoft_path_ndev(path);
	u32 gen = atomic_read(&rsoft_route_gen);
	struct dst_entry *dst, *old;

	if (IS_ERR(ndev))
		return ERR_CAST(ndev);

	if (path->flow.ipv6)
		dst = rsoft_path_lookup6(path, ndev);
	else
		dst = rsoft_path_lookup4(path, ndev);
	if (IS_ERR(dst))
		return dst;

	spin_lock(&path->lock);
	rsoft_path_set_limits(path, dst);
	if (path->flow.ipv6)
		WRITE_ONCE(path->dst_cookie,
			   rt6_get_cookie(container_of(dst, struct rt6_info,
						       dst)));
	WRITE_ONCE(path->gen, gen);
	old = rcu_replace_pointer(path->dst, dst,
				  lockdep_is_held(&path->lock));
	spin_unlock(&path->lock);
	/* Whoever still sends along the old one does so under RCU. */
	dst_release(old);
	return dst;
}

struct dst_entry *rsoft_path_route(struct rsoft_path *path)
{
	struct dst_entry *dst = rcu_dereference(path->dst);

	if (likely(dst &&
		   READ_ONCE(path->gen) == atomic_read(&rsoft_route_gen) &&
		   dst_check(dst, READ_ONCE(path->dst_cookie))))
		return dst;
	return rsoft_path_lookup(path);
}

u32 rsoft_path_batch_max(struct rsoft_path *path, u32 seg_size)
{
	u32 hdrs = (path->flow.ipv6 ? sizeof(struct ipv6hdr) :
				      sizeof(struct iphdr)) +
		   sizeof(struct udphdr);
	u32 n = 1;

	rcu_read_lock();
	if (!IS_ERR(rsoft_path_route(path)) && READ_ONCE(path->gso_ok) &&
	    seg_size + hdrs <= READ_ONCE(path->mtu))
		n = min_t(u32, READ_ONCE(path->gso_bytes) / seg_size,
			  READ_ONCE(path->gso_segs));
	rcu_read_unlock();
	return max(n, 1u);
}
