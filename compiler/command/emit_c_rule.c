/* Expressions of the launch record as C, with the meaning of runtime/core/rule.c: 64-bit integers,
 * Python's division, overflow noticed. */
#include "core/rule.h"
#include "command/emit_c.h"
#include "syntax/parse.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_REPEATED = 1000 }; /* letters: `a or b` in C has a twice */

typedef struct Writer {
   const TlAot *aot;
   const TlCKernel *kernel;
   const TilecKernelInfo *info;
   unsigned uses;
   const char *why; /* of the first thing that cannot be written */
} Writer;

/* Operators and functions that need a function of their own, since they can fail. */
static const struct {
   unsigned use;
   TlAstOp op;        /* TL_AST_OP_COUNT: called by name */
   const char *call;  /* name in expressions */
   unsigned max_args; /* more than two: folded from the left */
   const char *text;  /* its definition, of aot_<call> */
} functions[] = {
   {TL_C_USES_ADD, TL_AST_OP_ADD, "add", 2,
    "aot_add(int64_t a, int64_t b, int *bad)\n{\n"
    "   int64_t r;\n   *bad |= __builtin_add_overflow(a, b, &r);\n   return r;\n}\n"},
   {TL_C_USES_SUB, TL_AST_OP_SUB, "sub", 2,
    "aot_sub(int64_t a, int64_t b, int *bad)\n{\n"
    "   int64_t r;\n   *bad |= __builtin_sub_overflow(a, b, &r);\n   return r;\n}\n"},
   {TL_C_USES_MUL, TL_AST_OP_MUL, "mul", 2,
    "aot_mul(int64_t a, int64_t b, int *bad)\n{\n"
    "   int64_t r;\n   *bad |= __builtin_mul_overflow(a, b, &r);\n   return r;\n}\n"},
   {TL_C_USES_FLOORDIV, TL_AST_OP_FLOORDIV, "floordiv", 2,
    "aot_floordiv(int64_t a, int64_t b, int *bad)\n{\n"
    "   if (b == 0 || (a == INT64_MIN && b == -1)) {\n      *bad = 1;\n      return 0;\n   }\n"
    "   return a / b - (a % b != 0 && (a % b < 0) != (b < 0));\n}\n"},
   {TL_C_USES_MOD, TL_AST_OP_MOD, "mod", 2,
    "aot_mod(int64_t a, int64_t b, int *bad)\n{\n"
    "   if (b == 0 || (a == INT64_MIN && b == -1)) {\n      *bad = 1;\n      return 0;\n   }\n"
    "   return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);\n}\n"},
   {TL_C_USES_CDIV, TL_AST_OP_COUNT, "cdiv", 2,
    "aot_cdiv(int64_t a, int64_t b, int *bad)\n{\n"
    "   if (b == 0 || (a == INT64_MIN && b == -1)) {\n      *bad = 1;\n      return 0;\n   }\n"
    "   return a / b + (a % b != 0 && (a % b < 0) == (b < 0));\n}\n"},
   {TL_C_USES_SHL, TL_AST_OP_SHL, "shl", 2,
    "aot_shl(int64_t a, int64_t b, int *bad)\n{\n"
    "   int64_t r = 0;\n   if (b < 0 || b > 62)\n      *bad = 1;\n   else\n"
    "      *bad |= __builtin_mul_overflow(a, INT64_C(1) << b, &r);\n   return r;\n}\n"},
   {TL_C_USES_SHR, TL_AST_OP_SHR, "shr", 2,
    "aot_shr(int64_t a, int64_t b, int *bad)\n{\n"
    "   if (b < 0) {\n      *bad = 1;\n      return 0;\n   }\n"
    "   return a >> (b > 63 ? 63 : b);\n}\n"},
   {TL_C_USES_MIN, TL_AST_OP_COUNT, "min", 16,
    "aot_min(int64_t a, int64_t b, int *bad)\n{\n   (void)bad;\n   return a < b ? a : b;\n}\n"},
   {TL_C_USES_MAX, TL_AST_OP_COUNT, "max", 16,
    "aot_max(int64_t a, int64_t b, int *bad)\n{\n   (void)bad;\n   return a > b ? a : b;\n}\n"},
   {TL_C_USES_POW2, TL_AST_OP_COUNT, "next_power_of_2", 1,
    "aot_next_power_of_2(int64_t a, int64_t b, int *bad)\n{\n"
    "   int64_t n = 1;\n   (void)b;\n"
    "   while (n < a && n < INT64_C(1) << 62)\n      n <<= 1;\n"
    "   *bad |= n < a;\n   return n;\n}\n"},
};
enum { NUM_FUNCTIONS = sizeof functions / sizeof functions[0] };

static const char *write_node(Writer *w, const TlNode *n);

static const char *
refuse(Writer *w, const char *why)
{
   if (!w->why)
      w->why = why;
   return "0";
}

static const char *
call(Writer *w, size_t function, const char *a, const char *b)
{
   assert(function < NUM_FUNCTIONS);
   w->uses |= functions[function].use;
   return tl_arena_printf(w->aot->arena, "%s_%s(%s, %s, &bad)", w->aot->name,
                          functions[function].call, a, b);
}

static const char *
number(Writer *w, int64_t v)
{
   if (v == INT64_MIN)
      return "INT64_MIN";
   return tl_arena_printf(w->aot->arena, v < 0 ? "(-INT64_C(%" PRId64 "))" : "INT64_C(%" PRId64 ")",
                          v < 0 ? -v : v);
}

static const char *
write_name(Writer *w, const char *name)
{
   for (uint32_t i = 0; i < w->info->num_args; i++) {
      const TilecArgInfo *a = &w->info->args[i];
      const TlCParam *p = &w->kernel->params[i];
      int64_t v;
      if (strcmp(a->name, name) != 0)
         continue;
      if (a->value)
         return tl_rule_int_of(a->value, &v)
                   ? number(w, v)
                   : refuse(w, tl_arena_printf(w->aot->arena, "'%s' is not an integer", name));
      if (p->kind == TL_C_POINTER)
         return tl_arena_printf(w->aot->arena, "(int64_t)(uintptr_t)%s", p->c_name);
      if (p->kind == TL_C_INT)
         return tl_arena_printf(w->aot->arena, "(int64_t)%s", p->c_name);
      return refuse(w, tl_arena_printf(w->aot->arena, "'%s' is not an integer", name));
   }
   return refuse(w, tl_arena_printf(w->aot->arena, "'%s' is not a parameter", name));
}

static const char *
write_binary(Writer *w, const TlAstBinary *n)
{
   const char *a = write_node(w, n->left), *b = write_node(w, n->right);
   for (size_t i = 0; i < NUM_FUNCTIONS; i++)
      if (functions[i].op == n->op)
         return call(w, i, a, b);
   if (n->op == TL_AST_OP_BITAND || n->op == TL_AST_OP_BITOR || n->op == TL_AST_OP_BITXOR)
      return tl_arena_printf(w->aot->arena, "(%s %s %s)", a, tl_ast_op_text[n->op], b);
   return refuse(w, tl_arena_printf(w->aot->arena, "'%s' is not an operation on integers",
                                    tl_ast_op_text[n->op]));
}

static const char *
write_unary(Writer *w, const TlAstUnary *n)
{
   const char *a = write_node(w, n->operand);
   for (size_t i = 0; n->op == TL_AST_OP_NEG && i < NUM_FUNCTIONS; i++)
      if (functions[i].op == TL_AST_OP_SUB)
         return call(w, i, "INT64_C(0)", a);
   if (n->op == TL_AST_OP_NOT)
      return tl_arena_printf(w->aot->arena, "(int64_t)(%s == 0)", a);
   return n->op == TL_AST_OP_INVERT ? tl_arena_printf(w->aot->arena, "(~%s)", a) : a;
}

static const char *
write_compare(Writer *w, const TlAstCompare *n)
{
   if (n->ops.len != 1)
      return refuse(w, "comparisons do not chain");
   TlAstOp op = n->ops.data[0];
   if (op < TL_AST_OP_EQ || op > TL_AST_OP_GE)
      return refuse(w, tl_arena_printf(w->aot->arena, "'%s' is not a comparison of integers",
                                       tl_ast_op_text[op]));
   return tl_arena_printf(w->aot->arena, "(int64_t)(%s %s %s)", write_node(w, n->left),
                          tl_ast_op_text[op], write_node(w, n->rights.data[0]));
}

/* tl.cdiv(..), triton.cdiv(..), cdiv(..): the last part counts. */
static const char *
write_call(Writer *w, const TlAstCall *n)
{
   const char *name = n->func->kind == TL_AST_NAME        ? tl_ast_Name(n->func)->id
                      : n->func->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(n->func)->name
                                                          : "";
   const char *args[16];
   size_t num = n->args.len;
   if (num < 1 || num > 16)
      return refuse(w, tl_arena_printf(w->aot->arena, "'%s' takes 1 to 16 values", name));
   for (size_t i = 0; i < num; i++)
      args[i] = write_node(w, n->args.data[i]);
   if (strcmp(name, "int") == 0 && num == 1)
      return args[0];
   for (size_t i = 0; i < NUM_FUNCTIONS; i++) {
      if (functions[i].op != TL_AST_OP_COUNT || strcmp(functions[i].call, name) != 0)
         continue;
      bool fits = functions[i].max_args == 2 ? num == 2 : num <= functions[i].max_args;
      if (!fits)
         return refuse(w,
                       tl_arena_printf(w->aot->arena, "'%s' does not take %zu values", name, num));
      if (functions[i].max_args == 1)
         return call(w, i, args[0], "INT64_C(0)");
      const char *folded = args[0];
      for (size_t k = 1; k < num; k++)
         folded = call(w, i, folded, args[k]);
      return folded;
   }
   return refuse(w, tl_arena_printf(w->aot->arena, "'%s' is not known at a launch", name));
}

static const char *
write_node(Writer *w, const TlNode *n)
{
   TlArena *arena = w->aot->arena;
   switch ((int)n->kind) {
   case TL_AST_INT:
      return tl_ast_Int(n)->is_large ? refuse(w, "a number is beyond 64 bits")
                                     : number(w, (int64_t)tl_ast_Int(n)->value);
   case TL_AST_CONST:
      return number(w, tl_ast_Const(n)->which == TL_AST_OP_TRUE);
   case TL_AST_NAME:
      return write_name(w, tl_ast_Name(n)->id);
   case TL_AST_UNARY:
      return write_unary(w, tl_ast_Unary(n));
   case TL_AST_BINARY:
      return write_binary(w, tl_ast_Binary(n));
   case TL_AST_COMPARE:
      return write_compare(w, tl_ast_Compare(n));
   case TL_AST_CALL:
      return write_call(w, tl_ast_Call(n));
   case TL_AST_BOOLOP: {
      const TlAstBoolOp *b = tl_ast_BoolOp(n);
      const char *l = write_node(w, b->left), *r = write_node(w, b->right);
      if (strlen(l) > MAX_REPEATED)
         return refuse(w, "it is too long");
      return b->op == TL_AST_OP_AND ? tl_arena_printf(arena, "(%s != 0 ? %s : 0)", l, r)
                                    : tl_arena_printf(arena, "(%s != 0 ? %s : %s)", l, l, r);
   }
   case TL_AST_CONDITIONAL: {
      const TlAstConditional *c = tl_ast_Conditional(n);
      return tl_arena_printf(arena, "(%s != 0 ? %s : %s)", write_node(w, c->test),
                             write_node(w, c->then_value), write_node(w, c->else_value));
   }
   default:
      return refuse(w, "it is not an integer expression");
   }
}

const char *
tl_c_rule(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info, const char *text,
          unsigned *uses, const char **why)
{
   TlCompilation *comp = aot->images[0].comp;
   TlDiags diags;
   tl_diags_init(&diags, comp->arena, comp->sources);
   TlParseCx cx = {comp->arena, comp->strings, comp->sources, &diags};
   uint32_t file = tl_sources_add(comp->sources, "<grid>", text, strlen(text));
   const TlNode *n = tl_parse_expression(&cx, file);
   Writer w = {.aot = aot, .kernel = k, .info = info};
   const char *c = n ? write_node(&w, n) : refuse(&w, "it is not an expression");
   *uses |= w.uses;
   *why = w.why;
   return w.why ? NULL : c;
}

void
tl_c_rule_functions(const TlAot *aot, unsigned uses, TlSb *out)
{
   for (size_t i = 0; i < NUM_FUNCTIONS; i++)
      if (uses & functions[i].use) {
         tl_sb_str(out, "static int64_t\n");
         tl_c_template(aot, functions[i].text, strlen(functions[i].text), out);
         tl_sb_char(out, '\n');
      }
}
