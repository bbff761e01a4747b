// SPDX-License-Identifier: GPL-2.0
/*
 * Last step out: UDP and IP headers in front of the packets that build.c put
 * into an skb, and off into the IP layer.
 *
 * The headers are written here and not by the tunnel helpers, because the iCRC
 * covers the IPv4 ID and length: an skb of many packets is cut by the stack,
 * which counts the ID up from the one written here.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/udp.h>

#include "device.h"
#include "path.h"

int rsoft_sock_create(struct net *net, struct socket **res)
{
	struct sock *sk;
	int err;

	/* A kernel socket holds no netns, and the kernel's own lock classes. */
	err = sock_create_kern(net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, res);
	if (err)
		return err;

	sk = (*res)->sk;
	/* Freeing an skb only subtracts: no wake-up, no callback. */
	sock_set_flag(sk, SOCK_USE_WRITE_QUEUE);
	sk->sk_sndbuf = INT_MAX / 2;
	sk->sk_allocation = GFP_ATOMIC;
	/* One flow: one transmit queue, one hash, without looking at bytes. */
	sk_set_txhash(sk);
	return 0;
}

void rsoft_sock_release(struct socket *sock)
{
	if (sock)
		sock_release(sock);
}

/*
 * The checksum covers what the iCRC covers better, and RoCE receivers ignore
 * it: zero is allowed, also over IPv6 (the sockets of in-tree rxe and ours
 * accept it). It is asked for where it costs nothing, since GRO merges only
 * packets that have one, and where the stack cuts the skb, which requires it.
 */
static void rsoft_put_udp(struct sk_buff *skb, const struct rsoft_path *path,
			  bool gso)
{
	const struct rsoft_flow *flow = &path->flow;
	struct udphdr *uh = skb_push(skb, sizeof(*uh));
	u32 len = skb->len;
	__be32 saddr, daddr;

	skb_reset_transport_header(skb);
	uh->source = flow->sport;
	uh->dest = flow->dport;
	uh->len = htons(len);
	uh->check = 0;
	if (!gso && !READ_ONCE(path->csum_ok))
		return;

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	if (flow->ipv6) {
		uh->check = ~udp_v6_check(len,
					  (const struct in6_addr *)flow->saddr,
					  (const struct in6_addr *)flow->daddr,
					  0);
		return;
	}
	memcpy(&saddr, flow->saddr, sizeof(saddr));
	memcpy(&daddr, flow->daddr, sizeof(daddr));
	uh->check = ~udp_v4_check(len, saddr, daddr, 0);
}

static void rsoft_put_ipv4(struct sk_buff *skb, const struct rsoft_path *path,
			   struct dst_entry *dst, u16 id)
{
	struct iphdr *iph = skb_push(skb, sizeof(*iph));

	skb_reset_network_header(skb);
	iph->version = 4;
	iph->ihl = 5;
	iph->tos = path->tclass;
	iph->tot_len = htons(skb->len);
	iph->id = htons(id);
	iph->frag_off = path->flow.frag_off;
	iph->ttl = path->hop_limit ?: ip4_dst_hoplimit(dst);
	iph->protocol = IPPROTO_UDP;
	iph->check = 0;			/* filled in by ip_local_out() */
	memcpy(&iph->saddr, path->flow.saddr, sizeof(iph->saddr));
	memcpy(&iph->daddr, path->flow.daddr, sizeof(iph->daddr));
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
}

static void rsoft_put_ipv6(struct sk_buff *skb, const struct rsoft_path *path,
			   struct dst_entry *dst)
{
	u32 len = skb->len;
	struct ipv6hdr *ip6h = skb_push(skb, sizeof(*ip6h));

	skb_reset_network_header(skb);
	ip6_flow_hdr(ip6h, path->tclass, htonl(path->flow_label));
	ip6h->payload_len = htons(len);
	ip6h->nexthdr = IPPROTO_UDP;
	ip6h->hop_limit = path->hop_limit ?: ip6_dst_hoplimit(dst);
	memcpy(&ip6h->saddr, path->flow.saddr, sizeof(ip6h->saddr));
	memcpy(&ip6h->daddr, path->flow.daddr, sizeof(ip6h->daddr));
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
}

static void rsoft_put_gso(struct sk_buff *skb, const struct rsoft_tx_meta *meta)
{
	struct skb_shared_info *shinfo = skb_shinfo(skb);

	shinfo->gso_size = meta->seg_size;
	shinfo->gso_segs = meta->nsegs;
	shinfo->gso_type = SKB_GSO_UDP_L4;
}

/* What the IP layer says, in terms of whether the packets were sent. */
static int rsoft_xmit_errno(int ret)
{
	if (ret == 0 || ret == NET_XMIT_CN)
		return 0;
	if (ret > 0 || ret == -ENOBUFS || ret == -ENOMEM)
		return -EAGAIN;
	return ret;
}

static void rsoft_xmit_count(const struct rsoft_tx_meta *meta, int err,
			     u32 bytes)
{
	struct rsoft_stats __percpu *stats = meta->stats;

	if (err) {
		this_cpu_inc(stats->c[RSOFT_CNT_TX_REFUSED]);
		return;
	}
	this_cpu_add(stats->c[RSOFT_CNT_SENT_PKTS], meta->nsegs);
	this_cpu_add(stats->c[RSOFT_CNT_SENT_BYTES], bytes);
	if (meta->nsegs > 1) {
		this_cpu_inc(stats->c[RSOFT_CNT_GSO_BATCHES]);
		this_cpu_add(stats->c[RSOFT_CNT_GSO_SEGS], meta->nsegs);
	}
}

int rsoft_net_xmit(struct rsoft_path *path, struct sock *sk,
		   struct sk_buff *skb, const struct rsoft_tx_meta *meta)
{
	u32 bytes = skb->len;
	struct dst_entry *dst;
	struct net *net;
	int err;

	rcu_read_lock();
	dst = rsoft_path_route(path);
	if (IS_ERR(dst)) {
		rcu_read_unlock();
		this_cpu_inc(meta->stats->c[RSOFT_CNT_TX_NO_ROUTE]);
		kfree_skb(skb);
		return -ENETUNREACH;
	}

	rsoft_put_udp(skb, path, meta->nsegs > 1);
	if (meta->nsegs > 1)
		rsoft_put_gso(skb, meta);
	/* The read section is as long as the reference is needed. */
	skb_dst_set_noref(skb, dst);
	skb_set_owner_w(skb, sk);
	skb->priority = path->sl ?: rt_tos2priority(path->tclass);

	net = dev_net(dst_dev(dst));
	if (path->flow.ipv6) {
		rsoft_put_ipv6(skb, path, dst);
		err = ip6_local_out(net, sk, skb);
	} else {
		rsoft_put_ipv4(skb, path, dst, meta->ip_id);
		err = ip_local_out(net, sk, skb);
	}
	rcu_read_unlock();

	err = rsoft_xmit_errno(err);
	rsoft_xmit_count(meta, err, bytes);
	return err;
}
