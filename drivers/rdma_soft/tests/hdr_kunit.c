// SPDX-License-Identifier: GPL-2.0
/*
 * The decoder of the wire: what it refuses, in which order, that it reads
 * nothing that is not there, and that encoder and decoder agree with bytes
 * written down by hand.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../proto/hdr.h"
#include "model.h"

#define MAX_LEN		80
#define FILL		0xa5

/* A good packet of this opcode: BTH only, the rest is left as it is. */
static void put_bth(u8 *buf, u8 opcode, u8 pad)
{
	static const u8 rest[10] = { 0xff, 0xff, 0, 0, 0, 0x11, 0, 0, 0, 1 };

	buf[0] = opcode;
	buf[1] = pad << 4;
	memcpy(buf + 2, rest, sizeof(rest));
}

/* Bytes of the shortest good packet of this opcode. */
static u32 good_len(const struct model_op *op)
{
	u32 len = MODEL_BTH_LEN + model_ext_len(op->ext) + MODEL_ICRC_LEN;

	if (op->payload == MODEL_FIXED_8)
		len += 8;
	if (op->payload == MODEL_FIXED_16)
		len += 16;
	return len;
}

static bool model_payload_ok(const struct model_op *op, u32 payload, u32 pad)
{
	if ((payload + pad) % 4)
		return false;
	switch (op->payload) {
	case MODEL_EMPTY:
		return payload == 0 && pad == 0;
	case MODEL_FIXED_8:
		return payload == 8 && pad == 0;
	case MODEL_FIXED_16:
		return payload == 16 && pad == 0;
	default:
		return true;
	}
}

/* What must be said about a packet of @len bytes, all of them readable. */
static enum rsoft_drop model_verdict(const u8 *buf, u32 len)
{
	const struct model_op *op;
	u32 pad, need;

	if (len < MODEL_BTH_LEN + MODEL_ICRC_LEN)
		return RSOFT_DROP_SHORT;
	if (buf[1] & 0x0f)
		return RSOFT_DROP_TVER;
	op = model_op(buf[0]);
	if (!op)
		return RSOFT_DROP_OPCODE;
	pad = buf[1] >> 4 & 3;
	need = MODEL_BTH_LEN + model_ext_len(op->ext) + pad + MODEL_ICRC_LEN;
	if (len < need)
		return RSOFT_DROP_SHORT;
	if (buf[2] != 0xff || buf[3] != 0xff)
		return RSOFT_DROP_PKEY;
	return model_payload_ok(op, len - need, pad) ? RSOFT_DROP_NONE :
						       RSOFT_DROP_LENGTH;
}

/*
 * One length, all opcodes and pads. The buffer is as long as what may be read,
 * to the byte: under KASAN one byte too far is a report.
 */
static bool check_length(struct kunit *test, u32 len, u32 *good)
{
	u32 avail = min_t(u32, len, RSOFT_HDR_MAX);
	u8 *buf = kmalloc(avail, GFP_KERNEL);
	struct rsoft_pkt pkt;
	u32 opcode, pad;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	memset(buf, 0xff, avail);
	for (opcode = 0; opcode < 256; opcode++) {
		for (pad = 0; pad < 4; pad++) {
			enum rsoft_drop want, got;

			if (avail > 1) {
				buf[0] = opcode;
				buf[1] = pad << 4;
			}
			want = model_verdict(buf, len);
			got = rsoft_hdr_decode(buf, avail, len, &pkt);
			*good += got == RSOFT_DROP_NONE;
			if (got == want)
				continue;
			KUNIT_FAIL(test, "opcode %x len %u pad %u: %d, not %d",
				   opcode, len, pad, got, want);
			kfree(buf);
			return false;
		}
	}
	kfree(buf);
	return true;
}

static void each_opcode_length_and_pad_gets_its_verdict(struct kunit *test)
{
	u32 len, good = 0;

	for (len = 0; len <= MAX_LEN; len++)
		if (!check_length(test, len, &good))
			return;
	/* Most combinations are bad, but not all of them. */
	KUNIT_EXPECT_GT(test, good, 500);
	KUNIT_EXPECT_LT(test, good, MAX_LEN * 1024 / 10);
}

static void random_packets_get_the_verdict_of_the_model(struct kunit *test)
{
	u8 *buf = kunit_kzalloc(test, RSOFT_HDR_MAX, GFP_KERNEL);
	u64 seed = 2;
	int i, j;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < 200000; i++) {
		u32 len = model_random(&seed) % 1100;
		struct rsoft_pkt pkt;

		for (j = 0; j < RSOFT_HDR_MAX; j++)
			buf[j] = model_random(&seed);
		/* Half of them get past the first checks. */
		if (i & 1)
			put_bth(buf, buf[0], buf[1] & 3);
		if (rsoft_hdr_decode(buf, min_t(u32, len, RSOFT_HDR_MAX), len,
				     &pkt) == model_verdict(buf, len))
			continue;
		KUNIT_FAIL(test, "round %d len %u", i, len);
		return;
	}
}

static void what_is_not_readable_is_not_decoded(struct kunit *test)
{
	u32 i, avail;

	for (i = 0; i < model_nops; i++) {
		u32 need = MODEL_BTH_LEN + model_ext_len(model_ops[i].ext);
		struct rsoft_pkt pkt;

		for (avail = 0; avail < need; avail++) {
			u8 *buf = kmalloc(avail, GFP_KERNEL);
			u8 bth[MODEL_BTH_LEN];
			enum rsoft_drop got;

			KUNIT_ASSERT_NOT_NULL(test, buf);
			put_bth(bth, model_ops[i].opcode, 0);
			memset(buf, 0, avail);
			memcpy(buf, bth, min_t(u32, avail, sizeof(bth)));
			got = rsoft_hdr_decode(buf, avail, 1000, &pkt);
			kfree(buf);
			KUNIT_ASSERT_EQ_MSG(test, got, RSOFT_DROP_SHORT,
					    "opcode %x avail %u",
					    model_ops[i].opcode, avail);
		}
	}
}

static void each_other_version_is_refused(struct kunit *test)
{
	u8 buf[MODEL_BTH_LEN + MODEL_ICRC_LEN] = { 0 };
	struct rsoft_pkt pkt;
	u32 ver;

	for (ver = 0; ver < 16; ver++) {
		put_bth(buf, 0x04, 0);
		buf[1] |= ver;
		KUNIT_ASSERT_EQ_MSG(test,
				    rsoft_hdr_decode(buf, sizeof(buf),
						     sizeof(buf), &pkt),
				    ver ? RSOFT_DROP_TVER : RSOFT_DROP_NONE,
				    "version %u", ver);
	}
}

static void each_other_pkey_is_refused(struct kunit *test)
{
	u8 buf[MODEL_BTH_LEN + MODEL_ICRC_LEN] = { 0 };
	struct rsoft_pkt pkt;
	u32 pkey;

	put_bth(buf, 0x04, 0);
	for (pkey = 0; pkey <= 0xffff; pkey++) {
		enum rsoft_drop want = pkey == 0xffff ? RSOFT_DROP_NONE :
							RSOFT_DROP_PKEY;

		buf[2] = pkey >> 8;
		buf[3] = pkey;
		if (rsoft_hdr_decode(buf, sizeof(buf), sizeof(buf), &pkt) ==
		    want)
			continue;
		KUNIT_FAIL(test, "pkey %x", pkey);
		return;
	}
}

/* Each packet has all the faults from its own on: the first one is named. */
static void the_first_broken_rule_is_reported(struct kunit *test)
{
	static const struct {
		u8 head[4];
		u32 len;
		enum rsoft_drop want;
	} rows[] = {
		{ { 0x35, 0x01, 0, 0 }, 15, RSOFT_DROP_SHORT },
		{ { 0x35, 0x01, 0, 0 }, 16, RSOFT_DROP_TVER },
		{ { 0x35, 0x10, 0, 0 }, 16, RSOFT_DROP_OPCODE },
		{ { 0x0c, 0x10, 0, 0 }, 32, RSOFT_DROP_SHORT },
		{ { 0x0c, 0x10, 0, 0 }, 34, RSOFT_DROP_PKEY },
		{ { 0x0c, 0x10, 0xff, 0xff }, 34, RSOFT_DROP_LENGTH },
		{ { 0x0c, 0x00, 0xff, 0xff }, 32, RSOFT_DROP_NONE },
	};
	struct rsoft_pkt pkt;
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u8 buf[40] = { 0 };

		memcpy(buf, rows[i].head, 4);
		KUNIT_ASSERT_EQ_MSG(test,
				    rsoft_hdr_decode(buf, min_t(u32, 40,
								rows[i].len),
						     rows[i].len, &pkt),
				    rows[i].want, "row %d", i);
	}
}

static void a_length_near_the_top_does_not_wrap(struct kunit *test)
{
	u8 buf[RSOFT_HDR_MAX] = { 0 };
	struct rsoft_pkt pkt;
	u32 i;

	for (i = 0; i < 8; i++) {
		u32 len = U32_MAX - i;

		put_bth(buf, 0x04, 3);
		if (len % 4 == 3)
			continue;
		KUNIT_ASSERT_NE_MSG(test,
				    rsoft_hdr_decode(buf, sizeof(buf), len,
						     &pkt),
				    (enum rsoft_drop)RSOFT_DROP_SHORT,
				    "len %x", len);
	}
	put_bth(buf, 0x04, 0);
	KUNIT_EXPECT_EQ(test, rsoft_hdr_decode(buf, sizeof(buf), 0xfffffffc,
					       &pkt), RSOFT_DROP_NONE);
	KUNIT_EXPECT_EQ(test, pkt.payload_len, 0xfffffffc - 16);
}

static void a_refused_packet_leaves_no_trace(struct kunit *test)
{
	struct rsoft_pkt pkt, before;
	u8 buf[RSOFT_HDR_MAX] = { 0 };

	memset(&before, FILL, sizeof(before));
	memcpy(&pkt, &before, sizeof(pkt));
	put_bth(buf, 0x0c, 0);
	KUNIT_EXPECT_EQ(test, rsoft_hdr_decode(buf, sizeof(buf), 36, &pkt),
			RSOFT_DROP_LENGTH);
	KUNIT_EXPECT_EQ(test, memcmp(&pkt, &before, sizeof(pkt)), 0);
}

static void reserved_bits_are_ignored(struct kunit *test)
{
	u8 buf[MODEL_BTH_LEN + MODEL_ICRC_LEN] = { 0 };
	struct rsoft_pkt pkt;

	put_bth(buf, 0x04, 0);
	buf[4] = 0x3f;
	buf[8] = 0x7f;
	KUNIT_EXPECT_EQ(test, rsoft_hdr_decode(buf, sizeof(buf), sizeof(buf),
					       &pkt), RSOFT_DROP_NONE);
	KUNIT_EXPECT_FALSE(test, pkt.fecn);
	KUNIT_EXPECT_FALSE(test, pkt.becn);
	KUNIT_EXPECT_FALSE(test, pkt.ackreq);
	KUNIT_EXPECT_EQ(test, pkt.qpn, 0x11);
	KUNIT_EXPECT_EQ(test, pkt.psn, 1);
}

/* Name of the first field of the BTH that differs, NULL when none does. */
static const char *bth_diff(const struct rsoft_pkt *a,
			    const struct rsoft_pkt *b)
{
	if (a->info != b->info)
		return "info";
	if (a->opcode != b->opcode)
		return "opcode";
	if (a->pad != b->pad)
		return "pad";
	if (a->solicited != b->solicited)
		return "solicited";
	if (a->mig != b->mig)
		return "mig";
	if (a->ackreq != b->ackreq)
		return "ackreq";
	if (a->fecn != b->fecn)
		return "fecn";
	if (a->becn != b->becn)
		return "becn";
	if (a->pkey != b->pkey)
		return "pkey";
	if (a->qpn != b->qpn)
		return "qpn";
	if (a->psn != b->psn)
		return "psn";
	if (a->hdr_len != b->hdr_len)
		return "hdr_len";
	if (a->payload_len != b->payload_len)
		return "payload_len";
	return NULL;
}

/* The same for all fields. */
static const char *pkt_diff(const struct rsoft_pkt *a,
			    const struct rsoft_pkt *b)
{
	if (a->va != b->va)
		return "va";
	if (a->rkey != b->rkey)
		return "rkey";
	if (a->dma_len != b->dma_len)
		return "dma_len";
	if (a->swap_add != b->swap_add)
		return "swap_add";
	if (a->compare != b->compare)
		return "compare";
	if (a->orig != b->orig)
		return "orig";
	if (a->qkey != b->qkey)
		return "qkey";
	if (a->sqpn != b->sqpn)
		return "sqpn";
	if (a->imm != b->imm)
		return "imm";
	if (a->inv_rkey != b->inv_rkey)
		return "inv_rkey";
	if (a->feth != b->feth)
		return "feth";
	if (a->syn != b->syn)
		return "syn";
	if (a->msn != b->msn)
		return "msn";
	return bth_diff(a, b);
}

struct golden {
	const char *name;
	u32 payload;
	u8 bytes[RSOFT_HDR_MAX];
	struct rsoft_pkt pkt;
};

static struct golden goldens[] = {
	{
		"SEND Only, all bits of the BTH", 5,
		{ 0x04, 0xf0, 0xff, 0xff, 0xc0, 0xab, 0xcd, 0xef,
		  0x80, 0x12, 0x34, 0x56 },
		{ .opcode = 0x04, .pad = 3, .solicited = true, .mig = true,
		  .fecn = true, .becn = true, .ackreq = true, .qpn = 0xabcdef,
		  .psn = 0x123456 },
	}, {
		"FECN alone", 0,
		{ 0x24, 0x40, 0xff, 0xff, 0x80, 0, 0, 1, 0, 0xff, 0xff, 0xff },
		{ .opcode = 0x24, .mig = true, .fecn = true, .qpn = 1,
		  .psn = 0xffffff },
	}, {
		"SEND Last with Invalidate", 4,
		{ 0x16, 0x80, 0xff, 0xff, 0, 0, 0, 2, 0, 0, 0, 3,
		  0xde, 0xad, 0xbe, 0xef },
		{ .opcode = 0x16, .solicited = true, .qpn = 2, .psn = 3,
		  .inv_rkey = 0xdeadbeef },
	}, {
		"WRITE Only with Immediate", 1,
		{ 0x0b, 0x30, 0xff, 0xff, 0, 0, 0, 2, 0x80, 0, 0, 3,
		  1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14,
		  0, 0, 0, 1, 0xa1, 0xa2, 0xa3, 0xa4 },
		{ .opcode = 0x0b, .pad = 3, .ackreq = true, .qpn = 2, .psn = 3,
		  .va = 0x0102030405060708, .rkey = 0x11121314, .dma_len = 1 },
	}, {
		"FLUSH", 0,
		{ 0x1c, 0, 0xff, 0xff, 0, 0, 0, 2, 0x80, 0, 0, 3,
		  0, 0, 0, 0x12, 1, 2, 3, 4, 5, 6, 7, 8,
		  0x11, 0x12, 0x13, 0x14, 0x80, 0, 0, 0 },
		{ .opcode = 0x1c, .ackreq = true, .qpn = 2, .psn = 3,
		  .feth = 0x12, .va = 0x0102030405060708, .rkey = 0x11121314,
		  .dma_len = 0x80000000 },
	}, {
		"COMPARE SWAP", 0,
		{ 0x13, 0, 0xff, 0xff, 0, 0, 0, 2, 0x80, 0, 0, 3,
		  0xf1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14,
		  0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
		  0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38 },
		{ .opcode = 0x13, .ackreq = true, .qpn = 2, .psn = 3,
		  .va = 0xf102030405060708, .rkey = 0x11121314,
		  .swap_add = 0x2122232425262728,
		  .compare = 0x3132333435363738 },
	}, {
		"ACK", 0,
		{ 0x11, 0, 0xff, 0xff, 0, 0, 0, 2, 0, 0, 0, 3,
		  0x1f, 0xfe, 0xdc, 0xba },
		{ .opcode = 0x11, .qpn = 2, .psn = 3, .syn = 0x1f,
		  .msn = 0xfedcba },
	}, {
		"ATOMIC ACK", 0,
		{ 0x12, 0, 0xff, 0xff, 0, 0, 0, 2, 0, 0, 0, 3,
		  0x60, 0, 0, 1, 0x91, 0x92, 0x93, 0x94,
		  0x95, 0x96, 0x97, 0x98 },
		{ .opcode = 0x12, .qpn = 2, .psn = 3, .syn = 0x60, .msn = 1,
		  .orig = 0x9192939495969798 },
	}, {
		"UD SEND Only with Immediate", 2,
		{ 0x65, 0x20, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 3,
		  0x80, 1, 0, 0, 0, 0x65, 0x43, 0x21, 0xa1, 0xa2, 0xa3, 0xa4 },
		{ .opcode = 0x65, .pad = 2, .qpn = 1, .psn = 3,
		  .qkey = 0x80010000, .sqpn = 0x654321 },
	}, {
		"CNP", 16,
		{ 0x81, 0, 0xff, 0xff, 0x40, 0, 0x01, 0x18, 0, 0, 0, 0 },
		{ .opcode = 0x81, .becn = true, .qpn = 0x118 },
	},
};

/* Fill in what every row has and what cannot be a constant. */
static const struct golden *golden_row(int i)
{
	struct golden *row = &goldens[i];
	const char *ext = model_op(row->pkt.opcode)->ext;

	row->pkt.info = rsoft_opinfo(row->pkt.opcode);
	row->pkt.pkey = 0xffff;
	row->pkt.hdr_len = MODEL_BTH_LEN + model_ext_len(ext);
	row->pkt.payload_len = row->payload;
	if (strchr(ext, 'I'))
		row->pkt.imm = cpu_to_be32(0xa1a2a3a4);
	return row;
}

static void decoded_fields_are_those_written_by_hand(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(goldens); i++) {
		const struct golden *row = golden_row(i);
		u32 len = row->pkt.hdr_len + row->payload + row->pkt.pad + 4;
		struct rsoft_pkt pkt;
		const char *diff;

		/* Headers that the packet has not must read as zero. */
		memset(&pkt, FILL, sizeof(pkt));
		KUNIT_ASSERT_EQ_MSG(test,
				    rsoft_hdr_decode(row->bytes,
						     min_t(u32, len,
							   RSOFT_HDR_MAX),
						     len, &pkt),
				    RSOFT_DROP_NONE, "%s", row->name);
		diff = pkt_diff(&pkt, &row->pkt);
		KUNIT_ASSERT_TRUE_MSG(test, !diff, "%s: %s", row->name, diff);
	}
}

static void encoded_bytes_are_those_written_by_hand(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(goldens); i++) {
		const struct golden *row = golden_row(i);
		u8 buf[RSOFT_HDR_MAX];
		u32 n;

		memset(buf, FILL, sizeof(buf));
		n = rsoft_hdr_encode(buf, &row->pkt);
		KUNIT_ASSERT_EQ_MSG(test, n, row->pkt.hdr_len, "%s", row->name);
		KUNIT_ASSERT_EQ_MSG(test, memcmp(buf, row->bytes, n), 0, "%s",
				    row->name);
		for (; n < sizeof(buf); n++)
			KUNIT_ASSERT_EQ_MSG(test, buf[n], FILL, "%s: byte %u",
					    row->name, n);
	}
}

static void random_fields(struct rsoft_pkt *pkt, u64 *seed)
{
	u32 bits = model_random(seed);

	pkt->solicited = bits & 1;
	pkt->mig = bits & 2;
	pkt->ackreq = bits & 4;
	pkt->fecn = bits & 8;
	pkt->becn = bits & 16;
	pkt->syn = bits >> 8;
	pkt->qpn = model_random(seed) & 0xffffff;
	pkt->psn = model_random(seed) & 0xffffff;
	pkt->va = (u64)model_random(seed) << 32 | model_random(seed);
	pkt->rkey = model_random(seed);
	pkt->dma_len = model_random(seed);
	pkt->swap_add = (u64)model_random(seed) << 32 | model_random(seed);
	pkt->compare = (u64)model_random(seed) << 32 | model_random(seed);
	pkt->orig = (u64)model_random(seed) << 32 | model_random(seed);
	pkt->qkey = model_random(seed);
	pkt->sqpn = model_random(seed) & 0xffffff;
	pkt->imm = cpu_to_be32(model_random(seed));
	pkt->inv_rkey = model_random(seed);
	pkt->feth = model_random(seed) & 0x3f;
	pkt->msn = model_random(seed) & 0xffffff;
}

/* Headers that the opcode does not have come back as zero. */
static void drop_absent(struct rsoft_pkt *pkt, const char *ext)
{
	if (!strpbrk(ext, "RX")) {
		pkt->va = 0;
		pkt->rkey = 0;
	}
	if (!strchr(ext, 'R'))
		pkt->dma_len = 0;
	if (!strchr(ext, 'X')) {
		pkt->swap_add = 0;
		pkt->compare = 0;
	}
	if (!strchr(ext, 'C'))
		pkt->orig = 0;
	if (!strchr(ext, 'D')) {
		pkt->qkey = 0;
		pkt->sqpn = 0;
	}
	if (!strchr(ext, 'I'))
		pkt->imm = 0;
	if (!strchr(ext, 'V'))
		pkt->inv_rkey = 0;
	if (!strchr(ext, 'F'))
		pkt->feth = 0;
	if (!strchr(ext, 'A')) {
		pkt->syn = 0;
		pkt->msn = 0;
	}
}

static void each_opcode_survives_a_round_trip(struct kunit *test)
{
	u64 seed = 3;
	u32 i, round;

	for (i = 0; i < model_nops * 200; i++) {
		const struct model_op *op = &model_ops[i % model_nops];
		struct rsoft_pkt in = { .opcode = op->opcode, .pkey = 0xffff };
		struct rsoft_pkt out;
		u8 buf[RSOFT_HDR_MAX];
		const char *diff;
		u32 len = good_len(op);

		round = i / model_nops;
		in.info = rsoft_opinfo(op->opcode);
		random_fields(&in, &seed);
		if (op->payload == MODEL_ANY) {
			in.payload_len = round;
			in.pad = rsoft_pad(round);
			len += in.payload_len + in.pad;
		} else {
			in.payload_len = len - in.info->hdr_len - 4;
		}
		in.hdr_len = rsoft_hdr_encode(buf, &in);
		KUNIT_ASSERT_EQ(test, rsoft_hdr_decode(buf, in.hdr_len, len,
						       &out), RSOFT_DROP_NONE);
		drop_absent(&in, op->ext);
		diff = pkt_diff(&in, &out);
		if (diff) {
			KUNIT_FAIL(test, "opcode %x: %s", op->opcode, diff);
			return;
		}
	}
}

static void fields_too_wide_do_not_reach_their_neighbours(struct kunit *test)
{
	struct rsoft_pkt pkt = {
		.opcode = 0x65, .pad = 0xff, .pkey = 0xffff, .qpn = U32_MAX,
		.psn = U32_MAX, .sqpn = U32_MAX,
	};
	u8 buf[RSOFT_HDR_MAX];

	pkt.info = rsoft_opinfo(pkt.opcode);
	rsoft_hdr_encode(buf, &pkt);
	KUNIT_EXPECT_EQ(test, buf[1], 0x30);
	KUNIT_EXPECT_EQ(test, buf[4], 0);
	KUNIT_EXPECT_EQ(test, buf[8], 0);
	KUNIT_EXPECT_EQ(test, buf[16], 0);

	pkt.opcode = 0x11;
	pkt.info = rsoft_opinfo(pkt.opcode);
	pkt.syn = 0x1f;
	pkt.msn = U32_MAX;
	rsoft_hdr_encode(buf, &pkt);
	KUNIT_EXPECT_EQ(test, buf[12], 0x1f);
}

static void peek_reads_opcode_and_qpn(struct kunit *test)
{
	static const u8 bth[MODEL_BTH_LEN] = {
		0x9e, 0xff, 0, 0, 0xff, 0x12, 0x34, 0x56,
	};
	u8 opcode = 0;

	KUNIT_EXPECT_EQ(test, rsoft_hdr_peek(bth, &opcode), 0x123456);
	KUNIT_EXPECT_EQ(test, opcode, 0x9e);
}

static void pad_completes_four_bytes(struct kunit *test)
{
	static const u8 want[] = { 0, 3, 2, 1, 0, 3, 2, 1, 0 };
	u32 len;

	for (len = 0; len < ARRAY_SIZE(want); len++)
		KUNIT_ASSERT_EQ_MSG(test, rsoft_pad(len), want[len], "len %u",
				    len);
	KUNIT_EXPECT_EQ(test, rsoft_pad(0x80000000), 0);
	KUNIT_EXPECT_EQ(test, rsoft_pad(U32_MAX), 1);
}

static struct kunit_case hdr_cases[] = {
	KUNIT_CASE(each_opcode_length_and_pad_gets_its_verdict),
	KUNIT_CASE(random_packets_get_the_verdict_of_the_model),
	KUNIT_CASE(what_is_not_readable_is_not_decoded),
	KUNIT_CASE(each_other_version_is_refused),
	KUNIT_CASE(each_other_pkey_is_refused),
	KUNIT_CASE(the_first_broken_rule_is_reported),
	KUNIT_CASE(a_length_near_the_top_does_not_wrap),
	KUNIT_CASE(a_refused_packet_leaves_no_trace),
	KUNIT_CASE(reserved_bits_are_ignored),
	KUNIT_CASE(decoded_fields_are_those_written_by_hand),
	KUNIT_CASE(encoded_bytes_are_those_written_by_hand),
	KUNIT_CASE(each_opcode_survives_a_round_trip),
	KUNIT_CASE(fields_too_wide_do_not_reach_their_neighbours),
	KUNIT_CASE(peek_reads_opcode_and_qpn),
	KUNIT_CASE(pad_completes_four_bytes),
	{}
};

static struct kunit_suite hdr_suite = {
	.name = "rdma_soft_hdr",
	.test_cases = hdr_cases,
};

kunit_test_suite(hdr_suite);
