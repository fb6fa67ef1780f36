/* gridline: comma-separated rows to aligned tables. */
#include "tiny.h"

#define ROOM (1 << 20)
#define MAX_ROWS 4096
#define MAX_COLUMNS 32
#define LIMIT 1000000000000L

static char input[ROOM], fields[ROOM + (1 << 16)];
static usize fields_used;
static char *cells[MAX_ROWS][MAX_COLUMNS];
static int rows, columns, order[MAX_ROWS];

static char delimiter = ',';
static const char *aligns = "";
static enum { PLAIN, ASCII, MD, DOTS } style = PLAIN;
static int header, numbered, totals, widest, sort_by, descending;

static __attribute__((noreturn)) void usage(void) {
    fail("usage: gridline [-H] [-n] [-t] [-d CHAR] [-a ALIGN] [-b STYLE] [-w WIDTH] [-k COLUMN] [FILE...]", 2);
}

static char *keep(const char *s, usize n) {
    if (fields_used + n + 1 > sizeof fields) fail("gridline: too much input", 1);
    char *start = fields + fields_used;
    memcpy(start, s, n);
    start[n] = 0;
    fields_used += n + 1;
    return start;
}

/* Reads rows out of `size` bytes of input. A quoted field may hold delimiters and "" for one quote, not line ends. */
static void parse(usize size) {
    static char field[65536];
    usize at = 0;
    while (at < size) {
        int column = 0;
        if (input[at] == '\n') { at++; continue; }
        if (rows == MAX_ROWS) fail("gridline: too many rows", 1);
        for (;;) {
            usize n = 0;
            int quoted = 0;
            while (at < size && input[at] != '\n' && (quoted || input[at] != delimiter)) {
                char c = input[at++];
                if (c == '"' && quoted && at < size && input[at] == '"') at++;
                else if (c == '"' && (quoted || n == 0)) { quoted = !quoted; continue; }
                if (n + 1 == sizeof field) fail("gridline: field too long", 1);
                field[n++] = c;
            }
            if (column == MAX_COLUMNS) fail("gridline: too many columns", 1);
            cells[rows][column++] = keep(field, n);
            if (at >= size || input[at] == '\n') break;
            at++;
        }
        at++;
        order[rows] = rows;
        rows++;
        if (column > columns) columns = column;
    }
}

static const char *cell(int row, int column) {
    char *c = cells[order[row]][column];
    return c ? c : "";
}

/* Whether `s` is a whole number with an optional minus sign; its value goes to `value`. */
static int whole(const char *s, long *value) {
    int minus = *s == '-';
    long n = number(s + minus, LIMIT);
    if (value) *value = minus ? -n : n;
    return n >= 0;
}

static int numeric(int column) {
    int some = 0;
    for (int r = header; r < rows; r++) {
        if (!*cell(r, column)) continue;
        if (!whole(cell(r, column), 0)) return 0;
        some = 1;
    }
    return some;
}

static long compare(const char *a, const char *b, int as_numbers) {
    if (as_numbers) {
        long x = 0, y = 0;
        if (!*a || !*b) return (*a != 0) - (*b != 0);
        whole(a, &x), whole(b, &y);
        return x < y ? -1 : x > y;
    }
    while (*a && *a == *b) a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

static void sort(void) {
    int column = sort_by - 1, as_numbers = numeric(column);
    for (int i = header + 1; i < rows; i++)
        for (int j = i; j > header; j--) {
            long c = compare(cell(j - 1, column), cell(j, column), as_numbers);
            if (descending) c = -c;
            if (c <= 0) break;
            int held = order[j];
            order[j] = order[j - 1];
            order[j - 1] = held;
        }
}

static char *decimal(long n) {
    char digits[24];
    int at = 24, minus = n < 0;
    unsigned long u = minus ? 0UL - (unsigned long)n : (unsigned long)n;
    do digits[--at] = (char)('0' + u % 10); while (u /= 10);
    if (minus) digits[--at] = '-';
    return keep(digits + at, (usize)(24 - at));
}

/* The last row: sums under the columns of numbers, and the word "total" where the first column has none. */
static void add_totals(void) {
    if (rows == MAX_ROWS) fail("gridline: too many rows", 1);
    char *sums[MAX_COLUMNS] = {0};
    for (int c = 0; c < columns; c++) {
        long sum = 0, n;
        if (!numeric(c)) {
            sums[c] = c ? "" : keep("total", 5);
            continue;
        }
        for (int r = header; r < rows; r++)
            if (whole(cell(r, c), &n)) sum += n;
        sums[c] = decimal(sum);
    }
    for (int c = 0; c < columns; c++) cells[rows][c] = sums[c];
    order[rows] = rows;
    rows++;
}

static void add_numbers(void) {
    if (columns == MAX_COLUMNS) fail("gridline: too many columns", 1);
    for (int r = 0; r < rows; r++) {
        char **row = cells[order[r]];
        for (int c = columns; c > 0; c--) row[c] = row[c - 1];
        row[0] = header && r == 0 ? "#" : totals && r == rows - 1 ? "" : decimal(r - header + 1);
    }
    columns++;
}

static void cut(void) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            char *s = cells[r][c];
            if (!s || (int)length(s) <= widest) continue;
            s[widest] = 0;
            s[widest - 1] = '~';
        }
}

static int widths[MAX_COLUMNS];
static char sides[MAX_COLUMNS];

static void measure(void) {
    usize given = length(aligns);
    for (int c = 0; c < columns; c++) {
        int asked = c - numbered;
        sides[c] = numeric(c) ? 'r' : 'l';
        if (asked >= 0 && given) sides[c] = aligns[asked < (int)given ? (usize)asked : given - 1];
        widths[c] = style == MD ? 3 : 1;
        for (int r = 0; r < rows; r++)
            if ((int)length(cell(r, c)) > widths[c]) widths[c] = (int)length(cell(r, c));
    }
}

static void repeat(char c, int n) {
    while (n-- > 0) put(c);
}

static void put_cell(int r, int c) {
    const char *s = cell(r, c);
    int spare = widths[c] - (int)length(s), before = sides[c] == 'r' ? spare : sides[c] == 'c' ? spare / 2 : 0;
    char pad = style == DOTS ? '.' : ' ';
    int last = style == PLAIN && c == columns - 1;
    repeat(pad, before);
    puts_(s);
    if (!last) repeat(pad, spare - before);
}

static void put_row(int r) {
    const char *between = style == PLAIN ? "  " : style == DOTS ? ".." : " | ";
    if (style == ASCII || style == MD) puts_("| ");
    for (int c = 0; c < columns; c++) {
        if (c) puts_(between);
        put_cell(r, c);
    }
    if (style == ASCII || style == MD) puts_(" |");
    put('\n');
}

static void rule(char line) {
    if (style == DOTS) return;
    for (int c = 0; c < columns; c++) {
        if (style == PLAIN) {
            if (c) puts_("  ");
            repeat(line, widths[c]);
        } else if (style == ASCII) {
            put('+'), repeat(line, widths[c] + 2);
        } else {
            puts_(c ? " | " : "| ");
            put(sides[c] == 'c' ? ':' : '-'), repeat('-', widths[c] - 2), put(sides[c] == 'l' ? '-' : ':');
        }
    }
    puts_(style == ASCII ? "+\n" : style == MD ? " |\n" : "\n");
}

static void show(void) {
    if (style == ASCII) rule('-');
    for (int r = 0; r < rows; r++) {
        if (totals && r == rows - 1 && style != MD && r > header) rule('-');
        put_row(r);
        if (header && r == 0) rule(style == ASCII ? '=' : '-');
        if (!header && r == 0 && style == MD) rule('-');
    }
    if (style == ASCII) rule('-');
}

static void options(int argc, char **argv, int *at) {
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (argv[i][2]) usage();
        char o = argv[i][1];
        if (o == 'H') { header = 1; continue; }
        if (o == 'n') { numbered = 1; continue; }
        if (o == 't') { totals = 1; continue; }
        if (i + 1 == argc) usage();
        const char *value = argv[++i];
        if (o == 'd') {
            delimiter = same(value, "tab") ? '\t' : value[0];
            if (!delimiter || (delimiter != '\t' && value[1])) usage();
        } else if (o == 'a') {
            for (const char *s = value; *s; s++)
                if (*s != 'l' && *s != 'r' && *s != 'c') usage();
            aligns = value;
        } else if (o == 'b') {
            if (same(value, "plain")) style = PLAIN;
            else if (same(value, "ascii")) style = ASCII;
            else if (same(value, "md")) style = MD;
            else if (same(value, "dots")) style = DOTS;
            else usage();
        } else if (o == 'w') {
            widest = (int)number(value, 10000);
            if (widest < 1) usage();
        } else if (o == 'k') {
            descending = *value == '-';
            sort_by = (int)number(value + descending, MAX_COLUMNS);
            if (sort_by < 1) usage();
        } else {
            usage();
        }
    }
    *at = i;
}

static int run(int argc, char **argv) {
    int at, missing = 0;
    options(argc, argv, &at);
    if (at == argc) parse(slurp(0, input, 0, sizeof input));
    for (; at < argc; at++) {
        long fd = same(argv[at], "-") ? 0 : syscall3(2, (long)argv[at], 0, 0);
        if (fd < 0) { missing = 1; continue; }
        parse(slurp((int)fd, input, 0, sizeof input));
        if (fd) syscall3(3, fd, 0, 0);
    }
    if (!rows) fail("gridline: no rows", missing ? 1 : 3);
    if (sort_by > columns) fail("gridline: no such column", 4);
    if (rows == 1) header = 0;
    if (sort_by) sort();
    if (totals) add_totals();
    if (numbered) add_numbers();
    if (widest) cut();
    measure();
    show();
    return missing;
}
