# SPDX-License-Identifier: GPL-2.0
"""Timelines in which the device's own stack holds what it sent, for a while."""
import os
import re
import subprocess
import time

from peer import PATIENCE, check
from script import NAK_SEQ, Opened, timeline

STACK_QP_MAX = 256 * 1024       # RSOFT_STACK_QP_MAX
# one super-packet each, so that the stack is full between messages only
LEN = 16384
PACKETS = LEN // 1024


def run(*words):
    return subprocess.run(words, check=True, capture_output=True,
                          text=True).stdout


class Stalled:
    """
    with Stalled(p): nobody knows the peer's MAC address, and what is sent to it
    waits in the neighbour's queue, still charged to the QP. At the end it leaves.
    """

    def __init__(self, p):
        self.netns, self.ifname = os.environ["DEVICE_NETNS"], os.environ["DEVICE_IF"]
        self.addr, self.mac = p.addrs[0], p.macs[0]
        self.family = "ipv6" if ":" in self.addr else "ipv4"

    def set(self, name, value):
        run("ip", "netns", "exec", self.netns, "sysctl", "-q",
            f"net.{self.family}.neigh.{self.ifname}.{name}={value}")

    def neigh(self, *words):
        run("ip", "-n", self.netns, "neigh", words[0], self.addr, *words[1:],
            "dev", self.ifname)

    def __enter__(self):
        self.set("unres_qlen_bytes", 4 << 20)
        self.set("mcast_solicit", 1000)
        self.neigh("del")
        return self

    def __exit__(self, *_):
        self.neigh("replace", "lladdr", self.mac, "nud", "permanent")


def details(d, q):
    """The driver's details of a QP, as numbers."""
    text = run("rdma", "-dd", "resource", "show", "qp", "link", f"{d.name}/1",
               "lqpn", str(q.qp.qp_num))
    return {k: int(v) for k, v in re.findall(r"drv_(\w+) (\d+)", text)}


def wait_for(d, q, what, good):
    end = time.monotonic() + PATIENCE
    seen = details(d, q)
    while not good(seen):
        check(time.monotonic() < end, f"{what}: {seen}")
        seen = details(d, q)
    return seen


def learn_that_it_keeps(p, q):
    """One of four is lost, the peer has the others. Returns the next PSN."""
    for i in range(4):
        q.post("SEND", 0, 10, wr_id=i)
    for i in range(4):
        p.expect("RC_SEND_ONLY", psn=(q.spsn + i) & 0xffffff)
    q.ack(q.spsn, 0, code=3, value=NAK_SEQ)
    p.expect("RC_SEND_ONLY", "again", psn=q.spsn)
    q.ack((q.spsn + 2) & 0xffffff, 3)
    q.ack((q.spsn + 3) & 0xffffff, 4)
    for i in range(4):
        check(q.completion().wr_id == i, "order")
    return (q.spsn + 4) & 0xffffff


def fill_the_stack(d, q):
    """SENDs until the stack holds as much as it may, the last of them whole."""
    for i in range(24):
        q.post("SEND", 0, LEN, wr_id=i)
        seen = wait_for(d, q, "not sent", lambda s: not s["sq_unsent"])
        if seen["stack_bytes"] > STACK_QP_MAX:
            return i + 1
    check(False, f"the stack holds {seen['stack_bytes']} only")
    return 0


@timeline()
def ack_before_the_repair_left(d, p):
    """
    An RNR NAK has all sent again, of which the stack takes a part. A sequence NAK;
    the ACK timer fires while the repair waits; an ACK for all that the repair was to
    send. What then gets no answer is asked for.
    """
    with Opened(d, p, timeout=19, retry=7) as q:
        psn = learn_that_it_keeps(p, q)
        with Stalled(p):
            sent = fill_the_stack(d, q)
            q.ack(psn, 4, code=1, value=1)
            wait_for(d, q, "sent again", lambda s: s["req_tx_wait"])
            # it acknowledges the first, so that nothing was asked for since
            q.ack((psn + PACKETS) & 0xffffff, 5, code=3, value=NAK_SEQ)
            wait_for(d, q, "no repair, or no end of the timer",
                     lambda s: s["req_repair"] and not s["req_ack_timer"])
            q.ack((psn + 3 * PACKETS - 1) & 0xffffff, 7)
            for i in range(3):
                check(q.completion().wr_id == i, "order")
        una = (psn + 3 * PACKETS) & 0xffffff
        times = 0
        while times < 2:
            r = p.next(PATIENCE)
            check(r is not None, f"PSN {una:#x} came {times} times, then silence")
            times += r.psn == una
        q.ack((psn + sent * PACKETS - 1) & 0xffffff, 4 + sent)
        for i in range(3, sent):
            check(q.completion().wr_id == i, "order")
