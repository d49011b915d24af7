/* The cost model of layout assignment: counts instructions, wavefronts and sectors of a block. */
#include "passes/place/cost.h"
#include "ir/affine.h"
#include "layout/cost.h"
#include "layout/matrices.h"
#include "passes/lower/lower.h"
#include "passes/pipeline_loops.h"

#include <assert.h>
#include <stdlib.h>

enum {
   ALU = 1,
   SPECIAL = 8, /* 16 of 128 lanes compute exp2 and the like; division takes several */
   WAVEFRONT = 4,
   SHUFFLE = 4,
   SECTOR = 2,
   PART = 4,  /* of a sector that is not stored whole: its other bytes come with another packet */
   ISSUE = 4, /* address and load/store unit, of one memory instruction */
   LINE = 4,  /* of strided elements: a request to the cache */
   LINE_BYTES = 128,
   BARRIER = 200, /* all warps meet, twice for each exchange */
   WARP_SYNC = 64,
   SHUFFLE_WAIT = 40, /* until the first result is there */
   MOST_SCRATCH = 1 << 23,
};

typedef struct Access {
   TlAccess of;
   unsigned stride; /* bytes of a strided row, else 0 */
   unsigned dim;    /* of the row */
} Access;

struct TlPlaceCosts {
   TlPlace *place;
   TlArena *arena;
   TlAffine *affine; /* NULL before it is asked */
   TlMap index;      /* interned layout -> number + 1 */
   uintptr_t num;
   TlMap conversions;  /* (from, to, bytes) -> cost + 1 */
   TlMap accesses;     /* memory operation -> Access * */
   TlMap ring_reads;   /* (load, layout) -> cost + 1 */
   TlConvertPlan plan; /* scratch */
};

TlPlaceCosts *
tl_place_costs_new(TlPlace *p, TlArena *arena)
{
   TlPlaceCosts *c = tl_new(arena, TlPlaceCosts);
   c->place = p;
   c->arena = arena;
   tl_map_init(&c->index, arena);
   tl_map_init(&c->conversions, arena);
   tl_map_init(&c->accesses, arena);
   tl_map_init(&c->ring_reads, arena);
   return c;
}

unsigned
tl_place_layout_index(TlPlaceCosts *c, const TlLinear *layout)
{
   assert(layout);
   uintptr_t known = (uintptr_t)tl_map_get(&c->index, layout);
   if (!known)
      tl_map_put(&c->index, layout, (void *)(known = ++c->num));
   return (unsigned)known - 1;
}

static unsigned
log2_copies(const TlLinear *l, TlHw hw)
{
   unsigned n = 0;
   for (unsigned i = 0; i < l->num[hw]; i++)
      n += tl_ll_col(l, hw, i) == 0;
   return n;
}

static int64_t
num_warps(const TlLinear *l)
{
   return (int64_t)1 << l->num[TL_HW_WARP];
}

/* ---- conversions ---- */
static int64_t
plan_cost(const TlConvertPlan *p, unsigned bytes)
{
   assert(bytes > 0);
   int64_t elems = INT64_C(1) << __builtin_popcount(p->dst_live), parts = bytes > 4 ? bytes / 4 : 1;
   switch (p->kind) {
   case TL_CONVERT_NOTHING:
   case TL_CONVERT_REGISTERS:
      return 0;
   case TL_CONVERT_SHUFFLES:
      return SHUFFLE_WAIT + num_warps(&p->dst) *
                               (p->shuffle.num_shuffles * SHUFFLE +
                                (p->shuffle.num_pre + p->shuffle.num_post) * elems * parts * ALU);
   case TL_CONVERT_SHARED:
      return (p->shared.warp_local ? WARP_SYNC : BARRIER) * p->repeats +
             (int64_t)tl_convert_wavefronts(p) * WAVEFRONT;
   }
   return 0;
}

int64_t
tl_place_cost_convert(TlPlaceCosts *c, const TlType *elem, const TlLinear *from, const TlLinear *to)
{
   assert(from && to);
   if (from == to)
      return 0;
   unsigned bytes = tl_dtype_info[tl_memory_dtype(elem)].bytes;
   uintptr_t key = ((uintptr_t)tl_place_layout_index(c, from) << 24) +
                   ((uintptr_t)tl_place_layout_index(c, to) << 4) + bytes;
   uintptr_t known = (uintptr_t)tl_map_get(&c->conversions, (void *)key);
   if (known)
      return (int64_t)known - 1;
   bool ok = tl_convert_plan(from, to, bytes, MOST_SCRATCH, &c->plan);
   int64_t cost = ok ? plan_cost(&c->plan, bytes) : INT64_MAX / 4;
   tl_map_put(&c->conversions, (void *)key, (void *)(uintptr_t)(cost + 1));
   return cost;
}

int64_t
tl_place_conversion_wavefronts(const TlConvertPlan *plan, unsigned elem_bytes)
{
   return plan_cost(plan, elem_bytes) / WAVEFRONT;
}

/* Of one warp. */
static int64_t
matrix_wavefronts(const TlLinear *regs, const TlMatrices *m)
{
   uint32_t row[32] = {0};
   unsigned words = tl_ll_num_regs(regs) >> (log2_copies(regs, TL_HW_REG) + m->word_bits);
   for (unsigned lane = 0; lane < 8 * m->num; lane++)
      for (unsigned i = 0; i < 5; i++)
         row[lane] ^= lane >> i & 1 ? m->thread_cols[i] : 0;
   return (int64_t)(words / m->num) * tl_cost_matrices(row, m->num).wavefronts;
}

int64_t
tl_place_shared_wavefronts(const TlLinear *regs, const TlLinear *memory, unsigned elem_bytes,
                           TlTileMove move)
{
   assert(elem_bytes && (elem_bytes & (elem_bytes - 1)) == 0);
   uint32_t col[TL_LL_MAX_IN] = {0};
   unsigned vec = 1, num = tl_ll_num_regs(regs);
   TlMatrices m = {0};
   if (!tl_cost_offset_columns(regs, memory, elem_bytes, col))
      return INT64_MAX / 8;
   if (move == TL_TILE_LOAD && tl_find_matrices(regs, col, 0, elem_bytes, &m))
      return num_warps(regs) * matrix_wavefronts(regs, &m);
   while (vec * elem_bytes < 16 && vec < num) {
      bool found = false;
      for (unsigned i = 0; i < regs->num[TL_HW_REG]; i++)
         found |= col[i] == vec * elem_bytes;
      if (!found)
         break;
      vec *= 2;
   }
   num >>= log2_copies(regs, TL_HW_REG);
   const uint32_t *lane_col = &col[tl_ll_first(regs, TL_HW_LANE)];
   unsigned lanes = regs->num[TL_HW_LANE];
   int64_t each = tl_cost_shared_linear(lane_col, lanes, vec * elem_bytes).wavefronts;
   int64_t warps = num_warps(regs);
   if (move == TL_TILE_STORE)
      warps >>= log2_copies(regs, TL_HW_WARP);
   return warps * (num > vec ? num / vec : 1) * each;
}

/* Stores to the operand's buffer; what the dot loads from there does not depend on `from`. */
static int64_t
buffer_cost(const TlDotForm *f, unsigned index, const TlType *tile, const TlLinear *from)
{
   assert(index < 2 && from);
   TlType in_layout = *tile;
   in_layout.layout = from;
   TlLinear memory =
      (f->is_mma ? tl_mma_operand_memory : tl_fma_operand_memory)(f, index, &in_layout);
   unsigned bytes = tl_dtype_info[tile->dtype].bytes;
   int64_t words = 0;
   if (f->is_mma && !f->is_wgmma)
      words = (int64_t)tl_ll_num_regs(&f->operand[index]) * bytes / 4;
   return BARRIER + WAVEFRONT * (tl_place_shared_wavefronts(from, &memory, bytes, TL_TILE_STORE) +
                                 num_warps(from) * words);
}

int64_t
tl_place_cost_dot_operand(TlPlaceCosts *c, const TlDotForm *f, unsigned index, const TlType *tile,
                          const TlLinear *from)
{
   assert(index < 2);
   int64_t through_buffer = buffer_cost(f, index, tile, from);
   if (!tl_dot_has_fragment(f, index))
      return through_buffer;
   int64_t direct =
      tl_place_cost_convert(c, tile->elem, from, tl_place_intern(c->place, f->operand[index]));
   return direct < through_buffer ? direct : through_buffer;
}

/* ---- memory accesses ---- */
TlAccessCost
tl_place_access_cost(const TlAccess *a, const TlLinear *layout, unsigned vec)
{
   TlAccessCost cost = {.vec = vec};
   unsigned regs = tl_ll_num_regs(layout);
   for (uint32_t equal = tl_access_equal_regs(a, layout); equal; equal &= equal - 1)
      regs /= 2;
   cost.instructions = regs > cost.vec ? regs / cost.vec : 1;
   uint64_t seen[32 * 2];
   unsigned n = 0, bytes = cost.vec * a->elem_bytes;
   for (uint32_t lane = 0; lane < 32 && lane < 1u << layout->num[TL_HW_LANE]; lane++) {
      uint32_t at[TL_LL_MAX_RANK];
      tl_ll_coords(layout, 0, lane, 0, 0, at);
      uint64_t row = at[a->dim] / (a->contiguity > 1 ? a->contiguity : a->equal[a->dim]);
      for (unsigned d = 0; d < layout->rank; d++)
         row = d == a->dim ? row : row << 12 ^ (row >> 20) ^ at[d] / a->equal[d];
      uint64_t offset = (uint64_t)(at[a->dim] % a->contiguity) * a->elem_bytes;
      for (uint64_t s = offset / 32; s <= (offset + bytes - 1) / 32; s++) {
         uint64_t sector = row << 16 | s;
         unsigned k = 0;
         while (k < n && seen[k] != sector)
            k++;
         if (k == n)
            seen[n++] = sector;
      }
   }
   unsigned lanes = 1u << (layout->num[TL_HW_LANE] - log2_copies(layout, TL_HW_LANE));
   cost.sectors = n;
   cost.fills_sectors = lanes * bytes >= 32 * n;
   return cost;
}

/* The dimension of a tile that is one row, else -1. */
static int
only_dim(const TlType *t)
{
   int dim = -1;
   for (unsigned d = 0; d < t->rank; d++)
      dim = t->shape[d] == 1 ? dim : t->shape[d] == tl_type_num_elems(t) ? (int)d : -1;
   return dim;
}

/* By how much a number of a row differs from that of the next element, mostly, as far as that is
 * known: what the difference is a multiple of, LINE_BYTES at most.  Of two that are added, the
 * larger. */
typedef struct Steps {
   TlMap known; /* value -> step + 1 */
   TlAnalysis *facts;
   int dim;
} Steps;

/* Of what is loaded or chosen: neighbours have nothing to do with each other. */
enum { STEP_UNKNOWN = LINE_BYTES + 1 };

static unsigned step_of(Steps *s, const TlValue *v, unsigned depth);

static unsigned
times(unsigned step, uint64_t factor)
{
   return factor >= LINE_BYTES || step * factor >= LINE_BYTES ? LINE_BYTES
                                                              : step * (unsigned)factor;
}

static unsigned
step_of_product(Steps *s, const TlOp *op, unsigned depth)
{
   unsigned x = step_of(s, tl_arg(op, 0), depth), y = step_of(s, tl_arg(op, 1), depth);
   if (x && y)
      return STEP_UNKNOWN;
   unsigned moving = x + y;
   if (!moving || moving == STEP_UNKNOWN)
      return moving;
   const TlAxisInfo *by = tl_axis_info(s->facts, tl_arg(op, x ? 1 : 0));
   int64_t value;
   return times(moving,
                tl_axis_known(by, &value) ? (uint64_t)llabs(value) : by->divisibility[s->dim]);
}

/* A remainder goes on as what it is of, but where it starts anew; a quotient stays the same, but
 * where it goes on. */
static unsigned
step_of_operation(Steps *s, const TlOp *op, unsigned depth)
{
   assert(op->num_results == 1);
   switch ((int)op->opcode) {
   case TL_OP_CONSTANT:
   case TL_OP_SPLAT:
      return 0;
   case TL_OP_ARANGE:
      return 1;
   case TL_OP_CAST:
      if (tl_dtype_is_float(tl_type_elem(tl_arg(op, 0)->type)->dtype))
         return STEP_UNKNOWN;
      return step_of(s, tl_arg(op, 0), depth);
   case TL_OP_EXPAND_DIMS:
   case TL_OP_HINT:
      return step_of(s, tl_arg(op, 0), depth);
   case TL_OP_REM:
   case TL_OP_DIV: {
      unsigned of = step_of(s, tl_arg(op, 0), depth), by = step_of(s, tl_arg(op, 1), depth);
      if (of == STEP_UNKNOWN || by)
         return STEP_UNKNOWN;
      return op->opcode == TL_OP_DIV ? 0 : of;
   }
   case TL_OP_ADDPTR:
   case TL_OP_ADD:
   case TL_OP_SUB: {
      unsigned x = step_of(s, tl_arg(op, 0), depth), y = step_of(s, tl_arg(op, 1), depth);
      return x > y ? x : y;
   }
   case TL_OP_MUL:
      return step_of_product(s, op, depth);
   }
   return STEP_UNKNOWN;
}

static unsigned
step_of(Steps *s, const TlValue *v, unsigned depth)
{
   enum { MAX_DEPTH = 64 };
   if (v->type->kind != TL_TYPE_TILE || tl_type_num_elems(v->type) == 1)
      return 0;
   uintptr_t known = (uintptr_t)tl_map_get(&s->known, v);
   if (known)
      return (unsigned)(known - 1);
   unsigned step =
      v->def && depth < MAX_DEPTH ? step_of_operation(s, v->def, depth + 1) : STEP_UNKNOWN;
   tl_map_put(&s->known, v, (void *)((uintptr_t)step + 1));
   return step;
}

static unsigned
step_of_term(TlPlaceCosts *c, const TlTerm *m)
{
   unsigned step = times(1, (uint64_t)llabs(m->scale));
   for (unsigned i = 0; i < m->num; i++)
      if (!m->factor[i].is_iteration)
         step = times(step, tl_axis_info(c->place->facts, m->factor[i].value)->divisibility[0]);
   return step;
}

/* Where the elements of a row lie one stride apart, which may be less than a line: the bytes that
 * divide it; else 0.  The stride is a number of the launch; elements that loaded indices point to
 * have no neighbours, and of tiles of rows nothing says which of their neighbours are nearer. */
static unsigned
stride_of(TlPlaceCosts *c, const TlOp *op, const TlAccess *a, int dim)
{
   TlSum sum;
   const TlValue *base;
   unsigned step = 0;
   if (a->contiguity > 1 || dim < 0)
      return 0;
   if (!c->affine)
      c->affine = tl_affine_new(c->arena, c->place->func);
   if (tl_value_sum(c->affine, tl_arg(op, 0), &sum, &base)) {
      for (unsigned i = 0; i < sum.num; i++)
         step = sum.term[i].dim == dim ? step_of_term(c, &sum.term[i]) : step;
   } else {
      Steps s = {.facts = c->place->facts, .dim = dim};
      tl_map_init(&s.known, c->arena);
      step = step_of(&s, tl_arg(op, 0), 0);
   }
   return step * a->elem_bytes < LINE_BYTES ? step * a->elem_bytes : 0;
}

static const Access *
access_of(TlPlaceCosts *c, const TlOp *op)
{
   assert(tl_type_elem(tl_arg(op, 0)->type)->kind == TL_TYPE_PTR);
   Access *a = tl_map_get(&c->accesses, op);
   if (a)
      return a;
   a = tl_new(c->arena, Access);
   a->of = tl_access_of(c->place->facts, op);
   int dim = only_dim(tl_arg(op, 0)->type);
   a->stride = stride_of(c, op, &a->of, dim);
   a->dim = dim < 0 ? 0 : (unsigned)dim;
   tl_map_put(&c->accesses, op, a);
   return a;
}

/* That the first instruction of a warp touches, where elements lie so many bytes apart. */
static unsigned
lines_touched(const TlLinear *layout, unsigned dim, unsigned stride)
{
   uint32_t line[32], coords[TL_LL_MAX_RANK];
   unsigned lanes = 1u << layout->num[TL_HW_LANE], num = 0;
   assert(lanes <= 32 && dim < layout->rank);
   for (unsigned lane = 0; lane < lanes; lane++) {
      tl_ll_coords(layout, 0, lane, 0, 0, coords);
      line[lane] = coords[dim] * stride / LINE_BYTES;
      bool is_counted = true;
      for (unsigned k = 0; k < lane; k++)
         is_counted &= line[k] != line[lane];
      num += is_counted;
   }
   return num;
}

int64_t
tl_place_cost_ring_read(TlPlaceCosts *c, const TlOp *load, const TlLinear *to)
{
   const TlType *t = tl_result(load, 0)->type;
   const void *key =
      (const void *)(((uintptr_t)tl_result(load, 0)->id << 20) + tl_place_layout_index(c, to));
   uintptr_t known = (uintptr_t)tl_map_get(&c->ring_reads, key);
   if (known)
      return (int64_t)known - 1;
   int64_t least = INT64_MAX;
   for (unsigned is_swizzled = 0; is_swizzled < 2; is_swizzled++) {
      TlLinear memory = tl_ring_rows(t, access_of(c, load)->of.order, is_swizzled);
      int64_t n =
         tl_place_shared_wavefronts(to, &memory, tl_dtype_info[t->dtype].bytes, TL_TILE_LOAD);
      least = n < least ? n : least;
   }
   tl_map_put(&c->ring_reads, key, (void *)(uintptr_t)(least * WAVEFRONT + 1));
   return least * WAVEFRONT;
}

static int64_t
memory_cost(TlPlaceCosts *c, const TlOp *op, const TlLinear *home)
{
   const Access *known = access_of(c, op);
   const TlAccess *access = &known->of;
   bool has_vectors = tl_access_has_vectors(c->place->cx->target, op);
   unsigned vec = has_vectors ? tl_access_vec_in(access, home) : 1;
   TlAccessCost a = tl_place_access_cost(access, home, vec);
   int64_t warps = num_warps(home), active = warps, sector = SECTOR;
   if (op->opcode != TL_OP_LOAD) {
      active >>= log2_copies(home, TL_HW_WARP);
      sector = a.fills_sectors ? SECTOR : PART;
   }
   unsigned lines = known->stride ? lines_touched(home, known->dim, known->stride) : 0;
   return (int64_t)a.instructions * (warps * ISSUE + active * (a.sectors * sector + lines * LINE));
}

/* ---- operations along an axis ---- */
static bool
has_column(const TlLinear *l, TlHw hw, uint32_t image)
{
   for (unsigned i = 0; i < l->num[hw]; i++)
      if (tl_ll_col(l, hw, i) == image)
         return true;
   return false;
}

/* As lowered: from the lowest bit of the index on, two blocks become one.  Totals of blocks are
 * exchanged, every prefix is made again for each bit of a thread.  Register bits above those of
 * lanes come too late to leave fewer totals. */
static int64_t
scan_cost(const TlOp *op, const TlLinear *home)
{
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   int64_t all = tl_ll_num_regs(home), totals = all, n = num_warps(home), cost = 0;
   for (unsigned i = 0; i < home->log2_dim[axis]; i++) {
      uint32_t image = 1u << (tl_ll_dim_shift(home, axis) + i);
      if (has_column(home, TL_HW_REG, image)) {
         totals /= 2;
         cost += n * (all / 2 + totals) * ALU;
         continue;
      }
      cost += n * (2 * all + totals) * ALU;
      cost += has_column(home, TL_HW_WARP, image) ? BARRIER + n * totals * 2 * WAVEFRONT
                                                  : n * totals * SHUFFLE;
   }
   return cost * op->num_args;
}

static int64_t
reduce_cost(const TlOp *op, const TlLinear *home)
{
   uint32_t mask = tl_axis_mask(home, (unsigned)tl_attr_int(op, TL_ATTR_AXIS));
   unsigned lanes = 0, warps = 0, regs = 0;
   for (unsigned i = 0; i < home->num[TL_HW_REG]; i++)
      regs += (home->col[i] & mask) != 0;
   for (unsigned i = 0; i < home->num[TL_HW_LANE]; i++)
      lanes += (tl_ll_col(home, TL_HW_LANE, i) & mask) != 0;
   for (unsigned i = 0; i < home->num[TL_HW_WARP]; i++)
      warps += (tl_ll_col(home, TL_HW_WARP, i) & mask) != 0;
   int64_t all = tl_ll_num_regs(home), left = all >> regs, n = num_warps(home);
   int64_t cost = n * all * ALU + n * left * lanes * (SHUFFLE + ALU);
   if (warps)
      cost += BARRIER + n * left * (2 * WAVEFRONT + (ALU << warps));
   return cost * op->num_args;
}

/* Integers have no division: about 20 instructions by a reciprocal, a function for 64 bits; by a
 * constant a product and shifts. */
static int64_t
division_cost(const TlOp *op)
{
   assert(op->num_args == 2);
   const TlValue *by = tl_arg(op, 1);
   while (tl_value_is(by, TL_OP_SPLAT))
      by = tl_arg(by->def, 0);
   if (tl_value_is(by, TL_OP_CONSTANT))
      return 4 * ALU;
   return tl_dtype_info[tl_result(op, 0)->type->dtype].bits > 32 ? 80 * ALU : 20 * ALU;
}

/* Of one element: conversions to, from and between narrow types take several instructions. */
static int64_t
element_cost(const TlOp *op)
{
   if (tl_is_costly(op))
      return SPECIAL;
   if (op->opcode == TL_OP_DIV || op->opcode == TL_OP_REM)
      return division_cost(op);
   if (op->opcode != TL_OP_CAST)
      return ALU;
   const TlDtype from = tl_arg(op, 0)->type->dtype, to = tl_result(op, 0)->type->dtype;
   if (tl_dtype_is_float(from) != tl_dtype_is_float(to))
      return 4 * ALU;
   return tl_dtype_is_float(to) ? 2 * ALU : ALU;
}

bool
tl_place_is_long(const TlOp *op)
{
   return element_cost(op) > SHUFFLE_WAIT;
}

int64_t
tl_place_cost_op(TlPlaceCosts *c, const TlOp *op, const TlLinear *home)
{
   if (tl_has_trait(op, TL_TRAIT_ACCESS))
      return memory_cost(c, op, home);
   if (tl_has_trait(op, TL_TRAIT_ALONG_AXIS))
      return op->opcode == TL_OP_SCAN ? scan_cost(op, home) : reduce_cost(op, home);
   if (!tl_has_trait(op, TL_TRAIT_ELTWISE))
      return 0;
   return num_warps(home) * (int64_t)tl_ll_num_regs(home) * element_cost(op);
}
