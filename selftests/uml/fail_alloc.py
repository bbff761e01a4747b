#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
fail_alloc.py NAME NETDEV [GROWTH]: create a link again and again, each time
with a later allocation of the kernel failing, until none is left to fail: the
first one by one, then in steps that grow by GROWTH percent (default 25; a link
takes some ten thousand allocations, most of them for sysfs in the core).

Every attempt must either fail with an error and leave no link, or succeed and
leave one that can be deleted. Prints how many allocations were made to fail;
memory that was lost on the way is kmemleak's to find, a use of what was freed
KASAN's. Needs CONFIG_FAILSLAB with ignore-gfp-wait off; run in the netdev's
network namespace.
"""
import errno
import os
import socket
import struct
import sys

NETLINK_RDMA = 20
NEWLINK, DELLINK, GET = 0x1403, 0x1404, 0x1401
ATTR_DEV_INDEX, ATTR_DEV_NAME, ATTR_NDEV_NAME, ATTR_LINK_TYPE = 1, 2, 51, 65
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
FAIL_NTH = "/proc/thread-self/fail-nth"
MAX_ALLOCATIONS = 1000000
ONE_BY_ONE = 25


def attr(kind, data):
    raw = struct.pack("=HH", 4 + len(data), kind) + data
    return raw + b"\0" * (-len(raw) % 4)


def string(kind, text):
    return attr(kind, text.encode() + b"\0")


def request(kind, flags, body):
    return struct.pack("=IHHII", 16 + len(body), kind,
                       flags | NLM_F_REQUEST, 1, 0) + body


def ack(sock):
    """The error number of the next acknowledgement, 0 for success."""
    while True:
        data = sock.recv(65536)
        kind = struct.unpack_from("=H", data, 4)[0]
        if kind == NLMSG_ERROR:
            return -struct.unpack_from("=i", data, 16)[0]


def links(sock):
    """Device name -> index of every RDMA device."""
    found = {}
    sock.send(request(GET, NLM_F_DUMP, b""))
    while True:
        data = sock.recv(1 << 20)
        while data:
            size, kind = struct.unpack_from("=IH", data)
            if kind == NLMSG_DONE:
                return found
            if kind == NLMSG_ERROR:
                raise OSError(-struct.unpack_from("=i", data, 16)[0], "dump")
            pos, index, name = 16, None, None
            while pos < size:
                alen, akind = struct.unpack_from("=HH", data, pos)
                value = data[pos + 4:pos + alen]
                if akind == ATTR_DEV_INDEX:
                    index = struct.unpack("=I", value)[0]
                elif akind == ATTR_DEV_NAME:
                    name = value.rstrip(b"\0").decode()
                pos += (alen + 3) & ~3
            found[name] = index
            data = data[(size + 3) & ~3:]


def attempt(sock, message, nth):
    """Send with the nth allocation failing; (error, injected?)."""
    fail = os.open(FAIL_NTH, os.O_RDWR)
    os.write(fail, b"%d" % nth)
    try:
        sock.send(message)
        error = None
    except OSError as exc:
        error = exc.errno
    # Not seekable, but read from the offset it is given.
    left = int(os.pread(fail, 16, 0))
    os.write(fail, b"0")
    os.close(fail)
    # The request is handled within send(); its answer may have been lost to
    # the injection too.
    if error is None:
        sock.settimeout(0.5)
        try:
            error = ack(sock)
        except socket.timeout:
            error = errno.ENOMEM
        except OSError as exc:
            error = exc.errno
        sock.settimeout(None)
    return error, left == 0


def main():
    name, netdev = sys.argv[1:3]
    growth = int(sys.argv[3]) if len(sys.argv) > 3 else 25
    message = request(NEWLINK, NLM_F_ACK, string(ATTR_DEV_NAME, name) +
                      string(ATTR_NDEV_NAME, netdev) +
                      string(ATTR_LINK_TYPE, "rdma_soft"))
    failed = survived = 0
    nth = 0
    while nth < MAX_ALLOCATIONS:
        nth = nth + 1 if nth < ONE_BY_ONE else nth + 1 + nth * growth // 100
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
        sock.bind((0, 0))
        error, injected = attempt(sock, message, nth)
        sock.close()
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
        sock.bind((0, 0))
        index = links(sock).get(name)
        if index is None and not error:
            sys.exit(f"allocation {nth}: success reported, but no link")
        if index is not None:
            survived += 1
            sock.send(request(DELLINK, NLM_F_ACK,
                              attr(ATTR_DEV_INDEX, struct.pack("=I", index))))
            error = ack(sock)
            if error:
                sys.exit(f"allocation {nth}: the link cannot be deleted: "
                         f"{os.strerror(error)}")
        else:
            failed += 1
        sock.close()
        if not injected:
            print(f"# up to {nth} allocations: {failed} times no link, "
                  f"{survived} times a link all the same")
            if failed < 10:
                sys.exit("too few failures: is the injection on?")
            return
    sys.exit(f"still allocating after {MAX_ALLOCATIONS} allocations")


main()
