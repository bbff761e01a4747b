/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A message and its packets: how many, which opcode, how long (IBTA 9.7.2).
 */
#ifndef RSOFT_PROTO_SEGMENT_H
#define RSOFT_PROTO_SEGMENT_H

#include "opcode.h"
#include "types.h"

/**
 * rsoft_npkts() - packets of a message
 * @len: message bytes, at most 2^31
 * @mtu_shift: log2 of the path MTU, 8..12
 *
 * Return: packets, 1 for an empty message.
 */
static inline u32 rsoft_npkts(u32 len, u8 mtu_shift)
{
	return len ? (u32)(((u64)len + (1u << mtu_shift) - 1) >> mtu_shift) : 1;
}

/**
 * rsoft_pkt_len() - payload of one packet of a message
 * @len: message bytes
 * @index: which packet, from 0
 * @mtu_shift: log2 of the path MTU
 *
 * Return: payload bytes of packet @index.
 */
static inline u32 rsoft_pkt_len(u32 len, u32 index, u8 mtu_shift)
{
	u64 off = (u64)index << mtu_shift;
	u64 left = len > off ? len - off : 0;

	return left < (1u << mtu_shift) ? (u32)left : 1u << mtu_shift;
}

/* The tail of a message: what its last packet carries beside payload. */
enum rsoft_tail {
	RSOFT_TAIL_PLAIN,
	RSOFT_TAIL_IMM,
	RSOFT_TAIL_INV,
};

/**
 * rsoft_seg_opcode() - lower five opcode bits of one packet of a message
 * @kind: RSOFT_KIND_SEND, RSOFT_KIND_WRITE or RSOFT_KIND_READ_RESP
 * @tail: what the last packet carries; INV only with SEND, PLAIN with
 *        READ_RESP
 * @first: packet is the first of the message
 * @last: packet is the last of the message
 *
 * Return: an enum rsoft_op.
 */
u8 rsoft_seg_opcode(enum rsoft_kind kind, enum rsoft_tail tail, bool first,
		    bool last);

/**
 * rsoft_seg_len_ok() - may a request packet have this payload (IBTA 9.7.4.1.6)
 * @info: row of the packet
 * @payload: payload bytes of the packet
 * @mtu: path MTU in bytes
 *
 * FIRST and MIDDLE carry exactly one MTU, LAST 1..MTU, ONLY 0..MTU.
 *
 * Return: true if allowed.
 */
bool rsoft_seg_len_ok(const struct rsoft_opinfo *info, u32 payload, u32 mtu);

#endif
