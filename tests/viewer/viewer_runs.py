"""Run folders made without running anything: real entries, real chains, any size. For tests and for measuring."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from leadhand.analysis.factors import factors_of
from leadhand.core.chain import Conversation, Elided, Root, rechained
from leadhand.core.design import Design
from leadhand.core.events import (
    FORMAT,
    AgentEnded,
    AgentStarted,
    AnyEvent,
    AttemptReplied,
    AttemptStarted,
    Collected,
    CommandEnded,
    Compacted,
    DelegationEnded,
    DelegationStarted,
    Entry,
    Graded,
    GradingStarted,
    MessageAdded,
    Role,
    RunEnded,
    RunStarted,
    SandboxStarted,
    ToolEnded,
    ToolStarted,
)
from leadhand.core.harness import Prompts
from leadhand.core.values import (
    Assistant,
    Body,
    Grade,
    Price,
    SandboxInfo,
    Task,
    ToolCall,
    ToolResult,
    ToolResults,
    Usage,
    User,
)
from leadhand.runs.spec import Lock, Request, RunFile, read_run_file, write_run_file

LEAD, WORKER = "acme/large-2", "acme/small-2"
PRICES = {
    LEAD: Price(input=3.0, output=15.0, cache_read=0.3, cache_write_5m=3.75, source="made up"),
    WORKER: Price(input=0.8, output=4.0, cache_read=0.08, cache_write_5m=1.0, source="made up"),
}
BEGAN = datetime(2026, 11, 1, 9, tzinfo=UTC)
WORDS = [
    "parse",
    "table",
    "row",
    "cell",
    "width",
    "border",
    "quote",
    "escape",
    "stream",
    "buffer",
    "token",
    "index",
    "merge",
    "flush",
    "header",
    "footer",
]


def run_file(folder: Path, design: Design, task: str = "gridline", prices: dict[str, Price] | None = None) -> None:
    """Write `run.json` of a run that nobody ran."""
    folder.mkdir(parents=True, exist_ok=True)
    what = Task(id=task, prompt=f"Rebuild {task}.")
    lock = Lock(
        digest="d" * 32,
        version="test",
        created=BEGAN.isoformat(),
        task=what,
        design=design,
        prompts=Prompts(lead="You lead.", worker="You work.", assignment="{assignment}", task=what.prompt),
        prices=prices or PRICES,
        sandbox="bwrap",
    )
    write_run_file(folder / "run.json", RunFile(request=Request(task=what, design=design), lock=lock))


Calls = Sequence[tuple[str, dict[str, Any] | str]]


def _written(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


class Maker:
    """Writes a journal as a team would, at times that the caller chooses (seconds from the run's start)."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal.jsonl"
        self.file = self.path.open("wb")
        self.seq = 0
        self.attempt = 0
        self.conversations: dict[str, Conversation] = {}
        self.steps: dict[str, int] = {}
        self.roots: set[str] = set()
        self._asked: dict[str, int] = {}

    def event(self, at: float, agent: str, event: AnyEvent) -> int:
        when = (BEGAN + timedelta(seconds=at)).isoformat(timespec="milliseconds")
        entry = Entry(v=FORMAT, seq=self.seq, at=when, session=0, mono=round(at, 6), agent=agent, event=event)
        self.file.write(msgspec.json.encode(entry) + b"\n")
        self.seq += 1
        return entry.seq

    def begin(self) -> None:
        self.event(0.0, "", RunStarted(digest="d" * 32, version="test"))
        info = SandboxInfo(kind="bwrap", id="made", workspace="/workspace", scratch="/scratch")
        self.event(0.1, "", SandboxStarted(info=info))

    def join(self, at: float, name: str, role: Role, model: str) -> None:
        root = Root(system=f"You are a software engineer. Role: {role}.")
        self.conversations[name], self.steps[name] = Conversation(root), 0
        known = root.id in self.roots
        self.roots.add(root.id)
        self.event(at, name, AgentStarted(role=role, model=model, root_id=root.id, root=None if known else root))

    def add(self, at: float, name: str, body: Body, **brings: Any) -> None:
        message = self.conversations[name].link(body)
        self.conversations[name].append(message)
        self.event(at, name, MessageAdded(message=message, **brings))

    def ask(self, at: float, name: str, model: str) -> None:
        self.attempt += 1
        head = self.conversations[name].head
        self._asked[name] = self.attempt
        asked = AttemptStarted(attempt=self.attempt, head=head, model=model, prompt_bound=9, output_bound=9)
        self.event(at, name, asked)

    def answer(self, at: float, name: str, model: str, text: str, calls: Calls) -> list[str]:
        """The reply to `ask`; the keys of its tool calls. Arguments that are text stay as they are."""
        talk = self.conversations[name]
        step = self.steps[name] = self.steps[name] + 1
        made = tuple(
            ToolCall(id=f"c{step}_{i}", name=tool, arguments=_written(arguments))
            for i, (tool, arguments) in enumerate(calls)
        )
        body = Assistant(wire="scripted", items=[], text=text, calls=made, stop="tool_calls" if made else "end")
        message = talk.link(body)
        talk.append(message)
        known = talk.size // 4
        usage = Usage(input=300, cache_read=max(0, known - 700), cache_write_5m=400, output=40 + len(text) // 4)
        self.event(at, name, AttemptReplied(attempt=self._asked[name], message=message, usage=usage, model=model))
        return [f"{name}.{step}.{i}" for i in range(len(made))]

    def reply(self, at: float, name: str, model: str, text: str, calls: Calls, took: float = 1.0) -> list[str]:
        """A model call that takes `took` seconds, during which nobody else does anything."""
        self.ask(at, name, model)
        return self.answer(at + took, name, model, text, calls)

    def run(self, at: float, key: str) -> None:
        self.event(at, key.partition(".")[0], ToolStarted(call=key, tool="bash"))

    def done(self, at: float, key: str, output: str, took: float = 0.5, exit_code: int = 0) -> ToolResult:
        name, step, index = key.split(".")
        size = len(output.encode())
        self.event(at, name, CommandEnded(call=key, exit_code=exit_code, head=output, size=size, seconds=took))
        return ToolResult(call_id=f"c{step}_{index}", name="bash", text=f"{output}[exit code {exit_code}]")

    def command(self, at: float, key: str, output: str, took: float = 0.5, exit_code: int = 0) -> ToolResult:
        self.run(at, key)
        return self.done(at + took, key, output, took, exit_code)

    def end(self, at: float, reward: float = 0.75, total: int = 40, text: str = "Done.") -> None:
        self.event(at, "", Collected(blob="0" * 64, bytes=1234))
        self.event(at, "", RunEnded(status="finished", text=text))
        self.event(at, "", GradingStarted(digest="g"))
        grade = Grade(reward=reward, passed=round(reward * total), total=total, detail={"areas": {"all": [30, total]}})
        self.event(at + 5, "", Graded(grade=grade, digest="g"))
        self.file.close()


def team_run(folder: Path, *, workers: int, events: int, output: int = 1500, seed: int = 1) -> Path:
    """A lead and its workers, busy until the journal has about so many events. `output`: bytes of a typical command."""
    run_file(folder, Design(lead=LEAD, worker=WORKER, workers=workers, guidance="PIV", budget_usd=500.0))
    maker, random = Maker(folder), Random(seed)
    maker.begin()
    maker.join(0.2, "lead", "lead", LEAD)
    maker.add(0.2, "lead", User(text="Rebuild gridline."))
    names = [f"w{i}" for i in range(1, workers + 1)]
    keys = maker.reply(1.0, "lead", LEAD, "One area for each.", [("delegate_agent", {"assignment": n}) for n in names])
    results = []
    for i, (name, key) in enumerate(zip(names, keys, strict=True)):
        maker.event(2.0, "lead", ToolStarted(call=key, tool="delegate_agent"))
        maker.join(2.0, name, "worker", WORKER)
        said = f"Area {i + 1}: {' '.join(random.choices(WORDS, k=12))}."
        maker.event(2.0, "lead", DelegationStarted(delegation=f"d{i + 1}", worker=name, call=key, assignment=said))
        maker.add(2.0, name, User(text=said), assigns=f"d{i + 1}")
        maker.event(2.0, "lead", ToolEnded(call=key, text=f"d{i + 1}: {name} works on it"))
        results.append(ToolResult(call_id=f"c1_{i}", name="delegate_agent", text=f"d{i + 1}: {name} works on it"))
    maker.add(2.0, "lead", ToolResults(results=tuple(results)))
    _work(maker, random, ["lead", *names], events - 8 * workers - 20, output)
    return folder


BETWEEN = 0.01
"""Seconds between two steps of an agent."""


def _work(maker: Maker, random: Random, names: list[str], until: int, output: int) -> None:
    """Everybody takes turns of reply, command, result, each at its own pace, in the order of time."""
    queue: list[tuple[float, int, str, Callable[[float], float]]] = []
    for i, name in enumerate(names):
        heapq.heappush(queue, (3.0 + i / 10, i, name, _turn(maker, random, name, output)))
    now = 3.0
    while queue:
        now, i, name, act = heapq.heappop(queue)
        pause = act(now)
        if maker.seq < until or pause != BETWEEN:  # nobody stops in the middle of a step
            heapq.heappush(queue, (now + pause, i, name, act))
    for i, name in enumerate(names[1:], start=1):
        now += 1.0
        report = f"Report of {name}: {' '.join(random.choices(WORDS, k=80))}"
        maker.event(now, name, AgentEnded(status="finished", text=report))
        maker.event(now, name, DelegationEnded(delegation=f"d{i}", worker=name, status="finished", report=report))
    everything = tuple(f"d{i}" for i in range(1, len(names)))
    maker.add(now + 1, "lead", User(text="All reports."), delivers=everything)
    maker.reply(now + 1, "lead", LEAD, "It is done.", [("finish", {"text": "It is done."})])
    maker.event(now + 3, "lead", AgentEnded(status="finished", text="It is done."))
    maker.end(now + 4)


def _turn(maker: Maker, random: Random, name: str, output: int) -> Callable[[float], float]:
    """A little state machine, so that events of different agents interleave in the order of their times."""
    model = LEAD if name == "lead" else WORKER
    state: dict[str, Any] = {"phase": "ask"}

    def act(at: float) -> float:
        match state["phase"]:
            case "ask":
                maker.ask(at, name, model)
                state["phase"] = "answer"
                return random.uniform(0.8, 9.0)
            case "answer":
                word = random.choice(WORDS)
                writes = random.random() < 0.2
                command = f"cat > src/{word}.py <<'EOF'\n{word} = 1\nEOF" if writes else f"grep -rn {word} src | head"
                said = f"Next the {word}."
                (state["key"],) = maker.answer(at, name, model, said, [("bash", {"command": command})])
                maker.run(at, state["key"])
                state["phase"], state["took"] = "run", random.uniform(0.05, 3.0)
                return float(state["took"])
            case _:
                failed = int(random.random() < 0.05)
                result = maker.done(at, state["key"], _output(random, output), state["took"], failed)
                maker.add(at, name, ToolResults(results=(result,)))
                state["phase"] = "ask"
                return BETWEEN

    return act


def _output(random: Random, size: int) -> str:
    lines = random.randint(0, size // 40)
    return "".join(
        f"src/{random.choice(WORDS)}.py:{random.randint(1, 900)}: {' '.join(random.choices(WORDS, k=8))}\n"
        for _ in range(lines)
    )


def small_run(folder: Path, design: Design, task: str, reward: float, random: Random, *, ended: bool = True) -> Path:
    """A run of some minutes: the lead looks, delegates (if it can), writes, and is graded."""
    run_file(folder, design, task)
    maker = Maker(folder)
    maker.begin()
    solo = design.solo
    maker.join(0.2, "lead", "solo" if solo else "lead", design.lead)
    maker.add(0.2, "lead", User(text=f"Rebuild {task}."))
    now = _exchange(maker, 1.0, "lead", design.lead, "ls -la", random)
    for i in range(0 if solo else design.cap):
        now = _delegation(maker, now, f"w{i + 1}", f"d{i + 1}", design.worker or design.lead, random)
    for word in random.sample(WORDS, 3):
        now = _exchange(maker, now, "lead", design.lead, f"cat > src/{word}.py <<'EOF'\nx = 1\nEOF", random)
    if not ended:
        maker.file.close()
        return folder
    maker.reply(now, "lead", design.lead, "Done.", [("finish", {"text": "Done."})], 2.0)
    maker.event(now + 2, "lead", AgentEnded(status="finished", text="Done."))
    maker.end(now + 2, reward)
    return folder


def _exchange(maker: Maker, at: float, name: str, model: str, command: str, random: Random) -> float:
    took = random.uniform(3, 15)
    (key,) = maker.reply(at, name, model, "Next.", [("bash", {"command": command})], took)
    result = maker.command(at + took, key, _output(random, 1200), 0.5)
    maker.add(at + took + 0.5, name, ToolResults(results=(result,)))
    return at + took + 0.5


def _delegation(maker: Maker, at: float, worker: str, name: str, model: str, random: Random) -> float:
    """One assignment after the other: enough for pages, though no real team is so patient."""
    said = f"Plan {random.choice(WORDS)}."
    lead = "lead"
    (key,) = maker.reply(at, lead, LEAD, "", [("delegate_agent", {"assignment": said})], 2.0)
    maker.event(at + 2, lead, ToolStarted(call=key, tool="delegate_agent"))
    maker.join(at + 2, worker, "worker", model)
    maker.event(at + 2, lead, DelegationStarted(delegation=name, worker=worker, call=key, assignment=said))
    maker.add(at + 2, worker, User(text=said), assigns=name)
    maker.event(at + 2, lead, ToolEnded(call=key, text=f"{name}: {worker} works on it"))
    now = _exchange(maker, at + 2.1, worker, model, "grep -rn x src", random)
    report = f"The plan: {' '.join(random.choices(WORDS, k=30))}"
    maker.event(now, worker, AgentEnded(status="finished", text=report))
    maker.event(now, worker, DelegationEnded(delegation=name, worker=worker, status="finished", report=report))
    result = ToolResult(call_id=f"c{maker.steps[lead]}_0", name="delegate_agent", text=f"{name}: report\n{report}")
    maker.add(now + 0.1, lead, ToolResults(results=(result,)), delivers=(name,))
    return now + 0.2


STUDY = (
    Design(lead=WORKER, solo=True, guidance="PIV"),
    Design(lead=LEAD, solo=True, guidance="PIV"),
    Design(lead=LEAD, worker=WORKER, workers=2, guidance="P"),
    Design(lead=LEAD, worker=LEAD, workers=4, guidance="PIV"),
)
TASKS = [
    f"task-{name}"
    for name in [
        "adder",
        "brook",
        "cedar",
        "delta",
        "ember",
        "fjord",
        "grove",
        "haven",
        "inlet",
        "jetty",
        "knoll",
        "larch",
    ]
]


def study(folder: Path, seed: int = 7) -> Path:
    """Four designs on twelve tasks, each once, with a `study.json`."""
    random = Random(seed)
    skill = (0.35, 0.55, 0.62, 0.7)
    for i, design in enumerate(STUDY):
        for task in TASKS:
            hard = Random(task).uniform(-0.3, 0.25)
            reward = min(1.0, max(0.0, skill[i] + hard + random.uniform(-0.1, 0.1)))
            small_run(folder / "runs" / f"{i}-{task}", design, task, round(reward, 3), random)
    listed = [
        {"run": f"{i}-{task}", "design": factors_of(design).label, "task": task, "repeat": 1}
        for i, design in enumerate(STUDY)
        for task in TASKS
    ]
    (folder / "study.json").write_bytes(msgspec.json.encode({"runs": listed}))
    return folder


def compacted_run(folder: Path) -> Maker:
    """A solo-like run whose first output was left out of what follows; it stops at its next model call."""
    maker = Maker(folder)
    maker.begin()
    maker.join(0.2, "lead", "lead", LEAD)
    maker.add(0.3, "lead", User(text="one"))
    (key,) = maker.reply(0.4, "lead", LEAD, "Look.", [("bash", {"command": "cat long"})], 0.1)
    maker.add(1.0, "lead", ToolResults(results=(maker.command(0.6, key, "a long output\n" * 90, 0.1),)))
    talk = maker.conversations["lead"]
    elided = (Elided(message=2, result=0, text="[left out]"),)
    shorter = Conversation(talk.root, rechained(talk.messages, elided))
    maker.conversations["lead"] = shorter
    maker.event(1.1, "lead", Compacted(head=shorter.head, elided=elided))
    maker.ask(1.2, "lead", LEAD)
    maker.file.close()
    return maker


REFERENCE = "/reference/executable"
COMMANDS = [
    ("ls -la", 0),
    (f"{REFERENCE} --help", 0),
    ("cat > src/main.rs <<'EOF'\nfn main() {}\nEOF", 0),
    (f"strings {REFERENCE}", 0),
    ("cp /reference/executable ./executable", 1),
    ("cd src && sed -i 's/a/b/' main.rs lib.rs", 0),
    ("curl https://example.com/x.tar.gz", 6),
]


def _with_reference(folder: Path) -> RunFile:
    run_file(folder, Design(lead=LEAD, worker=WORKER, workers=2, schedule="blocking"))
    file = read_run_file(folder / "run.json")
    task = msgspec.structs.replace(file.lock.task, reference=REFERENCE)
    file = msgspec.structs.replace(file, lock=msgspec.structs.replace(file.lock, task=task))
    write_run_file(folder / "run.json", file)
    return file


def _delegate(maker: Maker, at: float, workers: list[str]) -> list[str]:
    """The calls of a blocking delegation to each worker."""
    calls: list[tuple[str, dict[str, Any]]] = [("delegate_agent", {"assignment": w}) for w in workers]
    keys = maker.reply(at, "lead", LEAD, "", calls)
    for i, (worker, key) in enumerate(zip(workers, keys, strict=True)):
        maker.event(at + 1, "lead", ToolStarted(call=key, tool="delegate_agent"))
        maker.join(at + 1, worker, "worker", WORKER)
        name = f"d{i + 1}"
        maker.event(at + 1, "lead", DelegationStarted(delegation=name, worker=worker, call=key, assignment=worker))
        maker.add(at + 1, worker, User(text=worker), assigns=name)
    return keys


def suspect_run(folder: Path) -> Path:
    """w1 works for 10 s and w2 for 30 s, each at its commands; the lead waits for both."""
    _with_reference(folder)
    maker = Maker(folder)
    maker.begin()
    maker.join(0.2, "lead", "lead", LEAD)
    maker.add(0.2, "lead", User(text="Rebuild it."))
    keys = _delegate(maker, 4.0, ["w1", "w2"])
    for worker, end in (("w1", 15.0), ("w2", 35.0)):
        at = 5.5 if worker == "w1" else 16.0
        for command, code in COMMANDS:
            (key,) = maker.reply(at, worker, WORKER, "", [("bash", {"command": f"{command} # {worker}"})], 0.2)
            result = maker.command(at + 0.3, key, "out", 0.5, code)
            maker.add(at + 0.9, worker, ToolResults(results=(result,)))
            at += 1.0
        maker.event(end, worker, AgentEnded(status="finished", text="done"))
        name = f"d{worker[1]}"
        maker.event(end, worker, DelegationEnded(delegation=name, worker=worker, status="finished", report="done"))
        maker.event(end, "lead", ToolEnded(call=keys[int(worker[1]) - 1], text="done"))
    results = tuple(ToolResult(call_id=f"c1_{i}", name="delegate_agent", text="done") for i in range(2))
    maker.add(35.0, "lead", ToolResults(results=results), delivers=("d1", "d2"))
    maker.reply(36.0, "lead", LEAD, "Done.", [("finish", {"text": "Done."})], 4.0)
    maker.event(40.0, "lead", AgentEnded(status="finished", text="Done."))
    maker.end(40.0)
    return folder
