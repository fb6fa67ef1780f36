/* The launcher: what every command is started through. No library, about 1 kB; built by scripts/build-launcher.sh.
 *
 *   launcher - PROGRAM ARG...                 become a child subreaper, then the program
 *   launcher FILE ID KIB PROGRAM ARG...       the same, with standard output and error going into FILE
 *
 * A child subreaper adopts every orphan of its command, however it detached itself (setsid, double fork, cleared
 * environment): the process tree below the command is complete, and what is killed is everything.
 *
 * Between the command and FILE stands a pipe and a second process, a sibling of the command (CLONE_PARENT: the command
 * must not find a child that it did not start). It copies until the pipe ends or FILE holds KIB, then says
 * "ID e" (ended) or "ID f" (full) on file descriptor 9. Why a pipe: see runner.sh.
 */

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, CLOSE = 3, CLONE = 56, EXECVE = 59, EXIT = 60, PRCTL = 157, OPENAT = 257, DUP3 = 292, PIPE2 = 293 };
static long call(long n, long a, long b, long c, long d, long e) {
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
  return r;
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call start\n");
#elif defined(__aarch64__)
enum { READ = 63, WRITE = 64, CLOSE = 57, CLONE = 220, EXECVE = 221, EXIT = 93, PRCTL = 167, OPENAT = 56, DUP3 = 24, PIPE2 = 59 };
static long call(long n, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                x3 __asm__("x3") = d, x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}
__asm__(".globl _start\n_start: mov x0, sp\n bl start\n");
#endif

enum { TELL = 9, AT_CWD = -100, CREATE = 01 | 0100 | 01000, SUBREAPER = 36, CLONE_PARENT = 0x8000, CHILD_SIGNAL = 17, INTERRUPTED = -4 };

static unsigned char buffer[65536];

static void move(long from, long to) {
  if (from != to) call(DUP3, from, to, 0, 0, 0), call(CLOSE, from, 0, 0, 0, 0);
}

static void drain(const char *file, const char *id, unsigned long left) {
  int full = call(OPENAT, AT_CWD, (long)file, CREATE, 0644, 0) != 1; /* 1 is free: it becomes standard output */
  while (!full) {
    long n = call(READ, 0, (long)buffer, sizeof buffer, 0, 0);
    if (n == INTERRUPTED) continue;
    if (n <= 0) break;
    full = (unsigned long)n > left;
    if (full) n = left;
    left -= n;
    for (long done = 0, m; done < n; done += m) {
      m = call(WRITE, 1, (long)(buffer + done), n - done, 0, 0);
      if (m == INTERRUPTED) m = 0;
      else if (m <= 0) { full = 1; break; }
    }
  }
  call(CLOSE, 0, 0, 0, 0, 0);
  long n = 0;
  for (; id[n]; n++) buffer[n] = id[n];
  buffer[n++] = ' ';
  buffer[n++] = full ? 'f' : 'e';
  buffer[n++] = '\n';
  call(WRITE, TELL, (long)buffer, n, 0, 0);
  call(EXIT, 0, 0, 0, 0, 0);
}

__attribute__((used, noreturn)) static void start(long *stack) {
  char **argv = (char **)(stack + 1), **envp = argv + stack[0] + 1;
  argv += 2;
  if (argv[-1][0] != '-' || argv[-1][1]) {
    int ends[2];
    unsigned long kib = 0;
    for (const char *c = argv[1]; *c; c++) kib = kib * 10 + (*c - '0');
    if (call(PIPE2, (long)ends, 0, 0, 0, 0) < 0) call(EXIT, 126, 0, 0, 0, 0);
    long child = call(CLONE, CLONE_PARENT | CHILD_SIGNAL, 0, 0, 0, 0);
    if (child < 0) call(EXIT, 126, 0, 0, 0, 0);
    if (!child) {
      call(CLOSE, ends[1], 0, 0, 0, 0);
      move(ends[0], 0);
      call(CLOSE, 1, 0, 0, 0, 0);
      /* the command's text is none of the drain's: `pkill -f` must not find it there */
      for (char **a = argv + 2; *a; a++)
        for (char *c = *a; *c; c++) *c = 0;
      drain(argv[-1], argv[0], kib << 10);
    }
    call(CLOSE, ends[0], 0, 0, 0, 0);
    move(ends[1], 1);
    call(DUP3, 1, 2, 0, 0, 0);
    call(CLOSE, TELL, 0, 0, 0, 0);
    argv += 2;
  }
  call(PRCTL, SUBREAPER, 1, 0, 0, 0);
  call(EXECVE, (long)argv[0], (long)argv, (long)envp, 0, 0);
  call(EXIT, 127, 0, 0, 0, 0);
  __builtin_unreachable();
}
