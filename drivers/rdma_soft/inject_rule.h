/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules of the injector, between the data path (inject.c) and the files in
 * debugfs (inject_fs.c).
 */
#ifndef RSOFT_INJECT_RULE_H
#define RSOFT_INJECT_RULE_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>

#include "inject.h"

/* Entries of the list of what was injected; a power of two. */
#define RSOFT_INJECT_LOG	8192
/* Rules a device may have, and packets that may be held at a time. */
#define RSOFT_INJECT_RULES_MAX	1024
#define RSOFT_INJECT_HELD_MAX	4096
/* Longest time a packet is held. */
#define RSOFT_INJECT_NS_MAX	(10 * NSEC_PER_SEC)

/**
 * struct rsoft_rule - one rule
 * @node: in inject->rules
 * @id: number, as listed
 * @place: where it acts
 * @v: what it does
 * @dirs: directions that it looks at, bits of enum rsoft_inject_dir
 * @any_op: it is about every opcode
 * @ops: opcodes that it is about
 * @syn_type: AETH type (RSOFT_SYN_*), or RSOFT_RULE_ANY
 * @qpn: QP, or RSOFT_RULE_ANY
 * @psn_first: first PSN, or RSOFT_RULE_ANY
 * @psn_last: last PSN
 * @nth: fires at this match, counted from 1; 0 at all of them
 * @every: fires at each match of which the number is a multiple; 0 is off
 * @share_ppm: share of matches that it fires at, in millionths
 * @has_share: @share_ppm and @seed count
 * @seed: start of the share's sequence
 * @count: times that it may fire, U32_MAX without end
 * @seen: matches
 * @hits: times that it fired
 */
struct rsoft_rule {
	struct list_head node;
	u32 id;
	enum rsoft_inject_place place;
	struct rsoft_verdict v;
	u8 dirs;
	bool any_op;
	DECLARE_BITMAP(ops, 256);
	u32 syn_type;
	u32 qpn;
	u32 psn_first;
	u32 psn_last;
	u32 nth;
	u32 every;
	u32 share_ppm;
	bool has_share;
	u64 seed;
	u32 count;
	u32 seen;
	u32 hits;
};

#define RSOFT_RULE_ANY U32_MAX

/**
 * struct rsoft_inject_entry - one line of the list
 * @rule: number of the rule
 * @what: what was done
 * @place: where
 * @pkt: to which packet
 */
struct rsoft_inject_entry {
	u32 rule;
	u8 what;
	u8 place;
	struct rsoft_inject_pkt pkt;
};

/**
 * struct rsoft_inject - injector of a device
 * @dev: device
 * @ctl: one writer of rules at a time; outside of @lock
 * @lock: everything below; irqsave, nothing is taken inside
 * @dead: the device goes: no rules, nothing is held
 * @rules: in the order in which they are tried
 * @nrules: their number; the static key counts devices where it is not 0
 * @next_id: number of the next rule
 * @held: packets that wait, in the order in which they came
 * @nheld: their number
 * @timer: earliest @due of @held
 * @log: ring of RSOFT_INJECT_LOG entries; NULL until the first rule
 * @logged: entries ever written
 * @dir: folder in debugfs
 * @error: what was wrong with the line written last
 */
struct rsoft_inject {
	struct rsoft_dev *dev;
	struct mutex ctl;	/* writers of rules */
	spinlock_t lock;	/* rules, held, log */
	bool dead;
	struct list_head rules;
	u32 nrules;
	u32 next_id;
	struct list_head held;
	u32 nheld;
	struct hrtimer timer;
	struct rsoft_inject_entry *log;
	u64 logged;
	struct dentry *dir;
	char error[128];
};

/**
 * rsoft_inject_add() - append a rule
 * @inj: injector; @inj->ctl held
 * @rule: rule; belongs to @inj on success
 *
 * Context: may sleep.
 *
 * Return: 0; -ENOMEM; -ENOSPC with RSOFT_INJECT_RULES_MAX rules; -ENODEV if the
 * device goes.
 */
int rsoft_inject_add(struct rsoft_inject *inj, struct rsoft_rule *rule);

/**
 * rsoft_inject_clear() - remove rules
 * @inj: injector; @inj->ctl held
 * @id: number of the rule, or RSOFT_RULE_ANY for all and the list
 *
 * Held packets go their way.
 *
 * Context: may sleep.
 *
 * Return: 0, -ENOENT without such a rule.
 */
int rsoft_inject_clear(struct rsoft_inject *inj, u32 id);

/**
 * rsoft_rule_parse() - make a rule from a line
 * @line: text; destroyed
 * @rule: filled in
 * @why: one line that says what is wrong, if something is
 * @size: room in @why
 *
 * Return: 0 or -EINVAL.
 */
int rsoft_rule_parse(char *line, struct rsoft_rule *rule, char *why,
		     size_t size);

/**
 * rsoft_inject_name() - word of the grammar
 * @what: action
 *
 * Return: its name.
 */
const char *rsoft_inject_name(enum rsoft_inject_what what);

/**
 * rsoft_opcode_name() - word of the grammar
 * @opcode: BTH opcode
 *
 * Return: its name without the transport, "-" if it has none.
 */
const char *rsoft_opcode_name(u8 opcode);

/**
 * rsoft_inject_files() - make the files of a device
 * @inj: injector
 */
void rsoft_inject_files(struct rsoft_inject *inj);

#endif
