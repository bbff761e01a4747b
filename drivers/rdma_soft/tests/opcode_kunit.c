// SPDX-License-Identifier: GPL-2.0
/*
 * The opcode table against the model and the core's numbers, and the order in
 * which a responder accepts packets.
 */
#include <kunit/test.h>
#include <rdma/ib_pack.h>

#include "../proto/opcode.h"
#include "model.h"

/* Letters of struct model_op to the bits of the driver. */
static u8 hdr_bits(const char *ext)
{
	static const char letters[] = "DFRXACIV";
	u8 bits = 0;

	for (; *ext; ext++)
		bits |= 1 << (strchr(letters, *ext) - letters);
	return bits;
}

static u8 flag_bits(const struct model_op *op)
{
	u8 bits = 0;

	if (op->place == 'F' || op->place == 'O')
		bits |= RSOFT_PKT_START;
	if (op->place == 'L' || op->place == 'O')
		bits |= RSOFT_PKT_END;
	if (op->resp)
		bits |= RSOFT_PKT_RESPONSE;
	if (op->rqe)
		bits |= RSOFT_PKT_RQE;
	if (op->payload != MODEL_EMPTY)
		bits |= RSOFT_PKT_PAYLOAD;
	return bits;
}

static void every_defined_opcode_is_as_in_the_model(struct kunit *test)
{
	u32 i;

	for (i = 0; i < model_nops; i++) {
		const struct model_op *op = &model_ops[i];
		const struct rsoft_opinfo *info = rsoft_opinfo(op->opcode);

		KUNIT_ASSERT_EQ_MSG(test, info->kind, op->kind,
				    "opcode %x", op->opcode);
		KUNIT_ASSERT_EQ_MSG(test, info->hdrs, hdr_bits(op->ext),
				    "opcode %x", op->opcode);
		KUNIT_ASSERT_EQ_MSG(test, info->flags, flag_bits(op),
				    "opcode %x", op->opcode);
		KUNIT_ASSERT_EQ_MSG(test, info->hdr_len,
				    MODEL_BTH_LEN + model_ext_len(op->ext),
				    "opcode %x", op->opcode);
	}
}

static void every_other_opcode_is_undefined(struct kunit *test)
{
	u32 opcode, undefined = 0;

	for (opcode = 0; opcode < 256; opcode++) {
		if (model_op(opcode))
			continue;
		undefined++;
		KUNIT_ASSERT_EQ_MSG(test, rsoft_opinfo(opcode)->kind,
				    RSOFT_KIND_NONE, "opcode %x", opcode);
	}
	KUNIT_EXPECT_EQ(test, undefined + model_nops, 256);
}

#define SAME(transport, op, core) \
	{ RSOFT_##transport | RSOFT_OP_##op, IB_OPCODE_##transport##_##core }

static void numbers_are_those_of_the_core(struct kunit *test)
{
	static const struct { u8 ours, core; } rows[] = {
		SAME(RC, SEND_FIRST, SEND_FIRST),
		SAME(RC, SEND_MIDDLE, SEND_MIDDLE),
		SAME(RC, SEND_LAST, SEND_LAST),
		SAME(RC, SEND_LAST_IMM, SEND_LAST_WITH_IMMEDIATE),
		SAME(RC, SEND_ONLY, SEND_ONLY),
		SAME(RC, SEND_ONLY_IMM, SEND_ONLY_WITH_IMMEDIATE),
		SAME(RC, WRITE_FIRST, RDMA_WRITE_FIRST),
		SAME(RC, WRITE_MIDDLE, RDMA_WRITE_MIDDLE),
		SAME(RC, WRITE_LAST, RDMA_WRITE_LAST),
		SAME(RC, WRITE_LAST_IMM, RDMA_WRITE_LAST_WITH_IMMEDIATE),
		SAME(RC, WRITE_ONLY, RDMA_WRITE_ONLY),
		SAME(RC, WRITE_ONLY_IMM, RDMA_WRITE_ONLY_WITH_IMMEDIATE),
		SAME(RC, READ_REQ, RDMA_READ_REQUEST),
		SAME(RC, READ_RESP_FIRST, RDMA_READ_RESPONSE_FIRST),
		SAME(RC, READ_RESP_MIDDLE, RDMA_READ_RESPONSE_MIDDLE),
		SAME(RC, READ_RESP_LAST, RDMA_READ_RESPONSE_LAST),
		SAME(RC, READ_RESP_ONLY, RDMA_READ_RESPONSE_ONLY),
		SAME(RC, ACK, ACKNOWLEDGE),
		SAME(RC, ATOMIC_ACK, ATOMIC_ACKNOWLEDGE),
		SAME(RC, COMPARE_SWAP, COMPARE_SWAP),
		SAME(RC, FETCH_ADD, FETCH_ADD),
		SAME(RC, SEND_LAST_INV, SEND_LAST_WITH_INVALIDATE),
		SAME(RC, SEND_ONLY_INV, SEND_ONLY_WITH_INVALIDATE),
		SAME(UC, SEND_FIRST, SEND_FIRST),
		SAME(UC, WRITE_ONLY_IMM, RDMA_WRITE_ONLY_WITH_IMMEDIATE),
		SAME(UD, SEND_ONLY, SEND_ONLY),
		SAME(UD, SEND_ONLY_IMM, SEND_ONLY_WITH_IMMEDIATE),
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_ASSERT_EQ_MSG(test, rows[i].ours, rows[i].core,
				    "row %d", i);
}

/* May this packet follow, and what state comes then: by letters only. */
static bool model_seq(enum rsoft_seq cur, const struct model_op *op,
		      enum rsoft_seq *next)
{
	bool starts = op->place == 'F' || op->place == 'O';
	bool ends = op->place == 'L' || op->place == 'O';
	enum rsoft_seq own = RSOFT_SEQ_IDLE;

	if (op->resp || op->kind == RSOFT_KIND_CNP ||
	    op->kind == RSOFT_KIND_RESERVED)
		return false;
	if (op->kind == RSOFT_KIND_SEND)
		own = RSOFT_SEQ_SEND;
	if (op->kind == RSOFT_KIND_WRITE)
		own = RSOFT_SEQ_WRITE;
	*next = ends ? RSOFT_SEQ_IDLE : own;
	return starts ? cur == RSOFT_SEQ_IDLE : cur == own;
}

static void each_packet_is_accepted_only_in_its_place(struct kunit *test)
{
	enum rsoft_seq cur;
	u32 i, accepted = 0;

	for (cur = RSOFT_SEQ_IDLE; cur <= RSOFT_SEQ_WRITE; cur++) {
		for (i = 0; i < model_nops; i++) {
			const struct model_op *op = &model_ops[i];
			enum rsoft_seq want = cur, got = cur;
			bool want_ok = model_seq(cur, op, &want);
			bool ok = rsoft_seq_next(cur, rsoft_opinfo(op->opcode),
						 &got);

			KUNIT_ASSERT_EQ_MSG(test, ok, want_ok,
					    "opcode %x in state %d",
					    op->opcode, cur);
			if (ok && want_ok)
				KUNIT_ASSERT_EQ_MSG(test, got, want,
						    "opcode %x in state %d",
						    op->opcode, cur);
			accepted += ok;
		}
	}
	KUNIT_EXPECT_GT(test, accepted, 0);
}

/* Written down by hand, so that the model above is not the only witness. */
static void messages_do_not_mix(struct kunit *test)
{
	static const struct { enum rsoft_seq cur; u8 opcode; } rows[] = {
		{ RSOFT_SEQ_IDLE, 0x01 },	/* SEND Middle without First */
		{ RSOFT_SEQ_IDLE, 0x02 },	/* SEND Last without First */
		{ RSOFT_SEQ_IDLE, 0x07 },	/* WRITE Middle without First */
		{ RSOFT_SEQ_IDLE, 0x16 },	/* SEND Last with Invalidate */
		{ RSOFT_SEQ_IDLE, 0x11 },	/* ACK is no request */
		{ RSOFT_SEQ_IDLE, 0x10 },	/* nor is a READ response */
		{ RSOFT_SEQ_IDLE, 0x81 },	/* nor a CNP */
		{ RSOFT_SEQ_IDLE, 0x15 },	/* undefined */
		{ RSOFT_SEQ_SEND, 0x00 },	/* First within a SEND */
		{ RSOFT_SEQ_SEND, 0x04 },	/* Only within a SEND */
		{ RSOFT_SEQ_SEND, 0x07 },	/* WRITE Middle in a SEND */
		{ RSOFT_SEQ_SEND, 0x09 },	/* WRITE Last in a SEND */
		{ RSOFT_SEQ_SEND, 0x0c },	/* READ within a SEND */
		{ RSOFT_SEQ_SEND, 0x1c },	/* FLUSH within a SEND */
		{ RSOFT_SEQ_WRITE, 0x06 },	/* First within a WRITE */
		{ RSOFT_SEQ_WRITE, 0x02 },	/* SEND Last in a WRITE */
		{ RSOFT_SEQ_WRITE, 0x13 },	/* atomic within a WRITE */
		{ RSOFT_SEQ_WRITE, 0x1d },	/* ATOMIC WRITE in a WRITE */
	};
	enum rsoft_seq next;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct rsoft_opinfo *info = rsoft_opinfo(rows[i].opcode);

		KUNIT_ASSERT_FALSE_MSG(test,
				       rsoft_seq_next(rows[i].cur, info, &next),
				       "opcode %x in state %d", rows[i].opcode,
				       rows[i].cur);
	}
}

static struct kunit_case opcode_cases[] = {
	KUNIT_CASE(every_defined_opcode_is_as_in_the_model),
	KUNIT_CASE(every_other_opcode_is_undefined),
	KUNIT_CASE(numbers_are_those_of_the_core),
	KUNIT_CASE(each_packet_is_accepted_only_in_its_place),
	KUNIT_CASE(messages_do_not_mix),
	{}
};

static struct kunit_suite opcode_suite = {
	.name = "rdma_soft_opcode",
	.test_cases = opcode_cases,
};

kunit_test_suite(opcode_suite);
