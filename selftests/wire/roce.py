# SPDX-License-Identifier: GPL-2.0
"""
RoCEv2 packets for scapy, written from the InfiniBand specification (volume 1
release 1.4, chapters 5 and 9, annexes A17 and A19) and from nothing in the
driver: what both get wrong in the same way no test would find.

A packet is Ether / IP or IPv6 / UDP(dport=4791) / BTH / extension headers /
Raw(payload and pad) / ICRC. Dissecting one gives these layers; seal() turns
layers into the bytes of a frame with its iCRC and UDP checksum in place.
"""
import struct
import zlib

from scapy.fields import (BitField, ByteField, IntField, LEIntField, LongField,
                          StrField, XByteField, XIntField, XLongField, XShortField)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw, bind_layers

PORT = 4791
ICRC_LEN = 4


class Op:
    """An opcode: its name, headers behind the BTH, and place in a message."""

    def __init__(self, transport, name, headers, place, payload):
        self.transport = transport
        self.name = name
        self.headers = headers
        self.place = place          # only, first, middle, last
        self.payload = payload      # may payload follow?

    def __str__(self):
        return f"{self.transport}_{self.name}"

    @property
    def starts(self):
        return self.place in ("only", "first")

    @property
    def ends(self):
        return self.place in ("only", "last")

    @property
    def kind(self):
        for kind in ("SEND", "WRITE", "READ_RESPONSE", "READ_REQUEST"):
            if self.name.startswith(kind):
                return kind
        return self.name

    @property
    def response(self):
        return self.kind in ("READ_RESPONSE", "ACKNOWLEDGE",
                             "ATOMIC_ACKNOWLEDGE")


# Table 38 of the specification (9.2.1) and annex A19; numbers are of RC.
_RC = {
    0x00: ("SEND_FIRST", "", "first", True),
    0x01: ("SEND_MIDDLE", "", "middle", True),
    0x02: ("SEND_LAST", "", "last", True),
    0x03: ("SEND_LAST_IMM", "ImmDt", "last", True),
    0x04: ("SEND_ONLY", "", "only", True),
    0x05: ("SEND_ONLY_IMM", "ImmDt", "only", True),
    0x06: ("WRITE_FIRST", "RETH", "first", True),
    0x07: ("WRITE_MIDDLE", "", "middle", True),
    0x08: ("WRITE_LAST", "", "last", True),
    0x09: ("WRITE_LAST_IMM", "ImmDt", "last", True),
    0x0a: ("WRITE_ONLY", "RETH", "only", True),
    0x0b: ("WRITE_ONLY_IMM", "RETH ImmDt", "only", True),
    0x0c: ("READ_REQUEST", "RETH", "only", False),
    0x0d: ("READ_RESPONSE_FIRST", "AETH", "first", True),
    0x0e: ("READ_RESPONSE_MIDDLE", "", "middle", True),
    0x0f: ("READ_RESPONSE_LAST", "AETH", "last", True),
    0x10: ("READ_RESPONSE_ONLY", "AETH", "only", True),
    0x11: ("ACKNOWLEDGE", "AETH", "only", False),
    0x12: ("ATOMIC_ACKNOWLEDGE", "AETH AtomicAckETH", "only", False),
    0x13: ("COMPARE_SWAP", "AtomicETH", "only", False),
    0x14: ("FETCH_ADD", "AtomicETH", "only", False),
    0x16: ("SEND_LAST_INV", "IETH", "last", True),
    0x17: ("SEND_ONLY_INV", "IETH", "only", True),
    0x1c: ("FLUSH", "FETH RETH", "only", False),
    0x1d: ("ATOMIC_WRITE", "RETH", "only", True),
}

OPS = {n: Op("RC", *row[:1], row[1].split(), *row[2:])
       for n, row in _RC.items()}
OPS.update({0x20 + n: Op("UC", row[0], row[1].split(), *row[2:])
            for n, row in _RC.items() if n <= 0x0b})
OPS[0x64] = Op("UD", "SEND_ONLY", ["DETH"], "only", True)
OPS[0x65] = Op("UD", "SEND_ONLY_IMM", ["DETH", "ImmDt"], "only", True)
OPS[0x81] = Op("CNP", "CNP", [], "only", True)

NUMBER = {str(op): n for n, op in OPS.items()}


class _Chained(Packet):
    """Which header follows is told by the BTH's opcode."""

    def guess_payload_class(self, payload):
        bth = self
        behind = 0
        while not isinstance(bth, BTH):
            bth = bth.underlayer
            behind += 1
            if bth is None:
                return Raw
        op = OPS.get(bth.opcode)
        if op is None or behind >= len(op.headers):
            return Body
        return HEADERS[op.headers[behind]]


class BTH(_Chained):
    name = "BTH"
    fields_desc = [
        XByteField("opcode", 0),
        BitField("se", 0, 1),
        BitField("migreq", 1, 1),
        BitField("pad", 0, 2),
        BitField("tver", 0, 4),
        XShortField("pkey", 0xffff),
        BitField("fecn", 0, 1),
        BitField("becn", 0, 1),
        BitField("resv6", 0, 6),
        BitField("dqpn", 0, 24),
        BitField("ackreq", 0, 1),
        BitField("resv7", 0, 7),
        BitField("psn", 0, 24),
    ]


class RETH(_Chained):
    name = "RETH"
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0),
                   IntField("dmalen", 0)]


class AtomicETH(_Chained):
    name = "AtomicETH"
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0),
                   LongField("swap_add", 0), LongField("compare", 0)]


class AETH(_Chained):
    name = "AETH"
    fields_desc = [BitField("resv", 0, 1), BitField("code", 0, 2),
                   BitField("value", 0, 5), BitField("msn", 0, 24)]


class AtomicAckETH(_Chained):
    name = "AtomicAckETH"
    fields_desc = [LongField("orig", 0)]


class DETH(_Chained):
    name = "DETH"
    fields_desc = [XIntField("qkey", 0), ByteField("resv", 0),
                   BitField("sqpn", 0, 24)]


class ImmDt(_Chained):
    name = "ImmDt"
    fields_desc = [XIntField("imm", 0)]


class IETH(_Chained):
    name = "IETH"
    fields_desc = [XIntField("rkey", 0)]


class FETH(_Chained):
    name = "FETH"
    fields_desc = [BitField("resv", 0, 26), BitField("level", 0, 2),
                   BitField("placement", 0, 4)]


class ICRC(Packet):
    name = "ICRC"
    fields_desc = [LEIntField("icrc", 0)]


class _AllButICRC(StrField):
    def getfield(self, pkt, s):
        return s[-ICRC_LEN:], s[:-ICRC_LEN]


class Body(Packet):
    """Payload and pad: all but the last four bytes, which are the iCRC."""

    name = "Body"
    fields_desc = [_AllButICRC("load", b"")]

    def guess_payload_class(self, payload):
        return ICRC


HEADERS = {c.__name__: c for c in (RETH, AtomicETH, AETH, AtomicAckETH, DETH,
                               ImmDt, IETH, FETH)}
bind_layers(UDP, BTH, dport=PORT)


def _ones(buf, at, n=1):
    buf[at:at + n] = b"\xff" * n


def icrc_of(l3):
    """iCRC (annex A17.3.3) of bytes that begin with the IP header and end
    with the place of the iCRC; what routers change counts as ones."""
    buf = bytearray(l3[:-ICRC_LEN])
    if buf[0] >> 4 == 4:
        hlen = (buf[0] & 15) * 4
        _ones(buf, 1)           # type of service
        _ones(buf, 8)           # time to live
        _ones(buf, 10, 2)       # header checksum
    else:
        hlen = 40
        buf[0] |= 0x0f          # traffic class
        _ones(buf, 1, 3)        # traffic class, flow label
        _ones(buf, 7)           # hop limit
    _ones(buf, hlen + 6, 2)     # UDP checksum
    _ones(buf, hlen + 8 + 4)    # BTH: FECN, BECN, reserved
    # eight bytes of ones stand for a local route header
    return zlib.crc32(bytes(buf), zlib.crc32(b"\xff" * 8))


def _sum16(data):
    if len(data) & 1:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def ip_sum_ok(header):
    return _sum16(bytes(header)) == 0xffff


def udp_sum_of(l3):
    """Sum over pseudo header and datagram; 0xffff if its checksum is right."""
    if l3[0] >> 4 == 4:
        hlen = (l3[0] & 15) * 4
        pseudo = l3[12:20] + struct.pack("!HH", 17, len(l3) - hlen)
    else:
        hlen = 40
        pseudo = l3[8:40] + struct.pack("!II", len(l3) - hlen, 17)
    return _sum16(bytes(pseudo) + bytes(l3[hlen:]))


def layers(opcode, psn, dqpn, headers=(), payload=b"", **bth):
    """BTH, headers, payload with its pad, and room for the iCRC."""
    pad = -len(payload) % 4
    fields = {"opcode": opcode, "psn": psn & 0xffffff, "dqpn": dqpn,
              "pad": pad}
    fields.update(bth)
    pkt = BTH(**fields)
    for header in headers:
        pkt = pkt / header
    return pkt / Raw(payload + b"\0" * pad) / ICRC()


def seal(pkt, checksum=False, icrc_xor=0):
    """The bytes of a frame; icrc_xor makes its iCRC wrong."""
    pkt[UDP].chksum = 0
    frame = bytearray(bytes(pkt))
    l3 = 14
    at = len(frame) - ICRC_LEN
    struct.pack_into("<I", frame, at, icrc_of(frame[l3:]) ^ icrc_xor)
    if checksum:
        hlen = 20 if frame[l3] >> 4 == 4 else 40
        value = 0xffff - udp_sum_of(bytes(frame[l3:]))
        struct.pack_into("!H", frame, l3 + hlen + 6, value or 0xffff)
    return bytes(frame)


def frame(macs, addrs, sport, body, ip_id=1, tos=0, **kw):
    """macs and addrs are (source, destination); body is of layers()."""
    if ":" in addrs[0]:
        l3 = IPv6(src=addrs[0], dst=addrs[1], hlim=64, tc=tos)
    else:
        l3 = IP(src=addrs[0], dst=addrs[1], id=ip_id, flags="DF", ttl=64,
                tos=tos)
    pkt = Ether(src=macs[0], dst=macs[1]) / l3 / \
        UDP(sport=sport, dport=PORT) / body
    return seal(pkt, **kw)
