/* The verifier finds what editing can break; the editing functions break nothing. */
#include "support/ir_fixture.h"

#include "support/gen_ir.h"

int test_verify(void);

static const char *const loop = "func @f(%p: ptr<i32>, %n: i32) {state = typed} {\n"
                                "   %a = add %n, %n : i32\n"
                                "   %b = mul %a, %n : i32\n"
                                "   %s = for %i = %n to %a step %b iter(%c = %n) : i32 {\n"
                                "      %d = add %c, %i : i32\n"
                                "      yield %d\n"
                                "   }\n"
                                "   store %p, %s\n"
                                "   return\n"
                                "}\n";

static TlOp *
nth(TlFunc *f, unsigned n)
{
   TlOp *op = f->body->block->first;
   while (n--)
      op = op->next;
   return op;
}

static void
break_order(TlFunc *f)
{
   tl_move_before(nth(f, 1), nth(f, 0));
}

static void
break_scope(TlFunc *f)
{
   TlOp *d = nth(f, 2)->regions[0]->block->first;
   tl_set_arg(nth(f, 3), 1, tl_result(d, 0));
}

static void
break_type(TlFunc *f)
{
   nth(f, 0)->results[0].type = tl_type_scalar(f->module->types, TL_I64);
}

static void
break_yield(TlFunc *f)
{
   tl_remove_arg(nth(f, 2)->regions[0]->block->last, 0);
}

static void
break_terminator(TlFunc *f)
{
   tl_remove(nth(f, 4));
}

static void
break_state(TlFunc *f)
{
   f->state = TL_STATE_LOWERED;
}

static void
break_operands(TlFunc *f)
{
   tl_remove_arg(nth(f, 0), 1);
}

static void
break_param(TlFunc *f)
{
   f->params[1].type = tl_type_scalar(f->module->types, TL_I64);
}

static void
break_region(TlFunc *f)
{
   nth(f, 2)->num_regions = 0;
}

static void
break_ids(TlFunc *f)
{
   nth(f, 1)->results[0].id = nth(f, 0)->results[0].id;
}

static void
break_warps(TlFunc *f)
{
   f->num_warps = 3;
}

static const struct {
   void (*make)(TlFunc *f);
   const char *why;
} breaks[] = {
   {break_order, "operand 0 is not defined before this use"},
   {break_scope, "operand 1 is not defined before this use"},
   {break_type, "result 0 is i64; operands give i32"},
   {break_yield, "value 0 must be i32; got nothing"},
   {break_terminator, "a block must end with a terminator; it ends with 'store'"},
   {break_operands, "'add' takes 2 operands; got 1"},
   {break_param, "parameter n is i64 but its argument is i32"},
   {break_region, "'for' has 1 regions; got 0"},
   {break_ids, "belongs to two values"},
   {break_warps, "num_warps must be a power of two; got 3"},
   {break_state, "'store' is not an operation of the lowered state"},
};

static void
broken_functions_are_found(void **state)
{
   (void)state;
   for (unsigned i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
      IrFixture x;
      ir_open(&x);
      TlFunc *f = ir_must_read(&x, loop);
      TlSb why;
      tl_sb_init(&why, x.arena);
      assert_true(tl_verify(f, &why));
      breaks[i].make(f);
      assert_false(tl_verify(f, &why));
      if (!strstr(tl_sb_cstr(&why), breaks[i].why))
         fail_msg("case %u: wanted \"%s\"; got %s", i, breaks[i].why, tl_sb_cstr(&why));
      (void)ir_print(&x, x.module); /* broken IR still prints */
      ir_close(&x);
   }
}

static void
all_violations_are_listed(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlFunc *f = ir_must_read(&x, loop);
   break_type(f);
   break_param(f);
   TlSb why;
   tl_sb_init(&why, x.arena);
   assert_false(tl_verify(f, &why));
   assert_non_null(strstr(why.data, "parameter n"));
   assert_non_null(strstr(why.data, "result 0 is i64"));
   assert_non_null(strstr(why.data, "must have one type; got i64 and i32"));
   ir_close(&x);
}

static void
laid_tiles_need_layouts(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   assert_false(ir_read(&x, "func @f() {state = laid} {\n"
                            "   %0 = constant 1 : tile<i32, 8>\n   return\n}\n"));
   assert_non_null(strstr(ir_messages(&x), "every tile has a layout; tile<i32, 8> has none"));
   assert_false(ir_read(&x, "#a = {shape=[8], reg=[[1],[2],[4]], lane=[], warp=[], block=[]}\n"
                            "func @f() {state = typed} {\n"
                            "   %0 = constant 1 : tile<i32, 8, #a>\n   return\n}\n"));
   assert_non_null(strstr(ir_messages(&x), "no tile has a layout yet"));
   assert_false(ir_read(&x, "#a = {shape=[8], reg=[[1],[2],[4]], lane=[], warp=[], block=[]}\n"
                            "#b = {shape=[8], reg=[[4],[2],[1]], lane=[], warp=[], block=[]}\n"
                            "func @f() {state = laid} {\n"
                            "   %0 = constant 1 : tile<i32, 8, #a>\n"
                            "   %1 = constant 1 : tile<i32, 8, #b>\n"
                            "   %2 = add %0, %1 : tile<i32, 8, #a>\n   return\n}\n"));
   assert_non_null(strstr(ir_messages(&x), "must have one layout; both are tile<i32, 8>"));
   ir_close(&x);
}

/* Dominance asked one by one agrees with the verifier's walk. */
static void
dominance_is_consistent(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlFunc *f = ir_must_read(&x, loop);
   TlOp *a = nth(f, 0), *b = nth(f, 1), *loop_op = nth(f, 2), *store = nth(f, 3);
   TlOp *d = loop_op->regions[0]->block->first;
   TlValue *i = loop_op->regions[0]->block->args[0];
   assert_true(tl_value_dominates(tl_result(a, 0), b));
   assert_false(tl_value_dominates(tl_result(b, 0), a));
   assert_false(tl_value_dominates(tl_result(a, 0), a));
   assert_true(tl_value_dominates(tl_result(a, 0), d));
   assert_true(tl_value_dominates(i, d));
   assert_false(tl_value_dominates(i, store));
   assert_false(tl_value_dominates(tl_result(d, 0), store));
   assert_false(tl_value_dominates(tl_result(loop_op, 0), d));
   assert_true(tl_value_dominates(tl_result(loop_op, 0), store));
   assert_true(tl_value_dominates(f->body->block->args[1], a));
   ir_close(&x);
}

static unsigned
count_uses(const TlValue *v)
{
   unsigned n = 0;
   for (const TlUse *u = v->uses; u; u = u->next)
      n++;
   return n;
}

static void
use_lists_follow_edits(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlFunc *f = ir_must_read(&x, loop);
   TlValue *n = f->body->block->args[1];
   TlOp *print = nth(f, 3);
   assert_int_equal(count_uses(n), 5);
   TlBuilder b = tl_builder_before(print);
   TlOp *p = tl_build(&b, TL_OP_DEVICE_PRINT, (TlValue *[]){n, n}, 2, NULL, 0, NULL, 0, 0);
   assert_int_equal(count_uses(n), 7);
   for (unsigned i = 0; i < 5; i++)
      tl_append_arg(p, n);
   assert_int_equal(count_uses(n), 12);
   tl_remove_arg(p, 1);
   tl_remove_arg(p, 0);
   assert_int_equal(count_uses(n), 10);
   TlValue *k = tl_const_int(&b, TL_I32, 3);
   tl_move_before(k->def, nth(f, 0));
   tl_replace_uses(n, k);
   assert_int_equal(count_uses(n), 0);
   assert_int_equal(count_uses(k), 10);
   tl_remove(p);
   assert_int_equal(count_uses(k), 5);
   TlSb why;
   tl_sb_init(&why, x.arena);
   assert_true(tl_verify(f, &why));
   ir_close(&x);
}

int
test_verify(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(broken_functions_are_found), cmocka_unit_test(all_violations_are_listed),
      cmocka_unit_test(laid_tiles_need_layouts),    cmocka_unit_test(dominance_is_consistent),
      cmocka_unit_test(use_lists_follow_edits),
   };
   return cmocka_run_group_tests_name("ir verifier", tests, NULL, NULL);
}
