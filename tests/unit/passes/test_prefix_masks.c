/* Vectors that a mask cuts: loads and stores of rows that end anywhere, against what each element's
 * own comparison says, in every form of bound and at the ends of the integers. */
#include "support/lowered_fixture.h"

#include "ir/walk.h"

int test_prefix_masks(void);

enum { ROWS = 4, COLS = 64, POISON = 0x5a };

typedef struct Form {
   const char *dtype;
   TlDtype in;
   const char *compare; /* index and limit, in their order */
   bool is_swapped, is_closed;
   const char *itype;
   TlDtype index;
} Form;

static const struct Compare {
   const char *text;
   bool is_swapped, is_closed;
} compares[] = {{"lt", false, false}, {"le", false, true}, {"gt", true, false}, {"ge", true, true}};

static const struct Element {
   const char *text;
   TlDtype dtype;
} elements[] = {{"fp16", TL_FP16}, {"i8", TL_I8}, {"bf16", TL_BF16}, {"fp32", TL_FP32}};

static const struct Index {
   const char *text;
   TlDtype dtype;
   int64_t least, most;
} indices[] = {{"i32", TL_I32, INT32_MIN, INT32_MAX},
               {"i64", TL_I64, INT64_MIN, INT64_MAX},
               {"u32", TL_U32, 0, UINT32_MAX},
               {"i16", TL_I16, INT16_MIN, INT16_MAX}};

/* x where from + column is inside and the row is below 3, else -1; y: the same stored there. */
static void
write_copy(Kernel *k, const Form *f)
{
   k_line(k, "%%ri = arange {end = 4} : tile<i32, 4>\n   %%ci = arange {end = 64} : tile<i32, 64>");
   k_line(k, "%%r = expand_dims %%ri {axis = 1} : tile<i32, 4x1>");
   k_line(k, "%%c = expand_dims %%ci {axis = 0} : tile<i32, 1x64>");
   k_line(k, "%%pitch = constant 64 : tile<i32, 4x1>\n   %%three = constant 3 : tile<i32, 4x1>");
   k_line(k, "%%o1 = mul %%r, %%pitch : tile<i32, 4x1>");
   k_line(k, "%%o2 = broadcast %%o1 : tile<i32, 4x64>\n   %%o3 = broadcast %%c : tile<i32, 4x64>");
   k_line(k, "%%o = add %%o2, %%o3 : tile<i32, 4x64>");
   const char *t = f->itype, *dt = f->dtype;
   if (strcmp(t, "i32") != 0)
      k_line(k, "%%cx = cast %%c : tile<%s, 1x64>", t);
   k_line(k, "%%from_t = splat %%from : tile<%s, 1x64>\n   %%n_t = splat %%n : tile<%s, 1x64>", t,
          t);
   k_line(k, "%%at = add %%%s, %%from_t : tile<%s, 1x64>", strcmp(t, "i32") ? "cx" : "c", t);
   k_line(k, "%%in1 = %s %%%s, %%%s : tile<i1, 1x64>", f->compare, f->is_swapped ? "n_t" : "at",
          f->is_swapped ? "at" : "n_t");
   k_line(k, "%%row1 = lt %%r, %%three : tile<i1, 4x1>");
   k_line(
      k, "%%in2 = broadcast %%in1 : tile<i1, 4x64>\n   %%row2 = broadcast %%row1 : tile<i1, 4x64>");
   k_line(k, "%%in = and %%in2, %%row2 : tile<i1, 4x64>");
   const char *names[] = {"x", "y", "z"};
   for (unsigned i = 0; i < 3; i++) {
      k_line(k, "%%%s0 = splat %%%s : tile<ptr<%s>, 4x64>", names[i], names[i], dt);
      k_line(k, "%%%s1 = addptr %%%s0, %%o : tile<ptr<%s>, 4x64>", names[i], names[i], dt);
   }
   k_line(k, "%%other = constant %s : tile<%s, 4x64>", tl_dtype_is_float(f->in) ? "-1.0" : "-1",
          dt);
   k_line(k, "%%v = load %%x1, %%in, %%other : tile<%s, 4x64>\n   store %%y1, %%v, %%in", dt);
   k_line(k, "store %%z1, %%v");
}

static unsigned
num_partial(const TlFunc *f)
{
   const TlBlock *body = f->body->block;
   unsigned n = 0;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      n += tl_is_partial(op);
   return n;
}

static TlBits
number(TlDtype t, int64_t v)
{
   return tl_dtype_is_float(t) ? tl_double_to_bits(t, (double)v, TL_ROUND_NEAREST_EVEN)
                               : tl_int_to_bits(t, v);
}

static void
copy(const Form *f, int64_t from, int64_t n, unsigned warps)
{
   Kernel k;
   k_open(&k, 1);
   k.warps = warps;
   unsigned es = tl_dtype_info[f->in].bytes;
   uint8_t *x = k_buffer(&k, "x", f->in, ROWS * COLS), *y = k_buffer(&k, "y", f->in, ROWS * COLS),
           *z = k_buffer(&k, "z", f->in, ROWS * COLS), other[8];
   for (unsigned i = 0; i < ROWS * COLS; i++)
      tl_store_elem(f->in, x + i * es, number(f->in, i % 100 + 1));
   memset(y, POISON, ROWS * COLS * es);
   tl_store_elem(f->in, other, number(f->in, -1));
   k_scalar(&k, "from", f->index, tl_int_to_bits(f->index, from));
   k_scalar(&k, "n", f->index, tl_int_to_bits(f->index, n));
   write_copy(&k, f);
   TlFunc *func = k_run(&k);
   for (unsigned i = 0; i < ROWS * COLS; i++) {
      int64_t at = from + i % COLS;
      bool in = i / COLS < 3 && (at < n || (f->is_closed && at == n));
      bool has_y = in ? !memcmp(y + i * es, x + i * es, es) : y[i * es] == POISON;
      if (!has_y || memcmp(z + i * es, in ? x + i * es : other, es))
         fail_msg("%s %s: element %u from %lld to %lld by %u warps\n%s", f->dtype, f->compare, i,
                  (long long)from, (long long)n, warps, ir_print(&k.x, k.x.module));
   }
   /* A thread's elements fill 4 bytes, and unsigned numbers may wrap between two of them. */
   bool is_cut = es * (8 / warps) >= 4 && es < 4 && tl_dtype_is_signed(f->index);
   if (num_partial(func) != 2 * is_cut)
      fail_msg("%u partial accesses\n%s", num_partial(func), ir_print(&k.x, k.x.module));
   k_close(&k);
}

/* One in how many of the bounds each form takes, its own. */
#ifdef TL_INSTRUMENTED
enum { ONE_IN = 4 };
#else
enum { ONE_IN = 1 };
#endif

static void
every_bound(void **state)
{
   (void)state;
   static const int64_t ends[] = {-9, -1, 0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 70};
   enum { NUM_ENDS = sizeof ends / sizeof ends[0] };
   for (unsigned e = 0; e < 4; e++)
      for (unsigned c = 0; c < 4; c++)
         for (unsigned i = 0; i < 4; i++)
            for (unsigned n = (e + c + i) % ONE_IN; n < NUM_ENDS + 2; n += ONE_IN) {
               Form f = {elements[e].text,       elements[e].dtype,     compares[c].text,
                         compares[c].is_swapped, compares[c].is_closed, indices[i].text,
                         indices[i].dtype};
               int64_t from = n % 3 == 0   ? 0
                              : n % 3 == 1 ? indices[i].least + 16 * (i == 2)
                                           : indices[i].most - COLS;
               int64_t end = n == NUM_ENDS ? indices[i].least : indices[i].most;
               bool fits = n >= NUM_ENDS || (!__builtin_add_overflow(from, ends[n], &end) &&
                                             end >= indices[i].least && end <= indices[i].most);
               copy(&f, from, fits ? end : from, 1u << (e + c + i + n) % 3);
            }
}

int
test_prefix_masks(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(every_bound)};
   return cmocka_run_group_tests_name("prefix_masks", tests, NULL, NULL);
}
