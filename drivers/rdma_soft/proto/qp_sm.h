/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QP states (IBTA 10.3.1): which transitions exist, and what the data path may
 * do in each state. The attribute masks are the core's (ib_modify_qp_is_ok);
 * this table answers the questions that the core does not.
 */
#ifndef RSOFT_PROTO_QP_SM_H
#define RSOFT_PROTO_QP_SM_H

#include "types.h"

/* With the values of enum ib_qp_state. */
enum rsoft_qps {
	RSOFT_QPS_RESET,
	RSOFT_QPS_INIT,
	RSOFT_QPS_RTR,
	RSOFT_QPS_RTS,
	RSOFT_QPS_SQD,
	RSOFT_QPS_SQE,
	RSOFT_QPS_ERR,
	RSOFT_QPS_MAX,
};

/* What a state permits. */
#define RSOFT_CAN_POST_RECV	BIT(0)	/* receive WQEs are accepted */
#define RSOFT_CAN_RECV		BIT(1)	/* requests from the wire are executed */
#define RSOFT_CAN_POST_SEND	BIT(2)	/* send WQEs are accepted */
#define RSOFT_CAN_SEND		BIT(3)	/* new requests are started */
#define RSOFT_CAN_COMPLETE	BIT(4)	/* responses to own requests count */
#define RSOFT_FLUSH_SQ		BIT(5)	/* send WQEs complete in error */
#define RSOFT_FLUSH_RQ		BIT(6)	/* receive WQEs complete in error */

/**
 * rsoft_qps_caps() - what the data path may do in a state
 * @state: QP state
 *
 * Return: RSOFT_CAN_* and RSOFT_FLUSH_* bits, 0 for an unknown state.
 */
u32 rsoft_qps_caps(enum rsoft_qps state);

/**
 * rsoft_qps_move_ok() - does a transition exist
 * @cur: state now
 * @next: state wanted
 * @ud: QP is UD or GSI: a send error takes it to SQE, from where RTS is
 *      reachable again (UC: too)
 *
 * Return: true if modify_qp may go from @cur to @next for some attribute mask.
 */
bool rsoft_qps_move_ok(enum rsoft_qps cur, enum rsoft_qps next, bool ud);

#endif
