// SPDX-License-Identifier: GPL-2.0
/*
 * CRC-32 of packets. Where the kernel's crc32_le() uses the CPU's carry-less
 * multiplication, it is all there is to it. Older kernels have that code only
 * behind the crypto interface, as a module: ask for it once, check its answer,
 * and use it for what is long enough to pay for saving the FPU registers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "crc.h"

#include <linux/crc32.h>

#ifdef RDMA_SOFT_HAVE_CRC32_OPTIMIZATIONS

void rsoft_crc_init(void)
{
}

void rsoft_crc_exit(void)
{
}

u32 rsoft_crc32(u32 crc, const void *p, size_t len)
{
	return crc32_le(crc, p, len);
}

#else

#include <crypto/hash.h>
#include <linux/err.h>
#include <linux/printk.h>
#include <linux/string.h>

/* Below this, saving the FPU registers costs more than it gains. */
#define ACCEL_MIN	128

static struct crypto_shash *accel;

/*
 * The state of "crc32" is the 32-bit CRC in CPU order, not inverted. accel_ok()
 * verifies that before anybody relies on it.
 */
static u32 accel_crc32(struct crypto_shash *tfm, u32 crc, const void *p,
		       size_t len)
{
	SHASH_DESC_ON_STACK(desc, tfm);
	u32 *state = shash_desc_ctx(desc);

	desc->tfm = tfm;
	*state = crc;
	crypto_shash_update(desc, p, len);
	return *state;
}

static bool accel_ok(struct crypto_shash *tfm)
{
	static const u32 seeds[] = { ~0u, 0, 0x12345678 };
	u8 buf[3 * ACCEL_MIN + 5];
	size_t i;

	if (crypto_shash_descsize(tfm) != sizeof(u32))
		return false;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = (u8)(i * 131 + (i >> 3));
	for (i = 0; i < ARRAY_SIZE(seeds); i++) {
		size_t len = sizeof(buf) - 1 - i;

		if (accel_crc32(tfm, seeds[i], buf + 1, len) !=
		    crc32_le(seeds[i], buf + 1, len))
			return false;
	}
	return true;
}

void rsoft_crc_init(void)
{
	struct crypto_shash *tfm = crypto_alloc_shash("crc32", 0, 0);
	const char *name;

	if (IS_ERR(tfm))
		return;

	name = crypto_tfm_alg_driver_name(crypto_shash_tfm(tfm));
	if (!strcmp(name, "crc32-generic") || !accel_ok(tfm)) {
		crypto_free_shash(tfm);
		return;
	}
	pr_debug("CRC-32 by %s\n", name);
	accel = tfm;
}

void rsoft_crc_exit(void)
{
	if (accel)
		crypto_free_shash(accel);
	accel = NULL;
}

u32 rsoft_crc32(u32 crc, const void *p, size_t len)
{
	if (len >= ACCEL_MIN && accel)
		return accel_crc32(accel, crc, p, len);
	return crc32_le(crc, p, len);
}

#endif
