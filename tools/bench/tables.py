# SPDX-License-Identifier: GPL-2.0
"""The tables of workloads and targets, and how to read a figure."""

import fnmatch
import os

HERE = os.path.dirname(os.path.realpath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
PORT = 18515    # perftest's own; iperf3 is told to use it too


class BenchError(Exception):
    """Something that the user can mend; the text says how."""


def read_tsv(path):
    rows = []
    with open(path, encoding="utf-8") as f:
        lines = [x.rstrip("\n") for x in f if x.strip() and not x.startswith("#")]
    head = lines[0].split("\t")
    for line in lines[1:]:
        cells = line.split("\t")
        if len(cells) != len(head):
            raise BenchError("%s: %d columns instead of %d: %s" % (path, len(cells), len(head), line))
        rows.append({k: None if v == "-" else v for k, v in zip(head, cells)})
    return rows


def workloads(patterns=None):
    """id -> row, in the order of the table; patterns: comma separated, or all."""
    rows = read_tsv(os.path.join(HERE, "workloads.tsv"))
    if patterns:
        rows = [r for r in rows if any(fnmatch.fnmatch(r["id"], p) for p in patterns.split(","))]
    return {r["id"]: r for r in rows}


def targets():
    rows = read_tsv(os.path.join(HERE, os.pardir, "targets.tsv"))
    for r in rows:
        for k in ("base", "must", "moonshot"):
            r[k] = None if r[k] is None else float(r[k])
    return rows


def unit(w):
    return {"b": "MB/s", "i": "MB/s", "d": "MB/s", "r": "Kmsg/s"}.get(w["value"][0], "us")


def less_is_better(w):
    return unit(w) == "us"


def command(w, quick):
    """(how to wait, program and options, server's options, client's options) with
    DEV, GID, ADDR (own address) and PEER (the server's) to be filled in."""
    n = int(w["quick"] if quick else w["full"])
    if w["value"] == "cm":
        return "cm", "cmtime -c %d" % n, "-b ADDR", "-b ADDR -s PEER"
    if w["value"] == "iperf":
        return ("iperf", "iperf3 -p %d" % PORT, "-s -1 -B ADDR",
                "-c PEER -B ADDR -f M -n %d" % (n * int(w["size"])))
    if w["value"] == "dd":
        return w["program"], w["program"], w["options"], w["size"]
    common = "%s -F -s %s -n %d" % (w["program"], w["size"], n)
    if w["options"]:
        common += " " + w["options"]
    return "tcp", common, "-d DEV -x GID", "-d DEV -x GID PEER"


def payload(w, quick):
    """Bytes that the program moves at least, in one direction."""
    n = int(w["quick"] if quick else w["full"])
    return 0 if w["value"] == "cm" else n * int(w["size"])


def figure(w, row):
    """(value, other figures) from the row that the program printed, or None."""
    c = row.split()
    try:
        if w["value"] == "iperf":
            v, more = float(c[0]), {}
        elif w["value"] == "dd":    # bytes, seconds
            v, more = float(c[0]) / 2 ** 20 / float(c[1]), {}
        elif w["value"] == "cm":    # connect : total max min us/conn
            v, more = float(c[-1]), {"min": float(c[-2])}
        elif w["value"] == "lat":
            v = float(c[4])
            more = {"min": float(c[2]), "max": float(c[3]), "avg": float(c[5]),
                    "p99": float(c[7]), "p99.9": float(c[8])}
        else:
            peak, avg, rate = float(c[2]), float(c[3]), float(c[4])
            size = int(w["size"])
            more = {"peak_MBps": peak, "avg_MBps": avg, "Mmsgps": rate}
            v = {"bw_avg": avg, "bw_peak": peak, "rate_avg": rate * 1000,
                 "rate_peak": peak * 2 ** 20 / size / 1000}[w["value"]]
    except (IndexError, ValueError):
        return None
    if not 0 < v < 1e12:    # also NaN
        return None
    return v, more


def instructions_per_message(w, value):
    """In instruction mode: executed by both ends; None where it makes no sense."""
    u = unit(w)
    if w["program"] == "iperf3":
        return None
    if u == "MB/s":
        return 1e9 * int(w["size"]) / (value * 2 ** 20)
    if u == "Kmsg/s":
        return 1e6 / value
    return None
