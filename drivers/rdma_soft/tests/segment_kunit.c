// SPDX-License-Identifier: GPL-2.0
/*
 * Cutting messages: counts, lengths and opcodes, and that what a requester
 * cuts is what a responder accepts.
 */
#include <kunit/test.h>

#include "../proto/segment.h"
#include "model.h"

static void packets_are_counted(struct kunit *test)
{
	static const struct { u32 len; u8 shift; u32 want; } rows[] = {
		{ 0, 8, 1 },
		{ 0, 12, 1 },
		{ 1, 8, 1 },
		{ 255, 8, 1 },
		{ 256, 8, 1 },
		{ 257, 8, 2 },
		{ 512, 8, 2 },
		{ 513, 8, 3 },
		{ 4096, 12, 1 },
		{ 4097, 12, 2 },
		{ 1 << 24, 10, 1 << 14 },
		{ 0x80000000, 8, 1 << 23 },
		{ 0x80000000, 12, 1 << 19 },
		{ 0x7fffffff, 8, 1 << 23 },
		{ 0x7fffff00, 8, (1 << 23) - 1 },
		{ U32_MAX, 8, 1 << 24 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_ASSERT_EQ_MSG(test,
				    rsoft_npkts(rows[i].len, rows[i].shift),
				    rows[i].want, "row %d", i);
}

static void packets_have_their_length(struct kunit *test)
{
	static const struct { u32 len, index; u8 shift; u32 want; } rows[] = {
		{ 0, 0, 8, 0 },
		{ 1, 0, 8, 1 },
		{ 256, 0, 8, 256 },
		{ 257, 0, 8, 256 },
		{ 257, 1, 8, 1 },
		{ 10000, 2, 12, 1808 },
		{ 0x80000000, 0, 8, 256 },
		{ 0x80000000, (1 << 23) - 1, 8, 256 },
		{ 0x7fffffff, (1 << 23) - 1, 8, 255 },
		/* Behind the end there is nothing. */
		{ 0, 1, 8, 0 },
		{ 256, 1, 8, 0 },
		{ 257, 2, 8, 0 },
		{ 0x80000000, 1 << 23, 8, 0 },
		{ 1, 1 << 24, 8, 0 },
		{ U32_MAX, U32_MAX, 12, 0 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_ASSERT_EQ_MSG(test,
				    rsoft_pkt_len(rows[i].len, rows[i].index,
						  rows[i].shift),
				    rows[i].want, "row %d", i);
}

static void the_parts_add_up_to_the_message(struct kunit *test)
{
	u64 seed = 6;
	int round;
	u8 shift;

	for (round = 0; round < 300; round++) {
		u32 len = model_random(&seed) % 100000;

		for (shift = 8; shift <= 12; shift++) {
			u32 i, n = rsoft_npkts(len, shift);
			u64 sum = 0;

			for (i = 0; i < n; i++)
				sum += rsoft_pkt_len(len, i, shift);
			if (sum == len && !rsoft_pkt_len(len, n, shift))
				continue;
			KUNIT_FAIL(test, "len %u mtu %u", len, 1u << shift);
			return;
		}
	}
}

/* Kind and tail, with the opcodes of First, Middle, Last and Only. */
static const struct kind_row {
	enum rsoft_kind kind;
	enum rsoft_tail tail;
	u8 first, middle, last, only;
} kinds[] = {
	{ RSOFT_KIND_SEND, RSOFT_TAIL_PLAIN, 0x00, 0x01, 0x02, 0x04 },
	{ RSOFT_KIND_SEND, RSOFT_TAIL_IMM, 0x00, 0x01, 0x03, 0x05 },
	{ RSOFT_KIND_SEND, RSOFT_TAIL_INV, 0x00, 0x01, 0x16, 0x17 },
	{ RSOFT_KIND_WRITE, RSOFT_TAIL_PLAIN, 0x06, 0x07, 0x08, 0x0a },
	{ RSOFT_KIND_WRITE, RSOFT_TAIL_IMM, 0x06, 0x07, 0x09, 0x0b },
	{ RSOFT_KIND_READ_RESP, RSOFT_TAIL_PLAIN, 0x0d, 0x0e, 0x0f, 0x10 },
};

static void each_place_has_its_opcode(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind_row *k = &kinds[i];

		KUNIT_ASSERT_EQ_MSG(test, rsoft_seg_opcode(k->kind, k->tail,
							   true, false),
				    k->first, "row %d", i);
		KUNIT_ASSERT_EQ_MSG(test, rsoft_seg_opcode(k->kind, k->tail,
							   false, false),
				    k->middle, "row %d", i);
		KUNIT_ASSERT_EQ_MSG(test, rsoft_seg_opcode(k->kind, k->tail,
							   false, true),
				    k->last, "row %d", i);
		KUNIT_ASSERT_EQ_MSG(test, rsoft_seg_opcode(k->kind, k->tail,
							   true, true),
				    k->only, "row %d", i);
	}
}

/* Walk one message as requester and as responder at once. */
static bool walk_message(const struct kind_row *k, u32 len, u8 shift)
{
	u32 i, n = rsoft_npkts(len, shift);
	enum rsoft_seq seq = RSOFT_SEQ_IDLE;

	for (i = 0; i < n; i++) {
		u8 op = rsoft_seg_opcode(k->kind, k->tail, i == 0, i == n - 1);
		const struct rsoft_opinfo *info = rsoft_opinfo(op);

		if (!rsoft_seg_len_ok(info, rsoft_pkt_len(len, i, shift),
				      1u << shift))
			return false;
		/* Responses are no requests: no sequence to follow. */
		if (k->kind != RSOFT_KIND_READ_RESP &&
		    !rsoft_seq_next(seq, info, &seq))
			return false;
	}
	return seq == RSOFT_SEQ_IDLE;
}

static void a_responder_accepts_what_is_cut(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, 255, 256, 257, 511, 512, 513, 1024,
				    4095, 4096, 4097, 8192, 12289, 65536 };
	int i, j;
	u8 shift;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		for (j = 0; j < ARRAY_SIZE(lens); j++)
			for (shift = 8; shift <= 12; shift++)
				KUNIT_ASSERT_TRUE_MSG(test,
						      walk_message(&kinds[i],
								   lens[j],
								   shift),
						      "row %d len %u mtu %u",
						      i, lens[j], 1u << shift);
}

static void each_place_has_its_lengths(struct kunit *test)
{
	u32 i, len, mtu = 256;

	for (i = 0; i < model_nops; i++) {
		const struct model_op *op = &model_ops[i];
		const struct rsoft_opinfo *info = rsoft_opinfo(op->opcode);

		for (len = 0; len <= 2 * mtu; len++) {
			bool want = len <= mtu;

			if (op->place == 'F' || op->place == 'M')
				want = len == mtu;
			if (op->place == 'L')
				want = len && len <= mtu;
			if (rsoft_seg_len_ok(info, len, mtu) == want)
				continue;
			KUNIT_FAIL(test, "opcode %x len %u", op->opcode, len);
			return;
		}
		KUNIT_ASSERT_FALSE(test, rsoft_seg_len_ok(info, U32_MAX, mtu));
	}
}

static struct kunit_case segment_cases[] = {
	KUNIT_CASE(packets_are_counted),
	KUNIT_CASE(packets_have_their_length),
	KUNIT_CASE(the_parts_add_up_to_the_message),
	KUNIT_CASE(each_place_has_its_opcode),
	KUNIT_CASE(a_responder_accepts_what_is_cut),
	KUNIT_CASE(each_place_has_its_lengths),
	{}
};

static struct kunit_suite segment_suite = {
	.name = "rdma_soft_segment",
	.test_cases = segment_cases,
};

kunit_test_suite(segment_suite);
