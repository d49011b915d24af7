/* What stands around a kernel of a file and does not fit it: launches, configurations, decorators
 * by a wrong name, a file without any kernel. */
#include "sema/generic.h"
#include "sema/impl.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

typedef struct Around {
   TlSema *s;
   const TlKernelInfo *kernel;
   bool is_told; /* what is wrong with a configuration */
} Around;

/* ---- what launches get wrong ---- */
static bool
is_launch_option(const char *name)
{
   static const char *const names[] = {"num_warps",    "num_stages",
                                       "num_ctas",     "maxnreg",
                                       "grid",         "stream",
                                       "device",       "warmup",
                                       "debug",        "enable_fp_fusion",
                                       "launch_pdl",   "launch_cooperative_grid",
                                       "extern_libs",  "matrix_instr_nonkdim",
                                       "kpack",        "waves_per_eu",
                                       "cluster_dims", "sanitize_overflow",
                                       "arch",         "instrumentation_mode"};
   for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
      if (strcmp(names[i], name) == 0)
         return true;
   return false;
}

static int
param_named(const TlKernelInfo *k, const char *name)
{
   for (unsigned p = 0; p < k->num_params; p++)
      if (strcmp(k->params[p].name, name) == 0)
         return (int)p;
   return -1;
}

static void
report_unknown(TlSema *s, const TlKernelInfo *k, TlRange range, const char *name)
{
   TlNearest near = {.name = name};
   for (unsigned i = 0; i < k->num_params; i++)
      tl_nearest_try(&near, k->params[i].name);
   tl_report(s->diags, E0271, range, k->name, name);
   TlSb names;
   tl_sb_init(&names, s->arena);
   for (unsigned i = 0; i < k->num_params; i++)
      tl_sb_printf(&names, "%s%s", i ? ", " : "", k->params[i].name);
   if (near.best)
      tl_help(s->diags, "did you mean '%s'?", near.best);
   else if (k->num_params)
      tl_help(s->diags, "its parameters are %s", tl_sb_cstr(&names));
}

/* kernel[lambda: ..]: the grid's function gets the constexpr values.  False after a report. */
static bool
check_grid(TlSema *s, const TlAstCall *call)
{
   const TlNodeList *grid =
      call->func->kind == TL_AST_SUBSCRIPT ? &tl_ast_Subscript(call->func)->indices : NULL;
   const TlNode *fn = grid && grid->len == 1 ? grid->data[0] : NULL;
   if (!fn || fn->kind != TL_AST_LAMBDA || tl_ast_Lambda(fn)->params.len)
      return true;
   tl_report(s->diags, E0277, fn->range, "its function is called with the constexpr values");
   tl_help(s->diags, "write lambda META: .., or the grid itself");
   return false;
}

/* A keyword of a launch: false, after a report, where the kernel takes none of this name. */
static bool
check_keyword(TlSema *s, const TlKernelInfo *k, const TlNode *keyword, bool *given)
{
   const char *name = tl_ast_Keyword(keyword)->name;
   int p = param_named(k, name);
   if (p >= 0 && given[p]) {
      tl_report(s->diags, E0254, tl_ast_name_range(s->sources, keyword), k->name, name);
      return false;
   }
   if (p >= 0)
      given[p] = true;
   if (p >= 0 || is_launch_option(name))
      return true;
   report_unknown(s, k, tl_ast_name_range(s->sources, keyword), name);
   return false;
}

static void
check_launch(TlSema *s, const TlKernelInfo *k, const TlAstCall *call, bool has_configs)
{
   bool *given = tl_new_array(s->arena, bool, k->num_params + 1);
   if (!check_grid(s, call))
      return;
   for (size_t i = 0; i < call->args.len; i++) {
      const TlNode *a = call->args.data[i];
      if (a->kind == TL_AST_STARRED || (a->kind == TL_AST_KEYWORD && !tl_ast_Keyword(a)->name))
         return; /* what it gives is not known */
      if (a->kind == TL_AST_KEYWORD) {
         if (!check_keyword(s, k, a, given))
            return;
      } else if (i < k->num_params) {
         given[i] = true;
      } else {
         tl_report(s->diags, E0252, a->range, k->name, k->num_params, (unsigned)i + 1);
         return;
      }
   }
   for (unsigned p = 0; p < k->num_params; p++)
      if (!given[p] && !k->params[p].default_text && !(has_configs && k->params[p].is_constexpr)) {
         tl_report(s->diags, E0251, call->node.range, k->name, k->params[p].name);
         tl_help(s->diags, "the launch gives each parameter a value, in order or by name: %s=..",
                 k->params[p].name);
         return;
      }
}

/* A kernel called from host code as if it were a function. */
static void
report_plain_calls(TlSema *s, const TlKernelInfo *k)
{
   const TlCalls *calls = tl_plain_calls_of(s, k->name);
   for (size_t i = 0; calls && i < calls->len; i++) {
      tl_report(s->diags, E0257, calls->data[i]->node.range,
                tl_arena_printf(s->arena, "kernel '%s'", k->name));
      tl_help(s->diags, "launch it over a grid of programs: %s[grid](..)", k->name);
   }
}

/* ---- configurations ---- */
static void
check_param_name(const Around *a, const TlNode *text)
{
   const char *name = text && text->kind == TL_AST_STR ? tl_ast_Str(text)->value.data : NULL;
   if (name && param_named(a->kernel, name) < 0 && !is_launch_option(name))
      report_unknown(a->s, a->kernel, text->range, name);
}

static void
check_config(Around *a, const TlNode *call)
{
   static const char *const names[] = {"kwargs",
                                       "num_warps",
                                       "num_stages",
                                       "num_ctas",
                                       "maxnreg",
                                       "pre_hook",
                                       "num_buffers_warp_spec",
                                       "ir_override",
                                       "num_consumer_groups",
                                       "reg_dec_producer",
                                       "reg_inc_consumer",
                                       "minRegAutoWS",
                                       "maxRegAutoWS"};
   const TlNodeList *args = &tl_ast_Call(call)->args;
   for (size_t i = 0; i < args->len; i++) {
      const char *name =
         args->data[i]->kind == TL_AST_KEYWORD ? tl_ast_Keyword(args->data[i])->name : NULL;
      TlNearest near = {.name = name};
      bool is_known = !name;
      for (size_t k = 0; name && k < sizeof names / sizeof names[0]; k++) {
         is_known |= strcmp(names[k], name) == 0;
         tl_nearest_try(&near, names[k]);
      }
      if (is_known)
         continue;
      tl_report(a->s->diags, E0253, tl_ast_name_range(a->s->sources, args->data[i]), "Config",
                name);
      if (near.best)
         tl_help(a->s->diags, "did you mean '%s'?", near.best);
      else if (param_named(a->kernel, name) >= 0)
         tl_help(a->s->diags, "values of parameters are a dict: triton.Config({\"%s\": ..})", name);
      a->is_told = true; /* the others are mistaken in the same way */
      return;
   }
   const TlNode *kwargs = tl_decorator_argument(call, "kwargs", 0);
   for (size_t i = 0; kwargs && kwargs->kind == TL_AST_DICT && i < tl_ast_Dict(kwargs)->keys.len;
        i++)
      check_param_name(a, tl_ast_Dict(kwargs)->keys.data[i]);
}

static void
find_configs(void *user, TlNode *n)
{
   Around *a = user;
   if (!a->is_told && n->kind == TL_AST_CALL && strcmp(tl_decorator_name(n), "Config") == 0)
      check_config(a, n);
   tl_ast_children(n, find_configs, user);
}

/* Triton passes over a key that is no parameter: the choice for one value serves all. */
static void
check_keys(const Around *a, const TlNode *autotune)
{
   const TlNode *key =
      autotune->kind == TL_AST_CALL ? tl_decorator_argument(autotune, "key", 1) : NULL;
   if (!key || key->kind != TL_AST_LIST)
      return;
   const TlNodeList *names = &tl_ast_List(key)->items;
   for (size_t i = 0; i < names->len; i++) {
      const TlNode *n = names->data[i];
      const char *name = n->kind == TL_AST_STR ? tl_ast_Str(n)->value.data : NULL;
      if (!name || param_named(a->kernel, name) >= 0)
         continue;
      TlNearest near = {.name = name};
      for (unsigned p = 0; p < a->kernel->num_params; p++)
         tl_nearest_try(&near, a->kernel->params[p].name);
      tl_report(a->s->diags, W0211, n->range, name, a->kernel->name);
      if (near.best)
         tl_help(a->s->diags, "did you mean '%s'?", near.best);
      else
         tl_help(a->s->diags, "name parameters whose values decide which configuration is best");
   }
}

/* configs=[{"BLOCK": 64}] */
static void
check_config_list(const Around *a, const TlNode *autotune)
{
   const TlNode *list =
      autotune->kind == TL_AST_CALL ? tl_decorator_argument(autotune, "configs", 0) : NULL;
   for (size_t i = 0; list && list->kind == TL_AST_LIST && i < tl_ast_List(list)->items.len; i++) {
      const TlNode *n = tl_ast_List(list)->items.data[i];
      if (n->kind != TL_AST_DICT)
         continue;
      tl_report(a->s->diags, E0302, n->range, "configs", "autotune", "a list of configurations",
                "a dict");
      tl_help(a->s->diags, "write triton.Config(%s)", tl_range_text(a->s, n->range));
      return;
   }
}

/* @triton.jit above @triton.autotune: Triton's jit takes functions only. */
static void
check_order(const Around *a, const TlNodeList *decorators)
{
   const TlNode *jit = NULL;
   for (size_t i = 0; i < decorators->len; i++) {
      const char *name = tl_decorator_name(decorators->data[i]);
      if (tl_is_jit_decorator(decorators->data[i]))
         jit = decorators->data[i];
      else if (jit && (strcmp(name, "autotune") == 0 || strcmp(name, "heuristics") == 0))
         tl_report(a->s->diags, E0305, decorators->data[i]->range, name, tl_decorator_name(jit));
   }
}

static void
check_autotune(Around *a, const TlSvFunc *fn)
{
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   check_order(a, d);
   for (size_t i = 0; i < d->len; i++) {
      if (strcmp(tl_decorator_name(d->data[i]), "autotune") != 0)
         continue;
      check_config_list(a, d->data[i]);
      find_configs(a, d->data[i]);
      check_keys(a, d->data[i]);
   }
}

/* Values that no function gives: a heuristic is called with the arguments. */
static void
check_heuristics(const Around *a, const TlSvFunc *fn)
{
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   for (size_t i = 0; i < d->len; i++) {
      const TlNode *values =
         d->data[i]->kind == TL_AST_CALL && strcmp(tl_decorator_name(d->data[i]), "heuristics") == 0
            ? tl_decorator_argument(d->data[i], "values", 0)
            : NULL;
      if (!values || values->kind != TL_AST_DICT)
         continue;
      const TlNodeList *given = &tl_ast_Dict(values)->values;
      for (size_t k = 0; k < given->len; k++) {
         const TlNode *v = given->data[k];
         if (v->kind != TL_AST_INT && v->kind != TL_AST_STR && v->kind != TL_AST_FLOAT)
            continue;
         tl_report(a->s->diags, E0257, v->range,
                   tl_arena_printf(a->s->arena, "the heuristic %s", tl_range_text(a->s, v->range)));
         tl_help(a->s->diags, "a heuristic is called with the arguments: lambda args: %s",
                 tl_range_text(a->s, v->range));
      }
   }
}

/* ---- files ---- */
/* @kernal: a bare name that nothing binds and that nearly is one of the language's. */
static bool
check_bare_decorator(TlSema *s, const TlSvFunc *fn, const TlNode *n)
{
   static const char *const names[] = {"kernel", "jit", "autotune", "heuristics"};
   TlSv v;
   if (n->kind != TL_AST_NAME)
      return false;
   TlNearest near = {.name = tl_ast_Name(n)->id};
   for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
      tl_nearest_try(&near, names[k]);
   if (!near.best || tl_lookup_quiet(s, tl_module_frame(s, fn->source), near.name, &v))
      return false;
   tl_report(s->diags, E0200, n->range, near.name);
   tl_help(s->diags, "did you mean '@%s'?", near.best);
   return true;
}

static void
check_decorators(TlSema *s, const TlSvFunc *fn)
{
   static const char *const names[] = {"jit", "autotune", "heuristics"};
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   for (size_t i = 0; i < d->len; i++) {
      const TlNode *n =
         d->data[i]->kind == TL_AST_CALL ? tl_ast_Call(d->data[i])->func : d->data[i];
      const char *dotted = tl_dotted_text(s, n);
      const char *name = dotted ? tl_skip_prefix(dotted, "triton.") : NULL;
      TlSv v;
      if (check_bare_decorator(s, fn, n))
         return;
      if (!name || strchr(name, '.'))
         continue;
      TlNearest near = {.name = name};
      for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
         tl_nearest_try(&near, names[k]);
      TlSv triton = tl_module_value(s, "triton");
      if (!near.best || strcmp(near.best, near.name) == 0 ||
          tl_module_attr(s, triton.module, near.name, &v))
         continue;
      tl_report(s->diags, E0201, n->range, "triton", near.name);
      tl_help(s->diags, "did you mean '%s'?", near.best);
      return;
   }
}

/* x: tl.constepxr: Triton would not find it when the file is read. */
static void
check_annotations(TlSema *s, const TlSvFunc *fn)
{
   const TlNodeList *params = &tl_ast_Function(fn->node)->params;
   for (size_t i = 0; i < params->len; i++) {
      const TlNode *a = tl_ast_Param(params->data[i])->annotation;
      const TlNode *of = a && a->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(a)->value : NULL;
      TlSv v;
      if (!of || of->kind != TL_AST_NAME ||
          !tl_lookup_quiet(s, tl_module_frame(s, fn->source), tl_ast_Name(of)->id, &v) ||
          v.kind != TL_SV_MODULE || v.module->kind != TL_MOD_BUILTIN)
         continue;
      const char *name = tl_ast_Attribute(a)->name;
      TlNearest near = {.name = name};
      tl_nearest_try(&near, "constexpr");
      for (unsigned d = 0; d < TL_DTYPE_COUNT; d++)
         tl_nearest_try(&near, tl_dtype_info[d].triton_name);
      if (!near.best || tl_module_attr(s, v.module, name, &v))
         continue;
      tl_report(s->diags, E0201, a->range, v.module->name, name);
      tl_help(s->diags, "did you mean '%s'?", near.best);
   }
}

/* Two names in a row begin no statement of Python but `match x:`, `case x:` and `type X = ..`: what
 * was passed over as host code is misspelt. */
static void
check_skipped(TlSema *s, const TlNode *n)
{
   const char *text = tl_range_text(s, n->range), *why = tl_ast_Skipped(n)->reason;
   size_t first = strspn(text, LETTERS), blank = strspn(text + first, " ");
   bool is_soft = tl_starts_with(text, "match ") || tl_starts_with(text, "case ") ||
                  tl_starts_with(text, "type ");
   if (!first || !blank || is_soft || !strspn(text + first + blank, LETTERS) || !why ||
       !strstr(why, "found name"))
      return;
   const char *word = tl_arena_strndup(s->arena, text, first), *near = tl_nearest_keyword(word);
   if (!near)
      return;
   tl_report(s->diags, E0240, n->range, why);
   tl_help(s->diags, "did you mean '%s' in place of '%s'?", near, word);
}

/* An import that finds nothing, and nearly is one of the language's modules. */
static void
check_import(TlSema *s, const TlAstImport *import)
{
   for (size_t i = 0; i < import->names.len; i++) {
      const TlNode *alias = import->names.data[i];
      const char *module = import->is_from ? import->module : tl_ast_Alias(alias)->name;
      TlSv v =
         import->level || !module ? tl_sv_none() : tl_import_value(s, import, tl_ast_Alias(alias));
      if (tl_is_host_module_value(&v) && v.module->import.file && tl_nearest_module(module)) {
         tl_report_opaque(s, &v, v.module->import);
         return;
      }
   }
}

static bool
imports_triton(const TlSourceModule *main)
{
   for (size_t i = 0; i < main->ast->body.len; i++) {
      const TlNode *n = main->ast->body.data[i];
      const TlAstImport *import = n && n->kind == TL_AST_IMPORT ? tl_ast_Import(n) : NULL;
      for (size_t k = 0; import && k < import->names.len; k++) {
         const char *name =
            import->is_from ? import->module : tl_ast_Alias(import->names.data[k])->name;
         if (name && tl_starts_with(name, "triton"))
            return true;
      }
   }
   return false;
}

/* The function that was to be a kernel: the first that speaks of tl, else the first. */
static const TlNode *
would_be_kernel(TlSema *s)
{
   const TlNodeList *body = &s->impl->main->ast->body;
   const TlNode *first = NULL;
   for (size_t i = 0; i < body->len; i++) {
      const TlNode *n = body->data[i];
      if (!n || n->kind != TL_AST_FUNCTION)
         continue;
      if (strstr(tl_range_text(s, n->range), "tl."))
         return n;
      first = first ? first : n;
   }
   return first;
}

/* `triton.jit` alone in the line above the function, without its '@'. */
static const TlNode *
decorator_without_at(const TlSourceModule *main, const TlNode *function)
{
   const TlNodeList *body = &main->ast->body;
   for (size_t i = 0; i + 1 < body->len; i++) {
      const TlNode *n = body->data[i];
      if (n && body->data[i + 1] == function && n->kind == TL_AST_EXPR_STMT &&
          tl_is_jit_decorator(tl_ast_ExprStmt(n)->value))
         return n;
   }
   return NULL;
}

void
tl_report_no_kernel(TlSema *s)
{
   const TlSourceModule *main = s->impl->main;
   const TlNode *fn = would_be_kernel(s);
   if (!fn) {
      tl_report(s->diags, E0262, tl_range(main->file, 0, 0));
      return;
   }
   const TlNode *plain = decorator_without_at(main, fn);
   const TlNodeList *decorators = &tl_ast_Function(fn)->decorators;
   const char *name = tl_ast_Function(fn)->name, *why = tl_why_unlisted(s, name);
   tl_report(s->diags, E0262, plain ? plain->range : tl_ast_name_range(s->sources, fn));
   if (why)
      tl_help(s->diags, "'%s' is none: %s", name, why);
   else if (plain)
      tl_help(s->diags, "a decorator begins with '@': @%s", tl_range_text(s, plain->range));
   else if (decorators->len)
      tl_help(s->diags, "'@%s' makes no kernel: write @triton.jit above 'def %s'",
              tl_range_text(s, decorators->data[0]->range), name);
   else
      tl_help(s->diags, "write @triton.jit, or @kernel in a .tile file, in the line above 'def %s'",
              name);
}

void
tl_check_around(TlSema *s, bool has_kernels)
{
   const TlSourceModule *main = s->impl->main;
   unsigned errors = s->diags->num_errors;
   for (size_t i = 0; i < main->ast->body.len; i++)
      if (main->ast->body.data[i] && main->ast->body.data[i]->kind == TL_AST_IMPORT)
         check_import(s, tl_ast_Import(main->ast->body.data[i]));
   for (size_t i = 0; i < main->functions.len; i++)
      if (main->functions.data[i]->node->kind == TL_AST_FUNCTION) {
         check_decorators(s, main->functions.data[i]);
         if (main->functions.data[i]->is_compiled)
            check_annotations(s, main->functions.data[i]);
      }
   for (size_t i = 0; i < main->ast->body.len; i++)
      if (main->ast->body.data[i] && main->ast->body.data[i]->kind == TL_AST_SKIPPED)
         check_skipped(s, main->ast->body.data[i]);
   if (has_kernels || s->diags->num_errors != errors)
      return;
   for (size_t i = 0; i < main->ast->body.len; i++) {
      const TlNode *n = main->ast->body.data[i];
      if (n && n->kind == TL_AST_SKIPPED) { /* of a .py file, where it may be host code */
         const char *why = tl_ast_Skipped(n)->reason;
         tl_report(s->diags, E0240, n->range, why ? why : "not understood");
         tl_help(s->diags,
                 "a kernel is a Python function, 'def name(parameters):', below @triton.jit");
         return;
      }
   }
   if (!main->is_tile && !imports_triton(main))
      return; /* host code */
   tl_report_no_kernel(s);
}

void
tl_check_launches(TlSema *s, const TlKernelInfo *k)
{
   const TlSvFunc *fn = tl_function_of(s, k->name);
   const TlCalls *calls = tl_launches_of(s, k->name);
   TlMeta meta = {0};
   if (!fn || fn->source != s->impl->main)
      return;
   if (tl_is_wrapped(fn))
      return;
   tl_read_decorators(s, fn, &meta);
   Around around = {.s = s, .kernel = k};
   check_autotune(&around, fn);
   check_heuristics(&around, fn);
   const TlGlobal *g = tl_global_find(s, fn->source, fn->name);
   bool is_own = g && g->value.kind == TL_SV_FUNC && g->value.func->node == fn->node;
   if (is_own && !fn->source->is_tile)
      report_plain_calls(s, k);
   for (size_t i = 0; calls && i < calls->len; i++)
      check_launch(s, k, calls->data[i], meta.autotune || meta.heuristics.len);
}
