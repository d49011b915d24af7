/* The pass manager: a pass that leaves IR unsound is found at once. */
#include "support/pass_fixture.h"

int test_manager(void);

static void
unsound_ir_is_reported_with_its_pass(void **state)
{
   (void)state;
   IrFixture x;
   ir_open(&x);
   TlArena *scratch = tl_arena_new(&x.mem);
   TlFunc *f = ir_must_read(&x, "func @f(%p: ptr<i32>, %n: i32) {state = typed} {\n"
                                "   store %p, %n\n   return\n}\n");
   TlPassCx cx = pass_context(&x, scratch);
   assert_true(tl_run_named_passes(&cx, f, "cse"));
   tl_remove(f->body->block->last); /* a block without its terminator */
   assert_false(tl_run_named_passes(&cx, f, "cse"));
   assert_true(cx.failed);
   assert_int_equal(x.diags.num_errors, 1);
   assert_int_equal(x.diags.first->code, TL_DIAG_E0360);
   assert_non_null(strstr(x.diags.first->text, "pass 'cse' left"));
   tl_arena_free(scratch);
   ir_close(&x);
}

int
test_manager(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(unsound_ir_is_reported_with_its_pass),
   };
   return cmocka_run_group_tests_name("passes/manager", tests, NULL, NULL);
}
