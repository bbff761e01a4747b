/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets that arrived before those that precede them. RoCE repeats everything
 * from a lost packet on; an end that keeps what came early can go on where the
 * gap ends. Kept packets are only looked at (length, headers, iCRC): they are
 * executed in order, when the gap is closed, as if they had just arrived.
 */
#ifndef RSOFT_EARLY_H
#define RSOFT_EARLY_H

#include <linux/hrtimer.h>
#include <linux/skbuff.h>

#include "proto/psn.h"
#include "proto/reorder.h"
#include "rx.h"

struct rsoft_engine;
struct rsoft_qp;

/* Truesize that may be kept for one direction of a QP, and for all of them. */
#define RSOFT_EARLY_QP_MAX	(1024 * 1024)
#define RSOFT_EARLY_ALL_MAX	(16 * 1024 * 1024)
/* PSNs ahead of the one expected that a packet may have to be kept. */
#define RSOFT_EARLY_AHEAD_MAX	0xffff

/**
 * struct rsoft_early - early packets of one engine; its owner's
 * @list: skbs in PSN order, none overlaps another; its lock is not used
 * @truesize: of @list
 * @open_ns: when the gap in front of them was noticed; 0: there is none
 * @full: a packet behind the gap was not kept
 * @asked: @asked_psn was asked for again, and did not come twice yet
 * @asked_psn: PSN that was missing
 * @reorder: how late packets come on this path
 * @timer: ends the wait for late packets
 */
struct rsoft_early {
	struct sk_buff_head list;
	u32 truesize;
	u64 open_ns;
	bool full;
	bool asked;
	u32 asked_psn;
	struct rsoft_reorder reorder;
	struct hrtimer timer;
};

/**
 * struct rsoft_early_run - early packets in a row in the skb in hand
 * @off: offset from skb->data of the first
 * @len: their bytes
 * @psn: PSN of the first
 * @n: PSNs that they take up, 0 if there are none
 * @ip_id: IPv4 ID of the first
 * @alone: nothing may follow
 */
struct rsoft_early_run {
	u32 off;
	u32 len;
	u32 psn;
	u32 n;
	u16 ip_id;
	bool alone;
};

/**
 * rsoft_early_init() - nothing is kept, the path is not known to reorder
 * @early: early packets of an engine under construction; not its timer
 */
void rsoft_early_init(struct rsoft_early *early);

/**
 * rsoft_early_add() - keep the packet in hand
 * @qp: QP
 * @early: early packets of its engine, owned
 * @run: packets in a row before it; kept if this one does not continue them
 * @rx: where the packet was taken from last
 * @psn: its PSN
 * @n: PSNs that it takes up; 0 for an ACK
 * @wire: its bytes from BTH to iCRC
 * @alone: keep it apart from its neighbours
 *
 * Notes that there is a gap. Takes effect with the next rsoft_early_keep().
 */
void rsoft_early_add(struct rsoft_qp *qp, struct rsoft_early *early,
		     struct rsoft_early_run *run, const struct rsoft_rx *rx,
		     u32 psn, u32 n, u32 wire, bool alone);

/**
 * rsoft_early_keep() - keep the packets added so far
 * @qp: QP
 * @early: early packets of its engine, owned
 * @run: packets in a row; empty afterwards
 * @rx: where they were taken from; nothing may be taken between them and this
 *
 * What cannot be kept is counted, and @early->full is set.
 *
 * Context: BH disabled.
 */
void rsoft_early_keep(struct rsoft_qp *qp, struct rsoft_early *early,
		      struct rsoft_early_run *run, const struct rsoft_rx *rx);

/**
 * rsoft_early_refuse() - the packet in hand is not kept
 * @qp: QP
 * @early: early packets of its engine, owned
 *
 * Notes that there is a gap.
 */
void rsoft_early_refuse(struct rsoft_qp *qp, struct rsoft_early *early);

/**
 * rsoft_early_any() - is anything kept
 * @early: early packets
 *
 * Return: true if so.
 */
static inline bool rsoft_early_any(const struct rsoft_early *early)
{
	return !skb_queue_empty(&early->list);
}

/**
 * rsoft_early_first() - which packet is kept first
 * @early: early packets, there are some
 * @ack: set if it is an ACK
 *
 * Return: its PSN.
 */
u32 rsoft_early_first(const struct rsoft_early *early, bool *ack);

/**
 * rsoft_early_old() - drop what is kept first if it arrived otherwise
 * @qp: QP
 * @early: early packets of its engine, owned; there are some
 * @psn: PSN expected
 *
 * Return: true if it was dropped.
 */
bool rsoft_early_old(struct rsoft_qp *qp, struct rsoft_early *early, u32 psn);

/**
 * rsoft_early_take() - take the packets that are kept first
 * @early: early packets, there are some
 * @rx: set to them
 *
 * Return: the skb that holds them; the caller frees it.
 */
struct sk_buff *rsoft_early_take(struct rsoft_early *early,
				 struct rsoft_rx *rx);

/**
 * rsoft_early_closed() - the packet that was missing arrived
 * @qp: QP
 * @early: early packets of its engine, owned; a gap is open
 * @asked: it had been asked for
 *
 * Learns from the time that the gap was open, if it closed by itself.
 */
void rsoft_early_closed(struct rsoft_qp *qp, struct rsoft_early *early,
			bool asked);

/**
 * rsoft_early_reopen() - after a gap was closed: is there another one behind it
 * @early: early packets
 *
 * It is as old as the packet behind it.
 */
void rsoft_early_reopen(struct rsoft_early *early);

/**
 * rsoft_early_wait_ns() - how long is the open gap still to be tolerated
 * @early: early packets; a gap is open
 *
 * Return: time, 0 if the missing packet should be asked for now.
 */
u64 rsoft_early_wait_ns(const struct rsoft_early *early);

/**
 * rsoft_early_asked() - the missing packet was asked for
 * @early: early packets; a gap is open
 * @psn: its PSN
 */
void rsoft_early_asked(struct rsoft_early *early, u32 psn);

/**
 * rsoft_early_twice() - a packet arrived that had arrived before
 * @qp: QP
 * @early: early packets of its engine, owned
 * @psn: its PSN
 *
 * If it had been asked for, it had not been lost.
 */
void rsoft_early_twice(struct rsoft_qp *qp, struct rsoft_early *early, u32 psn);

/**
 * rsoft_early_drop() - forget all that is kept, and the gap
 * @qp: QP
 * @early: early packets of its engine, owned or paused
 *
 * Context: any, not hard interrupt.
 */
void rsoft_early_drop(struct rsoft_qp *qp, struct rsoft_early *early);

#endif
