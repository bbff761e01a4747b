/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: /sys/kernel/tracing/events/rdma_soft. What happens to packets
 * and QPs that is not the rule; each is a branch that is patched in when the
 * event is switched on.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_soft

#if !defined(RSOFT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RSOFT_TRACE_H

#include <linux/tracepoint.h>

#include "proto/aeth.h"
#include "qp.h"

/* With the values of enum rsoft_qps. */
#define rsoft_show_qps(state)			\
	__print_symbolic(state,			\
			 { 0, "RESET" },	\
			 { 1, "INIT" },		\
			 { 2, "RTR" },		\
			 { 3, "RTS" },		\
			 { 4, "SQD" },		\
			 { 5, "SQE" },		\
			 { 6, "ERR" })

/* With the values of enum rsoft_nak. */
#define rsoft_show_nak(code)				\
	__print_symbolic(code,				\
			 { 0, "PSN sequence" },		\
			 { 1, "invalid request" },	\
			 { 2, "remote access" },	\
			 { 3, "remote operation" },	\
			 { 4, "invalid RD request" })

TRACE_EVENT(rsoft_qp_state,
	TP_PROTO(const struct rsoft_qp *qp, u32 from, u32 to),
	TP_ARGS(qp, from, to),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->dev->ib_dev.dev),
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->qpn;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%s qpn %u %s -> %s", __entry->dev, __entry->qpn,
		  rsoft_show_qps(__entry->from), rsoft_show_qps(__entry->to))
);

/* The requester goes back; unlike the counter, once and not per packet. */
TRACE_EVENT(rsoft_retry,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn),
	TP_ARGS(qp, psn),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u32, from)
		__field(u32, to)
		__field(u32, left)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->dev->ib_dev.dev),
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->qpn;
		__entry->from = qp->req.psn;
		__entry->to = psn;
		__entry->left = qp->req.retry_left;
	),
	TP_printk("%s qpn %u psn %u -> %u, retries left %u", __entry->dev,
		  __entry->qpn, __entry->from, __entry->to, __entry->left)
);

/* Something happened at a PSN. */
DECLARE_EVENT_CLASS(rsoft_at_psn,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn),
	TP_ARGS(qp, psn),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u32, psn)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->dev->ib_dev.dev),
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->qpn;
		__entry->psn = psn;
	),
	TP_printk("%s qpn %u psn %u", __entry->dev, __entry->qpn, __entry->psn)
);

/* A request packet is sent once more. */
DEFINE_EVENT(rsoft_at_psn, rsoft_retransmit,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn),
	TP_ARGS(qp, psn)
);

/* No acknowledgment in time; psn is the oldest without one. */
DEFINE_EVENT(rsoft_at_psn, rsoft_timeout,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn),
	TP_ARGS(qp, psn)
);

/* A response is missing: those behind it came. */
DEFINE_EVENT(rsoft_at_psn, rsoft_implied_nak,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn),
	TP_ARGS(qp, psn)
);

DECLARE_EVENT_CLASS(rsoft_nak,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn, u32 code),
	TP_ARGS(qp, psn, code),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, code)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->dev->ib_dev.dev),
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->qpn;
		__entry->psn = psn;
		__entry->code = code;
	),
	TP_printk("%s qpn %u psn %u %s", __entry->dev, __entry->qpn,
		  __entry->psn, rsoft_show_nak(__entry->code))
);

DEFINE_EVENT(rsoft_nak, rsoft_nak_sent,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn, u32 code),
	TP_ARGS(qp, psn, code)
);

DEFINE_EVENT(rsoft_nak, rsoft_nak_rcvd,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn, u32 code),
	TP_ARGS(qp, psn, code)
);

DECLARE_EVENT_CLASS(rsoft_rnr,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn, u8 enc),
	TP_ARGS(qp, psn, enc),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u32, psn)
		__field(u64, wait_ns)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->dev->ib_dev.dev),
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->qpn;
		__entry->psn = psn;
		__entry->wait_ns = rsoft_rnr_ns(enc);
	),
	TP_printk("%s qpn %u psn %u wait %llu ns", __entry->dev, __entry->qpn,
		  __entry->psn, __entry->wait_ns)
);

DEFINE_EVENT(rsoft_rnr, rsoft_rnr_sent,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn, u8 enc),
	TP_ARGS(qp, psn, enc)
);

DEFINE_EVENT(rsoft_rnr, rsoft_rnr_rcvd,
	TP_PROTO(const struct rsoft_qp *qp, u32 psn, u8 enc),
	TP_ARGS(qp, psn, enc)
);

/* qpn is 0 for a packet that belongs to no QP; why names the counter. */
TRACE_EVENT(rsoft_drop,
	TP_PROTO(const struct rsoft_dev *dev, u32 qpn, const char *why),
	TP_ARGS(dev, qpn, why),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__array(char, why, 24)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&dev->ib_dev.dev),
			IB_DEVICE_NAME_MAX);
		__entry->qpn = qpn;
		strscpy(__entry->why, why, sizeof(__entry->why));
	),
	TP_printk("%s qpn %u %s", __entry->dev, __entry->qpn, __entry->why)
);

#endif /* RSOFT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
