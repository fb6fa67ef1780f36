#!/usr/bin/env bash
# Builds ./executable. It may be a link at first (to the original), so it is removed, not written through.
set -eu
cd "$(dirname "$0")"
rm -f executable
cat > executable <<'PYTHON'
#!/usr/bin/env python3
import sys

SIGNS = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
    (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
]
MOST = 3_999_999


def below_4000(n):
    text = ""
    for value, sign in SIGNS:
        text += sign * (n // value)
        n %= value
    return text


def numeral(n):
    if n == 0:
        return "N"
    if n >= 4000:
        return "(" + below_4000(n // 1000) + ")" + below_4000(n % 1000)
    return below_4000(n)


def simple(text):
    worth = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    values = [worth[c] for c in text] + [0]
    return sum(-a if a < b else a for a, b in zip(values, values[1:]))


def value(text):
    text = text.upper()
    thousands, rest = "", text
    if text.startswith("("):
        thousands, _, rest = text[1:].partition(")")
    try:
        n = 0 if text == "N" else 1000 * simple(thousands) + simple(rest)
    except KeyError:
        return None
    return n if 0 <= n <= MOST and numeral(n) == text else None


def converted(text, small):
    if text.isascii() and text.isdigit() and int(text) <= MOST:
        roman = numeral(int(text))
        return roman.lower() if small else roman
    n = value(text)
    return "?" if n is None else str(n)


def main():
    values, small = sys.argv[1:], False
    while values and values[0].startswith("-"):
        if values.pop(0) != "-l":
            return 2
        small = True
    if not values:
        values = [line for line in sys.stdin.read().split("\n") if line]
    lines = [converted(v, small) for v in values]
    print("\n".join(lines))
    return int("?" in lines)


sys.exit(main())
PYTHON
chmod +x executable
