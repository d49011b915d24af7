/* Exceptions of host code.  An error of the evaluator stands for an exception of Python only where
 * tl_raise_as says so; whatever else goes wrong is a step that is not followed, which no `except`
 * catches.  Invariant: after the first error of a body nothing of it is evaluated, so that a
 * handler finds what Python's would. */
#include "sema/host.h"

#include <assert.h>
#include <string.h>

/* ---- putting diagnostics aside ---- */
void
tl_quiet_begin(TlSema *s, TlQuiet *q)
{
   q->saved = s->diags;
   tl_diags_init(&q->diags, s->arena, s->sources);
   q->diags.site = s->b.site;
   q->diags.num_errors = s->diags->num_errors; /* as TlActivation.errors counts */
   q->diags.max_errors = s->diags->num_errors + 20;
   q->diags.remarks = s->diags->remarks;
   q->diags.is_unheard = s->diags->is_unheard || tl_diags_are_full(s->diags);
   s->diags = &q->diags;
}

const TlDiag *
tl_quiet_end(TlSema *s, TlQuiet *q)
{
   assert(s->diags == &q->diags);
   s->diags = q->saved;
   const TlDiag *first = q->diags.first;
   while (first && first->severity != TL_SEV_ERROR)
      first = first->next;
   assert((first != NULL) == (q->diags.num_errors != q->saved->num_errors));
   return first;
}

/* ---- raising ---- */
void
tl_raise_as(TlSema *s, const char *name)
{
   s->impl->raised = (TlRaised){.error = s->diags->last, .name = name};
}

static void
report_again(TlSema *s, const TlDiag *d, const TlRaised *raised)
{
   tl_diags_repeat(s->diags, d);
   bool is_exact = raised->error == d;
   if (s->impl->lost_error == d)
      s->impl->lost_error = s->diags->last;
   s->impl->raised = *raised;
   s->impl->raised.error = is_exact ? s->diags->last : NULL;
}

/* ---- classes of exceptions ---- */
static const struct {
   const char *name, *base;
} exceptions[] = {
#define TL_HOST_EXCEPTION(name, base) {name, base},
#include "sema/host.def"
};

static const char *
builtin_base(const char *name)
{
   for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
      if (strcmp(exceptions[i].name, name) == 0)
         return exceptions[i].base;
   return NULL;
}

bool
tl_is_exception(const char *name)
{
   return builtin_base(name) != NULL;
}

static bool
builtin_is_a(const char *name, const char *base)
{
   for (; *name; name = builtin_base(name)) {
      if (strcmp(name, base) == 0)
         return true;
      if (!builtin_base(name))
         return false;
   }
   return false;
}

typedef enum Match { NO, YES, UNSURE } Match;

/* What an expression that names an exception class means. */
static bool
exception_class(TlSema *s, TlFrame *f, const TlNode *n, TlRaised *out)
{
   *out = (TlRaised){0};
   TlSv v;
   if (n->kind != TL_AST_NAME || !tl_lookup_quiet(s, f, tl_ast_Name(n)->id, &v))
      return false;
   if (v.kind == TL_SV_FUNC && v.func->node->kind == TL_AST_CLASS)
      out->cls = v.func;
   else if (v.kind == TL_SV_OPAQUE && tl_is_exception(v.opaque->why))
      out->name = v.opaque->why;
   return out->cls || out->name;
}

/* The exception `e` is of the class `of` or of one derived from it. */
static Match
is_a(TlSema *s, const TlRaised *e, const TlRaised *of, unsigned depth)
{
   if (e->cls) {
      if (of->cls == e->cls)
         return YES;
      const TlAstClass *c = tl_ast_Class(e->cls->node);
      Match best = NO;
      for (size_t i = 0; i < c->bases.len && depth < 16; i++) {
         TlRaised base;
         TlFrame *f = tl_frame_new(s, e->cls->closure, e->cls->source, NULL);
         Match m =
            exception_class(s, f, c->bases.data[i], &base) ? is_a(s, &base, of, depth + 1) : UNSURE;
         best = m == YES || best == YES ? YES : m == UNSURE ? UNSURE : best;
      }
      return best;
   }
   return !of->cls && builtin_is_a(e->name, of->name) ? YES : NO;
}

static Match
catches(TlSema *s, TlFrame *f, const TlNode *type, const TlRaised *raised)
{
   if (!type)
      return YES;
   if (type->kind == TL_AST_TUPLE) {
      Match any = NO;
      const TlNodeList *items = &tl_ast_Tuple(type)->items;
      for (size_t i = 0; any == NO && i < items->len; i++)
         any = catches(s, f, items->data[i], raised);
      return any;
   }
   TlRaised of;
   return exception_class(s, f, type, &of) ? is_a(s, raised, &of, 0) : UNSURE;
}

bool
tl_forget_raised(TlSema *s, const TlDiag *error, const char *exception)
{
   TlRaised raised = s->impl->raised, of = {.name = exception};
   Match m = raised.error == error ? is_a(s, &raised, &of, 0) : NO;
   if (m == UNSURE)
      raised.error = NULL; /* whether a handler would see it is not known */
   if (m != YES)
      report_again(s, error, &raised);
   return m == YES;
}

/* ---- statements ---- */
void
tl_host_raise(TlSema *s, TlFrame *f, const TlAstRaise *n)
{
   if (!n->value && s->impl->handled.error) {
      report_again(s, s->impl->handled.error, &s->impl->handled);
      return;
   }
   TlRaised what = {0};
   const TlNode *cls = n->value;
   if (cls && cls->kind == TL_AST_CALL) {
      TlArgs args;
      if (!tl_eval_args(s, f, &tl_ast_Call(cls)->args, &args))
         return;
      cls = tl_ast_Call(cls)->func;
   }
   bool is_known = cls && exception_class(s, f, cls, &what);
   tl_report(s->diags, E0237, n->node.range, n->value ? tl_node_text(s, n->value) : "an exception");
   what.error = is_known ? s->diags->last : NULL;
   s->impl->raised = what;
}

static TlFlow
run_handler(TlSema *s, TlFrame *f, const TlAstExcept *h, const TlDiag *error,
            const TlRaised *raised)
{
   TlRaised outer = s->impl->handled;
   s->impl->handled = *raised;
   s->impl->handlers_run++;
   TlLost *lost = tl_new(s->arena, TlLost);
   *lost = (TlLost){.why = "an exception", .place = error->range};
   if (h->name)
      tl_frame_set(s, f, h->name, (TlSv){.kind = TL_SV_OPAQUE, .opaque = lost}, h->node.range);
   TlFlow flow = tl_stmt_block(s, f, &h->body, 0, NULL);
   s->impl->handled = outer;
   if (h->name)
      tl_frame_del(s, f, h->name, h->node.range);
   return flow;
}

/* The body, then a handler or the else part. */
static TlFlow
try_and_handle(TlSema *s, TlFrame *f, const TlAstTry *n)
{
   TlQuiet q;
   tl_quiet_begin(s, &q);
   s->impl->tries++;
   TlFlow flow = tl_stmt_block(s, f, &n->body, 0, NULL);
   s->impl->tries--;
   const TlDiag *error = tl_quiet_end(s, &q);
   if (!error)
      return flow == TL_FLOW_NEXT ? tl_stmt_block(s, f, &n->orelse, 0, NULL) : flow;
   TlRaised raised = s->impl->raised;
   bool is_exact = raised.error == error;
   for (size_t i = 0; is_exact && i < n->handlers.len; i++) {
      const TlAstExcept *h = tl_ast_Except(n->handlers.data[i]);
      Match m = catches(s, f, h->type, &raised);
      if (m == YES)
         return run_handler(s, f, h, error, &raised);
      if (m == UNSURE)
         raised.error = NULL; /* from here on it is a step that is not followed */
      is_exact = m == NO;
   }
   report_again(s, error, &raised);
   f->act->ret = tl_sv_poison();
   return TL_FLOW_RETURN;
}

TlFlow
tl_host_try(TlSema *s, TlFrame *f, const TlAstTry *n)
{
   if (!n->finally_body.len)
      return try_and_handle(s, f, n);
   TlQuiet q;
   tl_quiet_begin(s, &q);
   TlFlow flow = try_and_handle(s, f, n);
   const TlDiag *error = tl_quiet_end(s, &q);
   TlRaised raised = s->impl->raised;
   TlSv ret = f->act->ret;
   if (!error || raised.error == error) {
      TlFlow last = tl_stmt_block(s, f, &n->finally_body, 0, NULL);
      if (last != TL_FLOW_NEXT)
         return last; /* Python drops the exception, and so do we */
   }
   if (error)
      report_again(s, error, &raised);
   f->act->ret = ret;
   return flow;
}
