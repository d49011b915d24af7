/* Def chains of scalars as text.  The record computes in 64 bits: where the kernel has fewer, the
 * text wraps as the kernel does.  A value that is used twice is written twice; what gets long that
 * way is refused. */
#include "ir/launch_expr.h"
#include "ir/walk.h"

#include <assert.h>
#include <string.h>

enum { MAX_DEPTH = 12, MAX_DEPTH_OF_ESTIMATE = 24, MAX_LETTERS = 800 };

typedef struct Writer {
   TlArena *arena;
   const TlFunc *func;
   unsigned depth;
   bool is_estimate; /* in the middle of the grid; sizes of integers do not matter */
} Writer;

static const char *write_value(Writer *w, const TlValue *v);

/* The kernel's parameter that is this argument of the body. */
static const char *
param_name(const TlFunc *f, const TlValue *v)
{
   const TlBlock *body = f->body->block;
   for (uint32_t p = 0, i = 0; p < f->num_params; p++) {
      if (!f->params[p].is_runtime)
         continue;
      if (i < body->num_args && body->args[i] == v)
         return f->params[p].name;
      i++;
   }
   return NULL;
}

static bool
holds(const TlDtypeInfo *to, const TlDtypeInfo *from)
{
   bool is_signed = to->kind == TL_KIND_SINT, was_signed = from->kind == TL_KIND_SINT;
   return is_signed == was_signed ? to->bits >= from->bits : is_signed && to->bits > from->bits;
}

/* The 64-bit value as one of type t. */
static const char *
wrapped(Writer *w, const char *text, TlDtype t)
{
   const TlDtypeInfo *d = &tl_dtype_info[t];
   if (!text || d->bits == 64 || w->is_estimate)
      return text;
   long long mask = (long long)(((uint64_t)1 << d->bits) - 1), half = mask / 2 + 1;
   return tl_dtype_is_signed(t)
             ? tl_arena_printf(w->arena, "((%s + %lld & %lld) - %lld)", text, half, mask, half)
             : tl_arena_printf(w->arena, "(%s & %lld)", text, mask);
}

static const char *
write_cast(Writer *w, const TlOp *op)
{
   const TlType *from = tl_arg(op, 0)->type, *to = tl_result(op, 0)->type;
   const char *x = write_value(w, tl_arg(op, 0));
   if (from->kind != TL_TYPE_SCALAR || !tl_dtype_is_int(from->dtype) || !tl_dtype_is_int(to->dtype))
      return NULL;
   return holds(&tl_dtype_info[to->dtype], &tl_dtype_info[from->dtype]) ? x
                                                                        : wrapped(w, x, to->dtype);
}

static const char *
write_addptr(Writer *w, const TlOp *op)
{
   const TlType *elem = tl_result(op, 0)->type->elem;
   const char *p = write_value(w, tl_arg(op, 0)), *by = write_value(w, tl_arg(op, 1));
   unsigned bytes = elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->dtype].bytes;
   return p && by ? tl_arena_printf(w->arena, "(%s + %s * %u)", p, by, bytes) : NULL;
}

/* The kernel's division truncates, the record's rounds down. */
static const char *
write_quotient(const Writer *w, const char *x, const char *y)
{
   TlArena *a = w->arena;
   if (w->is_estimate)
      return tl_arena_printf(a, "(%s // %s)", x, y);
   return tl_arena_printf(a, "(%s // %s if (%s < 0) == (%s < 0) else -(-%s // %s))", x, y, x, y, x,
                          y);
}

static const char *
write_binary(Writer *w, const TlOp *op)
{
   TlArena *a = w->arena;
   TlDtype t = tl_result(op, 0)->type->dtype;
   const char *x = write_value(w, tl_arg(op, 0)), *y = write_value(w, tl_arg(op, 1));
   if (!x || !y || !tl_dtype_is_int(t))
      return NULL;
   switch ((int)op->opcode) {
   case TL_OP_ADD:
      return wrapped(w, tl_arena_printf(a, "(%s + %s)", x, y), t);
   case TL_OP_SUB:
      return wrapped(w, tl_arena_printf(a, "(%s - %s)", x, y), t);
   case TL_OP_MUL:
      return wrapped(w, tl_arena_printf(a, "(%s * %s)", x, y), t);
   case TL_OP_DIV:
      return write_quotient(w, x, y);
   case TL_OP_REM:
      return tl_arena_printf(a, "(%s - %s * %s)", x, y, write_quotient(w, x, y));
   case TL_OP_MIN:
      return tl_arena_printf(a, "min(%s, %s)", x, y);
   case TL_OP_MAX:
      return tl_arena_printf(a, "max(%s, %s)", x, y);
   }
   return NULL;
}

static const char *
write_place(const Writer *w, const TlOp *op)
{
   const char *half = op->opcode == TL_OP_PROGRAM_ID ? " // 2" : "";
   return tl_arena_printf(w->arena, "(grid_%c%s)", "xyz"[tl_attr_int(op, TL_ATTR_AXIS)], half);
}

static const char *
write_op(Writer *w, const TlOp *op)
{
   switch ((int)op->opcode) {
   case TL_OP_CAST:
      return write_cast(w, op);
   case TL_OP_HINT:
      return write_value(w, tl_arg(op, 0));
   case TL_OP_ADDPTR:
      return write_addptr(w, op);
   case TL_OP_ADD:
   case TL_OP_SUB:
   case TL_OP_MUL:
   case TL_OP_DIV:
   case TL_OP_REM:
   case TL_OP_MIN:
   case TL_OP_MAX:
      return write_binary(w, op);
   case TL_OP_NUM_PROGRAMS:
   case TL_OP_PROGRAM_ID:
      return w->is_estimate ? write_place(w, op) : NULL;
   }
   return NULL;
}

static const char *
write_value(Writer *w, const TlValue *v)
{
   uint64_t bits;
   const TlType *t = v->type;
   if (t->kind == TL_TYPE_SCALAR ? !tl_dtype_is_int(t->dtype) : t->kind != TL_TYPE_PTR)
      return NULL;
   if (t->kind == TL_TYPE_SCALAR && tl_is_const(v, &bits))
      return tl_arena_printf(w->arena, "%lld", (long long)tl_bits_to_int(t->dtype, bits));
   if (!v->def)
      return param_name(w->func, v);
   if (w->depth == (w->is_estimate ? MAX_DEPTH_OF_ESTIMATE : MAX_DEPTH))
      return NULL;
   w->depth++;
   const char *text = write_op(w, v->def);
   w->depth--;
   return text && strlen(text) <= MAX_LETTERS ? text : NULL;
}

const char *
tl_launch_expr(TlArena *arena, const TlFunc *f, const TlValue *v)
{
   return write_value(&(Writer){arena, f, 0, false}, v);
}

const char *
tl_launch_estimate(TlArena *arena, const TlFunc *f, const TlValue *v)
{
   return write_value(&(Writer){arena, f, 0, true}, v);
}

const TlOp **
tl_tensor_maps(TlArena *arena, const TlFunc *f, unsigned *count)
{
   const TlBlock *body = f->body->block;
   unsigned n = 0;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      n += op->opcode == TL_OP_TENSOR_MAP;
   const TlOp **maps = tl_new_array(arena, const TlOp *, n + 1);
   *count = 0;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_TENSOR_MAP)
         maps[(*count)++] = op;
   assert(*count == n);
   return maps;
}

bool
tl_is_persistent(const TlFunc *f)
{
   const TlBlock *body = f->body->block;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_BLOCK_ID)
         return true;
   return false;
}

bool
tl_shares_programs(const TlFunc *f)
{
   const TlBlock *body = f->body->block;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_FOR && tl_attr_int(op, TL_ATTR_ROUNDS) == TL_ROUNDS_SHARED)
         return true;
   return false;
}
