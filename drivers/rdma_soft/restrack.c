// SPDX-License-Identifier: GPL-2.0
/*
 * Details of QPs, CQs, MRs and SRQs for `rdma resource show -dd`: how full the
 * queues are, where both engines stand, what they wait for. Engines run on
 * while their state is read, so the values are no snapshot.
 *
 * The raw variants of these ops are for hardware contexts, whose layout a
 * vendor's tool knows; there is none here, and they are left out.
 */
#include "restrack.h"

#include <net/netlink.h>
#include <rdma/rdma_netlink.h>

#include "cq.h"
#include "mr.h"
#include "qp.h"
#include "req.h"
#include "srq.h"

/**
 * struct res_u32 - one line of details
 * @name: what it is called
 * @value: what it is
 */
struct res_u32 {
	const char *name;
	u32 value;
};

static int res_put(struct sk_buff *msg, const struct res_u32 *vals, size_t n)
{
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	size_t i;

	if (!table)
		return -EMSGSIZE;
	for (i = 0; i < n; i++) {
		if (rdma_nl_put_driver_u32(msg, vals[i].name, vals[i].value)) {
			nla_nest_cancel(msg, table);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(msg, table);
	return 0;
}

/* WQEs that wait from @idx on; a QP with an SRQ has no ring. */
static u32 res_waiting(const struct rsoft_ring *ring, u32 idx)
{
	return ring->buf ? rsoft_ring_count(ring, idx) : 0;
}

/* Of a user's queue the ring knows more than the engine has fetched. */
static u32 res_sq_from(const struct rsoft_qp *qp, u32 idx)
{
	if (qp->user)
		return res_waiting(&qp->sq.ring, idx);
	return READ_ONCE(qp->sq.head) - idx;
}

int rsoft_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	const struct rsoft_qp *qp = to_rqp(ibqp);
	const struct rsoft_req *req = &qp->req;
	const struct rsoft_resp *resp = &qp->resp;
	const struct rsoft_ring *rq = &qp->rq.ring;
	const struct sock *sk = qp->sock->sk;
	const struct res_u32 vals[] = {
		{ "path_mtu", 1u << READ_ONCE(qp->mtu_shift) },
		{ "sq_max", qp->sq.max_wr },
		{ "sq_posted", res_sq_from(qp, READ_ONCE(qp->sq.tail)) },
		{ "sq_unsent", res_sq_from(qp, READ_ONCE(qp->sq.next)) },
		{ "rq_max", qp->rq.max_wr },
		{ "rq_posted", res_waiting(rq, READ_ONCE(rq->cons)) },
		{ "req_psn", READ_ONCE(req->psn) },
		{ "req_psn_max", READ_ONCE(req->psn_max) },
		{ "req_unacked_psn", READ_ONCE(req->una) },
		{ "req_rd_active", READ_ONCE(req->rd_active) },
		{ "req_retry_left", READ_ONCE(req->retry_left) },
		{ "req_rnr_left", READ_ONCE(req->rnr_left) },
		{ "req_rnr_wait", READ_ONCE(req->rnr_wait) },
		{ "req_tx_wait", READ_ONCE(req->tx_wait) },
		{ "req_repair", READ_ONCE(req->hole) },
		{ "req_probes", READ_ONCE(req->probes) },
		{ "req_ack_timer", hrtimer_active(&req->ack_timer) },
		{ "resp_psn", READ_ONCE(resp->epsn) },
		{ "resp_msn", READ_ONCE(resp->msn) & RSOFT_MSN_MASK },
		{ "resp_gap", READ_ONCE(resp->nak_sent) },
		{ "resp_reading", READ_ONCE(resp->reading.active) },
		{ "resp_tx_wait", READ_ONCE(resp->tx_wait) },
		/* one is the socket's own */
		{ "stack_bytes", refcount_read(&sk->sk_wmem_alloc) - 1 },
		{ "send_queued_bytes", READ_ONCE(qp->send.queued) },
		{ "recv_queued_bytes", READ_ONCE(qp->recv.queued) },
	};

	return res_put(msg, vals, ARRAY_SIZE(vals));
}

int rsoft_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct res_u32 vals[] = {
		{ "cq_max" },
		{ "cq_used" },
		{ "armed" },
		{ "armed_solicited" },
		{ "overflowed" },
	};
	struct rsoft_cq *cq = to_rcq(ibcq);
	const struct rsoft_ring *ring = &cq->ring;
	unsigned long flags;

	/* a resize replaces the ring */
	spin_lock_irqsave(&cq->lock, flags);
	vals[0].value = ring->mask;
	vals[1].value = (ring->prod - READ_ONCE(ring->buf->consumer_index)) &
			ring->mask;
	vals[2].value = cq->armed == IB_CQ_NEXT_COMP;
	vals[3].value = cq->armed == IB_CQ_SOLICITED;
	vals[4].value = cq->dead;
	spin_unlock_irqrestore(&cq->lock, flags);
	return res_put(msg, vals, ARRAY_SIZE(vals));
}

/* Keys are shown by the core, to the privileged only. */
int rsoft_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct rsoft_mr *mr = to_rmr(ibmr);
	const struct res_u32 vals[] = {
		{ "user", mr->k.type == RSOFT_MKEY_USER },
		{ "dma", mr->k.type == RSOFT_MKEY_DMA },
		{ "fast", mr->k.type == RSOFT_MKEY_FAST },
		{ "valid", READ_ONCE(mr->k.valid) },
		{ "access", READ_ONCE(mr->k.access) },
		{ "block_size", 1u << READ_ONCE(mr->page_shift) },
		{ "blocks", READ_ONCE(mr->nblocks) },
	};

	return res_put(msg, vals, ARRAY_SIZE(vals));
}

int rsoft_fill_res_srq(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct res_u32 vals[] = {
		{ "srq_max" },
		{ "srq_posted" },
		{ "limit" },
		{ "error" },
	};
	struct rsoft_srq *srq = to_rsrq(ibsrq);
	unsigned long flags;

	/* a resize replaces the ring */
	spin_lock_irqsave(&srq->lock, flags);
	vals[0].value = srq->max_wr;
	vals[1].value = res_waiting(&srq->ring, srq->ring.cons);
	vals[2].value = srq->limit;
	vals[3].value = srq->error;
	spin_unlock_irqrestore(&srq->lock, flags);
	return res_put(msg, vals, ARRAY_SIZE(vals));
}
