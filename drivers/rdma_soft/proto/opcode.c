// SPDX-License-Identifier: GPL-2.0
/*
 * The opcode table: every other file asks it what a packet is, none compares
 * opcode ranges. A row that is not named here has kind NONE and is refused by
 * the decoder.
 */
#include "opcode.h"

#define BTH_LEN		12

/* Header sets with their length: each row below names one of them. */
#define H_NONE		.hdr_len = BTH_LEN
#define H_IMM		.hdrs = RSOFT_HDR_IMMDT, .hdr_len = BTH_LEN + 4
#define H_INV		.hdrs = RSOFT_HDR_IETH, .hdr_len = BTH_LEN + 4
#define H_RETH		.hdrs = RSOFT_HDR_RETH, .hdr_len = BTH_LEN + 16
#define H_RETH_IMM	.hdrs = RSOFT_HDR_RETH | RSOFT_HDR_IMMDT, \
			.hdr_len = BTH_LEN + 16 + 4
#define H_FLUSH		.hdrs = RSOFT_HDR_FETH | RSOFT_HDR_RETH, \
			.hdr_len = BTH_LEN + 4 + 16
#define H_ATOMIC	.hdrs = RSOFT_HDR_ATOMICETH, .hdr_len = BTH_LEN + 28
#define H_AETH		.hdrs = RSOFT_HDR_AETH, .hdr_len = BTH_LEN + 4
#define H_ATOMIC_ACK	.hdrs = RSOFT_HDR_AETH | RSOFT_HDR_ATOMICACK, \
			.hdr_len = BTH_LEN + 4 + 8
#define H_UD		.hdrs = RSOFT_HDR_DETH, .hdr_len = BTH_LEN + 8
#define H_UD_IMM	.hdrs = RSOFT_HDR_DETH | RSOFT_HDR_IMMDT, \
			.hdr_len = BTH_LEN + 8 + 4

/* Places in a message, all with payload. */
#define F_FIRST		(RSOFT_PKT_START | RSOFT_PKT_PAYLOAD)
#define F_MIDDLE	RSOFT_PKT_PAYLOAD
#define F_LAST		(RSOFT_PKT_END | RSOFT_PKT_PAYLOAD)
#define F_ONLY		(F_FIRST | F_LAST)
#define F_RQE		RSOFT_PKT_RQE
/* A packet without payload is a message of its own. */
#define F_BARE		(RSOFT_PKT_START | RSOFT_PKT_END)
#define F_RESP		RSOFT_PKT_RESPONSE

#define ROW(transport, op, knd, place, ...) \
	[RSOFT_##transport | RSOFT_OP_##op] = { \
		.kind = RSOFT_KIND_##knd, .flags = (place), __VA_ARGS__ \
	}

#define RESERVED { .kind = RSOFT_KIND_RESERVED, .flags = F_MIDDLE, H_NONE }

static const struct rsoft_opinfo opinfo_table[256] = {
	ROW(RC, SEND_FIRST, SEND, F_FIRST, H_NONE),
	ROW(RC, SEND_MIDDLE, SEND, F_MIDDLE, H_NONE),
	ROW(RC, SEND_LAST, SEND, F_LAST | F_RQE, H_NONE),
	ROW(RC, SEND_LAST_IMM, SEND, F_LAST | F_RQE, H_IMM),
	ROW(RC, SEND_ONLY, SEND, F_ONLY | F_RQE, H_NONE),
	ROW(RC, SEND_ONLY_IMM, SEND, F_ONLY | F_RQE, H_IMM),
	ROW(RC, WRITE_FIRST, WRITE, F_FIRST, H_RETH),
	ROW(RC, WRITE_MIDDLE, WRITE, F_MIDDLE, H_NONE),
	ROW(RC, WRITE_LAST, WRITE, F_LAST, H_NONE),
	ROW(RC, WRITE_LAST_IMM, WRITE, F_LAST | F_RQE, H_IMM),
	ROW(RC, WRITE_ONLY, WRITE, F_ONLY, H_RETH),
	ROW(RC, WRITE_ONLY_IMM, WRITE, F_ONLY | F_RQE, H_RETH_IMM),
	ROW(RC, READ_REQ, READ, F_BARE, H_RETH),
	ROW(RC, READ_RESP_FIRST, READ_RESP, F_FIRST | F_RESP, H_AETH),
	ROW(RC, READ_RESP_MIDDLE, READ_RESP, F_MIDDLE | F_RESP, H_NONE),
	ROW(RC, READ_RESP_LAST, READ_RESP, F_LAST | F_RESP, H_AETH),
	ROW(RC, READ_RESP_ONLY, READ_RESP, F_ONLY | F_RESP, H_AETH),
	ROW(RC, ACK, ACK, F_BARE | F_RESP, H_AETH),
	ROW(RC, ATOMIC_ACK, ATOMIC_ACK, F_BARE | F_RESP, H_ATOMIC_ACK),
	ROW(RC, COMPARE_SWAP, ATOMIC, F_BARE, H_ATOMIC),
	ROW(RC, FETCH_ADD, ATOMIC, F_BARE, H_ATOMIC),
	ROW(RC, SEND_LAST_INV, SEND, F_LAST | F_RQE, H_INV),
	ROW(RC, SEND_ONLY_INV, SEND, F_ONLY | F_RQE, H_INV),
	ROW(RC, FLUSH, FLUSH, F_BARE, H_FLUSH),
	ROW(RC, ATOMIC_WRITE, ATOMIC_WRITE, F_ONLY, H_RETH),

	/* A NAK says that these are not served (IBTA 9.7.5.2.2). */
	[RSOFT_RC | 0x15] = RESERVED,
	[RSOFT_RC | 0x18] = RESERVED,
	[RSOFT_RC | 0x19] = RESERVED,
	[RSOFT_RC | 0x1a] = RESERVED,
	[RSOFT_RC | 0x1b] = RESERVED,
	[RSOFT_RC | 0x1e] = RESERVED,
	[RSOFT_RC | 0x1f] = RESERVED,

	ROW(UC, SEND_FIRST, SEND, F_FIRST, H_NONE),
	ROW(UC, SEND_MIDDLE, SEND, F_MIDDLE, H_NONE),
	ROW(UC, SEND_LAST, SEND, F_LAST | F_RQE, H_NONE),
	ROW(UC, SEND_LAST_IMM, SEND, F_LAST | F_RQE, H_IMM),
	ROW(UC, SEND_ONLY, SEND, F_ONLY | F_RQE, H_NONE),
	ROW(UC, SEND_ONLY_IMM, SEND, F_ONLY | F_RQE, H_IMM),
	ROW(UC, WRITE_FIRST, WRITE, F_FIRST, H_RETH),
	ROW(UC, WRITE_MIDDLE, WRITE, F_MIDDLE, H_NONE),
	ROW(UC, WRITE_LAST, WRITE, F_LAST, H_NONE),
	ROW(UC, WRITE_LAST_IMM, WRITE, F_LAST | F_RQE, H_IMM),
	ROW(UC, WRITE_ONLY, WRITE, F_ONLY, H_RETH),
	ROW(UC, WRITE_ONLY_IMM, WRITE, F_ONLY | F_RQE, H_RETH_IMM),

	ROW(UD, SEND_ONLY, SEND, F_ONLY | F_RQE, H_UD),
	ROW(UD, SEND_ONLY_IMM, SEND, F_ONLY | F_RQE, H_UD_IMM),

	/* Its 16 reserved bytes count as payload. */
	[RSOFT_OPCODE_CNP] = {
		.kind = RSOFT_KIND_CNP, .flags = F_ONLY, H_NONE
	},
};

const struct rsoft_opinfo *rsoft_opinfo(u8 opcode)
{
	return &opinfo_table[opcode];
}

bool rsoft_seq_next(enum rsoft_seq cur, const struct rsoft_opinfo *info,
		    enum rsoft_seq *next)
{
	enum rsoft_seq own = RSOFT_SEQ_IDLE;

	switch (info->kind) {
	case RSOFT_KIND_SEND:
		own = RSOFT_SEQ_SEND;
		break;
	case RSOFT_KIND_WRITE:
		own = RSOFT_SEQ_WRITE;
		break;
	case RSOFT_KIND_READ:
	case RSOFT_KIND_ATOMIC:
	case RSOFT_KIND_ATOMIC_WRITE:
	case RSOFT_KIND_FLUSH:
		break;
	default:
		return false;
	}

	/* A start needs the gap between messages, the rest its own message. */
	if (cur != (info->flags & RSOFT_PKT_START ? RSOFT_SEQ_IDLE : own))
		return false;

	*next = info->flags & RSOFT_PKT_END ? RSOFT_SEQ_IDLE : own;
	return true;
}
