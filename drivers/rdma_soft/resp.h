/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive engine: responder.
 */
#ifndef RSOFT_RESP_H
#define RSOFT_RESP_H

#include "proto/aeth.h"
#include "proto/psn.h"
#include "qp.h"

extern const struct rsoft_engine_ops rsoft_recv_ops;

/**
 * rsoft_resp_init() - start from the QP's attributes
 * @qp: QP with the receive engine paused
 * @psn: PSN expected first
 */
void rsoft_resp_init(struct rsoft_qp *qp, u32 psn);

/**
 * rsoft_resp_resize() - make room to remember READs and atomics
 * @qp: QP with the receive engine paused
 * @n: max_dest_rd_atomic
 *
 * What is remembered is kept as far as it fits.
 *
 * Context: may sleep.
 *
 * Return: 0 or -ENOMEM, then nothing has changed.
 */
int rsoft_resp_resize(struct rsoft_qp *qp, u32 n);

/**
 * rsoft_resp_fatal() - a request cannot be executed: NAK and end the QP
 * @qp: QP; receive engine owned
 * @code: NAK code
 * @event: event for a fault that no receive completion reports, 0 for none
 */
void rsoft_resp_fatal(struct rsoft_qp *qp, enum rsoft_nak code,
		      enum ib_event_type event);

/**
 * rsoft_resp_read() - execute a READ request at the expected PSN
 * @qp: QP; receive engine owned
 * @pkt: request
 *
 * The engine is blocked until all of the response was given to the stack.
 */
void rsoft_resp_read(struct rsoft_qp *qp, const struct rsoft_pkt *pkt);

/**
 * rsoft_resp_atomic() - execute an atomic request at the expected PSN
 * @qp: QP; receive engine owned
 * @pkt: request
 */
void rsoft_resp_atomic(struct rsoft_qp *qp, const struct rsoft_pkt *pkt);

/**
 * rsoft_resp_atomic_write() - execute an ATOMIC WRITE at the expected PSN
 * @qp: QP; receive engine owned
 * @pkt: request
 * @val: its eight bytes, as they lie in the packet
 */
void rsoft_resp_atomic_write(struct rsoft_qp *qp, const struct rsoft_pkt *pkt,
			     u64 val);

/**
 * rsoft_resp_flush() - execute a FLUSH at the expected PSN
 * @qp: QP; receive engine owned
 * @pkt: request
 *
 * All earlier requests were executed, so there is only the right to check.
 */
void rsoft_resp_flush(struct rsoft_qp *qp, const struct rsoft_pkt *pkt);

/**
 * rsoft_resp_repeat() - answer what has a response and was executed before
 * @qp: QP; receive engine owned
 * @pkt: request with a PSN before the expected one
 */
void rsoft_resp_repeat(struct rsoft_qp *qp, const struct rsoft_pkt *pkt);

/**
 * rsoft_resp_reading() - send more of the READ response in progress
 * @qp: QP; receive engine owned
 * @budget: bytes
 *
 * Return: true if the budget ended it.
 */
bool rsoft_resp_reading(struct rsoft_qp *qp, u32 budget);

/* First look for receives posted to a QP in ERR, and the longest interval. */
#define RSOFT_LATE_RECV_MIN_NS	NSEC_PER_MSEC
#define RSOFT_LATE_RECV_MAX_NS	NSEC_PER_SEC

#endif
