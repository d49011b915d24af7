/* The kernels of a file: which of its functions are, by how these use each other, what is known of
 * each without compiling it, and which one is meant. */
#include "sema/bindings.h"
#include "sema/generic.h"
#include "sema/spec.h"

#include <ctype.h>
#include <string.h>

TlSema *
tl_sema_new(TlArena *arena, TlStrings *strings, TlSources *sources, TlDiags *diags, TlModule *ir,
            const TlSemaOptions *options)
{
   TlSema *s = tl_new(arena, TlSema);
   s->arena = arena;
   s->strings = strings;
   s->sources = sources;
   s->diags = diags;
   s->ir = ir;
   s->types = ir->types;
   s->impl = tl_new(arena, TlSemaImpl);
   s->impl->diags = diags;
   if (options)
      s->impl->options = *options;
   tl_map_init(&s->impl->stdlib, arena);
   tl_map_init(&s->impl->signatures, arena);
   tl_map_init(&s->impl->joined, arena);
   tl_map_init(&s->impl->scopes, arena);
   s->impl->max_steps = TL_MAX_STEPS;
   return s;
}
/* How the functions of the file are used; each map's keys are names. */
typedef struct Uses {
   TlSema *s;
   const TlSvFunc *user; /* whose body is being read */
   TlMap local;          /* its own names, which are no functions of the file */
   TlMap by;             /* the compiled function that mentions the name; SEVERAL for more */
   TlMap launched;       /* name[grid](..) somewhere in the text */
   bool has_marked;      /* some function has @jit */
} Uses;

static const TlSvFunc SEVERAL; /* only its address counts */

static void
note_mentions(void *user, TlNode *n)
{
   Uses *u = user;
   const char *dotted = n->kind == TL_AST_ATTRIBUTE ? tl_dotted_text(u->s, n) : NULL;
   if (n->kind == TL_AST_NAME || dotted) {
      const char *name = dotted ? tl_intern_cstr(u->s->strings, dotted) : tl_ast_Name(n)->id;
      const TlSvFunc *by = tl_map_get(&u->by, name);
      if (by != u->user && !tl_map_has(&u->local, name))
         tl_map_put(&u->by, name, (void *)(by ? &SEVERAL : u->user));
   }
   tl_ast_children(n, note_mentions, u);
}

/* A kernel launches none: there the brackets are a mistake. */
static bool
is_in_kernel(const TlSourceModule *source, size_t at)
{
   for (size_t i = 0; i < source->functions.len; i++) {
      const TlSvFunc *fn = source->functions.data[i];
      if (fn->is_compiled && fn->node->range.begin <= at && at < fn->node->range.end)
         return true;
   }
   return false;
}

/* name[..](..): `open` is its bracket. */
static void
note_launch(Uses *u, const char *text, const char *open)
{
   const char *name = open;
   while (name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
      name--;
   if (name < open && !is_in_kernel(u->s->impl->main, (size_t)(open - text)))
      tl_map_put(&u->launched, tl_intern(u->s->strings, name, (size_t)(open - name)), u);
}

static void
note_launches(Uses *u, const char *text)
{
   TL_VEC(const char *) open = {0};
   tl_map_init(&u->launched, u->s->arena);
   for (const char *p = text; (p = strpbrk(p, "[]")); p++) {
      if (*p == '[') {
         tl_vec_push(u->s->arena, &open, p);
      } else if (open.len) {
         open.len--;
         if (p[1 + strspn(p + 1, " \t")] == '(')
            note_launch(u, text, open.data[open.len]);
      }
   }
}

static bool
has_jit_decorator(const TlSvFunc *fn)
{
   return tl_has_jit_decorator(&tl_ast_Function(fn->node)->decorators);
}

static void
note_local(void *user, const TlBinding *b)
{
   Uses *u = user;
   if (b->kind == TL_BINDS_VARIABLE)
      tl_map_put(&u->local, b->name, u);
}

static void
note_user(Uses *u, const TlSvFunc *fn)
{
   const TlNodeList *body = &tl_ast_Function(fn->node)->body;
   const TlNodeList *params = &tl_ast_Function(fn->node)->params;
   u->user = fn;
   tl_map_init(&u->local, u->s->arena);
   tl_each_binding(body, note_local, u);
   for (size_t i = 0; i < params->len; i++)
      if (tl_ast_Param(params->data[i])->name)
         tl_map_put(&u->local, tl_ast_Param(params->data[i])->name, u);
   u->has_marked |= has_jit_decorator(fn);
   for (size_t k = 0; fn->is_compiled && k < body->len; k++)
      if (body->data[k])
         note_mentions(u, body->data[k]);
}

static Uses
find_uses(TlSema *s, const TlInnerKernels *inner)
{
   const TlSourceModule *source = s->impl->main;
   Uses u = {.s = s};
   tl_map_init(&u.by, s->arena);
   for (size_t i = 0; i < source->functions.len; i++)
      note_user(&u, source->functions.data[i]);
   for (size_t i = 0; i < inner->len; i++)
      note_user(&u, inner->data[i]);
   note_launches(&u, tl_source(s->sources, source->file)->text);
   return u;
}

const char *
tl_kernel_name(const TlSvFunc *fn)
{
   return fn->qualname ? fn->qualname : fn->name;
}

/* A method of an object, not of a class. */
static bool
takes_self(const TlAstFunction *f)
{
   const char *first = f->params.len ? tl_ast_Param(f->params.data[0])->name : NULL;
   return first && strcmp(first, "self") == 0;
}

/* Used by another function and never launched by name; in a file that marks its kernels, also every
 * function that is not marked. */
static bool
is_helper(const Uses *uses, const TlSvFunc *fn)
{
   if (uses->has_marked && !has_jit_decorator(fn))
      return true;
   if (fn->qualname && takes_self(tl_ast_Function(fn->node)))
      return true;
   const TlSvFunc *by = tl_map_get(&uses->by, fn->closure ? fn->name : tl_kernel_name(fn));
   return by && by != fn && !tl_map_has(&uses->launched, fn->name);
}

bool
tl_is_wrapped(const TlSvFunc *fn)
{
   static const char *const names[] = {"autotune", "heuristics", "must_use_result", "libtuner",
                                       "staticmethod"};
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   for (size_t i = 0; i < d->len; i++) {
      bool is_own = tl_is_jit_decorator(d->data[i]);
      for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
         is_own |= strcmp(tl_decorator_name(d->data[i]), names[k]) == 0;
      if (!is_own)
         return true;
   }
   return false;
}

typedef struct Asks {
   bool program; /* which program it is, of an axis that it knows itself */
   bool returns; /* a value */
   bool stores;  /* to memory */
} Asks;

static void
read_asks(void *user, TlNode *n)
{
   Asks *a = user;
   if (n->kind == TL_AST_FUNCTION || n->kind == TL_AST_LAMBDA)
      return; /* of its own */
   a->returns |= n->kind == TL_AST_RETURN && tl_ast_Return(n)->value;
   const char *callee = n->kind == TL_AST_CALL ? tl_decorator_name(n) : "";
   a->stores |= strcmp(callee, "store") == 0 || tl_starts_with(callee, "atomic_");
   if (strcmp(callee, "program_id") == 0 && tl_ast_Call(n)->args.len) {
      const TlNode *axis = tl_ast_Call(n)->args.data[0];
      axis = axis->kind == TL_AST_KEYWORD ? tl_ast_Keyword(axis)->value : axis;
      a->program |= axis->kind != TL_AST_NAME;
   }
   tl_ast_children(n, read_asks, a);
}

static Asks
asks_of(const TlNode *function)
{
   const TlNodeList *body = &tl_ast_Function(function)->body;
   Asks asks = {0};
   for (size_t i = 0; i < body->len; i++)
      if (body->data[i])
         read_asks(&asks, body->data[i]);
   return asks;
}

bool
tl_returns_value(const TlNode *function)
{
   return function->kind != TL_AST_FUNCTION || asks_of(function).returns;
}

/* Whether its parameters are a launch's: by its decorators, a launch in the file, or because it
 * asks which program it is and gives nothing back. */
static bool
is_launched(const Uses *uses, const TlSvFunc *fn)
{
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   bool is_tuned = d->len > 1 && !fn->qualname;
   Asks asks = asks_of(fn->node);
   for (size_t i = 0; i < d->len; i++)
      is_tuned |= strcmp(tl_decorator_name(d->data[i]), "kernel") == 0;
   return (is_tuned && !tl_is_wrapped(fn)) || tl_map_has(&uses->launched, fn->name) ||
          (asks.program && asks.stores) || ((asks.program || asks.stores) && !asks.returns);
}

static const char *
decorator_text(TlSema *s, const TlAstFunction *f)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   for (size_t i = 0; i < f->decorators.len; i++)
      tl_sb_printf(&sb, "%s@%s", i ? "\n" : "", tl_node_text(s, f->decorators.data[i]));
   return sb.len ? tl_sb_cstr(&sb) : NULL;
}

static TlKernelInfo
describe_kernel(TlSema *s, const Uses *uses, const TlSvFunc *fn)
{
   const TlAstFunction *f = tl_ast_Function(fn->node);
   TlKernelInfo k = {.name = tl_kernel_name(fn),
                     .range = fn->node->range,
                     .name_range = tl_ast_name_range(s->sources, fn->node)};
   k.params = tl_new_array(s->arena, TlKernelParam, f->params.len);
   for (size_t i = 0; i < f->params.len; i++) {
      const TlAstParam *p = tl_ast_Param(f->params.data[i]);
      if (p->kind != TL_AST_OP_PLAIN)
         continue;
      k.params[k.num_params++] = (TlKernelParam){
         .name = p->name,
         .range = p->node.range,
         .is_constexpr = tl_is_constexpr_annotation(p->annotation),
         .annotation = p->annotation ? tl_node_text(s, p->annotation) : NULL,
         .type = tl_annotation_entry(s, fn->source, p->annotation),
         .default_text = p->default_value ? tl_node_text(s, p->default_value) : NULL,
      };
   }
   bool *read = tl_new_array(s->arena, bool, f->params.len + 1);
   tl_heuristic_reads(s, fn, read);
   for (size_t i = 0, n = 0; i < f->params.len; i++)
      if (tl_ast_Param(f->params.data[i])->kind == TL_AST_OP_PLAIN) {
         k.params[n].value_matters = read[i] && !k.params[n].is_constexpr;
         n++;
      }
   k.decorators = decorator_text(s, f);
   for (size_t i = 0; i < f->decorators.len; i++) {
      const TlNode *d = f->decorators.data[i];
      const TlNode *grid = tl_is_jit_decorator(d) ? tl_decorator_argument(d, "grid", -1) : NULL;
      if (grid)
         k.grid = tl_node_text(s, grid);
   }
   tl_read_no_specialize(s, fn, &k);
   k.is_helper = is_helper(uses, fn);
   k.is_inner = fn->closure != NULL;
   k.is_qualified = fn->qualname != NULL;
   k.is_launched = is_launched(uses, fn) && !k.is_inner;
   return k;
}

bool
tl_sema_load(TlSema *s, TlAstModule *ast)
{
   unsigned errors = s->diags->num_errors;
   const TlSource *src = tl_source(s->sources, ast->node.range.file);
   s->impl->main = tl_load_source(s, ast, src->name, false);
   TlSourceModule *source = s->impl->main;
   TlInnerKernels inner = {0};
   tl_find_inner_kernels(s, source, &inner);
   Uses uses = find_uses(s, &inner);
   s->impl->kernels = tl_new_array(s->arena, TlKernelInfo, source->functions.len + inner.len);
   tl_map_init(&s->impl->entries, s->arena);
   tl_map_init(&s->impl->functions, s->arena);
   for (size_t i = 0; i < source->functions.len; i++) {
      TlSvFunc *fn = source->functions.data[i];
      if (fn->node->kind == TL_AST_FUNCTION)
         tl_map_put(&s->impl->functions, fn->name, fn);
      if (fn->is_entry)
         tl_map_put(&s->impl->entries, fn->name, fn);
      const TlGlobal *g = tl_map_get(&source->globals, fn->name);
      bool is_bound = g && g->state != TL_GLOBAL_DELETED;
      if (fn->is_entry && is_bound && (g->value.kind != TL_SV_FUNC || g->value.func == fn))
         s->impl->kernels[s->impl->num_kernels++] = describe_kernel(s, &uses, fn);
   }
   for (size_t i = 0; i < inner.len; i++) { /* of two by one name the first */
      TlSvFunc *fn = inner.data[i];
      if (tl_map_has(&s->impl->entries, fn->qualname))
         continue;
      s->impl->kernels[s->impl->num_kernels++] = describe_kernel(s, &uses, fn);
      tl_map_put(&s->impl->entries, fn->qualname, fn);
   }
   return s->diags->num_errors == errors;
}

unsigned
tl_sema_kernels(TlSema *s, const TlKernelInfo **out)
{
   *out = s->impl->kernels;
   return s->impl->num_kernels;
}

static TlRange
file_start(TlSema *s)
{
   return tl_range(s->impl->main->file, 0, 0);
}

static void
help_kernels(TlSema *s)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   for (unsigned i = 0; i < s->impl->num_kernels && i < 20; i++)
      if (!s->impl->kernels[i].is_helper)
         tl_sb_printf(&sb, "%s%s", sb.len ? ", " : "", s->impl->kernels[i].name);
   if (sb.len)
      tl_help(s->diags, "the kernels of this file: %s", tl_sb_cstr(&sb));
}

const TlSvFunc *
tl_function_of(TlSema *s, const char *name)
{
   name = tl_intern_cstr(s->strings, name);
   const TlSvFunc *entry = tl_map_get(&s->impl->entries, name);
   return entry && entry->qualname ? entry : tl_map_get(&s->impl->functions, name);
}

/* NULL: there is none; or it is not known which (reported). */
static const TlSvFunc *
function_named(TlSema *s, const char *name)
{
   name = tl_intern_cstr(s->strings, name);
   const TlSvFunc *fn = tl_map_get(&s->impl->entries, name);
   const TlGlobal *g = fn ? tl_map_get(&fn->source->globals, name) : NULL;
   if (g && g->value.kind == TL_SV_OPAQUE && g->value.opaque->is_undecided) {
      tl_report_opaque(s, &g->value, g->range);
      return NULL;
   }
   return fn;
}

const TlSvFunc *
tl_choose_kernel(TlSema *s, const char *name)
{
   if (name) {
      unsigned errors = s->diags->num_errors;
      const TlSvFunc *fn = function_named(s, name);
      if (fn || s->diags->num_errors != errors)
         return fn;
      const char *why = tl_why_unlisted(s, name);
      TlNearest near = {.name = name};
      for (unsigned i = 0; i < s->impl->num_kernels; i++)
         tl_nearest_try(&near, s->impl->kernels[i].name);
      TlRange at = file_start(s);
      for (unsigned i = 0; !why && near.best && i < s->impl->num_kernels; i++)
         if (strcmp(s->impl->kernels[i].name, near.best) == 0)
            at = s->impl->kernels[i].name_range;
      tl_report(s->diags, E0261, at, name);
      if (why) {
         tl_help(s->diags, "a function of the file is called so, but %s", why);
         return NULL;
      }
      if (near.best)
         tl_help(s->diags, "did you mean '%s'?", near.best);
      else
         help_kernels(s);
      return NULL;
   }
   const TlKernelInfo *only = NULL;
   unsigned found = 0;
   for (unsigned qualified = 0; qualified < 2 && !found; qualified++)
      for (unsigned i = 0; i < s->impl->num_kernels; i++)
         if (!s->impl->kernels[i].is_helper && s->impl->kernels[i].is_qualified == qualified) {
            only = &s->impl->kernels[i];
            found++;
         }
   if (found == 0 && s->impl->num_kernels == 1) {
      only = &s->impl->kernels[0];
      found = 1;
   }
   if (found == 1)
      return function_named(s, only->name);
   if (s->impl->num_kernels == 0) {
      tl_report_no_kernel(s);
   } else {
      tl_report(s->diags, E0263, file_start(s), found ? found : s->impl->num_kernels);
      help_kernels(s);
      if (s->diags->last && s->diags->last->help)
         tl_help(s->diags, "%s; choose with -k NAME, in a program by kernel = \"NAME\"",
                 s->diags->last->help);
   }
   return NULL;
}
