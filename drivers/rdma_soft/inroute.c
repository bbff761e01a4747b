// SPDX-License-Identifier: GPL-2.0
/*
 * Input routes. For a packet that no socket is connected to, IPv4 looks the
 * route up in the rules and tables, and asks them for the source too: 900
 * instructions for the answer that the last packet of the same peer got. UDP
 * and TCP spare that for connected sockets by a route kept in the socket. We do
 * the same: the last hook before routing gives the packet the route of its
 * predecessor. All filters have seen it by then, those of LOCAL_IN will.
 *
 * As with a socket's route, changes of routes, rules and addresses make it
 * invalid at once (the generation of the netns), and it pins nothing: the FIB
 * takes the netdev out of the routes of one that goes.
 */
#include "inroute.h"

#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/ip.h>
#include <linux/jiffies.h>
#include <linux/netfilter.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/route.h>

#include "netns.h"
#include "proto/hdr.h"

/**
 * struct inroute_key - what the lookup may depend on
 * @saddr: source address
 * @daddr: destination address
 * @mark: firewall mark
 * @iif: netdev
 * @sport: UDP source port
 * @tos: type of service
 */
struct inroute_key {
	__be32 saddr;
	__be32 daddr;
	u32 mark;
	int iif;
	__be16 sport;
	u8 tos;
};

/**
 * struct rsoft_inroute - one route
 * @key: for whom
 * @dst: the route, held
 * @born: jiffies
 * @rcu: defers freeing
 */
struct rsoft_inroute {
	struct inroute_key key;
	struct dst_entry *dst;
	unsigned long born;
	struct rcu_head rcu;
};

/* The packet that got its route here last: nothing is to be learned from it. */
static DEFINE_PER_CPU(const struct sk_buff *, inroute_hit);

static void inroute_free(struct rcu_head *rcu)
{
	struct rsoft_inroute *r = container_of(rcu, struct rsoft_inroute, rcu);

	dst_release(r->dst);
	kfree(r);
}

static struct inroute_key inroute_key(const struct sk_buff *skb)
{
	const struct iphdr *iph = ip_hdr(skb);
	const struct udphdr *uh = (const struct udphdr *)(iph + 1);

	return (struct inroute_key){
		.saddr = iph->saddr,
		.daddr = iph->daddr,
		.mark = skb->mark,
		.iif = skb->dev->ifindex,
		.sport = uh->source,
		.tos = iph->tos,
	};
}

static bool inroute_same(const struct inroute_key *a,
			 const struct inroute_key *b)
{
	return a->saddr == b->saddr && a->daddr == b->daddr &&
	       a->mark == b->mark && a->iif == b->iif &&
	       a->sport == b->sport && a->tos == b->tos;
}

static u32 inroute_hash(const struct inroute_key *key)
{
	/* __force: a hash of the bits, whatever their order */
	u32 saddr = (__force u32)key->saddr;
	/* __force: likewise */
	u32 daddr = (__force u32)key->daddr;
	/* not symmetric: the two directions of a connection have the same port */
	u32 mix = rol32(saddr, 13) ^ daddr;
	/* __force: likewise */
	u16 port = (__force u16)key->sport;

	return hash_32(mix + port, RSOFT_INROUTE_BITS);
}

/* Plain IPv4 and UDP to our port, both headers in one piece. */
static bool inroute_suits(const struct sk_buff *skb)
{
	const struct iphdr *iph = ip_hdr(skb);
	const struct udphdr *uh = (const struct udphdr *)(iph + 1);

	return iph->protocol == IPPROTO_UDP && iph->ihl == 5 &&
	       skb_headlen(skb) >= sizeof(*iph) + sizeof(*uh) &&
	       uh->dest == htons(RSOFT_UDP_PORT) && !ip_is_fragment(iph) &&
	       skb->pkt_type == PACKET_HOST &&
	       /* those are routed as packets of their master */
	       !netif_is_l3_slave(skb->dev) && !netif_is_l3_master(skb->dev);
}

void rsoft_inroute_learn(struct rsoft_inroutes *routes,
			 const struct sk_buff *skb)
{
	struct dst_entry *dst = skb_dst(skb);
	struct rsoft_inroute *r, *old;
	struct inroute_key key;
	u32 at;

	if (!dst || this_cpu_read(inroute_hit) == skb || !inroute_suits(skb))
		return;
	key = inroute_key(skb);
	at = inroute_hash(&key);
	old = rcu_dereference(routes->slot[at]);
	/*
	 * All peers of an address have the same route, so that says nothing of
	 * whose it is. Peers that share a slot must not chase each other.
	 */
	if (old && (time_before(jiffies, old->born + 2) ||
		    (old->dst == dst && inroute_same(&old->key, &key))))
		return;
	if (dst->obsolete != DST_OBSOLETE_FORCE_CHK ||
	    container_of(dst, struct rtable, dst)->rt_type != RTN_LOCAL ||
	    dst_xfrm(dst))
		return;
	r = kmalloc(sizeof(*r), GFP_ATOMIC | __GFP_NOWARN);
	if (!r)
		return;
	if (!dst_hold_safe(dst)) {
		kfree(r);
		return;
	}
	r->key = key;
	r->dst = dst;
	r->born = jiffies;
	old = unrcu_pointer(xchg(&routes->slot[at], RCU_INITIALIZER(r)));
	if (old)
		call_rcu(&old->rcu, inroute_free);
}

void rsoft_inroute_set(struct rsoft_inroutes *routes, struct sk_buff *skb)
{
	struct rsoft_inroute *r;
	struct inroute_key key;

	this_cpu_write(inroute_hit, NULL);
	if (skb->sk || skb_dst(skb) || !inroute_suits(skb))
		return;
	key = inroute_key(skb);
	r = rcu_dereference(routes->slot[inroute_hash(&key)]);
	if (r && inroute_same(&r->key, &key) && dst_check(r->dst, 0)) {
		skb_dst_set_noref(skb, r->dst);
		this_cpu_write(inroute_hit, skb);
	}
}

void rsoft_inroute_purge(struct rsoft_inroutes *routes)
{
	struct rsoft_inroute *old;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(routes->slot); i++) {
		old = unrcu_pointer(xchg(&routes->slot[i], NULL));
		if (old)
			call_rcu(&old->rcu, inroute_free);
	}
}

unsigned int rsoft_inroute_hook(void *priv, struct sk_buff *skb,
				const struct nf_hook_state *state)
{
	if (rsoft_hook_enabled())
		rsoft_inroute_set(rsoft_netns_routes(state->net), skb);
	return NF_ACCEPT;
}
