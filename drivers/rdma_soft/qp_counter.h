/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of single QPs: `rdma statistic qp`.
 */
#ifndef RSOFT_QP_COUNTER_H
#define RSOFT_QP_COUNTER_H

#include <linux/types.h>

#include "counters.h"

struct ib_qp;
struct rdma_counter;
struct rsoft_dev;

/**
 * rsoft_qp_counters_sum() - what was counted for QPs with a counter
 * @dev: device
 * @id: counter
 *
 * Context: process.
 *
 * Return: the sum over all QP counters of the device, those that are gone
 * included.
 */
u64 rsoft_qp_counters_sum(struct rsoft_dev *dev, enum rsoft_counter id);

/* ops of the device */
struct rdma_hw_stats *
rsoft_qp_counter_alloc_stats(struct rdma_counter *counter);
int rsoft_qp_counter_update(struct rdma_counter *counter);
int rsoft_qp_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp);
int rsoft_qp_counter_unbind(struct ib_qp *ibqp);
int rsoft_qp_counter_dealloc(struct rdma_counter *counter);

#endif
