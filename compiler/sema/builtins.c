/* The table of builtins and look-ups in it.  A look-up is a linear scan: names are few and the
 * evaluator caches what it binds. */
#include "sema/builtin.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

#define METHOD     TL_BUILTIN_METHOD
#define HOST       TL_BUILTIN_HOST
#define TL         TL_NS_TL
#define MATH       TL_NS_MATH
#define LIBDEVICE  TL_NS_LIBDEVICE
#define TRITON     TL_NS_TRITON
#define PYTHON     TL_NS_PYTHON
#define CUDA       TL_NS_CUDA
#define STANDARD   TL_NS_STANDARD
#define DESCRIPTOR TL_NS_DESCRIPTOR

static const TlBuiltinRow rows[] = {
#define ROW(namespaces, name, signature, function, flags, doc, which, takes, module, name_there)   \
   {{namespaces, name, signature, function, flags, doc}, which, takes, module, name_there},
#define TL_BUILTIN(namespaces, name, signature, function, flags, doc)                              \
   ROW(namespaces, name, signature, tl_builtin_##function, flags, doc, 0, 0, NULL, NULL)
#define TL_BUILTIN_AS(namespaces, name, signature, function, which, flags, doc)                    \
   ROW(namespaces, name, signature, tl_builtin_##function, flags, doc, which, 0, NULL, NULL)
#define TL_BUILTIN_OP(namespaces, name, signature, opcode, takes, flags, doc)                      \
   ROW(namespaces, name, signature, tl_builtin_elementwise, flags, doc, TL_OP_##opcode,            \
       TL_TAKES_##takes, NULL, NULL)
#define TL_BUILTIN_STD(namespaces, name, signature, module, function, flags, doc)                  \
   ROW(namespaces, name, signature, tl_builtin_stdlib, flags, doc, 0, 0, module, function)
#define TL_BUILTIN_MATH(namespaces, name, signature, module, function, takes, doc)                 \
   ROW(namespaces, name, signature, tl_builtin_math, 0, doc, 0, TL_TAKES_##takes, module, function)
#define TL_BUILTIN_NO(namespaces, name, why)                                                       \
   ROW(namespaces, name, "*args", tl_builtin_unsupported, 0, "not supported", 0, 0, why, NULL)
#include "sema/builtins.def"
};
enum { NUM_ROWS = sizeof rows / sizeof rows[0] };

const TlBuiltin *
tl_builtin_at(unsigned i)
{
   return i < NUM_ROWS ? &rows[i].base : NULL;
}

const TlBuiltin *
tl_builtin_find(uint32_t namespaces, const char *name)
{
   assert(namespaces);
   for (unsigned i = 0; i < NUM_ROWS; i++)
      if ((rows[i].base.namespaces & namespaces) && strcmp(rows[i].base.name, name) == 0)
         return &rows[i].base;
   return NULL;
}

const TlBuiltin *
tl_builtin_method(const char *name)
{
   for (unsigned i = 0; i < NUM_ROWS; i++)
      if ((rows[i].base.flags & TL_BUILTIN_METHOD) && strcmp(rows[i].base.name, name) == 0)
         return &rows[i].base;
   return NULL;
}

/* ---- what functions of the library take ---- */
typedef enum TlLibraryKind {
   ANY_VALUE,
   A_TILE,
   A_SIZE,  /* a known integer */
   AN_AXIS, /* a known dimension of the first argument, or None */
   A_FLAG,
   AN_INTEGER,
} TlLibraryKind;

static TlLibraryKind
library_kind(const char *function, const char *param)
{
   static const struct {
      const char *function, *param; /* "": any function, all of its parameters */
      TlLibraryKind kind;
   } rows[] = {
      {"sort", "x", A_TILE},
      {"sort", "dim", AN_AXIS},
      {"sort", "descending", A_FLAG},
      {"bitonic_merge", "x", A_TILE},
      {"bitonic_merge", "dim", AN_AXIS},
      {"bitonic_merge", "descending", A_FLAG},
      {"topk", "x", A_TILE},
      {"topk", "k", A_SIZE},
      {"topk", "dim", AN_AXIS},
      {"swizzle2d", "", AN_INTEGER},
      {"", "n_rounds", A_SIZE},
      {"softmax", "x", A_TILE},
      {"softmax", "dim", AN_AXIS},
      {"softmax", "keep_dims", A_FLAG},
      {"softmax", "ieee_rounding", A_FLAG},
      {"jn", "n", AN_INTEGER},
      {"yn", "n", AN_INTEGER},
      {"ldexp", "n", AN_INTEGER},
      {"scalbn", "n", AN_INTEGER},
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if ((!rows[i].function[0] || strcmp(rows[i].function, function) == 0) &&
          (!rows[i].param[0] || strcmp(rows[i].param, param) == 0))
         return rows[i].kind;
   return ANY_VALUE;
}

static bool
is_integer_argument(TlSema *s, const TlCall *call, unsigned i)
{
   const TlSv *v = &call->args[i];
   TlValue *x = v->kind == TL_SV_INT ? NULL : tl_call_value(s, call, i);
   if (v->kind == TL_SV_INT)
      return true;
   if (!x)
      return false;
   const TlType *elem = tl_type_elem(x->type);
   if (elem->kind == TL_TYPE_SCALAR && tl_dtype_is_int(elem->dtype))
      return true;
   tl_report(s->diags, E0313, tl_call_arg_range(call, i), call->row->name, "integers",
             tl_sv_text(s, v));
   tl_blame(s, x, TL_WANT_INT);
   if (elem->kind == TL_TYPE_PTR)
      tl_help(s->diags, "load the values first: tl.load(pointer)");
   else
      tl_help(s->diags, "it is called as %s, all of them whole numbers",
              tl_builtin_signature(s->arena, call->row, call->is_method));
   return false;
}

/* Told of the call, before the library's own operations refuse what they get. */
static bool
is_of_kind(TlSema *s, const TlCall *call, unsigned i, TlLibraryKind kind)
{
   const TlSv *v = &call->args[i], *first = &call->args[0];
   int64_t size;
   bool flag;
   unsigned axis;
   switch (kind) {
   case ANY_VALUE:
      return true;
   case A_TILE:
      return tl_call_tile(s, call, i) != NULL;
   case A_SIZE:
      return tl_call_int(s, call, i, &size);
   case A_FLAG:
      return v->kind == TL_SV_NONE || tl_call_bool(s, call, i, &flag);
   case AN_AXIS:
      return v->kind == TL_SV_NONE || first->kind != TL_SV_VALUE ||
             tl_call_axis(s, call, i, first->value->type, first->value->type->rank, &axis);
   case AN_INTEGER:
      return is_integer_argument(s, call, i);
   }
   return true;
}

/* Is a parameter annotated as `.. | None`? */
static bool
takes_none(const TlNode *annotation)
{
   if (!annotation || annotation->kind != TL_AST_BINARY)
      return false;
   const TlNode *right = tl_ast_Binary(annotation)->right;
   return right->kind == TL_AST_CONST && tl_ast_Const(right)->which == TL_AST_OP_NONE;
}

static bool
is_argument_for(TlSema *s, const TlCall *call, unsigned i, const TlAstParam *p)
{
   const TlSv *v = &call->args[i];
   bool is_run_time = tl_is_constexpr_annotation(p->annotation) && tl_sv_is_runtime(v);
   if (!is_run_time && !is_of_kind(s, call, i, library_kind(call->row->name, p->name)))
      return false;
   if (tl_is_constexpr_annotation(p->annotation)) {
      if (!is_run_time)
         return true;
      tl_report(s->diags, E0301, tl_call_arg_range(call, i), p->name, call->row->name,
                tl_sv_text(s, v));
      if (!tl_help_loop_made(s, v) && v->kind == TL_SV_VALUE &&
          v->value->type->kind != TL_TYPE_SCALAR)
         tl_help(s->diags, "'%s' is one value for all elements; it is called as %s", p->name,
                 tl_builtin_signature(s->arena, call->row, call->is_method));
      return false;
   }
   if (p->default_value || tl_sv_is_number(v) ||
       (v->kind == TL_SV_NONE && takes_none(p->annotation)))
      return true;
   TlValue *value = tl_call_value(s, call, i);
   if (!value || !tl_value_is_ptr(value))
      return value != NULL;
   tl_report(s->diags, E0313, tl_call_arg_range(call, i), call->row->name, "numbers",
             tl_sv_text(s, v));
   tl_blame(s, value, TL_WANT_INT);
   tl_help(s->diags, "load the values first: tl.load(pointer)");
   return false;
}

/* A builtin written in the language itself: bound arguments go on in order. */
TlSv
tl_builtin_stdlib(TlSema *s, const TlCall *call)
{
   const TlBuiltinRow *row = tl_builtin_row(call);
   assert(row->module && row->function);
   for (unsigned i = 0; i < call->num_args; i++)
      if (call->args[i].kind == TL_SV_POISON)
         return tl_sv_poison();
   TlSv fn = tl_sema_stdlib(s, row->module, row->function);
   if (fn.kind == TL_SV_POISON)
      return fn;
   const TlNodeList *params = &tl_ast_Function(fn.func->node)->params;
   for (unsigned i = 0; i < call->num_args && i < params->len; i++)
      if (!is_argument_for(s, call, i, tl_ast_Param(params->data[i])))
         return tl_sv_poison();
   return tl_sema_call(s, &fn, call->args, call->num_args, call->range);
}

TlSv
tl_builtin_unsupported(TlSema *s, const TlCall *call)
{
   const TlBuiltinRow *row = tl_builtin_row(call);
   assert(row->module && "why it is not supported");
   tl_report(s->diags, E0337, call->range, call->row->name, "");
   if (row->module[0])
      tl_help(s->diags, "%s", row->module);
   return tl_sv_poison();
}
