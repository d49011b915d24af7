/* Indices as they are computed: what keeps one that was loaded within its rows, and which programs
 * have the same.  The sums are those of the text, of tiles too; what was loaded is one value. */
#include "exec/cause_index.h"
#include "ir/control.h"

#include <string.h>

enum { MAX_PARTS = 16, MAX_FACTORS = 6, MAX_DEPTH = 24 };

typedef struct Part { /* scale times all factors */
   int64_t scale;
   unsigned num;
   const TlValue *factor[MAX_FACTORS];
} Part;

typedef struct Parts {
   unsigned num;
   bool is_lost; /* there are more, or larger ones */
   Part part[MAX_PARTS];
} Parts;

static const TlValue *
unmoved(const TlValue *v)
{
   while (v->def && (v->def->opcode == TL_OP_CAST || v->def->opcode == TL_OP_SPLAT ||
                     v->def->opcode == TL_OP_BROADCAST || v->def->opcode == TL_OP_HINT ||
                     tl_has_trait(v->def, TL_TRAIT_SAME_ELEMENTS)))
      v = tl_arg(v->def, 0);
   return v;
}

static void
add_part(Parts *to, Part p)
{
   if (to->num == MAX_PARTS)
      to->is_lost = true;
   else
      to->part[to->num++] = p;
}

static void
multiply(Parts *to, const Parts *a, const Parts *b)
{
   to->is_lost |= a->is_lost || b->is_lost;
   for (unsigned i = 0; i < a->num; i++)
      for (unsigned k = 0; k < b->num; k++) {
         Part p = a->part[i];
         const Part *by = &b->part[k];
         to->is_lost |=
            p.num + by->num > MAX_FACTORS || __builtin_mul_overflow(p.scale, by->scale, &p.scale);
         if (to->is_lost)
            return;
         memcpy(p.factor + p.num, by->factor, by->num * sizeof *by->factor);
         p.num += by->num;
         add_part(to, p);
      }
}

static void
read_parts(const TlValue *v, unsigned depth, Parts *to)
{
   uint64_t bits;
   v = unmoved(v);
   const TlOp *op = v->def;
   const TlType *elem = tl_type_elem(v->type);
   if (tl_is_const(v, &bits) && elem->kind == TL_TYPE_SCALAR) {
      add_part(to, (Part){.scale = tl_bits_to_int(elem->dtype, bits)});
      return;
   }
   if (op && depth < MAX_DEPTH && (op->opcode == TL_OP_ADD || op->opcode == TL_OP_ADDPTR)) {
      read_parts(tl_arg(op, 0), depth + 1, to);
      read_parts(tl_arg(op, 1), depth + 1, to);
   } else if (op && depth < MAX_DEPTH && op->opcode == TL_OP_MUL) {
      Parts a = {0}, b = {0};
      read_parts(tl_arg(op, 0), depth + 1, &a);
      read_parts(tl_arg(op, 1), depth + 1, &b);
      multiply(to, &a, &b);
   } else if (elem->kind != TL_TYPE_PTR) {
      add_part(to, (Part){.scale = 1, .num = 1, .factor = {v}});
   }
}

/* p without the factors of `by`; false: it has not all of them. */
static bool
divide(const Part *p, const Part *by, Part *out)
{
   *out = *p;
   if (!by->scale || p->scale % by->scale)
      return false;
   out->scale = p->scale / by->scale;
   for (unsigned i = 0; i < by->num; i++) {
      unsigned k = 0;
      while (k < out->num && out->factor[k] != by->factor[i])
         k++;
      if (k == out->num)
         return false;
      out->factor[k] = out->factor[--out->num];
   }
   return true;
}

static bool
is_argument(const TlValue *v)
{
   return !v->def && !v->block->region->parent;
}

/* What q, an index times how many of the smaller ones it has, says of how many these are; NULL:
 * nothing. */
static const char *
count_in(const TlLaunched *l, const Part *q)
{
   const TlValue *size = NULL;
   unsigned moving = 0, sizes = 0;
   for (unsigned i = 0; i < q->num; i++) {
      bool is_size = is_argument(q->factor[i]);
      size = is_size ? q->factor[i] : size;
      sizes += is_size;
      moving += !is_size;
   }
   if (moving != 1 || sizes > 1 || (sizes && (q->scale != 1 || !size->name)))
      return NULL;
   return sizes          ? size->name
          : q->scale > 1 ? tl_arena_printf(l->arena, "%lld", (long long)q->scale)
                         : NULL;
}

/* The part's value; false: it has other factors than arguments. */
static bool
part_value(const TlLaunched *l, const Part *p, int64_t *out)
{
   *out = p->scale;
   for (unsigned i = 0; i < p->num; i++) {
      const TlValue *v = p->factor[i];
      bool is_number = is_argument(v) && v->index < l->num_args && !l->args[v->index].is_buffer &&
                       v->type->kind == TL_TYPE_SCALAR && tl_dtype_is_int(v->type->dtype);
      if (!is_number ||
          __builtin_mul_overflow(*out, tl_bits_to_int(v->type->dtype, l->args[v->index].bits), out))
         return false;
   }
   return *out > 0;
}

const char *
tl_index_limit(const TlLaunched *l, const TlOp *access, const TlValue *index, int64_t count)
{
   Parts all = {0};
   const Part *own = NULL;
   read_parts(tl_arg(access, 0), 0, &all);
   for (unsigned i = 0; i < all.num; i++)
      for (unsigned k = 0; k < all.part[i].num; k++)
         own = all.part[i].factor[k] == index ? &all.part[i] : own;
   Part stride, rest;
   if (!own || all.is_lost ||
       !divide(own, &(Part){.scale = 1, .num = 1, .factor = {index}}, &stride))
      return NULL;
   bool is_inner = false;
   for (unsigned i = 0; i < all.num; i++) {
      const Part *p = &all.part[i];
      const char *limit = p != own && divide(p, &stride, &rest) ? count_in(l, &rest) : NULL;
      if (limit)
         return limit;
      is_inner |= p != own && divide(p, &stride, &rest) && rest.num;
   }
   int64_t step;
   if (is_inner || !part_value(l, &stride, &step) || count < step)
      return NULL;
   return tl_arena_printf(l->arena, "%lld", (long long)(count / step));
}

/* What was loaded counts for nothing of it, unless `through` has it looked through. */
static bool
has_program(const TlValue *v, int axis, bool through, unsigned depth)
{
   const TlOp *op = v->def;
   if (!op)
      return !is_argument(v); /* of a loop */
   if (op->opcode == TL_OP_PROGRAM_ID)
      return tl_attr_int(op, TL_ATTR_AXIS) == axis;
   if (op->opcode == TL_OP_LOAD && !through)
      return false;
   if (op->num_regions || depth > MAX_DEPTH)
      return true; /* maybe */
   for (unsigned i = 0; i < op->num_args; i++)
      if (has_program(tl_arg(op, i), axis, through, depth + 1))
         return true;
   return false;
}

int
tl_index_lacks(const TlLaunched *l, const TlOp *access, const uint32_t *one, const uint32_t *other,
               bool *is_loaded)
{
   int axis = -1;
   for (int d = 0; d < 3; d++) {
      if (one[d] == other[d])
         continue;
      if (axis >= 0)
         return -1;
      axis = d;
   }
   if (axis < 0 || l->grid[axis] < 2 || has_program(tl_arg(access, 0), axis, false, 0))
      return -1;
   *is_loaded = has_program(tl_arg(access, 0), axis, true, 0);
   return axis;
}

/* The remainder by `count` that v is computed with, of a whole index. */
static const TlOp *
remainder_in(const TlLaunched *l, const TlValue *v, int64_t count, unsigned depth)
{
   const TlOp *op = v->def;
   int64_t by;
   if (!op || op->num_regions || op->opcode == TL_OP_LOAD || depth > MAX_DEPTH)
      return NULL;
   if (op->opcode == TL_OP_REM && tl_reach_number(l, tl_arg(op, 1), &by) && by == count)
      return op;
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlOp *found = remainder_in(l, tl_arg(op, i), count, depth + 1);
      if (found)
         return found;
   }
   return NULL;
}

const char *
tl_index_remainder(const TlLaunched *l, const TlOp *access, int64_t count)
{
   const TlOp *op = remainder_in(l, tl_arg(access, 0), count, 0);
   const char *of = op ? unmoved(tl_arg(op, 0))->name : NULL,
              *own = op ? tl_result(op, 0)->name : NULL;
   const char *by = op ? unmoved(tl_arg(op, 1))->name : NULL;
   if (!op)
      return NULL;
   of = of ? of : "i";
   by = by ? by : tl_arena_printf(l->arena, "%lld", (long long)count);
   return tl_arena_printf(
      l->arena,
      "the index has %s%s%s %% %s, which stays below %s = %lld; %s // %s, where "
      "so many in a row are to share one, goes on",
      own ? own : "", own ? " = " : "", of, by, by, (long long)count, of, by);
}
