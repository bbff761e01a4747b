// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of the numbers that others present to us. A number is a permuted slot;
 * slots are handed out in a circle, so a number comes back only after all
 * others were used (a peer may still hold a QPN in TIMEWAIT). What a number
 * stands for is found by a hash table of its own, without undoing the
 * permutation.
 *
 * A lookup reads the table under RCU and takes a reference unless the count is
 * already zero. Removal hides the entry, drops the table's reference and waits
 * for the last one; the handle itself lives on for a grace period.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "table.h"

#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "proto/access.h"

#define SLOT_MAX	0xffffff
#define SLOTS_BAD	3	/* of QPNs: 0, 1 and the last one */
#define REPORT_AFTER	(10 * HZ)

struct rsoft_table rsoft_qp_table;
struct rsoft_table rsoft_key_table;
struct rsoft_table rsoft_ah_table;

/*
 * Buckets: 100,000 keys make chains of six, which costs less than memory for
 * them on all the machines that have a hundred.
 */
#define QP_BUCKETS	BIT(14)
#define KEY_BUCKETS	BIT(14)
#define AH_BUCKETS	BIT(10)

static int table_init(struct rsoft_table *t, u32 first, u32 last, u32 buckets)
{
	t->buckets = kvcalloc(buckets, sizeof(*t->buckets), GFP_KERNEL);
	if (!t->buckets)
		return -ENOMEM;
	t->mask = buckets - 1;
	xa_init_flags(&t->xa, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	t->first = first;
	t->last = last;
	t->next = get_random_u32() & SLOT_MAX;
	get_random_bytes(t->key, sizeof(t->key));
	return 0;
}

static void table_exit(struct rsoft_table *t)
{
	if (!t->buckets)
		return;
	WARN_ON(!xa_empty(&t->xa));
	xa_destroy(&t->xa);
	kvfree(t->buckets);
	t->buckets = NULL;
}

int rsoft_tables_init(void)
{
	int err;

	/* QPNs 0 and 1 are the management QPs, the last one is multicast. */
	err = table_init(&rsoft_qp_table, 2, 0xfffffe, QP_BUCKETS);
	/* Index 0 would make key 0, which means "none" to some consumers. */
	err = err ?: table_init(&rsoft_key_table, 1, 0xfffffe, KEY_BUCKETS);
	/* 0 in a WQE means "no number". */
	err = err ?: table_init(&rsoft_ah_table, 1, 0xffffff, AH_BUCKETS);
	if (err)
		rsoft_tables_exit();
	return err;
}

void rsoft_tables_exit(void)
{
	table_exit(&rsoft_ah_table);
	table_exit(&rsoft_key_table);
	table_exit(&rsoft_qp_table);
}

static bool id_usable(const struct rsoft_table *t, u32 id)
{
	return id >= t->first && id <= t->last;
}

static void slot_free(struct rsoft_table *t, u32 slot)
{
	unsigned long flags;

	xa_lock_irqsave(&t->xa, flags);
	__xa_erase(&t->xa, slot);
	xa_unlock_irqrestore(&t->xa, flags);
}

/* Reserve a slot whose number may be used. At most SLOTS_BAD others exist. */
static int slot_alloc(struct rsoft_table *t, u32 *slot, gfp_t gfp)
{
	unsigned long flags;
	int tries, ret;

	for (tries = 0; tries <= SLOTS_BAD; tries++) {
		xa_lock_irqsave(&t->xa, flags);
		ret = __xa_alloc_cyclic(&t->xa, slot, NULL,
					XA_LIMIT(0, SLOT_MAX), &t->next, gfp);
		xa_unlock_irqrestore(&t->xa, flags);
		if (ret < 0)
			return ret == -EBUSY ? -ENOSPC : ret;
		if (id_usable(t, rsoft_permute24(*slot, t->key)))
			return 0;
		slot_free(t, *slot);
	}
	return -ENOSPC;
}

struct rsoft_handle *rsoft_table_add(struct rsoft_table *t, void *obj,
				     gfp_t gfp)
{
	struct rsoft_handle *h;
	int ret;

	h = kzalloc(sizeof(*h), gfp | __GFP_ACCOUNT);
	if (!h)
		return ERR_PTR(-ENOMEM);

	ret = slot_alloc(t, &h->slot, gfp);
	if (ret) {
		kfree(h);
		return ERR_PTR(ret);
	}
	h->id = rsoft_permute24(h->slot, t->key);
	h->obj = obj;
	refcount_set(&h->ref, 1);
	init_completion(&h->gone);
	return h;
}

static struct hlist_head *table_bucket(const struct rsoft_table *t, u32 id)
{
	return &t->buckets[id & t->mask];
}

void rsoft_table_publish(struct rsoft_table *t, struct rsoft_handle *h)
{
	unsigned long flags;

	xa_lock_irqsave(&t->xa, flags);
	hlist_add_head_rcu(&h->node, table_bucket(t, h->id));
	xa_unlock_irqrestore(&t->xa, flags);
}

struct rsoft_handle *rsoft_table_get(struct rsoft_table *t, u32 id)
{
	struct rsoft_handle *h;

	/* BH is disabled, which is a read section: no need to say so again */
	hlist_for_each_entry_rcu(h, table_bucket(t, id), node,
				 rcu_read_lock_bh_held()) {
		if (h->id == id)
			return refcount_inc_not_zero(&h->ref) ? h : NULL;
	}
	return NULL;
}

void rsoft_handle_put(struct rsoft_handle *h)
{
	if (refcount_dec_and_test(&h->ref))
		complete(&h->gone);
}

void rsoft_table_hide(struct rsoft_table *t, struct rsoft_handle *h)
{
	unsigned long flags;

	/* The slot stays reserved. */
	xa_lock_irqsave(&t->xa, flags);
	if (!hlist_unhashed(&h->node))
		hlist_del_init_rcu(&h->node);
	xa_unlock_irqrestore(&t->xa, flags);
}

void rsoft_table_remove(struct rsoft_table *t, struct rsoft_handle *h)
{
	rsoft_table_hide(t, h);
	rsoft_handle_put(h);
	if (!wait_for_completion_timeout(&h->gone, REPORT_AFTER)) {
		pr_warn("number %#x still has %u users after 10 s, waiting\n",
			h->id, refcount_read(&h->ref));
		wait_for_completion(&h->gone);
	}

	slot_free(t, h->slot);
	kfree_rcu(h, rcu);
}
