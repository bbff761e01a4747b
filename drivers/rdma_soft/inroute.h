/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Input routes of peers, so that the stack need not look them up for each
 * packet.
 */
#ifndef RSOFT_INROUTE_H
#define RSOFT_INROUTE_H

#include <linux/types.h>

struct iphdr;
struct rsoft_inroute;
struct sk_buff;
struct nf_hook_state;

#define RSOFT_INROUTE_BITS	6

/**
 * struct rsoft_inroutes - input routes of one netns
 * @slot: the last peer with this hash; replaced under no lock, by exchange
 */
struct rsoft_inroutes {
	struct rsoft_inroute __rcu *slot[1 << RSOFT_INROUTE_BITS];
};

/**
 * rsoft_inroute_learn() - remember the route by which a packet came
 * @routes: of the packet's netns
 * @skb: IPv4 packet that is ours, before it is freed
 *
 * Context: softirq, RCU read section.
 */
void rsoft_inroute_learn(struct rsoft_inroutes *routes,
			 const struct sk_buff *skb);

/**
 * rsoft_inroute_set() - give a packet the route of those before it
 * @routes: of the packet's netns
 * @skb: packet without a route, data starts at the IPv4 header
 *
 * Nothing happens unless addresses, source port, TOS, mark and netdev are
 * those of the packet that brought the route, and the route is still valid.
 *
 * Context: softirq, RCU read section.
 */
void rsoft_inroute_set(struct rsoft_inroutes *routes, struct sk_buff *skb);

/**
 * rsoft_inroute_purge() - forget all routes
 * @routes: of a netns
 *
 * Context: may sleep.
 */
void rsoft_inroute_purge(struct rsoft_inroutes *routes);

/**
 * rsoft_inroute_hook() - netfilter hook NF_INET_PRE_ROUTING, IPv4
 * @priv: unused
 * @skb: data starts at the IP header
 * @state: netns, netdev and family
 *
 * Return: NF_ACCEPT.
 */
unsigned int rsoft_inroute_hook(void *priv, struct sk_buff *skb,
				const struct nf_hook_state *state);

#endif
