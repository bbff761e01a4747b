// SPDX-License-Identifier: GPL-2.0
/*
 * Local operations of the send queue. They take a place in the order of the
 * queue but no PSN: a requester that goes back passes over those that were
 * executed, as their state tells.
 */
#include "local.h"
#include "mw.h"
#include "proto/psn.h"

bool rsoft_local_may_begin(const struct rsoft_qp *qp,
			   const struct rsoft_swqe *wqe, u32 idx)
{
	if (wqe->opcode == IB_WR_LOCAL_INV)
		return qp->sq.tail == idx;
	return !(wqe->flags & IB_SEND_FENCE) || !qp->req.rd_active;
}

void rsoft_local_execute(struct rsoft_qp *qp, struct rsoft_swqe *wqe)
{
	enum rsoft_access why;

	switch (wqe->opcode) {
	case IB_WR_LOCAL_INV:
		why = rsoft_mkey_invalidate(qp, wqe->inv_rkey, false);
		break;
	case IB_WR_REG_MR:
		why = rsoft_mr_fast_reg(qp, wqe);
		break;
	default:
		why = rsoft_mw_bind(qp, wqe);
		break;
	}
	if (why != RSOFT_ACCESS_OK) {
		/* the status of all memory management operations */
		wqe->status = IB_WC_MW_BIND_ERR;
		wqe->vendor_err = why;
		return;
	}
	/* an empty range: no PSN lies in it */
	wqe->first_psn = qp->req.psn;
	wqe->last_psn = rsoft_psn_add(qp->req.psn, RSOFT_PSN_MASK);
	wqe->state = RSOFT_SWQE_DONE;
}

enum ib_wc_opcode rsoft_local_wc(const struct rsoft_swqe *wqe)
{
	switch (wqe->opcode) {
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	default:
		return IB_WC_BIND_MW;
	}
}
