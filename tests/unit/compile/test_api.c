/* The public compile API under misuse: nothing given, structs of another size, and an allocator
 * that fails at each of its blocks in turn. */
#include "tilec/tilec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char source[] =
   "@kernel(grid=(cdiv(n, BLOCK),))\n"
   "def elu(x: *fp32, y: *fp32, n: i32, alpha: fp32 = 1.0, BLOCK: constexpr = 64):\n"
   "    offs = program_id(0) * BLOCK + arange(0, BLOCK)\n"
   "    v = load(x + offs, offs < n)\n"
   "    store(y + offs, where(v < 0, alpha * (exp(v) - 1), v), offs < n)\n";

/* Fails at block number `fail_at`; counts what is held. */
typedef struct Failing {
   long next;    /* number of the next block */
   long fail_at; /* -1 = never */
   long held;    /* blocks given out and not yet released */
} Failing;

static void *
failing_alloc(void *user, size_t bytes)
{
   Failing *f = user;
   if (f->next++ == f->fail_at)
      return NULL;
   f->held++;
   return malloc(bytes);
}

static void
failing_release(void *user, void *block)
{
   Failing *f = user;
   f->held--;
   free(block);
}

static void
ignore_diag(void *user, const TilecDiag *diag)
{
   (void)user;
   assert_non_null(diag->rendered);
}

static TilecSessionOptions
failing_options(Failing *f)
{
   return (TilecSessionOptions){.struct_size = sizeof(TilecSessionOptions),
                                .allocator = {failing_alloc, failing_release, f},
                                .on_diag = ignore_diag};
}

static TilecCompileOptions
compile_options(const char *text)
{
   return (TilecCompileOptions){
      .struct_size = sizeof(TilecCompileOptions),
      .source = text,
      .source_bytes = TILEC_STRLEN,
      .signature = "*fp32:16, *fp32:16, i32, fp32",
      .remarks = "all",
      .keep_stages = TILEC_STAGE_BIT(TILEC_STAGE_TOKENS) | TILEC_STAGE_BIT(TILEC_STAGE_AST) |
                     TILEC_STAGE_BIT(TILEC_STAGE_IR) | TILEC_STAGE_BIT(TILEC_STAGE_LAID) |
                     TILEC_STAGE_BIT(TILEC_STAGE_LOWERED)};
}

/* One launch on the CPU that makes 100 values. */
static TilecStatus
launch(const TilecProgram *p, TilecHostMode mode)
{
   float x[100], y[100] = {0};
   for (int i = 0; i < 100; i++)
      x[i] = (float)(i - 50);
   TilecArg args[] = {tilec_ptr(TILEC_FP32, x, sizeof x), tilec_ptr(TILEC_FP32, y, sizeof y),
                      tilec_int(TILEC_I32, 100), tilec_fp32(1.0f)};
   TilecHostLaunch l = {.struct_size = sizeof l,
                        .mode = mode,
                        .grid = {2, 1, 1},
                        .args = args,
                        .num_args = 4,
                        .num_threads = 1};
   TilecFault fault;
   TilecStatus status = tilec_program_run_cpu(p, &l, &fault);
   if (status != TILEC_OK && status != TILEC_NO_MEMORY)
      fail_msg("%s: %s", tilec_status_string(status), fault.message);
   if (status == TILEC_OK) {
      assert_true(y[99] == 49.0f);
      assert_true(y[0] < -0.99f && y[0] >= -1.0f);
   }
   return status;
}

static TilecStatus
whole_life(Failing *f, const char *text, TilecStage stop)
{
   TilecSessionOptions so = failing_options(f);
   TilecSession *s = NULL;
   TilecProgram *p = NULL;
   TilecStatus status = tilec_session_new(&so, &s);
   if (status == TILEC_OK) {
      TilecCompileOptions co = compile_options(text);
      co.stop_after = stop;
      status = tilec_compile(s, &co, &p);
      assert_true((status == TILEC_OK) == (p != NULL));
   }
   if (status == TILEC_OK)
      status = launch(p, TILEC_HOST_CPU);
   if (status == TILEC_OK && stop >= TILEC_STAGE_LOWERED)
      status = launch(p, TILEC_HOST_SIM);
   tilec_program_free(p);
   tilec_session_free(s);
   if (f->held)
      fail_msg("block %ld failed, %s: %ld blocks leak", f->fail_at, tilec_status_string(status),
               f->held);
   return status;
}

static void
each_block_fails(const char *text, TilecStage stop, TilecStatus expected)
{
   Failing count = {.fail_at = -1};
   assert_int_equal(whole_life(&count, text, stop), expected);
   assert_true(count.next > 4);
   long last = count.next < 300 ? count.next : 300;
   for (long i = 0; i < last; i++) {
      Failing f = {.fail_at = i};
      TilecStatus status = whole_life(&f, text, stop);
      /* rendering messages may run out of memory after the status is known */
      if (status != TILEC_NO_MEMORY && status != expected)
         fail_msg("block %ld of %ld: %s", i, count.next, tilec_status_string(status));
      if (status == TILEC_OK && expected == TILEC_OK)
         fail_msg("block %ld of %ld: its loss went unnoticed", i, count.next);
   }
}

static void
allocation_fails_while_compiling(void **state)
{
   (void)state;
   each_block_fails(source, TILEC_STAGE_LOWERED, TILEC_OK);
   each_block_fails(source, TILEC_STAGE_PTX, TILEC_OK);
}

static void
allocation_fails_with_errors(void **state)
{
   (void)state;
   each_block_fails("@kernel\ndef k(x: *fp32):\n    store(x, nothing)\n    load(\n", TILEC_STAGE_IR,
                    TILEC_BAD_SOURCE);
}

static void
allocation_fails_while_listing(void **state)
{
   (void)state;
   for (long i = 0; i < 300; i++) {
      Failing f = {.fail_at = i};
      TilecSessionOptions so = failing_options(&f);
      TilecSession *s = NULL;
      TilecListing *l = NULL;
      TilecStatus status = tilec_session_new(&so, &s);
      TilecCompileOptions co = compile_options(source);
      if (status == TILEC_OK)
         status = tilec_list_kernels(s, &co, &l);
      assert_true(status == TILEC_OK || status == TILEC_NO_MEMORY);
      assert_int_equal(tilec_listing_count(l), status == TILEC_OK ? 1 : 0);
      bool done = f.next <= i;
      tilec_listing_free(l);
      tilec_session_free(s);
      assert_int_equal(f.held, 0);
      if (done)
         return;
   }
}

static void
memory_limit_holds(void **state)
{
   (void)state;
   TilecSessionOptions so = {.struct_size = sizeof so, .memory_limit_bytes = 64 * 1024};
   TilecSession *s;
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   TilecCompileOptions co = compile_options(source);
   TilecProgram *p = (TilecProgram *)&co;
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_NO_MEMORY);
   assert_null(p);
   tilec_session_free(s);
}

static void
nothing_given(void **state)
{
   (void)state;
   TilecSession *s;
   TilecProgram *p;
   TilecListing *l;
   TilecFault fault;
   size_t len = 7;
   assert_int_equal(tilec_session_new(NULL, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_session_new(NULL, &s), TILEC_OK);
   TilecCompileOptions co = {.struct_size = sizeof co};
   assert_int_equal(tilec_compile(NULL, &co, &p), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_compile(s, NULL, &p), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_compile(s, &co, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_BAD_ARGUMENT); /* no file, no source */
   assert_null(p);
   assert_true(strlen(tilec_session_error(s)) > 0);
   assert_int_equal(tilec_list_kernels(s, &co, &l), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_list_kernels(s, NULL, &l), TILEC_BAD_ARGUMENT);
   assert_non_null(tilec_session_error(NULL));
   assert_null(tilec_program_text(NULL, TILEC_STAGE_PTX, &len));
   assert_int_equal(len, 0);
   assert_null(tilec_program_metadata(NULL, &len));
   assert_null(tilec_program_info(NULL));
   assert_null(tilec_listing_kernel(NULL, 0));
   assert_int_equal(tilec_listing_count(NULL), 0);
   TilecHostLaunch hl = {.struct_size = sizeof hl};
   assert_int_equal(tilec_program_run_cpu(NULL, &hl, &fault), TILEC_BAD_ARGUMENT);
   tilec_program_free(NULL);
   tilec_listing_free(NULL);
   tilec_session_free(NULL);
   tilec_session_free(s);
}

/* Values that no option has, lists with holes: refused with a line that says so, never read. */
static void
options_are_checked(void **state)
{
   (void)state;
   TilecSession *s;
   TilecProgram *p;
   TilecListing *l;
   static const char *const no_dir[] = {NULL};
   volatile int cancel = 1;
   const TilecDefine holes[] = {{"BLOCK", NULL}, {NULL, "3"}};
   TilecCompileOptions good = {.struct_size = sizeof good,
                               .source_bytes = TILEC_STRLEN,
                               .source = "@kernel\ndef k(x: *fp32):\n    store(x, 1.0)\n"};
   TilecCompileOptions bad[13];
   for (int i = 0; i < 13; i++)
      bad[i] = good;
   bad[0].opt = (TilecOpt)17;
   bad[1].fp_mode = (TilecFpMode)2;
   bad[2].stop_after = TILEC_STAGE_COUNT;
   bad[3].defines = &holes[0], bad[3].num_defines = 1;
   bad[4].defines = &holes[1], bad[4].num_defines = 1;
   bad[5].values = &holes[1], bad[5].num_values = 1;
   bad[6].num_defines = 1;
   bad[7].include_dirs = no_dir, bad[7].num_include_dirs = 1;
   bad[8].num_include_dirs = 1;
   bad[9].tma = (TilecTma)3;
   bad[10].fp32_dot = "fp32";
   bad[11].num_assume = 1;
   bad[12].assume = no_dir, bad[12].num_assume = 1;
   assert_int_equal(tilec_session_new(NULL, &s), TILEC_OK);
   for (int i = 0; i < 13; i++) {
      assert_int_equal(tilec_compile(s, &bad[i], &p), TILEC_BAD_ARGUMENT);
      assert_null(p);
      assert_true(strlen(tilec_session_error(s)) > 0);
      assert_int_equal(tilec_list_kernels(s, &bad[i], &l), TILEC_BAD_ARGUMENT);
   }
   good.cancel = &cancel;
   assert_int_equal(tilec_compile(s, &good, &p), TILEC_CANCELLED);
   assert_string_equal(tilec_session_error(s), tilec_status_string(TILEC_CANCELLED));
   tilec_session_free(s);
}

static void
struct_sizes(void **state)
{
   (void)state;
   TilecSession *s;
   TilecProgram *p;
   TilecSessionOptions so = {.struct_size = 0};
   assert_int_equal(tilec_session_new(&so, &s), TILEC_BAD_ARGUMENT);
   so.struct_size = 4;
   assert_int_equal(tilec_session_new(&so, &s), TILEC_BAD_ARGUMENT);
   assert_null(s);
   assert_non_null(strstr(tilec_session_error(s), "sizeof (TilecSessionOptions)"));
   so.struct_size = sizeof(size_t); /* the oldest possible: no other field */
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   TilecCompileOptions co = compile_options(source);
   co.struct_size = 0;
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_BAD_ARGUMENT);
   co.struct_size = offsetof(TilecCompileOptions, kernel); /* an older, shorter struct */
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_OK);
   TilecHostLaunch hl = {.struct_size = 0};
   TilecFault fault;
   assert_int_equal(tilec_program_run_cpu(p, &hl, &fault), TILEC_BAD_ARGUMENT);
   assert_non_null(strstr(fault.message, "sizeof (TilecHostLaunch)"));
   assert_int_equal(tilec_program_run_cpu(p, &hl, NULL), TILEC_BAD_ARGUMENT);
   assert_int_equal(tilec_program_run_cpu(p, NULL, NULL), TILEC_BAD_ARGUMENT);
   hl = (TilecHostLaunch){.struct_size = sizeof hl, .grid = {1, 1, 1}};
   assert_int_equal(tilec_program_run_cpu(p, &hl, NULL), TILEC_BAD_ARGUMENT); /* no arguments */
   hl.kernel = 9;
   assert_int_equal(tilec_program_run_cpu(p, &hl, NULL), TILEC_BAD_ARGUMENT);
   hl.kernel = 0;
   hl.num_args = 4; /* args is NULL */
   assert_int_equal(tilec_program_run_cpu(p, &hl, NULL), TILEC_BAD_ARGUMENT);
   tilec_program_free(p);
   co = compile_options(source);
   co.stop_after = TILEC_STAGE_COUNT;
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_BAD_ARGUMENT);
   tilec_session_free(s);
}

/* What the kernel `text`, of a pointer to 8 bytes and a number, stores for the number. */
static TilecStatus
stored_scalar(const char *text, const char *signature, TilecArg value, void *stored)
{
   TilecSession *s;
   TilecProgram *p;
   assert_int_equal(tilec_session_new(NULL, &s), TILEC_OK);
   TilecCompileOptions co = compile_options(text);
   co.signature = signature;
   co.stop_after = TILEC_STAGE_IR;
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_OK);
   TilecArg args[] = {tilec_ptr(TILEC_DTYPE_NONE, stored, 8), value};
   TilecHostLaunch hl = {.struct_size = sizeof hl, .grid = {1, 1, 1}, .args = args, .num_args = 2};
   TilecStatus status = tilec_program_run_cpu(p, &hl, NULL);
   tilec_program_free(p);
   tilec_session_free(s);
   return status;
}

static TilecStatus
scalar_launch(const char *signature, TilecArg value)
{
   static const char text[] = "@kernel\ndef k(y: *i64, a):\n    store(y, a.to(int64))\n";
   int64_t y = 0;
   return stored_scalar(text, signature, value, &y);
}

/* ---- what a launch warns of ---- */
typedef struct Heard {
   unsigned num;
   char text[4096];
} Heard;

static void
hear(void *user, const char *text, size_t len)
{
   Heard *h = user;
   size_t at = strlen(h->text);
   assert_int_equal(strlen(text), len);
   h->num++;
   snprintf(h->text + at, sizeof h->text - at, "%s", text);
}

static void
hear_diag(void *user, const TilecDiag *d)
{
   hear(user, d->rendered, strlen(d->rendered));
}

static void
assert_launch_says(const TilecProgram *p, uint32_t programs, const char *says)
{
   float x[64], total = 0;
   Heard h = {0};
   for (int i = 0; i < 64; i++)
      x[i] = (float)i;
   TilecArg args[] = {tilec_ptr(TILEC_DTYPE_NONE, x, sizeof x),
                      tilec_ptr(TILEC_DTYPE_NONE, &total, sizeof total), tilec_int(TILEC_I32, 50)};
   TilecHostLaunch l = {.struct_size = sizeof l,
                        .grid = {programs, 1, 1},
                        .args = args,
                        .num_args = 3,
                        .num_threads = 1,
                        .user = &h};
   assert_int_equal(tilec_program_run_cpu(p, &l, NULL), TILEC_OK); /* asks for nothing */
   l.on_warning = hear;
   assert_int_equal(tilec_program_run_cpu(p, &l, NULL), TILEC_OK);
   assert_int_equal(h.num > 0, says != NULL);
   assert_true(!says || strstr(h.text, says));
}

/* What holds for any grid comes with the compilation, the rest with the first launch that shows
 * it. */
static void
launches_warn_once(void **state)
{
   (void)state;
   static const char text[] = "@kernel\ndef k(x: *fp32, total: *fp32, n: i32):\n"
                              "    c = arange(0, 32)\n"
                              "    i = program_id(0) * 32 + c\n"
                              "    v = load(x + i, i < n, other=0.0)\n"
                              "    v = where(c >= 0 & c < n, v, 1.0)\n"
                              "    store(total, sum(v, axis=0))\n";
   Heard h = {0};
   TilecSessionOptions so = {.struct_size = sizeof so, .on_diag = hear_diag, .user = &h};
   TilecSession *s;
   TilecProgram *p;
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   TilecCompileOptions co = compile_options(text);
   co.signature = co.remarks = NULL;
   co.stop_after = TILEC_STAGE_IR;
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_OK);
   assert_null(strstr(h.text, "warning[W0209]"));
   tilec_program_free(p);
   co.lints = true;
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_OK);
   assert_non_null(strstr(h.text, "warning[W0209]"));
   assert_launch_says(p, 0, NULL);
   assert_launch_says(p, 1, NULL);
   assert_launch_says(p, 2, "warning[W0604]");
   assert_launch_says(p, 2, NULL);
   assert_launch_says(p, 1, NULL);
   tilec_program_free(p);
   co.warnings_are_errors = true;
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_BAD_SOURCE);
   tilec_session_free(s);
}

/* A listing for a kernel that is a plain function says so; for a name of nothing it is as any
 * other. */
static void
listings_tell_of_plain_functions(void **state)
{
   (void)state;
   static const char text[] = "import triton\n\ndef relu(x):\n    pass\n";
   Heard h = {0};
   TilecSessionOptions so = {.struct_size = sizeof so, .on_diag = hear_diag, .user = &h};
   TilecSession *s;
   TilecListing *l;
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   TilecCompileOptions co = compile_options(text);
   co.file = "k.py";
   co.kernel = "other";
   assert_int_equal(tilec_list_kernels(s, &co, &l), TILEC_OK);
   tilec_listing_free(l);
   co.kernel = "relu";
   assert_int_equal(tilec_list_kernels(s, &co, &l), TILEC_BAD_SOURCE);
   assert_non_null(strstr(h.text, "k.py:3:5: error[E0261]"));
   assert_non_null(strstr(h.text, "write @triton.jit"));
   tilec_session_free(s);
}

/* A small float is a bit pattern, which says nothing in another type; 2^63 and more has no sign. */
static void
scalars_become_floats_by_value(void **state)
{
   (void)state;
   static const char text[] = "@kernel\ndef k(y: *fp64, a):\n    store(y, a.to(float64))\n";
   static const char *const types[] = {"*fp64, fp64", "*fp64, fp32", "*fp64, bf16"};
   for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
      double y = 0;
      assert_int_equal(stored_scalar(text, types[i], tilec_uint(TILEC_U64, 1ull << 63), &y),
                       TILEC_OK);
      assert_true(y == 0x1p63);
      assert_int_equal(stored_scalar(text, types[i], tilec_int(TILEC_I32, -3), &y), TILEC_OK);
      assert_true(y == -3);
      assert_int_equal(stored_scalar(text, types[i], tilec_bits(TILEC_FP16, 0x3C00), &y),
                       TILEC_BAD_ARGUMENT);
   }
   double y = 0;
   assert_int_equal(stored_scalar(text, "*fp64, fp16", tilec_bits(TILEC_FP16, 0x3C00), &y),
                    TILEC_OK);
   assert_true(y == 1);
   int64_t z;
   assert_int_equal(stored_scalar(text, "*fp64, i32", tilec_bits(TILEC_FP16, 0x3C00), &z),
                    TILEC_BAD_ARGUMENT);
}

static void
scalars_must_fit(void **state)
{
   (void)state;
   static const struct {
      const char *type;
      TilecArg fits, does_not;
   } rows[] = {
      {"*i64, i8",
       {TILEC_ARG_SCALAR, TILEC_I32, {-128}, 0},
       {TILEC_ARG_SCALAR, TILEC_I32, {128}, 0}},
      {"*i64, u8", {TILEC_ARG_SCALAR, TILEC_I32, {255}, 0}, {TILEC_ARG_SCALAR, TILEC_I32, {-1}, 0}},
      {"*i64, i32",
       {TILEC_ARG_SCALAR, TILEC_U64, {INT32_MAX}, 0},
       {TILEC_ARG_SCALAR, TILEC_I64, {INT64_C(1) << 31}, 0}},
      {"*i64, u64", {TILEC_ARG_SCALAR, TILEC_U64, {-1}, 0}, {TILEC_ARG_SCALAR, TILEC_I64, {-1}, 0}},
      {"*i64, i1", {TILEC_ARG_SCALAR, TILEC_I32, {1}, 0}, {TILEC_ARG_SCALAR, TILEC_I32, {2}, 0}},
      {"*i64, i64", {TILEC_ARG_SCALAR, TILEC_I64, {-1}, 0}, {TILEC_ARG_SCALAR, TILEC_U64, {-1}, 0}},
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      if (scalar_launch(rows[i].type, rows[i].fits) != TILEC_OK)
         fail_msg("row %zu: a value that fits was refused", i);
      if (scalar_launch(rows[i].type, rows[i].does_not) != TILEC_BAD_ARGUMENT)
         fail_msg("row %zu: a value that does not fit was taken", i);
   }
}

static void
a_launch_is_cancelled(void **state)
{
   (void)state;
   Failing none = {.fail_at = -1};
   TilecSessionOptions so = failing_options(&none);
   TilecSession *s;
   TilecProgram *p;
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   TilecCompileOptions co = compile_options(source);
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_OK);
   for (int mode = TILEC_HOST_CPU; mode <= TILEC_HOST_SIM; mode++) {
      float x[100] = {1}, y[100] = {0};
      volatile int cancel = 1;
      TilecArg args[] = {tilec_ptr(TILEC_FP32, x, sizeof x), tilec_ptr(TILEC_FP32, y, sizeof y),
                         tilec_int(TILEC_I32, 100), tilec_fp32(1.0f)};
      TilecHostLaunch l = {.struct_size = sizeof l,
                           .mode = (TilecHostMode)mode,
                           .grid = {2, 1, 1},
                           .args = args,
                           .num_args = 4,
                           .cancel = &cancel};
      assert_int_equal(tilec_program_run_cpu(p, &l, NULL), TILEC_CANCELLED);
      assert_true(y[0] == 0.0f);
      cancel = 0;
      assert_int_equal(tilec_program_run_cpu(p, &l, NULL), TILEC_OK);
      assert_true(y[0] == 1.0f);
   }
   tilec_program_free(p);
   tilec_session_free(s);
}

/* What is wrong with a launch is said, on both executors. */
static void
launches_name_their_cause(void **state)
{
   (void)state;
   TilecSession *s;
   TilecProgram *p;
   TilecFault fault;
   float x[4] = {0};
   TilecArg arg = tilec_ptr(TILEC_FP32, x, sizeof x);
   assert_int_equal(tilec_session_new(NULL, &s), TILEC_OK);
   TilecCompileOptions co = compile_options("@kernel\ndef k(x: *fp32):\n    store(x, 1.0)\n");
   co.signature = NULL;
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_OK);
   for (int mode = TILEC_HOST_CPU; mode <= TILEC_HOST_SIM; mode++) {
      TilecHostLaunch l = {.struct_size = sizeof l,
                           .mode = (TilecHostMode)mode,
                           .grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
                           .args = &arg,
                           .num_args = 1};
      assert_int_equal(tilec_program_run_cpu(p, &l, &fault), TILEC_BAD_ARGUMENT);
      assert_non_null(strstr(fault.message, "error[E0617]: the grid of 'k' has more programs"));
      l.grid[0] = l.grid[1] = l.grid[2] = l.kernel = 1;
      assert_int_equal(tilec_program_run_cpu(p, &l, &fault), TILEC_BAD_ARGUMENT);
      assert_non_null(strstr(fault.message, "the program has 1 kernel; got number 1"));
      TilecArg null = tilec_ptr(TILEC_FP32, NULL, sizeof x);
      l.kernel = 0;
      l.args = &null;
      assert_int_equal(tilec_program_run_cpu(p, &l, &fault), TILEC_BAD_ARGUMENT);
      assert_non_null(strstr(fault.message, "'x': a null pointer has no memory"));
   }
   TilecHostLaunch l = {.struct_size = sizeof l, .mode = (TilecHostMode)9, .grid = {1, 1, 1}};
   assert_int_equal(tilec_program_run_cpu(p, &l, &fault), TILEC_BAD_ARGUMENT);
   assert_string_equal(fault.message, "there is no mode 9");
   tilec_program_free(p);
   tilec_session_free(s);
}

/* A kernel gets the lowest PTX version that has its instructions, within the bound asked for. */
static void
ptx_version_is_the_lowest_needed(void **state)
{
   (void)state;
   static const char fp8_dot[] = "@kernel\n"
                                 "def k(a, b, c):\n"
                                 "    i = arange(0, 32)\n"
                                 "    at = i[:, None] * 32 + i[None, :]\n"
                                 "    store(c + at, dot(load(a + at), load(b + at)))\n";
   static const struct {
      const char *arch, *a;
      uint32_t bound, version;
      bool is_native;
   } cases[] = {
      {"sm_90a", "*fp8e4nv:16, *fp8e4nv:16, *fp32:16", 0, 84, true},
      {"sm_90a", "*fp8e5:16, *fp8e5:16, *fp32:16", 84, 84, true},
      {"sm_90a", "*fp8e4nv:16, *fp8e4nv:16, *fp32:16", 83, 80, false},
      {"sm_89", "*fp8e5:16, *fp8e5:16, *fp32:16", 0, 84, true},
      {"sm_89", "*fp16:16, *fp16:16, *fp32:16", 0, 80, false},
      {"sm_90a", "*fp16:16, *fp16:16, *fp32:16", 90, 80, false},
      {"sm_80", "*fp8e5:16, *fp8e5:16, *fp32:16", 0, 80, false},
   };
   TilecSessionOptions so = {.struct_size = sizeof so};
   TilecSession *s = NULL;
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      TilecCompileOptions co = {.struct_size = sizeof co,
                                .source = fp8_dot,
                                .source_bytes = TILEC_STRLEN,
                                .signature = cases[i].a,
                                .arch = cases[i].arch,
                                .ptx_version = cases[i].bound};
      TilecProgram *p = NULL;
      assert_int_equal(tilec_compile(s, &co, &p), TILEC_OK);
      const char *ptx = tilec_program_text(p, TILEC_STAGE_PTX, NULL);
      char line[32];
      snprintf(line, sizeof line, ".version %u.%u", cases[i].version / 10, cases[i].version % 10);
      assert_non_null(strstr(ptx, line));
      assert_int_equal(tilec_program_info(p)->ptx_version, cases[i].version);
      bool is_native = strstr(ptx, ".e4m3.e4m3") || strstr(ptx, ".e5m2.e5m2");
      assert_int_equal(is_native, cases[i].is_native);
      assert_non_null(strstr(ptx, "mma.sync"));
      tilec_program_free(p);
   }
   TilecCompileOptions co = {.struct_size = sizeof co,
                             .source = fp8_dot,
                             .source_bytes = TILEC_STRLEN,
                             .arch = "sm_120",
                             .ptx_version = 80};
   TilecProgram *p = NULL;
   assert_int_equal(tilec_compile(s, &co, &p), TILEC_BAD_TARGET);
   tilec_session_free(s);
}

/* What a device without a target of its own runs: what the runtime calls a GPU of capability 10.0
 * ("sm_100a") among them. */
static void
devices_get_the_newest_target_that_they_run(void **state)
{
   (void)state;
   static const struct {
      const char *asked, *got;
   } cases[] = {
      {"sm_87", "sm_86"},   {"sm_90", "sm_90"},    {"sm_90f", "sm_90"},   {"sm_100a", "sm_100"},
      {"sm_103", "sm_100"}, {"sm_110a", "sm_100"}, {"sm_120a", "sm_120"}, {"sm_121f", "sm_120"},
      {"sm_80a", "sm_80"},  {"sm_75", NULL},       {"sm_100b", NULL},     {"sm_1000", NULL},
      {"sm_", NULL},        {"sm_90aa", NULL},     {"100", NULL},
   };
   TilecSessionOptions so = {.struct_size = sizeof so};
   TilecSession *s = NULL;
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      TilecCompileOptions co = {.struct_size = sizeof co,
                                .source = "@kernel\ndef k(x):\n    store(x, 1)\n",
                                .source_bytes = TILEC_STRLEN,
                                .signature = "*fp32",
                                .arch = cases[i].asked};
      TilecProgram *p = NULL;
      assert_int_equal(tilec_compile(s, &co, &p), cases[i].got ? TILEC_OK : TILEC_BAD_TARGET);
      if (p)
         assert_string_equal(tilec_program_info(p)->arch, cases[i].got);
      tilec_program_free(p);
   }
   tilec_session_free(s);
}

static TilecListing *
list_text(const char *text, const char *file)
{
   TilecSession *session;
   TilecListing *l = NULL;
   TilecCompileOptions o = {
      .struct_size = sizeof o, .file = file, .source = text, .source_bytes = TILEC_STRLEN};
   assert_int_equal(tilec_session_new(NULL, &session), TILEC_OK);
   assert_int_equal(tilec_list_kernels(session, &o, &l), TILEC_OK);
   tilec_session_free(session);
   return l;
}

static void
a_listing_has_the_grid_as_written(void **state)
{
   (void)state;
   TilecListing *l = list_text("@kernel(grid=(cdiv(n, 64), 2))\n"
                               "def k(n: i32):\n"
                               "    pass\n"
                               "@kernel\n"
                               "def other(n: i32):\n"
                               "    pass\n",
                               "k.tile");
   assert_string_equal(tilec_listing_kernel(l, 0)->grid, "(cdiv(n, 64), 2)");
   assert_null(tilec_listing_kernel(l, 1)->grid);
   tilec_listing_free(l);
}

/* Of each kernel: its parameter `of`, what it may be stepped through by, and what are bounds. */
static void
a_listing_tells_strides_by_the_text(void **state)
{
   (void)state;
   static const struct {
      const char *text, *of, *strides, *bounds;
   } rows[] = {
      {"def k(x, y, n, s, BLOCK: tl.constexpr):\n"
       "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
       "    v = tl.load(x + i * s, mask=i < n)\n"
       "    tl.store(y + i, v * s, mask=i < n)\n",
       "x", "s BLOCK", "n BLOCK"},
      {"def k(x, y, n, s):\n" /* what was loaded, and its type, lead nowhere */
       "    v = tl.load(x + tl.load(y) * n)\n"
       "    w = tl.dot(v * s, v).to(x.dtype.element_ty)\n"
       "    tl.store(y + n, w)\n",
       "x", "n", ""},
      {"def at(p, row, width):\n" /* through a function, and what a loop carries */
       "    return p + row * width\n"
       "@triton.jit\n"
       "def k(x, rows, s, step):\n"
       "    q = x\n"
       "    for r in range(rows):\n"
       "        tl.store(at(q, r, width=s), 0)\n"
       "        q += step\n",
       "x", "s step", "rows"},
      {"def k(x, m, n, sm, sn):\n"
       "    b = tl.make_block_ptr(x, (m, n), (sm, sn), (0, 0), (16, 16), (1, 0))\n"
       "    tl.store(b, tl.load(b))\n",
       "x", "sm sn", ""},
      {"def k(x, a, n, s):\n" /* arguments without places: all that the call is given */
       "    tl.store(other(x, *a, s), n // 2 & 1)\n",
       "x", "a s", ""},
   };
   for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
      char text[1024], strides[128] = "", bounds[128] = "";
      snprintf(text, sizeof text, "@triton.jit\n%s", rows[r].text);
      TilecListing *l = list_text(text, "k.py");
      const TilecKernelDecl *d = NULL;
      for (uint32_t i = 0; i < tilec_listing_count(l); i++)
         if (strcmp(tilec_listing_kernel(l, i)->name, "k") == 0)
            d = tilec_listing_kernel(l, i);
      assert_non_null(d);
      for (uint32_t i = 0; i < d->num_params; i++) {
         const TilecParamDecl *p = &d->params[i];
         for (uint32_t k = 0; strcmp(p->name, rows[r].of) == 0 && k < p->num_strides; k++)
            snprintf(strides + strlen(strides), sizeof strides - strlen(strides), "%s%s",
                     strides[0] ? " " : "", p->strides[k]);
         if (p->is_bound)
            snprintf(bounds + strlen(bounds), sizeof bounds - strlen(bounds), "%s%s",
                     bounds[0] ? " " : "", p->name);
      }
      assert_string_equal(strides, rows[r].strides);
      assert_string_equal(bounds, rows[r].bounds);
      tilec_listing_free(l);
   }
}

static void
decorators_switch_specialisation_off(void **state)
{
   (void)state;
   static const char text[] =
      "STEPS = ['a', 2]\n"
      "@triton.jit(do_not_specialize=STEPS, do_not_specialize_on_alignment=('x', 'a', 'nobody'))\n"
      "def k(x, a, b, c):\n"
      "    pass\n";
   static const struct {
      bool no_specialize, no_align;
   } want[] = {{false, true}, {true, true}, {true, false}, {false, false}};
   TilecListing *l = list_text(text, "k.py");
   const TilecKernelDecl *d = tilec_listing_kernel(l, 0);
   assert_int_equal(d->num_params, 4);
   for (int i = 0; i < 4; i++) {
      assert_int_equal(d->params[i].no_specialize, want[i].no_specialize);
      assert_int_equal(d->params[i].no_align, want[i].no_align);
   }
   size_t len;
   assert_string_equal(tilec_listing_source(l, &len), text);
   assert_int_equal(len, sizeof text - 1);
   assert_null(tilec_listing_source(NULL, &len));
   tilec_listing_free(l);
   /* a .py file may hold what only Python understands: then nothing is switched off */
   l = list_text("@triton.jit(do_not_specialize=names())\ndef k(x):\n    pass\n", "k.py");
   assert_false(tilec_listing_kernel(l, 0)->params[0].no_specialize);
   tilec_listing_free(l);
}

static void
imports_are_told(void **state)
{
   (void)state;
   char folder[] = "/tmp/tilec-api-XXXXXX", path[64];
   assert_non_null(mkdtemp(folder));
   snprintf(path, sizeof path, "%s/two.tile", folder);
   FILE *f = fopen(path, "w");
   assert_non_null(f);
   fputs("def twice(v):\n    return v * 2\n", f);
   fclose(f);
   const char *const dirs[] = {"/nowhere", folder};
   TilecSession *session;
   TilecProgram *p;
   TilecImport import;
   TilecCompileOptions o = {
      .struct_size = sizeof o,
      .include_dirs = dirs,
      .num_include_dirs = 2,
      .source = "from two import twice\n@kernel\ndef k(x: *fp32):\n    store(x, twice(load(x)))\n",
      .source_bytes = TILEC_STRLEN,
      .stop_after = TILEC_STAGE_IR};
   assert_int_equal(tilec_session_new(NULL, &session), TILEC_OK);
   assert_int_equal(tilec_compile(session, &o, &p), TILEC_OK);
   unsigned found = 0, absent = 0;
   for (uint32_t i = 0; tilec_program_import(p, i, &import); i++) {
      if (import.text) {
         assert_string_equal(import.path, path);
         assert_int_equal(import.len, strlen(import.text));
         found++;
      } else {
         absent += strncmp(import.path, "/nowhere/two", 12) == 0;
      }
   }
   assert_int_equal(found, 1);
   assert_true(absent >= 1);
   assert_false(tilec_program_import(NULL, 0, &import));
   assert_false(tilec_program_import(p, 0, NULL));
   tilec_program_free(p);
   tilec_session_free(session);
   unlink(path);
   rmdir(folder);
}

static void
builds_and_bytes_have_names(void **state)
{
   (void)state;
   char id[256], cut[8];
   /* of no bytes, and of 0, 1, 2 .. 250 repeated to 1025: BLAKE3's published test vectors */
   static const unsigned char of_nothing[] = {0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6};
   static const unsigned char of_1025[] = {0xd0, 0x02, 0x78, 0xae, 0x47, 0xeb, 0x27, 0xb3};
   unsigned char bytes[1025], digest[TILEC_DIGEST_BYTES];
   for (int i = 0; i < 1025; i++)
      bytes[i] = (unsigned char)(i % 251);
   tilec_digest(NULL, 0, digest);
   assert_memory_equal(digest, of_nothing, sizeof of_nothing);
   tilec_digest(bytes, sizeof bytes, digest);
   assert_memory_equal(digest, of_1025, sizeof of_1025);
   size_t len = tilec_build_id(id, sizeof id);
   assert_int_equal(len, strlen(id));
   assert_memory_equal(id, tilec_version(), strlen(tilec_version()));
   assert_true(len > strlen(tilec_version()) + 40); /* the linker's id is 20 bytes */
   assert_int_equal(tilec_build_id(cut, sizeof cut), len);
   assert_int_equal(strlen(cut), sizeof cut - 1);
}

/* The program around the compiler speaks a language whose decimal point is a comma. */
static void
numbers_are_read_in_any_locale(void **state)
{
   (void)state;
   static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
   static const char text[] = "V = 1.0 if f'{0.5}' == '0.5' and float('0.5') == 0.5 else 2.0\n"
                              "@kernel\ndef k(x: *fp32):\n    store(x, V)\n";
   const char *set = NULL;
   for (size_t i = 0; !set && i < sizeof names / sizeof names[0]; i++)
      set = setlocale(LC_ALL, names[i]);
   if (!set || *localeconv()->decimal_point != ',') {
      setlocale(LC_ALL, "C");
      skip();
   }
   TilecSessionOptions so = {.struct_size = sizeof so, .on_diag = ignore_diag};
   TilecCompileOptions o = {
      .struct_size = sizeof o, .source = text, .source_bytes = TILEC_STRLEN, .arch = "sm_90a"};
   TilecSession *s;
   TilecProgram *p;
   assert_int_equal(tilec_session_new(&so, &s), TILEC_OK);
   assert_int_equal(tilec_compile(s, &o, &p), TILEC_OK);
   const char *ptx = tilec_program_text(p, TILEC_STAGE_PTX, NULL);
   assert_true(strstr(ptx, "0f3F800000") || strstr(ptx, "1065353216"));
   assert_int_equal(*localeconv()->decimal_point, ',');
   tilec_program_free(p);
   tilec_session_free(s);
   setlocale(LC_ALL, "C");
}

int
test_api(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_given),
      cmocka_unit_test(options_are_checked),
      cmocka_unit_test(launches_name_their_cause),
      cmocka_unit_test(struct_sizes),
      cmocka_unit_test(scalars_must_fit),
      cmocka_unit_test(scalars_become_floats_by_value),
      cmocka_unit_test(memory_limit_holds),
      cmocka_unit_test(a_launch_is_cancelled),
      cmocka_unit_test(ptx_version_is_the_lowest_needed),
      cmocka_unit_test(devices_get_the_newest_target_that_they_run),
      cmocka_unit_test(allocation_fails_with_errors),
      cmocka_unit_test(allocation_fails_while_listing),
      cmocka_unit_test(a_listing_has_the_grid_as_written),
      cmocka_unit_test(a_listing_tells_strides_by_the_text),
      cmocka_unit_test(decorators_switch_specialisation_off),
      cmocka_unit_test(imports_are_told),
      cmocka_unit_test(builds_and_bytes_have_names),
      cmocka_unit_test(launches_warn_once),
      cmocka_unit_test(listings_tell_of_plain_functions),
      cmocka_unit_test(numbers_are_read_in_any_locale),
      cmocka_unit_test(allocation_fails_while_compiling),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
