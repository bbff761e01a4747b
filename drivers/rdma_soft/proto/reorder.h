/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long to wait for packets that are late, before they are asked for again;
 * and how long an answer takes.
 *
 * A path that never reordered has lost what is missing: ask at once. One that
 * did shows how late its packets come: each gap that closed by itself tells, and
 * each packet that was asked for and then came twice.
 */
#ifndef RSOFT_PROTO_REORDER_H
#define RSOFT_PROTO_REORDER_H

#include "types.h"

#define RSOFT_REORDER_MIN_US	200
#define RSOFT_REORDER_MAX_US	1000
/* Losses in a row after which a path is no longer taken to reorder. */
#define RSOFT_REORDER_FORGET	16

/**
 * struct rsoft_reorder - what one end knows of a path
 * @wait_us: time that a gap may stay open; 0: the path never reordered
 * @losses: packets asked for since the last sign of reordering
 */
struct rsoft_reorder {
	u32 wait_us;
	u32 losses;
};

static inline void rsoft_reorder_raise(struct rsoft_reorder *r, u32 us)
{
	if (us < RSOFT_REORDER_MIN_US)
		us = RSOFT_REORDER_MIN_US;
	if (us > RSOFT_REORDER_MAX_US)
		us = RSOFT_REORDER_MAX_US;
	if (us > r->wait_us)
		r->wait_us = us;
	r->losses = 0;
}

/**
 * rsoft_reorder_closed() - a gap closed before anything was asked for
 * @r: path
 * @us: time that it was open
 *
 * A quarter is added for packets that come still later.
 */
static inline void rsoft_reorder_closed(struct rsoft_reorder *r, u32 us)
{
	if (us > RSOFT_REORDER_MAX_US)
		us = RSOFT_REORDER_MAX_US;
	rsoft_reorder_raise(r, us + us / 4);
}

/**
 * rsoft_reorder_twice() - what was asked for came twice: it had only been late
 * @r: path
 * @rtt_us: smoothed round-trip time, 0 if it is not known
 */
static inline void rsoft_reorder_twice(struct rsoft_reorder *r, u32 rtt_us)
{
	rsoft_reorder_raise(r, r->wait_us ? 2 * r->wait_us : rtt_us / 4);
}

/**
 * rsoft_reorder_asked() - something is asked for after @r->wait_us
 * @r: path
 */
static inline void rsoft_reorder_asked(struct rsoft_reorder *r)
{
	if (!r->wait_us || ++r->losses <= RSOFT_REORDER_FORGET)
		return;
	r->wait_us = 0;
	r->losses = 0;
}

/* A probe for an answer goes out not earlier than this. */
#define RSOFT_PROBE_MIN_US	1000

/**
 * struct rsoft_rtt - round-trip times (RFC 6298)
 * @srtt_us: smoothed, 0 if none was measured yet
 * @var_us: mean deviation
 */
struct rsoft_rtt {
	u32 srtt_us;
	u32 var_us;
};

/**
 * rsoft_rtt_add() - a round trip was measured
 * @r: times so far
 * @us: its time; never of a packet that was sent twice
 */
static inline void rsoft_rtt_add(struct rsoft_rtt *r, u32 us)
{
	u32 off;

	if (!us)
		us = 1;
	if (us > 1u << 24)
		us = 1u << 24;
	if (!r->srtt_us) {
		r->srtt_us = us;
		r->var_us = us / 2;
		return;
	}
	off = us > r->srtt_us ? us - r->srtt_us : r->srtt_us - us;
	r->var_us = r->var_us - r->var_us / 4 + off / 4;
	r->srtt_us = r->srtt_us - r->srtt_us / 8 + us / 8;
	if (!r->srtt_us)
		r->srtt_us = 1;
}

/**
 * rsoft_rtt_probe_us() - when an answer is late enough to probe for it
 * @r: times
 *
 * Return: microseconds, 0 if no round trip was measured yet.
 */
static inline u32 rsoft_rtt_probe_us(const struct rsoft_rtt *r)
{
	u32 a = 2 * r->srtt_us, b = r->srtt_us + 4 * r->var_us;

	if (!r->srtt_us)
		return 0;
	if (b > a)
		a = b;
	return a < RSOFT_PROBE_MIN_US ? RSOFT_PROBE_MIN_US : a;
}

#endif
