/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ACK, NAK, RNR NAK and atomic responses of the responder.
 */
#ifndef RSOFT_ACK_H
#define RSOFT_ACK_H

#include "proto/aeth.h"
#include "qp.h"

/**
 * rsoft_ack_owe() - an ACK up to the last executed request is owed
 * @qp: QP; receive engine owned
 *
 * One ACK for all requests of a run is sent at its end.
 */
static inline void rsoft_ack_owe(struct rsoft_qp *qp)
{
	qp->resp.ack_due = true;
}

/**
 * rsoft_ack_flush() - send the ACK that is owed, if any
 * @qp: QP; receive engine owned
 *
 * If the stack refuses it, it stays owed and is sent again from a timer.
 */
void rsoft_ack_flush(struct rsoft_qp *qp);

/**
 * rsoft_ack_nak() - send a NAK for the expected PSN
 * @qp: QP; receive engine owned
 * @code: what went wrong
 *
 * It acknowledges all earlier requests, so an ACK owed is owed no more.
 *
 * Return: 0, -EAGAIN if the stack refused it.
 */
int rsoft_ack_nak(struct rsoft_qp *qp, enum rsoft_nak code);

/**
 * rsoft_ack_rnr() - send an RNR NAK for the expected PSN
 * @qp: QP; receive engine owned
 */
void rsoft_ack_rnr(struct rsoft_qp *qp);

/**
 * rsoft_ack_atomic() - send the response of an atomic
 * @qp: QP; receive engine owned
 * @res: what was executed
 */
void rsoft_ack_atomic(struct rsoft_qp *qp, const struct rsoft_rdres *res);

/**
 * rsoft_ack_bare() - answer an ATOMIC WRITE or FLUSH
 * @qp: QP; receive engine owned
 * @res: the request, executed
 */
void rsoft_ack_bare(struct rsoft_qp *qp, const struct rsoft_rdres *res);

#endif
