/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoint of the injector.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_soft

#if !defined(RSOFT_TRACE_INJECT_H) || defined(TRACE_HEADER_MULTI_READ)
#define RSOFT_TRACE_INJECT_H

#include <linux/tracepoint.h>

#include "inject_rule.h"

TRACE_EVENT(rsoft_inject,
	    TP_PROTO(const char *dev, u32 rule, u8 what,
		     const struct rsoft_inject_pkt *pkt),
	    TP_ARGS(dev, rule, what, pkt),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, rule)
			     __field(u32, qpn)
			     __field(u32, psn)
			     __field(u8, what)
			     __field(u8, dir)
			     __field(u8, opcode)),
	    TP_fast_assign(strscpy(__entry->dev, dev, IB_DEVICE_NAME_MAX);
			   __entry->rule = rule;
			   __entry->qpn = pkt->qpn;
			   __entry->psn = pkt->psn;
			   __entry->what = what;
			   __entry->dir = pkt->dir;
			   __entry->opcode = pkt->opcode;),
	    TP_printk("dev=%s rule=%u %s what=%u qpn=0x%06x psn=0x%06x opcode=0x%02x",
		      __entry->dev, __entry->rule,
		      __entry->dir == RSOFT_INJECT_TX ? "tx" : "rx",
		      __entry->what, __entry->qpn, __entry->psn,
		      __entry->opcode)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace_inject
#include <trace/define_trace.h>
