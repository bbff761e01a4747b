// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: creation, destruction, posting, and the ways to ERR. Changes of
 * attributes and state are in qp_modify.c.
 */
#include <linux/delay.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/uverbs_ioctl.h>

#include "inject.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "stack.h"
#include "timer.h"
#include "trace.h"

/* Private WQEs of a user QP; the ring behind them may be longer. */
#define SQ_WINDOW_USER 1024

static int qp_check_init(const struct rsoft_dev *dev,
			 const struct ib_qp_init_attr *init, bool user)
{
	const struct ib_qp_cap *cap = &init->cap;

	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		break;
	case IB_QPT_GSI:
		if (user || init->port_num != 1)
			return -EINVAL;
		if (rcu_access_pointer(dev->gsi))
			return -EBUSY;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > RSOFT_MAX_QP_WR ||
	    cap->max_send_sge > RSOFT_MAX_SGE ||
	    cap->max_inline_data > RSOFT_MAX_INLINE)
		return -EINVAL;
	if (!init->srq && (cap->max_recv_wr > RSOFT_MAX_QP_WR ||
			   cap->max_recv_sge > RSOFT_MAX_SGE))
		return -EINVAL;
	if (init->srq && init->qp_type == IB_QPT_GSI)
		return -EINVAL;
	return 0;
}

/* Bytes for the pieces or the inline payload of a send WQE. */
static u32 sq_body(const struct ib_qp_cap *cap)
{
	return max_t(u32, cap->max_send_sge * sizeof(struct rsoft_sge),
		     round_up(cap->max_inline_data, sizeof(u64)));
}

static int qp_init_sq(struct rsoft_qp *qp, struct ib_qp_init_attr *init,
		      struct ib_ucontext *ctx, struct rdma_soft_mminfo *mi)
{
	struct rsoft_sq *sq = &qp->sq;
	u32 body, num;
	int err;

	sq->max_wr = max(init->cap.max_send_wr, 1u);
	body = max_t(u32, sq_body(&init->cap), sizeof(struct rsoft_sge));
	sq->max_sge = max(init->cap.max_send_sge, 1u);
	sq->max_inline = min_t(u32, body, RSOFT_MAX_INLINE);
	sq->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	spin_lock_init(&sq->lock);

	num = roundup_pow_of_two(sq->max_wr);
	if (qp->user)
		num = min_t(u32, num, SQ_WINDOW_USER);
	sq->mask = num - 1;
	sq->stride = round_up(sizeof(struct rsoft_swqe) + body, sizeof(u64));
	sq->win = kvcalloc(num, sq->stride, GFP_KERNEL_ACCOUNT);
	if (!sq->win)
		return -ENOMEM;
	if (!qp->user)
		return 0;
	err = rsoft_ring_init(&sq->ring, ctx, sq->max_wr,
			      sizeof(struct rdma_soft_send_wqe) + body, mi);
	if (err) {
		kvfree(sq->win);
		sq->win = NULL;
		return err;
	}
	sq->max_wr = sq->ring.mask;
	return 0;
}

static int qp_init_rq(struct rsoft_qp *qp, struct ib_qp_init_attr *init,
		      struct ib_ucontext *ctx, struct rdma_soft_mminfo *mi)
{
	struct rsoft_rq *rq = &qp->rq;
	int err;

	spin_lock_init(&rq->lock);
	if (init->srq)
		return 0;
	rq->max_wr = max(init->cap.max_recv_wr, 1u);
	rq->max_sge = max(init->cap.max_recv_sge, 1u);
	err = rsoft_ring_init(&rq->ring, ctx, rq->max_wr,
			      sizeof(struct rdma_soft_recv_wqe) +
			      rq->max_sge * sizeof(struct rdma_soft_sge), mi);
	if (!err)
		rq->max_wr = rq->ring.mask;
	return err;
}

/* What the consumer really got. */
static void qp_report_cap(const struct rsoft_qp *qp,
			  struct ib_qp_init_attr *init)
{
	init->cap.max_send_wr = qp->sq.max_wr;
	init->cap.max_send_sge = qp->sq.max_sge;
	init->cap.max_inline_data = qp->sq.max_inline;
	if (init->srq) {
		init->cap.max_recv_wr = 0;
		init->cap.max_recv_sge = 0;
	} else {
		init->cap.max_recv_wr = qp->rq.max_wr;
		init->cap.max_recv_sge = qp->rq.max_sge;
	}
}

static void qp_free_queues(struct rsoft_qp *qp)
{
	struct rsoft_sq *sq = &qp->sq;

	while (sq->tail != sq->head)
		rsoft_swqe_release(rsoft_sq_at(sq, sq->tail++));
	rsoft_ring_destroy(&sq->ring);
	kvfree(sq->win);
	rsoft_ring_destroy(&qp->rq.ring);
	kfree(qp->resp.rdres);
}

static int qp_init_queues(struct rsoft_qp *qp, struct ib_qp_init_attr *init,
			  struct ib_udata *udata)
{
	struct rdma_soft_create_qp_resp resp = {};
	struct ib_ucontext *ctx = NULL;
	int err;

	if (udata) {
		if (udata->outlen < sizeof(resp))
			return -EINVAL;
		ctx = qp->ibqp.pd->uobject->context;
	}
	err = qp_init_sq(qp, init, ctx, &resp.sq_mi);
	if (!err)
		err = qp_init_rq(qp, init, ctx, &resp.rq_mi);
	if (!err)
		err = rsoft_resp_resize(qp, 1);
	if (!err && udata)
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		qp_free_queues(qp);
	return err;
}

/* Findable from now on. */
static void qp_publish(struct rsoft_qp *qp)
{
	struct rsoft_dev *dev = qp->dev;

	spin_lock_irq(&dev->qp_lock);
	list_add_tail(&qp->node, &dev->qps);
	spin_unlock_irq(&dev->qp_lock);
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		rcu_assign_pointer(dev->gsi, qp->h);
	rsoft_table_publish(&rsoft_qp_table, qp->h);
}

int rsoft_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		    struct ib_udata *udata)
{
	struct rsoft_dev *dev = to_rdev(ibqp->device);
	struct rsoft_qp *qp = to_rqp(ibqp);
	int err;

	if (READ_ONCE(dev->gone))
		return -EIO;
	err = qp_check_init(dev, init, udata);
	if (err)
		return err;
	qp->dev = dev;
	qp->stats = dev->stats;
	qp->user = udata;
	if (udata)
		qp->net_cookie = current->nsproxy->net_ns->net_cookie;
	qp->state = RSOFT_QPS_RESET;
	ibqp->qp_type = init->qp_type;
	ibqp->srq = init->srq;
	ibqp->send_cq = init->send_cq;
	ibqp->recv_cq = init->recv_cq;
	mutex_init(&qp->ctl);
	spin_lock_init(&qp->state_lock);
	qp->mtu_shift = ilog2(ib_mtu_enum_to_int(rsoft_dev_mtu(dev->ndev->mtu)));
	rsoft_engine_init(&qp->send, qp, &rsoft_send_ops);
	rsoft_engine_init(&qp->recv, qp, &rsoft_recv_ops);
	rsoft_timers_init(qp);

	err = rsoft_sock_create(dev_net(dev->ndev), &qp->sock);
	if (err)
		return err;
	err = qp_init_queues(qp, init, udata);
	if (err)
		goto err_sock;
	qp->h = rsoft_table_add(&rsoft_qp_table, qp, GFP_KERNEL);
	if (IS_ERR(qp->h)) {
		err = PTR_ERR(qp->h);
		goto err_queues;
	}
	qp->qpn = init->qp_type == IB_QPT_GSI ? RSOFT_QPN_GSI : qp->h->id;
	ibqp->qp_num = qp->qpn;
	qp_report_cap(qp, init);
	qp->attr.cap = init->cap;
	qp->attr.path_mtu = rsoft_dev_mtu(dev->ndev->mtu);
	qp_publish(qp);
	return 0;

err_queues:
	qp_free_queues(qp);
err_sock:
	rsoft_sock_release(qp->sock);
	return err;
}

/*
 * 1. Nothing new starts: state RESET, engines paused for good, timers stopped.
 * 2. Nobody finds the QP any more.
 * 3. Wait for those who found it before: receive hooks, deferred runs. They
 *    find the engines paused and leave, so the wait ends by itself.
 * 4. Release. skbs in the stack hold the socket, not the QP.
 */
int rsoft_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rsoft_qp *qp = to_rqp(ibqp);
	struct rsoft_dev *dev = qp->dev;

	mutex_lock(&qp->ctl);
	spin_lock_irq(&qp->state_lock);
	rsoft_qp_set_state(qp, RSOFT_QPS_RESET);
	spin_unlock_irq(&qp->state_lock);
	rsoft_engine_pause(&qp->send);
	rsoft_engine_pause(&qp->recv);
	mutex_unlock(&qp->ctl);
	rsoft_timers_stop(qp);
	rsoft_inject_forget(dev, qp->qpn);

	spin_lock_irq(&dev->qp_lock);
	list_del(&qp->node);
	spin_unlock_irq(&dev->qp_lock);
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		RCU_INIT_POINTER(dev->gsi, NULL);
	rsoft_table_remove(&rsoft_qp_table, qp->h);

	rsoft_engine_destroy(&qp->send);
	rsoft_engine_destroy(&qp->recv);
	rsoft_stack_forget(qp);
	qp_free_queues(qp);
	rsoft_path_put(rcu_replace_pointer(qp->path, NULL, true));
	rsoft_sock_release(qp->sock);
	mutex_destroy(&qp->ctl);
	return 0;
}

struct rsoft_qp *rsoft_qp_lookup(u32 qpn)
{
	struct rsoft_handle *h = rsoft_table_get(&rsoft_qp_table, qpn);
	struct rsoft_qp *qp;

	if (!h)
		return NULL;
	qp = h->obj;
	/* QP1 has a place in the table, but not under that number */
	if (qp->qpn != qpn) {
		rsoft_handle_put(h);
		return NULL;
	}
	return qp;
}

struct rsoft_qp *rsoft_qp_gsi(struct rsoft_dev *dev)
{
	struct rsoft_handle *h = rcu_dereference(dev->gsi);

	if (!h || !refcount_inc_not_zero(&h->ref))
		return NULL;
	return h->obj;
}

void rsoft_qp_rx(struct rsoft_qp *qp, struct rsoft_rx *rx, u8 opcode)
{
	const struct rsoft_opinfo *info = rsoft_opinfo(opcode);

	if (info->flags & RSOFT_PKT_RESPONSE)
		rsoft_engine_rx(&qp->send, rx);
	else
		rsoft_engine_rx(&qp->recv, rx);
}

void rsoft_qp_event(struct rsoft_qp *qp, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = &qp->dev->ib_dev,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
}

void rsoft_qp_set_state(struct rsoft_qp *qp, enum rsoft_qps state)
{
	lockdep_assert_held(&qp->state_lock);
	if (qp->state != state)
		trace_rsoft_qp_state(qp, qp->state, state);
	WRITE_ONCE(qp->state, state);
}

void rsoft_qp_error(struct rsoft_qp *qp)
{
	unsigned long flags;
	bool was;

	spin_lock_irqsave(&qp->state_lock, flags);
	was = qp->state == RSOFT_QPS_RESET || qp->state == RSOFT_QPS_ERR;
	if (!was)
		rsoft_qp_set_state(qp, RSOFT_QPS_ERR);
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (was)
		return;
	rsoft_engine_schedule(&qp->send, RSOFT_EV_ERROR);
	rsoft_engine_schedule(&qp->recv, RSOFT_EV_ERROR);
}

static bool engine_quiet(const struct rsoft_engine *e)
{
	return !READ_ONCE(e->events) && !atomic_read(&e->own) &&
	       !work_busy((struct work_struct *)&e->work) &&
	       !test_bit(TASKLET_STATE_SCHED, &e->kick.state);
}

/* Is a flush still going on in one of the user QPs? */
static bool qp_any_busy(struct rsoft_dev *dev)
{
	struct rsoft_qp *qp;
	bool busy = false;

	lockdep_assert_held(&dev->qp_lock);
	list_for_each_entry(qp, &dev->qps, node) {
		if (qp->user && !(engine_quiet(&qp->send) &&
				  engine_quiet(&qp->recv)))
			busy = true;
	}
	return busy;
}

static bool qp_users_quiet(struct rsoft_dev *dev)
{
	bool busy;

	spin_lock_irq(&dev->qp_lock);
	busy = qp_any_busy(dev);
	spin_unlock_irq(&dev->qp_lock);
	return !busy;
}

void rsoft_qp_flush_users(struct rsoft_dev *dev)
{
	struct rsoft_qp *qp;
	int tries;

	spin_lock_irq(&dev->qp_lock);
	list_for_each_entry(qp, &dev->qps, node) {
		if (qp->user)
			rsoft_qp_error(qp);
	}
	spin_unlock_irq(&dev->qp_lock);
	for (tries = 0; tries < 100 && !qp_users_quiet(dev); tries++)
		usleep_range(1000, 2000);
}

/* A user's doorbell: the WQEs are in the ring. */
static int qp_doorbell(struct rsoft_qp *qp)
{
	switch (rsoft_hold_bell(qp)) {
	case RSOFT_HOLD_KEEP:
		return 0;
	case RSOFT_HOLD_PUSH:
		rsoft_engine_post(&qp->send, RSOFT_EV_PUSH);
		break;
	case RSOFT_HOLD_NONE:
		break;
	}
	rsoft_engine_post(&qp->send, RSOFT_EV_DOORBELL);
	/* the event is seen by the owner if we fail to own the engine */
	smp_mb__after_atomic();
	local_bh_disable();
	rsoft_engine_run(&qp->send, RSOFT_BUDGET_DOORBELL);
	local_bh_enable();
	rsoft_hold_left(&qp->req.hold);
	return 0;
}

static int qp_post_one(struct rsoft_qp *qp, const struct ib_send_wr *wr)
{
	struct rsoft_sq *sq = &qp->sq;
	unsigned long flags;
	int err = -ENOMEM;

	spin_lock_irqsave(&sq->lock, flags);
	/* pairs with the store-release when a WQE is retired */
	if (sq->head - smp_load_acquire(&sq->tail) < sq->max_wr) {
		err = rsoft_swqe_from_wr(qp, wr, rsoft_sq_at(sq, sq->head));
		if (err && READ_ONCE(qp->state) == RSOFT_QPS_ERR) {
			rsoft_swqe_flushed(wr, rsoft_sq_at(sq, sq->head));
			err = 0;
		}
		if (!err) {
			/* pairs with the load-acquire in rsoft_sq_head() */
			smp_store_release(&sq->head, sq->head + 1);
		}
	}
	spin_unlock_irqrestore(&sq->lock, flags);
	return err;
}

int rsoft_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr)
{
	struct rsoft_qp *qp = to_rqp(ibqp);
	int err = 0;

	*bad_wr = wr;
	if (READ_ONCE(qp->dev->gone) && qp->user)
		return -EIO;
	if (!(rsoft_qp_caps(qp) & RSOFT_CAN_POST_SEND))
		return -EINVAL;
	if (qp->user)
		return wr ? -EINVAL : qp_doorbell(qp);
	for (; wr && !err; wr = wr->next) {
		*bad_wr = wr;
		err = qp_post_one(qp, wr);
	}
	rsoft_engine_schedule(&qp->send, RSOFT_EV_DOORBELL);
	return err;
}

static int rq_produce(struct rsoft_rq *rq, const struct ib_recv_wr *wr)
{
	lockdep_assert_held(&rq->lock);
	if (rsoft_ring_full(&rq->ring))
		return -ENOMEM;
	rsoft_rwqe_encode(rsoft_ring_slot(&rq->ring, rq->ring.prod), wr);
	rsoft_ring_produce(&rq->ring);
	return 0;
}

static int qp_post_recv_one(struct rsoft_qp *qp, const struct ib_recv_wr *wr)
{
	struct rsoft_rq *rq = &qp->rq;
	unsigned long flags;
	int err;

	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	spin_lock_irqsave(&rq->lock, flags);
	err = rq_produce(rq, wr);
	spin_unlock_irqrestore(&rq->lock, flags);
	return err;
}

int rsoft_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr)
{
	struct rsoft_qp *qp = to_rqp(ibqp);
	int err = 0;

	*bad_wr = wr;
	/* user space fills its ring itself */
	if (qp->user || ibqp->srq)
		return -EINVAL;
	if (!(rsoft_qp_caps(qp) & RSOFT_CAN_POST_RECV))
		return -EINVAL;
	for (; wr && !err; wr = wr->next) {
		*bad_wr = wr;
		err = qp_post_recv_one(qp, wr);
	}
	/* either we see ERR or the flush that follows it sees the receives */
	smp_mb();
	if (READ_ONCE(qp->state) == RSOFT_QPS_ERR)
		rsoft_engine_schedule(&qp->recv, RSOFT_EV_DOORBELL);
	return err;
}
