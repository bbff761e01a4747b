// SPDX-License-Identifier: GPL-2.0
/*
 * QP states against the core's own table, and what each state lets the data
 * path do.
 */
#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#include "../proto/qp_sm.h"

static_assert((int)RSOFT_QPS_RESET == (int)IB_QPS_RESET);
static_assert((int)RSOFT_QPS_INIT == (int)IB_QPS_INIT);
static_assert((int)RSOFT_QPS_RTR == (int)IB_QPS_RTR);
static_assert((int)RSOFT_QPS_RTS == (int)IB_QPS_RTS);
static_assert((int)RSOFT_QPS_SQD == (int)IB_QPS_SQD);
static_assert((int)RSOFT_QPS_SQE == (int)IB_QPS_SQE);
static_assert((int)RSOFT_QPS_ERR == (int)IB_QPS_ERR);

/* Attributes that the way up demands (IBTA table 91), by QP type. */
static const struct need {
	enum ib_qp_type type;
	u32 to_init;
	u32 to_rtr;
	u32 to_rts;
} needs[] = {
	{
		.type = IB_QPT_RC,
		.to_init = IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS,
		.to_rtr = IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			  IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			  IB_QP_MIN_RNR_TIMER,
		.to_rts = IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			  IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC,
	}, {
		.type = IB_QPT_UC,
		.to_init = IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS,
		.to_rtr = IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			  IB_QP_RQ_PSN,
		.to_rts = IB_QP_SQ_PSN,
	}, {
		.type = IB_QPT_UD,
		.to_init = IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY,
		.to_rts = IB_QP_SQ_PSN,
	}, {
		.type = IB_QPT_GSI,
		.to_init = IB_QP_PKEY_INDEX | IB_QP_QKEY,
		.to_rts = IB_QP_SQ_PSN,
	},
};

static bool core_allows(const struct need *need, int cur, int next, u32 mask)
{
	return ib_modify_qp_is_ok(cur, next, need->type, mask | IB_QP_STATE);
}

/* Does the core know any way from one state to the other? */
static bool core_has_move(const struct need *need, int cur, int next)
{
	return core_allows(need, cur, next, 0) ||
	       core_allows(need, cur, next, need->to_init) ||
	       core_allows(need, cur, next, need->to_rtr) ||
	       core_allows(need, cur, next, need->to_rts);
}

static void moves_are_those_of_the_core(struct kunit *test)
{
	int i, cur, next, found = 0;

	for (i = 0; i < ARRAY_SIZE(needs); i++) {
		bool rc = needs[i].type == IB_QPT_RC;

		for (cur = 0; cur < RSOFT_QPS_MAX; cur++) {
			for (next = 0; next < RSOFT_QPS_MAX; next++) {
				bool ok = rsoft_qps_move_ok(cur, next, !rc);

				/* See an_rc_qp_does_not_leave_sqe_upwards. */
				if (rc && cur == IB_QPS_SQE &&
				    next == IB_QPS_RTS)
					continue;
				found += ok;
				KUNIT_ASSERT_EQ_MSG(test, ok,
						    core_has_move(&needs[i],
								  cur, next),
						    "type %d from %d to %d",
						    needs[i].type, cur, next);
			}
		}
	}
	/* 22 of 49, for four types, without the one that RC lacks. */
	KUNIT_EXPECT_EQ(test, found, 22 * 4 - 1);
}

/* The core lists it for every type, but only UC, UD and GSI have the state. */
static void an_rc_qp_does_not_leave_sqe_upwards(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, rsoft_qps_move_ok(RSOFT_QPS_SQE,
						   RSOFT_QPS_RTS, false));
	KUNIT_EXPECT_TRUE(test, rsoft_qps_move_ok(RSOFT_QPS_SQE,
						  RSOFT_QPS_RTS, true));
	KUNIT_EXPECT_TRUE(test, rsoft_qps_move_ok(RSOFT_QPS_SQE,
						  RSOFT_QPS_ERR, false));
	KUNIT_EXPECT_TRUE(test, rsoft_qps_move_ok(RSOFT_QPS_SQE,
						  RSOFT_QPS_RESET, false));
}

/* modify_qp relies on the core for this; a core that forgot it shows here. */
static void the_core_demands_each_attribute(struct kunit *test)
{
	int i, step;
	u32 bit;

	for (i = 0; i < ARRAY_SIZE(needs); i++) {
		const u32 masks[] = { needs[i].to_init, needs[i].to_rtr,
				      needs[i].to_rts };

		for (step = 0; step < 3; step++) {
			for (bit = 1; bit; bit <<= 1) {
				if (!(masks[step] & bit))
					continue;
				KUNIT_ASSERT_FALSE_MSG(test,
						       core_allows(&needs[i],
								   step,
								   step + 1,
								   masks[step] &
								   ~bit),
						       "type %d step %d bit %x",
						       needs[i].type, step,
						       bit);
			}
		}
	}
}

static void unknown_states_permit_nothing(struct kunit *test)
{
	static const int odd[] = { RSOFT_QPS_MAX, 8, 31, 32, 255, INT_MAX, -1 };
	int i, s;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		KUNIT_ASSERT_EQ(test, rsoft_qps_caps(odd[i]), 0);
		for (s = 0; s < RSOFT_QPS_MAX; s++) {
			KUNIT_ASSERT_FALSE_MSG(test,
					       rsoft_qps_move_ok(s, odd[i],
								 true),
					       "%d to %d", s, odd[i]);
			KUNIT_ASSERT_FALSE_MSG(test,
					       rsoft_qps_move_ok(odd[i], s,
								 true),
					       "%d to %d", odd[i], s);
		}
	}
}

/*
 * One letter a right: post r(eceive), execute x, post s(end), start t,
 * complete c, flush send F, flush receive G.
 */
static void each_state_permits_what_ibta_says(struct kunit *test)
{
	static const char letters[] = "rxstcFG";
	static const char * const rights[RSOFT_QPS_MAX] = {
		[IB_QPS_RESET] = "",
		[IB_QPS_INIT] = "r",
		[IB_QPS_RTR] = "rx",
		[IB_QPS_RTS] = "rxstc",
		[IB_QPS_SQD] = "rxsc",
		[IB_QPS_SQE] = "rxsF",
		[IB_QPS_ERR] = "rsFG",
	};
	int s;
	u32 i;

	for (s = 0; s < RSOFT_QPS_MAX; s++) {
		u32 want = 0;

		for (i = 0; rights[s][i]; i++)
			want |= 1 << (strchr(letters, rights[s][i]) - letters);
		KUNIT_ASSERT_EQ_MSG(test, rsoft_qps_caps(s), want, "state %d",
				    s);
	}
}

static void what_is_flushed_is_not_executed(struct kunit *test)
{
	int s;

	for (s = 0; s < RSOFT_QPS_MAX; s++) {
		u32 caps = rsoft_qps_caps(s);

		if (caps & RSOFT_FLUSH_SQ)
			KUNIT_ASSERT_FALSE_MSG(test, caps & RSOFT_CAN_SEND,
					       "state %d", s);
		if (caps & RSOFT_FLUSH_RQ)
			KUNIT_ASSERT_FALSE_MSG(test, caps & RSOFT_CAN_RECV,
					       "state %d", s);
		if (caps & RSOFT_CAN_SEND)
			KUNIT_ASSERT_TRUE_MSG(test, caps & RSOFT_CAN_COMPLETE,
					      "state %d", s);
	}
}

static struct kunit_case qp_sm_cases[] = {
	KUNIT_CASE(moves_are_those_of_the_core),
	KUNIT_CASE(an_rc_qp_does_not_leave_sqe_upwards),
	KUNIT_CASE(the_core_demands_each_attribute),
	KUNIT_CASE(unknown_states_permit_nothing),
	KUNIT_CASE(each_state_permits_what_ibta_says),
	KUNIT_CASE(what_is_flushed_is_not_executed),
	{}
};

static struct kunit_suite qp_sm_suite = {
	.name = "rdma_soft_qp_sm",
	.test_cases = qp_sm_cases,
};

kunit_test_suite(qp_sm_suite);
