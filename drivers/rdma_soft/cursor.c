// SPDX-License-Identifier: GPL-2.0
/*
 * Walks the pieces of memory of a message. The region of a piece is looked up,
 * checked for the whole piece and held once; packets of a message that are
 * processed in one go share that work.
 */
#include "cursor.h"

/* Bytes for which a translation is made at once. */
#define CURSOR_AHEAD	(32 * 1024u)

void rsoft_cursor_init(struct rsoft_cursor *c, const struct rsoft_qp *qp,
		       const struct rsoft_sge *sge, u32 num, u32 need)
{
	*c = (struct rsoft_cursor){
		.qp = qp, .sge = sge, .num = num, .need = need,
	};
}

void rsoft_cursor_flat(struct rsoft_cursor *c, const void *buf)
{
	*c = (struct rsoft_cursor){ .flat = buf };
}

void rsoft_cursor_release(struct rsoft_cursor *c)
{
	rsoft_mem_put(&c->ref);
	c->ready = 0;
}

void rsoft_cursor_move(struct rsoft_cursor *c, u64 pos)
{
	c->ready = 0;
	if (pos < c->pos) {
		rsoft_cursor_release(c);
		c->idx = 0;
		c->off = 0;
		c->pos = 0;
	}
	if (c->flat) {
		c->pos = pos;
		return;
	}
	while (c->idx < c->num) {
		u32 left = c->sge[c->idx].len - c->off;

		if (pos - c->pos < left) {
			c->off += pos - c->pos;
			break;
		}
		c->pos += left;
		c->off = 0;
		c->idx++;
		rsoft_cursor_release(c);
	}
	c->pos = pos;
}

void *rsoft_cursor_find(struct rsoft_cursor *c, u32 want, u32 *run,
			enum rsoft_access *why)
{
	const struct rsoft_sge *sge;
	u32 found;
	u8 *at;

	if (c->flat) {
		at = (u8 *)c->flat + c->pos;
		c->pos += want;
		*run = want;
		return at;
	}
	while (c->idx < c->num && c->off == c->sge[c->idx].len) {
		c->idx++;
		c->off = 0;
		rsoft_cursor_release(c);
	}
	if (c->idx == c->num) {
		*why = RSOFT_ACCESS_RANGE;
		return NULL;
	}
	sge = &c->sge[c->idx];
	if (!c->ref.mr) {
		*why = rsoft_mem_get(c->qp, sge->lkey, c->need, sge->addr,
				     sge->len, &c->ref);
		if (*why != RSOFT_ACCESS_OK)
			return NULL;
	}
	/* look ahead: whoever walks a message comes back for what follows */
	at = rsoft_mem_at(c->ref.mr, sge->addr + c->off,
			  min(max(want, CURSOR_AHEAD), sge->len - c->off),
			  &found);
	*run = min(want, found);
	c->off += *run;
	c->pos += *run;
	c->at = at + *run;
	c->ready = found - *run;
	return at;
}

enum rsoft_access rsoft_cursor_put(struct rsoft_cursor *c, const void *data,
				   u32 len)
{
	enum rsoft_access why;
	void *to;
	u32 n;

	while (len) {
		to = rsoft_cursor_next(c, len, &n, &why);
		if (!to)
			return why;
		memcpy(to, data, n);
		data += n;
		len -= n;
	}
	return RSOFT_ACCESS_OK;
}
