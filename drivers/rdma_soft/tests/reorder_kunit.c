// SPDX-License-Identifier: GPL-2.0
/*
 * How long a gap is tolerated, and when an answer is late: bounds, what makes
 * the wait grow, what ends it, and times at the ends of their range.
 */
#include <kunit/test.h>

#include "../proto/reorder.h"
#include "model.h"

static void a_path_that_never_reordered_waits_for_nothing(struct kunit *test)
{
	struct rsoft_reorder r = {};
	int i;

	KUNIT_EXPECT_EQ(test, r.wait_us, 0u);
	for (i = 0; i < 1000; i++) {
		rsoft_reorder_asked(&r);
		KUNIT_ASSERT_EQ(test, r.wait_us, 0u);
		KUNIT_ASSERT_EQ(test, r.losses, 0u);
	}
}

static void a_gap_that_closed_sets_the_wait_within_bounds(struct kunit *test)
{
	static const struct { u32 us, want; } rows[] = {
		{ 0, RSOFT_REORDER_MIN_US },
		{ 1, RSOFT_REORDER_MIN_US },
		{ 160, RSOFT_REORDER_MIN_US },
		{ 164, 205 },
		{ 400, 500 },
		{ 799, 998 },
		{ 800, RSOFT_REORDER_MAX_US },
		{ 1000, RSOFT_REORDER_MAX_US },
		{ 1001, RSOFT_REORDER_MAX_US },
		{ U32_MAX / 5 * 4, RSOFT_REORDER_MAX_US },
		{ U32_MAX, RSOFT_REORDER_MAX_US },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rsoft_reorder r = {};

		rsoft_reorder_closed(&r, rows[i].us);
		KUNIT_EXPECT_EQ_MSG(test, r.wait_us, rows[i].want, "row %d", i);
	}
}

static void the_wait_never_shrinks_by_an_early_packet(struct kunit *test)
{
	struct rsoft_reorder r = {};

	rsoft_reorder_closed(&r, 600);
	KUNIT_EXPECT_EQ(test, r.wait_us, 750u);
	rsoft_reorder_closed(&r, 10);
	KUNIT_EXPECT_EQ(test, r.wait_us, 750u);
}

static void what_came_twice_doubles_the_wait_up_to_the_bound(struct kunit *test)
{
	static const u32 want[] = { 200, 400, 800, 1000, 1000 };
	struct rsoft_reorder r = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		rsoft_reorder_twice(&r, 0);
		KUNIT_EXPECT_EQ_MSG(test, r.wait_us, want[i], "time %d", i);
	}
}

static void the_first_wait_is_a_quarter_of_the_round_trip(struct kunit *test)
{
	static const struct { u32 rtt, want; } rows[] = {
		{ 0, 200 }, { 799, 200 }, { 1600, 400 }, { 4000, 1000 },
		{ 4004, 1000 }, { U32_MAX, 1000 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rsoft_reorder r = {};

		rsoft_reorder_twice(&r, rows[i].rtt);
		KUNIT_EXPECT_EQ_MSG(test, r.wait_us, rows[i].want, "row %d", i);
	}
}

static void losses_in_a_row_end_the_wait(struct kunit *test)
{
	struct rsoft_reorder r = {};
	int i;

	rsoft_reorder_closed(&r, 400);
	for (i = 0; i < RSOFT_REORDER_FORGET; i++) {
		rsoft_reorder_asked(&r);
		KUNIT_ASSERT_EQ_MSG(test, r.wait_us, 500u, "loss %d", i);
	}
	rsoft_reorder_asked(&r);
	KUNIT_EXPECT_EQ(test, r.wait_us, 0u);
	KUNIT_EXPECT_EQ(test, r.losses, 0u);
}

static void a_sign_of_reordering_forgives_the_losses(struct kunit *test)
{
	struct rsoft_reorder r = {};
	int i;

	rsoft_reorder_closed(&r, 400);
	for (i = 0; i < RSOFT_REORDER_FORGET; i++)
		rsoft_reorder_asked(&r);
	rsoft_reorder_closed(&r, 1);
	for (i = 0; i < RSOFT_REORDER_FORGET; i++)
		rsoft_reorder_asked(&r);
	KUNIT_EXPECT_EQ(test, r.wait_us, 500u);
}

static void any_history_stays_within_bounds(struct kunit *test)
{
	struct rsoft_reorder r = {};
	u64 seed = 5;
	int i;

	for (i = 0; i < 100000; i++) {
		u32 us = model_random(&seed) >> (model_random(&seed) & 31);

		switch (model_random(&seed) & 3) {
		case 0:
			rsoft_reorder_closed(&r, us);
			break;
		case 1:
			rsoft_reorder_twice(&r, us);
			break;
		default:
			rsoft_reorder_asked(&r);
		}
		if ((!r.wait_us || (r.wait_us >= RSOFT_REORDER_MIN_US &&
				    r.wait_us <= RSOFT_REORDER_MAX_US)) &&
		    r.losses <= RSOFT_REORDER_FORGET)
			continue;
		KUNIT_FAIL(test, "step %d: wait %u, losses %u", i, r.wait_us,
			   r.losses);
		return;
	}
}

static void no_probe_without_a_round_trip(struct kunit *test)
{
	struct rsoft_rtt r = {};

	KUNIT_EXPECT_EQ(test, rsoft_rtt_probe_us(&r), 0u);
	rsoft_rtt_add(&r, 0);
	KUNIT_EXPECT_EQ(test, r.srtt_us, 1u);
	KUNIT_EXPECT_EQ(test, rsoft_rtt_probe_us(&r), RSOFT_PROBE_MIN_US);
}

static void a_steady_round_trip_is_learned(struct kunit *test)
{
	struct rsoft_rtt r = {};
	int i;

	for (i = 0; i < 100; i++)
		rsoft_rtt_add(&r, 8000);
	KUNIT_EXPECT_EQ(test, r.srtt_us, 8000u);
	KUNIT_EXPECT_LE(test, r.var_us, 4u);
	KUNIT_EXPECT_EQ(test, rsoft_rtt_probe_us(&r), 16000u);
	/* one that is far off raises the deviation, not much the mean */
	rsoft_rtt_add(&r, 80000);
	KUNIT_EXPECT_EQ(test, r.srtt_us, 17000u);
	KUNIT_EXPECT_GT(test, rsoft_rtt_probe_us(&r), 80000u);
}

static void round_trips_of_any_length_do_not_overflow(struct kunit *test)
{
	struct rsoft_rtt r = {};
	u64 seed = 9;
	int i;

	for (i = 0; i < 100000; i++) {
		rsoft_rtt_add(&r, model_random(&seed) >>
				  (model_random(&seed) & 31));
		if (r.srtt_us && r.srtt_us <= (1u << 24) + 8 &&
		    r.var_us <= (1u << 24) + 8 &&
		    rsoft_rtt_probe_us(&r) >= RSOFT_PROBE_MIN_US &&
		    rsoft_rtt_probe_us(&r) <= (5u << 24) + 64)
			continue;
		KUNIT_FAIL(test, "step %d: %u, deviation %u", i, r.srtt_us,
			   r.var_us);
		return;
	}
}

static struct kunit_case reorder_cases[] = {
	KUNIT_CASE(a_path_that_never_reordered_waits_for_nothing),
	KUNIT_CASE(a_gap_that_closed_sets_the_wait_within_bounds),
	KUNIT_CASE(the_wait_never_shrinks_by_an_early_packet),
	KUNIT_CASE(what_came_twice_doubles_the_wait_up_to_the_bound),
	KUNIT_CASE(the_first_wait_is_a_quarter_of_the_round_trip),
	KUNIT_CASE(losses_in_a_row_end_the_wait),
	KUNIT_CASE(a_sign_of_reordering_forgives_the_losses),
	KUNIT_CASE(any_history_stays_within_bounds),
	KUNIT_CASE(no_probe_without_a_round_trip),
	KUNIT_CASE(a_steady_round_trip_is_learned),
	KUNIT_CASE(round_trips_of_any_length_do_not_overflow),
	{}
};

static struct kunit_suite reorder_suite = {
	.name = "rdma_soft_reorder",
	.test_cases = reorder_cases,
};

kunit_test_suite(reorder_suite);
