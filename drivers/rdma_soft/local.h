/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work requests that send nothing: LOCAL_INV, REG_MR, BIND_MW.
 */
#ifndef RSOFT_LOCAL_H
#define RSOFT_LOCAL_H

#include "qp.h"

static inline bool rsoft_swqe_is_local(const struct rsoft_swqe *wqe)
{
	return wqe->kind == RSOFT_KIND_NONE;
}

/**
 * rsoft_local_may_begin() - may a local operation be executed now
 * @qp: QP; send engine owned
 * @wqe: local operation, at index @idx
 * @idx: its index
 *
 * LOCAL_INV waits until all before it are complete: they may access the memory
 * by the key that it takes back. The others only keep their place, and wait for
 * READs and atomics with IB_SEND_FENCE.
 *
 * Return: true if it may.
 */
bool rsoft_local_may_begin(const struct rsoft_qp *qp,
			   const struct rsoft_swqe *wqe, u32 idx);

/**
 * rsoft_local_execute() - execute a local operation, once
 * @qp: QP; send engine owned, holds no region
 * @wqe: local operation; done after that, or with a status that fails it
 */
void rsoft_local_execute(struct rsoft_qp *qp, struct rsoft_swqe *wqe);

/**
 * rsoft_local_wc() - opcode of the completion of a local operation
 * @wqe: local operation
 *
 * Return: IB_WC_*.
 */
enum ib_wc_opcode rsoft_local_wc(const struct rsoft_swqe *wqe);

#endif
