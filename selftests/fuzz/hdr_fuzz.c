// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzer of the header decoder, in user space. What it accepts must be
 * consistent and must survive encoding and decoding again; what may not be
 * read lies behind the end of a heap block, where the sanitizer sees it.
 *
 * Built with libFuzzer (-fsanitize=fuzzer, -DUSE_LIBFUZZER) it is driven by
 * coverage; else main() feeds it seeded random packets:
 *
 *   hdr_fuzz [ITERATIONS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../drivers/rdma_soft/proto/hdr.h"

#define CHECK(cond, data, size)						\
	do {								\
		if (!(cond))						\
			fail(#cond, __LINE__, data, size);		\
	} while (0)

/* The symbol has the name that libFuzzer calls. */
int fuzz_one(const u8 *data, size_t size) __asm__("LLVMFuzzerTestOneInput");

static unsigned long verdicts[RSOFT_DROP_MAX];
static unsigned long per_opcode[256];

static void fail(const char *what, int line, const u8 *data, size_t size)
{
	size_t i;

	fprintf(stderr, "hdr_fuzz.c:%d: not so: %s\ninput:", line, what);
	for (i = 0; i < size; i++)
		fprintf(stderr, " %02x", data[i]);
	fprintf(stderr, "\n");
	abort();
}

/* A copy with nothing readable behind its last byte. */
static u8 *exact_copy(const u8 *data, u32 avail)
{
	u8 *buf = malloc(avail ? avail : 1);

	if (!buf)
		exit(2);
	if (avail)
		memcpy(buf, data, avail);
	return avail ? buf : buf + 1;
}

static void check_accepted(const struct rsoft_pkt *pkt, u32 avail, u32 len,
			   const u8 *data, size_t size)
{
	CHECK(pkt->info == rsoft_opinfo(data[0]), data, size);
	CHECK(pkt->info->kind != RSOFT_KIND_NONE, data, size);
	CHECK(pkt->opcode == data[0], data, size);
	CHECK(pkt->pad < 4, data, size);
	CHECK(pkt->pkey == RSOFT_PKEY_DEFAULT, data, size);
	CHECK(pkt->qpn <= RSOFT_QPN_MASK, data, size);
	CHECK(pkt->psn <= RSOFT_QPN_MASK, data, size);
	CHECK(pkt->sqpn <= RSOFT_QPN_MASK, data, size);
	CHECK(pkt->msn <= RSOFT_QPN_MASK, data, size);
	CHECK(pkt->hdr_len == pkt->info->hdr_len, data, size);
	CHECK(pkt->hdr_len <= RSOFT_HDR_MAX, data, size);
	CHECK(pkt->hdr_len <= avail, data, size);
	CHECK(len == (u64)pkt->hdr_len + pkt->payload_len + pkt->pad +
		     RSOFT_ICRC_LEN, data, size);
	CHECK(rsoft_pad(pkt->payload_len) == pkt->pad, data, size);
}

/* Reserved bits of the input are not kept, so compare from the second time. */
static void check_round_trip(const struct rsoft_pkt *pkt, u32 len,
			     const u8 *data, size_t size)
{
	struct rsoft_pkt again;
	u8 once[RSOFT_HDR_MAX] = { 0 }, twice[RSOFT_HDR_MAX] = { 0 };
	u8 opcode;
	u32 n = rsoft_hdr_encode(once, pkt);

	memset(&again, 0, sizeof(again));
	CHECK(n == pkt->hdr_len, data, size);
	CHECK(rsoft_hdr_decode(once, n, len, &again) == RSOFT_DROP_NONE, data,
	      size);
	CHECK(!memcmp(pkt, &again, sizeof(again)), data, size);
	CHECK(rsoft_hdr_encode(twice, &again) == n, data, size);
	CHECK(!memcmp(once, twice, sizeof(once)), data, size);
	CHECK(rsoft_hdr_peek(data, &opcode) == pkt->qpn, data, size);
	CHECK(opcode == pkt->opcode, data, size);
}

/*
 * The last byte of the input says how much longer than the input the packet
 * claims to be, so that headers without their payload are tried too.
 */
int fuzz_one(const u8 *data, size_t size)
{
	struct rsoft_pkt pkt, before;
	enum rsoft_drop verdict;
	u32 avail, len;
	u8 *buf;

	if (!size || size > 9000)
		return 0;
	len = size - 1 + data[size - 1];
	avail = size - 1 < RSOFT_HDR_MAX ? size - 1 : RSOFT_HDR_MAX;
	buf = exact_copy(data, avail);
	memset(&pkt, 0, sizeof(pkt));
	before = pkt;
	verdict = rsoft_hdr_decode(buf, avail, len, &pkt);
	CHECK((u32)verdict < RSOFT_DROP_MAX, data, size);
	verdicts[verdict]++;
	if (verdict == RSOFT_DROP_NONE) {
		per_opcode[pkt.opcode]++;
		check_accepted(&pkt, avail, len, data, size);
		check_round_trip(&pkt, len, data, size);
	} else {
		CHECK(!memcmp(&pkt, &before, sizeof(pkt)), data, size);
	}
	free(avail ? buf : buf - 1);
	return 0;
}

#ifndef USE_LIBFUZZER
static u64 state;

static u32 next_random(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 32;
}

/* Make a head pass the first checks, and the length nearly right. */
static size_t improve(u8 *data, size_t size)
{
	const struct rsoft_opinfo *info;

	data[1] &= 0xf0;
	data[2] = 0xff;
	data[3] = 0xff;
	do {
		data[0] = next_random();
		info = rsoft_opinfo(data[0]);
	} while (info->kind == RSOFT_KIND_NONE);
	if (next_random() & 1)
		size = info->hdr_len + next_random() % 32;
	/* Claim to be a little longer, half the time a multiple of four. */
	data[size - 1] = next_random() % 8;
	if (next_random() & 1)
		data[size - 1] = -(size - 1) & 3;
	return size;
}

/* Half of the inputs are nothing but random bytes. */
static size_t make_input(u8 *data, size_t max)
{
	size_t i, size = next_random() % max;

	if (next_random() & 1)
		size %= 64;
	size++;
	for (i = 0; i < max; i++)
		data[i] = next_random();
	return next_random() & 1 ? improve(data, size) : size;
}

int main(int argc, char **argv)
{
	unsigned long i, n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	unsigned long refused = 0, opcodes = 0, defined = 0;
	u8 data[600];
	int v;

	state = seed;
	for (i = 0; i < n; i++)
		fuzz_one(data, make_input(data, sizeof(data)));
	for (v = RSOFT_DROP_NONE + 1; v < RSOFT_DROP_MAX; v++)
		refused += verdicts[v];
	for (i = 0; i < 256; i++) {
		opcodes += !!per_opcode[i];
		defined += rsoft_opinfo(i)->kind != RSOFT_KIND_NONE;
	}
	printf("hdr_fuzz: %lu inputs, %lu accepted, %lu refused, ", n,
	       verdicts[RSOFT_DROP_NONE], refused);
	printf("%lu of %lu opcodes reached, seed %lu\n", opcodes, defined,
	       seed);
	/* A run that reached little has shown little. */
	for (v = RSOFT_DROP_NONE; v <= RSOFT_DROP_PKEY; v++) {
		if (!verdicts[v]) {
			fprintf(stderr, "hdr_fuzz: verdict %d never came\n", v);
			return 1;
		}
	}
	if (opcodes < defined) {
		fprintf(stderr, "hdr_fuzz: run more iterations\n");
		return 1;
	}
	return 0;
}
#endif
