// SPDX-License-Identifier: GPL-2.0
/*
 * CRC-32 by carry-less multiplication.
 *
 * Sixteen bytes of the message are a polynomial; multiplied by x^n modulo the
 * CRC's they stand for the same bytes n bits further on, and can be added to
 * what is there. Four lanes step 64 bytes at a time, are added up, step 16 at
 * a time, take in the tail, and are reduced to 32 bits (Barrett). Bits are
 * reflected, as in crc32_le().
 * The constants are x^n mod P, reflected and shifted by one, for n = 544, 480
 * (64 bytes on), 160, 96 (16 bytes on) and 64, then P and its Barrett inverse;
 * rsoft_crc_init() checks the result against crc32_le() before it is used.
 *
 * Kernel code is compiled without vector registers, so that the compiler has
 * nothing in those that are named here.
 */
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>

#include "crc_x86.h"

static const u64 fold_512[2] __aligned(16) = { 0x154442bd4, 0x1c6e41596 };
static const u64 fold_128[2] __aligned(16) = { 0x1751997d0, 0x0ccaa009e };
static const u64 fold_64[2] __aligned(16) = { 0x163cd6124, 0 };
static const u64 barrett[2] __aligned(16) = { 0x1db710641, 0x1f7011641 };
/* Byte shuffles: at 16 + n a shift by n bytes down, at n one by 16 - n up. */
static const u8 shifts[48] __aligned(16) = {
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
};

static const u32 low_32[4] __aligned(16) = { ~0u, 0, 0, 0 };

/* Move lane x on by the distance of the constants in register k. */
#define FOLD(k, x)							\
	"vpclmulqdq $0x00, %%xmm" k ", %%xmm" x ", %%xmm5\n\t"		\
	"vpclmulqdq $0x11, %%xmm" k ", %%xmm" x ", %%xmm" x "\n\t"	\
	"vpxor %%xmm5, %%xmm" x ", %%xmm" x "\n\t"

/* ... and take in the 16 bytes that are there. */
#define TAKE(k, x, off)							\
	FOLD(k, x)							\
	"vpxor " off "(%[p]), %%xmm" x ", %%xmm" x "\n\t"

/* ... 64 bytes in four lanes. */
#define TAKE_64(off)							\
	TAKE("0", "1", off "+0")					\
	TAKE("0", "2", off "+16")					\
	TAKE("0", "3", off "+32")					\
	TAKE("0", "4", off "+48")

/* The same, and copy them to %[p] + %[to]. */
#define COPY(x, off)							\
	"vmovdqu " off "(%[p]), %%xmm" x "\n\t"				\
	"vmovdqu %%xmm" x ", " off "(%[p], %[to])\n\t"

#define TAKE_COPY(k, x, off)						\
	COPY("6", off)							\
	FOLD(k, x)							\
	"vpxor %%xmm6, %%xmm" x ", %%xmm" x "\n\t"

#define TAKE_COPY_64(off)						\
	TAKE_COPY("0", "1", off "+0")					\
	TAKE_COPY("0", "2", off "+16")					\
	TAKE_COPY("0", "3", off "+32")					\
	TAKE_COPY("0", "4", off "+48")

#define START								\
	"vmovdqu 0(%[p]), %%xmm1\n\t"					\
	"vmovdqu 16(%[p]), %%xmm2\n\t"					\
	"vmovdqu 32(%[p]), %%xmm3\n\t"					\
	"vmovdqu 48(%[p]), %%xmm4\n\t"

#define START_COPY							\
	COPY("1", "0")							\
	COPY("2", "16")							\
	COPY("3", "32")							\
	COPY("4", "48")

#define NEXT(n)	"add $" n ", %[p]\n\t" "sub $" n ", %[len]\n\t"

/*
 * The last 1 to 15 bytes: as many bytes leave lane 1 at its front and are moved
 * on by 16 bytes, the others move up, and the new ones, which are the end of a
 * load that reaches back, fill the rest.
 */
#define TAIL								\
	"vmovdqu (%[sh], %[len]), %%xmm2\n\t"				\
	"vmovdqu 16(%[sh], %[len]), %%xmm3\n\t"				\
	"vpshufb %%xmm2, %%xmm1, %%xmm4\n\t"				\
	"vpshufb %%xmm3, %%xmm1, %%xmm1\n\t"				\
	"vpcmpeqd %%xmm6, %%xmm6, %%xmm6\n\t"				\
	"vpcmpgtb %%xmm6, %%xmm2, %%xmm2\n\t"				\
	"vpand -16(%[p], %[len]), %%xmm2, %%xmm2\n\t"			\
	"vpxor %%xmm2, %%xmm1, %%xmm1\n\t"				\
	FOLD("0", "4")							\
	"vpxor %%xmm4, %%xmm1, %%xmm1\n\t"

/* 128 bits in lane 1 to a 32-bit state. */
#define REDUCE								\
	"vpclmulqdq $0x01, %%xmm1, %%xmm0, %%xmm2\n\t"			\
	"vpsrldq $8, %%xmm1, %%xmm1\n\t"				\
	"vpxor %%xmm2, %%xmm1, %%xmm1\n\t"				\
	"vpsrldq $4, %%xmm1, %%xmm2\n\t"				\
	"vpand %[low], %%xmm1, %%xmm1\n\t"				\
	"vpclmulqdq $0x00, %[k64], %%xmm1, %%xmm1\n\t"			\
	"vpxor %%xmm2, %%xmm1, %%xmm1\n\t"				\
	"vmovdqa %[bar], %%xmm0\n\t"					\
	"vpand %[low], %%xmm1, %%xmm2\n\t"				\
	"vpclmulqdq $0x10, %%xmm0, %%xmm2, %%xmm2\n\t"			\
	"vpand %[low], %%xmm2, %%xmm2\n\t"				\
	"vpclmulqdq $0x00, %%xmm0, %%xmm2, %%xmm2\n\t"			\
	"vpxor %%xmm2, %%xmm1, %%xmm1\n\t"				\
	"vpextrd $1, %%xmm1, %[crc]\n\t"

/* Four lanes, 128 bytes a turn, then the 64 that may be left. */
#define LANES(start, take)						\
	start								\
	"vmovd %[crc], %%xmm0\n\t"					\
	"vpxor %%xmm0, %%xmm1, %%xmm1\n\t"				\
	"vmovdqa %[k512], %%xmm0\n\t"					\
	NEXT("64")							\
	"cmp $128, %[len]\n\t"						\
	"jb 2f\n\t"							\
	"1:\n\t"							\
	take("0")							\
	take("64")							\
	NEXT("128")							\
	"cmp $128, %[len]\n\t"						\
	"jae 1b\n\t"							\
	"2:\n\t"							\
	"cmp $64, %[len]\n\t"						\
	"jb 6f\n\t"							\
	take("0")							\
	NEXT("64")							\
	"6:\n\t"							\
	"vmovdqa %[k128], %%xmm0\n\t"					\
	FOLD("0", "1") "vpxor %%xmm2, %%xmm1, %%xmm1\n\t"		\
	FOLD("0", "1") "vpxor %%xmm3, %%xmm1, %%xmm1\n\t"		\
	FOLD("0", "1") "vpxor %%xmm4, %%xmm1, %%xmm1\n\t"

/* ... then one lane over 16 bytes a turn. */
#define BODY								\
	LANES(START, TAKE_64)						\
	"cmp $16, %[len]\n\t"						\
	"jb 4f\n\t"							\
	"3:\n\t"							\
	TAKE("0", "1", "0")						\
	NEXT("16")							\
	"cmp $16, %[len]\n\t"						\
	"jae 3b\n\t"							\
	"4:\n\t"							\
	"test %[len], %[len]\n\t"					\
	"jz 5f\n\t"							\
	TAIL								\
	"5:\n\t"							\
	REDUCE

#define CONSTANTS							\
	[k512] "m" (fold_512), [k128] "m" (fold_128),			\
	[k64] "m" (fold_64), [bar] "m" (barrett), [low] "m" (low_32)

bool rsoft_crc_x86_usable(void)
{
	return boot_cpu_has(X86_FEATURE_PCLMULQDQ) &&
	       boot_cpu_has(X86_FEATURE_AVX) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
}

bool rsoft_crc_x86_enter(void)
{
	if (!irq_fpu_usable())
		return false;
	kernel_fpu_begin();
	return true;
}

void rsoft_crc_x86_leave(void)
{
	kernel_fpu_end();
}

u32 rsoft_crc_x86(u32 crc, const void *p, size_t len)
{
	asm volatile(BODY
		     : [crc] "+r" (crc), [p] "+r" (p), [len] "+r" (len)
		     : CONSTANTS, [sh] "r" (shifts)
		     : "memory", "cc");
	return crc;
}

u32 rsoft_crc_x86_copy(u32 crc, void *to, const void *from, size_t len)
{
	asm volatile(LANES(START_COPY, TAKE_COPY_64) REDUCE
		     : [crc] "+r" (crc), [p] "+r" (from), [len] "+r" (len)
		     : CONSTANTS, [to] "r" (to - from)
		     : "memory", "cc");
	return crc;
}
