// SPDX-License-Identifier: GPL-2.0
/*
 * The part of the iCRC that is not simply "the bytes of the packet": outer
 * headers and BTH as they count for the CRC. What routers may change on the
 * way is all ones: traffic class, flow label, TTL, checksums, FECN and BECN.
 */
#include "icrc.h"

#define ONES_LEN	8
#define UDP_LEN		8
#define IPV4_LEN	20
#define IPV6_LEN	40
#define IP_PROTO_UDP	17
#define IPV4_LEN_OFF	2	/* total length */
#define IPV4_ID_OFF	4
#define IPV6_LEN_OFF	4	/* payload length */
#define UDP_LEN_OFF	4
#define BTH_VARIANT_OFF	4	/* FECN, BECN and six reserved bits */

static u8 *put_be16(u8 *p, __be16 v)
{
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static u8 *put_bytes(u8 *p, const u8 *src, u32 len)
{
	memcpy(p, src, len);
	return p + len;
}

static u8 *put_ones(u8 *p, u32 len)
{
	memset(p, 0xff, len);
	return p + len;
}

static u8 *put_ipv4(u8 *p, const struct rsoft_flow *flow, u16 ip_id, u32 len)
{
	*p++ = 0x45;
	p = put_ones(p, 1);			/* type of service */
	p = put_be16(p, cpu_to_be16((u16)(IPV4_LEN + UDP_LEN + len)));
	p = put_be16(p, cpu_to_be16(ip_id));
	p = put_be16(p, flow->frag_off);
	p = put_ones(p, 1);			/* time to live */
	*p++ = IP_PROTO_UDP;
	p = put_ones(p, 2);			/* header checksum */
	p = put_bytes(p, flow->saddr, 4);
	return put_bytes(p, flow->daddr, 4);
}

static u8 *put_ipv6(u8 *p, const struct rsoft_flow *flow, u32 len)
{
	*p++ = 0x6f;
	p = put_ones(p, 3);			/* traffic class, flow label */
	p = put_be16(p, cpu_to_be16((u16)(UDP_LEN + len)));
	*p++ = IP_PROTO_UDP;
	p = put_ones(p, 1);			/* hop limit */
	p = put_bytes(p, flow->saddr, 16);
	return put_bytes(p, flow->daddr, 16);
}

u32 rsoft_icrc_pseudo(u8 *out, const struct rsoft_flow *flow, u16 ip_id,
		      u32 len, const u8 *bth)
{
	u8 *p = put_ones(out, ONES_LEN);

	if (flow->ipv6)
		p = put_ipv6(p, flow, len);
	else
		p = put_ipv4(p, flow, ip_id, len);

	p = put_be16(p, flow->sport);
	p = put_be16(p, flow->dport);
	p = put_be16(p, cpu_to_be16((u16)(UDP_LEN + len)));
	p = put_ones(p, 2);			/* checksum */

	p[BTH_VARIANT_OFF] = 0xff;
	memcpy(p, bth, BTH_VARIANT_OFF);
	memcpy(p + BTH_VARIANT_OFF + 1, bth + BTH_VARIANT_OFF + 1,
	       sizeof(struct rsoft_bth) - BTH_VARIANT_OFF - 1);
	return p + sizeof(struct rsoft_bth) - out;
}

/* One byte of zeros undone: the state from which crc() comes to @state. */
static u32 crc_back(const u32 *step, u32 state)
{
	u32 i;

	for (i = 0; i < 256; i++)
		if (step[i] >> 24 == state >> 24)
			break;
	return (state ^ step[i & 0xff]) << 8 | (i & 0xff);
}

/* What a packet's ID and PSN add to the state behind the BTH. */
static void tab_behind_bth(struct rsoft_icrc_tab *tab, rsoft_crc_fn crc, u8 byte)
{
	u8 bth[sizeof(struct rsoft_bth)] = {};

	tab->id_bth[0][byte] = crc(tab->id[0][byte], bth, sizeof(bth));
	tab->id_bth[1][byte] = crc(tab->id[1][byte], bth, sizeof(bth));
	bth[0] = byte;
	tab->psn[0][byte] = crc(0, bth, 3);
	tab->psn[1][byte] = crc(0, bth, 2);
	tab->psn[2][byte] = crc(0, bth, 1);
}

/* Two bytes in a row, the first of which is @dist bytes before the BTH. */
static void tab_pair(u32 (*pair)[256], rsoft_crc_fn crc, u32 dist)
{
	u8 head[IPV6_LEN + UDP_LEN] = {};
	u32 i;

	for (i = 0; i < 256; i++) {
		head[0] = (u8)i;
		pair[0][i] = crc(0, head, dist);
		pair[1][i] = crc(0, head, dist - 1);
	}
}

void rsoft_icrc_tab_init(struct rsoft_icrc_tab *tab, rsoft_crc_fn crc)
{
	u32 step[256];
	u32 i, n, state;
	u8 byte;

	for (i = 0; i < 256; i++) {
		byte = (u8)i;
		step[i] = crc(0, &byte, 1);
	}
	tab_pair(tab->id, crc, IPV4_LEN - IPV4_ID_OFF + UDP_LEN);
	tab_pair(tab->udp_len, crc, UDP_LEN - UDP_LEN_OFF);
	tab_pair(tab->ip_len[0], crc, IPV4_LEN - IPV4_LEN_OFF + UDP_LEN);
	tab_pair(tab->ip_len[1], crc, IPV6_LEN - IPV6_LEN_OFF + UDP_LEN);
	for (i = 0; i < 256; i++) {
		tab_behind_bth(tab, crc, (u8)i);

		/* the difference to all ones, BTH_VARIANT_OFF bytes earlier */
		state = i ^ 0xff;
		for (n = 0; n < BTH_VARIANT_OFF; n++)
			state = crc_back(step, state);
		tab->variant[i] = state;
	}
}
