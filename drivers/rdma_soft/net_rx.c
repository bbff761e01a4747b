// SPDX-License-Identifier: GPL-2.0
/*
 * Packets come in here: from a netfilter hook below UDP, where an skb of many
 * packets is still whole, or one by one from a UDP socket (fragments, hook
 * switched off, netdevs that bypass netfilter). Both look at the outer headers,
 * cut the skb into runs of packets for one engine, find the QP, check that the
 * packet's addresses and netns are the QP's, and hand the run over.
 *
 * Taps and clones share the bytes of an skb: nothing here writes to them.
 */
#include "net_rx.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netfilter/nf_conntrack.h>
#include <net/sock.h>
#include <net/xfrm.h>

#include "crc.h"
#include "device.h"
#include "gid.h"
#include "inroute.h"
#include "inject.h"
#include "link.h"
#include "mcast.h"
#include "netns.h"
#include "proto/icrc.h"
#include "qp.h"
#include "rx.h"

/* The shortest packet that can be one: BTH and iCRC. */
#define RSOFT_RX_MIN (sizeof(struct rsoft_bth) + RSOFT_ICRC_LEN)
/* Pages of pages of pages: nobody builds that. */
#define RSOFT_RX_DEPTH 3

/**
 * struct rsoft_in - outer headers of an skb, read once
 * @skb: the skb
 * @net: netns
 * @owner: device that owns the destination address, of a group: of a member
 * @saddr: source, IPv4 as mapped address
 * @daddr: destination
 * @iif: netdev it came in on, for link-local addresses and groups
 * @ipv6: outer header is IPv6
 * @mcast: destination is a multicast group
 * @ce: congestion was marked
 * @ip_id: IPv4 ID of the first packet
 * @vlan_id: VLAN of the destination's netdev
 * @off: offset from skb->data of the first BTH
 * @len: bytes from there on
 * @seg_size: bytes of each packet but the last
 */
struct rsoft_in {
	struct sk_buff *skb;
	struct net *net;
	struct rsoft_dev *owner;
	struct in6_addr saddr;
	struct in6_addr daddr;
	int iif;
	bool ipv6;
	bool mcast;
	bool ce;
	u16 ip_id;
	u16 vlan_id;
	u32 off;
	u32 len;
	u32 seg_size;
};

/**
 * struct rsoft_run - packets in a row for the same engine
 * @qpn: their QPN
 * @response: they go to the requester
 * @opcode: BTH opcode of the first
 * @off: offset from skb->data of the first BTH
 * @len: their bytes, 0 if there are none
 * @ip_id: IPv4 ID of the first
 * @walk: where the last packet was found
 * @last: BTH of the last packet, NULL if it does not lie in one piece
 * @end: end of the piece that holds it
 * @qp: QP that the last run was for, held; NULL if there was none
 * @path: its path, which was compared with the outer addresses
 */
struct rsoft_run {
	u32 qpn;
	bool response;
	u8 opcode;
	u32 off;
	u32 len;
	u16 ip_id;
	struct rsoft_walk walk;
	const u8 *last;
	const u8 *end;
	struct rsoft_qp *qp;
	struct rsoft_path *path;
};

/* --- outer headers ------------------------------------------------------ */

static bool rsoft_in_ipv4(struct rsoft_in *in, const struct iphdr *iph)
{
	/* The iCRC of RoCEv2 is defined for headers without options. */
	if (iph->ihl != 5 || ip_is_fragment(iph))
		return false;

	ipv6_addr_set_v4mapped(iph->saddr, &in->saddr);
	ipv6_addr_set_v4mapped(iph->daddr, &in->daddr);
	in->ip_id = ntohs(iph->id);
	in->ce = INET_ECN_is_ce(iph->tos);
	in->ipv6 = false;
	return true;
}

static void rsoft_in_ipv6(struct rsoft_in *in, const struct ipv6hdr *ip6h)
{
	in->saddr = ip6h->saddr;
	in->daddr = ip6h->daddr;
	in->ip_id = 0;
	in->ce = INET_ECN_is_ce(ipv6_get_dsfield(ip6h));
	in->iif = inet6_iif(in->skb);
	in->ipv6 = true;
}

static bool rsoft_in_gso(struct rsoft_in *in)
{
	const struct skb_shared_info *shinfo = skb_shinfo(in->skb);

	in->seg_size = in->len;
	if (!skb_is_gso(in->skb))
		return true;

	/*
	 * A list of packets with headers each, or IP fragments to be: not
	 * packets in a row. gso_segs is not always set.
	 */
	if (!(shinfo->gso_type & SKB_GSO_UDP_L4) ||
	    shinfo->gso_type & (SKB_GSO_UDP | SKB_GSO_FRAGLIST) ||
	    shinfo->gso_size < RSOFT_RX_MIN)
		return false;
	in->seg_size = min_t(u32, shinfo->gso_size, in->len);
	return true;
}

/* The UDP header at @uoff; false if it is not one for us that can be read. */
static bool rsoft_in_udp(struct rsoft_in *in, u32 uoff)
{
	const struct udphdr *uh;
	struct udphdr buf;
	u32 len;

	uh = skb_header_pointer(in->skb, uoff, sizeof(buf), &buf);
	if (!uh || uh->dest != htons(RSOFT_UDP_PORT))
		return false;

	len = ntohs(uh->len);
	if (len <= sizeof(*uh) || len > in->skb->len - uoff)
		return false;

	in->off = uoff + sizeof(*uh);
	in->len = len - sizeof(*uh);
	return rsoft_in_gso(in);
}

/* --- finding the QP ----------------------------------------------------- */

static bool rsoft_addr_is(const struct rsoft_in *in, const u8 *flow_addr,
			  const struct in6_addr *addr)
{
	if (in->ipv6)
		return !memcmp(flow_addr, addr, sizeof(*addr));
	return !memcmp(flow_addr, &addr->s6_addr32[3], sizeof(__be32));
}

static bool rsoft_in_is_mcast(const struct rsoft_in *in)
{
	if (in->ipv6)
		return ipv6_addr_is_multicast(&in->daddr);
	return ipv4_is_multicast(in->daddr.s6_addr32[3]);
}

/* Whose address, or whose group, is it? NULL: not ours. */
static struct rsoft_dev *rsoft_in_owner(struct rsoft_in *in)
{
	in->mcast = rsoft_in_is_mcast(in);
	if (!in->mcast)
		return rsoft_gid_find(in->net, &in->daddr, in->iif,
				      &in->vlan_id);
	/* Groups are joined on a netdev. */
	in->iif = in->skb->dev->ifindex;
	in->vlan_id = RSOFT_NO_VLAN;
	return rsoft_mcast_find(in->net, &in->daddr, in->iif);
}

/* A connected QP takes packets of its peer to its own address, no others. */
static bool rsoft_in_is_peer(const struct rsoft_in *in,
			     const struct rsoft_path *path)
{
	if (!path || path->flow.ipv6 != in->ipv6 ||
	    path->net_cookie != in->net->net_cookie ||
	    !rsoft_addr_is(in, path->flow.saddr, &in->daddr) ||
	    !rsoft_addr_is(in, path->flow.daddr, &in->saddr))
		return false;

	return !in->ipv6 || path->ifindex == in->iif ||
	       !(ipv6_addr_type(&in->daddr) & IPV6_ADDR_LINKLOCAL);
}

/*
 * A datagram QP takes packets to any address of its device. Those to the GID
 * of a container's interface are for programs in that container, and for QP1.
 */
static bool rsoft_in_is_dgram(const struct rsoft_in *in,
			      const struct rsoft_qp *qp)
{
	if (qp->user && !net_eq(in->net, dev_net(qp->dev->ndev)) &&
	    in->net->net_cookie != qp->net_cookie)
		return false;
	return qp->dev == in->owner ||
	       rsoft_gid_owned(qp->dev, in->net, &in->daddr, in->iif);
}

/* @path is that of a connected QP, NULL for one of datagrams. */
static bool rsoft_in_is_for(const struct rsoft_in *in,
			    const struct rsoft_qp *qp,
			    const struct rsoft_path *path)
{
	if (rsoft_qp_is_dgram(qp))
		return rsoft_in_is_dgram(in, qp);
	return rsoft_in_is_peer(in, path);
}

/* Packets that belong to no QP count for the device. */
static void rsoft_in_count(const struct rsoft_in *in, u32 nsegs, u32 bytes)
{
	rsoft_count_add(in->owner, RSOFT_CNT_RCVD_PKTS, nsegs);
	rsoft_count_add(in->owner, RSOFT_CNT_RCVD_BYTES, bytes);
}

static u32 rsoft_run_nsegs(const struct rsoft_in *in,
			   const struct rsoft_run *run)
{
	return DIV_ROUND_UP(run->len, in->seg_size);
}

/* @path: whose addresses those of the packets were compared with, or NULL. */
static void rsoft_run_to_qp(const struct rsoft_in *in,
			    const struct rsoft_run *run, struct rsoft_qp *qp,
			    struct rsoft_path *path)
{
	struct rsoft_rx rx = {
		.skb = in->skb,
		/* The device that outlives the QP's queues. */
		.dev = qp->dev,
		.path = path,
		.off = run->off,
		.len = run->len,
		.seg_size = in->seg_size,
		.ip_id = run->ip_id,
		.ipv6 = in->ipv6,
		.ce = in->ce,
		/* each member of a group keeps a clone of its own */
		.whole = run->len == in->len && !in->mcast,
		.vlan_id = in->vlan_id,
	};

	rsoft_qp_count_add(qp, RSOFT_CNT_RCVD_PKTS, rsoft_run_nsegs(in, run));
	rsoft_qp_count_add(qp, RSOFT_CNT_RCVD_BYTES, run->len);
	rsoft_qp_rx(qp, &rx, run->opcode);
}

static void rsoft_run_drop(const struct rsoft_in *in,
			   const struct rsoft_run *run, enum rsoft_drop why)
{
	rsoft_in_count(in, rsoft_run_nsegs(in, run), run->len);
	rsoft_count_drop(in->owner, why);
}

/**
 * struct rsoft_to_member - a run on its way to the members of a group
 * @in: skb
 * @run: run
 */
struct rsoft_to_member {
	const struct rsoft_in *in;
	const struct rsoft_run *run;
};

static void rsoft_run_to_member(void *arg, struct rsoft_qp *qp)
{
	const struct rsoft_to_member *to = arg;

	rsoft_run_to_qp(to->in, to->run, qp, NULL);
}

/* Packets to a group carry a QPN that stands for all members. */
static void rsoft_run_deliver_mcast(const struct rsoft_in *in,
				    const struct rsoft_run *run)
{
	struct rsoft_to_member to = { .in = in, .run = run };

	if (run->qpn == RSOFT_QPN_MCAST)
		rsoft_mcast_each(in->net, &in->daddr, in->iif,
				 rsoft_run_to_member, &to);
	else
		rsoft_run_drop(in, run, RSOFT_DROP_QPN);
}

static void rsoft_run_forget_qp(struct rsoft_run *run)
{
	if (run->qp)
		rsoft_handle_put(run->qp->h);
	run->qp = NULL;
}

/* Find the QP of a run and look if the packets are of its peer. */
static enum rsoft_drop rsoft_run_find_qp(const struct rsoft_in *in,
					 struct rsoft_run *run)
{
	rsoft_run_forget_qp(run);
	if (run->qpn == RSOFT_QPN_GSI)
		run->qp = rsoft_qp_gsi(in->owner);
	else
		run->qp = rsoft_qp_lookup(run->qpn);
	if (!run->qp)
		return RSOFT_DROP_QPN;

	run->path = NULL;
	if (!rsoft_qp_is_dgram(run->qp))
		run->path = rcu_dereference(run->qp->path);
	if (rsoft_in_is_for(in, run->qp, run->path))
		return RSOFT_DROP_NONE;
	rsoft_run_forget_qp(run);
	return RSOFT_DROP_SOURCE;
}

static void rsoft_run_deliver(const struct rsoft_in *in, struct rsoft_run *run)
{
	enum rsoft_drop why = RSOFT_DROP_NONE;

	if (in->mcast) {
		rsoft_run_deliver_mcast(in, run);
		return;
	}

	/* often the other direction of the QP that the last run was for */
	if (!run->qp || run->qp->qpn != run->qpn)
		why = rsoft_run_find_qp(in, run);
	if (why == RSOFT_DROP_NONE)
		rsoft_run_to_qp(in, run, run->qp, run->path);
	else
		rsoft_run_drop(in, run, why);
}

/* No packet follows. */
static void rsoft_run_end(const struct rsoft_in *in, struct rsoft_run *run)
{
	if (run->len)
		rsoft_run_deliver(in, run);
	run->len = 0;
	rsoft_run_forget_qp(run);
}

/* --- bytes in place ------------------------------------------------------ */

/*
 * The @len bytes at @off if they lie in one piece, else NULL. @end is set to the
 * end of that piece. Packets are taken in order, so the search goes on where it
 * ended.
 */
static const u8 *rsoft_piece(const struct sk_buff *skb, struct rsoft_walk *walk,
			     u32 off, u32 len, const u8 **end)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);
	u32 head = skb_headlen(skb);
	const skb_frag_t *frag;
	const u8 *base;
	u32 in;

	if (off <= head && len <= head - off) {
		*end = skb->data + head;
		return skb->data + off;
	}
	if (!walk->off)
		walk->off = head;
	for (; walk->frag < shinfo->nr_frags; walk->frag++) {
		frag = &shinfo->frags[walk->frag];
		if (off < walk->off)
			return NULL;
		in = off - walk->off;
		if (in < skb_frag_size(frag)) {
			base = skb_frag_address_safe(frag);
			*end = base + skb_frag_size(frag);
			return base && in + len <= skb_frag_size(frag) ?
			       base + in : NULL;
		}
		walk->off += skb_frag_size(frag);
	}
	return NULL;
}

/* --- runs --------------------------------------------------------------- */

/*
 * Add a packet to the run, or deliver the run and begin the next with it. Inline
 * where packets arrive: the injector's calls must cost nothing there.
 */
static __always_inline void rsoft_run_add(const struct rsoft_in *in,
					  struct rsoft_run *run, u32 off,
					  u32 len, u16 ip_id)
{
	u8 buf[sizeof(struct rsoft_bth)];
	const u8 *bth = NULL;
	bool response;
	u8 opcode;
	u32 qpn;

	run->last = NULL;
	if (len >= RSOFT_RX_MIN) {
		run->last = rsoft_piece(in->skb, &run->walk, off, sizeof(buf),
					&run->end);
		bth = run->last ?:
		      skb_header_pointer(in->skb, off, sizeof(buf), buf);
	}
	if (!bth) {
		if (run->len)
			rsoft_run_deliver(in, run);
		run->len = 0;
		rsoft_in_count(in, 1, len);
		rsoft_count_drop(in->owner, RSOFT_DROP_SHORT);
		return;
	}

	qpn = rsoft_hdr_peek(bth, &opcode);
	response = rsoft_opinfo(opcode)->flags & RSOFT_PKT_RESPONSE;
	if (run->len && run->qpn == qpn && run->response == response) {
		run->len += len;
		return;
	}

	if (run->len)
		rsoft_run_deliver(in, run);
	run->qpn = qpn;
	run->response = response;
	run->opcode = opcode;
	run->off = off;
	run->len = len;
	run->ip_id = ip_id;
}

/*
 * Add those whole packets behind the one added last, @left bytes at most, that
 * have its QPN and opcode and begin in the same piece. Returns how many.
 */
static u32 rsoft_run_more(const struct rsoft_in *in, struct rsoft_run *run,
			  u32 left)
{
	const u8 *p = run->last;
	u32 room, n = 0;

	if (!p)
		return 0;
	room = run->end - p;
	while (left >= in->seg_size &&
	       room >= in->seg_size + sizeof(struct rsoft_bth)) {
		p += in->seg_size;
		if (memcmp(p, run->last, RSOFT_HDR_LIKE))
			break;
		room -= in->seg_size;
		left -= in->seg_size;
		n++;
	}
	run->len += n * in->seg_size;
	return n;
}

static void rsoft_in_count_skb(const struct rsoft_in *in,
			       enum rsoft_counter entry)
{
	u32 nsegs = DIV_ROUND_UP(in->len, in->seg_size);

	rsoft_count(in->owner, entry);
	if (nsegs > 1) {
		rsoft_count(in->owner, RSOFT_CNT_RX_BATCHES);
		rsoft_count_add(in->owner, RSOFT_CNT_RX_SEGS, nsegs);
	}
}

/* --- faults on purpose -------------------------------------------------- */

/**
 * struct rsoft_in_held - a packet that is to arrive later
 * @h: in the injector's list
 * @in: its outer headers; the netns is held
 */
struct rsoft_in_held {
	struct rsoft_held h;
	struct rsoft_in in;
};

/* The packet at @done as an skb of its own, with outer headers. */
static struct sk_buff *rsoft_in_copy(const struct rsoft_in *in, u32 done,
				     u32 len, u16 ip_id)
{
	u32 ip_len = in->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	u32 head = ip_len + sizeof(struct udphdr);
	struct sk_buff *skb = alloc_skb(head + len, GFP_ATOMIC);

	if (!skb)
		return NULL;
	skb_reset_network_header(skb);
	memcpy(skb_put(skb, ip_len), skb_network_header(in->skb), ip_len);
	if (!in->ipv6)
		ip_hdr(skb)->id = htons(ip_id);
	if (skb_copy_bits(in->skb, in->off - sizeof(struct udphdr),
			  skb_put(skb, sizeof(struct udphdr)),
			  sizeof(struct udphdr)) ||
	    skb_copy_bits(in->skb, in->off + done, skb_put(skb, len), len)) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

static noinline void rsoft_in_pass(const struct rsoft_in *in,
				   struct rsoft_run *run, u32 off, u32 len,
				   u16 ip_id)
{
	rsoft_run_add(in, run, off, len, ip_id);
}

/* Describe a single packet that rsoft_in_copy() made. */
static void rsoft_in_single(struct rsoft_in *one, const struct rsoft_in *in,
			    struct sk_buff *skb, u32 len, u16 ip_id)
{
	*one = *in;
	one->skb = skb;
	one->off = skb->len - len;
	one->len = len;
	one->seg_size = len;
	one->ip_id = ip_id;
}

static void rsoft_in_one(const struct rsoft_in *one)
{
	struct rsoft_run run = {};

	rsoft_in_pass(one, &run, one->off, one->len, one->ip_id);
	rsoft_run_end(one, &run);
	consume_skb(one->skb);
}

static void rsoft_in_go(struct rsoft_held *held, bool drop)
{
	struct rsoft_in_held *h = container_of(held, struct rsoft_in_held, h);

	rcu_read_lock();
	if (drop)
		kfree_skb(h->in.skb);
	else
		rsoft_in_one(&h->in);
	rcu_read_unlock();
	put_net(h->in.net);
	kfree(h);
}

static void rsoft_in_hold(const struct rsoft_in *in, struct sk_buff *skb,
			  u32 len, u16 ip_id,
			  const struct rsoft_inject_pkt *pkt,
			  const struct rsoft_verdict *v)
{
	struct rsoft_in_held *h = kzalloc(sizeof(*h), GFP_ATOMIC);

	if (!h || !maybe_get_net(in->net)) {
		kfree(h);
		kfree_skb(skb);
		return;
	}
	rsoft_in_single(&h->in, in, skb, len, ip_id);
	h->h.dir = RSOFT_INJECT_RX;
	h->h.qpn = pkt->qpn;
	h->h.go = rsoft_in_go;
	rsoft_inject_hold(in->owner, &h->h, v);
}

/* Do to a packet what was decided; false if it does not arrive now. */
static bool rsoft_in_apply(const struct rsoft_in *in, u32 done, u32 len,
			   u16 ip_id, const struct rsoft_inject_pkt *pkt,
			   const struct rsoft_verdict *v)
{
	struct rsoft_in one;
	struct sk_buff *skb;
	u32 n = v->what == RSOFT_INJECT_DUP ? v->arg + 1 : 1;

	if (v->what == RSOFT_INJECT_DROP)
		return false;
	while (n--) {
		skb = rsoft_in_copy(in, done, len, ip_id);
		if (!skb)
			return false;
		if (v->what == RSOFT_INJECT_DELAY ||
		    v->what == RSOFT_INJECT_REORDER) {
			rsoft_in_hold(in, skb, len, ip_id, pkt, v);
			return false;
		}
		rsoft_in_single(&one, in, skb, len, ip_id);
		if (v->what == RSOFT_INJECT_CORRUPT)
			rsoft_inject_corrupt(skb->data + one.off, len, v->arg);
		rsoft_in_one(&one);
	}
	return true;
}

/* One packet, with the rules asked. */
static void rsoft_in_judge(const struct rsoft_in *in, struct rsoft_run *run,
			   u32 done, u32 len, u16 ip_id)
{
	struct rsoft_inject_pkt pkt = { .dir = RSOFT_INJECT_RX };
	u8 bth[sizeof(struct rsoft_bth) + 1];
	struct rsoft_verdict v;
	bool passes = true;
	LIST_HEAD(list);

	if (len < RSOFT_RX_MIN ||
	    skb_copy_bits(in->skb, in->off + done, bth, sizeof(bth))) {
		rsoft_in_pass(in, run, in->off + done, len, ip_id);
		return;
	}
	rsoft_inject_view(bth, &pkt);
	v = rsoft_inject_judge(in->owner, RSOFT_PLACE_WIRE, &pkt);
	if (v.what == RSOFT_INJECT_NONE) {
		rsoft_in_pass(in, run, in->off + done, len, ip_id);
	} else {
		rsoft_run_end(in, run);
		passes = rsoft_in_apply(in, done, len, ip_id, &pkt, &v);
	}
	if (passes && rsoft_inject_passed(in->owner, &pkt, &list)) {
		rsoft_run_end(in, run);
		rsoft_inject_release(&list);
	}
}

/* --- all packets of an skb ---------------------------------------------- */

static void rsoft_in_inject(const struct rsoft_in *in)
{
	struct rsoft_run run = {};
	u32 done = 0;
	u16 ip_id = in->ip_id;

	while (done < in->len) {
		u32 len = min(in->seg_size, in->len - done);

		rsoft_in_judge(in, &run, done, len, ip_id++);
		done += len;
	}
	rsoft_run_end(in, &run);
	consume_skb(in->skb);
}

/* All packets of an skb that is ours by now. Consumes it. */
static void rsoft_in_deliver(const struct rsoft_in *in,
			     enum rsoft_counter entry)
{
	struct rsoft_run run = {};
	u32 done = 0, more;
	u16 ip_id = in->ip_id;

	rsoft_in_count_skb(in, entry);
	if (rsoft_inject_on()) {
		rsoft_in_inject(in);
		return;
	}
	while (done < in->len) {
		u32 len = min(in->seg_size, in->len - done);

		rsoft_run_add(in, &run, in->off + done, len, ip_id);
		done += len;
		more = rsoft_run_more(in, &run, in->len - done);
		done += more * in->seg_size;
		ip_id += 1 + more;
	}
	rsoft_run_end(in, &run);
	/* BH is off: the next skb of this CPU is made of it */
	napi_consume_skb(in->skb, 1);
}

/* --- entries ------------------------------------------------------------ */

/*
 * Packets that are stolen never get to conntrack's confirm, so that stateful
 * rules would see a new connection for ever: confirm here.
 */
static unsigned int rsoft_ct_confirm(struct sk_buff *skb)
{
	unsigned int verdict = NF_ACCEPT;
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	enum ip_conntrack_info ctinfo;
	const struct nf_ct_hook *hook;
	struct nf_conn *ct;

	ct = nf_ct_get(skb, &ctinfo);
	if (ct && !nf_ct_is_confirmed(ct)) {
		hook = rcu_dereference(nf_ct_hook);
		if (hook)
			verdict = hook->confirm(skb);
	}
	if (verdict == NF_ACCEPT)
		nf_reset_ct(skb);
#endif
	return verdict;
}

static bool rsoft_hook_ipv4(struct rsoft_in *in)
{
	const struct iphdr *iph = ip_hdr(in->skb);

	return iph->protocol == IPPROTO_UDP &&
	       rsoft_in_udp(in, iph->ihl * 4) && rsoft_in_ipv4(in, iph);
}

static bool rsoft_hook_ipv6(struct rsoft_in *in)
{
	const struct ipv6hdr *ip6h = ipv6_hdr(in->skb);

	if (ip6h->nexthdr != IPPROTO_UDP || !rsoft_in_udp(in, sizeof(*ip6h)))
		return false;
	rsoft_in_ipv6(in, ip6h);
	return true;
}

unsigned int rsoft_rx_hook(void *priv, struct sk_buff *skb,
			   const struct nf_hook_state *state)
{
	struct rsoft_in in = { .skb = skb, .net = state->net };
	unsigned int verdict;
	bool ok;

	if (!rsoft_hook_enabled())
		return NF_ACCEPT;

	if (state->pf == NFPROTO_IPV6)
		ok = rsoft_hook_ipv6(&in);
	else
		ok = rsoft_hook_ipv4(&in);
	if (!ok)
		return NF_ACCEPT;

	in.owner = rsoft_in_owner(&in);
	if (!in.owner)
		return NF_ACCEPT;

	if (!(in.ipv6 ? xfrm6_policy_check(NULL, XFRM_POLICY_IN, skb) :
			xfrm4_policy_check(NULL, XFRM_POLICY_IN, skb)))
		return NF_DROP;

	verdict = rsoft_ct_confirm(skb);
	if (verdict != NF_ACCEPT)
		return verdict;

	if (!in.ipv6)
		rsoft_inroute_learn(rsoft_netns_routes(in.net), skb);
	rsoft_in_deliver(&in, RSOFT_CNT_RX_HOOK);
	return NF_STOLEN;
}

static bool rsoft_encap_outer(struct rsoft_in *in)
{
	struct sk_buff *skb = in->skb;

	/* No options or extension headers before UDP, as in the hook. */
	if (in->ipv6) {
		if (skb_network_offset(skb) != -(int)sizeof(struct ipv6hdr))
			return false;
		rsoft_in_ipv6(in, ipv6_hdr(skb));
		return true;
	}
	return skb_network_offset(skb) == -(int)sizeof(struct iphdr) &&
	       rsoft_in_ipv4(in, ip_hdr(skb));
}

static void rsoft_encap_drop(struct sk_buff *skb, struct rsoft_dev *dev,
			     enum rsoft_drop why)
{
	if (!dev)
		dev = rsoft_link_dev_rcu(skb->dev);
	if (dev)
		rsoft_count_drop(dev, why);
	kfree_skb(skb);
}

/* UDP has done IPsec policy and conntrack, and cut super-packets. */
int rsoft_rx_encap(struct sock *sk, struct sk_buff *skb)
{
	struct rsoft_in in = {
		.skb = skb,
		.net = sock_net(sk),
		.ipv6 = sk->sk_family == AF_INET6,
	};

	if (!rsoft_encap_outer(&in)) {
		rsoft_encap_drop(skb, NULL, RSOFT_DROP_SHAPE);
		return 0;
	}

	in.owner = rsoft_in_owner(&in);
	if (!in.owner && in.mcast)
		rsoft_encap_drop(skb, NULL, RSOFT_DROP_MCAST);
	else if (!in.owner || !rsoft_in_udp(&in, 0))
		rsoft_encap_drop(skb, in.owner, RSOFT_DROP_SHAPE);
	else
		rsoft_in_deliver(&in, RSOFT_CNT_RX_ENCAP);
	return 0;
}

/* --- what engines call -------------------------------------------------- */

static int rsoft_crc_chunk(bool fast, u32 *crc, const void *base, u32 size, u32 *off,
			   u32 *len)
{
	u32 run;

	if (*off >= size) {
		*off -= size;
		return 0;
	}
	if (!base)
		return -EFAULT;
	run = min(size - *off, *len);
	*crc = rsoft_crc_add(fast, *crc, base + *off, run);
	*len -= run;
	*off = 0;
	return 0;
}

/*
 * CRC over @len bytes at @off of an skb; both are brought down by what was
 * found. Fragments are whole ranges of lowmem, so that a packet is one or two
 * calls.
 */
static int rsoft_crc_skb(bool fast, u32 *crc, const struct sk_buff *skb, u32 *off,
			 u32 *len, int depth)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);
	const struct sk_buff *list;
	int err, i;

	if (!depth)
		return -EFAULT;

	err = rsoft_crc_chunk(fast, crc, skb->data, skb_headlen(skb), off, len);
	for (i = 0; !err && *len && i < shinfo->nr_frags; i++) {
		const skb_frag_t *frag = &shinfo->frags[i];

		err = rsoft_crc_chunk(fast, crc, skb_frag_address_safe(frag),
				      skb_frag_size(frag), off, len);
	}
	for (list = shinfo->frag_list; !err && *len && list; list = list->next)
		err = rsoft_crc_skb(fast, crc, list, off, len, depth - 1);
	return err;
}

static const struct udphdr *rsoft_rx_udp(const struct rsoft_rx *rx,
					 struct udphdr *buf)
{
	const struct sk_buff *skb = rx->skb;
	int uoff = skb_network_offset(skb) +
		   (int)(rx->ipv6 ? sizeof(struct ipv6hdr) :
				    sizeof(struct iphdr));

	return skb_header_pointer(skb, uoff, sizeof(*buf), buf);
}

static bool rsoft_rx_flow(const struct rsoft_rx *rx, struct rsoft_flow *flow)
{
	const struct ipv6hdr *ip6h = ipv6_hdr(rx->skb);
	const struct iphdr *iph = ip_hdr(rx->skb);
	const struct udphdr *uh;
	struct udphdr buf;

	uh = rsoft_rx_udp(rx, &buf);
	if (!uh)
		return false;

	flow->ipv6 = rx->ipv6;
	flow->sport = uh->source;
	flow->dport = uh->dest;
	if (rx->ipv6) {
		memcpy(flow->saddr, &ip6h->saddr, sizeof(ip6h->saddr));
		memcpy(flow->daddr, &ip6h->daddr, sizeof(ip6h->daddr));
		return true;
	}
	memcpy(flow->saddr, &iph->saddr, sizeof(iph->saddr));
	memcpy(flow->daddr, &iph->daddr, sizeof(iph->daddr));
	flow->frag_off = iph->frag_off;
	return true;
}

/* What packets of one peer may differ in, as far as the iCRC covers it. */
static bool rsoft_rx_key(const struct rsoft_rx *rx, u64 *key)
{
	const struct udphdr *uh;
	struct udphdr buf;

	uh = rsoft_rx_udp(rx, &buf);
	if (!uh)
		return false;
	/* __force: bits to be compared, whatever their order */
	*key = (__force u32)uh->source << 16;
	if (!rx->ipv6)
		/* __force: likewise */
		*key |= (__force u16)ip_hdr(rx->skb)->frag_off;
	return true;
}

/* CRC state in front of the BTH, from all outer headers. */
static noinline bool rsoft_rx_base_anew(struct rsoft_rx *rx, u32 len, u64 key)
{
	struct rsoft_flow flow = {};
	u32 state;

	if (!rsoft_rx_flow(rx, &flow))
		return false;
	if (!rx->path) {
		rx->icrc_base = rsoft_crc_base(&flow, len);
		return true;
	}
	state = rsoft_crc_flow(&flow);
	atomic64_set(&rx->path->icrc_back, (u64)state << 32 | key);
	rx->icrc_base = rsoft_crc_of_len(state, rx->ipv6, len);
	return true;
}

/*
 * CRC state in front of the BTH. The addresses are those of the path, which were
 * compared: what is left to look at are port and flags.
 */
static bool rsoft_rx_base(struct rsoft_rx *rx, u32 len)
{
	u64 seen, key;

	if (!rx->path)
		return rsoft_rx_base_anew(rx, len, 0);
	if (!rsoft_rx_key(rx, &key))
		return false;
	seen = atomic64_read(&rx->path->icrc_back);
	if (unlikely((u32)seen != key || !seen))
		return rsoft_rx_base_anew(rx, len, key);
	rx->icrc_base = rsoft_crc_of_len(seen >> 32, rx->ipv6, len);
	return true;
}

/* CRC over a packet without its iCRC, and the iCRC that it carries. */
static bool rsoft_rx_crc(const struct rsoft_rx *rx, u32 off, u32 len,
			 u32 *crc, __le32 *icrc)
{
	u32 body = len - RSOFT_ICRC_LEN;
	bool fast = rsoft_crc_enter(body);
	int err = 0;

	if (rx->at) {
		*crc = rsoft_crc_add(fast, *crc, rx->at, body);
		memcpy(icrc, rx->at + body, sizeof(*icrc));
	} else {
		err = skb_copy_bits(rx->skb, off + body, icrc, sizeof(*icrc));
		err = err ?: rsoft_crc_skb(fast, crc, rx->skb, &off, &body,
					   RSOFT_RX_DEPTH);
		if (!err && body)
			err = -EFAULT;
	}
	rsoft_crc_leave(fast);
	return !err;
}

static enum rsoft_drop rsoft_rx_icrc(struct rsoft_rx *rx, u32 off, u32 len,
				     u16 ip_id, const u8 *bth)
{
	__le32 icrc;
	u16 first;
	u32 crc;

	first = rx->ipv6 ? ip_id : ntohs(ip_hdr(rx->skb)->id);
	if (rx->same_id)
		ip_id = first;
	if (rx->icrc_len != len) {
		if (!rsoft_rx_base(rx, len))
			return RSOFT_DROP_SHAPE;
		rx->icrc_len = len;
	}
	crc = rsoft_icrc_start(&rsoft_icrc_tab, rx->icrc_base, rx->ipv6, ip_id,
			       bth);
	if (!rsoft_rx_crc(rx, off, len, &crc, &icrc))
		return RSOFT_DROP_SHAPE;
	if (rsoft_icrc_final(crc) == icrc)
		return RSOFT_DROP_NONE;

	/*
	 * GRO may have merged packets of a peer that does not count its IDs
	 * up (with DF it need not, RFC 6864): they all had the first one's.
	 */
	if (first == ip_id)
		return RSOFT_DROP_ICRC;
	crc = rsoft_icrc_start(&rsoft_icrc_tab, rx->icrc_base, false, first,
			       bth);
	if (!rsoft_rx_crc(rx, off, len, &crc, &icrc))
		return RSOFT_DROP_SHAPE;
	if (rsoft_icrc_final(crc) != icrc)
		return RSOFT_DROP_ICRC;
	rx->same_id = true;
	return RSOFT_DROP_NONE;
}

/* The packet of @len bytes at rx->at_off, whose first bytes are at @hdr. */
static enum rsoft_drop rsoft_rx_decode(struct rsoft_rx *rx, const u8 *hdr,
				       u32 len, u16 ip_id,
				       struct rsoft_pkt *pkt, u32 *payload)
{
	u32 avail = min_t(u32, len, RSOFT_HDR_MAX);
	enum rsoft_drop why;

	if (rx->like_len != len || !rsoft_hdr_like(hdr, rx->like, pkt)) {
		rx->like_len = 0;
		why = rsoft_hdr_decode(hdr, avail, len, pkt);
		if (why != RSOFT_DROP_NONE)
			return why;
		memcpy(rx->like, hdr, sizeof(rx->like));
		rx->like_len = len;
		rx->like_ok = false;
	}

	*payload = rx->at_off + pkt->hdr_len;
	if (rx->checked)
		return RSOFT_DROP_NONE;
	return rsoft_rx_icrc(rx, rx->at_off, len, ip_id, hdr);
}

/* One that does not lie in one piece. */
static noinline enum rsoft_drop
rsoft_rx_decode_pieces(struct rsoft_rx *rx, u32 len, u16 ip_id,
		       struct rsoft_pkt *pkt, u32 *payload)
{
	u8 buf[RSOFT_HDR_MAX];
	const u8 *hdr;

	hdr = skb_header_pointer(rx->skb, rx->at_off,
				 min_t(u32, len, sizeof(buf)), buf);
	if (!hdr)
		return RSOFT_DROP_SHAPE;
	return rsoft_rx_decode(rx, hdr, len, ip_id, pkt, payload);
}

enum rsoft_drop rsoft_rx_next(struct rsoft_rx *rx, struct rsoft_pkt *pkt,
			      u32 *payload)
{
	u32 len = min_t(u32, rx->seg_size, rx->len);
	u16 ip_id = rx->ip_id;

	rx->at_off = rx->off;
	rx->off += len;
	rx->len -= len;
	rx->ip_id++;

	rx->at = rsoft_piece(rx->skb, &rx->walk, rx->at_off, len, &rx->at_end);
	if (unlikely(!rx->at))
		return rsoft_rx_decode_pieces(rx, len, ip_id, pkt, payload);
	return rsoft_rx_decode(rx, rx->at, len, ip_id, pkt, payload);
}

/* The next packet if it is whole, in one piece, and as long as the last one. */
static const u8 *rsoft_rx_peek(struct rsoft_rx *rx)
{
	u32 len = rx->like_len;
	u32 next = min_t(u32, rx->seg_size, rx->len);

	if (!len || next != len)
		return NULL;
	if (rx->at && rx->at_end - rx->at >= 2 * (long)len)
		return rx->at + len;
	return rsoft_piece(rx->skb, &rx->walk, rx->off, len, &rx->at_end);
}

static u32 rsoft_rx_alike_crc(struct rsoft_rx *rx, u32 psn)
{
	u16 ip_id = rx->ip_id;

	if (!rx->like_ok) {
		rx->like_state = rsoft_crc_alike(rx->icrc_base, rx->like);
		rx->like_ok = true;
	}
	if (rx->same_id && !rx->ipv6)
		ip_id = ntohs(ip_hdr(rx->skb)->id);
	return rsoft_icrc_like(&rsoft_icrc_tab, rx->like_state, rx->ipv6, ip_id,
			       psn);
}

/* Is the iCRC of the packet at @p right, which is like the last one? */
static bool rsoft_rx_alike_good(struct rsoft_rx *rx, const u8 *p, u32 psn)
{
	u32 body = rx->like_len - RSOFT_ICRC_LEN;
	__le32 icrc;
	u32 crc;

	if (rx->checked)
		return true;
	if (!rx->fast)
		rx->fast = rsoft_crc_enter(body);
	crc = rsoft_crc_add(rx->fast, rsoft_rx_alike_crc(rx, psn),
			    p + sizeof(struct rsoft_bth),
			    body - sizeof(struct rsoft_bth));
	memcpy(&icrc, p + body, sizeof(icrc));
	return rsoft_icrc_final(crc) == icrc;
}

const u8 *rsoft_rx_alike(struct rsoft_rx *rx, const struct rsoft_pkt *pkt,
			 u32 psn)
{
	const u8 *p = rsoft_rx_peek(rx);
	const struct rsoft_bth *bth = (const struct rsoft_bth *)p;

	/* the place of @at is for the packet in hand */
	rx->at = NULL;
	if (!p || pkt->info->hdrs || memcmp(p, rx->like, sizeof(rx->like)) ||
	    bth->apsn != cpu_to_be32(psn))
		return NULL;
	if (!rsoft_rx_alike_good(rx, p, psn))
		return NULL;
	rx->at = p;
	rx->at_off = rx->off;
	return p + sizeof(*bth);
}

void rsoft_rx_take(struct rsoft_rx *rx)
{
	rx->off += rx->like_len;
	rx->len -= rx->like_len;
	rx->ip_id++;
}

void rsoft_rx_settle(struct rsoft_rx *rx)
{
	rsoft_crc_leave(rx->fast);
	rx->fast = false;
}

int rsoft_rx_copy(const struct rsoft_rx *rx, u32 off, void *to, u32 len)
{
	if (!rx->at)
		return skb_copy_bits(rx->skb, off, to, len);
	memcpy(to, rx->at + (off - rx->at_off), len);
	return 0;
}

void rsoft_rx_grh(const struct rsoft_rx *rx, u32 len, u16 ip_id, u8 *grh)
{
	u32 udp_len = sizeof(struct udphdr) + len;
	struct ipv6hdr ip6h;
	struct iphdr iph;

	if (rx->ipv6) {
		ip6h = *ipv6_hdr(rx->skb);
		ip6h.payload_len = htons(udp_len);
		memcpy(grh, &ip6h, sizeof(ip6h));
		return;
	}

	iph = *ip_hdr(rx->skb);
	iph.tot_len = htons(sizeof(iph) + udp_len);
	iph.id = htons(ip_id);
	iph.check = 0;
	iph.check = ip_fast_csum(&iph, iph.ihl);
	memset(grh, 0, sizeof(ip6h) - sizeof(iph));
	memcpy(grh + sizeof(ip6h) - sizeof(iph), &iph, sizeof(iph));
}

void rsoft_rx_detach(struct sk_buff *skb)
{
	skb_orphan(skb);
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	skb_ext_reset(skb);
	skb->dev = NULL;
}
