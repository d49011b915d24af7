/* What the executor reports and when it stops: faults with every field, limits, checked mode,
 * printing, arguments, threads. */
#include "exec/cpu.h"
#include "support/builtin_run.h"
#include "support/ir_fixture.h"

typedef struct Case {
   SemaRun r;
   TlExecFault fault;
   const char *text; /* the rendered report */
   TlExecStatus status;
} Case;

static const char *
render(SemaRun *r, const TlExecFault *fault)
{
   r->diags.first = r->diags.last = NULL;
   r->diags.num_errors = 0;
   tl_exec_report(&r->diags, fault);
   TlSb sb;
   tl_sb_init(&sb, r->arena);
   for (const TlDiag *d = r->diags.first; d; d = d->next)
      tl_diag_render(&r->diags, d, false, &sb);
   return tl_sb_cstr(&sb);
}

static void
run_case(Case *c, const char *source, const TlExecArg *args, unsigned num, unsigned programs,
         const TlExecOptions *o)
{
   /* debug keeps assertions, and adds overflow checks that other tests do not want */
   bool debug = strstr(source, "assert") != NULL;
   c->r = (SemaRun){.source = source, .kernel = "k", .debug = debug};
   sema_run(&c->r);
   if (!c->r.func)
      fail_msg("unexpected errors:\n%s", c->r.errors);
   c->status = tl_exec_cpu(c->r.func, args, num, (uint32_t[3]){programs, 1, 1}, o, &c->fault);
   c->text = c->status == TL_EXEC_OK ? "" : render(&c->r, &c->fault);
}
#define CASE(c, source, programs, options, ...)                                                    \
   do {                                                                                            \
      const TlExecArg case_args_[] = {__VA_ARGS__};                                                \
      run_case(&(c), source, case_args_, sizeof case_args_ / sizeof case_args_[0], programs,       \
               options);                                                                           \
   } while (0)

static unsigned
line_of(Case *c, TlRange range)
{
   return tl_source_line_col(c->r.sources, range.file, range.begin).line;
}

static void
expect_text(const Case *c, const char *part)
{
   if (!strstr(c->text, part))
      fail_msg("the report lacks '%s':\n%s", part, c->text);
}

static const TlExecOptions plain = {.threads = 1};
static const TlExecOptions checked = {.threads = 1, .checked = true};

typedef struct Warnings {
   TlExecFault list[8];
   unsigned num;
} Warnings;

static void
keep_warning(void *user, const TlExecFault *w)
{
   Warnings *all = user;
   if (all->num < 8)
      all->list[all->num++] = *w;
}

/* ---- memory faults ---- */
static void
access_past_the_end_is_located(void **state)
{
   (void)state;
   static float x[40], y[64];
   Case c;
   CASE(c,
        "def k(x: *fp32, y: *fp32, n: i32):\n"
        "    offs = program_id(0) * 16 + arange(0, 16)\n"
        "    v = load(x + offs[:, None] + arange(0, 1)[None, :])\n"
        "    store(y + offs[:, None] + arange(0, 1)[None, :], v)\n",
        4, &plain, BUF(x), BUF(y), NUM(40));
   assert_int_equal(c.status, TL_EXEC_FAULT);
   assert_int_equal(c.fault.kind, TL_FAULT_BOUNDS);
   assert_int_equal(line_of(&c, c.fault.range), 3);
   assert_string_equal(c.fault.op, "load");
   assert_int_equal(c.fault.program[0], 2);
   assert_int_equal(c.fault.program[1], 0);
   assert_int_equal(c.fault.rank, 2);
   assert_int_equal(c.fault.element[0], 8);
   assert_int_equal(c.fault.element[1], 0);
   assert_string_equal(c.fault.buffer, "x");
   assert_int_equal(c.fault.byte, 160);
   assert_int_equal(c.fault.bytes, 4);
   assert_int_equal(c.fault.buffer_bytes, 160);
   expect_text(&c, "k.tile:3:");
   expect_text(&c,
               "error[E0601]: 'load' outside buffer 'x': index 40 at byte 160, the buffer has 160 "
               "bytes; program (2, 0, 0), element (8, 0)");
   expect_text(&c, "valid indices are 0 to 39");
   sema_run_free(&c.r);
}

static void
negative_and_far_indices_stay_with_their_buffer(void **state)
{
   (void)state;
   static int16_t x[8], y[8];
   static const int64_t index[] = {-1, -2147483648LL, 8, 2147483647LL, -1000000000000LL};
   for (unsigned i = 0; i < sizeof index / sizeof index[0]; i++) {
      Case c;
      CASE(c, "def k(x: *i16, y: *i16, i: i64):\n    store(y + i, 7)\n", 1, &plain, BUF(x), BUF(y),
           NUM((uint64_t)index[i]));
      assert_int_equal(c.fault.kind, TL_FAULT_BOUNDS);
      assert_string_equal(c.fault.buffer, "y");
      assert_string_equal(c.fault.op, "store");
      assert_true(c.fault.byte == index[i] * 2);
      assert_int_equal(c.fault.rank, 0);
      sema_run_free(&c.r);
   }
}

/* A buffer that is older than the run, and of which something has written the beginning alone. */
static void
unwritten_ends_are_seen(void **state)
{
   (void)state;
   static float x[8], y[8];
   static const char source[] = "def k(x: *fp32, y: *fp32, n: i32):\n"
                                "    i = arange(0, 8)\n"
                                "    store(y + i, load(x + i, i < n, other=0.0))\n";
   for (int32_t n = 0; n <= 8; n++) {
      Case c;
      Warnings w = {0};
      TlExecOptions watched = {.threads = 1, .watched = true, .warn = keep_warning, .user = &w};
      TlExecArg from = BUF(x), to = BUF(y);
      from.unwritten = 3 * sizeof x[0];
      to.unwritten = sizeof y;
      CASE(c, source, 1, &watched, from, to, NUM(n));
      assert_int_equal(c.status, TL_EXEC_OK);
      assert_int_equal(w.num, n > 5);
      if (w.num) {
         assert_int_equal(w.list[0].kind, TL_FAULT_UNDEFINED_SEEN);
         assert_int_equal(w.list[0].element[0], 5);
         c.text = render(&c.r, &w.list[0]);
         expect_text(&c,
                     "'store' depends on an undefined value; x[5] is read before it is written");
         expect_text(&c, "nothing has written that memory");
      }
      sema_run_free(&c.r);
      CASE(c, source, 1, &checked, from, to, NUM(n));
      assert_int_equal(c.fault.kind, n > 5 ? TL_FAULT_UNDEFINED : TL_FAULT_NONE);
      sema_run_free(&c.r);
   }
}

/* Passes leave undefined values: zero in a plain run, a fault where a checked one stores it. */
static void
poison_is_seen(void **state)
{
   (void)state;
   IrFixture x;
   ir_open(&x);
   TlFunc *f = ir_must_read(&x, "func @f(%p: ptr<i32>) {state = typed} {\n"
                                "   %v = poison : i32\n"
                                "   store %p, %v\n"
                                "   return\n"
                                "}\n");
   int32_t to[1] = {7};
   const TlExecArg arg = BUF(to);
   TlExecFault fault;
   assert_int_equal(tl_exec_cpu(f, &arg, 1, (uint32_t[3]){1, 1, 1}, &plain, &fault), TL_EXEC_OK);
   assert_int_equal(to[0], 0);
   assert_int_equal(tl_exec_cpu(f, &arg, 1, (uint32_t[3]){1, 1, 1}, &checked, &fault),
                    TL_EXEC_FAULT);
   assert_int_equal(fault.kind, TL_FAULT_UNDEFINED);
   assert_string_equal(fault.op, "store");
   ir_close(&x);
}

static void
masks_protect(void **state)
{
   (void)state;
   static float x[5] = {1, 2, 3, 4, 5}, y[5];
   RUN("def k(x: *fp32, y: *fp32, n: i32):\n"
       "    i = program_id(0) * 4 + arange(0, 4) - 2\n"
       "    m = (i >= 0) & (i < n)\n"
       "    store(y + i, load(x + i, m, other=0.0) * 2, m)\n",
       3, BUF(x), BUF(y), NUM(5));
   for (unsigned i = 0; i < 5; i++)
      assert_true(y[i] == 2 * x[i]);
}

static void
read_only_misaligned_and_wild(void **state)
{
   (void)state;
   static uint32_t x[4];
   Case c;
   const char *store = "def k(x: *i32):\n    store(x + 1, 7)\n";
   CASE(c, store, 1, &plain, {.is_buffer = true, .data = x, .bytes = sizeof x});
   assert_int_equal(c.fault.kind, TL_FAULT_READ_ONLY);
   expect_text(&c, "E0604");
   sema_run_free(&c.r);
   CASE(c, store, 1, &plain,
        {.is_buffer = true, .is_writable = true, .data = (uint8_t *)x + 2, .bytes = 12});
   assert_int_equal(c.fault.kind, TL_FAULT_MISALIGNED);
   assert_int_equal(c.fault.byte, 4);
   expect_text(&c, "E0603");
   sema_run_free(&c.r);
   const char *cast =
      "def k(a: i64, y: *i32):\n    p = a.to(tl.pointer_type(tl.int32), bitcast=True)\n"
      "    store(y, load(p + 2))\n";
   CASE(c, cast, 1, &plain, NUM(0x1234), BUF(x));
   assert_int_equal(c.fault.kind, TL_FAULT_WILD);
   assert_true(c.fault.address == 0x1234 + 8);
   assert_int_equal(line_of(&c, c.fault.range), 3);
   expect_text(&c, "E0602");
   expect_text(&c, "0x123c");
   sema_run_free(&c.r);
   assert_int_equal(x[1], 0);
}

static void
tables_of_pointers_work(void **state)
{
   (void)state;
   static int32_t a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, out[4];
   static uint64_t table[2];
   TlExecArg args[] = {BUF(a), BUF(b), BUF(table), BUF(out)};
   table[0] = tl_exec_address(args, 0) + 4;
   table[1] = tl_exec_address(args, 1);
   run_on_cpu("def k(a: *i32, b: *i32, t: *i64, out: *i32):\n"
              "    i = arange(0, 2)\n"
              "    p = load(t + i).to(tl.pointer_type(tl.int32), bitcast=True)\n"
              "    store(out + i, load(p + 1))\n",
              args, 4, 1);
   assert_int_equal(out[0], 3);
   assert_int_equal(out[1], 20);
}

/* A TlExecOptions.memory: the eight numbers of `user`. */
static bool
eight_numbers(void *user, uint64_t address, TilecMemory *out)
{
   *out = (TilecMemory){user, 8 * sizeof(int32_t), false};
   return address - (uintptr_t)user < out->bytes;
}

static void
memory_beside_the_arguments_is_asked_for(void **state)
{
   (void)state;
   static int32_t x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[8];
   static int64_t table[1];
   table[0] = (int64_t)(uintptr_t)x;
   TlExecOptions o = {.threads = 1, .watched = true, .memory = eight_numbers, .user = x};
   Case c;
   const char *follow = "def k(t: *i64, y: *i32):\n    i = arange(0, 8)\n"
                        "    p = load(t).to(tl.pointer_type(tl.int32), bitcast=True)\n"
                        "    store(y + i, load(p + i))\n    store(p + i, i + 10)\n"
                        "    atomic_add(p + 9, 1, mask=program_id(0) == 1)\n";
   CASE(c, follow, 1, &o, BUF(table), BUF(y));
   assert_int_equal(c.status, TL_EXEC_OK);
   for (int i = 0; i < 8; i++)
      assert_true(y[i] == i && x[i] == i + 10);
   sema_run_free(&c.r);
   CASE(c, follow, 2, &o, BUF(table), BUF(y));
   assert_int_equal(c.fault.kind, TL_FAULT_WILD); /* the two beyond the end */
   assert_true(c.fault.address == (uintptr_t)x + 9 * sizeof *x);
   sema_run_free(&c.r);
   /* an argument in the middle: what lies in front of it is its own, and no more than that */
   const char *back = "def k(x: *i32, y: *i32, n: i32):\n    i = arange(0, 8)\n"
                      "    store(y + i, load(x - i, mask=i < n), mask=i < n)\n";
   CASE(c, back, 2, &o, {.is_buffer = true, .data = x + 6, .bytes = 8}, BUF(y), NUM(7));
   assert_int_equal(c.status, TL_EXEC_OK);
   for (int i = 0; i < 7; i++)
      assert_int_equal(y[i], x[6 - i]);
   sema_run_free(&c.r);
   CASE(c, back, 1, &o, {.is_buffer = true, .data = x + 6, .bytes = 8}, BUF(y), NUM(8));
   assert_int_equal(c.fault.kind, TL_FAULT_BOUNDS);
   assert_int_equal(c.fault.byte, -28);
   sema_run_free(&c.r);
   CASE(c, back, 1, &o, {.is_buffer = true, .data = y + 6, .bytes = 8}, BUF(y), NUM(2));
   assert_int_equal(c.fault.kind, TL_FAULT_BOUNDS); /* of other memory than what is known */
   sema_run_free(&c.r);
}

static void
arguments_are_checked(void **state)
{
   (void)state;
   static int32_t x[4];
   static const char source[] = "def k(x: *i32, n: i32:16):\n    store(x, n)\n";
   Case c;
   CASE(c, source, 1, &plain, BUF(x));
   assert_int_equal(c.status, TL_EXEC_BAD_ARGUMENT);
   expect_text(&c, "error[E0614]: 'k' takes 2 arguments; got 1");
   sema_run_free(&c.r);
   CASE(c, source, 1, &plain, BUF(x), BUF(x));
   assert_int_equal(c.status, TL_EXEC_BAD_ARGUMENT);
   expect_text(&c, "error[E0616]: argument 'n' of 'k' needs a number; got a buffer");
   sema_run_free(&c.r);
   CASE(c, source, 1, &plain, BUF(x), NUM(50));
   assert_int_equal(c.status, TL_EXEC_BAD_ARGUMENT);
   expect_text(&c,
               "error[E0613]: argument 'n' of 'k' must be divisible by its hint; got 50, hint 16");
   sema_run_free(&c.r);
}

/* ---- assertions and limits ---- */
static void
assertions_name_element_and_message(void **state)
{
   (void)state;
   static int32_t x[8] = {1, 1, 1, 1, 1, 0, 1, 0};
   Case c;
   CASE(c,
        "def k(x: *i32):\n    v = load(x + arange(0, 8))\n"
        "    tl.device_assert(v > 0, \"must be positive\")\n",
        1, &plain, BUF(x));
   assert_int_equal(c.fault.kind, TL_FAULT_ASSERT);
   assert_int_equal(c.fault.element[0], 5);
   assert_int_equal(line_of(&c, c.fault.range), 3);
   expect_text(&c, "assertion failed: must be positive; program (0, 0, 0), element (5)");
   sema_run_free(&c.r);
}

static const char *const endless = "def k(x: *i32):\n    i = 0\n    while i < 10:\n"
                                   "        i = i - load(x)\n    store(x, i)\n";

static void
endless_loops_end(void **state)
{
   (void)state;
   static int32_t x[1] = {0};
   Case c;
   TlExecOptions steps = {.threads = 1, .max_steps = 10000};
   CASE(c, endless, 1, &steps, BUF(x));
   assert_int_equal(c.status, TL_EXEC_LIMIT);
   assert_int_equal(c.fault.kind, TL_FAULT_STEPS);
   assert_int_equal(line_of(&c, c.fault.range), 3);
   expect_text(&c, "E0610");
   sema_run_free(&c.r);
   TlExecOptions time = {.threads = 4, .max_ms = 50};
   CASE(c, endless, 7, &time, BUF(x));
   assert_int_equal(c.status, TL_EXEC_LIMIT);
   assert_int_equal(c.fault.kind, TL_FAULT_TIME);
   assert_int_equal(c.fault.program[0], 0);
   expect_text(&c, "did not end within 50 ms");
   sema_run_free(&c.r);
   TlExecOptions ample = {.threads = 1, .max_steps = 10000, .max_ms = 60000};
   x[0] = -1;
   CASE(c, endless, 1, &ample, BUF(x));
   assert_int_equal(c.status, TL_EXEC_OK);
   assert_int_equal(x[0], 10);
   sema_run_free(&c.r);
}

static void
a_program_that_fails_stops_the_ones_after_it(void **state)
{
   (void)state;
   static int32_t x[4] = {0, 0, 1, 0};
   /* program 2 fails; program 3 would never end */
   const char *source = "def k(x: *i32):\n    p = program_id(0)\n"
                        "    if load(x + p) != 0:\n        store(x + 100, 0)\n"
                        "    while (p == 3) & (load(x) == 0):\n        p = p + 0\n";
   TlExecOptions o = {.threads = 4, .max_ms = 20000};
   Case c;
   CASE(c, source, 4, &o, BUF(x));
   assert_int_equal(c.fault.kind, TL_FAULT_BOUNDS);
   assert_int_equal(c.fault.program[0], 2);
   sema_run_free(&c.r);
}

static void
memory_is_limited(void **state)
{
   (void)state;
   static float x[4];
   const char *source = "def k(x: *fp32):\n    v = tl.zeros((1024, 1024), tl.float32)\n"
                        "    w = v + load(x)\n    store(x, tl.sum(tl.sum(w * v + w, 0), 0))\n";
   Case c;
   TlExecOptions o = {.threads = 1, .max_bytes = 4 << 20};
   CASE(c, source, 1, &o, BUF(x));
   assert_int_equal(c.status, TL_EXEC_LIMIT);
   assert_int_equal(c.fault.kind, TL_FAULT_MEMORY);
   expect_text(&c, "E0612");
   sema_run_free(&c.r);
   o.max_bytes = 1 << 10; /* not even room for the plan */
   CASE(c, source, 1, &o, BUF(x));
   assert_int_equal(c.status, TL_EXEC_LIMIT);
   sema_run_free(&c.r);
   o.max_bytes = 0;
   CASE(c, source, 1, &o, BUF(x));
   assert_int_equal(c.status, TL_EXEC_OK);
   sema_run_free(&c.r);
}

/* ---- checked mode ---- */
static void
undefined_values_are_found_where_they_matter(void **state)
{
   (void)state;
   static float x[16], y[16];
   static const struct {
      const char *body;
      unsigned line, origin; /* line 0: nothing to report */
   } rows[] = {
      {"    v = load(x + i, i < 5)\n    store(y + i, v)\n", 4, 3},
      {"    v = load(x + i, i < 5)\n    store(y + i, v, i < 5)\n", 0, 0},
      {"    v = load(x + i, i < 5)\n    store(y + i, where(i < 5, v, 0))\n", 0, 0},
      {"    v = load(x + i, i < 5, other=0)\n    store(y + i, v)\n", 0, 0},
      {"    v = load(x + i, i < 5)\n    store(y, tl.sum(v * 2, 0))\n", 4, 3},
      {"    v = load(x + i, i < 5)\n    store(y + i, tl.cumsum(v, 0), i < 5)\n", 0, 0},
      {"    v = load(x + i, i < 5)\n    store(y + i, tl.cumsum(v, 0), i < 6)\n", 4, 3},
      {"    v = load(x + i, i < 5)\n    if tl.max(v, 0) > 0:\n        store(y, 1)\n", 4, 3},
      {"    v = load(x + i, i < 5)\n    store(y + i, 1.0, (v == 0) & (i < 5))\n", 0, 0},
      {"    v = load(x + i, i < 5)\n    store(y + i, 1.0, v == 0)\n", 4, 3},
      {"    v = load(x + i, i < 5).to(tl.int32)\n    store(y + v, 1.0)\n", 4, 3},
      {"    v = load(x + i, i < 5).to(tl.int32)\n    tl.atomic_add(y + i, v.to(tl.float32))\n", 4,
       3},
      {"    v = i // (i - 3)\n    store(y + i, v)\n", 4, 3},
      {"    v = i // (i - 3)\n    store(y + i, where(i == 3, 0, v))\n", 0, 0},
      /* rows that are masked off as a whole do not spoil the others */
      {"    m = (i < 5)[:, None] & (arange(0, 1) < 1)[None, :]\n"
       "    v = load(x + i[:, None] + arange(0, 1)[None, :], m)\n"
       "    store(y + i, tl.sum(v, 1), i < 5)\n",
       0, 0},
      {"    v = load(x + i, i < 5)\n    for j in range(3):\n        v = v + 1\n    store(y + i, "
       "v)\n",
       6, 3},
   };
   for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; r++) {
      Case c;
      char source[600];
      snprintf(source, sizeof source, "def k(x: *fp32, y: *fp32):\n    i = arange(0, 16)\n%s",
               rows[r].body);
      CASE(c, source, 1, &checked, BUF(x), BUF(y));
      if (rows[r].line) {
         if (c.fault.kind != TL_FAULT_UNDEFINED)
            fail_msg("row %u: no report\n%s", r, c.text);
         assert_int_equal(line_of(&c, c.fault.range), rows[r].line);
         assert_int_equal(line_of(&c, c.fault.origin), rows[r].origin);
         expect_text(&c, "E0608");
         expect_text(&c, "note");
      } else if (c.status != TL_EXEC_OK) {
         fail_msg("row %u: %s", r, c.text);
      }
      sema_run_free(&c.r);
      CASE(c, source, 1, &plain, BUF(x), BUF(y)); /* unchecked: no fault */
      assert_int_equal(c.status, TL_EXEC_OK);
      sema_run_free(&c.r);
      Warnings w = {0};
      TlExecOptions watched = {.threads = 1, .watched = true, .warn = keep_warning, .user = &w};
      CASE(c, source, 1, &watched, BUF(x), BUF(y)); /* the run goes on */
      assert_int_equal(c.status, TL_EXEC_OK);
      assert_int_equal(w.num, rows[r].line ? 1 : 0);
      if (w.num) {
         assert_int_equal(w.list[0].kind, TL_FAULT_UNDEFINED_SEEN);
         assert_int_equal(line_of(&c, w.list[0].range), rows[r].line);
         assert_int_equal(line_of(&c, w.list[0].origin), rows[r].origin);
         c.text = render(&c.r, &w.list[0]);
         expect_text(&c, "warning[W0605]");
      }
      sema_run_free(&c.r);
   }
}

static void
undefined_parts_of_a_product(void **state)
{
   (void)state;
   static float x[256], y[256];
   static const struct {
      const char *mask;
      bool ok;
   } rows[] = {{"(r < 5) & (c < 16)", true}, {"(r < 5) & (c < 15)", false}};
   for (unsigned i = 0; i < 2; i++) {
      char source[600];
      snprintf(source, sizeof source,
               "def k(x: *fp32, y: *fp32):\n    r = arange(0, 16)[:, None]\n"
               "    c = arange(0, 16)[None, :]\n    a = load(x + r * 16 + c, %s)\n"
               "    b = load(x + r * 16 + c)\n"
               "    store(y + r * 16 + c, tl.dot(a, b), (r < 5) & (c < 16))\n",
               rows[i].mask);
      Case c;
      CASE(c, source, 1, &checked, BUF(x), BUF(y));
      assert_int_equal(c.fault.kind, rows[i].ok ? TL_FAULT_NONE : TL_FAULT_UNDEFINED);
      sema_run_free(&c.r);
   }
}

static void
wrapping_indices_and_broken_hints_are_warned_of(void **state)
{
   (void)state;
   static float x[16];
   Warnings w = {0};
   TlExecOptions o = {.threads = 1, .checked = true, .warn = keep_warning, .user = &w};
   Case c;
   CASE(c,
        "def k(x: *fp32, s: i32):\n    i = arange(0, 4)\n    j = (i + 1) * s\n"
        "    h = s * 3\n    store(x + (j & 7), 1.0)\n    store(x + i, (i * s + h).to(tl.float32))\n"
        "    store(x + tl.max_contiguous(i * 2, 4), 1.0)\n",
        3, &o, BUF(x), NUM(0x40000000));
   assert_int_equal(c.status, TL_EXEC_OK);
   assert_int_equal(w.num, 2); /* j & 7 is no plain index, (i * s) is no index */
   assert_int_equal(w.list[0].kind, TL_FAULT_RACE);
   assert_int_equal(w.list[1].kind, TL_FAULT_ASSUME);
   assert_int_equal(line_of(&c, w.list[1].range), 7);
   sema_run_free(&c.r);
   w.num = 0;
   CASE(c,
        "def k(x: *fp32, s: i32):\n    i = arange(0, 4)\n    j = i * s\n"
        "    store(x + j, 1.0, j < 16)\n",
        3, &o, BUF(x), NUM(0x40000000));
   assert_int_equal(w.num, 1);
   assert_int_equal(w.list[0].kind, TL_FAULT_WRAP);
   assert_int_equal(line_of(&c, w.list[0].range), 3);
   assert_int_equal(w.list[0].element[0], 2);
   assert_true(w.list[0].value == 0x80000000LL);
   c.text = render(&c.r, &w.list[0]);
   expect_text(&c, "warning[W0601]");
   sema_run_free(&c.r);
}

/* The first program is slow: others give the warning before it does. */
static void
warnings_name_the_lowest_program(void **state)
{
   (void)state;
   for (unsigned threads = 1; threads <= 4; threads += 3) {
      static float x[8];
      Warnings w = {0};
      TlExecOptions o = {.threads = threads, .checked = true, .warn = keep_warning, .user = &w};
      Case c;
      CASE(c,
           "def k(x: *fp32, n: i32):\n    s = 0\n"
           "    for i in range(tl.where(program_id(0) == 1, n, 0)):\n        s += i\n"
           "    p = program_id(0)\n    i = tl.multiple_of(2 * p + (p + 1) // 2, 2)\n"
           "    store(x + p, (s + i).to(tl.float32))\n",
           8, &o, BUF(x), NUM(100000));
      assert_int_equal(c.status, TL_EXEC_OK);
      assert_int_equal(w.num, 1);
      assert_int_equal(w.list[0].kind, TL_FAULT_ASSUME);
      assert_int_equal(w.list[0].program[0], 1);
      sema_run_free(&c.r);
   }
}

/* Programs that access one element are found in whatever order they run, and only they. */
static void
races_of_programs_are_warned_of(void **state)
{
   (void)state;
   static const struct {
      const char *body;
      unsigned line; /* of the warning; 0 = none */
      const char *text;
   } rows[] = {
      {"store(x + arange(0, 4), 1.0 * program_id(0))", 2,
       "accesses x[0], which program (0, 0, 0) writes"},
      {"store(x + program_id(0), load(x + 7 - program_id(0)) + 1)", 2, "accesses x["},
      {"v = load(x)\n    store(x + 7 - program_id(0), v + 5)", 3, "which another program reads"},
      {"store(x, 3.0)", 0, ""},                                         /* all write the same */
      {"store(x + program_id(0), load(x + program_id(0)) + 1)", 0, ""}, /* its own */
      {"atomic_add(x, 1.0)\n    store(x + 1, 1.0 * program_id(0))", 0, ""},
      {"store(x + 4 + program_id(0), load(x) + 1)", 0, ""}, /* read by all, written by none */
   };
   for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; r++)
      for (unsigned threads = 1; threads <= 4; threads += 3) {
         Warnings w = {0};
         TlExecOptions o = {.threads = threads, .watched = true, .warn = keep_warning, .user = &w};
         static float x[16];
         char source[400];
         Case c;
         memset(x, 0, sizeof x);
         snprintf(source, sizeof source, "def k(x: *fp32):\n    %s\n", rows[r].body);
         CASE(c, source, 8, &o, BUF(x));
         assert_int_equal(c.status, TL_EXEC_OK);
         if (!w.num != !rows[r].line)
            fail_msg("row %u: %u warnings", r, w.num);
         for (unsigned i = 0; i < w.num; i++)
            assert_int_equal(w.list[i].kind, TL_FAULT_RACE);
         if (w.num && threads == 1) {
            assert_int_equal(line_of(&c, w.list[w.num - 1].range), rows[r].line);
            c.text = render(&c.r, &w.list[w.num - 1]);
            expect_text(&c, rows[r].text);
            expect_text(&c, "warning[W0604]");
         }
         sema_run_free(&c.r);
      }
}

/* Access widths take an index that nothing bounds from below as not negative.  Of a remainder that
 * is only stored it is told that Python's is another; an index that is negative by its own
 * constants is meant. */
static void
negative_indices_that_are_divided_are_warned_of(void **state)
{
   (void)state;
   static float x[16];
   Warnings w = {0};
   TlExecOptions o = {.threads = 1, .checked = true, .warn = keep_warning, .user = &w};
   static const char source[] =
      "def k(x: *fp32, s: i32):\n    i = arange(0, 4)\n    j = s + i\n"
      "    store(x + 8 + (i - 4) % 8, 1.0)\n    store(x + i, (j % 5).to(tl.float32))\n"
      "    store(x + 8 + j % 8, 1.0)\n";
   Case c;
   CASE(c, source, 1, &o, BUF(x), NUM(4));
   assert_int_equal(c.status, TL_EXEC_OK);
   assert_int_equal(w.num, 0);
   sema_run_free(&c.r);
   CASE(c, source, 1, &o, BUF(x), NUM(-2));
   assert_int_equal(c.status, TL_EXEC_OK);
   assert_int_equal(w.num, 2);
   assert_int_equal(w.list[0].kind, TL_FAULT_CUT);
   assert_int_equal(line_of(&c, w.list[0].range), 5);
   assert_int_equal(w.list[1].kind, TL_FAULT_SIGN);
   assert_int_equal(line_of(&c, w.list[1].range), 6);
   assert_int_equal(w.list[1].element[0], 0);
   assert_true(w.list[1].value == -2);
   c.text = render(&c.r, &w.list[1]);
   expect_text(&c, "warning[W0603]");
   sema_run_free(&c.r);
}

static void
indices_of_histogram_and_gather_are_checked(void **state)
{
   (void)state;
   static int32_t x[16] = {0, 3, 3, 7, 1, 9}, y[16];
   Case c;
   const char *histogram = "def k(x: *i32, y: *i32, n: i32):\n    i = arange(0, 16)\n"
                           "    h = tl.histogram(load(x + i), 8, mask=i < n)\n"
                           "    store(y + arange(0, 8), h)\n";
   CASE(c, histogram, 1, &plain, BUF(x), BUF(y), NUM(16));
   assert_int_equal(c.fault.kind, TL_FAULT_INDEX);
   assert_int_equal(c.fault.element[0], 5);
   expect_text(&c, "values of 'histogram' must be 0 to 7; got 9");
   sema_run_free(&c.r);
   CASE(c, histogram, 1, &checked, BUF(x), BUF(y), NUM(5));
   assert_int_equal(c.status, TL_EXEC_OK);
   static const int32_t bins[8] = {1, 1, 0, 2, 0, 0, 0, 1};
   assert_memory_equal(y, bins, sizeof bins);
   sema_run_free(&c.r);
   const char *gather = "def k(x: *i32, y: *i32, n: i32):\n    i = arange(0, 16)\n"
                        "    g = tl.gather(load(x + i), i + n, 0)\n    store(y + i, g, i < 10)\n";
   CASE(c, gather, 1, &checked, BUF(x), BUF(y), NUM(6));
   assert_int_equal(c.status, TL_EXEC_OK);
   sema_run_free(&c.r);
   CASE(c, gather, 1, &checked, BUF(x), BUF(y), NUM(7));
   assert_int_equal(c.fault.kind, TL_FAULT_UNDEFINED);
   assert_int_equal(c.fault.element[0], 9);
   assert_int_equal(line_of(&c, c.fault.origin), 3);
   sema_run_free(&c.r);
}

/* ---- printing ---- */
static void
keep_line(void *user, const char *line, size_t len)
{
   char *text = user;
   strncat(text, line, len);
}

static void
prints_one_line_for_each_element(void **state)
{
   (void)state;
   static float x[4] = {0.1f, -2, 1e10f, 65504};
   static char text[2000];
   TlExecOptions o = {.threads = 1, .print = keep_line, .user = text};
   Case c;
   CASE(c,
        "def k(x: *fp32):\n    i = arange(0, 2)\n    v = load(x + i[:, None] * 2 + i[None, :])\n"
        "    tl.device_print(\"v\", v)\n    tl.device_print(\"n\", program_id(0) - 1)\n",
        2, &o, BUF(x));
   assert_int_equal(c.status, TL_EXEC_OK);
   assert_string_equal(
      text,
      "pid (0, 0, 0) idx (0, 0) v: 0.100000\npid (0, 0, 0) idx (0, 1) v: -2.000000\n"
      "pid (0, 0, 0) idx (1, 0) v: 10000000000.000000\npid (0, 0, 0) idx (1, 1) v: 65504.000000\n"
      "pid (0, 0, 0) idx () n: -1\n"
      "pid (1, 0, 0) idx (0, 0) v: 0.100000\npid (1, 0, 0) idx (0, 1) v: -2.000000\n"
      "pid (1, 0, 0) idx (1, 0) v: 10000000000.000000\npid (1, 0, 0) idx (1, 1) v: 65504.000000\n"
      "pid (1, 0, 0) idx () n: 0\n");
   sema_run_free(&c.r);
}

/* ---- arguments ---- */
static void
arguments_must_fit(void **state)
{
   (void)state;
   static float x[4];
   Case c;
   const char *source = "def k(x: *fp32, n: i32:16):\n    store(x + n * 0, 1.0)\n";
   CASE(c, source, 1, &plain, BUF(x));
   assert_int_equal(c.status, TL_EXEC_BAD_ARGUMENT);
   expect_text(&c, "takes 2 arguments; got 1");
   sema_run_free(&c.r);
   CASE(c, source, 1, &plain, BUF(x), BUF(x));
   assert_int_equal(c.status, TL_EXEC_BAD_ARGUMENT);
   expect_text(&c, "argument 'n' of 'k' needs a number");
   sema_run_free(&c.r);
   CASE(c, source, 1, &plain, BUF(x), NUM(17));
   assert_int_equal(c.status, TL_EXEC_BAD_ARGUMENT);
   expect_text(&c, "must be divisible by its hint; got 17, hint 16");
   sema_run_free(&c.r);
   CASE(c, source, 0, &plain, BUF(x), NUM(32)); /* an empty grid */
   assert_int_equal(c.status, TL_EXEC_OK);
   assert_true(x[0] == 0);
   sema_run_free(&c.r);
}

static void
assembly_beyond_the_subset_is_refused(void **state)
{
   (void)state;
   static int32_t x[4];
   Case c;
   CASE(c,
        "def k(x: *i32):\n    i = arange(0, 4)\n"
        "    v = tl.inline_asm_elementwise(\"vote.sync.any.pred $0, $1;\", \"=r,r\", [i], "
        "dtype=tl.int32, "
        "is_pure=True, pack=1)\n    store(x + i, v)\n",
        1, &plain, BUF(x));
   assert_int_equal(c.status, TL_EXEC_UNSUPPORTED);
   assert_int_equal(line_of(&c, c.fault.range), 3);
   expect_text(&c, "is not modelled on the CPU");
   sema_run_free(&c.r);
}

/* ---- threads ---- */
static void
any_number_of_threads_gives_one_result(void **state)
{
   (void)state;
   enum { PROGRAMS = 97, B = 32 };
   static float x[PROGRAMS * B], y[2][PROGRAMS * B];
   static int32_t sum[2][4];
   static uint16_t half[2][2];
   for (unsigned i = 0; i < PROGRAMS * B; i++)
      x[i] = (float)i * 0.25f - 300;
   for (unsigned k = 0; k < 2; k++) {
      sum[k][2] = INT32_MAX;
      TlExecOptions o = {.threads = k ? 4 : 1};
      Case c;
      CASE(c,
           "def k(x: *fp32, y: *fp32, s: *i32, h: *fp16):\n"
           "    i = program_id(0) * 32 + arange(0, 32)\n    v = load(x + i)\n"
           "    acc = v\n    for j in range(5):\n        acc = acc * 0.5 + tl.sum(v, 0)\n"
           "    store(y + i, tl.exp2(acc * 1e-3))\n"
           "    w = v.to(tl.int32)\n"
           "    tl.atomic_add(s + w * 0, w)\n    tl.atomic_max(s + 1 + w * 0, w)\n"
           "    tl.atomic_min(s + 2, tl.min(w, 0))\n    tl.atomic_xor(s + 3 + w * 0, w)\n"
           "    tl.atomic_add(h + w * 0, (w * 0 + 0.25).to(tl.float16), mask=i < 1000)\n",
           PROGRAMS, &o, BUF(x), BUF(y[k]), BUF(sum[k]), BUF(half[k]));
      if (c.status != TL_EXEC_OK)
         fail_msg("%s", c.text);
      sema_run_free(&c.r);
   }
   assert_memory_equal(y[0], y[1], sizeof y[0]);
   assert_memory_equal(sum[0], sum[1], sizeof sum[0]);
   int32_t want[4] = {0, 0, INT32_MAX, 0};
   for (unsigned i = 0; i < PROGRAMS * B; i++) {
      int32_t w = (int32_t)x[i];
      want[0] += w;
      want[1] = w > want[1] ? w : want[1];
      want[2] = w < want[2] ? w : want[2];
      want[3] ^= w;
   }
   assert_memory_equal(sum[0], want, sizeof want);
   assert_true(tl_bits_to_double(TL_FP16, half[0][0]) == 250); /* exact in fp16 all the way */
   assert_int_equal(half[0][0], half[1][0]);
}

static void
the_first_failing_program_is_reported(void **state)
{
   (void)state;
   static int32_t x[100];
   for (unsigned threads = 1; threads <= 8; threads++) {
      TlExecOptions o = {.threads = threads};
      Case c;
      CASE(c,
           "def k(x: *i32):\n    p = program_id(0)\n"
           "    for i in range((200 - p) * 2):\n        store(x + p % 50, i)\n"
           "    store(x + p * 3, 1)\n",
           200, &o, BUF(x));
      assert_int_equal(c.fault.kind, TL_FAULT_BOUNDS);
      assert_int_equal(c.fault.program[0], 34);
      sema_run_free(&c.r);
   }
}

/* ---- textual IR ---- */
static TlExecStatus
run_text(IrFixture *x, const char *text, const TlExecArg *args, unsigned num, TlExecFault *fault)
{
   return tl_exec_cpu(ir_must_read(x, text), args, num, (uint32_t[3]){1, 1, 1}, &plain, fault);
}

static void
loops_count_down_wrap_and_refuse_step_zero(void **state)
{
   (void)state;
   static const struct {
      const char *type;
      TlBits from, to, step;
      int64_t rounds; /* -1: step fault */
   } rows[] = {
      {"i32", 0, 10, 3, 4},
      {"i32", 10, 0, (uint32_t)-3, 4},
      {"i32", 5, 5, 1, 0},
      {"i32", 6, 5, 1, 0},
      {"i32", 0, 5, 0, -1},
      {"u32", 0xFFFFFFF0, 0xFFFFFFFF, 4, 4},
      {"i32", (uint32_t)-4, 4, 1, 8},
      {"i32", 0x7FFFFFF0, 0x7FFFFFFF, 8, 2}, /* the next index would wrap */
      {"i64", (uint64_t)INT64_MIN, (uint64_t)INT64_MAX, (uint64_t)1 << 62, 4},
      {"u64", 0, UINT64_MAX, (uint64_t)1 << 63, 2},
   };
   for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; r++) {
      IrFixture x;
      ir_open(&x);
      const char *t = rows[r].type;
      const char *text = tl_arena_printf(
         x.arena,
         "func @f(%%p: ptr<i64>, %%a: %s, %%b: %s, %%s: %s) {state = typed} {\n"
         "   %%0 = constant 0 : i64\n   %%1 = constant 1 : i64\n"
         "   %%u, %%v = for %%i = %%a to %%b step %%s iter(%%x = %%0, %%y = %%1) : i64, i64 {\n"
         "      %%z = add %%x, %%1 : i64\n      yield %%z, %%x\n   }\n"
         "   store %%p, %%u\n   %%p1 = addptr %%p, %%1 : ptr<i64>\n   store %%p1, %%v\n"
         "   return\n}\n",
         t, t, t);
      static int64_t out[2];
      TlExecArg args[] = {BUF(out), NUM(rows[r].from), NUM(rows[r].to), NUM(rows[r].step)};
      TlExecFault fault;
      TlExecStatus status = run_text(&x, text, args, 4, &fault);
      if (rows[r].rounds < 0) {
         assert_int_equal(fault.kind, TL_FAULT_STEP);
      } else {
         assert_int_equal(status, TL_EXEC_OK);
         assert_int_equal(out[0], rows[r].rounds);
         assert_int_equal(out[1], rows[r].rounds ? rows[r].rounds - 1 : 1);
      }
      ir_close(&x);
   }
}

/* Values that change places at the end of a round must not overwrite each other. */
static void
carried_values_are_assigned_at_once(void **state)
{
   (void)state;
   static int32_t out[12];
   IrFixture x;
   ir_open(&x);
   TlExecFault fault;
   TlExecArg args[] = {BUF(out), NUM(7)};
   TlExecStatus status = run_text(
      &x,
      "func @f(%p: ptr<i32>, %n: i32) {state = typed} {\n"
      "   %0 = constant 0 : i32\n   %1 = constant 1 : i32\n"
      "   %i = arange {end = 4} : tile<i32, 4>\n   %a = arange {start = 10, end = 14} : tile<i32, "
      "4>\n"
      "   %b = arange {start = 20, end = 24} : tile<i32, 4>\n"
      "   %x, %y, %z = for %k = %0 to %n step %1 iter(%u = %i, %v = %a, %w = %b) : "
      "tile<i32, 4>, tile<i32, 4>, tile<i32, 4> {\n"
      "      %v2 = reshape %v : tile<i32, 2x2>\n      %v3 = reshape %v2 : tile<i32, 4>\n"
      "      yield %v3, %w, %u\n   }\n"
      "   %4 = constant 4 : tile<i32, 4>\n"
      "   %s = splat %p : tile<ptr<i32>, 4>\n   %p0 = addptr %s, %i : tile<ptr<i32>, 4>\n"
      "   %p1 = addptr %p0, %4 : tile<ptr<i32>, 4>\n   %p2 = addptr %p1, %4 : tile<ptr<i32>, 4>\n"
      "   store %p0, %x\n   store %p1, %y\n   store %p2, %z\n   return\n}\n",
      args, 2, &fault);
   assert_int_equal(status, TL_EXEC_OK); /* 7 turns of three are one turn */
   for (int i = 0; i < 4; i++) {
      assert_int_equal(out[i], 10 + i);
      assert_int_equal(out[4 + i], 20 + i);
      assert_int_equal(out[8 + i], i);
   }
   ir_close(&x);
}

/* What a region reads of the outside is copied before it runs: into storage that nothing in it had,
 * also where the last operation is the first to read it. */
static void
outer_values_of_regions_keep_their_place(void **state)
{
   (void)state;
   static int32_t out[8];
   IrFixture x;
   ir_open(&x);
   TlExecFault fault;
   TlExecArg args[] = {BUF(out), NUM(7)};
   TlExecStatus status =
      run_text(&x,
               "func @f(%p: ptr<i32>, %n: i32) {state = typed} {\n"
               "   %i = arange {end = 4} : tile<i32, 4>\n"
               "   %x, %y = map %i : tile<i32, 4>, tile<i32, 4> (%a: i32) {\n"
               "      %b = add %a, %a : i32\n      %c = add %b, %a : i32\n"
               "      yield %n, %c\n   }\n"
               "   %4 = constant 4 : tile<i32, 4>\n"
               "   %s = splat %p : tile<ptr<i32>, 4>\n   %p0 = addptr %s, %i : tile<ptr<i32>, 4>\n"
               "   %p1 = addptr %p0, %4 : tile<ptr<i32>, 4>\n"
               "   store %p0, %x\n   store %p1, %y\n   return\n}\n",
               args, 2, &fault);
   assert_int_equal(status, TL_EXEC_OK);
   for (int i = 0; i < 4; i++) {
      assert_int_equal(out[i], 7);
      assert_int_equal(out[4 + i], 3 * i);
   }
   ir_close(&x);
}

static void
laid_functions_run_with_layouts_ignored(void **state)
{
   (void)state;
   static int32_t out[64];
   IrFixture x;
   ir_open(&x);
   TlExecFault fault;
   TlExecArg args[] = {BUF(out)};
   TlExecStatus status = run_text(
      &x,
      "#l0 = {shape=[64], reg=[[1],[2]], lane=[[4],[8],[16],[32],[0]], warp=[[0],[0]], block=[]}\n"
      "#l1 = {shape=[64], reg=[[32]], lane=[[1],[2],[4],[8],[16]], warp=[[0],[0]], block=[]}\n\n"
      "func @f(%x: ptr<i32>) {num_warps = 4, state = laid, target = \"sm_90a\"} {\n"
      "   %0 = arange {end = 64} : tile<i32, 64, #l0>\n"
      "   %1 = convert_layout %0 : tile<i32, 64, #l1>\n"
      "   %2 = splat %x : tile<ptr<i32>, 64, #l1>\n"
      "   %3 = addptr %2, %1 : tile<ptr<i32>, 64, #l1>\n"
      "   store %3, %1\n   return\n}\n",
      args, 1, &fault);
   assert_int_equal(status, TL_EXEC_OK);
   for (int i = 0; i < 64; i++)
      assert_int_equal(out[i], i);
   ir_close(&x);
}

int test_cpu(void);
int
test_cpu(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(access_past_the_end_is_located),
      cmocka_unit_test(negative_and_far_indices_stay_with_their_buffer),
      cmocka_unit_test(poison_is_seen),
      cmocka_unit_test(unwritten_ends_are_seen),
      cmocka_unit_test(masks_protect),
      cmocka_unit_test(races_of_programs_are_warned_of),
      cmocka_unit_test(arguments_are_checked),
      cmocka_unit_test(read_only_misaligned_and_wild),
      cmocka_unit_test(tables_of_pointers_work),
      cmocka_unit_test(memory_beside_the_arguments_is_asked_for),
      cmocka_unit_test(assertions_name_element_and_message),
      cmocka_unit_test(endless_loops_end),
      cmocka_unit_test(a_program_that_fails_stops_the_ones_after_it),
      cmocka_unit_test(memory_is_limited),
      cmocka_unit_test(undefined_values_are_found_where_they_matter),
      cmocka_unit_test(undefined_parts_of_a_product),
      cmocka_unit_test(wrapping_indices_and_broken_hints_are_warned_of),
      cmocka_unit_test(warnings_name_the_lowest_program),
      cmocka_unit_test(negative_indices_that_are_divided_are_warned_of),
      cmocka_unit_test(indices_of_histogram_and_gather_are_checked),
      cmocka_unit_test(prints_one_line_for_each_element),
      cmocka_unit_test(arguments_must_fit),
      cmocka_unit_test(assembly_beyond_the_subset_is_refused),
      cmocka_unit_test(any_number_of_threads_gives_one_result),
      cmocka_unit_test(the_first_failing_program_is_reported),
      cmocka_unit_test(loops_count_down_wrap_and_refuse_step_zero),
      cmocka_unit_test(carried_values_are_assigned_at_once),
      cmocka_unit_test(outer_values_of_regions_keep_their_place),
      cmocka_unit_test(laid_functions_run_with_layouts_ignored),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
