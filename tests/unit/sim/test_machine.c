/* Each machine operation against what the PTX manual says of it, written down here once more. */
#include "unit/sim/machine.h"

#include "support/hw_models.h"

#include <math.h>

enum { LANES = 32 };

static void
who_am_i(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 1);
   m.grid[0] = 3;
   m.grid[1] = 2;
   int32_t *y = m_buffer(&m, "y", TL_I32, 6 * 128 * 2);
   m_must_run(&m, 4, 0,
              "%px = program_id {axis = 0} : i32\n%py = program_id {axis = 1} : i32\n"
              "%nx = num_programs {axis = 0} : i32\n%ny = num_programs {axis = 1} : i32\n"
              "%a = mul %py, %nx : i32\n%b = add %a, %px : i32\n"
              "%c = constant 128 : i32\n%d = mul %b, %c : i32\n"
              "%e = add %d, %tid : i32\n%f = mul %e, %k2 : i32\n"
              "%p = addptr %y, %f : ptr<i32>\n"
              "%g = constant 100 : i32\n%h = mul %ny, %g : i32\n%i = add %h, %nx : i32\n"
              "%s = pick %e, %i {index = [0, 1]} : regs<i32, 2>\n"
              "st_global %p, %s {vec = 2}\n");
   for (int i = 0; i < 6 * 128; i++) {
      assert_int_equal(y[2 * i], i);
      assert_int_equal(y[2 * i + 1], 203);
   }
   assert_int_equal(m.stats.blocks, 6);
   m_close(&m);
}

/* ---- shuffles ---- */
static unsigned
expected_source(const char *mode, unsigned width, unsigned lane, unsigned b)
{
   unsigned group = lane / width * width, at = lane % width;
   if (!strcmp(mode, "idx"))
      return group + b % width;
   if (!strcmp(mode, "up"))
      return at >= b ? lane - b : lane;
   if (!strcmp(mode, "down"))
      return at + b < width ? lane + b : lane;
   return (lane ^ b) < group + width ? lane ^ b : lane;
}

static void
shuffles(void **state)
{
   static const char *const modes[] = {"bfly", "idx", "up", "down"};
   (void)state;
   for (unsigned trial = 0; trial < 48; trial++) {
      const char *mode = modes[trial % 4];
      unsigned width = 1u << (1 + trial / 4 % 5);
      bool each = trial >= 24; /* a lane for every register */
      Machine m;
      m_open(&m, trial);
      uint64_t *x = m_buffer(&m, "x", TL_U64, 64 * 2), *y = m_buffer(&m, "y", TL_U64, 64 * 2);
      uint32_t *b = m_buffer(&m, "b", TL_U32, 64 * 2);
      for (unsigned i = 0; i < 128; i++) {
         x[i] = m_random(&m);
         b[i] = (uint32_t)m_random(&m) % 32;
      }
      m_must_run(&m, 2, 0,
                 tl_arena_printf(m.x.arena,
                                 "%%o = mul %%tid, %%k2 : i32\n"
                                 "%%px = addptr %%x, %%o : ptr<u64>\n"
                                 "%%py = addptr %%y, %%o : ptr<u64>\n"
                                 "%%pb = addptr %%b, %%o : ptr<u32>\n"
                                 "%%v = ld_global %%px {vec = 2} : regs<u64, 2>\n"
                                 "%%l2 = ld_global %%pb {vec = 2} : regs<u32, 2>\n"
                                 "%%l3 = bitcast %%l2 : regs<i32, 2>\n"
                                 "%%l1 = pick %%l3 {index = [0]} : i32\n"
                                 "%%s = shfl %%v, %s {shfl = %s, width = %u} : regs<u64, 2>\n"
                                 "st_global %%py, %%s {vec = 2}\n",
                                 each ? "%l3" : "%l1", mode, width));
      for (unsigned t = 0; t < 64; t++)
         for (unsigned r = 0; r < 2; r++) {
            unsigned from = expected_source(mode, width, t % LANES, b[2 * t + (each ? r : 0)]);
            assert_int_equal(y[2 * t + r], x[2 * (t / LANES * LANES + from) + r]);
         }
      m_close(&m);
   }
}

/* ---- matrices in shared memory ---- */
/* Rows of 16 bytes at shuffled addresses; every matrix element against the layout library. */
static void
matrix_loads_and_stores(void **state)
{
   (void)state;
   for (unsigned trial = 0; trial < 12; trial++) {
      unsigned num = 1u << trial % 3;
      bool trans = trial / 3 % 2, store = trial / 6;
      Machine m;
      m_open(&m, trial);
      uint16_t *x = m_buffer(&m, "x", TL_U16, 256), *y = m_buffer(&m, "y", TL_U16, 256);
      int32_t *row = m_buffer(&m, "row", TL_I32, 32);
      for (unsigned i = 0; i < 256; i++)
         x[i] = (uint16_t)m_random(&m);
      for (int32_t i = 0; i < 32; i++)
         row[i] = i;
      for (unsigned i = 31; i > 0; i--) {
         unsigned j = (unsigned)(m_random(&m) % (i + 1));
         int32_t t = row[i];
         row[i] = row[j];
         row[j] = t;
      }
      const char *attrs =
         tl_arena_printf(m.x.arena, "{num = %u, trans = %s}", num, trans ? "true" : "false");
      m_must_run(&m, 1, 512,
                 tl_arena_printf(
                    m.x.arena,
                    "%%k8 = constant 8 : i32\n"
                    "%%o8 = mul %%tid, %%k8 : i32\n%%px = addptr %%x, %%o8 : ptr<u16>\n"
                    "%%py = addptr %%y, %%o8 : ptr<u16>\n%%pr = addptr %%row, %%tid : ptr<i32>\n"
                    "%%r = ld_global %%pr : i32\n%%a = shl %%r, %%k4 : i32\n"
                    "%%v = ld_global %%px {vec = 8} : regs<u16, 8>\n"
                    "%s"
                    "bar_sync\n"
                    "%s",
                    store ? "st_shared %tid16, %v {vec = 8}\nbar_sync\n"
                          : "st_shared %tid16, %v {vec = 8}\n",
                    store ? tl_arena_printf(m.x.arena,
                                            "%%n = pick %%v {index = [%s]} : regs<u16, %u>\n"
                                            "stmatrix %%a, %%n %s\nbar_sync\n"
                                            "%%w = ld_shared %%tid16 {vec = 8} : regs<u16, 8>\n"
                                            "st_global %%py, %%w {vec = 8}\n",
                                            num == 1   ? "0, 1"
                                            : num == 2 ? "0, 1, 2, 3"
                                                       : "0, 1, 2, 3, 4, 5, 6, 7",
                                            2 * num, attrs)
                          : tl_arena_printf(m.x.arena,
                                            "%%w = ldmatrix %%a %s : regs<u16, %u>\n"
                                            "st_global %%py, %%w {vec = %u}\n",
                                            attrs, 2 * num, 2 * num)));
      TlLinear map = hw_ldmatrix(num, 2, trans), rows = hw_ldmatrix_rows(num);
      for (unsigned l = 0; l < 32; l++)
         for (unsigned r = 0; r < 2 * num; r++) {
            uint32_t at[3], from[2] = {0};
            tl_ll_coords(&map, r, l, 0, 0, at);
            unsigned lane = 0; /* the lane that names this matrix's row */
            for (; lane < 32; lane++) {
               tl_ll_coords(&rows, 0, lane, 0, 0, from);
               if (from[0] == at[0] && from[1] == at[1])
                  break;
            }
            uint16_t in_row = store ? y[row[lane] * 8 + (int)at[2]] : x[row[lane] * 8 + (int)at[2]];
            uint16_t in_reg = store ? x[l * 8 + r] : y[l * 8 + r];
            assert_int_equal(in_row, in_reg);
         }
      m_close(&m);
   }
}

/* ---- mma ---- */
typedef struct MmaCase {
   const char *name;
   TlDtype in, b, acc; /* of A, B and C */
   TlMmaKind kind;
   unsigned k;
} MmaCase;

static const MmaCase mma_cases[] = {
   {"m16n8k16.f16.f32", TL_FP16, TL_FP16, TL_FP32, TL_MMA_M16N8, 16},
   {"m16n8k16.bf16.f32", TL_BF16, TL_BF16, TL_FP32, TL_MMA_M16N8, 16},
   {"m16n8k16.f16.f16", TL_FP16, TL_FP16, TL_FP16, TL_MMA_M16N8, 16},
   {"m16n8k8.tf32.f32", TL_FP32, TL_FP32, TL_FP32, TL_MMA_M16N8, 8},
   {"m16n8k32.e4m3.f32", TL_FP8E4NV, TL_FP8E4NV, TL_FP32, TL_MMA_M16N8, 32},
   {"m16n8k32.e5m2.f32", TL_FP8E5, TL_FP8E5, TL_FP32, TL_MMA_M16N8, 32},
   {"m16n8k32.e4m3.e5m2.f32", TL_FP8E4NV, TL_FP8E5, TL_FP32, TL_MMA_M16N8, 32},
   {"m16n8k32.e5m2.e4m3.f32", TL_FP8E5, TL_FP8E4NV, TL_FP32, TL_MMA_M16N8, 32},
   {"m16n8k32.s8.s32", TL_I8, TL_I8, TL_I32, TL_MMA_M16N8, 32},
   {"m16n8k32.u8.s32", TL_U8, TL_U8, TL_I32, TL_MMA_M16N8, 32},
   {"m8n8k4.f64", TL_FP64, TL_FP64, TL_FP64, TL_MMA_M8N8_F64, 4},
};

static TlBits
small_bits(TlDtype t, int v)
{
   return tl_dtype_is_float(t) ? tl_double_to_bits(t, v, TL_ROUND_NEAREST_EVEN)
                               : tl_int_to_bits(t, v);
}

static double
value_of(TlDtype t, TlBits b)
{
   return tl_dtype_is_float(t) ? tl_bits_to_double(t, b) : (double)tl_bits_to_int(t, b);
}

/* Registers of a fragment in memory: lane major.  The matrices are A[M][K], B[K][N], C[M][N]. */
static void
mma_kind_with(const MmaCase *c, unsigned rm, unsigned rn, unsigned rk, unsigned seed)
{
   Machine m;
   m_open(&m, seed);
   unsigned rows = c->kind == TL_MMA_M8N8_F64 ? 8 : 16, bits = tl_dtype_info[c->in].bits;
   TlLinear la = hw_instr_operand(c->kind, 0, bits);
   TlLinear lb = hw_instr_operand(c->kind, 1, bits);
   TlLinear lc = hw_instr_acc(c->kind, 8);
   unsigned na = tl_ll_num_regs(&la), nb = tl_ll_num_regs(&lb), nc = tl_ll_num_regs(&lc);
   unsigned ta = na * rm * rk, tb = nb * rn * rk, tc = nc * rm * rn;
   uint8_t *a = m_buffer(&m, "a", c->in, 32 * ta), *b = m_buffer(&m, "b", c->b, 32 * tb);
   uint8_t *z = m_buffer(&m, "c", c->acc, 32 * tc), *d = m_buffer(&m, "d", c->acc, 32 * tc);
   static int A[64][128], B[128][32], C[64][32];
   unsigned M = rows * rm, N = 8 * rn, K = c->k * rk;
   int least = c->in == TL_U8 ? 125 : -3; /* unsigned: with and without the top bit */
   for (unsigned i = 0; i < M * K; i++)
      A[i / K][i % K] = (int)(m_random(&m) % 7) + least;
   for (unsigned i = 0; i < K * N; i++)
      B[i / N][i % N] = (int)(m_random(&m) % 7) + least;
   for (unsigned i = 0; i < M * N; i++)
      C[i / N][i % N] = (int)(m_random(&m) % 101) - 50;
   unsigned ein = tl_dtype_info[c->in].bytes, eacc = tl_dtype_info[c->acc].bytes;
   for (unsigned l = 0; l < 32; l++) {
      uint32_t at[2];
      for (unsigned i = 0; i < ta; i++) {
         tl_ll_coords(&la, i % na, l, 0, 0, at);
         unsigned mi = i / na / rk, ki = i / na % rk;
         tl_store_elem(c->in, a + (l * ta + i) * ein,
                       small_bits(c->in, A[mi * rows + at[0]][ki * c->k + at[1]]));
      }
      for (unsigned i = 0; i < tb; i++) {
         tl_ll_coords(&lb, i % nb, l, 0, 0, at);
         unsigned ni = i / nb / rk, ki = i / nb % rk;
         tl_store_elem(c->b, b + (l * tb + i) * ein,
                       small_bits(c->b, B[ki * c->k + at[0]][ni * 8 + at[1]]));
      }
      for (unsigned i = 0; i < tc; i++) {
         tl_ll_coords(&lc, i % nc, l, 0, 0, at);
         unsigned mi = i / nc / rn, ni = i / nc % rn;
         tl_store_elem(c->acc, z + (l * tc + i) * eacc,
                       small_bits(c->acc, C[mi * rows + at[0]][ni * 8 + at[1]]));
      }
   }
   TlSb sb;
   tl_sb_init(&sb, m.x.arena);
   const struct {
      const char *name;
      TlDtype t;
      unsigned n;
   } operand[] = {{"a", c->in, ta}, {"b", c->b, tb}, {"c", c->acc, tc}};
   for (unsigned k = 0; k < 3; k++) { /* one access for each register */
      const char *n = operand[k].name, *t = tl_dtype_info[operand[k].t].text;
      tl_sb_printf(&sb, "%%n%s = constant %u : i32\n%%o%s = mul %%tid, %%n%s : i32\n", n,
                   operand[k].n, n, n);
      for (unsigned i = 0; i < operand[k].n; i++)
         tl_sb_printf(&sb,
                      "%%i%s%u = constant %u : i32\n%%j%s%u = add %%o%s, %%i%s%u : i32\n"
                      "%%p%s%u = addptr %%%s, %%j%s%u : ptr<%s>\n"
                      "%%v%s%u = ld_global %%p%s%u : %s\n",
                      n, i, i, n, i, n, n, i, n, i, n, n, i, t, n, i, n, i, t);
      tl_sb_printf(&sb, "%%f%s = pick ", n);
      for (unsigned i = 0; i < operand[k].n; i++)
         tl_sb_printf(&sb, "%s%%v%s%u", i ? ", " : "", n, i);
      tl_sb_str(&sb, " {index = [");
      for (unsigned i = 0; i < operand[k].n; i++)
         tl_sb_printf(&sb, "%s%u", i ? ", " : "", i);
      if (operand[k].n == 1)
         tl_sb_printf(&sb, "]} : %s\n", t);
      else
         tl_sb_printf(&sb, "]} : regs<%s, %u>\n", t, operand[k].n);
   }
   const char *acc = tl_dtype_info[c->acc].text;
   tl_sb_printf(
      &sb,
      "%%r = mma %%fa, %%fb, %%fc {mma = %s, reps = {m = %u, n = %u, k = %u}} : regs<%s, %u>\n",
      c->name, rm, rn, rk, acc, tc);
   for (unsigned i = 0; i < tc; i++)
      tl_sb_printf(&sb,
                   "%%q%u = pick %%r {index = [%u]} : %s\n%%pd%u = addptr %%d, %%jc%u : ptr<%s>\n"
                   "st_global %%pd%u, %%q%u\n",
                   i, i, acc, i, i, acc, i, i);
   m_must_run(&m, 1, 0, tl_sb_cstr(&sb));
   for (unsigned l = 0; l < 32; l++)
      for (unsigned i = 0; i < tc; i++) {
         uint32_t at[2];
         tl_ll_coords(&lc, i % nc, l, 0, 0, at);
         unsigned row = i / nc / rn * rows + at[0], col = i / nc % rn * 8 + at[1];
         int want = C[row][col];
         for (unsigned k = 0; k < K; k++)
            want += A[row][k] * B[k][col];
         double got = value_of(c->acc, tl_load_elem(c->acc, d + (l * tc + i) * eacc));
         if (got != want)
            fail_msg("%s reps %u %u %u: (%u, %u) is %g, want %d", c->name, rm, rn, rk, row, col,
                     got, want);
      }
   assert_int_equal(m.stats.mmas, rm * rn * rk);
   m_close(&m);
}

static void
matrix_products(void **state)
{
   (void)state;
   for (unsigned i = 0; i < sizeof mma_cases / sizeof mma_cases[0]; i++) {
      mma_kind_with(&mma_cases[i], 1, 1, 1, i);
      mma_kind_with(&mma_cases[i], 2, 3, 2, i + 100);
   }
}

/* tf32 operands are cut, not rounded, and one instruction's sum is rounded once. */
static void
mma_rounding(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 3);
   float *a = m_buffer(&m, "a", TL_FP32, 1), *y = m_buffer(&m, "y", TL_FP32, 32 * 4);
   *a = 1.0f + 0x1.fp-11f; /* just below 1 + 2^-10 */
   m_must_run(
      &m, 1, 0,
      "%v = ld_global %a : fp32\n%fa = splat %v : regs<fp32, 4>\n"
      "%one = constant 1.0 : regs<fp32, 2>\n"
      "%z = constant 0.0 : regs<fp32, 4>\n"
      "%r = mma %fa, %one, %z {mma = m16n8k8.tf32.f32, reps = {m = 1, n = 1}} : regs<fp32, 4>\n"
      "%p = addptr %y, %tid4 : ptr<fp32>\nst_global %p, %r {vec = 4}\n");
   for (unsigned i = 0; i < 128; i++)
      assert_true(y[i] == 8.0f);
   m_close(&m);
}

/* ---- asynchronous copies ---- */
static void
async_copies(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 5);
   float *x = m_buffer(&m, "x", TL_FP32, 512), *y = m_buffer(&m, "y", TL_FP32, 512);
   for (unsigned i = 0; i < 512; i++)
      x[i] = (float)i + 1;
   /* Two groups; odd threads copy nothing, which fills with zeros.  Read by the neighbour warp. */
   m_must_run(&m, 2, 2048,
              "%px = addptr %x, %tid4 : ptr<fp32>\n"
              "%k256 = constant 256 : i32\n%k64 = constant 64 : i32\n"
              "%k1024 = constant 1024 : i32\n%k512 = constant 512 : i32\n"
              "%px2 = addptr %px, %k256 : ptr<fp32>\n"
              "%odd = and %tid, %k1 : i32\n%even = eq %odd, %k0 : i1\n"
              "%a2 = add %tid16, %k1024 : i32\n"
              "cp_async %tid16, %px, %even {bytes = 16, offsets = [0]}\ncp_async_commit\n"
              "cp_async %a2, %px2 {bytes = 16, offsets = [0]}\ncp_async_commit\n"
              "cp_async_wait {num = 1}\nbar_sync\n"
              "%other = xor %tid16, %k512 : i32\n"
              "%v = ld_shared %other {vec = 4} : regs<fp32, 4>\n"
              "cp_async_wait {num = 0}\nbar_sync\n"
              "%o2 = add %other, %k1024 : i32\n"
              "%w = ld_shared %o2 {vec = 4} : regs<fp32, 4>\n"
              "%py = addptr %y, %tid4 : ptr<fp32>\n%py2 = addptr %py, %k256 : ptr<fp32>\n"
              "st_global %py, %v {vec = 4}\nst_global %py2, %w {vec = 4}\n");
   for (unsigned t = 0; t < 64; t++)
      for (unsigned i = 0; i < 4; i++) {
         unsigned from = (t ^ 32) * 4 + i;
         assert_true(y[4 * t + i] == (t % 2 ? 0 : x[from]));
         assert_true(y[256 + 4 * t + i] == x[256 + from]);
      }
   assert_int_equal(m.stats.async_bytes, 2048);
   m_close(&m);
}

/* ---- roles and named barriers: two pairs of warps, each with a barrier of its own ---- */
static void
roles_and_named_barriers(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 6);
   int32_t *y = m_buffer(&m, "y", TL_I32, 128);
   const char *role = "role {first_warp = %u, num_warps = 2} {\n"
                      "  %%w%u = warp_id {first_warp = %u} : i32\n  %%s%u = shl %%w%u, %%k5 : i32\n"
                      "  %%t%u = add %%s%u, %%lane : i32\n  %%a%u = shl %%t%u, %%k2 : i32\n"
                      "  st_shared %%a%u, %%t%u {offsets = [%u]}\n"
                      "  bar_sync {barrier = %u}\n"
                      "  %%k%u_ = constant 252 : i32\n  %%o%u = sub %%k%u_, %%a%u : i32\n"
                      "  %%v%u = ld_shared %%o%u {offsets = [%u]} : i32\n"
                      "  %%p%u = addptr %%y, %%tid : ptr<i32>\n"
                      "  st_global %%p%u, %%v%u\n  yield\n}\n";
   const char *body = "";
   for (unsigned i = 1; i <= 2; i++)
      body = tl_arena_printf(m.x.arena, "%s%s", body,
                             tl_arena_printf(m.x.arena, role, 2 * i - 2, i, 2 * i - 2, i, i, i, i,
                                             i, i, i, i, 256 * (i - 1), i, i, i, i, i, i, i,
                                             256 * (i - 1), i, i, i));
   m_must_run(&m, 4, 512, body);
   for (int i = 0; i < 128; i++)
      assert_int_equal(y[i], 63 - i % 64);
   assert_int_equal(m.stats.block_barriers, 2);
   m_close(&m);
}

/* ---- atomics over many blocks and host threads ---- */
static void
atomics_of_many_blocks(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 7);
   m.grid[0] = 50;
   m.opts.threads = 4;
   int32_t *sum = m_buffer(&m, "s", TL_I32, 1), *top = m_buffer(&m, "t", TL_I32, 1);
   float *f = m_buffer(&m, "f", TL_FP32, 1);
   uint16_t *h = m_buffer(&m, "h", TL_FP16, 2);
   int32_t *owner = m_buffer(&m, "o", TL_I32, 1), *won = m_buffer(&m, "w", TL_I32, 1);
   m_must_run(&m, 1, 0,
              "%a = atom_rmw %s, %lane {rmw = add} : i32\n"
              "%pid = program_id {axis = 0} : i32\n"
              "%b = atom_rmw %t, %pid {rmw = max} : i32\n"
              "%one = constant 1.0 : fp32\n%c = atom_rmw %f, %one {rmw = add} : fp32\n"
              "%first = eq %lane, %k0 : i1\n%h1 = constant 0.5 : fp16\n"
              "%d = atom_rmw %h, %h1, %first {rmw = add} : fp16\n"
              "%e = atom_cas %o, %k0, %k1 : i32\n%mine = eq %e, %k0 : i1\n"
              "%g = atom_rmw %w, %k1, %mine {rmw = add} : i32\n");
   assert_int_equal(*sum, 50 * 31 * 16);
   assert_int_equal(*top, 49);
   assert_true(*f == 1600.0f);
   assert_true(tl_bits_to_double(TL_FP16, h[0]) == 25.0);
   assert_int_equal(*owner, 1);
   assert_int_equal(*won, 1);
   m_close(&m);
}

static void
shared_atomics(void **state)
{
   (void)state;
   Machine m;
   m_open(&m, 8);
   int32_t *y = m_buffer(&m, "y", TL_I32, 32);
   m_must_run(&m, 4, 128,
              "%c31 = constant 32 : i32\n%is = lt %tid, %c31 : i1\n"
              "st_shared %tid4, %k0, %is\nbar_sync\n"
              "%k7 = constant 28 : i32\n%bin = and %tid4, %k7 : i32\n"
              "atom_shared %bin, %tid {rmw = add}\nbar_sync\n"
              "%lane4 = shl %lane, %k2 : i32\n%v = ld_shared %lane4 : i32\n"
              "%p = addptr %y, %lane : ptr<i32>\nst_global %p, %v, %is\n");
   for (int b = 0; b < 32; b++) {
      int want = 0;
      for (int t = b; b < 8 && t < 128; t += 8)
         want += t;
      assert_int_equal(y[b], want);
   }
   m_close(&m);
}

int test_machine(void);
int
test_machine(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_am_i),
      cmocka_unit_test(shuffles),
      cmocka_unit_test(matrix_loads_and_stores),
      cmocka_unit_test(matrix_products),
      cmocka_unit_test(mma_rounding),
      cmocka_unit_test(async_copies),
      cmocka_unit_test(roles_and_named_barriers),
      cmocka_unit_test(atomics_of_many_blocks),
      cmocka_unit_test(shared_atomics),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
