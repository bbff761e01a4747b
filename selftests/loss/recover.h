/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pair of QPs whose packets meet faults.
 */
#ifndef LOSS_RECOVER_H
#define LOSS_RECOVER_H

#include "fault.h"

#define LEN		65536
#define LIST_MAX	512
#define PSN		0xfffff0u	/* wraps after 16 packets */
#define PSN_OF(n)	((PSN + (n)) & 0xffffff)
#define MSEC		1000ull

static inline void up(struct vt_pair *p, const struct vt_qp_cfg *cfg,
		      struct vt_conn *conn)
{
	conn->psn_a = PSN;
	vt_pair_up(p, cfg, conn, LEN);
	fault_clear(&p->ea);
	fault_clear(&p->eb);
}

static inline void down(struct vt_pair *p)
{
	fault_clear(&p->ea);
	fault_clear(&p->eb);
	vt_pair_down(p);
}

static inline void post(struct vt_pair *p, enum ibv_wr_opcode op, uint64_t id,
			uint32_t off, uint32_t len)
{
	int rc = vt_post(&p->a, op, id, p->ba.p + off, len, p->ba.mr->lkey,
			 (uintptr_t)p->bb.p + off, p->bb.mr->rkey,
			 IBV_SEND_SIGNALED);

	VT_ASSERT(!rc, "request %d: %s", (int)id, strerror(rc));
}

static inline void recv_at(struct vt_pair *p, uint64_t id, uint32_t off,
			   uint32_t len)
{
	VT_ASSERT(!vt_recv(&p->b, id, p->bb.p + off, len, p->bb.mr->lkey), "");
}

static inline void fill(struct vt_pair *p)
{
	struct vt_rnd r = { 7 };

	vt_fill(&r, p->ba.p, LEN);
	memset(p->bb.p, 0, LEN);
}

static inline void same(struct vt_pair *p, uint32_t off, uint32_t len)
{
	VT_EXPECT(!memcmp(p->ba.p + off, p->bb.p + off, len), "data at %u", off);
}

static inline unsigned int count_list(const struct vt_end *end,
				      const char *action)
{
	struct fault_hit hits[LIST_MAX];
	size_t i, n = fault_list(end, hits, LIST_MAX);
	unsigned int sum = 0;

	for (i = 0; i < n; i++)
		sum += !strcmp(hits[i].action, action);
	return sum;
}

#endif
