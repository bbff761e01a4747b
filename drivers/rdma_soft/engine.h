/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An engine does one direction of a QP. Whoever has a reason to run it (a
 * doorbell, a packet, a timer) tries to own it; ownership is one bit, held
 * with BH disabled and never waited for. Who finds it taken leaves an event
 * (and its packet in the bounded queue) and goes away; the owner looks at the
 * events again after it let go. So there is no lock to hold across a copy, a
 * completion handler or a transmission, and packets stay in order.
 */
#ifndef RSOFT_ENGINE_H
#define RSOFT_ENGINE_H

#include <linux/interrupt.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>

#include "early.h"
#include "rx.h"

struct rsoft_engine;
struct rsoft_qp;

/* Reasons to run, bits of rsoft_engine.events. */
enum rsoft_event {
	RSOFT_EV_RX,		/* the queue has packets */
	RSOFT_EV_DOORBELL,	/* send WQEs were posted */
	RSOFT_EV_ACK_TIMER,	/* Local ACK Timeout */
	RSOFT_EV_RNR_TIMER,	/* the wait after an RNR NAK is over */
	RSOFT_EV_TX_TIMER,	/* look again if the stack took our bytes */
	RSOFT_EV_HOLD_TIMER,	/* look at the WQEs that are held */
	RSOFT_EV_PUSH,		/* hold nothing any more */
	RSOFT_EV_GAP_TIMER,	/* late packets did not come */
	RSOFT_EV_ERROR,		/* the QP went to ERR: flush */
	RSOFT_EV_DRAIN,		/* the QP went to SQD */
	RSOFT_EV_AGAIN,		/* go on with what a run has left */
};

/**
 * struct rsoft_engine_ops - what an engine does
 * @rx: process a run of packets; leaves the rest in @rx if it must wait
 * @run: handle events and whatever else can be done within a budget of bytes;
 *       returns true if more could be done at once
 *
 * Both are called by the owner, with BH disabled and no lock held.
 */
struct rsoft_engine_ops {
	void (*rx)(struct rsoft_qp *qp, struct rsoft_rx *rx);
	bool (*run)(struct rsoft_qp *qp, unsigned long events, u32 budget);
};

/**
 * struct rsoft_engine - one direction of a QP
 * @qp: QP
 * @ops: what it does
 * @own: RSOFT_ENGINE_OWNED and RSOFT_ENGINE_PAUSED
 * @events: bits of enum rsoft_event, set by anyone, taken by the owner
 * @blocked: the head of @queue must wait (owner)
 * @queue: packets that could not be processed at once; its lock nests inside
 *         nothing
 * @queued: truesize of @queue, under its lock
 * @early: packets behind a gap (owner)
 * @work: continues a run that used up its budget, or that another CPU must do
 * @kick: starts a run from a context that must not (kernel post_send), or soon
 * @place: where it sent last: the CPU in 16 bits, above it a count of the runs
 *         that sent (owner)
 * @settled: the last place of which @work saw the end
 * @ip_id: IPv4 ID of the next packet (owner); with DF set two engines of a QP
 *         may use the same one (RFC 6864)
 */
struct rsoft_engine {
	struct rsoft_qp *qp;
	const struct rsoft_engine_ops *ops;
	atomic_t own;
	unsigned long events;
	bool blocked;
	struct sk_buff_head queue;
	u32 queued;
	struct rsoft_early early;
	struct work_struct work;
	struct tasklet_struct kick;
	unsigned long place;
	unsigned long settled;
	u16 ip_id;
};

#define RSOFT_ENGINE_OWNED	1
#define RSOFT_ENGINE_PAUSED	2

/* Bytes of work per run, by who runs it. */
#define RSOFT_BUDGET_DOORBELL	(256 * 1024)
#define RSOFT_BUDGET_SOFTIRQ	(128 * 1024)
#define RSOFT_BUDGET_WORK	(512 * 1024)

/* Truesize that may wait in one engine's queue. */
#define RSOFT_ENGINE_QUEUE_MAX	(4 * 1024 * 1024)

extern struct workqueue_struct *rsoft_wq;

/**
 * rsoft_engine_init() - set up an idle engine
 * @e: engine
 * @qp: QP
 * @ops: what it does
 */
void rsoft_engine_init(struct rsoft_engine *e, struct rsoft_qp *qp,
		       const struct rsoft_engine_ops *ops);

/**
 * rsoft_engine_destroy() - release what a paused engine holds
 * @e: engine, paused, of a QP that nobody can find any more
 *
 * Context: may sleep.
 */
void rsoft_engine_destroy(struct rsoft_engine *e);

/**
 * rsoft_engine_post() - note an event, without running
 * @e: engine
 * @ev: event
 *
 * Context: any.
 */
static inline void rsoft_engine_post(struct rsoft_engine *e,
				     enum rsoft_event ev)
{
	set_bit(ev, &e->events);
}

/**
 * rsoft_engine_run() - run an engine if nobody else does
 * @e: engine of a QP on which the caller holds a reference
 * @budget: bytes of work until the rest goes to the workqueue
 *
 * Context: BH disabled, no lock held.
 */
void rsoft_engine_run(struct rsoft_engine *e, u32 budget);

/**
 * rsoft_engine_rx() - give a run of packets to an engine
 * @e: engine of a QP on which the caller holds a reference
 * @rx: packets; the caller keeps its reference on the skb
 *
 * Processes them at once if the engine is free, else queues a reference.
 *
 * Context: softirq.
 */
void rsoft_engine_rx(struct rsoft_engine *e, struct rsoft_rx *rx);

/**
 * rsoft_engine_schedule() - note an event and run soon, from any context
 * @e: engine of a QP on which the caller holds a reference
 * @ev: event
 *
 * Context: any, also with interrupts off.
 */
void rsoft_engine_schedule(struct rsoft_engine *e, enum rsoft_event ev);

/**
 * rsoft_engine_again() - run once more when this softirq or call has ended
 * @e: engine of a QP on which the caller holds a reference
 *
 * By then a stack that delivers locally has taken what was sent. No event is
 * noted: if somebody else owns the engine by then, nothing happens.
 *
 * Context: any.
 */
void rsoft_engine_again(struct rsoft_engine *e);

/**
 * rsoft_engine_may_send() - may this CPU send, as far as order is concerned
 * @e: engine, owned
 *
 * Each CPU has queues of its own on the way of a packet; what is sent from a
 * second CPU overtakes what still waits in the first one's. So an engine moves
 * only when none of its QP's bytes are in the stack; else the run goes on where
 * they were sent from.
 *
 * To a peer on this machine that is not enough: a received packet is taken off
 * the stack's bytes before it comes to the peer's QP. An RC peer holds what came
 * early; a UC peer drops the message. So a UC engine moves only after its work
 * went on where it sent last: by the end of a work the softirq that received
 * what was sent there has ended.
 *
 * Context: BH disabled.
 *
 * Return: true if it may; false if the run was handed to the other CPU.
 */
bool rsoft_engine_may_send(struct rsoft_engine *e);

/**
 * rsoft_engine_pause() - keep everybody from running an engine
 * @e: engine, not paused yet
 *
 * Waits until the owner, if any, has let go. Events and packets are kept.
 *
 * Context: may sleep; qp->ctl held.
 */
void rsoft_engine_pause(struct rsoft_engine *e);

/**
 * rsoft_engine_resume() - let a paused engine run again, and run it
 * @e: engine
 *
 * Context: may sleep; qp->ctl held.
 */
void rsoft_engine_resume(struct rsoft_engine *e);

/**
 * rsoft_engine_purge() - drop all queued and early packets
 * @e: engine, paused or owned by the caller
 */
void rsoft_engine_purge(struct rsoft_engine *e);

#endif
