/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Headers behind UDP port 4791 (IBTA 1.4, 9.2 to 9.3, annex A17), and the one
 * function that decodes them. Nothing else in the driver reads wire bytes.
 */
#ifndef RSOFT_PROTO_HDR_H
#define RSOFT_PROTO_HDR_H

#include "opcode.h"
#include "types.h"

#define RSOFT_UDP_PORT	4791
#define RSOFT_ICRC_LEN	4
#define RSOFT_QPN_MASK	0xffffffu
#define RSOFT_QPN_GSI	1u
#define RSOFT_QPN_MCAST	0xffffffu
#define RSOFT_PKEY_DEFAULT 0xffff

/* The longest run of headers is BTH and AtomicETH, 40 bytes. */
#define RSOFT_HDR_MAX	48

/**
 * struct rsoft_bth - base transport header, 12 bytes
 * @opcode: transport and operation
 * @flags: solicited event, MigReq, pad count, header version
 * @pkey: partition key
 * @fecn_becn_qpn: FECN, BECN, six reserved bits, destination QPN
 * @apsn: AckReq, seven reserved bits, PSN
 */
struct rsoft_bth {
	u8	opcode;
	u8	flags;
	__be16	pkey;
	__be32	fecn_becn_qpn;
	__be32	apsn;
} __packed;
static_assert(sizeof(struct rsoft_bth) == 12);

#define RSOFT_BTH_SE		0x80
#define RSOFT_BTH_MIG		0x40
#define RSOFT_BTH_PAD_SHIFT	4
#define RSOFT_BTH_PAD_MASK	0x30
#define RSOFT_BTH_TVER_MASK	0x0f
#define RSOFT_BTH_FECN		0x80000000u
#define RSOFT_BTH_BECN		0x40000000u
#define RSOFT_BTH_ACKREQ	0x80000000u

/**
 * struct rsoft_deth - datagram header, 8 bytes
 * @qkey: queue key
 * @sqpn: eight reserved bits, source QPN
 */
struct rsoft_deth {
	__be32	qkey;
	__be32	sqpn;
} __packed;
static_assert(sizeof(struct rsoft_deth) == 8);

/**
 * struct rsoft_reth - RDMA header, 16 bytes
 * @va: remote address
 * @rkey: remote key
 * @len: DMA length in bytes
 */
struct rsoft_reth {
	__be64	va;
	__be32	rkey;
	__be32	len;
} __packed;
static_assert(sizeof(struct rsoft_reth) == 16);

/**
 * struct rsoft_feth - flush header, 4 bytes
 * @bits: placement type (3..0) and selectivity level (5..4)
 */
struct rsoft_feth {
	__be32	bits;
} __packed;
static_assert(sizeof(struct rsoft_feth) == 4);

/* Its fields, with the values of the verbs (IB_FLUSH_*). */
#define RSOFT_FETH_GLOBAL	BIT(0)
#define RSOFT_FETH_PERSISTENT	BIT(1)
#define RSOFT_FETH_TYPE_MASK	0x0fu
#define RSOFT_FETH_LEVEL_SHIFT	4
#define RSOFT_FETH_LEVEL_MR	1u

/**
 * rsoft_feth_make() - content of a FLUSH header
 * @type: RSOFT_FETH_GLOBAL, RSOFT_FETH_PERSISTENT
 * @level: 0 for a range, RSOFT_FETH_LEVEL_MR for the whole region
 *
 * Return: the header's bits.
 */
static inline u32 rsoft_feth_make(u8 type, u8 level)
{
	return (u32)level << RSOFT_FETH_LEVEL_SHIFT | type;
}

/**
 * rsoft_feth_ok() - does a FLUSH ask for something that is defined
 * @feth: bits of the header
 *
 * Return: true if it does; reserved bits are refused.
 */
static inline bool rsoft_feth_ok(u32 feth)
{
	u32 type = feth & RSOFT_FETH_TYPE_MASK;

	return type && !(type & ~(RSOFT_FETH_GLOBAL | RSOFT_FETH_PERSISTENT)) &&
	       feth >> RSOFT_FETH_LEVEL_SHIFT <= RSOFT_FETH_LEVEL_MR;
}

/**
 * struct rsoft_atomiceth - atomic request header, 28 bytes
 * @va: remote address
 * @rkey: remote key
 * @swap_add: swap operand or addend
 * @compare: compare operand
 */
struct rsoft_atomiceth {
	__be64	va;
	__be32	rkey;
	__be64	swap_add;
	__be64	compare;
} __packed;
static_assert(sizeof(struct rsoft_atomiceth) == 28);

/**
 * struct rsoft_aeth - acknowledge header, 4 bytes
 * @syn_msn: syndrome and message sequence number
 */
struct rsoft_aeth {
	__be32	syn_msn;
} __packed;
static_assert(sizeof(struct rsoft_aeth) == 4);

/**
 * struct rsoft_atomicack - atomic response header, 8 bytes
 * @orig: value before the operation
 */
struct rsoft_atomicack {
	__be64	orig;
} __packed;
static_assert(sizeof(struct rsoft_atomicack) == 8);

/* Why a packet was refused; each has a counter of its own. */
enum rsoft_drop {
	RSOFT_DROP_NONE,
	RSOFT_DROP_SHORT,	/* shorter than its headers, pad and iCRC */
	RSOFT_DROP_OPCODE,	/* undefined opcode */
	RSOFT_DROP_TVER,	/* transport header version is not 0 */
	RSOFT_DROP_LENGTH,	/* payload where none may be, or wrong size */
	RSOFT_DROP_PKEY,	/* P_Key is not the default one */
	RSOFT_DROP_ICRC,	/* invariant CRC differs */
	RSOFT_DROP_QPN,		/* no such QP */
	RSOFT_DROP_QP_TYPE,	/* opcode of another transport */
	RSOFT_DROP_QP_STATE,	/* QP cannot receive now */
	RSOFT_DROP_SOURCE,	/* source, destination or netns is not the QP's */
	RSOFT_DROP_QKEY,	/* Q_Key differs */
	RSOFT_DROP_QUEUE,	/* engine queue is full */
	RSOFT_DROP_NO_RQE,	/* UC or UD: no receive WQE posted */
	RSOFT_DROP_RQE_LEN,	/* UD: receive buffer too small or invalid */
	RSOFT_DROP_ACCESS,	/* UC: key or range refused */
	RSOFT_DROP_SEQ,		/* UC: PSN or opcode out of sequence */
	RSOFT_DROP_GHOST,	/* response or repeated request that none waits for */
	RSOFT_DROP_NOMEM,	/* no memory to hold it */
	RSOFT_DROP_MCAST,	/* multicast packet without a member here */
	RSOFT_DROP_SHAPE,	/* an skb that cannot be read */
	RSOFT_DROP_MAX,
};

/**
 * struct rsoft_pkt - one packet, decoded and checked
 * @info: row of the opcode table, never of kind NONE after a good decode
 * @opcode: BTH opcode
 * @pad: pad bytes behind the payload, 0..3
 * @solicited: solicited event bit
 * @mig: MigReq bit
 * @ackreq: AckReq bit
 * @fecn: forward congestion bit
 * @becn: backward congestion bit
 * @pkey: partition key
 * @qpn: destination QPN
 * @psn: packet sequence number
 * @va: address of RETH or AtomicETH
 * @rkey: key of RETH or AtomicETH
 * @dma_len: length of RETH, bytes
 * @swap_add: operand of AtomicETH
 * @compare: operand of AtomicETH
 * @orig: value of AtomicAckETH
 * @qkey: Q_Key of DETH
 * @sqpn: source QPN of DETH
 * @imm: immediate data, as on the wire
 * @inv_rkey: key of IETH
 * @feth: bits of FETH
 * @syn: syndrome of AETH
 * @msn: message sequence number of AETH
 * @hdr_len: bytes of BTH and extension headers
 * @payload_len: bytes of payload, without pad and iCRC
 */
struct rsoft_pkt {
	const struct rsoft_opinfo *info;
	u8	opcode;
	u8	pad;
	bool	solicited;
	bool	mig;
	bool	ackreq;
	bool	fecn;
	bool	becn;
	u16	pkey;
	u32	qpn;
	u32	psn;
	u64	va;
	u32	rkey;
	u32	dma_len;
	u64	swap_add;
	u64	compare;
	u64	orig;
	u32	qkey;
	u32	sqpn;
	__be32	imm;
	u32	inv_rkey;
	u32	feth;
	u8	syn;
	u32	msn;
	u32	hdr_len;
	u32	payload_len;
};

/**
 * rsoft_hdr_decode() - decode and validate the headers of one packet
 * @buf: first bytes of the packet, from the BTH on
 * @avail: bytes readable at @buf; RSOFT_HDR_MAX or @len, whichever is less
 * @len: bytes of the packet from BTH to iCRC, both included
 * @pkt: filled in when the result is RSOFT_DROP_NONE
 *
 * Checks, in this order: length covers the BTH and iCRC; version; opcode is
 * defined; length covers headers, pad and iCRC; P_Key; (payload + pad) is a
 * multiple of four; no payload or pad where the opcode has none; fixed payload
 * of ATOMIC WRITE (8 bytes) and CNP (16 reserved bytes).
 *
 * Return: RSOFT_DROP_NONE or the reason to refuse.
 */
enum rsoft_drop rsoft_hdr_decode(const u8 *buf, u32 avail, u32 len,
				 struct rsoft_pkt *pkt);

/**
 * rsoft_hdr_encode() - write BTH and extension headers
 * @buf: room for at least RSOFT_HDR_MAX bytes
 * @pkt: fields; @pkt->info must be the row of @pkt->opcode, @pkt->pad the
 *       pad count of the payload that follows
 *
 * Reserved bits are written as zero, MigReq as @pkt->mig says.
 *
 * Return: bytes written, equal to @pkt->info->hdr_len.
 */
u32 rsoft_hdr_encode(u8 *buf, const struct rsoft_pkt *pkt);

/* Bytes of the BTH in front of AckReq and PSN. */
#define RSOFT_HDR_LIKE 8

/**
 * rsoft_hdr_like() - decode a packet that is like the one before
 * @buf: the 12 bytes of its BTH
 * @like: first RSOFT_HDR_LIKE bytes of the BTH of the one before
 * @pkt: the one before, decoded, of the same length; becomes this one
 *
 * In the middle of a message packets differ in AckReq and PSN only.
 *
 * Return: true if they do; false, with @pkt as it was, if this one must be
 * decoded in full.
 */
static inline bool rsoft_hdr_like(const u8 *buf, const u8 *like,
				  struct rsoft_pkt *pkt)
{
	const struct rsoft_bth *bth = (const struct rsoft_bth *)buf;
	u32 apsn;

	if (memcmp(buf, like, RSOFT_HDR_LIKE) || pkt->info->hdrs)
		return false;
	apsn = be32_to_cpu(bth->apsn);
	pkt->ackreq = apsn & RSOFT_BTH_ACKREQ;
	pkt->psn = apsn & RSOFT_QPN_MASK;
	return true;
}

/**
 * rsoft_hdr_peek() - opcode and QPN of a packet without validation
 * @buf: at least the 12 bytes of the BTH
 * @opcode: set to the opcode
 *
 * For dispatch only; the owner of the QP decodes the packet in full.
 *
 * Return: destination QPN.
 */
u32 rsoft_hdr_peek(const u8 *buf, u8 *opcode);

/**
 * rsoft_pad() - pad bytes that bring a payload to a multiple of four
 * @len: payload bytes
 *
 * Return: 0 to 3.
 */
static inline u32 rsoft_pad(u32 len)
{
	return (4 - (len & 3)) & 3;
}

#endif
