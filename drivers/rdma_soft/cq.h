/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion queues.
 */
#ifndef RSOFT_CQ_H
#define RSOFT_CQ_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "ring.h"

/**
 * struct rsoft_cq - a completion queue
 * @ibcq: the core's part
 * @lock: serialises producers, arming and (kernel) polling; irqsave
 * @resize_lock: one resize at a time
 * @ring: CQEs: struct ib_uverbs_wc for user space, struct ib_wc for the kernel
 * @user: owner is a user process
 * @dead: overflowed; nothing is produced any more
 * @told: the overflow was reported (overflow_work)
 * @armed: IB_CQ_SOLICITED or IB_CQ_NEXT_COMP when an event was asked for
 * @mod_count: completions after which an armed queue raises its event; 0 is off
 * @mod_usecs: us after the first of them at which it does in any case
 * @pending: completions that wait for the event
 * @mod_timer: their deadline
 * @tasklet: runs the handler of a kernel CQ, one at a time, without locks
 * @overflow_work: raises IB_EVENT_CQ_ERR and moves attached QPs to ERR
 */
struct rsoft_cq {
	struct ib_cq ibcq;
	spinlock_t lock;		/* ring, armed, dead, mod_*, pending */
	struct mutex resize_lock;	/* outside of lock */
	struct rsoft_ring ring;
	bool user;
	bool dead;
	bool told;
	u8 armed;
	u16 mod_count;
	u16 mod_usecs;
	u16 pending;
	struct hrtimer mod_timer;
	struct tasklet_struct tasklet;
	struct work_struct overflow_work;
};

static inline struct rsoft_cq *to_rcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct rsoft_cq, ibcq);
}

/**
 * rsoft_cq_post() - add a completion and raise the event if it was asked for
 * @cq: queue
 * @wc: completion; the opcode field is ignored by consumers if status is not
 *      IB_WC_SUCCESS
 * @solicited: counts for IB_CQ_SOLICITED arming; an error always does
 *
 * A full queue is an overflow: the CQ dies, IB_EVENT_CQ_ERR is raised, QPs that
 * use it go to ERR (list report on completions lost without a word).
 *
 * Context: any, no lock of the CQ held; the handler of a user CQ may run
 * before return, that of a kernel CQ runs later from a tasklet.
 *
 * Return: 0, -EOVERFLOW if the queue was full or is dead.
 */
int rsoft_cq_post(struct rsoft_cq *cq, const struct ib_wc *wc, bool solicited);

/**
 * rsoft_cq_drained() - has the consumer taken all completions
 * @cq: queue
 *
 * Context: any.
 *
 * Return: true if the queue is empty.
 */
bool rsoft_cq_drained(struct rsoft_cq *cq);

/* ops of the device */
int rsoft_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct rsoft_create_cq_arg *arg);
int rsoft_resize_cq(struct ib_cq *ibcq, rsoft_cqe_count cqe,
		    struct ib_udata *udata);
int rsoft_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int rsoft_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int rsoft_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int rsoft_peek_cq(struct ib_cq *ibcq, int wc_cnt);
int rsoft_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

#endif
