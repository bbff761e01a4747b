// SPDX-License-Identifier: GPL-2.0
/*
 * Decoder and encoder of everything between UDP header and payload. Bytes from
 * the wire are read here and nowhere else; what comes out is either refused or
 * complete, so no caller tests a length again.
 */
#include "hdr.h"

#define FETH_KNOWN_BITS		0x3fu
#define ATOMIC_WRITE_LEN	8
#define CNP_RESERVED_LEN	16

static_assert(sizeof(struct rsoft_bth) + sizeof(struct rsoft_atomiceth) <=
	      RSOFT_HDR_MAX);

static void get_bth(const struct rsoft_bth *bth, struct rsoft_pkt *pkt)
{
	u32 qpn = be32_to_cpu(bth->fecn_becn_qpn);
	u32 psn = be32_to_cpu(bth->apsn);

	pkt->opcode = bth->opcode;
	pkt->pad = (bth->flags & RSOFT_BTH_PAD_MASK) >> RSOFT_BTH_PAD_SHIFT;
	pkt->solicited = bth->flags & RSOFT_BTH_SE;
	pkt->mig = bth->flags & RSOFT_BTH_MIG;
	pkt->pkey = be16_to_cpu(bth->pkey);
	pkt->fecn = qpn & RSOFT_BTH_FECN;
	pkt->becn = qpn & RSOFT_BTH_BECN;
	pkt->qpn = qpn & RSOFT_QPN_MASK;
	pkt->ackreq = psn & RSOFT_BTH_ACKREQ;
	pkt->psn = psn & RSOFT_QPN_MASK;
}

/* Field by field: a memset() of this size becomes a slow "rep stos". */
static void clear_ext(struct rsoft_pkt *pkt)
{
	pkt->va = 0;
	pkt->rkey = 0;
	pkt->dma_len = 0;
	pkt->swap_add = 0;
	pkt->compare = 0;
	pkt->orig = 0;
	pkt->qkey = 0;
	pkt->sqpn = 0;
	pkt->imm = 0;
	pkt->inv_rkey = 0;
	pkt->feth = 0;
	pkt->syn = 0;
	pkt->msn = 0;
}

static const u8 *get_deth(const u8 *p, struct rsoft_pkt *pkt)
{
	const struct rsoft_deth *deth = (const struct rsoft_deth *)p;

	pkt->qkey = be32_to_cpu(deth->qkey);
	pkt->sqpn = be32_to_cpu(deth->sqpn) & RSOFT_QPN_MASK;
	return p + sizeof(*deth);
}

static const u8 *get_feth(const u8 *p, struct rsoft_pkt *pkt)
{
	const struct rsoft_feth *feth = (const struct rsoft_feth *)p;

	pkt->feth = be32_to_cpu(feth->bits) & FETH_KNOWN_BITS;
	return p + sizeof(*feth);
}

static const u8 *get_reth(const u8 *p, struct rsoft_pkt *pkt)
{
	const struct rsoft_reth *reth = (const struct rsoft_reth *)p;

	pkt->va = be64_to_cpu(reth->va);
	pkt->rkey = be32_to_cpu(reth->rkey);
	pkt->dma_len = be32_to_cpu(reth->len);
	return p + sizeof(*reth);
}

static const u8 *get_atomiceth(const u8 *p, struct rsoft_pkt *pkt)
{
	const struct rsoft_atomiceth *eth = (const struct rsoft_atomiceth *)p;

	pkt->va = be64_to_cpu(eth->va);
	pkt->rkey = be32_to_cpu(eth->rkey);
	pkt->swap_add = be64_to_cpu(eth->swap_add);
	pkt->compare = be64_to_cpu(eth->compare);
	return p + sizeof(*eth);
}

static const u8 *get_aeth(const u8 *p, struct rsoft_pkt *pkt)
{
	const struct rsoft_aeth *aeth = (const struct rsoft_aeth *)p;
	u32 word = be32_to_cpu(aeth->syn_msn);

	pkt->syn = word >> 24;
	pkt->msn = word & RSOFT_QPN_MASK;
	return p + sizeof(*aeth);
}

static const u8 *get_atomicack(const u8 *p, struct rsoft_pkt *pkt)
{
	const struct rsoft_atomicack *ack = (const struct rsoft_atomicack *)p;

	pkt->orig = be64_to_cpu(ack->orig);
	return p + sizeof(*ack);
}

/* The caller has made sure that info->hdr_len bytes can be read. */
static void get_ext(const u8 *p, u8 hdrs, struct rsoft_pkt *pkt)
{
	if (hdrs & RSOFT_HDR_DETH)
		p = get_deth(p, pkt);
	if (hdrs & RSOFT_HDR_FETH)
		p = get_feth(p, pkt);
	if (hdrs & RSOFT_HDR_RETH)
		p = get_reth(p, pkt);
	if (hdrs & RSOFT_HDR_ATOMICETH)
		p = get_atomiceth(p, pkt);
	if (hdrs & RSOFT_HDR_AETH)
		p = get_aeth(p, pkt);
	if (hdrs & RSOFT_HDR_ATOMICACK)
		p = get_atomicack(p, pkt);
	if (hdrs & RSOFT_HDR_IMMDT)
		memcpy(&pkt->imm, p, sizeof(pkt->imm));
	if (hdrs & RSOFT_HDR_IETH) {
		__be32 key;

		memcpy(&key, p, sizeof(key));
		pkt->inv_rkey = be32_to_cpu(key);
	}
}

/* Where the payload itself is a multiple of four, the first rule forbids pad. */
static bool payload_ok(const struct rsoft_opinfo *info, u32 payload, u32 pad)
{
	if ((payload + pad) & 3)
		return false;
	if (!(info->flags & RSOFT_PKT_PAYLOAD))
		return !payload;
	if (info->kind == RSOFT_KIND_ATOMIC_WRITE)
		return payload == ATOMIC_WRITE_LEN;
	if (info->kind == RSOFT_KIND_CNP)
		return payload == CNP_RESERVED_LEN;
	return true;
}

enum rsoft_drop rsoft_hdr_decode(const u8 *buf, u32 avail, u32 len,
				 struct rsoft_pkt *pkt)
{
	const struct rsoft_opinfo *info;
	struct rsoft_bth bth;
	u32 pad, payload;

	if (avail < sizeof(bth) || len < sizeof(bth) + RSOFT_ICRC_LEN)
		return RSOFT_DROP_SHORT;
	/*
	 * The sender may still write to the packet (splice() into a socket on
	 * this machine), and the BTH is looked at more than once: copy it, and
	 * keep the compiler from reading the original again.
	 */
	memcpy(&bth, buf, sizeof(bth));
	barrier();
	if (bth.flags & RSOFT_BTH_TVER_MASK)
		return RSOFT_DROP_TVER;

	info = rsoft_opinfo(bth.opcode);
	if (info->kind == RSOFT_KIND_NONE)
		return RSOFT_DROP_OPCODE;

	pad = (bth.flags & RSOFT_BTH_PAD_MASK) >> RSOFT_BTH_PAD_SHIFT;
	if (avail < info->hdr_len || len < info->hdr_len + pad + RSOFT_ICRC_LEN)
		return RSOFT_DROP_SHORT;
	if (bth.pkey != cpu_to_be16(RSOFT_PKEY_DEFAULT))
		return RSOFT_DROP_PKEY;

	payload = len - info->hdr_len - pad - RSOFT_ICRC_LEN;
	if (!payload_ok(info, payload, pad))
		return RSOFT_DROP_LENGTH;

	pkt->info = info;
	pkt->hdr_len = info->hdr_len;
	pkt->payload_len = payload;
	get_bth(&bth, pkt);
	clear_ext(pkt);
	get_ext(buf + sizeof(bth), info->hdrs, pkt);
	return RSOFT_DROP_NONE;
}

static void put_bth(u8 *buf, const struct rsoft_pkt *pkt)
{
	struct rsoft_bth *bth = (struct rsoft_bth *)buf;

	bth->opcode = pkt->opcode;
	bth->flags = (pkt->solicited ? RSOFT_BTH_SE : 0) |
		     (pkt->mig ? RSOFT_BTH_MIG : 0) |
		     (pkt->pad << RSOFT_BTH_PAD_SHIFT & RSOFT_BTH_PAD_MASK);
	bth->pkey = cpu_to_be16(pkt->pkey);
	bth->fecn_becn_qpn = cpu_to_be32((pkt->fecn ? RSOFT_BTH_FECN : 0) |
					 (pkt->becn ? RSOFT_BTH_BECN : 0) |
					 (pkt->qpn & RSOFT_QPN_MASK));
	bth->apsn = cpu_to_be32((pkt->ackreq ? RSOFT_BTH_ACKREQ : 0) |
				(pkt->psn & RSOFT_QPN_MASK));
}

static u8 *put_deth(u8 *p, const struct rsoft_pkt *pkt)
{
	struct rsoft_deth *deth = (struct rsoft_deth *)p;

	deth->qkey = cpu_to_be32(pkt->qkey);
	deth->sqpn = cpu_to_be32(pkt->sqpn & RSOFT_QPN_MASK);
	return p + sizeof(*deth);
}

static u8 *put_feth(u8 *p, const struct rsoft_pkt *pkt)
{
	struct rsoft_feth *feth = (struct rsoft_feth *)p;

	feth->bits = cpu_to_be32(pkt->feth & FETH_KNOWN_BITS);
	return p + sizeof(*feth);
}

static u8 *put_reth(u8 *p, const struct rsoft_pkt *pkt)
{
	struct rsoft_reth *reth = (struct rsoft_reth *)p;

	reth->va = cpu_to_be64(pkt->va);
	reth->rkey = cpu_to_be32(pkt->rkey);
	reth->len = cpu_to_be32(pkt->dma_len);
	return p + sizeof(*reth);
}

static u8 *put_atomiceth(u8 *p, const struct rsoft_pkt *pkt)
{
	struct rsoft_atomiceth *eth = (struct rsoft_atomiceth *)p;

	eth->va = cpu_to_be64(pkt->va);
	eth->rkey = cpu_to_be32(pkt->rkey);
	eth->swap_add = cpu_to_be64(pkt->swap_add);
	eth->compare = cpu_to_be64(pkt->compare);
	return p + sizeof(*eth);
}

static u8 *put_aeth(u8 *p, const struct rsoft_pkt *pkt)
{
	struct rsoft_aeth *aeth = (struct rsoft_aeth *)p;

	aeth->syn_msn = cpu_to_be32((u32)pkt->syn << 24 |
				    (pkt->msn & RSOFT_QPN_MASK));
	return p + sizeof(*aeth);
}

static u8 *put_atomicack(u8 *p, const struct rsoft_pkt *pkt)
{
	struct rsoft_atomicack *ack = (struct rsoft_atomicack *)p;

	ack->orig = cpu_to_be64(pkt->orig);
	return p + sizeof(*ack);
}

u32 rsoft_hdr_encode(u8 *buf, const struct rsoft_pkt *pkt)
{
	u8 hdrs = pkt->info->hdrs;
	u8 *p = buf + sizeof(struct rsoft_bth);

	put_bth(buf, pkt);
	if (hdrs & RSOFT_HDR_DETH)
		p = put_deth(p, pkt);
	if (hdrs & RSOFT_HDR_FETH)
		p = put_feth(p, pkt);
	if (hdrs & RSOFT_HDR_RETH)
		p = put_reth(p, pkt);
	if (hdrs & RSOFT_HDR_ATOMICETH)
		p = put_atomiceth(p, pkt);
	if (hdrs & RSOFT_HDR_AETH)
		p = put_aeth(p, pkt);
	if (hdrs & RSOFT_HDR_ATOMICACK)
		p = put_atomicack(p, pkt);
	if (hdrs & RSOFT_HDR_IMMDT) {
		memcpy(p, &pkt->imm, sizeof(pkt->imm));
		p += sizeof(pkt->imm);
	}
	if (hdrs & RSOFT_HDR_IETH) {
		__be32 key = cpu_to_be32(pkt->inv_rkey);

		memcpy(p, &key, sizeof(key));
		p += sizeof(key);
	}
	return p - buf;
}

u32 rsoft_hdr_peek(const u8 *buf, u8 *opcode)
{
	const struct rsoft_bth *bth = (const struct rsoft_bth *)buf;

	*opcode = bth->opcode;
	return be32_to_cpu(bth->fecn_becn_qpn) & RSOFT_QPN_MASK;
}
