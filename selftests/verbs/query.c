// SPDX-License-Identifier: GPL-2.0
/* What the device says about itself: limits, identity, port, tables. */
#include <net/if.h>
#include <unistd.h>

#include "vt.h"

static void limits(const void *arg)
{
	struct ibv_device_attr *at;
	struct vt_end e;

	(void)arg;
	vt_open(&e, VT_A, 4);
	at = &e.attr;
	VT_EXPECT(at->max_qp_wr >= 32767, "%d", at->max_qp_wr);
	VT_EXPECT(at->max_cqe >= 32767, "%d", at->max_cqe);
	VT_EXPECT(at->max_sge >= 32, "%d", at->max_sge);
	VT_EXPECT(at->max_sge_rd >= 32, "%d", at->max_sge_rd);
	VT_EXPECT(at->max_qp_rd_atom >= 128, "%d", at->max_qp_rd_atom);
	VT_EXPECT(at->max_qp_init_rd_atom >= 128, "%d",
		  at->max_qp_init_rd_atom);
	VT_EXPECT(at->max_qp >= 16384, "%d", at->max_qp);
	VT_EXPECT(at->max_cq >= 16384, "%d", at->max_cq);
	VT_EXPECT(at->max_mr >= 16384, "%d", at->max_mr);
	VT_EXPECT(at->max_pd >= 1024, "%d", at->max_pd);
	VT_EXPECT(at->max_ah >= 1024, "%d", at->max_ah);
	VT_EXPECT(at->max_srq >= 1024, "%d", at->max_srq);
	VT_EXPECT(at->max_srq_wr >= 32767, "%d", at->max_srq_wr);
	VT_EXPECT(at->max_mr_size >= 1ull << 32, "%llx",
		  (unsigned long long)at->max_mr_size);
	VT_EXPECT(at->page_size_cap & 4096, "%llx",
		  (unsigned long long)at->page_size_cap);
	VT_EXPECT(at->atomic_cap == IBV_ATOMIC_HCA ||
		  at->atomic_cap == IBV_ATOMIC_GLOB, "%d", at->atomic_cap);
	VT_EXPECT(at->phys_port_cnt == 1, "%d", at->phys_port_cnt);
	VT_EXPECT(e.port.max_msg_sz == 1u << 31, "%u", e.port.max_msg_sz);
	vt_close(&e);
}

static void guids(const void *arg)
{
	struct vt_end a, b;

	(void)arg;
	vt_open(&a, VT_A, 4);
	vt_open(&b, VT_B, 4);
	VT_EXPECT(a.attr.node_guid, "");
	VT_EXPECT(a.attr.sys_image_guid, "");
	VT_EXPECT(b.attr.node_guid, "");
	VT_EXPECT(a.attr.node_guid != b.attr.node_guid,
		  "two devices, one GUID");
	VT_EXPECT(a.ctx->device->node_type == IBV_NODE_CA, "%d",
		  a.ctx->device->node_type);
	vt_close(&a);
	vt_close(&b);
}

static void port(const void *arg)
{
	struct vt_end e;

	(void)arg;
	vt_open(&e, VT_A, 4);
	VT_EXPECT(e.port.state == IBV_PORT_ACTIVE, "%d", e.port.state);
	VT_EXPECT(e.port.phys_state == 5, "%d", e.port.phys_state);
	VT_EXPECT(e.port.link_layer == IBV_LINK_LAYER_ETHERNET, "%d",
		  e.port.link_layer);
	VT_EXPECT(e.port.max_mtu == IBV_MTU_4096, "%d", e.port.max_mtu);
	VT_EXPECT(e.port.active_mtu == IBV_MTU_1024,
		  "netdev MTU 1500 gives path MTU %u",
		  vt_mtu_bytes(e.port.active_mtu));
	VT_EXPECT(e.port.pkey_tbl_len >= 1, "%d", e.port.pkey_tbl_len);
	VT_EXPECT(e.port.gid_tbl_len >= 16, "%d", e.port.gid_tbl_len);
	VT_EXPECT(e.port.active_speed && e.port.active_width, "%d %d",
		  e.port.active_speed, e.port.active_width);
	vt_close(&e);
}

static void pkey(const void *arg)
{
	struct vt_end e;
	__be16 key;

	(void)arg;
	vt_open(&e, VT_A, 4);
	VT_ASSERT(!ibv_query_pkey(e.ctx, 1, 0, &key), "%m");
	VT_EXPECT(key == 0xffff, "%x", key);
	VT_EXPECT(ibv_query_pkey(e.ctx, 1, e.port.pkey_tbl_len, &key),
		  "index past the table");
	VT_EXPECT(ibv_query_pkey(e.ctx, 2, 0, &key), "port 2");
	vt_close(&e);
}

static void bad_port(const void *arg)
{
	struct ibv_port_attr attr;
	struct vt_end e;

	(void)arg;
	vt_open(&e, VT_A, 4);
	VT_EXPECT(ibv_query_port(e.ctx, 0, &attr) == EINVAL, "");
	VT_EXPECT(ibv_query_port(e.ctx, 2, &attr) == EINVAL, "");
	vt_close(&e);
}

/* Every GID is non-zero, RoCE v2 entries name the netdev, no duplicates. */
static void gids(const void *arg)
{
	struct ibv_gid_entry t[64];
	union ibv_gid zero = { 0 };
	ssize_t i, j, n;
	struct vt_end e;
	int v2 = 0;

	(void)arg;
	vt_open(&e, VT_A, 6);
	n = ibv_query_gid_table(e.ctx, t, 64, 0);
	VT_ASSERT(n > 0, "%zd", n);
	for (i = 0; i < n; i++) {
		VT_EXPECT(memcmp(&t[i].gid, &zero, 16), "index %u",
			  t[i].gid_index);
		if (t[i].gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		v2++;
		VT_EXPECT(t[i].ndev_ifindex == if_nametoindex(getenv("VT_IF_A")),
			  "index %u: ifindex %u", t[i].gid_index,
			  t[i].ndev_ifindex);
		for (j = 0; j < i; j++)
			VT_EXPECT(t[j].gid_type != t[i].gid_type ||
				  memcmp(&t[j].gid, &t[i].gid, 16),
				  "indexes %u and %u are equal",
				  t[j].gid_index, t[i].gid_index);
	}
	VT_EXPECT(v2 >= 2, "%d", v2);
	vt_close(&e);
}

static void query_ex(const void *arg)
{
	struct ibv_device_attr_ex ex = { 0 };
	struct vt_end e;

	(void)arg;
	vt_open(&e, VT_A, 4);
	VT_ASSERT(!ibv_query_device_ex(e.ctx, NULL, &ex), "%m");
	VT_EXPECT(ex.orig_attr.max_qp == e.attr.max_qp, "%d",
		  ex.orig_attr.max_qp);
	VT_EXPECT(ex.orig_attr.max_sge == e.attr.max_sge, "%d",
		  ex.orig_attr.max_sge);
	vt_close(&e);
}

static const struct vt_test tests[] = {
	{ "limits", limits },
	{ "guids", guids },
	{ "port", port },
	{ "pkey_table", pkey },
	{ "bad_port_is_einval", bad_port },
	{ "gid_table", gids },
	{ "query_device_ex", query_ex },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
