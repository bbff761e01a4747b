/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Per-device counters, shown by `rdma statistic show link DEV/1`.
 */
#ifndef RSOFT_COUNTERS_H
#define RSOFT_COUNTERS_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "proto/hdr.h"

struct ib_device;
struct rdma_hw_stats;
struct rsoft_dev;

/* Order of the table of names in counters.c. */
enum rsoft_counter {
	RSOFT_CNT_SENT_PKTS,		/* RoCE packets that the IP layer took */
	RSOFT_CNT_SENT_BYTES,		/* their bytes from BTH to iCRC */
	RSOFT_CNT_RCVD_PKTS,		/* RoCE packets addressed to this link */
	RSOFT_CNT_RCVD_BYTES,
	RSOFT_CNT_GSO_BATCHES,		/* skbs sent that held > 1 packet */
	RSOFT_CNT_GSO_SEGS,		/* packets inside them */
	RSOFT_CNT_RX_BATCHES,		/* skbs received that held > 1 packet */
	RSOFT_CNT_RX_SEGS,		/* packets inside them */
	RSOFT_CNT_RX_HOOK,		/* skbs taken by the netfilter hook */
	RSOFT_CNT_RX_ENCAP,		/* skbs taken from the UDP socket */
	RSOFT_CNT_RETRANSMITS,		/* request packets sent again */
	RSOFT_CNT_ACK_TIMEOUTS,		/* Local ACK Timeout expired */
	RSOFT_CNT_RETRY_EXCEEDED,	/* requests given up */
	RSOFT_CNT_RNR_RETRY_EXCEEDED,
	RSOFT_CNT_RNR_SENT,
	RSOFT_CNT_RNR_RCVD,
	RSOFT_CNT_NAK_SENT,		/* NAKs other than RNR */
	RSOFT_CNT_NAK_RCVD,
	RSOFT_CNT_ACK_SENT,
	RSOFT_CNT_ACK_RCVD,
	RSOFT_CNT_DUPLICATES,		/* request packets seen again */
	RSOFT_CNT_OUT_OF_SEQ,		/* request packets behind a gap */
	RSOFT_CNT_IMPLIED_NAK,		/* gaps seen by the requester */
	RSOFT_CNT_EARLY_HELD,		/* packets kept behind a gap */
	RSOFT_CNT_EARLY_DROPS,		/* packets behind a gap not kept */
	RSOFT_CNT_GAPS_CLOSED,		/* gaps whose first packet arrived */
	RSOFT_CNT_ASKED_IN_VAIN,	/* packets asked for that were late */
	RSOFT_CNT_PROBES,		/* packets sent again before time-outs */
	RSOFT_CNT_READ_REQS,		/* READ requests executed */
	RSOFT_CNT_ATOMIC_REQS,		/* atomic requests executed */
	RSOFT_CNT_HANDOFFS,		/* runs of packets queued to an engine */
	RSOFT_CNT_DEFERRED,		/* engine runs moved to the workqueue */
	RSOFT_CNT_TX_THROTTLED,		/* sends that waited for the stack */
	RSOFT_CNT_TX_HOLDS,		/* times that messages were held */
	RSOFT_CNT_TX_HOLDS_VAIN,	/* of these, nothing more was posted */
	RSOFT_CNT_TX_BY_REF,		/* packets whose payload was not copied */
	RSOFT_CNT_TX_REFUSED,		/* skbs refused by the IP layer */
	RSOFT_CNT_TX_NO_ROUTE,		/* no route, or a GID not to be used */
	RSOFT_CNT_CQ_OVERFLOW,
	RSOFT_CNT_LINK_DOWNED,		/* the port went from ACTIVE to DOWN */
	RSOFT_CNT_INJECTED,		/* faults by the injector's rules */
	RSOFT_CNT_DROP_BASE,
	RSOFT_CNT_MAX = RSOFT_CNT_DROP_BASE + RSOFT_DROP_MAX - 1,
};

/**
 * struct rsoft_stats - one CPU's counters
 * @c: values by enum rsoft_counter
 */
struct rsoft_stats {
	u64 c[RSOFT_CNT_MAX];
};

/**
 * rsoft_drop_counter() - counter of a drop reason
 * @why: reason, not RSOFT_DROP_NONE
 *
 * Return: its place in the table.
 */
static inline enum rsoft_counter rsoft_drop_counter(enum rsoft_drop why)
{
	return RSOFT_CNT_DROP_BASE + why - 1;
}

/**
 * rsoft_counter_name() - name of a counter
 * @id: counter
 *
 * Return: what `rdma statistic` calls it.
 */
const char *rsoft_counter_name(enum rsoft_counter id);

/**
 * rsoft_stats_sum() - value of a counter over all CPUs
 * @stats: a device's or a QP counter's
 * @id: counter
 *
 * Return: the sum; no snapshot while packets flow.
 */
u64 rsoft_stats_sum(const struct rsoft_stats __percpu *stats,
		    enum rsoft_counter id);

/**
 * rsoft_counters_sum() - value of a counter of the whole device
 * @dev: device
 * @id: counter
 *
 * Context: process; takes the lock of the device's QP counters.
 *
 * Return: the sum over all CPUs, with what was counted for QPs that have, or
 * had, a counter of their own.
 */
u64 rsoft_counters_sum(struct rsoft_dev *dev, enum rsoft_counter id);

/**
 * rsoft_counters_alloc() - a stats struct for the core
 *
 * The core adds the counters of QPs to those of the port by their place, so
 * both have all of them.
 *
 * Return: a stats struct with one entry per counter, NULL without memory.
 */
struct rdma_hw_stats *rsoft_counters_alloc(void);

/**
 * rsoft_counters_fill() - bring a stats struct up to date
 * @stats: from rsoft_counters_alloc()
 * @from: where the values are
 *
 * Return: number of counters.
 */
int rsoft_counters_fill(struct rdma_hw_stats *stats,
			const struct rsoft_stats __percpu *from);

/**
 * rsoft_counters_alloc_stats() - ops.alloc_hw_port_stats
 * @ibdev: device
 * @port: port number, 1
 *
 * Return: a stats struct with one entry per counter, NULL without memory.
 */
struct rdma_hw_stats *rsoft_counters_alloc_stats(struct ib_device *ibdev,
						 u32 port);

/**
 * rsoft_counters_get() - ops.get_hw_stats
 * @ibdev: device
 * @stats: filled with the sums over all CPUs, without those of QPs that have a
 *         counter of their own: the core adds them
 * @port: port number; 0 asks for device counters, there are none
 * @index: counter asked for; all are filled in
 *
 * Return: number of counters, -EINVAL without a port.
 */
int rsoft_counters_get(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index);

#endif
