// SPDX-License-Identifier: GPL-2.0
/*
 * Registration of memory. A region gets its number first, is built, and only
 * then becomes findable; deregistration hides it, waits until no packet uses
 * it, and only then lets go of the pages. A region with bound windows stays.
 */
#include "mr.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "device.h"

static struct rsoft_mr *mr_alloc(struct ib_pd *ibpd, enum rsoft_mkey_type type,
				 int access)
{
	struct rsoft_mr *mr;
	int ret;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	mr->k.h = rsoft_table_add(&rsoft_key_table, &mr->k, GFP_KERNEL);
	if (IS_ERR(mr->k.h)) {
		ret = PTR_ERR(mr->k.h);
		kfree(mr);
		return ERR_PTR(ret == -ENOSPC ? -ENOMEM : ret);
	}

	/* The core sets these after return, when the key is in use already. */
	mr->ibmr.device = ibpd->device;
	mr->ibmr.pd = ibpd;
	mr->k.pd = ibpd;
	mr->k.type = type;
	mr->k.access = access & RSOFT_MR_RIGHTS;
	mr->k.key = rsoft_key_make(mr->k.h->id, (u8)get_random_u32());
	mr->ibmr.lkey = mr->k.key;
	mr->ibmr.rkey = mr->k.key;
	return mr;
}

static void mr_free(struct rsoft_mr *mr)
{
	rsoft_table_remove(&rsoft_key_table, mr->k.h);
	ib_umem_release(mr->umem);
	kvfree(mr->map);
	kvfree(mr->next.map);
	kfree(mr);
}

struct ib_mr *rsoft_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct rsoft_mr *mr = mr_alloc(ibpd, RSOFT_MKEY_DMA, access);

	if (IS_ERR(mr))
		return ERR_CAST(mr);

	mr->k.length = U64_MAX;
	mr->k.valid = true;
	rsoft_table_publish(&rsoft_key_table, mr->k.h);
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

	mr->umem = ib_umem_get_va(mr->ibmr.device, start, mr->k.length, access);
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

	/* Memory that keeps its content without power is not ours to promise. */
	if (access & IB_ACCESS_FLUSH_PERSISTENT)
		return ERR_PTR(-EOPNOTSUPP);
	/* The last byte must have an address, both here and for the peer. */
	if (!length || length > RSOFT_MAX_MR_SIZE ||
	    length - 1 > U64_MAX - start || length - 1 > U64_MAX - iova)
		return ERR_PTR(-EINVAL);

	mr = mr_alloc(ibpd, RSOFT_MKEY_USER, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);

	mr->k.iova = iova;
	mr->k.length = length;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	ret = mr_pin(mr, start, access);
	if (ret) {
		mr_free(mr);
		return ERR_PTR(ret);
	}

	mr->k.valid = true;
	rsoft_table_publish(&rsoft_key_table, mr->k.h);
	return &mr->ibmr;
}

struct ib_mr *rsoft_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata)
{
	return rsoft_reg_user_mr_pages(ibpd, start, length, iova, access);
}

struct ib_mr *rsoft_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_num_sg)
{
	struct rsoft_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > RSOFT_MAX_FRMR_PAGES)
		return ERR_PTR(-EINVAL);

	mr = mr_alloc(ibpd, RSOFT_MKEY_FAST, 0);
	if (IS_ERR(mr))
		return ERR_CAST(mr);

	mr->max_blocks = max_num_sg;
	mr->map = kvcalloc(max_num_sg, sizeof(*mr->map), GFP_KERNEL);
	mr->next.map = kvcalloc(max_num_sg, sizeof(*mr->map), GFP_KERNEL);
	if (!mr->map || !mr->next.map) {
		mr_free(mr);
		return ERR_PTR(-ENOMEM);
	}
	rsoft_table_publish(&rsoft_key_table, mr->k.h);
	return &mr->ibmr;
}

static int mr_add_block(struct ib_mr *ibmr, u64 addr)
{
	struct rsoft_mr *mr = to_rmr(ibmr);

	if (mr->next.nblocks == mr->max_blocks)
		return -ENOMEM;
	mr->next.map[mr->next.nblocks++] = ib_virt_dma_to_ptr(addr);
	return 0;
}

/*
 * The old mapping may still be in use: what invalidates it is often posted in
 * one list with the REG_MR that makes use of this one.
 */
int rsoft_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset)
{
	struct rsoft_mr *mr = to_rmr(ibmr);
	int num;

	if (!is_power_of_2(ibmr->page_size) || ibmr->page_size < SZ_4K ||
	    ibmr->page_size > SZ_1G)
		return -EINVAL;

	mr->next.ready = false;
	mr->next.nblocks = 0;
	num = ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, mr_add_block);
	if (num <= 0)
		return num;
	mr->next.page_shift = ilog2(ibmr->page_size);
	mr->next.offset = ibmr->iova & (ibmr->page_size - 1);
	mr->next.ready = true;
	return num;
}

int rsoft_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct rsoft_mr *mr = to_rmr(ibmr);
	struct rsoft_mkey *mk;
	bool bound;

	/* a window is bound to what is claimed, so none comes after this */
	local_bh_disable();
	mk = rsoft_mkey_claim(mr->k.key);
	bound = atomic_read(&mr->windows);
	if (!bound)
		rsoft_table_hide(&rsoft_key_table, mk->h);
	rsoft_mkey_release(mk);
	local_bh_enable();
	if (bound)
		return -EBUSY;
	mr_free(mr);
	return 0;
}
