# SPDX-License-Identifier: GPL-2.0
"""
Two ends for timelines: Peer, which is nothing but frames on a packet socket in
one namespace, and Device, the driver under test, used by pyverbs in another.
The peer's address is on no interface, so no stack answers in its place.
"""
import ctypes
import ipaddress
import os
import random
import select
import socket
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

import conform
import roce

PATIENCE = 5.0                  # s for what must come, on a busy machine
CLONE_NEWNET = 0x40000000
# of the kernel, not in Python's socket module
SOL_UDP, UDP_SEGMENT, IPV6_FREEBIND = 17, 103, 78
ALL_ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE |
              e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC)


class Broken(Exception):
    """An expectation that did not hold."""


def enter_netns(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {path}")
    finally:
        os.close(fd)


def gid_text(addr):
    """An address as pyverbs writes a GID."""
    if ":" not in addr:
        addr = f"::ffff:{addr}"
    return ipaddress.IPv6Address(addr).exploded


def check(good, what):
    if not good:
        raise Broken(what)


class Peer:
    """The far end: sends and receives frames, checks each that comes."""

    def __init__(self, netns, ifname, macs, addrs):
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        enter_netns(netns)
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                  socket.htons(3))
        self.sock.bind((ifname, 0))
        self.udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.udp.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        enter_netns(f"/proc/self/fd/{home}")
        os.close(home)
        self.macs = macs            # (ours, the device's)
        self.addrs = addrs          # (ours, the device's)
        self.sport = 0xc123
        self.sent = self.received = 0
        self.ip_id = 1
        self.checker = None
        self.last = None            # PSN and opcode of the last one expected

    def start(self, mtu):
        """Before a timeline: forget what came late."""
        self.checker = conform.Checker(mtu, related=False)
        self.last = None
        while select.select([self.sock], [], [], 0)[0]:
            self.sock.recv(65536)

    def send(self, body, addrs=None, tos=0, cut=0, **kw):
        self.ip_id = (self.ip_id + 1) & 0xffff
        raw = roce.frame(self.macs, addrs or self.addrs, self.sport, body,
                         ip_id=self.ip_id, tos=tos, **kw)
        self.sock.send(raw[:len(raw) - cut])
        self.sent += 1

    def send_merged(self, bodies):
        """
        Packets of equal length that arrive in one skb (IPv6: the stack numbers
        those of IPv4 itself).
        """
        head = 14 + 40 + 8
        parts = [roce.frame(self.macs, self.addrs, self.sport, body)[head:]
                 for body in bodies]
        if self.udp.getsockname()[1] == 0:
            self.udp.bind((self.addrs[0], self.sport))
        self.udp.setsockopt(SOL_UDP, UDP_SEGMENT, len(parts[0]))
        self.udp.sendto(b"".join(parts), (self.addrs[1], roce.PORT))
        self.sent += len(parts)

    def next(self, seconds):
        """The next RoCE packet of the device, None if none comes in time."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            if left < 0 or not select.select([self.sock], [], [], left)[0]:
                return None
            raw, where = self.sock.recvfrom(65536)
            if where[2] == socket.PACKET_OUTGOING:
                continue
            p = self.checker.frame(self.received + 1, raw)
            if p is None or p.src != self.addrs[1]:
                continue
            self.received += 1
            check(not self.checker.bad, f"broken rule: {self.checker.bad}")
            return p

    def expect(self, name, what="", **fields):
        """
        The next packet must be this one; fields are of BTH and AETH. The
        request before may come once more: on a busy machine our answer was
        late, and the device asked.
        """
        p = self.next(PATIENCE)
        while (p is not None and not p.op.response and "psn" in fields and
               p.psn != fields["psn"] and (p.psn, str(p.op)) == self.last):
            p = self.next(PATIENCE)
        check(p is not None, f"no {name} {what}")
        check(str(p.op) == name, f"{p.op} PSN {p.psn} instead of {name} {what}")
        for field, value in fields.items():
            layer = p.bth if field in ("psn", "dqpn", "ackreq", "se",
                                       "migreq") else p.aeth
            seen = getattr(layer, field)
            check(seen == value, f"{name} {what}: {field} is {seen}, "
                                 f"want {value}")
        self.last = (p.psn, name)
        return p

    def silence(self, seconds=0.15, what=""):
        p = self.next(seconds)
        check(p is None, f"unexpected {p and p.op} {what}")


class Link:
    """One QP of the device, connected to the peer."""

    def __init__(self, device, peer, kind="RC", mtu=1024, psn=None, qpn=None,
                 access=ALL_ACCESS, rnr_timer=12, timeout=17, retry=3,
                 rnr_retry=2, recv_buffer=4096, rd_atomic=4):
        self.device, self.peer, self.kind = device, peer, kind
        self.dqpn = qpn or random.randrange(2, 0xfffffe)
        self.psn = random.randrange(1 << 24) if psn is None else psn
        # what the device expects next, and what it sends first
        self.rpsn = self.psn
        self.spsn = (self.psn + 0x100000) & 0xffffff
        self.mtu = mtu
        self.recv_buffer = recv_buffer
        self.cq = CQ(device.ctx, 64)
        cap = QPCap(max_send_wr=32, max_recv_wr=32, max_send_sge=4,
                    max_recv_sge=4, max_inline_data=0)
        qp_type = getattr(e, f"IBV_QPT_{kind}")
        self.qp = QP(device.pd, QPInitAttr(qp_type=qp_type, scq=self.cq,
                                           rcq=self.cq, cap=cap, sq_sig_all=1))
        attr = QPAttr(port_num=1)
        attr.sq_psn, attr.rq_psn = self.spsn, self.rpsn
        if kind == "UD":
            attr.qkey = 0x11111111
            self.qp.to_rts(attr)
            self.peer.start(mtu)
            return
        attr.qp_access_flags = access
        attr.path_mtu = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}[mtu]
        attr.dest_qp_num = self.dqpn
        attr.max_rd_atomic = attr.max_dest_rd_atomic = rd_atomic
        attr.min_rnr_timer = rnr_timer
        attr.timeout, attr.retry_cnt, attr.rnr_retry = timeout, retry, rnr_retry
        attr.ah_attr = device.ah_attr(peer.addrs)
        self.qp.to_rts(attr)
        self.peer.start(mtu)

    def close(self):
        self.qp.close()
        self.cq.close()

    # --- the peer's packets to this QP --------------------------------------

    def request(self, name, payload=b"", headers=(), psn=None, move=True,
                ackreq=1, wire=None, **bth):
        """Send a request with the next PSN, or a given one."""
        body = roce.layers(roce.NUMBER[f"{self.kind}_{name}"],
                           self.rpsn if psn is None else psn, self.qp.qp_num,
                           headers, payload, ackreq=ackreq, **bth)
        self.peer.send(body, **(wire or {}))
        if psn is None and move:
            self.rpsn = (self.rpsn + 1) & 0xffffff

    def respond(self, name, psn, msn, code=0, value=31, headers=None,
                payload=b"", wire=None, **bth):
        if headers is None:
            headers = [roce.AETH(code=code, value=value, msn=msn)]
        self.peer.send(roce.layers(roce.NUMBER[f"RC_{name}"], psn,
                                   self.qp.qp_num, headers, payload, **bth),
                       **(wire or {}))

    def ack(self, psn, msn, code=0, value=31, **kw):
        self.respond("ACKNOWLEDGE", psn, msn, code, value, **kw)

    # --- the device's work --------------------------------------------------

    def post_recv(self, n=1, offset=0, length=None, lkey=None):
        mr = self.device.mr
        for i in range(n):
            sge = SGE(mr.buf + offset, self.recv_buffer if length is None
                      else length, mr.lkey if lkey is None else lkey)
            self.qp.post_recv(RecvWR(wr_id=100 + i, sg=[sge], num_sge=1))

    def post(self, opcode, offset=0, length=0, remote=(0x1000, 0x77),
             atomic=(0, 0), imm=None, wr_id=1):
        mr = self.device.mr
        sge = SGE(mr.buf + offset, length, mr.lkey)
        wr = SendWR(wr_id=wr_id, opcode=getattr(e, f"IBV_WR_{opcode}"),
                    num_sge=1, sg=[sge], imm_data=imm or 0)
        wr.send_flags = e.IBV_SEND_SIGNALED
        if opcode.startswith("RDMA"):
            wr.set_wr_rdma(remote[1], remote[0])
        elif opcode.startswith("ATOMIC"):
            wr.set_wr_atomic(remote[1], remote[0], *atomic)
        elif self.kind == "UD":
            wr.set_wr_ud(self.device.ah(self.peer.addrs), self.dqpn,
                         0x11111111)
        self.qp.post_send(wr)

    def completion(self, status="SUCCESS", seconds=PATIENCE):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            n, wcs = self.cq.poll(1)
            if n:
                want = getattr(e, f"IBV_WC_{status}")
                check(wcs[0].status == want, f"completion with status "
                      f"{wcs[0].status}, want {status}")
                return wcs[0]
            time.sleep(0.001)
        raise Broken(f"no completion ({status})")

    def no_completion(self):
        n, wcs = self.cq.poll(1)
        check(n == 0, f"unexpected completion, status "
                      f"{wcs and wcs[0].status}")


class Device:
    """The driver under test and one region of memory."""

    SIZE = 65536

    def __init__(self, name):
        self.name = name
        self.ctx = Context(name=name)
        self.pd = PD(self.ctx)
        self.mr = MR(self.pd, self.SIZE, ALL_ACCESS)
        self.read_only = MR(self.pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)
        self.ahs = {}

    def gid_index(self, addr):
        want = gid_text(addr)
        for i in range(16):
            kind = (f"/sys/class/infiniband/{self.name}/ports/1/gid_attrs/"
                    f"types/{i}")
            try:
                with open(kind, encoding="ascii") as f:
                    if "v2" not in f.read():
                        continue
            except OSError:
                continue
            if self.ctx.query_gid(1, i).gid == want:
                return i
        raise Broken(f"no GID for {addr}")

    def ah_attr(self, addrs):
        gr = GlobalRoute(dgid=GID(gid_text(addrs[0])), hop_limit=64,
                         sgid_index=self.gid_index(addrs[1]))
        return AHAttr(gr=gr, is_global=1, port_num=1)

    def ah(self, addrs):
        if addrs not in self.ahs:
            self.ahs[addrs] = AH(self.pd, attr=self.ah_attr(addrs))
        return self.ahs[addrs]

    def counter(self, name):
        path = f"/sys/class/infiniband/{self.name}/ports/1/hw_counters/{name}"
        with open(path, encoding="ascii") as f:
            return int(f.read())

    def fill(self, offset, data):
        self.mr.write(data, len(data), offset)

    def bytes(self, offset, length):
        return bytes(self.mr.read(length, offset))

    def addr(self, offset=0):
        return self.mr.buf + offset
