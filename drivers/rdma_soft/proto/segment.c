// SPDX-License-Identifier: GPL-2.0
/*
 * Cutting messages into packets on the way out, and the length rule that a
 * responder holds the packets of its peer against.
 */
#include "segment.h"

static u8 send_opcode(enum rsoft_tail tail, bool first)
{
	switch (tail) {
	case RSOFT_TAIL_IMM:
		return first ? RSOFT_OP_SEND_ONLY_IMM : RSOFT_OP_SEND_LAST_IMM;
	case RSOFT_TAIL_INV:
		return first ? RSOFT_OP_SEND_ONLY_INV : RSOFT_OP_SEND_LAST_INV;
	default:
		return first ? RSOFT_OP_SEND_ONLY : RSOFT_OP_SEND_LAST;
	}
}

static u8 write_opcode(enum rsoft_tail tail, bool first)
{
	if (tail == RSOFT_TAIL_IMM)
		return first ? RSOFT_OP_WRITE_ONLY_IMM :
			       RSOFT_OP_WRITE_LAST_IMM;
	return first ? RSOFT_OP_WRITE_ONLY : RSOFT_OP_WRITE_LAST;
}

u8 rsoft_seg_opcode(enum rsoft_kind kind, enum rsoft_tail tail, bool first,
		    bool last)
{
	switch (kind) {
	case RSOFT_KIND_WRITE:
		if (last)
			return write_opcode(tail, first);
		return first ? RSOFT_OP_WRITE_FIRST : RSOFT_OP_WRITE_MIDDLE;
	case RSOFT_KIND_READ_RESP:
		if (last)
			return first ? RSOFT_OP_READ_RESP_ONLY :
				       RSOFT_OP_READ_RESP_LAST;
		return first ? RSOFT_OP_READ_RESP_FIRST :
			       RSOFT_OP_READ_RESP_MIDDLE;
	default:
		if (last)
			return send_opcode(tail, first);
		return first ? RSOFT_OP_SEND_FIRST : RSOFT_OP_SEND_MIDDLE;
	}
}

bool rsoft_seg_len_ok(const struct rsoft_opinfo *info, u32 payload, u32 mtu)
{
	if (!(info->flags & RSOFT_PKT_END))
		return payload == mtu;
	if (!(info->flags & RSOFT_PKT_START) && !payload)
		return false;
	return payload <= mtu;
}
