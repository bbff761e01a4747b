// SPDX-License-Identifier: GPL-2.0
/*
 * Two tables over the QP states. Moves into SQE are made by the driver when a
 * send fails, never by modify_qp, and so are not listed.
 */
#include "qp_sm.h"

#define TO(state)	BIT(RSOFT_QPS_##state)

static const u32 qps_caps[RSOFT_QPS_MAX] = {
	[RSOFT_QPS_RESET] = 0,
	[RSOFT_QPS_INIT] = RSOFT_CAN_POST_RECV,
	[RSOFT_QPS_RTR] = RSOFT_CAN_POST_RECV | RSOFT_CAN_RECV,
	[RSOFT_QPS_RTS] = RSOFT_CAN_POST_RECV | RSOFT_CAN_RECV |
			  RSOFT_CAN_POST_SEND | RSOFT_CAN_SEND |
			  RSOFT_CAN_COMPLETE,
	/* Draining: what was started finishes, what is posted waits. */
	[RSOFT_QPS_SQD] = RSOFT_CAN_POST_RECV | RSOFT_CAN_RECV |
			  RSOFT_CAN_POST_SEND | RSOFT_CAN_COMPLETE,
	/* The receive side of a QP with a broken send queue goes on. */
	[RSOFT_QPS_SQE] = RSOFT_CAN_POST_RECV | RSOFT_CAN_RECV |
			  RSOFT_CAN_POST_SEND | RSOFT_FLUSH_SQ,
	[RSOFT_QPS_ERR] = RSOFT_CAN_POST_RECV | RSOFT_CAN_POST_SEND |
			  RSOFT_FLUSH_SQ | RSOFT_FLUSH_RQ,
};

static const u32 qps_moves[RSOFT_QPS_MAX] = {
	[RSOFT_QPS_RESET] = TO(RESET) | TO(INIT),
	[RSOFT_QPS_INIT] = TO(RESET) | TO(ERR) | TO(INIT) | TO(RTR),
	[RSOFT_QPS_RTR] = TO(RESET) | TO(ERR) | TO(RTS),
	[RSOFT_QPS_RTS] = TO(RESET) | TO(ERR) | TO(RTS) | TO(SQD),
	[RSOFT_QPS_SQD] = TO(RESET) | TO(ERR) | TO(RTS) | TO(SQD),
	[RSOFT_QPS_SQE] = TO(RESET) | TO(ERR) | TO(RTS),
	[RSOFT_QPS_ERR] = TO(RESET) | TO(ERR),
};

static bool known(enum rsoft_qps state)
{
	return (u32)state < RSOFT_QPS_MAX;
}

u32 rsoft_qps_caps(enum rsoft_qps state)
{
	return known(state) ? qps_caps[state] : 0;
}

bool rsoft_qps_move_ok(enum rsoft_qps cur, enum rsoft_qps next, bool ud)
{
	if (!known(cur) || !known(next))
		return false;
	/* An RC QP is never in SQE: its send errors end in ERR. */
	if (cur == RSOFT_QPS_SQE && next == RSOFT_QPS_RTS && !ud)
		return false;
	return qps_moves[cur] & BIT(next);
}
