# SPDX-License-Identifier: GPL-2.0
"""What timelines are made of, and the list of them."""
import random

from peer import Link, check
from roce import AtomicETH, ImmDt, RETH

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


def reth(d, n, offset=0, rkey=None):
    return RETH(va=d.addr(offset), rkey=d.mr.rkey if rkey is None else rkey,
                dmalen=n)


def atomic(d, swap_add, compare=0, offset=0, rkey=None):
    return AtomicETH(va=d.addr(offset), swap_add=swap_add, compare=compare,
                     rkey=d.mr.rkey if rkey is None else rkey)


def number(d, offset=0):
    return int.from_bytes(d.bytes(offset, 8), "little")


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
