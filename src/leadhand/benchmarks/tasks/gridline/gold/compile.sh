#!/usr/bin/env bash
# Builds ./executable. It may be a link at first (to the original), so it is removed, not written through.
set -eu
cd "$(dirname "$0")"
rm -f executable
cat > executable <<'PYTHON'
#!/usr/bin/env python3
import re
import sys

WHOLE = re.compile(r"-?[0-9]+")


class Usage(Exception):
    pass


def options(words):
    found = {"d": ",", "a": "", "b": "plain", "w": 0, "k": 0, "H": False, "n": False, "t": False, "down": False}
    while words and words[0].startswith("-") and words[0] != "-":
        key = words.pop(0)[1:]
        if key in ("H", "n", "t"):
            found[key] = True
            continue
        if key not in ("d", "a", "b", "w", "k") or not words:
            raise Usage
        found[key] = words.pop(0)
    if found["d"] == "tab":
        found["d"] = "\t"
    down = str(found["k"]).startswith("-")
    try:
        found.update(w=int(found["w"]), k=abs(int(found["k"])), down=down)
    except ValueError:
        raise Usage from None
    if len(found["d"]) != 1 or set(found["a"]) - set("lrc") or found["b"] not in ("plain", "ascii", "md", "dots"):
        raise Usage
    return found


def split(line, delimiter):
    fields, field, quoted, i = [], "", False, 0
    while i < len(line):
        c = line[i]
        i += 1
        if c == '"' and quoted and line[i : i + 1] == '"':
            field += c
            i += 1
        elif c == '"' and (quoted or not field):
            quoted = not quoted
        elif c == delimiter and not quoted:
            fields.append(field)
            field = ""
        else:
            field += c
    return [*fields, field]


def read(files, delimiter):
    rows, missing = [], False
    for name in files or ["-"]:
        try:
            text = sys.stdin.read() if name == "-" else open(name).read()
        except OSError:
            missing = True
            continue
        rows += [split(line, delimiter) for line in text.split("\n") if line]
    return rows, missing


def is_numeric(rows, column, header):
    cells = [row[column] for row in rows[header:] if row[column]]
    return bool(cells) and all(WHOLE.fullmatch(c) for c in cells)


def arranged(rows, o, header):
    """Sorted, with totals and numbers, cut: everything that changes cells."""
    if o["k"]:
        column = o["k"] - 1
        if is_numeric(rows, column, header):
            key = lambda row: (row[column] != "", int(row[column] or 0))
        else:
            key = lambda row: row[column].encode()
        rows = rows[:header] + sorted(rows[header:], key=key, reverse=o["down"])
    if o["t"]:
        last = ["total" if c == 0 else "" for c in range(len(rows[0]))]
        for c in range(len(last)):
            if is_numeric(rows, c, header):
                last[c] = str(sum(int(row[c]) for row in rows[header:] if WHOLE.fullmatch(row[c])))
        rows = [*rows, last]
    if o["n"]:
        marks = [str(i + 1 - header) for i in range(len(rows))]
        if header:
            marks[0] = "#"
        if o["t"]:
            marks[-1] = ""
        rows = [[mark, *row] for mark, row in zip(marks, rows)]
    if o["w"]:
        rows = [[c if len(c) <= o["w"] else c[: o["w"] - 1] + "~" for c in row] for row in rows]
    return rows


def sides_of(rows, o, header):
    sides = ["r" if is_numeric(rows, c, header) else "l" for c in range(len(rows[0]))]
    if o["a"]:
        for c in range(o["n"], len(sides)):
            sides[c] = o["a"][min(c - o["n"], len(o["a"]) - 1)]
    return sides


def padded(text, width, side, pad):
    spare = width - len(text)
    before = {"l": 0, "r": spare, "c": spare // 2}[side]
    return pad * before + text + pad * (spare - before)


def table(rows, o, header):
    style, sides = o["b"], sides_of(rows, o, header)
    widths = [max(3 if style == "md" else 1, *(len(row[c]) for row in rows)) for c in range(len(sides))]
    boxed = style in ("ascii", "md")
    between = {"plain": "  ", "dots": ".."}.get(style, " | ")

    def line(row):
        cells = [padded(t, w, s, "." if style == "dots" else " ") for t, w, s in zip(row, widths, sides)]
        if style == "plain" and sides[-1] == "l":
            cells[-1] = row[-1]
        elif style == "plain" and sides[-1] == "c":
            cells[-1] = " " * ((widths[-1] - len(row[-1])) // 2) + row[-1]
        text = between.join(cells)
        return "| " + text + " |" if boxed else text

    def rule(mark):
        if style == "dots":
            return []
        if style == "plain":
            return ["  ".join(mark * w for w in widths)]
        if style == "ascii":
            return ["+" + "+".join(mark * (w + 2) for w in widths) + "+"]
        ends = {"l": ("-", "-"), "r": ("-", ":"), "c": (":", ":")}
        return ["| " + " | ".join(ends[s][0] + "-" * (w - 2) + ends[s][1] for w, s in zip(widths, sides)) + " |"]

    lines = rule("-") if style == "ascii" else []
    for i, row in enumerate(rows):
        if o["t"] and i == len(rows) - 1 and style != "md":
            lines += rule("-")
        lines.append(line(row))
        if i == 0 and header:
            lines += rule("=" if style == "ascii" else "-")
        elif i == 0 and style == "md":
            lines += rule("-")
    return lines + (rule("-") if style == "ascii" else [])


def main():
    words = sys.argv[1:]
    try:
        o = options(words)
    except Usage:
        return 2
    rows, missing = read(words, o["d"])
    if not rows:
        return 1 if missing else 3
    columns = max(map(len, rows))
    if o["k"] > columns:
        return 4
    rows = [row + [""] * (columns - len(row)) for row in rows]
    header = int(o["H"] and len(rows) > 1)
    print("\n".join(table(arranged(rows, o, header), o, header)))
    return int(missing)


sys.exit(main())
PYTHON
chmod +x executable
