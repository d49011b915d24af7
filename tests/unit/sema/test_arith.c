/* Types and errors of operators on run-time values: every row is a kernel of its own, so that a
 * wrong dtype or a missing error names the expression. */
#include "support/sema_run.h"

#define PRELUDE                                                                                    \
   "def k(b: *bf16, h: *fp16, f: *fp32, d: *fp64, p1: *i1, pi8: *i8, pu8: *u8, pi16: *i16,\n"      \
   "      pu16: *u16, pi: *i32, pu: *u32, pl: *i64, pul: *u64, e4: *fp8e4nv, e5: *fp8e5,\n"        \
   "      cp: *const fp32, n: i32, w: i64, s: fp32):\n"                                            \
   "    o = arange(0, 16)\n"                                                                       \
   "    tb = load(b + o)\n    th = load(h + o)\n    tf = load(f + o)\n    td = load(d + o)\n"      \
   "    t1 = load(p1 + o)\n    ti8 = load(pi8 + o)\n    tu8 = load(pu8 + o)\n"                     \
   "    ti16 = load(pi16 + o)\n    tu16 = load(pu16 + o)\n    ti = load(pi + o)\n"                 \
   "    tu = load(pu + o)\n    tl_ = load(pl + o)\n    tul = load(pul + o)\n"                      \
   "    te4 = load(e4 + o)\n    te5 = load(e5 + o)\n    one = 1.0\n    seven = 7\n"

static char source[8192];

static const char *
kernel(const char *line)
{
   snprintf(source, sizeof source, PRELUDE "    %s\n", line);
   return source;
}

/* ---- dtypes ---- */
static const struct {
   const char *expr, *dtype;
} dtypes[] = {
   /* weak scalars */
   {"tb * 1.0", "bfloat16"},
   {"th * 2", "float16"},
   {"tf + True", "float32"},
   {"ti + 1", "int32"},
   {"ti8 + 100", "int8"},
   {"ti8 * True", "int8"},
   {"ti + 1.5", "float32"},
   {"ti8 + 1.5", "float32"},
   {"t1 + 1", "int32"},
   {"t1 & True", "int1"},
   {"td * 1e300", "float64"},
   {"tf * 1e300", "float32"},
   {"ti + 1e300", "float64"},
   {"t1 + 5000000000", "int64"},
   {"tu8 + 255", "uint8"},
   {"tb / 2.0", "float32"},
   {"th / 2", "float32"},
   {"th % 2", "float32"},
   {"tf / 2", "float32"},
   {"1.0 / tb", "float32"},
   {"2 - th", "float16"},
   /* strong constants: unannotated variables */
   {"tb * one", "float32"},
   {"th * one", "float32"},
   {"ti8 + seven", "int32"},
   {"tl_ + seven", "int64"},
   {"ti + one", "float32"},
   {"td + one", "float64"},
   /* run-time scalars are strong */
   {"th * s", "float32"},
   {"ti8 + n", "int32"},
   {"ti + w", "int64"},
   {"tb + n", "float32"},
   {"th + n", "float16"},
   /* two tiles */
   {"tb + ti", "float32"},
   {"th + tb", "float16"},
   {"ti8 + tu8", "uint8"},
   {"ti16 + tu8", "int16"},
   {"ti + tu", "uint32"},
   {"tu + tl_", "int64"},
   {"tl_ + tul", "uint64"},
   {"t1 + ti8", "int8"},
   {"t1 + t1", "int1"},
   {"th + ti", "float16"},
   {"tb * tb", "bfloat16"},
   {"tb / tb", "float32"},
   {"th / th", "float32"},
   {"th * tf", "float32"},
   {"tf * td", "float64"},
   {"te4 + te4", "float8e4nv"},
   {"te4 + te5", "float16"},
   {"te4 + th", "float16"},
   {"te4 + tb", "float32"},
   {"ti / ti", "float32"},
   {"tl_ / 2", "float32"},
   {"ti // 2", "int32"},
   {"ti % tl_", "int64"},
   {"tf % 2.0", "float32"},
   /* comparisons, logic, shifts */
   {"tf < 1", "int1"},
   {"ti == tu", "int1"},
   {"(tf < 1) & t1", "int1"},
   {"(tf < 1) and t1", "int1"},
   {"not ti", "int1"},
   {"~t1", "int1"},
   {"~ti8", "int8"},
   {"tu >> 3", "uint32"},
   {"ti8 << 1", "int8"},
   {"-tu8", "uint8"},
   {"-tb", "bfloat16"},
   {"ti ^ tl_", "int64"},
   /* functions with their own rules */
   {"where(t1, tb, 0.0)", "bfloat16"},
   {"where(t1, 1.0, 0.0)", "float32"},
   {"where(t1, 1, 0)", "int32"},
   {"where(t1, tb, th)", "float16"},
   {"maximum(tb, tb)", "float32"},
   {"maximum(th, 0.0)", "float32"},
   {"minimum(ti8, 0)", "int32"},
   {"maximum(th, th)", "float16"},
   {"clamp(tb, 0.0, 1.0)", "float32"},
   {"sum(th)", "float16"},
   {"sum(tb)", "bfloat16"},
   {"sum(ti8)", "int32"},
   {"sum(tu8)", "uint32"},
   {"sum(t1)", "uint32"},
   {"sum(tl_)", "int64"},
   {"sum(th, dtype=float32)", "float32"},
   {"tu8.max()", "int32"},
   {"tl.max(tb)", "float32"},
   {"tl.max(th)", "float32"},
   {"tl.min(ti16)", "int32"},
   {"tl.max(tul)", "uint64"},
   {"argmax(th, 0)", "int32"},
   {"tl.max(th, 0, return_indices=True)[0]", "float16"},
   {"tl.max(tb, 0, return_indices=True)[0]", "float32"},
   {"cumsum(tb)", "float32"},
   {"cumsum(th)", "float16"},
   {"cumsum(ti8)", "int32"},
   {"cumprod(t1)", "uint32"},
   {"xor_sum(ti8)", "int8"},
   {"abs(tb)", "bfloat16"},
   {"cdiv(ti, 3)", "int32"},
   {"tl.abs(tu)", "uint32"},
   {"zeros((4,), dtype=float16)", "float16"},
   {"full([4], 3, int8)", "int8"},
   {"tf.to(float16)", "float16"},
   {"f.to(int64)", "int64"},
   {"tf.to(int32, bitcast=True)", "int32"},
   {"histogram(ti, 16)", "int32"},
   {"randint(seven, o)", "uint32"},
   {"rand(n, o)", "float32"},
   {"load(cp + o)", "float32"},
   {"atomic_add(f + o, 1.0)", "float32"},
   {"min(n, 8)", "int32"},
   {"max(n, w)", "int64"},
   {"program_id(0) * 2", "int32"},
   {"program_id(0).to(int64) * n", "int64"},
   {"tf.T if False else tf", "float32"},
};

static void
dtypes_follow_the_matrix(void **state)
{
   (void)state;
   for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
      char line[256];
      snprintf(line, sizeof line, "x = %s\n    static_assert(x.dtype == tl.%s, f\"{x.dtype}\")",
               dtypes[i].expr, dtypes[i].dtype);
      SemaRun r = TILE(kernel(line));
      sema_run(&r);
      if (!r.func)
         fail_msg("%s should be %s:\n%s", dtypes[i].expr, dtypes[i].dtype, r.errors);
      sema_run_free(&r);
   }
}

/* ---- errors ---- */
static const struct {
   const char *line;
   const char *texts[4];
} errors[] = {
   {"x = ti8 + 300", {"E0282", "300", "-128 to 127"}},
   {"x = tu + -1", {"E0284", ".to(tl.int32)"}},
   {"x = ti // tu", {"E0285", "tile<i32, 16>", "tile<u32, 16>"}},
   {"x = ti % tu", {"E0285"}},
   {"x = tf // 2.0", {"E0286", "tl.floor(a / b)"}},
   {"x = tf & 1", {"E0286", "'&'"}},
   {"x = tf << 1", {"E0286"}},
   {"x = ~tf", {"E0287", "'~'"}},
   {"x = tf ** 2", {"E0288", "libdevice.pow"}},
   {"x = tf @ tf", {"E0286", "tl.dot"}},
   {"x = te4 + ti", {"E0281", ".to(tl.float32)"}},
   {"x = f + h", {"E0286", "ptr<fp32>", "ptr<fp16>"}},
   {"x = f - f", {"E0286", ".to(tl.int64)"}},
   {"x = f < f", {"E0286"}},
   {"x = f * 2", {"E0286"}},
   {"x = -f", {"E0287"}},
   {"x = f + 1.5", {"E0299", ".to(tl.int32)"}},
   {"x = f + tf", {"E0299", "tile<fp32, 16>"}},
   {"x = tf.to(int32)[0]", {"E0295", "tl.sum"}},
   {"x = tf[1:3]", {"E0296"}},
   {"x = tf[:, :, None]", {"E0297", "place 3", "rank is 1"}},
   {"x = f[n]", {"E0295", "tl.load"}},
   {"x = tf + arange(0, 8)", {"E0290", "16", "8"}},
   {"x = tf[:, None] + zeros((8, 16), float32)", {"E0290"}},
   {"x = f.to(int32)", {"E0292", ".to(tl.int64)"}},
   {"x = f.to(float32)", {"E0292"}},
   {"x = tf.to(f.dtype)", {"E0292"}},
   {"x = tf.to(int16, bitcast=True)", {"E0294", "32 bits", "16"}},
   {"x = th.to(float32, fp_downcast_rounding=\"rtz\")", {"E0293"}},
   {"x = tf.to(float16, fp_downcast_rounding=\"up\")", {"E0307", "rtne rtz"}},
   {"x = arange(0, 12)", {"E0316", "tl.arange(0, 16)", "< 12"}},
   {"x = arange(8, 8)", {"E0315"}},
   {"x = arange(0, n)", {"E0301", "'end' of 'arange'", "tl.constexpr"}},
   {"x = program_id(3)", {"E0314", "3"}},
   {"x = program_id(n)", {"E0301"}},
   {"x = zeros((3, 4), float32)", {"E0308", "use 4 and mask"}},
   {"x = zeros((2048, 1024), float32)", {"E0309"}},
   {"x = full((4,), 1.5, int32)", {"E0283", "1.5"}},
   {"x = full((4,), 256, uint8)", {"E0282"}},
   {"x = zeros((4,), 5)", {"'dtype' of 'zeros'"}},
   {"x = load(tf)", {"E0317", "tile<fp32, 16>"}},
   {"x = load(f + o, other=0.0)", {"E0318", "mask="}},
   {"x = load(f + o, mask=ti)", {"E0321", "mask != 0"}},
   {"x = load(f + o, mask=1)", {"E0321", "i32"}},
   {"x = load(f, mask=t1)", {"E0320"}},
   {"x = load(f, mask=True, other=tf)", {"E0320"}},
   {"x = load(f + o, mask=arange(0, 8) < 4)", {"E0290"}},
   {"x = load(f + o, boundary_check=(0,))", {"E0319", "boundary_check"}},
   {"x = load(f + o, cache_modifier=\".xx\")", {"E0307", ".ca .cg .cv"}},
   {"x = load(f + o, eviction_policy=\"first\")", {"E0307"}},
   {"store(cp + o, tf)", {"E0322", "'cp + o'"}},
   {"store(f, tf)", {"E0320", "f + o, as the load has"}},
   {"store(f + o, tf[:, None] + zeros((16, 16), float32))", {"E0291"}},
   {"store(f + o, tf, mask=ti)", {"E0321"}},
   {"store(f + o, tf, mask=1)", {"E0321", "i32"}},
   {"x = atomic_add(f + o, 1.0, mask=1)", {"E0321", "i32", ".to(tl.int1)"}},
   {"x = atomic_add(f, 1.0, mask=t1)", {"E0320"}},
   {"x = histogram(ti, 16, mask=ti)", {"E0321"}},
   {"if tf > 0:\n        x = 1", {"a condition must be a scalar", "tl.where"}},
   {"x = exp(th)", {"E0313", "fp32 or fp64", ".to(tl.float32)"}},
   {"x = floor(ti)", {"E0313"}},
   {"x = umulhi(tf, tf)", {"E0313"}},
   {"x = clamp(ti, 0, 3)", {"E0313", "tl.minimum"}},
   {"x = maximum(f, 0)", {"E0313"}},
   {"x = sum(n)", {"E0310", "i32"}},
   {"x = sum(tf, axis=1)", {"E0311", "-1 to 0"}},
   {"x = tl.max(tf, return_indices=True)", {"E0313", "'max' needs an axis for the index"}},
   {"x = xor_sum(tf)", {"E0313", "integers"}},
   {"x = reduce(tf, 0, lambda a, b: (a, b))", {"E0340"}},
   {"x = trans(tf)", {"E0313", "two dimensions"}},
   {"x = permute(zeros((4, 8), float32), 0, 0)", {"permutation"}},
   {"x = reshape(tf, 4, 8)", {"E0344", "16", "32"}},
   {"x = expand_dims(tf, 3)", {"E0311"}},
   {"x = broadcast_to(tf, 4, 16)", {"E0291"}},
   {"x = cat(tf, tf)", {"E0302", "'can_reorder' of 'cat' must be True"}},
   {"x = min()", {"E0313", "'min' needs at least one value; got none"}},
   {"x = float(\"one\")", {"E0313", "'float' needs the text of a number; got string 'one'"}},
   {"x = int(\"1.5\")", {"E0313", "'int' needs the text of an integer"}},
   {"x = int(1e30)", {"E0313", "a value that 64 bits hold; got constexpr float 1e+30"}},
   {"tl.device_print(\"a\\n\", n)", {"E0302", "printable ASCII; got the byte 0x0a"}},
   {"x = tl.dot(zeros((16, 16), float16), zeros((1, 16, 16), float16))",
    {"E0347", "as many dimensions"}},
   {"x = tl.dot(zeros((1, 16, 16), float16), zeros((2, 16, 16), float16))",
    {"E0312", "batch dimensions of 'dot' must match; left has 1, right has 2"}},
   {"x = tl.make_tensor_descriptor(f, [n], [1], [16, 16])", {"E0326", "'make_tensor_descriptor'"}},
   {"x = tl.make_tensor_descriptor(f, [], [], [])", {"E0345", "1 to 5 dimensions"}},
   {"a, c = split(tf)", {"last dimension of size 2"}},
   {"x = tl.dot(zeros((16, 16), float16), zeros((32, 16), float16))",
    {"E0312", "left has 16, right has 32", "left operand has type tile<fp16, 16x16>"}},
   {"x = tl.dot(zeros((16, 16), float16), zeros((16, 16), float32))", {"E0330", "fp16", "fp32"}},
   {"x = tl.dot(zeros((16, 8), float16), zeros((8, 16), float16))", {"E0334", "16"}},
   {"x = tl.dot(zeros((16, 16), int8), zeros((16, 16), int8))", {"E0334", "32"}},
   {"x = tl.dot(zeros((16, 32), int8), zeros((32, 16), int8), zeros((16, 16), int32))",
    {"E0333", "out_dtype=tl.int32"}},
   {"x = tl.dot(zeros((16, 32), uint8), zeros((32, 16), uint8))", {"E0331"}},
   {"x = tl.dot(zeros((16, 32), int32), zeros((32, 16), int32))", {"E0331"}},
   {"x = tl.dot(zeros((16, 16), float16), zeros((16, 16), float16), out_dtype=bfloat16)",
    {"E0332", "bfloat16"}},
   {"x = tl.dot(zeros((16, 16), float16), zeros((16, 16), float16), zeros((16, 32), float32))",
    {"E0333"}},
   {"x = tl.dot(zeros((16, 16), float32), zeros((16, 16), float32), input_precision=\"tf16\")",
    {"E0307"}},
   {"x = tl.dot(zeros((16, 16), float32), zeros((16, 16), float32), input_precision=\"ieee\", "
    "allow_tf32=False)",
    {"E0336"}},
   {"x = tl.dot(tf, tf)", {"as many dimensions"}},
   {"x = make_block_ptr(f, (n, n), (n,), (0, 0), (16, 16), (1, 0))", {"E0326", "strides"}},
   {"x = make_block_ptr(f, (n,), (1,), (w,), (16,), (0,))", {"E0329", ".to(tl.int32)"}},
   {"x = load(make_block_ptr(f, (n,), (1,), (0,), (16,), (0,)), boundary_check=(1,))", {"E0327"}},
   {"x = load(make_block_ptr(f, (n,), (1,), (0,), (16,), (0,)), mask=t1)", {"E0324"}},
   {"x = load(make_block_ptr(pi, (n,), (1,), (0,), (16,), (0,)), boundary_check=(0,), "
    "padding_option=\"nan\")",
    {"E0328"}},
   {"store(make_block_ptr(f, (n,), (1,), (0,), (16,), (0,)), th)", {"E0325", ".to(tl.float32)"}},
   {"x = atomic_max(h + o, 1.0)", {"E0338", "fp16"}},
   {"x = atomic_and(f + o, 1)", {"E0338"}},
   {"x = atomic_add(pi8 + o, 1)", {"E0338", "i8"}},
   {"x = atomic_add(cp + o, 1.0)", {"E0322"}},
   {"x = atomic_cas(pi8 + o, 0, 1)", {"E0338"}},
   {"x = atomic_add(f + o, 1.0, sem=\"weak\")", {"E0307", "acquire release acq_rel relaxed"}},
   {"x = multiple_of(o, [16, 16])", {"E0341"}},
   {"x = multiple_of(o, -1)", {"E0345"}},
   {"static_assert(n == 3)", {"compile time"}},
   {"static_assert(1 == 2, \"one is not two\")", {"E0342", "one is not two"}},
   {"x = float(tf)", {"E0346", ".to(tl.float32)"}},
   {"x = len(tf)", {"E0346", "x.shape[0]"}},
   {"x = tl.static_range(n)", {"E0301"}},
   {"x = tl.make_tensor_descriptor(f, [n], [n], [16])",
    {"E0302", "'strides'", "constant 1 in the last place"}},
   {"x = tl.make_tensor_descriptor(f, [n], [1], [2])", {"E0345", "16 bytes"}},
   {"x = tl.load(tl.make_tensor_descriptor(f, [n], [1], [16]))", {"E0317", "descriptor.load"}},
   {"x = tl.make_tensor_descriptor(f, [n], [1], [16]).gather([0], 0)", {"gather"}},
   {"x = tl.tensor(tf)", {"E0337"}},
   {"x = tl.extern_elementwise(tf)", {"E0337", "libdevice"}},
   {"x = libdevice.log1p(th)", {"E0313", "fp32"}},
   {"x = tf.is_floating()", {"E0343", "x.dtype.is_floating()"}},
   {"x = tf.T", {"E0313"}},
   {"x = tf.size", {"size"}},
};

static void
mistakes_are_named_with_both_values(void **state)
{
   (void)state;
   unsigned failed = 0;
   for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
      SemaRun r = TILE(kernel(errors[i].line));
      sema_run(&r);
      const char *missing = r.func ? "an error" : NULL;
      for (unsigned t = 0; !missing && t < 4 && errors[i].texts[t]; t++)
         if (!strstr(r.errors, errors[i].texts[t]))
            missing = errors[i].texts[t];
      if (!missing && r.diags.num_errors != 1)
         missing = "one error only";
      if (missing) {
         print_error("%s: missing '%s' in\n%s\n", errors[i].line, missing, r.errors);
         failed++;
      }
      sema_run_free(&r);
   }
   assert_int_equal(failed, 0);
}

/* ---- shape of the IR ---- */
static void
offsets_keep_their_width_and_sign(void **state)
{
   (void)state;
   /* unsigned narrow offsets are not turned negative before they are extended */
   sema_expect_ir(TILE("def k(p: *fp32, n: u32):\n    x = load(p - n)\n    store(p + n, x)\n"),
                  IR("cast", "i64", "sub", "addptr", "addptr"));
   sema_expect_ir(TILE("def k(p: *fp32, n: i32):\n    store(p + 2 * n, 1.0)\n"),
                  IR("mul", "i32", "addptr"));
}

static void
bool_pointers_go_through_bytes(void **state)
{
   (void)state;
   sema_expect_ir(TILE("def k(p: *i1):\n    o = arange(0, 8)\n    store(p + o, load(p + o))\n"),
                  IR("bitcast", "ptr<i8>", "load", "cast", "i1", "store"));
}

static void
block_pointers_stay_affine(void **state)
{
   (void)state;
   sema_expect_ir(TILE("def k(p: *fp32, m: i32, n: i32):\n"
                       "    b = make_block_ptr(p, (m, n), (n, 1), (16, 0), (16, 32), (1, 0))\n"
                       "    b = advance(b, (0, 32))\n"
                       "    store(b, load(b, boundary_check=(1,), padding_option=\"zero\"), "
                       "boundary_check=(0, 1))\n"),
                  IR("addptr", "addptr", "ge", "lt", "load", "store"));
}

static void
debug_adds_overflow_checks(void **state)
{
   (void)state;
   SemaRun r = TILE("def k(p: *i32, n: i32):\n    store(p, n * n)\n");
   r.debug = true;
   sema_expect_ir(r, IR("device_assert", "overflow"));
   r.debug = false;
   sema_run(&r);
   assert_null(strstr(r.ir, "device_assert"));
   sema_run_free(&r);
}

static void
a_combine_function_has_no_effects(void **state)
{
   (void)state;
   static const char *const folds[] = {"reduce", "associative_scan"};
   static const struct {
      const char *call, *op;
   } effects[] = {{"device_assert(a < 100, 'large')", "device_assert"},
                  {"device_print('a', a)", "device_print"},
                  {"print('a', a)", "device_print"},
                  {"debug_barrier()", "debug_barrier"}};
   for (size_t i = 0; i < 2 * sizeof effects / sizeof effects[0]; i++) {
      char text[400];
      snprintf(text, sizeof text,
               "@jit\ndef join(a, b):\n    %s\n    return a + b\n"
               "@kernel\ndef k(p: *i32):\n    s = %s(load(p + arange(0, 4)), 0, join)\n"
               "    store(p + arange(0, 4), s)\n",
               effects[i / 2].call, folds[i % 2]);
      SemaRun r = TILE(text);
      r.debug = true;
      sema_run(&r);
      assert_non_null(strstr(r.errors, "W0251"));
      assert_null(strstr(r.errors, "error"));
      assert_null(strstr(r.ir, effects[i / 2].op));
      sema_run_free(&r);
   }
}

int
test_arith(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(dtypes_follow_the_matrix),
      cmocka_unit_test(mistakes_are_named_with_both_values),
      cmocka_unit_test(offsets_keep_their_width_and_sign),
      cmocka_unit_test(bool_pointers_go_through_bytes),
      cmocka_unit_test(block_pointers_stay_affine),
      cmocka_unit_test(debug_adds_overflow_checks),
      cmocka_unit_test(a_combine_function_has_no_effects),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
