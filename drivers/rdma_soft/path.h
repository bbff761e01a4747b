/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where packets of a QP or an AH go: addresses, route, UDP port; and the last
 * step of a packet out of the driver.
 */
#ifndef RSOFT_PATH_H
#define RSOFT_PATH_H

#include <linux/refcount.h>
#include <net/dst_cache.h>
#include <rdma/ib_verbs.h>

#include "proto/icrc.h"

struct rsoft_dev;
struct rsoft_stats;
struct net;
struct socket;

/**
 * struct rsoft_path - a destination, immutable but for the route
 * @ref: users
 * @dev: device that sends
 * @sgid: source GID, held; its netdev (which may be in another netns than the
 *        device's) decides netns and egress
 * @flow: addresses and ports as the iCRC covers them
 * @icrc: of @flow, from rsoft_crc_flow()
 * @icrc_back: of the peer's packets: what rsoft_crc_flow() returned, UDP source
 *             port, and IPv4 flags of the last one; 0 if none came yet. One
 *             word, as two CPUs may be at it
 * @tclass: traffic class, TOS byte
 * @hop_limit: TTL
 * @sl: service level
 * @flow_label: IPv6 flow label
 * @lock: serialises replacement of @dst
 * @dst: cached route, checked on each use
 * @dst_cookie: for IPv6 route validity
 * @gso_ok: the egress device may be given UDP GSO skbs of this family
 * @csum_ok: the egress device fills in UDP checksums
 * @gso_segs: packets that one skb may hold, from the egress device
 * @gso_bytes: bytes from BTH on that one skb may hold
 * @mtu: largest IP packet of the route, bytes
 * @gen: value of the route generation when @dst was looked up
 * @net_cookie: identity of the source GID's netns; never a pointer to it
 * @ifindex: netdev of the source GID, for link-local addresses
 * @dmac: destination MAC for completions that report it
 * @rcu: defers freeing
 */
struct rsoft_path {
	refcount_t ref;
	struct rsoft_dev *dev;
	const struct ib_gid_attr *sgid;
	struct rsoft_flow flow;
	u32 icrc;
	atomic64_t icrc_back;
	u8 tclass;
	u8 hop_limit;
	u8 sl;
	u32 flow_label;
	spinlock_t lock;	/* replacement of dst */
	struct dst_entry __rcu *dst;
	u32 dst_cookie;
	bool gso_ok;
	bool csum_ok;
	u16 gso_segs;
	u32 gso_bytes;
	u32 mtu;
	u32 gen;
	u64 net_cookie;
	int ifindex;
	u8 dmac[6];
	struct rcu_head rcu;
};

/**
 * struct rsoft_tx_meta - how an skb is cut
 * @seg_size: bytes from BTH to iCRC of each packet but the last
 * @nsegs: packets in the skb
 * @ip_id: IPv4 ID of the first one; the others follow
 * @stats: where it is counted
 */
struct rsoft_tx_meta {
	u16 seg_size;
	u16 nsegs;
	u16 ip_id;
	struct rsoft_stats __percpu *stats;
};

/* Headroom that an skb handed to rsoft_net_xmit() must have. */
#define RSOFT_TX_HEADROOM (LL_MAX_HEADER + 40 + 8)
/* Bytes from BTH on that fit in one skb. */
#define RSOFT_TX_MAX (65535 - 40 - 8)

/**
 * rsoft_path_create() - resolve an address vector
 * @dev: device
 * @attr: address vector with a GRH and a held source GID attribute
 * @lqpn: local QPN, for the UDP source port
 * @rqpn: remote QPN, for the UDP source port (0 for UD)
 * @gfp: allocation mode; GFP_ATOMIC from an atomic create_ah
 *
 * Takes its own reference on the GID attribute. The route is looked up on
 * first use.
 *
 * Return: the path with one reference; ERR_PTR(-EINVAL) for a GID type that is
 * not RoCEv2 or families that differ, ERR_PTR(-EADDRNOTAVAIL) if the GID's
 * netns is not one that this link serves, ERR_PTR(-ENOMEM).
 */
struct rsoft_path *rsoft_path_create(struct rsoft_dev *dev,
				     const struct rdma_ah_attr *attr, u32 lqpn,
				     u32 rqpn, gfp_t gfp);

static inline struct rsoft_path *rsoft_path_get(struct rsoft_path *path)
{
	refcount_inc(&path->ref);
	return path;
}

/**
 * rsoft_path_put() - release a path
 * @path: path, NULL is fine
 *
 * Context: any.
 */
void rsoft_path_put(struct rsoft_path *path);

/**
 * rsoft_path_batch_max() - packets of one size that may share an skb
 * @path: destination; its route is looked up if it is not known or stale
 * @seg_size: bytes from BTH to iCRC of each packet
 *
 * Context: BH disabled.
 *
 * Return: at least 1; 1 where the egress device is not given GSO skbs.
 */
u32 rsoft_path_batch_max(struct rsoft_path *path, u32 seg_size);

/**
 * rsoft_path_route() - route of a path, looked up anew if it went stale
 * @path: destination
 *
 * Context: BH disabled, RCU read section.
 *
 * Return: the route, valid within the RCU read section, or ERR_PTR of an
 * errno of the look-up.
 */
struct dst_entry *rsoft_path_route(struct rsoft_path *path);

/**
 * rsoft_path_flush() - make all paths look up their routes again
 *
 * For changes of netdevs that routes do not show (features, stacking).
 *
 * Context: any.
 */
void rsoft_path_flush(void);

/**
 * rsoft_sock_create() - make the socket that a QP's skbs are charged to
 * @net: netns
 * @res: set to the socket
 *
 * It is never bound, receives nothing, holds neither netns nor module, and its
 * only use is the count of bytes in the stack, sk_wmem_alloc. No code of this
 * module is reachable from it: skbs outlive QPs.
 *
 * Context: may sleep.
 *
 * Return: 0 or an errno of the socket layer.
 */
int rsoft_sock_create(struct net *net, struct socket **res);

/**
 * rsoft_sock_release() - release a QP's socket; skbs keep what they need
 * @sock: socket, NULL is fine
 *
 * Context: may sleep.
 */
void rsoft_sock_release(struct socket *sock);

/**
 * rsoft_net_xmit() - put IP and UDP headers before an skb and send it
 * @path: destination
 * @sk: the QP's socket, charged for the skb until the stack frees it
 * @skb: data starts at the BTH of the first packet; consumed
 * @meta: how it is cut
 *
 * Context: BH disabled, no lock held.
 *
 * Return: 0 if the stack took it; -ENETUNREACH if there is no route;
 * -EAGAIN if it was refused now (full queue) and must be sent again later;
 * another errno of the IP layer.
 */
int rsoft_net_xmit(struct rsoft_path *path, struct sock *sk,
		   struct sk_buff *skb, const struct rsoft_tx_meta *meta);

#endif
