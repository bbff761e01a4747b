// SPDX-License-Identifier: GPL-2.0
/*
 * The port counters of InfiniBand (IBTA 16.1), made from ours. The narrow ones
 * stick at their maximum, as the standard wants it, and cannot be reset.
 */
#include "pma.h"

#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_verbs.h>

#include "device.h"

/* PortXmitData and PortRcvData count in units of four bytes. */
#define PMA_DATA_UNIT 4
/* PMA MADs begin their data after 40 reserved bytes. */
#define PMA_DATA_OFFSET 40

/* Packets that arrived damaged. */
static const enum rsoft_drop rcv_errors[] = {
	RSOFT_DROP_SHORT, RSOFT_DROP_OPCODE, RSOFT_DROP_TVER,
	RSOFT_DROP_LENGTH, RSOFT_DROP_ICRC, RSOFT_DROP_SHAPE,
};

/* Packets that arrived well, and that there was no room for. */
static const enum rsoft_drop overruns[] = {
	RSOFT_DROP_QUEUE, RSOFT_DROP_NOMEM,
};

static u64 drops(struct rsoft_dev *dev, const enum rsoft_drop *why, size_t n)
{
	u64 sum = 0;

	while (n--)
		sum += rsoft_counters_sum(dev, rsoft_drop_counter(why[n]));
	return sum;
}

static u8 pma_8(u64 v)
{
	return min_t(u64, v, U8_MAX);
}

static __be16 pma_16(u64 v)
{
	return cpu_to_be16(min_t(u64, v, U16_MAX));
}

static __be32 pma_32(u64 v)
{
	return cpu_to_be32(min_t(u64, v, U32_MAX));
}

static void pma_class(struct rsoft_dev *dev, void *data)
{
	struct ib_class_port_info *info = data;

	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = 1;
	info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
}

static void pma_counters(struct rsoft_dev *dev, void *data)
{
	const enum rsoft_drop pkey = RSOFT_DROP_PKEY;
	struct ib_pma_portcounters *c = data;

	c->port_select = RSOFT_PORT;
	c->link_downed_counter =
		pma_8(rsoft_counters_sum(dev, RSOFT_CNT_LINK_DOWNED));
	c->port_rcv_errors = pma_16(drops(dev, rcv_errors,
					  ARRAY_SIZE(rcv_errors)));
	c->port_xmit_discards =
		pma_16(rsoft_counters_sum(dev, RSOFT_CNT_TX_NO_ROUTE));
	c->port_rcv_constraint_errors = pma_8(drops(dev, &pkey, 1));
	c->link_overrun_errors =
		min_t(u64, drops(dev, overruns, ARRAY_SIZE(overruns)), 0xf);
	c->port_xmit_data =
		pma_32(rsoft_counters_sum(dev, RSOFT_CNT_SENT_BYTES) /
		       PMA_DATA_UNIT);
	c->port_rcv_data =
		pma_32(rsoft_counters_sum(dev, RSOFT_CNT_RCVD_BYTES) /
		       PMA_DATA_UNIT);
	c->port_xmit_packets =
		pma_32(rsoft_counters_sum(dev, RSOFT_CNT_SENT_PKTS));
	c->port_rcv_packets =
		pma_32(rsoft_counters_sum(dev, RSOFT_CNT_RCVD_PKTS));
}

static void pma_counters_ext(struct rsoft_dev *dev, void *data)
{
	u64 sent = rsoft_counters_sum(dev, RSOFT_CNT_SENT_PKTS);
	u64 rcvd = rsoft_counters_sum(dev, RSOFT_CNT_RCVD_PKTS);
	struct ib_pma_portcounters_ext *c = data;

	c->port_select = RSOFT_PORT;
	c->port_xmit_data =
		cpu_to_be64(rsoft_counters_sum(dev, RSOFT_CNT_SENT_BYTES) /
			    PMA_DATA_UNIT);
	c->port_rcv_data =
		cpu_to_be64(rsoft_counters_sum(dev, RSOFT_CNT_RCVD_BYTES) /
			    PMA_DATA_UNIT);
	c->port_xmit_packets = cpu_to_be64(sent);
	c->port_rcv_packets = cpu_to_be64(rcvd);
	c->port_unicast_xmit_packets = cpu_to_be64(sent);
	c->port_unicast_rcv_packets = cpu_to_be64(rcvd);
}

/**
 * struct pma_attr - an attribute that can be read
 * @id: attribute id
 * @get: writes it to zeroed memory
 */
struct pma_attr {
	__be16 id;
	void (*get)(struct rsoft_dev *dev, void *data);
};

static const struct pma_attr pma_attrs[] = {
	{ IB_PMA_CLASS_PORT_INFO, pma_class },
	{ IB_PMA_PORT_COUNTERS, pma_counters },
	{ IB_PMA_PORT_COUNTERS_EXT, pma_counters_ext },
};

static const struct pma_attr *pma_find(const struct ib_mad_hdr *hdr)
{
	size_t i;

	if (hdr->class_version != 1 || hdr->method != IB_MGMT_METHOD_GET)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(pma_attrs); i++)
		if (pma_attrs[i].id == hdr->attr_id)
			return &pma_attrs[i];
	return NULL;
}

int rsoft_process_mad(struct ib_device *ibdev, int flags, u32 port,
		      const struct ib_wc *wc, const struct ib_grh *grh,
		      const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index)
{
	const struct pma_attr *attr;

	if (wc || in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT)
		return IB_MAD_RESULT_SUCCESS;
	if (*out_size < sizeof(*out))
		return IB_MAD_RESULT_FAILURE;
	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	attr = pma_find(&in->mad_hdr);
	if (attr)
		attr->get(to_rdev(ibdev), out->data + PMA_DATA_OFFSET);
	else
		out->mad_hdr.status =
			cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
