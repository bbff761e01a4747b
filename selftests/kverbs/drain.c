// SPDX-License-Identifier: GPL-2.0
/*
 * Draining as consumers do it: after ib_drain_qp() everything that was posted
 * has completed, in order, once, whatever the QP was doing.
 */
#include <linux/sizes.h>
#include <linux/slab.h>

#include "kt.h"

#define SENDS 20
#define RECVS 12

/**
 * struct dq - a QP with queues that the core polls
 * @t: test
 * @pd: protection domain
 * @cq: queue of both directions
 * @qp: QP
 * @send: completion entry of all sends
 * @recv: completion entry of all receives
 * @sends: send completions
 * @recvs: receive completions
 * @good: of them, those without an error
 * @event: number of events of each type
 */
struct dq {
	struct kt *t;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_cqe send;
	struct ib_cqe recv;
	atomic_t sends;
	atomic_t recvs;
	atomic_t good;
	atomic_t event[KT_EVENTS];
};

static void on_send(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dq *d = container_of(wc->wr_cqe, struct dq, send);

	atomic_inc(&d->sends);
	if (wc->status == IB_WC_SUCCESS)
		atomic_inc(&d->good);
}

static void on_recv(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dq *d = container_of(wc->wr_cqe, struct dq, recv);

	atomic_inc(&d->recvs);
	if (wc->status == IB_WC_SUCCESS)
		atomic_inc(&d->good);
}

static void on_event(struct ib_event *ev, void *ctx)
{
	struct dq *d = ctx;

	if (ev->event < KT_EVENTS)
		atomic_inc(&d->event[ev->event]);
}

static void dq_free(void *arg)
{
	struct dq *d = arg;

	if (!IS_ERR_OR_NULL(d->qp))
		ib_destroy_qp(d->qp);
	if (!IS_ERR_OR_NULL(d->cq))
		ib_free_cq(d->cq);
	if (!IS_ERR_OR_NULL(d->pd))
		ib_dealloc_pd(d->pd);
	kfree(d);
}

static struct dq *dq_new(struct kt *t, enum ib_qp_type type,
			 enum ib_poll_context poll)
{
	struct ib_qp_init_attr qa = {
		.qp_type = type,
		.event_handler = on_event,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap = {
			.max_send_wr = SENDS + 1, .max_recv_wr = RECVS + 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	struct dq *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (KT_BAD(t, d, "no memory"))
		return NULL;
	kt_defer(t, dq_free, d);
	d->t = t;
	d->send.done = on_send;
	d->recv.done = on_recv;
	d->pd = ib_alloc_pd(t->dev[0], 0);
	if (KT_BAD(t, !IS_ERR(d->pd), "%ld", PTR_ERR(d->pd)))
		return NULL;
	d->cq = ib_alloc_cq(t->dev[0], NULL, SENDS + RECVS + 2, 0, poll);
	if (KT_BAD(t, !IS_ERR(d->cq), "%ld", PTR_ERR(d->cq)))
		return NULL;
	qa.qp_context = d;
	qa.send_cq = d->cq;
	qa.recv_cq = d->cq;
	d->qp = ib_create_qp(d->pd, &qa);
	if (KT_BAD(t, !IS_ERR(d->qp), "%ld", PTR_ERR(d->qp)))
		return NULL;
	return d;
}

/* To a peer that is not there: nothing is ever acknowledged. */
static bool dq_connect(struct dq *d, enum ib_qp_state to)
{
	struct kt *t = d->t;
	struct ib_qp_attr a = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qkey = 1,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = 0xabcdef,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	bool ud = d->qp->qp_type == IB_QPT_UD;
	bool rc = d->qp->qp_type == IB_QPT_RC;
	int ret;

	ret = ib_modify_qp(d->qp, &a, IB_QP_STATE | IB_QP_PORT |
			   IB_QP_PKEY_INDEX |
			   (ud ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS));
	if (KT_BAD(t, !ret, "INIT: %d", ret))
		return false;
	if (to == IB_QPS_INIT)
		return true;
	a.qp_state = IB_QPS_RTR;
	a.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&a.ah_attr, 1);
	rdma_ah_set_grh(&a.ah_attr, &t->gid[1], 0, t->gid_index[0], 64, 0);
	ret = ib_modify_qp(d->qp, &a, ud ? IB_QP_STATE :
			   IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   (rc ? IB_QP_MAX_DEST_RD_ATOMIC |
				 IB_QP_MIN_RNR_TIMER : 0));
	if (KT_BAD(t, !ret, "RTR: %d", ret))
		return false;
	a.qp_state = IB_QPS_RTS;
	ret = ib_modify_qp(d->qp, &a, IB_QP_STATE | IB_QP_SQ_PSN |
			   (rc ? IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
				 IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC : 0));
	return KT_OK(t, !ret, "RTS: %d", ret);
}

static bool dq_post_recvs(struct dq *d)
{
	struct ib_recv_wr r = { .wr_cqe = &d->recv };
	int i, ret = 0;

	for (i = 0; i < RECVS && !ret; i++)
		ret = ib_post_recv(d->qp, &r, NULL);
	return KT_OK(d->t, !ret, "recv: %d", ret);
}

static bool dq_post_sends(struct dq *d)
{
	struct ib_rdma_wr w = {
		.wr = { .wr_cqe = &d->send, .opcode = IB_WR_RDMA_WRITE },
	};
	int i, ret = 0;

	for (i = 0; i < SENDS && !ret; i++)
		ret = ib_post_send(d->qp, &w.wr, NULL);
	return KT_OK(d->t, !ret, "send: %d", ret);
}

static void dq_check(struct dq *d, int sends, int recvs)
{
	KT_OK(d->t, atomic_read(&d->sends) == sends, "%d of %d sends",
	      atomic_read(&d->sends), sends);
	KT_OK(d->t, atomic_read(&d->recvs) == recvs, "%d of %d receives",
	      atomic_read(&d->recvs), recvs);
}

static void busy(struct kt *t, enum ib_poll_context poll)
{
	struct dq *d;
	int i;

	for (i = 0; i < 5; i++) {
		d = dq_new(t, IB_QPT_RC, poll);
		if (!d || !dq_connect(d, IB_QPS_RTS) || !dq_post_recvs(d) ||
		    !dq_post_sends(d))
			return;
		ib_drain_qp(d->qp);
		dq_check(d, SENDS, RECVS);
		KT_OK(t, !atomic_read(&d->good), "all flushed");
	}
}

static void busy_softirq(struct kt *t)
{
	busy(t, IB_POLL_SOFTIRQ);
}

static void busy_workqueue(struct kt *t)
{
	busy(t, IB_POLL_WORKQUEUE);
}

static void busy_direct(struct kt *t)
{
	busy(t, IB_POLL_DIRECT);
}

/* Each half alone, then again, then both: an ERR QP is drained as well. */
static void again_in_err(struct kt *t)
{
	struct dq *d = dq_new(t, IB_QPT_RC, IB_POLL_SOFTIRQ);

	if (!d || !dq_connect(d, IB_QPS_RTS) || !dq_post_recvs(d) ||
	    !dq_post_sends(d))
		return;
	ib_drain_sq(d->qp);
	KT_OK(t, atomic_read(&d->sends) == SENDS, "sends");
	ib_drain_rq(d->qp);
	dq_check(d, SENDS, RECVS);
	/* what is posted to a QP in ERR is flushed */
	if (!dq_post_sends(d) || !dq_post_recvs(d))
		return;
	ib_drain_qp(d->qp);
	dq_check(d, 2 * SENDS, 2 * RECVS);
	ib_drain_qp(d->qp);
	dq_check(d, 2 * SENDS, 2 * RECVS);
}

static void before_rts(struct kt *t)
{
	struct dq *d = dq_new(t, IB_QPT_RC, IB_POLL_SOFTIRQ);

	if (!d || !dq_connect(d, IB_QPS_INIT) || !dq_post_recvs(d))
		return;
	ib_drain_qp(d->qp);
	dq_check(d, 0, RECVS);
}

/* ib_drain_sq() posts a WRITE to QPs of every type. */
static void datagram(struct kt *t)
{
	struct dq *d = dq_new(t, IB_QPT_UD, IB_POLL_SOFTIRQ);

	if (!d || !dq_connect(d, IB_QPS_RTS) || !dq_post_recvs(d))
		return;
	ib_drain_qp(d->qp);
	dq_check(d, 0, RECVS);
}

/* A local error takes a UC QP to SQE; its receive side goes on. */
static void send_queue_error(struct kt *t)
{
	struct dq *d = dq_new(t, IB_QPT_UC, IB_POLL_SOFTIRQ);
	struct ib_send_wr bad = { .opcode = IB_WR_LOCAL_INV };
	unsigned long end = jiffies + 5 * HZ;
	struct ib_qp_init_attr init;
	struct ib_qp_attr a;
	int ret;

	if (!d || !dq_connect(d, IB_QPS_RTS) || !dq_post_recvs(d))
		return;
	bad.wr_cqe = &d->send;
	ret = ib_post_send(d->qp, &bad, NULL);
	KT_OK(t, !ret, "post: %d", ret);
	while (atomic_read(&d->sends) < 1 && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	ret = ib_query_qp(d->qp, &a, IB_QP_STATE, &init);
	KT_OK(t, !ret && a.qp_state == IB_QPS_SQE, "state %d", a.qp_state);
	KT_OK(t, !atomic_read(&d->recvs), "receives wait");
	dq_post_sends(d);
	ib_drain_qp(d->qp);
	dq_check(d, 1 + SENDS, RECVS);
}

/* After a reset nothing is left, and the QP works again. */
static void reset_forgets(struct kt *t)
{
	struct dq *d = dq_new(t, IB_QPT_RC, IB_POLL_SOFTIRQ);
	struct ib_qp_attr a = { .qp_state = IB_QPS_RESET };
	int ret;

	if (!d || !dq_connect(d, IB_QPS_RTS) || !dq_post_recvs(d) ||
	    !dq_post_sends(d))
		return;
	ret = ib_modify_qp(d->qp, &a, IB_QP_STATE);
	KT_OK(t, !ret, "%d", ret);
	if (!dq_connect(d, IB_QPS_RTS) || !dq_post_recvs(d) ||
	    !dq_post_sends(d))
		return;
	ib_drain_qp(d->qp);
	dq_check(d, SENDS, RECVS);
}

const struct kt_case kt_drain_cases[] = {
	{ "drain_busy_softirq", busy_softirq },
	{ "drain_busy_workqueue", busy_workqueue },
	{ "drain_busy_direct", busy_direct },
	{ "drain_again_in_err", again_in_err },
	{ "drain_before_rts", before_rts },
	{ "drain_datagram", datagram },
	{ "drain_send_queue_error", send_queue_error },
	{ "drain_reset_forgets", reset_forgets },
	{}
};
