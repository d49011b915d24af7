/* Loops of dots for warps in two roles: one product or two an iteration, several loops in a row
 * with equal or other tiles, loops in loops, masked loads, none or few trips.  The same without
 * roles: loops and conditions in loops, between which threads exchange; each turn may store its
 * tile.  Of some an iteration loads the number of its tiles first, and small addends.  Data are
 * small whole numbers: every sum is exact, and so are sums kept relative to a running maximum, as
 * scores between -3 and 3 make powers of two of their weights. */
#include "support/gen_program_impl.h"

enum { ROWS = 128, STEPS = 2 * GEN_MAX_TRIPS };

typedef struct RoleLoop {
   TlDtype in;
   uint32_t depth, cols; /* of a product of ROWS x depth and depth x cols */
   bool has_two;         /* products; else the left operand is loaded in the loop, too */
   bool is_nested, has_mask[2], is_turned; /* the right operand lies transposed in memory */
   int left, right, values, out;           /* buffers; out: a tile for each turn, -1: none */
   TlValue *first;                         /* left operand of two products */
   int pages,
      rows; /* buffers, -1: none: which tiles an iteration multiplies, what it adds to rows */
   bool is_scaled; /* of two products: the second one's sum is relative to a maximum */
} RoleLoop;

/* Rows, at times columns, below a limit that is known at run time only. */
static TlValue *
role_mask(Gen *g, const TlType *type)
{
   TlBuilder *b = &g->b;
   unsigned axis = gen_chance(g, 25);
   TlValue *v = tl_b0(b, TL_OP_ARANGE, NULL, {TL_ATTR_END, {.i = type->shape[axis]}});
   TlValue *most = gen_number(g, g->scalar[0]->type, 2 * type->shape[axis] - 1);
   TlValue *limit = tl_b2(b, TL_OP_AND, g->scalar[GEN_LIMIT], most);
   v = tl_b2(b, TL_OP_LT, v, tl_t1(b, TL_OP_SPLAT, v->type, limit));
   v = tl_b1(b, TL_OP_EXPAND_DIMS, v, {TL_ATTR_AXIS, {.i = !axis}});
   return tl_t1(b, TL_OP_BROADCAST, gen_with(g, type, TL_I1), v);
}

/* The tile of this step, NULL: the first. */
static TlValue *
role_tile(Gen *g, int buffer, const uint32_t shape[2], TlValue *step, bool has_mask)
{
   TlBuilder *b = &g->b;
   uint32_t n = shape[0] * shape[1];
   TlValue *offset = gen_offset_of_program(g, n * STEPS);
   if (step) {
      TlValue *at = tl_b2(b, TL_OP_MUL, step, gen_number(g, step->type, n));
      offset = offset ? tl_b2(b, TL_OP_ADD, offset, at) : at;
   }
   TlValue *ptr = gen_pointers(g, buffer, gen_numbers(g, 2, shape), offset);
   if (!has_mask)
      return tl_b1(b, TL_OP_LOAD, ptr);
   const TlType *type = gen_shaped(g, g->p->buffer[buffer].dtype, 2, shape);
   TlValue *args[] = {ptr, role_mask(g, type), gen_number(g, type, 0)};
   return tl_build_n(b, TL_OP_LOAD, args, 3, NULL, TL_ATTRS_());
}

static TlValue *
role_dot(Gen *g, TlValue *x, TlValue *y, TlValue *sum)
{
   TlValue *args[] = {x, y, sum};
   return tl_build_n(&g->b, TL_OP_DOT, args, 3, NULL, TL_ATTRS_());
}

static TlValue *
zeros(Gen *g, uint32_t cols)
{
   return gen_number(g, gen_shaped(g, TL_FP32, 2, (const uint32_t[]){ROWS, cols}), 0);
}

/* The right operand of this step's first product. */
static TlValue *
role_right(Gen *g, const RoleLoop *l, TlValue *step)
{
   const uint32_t right[] = {l->is_turned ? l->cols : l->depth, l->is_turned ? l->depth : l->cols};
   TlValue *y = role_tile(g, l->right, right, step, l->has_mask[1]);
   const TlInts *order = tl_ints(g->arena, (const int64_t[]){1, 0}, 2);
   return l->is_turned ? tl_b1(&g->b, TL_OP_TRANS, y, {TL_ATTR_ORDER, {.ints = order}}) : y;
}

/* The second product, of scores or weights. */
static TlValue *
role_second(Gen *g, const RoleLoop *l, TlValue *scores, TlValue *step, TlValue *sum)
{
   const uint32_t values[] = {l->cols, l->cols};
   scores = tl_t1(&g->b, TL_OP_CAST, gen_with(g, scores->type, l->in), scores);
   return role_dot(g, scores, role_tile(g, l->values, values, step, l->has_mask[0]), sum);
}

/* One iteration's products, added to the sum. */
static TlValue *
role_products(Gen *g, const RoleLoop *l, TlValue *step, TlValue *sum)
{
   const uint32_t left[] = {ROWS, l->depth};
   TlValue *x = l->has_two ? l->first : role_tile(g, l->left, left, step, l->has_mask[0]);
   TlValue *y = role_right(g, l, step);
   if (!l->has_two)
      return role_dot(g, x, y, sum);
   return role_second(g, l, role_dot(g, x, y, zeros(g, l->cols)), step, sum);
}

/* A number for each row, for all its columns. */
static TlValue *
along_rows(Gen *g, TlValue *v, const TlType *type)
{
   v = tl_b1(&g->b, TL_OP_EXPAND_DIMS, v, {TL_ATTR_AXIS, {.i = 1}});
   return tl_t1(&g->b, TL_OP_BROADCAST, type, v);
}

/* One iteration of an online softmax in base 2; sums: the product's, the weights', the maximum. */
static void
role_scaled_sums(Gen *g, const RoleLoop *l, TlValue *step, TlValue *sums[3])
{
   TlBuilder *b = &g->b;
   TlValue *scores = role_dot(g, l->first, role_right(g, l, step), zeros(g, l->cols));
   scores = tl_b2(b, TL_OP_MIN, scores, gen_number(g, scores->type, 3));
   scores = tl_b2(b, TL_OP_MAX, scores, gen_number(g, scores->type, -3));
   TlValue *top = tl_b2(b, TL_OP_MAX, sums[2], gen_fold(g, scores, 1, TL_OP_MAX));
   TlValue *shrink = tl_b1(b, TL_OP_EXP2, tl_b2(b, TL_OP_SUB, sums[2], top));
   TlValue *less = tl_b2(b, TL_OP_SUB, scores, along_rows(g, top, scores->type));
   TlValue *weights = tl_b1(b, TL_OP_EXP2, less);
   TlValue *all = tl_b2(b, TL_OP_MUL, sums[1], shrink);
   sums[1] = tl_b2(b, TL_OP_ADD, all, gen_fold(g, weights, 1, TL_OP_ADD));
   TlValue *sum = tl_b2(b, TL_OP_MUL, sums[0], along_rows(g, shrink, sums[0]->type));
   sums[0] = role_second(g, l, weights, step, sum);
   sums[2] = top;
}

/* The number of the tiles of this step, from a table. */
static TlValue *
role_page(Gen *g, const RoleLoop *l, TlValue *step)
{
   TlBuilder *b = &g->b;
   TlValue *offset = gen_offset_of_program(g, STEPS);
   offset = offset ? tl_b2(b, TL_OP_ADD, offset, step) : step;
   TlValue *page = tl_b1(b, TL_OP_LOAD, gen_pointers(g, l->pages, NULL, offset));
   return tl_t1(b, TL_OP_CAST, step->type, page);
}

/* The sum and, of this step, a number for each row; sometimes masked by one that is loaded, too. */
static TlValue *
role_rows(Gen *g, const RoleLoop *l, TlValue *step, TlValue *sum)
{
   TlBuilder *b = &g->b;
   const uint32_t shape[] = {ROWS};
   TlValue *offset = gen_offset_of_program(g, ROWS * STEPS);
   TlValue *at = tl_b2(b, TL_OP_MUL, step, gen_number(g, step->type, ROWS));
   TlValue *index = gen_numbers(g, 1, shape);
   TlValue *ptr = gen_pointers(g, l->rows, index, offset ? tl_b2(b, TL_OP_ADD, offset, at) : at);
   TlValue *v;
   if (l->pages >= 0 && gen_chance(g, 50)) {
      TlValue *page = role_page(g, l, step);
      page = tl_b2(b, TL_OP_MUL, page, gen_number(g, page->type, ROWS / 4));
      TlValue *mask = tl_b2(b, TL_OP_LT, index, tl_t1(b, TL_OP_SPLAT, index->type, page));
      const TlType *type = gen_shaped(g, TL_FP32, 1, shape);
      TlValue *args[] = {ptr, mask, gen_number(g, type, 1)};
      v = tl_build_n(b, TL_OP_LOAD, args, 3, NULL, TL_ATTRS_());
   } else {
      v = tl_b1(b, TL_OP_LOAD, ptr);
   }
   v = tl_b1(b, TL_OP_EXPAND_DIMS, v, {TL_ATTR_AXIS, {.i = 1}});
   return tl_b2(b, TL_OP_ADD, sum, tl_t1(b, TL_OP_BROADCAST, sum->type, v));
}

static TlValue *role_loop(Gen *g, const RoleLoop *l, TlValue *outer, bool has_inner, TlValue *sum);

/* What threads exchange in shared memory, between two turns of the loop: the least of the sum and
 * of the most of its column, which is the sum. */
static TlValue *
exchanged(Gen *g, TlValue *sum)
{
   TlBuilder *b = &g->b;
   TlValue *most = gen_fold(g, sum, 0, TL_OP_MAX);
   most = tl_b1(b, TL_OP_EXPAND_DIMS, most, {TL_ATTR_AXIS, {.i = 0}});
   return tl_b2(b, TL_OP_MIN, sum, tl_t1(b, TL_OP_BROADCAST, sum->type, most));
}

/* The sum, at times under a mask, to its place among the tiles of its program. */
static void
role_store(Gen *g, int buffer, TlValue *sum, TlValue *turn)
{
   TlBuilder *b = &g->b;
   uint32_t n = gen_elems(sum);
   const TlType *type = gen_with(g, sum->type, g->p->buffer[buffer].dtype);
   TlValue *at = tl_b2(b, TL_OP_MUL, turn, gen_number(g, turn->type, n));
   TlValue *offset = gen_offset_of_program(g, n * STEPS);
   TlValue *args[3] = {gen_pointers(g, buffer, gen_numbers(g, 2, sum->type->shape),
                                    offset ? tl_b2(b, TL_OP_ADD, offset, at) : at),
                       type == sum->type ? sum : tl_t1(b, TL_OP_CAST, type, sum)};
   bool has_mask = gen_chance(g, 40);
   if (has_mask)
      args[2] = role_mask(g, type);
   tl_build_n(b, TL_OP_STORE, args, 2 + has_mask, NULL, TL_ATTRS_());
}

static TlValue *role_turn(Gen *g, const RoleLoop *l, TlValue *turn, TlValue *sum);

/* One turn of the outer loop: the inner one, at times in every other turn only.  The left operand
 * of two products is another in each turn, or the same in all. */
static TlValue *
role_turn(Gen *g, const RoleLoop *of_all, TlValue *turn, TlValue *sum)
{
   TlBuilder *b = &g->b;
   RoleLoop own = *of_all;
   const RoleLoop *l = &own;
   if (l->has_two && l->has_mask[1])
      own.first = role_tile(g, l->left, (const uint32_t[]){ROWS, l->depth}, turn, false);
   if (!g->for_turns)
      return role_loop(g, l, turn, false, sum);
   if (gen_chance(g, 40)) {
      TlValue *one = tl_const_int(b, TL_I32, 1), *odd = tl_b2(b, TL_OP_AND, turn, one);
      TlValue *is_on = tl_b2(b, gen_chance(g, 50) ? TL_OP_EQ : TL_OP_NE, odd, one);
      TlOp *op = tl_build(b, TL_OP_IF, &is_on, 1, &sum->type, 1, NULL, 0, 2);
      for (unsigned k = 0; k < 2; k++) {
         GenRegion r = gen_open(g, op, k);
         TlValue *out = k ? sum : role_loop(g, l, turn, false, sum);
         gen_close(g, &r, &out, 1);
      }
      sum = tl_result(op, 0);
   } else {
      sum = role_loop(g, l, turn, false, sum);
   }
   return gen_chance(g, 50) ? exchanged(g, sum) : sum;
}

/* The outer loop as a while. */
static TlValue *
role_while(Gen *g, const RoleLoop *l, TlValue *sum)
{
   TlBuilder *b = &g->b;
   TlValue *inits[] = {tl_const_int(b, TL_I32, 0), sum};
   TlOp *op = tl_build(b, TL_OP_WHILE, inits, 2, (const TlType *[]){inits[0]->type, sum->type}, 2,
                       NULL, 0, 2);
   for (unsigned k = 0; k < 2; k++) {
      TlBlock *block = op->regions[k]->block;
      TlValue *at[] = {tl_block_add_arg(block, inits[0]->type, "turn"),
                       tl_block_add_arg(block, sum->type, "sum")};
      GenRegion r = gen_open(g, op, k);
      if (k == 0) {
         TlValue *out[] = {tl_b2(b, TL_OP_LT, at[0], g->scalar[GEN_MORE_TRIPS]), at[0], at[1]};
         tl_build(b, TL_OP_CONDITION, out, 3, NULL, 0, NULL, 0, 0);
         g->b = r.outer;
         g->depth--;
         continue;
      }
      TlValue *out[] = {NULL, role_turn(g, l, at[0], at[1])};
      if (l->out >= 0)
         role_store(g, l->out, out[1], at[0]);
      out[0] = tl_b2(b, TL_OP_ADD, at[0], tl_const_int(b, TL_I32, 1));
      gen_close(g, &r, out, 2);
   }
   return tl_result(op, 1);
}

/* At times they go with the place of the program: more, or fewer, of what is asked for. */
static TlValue *
trips_of_program(Gen *g, TlValue *trips)
{
   TlBuilder *b = &g->b;
   if (gen_chance(g, 60))
      return trips;
   int64_t axis = gen_chance(g, 70) ? 0 : 1;
   TlValue *id = tl_b0(b, TL_OP_PROGRAM_ID, NULL, {TL_ATTR_AXIS, {.i = axis}});
   return gen_chance(g, 60) ? tl_b2(b, TL_OP_MIN, trips, id) : tl_b2(b, TL_OP_SUB, trips, id);
}

/* The same as a loop, from zeros; all three are added to the sum when it is over. */
static TlValue *
role_scaled_loop(Gen *g, const RoleLoop *l, TlValue *outer, TlValue *sum)
{
   TlBuilder *b = &g->b;
   const TlType *rows = gen_shaped(g, TL_FP32, 1, (const uint32_t[]){ROWS});
   TlValue *args[] = {tl_const_int(b, TL_I32, 0), trips_of_program(g, g->scalar[GEN_TRIPS]),
                      tl_const_int(b, TL_I32, 1), zeros(g, l->cols),
                      gen_number(g, rows, 0),     gen_number(g, rows, -8)};
   const TlType *types[] = {sum->type, rows, rows};
   TlOp *op = tl_build(b, TL_OP_FOR, args, 6, types, 3, NULL, 0, 1);
   TlBlock *body = op->regions[0]->block;
   TlValue *step = tl_block_add_arg(body, args[0]->type, "step"), *sums[3];
   for (unsigned i = 0; i < 3; i++)
      sums[i] = tl_block_add_arg(body, types[i], NULL);
   GenRegion r = gen_open(g, op, 0);
   TlValue *at = outer ? tl_b2(b, TL_OP_ADD, step, outer) : step;
   role_scaled_sums(g, l, l->pages < 0 ? at : role_page(g, l, at), sums);
   gen_close(g, &r, sums, 3);
   TlValue *both = tl_b2(b, TL_OP_ADD, tl_result(op, 1), tl_result(op, 2));
   sum = tl_b2(b, TL_OP_ADD, sum, tl_result(op, 0));
   return tl_b2(b, TL_OP_ADD, sum, along_rows(g, both, sum->type));
}

/* A loop of so many trips that adds to the sum; `outer` is the number of the loop's iteration that
 * it is in, or NULL, and has_inner says that another is in it. */
static TlValue *
role_loop(Gen *g, const RoleLoop *l, TlValue *outer, bool has_inner, TlValue *sum)
{
   TlBuilder *b = &g->b;
   if (!has_inner && l->is_scaled)
      return role_scaled_loop(g, l, outer, sum);
   TlValue *args[] = {tl_const_int(b, TL_I32, 0), g->scalar[has_inner ? GEN_MORE_TRIPS : GEN_TRIPS],
                      tl_const_int(b, TL_I32, 1), sum};
   args[1] = trips_of_program(g, args[1]);
   if (g->for_turns && outer && gen_chance(g, 40)) /* fewer in each turn */
      args[1] = tl_b2(b, TL_OP_SUB, args[1], outer);
   int64_t asked = has_inner || g->for_turns ? 0 : 1 << TL_LOOP_FLAG_WARP_SPECIALIZE;
   TlAttrInit attrs[] = {{TL_ATTR_FLAGS, {.i = asked}}};
   TlOp *op = tl_build(b, TL_OP_FOR, args, 4, NULL, 1, attrs, 1, 1);
   TlBlock *body = op->regions[0]->block;
   TlValue *step = tl_block_add_arg(body, args[0]->type, "step");
   TlValue *out = tl_block_add_arg(body, sum->type, "sum");
   GenRegion r = gen_open(g, op, 0);
   if (has_inner)
      out = role_turn(g, l, step, out);
   if (has_inner && l->out >= 0)
      role_store(g, l->out, out, step);
   if (!has_inner) {
      TlValue *at = outer ? tl_b2(b, TL_OP_ADD, step, outer) : step;
      out = role_products(g, l, l->pages < 0 ? at : role_page(g, l, at), out);
      out = l->rows < 0 ? out : role_rows(g, l, at, out);
   }
   gen_close(g, &r, &out, 1);
   return tl_result(op, 0);
}

void
gen_step_role_dots(Gen *g)
{
   g->for_boxes = !g->for_turns && gen_chance(g, 30);
   RoleLoop l = {.in = gen_chance(g, 70) ? TL_FP16 : TL_BF16,
                 .depth = 16u << gen_below(g, 3),
                 .cols = 16u << gen_below(g, 3),
                 .has_two = gen_chance(g, 50),
                 .is_nested = gen_chance(g, g->for_turns   ? 80
                                            : g->for_boxes ? 0
                                                           : 25),
                 .is_turned = gen_chance(g, 40),
                 .pages = -1,
                 .rows = -1};
   uint32_t programs = gen_programs(g), all = STEPS * programs;
   unsigned loops = g->for_boxes ? 1 : 1 + gen_chance(g, 50); /* in a row, with equal tiles */
   l.left = gen_buffer(g, l.in, ROWS * l.depth * all, GEN_TINY);
   l.right = gen_buffer(g, l.in, l.depth * l.cols * all, GEN_TINY);
   if (gen_chance(g, g->for_turns ? 40 : 10))
      l.pages = gen_buffer(g, TL_U32, all, GEN_TINY);
   if (gen_chance(g, g->for_turns ? 40 : 10))
      l.rows = gen_buffer(g, TL_FP32, ROWS * all, GEN_TINY);
   l.is_scaled = l.has_two && gen_chance(g, 50);
   if (l.has_two) {
      l.values = gen_buffer(g, l.in, l.cols * l.cols * all, GEN_TINY);
      l.first = role_tile(g, l.left, (const uint32_t[]){ROWS, l.depth}, NULL, false);
   }
   bool stores = l.is_nested && gen_chance(g, 50);
   TlValue *sum = zeros(g, l.cols);
   for (unsigned i = 0; i < loops; i++) {
      l.out = -1;
      if (stores) /* each loop to places of its own: nothing orders the threads of two */
         l.out = gen_buffer(g, gen_chance(g, 80) ? l.in : TL_FP32, ROWS * l.cols * all, GEN_POISON);
      l.has_mask[0] = !g->for_boxes && gen_chance(g, 30);
      l.has_mask[1] = !g->for_boxes && gen_chance(g, 30);
      sum = l.is_nested && gen_chance(g, 30) ? role_while(g, &l, sum)
                                             : role_loop(g, &l, NULL, l.is_nested, sum);
   }
   if (g->for_boxes) { /* groups of warps need not meet then */
      l.out = gen_buffer(g, gen_chance(g, 80) ? l.in : TL_FP32, ROWS * l.cols * all, GEN_POISON);
      role_store(g, l.out, sum, tl_const_int(&g->b, TL_I32, 0));
      return;
   }
   if (gen_chance(g, 50)) /* rounded, it may go another way to memory */
      gen_store_plain(g, tl_t1(&g->b, TL_OP_CAST, gen_with(g, sum->type, l.in), sum));
   gen_store_plain(g, gen_know(g, sum, (Fact){.lo = -0x1p24, .hi = 0x1p24, .whole = !l.is_scaled}));
}
