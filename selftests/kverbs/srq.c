// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues of kernel consumers.
 */
#include <linux/delay.h>

#include "kt.h"

static bool post_n(struct kt *t, struct kt_end *e, u32 n, u64 id)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (KT_BAD(t, !kt_recv(e, id + i, NULL), "recv"))
			return false;
	}
	return true;
}

static bool send_n(struct kt *t, struct kt_pair *p, u32 n, u64 id)
{
	union kt_wr w;
	u32 i;

	for (i = 0; i < n; i++) {
		kt_send(&w, 1, NULL);
		if (!kt_do(&p->a, &w, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->b.rcq, id + i, IB_WC_SUCCESS))
			return false;
	}
	return true;
}

/* Raised once when fewer are left than the limit, then only if armed again. */
static void limit(struct kt *t)
{
	struct kt_opts o = { .srq = true };
	struct ib_srq_attr attr = { .srq_limit = 4 };
	struct kt_pair *p = kt_pair_new(t, &o);
	atomic_t *events;
	int ret, i;

	if (!p)
		return;
	events = &p->b.event[IB_EVENT_SRQ_LIMIT_REACHED];
	for (i = 0; i < 3; i++) {
		atomic_set(events, 0);
		if (!post_n(t, &p->b, 8 - (i ? 3 : 0), i ? 3 : 0))
			return;
		attr.srq_limit = 4;
		ret = ib_modify_srq(p->b.srq, &attr, IB_SRQ_LIMIT);
		KT_OK(t, !ret, "%d", ret);
		if (!send_n(t, p, 4, 0))
			return;
		KT_OK(t, !atomic_read(events), "four are left");
		if (!send_n(t, p, 1, 4))
			return;
		KT_OK(t, kt_wait_event(&p->b, IB_EVENT_SRQ_LIMIT_REACHED),
		      "event");
		ret = ib_query_srq(p->b.srq, &attr);
		KT_OK(t, !ret && !attr.srq_limit, "disarmed: %u",
		      attr.srq_limit);
		if (!send_n(t, p, 3, 5) || !post_n(t, &p->b, 3, 0))
			return;
		KT_OK(t, atomic_read(events) == 1, "once");
	}
	attr.srq_limit = 100000;
	ret = ib_modify_srq(p->b.srq, &attr, IB_SRQ_LIMIT);
	KT_OK(t, ret == -EINVAL, "more than it holds: %d", ret);
}

/* What was posted stays, in order, whatever the size becomes. */
static void resize(struct kt *t)
{
	static const u32 sizes[] = { 200, 20, 500, 12, 64 };
	struct kt_opts o = { .srq = true };
	struct ib_srq_attr attr = {};
	struct kt_pair *p = kt_pair_new(t, &o);
	u32 i;
	int ret;

	if (!p)
		return;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (!post_n(t, &p->b, 10, 0) || !send_n(t, p, i, 0))
			return;
		attr.max_wr = sizes[i];
		ret = ib_modify_srq(p->b.srq, &attr, IB_SRQ_MAX_WR);
		if (KT_BAD(t, !ret, "%u: %d", sizes[i], ret))
			return;
		ret = ib_query_srq(p->b.srq, &attr);
		KT_OK(t, !ret && attr.max_wr >= sizes[i], "%u", attr.max_wr);
		if (!send_n(t, p, 10 - i, i))
			return;
	}
	if (!post_n(t, &p->b, 10, 0))
		return;
	attr.max_wr = 4;
	ret = ib_modify_srq(p->b.srq, &attr, IB_SRQ_MAX_WR);
	KT_OK(t, ret == -EINVAL, "too small for what it holds: %d", ret);
	send_n(t, p, 10, 0);
}

/* A QP that dies says so, and leaves the queue to the others. */
static void last_wqe(struct kt *t)
{
	struct kt_opts o = { .srq = true };
	struct ib_qp_attr a = { .qp_state = IB_QPS_ERR };
	struct kt_pair *p = kt_pair_new(t, &o);
	int ret;

	if (!p || !post_n(t, &p->b, 10, 0) || !send_n(t, p, 2, 0))
		return;
	ret = ib_modify_qp(p->b.qp, &a, IB_QP_STATE);
	KT_OK(t, !ret, "%d", ret);
	KT_OK(t, kt_wait_event(&p->b, IB_EVENT_QP_LAST_WQE_REACHED), "event");
	KT_NONE(t, p->b.rcq);
	ret = ib_modify_qp(p->b.qp, &a, IB_QP_STATE);
	KT_OK(t, !ret, "%d", ret);
	msleep(20);
	KT_OK(t, atomic_read(&p->b.event[IB_EVENT_QP_LAST_WQE_REACHED]) == 1,
	      "once");
}

const struct kt_case kt_srq_cases[] = {
	{ "srq_limit", limit },
	{ "srq_resize", resize },
	{ "srq_last_wqe", last_wqe },
	{}
};
