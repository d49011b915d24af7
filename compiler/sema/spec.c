/* One specialisation of one kernel: which kernel, what each parameter is, then its body.
 *
 * A signature has one entry for each parameter, in order; or one for each parameter that is not
 * constexpr and has no -D value, in order, when the counts say so.  What a parameter is comes from
 * the first of: its signature entry, -D, a heuristic, the first autotune configuration, its own
 * annotation, its default.  An entry that is a value (64, None, 'x', i32:1) makes the parameter a
 * compile-time constant, whether it is annotated constexpr or not. */
#include "sema/bindings.h"
#include "sema/generic.h"
#include "sema/impl.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
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
   tl_map_init(&s->impl->scopes, arena);
   s->impl->max_steps = TL_MAX_STEPS;
   return s;
}

/* ---- the file and its kernels ---- */
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

/* A bracket that opens there is closed, and a call follows. */
static bool
is_called(const char *open)
{
   int depth = 0;
   for (; *open; open++) {
      depth += (*open == '[') - (*open == ']');
      if (!depth)
         break;
   }
   return *open && open[1 + strspn(open + 1, " \t")] == '(';
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

static void
note_launches(Uses *u, const char *text)
{
   tl_map_init(&u->launched, u->s->arena);
   for (const char *end = text; (end = strchr(end, '[')); end++) {
      const char *name = end;
      while (name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
         name--;
      if (name < end && is_called(end) && !is_in_kernel(u->s->impl->main, (size_t)(end - text)))
         tl_map_put(&u->launched, tl_intern(u->s->strings, name, (size_t)(end - name)), u);
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

static const char *
own_name(const TlSvFunc *fn)
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
   const TlSvFunc *by = tl_map_get(&uses->by, fn->closure ? fn->name : own_name(fn));
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

/* ---- what an annotation says ---- */
static void
set_constant(TlSpecArg *a, TlSv v)
{
   *a = (TlSpecArg){.is_given = true, .is_constant = true, .constant = v, .divisibility = 1};
}

/* tl.const: a pointer that is not stored through. */
static bool
is_const_annotation(TlSema *s, const TlNode *a)
{
   const char *text = a->kind == TL_AST_STR ? tl_ast_Str(a)->value.data : tl_node_text(s, a);
   const char *dot = strrchr(text, '.');
   return strcmp(dot ? dot + 1 : text, "const") == 0;
}

/* What the word of an annotation was meant to be; NULL: it is like none. */
static const char *
nearest_type(const char *word)
{
   TlNearest near = {.name = word};
   for (unsigned d = 0; d < TL_DTYPE_COUNT; d++)
      tl_nearest_try(&near, tl_dtype_info[d].text);
   tl_nearest_try(&near, "constexpr");
   return near.best;
}

static const char type_help[] =
   "a number is fp32, i32 or another type of elements, an array a pointer to them, *fp32; the rest "
   "is constexpr";

/* i128, uint256, fp128: the widest type of that kind; NULL: no name of a type of so many bits. */
static const char *
widest_type(const char *word)
{
   size_t len = strcspn(word, "0123456789");
   bool is_float =
      tl_is_word("fp", word, len) || tl_is_word("f", word, len) || tl_is_word("float", word, len);
   bool is_signed = tl_is_word("i", word, len) || tl_is_word("int", word, len);
   bool is_unsigned = tl_is_word("u", word, len) || tl_is_word("uint", word, len);
   char *end;
   unsigned long bits = strtoul(word + len, &end, 10);
   if (*end || bits <= 64)
      return NULL;
   return is_float ? "fp64" : is_signed ? "i64" : is_unsigned ? "u64" : NULL;
}

static const char separators[] = "entries are separated by ','; a value stands alone in the "
                                 "parameter's place, 128, or is given by its name, -D BLOCK=128";

/* *float, i4, `unsigned *`, torch.float32 */
static void
help_type(TlSema *s, const char *text)
{
   size_t len = strcspn(text, " *");
   bool is_pointer = *text == '*', is_behind = len && strchr(text, '*');
   const char *word = is_behind ? tl_arena_strndup(s->arena, text, len) : text + is_pointer;
   const char *dot = strrchr(word, '.'), *star = is_pointer ? "*" : "", *wide;
   word = dot ? dot + 1 : word;                         /* the module of another package */
   word = tl_starts_with(word, "c_") ? word + 2 : word; /* ctypes */
   if (tl_ends_with(word, "_t"))                        /* half_t */
      word = tl_arena_strndup(s->arena, word, strlen(word) - 2);
   if (strcmp(word, "void_p") == 0) {
      tl_help(s->diags, "a pointer is a '*' and the type of its elements: *fp32, *i8 for bytes");
      return;
   }
   const char *near = tl_other_type(word, strlen(word));
   const TlType *own = near ? NULL : tl_parse_type_text(s, word, strlen(word));
   near = own && own->kind == TL_TYPE_SCALAR ? tl_dtype_info[own->dtype].text : near;
   if (tl_starts_with(text, "constexpr[")) {
      tl_help(s->diags, "write constexpr alone: its value has the type");
      return;
   }
   if (strchr(text, '[')) {
      tl_help(s->diags,
              "an array is a pointer to its elements, *fp32, and its sizes are parameters "
              "of their own");
      return;
   }
   if (is_behind) {
      tl_help(s->diags, "the '*' of a pointer type comes first: *%s", near ? near : word);
      return;
   }
   size_t first = strcspn(text, " "), next = first + strspn(text + first, " ");
   if (near)
      tl_help(s->diags, "write %s%s for it", star, near);
   else if (text[next] && tl_parse_type_text(s, text, strcspn(text, " :"))) /* *fp32:16 i32 */
      tl_help(s->diags, "'%.*s' is a type, what follows is the next entry: %s", (int)first, text,
              separators);
   else if ((wide = widest_type(word)))
      tl_help(s->diags, "no type has more than 64 bits: %s%s is the widest of its kind", star,
              wide);
   else if (is_pointer && strcmp(word, "void") == 0)
      tl_help(s->diags, "a pointer has the type of its elements: *i8 for bytes");
   else if ((near = nearest_type(word)))
      tl_help(s->diags, "did you mean '%s%s'?", star, near);
   else
      tl_help(s->diags, "%s", type_help);
}

static bool
annotation_type(TlSema *s, TlSourceModule *source, const TlNode *a, TlSpecArg *out)
{
   *out = (TlSpecArg){.divisibility = 1};
   if (a->kind == TL_AST_FACT_TYPE) {
      const TlAstFactType *f = tl_ast_FactType(a);
      TlFrame *frame = tl_module_frame(s, source);
      TlSv fact = tl_eval_expr(s, frame, f->fact);
      bool ok =
         fact.kind == TL_SV_INT && fact.i >= 1 && fact.i <= 1 << 20 && !(fact.i & (fact.i - 1));
      if (!ok) {
         if (fact.kind != TL_SV_POISON)
            tl_report(s->diags, E0264, f->fact->range, tl_node_text(s, f->fact));
         return false;
      }
      if (!annotation_type(s, source, f->type, out))
         return false;
      const TlType *type = out->type;
      if (fact.i == 1 && type && type->kind == TL_TYPE_SCALAR)
         set_constant(out, tl_sv_int(1));
      else
         out->divisibility = (uint32_t)fact.i;
      out->type = type;
      return true;
   }
   const char *text = tl_node_text(s, a);
   if (a->kind == TL_AST_STR) /* x: "*fp32" */
      text = tl_ast_Str(a)->value.data;
   if (tl_is_descriptor_text(text))
      return tl_read_descriptor(s, text, a->range, out);
   const TlType *t = tl_parse_type_text(s, text, strlen(text));
   if (!t) {
      if (strcmp(text, "int") == 0)
         t = tl_type_scalar(s->types, TL_I32);
      else if (strcmp(text, "float") == 0)
         t = tl_type_scalar(s->types, TL_FP32);
      else if (strcmp(text, "bool") == 0)
         t = tl_type_scalar(s->types, TL_I1);
   }
   if (!t && (a->kind == TL_AST_CALL || (source->is_tile && a->kind == TL_AST_PTR_TYPE))) {
      TlSv v = tl_eval_expr(s, tl_module_frame(s, source), a);
      if (v.kind == TL_SV_TYPE) {
         t = v.type;
      } else if (v.kind == TL_SV_POISON) {
         if (source->is_tile && s->diags->last && s->diags->last->code == TL_DIAG_E0200)
            help_type(s, text);
         return false;
      }
   }
   size_t len = text ? strlen(text) : 0;
   bool has_star = len && (*text == '*' || text[len - 1] == '*'); /* no class of the host */
   if (!t && (source->is_tile || has_star)) {
      tl_report(s->diags, E0268, a->range, text);
      help_type(s, text);
      return false;
   }
   out->type = t; /* tl.tensor, torch.Tensor and the like say nothing */
   out->is_given = t != NULL;
   return true;
}

static void
print_entry_type(const TlType *t, TlSb *out)
{
   for (; t->kind == TL_TYPE_PTR; t = t->elem)
      tl_sb_str(out, t->is_const ? "*const " : "*");
   tl_sb_str(out, tl_dtype_info[t->dtype].text);
}

/* The annotation as an entry of a signature, NULL when it says nothing.  Its mistakes are reported
 * once the kernel is compiled. */
static const char *
annotation_entry(TlSema *s, TlSourceModule *source, const TlNode *a)
{
   if (!a || tl_is_constexpr_annotation(a))
      return NULL;
   TlDiags *saved = s->diags, quiet;
   tl_diags_init(&quiet, s->arena, s->sources);
   quiet.site = s->b.site;
   s->diags = &quiet;
   TlSpecArg arg;
   bool says = annotation_type(s, source, a, &arg) && arg.is_given;
   s->diags = saved;
   if (!says)
      return NULL;
   TlSb sb;
   if (arg.descriptor)
      return arg.descriptor;
   tl_sb_init(&sb, s->arena);
   print_entry_type(arg.type, &sb);
   if (arg.is_constant || arg.divisibility > 1)
      tl_sb_printf(&sb, ":%u", arg.divisibility);
   return tl_sb_cstr(&sb);
}

static TlKernelInfo
describe_kernel(TlSema *s, const Uses *uses, const TlSvFunc *fn)
{
   const TlAstFunction *f = tl_ast_Function(fn->node);
   TlKernelInfo k = {.name = own_name(fn),
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
         .type = annotation_entry(s, fn->source, p->annotation),
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
      tl_report(s->diags, E0261, file_start(s), name);
      const char *why = tl_why_unlisted(s, name);
      if (why) {
         tl_help(s->diags, "a function of the file is called so, but %s", why);
         return NULL;
      }
      TlNearest near = {.name = name};
      for (unsigned i = 0; i < s->impl->num_kernels; i++)
         tl_nearest_try(&near, s->impl->kernels[i].name);
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

/* ---- signature entries ---- */
typedef struct Entry {
   TlRange range; /* in the signature's own source text */
   const char *text;
} Entry;

typedef struct Spec {
   const TlSvFunc *fn;
   const TlAstFunction *ast;
   const TlSpecialization *given;
   TlMeta meta;
   uint32_t sig_file;
   TL_VEC(Entry) entries;
   TlSpecArg *args;
   unsigned num;
   const char **heuristic_failed; /* of each parameter: why its heuristic gives no value, or NULL */
} Spec;

static const TlAstParam *
param(const Spec *p, unsigned i)
{
   return tl_ast_Param(p->ast->params.data[i]);
}

static bool
is_constexpr(const Spec *p, unsigned i)
{
   return tl_is_constexpr_annotation(param(p, i)->annotation);
}

static void
split_signature(TlSema *s, Spec *p, const char *text)
{
   size_t len = strlen(text), start = 0;
   p->sig_file = tl_sources_add(s->sources, "<signature>", text, len);
   int depth = 0;
   char quote = 0;
   for (size_t i = 0; i <= len; i++) {
      char c = i < len ? text[i] : ',';
      if (quote) {
         quote = c == quote ? 0 : quote;
      } else if (c == '\'' || c == '"') {
         quote = c;
      } else if (strchr("([{<", c) && c) {
         depth++;
      } else if (strchr(")]}>", c) && c) {
         depth--;
      }
      if ((c == ',' && depth <= 0 && !quote) || i == len) {
         size_t b = start, e = i;
         while (b < e && isspace((unsigned char)text[b]))
            b++;
         while (e > b && isspace((unsigned char)text[e - 1]))
            e--;
         Entry one = {.range = tl_range(p->sig_file, (uint32_t)b, (uint32_t)e)};
         one.text = tl_arena_strndup(s->arena, text + b, e - b);
         bool trailing = i == len && b == e;
         if (!trailing)
            tl_vec_push(s->arena, &p->entries, one);
         start = i + 1;
      }
   }
}

enum { MAX_TYPE_DEPTH = 16 }; /* as in IR text */

static const TlType *
parse_type(TlSema *s, const char *text, size_t len, unsigned depth)
{
   const char *end = text + len;
   bool is_ptr = len && *text == '*', is_const = false;
   TlDtype dtype;
   if (is_ptr)
      text++;
   while (text < end && *text == ' ')
      text++;
   if (is_ptr && end - text > 6 && tl_starts_with(text, "const ")) {
      is_const = true;
      text += 6;
   } else if (is_ptr && end - text > 2 && *text == 'k' && text[1] != ' ') {
      is_const = true; /* Triton's "*kfp32" */
      text++;
   }
   if (is_ptr && text < end && *text == '*') {
      const TlType *inner =
         depth < MAX_TYPE_DEPTH ? parse_type(s, text, (size_t)(end - text), depth + 1) : NULL;
      return inner ? tl_type_ptr(s->types, inner, is_const) : NULL;
   }
   if (tl_starts_with(text, "tl."))
      text += 3;
   if (text >= end || !tl_dtype_from_text(text, (size_t)(end - text), &dtype))
      return NULL;
   const TlType *t = tl_type_scalar(s->types, dtype);
   return is_ptr ? tl_type_ptr(s->types, t, is_const) : t;
}

const TlType *
tl_parse_type_text(TlSema *s, const char *text, size_t len)
{
   return parse_type(s, text, len, 1);
}

/* -D and signature words: a number, True, False, None, a dtype, else a string. */
TlSv
tl_read_value(TlSema *s, const char *text, TlRange range)
{
   char *end;
   size_t len = strlen(text);
   if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
      return tl_sv_bool(text[0] == 'T');
   if (strcmp(text, "None") == 0)
      return tl_sv_none();
   if (len >= 2 && (text[0] == '\'' || text[0] == '"') && text[len - 1] == text[0])
      return tl_make_str(s, text + 1, len - 2);
   if (isdigit((unsigned char)text[0]) || text[0] == '-' || text[0] == '+' || text[0] == '.') {
      errno = 0;
      long long i = strtoll(text, &end, 0);
      if (!*end && len && errno == ERANGE) {
         errno = 0;
         unsigned long long u = strtoull(text, &end, 0);
         if (text[0] == '-' || errno == ERANGE) {
            tl_report(s->diags, E0210, range);
            tl_help(s->diags, "the value given is %s", text);
            return tl_sv_none();
         }
         TlSv large = tl_sv_int((int64_t)u);
         large.is_large = true;
         return large;
      }
      if (!*end && len)
         return tl_sv_int(i);
      double f = strtod(text, &end);
      if (!*end && len)
         return tl_sv_float(f);
   }
   if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0 || strcmp(text, "nan") == 0)
      return tl_sv_float(strtod(text, NULL));
   const TlType *t = tl_parse_type_text(s, text, len);
   if (t)
      return tl_sv_type(t);
   if (text[0] == '(' || text[0] == '[') {
      TlFrame *f = tl_module_frame(s, s->impl->main);
      return tl_eval_source(s, f, "<value>", text);
   }
   return tl_make_str(s, text, len);
}

static bool
is_type_entry(const char *text)
{
   return text[0] == '*' || tl_starts_with(text, "tensordesc");
}

/* "x, y, n" */
static const char *
param_names(TlSema *s, const Spec *p)
{
   TlSb names;
   tl_sb_init(&names, s->arena);
   for (unsigned i = 0; i < p->num; i++)
      tl_sb_printf(&names, "%s%s", i ? ", " : "", param(p, i)->name);
   return tl_sb_cstr(&names);
}

/* An entry with a name before it: x: *fp32, 'x': '*fp32', x=*fp32.  Reported; false: it has
 * none. */
static bool
has_name(TlSema *s, const Spec *p, const Entry *e)
{
   size_t n = strcspn(e->text, ":=");
   bool is_fact =
      !e->text[n] || isdigit((unsigned char)e->text[n + 1 + strspn(e->text + n + 1, " ")]);
   size_t begin = strspn(e->text, " {'\""), len = strcspn(e->text + begin, " '\":=");
   bool is_param = false;
   for (unsigned i = 0; i < p->num; i++)
      is_param |= tl_is_word(param(p, i)->name, e->text + begin, len);
   if (is_fact || !is_param || strchr(e->text, '[') || e->text[0] == '*')
      return false;
   tl_report(s->diags, E0268, e->range, e->text);
   tl_help(s->diags,
           "entries have no names: they stand in the order of the parameters %s, as in -s "
           "\"*fp32, i32\"",
           param_names(s, p));
   return true;
}

/* "type", "type:16", "type:1". */
static bool
read_typed_entry(TlSema *s, const Entry *e, TlSpecArg *a, bool *is_type)
{
   const char *colon = strrchr(e->text, ':');
   size_t len = colon ? (size_t)(colon - e->text) : strlen(e->text);
   while (len && e->text[len - 1] == ' ')
      len--;
   *a = (TlSpecArg){.is_given = true, .divisibility = 1};
   a->type = tl_parse_type_text(s, e->text, len);
   *is_type = a->type != NULL;
   if (!a->type || !colon)
      return true;
   const char *fact = colon + 1;
   while (*fact == ' ')
      fact++;
   char *end;
   long n = strtol(fact, &end, 10);
   if (*end == 'D' || *end == 'S') /* suffixes of newer notations */
      end++;
   if (*end || n < 1 || n > 1 << 20 || (n & (n - 1))) {
      tl_report(s->diags, E0264, e->range, fact);
      if (strchr(fact, ';'))
         tl_help(s->diags, "%s", separators);
      return false;
   }
   if (n == 1 && a->type->kind == TL_TYPE_SCALAR) {
      const TlType *type = a->type;
      set_constant(a, tl_dtype_is_float(type->dtype) ? tl_sv_float(1.0) : tl_sv_int(1));
      a->type = type;
   } else {
      a->divisibility = (uint32_t)n;
   }
   return true;
}

static bool
read_entry(TlSema *s, Spec *p, unsigned i, const Entry *e)
{
   TlSpecArg *a = &p->args[i];
   const char *name = param(p, i)->name;
   bool is_word = is_constexpr(p, i) && strcmp(e->text, "constexpr") == 0; /* Triton writes it */
   if (!*e->text || is_word) /* left to annotation, define or default */
      return true;
   if (has_name(s, p, e))
      return false;
   bool is_type = tl_is_descriptor_text(e->text);
   if (is_type ? !tl_read_descriptor(s, e->text, e->range, a)
               : !read_typed_entry(s, e, a, &is_type))
      return false;
   if (is_type && is_constexpr(p, i)) {
      bool dtype_value = !a->is_constant && a->type->kind == TL_TYPE_SCALAR &&
                         !strchr(e->text, ':') && !strpbrk(e->text, "*");
      bool by_triton_name = tl_starts_with(e->text, "tl.");
      if (a->is_constant)
         return true;
      if (dtype_value && (by_triton_name || tl_dtype_is_float(a->type->dtype))) {
         set_constant(a, tl_sv_type(a->type)); /* DTYPE: constexpr = fp16 */
         return true;
      }
      tl_report(s->diags, E0267, e->range, name, e->text);
      tl_note(s->diags, N0200, param(p, i)->node.range, "the parameter is declared here");
      tl_help(s->diags, "give a value, such as 64, True or tl.float16");
      return false;
   }
   if (!is_type) {
      if (is_type_entry(e->text)) {
         tl_report(s->diags, E0268, e->range, e->text);
         if (strchr(e->text, ';'))
            tl_help(s->diags, "%s", separators);
         else
            help_type(s, e->text);
         return false;
      }
      set_constant(a, tl_read_value(s, e->text, e->range));
      bool word = a->constant.kind == TL_SV_STR && e->text[0] != '\'' && e->text[0] != '"';
      bool is_named = word && strpbrk(e->text, "=;");
      if (word && (is_named || !is_constexpr(p, i))) {
         tl_report(s->diags, E0268, e->range, e->text);
         tl_note(s->diags, N0200, param(p, i)->node.range, "the parameter is declared here");
         if (is_named)
            tl_help(s->diags, "%s", separators);
         else
            help_type(s, e->text);
         return false;
      }
      if (a->constant.kind == TL_SV_POISON)
         return false;
   }
   return true;
}

static int
define_index(const Spec *p, const char *name)
{
   for (size_t i = p->given->define_names.len; i-- > 0;)
      if (strcmp(p->given->define_names.data[i], name) == 0)
         return (int)i;
   return -1;
}

static void
help_signature(TlSema *s, const Spec *p)
{
   bool has_comma = strchr(p->given->signature, ',');
   if (strchr("[{(", p->given->signature[0]) && p->given->signature[0]) {
      tl_help(s->diags,
              "entries stand in the order of the parameters %s, without brackets, quotes or names: "
              "*fp32, i32, 64",
              param_names(s, p));
      return;
   }
   if (strchr(p->given->signature, ';') || (!has_comma && strchr(p->given->signature, ' '))) {
      tl_help(s->diags, "%s", separators);
      return;
   }
   tl_help(s->diags,
           "write an entry for each of: %s; such as -s '*fp32, i32, 64' for a pointer, "
           "an integer and a constexpr of 64",
           param_names(s, p));
}

static bool
read_signature(TlSema *s, Spec *p)
{
   if (!p->given->signature)
      return true;
   split_signature(s, p, p->given->signature);
   size_t n = p->entries.len;
   unsigned open = 0; /* parameters that only the signature gives */
   for (unsigned i = 0; i < p->num; i++)
      open += !is_constexpr(p, i) && define_index(p, param(p, i)->name) < 0;
   bool by_position = n == p->num;
   bool run_time_only = !by_position && n == open;
   if (!by_position && !run_time_only) {
      bool prefix = n < p->num; /* the rest must have values of their own */
      for (unsigned i = (unsigned)n; prefix && i < p->num; i++)
         prefix = is_constexpr(p, i) || param(p, i)->default_value ||
                  (p->fn->source->is_tile && param(p, i)->annotation) ||
                  define_index(p, param(p, i)->name) >= 0;
      if (!prefix) {
         TlRange r = tl_range(p->sig_file, 0, (uint32_t)strlen(p->given->signature));
         tl_report(s->diags, E0269, r, n, p->fn->name, p->num, open);
         help_signature(s, p);
         tl_note(s->diags, N0200, p->fn->node->range, "the kernel is declared here");
         return false;
      }
   }
   bool ok = true;
   size_t next = 0;
   for (unsigned i = 0; i < p->num && next < n; i++) {
      if (run_time_only && (is_constexpr(p, i) || define_index(p, param(p, i)->name) >= 0))
         continue;
      ok &= read_entry(s, p, i, &p->entries.data[next++]);
   }
   return ok;
}

/* ---- annotations and defaults ---- */
/* How many parameters only a signature or a launch gives. */
static size_t
num_without_value(const Spec *p)
{
   size_t n = 0;
   for (unsigned i = 0; i < p->num; i++)
      n += !is_constexpr(p, i) && !param(p, i)->default_value &&
           define_index(p, param(p, i)->name) < 0;
   return n;
}

/* By the signature where there is one, else by -D or the program. */
static void
report_declared(TlSema *s, Spec *p, unsigned i, const TlType *declared, const char *given)
{
   const TlAstParam *q = param(p, i);
   bool by_signature = p->sig_file && i < p->entries.len && define_index(p, q->name) < 0;
   TlRange r = by_signature ? p->entries.data[i].range : q->annotation->range;
   tl_report(s->diags, E0270, r, q->name, tl_type_cstr(s->arena, declared), given);
   if (by_signature && p->entries.len < num_without_value(p))
      tl_help(s->diags, "the signature has %zu entries, the parameters are %s: is one missing?",
              p->entries.len, param_names(s, p));
   if (by_signature)
      tl_note(s->diags, N0200, q->annotation->range, "the type is declared here");
   else
      tl_help(s->diags, "leave the value of '%s' out, or take the declaration out", q->name);
}

static bool
check_annotation(TlSema *s, Spec *p, unsigned i)
{
   const TlNode *a = param(p, i)->annotation;
   TlSpecArg *arg = &p->args[i];
   if (!a || is_constexpr(p, i))
      return true;
   TlSpecArg own;
   if (!annotation_type(s, p->fn->source, a, &own))
      return false;
   if (!arg->is_given) {
      if (own.is_given)
         *arg = own;
      return true;
   }
   if (arg->type && arg->type->kind == TL_TYPE_PTR && is_const_annotation(s, a))
      arg->type = tl_type_ptr(s->types, arg->type->elem, true);
   bool is_number = arg->is_constant && !arg->type && arg->constant.kind != TL_SV_NONE;
   if (is_number && own.type && own.type->kind == TL_TYPE_PTR &&
       arg->constant.kind != TL_SV_OPAQUE) {
      report_declared(s, p, i, own.type, tl_sv_describe(s, &arg->constant));
      return false;
   }
   if (is_number && own.type && own.type->kind == TL_TYPE_SCALAR)
      arg->type = own.type; /* of the folded value in the record */
   /* given by the signature: must fit what a .tile file says; own facts hold too */
   if (!arg->is_constant && own.type && !own.is_constant && p->fn->source->is_tile) {
      bool same = arg->type == own.type ||
                  (arg->type->kind == TL_TYPE_PTR && own.type->kind == TL_TYPE_PTR &&
                   arg->type->elem == own.type->elem);
      if (!same) {
         report_declared(s, p, i, own.type, tl_type_cstr(s->arena, arg->type));
         return false;
      }
      arg->type = own.type;
      if (own.divisibility > arg->divisibility)
         arg->divisibility = own.divisibility;
   }
   return true;
}

static TlSv
eval_default(TlSema *s, Spec *p, unsigned i)
{
   TlFrame *f = tl_module_frame(s, p->fn->source);
   f->parent = p->fn->closure;
   return tl_eval_expr(s, f, param(p, i)->default_value);
}

/* n: i32 = 4.5 */
static bool
check_default(TlSema *s, Spec *p, unsigned i)
{
   const TlAstParam *q = param(p, i);
   TlSpecArg own;
   if (!q->default_value || !q->annotation || is_constexpr(p, i) ||
       !annotation_type(s, p->fn->source, q->annotation, &own) || !own.type ||
       own.type->kind != TL_TYPE_SCALAR)
      return true;
   TlSv v = eval_default(s, p, i);
   bool is_cut = tl_dtype_is_int(own.type->dtype) && v.kind == TL_SV_FLOAT;
   if (!is_cut && v.kind != TL_SV_STR)
      return true;
   tl_report(s->diags, E0270, q->default_value->range, q->name, tl_type_cstr(s->arena, own.type),
             tl_sv_describe(s, &v));
   tl_help(s->diags,
           is_cut ? "write a whole number, or declare it '%s: fp32'"
                  : "write a number without quotes, or declare it '%s: constexpr'",
           q->name);
   return false;
}

static void
apply_default(TlSema *s, Spec *p, unsigned i)
{
   TlSpecArg *a = &p->args[i];
   if (a->is_given || !param(p, i)->default_value)
      return;
   TlSv v = eval_default(s, p, i);
   if (is_constexpr(p, i) ||
       !(v.kind == TL_SV_INT || v.kind == TL_SV_FLOAT || v.kind == TL_SV_BOOL)) {
      set_constant(a, v);
      return;
   }
   TlSv strong = tl_strengthen(s, v); /* a run-time parameter of the default's type */
   *a = (TlSpecArg){.is_given = true, .divisibility = 1};
   a->type = tl_type_scalar(s->types, strong.dtype);
}

static bool
apply_defines(TlSema *s, Spec *p)
{
   bool ok = true;
   for (size_t k = 0; k < p->given->define_names.len; k++) {
      const char *name = p->given->define_names.data[k];
      TlNearest near = {.name = name};
      bool found = false;
      for (unsigned i = 0; i < p->num; i++) {
         tl_nearest_try(&near, param(p, i)->name);
         if (strcmp(param(p, i)->name, name) != 0)
            continue;
         found = true;
         bool from_signature = p->args[i].is_given;
         const char *value = p->given->define_values.data[k];
         if (!from_signature || p->args[i].is_constant) {
            set_constant(&p->args[i], tl_read_value(s, value, param(p, i)->node.range));
            continue;
         }
         tl_report(s->diags, E0270, param(p, i)->node.range, name,
                   tl_type_cstr(s->arena, p->args[i].type),
                   tl_arena_printf(s->arena, "the value %s", value));
         tl_help(
            s->diags,
            "the signature, or a launch's argument, gives it its type: leave the value out, or "
            "write it in place of the type");
         ok = false;
      }
      bool is_warps = strcmp(name, "num_warps") == 0, is_stages = strcmp(name, "num_stages") == 0;
      if (!found) {
         tl_report(s->diags, E0271, tl_ast_name_range(s->sources, p->fn->node), p->fn->name, name);
         if (is_warps || is_stages)
            tl_help(s->diags, "it is an option of its own: --num-%s=%s",
                    is_warps ? "warps" : "stages", p->given->define_values.data[k]);
         else if (near.best)
            tl_help(s->diags, "did you mean '%s'?", near.best);
         else
            tl_help(s->diags, "it has %s", param_names(s, p));
         ok = false;
      }
   }
   return ok;
}

/* ---- heuristics and autotune ---- */
typedef struct Heuristic {
   const TlSv *fn;
   TlSv args;
} Heuristic;

static TlSv
call_heuristic(TlSema *s, void *user)
{
   Heuristic *h = user;
   return tl_sema_call(s, h->fn, &h->args, 1, (TlRange){0});
}

static bool
has_key(TlSema *s, TlSv *dict, const TlSv *key)
{
   bool found;
   (void)tl_dict_get(s, dict, key, &found);
   return found;
}

static TlSv
run_time_argument(TlSema *s, const TlAstParam *p)
{
   TlLost *lost = tl_new(s->arena, TlLost);
   *lost = (TlLost){
      .why = tl_arena_printf(s->arena, "the value of '%s', which only the launch gives", p->name),
      .place = p->node.range,
      .is_argument = true};
   return (TlSv){.kind = TL_SV_OPAQUE, .opaque = lost};
}

/* What the kernel's heuristics are called with. */
static TlSv
known_arguments(TlSema *s, const Spec *p)
{
   TlSv d = tl_known_values(s, p->given);
   for (unsigned i = 0; i < p->num; i++) {
      TlSv key = tl_make_str(s, param(p, i)->name, strlen(param(p, i)->name));
      const TlSpecArg *a = &p->args[i];
      if (a->is_given && a->is_constant)
         tl_dict_set(s, &d, &key, a->constant);
      else if (a->is_given && a->type->kind == TL_TYPE_PTR)
         tl_dict_set(s, &d, &key, tl_pointer_argument(s, a->type->elem));
      else if (a->is_given && !has_key(s, &d, &key))
         tl_dict_set(s, &d, &key, run_time_argument(s, param(p, i)));
   }
   tl_add_defaults(s, p->fn, &d);
   return d;
}

static void
take_missing(TlSema *s, Spec *p, const char *name, TlSv v, TlRange range, const char *from)
{
   for (unsigned i = 0; i < p->num; i++)
      if (strcmp(param(p, i)->name, name) == 0 && !p->args[i].is_given && is_constexpr(p, i) &&
          v.kind != TL_SV_POISON && v.kind != TL_SV_OPAQUE) {
         set_constant(&p->args[i], v);
         if (tl_wants_remarks(s->diags, "parameters"))
            tl_report(s->diags, R0201, range, name, tl_sv_constant_text(s, &v), from);
      }
}

/* Remembered for the error that the parameter lacks a value. */
static void
note_failure(Spec *p, const char *name, const TlSv *v, const TlDiag *why)
{
   for (unsigned i = 0; i < p->num; i++)
      if (strcmp(param(p, i)->name, name) == 0 &&
          (v->kind == TL_SV_POISON || v->kind == TL_SV_OPAQUE))
         p->heuristic_failed[i] = why                       ? why->text
                                  : v->kind == TL_SV_OPAQUE ? v->opaque->why
                                                            : "it cannot be evaluated";
}

/* A heuristic may give the launch its warps and stages. */
static void
take_launch(TlSema *s, const Spec *p, const char *name, const TlSv *v)
{
   if (v->kind != TL_SV_INT || v->i < 1 || v->i > 64)
      return;
   if (strcmp(name, "num_warps") == 0 && !p->given->num_warps)
      s->impl->num_warps = (int)v->i;
   if (strcmp(name, "num_stages") == 0 && !p->given->num_stages)
      s->impl->num_stages = (int)v->i;
}

static void
apply_autotune(TlSema *s, Spec *p)
{
   const TlSv *c = &p->meta.config;
   for (size_t i = 0; c->kind == TL_SV_DICT && i < c->fields->len; i++)
      if (c->fields->keys[i].kind == TL_SV_STR)
         take_missing(s, p, c->fields->keys[i].s.data, c->fields->values[i],
                      p->meta.autotune->range, "the first autotune configuration");
}

static void
apply_heuristics(TlSema *s, Spec *p)
{
   /* outer ones first: inner ones see theirs */
   for (size_t h = 0; h < p->meta.heuristics.len; h++) {
      const TlNode *node = p->meta.heuristics.data[h];
      TlSv d = tl_decorator_value(s, p->fn, node, NULL);
      for (size_t i = 0; d.kind == TL_SV_DICT && i < d.fields->len; i++) {
         if (d.fields->keys[i].kind != TL_SV_STR || d.fields->values[i].kind != TL_SV_FUNC)
            continue;
         TlActivation act = {
            .is_host = true, .errors = s->diags->num_errors, .caller = s->impl->act};
         s->impl->act = &act;
         Heuristic call = {&d.fields->values[i], known_arguments(s, p)};
         const TlDiag *why = NULL;
         TlSv v = tl_quietly(s, call_heuristic, &call, &why);
         s->impl->act = act.caller;
         note_failure(p, d.fields->keys[i].s.data, &v, why);
         take_missing(s, p, d.fields->keys[i].s.data, v, node->range, "its heuristic");
         take_launch(s, p, d.fields->keys[i].s.data, &v);
      }
   }
}

/* Kernels that declare num_warps, num_stages as parameters get the launch's. */
static void
apply_launch_names(TlSema *s, Spec *p)
{
   const struct {
      const char *name;
      int value;
   } launch[] = {{"num_warps", s->impl->num_warps},
                 {"num_stages", s->impl->num_stages},
                 {"num_ctas", s->impl->num_ctas}};
   for (unsigned i = 0; i < p->num; i++)
      for (unsigned k = 0; k < 3; k++)
         if (strcmp(param(p, i)->name, launch[k].name) == 0 && !p->args[i].is_given)
            set_constant(&p->args[i], tl_sv_int(launch[k].value));
}

/* What is still open is what the caller takes it for. */
static void
apply_guesses(TlSema *s, Spec *p)
{
   for (unsigned i = 0; p->given->guesses && i < p->num; i++) {
      TlGuess *g = &p->given->guesses[i];
      const Entry e = {param(p, i)->node.range, g->entry};
      if (!p->args[i].is_given)
         g->is_used = read_entry(s, p, i, &e);
   }
}

static bool
check_complete(TlSema *s, Spec *p)
{
   bool ok = true;
   for (unsigned i = 0; i < p->num; i++) /* a value that a configuration gives to another name */
      if (!p->args[i].is_given && is_constexpr(p, i) &&
          tl_misnamed_value(s, p->meta.autotune, p->fn, param(p, i)->name))
         return false;
   if (!p->given->guesses && !tl_check_tuning(s, p->fn)) /* where types are guessed it is checked */
      return false;
   TlSb untyped;
   tl_sb_init(&untyped, s->arena);
   const TlAstParam *first = NULL;
   for (unsigned i = 0; i < p->num; i++) {
      const TlAstParam *q = param(p, i);
      TlSpecArg *a = &p->args[i];
      if (a->is_given && a->is_constant && a->constant.kind == TL_SV_OPAQUE) {
         tl_report_opaque(s, &a->constant, q->node.range);
         ok = false;
      } else if (a->is_given) {
         ok &= !(a->is_constant && a->constant.kind == TL_SV_POISON);
      } else if (is_constexpr(p, i)) {
         tl_report(s->diags, E0272, q->node.range, q->name);
         if (p->heuristic_failed[i])
            tl_note(s->diags, N0204, p->meta.heuristics.data[0]->range, p->heuristic_failed[i]);
         tl_help(s->diags,
                 "give it with -D %s=VALUE, in a program as %s=VALUE, in the signature, or as "
                 "a default",
                 q->name, q->name);
         ok = false;
      } else {
         if (!untyped.len)
            first = q;
         tl_sb_printf(&untyped, "%s'%s'", untyped.len ? ", " : "", q->name);
      }
   }
   if (!first)
      return ok;
   tl_report(s->diags, E0273, first->node.range, tl_sb_cstr(&untyped));
   if (p->fn->source->is_tile)
      tl_help(s->diags, "write it as '%s: *fp32' or '%s: i32', or give a signature", first->name,
              first->name);
   else
      tl_help(s->diags,
              "give a signature with an entry for each parameter: -s \"*fp32:16, i32, ..\"");
   return false;
}

/* ---- building ---- */
/* The type of a parameter that is not constexpr but whose value is folded into the code. */
static const TlType *
folded_type(TlSema *s, const TlSpecArg *a)
{
   const TlSv *v = &a->constant;
   if (a->type)
      return a->type;
   bool is_small = v->kind != TL_SV_INT || (!v->is_large && v->i >= INT32_MIN && v->i <= INT32_MAX);
   TlDtype dtype = v->kind == TL_SV_FLOAT  ? TL_FP32
                   : v->kind == TL_SV_BOOL ? TL_I1
                   : is_small              ? TL_I32
                   : v->is_large           ? TL_U64
                                           : TL_I64;
   return tl_type_scalar(s->types, dtype);
}

static void
add_param(TlSema *s, Spec *p, TlFunc *f, TlFrame *frame, unsigned i, TlParam *out)
{
   assert(i < p->num);
   const TlAstParam *q = param(p, i);
   const TlSpecArg *a = &p->args[i];
   if (a->descriptor) {
      TlSv v = tl_add_descriptor(s, f, p->ast, q->name, a, out);
      tl_frame_set(s, frame, q->name, v, q->node.range);
      return;
   }
   out->name = q->name;
   out->divisibility = a->divisibility ? a->divisibility : 1;
   TlSv v;
   if (a->is_constant) {
      out->constant = tl_sv_constant_text(s, &a->constant);
      out->type = is_constexpr(p, i) ? NULL : folded_type(s, a);
      v = a->constant;
      if (v.kind == TL_SV_NONE) /* what is wrong with it is told of the parameter */
         v.s = (TlText){q->name, strlen(q->name)};
   } else {
      out->is_runtime = true;
      out->type = a->type;
      v = tl_sv_value(tl_block_add_arg(f->body->block, a->type, q->name));
      if (p->given->guesses)
         p->given->guesses[i].value = v.value;
   }
   tl_frame_set(s, frame, q->name, v, q->node.range);
}

static int
pick(int given, int own, int initial)
{
   return given ? given : own ? own : initial;
}

static bool
resolve(TlSema *s, Spec *p)
{
   p->ast = tl_ast_Function(p->fn->node);
   p->num = (unsigned)p->ast->params.len;
   for (unsigned i = 0; i < p->num; i++)
      if (param(p, i)->kind != TL_AST_OP_PLAIN) {
         if (param(p, i)->kind == TL_AST_OP_KW_MARK || param(p, i)->kind == TL_AST_OP_POS_MARK)
            continue;
         return tl_refuse(s->diags, E0274, param(p, i)->node.range, p->fn->name,
                          tl_range_text(s, param(p, i)->node.range));
      }
   /* marks are not parameters */
   TlAstFunction *copy = tl_new(s->arena, TlAstFunction);
   *copy = *p->ast;
   copy->params = (TlNodeList){0};
   for (size_t i = 0; i < p->ast->params.len; i++)
      if (tl_ast_Param(p->ast->params.data[i])->kind == TL_AST_OP_PLAIN)
         tl_vec_push(s->arena, &copy->params, p->ast->params.data[i]);
   p->ast = copy;
   p->num = (unsigned)copy->params.len;
   p->args = tl_new_array(s->arena, TlSpecArg, p->num);
   p->heuristic_failed = tl_new_array(s->arena, const char *, p->num);
   tl_read_decorators(s, p->fn, &p->meta);
   const TlMeta *meta = &p->meta;
   s->impl->num_warps = pick(p->given->num_warps, pick(meta->config_warps, meta->num_warps, 0), 4);
   s->impl->num_stages =
      pick(p->given->num_stages, pick(meta->config_stages, meta->num_stages, 0), 3);
   s->impl->num_ctas = pick(p->given->num_ctas, p->meta.num_ctas, 1);
   bool ok = read_signature(s, p) && apply_defines(s, p);
   for (unsigned i = 0; ok && i < p->num; i++)
      ok = check_annotation(s, p, i) && check_default(s, p, i);
   if (!ok)
      return false;
   apply_autotune(s, p);
   apply_heuristics(s, p);
   apply_launch_names(s, p);
   for (unsigned i = 0; i < p->num; i++)
      apply_default(s, p, i);
   apply_guesses(s, p);
   return check_complete(s, p);
}

typedef struct WarpsPlace {
   int warps;
   TlRange range;
} WarpsPlace;

/* num_warps=5 in a decorator, where that is what the kernel gets. */
static void
find_warps(void *user, TlNode *n)
{
   WarpsPlace *w = user;
   const TlAstKeyword *k = n->kind == TL_AST_KEYWORD ? tl_ast_Keyword(n) : NULL;
   bool is_it = k && k->name && strcmp(k->name, "num_warps") == 0 && k->value->kind == TL_AST_INT;
   if (is_it && (int)tl_ast_Int(k->value)->value == w->warps)
      w->range = k->value->range;
   tl_ast_children(n, find_warps, user);
}

TlFunc *
tl_sema_compile(TlSema *s, const TlSpecialization *given)
{
   unsigned errors = s->diags->num_errors;
   Spec p = {.given = given, .fn = tl_choose_kernel(s, given->kernel)};
   s->debug = given->debug;
   s->cuts_tf32 = given->cuts_tf32 && !given->strict_fp;
   bool is_word = tl_dot_precision(given->fp32_dot ? given->fp32_dot : "tf32", &s->fp32_dot);
   assert(is_word); /* whoever takes options from outside has looked at it */
   (void)is_word;
   s->print_threads = given->print_threads;
   s->steps = 0;
   s->depth = 0;
   if (!p.fn || !resolve(s, &p) || s->diags->num_errors != errors)
      return NULL;
   int warps = s->impl->num_warps;
   if (warps < 1 || warps > 32 || (warps & (warps - 1))) {
      WarpsPlace place = {.warps = warps, .range = tl_ast_name_range(s->sources, p.fn->node)};
      for (size_t i = 0; i < p.ast->decorators.len; i++)
         find_warps(&place, p.ast->decorators.data[i]);
      tl_report(s->diags, E0404, place.range, (unsigned)warps);
      return NULL;
   }
   TlFunc *f = tl_func_new(s->ir, own_name(p.fn), p.fn->node->range);
   f->num_warps = (uint32_t)s->impl->num_warps;
   f->num_stages = (uint32_t)s->impl->num_stages;
   f->num_ctas = (uint32_t)s->impl->num_ctas;
   f->grid = given->grid ? tl_grid_from_text(s, p.fn, given->grid) : p.meta.grid;
   f->strict_fp = given->strict_fp;
   for (unsigned i = 0; i < p.num; i++)
      f->num_params += tl_descriptor_params(&p.args[i]);
   f->params = tl_new_array(s->arena, TlParam, f->num_params + 1);
   s->b = tl_builder_at_end(f, f->body->block);
   s->b.range = p.fn->node->range;
   TlActivation act = {
      .func = p.fn, .call_range = p.fn->node->range, .may_return = given->may_return};
   TlFrame *frame = tl_frame_new(s, p.fn->closure, p.fn->source, &act);
   TlParam *next = f->params;
   for (unsigned i = 0; i < p.num; i++) {
      f->needs_warps |= strcmp(param(&p, i)->name, "num_warps") == 0;
      add_param(s, &p, f, frame, i, next);
      next += tl_descriptor_params(&p.args[i]);
   }
   s->impl->act = &act;
   tl_stmt_block(s, frame, &p.ast->body, 0, NULL);
   s->impl->act = NULL;
   s->b = tl_builder_at_end(f, f->body->block);
   TlRange whole = p.fn->node->range;
   s->b.range = tl_range(whole.file, whole.end, whole.end);
   tl_build(&s->b, TL_OP_RETURN, NULL, 0, NULL, 0, NULL, 0, 0);
   s->b = (TlBuilder){0};
   if (!given->guesses) /* else who checks the kernel does it once for all trials */
      tl_check_decorators(s, p.fn);
   return s->diags->num_errors == errors ? f : NULL;
}
