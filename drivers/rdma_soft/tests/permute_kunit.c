// SPDX-License-Identifier: GPL-2.0
/*
 * The permutation behind keys and QPNs: it must be one, and must not be a line
 * that two known values give away.
 */
#include <kunit/test.h>
#include <linux/bitops.h>

#include "../proto/access.h"
#include "model.h"

#define SPACE	0x1000000u

static const u32 keys[][4] = {
	{ 0, 0, 0, 0 },
	{ 1, 2, 3, 4 },
	{ U32_MAX, U32_MAX, U32_MAX, U32_MAX },
	{ 0x8c1f2e37, 0x5a90d3b4, 0x17e6c8f2, 0xb3347a05 },
};

/*
 * All 2^24 numbers: each image is in range and maps back, so no two numbers
 * share one, and as many images as numbers is all of them.
 */
static void it_is_a_permutation(struct kunit *test)
{
	u32 x;

	for (x = 0; x < SPACE; x++) {
		u32 y = rsoft_permute24(x, keys[3]);

		if (y < SPACE && rsoft_unpermute24(y, keys[3]) == x)
			continue;
		KUNIT_FAIL(test, "x %x y %x", x, y);
		return;
	}
}

static void every_key_can_be_undone_both_ways(struct kunit *test)
{
	int i;
	u32 x;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		for (x = 0; x < SPACE; x += 257) {
			u32 y = rsoft_permute24(x, keys[i]);
			u32 z = rsoft_unpermute24(x, keys[i]);

			if (rsoft_unpermute24(y, keys[i]) == x &&
			    rsoft_permute24(z, keys[i]) == x)
				continue;
			KUNIT_FAIL(test, "key %d x %x", i, x);
			return;
		}
	}
}

/* An affine map has one step for all neighbours; so has none here. */
static void neighbours_have_no_common_step(struct kunit *test)
{
	u32 x, same = 0, step = 0, last = 0;

	for (x = 0; x < 4096; x++) {
		u32 y = rsoft_permute24(x, keys[3]);
		u32 diff = (y - last) & (SPACE - 1);

		same += diff == step;
		step = diff;
		last = y;
	}
	KUNIT_EXPECT_LT(test, same, 3);
}

static u32 three_and_sum(u32 a, u32 b, u32 c)
{
	return rsoft_permute24(a, keys[3]) ^ rsoft_permute24(b, keys[3]) ^
	       rsoft_permute24(c, keys[3]) ^
	       rsoft_permute24(a ^ b ^ c, keys[3]);
}

static void it_is_not_affine_over_bits_either(struct kunit *test)
{
	u32 i, zero = 0;
	u64 seed = 5;

	for (i = 0; i < 4096; i++)
		zero += !three_and_sum(model_random(&seed) & (SPACE - 1),
				       model_random(&seed) & (SPACE - 1),
				       model_random(&seed) & (SPACE - 1));
	KUNIT_EXPECT_LT(test, zero, 3);
}

/* One flipped bit, of number or key, changes about half of the image. */
static void each_bit_matters(struct kunit *test)
{
	int bit, i;

	for (bit = 0; bit < 24; bit++) {
		u32 flips = 0;

		for (i = 0; i < 1000; i++)
			flips += hweight32(rsoft_permute24(i * 4099, keys[3]) ^
					   rsoft_permute24(i * 4099 ^ 1 << bit,
							   keys[3]));
		KUNIT_ASSERT_GT_MSG(test, flips, 9000, "bit %d", bit);
		KUNIT_ASSERT_LT_MSG(test, flips, 15000, "bit %d", bit);
	}
}

static void each_word_of_the_key_matters(struct kunit *test)
{
	u32 key[4], x;
	int i;

	for (i = 0; i < 4 * 32; i++) {
		u32 differ = 0;

		memcpy(key, keys[3], sizeof(key));
		key[i / 32] ^= 1u << i % 32;
		for (x = 0; x < 64; x++)
			differ += rsoft_permute24(x, key) !=
				  rsoft_permute24(x, keys[3]);
		KUNIT_ASSERT_GT_MSG(test, differ, 48, "key bit %d", i);
	}
}

static struct kunit_case permute_cases[] = {
	KUNIT_CASE(it_is_a_permutation),
	KUNIT_CASE(every_key_can_be_undone_both_ways),
	KUNIT_CASE(neighbours_have_no_common_step),
	KUNIT_CASE(it_is_not_affine_over_bits_either),
	KUNIT_CASE(each_bit_matters),
	KUNIT_CASE(each_word_of_the_key_matters),
	{}
};

static struct kunit_suite permute_suite = {
	.name = "rdma_soft_permute",
	.test_cases = permute_cases,
};

kunit_test_suite(permute_suite);
