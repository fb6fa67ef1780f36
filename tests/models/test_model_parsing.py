"""Hostile JSON and streams cut anywhere: properties of the parsers, and the AWS signature."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.values import ToolCall, ToolResult
from leadhand.models import loose_json as lj
from leadhand.models.sigv4 import signer
from leadhand.models.sse import EventStream
from leadhand.models.wires.common import distinct_ids, expand_parallel, merge_results

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_what_comes_out_can_be_encoded_and_comes_back(value: object) -> None:
    """Whatever Python writes as JSON, NaN and lone surrogates included."""
    out = lj.decode(json.dumps(value).encode())
    again = lj.decode(lj.encode(out))
    assert again == out


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_value_error(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        lj.encode(lj.decode(data))


@pytest.mark.parametrize(
    "deep", [b"[" * 50_000, b'{"a":' * 50_000, b"[" * 50_000 + b"]" * 50_000, b"[" * 150 + b"]" * 150]
)
def test_depth_is_bounded(deep: bytes) -> None:
    with pytest.raises(ValueError, match=r"nested|JSON"):
        lj.decode(deep)


def test_brackets_in_text_are_not_depth() -> None:
    text = '[[{{"\\' * 200
    assert lj.decode(json.dumps({"a": text})) == {"a": text}


@pytest.mark.parametrize(
    ("value", "count"), [(5, 5), (5.0, 5), (5.5, 0), (-1, 0), (True, 0), ("7", 0), (None, 0), (10**15, 0)]
)
def test_counts(value: object, count: int) -> None:
    assert lj.count(value) == count


EVENTS = st.lists(
    st.tuples(st.sampled_from(["", "delta", "done"]), st.text(st.characters(exclude_characters="\r\n"), min_size=1))
)


@given(EVENTS, st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_a_stream_is_the_same_however_it_is_cut(events: list[tuple[str, str]], end: str, data: st.DataObject) -> None:
    wire = "".join(
        (f": comment{end}event: {name}{end}" if name else "") + f"data: {text}{end}{end}" for name, text in events
    ).encode("utf-8", "surrogatepass")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=8)))
    stream, got = EventStream(), []
    for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        got += list(stream.feed(wire[a:b]))
    got += list(stream.end())
    assert got == [(name, text.encode("utf-8", "surrogatepass")) for name, text in events]


def test_data_of_several_lines_and_no_blank_line_at_the_end() -> None:
    stream = EventStream()
    assert list(stream.feed(b"data: a\ndata:b\nid: 5\nretry: 9\n\ndata: last")) == [("", b"a\nb")]
    assert list(stream.end()) == [("", b"last")]


NAMES = st.sampled_from(["bash", "parallel", "multi_tool_use.parallel", ""])
CALLS = st.lists(
    st.builds(
        lambda id, name, uses: ToolCall(
            id=id,
            name=name,
            arguments=msgspec.json.encode({"tool_uses": [{"recipient_name": u} for u in uses]}).decode(),
        ),
        st.sampled_from(["", "a", "b", "a::use0", "call_0"]),
        NAMES,
        st.lists(st.sampled_from(["functions.bash", "finish"]), max_size=3),
    ),
    max_size=6,
)


@given(CALLS)
def test_every_call_has_its_own_id_and_gets_exactly_one_result(calls: list[ToolCall]) -> None:
    fixed, _ = distinct_ids(calls)
    assert len({c.id for c in fixed}) == len(calls)
    shown = expand_parallel(fixed)
    results = merge_results([ToolResult(call_id=c.id, name=c.name, text=c.id) for c in shown])
    assert [r.call_id for r in results] == [c.id for c in fixed]


@pytest.mark.parametrize(
    ("token", "signed", "signature"),
    [
        ("", "content-type;host;x-amz-date", "d90fb1e73e3b87b7afb2383fe701af5efd96acc7dc1776cf13f4f4e35edd4444"),
        (
            "TOKEN/abc==",
            "content-type;host;x-amz-date;x-amz-security-token",
            "9d7a06f3b2d65f222a3262545d35d5a33b7d03bf6c1695d286575641203343a9",
        ),
    ],
)
def test_the_aws_signature_is_the_one_of_botocore(token: str, signed: str, signature: str) -> None:
    """As botocore 1.44.8 signs the same request at the same time."""
    sign = signer(
        "https://bedrock-runtime.us-east-1.amazonaws.com",
        "us-east-1",
        "AKIDEXAMPLE",
        "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        token,
        now=lambda: datetime(2026, 11, 30, 12, tzinfo=UTC),
    )
    headers = sign("/model/" + quote("us.anthropic.claude-opus-4-8-v1:0", safe="") + "/invoke", b'{"a":1}')
    scope = "20261130/us-east-1/bedrock/aws4_request"
    assert headers["authorization"] == (
        f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{scope}, SignedHeaders={signed}, Signature={signature}"
    )
    assert headers["x-amz-date"] == "20261130T120000Z"
