"""A grader command's last line: a grade, or a grading error, never a silent zero."""

from __future__ import annotations

import pytest

from leadhand.benchmarks.verdict import verdict
from leadhand.core.errors import GradingError
from leadhand.core.values import ExecResult


def printed(text: bytes, **more: object) -> ExecResult:
    return ExecResult(**{"exit_code": 0, "head": text, "size": len(text), **more})  # type: ignore[arg-type]


def test_the_last_line_is_the_verdict() -> None:
    grade = verdict(printed(b'noise\n{"reward": 0}\n{"reward": 0.5, "passed": 2, "total": 4, "slow": ["x"]}\n\n'))
    assert (grade.reward, grade.passed, grade.total, grade.detail) == (0.5, 2, 4, {"slow": ["x"]})


def test_counts_may_be_left_out_and_a_long_output_is_read_from_its_end() -> None:
    grade = verdict(ExecResult(exit_code=0, head=b"x" * 9, tail=b'xx\n{"reward": 1}', size=10_000))
    assert (grade.reward, grade.passed, grade.total) == (1.0, None, None)


@pytest.mark.parametrize(
    "result",
    [
        printed(b""),
        printed(b"\n \n"),
        printed(b'{"reward": 1}\nTraceback'),
        printed(b'{"reward": 1}', exit_code=1),
        printed(b'{"reward": 1}', ended="timed_out", exit_code=137),
        printed(b'{"reward": 1}', ended="killed", exit_code=137),
        printed(b"1.0"),
        printed(b"[1]"),
        printed(b"null"),
        printed(b'{"reward": NaN}'),
        printed(b'{"reward": Infinity}'),
        printed(b'{"reward": 1e999}'),
        printed(b'{"reward": 1.0001}'),
        printed(b'{"reward": -0.1}'),
        printed(b'{"reward": true}'),
        printed(b'{"reward": "1"}'),
        printed(b'{"reward": null}'),
        printed(b'{"passed": 3, "total": 3}'),
        printed(b'{"reward": 1, "passed": 3.5}'),
        printed(b'{"reward": 1, "passed": -1}'),
        printed(b'{"reward": 1, "passed": 4, "total": 3}'),
        printed(b'{"reward": 1, "x": "\\ud800"}'),
        printed(b'\xff{"reward": 1}'),
        printed(b'{"reward": 1, "x": "\xff"}'),
    ],
)
def test_anything_else_is_a_grading_error_in_one_line(result: ExecResult) -> None:
    with pytest.raises(GradingError) as caught:
        verdict(result)
    assert "\n" not in str(caught.value)
