/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets on their way from the network to an engine.
 */
#ifndef RSOFT_RX_H
#define RSOFT_RX_H

#include <linux/skbuff.h>

#include "proto/hdr.h"

struct rsoft_dev;
struct rsoft_path;
struct rsoft_qp;

/**
 * struct rsoft_walk - where the last packet of an skb was found
 * @frag: number of the fragment
 * @off: offset from skb->data of its first byte; 0: not begun
 */
struct rsoft_walk {
	u32 frag;
	u32 off;
};

/**
 * struct rsoft_rx - a run of packets for one engine inside one skb
 * @skb: holds them; its data is read only (taps share it)
 * @dev: link that owns the destination address
 * @path: way back to the peer, RCU; NULL if it is not known
 * @off: offset from skb->data of the BTH of the next packet
 * @len: bytes of the packets that are left in the run
 * @seg_size: bytes of each packet but the last
 * @ip_id: IPv4 ID of the next packet, host order
 * @ipv6: outer header is IPv6
 * @ce: congestion was marked on the way
 * @whole: the run is the whole skb: no other run shares its control block
 * @checked: the iCRC of all packets was found right before
 * @vlan_id: VLAN of the netdev of the destination GID, RSOFT_NO_VLAN if it has
 *           none. The core finds a GID for an answer by it, so completions of
 *           datagrams report it (IB_WC_WITH_VLAN)
 * @icrc_len: packet length for which @icrc_base holds, 0 for none
 * @icrc_base: CRC state in front of the BTH for IPv4 ID 0
 * @walk: where the packet in hand was found
 * @like: first bytes of the BTH that was decoded last
 * @like_len: length of that packet, 0 if it was refused
 * @like_ok: @like_state holds
 * @like_state: CRC state behind the BTH of packets like it, for ID and PSN 0
 * @same_id: all packets were sent with the IPv4 ID of the first
 * @fast: vector registers are in use, until rsoft_rx_settle()
 * @at: the packet in hand if it lies in one piece, else NULL
 * @at_off: offset from skb->data of @at
 * @at_end: end of the piece that holds @at
 *
 * Outer addresses are read from the skb's network header, which stays valid.
 */
struct rsoft_rx {
	struct sk_buff *skb;
	struct rsoft_dev *dev;
	struct rsoft_path *path;
	u32 off;
	u32 len;
	u16 seg_size;
	u16 ip_id;
	bool ipv6;
	bool ce;
	bool whole;
	bool checked;
	u16 vlan_id;
	u32 icrc_len;
	u32 icrc_base;
	struct rsoft_walk walk;
	u8 like[RSOFT_HDR_LIKE];
	u32 like_len;
	bool like_ok;
	u32 like_state;
	bool same_id;
	bool fast;
	const u8 *at;
	u32 at_off;
	const u8 *at_end;
};

#define RSOFT_NO_VLAN 0xffff

/**
 * struct rsoft_rx_cb - what an skb in an engine's queue keeps
 * @dev: as in struct rsoft_rx; the device outlives its QPs
 * @off: as in struct rsoft_rx
 * @len: as in struct rsoft_rx
 * @seg_size: as in struct rsoft_rx
 * @ip_id: as in struct rsoft_rx
 * @vlan_id: as in struct rsoft_rx
 * @flags: ipv6 (bit 0), ce (bit 1), checked (bit 2)
 */
struct rsoft_rx_cb {
	struct rsoft_dev *dev;
	u32 off;
	u32 len;
	u16 seg_size;
	u16 ip_id;
	u16 vlan_id;
	u8 flags;
};

/**
 * rsoft_rx_save() - note what is left of a run, to go on later
 * @rx: run
 * @cb: in the control block of the skb that will hold it
 */
static inline void rsoft_rx_save(const struct rsoft_rx *rx,
				 struct rsoft_rx_cb *cb)
{
	cb->dev = rx->dev;
	cb->off = rx->off;
	cb->len = rx->len;
	cb->seg_size = rx->seg_size;
	cb->ip_id = rx->ip_id;
	cb->vlan_id = rx->vlan_id;
	cb->flags = (rx->ipv6 ? BIT(0) : 0) | (rx->ce ? BIT(1) : 0) |
		    (rx->checked ? BIT(2) : 0);
}

/**
 * rsoft_rx_load() - go on with a run
 * @rx: set to it
 * @cb: from rsoft_rx_save()
 * @skb: skb that holds it, of which nobody else uses the control block
 */
static inline void rsoft_rx_load(struct rsoft_rx *rx,
				 const struct rsoft_rx_cb *cb,
				 struct sk_buff *skb)
{
	*rx = (struct rsoft_rx){ .skb = skb, .dev = cb->dev };
	rx->off = cb->off;
	rx->len = cb->len;
	rx->seg_size = cb->seg_size;
	rx->ip_id = cb->ip_id;
	rx->vlan_id = cb->vlan_id;
	rx->ipv6 = cb->flags & BIT(0);
	rx->ce = cb->flags & BIT(1);
	rx->checked = cb->flags & BIT(2);
	rx->whole = true;
}

/**
 * rsoft_rx_next() - decode the next packet of a run and check its iCRC
 * @rx: run; advanced past the packet
 * @pkt: filled in if the result is RSOFT_DROP_NONE; the same one for all
 *       packets of a run, and not changed in between
 * @payload: set to the offset from skb->data of the payload
 *
 * The iCRC is checked over the bytes in the skb, which do not change after.
 *
 * Context: softirq or BH disabled.
 *
 * Return: RSOFT_DROP_NONE or the reason to drop; @rx advances either way.
 * Only valid while @rx->len is not 0.
 */
enum rsoft_drop rsoft_rx_next(struct rsoft_rx *rx, struct rsoft_pkt *pkt,
			      u32 *payload);

/**
 * rsoft_rx_alike() - look at the next packet, if it is like the last one
 * @rx: run from which a packet was taken with rsoft_rx_next(), not refused
 * @pkt: that packet; it has no extension headers
 * @psn: PSN that the next one must have
 *
 * For packets in the middle of a message, which differ in nothing but PSN and
 * payload: decoded are length, BTH and iCRC, and all are as they must be.
 * @rx does not advance, see rsoft_rx_take(). What is not alike, asks for an ACK,
 * has another PSN or a wrong iCRC is left to rsoft_rx_next().
 *
 * Context: softirq or BH disabled; vector registers may be in use afterwards,
 * until rsoft_rx_settle().
 *
 * Return: the payload, @pkt->payload_len bytes in one piece, or NULL.
 */
const u8 *rsoft_rx_alike(struct rsoft_rx *rx, const struct rsoft_pkt *pkt,
			 u32 psn);

/**
 * rsoft_rx_take() - the packet that rsoft_rx_alike() looked at is processed
 * @rx: run; advanced past the packet
 */
void rsoft_rx_take(struct rsoft_rx *rx);

/**
 * rsoft_rx_settle() - no more calls of rsoft_rx_alike() for now
 * @rx: run
 *
 * Must be called before other code may run that uses vector registers: before
 * anything is sent or completed.
 */
void rsoft_rx_settle(struct rsoft_rx *rx);

/**
 * rsoft_rx_copy() - copy payload of the packet in hand
 * @rx: run from which the packet was taken last
 * @off: offset from skb->data
 * @to: destination in kernel address space
 * @len: bytes, within the packet
 *
 * Return: 0, -EFAULT if the skb is shorter.
 */
int rsoft_rx_copy(const struct rsoft_rx *rx, u32 off, void *to, u32 len);

/**
 * rsoft_rx_grh() - the 40 bytes that stand in for a GRH (UD receives)
 * @rx: run
 * @len: bytes from BTH to iCRC of the packet, both included
 * @ip_id: IPv4 ID of the packet
 * @grh: 40 bytes; IPv4: 20 bytes of zeros and the IPv4 header
 */
void rsoft_rx_grh(const struct rsoft_rx *rx, u32 len, u16 ip_id, u8 *grh);

/**
 * rsoft_rx_detach() - make an skb keepable past its softirq
 * @skb: skb owned by the caller
 *
 * Drops socket, route, conntrack, extensions and device.
 */
void rsoft_rx_detach(struct sk_buff *skb);

#endif
