/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared receive queues.
 */
#ifndef RSOFT_SRQ_H
#define RSOFT_SRQ_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "ring.h"
#include "wqe.h"

/**
 * struct rsoft_srq - a shared receive queue
 * @ibsrq: the core's part
 * @lock: serialises consumers, kernel producers and limit; irqsave
 * @resize_lock: one resize at a time
 * @ring: receive WQEs
 * @user: owner is a user process
 * @max_sge: pieces per WQE
 * @max_wr: WQEs as reported
 * @limit: raise IB_EVENT_SRQ_LIMIT_REACHED when fewer are left; 0 is off
 * @error: an unrecoverable fault was reported
 * @num: number told to user space
 */
struct rsoft_srq {
	struct ib_srq ibsrq;
	spinlock_t lock;		/* ring, limit, error */
	struct mutex resize_lock;	/* outside of lock */
	struct rsoft_ring ring;
	bool user;
	u32 max_sge;
	u32 max_wr;
	u32 limit;
	bool error;
	u32 num;
};

static inline struct rsoft_srq *to_rsrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct rsoft_srq, ibsrq);
}

/**
 * rsoft_srq_fetch() - take one receive WQE
 * @srq: queue
 * @out: filled with a private copy
 *
 * Raises the limit event when the number left falls below the limit. An element
 * that no library writes raises IB_EVENT_SRQ_ERR, and the queue gives out
 * nothing any more.
 *
 * Context: any.
 *
 * Return: true if there was one.
 */
bool rsoft_srq_fetch(struct rsoft_srq *srq, struct rsoft_rwqe *out);

/* ops of the device */
int rsoft_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int rsoft_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int rsoft_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int rsoft_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int rsoft_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);

#endif
