"""A llama.cpp server of one's own, in a child process: `leadhand[local]`. For a smoke test of the wires, not for work.

    python -m leadhand.models.local MODEL.gguf [--context 4096] [--slots 4] [--threads 1]

prints its base URL, which every wire but Gemini's understands, and serves until it is stopped.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from leadhand.core.errors import UsageError

TOOL_TEMPLATE = """\
{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}

{% endif %}You may call these functions:
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools>
Call one by its name and arguments as JSON within <tool_call></tool_call>:
<tool_call>
{"name": <name>, "arguments": <arguments>}
</tool_call><|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}<|im_start|>user
{{ message.content }}<|im_end|>
{% elif message.role == 'assistant' %}<|im_start|>assistant
{% if message.content %}{{ message.content }}
{% endif %}{% for call in message.tool_calls %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{% endfor %}<|im_end|>
{% elif message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""Chat template in the style of Hermes: small models ship one that knows no tools, and calls would not be shown."""


@contextmanager
def local_server(model: Path, *, context: int = 4096, slots: int = 4, threads: int = 1) -> Iterator[str]:
    """Run the server on `model` (a GGUF file); gives its base URL; stops it at the end. Raises `UsageError`."""
    if find_spec("xllamacpp") is None:
        raise UsageError("no llama.cpp here: install leadhand[local]")
    if not model.is_file():
        raise UsageError(f"no model at {model}: give the path of a GGUF file")
    settings = ["--context", str(context), "--slots", str(slots), "--threads", str(threads)]
    command = [sys.executable, "-m", "leadhand.models.local", str(model), *settings]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise UsageError(f"the llama.cpp server did not start with {model} (exit code {process.wait()})")
            yield url
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def serve(model: Path, context: int, slots: int, threads: int) -> None:
    import xllamacpp  # type: ignore[import-not-found, import-untyped, unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.port = 0
    params.n_ctx = context * slots
    params.n_parallel = slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.warmup = False
    params.chat_template = TOOL_TEMPLATE
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m leadhand.models.local", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--context", type=int, default=4096, help="tokens a slot")
    parser.add_argument("--slots", type=int, default=4, help="requests at once")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args(argv)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    serve(given.model, given.context, given.slots, given.threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
