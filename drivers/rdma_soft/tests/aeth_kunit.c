// SPDX-License-Identifier: GPL-2.0
/*
 * Five-bit fields of acknowledgements and QP attributes: timers and credits.
 */
#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#include "../proto/aeth.h"

/* The core's names say hundredths of a millisecond: 655_36 is 655.36 ms. */
static const struct { u8 enc; u64 ns; } rnr_rows[] = {
	{ IB_RNR_TIMER_655_36, 655360000 },
	{ IB_RNR_TIMER_000_01, 10000 },
	{ IB_RNR_TIMER_000_02, 20000 },
	{ IB_RNR_TIMER_000_03, 30000 },
	{ IB_RNR_TIMER_000_04, 40000 },
	{ IB_RNR_TIMER_000_06, 60000 },
	{ IB_RNR_TIMER_000_08, 80000 },
	{ IB_RNR_TIMER_000_12, 120000 },
	{ IB_RNR_TIMER_000_16, 160000 },
	{ IB_RNR_TIMER_000_24, 240000 },
	{ IB_RNR_TIMER_000_32, 320000 },
	{ IB_RNR_TIMER_000_48, 480000 },
	{ IB_RNR_TIMER_000_64, 640000 },
	{ IB_RNR_TIMER_000_96, 960000 },
	{ IB_RNR_TIMER_001_28, 1280000 },
	{ IB_RNR_TIMER_001_92, 1920000 },
	{ IB_RNR_TIMER_002_56, 2560000 },
	{ IB_RNR_TIMER_003_84, 3840000 },
	{ IB_RNR_TIMER_005_12, 5120000 },
	{ IB_RNR_TIMER_007_68, 7680000 },
	{ IB_RNR_TIMER_010_24, 10240000 },
	{ IB_RNR_TIMER_015_36, 15360000 },
	{ IB_RNR_TIMER_020_48, 20480000 },
	{ IB_RNR_TIMER_030_72, 30720000 },
	{ IB_RNR_TIMER_040_96, 40960000 },
	{ IB_RNR_TIMER_061_44, 61440000 },
	{ IB_RNR_TIMER_081_92, 81920000 },
	{ IB_RNR_TIMER_122_88, 122880000 },
	{ IB_RNR_TIMER_163_84, 163840000 },
	{ IB_RNR_TIMER_245_76, 245760000 },
	{ IB_RNR_TIMER_327_68, 327680000 },
	{ IB_RNR_TIMER_491_52, 491520000 },
};

static void rnr_waits_are_those_the_core_names(struct kunit *test)
{
	int i;

	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(rnr_rows), 32);
	for (i = 0; i < ARRAY_SIZE(rnr_rows); i++)
		KUNIT_ASSERT_EQ_MSG(test, rsoft_rnr_ns(rnr_rows[i].enc),
				    rnr_rows[i].ns, "field %u",
				    rnr_rows[i].enc);
}

static void rnr_waits_grow_with_the_field_except_zero(struct kunit *test)
{
	u8 enc;

	for (enc = 2; enc < 32; enc++)
		KUNIT_ASSERT_GT_MSG(test, rsoft_rnr_ns(enc),
				    rsoft_rnr_ns(enc - 1), "field %u", enc);
	KUNIT_EXPECT_GT(test, rsoft_rnr_ns(0), rsoft_rnr_ns(31));
}

static void ack_timeouts_double(struct kunit *test)
{
	u64 ns = 4096;
	u8 enc;

	KUNIT_EXPECT_EQ(test, rsoft_ack_timeout_ns(0), 0);
	for (enc = 1; enc < 32; enc++) {
		ns *= 2;
		KUNIT_ASSERT_EQ_MSG(test, rsoft_ack_timeout_ns(enc), ns,
				    "field %u", enc);
	}
	/* 4.096 us times 2^14 is the usual 67 ms; 2^31 is 2.4 hours. */
	KUNIT_EXPECT_EQ(test, rsoft_ack_timeout_ns(14), 67108864);
	KUNIT_EXPECT_EQ(test, rsoft_ack_timeout_ns(31), 8796093022208);
}

static void bits_above_a_field_are_ignored(struct kunit *test)
{
	u32 v;

	for (v = 32; v < 256; v++) {
		KUNIT_ASSERT_EQ(test, rsoft_rnr_ns(v), rsoft_rnr_ns(v % 32));
		KUNIT_ASSERT_EQ(test, rsoft_ack_timeout_ns(v),
				rsoft_ack_timeout_ns(v % 32));
		KUNIT_ASSERT_EQ(test, rsoft_credits_decode(v),
				rsoft_credits_decode(v % 32));
	}
}

/* Counts double every second step: 1.5 times 2^n lies between. */
static void credits_are_powers_of_two_and_half_steps(struct kunit *test)
{
	u8 enc;

	for (enc = 0; enc < 4; enc++)
		KUNIT_EXPECT_EQ(test, rsoft_credits_decode(enc), enc);
	for (enc = 4; enc < 31; enc++) {
		u32 want = (enc & 1 ? 6 : 4) << (enc - 4) / 2;

		KUNIT_ASSERT_EQ_MSG(test, rsoft_credits_decode(enc), want,
				    "field %u", enc);
	}
}

static void the_last_field_means_no_flow_control(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rsoft_credits_decode(RSOFT_CREDITS_INVALID),
			U32_MAX);
	KUNIT_EXPECT_EQ(test, rsoft_credits_decode(31), U32_MAX);
	KUNIT_EXPECT_EQ(test, rsoft_credits_encode(U32_MAX), 30);
}

static void credits_never_promise_more_than_there_are(struct kunit *test)
{
	u32 n;

	for (n = 0; n < 70000; n++) {
		u8 enc = rsoft_credits_encode(n);

		if (enc < 31 && rsoft_credits_decode(enc) <= n &&
		    (enc == 30 || rsoft_credits_decode(enc + 1) > n))
			continue;
		KUNIT_FAIL(test, "credits %u field %u", n, enc);
		return;
	}
}

static void a_field_survives_decode_and_encode(struct kunit *test)
{
	u8 enc;

	for (enc = 0; enc < 31; enc++)
		KUNIT_ASSERT_EQ(test,
				rsoft_credits_encode(rsoft_credits_decode(enc)),
				enc);
}

/* Type and value of a syndrome share a byte without overlap. */
static void syndromes_are_type_and_value(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, RSOFT_SYN_TYPE_MASK | RSOFT_SYN_VALUE_MASK, 0xff);
	KUNIT_EXPECT_EQ(test, RSOFT_SYN_TYPE_MASK & RSOFT_SYN_VALUE_MASK, 0);
	KUNIT_EXPECT_EQ(test, RSOFT_SYN_NAK | RSOFT_NAK_PSN, 0x60);
	KUNIT_EXPECT_EQ(test, RSOFT_SYN_NAK | RSOFT_NAK_INV_REQ, 0x61);
	KUNIT_EXPECT_EQ(test, RSOFT_SYN_NAK | RSOFT_NAK_REM_ACCESS, 0x62);
	KUNIT_EXPECT_EQ(test, RSOFT_SYN_NAK | RSOFT_NAK_REM_OP, 0x63);
	KUNIT_EXPECT_EQ(test, RSOFT_SYN_RNR | 1, 0x21);
}

static struct kunit_case aeth_cases[] = {
	KUNIT_CASE(rnr_waits_are_those_the_core_names),
	KUNIT_CASE(rnr_waits_grow_with_the_field_except_zero),
	KUNIT_CASE(ack_timeouts_double),
	KUNIT_CASE(bits_above_a_field_are_ignored),
	KUNIT_CASE(credits_are_powers_of_two_and_half_steps),
	KUNIT_CASE(the_last_field_means_no_flow_control),
	KUNIT_CASE(credits_never_promise_more_than_there_are),
	KUNIT_CASE(a_field_survives_decode_and_encode),
	KUNIT_CASE(syndromes_are_type_and_value),
	{}
};

static struct kunit_suite aeth_suite = {
	.name = "rdma_soft_aeth",
	.test_cases = aeth_cases,
};

kunit_test_suite(aeth_suite);
