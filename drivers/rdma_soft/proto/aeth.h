/* SPDX-License-Identifier: GPL-2.0 */
/*
 * AETH syndromes, credits, RNR and time-out encodings (IBTA 9.7.5.1.2 to
 * 9.7.5.2.8, tables 45 to 47; 9.7.6.1.3).
 */
#ifndef RSOFT_PROTO_AETH_H
#define RSOFT_PROTO_AETH_H

#include "types.h"

#define RSOFT_MSN_MASK 0xffffffu

enum rsoft_syn_type {
	RSOFT_SYN_ACK	= 0x00,
	RSOFT_SYN_RNR	= 0x20,
	RSOFT_SYN_RSVD	= 0x40,
	RSOFT_SYN_NAK	= 0x60,
};

#define RSOFT_SYN_TYPE_MASK	0xe0	/* with the reserved top bit */
#define RSOFT_SYN_VALUE_MASK	0x1f
#define RSOFT_CREDITS_INVALID	0x1f

/* Values of a NAK syndrome. */
enum rsoft_nak {
	RSOFT_NAK_PSN		= 0,	/* PSN sequence error */
	RSOFT_NAK_INV_REQ	= 1,	/* invalid request */
	RSOFT_NAK_REM_ACCESS	= 2,	/* remote access error */
	RSOFT_NAK_REM_OP	= 3,	/* remote operational error */
	RSOFT_NAK_INV_RD	= 4,	/* invalid RD request */
};

/**
 * rsoft_rnr_ns() - wait time of an RNR timer field
 * @enc: 5-bit field of an RNR NAK
 *
 * Return: nanoseconds; field 0 is 655.36 ms, 1 is 0.01 ms (IBTA table 46).
 */
u64 rsoft_rnr_ns(u8 enc);

/**
 * rsoft_ack_timeout_ns() - Local ACK Timeout
 * @enc: 5-bit attribute of the QP
 *
 * Return: 4.096 us * 2^@enc in nanoseconds, 0 for @enc 0 (never expires).
 */
u64 rsoft_ack_timeout_ns(u8 enc);

/**
 * rsoft_credits_encode() - credit count as a 5-bit field
 * @credits: receive WQEs that are free
 *
 * Return: the largest encodable count that is not above @credits (table 47),
 * 0..0x1e.
 */
u8 rsoft_credits_encode(u32 credits);

/**
 * rsoft_credits_decode() - credit field as a count
 * @enc: 5-bit field
 *
 * Return: credits, U32_MAX for the value that says "no flow control".
 */
u32 rsoft_credits_decode(u8 enc);

#endif
