"""The bootstrap's own decisions; that it works on a bare machine is shown by scripts/bare-root.sh."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bootstrap.py"
SPOKEN = ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_CERT", "SSL_CERT_FILE")


@pytest.fixture
def bootstrap(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name in SPOKEN:
        monkeypatch.delenv(name, raising=False)
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_old_python_can_read_it_far_enough_to_refuse() -> None:
    ast.parse(SCRIPT.read_text(), feature_version=(3, 7))


def test_an_old_python_is_told_so_with_the_remedy(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 9, 2, "final", 0))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer; .* is 3\.9\.2\.\n.*make PYTHON="):
        bootstrap.main()


def test_an_index_named_to_pip_is_named_to_uv(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    assert bootstrap.environment()["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"


@pytest.mark.parametrize("name", ["UV_INDEX_URL", "UV_DEFAULT_INDEX"])
def test_an_index_named_to_uv_is_named_to_pip(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "https://mirror.example/simple")
    env = bootstrap.environment()
    assert env["PIP_INDEX_URL"] == env[name] == "https://mirror.example/simple"


def test_what_is_said_to_each_of_them_stands(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://pip.example/simple")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://uv.example/simple")
    env = bootstrap.environment()
    assert (env["PIP_INDEX_URL"], env["UV_DEFAULT_INDEX"]) == (
        "https://pip.example/simple",
        "https://uv.example/simple",
    )


@pytest.mark.parametrize("name", ["PIP_CERT", "SSL_CERT_FILE"])
def test_certificates_are_shared(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "/etc/company.pem")
    env = bootstrap.environment()
    assert (env["PIP_CERT"], env["SSL_CERT_FILE"]) == ("/etc/company.pem", "/etc/company.pem")


def test_nothing_is_made_up_where_nothing_is_said(bootstrap: ModuleType) -> None:
    assert not set(SPOKEN) & set(bootstrap.environment())


def test_uv_is_fetched_once_per_pin(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fetched: list[str] = []

    def fetch(command: list[str | Path], env: dict[str, str]) -> None:
        fetched.append(str(command[-1]))
        (tmp_path / "uv" / "bin").mkdir(parents=True)
        (tmp_path / "uv" / "bin" / "uv").touch()

    pins = tmp_path / "pins"
    pins.write_text("uv==1")
    monkeypatch.setattr(bootstrap, "TOOLS", tmp_path)
    monkeypatch.setattr(bootstrap, "UV_PINS", pins)
    monkeypatch.setattr(bootstrap, "run", fetch)
    monkeypatch.setattr(bootstrap, "find_pip", lambda env: ["pip"])
    uv = bootstrap.installed_uv({})
    assert uv == bootstrap.installed_uv({}) == tmp_path / "uv" / "bin" / "uv"
    assert len(fetched) == 1
    pins.write_text("uv==2")
    bootstrap.installed_uv({})
    assert len(fetched) == 2
