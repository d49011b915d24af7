/* The text form: what is printed reads back to the same text, in every state; bad text gives
 * located errors and never more than that. */
#include "support/ir_fixture.h"

#include "support/gen_ir.h"

int test_text(void);

static const char *const elu =
   "func @elu(%x: ptr<fp32> {div = 16}, %y: ptr<fp32>, %n: i32, "
   "alpha: fp32 = \"1.0\", p: ptr<i8>, BLOCK) "
   "{num_warps = 4, num_stages = 3, state = typed, grid = \"(cdiv(n, BLOCK),)\"} {\n"
   "   %pid = program_id {axis = 0} : i32\n"
   "   %0 = constant 64 : i32\n"
   "   %1 = mul %pid, %0 : i32\n"
   "   %2 = arange {end = 64} : tile<i32, 64>\n"
   "   %3 = splat %1 : tile<i32, 64>\n"
   "   %offs = add %3, %2 : tile<i32, 64>\n"
   "   %4 = splat %n : tile<i32, 64>\n"
   "   %mask = lt %offs, %4 : tile<i1, 64>\n"
   "   %5 = splat %x : tile<ptr<fp32>, 64>\n"
   "   %6 = addptr %5, %offs : tile<ptr<fp32>, 64>\n"
   "   %v = load %6, %mask {cache = cg, evict = first} : tile<fp32, 64>\n"
   "   %7 = constant 0.1 : tile<fp32, 64>\n"
   "   %8 = constant 0x7fc00000 : tile<fp32, 64>\n"
   "   %9 = constant -0.0 : fp32\n"
   "   %10 = constant true : i1\n"
   "   %11 = constant 18446744073709551615 : u64\n"
   "   %12 = exp %v : tile<fp32, 64>\n"
   "   %13 = splat %y : tile<ptr<fp32>, 64>\n"
   "   %14 = addptr %13, %offs : tile<ptr<fp32>, 64>\n"
   "   store %14, %12, %mask\n"
   "   device_print %v {text = \"a \\\"b\\\"\\n\\x01\"}\n"
   "   return\n"
   "}\n";

static const char *const loops =
   "func @loops(%p: ptr<const fp16>, %n: i64) {num_warps = 8, num_stages = 2, num_ctas = 2, "
   "state = typed, strict_fp = true} {\n"
   "   %0 = constant 0 : i32\n"
   "   %1 = constant 8 : i32\n"
   "   %2 = constant 1 : i32\n"
   "   %3 = constant 1.5e+10 : tile<fp32, 16x16>\n"
   "   %4, %5 = for %i = %0 to %1 step %2 iter(%acc = %3, %c = %n) "
   "{num_stages = 3} : tile<fp32, 16x16>, i64 {\n"
   "      %6 = lt %i, %2 : i1\n"
   "      %7 = if %6 : i64 {\n"
   "         yield %c\n"
   "      } else {\n"
   "         %8 = add %c, %n : i64\n"
   "         yield %8\n"
   "      }\n"
   "      %acc_1 = add %acc, %3 : tile<fp32, 16x16>\n"
   "      yield %acc_1, %7\n"
   "   }\n"
   "   %9 = reduce %4 {axis = 1} : tile<fp32, 16> (%10: fp32, %11: fp32) {\n"
   "      %12 = max %10, %11 {nan = all} : fp32\n"
   "      yield %12\n"
   "   }\n"
   "   %13 = while iter(%14 = %5) : i64 {\n"
   "      %15 = gt %14, %n : i1\n"
   "      condition %15, %14\n"
   "   } do (%16: i64) {\n"
   "      %17 = sub %16, %n : i64\n"
   "      yield %17\n"
   "   }\n"
   "   return\n"
   "}\n";

static const char *const laid =
   "#l0 = {shape=[64], reg=[[1],[2]], lane=[[4],[8],[16],[32],[0]], warp=[[0],[0]], block=[]}\n"
   "#l1 = {shape=[64], reg=[[1],[2],[4],[8],[16],[32]], lane=[], warp=[], block=[]}\n"
   "\n"
   "func @laid(%x: ptr<fp16> {div = 16}) {num_warps = 4, num_stages = 3, state = laid, "
   "target = \"sm_90a\"} {\n"
   "   %0 = arange {end = 64} : tile<i32, 64, #l0>\n"
   "   %1 = splat %x : tile<ptr<fp16>, 64, #l0>\n"
   "   %2 = addptr %1, %0 : tile<ptr<fp16>, 64, #l0>\n"
   "   %3 = constant 1 : i32\n"
   "   %4 = local_alloc : memdesc<fp16, 3 x 64, #l1>\n"
   "   %5 = local_view %4, %3 : memdesc<fp16, 64, #l1>\n"
   "   %6 = async_copy %2, %5 : token\n"
   "   %7 = async_wait %6 {num = 0} : token\n"
   "   %8 = local_load %5 : tile<fp16, 64, #l0>\n"
   "   %9 = expand_dims %8 {axis = 1} : tile<fp16, 64x1, #l2>\n"
   "   return\n"
   "}\n";

static const char *const lowered =
   "func @low(%x: ptr<fp16>) {num_warps = 4, num_stages = 3, state = lowered, target = \"sm_80\", "
   "shared_bytes = 4096} {\n"
   "   %0 = lane_id : i32\n"
   "   %1 = ld_global %x {vec = 8} : regs<fp16, 8>\n"
   "   %2 = pick %1 {index = [3..0 by -1]} : regs<fp16, 4>\n"
   "   st_shared %0, %2 {vec = 4, offsets = [0]}\n"
   "   bar_sync\n"
   "   role {num_warps = 2} {\n"
   "      yield\n"
   "   }\n"
   "   return\n"
   "}\n";

static void
check_round_trip(IrFixture *x, const char *text)
{
   ir_must_read(x, text);
   const char *printed = ir_print(x, x->module);
   assert_string_equal(printed, text);
}

static void
every_state_round_trips(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   check_round_trip(&x, elu);
   check_round_trip(&x, loops);
   check_round_trip(&x, lowered);
   /* the layout of the expanded tile is derived: #l2 */
   TlSb sb;
   tl_sb_init(&sb, x.arena);
   tl_sb_str(&sb, "#l2 = {shape=[64,1], reg=[[1,0],[2,0]], lane=[[4,0],[8,0],[16,0],[32,0],[0,0]], "
                  "warp=[[0,0],[0,0]], block=[]}\n");
   const char *rest = strstr(laid, "\n\n") + 1;
   const char *text =
      tl_arena_printf(x.arena, "%.*s%s%s", (int)(rest - laid), laid, tl_sb_cstr(&sb), rest);
   check_round_trip(&x, text);
   ir_close(&x);
}

static void
random_functions_round_trip(void **state)
{
   (void)state;
   for (uint64_t seed = 0; seed < 300; seed++) {
      IrFixture x;
      ir_open(&x);
      TlFunc *f = gen_ir_func(x.module, seed, (GenOptions){.num_ops = 40});
      TlSb why;
      tl_sb_init(&why, x.arena);
      if (!tl_verify(f, &why))
         fail_msg("seed %llu: %s", (unsigned long long)seed, tl_sb_cstr(&why));
      const char *text = ir_print(&x, x.module);
      if (!ir_read(&x, text))
         fail_msg("seed %llu: %s", (unsigned long long)seed, ir_messages(&x));
      assert_string_equal(ir_print(&x, x.module), text);
      TlFunc *copy = tl_func_clone(x.module->first_func);
      assert_true(tl_verify(copy, &why));
      ir_close(&x);
   }
}

/* What tells operations apart is printed at its default too; the reader takes it left out. */
static void
kinds_are_always_printed(void **state)
{
   static const struct {
      const char *short_form, *printed;
   } rows[] = {
      {"%1 = mma %a, %b, %c : regs<fp32, 4>", "{mma = m16n8k16.f16.f32}"},
      {"%1 = shfl %r, %0 : regs<fp16, 2>", "{shfl = bfly}"},
      {"%1 = ldmatrix %0 : regs<fp16, 8>", "{num = 4}"},
      {"cp_async %0, %x", "{bytes = 16}"},
      {"cp_async_wait", "{num = 0}"},
      {"%1 = mma %a2, %b, %c2 {reps = {m = 2}} : regs<fp32, 8>", "reps = {m = 2, n = 1}}"},
      {"%1 = mma %a2, %b8, %c4 {reps = {k = 2, n = 4}} : regs<fp32, 16>", "{m = 1, n = 4, k = 2}}"},
      {"%1 = ld_shared %0 {extent = {end = 64}} : fp16", "extent = {begin = 0, end = 64}}"},
      {"%1 = ld_shared %0 {extent = {begin = 8, end = 64, stages = 2, phase = 0}} : fp16",
       "extent = {begin = 8, end = 64, stages = 2, phase = 0}}"},
      {"%1 = ldmatrix %0 {trans = true} : regs<fp16, 8>", "{num = 4, trans}"},
      {"%1 = wgmma %0, %0 {a_desc = {swizzle = 1, stride = 64}, b_desc = {mn_major = 1}, "
       "offsets = [0, 0]} : inflight<fp32, 4>",
       "a_desc = {swizzle = 1, mn_major = 0, leading = 0, stride = 64}, "
       "b_desc = {swizzle = 0, mn_major = 1, leading = 0, stride = 0}, offsets = [0, 0]}"},
      {"%1 = constant {value = 2.0} : fp16", "constant 2.0 : fp16"},
      {"%1 = ld_global %x : fp16", "{vec = 1}"},
      {"%1 = program_id : i32", "{axis = 0}"},
      {"%1 = sreg : i64", "{sreg = globaltimer}"},
      {"%1 = atom_rmw %x, %x : fp16", "{rmw = add, sem = acq_rel, scope = gpu, vec = 1}"},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      IrFixture x;
      ir_open(&x);
      ir_must_read(&x, tl_arena_printf(x.arena,
                                       "func @f(%%x: ptr<fp16>) {state = lowered} {\n"
                                       "   %%0 = lane_id : i32\n"
                                       "   %%r = poison : regs<fp16, 2>\n"
                                       "   %%a = poison : regs<fp16, 8>\n"
                                       "   %%a2 = poison : regs<fp16, 16>\n"
                                       "   %%b = poison : regs<fp16, 4>\n"
                                       "   %%b8 = poison : regs<fp16, 32>\n"
                                       "   %%c = poison : regs<fp32, 4>\n"
                                       "   %%c2 = poison : regs<fp32, 8>\n"
                                       "   %%c4 = poison : regs<fp32, 16>\n"
                                       "   %s\n   return\n}\n",
                                       rows[i].short_form));
      const char *text = ir_print(&x, x.module);
      if (!strstr(text, rows[i].printed))
         fail_msg("no %s in\n%s", rows[i].printed, text);
      check_round_trip(&x, text);
      ir_close(&x);
   }
}

/* Long lists are printed in short and read back number by number. */
static void
lists_are_printed_in_short(void **state)
{
   static const struct {
      const char *list, *printed;
      unsigned num;
   } rows[] = {
      {"0, 1, 2", "0, 1, 2", 3},
      {"0, 1, 2, 3", "0..3", 4},
      {"5, 5, 5, 5, 1", "5 x 4, 1", 5},
      {"0, 2048, 4096, 6144", "0..6144 by 2048", 4},
      {"7, 6, 5, 4, 9, 9", "7..4 by -1, 9, 9", 6},
      {"0, 0, 1, 1, 0, 0, 1, 1", "bits 0, 1, 0", 8},
      {"0, 1, 8, 9, 4, 5, 12, 13", "bits 1, 8, 4", 8},
      {"0, 1, 8, 9, 4, 5, 12, 14", "0, 1, 8, 9, 4, 5, 12, 14", 8},
      {"1, 1, 0, 0, 1, 1, 0, 0", "1, 1, 0, 0, 1, 1, 0, 0", 8},
      {"9223372036854775806, 9223372036854775807, -9223372036854775808, -9223372036854775807",
       "9223372036854775806, 9223372036854775807, -9223372036854775808, -9223372036854775807", 4},
   };
   (void)state;
   for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      IrFixture x;
      ir_open(&x);
      static const char form[] =
         "func @f() {num_warps = 4, num_stages = 3, state = lowered} {\n"
         "   %%0 = lane_id : i32\n"
         "   %%1 = ld_shared %%0 {vec = 1, offsets = [%s]} : regs<i32, %u>\n"
         "   return\n}\n";
      ir_must_read(&x, tl_arena_printf(x.arena, form, rows[i].list, rows[i].num));
      const char *text = ir_print(&x, x.module);
      assert_string_equal(text, tl_arena_printf(x.arena, form, rows[i].printed, rows[i].num));
      check_round_trip(&x, text);
      ir_close(&x);
   }
}

static void
names_stay_unique(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlFunc *f = tl_func_new(x.module, "odd name.kernel", (TlRange){0});
   TlBuilder b = tl_builder_at_end(f, f->body->block);
   static const char *const names[] = {"v", "v", "v_1", "v", "7", "a b", NULL, ""};
   for (unsigned i = 0; i < 8; i++)
      tl_const_int(&b, TL_I32, i)->name = names[i];
   tl_build(&b, TL_OP_RETURN, NULL, 0, NULL, 0, NULL, 0, 0);
   const char *text = ir_print(&x, x.module);
   assert_non_null(strstr(text, "func @\"odd name.kernel\"("));
   assert_non_null(strstr(text, "%v_1 = constant 1"));
   assert_non_null(strstr(text, "%v_1_1 = constant 2"));
   check_round_trip(&x, text);
   ir_close(&x);
}

static void
locations_round_trip(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   static const char *const kernel = "def f():\n    \xc3\xa9 = program_id(0)\n";
   uint32_t file = tl_sources_add(x.sources, "k.tile", kernel, strlen(kernel));
   TlFunc *f = tl_func_new(x.module, "f", tl_range(file, 0, 8));
   TlBuilder b = tl_builder_at_end(f, f->body->block);
   b.range = tl_range(file, 18, 31);
   tl_b0(&b, TL_OP_PROGRAM_ID, NULL);
   b.range = (TlRange){0};
   tl_build(&b, TL_OP_RETURN, NULL, 0, NULL, 0, NULL, 0, 0);
   TlSb text;
   tl_sb_init(&text, x.arena);
   tl_print_module(x.module, x.sources, &text);
   assert_non_null(strstr(text.data, "loc(\"k.tile\":2:9+13)"));
   TlFunc *again = ir_must_read(&x, text.data);
   TlRange r = again->body->block->first->range;
   assert_int_equal(r.file, file);
   assert_int_equal(r.begin, 18);
   assert_int_equal(r.end, 31);
   assert_int_equal(again->range.begin, 0);
   assert_int_equal(again->range.end, 8);
   ir_close(&x);
}

static const struct {
   const char *body, *message;
} bad[] = {
   {"   %0 = constant 1 : i32\n   %1 = ad %0, %0 : i32\n", "unknown operation 'ad'"},
   {"   %1 = add %0, %0 : i32\n", "value '%0' is not defined before this use"},
   {"   %0 = constant 1 : i32\n   %0 = constant 1 : i32\n", "value '%0' is defined twice"},
   {"   %0 = constant 1 : i32\n   %1 = constant 1 : i64\n"
    "   %2 = add %0, %1 : i32\n",
    "operands of 'add' must have one type; got i32 and i64"},
   {"   %0 = constant 300 : i8\n", "'300' is not a value of i8"},
   {"   %0 = constant 1.5 : i32\n", "'1.5' is not a value of i32"},
   {"   %0 = constant {valu = 1} : i32\n", "'constant' has no attribute 'valu'"},
   {"   %0 = constant 1 : tile<i32, 3>\n", "expected a shape"},
   {"   %0 = constant 1 : tile<i32, 2097152>\n", "expected a shape"},
   {"   %0 = constant 1 : tile<i32, 4, #l9>\n", "layout '#l9' is not defined"},
   {"   %0 = constant 1 : regs<i32, 4>\n", "is not of this state"},
   {"   %0 = lane_id : i32\n", "'lane_id' is not an operation of the typed state"},
   {"   %0 = constant 1 : i32\n   %1 = lt %0, %0 : i32\n", "the result of 'lt' is i1, not i32"},
   {"   %0 = constant true : i1\n   if %0 {\n      %1 = constant 1 : i32\n"
    "      yield\n   } else {\n      yield\n   }\n   %2 = add %1, %1 : i32\n",
    "value '%1' is not defined before this use"},
   {"   %0 = constant true : i1\n   if %0 {\n      yield\n   }\n", "has 2 regions; got 1"},
   {"   %0 = constant 1 : i32\n   %t = constant true : i1\n"
    "   %1 = while iter(%c = %0) : i32 {\n      condition %t, %c\n   } do {\n      yield %0\n   "
    "}\n",
    "region argument 0 must be i32; got nothing"},
   {"   %0 = constant 1 : i32\n   for %0, %0, %0 {\n      yield\n   }\n", "expected '='"},
   {"   %0 = constant 1 : i32\n   for %i = %0 {\n      yield\n   }\n",
    "expected 'to' and the upper bound"},
   {"   %0 = constant 1 : i32\n   for %i = %0 to %0 {\n      yield\n   }\n",
    "expected 'step' and a value"},
   {"   %0 = constant 1 : i32\n   for %i = %0 to %0 step %0 iter(%a = %0) {\n"
    "      yield %a\n   }\n",
    "'for' has a result for each carried value; got 0 for 1"},
   {"   %0 = constant 1 : i32\n   for %0 = %0 to %0 step %0 {\n      yield\n   }\n",
    "value '%0' is defined twice"},
   {"   return\n   %0 = constant 1 : i32\n", "'return' must be the last of its block"},
   {"   %0 = load %p {cache = cx} : fp32\n", "attribute 'cache' needs one of none, ca, cg"},
   {"   %0 = ld_shared %p {extent = {first = 1}} : i32\n", "'extent' has no attribute 'first'"},
   {"   %0 = ld_shared %p {extent = [0, 8]} : i32\n", "expected '{'; got '['"},
   {"   %0 = ld_shared %p {extent = {begin = 1, }} : i32\n", "'extent' has no attribute '}'"},
   {"   %0 = constant 1 : i32\n   %1 = wgmma %0, %0 {b_desc = {swizzle = 1}, offsets = [0, 0]} : "
    "inflight<fp32, 4>\n",
    "'wgmma' has 'a_desc' and 'b_desc' for operands in shared memory only"},
   {"   %0 = constant 1 : i32\n   %1 = wgmma %0, %0 {mma = m64k32.s8.s32, a_desc = {swizzle = 1}, "
    "b_desc = {swizzle = 1, mn_major = 1}, offsets = [0, 0]} : inflight<i32, 4>\n",
    "'wgmma' reads 'mn_major' operands of 16-bit elements only"},
   {"   %0 = constant x : i32\n", "expected a number; got 'x'"},
   {"   %0 = trans %p {order = [0..5 by 2]} : fp32\n", "a run that ends where its steps lead"},
   {"   %0 = trans %p {order = [0..5 by -1]} : fp32\n", "a run that ends where its steps lead"},
   {"   %0 = trans %p {order = [5..0]} : fp32\n", "a run that ends where its steps lead"},
   {"   %0 = trans %p {order = [0 x 4194304, 0 x 2]} : fp32\n", "fewer numbers in short forms"},
   {"   %0 = trans %p {order = [bits 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, "
    "18, "
    "19, 20, 21, 22, 23]} : fp32\n",
    "fewer numbers in short forms"},
};

static void
errors_say_what_is_wrong(void **state)
{
   (void)state;
   for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
      IrFixture x;
      ir_open(&x);
      const char *text = tl_arena_printf(
         x.arena, "func @f(%%p: ptr<fp32>) {state = typed} {\n%s   return\n}\n", bad[i].body);
      assert_false(ir_read(&x, text));
      const char *messages = ir_messages(&x);
      if (!strstr(messages, bad[i].message))
         fail_msg("case %u: wanted \"%s\"; got\n%s", i, bad[i].message, messages);
      assert_null(x.module->first_func);
      assert_int_not_equal(x.diags.first->range.file, 0);
      ir_close(&x);
   }
}

static void
one_broken_function_leaves_the_others(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   assert_false(ir_read(&x, "func @a() {state = typed} {\n   oops\n   return\n}\n"
                            "func @b() {state = typed} {\n   return\n}\n"));
   TlModule *m = x.module;
   assert_string_equal(m->first_func->name, "b");
   assert_ptr_equal(m->last_func, m->first_func);
   assert_null(m->first_func->next);
   assert_false(ir_read(&x, "func @c() {state = typed} {\n   oops\n   return\n}\n"));
   assert_ptr_equal(m->last_func, m->first_func);
   TlFunc *copy = tl_func_clone(m->first_func); /* joins the list where the broken one was */
   assert_ptr_equal(m->first_func->next, copy);
   assert_ptr_equal(copy->prev, m->first_func);
   assert_ptr_equal(m->last_func, copy);
   assert_null(copy->next);
   assert_int_equal(x.diags.num_errors, 2);
   ir_close(&x);
}

/* Cut and damaged text: an error or a sound module, nothing else. */
static void
hostile_text_is_survived(void **state)
{
   static const char *const texts[] = {elu, loops, laid, lowered};
   uint64_t rng = 99;
   (void)state;
   for (unsigned t = 0; t < 4; t++) {
      size_t len = strlen(texts[t]);
      for (unsigned trial = 0; trial < 700; trial++) {
         IrFixture x;
         ir_open(&x);
         char *text = tl_arena_strdup(x.arena, texts[t]);
         rng = rng * 6364136223846793005u + 1442695040888963407u;
         size_t at = (size_t)(rng >> 33) % len;
         if (trial % 3 == 0)
            text[at] = 0;
         else if (trial % 3 == 1)
            text[at] = "%<>{}(),=:#@x0-\"\n"[(rng >> 20) % 17];
         else
            memmove(text + at, text + at + 1 + (rng >> 25) % (len - at),
                    strlen(text + at + 1 + (rng >> 25) % (len - at)) + 1);
         bool ok = ir_read(&x, text);
         assert_true(ok || x.diags.num_errors > 0);
         TlSb why;
         tl_sb_init(&why, x.arena);
         for (TlFunc *f = x.module->first_func; f; f = f->next)
            assert_true(tl_verify(f, &why));
         ir_close(&x);
      }
   }
}

static void
nesting_is_bounded(void **state)
{
   IrFixture x;
   (void)state;
   ir_open(&x);
   TlSb sb;
   tl_sb_init(&sb, x.arena);
   tl_sb_str(&sb, "func @f() {\n %0 = constant true : i1\n");
   for (unsigned i = 0; i < 5000; i++)
      tl_sb_str(&sb, "if %0 {\n");
   assert_false(ir_read(&x, tl_sb_cstr(&sb)));
   assert_non_null(strstr(ir_messages(&x), "nest at most 256 deep"));
   tl_sb_init(&sb, x.arena);
   tl_sb_str(&sb, "func @f(%p: ");
   for (unsigned i = 0; i < 5000; i++)
      tl_sb_str(&sb, "ptr<");
   assert_false(ir_read(&x, tl_sb_cstr(&sb)));
   ir_close(&x);
}

int
test_text(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_state_round_trips),
      cmocka_unit_test(random_functions_round_trip),
      cmocka_unit_test(kinds_are_always_printed),
      cmocka_unit_test(lists_are_printed_in_short),
      cmocka_unit_test(names_stay_unique),
      cmocka_unit_test(locations_round_trip),
      cmocka_unit_test(errors_say_what_is_wrong),
      cmocka_unit_test(one_broken_function_leaves_the_others),
      cmocka_unit_test(hostile_text_is_survived),
      cmocka_unit_test(nesting_is_bounded),
   };
   return cmocka_run_group_tests_name("ir text", tests, NULL, NULL);
}
