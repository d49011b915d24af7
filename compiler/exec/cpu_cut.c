/* Divisions of integers that are cut towards zero, as in C and Triton, where Python rounds down.
 * What floor() would make another number follows the same way as what is undefined (cpu_impl.h),
 * so that it is told of only where it is stored, decides or is an address, and not of lanes that a
 * mask or `where` leaves out.  A kernel that looks at the sign of what it divides, or of the
 * remainder, knows what it does: nothing is told of it. */
#include "exec/cpu_impl.h"

#include "ir/walk.h"

#include <string.h>

static bool
is_comparison(const TlOp *op)
{
   return op->opcode == TL_OP_LT || op->opcode == TL_OP_LE || op->opcode == TL_OP_GT ||
          op->opcode == TL_OP_GE || op->opcode == TL_OP_EQ || op->opcode == TL_OP_NE;
}

/* Marks what v is computed from, and v itself, but for what is behind `last` (or NULL); constants
 * are nothing. */
static void
mark_parts(bool *marks, const TlValue *v, const TlValue *last)
{
   uint64_t bits;
   if (marks[v->id] || tl_is_const(v, &bits))
      return;
   marks[v->id] = true;
   for (unsigned i = 0; v != last && v->def && tl_op_is_pure(v->def) && i < v->def->num_args; i++)
      mark_parts(marks, tl_arg(v->def, i), last);
}

static bool
share_parts(TlArena *arena, const TlFunc *f, const bool *marks, const TlValue *v,
            const TlValue *last)
{
   bool *own = tl_new_array(arena, bool, f->next_value_id);
   bool any = false;
   mark_parts(own, v, last);
   for (uint32_t i = 0; i < f->next_value_id; i++)
      any |= own[i] && marks[i];
   return any;
}

static bool
is_same(TlAnalysis *facts, const TlValue *a, const TlValue *b)
{
   int64_t x, y;
   return a == b || (tl_axis_known(tl_axis_info(facts, a), &x) &&
                     tl_axis_known(tl_axis_info(facts, b), &y) && x == y);
}

/* a % b + b: the remainder is brought above zero. */
static bool
is_brought_up(TlAnalysis *facts, const TlOp *division)
{
   const TlValue *by = tl_arg(division, 1), *r = tl_result(division, 0);
   for (const TlUse *u = r->uses; u && division->opcode == TL_OP_REM; u = u->next)
      for (unsigned i = 0; u->user->opcode == TL_OP_ADD && i < 2; i++)
         if (tl_arg(u->user, i) == r && is_same(facts, tl_arg(u->user, 1 - i), by))
            return true;
   return false;
}

/* arange(0, 8) - 3 goes below zero by its own constants, and is meant to. */
static bool
is_bounded(const TlAxisInfo *x, TlDtype dtype)
{
   int64_t least = tl_bits_to_int(dtype, UINT64_C(1) << (tl_dtype_info[dtype].bits - 1));
   return x->has_range && x->lo > least && x->lo > INT32_MIN / 2;
}

/* x >= 0, r != 0, of the dividend's parts; p < origin where p - origin is divided; q * 2 == x.  A
 * quotient that is >= 0 says nothing of the dividend: -1 // 2 is 0. */
static bool
looks_at_sign(TlArena *arena, TlAnalysis *facts, const TlFunc *f, const TlOp *division,
              const TlOp *compare)
{
   const TlOp *by = tl_arg(division, 0)->def;
   bool *marks = tl_new_array(arena, bool, f->next_value_id);
   const TlValue *quotient = division->opcode == TL_OP_DIV ? tl_result(division, 0) : NULL;
   mark_parts(marks, tl_arg(division, 0), NULL);
   for (unsigned i = 0; i < 2; i++) {
      const TlValue *x = tl_arg(compare, i), *y = tl_arg(compare, 1 - i);
      int64_t n;
      bool is_near_zero = tl_axis_known(tl_axis_info(facts, y), &n) && n >= -1 && n <= 1;
      if (x == tl_arg(division, 0) || (is_near_zero && share_parts(arena, f, marks, x, quotient)))
         return true;
      if (by && by->opcode == TL_OP_SUB && tl_arg(by, 0) == x && tl_arg(by, 1) == y)
         return true;
   }
   return false;
}

/* x // 2 >= 0: below zero is thought of, and that -1 // 2 is 0 is not. */
static bool
is_guarded(TlAnalysis *facts, const TlOp *division)
{
   int64_t n;
   for (const TlUse *u = tl_result(division, 0)->uses; u && division->opcode == TL_OP_DIV;
        u = u->next) {
      bool is_left = tl_arg(u->user, 0) == tl_result(division, 0);
      if (u->user->opcode == (is_left ? TL_OP_GE : TL_OP_LE) &&
          tl_axis_known(tl_axis_info(facts, tl_arg(u->user, is_left ? 1 : 0)), &n) && n == 0)
         return true;
   }
   return false;
}

bool
tl_cpu_may_cut(TlArena *arena, TlAnalysis *facts, const TlFunc *f, const TlOp *division)
{
   if (division->opcode != TL_OP_DIV && division->opcode != TL_OP_REM)
      return false;
   const TlType *elem = tl_type_elem(tl_arg(division, 0)->type);
   const TlAxisInfo *x = tl_axis_info(facts, tl_arg(division, 0));
   const TlAxisInfo *y = tl_axis_info(facts, tl_arg(division, 1));
   if (elem->kind != TL_TYPE_SCALAR || !tl_dtype_is_int(elem->dtype) ||
       !tl_dtype_is_signed(elem->dtype) ||
       (is_bounded(x, elem->dtype) && !is_guarded(facts, division)) ||
       (y->has_range && y->hi <= 0) || is_brought_up(facts, division))
      return false;
   enum { MOST_VALUES = 2000, MOST_COMPARISONS = 64 }; /* larger kernels are not looked at */
   const TlBlock *top = f->body->block;
   unsigned num = 0;
   if (f->next_value_id > MOST_VALUES)
      return false;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (is_comparison(op) &&
          (++num > MOST_COMPARISONS || looks_at_sign(arena, facts, f, division, op)))
         return false;
   return true;
}

bool
tl_cpu_is_cut(TlExecThread *t, const TlExecInst *inst, size_t i)
{
   int64_t v[2];
   for (unsigned k = 0; k < 2; k++) {
      const TlExecSlot *s = inst->arg[k];
      const uint8_t *data = tl_cpu_data(t, s);
      v[k] = tl_bits_to_int(s->dtype, tl_load_elem(s->dtype, data + i * s->elem_bytes));
   }
   bool is_cut = v[0] < 0 && v[1] > 0 && v[0] % v[1] != 0;
   if (is_cut)
      memcpy(t->operands[inst->cut_source], v, sizeof v);
   return is_cut;
}

void
tl_cpu_warn_cut(TlExecThread *t, uint8_t source, const TlExecSlot *slot, size_t i)
{
   const int64_t *v = t->operands[source];
   TlExecFault what = {.kind = TL_FAULT_CUT, .value = v[0], .limit = v[1]};
   tl_cpu_warn_of(t, t->plan->source[source], slot, i, &what);
}
