// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the rings. A user's ring is made of single zeroed pages, charged to
 * its memory cgroup, mapped into the kernel by vmap unless it is one page, and
 * into the process by mmap. The core's mmap entry owns them: it is released when
 * the object goes and no mmap call is under way. Page table entries hold their
 * own references, so a ring that a process still has mapped stays readable after
 * that.
 */
#include "ring.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/rdma_user_rxe.h>

/* Bounds that keep 32-bit sizes from overflowing; callers are stricter. */
#define NUM_MAX		SZ_16M
#define ELEM_MAX	SZ_16K
#define RING_MAX	SZ_1G

/**
 * struct rsoft_mmap - pages of a user's ring
 * @entry: the core's part
 * @num: number of pages
 * @pages: pages
 */
struct rsoft_mmap {
	struct rdma_user_mmap_entry entry;
	u32 num;
	struct page *pages[];
};

static void mmap_destroy(struct rsoft_mmap *map)
{
	u32 i;

	for (i = 0; i < map->num; i++)
		__free_page(map->pages[i]);
	kvfree(map);
}

static struct rsoft_mmap *mmap_create(u32 num)
{
	struct rsoft_mmap *map;

	map = kvzalloc(struct_size(map, pages, num), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NULL;

	while (map->num < num) {
		struct page *page = NULL;

		if (!fatal_signal_pending(current))
			page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!page) {
			mmap_destroy(map);
			return NULL;
		}
		map->pages[map->num++] = page;
		cond_resched();
	}
	return map;
}

/* A ring of one page needs no mapping of its own. */
static void *ring_map(struct rsoft_mmap *map)
{
	if (map->num == 1)
		return page_address(map->pages[0]);
	return vmap(map->pages, map->num, VM_MAP, PAGE_KERNEL);
}

static void ring_unmap(const void *buf)
{
	if (is_vmalloc_addr(buf))
		vunmap(buf);
}

static int ring_alloc_user(struct rsoft_ring *ring, struct ib_ucontext *ctx,
			   struct rdma_soft_mminfo *mi)
{
	struct rsoft_mmap *map;
	int ret;

	map = mmap_create(ring->size >> PAGE_SHIFT);
	if (!map)
		return -ENOMEM;

	ring->buf = ring_map(map);
	if (!ring->buf) {
		mmap_destroy(map);
		return -ENOMEM;
	}

	ret = rdma_user_mmap_entry_insert(ctx, &map->entry, ring->size);
	if (ret) {
		ring_unmap(ring->buf);
		mmap_destroy(map);
		return ret;
	}
	ring->map = map;
	mi->offset = rdma_user_mmap_get_offset(&map->entry);
	mi->size = ring->size;
	mi->pad = 0;
	return 0;
}

static int ring_size(u32 num, u32 elem_size, struct rsoft_ring *ring)
{
	u64 bytes;

	if (!num || num > NUM_MAX || !elem_size || elem_size > ELEM_MAX)
		return -EINVAL;

	ring->mask = roundup_pow_of_two(num + 1) - 1;
	ring->elem_shift = order_base_2(elem_size);
	bytes = ((u64)ring->mask + 1) << ring->elem_shift;
	bytes = PAGE_ALIGN(bytes + sizeof(struct rdma_soft_queue_buf));
	if (bytes > RING_MAX)
		return -EINVAL;
	ring->size = (u32)bytes;
	return 0;
}

int rsoft_ring_init(struct rsoft_ring *ring, struct ib_ucontext *ctx, u32 num,
		    u32 elem_size, struct rdma_soft_mminfo *mi)
{
	struct rsoft_ring new = {};
	int ret;

	ret = ring_size(num, elem_size, &new);
	if (ret)
		return ret;

	if (ctx) {
		ret = ring_alloc_user(&new, ctx, mi);
		if (ret)
			return ret;
	} else {
		new.buf = vzalloc(new.size);
		if (!new.buf)
			return -ENOMEM;
	}

	new.buf->log2_elem_size = new.elem_shift;
	new.buf->index_mask = new.mask;
	*ring = new;
	return 0;
}

void rsoft_ring_destroy(struct rsoft_ring *ring)
{
	if (!ring->buf)
		return;

	if (ring->map) {
		ring_unmap(ring->buf);
		rdma_user_mmap_entry_remove(&ring->map->entry);
	} else {
		vfree(ring->buf);
	}
	memset(ring, 0, sizeof(*ring));
}

void rsoft_ring_copy(struct rsoft_ring *dst, u32 at,
		     const struct rsoft_ring *src, u32 from, u32 num)
{
	size_t bytes = 1ul << min(src->elem_shift, dst->elem_shift);

	while (num--)
		memcpy(rsoft_ring_slot(dst, at++), rsoft_ring_slot(src, from++),
		       bytes);
}

int rsoft_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct rsoft_mmap *map;
	int ret;

	/* Finds entries of this context only, and compares the size. */
	entry = rdma_user_mmap_entry_get(ctx, vma);
	if (!entry)
		return -EINVAL;

	map = container_of(entry, struct rsoft_mmap, entry);
	ret = vm_map_pages_zero(vma, map->pages, map->num);
	rdma_user_mmap_entry_put(entry);
	return ret;
}

void rsoft_mmap_free(struct rdma_user_mmap_entry *entry)
{
	mmap_destroy(container_of(entry, struct rsoft_mmap, entry));
}

/* The kernel describes the same layout, as far as its version goes. */

#define SAME_SIZE(ours, theirs) \
	static_assert(sizeof(struct ours) == sizeof(struct theirs))
#define SAME_PLACE(ours, theirs, ...) \
	static_assert(offsetof(struct ours, __VA_ARGS__) == \
		      offsetof(struct theirs, __VA_ARGS__))

SAME_SIZE(rdma_soft_av, rxe_av);
SAME_PLACE(rdma_soft_av, rxe_av, network_type);
SAME_PLACE(rdma_soft_av, rxe_av, dmac);
SAME_PLACE(rdma_soft_av, rxe_av, grh);
SAME_PLACE(rdma_soft_av, rxe_av, grh.sgid_index);
SAME_PLACE(rdma_soft_av, rxe_av, sgid_addr);
SAME_PLACE(rdma_soft_av, rxe_av, dgid_addr);

SAME_SIZE(rdma_soft_send_wr, rxe_send_wr);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, opcode);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, send_flags);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, ex.imm_data);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.rdma.remote_addr);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.rdma.rkey);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.atomic.compare_add);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.atomic.swap);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.atomic.rkey);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.ud.remote_qpn);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.ud.remote_qkey);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.ud.ah_num);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.ud.av);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.mw.length);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.mw.mr_lkey);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.mw.mw_rkey);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.mw.access);
#ifdef RDMA_SOFT_HAVE_UAPI_RXE_FLUSH
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.flush.remote_addr);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.flush.length);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.flush.rkey);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.flush.type);
SAME_PLACE(rdma_soft_send_wr, rxe_send_wr, wr.flush.level);
#endif

SAME_SIZE(rdma_soft_sge, rxe_sge);
SAME_PLACE(rdma_soft_sge, rxe_sge, length);
SAME_PLACE(rdma_soft_sge, rxe_sge, lkey);
SAME_SIZE(rdma_soft_mminfo, mminfo);
SAME_PLACE(rdma_soft_mminfo, mminfo, size);
SAME_SIZE(rdma_soft_dma_info, rxe_dma_info);
SAME_PLACE(rdma_soft_dma_info, rxe_dma_info, num_sge);
SAME_PLACE(rdma_soft_dma_info, rxe_dma_info, sge);
SAME_PLACE(rdma_soft_dma_info, rxe_dma_info, inline_data);
#ifdef RDMA_SOFT_HAVE_UAPI_RXE_ATOMIC_WR
SAME_PLACE(rdma_soft_dma_info, rxe_dma_info, atomic_wr);
#endif
SAME_SIZE(rdma_soft_send_wqe, rxe_send_wqe);
SAME_PLACE(rdma_soft_send_wqe, rxe_send_wqe, dma);
SAME_SIZE(rdma_soft_recv_wqe, rxe_recv_wqe);
SAME_PLACE(rdma_soft_recv_wqe, rxe_recv_wqe, dma);
SAME_SIZE(rdma_soft_create_ah_resp, rxe_create_ah_resp);
SAME_SIZE(rdma_soft_create_cq_resp, rxe_create_cq_resp);
SAME_SIZE(rdma_soft_resize_cq_resp, rxe_resize_cq_resp);
SAME_SIZE(rdma_soft_create_qp_resp, rxe_create_qp_resp);
SAME_PLACE(rdma_soft_create_qp_resp, rxe_create_qp_resp, sq_mi);
SAME_SIZE(rdma_soft_create_srq_resp, rxe_create_srq_resp);
SAME_PLACE(rdma_soft_create_srq_resp, rxe_create_srq_resp, srq_num);
SAME_SIZE(rdma_soft_modify_srq_cmd, rxe_modify_srq_cmd);
SAME_SIZE(rdma_soft_queue_buf, rxe_queue_buf);
SAME_PLACE(rdma_soft_queue_buf, rxe_queue_buf, index_mask);
SAME_PLACE(rdma_soft_queue_buf, rxe_queue_buf, producer_index);
SAME_PLACE(rdma_soft_queue_buf, rxe_queue_buf, consumer_index);
SAME_PLACE(rdma_soft_queue_buf, rxe_queue_buf, data);
