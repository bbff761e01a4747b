// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues. Engines add completions under cq->lock; the handler runs
 * after the lock was dropped: a user's at once (it only wakes the process), a
 * kernel consumer's from a tasklet, one at a time and never inside a verb.
 *
 * A completion that finds the queue full is an overflow: nothing is overwritten
 * and nothing is lost without a word. The queue is dead from then on, its owner
 * gets IB_EVENT_CQ_ERR, the QPs that use it go to ERR with
 * IB_EVENT_QP_FATAL.
 */
#include "cq.h"

#include <linux/kernel.h>
#include <linux/string.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "device.h"
#include "engine.h"
#include "inject.h"
#include "qp.h"

/* Slots of a user's ring: the smallest power of two that holds a CQE. */
#define USER_CQE_SIZE	sizeof(struct ib_uverbs_wc)

/* ibv_wc_flags; the kernel numbers the second one differently. */
#define USER_WC_GRH	BIT(0)
#define USER_WC_IMM	BIT(1)
#define USER_WC_INV	BIT(3)

static_assert(IB_WC_GRH == USER_WC_GRH);
static_assert(IB_WC_WITH_IMM == USER_WC_IMM);

static void cq_kernel_event(struct tasklet_struct *t)
{
	struct rsoft_cq *cq = from_tasklet(cq, t, tasklet);

	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

/* One QP that uses the queue and is not in ERR yet, held; NULL if none. */
static struct rsoft_qp *cq_next_qp(struct rsoft_dev *dev, struct ib_cq *ibcq)
{
	struct rsoft_qp *qp, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&dev->qp_lock, flags);
	list_for_each_entry(qp, &dev->qps, node) {
		enum rsoft_qps state = READ_ONCE(qp->state);

		if (qp->ibqp.send_cq != ibcq && qp->ibqp.recv_cq != ibcq)
			continue;
		/* In RESET there is nothing to complete. */
		if (state == RSOFT_QPS_ERR || state == RSOFT_QPS_RESET)
			continue;
		if (!refcount_inc_not_zero(&qp->h->ref))
			continue;
		found = qp;
		break;
	}
	spin_unlock_irqrestore(&dev->qp_lock, flags);
	return found;
}

static void cq_overflow_work(struct work_struct *work)
{
	struct rsoft_cq *cq = container_of(work, struct rsoft_cq,
					   overflow_work);
	struct rsoft_dev *dev = to_rdev(cq->ibcq.device);
	struct ib_event ev = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};
	struct rsoft_qp *qp;

	if (!cq->told) {
		cq->told = true;
		ibdev_warn_ratelimited(cq->ibcq.device,
				       "CQ overflow: more completions than %d entries\n",
				       cq->ibcq.cqe);
		if (cq->ibcq.event_handler)
			cq->ibcq.event_handler(&ev, cq->ibcq.cq_context);
	}

	while ((qp = cq_next_qp(dev, &cq->ibcq))) {
		rsoft_qp_error(qp);
		/* its completions cannot be reported (IBTA 11.6.3.2) */
		rsoft_qp_event(qp, IB_EVENT_QP_FATAL);
		rsoft_handle_put(qp->h);
		cond_resched();
	}
}

static u32 cq_entry_size(const struct rsoft_cq *cq)
{
	return cq->user ? USER_CQE_SIZE : sizeof(struct ib_wc);
}

static int cq_create_ring(struct rsoft_cq *cq, u32 cqe, struct ib_udata *udata)
{
	struct rdma_soft_create_cq_resp resp = {};
	struct ib_ucontext *ctx = NULL;
	int ret;

	if (udata) {
		if (udata->outlen < sizeof(resp))
			return -EINVAL;
		ctx = &rdma_udata_to_drv_context(udata, struct rsoft_ucontext,
						 ibuc)->ibuc;
	}

	ret = rsoft_ring_init(&cq->ring, ctx, cqe, cq_entry_size(cq), &resp.mi);
	if (ret || !udata)
		return ret;

	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret)
		rsoft_ring_destroy(&cq->ring);
	return ret;
}

static void cq_notify(struct rsoft_cq *cq)
{
	if (cq->user)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	else
		tasklet_schedule(&cq->tasklet);
}

/* Nothing waits for moderation any more. Returns true if it is to be told. */
static bool cq_settle(struct rsoft_cq *cq)
{
	bool notify = cq->armed && cq->pending;

	lockdep_assert_held(&cq->lock);
	cq->pending = 0;
	if (notify)
		cq->armed = 0;
	return notify;
}

static enum hrtimer_restart cq_mod_expired(struct hrtimer *timer)
{
	struct rsoft_cq *cq = container_of(timer, struct rsoft_cq, mod_timer);
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	notify = cq_settle(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify)
		cq_notify(cq);
	return HRTIMER_NORESTART;
}

int rsoft_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct rsoft_create_cq_arg *arg)
{
	struct ib_udata *udata = rsoft_create_cq_udata(arg);
	struct rsoft_cq *cq = to_rcq(ibcq);
	int ret;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > RSOFT_MAX_CQE)
		return -EINVAL;
	if (attr->comp_vector >= ibcq->device->num_comp_vectors)
		return -EINVAL;

	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize_lock);
	tasklet_setup(&cq->tasklet, cq_kernel_event);
	hrtimer_setup(&cq->mod_timer, cq_mod_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	INIT_WORK(&cq->overflow_work, cq_overflow_work);
	cq->user = udata;

	ret = cq_create_ring(cq, attr->cqe, udata);
	if (ret) {
		mutex_destroy(&cq->resize_lock);
		return ret;
	}
	ibcq->cqe = cq->ring.mask;
	return 0;
}

/* Moderation is over, and nobody hears of it any more. */
static void cq_stop_timer(struct rsoft_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->mod_count = 0;
	spin_unlock_irqrestore(&cq->lock, flags);
	hrtimer_cancel(&cq->mod_timer);
}

int rsoft_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct rsoft_cq *cq = to_rcq(ibcq);

	/* No QP uses it any more, so nothing can be added or scheduled. */
	cancel_work_sync(&cq->overflow_work);
	cq_stop_timer(cq);
	tasklet_kill(&cq->tasklet);
	rsoft_ring_destroy(&cq->ring);
	mutex_destroy(&cq->resize_lock);
	return 0;
}

/* First index that the consumer has not taken; whatever user space wrote. */
static u32 cq_cons(const struct rsoft_cq *cq)
{
	/* Pairs with the store-release of consumer_index in the library. */
	return smp_load_acquire(&cq->ring.buf->consumer_index) & cq->ring.mask;
}

static u32 cq_count(const struct rsoft_cq *cq, u32 cons)
{
	return (cq->ring.prod - cons) & cq->ring.mask;
}

/*
 * Move what was not polled into a new ring and use that. The bulk is copied
 * before the lock is taken: entries between both indices do not change, and
 * the library polls nothing while it resizes.
 */
static int cq_swap_ring(struct rsoft_cq *cq, struct rsoft_ring *new)
{
	u32 cons, done, num, taken = 0;
	unsigned long flags;

	lockdep_assert_held(&cq->resize_lock);
	spin_lock_irqsave(&cq->lock, flags);
	cons = cq_cons(cq);
	done = cq_count(cq, cons);
	spin_unlock_irqrestore(&cq->lock, flags);

	if (done > new->mask)
		return -EINVAL;
	rsoft_ring_copy(new, 0, &cq->ring, cons, done);

	spin_lock_irqsave(&cq->lock, flags);
	num = cq_count(cq, cons);
	/* A kernel consumer goes on polling meanwhile. */
	if (!cq->user)
		taken = (cq->ring.cons - cons) & cq->ring.mask;
	/* Less than before: it went round the ring once, so it overflowed. */
	if (num > new->mask || num < done || taken > num) {
		spin_unlock_irqrestore(&cq->lock, flags);
		return -EINVAL;
	}
	rsoft_ring_copy(new, done, &cq->ring, cons + done, num - done);
	new->prod = num;
	new->buf->producer_index = num;
	rsoft_ring_consume(new, taken);
	swap(cq->ring, *new);
	cq->ibcq.cqe = cq->ring.mask;
	spin_unlock_irqrestore(&cq->lock, flags);
	return 0;
}

int rsoft_resize_cq(struct ib_cq *ibcq, rsoft_cqe_count cqe,
		    struct ib_udata *udata)
{
	struct rdma_soft_resize_cq_resp resp = {};
	struct rsoft_cq *cq = to_rcq(ibcq);
	struct ib_ucontext *ctx = NULL;
	struct rsoft_ring ring = {};
	int ret;

	if (cq->user != !!udata || cqe < 1 || cqe > RSOFT_MAX_CQE)
		return -EINVAL;
	if (udata) {
		if (udata->outlen < sizeof(resp))
			return -EINVAL;
		ctx = &rdma_udata_to_drv_context(udata, struct rsoft_ucontext,
						 ibuc)->ibuc;
	}
	ret = rsoft_ring_init(&ring, ctx, cqe, cq_entry_size(cq), &resp.mi);
	if (ret)
		return ret;

	/* After the swap nothing may fail: the library would keep the old one. */
	if (udata)
		ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!ret) {
		mutex_lock(&cq->resize_lock);
		ret = cq_swap_ring(cq, &ring);
		mutex_unlock(&cq->resize_lock);
	}
	rsoft_ring_destroy(&ring);
	return ret;
}

static u32 wc_user_flags(int flags)
{
	u32 user = flags & (IB_WC_GRH | IB_WC_WITH_IMM);

	if (flags & IB_WC_WITH_INVALIDATE)
		user |= USER_WC_INV;
	return user;
}

static void wc_to_user(struct ib_uverbs_wc *uwc, const struct ib_wc *wc)
{
	memset(uwc, 0, sizeof(*uwc));
	uwc->wr_id = wc->wr_id;
	uwc->status = wc->status;
	uwc->opcode = wc->opcode;
	uwc->vendor_err = wc->vendor_err;
	uwc->byte_len = wc->byte_len;
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		uwc->ex.invalidate_rkey = wc->ex.invalidate_rkey;
	else
		uwc->ex.imm_data = wc->ex.imm_data;
	uwc->qp_num = wc->qp->qp_num;
	uwc->src_qp = wc->src_qp;
	uwc->wc_flags = wc_user_flags(wc->wc_flags);
	uwc->pkey_index = wc->pkey_index;
	uwc->slid = (u16)wc->slid;
	uwc->sl = wc->sl;
	uwc->dlid_path_bits = wc->dlid_path_bits;
	uwc->port_num = RSOFT_PORT;
}

static void cq_produce(struct rsoft_cq *cq, const struct ib_wc *wc)
{
	void *slot = rsoft_ring_slot(&cq->ring, cq->ring.prod);

	lockdep_assert_held(&cq->lock);
	if (cq->user)
		wc_to_user(slot, wc);
	else
		memcpy(slot, wc, sizeof(*wc));
	rsoft_ring_produce(&cq->ring);
}

/* Wait for more completions before the event? */
static bool cq_moderated(struct rsoft_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (++cq->pending >= cq->mod_count) {
		hrtimer_try_to_cancel(&cq->mod_timer);
		return false;
	}
	if (cq->pending == 1)
		hrtimer_start(&cq->mod_timer,
			      ns_to_ktime((u64)cq->mod_usecs * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	return true;
}

/* True if the consumer asked to be told of this completion; asks once. */
static bool cq_take_armed(struct rsoft_cq *cq, const struct ib_wc *wc,
			  bool solicited)
{
	lockdep_assert_held(&cq->lock);
	if (!cq->armed)
		return false;
	if (cq->armed == IB_CQ_SOLICITED && !solicited &&
	    wc->status == IB_WC_SUCCESS)
		return false;
	if (unlikely(cq->mod_count) && cq_moderated(cq))
		return false;
	cq->pending = 0;
	cq->armed = 0;
	return true;
}

/* Without a deadline the last completions of a burst would never be reported. */
int rsoft_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct rsoft_cq *cq = to_rcq(ibcq);
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	cq->mod_count = count > 1 && period ? count : 0;
	cq->mod_usecs = period;
	/* those that waited by the old rule need not wait any more */
	notify = cq_settle(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify)
		cq_notify(cq);
	return 0;
}

/* The QPs of a dead queue go to ERR, also one that was made after its death. */
static void cq_overflowed(struct rsoft_cq *cq, struct rsoft_qp *qp)
{
	lockdep_assert_held(&cq->lock);
	rsoft_count(to_rdev(cq->ibcq.device), RSOFT_CNT_CQ_OVERFLOW);
	if (!cq->dead || READ_ONCE(qp->state) != RSOFT_QPS_ERR)
		queue_work(rsoft_wq, &cq->overflow_work);
	cq->dead = true;
}

int rsoft_cq_post(struct rsoft_cq *cq, const struct ib_wc *wc, bool solicited)
{
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	if (unlikely(cq->dead || rsoft_ring_full(&cq->ring) ||
		     (rsoft_inject_on() && rsoft_inject_cq(cq, wc)))) {
		cq_overflowed(cq, to_rqp(wc->qp));
		spin_unlock_irqrestore(&cq->lock, flags);
		return -EOVERFLOW;
	}
	cq_produce(cq, wc);
	notify = cq_take_armed(cq, wc, solicited);
	spin_unlock_irqrestore(&cq->lock, flags);

	if (notify)
		cq_notify(cq);
	return 0;
}

bool rsoft_cq_drained(struct rsoft_cq *cq)
{
	unsigned long flags;
	bool empty;

	spin_lock_irqsave(&cq->lock, flags);
	empty = !cq_count(cq, cq_cons(cq));
	spin_unlock_irqrestore(&cq->lock, flags);
	return empty;
}

int rsoft_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct rsoft_cq *cq = to_rcq(ibcq);
	unsigned long flags;
	const void *slot;
	int n;

	/* A process polls its ring itself. */
	if (cq->user)
		return -EOPNOTSUPP;

	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < num; n++) {
		slot = rsoft_ring_peek(&cq->ring, cq->ring.cons);
		if (!slot)
			break;
		memcpy(&wc[n], slot, sizeof(*wc));
		rsoft_ring_consume(&cq->ring, cq->ring.cons + 1);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

int rsoft_peek_cq(struct ib_cq *ibcq, int wc_cnt)
{
	struct rsoft_cq *cq = to_rcq(ibcq);
	unsigned long flags;
	u32 num;

	spin_lock_irqsave(&cq->lock, flags);
	num = cq_count(cq, cq_cons(cq));
	spin_unlock_irqrestore(&cq->lock, flags);
	return min_t(u32, num, max(wc_cnt, 0));
}

int rsoft_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct rsoft_cq *cq = to_rcq(ibcq);
	unsigned long irqflags;
	int ret = 0;

	if (cq->user && READ_ONCE(to_rdev(ibcq->device)->gone))
		return -EIO;

	spin_lock_irqsave(&cq->lock, irqflags);
	/* "Any completion" includes solicited ones and is not taken back. */
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	if ((flags & IB_CQ_REPORT_MISSED_EVENTS) && cq_count(cq, cq_cons(cq)))
		ret = 1;
	spin_unlock_irqrestore(&cq->lock, irqflags);
	return ret;
}
