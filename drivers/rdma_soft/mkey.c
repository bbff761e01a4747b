// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of what a key stands for, made by local operations and by SEND with
 * invalidate while packets access memory by keys.
 *
 * An access takes a reference on the key's handle, then looks if the key is
 * valid. Who takes a key back makes it invalid, then waits until the table's
 * reference and his own are the only ones. With a full barrier on both sides
 * one of the two sees the other: after the wait nobody touches the memory, and
 * the consumer may give it away when it sees the completion.
 *
 * Only who claimed a key changes it. Who finds it claimed drops his reference
 * before he tries again, as the one who waits counts references.
 */
#include "mr.h"
#include "mw.h"
#include "qp.h"

#define CLAIMED 0

struct rsoft_mkey *rsoft_mkey_claim(u32 key)
{
	struct rsoft_mkey *mk;
	struct rsoft_handle *h;

	WARN_ON_ONCE(!in_softirq());
	for (;;) {
		h = rsoft_table_get(&rsoft_key_table, rsoft_key_index(key));
		if (!h)
			return NULL;
		mk = h->obj;
		if (!test_and_set_bit_lock(CLAIMED, &mk->claimed))
			return mk;
		rsoft_handle_put(h);
		cpu_relax();
	}
}

void rsoft_mkey_release(struct rsoft_mkey *mk)
{
	clear_bit_unlock(CLAIMED, &mk->claimed);
	rsoft_handle_put(mk->h);
}

void rsoft_mkey_quiesce(struct rsoft_mkey *mk)
{
	WRITE_ONCE(mk->valid, false);
	/* pairs with the barrier in rsoft_mem_get() */
	smp_mb();
	/* the table's, which may be gone already, and ours */
	while (refcount_read(&mk->h->ref) > 2)
		cpu_relax();
	/* what they did comes before what we do */
	smp_mb();
}

/* Is the key what it must be to be invalidated by this QP? */
static enum rsoft_access inval_check(const struct rsoft_qp *qp,
				     const struct rsoft_mkey *mk, u32 key,
				     bool remote)
{
	struct rsoft_region region = {
		.key = mk->key,
		.valid = mk->valid || !remote,
		.owner_ok = mk->pd == qp->ibqp.pd,
	};
	enum rsoft_access why;

	why = rsoft_access_check(&region, key, 0, 0, 0);
	if (why != RSOFT_ACCESS_OK)
		return why;
	switch (mk->type) {
	case RSOFT_MKEY_FAST:
		if (remote && !(mk->access & RSOFT_ACC_REMOTE))
			return RSOFT_ACCESS_RIGHTS;
		return RSOFT_ACCESS_OK;
	case RSOFT_MKEY_WINDOW_2:
		if (mk->valid && !rsoft_mw_is_of(mk, qp))
			return RSOFT_ACCESS_PD;
		return RSOFT_ACCESS_OK;
	default:
		return RSOFT_ACCESS_STATE;
	}
}

enum rsoft_access rsoft_mkey_invalidate(const struct rsoft_qp *qp, u32 key,
					bool remote)
{
	struct rsoft_mkey *mk = rsoft_mkey_claim(key);
	enum rsoft_access why;

	if (!mk)
		return RSOFT_ACCESS_KEY;
	why = inval_check(qp, mk, key, remote);
	if (why == RSOFT_ACCESS_OK) {
		rsoft_mkey_quiesce(mk);
		if (rsoft_mkey_is_window(mk))
			rsoft_mw_unbind(mk);
	}
	rsoft_mkey_release(mk);
	return why;
}

/* What will be mapped has a block for each byte that the key will grant. */
static bool reg_fits(const struct rsoft_mr *mr, const struct rsoft_swqe *wqe)
{
	u32 nblocks = mr->next.ready ? mr->next.nblocks : mr->nblocks;
	u8 shift = mr->next.ready ? mr->next.page_shift : mr->page_shift;
	u32 offset = mr->next.ready ? mr->next.offset : mr->offset;
	u64 room = (u64)nblocks << shift;

	return wqe->reg_len && wqe->reg_len - 1 <= U64_MAX - wqe->raddr &&
	       offset <= room && wqe->reg_len <= room - offset;
}

static void reg_take_next(struct rsoft_mr *mr)
{
	if (!mr->next.ready)
		return;
	swap(mr->map, mr->next.map);
	mr->nblocks = mr->next.nblocks;
	mr->offset = mr->next.offset;
	mr->page_shift = mr->next.page_shift;
	mr->next.ready = false;
}

enum rsoft_access rsoft_mr_fast_reg(const struct rsoft_qp *qp,
				    const struct rsoft_swqe *wqe)
{
	struct rsoft_mkey *mk = rsoft_mkey_claim(wqe->rkey);
	enum rsoft_access why = RSOFT_ACCESS_OK;
	struct rsoft_mr *mr;

	if (!mk)
		return RSOFT_ACCESS_KEY;
	mr = container_of(mk, struct rsoft_mr, k);
	if (mk->type != RSOFT_MKEY_FAST)
		why = RSOFT_ACCESS_KEY;
	else if (mk->valid)
		why = RSOFT_ACCESS_STATE;
	else if (mk->pd != qp->ibqp.pd)
		why = RSOFT_ACCESS_PD;
	else if (!reg_fits(mr, wqe))
		why = RSOFT_ACCESS_RANGE;
	if (why == RSOFT_ACCESS_OK) {
		reg_take_next(mr);
		WRITE_ONCE(mk->key, wqe->rkey);
		WRITE_ONCE(mk->access, wqe->access & RSOFT_MR_RIGHTS);
		WRITE_ONCE(mk->iova, wqe->raddr);
		WRITE_ONCE(mk->length, wqe->reg_len);
		/* pairs with the load-acquire in rsoft_mem_get() */
		smp_store_release(&mk->valid, true);
	}
	rsoft_mkey_release(mk);
	return why;
}
