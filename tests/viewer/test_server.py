"""The server: one secret path, strict headers, nothing but what it was given; and a stream that follows a journal."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from viewer_runs import STUDY, small_run

from leadhand.core.journal import read_journal
from leadhand.viewer.app import STATIC, modules

View = Callable[[Path], str]


def get(address: str, path: str = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
    url = urlsplit(address)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=20)
    try:
        connection.request("GET", url.path + path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def asked(address: str, path: str) -> Any:
    status, _, body = get(address, path)
    assert status == 200, body
    return json.loads(body)


def test_everything_is_behind_the_secret_path_and_guarded(team: Path, view: View) -> None:
    address = view(team.parent)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", address)
    outside = address.rsplit("/", 2)[0]
    for base, path, wanted in [
        (address, "", 200),
        (address, "app.css", 200),
        (address, "app.js", 200),
        (address, "api/home", 200),
        (address, "js/../../app.py", 404),
        (address, "js/%2e%2e/%2e%2e/app.py", 404),
        (address, "../../../etc/passwd", 404),
        (address, "api/run/..%2f..%2fetc/head", 404),
        (address, "api/run/nothing/head", 404),
        (address, "api/run/team-of-17/event/999999", 404),
        (address, "api/run/team-of-17/part/rows-x", 404),
        (address, "api/run/nothing/live", 404),
        (outside, "/", 404),
        (outside, "/wrong-token/api/home", 404),
    ]:
        status, headers, _ = get(base, path)
        assert status == wanted, path
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'"), path
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers
    assert get(address, Host="evil.example")[0] == 400


def test_nothing_can_be_changed_over_it(team: Path, view: View) -> None:
    url = urlsplit(view(team))
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=20)
        connection.request(method, url.path + "api/home", body=b"{}")
        assert connection.getresponse().status == 405
        connection.close()


def test_an_event_is_given_as_the_journal_has_it(team: Path, view: View) -> None:
    address = view(team)
    lines = (team / "journal.jsonl").read_bytes().splitlines()
    for seq in (0, 3, 17, 1234, len(lines) - 1):
        assert get(address, f"api/run/{team.name}/event/{seq}")[2] == lines[seq]


def test_a_stream_follows_the_journal_from_where_the_page_is(tmp_path: Path, view: View) -> None:
    run = small_run(tmp_path / "odd name ä", STUDY[2], "t", 0.5, Random(1))
    data = (run / "journal.jsonl").read_bytes()
    lines = data.splitlines(keepends=True)
    (run / "journal.jsonl").write_bytes(b"".join(lines[:10]) + lines[10][:20])
    url = urlsplit(view(tmp_path))
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=20)
    connection.request("GET", f"{url.path}api/run/{quote(run.name)}/live")
    answer = connection.getresponse()
    first = message(answer)
    assert (first["count"], len(first["columns"]["t"])) == (10, 10)
    with (run / "journal.jsonl").open("ab") as file:
        file.write(lines[10][20:] + b"".join(lines[11:30]))
    second = message(answer)
    assert (second["count"], len(second["columns"]["t"])) == (30, 20)
    connection.close()

    again = http.client.HTTPConnection(url.hostname or "", url.port, timeout=20)
    again.request("GET", f"{url.path}api/run/{quote(run.name)}/live", headers={"Last-Event-ID": first["cursor"]})
    assert len(message(again.getresponse())["columns"]["t"]) == 20
    again.close()


def message(answer: http.client.HTTPResponse) -> Any:
    while not (line := answer.readline()).startswith(b"data: "):
        assert line, "the stream ended"
    return json.loads(line[6:])


def test_the_search_and_the_parts(team: Path, view: View) -> None:
    address = view(team)
    base = f"api/run/{team.name}"
    hits = asked(address, f"{base}/search?q={quote('Report of w3')}")["hits"]
    assert len(hits) == 2
    assert len(asked(address, f"{base}/part/reports")["reports"]) == 16
    assert asked(address, f"{base}/part/integrity")["status"] == "whole"
    assert asked(address, f"{base}/part/result")["source"] == "none"
    assert len(asked(address, f"{base}/delta")["columns"]["t"]) == len(read_journal(team / "journal.jsonl"))


def test_the_command_says_where_to_look_and_ends_on_a_signal(team: Path, tmp_path: Path) -> None:
    program = "import typer; from leadhand.cli.view import register\napp = typer.Typer()\nregister(app)\napp()"
    command = [sys.executable, "-W", "error", "-c", program, str(team), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert get(address, "api/home")[0] == 200
        process.terminate()
        assert process.wait(20) in (0, -15)
    done = subprocess.run([*command, "--export", "out"], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1 run written; open out/index.html\n"), done.stderr
    assert (tmp_path / "out" / "data" / "r0" / "delta.js").exists()


# What could turn text into markup or code, or reach another machine.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\b"
    r"|new Function"
    r"|setTimeout\(\s*[\"'`]|import\(|XMLHttpRequest|WebSocket|sendBeacon|https?://(?!www\.w3\.org/)"
)


@pytest.mark.parametrize("name", sorted([*modules(), "index.html", "app.css", "icon.svg"]))
def test_no_asset_can_make_markup_of_text_or_reach_another_host(name: str) -> None:
    data = modules()[name] if name in modules() else (STATIC / name).read_bytes()
    assert FORBIDDEN.findall(data.decode()) == []
    if name == "index.html":
        assert not re.search(rb"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=", data)


def test_the_forbidden_is_found() -> None:
    for text in (
        "node.innerHTML = x",
        "eval(x)",
        'fetch("https://example.com")',
        'setTimeout("x()", 1)',
        "import('./x')",
    ):
        assert FORBIDDEN.search(text)
