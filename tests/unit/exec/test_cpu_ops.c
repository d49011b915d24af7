/* The executor's loops against the scalar models: every elementwise operation on every dtype bit
 * for bit, matrix products against exact sums, folds against plain loops, and random functions
 * against the plain evaluator of tests/support. */
#include "exec/cpu.h"
#include "support/ir_fixture.h"
#include "support/run_ir.h"

#include <math.h>
#include <stdlib.h>

static uint64_t seed = 77001;

static uint64_t
next(void)
{
   seed += 0x9e3779b97f4a7c15u;
   uint64_t z = seed;
   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
   z = (z ^ z >> 27) * 0x94d049bb133111ebu;
   return z ^ z >> 31;
}

static double
unit(void)
{
   return (double)(next() >> 11) * 0x1p-52 - 1;
}

static void
run(IrFixture *x, const TlFunc *f, TlExecArg *args, unsigned num, unsigned programs,
    unsigned threads, bool checked)
{
   TlExecFault fault;
   TlExecOptions o = {.threads = threads, .checked = checked};
   if (tl_exec_cpu(f, args, num, (uint32_t[3]){programs, 1, 1}, &o, &fault) != TL_EXEC_OK) {
      tl_exec_report(&x->diags, &fault);
      fail_msg("%s", ir_messages(x));
   }
}

static TlExecArg
buffer(void *data, size_t bytes)
{
   return (TlExecArg){.is_buffer = true, .is_writable = true, .data = data, .bytes = bytes};
}

/* ---- elementwise ---- */
enum { N = 1024 };

static uint64_t
mask(TlDtype t)
{
   return ~(uint64_t)0 >> (64 - tl_dtype_info[t].bits);
}

/* All kinds of patterns: random, small, near each other, special. */
static TlBits
any_bits(TlDtype t)
{
   if (tl_dtype_is_float(t)) {
      static const double special[] = {0,    -0.0,  1,        -1,          0.5,   2,
                                       -2.5, 448,   65504,    1e-6,        1e-40, 1e30,
                                       3,    1e300, 4.9e-324, 2147483648.0};
      switch (next() % 6) {
      case 0:
         return tl_double_to_bits(t, special[next() % 16], TL_ROUND_NEAREST_EVEN);
      case 1:
         return tl_double_to_bits(t, next() % 2 ? (double)INFINITY : (double)NAN,
                                  TL_ROUND_NEAREST_EVEN);
      case 2:
      case 3:
         return tl_double_to_bits(t, unit() * 20, TL_ROUND_NEAREST_EVEN);
      default:
         return next() & mask(t);
      }
   }
   return next() >> (next() % 2 ? next() % 64 : 0) & mask(t);
}

static void
fill(TlDtype t, uint8_t *to, size_t n)
{
   for (size_t i = 0; i < n; i++)
      tl_store_elem(t, to + i * tl_dtype_info[t].bytes, any_bits(t));
}

/* r = op(a, b, c) on tiles; NULL when the operation does not take these types. */
static TlFunc *
make_func(IrFixture *x, TlOpcode op, TlDtype a, TlDtype b, TlDtype r, const char *attrs)
{
   const char *ta = tl_dtype_info[a].text, *tb = tl_dtype_info[b].text, *tr = tl_dtype_info[r].text;
   const char *const operands[] = {"", "%va", "%va, %vb", "%va, %vb, %vc"};
   TlSb sb;
   tl_sb_init(&sb, x->arena);
   tl_sb_printf(&sb,
                "func @f(%%a: ptr<%s>, %%b: ptr<%s>, %%c: ptr<%s>, %%r: ptr<%s>) "
                "{state = typed} {\n   %%i = arange {end = %d} : tile<i32, %d>\n",
                ta, tb, tb, tr, N, N);
   const char *const names[] = {"a", "b", "c", "r"}, *const types[] = {ta, tb, tb, tr};
   for (unsigned k = 0; k < 4; k++) {
      tl_sb_printf(&sb, "   %%s%s = splat %%%s : tile<ptr<%s>, %d>\n", names[k], names[k], types[k],
                   N);
      tl_sb_printf(&sb, "   %%p%s = addptr %%s%s, %%i : tile<ptr<%s>, %d>\n", names[k], names[k],
                   types[k], N);
      if (k < 3)
         tl_sb_printf(&sb, "   %%v%s = load %%p%s : tile<%s, %d>\n", names[k], names[k], types[k],
                      N);
   }
   tl_sb_printf(&sb, "   %%v = %s %s%s : tile<%s, %d>\n   store %%pr, %%v\n   return\n}\n",
                tl_op_info[op].text, operands[tl_op_info[op].max_args], attrs, tr, N);
   return ir_read(x, tl_sb_cstr(&sb)) ? x->module->first_func : NULL;
}

static bool
check_op(TlOpcode op, TlDtype a, TlDtype b, TlDtype r, const char *attrs)
{
   static uint8_t in[3][N * 8], out[N * 8];
   IrFixture x;
   ir_open(&x);
   TlFunc *f = make_func(&x, op, a, b, r, attrs);
   if (!f) {
      ir_close(&x);
      return false;
   }
   const TlDtype dtypes[] = {a, b, b};
   TlExecArg args[4];
   for (unsigned k = 0; k < 3; k++) {
      fill(dtypes[k], in[k], N);
      args[k] = buffer(in[k], (size_t)N * tl_dtype_info[dtypes[k]].bytes);
   }
   if (a == b) /* equal and near operands */
      for (unsigned i = 0; i < N; i += 5)
         memcpy(in[1] + i * tl_dtype_info[a].bytes, in[0] + i * tl_dtype_info[a].bytes,
                tl_dtype_info[a].bytes);
   args[3] = buffer(out, (size_t)N * tl_dtype_info[r].bytes);
   run(&x, f, args, 4, 1, 1, false);
   const TlOp *inst = f->body->block->first;
   while (inst->opcode != op || !inst->results[0].name || strcmp(inst->results[0].name, "v") != 0)
      inst = inst->next;
   for (unsigned i = 0; i < N; i++) {
      TlBits bits[3];
      for (unsigned k = 0; k < 3; k++)
         bits[k] = tl_load_elem(dtypes[k], in[k] + i * tl_dtype_info[dtypes[k]].bytes);
      TlBits want = tl_eval(op, inst->attrs, r, dtypes, bits, NULL);
      TlBits got = tl_load_elem(r, out + i * tl_dtype_info[r].bytes);
      if (got != want)
         fail_msg("%s%s %s -> %s of %llx, %llx, %llx: got %llx, tl_eval says %llx",
                  tl_op_info[op].text, attrs, tl_dtype_info[a].text, tl_dtype_info[r].text,
                  (unsigned long long)bits[0], (unsigned long long)bits[1],
                  (unsigned long long)bits[2], (unsigned long long)got, (unsigned long long)want);
   }
   ir_close(&x);
   return true;
}

static bool
has_attr(TlOpcode op, TlAttrKey key)
{
   for (unsigned i = 0; i < tl_op_info[op].num_attrs; i++)
      if (tl_op_info[op].attr[i].key == key)
         return true;
   return false;
}

static void
every_operation_equals_its_scalar_model(void **state)
{
   (void)state;
   unsigned ran = 0, ops = 0;
   for (unsigned o = 0; o < TL_OP_COUNT; o++) {
      TlOpcode op = (TlOpcode)o;
      unsigned before = ran;
      if (!(tl_op_info[o].traits & TL_TRAIT_ELTWISE) || op == TL_OP_ADDPTR || op == TL_OP_CAST ||
          op == TL_OP_BITCAST)
         continue;
      for (unsigned t = 0; t < TL_DTYPE_COUNT; t++) {
         TlDtype d = (TlDtype)t;
         if (op == TL_OP_SELECT) {
            ran += check_op(op, TL_I1, d, d, "");
            continue;
         }
         ran += check_op(op, d, d, d, "");
         if (d != TL_I1)
            ran += check_op(op, d, d, TL_I1, ""); /* comparisons */
         if (has_attr(op, TL_ATTR_NAN))
            ran += check_op(op, d, d, d, " {nan = all}");
      }
      assert_true(ran > before);
      ops++;
   }
   assert_true(ops > 35);
   assert_true(ran > 300);
}

static void
every_cast_equals_its_scalar_model(void **state)
{
   (void)state;
   for (unsigned a = 0; a < TL_DTYPE_COUNT; a++)
      for (unsigned b = 0; b < TL_DTYPE_COUNT; b++) {
         TlDtype from = (TlDtype)a, to = (TlDtype)b;
         assert_true(check_op(TL_OP_CAST, from, from, to, ""));
         if (tl_dtype_is_float(to) && tl_dtype_is_float(from))
            check_op(TL_OP_CAST, from, from, to, " {rounding = rtz}");
         if (tl_dtype_info[a].bits == tl_dtype_info[b].bits)
            assert_true(check_op(TL_OP_BITCAST, from, from, to, ""));
      }
}

/* All fp16 and bf16 patterns through fp32 and back, and every fp32 exponent down. */
static void
halves_convert_exactly(void **state)
{
   (void)state;
   for (unsigned k = 0; k < 2; k++) {
      TlDtype t = k ? TL_BF16 : TL_FP16;
      IrFixture x;
      ir_open(&x);
      TlFunc *widen = make_func(&x, TL_OP_CAST, t, t, TL_FP32, "");
      TlFunc *narrow = make_func(&x, TL_OP_CAST, TL_FP32, TL_FP32, t, "");
      static uint16_t half[N], back[N];
      static uint32_t wide[N];
      TlExecArg up[4] = {buffer(half, sizeof half), buffer(half, sizeof half),
                         buffer(half, sizeof half), buffer(wide, sizeof wide)};
      TlExecArg down[4] = {buffer(wide, sizeof wide), buffer(wide, sizeof wide),
                           buffer(wide, sizeof wide), buffer(back, sizeof back)};
      for (uint32_t first = 0; first < 65536; first += N) {
         for (uint32_t i = 0; i < N; i++)
            half[i] = (uint16_t)(first + i);
         run(&x, widen, up, 4, 1, 1, false);
         for (uint32_t i = 0; i < N; i++)
            assert_int_equal(wide[i], tl_cast_bits(t, TL_FP32, half[i], TL_ROUND_NEAREST_EVEN));
         for (uint32_t i = 0; i < N; i++) /* next to the value and to the midpoint above it */
            wide[i] += (uint32_t)(next() % 3) - 1 + (next() % 2 ? k ? 0x8000 : 0x1000 : 0);
         run(&x, narrow, down, 4, 1, 1, false);
         for (uint32_t i = 0; i < N; i++)
            assert_int_equal(back[i], tl_cast_bits(TL_FP32, t, wide[i], TL_ROUND_NEAREST_EVEN));
      }
      ir_close(&x);
   }
}

/* ---- dot ---- */
typedef struct DotCase {
   TlDtype in, acc;
   const char *precision;
   unsigned z, m, n, k; /* z 0: rank 2 */
   double bound;        /* relative L2 error against an exact sum of the inputs as they are */
} DotCase;

static TlFunc *
make_dot(IrFixture *x, const DotCase *c)
{
   const char *in = tl_dtype_info[c->in].text, *acc = tl_dtype_info[c->acc].text;
   const unsigned rows[] = {c->m, c->k, c->m}, columns[] = {c->k, c->n, c->n};
   const char *const names[] = {"a", "b", "c"}, *const types[] = {in, in, acc};
   unsigned z = c->z ? c->z : 1;
   TlSb sb;
   tl_sb_init(&sb, x->arena);
   tl_sb_printf(&sb, "func @f(%%a: ptr<%s>, %%b: ptr<%s>, %%c: ptr<%s>) {state = typed} {\n", in,
                in, acc);
   for (unsigned k = 0; k < 3; k++) {
      unsigned flat = z * rows[k] * columns[k];
      const char *shape = c->z ? tl_arena_printf(x->arena, "%ux%ux%u", z, rows[k], columns[k])
                               : tl_arena_printf(x->arena, "%ux%u", rows[k], columns[k]);
      const char *s = names[k], *t = types[k];
      tl_sb_printf(&sb, "   %%i%s = arange {end = %u} : tile<i32, %u>\n", s, flat, flat);
      tl_sb_printf(&sb, "   %%s%s = splat %%%s : tile<ptr<%s>, %u>\n", s, s, t, flat);
      tl_sb_printf(&sb, "   %%q%s = addptr %%s%s, %%i%s : tile<ptr<%s>, %u>\n", s, s, s, t, flat);
      tl_sb_printf(&sb, "   %%p%s = reshape %%q%s : tile<ptr<%s>, %s>\n", s, s, t, shape);
      tl_sb_printf(&sb, "   %%v%s = load %%p%s : tile<%s, %s>\n", s, s, t, shape);
      if (k == 2)
         tl_sb_printf(&sb, "   %%d = dot %%va, %%vb, %%vc {precision = %s} : tile<%s, %s>\n",
                      c->precision, t, shape);
   }
   tl_sb_str(&sb, "   store %pc, %d\n   return\n}\n");
   return ir_must_read(x, tl_sb_cstr(&sb));
}

static void
dot_is_within_its_bound(void **state)
{
   (void)state;
   static const DotCase cases[] = {
      {TL_FP16, TL_FP32, "tf32", 0, 64, 32, 64, 1e-7},
      {TL_FP16, TL_FP16, "tf32", 0, 16, 16, 128, 6e-4},
      {TL_BF16, TL_FP32, "tf32", 0, 32, 128, 32, 1e-7},
      {TL_FP32, TL_FP32, "ieee", 0, 16, 256, 512, 1e-7},
      {TL_FP32, TL_FP32, "tf32", 0, 128, 16, 64, 1e-3},
      {TL_FP32, TL_FP32, "tf32x3", 0, 32, 32, 64, 1e-6},
      {TL_FP32, TL_FP32, "bf16x3", 0, 32, 32, 64, 1e-4},
      {TL_FP32, TL_FP32, "bf16x6", 0, 32, 32, 64, 1e-6},
      {TL_FP64, TL_FP64, "ieee", 0, 16, 16, 32, 1e-14},
      {TL_FP8E4NV, TL_FP32, "tf32", 0, 16, 16, 64, 1e-7},
      {TL_FP8E5, TL_FP16, "tf32", 0, 16, 16, 32, 6e-4},
      {TL_I8, TL_I32, "tf32", 0, 16, 16, 64, 0},
      {TL_U8, TL_I32, "tf32", 0, 32, 16, 32, 0},
      {TL_FP16, TL_FP32, "tf32", 4, 16, 32, 16, 1e-7},
      {TL_BF16, TL_FP32, "tf32", 0, 1, 1, 16, 1e-7},
   };
   static uint8_t a[1 << 20], b[1 << 20], c[1 << 20], before[1 << 20];
   for (unsigned r = 0; r < sizeof cases / sizeof cases[0]; r++) {
      const DotCase *d = &cases[r];
      unsigned z = d->z ? d->z : 1, in_bytes = tl_dtype_info[d->in].bytes;
      unsigned acc_bytes = tl_dtype_info[d->acc].bytes;
      IrFixture x;
      ir_open(&x);
      TlFunc *f = make_dot(&x, d);
      bool ints = tl_dtype_is_int(d->in);
      for (unsigned i = 0; i < z * d->m * d->k; i++)
         tl_store_elem(d->in, a + i * in_bytes,
                       ints ? next() & 255
                            : tl_double_to_bits(d->in, unit(), TL_ROUND_NEAREST_EVEN));
      for (unsigned i = 0; i < z * d->k * d->n; i++)
         tl_store_elem(d->in, b + i * in_bytes,
                       ints ? next() & 255
                            : tl_double_to_bits(d->in, unit(), TL_ROUND_NEAREST_EVEN));
      for (unsigned i = 0; i < z * d->m * d->n; i++)
         tl_store_elem(d->acc, c + i * acc_bytes,
                       ints ? next() & 0xFFFFFF
                            : tl_double_to_bits(d->acc, unit(), TL_ROUND_NEAREST_EVEN));
      memcpy(before, c, sizeof c);
      TlExecArg args[] = {buffer(a, z * d->m * d->k * in_bytes),
                          buffer(b, z * d->k * d->n * in_bytes),
                          buffer(c, z * d->m * d->n * acc_bytes)};
      run(&x, f, args, 3, 1, 1, r % 2);
      double wrong = 0, size = 0;
      for (unsigned i = 0; i < z * d->m * d->n; i++) {
         unsigned batch = i / (d->m * d->n), row = i / d->n % d->m, column = i % d->n;
         long double sum = 0;
         for (unsigned k = 0; k < d->k; k++) {
            TlBits p = tl_load_elem(d->in, a + ((batch * d->m + row) * d->k + k) * in_bytes);
            TlBits q = tl_load_elem(d->in, b + ((batch * d->k + k) * d->n + column) * in_bytes);
            sum += ints ? (long double)(tl_bits_to_int(d->in, p) * tl_bits_to_int(d->in, q))
                        : (long double)tl_bits_to_double(d->in, p) * tl_bits_to_double(d->in, q);
         }
         TlBits old = tl_load_elem(d->acc, before + i * acc_bytes);
         TlBits now = tl_load_elem(d->acc, c + i * acc_bytes);
         sum += ints ? (long double)tl_bits_to_int(d->acc, old)
                     : (long double)tl_bits_to_double(d->acc, old);
         long double got = ints ? (long double)tl_bits_to_int(d->acc, now)
                                : (long double)tl_bits_to_double(d->acc, now);
         wrong += (double)((got - sum) * (got - sum));
         size += (double)(sum * sum);
      }
      double error = sqrt(wrong / size);
      if (error > d->bound)
         fail_msg("dot case %u (%s, %s): relative error %g, bound %g", r, tl_dtype_info[d->in].text,
                  d->precision, error, d->bound);
      if (strcmp(d->precision, "tf32") == 0 && d->in == TL_FP32)
         assert_true(error > 1e-5); /* tf32's rounding is visible */
      ir_close(&x);
   }
}

/* ---- folds ---- */
static const char *const fold_text =
   "func @f(%%a: ptr<i32>, %%r: ptr<i32>, %%k: i32) {state = typed} {\n"
   "   %%i = arange {end = 512} : tile<i32, 512>\n"
   "   %%s = splat %%a : tile<ptr<i32>, 512>\n"
   "   %%p = addptr %%s, %%i : tile<ptr<i32>, 512>\n"
   "   %%v = load %%p : tile<i32, 512>\n"
   "   %%t = reshape %%v : tile<i32, 8x16x4>\n"
   "   %%u, %%w = %s %%t, %%t {axis = %u%s} : %s, %s (%%x: i32, %%y: i32, %%z: i32, %%q: i32) {\n"
   "%s"
   "   }\n"
   "   %%f = reshape %%w : tile<i32, %u>\n"
   "   %%i2 = arange {end = %u} : tile<i32, %u>\n"
   "   %%s2 = splat %%r : tile<ptr<i32>, %u>\n"
   "   %%p2 = addptr %%s2, %%i2 : tile<ptr<i32>, %u>\n"
   "   store %%p2, %%f\n"
   "   return\n"
   "}\n";

/* (x, y) then (z, q): the affine maps u -> x * u + y composed: not commutative.  Plain, and with an
 * outer scalar and control flow (which keeps it from being batched). */
static const char *const affine = "      %m = mul %x, %z : i32\n"
                                  "      %n = mul %y, %z : i32\n"
                                  "      %o = add %n, %q : i32\n"
                                  "      yield %m, %o\n";
static const char *const branchy = "      %m = mul %x, %z : i32\n"
                                   "      %b = lt %k, %x : i1\n"
                                   "      %o = if %b : i32 {\n"
                                   "         %n = mul %y, %z : i32\n"
                                   "         %n2 = add %n, %q : i32\n"
                                   "         yield %n2\n"
                                   "      } else {\n"
                                   "         %n3 = mul %y, %z : i32\n"
                                   "         %n4 = add %q, %n3 : i32\n"
                                   "         yield %n4\n"
                                   "      }\n"
                                   "      yield %m, %o\n";

static void
folds_keep_order_along_every_axis(void **state)
{
   (void)state;
   static int32_t in[512], out[512];
   static const unsigned shape[] = {8, 16, 4};
   static const char *const reduced[] = {"tile<i32, 16x4>", "tile<i32, 8x4>", "tile<i32, 8x16>"};
   for (unsigned i = 0; i < 512; i++)
      in[i] = (int32_t)next();
   for (unsigned trial = 0; trial < 18; trial++) {
      unsigned axis = trial % 3, kind = trial / 3 % 3; /* reduce, scan, reverse scan */
      const char *body = trial < 9 ? affine : branchy;
      const char *type = kind ? "tile<i32, 8x16x4>" : reduced[axis];
      unsigned n = kind ? 512 : 512 / shape[axis];
      IrFixture x;
      ir_open(&x);
      const char *text =
         tl_arena_printf(x.arena, fold_text, kind ? "scan" : "reduce", axis,
                         kind == 2 ? ", reverse" : "", type, type, body, n, n, n, n, n);
      TlFunc *f = ir_must_read(&x, text);
      TlExecArg args[] = {buffer(in, sizeof in), buffer(out, n * 4), {.bits = 5}};
      run(&x, f, args, 3, 1, 1, trial % 2);
      unsigned inner = axis == 0 ? 64 : axis == 1 ? 4 : 1, len = shape[axis];
      for (unsigned rest = 0; rest < 512 / len; rest++) {
         unsigned base = rest / inner * len * inner + rest % inner;
         uint32_t p = 0, q = 0;
         for (unsigned l = 0; l < len; l++) {
            unsigned at = base + (kind == 2 ? len - 1 - l : l) * inner;
            uint32_t v = (uint32_t)in[at];
            q = l ? q * v + v : v;
            p = l ? p * v : v;
            if (kind && (uint32_t)out[at] != q)
               fail_msg("trial %u: element %u: got %d, want %d", trial, at, out[at], (int32_t)q);
         }
         if (!kind && (uint32_t)out[rest] != q)
            fail_msg("trial %u: element %u: got %d, want %d", trial, rest, out[rest], (int32_t)q);
      }
      ir_close(&x);
   }
}

/* ---- random functions ---- */
/* A float reduction's answer depends on the order, which the two evaluators choose differently. */
static bool
reduces_floats(const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = op->next) {
      if (op->opcode == TL_OP_REDUCE)
         for (unsigned i = 0; i < op->num_args; i++)
            if (tl_dtype_is_float(tl_type_elem(tl_arg(op, i)->type)->dtype))
               return true;
      for (unsigned r = 0; r < op->num_regions; r++)
         if (reduces_floats(op->regions[r]->block))
            return true;
   }
   return false;
}

static void
random_functions_agree_with_the_plain_evaluator(void **state)
{
   (void)state;
   unsigned compared = 0;
   for (uint64_t s = 1; s <= 300; s++) {
      IrFixture x;
      ir_open(&x);
      x.module = tl_module_new(x.arena, x.types, x.strings, &x.diags);
      TlFunc *f = gen_ir_func(
         x.module, s, (GenOptions){.num_ops = 20 + (unsigned)(s % 60), .ints_only = s % 3 == 0});
      if (reduces_floats(f->body->block)) {
         ir_close(&x);
         continue;
      }
      compared++;
      Run *want = tl_new(x.arena, Run), *got = tl_new(x.arena, Run);
      *want = (Run){.arena = tl_arena_new(&x.mem), .n = 48, .k = (int64_t)(s % 9)};
      *got = *want;
      run_ir_fill(want, s);
      run_ir_fill(got, s);
      if (!run_ir(want, f))
         fail_msg("seed %llu: %s", (unsigned long long)s, want->error);
      TlExecArg args[] = {buffer(got->in_i, sizeof got->in_i),
                          buffer(got->in_f, sizeof got->in_f),
                          buffer(got->out_i, sizeof got->out_i),
                          buffer(got->out_f, sizeof got->out_f),
                          {.bits = 48},
                          {.bits = s % 9}};
      run(&x, f, args, 6, 1, 1, false);
      if (!run_ir_same(want, got))
         fail_msg("seed %llu: results differ\n%s", (unsigned long long)s, ir_print(&x, x.module));
      tl_arena_free(want->arena);
      ir_close(&x);
   }
   assert_true(compared > 150);
}

int test_cpu_ops(void);
int
test_cpu_ops(void)
{
   printf("seed %llu\n", (unsigned long long)seed);
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operation_equals_its_scalar_model),
      cmocka_unit_test(every_cast_equals_its_scalar_model),
      cmocka_unit_test(halves_convert_exactly),
      cmocka_unit_test(dot_is_within_its_bound),
      cmocka_unit_test(folds_keep_order_along_every_axis),
      cmocka_unit_test(random_functions_agree_with_the_plain_evaluator),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
