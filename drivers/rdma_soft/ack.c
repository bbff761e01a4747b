// SPDX-License-Identifier: GPL-2.0
/*
 * Acknowledgments. A run of requests gets one ACK, naming the last request that
 * was executed: READ responses, atomic responses and NAKs acknowledge all that
 * came before them too. No credits are given out (value "invalid"): receive
 * queues are filled behind our back, and RNR NAKs do the rest.
 */
#include "ack.h"
#include "build.h"
#include "proto/psn.h"
#include "stack.h"
#include "timer.h"
#include "trace.h"

static int ack_send(struct rsoft_qp *qp, u8 opcode, u32 psn, u8 syn, u32 msn,
		    u64 orig)
{
	struct rsoft_path *path = rcu_dereference_protected(qp->path, 1);
	struct rsoft_pkt pkt = {};
	enum rsoft_access why;
	struct rsoft_tx tx;
	int err;

	/* the header fields that are not zero */
	pkt.opcode = opcode;
	pkt.info = rsoft_opinfo(opcode);
	pkt.mig = true;
	pkt.pkey = RSOFT_PKEY_DEFAULT;
	pkt.qpn = qp->remote_qpn;
	pkt.psn = psn;
	pkt.syn = syn;
	pkt.msn = msn & RSOFT_MSN_MASK;
	pkt.orig = orig;
	rsoft_tx_init(&tx, qp, &qp->recv);
	err = rsoft_tx_packet(&tx, path, &pkt, NULL, 0, &why);
	rsoft_tx_settle(&tx);
	return err ?: rsoft_tx_flush(&tx, &qp->resp.tx_refused);
}

/*
 * The last request that a plain ACK may name. READs and atomics are acknowledged
 * by their responses alone: if that is lost and an ACK names the request,
 * rdma_rxe as a requester completes it without its data.
 */
static void ack_last(const struct rsoft_resp *resp, u32 *psn, u32 *msn)
{
	const struct rsoft_rdres *res;
	u32 i;

	*psn = rsoft_psn_add(resp->epsn, RSOFT_PSN_MASK);
	*msn = resp->msn;
	for (i = 1; i <= resp->rdres_mask + 1; i++) {
		res = &resp->rdres[(resp->rdres_head - i) & resp->rdres_mask];
		if (res->kind == RSOFT_KIND_NONE || res->last_psn != *psn)
			return;
		*psn = rsoft_psn_add(res->first_psn, RSOFT_PSN_MASK);
		(*msn)--;
	}
}

void rsoft_ack_flush(struct rsoft_qp *qp)
{
	u32 psn, msn;

	if (!qp->resp.ack_due)
		return;
	ack_last(&qp->resp, &psn, &msn);
	if (ack_send(qp, RSOFT_RC | RSOFT_OP_ACK, psn,
		     RSOFT_SYN_ACK | RSOFT_CREDITS_INVALID, msn, 0)) {
		rsoft_timer_tx(qp, &qp->resp.tx_timer,
			       rsoft_tx_wait_ns(qp->resp.tx_refused));
		return;
	}
	qp->resp.ack_due = false;
	rsoft_qp_count(qp, RSOFT_CNT_ACK_SENT);
}

int rsoft_ack_nak(struct rsoft_qp *qp, enum rsoft_nak code)
{
	int err;

	qp->resp.ack_due = false;
	err = ack_send(qp, RSOFT_RC | RSOFT_OP_ACK, qp->resp.epsn,
		       RSOFT_SYN_NAK | code, qp->resp.msn, 0);
	if (!err) {
		rsoft_qp_count(qp, RSOFT_CNT_NAK_SENT);
		trace_rsoft_nak_sent(qp, qp->resp.epsn, code);
	}
	return err;
}

void rsoft_ack_rnr(struct rsoft_qp *qp)
{
	qp->resp.ack_due = false;
	/* what follows the refused request is no gap, and comes again */
	qp->resp.nak_sent = true;
	qp->resp.rnr_sent = true;
	rsoft_early_drop(qp, &qp->recv.early);
	rsoft_qp_count(qp, RSOFT_CNT_RNR_SENT);
	trace_rsoft_rnr_sent(qp, qp->resp.epsn, qp->min_rnr_enc);
	ack_send(qp, RSOFT_RC | RSOFT_OP_ACK, qp->resp.epsn,
		 RSOFT_SYN_RNR | (qp->min_rnr_enc & RSOFT_SYN_VALUE_MASK),
		 qp->resp.msn, 0);
}

void rsoft_ack_atomic(struct rsoft_qp *qp, const struct rsoft_rdres *res)
{
	qp->resp.ack_due = false;
	/* one that is lost here is asked for again by the requester */
	ack_send(qp, RSOFT_RC | RSOFT_OP_ATOMIC_ACK, res->first_psn,
		 RSOFT_SYN_ACK | RSOFT_CREDITS_INVALID, res->msn, res->orig);
}

void rsoft_ack_bare(struct rsoft_qp *qp, const struct rsoft_rdres *res)
{
	qp->resp.ack_due = false;
	/* one that is lost here is asked for again by the requester */
	ack_send(qp, RSOFT_RC | RSOFT_OP_READ_RESP_ONLY, res->first_psn,
		 RSOFT_SYN_ACK | RSOFT_CREDITS_INVALID, res->msn, 0);
}
