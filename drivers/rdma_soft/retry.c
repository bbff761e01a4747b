// SPDX-License-Identifier: GPL-2.0
/*
 * Recovery of the requester: time-outs, sequence errors, RNR (IBTA 9.7.5.2.8,
 * 9.7.6.1, 9.9.2.4.2). All of them end in going back to a PSN, or in giving up.
 */
#include "build.h"
#include "req.h"
#include "stack.h"
#include "timer.h"
#include "trace.h"

#define RNR_RETRY_FOREVER 7

/*
 * The Local ACK Timeout is T to 4 T (IBTA 9.7.6). What lasts longer than T
 * is a peer whose requests still wait in our own stack.
 */
#define TIMEOUT_EXTENSIONS 3

/* The first probe that asks for a READ none of which is known to be lost. */
#define READ_PROBE 3

/* NAKs after which a peer that kept no early packets is tried again. */
#define KEEPS_NAKS 64
/* Packets sent again at once for a peer that keeps early ones. */
#define HOLE_MAX 256u
/* One of so many round trips is measured, less one. */
#define RTT_SKIP 7

static struct rsoft_swqe *retry_oldest(struct rsoft_qp *qp)
{
	if (qp->sq.tail == rsoft_sq_head(qp))
		return NULL;
	return rsoft_sq_at(&qp->sq, qp->sq.tail);
}

static void retry_give_up(struct rsoft_qp *qp, enum ib_wc_status status)
{
	struct rsoft_swqe *wqe = retry_oldest(qp);

	if (wqe)
		rsoft_req_fail(qp, wqe, status);
}

/* Take one from the retry budget of the oldest WQE; false if it is used up. */
static bool retry_take(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	if (!req->retry_left) {
		rsoft_qp_count(qp, RSOFT_CNT_RETRY_EXCEEDED);
		retry_give_up(qp, IB_WC_RETRY_EXC_ERR);
		return false;
	}
	req->retry_left--;
	trace_rsoft_retry(qp, req->una);
	req->extended = 0;
	/* the peer gets a full time-out from now on */
	req->deadline = 0;
	return true;
}

/*
 * Send @n packets again from the oldest one on, then go on where we were. What
 * follows the gap reached the peer, as far as we know.
 */
static void retry_hole(struct rsoft_qp *qp, enum rsoft_hole_why why, u32 n)
{
	struct rsoft_req *req = &qp->req;
	enum rsoft_later later = req->later;
	u32 base = req->win_base;

	if (req->hole == RSOFT_HOLE_FILL)
		base = req->hole_base;
	rsoft_req_rewind(qp, req->una);
	req->later = later;
	req->hole = RSOFT_HOLE_FILL;
	req->hole_why = why;
	req->hole_left = n;
	req->hole_base = base;
}

/*
 * A sequence error NAK: the oldest packet was lost.
 * Does the peer keep what follows a gap? It is sent one packet, and the answer
 * tells. One that does not is sent all again (go-back-N) from then on.
 */
static void retry_nak(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	/* a copy of the NAK, or one that we guessed */
	if (req->nak_seen)
		return;
	req->nak_seen = true;
	if (!retry_take(qp))
		return;
	if (req->keeps == RSOFT_KEEPS_NO && ++req->keeps_naks < KEEPS_NAKS) {
		rsoft_req_rewind(qp, req->una);
		return;
	}
	if (req->keeps == RSOFT_KEEPS_NO)
		req->keeps = RSOFT_KEEPS_UNKNOWN;
	req->keeps_naks = 0;
	retry_hole(qp, RSOFT_HOLE_NAK,
		   req->keeps == RSOFT_KEEPS_YES ? req->hole_n : 1);
}

void rsoft_retry_read(struct rsoft_qp *qp)
{
	if (retry_take(qp))
		retry_hole(qp, RSOFT_HOLE_READ, 1);
}

void rsoft_retry_later(struct rsoft_qp *qp, u32 psn, enum rsoft_later what)
{
	qp->req.later = what;
	qp->req.later_psn = psn;
}

void rsoft_retry_now(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;
	enum rsoft_later what = req->later;

	if (likely(!what) || rsoft_psn_diff(req->una, req->later_psn) < 0)
		return;
	req->later = RSOFT_LATER_NONE;
	if (req->una != req->later_psn || req->psn == req->una)
		return;
	if (what == RSOFT_LATER_NAK)
		retry_nak(qp);
	else
		rsoft_req_rewind(qp, req->una);
}

/* Go on behind everything that was ever sent. */
static void retry_ahead(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	rsoft_req_seek(qp, req->psn_max);
	if (rsoft_psn_diff(req->hole_base, req->win_base) > 0)
		req->win_base = req->hole_base;
}

void rsoft_retry_filled(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	req->hole_end = req->psn;
	/* what a NAK names was lost: the answer is to this packet, not another */
	if (req->hole_why == RSOFT_HOLE_NAK && req->una != req->psn) {
		req->rtt_psn = rsoft_psn_add(req->una, 1);
		req->rtt_ns = ktime_get_ns();
	}
	if (req->hole_why == RSOFT_HOLE_NAK && req->keeps != RSOFT_KEEPS_YES) {
		req->hole = RSOFT_HOLE_PARK;
	} else {
		req->hole = RSOFT_HOLE_AHEAD;
		retry_ahead(qp);
	}
	rsoft_timer_probe(qp);
}

/*
 * The peer answered to the packets of a NAK's repair: what does that tell? That
 * the next one is missing, too, says only who kept those behind it.
 */
static void retry_learn(struct rsoft_qp *qp, bool skipped)
{
	bool naked = qp->req.later == RSOFT_LATER_NAK &&
		     qp->req.later_psn == qp->req.una;
	struct rsoft_req *req = &qp->req;

	if (skipped) {
		req->keeps = RSOFT_KEEPS_YES;
		req->hole_n = 1;
	} else if (req->keeps == RSOFT_KEEPS_UNKNOWN) {
		req->keeps = naked ? RSOFT_KEEPS_YES : RSOFT_KEEPS_NO;
	} else if (req->hole_n < HOLE_MAX) {
		/* more in a row were lost, or not kept */
		req->hole_n *= 2;
	} else {
		req->keeps = RSOFT_KEEPS_UNKNOWN;
		req->hole_n = 1;
	}
}

/* Something was acknowledged while a loss is repaired. */
static void retry_repaired(struct rsoft_qp *qp)
{
	enum rsoft_hole hole = qp->req.hole;
	struct rsoft_req *req = &qp->req;
	bool all = req->una == req->psn_max;
	bool skipped;

	if (hole == RSOFT_HOLE_FILL) {
		/* the answer came before the packets were sent again */
		if (rsoft_psn_diff(req->una, req->psn) <= 0)
			return;
		req->hole = RSOFT_HOLE_NONE;
		if (req->keeps == RSOFT_KEEPS_YES ||
		    req->hole_why != RSOFT_HOLE_NAK)
			retry_ahead(qp);
		return;
	}
	if (rsoft_psn_diff(req->una, req->hole_end) < 0)
		return;
	req->hole = RSOFT_HOLE_NONE;
	skipped = req->una != req->hole_end;
	if (req->hole_why == RSOFT_HOLE_NAK && !all)
		retry_learn(qp, skipped);
	if (hole == RSOFT_HOLE_PARK && skipped)
		retry_ahead(qp);
	/* nothing behind the probe had arrived, or it was not kept */
	if (req->hole_why == RSOFT_HOLE_PROBE && !skipped && !all)
		rsoft_req_rewind(qp, req->una);
}

void rsoft_retry(struct rsoft_qp *qp, u32 psn)
{
	if (retry_take(qp))
		rsoft_req_rewind(qp, psn);
}

/* Send the oldest packet once more, unless that would be too much or too early. */
static void retry_ask(struct rsoft_qp *qp)
{
	struct rsoft_swqe *wqe = retry_oldest(qp);
	struct rsoft_req *req = &qp->req;
	bool read = wqe && rsoft_swqe_has_response(wqe);

	/* the packets may not have left yet */
	if (req->tx_wait || rsoft_stack_pending(qp) ||
	    (req->psn != req->psn_max && req->hole != RSOFT_HOLE_PARK))
		return;
	/* all of a READ's data would come again, maybe while it is coming */
	if (read && (req->heard || (req->hole == RSOFT_HOLE_NONE &&
				    req->probes < READ_PROBE)))
		return;
	rsoft_qp_count(qp, RSOFT_CNT_PROBES);
	retry_hole(qp, read ? RSOFT_HOLE_READ : RSOFT_HOLE_PROBE, 1);
}

/*
 * Packets that the peer cannot have seen do not time out yet; nor does a peer
 * that is answering, although to what was answered before.
 */
static bool retry_extend(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	if (req->extended >= TIMEOUT_EXTENSIONS ||
	    (!req->heard && !rsoft_stack_pending(qp)))
		return false;
	req->extended++;
	req->deadline = 0;
	retry_ask(qp);
	req->heard = false;
	rsoft_timer_sent(qp);
	return true;
}

/*
 * An answer is late: the last packets were lost, what was sent again, or the
 * answer; no NAK will come. Ask with the oldest packet, which costs little if it
 * was in vain, and nothing from the retry budget.
 */
static void retry_probe(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	if (req->una == req->psn_max || !rsoft_timer_probe_due(qp))
		return;
	req->probes++;
	retry_ask(qp);
	rsoft_timer_sent(qp);
}

void rsoft_retry_timeout(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	if (req->rnr_wait)
		return;
	if (!rsoft_timer_expired(qp)) {
		retry_probe(qp);
		return;
	}
	if (req->una == req->psn_max) {
		req->deadline = 0;
		return;
	}
	if (retry_extend(qp))
		return;
	rsoft_qp_count(qp, RSOFT_CNT_ACK_TIMEOUTS);
	trace_rsoft_timeout(qp, req->una);
	req->tx_wait = false;
	req->probes = 0;
	rsoft_retry(qp, req->una);
}

void rsoft_retry_rnr(struct rsoft_qp *qp, u32 psn, u8 enc)
{
	struct rsoft_req *req = &qp->req;

	rsoft_qp_count(qp, RSOFT_CNT_RNR_RCVD);
	trace_rsoft_rnr_rcvd(qp, psn, enc);
	if (req->rnr_wait)
		return;
	if (qp->rnr_retry != RNR_RETRY_FOREVER) {
		if (!req->rnr_left) {
			rsoft_qp_count(qp, RSOFT_CNT_RNR_RETRY_EXCEEDED);
			retry_give_up(qp, IB_WC_RNR_RETRY_EXC_ERR);
			return;
		}
		req->rnr_left--;
	}
	rsoft_req_rewind(qp, psn);
	req->rnr_wait = true;
	req->deadline = 0;
	rsoft_timer_rnr(qp, rsoft_rnr_ns(enc));
}

/* An answer came; true if it is the first that tells how long answers take. */
static bool retry_measure(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;
	bool first = !req->rtt.srtt_us;

	if (!req->rtt_ns || rsoft_psn_diff(req->una, req->rtt_psn) < 0)
		return false;
	rsoft_rtt_add(&req->rtt, div_u64(ktime_get_ns() - req->rtt_ns,
					 NSEC_PER_USEC));
	req->rtt_ns = 0;
	req->rtt_skip = RTT_SKIP;
	return first;
}

void rsoft_retry_progress(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;
	bool sooner = retry_measure(qp) || req->probes;

	req->retry_left = qp->retry_cnt;
	req->rnr_left = qp->rnr_retry;
	req->nak_seen = false;
	req->extended = 0;
	req->probes = 0;
	req->heard = false;
	if (unlikely(req->hole))
		retry_repaired(qp);
	rsoft_timer_acked(qp);
	/* the timer runs for a time-out, or for a peer that was silent */
	if (unlikely(sooner))
		rsoft_timer_probe(qp);
}
