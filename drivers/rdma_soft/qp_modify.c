// SPDX-License-Identifier: GPL-2.0
/*
 * QP attributes and states. A change is validated as a whole, everything that
 * can fail is made ready, then both engines are paused, the change is applied,
 * and they go on: the data path never sees half of it (list report on arrays
 * swapped under a running engine).
 */
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "timer.h"

static int modify_check_path(const struct rsoft_dev *dev,
			     const struct ib_qp_attr *attr, int mask)
{
	enum ib_mtu active = rsoft_dev_mtu(dev->ndev->mtu);

	if ((mask & IB_QP_PORT) && attr->port_num != 1)
		return -EINVAL;
	if ((mask & IB_QP_PKEY_INDEX) && attr->pkey_index)
		return -EINVAL;
	if (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE)) {
		if ((mask & IB_QP_ALT_PATH) ||
		    attr->path_mig_state != IB_MIG_MIGRATED)
			return -EINVAL;
	}
	if ((mask & IB_QP_AV) &&
	    (!(rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH) ||
	     rdma_ah_get_port_num(&attr->ah_attr) != 1))
		return -EINVAL;
	if (!(mask & IB_QP_PATH_MTU))
		return 0;
	if (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096)
		return -EINVAL;
	if (attr->path_mtu > active) {
		ibdev_warn_ratelimited(&dev->ib_dev,
				       "path MTU %d does not fit: %s has MTU %u, good for %d; ask for less or raise it\n",
				       ib_mtu_enum_to_int(attr->path_mtu),
				       netdev_name(dev->ndev), dev->ndev->mtu,
				       ib_mtu_enum_to_int(active));
		return -EINVAL;
	}
	return 0;
}

static int modify_check_values(const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC) &&
	    attr->max_rd_atomic > RSOFT_MAX_RD_ATOMIC)
		return -EINVAL;
	if ((mask & IB_QP_MAX_DEST_RD_ATOMIC) &&
	    attr->max_dest_rd_atomic > RSOFT_MAX_RD_ATOMIC)
		return -EINVAL;
	if ((mask & IB_QP_TIMEOUT) && attr->timeout > 31)
		return -EINVAL;
	if ((mask & IB_QP_RETRY_CNT) && attr->retry_cnt > 7)
		return -EINVAL;
	if ((mask & IB_QP_RNR_RETRY) && attr->rnr_retry > 7)
		return -EINVAL;
	if ((mask & IB_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
		return -EINVAL;
	if ((mask & IB_QP_DEST_QPN) && attr->dest_qp_num > RSOFT_QPN_MASK)
		return -EINVAL;
	if ((mask & IB_QP_SQ_PSN) && attr->sq_psn > RSOFT_PSN_MASK)
		return -EINVAL;
	if ((mask & IB_QP_RQ_PSN) && attr->rq_psn > RSOFT_PSN_MASK)
		return -EINVAL;
	return 0;
}

static int modify_check(struct rsoft_qp *qp, const struct ib_qp_attr *attr,
			int mask, enum ib_qp_state *next)
{
	enum ib_qp_state now = (enum ib_qp_state)READ_ONCE(qp->state);
	enum ib_qp_state cur = now;
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mask & IB_QP_CUR_STATE) {
		if (attr->cur_qp_state != now)
			return -EINVAL;
		cur = attr->cur_qp_state;
	}
	*next = mask & IB_QP_STATE ? attr->qp_state : cur;
	if (!ib_modify_qp_is_ok(cur, *next, qp->ibqp.qp_type, mask))
		return -EINVAL;
	err = modify_check_path(qp->dev, attr, mask);
	return err ?: modify_check_values(attr, mask);
}

/* Attributes that are plain values. */
static void modify_values(struct rsoft_qp *qp, const struct ib_qp_attr *attr,
			  int mask)
{
	struct ib_qp_attr *own = &qp->attr;

	if (mask & IB_QP_PORT)
		own->port_num = attr->port_num;
	if (mask & IB_QP_PKEY_INDEX)
		own->pkey_index = attr->pkey_index;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		own->en_sqd_async_notify = attr->en_sqd_async_notify;
	if (mask & IB_QP_ACCESS_FLAGS) {
		own->qp_access_flags = attr->qp_access_flags;
		qp->access = attr->qp_access_flags;
	}
	if (mask & IB_QP_QKEY) {
		own->qkey = attr->qkey;
		qp->qkey = attr->qkey;
	}
	if (mask & IB_QP_PATH_MTU) {
		own->path_mtu = attr->path_mtu;
		qp->mtu_shift = ilog2(ib_mtu_enum_to_int(attr->path_mtu));
	}
	if (mask & IB_QP_DEST_QPN) {
		own->dest_qp_num = attr->dest_qp_num;
		qp->remote_qpn = attr->dest_qp_num;
	}
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		own->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER) {
		own->min_rnr_timer = attr->min_rnr_timer;
		qp->min_rnr_enc = attr->min_rnr_timer;
	}
}

/* Attributes of the requester. */
static void modify_requester(struct rsoft_qp *qp, const struct ib_qp_attr *attr,
			     int mask)
{
	struct ib_qp_attr *own = &qp->attr;

	if (mask & IB_QP_TIMEOUT) {
		own->timeout = attr->timeout;
		qp->ack_timeout_ns = rsoft_ack_timeout_ns(attr->timeout);
	}
	if (mask & IB_QP_RETRY_CNT) {
		own->retry_cnt = attr->retry_cnt;
		qp->retry_cnt = attr->retry_cnt;
		qp->req.retry_left = attr->retry_cnt;
	}
	if (mask & IB_QP_RNR_RETRY) {
		own->rnr_retry = attr->rnr_retry;
		qp->rnr_retry = attr->rnr_retry;
		qp->req.rnr_left = attr->rnr_retry;
	}
	if (mask & IB_QP_MAX_QP_RD_ATOMIC) {
		own->max_rd_atomic = attr->max_rd_atomic;
		qp->req.max_rd = max_t(u32, attr->max_rd_atomic, 1);
	}
	if (mask & IB_QP_RQ_PSN)
		rsoft_resp_init(qp, attr->rq_psn);
	if (mask & IB_QP_SQ_PSN)
		rsoft_req_init(qp, attr->sq_psn);
}

/* Forget all work: what is in the rings was never posted. */
static void modify_reset(struct rsoft_qp *qp)
{
	struct rsoft_sq *sq = &qp->sq;
	u32 idx;

	rsoft_engine_purge(&qp->send);
	rsoft_engine_purge(&qp->recv);
	for (idx = sq->tail; idx != sq->head; idx++)
		rsoft_swqe_release(rsoft_sq_at(sq, idx));
	if (qp->user) {
		idx = READ_ONCE(sq->ring.buf->producer_index) & sq->ring.mask;
		rsoft_ring_consume(&sq->ring, idx);
	} else {
		idx = sq->head;
	}
	sq->head = idx;
	sq->next = idx;
	WRITE_ONCE(sq->tail, idx);
	if (!qp->ibqp.srq) {
		idx = READ_ONCE(qp->rq.ring.buf->producer_index);
		rsoft_ring_consume(&qp->rq.ring, idx);
	}
	qp->resp.have_rwqe = false;
	rsoft_req_init(qp, 0);
	rsoft_resp_init(qp, 0);
	xchg(&qp->send.events, 0);
	xchg(&qp->recv.events, 0);
}

static void modify_state(struct rsoft_qp *qp, enum ib_qp_state next)
{
	enum rsoft_qps was;

	spin_lock_irq(&qp->state_lock);
	was = qp->state;
	/* a fault may have come first; only RESET leaves ERR */
	if (was != RSOFT_QPS_ERR || next == IB_QPS_RESET)
		rsoft_qp_set_state(qp, (enum rsoft_qps)next);
	spin_unlock_irq(&qp->state_lock);

	switch (next) {
	case IB_QPS_RESET:
		modify_reset(qp);
		break;
	case IB_QPS_SQD:
		qp->req.drained = false;
		rsoft_engine_post(&qp->send, RSOFT_EV_DRAIN);
		break;
	case IB_QPS_ERR:
		if (was == RSOFT_QPS_ERR)
			break;
		rsoft_engine_post(&qp->send, RSOFT_EV_ERROR);
		rsoft_engine_post(&qp->recv, RSOFT_EV_ERROR);
		break;
	default:
		/* WQEs posted before sending was possible */
		rsoft_engine_post(&qp->send, RSOFT_EV_DOORBELL);
		break;
	}
}

static void modify_path(struct rsoft_qp *qp, const struct ib_qp_attr *attr,
			struct rsoft_path *path)
{
	struct rsoft_path *old;

	old = rcu_replace_pointer(qp->path, path, lockdep_is_held(&qp->ctl));
	rsoft_path_put(old);
	qp->attr.ah_attr = attr->ah_attr;
	/* the reference on it is the caller's */
	qp->attr.ah_attr.grh.sgid_attr = NULL;
}

static int modify_locked(struct rsoft_qp *qp, const struct ib_qp_attr *attr,
			 int mask)
{
	struct rsoft_path *path = NULL;
	enum ib_qp_state next;
	u32 rqpn;
	int err;

	err = modify_check(qp, attr, mask, &next);
	if (err)
		return err;
	if (mask & IB_QP_AV) {
		rqpn = mask & IB_QP_DEST_QPN ? attr->dest_qp_num :
					       qp->remote_qpn;
		path = rsoft_path_create(qp->dev, &attr->ah_attr, qp->qpn, rqpn,
					 GFP_KERNEL);
		if (IS_ERR(path))
			return PTR_ERR(path);
	}
	rsoft_engine_pause(&qp->send);
	rsoft_engine_pause(&qp->recv);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		err = rsoft_resp_resize(qp, attr->max_dest_rd_atomic);
	if (!err) {
		if (path)
			modify_path(qp, attr, path);
		path = NULL;
		modify_values(qp, attr, mask);
		modify_requester(qp, attr, mask);
		if (mask & IB_QP_STATE)
			modify_state(qp, next);
	}
	rsoft_engine_resume(&qp->recv);
	rsoft_engine_resume(&qp->send);
	rsoft_path_put(path);
	return err;
}

int rsoft_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct rsoft_qp *qp = to_rqp(ibqp);
	int err;

	if (READ_ONCE(qp->dev->gone) && qp->user)
		return -EIO;
	mutex_lock(&qp->ctl);
	err = modify_locked(qp, attr, mask);
	mutex_unlock(&qp->ctl);
	return err;
}

int rsoft_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct rsoft_qp *qp = to_rqp(ibqp);

	mutex_lock(&qp->ctl);
	*attr = qp->attr;
	attr->qp_state = (enum ib_qp_state)READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->rq_psn = READ_ONCE(qp->resp.epsn);
	attr->sq_psn = READ_ONCE(qp->req.psn);
	attr->sq_draining = attr->qp_state == IB_QPS_SQD &&
			    !READ_ONCE(qp->req.drained);
	mutex_unlock(&qp->ctl);

	*init = (struct ib_qp_init_attr){
		.event_handler = ibqp->event_handler,
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = attr->cap,
		.sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR :
						IB_SIGNAL_REQ_WR,
		.qp_type = ibqp->qp_type,
	};
	return 0;
}
