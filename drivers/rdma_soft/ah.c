// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles: a path, and for a process a number by which WQEs in its
 * rings name it. The number is checked against the PD of the QP on each use,
 * so that it is of no use to others.
 */
#include "ah.h"

#include <linux/err.h>
#include <rdma/uverbs_ioctl.h>

#include "../../include/uapi/rdma/rdma_soft-abi.h"
#include "device.h"

static int ah_check(const struct rdma_ah_attr *attr)
{
	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE)
		return -EINVAL;
	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !attr->grh.sgid_attr)
		return -EINVAL;
	if (rdma_ah_get_port_num(attr) != RSOFT_PORT)
		return -EINVAL;
	return 0;
}

/* Give the AH a number and tell it to the process. */
static int ah_number(struct rsoft_ah *ah, struct ib_udata *udata)
{
	struct rdma_soft_create_ah_resp resp = {};
	int ret;

	if (udata->outlen < sizeof(resp))
		return -EINVAL;

	ah->h = rsoft_table_add(&rsoft_ah_table, ah, GFP_KERNEL);
	if (IS_ERR(ah->h)) {
		ret = PTR_ERR(ah->h);
		return ret == -ENOSPC ? -ENOMEM : ret;
	}

	resp.ah_num = ah->h->id;
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret) {
		rsoft_table_remove(&rsoft_ah_table, ah->h);
		return ret;
	}
	rsoft_table_publish(&rsoft_ah_table, ah->h);
	return 0;
}

int rsoft_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata)
{
	bool sleepable = init->flags & RDMA_CREATE_AH_SLEEPABLE;
	const struct rdma_ah_attr *attr = init->ah_attr;
	struct rsoft_ah *ah = to_rah(ibah);
	struct rsoft_path *path;
	int ret;

	ret = ah_check(attr);
	if (ret)
		return ret;

	/* The connection manager creates AHs with interrupts off. */
	path = rsoft_path_create(to_rdev(ibah->device), attr, 0, 0,
				 sleepable ? GFP_KERNEL : GFP_ATOMIC);
	if (IS_ERR(path))
		return PTR_ERR(path);

	ah->path = path;
	ah->attr = *attr;
	ah->attr.grh.sgid_attr = NULL;
	if (udata) {
		ret = ah_number(ah, udata);
		if (ret)
			rsoft_path_put(path);
	}
	return ret;
}

int rsoft_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_rah(ibah)->attr;
	return 0;
}

/* An AH with a number is a process's, and destroyed where sleeping is fine. */
int rsoft_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct rsoft_ah *ah = to_rah(ibah);

	if (ah->h) {
		WARN_ON_ONCE(!(flags & RDMA_DESTROY_AH_SLEEPABLE));
		rsoft_table_remove(&rsoft_ah_table, ah->h);
	}
	rsoft_path_put(ah->path);
	return 0;
}

struct rsoft_path *rsoft_ah_path(struct ib_pd *pd, u32 ah_num)
{
	struct rsoft_path *path = NULL;
	struct rsoft_handle *h;
	struct rsoft_ah *ah;

	h = rsoft_table_get(&rsoft_ah_table, ah_num);
	if (!h)
		return NULL;

	ah = h->obj;
	if (ah->ibah.pd == pd)
		path = rsoft_path_get(ah->path);
	rsoft_handle_put(h);
	return path;
}
