/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BTH opcodes (IBTA 1.4, 9.2.1 and table 38): what each packet carries and
 * where it may stand in a message.
 */
#ifndef RSOFT_PROTO_OPCODE_H
#define RSOFT_PROTO_OPCODE_H

#include "types.h"

/* Upper three bits of a BTH opcode. */
enum rsoft_transport {
	RSOFT_RC = 0x00,
	RSOFT_UC = 0x20,
	RSOFT_UD = 0x60,
};

#define RSOFT_TRANSPORT_MASK 0xe0

/* Lower five bits of a BTH opcode. */
enum rsoft_op {
	RSOFT_OP_SEND_FIRST		= 0x00,
	RSOFT_OP_SEND_MIDDLE		= 0x01,
	RSOFT_OP_SEND_LAST		= 0x02,
	RSOFT_OP_SEND_LAST_IMM		= 0x03,
	RSOFT_OP_SEND_ONLY		= 0x04,
	RSOFT_OP_SEND_ONLY_IMM		= 0x05,
	RSOFT_OP_WRITE_FIRST		= 0x06,
	RSOFT_OP_WRITE_MIDDLE		= 0x07,
	RSOFT_OP_WRITE_LAST		= 0x08,
	RSOFT_OP_WRITE_LAST_IMM		= 0x09,
	RSOFT_OP_WRITE_ONLY		= 0x0a,
	RSOFT_OP_WRITE_ONLY_IMM		= 0x0b,
	RSOFT_OP_READ_REQ		= 0x0c,
	RSOFT_OP_READ_RESP_FIRST	= 0x0d,
	RSOFT_OP_READ_RESP_MIDDLE	= 0x0e,
	RSOFT_OP_READ_RESP_LAST		= 0x0f,
	RSOFT_OP_READ_RESP_ONLY		= 0x10,
	RSOFT_OP_ACK			= 0x11,
	RSOFT_OP_ATOMIC_ACK		= 0x12,
	RSOFT_OP_COMPARE_SWAP		= 0x13,
	RSOFT_OP_FETCH_ADD		= 0x14,
	RSOFT_OP_SEND_LAST_INV		= 0x16,
	RSOFT_OP_SEND_ONLY_INV		= 0x17,
	RSOFT_OP_FLUSH			= 0x1c,
	RSOFT_OP_ATOMIC_WRITE		= 0x1d,
};

#define RSOFT_OPCODE_CNP 0x81

/* What a packet belongs to; the engines dispatch on it. */
enum rsoft_kind {
	RSOFT_KIND_NONE,	/* not a defined opcode */
	RSOFT_KIND_SEND,
	RSOFT_KIND_WRITE,
	RSOFT_KIND_READ,
	RSOFT_KIND_ATOMIC,
	RSOFT_KIND_ATOMIC_WRITE,
	RSOFT_KIND_FLUSH,
	RSOFT_KIND_READ_RESP,
	RSOFT_KIND_ACK,
	RSOFT_KIND_ATOMIC_ACK,
	RSOFT_KIND_CNP,
	RSOFT_KIND_RESERVED,	/* RC answers what it does not define */
};

/* Extension headers, in the order in which they follow the BTH. */
#define RSOFT_HDR_DETH		BIT(0)
#define RSOFT_HDR_FETH		BIT(1)
#define RSOFT_HDR_RETH		BIT(2)
#define RSOFT_HDR_ATOMICETH	BIT(3)
#define RSOFT_HDR_AETH		BIT(4)
#define RSOFT_HDR_ATOMICACK	BIT(5)
#define RSOFT_HDR_IMMDT		BIT(6)
#define RSOFT_HDR_IETH		BIT(7)

/* Place in the message and role. */
#define RSOFT_PKT_START		BIT(0)	/* FIRST or ONLY */
#define RSOFT_PKT_END		BIT(1)	/* LAST or ONLY */
#define RSOFT_PKT_RESPONSE	BIT(2)	/* goes to the requester */
#define RSOFT_PKT_PAYLOAD	BIT(3)	/* may carry payload */
#define RSOFT_PKT_RQE		BIT(4)	/* consumes a receive WQE at its end */

/**
 * struct rsoft_opinfo - one row of the opcode table
 * @kind: what the packet is, RSOFT_KIND_NONE for an undefined opcode
 * @hdrs: RSOFT_HDR_* that follow the BTH
 * @flags: RSOFT_PKT_*
 * @hdr_len: bytes of BTH and extension headers
 */
struct rsoft_opinfo {
	u8 kind;
	u8 hdrs;
	u8 flags;
	u8 hdr_len;
};

/**
 * rsoft_opinfo() - look up a BTH opcode
 * @opcode: the whole opcode byte of the BTH
 *
 * Return: the row; its kind is RSOFT_KIND_NONE for each undefined opcode.
 * Never NULL: the table has 256 rows (list report on an undefined opcode that
 * selected a row of zeros).
 */
const struct rsoft_opinfo *rsoft_opinfo(u8 opcode);

/* Where a receiver is in a multi-packet message. */
enum rsoft_seq {
	RSOFT_SEQ_IDLE,		/* between messages */
	RSOFT_SEQ_SEND,		/* a SEND was started */
	RSOFT_SEQ_WRITE,	/* a WRITE was started */
};

/**
 * rsoft_seq_next() - is this packet allowed at this place (IBTA 9.7.4.1.2)
 * @cur: where the responder is
 * @info: row of the packet, a request
 * @next: set to the state after the packet if it is allowed
 *
 * Return: true if the packet may come now.
 */
bool rsoft_seq_next(enum rsoft_seq cur, const struct rsoft_opinfo *info,
		    enum rsoft_seq *next);

#endif
