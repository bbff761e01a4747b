// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues of kernel consumers: arming, moderation, resizing, and what
 * happens when there are more completions than entries.
 */
#include <linux/delay.h>
#include <linux/sizes.h>

#include "kt.h"

/* One empty WRITE per completion. */
static bool complete_some(struct kt_end *e, u32 n, u64 id)
{
	union kt_wr w;
	u32 i;

	for (i = 0; i < n; i++) {
		kt_rdma(&w, id + i, IB_WR_RDMA_WRITE, NULL, 0, 0);
		if (KT_BAD(e->t, !kt_post(e, &w, 1), "post"))
			return false;
	}
	return true;
}

static bool wait_calls(struct kt_end *e, int calls)
{
	unsigned long end = jiffies + 5 * HZ;

	while (atomic_read(&e->scq_calls) < calls && time_before(jiffies, end))
		usleep_range(100, 200);
	return KT_OK(e->t, atomic_read(&e->scq_calls) == calls, "%d calls of %d",
		     atomic_read(&e->scq_calls), calls);
}

static bool take(struct kt *t, struct ib_cq *cq, u32 n, u64 id)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (!KT_WANT(t, cq, id + i, IB_WC_SUCCESS))
			return false;
	}
	return true;
}

/* The handler is called once per arming, for the next completion. */
static void arming(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	int ret, i;

	if (!p || !complete_some(&p->a, 2, 0) || !take(t, p->a.scq, 2, 0))
		return;
	KT_OK(t, !atomic_read(&p->a.scq_calls), "not armed");
	for (i = 1; i <= 10; i++) {
		ret = ib_req_notify_cq(p->a.scq, IB_CQ_NEXT_COMP |
				       IB_CQ_REPORT_MISSED_EVENTS);
		KT_OK(t, !ret, "%d", ret);
		if (!complete_some(&p->a, 3, 10) || !wait_calls(&p->a, i) ||
		    !take(t, p->a.scq, 3, 10))
			return;
	}
	msleep(20);
	KT_OK(t, atomic_read(&p->a.scq_calls) == 10, "once each");
	/* one that lies there already is reported by the call itself */
	if (!complete_some(&p->a, 1, 0))
		return;
	msleep(50);
	ret = ib_req_notify_cq(p->a.scq,
			       IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS);
	KT_OK(t, ret == 1, "%d", ret);
	take(t, p->a.scq, 1, 0);
}

/* Only solicited receives, and errors, count for IB_CQ_SOLICITED. */
static void solicited(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	union kt_wr w;
	int i;

	if (!p)
		return;
	/* sends of the armed side do not count */
	KT_OK(t, !ib_req_notify_cq(p->a.scq, IB_CQ_SOLICITED), "arm");
	if (!complete_some(&p->a, 3, 0) || !take(t, p->a.scq, 3, 0))
		return;
	msleep(20);
	KT_OK(t, !atomic_read(&p->a.scq_calls), "unsolicited");
	/* any completion counts when asked for, also after a solicited arming */
	KT_OK(t, !ib_req_notify_cq(p->a.scq, IB_CQ_NEXT_COMP), "arm");
	if (!complete_some(&p->a, 1, 0) || !wait_calls(&p->a, 1) ||
	    !take(t, p->a.scq, 1, 0))
		return;
	/* an error counts */
	KT_OK(t, !ib_req_notify_cq(p->a.scq, IB_CQ_SOLICITED), "arm");
	kt_inv(&w, 9, 0);
	KT_OK(t, !kt_post(&p->a, &w, 1), "post");
	wait_calls(&p->a, 2);
	for (i = 0; i < 1; i++)
		KT_WANT(t, p->a.scq, 9, IB_WC_MW_BIND_ERR);
}

/* So many completions, or so long after the first, make one event. */
static void moderation(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	unsigned long start;
	u32 ms;
	int ret;

	if (!p)
		return;
	ret = rdma_set_cq_moderation(p->a.scq, 8, 50000);
	if (KT_BAD(t, !ret, "%d", ret))
		return;
	/* by number: the eighth makes the event */
	KT_OK(t, !ib_req_notify_cq(p->a.scq, IB_CQ_NEXT_COMP), "arm");
	if (!complete_some(&p->a, 7, 0) || !take(t, p->a.scq, 7, 0))
		return;
	KT_OK(t, !atomic_read(&p->a.scq_calls), "seven are not enough");
	if (!complete_some(&p->a, 1, 7) || !wait_calls(&p->a, 1) ||
	    !take(t, p->a.scq, 1, 7))
		return;
	/* by time */
	KT_OK(t, !ib_req_notify_cq(p->a.scq, IB_CQ_NEXT_COMP), "arm");
	start = jiffies;
	if (!complete_some(&p->a, 2, 0) || !wait_calls(&p->a, 2) ||
	    !take(t, p->a.scq, 2, 0))
		return;
	ms = jiffies_to_msecs(jiffies - start);
	KT_OK(t, ms >= 40, "after %u ms", ms);
	/* off again; who waits by the old rule is told now */
	KT_OK(t, !ib_req_notify_cq(p->a.scq, IB_CQ_NEXT_COMP), "arm");
	if (!complete_some(&p->a, 1, 0) || !take(t, p->a.scq, 1, 0))
		return;
	KT_OK(t, !rdma_set_cq_moderation(p->a.scq, 0, 0), "off");
	if (!wait_calls(&p->a, 3))
		return;
	KT_OK(t, !ib_req_notify_cq(p->a.scq, IB_CQ_NEXT_COMP), "arm");
	if (complete_some(&p->a, 1, 0) && wait_calls(&p->a, 4))
		take(t, p->a.scq, 1, 0);
}

/* One more completion than entries: event, QP in ERR, what fitted is there. */
static void overflow(struct kt *t)
{
	struct kt_opts o = { .cqe = 4 };
	struct kt_pair *p = kt_pair_new(t, &o);
	struct ib_wc wc;
	u32 i, room;

	if (!p)
		return;
	room = p->a.scq->cqe;
	KT_OK(t, room >= 4 && room < 60, "%u entries", room);
	if (!complete_some(&p->a, room, 0))
		return;
	msleep(50);
	KT_OK(t, !atomic_read(&p->a.event[IB_EVENT_CQ_ERR]), "all fit");
	KT_OK(t, kt_state(&p->a) == IB_QPS_RTS, "state");
	if (!complete_some(&p->a, 1, room))
		return;
	KT_OK(t, kt_wait_event(&p->a, IB_EVENT_CQ_ERR), "event");
	for (i = 0; i < 100 && kt_state(&p->a) != IB_QPS_ERR; i++)
		msleep(20);
	KT_OK(t, kt_state(&p->a) == IB_QPS_ERR, "state");
	for (i = 0; i < room; i++)
		KT_WANT(t, p->a.scq, i, IB_WC_SUCCESS);
	KT_OK(t, !ib_poll_cq(p->a.scq, 1, &wc), "nothing more");
	msleep(20);
	KT_OK(t, atomic_read(&p->a.event[IB_EVENT_CQ_ERR]) == 1, "one event");
}

/* Newer kernels resize the CQs of user space only. */
#ifdef RDMA_SOFT_HAVE_RESIZE_USER_CQ
static const bool may_resize;

static int resize_to(struct ib_cq *cq, int cqe)
{
	return -EOPNOTSUPP;
}
#else
static const bool may_resize = true;

static int resize_to(struct ib_cq *cq, int cqe)
{
	return ib_resize_cq(cq, cqe);
}
#endif

/* Polled down and filled again and again while its size changes. */
static void resize(struct kt *t)
{
	static const int sizes[] = { 200, 16, 300, 64, 8, 100 };
	struct kt_pair *p = kt_pair_new(t, NULL);
	u32 i, left;
	int ret;

	if (!p)
		return;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (!complete_some(&p->a, 6, 0))
			return;
		msleep(50);
		/* some are taken first, so that the ring has turned */
		left = i % 4;
		if (!take(t, p->a.scq, left, 0))
			return;
		ret = resize_to(p->a.scq, sizes[i]);
		if (ret == -EOPNOTSUPP) {
			KT_OK(t, !may_resize, "no such op");
			return;
		}
		KT_OK(t, !ret && p->a.scq->cqe >= sizes[i], "%d: %d", sizes[i],
		      ret);
		if (!take(t, p->a.scq, 6 - left, left))
			return;
	}
	if (!complete_some(&p->a, 6, 0))
		return;
	msleep(50);
	ret = resize_to(p->a.scq, 2);
	KT_OK(t, ret == -EINVAL, "too small for what it holds: %d", ret);
	take(t, p->a.scq, 6, 0);
}

const struct kt_case kt_cq_cases[] = {
	{ "cq_arming", arming },
	{ "cq_solicited", solicited },
	{ "cq_moderation", moderation },
	{ "cq_overflow", overflow },
	{ "cq_resize", resize },
	{}
};
