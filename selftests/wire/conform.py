# SPDX-License-Identifier: GPL-2.0
"""
The rules of RoCEv2 for every packet, and for packets in relation to others.
conform.Checker reads frames in the order of the wire; what breaks a rule is
noted as (packet number, rule, what was seen).
"""
from collections import Counter

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

import roce
from roce import (AETH, AtomicETH, BTH, DETH, ICRC, ICRC_LEN, OPS, RETH)

PSN_MASK = 0xffffff
HALF = 1 << 23


def psn_diff(a, b):
    d = (a - b) & PSN_MASK
    return d - (1 << 24) if d >= HALF else d


class Packet:
    """What the rules need of one frame."""

    def __init__(self, number, raw):
        self.number = number
        self.raw = raw
        eth = Ether(raw)
        self.ip = eth.getlayer(IP) or eth.getlayer(IPv6)
        self.l3 = raw[14:]
        self.udp = eth[UDP]
        self.bth = eth.getlayer(BTH)
        self.op = OPS.get(self.bth.opcode) if self.bth else None
        body = eth.getlayer(roce.Body)
        self.body = bytes(body.load) if body else b""
        tail = eth.getlayer(ICRC)
        self.icrc = tail.icrc if tail else None
        self.reth = eth.getlayer(RETH)
        self.aeth = eth.getlayer(AETH)
        self.atomic = eth.getlayer(AtomicETH)
        self.deth = eth.getlayer(DETH)
        self.layers = eth
        self.src, self.dst = self.ip.src, self.ip.dst

    @property
    def payload(self):
        return self.body[:len(self.body) - self.bth.pad]

    @property
    def psn(self):
        return self.bth.psn


class Stream:
    """Requests to one RC or UC QP, by PSN."""

    def __init__(self, key, mtu):
        self.key = key
        self.mtu = mtu
        self.first = None
        self.next = None            # PSN after the highest sent
        self.seen = {}              # PSN -> (opcode, payload hash)
        self.open = None            # message in progress: (kind, left)
        self.messages = []          # (first PSN, last PSN), in order
        self.reads = {}             # first PSN -> (last PSN, length)
        self.atomics = set()
        self.retransmits = 0
        self.replies = None

    def count_upto(self, psn):
        """Messages that are complete when all up to psn is."""
        n = self.counted
        while (n < len(self.messages) and
               psn_diff(self.messages[n][1], psn) <= 0):
            n += 1
        self.counted = n
        return n

    counted = 0


class Checker:
    """mtu: path MTU of the QPs. related=False: each packet by itself only."""

    def __init__(self, mtu, related=True):
        self.mtu = mtu
        self.related = related
        self.bad = []
        self.checked = 0
        self.other = 0
        self.by_op = Counter()
        self.by_rule = Counter()
        self.streams = {}
        self.pairs = {}
        self.replies = {}
        self.naks = Counter()

    def note(self, p, rule, seen):
        self.bad.append((p.number, rule, seen))

    def want(self, p, rule, good, seen=""):
        self.by_rule[rule] += 1
        if not good:
            self.note(p, rule, seen)
        return good

    # --- one packet alone ---------------------------------------------------

    def frame(self, number, raw):
        """Check one frame. Returns its Packet, None if it is no RoCEv2."""
        kind = raw[12:14]
        v4 = kind == b"\x08\x00" and raw[23] == 17
        v6 = kind == b"\x86\xdd" and raw[20] == 17
        at = 34 if v4 else 54
        if not (v4 or v6) or raw[at + 2:at + 4] != b"\x12\xb7":
            self.other += 1
            return None
        self.checked += 1
        p = Packet(number, raw)
        self.outer(p)
        if not self.want(p, "opcode_is_defined", p.op is not None,
                         f"opcode {raw[at + 8]:#x}"):
            return p
        self.by_op[str(p.op)] += 1
        if self.want(p, "headers_fit", p.icrc is not None):
            self.transport(p)
            self.sizes(p)
            self.want(p, "icrc", p.icrc == roce.icrc_of(p.l3),
                      f"{p.icrc:#x}, should be {roce.icrc_of(p.l3):#x}")
            if self.related:
                self.relate(p)
        return p

    def outer(self, p):
        ip, udp = p.ip, p.udp
        if isinstance(ip, IP):
            self.want(p, "ipv4_without_options", ip.ihl == 5)
            self.want(p, "ipv4_dont_fragment", str(ip.flags) == "DF" and
                      ip.frag == 0, f"flags {ip.flags} offset {ip.frag}")
            self.want(p, "ipv4_checksum", roce.ip_sum_ok(p.l3[:20]))
            self.want(p, "ip_length", ip.len == len(p.l3),
                      f"{ip.len} of {len(p.l3)}")
            self.want(p, "hop_limit_is_not_0", ip.ttl > 0)
        else:
            self.want(p, "ip_length", ip.plen + 40 == len(p.l3),
                      f"{ip.plen} of {len(p.l3) - 40}")
            self.want(p, "hop_limit_is_not_0", ip.hlim > 0)
        self.want(p, "udp_length", udp.len == len(udp), f"{udp.len}")
        self.want(p, "udp_source_port", udp.sport >= 0xc000, f"{udp.sport}")
        self.want(p, "udp_checksum", udp.chksum == 0 or
                  roce.udp_sum_of(p.l3) == 0xffff, f"{udp.chksum:#x}")

    def transport(self, p):
        bth = p.bth
        self.want(p, "header_version_0", bth.tver == 0)
        self.want(p, "default_pkey", bth.pkey == 0xffff, f"{bth.pkey:#x}")
        self.want(p, "reserved_bits_0", bth.resv6 == 0 and bth.resv7 == 0)
        self.want(p, "no_congestion_bits", bth.fecn == 0 and
                  (bth.becn == 0 or p.op.transport == "CNP"))
        self.want(p, "migreq_as_hardware", bth.migreq == 1)
        self.want(p, "qpn_is_one", bth.dqpn not in (0, 0xffffff) or
                  p.op.transport == "UD")
        self.want(p, "ackreq_in_requests_of_rc", not bth.ackreq or
                  (p.op.transport == "RC" and not p.op.response))
        self.want(p, "solicited_where_a_receive_ends", not bth.se or
                  (p.op.kind == "SEND" and p.op.ends) or
                  "IMM" in p.op.name)
        if p.deth:
            self.want(p, "reserved_bits_0", p.deth.resv == 0)
        if p.aeth:
            self.aeth_rules(p)

    def aeth_rules(self, p):
        a = p.aeth
        self.want(p, "syndrome_is_defined", a.resv == 0 and a.code != 2 and
                  (a.code != 3 or a.value <= 4), f"{a.code}.{a.value}")
        if p.op.kind != "ACKNOWLEDGE":
            self.want(p, "response_carries_ack", a.code == 0)
        elif a.code:
            self.naks[(a.code, a.value if a.code == 3 else 0)] += 1

    def sizes(self, p):
        pad = p.bth.pad
        self.want(p, "payload_and_pad_multiple_of_4", len(p.body) % 4 == 0,
                  f"{len(p.body)}")
        self.want(p, "pad_within_payload", pad <= len(p.body) and
                  (pad == 0 or pad < 4))
        self.want(p, "pad_is_zeros", not pad or
                  p.body[-pad:] == b"\0" * pad)
        self.want(p, "no_payload_here", p.op.payload or not p.body,
                  f"{len(p.body)} bytes")
        n = len(p.payload)
        if p.op.transport in ("CNP",) or not p.op.payload:
            return
        if p.op.place in ("first", "middle"):
            self.want(p, "full_packet", n == self.mtu and pad == 0,
                      f"{n} bytes at path MTU {self.mtu}")
        elif p.op.place == "last":
            self.want(p, "last_packet", 1 <= n <= self.mtu, f"{n} bytes")
        elif p.op.transport != "UD":
            self.want(p, "only_packet", n <= self.mtu, f"{n} bytes")
        if p.op.name == "ATOMIC_WRITE":
            self.want(p, "atomic_write_of_8", n == 8 and p.reth.dmalen == 8)

    # --- in relation to others ----------------------------------------------

    def relate(self, p):
        if p.op.transport not in ("RC", "UC"):
            return
        key = (p.src, p.dst, p.bth.dqpn, p.op.transport)
        if p.op.response:
            self.response(p, key)
        else:
            self.request(p, key)

    def request(self, p, key):
        s = self.streams.get(key)
        if s is None:
            s = self.streams[key] = Stream(key, self.mtu)
            s.first = s.next = p.psn
        ahead = psn_diff(p.psn, s.next)
        same = (p.bth.opcode, hash(p.payload))
        if ahead < 0:
            s.retransmits += 1
            before = s.seen.get(p.psn)
            if p.op.kind == "READ_REQUEST" and (before is None or
                                                before[0] != p.bth.opcode):
                self.read_again(p, s)
            else:
                self.want(p, "retransmission_is_the_same", before is None or
                          before == same, f"{p.op} for {before}")
            return
        gap_ok = p.op.transport == "UC"
        if not self.want(p, "psn_is_next", ahead == 0 or gap_ok,
                         f"{p.psn}, expected {s.next}"):
            s.open = None
        s.seen[p.psn] = same
        if len(s.seen) > 20000:
            for psn in list(s.seen)[:10000]:
                del s.seen[psn]
        self.sequence(p, s)
        s.next = (p.psn + self.psns(p)) & PSN_MASK

    def psns(self, p):
        if p.op.kind != "READ_REQUEST":
            return 1
        return max(1, -(-p.reth.dmalen // self.mtu))

    def read_again(self, p, s):
        for first, (last, length, va) in s.reads.items():
            off = psn_diff(p.psn, first) * self.mtu
            if off >= 0 and psn_diff(p.psn, last) <= 0:
                self.want(p, "rest_of_a_read", p.reth.va == va + off and
                          p.reth.dmalen == length - off)
                return
        self.want(p, "rest_of_a_read", len(s.seen) > 9000, "of none")

    def sequence(self, p, s):
        op, n = p.op, len(p.payload)
        if op.starts:
            self.want(p, "message_ends_before_next", s.open is None)
            s.open = None
            start = p.psn
        elif not self.want(p, "message_began", s.open is not None and
                           s.open[0] == op.kind, f"{op} in {s.open}"):
            return
        else:
            start = s.open[2]
        left = None
        if op.kind == "WRITE":
            left = p.reth.dmalen if op.starts else s.open[1]
            left -= n
            self.want(p, "write_length", left == 0 if op.ends else left > 0,
                      f"{left} left")
        s.open = None if op.ends else (op.kind, left, start)
        if op.ends:
            last = (p.psn + self.psns(p) - 1) & PSN_MASK
            s.messages.append((start, last))
            if op.kind == "READ_REQUEST":
                s.reads[p.psn] = (last, p.reth.dmalen, p.reth.va)
            if p.atomic:
                self.want(p, "atomic_aligned", p.atomic.va % 8 == 0)
                s.atomics.add(p.psn)

    # --- responses ----------------------------------------------------------

    def stream_of(self, p, key):
        """Which requests does a response answer? The QP numbers of the two
        directions are not in one packet: the one whose PSNs fit."""
        s = self.pairs.get(key)
        if s is not None and psn_diff(p.psn, s.next) <= 0:
            return s
        fit = [t for t in self.streams.values()
               if t.key[:2] == (p.dst, p.src) and t.key[3] == "RC" and
               psn_diff(p.psn, t.first) >= 0 and
               psn_diff(p.psn, t.next) <= 0 and
               t.replies in (None, key)]
        if len(fit) != 1:
            return None
        fit[0].replies = key
        self.pairs[key] = fit[0]
        return fit[0]

    def response(self, p, key):
        s = self.stream_of(p, key)
        if not self.want(p, "answers_a_request", s is not None,
                         f"{p.op} PSN {p.psn}"):
            return
        state = self.replies.setdefault(key, {"reading": None, "acked": None})
        nak = p.aeth is not None and p.aeth.code != 0
        self.want(p, "psn_was_sent", psn_diff(p.psn, s.next) < (1 if nak
                                                               else 0),
                  f"{p.psn}, sent up to {s.next}")
        if p.op.kind == "READ_RESPONSE":
            self.read_response(p, s, state)
        elif p.op.kind == "ATOMIC_ACKNOWLEDGE":
            self.want(p, "answers_an_atomic", p.psn in s.atomics)
        if p.op.kind != "READ_RESPONSE":
            self.msn(p, s, nak, state)

    def msn(self, p, s, nak, state):
        """MSN counts the messages completed (9.7.7.1)."""
        upto = (p.psn - 1) & PSN_MASK if nak else p.psn
        behind = (state["acked"] is not None and
                  psn_diff(upto, state["acked"]) < 0)
        if behind:
            # a repeated answer: the count of then, which is not kept here
            self.by_rule["repeated_answer"] += 1
            return
        state["acked"] = upto
        n = s.count_upto(upto)
        self.want(p, "msn_counts_messages", p.aeth.msn == n & PSN_MASK,
                  f"{p.aeth.msn}, completed {n}")

    def read_response(self, p, s, state):
        reading = state["reading"]
        if p.op.starts:
            found = None
            for first, (last, length, _) in s.reads.items():
                off = psn_diff(p.psn, first) * self.mtu
                if off >= 0 and psn_diff(p.psn, last) <= 0:
                    found = [p.psn, last, length - off]
            if not self.want(p, "answers_a_read", found is not None,
                             f"PSN {p.psn}"):
                state["reading"] = None
                return
            reading = state["reading"] = found
        elif not self.want(p, "read_response_began", reading is not None):
            return
        self.want(p, "read_response_psn", p.psn == reading[0],
                  f"{p.psn}, expected {reading[0]}")
        reading[2] -= len(p.payload)
        self.want(p, "read_response_length",
                  (reading[2] == 0 and p.psn == reading[1]) if p.op.ends
                  else reading[2] > 0, f"{reading[2]} left")
        reading[0] = (p.psn + 1) & PSN_MASK
        if p.op.ends:
            state["reading"] = None
        if p.op.ends and p.aeth:
            self.msn(p, s, False, state)
