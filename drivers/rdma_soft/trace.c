// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints of trace.h, and those that headers use.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"

void rsoft_trace_drop(const struct rsoft_dev *dev, u32 qpn,
		      enum rsoft_drop why)
{
	trace_rsoft_drop(dev, qpn, rsoft_counter_name(rsoft_drop_counter(why)));
}
