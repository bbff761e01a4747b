#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the pyverbs suite of rdma-core on one device, one result line per test.

The suite is taken as it is. One thing is changed, in memory: it looks for the
netdev of a device below /sys/class/infiniband/DEV/device/net, which exists only
where the device has a parent (PCI). A device without one has its netdev named
beside its GIDs, in ports/1/gid_attrs/ndevs. Without the change all tests of
rdma_cm are skipped.
"""

import argparse
import faulthandler
import gc
import importlib.machinery
import os
import sys
import time
import unittest

LIMIT_S = 240


def netdev_of(dev, port, index):
    """Name of the netdev of a GID, None if the core names none."""
    path = f'/sys/class/infiniband/{dev}/ports/{port}/gid_attrs/ndevs/{index}'
    try:
        with open(path, encoding='ascii') as file:
            return file.read().strip() or None
    except OSError:
        return None


def adapt(base):
    """The one change: see above."""
    def get_ip_mac(self, dev, port, idx):
        name = netdev_of(dev, port, idx) if idx is not None else None
        ip_addr = mac_addr = None
        if name:
            try:
                ip_addr, mac_addr = self.get_ip_mac_address(name)
            except (KeyError, IndexError):
                pass
        self.args.append([dev, port, idx, ip_addr, mac_addr])

    base.RDMATestCase._get_ip_mac = get_ip_mac


class Result(unittest.TestResult):
    """One line per test: 'pass|skip|fail|error NAME [text]'."""

    def __init__(self, out):
        super().__init__()
        self.out = out
        self.begin = 0
        self.seen = set()

    def say(self, verdict, test, text=''):
        """One line; tearDown may add one after a test that passed."""
        name = test.id().removeprefix('tests.')
        text = ' '.join(str(text).split()) or '-'
        if (name, verdict) in self.seen:
            return
        self.seen.add((name, verdict))
        ms = int((time.monotonic() - self.begin) * 1000)
        print('\t'.join((verdict, name, text, str(ms))), file=self.out,
              flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.begin = time.monotonic()
        # a test that hangs shows where, and ends the run
        faulthandler.dump_traceback_later(LIMIT_S, exit=True)

    def stopTest(self, test):
        super().stopTest(test)
        faulthandler.cancel_dump_traceback_later()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say('pass', test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say('skip', test, reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say('fail', test, err[1])
        print(self.failures[-1][1], file=sys.stderr)

    def addError(self, test, err):
        super().addError(test, err)
        self.say('error', test, err[1])
        print(self.errors[-1][1], file=sys.stderr)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.say('fail', test, err[1])
            print(err[1], file=sys.stderr)


def main():
    """Options, suite, results. Status: 0 ran, 1 something failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter,
        epilog='Result lines: verdict (pass, skip, fail, error), name, text, '
               'milliseconds, separated by tabs.\n'
               'Exit status: 0 nothing failed, 1 something did or a test took '
               f'more than {LIMIT_S} s, 2 usage.')
    parser.add_argument('--suite', required=True, metavar='DIR',
                        help="the suite's folder (fetch-suite.sh prints it)")
    parser.add_argument('--dev', required=True, help='RDMA device')
    parser.add_argument('--out', metavar='FILE',
                        help='result lines go here (default: stdout)')
    parser.add_argument('--no-gc', action='store_true',
                        help='let Python collect no cycles: pyverbs of rdma-core 56\n'
                             'then closes objects after their device, and crashes')
    parser.add_argument('pattern', nargs='*',
                        help='run only tests whose name contains one of these')
    args = parser.parse_args()

    sys.path.insert(0, args.suite)
    sys.argv = [sys.argv[0], '--dev', args.dev]
    init = os.path.join(args.suite, '__init__.py')
    tests = importlib.machinery.SourceFileLoader('tests', init).load_module()
    from args_parser import parser as suite_parser
    suite_parser.parse_args()
    adapt(sys.modules['tests.base'])

    with (open(args.out, 'w', encoding='utf-8') if args.out
          else os.fdopen(os.dup(1), 'w', encoding='utf-8')) as out:
        result = Result(out)
        found = unittest.defaultTestLoader.loadTestsFromModule(tests)
        if args.no_gc:
            gc.disable()
        run_all(found, result, args.pattern)
    rc = 0 if result.wasSuccessful() else 1
    if args.no_gc:
        sys.stderr.flush()
        os._exit(rc)
    return rc


def run_all(found, result, patterns):
    """Run a suite, or the tests of it that were asked for."""
    if not patterns:
        found.run(result)
        return
    for test in found:
        if isinstance(test, unittest.TestSuite):
            run_all(test, result, patterns)
        elif any(p in test.id() for p in patterns):
            test.run(result)


if __name__ == '__main__':
    sys.exit(main())
