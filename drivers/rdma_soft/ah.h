/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address handles.
 */
#ifndef RSOFT_AH_H
#define RSOFT_AH_H

#include <rdma/ib_verbs.h>

#include "path.h"
#include "table.h"

/**
 * struct rsoft_ah - an address handle; does not change
 * @ibah: the core's part
 * @path: where it leads; the AH holds a reference
 * @h: number that user WQEs name, NULL for a kernel AH
 * @attr: as created, for query; holds no reference
 */
struct rsoft_ah {
	struct ib_ah ibah;
	struct rsoft_path *path;
	struct rsoft_handle *h;
	struct rdma_ah_attr attr;
};

static inline struct rsoft_ah *to_rah(struct ib_ah *ibah)
{
	return container_of(ibah, struct rsoft_ah, ibah);
}

/**
 * rsoft_ah_path() - destination of an AH that a user WQE names by number
 * @pd: protection domain of the QP; an AH of another one is not found
 * @ah_num: number as presented, never 0 for a valid AH
 *
 * A kernel WR names its AH by pointer: use rsoft_path_get(to_rah(ah)->path).
 *
 * Context: any.
 *
 * Return: the path with a reference, NULL if there is no such AH.
 */
struct rsoft_path *rsoft_ah_path(struct ib_pd *pd, u32 ah_num);

/* ops of the device */
int rsoft_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata);
int rsoft_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int rsoft_destroy_ah(struct ib_ah *ibah, u32 flags);

#endif
