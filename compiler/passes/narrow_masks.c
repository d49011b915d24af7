/* Masks of 64-bit rows compared in 32 bits.  Where a block's rows are 64 bits wide, each row takes
 * two additions and two comparisons, though rows of a block lie close together:
 *
 *    %row = add splat(%base), %y : regs<i64, 16>      // %y = cast of 0 .. 63
 *    %m = lt %row, splat(%n)
 *
 * becomes one number for all, and a comparison of 32 bits a row:
 *
 *    %left = %base < %n ? min(%n - %base, 2^31 - 1) : 0
 *    %m = lt %y', splat(i32(%left))                   // %y' before the cast
 *
 * `ge` likewise; the others with `<=` and -1; rows without a base as with 0.  The difference is
 * taken without a sign where it is one of a greater and a lesser number, so it is exact.  That
 * base + y does not overflow is what signed arithmetic promises (ir/analysis.h).
 * Refused: few registers, for which the one number costs more; y that may be negative or 2^31 - 1.
 * Each comparison is visited once and its replacement is of 32 bits, so it ends. */
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

enum { FEWEST = 8, MAX_DEPTH = 12, LANE_BITS = 5, WARP_BITS = 5, UNKNOWN_BITS = 64 };

static unsigned bits_of(const TlValue *v, unsigned depth);

static unsigned
bits_of_constant(const TlValue *v, uint64_t bits)
{
   unsigned n = 0;
   if (tl_bits_to_int(tl_type_elem(v->type)->dtype, bits) < 0)
      return UNKNOWN_BITS;
   for (; bits; bits >>= 1)
      n++;
   return n;
}

static unsigned
bits_of_two(TlOpcode op, unsigned a, unsigned b)
{
   unsigned most = a > b ? a : b, least = a < b ? a : b;
   switch (op) {
   case TL_OP_AND:
      return least;
   case TL_OP_OR:
   case TL_OP_XOR:
      return most;
   case TL_OP_ADD:
      return most < UNKNOWN_BITS ? most + 1 : UNKNOWN_BITS;
   case TL_OP_MUL:
      return a + b < UNKNOWN_BITS ? a + b : UNKNOWN_BITS;
   default:
      return UNKNOWN_BITS;
   }
}

static unsigned
bits_of_shift(const TlOp *op, unsigned bits)
{
   uint64_t by;
   if (!tl_is_const(tl_arg(op, 1), &by) || by >= 32 || bits >= UNKNOWN_BITS)
      return UNKNOWN_BITS;
   if (op->opcode == TL_OP_SHL)
      return bits + (unsigned)by;
   return bits > by ? bits - (unsigned)by : 0;
}

/* Every register is in 0 .. 2^n - 1. */
static unsigned
bits_of(const TlValue *v, unsigned depth)
{
   uint64_t bits;
   unsigned most = 0;
   if (tl_is_const(v, &bits))
      return bits_of_constant(v, bits);
   if (!v->def || depth == MAX_DEPTH)
      return UNKNOWN_BITS;
   const TlOp *op = v->def;
   switch (op->opcode) {
   case TL_OP_LANE_ID:
      return LANE_BITS;
   case TL_OP_WARP_ID:
      return WARP_BITS;
   case TL_OP_SPLAT:
   case TL_OP_PICK:
      for (unsigned i = 0; i < op->num_args; i++) {
         unsigned n = bits_of(tl_arg(op, i), depth + 1);
         most = n > most ? n : most;
      }
      return most;
   case TL_OP_SHL:
   case TL_OP_SHR:
      return bits_of_shift(op, bits_of(tl_arg(op, 0), depth + 1));
   default:
      if (op->num_args != 2 || !tl_has_trait(op, TL_TRAIT_ELTWISE))
         return UNKNOWN_BITS;
      return bits_of_two(op->opcode, bits_of(tl_arg(op, 0), depth + 1),
                         bits_of(tl_arg(op, 1), depth + 1));
   }
}

static TlDtype
dtype_of(const TlValue *v)
{
   const TlType *elem = tl_type_elem(v->type);
   return elem->kind == TL_TYPE_SCALAR ? elem->dtype : TL_DTYPE_COUNT;
}

/* The scalar that all registers are, or NULL. */
static TlValue *
uniform(TlBuilder *b, TlValue *v)
{
   uint64_t bits;
   if (tl_value_is(v, TL_OP_SPLAT))
      return tl_arg(v->def, 0);
   return tl_is_const(v, &bits) ? tl_const_bits(b, tl_type_elem(v->type), bits) : NULL;
}

/* y before it was widened, if it is small and no element of it negative. */
static TlValue *
small(const TlValue *wide)
{
   if (!tl_value_is(wide, TL_OP_CAST) || dtype_of(tl_arg(wide->def, 0)) != TL_I32)
      return NULL;
   TlValue *y = tl_arg(wide->def, 0);
   return bits_of(y, 0) <= 30 ? y : NULL;
}

/* y of base + y, before it was widened; the scalar base in *base, NULL: 0. */
static TlValue *
above_base(const TlValue *row, TlValue **base)
{
   *base = NULL;
   if (!tl_value_is(row, TL_OP_ADD))
      return small(row);
   for (unsigned k = 0; k < 2; k++) {
      TlValue *all = tl_arg(row->def, k), *y = small(tl_arg(row->def, 1 - k));
      if (!y || !tl_value_is(all, TL_OP_SPLAT))
         continue;
      *base = tl_arg(all->def, 0);
      return y;
   }
   return NULL;
}

static TlOpcode
turned(TlOpcode op)
{
   switch (op) {
   case TL_OP_LT:
      return TL_OP_GT;
   case TL_OP_LE:
      return TL_OP_GE;
   case TL_OP_GT:
      return TL_OP_LT;
   case TL_OP_GE:
      return TL_OP_LE;
   default:
      assert(op == TL_OP_EQ || op == TL_OP_NE);
      return op;
   }
}

/* What y is compared with: the rows from base on that are below n, or up to it. */
static TlValue *
rows_left(TlBuilder *b, TlValue *base, TlValue *n, bool is_below)
{
   TlTypes *types = b->func->module->types;
   const TlType *i64 = tl_type_scalar(types, TL_I64), *u64 = tl_type_scalar(types, TL_U64),
                *i32 = tl_type_scalar(types, TL_I32);
   TlValue *from = base ? base : tl_const_int(b, TL_I64, 0);
   TlValue *any = tl_b2(b, is_below ? TL_OP_LT : TL_OP_LE, from, n);
   TlValue *left = tl_t1(b, TL_OP_BITCAST, u64, base ? tl_b2(b, TL_OP_SUB, n, base) : n);
   TlValue *few = tl_b2(b, TL_OP_MIN, left, tl_const_int(b, TL_U64, INT32_MAX));
   TlValue *none = tl_const_int(b, TL_I32, is_below ? 0 : -1);
   few = tl_t1(b, TL_OP_CAST, i32, tl_t1(b, TL_OP_BITCAST, i64, few));
   return tl_b3(b, TL_OP_SELECT, any, few, none);
}

static bool
narrow(TlOp *op)
{
   bool compares = op->opcode == TL_OP_LT || op->opcode == TL_OP_LE || op->opcode == TL_OP_GT ||
                   op->opcode == TL_OP_GE || op->opcode == TL_OP_EQ || op->opcode == TL_OP_NE;
   if (!compares || dtype_of(tl_arg(op, 0)) != TL_I64 ||
       tl_type_num_regs(tl_result(op, 0)->type) < FEWEST)
      return false;
   TlBuilder b = tl_builder_before(op);
   for (unsigned k = 0; k < 2; k++) {
      TlValue *base, *y = above_base(tl_arg(op, k), &base);
      TlValue *n = y ? uniform(&b, tl_arg(op, 1 - k)) : NULL;
      if (!n)
         continue;
      TlOpcode order = k ? turned(op->opcode) : op->opcode;
      TlValue *left = rows_left(&b, base, n, order == TL_OP_LT || order == TL_OP_GE);
      TlValue *all = tl_t1(&b, TL_OP_SPLAT, y->type, left);
      tl_replace_uses(tl_result(op, 0), tl_b2(&b, order, y, all));
      tl_remove(op);
      return true;
   }
   return false;
}

bool
tl_pass_narrow_masks(TlPassCx *cx, TlFunc *f)
{
   (void)cx;
   assert(f->state == TL_STATE_LOWERED);
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      changed |= narrow(op);
   }
   return changed;
}
