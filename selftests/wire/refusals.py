# SPDX-License-Identifier: GPL-2.0
"""Timelines of the device as responder: requests refused or dropped."""
import roce
from peer import check
from roce import AETH, IETH, RETH
from script import (NAK_ACCESS, NAK_INVALID, NAK_OPERATION, Opened, atomic,
                    data, reth, timeline)

import pyverbs.enums as e

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
