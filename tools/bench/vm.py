# SPDX-License-Identifier: GPL-2.0
"""Measure in the test VM: a plan for guest-bench.sh, and what comes back."""

import os
import shutil
import subprocess
import sys
import time

import tables

DRIVERS = ("rdma_soft", "rxe", "tcp")


def plan(workloads, mode, drivers, rounds, quick, named):
    """Lines for the guest: drivers take turns within each round. named: the user
    chose the workloads, so those that --quick leaves out are welcome."""
    which = "q" if quick and mode == "icount" and not named else mode[0]
    chosen = [w for w in workloads.values() if which in w["sets"]]
    lines = []
    for rnd in range(1, rounds + 1):
        for d in [x for x in DRIVERS if x in drivers]:
            for w in chosen:
                if (d == "tcp") != (w["program"] == "iperf3") or (d != "rdma_soft" and "o" in w["sets"]):
                    continue
                how, prog, srv, cli = tables.command(w, quick)
                lines.append((str(rnd), d, w["rig"], w["id"], how,
                              str(tables.payload(w, quick)), prog, srv, cli))
    return lines


def build(kernel):
    cmd = ["make", "-C", tables.TREE, "-j2", "modules"]
    if kernel and not os.path.isdir(kernel):
        cmd.append("KDIR=/usr/src/linux-headers-" + kernel)
    r = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        raise tables.BenchError("the module did not build:\n" + r.stdout[-2000:])


def boot(a, mode, lines, out, heard, say):
    """Boot a VM and work through the lines; heard(cells) is told of each measurement."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    plan_file = os.path.join(out, "plan.tsv")
    with open(plan_file, "w", encoding="utf-8") as f:
        f.write("".join("\t".join(x) + "\n" for x in lines))
    cmd = [os.path.join(tables.TREE, "selftests/vm/run-vm.sh"), "--quiet",
           "--timeout", str(a.timeout), "--out", out]
    cmd += ["--icount"] if mode == "icount" else ["--smp", "2"]
    if a.kernel:
        cmd += ["--kernel", a.kernel]
    cmd += ["--script", os.path.join(tables.HERE, "guest-bench.sh"), plan_file,
            os.path.join(tables.TREE, "scripts/demo/pair.sh")]
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, text=True)
    try:
        for line in p.stdout:
            c = line.rstrip("\n").split("\t", 5)
            if c[0] == "@" and len(c) == 6:
                heard(c)
            else:
                say(line.rstrip())
    finally:
        if p.poll() is None and sys.exc_info()[0]:
            p.terminate()
        rc = p.wait()
    if rc:
        say("the VM ended with status %d; logs: %s" % (rc, out))


def one_mode(a, workloads, mode, say):
    """Work through the plan; returns ([(mode, driver, id, row or None)], rounds), each
    round complete and in order. In instruction mode each round is a run of its own, in
    a VM that was booted for it: rounds that agree do so from a fresh start."""
    rounds = a.rounds or (1 if a.quick else 3 if mode == "icount" else 9)
    lines = plan(workloads, mode, a.drivers.split(","), rounds, a.quick, a.rows)
    boots = [lines]
    if mode == "icount":
        boots = [[x for x in lines if x[0] == str(r)] for r in range(1, rounds + 1)]
    figs = {}
    begin = time.monotonic()

    def heard(c):
        w = workloads[c[3]]
        fig = tables.figure(w, c[5]) if c[4] == "ok" else None
        figs[c[1], c[2], c[3]] = fig
        left = (time.monotonic() - begin) / len(figs) * (len(lines) - len(figs))
        say("%3d/%d  %-10s %-36s %-14s %s" % (
            len(figs), len(lines), c[2], w["title"],
            "%.1f %s" % (fig[0], tables.unit(w)) if fig else "FAILED",
            "about %.0f min left" % (left / 60) if left else ""))

    for n, part in enumerate(boots, 1):
        if not part:
            continue
        say("%s: booting the test VM%s, %d measurements" % (
            "instruction mode" if mode == "icount" else "wall clock, 2 CPUs",
            " for run %d of %d" % (n, len(boots)) if len(boots) > 1 else "", len(part)))
        out = os.path.join(a.out, mode) + ("-%d" % n if len(boots) > 1 else "")
        boot(a, mode, part, out, heard, say)
    return [(mode, x[1], x[3], figs.get((x[0], x[1], x[3]))) for x in lines], rounds


def run(a, workloads):
    for tool, package in (("qemu-system-x86_64", "qemu-system-x86"), ("ib_write_bw", "perftest"),
                          ("cmtime", "rdmacm-utils"), ("iperf3", "iperf3")):
        if not shutil.which(tool):
            raise tables.BenchError("no %s: apt-get install %s" % (tool, package))
    if any(w["value"] == "dd" for w in workloads.values()) and not a.quick and a.mode != "wall":
        for tool in ("nvme", "exportfs", "mount.nfs"):
            if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
                raise tables.BenchError("no %s: run 'scripts/deps.sh storage', or choose other rows" % tool)
    start = time.monotonic()

    def say(text):
        print("[%4d s] %s" % (time.monotonic() - start, text), flush=True)

    if "rdma_soft" in a.drivers.split(","):
        say("building rdma_soft.ko")
        build(a.kernel)
    mode = a.mode or ("icount" if a.quick else "both")
    samples, rounds = [], {}
    for m in ("icount", "wall") if mode == "both" else (mode,):
        got, rounds[m] = one_mode(a, workloads, m, say)
        samples += got
    if not samples:
        raise tables.BenchError("nothing to measure: the chosen rows are not part of this mode, see --list")
    say("measured")
    return {"where": "test VM", "rounds": rounds, "quick": a.quick, "samples": samples}
