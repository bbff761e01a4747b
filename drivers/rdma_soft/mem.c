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

/* Operands that the CPU cannot reach with one aligned instruction. */
static DEFINE_SPINLOCK(odd_lock);

enum rsoft_access rsoft_mem_get(struct ib_pd *pd, u32 key, u32 need, u64 va,
				u64 len, struct rsoft_mr **res)
{
	struct rsoft_region region;
	enum rsoft_access ret;
	struct rsoft_handle *h;
	struct rsoft_mr *mr;

	h = rsoft_table_get(&rsoft_key_table, rsoft_key_index(key));
	if (!h)
		return RSOFT_ACCESS_KEY;

	mr = h->obj;
	/* A fast region's map is written before it is made valid. */
	region.valid = smp_load_acquire(&mr->valid);
	region.key = READ_ONCE(mr->key);
	region.owner_ok = READ_ONCE(mr->ibmr.pd) == pd;
	region.all = mr->type == RSOFT_MR_DMA;
	region.rights = READ_ONCE(mr->access);
	region.start = READ_ONCE(mr->iova);
	region.len = READ_ONCE(mr->length);

	ret = rsoft_access_check(&region, key, need, va, len);
	if (ret != RSOFT_ACCESS_OK) {
		rsoft_handle_put(h);
		return ret;
	}
	*res = mr;
	return RSOFT_ACCESS_OK;
}

void rsoft_mem_put(struct rsoft_mr *mr)
{
	if (mr)
		rsoft_handle_put(mr->h);
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

	off = va - mr->iova + mr->offset;
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
