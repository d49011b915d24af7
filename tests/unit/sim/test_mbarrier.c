/* mbarriers on the simulator: phases and their parity, arrivals of threads and of copies, what a
 * wait makes known, and waits that nothing ends. */
#include "unit/sim/machine.h"

/* Barriers at byte 1024 (full) and 1032 (empty), made by thread 0. */
#define MAKE(full, empty)                                                                          \
   "%full = constant 1024 : i32\n%empty = constant 1032 : i32\n%is0 = eq %tid, %k0 : i1\n"        \
   "%first = eq %lane, %k0 : i1\nmbar_init %full, %is0 {arrivals = " #full "}\n"                  \
   "mbar_init %empty, %is0 {arrivals = " #empty "}\n"
#define ROLE(first, body) "role {first_warp = " #first ", num_warps = 1} {\n" body "  yield\n}\n"

static void
expect(Machine *m, TlSimFaultKind kind, const char *at)
{
   if (m->status != TL_EXEC_FAULT || m->fault.kind != kind ||
       !strstr(m_source(m, m->fault.base.range), at))
      fail_msg("status %d, fault %d at '%s', want %d at '%s'\n%s", (int)m->status,
               (int)m->fault.kind, m_source(m, m->fault.base.range), (int)kind, at, m->text);
}

/* Warp 0 hands five numbers of each lane to warp 1 through one place; `ready` and `taken` are how
 * they arrive, `wait` the parity that the reader waits for. */
static void
hand_over(Machine *m, const char *make, const char *ready, const char *taken, const char *wait)
{
   static const char body[] =
      "%sbar_sync\n%%lane4 = shl %%lane, %%k2 : i32\n"
      "role {first_warp = 0, num_warps = 1} {\n"
      "  for %%i = %%k0 to %%k5 step %%k1 {\n"
      "    %%bit = and %%i, %%k1 : i32\n    %%turned = xor %%bit, %%k1 : i32\n"
      "    mbar_wait %%empty, %%turned\n    %%x = add %%i, %%lane : i32\n"
      "    st_shared %%lane4, %%x\n    %s\n    yield\n  }\n  yield\n}\n"
      "role {first_warp = 1, num_warps = 1} {\n"
      "  %%sum = for %%j = %%k0 to %%k5 step %%k1 iter(%%old = %%k0) : i32 {\n"
      "    %%bit1 = and %%j, %%k1 : i32\n    %%other = xor %%bit1, %%k1 : i32\n"
      "    mbar_wait %%full, %s\n    %%v = ld_shared %%lane4 : i32\n    %s\n"
      "    %%w = mul %%v, %%v : i32\n    %%new = add %%old, %%w : i32\n    yield %%new\n  }\n"
      "  %%p = addptr %%y, %%lane : ptr<i32>\n  st_global %%p, %%sum\n  yield\n}\n";
   m_run(m, 2, 1040, tl_arena_printf(m->x.arena, body, make, ready, wait, taken));
}

#define READY "bar_warp\n    mbar_arrive %full, %first"
#define TAKEN "bar_warp\n    mbar_arrive %empty, %first"

static void
phases(void **state)
{
   static const struct {
      const char *make, *ready, *taken;
   } ways[] = {
      {MAKE(1, 1), READY, TAKEN},                                /* of a warp */
      {MAKE(32, 32), "mbar_arrive %full", "mbar_arrive %empty"}, /* of each lane */
      {MAKE(1, 1), READY, "mbar_wait %full, %bit1\n    " TAKEN}, /* waits twice */
      {MAKE(33, 1), "mbar_arrive %full\n    " READY, TAKEN},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
      Machine m;
      m_open(&m, 1);
      int32_t *y = m_buffer(&m, "y", TL_I32, 32);
      hand_over(&m, ways[i].make, ways[i].ready, ways[i].taken, "%bit1");
      if (m.status != TL_EXEC_OK)
         fail_msg("way %u: fault %d at '%s'", i, (int)m.fault.kind,
                  m_source(&m, m.fault.base.range));
      for (int l = 0; l < 32; l++) {
         int want = 0;
         for (int t = 0; t < 5; t++)
            want += (t + l) * (t + l);
         assert_int_equal(y[l], want);
      }
      m_close(&m);
   }
}

static void
wrong_phases(void **state)
{
   static const struct {
      const char *make, *ready, *taken, *wait;
      TlSimFaultKind kind;
      const char *at;
   } wrong[] = {
      {MAKE(1, 1), READY, TAKEN, "%other", TL_SIM_FAULT_UNWRITTEN, "ld_shared"},
      {MAKE(2, 1), READY, TAKEN, "%bit1", TL_SIM_FAULT_STUCK, "mbar_wait"},
      {MAKE(1, 1), READY, "", "%bit1", TL_SIM_FAULT_STUCK, "mbar_wait %empty"},
      {MAKE(1, 1), "", TAKEN, "%bit1", TL_SIM_FAULT_STUCK, "mbar_wait"},
      {MAKE(31, 1), "mbar_arrive %full", TAKEN, "%bit1", TL_SIM_FAULT_RACE, ""},
      /* lane 31's word says nothing of what the others did */
      {MAKE(1, 1),
       "%k31 = constant 31 : i32\n%last = eq %lane, %k31 : i1\nmbar_arrive %full, %last", TAKEN,
       "%bit1", TL_SIM_FAULT_RACE, ""},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
      Machine m;
      m_open(&m, 1);
      m_buffer(&m, "y", TL_I32, 32);
      hand_over(&m, wrong[i].make, wrong[i].ready, wrong[i].taken, wrong[i].wait);
      expect(&m, wrong[i].kind, wrong[i].at);
      m_close(&m);
   }
}

/* A warp waits for what was not made, or what it does not know to be made. */
static void
made_first(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 1);
   m_run(&m, 2, 1040, MAKE(1, 1) ROLE(1, "mbar_wait %full, %k1\n"));
   expect(&m, TL_SIM_FAULT_RACE, "mbar_wait");
   assert_string_equal(m.fault.other_op, "mbar_init");
   m_must_run(&m, 2, 1040, MAKE(1, 1) "bar_sync\n" ROLE(1, "mbar_wait %full, %k1\n"));
   m_run(&m, 2, 1040, MAKE(1, 1) "bar_sync\n%no = constant 1000 : i32\nmbar_wait %no, %k1\n");
   expect(&m, TL_SIM_FAULT_UNWRITTEN, "mbar_wait");
   m_close(&m);
}

/* Warp 0 copies x, warp 1 waits for it and writes it to y. */
static void
copied(Machine *m, const char *make, const char *arrive)
{
   m_run(m, 2, 1040,
         tl_arena_printf(m->x.arena,
                         "%sbar_sync\n%%lane4 = shl %%lane, %%k2 : i32\n"
                         "role {first_warp = 0, num_warps = 1} {\n"
                         "  %%p = addptr %%x, %%lane4 : ptr<i32>\n"
                         "  %%to = shl %%lane, %%k4 : i32\n  cp_async %%to, %%p {bytes = 16}\n"
                         "  %s\n  cp_async_commit\n  cp_async_wait {num = 0}\n  yield\n}\n"
                         "role {first_warp = 1, num_warps = 1} {\n  mbar_wait %%full, %%k0\n"
                         "  %%v = ld_shared %%lane4 {offsets = [0]} : i32\n"
                         "  %%u = ld_shared %%lane4 {offsets = [384]} : i32\n"
                         "  %%q = addptr %%y, %%lane : ptr<i32>\n  %%w = add %%u, %%v : i32\n"
                         "  st_global %%q, %%w\n  yield\n}\n",
                         make, arrive));
}

static void
arrivals_of_copies(void **state)
{
   static const struct {
      const char *make, *arrive;
      bool is_right;
      TlSimFaultKind kind;
   } ways[] = {
      {MAKE(32, 1), "cp_async_arrive %full", true, 0},
      {MAKE(33, 1), "cp_async_arrive %full\n  bar_warp\n  mbar_arrive %full, %first", true, 0},
      {MAKE(33, 1), "mbar_arrive %full, %first\n  cp_async_arrive %full", true, 0},
      {MAKE(1, 1), "bar_warp\n  mbar_arrive %full, %first", false, TL_SIM_FAULT_RACE},
      {MAKE(31, 1), "cp_async_arrive %full", false, TL_SIM_FAULT_RACE},
      {MAKE(33, 1), "cp_async_arrive %full", false, TL_SIM_FAULT_STUCK},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
      Machine m;
      m_open(&m, 1);
      int32_t *x = m_buffer(&m, "x", TL_I32, 128), *y = m_buffer(&m, "y", TL_I32, 32);
      for (int k = 0; k < 128; k++)
         x[k] = k * k;
      copied(&m, ways[i].make, ways[i].arrive);
      if (!ways[i].is_right)
         expect(&m, ways[i].kind, "");
      else if (m.status != TL_EXEC_OK)
         fail_msg("way %u: fault %d at '%s'", i, (int)m.fault.kind,
                  m_source(&m, m.fault.base.range));
      for (int l = 0; l < 32 && ways[i].is_right; l++)
         assert_int_equal(y[l], l * l + (l + 96) * (l + 96));
      m_close(&m);
   }
}

int test_mbarrier(void);
int
test_mbarrier(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(phases),
      cmocka_unit_test(wrong_phases),
      cmocka_unit_test(made_first),
      cmocka_unit_test(arrivals_of_copies),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
