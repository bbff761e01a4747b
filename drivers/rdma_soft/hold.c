// SPDX-License-Identifier: GPL-2.0
/*
 * Streams of small messages. A program that posts message after message rings
 * a doorbell for each, and each would travel alone and be answered alone. So
 * messages of a stream are held for a moment, until they fill an skb.
 *
 * What is a stream? Posts that follow each other although the program has not
 * seen the last one's completion, nor got a request from its peer meanwhile: it
 * waits for nothing that we know of. A ping-pong, or a lone message, is never
 * held. A burst is held from its 8th message on, and if holds end in vain
 * (nothing more is posted) later and later.
 *
 * A hold ends when the skb is full; when a message differs from the first (it is
 * longer, or asks for a completion while the one before did not: a
 * program waits for its last message); when all that was sent is acknowledged;
 * or by the timer. Doorbells of a hold cost next to nothing: they do not
 * run the engine.
 */
#include "hold.h"

#include "build.h"
#include "req.h"

#define HOLD_NEED_MIN	8
#define HOLD_NEED_MAX	512
/* WQEs per skb; fewer do not pay. */
#define HOLD_WQES_MAX	64
#define HOLD_WQES_MIN	3
/* Looks of the timer until a hold ends although posts go on. */
#define HOLD_LOOKS	8

u32 rsoft_hold_us = 20;

void rsoft_hold_init(struct rsoft_qp *qp)
{
	struct rsoft_hold *hold = &qp->req.hold;

	WRITE_ONCE(hold->on, false);
	hold->signaled = true;
	hold->told = true;
	hold->run = 0;
	hold->need = HOLD_NEED_MIN;
}

static u32 hold_count(const struct rsoft_qp *qp)
{
	return rsoft_ring_count(&qp->sq.ring, READ_ONCE(qp->sq.next));
}

/*
 * Does the WQE in the ring go with those held? Nothing read here is trusted:
 * the worst that a wrong answer does is to end a hold early or late.
 */
static bool hold_suits(struct rsoft_qp *qp, const struct rsoft_ring *ring)
{
	u32 prod = READ_ONCE(ring->buf->producer_index);
	const struct rdma_soft_send_wqe *wqe = rsoft_ring_slot(ring, prod - 1);
	struct rsoft_hold *hold = &qp->req.hold;
	u32 op = READ_ONCE(wqe->wr.opcode);
	bool signaled = READ_ONCE(wqe->wr.send_flags) & IB_SEND_SIGNALED;
	bool awaited = signaled && !READ_ONCE(hold->signaled);

	WRITE_ONCE(hold->signaled, signaled || qp->sq.sig_all);
	return !awaited && op <= IB_WR_SEND_WITH_IMM &&
	       READ_ONCE(wqe->dma.length) <= READ_ONCE(hold->len);
}

enum rsoft_hold_bell rsoft_hold_bell(struct rsoft_qp *qp)
{
	struct rsoft_hold *hold = &qp->req.hold;

	/* pairs with rsoft_hold_end(): it sees the WQE, or we that it is over */
	smp_mb();
	if (!READ_ONCE(hold->on))
		return RSOFT_HOLD_NONE;
	if (hold_count(qp) >= READ_ONCE(hold->limit) ||
	    READ_ONCE(qp->resp.msn) != READ_ONCE(hold->msn) ||
	    !hold_suits(qp, &qp->sq.ring))
		return RSOFT_HOLD_PUSH;
	return RSOFT_HOLD_KEEP;
}

/*
 * Could the program have waited for something before it posted? For a request
 * of its peer, or for the completion of what it posted last.
 */
static bool hold_waited(struct rsoft_qp *qp)
{
	struct rsoft_hold *hold = &qp->req.hold;
	u32 msn = READ_ONCE(qp->resp.msn);
	bool got = msn != hold->msn;

	WRITE_ONCE(hold->msn, msn);
	return got || (hold->told && qp->sq.tail == qp->sq.head &&
		       rsoft_cq_drained(to_rcq(qp->ibqp.send_cq)));
}

/* WQEs like this one that make up an skb; 0 if it should not be held. */
static u32 hold_limit(struct rsoft_qp *qp, const struct rsoft_swqe *wqe)
{
	struct rsoft_path *path = wqe->path;
	u32 wire, n;

	if (wqe->state != RSOFT_SWQE_POSTED || wqe->status != IB_WC_SUCCESS ||
	    (wqe->kind != RSOFT_KIND_SEND && wqe->kind != RSOFT_KIND_WRITE) ||
	    wqe->len > 1u << qp->mtu_shift)
		return 0;
	if (!path)
		path = rcu_dereference_protected(qp->path, 1);
	wire = wqe->len + RSOFT_HDR_MAX;
	n = min_t(u32, rsoft_path_batch_max(path, wire), HOLD_WQES_MAX);
	n = min3(n, qp->sq.mask + 1, qp->sq.ring.mask);
	return n < HOLD_WQES_MIN ? 0 : n;
}

/* A doorbell while nothing is held: is it part of a stream? */
static bool hold_begin(struct rsoft_qp *qp)
{
	u64 look_ns = READ_ONCE(rsoft_hold_us) * (u64)NSEC_PER_USEC;
	struct rsoft_hold *hold = &qp->req.hold;
	u32 n = hold_count(qp);
	struct rsoft_swqe *wqe;
	u64 now, gap;

	if (!look_ns || hold_waited(qp)) {
		hold->run = 0;
		return false;
	}
	now = ktime_get_ns();
	gap = now - READ_ONCE(hold->left_ns);
	hold->run = hold->run && gap > look_ns ? 0 : hold->run + n;
	if (hold->run < hold->need || qp->req.psn != qp->req.psn_max)
		return false;
	wqe = rsoft_sq_fetch(qp, qp->sq.next);
	if (!wqe)
		return false;
	WRITE_ONCE(hold->limit, hold_limit(qp, wqe));
	if (n >= hold->limit)
		return false;
	WRITE_ONCE(hold->len, wqe->len);
	WRITE_ONCE(hold->signaled,
		   qp->sq.sig_all || (wqe->flags & IB_SEND_SIGNALED));
	hold->seen = n;
	hold->start_ns = now;
	hold->until_ns = now + look_ns;
	WRITE_ONCE(hold->on, true);
	if (!hrtimer_is_queued(&hold->timer))
		hrtimer_start(&hold->timer, ns_to_ktime(look_ns),
			      HRTIMER_MODE_REL_SOFT);
	/* who posted before it was on rang the engine: that is us */
	smp_mb();
	rsoft_qp_count(qp, RSOFT_CNT_TX_HOLDS);
	return hold_count(qp) < hold->limit;
}

/* The timer looks. Returns true if the hold goes on. */
static bool hold_look(struct rsoft_qp *qp)
{
	u64 look_ns = READ_ONCE(rsoft_hold_us) * (u64)NSEC_PER_USEC;
	struct rsoft_hold *hold = &qp->req.hold;
	u64 now = ktime_get_ns();
	u32 n = hold_count(qp);

	if (now >= hold->until_ns) {
		if (n == hold->seen) {
			/* in vain */
			hold->run = 0;
			hold->need = min(2 * hold->need, HOLD_NEED_MAX);
			rsoft_qp_count(qp, RSOFT_CNT_TX_HOLDS_VAIN);
			return false;
		}
		if (now - hold->start_ns >= HOLD_LOOKS * look_ns)
			return false;
		hold->until_ns = now + look_ns;
		hold->seen = n;
	}
	hrtimer_start(&hold->timer, ns_to_ktime(hold->until_ns - now),
		      HRTIMER_MODE_REL_SOFT);
	return true;
}

void rsoft_hold_end(struct rsoft_qp *qp)
{
	WRITE_ONCE(qp->req.hold.on, false);
	/* pairs with rsoft_hold_bell() */
	smp_mb();
}

bool rsoft_hold(struct rsoft_qp *qp, unsigned long events)
{
	struct rsoft_hold *hold = &qp->req.hold;
	bool push = events & BIT(RSOFT_EV_PUSH);

	/* a kernel consumer's posts gather until its tasklet runs */
	if (!qp->user)
		return false;
	if (!hold->on) {
		if (push || !(events & BIT(RSOFT_EV_DOORBELL)))
			return false;
		if (hold_begin(qp))
			return true;
		if (!hold->on)
			return false;
	} else if (!push) {
		if ((events & BIT(RSOFT_EV_HOLD_TIMER)) && hold_look(qp))
			return true;
		if (!(events & BIT(RSOFT_EV_HOLD_TIMER)) &&
		    ((events & BIT(RSOFT_EV_DOORBELL)) ||
		     qp->req.una != qp->req.psn_max))
			return true;
	}
	if (hold_count(qp) >= hold->limit)
		hold->need = max(hold->need / 2, HOLD_NEED_MIN);
	WRITE_ONCE(hold->left_ns, ktime_get_ns());
	rsoft_hold_end(qp);
	return false;
}
