"""A plugin of pytest that writes a line for each test: PASS or FAIL, its id, and its message."""

import json
import os

_outcomes = {}


def _note(name, is_passed, message=""):
    known = _outcomes.get(name)
    if known is None or known[0]:
        _outcomes[name] = (is_passed, message)


def _message(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)


def pytest_runtest_logreport(report):
    if report.failed:
        _note(report.nodeid, False, _message(report))
    elif report.passed and report.when == "call" and not hasattr(report, "wasxfail"):
        _note(report.nodeid, True)


def pytest_collectreport(report):
    if report.failed:
        _note(report.nodeid, False, _message(report))


def pytest_sessionfinish():
    with open(os.environ["CLAWLOOP_RESULTS"], "w", encoding="utf-8") as file:
        for name, (is_passed, message) in _outcomes.items():
            said = "" if is_passed else " " + json.dumps(message[:2000])
            file.write(("PASS " if is_passed else "FAIL ") + json.dumps(name) + said + "\n")
