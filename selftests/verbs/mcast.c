// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast with UD QPs that use ibv_attach_mcast() and no connection manager:
 * who is attached gets one copy, at the far end and at the end of the sender;
 * who is not, or is no more, gets none.
 */
#include <unistd.h>

#include "vt.h"

#define LEN	4096
#define SLOT	1024
#define GRH	40
#define TEXT	"to all of you"
#define MANY	64

static const union ibv_gid groups[] = {
	[4] = { .raw = { [10] = 0xff, 0xff, 239, 9, 8, 7 } },
	[5] = { .raw = { [10] = 0xff, 0xff, 239, 9, 8, 6 } },
	[6] = { .raw = { 0xff, 0x0e, [15] = 0x97 } },
	[7] = { .raw = { 0xff, 0x0e, [15] = 0x96 } },
};

/* Senders are on end A; QPs of both ends may be members. */
struct room {
	struct vt_end e[2];
	struct vt_buf b[2];
	struct vt_qp q[2][3];
	struct ibv_ah *ah;
	union ibv_gid group;
};

static void room_up(struct room *r, int family)
{
	struct vt_qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_ah_attr attr;
	int s, i;

	memset(r, 0, sizeof(*r));
	r->group = groups[family];
	for (s = 0; s < 2; s++) {
		vt_open(&r->e[s], s, family);
		vt_buf_alloc(&r->e[s], &r->b[s], LEN, VT_ACCESS_ALL);
		for (i = 0; i < 3; i++) {
			vt_qp_create(&r->e[s], &r->q[s][i], &cfg);
			VT_ASSERT(!vt_to_init(&r->q[s][i], 0), "%m");
			VT_ASSERT(!vt_to_rtr(&r->q[s][i], NULL, NULL), "%m");
			VT_ASSERT(!vt_to_rts(&r->q[s][i],
					     &(struct vt_conn){ 0 }), "%m");
			VT_ASSERT(!vt_recv(&r->q[s][i], 10 + i,
					   r->b[s].p + (1 + i) * SLOT, SLOT,
					   r->b[s].mr->lkey), "%m");
		}
	}
	vt_enter(&r->e[0]);
	vt_ah_attr(&r->e[0], &r->e[1], &attr);
	attr.grh.dgid = r->group;
	r->ah = ibv_create_ah(r->e[0].pd, &attr);
	VT_ASSERT(r->ah, "%m");
	strcpy((char *)r->b[0].p, TEXT);
}

static void room_down(struct room *r)
{
	int s, i;

	VT_EXPECT(!ibv_destroy_ah(r->ah), "%m");
	for (s = 0; s < 2; s++) {
		for (i = 0; i < 3; i++)
			vt_qp_destroy(&r->q[s][i]);
		vt_buf_free(&r->b[s]);
		vt_close(&r->e[s]);
	}
}

static int attach(struct vt_qp *q, const union ibv_gid *group)
{
	vt_enter(q->end);
	return ibv_attach_mcast(q->qp, group, 0);
}

static int detach(struct vt_qp *q, const union ibv_gid *group)
{
	vt_enter(q->end);
	return ibv_detach_mcast(q->qp, group, 0);
}

static void say(struct room *r, uint32_t qpn, uint32_t qkey)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)r->b[0].p,
		.length = sizeof(TEXT),
		.lkey = r->b[0].mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { r->ah, qpn, qkey },
	};

	vt_enter(&r->e[0]);
	VT_ASSERT(!ibv_post_send(r->q[0][0].qp, &wr, &bad), "%m");
	VT_WANT(r->q[0][0].scq, 0, IBV_WC_SUCCESS);
}

/* Exactly one copy, whole, with the group in the place of the GRH. */
static void heard(struct room *r, int s, int i)
{
	const uint8_t *p = r->b[s].p + (1 + i) * SLOT;
	bool v6 = r->e[s].family == 6;
	struct ibv_wc wc;

	VT_WANT_WC(r->q[s][i].rcq, 10 + i, IBV_WC_SUCCESS, &wc);
	VT_EXPECT(wc.byte_len == GRH + sizeof(TEXT), "%u", wc.byte_len);
	VT_EXPECT(wc.src_qp == r->q[0][0].qp->qp_num, "%u", wc.src_qp);
	VT_EXPECT(!memcmp(p + GRH, TEXT, sizeof(TEXT)), "%s", p + GRH);
	if (v6)
		VT_EXPECT(!memcmp(p + 24, r->group.raw, 16), "destination");
	else
		VT_EXPECT(!memcmp(p + 36, r->group.raw + 12, 4), "destination");
	VT_WANT_NONE(r->q[s][i].rcq, 0);
}

static void everyone_hears(const void *arg)
{
	struct room r;
	int s, i;

	room_up(&r, *(const int *)arg);
	for (s = 0; s < 2; s++)
		for (i = 0; i < 2; i++)
			VT_ASSERT(!attach(&r.q[s][i], &r.group), "%m");
	say(&r, 0xffffff, VT_QKEY);
	for (s = 0; s < 2; s++) {
		for (i = 0; i < 2; i++)
			heard(&r, s, i);
		VT_WANT_NONE(r.q[s][2].rcq, 20);
	}
	for (s = 0; s < 2; s++)
		for (i = 0; i < 2; i++)
			VT_ASSERT(!detach(&r.q[s][i], &r.group), "%m");
	room_down(&r);
}

/* The route of the sender was looked up before anyone was a member here. */
static void loop_back_starts_late(const void *arg)
{
	struct room r;

	room_up(&r, *(const int *)arg);
	say(&r, 0xffffff, VT_QKEY);
	VT_WANT_NONE(r.q[0][1].rcq, 20);
	VT_ASSERT(!attach(&r.q[0][1], &r.group), "%m");
	say(&r, 0xffffff, VT_QKEY);
	heard(&r, 0, 1);
	VT_ASSERT(!detach(&r.q[0][1], &r.group), "%m");
	room_down(&r);
}

static void detached_hears_nothing(const void *arg)
{
	struct room r;

	room_up(&r, *(const int *)arg);
	VT_ASSERT(!attach(&r.q[1][0], &r.group), "%m");
	VT_ASSERT(!attach(&r.q[1][1], &r.group), "%m");
	VT_ASSERT(!detach(&r.q[1][0], &r.group), "%m");
	say(&r, 0xffffff, VT_QKEY);
	heard(&r, 1, 1);
	VT_WANT_NONE(r.q[1][0].rcq, 20);
	VT_ASSERT(!detach(&r.q[1][1], &r.group), "%m");
	room_down(&r);
}

static void other_group_hears_nothing(const void *arg)
{
	int family = *(const int *)arg;
	struct room r;

	room_up(&r, family);
	VT_ASSERT(!attach(&r.q[1][0], &groups[family + 1]), "%m");
	VT_ASSERT(!attach(&r.q[1][1], &r.group), "%m");
	say(&r, 0xffffff, VT_QKEY);
	heard(&r, 1, 1);
	VT_WANT_NONE(r.q[1][0].rcq, 20);
	VT_ASSERT(!detach(&r.q[1][0], &groups[family + 1]), "%m");
	VT_ASSERT(!detach(&r.q[1][1], &r.group), "%m");
	room_down(&r);
}

/* A group is addressed by the multicast QPN, and the Q_Key counts. */
static void wrong_qpn_or_qkey(const void *arg)
{
	struct room r;

	room_up(&r, *(const int *)arg);
	VT_ASSERT(!attach(&r.q[1][0], &r.group), "%m");
	say(&r, r.q[1][0].qp->qp_num, VT_QKEY);
	say(&r, 0xffffff, VT_QKEY + 1);
	VT_WANT_NONE(r.q[1][0].rcq, 50);
	say(&r, 0xffffff, VT_QKEY);
	heard(&r, 1, 0);
	VT_ASSERT(!detach(&r.q[1][0], &r.group), "%m");
	room_down(&r);
}

static void bad_arguments(const void *arg)
{
	struct vt_qp_cfg cfg = { .type = IBV_QPT_RC };
	union ibv_gid unicast;
	struct vt_qp rc;
	struct room r;

	room_up(&r, *(const int *)arg);
	unicast = r.e[1].gid;
	VT_EXPECT(attach(&r.q[0][0], &unicast) == EINVAL, "unicast");
	VT_EXPECT(detach(&r.q[0][0], &r.group) == EINVAL, "not attached");
	vt_qp_create(&r.e[0], &rc, &cfg);
	VT_EXPECT(attach(&rc, &r.group) == EINVAL, "RC");
	vt_qp_destroy(&rc);
	/* twice is once */
	VT_ASSERT(!attach(&r.q[1][0], &r.group), "%m");
	VT_ASSERT(!attach(&r.q[1][0], &r.group), "%m");
	say(&r, 0xffffff, VT_QKEY);
	heard(&r, 1, 0);
	VT_EXPECT(ibv_destroy_qp(r.q[1][0].qp) == EBUSY, "still attached");
	VT_ASSERT(!detach(&r.q[1][0], &r.group), "%m");
	room_down(&r);
}

/* More packets in flight than one super-packet, to two members. */
static void many_packets(const void *arg)
{
	struct ibv_recv_wr *bad_recv, recv = { .num_sge = 1 };
	struct room r;
	struct ibv_sge sge;
	struct ibv_wc wc;
	int i, m;

	room_up(&r, *(const int *)arg);
	sge.addr = (uintptr_t)r.b[1].p + SLOT;
	sge.length = SLOT;
	sge.lkey = r.b[1].mr->lkey;
	recv.sg_list = &sge;
	for (m = 0; m < 2; m++) {
		VT_ASSERT(!attach(&r.q[1][m], &r.group), "%m");
		for (i = 1; i < MANY - 8; i++)
			VT_ASSERT(!ibv_post_recv(r.q[1][m].qp, &recv,
						 &bad_recv), "%m");
	}
	for (i = 0; i < MANY - 8; i++)
		say(&r, 0xffffff, VT_QKEY);
	for (m = 0; m < 2; m++)
		for (i = 0; i < MANY - 8; i++)
			VT_ASSERT(vt_poll(r.q[1][m].rcq, &wc, 5000),
				  "member %d got %d packets", m, i);
	for (m = 0; m < 2; m++)
		VT_ASSERT(!detach(&r.q[1][m], &r.group), "%m");
	room_down(&r);
}

static const int v4 = 4, v6 = 6;

static const struct vt_test tests[] = {
	{ "everyone_hears_v4", everyone_hears, &v4 },
	{ "everyone_hears_v6", everyone_hears, &v6 },
	{ "loop_back_starts_late_v4", loop_back_starts_late, &v4 },
	{ "loop_back_starts_late_v6", loop_back_starts_late, &v6 },
	{ "detached_hears_nothing_v4", detached_hears_nothing, &v4 },
	{ "detached_hears_nothing_v6", detached_hears_nothing, &v6 },
	{ "other_group_hears_nothing_v4", other_group_hears_nothing, &v4 },
	{ "other_group_hears_nothing_v6", other_group_hears_nothing, &v6 },
	{ "wrong_qpn_or_qkey_v4", wrong_qpn_or_qkey, &v4 },
	{ "wrong_qpn_or_qkey_v6", wrong_qpn_or_qkey, &v6 },
	{ "bad_arguments_v4", bad_arguments, &v4 },
	{ "bad_arguments_v6", bad_arguments, &v6 },
	{ "many_packets_v4", many_packets, &v4 },
	{ "many_packets_v6", many_packets, &v6 },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
