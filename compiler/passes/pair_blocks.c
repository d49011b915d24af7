/* Blocks in clusters of two, where what their loops multiply lies in rows that begin anywhere.
 *
 * A row of a box that does not begin at a line of the L2 cache takes two requests for one, and the
 * cache answers some 500 a multiprocessor in the time of a step of 128x256x64; with rows of 3,000
 * halves that step sends 768.  Neighbours of a grid often multiply by the same columns: each then
 * sends for half of these boxes, and they go to both.
 *
 *    role of the producer:                      role of the producer:
 *       for tile = ..:                             for tile = ..:
 *          for k = ..:                                if column(tile) == column(tile ^ 1):
 *             mbar_wait %free                            for k = ..:
 *             tma_load %at0, .., column0   ->               mbar_wait %free
 *             tma_load %at1, .., column1                    tma_load {both} %at<rank>, ..
 *                                                     else:
 *                                                        the loop as it was
 *    role of the consumers:                     role of the consumers:
 *       mbar_arrive %free                          mbar_arrive {both} %free
 *
 * Whether the neighbour's tile has the same boxes each block finds out by itself: where a box lies
 * is computed of the tile's number, so the neighbour's of the neighbour's.  A stage is free when
 * the consumers of both blocks have read it.  So the two go through their stages together: all
 * loops of the producer take as many rounds in both, since nothing that bounds them depends on the
 * tile, and both have as many tiles.  A last one without a partner they share, as those of a short
 * last round are (share_last_round.c), which this builds on.
 *
 * Not where rows may begin at lines: sizes that 16 divides are mostly sizes that 64 divides, and
 * with these a cluster is no faster (docs/decisions/0037-pairs-of-blocks.md). */
#include "ir/analysis.h"
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"
#include "passes/persist_grid.h"

#include <assert.h>

enum {
   CLUSTER = 2,
   LINE = 128,         /* bytes: of the L2 cache, and the most that a box's row has */
   KNOWN_MULTIPLE = 16 /* a number of which this much is known may be a multiple of more */
};

/* Copies of one map in one loop; they fill a stage together. */
typedef struct Boxes {
   TlOp *const *loads;
   unsigned num;
   TlOp *loop;    /* in the body of the loop over tiles, with the copies in it */
   TlValue *same; /* does the neighbour have the same?  NULL: not asked */
} Boxes;

typedef struct Pair {
   TlFunc *func;
   TlArena *scratch;
   TlOp *roles[2], *tiles[2]; /* producer, consumers: the role, and its loop over tiles */
   TlOp *start;               /* the barrier behind the making of mbarriers */
   bool *varies;              /* by value: is it another in the neighbour? */
   bool are_alike;            /* loops take as many rounds in both */
   TlValue *is_second;        /* of the two blocks */
   TL_VEC(Boxes) boxes;
} Pair;

enum { PRODUCER, CONSUMERS };

/* ---- whether ---- */
static bool
find_roles(Pair *p)
{
   unsigned n = 0;
   for (TlOp *op = p->func->body->block->first; op; op = op->next) {
      if (op->opcode == TL_OP_BAR_SYNC && !n)
         p->start = op;
      if (op->opcode != TL_OP_ROLE)
         continue;
      TlOp *tiles = tl_loop_over_tiles(op);
      if (n == 2 || !tiles || tl_attr_int(tiles, TL_ATTR_ROUNDS) != TL_ROUNDS_SHARED)
         return false;
      p->roles[n] = op;
      p->tiles[n++] = tiles;
   }
   return n == 2 && p->start;
}

/* How many tiles are shared: select(rest <= blocks / 2, rest, 0) of the tiles that are left after
 * whole rounds; NULL where only launches that are one round are shared. */
static TlOp *
shared_tiles(const TlOp *tiles)
{
   const TlOp *upper = tl_for_upper(tiles)->def;
   TlOp *more = upper && upper->opcode == TL_OP_ADD ? tl_arg(upper, 1)->def : NULL;
   if (!more || more->opcode != TL_OP_SELECT)
      return NULL;
   const TlOp *rest = tl_arg(more, 1)->def;
   return rest && rest->opcode == TL_OP_REM ? more : NULL;
}

/* ---- what is another in the neighbour ---- */
static bool
set_varies(Pair *p, const TlValue *v, bool varies)
{
   bool is_new = varies && !p->varies[v->id];
   p->varies[v->id] |= varies;
   return is_new;
}

static bool
carry_through(Pair *p, TlOp *op)
{
   bool is_new = false;
   for (unsigned i = 0; i < op->num_results; i++) {
      bool varies = op->opcode != TL_OP_IF && p->varies[tl_arg(op, tl_first_init(op) + i)->id];
      for (unsigned r = 0; r < op->num_regions; r++) {
         const TlOp *end = op->regions[r]->block->last;
         varies |= p->varies[tl_arg(end, tl_first_yielded(end) + i)->id];
      }
      is_new |= set_varies(p, tl_result(op, i), varies);
      for (unsigned r = 0; r < op->num_regions && tl_is_loop(op); r++)
         is_new |= set_varies(p, op->regions[r]->block->args[tl_first_carried(op) + i], varies);
   }
   return is_new;
}

/* Of a loop or condition in a tile: all that decides how often it runs must be alike. */
static bool
is_alike(const Pair *p, const TlOp *op)
{
   if (op->opcode == TL_OP_WHILE)
      return false;
   for (unsigned i = 0; i < tl_first_init(op); i++)
      if (p->varies[tl_arg(op, i)->id])
         return false;
   return true;
}

static void
find_varying(Pair *p)
{
   const TlBlock *body = p->func->body->block;
   p->varies = tl_new_array(p->scratch, bool, p->func->next_value_id);
   for (bool is_new = true; is_new;) {
      is_new = false;
      for (TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
         bool varies = op->opcode == TL_OP_BLOCK_ID || !tl_op_is_pure(op);
         if (tl_is_branching(op)) {
            is_new |= carry_through(p, op);
            if (op->opcode == TL_OP_FOR)
               is_new |= set_varies(p, tl_for_index(op), p->varies[tl_for_lower(op)->id]);
            continue;
         }
         for (unsigned i = 0; i < op->num_args; i++)
            varies |= p->varies[tl_arg(op, i)->id];
         for (unsigned i = 0; i < op->num_results; i++)
            is_new |= set_varies(p, tl_result(op, i), varies);
      }
   }
   const TlBlock *tile = tl_loop_body(p->tiles[PRODUCER]);
   p->are_alike = true;
   for (const TlOp *op = tile->first; op; op = tl_walk_next(op, tile))
      p->are_alike &= !tl_is_branching(op) || is_alike(p, op);
}

/* ---- which boxes ---- */
/* The operation of the loop over tiles that op is in; NULL: it is not in another of it. */
static TlOp *
outermost(const Pair *p, TlOp *op)
{
   for (TlOp *up = tl_parent(op); up; op = up, up = tl_parent(up))
      if (up == p->tiles[PRODUCER])
         return op;
   return NULL;
}

/* Can the neighbour's be computed here: of the tile's number, by pure operations of its own? */
static bool
follows_from_tile(const Pair *p, const TlValue *v)
{
   if (!p->varies[v->id])
      return true;
   if (!v->def)
      return v == tl_for_index(p->tiles[PRODUCER]);
   if (v->def->block != tl_loop_body(p->tiles[PRODUCER]) || v->def->num_regions ||
       !tl_op_is_pure(v->def))
      return false;
   for (unsigned i = 0; i < v->def->num_args; i++)
      if (!follows_from_tile(p, tl_arg(v->def, i)))
         return false;
   return true;
}

enum { ADDRESS, MAP, BARRIER, PRED, COORDINATES };

static bool
may_be_same(const Pair *p, const TlOp *load)
{
   for (unsigned i = ADDRESS; i <= BARRIER; i++)
      if (p->varies[tl_arg(load, i)->id])
         return false;
   for (unsigned i = COORDINATES; i < load->num_args; i++)
      if (!follows_from_tile(p, tl_arg(load, i)))
         return false;
   return true;
}

static void
add_boxes(Pair *p, TlOp *first)
{
   TL_VEC(TlOp *) loads = {0};
   TlOp *loop = outermost(p, first);
   bool may_be = loop && loop->opcode == TL_OP_FOR;
   for (TlOp *op = first; op; op = op->next)
      if (op->opcode == TL_OP_TMA_LOAD && tl_arg(op, MAP) == tl_arg(first, MAP)) {
         may_be &= may_be_same(p, op);
         tl_vec_push(p->scratch, &loads, op);
      }
   if (may_be)
      tl_vec_push(p->scratch, &p->boxes,
                  ((Boxes){.loads = loads.data, .num = (unsigned)loads.len, .loop = loop}));
}

static bool
is_first_of_its_map(const TlOp *load)
{
   for (const TlOp *op = load->prev; op; op = op->prev)
      if (op->opcode == TL_OP_TMA_LOAD && tl_arg(op, MAP) == tl_arg(load, MAP))
         return false;
   return true;
}

/* Do rows begin where no line does?  By what is known of the strides. */
static bool
begins_anywhere(TlAnalysis *facts, const TlOp *map)
{
   const TlType *box = tl_result(map, 0)->type;
   unsigned rank = box->rank, bytes = tl_dtype_info[box->dtype].bytes;
   for (unsigned i = 1 + rank; i < map->num_args; i++) {
      uint32_t multiple = tl_axis_info(facts, tl_arg(map, i))->divisibility[0];
      if (multiple < KNOWN_MULTIPLE && multiple * bytes < LINE)
         return true;
   }
   return false;
}

static uint64_t
bytes_of(const Boxes *boxes)
{
   const TlType *box = tl_arg(boxes->loads[0], MAP)->type;
   return boxes->num * tl_type_num_elems(box) * tl_dtype_info[box->dtype].bytes;
}

/* All boxes that may be the same; false where the producer does more than to send for boxes, or
 * where none with half of a loop's bytes begins anywhere. */
static bool
find_boxes(Pair *p)
{
   TlAnalysis *facts = tl_analysis_new(p->scratch, p->func);
   const TlBlock *tile = tl_loop_body(p->tiles[PRODUCER]);
   for (TlOp *op = tile->first; op; op = tl_walk_next(op, tile)) {
      if (op->opcode == TL_OP_MBAR_ARRIVE || op->opcode == TL_OP_CP_ASYNC)
         return false;
      if (op->opcode == TL_OP_TMA_LOAD && is_first_of_its_map(op))
         add_boxes(p, op);
   }
   for (size_t i = 0; i < p->boxes.len; i++) {
      const Boxes *boxes = &p->boxes.data[i];
      uint64_t all = 0;
      for (size_t k = 0; k < p->boxes.len; k++)
         all += p->boxes.data[k].loop == boxes->loop ? bytes_of(&p->boxes.data[k]) : 0;
      if (2 * bytes_of(boxes) >= all && begins_anywhere(facts, tl_arg(boxes->loads[0], MAP)->def))
         return true;
   }
   return false;
}

/* ---- mbarriers ---- */
/* Where the mbarriers begin of which one is at v: v, or what is added to a stage's place. */
static bool
find_base(const TlValue *v, int64_t *base)
{
   uint64_t bits;
   if (tl_is_const(v, &bits)) {
      *base = tl_bits_to_int(TL_I32, bits);
      return true;
   }
   return v->def && v->def->opcode == TL_OP_ADD &&
          (find_base(tl_arg(v->def, 1), base) || find_base(tl_arg(v->def, 0), base));
}

typedef TL_VEC(int64_t) Bases;

/* Those that op names in the role: arrivals of consumers say that a stage is free. */
static bool
add_bases(const Pair *p, unsigned role, TlOpcode opcode, Bases *bases)
{
   const TlBlock *body = p->roles[role]->regions[0]->block;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
      int64_t base;
      if (op->opcode != opcode)
         continue;
      if (!find_base(tl_arg(op, 0), &base))
         return false;
      tl_vec_push(p->scratch, bases, base);
   }
   return true;
}

/* The base at or below an mbarrier's address, nearest to it. */
static int64_t
nearest(const Bases *bases, int64_t at)
{
   int64_t found = -1;
   for (size_t i = 0; i < bases->len; i++)
      if (bases->data[i] <= at && bases->data[i] > found)
         found = bases->data[i];
   return found;
}

/* Of stages that are free the consumers of both blocks tell. */
static bool
count_both(Pair *p)
{
   Bases freed = {0}, filled = {0};
   if (!add_bases(p, CONSUMERS, TL_OP_MBAR_ARRIVE, &freed) ||
       !add_bases(p, CONSUMERS, TL_OP_MBAR_WAIT, &filled))
      return false;
   TlOp *first = p->func->body->block->first;
   int64_t at;
   for (const TlOp *op = first; op != p->start; op = op->next)
      if (op->opcode == TL_OP_MBAR_INIT && !find_base(tl_arg(op, 0), &at))
         return false;
   for (TlOp *op = first; op != p->start; op = op->next)
      if (op->opcode == TL_OP_MBAR_INIT && find_base(tl_arg(op, 0), &at) &&
          nearest(&freed, at) > nearest(&filled, at))
         tl_attr(op, TL_ATTR_ARRIVALS)->i *= CLUSTER;
   const TlBlock *body = p->roles[CONSUMERS]->regions[0]->block;
   for (TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_MBAR_ARRIVE)
         tl_attr(op, TL_ATTR_BOTH)->i = true;
   return true;
}

/* ---- the change ---- */
/* The last of an odd number of tiles, too, is for both. */
static void
share_odd(TlOp *tiles)
{
   TlOp *more = shared_tiles(tiles);
   TlBuilder b = tl_builder_before(more);
   b.range = more->range;
   tl_set_arg(more, 2, tl_b2(&b, TL_OP_AND, tl_arg(more, 1), tl_const_int(&b, TL_I32, 1)));
}

/* v, as the neighbour has it. */
static TlValue *
of_neighbour(TlBuilder *b, TlMap *map, const Pair *p, TlValue *v)
{
   TlValue *known = tl_map_get(map, v);
   if (known || !p->varies[v->id])
      return known ? known : v;
   for (unsigned i = 0; i < v->def->num_args; i++)
      of_neighbour(b, map, p, tl_arg(v->def, i));
   tl_clone_op(b, v->def, map);
   return tl_map_get(map, v);
}

static TlValue *
build_same(TlBuilder *b, TlMap *map, const Pair *p, const Boxes *boxes)
{
   TlValue *same = tl_const_int(b, TL_I1, 1); /* no coordinate varies: it always is */
   for (unsigned k = 0; k < boxes->num; k++)
      for (unsigned i = COORDINATES; i < boxes->loads[k]->num_args; i++) {
         TlValue *mine = tl_arg(boxes->loads[k], i);
         if (p->varies[mine->id])
            same =
               tl_b2(b, TL_OP_AND, same, tl_b2(b, TL_OP_EQ, mine, of_neighbour(b, map, p, mine)));
      }
   return same;
}

/* Of a half of the copies each block sends for one, and it goes to both; an odd one is the first
 * block's.  The second of a pair stands where all that the first is made of is known. */
static void
send_halves(const Pair *p, TlOp *const *loads, unsigned num)
{
   unsigned half = num / 2;
   for (unsigned k = half; k < num; k++) {
      TlOp *load = loads[k];
      TlBuilder b = tl_builder_before(load);
      b.range = load->range;
      tl_attr(load, TL_ATTR_BOTH)->i = true;
      if (k == 2 * half) {
         TlValue *is_first = tl_b2(&b, TL_OP_XOR, p->is_second, tl_const_int(&b, TL_I1, 1));
         tl_set_arg(load, PRED, tl_b2(&b, TL_OP_AND, tl_arg(load, PRED), is_first));
         continue;
      }
      TlOp *other = loads[k - half];
      for (unsigned i = 0; i < load->num_args; i++)
         if (tl_arg(load, i) != tl_arg(other, i))
            tl_set_arg(load, i,
                       tl_b3(&b, TL_OP_SELECT, p->is_second, tl_arg(load, i), tl_arg(other, i)));
      tl_remove(other);
   }
}

/* if same: the loop, in which the boxes are sent for in halves; else: what was there. */
static TlOp *
choose(const Pair *p, const Boxes *boxes, const TlOp *plain, TlOp *otherwise)
{
   unsigned n = otherwise->num_results;
   const TlType **types = tl_new_array(p->scratch, const TlType *, n + 1);
   TlValue **values = tl_new_array(p->scratch, TlValue *, n + 1);
   for (unsigned i = 0; i < n; i++)
      types[i] = tl_result(otherwise, i)->type;
   TlBuilder b = tl_builder_before(otherwise);
   b.range = plain->range;
   TlValue *same = boxes->same;
   TlOp *choice = tl_build(&b, TL_OP_IF, &same, 1, types, n, NULL, 0, 2);
   TlMap map;
   tl_map_init(&map, p->scratch);
   b = tl_builder_inside(p->func, choice, 0, plain->range);
   TlOp *loop = tl_clone_op(&b, plain, &map);
   for (unsigned i = 0; i < n; i++)
      values[i] = tl_result(loop, i);
   tl_build_yield(&b, values, n);
   for (unsigned i = 0; i < n; i++) {
      values[i] = tl_result(otherwise, i);
      tl_replace_uses(values[i], tl_result(choice, i));
   }
   tl_move_to_end(otherwise, choice->regions[1]->block);
   b = tl_builder_inside(p->func, choice, 1, plain->range);
   tl_build_yield(&b, values, n);
   TlOp **loads = tl_new_array(p->scratch, TlOp *, boxes->num);
   unsigned found = 0;
   const TlBlock *old = tl_loop_body(plain), *new = tl_loop_body(loop);
   TlOp *copy = new->first;
   for (const TlOp *op = old->first; op; op = tl_walk_next(op, old), copy = tl_walk_next(copy, new))
      if (found < boxes->num && op == boxes->loads[found])
         loads[found++] = copy;
   assert(found == boxes->num);
   send_halves(p, loads, boxes->num);
   return choice;
}

/* The boxes of a loop that are more than all others of it and not taken yet; NULL: none. */
static Boxes *
largest(const Pair *p, const TlOp *loop)
{
   Boxes *found = NULL;
   for (size_t i = 0; i < p->boxes.len; i++) {
      Boxes *boxes = &p->boxes.data[i];
      if (boxes->loop == loop && !boxes->same && (!found || bytes_of(boxes) > bytes_of(found)))
         found = boxes;
   }
   return found;
}

/* The loop with what it sends for in halves, the most first: two tiles that are not the same have
 * one of the two operands in common. */
static void
choose_boxes(Pair *p, TlOp *loop, TlValue *index, TlValue *one)
{
   enum { MOST = 2 };
   Boxes *chosen[MOST];
   unsigned n = 0;
   TlBuilder b = tl_builder_before(loop);
   b.range = loop->range;
   TlMap map;
   tl_map_init(&map, p->scratch);
   tl_map_put(&map, index, tl_b2(&b, TL_OP_XOR, index, one));
   for (Boxes *boxes; n < MOST && (boxes = largest(p, loop)); n++) {
      boxes->same = build_same(&b, &map, p, boxes);
      chosen[n] = boxes;
   }
   TlOp *choice = loop;
   while (n-- > 0)
      choice = choose(p, chosen[n], loop, choice);
}

static void
pair(Pair *p)
{
   TlOp *tiles = p->tiles[PRODUCER];
   TlBuilder front = tl_builder_before(tiles);
   TlValue *one = tl_const_int(&front, TL_I32, 1);
   const TlType *i32 = tl_type_scalar(p->func->module->types, TL_I32);
   TlValue *rank = tl_b2(&front, TL_OP_AND, tl_b0(&front, TL_OP_BLOCK_ID, i32), one);
   p->is_second = tl_b2(&front, TL_OP_EQ, rank, one);
   for (size_t i = 0; i < p->boxes.len; i++)
      if (!p->boxes.data[i].same)
         choose_boxes(p, p->boxes.data[i].loop, tl_for_index(tiles), one);
   for (unsigned i = 0; i < 2; i++)
      share_odd(p->tiles[i]);
   TlBuilder b = tl_builder_before(p->start);
   tl_build_n(&b, TL_OP_CLUSTER_SYNC, NULL, 0, NULL, TL_ATTRS_());
   tl_remove(p->start);
   b = tl_builder_before(p->func->body->block->last);
   tl_build_n(&b, TL_OP_CLUSTER_SYNC, NULL, 0, NULL, TL_ATTRS_());
   p->func->cluster = CLUSTER;
}

bool
tl_pass_pair_blocks(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   Pair p = {.func = f, .scratch = cx->scratch};
   if (!find_roles(&p) || !shared_tiles(p.tiles[PRODUCER]) || !shared_tiles(p.tiles[CONSUMERS]))
      return false;
   find_varying(&p);
   if (!p.are_alike || !find_boxes(&p) || !count_both(&p))
      return false;
   tl_report(cx->diags, R0429, p.boxes.data[0].loop->range);
   pair(&p);
   return true;
}
