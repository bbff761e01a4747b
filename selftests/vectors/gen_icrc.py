#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Generate drivers/rdma_soft/tests/icrc_vectors.h.

Whole packets, from the IP header to the iCRC, that the KUnit suite recomputes.
They owe nothing to the driver: the iCRC is computed here from the wire image
with zlib, and each IPv4 packet is built a second time by scapy's RoCE layer
(python3-scapy), which must agree; its layer has no IPv6. One packet was
captured on hardware.

  gen_icrc.py           print the header
  gen_icrc.py --write   write it to its place
  gen_icrc.py --check   exit 1 if the file in the tree differs
"""

import ipaddress
import os
import random
import struct
import sys
import zlib

try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP, UDP
    from scapy.packet import Raw
except ImportError:
    sys.exit("gen_icrc.py: no scapy here; run: apt-get install python3-scapy")

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "../../drivers/rdma_soft/tests/icrc_vectors.h")

# name, opcode, bytes of extension headers
OPCODES = [
    ("rc_send_only", 0x04, 0),
    ("rc_send_middle", 0x01, 0),
    ("rc_send_last_imm", 0x03, 4),
    ("rc_send_only_inv", 0x17, 4),
    ("rc_write_first", 0x06, 16),
    ("rc_write_only_imm", 0x0b, 20),
    ("rc_read_resp_last", 0x0f, 4),
    ("uc_send_only", 0x24, 0),
    ("uc_write_only", 0x2a, 16),
    ("ud_send_only", 0x64, 8),
    ("ud_send_only_imm", 0x65, 12),
]
# The same for packets that have no payload.
BARE = [
    ("rc_read_req", 0x0c, 16),
    ("rc_ack", 0x11, 4),
    ("rc_atomic_ack", 0x12, 12),
    ("rc_fetch_add", 0x14, 28),
    ("rc_flush", 0x1c, 20),
]


def checksum(data):
    """Internet checksum of an even number of bytes."""
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def icrc_of(wire):
    """iCRC of a packet that starts at the IP header and lacks its iCRC."""
    img = bytearray(wire)
    if img[0] >> 4 == 4:
        img[1] = img[8] = 0xff                  # type of service, TTL
        img[10:12] = b"\xff\xff"                # header checksum
        udp = 20
    else:
        img[0] |= 0x0f                          # traffic class, flow label
        img[1:4] = b"\xff\xff\xff"
        img[7] = 0xff                           # hop limit
        udp = 40
    img[udp + 6:udp + 8] = b"\xff\xff"          # UDP checksum
    img[udp + 8 + 4] = 0xff                     # FECN, BECN, reserved
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(img)))


def ip_header(p, length):
    """Outer header for `length` bytes of UDP datagram."""
    src = ipaddress.ip_address(p["src"])
    dst = ipaddress.ip_address(p["dst"])
    if src.version == 6:
        return struct.pack("!IHBB", 6 << 28 | p["tos"] << 20 | p["label"],
                           length, 17, p["ttl"]) + src.packed + dst.packed
    head = struct.pack("!BBHHHBBH", 0x45, p["tos"], 20 + length, p["id"],
                       0x4000 if p["df"] else 0, p["ttl"], 17, 0)
    head += src.packed + dst.packed
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:]


def build(p):
    """The packet on the wire."""
    bth = struct.pack("!BBHII", p["opcode"], p["flags"], 0xffff,
                      p["ecn"] << 30 | p["qpn"],
                      p["ackreq"] << 31 | p["psn"])
    body = bth + p["rest"]
    udp = struct.pack("!HHHH", p["sport"], 4791, 8 + len(body) + 4, p["csum"])
    wire = ip_header(p, len(udp) + len(body) + 4) + udp + body
    return wire + icrc_of(wire)


def scapy_icrc(p):
    """The same iCRC from scapy, IPv4 only."""
    pkt = IP(src=p["src"], dst=p["dst"], id=p["id"], tos=p["tos"],
             ttl=p["ttl"], flags="DF" if p["df"] else 0)
    pkt /= UDP(sport=p["sport"], dport=4791, chksum=p["csum"])
    pkt /= BTH(opcode=p["opcode"], solicited=p["flags"] >> 7,
               migreq=p["flags"] >> 6 & 1, padcount=p["flags"] >> 4 & 3,
               fecn=p["ecn"] >> 1, becn=p["ecn"] & 1, dqpn=p["qpn"],
               ackreq=p["ackreq"], psn=p["psn"])
    pkt /= Raw(p["rest"])
    return bytes(pkt)[-4:]


def random_packet(rng, opcode, ext, payload, ipv6):
    """Fields for one packet with `payload` bytes behind its headers."""
    pad = -payload % 4
    if ipv6:
        src = ipaddress.IPv6Address(0xfd << 120 | rng.getrandbits(120))
        dst = ipaddress.IPv6Address(0xfe80 << 112 | rng.getrandbits(64))
    else:
        src = ipaddress.IPv4Address(0x0a000000 | rng.getrandbits(24))
        dst = ipaddress.IPv4Address(0xc0a80000 | rng.getrandbits(16))
    return {
        "src": str(src), "dst": str(dst), "tos": rng.getrandbits(8),
        "ttl": rng.randint(1, 255), "id": rng.getrandbits(16),
        "df": rng.getrandbits(1), "label": rng.getrandbits(20),
        "sport": rng.randint(0xc000, 0xffff),
        "csum": rng.choice([0, rng.getrandbits(16)]), "opcode": opcode,
        "flags": rng.choice([0, 0x80, 0x40, 0xc0]) | pad << 4,
        "ecn": rng.getrandbits(2), "qpn": rng.getrandbits(24),
        "ackreq": rng.getrandbits(1), "psn": rng.getrandbits(24),
        "rest": rng.randbytes(ext + payload) + bytes(pad),
    }


def hardware_cnp():
    """A CNP that a ConnectX-4 Lx sent, as recorded in the tests of scapy
    (test/contrib/roce.uts); the iCRC is the adapter's."""
    pkt = {
        "src": "10.0.17.1", "dst": "10.0.18.1", "tos": 0xc2, "ttl": 64,
        "id": 0x718c, "df": 1, "label": 0, "sport": 0, "csum": 0,
        "opcode": 0x81, "flags": 0, "ecn": 1, "qpn": 0x118, "ackreq": 0,
        "psn": 0, "rest": bytes(16),
    }
    wire = build(pkt)
    if wire[-4:] != bytes.fromhex("82fd002a"):
        sys.exit("gen_icrc.py: the iCRC of the captured packet differs")
    return wire


def vectors():
    """Pairs of name and packet."""
    rng = random.Random(4791)
    out = [("hardware_cnp", hardware_cnp())]
    plan = [(*op, n) for i, op in enumerate(OPCODES)
            for n in (i % 4, 4 + (i + 2) % 4)]
    plan += [(*op, 0) for op in BARE]
    plan += [(*OPCODES[0], 256), (*OPCODES[1], 1021)]
    plan += [("rc_atomic_write", 0x1d, 16, 8), ("cnp", 0x81, 0, 16)]
    for name, opcode, ext, payload in plan:
        for ipv6 in (False, True):
            pkt = random_packet(rng, opcode, ext, payload, ipv6)
            wire = build(pkt)
            if not ipv6 and wire[-4:] != scapy_icrc(pkt):
                sys.exit("gen_icrc.py: scapy disagrees on %s" % name)
            out.append(("%s_%d_ipv%d" % (name, payload, 6 if ipv6 else 4),
                        wire))
    # Corners of the fields that only IPv4 has.
    for ip_id, df in ((0, 0), (0, 1), (0xffff, 0), (0xffff, 1)):
        pkt = random_packet(rng, 0x04, 0, 3, False)
        pkt.update(id=ip_id, df=df)
        wire = build(pkt)
        if wire[-4:] != scapy_icrc(pkt):
            sys.exit("gen_icrc.py: scapy disagrees on ID %x" % ip_id)
        out.append(("id_%04x_df_%d" % (ip_id, df), wire))
    return out


def header():
    """Text of the C header."""
    lines = ["/* SPDX-License-Identifier: GPL-2.0 */",
             "/* Generated by selftests/vectors/gen_icrc.py: do not edit. */",
             "#ifndef RSOFT_TESTS_ICRC_VECTORS_H",
             "#define RSOFT_TESTS_ICRC_VECTORS_H", "",
             "#include <linux/types.h>", "",
             "/* A packet from the IP header to the iCRC. */",
             "struct icrc_vector {", "\tconst char *name;",
             "\tconst u8 *pkt;", "\tu32 len;", "};", ""]
    vecs = vectors()
    for name, wire in vecs:
        lines.append("static const u8 icrc_%s[] = {" % name)
        for i in range(0, len(wire), 12):
            lines.append("\t" + " ".join("0x%02x," % b
                                         for b in wire[i:i + 12]))
        lines += ["};", ""]
    lines.append("#define ICRC_VECTOR(id) { #id, icrc_##id, "
                 "sizeof(icrc_##id) }")
    lines.append("")
    lines.append("static const struct icrc_vector icrc_vectors[] = {")
    lines += ["\tICRC_VECTOR(%s)," % name for name, _ in vecs]
    lines += ["};", "", "#endif", ""]
    return "\n".join(lines)


def main(argv):
    """Entry point."""
    if argv not in ([], ["--write"], ["--check"]):
        sys.exit(__doc__)
    text = header()
    if argv == ["--write"]:
        with open(TARGET, "w", encoding="ascii") as out:
            out.write(text)
    elif argv == ["--check"]:
        with open(TARGET, encoding="ascii") as old:
            if old.read() != text:
                sys.exit("icrc_vectors.h is not what gen_icrc.py writes; "
                         "run: selftests/vectors/gen_icrc.py --write")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
