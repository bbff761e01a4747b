// SPDX-License-Identifier: GPL-2.0
/*
 * The ib_device: its operations, what it can do, its one port, and how it comes
 * and goes. A device is driven by the rxe provider of any rdma-core, which is
 * why it carries that driver's id.
 *
 * The netdev is given to the core by ops.get_netdev only. A device that the
 * core can find by netdev would be found by the in-tree driver of the same id,
 * too, and taken for its own.
 */
#include "device.h"

#include <linux/ethtool.h>
#include <linux/jhash.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/utsname.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include "ah.h"
#include "cq.h"
#include "gid.h"
#include "gso.h"
#include "inject.h"
#include "link.h"
#include "main.h"
#include "mcast.h"
#include "mr.h"
#include "mw.h"
#include "pd.h"
#include "pma.h"
#include "proto/hdr.h"
#include "qp.h"
#include "qp_counter.h"
#include "restrack.h"
#include "ring.h"
#include "srq.h"

/* Assumed where the netdev does not know, Mb/s. */
#define SPEED_DEFAULT	SPEED_10000
/* Local CA ACK delay: 4.096 us << 15, 134 ms, as the host may be busy. */
#define ACK_DELAY	15
/* No vendor: nobody owns this OUI. Programs take 0 for a failed query. */
#define RSOFT_VENDOR_ID	0xffffff
#define IPV6_LEN	40
#define UDP_LEN		8
#define ICRC_LEN	4

static struct net_device *rsoft_get_netdev(struct ib_device *ibdev, u32 port)
{
	struct rsoft_dev *dev = to_rdev(ibdev);

	/* The core must let go before the netdev's unregistration ends. */
	if (READ_ONCE(dev->gone) ||
	    READ_ONCE(dev->ndev->reg_state) > NETREG_REGISTERED)
		return NULL;
	dev_hold(dev->ndev);
	return dev->ndev;
}

static int rsoft_query_device(struct ib_device *ibdev,
			      struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;

	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = RSOFT_FW_VER;
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = RSOFT_VENDOR_ID;
	attr->max_mr_size = RSOFT_MAX_MR_SIZE;
	attr->page_size_cap = 0xfffff000;
	attr->max_qp = RSOFT_MAX_QP;
	attr->max_qp_wr = RSOFT_MAX_QP_WR;
	attr->device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR |
				 IB_DEVICE_BAD_QKEY_CNTR |
				 IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 IB_DEVICE_ATOMIC_WRITE;
#ifdef RDMA_SOFT_HAVE_ACCESS_FLUSH
	attr->device_cap_flags |= IB_DEVICE_FLUSH_GLOBAL;
#endif
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG;
	attr->max_send_sge = RSOFT_MAX_SGE;
	attr->max_recv_sge = RSOFT_MAX_SGE;
	attr->max_sge_rd = RSOFT_MAX_SGE;
	attr->max_cq = RSOFT_MAX_CQ;
	attr->max_cqe = RSOFT_MAX_CQE;
	attr->max_mr = RSOFT_MAX_MR;
	attr->max_mw = RSOFT_MAX_MW;
	attr->max_fast_reg_page_list_len = RSOFT_MAX_FRMR_PAGES;
	attr->max_pd = RSOFT_MAX_PD;
	attr->max_qp_rd_atom = RSOFT_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = RSOFT_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = 0x7fffff80;
	/* Atomics are the CPU's own, so programs and other devices see them. */
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->max_ah = RSOFT_MAX_AH;
	attr->max_mcast_grp = RSOFT_MAX_MCAST;
	attr->max_mcast_qp_attach = RSOFT_MAX_MCAST;
	attr->max_total_mcast_qp_attach = RSOFT_MAX_MCAST;
	attr->max_srq = RSOFT_MAX_SRQ;
	attr->max_srq_wr = RSOFT_MAX_SRQ_WR;
	attr->max_srq_sge = RSOFT_MAX_SGE;
	attr->max_pkeys = RSOFT_PKEY_TABLE_LEN;
	attr->local_ca_ack_delay = ACK_DELAY;
	return 0;
}

enum ib_port_state rsoft_dev_port_state(const struct net_device *ndev)
{
	if (netif_running(ndev) && netif_carrier_ok(ndev))
		return IB_PORT_ACTIVE;
	return IB_PORT_DOWN;
}

enum ib_mtu rsoft_dev_mtu(unsigned int mtu)
{
	const unsigned int head = IPV6_LEN + UDP_LEN + RSOFT_HDR_MAX + ICRC_LEN;
	enum ib_mtu res = IB_MTU_256;

	while (res < IB_MTU_4096 &&
	       ib_mtu_enum_to_int(res + 1) + head <= mtu)
		res++;
	return res;
}

/*
 * Asking the netdev needs rtnl, under which we may have been called. Then, and
 * whenever rtnl is busy, the last answer must do.
 */
static u32 dev_speed(struct rsoft_dev *dev)
{
	struct ethtool_link_ksettings ks;

	if (!rtnl_trylock())
		return READ_ONCE(dev->speed);

	if (READ_ONCE(dev->ndev->reg_state) == NETREG_REGISTERED &&
	    !__ethtool_get_link_ksettings(dev->ndev, &ks) &&
	    ks.base.speed && ks.base.speed != (u32)SPEED_UNKNOWN)
		WRITE_ONCE(dev->speed, ks.base.speed);
	rtnl_unlock();
	return READ_ONCE(dev->speed);
}

static void port_speed(u32 mbps, struct ib_port_attr *attr)
{
	static const struct {
		u32 mbps;
		u16 speed;
		u8 width;
	} rates[] = {
		{ SPEED_2500, IB_SPEED_SDR, IB_WIDTH_1X },
		{ SPEED_5000, IB_SPEED_DDR, IB_WIDTH_1X },
		{ SPEED_10000, IB_SPEED_FDR10, IB_WIDTH_1X },
		{ SPEED_20000, IB_SPEED_DDR, IB_WIDTH_4X },
		{ SPEED_25000, IB_SPEED_EDR, IB_WIDTH_1X },
		{ SPEED_40000, IB_SPEED_FDR10, IB_WIDTH_4X },
		{ SPEED_50000, IB_SPEED_HDR, IB_WIDTH_1X },
		{ SPEED_100000, IB_SPEED_EDR, IB_WIDTH_4X },
		{ SPEED_200000, IB_SPEED_HDR, IB_WIDTH_4X },
		{ SPEED_400000, IB_SPEED_NDR, IB_WIDTH_4X },
	};
	size_t i = 0;

	while (i < ARRAY_SIZE(rates) - 1 && rates[i].mbps < mbps)
		i++;
	attr->active_speed = rates[i].speed;
	attr->active_width = rates[i].width;
}

static u8 port_phys_state(const struct net_device *ndev,
			  enum ib_port_state state)
{
	if (state == IB_PORT_ACTIVE)
		return IB_PORT_PHYS_STATE_LINK_UP;
	if (netif_running(ndev))
		return IB_PORT_PHYS_STATE_POLLING;
	return IB_PORT_PHYS_STATE_DISABLED;
}

static u32 port_counter(struct rsoft_dev *dev, enum rsoft_drop why)
{
	return (u32)rsoft_counters_sum(dev, rsoft_drop_counter(why));
}

/* The core has zeroed the attributes. */
static int rsoft_query_port(struct ib_device *ibdev, u32 port,
			    struct ib_port_attr *attr)
{
	struct rsoft_dev *dev = to_rdev(ibdev);
	const struct net_device *ndev = dev->ndev;

	attr->state = rsoft_dev_port_state(ndev);
	attr->phys_state = port_phys_state(ndev, attr->state);
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = rsoft_dev_mtu(READ_ONCE(ndev->mtu));
	attr->gid_tbl_len = RSOFT_GID_TABLE_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = RSOFT_MAX_MSG;
	attr->bad_pkey_cntr = port_counter(dev, RSOFT_DROP_PKEY);
	attr->qkey_viol_cntr = port_counter(dev, RSOFT_DROP_QKEY);
	attr->pkey_tbl_len = RSOFT_PKEY_TABLE_LEN;
	attr->max_vl_num = 1;
	port_speed(dev_speed(dev), attr);
	return 0;
}

static int rsoft_get_port_immutable(struct ib_device *ibdev, u32 port,
				    struct ib_port_immutable *immutable)
{
	immutable->pkey_tbl_len = RSOFT_PKEY_TABLE_LEN;
	immutable->gid_tbl_len = RSOFT_GID_TABLE_LEN;
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static int rsoft_query_pkey(struct ib_device *ibdev, u32 port, u16 index,
			    u16 *pkey)
{
	if (index >= RSOFT_PKEY_TABLE_LEN)
		return -EINVAL;
	*pkey = RSOFT_PKEY_DEFAULT;
	return 0;
}

static enum rdma_link_layer rsoft_get_link_layer(struct ib_device *ibdev,
						 u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static void rsoft_get_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%s", RSOFT_VERSION);
}

/*
 * Before the clients come, of which the MAD layer makes QP1: also after a move to
 * another netns of the core's exclusive mode, which removed them.
 */
static int rsoft_enable_driver(struct ib_device *ibdev)
{
	WRITE_ONCE(to_rdev(ibdev)->gone, false);
	return 0;
}

/* Also called when registration failed: the link was never told of it then. */
static void rsoft_dealloc_driver(struct ib_device *ibdev)
{
	if (to_rdev(ibdev)->registered)
		rsoft_link_dealloc(ibdev);
}

RSOFT_REG_USER_MR_OP(dev_reg_user_mr, rsoft_reg_user_mr)
RSOFT_COUNTER_QP_OPS(dev_counter_bind, rsoft_qp_counter_bind,
		     dev_counter_unbind, rsoft_qp_counter_unbind)

static const struct ib_device_ops dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_RXE,
	.uverbs_abi_ver = RDMA_SOFT_UVERBS_ABI_VERSION,

	.add_gid = rsoft_add_gid,
	.alloc_hw_port_stats = rsoft_counters_alloc_stats,
	.alloc_mr = rsoft_alloc_mr,
	.alloc_mw = rsoft_alloc_mw,
	.alloc_pd = rsoft_alloc_pd,
	.alloc_ucontext = rsoft_alloc_ucontext,
	.attach_mcast = rsoft_attach_mcast,
	.counter_alloc_stats = rsoft_qp_counter_alloc_stats,
	.counter_bind_qp = dev_counter_bind,
	.counter_dealloc = rsoft_qp_counter_dealloc,
	.counter_unbind_qp = dev_counter_unbind,
	.counter_update_stats = rsoft_qp_counter_update,
	.create_ah = rsoft_create_ah,
	.create_cq = rsoft_create_cq,
	.create_qp = rsoft_create_qp,
	.create_srq = rsoft_create_srq,
	.create_user_ah = rsoft_create_ah,
	.dealloc_driver = rsoft_dealloc_driver,
	.dealloc_mw = rsoft_dealloc_mw,
	.dealloc_pd = rsoft_dealloc_pd,
	.dealloc_ucontext = rsoft_dealloc_ucontext,
	.del_gid = rsoft_del_gid,
	.dereg_mr = rsoft_dereg_mr,
	.destroy_ah = rsoft_destroy_ah,
	.destroy_cq = rsoft_destroy_cq,
	.destroy_qp = rsoft_destroy_qp,
	.destroy_srq = rsoft_destroy_srq,
	.detach_mcast = rsoft_detach_mcast,
	.device_group = &rsoft_gso_group,
	.disassociate_ucontext = rsoft_disassociate_ucontext,
	.enable_driver = rsoft_enable_driver,
	.fill_res_cq_entry = rsoft_fill_res_cq,
	.fill_res_mr_entry = rsoft_fill_res_mr,
	.fill_res_qp_entry = rsoft_fill_res_qp,
#ifdef RDMA_SOFT_HAVE_FILL_RES_SRQ_ENTRY
	.fill_res_srq_entry = rsoft_fill_res_srq,
#endif
	.get_dev_fw_str = rsoft_get_fw_str,
	.get_dma_mr = rsoft_get_dma_mr,
	.get_hw_stats = rsoft_counters_get,
	.get_link_layer = rsoft_get_link_layer,
	.get_netdev = rsoft_get_netdev,
	.get_port_immutable = rsoft_get_port_immutable,
	.map_mr_sg = rsoft_map_mr_sg,
	.mmap = rsoft_mmap,
	.mmap_free = rsoft_mmap_free,
	.modify_cq = rsoft_modify_cq,
	.modify_qp = rsoft_modify_qp,
	.modify_srq = rsoft_modify_srq,
	.peek_cq = rsoft_peek_cq,
	.poll_cq = rsoft_poll_cq,
	.post_recv = rsoft_post_recv,
	.post_send = rsoft_post_send,
	.post_srq_recv = rsoft_post_srq_recv,
	.process_mad = rsoft_process_mad,
	.query_ah = rsoft_query_ah,
	.query_device = rsoft_query_device,
	.query_pkey = rsoft_query_pkey,
	.query_port = rsoft_query_port,
	.query_qp = rsoft_query_qp,
	.query_srq = rsoft_query_srq,
	.reg_user_mr = dev_reg_user_mr,
	.req_notify_cq = rsoft_req_notify_cq,
	.resize_user_cq = rsoft_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, rsoft_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, rsoft_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, rsoft_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, rsoft_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, rsoft_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, rsoft_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rsoft_ucontext, ibuc),
};

/*
 * The GUID is the MAC as EUI-64. A netdev without one (lo, tun) gets a number
 * that stays the same over reboots: made of the names of host and device, in
 * the form of a locally administered address.
 */
static __be64 dev_guid(const struct net_device *ndev, const char *name)
{
	u32 hash[2];
	__be64 guid;
	u8 *eui = (u8 *)&guid;

	if (ndev->addr_len == ETH_ALEN && is_valid_ether_addr(ndev->dev_addr)) {
		addrconf_addr_eui48(eui, ndev->dev_addr);
		return guid;
	}

	hash[0] = jhash(init_utsname()->nodename,
			strnlen(init_utsname()->nodename, __NEW_UTS_LEN), 0);
	hash[1] = jhash(name, strlen(name), hash[0]);
	memcpy(eui, hash, sizeof(guid));
	eui[0] = (eui[0] & ~1) | 2;
	return guid;
}

static void dev_setup(struct rsoft_dev *dev, const char *name)
{
	struct ib_device *ibdev = &dev->ib_dev;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->node_guid = dev_guid(dev->ndev, name);
	snprintf(ibdev->node_desc, sizeof(ibdev->node_desc), "rdma_soft %s",
		 name);
	/* The doorbell and arming, which the core leaves out by default. */
	ibdev->uverbs_cmd_mask |=
		BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
		BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	ib_set_device_ops(ibdev, &dev_ops);
	ib_mark_name_assigned_by_user(ibdev);

	spin_lock_init(&dev->qp_lock);
	INIT_LIST_HEAD(&dev->qps);
	xa_init_flags(&dev->qp_counters, XA_FLAGS_ALLOC1);
	dev->speed = SPEED_DEFAULT;
	dev->port_state = rsoft_dev_port_state(dev->ndev);
}

static int dev_register(struct rsoft_dev *dev, const char *name)
{
	int ret;

	/*
	 * From registration on, others may unregister the device at any time,
	 * even before it returns: the link's reference must be there already.
	 */
	get_device(&dev->ib_dev.dev);
	dev->registered = true;
	ret = ib_register_device(&dev->ib_dev, name, NULL);
	if (ret) {
		dev->registered = false;
		put_device(&dev->ib_dev.dev);
	}
	return ret;
}

struct rsoft_dev *rsoft_dev_create(const char *name, struct net_device *ndev,
				   struct rsoft_link *link)
{
	struct rsoft_dev *dev;
	int ret = -ENOMEM;

	dev = ib_alloc_device_with_net(rsoft_dev, ib_dev, dev_net(ndev));
	if (!dev)
		return ERR_PTR(-ENOMEM);

	dev->stats = alloc_percpu(struct rsoft_stats);
	if (!dev->stats)
		goto err_dealloc;
	if (rsoft_inject_create(dev))
		goto err_stats;

	dev_hold(ndev);
	dev->ndev = ndev;
	dev->link = link;
	dev_setup(dev, name);
	ret = dev_register(dev, name);
	if (ret)
		goto err_put_ndev;
	rsoft_inject_publish(dev);
	return dev;

err_put_ndev:
	/* packets may have found it by a GID that was added meanwhile */
	synchronize_rcu();
	dev_put(ndev);
	rsoft_inject_destroy(dev);
err_stats:
	free_percpu(dev->stats);
err_dealloc:
	ib_dealloc_device(&dev->ib_dev);
	return ERR_PTR(ret);
}

void rsoft_dev_port_event(struct rsoft_dev *dev)
{
	struct ib_event ev = {
		.device = &dev->ib_dev,
		.element.port_num = RSOFT_PORT,
	};
	enum ib_port_state now = rsoft_dev_port_state(dev->ndev);

	if (xchg(&dev->port_state, now) == now)
		return;
	if (now != IB_PORT_ACTIVE)
		rsoft_count(dev, RSOFT_CNT_LINK_DOWNED);
	ev.event = now == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE :
					   IB_EVENT_PORT_ERR;
	ib_dispatch_event(&ev);
}
