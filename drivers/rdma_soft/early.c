// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps early packets in PSN order, within bounds, and decides how long to wait
 * for those that are missing. Who executes them: resp.c and comp.c.
 */
#include "early.h"

#include <linux/atomic.h>

#include "qp.h"

/* Truesize of what all engines keep. */
static atomic_t early_total;

/**
 * struct early_cb - what a kept skb says of itself
 * @rx: its packets
 * @psn: PSN of the first
 * @n: PSNs that they take up; 0 for an ACK
 * @at_ns: when it arrived
 */
struct early_cb {
	struct rsoft_rx_cb rx;
	u32 psn;
	u32 n;
	u64 at_ns;
};

static struct early_cb *early_cb(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct early_cb) > sizeof(skb->cb));
	return (struct early_cb *)skb->cb;
}

void rsoft_early_init(struct rsoft_early *early)
{
	__skb_queue_head_init(&early->list);
	early->truesize = 0;
	early->open_ns = 0;
	early->full = false;
	early->asked = false;
	early->reorder = (struct rsoft_reorder){};
}

static bool early_charge(struct rsoft_early *early, u32 truesize)
{
	if (early->truesize + truesize > RSOFT_EARLY_QP_MAX)
		return false;
	if (atomic_add_return(truesize, &early_total) > RSOFT_EARLY_ALL_MAX) {
		atomic_sub(truesize, &early_total);
		return false;
	}
	early->truesize += truesize;
	return true;
}

static void early_uncharge(struct rsoft_early *early, u32 truesize)
{
	atomic_sub(truesize, &early_total);
	early->truesize -= truesize;
}

/* The kept skb behind which packets from @psn on belong; NULL: in front. */
static struct sk_buff *early_place(const struct rsoft_early *early, u32 psn)
{
	struct sk_buff *skb;

	skb_queue_reverse_walk(&early->list, skb) {
		if (rsoft_psn_diff(early_cb(skb)->psn, psn) <= 0)
			return skb;
	}
	return NULL;
}

/*
 * Cut off what is kept already. Returns false if nothing is left. An ACK stays
 * behind what has its PSN.
 *
 * What is kept may overlap: a READ, or an ACK, that a peer sent with PSNs of
 * others. Then the next one may begin before what is left here, which would have
 * a negative length: that is not kept.
 */
static bool early_trim(const struct rsoft_early *early,
		       const struct sk_buff *behind,
		       struct rsoft_early_run *run, u32 seg_size)
{
	struct sk_buff *next;
	s32 cut;

	if (behind) {
		cut = rsoft_psn_diff(rsoft_psn_add(early_cb(behind)->psn,
						   early_cb(behind)->n),
				     run->psn);
		if (cut >= (s32)run->n && run->n)
			return false;
		if (cut > 0 && run->n) {
			if (run->alone)
				return false;
			run->psn = rsoft_psn_add(run->psn, cut);
			run->n -= cut;
			run->off += cut * seg_size;
			run->len -= cut * seg_size;
			run->ip_id += cut;
		}
		next = skb_queue_is_last(&early->list, behind) ? NULL :
		       skb_queue_next(&early->list, behind);
	} else {
		next = skb_peek(&early->list);
	}
	if (!next || run->alone)
		return true;
	cut = rsoft_psn_diff(early_cb(next)->psn, run->psn);
	if (cut <= 0)
		return false;
	if (cut < (s32)run->n) {
		run->n = cut;
		run->len = cut * seg_size;
	}
	return true;
}

/* An skb of our own for a part of the one in hand. */
static struct sk_buff *early_skb(const struct rsoft_rx *rx,
				 const struct rsoft_early_run *run)
{
	/* the last part of an skb that nobody else looks at */
	if (rx->whole && !rx->len && run->off + run->len == rx->off)
		return skb_get(rx->skb);
	return skb_clone(rx->skb, GFP_ATOMIC | __GFP_NOWARN);
}

static bool early_store(struct rsoft_early *early, struct sk_buff *behind,
			const struct rsoft_early_run *run,
			const struct rsoft_rx *rx)
{
	struct rsoft_rx part = *rx;
	struct sk_buff *skb;
	struct early_cb *cb;

	if (!early_charge(early, rx->skb->truesize))
		return false;
	skb = early_skb(rx, run);
	if (!skb) {
		early_uncharge(early, rx->skb->truesize);
		return false;
	}
	rsoft_rx_detach(skb);
	part.off = run->off;
	part.len = run->len;
	part.ip_id = run->ip_id;
	part.checked = true;
	cb = early_cb(skb);
	rsoft_rx_save(&part, &cb->rx);
	cb->psn = run->psn;
	cb->n = run->n;
	cb->at_ns = ktime_get_ns();
	if (behind)
		__skb_queue_after(&early->list, behind, skb);
	else
		__skb_queue_head(&early->list, skb);
	return true;
}

void rsoft_early_keep(struct rsoft_qp *qp, struct rsoft_early *early,
		      struct rsoft_early_run *run, const struct rsoft_rx *rx)
{
	u32 pkts = DIV_ROUND_UP(run->len, rx->seg_size);
	struct sk_buff *behind;

	if (!run->len)
		return;
	behind = early_place(early, run->psn);
	if (!early_trim(early, behind, run, rx->seg_size)) {
		rsoft_qp_count_add(qp, RSOFT_CNT_DUPLICATES, pkts);
	} else if (early_store(early, behind, run, rx)) {
		rsoft_qp_count_add(qp, RSOFT_CNT_EARLY_HELD,
				   DIV_ROUND_UP(run->len, rx->seg_size));
	} else {
		early->full = true;
		rsoft_qp_count_add(qp, RSOFT_CNT_EARLY_DROPS, pkts);
	}
	run->len = 0;
}

void rsoft_early_refuse(struct rsoft_qp *qp, struct rsoft_early *early)
{
	if (!early->open_ns)
		early->open_ns = ktime_get_ns();
	early->full = true;
	rsoft_qp_count(qp, RSOFT_CNT_EARLY_DROPS);
}

void rsoft_early_add(struct rsoft_qp *qp, struct rsoft_early *early,
		     struct rsoft_early_run *run, const struct rsoft_rx *rx,
		     u32 psn, u32 n, u32 wire, bool alone)
{
	if (!early->open_ns)
		early->open_ns = ktime_get_ns();
	if (run->len && !alone && !run->alone &&
	    psn == rsoft_psn_add(run->psn, run->n) &&
	    rx->off - wire == run->off + run->len) {
		run->len += wire;
		run->n++;
		return;
	}
	/* the packet in hand is behind those kept now */
	rsoft_early_keep(qp, early, run, rx);
	*run = (struct rsoft_early_run){
		.off = rx->off - wire,
		.len = wire,
		.psn = psn,
		.n = n,
		.ip_id = rx->ip_id - 1,
		.alone = alone,
	};
}

u32 rsoft_early_first(const struct rsoft_early *early, bool *ack)
{
	const struct early_cb *cb = early_cb(skb_peek(&early->list));

	*ack = !cb->n;
	return cb->psn;
}

bool rsoft_early_old(struct rsoft_qp *qp, struct rsoft_early *early, u32 psn)
{
	const struct early_cb *cb = early_cb(skb_peek(&early->list));
	struct rsoft_rx rx;

	if (rsoft_psn_diff(rsoft_psn_add(cb->psn, cb->n), psn) > 0)
		return false;
	consume_skb(rsoft_early_take(early, &rx));
	rsoft_qp_count_add(qp, RSOFT_CNT_DUPLICATES,
			   DIV_ROUND_UP(rx.len, rx.seg_size));
	return true;
}

struct sk_buff *rsoft_early_take(struct rsoft_early *early,
				 struct rsoft_rx *rx)
{
	struct sk_buff *skb = __skb_dequeue(&early->list);

	early_uncharge(early, skb->truesize);
	rsoft_rx_load(rx, &early_cb(skb)->rx, skb);
	return skb;
}

void rsoft_early_closed(struct rsoft_qp *qp, struct rsoft_early *early,
			bool asked)
{
	u64 us = div_u64(ktime_get_ns() - early->open_ns, NSEC_PER_USEC);

	rsoft_qp_count(qp, RSOFT_CNT_GAPS_CLOSED);
	if (!asked)
		rsoft_reorder_closed(&early->reorder, min_t(u64, us, U32_MAX));
	early->open_ns = 0;
	early->full = false;
}

void rsoft_early_reopen(struct rsoft_early *early)
{
	if (rsoft_early_any(early))
		early->open_ns = early_cb(skb_peek(&early->list))->at_ns;
}

u64 rsoft_early_wait_ns(const struct rsoft_early *early)
{
	u64 wait = early->reorder.wait_us * (u64)NSEC_PER_USEC;
	u64 age;

	if (!wait || early->full)
		return 0;
	age = ktime_get_ns() - early->open_ns;
	return age < wait ? wait - age : 0;
}

void rsoft_early_asked(struct rsoft_early *early, u32 psn)
{
	early->asked = true;
	early->asked_psn = psn;
	rsoft_reorder_asked(&early->reorder);
}

void rsoft_early_twice(struct rsoft_qp *qp, struct rsoft_early *early, u32 psn)
{
	if (!early->asked || psn != early->asked_psn)
		return;
	early->asked = false;
	rsoft_qp_count(qp, RSOFT_CNT_ASKED_IN_VAIN);
	rsoft_reorder_twice(&early->reorder, READ_ONCE(qp->req.rtt.srtt_us));
}

void rsoft_early_drop(struct rsoft_qp *qp, struct rsoft_early *early)
{
	struct sk_buff *skb;
	struct rsoft_rx rx;

	/* where to count may change: modify and destroy come here too */
	rcu_read_lock();
	while (rsoft_early_any(early)) {
		skb = rsoft_early_take(early, &rx);
		rsoft_qp_count_add(qp, RSOFT_CNT_EARLY_DROPS,
				   DIV_ROUND_UP(rx.len, rx.seg_size));
		kfree_skb(skb);
	}
	rcu_read_unlock();
	early->open_ns = 0;
	early->full = false;
	early->asked = false;
}
