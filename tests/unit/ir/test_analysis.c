/* The analysis: known patterns give the facts that vectorisation needs, and on random programs no
 * claimed fact is ever false (as long as nothing signed overflows and nothing is divided by zero,
 * which is its assumption). */
#include "support/ir_fixture.h"

#include "ir/analysis.h"
#include "support/run_ir.h"

int test_analysis(void);

static const TlValue *
find_in(const TlBlock *block, const char *name)
{
   for (unsigned i = 0; i < block->num_args; i++)
      if (block->args[i]->name && strcmp(block->args[i]->name, name) == 0)
         return block->args[i];
   for (const TlOp *op = block->first; op; op = op->next) {
      for (unsigned i = 0; i < op->num_results; i++)
         if (op->results[i].name && strcmp(op->results[i].name, name) == 0)
            return &op->results[i];
      for (unsigned r = 0; r < op->num_regions; r++) {
         const TlValue *v = find_in(op->regions[r]->block, name);
         if (v)
            return v;
      }
   }
   return NULL;
}

static TlAxisInfo
info_of(TlAnalysis *a, const TlFunc *f, const char *name)
{
   const TlValue *v = find_in(f->body->block, name);
   assert_non_null(v);
   return *tl_axis_info(a, v);
}

static void
vector_add_is_vectorisable(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlFunc *f = ir_must_read(
      &x, "func @add(%x: ptr<fp16> {div = 16}, %n: i32 {div = 16}, %odd: i32) {state = typed} {\n"
          "   %pid = program_id {axis = 0} : i32\n"
          "   %block = constant 1024 : i32\n"
          "   %start = mul %pid, %block : i32\n"
          "   %0 = splat %start : tile<i32, 1024>\n"
          "   %1 = arange {end = 1024} : tile<i32, 1024>\n"
          "   %offs = add %0, %1 : tile<i32, 1024>\n"
          "   %2 = splat %n : tile<i32, 1024>\n"
          "   %mask = lt %offs, %2 : tile<i1, 1024>\n"
          "   %3 = splat %odd : tile<i32, 1024>\n"
          "   %mask2 = lt %offs, %3 : tile<i1, 1024>\n"
          "   %4 = splat %x : tile<ptr<fp16>, 1024>\n"
          "   %p = addptr %4, %offs : tile<ptr<fp16>, 1024>\n"
          "   %wrapped = rem %offs, %2 : tile<i32, 1024>\n"
          "   %five = constant 64 : tile<i32, 1024>\n"
          "   %row = div %offs, %five : tile<i32, 1024>\n"
          "   return\n"
          "}\n");
   TlAnalysis *a = tl_analysis_new(x.arena, f);
   TlAxisInfo offs = info_of(a, f, "offs"), p = info_of(a, f, "p");
   assert_int_equal(offs.contiguity[0], 1024);
   assert_int_equal(offs.divisibility[0], 1024);
   assert_true(offs.has_range && offs.lo == 0);
   assert_int_equal(p.contiguity[0], 1024);
   assert_int_equal(p.divisibility[0], 16);
   assert_int_equal(info_of(a, f, "mask").constancy[0], 16);
   assert_int_equal(info_of(a, f, "mask2").constancy[0], 1);
   assert_int_equal(info_of(a, f, "wrapped").contiguity[0], 16);
   assert_int_equal(info_of(a, f, "wrapped").divisibility[0], 16);
   assert_int_equal(info_of(a, f, "row").constancy[0], 64);
   ir_close(&x);
}

static void
matrix_pointers_in_a_loop(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlFunc *f = ir_must_read(
      &x, "func @mm(%a: ptr<fp16> {div = 16}, %ld: i32 {div = 16}, %k: i32) {state = typed} {\n"
          "   %0 = arange {end = 32} : tile<i32, 32>\n"
          "   %rows = expand_dims %0 {axis = 1} : tile<i32, 32x1>\n"
          "   %cols = expand_dims %0 {axis = 0} : tile<i32, 1x32>\n"
          "   %1 = splat %ld : tile<i32, 32x1>\n"
          "   %2 = mul %rows, %1 : tile<i32, 32x1>\n"
          "   %3 = broadcast %2 : tile<i32, 32x32>\n"
          "   %4 = broadcast %cols : tile<i32, 32x32>\n"
          "   %5 = add %3, %4 : tile<i32, 32x32>\n"
          "   %6 = splat %a : tile<ptr<fp16>, 32x32>\n"
          "   %p0 = addptr %6, %5 : tile<ptr<fp16>, 32x32>\n"
          "   %zero = constant 0 : i32\n"
          "   %32 = constant 32 : i32\n"
          "   %7 = constant 32 : tile<i32, 32x32>\n"
          "   %end = for %i = %zero to %k step %32 iter(%p = %p0) : tile<ptr<fp16>, 32x32> {\n"
          "      %v = load %p : tile<fp16, 32x32>\n"
          "      %q = addptr %p, %7 : tile<ptr<fp16>, 32x32>\n"
          "      yield %q\n"
          "   }\n"
          "   %t = trans %5 {order = [1, 0]} : tile<i32, 32x32>\n"
          "   %r = reshape %5 : tile<i32, 16x64>\n"
          "   return\n"
          "}\n");
   TlAnalysis *a = tl_analysis_new(x.arena, f);
   TlAxisInfo p = info_of(a, f, "p"), t = info_of(a, f, "t"), i = info_of(a, f, "i");
   assert_int_equal(p.contiguity[1], 32);
   assert_int_equal(p.divisibility[1], 16);
   assert_int_equal(p.contiguity[0], 1);
   assert_int_equal(t.contiguity[0], 32);
   assert_int_equal(i.divisibility[0], 32);
   assert_true(i.has_range && i.lo == 0);
   assert_int_equal(info_of(a, f, "r").contiguity[1], 32);
   assert_int_equal(info_of(a, f, "end").contiguity[1], 32);
   ir_close(&x);
}

static void
ranges_and_hints(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlFunc *f = ir_must_read(&x, "func @r(%n: i32, %u: u8) {state = typed} {\n"
                                "   %c7 = constant 7 : i32\n"
                                "   %c0 = constant 0 : i32\n"
                                "   %c10 = constant 10 : i32\n"
                                "   %c1 = constant 1 : i32\n"
                                "   %masked = and %n, %c7 : i32\n"
                                "   %wide = cast %u : i32\n"
                                "   %rem = rem %n, %c10 : i32\n"
                                "   %low = max %n, %c0 : i32\n"
                                "   %both = min %low, %c10 : i32\n"
                                "   %h = hint %n {hint = divisible, values = [64]} : i32\n"
                                "   %known = add %c10, %c7 : i32\n"
                                "   %sum = for %i = %c0 to %c10 step %c1 iter(%s = %c0) : i32 {\n"
                                "      %next = add %s, %c7 : i32\n"
                                "      yield %next\n"
                                "   }\n"
                                "   return\n"
                                "}\n");
   TlAnalysis *a = tl_analysis_new(x.arena, f);
   static const struct {
      const char *name;
      int64_t lo, hi;
   } cases[] = {{"masked", 0, 7}, {"wide", 0, 255}, {"rem", -9, 9},    {"low", 0, INT32_MAX},
                {"both", 0, 10},  {"i", 0, 9},      {"known", 17, 17}, {"sum", 0, INT32_MAX}};
   for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      TlAxisInfo info = info_of(a, f, cases[i].name);
      if (!info.has_range || info.lo != cases[i].lo || info.hi != cases[i].hi)
         fail_msg("%s: %lld..%lld", cases[i].name, (long long)info.lo, (long long)info.hi);
   }
   assert_int_equal(info_of(a, f, "h").divisibility[0], 64);
   int64_t value;
   TlAxisInfo known = info_of(a, f, "known");
   assert_true(tl_axis_known(&known, &value));
   assert_int_equal(value, 17);
   ir_close(&x);
}

/* The column block of a matmul's grouped order: no range shows the sign of a quotient by a value
 * that could be negative.  The column, wrapped at N, is an index all the same. */
static void
indices_of_unknown_sign(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlFunc *f =
      ir_must_read(&x, "func @tile(%p: ptr<fp16> {div = 16}, %n: i32 {div = 16}, %rows: i32) "
                       "{state = typed} {\n"
                       "   %pid = program_id : i32\n"
                       "   %pid_n = div %pid, %rows : i32\n"
                       "   %c64 = constant 64 : i32\n"
                       "   %start = mul %pid_n, %c64 : i32\n"
                       "   %0 = splat %start : tile<i32, 64>\n"
                       "   %1 = arange {end = 64} : tile<i32, 64>\n"
                       "   %offs = add %0, %1 : tile<i32, 64>\n"
                       "   %2 = splat %n : tile<i32, 64>\n"
                       "   %wrapped = rem %offs, %2 : tile<i32, 64>\n"
                       "   %3 = constant 8 : tile<i32, 64>\n"
                       "   %block = div %offs, %3 : tile<i32, 64>\n"
                       "   %back = sub %1, %3 : tile<i32, 64>\n"
                       "   %below = rem %back, %2 : tile<i32, 64>\n"
                       "   %4 = splat %p : tile<ptr<fp16>, 64>\n"
                       "   %ptr = addptr %4, %wrapped : tile<ptr<fp16>, 64>\n"
                       "   return\n"
                       "}\n");
   TlAnalysis *a = tl_analysis_new(x.arena, f);
   TlAxisInfo wrapped = info_of(a, f, "wrapped"), ptr = info_of(a, f, "ptr");
   assert_int_equal(wrapped.contiguity[0], 16);
   assert_true(wrapped.assumes_index && wrapped.lo == 0);
   assert_int_equal(ptr.contiguity[0], 16);
   assert_int_equal(ptr.divisibility[0], 16);
   assert_true(ptr.assumes_index);
   assert_int_equal(info_of(a, f, "block").constancy[0], 8);
   assert_false(info_of(a, f, "offs").assumes_index);
   assert_int_equal(info_of(a, f, "below").contiguity[0], 1); /* meant to be negative */
   assert_false(info_of(a, f, "below").assumes_index);
   ir_close(&x);
}

static void
promises_bound_ranges(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlFunc *f = ir_must_read(&x, "func @p(%n: i32, %m: i32, %c: i1) {state = typed} {\n"
                                "   %c0 = constant 0 : i32\n"
                                "   %c9 = constant 9 : i32\n"
                                "   %q = div %n, %m : i32\n"
                                "   %0 = ge %q, %c0 : i1\n"
                                "   %1 = gt %c9, %q : i1\n"
                                "   %2 = and %0, %1 : i1\n"
                                "   assume %2\n"
                                "   %twice = add %q, %q : i32\n"
                                "   %3 = lt %n, %c9 : i1\n"
                                "   assume %3\n"
                                "   if %c {\n"
                                "      %4 = ge %m, %c0 : i1\n"
                                "      assume %4\n"
                                "      yield\n"
                                "   } else {\n"
                                "      yield\n"
                                "   }\n"
                                "   return\n"
                                "}\n");
   TlAnalysis *a = tl_analysis_new(x.arena, f);
   static const struct {
      const char *name;
      int64_t lo, hi;
   } cases[] = {{"q", 0, 8}, {"twice", 0, 16}, {"n", INT32_MIN, 8}, {"m", INT32_MIN, INT32_MAX}};
   for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      TlAxisInfo info = info_of(a, f, cases[i].name);
      if (!info.has_range || info.lo != cases[i].lo || info.hi != cases[i].hi)
         fail_msg("%s: %lld..%lld", cases[i].name, (long long)info.lo, (long long)info.hi);
   }
   ir_close(&x);
}

/* ---- random programs ---- */
typedef struct Watch {
   TlAnalysis *facts;
   const uint64_t **bits; /* by value id: the newest elements */
   bool overflow;         /* or division by zero, or of a negative index: an assumption is broken */
   unsigned checked;      /* facts beyond the trivial ones */
   uint64_t seed;
} Watch;

__extension__ typedef __int128 Wide;

static bool
overflows(const Watch *w, const TlValue *v)
{
   const TlOp *op = v->def;
   TlDtype d = tl_type_elem(v->type)->dtype;
   if (op && (op->opcode == TL_OP_DIV || op->opcode == TL_OP_REM))
      for (size_t i = 0; i < tl_type_num_elems(v->type); i++)
         if (!w->bits[tl_arg(op, 1)->id][i] ||
             (tl_axis_takes_index(w->facts, op) &&
              tl_bits_to_int(d, w->bits[tl_arg(op, 0)->id][i]) < 0))
            return true;
   if (!op || tl_type_elem(v->type)->kind != TL_TYPE_SCALAR || !tl_dtype_is_signed(d) ||
       !tl_has_trait(op, TL_TRAIT_ELTWISE) || op->opcode == TL_OP_CAST)
      return false;
   unsigned bits = tl_dtype_info[d].bits;
   Wide max = ((Wide)1 << (bits - 1)) - 1;
   for (size_t i = 0; i < tl_type_num_elems(v->type); i++) {
      Wide a = tl_bits_to_int(d, w->bits[tl_arg(op, 0)->id][i]);
      Wide b = op->num_args > 1 ? tl_bits_to_int(d, w->bits[tl_arg(op, 1)->id][i]) : 0;
      Wide exact = op->opcode == TL_OP_ADD                         ? a + b
                   : op->opcode == TL_OP_SUB                       ? a - b
                   : op->opcode == TL_OP_MUL                       ? a * b
                   : op->opcode == TL_OP_NEG                       ? -a
                   : op->opcode == TL_OP_ABS                       ? (a < 0 ? -a : a)
                   : op->opcode == TL_OP_DIV                       ? (b == -1 ? -a : 0)
                   : op->opcode == TL_OP_SHL && b >= 0 && b < bits ? a * ((Wide)1 << b)
                                                                   : 0;
      if (exact > max || exact < -max - 1)
         return true;
   }
   return false;
}

/* One line of elements along d: element e is bits[first + e * stride]. */
static const char *
check_line(const TlAxisInfo *info, const TlValue *v, unsigned d, uint32_t len, const uint64_t *bits,
           size_t stride)
{
   const TlType *elem = tl_type_elem(v->type);
   uint64_t step = elem->kind == TL_TYPE_PTR ? tl_dtype_info[elem->elem->dtype].bytes : 1;
   unsigned width = elem->kind == TL_TYPE_PTR ? 64 : tl_dtype_info[elem->dtype].bits;
   uint64_t mask = width == 64 ? UINT64_MAX : (1ull << width) - 1;
   bool numeric = elem->kind == TL_TYPE_PTR || tl_dtype_is_int(elem->dtype);
   for (uint32_t e = 0; e < len; e++) {
      uint64_t x = bits[e * stride];
      if (e % info->constancy[d] && x != bits[(e - 1) * stride])
         return "constancy";
      if (e % info->contiguity[d] && x != ((bits[(e - 1) * stride] + step) & mask))
         return "contiguity";
      if (numeric && e % info->contiguity[d] == 0 && x % info->divisibility[d])
         return "divisibility";
   }
   return NULL;
}

static void
observe(void *user, const TlValue *v, const uint64_t *bits)
{
   Watch *w = user;
   w->bits[v->id] = bits;
   w->overflow |= overflows(w, v);
   if (w->overflow)
      return;
   const TlType *t = v->type;
   const TlAxisInfo *info = tl_axis_info(w->facts, v);
   size_t n = tl_type_num_elems(t), stride = n;
   const char *wrong = NULL;
   for (unsigned d = 0; d < (t->rank ? t->rank : 1) && !wrong; d++) {
      uint32_t len = t->rank ? t->shape[d] : 1;
      stride /= len;
      w->checked += info->contiguity[d] > 1 || info->divisibility[d] > 1 || info->constancy[d] > 1;
      for (size_t line = 0; line < n / len && !wrong; line++)
         wrong = check_line(info, v, d, len, bits + line / stride * stride * len + line % stride,
                            stride);
   }
   for (size_t i = 0; i < n && info->has_range && !wrong; i++) {
      int64_t x = tl_bits_to_int(tl_type_elem(t)->dtype, bits[i]);
      if (x < info->lo || x > info->hi)
         wrong = "range";
   }
   if (wrong)
      fail_msg("seed %llu: %s of the result of '%s' (%%%u) is not as claimed",
               (unsigned long long)w->seed, wrong, v->def ? tl_info(v->def)->text : "argument",
               v->id);
}

static void
no_claim_is_false(void **state)
{
   static const int64_t programs[][5] = {{0, 0, 0, 48, 7},
                                         {1, 0, 3, 16, -1},
                                         {3, 1, 2, 0, 3},
                                         {9, 9, 0, 1040, 100},
                                         {2, 5, 1, -16, 0}};
   static Run run;
   unsigned checked = 0;
   (void)state;
   for (uint64_t seed = 0; seed < 1500; seed++) {
      IrFixture x;
      ir_open(&x);
      TlFunc *f =
         gen_ir_func(x.module, seed,
                     (GenOptions){.num_ops = 40, .ints_only = true, .no_control = seed % 3 == 0});
      Watch w = {.facts = tl_analysis_new(x.arena, f), .seed = seed};
      w.bits = tl_new_array(x.arena, const uint64_t *, f->next_value_id);
      for (unsigned i = 0; i < sizeof programs / sizeof programs[0]; i++) {
         memcpy(run.program_id, programs[i], sizeof run.program_id);
         run.n = programs[i][3];
         run.k = programs[i][4];
         run.arena = x.arena;
         run.observe = observe;
         run.user = &w;
         w.overflow = false;
         run_ir_fill(&run, seed);
         if (!run_ir(&run, f))
            fail_msg("seed %llu: %s", (unsigned long long)seed, run.error);
      }
      checked += w.checked;
      ir_close(&x);
   }
   assert_true(checked > 20000); /* the test tests something */
}

int
test_analysis(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(vector_add_is_vectorisable), cmocka_unit_test(matrix_pointers_in_a_loop),
      cmocka_unit_test(ranges_and_hints),           cmocka_unit_test(indices_of_unknown_sign),
      cmocka_unit_test(promises_bound_ranges),      cmocka_unit_test(no_claim_is_false),
   };
   return cmocka_run_group_tests_name("ir analysis", tests, NULL, NULL);
}
