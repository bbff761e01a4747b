// SPDX-License-Identifier: GPL-2.0
/*
 * The injector's side of the data path: asks the rules about a packet, cuts it
 * out of its super-packet, and keeps packets that are to come later.
 *
 * A packet is judged once, where it leaves or arrives; copies, and packets that
 * were held, pass without being asked about again.
 */
#include "inject.h"

#include <linux/debugfs.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include <net/sock.h>

#include "cq.h"
#include "device.h"
#include "inject_rule.h"
#include "path.h"
#include "proto/aeth.h"
#include "proto/psn.h"
#include "qp.h"

#define CREATE_TRACE_POINTS
#include "trace_inject.h"

DEFINE_STATIC_KEY_FALSE(rsoft_inject_key);
DEFINE_STATIC_KEY_FALSE(rsoft_inject_step_key);

/* --- rules -------------------------------------------------------------- */

/* One well-mixed number per seed and match (splitmix64). */
static u32 rule_dice(u64 seed, u32 n)
{
	u64 z = seed + (u64)n * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return ((z >> 32) * 1000000) >> 32;
}

static bool rule_matches(const struct rsoft_rule *r,
			 const struct rsoft_inject_pkt *pkt)
{
	if (!(r->dirs & pkt->dir))
		return false;
	if (r->qpn != RSOFT_RULE_ANY && r->qpn != pkt->qpn)
		return false;
	if (!r->any_op && !test_bit(pkt->opcode, r->ops))
		return false;
	if (r->syn_type != RSOFT_RULE_ANY &&
	    r->syn_type != (pkt->syn & RSOFT_SYN_TYPE_MASK))
		return false;
	return r->psn_first == RSOFT_RULE_ANY ||
	       rsoft_psn_in(pkt->psn, r->psn_first, r->psn_last);
}

/* The packet matches: count it; does the rule fire? */
static bool rule_fires(struct rsoft_rule *r)
{
	r->seen++;
	if (r->hits >= r->count)
		return false;
	if (r->nth && r->seen != r->nth)
		return false;
	if (r->every && r->seen % r->every)
		return false;
	if (r->has_share && rule_dice(r->seed, r->seen) >= r->share_ppm)
		return false;
	r->hits++;
	return true;
}

static void inject_log(struct rsoft_inject *inj, const struct rsoft_rule *r,
		       const struct rsoft_inject_pkt *pkt)
{
	struct rsoft_inject_entry *e;

	lockdep_assert_held(&inj->lock);
	e = &inj->log[inj->logged++ & (RSOFT_INJECT_LOG - 1)];
	e->rule = r->id;
	e->what = r->v.what;
	e->place = r->place;
	e->pkt = *pkt;
	trace_rsoft_inject(dev_name(&inj->dev->ib_dev.dev), r->id, r->v.what,
			   pkt);
}

struct rsoft_verdict rsoft_inject_judge(struct rsoft_dev *dev,
					enum rsoft_inject_place place,
					const struct rsoft_inject_pkt *pkt)
{
	struct rsoft_verdict v = { .what = RSOFT_INJECT_NONE };
	struct rsoft_inject *inj = dev->inject;
	struct rsoft_rule *r;
	unsigned long flags;

	if (!READ_ONCE(inj->nrules))
		return v;
	spin_lock_irqsave(&inj->lock, flags);
	list_for_each_entry(r, &inj->rules, node) {
		if (r->place != place || !rule_matches(r, pkt) ||
		    !rule_fires(r))
			continue;
		inject_log(inj, r, pkt);
		if (r->v.what == RSOFT_INJECT_NOTE)
			continue;
		v = r->v;
		break;
	}
	spin_unlock_irqrestore(&inj->lock, flags);
	if (v.what != RSOFT_INJECT_NONE)
		rsoft_count(dev, RSOFT_CNT_INJECTED);
	return v;
}

static bool rule_is_step(const struct rsoft_rule *r)
{
	return r->place == RSOFT_PLACE_REQUEST || r->place == RSOFT_PLACE_SEND;
}

int rsoft_inject_add(struct rsoft_inject *inj, struct rsoft_rule *rule)
{
	struct rsoft_inject_entry *log = NULL;
	int err = 0;

	lockdep_assert_held(&inj->ctl);
	if (inj->dead)
		return -ENODEV;
	if (inj->nrules >= RSOFT_INJECT_RULES_MAX)
		return -ENOSPC;
	if (!inj->log) {
		log = kvcalloc(RSOFT_INJECT_LOG, sizeof(*log), GFP_KERNEL);
		if (!log)
			return -ENOMEM;
	}
	spin_lock_irq(&inj->lock);
	if (log)
		inj->log = log;
	rule->id = ++inj->next_id;
	list_add_tail(&rule->node, &inj->rules);
	WRITE_ONCE(inj->nrules, inj->nrules + 1);
	spin_unlock_irq(&inj->lock);
	if (inj->nrules == 1)
		static_branch_inc(&rsoft_inject_key);
	if (rule_is_step(rule))
		static_branch_inc(&rsoft_inject_step_key);
	return err;
}

int rsoft_inject_clear(struct rsoft_inject *inj, u32 id)
{
	struct rsoft_rule *r, *tmp;
	u32 before = inj->nrules;
	LIST_HEAD(gone);

	lockdep_assert_held(&inj->ctl);
	spin_lock_irq(&inj->lock);
	list_for_each_entry_safe(r, tmp, &inj->rules, node) {
		if (id != RSOFT_RULE_ANY && id != r->id)
			continue;
		list_move_tail(&r->node, &gone);
		WRITE_ONCE(inj->nrules, inj->nrules - 1);
	}
	if (id == RSOFT_RULE_ANY) {
		inj->logged = 0;
		inj->next_id = 0;
	}
	spin_unlock_irq(&inj->lock);
	if (before && !inj->nrules)
		static_branch_dec(&rsoft_inject_key);
	if (id != RSOFT_RULE_ANY && list_empty(&gone))
		return -ENOENT;
	list_for_each_entry_safe(r, tmp, &gone, node) {
		if (rule_is_step(r))
			static_branch_dec(&rsoft_inject_step_key);
		kfree(r);
	}
	return 0;
}

/* --- packets that are held ---------------------------------------------- */

void rsoft_inject_release(struct list_head *list)
{
	struct rsoft_held *h, *tmp;

	list_for_each_entry_safe(h, tmp, list, node) {
		list_del(&h->node);
		h->go(h, false);
	}
}

static void inject_rearm(struct rsoft_inject *inj)
{
	struct rsoft_held *h;
	u64 next = U64_MAX;

	lockdep_assert_held(&inj->lock);
	list_for_each_entry(h, &inj->held, node)
		next = min(next, h->due);
	if (next != U64_MAX)
		hrtimer_start(&inj->timer, ns_to_ktime(next),
			      HRTIMER_MODE_ABS_SOFT);
}

static enum hrtimer_restart inject_timer(struct hrtimer *t)
{
	struct rsoft_inject *inj = container_of(t, struct rsoft_inject, timer);
	struct rsoft_held *h, *tmp;
	u64 now = ktime_get_ns();
	LIST_HEAD(due);

	spin_lock_irq(&inj->lock);
	list_for_each_entry_safe(h, tmp, &inj->held, node) {
		if (h->due > now)
			continue;
		list_move_tail(&h->node, &due);
		inj->nheld--;
	}
	inject_rearm(inj);
	spin_unlock_irq(&inj->lock);
	rsoft_inject_release(&due);
	return HRTIMER_NORESTART;
}

void rsoft_inject_hold(struct rsoft_dev *dev, struct rsoft_held *held,
		       const struct rsoft_verdict *v)
{
	struct rsoft_inject *inj = dev->inject;
	unsigned long flags;
	bool full;

	held->due = ktime_get_ns() + v->ns;
	held->after = v->what == RSOFT_INJECT_REORDER ? v->arg : 0;
	spin_lock_irqsave(&inj->lock, flags);
	full = inj->dead || inj->nheld >= RSOFT_INJECT_HELD_MAX;
	if (!full) {
		list_add_tail(&held->node, &inj->held);
		inj->nheld++;
		if (!hrtimer_is_queued(&inj->timer) ||
		    held->due < ktime_to_ns(hrtimer_get_expires(&inj->timer)))
			hrtimer_start(&inj->timer, ns_to_ktime(held->due),
				      HRTIMER_MODE_ABS_SOFT);
	}
	spin_unlock_irqrestore(&inj->lock, flags);
	if (full)
		held->go(held, true);
}

bool rsoft_inject_passed(struct rsoft_dev *dev,
			 const struct rsoft_inject_pkt *pkt,
			 struct list_head *list)
{
	struct rsoft_inject *inj = dev->inject;
	struct rsoft_held *h, *tmp;
	unsigned long flags;

	if (!READ_ONCE(inj->nheld))
		return false;
	spin_lock_irqsave(&inj->lock, flags);
	list_for_each_entry_safe(h, tmp, &inj->held, node) {
		if (!h->after || h->dir != pkt->dir || h->qpn != pkt->qpn)
			continue;
		if (--h->after)
			continue;
		list_move_tail(&h->node, list);
		inj->nheld--;
	}
	spin_unlock_irqrestore(&inj->lock, flags);
	return !list_empty(list);
}

static void inject_drop(struct list_head *list)
{
	struct rsoft_held *h, *tmp;

	list_for_each_entry_safe(h, tmp, list, node) {
		list_del(&h->node);
		h->go(h, true);
	}
}

void rsoft_inject_forget(struct rsoft_dev *dev, u32 qpn)
{
	struct rsoft_inject *inj = dev->inject;
	struct rsoft_held *h, *tmp;
	LIST_HEAD(list);

	/* without a rule ever, nothing was held */
	if (!READ_ONCE(inj->log))
		return;
	spin_lock_irq(&inj->lock);
	list_for_each_entry_safe(h, tmp, &inj->held, node) {
		if (h->dir != RSOFT_INJECT_TX || h->qpn != qpn)
			continue;
		list_move_tail(&h->node, &list);
		inj->nheld--;
	}
	spin_unlock_irq(&inj->lock);
	/* one that the timer took before is gone after this */
	hrtimer_cancel(&inj->timer);
	spin_lock_irq(&inj->lock);
	inject_rearm(inj);
	spin_unlock_irq(&inj->lock);
	inject_drop(&list);
}

/* --- packets on their way out ------------------------------------------- */

/**
 * struct inject_tx - one skb that is cut up
 * @path: destination
 * @sk: socket that is charged
 * @skb: the whole
 * @meta: how it is cut
 * @sent: something was given to the stack
 * @first_err: result of the first part
 */
struct inject_tx {
	struct rsoft_path *path;
	struct sock *sk;
	struct sk_buff *skb;
	const struct rsoft_tx_meta *meta;
	bool sent;
	int first_err;
};

/**
 * struct inject_tx_held - a packet that leaves later
 * @h: in the list
 * @skb: packet
 * @path: destination, held
 * @sk: socket, held
 * @meta: ID
 */
struct inject_tx_held {
	struct rsoft_held h;
	struct sk_buff *skb;
	struct rsoft_path *path;
	struct sock *sk;
	struct rsoft_tx_meta meta;
};

static void inject_tx_go(struct rsoft_held *held, bool drop)
{
	struct inject_tx_held *h = container_of(held, struct inject_tx_held, h);

	if (drop)
		kfree_skb(h->skb);
	else
		rsoft_net_xmit(h->path, h->sk, h->skb, &h->meta);
	rsoft_path_put(h->path);
	sock_put(h->sk);
	kfree(h);
}

void rsoft_inject_corrupt(u8 *p, u32 len, u32 at)
{
	if (at >= len)
		at = len - RSOFT_ICRC_LEN - 1;
	p[at] = ~p[at];
}

/* Packets @first to @last as an skb of their own; NULL without memory. */
static struct sk_buff *tx_cut(const struct inject_tx *it, u32 first, u32 last)
{
	u32 from = first * it->meta->seg_size;
	u32 to = min_t(u32, (last + 1) * it->meta->seg_size, it->skb->len);
	struct sk_buff *skb = pskb_extract(it->skb, from, to - from,
					   GFP_ATOMIC);

	if (skb && skb_cow_head(skb, RSOFT_TX_HEADROOM)) {
		kfree_skb(skb);
		skb = NULL;
	}
	return skb;
}

static void tx_give(struct inject_tx *it, struct sk_buff *skb, u32 first,
		    u32 last)
{
	struct rsoft_tx_meta meta = {
		.seg_size = it->meta->seg_size,
		.nsegs = last - first + 1,
		.ip_id = it->meta->ip_id + first,
		.stats = it->meta->stats,
	};
	int err;

	/* without memory, lost as on a wire */
	if (!skb)
		return;
	err = rsoft_net_xmit(it->path, it->sk, skb, &meta);
	if (!it->sent)
		it->first_err = err;
	it->sent = true;
}

/* Packets from @first up to @end, which no rule is about. */
static void tx_run(struct inject_tx *it, u32 first, u32 end)
{
	if (first < end)
		tx_give(it, tx_cut(it, first, end - 1), first, end - 1);
}

static void tx_hold(struct inject_tx *it, u32 i, u32 qpn,
		    const struct rsoft_verdict *v)
{
	struct sk_buff *skb = tx_cut(it, i, i);
	struct inject_tx_held *h;

	h = skb ? kzalloc(sizeof(*h), GFP_ATOMIC) : NULL;
	if (!h) {
		kfree_skb(skb);
		return;
	}
	h->h.dir = RSOFT_INJECT_TX;
	h->h.qpn = qpn;
	h->h.go = inject_tx_go;
	h->skb = skb;
	h->path = rsoft_path_get(it->path);
	sock_hold(it->sk);
	h->sk = it->sk;
	h->meta.seg_size = it->meta->seg_size;
	h->meta.nsegs = 1;
	h->meta.ip_id = it->meta->ip_id + i;
	/* a counter of the QP's own may be gone by then */
	h->meta.stats = it->path->dev->stats;
	rsoft_inject_hold(it->path->dev, &h->h, v);
}

static void tx_corrupt(struct inject_tx *it, u32 i, u32 at)
{
	struct sk_buff *skb = tx_cut(it, i, i);

	/* the pages may be read by a tap of an earlier packet: write a copy */
	if (skb && skb_linearize_cow(skb)) {
		kfree_skb(skb);
		skb = NULL;
	}
	if (skb)
		rsoft_inject_corrupt(skb->data, skb->len, at);
	tx_give(it, skb, i, i);
}

/* Do to packet @i what was decided; false if it never leaves now. */
static bool tx_apply(struct inject_tx *it, u32 i, u32 qpn,
		     const struct rsoft_verdict *v)
{
	u32 n;

	switch (v->what) {
	case RSOFT_INJECT_DUP:
		for (n = 0; n <= v->arg; n++)
			tx_give(it, tx_cut(it, i, i), i, i);
		return true;
	case RSOFT_INJECT_CORRUPT:
		tx_corrupt(it, i, v->arg);
		return true;
	case RSOFT_INJECT_DELAY:
	case RSOFT_INJECT_REORDER:
		tx_hold(it, i, qpn, v);
		break;
	default:
		break;
	}
	/* its sender believes that it left */
	it->sent = true;
	return false;
}

int rsoft_inject_xmit(struct rsoft_path *path, struct sock *sk,
		      struct sk_buff *skb, const struct rsoft_tx_meta *meta,
		      u32 qpn)
{
	struct inject_tx it = {
		.path = path, .sk = sk, .skb = skb, .meta = meta,
	};
	struct rsoft_inject_pkt pkt = {};
	struct rsoft_verdict v;
	u32 first = 0, i;
	LIST_HEAD(list);
	bool passes;
	u8 bth[13];

	for (i = 0; i < meta->nsegs; i++) {
		if (skb_copy_bits(skb, i * meta->seg_size, bth, sizeof(bth)))
			break;
		rsoft_inject_view(bth, &pkt);
		pkt.dir = RSOFT_INJECT_TX;
		pkt.qpn = qpn;
		v = rsoft_inject_judge(path->dev, RSOFT_PLACE_WIRE, &pkt);
		passes = true;
		if (v.what != RSOFT_INJECT_NONE) {
			tx_run(&it, first, i);
			passes = tx_apply(&it, i, qpn, &v);
			first = i + 1;
		}
		if (!passes || !rsoft_inject_passed(path->dev, &pkt, &list))
			continue;
		tx_run(&it, first, i + 1);
		first = i + 1;
		rsoft_inject_release(&list);
	}
	if (!first)
		return rsoft_net_xmit(path, sk, skb, meta);
	tx_run(&it, first, meta->nsegs);
	consume_skb(skb);
	return it.first_err;
}

/* --- the other places --------------------------------------------------- */

void rsoft_inject_view(const u8 *bth, struct rsoft_inject_pkt *pkt)
{
	pkt->qpn = rsoft_hdr_peek(bth, &pkt->opcode);
	pkt->psn = get_unaligned_be32(bth + offsetof(struct rsoft_bth, apsn)) &
		   RSOFT_PSN_MASK;
	pkt->syn = rsoft_opinfo(pkt->opcode)->hdrs & RSOFT_HDR_AETH ?
		   bth[sizeof(struct rsoft_bth)] : 0;
}

struct rsoft_verdict rsoft_inject_request(struct rsoft_qp *qp,
					  const struct rsoft_pkt *pkt)
{
	struct rsoft_inject_pkt view = {
		.dir = RSOFT_INJECT_RX,
		.opcode = pkt->opcode,
		.qpn = qp->qpn,
		.psn = pkt->psn,
	};

	return rsoft_inject_judge(qp->dev, RSOFT_PLACE_REQUEST, &view);
}

bool rsoft_inject_send(struct rsoft_qp *qp, const struct rsoft_pkt *pkt,
		       enum ib_wc_status *status)
{
	struct rsoft_inject_pkt view = {
		.dir = RSOFT_INJECT_TX,
		.opcode = pkt->opcode,
		.qpn = qp->qpn,
		.psn = pkt->psn,
	};
	struct rsoft_verdict v;

	v = rsoft_inject_judge(qp->dev, RSOFT_PLACE_SEND, &view);
	if (v.what != RSOFT_INJECT_WC)
		return false;
	*status = v.arg;
	return true;
}

bool rsoft_inject_cq(struct rsoft_cq *cq, const struct ib_wc *wc)
{
	struct rsoft_inject_pkt view = { .qpn = wc->qp->qp_num };
	bool recv = wc->qp->recv_cq == &cq->ibcq;
	struct rsoft_verdict v;

	if (recv && wc->qp->send_cq == &cq->ibcq)
		recv = wc->opcode & IB_WC_RECV;
	view.dir = recv ? RSOFT_INJECT_RX : RSOFT_INJECT_TX;
	v = rsoft_inject_judge(to_rdev(cq->ibcq.device), RSOFT_PLACE_CQ, &view);
	return v.what == RSOFT_INJECT_CQFULL;
}

/* --- life of a device --------------------------------------------------- */

int rsoft_inject_create(struct rsoft_dev *dev)
{
	struct rsoft_inject *inj = kzalloc(sizeof(*inj), GFP_KERNEL);

	if (!inj)
		return -ENOMEM;
	inj->dev = dev;
	mutex_init(&inj->ctl);
	spin_lock_init(&inj->lock);
	INIT_LIST_HEAD(&inj->rules);
	INIT_LIST_HEAD(&inj->held);
	hrtimer_setup(&inj->timer, inject_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	dev->inject = inj;
	return 0;
}

void rsoft_inject_publish(struct rsoft_dev *dev)
{
	rsoft_inject_files(dev->inject);
}

void rsoft_inject_stop(struct rsoft_dev *dev)
{
	struct rsoft_inject *inj = dev->inject;
	LIST_HEAD(list);

	debugfs_remove_recursive(inj->dir);
	inj->dir = NULL;
	mutex_lock(&inj->ctl);
	spin_lock_irq(&inj->lock);
	inj->dead = true;
	list_splice_init(&inj->held, &list);
	inj->nheld = 0;
	spin_unlock_irq(&inj->lock);
	rsoft_inject_clear(inj, RSOFT_RULE_ANY);
	mutex_unlock(&inj->ctl);
	hrtimer_cancel(&inj->timer);
	inject_drop(&list);
}

void rsoft_inject_destroy(struct rsoft_dev *dev)
{
	struct rsoft_inject *inj = dev->inject;

	if (!inj)
		return;
	dev->inject = NULL;
	mutex_destroy(&inj->ctl);
	kvfree(inj->log);
	kfree(inj);
}
