/* The table of builtins itself: rows are sound, refused names say so, dtype questions agree with
 * ir/dtypes.def, conversions have the type that their name says; and the builtins that leave a mark
 * in IR rather than a value. */
#include "support/sema_run.h"

static void
rows_are_sound(void **state)
{
   (void)state;
   const TlBuiltin *a, *b;
   for (unsigned i = 0; (a = tl_builtin_at(i)); i++) {
      assert_true(a->name[0] && a->doc[0] && a->fn && a->signature);
      assert_true(a->namespaces || (a->flags & TL_BUILTIN_METHOD));
      for (unsigned k = 0; k < i; k++) {
         b = tl_builtin_at(k);
         if (strcmp(a->name, b->name) == 0 && (a->namespaces & b->namespaces))
            fail_msg("'%s' has two rows in one namespace", a->name);
      }
      if (a->namespaces)
         assert_non_null(tl_builtin_find(a->namespaces, a->name));
   }
   assert_null(tl_builtin_find(TL_NS_TL, "no_such_name"));
   assert_null(tl_builtin_method("no_such_name"));
   assert_null(tl_builtin_find(TL_NS_TL, "globaltimer"));
   assert_string_equal(tl_builtin_find(TL_NS_CUDA, "globaltimer")->name, "globaltimer");
}

static const char *
module_of(uint32_t namespaces)
{
   return namespaces & TL_NS_TL ? "tl" : namespaces & TL_NS_LIBDEVICE ? "libdevice" : "tl.math";
}

static void
refused_names_say_so(void **state)
{
   (void)state;
   const TlBuiltin *row;
   unsigned refused = 0;
   for (unsigned i = 0; (row = tl_builtin_at(i)); i++) {
      if (strcmp(row->doc, "not supported") != 0)
         continue;
      char source[256], want[128];
      snprintf(source, sizeof source, "def k(p: *fp32):\n    store(p, %s.%s(load(p)))\n",
               module_of(row->namespaces), row->name);
      snprintf(want, sizeof want, "'%s' is not supported", row->name);
      sema_expect_errors(TILE(source), 1, IR("E0337", want, "= help:"));
      refused++;
   }
   assert_true(refused >= 3);
}

static bool
ends_with(const char *s, const char *end)
{
   size_t n = strlen(s), m = strlen(end);
   return n >= m && strcmp(s + n - m, end) == 0;
}

static void
types_say_their_shape_and_limits(void **state)
{
   (void)state;
   sema_expect_ir(
      TILE("def k(p: *i32, q: *fp16):\n    x = load(q + arange(0, 4))[:, None]\n"
           "    static_assert(x.type.get_block_shapes() == (4, 1) and x.type.nbytes == 8)\n"
           "    static_assert(x.type.with_element_ty(tl.int8).element_ty == tl.int8)\n"
           "    static_assert(x.type.with_element_ty(tl.int8).shape == (4, 1))\n"
           "    static_assert(tl.int32.with_element_ty(tl.int8) == tl.int8)\n"
           "    static_assert(p.dtype.element_ty.get_int_max_value() == 2147483647)\n"
           "    static_assert(tl.int8.get_int_min_value() == -128)\n"
           "    static_assert(tl.uint64.get_int_max_value() == 2**63 + (2**63 - 1))\n"
           "    static_assert(tl.uint16.get_int_min_value() == 0)\n"
           "    static_assert(tl.int1.get_int_max_value() == 1)\n"
           "    static_assert(tl.dtype(f\"uint{8 * 4}\") == tl.uint32)\n"
           "    static_assert(tl.target_info.is_cuda() and not tl.target_info.is_hip())\n"
           "    static_assert(tl.target_info.cuda_capability_geq(9, 0))\n"
           "    static_assert(tl.target_info.cuda_capability_geq(8))\n"
           "    static_assert(not tl.target_info.cuda_capability_geq(9, 1))\n"
           "    static_assert(tl.target_info.current_target().arch == 90)\n"),
      IR("func"));
   sema_expect_ir(TILE("def k(p: *i8):\n    d = p.dtype.element_ty\n"
                       "    static_assert(d != tl.float8e4b8 and not (d == tl.float8e5b16))\n"
                       "    static_assert(d not in (tl.float8e4b8, tl.float8e5b16))\n"),
                  IR("func"));
   sema_expect_errors(TILE("def k(p: *fp32):\n    x = load(p).to(tl.float8e4b8)\n"), 1,
                      IR("E0302", "float8e4b8"));
   sema_expect_errors(TILE("def k(p: *fp32):\n    x = load(p).get_block_shapes()\n"), 1,
                      IR("E0313", "x.type.get_block_shapes(..)"));
   sema_expect_errors(TILE("def k(p: *fp32):\n    x = tl.float32.get_int_max_value()\n"), 1,
                      IR("E0313", "an integer type"));
   sema_expect_errors(TILE("def k(p: *fp32):\n    x = tl.dtype(\"complex64\")\n"), 1,
                      IR("E0302", "the name of a type"));
}

static void
questions_agree_with_the_dtype_table(void **state)
{
   (void)state;
   for (unsigned t = 0; t < TL_DTYPE_COUNT; t++) {
      const TlDtypeInfo *d = &tl_dtype_info[t];
      const bool flt = d->kind == TL_KIND_FLOAT, sint = d->kind == TL_KIND_SINT;
      const struct {
         const char *question;
         bool answer;
      } rows[] = {
         {"is_floating", flt},
         {"is_standard_floating", flt && d->bits > 8},
         {"is_int", !flt},
         {"is_int_signed", sint},
         {"is_int_unsigned", !flt && !sint},
         {"is_bool", t == TL_I1},
         {"is_ptr", false},
         {"is_const", false},
         {"is_block", false},
         {"is_void", false},
         {"is_numeric", true},
         {"is_dtype", true},
         {"is_fp8", flt && d->bits == 8},
         {"is_fp8e4nv", t == TL_FP8E4NV},
         {"is_fp8e5", t == TL_FP8E5},
         {"is_fp8e4b15", t == TL_FP8E4B15},
         {"is_fp8e4b8", false},
         {"is_fp8e5b16", false},
         {"is_fp16", t == TL_FP16},
         {"is_bf16", t == TL_BF16},
         {"is_fp32", t == TL_FP32},
         {"is_fp64", t == TL_FP64},
         {"is_int1", t == TL_I1},
         {"is_int8", t == TL_I8},
         {"is_int16", t == TL_I16},
         {"is_int32", t == TL_I32},
         {"is_int64", t == TL_I64},
         {"is_uint8", t == TL_U8},
         {"is_uint16", t == TL_U16},
         {"is_uint32", t == TL_U32},
         {"is_uint64", t == TL_U64},
      };
      char source[8192];
      int n = snprintf(source, sizeof source, "def k(p: *i32):\n    t = tl.%s\n", d->triton_name);
      for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
         n += snprintf(source + n, sizeof source - (size_t)n,
                       "    static_assert(t.%s() == %s, \"%s\")\n", rows[i].question,
                       rows[i].answer ? "True" : "False", rows[i].question);
      snprintf(
         source + n, sizeof source - (size_t)n,
         "    static_assert(t.primitive_bitwidth == %u and t.scalar == t and t.name == \"%s\")\n",
         d->bits, d->text);
      sema_expect_ir(TILE(source), IR("func"));
   }
   sema_expect_ir(
      TILE("def k(p: *const fp16, q: *i32):\n    x = load(p + arange(0, 4))\n"
           "    static_assert(p.dtype.is_ptr() and p.type.is_const() and not q.type.is_const())\n"
           "    static_assert(x.type.is_block() and x.type.element_ty == tl.float16)\n"
           "    static_assert(x.type.scalar.fp_mantissa_width == 10 and "
           "q.dtype.element_ty.int_bitwidth == 32)\n"
           "    static_assert(tl.core.get_int_dtype(16, False) == tl.uint16)\n"),
      IR("func"));
}

static void
conversions_have_the_type_of_their_name(void **state)
{
   (void)state;
   static const struct {
      const char *word, *dtype;
   } words[] = {{"float", "float32"}, {"double", "float64"}, {"uint", "uint32"},
                {"int", "int32"},     {"ull", "uint64"},     {"ll", "int64"}};
   const TlBuiltin *row;
   unsigned num = 0;
   for (unsigned i = 0; (row = tl_builtin_at(i)); i++) {
      if (strncmp(row->doc, "conversion:", 11) != 0)
         continue;
      const char *from = NULL, *to = NULL, *at = strchr(row->name, '2');
      assert_non_null(at);
      for (unsigned w = 0; w < 6; w++) {
         size_t len = strlen(words[w].word);
         if (!from && strncmp(row->name, words[w].word, len) == 0)
            from = words[w].dtype;
         if (!to && strncmp(at + 1, words[w].word, len) == 0)
            to = words[w].dtype;
      }
      assert_true(from && to);
      char source[512];
      snprintf(source, sizeof source,
               "def k(p: *fp32):\n    x = load(p + arange(0, 4)).to(tl.%s)\n"
               "    static_assert(libdevice.%s(x).dtype == tl.%s)\n    store(p + arange(0, 4), "
               "libdevice.%s(x))\n",
               from, row->name, to, row->name);
      bool to_int = (strncmp(from, "fl", 2) == 0) && strncmp(to, "fl", 2) != 0;
      const char *round = !to_int                      ? "cast"
                          : ends_with(row->name, "rn") ? "rint"
                          : ends_with(row->name, "rd") ? "floor"
                          : ends_with(row->name, "ru") ? "ceil"
                                                       : "trunc";
      bool is_cast =
         to_int || ends_with(row->name, "rn") || strcmp(row->name, "double2float_rz") == 0;
      if (is_cast)
         sema_expect_ir(TILE(source), IR(round, "cast", "store"));
      else
         sema_expect_ir(TILE(source), IR("cast", "inline_asm", "store"));
      num++;
   }
   assert_int_equal(num, 62);
}

static void
marks_in_ir(void **state)
{
   (void)state;
   sema_expect_ir(
      TILE("def k(p: *i64, q: *i32):\n    store(p, tl.extra.cuda.globaltimer())\n"
           "    store(q, tl.extra.cuda.smid())\n    tl.extra.cuda.gdc_wait()\n"
           "    tl.extra.cuda.gdc_launch_dependents()\n    tl.debug_barrier()\n"),
      IR("sreg = globaltimer", "sreg = smid", "gdc_wait", "gdc_launch", "debug_barrier"));
   sema_expect_ir(TILE("def k(p: *fp32, n: i32):\n    i = arange(0, 64)\n    x = load(p + i)\n"
                       "    y, z = tl.inline_asm_elementwise(\"add.f32 $0, $2, $3; mov.b32 $1, "
                       "$2;\", \"=r,=r,r,r\", [x, 1.0],\n"
                       "        dtype=(tl.float32, tl.int32), is_pure=True, pack=1)\n"
                       "    static_assert(z.dtype == tl.int32 and y.shape[0] == 64)\n    store(p + "
                       "i, y + z)\n"),
                  IR("inline_asm", "add.f32", "=r,=r,r,r"));
   sema_expect_ir(
      TILE("def k(p: *i32):\n    x = load(p + arange(0, 8))\n    tl.device_print(\"x is\", x, "
           "hex=True)\n"
           "    print(\"n\", 3)\n    store(p, tl.reduce_or(tl.zeros_like(x) | x, 0))\n"),
      IR("device_print", "x is", "device_print", "reduce", "or"));
   SemaRun r = TILE("def k(p: *i32):\n    tl.device_assert(load(p) > 0, \"positive\")\n    assert "
                    "load(p) < 9, \"small\"\n");
   r.debug = true;
   sema_expect_ir(r, IR("device_assert", "positive", "device_assert", "small"));
   sema_expect_ir(
      TILE("def k(p: *fp32):\n    i = tl.multiple_of(arange(0, 8), 8)\n"
           "    store(p + i, load(p + i, cache_modifier=\".cg\", eviction_policy=\"evict_first\", "
           "volatile=True), cache_modifier=\".wt\", eviction_policy=\"evict_last\")\n"),
      IR("hint", "load", "cg", "first", "store", "wt", "last"));
   sema_expect_ir(
      TILE("def k(p: *fp32):\n    i = arange(0, 16)\n    a = load(p + i[:, None] + i[None, :])\n"
           "    store(p + i[:, None] + i[None, :], tl.dot(a, a, input_precision=\"tf32x3\"))\n"),
      IR("dot", "tf32x3"));
   SemaRun print = TILE("def k(p: *i32):\n    tl.static_print(\"type\", p.dtype, 3)\n");
   sema_run(&print);
   assert_non_null(print.func);
   assert_non_null(strstr(print.errors, "static_print: type"));
   sema_run_free(&print);
}

int
test_builtin_table(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_sound),
      cmocka_unit_test(refused_names_say_so),
      cmocka_unit_test(types_say_their_shape_and_limits),
      cmocka_unit_test(questions_agree_with_the_dtype_table),
      cmocka_unit_test(conversions_have_the_type_of_their_name),
      cmocka_unit_test(marks_in_ir),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
