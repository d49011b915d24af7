/* The order of walks over nested operations, and what the inner-first one lets a caller change. */
#include "support/ir_fixture.h"

#include "ir/walk.h"

int test_walk(void);

/* Constants number the operations; each loop and branch holds some. */
static const char *const nested = "func @f(%n: i32, %t: i1) {state = typed} {\n"
                                  "   %a = constant {value = 1} : i32\n"
                                  "   for %i = %n to %n step %n {\n"
                                  "      if %t {\n"
                                  "         %b = constant {value = 2} : i32\n"
                                  "         yield\n"
                                  "      } else {\n"
                                  "         %c = constant {value = 3} : i32\n"
                                  "         yield\n"
                                  "      }\n"
                                  "      yield\n"
                                  "   }\n"
                                  "   %w = while iter(%x = %n) : i32 {\n"
                                  "      condition %t, %x\n"
                                  "   } do (%y: i32) {\n"
                                  "      %d = constant {value = 4} : i32\n"
                                  "      yield %d\n"
                                  "   }\n"
                                  "   %e = constant {value = 5} : i32\n"
                                  "   return\n"
                                  "}\n";

static char
letter_of(const TlOp *op)
{
   uint64_t bits;
   if (op->num_results && tl_is_const(tl_result(op, 0), &bits))
      return (char)('0' + bits);
   return tl_info(op)->text[0]; /* f i w: for, if, while; y c r: yield, condition, return */
}

static TlFunc *
read_nested(IrFixture *x)
{
   assert_true(ir_read(x, nested));
   return x->module->first_func;
}

static void
orders(void **state)
{
   (void)state;
   IrFixture x;
   ir_open(&x);
   TlFunc *f = read_nested(&x);
   const TlBlock *body = f->body->block;
   char said[64] = {0};
   size_t n = 0;
   for (TlOp *op = body->first; op; op = tl_walk_next(op, body))
      said[n++] = letter_of(op);
   assert_string_equal(said, "1fi2y3yywc4y5r");
   memset(said, 0, sizeof said);
   n = 0;
   for (TlOp *op = tl_walk_inner(body); op; op = tl_walk_inner_next(op, body))
      said[n++] = letter_of(op);
   assert_string_equal(said, "12y3yiyfc4yw5r");
   const TlBlock *loop = body->first->next->regions[0]->block; /* stays inside */
   memset(said, 0, sizeof said);
   n = 0;
   for (TlOp *op = loop->first; op; op = tl_walk_next(op, loop))
      said[n++] = letter_of(op);
   for (TlOp *op = tl_walk_inner(loop); op; op = tl_walk_inner_next(op, loop))
      said[n++] = letter_of(op);
   assert_string_equal(said, "i2y3yy2y3yiy");
   ir_close(&x);
}

static void
removes_and_inserts(void **state)
{
   (void)state;
   IrFixture x;
   ir_open(&x);
   TlFunc *f = read_nested(&x);
   const TlBlock *body = f->body->block;
   char said[64] = {0};
   size_t n = 0;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      said[n++] = letter_of(op);
      if (op->opcode == TL_OP_IF) {
         TlBuilder b = tl_builder_before(op), after = tl_builder_before(op->next);
         tl_const_int(&b, TL_I32, 6);
         tl_const_int(&after, TL_I32, 7);
         tl_remove(op);
      }
   }
   assert_string_equal(said, "12y3yiyfc4yw5r");
   memset(said, 0, sizeof said);
   n = 0;
   for (TlOp *op = body->first; op; op = tl_walk_next(op, body))
      said[n++] = letter_of(op);
   assert_string_equal(said, "1f67ywc4y5r");
   ir_close(&x);
}

static void
around(void **state)
{
   (void)state;
   IrFixture x;
   ir_open(&x);
   const TlBlock *body = read_nested(&x)->body->block;
   TlOp *one = body->first, *loop = one->next, *branch = loop->regions[0]->block->first;
   TlOp *two = branch->regions[0]->block->first;
   assert_ptr_equal(tl_parent(two), branch);
   assert_null(tl_parent(one));
   assert_ptr_equal(tl_in_block(two, body), loop);
   assert_ptr_equal(tl_in_block(two, two->block), two);
   assert_null(tl_in_block(one, two->block));
   assert_true(tl_is_defined_in(tl_result(two, 0), loop));
   assert_true(tl_is_defined_in(loop->regions[0]->block->args[0], loop));
   assert_false(tl_is_defined_in(tl_result(one, 0), loop));
   ir_close(&x);
}

static void
count(void *user, const TlValue *v)
{
   (void)v;
   ++*(unsigned *)user;
}

static void
values(void **state)
{
   (void)state;
   IrFixture x;
   ir_open(&x);
   unsigned n = 0;
   tl_walk_values(read_nested(&x)->body->block, count, &n);
   assert_int_equal(n,
                    2 + 5 + 1 + 1 + 2); /* parameters, constants, while, index, its carried twice */
   ir_close(&x);
}

int
test_walk(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(orders),
      cmocka_unit_test(removes_and_inserts),
      cmocka_unit_test(around),
      cmocka_unit_test(values),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
