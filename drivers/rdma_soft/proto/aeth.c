// SPDX-License-Identifier: GPL-2.0
/*
 * Tables and arithmetic behind the five-bit fields of acknowledgements and
 * timers. Fields are masked, so no value can index beyond a table.
 */
#include "aeth.h"

#define FIELD_MASK		0x1f
#define RNR_UNIT_NS		10000u
#define ACK_TIMEOUT_UNIT_NS	4096u

/* IBTA table 46, in units of 0.01 ms. */
static const u32 rnr_units[FIELD_MASK + 1] = {
	65536,
	1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
	12288, 16384, 24576, 32768, 49152,
};

/* IBTA table 47; the last value of the field means "no flow control". */
static const u32 credit_counts[RSOFT_CREDITS_INVALID] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
	12288, 16384, 24576, 32768,
};

u64 rsoft_rnr_ns(u8 enc)
{
	return (u64)rnr_units[enc & FIELD_MASK] * RNR_UNIT_NS;
}

u64 rsoft_ack_timeout_ns(u8 enc)
{
	enc &= FIELD_MASK;
	return enc ? (u64)ACK_TIMEOUT_UNIT_NS << enc : 0;
}

u8 rsoft_credits_encode(u32 credits)
{
	u8 enc = RSOFT_CREDITS_INVALID - 1;

	while (credit_counts[enc] > credits)
		enc--;
	return enc;
}

u32 rsoft_credits_decode(u8 enc)
{
	enc &= FIELD_MASK;
	return enc == RSOFT_CREDITS_INVALID ? U32_MAX : credit_counts[enc];
}
