/* The runner: the process in the sandbox that runs one agent's commands, one after the other, with one fork and one
 * exec each. No library, 4 kB, so that it can be sent into any image; built by scripts/build-runner.sh.
 *
 *   runner PLACE SPOOL NAME KIB     serve: requests on standard input, replies on standard output
 *   runner - PROGRAM ARG...         become a child subreaper, then the program
 *
 * PLACE: ten characters, room for a process id (see `show`). SPOOL: folder of outputs, made when one is needed.
 * NAME: what its files are named after. KIB: size of the largest file.
 * Requests, one line each, then a payload where lengths are given. Anything else ends the runner: it is replaced.
 *   RUN id keep len(cwd) len(command)     PUT id len(path) len(data)
 * Replies: "LH id code size sent flag path" and exactly `sent` bytes. Flags: e the output ended, b something in the
 * background still holds it, f it was cut off (too large, or the disk is full).
 *
 * A child subreaper adopts every orphan of its command, however it detached itself (setsid, double fork, cleared
 * environment): the process tree below the command is complete, and what is killed is everything. Commands are
 * subreapers, so is the runner for what ended commands leave behind. The killing itself is done by control.sh.
 *
 * Output comes through a pipe, never straight into a file: a command that opens /dev/stderr or /dev/stdout anew
 * (`tee /dev/stderr`) would truncate the file. It stays in memory as long as it is small.
 */

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, CLOSE = 3, SIGPROCMASK = 14, SENDFILE = 40, CLONE = 56, EXECVE = 59, EXIT = 60, WAIT4 = 61,
       FTRUNCATE = 77, CHDIR = 80, GETPID = 39, GETUID = 102, GETGID = 104, PRCTL = 157, OPENAT = 257, MKDIRAT = 258,
       UNLINKAT = 263, PPOLL = 271, SIGNALFD4 = 289, DUP3 = 292, PIPE2 = 293, PRLIMIT64 = 302 };
static long call(long n, long a, long b, long c, long d, long e) {
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
  return r;
}
#define ENTRY "_start: mov %rsp, %rdi\n and $-16, %rsp\n call start\n"
/* A child that shares our memory runs on a stack of its own: it must not touch the one to which we return. */
static long clone_to_command(long flags, void *stack) {
  register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
  long r;
  __asm__ volatile("syscall\n test %%rax, %%rax\n jnz 1f\n call command\n 1:"
                   : "=a"(r) : "a"(CLONE), "D"(flags), "S"(stack), "d"(0), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
  return r;
}
#elif defined(__aarch64__)
enum { READ = 63, WRITE = 64, CLOSE = 57, SIGPROCMASK = 135, SENDFILE = 71, CLONE = 220, EXECVE = 221, EXIT = 93,
       WAIT4 = 260, FTRUNCATE = 46, CHDIR = 49, GETPID = 172, GETUID = 174, GETGID = 176, PRCTL = 167, OPENAT = 56,
       MKDIRAT = 34, UNLINKAT = 35, PPOLL = 73, SIGNALFD4 = 74, DUP3 = 24, PIPE2 = 59, PRLIMIT64 = 261 };
static long call(long n, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                x3 __asm__("x3") = d, x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}
#define ENTRY "_start: mov x0, sp\n bl start\n"
static long clone_to_command(long flags, void *stack) {
  register long x8 __asm__("x8") = CLONE, x0 __asm__("x0") = flags, x1 __asm__("x1") = (long)stack,
                x2 __asm__("x2") = 0, x3 __asm__("x3") = 0, x4 __asm__("x4") = 0;
  __asm__ volatile("svc 0\n cbnz x0, 1f\n bl command\n 1:"
                   : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "x30", "memory");
  return x0;
}
#endif
__asm__(".globl _start\n" ENTRY);

enum { HERE = -100, WRITE_ONLY = 01, READ_WRITE = 02, CREATE = 0100, NEW = 0200, TRUNCATE = 01000, NO_WAIT = 04000,
       CLOSE_ON_EXEC = 02000000 };
enum { SET_NAME = 15, SUBREAPER = 36, FILE_SIZE = 1, SET_MASK = 2, CHILD_SIGNAL = 17, SHARE_MEMORY = 0x100,
       UNTIL_EXEC = 0x4000, NO_HANG = 1, READABLE = 1 };
enum { NO_FOLDER = -2, INTERRUPTED = -4, AGAIN = -11, EXISTS = -17 };
enum { REQUESTS = 3, REPLIES = 4 }; /* file descriptors; 0 to 2 are /dev/null */
enum { MEMORY = 131072,   /* bytes of output that need no file */
       ARGUMENT = 100000, /* longest command given as an argument; the kernel's limit is 131072 */
       PATH = 4096,       /* the kernel's limit */
       QUIET_MS = 20,     /* the output of an ended command is complete when nothing came for so long, */
       MOST_LOOKS = 120,  /* or after so many looks: a pipe holds 1 MiB at most, a look takes 64 KiB */
       RETRY_MS = 100,    /* where no process can be started, it is tried anew for as long as bash does */
       RETRIES = 150 };

typedef unsigned long size;
struct look { int fd; short wanted, seen; };
struct time { long seconds, nanoseconds; };

static char **environment;
static char *place;                             /* see `show` */
static char base_room[PATH + 1], *base;         /* SPOOL/NAME */
static size largest;                            /* bytes of a file */
static long signals;                            /* the file descriptor on which SIGCHLD is read */
static size old_mask;                           /* the signal mask of commands */
static char in[65536];                          /* requests as they came, from in_at to in_end */
static size in_at, in_end;
static char folder[PATH + 1], text[ARGUMENT + 1];
static const char *arguments[4];                /* of the command to be started */
static char stack[16384] __attribute__((aligned(16)));
static int ends[2];                             /* the running command's pipe */
static long running, status;                    /* its process until it is reaped, and how it ended */
static char frame[PATH + 256 + MEMORY];         /* a reply: its line ends where `output` begins */
#define output (frame + PATH + 256)
static size total;                              /* bytes of output so far, in memory or, once there is one, in */
static long store;                              /* a file, open for reading and writing, which is called */
static char *file, file_room[PATH + 64];
static size number;                             /* of the files so far */

static void leave(long code) {
  for (;;) call(EXIT, code, 0, 0, 0, 0);
}

static long open_file(const char *name, long flags) {
  return call(OPENAT, HERE, (long)name, flags | CLOSE_ON_EXEC, 0666, 0);
}

static size length(const char *string) {
  size n = 0;
  while (string[n]) n++;
  return n;
}

static size write_all(long fd, const char *data, size n) { /* how much was written */
  size done = 0;
  while (done < n) {
    long m = call(WRITE, fd, (long)(data + done), n - done, 0, 0);
    if (m > 0) done += m;
    else if (m != INTERRUPTED) break;
  }
  return done;
}

/* Texts are made from their end to their begin: `end` is where a part is to end, the result is where it begins. */
static char *put(char *end, const char *string) {
  for (size n = length(string); n; n--) *--end = string[n - 1];
  return end;
}

static char *put_number(char *end, size n) {
  do *--end = '0' + n % 10;
  while (n /= 10);
  return end;
}

/* --- processes --- */

/* Which process is the running command is told in our arguments, where control.sh reads it (/proc/PID/cmdline): that
 * costs nothing, and no command can remove it. The first digit is written last: there is never half a number. */
static void show(long pid) {
  char digits[24] = "", *first = put_number(digits + sizeof digits - 1, pid);
  __atomic_store_n(place, 0, __ATOMIC_RELEASE);
  for (size n = pid ? length(first) : 0; n; n--) __atomic_store_n(place + n - 1, first[n - 1], __ATOMIC_RELEASE);
}

static void take_end(int how) {
  show(running = 0);
  status = how & 0x7f ? 128 + (how & 0x7f) : (how >> 8) & 0xff;
}

static void reap_all(void) { /* commands, and what ended commands left to us */
  int how;
  for (long pid; (pid = call(WAIT4, -1, (long)&how, NO_HANG, 0, 0)) > 0;)
    if (pid == running) take_end(how);
}

static void reap_command(void) {
  int how;
  while (call(WAIT4, running, (long)&how, 0, 0, 0) == INTERRUPTED);
  take_end(how);
}

enum seen { TIME_IS_UP, INPUT, NOTHING };
static enum seen wait_for(long fd, long ms) { /* input on `fd`, for so long (-1: for ever); reaps meanwhile */
  struct time time = {ms / 1000, ms % 1000 * 1000000};
  struct look looks[] = {{fd, READABLE, 0}, {signals, READABLE, 0}};
  long n = call(PPOLL, (long)looks, 2, ms < 0 ? 0 : (long)&time, 0, 8);
  if (n > 0 && looks[1].seen) {
    char which[128];
    call(READ, signals, (long)which, sizeof which, 0, 0);
    reap_all();
  }
  return n == 0 ? TIME_IS_UP : n > 0 && looks[0].seen ? INPUT : NOTHING;
}

/* What the child does. It shares our memory, and we wait until it becomes the command. */
__attribute__((used, noreturn)) static void command(void) {
  size limit[] = {largest, largest};
  call(DUP3, ends[1], 1, 0, 0, 0);
  call(DUP3, ends[1], 2, 0, 0, 0);
  call(PRLIMIT64, 0, FILE_SIZE, (long)limit, 0, 0);
  long fd = open_file("/proc/self/oom_score_adj", WRITE_ONLY); /* a lack of memory ends commands, not runners */
  call(WRITE, fd, (long)"300", 3, 0, 0);
  call(CLOSE, fd, 0, 0, 0, 0);
  if (call(CHDIR, (long)folder, 0, 0, 0, 0) < 0) {
    write_all(1, "there is no folder ", 19);
    write_all(1, folder, length(folder));
    write_all(1, "\n", 1);
    leave(125);
  }
  call(PRCTL, SUBREAPER, 1, 0, 0, 0);
  call(SIGPROCMASK, SET_MASK, (long)&old_mask, 0, 8, 0);
  call(EXECVE, (long)arguments[0], (long)arguments, (long)environment, 0, 0);
  leave(127);
  __builtin_unreachable();
}

static int start_command(void) { /* whether it could be started */
  if (call(PIPE2, (long)ends, CLOSE_ON_EXEC, 0, 0, 0) < 0) return 0;
  for (int i = 0; i < RETRIES; i++) {
    running = clone_to_command(SHARE_MEMORY | UNTIL_EXEC | CHILD_SIGNAL, stack + sizeof stack);
    if (running != AGAIN) break;
    wait_for(-1, RETRY_MS);
  }
  call(CLOSE, ends[1], 0, 0, 0, 0);
  if (running > 0) {
    show(running);
    return 1;
  }
  running = 0;
  call(CLOSE, ends[0], 0, 0, 0, 0);
  return 0;
}

/* --- output --- */

static void make_folders(char *name) { /* all above `name` */
  for (char *c = name + 1; *c; c++)
    if (*c == '/') {
      *c = 0;
      call(MKDIRAT, HERE, (long)name, 0777, 0, 0);
      *c = '/';
    }
}

static char *named(const char *last) { /* SPOOL/NAME.number + last */
  return put(put(put_number(put(file_room + sizeof file_room - 1, last), number), "."), base);
}

static int spill(void) { /* from memory into a file: whether all of it is there */
  for (int made = 0;;) {
    number++;
    file = named(".out");
    store = open_file(file, READ_WRITE | CREATE | NEW);
    if (store == NO_FOLDER && !made++) make_folders(file);
    else if (store != EXISTS) break; /* an earlier session's stays */
  }
  if (store < 0) return store = 0;
  size before = total;
  total = write_all(store, output, total);
  return total == before;
}

static int take_output(void) { /* what is in the pipe: 1; 0 at its end, -1 where no more can be kept */
  if (!store && total == MEMORY && !spill()) return -1;
  size at = store ? 0 : total, left = largest - total, kept;
  long n = call(READ, ends[0], (long)(output + at), MEMORY - at, 0, 0);
  if (n <= 0) return n == INTERRUPTED;
  kept = (size)n > left ? left : (size)n;
  if (store) kept = write_all(store, output, kept);
  total += kept;
  return kept == (size)n ? 1 : -1;
}

/* Until the command has ended and its output too: e; until it is full: f; until somebody in the background is all that
 * holds it: b. What the command itself wrote is in the pipe when it ends; others of it may need a moment. */
static char follow(void) {
  char flag = 'b';
  int looks = 0;
  while (flag == 'b') {
    enum seen seen = wait_for(ends[0], running ? -1 : QUIET_MS);
    int more = seen == INPUT ? take_output() : 1;
    if (more <= 0) flag = more ? 'f' : 'e';
    else if (!running && (seen == TIME_IS_UP || ++looks > MOST_LOOKS)) return 'b';
  }
  call(CLOSE, ends[0], 0, 0, 0, 0);
  if (running) reap_command();
  return flag;
}

static void drain(void) { /* leave the pipe to a process that takes what the background writes */
  if (store || spill()) {
    if (!call(CLONE, CHILD_SIGNAL, 0, 0, 0, 0)) {
      call(CLOSE, REQUESTS, 0, 0, 0, 0);
      call(CLOSE, REPLIES, 0, 0, 0, 0);
      while (take_output() > 0);
      leave(0);
    }
  }
  call(CLOSE, ends[0], 0, 0, 0, 0);
}

/* --- replies --- */

static void say(const char *data, size n) {
  if (write_all(REPLIES, data, n) < n) leave(1);
}

static char *line(size id, size code, size all, size sent, char flag, const char *where) {
  char letter[] = {flag, 0};
  char *at = put(put(put(put(output, "\n"), where), " "), letter);
  at = put_number(put(put_number(put(at, " "), sent), " "), all);
  return put(put_number(put(put_number(put(at, " "), code), " "), id), "LH ");
}

static void say_file(size from, size n) {
  while (n) {
    long m = call(SENDFILE, REPLIES, store, (long)&from, n, 0);
    if (m > 0) n -= m;
    else if (m != INTERRUPTED) leave(1); /* somebody cut the file: what was announced cannot be sent */
  }
}

static void answer(size id, size keep, char flag) { /* the first and last `keep` bytes of the output */
  if (total > 2 * keep && !store && !spill()) flag = 'f';
  if (total > 2 * keep && !store) total = 2 * keep;
  int told = total > 2 * keep;
  if (store && !told && flag != 'b') call(UNLINKAT, HERE, (long)file, 0, 0, 0); /* nobody will ask for it */
  char *first = line(id, status, total, told ? 2 * keep : total, flag, told ? file : "-");
  say(first, output - first + (store ? 0 : total));
  if (store) say_file(0, told ? keep : total);
  if (store && told) say_file(total - keep, keep);
  if (flag == 'b') drain();
  if (store) call(CLOSE, store, 0, 0, 0, 0);
  store = 0;
  total = 0;
}

/* --- requests --- */

static void fill(void) {
  long n;
  while ((n = call(READ, REQUESTS, (long)in, sizeof in, 0, 0)) == INTERRUPTED);
  if (n <= 0) leave(0);
  in_at = 0;
  in_end = n;
}

static size piece(size n) { /* how much of a payload of `n` bytes is there to be used */
  if (in_at == in_end) fill();
  return n < in_end - in_at ? n : in_end - in_at;
}

static void take(char *to, size room, size n) { /* what there is no room for is lost */
  while (n) {
    size m = piece(n);
    for (size i = 0; i < m && room; i++, room--) *to++ = in[in_at + i];
    in_at += m, n -= m;
  }
  *to = 0;
}

static int take_into(long fd, size n) { /* whether all of it was written */
  int whole = fd >= 0;
  while (n) {
    size m = piece(n);
    if (whole) whole = write_all(fd, in + in_at, m) == m;
    in_at += m, n -= m;
  }
  if (fd >= 0) call(CLOSE, fd, 0, 0, 0, 0);
  return whole;
}

static void expect(const char *what) {
  for (; *what; what++) {
    piece(1);
    if (in[in_at++] != *what) leave(1);
  }
}

static size take_number(char after) {
  size n = 0;
  for (int digits = 0; digits < 19; digits++) {
    piece(1);
    char c = in[in_at++];
    if (c == after && digits) return n;
    if (c < '0' || c > '9') break;
    n = n * 10 + (c - '0');
  }
  leave(1);
  __builtin_unreachable();
}

static void run(void) {
  expect("RUN ");
  size id = take_number(' '), keep = take_number(' '), there = take_number(' '), n = take_number('\n');
  take(folder, PATH, there);
  arguments[0] = "/bin/bash", arguments[1] = "-c", arguments[2] = text;
  int whole = 1;
  if (n <= ARGUMENT) take(text, ARGUMENT, n);
  else {
    char *script = named(".sh");
    make_folders(script);
    arguments[1] = script, arguments[2] = 0;
    whole = take_into(open_file(script, WRITE_ONLY | CREATE | TRUNCATE), n);
  }
  char flag = 'e';
  if (whole && start_command()) flag = follow();
  else {
    const char *why = whole ? "no process can be started here\n" : "there is no room for the command\n";
    put(output + length(why), why);
    total = length(why);
    status = 126;
  }
  answer(id, keep, flag);
}

static void put_file(void) {
  expect("PUT ");
  size id = take_number(' '), there = take_number(' '), n = take_number('\n');
  take(folder, PATH, there);
  make_folders(folder);
  long fd = open_file(folder, WRITE_ONLY | CREATE | NO_WAIT);
  if (fd >= 0 && call(FTRUNCATE, fd, 0, 0, 0, 0) < 0) { /* not a file */
    call(CLOSE, fd, 0, 0, 0, 0);
    fd = -1;
  }
  status = !take_into(fd, n);
  answer(id, 0, 'e');
}

static void hello(void) {
  char user[64] = "", *end = put_number(user + sizeof user - 1, call(GETGID, 0, 0, 0, 0, 0));
  end = put_number(put(end, ":"), call(GETUID, 0, 0, 0, 0, 0));
  char *first = line(0, call(GETPID, 0, 0, 0, 0, 0), 0, 0, 'e', end);
  say(first, output - first);
}

static void prepare(char **argv) {
  place = argv[1];
  for (const char *c = argv[4]; *c; c++) largest = largest * 10 + (*c - '0');
  largest <<= 10;
  if (length(argv[2]) + length(argv[3]) > PATH - 64) leave(126);
  base = put(put(put(base_room + PATH, argv[3]), "/"), argv[2]);
  for (char **a = argv + 1; *a; a++) /* `pkill -f` finds nothing here but the name that we were given */
    for (char *c = *a; *c; c++) *c = 0;
  call(PRCTL, SET_NAME, (long)"leadhand", 0, 0, 0);
  call(PRCTL, SUBREAPER, 1, 0, 0, 0);
  call(DUP3, 0, REQUESTS, CLOSE_ON_EXEC, 0, 0);
  call(DUP3, 1, REPLIES, CLOSE_ON_EXEC, 0, 0);
  long null = open_file("/dev/null", READ_WRITE);
  if (null < 0) leave(126); /* commands must not read what is asked of us */
  for (int fd = 0; fd <= 2; fd++) call(DUP3, null, fd, 0, 0, 0);
  call(CLOSE, null, 0, 0, 0, 0);
  size all = -1, ended = 1UL << (CHILD_SIGNAL - 1);
  call(SIGPROCMASK, SET_MASK, (long)&all, (long)&old_mask, 8, 0); /* none ends us but SIGKILL */
  signals = call(SIGNALFD4, -1, (long)&ended, 8, CLOSE_ON_EXEC | NO_WAIT, 0);
  if (signals < 0) leave(126);
}

__attribute__((used, noreturn)) static void start(long *entry) {
  char **argv = (char **)(entry + 1);
  environment = argv + entry[0] + 1;
  if (entry[0] > 2 && argv[1][0] == '-') {
    call(PRCTL, SUBREAPER, 1, 0, 0, 0);
    call(EXECVE, (long)argv[2], (long)(argv + 2), (long)environment, 0, 0);
    leave(127);
  }
  if (entry[0] != 5) leave(126);
  prepare(argv);
  hello();
  for (;;) {
    while (in_at == in_end)
      if (wait_for(REQUESTS, -1) == INPUT) fill();
    if (in[in_at] == 'R') run();
    else put_file();
  }
}
