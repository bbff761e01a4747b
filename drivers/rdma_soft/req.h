/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send engine: requester (req.c), its recovery (retry.c), and the
 * completer that handles what comes back (comp.c).
 */
#ifndef RSOFT_REQ_H
#define RSOFT_REQ_H

#include "proto/aeth.h"
#include "proto/psn.h"
#include "qp.h"

extern const struct rsoft_engine_ops rsoft_send_ops;

static inline struct rsoft_swqe *rsoft_sq_at(const struct rsoft_sq *sq, u32 idx)
{
	return sq->win + (size_t)(idx & sq->mask) * sq->stride;
}

static inline bool rsoft_swqe_has_response(const struct rsoft_swqe *wqe)
{
	return wqe->kind == RSOFT_KIND_READ ||
	       wqe->kind == RSOFT_KIND_ATOMIC ||
	       wqe->kind == RSOFT_KIND_ATOMIC_WRITE ||
	       wqe->kind == RSOFT_KIND_FLUSH;
}

/**
 * rsoft_sq_fetch() - is there a WQE at an index, fetching it if need be
 * @qp: QP; send engine owned
 * @idx: index, at most one past the last one fetched
 *
 * Return: the private WQE, NULL if none is posted or the window is full.
 */
struct rsoft_swqe *rsoft_sq_fetch(struct rsoft_qp *qp, u32 idx);

/**
 * rsoft_sq_head() - one past the last WQE that is known
 * @qp: QP; send engine owned
 *
 * Return: index.
 */
u32 rsoft_sq_head(const struct rsoft_qp *qp);

/**
 * rsoft_req_init() - start from the QP's attributes
 * @qp: QP with the send engine paused
 * @psn: first PSN to send
 */
void rsoft_req_init(struct rsoft_qp *qp, u32 psn);

/**
 * rsoft_req_rewind() - send again from a PSN on
 * @qp: QP; send engine owned
 * @psn: in a WQE that was started and is not complete
 */
void rsoft_req_rewind(struct rsoft_qp *qp, u32 psn);

/**
 * rsoft_req_seek() - go on sending at a PSN
 * @qp: QP; send engine owned
 * @psn: in a WQE that was started and is not complete, or one past all of them
 *
 * Window and repair of a loss are left as they are.
 */
void rsoft_req_seek(struct rsoft_qp *qp, u32 psn);

/**
 * rsoft_req_retire() - complete the oldest WQE
 * @qp: QP; send engine owned, SQ not empty
 */
void rsoft_req_retire(struct rsoft_qp *qp);

/**
 * rsoft_req_fail() - a WQE ends in error, and with it the send queue
 * @qp: QP; send engine owned
 * @wqe: WQE
 * @status: its completion status
 *
 * Takes effect when all earlier WQEs are complete.
 */
void rsoft_req_fail(struct rsoft_qp *qp, struct rsoft_swqe *wqe,
		    enum ib_wc_status status);

/**
 * rsoft_req_settle() - complete what is done, fail what has failed
 * @qp: QP; send engine owned
 */
void rsoft_req_settle(struct rsoft_qp *qp);

/**
 * rsoft_req_flush() - complete all posted WQEs with a flush error
 * @qp: QP in a state that flushes; send engine owned
 *
 * Return: true if there may be more.
 */
bool rsoft_req_flush(struct rsoft_qp *qp);

/**
 * rsoft_retry() - go back after a loss, or give up
 * @qp: QP; send engine owned
 * @psn: first PSN to send again
 *
 * Takes one from the retry budget of the oldest WQE.
 */
void rsoft_retry(struct rsoft_qp *qp, u32 psn);

/**
 * rsoft_retry_read() - the response to the oldest request is missing
 * @qp: QP; send engine owned
 */
void rsoft_retry_read(struct rsoft_qp *qp);

/**
 * rsoft_retry_later() - a request behind missing responses was refused
 * @qp: QP; send engine owned
 * @psn: its PSN
 * @what: what to do once they arrived; the peer does not refuse it once more
 */
void rsoft_retry_later(struct rsoft_qp *qp, u32 psn, enum rsoft_later what);

/**
 * rsoft_retry_now() - responses arrived: is it the turn of a refused request
 * @qp: QP; send engine owned, no WQE in hand
 */
void rsoft_retry_now(struct rsoft_qp *qp);

/**
 * rsoft_retry_filled() - all packets of a repair were handed to the stack
 * @qp: QP; send engine owned
 */
void rsoft_retry_filled(struct rsoft_qp *qp);

/**
 * rsoft_retry_timeout() - the Local ACK Timeout event
 * @qp: QP; send engine owned
 */
void rsoft_retry_timeout(struct rsoft_qp *qp);

/**
 * rsoft_retry_rnr() - an RNR NAK arrived
 * @qp: QP; send engine owned
 * @psn: PSN that it names
 * @enc: timer field
 */
void rsoft_retry_rnr(struct rsoft_qp *qp, u32 psn, u8 enc);

/**
 * rsoft_retry_progress() - the peer executed something new
 * @qp: QP; send engine owned
 */
void rsoft_retry_progress(struct rsoft_qp *qp);

/**
 * rsoft_comp_gap() - responses are missing: ask again, or wait a little
 * @qp: QP; send engine owned
 */
void rsoft_comp_gap(struct rsoft_qp *qp);

/**
 * rsoft_comp_rx() - engine op: responses from the wire
 * @qp: QP; send engine owned
 * @rx: responses
 */
void rsoft_comp_rx(struct rsoft_qp *qp, struct rsoft_rx *rx);

#endif
