#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
timelines.py DEVICE PEER_NETNS PEER_IF PEER_MAC DEVICE_MAC ADDRS [NAME]

Send and expect, packet by packet, against one QP of DEVICE: the peer is a
packet socket (peer.py). Runs every timeline over each pair of ADDRS, given as
peer,device[;peer,device...]; NAME runs those whose name contains it. Prints one
TAP result line each (not numbered), then 'timelines=N sent=N received=N'.

Exit status: 0 if all were kept, 1 if one was broken, 2 if none ran.
"""
import random
import sys
import time
import traceback

from pyverbs.pyverbs_error import PyverbsError

import roce
from peer import ALL_ACCESS, Broken, Device, Link, Peer, check
from roce import AETH, AtomicETH, DETH, IETH, ImmDt, RETH

import pyverbs.enums as e

TIMELINES = []
NAK_SEQ, NAK_INVALID, NAK_ACCESS, NAK_OPERATION = 0, 1, 2, 3


def timeline(*cases):
    """Register a function, once for each case (arguments behind d, p)."""
    def register(fn):
        for case in cases or ((),):
            case = case if isinstance(case, tuple) else (case,)
            name = "_".join([fn.__name__] + [str(c).lower() for c in case])
            TIMELINES.append((name, fn, case))
        return fn
    return register


def merged(fn):
    """This one needs Peer.send_merged(): IPv6."""
    fn.family = "v6"
    return fn


def data(n):
    return random.randbytes(n)


class Opened:
    """with Opened(d, p, ...) as q: a QP that is closed at the end."""

    def __init__(self, d, p, **kw):
        self.link = Link(d, p, **kw)

    def __enter__(self):
        return self.link

    def __exit__(self, *_):
        self.link.close()


def diff(a, b):
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return f"byte {i} is {x:#x}, want {y:#x}"
    return f"{len(a)} bytes, want {len(b)}"


def same(seen, want, what="payload"):
    check(seen == want, f"{what}: {diff(seen, want)}")


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


def reth(d, n, offset=0, rkey=None):
    return RETH(va=d.addr(offset), rkey=d.mr.rkey if rkey is None else rkey,
                dmalen=n)


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


def atomic(d, swap_add, compare=0, offset=0, rkey=None):
    return AtomicETH(va=d.addr(offset), swap_add=swap_add, compare=compare,
                     rkey=d.mr.rkey if rkey is None else rkey)


def number(d, offset=0):
    return int.from_bytes(d.bytes(offset, 8), "little")


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


# --- the device as responder: refused requests ------------------------------

def refused(d, p, code, send, msn=0, **kw):
    with Opened(d, p, **kw) as q:
        q.post_recv()
        psn = q.rpsn
        psn = send(q) or psn
        p.expect("RC_ACKNOWLEDGE", psn=psn, code=3, value=code, msn=msn)
        p.silence(0.05)
        q.request("SEND_ONLY", b"x")
        p.silence(0.05, "from a QP in error")


REFUSED = {
    "middle_without_first": (NAK_INVALID, lambda d, q: q.request(
        "SEND_MIDDLE", data(1024))),
    "last_without_first": (NAK_INVALID, lambda d, q: q.request(
        "WRITE_LAST", b"x")),
    "first_too_short": (NAK_INVALID, lambda d, q: q.request(
        "SEND_FIRST", data(1020))),
    "only_too_long": (NAK_INVALID, lambda d, q: q.request(
        "SEND_ONLY", data(1028))),
    "last_of_nothing": (NAK_INVALID, lambda d, q: (q.request(
        "SEND_FIRST", data(1024), ackreq=0), q.request("SEND_LAST", b""),
        (q.psn + 1) & 0xffffff)[2]),
    "write_shorter_than_reth": (NAK_INVALID, lambda d, q: q.request(
        "WRITE_ONLY", b"abc", [reth(d, 4)])),
    "write_longer_than_reth": (NAK_INVALID, lambda d, q: q.request(
        "WRITE_ONLY", b"abcde", [reth(d, 4)])),
    "write_above_2_gib": (NAK_INVALID, lambda d, q: q.request(
        "WRITE_FIRST", data(1024), [reth(d, 0x80000001)])),
    "read_above_2_gib": (NAK_INVALID, lambda d, q: q.request(
        "READ_REQUEST", b"", [reth(d, 0x80000001)])),
    "atomic_unaligned": (NAK_INVALID, lambda d, q: q.request(
        "FETCH_ADD", b"", [atomic(d, 1, offset=4)])),
    "write_bad_key": (NAK_ACCESS, lambda d, q: q.request(
        "WRITE_ONLY", b"abcd", [reth(d, 4, rkey=d.mr.rkey ^ 0x5a00)])),
    "read_bad_key": (NAK_ACCESS, lambda d, q: q.request(
        "READ_REQUEST", b"", [reth(d, 4, rkey=d.mr.rkey ^ 0x5a00)])),
    "atomic_bad_key": (NAK_ACCESS, lambda d, q: q.request(
        "COMPARE_SWAP", b"", [atomic(d, 1, rkey=d.mr.rkey ^ 0x5a00)])),
    "write_out_of_range": (NAK_ACCESS, lambda d, q: q.request(
        "WRITE_ONLY", b"abcd", [reth(d, 4, d.SIZE - 3)])),
    "write_no_right": (NAK_ACCESS, lambda d, q: q.request(
        "WRITE_ONLY", b"abcd", [RETH(va=d.read_only.buf, dmalen=4,
                                     rkey=d.read_only.rkey)])),
    "read_no_right": (NAK_ACCESS, lambda d, q: q.request(
        "READ_REQUEST", b"", [RETH(va=d.read_only.buf, dmalen=4,
                                   rkey=d.read_only.rkey)])),
    "send_inv_of_no_window": (NAK_INVALID, lambda d, q: q.request(
        "SEND_ONLY_INV", b"x", [IETH(rkey=d.mr.rkey ^ 0x5a00)])),
    "send_longer_than_receive": (NAK_INVALID, lambda d, q: q.request(
        "SEND_ONLY", data(1000)), {"recv_buffer": 999}),
    "first_in_a_message": (NAK_INVALID, lambda d, q: (q.request(
        "SEND_FIRST", data(1024), ackreq=0), q.request("SEND_ONLY", b"x"),
        (q.psn + 1) & 0xffffff)[2]),
    "other_kind_in_a_message": (NAK_INVALID, lambda d, q: (q.request(
        "WRITE_FIRST", data(1024), [reth(d, 2048)], ackreq=0),
        q.request("SEND_LAST", b"x"), (q.psn + 1) & 0xffffff)[2]),
}


@timeline(*REFUSED)
def nak(d, p, name):
    code, send, *kw = REFUSED[name]
    if name.startswith("send_inv"):
        # remote access or invalid request: the specification leaves a choice
        with Opened(d, p) as q:
            q.post_recv()
            send(d, q)
            r = p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=3)
            check(r.aeth.value in (NAK_INVALID, NAK_ACCESS), f"{r.aeth.value}")
        return
    refused(d, p, code, lambda q: send(d, q), **(kw[0] if kw else {}))


@timeline(0x15, 0x18, 0x1f)
def nak_reserved_opcode(d, p, opcode):
    with Opened(d, p) as q:
        q.post_recv()
        p.send(roce.layers(opcode, q.psn, q.qp.qp_num, payload=b"abcd"))
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=3, value=NAK_INVALID, msn=0)


@timeline()
def nak_bad_receive(d, p):
    with Opened(d, p) as q:
        q.post_recv(lkey=d.mr.lkey ^ 0x5a00)
        q.request("SEND_ONLY", b"x")
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=3, value=NAK_OPERATION,
                 msn=0)
        q.completion("LOC_PROT_ERR")


@timeline("WRITE_ONLY", "READ_REQUEST", "FETCH_ADD")
def nak_qp_without_right(d, p, name):
    with Opened(d, p, access=e.IBV_ACCESS_LOCAL_WRITE) as q:
        headers = [atomic(d, 1)] if name == "FETCH_ADD" else [reth(d, 4)]
        q.request(name, b"abcd" if name == "WRITE_ONLY" else b"", headers)
        r = p.expect("RC_ACKNOWLEDGE", psn=q.psn, code=3)
        check(r.aeth.value in (NAK_INVALID, NAK_ACCESS), f"{r.aeth.value}")


# --- what must be dropped without a word ------------------------------------

SILENT = {
    "wrong_icrc": ({"icrc_xor": 1}, {}, "drop_icrc"),
    "wrong_icrc_high_bit": ({"icrc_xor": 1 << 31}, {}, "drop_icrc"),
    "version_1": ({}, {"tver": 1}, "drop_tver"),
    "other_pkey": ({}, {"pkey": 0x1234}, "drop_pkey"),
    "reserved_transport": ({}, {"opcode": 0xe4}, "drop_opcode"),
    "opcode_of_uc": ({}, {"opcode": 0x24}, "drop_qp_type"),
    "pad_above_payload": ({}, {"pad": 3, "none": 1}, None),
    "unknown_qpn": ({}, {"dqpn": 0x7}, "drop_qpn"),
    "truncated": ({"cut": 5}, {}, None),
}


@timeline(*SILENT)
def dropped(d, p, name):
    wire, bth, counter = SILENT[name]
    bth = dict(bth)
    payload = b"" if bth.pop("none", 0) else b"abcd"
    with Opened(d, p) as q:
        q.post_recv()
        before = d.counter(counter) if counter else 0
        fields = {"opcode": roce.NUMBER["RC_SEND_ONLY"], "psn": q.rpsn,
                  "dqpn": q.qp.qp_num, "ackreq": 1}
        fields.update(bth)
        p.send(roce.layers(payload=payload, **fields), **wire)
        p.silence(0.05)
        q.no_completion()
        if counter:
            check(d.counter(counter) == before + 1, f"{counter} did not count")
        q.request("SEND_ONLY", b"good")
        p.expect("RC_ACKNOWLEDGE", "after a drop", psn=q.psn, msn=1)


@timeline()
def dropped_other_source(d, p):
    with Opened(d, p) as q:
        q.post_recv()
        before = d.counter("drop_source")
        other = p.addrs[0][:-1] + "9"
        q.request("SEND_ONLY", b"x", psn=q.psn,
                  wire={"addrs": (other, p.addrs[1])})
        p.silence(0.05)
        check(d.counter("drop_source") == before + 1, "not counted")
        q.no_completion()


@timeline(0x0d, 0x10, 0x11, 0x12)
def dropped_unasked_response(d, p, opcode):
    with Opened(d, p) as q:
        q.post_recv()
        headers = [AETH(code=0, value=31, msn=1)]
        if opcode == 0x12:
            headers.append(roce.AtomicAckETH(orig=1))
        p.send(roce.layers(opcode, q.spsn, q.qp.qp_num, headers,
                           data(1024) if opcode == 0x0d else b""))
        p.silence(0.05)
        q.request("SEND_ONLY", b"good")
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, msn=1)


@timeline()
def cnp_is_taken_quietly(d, p):
    with Opened(d, p) as q:
        q.post_recv()
        p.send(roce.layers(0x81, 0, q.qp.qp_num, payload=b"\0" * 16, becn=1))
        p.silence(0.05)
        q.request("SEND_ONLY", b"good")
        p.expect("RC_ACKNOWLEDGE", psn=q.psn, msn=1)


# --- the device as requester ------------------------------------------------

def take_message(p, q, kind, payload, psn, tail="", mtu=1024, remote=None):
    """The packets of one SEND or WRITE. Returns the PSN behind it."""
    count = max(1, -(-len(payload) // mtu))
    for i in range(count):
        place = ("ONLY" if count == 1 else "FIRST" if i == 0 else
                 "LAST" if i == count - 1 else "MIDDLE")
        name = f"{q.kind}_{kind}_{place}" + \
            (tail if place in ("ONLY", "LAST") else "")
        r = p.expect(name, f"{i} of {count}", psn=(psn + i) & 0xffffff,
                     dqpn=q.dqpn, migreq=1)
        same(r.payload, payload[i * mtu:(i + 1) * mtu])
        if kind == "WRITE" and i == 0:
            check(r.reth.dmalen == len(payload) and
                  (r.reth.va, r.reth.rkey) == remote, "RETH")
        if tail and place in ("ONLY", "LAST"):
            check(r.layers[ImmDt].imm in (7, 0x07000000), "immediate")
        if i == count - 1 and q.kind == "RC":
            check(r.bth.ackreq == 1, "the last packet asks for no ACK")
    return (psn + count) & 0xffffff


SIZES = (0, 1, 2, 3, 4, 1023, 1024, 1025, 3072, 5002)


@timeline(*((kind, tail, n) for kind in ("SEND", "WRITE")
            for tail in ("", "_IMM") for n in SIZES))
def emits(d, p, kind, tail, n):
    with Opened(d, p) as q:
        payload = data(n)
        d.fill(4096, payload)
        opcode = ("RDMA_" if kind == "WRITE" else "") + kind + \
            ("_WITH_IMM" if tail else "")
        remote = (0x123456789a, 0x4321)
        q.post(opcode, 4096, n, remote, imm=7)
        after = take_message(p, q, kind, payload, q.spsn, tail, remote=remote)
        q.no_completion()
        q.ack((after - 1) & 0xffffff, 1)
        q.completion()
        p.silence(0.03)


@timeline(256, 512, 2048, 4096)
def emits_at_mtu(d, p, mtu):
    with Opened(d, p, mtu=mtu) as q:
        payload = data(3 * mtu + 1)
        d.fill(0, payload)
        q.post("SEND", 0, len(payload))
        after = take_message(p, q, "SEND", payload, q.spsn, mtu=mtu)
        q.ack((after - 1) & 0xffffff, 1)
        q.completion()


@timeline(*(0, 1, 2, 3, 4, 1024, 1025, 5002))
def reads(d, p, n):
    with Opened(d, p) as q:
        q.post("RDMA_READ", 0, n, (0x1000, 0x77))
        r = p.expect("RC_READ_REQUEST", psn=q.spsn)
        check((r.reth.va, r.reth.rkey, r.reth.dmalen) == (0x1000, 0x77, n),
              "RETH")
        want = data(n)
        answer_read(q, q.spsn, want, 1)
        check(q.completion().byte_len == n, "byte_len")
        same(d.bytes(0, n), want)


def answer_read(q, psn, want, msn, skip=(), migreq=1, mtu=1024):
    count = max(1, -(-len(want) // mtu))
    for i in range(count):
        place = ("ONLY" if count == 1 else "FIRST" if i == 0 else
                 "LAST" if i == count - 1 else "MIDDLE")
        if i in skip:
            continue
        q.respond(f"READ_RESPONSE_{place}", (psn + i) & 0xffffff, msn,
                  headers=[] if place == "MIDDLE" else None,
                  payload=want[i * mtu:(i + 1) * mtu], migreq=migreq)


@timeline("ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD")
def atomics(d, p, opcode):
    with Opened(d, p) as q:
        q.post(opcode, 0, 8, (0x1000, 0x77), (11, 22))
        cas = "CMP" in opcode
        r = p.expect("RC_COMPARE_SWAP" if cas else "RC_FETCH_ADD", psn=q.spsn)
        seen = (r.atomic.va, r.atomic.rkey, r.atomic.swap_add)
        check(seen == (0x1000, 0x77, 22 if cas else 11), f"{seen}")
        check(not cas or r.atomic.compare == 11, "compare")
        q.respond("ATOMIC_ACKNOWLEDGE", q.spsn, 1, headers=[
            AETH(code=0, value=31, msn=1),
            roce.AtomicAckETH(orig=0x1122334455667788)])
        q.completion()
        check(number(d) == 0x1122334455667788, f"{number(d):#x}")


@timeline()
def one_ack_for_many(d, p):
    with Opened(d, p) as q:
        for i in range(5):
            q.post("SEND", 0, 10, wr_id=i)
        for i in range(5):
            p.expect("RC_SEND_ONLY", psn=(q.spsn + i) & 0xffffff)
        q.ack((q.spsn + 4) & 0xffffff, 5)
        for i in range(5):
            check(q.completion().wr_id == i, "order")


@timeline(0, 1)
def ack_migreq_either_way(d, p, bit):
    with Opened(d, p) as q:
        q.post("SEND", 0, 10)
        p.expect("RC_SEND_ONLY", psn=q.spsn)
        q.ack(q.spsn, 1, migreq=bit)
        q.completion()


@timeline("future", "wrong_icrc", "other_qp", "past")
def ack_is_ignored(d, p, why):
    with Opened(d, p) as q:
        q.post("SEND", 0, 10)
        p.expect("RC_SEND_ONLY", psn=q.spsn)
        if why == "future":
            q.ack((q.spsn + 1) & 0xffffff, 2)
        elif why == "past":
            q.ack((q.spsn - 1) & 0xffffff, 0)
        elif why == "wrong_icrc":
            q.ack(q.spsn, 1, wire={"icrc_xor": 4})
        else:
            q.ack(q.spsn, 1, wire={"addrs": (p.addrs[0][:-1] + "9",
                                             p.addrs[1])})
        time.sleep(0.03)
        q.no_completion()
        q.ack(q.spsn, 1)
        q.completion()


@timeline("keeps_nothing", "keeps_the_rest")
def nak_sequence_resends(d, p, peer):
    """The first packet, to see what the peer does; then the rest, or not."""
    with Opened(d, p, timeout=18) as q:
        payload = data(5000)
        d.fill(0, payload)
        q.post("SEND", 0, 5000)
        after = take_message(p, q, "SEND", payload, q.spsn)
        q.ack((q.spsn + 2) & 0xffffff, 0, code=3, value=NAK_SEQ)
        for i, place in ((2, "MIDDLE"), (3, "MIDDLE"), (4, "LAST")):
            r = p.expect(f"RC_SEND_{place}", "again",
                         psn=(q.spsn + i) & 0xffffff)
            same(r.payload, payload[i * 1024:(i + 1) * 1024])
            if i > 2:
                continue
            check(r.bth.ackreq == 1, "nobody asks what became of it")
            p.silence(0.02)
            if peer == "keeps_the_rest":
                break
            q.ack(r.psn, 0)
        q.ack((after - 1) & 0xffffff, 1)
        q.completion()
        p.silence(0.02)
        # it is known now
        psn = after
        q.post("SEND", 0, 5000)
        after = take_message(p, q, "SEND", payload, psn)
        q.ack((psn + 2) & 0xffffff, 1, code=3, value=NAK_SEQ)
        for i, place in ((2, "MIDDLE"), (3, "MIDDLE"), (4, "LAST")):
            p.expect(f"RC_SEND_{place}", "again at once",
                     psn=(psn + i) & 0xffffff)
            if peer == "keeps_the_rest":
                break
        q.ack((after - 1) & 0xffffff, 2)
        q.completion()
        p.silence(0.02)


@timeline()
def nak_sequence_acks_what_was_before(d, p):
    with Opened(d, p) as q:
        for i in range(3):
            q.post("SEND", 0, 4, wr_id=i)
            p.expect("RC_SEND_ONLY", psn=(q.spsn + i) & 0xffffff)
        q.ack((q.spsn + 2) & 0xffffff, 2, code=3, value=NAK_SEQ)
        check(q.completion().wr_id == 0 and q.completion().wr_id == 1,
              "completed by a NAK")
        p.expect("RC_SEND_ONLY", "again", psn=(q.spsn + 2) & 0xffffff)
        q.ack((q.spsn + 2) & 0xffffff, 3)
        check(q.completion().wr_id == 2, "the rest")


@timeline(*((NAK_INVALID, "REM_INV_REQ_ERR"), (NAK_ACCESS, "REM_ACCESS_ERR"),
            (NAK_OPERATION, "REM_OP_ERR")))
def nak_ends_the_request(d, p, value, status):
    with Opened(d, p) as q:
        q.post("RDMA_WRITE", 0, 4, wr_id=1)
        q.post("RDMA_WRITE", 0, 4, wr_id=2)
        p.expect("RC_WRITE_ONLY", psn=q.spsn)
        p.expect("RC_WRITE_ONLY", psn=(q.spsn + 1) & 0xffffff)
        q.ack(q.spsn, 0, code=3, value=value)
        q.completion(status)
        q.completion("WR_FLUSH_ERR")
        p.silence(0.05)


@timeline(*((1, 0.00001), (12, 0.00064), (20, 0.01024), (26, 0.08192)))
def rnr_nak_waits(d, p, timer, seconds):
    with Opened(d, p) as q:
        q.post("SEND", 0, 4)
        p.expect("RC_SEND_ONLY", psn=q.spsn)
        start = time.monotonic()
        q.ack(q.spsn, 0, code=1, value=timer)
        p.expect("RC_SEND_ONLY", "again", psn=q.spsn)
        took = time.monotonic() - start
        check(took >= seconds, f"sent again after {took} s")
        q.ack(q.spsn, 1)
        q.completion()


@timeline(0, 2)
def rnr_retries_are_counted(d, p, retries):
    with Opened(d, p, rnr_retry=retries) as q:
        q.post("SEND", 0, 4)
        for _ in range(retries + 1):
            p.expect("RC_SEND_ONLY", psn=q.spsn)
            q.ack(q.spsn, 0, code=1, value=1)
        q.completion("RNR_RETRY_EXC_ERR")
        p.silence(0.05)


@timeline(0, 2)
def silence_ends_after_retries(d, p, retries):
    with Opened(d, p, timeout=12, retry=retries) as q:
        q.post("SEND", 0, 4)
        for i in range(retries + 1):
            p.expect("RC_SEND_ONLY", f"try {i}", psn=q.spsn)
        q.completion("RETRY_EXC_ERR")
        p.silence(0.05)


def answer_again(q, seconds):
    """The ACK before the request in hand, time and again; how long it took."""
    start = time.monotonic()
    took = 0
    while took < seconds:
        time.sleep(0.04)
        q.ack((q.spsn - 1) & 0xffffff, 0)
        took = time.monotonic() - start
        n, wcs = q.cq.poll(1)
        if n:
            check(wcs[0].status == e.IBV_WC_RETRY_EXC_ERR,
                  f"completion with status {wcs[0].status}")
            break
    return took


@timeline()
def who_answers_is_not_gone(d, p):
    """An answer to what was answered before puts the time-out off."""
    with Opened(d, p, timeout=16, retry=0) as q:
        q.post("SEND", 0, 4)
        p.expect("RC_SEND_ONLY", psn=q.spsn)
        took = answer_again(q, 0.7)
        check(took >= 0.7, f"given up after {took:.3f} s")
        q.ack(q.spsn, 1)
        q.completion()


@timeline()
def who_answers_wrong_is_given_up(d, p):
    """... but not beyond 4 T (IBTA 9.7.6)."""
    with Opened(d, p, timeout=16, retry=0) as q:
        q.post("SEND", 0, 4)
        p.expect("RC_SEND_ONLY", psn=q.spsn)
        took = answer_again(q, 10)
        check(took < 5, f"not given up in {took:.3f} s")


@timeline()
def tail_is_asked_for(d, p):
    """Silence where an answer is late: one packet, long before the time-out."""
    with Opened(d, p, timeout=19, retry=0) as q:
        psn = q.spsn
        payload = data(3000)
        d.fill(0, payload)
        for _ in range(4):
            q.post("SEND", 0, 4)
            p.expect("RC_SEND_ONLY", psn=psn)
            q.ack(psn, 1)
            q.completion()
            psn = (psn + 1) & 0xffffff
        q.post("SEND", 0, 3000)
        after = take_message(p, q, "SEND", payload, psn)
        r = p.expect("RC_SEND_FIRST", "asks for an answer", psn=psn)
        check(r.bth.ackreq == 1, "no answer asked for")
        q.ack((after - 1) & 0xffffff, 5)
        q.completion()


@timeline()
def time_out_sends_again(d, p):
    with Opened(d, p, timeout=13, retry=7) as q:
        payload = data(2500)
        d.fill(0, payload)
        q.post("SEND", 0, 2500)
        take_message(p, q, "SEND", payload, q.spsn)
        after = take_message(p, q, "SEND", payload, q.spsn)
        q.ack((after - 1) & 0xffffff, 1)
        q.completion()


@timeline()
def read_asks_for_the_rest(d, p):
    with Opened(d, p, timeout=17, retry=7) as q:
        want = data(5000)
        q.post("RDMA_READ", 0, 5000, (0x10000, 0x77))
        p.expect("RC_READ_REQUEST", psn=q.spsn)
        answer_read(q, q.spsn, want, 1, skip=(2,))
        # go-back-N from the gap, or the missing one only: what was there
        # before must not be asked for again
        r = p.expect("RC_READ_REQUEST", "for the rest")
        off = ((r.psn - q.spsn) & 0xffffff) * 1024
        check(off == 2048, f"asks again from {off}")
        check(r.reth.va == 0x10000 + off and r.reth.dmalen == 5000 - off,
              f"va {r.reth.va:#x} length {r.reth.dmalen}")
        answer_read(q, r.psn, want[off:], 1)
        q.completion()
        same(d.bytes(0, 5000), want)


@timeline()
def lost_ack_implied_by_read_response(d, p):
    with Opened(d, p) as q:
        q.post("SEND", 0, 4, wr_id=1)
        q.post("RDMA_READ", 0, 4, wr_id=2)
        p.expect("RC_SEND_ONLY", psn=q.spsn)
        r = p.expect("RC_READ_REQUEST", psn=(q.spsn + 1) & 0xffffff)
        answer_read(q, r.psn, b"data", 2)
        check(q.completion().wr_id == 1, "the SEND")
        check(q.completion().wr_id == 2, "the READ")


@timeline()
def ack_does_not_complete_a_read(d, p):
    with Opened(d, p, timeout=17, retry=7) as q:
        q.post("RDMA_READ", 0, 4, wr_id=1)
        q.post("SEND", 0, 4, wr_id=2)
        r = p.expect("RC_READ_REQUEST", psn=q.spsn)
        p.expect("RC_SEND_ONLY", psn=(q.spsn + 1) & 0xffffff)
        q.ack((q.spsn + 1) & 0xffffff, 2)
        time.sleep(0.02)
        q.no_completion()
        r = p.expect("RC_READ_REQUEST", "again", psn=q.spsn)
        answer_read(q, r.psn, b"data", 1)
        check(q.completion().wr_id == 1, "the READ")
        q.ack((q.spsn + 1) & 0xffffff, 2)
        check(q.completion().wr_id == 2, "the SEND")
        same(d.bytes(0, 4), b"data")


@timeline()
def read_response_too_long(d, p):
    with Opened(d, p, timeout=12, retry=1) as q:
        d.fill(0, b"\xee" * 16)
        q.post("RDMA_READ", 0, 4)
        p.expect("RC_READ_REQUEST", psn=q.spsn)
        q.respond("READ_RESPONSE_ONLY", q.spsn, 1, payload=b"too long!")
        time.sleep(0.02)
        same(d.bytes(4, 12), b"\xee" * 12, "memory behind")


@timeline(0, 1, 0xffffff)
def spsn_wraps(d, p, before):
    with Opened(d, p, psn=(0xffffff - 0x100000 - before) & 0xffffff) as q:
        payload = data(4000)
        d.fill(0, payload)
        q.post("SEND", 0, 4000)
        after = take_message(p, q, "SEND", payload, q.spsn)
        q.ack((after - 1) & 0xffffff, 1)
        q.completion()


# --- UC and UD ---------------------------------------------------------------

@timeline(*(0, 1, 2, 3, 1024))
def uc_send(d, p, n):
    with Opened(d, p, kind="UC", access=e.IBV_ACCESS_REMOTE_WRITE) as q:
        q.post_recv()
        payload = data(n)
        q.request("SEND_ONLY", payload, ackreq=0)
        check(q.completion().byte_len == n, "byte_len")
        same(d.bytes(0, n), payload)
        p.silence(0.03)


@timeline()
def uc_gap_loses_one_message(d, p):
    with Opened(d, p, kind="UC", access=e.IBV_ACCESS_REMOTE_WRITE) as q:
        q.post_recv(2)
        q.request("SEND_FIRST", data(1024), ackreq=0)
        q.rpsn = (q.rpsn + 1) & 0xffffff
        q.request("SEND_LAST", b"x", ackreq=0)
        q.request("SEND_ONLY", b"whole", ackreq=0)
        check(q.completion().byte_len == 5, "byte_len")
        same(d.bytes(0, 5), b"whole")
        p.silence(0.03)


@timeline()
def uc_write(d, p):
    with Opened(d, p, kind="UC", access=e.IBV_ACCESS_REMOTE_WRITE) as q:
        q.post_recv()
        q.request("WRITE_ONLY", b"abc", [reth(d, 3, 100)], ackreq=0)
        q.request("WRITE_ONLY", b"bad", [reth(d, 3, rkey=1)], ackreq=0)
        q.request("SEND_ONLY", b"end", ackreq=0)
        q.completion()
        same(d.bytes(100, 3), b"abc")
        p.silence(0.03)


@timeline(*((kind, n) for kind in ("SEND", "WRITE")
            for n in (0, 1, 2, 3, 1024, 3001)))
def uc_emits(d, p, kind, n):
    with Opened(d, p, kind="UC", access=e.IBV_ACCESS_REMOTE_WRITE) as q:
        payload = data(n)
        d.fill(0, payload)
        remote = (0x1000, 0x77)
        q.post("RDMA_WRITE" if kind == "WRITE" else "SEND", 0, n, remote)
        take_message(p, q, kind, payload, q.spsn, remote=remote)
        q.completion()


@timeline(*((tail, n) for tail in ("", "_IMM") for n in (0, 1, 2, 3, 1000)))
def ud(d, p, tail, n):
    with Opened(d, p, kind="UD") as q:
        q.post_recv()
        payload = data(n)
        headers = [DETH(qkey=0x11111111, sqpn=0x321)]
        if tail:
            headers.append(ImmDt(imm=7))
        q.request("SEND_ONLY" + tail, payload, headers, ackreq=0)
        wc = q.completion()
        check(wc.byte_len == 40 + n, f"byte_len {wc.byte_len}")
        check(wc.src_qp == 0x321, f"src_qp {wc.src_qp:#x}")
        check(wc.wc_flags & e.IBV_WC_GRH, "no GRH")
        same(d.bytes(40, n), payload)
        grh = d.bytes(0, 40)
        if ":" in p.addrs[0]:
            check(grh[0] >> 4 == 6 and grh[6] == 17, "IPv6 header")
        else:
            check(grh[20] == 0x45 and roce.ip_sum_ok(grh[20:]), "IPv4 header")


@timeline("qkey", "rc_opcode", "no_receive", "too_long")
def ud_dropped(d, p, why):
    with Opened(d, p, kind="UD") as q:
        if why != "no_receive":
            q.post_recv(length=50 if why == "too_long" else 1000)
        deth = DETH(qkey=0x11111112 if why == "qkey" else 0x11111111, sqpn=9)
        if why == "rc_opcode":
            p.send(roce.layers(0x04, q.rpsn, q.qp.qp_num, payload=b"abcd"))
        else:
            q.request("SEND_ONLY", b"0123456789ab", [deth], ackreq=0)
        time.sleep(0.02)
        q.no_completion()
        p.silence(0.03)


@timeline(*((tail, n) for tail in ("", "_WITH_IMM")
            for n in (0, 1, 2, 3, 1024)))
def ud_emits(d, p, tail, n):
    with Opened(d, p, kind="UD") as q:
        payload = data(n)
        d.fill(0, payload)
        q.post("SEND" + tail, 0, n, imm=7)
        r = p.expect("UD_SEND_ONLY" + tail.replace("_WITH", ""), dqpn=q.dqpn,
                     migreq=1, ackreq=0)
        check((r.deth.qkey, r.deth.sqpn) == (0x11111111, q.qp.qp_num), "DETH")
        same(r.payload, payload)
        q.completion()


# -----------------------------------------------------------------------------

def run(device, peers, pattern):
    ran = broken = 0
    for name, fn, case in TIMELINES:
        for family, peer in peers:
            full = f"{family}.{name}"
            if (not any(p in f"wire.{full}" for p in pattern.split(",")) or
                    getattr(fn, "family", family) != family):
                continue
            ran += 1
            random.seed(full)
            try:
                fn(device, peer, *case)
            except (Broken, PyverbsError) as why:
                at = [f.lineno for f in traceback.extract_tb(why.__traceback__)
                      if f.filename.endswith("timelines.py")][-1]
                broken += 1
                print(f"not ok - wire.{full} # line {at}: {why}", flush=True)
            else:
                print(f"ok - wire.{full}", flush=True)
    return ran, broken


def main():
    if len(sys.argv) not in (7, 8):
        print(__doc__.strip())
        return 2
    device, netns, ifname, mac, dev_mac, pairs = sys.argv[1:7]
    pattern = sys.argv[7] if len(sys.argv) == 8 else ""
    peers = []
    for pair in pairs.split(";"):
        addrs = tuple(pair.split(","))
        peers.append(("v6" if ":" in pair else "v4",
                      Peer(netns, ifname, (mac, dev_mac), addrs)))
    ran, broken = run(Device(device), peers, pattern)
    sent = sum(p.sent for _, p in peers)
    received = sum(p.received for _, p in peers)
    print(f"timelines={ran} sent={sent} received={received}")
    if not ran:
        return 2
    return 1 if broken else 0


if __name__ == "__main__":
    assert ALL_ACCESS
    sys.exit(main())
