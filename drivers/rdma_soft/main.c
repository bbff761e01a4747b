// SPDX-License-Identifier: GPL-2.0
/*
 * The module: what all links share comes before the first one can be made and
 * goes after the last one is gone.
 */
#include "main.h"

#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <rdma/rdma_netlink.h>

#include "build.h"
#include "crc.h"
#include "engine.h"
#include "link.h"
#include "table.h"

/* Engines make progress for block devices, so memory must not stop them. */
struct workqueue_struct *rsoft_wq;

static int __init rsoft_init(void)
{
	int ret;

	rsoft_wq = alloc_workqueue("rdma_soft", WQ_MEM_RECLAIM | WQ_HIGHPRI |
				   WQ_PERCPU, 0);
	if (!rsoft_wq)
		return -ENOMEM;

	ret = rsoft_tables_init();
	if (ret)
		goto err_wq;
	rsoft_crc_init();
	ret = rsoft_link_init();
	if (ret)
		goto err_tables;
	return 0;

err_tables:
	rsoft_tables_exit();
err_wq:
	destroy_workqueue(rsoft_wq);
	return ret;
}

static void __exit rsoft_exit(void)
{
	rsoft_link_exit();
	destroy_workqueue(rsoft_wq);
	rsoft_tx_pages_free();
	rsoft_tables_exit();
	/* Callbacks of call_rcu() are code of this module. */
	rcu_barrier();
}

module_init(rsoft_init);
module_exit(rsoft_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The rdma_soft authors");
MODULE_DESCRIPTION("RDMA (RoCEv2) over any Ethernet device: rdma link add NAME type rdma_soft netdev IF");
MODULE_VERSION(RSOFT_VERSION);
MODULE_ALIAS_RDMA_LINK("rdma_soft");
MODULE_SOFTDEP("pre: ib_uverbs");
