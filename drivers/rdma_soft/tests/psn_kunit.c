// SPDX-License-Identifier: GPL-2.0
/*
 * Serial arithmetic of PSNs, above all around the wrap.
 */
#include <kunit/test.h>

#include "../proto/psn.h"
#include "model.h"

static void add_wraps_at_24_bits(struct kunit *test)
{
	static const struct { u32 psn, n, want; } rows[] = {
		{ 0, 0, 0 },
		{ 0, 1, 1 },
		{ 0xfffffe, 1, 0xffffff },
		{ 0xffffff, 1, 0 },
		{ 0xffffff, 2, 1 },
		{ 0xffff00, 0x1000, 0xf00 },
		{ 0x800000, 0x800000, 0 },
		{ 5, 0x1000000, 5 },
		{ 7, 0xffffff, 6 },
		{ 0xffffff, 0xffffffff, 0xfffffe },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_ASSERT_EQ_MSG(test, rsoft_psn_add(rows[i].psn, rows[i].n),
				    rows[i].want, "row %d", i);
}

static void diff_is_signed_and_wraps(struct kunit *test)
{
	static const struct { u32 a, b; s32 want; } rows[] = {
		{ 0, 0, 0 },
		{ 1, 0, 1 },
		{ 0, 1, -1 },
		{ 0, 0xffffff, 1 },
		{ 0xffffff, 0, -1 },
		{ 5, 0xfffffb, 10 },
		{ 0xfffffb, 5, -10 },
		{ 0x7fffff, 0, 0x7fffff },
		{ 0, 0x7fffff, -0x7fffff },
		{ 0x800001, 0, -0x7fffff },
		{ 0x400000, 0xc00001, 0x7fffff },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_ASSERT_EQ_MSG(test, rsoft_psn_diff(rows[i].a, rows[i].b),
				    rows[i].want, "row %d", i);
}

static void half_the_circle_away_is_before(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rsoft_psn_diff(0x800000, 0), -0x800000);
	KUNIT_EXPECT_EQ(test, rsoft_psn_diff(0, 0x800000), -0x800000);
	KUNIT_EXPECT_EQ(test, rsoft_psn_diff(0x900001, 0x100001), -0x800000);
}

static void diff_ignores_bits_above_24(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rsoft_psn_diff(0xab000005, 3), 2);
	KUNIT_EXPECT_EQ(test, rsoft_psn_diff(3, 0xff000005), -2);
}

static void diff_undoes_add(struct kunit *test)
{
	u64 seed = 1;
	int i;

	for (i = 0; i < 100000; i++) {
		u32 psn = model_random(&seed) & 0xffffff;
		u32 n = model_random(&seed) & 0x7fffff;
		u32 far = rsoft_psn_add(psn, n);

		if (rsoft_psn_diff(far, psn) == n &&
		    rsoft_psn_diff(psn, far) == -(s32)n)
			continue;
		KUNIT_FAIL(test, "psn %x n %x", psn, n);
		return;
	}
}

static const struct { u32 psn, first, last; bool in; } ranges[] = {
	{ 5, 5, 5, true },
	{ 5, 4, 6, true },
	{ 4, 4, 6, true },
	{ 6, 4, 6, true },
	{ 0, 0xffffff, 1, true },
	{ 0xffffff, 0xffffff, 0, true },
	{ 0xfffffe, 0xfffff0, 0x10, true },
	{ 3, 4, 6, false },
	{ 7, 4, 6, false },
	{ 4, 5, 5, false },
	{ 6, 5, 5, false },
	{ 2, 0xffffff, 1, false },
	{ 0xfffffe, 0xffffff, 1, false },
	{ 0x800000, 0xffffff, 1, false },
	{ 0x11, 0xfffff0, 0x10, false },
	{ 0xffffef, 0xfffff0, 0x10, false },
	/* An empty range: the last PSN is before the first. */
	{ 5, 6, 5, false },
	{ 6, 6, 5, false },
	{ 0, 0, 0xffffff, false },
	{ 0xffffff, 0, 0xffffff, false },
};

static void range_holds_both_ends_and_nothing_else(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++)
		KUNIT_ASSERT_EQ_MSG(test, rsoft_psn_in(ranges[i].psn,
						       ranges[i].first,
						       ranges[i].last),
				    ranges[i].in, "row %d", i);
}

static void range_may_stand_anywhere_on_the_circle(struct kunit *test)
{
	u32 turn;
	int i;

	for (turn = 0; turn < 0x1000000; turn += 0x10001) {
		for (i = 0; i < ARRAY_SIZE(ranges); i++) {
			u32 psn = rsoft_psn_add(ranges[i].psn, turn);
			u32 first = rsoft_psn_add(ranges[i].first, turn);
			u32 last = rsoft_psn_add(ranges[i].last, turn);

			if (rsoft_psn_in(psn, first, last) == ranges[i].in)
				continue;
			KUNIT_FAIL(test, "row %d turned by %x", i, turn);
			return;
		}
	}
}

static struct kunit_case psn_cases[] = {
	KUNIT_CASE(add_wraps_at_24_bits),
	KUNIT_CASE(diff_is_signed_and_wraps),
	KUNIT_CASE(half_the_circle_away_is_before),
	KUNIT_CASE(diff_ignores_bits_above_24),
	KUNIT_CASE(diff_undoes_add),
	KUNIT_CASE(range_holds_both_ends_and_nothing_else),
	KUNIT_CASE(range_may_stand_anywhere_on_the_circle),
	{}
};

static struct kunit_suite psn_suite = {
	.name = "rdma_soft_psn",
	.test_cases = psn_cases,
};

kunit_test_suite(psn_suite);
