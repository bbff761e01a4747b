// SPDX-License-Identifier: GPL-2.0
/*
 * Completer: what comes back from the responder. ACKs retire WQEs in order, READ
 * responses are placed in order, NAKs send the requester back or end the queue.
 */
#include "cursor.h"
#include "req.h"
#include "timer.h"
#include "trace.h"

/**
 * struct comp_run - one run of responses
 * @c: where READ data goes
 * @wqe: READ that @c belongs to
 * @rx: where the responses come from
 * @wire: bytes from BTH to iCRC of the one in hand
 * @early: responses in a row that came early
 */
struct comp_run {
	struct rsoft_cursor c;
	struct rsoft_swqe *wqe;
	struct rsoft_rx *rx;
	u32 wire;
	struct rsoft_early_run early;
};

/* Everything before @una is acknowledged; catch up a requester gone back. */
static void comp_set_una(struct rsoft_qp *qp, u32 una)
{
	struct rsoft_req *req = &qp->req;

	if (rsoft_psn_diff(una, req->una) <= 0)
		return;
	req->una = una;
	if (rsoft_psn_diff(una, req->win_base) > 0)
		req->win_base = una;
	rsoft_retry_progress(qp);
	/* the sent packets before una need not be sent again */
	if (rsoft_psn_diff(una, req->psn) > 0)
		rsoft_req_rewind(qp, una);
}

/*
 * The peer executed all requests up to @psn. Returns false if a READ or atomic
 * among them still waits for a response, which then was lost (implied NAK).
 */
static bool comp_acked(struct rsoft_qp *qp, u32 psn)
{
	struct rsoft_sq *sq = &qp->sq;
	struct rsoft_swqe *wqe;
	u32 idx;

	for (idx = sq->tail; idx != rsoft_sq_head(qp); idx++) {
		wqe = rsoft_sq_at(sq, idx);
		if (wqe->state == RSOFT_SWQE_POSTED)
			break;
		if (wqe->state == RSOFT_SWQE_DONE)
			continue;
		if (rsoft_swqe_has_response(wqe)) {
			if (rsoft_psn_diff(psn, wqe->first_psn) < 0)
				break;
			comp_set_una(qp, wqe->resp_psn);
			rsoft_req_settle(qp);
			return false;
		}
		if (rsoft_psn_diff(psn, wqe->last_psn) < 0)
			break;
		wqe->state = RSOFT_SWQE_DONE;
	}
	comp_set_una(qp, rsoft_psn_add(psn, 1));
	rsoft_req_settle(qp);
	return true;
}

/* A response is missing: ask again from the first PSN without one, once. */
static void comp_implied_nak(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	if (req->nak_seen)
		return;
	req->nak_seen = true;
	rsoft_qp_count(qp, RSOFT_CNT_IMPLIED_NAK);
	trace_rsoft_implied_nak(qp, req->una);
	rsoft_early_asked(&qp->send.early, req->una);
	rsoft_retry_read(qp);
}

/* Responses are missing in front of the one in hand, which is kept. */
static void comp_early(struct rsoft_qp *qp, struct comp_run *run,
		       const struct rsoft_pkt *pkt)
{
	bool ack = pkt->info->kind == RSOFT_KIND_ACK;

	rsoft_early_add(qp, &qp->send.early, &run->early, run->rx, pkt->psn,
			!ack, run->wire, ack);
}

void rsoft_comp_gap(struct rsoft_qp *qp)
{
	struct rsoft_early *early = &qp->send.early;
	u64 wait;

	if (!early->open_ns || qp->req.nak_seen)
		return;
	wait = rsoft_early_wait_ns(early);
	if (wait)
		rsoft_timer_gap(&qp->send, wait);
	else
		comp_implied_nak(qp);
}

static struct rsoft_swqe *comp_wqe_of(struct rsoft_qp *qp, u32 psn)
{
	struct rsoft_sq *sq = &qp->sq;
	struct rsoft_swqe *wqe;
	u32 idx;

	for (idx = sq->tail; idx != rsoft_sq_head(qp); idx++) {
		wqe = rsoft_sq_at(sq, idx);
		if (wqe->state == RSOFT_SWQE_POSTED)
			return NULL;
		if (rsoft_psn_in(psn, wqe->first_psn, wqe->last_psn))
			return wqe;
	}
	return NULL;
}

static enum ib_wc_status comp_nak_status(u8 code)
{
	switch (code) {
	case RSOFT_NAK_INV_REQ:
		return IB_WC_REM_INV_REQ_ERR;
	case RSOFT_NAK_REM_ACCESS:
		return IB_WC_REM_ACCESS_ERR;
	case RSOFT_NAK_REM_OP:
		return IB_WC_REM_OP_ERR;
	default:
		return IB_WC_BAD_RESP_ERR;
	}
}

/* A request is refused, but responses to those before it are missing. */
static void comp_refused(struct rsoft_qp *qp, u32 psn)
{
	rsoft_retry_later(qp, psn, RSOFT_LATER_ALL);
	comp_implied_nak(qp);
}

static void comp_nak(struct rsoft_qp *qp, const struct rsoft_pkt *pkt)
{
	u8 code = pkt->syn & RSOFT_SYN_VALUE_MASK;
	struct rsoft_swqe *wqe;

	rsoft_qp_count(qp, RSOFT_CNT_NAK_RCVD);
	trace_rsoft_nak_rcvd(qp, pkt->psn, code);
	if (code == RSOFT_NAK_PSN) {
		rsoft_retry_later(qp, pkt->psn, RSOFT_LATER_NAK);
		if (!comp_acked(qp, rsoft_psn_add(pkt->psn, RSOFT_PSN_MASK)))
			comp_implied_nak(qp);
		else
			rsoft_retry_now(qp);
		return;
	}
	wqe = comp_wqe_of(qp, pkt->psn);
	if (!wqe || wqe->state == RSOFT_SWQE_DONE)
		return;
	wqe->vendor_err = pkt->syn;
	wqe->status = comp_nak_status(code);
	/* it names the request that failed: all before it were executed */
	if (comp_acked(qp, rsoft_psn_add(wqe->first_psn, RSOFT_PSN_MASK)))
		rsoft_req_fail(qp, wqe, wqe->status);
	else
		comp_refused(qp, wqe->first_psn);
}

static void comp_ack(struct rsoft_qp *qp, struct comp_run *run,
		     const struct rsoft_pkt *pkt)
{
	struct rsoft_req *req = &qp->req;
	u32 last_acked = rsoft_psn_add(req->una, RSOFT_PSN_MASK);

	/* from the last one acknowledged to the last one ever sent */
	if (rsoft_psn_diff(pkt->psn, last_acked) < 0 ||
	    rsoft_psn_diff(pkt->psn, req->psn_max) >= 0) {
		rsoft_qp_drop(qp, RSOFT_DROP_GHOST);
		return;
	}
	switch (pkt->syn & RSOFT_SYN_TYPE_MASK) {
	case RSOFT_SYN_ACK:
		rsoft_qp_count(qp, RSOFT_CNT_ACK_RCVD);
		if (!comp_acked(qp, pkt->psn))
			comp_early(qp, run, pkt);
		break;
	case RSOFT_SYN_RNR:
		if (pkt->psn == last_acked)
			break;
		if (comp_acked(qp, rsoft_psn_add(pkt->psn, RSOFT_PSN_MASK)))
			rsoft_retry_rnr(qp, pkt->psn,
					pkt->syn & RSOFT_SYN_VALUE_MASK);
		else
			comp_refused(qp, pkt->psn);
		break;
	case RSOFT_SYN_NAK:
		if (pkt->psn != last_acked)
			comp_nak(qp, pkt);
		break;
	default:
		rsoft_qp_drop(qp, RSOFT_DROP_GHOST);
	}
}

/* The READ or atomic whose response comes next. */
static struct rsoft_swqe *comp_waiting(struct rsoft_qp *qp)
{
	struct rsoft_sq *sq = &qp->sq;
	struct rsoft_swqe *wqe;
	u32 idx;

	for (idx = sq->tail; idx != rsoft_sq_head(qp); idx++) {
		wqe = rsoft_sq_at(sq, idx);
		if (wqe->state == RSOFT_SWQE_POSTED)
			return NULL;
		if (rsoft_swqe_has_response(wqe) &&
		    wqe->state != RSOFT_SWQE_DONE)
			return wqe;
	}
	return NULL;
}

/*
 * Is this the response that is due? A late one is ignored; one behind a gap
 * means that those before it were lost, or are late.
 */
static struct rsoft_swqe *comp_expected(struct rsoft_qp *qp,
					struct comp_run *run,
					const struct rsoft_pkt *pkt)
{
	struct rsoft_early *early = &qp->send.early;
	struct rsoft_swqe *wqe = comp_waiting(qp);

	if (!wqe || rsoft_psn_diff(pkt->psn, wqe->resp_psn) < 0 ||
	    rsoft_psn_diff(pkt->psn, qp->req.psn_max) >= 0) {
		rsoft_qp_drop(qp, RSOFT_DROP_GHOST);
		rsoft_early_twice(qp, early, pkt->psn);
		return NULL;
	}
	if (pkt->psn != wqe->resp_psn) {
		comp_acked(qp, rsoft_psn_add(wqe->first_psn, RSOFT_PSN_MASK));
		comp_early(qp, run, pkt);
		return NULL;
	}
	if (unlikely(early->open_ns))
		rsoft_early_closed(qp, early, qp->req.nak_seen);
	/* a response acknowledges all requests before its own */
	comp_acked(qp, rsoft_psn_add(wqe->first_psn, RSOFT_PSN_MASK));
	return wqe;
}

/* The response to a WQE is complete. */
static void comp_done(struct rsoft_qp *qp, struct rsoft_swqe *wqe)
{
	wqe->state = RSOFT_SWQE_DONE;
	qp->req.rd_active--;
	rsoft_req_settle(qp);
}

/* Where the response to @wqe goes, from @off on. */
static void comp_cursor(struct rsoft_qp *qp, struct comp_run *run,
			struct rsoft_swqe *wqe, u64 off)
{
	if (run->wqe != wqe) {
		rsoft_cursor_release(&run->c);
		rsoft_cursor_init(&run->c, qp, wqe->sge, wqe->num_sge,
				  RSOFT_ACC_LOCAL_WRITE);
		run->wqe = wqe;
	}
	rsoft_cursor_seek(&run->c, off);
}

/* The memory of a READ or atomic cannot be written. */
static void comp_not_placed(struct rsoft_qp *qp, struct rsoft_swqe *wqe,
			    enum rsoft_access why)
{
	wqe->vendor_err = why;
	rsoft_req_fail(qp, wqe, IB_WC_LOC_PROT_ERR);
}

static bool comp_place(struct rsoft_qp *qp, struct comp_run *run,
		       struct rsoft_swqe *wqe, const struct rsoft_rx *rx,
		       u32 from, u64 off, u32 len)
{
	enum rsoft_access why;
	u32 n;
	void *to;

	comp_cursor(qp, run, wqe, off);
	while (len) {
		to = rsoft_cursor_next(&run->c, len, &n, &why);
		if (!to) {
			comp_not_placed(qp, wqe, why);
			return false;
		}
		if (rsoft_rx_copy(rx, from, to, n)) {
			rsoft_req_fail(qp, wqe, IB_WC_BAD_RESP_ERR);
			return false;
		}
		from += n;
		len -= n;
	}
	return true;
}

/*
 * The response to a READ starts where it was asked for, last time: there or at
 * the READ's own start a packet may be FIRST or ONLY, and must be at its own.
 */
static bool comp_starts_right(const struct rsoft_swqe *wqe,
			      const struct rsoft_pkt *pkt)
{
	if (pkt->info->flags & RSOFT_PKT_START)
		return pkt->psn == wqe->asked_psn ||
		       pkt->psn == wqe->first_psn;
	return pkt->psn != wqe->first_psn;
}

/*
 * The response goes on: packets that are like the last one, at the PSN expected,
 * are the next piece of the same READ. What is not as expected in any way is left
 * as it is and goes the long way.
 */
static void comp_middle(struct rsoft_qp *qp, struct comp_run *run,
			const struct rsoft_pkt *pkt, struct rsoft_rx *rx)
{
	struct rsoft_swqe *wqe = run->wqe;
	u32 psn = wqe->resp_psn;
	u32 len = pkt->payload_len;
	const u8 *data;

	while (rsoft_psn_diff(wqe->last_psn, psn) > 0) {
		data = rsoft_rx_alike(rx, pkt, psn);
		if (!data ||
		    rsoft_cursor_put(&run->c, data, len) != RSOFT_ACCESS_OK)
			break;
		rsoft_rx_take(rx);
		psn = rsoft_psn_add(psn, 1);
	}
	rsoft_rx_settle(rx);
	if (psn == wqe->resp_psn)
		return;
	wqe->resp_psn = psn;
	comp_set_una(qp, psn);
}

/* Is a READ response of this length what the WQE waits for at this place? */
static bool comp_read_fits(const struct rsoft_qp *qp,
			   const struct rsoft_swqe *wqe, u32 idx, u32 len)
{
	switch (wqe->kind) {
	case RSOFT_KIND_READ:
		return len == rsoft_pkt_len(wqe->len, idx, qp->mtu_shift);
	case RSOFT_KIND_ATOMIC_WRITE:
	case RSOFT_KIND_FLUSH:
		/* answered by a response without payload (IBTA A19) */
		return !len;
	default:
		return false;
	}
}

static void comp_read(struct rsoft_qp *qp, struct comp_run *run,
		      const struct rsoft_pkt *pkt, struct rsoft_rx *rx,
		      u32 payload)
{
	struct rsoft_swqe *wqe = comp_expected(qp, run, pkt);
	bool end = pkt->info->flags & RSOFT_PKT_END;
	bool is_last;
	u32 idx;

	if (!wqe)
		return;
	is_last = pkt->psn == wqe->last_psn;
	idx = rsoft_psn_diff(pkt->psn, wqe->first_psn);
	if (end != is_last || !comp_starts_right(wqe, pkt) ||
	    !comp_read_fits(qp, wqe, idx, pkt->payload_len)) {
		/* never more than was asked for, never another length */
		rsoft_req_fail(qp, wqe, IB_WC_BAD_RESP_ERR);
		return;
	}
	if (!comp_place(qp, run, wqe, rx, payload, (u64)idx << qp->mtu_shift,
			pkt->payload_len))
		return;
	wqe->resp_psn = rsoft_psn_add(pkt->psn, 1);
	comp_set_una(qp, wqe->resp_psn);
	if (end)
		comp_done(qp, wqe);
	else if (!(pkt->info->flags & RSOFT_PKT_START))
		comp_middle(qp, run, pkt, rx);
}

static void comp_atomic(struct rsoft_qp *qp, struct comp_run *run,
			const struct rsoft_pkt *pkt)
{
	struct rsoft_swqe *wqe = comp_expected(qp, run, pkt);
	enum rsoft_access why;
	u64 orig = pkt->orig;

	if (!wqe)
		return;
	if (wqe->kind != RSOFT_KIND_ATOMIC) {
		rsoft_req_fail(qp, wqe, IB_WC_BAD_RESP_ERR);
		return;
	}
	comp_cursor(qp, run, wqe, 0);
	why = rsoft_cursor_put(&run->c, &orig, sizeof(orig));
	if (why != RSOFT_ACCESS_OK) {
		comp_not_placed(qp, wqe, why);
		return;
	}
	wqe->resp_psn = rsoft_psn_add(pkt->psn, 1);
	comp_set_una(qp, wqe->resp_psn);
	comp_done(qp, wqe);
}

static void comp_packet(struct rsoft_qp *qp, struct comp_run *run,
			const struct rsoft_pkt *pkt, u32 payload)
{
	if (qp->ibqp.qp_type != IB_QPT_RC ||
	    (pkt->opcode & RSOFT_TRANSPORT_MASK) != RSOFT_RC) {
		rsoft_qp_drop(qp, RSOFT_DROP_QP_TYPE);
		return;
	}
	if (!(rsoft_qp_caps(qp) & RSOFT_CAN_COMPLETE)) {
		rsoft_qp_drop(qp, RSOFT_DROP_QP_STATE);
		return;
	}
	qp->req.heard = true;
	switch (pkt->info->kind) {
	case RSOFT_KIND_ACK:
		comp_ack(qp, run, pkt);
		break;
	case RSOFT_KIND_READ_RESP:
		comp_read(qp, run, pkt, run->rx, payload);
		break;
	case RSOFT_KIND_ATOMIC_ACK:
		comp_atomic(qp, run, pkt);
		break;
	default:
		rsoft_qp_drop(qp, RSOFT_DROP_OPCODE);
	}
}

/* Take the next packet of the run in hand; each run has a @pkt of its own. */
static void comp_next(struct rsoft_qp *qp, struct comp_run *run,
		      struct rsoft_pkt *pkt)
{
	struct rsoft_rx *rx = run->rx;
	enum rsoft_drop why;
	u32 before = rx->len;
	u32 payload;

	why = rsoft_rx_next(rx, pkt, &payload);
	run->wire = before - rx->len;
	if (why == RSOFT_DROP_NONE)
		comp_packet(qp, run, pkt, payload);
	else
		rsoft_qp_drop(qp, why);
}

/* Is what is kept first not behind a missing response any more? */
static bool comp_is_due(struct rsoft_qp *qp)
{
	const struct rsoft_early *early = &qp->send.early;
	const struct rsoft_swqe *wqe;
	bool ack;
	u32 psn;

	if (!rsoft_early_any(early))
		return false;
	psn = rsoft_early_first(early, &ack);
	wqe = comp_waiting(qp);
	if (!wqe)
		return true;
	return ack ? rsoft_psn_diff(psn, wqe->first_psn) < 0 :
		     rsoft_psn_diff(psn, wqe->resp_psn) <= 0;
}

/* Process what came early and is due now, before anything else. */
static void comp_due(struct rsoft_qp *qp, struct comp_run *run)
{
	struct rsoft_early *early = &qp->send.early;
	struct rsoft_rx *rx = run->rx;
	struct rsoft_rx part;
	struct rsoft_pkt pkt;
	struct sk_buff *skb;

	while (comp_is_due(qp)) {
		skb = rsoft_early_take(early, &part);
		run->rx = &part;
		while (part.len)
			comp_next(qp, run, &pkt);
		rsoft_early_keep(qp, early, &run->early, &part);
		consume_skb(skb);
	}
	run->rx = rx;
	if (!early->open_ns)
		rsoft_early_reopen(early);
}

void rsoft_comp_rx(struct rsoft_qp *qp, struct rsoft_rx *rx)
{
	struct rsoft_early *early = &qp->send.early;
	struct comp_run run = { .rx = rx };
	struct rsoft_pkt pkt;

	while (rx->len) {
		comp_next(qp, &run, &pkt);
		if (unlikely(rsoft_early_any(early) && !early->open_ns))
			comp_due(qp, &run);
	}
	rsoft_early_keep(qp, early, &run.early, rx);
	rsoft_cursor_release(&run.c);
	rsoft_retry_now(qp);
	rsoft_comp_gap(qp);
}
