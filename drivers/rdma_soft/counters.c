// SPDX-License-Identifier: GPL-2.0
/*
 * Names of the counters, and their sums for `rdma statistic`. Each CPU counts
 * for itself; a sum read while packets flow is not a snapshot.
 */
#include "counters.h"

#include <linux/cpumask.h>
#include <rdma/ib_verbs.h>

#include "device.h"
#include "qp_counter.h"

#define DROP(why, text) \
	[RSOFT_CNT_DROP_BASE + RSOFT_DROP_##why - 1] = { .name = "drop_" text }

static const struct rdma_stat_desc descs[RSOFT_CNT_MAX] = {
	[RSOFT_CNT_SENT_PKTS] = { .name = "sent_pkts" },
	[RSOFT_CNT_SENT_BYTES] = { .name = "sent_bytes" },
	[RSOFT_CNT_RCVD_PKTS] = { .name = "rcvd_pkts" },
	[RSOFT_CNT_RCVD_BYTES] = { .name = "rcvd_bytes" },
	[RSOFT_CNT_GSO_BATCHES] = { .name = "gso_batches" },
	[RSOFT_CNT_GSO_SEGS] = { .name = "gso_segs" },
	[RSOFT_CNT_RX_BATCHES] = { .name = "rx_batches" },
	[RSOFT_CNT_RX_SEGS] = { .name = "rx_segs" },
	[RSOFT_CNT_RX_HOOK] = { .name = "rx_hook" },
	[RSOFT_CNT_RX_ENCAP] = { .name = "rx_encap" },
	[RSOFT_CNT_RETRANSMITS] = { .name = "retransmits" },
	[RSOFT_CNT_ACK_TIMEOUTS] = { .name = "ack_timeouts" },
	[RSOFT_CNT_RETRY_EXCEEDED] = { .name = "retry_exceeded" },
	[RSOFT_CNT_RNR_RETRY_EXCEEDED] = { .name = "rnr_retry_exceeded" },
	[RSOFT_CNT_RNR_SENT] = { .name = "rnr_naks_sent" },
	[RSOFT_CNT_RNR_RCVD] = { .name = "rnr_naks_rcvd" },
	[RSOFT_CNT_NAK_SENT] = { .name = "naks_sent" },
	[RSOFT_CNT_NAK_RCVD] = { .name = "naks_rcvd" },
	[RSOFT_CNT_ACK_SENT] = { .name = "acks_sent" },
	[RSOFT_CNT_ACK_RCVD] = { .name = "acks_rcvd" },
	[RSOFT_CNT_DUPLICATES] = { .name = "duplicates" },
	[RSOFT_CNT_OUT_OF_SEQ] = { .name = "out_of_seq" },
	[RSOFT_CNT_IMPLIED_NAK] = { .name = "implied_naks" },
	[RSOFT_CNT_EARLY_HELD] = { .name = "early_held" },
	[RSOFT_CNT_EARLY_DROPS] = { .name = "early_drops" },
	[RSOFT_CNT_GAPS_CLOSED] = { .name = "gaps_closed" },
	[RSOFT_CNT_ASKED_IN_VAIN] = { .name = "asked_in_vain" },
	[RSOFT_CNT_PROBES] = { .name = "probes" },
	[RSOFT_CNT_READ_REQS] = { .name = "read_reqs" },
	[RSOFT_CNT_ATOMIC_REQS] = { .name = "atomic_reqs" },
	[RSOFT_CNT_HANDOFFS] = { .name = "engine_handoffs" },
	[RSOFT_CNT_DEFERRED] = { .name = "engine_deferred" },
	[RSOFT_CNT_TX_THROTTLED] = { .name = "tx_throttled" },
	[RSOFT_CNT_TX_HOLDS] = { .name = "tx_holds" },
	[RSOFT_CNT_TX_HOLDS_VAIN] = { .name = "tx_holds_vain" },
	[RSOFT_CNT_TX_BY_REF] = { .name = "tx_by_ref" },
	[RSOFT_CNT_TX_REFUSED] = { .name = "tx_refused" },
	[RSOFT_CNT_TX_NO_ROUTE] = { .name = "tx_no_route" },
	[RSOFT_CNT_CQ_OVERFLOW] = { .name = "cq_overflows" },
	[RSOFT_CNT_LINK_DOWNED] = { .name = "link_downed" },
	[RSOFT_CNT_INJECTED] = { .name = "injected_faults" },
	DROP(SHORT, "short"),
	DROP(OPCODE, "opcode"),
	DROP(TVER, "tver"),
	DROP(LENGTH, "length"),
	DROP(PKEY, "pkey"),
	DROP(ICRC, "icrc"),
	DROP(QPN, "qpn"),
	DROP(QP_TYPE, "qp_type"),
	DROP(QP_STATE, "qp_state"),
	DROP(SOURCE, "source"),
	DROP(QKEY, "qkey"),
	DROP(QUEUE, "queue"),
	DROP(NO_RQE, "no_rqe"),
	DROP(RQE_LEN, "rqe_len"),
	DROP(ACCESS, "access"),
	DROP(SEQ, "seq"),
	DROP(GHOST, "ghost"),
	DROP(NOMEM, "nomem"),
	DROP(MCAST, "mcast"),
	DROP(SHAPE, "shape"),
};

/* A reason added without a name would be shown as an empty one. */
static_assert(RSOFT_DROP_SHAPE + 1 == RSOFT_DROP_MAX);
static_assert(RSOFT_CNT_INJECTED + 1 == RSOFT_CNT_DROP_BASE);

const char *rsoft_counter_name(enum rsoft_counter id)
{
	return descs[id].name;
}

u64 rsoft_stats_sum(const struct rsoft_stats __percpu *stats,
		    enum rsoft_counter id)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->c[id]);
	return sum;
}

u64 rsoft_counters_sum(struct rsoft_dev *dev, enum rsoft_counter id)
{
	return rsoft_stats_sum(dev->stats, id) +
	       rsoft_qp_counters_sum(dev, id);
}

struct rdma_hw_stats *rsoft_counters_alloc(void)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int rsoft_counters_fill(struct rdma_hw_stats *stats,
			const struct rsoft_stats __percpu *from)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(descs); i++)
		stats->value[i] = rsoft_stats_sum(from, i);
	return ARRAY_SIZE(descs);
}

struct rdma_hw_stats *rsoft_counters_alloc_stats(struct ib_device *ibdev,
						 u32 port)
{
	return rsoft_counters_alloc();
}

int rsoft_counters_get(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index)
{
	if (!port || !stats)
		return -EINVAL;
	return rsoft_counters_fill(stats, to_rdev(ibdev)->stats);
}
