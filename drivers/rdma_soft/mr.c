// SPDX-License-Identifier: GPL-2.0
/*
 * Registration of memory. A region gets its number first, is built, and only
 * then becomes findable; deregistration hides it, waits until no packet uses
 * it, and only then lets go of the pages.
 */
#include "mr.h"

#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "device.h"

/* What a key can grant. Optional flags above are hints for DMA engines. */
#define ACCESS_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ZERO_BASED |	   \
			 IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)

static struct rsoft_mr *mr_alloc(struct ib_pd *ibpd, enum rsoft_mr_type type,
				 int access)
{
	struct rsoft_mr *mr;
	int ret;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	mr->h = rsoft_table_add(&rsoft_key_table, mr, GFP_KERNEL);
	if (IS_ERR(mr->h)) {
		ret = PTR_ERR(mr->h);
		kfree(mr);
		return ERR_PTR(ret == -ENOSPC ? -ENOMEM : ret);
	}

	/* The core sets these after return, when the key is in use already. */
	mr->ibmr.device = ibpd->device;
	mr->ibmr.pd = ibpd;
	mr->type = type;
	mr->access = access & ACCESS_RIGHTS;
	mr->key = rsoft_key_make(mr->h->id, (u8)get_random_u32());
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	return mr;
}

static void mr_free(struct rsoft_mr *mr)
{
	rsoft_table_remove(&rsoft_key_table, mr->h);
	ib_umem_release(mr->umem);
	kvfree(mr->map);
	kfree(mr);
}

struct ib_mr *rsoft_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct rsoft_mr *mr = mr_alloc(ibpd, RSOFT_MR_DMA, access);

	if (IS_ERR(mr))
		return ERR_CAST(mr);

	mr->length = U64_MAX;
	mr->valid = true;
	rsoft_table_publish(&rsoft_key_table, mr->h);
	return &mr->ibmr;
}

/* Kernel addresses of the pinned pages; entries hold physical runs of them. */
static int mr_fill_map(struct rsoft_mr *mr)
{
	const struct sg_table *sgt = &mr->umem->sgt_append.sgt;
	struct scatterlist *sg;
	u32 n = 0;
	int i;

	for_each_sgtable_sg(sgt, sg, i) {
		u8 *addr = page_address(sg_page(sg));
		u32 pages = sg->length >> PAGE_SHIFT;

		/* NULL: a page without a permanent address (32-bit CPUs) */
		if (!addr || pages > mr->max_blocks - n)
			return -EINVAL;
		for (; pages; pages--, addr += PAGE_SIZE)
			mr->map[n++] = addr;
		cond_resched();
	}
	mr->nblocks = n;
	return n == mr->max_blocks ? 0 : -EINVAL;
}

static int mr_pin(struct rsoft_mr *mr, u64 start, int access)
{
	int ret;

	mr->umem = ib_umem_get_va(mr->ibmr.device, start, mr->length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		mr->umem = NULL;
		return ret;
	}

	mr->page_shift = PAGE_SHIFT;
	mr->offset = ib_umem_offset(mr->umem);
	mr->max_blocks = ib_umem_num_pages(mr->umem);
	mr->map = kvmalloc_array(mr->max_blocks, sizeof(*mr->map),
				 GFP_KERNEL_ACCOUNT);
	if (!mr->map)
		return -ENOMEM;
	return mr_fill_map(mr);
}

struct ib_mr *rsoft_reg_user_mr_pages(struct ib_pd *ibpd, u64 start, u64 length,
				      u64 iova, int access)
{
	struct rsoft_mr *mr;
	int ret;

	/* The last byte must have an address, both here and for the peer. */
	if (!length || length > RSOFT_MAX_MR_SIZE ||
	    length - 1 > U64_MAX - start || length - 1 > U64_MAX - iova)
		return ERR_PTR(-EINVAL);

	mr = mr_alloc(ibpd, RSOFT_MR_USER, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);

	mr->iova = iova;
	mr->length = length;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	ret = mr_pin(mr, start, access);
	if (ret) {
		mr_free(mr);
		return ERR_PTR(ret);
	}

	mr->valid = true;
	rsoft_table_publish(&rsoft_key_table, mr->h);
	return &mr->ibmr;
}

struct ib_mr *rsoft_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata)
{
	return rsoft_reg_user_mr_pages(ibpd, start, length, iova, access);
}

int rsoft_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	mr_free(to_rmr(ibmr));
	return 0;
}
