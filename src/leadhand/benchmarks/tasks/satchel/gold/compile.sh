#!/usr/bin/env bash
# Builds ./executable. It may be a link at first (to the original), so it is removed, not written through.
set -eu
cd "$(dirname "$0")"
rm -f executable
cat > executable <<'PYTHON'
#!/usr/bin/env python3
import math
import sys

WORDS = (
    "amber birch cedar dune ember fjord grove heath islet jetty knoll larch maple north ochre plume quill reef slate "
    "thorn umber vale willow xebec yarrow zinc nil ace duo trey quad quint hexa sept octo nona"
).split()
KEYS = "abcdefghijklmnopqrstuvwxyz0123456789"
UNITS = [
    ("mote", "motes", 1), ("grain", "grains", 4), ("bean", "beans", 36),
    ("loaf", "loaves", 180), ("sheaf", "sheaves", 2160), ("ox", "oxen", 15120),
]
MONTHS = [
    ("Thaw", 29), ("Sowing", 31), ("Bloom", 30), ("Haymoon", 33),
    ("Reaping", 31), ("Cider", 28), ("Frost", 32), ("Longnight", 26),
]
WEEK = ["Hearthday", "Millday", "Forgeday", "Loomday", "Marketday", "Restday"]
VALUES = [
    17, 4, 29, 11, 23, 8, 31, 2, 14, 27, 20, 5, 33, 1, 26, 9, 35, 13,
    22, 6, 30, 18, 3, 25, 12, 34, 7, 28, 15, 21, 10, 36, 16, 24, 19, 32,
]
WEIGHTS = [3, 7, 1, 9, 4]
SIGNS = "7kq2xw9rhd4mzpv8tbn5gsj3fyc6l0i"


class Leave(Exception):
    pass


def number(text, most):
    if not (text.isascii() and text.isdigit()) or int(text) > most:
        return -1
    return int(text)


def spelled(c):
    if c == " ":
        return "/"
    if c.lower() not in KEYS:
        return f"<{c}>"
    word = WORDS[KEYS.index(c.lower())]
    return word.capitalize() if c.isupper() else word


def unspelled(word):
    if word == "/":
        return " "
    if len(word) == 3 and word[0] + word[2] == "<>":
        return word[1]
    small = word[0].lower() + word[1:]
    if small not in WORDS:
        return "?"
    c = KEYS[WORDS.index(small)]
    return c if small == word else c.upper()


def spell(words):
    back, joint = False, " "
    while words and words[0].startswith("-") and words[0] != "-":
        option = words.pop(0)
        if option == "-r":
            back = True
        elif option == "-j" and words:
            joint = words.pop(0)
        else:
            raise Leave(2)
    text = " ".join(words) + "\n" if words else sys.stdin.read()
    bad = 0
    for line in text.removesuffix("\n").split("\n") if text else []:
        if back:
            said = [unspelled(w) for w in line.split()]
            bad |= "?" in said
            print("".join(said))
        else:
            print(joint.join(map(spelled, line)))
    return int(bad)


def unit(name):
    for entry in UNITS:
        if name in entry[:2]:
            return entry
    raise Leave(3)


def amount(n, entry):
    return f"{n} {entry[0] if n == 1 else entry[1]}"


def converted(motes, to):
    whole, rest = divmod(motes, to[2])
    if not rest:
        return amount(whole, to)
    shared = math.gcd(rest, to[2])
    fraction = f"{rest // shared}/{to[2] // shared}"
    return f"{whole} {fraction} {to[1]}" if whole else f"{fraction} {to[0]}"


def broken_down(motes):
    parts = []
    for entry in reversed(UNITS):
        whole, motes = divmod(motes, entry[2])
        if whole:
            parts.append(amount(whole, entry))
    if not parts:
        return "nothing"
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def weigh(words):
    if words == ["-l"]:
        print("\n".join(entry[0] for entry in UNITS))
        return 0
    if len(words) != 3:
        raise Leave(2)
    down = words[0] == "-b"
    n = number(words[down], 10**9)
    if n < 0:
        raise Leave(2)
    motes = n * unit(words[1 + down])[2]
    print(broken_down(motes) if down else converted(motes, unit(words[2])))
    return 0


def leap(year):
    return int(year % 6 == 0 and year % 30 != 0)


def lengths(year):
    return [days + (leap(year) if name == "Longnight" else 0) for name, days in MONTHS]


def ordinal(n):
    if 10 <= n % 100 < 20:
        return f"{n}th"
    return f"{n}" + {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")


def day_to_date(n):
    year, rest = 1, n - 1
    while rest >= 240 + leap(year):
        rest -= 240 + leap(year)
        year += 1
    for (name, _), days in zip(MONTHS, lengths(year)):
        if rest < days:
            return f"{WEEK[(n + 1) % 6]}, {ordinal(rest + 1)} of {name}, year {year}"
        rest -= days


def date_to_day(day, name, year):
    found = [i for i, (m, _) in enumerate(MONTHS) if len(name) >= 3 and m.lower().startswith(name.lower())]
    if not found or year < 1 or not 1 <= day <= lengths(year)[found[0]]:
        raise Leave(4)
    return sum(240 + leap(y) for y in range(1, year)) + sum(lengths(year)[: found[0]]) + day


def date(words):
    if len(words) == 1 and not words[0].startswith("-"):
        n = number(words[0], 10**7)
        if n < 1:
            raise Leave(4)
        print(day_to_date(n))
    elif len(words) == 4 and words[0] == "-n":
        print(date_to_day(number(words[1], 99), words[2], number(words[3], 40000)))
    elif len(words) == 2 and words[0] == "-y":
        year = number(words[1], 40000)
        if year < 1:
            raise Leave(4)
        print(f"year {year} has {240 + leap(year)} days" + " (leap)" * leap(year))
    else:
        raise Leave(2)
    return 0


def worked(text):
    counted = [c for c in text.lower() if c in KEYS]
    return [(c, VALUES[KEYS.index(c)], WEIGHTS[i % 5]) for i, c in enumerate(counted)]


def signs(text):
    total = sum(v * w for _, v, w in worked(text)) % 961
    return SIGNS[total // 31] + SIGNS[total % 31]


def stamp(words):
    if len(words) == 2 and words[0] == "-c":
        text, dash, said = words[1][:-3], words[1][-3:-2], words[1][-2:]
        if dash != "-" or not text:
            raise Leave(5)
        good = said.lower() == signs(text)
        print("good" if good else "bad")
        return int(not good)
    show = len(words) == 2 and words[0] == "-v"
    if len(words) != 1 + show or not show and words[0].startswith("-"):
        raise Leave(2)
    text = words[show]
    if show:
        steps = worked(text)
        for c, v, w in steps:
            print(f"{c}: {v} x {w} = {v * w}")
        print("sum", sum(v * w for _, v, w in steps))
    print(f"{text}-{signs(text)}")
    return 0


def main():
    tool = {"spell": spell, "weigh": weigh, "date": date, "stamp": stamp}.get((sys.argv[1:2] or [""])[0])
    try:
        if tool is None:
            raise Leave(2)
        return tool(sys.argv[2:])
    except Leave as leave:
        code = leave.args[0]
        if code == 4:
            print("no such day")
        return code


sys.exit(main())
PYTHON
chmod +x executable
