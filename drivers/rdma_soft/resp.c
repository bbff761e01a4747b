// SPDX-License-Identifier: GPL-2.0
/*
 * Responder: executes requests in PSN order. A packet goes through PSN check,
 * sequence check, length check, resources (receive WQE), rights, and only then
 * changes memory; the first step that fails decides the answer (IBTA 9.7.4).
 */
#include "ack.h"
#include "build.h"
#include "cursor.h"
#include "inject.h"
#include "resp.h"
#include "stack.h"
#include "timer.h"

#define GRH_LEN 40

/**
 * struct resp_run - one run of requests
 * @rx: where they come from
 * @payload: offset of the payload of the packet in hand
 * @ip_id: IPv4 ID of the packet in hand
 * @wire_len: its bytes from BTH to iCRC
 * @c: memory of the message in progress
 * @c_valid: @c is set up for it
 * @middle: the packet in hand was executed and its message goes on
 * @write: the target of a WRITE as a piece of memory
 * @early: packets in a row that came early
 */
struct resp_run {
	struct rsoft_rx *rx;
	u32 payload;
	u16 ip_id;
	u32 wire_len;
	struct rsoft_cursor c;
	bool c_valid;
	bool middle;
	struct rsoft_sge write;
	struct rsoft_early_run early;
};

void rsoft_resp_init(struct rsoft_qp *qp, u32 psn)
{
	struct rsoft_resp *resp = &qp->resp;

	resp->epsn = psn;
	resp->msn = 0;
	resp->seq = RSOFT_SEQ_IDLE;
	resp->nak_sent = false;
	resp->rnr_sent = false;
	resp->ack_due = false;
	resp->comm_est = false;
	resp->rcvd = 0;
	resp->rdres_head = 0;
	resp->reading.active = false;
	resp->tx_wait = false;
	resp->tx_refused = 0;
	resp->flush_ns = RSOFT_LATE_RECV_MIN_NS;
	if (resp->rdres)
		memset(resp->rdres, 0,
		       (resp->rdres_mask + 1) * sizeof(*resp->rdres));
	qp->recv.blocked = false;
}

void rsoft_resp_fatal(struct rsoft_qp *qp, enum rsoft_nak code,
		      enum ib_event_type event)
{
	if (qp->ibqp.qp_type == IB_QPT_RC)
		rsoft_ack_nak(qp, code);
	rsoft_early_drop(qp, &qp->recv.early);
	rsoft_qp_error(qp);
	if (event)
		rsoft_qp_event(qp, event);
}

/* Take a receive WQE if the message in progress has none yet. */
static bool resp_fetch(struct rsoft_qp *qp)
{
	struct rsoft_resp *resp = &qp->resp;
	const void *src;

	if (resp->have_rwqe)
		return true;
	if (qp->ibqp.srq) {
		resp->have_rwqe = rsoft_srq_fetch(to_rsrq(qp->ibqp.srq),
						  &resp->rwqe);
		return resp->have_rwqe;
	}
	src = rsoft_ring_peek(&qp->rq.ring, qp->rq.ring.cons);
	if (!src)
		return false;
	rsoft_rwqe_decode(src, qp->rq.max_sge, &resp->rwqe);
	rsoft_ring_consume(&qp->rq.ring, qp->rq.ring.cons + 1);
	resp->have_rwqe = true;
	return true;
}

static void resp_complete(struct rsoft_qp *qp, struct ib_wc *wc, bool solicited)
{
	struct rsoft_resp *resp = &qp->resp;

	wc->wr_id = resp->rwqe.wr_id;
	wc->qp = &qp->ibqp;
	wc->port_num = 1;
	resp->have_rwqe = false;
	rsoft_cq_post(to_rcq(qp->ibqp.recv_cq), wc, solicited);
}

/* The receive WQE in hand ends in error. */
static void resp_rqe_error(struct rsoft_qp *qp, enum ib_wc_status status,
			   u32 vendor_err)
{
	struct ib_wc wc = {
		.status = status,
		.opcode = IB_WC_RECV,
		.vendor_err = vendor_err,
	};

	resp_complete(qp, &wc, true);
}

static void resp_drop(struct rsoft_qp *qp, enum rsoft_drop why)
{
	rsoft_qp_drop(qp, why);
}

/* Copy the payload of the packet in hand to memory. */
static enum rsoft_access resp_copy(struct resp_run *run, u64 pos, u32 len)
{
	enum rsoft_access why = RSOFT_ACCESS_OK;
	u32 from = run->payload;
	u32 n;
	void *to;

	rsoft_cursor_seek(&run->c, pos);
	while (len) {
		to = rsoft_cursor_next(&run->c, len, &n, &why);
		if (!to)
			return why;
		if (rsoft_rx_copy(run->rx, from, to, n))
			return RSOFT_ACCESS_RANGE;
		from += n;
		len -= n;
	}
	return RSOFT_ACCESS_OK;
}

static void resp_forget(struct resp_run *run)
{
	rsoft_cursor_release(&run->c);
	run->c_valid = false;
}

static void resp_cursor_rqe(struct rsoft_qp *qp, struct resp_run *run)
{
	if (run->c_valid)
		return;
	rsoft_cursor_init(&run->c, qp, qp->resp.rwqe.sge,
			  qp->resp.rwqe.num_sge, RSOFT_ACC_LOCAL_WRITE);
	run->c_valid = true;
}

static void resp_cursor_write(struct rsoft_qp *qp, struct resp_run *run)
{
	if (run->c_valid)
		return;
	run->write = (struct rsoft_sge){
		.addr = qp->resp.va,
		.len = qp->resp.wlen,
		.lkey = qp->resp.rkey,
	};
	rsoft_cursor_init(&run->c, qp, &run->write, 1,
			  RSOFT_ACC_REMOTE_WRITE);
	run->c_valid = true;
}

/* A message is complete: its receive completion. */
static void resp_finish(struct rsoft_qp *qp, const struct rsoft_pkt *pkt,
			u32 byte_len)
{
	struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = pkt->info->kind == RSOFT_KIND_WRITE ?
			  IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.byte_len = byte_len,
		.src_qp = qp->remote_qpn,
	};

	if (pkt->info->hdrs & RSOFT_HDR_IMMDT) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = pkt->imm;
	}
	if (pkt->info->hdrs & RSOFT_HDR_IETH) {
		wc.wc_flags |= IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = pkt->inv_rkey;
	}
	resp_complete(qp, &wc, pkt->solicited);
}

enum resp_result {
	RESP_OK,	/* executed: the PSN is used up */
	RESP_STOP,	/* not executed; answered if an answer is due */
};

/* No receive WQE is posted: RC asks the peer to wait, UC loses the message. */
static enum resp_result resp_no_rqe(struct rsoft_qp *qp)
{
	if (qp->ibqp.qp_type == IB_QPT_RC)
		rsoft_ack_rnr(qp);
	else
		resp_drop(qp, RSOFT_DROP_NO_RQE);
	return RESP_STOP;
}

/* A receive WQE cannot take the message. */
static enum resp_result resp_bad_rqe(struct rsoft_qp *qp,
				     enum ib_wc_status status, u32 vendor_err,
				     enum rsoft_nak code)
{
	resp_rqe_error(qp, status, vendor_err);
	rsoft_resp_fatal(qp, code, 0);
	return RESP_STOP;
}

/*
 * SEND with invalidate: the payload is in place, now take the key back. The
 * receive ends in error if it may not be (IBTA 9.9.6.3.1); the peer is told.
 */
static enum resp_result resp_invalidate(struct rsoft_qp *qp,
					const struct rsoft_pkt *pkt)
{
	enum rsoft_access why;

	why = rsoft_mkey_invalidate(qp, pkt->inv_rkey, true);
	if (why == RSOFT_ACCESS_OK)
		return RESP_OK;
	return resp_bad_rqe(qp, IB_WC_REM_INV_REQ_ERR, why,
			    RSOFT_NAK_REM_ACCESS);
}

static enum resp_result resp_send(struct rsoft_qp *qp, struct resp_run *run,
				  const struct rsoft_pkt *pkt)
{
	struct rsoft_resp *resp = &qp->resp;
	enum rsoft_access why;

	if (pkt->info->flags & RSOFT_PKT_START) {
		resp_forget(run);
		if (!resp_fetch(qp))
			return resp_no_rqe(qp);
		resp->rcvd = 0;
		if (resp->rwqe.status != IB_WC_SUCCESS)
			return resp_bad_rqe(qp, resp->rwqe.status, 0,
					    RSOFT_NAK_REM_OP);
	}
	if (pkt->payload_len > resp->rwqe.len - resp->rcvd)
		return resp_bad_rqe(qp, IB_WC_LOC_LEN_ERR, 0,
				    RSOFT_NAK_INV_REQ);
	resp_cursor_rqe(qp, run);
	why = resp_copy(run, resp->rcvd, pkt->payload_len);
	if (why != RSOFT_ACCESS_OK)
		return resp_bad_rqe(qp, IB_WC_LOC_PROT_ERR, why,
				    RSOFT_NAK_REM_OP);
	resp->rcvd += pkt->payload_len;
	if (!(pkt->info->flags & RSOFT_PKT_END))
		return RESP_OK;
	resp_forget(run);
	if ((pkt->info->hdrs & RSOFT_HDR_IETH) &&
	    resp_invalidate(qp, pkt) != RESP_OK)
		return RESP_STOP;
	resp_finish(qp, pkt, resp->rcvd);
	return RESP_OK;
}

static enum resp_result resp_write_invalid(struct rsoft_qp *qp,
					   enum rsoft_drop why)
{
	if (qp->ibqp.qp_type == IB_QPT_RC)
		rsoft_resp_fatal(qp, RSOFT_NAK_INV_REQ, IB_EVENT_QP_REQ_ERR);
	else
		resp_drop(qp, why);
	return RESP_STOP;
}

static enum resp_result resp_write_refused(struct rsoft_qp *qp)
{
	if (qp->ibqp.qp_type == IB_QPT_RC)
		rsoft_resp_fatal(qp, RSOFT_NAK_REM_ACCESS,
				 IB_EVENT_QP_ACCESS_ERR);
	else
		resp_drop(qp, RSOFT_DROP_ACCESS);
	return RESP_STOP;
}

/* First packet of a WRITE: rights on the whole range, before any byte moves. */
static bool resp_write_start(struct rsoft_qp *qp, struct resp_run *run,
			     const struct rsoft_pkt *pkt)
{
	struct rsoft_resp *resp = &qp->resp;
	struct rsoft_mref ref = {};

	if (pkt->dma_len > RSOFT_MAX_MSG) {
		resp_write_invalid(qp, RSOFT_DROP_LENGTH);
		return false;
	}
	/* not a matter of the key: this queue does not take WRITEs */
	if (!(qp->access & IB_ACCESS_REMOTE_WRITE)) {
		resp_write_invalid(qp, RSOFT_DROP_ACCESS);
		return false;
	}
	if (pkt->dma_len) {
		/* a key is looked at only if there are bytes */
		if (rsoft_mem_get(qp, pkt->rkey, RSOFT_ACC_REMOTE_WRITE,
				  pkt->va, pkt->dma_len,
				  &ref) != RSOFT_ACCESS_OK) {
			resp_write_refused(qp);
			return false;
		}
	}
	resp->va = pkt->va;
	resp->rkey = pkt->rkey;
	resp->wlen = pkt->dma_len;
	resp->left = pkt->dma_len;
	resp_cursor_write(qp, run);
	rsoft_cursor_hold(&run->c, &ref);
	return true;
}

static enum resp_result resp_write(struct rsoft_qp *qp, struct resp_run *run,
				   const struct rsoft_pkt *pkt)
{
	bool end = pkt->info->flags & RSOFT_PKT_END;
	struct rsoft_resp *resp = &qp->resp;

	if (pkt->info->flags & RSOFT_PKT_START) {
		resp_forget(run);
		if (!resp_write_start(qp, run, pkt))
			return RESP_STOP;
	}
	if (pkt->payload_len > resp->left ||
	    (end && pkt->payload_len != resp->left))
		return resp_write_invalid(qp, RSOFT_DROP_LENGTH);
	if ((pkt->info->flags & RSOFT_PKT_RQE) && !resp_fetch(qp))
		return resp_no_rqe(qp);
	if (pkt->payload_len) {
		resp_cursor_write(qp, run);
		if (resp_copy(run, resp->wlen - resp->left,
			      pkt->payload_len) != RSOFT_ACCESS_OK)
			return resp_write_refused(qp);
	}
	resp->left -= pkt->payload_len;
	if (!end)
		return RESP_OK;
	resp_forget(run);
	if (pkt->info->flags & RSOFT_PKT_RQE) {
		if (resp->rwqe.status != IB_WC_SUCCESS)
			return resp_bad_rqe(qp, resp->rwqe.status, 0,
					    RSOFT_NAK_REM_OP);
		resp_finish(qp, pkt, resp->wlen);
	}
	return RESP_OK;
}

/* Execute a SEND or WRITE packet that is next in order. */
static enum resp_result resp_message(struct rsoft_qp *qp, struct resp_run *run,
				     const struct rsoft_pkt *pkt)
{
	if (pkt->info->kind == RSOFT_KIND_SEND)
		return resp_send(qp, run, pkt);
	return resp_write(qp, run, pkt);
}

static bool resp_is_middle(const struct rsoft_pkt *pkt)
{
	return !(pkt->info->flags & (RSOFT_PKT_START | RSOFT_PKT_END)) &&
	       !rsoft_inject_steps();
}

static void resp_established(struct rsoft_qp *qp)
{
	if (qp->resp.comm_est)
		return;
	qp->resp.comm_est = true;
	if (READ_ONCE(qp->state) == RSOFT_QPS_RTR)
		rsoft_qp_event(qp, IB_EVENT_COMM_EST);
}

/* RC packet with the expected PSN. */
static void resp_rc_execute(struct rsoft_qp *qp, struct resp_run *run,
			    const struct rsoft_pkt *pkt)
{
	struct rsoft_resp *resp = &qp->resp;
	enum rsoft_seq next;
	u64 val;

	if (unlikely(qp->recv.early.open_ns))
		rsoft_early_closed(qp, &qp->recv.early, resp->nak_sent);
	resp->nak_sent = false;
	resp->rnr_sent = false;
	resp_established(qp);
	if (!rsoft_seq_next(resp->seq, pkt->info, &next) ||
	    !rsoft_seg_len_ok(pkt->info, pkt->payload_len,
			      1u << qp->mtu_shift)) {
		rsoft_resp_fatal(qp, RSOFT_NAK_INV_REQ, IB_EVENT_QP_REQ_ERR);
		return;
	}
	switch (pkt->info->kind) {
	case RSOFT_KIND_SEND:
	case RSOFT_KIND_WRITE:
		break;
	case RSOFT_KIND_READ:
		rsoft_resp_read(qp, pkt);
		return;
	case RSOFT_KIND_ATOMIC:
		rsoft_resp_atomic(qp, pkt);
		return;
	case RSOFT_KIND_ATOMIC_WRITE:
		if (!rsoft_rx_copy(run->rx, run->payload, &val, sizeof(val)))
			rsoft_resp_atomic_write(qp, pkt, val);
		return;
	case RSOFT_KIND_FLUSH:
		rsoft_resp_flush(qp, pkt);
		return;
	default:
		rsoft_resp_fatal(qp, RSOFT_NAK_INV_REQ, IB_EVENT_QP_REQ_ERR);
		return;
	}
	if (resp_message(qp, run, pkt) != RESP_OK)
		return;
	resp->seq = next;
	run->middle = resp_is_middle(pkt);
	resp->epsn = rsoft_psn_add(resp->epsn, 1);
	if (pkt->info->flags & RSOFT_PKT_END)
		resp->msn++;
	if (pkt->ackreq)
		rsoft_ack_owe(qp);
}

/* A fault on purpose: answer without executing the request. */
static noinline bool resp_inject(struct rsoft_qp *qp,
				 const struct rsoft_pkt *pkt)
{
	struct rsoft_verdict v = rsoft_inject_request(qp, pkt);

	switch (v.what) {
	case RSOFT_INJECT_RNR:
		rsoft_ack_rnr(qp);
		return true;
	case RSOFT_INJECT_NAK:
		if (v.arg == RSOFT_NAK_PSN)
			qp->resp.nak_sent = !rsoft_ack_nak(qp, RSOFT_NAK_PSN);
		else
			rsoft_resp_fatal(qp, v.arg, 0);
		return true;
	case RSOFT_INJECT_WC:
		if (!resp_fetch(qp))
			return false;
		resp_bad_rqe(qp, v.arg, 0, RSOFT_NAK_REM_OP);
		return true;
	default:
		return false;
	}
}

static bool resp_injected(struct rsoft_qp *qp, const struct rsoft_pkt *pkt)
{
	return rsoft_inject_steps() && resp_inject(qp, pkt);
}

/* A request behind a gap: keep it, unless the peer will send all again. */
static void resp_early(struct rsoft_qp *qp, struct resp_run *run,
		       const struct rsoft_pkt *pkt)
{
	u8 kind = pkt->info->kind;
	u32 n = 1;

	rsoft_qp_count(qp, RSOFT_CNT_OUT_OF_SEQ);
	if (qp->resp.rnr_sent)
		return;
	if (rsoft_psn_diff(pkt->psn, qp->resp.epsn) > RSOFT_EARLY_AHEAD_MAX) {
		rsoft_early_refuse(qp, &qp->recv.early);
		return;
	}
	if (kind == RSOFT_KIND_READ)
		n = rsoft_npkts(pkt->dma_len, qp->mtu_shift);
	rsoft_early_add(qp, &qp->recv.early, &run->early, run->rx, pkt->psn, n,
			run->wire_len,
			kind != RSOFT_KIND_SEND && kind != RSOFT_KIND_WRITE);
}

/* A gap is open: ask for what is missing, or wait for it a little. */
static void resp_gap(struct rsoft_qp *qp)
{
	struct rsoft_early *early = &qp->recv.early;
	struct rsoft_resp *resp = &qp->resp;
	u64 wait;

	if (!early->open_ns || resp->nak_sent)
		return;
	wait = rsoft_early_wait_ns(early);
	if (wait) {
		rsoft_timer_gap(&qp->recv, wait);
		return;
	}
	if (rsoft_ack_nak(qp, RSOFT_NAK_PSN)) {
		rsoft_timer_gap(&qp->recv, rsoft_tx_wait_ns(0));
		return;
	}
	resp->nak_sent = true;
	rsoft_early_asked(early, resp->epsn);
}

static void resp_rc(struct rsoft_qp *qp, struct resp_run *run,
		    const struct rsoft_pkt *pkt)
{
	struct rsoft_resp *resp = &qp->resp;
	s32 ahead = rsoft_psn_diff(pkt->psn, resp->epsn);

	if (ahead > 0) {
		resp_early(qp, run, pkt);
		return;
	}
	if (unlikely(run->early.len))
		rsoft_early_keep(qp, &qp->recv.early, &run->early, run->rx);
	if (!ahead) {
		if (!resp_injected(qp, pkt))
			resp_rc_execute(qp, run, pkt);
		return;
	}
	rsoft_qp_count(qp, RSOFT_CNT_DUPLICATES);
	rsoft_early_twice(qp, &qp->recv.early, pkt->psn);
	if (pkt->info->kind == RSOFT_KIND_SEND ||
	    pkt->info->kind == RSOFT_KIND_WRITE)
		rsoft_ack_owe(qp);
	else
		rsoft_resp_repeat(qp, pkt);
}

/* UC: a gap loses the message it is in, nothing more (IBTA 9.8.2.2). */
static void resp_uc(struct rsoft_qp *qp, struct resp_run *run,
		    const struct rsoft_pkt *pkt)
{
	struct rsoft_resp *resp = &qp->resp;
	enum rsoft_seq next;

	if (pkt->psn != resp->epsn)
		resp->seq = RSOFT_SEQ_IDLE;
	if (resp->seq != RSOFT_SEQ_IDLE &&
	    (pkt->info->flags & RSOFT_PKT_START))
		resp->seq = RSOFT_SEQ_IDLE;
	resp->epsn = rsoft_psn_add(pkt->psn, 1);
	resp_established(qp);
	if (!rsoft_seq_next(resp->seq, pkt->info, &next)) {
		resp->seq = RSOFT_SEQ_IDLE;
		resp_drop(qp, RSOFT_DROP_SEQ);
		return;
	}
	resp->seq = RSOFT_SEQ_IDLE;
	if (!rsoft_seg_len_ok(pkt->info, pkt->payload_len,
			      1u << qp->mtu_shift)) {
		resp_drop(qp, RSOFT_DROP_LENGTH);
		return;
	}
	if (resp_message(qp, run, pkt) != RESP_OK)
		return;
	resp->seq = next;
	run->middle = resp_is_middle(pkt);
}

static void resp_ud_finish(struct rsoft_qp *qp, struct resp_run *run,
			   const struct rsoft_pkt *pkt)
{
	struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = GRH_LEN + pkt->payload_len,
		.src_qp = pkt->sqpn,
		.wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE,
		.network_hdr_type = run->rx->ipv6 ? RDMA_NETWORK_IPV6 :
						    RDMA_NETWORK_IPV4,
	};

	/* the CM finds the GID that answers by it */
	if (run->rx->vlan_id != RSOFT_NO_VLAN) {
		wc.vlan_id = run->rx->vlan_id;
		wc.wc_flags |= IB_WC_WITH_VLAN;
	}

	if (pkt->info->hdrs & RSOFT_HDR_IMMDT) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = pkt->imm;
	}
	resp_complete(qp, &wc, pkt->solicited);
}

static enum rsoft_access resp_ud_grh(struct rsoft_qp *qp, struct resp_run *run)
{
	u8 grh[GRH_LEN];

	rsoft_rx_grh(run->rx, run->wire_len, run->ip_id, grh);
	resp_cursor_rqe(qp, run);
	rsoft_cursor_seek(&run->c, 0);
	return rsoft_cursor_put(&run->c, grh, sizeof(grh));
}

/* The port's path MTU limits datagrams (IBTA 9.8.3.2.2). */
static u32 resp_ud_max(const struct rsoft_qp *qp)
{
	return ib_mtu_enum_to_int(rsoft_dev_mtu(READ_ONCE(qp->dev->ndev->mtu)));
}

static void resp_ud(struct rsoft_qp *qp, struct resp_run *run,
		    const struct rsoft_pkt *pkt)
{
	struct rsoft_resp *resp = &qp->resp;
	enum rsoft_access why;

	if (pkt->payload_len > resp_ud_max(qp)) {
		resp_drop(qp, RSOFT_DROP_LENGTH);
		return;
	}
	if (pkt->qkey != qp->qkey) {
		resp_drop(qp, RSOFT_DROP_QKEY);
		return;
	}
	if (!resp_fetch(qp)) {
		resp_drop(qp, RSOFT_DROP_NO_RQE);
		return;
	}
	if (resp->rwqe.status != IB_WC_SUCCESS) {
		resp_rqe_error(qp, resp->rwqe.status, 0);
		resp_drop(qp, RSOFT_DROP_RQE_LEN);
		return;
	}
	/* a receive that is too small stays for a message that fits */
	if ((u64)GRH_LEN + pkt->payload_len > resp->rwqe.len) {
		resp_drop(qp, RSOFT_DROP_RQE_LEN);
		return;
	}
	resp_forget(run);
	why = resp_ud_grh(qp, run);
	if (why == RSOFT_ACCESS_OK)
		why = resp_copy(run, GRH_LEN, pkt->payload_len);
	resp_forget(run);
	if (why == RSOFT_ACCESS_OK)
		resp_ud_finish(qp, run, pkt);
	else
		resp_rqe_error(qp, IB_WC_LOC_PROT_ERR, why);
}

static void resp_packet(struct rsoft_qp *qp, struct resp_run *run,
			const struct rsoft_pkt *pkt)
{
	u8 transport = pkt->opcode & RSOFT_TRANSPORT_MASK;

	if (!(rsoft_qp_caps(qp) & RSOFT_CAN_RECV)) {
		resp_drop(qp, RSOFT_DROP_QP_STATE);
		return;
	}
	if (qp->ibqp.qp_type == IB_QPT_RC && transport == RSOFT_RC)
		resp_rc(qp, run, pkt);
	else if (qp->ibqp.qp_type == IB_QPT_UC && transport == RSOFT_UC)
		resp_uc(qp, run, pkt);
	else if (rsoft_qp_is_dgram(qp) && transport == RSOFT_UD)
		resp_ud(qp, run, pkt);
	else
		resp_drop(qp, RSOFT_DROP_QP_TYPE);
}

/*
 * The message goes on: packets that are like the last one, at the PSN expected,
 * need no other check than for room, and no answer. What is not as expected in any
 * way is left as it is and goes the long way.
 */
static void resp_middle(struct rsoft_qp *qp, struct resp_run *run,
			const struct rsoft_pkt *pkt)
{
	struct rsoft_resp *resp = &qp->resp;
	bool write = pkt->info->kind == RSOFT_KIND_WRITE;
	u32 pos = write ? resp->wlen - resp->left : resp->rcvd;
	u32 room = write ? resp->left : resp->rwqe.len - resp->rcvd;
	u32 len = pkt->payload_len, done = 0;
	const u8 *data;

	rsoft_cursor_seek(&run->c, pos);
	while (room - done >= len) {
		data = rsoft_rx_alike(run->rx, pkt, resp->epsn);
		if (!data ||
		    rsoft_cursor_put(&run->c, data, len) != RSOFT_ACCESS_OK)
			break;
		rsoft_rx_take(run->rx);
		resp->epsn = rsoft_psn_add(resp->epsn, 1);
		done += len;
	}
	rsoft_rx_settle(run->rx);
	if (write)
		resp->left -= done;
	else
		resp->rcvd += done;
}

/* Take the next packet of the run in hand; each run has a @pkt of its own. */
static void resp_next(struct rsoft_qp *qp, struct resp_run *run,
		      struct rsoft_pkt *pkt)
{
	struct rsoft_rx *rx = run->rx;
	enum rsoft_drop why;
	u32 before = rx->len;

	run->ip_id = rx->ip_id;
	why = rsoft_rx_next(rx, pkt, &run->payload);
	run->wire_len = before - rx->len;
	if (why != RSOFT_DROP_NONE) {
		resp_drop(qp, why);
		return;
	}
	run->middle = false;
	resp_packet(qp, run, pkt);
	if (run->middle)
		resp_middle(qp, run, pkt);
}

/* A gap was closed and early packets wait behind it, due or behind the next. */
static bool resp_has_early(const struct rsoft_qp *qp)
{
	const struct rsoft_early *early = &qp->recv.early;

	return rsoft_early_any(early) && !early->open_ns;
}

static bool resp_is_due(const struct rsoft_qp *qp)
{
	const struct rsoft_early *early = &qp->recv.early;
	bool ack;

	return rsoft_early_any(early) && !qp->recv.blocked &&
	       rsoft_psn_diff(rsoft_early_first(early, &ack),
			      qp->resp.epsn) <= 0;
}

/* Execute what came early and is due now, in order, before anything else. */
static void resp_due(struct rsoft_qp *qp, struct resp_run *run)
{
	struct rsoft_early *early = &qp->recv.early;
	struct rsoft_rx *rx = run->rx;
	struct rsoft_rx part;
	struct rsoft_pkt pkt;
	struct sk_buff *skb;

	while (resp_is_due(qp)) {
		if (rsoft_early_old(qp, early, qp->resp.epsn))
			continue;
		skb = rsoft_early_take(early, &part);
		run->rx = &part;
		/* what blocks the engine is alone in its part */
		while (part.len && !qp->recv.blocked)
			resp_next(qp, run, &pkt);
		rsoft_early_keep(qp, early, &run->early, &part);
		consume_skb(skb);
	}
	run->rx = rx;
	if (!early->open_ns && !qp->recv.blocked)
		rsoft_early_reopen(early);
}

static void rsoft_resp_rx(struct rsoft_qp *qp, struct rsoft_rx *rx)
{
	struct resp_run run = { .rx = rx };
	struct rsoft_pkt pkt;

	if (unlikely(resp_has_early(qp)))
		resp_due(qp, &run);
	while (rx->len && !qp->recv.blocked) {
		resp_next(qp, &run, &pkt);
		if (unlikely(resp_has_early(qp)))
			resp_due(qp, &run);
	}
	rsoft_early_keep(qp, &qp->recv.early, &run.early, rx);
	resp_forget(&run);
	resp_gap(qp);
}

/* A READ response is complete: early packets may wait behind the READ. */
static bool resp_unblocked(struct rsoft_qp *qp)
{
	struct resp_run run = {};

	resp_due(qp, &run);
	resp_forget(&run);
	resp_gap(qp);
	return qp->resp.reading.active;
}

static void resp_flush_one(struct rsoft_qp *qp)
{
	struct ib_wc wc = {
		.status = IB_WC_WR_FLUSH_ERR,
		.opcode = IB_WC_RECV,
	};

	resp_complete(qp, &wc, true);
}

/*
 * The QP is in ERR: complete what is posted. Receives posted later ring no
 * doorbell, so look for them from time to time, less and less often.
 */
static bool resp_flush(struct rsoft_qp *qp, unsigned long events)
{
	struct rsoft_resp *resp = &qp->resp;
	u32 left = qp->rq.ring.mask + 1;
	bool any = false;

	resp->reading.active = false;
	rsoft_mem_put(&resp->reading.ref);
	resp->ack_due = false;
	qp->recv.blocked = false;
	rsoft_early_drop(qp, &qp->recv.early);
	if (qp->ibqp.srq) {
		if (resp->have_rwqe)
			resp_flush_one(qp);
		if (events & BIT(RSOFT_EV_ERROR))
			rsoft_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
		return false;
	}
	while (left-- && resp_fetch(qp)) {
		resp_flush_one(qp);
		any = true;
	}
	if (any || (events & BIT(RSOFT_EV_ERROR)))
		resp->flush_ns = RSOFT_LATE_RECV_MIN_NS;
	else
		resp->flush_ns = min_t(u64, resp->flush_ns * 2,
				       RSOFT_LATE_RECV_MAX_NS);
	if (qp->user)
		rsoft_timer_tx(qp, &resp->tx_timer, resp->flush_ns);
	return false;
}

/* Go on with a READ response. Returns true if more could be sent. */
static bool resp_go(struct rsoft_qp *qp, u32 budget)
{
	struct rsoft_resp *resp = &qp->resp;

	if (rsoft_stack_waits(qp, &resp->tx_wait, &resp->tx_timer,
			      resp->tx_refused) ||
	    !budget || !rsoft_engine_may_send(&qp->recv))
		return false;
	return rsoft_resp_reading(qp, budget);
}

static bool rsoft_resp_run(struct rsoft_qp *qp, unsigned long events,
			   u32 budget)
{
	struct rsoft_resp *resp = &qp->resp;
	bool more = false;

	if (rsoft_qp_caps(qp) & RSOFT_FLUSH_RQ)
		return resp_flush(qp, events);
	if (resp->reading.active)
		more = resp_go(qp, budget);
	if (unlikely(resp_has_early(qp)) && !qp->recv.blocked)
		more |= resp_unblocked(qp);
	if (events & BIT(RSOFT_EV_GAP_TIMER))
		resp_gap(qp);
	rsoft_ack_flush(qp);
	/* of a READ that has to wait: no reference outlives a run */
	rsoft_mem_put(&resp->reading.ref);
	return more;
}

const struct rsoft_engine_ops rsoft_recv_ops = {
	.rx = rsoft_resp_rx,
	.run = rsoft_resp_run,
};
