/* Inference: what each rule gives, and what it says when operands do not fit.  Types and operands
 * are written as IR text, so that the cases read like the language. */
#include "support/ir_fixture.h"

int test_infer(void);

/* Values to use as operands, by name. */
static const char *const values =
   "func @f(%p: ptr<fp32>, %cp: ptr<const fp32>, %pi: ptr<i32>, %p8: ptr<i8>, %n: i32, %l: i64, "
   "%f: fp32, %b: i1) {state = typed} {\n"
   "   %t = constant 0 : tile<i32, 8x16>\n"
   "   %u = constant 0 : tile<i32, 16x8>\n"
   "   %v = constant 0 : tile<i32, 8>\n"
   "   %tf = constant 0.0 : tile<fp32, 8x16>\n"
   "   %tb = constant true : tile<i1, 8x16>\n"
   "   %vb = constant true : tile<i1, 8>\n"
   "   %pair = constant 0.0 : tile<fp32, 4x2>\n"
   "   %ps = splat %p : tile<ptr<fp32>, 8x16>\n"
   "   %ha = constant 0.0 : tile<fp16, 64x32>\n"
   "   %hb = constant 0.0 : tile<fp16, 32x16>\n"
   "   %hc = constant 0.0 : tile<fp32, 64x16>\n"
   "   %hk = constant 0.0 : tile<fp16, 64x16>\n"
   "   %bb = constant 0.0 : tile<bf16, 32x16>\n"
   "   %i8 = constant 0 : tile<i8, 16x16>\n"
   "   %ic = constant 0 : tile<i32, 16x16>\n";

static const struct {
   const char *op;  /* printed form after "%r = ", with %z for a second result */
   const char *why; /* part of the message, or NULL: sound */
} cases[] = {
   {"add %t, %t : tile<i32, 8x16>", NULL},
   {"add %t, %u : tile<i32, 8x16>", "must have one type; got tile<i32, 8x16> and tile<i32, 16x8>"},
   {"add %p, %p : ptr<fp32>", "'add' needs numbers; got ptr<fp32>"},
   {"exp %t : tile<i32, 8x16>", "'exp' needs floating-point numbers; got tile<i32, 8x16>"},
   {"and %f, %f : fp32", "'and' needs integers; got fp32"},
   {"lt %t, %t : tile<i1, 8x16>", NULL},
   {"select %tb, %t, %t : tile<i32, 8x16>", NULL},
   {"select %b, %t, %t : tile<i32, 8x16>", "condition of 'select' must be tile<i1, 8x16>; got i1"},
   {"addptr %ps, %t : tile<ptr<fp32>, 8x16>", NULL},
   {"addptr %p, %l : ptr<fp32>", NULL},
   {"addptr %p, %t : ptr<fp32>", "must have one shape; got ptr<fp32> and tile<i32, 8x16>"},
   {"addptr %p, %f : ptr<fp32>", "a pointer offset must be an integer; got fp32"},
   {"addptr %n, %n : i32", "needs a pointer or a tile of pointers; got i32"},
   {"load %ps, %tb, %tf : tile<fp32, 8x16>", NULL},
   {"load %ps, %vb : tile<fp32, 8x16>", "mask of 'load' must be tile<i1, 8x16>; got tile<i1, 8>"},
   {"load %ps, %tb, %t : tile<fp32, 8x16>", "the 'other' value of 'load' must be tile<fp32, 8x16>"},
   {"load %cp : fp32", NULL},
   {"atomic_rmw %cp, %f : fp32", "needs a pointer that may be written; got ptr<const fp32>"},
   {"atomic_rmw %p, %f {rmw = and} : fp32", "atomic 'and' needs integers; got fp32"},
   {"atomic_cas %pi, %n, %n : i32", NULL},
   {"inline_asm %n {text = \"mov.b32 $0, $1;\", constraints = \"=r, r\"} : i32", NULL},
   {"inline_asm %n, %l {text = \"$$x ${2:n} ${:uid}\", constraints = \"=&r,0,l,~{memory}\"} : i32",
    NULL},
   {"inline_asm %n {text = \"\", constraints = \"=r,=r,r,r\", pack = 2} : i32", NULL},
   {"inline_asm %i8 {text = \"\", constraints = \"=r,r\", pack = 4} : tile<i8, 16x16>", NULL},
   {"inline_asm %i8 {text = \"\", constraints = \"=r,r,r\", pack = 8} : tile<i8, 16x16>",
    "they name 1 outputs and 2 inputs; the call has 2 and 2 registers"},
   {"inline_asm %n {text = \"\", constraints = \"=r,r\", pack = 3} : i32",
    "must be 1, 2, 4, 8 or 16; got 3"},
   {"inline_asm %n {text = \"\", constraints = \"=r,r\", pack = 0} : i32",
    "must be 1, 2, 4, 8 or 16; got 0"},
   {"inline_asm %n {text = \"\"} : i32", "needs its text and constraints"},
   {"inline_asm %n {text = \"\", constraints = \"=r\"} : i32", "the call has 1 and 1 registers"},
   {"inline_asm %n {text = \"\", constraints = \"-r,r\"} : i32",
    "no constraints of inline PTX: '-r' is none"},
   {"inline_asm %n {text = \"\", constraints = \"=r,rr\"} : i32", "'rr' is none"},
   {"inline_asm %n {text = \"\", constraints = \"=r,1\"} : i32", "'1' is none"},
   {"inline_asm %n {text = \"\", constraints = \"=0,r\"} : i32", "'=0' is none"},
   {"inline_asm %n {text = \"\", constraints = \"=r,r,~{x\"} : i32", "'~{x' is none"},
   {"inline_asm %n {text = \"\", constraints = \"r,=r\"} : i32", "outputs come before inputs"},
   {"inline_asm %n {text = \"\", constraints = \"=r,,r\"} : i32", "one is empty"},
   {"inline_asm %n {text = \"\", constraints = \"=r,r,\"} : i32", "one is empty"},
   {"inline_asm %n, %n, %n, %n, %n {text = \"\", constraints = \"=r,r\", pack = 16} : i32",
    "at most 64 registers of inputs"},
   {"inline_asm %n {text = \"mov.b32 $0, $2;\", constraints = \"=r,r\"} : i32",
    "inline PTX with 2 operands names $2"},
   {"inline_asm %n {text = \"mov.b32 $0, $x;\", constraints = \"=r,r\"} : i32",
    "$ without a number"},
   {"arange {end = 16} : tile<i32, 16>", NULL},
   {"arange {end = 12} : tile<i32, 12>", "a shape"},
   {"arange {start = 4, end = 4} : tile<i32, 1>", "needs start < end in the range of i32; got 4"},
   {"splat %n : tile<i32, 4>", NULL},
   {"splat %n : tile<fp32, 4>", "'splat' keeps the element type; got tile<fp32, 4> from i32"},
   {"splat %v : tile<i32, 8>", "'splat' needs a scalar or pointer; got tile<i32, 8>"},
   {"expand_dims %v {axis = 1} : tile<i32, 8x1>", NULL},
   {"expand_dims %v {axis = 2} : tile<i32, 8x1>", "axis of 'expand_dims' must be 0 to 1"},
   {"broadcast %t : tile<i32, 8x32>", "only dimensions of size 1 are broadcast; dimension 1 is 16"},
   {"reshape %t : tile<i32, 128>", NULL},
   {"reshape %t : tile<i32, 64>", "keeps the number of elements; tile<i32, 8x16> has 128"},
   {"trans %t {order = [1, 0]} : tile<i32, 16x8>", NULL},
   {"trans %t {order = [1, 1]} : tile<i32, 16x8>", "dimension 1 is named twice"},
   {"trans %t {order = [0, 2]} : tile<i32, 16x8>", "dimension 2 is out of range"},
   {"trans %t : tile<i32, 16x8>", "one dimension number for each of the 2 dimensions"},
   {"join %t, %t : tile<i32, 8x16x2>", NULL},
   {"join %n, %n : tile<i32, 2>", NULL},
   {"cat %v, %v : tile<i32, 16>", NULL},
   {"cat %t, %t : tile<i32, 16x16>", "'cat' needs two one-dimensional tiles"},
   {"gather %tf, %t {axis = 1} : tile<fp32, 8x16>", NULL},
   {"gather %tf, %u {axis = 1} : tile<fp32, 16x8>", "must agree except along axis 1"},
   {"gather %t, %tf {axis = 1} : tile<i32, 8x16>", "indices of 'gather' must be integers"},
   {"cast %t : tile<fp16, 8x16>", NULL},
   {"cast %t : tile<fp16, 16x8>", "'cast' keeps shape and layout"},
   {"bitcast %t : tile<fp32, 8x16>", NULL},
   {"bitcast %l : ptr<fp16>", NULL},
   {"bitcast %t : tile<fp16, 8x16>", "'bitcast' keeps the width; i32 has 32 bits, fp16 has 16"},
   {"dot %ha, %hb, %hc : tile<fp32, 64x16>", NULL},
   {"dot %ha, %hk, %hc : tile<fp32, 64x16>", "must match; left has 32 in tile<fp16, 64x32>"},
   {"dot %ha, %bb, %hc : tile<fp32, 64x16>", "must have one dtype; got fp16 and bf16"},
   {"dot %ha, %hb, %hk : tile<fp16, 64x16>", NULL},
   {"dot %ha, %hb, %tf : tile<fp32, 8x16>", "must have 64 rows and 16 columns"},
   {"dot %i8, %i8, %ic : tile<i32, 16x16>", "must be at least 32 for i8; got 16"},
   {"histogram %v {bins = 4} : tile<i32, 4>", NULL},
   {"histogram %v {bins = 5} : tile<i32, 4>", "must be a power of two"},
   {"reduce %v : i32 (%a1: i32, %a2: i32) {\n      yield %a1\n   }", NULL},
   {"reduce %t {axis = 1} : tile<i32, 8> (%a1: i32, %a2: i32) {\n      yield %a1\n   }", NULL},
   {"reduce %t {axis = 2} : tile<i32, 8> (%a1: i32, %a2: i32) {\n      yield %a1\n   }",
    "axis of 'reduce' must be 0 to 1"},
   {"scan %t : tile<i32, 8x16> (%a1: i32, %a2: i32) {\n      yield %a2\n   }", NULL},
   {"reduce %t {axis = 1} : tile<i32, 8> (%a1: i32, %a2: i32) {\n      store %pi, %a1\n"
    "      yield %a1\n   }",
    "an operation inside 'reduce' must have no effect"},
   {"constant 0 : ptr<fp32>", "a constant has a scalar dtype"},
   {"num_programs {axis = 2} : i32", NULL},
   {"hint %v {hint = contiguous, values = [8]} : tile<i32, 8>", NULL},
};

static void
rules_accept_and_refuse(void **state)
{
   (void)state;
   for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      IrFixture x;
      ir_open(&x);
      bool ok = ir_read(
         &x, tl_arena_printf(x.arena, "%s   %%r = %s\n   return\n}\n", values, cases[i].op));
      const char *messages = ir_messages(&x);
      if (ok != !cases[i].why || (!ok && !strstr(messages, cases[i].why)))
         fail_msg("%s: wanted \"%s\"; got\n%s", cases[i].op, cases[i].why ? cases[i].why : "",
                  messages);
      ir_close(&x);
   }
}

static void
stores_are_checked(void **state)
{
   static const struct {
      const char *op, *why;
   } stores[] = {{"store %ps, %tf, %tb", NULL},
                 {"store %cp, %f", "needs a pointer that may be written"},
                 {"store %ps, %t", "value of 'store' must be tile<fp32, 8x16>, as the pointer is"},
                 {"store %n, %n", "needs a pointer"},
                 {"store %p", "'store' takes at least 2 operands; got 1"},
                 {"assume %n", "'assume' needs a scalar i1; got i32"}};
   (void)state;
   for (unsigned i = 0; i < sizeof stores / sizeof stores[0]; i++) {
      IrFixture x;
      ir_open(&x);
      bool ok =
         ir_read(&x, tl_arena_printf(x.arena, "%s   %s\n   return\n}\n", values, stores[i].op));
      const char *messages = ir_messages(&x);
      if (ok != !stores[i].why || (!ok && !strstr(messages, stores[i].why)))
         fail_msg("%s: wanted \"%s\"; got\n%s", stores[i].op, stores[i].why ? stores[i].why : "",
                  messages);
      ir_close(&x);
   }
}

static void
checks_of_hints_know_their_tile(void **state)
{
   static const struct {
      const char *op, *why;
   } checks[] = {
      {"%i, %i {hint = divisible, size = 2, axis = 1, values = [8, 8]}", NULL},
      {"%n, %n {hint = divisible, size = 2, axis = 0, values = []}", NULL},
      {"%v, %i {hint = divisible, size = 2, axis = 0, values = [64]}",
       "needs integers or pointers"},
      {"%i, %j {hint = divisible, size = 2, axis = 0, values = [64]}",
       "an i32 index of each value"},
      {"%i, %i {hint = divisible, size = 2, axis = 2, values = [8, 8]}", "an axis of it"},
      {"%i, %i {hint = constant, size = 0, axis = 0, values = [64]}", "a positive number"},
      {"%i, %i {hint = contiguous, size = 2, axis = 0, values = [0]}", "needs a shape"},
      {"%i, %i {hint = contiguous, size = 2, axis = 0, values = [65536, 65536]}", "needs a shape"},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof checks / sizeof checks[0]; i++) {
      IrFixture x;
      ir_open(&x);
      bool ok = ir_read(&x, tl_arena_printf(x.arena,
                                            "func @f(%%n: i32) {num_warps = 1, state = lowered} {\n"
                                            "   %%v = poison : regs<fp32, 2>\n"
                                            "   %%i = poison : regs<i32, 2>\n"
                                            "   %%j = poison : regs<i32, 4>\n"
                                            "   check_hint %s\n   return\n}\n",
                                            checks[i].op));
      const char *messages = ir_messages(&x);
      if (ok != !checks[i].why || (!ok && !strstr(messages, checks[i].why)))
         fail_msg("%s: wanted \"%s\"; got\n%s", checks[i].op, checks[i].why ? checks[i].why : "",
                  messages);
      ir_close(&x);
   }
}

/* Relabelling operations derive the layout of their result. */
static void
layouts_follow_relabelling(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlFunc *f = ir_must_read(
      &x, "#a = {shape=[8,4], reg=[[0,1],[0,2]], lane=[[1,0],[2,0],[4,0],[0,0],[0,0]], warp=[], "
          "block=[]}\n"
          "func @f() {num_warps = 1, state = laid} {\n"
          "   %t = constant 1 : tile<i32, 8x4, #a>\n"
          "   return\n"
          "}\n");
   TlBuilder b = tl_builder_before(f->body->block->last);
   TlValue *t = tl_result(f->body->block->first, 0);
   const int64_t swap[] = {1, 0};
   TlValue *trans = tl_b1(&b, TL_OP_TRANS, t, {TL_ATTR_ORDER, {.ints = tl_ints(x.arena, swap, 2)}});
   TlValue *back =
      tl_b1(&b, TL_OP_TRANS, trans, {TL_ATTR_ORDER, {.ints = tl_ints(x.arena, swap, 2)}});
   TlValue *pair = tl_b2(&b, TL_OP_JOIN, t, t);
   TlValue *half = tl_b1(&b, TL_OP_SPLIT, pair);
   assert_ptr_equal(back->type, t->type);
   assert_ptr_equal(half->type, t->type);
   assert_true(trans->type != t->type);
   assert_int_equal(tl_ll_num_regs(pair->type->layout), 8);
   TlOp *reduce = tl_build(&b, TL_OP_REDUCE, &t, 1, NULL, 1,
                           (const TlAttrInit[]){{TL_ATTR_AXIS, {.i = 1}}}, 1, 1);
   TlLinear slice = tl_ll_slice(t->type->layout, 1);
   assert_true(tl_ll_equal(reduce->results[0].type->layout, &slice));
   ir_close(&x);
}

static void
types_are_unique(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   const TlType *f16 = tl_type_scalar(x.types, TL_FP16);
   const uint32_t shape[] = {16, 32}, other[] = {32, 16};
   const TlType *a = tl_type_tile(x.types, f16, 2, shape, NULL);
   assert_ptr_equal(a, tl_type_tile(x.types, f16, 2, shape, NULL));
   assert_ptr_not_equal(a, tl_type_tile(x.types, f16, 2, other, NULL));
   assert_ptr_not_equal(tl_type_ptr(x.types, f16, true), tl_type_ptr(x.types, f16, false));
   TlLinear l = tl_ll_empty(2, shape);
   tl_ll_push(&l, TL_HW_LANE, 1);
   const TlType *laid = tl_type_with_layout(x.types, a, &l);
   assert_ptr_equal(laid, tl_type_tile(x.types, f16, 2, shape, &l));
   assert_ptr_equal(tl_type_with_layout(x.types, laid, NULL), a);
   assert_ptr_equal(tl_type_regs(x.types, f16, 1), f16);
   assert_string_equal(tl_type_cstr(x.arena, laid), "tile<fp16, 16x32>");
   ir_close(&x);
}

int
test_infer(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(rules_accept_and_refuse),
      cmocka_unit_test(stores_are_checked),
      cmocka_unit_test(checks_of_hints_know_their_tile),
      cmocka_unit_test(layouts_follow_relabelling),
      cmocka_unit_test(types_are_unique),
   };
   return cmocka_run_group_tests_name("ir inference", tests, NULL, NULL);
}
