# SPDX-License-Identifier: GPL-2.0
"""Two hosts: the same workloads with perftest alone, no VM.

The client asks the server by JSON lines on a TCP connection to start the
passive side of one workload of the table; it cannot make it run anything else.
"""

import ipaddress
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time

import tables

START_S = 20      # for the server's program to listen
RUN_S = 300       # for one measurement


def gid(dev, want):
    """(index, address) of the device's GID: the one asked for, or the first
    RoCE v2 one with an IPv4 address, else the first RoCE v2 one."""
    port = "/sys/class/infiniband/%s/ports/1" % dev
    if not os.path.isdir(port):
        raise tables.BenchError("no RDMA device %s here: see 'rdma link show'" % dev)
    found = []
    for i in sorted(int(x) for x in os.listdir(port + "/gids")):
        try:
            with open("%s/gids/%d" % (port, i), encoding="ascii") as f:
                g = ipaddress.IPv6Address(f.read().strip())
            with open("%s/gid_attrs/types/%d" % (port, i), encoding="ascii") as f:
                kind = f.read().strip()
        except (OSError, ValueError):
            continue    # empty slots have no type
        if want == i or (want is None and kind == "RoCE v2"):
            found.append((g.ipv4_mapped is None, i, str(g.ipv4_mapped or g)))
    if not found:
        raise tables.BenchError("%s has no %s: has its netdev an address?" % (
            dev, "GID %d" % want if want is not None else "RoCE v2 GID"))
    _, index, addr = min(found)
    return index, addr


def fill(options, dev, index, addr, peer):
    for k, v in (("DEV", dev), ("GID", str(index)), ("ADDR", addr), ("PEER", peer)):
        options = options.replace(k, v)
    return shlex.split(options)


def ready(how, proc):
    """Does the server's program listen?"""
    if how == "cm":
        text = subprocess.run(["rdma", "resource", "show", "cm_id"], stdout=subprocess.PIPE, text=True).stdout
        return any("LISTEN" in x and "pid %d " % proc.pid in x for x in text.splitlines())
    want = ":%04X" % tables.PORT
    for name in ("tcp", "tcp6"):
        try:
            with open("/proc/%d/net/%s" % (proc.pid, name), encoding="ascii") as f:
                if any(c[1].endswith(want) and c[3] == "0A" for c in (x.split() for x in f) if len(c) > 3):
                    return True
        except OSError:
            pass
    return False


def stop(proc):
    if proc.poll() is None:
        proc.terminate()
        try:
            proc.wait(5)
        except subprocess.TimeoutExpired:
            proc.kill()
            proc.wait()


def start(request, a, index, addr, log):
    """Start the passive side that the client asks for; (process, None) or (None, why)."""
    w = tables.workloads().get(request.get("id"))
    if w is None or "h" not in w["sets"]:
        return None, "no such workload: do both ends run the same version?"
    how, prog, srv, _ = tables.command(w, bool(request.get("quick")))
    try:
        proc = subprocess.Popen(shlex.split(prog) + fill(srv, a.dev, index, addr, ""), stdout=log, stderr=log)
    except OSError as e:
        return None, "%s: %s" % (prog.split()[0], e.strerror)
    end = time.monotonic() + START_S
    while time.monotonic() < end and proc.poll() is None:
        if ready(how, proc):
            return proc, None
        time.sleep(0.02)
    stop(proc)
    log.seek(0)
    return None, "%s does not listen: %s" % (prog.split()[0], log.read()[-300:].strip())


def attend(conn, a, index, addr):
    """Serve one client."""
    proc = None
    conn.settimeout(RUN_S * 2)
    with conn.makefile("rw", encoding="utf-8") as f, tempfile.TemporaryFile("w+") as log:
        try:
            for line in f:
                request = json.loads(line)
                if proc:
                    stop(proc)
                proc, why = None, None
                if "id" in request:
                    log.seek(0)
                    log.truncate()
                    proc, why = start(request, a, index, addr, log)
                    print("%s: %s" % (request["id"], why or "running"), flush=True)
                f.write(json.dumps({"error": why, "addr": addr}) + "\n")
                f.flush()
        finally:
            if proc:
                stop(proc)


def serve(a):
    try:
        index, addr = gid(a.dev, a.gid)
        family = socket.AF_INET6 if ":" in addr else socket.AF_INET
        listener = socket.create_server((addr, a.port), family=family)
    except (tables.BenchError, OSError) as e:
        print("rdma-soft-bench: %s" % e, file=sys.stderr)
        return 4
    print("serving %s, GID %d: on the other host: rdma-soft-bench --client %s --dev DEV%s" % (
        a.dev, index, addr, "" if a.port == 18514 else " --port %d" % a.port), flush=True)
    while True:
        conn, who = listener.accept()
        print("client %s" % who[0], flush=True)
        with conn:
            try:
                attend(conn, a, index, addr)
            except (OSError, ValueError, AttributeError) as e:
                print("client %s: %s" % (who[0], e), file=sys.stderr)


def last_row(w, text):
    lines = text.splitlines()
    if w["value"] == "iperf":
        rows = [x.split() for x in lines if x.rstrip().endswith("sender")]
        return rows[-1][rows[-1].index("MBytes/sec") - 1] if rows and "MBytes/sec" in rows[-1] else ""
    if w["value"] == "cm":
        rows = [x for x in lines if x.startswith("connect ")]
    else:
        rows = [x for x in lines if len(x.split()) >= 4 and x.split()[0].isdigit()]
    return rows[-1] if rows else ""


def measure(w, a, index, addr, peer, ask):
    """One measurement: figure, or None with the reason printed. perftest gives no
    figures when a busy host kept it from measuring its clock: again, then."""
    for _ in range(4):
        fig, text = measure_once(w, a, index, addr, peer, ask)
        if fig or "Correlation coefficient" not in text:
            break
    return fig


def measure_once(w, a, index, addr, peer, ask):
    """(figure or None, output)"""
    reply = ask({"id": w["id"], "quick": a.quick})
    if reply["error"]:
        print("  server: %s" % reply["error"], file=sys.stderr)
        return None, ""
    _, prog, _, cli = tables.command(w, a.quick)
    try:
        r = subprocess.run(shlex.split(prog) + fill(cli, a.dev, index, addr, peer), text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=RUN_S)
    except subprocess.TimeoutExpired:
        print("  %s: no end after %d s" % (w["program"], RUN_S), file=sys.stderr)
        return None, ""
    except OSError as e:
        print("  %s: %s" % (w["program"], e.strerror), file=sys.stderr)
        return None, ""
    finally:
        ask({"done": True})
    fig = tables.figure(w, last_row(w, r.stdout)) if r.returncode == 0 else None
    if fig is None:
        print("  %s ended with status %d: %s" % (w["program"], r.returncode, r.stdout[-300:].strip()), file=sys.stderr)
    return fig, r.stdout


def client(a, wls):
    index, addr = gid(a.dev, a.gid)
    rounds = a.rounds or (1 if a.quick else 3)
    chosen = [w for w in wls.values() if "h" in w["sets"]]
    if not chosen:
        raise tables.BenchError("none of the chosen workloads runs between hosts, see --list")
    samples = []
    try:
        with socket.create_connection((a.client, a.port), timeout=START_S) as conn, \
                conn.makefile("rw", encoding="utf-8") as f:
            conn.settimeout(START_S * 2)

            def ask(request):
                f.write(json.dumps(request) + "\n")
                f.flush()
                line = f.readline()
                if not line:
                    raise tables.BenchError("the server has gone")
                return json.loads(line)
            for rnd in range(rounds):
                for n, w in enumerate(chosen, 1):
                    fig = measure(w, a, index, addr, a.client, ask)
                    driver = "tcp" if w["value"] == "iperf" else a.label
                    samples.append(("hosts", driver, w["id"], fig))
                    print("round %d/%d  %2d/%d  %-10s %-36s %s" % (
                        rnd + 1, rounds, n, len(chosen), driver, w["title"],
                        "%.1f %s" % (fig[0], tables.unit(w)) if fig else "FAILED"), flush=True)
    except OSError as e:
        raise tables.BenchError("no server at %s port %d (%s): start 'rdma-soft-bench --server --dev DEV' there" % (
            a.client, a.port, e)) from e
    return {"where": "%s (%s) to %s" % (socket.gethostname(), a.dev, a.client),
            "rounds": {"hosts": rounds}, "quick": a.quick, "samples": samples}
