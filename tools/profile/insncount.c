// SPDX-License-Identifier: GPL-2.0
/*
 * QEMU TCG plug-in: counts executed instructions per address, in intervals.
 *
 *   -plugin insncount.so,out=FILE
 *
 * An interval ends and the next begins when the guest executes the mark of mark.c, a
 * no-op that nothing else uses. At exit FILE gets a line "INTERVAL ADDRESS COUNT" for
 * each translated block that was executed; ADDRESS (hex) is where the block begins,
 * COUNT its instructions times its executions. What is before the first mark is
 * interval 0. One vCPU.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mark.h"
#include "qemu_plugin.h"

int qemu_plugin_version = 1;

#define INTERVALS	8
#define BUCKETS		65536

struct block {
	uint64_t va;
	uint64_t n;
	bool mark;
	uint64_t count[INTERVALS];
	struct block *next;
};

static struct block *blocks[BUCKETS];
static const char *out;
static unsigned int interval;

static void executed(unsigned int cpu, void *user)
{
	struct block *b = user;

	(void)cpu;
	if (b->mark && interval < INTERVALS - 1)
		interval++;
	b->count[interval] += b->n;
}

static bool has_mark(const struct qemu_plugin_tb *tb, size_t n)
{
	static const uint8_t nopl[] = { 0x0f, 0x1f, 0x80 };
	const struct qemu_plugin_insn *insn;
	const uint8_t *bytes;
	uint32_t disp;
	size_t i;

	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		bytes = qemu_plugin_insn_data(insn);
		if (qemu_plugin_insn_size(insn) != sizeof(nopl) + sizeof(disp) ||
		    memcmp(bytes, nopl, sizeof(nopl)))
			continue;
		memcpy(&disp, bytes + sizeof(nopl), sizeof(disp));
		if (disp == MARK_DISP)
			return true;
	}
	return false;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t va = qemu_plugin_tb_vaddr(tb);
	size_t n = qemu_plugin_tb_n_insns(tb);
	bool mark = has_mark(tb, n);
	struct block **bucket = &blocks[(va >> 2 ^ va >> 14) & (BUCKETS - 1)];
	struct block *b;

	(void)id;
	for (b = *bucket; b; b = b->next)
		if (b->va == va && b->n == n && b->mark == mark)
			break;
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (!b)
			abort();
		b->va = va;
		b->n = n;
		b->mark = mark;
		b->next = *bucket;
		*bucket = b;
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0, b);
}

static void ended(qemu_plugin_id_t id, void *user)
{
	FILE *f = fopen(out, "w");
	const struct block *b;
	unsigned int i, k;

	(void)id;
	(void)user;
	if (!f) {
		perror(out);
		return;
	}
	for (i = 0; i < BUCKETS; i++)
		for (b = blocks[i]; b; b = b->next)
			for (k = 0; k <= interval; k++)
				if (b->count[k])
					fprintf(f, "%u %llx %llu\n", k,
						(unsigned long long)b->va,
						(unsigned long long)b->count[k]);
	if (fclose(f))
		perror(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
	if (!out) {
		fprintf(stderr, "insncount: out=FILE is missing\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
