/* Pipelined loops: sums of dots over K against sums in double, for every trip count about the
 * number of stages and every form of addresses.  Inputs are small integers, so that every sum is
 * exact.  The interpreter lands copies at waits only; it reports bytes touched too early and
 * missing barriers. */
#include "support/lowered_fixture.h"

int test_pipeline_loops(void);

enum { MOST_TRIPS = 8, KK = 32, PITCH = MOST_TRIPS * KK };

typedef enum Address { CARRIED, COMPUTED, BOTH, ADDRESS_FORMS } Address;
/* B: k x n, the same with k fast, n x k. */
typedef enum Order { ROWS, COLUMNS, TURNED, ORDERS } Order;

typedef struct Loop {
   unsigned stages, trips, seed;
   unsigned cut; /* masked: so many elements of the last block are missing, 0 = 16 */
   Address address;
   Order order;
   bool is_masked;    /* K ends within the last block */
   bool is_down;      /* the index counts down */
   bool has_two_dots; /* y2 += A x A^T besides */
   bool is_b_last;    /* .. before y += A x B */
   bool is_constant;  /* trip count known */
   const char *dtype, *precision;
   TlDtype in;
} Loop;

static void
put(void *p, TlDtype t, size_t i, double v)
{
   tl_store_elem(t, (char *)p + i * tl_dtype_info[t].bytes,
                 tl_double_to_bits(t, v, TL_ROUND_NEAREST_EVEN));
}

static double
take(const void *p, TlDtype t, size_t i)
{
   return tl_bits_to_double(t, tl_load_elem(t, (const char *)p + i * tl_dtype_info[t].bytes));
}

static void *
random_buffer(Kernel *k, const char *name, TlDtype t, size_t n)
{
   void *p = k_buffer(k, name, t, n);
   for (size_t i = 0; i < n; i++)
      put(p, t, i, (double)k_below(k, 5) - 2);
   return p;
}

static void
divisible_scalar(Kernel *k, const char *name, int32_t v)
{
   k->args[k->num_args++] = (LoweredArg){.bits = tl_int_to_bits(TL_I32, v)};
   k->params = tl_arena_printf(k->x.arena, "%s, %%%s: i32 {div = 16}", k->params, name);
}

/* %<to>: rows x cols with r * row_pitch + c * col_pitch. */
static void
grid_of_offsets(Kernel *k, const char *to, uint32_t rows, uint32_t cols, uint32_t row_pitch,
                uint32_t col_pitch)
{
   const char *t = k_type(k, "i32", 2, (uint32_t[]){rows, cols});
   k_line(k, "%%%s_r = arange {end = %u} : tile<i32, %u>", to, rows, rows);
   k_line(k, "%%%s_c = arange {end = %u} : tile<i32, %u>", to, cols, cols);
   k_line(k, "%%%s_r1 = expand_dims %%%s_r {axis = 1} : tile<i32, %ux1>", to, to, rows);
   k_line(k, "%%%s_c1 = expand_dims %%%s_c {axis = 0} : tile<i32, 1x%u>", to, to, cols);
   k_line(k, "%%%s_rp = constant %u : tile<i32, %ux1>", to, row_pitch, rows);
   k_line(k, "%%%s_cp = constant %u : tile<i32, 1x%u>", to, col_pitch, cols);
   k_line(k, "%%%s_r2 = mul %%%s_r1, %%%s_rp : tile<i32, %ux1>", to, to, to, rows);
   k_line(k, "%%%s_c2 = mul %%%s_c1, %%%s_cp : tile<i32, 1x%u>", to, to, to, cols);
   k_line(k, "%%%s_r3 = broadcast %%%s_r2 : %s", to, to, t);
   k_line(k, "%%%s_c3 = broadcast %%%s_c2 : %s", to, to, t);
   k_line(k, "%%%s = add %%%s_r3, %%%s_c3 : %s", to, to, to, t);
}

/* %<name>_n = k of each element < K, as rows x cols, k along dimension k_dim. */
static void
mask_of_k(Kernel *k, const char *name, const char *param, uint32_t rows, uint32_t cols,
          unsigned k_dim)
{
   uint32_t n = k_dim ? cols : rows;
   const char *small = k_dim ? tl_arena_printf(k->x.arena, "tile<i32, 1x%u>", cols)
                             : tl_arena_printf(k->x.arena, "tile<i32, %ux1>", rows);
   const char *bits = k_dim ? tl_arena_printf(k->x.arena, "tile<i1, 1x%u>", cols)
                            : tl_arena_printf(k->x.arena, "tile<i1, %ux1>", rows);
   k_line(k, "%%%s_k0 = arange {end = %u} : tile<i32, %u>", name, n, n);
   k_line(k, "%%%s_k1 = expand_dims %%%s_k0 {axis = %u} : %s", name, name, 1 - k_dim, small);
   k_line(k, "%%%s_left = sub %%%s, %%at : i32", name, param);
   k_line(k, "%%%s_k2 = splat %%%s_left : %s", name, name, small);
   k_line(k, "%%%s_lt = lt %%%s_k1, %%%s_k2 : %s", name, name, name, bits);
   k_line(k, "%%%s_n = broadcast %%%s_lt : %s", name, name,
          k_type(k, "i1", 2, (uint32_t[]){rows, cols}));
}

/* In the loop: %<name> = the block of `param` at k = %at. */
static void
load_block(Kernel *k, const Loop *l, const char *name, const char *param, uint32_t rows,
           uint32_t cols, uint32_t step, unsigned k_dim, bool is_carried)
{
   uint32_t shape[2] = {rows, cols};
   const char *ptr = k_type(k, tl_arena_printf(k->x.arena, "ptr<%s>", l->dtype), 2, shape);
   const char *t = k_type(k, l->dtype, 2, shape), *p;
   if (is_carried) {
      p = tl_arena_printf(k->x.arena, "%%p%s", param);
   } else {
      const char *ints = k_type(k, "i32", 2, shape);
      k_line(k, "%%%s_s = constant %u : i32", name, step);
      k_line(k, "%%%s_d = mul %%at, %%%s_s : i32", name, name);
      k_line(k, "%%%s_d1 = splat %%%s_d : %s", name, name, ints);
      k_line(k, "%%%s_o = add %%o%s, %%%s_d1 : %s", name, param, name, ints);
      k_line(k, "%%%s_b = splat %%%s : %s", name, param, ptr);
      k_line(k, "%%%s_p = addptr %%%s_b, %%%s_o : %s", name, name, name, ptr);
      p = tl_arena_printf(k->x.arena, "%%%s_p", name);
   }
   if (!l->is_masked) {
      k_line(k, "%%%s = load %s : %s", name, p, t);
      return;
   }
   mask_of_k(k, name, "K", rows, cols, k_dim);
   k_line(k, "%%%s_0 = constant 0.0 : %s", name, t);
   k_line(k, "%%%s = load %s, %%%s_n, %%%s_0 : %s", name, p, name, name, t);
}

static const char *
loop_text(Kernel *k, const Loop *l)
{
   return tl_arena_printf(k->x.arena,
                          "func @f(%s) {num_warps = %u, num_stages = %u, state = typed} {\n%s"
                          "   return\n}\n",
                          k->params, k->warps, l->stages, tl_sb_cstr(&k->body));
}

static const char *
case_text(Kernel *k, const Loop *l)
{
   return tl_arena_printf(k->x.arena,
                          "seed %u: %u stages, %u trips, address %d, order %d, masked %d, "
                          "down %d, two %d, constant %d, %s %s, %u warps",
                          l->seed, l->stages, l->trips, (int)l->address, (int)l->order,
                          l->is_masked, l->is_down, l->has_two_dots, l->is_constant, l->dtype,
                          l->precision, k->warps);
}

static bool
is_carried(const Loop *l, bool is_a)
{
   return l->address == CARRIED || (l->address == BOTH && is_a);
}

/* The loop: y += A B (, z += A A^T) over K. */
static void
write_loop(Kernel *k, const Loop *l, uint32_t m, uint32_t n)
{
   uint32_t sa[2] = {m, KK}, sb[2] = {l->order == TURNED ? n : KK, l->order == TURNED ? KK : n};
   uint32_t sc[2] = {m, n}, sz[2] = {m, m};
   uint32_t step_b = l->order == ROWS ? n : 1;
   const char *ptr = tl_arena_printf(k->x.arena, "ptr<%s>", l->dtype);
   const char *pa = k_type(k, ptr, 2, sa), *pb = k_type(k, ptr, 2, sb);
   const char *tc = k_type(k, "fp32", 2, sc), *tz = k_type(k, "fp32", 2, sz);
   const char *ints_a = k_type(k, "i32", 2, sa), *ints_b = k_type(k, "i32", 2, sb);
   grid_of_offsets(k, "oa", m, KK, PITCH, 1);
   if (l->order == TURNED)
      grid_of_offsets(k, "ob", n, KK, PITCH, 1);
   else
      grid_of_offsets(k, "ob", KK, n, l->order == ROWS ? n : 1, l->order == ROWS ? 1 : PITCH);
   k_line(k, "%%ba = splat %%a : %s\n   %%bb = splat %%b : %s", pa, pb);
   const char *K = "%K";
   if (l->is_constant) {
      k_line(k, "%%Kc = constant %u : i32", l->trips * KK);
      K = "%Kc";
   }
   k_line(k, "%%step = constant %d : i32", l->is_down ? -KK : KK);
   k_line(k, "%%zero = constant : i32\n   %%kk = constant %d : i32", KK);
   k_line(k, "%%last = sub %s, %%kk : i32\n   %%minus = constant -1 : i32", K);
   k_line(k, "%%first_a = constant : %s\n   %%first_b = constant : %s", ints_a, ints_b);
   if (l->is_down) { /* masked: K is not a multiple, but the blocks start at multiples */
      k_line(k, "%%up = add %%last, %%kk : i32\n   %%round = constant %d : i32", KK - 1);
      k_line(k, "%%ceil = add %%up, %%round : i32\n   %%blocks = div %%ceil, %%kk : i32");
      k_line(k, "%%unit = constant 1 : i32\n   %%lastb = sub %%blocks, %%unit : i32");
      k_line(k, "%%start = mul %%lastb, %%kk : i32");
      k_line(k, "%%sbk = constant %u : i32", step_b);
      k_line(k, "%%startb = mul %%start, %%sbk : i32");
      k_line(k, "%%sta = splat %%start : %s\n   %%stb = splat %%startb : %s", ints_a, ints_b);
   }
   k_line(k, "%%oa0 = add %%oa, %s : %s", l->is_down ? "%sta" : "%first_a", ints_a);
   k_line(k, "%%ob0 = add %%ob, %s : %s", l->is_down ? "%stb" : "%first_b", ints_b);
   k_line(k, "%%pa0 = addptr %%ba, %%oa0 : %s\n   %%pb0 = addptr %%bb, %%ob0 : %s", pa, pb);
   k_line(k, "%%y0 = constant 0.0 : %s\n   %%z0 = constant 0.0 : %s", tc, tz);
   k_line(k,
          "%%ya, %%za, %%e1, %%e2 = for %%at = %s to %s step %%step "
          "iter(%%yc = %%y0, %%zc = %%z0, %%pa = %%pa0, %%pb = %%pb0) : %s, %s, %s, %s {",
          l->is_down ? "%start" : "%zero", l->is_down ? "%minus" : K, tc, tz, pa, pb);
   load_block(k, l, "va", "a", m, KK, 1, 1, is_carried(l, true));
   load_block(k, l, "vb", "b", sb[0], sb[1], step_b, l->order == TURNED, is_carried(l, false));
   const char *b = "%vb";
   if (l->order == TURNED) {
      k_line(k, "%%vt = trans %%vb {order = [1, 0]} : %s",
             k_type(k, l->dtype, 2, (uint32_t[]){KK, n}));
      b = "%vt";
   }
   if (!l->is_b_last)
      k_line(k, "%%yn = dot %%va, %s, %%yc {precision = %s} : %s", b, l->precision, tc);
   if (l->has_two_dots) {
      k_line(k, "%%at2 = trans %%va {order = [1, 0]} : %s",
             k_type(k, l->dtype, 2, (uint32_t[]){KK, m}));
      k_line(k, "%%zn = dot %%va, %%at2, %%zc {precision = %s} : %s", l->precision, tz);
   } else {
      k_line(k, "%%zn = add %%zc, %%zc : %s", tz);
   }
   if (l->is_b_last)
      k_line(k, "%%yn = dot %%va, %s, %%yc {precision = %s} : %s", b, l->precision, tc);
   int32_t sign = l->is_down ? -1 : 1;
   k_line(k, "%%sa = constant %d : %s\n   %%sb = constant %d : %s", sign * KK, ints_a,
          sign * (int32_t)(KK * step_b), ints_b);
   k_line(k, "%%na = addptr %%pa, %%sa : %s\n   %%nb = addptr %%pb, %%sb : %s", pa, pb);
   k_line(k, "yield %%yn, %%zn, %%na, %%nb\n   }");
   k_store(k, "ya", "y", "fp32", 2, sc);
   k_store(k, "za", "z", "fp32", 2, sz);
}

/* Copies among the operations of f. */
static unsigned
count_ops(const TlBlock *block, TlOpcode opcode)
{
   unsigned n = 0;
   for (const TlOp *op = block->first; op; op = op->next) {
      n += op->opcode == opcode;
      for (unsigned i = 0; i < op->num_regions; i++)
         n += count_ops(op->regions[i]->block, opcode);
   }
   return n;
}

static TlFunc *
lower_and_run(Kernel *k, const Loop *l)
{
   const char *text = loop_text(k, l);
   TlFunc *f = ir_must_read(&k->x, text);
   TlPassCx cx = k_context(k);
   if (!tl_pipeline_typed(&cx, f) || !tl_pipeline_laid(&cx, f) || !tl_pipeline_lowered(&cx, f))
      fail_msg("%s\n%s\n%s", case_text(k, l), ir_messages(&k->x), text);
   const char *error = lowered_run(k->scratch, f, k->args, k->num_args, k->grid, &k->stats);
   if (error)
      fail_msg("%s\n%s\n%s\n%s", case_text(k, l), error, text, ir_print(&k->x, k->x.module));
   return f;
}

static void
check(Kernel *k, const Loop *l, const char *what, const float *got, uint32_t i, uint32_t j,
      uint32_t cols, double want)
{
   if (got[i * cols + j] != (float)want)
      fail_msg("%s\n%s(%u,%u): %g, want %g\n%s\n%s", case_text(k, l), what, i, j,
               (double)got[i * cols + j], want, loop_text(k, l), ir_print(&k->x, k->x.module));
}

/* Runs the loop; the statistics of its execution. */
static LoweredStats
run_loop(const Loop *l, uint32_t m, uint32_t n, unsigned warps)
{
   Kernel k;
   k_open(&k, l->seed);
   k.warps = warps ? warps : 1u << k_below(&k, 3);
   uint32_t missing = l->is_masked && l->trips ? (l->cut ? l->cut : 16) : 0;
   uint32_t total = l->trips * KK - missing;
   void *a = random_buffer(&k, "a", l->in, (size_t)m * PITCH);
   void *b = random_buffer(&k, "b", l->in, (size_t)n * PITCH);
   float *y = k_buffer(&k, "y", TL_FP32, (size_t)m * n);
   float *z = k_buffer(&k, "z", TL_FP32, (size_t)m * m);
   if (l->cut)
      k_scalar(&k, "K", TL_I32, total);
   else
      divisible_scalar(&k, "K", (int32_t)total);
   write_loop(&k, l, m, n);
   TlFunc *f = lower_and_run(&k, l);
   bool is_rows = l->order == ROWS;
   for (uint32_t i = 0; i < m; i++)
      for (uint32_t j = 0; j < n; j++) {
         double want = 0;
         for (uint32_t x = 0; x < total; x++)
            want +=
               take(a, l->in, i * PITCH + x) * take(b, l->in, is_rows ? x * n + j : j * PITCH + x);
         check(&k, l, "y", y, i, j, n, want);
      }
   for (uint32_t i = 0; i < m && l->has_two_dots; i++)
      for (uint32_t j = 0; j < m; j++) {
         double want = 0;
         for (uint32_t x = 0; x < total; x++)
            want += take(a, l->in, i * PITCH + x) * take(a, l->in, j * PITCH + x);
         check(&k, l, "z", z, i, j, m, want);
      }
   bool is_single = l->is_constant && l->trips < 2;
   if ((count_ops(f->body->block, TL_OP_CP_ASYNC) > 0) != !is_single)
      fail_msg("%s\npipelined or not?\n%s", case_text(&k, l), ir_print(&k.x, k.x.module));
   LoweredStats stats = k.stats;
   k_close(&k);
   return stats;
}

static Loop
plain_loop(unsigned stages, unsigned trips)
{
   return (Loop){
      .stages = stages, .trips = trips, .dtype = "fp16", .precision = "tf32", .in = TL_FP16};
}

/* One in how many of the cases of the longest tests, which interpret what they compile. */
#ifdef TL_INSTRUMENTED
enum { ONE_IN = 4 };
#else
enum { ONE_IN = 1 };
#endif

/* K ends within a copy: as many bytes are copied as there are, the rest is zero. */
static void
cut_copies(void **state)
{
   (void)state;
   unsigned seed = 999;
   for (unsigned cut = 1; cut < KK; cut += cut < 10 ? 1 : 7)
      for (unsigned order = 0; order < ORDERS; order++)
         for (unsigned is_down = 0; is_down < 2; is_down++) {
            seed++;
            if ((cut + order + is_down) % ONE_IN)
               continue;
            Loop l = plain_loop(3, 1 + seed % 4);
            l.seed = seed;
            l.is_masked = true;
            l.cut = cut;
            l.order = (Order)order;
            l.is_down = is_down != 0;
            l.address = is_down ? COMPUTED : (Address)(seed % ADDRESS_FORMS);
            run_loop(&l, 32, 32, 4);
         }
}

static void
every_trip_count(void **state)
{
   (void)state;
   static const unsigned trips[] = {0, 1, 2, 3, 4, 5, 7};
   unsigned seed = 0;
   for (unsigned stages = 2; stages <= 4; stages++)
      for (unsigned t = 0; t < sizeof trips / sizeof trips[0]; t++)
         for (unsigned form = 0; form < (unsigned)ADDRESS_FORMS * (unsigned)ORDERS;
              form++, seed++) {
            if (seed % ONE_IN)
               continue;
            Loop l = plain_loop(stages, trips[t]);
            l.seed = seed;
            l.address = form / ORDERS;
            l.order = form % ORDERS;
            l.is_masked = seed & 1;
            l.is_down = seed % 3 == 0;
            l.has_two_dots = seed % 5 < 2;
            l.is_b_last = seed % 5 == 1;
            l.is_constant = !l.is_masked && seed % 7 == 0;
            run_loop(&l, 16u << seed % 3, 16u << seed / 3 % 3, 0);
         }
}

/* Operands that are converted, rounded or multiplied without matrix instructions. */
static void
every_operand_type(void **state)
{
   (void)state;
   static const struct {
      const char *dtype, *precision;
      TlDtype in;
   } types[] = {{"bf16", "tf32", TL_BF16},
                {"fp8e5", "tf32", TL_FP8E5},
                {"fp8e4nv", "tf32", TL_FP8E4NV},
                {"fp32", "ieee", TL_FP32},
                {"fp32", "tf32", TL_FP32}};
   for (unsigned seed = 0; seed < 30; seed++) {
      Loop l = plain_loop(2 + seed % 3, seed * 5 % MOST_TRIPS);
      l.seed = seed + 1000;
      l.dtype = types[seed % 5].dtype;
      l.precision = types[seed % 5].precision;
      l.in = types[seed % 5].in;
      l.address = seed % ADDRESS_FORMS;
      l.order = seed / 5 % ORDERS;
      l.is_masked = seed / 2 & 1;
      l.has_two_dots = seed / 4 & 1;
      l.is_b_last = seed / 8 & 1;
      run_loop(&l, 32, 16u << seed % 2, 0);
   }
}

/* One barrier an iteration, whatever the number of stages; one group of copies, none twice. */
static void
one_barrier_an_iteration(void **state)
{
   (void)state;
   for (unsigned stages = 2; stages <= 4; stages++)
      for (unsigned order = 0; order < ORDERS; order++) {
         Loop l = plain_loop(stages, 3);
         l.order = order;
         LoweredStats few = run_loop(&l, 64, 64, 4);
         l.trips = 7;
         LoweredStats many = run_loop(&l, 64, 64, 4);
         assert_int_equal(many.block_barriers - few.block_barriers, 4);
         assert_int_equal(few.async_copies, 3 * 2 * 64 * KK / 8);
         assert_int_equal(many.async_copies, 7 * 2 * 64 * KK / 8);
      }
}

/* Loads for different dots arrive in groups of their own: of n, the first is waited for at the top
 * and the others before their dots, with a barrier each; with many warps, and where copies run two
 * iterations ahead, all at the top. */
static void
groups_of_two_dots(void **state)
{
   (void)state;
   for (unsigned stages = 2; stages <= 5; stages++)
      for (unsigned warps = 4; warps <= 8; warps *= 2)
         for (unsigned is_b_last = 0; is_b_last < 2; is_b_last++) {
            if ((stages + warps / 4 + is_b_last) % ONE_IN)
               continue;
            Loop l = plain_loop(stages, 3);
            l.has_two_dots = true;
            l.is_b_last = is_b_last;
            LoweredStats few = run_loop(&l, 64, 64, warps);
            l.trips = 7;
            LoweredStats many = run_loop(&l, 64, 64, warps);
            /* A^T is read in A's ring. */
            unsigned waits = is_b_last && warps == 4 && stages == 2 ? 2 : 1;
            assert_int_equal(many.block_barriers - few.block_barriers, 4 * waits);
         }
}

/* ---- small kernels given as text ---- */
/* Runs `text` after reading it as it is; remarks of the pass are in ir_messages. */
static TlFunc *
run_text(Kernel *k, const char *text, const char *arch)
{
   k->x.diags.remarks = "pipeline";
   TlFunc *f = ir_must_read(&k->x, text);
   k->warps = f->num_warps;
   TlPassCx cx = k_context(k);
   cx.target = tl_target_find(arch);
   bool ok = f->state == TL_STATE_LAID || (tl_pipeline_typed(&cx, f) && tl_pipeline_laid(&cx, f));
   if (!ok || !tl_pipeline_lowered(&cx, f))
      fail_msg("%s\n%s", ir_messages(&k->x), text);
   const char *error = lowered_run(k->scratch, f, k->args, k->num_args, k->grid, &k->stats);
   if (error)
      fail_msg("%s\n%s\n%s", error, text, ir_print(&k->x, k->x.module));
   return f;
}

static void
assert_says(Kernel *k, const char *part)
{
   if (!strstr(ir_messages(&k->x), part))
      fail_msg("no '%s' in\n%s", part, ir_messages(&k->x));
}

/* y = sum of blocks of x; z = each block doubled.  No dot: the loop's own num_stages counts. */
static const char sum_of_blocks[] =
   "func @f(%%x: ptr<fp32> {div = 16}, %%y: ptr<fp32> {div = 16}, %%z: ptr<fp32> {div = 16}, "
   "%%n: i32) {num_warps = 2, num_stages = 3, state = typed} {\n"
   "   %%i = arange {end = 256} : tile<i32, 256>\n"
   "   %%xs = splat %%x : tile<ptr<fp32>, 256>\n"
   "   %%ys = splat %%y : tile<ptr<fp32>, 256>\n"
   "   %%zs = splat %%%s : tile<ptr<fp32>, 256>\n"
   "   %%xp = addptr %%xs, %%i : tile<ptr<fp32>, 256>\n"
   "   %%yp = addptr %%ys, %%i : tile<ptr<fp32>, 256>\n"
   "   %%zo = constant %d : tile<i32, 256>\n"
   "   %%zi = add %%i, %%zo : tile<i32, 256>\n"
   "   %%zp = addptr %%zs, %%zi : tile<ptr<fp32>, 256>\n"
   "   %%step = constant 256 : tile<i32, 256>\n"
   "   %%zero = constant : i32\n"
   "   %%one = constant 1 : i32\n"
   "   %%acc0 = constant 0.0 : tile<fp32, 256>\n"
   "   %%sum, %%xe, %%ze = for %%at = %%zero to %%n step %%one "
   "iter(%%acc = %%acc0, %%xc = %%xp, %%zc = %%zp) "
   "{num_stages = %u} : tile<fp32, 256>, tile<ptr<fp32>, 256>, tile<ptr<fp32>, 256> {\n"
   "      %%v = load %%xc : tile<fp32, 256>\n"
   "      %%two = add %%v, %%v : tile<fp32, 256>\n"
   "      store %%zc, %%two\n"
   "      %%next = add %%acc, %%v : tile<fp32, 256>\n"
   "      %%xn = addptr %%xc, %%step : tile<ptr<fp32>, 256>\n"
   "      %%zn = addptr %%zc, %%step : tile<ptr<fp32>, 256>\n"
   "      yield %%next, %%xn, %%zn\n"
   "   }\n"
   "   store %%yp, %%sum\n"
   "   return\n"
   "}\n";

/* Other memory may be stored to; the loaded memory may not, then the loop stays as it is. */
static void
loops_without_dots(void **state)
{
   (void)state;
   for (unsigned stages = 0; stages <= 4; stages++)
      for (unsigned trips = 0; trips <= 6; trips++)
         for (unsigned in_place = 0; in_place < 2; in_place++) {
            Kernel k;
            k_open(&k, stages * 16 + trips);
            float *x = random_buffer(&k, "x", TL_FP32, 256 * 8);
            float *y = k_buffer(&k, "y", TL_FP32, 256), *z = k_buffer(&k, "z", TL_FP32, 256 * 8);
            k.args[k.num_args++] = (LoweredArg){.bits = trips};
            float want_x[256 * 8], want_y[256] = {0};
            memcpy(want_x, x, sizeof want_x);
            for (unsigned t = 0; t < trips; t++)
               for (unsigned i = 0; i < 256; i++) {
                  want_y[i] += want_x[t * 256 + i];
                  if (in_place) /* the next block is what this one was, doubled */
                     want_x[t * 256 + 256 + i] = 2 * want_x[t * 256 + i];
               }
            const char *text = tl_arena_printf(k.x.arena, sum_of_blocks, in_place ? "x" : "z",
                                               in_place ? 256 : 0, stages);
            TlFunc *f = run_text(&k, text, "sm_90a");
            assert_memory_equal(y, want_y, sizeof want_y);
            assert_memory_equal(x, want_x, sizeof want_x);
            for (unsigned i = 0; i < trips * 256 && !in_place; i++)
               assert_true(z[i] == 2 * x[i]);
            bool copies = count_ops(f->body->block, TL_OP_CP_ASYNC) > 0;
            assert_int_equal(copies, stages > 1 && !in_place);
            if (stages > 1)
               assert_says(&k, in_place ? "the loop may store to the same memory"
                                        : "loop is pipelined");
            k_close(&k);
         }
}

/* y[row] = sum of row `row` of x, whose columns from %cols on count as -1. */
static const char rows_by_steps[] =
   "func @f(%x: ptr<fp32> {div = 16}, %y: ptr<fp32> {div = 16}, %cols: i32, %from: i32, %to: i32, "
   "%step: i32) {num_warps = 2, num_stages = 1, state = typed} {\n"
   "   %i = arange {end = 256} : tile<i32, 256>\n"
   "   %width = constant 256 : i32\n"
   "   %xs = splat %x : tile<ptr<fp32>, 256>\n"
   "   %other = constant -1.0 : tile<fp32, 256>\n"
   "   for %row = %from to %to step %step {num_stages = 3} {\n"
   "      %d = mul %row, %width : i32\n"
   "      %ds = splat %d : tile<i32, 256>\n"
   "      %o = add %ds, %i : tile<i32, 256>\n"
   "      %p = addptr %xs, %o : tile<ptr<fp32>, 256>\n"
   "      %cs = splat %cols : tile<i32, 256>\n"
   "      %m = lt %i, %cs : tile<i1, 256>\n"
   "      %v = load %p, %m, %other : tile<fp32, 256>\n"
   "      %s = reduce %v {axis = 0} : fp32 (%a: fp32, %b: fp32) {\n"
   "         %c = add %a, %b : fp32\n"
   "         yield %c\n"
   "      }\n"
   "      %yp = addptr %y, %row : ptr<fp32>\n"
   "      store %yp, %s\n"
   "      yield\n"
   "   }\n"
   "   return\n"
   "}\n";

/* Steps known at run time only, also downwards and near the ends of the index's range; `other`. */
static void
steps_of_the_launch(void **state)
{
   (void)state;
   static const int32_t ranges[][3] = {
      {0, 10, 1},        {0, 10, 3},        {1, 10, 4},         {9, -1, -1},
      {9, 0, -4},        {3, 3, 2},         {3, 1, 2},          {2, 9, 2000000000},
      {2, 9, INT32_MAX}, {8, 1, INT32_MIN}, {9, 7, -INT32_MAX},
   };
   for (unsigned r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
      Kernel k;
      k_open(&k, r);
      int32_t from = ranges[r][0], to = ranges[r][1], step = ranges[r][2];
      uint32_t cols = 1 + k_below(&k, 256);
      float *x = random_buffer(&k, "x", TL_FP32, 2560), *y = k_buffer(&k, "y", TL_FP32, 10);
      int32_t scalars[4] = {(int32_t)cols, from, to, step};
      for (unsigned i = 0; i < 4; i++)
         k.args[k.num_args++] = (LoweredArg){.bits = tl_int_to_bits(TL_I32, scalars[i])};
      float want[10] = {0};
      for (int64_t row = from; step > 0 ? row < to : row > to; row += step)
         for (uint32_t i = 0; i < 256; i++)
            want[row] += i < cols ? x[row * 256 + i] : -1;
      run_text(&k, rows_by_steps, "sm_90a");
      assert_memory_equal(y, want, sizeof want);
      assert_says(&k, "loop is pipelined: 3 stages of 1024 bytes for 1 load");
      k_close(&k);
   }
}

/* y += A A^T over blocks that a table names (%t), besides s += A; nested in a loop over rows. */
static const char blocks_of_a_table[] =
   "func @f(%%a: ptr<fp16> {div = 16}, %%t: ptr<i32> {div = 16}, %%y: ptr<fp32> {div = 16}, "
   "%%s: ptr<fp32> {div = 16}, %%n: i32) {num_warps = 2, num_stages = 3, state = typed} {\n"
   "   %%r = arange {end = 32} : tile<i32, 32>\n"
   "   %%r1 = expand_dims %%r {axis = 1} : tile<i32, 32x1>\n"
   "   %%c1 = expand_dims %%r {axis = 0} : tile<i32, 1x32>\n"
   "   %%p = constant 32 : tile<i32, 32x1>\n"
   "   %%rp = mul %%r1, %%p : tile<i32, 32x1>\n"
   "   %%r2 = broadcast %%rp : tile<i32, 32x32>\n"
   "   %%c2 = broadcast %%c1 : tile<i32, 32x32>\n"
   "   %%o = add %%r2, %%c2 : tile<i32, 32x32>\n"
   "   %%as = splat %%a : tile<ptr<fp16>, 32x32>\n"
   "   %%ap = addptr %%as, %%o : tile<ptr<fp16>, 32x32>\n"
   "   %%ys = splat %%y : tile<ptr<fp32>, 32x32>\n"
   "   %%ss = splat %%s : tile<ptr<fp32>, 32x32>\n"
   "   %%zero = constant : i32\n   %%one = constant 1 : i32\n"
   "   %%three = constant 3 : i32\n"
   "   %%size = constant 1024 : i32\n"
   "   %%z = constant 0.0 : tile<fp32, 32x32>\n"
   "   for %%row = %%zero to %%three step %%one {\n"
   "      %%acc, %%sum = for %%at = %%zero to %%n step %%one iter(%%ac = %%z, %%sc = %%z) : "
   "tile<fp32, 32x32>, tile<fp32, 32x32> {\n"
   "         %%tp = addptr %%t, %%at : ptr<i32>\n"
   "         %%named = %s : i32\n"
   "         %%d0 = add %%named, %%row : i32\n"
   "         %%d = mul %%d0, %%size : i32\n"
   "         %%ds = splat %%d : tile<i32, 32x32>\n"
   "         %%ptr = addptr %%ap, %%ds : tile<ptr<fp16>, 32x32>\n"
   "         %%v = load %%ptr : tile<fp16, 32x32>\n"
   "         %%vt = trans %%v {order = [1, 0]} : tile<fp16, 32x32>\n"
   "         %%an = dot %%v, %%vt, %%ac : tile<fp32, 32x32>\n"
   "         %%w = cast %%v : tile<fp32, 32x32>\n"
   "         %%sn = add %%sc, %%w : tile<fp32, 32x32>\n"
   "         yield %%an, %%sn\n"
   "      }\n"
   "      %%rd = mul %%row, %%size : i32\n"
   "      %%rs = splat %%rd : tile<i32, 32x32>\n"
   "      %%ro = add %%rs, %%o : tile<i32, 32x32>\n"
   "      %%yp = addptr %%ys, %%ro : tile<ptr<fp32>, 32x32>\n"
   "      %%sp = addptr %%ss, %%ro : tile<ptr<fp32>, 32x32>\n"
   "      store %%yp, %%acc\n"
   "      store %%sp, %%sum\n"
   "      yield\n"
   "   }\n"
   "   return\n"
   "}\n";

/* A load that dots, transposes and arithmetic read is pipelined within an outer loop; one whose
 * address is loaded as well, the table read ahead of it and never beyond its end. */
static void
tables_and_several_users(void **state)
{
   (void)state;
   for (unsigned trips = 0; trips <= 5; trips++)
      for (unsigned is_table = 0; is_table < 2; is_table++) {
         Kernel k;
         k_open(&k, trips);
         uint16_t *a = random_buffer(&k, "a", TL_FP16, 1024 * 10);
         int32_t *t = k_buffer(&k, "t", TL_I32, trips);
         float *y = k_buffer(&k, "y", TL_FP32, 3072), *s = k_buffer(&k, "s", TL_FP32, 3072);
         k.args[k.num_args++] = (LoweredArg){.bits = trips};
         for (unsigned i = 0; i < trips; i++)
            t[i] = is_table ? (int32_t)k_below(&k, 7) : (int32_t)i;
         TlFunc *f = run_text(
            &k,
            tl_arena_printf(k.x.arena, blocks_of_a_table, is_table ? "load %tp" : "add %at, %zero"),
            "sm_80");
         for (unsigned row = 0; row < 3; row++)
            for (unsigned i = 0; i < 1024; i++) {
               double want_y = 0, want_s = 0;
               for (unsigned b = 0; b < trips; b++) {
                  size_t block = (size_t)(t[b] + (int32_t)row) * 1024;
                  for (unsigned x = 0; x < 32; x++)
                     want_y += take(a, TL_FP16, block + i / 32 * 32 + x) *
                               take(a, TL_FP16, block + i % 32 * 32 + x);
                  want_s += take(a, TL_FP16, block + i);
               }
               assert_true(y[row * 1024 + i] == (float)want_y);
               assert_true(s[row * 1024 + i] == (float)want_s);
            }
         assert_true(count_ops(f->body->block, TL_OP_CP_ASYNC) > 0);
         assert_says(&k, "loop is pipelined: 3 stages of 2048 bytes for 1 load");
         k_close(&k);
      }
}

/* As many stages as fit the target; none without asynchronous copies in what is asked for. */
static void
stages_fit_the_memory(void **state)
{
   (void)state;
   for (unsigned stages = 1; stages <= 60; stages += 59) {
      Loop l = plain_loop(stages, 2);
      Kernel k;
      k_open(&k, 5);
      k.warps = 4;
      k.x.diags.remarks = "pipeline";
      random_buffer(&k, "a", TL_FP16, 128 * PITCH);
      random_buffer(&k, "b", TL_FP16, 128 * PITCH);
      k_buffer(&k, "y", TL_FP32, 128 * 128);
      k_buffer(&k, "z", TL_FP32, 128 * 128);
      divisible_scalar(&k, "K", 2 * KK);
      write_loop(&k, &l, 128, 128);
      TlFunc *f = ir_must_read(&k.x, loop_text(&k, &l));
      TlPassCx cx = k_context(&k);
      cx.target = tl_target_find("sm_86");
      assert_true(tl_pipeline_typed(&cx, f) && tl_pipeline_laid(&cx, f));
      unsigned copies = count_ops(f->body->block, TL_OP_ASYNC_COPY);
      if (stages == 1) {
         assert_int_equal(copies, 0);
      } else {
         assert_int_equal(copies, 2 * 6); /* 5 stages ahead and the body: 6 x 16 KiB of 99 KiB */
         assert_says(&k, "60 stages of 16384 bytes do not fit in shared memory");
         assert_says(&k, "loop is pipelined: 6 stages of 16384 bytes for 2 loads");
      }
      assert_true(tl_pipeline_lowered(&cx, f));
      k_close(&k);
   }
}

/* What cp.async cannot do is done by ordinary loads and stores in the same place. */
static void
copies_below_four_bytes(void **state)
{
   (void)state;
   Kernel k;
   k_open(&k, 1);
   uint16_t *x = random_buffer(&k, "x", TL_FP16, 128), *y = k_buffer(&k, "y", TL_FP16, 64);
   run_text(&k,
            "#l = {shape=[64], reg=[[32]], lane=[[1],[2],[4],[8],[16]], warp=[], block=[]}\n"
            "#m = {shape=[64], reg=[[1],[2],[4],[8],[16],[32]], lane=[], warp=[], block=[]}\n"
            "func @f(%x: ptr<fp16> {div = 16}, %y: ptr<fp16> {div = 16}) {num_warps = 1, "
            "num_stages = 1, state = laid, target = \"sm_90a\"} {\n"
            "   %i = arange {end = 64} : tile<i32, 64, #l>\n"
            "   %two = constant 2 : tile<i32, 64, #l>\n"
            "   %i2 = mul %i, %two : tile<i32, 64, #l>\n"
            "   %xs = splat %x : tile<ptr<fp16>, 64, #l>\n"
            "   %xp = addptr %xs, %i2 : tile<ptr<fp16>, 64, #l>\n"
            "   %lim = constant 50 : tile<i32, 64, #l>\n"
            "   %mask = lt %i, %lim : tile<i1, 64, #l>\n"
            "   %buf = local_alloc : memdesc<fp16, 2 x 64, #m>\n"
            "   %s = constant 1 : i32\n"
            "   %view = local_view %buf, %s : memdesc<fp16, 64, #m>\n"
            "   %c = async_copy %xp, %view, %mask : token\n"
            "   %g = async_commit %c : token\n"
            "   %w = async_wait : token\n"
            "   %v = local_load %view : tile<fp16, 64, #l>\n"
            "   %ys = splat %y : tile<ptr<fp16>, 64, #l>\n"
            "   %yp = addptr %ys, %i : tile<ptr<fp16>, 64, #l>\n"
            "   store %yp, %v\n"
            "   return\n"
            "}\n",
            "sm_90a");
   for (unsigned i = 0; i < 64; i++)
      assert_int_equal(y[i], i < 50 ? x[2 * i] : 0);
   assert_int_equal(k.stats.async_copies, 0);
   k_close(&k);
}

int
test_pipeline_loops(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_trip_count),
      cmocka_unit_test(every_operand_type),
      cmocka_unit_test(cut_copies),
      cmocka_unit_test(one_barrier_an_iteration),
      cmocka_unit_test(groups_of_two_dots),
      cmocka_unit_test(loops_without_dots),
      cmocka_unit_test(steps_of_the_launch),
      cmocka_unit_test(tables_and_several_users),
      cmocka_unit_test(stages_fit_the_memory),
      cmocka_unit_test(copies_below_four_bytes),
   };
   return cmocka_run_group_tests_name("pipeline_loops", tests, NULL, NULL);
}
