/* Regions over scalars (combine functions, map bodies) applied to registers.
 *
 * Elementwise regions run on all registers at once: the rules accept registers where the region has
 * scalars.  A region with control flow or memory operations is repeated for each register. */
#include "passes/lower/impl.h"

#include <assert.h>
#include <string.h>

static bool
is_elementwise(const TlBlock *block)
{
   assert(block->last && tl_has_trait(block->last, TL_TRAIT_TERM));
   for (const TlOp *op = block->first; op != block->last; op = op->next)
      if (!tl_has_trait(op, TL_TRAIT_ELTWISE) && op->opcode != TL_OP_CONSTANT &&
          op->opcode != TL_OP_POISON)
         return false;
   return true;
}

static void
run_once(TlLowerCx *cx, const TlBlock *block, TlValue *const *args, unsigned num_args, unsigned n,
         TlValue **results)
{
   assert(block->num_args == num_args && block->last);
   for (unsigned i = 0; i < num_args; i++)
      tl_lower_def(cx, block->args[i], args[i]);
   for (TlOp *op = block->first; op != block->last; op = op->next)
      tl_lower_op(cx, op);
   for (unsigned i = 0; i < block->last->num_args; i++)
      results[i] = tl_regs_splat(cx, tl_lower_use(cx, tl_arg(block->last, i)), n);
}

void
tl_inline_region(TlLowerCx *cx, const TlRegion *region, TlValue *const *args, unsigned num_args,
                 unsigned n, TlValue **results)
{
   assert(n > 0 && region->block->last);
   const TlBlock *block = region->block;
   unsigned num_results = block->last->num_args;
   if (n == 1 || is_elementwise(block)) {
      run_once(cx, block, args, num_args, n, results);
      return;
   }
   TlValue **one = tl_new_array(cx->scratch, TlValue *, num_args);
   TlValue **out = tl_new_array(cx->scratch, TlValue *, (size_t)num_results * n);
   TlValue **part = tl_new_array(cx->scratch, TlValue *, num_results);
   for (unsigned r = 0; r < n; r++) {
      for (unsigned i = 0; i < num_args; i++)
         one[i] = tl_regs_of(args[i]->type) == 1 ? args[i] : tl_regs_reg(cx, args[i], r);
      run_once(cx, block, one, num_args, 1, part);
      for (unsigned i = 0; i < num_results; i++)
         out[i * n + r] = part[i];
   }
   for (unsigned i = 0; i < num_results; i++)
      results[i] = tl_regs_concat(cx, &out[(size_t)i * n], n);
}

bool
tl_region_commutes(const TlRegion *region)
{
   const TlBlock *block = region->block;
   const TlOp *op = block->first;
   if (block->num_args != 2 || op == block->last || op->next != block->last ||
       !tl_has_trait(op, TL_TRAIT_COMMUTES) || op->num_args != 2)
      return false;
   const TlValue *a = tl_arg(op, 0), *b = tl_arg(op, 1);
   return (a == block->args[0] && b == block->args[1]) ||
          (a == block->args[1] && b == block->args[0]);
}

/* ---- functions that take one of two by comparison ---- */
/* What a value of such a function is, given how the arguments compare: the truth 0 or 1, or
 * argument i of the first half, PICKED + 2 i, or of the second, PICKED + 2 i + 1. */
enum { FALSE_ = 0, TRUE_ = 1, PICKED = 2, UNKNOWN = 255 };
enum { LESS, EQUAL, GREATER, RELATIONS };
enum { MOST_PICKED = 4, MOST_PICKING = 32 }; /* values; operations of the function */

typedef struct Picking {
   const TlBlock *block;
   unsigned k;
   uint8_t relation[MOST_PICKED]; /* of argument i to argument k + i */
   const TlOp *op[MOST_PICKING];
   uint8_t result[MOST_PICKING];
   unsigned n;
} Picking;

static uint8_t
picked(const Picking *p, const TlValue *v)
{
   for (unsigned i = 0; i < 2 * p->k; i++)
      if (p->block->args[i] == v)
         return (uint8_t)(PICKED + 2 * (i % p->k) + i / p->k);
   for (unsigned i = 0; i < p->n; i++)
      if (p->op[i] == v->def)
         return p->result[i];
   return UNKNOWN;
}

static uint8_t
compare_picked(const Picking *p, TlOpcode opcode, uint8_t a, uint8_t b)
{
   if (a < PICKED || b < PICKED || a == UNKNOWN || b == UNKNOWN || (a ^ 1) != b)
      return UNKNOWN; /* of one and the same as well: that may be how NaN is found */
   unsigned relation = p->relation[(a - PICKED) / 2];
   bool less = relation == ((a & 1) ? GREATER : LESS), equal = relation == EQUAL;
   switch (opcode) {
   case TL_OP_EQ:
      return equal;
   case TL_OP_NE:
      return !equal;
   case TL_OP_LT:
      return less;
   case TL_OP_LE:
      return less || equal;
   case TL_OP_GT:
      return !less && !equal;
   case TL_OP_GE:
      return !less;
   default:
      return UNKNOWN;
   }
}

static uint8_t
evaluate_picking(const Picking *p, const TlOp *op)
{
   uint8_t a[3] = {UNKNOWN, UNKNOWN, UNKNOWN};
   for (unsigned i = 0; i < op->num_args && i < 3; i++)
      a[i] = picked(p, tl_arg(op, i));
   if (op->opcode == TL_OP_SELECT)
      return a[0] == TRUE_ ? a[1] : a[0] == FALSE_ ? a[2] : UNKNOWN;
   if (op->opcode != TL_OP_AND && op->opcode != TL_OP_OR)
      return compare_picked(p, op->opcode, a[0], a[1]);
   if (a[0] > TRUE_ || a[1] > TRUE_)
      return UNKNOWN;
   return op->opcode == TL_OP_AND ? a[0] & a[1] : a[0] | a[1];
}

/* What the function yields when its arguments compare so. */
static bool
evaluate_all(Picking *p, const uint8_t *relation, uint8_t *results)
{
   p->n = 0;
   memcpy(p->relation, relation, p->k);
   const TlOp *op = p->block->first;
   for (; op != p->block->last && p->n < MOST_PICKING; op = op->next) {
      p->op[p->n] = op;
      p->result[p->n] =
         op->num_results == 1 && op->num_regions == 0 ? evaluate_picking(p, op) : UNKNOWN;
      p->n++;
   }
   for (unsigned i = 0; op == p->block->last && i < p->k; i++) {
      results[i] = picked(p, tl_arg(op, i));
      if (results[i] < PICKED || results[i] == UNKNOWN)
         return false;
   }
   return op == p->block->last;
}

/* However the arguments compare, both ways round give the same, or what compares equal. */
static bool
picks(const TlRegion *region)
{
   Picking p = {.block = region->block, .k = region->block->num_args / 2};
   unsigned cases = 1;
   if (p.k > MOST_PICKED || region->block->last->num_args != p.k)
      return false;
   for (unsigned i = 0; i < p.k; i++)
      cases *= RELATIONS;
   for (unsigned c = 0; c < cases; c++) {
      uint8_t relation[MOST_PICKED], turned[MOST_PICKED], a[MOST_PICKED], b[MOST_PICKED];
      for (unsigned i = 0, rest = c; i < p.k; i++, rest /= RELATIONS) {
         relation[i] = (uint8_t)(rest % RELATIONS);
         turned[i] = (uint8_t)(GREATER - relation[i]);
      }
      if (!evaluate_all(&p, relation, a) || !evaluate_all(&p, turned, b))
         return false;
      for (unsigned i = 0; i < p.k; i++)
         if (a[i] != (b[i] ^ 1) &&
             ((a[i] - PICKED) / 2 != (b[i] - PICKED) / 2 || relation[(a[i] - PICKED) / 2] != EQUAL))
            return false;
   }
   return true;
}

bool
tl_region_takes_any_order(const TlRegion *region)
{
   return tl_region_commutes(region) || picks(region);
}
