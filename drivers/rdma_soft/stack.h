/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bytes in the local stack: what was sent and has not left this machine's
 * queues. Bounded per QP and per device, so that a queue here is never what
 * loses packets.
 */
#ifndef RSOFT_STACK_H
#define RSOFT_STACK_H

#include <linux/types.h>

struct hrtimer;
struct rsoft_engine;
struct rsoft_qp;

/* Bytes of one QP before it waits. */
#define RSOFT_STACK_QP_MAX	(256 * 1024)
/* Bytes of all QPs of a device before those wait that have some there, */
#define RSOFT_STACK_DEV_MAX	(1024 * 1024)
/* and before all wait. */
#define RSOFT_STACK_DEV_FULL	(4 * RSOFT_STACK_DEV_MAX)

/**
 * rsoft_stack_note() - bring the device's sum up to date
 * @qp: QP of which bytes were sent
 *
 * Context: any.
 */
void rsoft_stack_note(struct rsoft_qp *qp);

/**
 * rsoft_stack_forget() - a QP goes; bytes that it left count no more
 * @qp: QP, not in the device's list any more, engines destroyed
 */
void rsoft_stack_forget(struct rsoft_qp *qp);

/**
 * rsoft_stack_full() - does the stack hold too many bytes
 * @qp: QP that would send
 *
 * Context: any.
 *
 * Return: true if the QP should send nothing now.
 */
bool rsoft_stack_full(struct rsoft_qp *qp);

/**
 * rsoft_stack_pending() - does the stack hold any bytes of this QP
 * @qp: QP
 *
 * Context: any.
 *
 * Return: true if something was sent that has not left this machine's queues.
 */
bool rsoft_stack_pending(const struct rsoft_qp *qp);

/**
 * rsoft_stack_wait_ns() - how long to wait for the stack to take bytes
 * @qp: QP
 * @refused: times in a row that the stack refused
 *
 * Context: any.
 *
 * Return: rsoft_tx_wait_ns(), or longer if many may wait.
 */
u64 rsoft_stack_wait_ns(const struct rsoft_qp *qp, u8 refused);

/**
 * rsoft_stack_wait() - look again when the stack may have taken bytes
 * @qp: QP
 * @e: its engine, owned by the caller
 * @t: the timer of that engine
 * @refused: times in a row that the stack refused
 *
 * A stack that is full of the QP's bytes is looked at when it had its turn, by
 * the timer only if it is still full then.
 */
void rsoft_stack_wait(struct rsoft_qp *qp, struct rsoft_engine *e,
		      struct hrtimer *t, u8 refused);

/**
 * rsoft_stack_waits() - does an engine still wait for the stack
 * @qp: QP
 * @wait: it waits, as far as it knows; cleared if the stack has room
 * @t: the timer of that engine, started if nothing else would look again
 * @refused: times in a row that the stack refused
 *
 * Context: the engine is owned by the caller.
 *
 * Return: the new @wait.
 */
bool rsoft_stack_waits(struct rsoft_qp *qp, bool *wait, struct hrtimer *t,
		       u8 refused);

#endif
