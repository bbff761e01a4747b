/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Holds back small messages of a stream for a short time, so that many of them
 * leave in one skb and are answered by one ACK.
 */
#ifndef RSOFT_HOLD_H
#define RSOFT_HOLD_H

#include <linux/hrtimer.h>
#include <linux/types.h>

struct rsoft_qp;

/**
 * struct rsoft_hold - what a user's QP knows of its stream of messages
 * @on: WQEs are held; doorbells read it without owning the engine
 * @signaled: the WQE posted last asked for a completion (heuristic, racy)
 * @told: the WQE retired last had a completion (owner)
 * @limit: WQEs that end the hold
 * @len: bytes of the first WQE held; a longer one ends the hold
 * @seen: WQEs held when the timer looked last (owner)
 * @run: WQEs in a row that were posted without waiting for anything (owner)
 * @need: @run from which on to hold (owner)
 * @msn: resp.msn when the owner saw a doorbell last
 * @left_ns: when a doorbell of a stream returned to the program, or a hold
 *           ended; racy
 * @start_ns: when the present hold began (owner)
 * @until_ns: when the timer is to look next (owner)
 * @timer: bounds a hold
 */
struct rsoft_hold {
	bool on;
	bool signaled;
	bool told;
	u32 limit;
	u32 len;
	u32 seen;
	u32 run;
	u32 need;
	u32 msn;
	u64 left_ns;
	u64 start_ns;
	u64 until_ns;
	struct hrtimer timer;
};

/* What a doorbell means for the WQEs that are held. */
enum rsoft_hold_bell {
	RSOFT_HOLD_NONE,	/* none are held: run the engine */
	RSOFT_HOLD_KEEP,	/* held with the others: nothing to do */
	RSOFT_HOLD_PUSH,	/* the hold is over: run the engine and send */
};

/*
 * Microseconds between two looks at what is held, 0 is off. A hold ends when
 * nothing was posted in that time, and after eight of them.
 */
extern u32 rsoft_hold_us;

/**
 * rsoft_hold_init() - start without a stream
 * @qp: QP; send engine paused or owned
 */
void rsoft_hold_init(struct rsoft_qp *qp);

/**
 * rsoft_hold_bell() - WQEs were posted: does that end a hold
 * @qp: QP of a user; the caller need not own its engine
 *
 * Context: any.
 *
 * Return: see enum rsoft_hold_bell.
 */
enum rsoft_hold_bell rsoft_hold_bell(struct rsoft_qp *qp);

/**
 * rsoft_hold_left() - a doorbell returns to the program
 * @hold: of a user's QP
 *
 * What passes until the next one is the program's time.
 *
 * Context: any.
 */
static inline void rsoft_hold_left(struct rsoft_hold *hold)
{
	if (READ_ONCE(hold->run))
		WRITE_ONCE(hold->left_ns, ktime_get_ns());
}

/**
 * rsoft_hold() - are WQEs to be held that could be sent
 * @qp: QP; send engine owned
 * @events: events of this run
 *
 * Begins a hold if a doorbell continues a stream, and ends it when its time is
 * over, enough was posted, or all that was sent is acknowledged.
 *
 * Context: BH disabled.
 *
 * Return: true if nothing is to be sent now; a timer runs then.
 */
bool rsoft_hold(struct rsoft_qp *qp, unsigned long events);

/**
 * rsoft_hold_end() - hold nothing any more
 * @qp: QP; send engine owned
 *
 * WQEs posted before a doorbell that saw a hold are seen after this.
 */
void rsoft_hold_end(struct rsoft_qp *qp);

#endif
