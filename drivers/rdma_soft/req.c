// SPDX-License-Identifier: GPL-2.0
/*
 * Requester: takes WQEs in order, decides what the next packet is, and sends.
 *
 * Progress is two numbers: sq.next, the WQE being sent, and req.psn, the PSN of
 * the next packet; where a packet lies in its message follows from its PSN. To
 * send again is to set both back (retry.c). A WQE leaves when the completer
 * says so (RC) or when its last packet was taken by the stack (UC, UD).
 */
#include "build.h"
#include "inject.h"
#include "local.h"
#include "req.h"
#include "stack.h"
#include "timer.h"
#include "trace.h"

/* Bytes without an acknowledgment that a QP may have under way. */
#define REQ_WINDOW_BYTES	(512 * 1024)
/* Messages or payload bytes after which an ACK is asked for. */
#define REQ_ACK_PKTS		16
#define REQ_ACK_BYTES		(64 * 1024)
/* Path MTU from which on payload may be sent by reference. */
#define REQ_REF_MTU		2048

/* The same while a loss is repaired: about what a peer like us keeps. */
#define REQ_AHEAD_BYTES		(192 * 1024)

/* Packets under way at most: less than half of the PSNs (IBTA 9.7.2). */
#define REQ_PSN_MAX		0x7fffff

enum req_step {
	STEP_SENT,	/* a packet was added */
	STEP_IDLE,	/* nothing can be sent now */
	STEP_WAIT,	/* the stack must take bytes first */
};

void rsoft_req_init(struct rsoft_qp *qp, u32 psn)
{
	struct rsoft_req *req = &qp->req;

	req->psn = psn;
	req->psn_max = psn;
	req->una = psn;
	req->win_base = psn;
	req->rd_active = 0;
	req->rnr_wait = false;
	req->tx_wait = false;
	req->tx_refused = 0;
	req->nak_seen = false;
	req->extended = 0;
	req->heard = false;
	req->ack_pkts = 0;
	req->ack_bytes = 0;
	req->hole = RSOFT_HOLE_NONE;
	req->hole_n = 1;
	req->keeps = RSOFT_KEEPS_UNKNOWN;
	req->keeps_naks = 0;
	req->later = RSOFT_LATER_NONE;
	req->probes = 0;
	req->rtt_skip = 0;
	req->rtt_ns = 0;
	req->rtt = (struct rsoft_rtt){};
	req->deadline = 0;
	req->drained = false;
	req->retry_left = qp->retry_cnt;
	req->rnr_left = qp->rnr_retry;
	rsoft_hold_init(qp);
}

u32 rsoft_sq_head(const struct rsoft_qp *qp)
{
	/* pairs with the store-release of a kernel consumer's post */
	return qp->user ? qp->sq.head : smp_load_acquire(&qp->sq.head);
}

struct rsoft_swqe *rsoft_sq_fetch(struct rsoft_qp *qp, u32 idx)
{
	struct rsoft_sq *sq = &qp->sq;
	const void *src;

	if (idx != rsoft_sq_head(qp))
		return rsoft_sq_at(sq, idx);
	if (!qp->user || idx - sq->tail > sq->mask)
		return NULL;
	src = rsoft_ring_peek(&sq->ring, idx);
	if (!src)
		return NULL;
	rsoft_swqe_decode(qp, src, rsoft_sq_at(sq, idx));
	sq->head = idx + 1;
	return rsoft_sq_at(sq, idx);
}

/* The completion of a WQE; false if none is wanted. */
static bool req_wc(struct rsoft_qp *qp, const struct rsoft_swqe *wqe,
		   struct ib_wc *wc)
{
	static const u8 wc_opcode[] = {
		[RSOFT_KIND_SEND] = IB_WC_SEND,
		[RSOFT_KIND_WRITE] = IB_WC_RDMA_WRITE,
		[RSOFT_KIND_READ] = IB_WC_RDMA_READ,
		[RSOFT_KIND_ATOMIC_WRITE] = IB_WC_ATOMIC_WRITE,
		[RSOFT_KIND_FLUSH] = IB_WC_FLUSH,
	};

	if (wqe->status == IB_WC_SUCCESS && !qp->sq.sig_all &&
	    !(wqe->flags & IB_SEND_SIGNALED))
		return false;
	*wc = (struct ib_wc){
		.wr_id = wqe->wr_id,
		.status = wqe->status,
		.vendor_err = wqe->vendor_err,
		.qp = &qp->ibqp,
		.port_num = 1,
	};
	if (rsoft_swqe_is_local(wqe))
		wc->opcode = rsoft_local_wc(wqe);
	else if (wqe->kind == RSOFT_KIND_ATOMIC)
		wc->opcode = wqe->opcode == IB_WR_ATOMIC_CMP_AND_SWP ?
			     IB_WC_COMP_SWAP : IB_WC_FETCH_ADD;
	else if (wqe->kind < ARRAY_SIZE(wc_opcode))
		wc->opcode = wc_opcode[wqe->kind];
	if (wqe->kind == RSOFT_KIND_READ)
		wc->byte_len = wqe->len;
	if (wqe->kind == RSOFT_KIND_ATOMIC)
		wc->byte_len = sizeof(u64);
	return true;
}

void rsoft_req_retire(struct rsoft_qp *qp)
{
	struct rsoft_sq *sq = &qp->sq;
	struct rsoft_swqe *wqe = rsoft_sq_at(sq, sq->tail);
	bool failed = wqe->status != IB_WC_SUCCESS;
	struct ib_wc wc;
	bool report;

	report = req_wc(qp, wqe, &wc);
	qp->req.hold.told = report;
	if (sq->next == sq->tail)
		sq->next++;
	rsoft_swqe_release(wqe);
	/* the slot is free before the consumer can see the completion */
	if (qp->user)
		rsoft_ring_consume(&sq->ring, sq->tail + 1);
	/* pairs with the load-acquire in a kernel consumer's post */
	smp_store_release(&sq->tail, sq->tail + 1);
	if (report)
		rsoft_cq_post(to_rcq(qp->ibqp.send_cq), &wc, failed);
}

void rsoft_req_fail(struct rsoft_qp *qp, struct rsoft_swqe *wqe,
		    enum ib_wc_status status)
{
	if (wqe->status == IB_WC_SUCCESS)
		wqe->status = status;
	wqe->state = RSOFT_SWQE_DONE;
	rsoft_req_settle(qp);
}

/* A send error ends RC in ERR, UC and datagrams in SQE (IBTA 10.3.1.7). */
static void req_error(struct rsoft_qp *qp)
{
	unsigned long flags;

	if (qp->ibqp.qp_type == IB_QPT_RC) {
		rsoft_qp_error(qp);
		return;
	}
	spin_lock_irqsave(&qp->state_lock, flags);
	if (qp->state == RSOFT_QPS_RTS)
		rsoft_qp_set_state(qp, RSOFT_QPS_SQE);
	spin_unlock_irqrestore(&qp->state_lock, flags);
	rsoft_engine_post(&qp->send, RSOFT_EV_ERROR);
}

void rsoft_req_settle(struct rsoft_qp *qp)
{
	struct rsoft_sq *sq = &qp->sq;
	struct rsoft_swqe *wqe;
	bool failed;

	while (sq->tail != rsoft_sq_head(qp)) {
		wqe = rsoft_sq_at(sq, sq->tail);
		if (wqe->state != RSOFT_SWQE_DONE)
			return;
		failed = wqe->status != IB_WC_SUCCESS;
		/*
		 * Whoever sees the completion finds the QP in its new state.
		 * The rest is flushed by the event that this raises.
		 */
		if (failed)
			req_error(qp);
		rsoft_req_retire(qp);
		if (failed)
			return;
	}
}

bool rsoft_req_flush(struct rsoft_qp *qp)
{
	struct rsoft_sq *sq = &qp->sq;
	struct rsoft_swqe *wqe;
	u32 left = sq->mask + 1;

	hrtimer_try_to_cancel(&qp->req.ack_timer);
	hrtimer_try_to_cancel(&qp->req.rnr_timer);
	qp->req.deadline = 0;
	rsoft_hold_end(qp);
	rsoft_early_drop(qp, &qp->send.early);
	/* bounded: user space may post all the time */
	while (left-- && (wqe = rsoft_sq_fetch(qp, sq->tail))) {
		if (wqe->state != RSOFT_SWQE_DONE ||
		    wqe->status == IB_WC_SUCCESS)
			wqe->status = IB_WC_WR_FLUSH_ERR;
		rsoft_req_retire(qp);
	}
	sq->next = sq->tail;
	qp->req.rd_active = 0;
	return wqe;
}

void rsoft_req_seek(struct rsoft_qp *qp, u32 psn)
{
	struct rsoft_req *req = &qp->req;
	struct rsoft_sq *sq = &qp->sq;
	struct rsoft_swqe *wqe;
	u32 idx;

	for (idx = sq->tail; idx != rsoft_sq_head(qp); idx++) {
		wqe = rsoft_sq_at(sq, idx);
		/* nothing behind a WQE that failed is ever sent */
		if (wqe->state == RSOFT_SWQE_POSTED ||
		    (wqe->state == RSOFT_SWQE_DONE &&
		     wqe->status != IB_WC_SUCCESS))
			break;
		if (wqe->state != RSOFT_SWQE_DONE &&
		    rsoft_psn_diff(psn, wqe->last_psn) <= 0)
			break;
	}
	sq->next = idx;
	req->psn = psn;
	req->ack_pkts = 0;
	req->ack_bytes = 0;
}

void rsoft_req_rewind(struct rsoft_qp *qp, u32 psn)
{
	rsoft_req_seek(qp, psn);
	qp->req.win_base = psn;
	qp->req.hole = RSOFT_HOLE_NONE;
	qp->req.later = RSOFT_LATER_NONE;
	/* an answer could be to either of two packets then */
	qp->req.rtt_ns = 0;
}

/* PSNs that a WQE takes up. */
static u32 req_npkts(const struct rsoft_qp *qp, const struct rsoft_swqe *wqe)
{
	if (rsoft_swqe_has_response(wqe) && wqe->kind != RSOFT_KIND_READ)
		return 1;
	return rsoft_npkts(wqe->len, qp->mtu_shift);
}

/* PSNs for a WQE that is sent for the first time. */
static void req_begin(struct rsoft_qp *qp, struct rsoft_swqe *wqe)
{
	struct rsoft_req *req = &qp->req;
	u32 n = req_npkts(qp, wqe);

	wqe->first_psn = req->psn;
	wqe->last_psn = rsoft_psn_add(req->psn, n - 1);
	wqe->resp_psn = wqe->first_psn;
	wqe->state = RSOFT_SWQE_SENDING;
	if (rsoft_swqe_has_response(wqe))
		req->rd_active++;
}

/* May this WQE start now? */
static bool req_may_begin(struct rsoft_qp *qp, const struct rsoft_swqe *wqe)
{
	const struct rsoft_req *req = &qp->req;

	if (!(rsoft_qp_caps(qp) & RSOFT_CAN_SEND))
		return false;
	if ((wqe->flags & IB_SEND_FENCE) && req->rd_active)
		return false;
	if (!rsoft_swqe_has_response(wqe))
		return true;
	/* PSNs from the oldest on must stay comparable */
	return req->rd_active < req->max_rd &&
	       rsoft_psn_add(req->psn, -req->una) + req_npkts(qp, wqe) <=
	       REQ_PSN_MAX;
}

static u32 req_window(const struct rsoft_qp *qp)
{
	return max(REQ_WINDOW_BYTES >> qp->mtu_shift, 16);
}

/* The next WQE that sends something, at once; NULL if there is none. */
static struct rsoft_swqe *req_follower(struct rsoft_qp *qp, u32 idx)
{
	struct rsoft_swqe *next;

	for (;; idx++) {
		next = rsoft_sq_fetch(qp, idx);
		if (!next || next->status != IB_WC_SUCCESS)
			return NULL;
		if (likely(!rsoft_swqe_is_local(next)))
			return next;
		if (next->state != RSOFT_SWQE_DONE &&
		    !rsoft_local_may_begin(qp, next, idx))
			return NULL;
	}
}

/*
 * Is this the last packet for now, so that nothing later will ask for an ACK?
 * A message that follows at once does.
 */
static bool req_ends_burst(struct rsoft_qp *qp, const struct rsoft_swqe *wqe,
			   bool last)
{
	const struct rsoft_req *req = &qp->req;
	u32 next_psn = rsoft_psn_add(req->psn, 1);
	const struct rsoft_swqe *next;

	if (req->hole == RSOFT_HOLE_FILL &&
	    (req->hole_left == 1 || next_psn == req->psn_max))
		return true;
	if (rsoft_psn_diff(next_psn, req->win_base) >= (s32)req_window(qp))
		return true;
	if (!last)
		return false;
	next = req_follower(qp, qp->sq.next + 1);
	if (!next)
		return true;
	if (next->state == RSOFT_SWQE_DONE)
		return true;
	return next->state == RSOFT_SWQE_POSTED && !req_may_begin(qp, next);
}

static bool req_wants_ack(struct rsoft_qp *qp, const struct rsoft_swqe *wqe,
			  u32 len, bool last)
{
	struct rsoft_req *req = &qp->req;

	req->ack_pkts += last;
	req->ack_bytes += len;
	if (req->ack_pkts < REQ_ACK_PKTS && req->ack_bytes < REQ_ACK_BYTES &&
	    !req_ends_burst(qp, wqe, last))
		return false;
	req->ack_pkts = 0;
	req->ack_bytes = 0;
	return true;
}

/* One packet of a SEND or WRITE. */
static void req_segment(struct rsoft_qp *qp, const struct rsoft_swqe *wqe,
			struct rsoft_pkt *pkt, u64 *off, u32 *len)
{
	u32 idx = rsoft_psn_diff(qp->req.psn, wqe->first_psn);
	bool last = qp->req.psn == wqe->last_psn;

	*off = (u64)idx << qp->mtu_shift;
	*len = rsoft_pkt_len(wqe->len, idx, qp->mtu_shift);
	pkt->opcode = rsoft_seg_opcode(wqe->kind, wqe->tail, !idx, last);
	pkt->va = wqe->raddr;
	pkt->rkey = wqe->rkey;
	pkt->dma_len = wqe->len;
	pkt->imm = wqe->imm;
	pkt->inv_rkey = wqe->inv_rkey;
	pkt->solicited = last && (wqe->flags & IB_SEND_SOLICITED);
	if (qp->ibqp.qp_type == IB_QPT_RC)
		pkt->ackreq = req_wants_ack(qp, wqe, *len, last);
}

/* A READ request for what has not arrived yet, or what else is answered. */
static void req_fetching(struct rsoft_qp *qp, const struct rsoft_swqe *wqe,
			 struct rsoft_pkt *pkt, u32 *len)
{
	u64 done = (u64)(u32)rsoft_psn_diff(qp->req.psn, wqe->first_psn)
		   << qp->mtu_shift;

	pkt->va = wqe->raddr;
	pkt->rkey = wqe->rkey;
	pkt->dma_len = wqe->len;
	switch (wqe->kind) {
	case RSOFT_KIND_READ:
		pkt->opcode = RSOFT_OP_READ_REQ;
		pkt->va += done;
		pkt->dma_len -= done;
		return;
	case RSOFT_KIND_ATOMIC_WRITE:
		pkt->opcode = RSOFT_OP_ATOMIC_WRITE;
		*len = wqe->len;
		return;
	case RSOFT_KIND_FLUSH:
		pkt->opcode = RSOFT_OP_FLUSH;
		pkt->feth = wqe->feth;
		return;
	default:
		break;
	}
	pkt->opcode = wqe->opcode == IB_WR_ATOMIC_CMP_AND_SWP ?
		      RSOFT_OP_COMPARE_SWAP : RSOFT_OP_FETCH_ADD;
	pkt->swap_add = wqe->swap_add;
	pkt->compare = wqe->compare;
}

static u8 req_transport(const struct rsoft_qp *qp)
{
	switch (qp->ibqp.qp_type) {
	case IB_QPT_RC:
		return RSOFT_RC;
	case IB_QPT_UC:
		return RSOFT_UC;
	default:
		return RSOFT_UD;
	}
}

/*
 * Header fields of the next packet, those that are not zero; *len is its payload
 * at offset *off.
 */
static void req_packet(struct rsoft_qp *qp, const struct rsoft_swqe *wqe,
		       struct rsoft_pkt *pkt, u64 *off, u32 *len)
{
	pkt->mig = true;
	pkt->pkey = RSOFT_PKEY_DEFAULT;
	pkt->qpn = qp->remote_qpn;
	pkt->psn = qp->req.psn;
	*off = 0;
	*len = 0;
	if (rsoft_swqe_has_response(wqe)) {
		req_fetching(qp, wqe, pkt, len);
		/* nothing else makes up for a lost one */
		pkt->ackreq = true;
	} else {
		req_segment(qp, wqe, pkt, off, len);
	}
	if (rsoft_qp_is_dgram(qp)) {
		pkt->qpn = wqe->remote_qpn;
		pkt->qkey = wqe->remote_qkey;
		pkt->sqpn = qp->qpn;
	}
	pkt->opcode |= req_transport(qp);
	pkt->info = rsoft_opinfo(pkt->opcode);
}

/**
 * struct req_run - one run of the requester
 * @tx: skb under construction
 * @c: payload of the WQE being sent
 * @wqe: WQE that @c belongs to
 * @start_next: sq.next at the first packet of @tx
 * @start_psn: req.psn at the first packet of @tx
 * @start_left: req.hole_left at the first packet of @tx
 * @asks: a packet in @tx asks for an ACK
 * @ask_psn: PSN behind the last one that does
 */
struct req_run {
	struct rsoft_tx tx;
	struct rsoft_cursor c;
	const struct rsoft_swqe *wqe;
	u32 start_next;
	u32 start_psn;
	u32 start_left;
	bool asks;
	u32 ask_psn;
};

/* Slots may be reused: the cursor must not outlive its WQE. */
static void req_forget(struct req_run *run)
{
	rsoft_cursor_release(&run->c);
	run->wqe = NULL;
}

/* Measure the round trip of a new packet that asks for an ACK, now and then. */
static void req_measure(struct rsoft_qp *qp, struct req_run *run)
{
	struct rsoft_req *req = &qp->req;

	if (!run->asks)
		return;
	run->asks = false;
	if (req->rtt_ns || rsoft_psn_diff(run->ask_psn, req->psn_max) <= 0)
		return;
	if (req->rtt_skip) {
		req->rtt_skip--;
		return;
	}
	req->rtt_psn = run->ask_psn;
	req->rtt_ns = ktime_get_ns();
}

/* The stack took the packets of the batch: they count as sent. */
static void req_taken(struct rsoft_qp *qp, struct req_run *run)
{
	struct rsoft_req *req = &qp->req;
	struct rsoft_sq *sq = &qp->sq;

	req_measure(qp, run);
	if (rsoft_psn_diff(req->psn, req->psn_max) > 0)
		req->psn_max = req->psn;
	if (qp->ibqp.qp_type == IB_QPT_RC) {
		rsoft_timer_sent(qp);
		return;
	}
	/* nobody answers: what is sent is complete */
	req_forget(run);
	while (sq->tail != sq->next)
		rsoft_req_retire(qp);
	req->una = req->psn;
	req->win_base = req->psn;
}

/* Hand over the batch. Returns false if the stack refused it. */
static bool req_flush_batch(struct rsoft_qp *qp, struct req_run *run)
{
	if (!run->tx.skb) {
		rsoft_tx_settle(&run->tx);
		return true;
	}
	if (!rsoft_tx_flush(&run->tx, &qp->req.tx_refused)) {
		req_taken(qp, run);
		return true;
	}
	req_forget(run);
	qp->sq.next = run->start_next;
	qp->req.psn = run->start_psn;
	qp->req.hole_left = run->start_left;
	run->asks = false;
	qp->req.ack_pkts = 0;
	qp->req.ack_bytes = 0;
	return false;
}

static struct rsoft_path *req_path(struct rsoft_qp *qp,
				   const struct rsoft_swqe *wqe)
{
	if (wqe->path)
		return wqe->path;
	/* replaced only while the engine is paused */
	return rcu_dereference_protected(qp->path, 1);
}

static void req_cursor(struct rsoft_qp *qp, struct req_run *run,
		       const struct rsoft_swqe *wqe, u64 off)
{
	if (run->wqe != wqe) {
		rsoft_cursor_release(&run->c);
		if (wqe->inline_data)
			rsoft_cursor_flat(&run->c, wqe->data);
		else
			rsoft_cursor_init(&run->c, qp, wqe->sge,
					  wqe->num_sge, 0);
		run->wqe = wqe;
	}
	rsoft_cursor_seek(&run->c, off);
}

/* The packet is in the batch: move on. */
static void req_advance(struct rsoft_qp *qp, struct rsoft_swqe *wqe)
{
	struct rsoft_req *req = &qp->req;

	if (rsoft_psn_diff(req->psn, req->psn_max) < 0) {
		rsoft_qp_count(qp, RSOFT_CNT_RETRANSMITS);
		trace_rsoft_retransmit(qp, req->psn);
	}
	if (req->hole == RSOFT_HOLE_FILL)
		req->hole_left--;
	if (rsoft_swqe_has_response(wqe)) {
		wqe->asked_psn = req->psn;
		req->psn = rsoft_psn_add(wqe->last_psn, 1);
		req->win_base = req->psn;
	} else {
		req->psn = rsoft_psn_add(req->psn, 1);
		if (req->psn != rsoft_psn_add(wqe->last_psn, 1))
			return;
	}
	wqe->state = RSOFT_SWQE_SENT;
	qp->sq.next++;
}

/* A fault on purpose: the WQE ends in error before this packet is built. */
static noinline bool req_inject(struct rsoft_qp *qp, struct rsoft_swqe *wqe,
				const struct rsoft_pkt *pkt)
{
	enum ib_wc_status status;

	if (!rsoft_inject_send(qp, pkt, &status))
		return false;
	wqe->status = status;
	return true;
}

static bool req_injected(struct rsoft_qp *qp, struct rsoft_swqe *wqe,
			 const struct rsoft_pkt *pkt)
{
	return rsoft_inject_steps() && req_inject(qp, wqe, pkt);
}

/* Make room in the batch for a packet; false if the stack must take bytes first. */
static bool req_room(struct rsoft_qp *qp, struct req_run *run,
		     const struct rsoft_path *path,
		     const struct rsoft_opinfo *info, u32 len)
{
	if (run->tx.skb && !rsoft_tx_fits(&run->tx, path, info, len)) {
		if (!req_flush_batch(qp, run))
			return false;
		if (rsoft_stack_full(qp)) {
			rsoft_qp_count(qp, RSOFT_CNT_TX_THROTTLED);
			return false;
		}
	}
	if (!run->tx.skb) {
		run->start_next = qp->sq.next;
		run->start_psn = qp->req.psn;
		run->start_left = qp->req.hole_left;
	}
	return true;
}

/* The payload of a packet could not be read, or there is no memory for it. */
static enum req_step req_not_built(struct rsoft_swqe *wqe, int err,
				   enum rsoft_access why)
{
	if (err == -EAGAIN)
		return STEP_WAIT;
	wqe->vendor_err = why;
	wqe->status = IB_WC_LOC_PROT_ERR;
	return STEP_SENT;
}

/*
 * Packets from the next one on that lie in the middle of a message and ask for
 * no ACK, so that they differ in nothing but their PSN.
 */
static u32 req_alike(const struct rsoft_qp *qp, const struct rsoft_swqe *wqe)
{
	const struct rsoft_req *req = &qp->req;
	s32 n;

	if ((wqe->kind != RSOFT_KIND_SEND && wqe->kind != RSOFT_KIND_WRITE) ||
	    req->psn == wqe->first_psn || rsoft_inject_steps())
		return 0;
	n = rsoft_psn_diff(wqe->last_psn, req->psn);
	if (qp->ibqp.qp_type != IB_QPT_RC)
		return n;
	/* the last one of a repair asks for an ACK */
	if (req->hole == RSOFT_HOLE_FILL)
		n = min3(n, (s32)req->hole_left - 1,
			 rsoft_psn_diff(req->psn_max, req->psn) - 1);
	/* the one that ends the window asks for an ACK, see req_wants_ack() */
	n = min(n, rsoft_psn_diff(req->win_base, req->psn) +
		   (s32)req_window(qp) - 1);
	return min(n, (s32)(REQ_ACK_BYTES - 1 - req->ack_bytes) >>
		      qp->mtu_shift);
}

/*
 * May payload be sent by reference? Only where a packet is about a page, and not
 * a second time: what a program wrote meanwhile costs one packet, never a hang.
 */
static bool req_by_ref(const struct rsoft_qp *qp)
{
	return READ_ONCE(qp->dev->by_ref) && qp->ibqp.qp_type == IB_QPT_RC &&
	       1u << qp->mtu_shift >= REQ_REF_MTU &&
	       rsoft_psn_diff(qp->req.psn, qp->req.psn_max) >= 0;
}

static enum req_step req_send_alike(struct rsoft_qp *qp, struct req_run *run,
				    struct rsoft_swqe *wqe, u32 n)
{
	struct rsoft_path *path = req_path(qp, wqe);
	struct rsoft_req *req = &qp->req;
	u32 len = 1u << qp->mtu_shift;
	enum rsoft_access why;
	s32 again;
	int got;
	struct rsoft_pkt pkt = {
		.mig = true,
		.pkey = RSOFT_PKEY_DEFAULT,
		.qpn = qp->remote_qpn,
		.psn = req->psn,
		.opcode = req_transport(qp) |
			  rsoft_seg_opcode(wqe->kind, wqe->tail, false, false),
	};

	pkt.info = rsoft_opinfo(pkt.opcode);
	if (!req_room(qp, run, path, pkt.info, len))
		return STEP_WAIT;
	req_cursor(qp, run, wqe,
		   (u64)rsoft_psn_diff(req->psn, wqe->first_psn)
		   << qp->mtu_shift);
	run->tx.by_ref = req_by_ref(qp);
	got = rsoft_tx_alike(&run->tx, path, &pkt, &run->c, len, n, &why);
	if (got < 0)
		return req_not_built(wqe, got, why);
	again = min(rsoft_psn_diff(req->psn_max, req->psn), got);
	if (again > 0)
		rsoft_qp_count_add(qp, RSOFT_CNT_RETRANSMITS, again);
	req->psn = rsoft_psn_add(req->psn, got);
	if (req->hole == RSOFT_HOLE_FILL)
		req->hole_left -= got;
	if (qp->ibqp.qp_type == IB_QPT_RC)
		req->ack_bytes += got << qp->mtu_shift;
	return STEP_SENT;
}

static enum req_step req_send_one(struct rsoft_qp *qp, struct req_run *run,
				  struct rsoft_swqe *wqe)
{
	struct rsoft_path *path = req_path(qp, wqe);
	struct rsoft_pkt pkt = {};
	enum rsoft_access why;
	u64 off;
	u32 len;
	int err;

	req_packet(qp, wqe, &pkt, &off, &len);
	if (req_injected(qp, wqe, &pkt))
		return STEP_SENT;
	if (!req_room(qp, run, path, pkt.info, len))
		return STEP_WAIT;
	if (len)
		req_cursor(qp, run, wqe, off);
	err = rsoft_tx_packet(&run->tx, path, &pkt, &run->c, len, &why);
	if (err)
		return req_not_built(wqe, err, why);
	if (pkt.ackreq) {
		run->asks = true;
		run->ask_psn = rsoft_psn_add(pkt.psn, 1);
	}
	req_advance(qp, wqe);
	return STEP_SENT;
}

/* Does the last WQE that was sent wait for a response of its own? */
static bool req_last_answers(struct rsoft_qp *qp)
{
	const struct rsoft_swqe *wqe;
	u32 idx = qp->sq.next;

	while (idx-- != qp->sq.tail) {
		wqe = rsoft_sq_at(&qp->sq, idx);
		if (!rsoft_swqe_is_local(wqe))
			return rsoft_swqe_has_response(wqe);
	}
	return false;
}

/*
 * The WQE at sq.next cannot be executed. It ends the queue once all before it
 * are complete; if those wait for an ACK that nobody asked for, ask now.
 */
static enum req_step req_refuse(struct rsoft_qp *qp, struct req_run *run,
				struct rsoft_swqe *wqe)
{
	struct rsoft_req *req = &qp->req;
	bool first = wqe->state != RSOFT_SWQE_DONE;
	bool waits;
	u32 from;

	if (!req_flush_batch(qp, run))
		return STEP_WAIT;
	from = wqe->state == RSOFT_SWQE_POSTED ? req->psn : wqe->first_psn;
	waits = qp->ibqp.qp_type == IB_QPT_RC && qp->sq.tail != qp->sq.next &&
		req->una != req->psn_max && !req_last_answers(qp);
	req_forget(run);
	rsoft_req_fail(qp, wqe, wqe->status);
	if (first && waits) {
		rsoft_req_rewind(qp, rsoft_psn_add(from, RSOFT_PSN_MASK));
		return STEP_SENT;
	}
	return STEP_IDLE;
}

/*
 * The local operation at sq.next. It counts as 512 bytes of work, as a packet
 * does beside its payload.
 */
static enum req_step req_local(struct rsoft_qp *qp, struct req_run *run,
			       struct rsoft_swqe *wqe)
{
	/* UC: what was handed over is complete */
	if (wqe->opcode == IB_WR_LOCAL_INV && !req_flush_batch(qp, run))
		return STEP_WAIT;
	if (!(rsoft_qp_caps(qp) & RSOFT_CAN_SEND) ||
	    !rsoft_local_may_begin(qp, wqe, qp->sq.next))
		return STEP_IDLE;
	req_forget(run);
	rsoft_local_execute(qp, wqe);
	run->tx.bytes += 512;
	/* one that failed is refused in the next step */
	if (wqe->state != RSOFT_SWQE_DONE)
		return STEP_SENT;
	qp->sq.next++;
	rsoft_req_settle(qp);
	return STEP_SENT;
}

/* A loss is being repaired: may packets be sent, and which? */
static enum req_step req_hole(struct rsoft_qp *qp, struct req_run *run)
{
	struct rsoft_req *req = &qp->req;

	if (req->hole == RSOFT_HOLE_FILL) {
		if (req->hole_left && rsoft_psn_diff(req->psn, req->psn_max) < 0)
			return STEP_SENT;
		if (!req_flush_batch(qp, run))
			return STEP_WAIT;
		rsoft_retry_filled(qp);
	}
	if (req->hole == RSOFT_HOLE_PARK ||
	    rsoft_psn_diff(req->psn, req->una) >=
	    REQ_AHEAD_BYTES >> qp->mtu_shift)
		return STEP_IDLE;
	return STEP_SENT;
}

static enum req_step req_step(struct rsoft_qp *qp, struct req_run *run)
{
	struct rsoft_req *req = &qp->req;
	struct rsoft_swqe *wqe;
	enum req_step step;
	u32 n;

	if (unlikely(req->hole)) {
		step = req_hole(qp, run);
		if (step != STEP_SENT)
			return step;
	}
	wqe = rsoft_sq_fetch(qp, qp->sq.next);
	if (!wqe)
		return STEP_IDLE;
	if (wqe->state == RSOFT_SWQE_POSTED &&
	    wqe->kind == RSOFT_KIND_READ && req_npkts(qp, wqe) > REQ_PSN_MAX)
		wqe->status = IB_WC_LOC_LEN_ERR;
	if (wqe->status != IB_WC_SUCCESS)
		return req_refuse(qp, run, wqe);
	if (unlikely(rsoft_swqe_is_local(wqe))) {
		if (wqe->state == RSOFT_SWQE_POSTED)
			return req_local(qp, run, wqe);
		/* executed before the requester went back */
		qp->sq.next++;
		return STEP_SENT;
	}
	if (wqe->state == RSOFT_SWQE_POSTED) {
		if (!req_may_begin(qp, wqe))
			return STEP_IDLE;
		req_begin(qp, wqe);
	}
	if (qp->ibqp.qp_type == IB_QPT_RC &&
	    rsoft_psn_diff(req->psn, req->win_base) >= (s32)req_window(qp))
		return STEP_IDLE;
	n = req_alike(qp, wqe);
	if (n > 1)
		return req_send_alike(qp, run, wqe, n);
	return req_send_one(qp, run, wqe);
}

/* Send what can be sent. Returns true if the budget ended it. */
static bool req_send(struct rsoft_qp *qp, u32 budget)
{
	struct req_run run = {};
	enum req_step step = STEP_SENT;

	rsoft_tx_init(&run.tx, qp, &qp->send);
	while (step == STEP_SENT && run.tx.bytes < budget)
		step = req_step(qp, &run);
	if (!req_flush_batch(qp, &run))
		step = STEP_WAIT;
	rsoft_cursor_release(&run.c);
	if (step == STEP_WAIT) {
		qp->req.tx_wait = true;
		rsoft_stack_wait(qp, &qp->send, &qp->req.tx_timer,
				 qp->req.tx_refused);
	}
	return step == STEP_SENT;
}

/* Is there a WQE that is not sent, in the queue or in the ring? */
static bool req_any(const struct rsoft_qp *qp)
{
	const struct rsoft_sq *sq = &qp->sq;
	u32 head = rsoft_sq_head(qp);

	return sq->next != head ||
	       (qp->user && rsoft_ring_peek(&sq->ring, head));
}

/* Send if nothing stands against it. Returns true if more could be sent. */
static bool req_go(struct rsoft_qp *qp, unsigned long events, u32 budget)
{
	struct rsoft_req *req = &qp->req;

	rsoft_stack_waits(qp, &req->tx_wait, &req->tx_timer, req->tx_refused);
	if (rsoft_hold(qp, events) || req->rnr_wait || req->tx_wait ||
	    !budget || !rsoft_engine_may_send(&qp->send))
		return false;
	return req_send(qp, budget);
}

static void req_check_drained(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;
	struct rsoft_sq *sq = &qp->sq;

	if (READ_ONCE(qp->state) != RSOFT_QPS_SQD || req->drained)
		return;
	/* the oldest was started, so it is not drained */
	if (sq->tail != rsoft_sq_head(qp) &&
	    rsoft_sq_at(sq, sq->tail)->state != RSOFT_SWQE_POSTED)
		return;
	req->drained = true;
	if (qp->attr.en_sqd_async_notify)
		rsoft_qp_event(qp, IB_EVENT_SQ_DRAINED);
}

static bool rsoft_req_run(struct rsoft_qp *qp, unsigned long events, u32 budget)
{
	struct rsoft_req *req = &qp->req;
	u32 caps = rsoft_qp_caps(qp);
	bool more = false;

	if (caps & RSOFT_FLUSH_SQ)
		return rsoft_req_flush(qp);
	if (!(caps & RSOFT_CAN_COMPLETE))
		return false;
	if (events & BIT(RSOFT_EV_ACK_TIMER))
		rsoft_retry_timeout(qp);
	if (events & BIT(RSOFT_EV_RNR_TIMER))
		req->rnr_wait = false;
	if (events & BIT(RSOFT_EV_GAP_TIMER))
		rsoft_comp_gap(qp);
	/* most of what comes back finds nothing left to send */
	if (req_any(qp))
		more = req_go(qp, events, budget);
	req_check_drained(qp);
	return more;
}

const struct rsoft_engine_ops rsoft_send_ops = {
	.rx = rsoft_comp_rx,
	.run = rsoft_req_run,
};
