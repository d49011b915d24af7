/* Every tile operation through layouts and lowering, on random shapes and warp counts, against
 * plain loops.  The seed of a failing case is printed with the kernel. */
#include "support/lowered_fixture.h"
#include "support/run_ir.h"

enum { TRIALS = 40 };

#define CHECK_EQ(k, seed, i, got, want)                                                            \
   do {                                                                                            \
      if ((got) != (want))                                                                         \
         fail_msg("seed %u: element %u is %lld, want %lld\n%s\n%s", seed, (unsigned)(i),           \
                  (long long)(got), (long long)(want), k_text(k),                                  \
                  ir_print(&(k)->x, (k)->x.module));                                               \
   } while (0)

/* Row-major index of element `flat` of `shape` after the coordinates are permuted back. */
static uint32_t
permuted(const uint32_t *shape, const unsigned *order, unsigned rank, uint32_t flat)
{
   uint32_t at[8], stride[8], out = 0;
   for (unsigned d = rank, s = 1; d-- > 0; s *= shape[d])
      stride[d] = s;
   uint32_t to[8];
   for (unsigned d = 0; d < rank; d++)
      to[d] = shape[order[d]];
   for (unsigned d = rank; d-- > 0; flat /= to[d])
      at[d] = flat % to[d];
   for (unsigned d = 0; d < rank; d++)
      out += at[d] * stride[order[d]];
   return out;
}

static void
transposes(void **state)
{
   static const char *const dtypes[] = {"i32", "fp16", "i8", "fp64"};
   static const TlDtype codes[] = {TL_I32, TL_FP16, TL_I8, TL_FP64};
   (void)state;
   for (unsigned seed = 0; seed < TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t shape[3], to[3];
      unsigned rank = 1 + k_below(&k, 3), which = k_below(&k, 4), order[3];
      uint32_t n = k_shape(&k, rank, k_below(&k, 13), shape);
      unsigned es = tl_dtype_info[codes[which]].bytes;
      uint8_t *x = k_buffer(&k, "x", codes[which], n), *y = k_buffer(&k, "y", codes[which], n);
      for (uint32_t i = 0; i < n * es; i++)
         x[i] = (uint8_t)k_below(&k, 256);
      for (unsigned d = 0; d < rank; d++)
         order[d] = d;
      for (unsigned d = rank; d > 1; d--) {
         unsigned j = k_below(&k, d), t = order[d - 1];
         order[d - 1] = order[j];
         order[j] = t;
      }
      for (unsigned d = 0; d < rank; d++)
         to[d] = shape[order[d]];
      k_load(&k, "v", "x", dtypes[which], rank, shape);
      k_line(&k, "%%w = trans %%v {order = [%u%s%s]} : %s", order[0],
             rank > 1 ? tl_arena_printf(k.x.arena, ", %u", order[1]) : "",
             rank > 2 ? tl_arena_printf(k.x.arena, ", %u", order[2]) : "",
             k_type(&k, dtypes[which], rank, to));
      k_store(&k, "w", "y", dtypes[which], rank, to);
      k_run(&k);
      for (uint32_t i = 0; i < n; i++)
         if (memcmp(y + i * es, x + permuted(shape, order, rank, i) * es, es) != 0)
            fail_msg("seed %u element %u\n%s", seed, i, k_text(&k));
      k_close(&k);
   }
}

static void
masked_accesses_stop_at_the_mask(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t n = 1u << k_below(&k, 12), limit = k_below(&k, n + 1);
      int32_t *x = k_buffer(&k, "x", TL_I32, limit ? limit : 1);
      int32_t *y = k_buffer(&k, "y", TL_I32, limit ? limit : 1);
      k_scalar(&k, "n", TL_I32, limit);
      for (uint32_t i = 0; i < limit; i++)
         x[i] = (int32_t)i * 3 + 1;
      const char *px = k_pointers(&k, "x", "i32", 1, &n), *py = k_pointers(&k, "y", "i32", 1, &n);
      const char *at = k_index(&k, 1, &n);
      k_line(&k, "%%nn = splat %%n : tile<i32, %u>", n);
      k_line(&k, "%%mask = lt %s, %%nn : tile<i1, %u>", at, n);
      k_line(&k, "%%zero = constant -7 : tile<i32, %u>", n);
      k_line(&k, "%%v = load %s, %%mask, %%zero : tile<i32, %u>", px, n);
      k_line(&k, "%%w = add %%v, %%v : tile<i32, %u>", n);
      k_line(&k, "store %s, %%w, %%mask", py);
      k_run(&k);
      for (uint32_t i = 0; i < limit; i++)
         CHECK_EQ(&k, seed, i, y[i], x[i] * 2);
      assert_true(k.stats.global_stores <= limit); /* never twice */
      k_close(&k);
   }
}

/* ---- reductions and scans ---- */
static void
reductions(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < 2 * TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t shape[3], out_shape[3];
      unsigned rank = 1 + k_below(&k, 3), axis = k_below(&k, rank), kind = k_below(&k, 4);
      uint32_t n = k_shape(&k, rank, k_below(&k, 13), shape), stride = 1;
      int32_t *x = k_buffer(&k, "x", TL_I32, n);
      int32_t *y = k_buffer(&k, "y", TL_I32, n / shape[axis]);
      for (uint32_t i = 0; i < n; i++)
         x[i] = (int32_t)k_below(&k, 2000) - 1000;
      for (unsigned d = axis + 1; d < rank; d++)
         stride *= shape[d];
      memcpy(out_shape, shape, sizeof shape);
      memmove(&out_shape[axis], &out_shape[axis + 1], (rank - axis - 1) * sizeof shape[0]);
      const char *out = rank > 1 ? k_type(&k, "i32", rank - 1, out_shape) : "i32";
      k_load(&k, "v", "x", "i32", rank, shape);
      k_line(&k, "%%s = reduce %%v {axis = %u} : %s (%%a: i32, %%b: i32) {", axis, out);
      if (kind == 0) {
         k_line(&k, "%%c = add %%a, %%b : i32");
      } else if (kind == 1) {
         k_line(&k, "%%c = max %%a, %%b : i32");
      } else if (kind == 2) { /* control flow */
         k_line(&k, "%%l = lt %%a, %%b : i1");
         k_line(&k, "%%c = if %%l : i32 {\n yield %%a\n } else {\n yield %%b\n }");
      } else { /* not commutative as written: the sign of what is equal decides */
         k_line(&k, "%%l = le %%b, %%a : i1");
         k_line(&k, "%%c = select %%l, %%b, %%a : i32");
      }
      k_line(&k, "yield %%c\n   }");
      if (rank > 1)
         k_store(&k, "s", "y", "i32", rank - 1, out_shape);
      else
         k_line(&k, "store %%y, %%s");
      k_run(&k);
      for (uint32_t i = 0; i < n / shape[axis]; i++) {
         uint32_t base = i / stride * stride * shape[axis] + i % stride;
         int32_t want = x[base];
         for (uint32_t j = 1; j < shape[axis]; j++) {
            int32_t v = x[base + j * stride];
            want = kind == 0 ? want + v : kind == 1 ? (v > want ? v : want) : v < want ? v : want;
         }
         CHECK_EQ(&k, seed, i, y[i], want);
      }
      k_close(&k);
   }
}

/* argmax with the lowest index: two values of different types, order matters. */
static void
reductions_of_pairs(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t shape[2] = {1u << k_below(&k, 6), 1u << k_below(&k, 7)}, n = shape[0] * shape[1];
      unsigned axis = k_below(&k, 2);
      uint32_t out = n / shape[axis], other[2];
      double *x = k_buffer(&k, "x", TL_FP64, n);
      int32_t *y = k_buffer(&k, "y", TL_I32, out);
      for (uint32_t i = 0; i < n; i++)
         x[i] = (double)k_below(&k, 9);
      k_load(&k, "v", "x", "fp64", 2, shape);
      other[0] = shape[axis];
      k_line(&k, "%%i = arange {end = %u} : tile<i32, %u>", shape[axis], shape[axis]);
      other[axis] = shape[axis];
      other[1 - axis] = 1;
      k_line(&k, "%%j = expand_dims %%i {axis = %u} : %s", 1 - axis, k_type(&k, "i32", 2, other));
      k_line(&k, "%%index = broadcast %%j : %s", k_type(&k, "i32", 2, shape));
      k_line(&k,
             "%%m, %%at = reduce %%v, %%index {axis = %u} : tile<fp64, %u>, tile<i32, %u> "
             "(%%a: fp64, %%ai: i32, %%b: fp64, %%bi: i32) {",
             axis, out, out);
      k_line(&k, "%%gt = gt %%a, %%b : i1");
      k_line(&k, "%%eq = eq %%a, %%b : i1");
      k_line(&k, "%%lt = lt %%ai, %%bi : i1");
      k_line(&k, "%%tie = and %%eq, %%lt : i1");
      k_line(&k, "%%left = or %%gt, %%tie : i1");
      k_line(&k, "%%c = select %%left, %%a, %%b : fp64");
      k_line(&k, "%%ci = select %%left, %%ai, %%bi : i32");
      k_line(&k, "yield %%c, %%ci\n   }");
      k_store(&k, "at", "y", "i32", 1, &out);
      k_run(&k);
      for (uint32_t i = 0; i < out; i++) {
         uint32_t want = 0;
         for (uint32_t j = 0; j < shape[axis]; j++) {
            double a = axis ? x[i * shape[1] + j] : x[j * shape[1] + i];
            double b = axis ? x[i * shape[1] + want] : x[want * shape[1] + i];
            want = a > b ? j : want;
         }
         CHECK_EQ(&k, seed, i, y[i], (int32_t)want);
      }
      k_close(&k);
   }
}

/* Composition of affine maps x -> a x + b: associative, not commutative; both directions. */
static void
scans(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < 2 * TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t shape[3], stride = 1;
      unsigned rank = 1 + k_below(&k, 3), axis = k_below(&k, rank), reverse = k_below(&k, 2);
      uint32_t n = k_shape(&k, rank, k_below(&k, 12), shape);
      uint32_t *a = k_buffer(&k, "a", TL_U32, n), *b = k_buffer(&k, "b", TL_U32, n);
      uint32_t *ya = k_buffer(&k, "ya", TL_U32, n), *yb = k_buffer(&k, "yb", TL_U32, n);
      for (uint32_t i = 0; i < n; i++) {
         a[i] = k_below(&k, 100) * 2 + 1;
         b[i] = k_below(&k, 1000);
      }
      for (unsigned d = axis + 1; d < rank; d++)
         stride *= shape[d];
      k_load(&k, "va", "a", "u32", rank, shape);
      k_load(&k, "vb", "b", "u32", rank, shape);
      const char *t = k_type(&k, "u32", rank, shape);
      k_line(&k,
             "%%sa, %%sb = scan %%va, %%vb {axis = %u%s} : %s, %s (%%pa: u32, %%pb: u32, "
             "%%na: u32, %%nb: u32) {",
             axis, reverse ? ", reverse" : "", t, t);
      k_line(&k, "%%nc = mul %%pa, %%na : u32");
      k_line(&k, "%%nd = mul %%na, %%pb : u32");
      k_line(&k, "%%ne = add %%nd, %%nb : u32");
      k_line(&k, "yield %%nc, %%ne\n   }");
      k_store(&k, "sa", "ya", "u32", rank, shape);
      k_store(&k, "sb", "yb", "u32", rank, shape);
      k_run(&k);
      for (uint32_t i = 0; i < n / shape[axis]; i++) {
         uint32_t base = i / stride * stride * shape[axis] + i % stride, ca = 1, cb = 0;
         for (uint32_t j = 0; j < shape[axis]; j++) {
            uint32_t at = base + (reverse ? shape[axis] - 1 - j : j) * stride;
            cb = a[at] * cb + b[at];
            ca *= a[at];
            CHECK_EQ(&k, seed, at, ya[at], ca);
            CHECK_EQ(&k, seed, at, yb[at], cb);
         }
      }
      k_close(&k);
   }
}

/* ---- run-time positions ---- */
static void
gathers(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t src[2] = {1u << k_below(&k, 6), 1u << k_below(&k, 6)}, idx[2];
      unsigned axis = k_below(&k, 2);
      idx[0] = src[0];
      idx[1] = src[1];
      idx[axis] = 1u << k_below(&k, 7);
      uint32_t n = src[0] * src[1], m = idx[0] * idx[1];
      int16_t *x = k_buffer(&k, "x", TL_I16, n), *y = k_buffer(&k, "y", TL_I16, m);
      int32_t *index = k_buffer(&k, "i", TL_I32, m);
      for (uint32_t i = 0; i < n; i++)
         x[i] = (int16_t)k_below(&k, 60000);
      for (uint32_t i = 0; i < m; i++)
         index[i] = (int32_t)k_below(&k, src[axis]);
      k_load(&k, "v", "x", "i16", 2, src);
      k_load(&k, "at", "i", "i32", 2, idx);
      k_line(&k, "%%g = gather %%v, %%at {axis = %u} : %s", axis, k_type(&k, "i16", 2, idx));
      k_store(&k, "g", "y", "i16", 2, idx);
      k_run(&k);
      for (uint32_t i = 0; i < m; i++) {
         uint32_t r = i / idx[1], c = i % idx[1];
         uint32_t from = axis ? r * src[1] + (uint32_t)index[i] : (uint32_t)index[i] * src[1] + c;
         CHECK_EQ(&k, seed, i, y[i], x[from]);
      }
      k_close(&k);
   }
}

static void
histograms(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t n = 1u << k_below(&k, 12), bins = 1u << k_below(&k, 8), limit = k_below(&k, n + 1);
      uint8_t *x = k_buffer(&k, "x", TL_U8, n);
      int32_t *y = k_buffer(&k, "y", TL_I32, bins), want[256] = {0};
      bool masked = k_below(&k, 2);
      for (uint32_t i = 0; i < n; i++) {
         x[i] = (uint8_t)k_below(&k, bins + (masked ? 3 : 0));
         if ((!masked || i < limit) && x[i] < bins)
            want[x[i]]++;
      }
      k_load(&k, "v", "x", "u8", 1, &n);
      const char *at = k_index(&k, 1, &n);
      k_line(&k, "%%n = constant %u : tile<i32, %u>", limit, n);
      k_line(&k, "%%m = lt %s, %%n : tile<i1, %u>", at, n);
      k_line(&k, "%%h = histogram %%v%s {bins = %u} : tile<i32, %u>", masked ? ", %m" : "", bins,
             bins);
      k_store(&k, "h", "y", "i32", 1, &bins);
      k_run(&k);
      for (uint32_t i = 0; i < bins; i++)
         CHECK_EQ(&k, seed, i, y[i], want[i]);
      k_close(&k);
   }
}

/* ---- pairs ---- */
static void
joins_and_splits(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t shape[3];
      unsigned rank = 1 + k_below(&k, 2);
      uint32_t n = k_shape(&k, rank, k_below(&k, 11), shape);
      int32_t *x = k_buffer(&k, "x", TL_I32, n), *y = k_buffer(&k, "y", TL_I32, n);
      int32_t *z = k_buffer(&k, "z", TL_I32, 2 * n), *u = k_buffer(&k, "u", TL_I32, n);
      for (uint32_t i = 0; i < n; i++) {
         x[i] = (int32_t)i;
         y[i] = -(int32_t)i - 1;
      }
      k_load(&k, "a", "x", "i32", rank, shape);
      k_load(&k, "b", "y", "i32", rank, shape);
      shape[rank] = 2;
      const char *two = k_type(&k, "i32", rank + 1, shape), *one = k_type(&k, "i32", rank, shape);
      k_line(&k, "%%j = join %%a, %%b : %s", two);
      k_store(&k, "j", "z", "i32", rank + 1, shape);
      k_load(&k, "again", "z", "i32", rank + 1, shape); /* laid out for memory, not for split */
      k_line(&k, "%%sum = add %%again, %%j : %s", two);
      k_line(&k, "%%l, %%r = split %%j : %s, %s", one, one);
      k_line(&k, "%%d = sub %%r, %%l : %s", one);
      k_store(&k, "d", "u", "i32", rank, shape);
      k_run(&k);
      for (uint32_t i = 0; i < n; i++) {
         CHECK_EQ(&k, seed, i, z[2 * i], x[i]);
         CHECK_EQ(&k, seed, i, z[2 * i + 1], y[i]);
         CHECK_EQ(&k, seed, i, u[i], y[i] - x[i]);
      }
      k_close(&k);
   }
}

static void
splits_of_loaded_tiles_and_cats(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t n = 1u << k_below(&k, 10), shape[2] = {n, 2}, twice = 2 * n;
      int32_t *x = k_buffer(&k, "x", TL_I32, twice), *y = k_buffer(&k, "y", TL_I32, twice);
      for (uint32_t i = 0; i < twice; i++)
         x[i] = (int32_t)k_below(&k, 10000);
      k_load(&k, "v", "x", "i32", 2, shape);
      k_line(&k, "%%l, %%r = split %%v : tile<i32, %u>, tile<i32, %u>", n, n);
      k_line(&k, "%%c = cat %%r, %%l : tile<i32, %u>", twice);
      k_store(&k, "c", "y", "i32", 1, &twice);
      k_run(&k);
      for (uint32_t i = 0; i < n; i++) {
         CHECK_EQ(&k, seed, i, y[i], x[2 * i + 1]);
         CHECK_EQ(&k, seed, i, y[n + i], x[2 * i]);
      }
      k_close(&k);
   }
}

static void
scalars_in_tiles(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < 4; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t two = 2;
      int32_t *y = k_buffer(&k, "y", TL_I32, 4);
      k_scalar(&k, "a", TL_I32, 11);
      k_scalar(&k, "b", TL_I32, 22);
      k_line(&k, "%%j = join %%a, %%b : tile<i32, 2>");
      k_store(&k, "j", "y", "i32", 1, &two);
      k_load(&k, "v", "y", "i32", 1, &two);
      k_line(&k, "%%l, %%r = split %%j : i32, i32");
      k_line(&k, "%%d = sub %%r, %%l : i32");
      k_line(&k, "%%t = reshape %%d : tile<i32, 1>");
      k_line(&k, "%%u = reshape %%t : i32");
      k_line(&k, "%%two = constant 2 : i32");
      k_line(&k, "%%p = addptr %%y, %%two : ptr<i32>");
      k_line(&k, "store %%p, %%u");
      k_run(&k);
      assert_int_equal(y[0], 11);
      assert_int_equal(y[1], 22);
      assert_int_equal(y[2], 11);
      k_close(&k);
   }
}

/* ---- atomics ---- */
static void
atomics_happen_once(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t n = 1u << k_below(&k, 10), limit = k_below(&k, n + 1);
      int32_t *x = k_buffer(&k, "x", TL_I32, n), *y = k_buffer(&k, "y", TL_I32, n);
      int32_t *c = k_buffer(&k, "c", TL_I32, 2);
      for (uint32_t i = 0; i < n; i++)
         x[i] = (int32_t)i * 10;
      const char *p = k_pointers(&k, "x", "i32", 1, &n), *at = k_index(&k, 1, &n);
      k_line(&k, "%%one = constant 1 : tile<i32, %u>", n);
      k_line(&k, "%%n = constant %u : tile<i32, %u>", limit, n);
      k_line(&k, "%%m = lt %s, %%n : tile<i1, %u>", at, n);
      k_line(&k, "%%old = atomic_rmw %s, %%one, %%m : tile<i32, %u>", p, n);
      k_line(&k, "%%zero = constant : tile<i32, %u>", n);
      k_line(&k, "%%kept = select %%m, %%old, %%zero : tile<i32, %u>", n);
      k_store(&k, "kept", "y", "i32", 1, &n);
      k_line(&k, "%%five = constant 5 : i32");
      k_line(&k, "%%before = atomic_rmw %%c, %%five : i32");
      k_line(&k, "%%before2 = atomic_cas %%c, %%five, %%before : i32");
      k_line(&k, "%%sum = add %%before2, %%before : i32");
      k_line(&k, "%%i1 = constant 1 : i32");
      k_line(&k, "%%c1 = addptr %%c, %%i1 : ptr<i32>");
      k_line(&k, "store %%c1, %%sum");
      c[0] = 0;
      k_run(&k);
      for (uint32_t i = 0; i < n; i++) {
         CHECK_EQ(&k, seed, i, x[i], (int32_t)(i * 10 + (i < limit)));
         CHECK_EQ(&k, seed, i, y[i], i < limit ? (int32_t)i * 10 : 0);
      }
      assert_int_equal(c[0], 0); /* 0 + 5, exchanged for the old 0 */
      assert_int_equal(c[1], 5);
      k_close(&k);
   }
}

/* ---- map, print, assert ---- */
static void
maps_run_for_each_element(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t n = 1u << (1 + k_below(&k, 10));
      unsigned pack = 1 + k_below(&k, 2);
      int32_t *x = k_buffer(&k, "x", TL_I32, n), *y = k_buffer(&k, "y", TL_I32, n);
      for (uint32_t i = 0; i < n; i++)
         x[i] = (int32_t)k_below(&k, 20) - 10;
      k_load(&k, "v", "x", "i32", 1, &n);
      if (pack == 1) {
         k_line(&k, "%%w = map %%v : tile<i32, %u> (%%a: i32) {", n);
         k_line(&k, "%%z = constant : i32\n %%l = lt %%a, %%z : i1");
         k_line(
            &k,
            "%%c = if %%l : i32 {\n %%q = neg %%a : i32\n yield %%q\n } else {\n yield %%a\n }");
         k_line(&k, "yield %%c\n   }");
      } else {
         k_line(&k, "%%w = map %%v {pack = 2} : tile<i32, %u> (%%a: i32, %%b: i32) {", n);
         k_line(&k, "%%c = abs %%a : i32\n %%d = abs %%b : i32");
         k_line(&k, "yield %%c, %%d\n   }");
      }
      k_store(&k, "w", "y", "i32", 1, &n);
      k_run(&k);
      for (uint32_t i = 0; i < n; i++)
         CHECK_EQ(&k, seed, i, y[i], x[i] < 0 ? -x[i] : x[i]);
      k_close(&k);
   }
}

static void
prints_once_for_each_element(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < 12; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t n = 1u << k_below(&k, 10);
      const char *at = k_index(&k, 1, &n);
      k_line(&k, "device_print %s {text = \"at\"}", at);
      k_run(&k);
      assert_int_equal(k.stats.prints, n);
      k_close(&k);
   }
}

static void
every_operand_prints_its_elements(void **state)
{
   (void)state;
   Kernel k;
   k_open(&k, 3);
   uint32_t n = 64, m = 16;
   const char *a = k_index(&k, 1, &n), *b = k_index(&k, 1, &m);
   k_scalar(&k, "s", TL_I32, 9);
   k_line(&k, "device_print %s, %%s, %s, %s {text = \"both\"}", a, a, b);
   k_line(&k, "device_print {text = \"none\"}");
   k_run(&k);
   assert_int_equal(k.stats.prints, n + 1 + n + m + 1);
   k_close(&k);
}

/* ---- loops ---- */
static void
carried_pointers_and_sums(void **state)
{
   (void)state;
   for (unsigned seed = 0; seed < TRIALS; seed++) {
      Kernel k;
      k_open(&k, seed);
      uint32_t shape[2] = {1u << k_below(&k, 5), 1u << k_below(&k, 6)};
      uint32_t n = shape[0] * shape[1], steps = k_below(&k, 4);
      int32_t *x = k_buffer(&k, "x", TL_I32, n * (steps + 1)), *y = k_buffer(&k, "y", TL_I32, n);
      int32_t *z = k_buffer(&k, "z", TL_I32, shape[0]);
      k_scalar(&k, "steps", TL_I32, steps);
      for (uint32_t i = 0; i < n * (steps + 1); i++)
         x[i] = (int32_t)k_below(&k, 1000);
      const char *p = k_pointers(&k, "x", "i32", 2, shape);
      const char *t = k_type(&k, "i32", 2, shape), *pt = k_type(&k, "ptr<i32>", 2, shape);
      k_line(&k, "%%zero = constant : %s", t);
      k_line(&k, "%%rows = constant : tile<i32, %u>", shape[0]);
      k_line(&k, "%%lo = constant : i32\n %%st = constant 1 : i32");
      k_line(&k, "%%step = constant %u : %s", n, t);
      k_line(&k,
             "%%sum, %%ptr, %%row = for %%i = %%lo to %%steps step %%st "
             "iter(%%acc = %%zero, %%q = %s, %%r = %%rows) : %s, %s, tile<i32, %u> {",
             p, t, pt, shape[0]);
      k_line(&k, "%%v = load %%q : %s", t);
      k_line(&k, "%%next = add %%acc, %%v : %s", t);
      k_line(&k,
             "%%rs = reduce %%v {axis = 1} : tile<i32, %u> (%%a: i32, %%b: i32) {\n"
             " %%c = max %%a, %%b : i32\n yield %%c\n }",
             shape[0]);
      k_line(&k, "%%higher = max %%r, %%rs : tile<i32, %u>", shape[0]);
      k_line(&k, "%%advanced = addptr %%q, %%step : %s", pt);
      k_line(&k, "yield %%next, %%advanced, %%higher\n   }");
      k_store(&k, "sum", "y", "i32", 2, shape);
      k_store(&k, "row", "z", "i32", 1, shape);
      k_run(&k);
      for (uint32_t i = 0; i < n; i++) {
         int32_t want = 0;
         for (uint32_t s = 0; s < steps; s++)
            want += x[s * n + i];
         CHECK_EQ(&k, seed, i, y[i], want);
      }
      for (uint32_t r = 0; r < shape[0]; r++) {
         int32_t want = 0;
         for (uint32_t s = 0; s < steps; s++)
            for (uint32_t c = 0; c < shape[1]; c++)
               want = x[s * n + r * shape[1] + c] > want ? x[s * n + r * shape[1] + c] : want;
         CHECK_EQ(&k, seed, r, z[r], want);
      }
      k_close(&k);
   }
}

/* ---- random functions ---- */
static LoweredArg
aligned_copy(Kernel *k, const void *from, size_t bytes, uint32_t low_bits)
{
   char *p = tl_arena_alloc(k->x.arena, bytes + 8192);
   p += (4096 - (uintptr_t)p % 4096) + (low_bits & 0xfff);
   memcpy(p, from, bytes);
   return (LoweredArg){.data = p, .bytes = bytes};
}

/* Integers only: floats would be summed in another order. */
static void
random_functions_keep_their_meaning(void **state)
{
   (void)state;
   for (uint64_t seed = 0; seed < 150; seed++) {
      Kernel k;
      k_open(&k, seed);
      TlFunc *f = gen_ir_func(k.x.module, seed, (GenOptions){.num_ops = 40, .ints_only = true});
      f->num_warps = k.warps;
      Run *want = tl_new(k.x.arena, Run), *got = tl_new(k.x.arena, Run);
      want->arena = k.x.arena;
      want->n = 48;
      want->k = (int64_t)(seed % 5);
      run_ir_fill(want, seed);
      *got = *want;
      k.args[0] = aligned_copy(&k, want->in_i, sizeof want->in_i, RUN_IN_I);
      k.args[1] = aligned_copy(&k, want->in_f, sizeof want->in_f, RUN_IN_F);
      k.args[2] = aligned_copy(&k, want->out_i, sizeof want->out_i, RUN_OUT_I);
      k.args[3] = aligned_copy(&k, want->out_f, sizeof want->out_f, RUN_OUT_F);
      k.args[4] = (LoweredArg){.bits = (TlBits)want->n};
      k.args[5] = (LoweredArg){.bits = (TlBits)want->k};
      assert_true(run_ir(want, f));
      TlPassCx cx = k_context(&k);
      if (!tl_pipeline_laid(&cx, f) || !tl_pipeline_lowered(&cx, f))
         fail_msg("seed %u: %s", (unsigned)seed, ir_messages(&k.x));
      const char *error = lowered_run(k.scratch, f, k.args, 6, k.grid, &k.stats);
      if (error)
         fail_msg("seed %u: %s\n%s", (unsigned)seed, error, ir_print(&k.x, k.x.module));
      memcpy(got->out_i, k.args[2].data, sizeof got->out_i);
      memcpy(got->out_f, k.args[3].data, sizeof got->out_f);
      if (!run_ir_same(want, got))
         fail_msg("seed %u: results differ\n%s", (unsigned)seed, ir_print(&k.x, k.x.module));
      k_close(&k);
   }
}

static void
check_text_reads_back(Kernel *k, uint64_t seed, const char *state)
{
   const char *text = ir_print(&k->x, k->x.module);
   TlModule *printed = k->x.module;
   if (!ir_read(&k->x, text))
      fail_msg("seed %u, %s: %s\n%s", (unsigned)seed, state, ir_messages(&k->x), text);
   assert_string_equal(ir_print(&k->x, k->x.module), text);
   k->x.module = printed;
}

static void
random_functions_read_back_in_every_state(void **state)
{
   (void)state;
   for (uint64_t seed = 1000; seed < 1060; seed++) {
      Kernel k;
      k_open(&k, seed);
      TlFunc *f = gen_ir_func(k.x.module, seed, (GenOptions){.num_ops = 40});
      f->num_warps = k.warps;
      check_text_reads_back(&k, seed, "typed");
      TlPassCx cx = k_context(&k);
      assert_true(tl_pipeline_laid(&cx, f));
      check_text_reads_back(&k, seed, "laid");
      assert_true(tl_pipeline_lowered(&cx, f));
      check_text_reads_back(&k, seed, "lowered");
      k_close(&k);
   }
}

/* ---- limits ---- */
static void
too_large_is_a_located_error(void **state)
{
   (void)state;
   Kernel k;
   k_open(&k, 1);
   k.warps = 1;
   uint32_t n = 1 << 16;
   k_buffer(&k, "x", TL_I32, 16);
   k_load(&k, "v", "x", "i32", 1, &n);
   k_line(&k, "%%id = sreg {sreg = smid} : i32"); /* such kernels keep the number of warps */
   k_line(&k, "%%ids = splat %%id : %s", k_type(&k, "i32", 1, &n));
   k_line(&k, "%%sum = add %%v, %%ids : %s", k_type(&k, "i32", 1, &n));
   k_store(&k, "sum", "x", "i32", 1, &n);
   assert_null(k_lower(&k));
   assert_non_null(strstr(ir_messages(&k.x), "E0403"));
   assert_non_null(strstr(ir_messages(&k.x), "2048 registers in each of 32 threads"));
   k_close(&k);

   k_open(&k, 1);
   k.warps = 8;
   uint32_t shape[2] = {256, 512}, turned[2] = {512, 256}; /* 512 KiB through shared memory */
   k_buffer(&k, "x", TL_FP64, 16);
   k_load(&k, "v", "x", "fp64", 2, shape);
   k_line(&k, "%%i = constant : %s", k_type(&k, "i32", 2, turned));
   k_line(&k, "%%t = reshape %%v : %s", k_type(&k, "fp64", 2, turned));
   k_line(&k, "%%g = gather %%t, %%i {axis = 0} : %s", k_type(&k, "fp64", 2, turned));
   k_store(&k, "g", "x", "fp64", 2, turned);
   assert_null(k_lower(&k));
   assert_non_null(strstr(ir_messages(&k.x), "E0406"));
   assert_non_null(strstr(ir_messages(&k.x), "(227 KiB) on " LOWERED_ARCH));
   k_close(&k);
}

int test_lowered(void);
int
test_lowered(void)
{
   static const struct CMUnitTest tests[] = {
      cmocka_unit_test(transposes),
      cmocka_unit_test(masked_accesses_stop_at_the_mask),
      cmocka_unit_test(reductions),
      cmocka_unit_test(reductions_of_pairs),
      cmocka_unit_test(scans),
      cmocka_unit_test(gathers),
      cmocka_unit_test(histograms),
      cmocka_unit_test(joins_and_splits),
      cmocka_unit_test(splits_of_loaded_tiles_and_cats),
      cmocka_unit_test(scalars_in_tiles),
      cmocka_unit_test(atomics_happen_once),
      cmocka_unit_test(maps_run_for_each_element),
      cmocka_unit_test(prints_once_for_each_element),
      cmocka_unit_test(every_operand_prints_its_elements),
      cmocka_unit_test(carried_pointers_and_sums),
      cmocka_unit_test(random_functions_keep_their_meaning),
      cmocka_unit_test(random_functions_read_back_in_every_state),
      cmocka_unit_test(too_large_is_a_located_error),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
