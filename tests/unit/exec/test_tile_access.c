/* Loads rebuilt from what tl_tile_access says of them, as a copy by a tensor map would do: run on
 * the CPU executor beside the program as it was written.  The array holds its own indices, so that
 * equal values are equal addresses. */
#include "support/builtin_run.h"

#include "ir/affine.h"
#include "ir/walk.h"

int test_tile_access(void);

enum { ROWS = 16, COLUMNS = 8, LENGTH = 1 << 15, OUT = ROWS * COLUMNS * 16 };

/* ---- random programs ---- */
typedef struct Text {
   char bytes[4096];
   uint64_t seed;
} Text;

static bool
one_in(Text *t, unsigned n)
{
   return next_random(&t->seed) % n == 0;
}

static const char *
any_of(Text *t, const char *const *words, unsigned n)
{
   return words[next_random(&t->seed) % n];
}
#define ANY(t, ...)                                                                                \
   any_of(t, (const char *const[]){__VA_ARGS__},                                                   \
          sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void __attribute__((format(printf, 2, 3)))
say(Text *t, const char *format, ...)
{
   va_list args;
   size_t len = strlen(t->bytes);
   va_start(args, format);
   vsnprintf(t->bytes + len, sizeof t->bytes - len, format, args);
   va_end(args);
}

/* Rows by program, columns by loop, in the ways that programs write them. */
static void
random_program(Text *t)
{
   bool wraps = one_in(t, 3), steps = one_in(t, 2), down = !steps && one_in(t, 4);
   const char *first = down ? "(blocks - 1 - j)" : "j";
   say(t, "def k(p: *i32:16, out: *i32:16, m: i32, n: i32, row: i32:16, blocks: i32):\n"
          "    i = arange(0, 16)\n    c = arange(0, 8)\n");
   say(t, "    pid = %s\n",
       ANY(t, "program_id(0)", "num_programs(0) - 1 - program_id(0)", "program_id(0) // 1"));
   say(t, "    r = %s\n", ANY(t, "pid * 16 + i", "pid * 16 + i", "i + pid * 16 - 3", "i"));
   say(t, "    q = %s\n", !wraps ? "r" : ANY(t, "r % m", "tl.where(r < m, r, 0)"));
   say(t, "    base = p + %s\n", ANY(t, "0", "16", "program_id(0).to(tl.int64) * 64"));
   say(t, "    acc = zeros((16, 8), i32)\n");
   if (steps)
      say(t, "    ptrs = base + q[:, None] * row + c[None, :]\n");
   say(t, "    for j in range(0, blocks):\n");
   if (!steps)
      say(t, "        ptrs = base + (q[:, None] * row + %s[None, :])\n",
          down ? "((blocks - 1 - j) * 8 + c)" : "(j * 8 + c)");
   say(t, "        mask = (c[None, :] < n - %s * 8)", first);
   bool masks = !wraps || one_in(t, 2), below = strstr(t->bytes, "- 3") != NULL;
   if (masks)
      say(t, " & (r[:, None] < m)");
   if (below)
      say(t, " & (r >= 0)[:, None]");
   say(t, "\n        acc += tl.load(ptrs, mask=mask, other=0)\n");
   if (steps)
      say(t, "        ptrs += 8\n");
   say(t, "    at = out + (program_id(0) * 128 + i[:, None] * 8 + c[None, :])\n");
   if (wraps || one_in(t, 2))
      say(t, "    tl.store(at, acc, mask=(r[:, None] < m)%s)\n",
          below ? " & (r >= 0)[:, None]" : "");
   else
      say(t, "    tl.store(at, acc)\n");
}

/* ---- the load again ---- */
static TlValue *
along(TlBuilder *b, TlValue *v, const TlType *tile, unsigned dim)
{
   for (unsigned d = 0; d < tile->rank; d++)
      if (d != dim)
         v = tl_b1(b, TL_OP_EXPAND_DIMS, v, {TL_ATTR_AXIS, {.i = d}});
   const TlType *t = tl_type_tile(b->module->types, v->type->elem, tile->rank, tile->shape, NULL);
   return tl_t1(b, TL_OP_BROADCAST, t, v);
}

static TlValue *
whole(TlBuilder *b, TlValue *scalar, const TlType *tile)
{
   return tl_t1(b, TL_OP_SPLAT,
                tl_type_tile(b->module->types, scalar->type, tile->rank, tile->shape, NULL),
                scalar);
}

static void
rebuild(TlOp *load, const TlTileAccess *x)
{
   TlBuilder b = tl_builder_before(load);
   TlTypes *types = b.module->types;
   const TlType *tile = tl_arg(load, 0)->type;
   TlValue *at = tl_sum_build(&b, &x->offset), *mask = NULL;
   for (unsigned k = 0; k < x->num_outer; k++)
      at = tl_b2(&b, TL_OP_ADD, at,
                 tl_b2(&b, TL_OP_MUL, tl_sum_build(&b, &x->outer[k].index),
                       tl_term_build(&b, &x->outer[k].stride)));
   at = whole(&b, at, tile);
   for (unsigned d = 0; d < x->rank; d++) {
      const TlType *line =
         tl_type_tile(types, tl_type_scalar(types, TL_I32), 1, &tile->shape[d], NULL);
      const TlType *wide =
         tl_type_tile(types, tl_type_scalar(types, TL_I64), 1, &tile->shape[d], NULL);
      TlAttrInit range[] = {{TL_ATTR_START, {.i = 0}}, {TL_ATTR_END, {.i = tile->shape[d]}}};
      TlOp *arange = tl_build(&b, TL_OP_ARANGE, NULL, 0, &line, 1, range, 2, 0);
      TlValue *i = along(&b, tl_t1(&b, TL_OP_CAST, wide, tl_result(arange, 0)), tile, d);
      i = tl_b2(&b, TL_OP_ADD, i, whole(&b, tl_sum_build(&b, &x->dim[d].start), tile));
      at = tl_b2(&b, TL_OP_ADD, at,
                 tl_b2(&b, TL_OP_MUL, i, whole(&b, tl_term_build(&b, &x->dim[d].stride), tile)));
      TlValue *in = tl_b2(&b, TL_OP_GE, i, tl_const_bits(&b, i->type, 0));
      mask = mask ? tl_b2(&b, TL_OP_AND, mask, in) : in;
      if (x->dim[d].has_bound)
         mask = tl_b2(&b, TL_OP_AND, mask,
                      tl_b2(&b, TL_OP_LT, i, whole(&b, tl_sum_build(&b, &x->dim[d].bound), tile)));
   }
   TlValue *base = whole(&b, (TlValue *)x->base, tile);
   tl_set_arg(load, 0, tl_b2(&b, TL_OP_ADDPTR, base, at));
   tl_set_arg(load, 1, mask);
}

static TlOp *
find_load(TlFunc *f)
{
   const TlBlock *body = f->body->block;
   TlOp *op = body->first;
   while (op && op->opcode != TL_OP_LOAD)
      op = tl_walk_next(op, body);
   return op;
}

typedef struct Data {
   int32_t in[LENGTH], out[2][OUT];
   TlExecArg args[6];
} Data;

static void
run(Data *d, const TlFunc *f, unsigned which, const char *text)
{
   TlExecFault fault = {0};
   TlExecOptions options = {.threads = 1};
   memset(d->out[which], 0x55, sizeof d->out[which]);
   d->args[1] = (TlExecArg)BUF(d->out[which]);
   if (tl_exec_cpu(f, d->args, 6, (uint32_t[3]){3, 1, 1}, &options, &fault) != TL_EXEC_OK)
      fail_msg("%s does not run: %s\n%s", which ? "the load rebuilt" : "the program",
               fault.text ? fault.text : "", text);
}

static void
rebuilt_loads_read_the_same(void **state)
{
   enum { PROGRAMS = 600 };
   (void)state;
   static Data d;
   unsigned recovered = 0;
   for (unsigned i = 0; i < LENGTH; i++)
      d.in[i] = (int32_t)(i + 1);
   for (unsigned n = 0; n < PROGRAMS; n++) {
      Text t = {.seed = n};
      random_program(&t);
      SemaRun r = TILE(t.bytes);
      sema_run(&r);
      if (!r.func)
         fail_msg("program %u: %s\n%s", n, r.errors, t.bytes);
      int m = 1 + (int)(next_random(&t.seed) % 40), columns = 1 + (int)(next_random(&t.seed) % 24);
      d.args[0] = (TlExecArg)BUF(d.in);
      d.args[2] = (TlExecArg)NUM(m);
      d.args[3] = (TlExecArg)NUM(columns);
      d.args[4] = (TlExecArg)NUM(32 * (1 + next_random(&t.seed) % 3));
      d.args[5] = (TlExecArg)NUM((columns + 7) / 8);
      run(&d, r.func, 0, t.bytes);
      TlOp *load = find_load(r.func);
      TlTileAccess x;
      if (tl_tile_access(tl_affine_new(r.arena, r.func), load, &x)) {
         rebuild(load, &x);
         run(&d, r.func, 1, t.bytes);
         if (memcmp(d.out[0], d.out[1], sizeof d.out[0]) != 0)
            fail_msg("program %u reads other elements once its load is rebuilt:\n%s", n, t.bytes);
         recovered++;
      }
      sema_run_free(&r);
   }
   if (recovered < PROGRAMS * 3 / 4)
      fail_msg("only %u of %u loads are boxes", recovered, PROGRAMS);
}

int
test_tile_access(void)
{
   const struct CMUnitTest tests[] = {cmocka_unit_test(rebuilt_loads_read_the_same)};
   return cmocka_run_group_tests(tests, NULL, NULL);
}
