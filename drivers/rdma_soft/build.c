// SPDX-License-Identifier: GPL-2.0
/*
 * Builds packets. A packet is written in one piece into a page of this CPU's
 * ring, with its iCRC computed while it is in the cache; equal packets
 * follow each other in one skb that the stack cuts at seg_size. The IPv4 ID and
 * length that the iCRC covers are those that the cut will give each packet.
 */
#include <linux/mm.h>
#include <net/sock.h>
#include <rdma/ib_umem.h>

#include "build.h"
#include "crc.h"
#include "inject.h"
#include "proto/icrc.h"
#include "proto/psn.h"
#include "qp.h"
#include "stack.h"

/*
 * Fragments of a packet whose payload is sent by reference, at most: header,
 * two pages, iCRC.
 */
#define TX_REF_FRAGS 4

/* A packet up to this size lies in the skb's head. */
#define TX_LINEAR_MAX 320

void rsoft_tx_init(struct rsoft_tx *tx, struct rsoft_qp *qp,
		   struct rsoft_engine *e)
{
	*tx = (struct rsoft_tx){ .qp = qp, .e = e };
}

static u32 tx_wire_len(const struct rsoft_opinfo *info, u32 len)
{
	return info->hdr_len + len + rsoft_pad(len) + RSOFT_ICRC_LEN;
}

/* Asked only when a second packet comes: most small messages travel alone. */
static u32 tx_max_segs(struct rsoft_tx *tx)
{
	if (!tx->max_segs)
		tx->max_segs = rsoft_path_batch_max(tx->path, tx->seg_size);
	return tx->max_segs;
}

bool rsoft_tx_fits(struct rsoft_tx *tx, const struct rsoft_path *path,
		   const struct rsoft_opinfo *info, u32 len)
{
	u32 wire = tx_wire_len(info, len);

	return tx->skb && tx->path == path && !tx->closed &&
	       wire <= tx->seg_size && tx->nsegs < tx_max_segs(tx) &&
	       tx->skb->len + wire <= RSOFT_TX_MAX &&
	       (!tx->has_refs ||
		skb_shinfo(tx->skb)->nr_frags + TX_REF_FRAGS <= MAX_SKB_FRAGS);
}

/*
 * Pages that packets are written to. A CPU fills one after the other in a ring
 * and comes back to a page when the packets in it are gone, so that a steady
 * stream needs no new (and zeroed) pages. Used with BH disabled only.
 */
#define TX_PAGES	32
#define TX_PAGE_ORDER	3

/**
 * struct tx_pages - one CPU's ring
 * @page: pages, each with a reference of the ring's own
 * @cur: where @page is in use
 * @frag: rest of that page
 */
struct tx_pages {
	struct page *page[TX_PAGES];
	u32 cur;
	struct page_frag frag;
};

static DEFINE_PER_CPU(struct tx_pages, tx_pages);

static bool tx_page_use(struct tx_pages *ring, u32 idx)
{
	ring->cur = idx;
	ring->frag.page = ring->page[idx];
	ring->frag.offset = 0;
	ring->frag.size = PAGE_SIZE << compound_order(ring->page[idx]);
	return true;
}

static bool tx_page_next(struct tx_pages *ring, u32 wire)
{
	u32 idx = (ring->cur + 1) % TX_PAGES;
	gfp_t gfp = GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN;
	struct page *page = ring->page[idx];

	/* nobody else holds it, so nobody can come to hold it */
	if (page && page_ref_count(page) == 1 &&
	    PAGE_SIZE << compound_order(page) >= wire)
		return tx_page_use(ring, idx);
	page = alloc_pages((gfp & ~__GFP_DIRECT_RECLAIM) | __GFP_NORETRY,
			   TX_PAGE_ORDER);
	/* large pages are short: take just what this packet needs */
	if (!page)
		page = alloc_pages(gfp, get_order(wire));
	if (!page)
		return false;
	if (ring->page[idx])
		put_page(ring->page[idx]);
	ring->page[idx] = page;
	return tx_page_use(ring, idx);
}

void rsoft_tx_pages_free(void)
{
	struct tx_pages *ring;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		ring = per_cpu_ptr(&tx_pages, cpu);
		for (i = 0; i < TX_PAGES; i++) {
			if (ring->page[i])
				put_page(ring->page[i]);
		}
		memset(ring, 0, sizeof(*ring));
	}
}

/* This CPU's fragment, with @wire bytes in one piece; NULL without memory. */
static struct page_frag *tx_frag(u32 wire)
{
	struct tx_pages *ring = this_cpu_ptr(&tx_pages);

	if (ring->frag.size - ring->frag.offset >= wire ||
	    tx_page_next(ring, wire))
		return &ring->frag;
	return NULL;
}

/*
 * An skb whose head lies in this CPU's ring too, made of one that this CPU
 * freed: what the slab takes for both is a third of the way of a packet.
 */
static struct sk_buff *tx_skb(u32 room)
{
	u32 size = SKB_DATA_ALIGN(room) +
		   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct page_frag *frag;
	struct sk_buff *skb;

	frag = tx_frag(size + SMP_CACHE_BYTES);
	if (!frag)
		return NULL;
	frag->offset = ALIGN(frag->offset, SMP_CACHE_BYTES);
	skb = napi_build_skb(page_address(frag->page) + frag->offset, size);
	if (!skb)
		return NULL;
	get_page(frag->page);
	frag->offset += size;
	return skb;
}

static int tx_start(struct rsoft_tx *tx, struct rsoft_path *path, u32 wire)
{
	u32 room = RSOFT_TX_HEADROOM + (wire <= TX_LINEAR_MAX ?
					TX_LINEAR_MAX : 0);

	tx->skb = tx_skb(room);
	if (!tx->skb)
		return -EAGAIN;
	skb_reserve(tx->skb, RSOFT_TX_HEADROOM);
	tx->path = path;
	tx->seg_size = wire;
	tx->nsegs = 0;
	tx->max_segs = 0;
	tx->closed = false;
	tx->has_refs = false;
	return 0;
}

/* Address of @wire writable bytes behind the skb's data; not yet part of it. */
static void *tx_room(struct rsoft_tx *tx, u32 wire)
{
	struct sk_buff *skb = tx->skb;
	struct page_frag *frag;
	int n = skb_shinfo(skb)->nr_frags;

	if (!n && wire <= skb_tailroom(skb) && wire <= TX_LINEAR_MAX)
		return skb_tail_pointer(skb);
	frag = tx_frag(wire);
	if (!frag)
		return NULL;
	if (n == MAX_SKB_FRAGS &&
	    !skb_can_coalesce(skb, n, frag->page, frag->offset))
		return NULL;
	return page_address(frag->page) + frag->offset;
}

/* @bytes of this CPU's fragment become part of the skb. */
static void tx_commit_frag(struct sk_buff *skb, u32 bytes)
{
	struct page_frag *frag = this_cpu_ptr(&tx_pages.frag);
	int n = skb_shinfo(skb)->nr_frags;

	if (skb_can_coalesce(skb, n, frag->page, frag->offset)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[n - 1], bytes);
	} else {
		get_page(frag->page);
		skb_fill_page_desc(skb, n, frag->page, frag->offset, bytes);
	}
	frag->offset += bytes;
	skb->len += bytes;
	skb->data_len += bytes;
	skb->truesize += bytes;
}

/* The bytes at tx_room() become part of the skb. */
static void tx_commit(struct rsoft_tx *tx, void *at, u32 wire)
{
	struct sk_buff *skb = tx->skb;

	if (at == skb_tail_pointer(skb) && !skb_shinfo(skb)->nr_frags)
		skb_put(skb, wire);
	else
		tx_commit_frag(skb, wire);
	if (wire < tx->seg_size)
		tx->closed = true;
	tx->nsegs++;
}

static enum rsoft_access tx_gather(u8 *to, struct rsoft_cursor *c, u32 len)
{
	enum rsoft_access why = RSOFT_ACCESS_OK;
	const void *from;
	u32 run;

	while (len) {
		from = rsoft_cursor_next(c, len, &run, &why);
		if (!from)
			return why;
		memcpy(to, from, run);
		to += run;
		len -= run;
	}
	return RSOFT_ACCESS_OK;
}

/* CRC state in front of a BTH with ID 0; computed anew if the length differs. */
static u32 tx_icrc_base(struct rsoft_tx *tx, u32 wire)
{
	if (tx->icrc_len != wire || tx->icrc_path != tx->path) {
		tx->icrc_base = rsoft_crc_of_len(tx->path->icrc,
						 tx->path->flow.ipv6, wire);
		tx->icrc_len = wire;
		tx->icrc_path = tx->path;
	}
	return tx->icrc_base;
}

/* Headers, payload, pad and iCRC to @at. */
static enum rsoft_access tx_write(struct rsoft_tx *tx, u8 *at, u32 wire,
				  struct rsoft_pkt *pkt,
				  struct rsoft_cursor *c, u32 len)
{
	u32 hdr = rsoft_hdr_encode(at, pkt);
	enum rsoft_access why;
	__le32 icrc;
	u32 crc;

	why = tx_gather(at + hdr, c, len);
	if (why != RSOFT_ACCESS_OK)
		return why;
	memset(at + hdr + len, 0, pkt->pad);
	/* of the copy, which the program cannot change any more */
	crc = rsoft_icrc_start(&rsoft_icrc_tab, tx_icrc_base(tx, wire),
			       tx->path->flow.ipv6, tx->e->ip_id + tx->nsegs,
			       at);
	if (!tx->fast)
		tx->fast = rsoft_crc_enter(wire);
	crc = rsoft_crc_add(tx->fast, crc, at, wire - RSOFT_ICRC_LEN);
	icrc = rsoft_icrc_final(crc);
	memcpy(at + wire - RSOFT_ICRC_LEN, &icrc, RSOFT_ICRC_LEN);
	return RSOFT_ACCESS_OK;
}

int rsoft_tx_packet(struct rsoft_tx *tx, struct rsoft_path *path,
		    struct rsoft_pkt *pkt, struct rsoft_cursor *c, u32 len,
		    enum rsoft_access *why)
{
	u32 wire = tx_wire_len(pkt->info, len);
	bool started = false;
	u8 *at;

	if (!tx->skb) {
		if (tx_start(tx, path, wire))
			return -EAGAIN;
		started = true;
	}
	at = tx_room(tx, wire);
	if (!at) {
		*why = RSOFT_ACCESS_OK;
		goto undo;
	}
	pkt->pad = rsoft_pad(len);
	*why = tx_write(tx, at, wire, pkt, c, len);
	if (*why != RSOFT_ACCESS_OK)
		goto undo;
	tx_commit(tx, at, wire);
	return 0;

undo:
	if (started) {
		kfree_skb(tx->skb);
		tx->skb = NULL;
	}
	return *why == RSOFT_ACCESS_OK ? -EAGAIN : -EACCES;
}

/**
 * struct tx_alike - packets that differ in PSN and IPv4 ID only
 * @bth: the first bytes of their BTH
 * @state: CRC state behind the BTH for PSN 0 and ID 0
 * @psn: PSN of the next one
 * @ip_id: its IPv4 ID
 * @len: payload bytes of each
 */
struct tx_alike {
	u8 bth[RSOFT_HDR_MAX];
	u32 state;
	u32 psn;
	u16 ip_id;
	u32 len;
};

static void tx_alike_init(struct rsoft_tx *tx, struct tx_alike *l,
			  struct rsoft_pkt *pkt, u32 len, u32 wire)
{
	pkt->pad = 0;
	rsoft_hdr_encode(l->bth, pkt);
	l->state = rsoft_crc_alike(tx_icrc_base(tx, wire), l->bth);
	l->psn = pkt->psn;
	l->ip_id = tx->e->ip_id + tx->nsegs;
	l->len = len;
	if (!tx->fast)
		tx->fast = rsoft_crc_enter(wire);
}

/* One packet to @at. The CRC is that of the copy, as in tx_write(). */
static enum rsoft_access tx_alike_write(struct rsoft_tx *tx, u8 *at,
					struct tx_alike *l,
					struct rsoft_cursor *c)
{
	struct rsoft_bth *bth = (struct rsoft_bth *)at;
	enum rsoft_access why = RSOFT_ACCESS_OK;
	u32 left = l->len, run, crc;
	const void *from;
	__le32 icrc;

	memcpy(at, l->bth, RSOFT_HDR_LIKE);
	bth->apsn = cpu_to_be32(l->psn);
	crc = rsoft_icrc_like(&rsoft_icrc_tab, l->state, tx->path->flow.ipv6,
			      l->ip_id, l->psn);
	at += sizeof(*bth);
	while (left) {
		from = rsoft_cursor_next(c, left, &run, &why);
		if (!from)
			return why;
		crc = rsoft_crc_copy(tx->fast, crc, at, from, run);
		at += run;
		left -= run;
	}
	icrc = rsoft_icrc_final(crc);
	memcpy(at, &icrc, sizeof(icrc));
	l->psn = rsoft_psn_add(l->psn, 1);
	l->ip_id++;
	return RSOFT_ACCESS_OK;
}

/* As many as lie behind each other in this CPU's fragment. */
static u32 tx_alike_piece(struct rsoft_tx *tx, struct tx_alike *l,
			  struct rsoft_cursor *c, u32 wire, u32 count,
			  enum rsoft_access *why)
{
	struct sk_buff *skb = tx->skb;
	int frags = skb_shinfo(skb)->nr_frags;
	struct page_frag *frag = tx_frag(wire);
	u32 n = 0;
	u8 *at;

	if (!frag || (frags == MAX_SKB_FRAGS &&
		      !skb_can_coalesce(skb, frags, frag->page, frag->offset)))
		return 0;
	at = page_address(frag->page) + frag->offset;
	count = min(count, (frag->size - frag->offset) / wire);
	while (n < count) {
		*why = tx_alike_write(tx, at, l, c);
		if (*why != RSOFT_ACCESS_OK)
			break;
		at += wire;
		n++;
	}
	if (n) {
		tx_commit_frag(skb, n * wire);
		tx->nsegs += n;
	}
	return n;
}

/**
 * struct tx_ref - pages of the program that hold one packet's payload
 * @at: address of each piece
 * @len: its bytes
 * @num: pieces
 */
struct tx_ref {
	const u8 *at[TX_REF_FRAGS - 2];
	u32 len[TX_REF_FRAGS - 2];
	u32 num;
};

/* A user's pinned pages: others may be freed while an skb still holds them. */
static bool tx_ref_allowed(const struct rsoft_cursor *c)
{
	const struct rsoft_mr *mr = c->ref.mr;

	return mr && mr->k.type == RSOFT_MKEY_USER && mr->umem &&
	       !mr->umem->is_odp && !mr->umem->is_dmabuf;
}

/* The next packet's payload, page by page; false if it cannot be referred to. */
static bool tx_ref_gather(struct rsoft_cursor *c, u32 len, struct tx_ref *r,
			  enum rsoft_access *why)
{
	const u8 *from;
	u32 run, n;

	r->num = 0;
	while (len) {
		from = rsoft_cursor_next(c, len, &run, why);
		if (!from || !tx_ref_allowed(c))
			return false;
		len -= run;
		while (run) {
			if (r->num == ARRAY_SIZE(r->at))
				return false;
			n = min_t(u32, run, PAGE_SIZE - offset_in_page(from));
			r->at[r->num] = from;
			r->len[r->num++] = n;
			from += n;
			run -= n;
		}
	}
	return true;
}

/* Kernel bytes @data become the skb's next ones. */
static void tx_ref_own(struct sk_buff *skb, const void *data, u32 len)
{
	struct page_frag *frag = this_cpu_ptr(&tx_pages.frag);

	memcpy(page_address(frag->page) + frag->offset, data, len);
	tx_commit_frag(skb, len);
}

/*
 * One packet whose payload stays where it is. What the receiver parses is ours:
 * a program that writes meanwhile makes its own iCRC wrong, and what is sent
 * again is copied.
 */
static void tx_ref_add(struct rsoft_tx *tx, struct tx_alike *l,
		       const struct tx_ref *r)
{
	struct rsoft_bth bth;
	struct sk_buff *skb = tx->skb;
	__le32 icrc;
	u32 crc, i;

	memcpy(&bth, l->bth, sizeof(bth));
	bth.apsn = cpu_to_be32(l->psn);
	crc = rsoft_icrc_like(&rsoft_icrc_tab, l->state, tx->path->flow.ipv6,
			      l->ip_id, l->psn);
	tx_ref_own(skb, &bth, sizeof(bth));
	for (i = 0; i < r->num; i++) {
		struct page *page = virt_to_page(r->at[i]);

		crc = rsoft_crc_add(tx->fast, crc, r->at[i], r->len[i]);
		get_page(page);
		skb_fill_page_desc(skb, skb_shinfo(skb)->nr_frags, page,
				   offset_in_page(r->at[i]), r->len[i]);
		skb->len += r->len[i];
		skb->data_len += r->len[i];
		skb->truesize += r->len[i];
	}
	icrc = rsoft_icrc_final(crc);
	tx_ref_own(skb, &icrc, sizeof(icrc));
	l->psn = rsoft_psn_add(l->psn, 1);
	l->ip_id++;
}

/* As many as @skb has fragments for; 0 if the payload must be copied. */
static u32 tx_ref_piece(struct rsoft_tx *tx, struct tx_alike *l,
			struct rsoft_cursor *c, u32 count)
{
	struct sk_buff *skb = tx->skb;
	enum rsoft_access why;
	struct page_frag *frag;
	struct tx_ref r;
	u32 n, used;
	u64 pos;

	for (n = 0; n < count; n++) {
		frag = tx_frag(sizeof(struct rsoft_bth) + RSOFT_ICRC_LEN);
		if (!frag)
			break;
		used = skb_shinfo(skb)->nr_frags;
		/* the header joins the iCRC in front of it where it can */
		used += !skb_can_coalesce(skb, used, frag->page, frag->offset);
		pos = c->pos;
		if (!tx_ref_gather(c, l->len, &r, &why) ||
		    used + r.num + 1 > MAX_SKB_FRAGS) {
			rsoft_cursor_seek(c, pos);
			break;
		}
		tx_ref_add(tx, l, &r);
	}
	if (n) {
		tx->nsegs += n;
		tx->has_refs = true;
		skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
		rsoft_qp_count_add(tx->qp, RSOFT_CNT_TX_BY_REF, n);
	}
	return n;
}

/* Packets of this size that may still join the batch. */
static u32 tx_alike_room(struct rsoft_tx *tx, u32 wire)
{
	if (wire < tx->seg_size)
		return 1;
	return min(tx_max_segs(tx) - tx->nsegs,
		   (u32)(RSOFT_TX_MAX - tx->skb->len) / wire);
}

int rsoft_tx_alike(struct rsoft_tx *tx, struct rsoft_path *path,
		   struct rsoft_pkt *pkt, struct rsoft_cursor *c, u32 len,
		   u32 count, enum rsoft_access *why)
{
	u32 wire = tx_wire_len(pkt->info, len);
	bool started = !tx->skb;
	struct tx_alike l;
	u32 done = 0, n;

	if (started && tx_start(tx, path, wire))
		return -EAGAIN;
	*why = RSOFT_ACCESS_OK;
	tx_alike_init(tx, &l, pkt, len, wire);
	count = min(count, tx_alike_room(tx, wire));
	if (tx->by_ref)
		done = tx_ref_piece(tx, &l, c, count);
	/* by reference an skb has room for few; the rest goes into others */
	n = done ? 0 : count;
	while (n && done < count && *why == RSOFT_ACCESS_OK) {
		n = tx_alike_piece(tx, &l, c, wire, count - done, why);
		done += n;
	}
	if (done && wire < tx->seg_size)
		tx->closed = true;
	/* what stopped it stops the next one too */
	if (done)
		return done;
	if (started) {
		kfree_skb(tx->skb);
		tx->skb = NULL;
	}
	return *why == RSOFT_ACCESS_OK ? -EAGAIN : -EACCES;
}

void rsoft_tx_settle(struct rsoft_tx *tx)
{
	rsoft_crc_leave(tx->fast);
	tx->fast = false;
}

int rsoft_tx_flush(struct rsoft_tx *tx, u8 *refused)
{
	struct rsoft_tx_meta meta;
	u32 len;
	int err;

	rsoft_tx_settle(tx);
	if (!tx->skb)
		return 0;
	meta.seg_size = tx->seg_size;
	meta.nsegs = tx->nsegs;
	meta.ip_id = tx->e->ip_id;
	meta.stats = READ_ONCE(tx->qp->stats);
	len = tx->skb->len;
	if (rsoft_inject_on())
		err = rsoft_inject_xmit(tx->path, tx->qp->sock->sk, tx->skb,
					&meta, tx->qp->qpn);
	else
		err = rsoft_net_xmit(tx->path, tx->qp->sock->sk, tx->skb,
				     &meta);
	tx->skb = NULL;
	rsoft_stack_note(tx->qp);
	if (err == -EAGAIN && *refused < RSOFT_TX_REFUSED_MAX) {
		++*refused;
		return err;
	}
	*refused = 0;
	tx->e->ip_id += meta.nsegs;
	tx->bytes += len + meta.nsegs * 512;
	/* anything else is a packet lost on its way */
	return 0;
}
