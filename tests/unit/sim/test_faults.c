/* Planted faults: each must be found, with the places of both sides where there are two. */
#include "unit/sim/machine.h"

/* How each fault is reported, and the note that points at its other side. */
static const struct {
   TlDiagCode code, note;
} report_of[] = {
   [TL_SIM_FAULT_RACE] = {TL_DIAG_E0680, TL_DIAG_N0680},
   [TL_SIM_FAULT_GLOBAL_RACE] = {TL_DIAG_E0687, TL_DIAG_N0680},
   [TL_SIM_FAULT_BLOCK_RACE] = {TL_DIAG_E0690, TL_DIAG_N0680},
   [TL_SIM_FAULT_IN_FLIGHT] = {TL_DIAG_E0681, TL_DIAG_N0681},
   [TL_SIM_FAULT_UNWRITTEN] = {TL_DIAG_E0682, TL_DIAG_N0686},
   [TL_SIM_FAULT_PROXY] = {TL_DIAG_E0688, TL_DIAG_N0680},
   [TL_SIM_FAULT_WGMMA] = {TL_DIAG_E0689, TL_DIAG_N0686},
   [TL_SIM_FAULT_EXTENT] = {TL_DIAG_E0683, TL_DIAG_N0686},
   [TL_SIM_FAULT_ALIGNMENT] = {TL_DIAG_E0684, TL_DIAG_N0686},
   [TL_SIM_FAULT_DIVERGED] = {TL_DIAG_E0685, TL_DIAG_N0685},
   [TL_SIM_FAULT_STUCK] = {TL_DIAG_E0686, TL_DIAG_N0685},
};

static void
expect_fault(Machine *m, TlSimFaultKind kind, const char *at, const char *other)
{
   if (m->status != TL_EXEC_FAULT || m->fault.kind != kind)
      fail_msg("status %d, fault %d/%d at '%s', want fault %d\n%s", (int)m->status,
               (int)m->fault.kind, (int)m->fault.base.kind,
               m->status == TL_EXEC_OK ? "-" : m->fault.base.op, (int)kind, m->text);
   const char *got = m_source(m, m->fault.base.range);
   if (!strstr(got, at))
      fail_msg("fault at '%s', want '%s'", got, at);
   got = m_source(m, m->fault.other);
   if (other && !strstr(got, other))
      fail_msg("other side '%s', want '%s'", got, other);
   TlDiags d;
   tl_diags_init(&d, m->x.arena, m->x.sources);
   if (kind != TL_SIM_FAULT_BASE) {
      tl_sim_report(&d, &m->fault);
      assert_int_equal(d.num_errors, 1);
      assert_int_equal(d.first->code, report_of[kind].code);
      if (other)
         assert_int_equal(d.first->notes->code, report_of[kind].note);
   }
}

/* A pair is found from whichever side comes second in the simulator's order. */
static void
expect_pair(Machine *m, TlSimFaultKind kind, const char *one, const char *two)
{
   bool swapped = m->status == TL_EXEC_FAULT && strstr(m_source(m, m->fault.base.range), two);
   expect_fault(m, kind, swapped ? two : one, swapped ? one : two);
}

static void
expect_base(Machine *m, TlFaultKind kind, const char *at)
{
   expect_fault(m, TL_SIM_FAULT_BASE, at, NULL);
   assert_int_equal(m->fault.base.kind, kind);
}

/* Every thread writes its word and reads the one of the thread 32 further. */
#define EXCHANGE(between)                                                                          \
   "%k124 = constant 128 : i32\n%n = xor %tid4, %k124 : i32\n"                           \
   "st_shared %tid4, %tid\n" between "%v = ld_shared %n : i32\n"                                   \
   "%p = addptr %y, %tid : ptr<i32>\nst_global %p, %v\n"

static void
missing_barrier(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 1);
   int32_t *y = m_buffer(&m, "y", TL_I32, 64);
   m_must_run(&m, 2, 256, EXCHANGE("bar_sync\n"));
   assert_int_equal(y[0], 32);
   assert_int_equal(y[40], 8);
   /* a warp's own barrier does not order two warps */
   m_run(&m, 2, 256, EXCHANGE("bar_warp\n"));
   expect_pair(&m, TL_SIM_FAULT_RACE, "ld_shared", "st_shared");
   assert_true(m.fault.other_is_write != m.fault.is_write);
   assert_int_equal(m.fault.thread ^ m.fault.other_thread, 32);
   m_close(&m);
}

/* The first reader finds nothing written; that another thread writes it later makes it a race. */
static void
no_barrier_at_all(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 1);
   m_buffer(&m, "y", TL_I32, 64);
   m_run(&m, 2, 256, EXCHANGE(""));
   expect_pair(&m, TL_SIM_FAULT_RACE, "ld_shared", "st_shared");
   m_close(&m);
}

static void
write_after_read(void **state)
{
   (void)state;
   static const char body[] =
      "%%k124 = constant 124 : i32\n%%n = sub %%k124, %%tid4 : i32\n"
      "%%ten = constant 2 : i32\n"
      "st_shared %%tid4, %%tid\nbar_warp\n%%v = ld_shared %%n : i32\n%s"
      "%%u = add %%v, %%k1 : i32\nst_shared %%tid4, %%u\nbar_warp\n"
      "%%w = ld_shared %%n : i32\n%%p = addptr %%y, %%tid : ptr<i32>\nst_global %%p, %%w\n";
   Machine m;
   m_open(&m, 2);
   int32_t *y = m_buffer(&m, "y", TL_I32, 32);
   m_must_run(&m, 1, 128, tl_arena_printf(m.x.arena, body, "bar_warp\n"));
   assert_int_equal(y[5], 6);
   m_run(&m, 1, 128, tl_arena_printf(m.x.arena, body, ""));
   expect_pair(&m, TL_SIM_FAULT_RACE, "st_shared %tid4, %u", "%v = ld_shared");
   m_close(&m);
}

/* Two threads write one word differently; the same value is no race. */
static void
write_after_write(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 3);
   m_buffer(&m, "y", TL_I32, 32);
   m_must_run(&m, 2, 128, "st_shared %k0, %k5\n");
   m_run(&m, 2, 128, "st_shared %k0, %tid\n");
   expect_fault(&m, TL_SIM_FAULT_RACE, "st_shared", "st_shared");
   m_close(&m);
}

/* A barrier of other warps does not help: named barriers order those that meet there. */
static void
barrier_of_the_wrong_role(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 4);
   m_buffer(&m, "y", TL_I32, 128);
   m_run(&m, 4, 512,
         "st_shared %tid4, %tid\n"
         "role {first_warp = 0, num_warps = 2} {\n bar_sync {barrier = 1}\n yield\n}\n"
         "role {first_warp = 2, num_warps = 2} {\n bar_sync {barrier = 2}\n yield\n}\n"
         "%k256 = constant 256 : i32\n%n = xor %tid4, %k256 : i32\n"
         "%v = ld_shared %n : i32\n%p = addptr %y, %tid : ptr<i32>\nst_global %p, %v\n");
   expect_pair(&m, TL_SIM_FAULT_RACE, "ld_shared", "st_shared");
   m_close(&m);
}

/* ---- asynchronous copies ---- */
#define COPY "%px = addptr %x, %tid4 : ptr<fp32>\ncp_async %tid16, %px {offsets = [0]}\n"
#define COPY_ "%%px = addptr %%x, %%tid4 : ptr<fp32>\ncp_async %%tid16, %%px {offsets = [0]}\n"
#define READ                                                                                       \
   "%v = ld_shared %tid16 {vec = 4} : regs<fp32, 4>\n"                                             \
   "%p = addptr %y, %tid4 : ptr<fp32>\nst_global %p, %v {vec = 4}\n"

static void
copies(Machine *m, const char *body)
{
   m_open(m, 5);
   float *x = m_buffer(m, "x", TL_FP32, 512);
   m_buffer(m, "y", TL_FP32, 512);
   for (unsigned i = 0; i < 512; i++)
      x[i] = (float)i;
   m_run(m, 2, 2048, body);
}

static void
copy_not_waited_for(void **state)
{
   (void)state;
   Machine m;
   copies(&m, COPY "cp_async_commit\nbar_sync\n" READ);
   expect_fault(&m, TL_SIM_FAULT_IN_FLIGHT, "ld_shared", "cp_async");
   m_close(&m);
   copies(&m, COPY "cp_async_wait {num = 0}\nbar_sync\n" READ); /* never committed */
   expect_fault(&m, TL_SIM_FAULT_IN_FLIGHT, "ld_shared", "cp_async");
   m_close(&m);
   copies(&m, COPY "cp_async_commit\ncp_async_wait {num = 1}\nbar_sync\n" READ); /* off by one */
   expect_fault(&m, TL_SIM_FAULT_IN_FLIGHT, "ld_shared", "cp_async");
   m_close(&m);
   copies(&m, COPY "cp_async_commit\ncp_async_wait {num = 0}\nbar_sync\n" READ);
   assert_int_equal(m.status, TL_EXEC_OK);
   m_close(&m);
}

/* Threads that hold copies of one element fill its place with the same bytes, in the same warp
 * and across warps; with other bytes it is a race. */
static void
copy_of_replicas(void **state)
{
   (void)state;
   static const char body[] =
      "%%all = constant 31 : i32\n%%low = and %%tid, %%all : i32\n"
      "%%one = constant 1 : i32\n%%half = shr %%low, %%one : i32\n"
      "%%two = constant 2 : i32\n%%to = shl %%half, %%two : i32\n"
      "%%px = addptr %%x, %%%s : ptr<fp32>\ncp_async %%to, %%px {offsets = [0], bytes = 4}\n"
      "cp_async_commit\ncp_async_wait {num = 0}\nbar_sync\n"
      "%%v = ld_shared %%to : fp32\n%%p = addptr %%y, %%tid : ptr<fp32>\nst_global %%p, %%v\n";
   Machine m;
   copies(&m, "");
   Machine n;
   copies(&n, tl_arena_printf(m.x.arena, body, "half"));
   assert_int_equal(n.status, TL_EXEC_OK);
   m_close(&n);
   copies(&n, tl_arena_printf(m.x.arena, body, "low"));
   assert_int_equal(n.status, TL_EXEC_FAULT);
   assert_true(n.fault.kind == TL_SIM_FAULT_RACE || n.fault.kind == TL_SIM_FAULT_IN_FLIGHT);
   m_close(&n);
   m_close(&m);
}

/* Waited for by each thread, but no barrier before others read. */
static void
copy_without_barrier(void **state)
{
   (void)state;
   Machine m;
   copies(&m, COPY "cp_async_commit\ncp_async_wait {num = 0}\n"
                   "%k512 = constant 512 : i32\n%n = xor %tid16, %k512 : i32\n"
                   "%v = ld_shared %n {vec = 4} : regs<fp32, 4>\n");
   assert_int_equal(m.status, TL_EXEC_FAULT);
   assert_true(m.fault.kind == TL_SIM_FAULT_RACE || m.fault.kind == TL_SIM_FAULT_IN_FLIGHT);
   m_close(&m);
   copies(&m, COPY "cp_async_commit\ncp_async_wait {num = 0}\nbar_warp\n"
                   "%n = xor %tid16, %k16 : i32\n"
                   "%v = ld_shared %n {vec = 4} : regs<fp32, 4>\n");
   assert_int_equal(m.status, TL_EXEC_OK);
   m_close(&m);
}

/* A stage is filled again while another warp still reads it: a barrier is missing after the
 * read. */
static void
stage_filled_too_early(void **state)
{
   (void)state;
   static const char ring[] =
      "%%k512 = constant 512 : i32\n%%n = xor %%tid16, %%k512 : i32\n" COPY_
      "cp_async_commit\ncp_async_wait {num = 0}\nbar_sync\n"
      "%%v = ld_shared %%n {vec = 4} : regs<fp32, 4>\n%s"
      "cp_async %%tid16, %%px {offsets = [0]}\ncp_async_commit\ncp_async_wait {num = 0}\n";
   Machine m;
   copies(&m, "");
   const char *good = tl_arena_printf(m.x.arena, ring, "bar_sync\n");
   const char *bad = tl_arena_printf(m.x.arena, ring, "");
   Machine n;
   copies(&n, good);
   assert_int_equal(n.status, TL_EXEC_OK);
   m_close(&n);
   copies(&n, bad);
   expect_pair(&n, TL_SIM_FAULT_RACE, "cp_async", "ld_shared");
   m_close(&n);
   m_close(&m);
}

/* ---- places ---- */
static void
shared_places(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 6);
   m_buffer(&m, "y", TL_I32, 32);
   m_run(&m, 1, 256, "st_shared %tid4, %tid {extent = {begin = 0, end = 124}}\n");
   expect_fault(&m, TL_SIM_FAULT_EXTENT, "st_shared", NULL);
   assert_int_equal(m.fault.thread, 31);
   assert_int_equal(m.fault.shared_at, 124);
   m_run(&m, 1, 64, "st_shared %tid4, %tid\n");
   expect_fault(&m, TL_SIM_FAULT_EXTENT, "st_shared", NULL);
   m_run(&m, 1, 256, "%a = add %tid4, %k2 : i32\nst_shared %a, %tid\n");
   expect_fault(&m, TL_SIM_FAULT_ALIGNMENT, "st_shared", NULL);
   m_run(&m, 1, 256,
         "%v = ld_shared %tid4 : i32\n%p = addptr %y, %tid : ptr<i32>\n"
         "st_global %p, %v\n");
   expect_fault(&m, TL_SIM_FAULT_UNWRITTEN, "ld_shared", NULL);
   m_close(&m);
}

static void
global_places(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 7);
   int32_t *x = m_buffer(&m, "x", TL_I32, 20);
   m_buffer(&m, "y", TL_I32, 32);
   (void)x;
   static const char load[] = "%px = addptr %x, %lane : ptr<i32>\n"
                              "%py = addptr %y, %lane : ptr<i32>\n";
   /* the mask is dropped */
   m_run(&m, 1, 0,
         tl_arena_printf(m.x.arena, "%s%%v = ld_global %%px : i32\nst_global %%py, %%v\n", load));
   expect_base(&m, TL_FAULT_BOUNDS, "ld_global");
   assert_string_equal(m.fault.base.buffer, "x");
   assert_int_equal(m.fault.base.byte, 80);
   assert_int_equal(m.fault.base.buffer_bytes, 80);
   assert_int_equal(m.fault.thread, 20);
   m_must_run(&m, 1, 0,
              tl_arena_printf(m.x.arena,
                              "%s%%n = constant 20 : i32\n%%m = lt %%lane, %%n : i1\n"
                              "%%v = ld_global %%px, %%m : i32\nst_global %%py, %%v\n",
                              load));
   m_run(&m, 1, 0, "%b = sub %lane, %k2 : i32\n%p = addptr %y, %b : ptr<i32>\nst_global %p, %k0\n");
   expect_base(&m, TL_FAULT_BOUNDS, "st_global");
   assert_string_equal(m.fault.base.buffer, "y");
   assert_int_equal(m.fault.base.byte, -8);
   m_run(&m, 1, 0,
         "%p = addptr %y, %lane : ptr<i32>\n%v = ld_global %p {vec = 2} : regs<i32, 2>\n"
         "st_global %p, %v {vec = 2}\n");
   expect_base(&m, TL_FAULT_MISALIGNED, "ld_global");
   m_run(&m, 1, 0,
         "%z = constant 64 : i64\n%p = bitcast %z : ptr<i32>\n"
         "st_global %p, %k0\n");
   expect_base(&m, TL_FAULT_WILD, "st_global");
   m.arg[1].is_writable = false;
   m_run(&m, 1, 0, "%p = addptr %y, %lane : ptr<i32>\nst_global %p, %k0\n");
   expect_base(&m, TL_FAULT_READ_ONLY, "st_global");
   m_close(&m);
}

/* Threads of a block that pass words on through global memory. */
static void
global_races(void **state)
{
   (void)state;
   static const char body[] =
      "%%k32 = constant 32 : i32\n%%n = xor %%tid, %%k32 : i32\n"
      "%%p = addptr %%x, %%tid : ptr<i32>\n%%q = addptr %%x, %%n : ptr<i32>\n"
      "%%r = addptr %%y, %%tid : ptr<i32>\n%%t = add %%tid, %%k1 : i32\n%s";
   Machine m;
   m_open(&m, 14);
   m_buffer(&m, "x", TL_I32, 64);
   int32_t *y = m_buffer(&m, "y", TL_I32, 64);
   /* written, then read by others: a barrier is missing, or only the warp's */
   static const char *const between[] = {"", "bar_warp\n", "bar_sync\n"};
   for (unsigned i = 0; i < 3; i++) {
      const char *pass = tl_arena_printf(m.x.arena,
                                         "st_global %%p, %%t\n%s%%v = ld_global %%q : i32\n"
                                         "st_global %%r, %%v\n",
                                         between[i]);
      m_run(&m, 2, 0, tl_arena_printf(m.x.arena, body, pass));
      if (i < 2) {
         expect_pair(&m, TL_SIM_FAULT_GLOBAL_RACE, "st_global %p", "ld_global");
         assert_string_equal(m.fault.base.buffer, "x");
      } else {
         assert_int_equal(m.status, TL_EXEC_OK);
      }
   }
   assert_int_equal(y[0], 33);
   /* read, then written by others */
   m_run(&m, 2, 0, tl_arena_printf(m.x.arena, body, "%v = ld_global %p : i32\nst_global %q, %t\n"));
   expect_pair(&m, TL_SIM_FAULT_GLOBAL_RACE, "st_global %q", "ld_global");
   /* two values in one place; the same value is no race */
   m_run(&m, 2, 0, tl_arena_printf(m.x.arena, body, "st_global %x, %t\n"));
   expect_fault(&m, TL_SIM_FAULT_GLOBAL_RACE, "st_global %x", "st_global %x");
   m_must_run(&m, 2, 0, tl_arena_printf(m.x.arena, body, "st_global %x, %k5\n"));
   /* atomics race with stores, not with each other */
   m_must_run(&m, 2, 0, tl_arena_printf(m.x.arena, body, "%o = atom_rmw %x, %t : i32\n"));
   m_run(&m, 2, 0,
         tl_arena_printf(m.x.arena, body, "st_global %p, %t\n%o = atom_rmw %q, %t : i32\n"));
   expect_pair(&m, TL_SIM_FAULT_GLOBAL_RACE, "st_global %p", "atom_rmw");
   /* through another argument that is the same memory */
   m.arg[1].data = m.arg[0].data;
   m_run(&m, 2, 0,
         tl_arena_printf(m.x.arena, body,
                         "st_global %p, %t\n%s = addptr %y, %n : ptr<i32>\n"
                         "%v = ld_global %s : i32\n%w = add %v, %k1 : i32\n"));
   expect_pair(&m, TL_SIM_FAULT_GLOBAL_RACE, "st_global %p", "ld_global");
   /* replicas of a tile that is changed in place by its owners */
   m.arg[1].data = (char *)m.arg[0].data + 128;
   m.arg[0].bytes = m.arg[1].bytes = 128;
   m_must_run(&m, 2, 0,
              "%p = addptr %x, %lane : ptr<i32>\n%v = ld_global %p : i32\n"
              "%w = add %v, %k1 : i32\n%c = eq %warp, %k0 : i1\nst_global %p, %w, %c\n");
   m_close(&m);
}

/* Replicas of a tile that its owners change in place, and that store what they loaded elsewhere. */
static void
replicas_that_are_used(void **state)
{
   (void)state;
   static const char head[] = "%p = addptr %x, %lane : ptr<i32>\n%q = addptr %y, %tid : ptr<i32>\n"
                              "%c = eq %warp, %k0 : i1\n%v = ld_global %p : i32\n"
                              "%v1 = add %v, %k1 : i32\n";
   static const char own[] = "st_global %p, %v1, %c\n";
   static const struct {
      const char *use; /* between load and store in place */
      bool is_race;
   } cases[] = {
      {"st_global %q, %v1\n", true},
      {"st_global %q, %v1\nbar_sync\n", false},
      {"bar_sync\nst_global %q, %v1\n", false},
      {"st_global %q, %v1, %c\n", false}, /* by the owners alone */
      {"%s = shfl %v, %k5 {shfl = idx} : i32\nst_global %q, %s\n", true},
      {"%s = shfl %v, %k5 {shfl = idx} : i32\nst_global %q, %s, %c\n", false},
      {"%s = select %c, %v, %k5 : i32\nst_global %q, %s\n", false}, /* which is not followed */
   };
   Machine m;
   m_open(&m, 15);
   m_buffer(&m, "x", TL_I32, 32);
   m_buffer(&m, "y", TL_I32, 64);
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      m_run(&m, 2, 0, tl_arena_printf(m.x.arena, "%s%s%s", head, cases[i].use, own));
      if (cases[i].is_race)
         expect_pair(&m, TL_SIM_FAULT_GLOBAL_RACE, "ld_global", "st_global %p");
      else
         assert_int_equal(m.status, TL_EXEC_OK);
   }
   m_close(&m);
}

/* ---- together ---- */
static void
threads_that_do_not_meet(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 8);
   m_buffer(&m, "y", TL_I32, 32);
   m_run(&m, 1, 0,
         "%c = lt %lane, %k5 : i1\n"
         "if %c {\n  %a = shfl %lane, %k1 : i32\n  yield\n} else {\n"
         "  %b = shfl %lane, %k2 : i32\n  yield\n}\n");
   expect_fault(&m, TL_SIM_FAULT_DIVERGED, "%b = shfl", "%a = shfl");
   m_run(&m, 1, 0, "%c = lt %lane, %k5 : i1\nif %c {\n  bar_warp\n  yield\n} else {\n  yield\n}\n");
   expect_fault(&m, TL_SIM_FAULT_STUCK, "bar_warp", NULL);
   assert_true(m.fault.other_ended);
   m_run(&m, 2, 0, "%c = lt %warp, %k1 : i1\nif %c {\n  bar_sync\n  yield\n} else {\n  yield\n}\n");
   expect_fault(&m, TL_SIM_FAULT_STUCK, "bar_sync", NULL);
   assert_true(m.fault.other_thread >= 32 && m.fault.other_ended);
   m_run(&m, 2, 0,
         "%c = lt %warp, %k1 : i1\nif %c {\n  bar_sync {barrier = 1}\n  yield\n} else {\n"
         "  bar_sync {barrier = 2}\n  yield\n}\n");
   expect_fault(&m, TL_SIM_FAULT_STUCK, "barrier = 1", "barrier = 2");
   m_close(&m);
}

static void
promises_and_assertions(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 9);
   m.grid[0] = 40;
   m.opts.threads = 3;
   m_run(&m, 1, 0,
         "%pid = program_id {axis = 0} : i32\n%c = lt %pid, %k16 : i1\n"
         "device_assert %c {text = \"small\"}\n");
   expect_base(&m, TL_FAULT_ASSERT, "device_assert");
   assert_string_equal(m.fault.base.text, "small");
   assert_int_equal(m.fault.base.program[0], 16); /* the lowest, whatever runs first */
   m_run(&m, 1, 0, "%pid = program_id {axis = 0} : i32\n%c = lt %pid, %k16 : i1\nassume %c\n");
   expect_base(&m, TL_FAULT_ASSUME, "assume");
   m_close(&m);
}

static void
keep_warning(void *user, const TlExecFault *w)
{
   TlExecFault *last = user;
   *last = *w;
}

/* What is promised of the words 0, `step`, 2 `step` .. of the threads of two warps. */
static TlFaultKind
promise_of_words(Machine *m, TlExecFault *warning, const char *what, unsigned step)
{
   *warning = (TlExecFault){0};
   m_must_run(
      m, 2, 0,
      tl_arena_printf(m->x.arena,
                      "%%s = constant %u : i32\n%%v = mul %%tid, %%s : i32\n"
                      "check_hint %%v, %%tid {hint = %s, size = 64, axis = 0, values = [64]}\n",
                      step, what));
   return warning->kind;
}

static void
promises_of_tiles(void **state)
{
   (void)state;
   Machine m;
   TlExecFault w;
   m_open(&m, 9);
   m_run(&m, 1, 0,
         "check_hint %lane, %lane {hint = divisible, size = 4, axis = 0, values = [32]}\n");
   m.opts.warn = keep_warning;
   m.opts.user = &w;
   assert_int_equal(promise_of_words(&m, &w, "contiguous", 1), TL_FAULT_NONE);
   assert_int_equal(promise_of_words(&m, &w, "constant", 0), TL_FAULT_NONE);
   assert_int_equal(promise_of_words(&m, &w, "divisible", 3), TL_FAULT_NONE);
   assert_int_equal(promise_of_words(&m, &w, "contiguous", 2), TL_FAULT_ASSUME);
   assert_string_equal(w.op, "max_contiguous");
   assert_int_equal(w.rank, 1);
   assert_int_equal(w.element[0], 1);
   assert_int_equal(promise_of_words(&m, &w, "constant", 1), TL_FAULT_ASSUME);
   m_close(&m);
}

static void
endless_loops(void **state)
{
   (void)state;
   static const char loop[] = "%r = while iter(%i = %k0) : i32 {\n"
                              "  %go = eq %k0, %k0 : i1\n  condition %go, %i\n} do (%j: i32) {\n"
                              "  %n = add %j, %k1 : i32\n  yield %n\n}\n";
   Machine m;
   m_open(&m, 10);
   m.opts.max_steps = 1000000;
   m_run(&m, 1, 0, loop);
   assert_int_equal(m.status, TL_EXEC_LIMIT);
   assert_int_equal(m.fault.base.kind, TL_FAULT_STEPS);
   m.opts.max_steps = 0;
   m.opts.max_ms = 50;
   m_run(&m, 1, 0, loop);
   assert_int_equal(m.status, TL_EXEC_LIMIT);
   assert_int_equal(m.fault.base.kind, TL_FAULT_TIME);
   m_close(&m);
}

/* Warp 1 spins on a word that warp 0 sets later: turns are shared. */
static void
spinning_warps_get_there(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 11);
   int32_t *y = m_buffer(&m, "y", TL_I32, 2);
   m_must_run(&m, 2, 0,
              "%c = lt %warp, %k1 : i1\n%p1 = addptr %y, %k1 : ptr<i32>\n"
              "if %c {\n"
              "  %r = while iter(%i = %k0) : i32 {\n"
              "    %v = ld_global %y {volatile} : i32\n    %go = eq %v, %k0 : i1\n"
              "    condition %go, %i\n  } do (%j: i32) {\n    yield %j\n  }\n"
              "  st_global %p1, %k5\n  yield\n"
              "} else {\n  st_global %y, %k1\n  yield\n}\n");
   assert_int_equal(y[1], 5);
   m_close(&m);
}

/* What a loop waits on makes no race, by whatever name it is written; other buffers are looked
 * into, but for loops whose buffer is not known. */
static void
races_beside_waits(void **state)
{
   (void)state;
   static const char spin[] =
      "%%c = lt %%warp, %%k1 : i1\n%%p = addptr %%x, %%tid : ptr<i32>\n"
      "%%n = xor %%tid, %%k1 : i32\n%%q = addptr %%x, %%n : ptr<i32>\n%s"
      "if %%c {\n"
      "  %%r = while iter(%%i = %s) : %s {\n"
      "    %%v = ld_global %s {volatile} : i32\n    %%go = eq %%v, %%k0 : i1\n"
      "    condition %%go, %%i\n  } do (%%j: %s) {\n    yield %%j\n  }\n  yield\n"
      "} else {\n  st_global %%y, %%k1\n  yield\n}\n";
   static const char exchange[] = "st_global %p, %tid\n%w = ld_global %q : i32\n";
   Machine m;
   m_open(&m, 16);
   m_buffer(&m, "x", TL_I32, 64);
   int32_t *y = m_buffer(&m, "y", TL_I32, 4);
   m_buffer(&m, "z", TL_I32, 4);
   m.arg[2].data = y;
   m_must_run(&m, 2, 0, tl_arena_printf(m.x.arena, spin, "", "%k0", "i32", "%z", "i32"));
   y[0] = 0;
   m_run(&m, 2, 0, tl_arena_printf(m.x.arena, spin, exchange, "%k0", "i32", "%z", "i32"));
   expect_pair(&m, TL_SIM_FAULT_GLOBAL_RACE, "st_global %p", "ld_global");
   assert_string_equal(m.fault.base.buffer, "x");
   y[0] = 0;
   m_must_run(&m, 2, 0,
              tl_arena_printf(m.x.arena, spin, exchange, "%z", "ptr<i32>", "%i", "ptr<i32>"));
   m_close(&m);
}

static void
wrong_arguments(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 12);
   m_buffer(&m, "y", TL_I32, 2);
   m.num_args = 0;
   m_run(&m, 1, 0, "");
   assert_int_equal(m.status, TL_EXEC_BAD_ARGUMENT);
   m.num_args = 1;
   m.arg[0].bytes = 1ull << 43;
   m_run(&m, 1, 0, "");
   assert_int_equal(m.status, TL_EXEC_BAD_ARGUMENT);
   m_run(&m, 1, 0, "inline_asm {text = \"nop;\", constraints = \"\"}\n");
   assert_int_equal(m.status, TL_EXEC_BAD_ARGUMENT);
   m.arg[0].bytes = 8;
   m_run(&m, 1, 0, "inline_asm {text = \"nop;\", constraints = \"\"}\n");
   assert_int_equal(m.status, TL_EXEC_UNSUPPORTED);
   m_close(&m);
}

/* ---- counters ---- */
static void
conflicts_and_sectors(void **state)
{
   static const struct {
      unsigned stride, wavefronts; /* of 32-bit words */
   } banks[] = {{1, 1}, {2, 2}, {4, 4}, {32, 32}, {33, 1}, {17, 1}};
   (void)state;
   Machine m;
   m_open(&m, 13);
   m_buffer(&m, "y", TL_I32, 32 * 33);
   for (unsigned i = 0; i < sizeof banks / sizeof banks[0]; i++) {
      m_must_run(&m, 1, 33 * 128,
                 tl_arena_printf(m.x.arena,
                                 "%%s = constant %u : i32\n%%a = mul %%tid4, %%s : i32\n"
                                 "st_shared %%a, %%tid\n%%b = mul %%tid, %%s : i32\n"
                                 "%%p = addptr %%y, %%b : ptr<i32>\nst_global %%p, %%tid\n",
                                 banks[i].stride));
      assert_int_equal(m.stats.shared_wavefronts, banks[i].wavefronts);
      assert_int_equal(m.stats.shared_min_wavefronts, 1);
      assert_int_equal(m.stats.shared_stores, 1);
      assert_int_equal(m.stats.global_stores, 1);
      assert_int_equal(m.stats.store_bytes, 128);
      unsigned sectors = banks[i].stride >= 8 ? 32 : 4 * banks[i].stride;
      assert_int_equal(m.stats.store_sectors, sectors);
   }
   /* a loop: 3 accesses of a warp; lanes that are masked off move nothing */
   m_must_run(&m, 1, 0,
              "%k3 = constant 3 : i32\n%c = lt %lane, %k16 : i1\n"
              "for %i = %k0 to %k3 step %k1 {\n  %p = addptr %y, %lane : ptr<i32>\n"
              "  st_global %p, %i, %c\n  yield\n}\n");
   assert_int_equal(m.stats.global_stores, 3);
   assert_int_equal(m.stats.store_bytes, 3 * 64);
   assert_int_equal(m.stats.store_sectors, 3 * 2);
   m_close(&m);
}

/* A TlSimOptions.memory: the 64 numbers of `user`. */
static bool
numbers_of(void *user, uint64_t address, TilecMemory *out)
{
   *out = (TilecMemory){user, 64 * sizeof(int32_t), false};
   return address - (uintptr_t)user < out->bytes;
}

static void
memory_beside_the_arguments_is_asked_for(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 9);
   static int32_t own[64];
   int64_t *table = m_buffer(&m, "t", TL_I64, 1);
   int32_t *y = m_buffer(&m, "y", TL_I32, 32);
   m.opts.memory = numbers_of;
   m.opts.user = own;
   table[0] = (intptr_t)own;
   for (int i = 0; i < 64; i++)
      own[i] = 3 * i;
   const char *follow = "%b = ld_global %t : i64\n%o = bitcast %b : ptr<i32>\n"
                        "%p = addptr %o, %lane : ptr<i32>\n%v = ld_global %p : i32\n"
                        "%q = addptr %y, %lane : ptr<i32>\nst_global %q, %v\nst_global %p, %k1\n";
   m_must_run(&m, 1, 0, follow);
   for (int i = 0; i < 64; i++) {
      assert_true(i >= 32 || y[i] == 3 * i);
      assert_int_equal(own[i], i < 32 ? 1 : 3 * i);
   }
   table[0] = (intptr_t)(own + 40);
   m_run(&m, 1, 0, follow);
   expect_base(&m, TL_FAULT_WILD, "ld_global"); /* of lane 24 and those behind it */
   assert_int_equal(m.fault.thread, 24);
   /* what lies in front of an argument that begins in the middle of it, and no more than that */
   m.arg[1].data = own + 32;
   const char *back = "%b = sub %k0, %lane : i32\n%c = sub %b, %k1 : i32\n"
                      "%p = addptr %y, %c : ptr<i32>\nst_global %p, %k4\n";
   m_must_run(&m, 1, 0, back);
   assert_true(own[0] == 4 && own[31] == 4 && own[32] == 3 * 32);
   m.arg[1].data = own + 31;
   m_run(&m, 1, 0, back);
   expect_base(&m, TL_FAULT_BOUNDS, "st_global");
   assert_int_equal(m.fault.base.byte, -4 * 32);
   m_close(&m);
}

int test_faults(void);
int
test_faults(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_beside_the_arguments_is_asked_for),
      cmocka_unit_test(missing_barrier),
      cmocka_unit_test(no_barrier_at_all),
      cmocka_unit_test(write_after_read),
      cmocka_unit_test(write_after_write),
      cmocka_unit_test(barrier_of_the_wrong_role),
      cmocka_unit_test(copy_not_waited_for),
      cmocka_unit_test(copy_of_replicas),
      cmocka_unit_test(copy_without_barrier),
      cmocka_unit_test(stage_filled_too_early),
      cmocka_unit_test(shared_places),
      cmocka_unit_test(global_places),
      cmocka_unit_test(global_races),
      cmocka_unit_test(replicas_that_are_used),
      cmocka_unit_test(threads_that_do_not_meet),
      cmocka_unit_test(promises_and_assertions),
      cmocka_unit_test(promises_of_tiles),
      cmocka_unit_test(endless_loops),
      cmocka_unit_test(spinning_warps_get_there),
      cmocka_unit_test(races_beside_waits),
      cmocka_unit_test(wrong_arguments),
      cmocka_unit_test(conflicts_and_sectors),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
