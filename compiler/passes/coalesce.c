/* Vector widths and blocked layouts of global memory accesses: one vector of at most 16 bytes a
 * thread and access, lanes along the contiguous dimension and then the next, warps on the slowest
 * dimensions that have room (so that reductions along the contiguous one stay in a warp), or, where
 * that is asked for, on the contiguous one where rows are shared anyway. */
#include "passes/coalesce.h"
#include "passes/lower/lower.h"
#include "passes/prefix_masks.h"

#include <assert.h>
#include <string.h>

enum { MAX_ACCESS_BYTES = 16, LANES = 32, MIN_OF_ROW = 4 };

static uint32_t
pow2_at_most(int64_t v, uint32_t most)
{
   assert(most && (most & (most - 1)) == 0);
   uint32_t p = 1;
   while (p < most && (int64_t)p * 2 <= v)
      p *= 2;
   return p;
}

/* Largest power of two that divides v, at most `most`. */
static uint32_t
pow2_factor(int64_t v, uint32_t most)
{
   assert(most && (most & (most - 1)) == 0);
   uint32_t p = 1;
   while (p < most && v % ((int64_t)p * 2) == 0)
      p *= 2;
   return p;
}

/* Does a dot read it, element by element or in another arrangement?  Then it comes by asynchronous
 * copies where it can. */
static bool
feeds_dot(const TlValue *v, unsigned depth)
{
   enum { MAX_DEPTH = 6 };
   for (const TlUse *u = v->uses; u && depth < MAX_DEPTH; u = u->next) {
      const TlOp *op = u->user;
      if (op->opcode == TL_OP_DOT && tl_arg(op, 2) != v)
         return true;
      bool passes = op->opcode == TL_OP_TRANS || op->opcode == TL_OP_RESHAPE ||
                    op->opcode == TL_OP_CAST || op->opcode == TL_OP_CONVERT_LAYOUT ||
                    op->opcode == TL_OP_LOCAL_ALLOC || op->opcode == TL_OP_LOCAL_LOAD ||
                    op->opcode == TL_OP_LOCAL_TRANS;
      if (passes && feeds_dot(tl_result(op, 0), depth + 1))
         return true;
   }
   return false;
}

/* May a vector be accessed in part?  A copy takes as many bytes as it is told.  Loads and stores
 * branch to single elements where a vector is cut, which pays where these are so small that a
 * warp's accesses do not fill the lines that they touch. */
static bool
may_be_partial(const TlOp *op, const TlAccess *a)
{
   const TlType *pointee = tl_type_elem(tl_arg(op, 0)->type)->elem;
   if (pointee->kind != TL_TYPE_SCALAR || tl_dtype_info[pointee->dtype].bits < 8)
      return false;
   bool is_small = a->mask_run * a->elem_bytes < TL_MIN_PART_BYTES;
   switch (op->opcode) {
   case TL_OP_ASYNC_COPY:
      return op->num_args == 3;
   case TL_OP_LOAD:
      return !tl_attr_int(op, TL_ATTR_VOLATILE) && (is_small || feeds_dot(tl_result(op, 0), 0));
   case TL_OP_STORE:
      return is_small;
   default:
      return false;
   }
}

static void
take_mask(TlAnalysis *facts, const TlOp *op, TlAccess *a)
{
   const TlValue *mask = tl_pred(op);
   uint32_t size = tl_arg(op, 0)->type->shape[a->dim];
   if (!mask)
      return;
   a->mask_run = pow2_at_most((int64_t)tl_axis_info(facts, mask)->constancy[a->dim], size);
   a->mask_prefix = may_be_partial(op, a)
                       ? pow2_at_most((int64_t)tl_mask_prefix(facts, mask, a->dim), size)
                       : a->mask_run;
}

/* Volatile loads give nothing equal. */
static void
take_equal(TlAnalysis *facts, const TlOp *op, TlAccess *a)
{
   const TlType *t = tl_arg(op, 0)->type;
   const TlAxisInfo *info = op->opcode == TL_OP_LOAD ? tl_axis_info(facts, tl_result(op, 0)) : NULL;
   for (unsigned d = 0; d < t->rank; d++)
      a->equal[d] = info ? pow2_at_most((int64_t)info->constancy[d], t->shape[d]) : 1;
}

/* Neighbours along d that lie side by side, or where none do, that share an address; a dimension
 * with one address has no neighbours. */
static uint32_t
nearness(const TlAxisInfo *info, const TlType *t, unsigned d, bool is_apart)
{
   uint32_t shared = pow2_at_most((int64_t)info->constancy[d], t->shape[d]);
   if (is_apart)
      return shared < t->shape[d] ? shared : 1;
   return pow2_at_most((int64_t)info->contiguity[d], t->shape[d]);
}

TlAccess
tl_access_of(TlAnalysis *facts, const TlOp *op)
{
   const TlValue *ptr = tl_arg(op, 0);
   assert(tl_type_elem(ptr->type)->kind == TL_TYPE_PTR);
   const TlType *t = ptr->type;
   TlAccess a = {.mask_run = 1u << 20, .mask_prefix = 1u << 20};
   const TlType *pointee = tl_type_elem(t)->elem;
   a.elem_bytes = pointee->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[pointee->dtype].bytes;
   const TlAxisInfo *info = tl_axis_info(facts, ptr);
   bool is_apart = true;
   for (unsigned d = 0; d < t->rank; d++)
      is_apart &= t->shape[d] == 1 || info->contiguity[d] <= 1;
   for (unsigned d = 0; d < t->rank; d++)
      a.order[d] = is_apart ? d : t->rank - 1 - d;
   /* Stable: of equal contiguity the later dimension comes first.  Where nothing is known to lie
    * side by side it is the one whose neighbours share an address, as those of packed elements do,
    * else the first: rows are what indices computed by / and % number, so neighbours there often
    * lie side by side, and a thread has few rows to compute them for. */
   for (unsigned i = 1; i < t->rank; i++)
      for (unsigned j = i; j > 0; j--) {
         unsigned hi = a.order[j], lo = a.order[j - 1];
         uint32_t c_hi = nearness(info, t, hi, is_apart), c_lo = nearness(info, t, lo, is_apart);
         if (c_hi <= c_lo)
            break;
         a.order[j] = lo;
         a.order[j - 1] = hi;
      }
   a.dim = a.order[0];
   a.contiguity = pow2_at_most((int64_t)info->contiguity[a.dim], t->shape[a.dim]);
   a.align_bytes = pow2_factor((int64_t)info->divisibility[a.dim], MAX_ACCESS_BYTES);
   take_mask(facts, op, &a);
   take_equal(facts, op, &a);
   return a;
}

uint32_t
tl_access_equal_regs(const TlAccess *a, const TlLinear *layout)
{
   uint32_t inside = 0, equal = 0;
   for (unsigned d = 0; d < layout->rank; d++)
      inside |= tl_axis_mask(layout, d) & (a->equal[d] - 1) << tl_ll_dim_shift(layout, d);
   for (unsigned i = 0; i < layout->num[TL_HW_REG]; i++)
      equal |= layout->col[i] & ~inside ? 0 : 1u << i;
   return equal;
}

unsigned
tl_access_vec(const TlAccess *a)
{
   assert(a->elem_bytes && a->elem_bytes <= MAX_ACCESS_BYTES);
   unsigned vec = MAX_ACCESS_BYTES / a->elem_bytes;
   while (vec > 1 &&
          (vec > a->contiguity || vec * a->elem_bytes > a->align_bytes || vec > a->mask_prefix))
      vec /= 2;
   return tl_access_vec_of(a, vec);
}

unsigned
tl_access_vec_of(const TlAccess *a, unsigned vec)
{
   bool is_part = vec > a->mask_run;
   return is_part && vec * a->elem_bytes < TL_MIN_PART_BYTES ? a->mask_run : vec;
}

unsigned
tl_access_vec_in(const TlAccess *a, const TlLinear *layout)
{
   unsigned vec = tl_access_vec(a), regs = tl_ll_contiguous_regs(layout, a->dim);
   return tl_access_vec_of(a, vec < regs ? vec : regs);
}

bool
tl_access_has_vectors(const TlTarget *target, const TlOp *op)
{
   if (op->opcode == TL_OP_LOAD || op->opcode == TL_OP_STORE)
      return true;
   if (op->opcode != TL_OP_ATOMIC_RMW || !tl_is_unused(op))
      return false;
   TlDtype t = tl_result(op, 0)->type->dtype;
   int64_t rmw = tl_attr_int(op, TL_ATTR_RMW);
   bool is_half = t == TL_FP16 || t == TL_BF16;
   bool is_sum = rmw == TL_RMW_ADD, is_extremum = rmw == TL_RMW_MAX || rmw == TL_RMW_MIN;
   bool has = is_half ? is_sum || is_extremum : is_sum && t == TL_FP32;
   return has && target && tl_target_has_red_vec(target);
}

static bool
rows_are_shared(unsigned rank, const uint32_t *shape, unsigned dim, unsigned num_warps)
{
   assert(dim < rank);
   uint32_t rows = 1;
   for (unsigned d = 0; d < rank; d++)
      rows *= d == dim ? 1 : shape[d];
   uint32_t least = rows > MIN_OF_ROW ? rows : MIN_OF_ROW;
   return rows > 1 && rows < num_warps && shape[dim] / (LANES * num_warps) >= least;
}

bool
tl_rows_are_shared(const TlType *tile, unsigned dim, unsigned num_warps)
{
   return rows_are_shared(tile->rank, tile->shape, dim, num_warps);
}

static TlLinear
blocked(unsigned rank, const uint32_t *shape, const unsigned *order, unsigned vec,
        unsigned num_warps, bool warps_follow_lanes)
{
   assert(vec && (vec & (vec - 1)) == 0);
   assert(rank <= TL_MAX_RANK && (num_warps & (num_warps - 1)) == 0);
   uint32_t size[TL_MAX_RANK] = {0}, lanes[TL_MAX_RANK] = {0}, warps[TL_MAX_RANK] = {0},
            left[TL_MAX_RANK] = {0};
   uint32_t num_lanes = LANES;
   for (unsigned d = 0; d < rank; d++) {
      size[d] = lanes[d] = warps[d] = 1;
      left[d] = shape[d];
   }
   size[order[0]] = vec < shape[order[0]] ? vec : shape[order[0]];
   left[order[0]] /= size[order[0]];
   for (unsigned i = 0; i < rank; i++) {
      unsigned d = order[i];
      lanes[d] = left[d] < num_lanes ? left[d] : num_lanes;
      left[d] /= lanes[d];
      num_lanes /= lanes[d];
   }
   lanes[order[0]] *= num_lanes; /* the rest repeats the tile */
   for (unsigned i = 0; i < rank; i++) {
      unsigned d = order[warps_follow_lanes ? i : rank - 1 - i];
      warps[d] = left[d] < num_warps ? left[d] : num_warps;
      num_warps /= warps[d];
   }
   warps[order[0]] *= num_warps;
   return tl_ll_blocked(rank, shape, size, lanes, warps, order);
}

TlLinear
tl_blocked_layout(unsigned rank, const uint32_t *shape, const unsigned *order, unsigned vec,
                  unsigned num_warps)
{
   return blocked(rank, shape, order, vec, num_warps, false);
}

TlLinear
tl_shared_blocked_layout(unsigned rank, const uint32_t *shape, const unsigned *order, unsigned vec,
                         unsigned num_warps)
{
   bool are_shared = shape[order[0]] >= vec * LANES * num_warps &&
                     rows_are_shared(rank, shape, order[0], num_warps);
   return blocked(rank, shape, order, vec, num_warps, are_shared);
}

TlLinear
tl_long_blocked_layout(unsigned rank, const uint32_t *shape, const unsigned *order, unsigned vec,
                       unsigned num_warps)
{
   return blocked(rank, shape, order, vec, num_warps, true);
}

TlLinear
tl_default_layout(unsigned rank, const uint32_t *shape, unsigned num_warps)
{
   assert(rank <= TL_MAX_RANK);
   unsigned order[TL_MAX_RANK];
   for (unsigned d = 0; d < rank; d++)
      order[d] = rank - 1 - d;
   return tl_blocked_layout(rank, shape, order, 1, num_warps);
}
