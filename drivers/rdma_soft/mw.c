// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows of type 1 and 2B. A window of type 1 belongs to a PD and may
 * be bound again at any time; one of type 2 belongs to the QP that bound it and
 * must be invalidated first. The rights of a window are its own: of the region
 * it needs IB_ACCESS_MW_BIND, and local write for whatever changes memory.
 */
#include "mw.h"

#include <linux/random.h>

#include "qp.h"

#define WINDOW_RIGHTS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC)
/* Told by some programs, among them rdma-core's tests; a key has no use of it. */
#define WINDOW_IGNORED	IB_ACCESS_LOCAL_WRITE
#define WINDOW_WRITES	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

int rsoft_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct rsoft_mw *mw = to_rmw(ibmw);
	struct rsoft_handle *h;

	if (ibmw->type != IB_MW_TYPE_1 && ibmw->type != IB_MW_TYPE_2)
		return -EOPNOTSUPP;

	h = rsoft_table_add(&rsoft_key_table, &mw->k, GFP_KERNEL);
	if (IS_ERR(h))
		return PTR_ERR(h) == -ENOSPC ? -ENOMEM : PTR_ERR(h);

	mw->k.h = h;
	mw->k.type = ibmw->type == IB_MW_TYPE_1 ? RSOFT_MKEY_WINDOW_1 :
						  RSOFT_MKEY_WINDOW_2;
	mw->k.pd = ibmw->pd;
	mw->k.key = rsoft_key_make(h->id, (u8)get_random_u32());
	ibmw->rkey = mw->k.key;
	rsoft_table_publish(&rsoft_key_table, h);
	return 0;
}

void rsoft_mw_unbind(struct rsoft_mkey *mk)
{
	struct rsoft_mw *mw = rsoft_mkey_mw(mk);

	/* the region may go at once */
	if (mw->mr)
		atomic_dec(&mw->mr->windows);
	mw->mr = NULL;
}

int rsoft_dealloc_mw(struct ib_mw *ibmw)
{
	struct rsoft_mw *mw = to_rmw(ibmw);

	/* also waits for a bind that is under way */
	rsoft_table_remove(&rsoft_key_table, mw->k.h);
	rsoft_mw_unbind(&mw->k);
	return 0;
}

bool rsoft_mw_is_of(const struct rsoft_mkey *mk, const struct rsoft_qp *qp)
{
	return READ_ONCE(rsoft_mkey_mw(mk)->qp_id) == qp->h->id;
}

/* The region, counted as bound; NULL if it cannot be bound so. */
static struct rsoft_mr *bind_region(const struct rsoft_qp *qp,
				    const struct rsoft_swqe *wqe,
				    enum rsoft_access *why)
{
	struct rsoft_mkey *mk = rsoft_mkey_claim(wqe->mr_lkey);
	struct rsoft_region region;
	struct rsoft_mr *mr;
	u32 need = RSOFT_ACC_MW_BIND;

	*why = RSOFT_ACCESS_KEY;
	if (!mk)
		return NULL;
	if (wqe->access & WINDOW_WRITES)
		need |= RSOFT_ACC_LOCAL_WRITE;
	region = (struct rsoft_region){
		.key = mk->key,
		.valid = mk->valid,
		.owner_ok = mk->pd == qp->ibqp.pd,
		.rights = mk->access,
		.start = mk->iova,
		.len = mk->length,
	};
	if (mk->type == RSOFT_MKEY_USER || mk->type == RSOFT_MKEY_FAST)
		*why = rsoft_access_check(&region, wqe->mr_lkey, need,
					  wqe->raddr, wqe->reg_len);
	mr = container_of(mk, struct rsoft_mr, k);
	if (*why == RSOFT_ACCESS_OK)
		atomic_inc(&mr->windows);
	else
		mr = NULL;
	rsoft_mkey_release(mk);
	return mr;
}

static enum rsoft_access bind_check(const struct rsoft_qp *qp,
				    const struct rsoft_swqe *wqe,
				    const struct rsoft_mkey *mk)
{
	if (!rsoft_mkey_is_window(mk) || mk->key != wqe->inv_rkey ||
	    rsoft_key_index(wqe->rkey) != rsoft_key_index(mk->key))
		return RSOFT_ACCESS_KEY;
	if (mk->pd != qp->ibqp.pd)
		return RSOFT_ACCESS_PD;
	if (mk->type == RSOFT_MKEY_WINDOW_2 && mk->valid)
		return RSOFT_ACCESS_STATE;
	if (mk->type == RSOFT_MKEY_WINDOW_2 && !wqe->reg_len)
		return RSOFT_ACCESS_RANGE;
	return RSOFT_ACCESS_OK;
}

static void bind_apply(const struct rsoft_qp *qp, const struct rsoft_swqe *wqe,
		       struct rsoft_mkey *mk, struct rsoft_mr *mr)
{
	struct rsoft_mw *mw = rsoft_mkey_mw(mk);

	rsoft_mkey_quiesce(mk);
	rsoft_mw_unbind(mk);
	mw->mr = mr;
	WRITE_ONCE(mw->qp_id, qp->h->id);
	WRITE_ONCE(mk->key, wqe->rkey);
	WRITE_ONCE(mk->access, wqe->access & WINDOW_RIGHTS);
	WRITE_ONCE(mk->iova, wqe->raddr);
	WRITE_ONCE(mk->length, wqe->reg_len);
	/* pairs with the load-acquire in rsoft_mem_get() */
	smp_store_release(&mk->valid, mr);
}

enum rsoft_access rsoft_mw_bind(const struct rsoft_qp *qp,
				const struct rsoft_swqe *wqe)
{
	struct rsoft_mr *mr = NULL;
	struct rsoft_mkey *mk;
	enum rsoft_access why;

	if (wqe->access & ~(WINDOW_RIGHTS | WINDOW_IGNORED))
		return RSOFT_ACCESS_RIGHTS;
	/* nothing to bind to: unbinds a window of type 1 */
	if (wqe->reg_len) {
		mr = bind_region(qp, wqe, &why);
		if (!mr)
			return why;
	}
	why = RSOFT_ACCESS_KEY;
	mk = rsoft_mkey_claim(wqe->inv_rkey);
	if (mk) {
		why = bind_check(qp, wqe, mk);
		if (why == RSOFT_ACCESS_OK)
			bind_apply(qp, wqe, mk, mr);
		rsoft_mkey_release(mk);
	}
	if (why != RSOFT_ACCESS_OK && mr)
		atomic_dec(&mr->windows);
	return why;
}
