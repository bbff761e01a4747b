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

/* CRC state after some bytes: crc32_le() or a table of one's own. */
typedef u32 (*rsoft_crc_fn)(u32 crc, const u8 *p, size_t len);

/**
 * struct rsoft_icrc_tab - what single bytes add to the CRC state
 * @id: high and low byte of the IPv4 ID, to the state in front of the BTH
 * @udp_len: high and low byte of the UDP length, to the state before the BTH
 * @ip_len: high and low byte of the length of IPv4 and IPv6, to the same
 * @variant: byte 4 of the BTH, to make it count as all ones
 * @id_bth: as @id, to the state behind the BTH
 * @psn: the three bytes of the PSN, to the state behind the BTH
 *
 * A CRC is linear: the state in front of the BTH is that for ID 0 plus what the
 * ID adds, so that of all packets of a flow and length only the ID's two bytes
 * are looked up. And a state can be changed so that a byte that follows counts
 * as another: the packet's bytes are then taken as they are.
 */
struct rsoft_icrc_tab {
	u32 id[2][256];
	u32 udp_len[2][256];
	u32 ip_len[2][2][256];
	u32 variant[256];
	u32 id_bth[2][256];
	u32 psn[3][256];
};

/**
 * rsoft_icrc_tab_init() - compute the table
 * @tab: table
 * @crc: CRC-32 function
 */
void rsoft_icrc_tab_init(struct rsoft_icrc_tab *tab, rsoft_crc_fn crc);

/**
 * rsoft_icrc_len() - what the lengths in the outer headers add to the state
 * @tab: table
 * @ipv6: the outer header is IPv6
 * @len: bytes from BTH to iCRC, both included
 *
 * Return: state in front of the BTH for this length, less that for lengths that
 * are zero in the headers.
 */
static inline u32 rsoft_icrc_len(const struct rsoft_icrc_tab *tab, bool ipv6,
				 u32 len)
{
	u32 udp = len + 8;
	u32 ip = ipv6 ? udp : udp + 20;

	return tab->udp_len[0][(udp >> 8) & 0xff] ^
	       tab->udp_len[1][udp & 0xff] ^
	       tab->ip_len[ipv6][0][(ip >> 8) & 0xff] ^
	       tab->ip_len[ipv6][1][ip & 0xff];
}

/**
 * rsoft_icrc_start() - CRC state with which to go on from the BTH
 * @tab: table
 * @base: state in front of the BTH for this flow and length and ID 0
 * @ipv6: there is no ID
 * @ip_id: IPv4 ID, host order
 * @bth: the 12 bytes of the BTH
 *
 * Return: the state to which the bytes from the BTH on are added unchanged.
 */
static inline u32 rsoft_icrc_start(const struct rsoft_icrc_tab *tab, u32 base,
				   bool ipv6, u16 ip_id, const u8 *bth)
{
	if (!ipv6)
		base ^= tab->id[0][ip_id >> 8] ^ tab->id[1][ip_id & 0xff];
	return base ^ tab->variant[bth[4]];
}

/**
 * rsoft_icrc_like() - CRC state behind the BTH, for packets that are alike
 * @tab: table
 * @base: state behind the BTH of such a packet with ID 0, PSN 0 and no AckReq
 * @ipv6: there is no ID
 * @ip_id: IPv4 ID, host order
 * @psn: PSN, 24 bits
 *
 * For packets of one flow and length whose BTHs differ in the PSN only.
 *
 * Return: the state to which the bytes behind the BTH are added.
 */
static inline u32 rsoft_icrc_like(const struct rsoft_icrc_tab *tab, u32 base,
				  bool ipv6, u16 ip_id, u32 psn)
{
	if (!ipv6)
		base ^= tab->id_bth[0][ip_id >> 8] ^
			tab->id_bth[1][ip_id & 0xff];
	return base ^ tab->psn[0][psn >> 16 & 0xff] ^
	       tab->psn[1][psn >> 8 & 0xff] ^ tab->psn[2][psn & 0xff];
}

#endif
