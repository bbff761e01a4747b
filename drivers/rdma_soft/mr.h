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
struct rsoft_qp;
struct rsoft_swqe;

enum rsoft_mkey_type {
	RSOFT_MKEY_USER,	/* pinned user memory */
	RSOFT_MKEY_DMA,		/* kernel key over all addresses */
	RSOFT_MKEY_FAST,	/* ib_alloc_mr: mapped by map_mr_sg, REG_MR */
	RSOFT_MKEY_WINDOW_1,	/* memory windows, see mw.h */
	RSOFT_MKEY_WINDOW_2,
};

/**
 * struct rsoft_mkey - what a key stands for: a region or a window
 * @h: entry in the key table
 * @type: which struct it is part of
 * @valid: may be accessed; what follows changes only while it may not and
 *         nobody accesses it any more (see rsoft_mkey_quiesce())
 * @access: IB_ACCESS_* granted
 * @key: key in force (upper 24 bits are the index)
 * @iova: first address as users of the key name it
 * @length: bytes
 * @pd: protection domain
 * @claimed: bit 0: somebody changes it
 */
struct rsoft_mkey {
	struct rsoft_handle *h;
	enum rsoft_mkey_type type;
	bool valid;
	u32 access;
	u32 key;
	u64 iova;
	u64 length;
	struct ib_pd *pd;
	unsigned long claimed;
};

/**
 * struct rsoft_mr - a memory region
 * @k: its key
 * @ibmr: the core's part; a consumer changes lkey and rkey there
 * @page_shift: log2 of the block size of @map
 * @offset: of the first byte in the first block
 * @nblocks: entries of @map in use
 * @max_blocks: entries of @map allocated
 * @map: kernel address of each block; NULL for RSOFT_MKEY_DMA
 * @umem: pinned user memory, RSOFT_MKEY_USER only
 * @windows: memory windows bound to it
 * @next: fast region: what map_mr_sg made ready; its owner maps the next
 *        memory while the old one may still be in use
 * @next.map: blocks
 * @next.nblocks: entries of @next.map in use
 * @next.offset: of the first byte in the first block
 * @next.page_shift: log2 of the block size
 * @next.ready: not taken by a REG_MR yet
 */
struct rsoft_mr {
	struct rsoft_mkey k;
	struct ib_mr ibmr;
	u8 page_shift;
	u32 offset;
	u32 nblocks;
	u32 max_blocks;
	void **map;
	struct ib_umem *umem;
	atomic_t windows;
	struct {
		void **map;
		u32 nblocks;
		u32 offset;
		u8 page_shift;
		bool ready;
	} next;
};

/* What a key can grant. Optional flags above are hints for DMA engines. */
#define RSOFT_MR_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ZERO_BASED |	   \
			 IB_ACCESS_FLUSH_GLOBAL)

static inline struct rsoft_mr *to_rmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct rsoft_mr, ibmr);
}

/**
 * struct rsoft_mref - a region that is being accessed
 * @mr: region
 * @h: key by which it was reached: the region's, or that of a window
 */
struct rsoft_mref {
	struct rsoft_mr *mr;
	struct rsoft_handle *h;
};

/**
 * rsoft_mem_get() - check an access by key and hold the region
 * @qp: QP that accesses, or on whose behalf it is done
 * @key: lkey or rkey as presented
 * @need: RSOFT_ACC_* the operation needs, 0 for a local read
 * @va: first address
 * @len: bytes, more than 0
 * @ref: filled in if the result is RSOFT_ACCESS_OK
 *
 * Context: BH disabled until rsoft_mem_put(): who takes the key back spins
 * until then.
 *
 * Return: RSOFT_ACCESS_OK or the rule that was broken.
 */
enum rsoft_access rsoft_mem_get(const struct rsoft_qp *qp, u32 key, u32 need,
				u64 va, u64 len, struct rsoft_mref *ref);

/**
 * rsoft_mem_put() - release a region held by rsoft_mem_get()
 * @ref: region; empty is fine, and empty it is after that
 */
static inline void rsoft_mem_put(struct rsoft_mref *ref)
{
	if (ref->h)
		rsoft_handle_put(ref->h);
	ref->h = NULL;
	ref->mr = NULL;
}

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
 * rsoft_mem_store() - write eight bytes in one piece (ATOMIC WRITE)
 * @mr: held region, address checked for range, rights and alignment
 * @va: address, a multiple of eight
 * @val: the bytes as they lie in memory
 *
 * In one piece for all CPUs; memory of a kernel region that is not aligned,
 * only for other remote operations.
 */
void rsoft_mem_store(const struct rsoft_mr *mr, u64 va, u64 val);

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

/**
 * rsoft_mkey_claim() - become the one that changes what a key stands for
 * @key: key, of which the index counts
 *
 * Spins while another one changes it.
 *
 * Context: BH disabled until rsoft_mkey_release(), so that a claim is never
 * interrupted by somebody who wants it too.
 *
 * Return: region or window with a reference, NULL if there is none.
 */
struct rsoft_mkey *rsoft_mkey_claim(u32 key);

/**
 * rsoft_mkey_release() - end a claim
 * @mk: region or window; may be gone on return
 */
void rsoft_mkey_release(struct rsoft_mkey *mk);

/**
 * rsoft_mkey_quiesce() - make a key invalid and wait until nobody uses it
 * @mk: region or window, claimed
 *
 * On return no packet accesses the memory and none can begin to. Accesses are
 * made with BH disabled, within the budget of a run, and hold no claim: the
 * wait is a short spin.
 */
void rsoft_mkey_quiesce(struct rsoft_mkey *mk);

/**
 * rsoft_mkey_invalidate() - LOCAL_INV and SEND with invalidate
 * @qp: QP that executes it
 * @key: key named
 * @remote: the peer asks for it
 *
 * Fast regions of the QP's PD, and windows of type 2 bound to the QP. A peer
 * must name a valid key that grants remote access; locally, what is invalid
 * already may be invalidated again.
 *
 * Context: BH disabled; the caller holds no region.
 *
 * Return: RSOFT_ACCESS_OK or the rule that was broken.
 */
enum rsoft_access rsoft_mkey_invalidate(const struct rsoft_qp *qp, u32 key,
					bool remote);

/**
 * rsoft_mr_fast_reg() - execute a REG_MR
 * @qp: QP that executes it
 * @wqe: request
 *
 * Context: BH disabled.
 *
 * Return: RSOFT_ACCESS_OK or the rule that was broken.
 */
enum rsoft_access rsoft_mr_fast_reg(const struct rsoft_qp *qp,
				    const struct rsoft_swqe *wqe);

/* ops of the device */
struct ib_mr *rsoft_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_num_sg);
int rsoft_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset);
struct ib_mr *rsoft_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *rsoft_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata);
int rsoft_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif
