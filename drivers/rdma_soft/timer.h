/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Timers of a QP: each only notes an event and runs the engine.
 */
#ifndef RSOFT_TIMER_H
#define RSOFT_TIMER_H

#include "qp.h"

/**
 * rsoft_timers_init() - set up a QP's timers, none running
 * @qp: QP
 */
void rsoft_timers_init(struct rsoft_qp *qp);

/**
 * rsoft_timers_stop() - stop a QP's timers and wait for their handlers
 * @qp: QP with both engines paused
 *
 * Context: may sleep.
 */
void rsoft_timers_stop(struct rsoft_qp *qp);

/**
 * rsoft_timer_sent() - packets that want an answer were sent
 * @qp: QP; send engine owned
 *
 * Starts the Local ACK Timeout, and the shorter wait for a probe, if they are
 * not running.
 */
void rsoft_timer_sent(struct rsoft_qp *qp);

/**
 * rsoft_timer_acked() - the peer made progress
 * @qp: QP; send engine owned
 *
 * Moves the deadline on, or switches it off if nothing is outstanding. The
 * timer itself is not touched; its handler looks at the deadline.
 */
void rsoft_timer_acked(struct rsoft_qp *qp);

/**
 * rsoft_timer_expired() - has the Local ACK Timeout passed
 * @qp: QP; send engine owned
 *
 * Restarts the timer if the deadline was moved meanwhile.
 *
 * Return: true if the oldest outstanding packet timed out.
 */
bool rsoft_timer_expired(struct rsoft_qp *qp);

/**
 * rsoft_timer_probe() - packets of a repair were sent: wait for the answer
 * @qp: QP; send engine owned
 */
void rsoft_timer_probe(struct rsoft_qp *qp);

/**
 * rsoft_timer_probe_due() - is an answer late enough to probe for it
 * @qp: QP; send engine owned
 *
 * Return: true if it is; false also if nothing is outstanding.
 */
bool rsoft_timer_probe_due(struct rsoft_qp *qp);

/**
 * rsoft_timer_rnr() - wait before a request is sent again
 * @qp: QP; send engine owned
 * @ns: time that the responder asked for
 */
void rsoft_timer_rnr(struct rsoft_qp *qp, u64 ns);

/**
 * rsoft_timer_gap() - look again at a gap, if the timer is not running
 * @e: engine, owned
 * @ns: time from now
 */
void rsoft_timer_gap(struct rsoft_engine *e, u64 ns);

/**
 * rsoft_timer_tx() - look again if the stack took our bytes
 * @qp: QP
 * @t: tx_timer of the engine that is owned
 * @ns: time from now
 */
void rsoft_timer_tx(struct rsoft_qp *qp, struct hrtimer *t, u64 ns);

#endif
