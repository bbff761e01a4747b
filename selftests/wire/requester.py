# SPDX-License-Identifier: GPL-2.0
"""Timelines of the device as requester."""
import time

import roce
from peer import check
from roce import AETH
from script import (NAK_ACCESS, NAK_INVALID, NAK_OPERATION, NAK_SEQ, Opened,
                    data, number, same, take_message, timeline)

import pyverbs.enums as e

# --- the device as requester ------------------------------------------------

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
