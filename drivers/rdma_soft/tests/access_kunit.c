// SPDX-License-Identifier: GPL-2.0
/*
 * The access rule: each way to be refused, which refusal comes first, and the
 * ends of the address space.
 */
#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#include "../proto/access.h"
#include "model.h"

static_assert((int)RSOFT_ACC_LOCAL_WRITE == (int)IB_ACCESS_LOCAL_WRITE);
static_assert((int)RSOFT_ACC_REMOTE_WRITE == (int)IB_ACCESS_REMOTE_WRITE);
static_assert((int)RSOFT_ACC_REMOTE_READ == (int)IB_ACCESS_REMOTE_READ);
static_assert((int)RSOFT_ACC_REMOTE_ATOMIC == (int)IB_ACCESS_REMOTE_ATOMIC);
static_assert((int)RSOFT_ACC_MW_BIND == (int)IB_ACCESS_MW_BIND);
static_assert((int)RSOFT_ACC_ZERO_BASED == (int)IB_ZERO_BASED);

#define KEY	0x12345678u
#define ALL	0x3fu

static const struct rsoft_region plain = {
	.key = KEY, .valid = true, .owner_ok = true, .rights = ALL,
	.start = 0x10000, .len = 0x1000,
};

static void any_other_key_is_refused(struct kunit *test)
{
	int bit;

	KUNIT_EXPECT_EQ(test, rsoft_access_check(&plain, KEY, 0, 0x10000, 8),
			RSOFT_ACCESS_OK);
	for (bit = 0; bit < 32; bit++)
		KUNIT_ASSERT_EQ_MSG(test,
				    rsoft_access_check(&plain, KEY ^ 1u << bit,
						       0, 0x10000, 8),
				    RSOFT_ACCESS_KEY, "bit %d", bit);
}

static void an_object_that_is_not_valid_is_refused(struct kunit *test)
{
	struct rsoft_region region = plain;

	region.valid = false;
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY, 0, 0x10000, 8),
			RSOFT_ACCESS_STATE);
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY, 0, 0, 0),
			RSOFT_ACCESS_STATE);
}

static void another_owner_is_refused(struct kunit *test)
{
	struct rsoft_region region = plain;

	region.owner_ok = false;
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY, 0, 0x10000, 8),
			RSOFT_ACCESS_PD);
	region.all = true;
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY, 0, 0x10000, 0),
			RSOFT_ACCESS_PD);
}

/* All 64 sets of rights against all 64 needs. */
static void every_needed_right_must_be_granted(struct kunit *test)
{
	struct rsoft_region region = plain;
	u32 rights, need;

	for (rights = 0; rights <= ALL; rights++) {
		for (need = 0; need <= ALL; need++) {
			bool granted = (rights | need) == rights;

			region.rights = rights;
			if (rsoft_access_check(&region, KEY, need, 0x10000,
					       8) ==
			    (granted ? RSOFT_ACCESS_OK : RSOFT_ACCESS_RIGHTS))
				continue;
			KUNIT_FAIL(test, "rights %x need %x", rights, need);
			return;
		}
	}
}

static void local_read_needs_no_right(struct kunit *test)
{
	struct rsoft_region region = plain;

	region.rights = 0;
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY, 0, 0x10000,
						 0x1000), RSOFT_ACCESS_OK);
}

static void flush_rights_are_rights_like_others(struct kunit *test)
{
	struct rsoft_region region = plain;

	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY,
						 RSOFT_ACC_FLUSH_GLOBAL,
						 0x10000, 8),
			RSOFT_ACCESS_RIGHTS);
	region.rights = RSOFT_ACC_FLUSH_GLOBAL;
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY,
						 RSOFT_ACC_FLUSH_GLOBAL,
						 0x10000, 8), RSOFT_ACCESS_OK);
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY,
						 RSOFT_ACC_FLUSH_PERSIST,
						 0x10000, 8),
			RSOFT_ACCESS_RIGHTS);
}

/* Start and length of a region, address and length of an access. */
static const struct range_row {
	u64 start, len, va, n;
	bool ok;
} ranges[] = {
	{ 0x10000, 0x1000, 0x10000, 0x1000, true },
	{ 0x10000, 0x1000, 0x10000, 1, true },
	{ 0x10000, 0x1000, 0x10fff, 1, true },
	{ 0x10000, 0x1000, 0x10ff8, 8, true },
	{ 0, U64_MAX, 0, U64_MAX, true },
	{ U64_MAX, 1, U64_MAX, 1, true },
	{ U64_MAX - 7, 8, U64_MAX - 7, 8, true },
	{ 0x10000, 0x1000, 0xffff, 1, false },
	{ 0x10000, 0x1000, 0x11000, 1, false },
	{ 0x10000, 0x1000, 0xffff, 2, false },
	{ 0x10000, 0x1000, 0x10fff, 2, false },
	{ 0x10000, 0x1000, 0x10000, 0x1001, false },
	{ 0x10000, 0x1000, 0xffff, 0x1002, false },
	{ 0x10000, 0x1000, 0, 1, false },
	{ 0x10000, 0x1000, U64_MAX, 1, false },
	{ 0x10000, 0, 0x10000, 1, false },
	{ 0, U64_MAX, U64_MAX, 1, false },
	/* Sums that wrap. */
	{ 0x10000, 0x1000, 0x10008, U64_MAX, false },
	{ 0x10000, 0x1000, 0x10008, U64_MAX - 7, false },
	{ 0x10000, 0x1000, U64_MAX - 7, 0x10010, false },
	{ 0, U64_MAX, 1, U64_MAX, false },
	{ 0, U64_MAX, U64_MAX - 7, 16, false },
	{ U64_MAX - 7, 8, U64_MAX - 7, 9, false },
	{ U64_MAX - 7, 8, 0, 1, false },
	/* A region that itself passes the end: only its first part is one. */
	{ U64_MAX - 7, 16, U64_MAX - 7, 16, false },
	{ U64_MAX - 7, 16, 0, 8, false },
	{ U64_MAX - 7, 16, U64_MAX - 7, 8, true },
};

static void the_range_has_two_ends_and_nothing_wraps(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct rsoft_region region = plain;

		region.start = ranges[i].start;
		region.len = ranges[i].len;
		KUNIT_ASSERT_EQ_MSG(test,
				    rsoft_access_check(&region, KEY, 0,
						       ranges[i].va,
						       ranges[i].n),
				    ranges[i].ok ? RSOFT_ACCESS_OK :
						   RSOFT_ACCESS_RANGE,
				    "row %d", i);
	}
}

/* By first and last byte instead of by differences. */
static bool model_range(u64 start, u64 len, u64 va, u64 n)
{
	u64 last, end;

	if (!n)
		return true;
	last = va + n - 1;
	if (!len || last < va)
		return false;
	end = start + len - 1;
	if (end < start)
		end = U64_MAX;
	return va >= start && last <= end;
}

static void all_corners_agree_with_the_model(struct kunit *test)
{
	static const u64 c[] = {
		0, 1, 7, 8, 0xfff, 0x1000, 0x7fffffff, 0x80000000, U32_MAX,
		0x100000000ull, S64_MAX, 1ull << 63, (1ull << 63) + 1,
		U64_MAX - 0x1000, U64_MAX - 8, U64_MAX - 7, U64_MAX - 1,
		U64_MAX,
	};
	struct rsoft_region region = plain;
	u32 i, ok = 0, n = ARRAY_SIZE(c);

	for (i = 0; i < n * n * n * n; i++) {
		u64 va = c[i / n / n % n], len = c[i / n / n / n];
		bool in;

		region.start = c[i % n];
		region.len = c[i / n % n];
		in = rsoft_access_check(&region, KEY, 0, va, len) ==
		     RSOFT_ACCESS_OK;
		ok += in;
		if (in == model_range(region.start, region.len, va, len))
			continue;
		KUNIT_FAIL(test, "region %llx+%llx access %llx+%llx",
			   region.start, region.len, va, len);
		return;
	}
	KUNIT_EXPECT_GT(test, ok, n * n * n);
	KUNIT_EXPECT_LT(test, ok, n * n * n * n / 2);
}

static void nothing_is_in_range_everywhere(struct kunit *test)
{
	static const u64 vas[] = { 0, 0xffff, 0x10000, 0x11001, U64_MAX };
	int i;

	for (i = 0; i < ARRAY_SIZE(vas); i++)
		KUNIT_ASSERT_EQ_MSG(test,
				    rsoft_access_check(&plain, KEY, ALL &
						       ~RSOFT_ACC_REMOTE_ATOMIC,
						       vas[i], 0),
				    RSOFT_ACCESS_OK, "va %llx", vas[i]);
}

static void the_whole_space_still_ends(struct kunit *test)
{
	struct rsoft_region region = plain;

	region.all = true;
	region.start = 0;
	region.len = 0;
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY, ALL, 0, 8),
			RSOFT_ACCESS_OK);
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY, ALL,
						 U64_MAX - 7, 8),
			RSOFT_ACCESS_OK);
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY, 0, U64_MAX, 2),
			RSOFT_ACCESS_RANGE);
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY, 0, 2, U64_MAX),
			RSOFT_ACCESS_RANGE);
	region.rights = 0;
	KUNIT_EXPECT_EQ(test, rsoft_access_check(&region, KEY, 1, 0, 8),
			RSOFT_ACCESS_RIGHTS);
}

static void only_atomics_must_be_aligned(struct kunit *test)
{
	u32 need, off;

	for (need = 0; need <= ALL; need++) {
		for (off = 0; off < 8; off++) {
			bool bad = (need & RSOFT_ACC_REMOTE_ATOMIC) && off;

			KUNIT_ASSERT_EQ_MSG(test,
					    rsoft_access_check(&plain, KEY,
							       need,
							       0x10100 + off,
							       8),
					    bad ? RSOFT_ACCESS_ALIGN :
						  RSOFT_ACCESS_OK,
					    "need %x offset %u", need, off);
		}
	}
}

/* All 64 sets of broken rules: the first in the order of the enum is named. */
static void the_first_broken_rule_is_reported(struct kunit *test)
{
	u32 broken;

	for (broken = 0; broken < 64; broken++) {
		struct rsoft_region region = plain;
		u32 want = broken ? __ffs(broken) + 1 : RSOFT_ACCESS_OK;
		u32 need = RSOFT_ACC_REMOTE_ATOMIC;
		u32 key = KEY;
		u64 va = 0x10000;

		if (broken & 1)
			key++;
		if (broken & 2)
			region.valid = false;
		if (broken & 4)
			region.owner_ok = false;
		if (broken & 8)
			region.rights = 0;
		if (broken & 16)
			va = 0x20000;
		if (broken & 32)
			va++;
		KUNIT_ASSERT_EQ_MSG(test,
				    (u32)rsoft_access_check(&region, key, need,
							    va, 8),
				    want, "broken %x", broken);
	}
}

static void a_key_is_index_and_variant(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rsoft_key_make(0x123456, 0x78), KEY);
	KUNIT_EXPECT_EQ(test, rsoft_key_index(KEY), 0x123456);
	KUNIT_EXPECT_EQ(test, rsoft_key_make(0xffffff, 0xff), U32_MAX);
	KUNIT_EXPECT_EQ(test, rsoft_key_index(U32_MAX), 0xffffff);
	KUNIT_EXPECT_EQ(test, rsoft_key_index(0xff), 0);
}

static struct kunit_case access_cases[] = {
	KUNIT_CASE(any_other_key_is_refused),
	KUNIT_CASE(an_object_that_is_not_valid_is_refused),
	KUNIT_CASE(another_owner_is_refused),
	KUNIT_CASE(every_needed_right_must_be_granted),
	KUNIT_CASE(local_read_needs_no_right),
	KUNIT_CASE(flush_rights_are_rights_like_others),
	KUNIT_CASE(the_range_has_two_ends_and_nothing_wraps),
	KUNIT_CASE(all_corners_agree_with_the_model),
	KUNIT_CASE(nothing_is_in_range_everywhere),
	KUNIT_CASE(the_whole_space_still_ends),
	KUNIT_CASE(only_atomics_must_be_aligned),
	KUNIT_CASE(the_first_broken_rule_is_reported),
	KUNIT_CASE(a_key_is_index_and_variant),
	{}
};

static struct kunit_suite access_suite = {
	.name = "rdma_soft_access",
	.test_cases = access_cases,
};

kunit_test_suite(access_suite);
