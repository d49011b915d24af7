/* Passes on textual IR: body in, passes, body out. */
#ifndef TESTS_SUPPORT_PASS_FIXTURE_H
#define TESTS_SUPPORT_PASS_FIXTURE_H

#include "support/ir_fixture.h"

#include "passes/pass.h"

static inline TlPassCx
pass_context(IrFixture *x, TlArena *scratch)
{
   return (TlPassCx){
      .scratch = scratch, .sources = x->sources, .diags = &x->diags, .verify_each = true};
}

/* The parameters are %p: ptr<i32>, %n, %m: i32, %c: i1, %x: fp32; a return follows the body.
 * Running the passes again must change nothing. */
static inline void
check_passes(const char *passes, const char *before, const char *after)
{
   static const char *const head = "func @f(%p: ptr<i32>, %n: i32, %m: i32, %c: i1, %x: fp32) "
                                   "{num_warps = 4, num_stages = 3, state = typed} {\n";
   IrFixture x;
   ir_open(&x);
   TlArena *scratch = tl_arena_new(&x.mem);
   TlFunc *f = ir_must_read(&x, tl_arena_printf(x.arena, "%s%s   return\n}\n", head, before));
   TlPassCx cx = pass_context(&x, scratch);
   if (!tl_run_named_passes(&cx, f, passes))
      fail_msg("%s", ir_messages(&x));
   const char *got = ir_print(&x, x.module);
   assert_string_equal(got, tl_arena_printf(x.arena, "%s%s   return\n}\n", head, after));
   assert_true(tl_run_named_passes(&cx, f, passes));
   assert_string_equal(ir_print(&x, x.module), got);
   tl_arena_free(scratch);
   ir_close(&x);
}

#endif
