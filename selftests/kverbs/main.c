// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel consumer of the verbs that checks what it gets. Loading the module
 * runs the tests between two devices; the results are TAP in the debugfs file
 * rdma_soft_kverbs/results.
 *
 *   insmod rdma_soft_kverbs.ko dev0=soft0 dev1=soft1 [filter=text] [slow=1]
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_cache.h>

#include "kt.h"

#define LOG_SIZE (64 * 1024)

static char *dev0 = "soft0";
module_param(dev0, charp, 0444);
MODULE_PARM_DESC(dev0, "first device");
static char *dev1 = "soft1";
module_param(dev1, charp, 0444);
MODULE_PARM_DESC(dev1, "second device, connected to the first");
static char *filter = "";
module_param(filter, charp, 0444);
MODULE_PARM_DESC(filter, "run only tests whose name contains one of these (a,b)");

static bool slow;
module_param(slow, bool, 0444);
MODULE_PARM_DESC(slow, "run also tests whose name starts with slow_");

static const struct kt_case *const groups[] = {
	kt_frwr_cases, kt_inval_cases, kt_rights_cases, kt_post_cases,
	kt_drain_cases, kt_cq_cases, kt_srq_cases, kt_big_cases,
};

static struct ib_device *found[2];
static char *log;
static size_t log_len;
static struct dentry *dir;

__printf(1, 2)
static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_len += vscnprintf(log + log_len, LOG_SIZE - log_len, fmt, args);
	va_end(args);
}

bool kt_check(struct kt *t, bool ok, const char *file, int line,
	      const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	t->checks++;
	if (ok)
		return true;
	/* the first ones tell what is wrong */
	if (++t->failed > 8)
		return false;
	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	say("# %s:%d: %pV\n", kbasename(file), line, &vaf);
	va_end(args);
	return false;
}

struct undo {
	struct list_head list;
	void (*fn)(void *arg);
	void *arg;
};

void kt_defer(struct kt *t, void (*fn)(void *arg), void *arg)
{
	struct undo *u = kmalloc(sizeof(*u), GFP_KERNEL);

	if (KT_BAD(t, u, "no memory")) {
		fn(arg);
		return;
	}
	u->fn = fn;
	u->arg = arg;
	list_add(&u->list, &t->undo);
}

static void undo_all(struct kt *t)
{
	struct undo *u, *next;

	list_for_each_entry_safe(u, next, &t->undo, list) {
		u->fn(u->arg);
		list_del(&u->list);
		kfree(u);
	}
}

u32 kt_rnd(struct kt *t, u32 below)
{
	t->rnd = t->rnd * 1664525 + 1013904223;
	return (u32)(((u64)t->rnd * below) >> 32);
}

/* The device's first GID that is RoCE v2 over IPv4. */
static bool find_gid(struct kt *t, u32 idx)
{
	const struct ib_gid_attr *attr;
	u32 i;

	for (i = 0; i < 32; i++) {
		attr = rdma_get_gid_attr(t->dev[idx], 1, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((struct in6_addr *)&attr->gid)) {
			t->gid[idx] = attr->gid;
			t->gid_index[idx] = i;
			rdma_put_gid_attr(attr);
			return true;
		}
		rdma_put_gid_attr(attr);
	}
	return false;
}

static void run_case(const struct kt_case *c, u32 num)
{
	struct kt t = { .dev = { found[0], found[1] }, .rnd = 1 };
	unsigned long start = jiffies;

	INIT_LIST_HEAD(&t.undo);
	if (KT_BAD(&t, find_gid(&t, 0) && find_gid(&t, 1), "no GID"))
		goto out;
	c->run(&t);
	undo_all(&t);
	KT_OK(&t, t.checks, "the test checked nothing");
out:
	say("%sok %u - %s # %u checks, %u ms\n", t.failed ? "not " : "", num,
	    c->name, t.checks, jiffies_to_msecs(jiffies - start));
	if (t.failed)
		pr_info("failed: %s\n", c->name);
}

static bool wanted(const char *name)
{
	const char *part = filter;
	char text[64];
	size_t len;

	if (!slow && strstarts(name, "slow_"))
		return false;
	while (*part) {
		len = strcspn(part, ",");
		strscpy(text, part, min(len + 1, sizeof(text)));
		if (len && strstr(name, text))
			return true;
		part += len + !!part[len];
	}
	return !*filter;
}

static void run_all(void)
{
	const struct kt_case *c;
	u32 num = 0;
	size_t i;

	say("TAP version 13\n");
	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		for (c = groups[i]; c->name; c++) {
			if (wanted(c->name))
				run_case(c, ++num);
			cond_resched();
		}
	}
	say("1..%u\n", num);
}

static int results_show(struct seq_file *s, void *unused)
{
	seq_write(s, log, log_len);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static int client_add(struct ib_device *dev)
{
	if (!strcmp(dev_name(&dev->dev), dev0))
		found[0] = dev;
	else if (!strcmp(dev_name(&dev->dev), dev1))
		found[1] = dev;
	else
		return -EOPNOTSUPP;
	return 0;
}

static void client_remove(struct ib_device *dev, void *data)
{
}

static struct ib_client client = {
	.name = "rdma_soft_kverbs",
	.add = client_add,
	.remove = client_remove,
};

static int __init kverbs_init(void)
{
	int ret;

	log = vzalloc(LOG_SIZE);
	if (!log)
		return -ENOMEM;
	ret = ib_register_client(&client);
	if (ret)
		goto err_log;
	if (!found[0] || !found[1]) {
		pr_err("no device %s or %s\n", dev0, dev1);
		ret = -ENODEV;
		goto err_client;
	}
	run_all();
	/* the devices may go from now on */
	ib_unregister_client(&client);
	dir = debugfs_create_dir("rdma_soft_kverbs", NULL);
	debugfs_create_file("results", 0400, dir, NULL, &results_fops);
	return 0;

err_client:
	ib_unregister_client(&client);
err_log:
	vfree(log);
	return ret;
}

static void __exit kverbs_exit(void)
{
	debugfs_remove(dir);
	vfree(log);
}

module_init(kverbs_init);
module_exit(kverbs_exit);
MODULE_DESCRIPTION("Tests of an RDMA device through the kernel's verbs");
MODULE_LICENSE("GPL");
