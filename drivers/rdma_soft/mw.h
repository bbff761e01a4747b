/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory windows: keys of their own over a part of a region.
 */
#ifndef RSOFT_MW_H
#define RSOFT_MW_H

#include <rdma/ib_verbs.h>

#include "mr.h"

struct rsoft_swqe;

/**
 * struct rsoft_mw - a memory window
 * @ibmw: the core's part, first
 * @k: its key; valid while it is bound
 * @mr: region that it is bound to, NULL if it is not; counts in mr->windows
 * @qp_id: type 2: number of the QP that it is bound to
 */
struct rsoft_mw {
	struct ib_mw ibmw;
	struct rsoft_mkey k;
	struct rsoft_mr *mr;
	u32 qp_id;
};

static inline struct rsoft_mw *to_rmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct rsoft_mw, ibmw);
}

static inline bool rsoft_mkey_is_window(const struct rsoft_mkey *mk)
{
	return mk->type >= RSOFT_MKEY_WINDOW_1;
}

static inline struct rsoft_mw *rsoft_mkey_mw(const struct rsoft_mkey *mk)
{
	return container_of(mk, struct rsoft_mw, k);
}

/**
 * rsoft_mw_is_of() - is a window of type 2 bound to this QP
 * @mk: key of the window
 * @qp: QP
 *
 * Return: true if it is.
 */
bool rsoft_mw_is_of(const struct rsoft_mkey *mk, const struct rsoft_qp *qp);

/**
 * rsoft_mw_bind() - execute a BIND_MW
 * @qp: QP that executes it
 * @wqe: request
 *
 * Context: BH disabled; the caller holds no region.
 *
 * Return: RSOFT_ACCESS_OK or the rule that was broken.
 */
enum rsoft_access rsoft_mw_bind(const struct rsoft_qp *qp,
				const struct rsoft_swqe *wqe);

/**
 * rsoft_mw_unbind() - give the region back
 * @mk: key of the window, quiesced
 */
void rsoft_mw_unbind(struct rsoft_mkey *mk);

/* ops of the device */
int rsoft_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int rsoft_dealloc_mw(struct ib_mw *ibmw);

#endif
