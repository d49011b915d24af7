/* What stands around a kernel of a file and does not fit it: launches, configurations, decorators
 * by a wrong name, a file without any kernel. */
#include "sema/generic.h"
#include "sema/builtin.h"
#include "sema/impl.h"
#include "sema/launch_args.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

typedef struct Around {
   TlSema *s;
   const TlKernelInfo *kernel;
   bool is_told;   /* what is wrong with a configuration */
   bool is_spoilt; /* and the kernel cannot be looked at with its values */
} Around;

/* ---- what launches get wrong ---- */
static const char *const launch_options[] = {"num_warps",    "num_stages",
                                             "num_ctas",     "maxnreg",
                                             "grid",         "stream",
                                             "device",       "warmup",
                                             "debug",        "enable_fp_fusion",
                                             "launch_pdl",   "launch_cooperative_grid",
                                             "extern_libs",  "matrix_instr_nonkdim",
                                             "kpack",        "waves_per_eu",
                                             "cluster_dims", "sanitize_overflow",
                                             "arch",         "instrumentation_mode"};
enum { NUM_LAUNCH_OPTIONS = sizeof launch_options / sizeof launch_options[0] };

static bool
is_launch_option(const char *name)
{
   for (size_t i = 0; i < NUM_LAUNCH_OPTIONS; i++)
      if (strcmp(launch_options[i], name) == 0)
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

/* Which of the kernel's parameters, or of a launch's options where they are meant too, a name is
 * like; else all parameters. */
static void
help_near_param(TlSema *s, const TlKernelInfo *k, const char *name, bool may_be_option)
{
   TlNearest near = {.name = name};
   for (unsigned i = 0; i < k->num_params; i++)
      tl_nearest_try(&near, k->params[i].name);
   for (size_t i = 0; may_be_option && i < NUM_LAUNCH_OPTIONS; i++)
      tl_nearest_try(&near, launch_options[i]);
   TlSb names;
   tl_sb_init(&names, s->arena);
   for (unsigned i = 0; i < k->num_params; i++)
      tl_sb_printf(&names, "%s%s", i ? ", " : "", k->params[i].name);
   if (near.best)
      tl_help(s->diags, "did you mean '%s'?", near.best);
   else if (k->num_params)
      tl_help(s->diags, "its parameters are %s", tl_sb_cstr(&names));
}

static void
report_unknown(TlSema *s, const TlKernelInfo *k, TlRange range, const char *name)
{
   tl_report(s->diags, E0271, range, k->name, name);
   help_near_param(s, k, name, true);
}

/* True after a report. */
static bool
check_param_name(const Around *a, const TlNode *text)
{
   const char *name = text && text->kind == TL_AST_STR ? tl_ast_Str(text)->value.data : NULL;
   bool is_unknown = name && param_named(a->kernel, name) < 0 && !is_launch_option(name);
   if (is_unknown)
      report_unknown(a->s, a->kernel, text->range, name);
   return is_unknown;
}

/* The names of {'BLOCK': 64}, where the node is a Config of such; NULL: it is none. */
static const TlNodeList *
config_keys(TlNode *n)
{
   bool is_config = n->kind == TL_AST_CALL && strcmp(tl_decorator_name(n), "Config") == 0;
   const TlNode *dict = is_config ? tl_decorator_argument(n, "kwargs", 0) : NULL;
   return dict && dict->kind == TL_AST_DICT ? &tl_ast_Dict(dict)->keys : NULL;
}

/* ---- a parameter whose value the configurations give to another name ---- */
typedef struct Misnamed {
   TlSema *s;
   const TlKernelInfo *kernel;
   const char *without; /* the parameter that has no value */
   bool is_told;
} Misnamed;

static void
find_misnamed(void *user, TlNode *n)
{
   Misnamed *m = user;
   const TlNodeList *keys = config_keys(n);
   for (size_t i = 0; keys && i < keys->len && !m->is_told; i++) {
      const TlNode *key = keys->data[i];
      const char *name = key && key->kind == TL_AST_STR ? tl_ast_Str(key)->value.data : NULL;
      if (!name || param_named(m->kernel, name) >= 0 || is_launch_option(name))
         continue;
      report_unknown(m->s, m->kernel, key->range, name);
      tl_help(m->s->diags, "did you mean '%s'? it has no value", m->without);
      m->is_told = true;
   }
   tl_ast_children(n, find_misnamed, m);
}

bool
tl_misnamed_value(TlSema *s, const TlNode *autotune, const TlSvFunc *fn, const char *param)
{
   const TlKernelInfo *k;
   unsigned n = autotune ? tl_sema_kernels(s, &k) : 0;
   for (unsigned i = 0; i < n; i++) {
      Misnamed m = {s, &k[i], param, false};
      if (strcmp(k[i].name, tl_ast_Function(fn->node)->name) != 0)
         continue;
      find_misnamed(&m, (TlNode *)(uintptr_t)autotune);
      return m.is_told;
   }
   return false;
}

typedef struct Arguments { /* of a heuristic, or the grid */
   Around *a;
   const char *dict; /* the lambda's parameter */
} Arguments;

/* args.total: what they are is a dict. */
static void
check_argument_attribute(Arguments *h, const TlNode *n)
{
   const TlAstAttribute *a = n->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(n) : NULL;
   if (!a || h->a->is_told || a->value->kind != TL_AST_NAME ||
       tl_ast_Name(a->value)->id != h->dict || param_named(h->a->kernel, a->name) < 0)
      return;
   tl_report(h->a->s->diags, E0343, n->range,
             tl_arena_printf(h->a->s->arena, "'%s', a dict,", h->dict), a->name);
   tl_help(h->a->s->diags, "its items are taken by name: %s[\"%s\"]", h->dict, a->name);
   h->a->is_told = true;
}

/* args["total"], in a lambda of args */
static void
find_argument(void *user, TlNode *n)
{
   Arguments *h = user;
   check_argument_attribute(h, n);
   const TlAstSubscript *x = n->kind == TL_AST_SUBSCRIPT ? tl_ast_Subscript(n) : NULL;
   bool is_of_dict = x && x->value->kind == TL_AST_NAME && tl_ast_Name(x->value)->id == h->dict;
   if (is_of_dict && x->indices.len == 1 && !h->a->is_told)
      h->a->is_told = check_param_name(h->a, x->indices.data[0]);
   tl_ast_children(n, find_argument, user);
}

static void
check_arguments_read(Around *a, const TlNode *v)
{
   const TlNodeList *params = v->kind == TL_AST_LAMBDA ? &tl_ast_Lambda(v)->params : NULL;
   if (!params || params->len != 1 || !tl_ast_Param(params->data[0])->name)
      return;
   Arguments h = {a, tl_ast_Param(params->data[0])->name};
   find_argument(&h, tl_ast_Lambda(v)->body);
}

static bool
refuse_grid(TlSema *s, TlRange range, const char *what, const char *help)
{
   tl_report(s->diags, E0277, range, what);
   tl_help(s->diags, "%s", help);
   return false;
}

static bool
is_quotient(const TlNode *n)
{
   return n->kind == TL_AST_BINARY && tl_ast_Binary(n)->op == TL_AST_OP_DIV;
}

/* kernel[lambda: ..]: the grid's function gets the constexpr values.  False after a report. */
static bool
check_grid(TlSema *s, const TlKernelInfo *k, const TlAstCall *call)
{
   enum { MOST = 3 };
   static const char many[] = "a grid has at most three dimensions",
                     fold[] = "fold several into one: pid // n and pid % n take it apart";
   const TlNodeList *grid =
      call->func->kind == TL_AST_SUBSCRIPT ? &tl_ast_Subscript(call->func)->indices : NULL;
   if (grid && grid->len > MOST)
      return refuse_grid(s, grid->data[MOST]->range, many, fold);
   for (size_t i = 0; grid && grid->len > 1 && i < grid->len; i++)
      if (grid->data[i]->kind == TL_AST_TUPLE)
         return refuse_grid(s, grid->data[i]->range, "its sizes are integers",
                            "the grid is one tuple, k[(programs,)](..), and threads are the "
                            "compiler's matter: num_warps=4");
   const TlNode *given = grid && grid->len == 1 ? grid->data[0] : NULL;
   TlSv v = given && given->kind == TL_AST_NAME
               ? tl_quiet_value(s, tl_module_frame(s, s->impl->main), given, NULL)
               : tl_sv_none();
   const TlNode *local = given && given->kind == TL_AST_NAME && v.kind != TL_SV_FUNC
                            ? tl_local_value(s, &call->node, tl_ast_Name(given)->id)
                            : NULL;
   const TlNode *fn = v.kind == TL_SV_FUNC ? v.func->node : local ? local : given;
   if (fn && fn->kind == TL_AST_TUPLE && tl_ast_Tuple(fn)->items.len > MOST)
      return refuse_grid(s, fn->range, many, fold);
   const TlNode *size = fn && fn->kind == TL_AST_LAMBDA ? tl_ast_Lambda(fn)->body : fn;
   const TlNodeList *sizes = size && size->kind == TL_AST_TUPLE ? &tl_ast_Tuple(size)->items : grid;
   for (size_t i = 0; sizes && i < sizes->len; i++)
      if (is_quotient(sizes->data[i]))
         return refuse_grid(s, sizes->data[i]->range,
                            "its sizes are integers, and '/' gives a fraction",
                            "round up: triton.cdiv(n, BLOCK)");
   bool is_one = size && size->kind != TL_AST_TUPLE && size->kind != TL_AST_LIST &&
                 v.kind != TL_SV_FUNC && !(grid && tl_ast_Subscript(call->func)->is_tuple);
   if (is_one && size == local && is_quotient(size))
      return refuse_grid(s, size->range, "its sizes are integers, and '/' gives a fraction",
                         "round up: triton.cdiv(n, BLOCK)");
   if (is_one && tl_expression_kind(s, &call->node, size) == TL_ARG_INT)
      return refuse_grid(s, size->range, "it is a tuple of sizes, and this is one number",
                         tl_arena_printf(s->arena,
                                         "write it with a comma, in parentheses: (%.60s,)",
                                         tl_range_text(s, size->range)));
   if (!fn || fn->kind != TL_AST_LAMBDA)
      return true;
   if (!tl_ast_Lambda(fn)->params.len)
      return refuse_grid(s, given->range, "its function is called with the constexpr values",
                         "write lambda META: .., or the grid itself");
   Around a = {.s = s, .kernel = k};
   check_arguments_read(&a, fn);
   return !a.is_told;
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
   const TlNode *v = tl_ast_Keyword(keyword)->value;
   int64_t n = v->kind == TL_AST_INT ? (int64_t)tl_ast_Int(v)->value : 1;
   if (p < 0 && strcmp(name, "num_warps") == 0 && (n < 1 || n > 32 || (n & (n - 1)))) {
      tl_report_warps(s, v->range, n);
      return false;
   }
   bool is_count = strcmp(name, "num_warps") == 0 || strcmp(name, "num_stages") == 0 ||
                   strcmp(name, "num_ctas") == 0;
   if (p < 0 && is_count && (v->kind == TL_AST_STR || v->kind == TL_AST_FLOAT)) {
      tl_report(s->diags, E0260, v->range, name, tl_range_text(s, v->range));
      return false;
   }
   if (p >= 0 || is_launch_option(name))
      return true;
   report_unknown(s, k, tl_ast_name_range(s->sources, keyword), name);
   return false;
}

static bool
has_starred(const TlNodeList *args)
{
   for (size_t i = 0; i < args->len; i++)
      if (args->data[i]->kind == TL_AST_STARRED ||
          (args->data[i]->kind == TL_AST_KEYWORD && !tl_ast_Keyword(args->data[i])->name))
         return true;
   return false;
}

/* k[grid](x, q, n) of k(x, q, scale, n): from which argument on is one left out, as what is given
 * by position has the names of the parameters behind?  -1: none is. */
static int
shifted_at(TlSema *s, const TlKernelInfo *k, const TlAstCall *call)
{
   for (size_t i = 0; i < call->args.len && i + 1 < k->num_params; i++) {
      const TlNode *a = call->args.data[i];
      const char *text = a->kind == TL_AST_NAME ? tl_range_text(s, a->range) : NULL;
      if (text && strcmp(text, k->params[i].name) != 0 && strcmp(text, k->params[i + 1].name) == 0)
         return (int)i;
   }
   return -1;
}

static void
help_lacking(TlSema *s, const TlKernelInfo *k, const TlAstCall *call, unsigned missing)
{
   TlSb names;
   int at = shifted_at(s, k, call);
   tl_sb_init(&names, s->arena);
   for (unsigned i = 0; i < k->num_params; i++)
      tl_sb_printf(&names, "%s%s", i ? ", " : "", k->params[i].name);
   if (at >= 0)
      tl_help(s->diags,
              "'%s' is given for '%s', which is left out before it; the parameters are %s",
              k->params[at + 1].name, k->params[at].name, tl_sb_cstr(&names));
   else
      tl_help(s->diags,
              "the launch gives each parameter a value, in order or by name, as in %s=..; "
              "they are %s",
              k->params[missing].name, tl_sb_cstr(&names));
}

static void
check_launch(TlSema *s, const TlKernelInfo *k, const TlAstCall *call, bool has_configs)
{
   bool *given = tl_new_array(s->arena, bool, k->num_params + 1);
   if (!check_grid(s, k, call))
      return;
   bool is_open = has_starred(&call->args);
   for (size_t i = 0; i < call->args.len; i++) {
      const TlNode *a = call->args.data[i];
      TlPlaced placed = tl_placed_argument(call, i);
      if (placed.keyword) {
         if (!check_keyword(s, k, a, given))
            return;
      } else if (placed.value && i < k->num_params) {
         given[i] = true;
      } else if (placed.value) {
         tl_report(s->diags, E0252, a->range, k->name, k->num_params, (unsigned)i + 1);
         return;
      }
   }
   TlLaunchArg *args = tl_new_array(s->arena, TlLaunchArg, k->num_params + 1);
   tl_launch_args(s, k, call, args);
   for (unsigned p = 0; p < k->num_params; p++)
      if (args[p].kind == TL_ARG_ARRAY && k->params[p].is_constexpr) {
         tl_report(s->diags, E0236, args[p].node->range, k->params[p].name, k->name,
                   "known when it is compiled", tl_arg_kind_text(TL_ARG_ARRAY));
         tl_help(s->diags, "give it a number, a text or a type; arrays go to parameters that are "
                           "not tl.constexpr");
         return;
      }
   for (unsigned p = 0; p < k->num_params && !is_open; p++)
      if (!given[p] && !k->params[p].default_text && !(has_configs && k->params[p].is_constexpr)) {
         tl_report(s->diags, E0251, call->node.range, k->name, k->params[p].name);
         help_lacking(s, k, call, p);
         return;
      }
}

/* BLOCK=64 in the launch of a kernel whose configurations have BLOCK: Triton refuses to measure. */
typedef struct Configured {
   TlSema *s;
   const TlKernelInfo *kernel;
   const TlNode *keyword; /* of the launch */
   const char *name;
   bool is_told;
} Configured;

static void
find_configured(void *user, TlNode *n)
{
   Configured *c = user;
   const TlNodeList *keys = config_keys(n);
   for (size_t i = 0; keys && i < keys->len && !c->is_told; i++) {
      const TlNode *key = keys->data[i];
      if (!key || key->kind != TL_AST_STR || strcmp(tl_ast_Str(key)->value.data, c->name) != 0)
         continue;
      tl_report(c->s->diags, E0254, c->keyword->range, c->kernel->name, c->name);
      tl_help(c->s->diags,
              "the tuner chooses '%s' from the configurations: leave it out here, or "
              "there",
              c->name);
      tl_note(c->s->diags, N0200, key->range, "a configuration gives it here");
      c->is_told = true;
   }
   tl_ast_children(n, find_configured, c);
}

static bool
check_configured(TlSema *s, const TlKernelInfo *k, const TlAstCall *call, const TlNode *autotune)
{
   for (size_t i = 0; autotune && i < call->args.len; i++) {
      const TlNode *a = call->args.data[i];
      if (a->kind != TL_AST_KEYWORD || !tl_ast_Keyword(a)->name)
         continue;
      Configured c = {s, k, a, tl_ast_Keyword(a)->name, false};
      find_configured(&c, (TlNode *)(uintptr_t)autotune);
      if (c.is_told)
         return false;
   }
   return true;
}

/* ---- axes of the grid ---- */
const TlNode *
tl_grid_node(TlSema *s, const TlNode *at, const TlNode *grid)
{
   const TlNode *local =
      grid && grid->kind == TL_AST_NAME && at ? tl_local_value(s, at, tl_ast_Name(grid)->id) : NULL;
   grid = local ? local : grid;
   return grid && grid->kind == TL_AST_LAMBDA ? tl_ast_Lambda(grid)->body : grid;
}

/* Of a grid (a, b), lambda META: (a, b); 0: not known. */
static unsigned
num_axes(TlSema *s, const TlNode *at, const TlNode *grid)
{
   grid = tl_grid_node(s, at, grid);
   return grid && grid->kind == TL_AST_TUPLE ? (unsigned)tl_ast_Tuple(grid)->items.len : 0;
}

static unsigned
launched_axes(TlSema *s, const TlAstCall *call)
{
   const TlAstSubscript *x =
      call->func->kind == TL_AST_SUBSCRIPT ? tl_ast_Subscript(call->func) : NULL;
   if (!x)
      return 0;
   return x->is_tuple ? (unsigned)x->indices.len : num_axes(s, &call->node, x->indices.data[0]);
}

static bool
is_one(const TlNode *n)
{
   return n->kind == TL_AST_INT && tl_ast_Int(n)->value == 1;
}

static bool
are_ones(const TlNodeList *items)
{
   for (size_t i = 0; i < items->len; i++)
      if (!is_one(items->data[i]))
         return false;
   return items->len > 0;
}

bool
tl_is_launched_once(TlSema *s, const char *kernel)
{
   const TlCalls *calls = tl_launches_of(s, kernel);
   for (size_t i = 0; calls && i < calls->len; i++) {
      const TlAstCall *call = calls->data[i];
      const TlAstSubscript *x = tl_ast_Subscript(call->func);
      const TlNode *grid = tl_grid_node(s, &call->node, x->indices.data[0]);
      if (x->is_tuple ? are_ones(&x->indices)
                      : grid->kind == TL_AST_TUPLE && are_ones(&tl_ast_Tuple(grid)->items))
         return true;
   }
   return false;
}

typedef struct Axes {
   TlSema *s;
   unsigned num;
   bool is_told, asks_numbers; /* num_programs(..): it is for grids of any size */
   unsigned own;               /* bits of the axes that program_id asks for */
} Axes;

/* Of program_id(1), name(1): 1; -1 for what is no such call, or says no number. */
static int
axis_of(const TlNode *n, const char *name)
{
   const TlAstCall *call = n->kind == TL_AST_CALL ? tl_ast_Call(n) : NULL;
   if (!call || strcmp(tl_decorator_name(n), name) != 0 || call->args.len != 1)
      return -1;
   const TlNode *axis = call->args.data[0];
   if (axis->kind == TL_AST_KEYWORD)
      axis = tl_ast_Keyword(axis)->value;
   return axis->kind == TL_AST_INT && tl_ast_Int(axis)->value < 3 ? (int)tl_ast_Int(axis)->value
                                                                  : -1;
}

static void
find_numbers(void *user, TlNode *n)
{
   Axes *a = user;
   int own = axis_of(n, "program_id");
   a->asks_numbers |= n->kind == TL_AST_CALL && strcmp(tl_decorator_name(n), "num_programs") == 0;
   a->own |= own >= 0 ? 1U << own : 0;
   tl_ast_children(n, find_numbers, a);
}

static void
find_axis(void *user, TlNode *n)
{
   Axes *a = user;
   if (n->kind == TL_AST_IF || n->kind == TL_AST_CONDITIONAL)
      return; /* it may be for other grids */
   int own = axis_of(n, "program_id"), number = axis_of(n, "num_programs");
   bool is_zero = own >= (int)a->num && !a->asks_numbers;
   bool is_one = number >= (int)a->num && !(a->own >> number & 1); /* a slip for another axis */
   if ((is_zero || is_one) && !a->is_told) {
      tl_report(a->s->diags, W0232, n->range, a->num, a->num == 1 ? "" : "s",
                tl_range_text(a->s, n->range), is_one);
      int asked = a->own & 1 ? 0 : a->own & 2 ? 1 : 2;
      if (is_one && a->own)
         tl_help(a->s->diags,
                 "the kernel asks for program_id(%d): num_programs(%d) is how many "
                 "programs there are along that axis",
                 asked, asked);
      a->is_told = true;
   }
   tl_ast_children(n, find_axis, a);
}

/* program_id(1), or num_programs(1) alone, where no grid of the file has a second size. */
static void
check_axes(TlSema *s, const TlSvFunc *fn, const TlCalls *calls)
{
   const TlNodeList *decorators = &tl_ast_Function(fn->node)->decorators;
   Axes a = {.s = s};
   for (size_t i = 0; i < decorators->len; i++) {
      const TlNode *d = decorators->data[i];
      if (tl_is_jit_decorator(d) && d->kind == TL_AST_CALL)
         a.num = num_axes(s, NULL, tl_decorator_argument(d, "grid", -1));
   }
   for (size_t i = 0; calls && i < calls->len; i++) {
      unsigned num = launched_axes(s, calls->data[i]);
      if (!num)
         return;
      a.num = a.num > num ? a.num : num;
   }
   const TlNodeList *body = &tl_ast_Function(fn->node)->body;
   for (size_t i = 0; a.num && i < body->len; i++)
      if (body->data[i])
         find_numbers(&a, body->data[i]);
   for (size_t i = 0; a.num && i < body->len; i++)
      if (body->data[i])
         find_axis(&a, body->data[i]);
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
typedef struct Configs {
   Around *a;
   const TlSvFunc *fn;
} Configs;

/* triton.Config({"BLOCK": 64, "num_warps": 8}): Triton's own num_warps, 4, takes its place. */
static void
check_option_in_dict(const Around *a, const TlNode *key)
{
   const char *name = key && key->kind == TL_AST_STR ? tl_ast_Str(key)->value.data : NULL;
   if (!name || param_named(a->kernel, name) >= 0 || !is_launch_option(name))
      return;
   tl_report(a->s->diags, W0211, key->range, "a configuration's", name, a->kernel->name);
   tl_help(a->s->diags,
           "it has no effect among the parameters, and stands beside their dict: "
           "triton.Config({..}, %s=..)",
           name);
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
      if (strcmp(name, "warps") == 0 || strcmp(name, "stages") == 0 || strcmp(name, "ctas") == 0)
         tl_help(a->s->diags, "write num_%s=..", name);
      else if (near.best)
         tl_help(a->s->diags, "did you mean '%s'?", near.best);
      else if (param_named(a->kernel, name) >= 0)
         tl_help(a->s->diags, "values of parameters are a dict: triton.Config({\"%s\": ..})", name);
      else if (tl_ast_Keyword(args->data[i])->value->kind == TL_AST_DICT)
         tl_help(a->s->diags, "the values of parameters come first, without a name: "
                              "triton.Config({\"BLOCK\": 64}, num_warps=4)");
      else
         tl_help(a->s->diags, "it takes a dict of parameters' values, num_warps, num_stages, "
                              "num_ctas, maxnreg and pre_hook");
      a->is_told = true; /* the others are mistaken in the same way */
      return;
   }
   const TlNode *kwargs = tl_decorator_argument(call, "kwargs", 0);
   const TlNodeList *keys =
      kwargs && kwargs->kind == TL_AST_DICT ? &tl_ast_Dict(kwargs)->keys : NULL;
   for (size_t i = 0; keys && i < keys->len && !a->is_told; i++) {
      a->is_told = check_param_name(a, keys->data[i]); /* the others are mistaken in the same way */
      if (!a->is_told)
         check_option_in_dict(a, keys->data[i]);
   }
}

/* The value that the decorator is given; NONE when it is not known here. */
static TlSv
given_value(const Around *a, const TlSvFunc *fn, const TlNode *n)
{
   TlSv v = n ? tl_decorator_value(a->s, fn, n, NULL) : tl_sv_none();
   bool is_unknown = v.kind == TL_SV_POISON || v.kind == TL_SV_OPAQUE || v.kind == TL_SV_MODULE;
   return is_unknown ? tl_sv_none() : v;
}

/* What is wrong with an option of a decorator, at `n`; `form` is how it is written. */
static void
refuse_option(Around *a, const TlNode *n, const char *option, const char *what, const TlSv *got,
              const char *form)
{
   tl_report(a->s->diags, E0302, n->range, option, "autotune", what, tl_sv_describe(a->s, got));
   tl_help(a->s->diags, "write %s", form);
   a->is_told = true;
}

static bool
is_config(const TlSv *v)
{
   return v->kind == TL_SV_OBJECT && strcmp(v->fields->type_name, "Config") == 0;
}

/* configs=[64, 128], [{"BLOCK": 64}], triton.Config({"BLOCK": 64}) */
static void
check_config_list(Around *a, const TlSvFunc *fn, const TlNode *list)
{
   static const char what[] = "a list of configurations";
   TlSv v = given_value(a, fn, list);
   bool is_list = list->kind == TL_AST_LIST && v.kind == TL_SV_TUPLE &&
                  v.tuple->len == tl_ast_List(list)->items.len;
   if (is_config(&v) || v.kind == TL_SV_DICT || tl_sv_is_number(&v) || v.kind == TL_SV_STR) {
      const char *one = is_config(&v)          ? tl_node_text(a->s, list)
                        : v.kind == TL_SV_DICT ? tl_arena_printf(a->s->arena, "triton.Config(%s)",
                                                                 tl_node_text(a->s, list))
                                               : "triton.Config({\"BLOCK\": 64})";
      refuse_option(a, list, "configs", what, &v,
                    tl_arena_printf(a->s->arena, "configs=[%s]", one));
      return;
   }
   for (size_t i = 0; v.kind == TL_SV_TUPLE && i < v.tuple->len; i++) {
      const TlSv *item = &v.tuple->items[i];
      const TlNode *n = is_list ? tl_ast_List(list)->items.data[i] : list;
      bool is_dict = item->kind == TL_SV_DICT;
      if (!is_dict && !tl_sv_is_number(item) && item->kind != TL_SV_STR &&
          item->kind != TL_SV_TUPLE)
         continue;
      refuse_option(a, n, "configs", what, item,
                    is_dict && is_list
                       ? tl_arena_printf(a->s->arena, "triton.Config(%s)", tl_node_text(a->s, n))
                       : "triton.Config({\"BLOCK\": 64}), with the names of "
                         "parameters and their values");
      return;
   }
}

/* triton.Config({"BLOCK": [64, 128]}) */
static void
check_config_value(Around *a, const TlNode *kwargs, const TlSv *key, const TlSv *v)
{
   const char *name = key->kind == TL_SV_STR ? tl_text_cstr(a->s, key->s) : "";
   const TlSv *items = v->kind == TL_SV_TUPLE ? v->tuple->items : NULL;
   const char *found =
      items && v->tuple->is_list && v->tuple->len > 1 && tl_sv_is_number(items) ? "a list" : NULL;
   if (v->kind == TL_SV_STR && strspn(tl_text_cstr(a->s, v->s), "0123456789") == v->s.len)
      found = v->s.len ? "a text" : NULL;
   if (!found)
      return;
   tl_report(a->s->diags, E0302, kwargs->range, name, "Config", "one value",
             tl_sv_describe(a->s, v));
   if (items)
      tl_help(a->s->diags,
              "write one triton.Config for each: triton.Config({\"%s\": %s}), "
              "triton.Config({\"%s\": %s})",
              name, tl_sv_constant_text(a->s, &items[0]), name,
              tl_sv_constant_text(a->s, &items[1]));
   else
      tl_help(a->s->diags, "a number is written without quotes: {\"%s\": %s}", name,
              tl_text_cstr(a->s, v->s));
   a->is_told = a->is_spoilt = true;
}

/* triton.Config(64), triton.Config({"BLOCK": 64}, "4") */
static void
check_config_values(Around *a, const TlSvFunc *fn, const TlNode *call)
{
   static const char *const numbers[] = {"num_warps", "num_stages", "num_ctas"};
   const TlNode *kwargs = tl_decorator_argument(call, "kwargs", 0);
   TlSv v = given_value(a, fn, kwargs);
   if (!kwargs && !tl_ast_Call(call)->args.len) {
      tl_report(a->s->diags, E0251, call->range, "Config", "kwargs");
      tl_help(a->s->diags,
              "give the values of parameters as a dict: triton.Config({\"BLOCK\": 64})");
      a->is_told = true;
   } else if (v.kind != TL_SV_NONE && v.kind != TL_SV_DICT && v.kind != TL_SV_OBJECT) {
      tl_report(a->s->diags, E0302, kwargs->range, "kwargs", "Config", "a dict of parameters",
                tl_sv_describe(a->s, &v));
      tl_help(a->s->diags, "give the values of parameters by name: triton.Config({\"BLOCK\": 64})");
      a->is_told = true;
   }
   for (size_t i = 0; v.kind == TL_SV_DICT && i < v.fields->len && !a->is_told; i++)
      check_config_value(a, kwargs, &v.fields->keys[i], &v.fields->values[i]);
   for (int i = 0; i < 3 && !a->is_told; i++) {
      const TlNode *n = tl_decorator_argument(call, numbers[i], i + 1);
      v = given_value(a, fn, n);
      if (v.kind == TL_SV_NONE || (v.kind == TL_SV_INT && v.i > 0 && v.i <= 1024))
         continue;
      tl_report(a->s->diags, E0260, n->range, numbers[i], tl_sv_describe(a->s, &v));
      a->is_told = true;
   }
}

/* Triton passes over a key that is no parameter: the choice for one value serves all. */
static void
check_keys(Around *a, const TlNode *key)
{
   TlSv text = {.kind = TL_SV_STR};
   if (key->kind == TL_AST_STR) {
      text.s = tl_ast_Str(key)->value;
      refuse_option(a, key, "key", "a list of parameters' names", &text,
                    tl_arena_printf(a->s->arena, "key=[%s]", tl_node_text(a->s, key)));
   }
   if (key->kind != TL_AST_LIST)
      return;
   const TlNodeList *names = &tl_ast_List(key)->items;
   for (size_t i = 0; i < names->len; i++) {
      const TlNode *n = names->data[i];
      const char *name = n->kind == TL_AST_STR ? tl_ast_Str(n)->value.data : NULL;
      if (!name || param_named(a->kernel, name) >= 0)
         continue;
      tl_report(a->s->diags, W0211, n->range, "the tuner's key", name, a->kernel->name);
      help_near_param(a->s, a->kernel, name, false);
   }
}

/* prune_configs_by={"early_prune": f}: Triton passes over a key that it does not know. */
static void
check_pruning(Around *a, const TlSvFunc *fn, const TlNode *by)
{
   TlSv v = given_value(a, fn, by);
   if (by && v.kind != TL_SV_NONE && v.kind != TL_SV_DICT) {
      const char *text = tl_node_text(a->s, by);
      refuse_option(a, by, "prune_configs_by", "a dict", &v,
                    v.kind == TL_SV_FUNC
                       ? tl_arena_printf(a->s->arena, "{\"early_config_prune\": %.40s}", text)
                       : "{\"early_config_prune\": f}, with f(configs, named_args, **kwargs)");
   }
   static const char *const names[] = {"early_config_prune", "perf_model", "top_k"};
   const TlNodeList *keys = by && by->kind == TL_AST_DICT ? &tl_ast_Dict(by)->keys : NULL;
   for (size_t i = 0; keys && i < keys->len && !a->is_told; i++) {
      const TlNode *n = keys->data[i];
      const char *name = n && n->kind == TL_AST_STR ? tl_ast_Str(n)->value.data : NULL;
      bool is_known = !name;
      for (size_t k = 0; name && k < sizeof names / sizeof names[0]; k++)
         is_known |= strcmp(names[k], name) == 0;
      if (is_known)
         continue;
      tl_report(a->s->diags, E0253, n->range, "prune_configs_by", name);
      tl_help(a->s->diags, "it has early_config_prune, a function of (configs, named_args), and "
                           "perf_model with top_k");
      a->is_told = true;
   }
}

/* reset_to_zero=["out"]: arrays that each measurement changes. */
static void
check_arrays(Around *a, const TlNode *list)
{
   for (size_t i = 0; list && list->kind == TL_AST_LIST && i < tl_ast_List(list)->items.len; i++)
      if (!a->is_told && check_param_name(a, tl_ast_List(list)->items.data[i]))
         a->is_told = true;
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
find_configs(void *user, TlNode *n)
{
   Configs *c = user;
   if (!c->a->is_told && n->kind == TL_AST_CALL && strcmp(tl_decorator_name(n), "Config") == 0) {
      check_config(c->a, n);
      if (!c->a->is_told)
         check_config_values(c->a, c->fn, n);
   }
   tl_ast_children(n, find_configs, user);
}

/* config=[..]: of that option's name another message is made. */
static bool
has_misspelt(const TlNode *decorator, const char *option)
{
   const TlNodeList *args = decorator->kind == TL_AST_CALL ? &tl_ast_Call(decorator)->args : NULL;
   for (size_t i = 0; args && i < args->len; i++) {
      const TlNode *a = args->data[i];
      TlNearest near = {.name = a->kind == TL_AST_KEYWORD ? tl_ast_Keyword(a)->name : option};
      tl_nearest_try(&near, option);
      if (near.best)
         return true;
   }
   return false;
}

static void
check_autotune(Around *a, const TlSvFunc *fn)
{
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   check_order(a, d);
   for (size_t i = 0; i < d->len; i++) {
      const TlNode *n = d->data[i];
      if (strcmp(tl_decorator_name(n), "autotune") != 0 || tl_is_of_other_package(a->s, fn, n))
         continue;
      const TlNode *configs = tl_decorator_argument(n, "configs", 0),
                   *key = tl_decorator_argument(n, "key", 1);
      bool is_open = n->kind == TL_AST_CALL && has_starred(&tl_ast_Call(n)->args);
      Configs c = {a, fn};
      if (configs)
         check_config_list(a, fn, configs);
      find_configs(&c, (TlNode *)(uintptr_t)n);
      if (key)
         check_keys(a, key);
      check_pruning(a, fn, tl_decorator_argument(n, "prune_configs_by", -1));
      check_arrays(a, tl_decorator_argument(n, "reset_to_zero", -1));
      check_arrays(a, tl_decorator_argument(n, "restore_value", -1));
      const char *missing = !configs ? "configs" : !key ? "key" : NULL;
      if (!a->is_told && !is_open && missing && !has_misspelt(n, missing)) {
         tl_report(a->s->diags, E0251, n->range, "autotune", missing);
         tl_help(a->s->diags, "write @triton.autotune(configs=[triton.Config({\"BLOCK\": 64})], "
                              "key=[\"n\"]), with the parameters whose values make a new choice");
      }
   }
}

/* do_not_specialize=["stride", 7]: names of parameters, or their numbers from 0. */
static void
check_unspecialized(const Around *a, const TlNode *list)
{
   for (size_t i = 0; list && list->kind == TL_AST_LIST && i < tl_ast_List(list)->items.len; i++) {
      const TlNode *n = tl_ast_List(list)->items.data[i];
      const char *name = n->kind == TL_AST_STR ? tl_ast_Str(n)->value.data : NULL;
      if (!name || param_named(a->kernel, name) >= 0)
         continue;
      tl_report(a->s->diags, W0211, n->range, "what is not to be specialised,", name,
                a->kernel->name);
      help_near_param(a->s, a->kernel, name, false);
   }
}

/* Values that no function gives: a heuristic is called with the arguments. */
static void
check_heuristics(Around *a, const TlSvFunc *fn)
{
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   for (size_t i = 0; i < d->len; i++) {
      const TlNode *values =
         d->data[i]->kind == TL_AST_CALL && strcmp(tl_decorator_name(d->data[i]), "heuristics") == 0
            ? tl_decorator_argument(d->data[i], "values", 0)
            : NULL;
      if (!values || values->kind != TL_AST_DICT)
         continue;
      const TlNodeList *given = &tl_ast_Dict(values)->values, *names = &tl_ast_Dict(values)->keys;
      for (size_t k = 0; k < names->len && !a->is_told; k++)
         a->is_told = check_param_name(a, names->data[k]);
      for (size_t k = 0; k < given->len; k++) {
         const TlNode *v = given->data[k];
         check_arguments_read(a, v);
         if (v->kind == TL_AST_LAMBDA && !tl_ast_Lambda(v)->params.len) {
            tl_report(a->s->diags, E0252, v->range, "lambda", 0, 1);
            tl_help(a->s->diags, "a heuristic is called with the arguments: lambda args: ..");
         }
         const TlNode *of = v->kind == TL_AST_CALL && tl_ast_Call(v)->func->kind == TL_AST_ATTRIBUTE
                               ? tl_ast_Attribute(tl_ast_Call(v)->func)->value
                               : NULL;
         bool is_triton = of && of->kind == TL_AST_NAME && !strcmp(tl_ast_Name(of)->id, "triton");
         if (v->kind != TL_AST_INT && v->kind != TL_AST_STR && v->kind != TL_AST_FLOAT &&
             !is_triton)
            continue;
         tl_report(a->s->diags, E0257, v->range,
                   tl_arena_printf(a->s->arena, "the heuristic %s", tl_range_text(a->s, v->range)));
         tl_help(a->s->diags, "a heuristic is called with the arguments: lambda args: %s",
                 tl_range_text(a->s, v->range));
      }
   }
}

/* ---- files ---- */
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

/* @triton.jit where only triton.language is imported, @tl.jit. */
static bool
check_decorator_module(TlSema *s, const TlSvFunc *fn, const TlNode *n)
{
   const TlNode *of = n->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(n)->value : NULL;
   TlSv v, found;
   if (!of || of->kind != TL_AST_NAME || fn->source->is_tile)
      return false;
   const char *module = tl_ast_Name(of)->id, *name = tl_ast_Attribute(n)->name;
   bool is_bound = tl_lookup_quiet(s, tl_module_frame(s, fn->source), module, &v);
   if (!is_bound && strcmp(module, "triton") == 0 && imports_triton(fn->source) &&
       !s->diags->num_errors) {
      tl_report(s->diags, E0200, of->range, module);
      tl_help(s->diags, "add 'import triton'");
      return true;
   }
   TlNearest near = {.name = module};
   tl_nearest_try(&near, "triton");
   if (!is_bound && near.best && !tl_map_has(&fn->source->globals, module)) {
      tl_report(s->diags, E0200, of->range, module);
      tl_help(s->diags, "did you mean '@triton.%s'?", name);
      return true;
   }
   bool is_of_tl = is_bound && v.kind == TL_SV_MODULE && v.module->kind == TL_MOD_BUILTIN &&
                   (v.module->ns & TL_NS_TL);
   bool is_of_triton =
      strcmp(name, "jit") == 0 || strcmp(name, "autotune") == 0 || strcmp(name, "heuristics") == 0;
   if (!is_of_tl || !is_of_triton || tl_module_attr(s, v.module, name, &found))
      return false;
   tl_report(s->diags, E0201, n->range, v.module->name, name);
   tl_help(s->diags, "it is a name of triton: write @triton.%s", name);
   return true;
}

/* @kernal: a bare name that nothing binds and that nearly is one of the language's. */
static bool
check_bare_decorator(TlSema *s, const TlSvFunc *fn, const TlNode *n)
{
   static const char *const names[] = {"kernel", "jit", "autotune", "heuristics", "triton.jit"};
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

/* @kernel(grid=(n,))  // comment */
static bool
check_decorator_comment(TlSema *s, const TlNode *n)
{
   const TlAstBinary *b = n->kind == TL_AST_BINARY ? tl_ast_Binary(n) : NULL;
   if (!b || b->op != TL_AST_OP_FLOORDIV || !tl_is_jit_decorator(b->left))
      return false;
   tl_report(s->diags, E0240, n->range, "'//' divides");
   tl_help(s->diags, "a comment begins with '#'");
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
      if (check_decorator_comment(s, n) || check_bare_decorator(s, fn, n) ||
          check_decorator_module(s, fn, n))
         return;
      if (!name || strchr(name, '.'))
         continue;
      TlNearest near = {.name = name};
      for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
         tl_nearest_try(&near, names[k]);
      if (strcmp(name, "kernel") == 0) /* @kernel is the language's own, without a module */
         near.best = "jit";
      TlSv triton = tl_module_value(s, "triton");
      if (!near.best || strcmp(near.best, near.name) == 0 ||
          tl_module_attr(s, triton.module, near.name, &v))
         continue;
      tl_report(s->diags, E0201, n->range, "triton", near.name);
      tl_help(s->diags, "did you mean '%s'?", near.best);
      return;
   }
}

static bool
is_param_of(const TlSvFunc *fn, const char *name)
{
   const TlNodeList *params = &tl_ast_Function(fn->node)->params;
   for (size_t i = 0; i < params->len; i++) {
      const char *p = tl_ast_Param(params->data[i])->name;
      if (p && strcmp(p, name) == 0)
         return true;
   }
   return false;
}

typedef struct Named { /* what a decorator names */
   TlSema *s;
   const TlSvFunc *fn;
   unsigned errors; /* of before: the first is enough */
} Named;

/* autotune(..), tl.Config(..), key=[n]: names that Python would not find when it reads the file. */
static void
check_named(void *user, TlNode *n)
{
   Named *d = user;
   TlSema *s = d->s;
   TlFrame *f = tl_module_frame(s, d->fn->source);
   const TlNode *of = n->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(n)->value : n;
   TlSv v, found, triton = tl_module_value(s, "triton");
   if (s->diags->num_errors != d->errors || n->kind == TL_AST_LAMBDA ||
       n->kind == TL_AST_COMPREHENSION) /* names of their own */
      return;
   if (of->kind != TL_AST_NAME) {
      tl_ast_children(n, check_named, d);
      return;
   }
   const char *name = tl_ast_Name(of)->id;
   const char *member = of != n ? tl_ast_Attribute(n)->name : NULL;
   bool is_bound = tl_lookup_quiet(s, f, name, &v) || tl_host_builtin(s, name, &v) ||
                   tl_map_has(&d->fn->source->globals, name);
   if (!is_bound) {
      (void)tl_lookup(s, f, name, of->range);
      if (tl_module_attr(s, triton.module, name, &found))
         tl_help(s->diags, "write triton.%s", name);
      else if (is_param_of(d->fn, name))
         tl_help(s->diags, "a decorator names parameters in quotes: \"%s\"", name);
   } else if (member && v.kind == TL_SV_MODULE && v.module->kind == TL_MOD_BUILTIN &&
              !tl_module_attr(s, v.module, member, &found)) {
      (void)tl_attribute(s, f, &v, member, n->range);
      if (tl_module_attr(s, triton.module, member, &found))
         tl_help(s->diags, "it is a name of triton: write triton.%s", member);
   }
}

static void
check_decorator_names(TlSema *s, const TlSvFunc *fn)
{
   const TlNodeList *decorators = &tl_ast_Function(fn->node)->decorators;
   Named d = {.s = s, .fn = fn, .errors = s->diags->num_errors};
   const char *text = tl_source(s->sources, fn->source->file)->text;
   if (fn->source->is_tile || fn->closure || strstr(text, "import *") || strstr(text, "globals()"))
      return;
   for (size_t i = 0; i < decorators->len; i++) {
      TlNode *n = decorators->data[i];
      if (!tl_is_jit_decorator(n)) /* bare @jit and @kernel are the language's own */
         check_named(&d, n);
      else if (n->kind == TL_AST_CALL)
         for (size_t k = 0; k < tl_ast_Call(n)->args.len; k++)
            check_named(&d, tl_ast_Call(n)->args.data[k]);
   }
}

/* BLOCK: constexpr, where nothing of that name is imported. */
static bool
check_bare_constexpr(TlSema *s, const TlSvFunc *fn, const TlNode *a)
{
   if (fn->source->is_tile || !a || !imports_triton(fn->source))
      return false;
   if (a->kind == TL_AST_NAME && strcmp(tl_ast_Name(a)->id, "constexpr") == 0 &&
       !tl_map_has(&fn->source->globals, "constexpr") &&
       !strstr(tl_source(s->sources, fn->source->file)->text, "import *")) {
      tl_report(s->diags, E0200, a->range, "constexpr");
      tl_help(s->diags, "did you mean 'tl.constexpr'?");
      return true;
   }
   return false;
}

/* x: tl.constepxr: Triton would not find it when the file is read. */
static void
check_annotations(TlSema *s, const TlSvFunc *fn)
{
   const TlNodeList *params = &tl_ast_Function(fn->node)->params;
   const TlSource *file = tl_source(s->sources, fn->source->file);
   bool is_text = strstr(file->text, "from __future__ import annotations"); /* never evaluated */
   for (size_t i = 0; i < params->len; i++) {
      const TlNode *a = tl_ast_Param(params->data[i])->annotation;
      if (!is_text && check_bare_constexpr(s, fn, a))
         continue;
      const TlNode *of = a && a->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(a)->value : NULL;
      TlSv v, found;
      if (!of || of->kind != TL_AST_NAME ||
          !tl_lookup_quiet(s, tl_module_frame(s, fn->source), tl_ast_Name(of)->id, &v) ||
          v.kind != TL_SV_MODULE || v.module->kind != TL_MOD_BUILTIN)
         continue;
      const char *name = tl_ast_Attribute(a)->name;
      TlNearest near = {.name = name};
      tl_nearest_try(&near, "constexpr");
      for (unsigned d = 0; d < TL_DTYPE_COUNT; d++)
         tl_nearest_try(&near, tl_dtype_info[d].triton_name);
      bool is_of_tl =
         !is_text && (strcmp(name, "constexpr") == 0 || tl_dtype_constant(s, name, &found));
      if ((!near.best && is_text) || tl_module_attr(s, v.module, name, &found))
         continue;
      tl_report(s->diags, E0201, a->range, v.module->name, name);
      if (is_of_tl)
         tl_help(s->diags, "it is a name of triton.language: write tl.%s", name);
      else if (near.best)
         tl_help(s->diags, "did you mean '%s'?", near.best);
      else
         tl_help(s->diags,
                 "a parameter needs no annotation but ': tl.constexpr' of sizes and choices");
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
   if (!near || strcmp(near, word) == 0)
      return;
   tl_report(s->diags, E0240, n->range, why);
   tl_help(s->diags, "did you mean '%s' in place of '%s'?", near, word);
}

/* from triton import jitt: the module has no such name, and one that nearly is it. */
static bool
check_imported_name(TlSema *s, const char *module, const TlNode *alias)
{
   const char *name = tl_ast_Alias(alias)->name;
   bool is_own =
      module && (strcmp(module, "triton") == 0 || strcmp(module, "triton.language") == 0);
   TlSv of, v;
   if (!is_own || !name)
      return false;
   of = tl_module_value(s, module);
   TlNearest near = {.name = name};
   if (strcmp(module, "triton") != 0)
      near.best = tl_suggest_builtin(s, TL_NS_TL, name);
   static const char *const names[] = {"jit",      "autotune", "heuristics",
                                       "language", "Config",   "cdiv"};
   for (size_t k = 0; strcmp(module, "triton") == 0 && k < sizeof names / sizeof names[0]; k++)
      tl_nearest_try(&near, names[k]);
   if (!near.best || of.kind != TL_SV_MODULE || tl_module_attr(s, of.module, name, &v))
      return false;
   tl_report(s->diags, E0201, alias->range, module, name);
   tl_help(s->diags, "did you mean '%s'?", near.best);
   return true;
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
      if (import->is_from && !import->level && check_imported_name(s, module, alias))
         return;
   }
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

/* kernel(num_warps=4) above a function, in a file all of whose functions are kernels for want of a
 * decorator. */
static void
check_lost_decorators(TlSema *s)
{
   const TlNodeList *body = &s->impl->main->ast->body;
   for (size_t i = 0; i < body->len; i++) {
      const TlNode *n =
         body->data[i] && body->data[i]->kind == TL_AST_FUNCTION ? body->data[i] : NULL;
      const TlNode *plain = n ? decorator_without_at(s->impl->main, n) : NULL;
      if (!plain)
         continue;
      tl_report(s->diags, E0240, plain->range, "it decorates nothing");
      tl_help(s->diags, "a decorator begins with '@': @%s", tl_range_text(s, plain->range));
   }
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
         unsigned before = s->diags->num_errors;
         check_decorators(s, main->functions.data[i]);
         if (s->diags->num_errors == before && main->functions.data[i]->is_compiled)
            check_decorator_names(s, main->functions.data[i]);
         if (main->functions.data[i]->is_compiled)
            check_annotations(s, main->functions.data[i]);
      }
   for (size_t i = 0; i < main->ast->body.len; i++)
      if (main->ast->body.data[i] && main->ast->body.data[i]->kind == TL_AST_SKIPPED)
         check_skipped(s, main->ast->body.data[i]);
   if (has_kernels && main->is_tile)
      check_lost_decorators(s);
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

bool
tl_check_tuning(TlSema *s, const TlSvFunc *fn)
{
   const TlKernelInfo *k;
   unsigned n = tl_sema_kernels(s, &k), errors = s->diags->num_errors;
   for (unsigned i = 0; i < n; i++) {
      Around around = {.s = s, .kernel = &k[i]};
      if (strcmp(k[i].name, fn->name) != 0 || fn->source != s->impl->main)
         continue;
      check_autotune(&around, fn);
      check_heuristics(&around, fn);
   }
   return s->diags->num_errors == errors;
}

bool
tl_check_launches(TlSema *s, const TlKernelInfo *k)
{
   const TlSvFunc *fn = tl_function_of(s, k->name);
   const TlCalls *calls = tl_launches_of(s, k->name);
   TlMeta meta = {0};
   if (!fn || fn->source != s->impl->main || tl_is_wrapped(fn))
      return true;
   tl_read_decorators(s, fn, &meta);
   Around around = {.s = s, .kernel = k};
   check_autotune(&around, fn);
   check_heuristics(&around, fn);
   for (size_t i = 0; i < tl_ast_Function(fn->node)->decorators.len; i++) {
      const TlNode *d = tl_ast_Function(fn->node)->decorators.data[i];
      if (!tl_is_jit_decorator(d))
         continue;
      check_unspecialized(&around, tl_decorator_argument(d, "do_not_specialize", -1));
      check_unspecialized(&around, tl_decorator_argument(d, "do_not_specialize_on_alignment", -1));
   }
   const TlGlobal *g = tl_global_find(s, fn->source, fn->name);
   bool is_own = g && g->value.kind == TL_SV_FUNC && g->value.func->node == fn->node;
   if (is_own && !fn->source->is_tile)
      report_plain_calls(s, k);
   check_axes(s, fn, calls);
   for (size_t i = 0; calls && i < calls->len; i++)
      if (check_configured(s, k, calls->data[i], meta.autotune))
         check_launch(s, k, calls->data[i], meta.autotune || meta.heuristics.len);
   return !around.is_spoilt;
}
