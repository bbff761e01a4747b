// SPDX-License-Identifier: GPL-2.0
/*
 * The second opinion on opcodes, and the tests' random numbers.
 */
#include <linux/kernel.h>

#include "../proto/opcode.h"
#include "model.h"

#define ANY	MODEL_ANY
#define EMPTY	MODEL_EMPTY

const struct model_op model_ops[] = {
	/* RC */
	{ 0x00, RSOFT_KIND_SEND, 'F', "", ANY, false, false },
	{ 0x01, RSOFT_KIND_SEND, 'M', "", ANY, false, false },
	{ 0x02, RSOFT_KIND_SEND, 'L', "", ANY, true, false },
	{ 0x03, RSOFT_KIND_SEND, 'L', "I", ANY, true, false },
	{ 0x04, RSOFT_KIND_SEND, 'O', "", ANY, true, false },
	{ 0x05, RSOFT_KIND_SEND, 'O', "I", ANY, true, false },
	{ 0x06, RSOFT_KIND_WRITE, 'F', "R", ANY, false, false },
	{ 0x07, RSOFT_KIND_WRITE, 'M', "", ANY, false, false },
	{ 0x08, RSOFT_KIND_WRITE, 'L', "", ANY, false, false },
	{ 0x09, RSOFT_KIND_WRITE, 'L', "I", ANY, true, false },
	{ 0x0a, RSOFT_KIND_WRITE, 'O', "R", ANY, false, false },
	{ 0x0b, RSOFT_KIND_WRITE, 'O', "RI", ANY, true, false },
	{ 0x0c, RSOFT_KIND_READ, 'O', "R", EMPTY, false, false },
	{ 0x0d, RSOFT_KIND_READ_RESP, 'F', "A", ANY, false, true },
	{ 0x0e, RSOFT_KIND_READ_RESP, 'M', "", ANY, false, true },
	{ 0x0f, RSOFT_KIND_READ_RESP, 'L', "A", ANY, false, true },
	{ 0x10, RSOFT_KIND_READ_RESP, 'O', "A", ANY, false, true },
	{ 0x11, RSOFT_KIND_ACK, 'O', "A", EMPTY, false, true },
	{ 0x12, RSOFT_KIND_ATOMIC_ACK, 'O', "AC", EMPTY, false, true },
	{ 0x13, RSOFT_KIND_ATOMIC, 'O', "X", EMPTY, false, false },
	{ 0x14, RSOFT_KIND_ATOMIC, 'O', "X", EMPTY, false, false },
	{ 0x16, RSOFT_KIND_SEND, 'L', "V", ANY, true, false },
	{ 0x17, RSOFT_KIND_SEND, 'O', "V", ANY, true, false },
	{ 0x1c, RSOFT_KIND_FLUSH, 'O', "FR", EMPTY, false, false },
	{ 0x1d, RSOFT_KIND_ATOMIC_WRITE, 'O', "R", MODEL_FIXED_8, false, false },
	{ 0x15, RSOFT_KIND_RESERVED, 'M', "", ANY, false, false },
	{ 0x18, RSOFT_KIND_RESERVED, 'M', "", ANY, false, false },
	{ 0x19, RSOFT_KIND_RESERVED, 'M', "", ANY, false, false },
	{ 0x1a, RSOFT_KIND_RESERVED, 'M', "", ANY, false, false },
	{ 0x1b, RSOFT_KIND_RESERVED, 'M', "", ANY, false, false },
	{ 0x1e, RSOFT_KIND_RESERVED, 'M', "", ANY, false, false },
	{ 0x1f, RSOFT_KIND_RESERVED, 'M', "", ANY, false, false },
	/* UC */
	{ 0x20, RSOFT_KIND_SEND, 'F', "", ANY, false, false },
	{ 0x21, RSOFT_KIND_SEND, 'M', "", ANY, false, false },
	{ 0x22, RSOFT_KIND_SEND, 'L', "", ANY, true, false },
	{ 0x23, RSOFT_KIND_SEND, 'L', "I", ANY, true, false },
	{ 0x24, RSOFT_KIND_SEND, 'O', "", ANY, true, false },
	{ 0x25, RSOFT_KIND_SEND, 'O', "I", ANY, true, false },
	{ 0x26, RSOFT_KIND_WRITE, 'F', "R", ANY, false, false },
	{ 0x27, RSOFT_KIND_WRITE, 'M', "", ANY, false, false },
	{ 0x28, RSOFT_KIND_WRITE, 'L', "", ANY, false, false },
	{ 0x29, RSOFT_KIND_WRITE, 'L', "I", ANY, true, false },
	{ 0x2a, RSOFT_KIND_WRITE, 'O', "R", ANY, false, false },
	{ 0x2b, RSOFT_KIND_WRITE, 'O', "RI", ANY, true, false },
	/* UD */
	{ 0x64, RSOFT_KIND_SEND, 'O', "D", ANY, true, false },
	{ 0x65, RSOFT_KIND_SEND, 'O', "DI", ANY, true, false },
	/* congestion notification */
	{ 0x81, RSOFT_KIND_CNP, 'O', "", MODEL_FIXED_16, false, false },
};

const u32 model_nops = ARRAY_SIZE(model_ops);

const struct model_op *model_op(u8 opcode)
{
	u32 i;

	for (i = 0; i < model_nops; i++)
		if (model_ops[i].opcode == opcode)
			return &model_ops[i];
	return NULL;
}

u32 model_ext_len(const char *ext)
{
	u32 len = 0;

	for (; *ext; ext++) {
		switch (*ext) {
		case 'R':
			len += 16;
			break;
		case 'X':
			len += 28;
			break;
		case 'D':
		case 'C':
			len += 8;
			break;
		default:
			len += 4;
			break;
		}
	}
	return len;
}

u32 model_random(u64 *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 32;
}
