/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What IBTA 1.4 says about each opcode, typed in a second time with plain
 * numbers: the tables of the driver are held against these.
 *
 * For all suites: checks in a loop are ASSERTs, so that the first bad row ends
 * the case. The log of a case holds 512 bytes in 6.1; more than one or two
 * reports would push out the line that says it failed.
 */
#ifndef RSOFT_TESTS_MODEL_H
#define RSOFT_TESTS_MODEL_H

#include <linux/types.h>

#define MODEL_BTH_LEN	12
#define MODEL_ICRC_LEN	4

/* Payload that a packet may have. */
enum model_payload {
	MODEL_EMPTY,
	MODEL_ANY,
	MODEL_FIXED_8,
	MODEL_FIXED_16,
};

/**
 * struct model_op - one opcode
 * @opcode: as in the BTH
 * @kind: an enum rsoft_kind
 * @place: F(irst), M(iddle), L(ast) or O(nly)
 * @ext: extension headers in wire order: D(ETH), F(ETH), R(ETH),
 *       X (AtomicETH), A(ETH), C (AtomicAckETH), I(mmDt), V (IETH)
 * @payload: payload rule
 * @rqe: consumes a receive WQE
 * @resp: goes from responder to requester
 */
struct model_op {
	u8 opcode;
	u8 kind;
	char place;
	const char *ext;
	enum model_payload payload;
	bool rqe;
	bool resp;
};

extern const struct model_op model_ops[];
extern const u32 model_nops;

/**
 * model_op() - look up an opcode
 * @opcode: as in the BTH
 *
 * Return: the row, NULL for an undefined opcode.
 */
const struct model_op *model_op(u8 opcode);

/**
 * model_ext_len() - bytes of a run of extension headers
 * @ext: letters as in struct model_op
 *
 * Return: bytes.
 */
u32 model_ext_len(const char *ext);

/**
 * model_random() - repeatable random numbers
 * @state: any number to start with, advanced by each call
 *
 * Return: 32 random bits.
 */
u32 model_random(u64 *state);

#endif
