#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
timelines.py DEVICE PEER_NETNS PEER_IF PEER_MAC DEVICE_MAC ADDRS [NAME]

Send and expect, packet by packet, against one QP of DEVICE: the peer is a
packet socket (peer.py). Runs every timeline over each pair of ADDRS, given as
peer,device[;peer,device...]; NAME runs those whose name contains it. Prints one
TAP result line each (not numbered), then 'timelines=N sent=N received=N'.

Exit status: 0 if all were kept, 1 if one was broken, 2 if none ran.
"""
import os
import random
import sys
import traceback

from pyverbs.pyverbs_error import PyverbsError

from peer import Broken, Device, Peer
from script import TIMELINES
# each adds its timelines, in this order
import responder    # noqa: F401
import refusals     # noqa: F401
import requester    # noqa: F401
import stalled      # noqa: F401
import unreliable   # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))


def where(why):
    """The line of the timeline that was broken."""
    at = [f for f in traceback.extract_tb(why.__traceback__)
          if os.path.dirname(f.filename) == HERE and
          os.path.basename(f.filename) != "peer.py"][-1]
    return f"{os.path.basename(at.filename)}:{at.lineno}"


def run(device, peers, pattern):
    ran = broken = 0
    for name, fn, case in TIMELINES:
        for family, peer in peers:
            full = f"{family}.{name}"
            if (not any(p in f"wire.{full}" for p in pattern.split(",")) or
                    getattr(fn, "family", family) != family):
                continue
            ran += 1
            random.seed(full)
            try:
                fn(device, peer, *case)
            except (Broken, PyverbsError) as why:
                broken += 1
                print(f"not ok - wire.{full} # {where(why)}: {why}", flush=True)
            else:
                print(f"ok - wire.{full}", flush=True)
    return ran, broken


def main():
    if len(sys.argv) not in (7, 8):
        print(__doc__.strip())
        return 2
    device, netns, ifname, mac, dev_mac, pairs = sys.argv[1:7]
    pattern = sys.argv[7] if len(sys.argv) == 8 else ""
    peers = []
    for pair in pairs.split(";"):
        addrs = tuple(pair.split(","))
        peers.append(("v6" if ":" in pair else "v4",
                      Peer(netns, ifname, (mac, dev_mac), addrs)))
    ran, broken = run(Device(device), peers, pattern)
    sent = sum(p.sent for _, p in peers)
    received = sum(p.received for _, p in peers)
    print(f"timelines={ran} sent={sent} received={received}")
    if not ran:
        return 2
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
