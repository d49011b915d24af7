/* What the text of compiled functions shows: see lint.h. */
#include "sema/lint.h"
#include "sema/lint_access.h"
#include "sema/bindings.h"
#include "sema/generic.h"
#include "sema/help.h"
#include "sema/impl.h"
#include "sema/spec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct Lint {
   TlSema *s;
   const TlNames *names;
   const TlFunc *compiled;         /* the kernel's; NULL: none, types are as written */
   TlMap functions;                /* node -> TlSvFunc */
   TL_VEC(const TlSvFunc *) outer; /* compiled and in no other such, by position */
} Lint;

/* ---- which functions ---- */
static int
by_position(const void *a, const void *b)
{
   const TlSvFunc *const *x = a, *const *y = b;
   uint32_t i = (*x)->node->range.begin, k = (*y)->node->range.begin;
   return (i > k) - (i < k);
}

static void
find_functions(Lint *l)
{
   const TlSourceModule *main = l->s->impl->main;
   tl_map_init(&l->functions, l->s->arena);
   for (size_t i = 0; i < main->functions.len; i++) {
      TlSvFunc *fn = main->functions.data[i];
      if (!tl_map_has(&l->functions, fn->node))
         tl_map_put(&l->functions, fn->node, fn);
      if (fn->is_compiled && fn->node->kind == TL_AST_FUNCTION)
         tl_vec_push(l->s->arena, &l->outer, fn);
   }
   size_t kept = 0;
   if (l->outer.len)
      qsort(l->outer.data, l->outer.len, sizeof *l->outer.data, by_position);
   for (size_t i = 0; i < l->outer.len; i++)
      if (!kept || l->outer.data[kept - 1]->node->range.end <= l->outer.data[i]->node->range.begin)
         l->outer.data[kept++] = l->outer.data[i];
   l->outer.len = kept;
}

/* The compiled function of the file that the range is in; NULL: host code. */
static const TlSvFunc *
compiled_around(const Lint *l, TlRange r)
{
   size_t low = 0, high = l->outer.len;
   while (low < high) { /* the first that ends behind r */
      size_t middle = low + (high - low) / 2;
      if (l->outer.data[middle]->node->range.end < r.end)
         low = middle + 1;
      else
         high = middle;
   }
   bool is_in = low < l->outer.len && l->outer.data[low]->node->range.begin <= r.begin;
   return is_in ? l->outer.data[low] : NULL;
}

static bool
is_in_body(const TlSvFunc *fn, TlRange r)
{
   const TlNodeList *body = &tl_ast_Function(fn->node)->body;
   return body->len && body->data[0] && body->data[0]->range.begin <= r.begin;
}

/* ---- names ---- */
/* kernl[grid](x): nothing in the file binds the name, and a kernel's is nearly it. */
static void
check_launched_name(const Lint *l, const TlMention *m)
{
   TlSema *s = l->s;
   const TlCalls *calls = tl_launches_of(s, m->name);
   TlNearest near = {.name = m->name};
   TlSv v;
   bool is_launch = false;
   for (size_t i = 0; calls && i < calls->len; i++)
      is_launch |= calls->data[i]->func->range.begin == m->range.begin;
   if (!is_launch || tl_lookup_quiet(s, tl_module_frame(s, s->impl->main), m->name, &v))
      return;
   for (size_t i = 0; i < l->outer.len; i++)
      tl_nearest_try(&near, l->outer.data[i]->name);
   if (!near.best)
      return;
   tl_report(s->diags, E0200, m->range, m->name);
   tl_help(s->diags, "did you mean '%s'?", near.best);
}

/* y = y + x, acc += x: on the first way through the function nothing has set it. */
static bool
is_before_binding(const Lint *l, const TlMention *m)
{
   const TlSymbol *y = m->symbol;
   const TlSvFunc *fn = compiled_around(l, m->range);
   if (!y || !fn || y->kind != TL_SYMBOL_VARIABLE || !y->node || y->node->kind < TL_AST_EXPR_STMT ||
       y->owner != fn->node || m->owner != fn->node || m->node->kind != TL_AST_NAME ||
       !is_in_body(fn, m->range))
      return false;
   bool is_assignment = y->node->kind == TL_AST_ASSIGN || y->node->kind == TL_AST_AUG_ASSIGN;
   if (m->is_write)
      return y->node->kind == TL_AST_AUG_ASSIGN && y->range.begin == m->range.begin;
   return m->range.begin < (is_assignment ? y->node->range.end : y->node->range.begin);
}

static void
check_mention(const Lint *l, const TlMention *m)
{
   TlSv v;
   TlSema *s = l->s;
   const TlSvFunc *fn = m->symbol || m->is_keyword ? NULL : compiled_around(l, m->range);
   if (is_before_binding(l, m)) {
      tl_report(s->diags, E0200, m->range, m->name);
      if (tl_is_compared_statement(s, m->range))
         tl_help(s->diags, "'==' compares, '=' assigns: %s = ..", m->name);
      else
         (void)tl_help_unset(s, compiled_around(l, m->range)->node, m->name, m->range, NULL);
      return;
   }
   if (!fn && !m->symbol && m->node->kind == TL_AST_NAME)
      check_launched_name(l, m);
   if (!fn || m->node->kind != TL_AST_NAME || !is_in_body(fn, m->range))
      return;
   TlScope scope = (TlScope)(uintptr_t)tl_map_get(tl_scopes_of(s, fn->node), m->name);
   if (scope == TL_SCOPE_GLOBAL || scope == TL_SCOPE_NONLOCAL)
      return;                       /* that statement is refused */
   TlActivation act = {.func = fn}; /* of a kernel, which the module is not */
   TlFrame *f = tl_frame_new(s, fn->closure, s->impl->main, &act);
   if (tl_lookup_quiet(s, f, m->name, &v))
      return;
   for (size_t i = 0; i < l->names->symbols.len; i++) { /* the slip may be of one of these */
      const TlSymbol *y = l->names->symbols.data[i];
      if (y->owner == fn->node)
         tl_frame_set(s, f, y->name, tl_sv_poison(), m->range);
   }
   (void)tl_lookup(s, f, m->name, m->range);
}

/* Is it a floating-point number, as written or as given? */
static bool
is_fraction(const Lint *l, const TlSvFunc *fn, const TlSymbol *y)
{
   bool is_compiled =
      l->compiled && y->owner == fn->node && strcmp(tl_kernel_name(fn), l->compiled->name) == 0;
   for (unsigned i = 0; is_compiled && i < l->compiled->num_params; i++) {
      const TlParam *p = &l->compiled->params[i];
      if (strcmp(p->name, y->name) == 0)
         return p->type && p->type->kind == TL_TYPE_SCALAR && tl_dtype_is_float(p->type->dtype);
   }
   const TlNode *annotation = tl_ast_Param(y->node)->annotation;
   const char *text = annotation ? tl_node_text(l->s, annotation) : "";
   const TlType *type = text[0] ? tl_parse_type_text(l->s, text, strlen(text)) : NULL;
   return type && type->kind == TL_TYPE_SCALAR && tl_dtype_is_float(type->dtype);
}

/* total += x: where the variable is first added to; an empty range: it is not. */
static TlRange
added_to(const Lint *l, const TlSymbol *y)
{
   enum { NEAR = 8 };
   for (size_t i = 0; i < l->names->mentions.len; i++) {
      const TlMention *m = &l->names->mentions.data[i];
      if (m->symbol != y || !m->is_write)
         continue;
      TlRange behind = tl_range(m->range.file, m->range.end, m->range.end + NEAR);
      const char *text = tl_range_text(l->s, behind);
      text += strspn(text, " ");
      if (text[0] == '+' && text[1] == '=')
         return m->range;
   }
   return (TlRange){0};
}

static void
report_unread(const Lint *l, const TlSymbol *y)
{
   TlSema *s = l->s;
   TlRange adds = added_to(l, y);
   tl_report(s->diags, W0208, y->range, y->name);
   if (!adds.end)
      return;
   tl_help(s->diags,
           "what is added up in '%s' goes nowhere: add it to what is stored, or store it; or take "
           "it out",
           y->name);
   tl_note(s->diags, N0200, adds, "it is added up here");
}

static void
check_symbol(const Lint *l, const TlSymbol *y)
{
   TlSema *s = l->s;
   const TlSvFunc *fn = y->reads || y->name[0] == '_' ? NULL : compiled_around(l, y->range);
   if (!fn || y->is_unpacked || !y->owner)
      return;
   if (y->kind == TL_SYMBOL_VARIABLE)
      report_unread(l, y);
   else if (y->kind == TL_SYMBOL_PARAMETER && y->owner->kind == TL_AST_FUNCTION) {
      if (is_fraction(l, fn, y)) {
         tl_report(s->diags, W0297, y->range, y->name);
         return;
      }
      tl_report(s->diags, W0203, y->range, y->name);
      if (tl_lint_is_size_name(y->name)) /* a mask may lack it */
         tl_help(s->diags,
                 "a size belongs into the masks, as in offsets < %.40s, and into loops and grids; "
                 "if nothing wants it take it out of the parameters and of the calls",
                 y->name);
   }
}

/* ---- statements ---- */
static const char *
leaves(const TlNode *n)
{
   switch (n->kind) {
   case TL_AST_RETURN:
      return "'return'";
   case TL_AST_RAISE:
      return "'raise'";
   case TL_AST_BREAK:
      return "'break'";
   case TL_AST_CONTINUE:
      return "'continue'";
   default:
      return NULL;
   }
}

static const char *block_leaves(const TlNodeList *body, size_t *at);

/* A case without a guard that takes every value: a name alone, or `_`. */
static bool
takes_the_rest(const TlAstCase *c)
{
   return !c->guard && tl_ast_takes_everything(c->pattern);
}

static const char *
match_leaves(const TlAstMatch *n)
{
   size_t at;
   for (size_t i = 0; i < n->cases.len; i++)
      if (!block_leaves(&tl_ast_Case(n->cases.data[i])->body, &at))
         return NULL;
   return n->cases.len && takes_the_rest(tl_ast_Case(n->cases.data[n->cases.len - 1]))
             ? "a 'match' whose cases all end"
             : NULL;
}

/* What makes the statement's end unreachable, or NULL. */
static const char *
statement_leaves(const TlNode *n)
{
   size_t at;
   if (n && n->kind == TL_AST_MATCH)
      return match_leaves(tl_ast_Match(n));
   if (!n || n->kind != TL_AST_IF || !tl_ast_If(n)->orelse.len)
      return n ? leaves(n) : NULL;
   return block_leaves(&tl_ast_If(n)->body, &at) && block_leaves(&tl_ast_If(n)->orelse, &at)
             ? "an 'if' whose sides both end"
             : NULL;
}

/* Likewise of a block; out: which statement makes it so. */
static const char *
block_leaves(const TlNodeList *body, size_t *at)
{
   const char *by = NULL;
   for (*at = 0; *at < body->len && !by; ++*at)
      by = statement_leaves(body->data[*at]);
   *at -= by != NULL;
   return by;
}

static void
check_reached(TlSema *s, const TlNodeList *body)
{
   size_t at;
   const char *by = block_leaves(body, &at);
   if (by && at + 1 < body->len && body->data[at + 1])
      tl_report(s->diags, W0204, body->data[at + 1]->range, by);
}

const char *
tl_idle_value(const TlNode *v)
{
   switch (v->kind) {
   case TL_AST_COMPARE:
      return "comparison";
   case TL_AST_BINARY:
   case TL_AST_UNARY:
   case TL_AST_BOOLOP:
   case TL_AST_SUBSCRIPT:
   case TL_AST_TUPLE:
   case TL_AST_LAMBDA:
   case TL_AST_INT:
   case TL_AST_FLOAT:
      return "expression";
   case TL_AST_NAME:
   case TL_AST_ATTRIBUTE:
      return "name";
   default:
      return NULL;
   }
}

static bool has_call(const TlNode *n);

static void
find_call(void *user, TlNode *n)
{
   bool *found = user;
   *found = *found || has_call(n);
}

static bool
has_call(const TlNode *n)
{
   bool found = n->kind == TL_AST_CALL;
   tl_ast_children(n, find_call, &found);
   return found;
}

bool
tl_is_parenthesized(TlSema *s, const TlNode *n)
{
   const char *text = tl_source(s->sources, n->range.file)->text, *p = text + n->range.begin;
   while (p > text && (p[-1] == ' ' || p[-1] == '\t'))
      p--;
   return p > text && p[-1] == '(';
}

/* a < b & c < d */
static void
check_chain(TlSema *s, const TlAstCompare *c)
{
   const TlAstUnary *u = c->left->kind == TL_AST_UNARY ? tl_ast_Unary(c->left) : NULL;
   if (u && u->op == TL_AST_OP_INVERT && c->rights.len == 1 && !tl_is_parenthesized(s, c->left) &&
       c->ops.data[0] != TL_AST_OP_EQ && c->ops.data[0] != TL_AST_OP_NE)
      tl_report(s->diags, W0268, c->left->range, tl_node_text(s, u->operand));
   for (size_t i = 0; i + 1 < c->rights.len; i++) {
      const TlNode *middle = c->rights.data[i];
      TlAstOp op = middle->kind == TL_AST_BINARY ? tl_ast_Binary(middle)->op : TL_AST_OP_ADD;
      if ((op != TL_AST_OP_BITAND && op != TL_AST_OP_BITOR) || tl_is_parenthesized(s, middle))
         continue;
      tl_report(s->diags, W0209, middle->range, tl_ast_op_text[op]);
      tl_help(s->diags, "in parentheses they are two: (a < b) %s (c < d)", tl_ast_op_text[op]);
   }
}

/* ---- quotients that end too soon ---- */
bool
tl_has_parentheses(TlSema *s, const TlNode *n)
{
   const TlSource *src = tl_source(s->sources, n->range.file);
   const char *p = src->text + n->range.end;
   while (*p == ' ' || *p == '\t')
      p++;
   return *p == ')' && tl_is_parenthesized(s, n);
}

static bool
is_one(const TlNode *n)
{
   return (n->kind == TL_AST_INT && tl_ast_Int(n)->value == 1) ||
          (n->kind == TL_AST_FLOAT && tl_ast_Float(n)->value == 1);
}

/* eps, 1e-6: what keeps a divisor away from 0 */
static bool
is_small(const TlNode *n)
{
   static const double MOST = 1e-3;
   if (n->kind == TL_AST_FLOAT)
      return tl_ast_Float(n)->value > 0 && tl_ast_Float(n)->value <= MOST;
   return n->kind == TL_AST_NAME &&
          (tl_has_word(tl_ast_Name(n)->id, "eps") || tl_has_word(tl_ast_Name(n)->id, "epsilon"));
}

bool
tl_is_call_of(const TlNode *n, const char *names)
{
   const TlNode *f = n->kind == TL_AST_CALL ? tl_ast_Call(n)->func : NULL;
   return f &&
          ((f->kind == TL_AST_NAME && tl_word_is_listed(names, tl_ast_Name(f)->id)) ||
           (f->kind == TL_AST_ATTRIBUTE && tl_word_is_listed(names, tl_ast_Attribute(f)->name)));
}

/* What the root is of, as it is written. */
static const char *
rooted(TlSema *s, const TlNode *call)
{
   const TlAstCall *c = tl_ast_Call(call);
   return c->args.len ? tl_node_text(s, c->args.data[0]) : "x";
}

/* 1 / 1 + exp(-x), x / sqrt(v) + eps, rsqrt(v) + eps */
static void
check_quotient(TlSema *s, const TlAstBinary *b)
{
   const TlNode *left = b->left, *right = b->right;
   if ((b->op != TL_AST_OP_ADD && b->op != TL_AST_OP_SUB) || tl_has_parentheses(s, left))
      return;
   const char *sign = tl_ast_op_text[b->op], *text = tl_node_text(s, left);
   bool adds_small = b->op == TL_AST_OP_ADD && is_small(right);
   if (adds_small && tl_is_call_of(left, "rsqrt rsqrt_rn")) {
      tl_report(s->diags, W0367, left->range, text, sign, "the root");
      tl_help(s->diags, "what keeps it from 0 is added before: rsqrt(x + %.40s)",
              tl_node_text(s, right));
      return;
   }
   const TlAstBinary *q = left->kind == TL_AST_BINARY ? tl_ast_Binary(left) : NULL;
   if (!q || q->op != TL_AST_OP_DIV)
      return;
   bool by_one = is_one(q->right) && has_call(right);
   if (!by_one && !(adds_small && tl_is_call_of(q->right, "sqrt sqrt_rn")))
      return;
   tl_report(s->diags, W0367, left->range, text, sign, "the divisor");
   if (adds_small && tl_is_call_of(q->right, "sqrt sqrt_rn"))
      tl_help(
         s->diags,
         "within the root, as norms have it: %.40s / sqrt(%.60s + %.40s); behind it, as Adam has "
         "it: %.40s / (%.60s + %.40s)",
         tl_node_text(s, q->left), rooted(s, q->right), tl_node_text(s, right),
         tl_node_text(s, q->left), tl_node_text(s, q->right), tl_node_text(s, right));
   else
      tl_help(s->diags, "in parentheses it is: %.40s / (%.40s %s %.60s)", tl_node_text(s, q->left),
              tl_node_text(s, q->right), sign, tl_node_text(s, right));
}

/* ---- loops that do not end ---- */
typedef struct Ending {
   const TlNode *test;
   bool reads_name; /* one at least */
   bool is_unclear; /* it calls something, or takes a part of a value */
   bool can_end;    /* the body binds one of its names, or leaves */
} Ending;

static void
read_test(void *user, TlNode *n)
{
   Ending *e = user;
   e->reads_name |= n->kind == TL_AST_NAME;
   e->is_unclear |= n->kind == TL_AST_CALL || n->kind == TL_AST_SUBSCRIPT ||
                    n->kind == TL_AST_ATTRIBUTE || n->kind == TL_AST_WALRUS;
   tl_ast_children(n, read_test, e);
}

typedef struct Wanted {
   const char *name;
   bool is_found;
} Wanted;

static void
look_for_name(void *user, TlNode *n)
{
   Wanted *w = user;
   w->is_found = w->is_found || tl_has_name(n, w->name);
}

bool
tl_has_name(const TlNode *n, const char *name)
{
   Wanted w = {name, n->kind == TL_AST_NAME && tl_ast_Name(n)->id == name};
   tl_ast_children(n, look_for_name, &w);
   return w.is_found;
}

static void
read_binding(void *user, const TlBinding *b)
{
   Ending *e = user;
   e->can_end |= tl_has_name(e->test, b->name);
}

static void
find_leaving(void *user, TlNode *n)
{
   Ending *e = user;
   e->can_end |= leaves(n) != NULL && n->kind != TL_AST_CONTINUE;
   tl_ast_children(n, find_leaving, e);
}

/* while j < n: whose body sets neither. */
static void
check_ending(TlSema *s, const TlAstWhile *loop)
{
   Ending e = {.test = loop->test};
   read_test(&e, loop->test);
   if (!e.reads_name || e.is_unclear)
      return;
   tl_each_binding(&loop->body, read_binding, &e);
   for (size_t i = 0; i < loop->body.len; i++)
      if (loop->body.data[i])
         find_leaving(&e, loop->body.data[i]);
   if (!e.can_end)
      tl_report(s->diags, W0213, loop->test->range);
}

void
tl_report_idle(TlSema *s, const TlNode *value, const char *what)
{
   const char *text = tl_node_text(s, value);
   bool is_name = value->kind == TL_AST_NAME || value->kind == TL_AST_ATTRIBUTE;
   tl_report(s->diags, W0200, value->range,
             is_name ? tl_arena_printf(s->arena, "name '%.60s'", text) : what);
   if (is_name)
      tl_help(s->diags, "it is not called: functions are called by their parentheses, %.60s()",
              text);
   else if (value->kind == TL_AST_COMPARE)
      tl_help(s->diags, "'=' assigns, '==' compares");
   else if (value->kind == TL_AST_BINARY && tl_ast_Binary(value)->left->kind == TL_AST_NAME)
      tl_help(s->diags, "assign it to a name, return it, or change '%s' by it: %s %s= ..",
              tl_ast_Name(tl_ast_Binary(value)->left)->id,
              tl_ast_Name(tl_ast_Binary(value)->left)->id,
              tl_ast_op_text[tl_ast_Binary(value)->op]);
}

static bool
literal_int(const TlNode *n, int64_t *out)
{
   bool is_negative = n->kind == TL_AST_UNARY && tl_ast_Unary(n)->op == TL_AST_OP_NEG;
   n = is_negative ? tl_ast_Unary(n)->operand : n;
   if (n->kind != TL_AST_INT || tl_ast_Int(n)->value > INT32_MAX)
      return false;
   *out = is_negative ? -(int64_t)tl_ast_Int(n)->value : (int64_t)tl_ast_Int(n)->value;
   return true;
}

/* n, n - 1: what is called as sizes are. */
static bool
is_size(const TlNode *n)
{
   int64_t by;
   const TlAstBinary *b = n->kind == TL_AST_BINARY ? tl_ast_Binary(n) : NULL;
   if (b && b->op == TL_AST_OP_SUB && literal_int(b->right, &by))
      n = b->left;
   return n->kind == TL_AST_NAME && tl_lint_is_size_name(tl_ast_Name(n)->id);
}

/* for j in range(0, 8, -1): of numbers that are written out; range(n, 0). */
static void
check_range(TlSema *s, const TlNode *iter)
{
   int64_t v[3] = {0, 0, 1};
   const char *name = iter->kind == TL_AST_CALL ? tl_decorator_name(iter) : "";
   if (strcmp(name, "range") != 0 && strcmp(name, "static_range") != 0)
      return;
   const TlNodeList *args = &tl_ast_Call(iter)->args;
   bool are_numbers = true;
   for (size_t i = 0; i < args->len; i++) {
      if (i >= 3 || (i && !literal_int(args->data[i], &v[i])))
         return;
      are_numbers &= i || literal_int(args->data[0], &v[args->len == 1 ? 1 : 0]);
   }
   if (args->len == 2 && is_size(args->data[0]) && v[1] <= 0) {
      tl_report(s->diags, W0221, iter->range);
      tl_help(s->diags, "it counts up: down to 0 it is range(%.40s%s, -1, -1)",
              tl_node_text(s, args->data[0]), args->data[0]->kind == TL_AST_NAME ? " - 1" : "");
      return;
   }
   if (!are_numbers)
      return;
   if (args->len && v[2] && (v[2] > 0 ? v[0] >= v[1] : v[0] <= v[1]))
      tl_report(s->diags, W0221, iter->range);
}

/* total =+ x */
static void
check_sign(TlSema *s, const TlNode *value)
{
   const char *p = tl_source(s->sources, value->range.file)->text + value->range.begin;
   if (value->kind != TL_AST_UNARY && (*p != '+' && *p != '-'))
      return;
   if ((*p != '+' && *p != '-') || p[1] != ' ' || p[-1] != '=' || p[-2] != ' ')
      return;
   tl_report(s->diags, W0222, value->range, *p);
   tl_help(s->diags, "did you mean '%c='? A sign stands by its value: = %cx", *p, *p);
}

static void
check_statement(void *user, TlNode *n)
{
   TlSema *s = user;
   if (n->kind == TL_AST_FOR)
      check_range(s, tl_ast_For(n)->iter);
   if (n->kind == TL_AST_ASSIGN)
      check_sign(s, tl_ast_Assign(n)->value);
   if (n->kind == TL_AST_COMPARE) {
      check_chain(s, tl_ast_Compare(n));
      tl_lint_joined(s, tl_ast_Compare(n));
   }
   if (n->kind == TL_AST_BINARY) {
      check_quotient(s, tl_ast_Binary(n));
      tl_lint_masked_bits(s, tl_ast_Binary(n));
   }
   if (n->kind == TL_AST_WHILE)
      check_ending(s, tl_ast_While(n));
   if (n->kind == TL_AST_EXPR_STMT) {
      const TlNode *v = tl_ast_ExprStmt(n)->value;
      const char *what = tl_idle_value(v);
      if (what && (v->kind == TL_AST_COMPARE || !has_call(v)))
         tl_report_idle(s, v, what);
   }
   const TlNodeList *blocks[2] = {NULL, NULL};
   if (n->kind == TL_AST_IF) {
      blocks[0] = &tl_ast_If(n)->body;
      blocks[1] = &tl_ast_If(n)->orelse;
   } else if (n->kind == TL_AST_FOR) {
      blocks[0] = &tl_ast_For(n)->body;
      blocks[1] = &tl_ast_For(n)->orelse;
   } else if (n->kind == TL_AST_WHILE) {
      blocks[0] = &tl_ast_While(n)->body;
      blocks[1] = &tl_ast_While(n)->orelse;
   } else if (n->kind == TL_AST_CASE) {
      blocks[0] = &tl_ast_Case(n)->body;
   } else if (n->kind == TL_AST_WITH) {
      blocks[0] = &tl_ast_With(n)->body;
   } else if (n->kind == TL_AST_FUNCTION) {
      blocks[0] = &tl_ast_Function(n)->body;
   }
   for (unsigned i = 0; i < 2; i++)
      if (blocks[i])
         check_reached(s, blocks[i]);
   tl_ast_children(n, check_statement, s);
}

/* ---- the file ---- */
/* A function of the language that only a kernel can call. */
static const TlBuiltin *
kernel_builtin(TlSema *s, const TlNode *callee)
{
   TlSv v;
   const TlBuiltin *row = NULL;
   TlFrame *f = tl_module_frame(s, s->impl->main);
   if (callee->kind == TL_AST_NAME && tl_lookup_quiet(s, f, tl_ast_Name(callee)->id, &v) &&
       v.kind == TL_SV_BUILTIN)
      row = v.builtin.row;
   const TlNode *of = callee->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(callee)->value : NULL;
   if (of && of->kind == TL_AST_NAME && tl_lookup_quiet(s, f, tl_ast_Name(of)->id, &v) &&
       v.kind == TL_SV_MODULE && v.module->kind == TL_MOD_BUILTIN &&
       strcmp(v.module->name, "triton.language") == 0)
      row = tl_builtin_find(TL_NS_TL, tl_ast_Attribute(callee)->name);
   bool is_of_host =
      !row || (row->flags & TL_BUILTIN_HOST) || (row->namespaces & (TL_NS_PYTHON | TL_NS_TRITON));
   return is_of_host ? NULL : row;
}

/* store(..) that lost its indentation. */
static void
check_outside(TlSema *s, const TlNode *n)
{
   const TlNode *value = n->kind == TL_AST_EXPR_STMT ? tl_ast_ExprStmt(n)->value
                         : n->kind == TL_AST_ASSIGN  ? tl_ast_Assign(n)->value
                                                     : NULL;
   const TlBuiltin *row =
      value && value->kind == TL_AST_CALL ? kernel_builtin(s, tl_ast_Call(value)->func) : NULL;
   if (row)
      tl_report(s->diags, W0215, value->range, row->name);
}

/* Two kernels of one name, of which nothing can have used the old one; NULL: there is none. */
static void
check_twice(const Lint *l, const TlNames *names, const TlNode *old, const TlNode *n)
{
   const char *name = tl_ast_Function(n)->name;
   for (size_t i = 0; old && i < names->mentions.len; i++) {
      const TlMention *m = &names->mentions.data[i];
      if (m->name == name && !m->is_write && m->range.begin > old->range.end &&
          m->range.begin < n->range.begin)
         return;
   }
   if (!old)
      return;
   tl_report(l->s->diags, W0214, tl_ast_name_range(l->s->sources, n), name);
   tl_note(l->s->diags, N0200, tl_ast_name_range(l->s->sources, old), "the first is here");
}

/* ---- comments ---- */
static bool
is_warning(const char *name, size_t len)
{
   for (unsigned i = 0; tl_warning_name(i); i++)
      if (tl_is_word(tl_warning_name(i), name, len))
         return true;
   for (unsigned c = 0; *name == 'W' && c < TL_DIAG_COUNT; c++)
      if (tl_is_word(tl_diag_name(c), name, len))
         return true;
   return false;
}

static void
check_names_of_comment(TlSema *s, const TlSource *src, const char *names, size_t len)
{
   const char *name;
   size_t n;
   while (tl_next_ignored(&names, &len, &name, &n)) {
      uint32_t at = (uint32_t)(name - src->text);
      if (!is_warning(name, n))
         tl_report(s->diags, W0205, tl_range(s->impl->main->file, at, at + (uint32_t)n), (int)n,
                   name);
   }
}

static void
check_comments(TlSema *s)
{
   uint32_t file = s->impl->main->file, len;
   const TlSource *src = tl_source(s->sources, file);
   if (!strstr(src->text, "# tilec: ignore["))
      return;
   uint32_t lines = tl_source_line_col(s->sources, file, src->len).line;
   for (uint32_t i = 1; i <= lines; i++) {
      const char *line = tl_source_line(s->sources, file, i, &len);
      size_t n;
      const char *names = tl_ignored_in(line, len, &n);
      if (names)
         check_names_of_comment(s, src, names, n);
   }
}

static void
warn_of_idle(TlSema *s, const TlKernelInfo *k)
{
   const TlSvFunc *fn = tl_function_of(s, k->name);
   tl_report(s->diags, W0216, k->name_range, k->name);
   if (fn && tl_returns_value(fn->node))
      tl_help(s->diags, "a kernel gives nothing back: in place of 'return' write results with "
                        "store(pointer, value, mask)");
}

/* Of names that are not used nothing else follows, nor of what is shown only where -Wall asks for
 * it; undefined lanes are what W0237 is about, too. */
static bool
is_other_news(const TlDiag *d, const TlLate *late)
{
   TlRange kernel = late->kernel;
   TlWarningGroup group = tl_diag_group(d->code);
   bool is_within =
      d->range.file == kernel.file && kernel.begin <= d->range.begin && d->range.end <= kernel.end;
   if (group == TL_WARNING_COUNT) /* a warning may be an error, by -Werror */
      return d->severity == TL_SEV_ERROR;
   if (d->code == TL_DIAG_W0206)
      return is_within && late->diag->code == TL_DIAG_W0237;
   return is_within && d->code != TL_DIAG_W0208 && !tl_warning_is_asked_for(group);
}

static void
report_late(TlSema *s)
{
   const TlDiag *last = s->diags->last;
   for (size_t i = 0; i < s->impl->late.len; i++) {
      const TlLate *l = &s->impl->late.data[i];
      bool is_told = true;
      for (const TlDiag *d = s->diags->first; d && is_told; d = d == last ? NULL : d->next)
         is_told = !is_other_news(d, l);
      if (is_told)
         tl_diags_repeat(s->diags, l->diag);
   }
   s->impl->late.len = 0;
}

void
tl_sema_lint(TlSema *s, const TlNames *names, const TlFunc *compiled)
{
   assert(s->impl->main);
   const TlNodeList *body = &s->impl->main->ast->body;
   Lint l = {.s = s, .names = names, .compiled = compiled};
   find_functions(&l);
   for (size_t i = 0; i < names->mentions.len; i++)
      check_mention(&l, &names->mentions.data[i]);
   bool is_whole = !s->diags->num_errors; /* else a use may be what is misspelled */
   for (size_t i = 0; i < names->symbols.len && is_whole; i++)
      check_symbol(&l, names->symbols.data[i]);
   TlMap last; /* name -> its newest function */
   tl_map_init(&last, s->arena);
   for (size_t i = 0; i < body->len; i++) {
      TlNode *n = body->data[i];
      const TlSvFunc *fn = n ? tl_map_get(&l.functions, n) : NULL;
      bool is_function = fn && n->kind == TL_AST_FUNCTION;
      if (n)
         check_outside(s, n);
      if (fn && fn->is_compiled) {
         if (is_function)
            check_twice(&l, names, tl_map_get(&last, tl_ast_Function(n)->name), n);
         tl_check_decorators(s, fn);
         check_statement(s, n);
         tl_sema_lint_rounds(s, names, n);
      }
      if (is_function)
         tl_map_put(&last, tl_ast_Function(n)->name, n);
   }
   check_comments(s);
   report_late(s);
   /* Beside other messages it would most often be a second one for the same mistake. */
   for (size_t i = 0; i < s->impl->idle.len && !s->diags->first; i++)
      warn_of_idle(s, s->impl->idle.data[i]);
}

/* ---- of a compiled kernel ---- */
static bool
is_in_another(const TlKernelInfo *kernels, unsigned n, const TlKernelInfo *own, TlRange range)
{
   for (unsigned i = 0; i < n; i++) {
      TlRange k = kernels[i].range;
      if (!kernels[i].is_helper && &kernels[i] != own && range.file == k.file &&
          k.begin <= range.begin && range.end <= k.end)
         return true;
   }
   return false;
}

/* The kernel without the operations that check the others: they would stand between these, and use
 * what they give.  NULL: it has none. */
static const TlFunc *
without_checks(TlSema *s, const TlSpecialization *spec)
{
   TlSpecialization plain = *spec;
   TlQuiet q;
   if (!spec->debug)
      return NULL;
   plain.debug = false;
   plain.keeps_asserts = true;
   tl_quiet_begin(s, &q);
   const TlFunc *f = tl_sema_compile(s, &plain);
   if (f)
      tl_func_remove_last(s->ir);
   return tl_quiet_end(s, &q) ? NULL : f;
}

const TlDiag *
tl_sema_lint_compiled(TlSema *s, const TlNames *names, const TlFunc *f,
                      const TlSpecialization *spec)
{
   const char *kernel = spec->kernel;
   const TlKernelInfo *kernels, *own = NULL;
   unsigned n = tl_sema_kernels(s, &kernels);
   for (unsigned i = 0; i < n; i++)
      if (strcmp(kernels[i].name, kernel) == 0)
         own = &kernels[i];
   if (!own)
      return NULL;
   TlQuiet q;
   tl_quiet_begin(s, &q);
   q.diags.warnings = q.saved->warnings;
   q.diags.warnings.initial = TL_WARNINGS_RUN;
   q.diags.warnings_are_errors = q.saved->warnings_are_errors;
   const TlFunc *plain = without_checks(s, spec);
   f = plain ? plain : f;
   tl_check_around(s, true);
   (void)tl_check_launches(s, own);
   tl_sema_lint_func(s, f, own);
   if (!tl_sema_has_effect(f))
      tl_vec_push(s->arena, &s->impl->idle, own);
   tl_sema_lint(s, names, f);
   tl_diags_sort(&q.diags);
   TlDiag **link = &q.diags.first;
   for (TlDiag *d = *link; d; d = d->next) {
      if (tl_diag_group(d->code) == TL_WARNING_COUNT || is_in_another(kernels, n, own, d->range))
         continue;
      *link = d;
      link = &d->next;
   }
   *link = NULL;
   q.diags.num_errors = q.saved->num_errors; /* the kernel was compiled: they are of others */
   for (TlDiag *d = q.diags.first; d; d = d->next)
      q.diags.num_errors += d->severity == TL_SEV_ERROR;
   (void)tl_quiet_end(s, &q);
   return q.diags.first;
}
