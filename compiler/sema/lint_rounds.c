/* What a round of a loop leaves in a name, and the next one sets anew before it is read; names that
 * are to carry a sum from round to round, and that no round changes. */
#include "sema/builtin.h"
#include "sema/lint.h"
#include "sema/impl.h"

typedef struct Rounds {
   TlSema *s;
   const TlNames *names;
} Rounds;

static const TlNode *
name_set_by(const TlNode *n)
{
   const TlNode *to = NULL;
   if (n->kind == TL_AST_AUG_ASSIGN)
      to = tl_ast_AugAssign(n)->target;
   else if (n->kind == TL_AST_ASSIGN && tl_ast_Assign(n)->targets.len == 1)
      to = tl_ast_Assign(n)->targets.data[0];
   return to && to->kind == TL_AST_NAME ? to : NULL;
}

/* The statement of the body that sets the name anew, where nothing reads what `last`, another one,
 * sets it to: not behind it, not before the name is set anew, not outside of the loop. */
static const TlNode *
set_anew(const Rounds *r, const TlNode *loop, const TlNodeList *body, const TlNode *last,
         const TlSymbol *y)
{
   const TlNode *anew = NULL;
   bool is_read = false, reads_itself = last->kind == TL_AST_AUG_ASSIGN;
   for (size_t i = 0; i < r->names->mentions.len; i++) {
      const TlMention *m = &r->names->mentions.data[i];
      if (m->symbol != y)
         continue;
      bool is_inside = tl_range_is_within(m->range, loop->range);
      if (m->owner != y->owner || (!is_inside && !m->is_write) ||
          (is_inside &&
           (m->range.begin < body->data[0]->range.begin || m->range.begin >= last->range.end)))
         return NULL;
      bool is_of_last = tl_range_is_within(m->range, last->range);
      reads_itself |= is_of_last && !m->is_write;
      is_read |= is_inside && !is_of_last && !m->is_write;
      for (size_t k = 0; is_inside && !anew && k < body->len; k++)
         anew = tl_range_is_within(m->range, body->data[k]->range) ? body->data[k] : NULL;
      bool is_own = anew && tl_range_is_within(m->range, anew->range);
      if (is_inside && (!anew || anew == last || anew->kind != TL_AST_ASSIGN ||
                        !name_set_by(anew) || (is_own && !m->is_write)))
         return NULL;
   }
   return is_read && reads_itself ? anew : NULL;
}

static void
check_round(const Rounds *r, const TlNode *loop, const TlNodeList *body)
{
   for (size_t i = 0; i < body->len; i++) {
      const TlNode *last = body->data[i], *name = last ? name_set_by(last) : NULL;
      const TlMention *m = name ? tl_mention_at(r->names, name->range.begin) : NULL;
      const TlSymbol *y = m ? m->symbol : NULL;
      if (!y || y->kind != TL_SYMBOL_VARIABLE || !y->owner || y->name[0] == '_')
         continue;
      const TlNode *anew = set_anew(r, loop, body, last, y);
      if (!anew)
         continue;
      tl_report(r->s->diags, W0366, last->range, y->name);
      tl_help(r->s->diags, "to carry '%.40s' from round to round set it before the loop, not in it",
              y->name);
      tl_note(r->s->diags, N0200, anew->range, "here it is set anew");
   }
}

/* ---- carried on, and never changed ---- */
typedef struct Adding {
   const Rounds *r;
   const TlNode *loop;
   bool is_told;
} Adding;

static const TlNode *
before_brackets(const TlNode *n)
{
   while (n->kind == TL_AST_SUBSCRIPT)
      n = tl_ast_Subscript(n)->value;
   return n;
}

static bool
is_scan(const TlNode *n)
{
   const TlNode *f = n->kind == TL_AST_CALL ? tl_ast_Call(n)->func : NULL;
   const char *name = !f                            ? NULL
                      : f->kind == TL_AST_NAME      ? tl_ast_Name(f)->id
                      : f->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(f)->name
                                                    : NULL;
   return name && (strcmp(name, "cumsum") == 0 || tl_has_word(name, "scan"));
}

static const TlSymbol *
symbol_of(const Rounds *r, const TlNode *name)
{
   bool is_name = name->kind == TL_AST_NAME;
   const TlMention *m = is_name ? tl_mention_at(r->names, name->range.begin) : NULL;
   const TlSymbol *y = m ? m->symbol : NULL;
   return y && y->kind == TL_SYMBOL_VARIABLE && y->owner && !y->is_unpacked ? y : NULL;
}

/* What the name is set to by the one statement that sets it; NULL: there are several. */
static const TlNode *
only_value(const Rounds *r, const TlSymbol *y)
{
   unsigned writes = 0;
   for (size_t i = 0; i < r->names->mentions.len; i++)
      writes += r->names->mentions.data[i].symbol == y && r->names->mentions.data[i].is_write;
   const TlAstAssign *a = y->node && y->node->kind == TL_AST_ASSIGN ? tl_ast_Assign(y->node) : NULL;
   return writes == 1 && a && a->targets.len == 1 ? a->value : NULL;
}

/* The sums of a tile up to each element, written there or set in the loop; NULL: it is another. */
static const TlNode *
scan_of(const Adding *a, const TlNode *n)
{
   n = before_brackets(n);
   const TlSymbol *y = symbol_of(a->r, n);
   if (y && y->node && y->node->kind == TL_AST_ASSIGN &&
       tl_range_is_within(y->node->range, a->loop->range))
      n = before_brackets(tl_ast_Assign(y->node)->value);
   return is_scan(n) ? n : NULL;
}

static bool
is_zero(const TlNode *n)
{
   const TlAstCall *c = n->kind == TL_AST_CALL ? tl_ast_Call(n) : NULL;
   bool is_full = c && tl_is_call_of(n, "full") && c->args.len > 1;
   return tl_is_call_of(n, "zeros zeros_like") || (is_full && is_zero(c->args.data[1])) ||
          (n->kind == TL_AST_INT && !tl_ast_Int(n)->value) ||
          (n->kind == TL_AST_FLOAT && tl_ast_Float(n)->value == 0);
}

/* for first in range(0, n, BLOCK): a loop over blocks */
static bool
has_step(const TlNode *loop)
{
   const TlNode *iter = loop->kind == TL_AST_FOR ? tl_ast_For(loop)->iter : NULL;
   return iter && iter->kind == TL_AST_CALL && tl_ast_Call(iter)->args.len >= 3;
}

static bool
is_named_so(const char *name)
{
   static const char *const words[] = {"carry", "running", "prefix", "total", "sofar", "previous"};
   for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
      if (tl_has_word(name, words[i]))
         return true;
   return false;
}

/* carry + cumsum(x), where the loop's rounds have `carry` as it was before all of them */
static void
check_added(Adding *a, const TlNode *at, const TlNode *name, const TlNode *with)
{
   TlSema *s = a->r->s;
   const TlSymbol *y = symbol_of(a->r, before_brackets(name));
   const TlNode *scan = y ? scan_of(a, with) : NULL, *value = scan ? only_value(a->r, y) : NULL;
   if (!value || a->is_told || y->name[0] == '_' || y->node->range.begin >= a->loop->range.begin)
      return;
   bool is_loaded = tl_is_call_of(value, "load") && has_step(a->loop) && is_named_so(y->name);
   if (!is_zero(before_brackets(value)) && !is_loaded)
      return;
   const TlAstCall *c = tl_ast_Call(scan);
   const TlNode *x = c->func->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(c->func)->value : NULL;
   bool is_method = x && !(x->kind == TL_AST_NAME && c->args.len && symbol_of(a->r, x) == NULL);
   x = is_method ? x : c->args.len ? c->args.data[0] : NULL;
   tl_report(s->diags, W0371, at->range, y->name,
             is_loaded ? "what was loaded before the loop" : tl_node_text(s, value));
   tl_help(s->diags, "add what a round has at its end: %.40s += tl.sum(%.40s, axis=0)", y->name,
           x && x->kind == TL_AST_NAME ? tl_node_text(s, x) : "x");
   a->is_told = true;
}

static void
find_added(void *user, TlNode *n)
{
   Adding *a = user;
   if (n->kind == TL_AST_FOR || n->kind == TL_AST_WHILE) /* asked about by itself */
      return;
   if (n->kind == TL_AST_BINARY && tl_ast_Binary(n)->op == TL_AST_OP_ADD) {
      check_added(a, n, tl_ast_Binary(n)->left, tl_ast_Binary(n)->right);
      check_added(a, n, tl_ast_Binary(n)->right, tl_ast_Binary(n)->left);
   } else if (n->kind == TL_AST_AUG_ASSIGN && tl_ast_AugAssign(n)->op == TL_AST_OP_ADD) {
      check_added(a, n, tl_ast_AugAssign(n)->value, tl_ast_AugAssign(n)->target);
   }
   tl_ast_children(n, find_added, a);
}

static void
check_carried(const Rounds *r, TlNode *loop)
{
   Adding a = {.r = r, .loop = loop};
   tl_ast_children(loop, find_added, &a);
}

static void
check_node(void *user, TlNode *n)
{
   if (n->kind == TL_AST_FOR)
      check_round(user, n, &tl_ast_For(n)->body);
   else if (n->kind == TL_AST_WHILE)
      check_round(user, n, &tl_ast_While(n)->body);
   if (n->kind == TL_AST_FOR || n->kind == TL_AST_WHILE)
      check_carried(user, n);
   tl_ast_children(n, check_node, user);
}

void
tl_sema_lint_rounds(TlSema *s, const TlNames *names, TlNode *fn)
{
   Rounds r = {s, names};
   check_node(&r, fn);
}
