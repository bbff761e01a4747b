/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults on purpose: rules that a tester writes to debugfs make packets, NAKs
 * and completions go wrong at a place that he chose. Documentation/faults.rst
 * has the grammar.
 *
 * Without rules on any device the data path passes static branches only; a
 * build with RDMA_SOFT_INJECT=n has not even those.
 */
#ifndef RSOFT_INJECT_H
#define RSOFT_INJECT_H

#include <linux/bitmap.h>
#include <linux/jump_label.h>
#include <linux/skbuff.h>
#include <rdma/ib_verbs.h>

struct rsoft_cq;
struct rsoft_dev;
struct rsoft_path;
struct rsoft_pkt;
struct rsoft_qp;
struct rsoft_tx_meta;
struct sock;

enum rsoft_inject_dir {
	RSOFT_INJECT_TX = BIT(0),	/* the device sends */
	RSOFT_INJECT_RX = BIT(1),	/* the device receives */
};

/* Where in the driver a rule acts; each place looks at its own rules only. */
enum rsoft_inject_place {
	RSOFT_PLACE_WIRE,	/* a packet leaves or arrives */
	RSOFT_PLACE_REQUEST,	/* the responder is about to execute a packet */
	RSOFT_PLACE_SEND,	/* the requester is about to build a packet */
	RSOFT_PLACE_CQ,		/* a completion is about to be written */
};

enum rsoft_inject_what {
	RSOFT_INJECT_NONE,
	RSOFT_INJECT_NOTE,	/* list the packet, nothing else */
	RSOFT_INJECT_DROP,
	RSOFT_INJECT_DUP,	/* arg more copies */
	RSOFT_INJECT_DELAY,	/* ns later */
	RSOFT_INJECT_REORDER,	/* behind the arg next ones, at most ns later */
	RSOFT_INJECT_CORRUPT,	/* byte arg is inverted, iCRC as it was */
	RSOFT_INJECT_RNR,
	RSOFT_INJECT_NAK,	/* arg is the code */
	RSOFT_INJECT_WC,	/* arg is the status */
	RSOFT_INJECT_CQFULL,
	RSOFT_INJECT_MAX,
};

/* CORRUPT: the last byte in front of the iCRC. */
#define RSOFT_INJECT_LAST_BYTE	U32_MAX

/**
 * struct rsoft_inject_pkt - what rules can look at
 * @dir: direction
 * @opcode: BTH opcode, 0 for a completion
 * @syn: AETH syndrome, 0 if there is none
 * @qpn: number of the local QP
 * @psn: PSN, 0 for a completion
 */
struct rsoft_inject_pkt {
	enum rsoft_inject_dir dir;
	u8 opcode;
	u8 syn;
	u32 qpn;
	u32 psn;
};

/**
 * struct rsoft_verdict - what is to be done with a packet
 * @what: RSOFT_INJECT_NONE for nothing
 * @arg: see enum rsoft_inject_what
 * @ns: time, for DELAY and REORDER
 */
struct rsoft_verdict {
	enum rsoft_inject_what what;
	u32 arg;
	u64 ns;
};

/**
 * struct rsoft_held - a packet that waits; first member of what go() knows
 * @node: in the device's list, or in the list of whoever lets it go
 * @due: when it goes at the latest, ns
 * @after: packets of its QP and direction that must pass before; 0: time only
 * @dir: direction
 * @qpn: local QP
 * @go: lets the packet go, or drops it, and frees the whole
 *
 * go() is called in softirq or with BH disabled, without locks.
 */
struct rsoft_held {
	struct list_head node;
	u64 due;
	u32 after;
	enum rsoft_inject_dir dir;
	u32 qpn;
	void (*go)(struct rsoft_held *held, bool drop);
};

#ifdef RSOFT_INJECT

DECLARE_STATIC_KEY_FALSE(rsoft_inject_key);
DECLARE_STATIC_KEY_FALSE(rsoft_inject_step_key);

/**
 * rsoft_inject_on() - has any device rules
 *
 * Return: true if the injector must be asked.
 */
static inline bool rsoft_inject_on(void)
{
	return static_branch_unlikely(&rsoft_inject_key);
}

/**
 * rsoft_inject_steps() - has any device rules about single steps of an engine
 *
 * Return: true if RSOFT_PLACE_REQUEST or RSOFT_PLACE_SEND must be asked about
 * each packet, so that no packets may be taken together there.
 */
static inline bool rsoft_inject_steps(void)
{
	return static_branch_unlikely(&rsoft_inject_step_key);
}

/**
 * rsoft_inject_create() - prepare a device, without rules
 * @dev: device that is not registered yet
 *
 * Return: 0 or -ENOMEM.
 */
int rsoft_inject_create(struct rsoft_dev *dev);

/**
 * rsoft_inject_publish() - make the debugfs files of a registered device
 * @dev: device; its name is that of the folder
 *
 * Context: may sleep.
 */
void rsoft_inject_publish(struct rsoft_dev *dev);

/**
 * rsoft_inject_stop() - remove the files and all rules, drop what is held
 * @dev: device that goes; nothing is injected or held any more
 *
 * Context: may sleep.
 */
void rsoft_inject_stop(struct rsoft_dev *dev);

/**
 * rsoft_inject_destroy() - free
 * @dev: device after rsoft_inject_stop(), or without rules; not found by
 *       packets any more
 */
void rsoft_inject_destroy(struct rsoft_dev *dev);

/**
 * rsoft_inject_judge() - ask the rules
 * @dev: device
 * @place: where the caller is
 * @pkt: packet or completion
 *
 * Counts, traces and lists what it decides.
 *
 * Context: any.
 *
 * Return: the verdict of the first rule that fires.
 */
struct rsoft_verdict rsoft_inject_judge(struct rsoft_dev *dev,
					enum rsoft_inject_place place,
					const struct rsoft_inject_pkt *pkt);

/**
 * rsoft_inject_view() - read what rules look at out of a packet
 * @bth: BTH and one more byte
 * @pkt: opcode, syndrome, PSN and destination QPN are filled in
 */
void rsoft_inject_view(const u8 *bth, struct rsoft_inject_pkt *pkt);

/**
 * rsoft_inject_hold() - keep a packet for later
 * @dev: device
 * @held: packet; go() is called in any case, with drop set if the device is
 *        being removed
 * @v: DELAY or REORDER
 *
 * Context: BH disabled.
 */
void rsoft_inject_hold(struct rsoft_dev *dev, struct rsoft_held *held,
		       const struct rsoft_verdict *v);

/**
 * rsoft_inject_passed() - a packet went by: which held ones follow it
 * @dev: device
 * @pkt: packet
 * @list: they are added here, in the order in which they were held
 *
 * Context: BH disabled.
 *
 * Return: true if there are any; the caller gives each to its go().
 */
bool rsoft_inject_passed(struct rsoft_dev *dev,
			 const struct rsoft_inject_pkt *pkt,
			 struct list_head *list);

/**
 * rsoft_inject_forget() - drop what a QP sends later
 * @dev: device
 * @qpn: QP with both engines paused
 *
 * Its packets hold GIDs, which must be released before the device goes.
 *
 * Context: may sleep.
 */
void rsoft_inject_forget(struct rsoft_dev *dev, u32 qpn);

/**
 * rsoft_inject_release() - let held packets go
 * @list: from rsoft_inject_passed()
 *
 * Context: BH disabled.
 */
void rsoft_inject_release(struct list_head *list);

/**
 * rsoft_inject_xmit() - rsoft_net_xmit() with rules applied to each packet
 * @path: destination
 * @sk: socket that is charged
 * @skb: packets, from the first BTH on; consumed
 * @meta: how @skb is cut
 * @qpn: QP that sends
 *
 * Packets that no rule is about stay together as they were.
 *
 * Context: BH disabled.
 *
 * Return: as rsoft_net_xmit(); -EAGAIN only if no packet was sent.
 */
int rsoft_inject_xmit(struct rsoft_path *path, struct sock *sk,
		      struct sk_buff *skb, const struct rsoft_tx_meta *meta,
		      u32 qpn);

/**
 * rsoft_inject_corrupt() - invert a byte of a packet
 * @p: packet, from the BTH on
 * @len: its bytes
 * @at: which byte, or RSOFT_INJECT_LAST_BYTE
 */
void rsoft_inject_corrupt(u8 *p, u32 len, u32 at);

/**
 * rsoft_inject_request() - verdict on a request before its execution
 * @qp: responder
 * @pkt: request
 *
 * Return: RNR, NAK, WC or NONE.
 */
struct rsoft_verdict rsoft_inject_request(struct rsoft_qp *qp,
					  const struct rsoft_pkt *pkt);

/**
 * rsoft_inject_send() - is a request to fail before its packet is built
 * @qp: requester
 * @pkt: packet
 * @status: set to the status of its completion
 *
 * Return: true if it is.
 */
bool rsoft_inject_send(struct rsoft_qp *qp, const struct rsoft_pkt *pkt,
		       enum ib_wc_status *status);

/**
 * rsoft_inject_cq() - is a completion to find its queue full
 * @cq: queue
 * @wc: completion
 *
 * Context: any; the CQ's lock may be held.
 *
 * Return: true if it is.
 */
bool rsoft_inject_cq(struct rsoft_cq *cq, const struct ib_wc *wc);

#else

static inline bool rsoft_inject_on(void)
{
	return false;
}

static inline bool rsoft_inject_steps(void)
{
	return false;
}

static inline int rsoft_inject_create(struct rsoft_dev *dev)
{
	return 0;
}

static inline void rsoft_inject_publish(struct rsoft_dev *dev)
{
}

static inline void rsoft_inject_stop(struct rsoft_dev *dev)
{
}

static inline void rsoft_inject_destroy(struct rsoft_dev *dev)
{
}

static inline void rsoft_inject_forget(struct rsoft_dev *dev, u32 qpn)
{
}

/* Behind rsoft_inject_on(), so never called: they need no body. */
struct rsoft_verdict rsoft_inject_judge(struct rsoft_dev *dev,
					enum rsoft_inject_place place,
					const struct rsoft_inject_pkt *pkt);
void rsoft_inject_view(const u8 *bth, struct rsoft_inject_pkt *pkt);
void rsoft_inject_hold(struct rsoft_dev *dev, struct rsoft_held *held,
		       const struct rsoft_verdict *v);
bool rsoft_inject_passed(struct rsoft_dev *dev,
			 const struct rsoft_inject_pkt *pkt,
			 struct list_head *list);
void rsoft_inject_release(struct list_head *list);
int rsoft_inject_xmit(struct rsoft_path *path, struct sock *sk,
		      struct sk_buff *skb, const struct rsoft_tx_meta *meta,
		      u32 qpn);
void rsoft_inject_corrupt(u8 *p, u32 len, u32 at);
struct rsoft_verdict rsoft_inject_request(struct rsoft_qp *qp,
					  const struct rsoft_pkt *pkt);
bool rsoft_inject_send(struct rsoft_qp *qp, const struct rsoft_pkt *pkt,
		       enum ib_wc_status *status);
bool rsoft_inject_cq(struct rsoft_cq *cq, const struct ib_wc *wc);

#endif /* RSOFT_INJECT */

#endif
