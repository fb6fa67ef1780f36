"""One simulated run: a lead and its workers go through the motions, and every event is there."""

from __future__ import annotations

from random import Random

from leadhand.analysis.writing import JournalWriter
from leadhand.core.design import Design
from leadhand.core.events import AttemptStarted, Selected
from leadhand.core.values import Usage

_WORDS = "parser token state table flag option input output error format buffer index range loop date value".split()  # noqa: SIM905
_READ = ("cat README.md", "/reference/executable --help", "/reference/executable < in.txt", "ls -la", "grep -rn f src")
_WRITE = ("cat > src/{name}.c <<'EOF'\nint x;\nEOF", "sed -i 's/a/b/' src/{name}.c")
_CHECK = ("./compile.sh && ./executable < in.txt", "diff <(/reference/executable a) <(./executable a)")


class _Run:
    """The state of one simulation. Everything random comes from `random`."""

    def __init__(self, design: Design, random: Random) -> None:
        self.w = JournalWriter()
        self.design = design
        self.random = random
        self.head = design.heads[0]
        self.prompt: dict[str, int] = {}
        self.workers: list[str] = []
        self.pending: list[tuple[str, ...]] = []

    def join(self, name: str, model: str) -> None:
        roles = self.design.roles
        self.w.agent(name, roles[0] if name in self.design.heads else roles[-1], model)
        self.prompt[name] = self.random.randint(1500, 2500)

    def usage(self, name: str) -> Usage:
        """A growing prompt that is mostly read from the cache; now and then the cache is cold."""
        before = self.prompt[name]
        new, output = self.random.randint(200, 900), self.random.randint(80, 700)
        self.prompt[name] = before + new + output
        if self.random.random() < 0.05:
            return Usage(input=before + new, output=output, reasoning=output // 3)
        return Usage(input=new, cache_read=before, output=output, reasoning=output // 3)

    def bash(self, name: str, model: str, command: str) -> None:
        text = command.format(name=self.random.choice(_WORDS)) if "{name}" in command else command
        keys = self.w.step(
            name, model, self.usage(name), ("bash", {"command": text}), seconds=self.random.expovariate(0.4)
        )
        changed = ("src/x.c",) if "src/" in text and text.startswith(("cat >", "sed -i")) else ()
        self.w.command(name, keys[0], self.random.expovariate(2.0), changed=changed, output="x" * 40)
        self.w.results(name, text="x" * 40)

    def work(self, name: str, model: str, commands: tuple[str, ...], steps: int) -> None:
        for _ in range(steps):
            self.bash(name, model, self.random.choice(commands))

    def delegate(self, stage: str, count: int) -> None:
        """All calls in one turn; then the workers one after the other, and one merged report."""
        d, w = self.design, self.w
        keys = w.step(self.head, d.lead, self.usage(self.head), *[("delegate_agent", {})] * count, seconds=2.0)
        started = []
        blocking = d.schedule == "blocking"
        for i, key in enumerate(keys):
            name = f"w{i + 1}"
            resumed = name in self.workers
            w.started(self.head, key, "delegate_agent")
            if not resumed:
                self.workers.append(name)
                self.join(name, d.worker or d.lead)
            started.append(
                (w.delegate(self.head, name, key, " ".join(self.random.choices(_WORDS, k=40)), resumed), name, key)
            )
            if not blocking:
                w.ended(self.head, key)
        if not blocking:
            w.results(self.head, count)
            wait = w.step(self.head, d.lead, self.usage(self.head), ("wait", {}), seconds=1.0)
            w.started(self.head, wait[0], "wait")
        for delegation, name, key in started:
            commands = {"P": _READ, "I": _WRITE + _CHECK, "V": _CHECK}[stage]
            self.work(name, d.worker or d.lead, commands, self.random.randint(4, 9))
            self.messages(name)
            w.report(delegation, name, " ".join(self.random.choices(_WORDS, k=self.random.randint(20, 120))))
            if blocking:
                w.ended(self.head, key)
        if not blocking:
            w.ended(self.head, wait[0])
        w.results(self.head, text="report", delivers=tuple(s[0] for s in started))

    def messages(self, name: str) -> None:
        if self.design.messaging == "off":
            return
        for _ in range(self.random.randint(1, 3)):
            sent = [self.w.mail(name, self.head, "which format is wanted?")]
            if self.random.random() < 0.4:
                sent.append(self.w.mail(self.head, name, "the one of the reference"))
                self.w.results(name, mail=(sent[1],))
            self.w.results(self.head, mail=(sent[0],))


def simulate_run(design: Design, reward: float, random: Random) -> JournalWriter:
    """A whole run of this design that ends with this reward; one in 200 is cut off, one in 100 degraded."""
    run = _Run(design, random)
    if design.strategy != "team":
        return _group(run, reward)
    run.join(run.head, design.lead)
    thorough = 2 if design.guidance == "PIV" or not design.solo else 1
    run.work(run.head, design.lead, _READ, 3 * thorough)
    stages = _stages(design, random)
    for stage in ("P", "I", "V"):
        if stage in stages:
            run.delegate(stage, _size(design, random))
        if stage == "P":
            run.bash(run.head, design.lead, _WRITE[0])
            run.work(run.head, design.lead, (*_WRITE, *_CHECK), 5)
    run.bash(run.head, design.lead, _CHECK[0])
    run.w.end_agent(run.head, "finished", fault="quota" if random.random() < 0.01 else "")
    if random.random() < 0.005:
        run.w.end("infrastructure")
    else:
        run.w.end("finished", round(reward, 6), "g")
    return run.w


def _group(run: _Run, reward: float) -> JournalWriter:
    """Peers or candidates: each does the whole job, and the last is chosen."""
    design, w = run.design, run.w
    for name in design.heads:
        run.join(name, design.lead)
        run.work(name, design.lead, _READ, 6)
        run.work(name, design.lead, (*_WRITE, *_CHECK), 8)
        w.end_agent(name)
    selector = design.collect if design.strategy == "peers" else design.selector
    w.add("", Selected(chosen=design.heads[-1], selector=selector))
    w.end("finished", round(reward, 6), "g")
    return w


def simulate_lost_attempt(design: Design, random: Random) -> JournalWriter:
    """An attempt that was lost with its machine: some work, and a call of which nobody knows what it cost."""
    run = _Run(design, random)
    run.join(run.head, design.lead)
    run.work(run.head, design.lead, _READ, random.randint(1, 8))
    bound = run.prompt[run.head] + 500
    run.w.add(
        run.head, AttemptStarted(attempt=10_000, head="", model=design.lead, prompt_bound=bound, output_bound=16_000)
    )
    return run.w


def _stages(design: Design, random: Random) -> str:
    if design.solo:
        return ""
    if design.guidance == "minimal":
        return random.choice(("", "I", "I", "P"))
    # What guidance names is not what always happens: labels do not partition the phases.
    extra = random.choice(("", "", "", "V"))
    return design.guidance + extra


def _size(design: Design, random: Random) -> int:
    if design.workers is not None:
        return design.workers
    return min(design.max_workers, random.randint(2, 5) + (random.randint(0, 4) if design.max_workers > 5 else 0))
