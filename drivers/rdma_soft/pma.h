/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Port counters in InfiniBand's own terms: /sys/class/infiniband/DEV/ports/1/counters.
 */
#ifndef RSOFT_PMA_H
#define RSOFT_PMA_H

#include <linux/types.h>

struct ib_device;
struct ib_grh;
struct ib_mad;
struct ib_wc;

/**
 * rsoft_process_mad() - ops.process_mad: performance management
 * @ibdev: device
 * @flags: IB_MAD_IGNORE_*, of no meaning here
 * @port: port number
 * @wc: completion that the MAD came with, NULL if it is the core that asks
 * @grh: GRH that it came with
 * @in: the question
 * @out: filled with the answer
 * @out_size: bytes of @out
 * @out_pkey_index: P_Key index of the answer; left as it is
 *
 * Answers a Get of ClassPortInfo, PortCounters and PortCountersExtended, and
 * only to the core (sysfs): a peer on the wire is told nothing.
 *
 * Context: may sleep.
 *
 * Return: IB_MAD_RESULT_* bits; IB_MAD_RESULT_SUCCESS alone leaves the MAD to
 * other agents.
 */
int rsoft_process_mad(struct ib_device *ibdev, int flags, u32 port,
		      const struct ib_wc *wc, const struct ib_grh *grh,
		      const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index);

#endif
