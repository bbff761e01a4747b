// SPDX-License-Identifier: GPL-2.0
/*
 * A program that writes to its buffers while they are sent. It must not, but what it
 * gets is its own mixture of old and new bytes: no hang, no error, and no packet
 * whose iCRC is wrong, at the source of a SEND or WRITE as at that of a READ.
 *
 * With payload by reference packets may be damaged, and dropped by the peer. What is
 * sent again is copied, so that a message goes back once at most. The counters tell:
 * each NAK for a gap and each time-out is one return.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include "fault.h"

#define LEN	65536
#define MSGS	300
#define DEPTH	8

struct scribble {
	uint64_t *p;
	uint64_t rounds;
	bool stop;
};

struct how {
	enum ibv_wr_opcode op;
	enum ibv_mtu mtu;
	bool by_ref;
};

static void *scribble(void *arg)
{
	struct scribble *s = arg;
	uint64_t n = 0;
	size_t i;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		n++;
		for (i = 0; i < LEN / sizeof(n); i++)
			__atomic_store_n(&s->p[i], n, __ATOMIC_RELAXED);
		__atomic_store_n(&s->rounds, n, __ATOMIC_RELAXED);
	}
	return NULL;
}

static uint64_t both(const struct vt_pair *p, const char *name)
{
	return fault_counter(&p->ea, name) + fault_counter(&p->eb, name);
}

static void post(struct vt_pair *p, enum ibv_wr_opcode op, uint64_t id)
{
	if (op == IBV_WR_SEND)
		VT_ASSERT(!vt_recv(&p->b, id, p->bb.p, LEN, p->bb.mr->lkey), "%m");
	VT_ASSERT(!vt_post(&p->a, op, id, p->ba.p, LEN, p->ba.mr->lkey,
			   (uintptr_t)p->bb.p, p->bb.mr->rkey,
			   IBV_SEND_SIGNALED), "%m");
}

static void by_reference(const struct vt_pair *p, const char *value)
{
	const struct ibv_context *ctx[] = { p->ea.ctx, p->eb.ctx };
	char path[256];
	size_t i;
	FILE *f;

	for (i = 0; i < VT_ARRAY_SIZE(ctx); i++) {
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%s/payload_by_reference",
			 ibv_get_device_name(ctx[i]->device));
		f = fopen(path, "w");
		VT_ASSERT(f, "%s: %m", path);
		VT_ASSERT(fputs(value, f) >= 0 && !fclose(f), "%s: %m", path);
	}
}

/* Returns how often the buffer was rewritten meanwhile. */
static uint64_t messages(struct vt_pair *p, enum ibv_wr_opcode op)
{
	struct scribble s = {
		.p = (uint64_t *)(op == IBV_WR_RDMA_READ ? p->bb.p : p->ba.p),
	};
	uint64_t sent = 0, done, first;
	pthread_t thread;

	VT_ASSERT(!pthread_create(&thread, NULL, scribble, &s), "thread");
	while (!__atomic_load_n(&s.rounds, __ATOMIC_RELAXED))
		sched_yield();
	first = __atomic_load_n(&s.rounds, __ATOMIC_RELAXED);
	for (done = 0; done < MSGS; done++) {
		while (sent < MSGS && sent < done + DEPTH)
			post(p, op, sent++);
		VT_WANT(p->a.scq, done, IBV_WC_SUCCESS);
		if (op == IBV_WR_SEND)
			VT_WANT(p->b.rcq, done, IBV_WC_SUCCESS);
	}
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return s.rounds - first;
}

static void send_while_written(const void *arg)
{
	const struct how *how = arg;
	uint64_t crc, again, back, ref, rounds;
	struct vt_conn conn = { .mtu = how->mtu };
	struct vt_pair p = {};

	vt_pair_up(&p, NULL, &conn, LEN);
	by_reference(&p, how->by_ref ? "on" : "off");
	crc = both(&p, "drop_icrc");
	again = both(&p, "retransmits");
	ref = both(&p, "tx_by_ref");
	back = both(&p, "naks_rcvd") + both(&p, "ack_timeouts") +
	       both(&p, "implied_naks");
	rounds = messages(&p, how->op);
	by_reference(&p, "off");
	crc = both(&p, "drop_icrc") - crc;
	again = both(&p, "retransmits") - again;
	ref = both(&p, "tx_by_ref") - ref;
	back = both(&p, "naks_rcvd") + both(&p, "ack_timeouts") +
	       both(&p, "implied_naks") - back;
	vt_note("%d messages, buffer rewritten %llu times, %llu packets by reference",
		MSGS, (unsigned long long)rounds, (unsigned long long)ref);
	vt_note("%llu damaged, %llu times back, %llu packets sent again",
		(unsigned long long)crc, (unsigned long long)back,
		(unsigned long long)again);
	VT_EXPECT(rounds > 1, "the buffer was not rewritten");
	VT_EXPECT(back <= MSGS, "more than one return per message");
	if (how->by_ref) {
		VT_EXPECT(ref >= MSGS, "payload was copied");
	} else {
		VT_EXPECT(!ref, "payload was not copied");
		VT_EXPECT(!crc, "packets were damaged");
		VT_EXPECT(again <= MSGS, "more than one packet per message");
	}
	vt_pair_down(&p);
}

static const struct how sends = { IBV_WR_SEND, IBV_MTU_1024, false };
static const struct how writes = { IBV_WR_RDMA_WRITE, IBV_MTU_1024, false };
static const struct how reads = { IBV_WR_RDMA_READ, IBV_MTU_1024, false };
static const struct how big_writes = { IBV_WR_RDMA_WRITE, IBV_MTU_4096, false };
static const struct how ref_sends = { IBV_WR_SEND, IBV_MTU_4096, true };
static const struct how ref_writes = { IBV_WR_RDMA_WRITE, IBV_MTU_4096, true };

int main(int argc, char **argv)
{
	static const struct vt_test tests[] = {
		{ "send", send_while_written, &sends, 0 },
		{ "write", send_while_written, &writes, 0 },
		{ "read", send_while_written, &reads, 0 },
		{ "write_4096", send_while_written, &big_writes, 0 },
		{ "send_by_reference", send_while_written, &ref_sends, 0 },
		{ "write_by_reference", send_while_written, &ref_writes, 0 },
	};

	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
