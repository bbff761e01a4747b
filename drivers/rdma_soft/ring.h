/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings shared with user space (SQ, RQ, SRQ, CQ).
 *
 * The whole mapping is writable by user space at any time, so nothing in it is
 * trusted: the kernel keeps its own indices, mask and element size, reads the
 * peer's index once (masked), copies an element once and validates the copy.
 *
 * Barriers, with their partners in the library: the producer writes the
 * element, then store-releases producer_index; the consumer load-acquires
 * producer_index, reads the element, then store-releases consumer_index, which
 * the producer load-acquires before it reuses the element. A ring holds mask
 * elements at most: full is ((producer + 1) & mask) == consumer.
 */
#ifndef RSOFT_RING_H
#define RSOFT_RING_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "../../include/uapi/rdma/rdma_soft-abi.h"

struct rsoft_mmap;

/**
 * struct rsoft_ring - kernel side of one ring
 * @buf: kernel mapping of header and elements
 * @map: user mapping, NULL for a ring of a kernel consumer
 * @size: bytes of @buf, whole pages
 * @elem_shift: log2 of the element size
 * @mask: number of elements - 1
 * @prod: own producer index (CQ), masked
 * @cons: own consumer index (SQ, RQ, SRQ), masked
 */
struct rsoft_ring {
	struct rdma_soft_queue_buf *buf;
	struct rsoft_mmap *map;
	u32 size;
	u32 elem_shift;
	u32 mask;
	u32 prod;
	u32 cons;
};

/**
 * rsoft_ring_init() - allocate a ring, charged to the caller's memory cgroup
 * @ring: ring, zeroed
 * @ctx: owner's context, NULL for a kernel consumer (no user mapping)
 * @num: elements that must fit, 1 or more; rounded up to a power of two with
 *       one spare
 * @elem_size: bytes of an element; rounded up to a power of two
 * @mi: filled with offset and size for mmap if @ctx is not NULL
 *
 * Return: 0, -EINVAL if a size overflows, -ENOMEM.
 */
int rsoft_ring_init(struct rsoft_ring *ring, struct ib_ucontext *ctx, u32 num,
		    u32 elem_size, struct rdma_soft_mminfo *mi);

/**
 * rsoft_ring_destroy() - release a ring; a user mapping keeps its pages
 * @ring: ring; one that was never initialised (all zero) is fine
 *
 * Context: may sleep.
 */
void rsoft_ring_destroy(struct rsoft_ring *ring);

/**
 * rsoft_ring_slot() - address of an element
 * @ring: ring
 * @idx: index; masked
 *
 * Return: kernel address inside the ring.
 */
static inline void *rsoft_ring_slot(const struct rsoft_ring *ring, u32 idx)
{
	return ring->buf->data + ((size_t)(idx & ring->mask) << ring->elem_shift);
}

/**
 * rsoft_ring_peek() - next unread element of a ring that user space fills
 * @ring: SQ, RQ or SRQ
 * @idx: own index up to which elements are taken
 *
 * Pairs with the store-release of producer_index in the library (or in
 * rsoft_ring_produce() for a kernel consumer).
 *
 * Return: the element at @idx, NULL if there is none. Its content may change
 * while it is read.
 */
static inline const void *rsoft_ring_peek(const struct rsoft_ring *ring,
					  u32 idx)
{
	/* The elements before this index were written before it. */
	u32 prod = smp_load_acquire(&ring->buf->producer_index);

	if (((prod ^ idx) & ring->mask) == 0)
		return NULL;
	return rsoft_ring_slot(ring, idx);
}

/**
 * rsoft_ring_count() - unread elements of a ring that user space fills
 * @ring: SQ, RQ or SRQ
 * @idx: own index up to which elements are taken
 *
 * Return: 0..mask, whatever user space wrote.
 */
static inline u32 rsoft_ring_count(const struct rsoft_ring *ring, u32 idx)
{
	/* The elements before this index were written before it. */
	u32 prod = smp_load_acquire(&ring->buf->producer_index);

	return (prod - idx) & ring->mask;
}

/**
 * rsoft_ring_consume() - give elements back to the producer
 * @ring: SQ, RQ or SRQ
 * @idx: new consumer index
 *
 * Pairs with the load-acquire of consumer_index in the library.
 */
static inline void rsoft_ring_consume(struct rsoft_ring *ring, u32 idx)
{
	ring->cons = idx & ring->mask;
	/* The elements before this index have been read. */
	smp_store_release(&ring->buf->consumer_index, ring->cons);
}

/**
 * rsoft_ring_full() - no room for a producer in the kernel
 * @ring: CQ, or RQ/SRQ of a kernel consumer
 *
 * Pairs with the store-release of consumer_index in the library.
 *
 * Return: true if nothing can be produced.
 */
static inline bool rsoft_ring_full(const struct rsoft_ring *ring)
{
	/* The elements before this index were read before it. */
	u32 cons = smp_load_acquire(&ring->buf->consumer_index);

	return ((ring->prod + 1 - cons) & ring->mask) == 0;
}

/**
 * rsoft_ring_produce() - publish the element at ring->prod
 * @ring: CQ, or RQ/SRQ of a kernel consumer
 *
 * Pairs with the load-acquire of producer_index in the consumer.
 */
static inline void rsoft_ring_produce(struct rsoft_ring *ring)
{
	ring->prod = (ring->prod + 1) & ring->mask;
	/* The elements before this index have been written. */
	smp_store_release(&ring->buf->producer_index, ring->prod);
}

/**
 * rsoft_ring_copy() - copy elements from one ring to another, for a resize
 * @dst: new ring
 * @at: index in @dst of the first copy
 * @src: old ring
 * @from: index in @src of the first element
 * @num: elements; they fit into @dst
 *
 * Indices are not moved, nothing is published.
 */
void rsoft_ring_copy(struct rsoft_ring *dst, u32 at,
		     const struct rsoft_ring *src, u32 from, u32 num);

/**
 * rsoft_mmap() - ops.mmap: map a ring
 * @ctx: caller's context
 * @vma: area; its offset and size must be those of a ring of this context
 *
 * Return: 0, -EINVAL for an unknown offset or another size.
 */
int rsoft_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma);

/**
 * rsoft_mmap_free() - ops.mmap_free: the last user of a mapping is gone
 * @entry: mapping
 */
void rsoft_mmap_free(struct rdma_user_mmap_entry *entry);

#endif
