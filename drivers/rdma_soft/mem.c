// SPDX-License-Identifier: GPL-2.0
/*
 * Access to the memory of regions: find the region of a key, check the access
 * by the one rule in proto/access.c, and give addresses. The only code that
 * looks into a region's map.
 */
#include "mr.h"

#include <linux/atomic.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "mw.h"
#include "qp.h"

/* Operands that the CPU cannot reach with one aligned instruction. */
static DEFINE_SPINLOCK(odd_lock);

/* A key of a window does not work for local accesses. */
static bool window_ok(const struct rsoft_qp *qp, const struct rsoft_mkey *mk,
		      u32 need)
{
	return need & RSOFT_ACC_REMOTE &&
	       (mk->type == RSOFT_MKEY_WINDOW_1 || rsoft_mw_is_of(mk, qp));
}

enum rsoft_access rsoft_mem_get(const struct rsoft_qp *qp, u32 key, u32 need,
				u64 va, u64 len, struct rsoft_mref *ref)
{
	struct rsoft_region region;
	struct rsoft_mkey *mk;
	enum rsoft_access ret;
	struct rsoft_handle *h;

	h = rsoft_table_get(&rsoft_key_table, rsoft_key_index(key));
	if (!h)
		return RSOFT_ACCESS_KEY;

	mk = h->obj;
	/* Pairs with rsoft_mkey_quiesce(): it sees us, or we see it invalid. */
	smp_mb__after_atomic();
	/* What it stands for is written before it is made valid. */
	region.valid = smp_load_acquire(&mk->valid);
	region.key = READ_ONCE(mk->key);
	region.owner_ok = READ_ONCE(mk->pd) == qp->ibqp.pd;
	region.all = mk->type == RSOFT_MKEY_DMA;
	region.rights = READ_ONCE(mk->access);
	region.start = READ_ONCE(mk->iova);
	region.len = READ_ONCE(mk->length);
	ref->mr = container_of(mk, struct rsoft_mr, k);
	if (unlikely(rsoft_mkey_is_window(mk))) {
		region.owner_ok &= window_ok(qp, mk, need);
		ref->mr = READ_ONCE(rsoft_mkey_mw(mk)->mr);
	}

	ret = rsoft_access_check(&region, key, need, va, len);
	if (ret != RSOFT_ACCESS_OK) {
		ref->mr = NULL;
		rsoft_handle_put(h);
		return ret;
	}
	ref->h = h;
	return RSOFT_ACCESS_OK;
}

void *rsoft_mem_at(const struct rsoft_mr *mr, u64 va, u32 len, u32 *run)
{
	u64 off, block, in_block;
	u32 got;
	u8 *addr;

	/* The DMA key names kernel addresses themselves. */
	if (!mr->map) {
		*run = len;
		return (void *)(uintptr_t)va;
	}

	off = va - mr->k.iova + mr->offset;
	block = off >> mr->page_shift;
	in_block = off & ((1ull << mr->page_shift) - 1);
	addr = (u8 *)mr->map[block] + in_block;

	/* Go on while the next block follows in the kernel's address space. */
	got = min_t(u64, len, (1ull << mr->page_shift) - in_block);
	while (got < len && mr->map[block + 1] == addr + got) {
		got += min_t(u64, len - got, 1ull << mr->page_shift);
		block++;
	}
	*run = got;
	return addr;
}

static u64 atomic_odd(u8 *dst, u8 *dst2, u32 run, bool cas, u64 swap_add,
		      u64 compare)
{
	unsigned long flags;
	u64 old, new;

	spin_lock_irqsave(&odd_lock, flags);
	memcpy(&old, dst, run);
	memcpy((u8 *)&old + run, dst2, sizeof(old) - run);
	new = cas ? (old == compare ? swap_add : old) : old + swap_add;
	memcpy(dst, &new, run);
	memcpy(dst2, (u8 *)&new + run, sizeof(new) - run);
	spin_unlock_irqrestore(&odd_lock, flags);
	return old;
}

/*
 * The checked address is a multiple of eight, and a user's region lies at the
 * same offset in its page as its addresses say. A kernel consumer can map a
 * region with another offset, though: then the operand may not be aligned, and
 * a locked instruction across cache lines traps on some CPUs. Such an operand
 * is atomic among remote operations only.
 */
u64 rsoft_mem_atomic(const struct rsoft_mr *mr, u64 va, bool cas, u64 swap_add,
		     u64 compare)
{
	u8 *dst, *dst2;
	u32 run, run2;

	dst = rsoft_mem_at(mr, va, sizeof(u64), &run);
	if (unlikely(run < sizeof(u64) || !IS_ALIGNED((uintptr_t)dst, 8))) {
		dst2 = dst;
		if (run < sizeof(u64))
			dst2 = rsoft_mem_at(mr, va + run, sizeof(u64) - run,
					    &run2);
		return atomic_odd(dst, dst2, run, cas, swap_add, compare);
	}

	if (cas)
		return (u64)atomic64_cmpxchg((atomic64_t *)dst, compare,
					     swap_add);
	return (u64)atomic64_fetch_add(swap_add, (atomic64_t *)dst);
}

void rsoft_mem_store(const struct rsoft_mr *mr, u64 va, u64 val)
{
	unsigned long flags;
	u32 run, run2;
	u8 *dst;

	dst = rsoft_mem_at(mr, va, sizeof(u64), &run);
	if (likely(run == sizeof(u64) && IS_ALIGNED((uintptr_t)dst, 8))) {
		/* who sees this sees what was written before it */
		atomic64_set_release((atomic64_t *)dst, val);
		return;
	}
	spin_lock_irqsave(&odd_lock, flags);
	memcpy(dst, &val, run);
	if (run < sizeof(u64))
		memcpy(rsoft_mem_at(mr, va + run, sizeof(u64) - run, &run2),
		       (u8 *)&val + run, sizeof(u64) - run);
	spin_unlock_irqrestore(&odd_lock, flags);
}
