/* Pointers that a loop advances alike are carried as one:
 *    p = base + x (x a register for each access);  for ..: use p;  p = p + step
 * becomes
 *    q = base;  for ..: use q + x;  q = q + step
 * A pointer takes two registers and an offset of 32 bits one, and a multiply-add makes the address
 * where it is used; the offsets stay in registers through the loop, the pointers do not.  Addresses
 * are sums of 64 bits, so their order does not matter. */
#include "ir/control.h"
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>

enum { FEWEST = 8 }; /* n + 2 registers for 2 n; of fewer the additions cost more than they save */

/* base + offsets that all registers share + one offset for each register. */
typedef struct Parts {
   TlValue *base;            /* scalar pointer */
   TL_VEC(TlValue *) shared; /* registers that are all equal */
   TlValue *own;             /* 32-bit registers */
} Parts;

/* The register that all registers of v equal; NULL when they may differ. */
static TlValue *
equal_register(TlBuilder *b, TlValue *v)
{
   const TlType *elem = tl_type_elem(v->type);
   if (v->type->kind != TL_TYPE_REGS)
      return v;
   if (!v->def)
      return NULL;
   if (v->def->opcode == TL_OP_SPLAT)
      return tl_arg(v->def, 0);
   if (v->def->opcode == TL_OP_CONSTANT)
      return tl_const_bits(b, elem, tl_attr(v->def, TL_ATTR_VALUE)->bits);
   if (v->def->opcode != TL_OP_PICK || v->def->num_args != 1)
      return NULL;
   TlInts index = tl_attr_ints(v->def, TL_ATTR_INDEX);
   for (unsigned i = 1; i < index.len; i++)
      if (index.data[i] != index.data[0])
         return NULL;
   TlValue *from = tl_arg(v->def, 0);
   if (from->type->kind != TL_TYPE_REGS)
      return from;
   const TlInts *first = tl_ints(b->module->arena, index.data, 1);
   return tl_build_n(b, TL_OP_PICK, &from, 1, elem, TL_ATTRS_({TL_ATTR_INDEX, {.ints = first}}));
}

static bool
is_narrow_int(const TlValue *v)
{
   const TlType *t = tl_type_elem(v->type);
   return t->kind == TL_TYPE_SCALAR && tl_dtype_is_int(t->dtype) &&
          tl_dtype_info[t->dtype].bits == 32;
}

static bool
find_parts(TlArena *scratch, TlBuilder *b, TlValue *v, Parts *out)
{
   while (v->def && v->def->opcode == TL_OP_ADDPTR) {
      TlValue *offset = tl_arg(v->def, 1), *equal = equal_register(b, offset);
      if (equal)
         tl_vec_push(scratch, &out->shared, equal);
      else if (out->own || !is_narrow_int(offset))
         return false;
      else
         out->own = offset;
      v = tl_arg(v->def, 0);
   }
   out->base = out->own ? equal_register(b, v) : NULL;
   return out->base != NULL;
}

/* The operation that makes the next pointers from the carried ones. */
static TlOp *
find_step(const TlOp *loop, unsigned i)
{
   assert(loop->opcode == TL_OP_FOR && i < loop->num_results);
   const TlBlock *body = loop->regions[0]->block;
   TlOp *op = tl_yielded(body, i)->def;
   bool is_step =
      op && op->block == body && op->opcode == TL_OP_ADDPTR && tl_arg(op, 0) == tl_carried(body, i);
   return is_step ? op : NULL;
}

/* All uses of v, now one pointer, become the pointers of its registers. */
static void
spread(TlBuilder *at, TlValue *v, const TlType *type, TlValue *own)
{
   assert(type->kind == TL_TYPE_REGS);
   v->type = tl_type_elem(type);
   TlValue *all = tl_t1(at, TL_OP_SPLAT, type, v);
   TlOp *splat = all->def;
   TlValue *here = tl_t1(at, TL_OP_PIN, own->type, own); /* else addresses become carried again */
   tl_replace_uses(v, tl_b2(at, TL_OP_ADDPTR, all, here));
   tl_set_arg(splat, 0, v);
}

static bool
join(TlPassCx *cx, TlOp *loop, unsigned i)
{
   assert(i < loop->num_results);
   TlBlock *body = loop->regions[0]->block;
   const TlType *type = tl_result(loop, i)->type;
   TlOp *step = type->kind == TL_TYPE_REGS ? find_step(loop, i) : NULL;
   if (!step || tl_type_elem(type)->kind != TL_TYPE_PTR ||
       tl_type_num_regs(tl_result(loop, i)->type) < FEWEST)
      return false;
   TlBuilder before = tl_builder_before(loop), at_step = tl_builder_before(step);
   Parts parts = {0};
   TlValue *advance = equal_register(&at_step, tl_arg(step, 1));
   if (!advance || !find_parts(cx->scratch, &before, tl_init(loop, i), &parts))
      return false;
   TlValue *first = parts.base;
   for (size_t k = parts.shared.len; k-- > 0;)
      first = tl_b2(&before, TL_OP_ADDPTR, first, parts.shared.data[k]);
   TlBuilder top = tl_builder_before(body->first), after = tl_builder_before(loop->next);
   spread(&top, tl_carried(body, i), type, parts.own);
   spread(&after, tl_result(loop, i), type, parts.own);
   tl_set_init(loop, i, first);
   tl_set_yielded(body, i, tl_b2(&at_step, TL_OP_ADDPTR, tl_carried(body, i), advance));
   return true;
}

bool
tl_pass_join_pointers(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body), *next; op; op = next) {
      next = tl_walk_inner_next(op, body);
      for (unsigned i = 0; op->opcode == TL_OP_FOR && i < op->num_results; i++)
         changed |= join(cx, op, i);
   }
   return changed;
}
