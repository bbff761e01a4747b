/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 24-bit packet sequence numbers (IBTA 9.7.1): serial arithmetic modulo 2^24.
 */
#ifndef RSOFT_PROTO_PSN_H
#define RSOFT_PROTO_PSN_H

#include "types.h"

#define RSOFT_PSN_MASK 0xffffffu

/**
 * rsoft_psn_add() - advance a PSN
 * @psn: start
 * @n: packets
 *
 * Return: the PSN @n packets later, wrapped to 24 bits.
 */
static inline u32 rsoft_psn_add(u32 psn, u32 n)
{
	return (psn + n) & RSOFT_PSN_MASK;
}

/**
 * rsoft_psn_diff() - signed distance between two PSNs
 * @a: PSN
 * @b: PSN
 *
 * Return: @a - @b in [-2^23, 2^23): negative if @a is before @b.
 */
static inline s32 rsoft_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

/**
 * rsoft_psn_in() - is a PSN in a closed range
 * @psn: the PSN
 * @first: first PSN of the range
 * @last: last PSN of the range; the range holds less than 2^23 PSNs
 *
 * Return: true if @first <= @psn <= @last in serial order.
 */
static inline bool rsoft_psn_in(u32 psn, u32 first, u32 last)
{
	return rsoft_psn_diff(psn, first) >= 0 &&
	       rsoft_psn_diff(psn, last) <= 0;
}

#endif
