/* Boxes of a tensor in shared memory: where each element lands under every swizzle, what lies
 * outside, when the bytes are there, and what is reported. */
#include "unit/sim/machine.h"

int test_tma(void);

enum { ROWS = 20, COLUMNS = 64, SHARED = 8192 };

/* One thread initialises, expects and loads; all wait and copy the shared bytes out. */
static const char kernel[] =
   "%%bar = constant 8192 : i32\n"
   "%%lead = eq %%tid, %%k0 : i1\n"
   "mbar_init %%bar, %%lead {arrivals = 1}\n"
   "bar_sync\n"
   "%%rows = constant %d : i32\n"
   "%%columns = constant %d : i32\n"
   "%%stride = constant 64 : i64\n"
   "%%x0 = constant %d : i32\n"
   "%%y0 = constant %d : i32\n"
   "%%map = tensor_map %%x, %%rows, %%columns, %%stride {swizzle = %d%s} : tmap<%s, %s>\n"
   "%s"
   "tma_load %%k0, %%map, %%bar, %%lead, %%y0, %%x0\n"
   "%s"
   "%%v = ld_shared %%tid16 {vec = 4} : regs<i32, 4>\n"
   "%%o = addptr %%out, %%tid4 : ptr<i32>\n"
   "st_global %%o, %%v {vec = 4}\n";

typedef struct Case {
   TlDtype type;
   uint32_t height, width; /* of the box */
   int swizzle, x, y, rows, columns;
   bool nan;
} Case;

static TlExecStatus
run(Machine *m, const Case *c, const char *expect, const char *wait)
{
   char box[32], expects[128];
   uint32_t bytes = c->height * c->width * tl_dtype_info[c->type].bytes;
   snprintf(box, sizeof box, "%ux%u", c->height, c->width);
   snprintf(expects, sizeof expects, expect, (int)bytes);
   const char *text = tl_arena_printf(m->x.arena, kernel, c->rows, c->columns, c->x, c->y,
                                      c->swizzle, c->nan ? ", fill_nan = true" : "",
                                      tl_dtype_info[c->type].text, box, expects, wait);
   return m_run(m, bytes / 512, SHARED + 16, text);
}

static const char expect_all[] = "mbar_expect %%bar, %%lead {bytes = %d}\n";
static const char wait_once[] = "mbar_wait %bar, %k0\n";

/* What the thread that sent for the box did since does not come with it. */
static const char store_and_wait[] = "%late = constant 8200 : i32\n"
                                     "st_shared %late, %k1, %lead {vec = 1}\n"
                                     "mbar_wait %bar, %k0\n"
                                     "%seen = ld_shared %late {vec = 1} : i32\n";

/* Shared byte of a chunk: PTX ISA, "Swizzling modes". */
static uint32_t
swizzled(uint32_t at, int swizzle)
{
   static const uint32_t bits[] = {0, 1, 3, 7};
   return at ^ ((at >> 7 & bits[swizzle == 128 ? 3 : swizzle / 32]) << 4);
}

static void
elements_land_where_the_swizzle_says(void **state)
{
   static const Case cases[] = {
      {TL_FP16, 16, 64, 128, 0, 0, ROWS, COLUMNS, false},
      {TL_FP16, 32, 32, 64, 16, -3, ROWS, COLUMNS, false},
      {TL_FP16, 32, 16, 32, 56, 8, 15, COLUMNS, true},
      {TL_FP32, 16, 32, 128, -4, 10, ROWS, 33, false},
      {TL_I8, 16, 128, 128, 16, 2, ROWS, 60, false},
      {TL_BF16, 16, 32, 0, 40, 0, ROWS, COLUMNS, true},
      {TL_FP32, 32, 64, 0, 0, 0, ROWS, COLUMNS, false},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      const Case *c = &cases[i];
      uint32_t size = tl_dtype_info[c->type].bytes;
      Machine m;
      m_open(&m, i);
      uint8_t *x = m_buffer(&m, "x", c->type, ROWS * COLUMNS);
      uint8_t *out = m_buffer(&m, "out", TL_I32, SHARED / 4);
      for (uint32_t k = 0; k < ROWS * COLUMNS * size; k++)
         x[k] = (uint8_t)m_random(&m);
      if (run(&m, c, expect_all, wait_once) != TL_EXEC_OK)
         fail_msg("case %u: fault %d/%d at '%s'\n%s", i, (int)m.fault.kind, (int)m.fault.base.kind,
                  m.fault.base.op, m.text);
      uint64_t nan = 0x7FF7; /* of both 16-bit types, seen on an H200 */
      for (uint32_t r = 0; r < c->height; r++)
         for (uint32_t k = 0; k < c->width; k++) {
            int row = c->y + (int)r, column = c->x + (int)k;
            bool is_in = row >= 0 && row < c->rows && column >= 0 && column < c->columns;
            TlBits want = is_in    ? tl_load_elem(c->type, x + (row * COLUMNS + column) * (int)size)
                          : c->nan ? nan
                                   : 0;
            uint32_t at = (r * c->width + k) * size;
            uint32_t place = swizzled(at & ~15u, c->swizzle) + (at & 15);
            if (tl_load_elem(c->type, out + place) != want)
               fail_msg("case %u: row %u, column %u", i, r, k);
         }
      m_close(&m);
   }
}

static void
what_is_wrong_is_reported(void **state)
{
   static const Case c = {TL_FP16, 16, 64, 128, 0, 0, ROWS, COLUMNS, false};
   static const struct {
      const char *expect, *wait;
      bool waits_forever; /* else what is read races with the copy, in flight or yet to come */
   } wrong[] = {
      {expect_all, "", false},
      {"mbar_arrive %%bar, %%lead\n", wait_once, false},
      {"", wait_once, true},
      {"mbar_expect %%bar, %%lead {bytes = 1024}\n", wait_once, true},
      {expect_all, "mbar_wait %bar, %k1\n", false},
      {expect_all, "mbar_arrive %bar, %lead\nmbar_wait %bar, %k0\n", true},
      {expect_all, store_and_wait, false},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
      Machine m;
      m_open(&m, i);
      m_buffer(&m, "x", TL_FP16, ROWS * COLUMNS);
      m_buffer(&m, "out", TL_I32, SHARED / 4);
      TlExecStatus status = run(&m, &c, wrong[i].expect, wrong[i].wait);
      bool races = m.fault.kind == TL_SIM_FAULT_IN_FLIGHT || m.fault.kind == TL_SIM_FAULT_RACE;
      if (status != TL_EXEC_FAULT ||
          !(wrong[i].waits_forever ? m.fault.kind == TL_SIM_FAULT_STUCK : races))
         fail_msg("%u: status %d, fault %d\n%s", i, (int)status, (int)m.fault.kind, m.text);
      m_close(&m);
   }
}

/* The hardware takes a row of the box from a multiple of 16 bytes only. */
static void
odd_columns_are_refused(void **state)
{
   static const Case odd[] = {
      {TL_FP32, 16, 32, 128, -5, 0, ROWS, COLUMNS, false},
      {TL_FP16, 16, 64, 128, 4, 0, ROWS, COLUMNS, false},
      {TL_I8, 16, 128, 128, 3, 0, ROWS, COLUMNS, false},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof odd / sizeof odd[0]; i++) {
      Machine m;
      m_open(&m, i);
      m_buffer(&m, "x", odd[i].type, ROWS * COLUMNS);
      m_buffer(&m, "out", TL_I32, SHARED / 4);
      assert_int_equal(run(&m, &odd[i], expect_all, wait_once), TL_EXEC_FAULT);
      assert_int_equal(m.fault.kind, TL_SIM_FAULT_ALIGNMENT);
      m_close(&m);
   }
}

int
test_tma(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(elements_land_where_the_swizzle_says),
                                      cmocka_unit_test(what_is_wrong_is_reported),
                                      cmocka_unit_test(odd_columns_are_refused)};
   return cmocka_run_group_tests(tests, NULL, NULL);
}
