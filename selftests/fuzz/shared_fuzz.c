// SPDX-License-Identifier: GPL-2.0
/*
 * The bytes of an skb may be pages that their sender still writes to (splice()
 * into a UDP socket, the ring of a packet socket). So what the decoder accepts
 * must be consistent even if another thread changes each byte all the time.
 *
 *   shared_fuzz [ITERATIONS [SEED]]		each stands for 50
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../drivers/rdma_soft/proto/hdr.h"

#define LEN 64

/* Opcodes of different headers, kinds and rules, without and with pad. */
static const u8 opcodes[] = { 0x04, 0x0a, 0x0c, 0x11, 0x14, 0x00, 0x07 };
static const u8 flags[] = { 0x40, 0x40, 0x50, 0x60, 0x70, 0x41 };

static u8 packet[LEN] __attribute__((aligned(8)));
static bool stop;

static void put(int at, u8 value)
{
	__atomic_store_n(&packet[at], value, __ATOMIC_RELAXED);
}

static void *writer(void *arg)
{
	unsigned long i = *(unsigned long *)arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		put(0, opcodes[i % sizeof(opcodes)]);
		put(1, flags[i % sizeof(flags)]);
		put(2, i & 8 ? 0xff : 0x7f);
		i = i * 6364136223846793005ul + 1442695040888963407ul;
		i ^= i >> 29;
	}
	return NULL;
}

static bool consistent(const struct rsoft_pkt *pkt)
{
	return pkt->info == rsoft_opinfo(pkt->opcode) &&
	       pkt->hdr_len == pkt->info->hdr_len &&
	       pkt->pkey == RSOFT_PKEY_DEFAULT &&
	       pkt->hdr_len + pkt->payload_len + pkt->pad + 4 == LEN;
}

int main(int argc, char **argv)
{
	unsigned long i, n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	unsigned long accepted = 0, bad = 0;
	struct rsoft_pkt pkt;
	pthread_t thread;

	n *= 50;
	packet[3] = 0xff;
	if (pthread_create(&thread, NULL, writer, &seed))
		return 2;
	/* while the writer starts, nothing changes */
	for (i = 0; i < n || !accepted; i++) {
		if (rsoft_hdr_decode(packet, RSOFT_HDR_MAX, LEN, &pkt) !=
		    RSOFT_DROP_NONE)
			continue;
		accepted++;
		bad += !consistent(&pkt);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("shared_fuzz: %lu inputs, %lu accepted, %lu inconsistent\n", i,
	       accepted, bad);
	return bad != 0;
}
