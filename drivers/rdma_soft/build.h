/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets on their way out: headers, payload, pad and iCRC, gathered into skbs
 * of many packets where path and lengths allow.
 */
#ifndef RSOFT_BUILD_H
#define RSOFT_BUILD_H

#include "cursor.h"
#include "engine.h"
#include "path.h"
#include "proto/hdr.h"

/**
 * struct rsoft_tx - an skb under construction
 * @qp: QP that sends
 * @e: its engine, owned
 * @path: where the packets in @skb go
 * @skb: skb, NULL if none was started
 * @seg_size: bytes of each packet but the last
 * @nsegs: packets in @skb
 * @max_segs: packets that may be put in @skb, 0 if not asked yet
 * @closed: a shorter packet was added, nothing may follow
 * @by_ref: the caller wants payload of rsoft_tx_alike() to stay where it is
 * @has_refs: some of the packets in @skb are such
 * @bytes: bytes sent by flushes since rsoft_tx_init(), and 512 a packet for
 *         the work that does not depend on its length
 * @icrc_len: packet length for which @icrc_base holds
 * @icrc_base: CRC state in front of the BTH for ID 0
 * @icrc_path: path for which @icrc_base holds
 * @fast: vector registers are in use, until rsoft_tx_settle()
 */
struct rsoft_tx {
	struct rsoft_qp *qp;
	struct rsoft_engine *e;
	struct rsoft_path *path;
	struct sk_buff *skb;
	u32 seg_size;
	u32 nsegs;
	u32 max_segs;
	bool closed;
	bool by_ref;
	bool has_refs;
	u32 bytes;
	u32 icrc_len;
	u32 icrc_base;
	const struct rsoft_path *icrc_path;
	bool fast;
};

/**
 * rsoft_tx_init() - start with nothing
 * @tx: batch
 * @qp: QP that sends
 * @e: its engine, owned by the caller
 */
void rsoft_tx_init(struct rsoft_tx *tx, struct rsoft_qp *qp,
		   struct rsoft_engine *e);

/**
 * rsoft_tx_fits() - can a packet join the skb under construction
 * @tx: batch
 * @path: where the packet goes
 * @info: its row in the opcode table
 * @len: its payload bytes
 *
 * Return: true if it can; false also if no skb was started.
 */
bool rsoft_tx_fits(struct rsoft_tx *tx, const struct rsoft_path *path,
		   const struct rsoft_opinfo *info, u32 len);

/**
 * rsoft_tx_packet() - add one packet
 * @tx: batch; rsoft_tx_fits() or empty
 * @path: where the packet goes
 * @pkt: header fields; opcode and info set, pad is filled in here
 * @c: payload, at its place; NULL if @len is 0
 * @len: payload bytes
 * @why: set to the rule that was broken if the result is -EACCES
 *
 * Context: BH disabled.
 *
 * Return: 0; -EAGAIN without memory; -EACCES if the payload may not be read.
 * On error the batch is as before.
 */
int rsoft_tx_packet(struct rsoft_tx *tx, struct rsoft_path *path,
		    struct rsoft_pkt *pkt, struct rsoft_cursor *c, u32 len,
		    enum rsoft_access *why);

/**
 * rsoft_tx_alike() - add packets from the middle of a message
 * @tx: batch; rsoft_tx_fits() or empty
 * @path: where the packets go
 * @pkt: header fields of the first; those of the others differ in the PSN
 *       only, which counts up. No extension header, no AckReq
 * @c: payload, at its place
 * @len: payload bytes of each packet, a multiple of four
 * @count: how many at most, at least 1
 * @why: set to the rule that was broken if the result is -EACCES
 *
 * With @tx->by_ref the skb refers to the pages of a user's region, if the payload
 * lies in one and touches two pages a packet at most; else it is copied.
 *
 * Context: BH disabled.
 *
 * Return: packets added, at least 1, fewer than @count where the batch ends;
 * -EAGAIN without memory; -EACCES if the payload of the first may not be read.
 * On error the batch is as before, and @c is to be placed anew.
 */
int rsoft_tx_alike(struct rsoft_tx *tx, struct rsoft_path *path,
		   struct rsoft_pkt *pkt, struct rsoft_cursor *c, u32 len,
		   u32 count, enum rsoft_access *why);

/**
 * rsoft_tx_flush() - hand the skb under construction to the stack
 * @tx: batch; empty afterwards
 * @refused: times in a row that the stack refused; counted here
 *
 * Context: BH disabled.
 *
 * Return: 0 if it was sent, or is lost as on a wire (no route, a filter, or a
 * full stack RSOFT_TX_REFUSED_MAX times before); -EAGAIN if the stack is full:
 * the caller goes back to its first packet and waits for rsoft_tx_wait_ns().
 */
int rsoft_tx_flush(struct rsoft_tx *tx, u8 *refused);

/**
 * rsoft_tx_settle() - no packet is added for now
 * @tx: batch; rsoft_tx_flush() does this too
 *
 * Must be called before the batch goes out of scope or other code may run that
 * uses vector registers.
 */
void rsoft_tx_settle(struct rsoft_tx *tx);

/**
 * rsoft_tx_pages_free() - release the pages that packets were written to
 *
 * Context: module exit, when nothing is sent any more.
 */
void rsoft_tx_pages_free(void);

/* Refusals in a row after which one more makes a packet count as lost. */
#define RSOFT_TX_REFUSED_MAX 16

/**
 * rsoft_tx_wait_ns() - how long to wait for the stack to take bytes
 * @refused: times in a row that it refused
 *
 * Return: 100 us, doubled with each refusal up to 6.4 ms.
 */
static inline u64 rsoft_tx_wait_ns(u8 refused)
{
	return (100ULL * NSEC_PER_USEC) << min_t(u8, refused, 6);
}

#endif
