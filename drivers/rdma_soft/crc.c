// SPDX-License-Identifier: GPL-2.0
/*
 * CRC-32 of packets: by the CPU's carry-less multiplication where there are
 * enough bytes and vector registers may be used, else by the kernel's
 * crc32_le(), which newer kernels speed up by themselves.
 */
#include "crc.h"

#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/crc32.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include "crc_x86.h"

struct rsoft_icrc_tab rsoft_icrc_tab __ro_after_init;

static DEFINE_STATIC_KEY_FALSE(crc_x86_ok);

static u32 crc_plain(u32 crc, const u8 *p, size_t len)
{
	return crc32_le(crc, p, len);
}

/* Does the fast code agree with the kernel's, at all lengths and offsets? */
static bool crc_x86_agrees(void)
{
	static const u32 seeds[] = { ~0u, 0, 0x12345678 };
	u8 src[5 * RSOFT_CRC_X86_MIN + 19], dst[sizeof(src)];
	size_t i, len;
	bool ok = true;

	for (i = 0; i < sizeof(src); i++)
		src[i] = (u8)(i * 131 + (i >> 3));
	if (!rsoft_crc_x86_enter())
		return false;
	for (len = RSOFT_CRC_X86_MIN; len <= sizeof(src) - 3; len++) {
		for (i = 0; i < ARRAY_SIZE(seeds); i++) {
			u32 want = crc32_le(seeds[i], src + i, len);

			ok &= rsoft_crc_x86(seeds[i], src + i, len) == want;
			if (len % RSOFT_CRC_X86_MIN)
				continue;
			ok &= rsoft_crc_x86_copy(seeds[i], dst, src + i,
						 len) == want;
			ok &= !memcmp(dst, src + i, len);
		}
	}
	rsoft_crc_x86_leave();
	return ok;
}

void __init rsoft_crc_init(void)
{
	rsoft_icrc_tab_init(&rsoft_icrc_tab, crc_plain);
	if (rsoft_crc_x86_usable() && crc_x86_agrees())
		static_branch_enable(&crc_x86_ok);
}

bool rsoft_crc_enter(size_t len)
{
	return static_branch_likely(&crc_x86_ok) &&
	       len >= RSOFT_CRC_FAST_MIN && rsoft_crc_x86_enter();
}

void rsoft_crc_leave(bool fast)
{
	if (fast)
		rsoft_crc_x86_leave();
}

u32 rsoft_crc_add(bool fast, u32 crc, const void *p, size_t len)
{
	if (fast && len >= RSOFT_CRC_X86_MIN)
		return rsoft_crc_x86(crc, p, len);
	return crc32_le(crc, p, len);
}

u32 rsoft_crc_copy(bool fast, u32 crc, void *to, const void *from, size_t len)
{
	size_t whole = fast ? len & ~(size_t)(RSOFT_CRC_X86_MIN - 1) : 0;

	if (whole)
		crc = rsoft_crc_x86_copy(crc, to, from, whole);
	if (whole == len)
		return crc;
	to += whole;
	memcpy(to, from + whole, len - whole);
	return rsoft_crc_add(fast, crc, to, len - whole);
}

u32 rsoft_crc_alike(u32 base, const u8 *bth)
{
	u8 any[sizeof(struct rsoft_bth)] = {};

	memcpy(any, bth, RSOFT_HDR_LIKE);
	base = rsoft_icrc_start(&rsoft_icrc_tab, base, true, 0, any);
	return crc32_le(base, any, sizeof(any));
}

u32 rsoft_crc_flow(const struct rsoft_flow *flow)
{
	static const u8 no_bth[sizeof(struct rsoft_bth)];
	u8 pseudo[RSOFT_ICRC_PSEUDO_MAX];
	u32 n;

	n = rsoft_icrc_pseudo(pseudo, flow, 0, 0, no_bth);
	return crc32_le(~0u, pseudo, n - sizeof(no_bth)) ^
	       rsoft_icrc_len(&rsoft_icrc_tab, flow->ipv6, 0);
}

/**
 * struct crc_flow - a flow that this CPU saw
 * @words: the flow
 * @state: from rsoft_crc_flow()
 */
struct crc_flow {
	u64 words[sizeof(struct rsoft_flow) / sizeof(u64)];
	u32 state;
};

static_assert(sizeof(struct rsoft_flow) % sizeof(u64) == 0);

#define CRC_FLOW_BITS	6

/* Written with BH disabled. An entry of zeros is that of no flow: no ports. */
static DEFINE_PER_CPU(struct crc_flow, crc_flows[1 << CRC_FLOW_BITS]);

u32 rsoft_crc_base(const struct rsoft_flow *flow, u32 len)
{
	u64 words[ARRAY_SIZE(((struct crc_flow *)0)->words)];
	struct crc_flow *seen;
	u64 mix = 0, diff = 0;
	u32 i;

	memcpy(words, flow, sizeof(words));
	/* not a mere sum: both directions of a flow must have slots */
	for (i = 0; i < ARRAY_SIZE(words); i++)
		mix = rol64(mix, 13) + words[i];
	seen = this_cpu_ptr(&crc_flows[hash_64(mix, CRC_FLOW_BITS)]);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		diff |= seen->words[i] ^ words[i];
	if (diff) {
		seen->state = rsoft_crc_flow(flow);
		memcpy(seen->words, words, sizeof(words));
	}
	return rsoft_crc_of_len(seen->state, flow->ipv6, len);
}
