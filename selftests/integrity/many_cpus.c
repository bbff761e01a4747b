// SPDX-License-Identifier: GPL-2.0
/*
 * One QP whose work is posted by two threads, each on a CPU of its own. Nothing on
 * the way loses a packet, so that each message must arrive, on UC as well, which
 * cannot have back what another CPU's packets overtook. The messages are long: the
 * longer the peer works on a packet, the more can overtake it.
 *
 * VT_SECONDS (default 5) is the time for one case. On one CPU the threads take turns.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "vt.h"

#define THREADS	2
#define POSTS	8		/* of each thread in a round */
#define LEN	65536

struct poster {
	pthread_t id;
	int number;
	struct vt_pair *p;
	pthread_barrier_t *start;
};

static bool stop;			/* the barrier orders it */

static void pin(int number)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(number % sysconf(_SC_NPROCESSORS_ONLN), &set);
	VT_ASSERT(!sched_setaffinity(0, sizeof(set), &set), "%m");
}

static void post_all(struct vt_pair *p, int number)
{
	int i;

	for (i = 0; i < POSTS; i++)
		VT_ASSERT(!vt_post(&p->a, IBV_WR_SEND, number, p->ba.p,
				   LEN, p->ba.mr->lkey, 0, 0,
				   IBV_SEND_SIGNALED), "%m");
}

static void *poster(void *arg)
{
	struct poster *t = arg;

	pin(t->number);
	for (;;) {
		pthread_barrier_wait(t->start);
		if (stop)
			return NULL;
		post_all(t->p, t->number);
	}
}

static void all_arrived(struct vt_pair *p, unsigned int round)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < THREADS * POSTS; i++) {
		VT_ASSERT(vt_poll(p->b.rcq, &wc, 5000),
			  "round %u: %d of %d messages arrived", round, i,
			  THREADS * POSTS);
		VT_ASSERT(wc.status == IBV_WC_SUCCESS, "status %d", wc.status);
	}
	for (i = 0; i < THREADS * POSTS; i++)
		VT_ASSERT(vt_poll(p->a.scq, &wc, 5000) &&
			  wc.status == IBV_WC_SUCCESS, "status %d", wc.status);
}

static void many_cpus(const void *arg)
{
	const struct vt_qp_cfg cfg = { .type = *(const enum ibv_qp_type *)arg };
	const char *secs = getenv("VT_SECONDS");
	struct poster t[THREADS];
	pthread_barrier_t start;
	unsigned int round;
	struct vt_pair p;
	uint64_t until;
	int i;

	vt_pair_up(&p, &cfg, NULL, LEN);
	VT_ASSERT(!pthread_barrier_init(&start, NULL, THREADS + 1), "%m");
	for (i = 0; i < THREADS; i++) {
		t[i] = (struct poster){ .number = i, .p = &p, .start = &start };
		VT_ASSERT(!pthread_create(&t[i].id, NULL, poster, &t[i]), "thread");
	}
	until = vt_now_us() + (secs ? atoi(secs) : 5) * 1000000ull;
	for (round = 0; vt_now_us() < until || round < 10; round++) {
		for (i = 0; i < THREADS * POSTS; i++)
			VT_ASSERT(!vt_recv(&p.b, i, p.bb.p, LEN, p.bb.mr->lkey), "%m");
		pthread_barrier_wait(&start);
		all_arrived(&p, round);
	}
	stop = true;
	pthread_barrier_wait(&start);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i].id, NULL);
	vt_note("%u messages", round * THREADS * POSTS);
	vt_pair_down(&p);
}

static const struct vt_test tests[] = {
	{ "uc_send", many_cpus, &(const enum ibv_qp_type){ IBV_QPT_UC } },
	{ "rc_send", many_cpus, &(const enum ibv_qp_type){ IBV_QPT_RC } },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
