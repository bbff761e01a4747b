// SPDX-License-Identifier: GPL-2.0
/*
 * The access rule, and the permutation that makes keys and QPNs hard to guess.
 * Both directions of the data path call rsoft_access_check() for each packet
 * and each SGE; there is no other check.
 */
#include "access.h"

#define ATOMIC_ALIGN_MASK	7u
#define HALF_BITS		12
#define HALF_MASK		0xfffu

/*
 * Written as differences: no sum of two outside values is formed, so nothing
 * can wrap. An access that itself passes the end of the address space is
 * refused even where the region covers all of it.
 */
static bool in_range(const struct rsoft_region *region, u64 va, u64 len)
{
	u64 off = va - region->start;

	if (!len)
		return true;
	if (len - 1 > U64_MAX - va)
		return false;
	if (region->all)
		return true;
	return va >= region->start && off <= region->len &&
	       len <= region->len - off;
}

enum rsoft_access rsoft_access_check(const struct rsoft_region *region,
				     u32 key, u32 need, u64 va, u64 len)
{
	if (region->key != key)
		return RSOFT_ACCESS_KEY;
	if (!region->valid)
		return RSOFT_ACCESS_STATE;
	if (!region->owner_ok)
		return RSOFT_ACCESS_PD;
	if (need & ~region->rights)
		return RSOFT_ACCESS_RIGHTS;
	if (!in_range(region, va, len))
		return RSOFT_ACCESS_RANGE;
	if ((need & RSOFT_ACC_REMOTE_ATOMIC) && (va & ATOMIC_ALIGN_MASK))
		return RSOFT_ACCESS_ALIGN;
	return RSOFT_ACCESS_OK;
}

/* Round function: a 32-bit finaliser, of which one half is used. */
static u32 mix(u32 half, u32 key)
{
	u32 h = half ^ key;

	h ^= h >> 16;
	h *= 0x7feb352du;
	h ^= h >> 15;
	h *= 0x846ca68bu;
	h ^= h >> 16;
	return h & HALF_MASK;
}

u32 rsoft_permute24(u32 x, const u32 key[4])
{
	u32 l = x >> HALF_BITS & HALF_MASK;
	u32 r = x & HALF_MASK;
	u32 t;
	int i;

	for (i = 0; i < 4; i++) {
		t = l ^ mix(r, key[i]);
		l = r;
		r = t;
	}
	return l << HALF_BITS | r;
}

u32 rsoft_unpermute24(u32 y, const u32 key[4])
{
	u32 l = y >> HALF_BITS & HALF_MASK;
	u32 r = y & HALF_MASK;
	u32 t;
	int i;

	for (i = 3; i >= 0; i--) {
		t = r ^ mix(l, key[i]);
		r = l;
		l = t;
	}
	return l << HALF_BITS | r;
}
