// SPDX-License-Identifier: GPL-2.0
/*
 * Makes one deliberate mistake when it is loaded, so that the sanitizer run
 * can show that it would see such a mistake in the driver.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

static char *mistake = "none";
module_param(mistake, charp, 0);
MODULE_PARM_DESC(mistake, "none, overflow, use_after_free, deadlock or leak");

static DEFINE_MUTEX(lock_a);
static DEFINE_MUTEX(lock_b);

/* In both orders: nobody waits here, but two tasks could for ever. */
static void lock_in_both_orders(void)
{
	mutex_lock(&lock_a);
	mutex_lock(&lock_b);
	mutex_unlock(&lock_b);
	mutex_unlock(&lock_a);
	mutex_lock(&lock_b);
	mutex_lock(&lock_a);
	mutex_unlock(&lock_a);
	mutex_unlock(&lock_b);
}

static int __init canary_init(void)
{
	char *buf = kmalloc(100, GFP_KERNEL);

	if (!buf)
		return -ENOMEM;
	/* What the compiler cannot see it does not warn about or remove. */
	OPTIMIZER_HIDE_VAR(buf);
	if (!strcmp(mistake, "leak"))
		return 0;
	if (!strcmp(mistake, "deadlock"))
		lock_in_both_orders();
	if (!strcmp(mistake, "overflow"))
		buf[100] = 1;
	kfree(buf);
	if (!strcmp(mistake, "use_after_free"))
		buf[0] = 1;
	return 0;
}

static void __exit canary_exit(void)
{
}

module_init(canary_init);
module_exit(canary_exit);
MODULE_DESCRIPTION("Deliberate mistakes for the sanitizer run");
MODULE_LICENSE("GPL");
