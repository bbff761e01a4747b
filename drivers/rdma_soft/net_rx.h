/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two places where packets enter the driver.
 */
#ifndef RSOFT_NET_RX_H
#define RSOFT_NET_RX_H

#include <linux/netfilter.h>
#include <linux/skbuff.h>

struct sock;

/**
 * rsoft_rx_hook() - netfilter hook NF_INET_LOCAL_IN, IPv4 and IPv6
 * @priv: unused
 * @skb: data starts at the IP header
 * @state: netns, netdev and family
 *
 * Return: NF_STOLEN if the skb was for us, NF_ACCEPT with the skb unmodified
 * if not, NF_DROP where IPsec policy or conntrack say so.
 */
unsigned int rsoft_rx_hook(void *priv, struct sk_buff *skb,
			   const struct nf_hook_state *state);

/**
 * rsoft_rx_encap() - encap_rcv of the UDP sockets
 * @sk: socket
 * @skb: data starts at the UDP header; consumed
 *
 * Return: 0.
 */
int rsoft_rx_encap(struct sock *sk, struct sk_buff *skb);

#endif
