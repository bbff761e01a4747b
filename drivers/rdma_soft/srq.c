// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues: a ring of receive WQEs that several QPs take from. A
 * process fills its ring itself, a kernel consumer through post_srq_recv.
 */
#include "srq.h"

#include <linux/kernel.h>
#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>

#include "device.h"

static atomic_t srq_numbers;

static u32 srq_entry_size(u32 max_sge)
{
	return sizeof(struct rdma_soft_recv_wqe) +
	       max_sge * sizeof(struct rdma_soft_sge);
}

static struct ib_ucontext *srq_context(struct ib_udata *udata)
{
	return &rdma_udata_to_drv_context(udata, struct rsoft_ucontext,
					  ibuc)->ibuc;
}

static int srq_create_ring(struct rsoft_srq *srq, u32 max_wr,
			   struct ib_udata *udata)
{
	struct rdma_soft_create_srq_resp resp = { .srq_num = srq->num };
	struct ib_ucontext *ctx = NULL;
	int ret;

	if (udata) {
		if (udata->outlen < sizeof(resp))
			return -EINVAL;
		ctx = srq_context(udata);
	}

	ret = rsoft_ring_init(&srq->ring, ctx, max_wr,
			      srq_entry_size(srq->max_sge), &resp.mi);
	if (ret || !udata)
		return ret;

	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret)
		rsoft_ring_destroy(&srq->ring);
	return ret;
}

int rsoft_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct rsoft_srq *srq = to_rsrq(ibsrq);
	struct ib_srq_attr *attr = &init->attr;
	int ret;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > RSOFT_MAX_SRQ_WR ||
	    attr->max_sge > RSOFT_MAX_SGE)
		return -EINVAL;

	spin_lock_init(&srq->lock);
	mutex_init(&srq->resize_lock);
	srq->user = udata;
	srq->max_sge = max(attr->max_sge, 1u);
	srq->num = atomic_inc_return(&srq_numbers) & 0xffffff;

	ret = srq_create_ring(srq, attr->max_wr, udata);
	if (ret) {
		mutex_destroy(&srq->resize_lock);
		return ret;
	}
	srq->max_wr = srq->ring.mask;
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	return 0;
}

int rsoft_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct rsoft_srq *srq = to_rsrq(ibsrq);

	rsoft_ring_destroy(&srq->ring);
	mutex_destroy(&srq->resize_lock);
	return 0;
}

int rsoft_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct rsoft_srq *srq = to_rsrq(ibsrq);
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = srq->limit;
	spin_unlock_irqrestore(&srq->lock, flags);
	return srq->error ? -EINVAL : 0;
}

/*
 * Move what was posted into a new ring and use that. As with a CQ, the bulk is
 * copied before the lock is taken; what QPs take meanwhile is skipped after.
 */
static int srq_swap_ring(struct rsoft_srq *srq, struct rsoft_ring *new)
{
	u32 cons, taken, done, num;
	unsigned long flags;

	lockdep_assert_held(&srq->resize_lock);
	spin_lock_irqsave(&srq->lock, flags);
	cons = srq->ring.cons;
	done = rsoft_ring_count(&srq->ring, cons);
	spin_unlock_irqrestore(&srq->lock, flags);

	if (done > new->mask)
		return -EINVAL;
	rsoft_ring_copy(new, 0, &srq->ring, cons, done);

	spin_lock_irqsave(&srq->lock, flags);
	num = rsoft_ring_count(&srq->ring, cons);
	taken = (srq->ring.cons - cons) & srq->ring.mask;
	/* More went through than the old ring holds: its owner plays tricks. */
	if (num > new->mask || num < done || taken > num) {
		spin_unlock_irqrestore(&srq->lock, flags);
		return -EINVAL;
	}
	rsoft_ring_copy(new, done, &srq->ring, cons + done, num - done);
	new->prod = num;
	new->buf->producer_index = num;
	rsoft_ring_consume(new, taken);
	swap(srq->ring, *new);
	srq->max_wr = srq->ring.mask;
	if (srq->limit > srq->max_wr)
		srq->limit = 0;
	spin_unlock_irqrestore(&srq->lock, flags);
	return 0;
}

static int srq_resize(struct rsoft_srq *srq, u32 max_wr, struct ib_udata *udata)
{
	struct rdma_soft_modify_srq_cmd cmd;
	struct rdma_soft_mminfo mi = {};
	struct ib_ucontext *ctx = NULL;
	struct rsoft_ring ring = {};
	int ret;

	if (!max_wr || max_wr > RSOFT_MAX_SRQ_WR || srq->user != !!udata)
		return -EINVAL;
	if (udata) {
		if (udata->inlen < sizeof(cmd))
			return -EINVAL;
		ret = ib_copy_from_udata(&cmd, udata, sizeof(cmd));
		if (ret)
			return ret;
		ctx = srq_context(udata);
	}

	ret = rsoft_ring_init(&ring, ctx, max_wr, srq_entry_size(srq->max_sge),
			      &mi);
	if (ret)
		return ret;

	/* After the swap nothing may fail: the library would keep the old one. */
	if (udata && copy_to_user(u64_to_user_ptr(cmd.mmap_info_addr), &mi,
				  sizeof(mi))) {
		ret = -EFAULT;
	} else {
		mutex_lock(&srq->resize_lock);
		ret = srq_swap_ring(srq, &ring);
		mutex_unlock(&srq->resize_lock);
	}
	rsoft_ring_destroy(&ring);
	return ret;
}

int rsoft_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct rsoft_srq *srq = to_rsrq(ibsrq);
	unsigned long flags;
	int ret = 0;

	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if (srq->error)
		return -EINVAL;

	if (mask & IB_SRQ_MAX_WR) {
		if ((mask & IB_SRQ_LIMIT) && attr->srq_limit > attr->max_wr)
			return -EINVAL;
		ret = srq_resize(srq, attr->max_wr, udata);
		if (ret)
			return ret;
	}
	if (mask & IB_SRQ_LIMIT) {
		spin_lock_irqsave(&srq->lock, flags);
		if (attr->srq_limit > srq->max_wr)
			ret = -EINVAL;
		else
			srq->limit = attr->srq_limit;
		spin_unlock_irqrestore(&srq->lock, flags);
	}
	return ret;
}

static void srq_event(struct rsoft_srq *srq, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
		.event = type,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&ev, srq->ibsrq.srq_context);
}

/* Fewer are left than the limit: it is told once per arming. */
static bool srq_limit_reached(struct rsoft_srq *srq)
{
	lockdep_assert_held(&srq->lock);
	if (!srq->limit ||
	    rsoft_ring_count(&srq->ring, srq->ring.cons) >= srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

bool rsoft_srq_fetch(struct rsoft_srq *srq, struct rsoft_rwqe *out)
{
	const struct rdma_soft_recv_wqe *wqe;
	bool limit = false, fault = false;
	unsigned long flags;

	spin_lock_irqsave(&srq->lock, flags);
	wqe = srq->error ? NULL : rsoft_ring_peek(&srq->ring, srq->ring.cons);
	if (wqe) {
		rsoft_rwqe_decode(wqe, srq->max_sge, out);
		rsoft_ring_consume(&srq->ring, srq->ring.cons + 1);
		limit = srq_limit_reached(srq);
		/* no library writes such an element: the ring is damaged */
		fault = out->status != IB_WC_SUCCESS;
		srq->error = fault;
	}
	spin_unlock_irqrestore(&srq->lock, flags);

	/* Raised once per arming or for ever, with no lock held. */
	if (fault)
		srq_event(srq, IB_EVENT_SRQ_ERR);
	if (limit)
		srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	return wqe;
}

int rsoft_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	struct rsoft_srq *srq = to_rsrq(ibsrq);
	unsigned long flags;
	int ret = 0;

	/* A process fills its ring itself. */
	if (srq->user) {
		*bad_wr = wr;
		return -EINVAL;
	}

	spin_lock_irqsave(&srq->lock, flags);
	for (; wr; wr = wr->next) {
		if (wr->num_sge < 0 || wr->num_sge > (int)srq->max_sge)
			ret = -EINVAL;
		else if (rsoft_ring_full(&srq->ring))
			ret = -ENOMEM;
		if (ret) {
			*bad_wr = wr;
			break;
		}
		rsoft_rwqe_encode(rsoft_ring_slot(&srq->ring, srq->ring.prod),
				  wr);
		rsoft_ring_produce(&srq->ring);
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return ret;
}
