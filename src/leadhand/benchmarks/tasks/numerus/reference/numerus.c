/* numerus: numbers to Roman numerals and back. */
#include "tiny.h"

#define MOST 3999999L

static const struct { int value; const char *sign; } signs[] = {
    {1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"},
    {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"},
};

static char *below_4000(char *to, long n) {
    for (int i = 0; i < 13; i++)
        for (; n >= signs[i].value; n -= signs[i].value)
            for (const char *s = signs[i].sign; *s; s++) *to++ = *s;
    return to;
}

static void numeral(char *to, long n) {
    if (n == 0) *to++ = 'N';
    if (n >= 4000) {
        *to++ = '(';
        to = below_4000(to, n / 1000);
        *to++ = ')';
        n %= 1000;
    }
    to = below_4000(to, n);
    *to = 0;
}

static int worth(char c) {
    switch (c) {
        case 'I': return 1;
        case 'V': return 5;
        case 'X': return 10;
        case 'L': return 50;
        case 'C': return 100;
        case 'D': return 500;
        case 'M': return 1000;
        default: return 0;
    }
}

/* The value of a numeral, -1 unless it is written the way `numeral` writes it (in either case). */
static long value(const char *s) {
    char big[64], again[96];
    usize n = length(s);
    if (n == 0 || n >= sizeof big) return -1;
    for (usize i = 0; i <= n; i++) big[i] = upper(s[i]);
    long total = 0, scale = 1;
    for (usize i = 0; i < n; i++) {
        if (big[i] == '(') { scale = 1000; continue; }
        if (big[i] == ')') { scale = 1; continue; }
        if (same(big, "N")) break;
        int here = worth(big[i]), next = worth(big[i + 1]);
        if (!here) return -1;
        total += scale * (here < next ? -here : here);
    }
    if (total < 0 || total > MOST) return -1;
    numeral(again, total);
    return same(big, again) ? total : -1;
}

static int small;

static int convert(const char *s) {
    char roman[96];
    long n = number(s, MOST);
    if (n >= 0) {
        numeral(roman, n);
        for (char *c = roman; *c; c++) put(small ? lower(*c) : *c);
    } else if ((n = value(s)) >= 0) {
        put_number(n);
    } else {
        put('?');
    }
    put('\n');
    return n < 0;
}

static char input[65536];

static int run(int argc, char **argv) {
    int first = 1, bad = 0;
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (!same(argv[first], "-l")) fail("usage: numerus [-l] [VALUE...]", 2);
        small = 1;
    }
    if (first < argc) {
        for (; first < argc; first++) bad |= convert(argv[first]);
        return bad;
    }
    usize size = slurp(0, input, 0, sizeof input - 1), start = 0;
    for (usize i = 0; i <= size; i++) {
        if (i < size && input[i] != '\n') continue;
        input[i] = 0;
        if (i > start) bad |= convert(input + start);
        start = i + 1;
    }
    return bad;
}
