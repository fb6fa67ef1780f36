/* satchel: a traveller's toolkit of four small tools. The tables below are what a team has to find out by asking. */
#include "tiny.h"

#define MOST 1000000000L

/* --- spell ------------------------------------------------------------------------------------------------- */

static const char *const code_words[36] = {
    "amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "jetty", "knoll", "larch",
    "maple", "north", "ochre", "plume", "quill", "reef", "slate", "thorn", "umber", "vale", "willow", "xebec",
    "yarrow", "zinc", "nil", "ace", "duo", "trey", "quad", "quint", "hexa", "sept", "octo", "nona",
};

static int place(char c) {
    c = lower(c);
    if (c >= 'a' && c <= 'z') return c - 'a';
    if (c >= '0' && c <= '9') return 26 + c - '0';
    return -1;
}

static const char *joint = " ";

static void spell_line(const char *s) {
    for (int i = 0; s[i]; i++) {
        int at = place(s[i]);
        if (i) puts_(joint);
        if (s[i] == ' ') {
            put('/');
        } else if (at < 0) {
            put('<'), put(s[i]), put('>');
        } else {
            const char *word = code_words[at];
            put(s[i] >= 'A' && s[i] <= 'Z' ? upper(*word) : *word);
            puts_(word + 1);
        }
    }
    put('\n');
}

/* One code word back to its character; 0 where there is no such word. */
static char unspell(const char *word) {
    char small[64];
    usize n = length(word);
    if (n == 0 || n >= sizeof small) return 0;
    if (same(word, "/")) return ' ';
    if (n == 3 && word[0] == '<' && word[2] == '>') return word[1];
    memcpy(small, word, n + 1);
    small[0] = lower(small[0]);
    for (int i = 0; i < 36; i++)
        if (same(small, code_words[i])) {
            char c = i < 26 ? (char)('a' + i) : (char)('0' + i - 26);
            return word[0] != small[0] ? upper(c) : c;
        }
    return 0;
}

static int unspell_line(char *s) {
    int bad = 0;
    for (;;) {
        while (*s == ' ') s++;
        if (!*s) break;
        char *end = s;
        while (*end && *end != ' ') end++;
        char held = *end;
        *end = 0;
        char c = unspell(s);
        put(c ? c : '?');
        bad |= !c;
        *end = held;
        s = end;
    }
    put('\n');
    return bad;
}

static char text[65536];

static int spell(int argc, char **argv) {
    int back = 0, i = 0, bad = 0;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (same(argv[i], "-r")) back = 1;
        else if (same(argv[i], "-j") && i + 1 < argc) joint = argv[++i];
        else fail("usage: satchel spell [-r] [-j JOINT] [TEXT...]", 2);
    }
    usize used = 0;
    if (i < argc) {
        for (int first = i; i < argc; i++) {
            usize n = length(argv[i]);
            if (used + n + 2 > sizeof text) fail("satchel: too much text", 2);
            if (i > first) text[used++] = ' ';
            memcpy(text + used, argv[i], n);
            used += n;
        }
        text[used++] = '\n';
    } else {
        used = slurp(0, text, 0, sizeof text - 1);
        if (used && text[used - 1] != '\n') text[used++] = '\n';
    }
    for (usize start = 0, at = 0; at < used; at++) {
        if (text[at] != '\n') continue;
        text[at] = 0;
        if (back) bad |= unspell_line(text + start);
        else spell_line(text + start);
        start = at + 1;
    }
    return bad;
}

/* --- weigh ------------------------------------------------------------------------------------------------- */

static const struct { const char *one, *many; long motes; } units[6] = {
    {"mote", "motes", 1},     {"grain", "grains", 4},      {"bean", "beans", 36},
    {"loaf", "loaves", 180},  {"sheaf", "sheaves", 2160},  {"ox", "oxen", 15120},
};

static int unit(const char *name) {
    for (int i = 0; i < 6; i++)
        if (same(name, units[i].one) || same(name, units[i].many)) return i;
    fail("satchel: no such unit", 3);
}

static void amount(long whole, int u) {
    put_number(whole);
    put(' ');
    puts_(whole == 1 ? units[u].one : units[u].many);
}

static long common(long a, long b) {
    while (b) { long rest = a % b; a = b; b = rest; }
    return a;
}

static void converted(long motes, int to) {
    long size = units[to].motes, whole = motes / size, rest = motes % size;
    if (!rest) {
        amount(whole, to);
    } else {
        long shared = common(size, rest);
        if (whole) put_number(whole), put(' ');
        put_number(rest / shared), put('/'), put_number(size / shared), put(' ');
        puts_(whole ? units[to].many : units[to].one);
    }
    put('\n');
}

static void broken_down(long motes) {
    if (!motes) puts_("nothing");
    for (int u = 5, first = 1; u >= 0; u--) {
        long whole = motes / units[u].motes;
        motes %= units[u].motes;
        if (!whole) continue;
        if (!first) puts_(motes ? ", " : " and ");
        amount(whole, u);
        first = 0;
    }
    put('\n');
}

static int weigh(int argc, char **argv) {
    if (argc == 1 && same(argv[0], "-l")) {
        for (int i = 0; i < 6; i++) puts_(units[i].one), put('\n');
        return 0;
    }
    int down = argc && same(argv[0], "-b");
    if (argc != 3) fail("usage: satchel weigh N FROM TO | -b N FROM | -l", 2);
    long n = number(argv[down], MOST);
    if (n < 0) fail("satchel: not an amount", 2);
    long motes = n * units[unit(argv[1 + down])].motes;
    if (down) broken_down(motes);
    else converted(motes, unit(argv[2]));
    return 0;
}

/* --- date -------------------------------------------------------------------------------------------------- */

static const struct { const char *name; int days; } months[8] = {
    {"Thaw", 29}, {"Sowing", 31}, {"Bloom", 30}, {"Haymoon", 33},
    {"Reaping", 31}, {"Cider", 28}, {"Frost", 32}, {"Longnight", 26},
};
static const char *const weekdays[6] = {"Hearthday", "Millday", "Forgeday", "Loomday", "Marketday", "Restday"};

static int leap(long year) { return year % 6 == 0 && year % 30 != 0; }
static int days_of_year(long year) { return 240 + leap(year); }
static int days_of_month(int m, long year) { return months[m].days + (m == 7 && leap(year)); }

static int no_such_day(void) {
    puts_("no such day\n");
    return 4;
}

static const char *ending(long n) {
    if (n % 100 / 10 == 1) return "th";
    return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

static int day_to_date(const char *s) {
    long n = number(s, 10000000), rest = n - 1, year = 1;
    if (n < 1) return no_such_day();
    for (; rest >= days_of_year(year); year++) rest -= days_of_year(year);
    int m = 0;
    for (; rest >= days_of_month(m, year); m++) rest -= days_of_month(m, year);
    puts_(weekdays[(n + 1) % 6]);
    puts_(", "), put_number(rest + 1), puts_(ending(rest + 1));
    puts_(" of "), puts_(months[m].name);
    puts_(", year "), put_number(year), put('\n');
    return 0;
}

/* A month by its name or the first three or more letters of it, in either case; -1 if there is none. */
static int month(const char *s) {
    usize n = length(s);
    for (int m = 0; m < 8 && n >= 3; m++) {
        usize i = 0;
        while (i < n && lower(s[i]) == lower(months[m].name[i])) i++;
        if (i == n) return m;
    }
    return -1;
}

static int date_to_day(const char *day, const char *name, const char *of_year) {
    long d = number(day, 99), year = number(of_year, 40000), total = 0;
    int m = month(name);
    if (m < 0 || year < 1 || d < 1 || d > days_of_month(m, year)) return no_such_day();
    for (long y = 1; y < year; y++) total += days_of_year(y);
    for (int i = 0; i < m; i++) total += days_of_month(i, year);
    put_number(total + d), put('\n');
    return 0;
}

static int date(int argc, char **argv) {
    if (argc == 1 && argv[0][0] != '-') return day_to_date(argv[0]);
    if (argc == 4 && same(argv[0], "-n")) return date_to_day(argv[1], argv[2], argv[3]);
    if (argc == 2 && same(argv[0], "-y")) {
        long year = number(argv[1], 40000);
        if (year < 1) return no_such_day();
        puts_("year "), put_number(year), puts_(" has "), put_number(days_of_year(year));
        puts_(leap(year) ? " days (leap)\n" : " days\n");
        return 0;
    }
    fail("usage: satchel date N | -n DAY MONTH YEAR | -y YEAR", 2);
}

/* --- stamp ------------------------------------------------------------------------------------------------- */

static const signed char values[36] = {
    17, 4, 29, 11, 23, 8, 31, 2, 14, 27, 20, 5, 33, 1, 26, 9, 35, 13,
    22, 6, 30, 18, 3, 25, 12, 34, 7, 28, 15, 21, 10, 36, 16, 24, 19, 32,
};
static const signed char weights[5] = {3, 7, 1, 9, 4};
static const char signs[] = "7kq2xw9rhd4mzpv8tbn5gsj3fyc6l0i";

static long sum_of(const char *s, usize n, int show) {
    long sum = 0;
    int position = 0;
    for (usize i = 0; i < n; i++) {
        int at = place(s[i]);
        if (at < 0) continue;
        int weight = weights[position++ % 5];
        sum += values[at] * weight;
        if (show) {
            put(lower(s[i]));
            puts_(": "), put_number(values[at]), puts_(" x "), put_number(weight);
            puts_(" = "), put_number(values[at] * weight), put('\n');
        }
    }
    if (show) puts_("sum "), put_number(sum), put('\n');
    return sum % 961;
}

static int check(const char *s) {
    usize n = length(s);
    if (n < 4 || s[n - 3] != '-') fail("satchel: no stamp", 5);
    long sum = sum_of(s, n - 3, 0);
    int good = lower(s[n - 2]) == signs[sum / 31] && lower(s[n - 1]) == signs[sum % 31];
    puts_(good ? "good\n" : "bad\n");
    return !good;
}

static int stamp(int argc, char **argv) {
    int show = argc == 2 && same(argv[0], "-v");
    if (argc == 2 && same(argv[0], "-c")) return check(argv[1]);
    if (argc != 1 + show || (!show && argv[0][0] == '-')) fail("usage: satchel stamp [-v] TEXT | -c STAMPED", 2);
    const char *s = argv[show];
    long sum = sum_of(s, length(s), show);
    puts_(s), put('-'), put(signs[sum / 31]), put(signs[sum % 31]), put('\n');
    return 0;
}

/* ----------------------------------------------------------------------------------------------------------- */

static int run(int argc, char **argv) {
    const char *tool = argc > 1 ? argv[1] : "";
    if (same(tool, "spell")) return spell(argc - 2, argv + 2);
    if (same(tool, "weigh")) return weigh(argc - 2, argv + 2);
    if (same(tool, "date")) return date(argc - 2, argv + 2);
    if (same(tool, "stamp")) return stamp(argc - 2, argv + 2);
    fail("usage: satchel spell|weigh|date|stamp ...", 2);
}
