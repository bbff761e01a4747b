// SPDX-License-Identifier: GPL-2.0
/*
 * Header fields on the wire: what a program asks for is what a packet carries.
 * Packets are read by a packet socket on A's interface.
 */
#include <arpa/inet.h>
#include <unistd.h>

#include "vt.h"
#include "wire.h"

#define LEN 8192
#define GRH 40

struct hdr_run {
	struct vt_pair p;
	struct wire wire;
	struct vt_conn conn;
};

/* A QP to RTS with an address vector of its own. */
static void connect_av(struct vt_qp *q, const struct vt_qp *peer,
		       const struct ibv_ah_attr *av)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = q->end->port.active_mtu,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 12,
		.ah_attr = *av,
	};
	struct vt_conn conn = { .timeout = 18 };
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, rc;

	if (q->qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	rc = vt_to_init(q, 0);
	VT_ASSERT(!rc, "INIT: %s", strerror(rc));
	vt_enter(q->end);
	rc = ibv_modify_qp(q->qp, &attr, mask);
	VT_ASSERT(!rc, "RTR: %s", strerror(rc));
	rc = vt_to_rts(q, &conn);
	VT_ASSERT(!rc, "RTS: %s", strerror(rc));
}

/* A pair whose packets carry what the two address vectors say. */
static void up_av(struct hdr_run *r, enum ibv_qp_type type, int family,
		  const struct ibv_ah_attr *tweak_a,
		  const struct ibv_ah_attr *tweak_b)
{
	const struct ibv_ah_attr *tweak[] = { tweak_a, tweak_b };
	struct vt_qp_cfg cfg = { .type = type };
	struct vt_pair *p = &r->p;
	struct vt_qp *q[] = { &p->a, &p->b };
	struct ibv_ah_attr av;
	int i;

	vt_open(&p->ea, VT_A, family);
	vt_open(&p->eb, VT_B, family);
	vt_buf_alloc(&p->ea, &p->ba, LEN, VT_ACCESS_ALL);
	vt_buf_alloc(&p->eb, &p->bb, LEN, VT_ACCESS_ALL);
	vt_qp_create(&p->ea, &p->a, &cfg);
	vt_qp_create(&p->eb, &p->b, &cfg);
	p->a.psn = 0xfffffe;
	p->b.psn = 0x345678;
	for (i = 0; i < 2; i++) {
		vt_ah_attr(q[i]->end, q[!i]->end, &av);
		if (tweak[i]) {
			av.sl = tweak[i]->sl;
			av.grh.traffic_class = tweak[i]->grh.traffic_class;
			av.grh.flow_label = tweak[i]->grh.flow_label;
			av.grh.hop_limit = tweak[i]->grh.hop_limit;
		}
		connect_av(q[i], q[!i], &av);
	}
	wire_open(&r->wire, &p->ea, &p->eb);
}

static void down(struct hdr_run *r)
{
	wire_close(&r->wire);
	vt_pair_down(&r->p);
}

static void post(struct hdr_run *r, enum ibv_wr_opcode op, uint32_t len,
		 unsigned int flags)
{
	struct vt_pair *p = &r->p;

	VT_ASSERT(!vt_recv(&p->b, 5, p->bb.p, LEN, p->bb.mr->lkey), "");
	VT_ASSERT(!vt_post(&p->a, op, 0x11223344, len ? p->ba.p : NULL, len,
			   p->ba.mr->lkey, (uintptr_t)p->bb.p + 16,
			   p->bb.mr->rkey, flags | IBV_SEND_SIGNALED), "");
	VT_WANT(p->a.scq, 0x11223344, IBV_WC_SUCCESS);
}

/* The next packet in this direction. */
static void next(struct hdr_run *r, bool outgoing, struct wire_pkt *pkt)
{
	do {
		VT_ASSERT(wire_recv(&r->wire, pkt, 2000), "no packet");
	} while (pkt->outgoing != outgoing);
}

static void shell(const struct vt_end *e, const char *cmd)
{
	int rc;

	vt_enter(e);
	rc = system(cmd);
	VT_ASSERT(!rc, "'%s' ended with %d", cmd, rc);
}

/* One message; its first packet and the first one back. */
static void exchange(struct hdr_run *r, struct wire_pkt *req,
		     struct wire_pkt *resp)
{
	wire_flush(&r->wire);
	post(r, IBV_WR_RDMA_WRITE, 64, 0);
	next(r, true, req);
	if (resp)
		next(r, false, resp);
}

static void traffic_class(const void *arg)
{
	int family = *(const int *)arg;
	struct ibv_ah_attr a = { .grh.traffic_class = 0xb8, .grh.hop_limit = 9 };
	struct ibv_ah_attr b = { .grh.traffic_class = 0x28, .grh.hop_limit = 9 };
	struct wire_pkt req, resp;
	struct hdr_run r;

	up_av(&r, IBV_QPT_RC, family, &a, &b);
	exchange(&r, &req, &resp);
	/* the upper six bits are the program's, the lower two are ECN */
	VT_EXPECT((req.tos & 0xfc) == 0xb8, "request: %#x", req.tos);
	VT_EXPECT((resp.tos & 0xfc) == 0x28, "response: %#x", resp.tos);
	down(&r);
}

/*
 * The core puts the route's hop limit in place of what a program asks for
 * (ib_resolve_eth_dmac()): that is what goes out, at both ends.
 */
static void hop_limit(const void *arg)
{
	bool v6 = *(const int *)arg == 6;
	const char *dst = getenv(v6 ? "VT_ADDR_B6" : "VT_ADDR_B4");
	struct wire_pkt req, resp;
	struct hdr_run r;
	struct vt_end e;
	char cmd[200];

	VT_ASSERT(dst && getenv("VT_IF_A"), "");
	vt_open(&e, VT_A, 4);
	snprintf(cmd, sizeof(cmd),
		 "ip -%d route add %s/%d dev $VT_IF_A hoplimit 17", v6 ? 6 : 4,
		 dst, v6 ? 128 : 32);
	shell(&e, cmd);
	up_av(&r, IBV_QPT_RC, v6 ? 6 : 4, NULL, NULL);
	exchange(&r, &req, &resp);
	VT_EXPECT(req.ttl == 17, "request: %d", req.ttl);
	VT_EXPECT(resp.ttl == 64, "response: %d", resp.ttl);
	down(&r);
	snprintf(cmd, sizeof(cmd), "ip -%d route del %s/%d dev $VT_IF_A",
		 v6 ? 6 : 4, dst, v6 ? 128 : 32);
	shell(&e, cmd);
	vt_close(&e);
}

static void flow_label(const void *arg)
{
	struct ibv_ah_attr a = { .grh.flow_label = 0xabcde, .grh.hop_limit = 9 };
	struct wire_pkt req, resp;
	struct hdr_run r;

	(void)arg;
	up_av(&r, IBV_QPT_RC, 6, &a, NULL);
	exchange(&r, &req, &resp);
	VT_EXPECT(req.flow == 0xabcde, "request: %#x", req.flow);
	VT_EXPECT(resp.flow == 0, "response: %#x", resp.flow);
	down(&r);
}

/* The UDP port that a flow label stands for (kernel: ib_verbs.h). */
static uint16_t port_of_label(uint32_t fl)
{
	return ((fl & 0x3fff) ^ (fl & 0xfc000) >> 14) | 0xc000;
}

static uint32_t label_of_qpns(uint64_t l, uint64_t r)
{
	uint64_t v = l * r;

	v ^= v >> 20;
	v ^= v >> 40;
	return v & 0xfffff;
}

static void sport_of_flow_label(const void *arg)
{
	struct ibv_ah_attr a = { .grh.flow_label = 0xabcde, .grh.hop_limit = 9 };
	struct wire_pkt req;
	struct hdr_run r;

	(void)arg;
	up_av(&r, IBV_QPT_RC, 4, &a, NULL);
	exchange(&r, &req, NULL);
	VT_EXPECT(req.sport == port_of_label(0xabcde), "%#x", req.sport);
	exchange(&r, &req, NULL);
	VT_EXPECT(req.sport == port_of_label(0xabcde), "then %#x", req.sport);
	down(&r);
}

static void sport_of_qpns(const void *arg)
{
	struct wire_pkt req, resp;
	struct hdr_run r;
	uint32_t a, b;

	(void)arg;
	up_av(&r, IBV_QPT_RC, 4, NULL, NULL);
	exchange(&r, &req, &resp);
	a = r.p.a.qp->qp_num;
	b = r.p.b.qp->qp_num;
	VT_EXPECT(req.sport == port_of_label(label_of_qpns(a, b)), "%#x",
		  req.sport);
	VT_EXPECT(resp.sport == port_of_label(label_of_qpns(b, a)), "%#x",
		  resp.sport);
	down(&r);
}

static void dont_fragment(const void *arg)
{
	struct wire_pkt req, resp;
	struct hdr_run r;

	(void)arg;
	up_av(&r, IBV_QPT_RC, 4, NULL, NULL);
	exchange(&r, &req, &resp);
	VT_EXPECT(req.frag_off == 0x4000, "request: %#x", req.frag_off);
	VT_EXPECT(resp.frag_off == 0x4000, "response: %#x", resp.frag_off);
	down(&r);
}

/* BTH fields that do not depend on the request. */
static void constant_bth(const void *arg)
{
	struct wire_pkt pkt[2];
	struct hdr_run r;
	int i;

	(void)arg;
	up_av(&r, IBV_QPT_RC, 4, NULL, NULL);
	exchange(&r, &pkt[0], &pkt[1]);
	for (i = 0; i < 2; i++) {
		VT_EXPECT(pkt[i].pkey == 0xffff, "P_Key %#x", pkt[i].pkey);
		VT_EXPECT(pkt[i].mig, "MigReq is not set");
		VT_EXPECT(!pkt[i].tver, "version %d", pkt[i].tver);
		VT_EXPECT(!pkt[i].fecn && !pkt[i].becn, "FECN or BECN");
	}
	VT_EXPECT(pkt[0].qpn == r.p.b.qp->qp_num, "%x", pkt[0].qpn);
	VT_EXPECT(pkt[1].qpn == r.p.a.qp->qp_num, "%x", pkt[1].qpn);
	VT_EXPECT(pkt[0].psn == 0xfffffe, "%x", pkt[0].psn);
	VT_EXPECT(pkt[1].psn == 0xfffffe, "%x", pkt[1].psn);
	down(&r);
}

/* Solicited event: on the last packet only, only where asked for. */
static void solicited(const void *arg)
{
	struct wire_pkt pkt;
	struct hdr_run r;
	int i;

	(void)arg;
	up_av(&r, IBV_QPT_RC, 4, NULL, NULL);
	post(&r, IBV_WR_SEND, 3000, IBV_SEND_SOLICITED);
	for (i = 0; i < 3; i++) {
		next(&r, true, &pkt);
		VT_EXPECT(pkt.solicited == (i == 2), "packet %d: %d", i,
			  pkt.solicited);
	}
	post(&r, IBV_WR_SEND, 64, 0);
	next(&r, true, &pkt);
	VT_EXPECT(!pkt.solicited, "without the flag");
	down(&r);
}

/* An ACK is asked for by the last packet, where nothing follows. */
static void ack_req(const void *arg)
{
	struct wire_pkt pkt;
	struct hdr_run r;
	int i;

	(void)arg;
	up_av(&r, IBV_QPT_RC, 4, NULL, NULL);
	post(&r, IBV_WR_RDMA_WRITE, 3000, 0);
	for (i = 0; i < 3; i++) {
		next(&r, true, &pkt);
		VT_EXPECT(pkt.ackreq == (i == 2), "packet %d: %d", i,
			  pkt.ackreq);
	}
	down(&r);
	up_av(&r, IBV_QPT_UC, 4, NULL, NULL);
	post(&r, IBV_WR_RDMA_WRITE, 64, 0);
	next(&r, true, &pkt);
	VT_EXPECT(!pkt.ackreq, "UC asks for an ACK");
	down(&r);
}

static void pad_count(const void *arg)
{
	struct wire_pkt pkt;
	struct hdr_run r;
	uint32_t len;

	(void)arg;
	up_av(&r, IBV_QPT_RC, 4, NULL, NULL);
	for (len = 0; len < 9; len++) {
		wire_flush(&r.wire);
		post(&r, IBV_WR_RDMA_WRITE, len, 0);
		next(&r, true, &pkt);
		VT_EXPECT(pkt.pad == (-len & 3), "%u bytes: pad %d", len,
			  pkt.pad);
		VT_EXPECT(pkt.len == len, "%u bytes: %u", len, pkt.len);
	}
	down(&r);
}

/* Extension headers carry the request's own values. */
static void extension_headers(const void *arg)
{
	struct wire_pkt req, resp;
	struct hdr_run r;
	uint64_t va;

	(void)arg;
	up_av(&r, IBV_QPT_RC, 4, NULL, NULL);
	va = (uintptr_t)r.p.bb.p + 16;
	post(&r, IBV_WR_RDMA_WRITE_WITH_IMM, 99, 0);
	next(&r, true, &req);
	next(&r, false, &resp);
	VT_EXPECT(req.va == va && req.rkey == r.p.bb.mr->rkey &&
		  req.dma_len == 99, "RETH %llx %x %u",
		  (unsigned long long)req.va, req.rkey, req.dma_len);
	VT_EXPECT(req.imm == 0x11223344, "immediate %x", req.imm);
	VT_EXPECT(resp.msn == 1, "MSN %u", resp.msn);
	wire_flush(&r.wire);
	memset(r.p.bb.p, 0xee, 64);
	post(&r, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0);
	next(&r, true, &req);
	next(&r, false, &resp);
	VT_EXPECT(req.va == va && req.rkey == r.p.bb.mr->rkey && req.swap == 1,
		  "AtomicETH %llx %x %llu", (unsigned long long)req.va,
		  req.rkey, (unsigned long long)req.swap);
	VT_EXPECT(resp.orig == 0xeeeeeeeeeeeeeeee, "AtomicAckETH %llx",
		  (unsigned long long)resp.orig);
	VT_EXPECT(resp.msn == 2, "MSN %u", resp.msn);
	VT_EXPECT(*(uint64_t *)r.p.ba.p == 0xeeeeeeeeeeeeeeee, "result %llx",
		  (unsigned long long)*(uint64_t *)r.p.ba.p);
	down(&r);
}

/* One datagram from A to B, captured. */
static void datagram(struct hdr_run *r, int family, struct wire_pkt *pkt,
		     struct ibv_wc *wc)
{
	struct vt_qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .num_sge = 1,
					.send_flags = IBV_SEND_SIGNALED };
	struct vt_pair *p = &r->p;
	struct ibv_ah_attr av;
	struct ibv_sge sge;

	vt_open(&p->ea, VT_A, family);
	vt_open(&p->eb, VT_B, family);
	vt_buf_alloc(&p->ea, &p->ba, LEN, VT_ACCESS_ALL);
	vt_buf_alloc(&p->eb, &p->bb, LEN, VT_ACCESS_ALL);
	vt_qp_create(&p->ea, &p->a, &cfg);
	vt_qp_create(&p->eb, &p->b, &cfg);
	vt_connect(&p->a, &p->b, NULL);
	wire_open(&r->wire, &p->ea, &p->eb);
	memset(p->bb.p, 0x77, LEN);
	VT_ASSERT(!vt_recv(&p->b, 3, p->bb.p, LEN, p->bb.mr->lkey), "");
	vt_ah_attr(&p->ea, &p->eb, &av);
	av.grh.traffic_class = 0x48;
	av.grh.hop_limit = 33;
	av.grh.flow_label = 0x54321;
	wr.wr.ud.ah = ibv_create_ah(p->ea.pd, &av);
	VT_ASSERT(wr.wr.ud.ah, "%m");
	wr.wr.ud.remote_qpn = p->b.qp->qp_num;
	wr.wr.ud.remote_qkey = VT_QKEY;
	sge = (struct ibv_sge){ (uintptr_t)p->ba.p, 100, p->ba.mr->lkey };
	wr.sg_list = &sge;
	VT_ASSERT(!ibv_post_send(p->a.qp, &wr, &bad), "");
	VT_WANT(p->a.scq, 0, IBV_WC_SUCCESS);
	VT_WANT_WC(p->b.rcq, 3, IBV_WC_SUCCESS, wc);
	next(r, true, pkt);
	VT_EXPECT(!ibv_destroy_ah(wr.wr.ud.ah), "%m");
}

static void deth(const void *arg)
{
	struct wire_pkt pkt;
	struct hdr_run r;
	struct ibv_wc wc;

	(void)arg;
	datagram(&r, 4, &pkt, &wc);
	VT_EXPECT(pkt.qkey == VT_QKEY, "Q_Key %x", pkt.qkey);
	VT_EXPECT(pkt.sqpn == r.p.a.qp->qp_num, "source QPN %x", pkt.sqpn);
	VT_EXPECT(!pkt.ackreq, "AckReq");
	VT_EXPECT(wc.src_qp == r.p.a.qp->qp_num, "src_qp %x", wc.src_qp);
	down(&r);
}

static uint16_t sum16(const uint8_t *p, int len)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < len; i += 2)
		sum += p[i] << 8 | p[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* The 40 bytes before a datagram: 20 not used, then the IPv4 header. */
static void grh_ipv4(const void *arg)
{
	const uint8_t *ip;
	struct wire_pkt pkt;
	struct hdr_run r;
	struct ibv_wc wc;

	(void)arg;
	datagram(&r, 4, &pkt, &wc);
	ip = r.p.bb.p + 20;
	VT_EXPECT(wc.wc_flags & IBV_WC_GRH, "no IBV_WC_GRH");
	VT_EXPECT(wc.byte_len == 140, "%u bytes", wc.byte_len);
	VT_EXPECT(ip[0] == 0x45, "%02x", ip[0]);
	VT_EXPECT((ip[1] & 0xfc) == 0x48, "TOS %02x", ip[1]);
	VT_EXPECT((ip[2] << 8 | ip[3]) == 20 + 8 + 20 + 100 + 4, "length %d",
		  ip[2] << 8 | ip[3]);
	VT_EXPECT((ip[4] << 8 | ip[5]) == pkt.ip_id, "ID %x, sent %x",
		  ip[4] << 8 | ip[5], pkt.ip_id);
	VT_EXPECT(ip[6] == 0x40 && ip[7] == 0, "fragment %02x%02x", ip[6],
		  ip[7]);
	VT_EXPECT(ip[8] == pkt.ttl, "TTL %d, sent %d", ip[8], pkt.ttl);
	VT_EXPECT(ip[9] == IPPROTO_UDP, "protocol %d", ip[9]);
	VT_EXPECT(sum16(ip, 20) == 0xffff, "checksum");
	VT_EXPECT(!memcmp(ip + 12, r.p.ea.gid.raw + 12, 4), "source");
	VT_EXPECT(!memcmp(ip + 16, r.p.eb.gid.raw + 12, 4), "destination");
	VT_EXPECT(!memcmp(r.p.bb.p + GRH, r.p.ba.p, 100), "payload");
	VT_EXPECT(r.p.bb.p[GRH + 100] == 0x77, "byte behind the payload");
	down(&r);
}

static void grh_ipv6(const void *arg)
{
	const uint8_t *ip;
	struct wire_pkt pkt;
	struct hdr_run r;
	struct ibv_wc wc;
	uint32_t word;

	(void)arg;
	datagram(&r, 6, &pkt, &wc);
	ip = r.p.bb.p;
	memcpy(&word, ip, 4);
	word = ntohl(word);
	VT_EXPECT(wc.wc_flags & IBV_WC_GRH, "no IBV_WC_GRH");
	VT_EXPECT(word >> 28 == 6, "version %x", word >> 28);
	VT_EXPECT((word >> 20 & 0xfc) == 0x48, "class %x", word >> 20 & 0xff);
	VT_EXPECT((word & 0xfffff) == 0x54321, "label %x", word & 0xfffff);
	VT_EXPECT((ip[4] << 8 | ip[5]) == 8 + 20 + 100 + 4, "length %d",
		  ip[4] << 8 | ip[5]);
	VT_EXPECT(ip[6] == IPPROTO_UDP, "next header %d", ip[6]);
	VT_EXPECT(ip[7] == pkt.ttl, "hop limit %d, sent %d", ip[7], pkt.ttl);
	VT_EXPECT(!memcmp(ip + 8, r.p.ea.gid.raw, 16), "source");
	VT_EXPECT(!memcmp(ip + 24, r.p.eb.gid.raw, 16), "destination");
	VT_EXPECT(!memcmp(ip + GRH, r.p.ba.p, 100), "payload");
	down(&r);
}

/* The end's GID becomes that of another address. */
static void use_address(struct vt_end *e, const char *addr)
{
	struct ibv_gid_entry table[64];
	uint64_t until = vt_now_us() + 5000000;
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };
	ssize_t i, n;

	VT_ASSERT(inet_pton(AF_INET, addr, gid.raw + 12) == 1, "%s", addr);
	do {
		n = ibv_query_gid_table(e->ctx, table, 64, 0);
		for (i = 0; i < n; i++) {
			if (table[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
			    memcmp(table[i].gid.raw, gid.raw, 16))
				continue;
			e->gid = gid;
			e->gid_index = table[i].gid_index;
			return;
		}
		usleep(20000);
	} while (vt_now_us() < until);
	vt_fail(__FILE__, __LINE__, "no GID for %s", addr);
}

static void vlan_up(const struct vt_end *e, const char *netdev,
		    const char *addr)
{
	char cmd[400];

	snprintf(cmd, sizeof(cmd),
		 "ip link add link %s name %s.7 type vlan id 7 egress-qos-map 5:3 && ip addr add %s/24 dev %s.7 && ip link set %s.7 up",
		 netdev, netdev, addr, netdev, netdev);
	shell(e, cmd);
}

static void vlan_down(const struct vt_end *e, const char *netdev)
{
	char cmd[100];

	snprintf(cmd, sizeof(cmd), "ip link del %s.7", netdev);
	shell(e, cmd);
}

/* The GID of a VLAN: tagged packets, the priority by the VLAN's own map. */
static void vlan_priority(const void *arg)
{
	const char *ifa = getenv("VT_IF_A"), *ifb = getenv("VT_IF_B");
	struct ibv_ah_attr av[2];
	struct wire_pkt req, resp;
	struct hdr_run r;
	struct vt_pair *p = &r.p;

	(void)arg;
	VT_ASSERT(ifa && ifb, "");
	vt_open(&p->ea, VT_A, 4);
	vt_open(&p->eb, VT_B, 4);
	vlan_up(&p->ea, ifa, "10.7.7.1");
	vlan_up(&p->eb, ifb, "10.7.7.2");
	use_address(&p->ea, "10.7.7.1");
	use_address(&p->eb, "10.7.7.2");
	vt_buf_alloc(&p->ea, &p->ba, LEN, VT_ACCESS_ALL);
	vt_buf_alloc(&p->eb, &p->bb, LEN, VT_ACCESS_ALL);
	vt_qp_create(&p->ea, &p->a, NULL);
	vt_qp_create(&p->eb, &p->b, NULL);
	vt_ah_attr(&p->ea, &p->eb, &av[0]);
	vt_ah_attr(&p->eb, &p->ea, &av[1]);
	av[0].sl = 5;
	connect_av(&p->a, &p->b, &av[0]);
	connect_av(&p->b, &p->a, &av[1]);
	wire_open(&r.wire, &p->ea, &p->eb);
	post(&r, IBV_WR_RDMA_WRITE, 64, 0);
	next(&r, true, &req);
	next(&r, false, &resp);
	VT_EXPECT((req.vlan & 0xfff) == 7, "request: VLAN %d", req.vlan);
	VT_EXPECT(req.vlan >> 13 == 3, "request: PCP %d", req.vlan >> 13);
	VT_EXPECT((resp.vlan & 0xfff) == 7, "response: VLAN %d", resp.vlan);
	VT_EXPECT(resp.vlan >> 13 == 0, "response: PCP %d", resp.vlan >> 13);
	wire_close(&r.wire);
	vt_qp_destroy(&p->a);
	vt_qp_destroy(&p->b);
	vlan_down(&p->ea, ifa);
	vlan_down(&p->eb, ifb);
	vt_buf_free(&p->ba);
	vt_buf_free(&p->bb);
	vt_close(&p->ea);
	vt_close(&p->eb);
}

static const int v4 = 4, v6 = 6;

static const struct vt_test tests[] = {
	{ "traffic_class_v4", traffic_class, &v4 },
	{ "traffic_class_v6", traffic_class, &v6 },
	{ "hop_limit_v4", hop_limit, &v4 },
	{ "hop_limit_v6", hop_limit, &v6 },
	{ "flow_label", flow_label },
	{ "sport_of_flow_label", sport_of_flow_label },
	{ "sport_of_qpns", sport_of_qpns },
	{ "dont_fragment", dont_fragment },
	{ "constant_bth", constant_bth },
	{ "solicited", solicited },
	{ "ack_req", ack_req },
	{ "pad_count", pad_count },
	{ "extension_headers", extension_headers },
	{ "deth", deth },
	{ "grh_ipv4", grh_ipv4 },
	{ "grh_ipv6", grh_ipv6 },
	{ "vlan_priority", vlan_priority },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
