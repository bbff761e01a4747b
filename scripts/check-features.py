#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Every "yes" of Documentation/features.rst names a test that exists.

Prints what is wrong, one line each; nothing if all is well. Names in the column
of tests are literals:

  FOLDER/NAME          a test of selftests/tests.list
  FOLDER/NAME:SUBTEST  one of its subtests: the word is in its source (of a
                       script also in C files of its folder)
  pyverbs:NAME         ends a line of selftests/pyverbs/passing.list,
  pyverbs-13:NAME      of passing-13.list
  kunit:NAME           drivers/rdma_soft/tests/NAME_kunit.c
  make TARGET          a target of a Makefile

Exit status: 0 all is well, 1 something is wrong.
"""

import glob
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
DOC = TOP / 'Documentation/features.rst'
COL_FEATURE, COL_OURS, COL_TEST = 0, 1, 2


def rows(text):
    """Rows of all list tables: lists of cells, each one line."""
    found = []
    for line in text.splitlines():
        if re.match(r'   \* -( |$)', line):
            found.append([line[7:].strip()])
        elif re.match(r'     -( |$)', line) and found:
            found[-1].append(line[7:].strip())
        elif line.startswith('       ') and found:
            found[-1][-1] += ' ' + line.strip()
    return found


def words(path):
    """All words of a file."""
    return set(re.findall(r'[A-Za-z0-9_]+', path.read_text(encoding='utf-8')))


def exists_selftest(name):
    """FOLDER/NAME or FOLDER/NAME:SUBTEST."""
    test, _, sub = name.partition(':')
    listed = {line.split()[0] for line in
              (TOP / 'selftests/tests.list').read_text().splitlines()
              if line.strip() and not line.startswith('#')}
    if test not in listed:
        return False
    if not sub:
        return True
    source = TOP / f'selftests/{test}.c'
    if source.exists():
        return sub in words(source)
    # a script may run what C files beside it make, as kverbs does
    script = TOP / f'selftests/{test}.sh'
    return sub in words(script) or any(
        sub in words(pathlib.Path(p))
        for p in glob.glob(f'{script.parent}/*.c'))


def exists(name):
    """Is there a test of this name?"""
    if name.startswith('make '):
        target = re.escape(name[5:])
        return any(re.search(rf'^{target}:', pathlib.Path(f).read_text(), re.M)
                   for f in [TOP / 'Makefile'] + glob.glob(f'{TOP}/scripts/*.mk'))
    if name.startswith(('pyverbs:', 'pyverbs-13:')):
        suite, _, test = name.partition(':')
        passing = TOP / suite.replace('pyverbs', 'selftests/pyverbs/passing')
        return any(p.endswith('.' + test)
                   for p in passing.with_suffix('.list').read_text().split())
    if name.startswith('kunit:'):
        return (TOP / f'drivers/rdma_soft/tests/{name[6:]}_kunit.c').exists()
    return exists_selftest(name)


def main():
    """Check the document. Status: see above."""
    if len(sys.argv) > 1:
        print(__doc__)
        return 0 if sys.argv[1:] in (['-h'], ['--help']) else 1
    bad = []
    yes = 0
    for row in rows(DOC.read_text(encoding='utf-8')):
        if len(row) <= COL_TEST or row[COL_OURS] == 'rdma_soft':
            continue
        names = re.findall(r'``([^`]+)``', row[COL_TEST])
        if row[COL_OURS].startswith('yes'):
            yes += 1
            if not names:
                bad.append(f'{row[COL_FEATURE]}: yes, but no test')
        bad += [f'{row[COL_FEATURE]}: no test {n}' for n in names
                if not exists(n)]
    if not yes:
        bad.append('no yes at all: is this the table?')
    for line in bad:
        print(f'Documentation/features.rst: {line}')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
