// SPDX-License-Identifier: GPL-2.0
/*
 * The injector's files in debugfs, and the grammar of its rules
 * (Documentation/faults.rst):
 *
 *	<debugfs>/rdma_soft/DEVICE/faults	rules: write to add, read to list
 *	<debugfs>/rdma_soft/DEVICE/injected	what was done, oldest first
 *
 * A line is "clear", "remove ID" or a rule: an action, then key=value words.
 */
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "device.h"
#include "inject_rule.h"
#include "netns.h"
#include "proto/aeth.h"
#include "proto/psn.h"

/* The longest text that one write() may bring. */
#define WRITE_MAX	8192
/* How long a packet stays behind others that do not come. */
#define REORDER_NS	(10 * NSEC_PER_MSEC)

/* --- words -------------------------------------------------------------- */

/**
 * struct word - a name and what it means
 * @name: as written
 * @val: its number
 */
struct word {
	const char *name;
	u32 val;
};

static const struct word action_words[] = {
	{ "note", RSOFT_INJECT_NOTE },
	{ "drop", RSOFT_INJECT_DROP },
	{ "dup", RSOFT_INJECT_DUP },
	{ "delay", RSOFT_INJECT_DELAY },
	{ "reorder", RSOFT_INJECT_REORDER },
	{ "corrupt", RSOFT_INJECT_CORRUPT },
	{ "rnr", RSOFT_INJECT_RNR },
	{ "nak", RSOFT_INJECT_NAK },
	{ "wc", RSOFT_INJECT_WC },
	{ "cqfull", RSOFT_INJECT_CQFULL },
	{}
};

static const struct word op_words[] = {
	{ "send_first", RSOFT_OP_SEND_FIRST },
	{ "send_middle", RSOFT_OP_SEND_MIDDLE },
	{ "send_last", RSOFT_OP_SEND_LAST },
	{ "send_last_imm", RSOFT_OP_SEND_LAST_IMM },
	{ "send_only", RSOFT_OP_SEND_ONLY },
	{ "send_only_imm", RSOFT_OP_SEND_ONLY_IMM },
	{ "write_first", RSOFT_OP_WRITE_FIRST },
	{ "write_middle", RSOFT_OP_WRITE_MIDDLE },
	{ "write_last", RSOFT_OP_WRITE_LAST },
	{ "write_last_imm", RSOFT_OP_WRITE_LAST_IMM },
	{ "write_only", RSOFT_OP_WRITE_ONLY },
	{ "write_only_imm", RSOFT_OP_WRITE_ONLY_IMM },
	{ "read_req", RSOFT_OP_READ_REQ },
	{ "read_resp_first", RSOFT_OP_READ_RESP_FIRST },
	{ "read_resp_middle", RSOFT_OP_READ_RESP_MIDDLE },
	{ "read_resp_last", RSOFT_OP_READ_RESP_LAST },
	{ "read_resp_only", RSOFT_OP_READ_RESP_ONLY },
	{ "ack", RSOFT_OP_ACK },
	{ "atomic_ack", RSOFT_OP_ATOMIC_ACK },
	{ "cas", RSOFT_OP_COMPARE_SWAP },
	{ "fadd", RSOFT_OP_FETCH_ADD },
	{ "send_last_inv", RSOFT_OP_SEND_LAST_INV },
	{ "send_only_inv", RSOFT_OP_SEND_ONLY_INV },
	{ "flush", RSOFT_OP_FLUSH },
	{ "atomic_write", RSOFT_OP_ATOMIC_WRITE },
	{}
};

/* Names of groups of opcodes: "request" and "response", and by kind. */
#define GROUP_REQUEST	0x100
#define GROUP_RESPONSE	0x101

static const struct word group_words[] = {
	{ "request", GROUP_REQUEST },
	{ "response", GROUP_RESPONSE },
	{ "send", RSOFT_KIND_SEND },
	{ "write", RSOFT_KIND_WRITE },
	{ "atomic", RSOFT_KIND_ATOMIC },
	{ "read_resp", RSOFT_KIND_READ_RESP },
	{ "cnp", RSOFT_KIND_CNP },
	{}
};

static const struct word syn_words[] = {
	{ "ack", RSOFT_SYN_ACK },
	{ "rnr", RSOFT_SYN_RNR },
	{ "nak", RSOFT_SYN_NAK },
	{}
};

static const struct word nak_words[] = {
	{ "psn", RSOFT_NAK_PSN },
	{ "inv_req", RSOFT_NAK_INV_REQ },
	{ "access", RSOFT_NAK_REM_ACCESS },
	{ "op", RSOFT_NAK_REM_OP },
	{}
};

static const struct word wc_words[] = {
	{ "loc_len", IB_WC_LOC_LEN_ERR },
	{ "loc_qp_op", IB_WC_LOC_QP_OP_ERR },
	{ "loc_prot", IB_WC_LOC_PROT_ERR },
	{ "loc_access", IB_WC_LOC_ACCESS_ERR },
	{ "bad_resp", IB_WC_BAD_RESP_ERR },
	{ "rem_inv_req", IB_WC_REM_INV_REQ_ERR },
	{ "rem_access", IB_WC_REM_ACCESS_ERR },
	{ "rem_op", IB_WC_REM_OP_ERR },
	{ "retry", IB_WC_RETRY_EXC_ERR },
	{ "rnr_retry", IB_WC_RNR_RETRY_EXC_ERR },
	{ "fatal", IB_WC_FATAL_ERR },
	{ "general", IB_WC_GENERAL_ERR },
	{}
};

static const struct word dir_words[] = {
	{ "tx", RSOFT_INJECT_TX },
	{ "rx", RSOFT_INJECT_RX },
	{ "both", RSOFT_INJECT_TX | RSOFT_INJECT_RX },
	{}
};

static bool word_find(const struct word *w, const char *name, u32 *val)
{
	for (; w->name; w++) {
		if (!strcmp(w->name, name)) {
			*val = w->val;
			return true;
		}
	}
	return false;
}

static const char *word_name(const struct word *w, u32 val)
{
	for (; w->name; w++) {
		if (w->val == val)
			return w->name;
	}
	return "-";
}

const char *rsoft_inject_name(enum rsoft_inject_what what)
{
	return word_name(action_words, what);
}

const char *rsoft_opcode_name(u8 opcode)
{
	const struct rsoft_opinfo *info = rsoft_opinfo(opcode);

	if (info->kind == RSOFT_KIND_NONE)
		return "-";
	if (info->kind == RSOFT_KIND_CNP)
		return "cnp";
	return word_name(op_words, opcode & ~RSOFT_TRANSPORT_MASK);
}

/* --- values ------------------------------------------------------------- */

static bool parse_u32(const char *s, u32 max, u32 *val)
{
	return !kstrtou32(s, 0, val) && *val <= max;
}

/* "10us", "5ms", "1s": nanoseconds. */
static bool parse_time(const char *s, u64 *ns)
{
	static const struct word units[] = {
		{ "us", NSEC_PER_USEC }, { "ms", NSEC_PER_MSEC },
		{ "s", NSEC_PER_SEC }, {}
	};
	u32 unit, n = 0;

	if (!isdigit(*s))
		return false;
	for (; isdigit(*s); s++) {
		n = n * 10 + (*s - '0');
		if (n > 10000000)
			return false;
	}
	if (!word_find(units, s, &unit))
		return false;
	*ns = (u64)n * unit;
	return *ns <= RSOFT_INJECT_NS_MAX;
}

/* "1%", "0.25%": millionths. */
static bool parse_share(const char *s, u32 *ppm)
{
	u32 scale = 10000, n = 0;

	if (!isdigit(*s))
		return false;
	for (; isdigit(*s); s++) {
		n = n * 10 + (*s - '0');
		if (n > 100)
			return false;
	}
	n *= 10000;
	if (*s == '.') {
		for (s++; isdigit(*s) && scale > 1; s++) {
			scale /= 10;
			n += scale * (*s - '0');
		}
	}
	*ppm = n;
	return !strcmp(s, "%") && n <= 1000000;
}

static bool parse_psn(char *s, struct rsoft_rule *r)
{
	char *first = strsep(&s, "-");

	if (!parse_u32(first, RSOFT_PSN_MASK, &r->psn_first))
		return false;
	r->psn_last = r->psn_first;
	return !s || (parse_u32(s, RSOFT_PSN_MASK, &r->psn_last) &&
		      rsoft_psn_diff(r->psn_last, r->psn_first) >= 0);
}

static void op_add_group(struct rsoft_rule *r, u32 group)
{
	u32 op;

	for (op = 0; op < 256; op++) {
		const struct rsoft_opinfo *info = rsoft_opinfo(op);
		bool response = info->flags & RSOFT_PKT_RESPONSE;

		if (info->kind == RSOFT_KIND_NONE)
			continue;
		if (group == info->kind ||
		    (group == GROUP_RESPONSE && response) ||
		    (group == GROUP_REQUEST && !response &&
		     info->kind != RSOFT_KIND_CNP))
			set_bit(op, r->ops);
	}
}

/* "send_first,ack,0x0c": a name stands for all transports that have it. */
static bool parse_ops(char *s, struct rsoft_rule *r)
{
	char *name;
	u32 val;

	r->any_op = false;
	while ((name = strsep(&s, ","))) {
		if (word_find(op_words, name, &val)) {
			set_bit(RSOFT_RC | val, r->ops);
			set_bit(RSOFT_UC | val, r->ops);
			set_bit(RSOFT_UD | val, r->ops);
		} else if (word_find(group_words, name, &val)) {
			op_add_group(r, val);
		} else if (isdigit(*name) && parse_u32(name, 0xff, &val)) {
			set_bit(val, r->ops);
		} else {
			return false;
		}
	}
	return true;
}

/* --- rules -------------------------------------------------------------- */

/* "action" or "action=value". */
static bool parse_action(char *s, struct rsoft_rule *r)
{
	char *name = strsep(&s, "=");
	struct rsoft_verdict *v = &r->v;
	u32 what;

	if (!word_find(action_words, name, &what))
		return false;
	v->what = what;
	r->place = RSOFT_PLACE_WIRE;
	switch (what) {
	case RSOFT_INJECT_DUP:
		v->arg = 1;
		return !s || (parse_u32(s, 64, &v->arg) && v->arg);
	case RSOFT_INJECT_DELAY:
		return s && parse_time(s, &v->ns);
	case RSOFT_INJECT_REORDER:
		v->arg = 1;
		v->ns = REORDER_NS;
		return !s || (parse_u32(s, 1024, &v->arg) && v->arg);
	case RSOFT_INJECT_CORRUPT:
		v->arg = RSOFT_INJECT_LAST_BYTE;
		return !s || parse_u32(s, 65535, &v->arg);
	case RSOFT_INJECT_NAK:
		r->place = RSOFT_PLACE_REQUEST;
		return s && word_find(nak_words, s, &v->arg);
	case RSOFT_INJECT_WC:
		r->place = RSOFT_PLACE_SEND;
		return s && word_find(wc_words, s, &v->arg);
	case RSOFT_INJECT_RNR:
		r->place = RSOFT_PLACE_REQUEST;
		return !s;
	case RSOFT_INJECT_CQFULL:
		r->place = RSOFT_PLACE_CQ;
		return !s;
	default:
		return !s;
	}
}

static bool parse_count(const char *s, u32 *count)
{
	*count = U32_MAX;
	return !strcmp(s, "all") || (parse_u32(s, U32_MAX - 1, count) && *count);
}

static bool parse_key(const char *key, char *val, struct rsoft_rule *r)
{
	u32 dirs;

	if (!strcmp(key, "dir")) {
		if (!word_find(dir_words, val, &dirs))
			return false;
		r->dirs = dirs;
		return true;
	}
	if (!strcmp(key, "qpn"))
		return parse_u32(val, RSOFT_QPN_MASK, &r->qpn);
	if (!strcmp(key, "op"))
		return parse_ops(val, r);
	if (!strcmp(key, "syn"))
		return word_find(syn_words, val, &r->syn_type);
	if (!strcmp(key, "psn"))
		return parse_psn(val, r);
	if (!strcmp(key, "nth"))
		return parse_u32(val, U32_MAX, &r->nth) && r->nth;
	if (!strcmp(key, "every"))
		return parse_u32(val, U32_MAX, &r->every) && r->every;
	if (!strcmp(key, "share")) {
		r->has_share = true;
		return parse_share(val, &r->share_ppm);
	}
	if (!strcmp(key, "seed"))
		return !kstrtou64(val, 0, &r->seed);
	if (!strcmp(key, "count"))
		return parse_count(val, &r->count);
	if (!strcmp(key, "within"))
		return r->v.what == RSOFT_INJECT_REORDER &&
		       parse_time(val, &r->v.ns);
	return false;
}

/* Keys that fit together and the place where the rule acts. */
static const char *rule_check(struct rsoft_rule *r)
{
	bool by_packet = !r->any_op || r->psn_first != RSOFT_RULE_ANY ||
			 r->syn_type != RSOFT_RULE_ANY;

	if (!!r->nth + !!r->every + r->has_share > 1)
		return "nth, every and share exclude each other";
	if (r->place == RSOFT_PLACE_CQ && by_packet)
		return "a completion has no op, psn or syn";
	if (r->place == RSOFT_PLACE_REQUEST) {
		if (r->dirs == RSOFT_INJECT_TX)
			return "rnr and nak act on received requests: dir=rx";
		r->dirs = RSOFT_INJECT_RX;
	}
	if (r->v.what == RSOFT_INJECT_WC && r->dirs == RSOFT_INJECT_RX)
		r->place = RSOFT_PLACE_REQUEST;
	else if (r->v.what == RSOFT_INJECT_WC &&
		 r->dirs != RSOFT_INJECT_TX)
		return "wc needs dir=tx or dir=rx";
	if (!r->count)
		r->count = r->every || r->has_share ||
			   r->v.what == RSOFT_INJECT_NOTE ? U32_MAX : 1;
	return NULL;
}

int rsoft_rule_parse(char *line, struct rsoft_rule *r, char *why, size_t size)
{
	const char *bad;
	char *word, *key;

	*r = (struct rsoft_rule){
		.dirs = RSOFT_INJECT_TX | RSOFT_INJECT_RX,
		.any_op = true,
		.syn_type = RSOFT_RULE_ANY,
		.qpn = RSOFT_RULE_ANY,
		.psn_first = RSOFT_RULE_ANY,
	};
	line = strim(line);
	word = strsep(&line, " \t");
	snprintf(why, size, "'%s': no such action, or a bad value", word);
	if (!parse_action(word, r))
		return -EINVAL;
	while ((word = strsep(&line, " \t"))) {
		if (!*word)
			continue;
		snprintf(why, size, "'%s': no such key, or a bad value", word);
		key = strsep(&word, "=");
		if (!word || !parse_key(key, word, r))
			return -EINVAL;
	}
	bad = rule_check(r);
	strscpy(why, bad ?: "", size);
	return bad ? -EINVAL : 0;
}

/* --- faults ------------------------------------------------------------- */

static int inject_add_line(struct rsoft_inject *inj, char *line)
{
	struct rsoft_rule *r = kzalloc(sizeof(*r), GFP_KERNEL);
	int err;

	if (!r)
		return -ENOMEM;
	err = rsoft_rule_parse(line, r, inj->error, sizeof(inj->error));
	if (err)
		ibdev_warn_ratelimited(&inj->dev->ib_dev, "faults: %s\n",
				       inj->error);
	else
		err = rsoft_inject_add(inj, r);
	if (err)
		kfree(r);
	return err;
}

static int inject_line(struct rsoft_inject *inj, char *line)
{
	u32 id;

	line = strim(line);
	inj->error[0] = 0;
	if (!*line || *line == '#')
		return 0;
	if (!strcmp(line, "clear"))
		return rsoft_inject_clear(inj, RSOFT_RULE_ANY);
	if (!strncmp(line, "remove ", 7) &&
	    parse_u32(line + 7, RSOFT_RULE_ANY - 1, &id)) {
		if (!rsoft_inject_clear(inj, id))
			return 0;
		snprintf(inj->error, sizeof(inj->error), "no rule %u", id);
		return -ENOENT;
	}
	return inject_add_line(inj, line);
}

static ssize_t faults_write(struct file *file, const char __user *from,
			    size_t len, loff_t *pos)
{
	struct rsoft_inject *inj = file_inode(file)->i_private;
	char *buf, *rest, *line;
	int err = 0;

	if (len > WRITE_MAX)
		return -E2BIG;
	buf = memdup_user_nul(from, len);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	mutex_lock(&inj->ctl);
	rest = buf;
	while (!err && (line = strsep(&rest, "\n")))
		err = inject_line(inj, line);
	mutex_unlock(&inj->ctl);
	kfree(buf);
	return err ?: len;
}

static void rule_show(struct seq_file *m, const struct rsoft_rule *r)
{
	seq_printf(m, "%u %s dir=%s", r->id, rsoft_inject_name(r->v.what),
		   word_name(dir_words, r->dirs));
	if (r->qpn != RSOFT_RULE_ANY)
		seq_printf(m, " qpn=0x%06x", r->qpn);
	if (!r->any_op)
		seq_printf(m, " ops=%u", bitmap_weight(r->ops, 256));
	if (r->psn_first != RSOFT_RULE_ANY)
		seq_printf(m, " psn=0x%06x-0x%06x", r->psn_first, r->psn_last);
	if (r->nth)
		seq_printf(m, " nth=%u", r->nth);
	if (r->every)
		seq_printf(m, " every=%u", r->every);
	if (r->has_share)
		seq_printf(m, " share=%u.%04u%% seed=%llu",
			   r->share_ppm / 10000, r->share_ppm % 10000, r->seed);
	seq_printf(m, " seen=%u hits=%u\n", r->seen, r->hits);
}

static int faults_show(struct seq_file *m, void *unused)
{
	struct rsoft_inject *inj = m->private;
	struct rsoft_rule *r;

	mutex_lock(&inj->ctl);
	/* rules come and go under ctl; their counters may move meanwhile */
	list_for_each_entry(r, &inj->rules, node)
		rule_show(m, r);
	if (inj->error[0])
		seq_printf(m, "# error: %s\n", inj->error);
	mutex_unlock(&inj->ctl);
	return 0;
}

static int faults_open(struct inode *inode, struct file *file)
{
	return single_open(file, faults_show, inode->i_private);
}

static const struct file_operations faults_fops = {
	.owner = THIS_MODULE,
	.open = faults_open,
	.read = seq_read,
	.write = faults_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* --- injected ----------------------------------------------------------- */

/* Entry number @n if it is still there. */
static bool log_entry(struct rsoft_inject *inj, u64 n,
		      struct rsoft_inject_entry *e, u64 *oldest)
{
	bool there;

	spin_lock_irq(&inj->lock);
	*oldest = inj->logged > RSOFT_INJECT_LOG ?
		  inj->logged - RSOFT_INJECT_LOG : 0;
	there = inj->log && n >= *oldest && n < inj->logged;
	if (there)
		*e = inj->log[n & (RSOFT_INJECT_LOG - 1)];
	spin_unlock_irq(&inj->lock);
	return there;
}

static int injected_show(struct seq_file *m, void *unused)
{
	struct rsoft_inject *inj = m->private;
	struct rsoft_inject_entry e;
	u64 n, oldest;

	log_entry(inj, 0, &e, &oldest);
	if (oldest)
		seq_printf(m, "# %llu older ones are forgotten\n", oldest);
	seq_puts(m, "# rule action dir qpn psn opcode name\n");
	for (n = oldest; log_entry(inj, n, &e, &oldest); n++)
		seq_printf(m, "%u %s %s 0x%06x 0x%06x 0x%02x %s\n", e.rule,
			   rsoft_inject_name(e.what),
			   word_name(dir_words, e.pkt.dir), e.pkt.qpn,
			   e.pkt.psn, e.pkt.opcode,
			   e.place == RSOFT_PLACE_CQ ? "completion" :
			   rsoft_opcode_name(e.pkt.opcode));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(injected);

void rsoft_inject_files(struct rsoft_inject *inj)
{
	inj->dir = debugfs_create_dir(dev_name(&inj->dev->ib_dev.dev),
				      rsoft_debugfs);
	debugfs_create_file("faults", 0600, inj->dir, inj, &faults_fops);
	debugfs_create_file("injected", 0400, inj->dir, inj, &injected_fops);
}
