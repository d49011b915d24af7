/* The kernel's own grid as text for the launch record: `grid=(cdiv(n, BLOCK), 2)`, or a lambda or
 * function of the meta-parameters, `lambda meta: (cdiv(n, meta["BLOCK"]),)`.  What is written here
 * is the language of tilec/kernel_info.h, over the kernel's parameters only: names of the module
 * are replaced by their values, and what the launch could not compute is an error where it
 * stands. */
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

typedef struct Grid {
   TlSema *s;
   const TlAstFunction *kernel;
   TlFrame *frame;   /* of the module */
   const char *meta; /* parameter of the lambda, or NULL */
   TlSb out;
   bool failed;
} Grid;

static void put(Grid *g, const TlNode *n, bool nested);

/* "x, n, BLOCK" */
static const char *
param_names(const Grid *g)
{
   TlSb names;
   tl_sb_init(&names, g->s->arena);
   for (size_t i = 0; i < g->kernel->params.len; i++) {
      const char *p = tl_ast_Param(g->kernel->params.data[i])->name;
      if (p)
         tl_sb_printf(&names, "%s%s", names.len ? ", " : "", p);
   }
   return tl_sb_cstr(&names);
}

static void
refuse(Grid *g, const TlNode *n, const char *what)
{
   if (!g->failed) {
      tl_report(g->s->diags, E0277, n->range, what);
      tl_help(g->s->diags,
              "a grid is whole numbers, such as 128,2 or cdiv(n, 128), over the parameters %s%s",
              param_names(g),
              n->range.file == g->s->impl->main->file ? "; --grid=X,Y,Z gives another" : "");
   }
   g->failed = true;
}

static bool
is_param(const Grid *g, const char *name, size_t len)
{
   for (size_t i = 0; i < g->kernel->params.len; i++) {
      const char *p = tl_ast_Param(g->kernel->params.data[i])->name;
      if (p && strlen(p) == len && memcmp(p, name, len) == 0)
         return true;
   }
   return false;
}

/* Anything that the module knows without the launch: a constant, os.environ's default, .. */
static bool
put_constant(Grid *g, const TlNode *n)
{
   TlSv v = tl_quiet_value(g->s, g->frame, n, NULL);
   if (v.kind == TL_SV_INT && !v.is_large)
      tl_sb_printf(&g->out, v.i < 0 ? "(%lld)" : "%lld", (long long)v.i);
   else if (v.kind == TL_SV_BOOL)
      tl_sb_str(&g->out, v.b ? "True" : "False");
   else
      return false;
   return true;
}

static void
suggest_param(Grid *g, const char *name)
{
   TlNearest near = {.name = name};
   for (size_t i = 0; i < g->kernel->params.len; i++) {
      const char *p = tl_ast_Param(g->kernel->params.data[i])->name;
      if (p)
         tl_nearest_try(&near, p);
   }
   if (near.best)
      tl_help(g->s->diags, "did you mean '%s'?", near.best);
   else if (g->kernel->params.len)
      tl_help(g->s->diags, "its parameters are %s; or give the grid with --grid=X,Y,Z",
              param_names(g));
}

static void
put_name(Grid *g, const TlNode *n)
{
   const char *name = tl_ast_Name(n)->id;
   if (is_param(g, name, strlen(name)))
      tl_sb_str(&g->out, name);
   else if (!put_constant(g, n)) {
      bool is_first = !g->failed;
      refuse(g, n, "the kernel's parameters and the module's integers are known; this name is not");
      if (is_first)
         suggest_param(g, name);
   }
}

/* meta["BLOCK"] */
static void
put_subscript(Grid *g, const TlNode *n)
{
   const TlAstSubscript *sub = tl_ast_Subscript(n);
   bool is_meta = g->meta && sub->value->kind == TL_AST_NAME &&
                  tl_ast_Name(sub->value)->id == g->meta && sub->indices.len == 1 &&
                  sub->indices.data[0]->kind == TL_AST_STR;
   if (!is_meta) {
      if (!put_constant(g, n))
         refuse(g, n, "only the meta-parameters are indexed, by name");
      return;
   }
   TlText key = tl_ast_Str(sub->indices.data[0])->value;
   if (is_param(g, key.data, key.len))
      tl_sb_mem(&g->out, key.data, key.len);
   else
      refuse(g, sub->indices.data[0], "the kernel has no such parameter");
}

static void
put_list(Grid *g, const TlNodeList *items)
{
   for (size_t i = 0; i < items->len; i++) {
      if (i)
         tl_sb_str(&g->out, ", ");
      if (items->data[i]->kind == TL_AST_STARRED || items->data[i]->kind == TL_AST_KEYWORD)
         refuse(g, items->data[i], "arguments are given by position");
      else
         put(g, items->data[i], false);
   }
}

static void
put_call(Grid *g, const TlNode *n)
{
   const TlAstCall *call = tl_ast_Call(n);
   const char *dotted = tl_dotted_text(g->s, call->func);
   const char *dot = dotted ? strrchr(dotted, '.') : NULL, *name = dot ? dot + 1 : dotted;
   static const char *const known[] = {"cdiv", "min", "max", "next_power_of_2", "int"};
   if (name && strcmp(name, "ceil") == 0 && call->args.len == 1 &&
       call->args.data[0]->kind == TL_AST_BINARY &&
       tl_ast_Binary(call->args.data[0])->op == TL_AST_OP_DIV) { /* math.ceil(a / b) */
      const TlAstBinary *div = tl_ast_Binary(call->args.data[0]);
      tl_sb_str(&g->out, "cdiv(");
      put(g, div->left, false);
      tl_sb_str(&g->out, ", ");
      put(g, div->right, false);
      tl_sb_char(&g->out, ')');
      return;
   }
   for (size_t i = 0; name && i < sizeof known / sizeof known[0]; i++)
      if (strcmp(known[i], name) == 0) {
         tl_sb_printf(&g->out, "%s(", name);
         put_list(g, &call->args);
         tl_sb_char(&g->out, ')');
         return;
      }
   if (put_constant(g, n) || g->failed)
      return;
   refuse(g, n, "the functions are cdiv, min, max, next_power_of_2, int and math.ceil(a / b)");
   TlNearest near = {.name = name ? name : ""};
   for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
      tl_nearest_try(&near, known[i]);
   const char *other = name ? tl_name_instead(name) : NULL;
   if (near.best)
      tl_help(g->s->diags, "did you mean '%s'?", near.best);
   else if (other)
      tl_help(g->s->diags, "write %s", other);
}

static void
put_binary(Grid *g, const TlNode *n)
{
   const TlAstBinary *b = tl_ast_Binary(n);
   if (b->op == TL_AST_OP_DIV || b->op == TL_AST_OP_POW || b->op == TL_AST_OP_MATMUL) {
      if (!put_constant(g, n))
         refuse(g, n,
                "the numbers are integers: use cdiv, which counts a last block that is not full "
                "as well, or // where there is none");
      return;
   }
   put(g, b->left, true);
   tl_sb_printf(&g->out, " %s ", tl_ast_op_text[b->op]);
   put(g, b->right, true);
}

static void
put_compare(Grid *g, const TlNode *n)
{
   assert(n->kind == TL_AST_COMPARE);
   const TlAstCompare *c = tl_ast_Compare(n);
   TlAstOp op = c->ops.data[0];
   const TlNode *right = c->rights.data[0];
   bool none = (op == TL_AST_OP_IS || op == TL_AST_OP_IS_NOT) && right->kind == TL_AST_CONST;
   bool plain = op == TL_AST_OP_EQ || op == TL_AST_OP_NE || op == TL_AST_OP_LT ||
                op == TL_AST_OP_LE || op == TL_AST_OP_GT || op == TL_AST_OP_GE;
   if (c->rights.len != 1 || (!none && !plain)) {
      refuse(g, n, "one comparison at a time, of numbers");
      return;
   }
   put(g, c->left, true);
   tl_sb_printf(&g->out, " %s ",
                none ? (op == TL_AST_OP_IS ? "==" : "!=")
                     : tl_ast_op_text[op]); /* None counts as 0 */
   put(g, right, true);
}

static void
put_operation(Grid *g, const TlNode *n)
{
   switch (n->kind) {
   case TL_AST_BINARY:
      put_binary(g, n);
      return;
   case TL_AST_COMPARE:
      put_compare(g, n);
      return;
   case TL_AST_UNARY: {
      const TlAstUnary *u = tl_ast_Unary(n);
      tl_sb_printf(&g->out, "%s%s", tl_ast_op_text[u->op], u->op == TL_AST_OP_NOT ? " " : "");
      put(g, u->operand, true);
      return;
   }
   case TL_AST_BOOLOP: {
      const TlAstBoolOp *b = tl_ast_BoolOp(n);
      put(g, b->left, true);
      tl_sb_printf(&g->out, " %s ", tl_ast_op_text[b->op]);
      put(g, b->right, true);
      return;
   }
   default: {
      const TlAstConditional *c = tl_ast_Conditional(n);
      put(g, c->then_value, true);
      tl_sb_str(&g->out, " if ");
      put(g, c->test, true);
      tl_sb_str(&g->out, " else ");
      put(g, c->else_value, true);
   }
   }
}

static void
put(Grid *g, const TlNode *n, bool nested)
{
   if (g->failed)
      return;
   switch (n->kind) {
   case TL_AST_NAME:
      put_name(g, n);
      return;
   case TL_AST_INT:
   case TL_AST_CONST:
   case TL_AST_ATTRIBUTE:
      if (n->kind == TL_AST_CONST && tl_ast_Const(n)->which == TL_AST_OP_NONE)
         tl_sb_str(&g->out, "0");
      else if (!put_constant(g, n))
         refuse(g, n, "this is not an integer known here");
      return;
   case TL_AST_SUBSCRIPT:
      put_subscript(g, n);
      return;
   case TL_AST_CALL:
      put_call(g, n);
      return;
   case TL_AST_BINARY:
   case TL_AST_COMPARE:
   case TL_AST_UNARY:
   case TL_AST_BOOLOP:
   case TL_AST_CONDITIONAL:
      if (nested)
         tl_sb_char(&g->out, '(');
      put_operation(g, n);
      if (nested)
         tl_sb_char(&g->out, ')');
      return;
   default:
      refuse(g, n, "integer expressions over the kernel's parameters are understood");
   }
}

/* The expression that a lambda, or a function of one return, gives; sets g->meta. */
static const TlNode *
body_of(Grid *g, const TlNode *n)
{
   const TlNodeList *params = NULL;
   const TlNode *body = n;
   if (n->kind == TL_AST_NAME && !is_param(g, tl_ast_Name(n)->id, strlen(tl_ast_Name(n)->id))) {
      TlSv v = tl_quiet_value(g->s, g->frame, n, NULL);
      if (v.kind == TL_SV_FUNC && v.func->node->kind != TL_AST_CLASS)
         body = v.func->node;
   }
   if (body->kind == TL_AST_LAMBDA) {
      params = &tl_ast_Lambda(body)->params;
      body = tl_ast_Lambda(body)->body;
   } else if (body->kind == TL_AST_FUNCTION) {
      const TlNodeList *stmts = &tl_ast_Function(body)->body;
      const TlNode *last = stmts->len ? stmts->data[stmts->len - 1] : NULL;
      params = &tl_ast_Function(body)->params;
      if (stmts->len != 1 || !last || last->kind != TL_AST_RETURN || !tl_ast_Return(last)->value)
         refuse(g, n, "a function that gives the grid is one return statement");
      else
         body = tl_ast_Return(last)->value;
   }
   if (params && params->len == 1)
      g->meta = tl_ast_Param(params->data[0])->name;
   else if (params)
      refuse(g, n, "a function that gives the grid has one parameter, the meta-parameters");
   return body;
}

const char *
tl_grid_text(TlSema *s, const TlSvFunc *fn, const TlNode *node)
{
   assert(fn->node->kind == TL_AST_FUNCTION);
   Grid g = {.s = s, .kernel = tl_ast_Function(fn->node), .frame = tl_module_frame(s, fn->source)};
   g.frame->parent = fn->closure;
   tl_sb_init(&g.out, s->arena);
   const TlNode *body = body_of(&g, node);
   TlNode *one = (TlNode *)(uintptr_t)body;
   TlNodeList items = {&one, 1, 1};
   if (body->kind == TL_AST_TUPLE)
      items = tl_ast_Tuple(body)->items;
   else if (body->kind == TL_AST_LIST)
      items = tl_ast_List(body)->items;
   if (items.len < 1 || items.len > 3)
      refuse(&g, body, "a grid has one to three dimensions");
   tl_sb_char(&g.out, '(');
   if (!g.failed)
      put_list(&g, &items);
   tl_sb_str(&g.out, items.len == 1 ? ",)" : ")");
   return g.failed ? NULL : tl_sb_cstr(&g.out);
}

const char *
tl_grid_from_text(TlSema *s, const TlSvFunc *fn, const char *text)
{
   /* What a user reads in front of the line and column: `text` comes from --grid or from a host. */
   uint32_t file = tl_sources_add(s->sources, "grid of the launch", text, strlen(text));
   TlParseCx cx = {s->arena, s->strings, s->sources, s->diags};
   const TlNode *n = tl_parse_expression(&cx, file);
   return n ? tl_grid_text(s, fn, n) : NULL;
}
