# SPDX-License-Identifier: GPL-2.0
"""Timelines of the device as responder: requests good, repeated, missing."""
import roce
from peer import check
from roce import ImmDt, RETH
from script import (NAK_SEQ, Opened, atomic, data, merged, number, reth, same,
                    timeline)

import pyverbs.enums as e

# --- the device as responder: good requests ---------------------------------

LENGTHS = (0, 1, 2, 3, 4, 1021, 1022, 1023, 1024)


@timeline(*LENGTHS)
def send_only(d, p, n):
    with Opened(d, p) as q:
        q.post_recv()
        payload = data(n)
        q.request("SEND_ONLY", payload)
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=0, value=31, msn=1,
                 dqpn=q.dqpn)
        wc = q.completion()
        check(wc.byte_len == n and wc.opcode == e.IBV_WC_RECV, f"{wc}")
        same(d.bytes(0, n), payload)


@timeline(*((tail, n) for tail in ("", "_IMM") for n in (1, 2, 3, 4, 1024)))
def send_many(d, p, tail, n):
    with Opened(d, p) as q:
        q.post_recv()
        parts = [data(1024), data(1024), data(n)]
        q.request("SEND_FIRST", parts[0])
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, msn=0)
        q.request("SEND_MIDDLE", parts[1], ackreq=0)
        p.silence(0.05, "for a packet that asks for no ACK")
        headers = [ImmDt(imm=0x01020304)] if tail else []
        q.request("SEND_LAST" + tail, parts[2], headers)
        p.expect("RC_ACKNOWLEDGE", psn=(q.psn + 2) & 0xffffff, msn=1)
        wc = q.completion()
        check(wc.byte_len == 2048 + n, f"byte_len {wc.byte_len}")
        check(not tail or wc.wc_flags & e.IBV_WC_WITH_IMM, "no immediate")
        same(d.bytes(0, 2048 + n), b"".join(parts))


@timeline()
def send_only_imm(d, p):
    with Opened(d, p) as q:
        q.post_recv()
        q.request("SEND_ONLY_IMM", b"", [ImmDt(imm=0x01020304)])
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, msn=1)
        wc = q.completion()
        check(wc.imm_data in (0x01020304, 0x04030201), f"{wc.imm_data:#x}")


@timeline(*LENGTHS)
def write_only(d, p, n):
    with Opened(d, p) as q:
        payload = data(n)
        d.fill(0, b"\xee" * (n + 8))
        q.request("WRITE_ONLY", payload, [reth(d, n, 4)])
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=0, msn=1)
        same(d.bytes(0, n + 8), b"\xee" * 4 + payload + b"\xee" * 4)
        q.no_completion()


@timeline(*((tail, n) for tail in ("", "_IMM") for n in (1, 2, 3, 4, 1024)))
def write_many(d, p, tail, n):
    with Opened(d, p) as q:
        if tail:
            q.post_recv()
        parts = [data(1024), data(1024), data(n)]
        q.request("WRITE_FIRST", parts[0], [reth(d, 2048 + n, 8192)], ackreq=0)
        q.request("WRITE_MIDDLE", parts[1])
        p.expect("RC_ACKNOWLEDGE", psn=(q.psn + 1) & 0xffffff, msn=0)
        q.request("WRITE_LAST" + tail, parts[2],
                  [ImmDt(imm=7)] if tail else [])
        p.expect("RC_ACKNOWLEDGE", psn=(q.psn + 2) & 0xffffff, msn=1)
        same(d.bytes(8192, 2048 + n), b"".join(parts))
        if tail:
            wc = q.completion()
            check(wc.opcode == e.IBV_WC_RECV_RDMA_WITH_IMM, f"{wc.opcode}")
            check(wc.byte_len == 2048 + n, f"byte_len {wc.byte_len}")
        else:
            q.no_completion()


@timeline()
def write_only_imm(d, p):
    with Opened(d, p) as q:
        q.post_recv()
        q.request("WRITE_ONLY_IMM", b"abcde", [reth(d, 5), ImmDt(imm=7)])
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, msn=1)
        check(q.completion().byte_len == 5, "byte_len")
        same(d.bytes(0, 5), b"abcde")


@timeline()
def zero_length_write_any_key(d, p):
    with Opened(d, p) as q:
        q.request("WRITE_ONLY", b"", [RETH(va=1, rkey=0xdead, dmalen=0)])
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=0, msn=1)


def take_read(p, q, psn, n, msn, mtu=1024):
    """All responses of a READ of n bytes that begins at psn."""
    got, left = b"", n
    count = max(1, -(-n // mtu))
    for i in range(count):
        place = ("ONLY" if count == 1 else "FIRST" if i == 0 else
                 "LAST" if i == count - 1 else "MIDDLE")
        fields = {} if place == "MIDDLE" else {"code": 0, "msn": msn}
        r = p.expect(f"RC_READ_RESPONSE_{place}", f"{i} of {count}",
                     psn=(psn + i) & 0xffffff, dqpn=q.dqpn, **fields)
        check(len(r.payload) == min(left, mtu), f"{len(r.payload)} bytes")
        left -= len(r.payload)
        got += r.payload
    return got


@timeline(*(0, 1, 2, 3, 4, 1023, 1024, 1025, 2048, 2051, 20001))
def read(d, p, n):
    with Opened(d, p) as q:
        want = data(n)
        d.fill(16, want)
        q.request("READ_REQUEST", b"", [reth(d, n, 16)])
        same(take_read(p, q, q.psn, n, 1), want)
        # the next PSN is behind the responses
        q.rpsn = (q.psn + max(1, -(-n // 1024))) & 0xffffff
        q.post_recv()
        q.request("SEND_ONLY", b"x")
        p.expect("RC_ACKNOWLEDGE", psn=(q.rpsn - 1) & 0xffffff, msn=2)


@timeline(256, 512, 1024, 2048, 4096)
def read_at_mtu(d, p, mtu):
    with Opened(d, p, mtu=mtu) as q:
        want = data(3 * mtu + 5)
        d.fill(0, want)
        q.request("READ_REQUEST", b"", [reth(d, len(want))])
        same(take_read(p, q, q.psn, len(want), 1, mtu), want)


@timeline("equal", "other")
def compare_swap(d, p, how):
    with Opened(d, p) as q:
        d.fill(0, (0x1122334455667788).to_bytes(8, "little"))
        compare = 0x1122334455667788 + (how == "other")
        q.request("COMPARE_SWAP", b"", [atomic(d, 0xaabb, compare)])
        r = p.expect("RC_ATOMIC_ACKNOWLEDGE", psn=q.psn, code=0, msn=1)
        orig = r.layers[roce.AtomicAckETH].orig
        check(orig == 0x1122334455667788, f"orig {orig:#x}")
        want = 0xaabb if how == "equal" else 0x1122334455667788
        check(number(d) == want, f"memory {number(d):#x}")


@timeline()
def fetch_add_wraps(d, p):
    with Opened(d, p) as q:
        d.fill(0, (2**64 - 1).to_bytes(8, "little"))
        q.request("FETCH_ADD", b"", [atomic(d, 3)])
        r = p.expect("RC_ATOMIC_ACKNOWLEDGE", psn=q.psn, msn=1)
        check(r.layers[roce.AtomicAckETH].orig == 2**64 - 1, "orig")
        check(number(d) == 2, f"memory {number(d):#x}")


@timeline()
def psn_wraps(d, p):
    with Opened(d, p, psn=0xfffffe) as q:
        q.post_recv(4)
        for i, psn in enumerate((0xfffffe, 0xffffff, 0, 1)):
            q.request("SEND_ONLY", bytes([i]))
            p.expect("RC_ACKNOWLEDGE", psn=psn, msn=i + 1)


@timeline()
def read_over_psn_wrap(d, p):
    with Opened(d, p, psn=0xfffffe) as q:
        want = data(5000)
        d.fill(0, want)
        q.request("READ_REQUEST", b"", [reth(d, 5000)])
        same(take_read(p, q, q.psn, 5000, 1), want)


@timeline(0, 1)
def migreq_either_way(d, p, bit):
    with Opened(d, p) as q:
        q.post_recv()
        q.request("SEND_ONLY", b"m", migreq=bit)
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, migreq=1)


@timeline("fecn", "becn", "tos", "checksum", "no_checksum", "ttl")
def accepted_with(d, p, what):
    bth = {what: 1} if what in ("fecn", "becn") else {}
    wire = {"tos": {"tos": 0x0b}, "checksum": {"checksum": True}}.get(what)
    with Opened(d, p) as q:
        q.post_recv()
        q.request("SEND_ONLY", b"abc", wire=wire, **bth)
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, msn=1)


@timeline()
def acks_coalesce(d, p):
    with Opened(d, p) as q:
        q.post_recv(8)
        for i in range(8):
            q.request("SEND_ONLY", bytes([i]), ackreq=int(i == 7))
        p.expect("RC_ACKNOWLEDGE", psn=(q.psn + 7) & 0xffffff, msn=8)
        p.silence(0.1, "behind the one ACK")


@timeline()
def each_ackreq_is_answered(d, p):
    with Opened(d, p) as q:
        q.post_recv(8)
        for i in range(8):
            q.request("SEND_ONLY", bytes([i]))
        seen = -1
        while seen < 7:
            r = p.expect("RC_ACKNOWLEDGE", code=0)
            now = (r.psn - q.psn) & 0xffffff
            check(seen < now <= 7, f"ACK {now} after {seen}")
            check(r.aeth.msn == now + 1, f"MSN {r.aeth.msn} for {now + 1}")
            seen = now


# --- the device as responder: repeated and missing --------------------------

@timeline()
def duplicate_send(d, p):
    with Opened(d, p) as q:
        q.post_recv(3)
        q.request("SEND_ONLY", b"one")
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, msn=1)
        q.request("SEND_ONLY", b"two")
        last = (q.psn + 1) & 0xffffff
        p.expect("RC_ACKNOWLEDGE", psn=last, msn=2)
        q.request("SEND_ONLY", b"one", psn=q.psn)
        p.expect("RC_ACKNOWLEDGE", "for a duplicate", psn=last, msn=2)
        q.completion()
        q.completion()
        q.no_completion()


@timeline()
def duplicate_write_is_not_executed(d, p):
    with Opened(d, p) as q:
        q.request("WRITE_ONLY", b"right", [reth(d, 5)])
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, msn=1)
        q.request("WRITE_ONLY", b"wrong", [reth(d, 5)], psn=q.psn)
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, msn=1)
        same(d.bytes(0, 5), b"right")


@timeline()
def duplicate_read_whole(d, p):
    with Opened(d, p) as q:
        want = data(3000)
        d.fill(0, want)
        for _ in range(3):
            q.request("READ_REQUEST", b"", [reth(d, 3000)], psn=q.psn)
            same(take_read(p, q, q.psn, 3000, 1), want)


@timeline()
def duplicate_read_rest(d, p):
    with Opened(d, p) as q:
        want = data(3000)
        d.fill(0, want)
        q.request("READ_REQUEST", b"", [reth(d, 3000)], psn=q.psn)
        same(take_read(p, q, q.psn, 3000, 1), want)
        rest = (q.psn + 1) & 0xffffff
        q.request("READ_REQUEST", b"", [reth(d, 3000 - 1024, 1024)], psn=rest)
        same(take_read(p, q, rest, 3000 - 1024, 1), want[1024:])


@timeline("COMPARE_SWAP", "FETCH_ADD")
def duplicate_atomic(d, p, name):
    with Opened(d, p) as q:
        d.fill(0, (5).to_bytes(8, "little"))
        headers = [atomic(d, 9, 5)]
        for _ in range(3):
            q.request(name, b"", headers, psn=q.psn)
            r = p.expect("RC_ATOMIC_ACKNOWLEDGE", psn=q.psn, msn=1)
            check(r.layers[roce.AtomicAckETH].orig == 5, "orig of a duplicate")
        want = 9 if name == "COMPARE_SWAP" else 14
        check(number(d) == want, f"executed twice: {number(d)}")


@timeline()
def duplicate_read_behind_a_send(d, p):
    """The ACK that the SEND asked for must not be lost in the READ."""
    with Opened(d, p) as q:
        q.post_recv()
        want = data(100)
        d.fill(8192, want)
        q.request("READ_REQUEST", b"", [reth(d, 100, 8192)])
        same(take_read(p, q, q.psn, 100, 1), want)
        q.request("SEND_ONLY", b"x")
        q.request("READ_REQUEST", b"", [reth(d, 100, 8192)], psn=q.psn)
        names = []
        for _ in range(2):
            r = p.next(1)
            check(r is not None, f"only {names} came")
            names.append(str(r.op))
        check("RC_ACKNOWLEDGE" in names and "RC_READ_RESPONSE_ONLY" in names,
              f"{names}")


@timeline()
def gap_brings_one_nak(d, p):
    with Opened(d, p) as q:
        q.post_recv(8)
        q.request("SEND_ONLY", b"0")
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, msn=1)
        missing = q.rpsn
        for i in range(2, 5):
            q.request("SEND_ONLY", b"late", psn=(q.psn + i) & 0xffffff)
        p.expect("RC_ACKNOWLEDGE", "for a gap", psn=missing, code=3,
                 value=NAK_SEQ, msn=1)
        p.silence(0.1, "one NAK for a gap is enough")
        for i in range(1, 5):
            q.request("SEND_ONLY", b"again", psn=(q.psn + i) & 0xffffff)
        last = None
        while last != ((q.psn + 4) & 0xffffff, 5):
            r = p.expect("RC_ACKNOWLEDGE", code=0)
            last = (r.psn, r.aeth.msn)
        for _ in range(5):
            q.completion()
        q.no_completion()


@timeline()
def second_gap_brings_a_second_nak(d, p):
    with Opened(d, p) as q:
        q.post_recv(8)
        for i in (1, 3):
            missing = (q.psn + i - 1) & 0xffffff
            for j in (0, 1, 2):
                q.request("SEND_ONLY", b"x", psn=(missing + 1 + j) & 0xffffff)
            p.expect("RC_ACKNOWLEDGE", psn=missing, code=3, value=NAK_SEQ)
            if i == 1:
                for j in (0, 1):
                    q.request("SEND_ONLY", b"x", psn=(missing + j) & 0xffffff)
                r = None
                while r is None or (r.psn - missing) & 0xffffff < 1:
                    r = p.expect("RC_ACKNOWLEDGE", code=0)
                if (r.psn - missing) & 0xffffff > 1:
                    return      # it had kept what came early: no second gap
                p.start(1024)


@timeline()
def gap_of_a_read(d, p):
    with Opened(d, p) as q:
        for i in (1, 2, 3):
            q.request("READ_REQUEST", b"", [reth(d, 10)],
                      psn=(q.psn + i) & 0xffffff)
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=3, value=NAK_SEQ, msn=0)


def until_acked(p, psn):
    """Whatever comes first, the request with this PSN is acknowledged."""
    for _ in range(50):
        r = p.next(5)
        check(r is not None, f"no ACK of PSN {psn}")
        if str(r.op) == "RC_ACKNOWLEDGE" and not r.aeth.code and r.psn == psn:
            return
    check(False, f"no ACK of PSN {psn} among 50 packets")


@timeline()
@merged
def early_packets_overlap(d, p):
    """
    A READ that is early takes PSNs up to 5, a SEND that was kept before has one
    of them, and packets in one skb begin within and end behind the READ.
    """
    with Opened(d, p) as q:
        q.post_recv(8)
        drops = d.counter("early_drops")
        at = [(q.psn + i) & 0xffffff for i in range(12)]
        q.request("SEND_ONLY", psn=at[3])
        q.request("READ_REQUEST", b"", [reth(d, 4096)], psn=at[1])
        p.send_merged([roce.layers(roce.NUMBER["RC_SEND_ONLY"], psn,
                                   q.qp.qp_num, ackreq=1)
                       for psn in at[2:7]])
        q.request("SEND_ONLY", psn=at[0])
        q.request("SEND_ONLY", psn=at[5])
        q.request("SEND_ONLY", psn=at[6])
        q.request("SEND_ONLY", psn=at[7])
        until_acked(p, at[7])
        drops = d.counter("early_drops") - drops
        check(drops < 20, f"early_drops grew by {drops}")


@timeline()
@merged
def early_responses_overlap(d, p):
    """An ACK whose PSN lies within early responses, and more of them behind."""
    with Opened(d, p, mtu=256) as q:
        drops = d.counter("early_drops")
        q.post("RDMA_READ", 0, 30 * 256)
        p.expect("RC_READ_REQUEST", psn=q.spsn)
        at = [(q.spsn + i) & 0xffffff for i in range(30)]
        payload = data(30 * 256)

        def middle(first, end):
            p.send_merged([roce.layers(
                roce.NUMBER["RC_READ_RESPONSE_MIDDLE"], at[i], q.qp.qp_num,
                [], payload[256 * i:256 * i + 256]) for i in range(first, end)])

        middle(5, 10)
        q.ack(at[7], 0)
        middle(6, 20)
        q.respond("READ_RESPONSE_FIRST", at[0], 1, payload=payload[:256])
        for i in range(1, 29):
            q.respond("READ_RESPONSE_MIDDLE", at[i], 1, headers=[],
                      payload=payload[256 * i:256 * i + 256])
        q.respond("READ_RESPONSE_LAST", at[29], 1, payload=payload[29 * 256:])
        q.completion()
        same(d.bytes(0, len(payload)), payload)
        drops = d.counter("early_drops") - drops
        check(drops < 60, f"early_drops grew by {drops}")


@timeline(0, 1, 12, 31)
def rnr(d, p, timer):
    with Opened(d, p, rnr_timer=timer) as q:
        q.request("SEND_ONLY", b"early", psn=q.psn)
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=1, value=timer, msn=0)
        q.request("SEND_ONLY", b"next", psn=(q.psn + 1) & 0xffffff)
        p.silence(0.05, "what follows a refused request is no gap")
        q.post_recv(2)
        q.request("SEND_ONLY", b"early")
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=0, msn=1)
        q.completion()


@timeline()
def rnr_of_write_imm(d, p):
    with Opened(d, p) as q:
        d.fill(0, b"\0" * 8)
        headers = [reth(d, 4), ImmDt(imm=1)]
        q.request("WRITE_ONLY_IMM", b"data", headers, psn=q.psn)
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=1, msn=0)
        q.post_recv()
        q.request("WRITE_ONLY_IMM", b"data", headers)
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=0, msn=1)
        q.completion()
