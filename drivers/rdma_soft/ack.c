// SPDX-License-Identifier: GPL-2.0
/*
 * Acknowledgments. A run of requests gets one ACK, naming the last request that
 * was executed: READ responses, atomic responses and NAKs acknowledge all that
 * came before them too. No credits are given out (value "invalid"): receive
 * queues are filled behind our back, and RNR NAKs do the rest.
 *
 * Where messages go to and fro, one answering the other, the ACK of a message
 * rides in the skb of its answer: half of the trips through the stack at both
 * ends. It waits for that at most two times RSOFT_RIDE_NS, and as soon as it waited
 * in vain once, ACKs go at once again until four messages in a row were
 * answered one by one.
 */
#include "ack.h"
#include "build.h"
#include "proto/psn.h"
#include "stack.h"
#include "timer.h"
#include "trace.h"

/* Messages in a row that were answered, until the next ACK waits. */
#define RIDE_REPLIES	4
/* Peers with a shorter time-out than that (taken to be as ours) get ACKs at once. */
#define RIDE_TIMEOUT_MIN	(10 * RSOFT_RIDE_NS)

/* The header fields that are not zero. */
static void ack_packet(const struct rsoft_qp *qp, u8 opcode, u32 psn, u8 syn,
		       u32 msn, struct rsoft_pkt *pkt)
{
	pkt->opcode = opcode;
	pkt->info = rsoft_opinfo(opcode);
	pkt->mig = true;
	pkt->pkey = RSOFT_PKEY_DEFAULT;
	pkt->qpn = qp->remote_qpn;
	pkt->psn = psn;
	pkt->syn = syn;
	pkt->msn = msn & RSOFT_MSN_MASK;
}

static int ack_send(struct rsoft_qp *qp, u8 opcode, u32 psn, u8 syn, u32 msn,
		    u64 orig)
{
	struct rsoft_path *path = rcu_dereference_protected(qp->path, 1);
	struct rsoft_pkt pkt = {};
	enum rsoft_access why;
	struct rsoft_tx tx;
	int err;

	ack_packet(qp, opcode, psn, syn, msn, &pkt);
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

void rsoft_ack_ride_packet(const struct rsoft_qp *qp, u64 ride,
			   struct rsoft_pkt *pkt)
{
	ack_packet(qp, RSOFT_RC | RSOFT_OP_ACK,
		   (ride >> RSOFT_RIDE_PSN) & RSOFT_PSN_MASK,
		   RSOFT_SYN_ACK | RSOFT_CREDITS_INVALID,
		   ride & RSOFT_MSN_MASK, pkt);
}

/* Nobody waits longer for a ride than this timer lets him. */
static void ack_ride_timer(struct rsoft_qp *qp)
{
	if (!hrtimer_is_queued(&qp->resp.ride_timer))
		hrtimer_start(&qp->resp.ride_timer, ns_to_ktime(RSOFT_RIDE_NS),
			      HRTIMER_MODE_REL_SOFT);
}

void rsoft_ack_ride_return(struct rsoft_qp *qp, u64 ride)
{
	if (ride && !atomic64_cmpxchg(&qp->resp.ride, 0, ride))
		ack_ride_timer(qp);
}

void rsoft_ack_ride_late(struct rsoft_qp *qp)
{
	u64 ride = rsoft_ack_ride_take(qp);

	if (!ride)
		return;
	qp->resp.replies = 0;
	/* if the stack refuses it, the run goes on with it as with any other */
	if (ack_send(qp, RSOFT_RC | RSOFT_OP_ACK,
		     (ride >> RSOFT_RIDE_PSN) & RSOFT_PSN_MASK,
		     RSOFT_SYN_ACK | RSOFT_CREDITS_INVALID,
		     ride & RSOFT_MSN_MASK, 0))
		rsoft_ack_owe(qp);
	else
		rsoft_qp_count(qp, RSOFT_CNT_ACK_SENT);
}

/* Was each of the last messages answered by one of ours, before the next? */
static bool ack_has_replies(struct rsoft_qp *qp)
{
	struct rsoft_resp *resp = &qp->resp;
	u64 timeout = qp->ack_timeout_ns;

	if (resp->run_sent != resp->last_sent &&
	    resp->msn == resp->last_msn + 1 &&
	    (!timeout || timeout >= RIDE_TIMEOUT_MIN))
		resp->replies = min(resp->replies + 1, RIDE_REPLIES);
	else
		resp->replies = 0;
	resp->last_sent = resp->run_sent;
	resp->last_msn = resp->msn;
	return resp->replies == RIDE_REPLIES;
}

/* Leave the ACK for the answer to take along. Returns false if that is gone. */
static bool ack_wait_for_ride(struct rsoft_qp *qp, u32 psn, u32 msn)
{
	struct rsoft_resp *resp = &qp->resp;

	atomic64_set(&resp->ride, RSOFT_RIDE_VALID |
		     (u64)psn << RSOFT_RIDE_PSN | (msn & RSOFT_MSN_MASK));
	/* pairs with req_ride_missed(): it sees the ACK, or we its message */
	smp_mb();
	if (READ_ONCE(qp->req.psn_max) != resp->run_sent)
		return !rsoft_ack_ride_take(qp);
	ack_ride_timer(qp);
	return true;
}

void rsoft_ack_flush(struct rsoft_qp *qp)
{
	u32 psn, msn;

	if (!qp->resp.ack_due)
		return;
	ack_last(&qp->resp, &psn, &msn);
	if (ack_has_replies(qp) && ack_wait_for_ride(qp, psn, msn)) {
		qp->resp.ack_due = false;
		return;
	}
	/* this one says what that one would */
	atomic64_set(&qp->resp.ride, 0);
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
