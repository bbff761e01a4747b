/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Invariant CRC of RoCEv2 (IBTA annex A17.3.3): CRC-32 over eight bytes of
 * ones, the IP and UDP headers with their variant fields set to ones, the BTH
 * with its variant byte set to ones, everything behind, pad included.
 */
#ifndef RSOFT_PROTO_ICRC_H
#define RSOFT_PROTO_ICRC_H

#include "hdr.h"
#include "types.h"

/**
 * struct rsoft_flow - the invariant fields of the outer headers
 * @ipv6: addresses are IPv6
 * @saddr: source; IPv4 in the first four bytes
 * @daddr: destination; IPv4 in the first four bytes
 * @sport: UDP source port
 * @dport: UDP destination port
 * @frag_off: IPv4 flags and fragment offset as on the wire (DF)
 */
struct rsoft_flow {
	bool	ipv6;
	u8	saddr[16];
	u8	daddr[16];
	__be16	sport;
	__be16	dport;
	__be16	frag_off;
};

/* Bytes that rsoft_icrc_pseudo() writes at most: 8 + IPv6 + UDP + BTH. */
#define RSOFT_ICRC_PSEUDO_MAX (8 + 40 + 8 + 12)

/**
 * rsoft_icrc_pseudo() - the bytes that the iCRC covers up to the BTH
 * @out: room for RSOFT_ICRC_PSEUDO_MAX bytes
 * @flow: outer headers
 * @ip_id: IPv4 ID of this packet, host order; not used with IPv6
 * @len: bytes from BTH to iCRC, both included
 * @bth: the 12 bytes of the BTH as on the wire
 *
 * The CRC state starts at ~0 over these bytes and goes on over the rest of
 * the packet without the iCRC itself; its complement, little endian, is the
 * iCRC.
 *
 * Return: bytes written: 48 for IPv4, 68 for IPv6.
 */
u32 rsoft_icrc_pseudo(u8 *out, const struct rsoft_flow *flow, u16 ip_id,
		      u32 len, const u8 *bth);

/**
 * rsoft_icrc_final() - CRC state to the value of the iCRC field
 * @crc: CRC state after the last covered byte
 *
 * Return: the field, little endian on the wire on every CPU.
 */
static inline __le32 rsoft_icrc_final(u32 crc)
{
	return cpu_to_le32(~crc);
}

#endif
