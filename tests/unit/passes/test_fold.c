/* Fold: each rule on text, and the meaning of whole random functions kept by every clean-up pass
 * and by their fixed point. */
#include "support/pass_fixture.h"

#include "support/run_ir.h"

int test_fold(void);

static void
constants_are_computed(void **state)
{
   (void)state;
   check_passes("fold,dce",
                "   %0 = constant 6 : i32\n"
                "   %1 = constant 7 : i32\n"
                "   %2 = mul %0, %1 : i32\n"
                "   %3 = neg %2 : i32\n"
                "   store %p, %3\n",
                "   %0 = constant -42 : i32\n"
                "   store %p, %0\n");
   check_passes("fold,dce",
                "   %0 = constant 3 : i32\n"
                "   %1 = splat %0 : tile<i32, 4>\n"
                "   %2 = expand_dims %1 {axis = 1} : tile<i32, 4x1>\n"
                "   %3 = broadcast %2 : tile<i32, 4x8>\n"
                "   %4 = trans %3 {order = [1, 0]} : tile<i32, 8x4>\n"
                "   %5 = add %4, %4 : tile<i32, 8x4>\n"
                "   device_print %5\n",
                "   %0 = constant 6 : tile<i32, 8x4>\n"
                "   device_print %0\n");
}

static void
division_by_zero_stays(void **state)
{
   static const char *const text = "   %0 = constant 6 : i32\n"
                                   "   %1 = constant 0 : i32\n"
                                   "   %2 = div %0, %1 : i32\n"
                                   "   store %p, %2\n";
   (void)state;
   check_passes("fold,dce", text, text);
}

static void
integer_identities(void **state)
{
   static const struct {
      const char *op, *result;
   } cases[] = {
      {"add %n, %z", "%n"}, {"add %z, %n", "%n"}, {"sub %n, %z", "%n"},        {"sub %n, %n", "%z"},
      {"mul %n, %o", "%n"}, {"mul %n, %z", "%z"}, {"div %n, %o", "%n"},        {"rem %n, %o", "%z"},
      {"and %n, %n", "%n"}, {"and %n, %a", "%n"}, {"and %z, %n", "%z"},        {"or %n, %z", "%n"},
      {"or %n, %a", "%a"},  {"xor %n, %n", "%z"}, {"xor %n, %z", "%n"},        {"shl %n, %z", "%n"},
      {"shr %n, %z", "%n"}, {"max %n, %n", "%n"}, {"select %c, %n, %n", "%n"},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      static const char *const constants = "   %z = constant 0 : i32\n"
                                           "   %o = constant 1 : i32\n"
                                           "   %a = constant -1 : i32\n"
                                           "   device_print %z, %o, %a\n";
      char before[400], after[400];
      snprintf(before, sizeof before, "%s   %%0 = %s : i32\n   store %%p, %%0\n", constants,
               cases[i].op);
      snprintf(after, sizeof after, "%s   store %%p, %s\n", constants, cases[i].result);
      check_passes("fold,cse,dce", before, after);
   }
}

static void
float_identities_keep_signed_zeros(void **state)
{
   (void)state;
   check_passes("fold,dce",
                "   %0 = constant -0.0 : fp32\n"
                "   %1 = add %x, %0 : fp32\n"
                "   %2 = constant 1.0 : fp32\n"
                "   %3 = mul %2, %1 : fp32\n"
                "   device_print %3\n",
                "   device_print %x\n");
   static const char *const stays = "   %0 = constant 0.0 : fp32\n"
                                    "   %1 = add %x, %0 : fp32\n"
                                    "   %2 = mul %x, %0 : fp32\n"
                                    "   %3 = sub %x, %x : fp32\n"
                                    "   %4 = eq %x, %x : i1\n"
                                    "   device_print %1, %2, %3, %4\n";
   check_passes("fold,dce", stays, stays);
}

static void
chains_are_merged(void **state)
{
   (void)state;
   check_passes("fold,dce",
                "   %0 = constant 5 : i32\n"
                "   %1 = add %n, %0 : i32\n"
                "   %2 = constant -7 : i32\n"
                "   %3 = add %1, %2 : i32\n"
                "   store %p, %3\n",
                "   %0 = constant -2 : i32\n"
                "   %1 = add %n, %0 : i32\n"
                "   store %p, %1\n");
   /* i32 -> i64 -> i32 is nothing; i32 -> i8 -> i32 is not */
   check_passes("fold,dce",
                "   %0 = cast %n : i64\n"
                "   %1 = cast %0 : i32\n"
                "   %2 = cast %m : i8\n"
                "   %3 = cast %2 : i32\n"
                "   %4 = cast %x : fp64\n"
                "   %5 = cast %4 {rounding = rtz} : fp16\n"
                "   device_print %1, %3, %5\n",
                "   %0 = cast %m : i8\n"
                "   %1 = cast %0 : i32\n"
                "   %2 = cast %x {rounding = rtz} : fp16\n"
                "   device_print %n, %1, %2\n");
}

static void
splats_are_computed_once(void **state)
{
   (void)state;
   check_passes("fold,dce",
                "   %0 = constant 128 : tile<i32, 64>\n"
                "   %1 = splat %n : tile<i32, 64>\n"
                "   %2 = mul %1, %0 : tile<i32, 64>\n"
                "   %3 = splat %p : tile<ptr<i32>, 64>\n"
                "   %4 = addptr %3, %2 : tile<ptr<i32>, 64>\n"
                "   %5 = arange {end = 64} : tile<i32, 64>\n"
                "   %6 = addptr %4, %5 : tile<ptr<i32>, 64>\n"
                "   store %6, %5\n",
                "   %0 = constant 128 : i32\n"
                "   %1 = mul %n, %0 : i32\n"
                "   %2 = addptr %p, %1 : ptr<i32>\n"
                "   %3 = splat %2 : tile<ptr<i32>, 64>\n"
                "   %4 = arange {end = 64} : tile<i32, 64>\n"
                "   %5 = addptr %3, %4 : tile<ptr<i32>, 64>\n"
                "   store %5, %4\n");
}

static void
known_control_flow_is_inlined(void **state)
{
   (void)state;
   check_passes("fold,dce",
                "   %0 = constant true : i1\n"
                "   %1 = if %0 : i32 {\n"
                "      %2 = add %n, %m : i32\n"
                "      yield %2\n"
                "   } else {\n"
                "      yield %n\n"
                "   }\n"
                "   store %p, %1\n",
                "   %0 = add %n, %m : i32\n"
                "   store %p, %0\n");
   check_passes("fold,dce",
                "   %0 = constant 4 : i32\n"
                "   %1 = constant 1 : i32\n"
                "   %2 = for %i = %0 to %0 step %1 iter(%a = %n) : i32 {\n"
                "      %3 = add %a, %i : i32\n"
                "      yield %3\n"
                "   }\n"
                "   %5 = constant 5 : i32\n"
                "   %6 = for %j = %0 to %5 step %1 iter(%b = %2) : i32 {\n"
                "      %7 = mul %b, %j : i32\n"
                "      store %p, %7\n"
                "      yield %7\n"
                "   }\n"
                "   store %p, %6\n",
                "   %0 = constant 4 : i32\n"
                "   %1 = mul %n, %0 : i32\n"
                "   store %p, %1\n"
                "   store %p, %1\n");
}

static void
known_masks_are_dropped(void **state)
{
   (void)state;
   check_passes("fold,dce",
                "   %0 = constant true : i1\n"
                "   %1 = constant false : i1\n"
                "   %2 = load %p, %0, %n {cache = cg} : i32\n"
                "   %3 = load %p, %1, %n : i32\n"
                "   store %p, %2, %0\n"
                "   store %p, %3, %1\n"
                "   device_print %3\n",
                "   %0 = load %p {cache = cg} : i32\n"
                "   store %p, %0\n"
                "   device_print %n\n");
}

/* ---- meaning is kept ---- */
static void
run_all(IrFixture *x, const TlFunc *f, Run *runs, uint64_t seed)
{
   static const int64_t programs[][5] = {
      {0, 0, 0, 48, 7}, {3, 1, 2, -16, 0}, {5, 9, 0, 1 << 20, -3}};
   for (unsigned i = 0; i < 3; i++) {
      Run *r = &runs[i];
      r->arena = x->arena;
      memcpy(r->program_id, programs[i], sizeof r->program_id);
      r->n = programs[i][3];
      r->k = programs[i][4];
      run_ir_fill(r, seed + i);
      if (!run_ir(r, f))
         fail_msg("seed %llu: %s", (unsigned long long)seed, r->error);
   }
}

static void
meaning_is_kept(const char *passes, uint64_t first_seed, unsigned num)
{
   static Run before[3], after[3];
   for (uint64_t seed = first_seed; seed < first_seed + num; seed++) {
      IrFixture x;
      ir_open(&x);
      TlArena *scratch = tl_arena_new(&x.mem);
      TlFunc *f = gen_ir_func(x.module, seed, (GenOptions){.num_ops = 60});
      run_all(&x, f, before, seed);
      TlPassCx cx = pass_context(&x, scratch);
      bool ok = passes ? tl_run_named_passes(&cx, f, passes) : tl_pipeline_typed(&cx, f);
      if (!ok)
         fail_msg("seed %llu: %s", (unsigned long long)seed, ir_messages(&x));
      run_all(&x, f, after, seed);
      for (unsigned i = 0; i < 3; i++)
         if (!run_ir_same(&before[i], &after[i]))
            fail_msg("seed %llu, passes %s, program %u: other results\n%s",
                     (unsigned long long)seed, passes ? passes : "all", i, ir_print(&x, x.module));
      tl_arena_free(scratch);
      ir_close(&x);
   }
}

static void
fold_keeps_meaning(void **state)
{
   (void)state;
   meaning_is_kept("fold", 1000, 200);
}

static void
cse_keeps_meaning(void **state)
{
   (void)state;
   meaning_is_kept("cse", 2000, 200);
}

static void
dce_keeps_meaning(void **state)
{
   (void)state;
   meaning_is_kept("dce", 3000, 200);
}

static void
licm_keeps_meaning(void **state)
{
   (void)state;
   meaning_is_kept("licm", 4000, 200);
}

static void
pipeline_keeps_meaning(void **state)
{
   (void)state;
   meaning_is_kept(NULL, 5000, 300);
}

int
test_fold(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_are_computed),
      cmocka_unit_test(division_by_zero_stays),
      cmocka_unit_test(integer_identities),
      cmocka_unit_test(float_identities_keep_signed_zeros),
      cmocka_unit_test(chains_are_merged),
      cmocka_unit_test(splats_are_computed_once),
      cmocka_unit_test(known_control_flow_is_inlined),
      cmocka_unit_test(known_masks_are_dropped),
      cmocka_unit_test(fold_keeps_meaning),
      cmocka_unit_test(cse_keeps_meaning),
      cmocka_unit_test(dce_keeps_meaning),
      cmocka_unit_test(licm_keeps_meaning),
      cmocka_unit_test(pipeline_keeps_meaning),
   };
   return cmocka_run_group_tests_name("fold and clean-up", tests, NULL, NULL);
}
