// SPDX-License-Identifier: GPL-2.0
/* wire: RoCEv2 packets of the test programs, see wire.h. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

#define ETH_LEN 14
#define UDP_LEN 8
#define BTH_LEN 12
#define ICRC_LEN 4

static const struct {
	const char *name;
	uint8_t hdrs;
} wire_ops[W_OP_MAX] = {
	[W_SEND_FIRST] = { "send_first", 0 },
	[W_SEND_MIDDLE] = { "send_middle", 0 },
	[W_SEND_LAST] = { "send_last", 0 },
	[W_SEND_LAST_IMM] = { "send_last_imm", W_IMM },
	[W_SEND_ONLY] = { "send_only", 0 },
	[W_SEND_ONLY_IMM] = { "send_only_imm", W_IMM },
	[W_WRITE_FIRST] = { "write_first", W_RETH },
	[W_WRITE_MIDDLE] = { "write_middle", 0 },
	[W_WRITE_LAST] = { "write_last", 0 },
	[W_WRITE_LAST_IMM] = { "write_last_imm", W_IMM },
	[W_WRITE_ONLY] = { "write_only", W_RETH },
	[W_WRITE_ONLY_IMM] = { "write_only_imm", W_RETH | W_IMM },
	[W_READ] = { "read", W_RETH },
	[W_READ_FIRST] = { "read_first", W_AETH },
	[W_READ_MIDDLE] = { "read_middle", 0 },
	[W_READ_LAST] = { "read_last", W_AETH },
	[W_READ_ONLY] = { "read_only", W_AETH },
	[W_ACK] = { "ack", W_AETH },
	[W_ATOMIC_ACK] = { "atomic_ack", W_AETH | W_ATOMICACK },
	[W_CAS] = { "cas", W_ATOMICETH },
	[W_FADD] = { "fadd", W_ATOMICETH },
	[W_SEND_LAST_INV] = { "send_last_inv", W_INV },
	[W_SEND_ONLY_INV] = { "send_only_inv", W_INV },
	[W_ATOMIC_WRITE] = { "atomic_write", W_RETH },
};

unsigned int wire_hdrs(uint8_t opcode)
{
	unsigned int op = opcode & 0x1f, hdrs;

	hdrs = op < W_OP_MAX ? wire_ops[op].hdrs : 0;
	return (opcode & 0xe0) == 0x60 ? hdrs | W_DETH : hdrs;
}

const char *wire_op_name(uint8_t opcode)
{
	unsigned int op = opcode & 0x1f;

	return op < W_OP_MAX ? wire_ops[op].name : NULL;
}

int wire_op_by_name(const char *name)
{
	int i;

	for (i = 0; i < W_OP_MAX; i++)
		if (wire_ops[i].name && !strcmp(wire_ops[i].name, name))
			return i;
	return -1;
}

/* Bytes in network order. */
static uint8_t *put(uint8_t *at, uint64_t v, int bytes)
{
	int i;

	for (i = 0; i < bytes; i++)
		at[i] = v >> 8 * (bytes - 1 - i);
	return at + bytes;
}

static uint64_t get(const uint8_t *at, int bytes)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < bytes; i++)
		v = v << 8 | at[i];
	return v;
}

static uint32_t crc32_bytes(uint32_t crc, const uint8_t *p, size_t len)
{
	static uint32_t table[256];
	uint32_t c;
	int i, k;

	if (!table[1]) {
		for (i = 0; i < 256; i++) {
			for (c = i, k = 0; k < 8; k++)
				c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
			table[i] = c;
		}
	}
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

/*
 * IBTA annex A17: 8 bytes of ones, then the packet from the IP header on with
 * the fields that routers change replaced by ones.
 */
static uint32_t wire_icrc(const uint8_t *ip, size_t ip_len, bool v6,
			  const uint8_t *bth, size_t len)
{
	uint8_t hdr[60 + BTH_LEN];
	uint8_t *udp = hdr + ip_len - UDP_LEN;
	uint8_t ones[8];
	uint32_t crc;

	memset(ones, 0xff, sizeof(ones));
	memcpy(hdr, ip, ip_len);
	memcpy(hdr + ip_len, bth, BTH_LEN);
	if (v6) {
		hdr[0] |= 0x0f;
		memset(hdr + 1, 0xff, 3);
		hdr[7] = 0xff;
	} else {
		hdr[1] = 0xff;
		hdr[8] = 0xff;
		memset(hdr + 10, 0xff, 2);
	}
	memset(udp + 6, 0xff, 2);
	hdr[ip_len + 4] = 0xff;
	crc = crc32_bytes(~0u, ones, sizeof(ones));
	crc = crc32_bytes(crc, hdr, ip_len + BTH_LEN);
	return ~crc32_bytes(crc, bth + BTH_LEN, len - BTH_LEN);
}

static void get_mac(const char *ifname, uint8_t *mac, int *ifindex)
{
	struct ifreq ifr = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	VT_ASSERT(fd >= 0, "%m");
	VT_ASSERT(ifname, "VT_IF_x is not set");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	VT_ASSERT(!ioctl(fd, SIOCGIFHWADDR, &ifr), "%s: %m", ifname);
	memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
	VT_ASSERT(!ioctl(fd, SIOCGIFINDEX, &ifr), "%s: %m", ifname);
	*ifindex = ifr.ifr_ifindex;
	close(fd);
}

void wire_open(struct wire *w, const struct vt_end *end,
	       const struct vt_end *peer)
{
	const char *own = getenv(end->side == VT_A ? "VT_IF_A" : "VT_IF_B");
	const char *other = getenv(end->side == VT_A ? "VT_IF_B" : "VT_IF_A");
	struct sockaddr_ll sll = { .sll_family = AF_PACKET };
	int one = 1, room = 8 << 20;

	memset(w, 0, sizeof(*w));
	vt_enter(peer);
	get_mac(other, w->peer_mac, &w->ifindex);
	vt_enter(end);
	get_mac(own, w->mac, &w->ifindex);
	w->fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	VT_ASSERT(w->fd >= 0, "%m");
	sll.sll_protocol = htons(ETH_P_ALL);
	sll.sll_ifindex = w->ifindex;
	VT_ASSERT(!bind(w->fd, (struct sockaddr *)&sll, sizeof(sll)), "%m");
	VT_ASSERT(!setsockopt(w->fd, SOL_PACKET, PACKET_AUXDATA, &one,
			      sizeof(one)), "%m");
	setsockopt(w->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	wire_flush(w);
}

void wire_close(struct wire *w)
{
	close(w->fd);
}

void wire_init(struct wire_pkt *p, const struct vt_end *from,
	       const struct vt_end *to, uint8_t opcode, uint32_t qpn,
	       uint32_t psn)
{
	memset(p, 0, sizeof(*p));
	p->v6 = from->family == 6;
	memcpy(p->src, p->v6 ? from->gid.raw : from->gid.raw + 12,
	       p->v6 ? 16 : 4);
	memcpy(p->dst, p->v6 ? to->gid.raw : to->gid.raw + 12, p->v6 ? 16 : 4);
	p->ttl = 64;
	p->frag_off = 0x4000;
	p->vlan = -1;
	p->sport = 0xc123;
	p->opcode = opcode;
	p->mig = true;
	p->pkey = 0xffff;
	p->qpn = qpn;
	p->psn = psn & 0xffffff;
}

/* BTH and extension headers; returns their end. */
static uint8_t *put_headers(uint8_t *at, const struct wire_pkt *p)
{
	unsigned int hdrs = wire_hdrs(p->opcode);

	at = put(at, p->opcode, 1);
	at = put(at, p->solicited << 7 | p->mig << 6 | p->pad << 4 | p->tver, 1);
	at = put(at, p->pkey, 2);
	at = put(at, p->fecn << 7 | p->becn << 6, 1);
	at = put(at, p->qpn, 3);
	at = put(at, p->ackreq << 7, 1);
	at = put(at, p->psn, 3);
	if (hdrs & W_DETH) {
		at = put(at, p->qkey, 4);
		at = put(at, p->sqpn, 4);
	}
	if (hdrs & W_RETH) {
		at = put(at, p->va, 8);
		at = put(at, p->rkey, 4);
		at = put(at, p->dma_len, 4);
	}
	if (hdrs & W_ATOMICETH) {
		at = put(at, p->va, 8);
		at = put(at, p->rkey, 4);
		at = put(at, p->swap, 8);
		at = put(at, p->compare, 8);
	}
	if (hdrs & W_AETH) {
		at = put(at, p->syn, 1);
		at = put(at, p->msn, 3);
	}
	if (hdrs & W_ATOMICACK)
		at = put(at, p->orig, 8);
	if (hdrs & W_IMM)
		at = put(at, p->imm, 4);
	if (hdrs & W_INV)
		at = put(at, p->inv, 4);
	return at;
}

static uint16_t ip_sum(const uint8_t *ip)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 20; i += 2)
		sum += get(ip + i, 2);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~((sum & 0xffff) + (sum >> 16));
}

/* IP and UDP headers of a packet with @len bytes behind them. */
static uint8_t *put_ip(uint8_t *at, const struct wire_pkt *p, size_t len)
{
	uint8_t *ip = at;

	if (p->v6) {
		at = put(at, 6u << 28 | (uint32_t)p->tos << 20 | p->flow, 4);
		at = put(at, UDP_LEN + len, 2);
		at = put(at, IPPROTO_UDP, 1);
		at = put(at, p->ttl, 1);
		memcpy(at, p->src, 16);
		memcpy(at + 16, p->dst, 16);
		at += 32;
	} else {
		at = put(at, 0x45, 1);
		at = put(at, p->tos, 1);
		at = put(at, 20 + UDP_LEN + len, 2);
		at = put(at, p->ip_id, 2);
		at = put(at, p->frag_off, 2);
		at = put(at, p->ttl, 1);
		at = put(at, IPPROTO_UDP, 1);
		at = put(at, 0, 2);
		memcpy(at, p->src, 4);
		memcpy(at + 4, p->dst, 4);
		at += 8;
		put(ip + 10, ip_sum(ip), 2);
	}
	at = put(at, p->sport, 2);
	at = put(at, WIRE_PORT, 2);
	at = put(at, UDP_LEN + len, 2);
	return put(at, 0, 2);
}

void wire_send(struct wire *w, const struct wire_pkt *p)
{
	uint8_t frame[ETH_LEN + 60 + 64 + WIRE_PAYLOAD_MAX + 8], body[sizeof(frame)];
	struct sockaddr_ll sll = { .sll_family = AF_PACKET };
	uint8_t *end = put_headers(body, p);
	size_t len, total;
	uint32_t crc;
	uint8_t *at;

	memcpy(end, p->payload, p->len);
	memset(end + p->len, 0, p->pad);
	len = end - body + p->len + p->pad + ICRC_LEN - p->cut;

	memcpy(frame, w->peer_mac, 6);
	memcpy(frame + 6, w->mac, 6);
	put(frame + 12, p->v6 ? ETH_P_IPV6 : ETH_P_IP, 2);
	at = put_ip(frame + ETH_LEN, p, len);
	crc = len >= BTH_LEN + ICRC_LEN ?
	      wire_icrc(frame + ETH_LEN, at - frame - ETH_LEN, p->v6, body,
			len - ICRC_LEN) : 0;
	if (p->bad_icrc)
		crc ^= 1;
	memcpy(at, body, len);
	if (len >= ICRC_LEN)
		memcpy(at + len - ICRC_LEN, &crc, ICRC_LEN);	/* little endian */
	total = at + len - frame;

	sll.sll_ifindex = w->ifindex;
	sll.sll_halen = 6;
	memcpy(sll.sll_addr, w->peer_mac, 6);
	VT_ASSERT(sendto(w->fd, frame, total, 0, (struct sockaddr *)&sll,
			 sizeof(sll)) == (ssize_t)total, "%m");
}

/* Parse BTH and extensions; returns their end or NULL. */
static const uint8_t *get_headers(const uint8_t *at, const uint8_t *end,
				  struct wire_pkt *p)
{
	unsigned int hdrs;

	if (end - at < BTH_LEN)
		return NULL;
	p->opcode = at[0];
	p->solicited = at[1] >> 7;
	p->mig = at[1] >> 6 & 1;
	p->pad = at[1] >> 4 & 3;
	p->tver = at[1] & 15;
	p->pkey = get(at + 2, 2);
	p->fecn = at[4] >> 7;
	p->becn = at[4] >> 6 & 1;
	p->qpn = get(at + 5, 3);
	p->ackreq = at[8] >> 7;
	p->psn = get(at + 9, 3);
	at += BTH_LEN;
	hdrs = wire_hdrs(p->opcode);
	if (end - at < !!(hdrs & W_DETH) * 8 + !!(hdrs & W_RETH) * 16 +
	    !!(hdrs & W_ATOMICETH) * 28 + !!(hdrs & W_AETH) * 4 +
	    !!(hdrs & W_ATOMICACK) * 8 + !!(hdrs & (W_IMM | W_INV)) * 4)
		return NULL;
	if (hdrs & W_DETH) {
		p->qkey = get(at, 4);
		p->sqpn = get(at + 5, 3);
		at += 8;
	}
	if (hdrs & (W_RETH | W_ATOMICETH)) {
		p->va = get(at, 8);
		p->rkey = get(at + 8, 4);
		at += 12;
	}
	if (hdrs & W_RETH) {
		p->dma_len = get(at, 4);
		at += 4;
	}
	if (hdrs & W_ATOMICETH) {
		p->swap = get(at, 8);
		p->compare = get(at + 8, 8);
		at += 16;
	}
	if (hdrs & W_AETH) {
		p->syn = at[0];
		p->msn = get(at + 1, 3);
		at += 4;
	}
	if (hdrs & W_ATOMICACK) {
		p->orig = get(at, 8);
		at += 8;
	}
	if (hdrs & (W_IMM | W_INV)) {
		p->imm = get(at, 4);
		p->inv = p->imm;
		at += 4;
	}
	return at;
}

/* Is this the length of the packet in front: does its iCRC match? */
static bool seg_ok(struct wire *w, const uint8_t *ip, bool v6, size_t seg)
{
	const uint8_t *bth = w->buf + w->off;
	uint8_t hdr[60];
	uint32_t crc;

	if (seg < BTH_LEN + ICRC_LEN || w->ip_len > sizeof(hdr))
		return false;
	memcpy(hdr, ip, w->ip_len);
	put(hdr + (v6 ? 4 : 2), (v6 ? 0 : 20) + UDP_LEN + seg, 2);
	put(hdr + w->ip_len - 4, UDP_LEN + seg, 2);
	if (!v6)
		put(hdr + 4, get(ip + 4, 2) + w->nth, 2);
	memcpy(&crc, bth + seg - ICRC_LEN, ICRC_LEN);
	return wire_icrc(hdr, w->ip_len, v6, bth, seg - ICRC_LEN) == crc;
}

/* Take the next packet out of the frame in hand. */
static bool next_segment(struct wire *w, struct wire_pkt *p)
{
	const uint8_t *ip = w->buf + ETH_LEN, *at, *end;
	size_t seg;

	if (!w->len)
		return false;
	memset(p, 0, sizeof(*p));
	p->v6 = ip[0] >> 4 == 6;
	if (!w->seg) {
		/* all packets of a frame but the last have this length */
		for (seg = w->len; seg > 4 && !seg_ok(w, ip, p->v6, seg);)
			seg -= seg & 3 ? seg & 3 : 4;
		VT_ASSERT(seg > 4, "captured packet: no length gives its iCRC");
		w->seg = seg;
	}
	seg = w->seg < w->len ? w->seg : w->len;
	VT_ASSERT(seg_ok(w, ip, p->v6, seg), "captured packet: wrong iCRC");
	p->outgoing = w->outgoing;
	p->vlan = w->vlan;
	p->at_us = w->at_us;
	memcpy(p->src, ip + (p->v6 ? 8 : 12), p->v6 ? 16 : 4);
	memcpy(p->dst, ip + (p->v6 ? 24 : 16), p->v6 ? 16 : 4);
	p->tos = p->v6 ? get(ip, 2) >> 4 & 0xff : ip[1];
	p->flow = p->v6 ? get(ip + 1, 3) & 0xfffff : 0;
	p->ttl = ip[p->v6 ? 7 : 8];
	p->frag_off = p->v6 ? 0 : get(ip + 6, 2);
	p->ip_id = p->v6 ? 0 : get(ip + 4, 2) + w->nth;
	p->sport = get(ip + w->ip_len - UDP_LEN, 2);
	end = w->buf + w->off + seg - ICRC_LEN;
	at = get_headers(w->buf + w->off, end, p);
	VT_ASSERT(at && end - at >= p->pad, "captured packet: too short");
	p->len = end - at - p->pad;
	memcpy(p->payload, at,
	       p->len < sizeof(p->payload) ? p->len : sizeof(p->payload));
	w->off += seg;
	w->len -= seg;
	w->nth++;
	return true;
}

/* One frame from the socket; false if it is none of ours. */
static bool next_frame(struct wire *w)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} ctl;
	struct iovec iov = { w->buf, sizeof(w->buf) };
	struct sockaddr_ll sll;
	struct msghdr msg = {
		.msg_name = &sll, .msg_namelen = sizeof(sll),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &ctl, .msg_controllen = sizeof(ctl),
	};
	const struct tpacket_auxdata *aux;
	ssize_t n = recvmsg(w->fd, &msg, MSG_DONTWAIT);
	const uint8_t *ip = w->buf + ETH_LEN;
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	bool v6;

	w->vlan = -1;
	if (n > 0 && c && c->cmsg_level == SOL_PACKET) {
		aux = (const void *)CMSG_DATA(c);
		if (aux->tp_status & TP_STATUS_VLAN_VALID)
			w->vlan = aux->tp_vlan_tci;
	}
	if (n >= ETH_LEN + 4 && get(w->buf + 12, 2) == ETH_P_8021Q) {
		w->vlan = get(w->buf + 14, 2);
		memmove(w->buf + 12, w->buf + 16, n - 16);
		n -= 4;
	}
	if (n < ETH_LEN + 40 + UDP_LEN)
		return false;
	v6 = get(w->buf + 12, 2) == ETH_P_IPV6;
	if (!v6 && (get(w->buf + 12, 2) != ETH_P_IP || ip[0] != 0x45))
		return false;
	w->ip_len = (v6 ? 40 : 20) + UDP_LEN;
	if (ip[v6 ? 6 : 9] != IPPROTO_UDP ||
	    get(ip + w->ip_len - 6, 2) != WIRE_PORT)
		return false;
	w->off = ETH_LEN + w->ip_len;
	w->len = get(ip + w->ip_len - 4, 2) - UDP_LEN;
	if (w->len > n - w->off)
		w->len = n - w->off;
	w->seg = 0;
	w->nth = 0;
	w->outgoing = sll.sll_pkttype == PACKET_OUTGOING;
	w->at_us = vt_now_us();
	return true;
}

bool wire_recv(struct wire *w, struct wire_pkt *p, int timeout_ms)
{
	uint64_t until = vt_now_us() + (uint64_t)timeout_ms * 1000, now;
	struct pollfd pfd = { .fd = w->fd, .events = POLLIN };

	while (!next_segment(w, p)) {
		now = vt_now_us();
		if (poll(&pfd, 1, now < until ? (until - now + 999) / 1000 : 0) <= 0)
			return false;
		if (!next_frame(w))
			w->len = 0;
	}
	return true;
}

void wire_flush(struct wire *w)
{
	while (recv(w->fd, w->buf, sizeof(w->buf), MSG_DONTWAIT) > 0)
		;
	w->len = 0;
}
