# SPDX-License-Identifier: GPL-2.0
"""Timelines of UC and UD."""
import time

import roce
from peer import check
from roce import DETH, ImmDt
from script import Opened, data, reth, same, take_message, timeline

import pyverbs.enums as e

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
