/* Expressions of a launch: random chains of scalars against the runtime's own evaluation of the
 * text, and what is refused. */
#include "support/ir_fixture.h"

#include "core/rule.h"
#include "ir/launch_expr.h"

int test_launch_expr(void);

enum { NUM_ARGS = 4, MOST_OPS = 6 };

static const struct {
   const char *name, *text;
   TlDtype dtype;
} args[NUM_ARGS] = {
   {"n", "i32", TL_I32}, {"stride", "i64", TL_I64}, {"b", "u8", TL_U8}, {"m", "u32", TL_U32}};

static int
find(void *user, const char *name, size_t len)
{
   (void)user;
   for (int i = 0; i < NUM_ARGS; i++)
      if (strlen(args[i].name) == len && memcmp(args[i].name, name, len) == 0)
         return i;
   return -1;
}

static uint64_t
next(uint64_t *seed)
{
   *seed = *seed * 6364136223846793005u + 1442695040888963407u;
   return *seed >> 33;
}

/* One operation on values made before; each type has some. */
static TlValue *
random_op(TlBuilder *b, TlValue *const *have, unsigned n, uint64_t *seed)
{
   static const TlOpcode op[] = {TL_OP_ADD, TL_OP_SUB, TL_OP_MUL, TL_OP_DIV,
                                 TL_OP_REM, TL_OP_MIN, TL_OP_MAX};
   static const TlDtype to[] = {TL_I32, TL_I64, TL_U32, TL_I16, TL_U8};
   TlValue *x = have[next(seed) % n];
   if (next(seed) % 3 == 0)
      return tl_t1(b, TL_OP_CAST, tl_type_scalar(b->module->types, to[next(seed) % 5]), x);
   TlValue *y = tl_const_int(b, x->type->dtype, (int64_t)(next(seed) % 9) + 1);
   for (unsigned tries = 0; tries < 4; tries++) {
      TlValue *other = have[next(seed) % n];
      if (other->type == x->type)
         y = other;
   }
   return tl_b2(b, op[next(seed) % 7], x, y);
}

/* The value by the kernel's own rules; false: it is undefined. */
static bool
value_of(const TlValue *v, const TlBlock *body, const int64_t *given, TlBits *out)
{
   for (unsigned i = 0; i < body->num_args; i++)
      if (body->args[i] == v) {
         *out = tl_int_to_bits(args[i].dtype, given[i]);
         return true;
      }
   if (tl_is_const(v, out))
      return true;
   TlBits x[2];
   TlDtype t[2];
   bool undefined = false;
   for (unsigned i = 0; i < v->def->num_args; i++) {
      t[i] = tl_arg(v->def, i)->type->dtype;
      if (!value_of(tl_arg(v->def, i), body, given, &x[i]))
         return false;
   }
   *out = tl_eval(v->def->opcode, v->def->attrs, v->type->dtype, t, x, &undefined);
   return !undefined;
}

static void
text_means_what_the_kernel_computes(void **state)
{
   (void)state;
   unsigned compared = 0;
   for (uint64_t trial = 0; trial < 4000; trial++) {
      IrFixture x;
      uint64_t seed = trial;
      ir_open(&x);
      TlFunc *f = ir_must_read(&x, "func @f(%n: i32, %stride: i64, %b: u8, %m: u32) "
                                   "{state = lowered} {\n   return\n}\n");
      TlBlock *body = f->body->block;
      TlBuilder b = tl_builder_before(body->first);
      TlValue *have[NUM_ARGS + MOST_OPS];
      int64_t given[NUM_ARGS], got;
      for (unsigned i = 0; i < NUM_ARGS; i++) {
         have[i] = body->args[i];
         uint64_t v = next(&seed) << (next(&seed) % 2 ? 32 : 1) | next(&seed);
         given[i] = tl_bits_to_int(args[i].dtype, tl_int_to_bits(args[i].dtype, (int64_t)v));
      }
      for (unsigned i = NUM_ARGS; i < NUM_ARGS + MOST_OPS; i++)
         have[i] = random_op(&b, have, i, &seed);
      const TlValue *v = have[NUM_ARGS + MOST_OPS - 1];
      const char *text = tl_launch_expr(x.arena, f, v), *why;
      TlBits want;
      char error[128];
      TlRule *rule = text ? tl_rule_parse(text, find, NULL, error, sizeof error) : NULL;
      if (text && !rule && !strstr(error, "long"))
         fail_msg("trial %u: %s: %s", (unsigned)trial, text, error);
      /* what overflows 64 bits is refused at the launch */
      if (rule && value_of(v, body, given, &want) && tl_rule_eval(rule, given, &got, &why)) {
         if (got != tl_bits_to_int(v->type->dtype, want))
            fail_msg("trial %u: %s: %lld", (unsigned)trial, text, (long long)got);
         compared++;
      }
      tl_rule_free(rule);
      ir_close(&x);
   }
   assert_true(compared > 2000);
}

static void
what_a_launch_cannot_know_is_refused(void **state)
{
   static const char *const chain[] = {
      "   %x = program_id {axis = 0} : i32\n",
      "   %y = program_id {axis = 0} : i32\n   %x = add %n, %y : i32\n",
      "   %x = shl %n, %n : i32\n",
      "   %y = cast %n : fp32\n   %x = cast %y : i32\n",
      "   %x = ld_global %p {vec = 1} : i32\n",
   };
   (void)state;
   for (unsigned i = 0; i < sizeof chain / sizeof chain[0]; i++) {
      IrFixture x;
      ir_open(&x);
      TlFunc *f = ir_must_read(&x, tl_arena_printf(x.arena,
                                                   "func @f(%%n: i32, %%p: ptr<i32>) {state = "
                                                   "lowered} {\n%s   %%last = neg %%x : i32\n"
                                                   "   return\n}\n",
                                                   chain[i]));
      const TlOp *last = f->body->block->first;
      while (last->opcode != TL_OP_NEG)
         last = last->next;
      assert_null(tl_launch_expr(x.arena, f, tl_arg(last, 0)));
      ir_close(&x);
   }
}

/* What a launch may know about it: the middle of the grid, in numbers without an end. */
static void
estimates_are_of_the_middle_of_the_grid(void **state)
{
   (void)state;
   IrFixture x;
   ir_open(&x);
   TlFunc *f = ir_must_read(&x, "func @f(%n: i32, %p: ptr<i32>) {state = lowered} {\n"
                                "   %x = program_id {axis = 1} : i32\n"
                                "   %y = num_programs {axis = 2} : i32\n"
                                "   %z = mul %x, %n : i32\n"
                                "   %r = rem %z, %y : i32\n"
                                "   %l = ld_global %p {vec = 1} : i32\n"
                                "   %s = add %l, %r : i32\n"
                                "   return\n}\n");
   const TlOp *op = f->body->block->first;
   while (op->opcode != TL_OP_REM)
      op = op->next;
   assert_string_equal(tl_launch_estimate(x.arena, f, tl_result(op, 0)),
                       "(((grid_y // 2) * n) - (grid_z) * (((grid_y // 2) * n) // (grid_z)))");
   while (op->opcode != TL_OP_ADD)
      op = op->next;
   assert_null(tl_launch_estimate(x.arena, f, tl_result(op, 0)));
   ir_close(&x);
}

static void
pointers_move_by_bytes(void **state)
{
   (void)state;
   IrFixture x;
   ir_open(&x);
   TlFunc *f =
      ir_must_read(&x, "func @f(%p: ptr<fp16>, %by: i64) {state = lowered} {\n"
                       "   %q = addptr %p, %by : ptr<fp16>\n"
                       "   %t = tensor_map %q, %by, %by, %by : tmap<fp16, 8x8>\n   return\n}\n");
   unsigned n;
   const TlOp **maps = tl_tensor_maps(x.arena, f, &n);
   assert_int_equal(n, 1);
   assert_string_equal(tl_launch_expr(x.arena, f, tl_arg(maps[0], 0)), "(p + by * 2)");
   ir_close(&x);
}

int
test_launch_expr(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(text_means_what_the_kernel_computes),
                                      cmocka_unit_test(what_a_launch_cannot_know_is_refused),
                                      cmocka_unit_test(estimates_are_of_the_middle_of_the_grid),
                                      cmocka_unit_test(pointers_move_by_bytes)};
   return cmocka_run_group_tests(tests, NULL, NULL);
}
