/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 as the invariant CRC needs it, in the fastest way this kernel has.
 */
#ifndef RSOFT_CRC_H
#define RSOFT_CRC_H

#include <linux/types.h>

#include "proto/icrc.h"

/* Bytes from which on the vector registers are worth the trouble. */
#define RSOFT_CRC_FAST_MIN 80

extern struct rsoft_icrc_tab rsoft_icrc_tab;

/**
 * rsoft_crc_init() - find out what computes fastest, compute tables
 *
 * Context: module init.
 */
void rsoft_crc_init(void);

/**
 * rsoft_crc_enter() - begin a stretch of CRC work
 * @len: bytes that it will be about
 *
 * Saves what it costs to use vector registers once for several calls. Nothing
 * that may use them itself (the network stack, crypto) may be called before
 * rsoft_crc_leave(); nor may the caller sleep.
 *
 * Context: any.
 *
 * Return: what to pass on to the functions below.
 */
bool rsoft_crc_enter(size_t len);

/**
 * rsoft_crc_leave() - end a stretch of CRC work
 * @fast: from rsoft_crc_enter()
 */
void rsoft_crc_leave(bool fast);

/**
 * rsoft_crc_add() - go on with a CRC-32 (little endian, as crc32_le())
 * @fast: from rsoft_crc_enter(), or false
 * @crc: state so far; the first call gets ~0
 * @p: bytes
 * @len: number of bytes
 *
 * Context: any.
 *
 * Return: the state, not inverted.
 */
u32 rsoft_crc_add(bool fast, u32 crc, const void *p, size_t len);

/**
 * rsoft_crc_copy() - copy bytes, and go on with a CRC-32 over the copy
 * @fast: from rsoft_crc_enter(), or false
 * @crc: state so far
 * @to: where the bytes go
 * @from: bytes; each is read once, so that what somebody else writes there
 *        meanwhile is either in both copy and CRC or in neither
 * @len: number of bytes
 *
 * Context: any.
 *
 * Return: the state, not inverted.
 */
u32 rsoft_crc_copy(bool fast, u32 crc, void *to, const void *from, size_t len);

/**
 * rsoft_crc_alike() - iCRC state behind the BTH of packets that are alike
 * @base: from rsoft_crc_base(), for their length
 * @bth: the BTH of one of them; AckReq and PSN are not looked at
 *
 * Return: what rsoft_icrc_like() needs.
 */
u32 rsoft_crc_alike(u32 base, const u8 *bth);

/**
 * rsoft_crc_flow() - iCRC state in front of the BTH, but for ID and lengths
 * @flow: outer headers
 *
 * Context: any.
 *
 * Return: what rsoft_crc_of_len() needs.
 */
u32 rsoft_crc_flow(const struct rsoft_flow *flow);

/**
 * rsoft_crc_of_len() - iCRC state in front of the BTH, but for the IPv4 ID
 * @state: from rsoft_crc_flow()
 * @ipv6: the flow is IPv6
 * @len: bytes from BTH to iCRC, both included
 *
 * Return: what rsoft_icrc_start() needs.
 */
static inline u32 rsoft_crc_of_len(u32 state, bool ipv6, u32 len)
{
	return state ^ rsoft_icrc_len(&rsoft_icrc_tab, ipv6, len);
}

/**
 * rsoft_crc_base() - iCRC state in front of the BTH, but for the IPv4 ID
 * @flow: outer headers
 * @len: bytes from BTH to iCRC, both included
 *
 * Each CPU remembers the flows that it saw last.
 *
 * Context: BH disabled.
 *
 * Return: what rsoft_icrc_start() needs.
 */
u32 rsoft_crc_base(const struct rsoft_flow *flow, u32 len);

#endif
