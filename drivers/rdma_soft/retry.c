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

void rsoft_retry(struct rsoft_qp *qp, u32 psn)
{
	struct rsoft_req *req = &qp->req;

	if (!req->retry_left) {
		rsoft_qp_count(qp, RSOFT_CNT_RETRY_EXCEEDED);
		retry_give_up(qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	req->retry_left--;
	trace_rsoft_retry(qp, psn);
	req->extended = 0;
	rsoft_req_rewind(qp, psn);
	/* the peer gets a full time-out from now on */
	req->deadline = 0;
}

/* Packets that the peer cannot have seen do not time out yet. */
static bool retry_extend(struct rsoft_qp *qp)
{
	if (!rsoft_stack_pending(qp) ||
	    qp->req.extended >= TIMEOUT_EXTENSIONS)
		return false;
	qp->req.extended++;
	qp->req.deadline = 0;
	rsoft_timer_sent(qp);
	return true;
}

void rsoft_retry_timeout(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	if (req->rnr_wait || !rsoft_timer_expired(qp))
		return;
	if (req->una == req->psn_max) {
		req->deadline = 0;
		return;
	}
	if (retry_extend(qp))
		return;
	rsoft_qp_count(qp, RSOFT_CNT_ACK_TIMEOUTS);
	trace_rsoft_timeout(qp, req->una);
	req->tx_wait = false;
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

void rsoft_retry_progress(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	req->retry_left = qp->retry_cnt;
	req->rnr_left = qp->rnr_retry;
	req->nak_seen = false;
	req->extended = 0;
	rsoft_timer_acked(qp);
}
