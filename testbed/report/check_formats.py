"""The formats for programs in which a check can be told, by the name that is typed. Each loads what it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from testbed.report.check_report import CheckReport


def _json(report: CheckReport) -> str:
    from testbed.report.check_json import CheckForm, json_text
    from testbed.store.codec import encoded

    return json_text(encoded(CheckForm, report))


def _sarif(report: CheckReport) -> str:
    from testbed.report.check_json import json_text
    from testbed.report.check_sarif import sarif_data

    return json_text(sarif_data(report))


def _github(report: CheckReport) -> str:
    from testbed.report.check_github import github_lines

    return "".join(f"{line}\n" for line in github_lines(report))


def _junit(report: CheckReport) -> str:
    from testbed.report.junit import check_junit

    return check_junit(report)


def _html(report: CheckReport) -> str:
    from testbed.report.check_html import check_html

    return check_html(report)


FORMATS: Mapping[str, Callable[[CheckReport], str]] = {
    "json": _json,
    "sarif": _sarif,
    "github": _github,
    "junit": _junit,
    "html": _html,
}
# What a file holds by the end of its name, where no format is asked for.
FORMAT_OF_END: Mapping[str, str] = {".json": "json", ".sarif": "sarif", ".xml": "junit", ".html": "html"}
