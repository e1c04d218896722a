"""How the tests of the tools end: a line for every failure, then `N passed, N failed`."""
import os
import sys


def count(failures):
    """Each of `failures` is None for a case that passed, or what was wrong. Returns the exit code."""
    passed = failed = 0
    for failure in failures:
        if failure:
            failed += 1
            print(f"FAIL tests/tools/{os.path.basename(sys.argv[0])}: {failure}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
