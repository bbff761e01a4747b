#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
check_pcap.py [--mtu BYTES] [--limit N] FILE...

Checks every RoCEv2 packet of captures (pcap, Ethernet) against the rules of
conform.py. Prints packets by opcode, then 'packets=N rules=N violations=N'. Each
packet's iCRC is computed anew by zlib.crc32, not by code of the driver.

  --mtu BYTES   path MTU of the QPs in the files (default 1024)
  --limit N     stop after N packets of a file (default: all)
  --rules       print how often each rule was applied
  --to MAC      the capture was made at this address: some packets must have
                arrived there; prints how many

Exit status: 0 no violation, 1 some, 2 a file cannot be read or holds nothing.
"""
import argparse
import sys

try:
    from scapy.utils import RawPcapReader
except ImportError:
    sys.exit("check_pcap.py: no scapy; run: apt-get install python3-scapy")

import conform

SHOWN = 20


def check(path, mtu, limit, mac):
    checker = conform.Checker(mtu)
    checker.arrived = 0
    for number, (raw, meta) in enumerate(RawPcapReader(path), 1):
        if limit and checker.checked >= limit:
            break
        if meta.caplen != meta.wirelen:
            sys.exit(f"{path}: packet {number} was not captured whole")
        checker.arrived += bytes(raw[:6]) == mac
        checker.frame(number, bytes(raw))
    return checker


def report(path, checker, rules):
    ops = " ".join(f"{name}={n}" for name, n in sorted(checker.by_op.items()))
    print(f"# {path}: {ops}")
    if checker.naks:
        print("# NAKs (code.value): " +
              " ".join(f"{c}.{v}={n}" for (c, v), n in
                       sorted(checker.naks.items())))
    if rules:
        for rule, n in sorted(checker.by_rule.items()):
            print(f"# rule {rule}: {n}")
    for number, rule, seen in checker.bad[:SHOWN]:
        print(f"# {path}: packet {number}: {rule}: {seen}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--mtu", type=int, default=1024, metavar="BYTES")
    parser.add_argument("--limit", type=int, default=0, metavar="N")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--to", metavar="MAC")
    args = parser.parse_args()
    mac = bytes.fromhex(args.to.replace(":", "")) if args.to else b""
    total = bad = applied = 0
    for path in args.files:
        checker = check(path, args.mtu, args.limit, mac)
        report(path, checker, args.rules)
        if args.to:
            print(f"# {path}: {checker.arrived} packets arrived at {args.to}")
            bad += not checker.arrived
        total += checker.checked
        bad += len(checker.bad)
        applied += sum(checker.by_rule.values())
    print(f"packets={total} rules={applied} violations={bad}")
    if not total:
        return 2
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
