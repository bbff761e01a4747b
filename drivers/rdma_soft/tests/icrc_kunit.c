// SPDX-License-Identifier: GPL-2.0
/*
 * The iCRC against packets whose iCRC others computed (icrc_vectors.h), and
 * which bits of a packet it covers.
 */
#include <kunit/test.h>
#include <linux/crc32.h>

#include "../proto/icrc.h"
#include "icrc_vectors.h"

#define IPV4_LEN	20
#define IPV6_LEN	40
#define BTH_LEN		12
#define MAX_PKT		1200

/*
 * Every byte of the outer headers and the BTH: i(nvariant), v(ariant), or
 * c(onstant), which the driver derives from the length and so does not read.
 */
static const char ipv4_map[] = "cvcciiiivcvviiiiiiiiiiiiccvv";
static const char ipv6_map[] =
	"cccccccviiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiccvv";
static const char bth_map[] = "iiiiviiiiiii";

static u32 outer_len(const u8 *pkt)
{
	return (pkt[0] >> 4 == 6 ? IPV6_LEN : IPV4_LEN) + 8;
}

static void parse_flow(const u8 *pkt, struct rsoft_flow *flow, u16 *ip_id)
{
	const u8 *udp = pkt + outer_len(pkt) - 8;

	memset(flow, 0, sizeof(*flow));
	*ip_id = 0;
	flow->ipv6 = pkt[0] >> 4 == 6;
	if (flow->ipv6) {
		memcpy(flow->saddr, pkt + 8, 16);
		memcpy(flow->daddr, pkt + 24, 16);
	} else {
		*ip_id = pkt[4] << 8 | pkt[5];
		memcpy(&flow->frag_off, pkt + 6, 2);
		memcpy(flow->saddr, pkt + 12, 4);
		memcpy(flow->daddr, pkt + 16, 4);
	}
	memcpy(&flow->sport, udp, 2);
	memcpy(&flow->dport, udp + 2, 2);
}

/* The iCRC that the driver would put on this packet of @len bytes. */
static __le32 icrc_of(const u8 *pkt, u32 len)
{
	u8 pseudo[RSOFT_ICRC_PSEUDO_MAX];
	u32 outer = outer_len(pkt);
	struct rsoft_flow flow;
	u32 n, crc;
	u16 id;

	parse_flow(pkt, &flow, &id);
	n = rsoft_icrc_pseudo(pseudo, &flow, id, len - outer, pkt + outer);
	crc = crc32_le(~0, pseudo, n);
	crc = crc32_le(crc, pkt + outer + BTH_LEN, len - outer - BTH_LEN - 4);
	return rsoft_icrc_final(crc);
}

static bool icrc_good(const u8 *pkt, u32 len)
{
	__le32 crc = icrc_of(pkt, len);

	return !memcmp(pkt + len - 4, &crc, 4);
}

static void every_vector_has_its_icrc(struct kunit *test)
{
	int i, ipv6 = 0, pads[4] = { 0 };

	for (i = 0; i < ARRAY_SIZE(icrc_vectors); i++) {
		const struct icrc_vector *v = &icrc_vectors[i];

		ipv6 += v->pkt[0] >> 4 == 6;
		pads[v->pkt[outer_len(v->pkt) + 1] >> 4 & 3]++;
		KUNIT_ASSERT_TRUE_MSG(test, icrc_good(v->pkt, v->len), "%s",
				      v->name);
	}
	/* The table must have something of each kind, or it shows little. */
	KUNIT_EXPECT_GT(test, ipv6, 10);
	KUNIT_EXPECT_GT(test, i - ipv6, 10);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_GT_MSG(test, pads[i], 5, "pad %d", i);
}

static u32 crc_plain(u32 crc, const u8 *p, size_t len)
{
	return crc32_le(crc, p, len);
}

/* The short way: base of the flow, ID and variant byte from the tables. */
static void the_tables_give_the_same_icrc(struct kunit *test)
{
	static const u8 no_bth[BTH_LEN];
	u8 pseudo[RSOFT_ICRC_PSEUDO_MAX];
	struct rsoft_icrc_tab *tab;
	struct rsoft_flow flow;
	__le32 field;
	u32 crc, n;
	u16 id;
	int i;

	tab = kunit_kzalloc(test, sizeof(*tab), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tab);
	rsoft_icrc_tab_init(tab, crc_plain);
	for (i = 0; i < ARRAY_SIZE(icrc_vectors); i++) {
		const struct icrc_vector *v = &icrc_vectors[i];
		u32 outer = outer_len(v->pkt);

		parse_flow(v->pkt, &flow, &id);
		n = rsoft_icrc_pseudo(pseudo, &flow, 0, v->len - outer, no_bth);
		crc = crc32_le(~0, pseudo, n - BTH_LEN);
		crc = rsoft_icrc_start(tab, crc, flow.ipv6, id, v->pkt + outer);
		crc = crc32_le(crc, v->pkt + outer, v->len - outer - 4);
		field = rsoft_icrc_final(crc);
		KUNIT_ASSERT_EQ_MSG(test, memcmp(v->pkt + v->len - 4, &field,
						 4), 0, "%s", v->name);
	}
}

static void every_length_is_in_the_tables(struct kunit *test)
{
	struct rsoft_flow flow = { .sport = cpu_to_be16(0xc000) };
	static const u8 no_bth[BTH_LEN];
	u8 a[RSOFT_ICRC_PSEUDO_MAX];
	struct rsoft_icrc_tab *tab;
	u32 base[2], n, len;
	int v6;

	tab = kunit_kzalloc(test, sizeof(*tab), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tab);
	rsoft_icrc_tab_init(tab, crc_plain);
	for (v6 = 0; v6 < 2; v6++) {
		flow.ipv6 = v6;
		n = rsoft_icrc_pseudo(a, &flow, 0, 100, no_bth);
		base[v6] = crc32_le(~0, a, n - BTH_LEN) ^
			   rsoft_icrc_len(tab, v6, 100);
	}
	for (len = 16; len < 0x10000 - 28; len += 7) {
		v6 = len & 1;
		flow.ipv6 = v6;
		n = rsoft_icrc_pseudo(a, &flow, 0, len, no_bth);
		KUNIT_ASSERT_EQ_MSG(test, crc32_le(~0, a, n - BTH_LEN),
				    base[v6] ^ rsoft_icrc_len(tab, v6, len),
				    "len %u", len);
	}
}

static void every_id_and_variant_is_in_the_tables(struct kunit *test)
{
	struct rsoft_flow flow = { .sport = cpu_to_be16(0xc000) };
	static const u8 no_bth[BTH_LEN];
	u8 a[RSOFT_ICRC_PSEUDO_MAX], bth[BTH_LEN] = { 4 };
	struct rsoft_icrc_tab *tab;
	u32 base, crc, n, id;

	tab = kunit_kzalloc(test, sizeof(*tab), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tab);
	rsoft_icrc_tab_init(tab, crc_plain);
	n = rsoft_icrc_pseudo(a, &flow, 0, 100, no_bth);
	base = crc32_le(~0, a, n - BTH_LEN);
	for (id = 0; id < 0x10000; id += 0x101 - (id & 1)) {
		bth[4] = (u8)(id >> 3);
		rsoft_icrc_pseudo(a, &flow, (u16)id, 100, bth);
		crc = rsoft_icrc_start(tab, base, false, (u16)id, bth);
		KUNIT_ASSERT_EQ_MSG(test, crc32_le(crc, bth, BTH_LEN),
				    crc32_le(~0, a, n), "id %u", id);
	}
}

/* Packets alike but for ID and PSN, from the state that they share. */
static void every_id_and_psn_is_in_the_tables(struct kunit *test)
{
	struct rsoft_flow flow = { .sport = cpu_to_be16(0xc000) };
	u8 a[RSOFT_ICRC_PSEUDO_MAX], bth[BTH_LEN] = { 7, 0x40, 0xff, 0xff, 3 };
	struct rsoft_icrc_tab *tab;
	u32 n, i, psn, id, alike;

	tab = kunit_kzalloc(test, sizeof(*tab), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tab);
	rsoft_icrc_tab_init(tab, crc_plain);
	for (i = 0; i < 4096; i++) {
		flow.ipv6 = i & 1;
		memset(bth + 8, 0, 4);
		n = rsoft_icrc_pseudo(a, &flow, 0, 1040, bth);
		alike = crc32_le(~0, a, n);
		psn = (i * 0x10101u + (i >> 8) * 0x3f5u) & 0xffffff;
		id = (i * 0x101u + (i >> 8)) & 0xffff;
		bth[9] = psn >> 16;
		bth[10] = psn >> 8;
		bth[11] = psn;
		n = rsoft_icrc_pseudo(a, &flow, (u16)id, 1040, bth);
		KUNIT_ASSERT_EQ_MSG(test, crc32_le(~0, a, n),
				    rsoft_icrc_like(tab, alike, flow.ipv6,
						    (u16)id, psn),
				    "id %u psn %u", id, psn);
	}
}

static bool bit_is_covered(const u8 *pkt, u32 byte)
{
	u32 outer = outer_len(pkt);

	if (byte >= outer + BTH_LEN)
		return true;
	if (byte >= outer)
		return bth_map[byte - outer] == 'i';
	return (pkt[0] >> 4 == 6 ? ipv6_map : ipv4_map)[byte] == 'i';
}

static void exactly_the_invariant_bits_are_covered(struct kunit *test)
{
	u8 *pkt = kunit_kzalloc(test, MAX_PKT, GFP_KERNEL);
	int i, bit;

	KUNIT_ASSERT_NOT_NULL(test, pkt);
	KUNIT_ASSERT_EQ(test, sizeof(ipv4_map) - 1, 28);
	KUNIT_ASSERT_EQ(test, sizeof(ipv6_map) - 1, 48);
	for (i = 0; i < ARRAY_SIZE(icrc_vectors); i++) {
		const struct icrc_vector *v = &icrc_vectors[i];

		KUNIT_ASSERT_LE(test, v->len, MAX_PKT);
		memcpy(pkt, v->pkt, v->len);
		/* The first byte says which IP it is, the last four the CRC. */
		for (bit = 8; bit < 8 * (v->len - 4); bit++) {
			bool covered = bit_is_covered(pkt, bit / 8);

			pkt[bit / 8] ^= 1 << bit % 8;
			if (icrc_good(pkt, v->len) == covered) {
				KUNIT_FAIL(test, "%s: byte %d bit %d", v->name,
					   bit / 8, bit % 8);
				return;
			}
			pkt[bit / 8] ^= 1 << bit % 8;
		}
	}
}

static void a_wrong_icrc_is_seen_in_each_bit(struct kunit *test)
{
	const struct icrc_vector *v = &icrc_vectors[0];
	u8 *pkt = kunit_kzalloc(test, MAX_PKT, GFP_KERNEL);
	int bit;

	KUNIT_ASSERT_NOT_NULL(test, pkt);
	memcpy(pkt, v->pkt, v->len);
	for (bit = 8 * (v->len - 4); bit < 8 * v->len; bit++) {
		pkt[bit / 8] ^= 1 << bit % 8;
		KUNIT_ASSERT_FALSE_MSG(test, icrc_good(pkt, v->len), "bit %d",
				       bit);
		pkt[bit / 8] ^= 1 << bit % 8;
	}
}

/* A packet cut short or grown has other lengths in its IP and UDP headers. */
static void the_length_is_covered(struct kunit *test)
{
	u8 a[RSOFT_ICRC_PSEUDO_MAX], b[RSOFT_ICRC_PSEUDO_MAX];
	const u8 bth[BTH_LEN] = { 4 };
	struct rsoft_flow flow = {};
	u32 n, len;

	for (len = 16; len < 0x10000 - 28 - 4; len += 1021) {
		flow.ipv6 = len & 1;
		n = rsoft_icrc_pseudo(a, &flow, 7, len, bth);
		rsoft_icrc_pseudo(b, &flow, 7, len + 4, bth);
		KUNIT_ASSERT_NE_MSG(test, crc32_le(~0, a, n),
				    crc32_le(~0, b, n), "len %u", len);
	}
}

static void the_ipv4_id_is_ignored_in_ipv6(struct kunit *test)
{
	u8 a[RSOFT_ICRC_PSEUDO_MAX], b[RSOFT_ICRC_PSEUDO_MAX];
	const u8 bth[BTH_LEN] = { 4 };
	struct rsoft_flow flow = { .ipv6 = true };
	u32 n;

	n = rsoft_icrc_pseudo(a, &flow, 0, 16, bth);
	flow.frag_off = cpu_to_be16(0x4000);
	rsoft_icrc_pseudo(b, &flow, 0x1234, 16, bth);
	KUNIT_EXPECT_EQ(test, memcmp(a, b, n), 0);
}

static void it_writes_what_it_returns_and_no_more(struct kunit *test)
{
	u8 out[RSOFT_ICRC_PSEUDO_MAX + 4], low[RSOFT_ICRC_PSEUDO_MAX + 4];
	static const u8 bth[BTH_LEN] = { 0x64, 1, 2, 3, 4 };
	struct rsoft_flow flow = {};
	u32 n, i;

	for (i = 0; i < 2; i++) {
		flow.ipv6 = i;
		memset(out, 0xa5, sizeof(out));
		memset(low, 0x5a, sizeof(low));
		n = rsoft_icrc_pseudo(out, &flow, 1, 100, bth);
		rsoft_icrc_pseudo(low, &flow, 1, 100, bth);
		KUNIT_ASSERT_EQ(test, n, i ? 68 : 48);
		KUNIT_ASSERT_EQ(test, memcmp(out, low, n), 0);
		KUNIT_ASSERT_EQ(test, out[n], 0xa5);
		KUNIT_ASSERT_EQ(test, low[n], 0x5a);
	}
}

static void the_field_is_little_endian(struct kunit *test)
{
	__le32 field = rsoft_icrc_final(~0x11223344u);
	const u8 want[4] = { 0x44, 0x33, 0x22, 0x11 };

	KUNIT_EXPECT_EQ(test, memcmp(&field, want, 4), 0);
}

static struct kunit_case icrc_cases[] = {
	KUNIT_CASE(every_vector_has_its_icrc),
	KUNIT_CASE(the_tables_give_the_same_icrc),
	KUNIT_CASE(every_length_is_in_the_tables),
	KUNIT_CASE(every_id_and_variant_is_in_the_tables),
	KUNIT_CASE(every_id_and_psn_is_in_the_tables),
	KUNIT_CASE(exactly_the_invariant_bits_are_covered),
	KUNIT_CASE(a_wrong_icrc_is_seen_in_each_bit),
	KUNIT_CASE(the_length_is_covered),
	KUNIT_CASE(the_ipv4_id_is_ignored_in_ipv6),
	KUNIT_CASE(it_writes_what_it_returns_and_no_more),
	KUNIT_CASE(the_field_is_little_endian),
	{}
};

static struct kunit_suite icrc_suite = {
	.name = "rdma_soft_icrc",
	.test_cases = icrc_cases,
};

kunit_test_suite(icrc_suite);
