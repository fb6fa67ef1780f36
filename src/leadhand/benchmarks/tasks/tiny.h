/* What the reference programs need of a C library, so that each is a static ELF of a few kilobytes on x86-64 Linux. */
typedef unsigned long usize;

static long syscall3(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

void *memcpy(void *to, const void *from, usize n) {
    char *t = to;
    const char *f = from;
    while (n--) *t++ = *f++;
    return to;
}

void *memset(void *to, int value, usize n) {
    char *t = to;
    while (n--) *t++ = (char)value;
    return to;
}

static char out_buffer[8192];
static usize out_used;

static void flush(void) {
    usize done = 0;
    while (done < out_used) {
        long n = syscall3(1, 1, (long)(out_buffer + done), (long)(out_used - done));
        if (n <= 0) break;
        done += (usize)n;
    }
    out_used = 0;
}

static void put(char c) {
    if (out_used == sizeof out_buffer) flush();
    out_buffer[out_used++] = c;
}

static void puts_(const char *s) {
    while (*s) put(*s++);
}

static void put_number(long n) {
    char digits[24];
    int used = 0;
    unsigned long u = n < 0 ? 0UL - (unsigned long)n : (unsigned long)n;
    if (n < 0) put('-');
    do digits[used++] = (char)('0' + u % 10); while (u /= 10);
    while (used) put(digits[--used]);
}

static __attribute__((noreturn)) void leave(int code) {
    flush();
    for (;;) syscall3(60, code, 0, 0);
}

static usize length(const char *s) {
    usize n = 0;
    while (s[n]) n++;
    return n;
}

static __attribute__((noreturn)) void fail(const char *message, int code) {
    flush();
    syscall3(1, 2, (long)message, (long)length(message));
    syscall3(1, 2, (long)"\n", 1);
    leave(code);
}

static int same(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }
static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 32) : c; }

/* A whole decimal number without sign, at most `most`; -1 if it is none. */
static long number(const char *s, long most) {
    long n = 0;
    if (!*s) return -1;
    for (; *s; s++) {
        if (*s < '0' || *s > '9') return -1;
        n = n * 10 + (*s - '0');
        if (n > most) return -1;
    }
    return n;
}

/* Everything that can be read from `fd`, appended to `into`; the new length. */
static usize slurp(int fd, char *into, usize used, usize room) {
    while (used < room) {
        long n = syscall3(0, fd, (long)(into + used), (long)(room - used));
        if (n <= 0) break;
        used += (usize)n;
    }
    return used;
}

static int run(int argc, char **argv);

__attribute__((noreturn, used)) static void begin(long *stack) { leave(run((int)stack[0], (char **)(stack + 1))); }

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
