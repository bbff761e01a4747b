/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory regions, and the only functions that touch their pages.
 */
#ifndef RSOFT_MR_H
#define RSOFT_MR_H

#include <rdma/ib_verbs.h>

#include "proto/access.h"
#include "table.h"

struct ib_umem;

enum rsoft_mr_type {
	RSOFT_MR_USER,
	RSOFT_MR_DMA,		/* kernel key over all addresses */
	RSOFT_MR_FAST,		/* ib_alloc_mr: mapped by map_mr_sg, REG_MR */
};

/**
 * struct rsoft_mr - a memory region
 * @ibmr: the core's part; lkey and rkey live there
 * @h: entry in the key table
 * @type: kind of region
 * @valid: may be accessed; a fast region is valid from REG_MR to LOCAL_INV
 * @access: IB_ACCESS_* granted
 * @key: key in force (upper 24 bits are the index)
 * @iova: first address as users of the key name it
 * @length: bytes
 * @page_shift: log2 of the block size of @map
 * @offset: of the first byte in the first block
 * @nblocks: entries of @map in use
 * @max_blocks: entries of @map allocated
 * @map: kernel address of each block; NULL for RSOFT_MR_DMA
 * @umem: pinned user memory, RSOFT_MR_USER only
 * @rcu: defers freeing
 */
struct rsoft_mr {
	struct ib_mr ibmr;
	struct rsoft_handle *h;
	enum rsoft_mr_type type;
	bool valid;
	u32 access;
	u32 key;
	u64 iova;
	u64 length;
	u8 page_shift;
	u32 offset;
	u32 nblocks;
	u32 max_blocks;
	void **map;
	struct ib_umem *umem;
	struct rcu_head rcu;
};

static inline struct rsoft_mr *to_rmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct rsoft_mr, ibmr);
}

/**
 * rsoft_mem_get() - check an access by key and hold the region
 * @pd: protection domain of the QP
 * @key: lkey or rkey as presented
 * @need: RSOFT_ACC_* the operation needs, 0 for a local read
 * @va: first address
 * @len: bytes, more than 0
 * @mr: set to the region, held, if the result is RSOFT_ACCESS_OK
 *
 * Context: any. Release with rsoft_mem_put().
 *
 * Return: RSOFT_ACCESS_OK or the rule that was broken.
 */
enum rsoft_access rsoft_mem_get(struct ib_pd *pd, u32 key, u32 need, u64 va,
				u64 len, struct rsoft_mr **mr);

/**
 * rsoft_mem_put() - release a region held by rsoft_mem_get()
 * @mr: region, NULL is fine
 */
void rsoft_mem_put(struct rsoft_mr *mr);

/**
 * rsoft_mem_at() - kernel address of a byte of a region
 * @mr: held region
 * @va: address inside it, checked before
 * @len: bytes wanted
 * @run: set to the bytes that are contiguous from there, 1..@len
 *
 * Context: any.
 *
 * Return: kernel address.
 */
void *rsoft_mem_at(const struct rsoft_mr *mr, u64 va, u32 len, u32 *run);

/**
 * rsoft_mem_atomic() - 64-bit atomic operation on a region
 * @mr: held region, address checked for range, rights and alignment
 * @va: address, a multiple of eight
 * @cas: compare and swap, else fetch and add
 * @swap_add: swap operand or addend
 * @compare: compare operand
 *
 * Atomic against all CPUs, user space included; an operand of a kernel region
 * whose memory is not aligned, only against other remote operations.
 *
 * Return: the value before the operation.
 */
u64 rsoft_mem_atomic(const struct rsoft_mr *mr, u64 va, bool cas, u64 swap_add,
		     u64 compare);

/**
 * rsoft_reg_user_mr_pages() - pin user memory and make a region of it
 * @ibpd: protection domain
 * @start: first address in the caller's address space
 * @length: bytes, not 0
 * @iova: first address as users of the key will name it
 * @access: IB_ACCESS_*
 *
 * Context: may sleep; in the process that owns the memory.
 *
 * Return: the region, findable; ERR_PTR(-EINVAL) for a length of 0, one above
 * the limit or one that wraps, ERR_PTR(-ENOMEM) without memory or above
 * RLIMIT_MEMLOCK, ERR_PTR(-EFAULT) if the memory cannot be accessed so.
 */
struct ib_mr *rsoft_reg_user_mr_pages(struct ib_pd *ibpd, u64 start, u64 length,
				      u64 iova, int access);

/* ops of the device */
struct ib_mr *rsoft_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *rsoft_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata);
int rsoft_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif
