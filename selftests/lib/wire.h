/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire: RoCEv2 packets as a test writes and reads them, through a packet socket
 * on one end's interface. Written against the IBTA formats and independent of
 * the driver's code, so that a mistake there is not made here too. A captured
 * packet with a wrong iCRC fails the test.
 */
#ifndef WIRE_H
#define WIRE_H

#include "vt.h"

#define WIRE_PORT 4791
#define WIRE_PAYLOAD_MAX 8192

/* BTH opcodes of RC; UC is 0x20, UD is 0x60 above. */
enum wire_op {
	W_SEND_FIRST, W_SEND_MIDDLE, W_SEND_LAST, W_SEND_LAST_IMM,
	W_SEND_ONLY, W_SEND_ONLY_IMM,
	W_WRITE_FIRST, W_WRITE_MIDDLE, W_WRITE_LAST, W_WRITE_LAST_IMM,
	W_WRITE_ONLY, W_WRITE_ONLY_IMM,
	W_READ, W_READ_FIRST, W_READ_MIDDLE, W_READ_LAST, W_READ_ONLY,
	W_ACK, W_ATOMIC_ACK, W_CAS, W_FADD,
	W_SEND_LAST_INV = 22, W_SEND_ONLY_INV, W_ATOMIC_WRITE = 29, W_OP_MAX,
};

/* Extension headers of an opcode, in their order on the wire. */
#define W_DETH		0x01
#define W_RETH		0x02
#define W_ATOMICETH	0x04
#define W_AETH		0x08
#define W_ATOMICACK	0x10
#define W_IMM		0x20
#define W_INV		0x40

struct wire_pkt {
	/* IP and below */
	bool v6;
	uint8_t src[16], dst[16];	/* IPv4: the first 4 bytes */
	uint8_t tos, ttl;
	uint32_t flow;			/* IPv6 flow label */
	uint16_t frag_off;		/* IPv4, with the flags */
	uint16_t ip_id;
	int vlan;			/* TCI, -1: no tag */
	uint16_t sport;
	/* BTH */
	uint8_t opcode, tver, pad;
	bool solicited, mig, ackreq, fecn, becn;
	uint16_t pkey;
	uint32_t qpn, psn;
	/* extension headers, as the opcode has them */
	uint32_t qkey, sqpn;
	uint64_t va;
	uint32_t rkey, dma_len;
	uint64_t swap, compare;
	uint8_t syn;
	uint32_t msn;
	uint64_t orig;
	uint32_t imm, inv;
	/* the rest */
	uint32_t len;
	uint8_t payload[WIRE_PAYLOAD_MAX];
	/* how to send it wrong */
	int cut;			/* bytes missing at the end */
	bool bad_icrc;
	/* of a captured one */
	bool outgoing;			/* sent by the interface's own host */
	uint64_t at_us;
};

struct wire {
	int fd, ifindex;
	uint8_t mac[6], peer_mac[6];
	/* rest of a super-packet that was captured whole */
	uint8_t buf[70000];
	size_t ip_len;			/* bytes of IP and UDP headers */
	size_t off, len;		/* rest of its UDP payload */
	size_t seg;			/* bytes of a packet in it */
	unsigned int nth;
	bool outgoing;
	int vlan;
	uint64_t at_us;
};

/* The end's interface; everything on UDP 4791 from now on is captured. */
void wire_open(struct wire *w, const struct vt_end *end,
	       const struct vt_end *peer);
void wire_close(struct wire *w);

/* A packet with the defaults of a good one from @from to QP @qpn of @to. */
void wire_init(struct wire_pkt *p, const struct vt_end *from,
	       const struct vt_end *to, uint8_t opcode, uint32_t qpn,
	       uint32_t psn);
void wire_send(struct wire *w, const struct wire_pkt *p);

/* The next packet of either direction; false after timeout_ms without any. */
bool wire_recv(struct wire *w, struct wire_pkt *p, int timeout_ms);

/* What was captured so far is forgotten. */
void wire_flush(struct wire *w);

unsigned int wire_hdrs(uint8_t opcode);
const char *wire_op_name(uint8_t opcode);	/* NULL: undefined */
int wire_op_by_name(const char *name);		/* -1: no such name */

#endif /* WIRE_H */
