/* Runs the statements of a file as Python does when it is imported: in order, with values that may
 * be changed later.  A statement that is not followed loses what it binds, and all that it might
 * have changed.  A condition that only the program's run decides is followed both ways: a name that
 * comes out differently is undecided, and a kernel that uses it is an error. */
#include "sema/bindings.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

enum { MAX_RUN_DEPTH = 64, MAX_LOAD_STEPS = 4 * TL_MAX_STEPS };

typedef struct Run {
   TlSema *s;
   TlSourceModule *source;
   TlFrame *frame;
   unsigned depth;
   unsigned side_depth;  /* of the statements of a side that is followed, .. */
   const TlDiag *raised; /* .. and what one of them ends the import with, or NULL */
} Run;

static void run_stmts(Run *r, const TlNodeList *stmts);

/* ---- what the program states ---- */
bool
tl_assumed(TlSema *s, const char *text, TlSv *out)
{
   const TlSemaOptions *o = &s->impl->options;
   size_t len = o->num_assume ? strlen(text) : 0;
   for (size_t i = 0; i < o->num_assume; i++) {
      const char *value = strrchr(o->assume[i], '=');
      if (!value || (size_t)(value - o->assume[i]) != len || strncmp(o->assume[i], text, len) != 0)
         continue;
      *out = tl_read_value(s, value + 1, (TlRange){0});
      return true;
   }
   return false;
}

/* ---- losing values ---- */
typedef struct Lose {
   TlSema *s;
   TlFrame *frame;
   const TlLost *lost;
   TlMap *seen;         /* values and function nodes */
   const TlSvFunc *cls; /* whose methods are looked at, or NULL */
   unsigned depth;
} Lose;

static void lose_names(void *user, TlNode *n);

/* A field of a class, if it is one, that code which was not followed assigns; in a method that of
 * `type(self)` or `cls`, too. */
static void
lose_field(Lose *l, const TlNode *target)
{
   if (!target || target->kind != TL_AST_ATTRIBUTE)
      return;
   const TlAstAttribute *field = tl_ast_Attribute(target);
   const char *name = field->value->kind == TL_AST_NAME ? tl_ast_Name(field->value)->id : NULL;
   TlSv cls = {.kind = TL_SV_FUNC, .func = (TlSvFunc *)(uintptr_t)l->cls};
   bool is_known = name && tl_lookup_quiet(l->s, l->frame, name, &cls);
   if (is_known || (l->cls && (!name || strcmp(name, "self") != 0)))
      tl_class_lose(l->s, &cls, field->name, target->range);
}

static void
lose_assigned(Lose *l, const TlNode *n)
{
   if (n->kind == TL_AST_AUG_ASSIGN)
      lose_field(l, tl_ast_AugAssign(n)->target);
   for (size_t i = 0; n->kind == TL_AST_ASSIGN && i < tl_ast_Assign(n)->targets.len; i++)
      lose_field(l, tl_ast_Assign(n)->targets.data[i]);
}

/* Methods of a class that the code which was not followed names: Python may have called them. */
static void
lose_fields_of_methods(void *user, TlNode *n)
{
   Lose *l = user;
   lose_assigned(l, n);
   tl_ast_children(n, lose_fields_of_methods, l);
}

static void
lose_function(Lose *l, const TlSvFunc *fn)
{
   if (fn->self)
      tl_map_put(l->seen, fn->self, l); /* its fields are reached by the name of the object */
   if (fn->is_compiled || tl_map_has(l->seen, fn->node))
      return;
   tl_map_put(l->seen, fn->node, l);
   bool is_class = fn->node->kind == TL_AST_CLASS;
   Lose inner = *l;
   inner.cls = is_class ? fn : NULL;
   inner.frame = tl_frame_new(l->s, fn->closure, fn->source, NULL);
   inner.depth++;
   if (inner.depth < MAX_RUN_DEPTH)
      tl_ast_children(fn->node, is_class ? lose_fields_of_methods : lose_names, &inner);
}

static void
lose_value(Lose *l, const TlSv *v, unsigned depth)
{
   if (depth > MAX_RUN_DEPTH)
      return;
   TlChange *change = tl_change_of(v);
   const void *whole = v->kind == TL_SV_TUPLE ? (const void *)v->tuple : change;
   if (whole && tl_map_has(l->seen, whole))
      return;
   if (whole)
      tl_map_put(l->seen, whole, l);
   if (change) {
      change->lost = l->lost;
      change->version++;
   }
   if (v->kind == TL_SV_TUPLE || v->kind == TL_SV_SET) {
      for (size_t i = 0; i < v->tuple->len; i++)
         lose_value(l, &v->tuple->items[i], depth + 1);
   } else if (v->kind == TL_SV_DICT || v->kind == TL_SV_OBJECT) {
      for (size_t i = 0; i < v->fields->len; i++)
         lose_value(l, &v->fields->values[i], depth + 1);
   } else if (v->kind == TL_SV_ITER) {
      v->iter->is_unsure = true;
   } else if (v->kind == TL_SV_BUILTIN && v->builtin.self) {
      lose_value(l, v->builtin.self, depth + 1);
   } else if (v->kind == TL_SV_FUNC) {
      if (v->func->self)
         lose_value(l, v->func->self, depth + 1);
      lose_function(l, v->func);
   }
}

static void
lose_names(void *user, TlNode *n)
{
   Lose *l = user;
   TlSv v;
   lose_assigned(l, n);
   if (n->kind == TL_AST_NAME && tl_lookup_quiet(l->s, l->frame, tl_ast_Name(n)->id, &v))
      lose_value(l, &v, 0);
   if (n->kind == TL_AST_GLOBAL && l->frame->source && l->frame->source->frame)
      for (size_t i = 0; i < tl_ast_Global(n)->names.len; i++) {
         const char *name = tl_ast_Name(tl_ast_Global(n)->names.data[i])->id;
         TlSv lost = {.kind = TL_SV_OPAQUE, .opaque = l->lost};
         tl_global_set(l->s, l->frame->source, name, lost, n->range);
      }
   tl_ast_children(n, lose_names, l);
}

void
tl_lose_reachable(TlSema *s, TlFrame *f, const TlNode *n, const TlLost *lost)
{
   TlMap seen;
   tl_map_init(&seen, s->arena);
   Lose l = {.s = s, .frame = f, .lost = lost, .seen = &seen};
   lose_names(&l, (TlNode *)(uintptr_t)n);
}

void
tl_lose_values(TlSema *s, const TlSv *values, size_t len, const TlLost *lost)
{
   TlMap seen;
   tl_map_init(&seen, s->arena);
   Lose l = {.s = s, .frame = s->impl->main->frame, .lost = lost, .seen = &seen};
   for (size_t i = 0; i < len; i++)
      lose_value(&l, &values[i], 0);
}

static void
lose_bound(Run *r, const TlNode *n, const TlDiag *error)
{
   TlSema *s = r->s;
   TlMap names;
   tl_map_init(&names, s->arena);
   TlNodeList one = {(TlNode *[]){(TlNode *)(uintptr_t)n}, 1, 1};
   tl_bound_names(s, &one, &names);
   for (size_t i = 0; i < names.cap; i++)
      if (names.slots[i].used) {
         const char *name = (const char *)names.slots[i].key;
         tl_global_set(s, r->source, name, tl_sv_lost_by(s, error, name), n->range);
      }
}

/* The statement was not followed: nothing is known of what it binds and may have changed. */
static void
lose_stmt(Run *r, const TlNode *n, const TlDiag *error)
{
   tl_lose_reachable(r->s, r->frame, n, tl_sv_lost_by(r->s, error, NULL).opaque);
   lose_bound(r, n, error);
}

typedef struct LoseCalls {
   Run *r;
   const TlLost *lost;
} LoseCalls;

static void
lose_calls(void *user, TlNode *n)
{
   const LoseCalls *l = user;
   if (n->kind == TL_AST_CALL)
      tl_lose_reachable(l->r->s, l->r->frame, n, l->lost);
   else
      tl_ast_children(n, lose_calls, user);
}

/* The expression or pattern was not followed to its end.  Of what it names only calls may have
 * changed something. */
static void
lose_expr(Run *r, const TlNode *n, const TlDiag *error)
{
   LoseCalls l = {r, tl_sv_lost_by(r->s, error, NULL).opaque};
   lose_calls(&l, (TlNode *)(uintptr_t)n);
   lose_bound(r, n, error);
}

/* ---- one statement ---- */
/* With an allowance of steps of its own, so that a long one does not take the kernels'. */
static uint64_t
begin_steps(TlSema *s)
{
   uint64_t before = s->steps;
   uint64_t left = s->impl->load_steps < MAX_LOAD_STEPS ? MAX_LOAD_STEPS - s->impl->load_steps : 0;
   uint64_t mine = left < TL_MAX_STEPS ? left : TL_MAX_STEPS;
   s->impl->max_steps = before + mine;
   return before;
}

static void
end_steps(TlSema *s, uint64_t before, uint64_t max)
{
   s->impl->load_steps += s->steps - before;
   s->steps = before;
   s->impl->max_steps = max;
}

/* What is tried quietly, as code of the file itself. */
typedef struct Attempt {
   TlQuiet quiet;
   uint64_t steps, max_steps;
   TlActivation *act;
   unsigned tries;
} Attempt;

static void
begin_attempt(Run *r, Attempt *a)
{
   TlSema *s = r->s;
   a->max_steps = s->impl->max_steps;
   a->steps = begin_steps(s);
   a->act = s->impl->act;
   a->tries = s->impl->tries;
   s->impl->tries = 0;
   s->impl->act = r->frame->act;
   tl_quiet_begin(s, &a->quiet);
   r->frame->act->errors = s->diags->num_errors;
}

/* Its first error, or NULL. */
static const TlDiag *
end_attempt(Run *r, Attempt *a)
{
   TlSema *s = r->s;
   const TlDiag *error = tl_quiet_end(s, &a->quiet);
   s->impl->act = a->act;
   s->impl->tries = a->tries;
   end_steps(s, a->steps, a->max_steps);
   return error;
}

static const TlDiag *
try_stmt(Run *r, const TlNode *n)
{
   Attempt a;
   TlNodeList one = {(TlNode *[]){(TlNode *)(uintptr_t)n}, 1, 1};
   begin_attempt(r, &a);
   tl_stmt_block(r->s, r->frame, &one, 0, NULL);
   return end_attempt(r, &a);
}

/* A name that Triton does not have ends the import. */
static bool
is_raised(const TlDiag *error)
{
   return error->code == TL_DIAG_E0201 && tl_starts_with(error->text, "module 'triton");
}

typedef struct Lacks {
   Run *r;
   const TlDiag *found;
} Lacks;

/* Kernels may use more names than Triton has. */
static void
find_lacking(void *user, TlNode *n)
{
   Lacks *l = user;
   TlSema *s = l->r->s;
   if (l->found || n->kind == TL_AST_LAMBDA)
      return;
   tl_ast_children(n, find_lacking, l);
   const TlDiag *error;
   bool has = true;
   if (n->kind != TL_AST_ATTRIBUTE)
      return;
   const TlSv base = tl_quiet_value(s, l->r->frame, tl_ast_Attribute(n)->value, &error);
   const char *name = tl_ast_Attribute(n)->name;
   if (error || base.kind != TL_SV_MODULE || base.module->kind != TL_MOD_BUILTIN ||
       !tl_host_module_has(tl_arena_printf(s->arena, "%s.%s", base.module->name, name), &has) ||
       has)
      return;
   TlDiag *d = tl_new(s->arena, TlDiag);
   const char *text = "module '%s' has no name '%s'";
   *d = (TlDiag){.code = TL_DIAG_E0201,
                 .range = n->range,
                 .text = tl_arena_printf(s->arena, text, base.module->name, name)};
   l->found = d;
}

static void
run_simple(Run *r, const TlNode *n)
{
   const TlDiag *error = try_stmt(r, n);
   if (error)
      lose_stmt(r, n, error);
   if (!r->raised && r->depth == r->side_depth && n->kind == TL_AST_ASSIGN) {
      Lacks l = {.r = r};
      find_lacking(&l, tl_ast_Assign(n)->value);
      r->raised = l.found ? l.found : error && is_raised(error) ? error : NULL;
   }
   for (size_t i = 0; n->kind == TL_AST_ASSIGN && i < tl_ast_Assign(n)->targets.len; i++) {
      const TlNode *t = tl_ast_Assign(n)->targets.data[i];
      TlGlobal *g =
         t->kind == TL_AST_NAME ? tl_map_get(&r->source->globals, tl_ast_Name(t)->id) : NULL;
      if (g)
         g->expr = tl_ast_Assign(n)->value;
   }
}

/* ---- both ways ---- */
typedef struct Side {
   TlJournal finals;     /* `before` is what the global was at the side's end */
   const TlDiag *raised; /* why no program that runs went this way, or NULL */
} Side;

static void
undo(TlJournal *j)
{
   for (size_t i = j->len; i-- > 0;)
      *j->data[i].global = j->data[i].before;
}

static const TlUndo *
final_of(const Side *side, const TlGlobal *g)
{
   for (size_t i = 0; i < side->finals.len; i++)
      if (side->finals.data[i].global == g)
         return &side->finals.data[i];
   return NULL;
}

static void
keep_finals(TlSema *s, const TlJournal *j, Side *side)
{
   for (size_t i = 0; i < j->len; i++)
      if (!final_of(side, j->data[i].global))
         tl_vec_push(s->arena, &side->finals,
                     (TlUndo){.global = j->data[i].global, .before = *j->data[i].global});
}

static bool
same_binding(TlSema *s, TlSourceModule *source, TlGlobal *a, TlGlobal *b)
{
   if (a->seq == b->seq)
      return true;
   TlSv x = tl_global_value(s, source, a), y = tl_global_value(s, source, b);
   return x.kind != TL_SV_OPAQUE && tl_const_same(s, &x, &y);
}

/* What the global is after the sides: what all of them that bind it agree on. */
static void
join_global(Run *r, const Side *sides, unsigned num, TlGlobal *g, const TlLost *lost)
{
   TlGlobal *first = NULL, *ends = tl_new_array(r->s->arena, TlGlobal, num);
   bool same = true;
   for (unsigned i = 0; i < num; i++) {
      const TlUndo *end = final_of(&sides[i], g);
      ends[i] = end ? end->before : *g;
      if (sides[i].raised || ends[i].state == TL_GLOBAL_DELETED)
         continue; /* a program that uses the name did not go this way */
      same = !first || (same && same_binding(r->s, r->source, first, &ends[i]));
      first = first ? first : &ends[i];
   }
   TlSv value = first ? first->value : tl_sv_none();
   if (!same) {
      TlLost *mine = tl_new(r->s->arena, TlLost);
      *mine = *lost;
      mine->name = g->name;
      value = (TlSv){.kind = TL_SV_OPAQUE, .opaque = mine};
   }
   TlRange range = first ? first->range : g->range;
   tl_global_set(r->s, r->source, g->name, value, range);
   if (same && first)
      *g = *first;
   else if (!first)
      g->state = TL_GLOBAL_DELETED;
}

/* A side that ends the import is left out, as long as another is there. */
static void
leave_out_raising(Run *r, Side *sides, unsigned num, const TlLost *lost)
{
   unsigned left = 0;
   for (unsigned i = 0; i < num; i++)
      left += !sides[i].raised;
   for (unsigned i = 0; i < num; i++) {
      if (sides[i].raised && left)
         tl_report(r->s->diags, R0207, sides[i].raised->range, sides[i].raised->text, lost->why);
      else
         sides[i].raised = NULL;
   }
}

static const TlDiag *
run_side(Run *r, const TlNodeList *stmts)
{
   unsigned depth = r->side_depth;
   const TlDiag *outer = r->raised, *raised;
   r->side_depth = r->depth + 1;
   r->raised = NULL;
   run_stmts(r, stmts);
   raised = r->raised;
   r->side_depth = depth;
   r->raised = outer;
   return raised;
}

static void
run_sides(Run *r, const TlNodeList *const *stmts, unsigned num, const TlLost *lost)
{
   TlSema *s = r->s;
   TlJournal *outer = s->impl->journal;
   Side *sides = tl_new_array(s->arena, Side, num);
   uint64_t began = ++s->impl->seq;
   size_t first_changed = s->impl->changed.len;
   s->impl->keep_changed++;
   for (unsigned i = 0; i < num; i++) {
      TlJournal mine = {0};
      s->impl->journal = &mine;
      sides[i].raised = run_side(r, stmts[i]);
      keep_finals(s, &mine, &sides[i]);
      undo(&mine);
   }
   s->impl->journal = outer;
   s->impl->keep_changed--;
   for (size_t i = first_changed; i < s->impl->changed.len; i++)
      if (s->impl->changed.data[i]->born < began)
         s->impl->changed.data[i]->lost = lost;
   if (!s->impl->keep_changed)
      s->impl->changed.len = 0;
   leave_out_raising(r, sides, num, lost);
   TlMap done;
   tl_map_init(&done, s->arena);
   for (unsigned i = 0; i < num; i++)
      for (size_t k = 0; k < sides[i].finals.len; k++) {
         TlGlobal *g = sides[i].finals.data[k].global;
         if (!tl_map_has(&done, g))
            join_global(r, sides, num, g, lost);
         tl_map_put(&done, g, g);
      }
}

static const TlLost *
undecided(TlSema *s, const TlNode *what, TlRange place)
{
   TlLost *lost = tl_new(s->arena, TlLost);
   *lost = (TlLost){.why = tl_node_text(s, what), .place = place, .is_undecided = true};
   return lost;
}

static const TlAstIf *
elif_of(const TlAstIf *n)
{
   bool is_elif = n->orelse.len == 1 && n->orelse.data[0] && n->orelse.data[0]->kind == TL_AST_IF;
   return is_elif ? tl_ast_If(n->orelse.data[0]) : NULL;
}

/* The part of the chain that is run; NULL: the condition is not known. */
static const TlNodeList *
part_of_if(Run *r, const TlAstIf *n)
{
   TlSema *s = r->s;
   bool truth = false, is_known = false;
   Attempt a;
   begin_attempt(r, &a);
   TlSv v = tl_eval_expr(s, r->frame, n->test);
   if (v.kind != TL_SV_POISON && !tl_is_foreign(&v))
      is_known = tl_host_truth(s, &v, n->test->range, &truth);
   const TlDiag *error = end_attempt(r, &a);
   if (error)
      lose_expr(r, n->test, error);
   return error || !is_known ? NULL : truth ? &n->body : &n->orelse;
}

static void
run_if(Run *r, const TlAstIf *n)
{
   const TlNodeList *part = part_of_if(r, n);
   while (part == &n->orelse && elif_of(n)) {
      n = elif_of(n);
      part = part_of_if(r, n);
   }
   if (part) {
      run_stmts(r, part);
      return;
   }
   const TlNodeList *sides[2] = {&n->body, &n->orelse};
   run_sides(r, sides, 2, undecided(r->s, n->test, n->test->range));
}

static void
run_match(Run *r, const TlAstMatch *n)
{
   TlSema *s = r->s;
   const TlNodeList *body, none = {0};
   Attempt a;
   begin_attempt(r, &a);
   tl_match_case(s, r->frame, n, &body);
   const TlDiag *error = end_attempt(r, &a);
   if (!error) {
      run_stmts(r, body ? body : &none);
      return;
   }
   const TlNodeList **sides = tl_new_array(s->arena, const TlNodeList *, n->cases.len + 1);
   lose_expr(r, n->subject, error);
   for (size_t i = 0; i < n->cases.len; i++) {
      const TlAstCase *c = tl_ast_Case(n->cases.data[i]);
      lose_expr(r, c->pattern, error);
      if (c->guard)
         lose_expr(r, c->guard, error);
      sides[i] = &c->body;
   }
   sides[n->cases.len] = &none;
   run_sides(r, sides, (unsigned)n->cases.len + 1, undecided(s, n->subject, n->subject->range));
}

/* The functions of a statement that ran as one: they are listed as kernels, too. */
static void
list_functions(void *run, TlNode *n)
{
   const Run *r = run;
   if (n->kind == TL_AST_CLASS)
      return;
   if (n->kind != TL_AST_FUNCTION) {
      tl_ast_children(n, list_functions, run);
      return;
   }
   const TlGlobal *g = tl_map_get(&r->source->globals, tl_ast_Function(n)->name);
   if (g && g->value.kind == TL_SV_FUNC && g->value.func->node == n)
      tl_vec_push(r->s->arena, &r->source->functions, g->value.func);
}

/* Does the handler end more than what an import raises?  Imports are decided. */
static bool
catches_others(const TlNode *type)
{
   if (!type)
      return true;
   if (type->kind == TL_AST_TUPLE) {
      bool others = false;
      for (size_t i = 0; i < tl_ast_Tuple(type)->items.len; i++)
         others |= catches_others(tl_ast_Tuple(type)->items.data[i]);
      return others;
   }
   const char *name = type->kind == TL_AST_NAME ? tl_ast_Name(type)->id : "";
   return strcmp(name, "ImportError") != 0 && strcmp(name, "ModuleNotFoundError") != 0;
}

static bool
only_catches_imports(const TlAstTry *n)
{
   bool others = n->handlers.len == 0;
   for (size_t i = 0; i < n->handlers.len; i++)
      others |= catches_others(tl_ast_Except(n->handlers.data[i])->type);
   return !others;
}

/* Is the body imports and, behind them, statements that import nothing? */
static bool
imports_come_first(const TlAstTry *n)
{
   bool is_over = false;
   for (size_t i = 0; i < n->body.len; i++) {
      TlAstKind kind = n->body.data[i] ? n->body.data[i]->kind : TL_AST_SKIPPED;
      bool is_import = kind == TL_AST_IMPORT;
      if ((is_import && is_over) ||
          (!is_import && kind != TL_AST_ASSIGN && kind != TL_AST_EXPR_STMT))
         return false;
      is_over |= !is_import;
   }
   return true;
}

/* Calls of packages that are not known may raise: would a name be bound otherwise then? */
static bool
may_end_otherwise(Run *r, const TlAstTry *n, const TlJournal *mine)
{
   TlMap names;
   bool is_ended = false;
   tl_map_init(&names, r->s->arena);
   for (size_t i = 0; i < n->handlers.len; i++) {
      const TlAstExcept *h = tl_ast_Except(n->handlers.data[i]);
      if (!catches_others(h->type))
         continue;
      is_ended = true;
      tl_assigned_names(&h->body, &names);
   }
   bool matters = false;
   for (size_t i = 0; i < mine->len; i++)
      matters |= mine->data[i].before.state == TL_GLOBAL_READY ||
                 tl_map_has(&names, mine->data[i].global->name);
   return is_ended && matters;
}

static void
run_try(Run *r, const TlAstTry *n)
{
   TlSema *s = r->s;
   TlJournal mine = {0}, *outer = s->impl->journal;
   TlNode *tried = n->body.len ? n->body.data[0] : NULL;
   uint64_t calls = s->impl->foreign_calls, ended = s->impl->handlers_run;
   s->impl->journal = &mine;
   const TlDiag *error = try_stmt(r, &n->node);
   s->impl->journal = outer;
   TlDiag unsure = {.range = tried ? tried->range : n->node.range};
   bool is_sure = s->impl->foreign_calls == calls || s->impl->handlers_run != ended;
   if (!error && !is_sure && may_end_otherwise(r, n, &mine)) {
      unsure.text = tl_node_text(s, tried ? tried : &n->node);
      error = &unsure;
   }
   if (!error) {
      for (size_t i = 0; outer && i < mine.len; i++)
         tl_vec_push(s->arena, outer, mine.data[i]);
      tl_ast_children(&n->node, list_functions, r);
      return;
   }
   undo(&mine);
   if (s->impl->handlers_run == ended && only_catches_imports(n) && imports_come_first(n)) {
      run_stmts(r, &n->body);
      run_stmts(r, &n->orelse);
      run_stmts(r, &n->finally_body);
      return;
   }
   tl_lose_reachable(s, r->frame, &n->node, tl_sv_lost_by(s, error, NULL).opaque);
   unsigned num = 0;
   const TlNodeList **sides = tl_new_array(s->arena, const TlNodeList *, n->handlers.len + 1);
   TlNodeList *body = tl_new(s->arena, TlNodeList);
   for (size_t i = 0; i < n->body.len; i++)
      tl_vec_push(s->arena, body, n->body.data[i]);
   for (size_t i = 0; i < n->orelse.len; i++)
      tl_vec_push(s->arena, body, n->orelse.data[i]);
   sides[num++] = body;
   for (size_t i = 0; i < n->handlers.len; i++)
      sides[num++] = &tl_ast_Except(n->handlers.data[i])->body;
   run_sides(r, sides, num, undecided(s, tried ? tried : &n->node, error->range));
   run_stmts(r, &n->finally_body);
}

/* ---- statements of the file ---- */
static void
define(Run *r, const TlNode *n)
{
   const TlDiag *error = try_stmt(r, n);
   if (error)
      lose_stmt(r, n, error);
   list_functions(r, (TlNode *)n); /* as a kernel even where something around it is lost */
}

/* Syntax that is not understood: every word of it may be bound or changed. */
static void
skip(Run *r, const TlAstSkipped *n)
{
   TlSema *s = r->s;
   const char *p = tl_node_text(s, &n->node);
   const char *why = tl_arena_printf(s->arena, "a statement that is not understood (%s)",
                                     n->reason ? n->reason : "it could not be parsed");
   const TlLost *lost = tl_sv_lost(s, why, n->node.range).opaque;
   while (*p) {
      size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
      TlGlobal *g = len ? tl_map_get(&r->source->globals, tl_intern(s->strings, p, len)) : NULL;
      if (g && g->state == TL_GLOBAL_READY && g->value.kind != TL_SV_FUNC) {
         tl_lose_values(s, &g->value, 1, lost);
         if (!tl_change_of(&g->value))
            tl_global_set(s, r->source, g->name, (TlSv){.kind = TL_SV_OPAQUE, .opaque = lost},
                          n->node.range);
      } else if (len && !g) {
         tl_global_set(s, r->source, tl_intern(s->strings, p, len),
                       (TlSv){.kind = TL_SV_OPAQUE, .opaque = lost}, n->node.range);
      }
      p += len ? len : 1;
   }
}

/* The block is run where the managers are of other packages, as in stmt.c. */
static void
run_with(Run *r, const TlAstWith *n)
{
   for (size_t i = 0; i < n->items.len; i++) {
      const TlAstWithItem *item = tl_ast_WithItem(n->items.data[i]);
      if (tl_may_end_errors(r->s, r->frame, item->value)) {
         run_simple(r, &n->node);
         return;
      }
      const TlDiag why = {.text = tl_node_text(r->s, item->value), .range = item->value->range};
      Attempt a;
      begin_attempt(r, &a);
      TlSv v = tl_eval_expr(r->s, r->frame, item->value);
      const TlDiag *error = end_attempt(r, &a);
      if (error) {
         lose_expr(r, item->value, error);
      } else if (!tl_is_foreign(&v)) {
         lose_stmt(r, &n->node, &why);
         return;
      }
      if (item->target)
         tl_assign(r->s, r->frame, item->target, tl_sv_lost_by(r->s, &why, NULL));
   }
   run_stmts(r, &n->body);
}

static void
run_stmt(Run *r, const TlNode *n)
{
   switch (n->kind) {
   case TL_AST_FUNCTION:
      define(r, n);
      break;
   case TL_AST_IF:
      run_if(r, tl_ast_If(n));
      break;
   case TL_AST_MATCH:
      run_match(r, tl_ast_Match(n));
      break;
   case TL_AST_TRY:
      run_try(r, tl_ast_Try(n));
      break;
   case TL_AST_WITH:
      run_with(r, tl_ast_With(n));
      break;
   case TL_AST_RETURN:
      tl_report(r->s->diags, E0233, n->range);
      break;
   case TL_AST_SKIPPED:
      skip(r, tl_ast_Skipped(n));
      break;
   default:
      run_simple(r, n);
      break;
   }
}

static void
run_stmts(Run *r, const TlNodeList *stmts)
{
   r->depth++;
   for (size_t i = 0; i < stmts->len; i++) {
      const TlNode *n = stmts->data[i];
      if (n && r->depth > MAX_RUN_DEPTH)
         lose_stmt(r, n, &(TlDiag){.text = "statements are nested too deep", .range = n->range});
      else if (n)
         run_stmt(r, n);
   }
   r->depth--;
}

void
tl_run_module(TlSema *s, TlSourceModule *source)
{
   assert(!source->frame);
   source->frame = tl_module_frame(s, source);
   source->frame->is_module = true;
   TlJournal *journal = s->impl->journal;
   uint64_t pure = s->impl->pure_since;
   s->impl->journal = NULL; /* a file that is imported on one side is loaded for good */
   s->impl->pure_since = 0;
   Run r = {.s = s, .source = source, .frame = source->frame};
   run_stmts(&r, &source->ast->body);
   s->impl->journal = journal;
   s->impl->pure_since = pure;
}
