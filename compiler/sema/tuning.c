/* What @autotune and @heuristics say about a kernel: its configurations, pruned as the program
 * asks, the arguments that make a new choice, what is cleared or put back between runs.
 *
 * Everything is evaluated by the compile-time evaluator with what is known of the launch's
 * arguments.  Host code that cannot be evaluated is no error here: a remark says why, and all
 * configurations (or none) are kept.
 * Invariant: a configuration that leaves here names every value explicitly, warps and stages
 * included, so that it can be compiled without looking at the others. */
#include "sema/impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- values of arguments ---- */
TlSv
tl_known_values(TlSema *s, const TlSpecialization *spec)
{
   TlSv d = tl_dict_new(s);
   for (size_t i = 0; i < spec->value_names.len; i++) {
      const char *name = spec->value_names.data[i], *text = spec->values.data[i];
      TlSv key = tl_make_str(s, name, strlen(name)), v;
      if (text[0] == '*') { /* a pointer whose element type is known */
         const TlType *t = tl_parse_type_text(s, text, strlen(text));
         if (!t)
            continue;
         v = tl_pointer_argument(s, t->elem);
      } else {
         v = tl_read_value(s, text, (TlRange){0});
      }
      tl_dict_set(s, &d, &key, v);
   }
   for (size_t i = 0; i < spec->define_names.len; i++) {
      const char *name = spec->define_names.data[i];
      TlSv key = tl_make_str(s, name, strlen(name));
      tl_dict_set(s, &d, &key, tl_read_value(s, spec->define_values.data[i], (TlRange){0}));
   }
   return d;
}

void
tl_add_defaults(TlSema *s, const TlSvFunc *fn, TlSv *known)
{
   const TlNodeList *params = &tl_ast_Function(fn->node)->params;
   TlFrame *frame = tl_module_frame(s, fn->source);
   frame->parent = fn->closure;
   for (size_t i = 0; i < params->len; i++) {
      const TlAstParam *p = tl_ast_Param(params->data[i]);
      if (p->kind != TL_AST_OP_PLAIN || !p->default_value ||
          !tl_is_constexpr_annotation(p->annotation))
         continue;
      TlSv key = tl_make_str(s, p->name, strlen(p->name));
      bool found;
      (void)tl_dict_get(s, known, &key, &found);
      TlSv v = found ? key : tl_quiet_value(s, frame, p->default_value, NULL);
      if (!found && tl_is_known(&v))
         tl_dict_set(s, known, &key, v);
   }
}

TlSv
tl_pointer_argument(TlSema *s, const TlType *elem)
{
   assert(elem->kind == TL_TYPE_SCALAR || elem->kind == TL_TYPE_PTR);
   TlSv p = tl_object_new(s, "pointer argument");
   tl_object_set(s, &p, "dtype", tl_sv_type(elem));
   if (elem->kind == TL_TYPE_SCALAR)
      tl_object_set(s, &p, "itemsize", tl_sv_int((tl_dtype_info[elem->dtype].bits + 7) / 8));
   return p;
}

/* ---- which arguments' values heuristics look at ---- */
typedef struct Reads {
   TlSema *s;
   TlSourceModule *source;
   const TlAstFunction *kernel;
   bool *read; /* of the kernel's parameters */
   TlMap seen; /* function nodes */
   unsigned depth;
} Reads;

static void find_reads(void *user, TlNode *n);

static void
find_reads_behind(Reads *r, const char *name)
{
   TlGlobal *g = r->source && r->depth < 32 ? tl_global_find(r->s, r->source, name) : NULL;
   if (!g || tl_map_has(&r->seen, g))
      return;
   tl_map_put(&r->seen, g, g);
   TlSourceModule *source = r->source;
   const TlNode *node = g->expr;
   if (g->import && g->state != TL_GLOBAL_DELETED) {
      TlSv v = tl_global_value(r->s, r->source, g);
      node = v.kind == TL_SV_FUNC ? v.func->node : NULL;
      r->source = node ? v.func->source : r->source;
   } else if (g->state == TL_GLOBAL_READY && g->value.kind == TL_SV_FUNC) {
      node = g->value.func->node;
   }
   r->depth++;
   if (node && node != &r->kernel->node)
      find_reads(r, (TlNode *)(uintptr_t)node);
   r->depth--;
   r->source = source;
}

/* A parameter is looked at when its name appears as a string, in the heuristics or in what they
 * call: args["N"]. */
static void
find_reads(void *user, TlNode *n)
{
   Reads *r = user;
   if (n->kind == TL_AST_STR) {
      const TlText *t = &tl_ast_Str(n)->value;
      for (size_t i = 0; i < r->kernel->params.len; i++) {
         const char *name = tl_ast_Param(r->kernel->params.data[i])->name;
         r->read[i] |= name && strlen(name) == t->len && memcmp(name, t->data, t->len) == 0;
      }
   } else if (n->kind == TL_AST_NAME) {
      find_reads_behind(r, tl_ast_Name(n)->id);
   }
   tl_ast_children(n, find_reads, r);
}

void
tl_heuristic_reads(TlSema *s, const TlSvFunc *fn, bool *read)
{
   const TlAstFunction *f = tl_ast_Function(fn->node);
   for (size_t i = 0; i < f->decorators.len; i++) {
      if (strcmp(tl_decorator_name(f->decorators.data[i]), "heuristics") != 0)
         continue;
      Reads r = {.s = s, .source = fn->source, .kernel = f, .read = read};
      tl_map_init(&r.seen, s->arena);
      find_reads(&r, f->decorators.data[i]);
   }
}

/* ---- evaluating ---- */
typedef struct HostCall {
   TlFrame *frame;
   const TlSv *fn;
   TlArgs args;
} HostCall;

static TlSv
invoke(TlSema *s, void *user)
{
   HostCall *c = user;
   return tl_invoke(s, c->frame, c->fn, &c->args, (TlRange){0});
}

typedef struct Tuner {
   TlSema *s;
   const TlSpecialization *spec;
   const TlSvFunc *fn;
   TlFrame *frame;
   const TlNode *decorator;
   TlSv known;    /* dict of what is known of the launch's arguments */
   TlSv *configs; /* Config objects */
   size_t num;
} Tuner;

/* The value of an argument of the decorator; NONE when it is absent or not understood. */
static TlSv
decorator_value(Tuner *t, const char *keyword, int position)
{
   const TlNode *n = tl_decorator_argument(t->decorator, keyword, position);
   if (!n)
      return tl_sv_none();
   const TlDiag *error = NULL;
   TlSv v = tl_decorator_value(t->s, t->fn, n, &error);
   if (v.kind != TL_SV_POISON && v.kind != TL_SV_OPAQUE)
      return v;
   TlRange place = error ? error->range : v.kind == TL_SV_OPAQUE ? v.opaque->place : n->range;
   tl_report(t->s->diags, R0203, n->range, keyword,
             error                    ? error->text
             : v.kind == TL_SV_OPAQUE ? v.opaque->why
                                      : "host code");
   if (place.file && (place.file != n->range.file || place.begin != n->range.begin))
      tl_note(t->s->diags, N0206, place);
   return tl_sv_none();
}

static void
names_of(Tuner *t, const char *keyword, int position, const char ***names, unsigned *num)
{
   TlSv v = decorator_value(t, keyword, position);
   *num = 0;
   *names = NULL;
   if (v.kind != TL_SV_TUPLE)
      return;
   *names = tl_new_array(t->s->arena, const char *, v.tuple->len + 1);
   for (size_t i = 0; i < v.tuple->len; i++)
      if (v.tuple->items[i].kind == TL_SV_STR)
         (*names)[(*num)++] =
            tl_arena_strndup(t->s->arena, v.tuple->items[i].s.data, v.tuple->items[i].s.len);
}

static uint32_t
milliseconds(Tuner *t, const char *keyword)
{
   TlSv v = decorator_value(t, keyword, -1);
   return v.kind == TL_SV_INT && v.i > 0 && v.i <= 100000 ? (uint32_t)v.i : 0;
}

static bool
is_config(const TlSv *v)
{
   return v->kind == TL_SV_OBJECT && strcmp(v->fields->type_name, "Config") == 0;
}

static bool
take_configs(Tuner *t, const TlSv *list)
{
   if (list->kind != TL_SV_TUPLE)
      return false;
   TlSv *configs = tl_new_array(t->s->arena, TlSv, list->tuple->len + 1);
   size_t n = 0;
   for (size_t i = 0; i < list->tuple->len; i++)
      if (is_config(&list->tuple->items[i]))
         configs[n++] = list->tuple->items[i];
   if (!n)
      return false;
   t->configs = configs;
   t->num = n;
   return true;
}

/* ---- pruning ---- */
/* Adds the items of a dict as keyword arguments, as far as the function takes them. */
static void
add_keywords(Tuner *t, const TlSv *fn, const TlSv *dict, TlArgs *args)
{
   const TlNode *node = fn->func->node;
   const TlNodeList *params =
      node->kind == TL_AST_LAMBDA ? &tl_ast_Lambda(node)->params : &tl_ast_Function(node)->params;
   size_t room = args->num_kw + dict->fields->len;
   const char **names = tl_new_array(t->s->arena, const char *, room + 1);
   TlSv *values = tl_new_array(t->s->arena, TlSv, room + 1);
   for (unsigned i = 0; i < args->num_kw; i++)
      names[i] = args->kw_name[i], values[i] = args->kw[i];
   for (size_t i = 0; i < dict->fields->len; i++) {
      if (dict->fields->keys[i].kind != TL_SV_STR)
         continue;
      const char *name =
         tl_intern(t->s->strings, dict->fields->keys[i].s.data, dict->fields->keys[i].s.len);
      bool takes = false, have = false;
      for (size_t k = 0; k < params->len; k++) {
         const TlAstParam *p = tl_ast_Param(params->data[k]);
         takes |= p->kind == TL_AST_OP_STAR_STAR || (k >= args->num_pos && p->name == name);
      }
      for (unsigned k = 0; k < args->num_kw; k++)
         have |= names[k] == name;
      if (!takes || have)
         continue;
      names[args->num_kw] = name;
      values[args->num_kw++] = dict->fields->values[i];
   }
   args->kw_name = names;
   args->kw = values;
   args->kw_range = tl_new_array(t->s->arena, TlRange, room + 1);
}

static TlSv
call_host(Tuner *t, const TlSv *fn, TlArgs args, const TlDiag **error)
{
   TlActivation act = {
      .is_host = true, .errors = t->s->diags->num_errors, .caller = t->s->impl->act};
   t->s->impl->act = &act;
   HostCall call = {.frame = tl_module_frame(t->s, t->fn->source), .fn = fn, .args = args};
   TlSv v = tl_quietly(t->s, invoke, &call, error);
   t->s->impl->act = act.caller;
   return v;
}

static void
prune_early(Tuner *t, const TlSv *fn)
{
   TlSv pos[2] = {tl_make_tuple(t->s, t->configs, t->num, true), t->known};
   TlArgs args = {.pos = pos, .pos_range = (TlRange[2]){{0}}, .num_pos = 2};
   const TlDiag *why = NULL;
   if (fn->kind != TL_SV_FUNC)
      return;
   add_keywords(t, fn, &t->known, &args);
   TlSv kept = call_host(t, fn, args, &why);
   if (!take_configs(t, &kept))
      tl_report(t->s->diags, R0203, fn->func->node->range, "early_config_prune",
                why ? why->text : "it gives no configuration");
}

/* What a model or heuristic sees of one configuration. */
static TlSv
config_values(TlSema *s, const TlSv *config)
{
   assert(is_config(config));
   TlSv d = tl_dict_new(s), v;
   if (tl_object_get(config, "kwargs", &v) && v.kind == TL_SV_DICT)
      for (size_t i = 0; i < v.fields->len; i++)
         tl_dict_set(s, &d, &v.fields->keys[i], v.fields->values[i]);
   static const char *const launch[] = {"num_warps", "num_stages", "num_ctas"};
   for (unsigned i = 0; i < 3; i++) {
      TlSv key = tl_make_str(s, launch[i], strlen(launch[i]));
      if (tl_object_get(config, launch[i], &v))
         tl_dict_set(s, &d, &key, v);
   }
   return d;
}

static void
prune_by_model(Tuner *t, const TlSv *model, const TlSv *top_k)
{
   size_t keep = t->num;
   if (top_k->kind == TL_SV_INT && top_k->i > 0)
      keep = (size_t)top_k->i;
   else if (top_k->kind == TL_SV_FLOAT && top_k->f > 0 && top_k->f <= 1)
      keep = (size_t)((double)t->num * top_k->f);
   keep = keep ? keep : 1;
   if (model->kind != TL_SV_FUNC || keep >= t->num)
      return;
   double *cost = tl_new_array(t->s->arena, double, t->num);
   for (size_t i = 0; i < t->num; i++) {
      const TlDiag *why = NULL;
      TlArgs args = {0};
      TlSv mine = config_values(t->s, &t->configs[i]);
      add_keywords(t, model, &mine, &args);
      add_keywords(t, model, &t->known, &args);
      TlSv v = call_host(t, model, args, &why);
      if (!tl_sv_is_number(&v)) {
         tl_report(t->s->diags, R0203, model->func->node->range, "perf_model",
                   why ? why->text : "it gives no number");
         return;
      }
      cost[i] = tl_known_double(&v);
   }
   for (size_t i = 1; i < t->num; i++) /* stable insertion sort, cheapest first */
      for (size_t k = i; k > 0 && cost[k] < cost[k - 1]; k--) {
         double c = cost[k];
         TlSv v = t->configs[k];
         cost[k] = cost[k - 1], t->configs[k] = t->configs[k - 1];
         cost[k - 1] = c, t->configs[k - 1] = v;
      }
   t->num = keep;
}

static void
prune(Tuner *t)
{
   TlSv by = decorator_value(t, "prune_configs_by", -1);
   if (by.kind != TL_SV_DICT)
      return;
   TlSv part[3];
   static const char *const names[] = {"early_config_prune", "perf_model", "top_k"};
   for (unsigned i = 0; i < 3; i++) {
      bool found;
      TlSv key = tl_make_str(t->s, names[i], strlen(names[i]));
      part[i] = tl_dict_get(t->s, &by, &key, &found);
   }
   if (part[0].kind != TL_SV_NONE)
      prune_early(t, &part[0]);
   if (part[1].kind != TL_SV_NONE)
      prune_by_model(t, &part[1], &part[2]);
}

/* ---- configurations in the words of the compiler's options ---- */
static bool
is_defined(const TlSpecialization *spec, const char *name)
{
   for (size_t i = 0; i < spec->define_names.len; i++)
      if (strcmp(spec->define_names.data[i], name) == 0)
         return true;
   return false;
}

static int
launch_value(const TlSv *config, const char *name, int given, int own)
{
   TlSv v, bits;
   bool said = tl_object_get(config, "given", &bits) && bits.kind == TL_SV_INT &&
               (bits.i >> (strcmp(name, "num_warps") == 0    ? 1
                           : strcmp(name, "num_stages") == 0 ? 2
                                                             : 3) &
                1);
   bool is_int = tl_object_get(config, name, &v) && v.kind == TL_SV_INT && v.i > 0 && v.i <= 1024;
   return given ? given : said && is_int ? (int)v.i : own ? own : is_int ? (int)v.i : 0;
}

static void
write_config(Tuner *t, const TlMeta *meta, const TlSv *config, TlConfig *out)
{
   TlSema *s = t->s;
   TlSv kwargs = tl_sv_none(), hook;
   TlSb text;
   tl_sb_init(&text, s->arena);
   tl_object_get(config, "kwargs", &kwargs);
   size_t n = kwargs.kind == TL_SV_DICT ? kwargs.fields->len : 0;
   out->names = tl_new_array(s->arena, const char *, n + 1);
   out->values = tl_new_array(s->arena, const char *, n + 1);
   for (size_t i = 0; i < n; i++) {
      const TlSv *key = &kwargs.fields->keys[i];
      if (key->kind != TL_SV_STR || is_defined(t->spec, key->s.data))
         continue;
      out->names[out->num] = tl_arena_strndup(s->arena, key->s.data, key->s.len);
      out->values[out->num] = tl_sv_constant_text(s, &kwargs.fields->values[i]);
      tl_sb_printf(&text, "%s=%s, ", out->names[out->num], out->values[out->num]);
      out->num++;
   }
   out->num_warps = launch_value(config, "num_warps", t->spec->num_warps, meta->num_warps);
   out->num_stages = launch_value(config, "num_stages", t->spec->num_stages, meta->num_stages);
   out->num_ctas = launch_value(config, "num_ctas", t->spec->num_ctas, meta->num_ctas);
   tl_sb_printf(&text, "num_warps=%d, num_stages=%d", out->num_warps, out->num_stages);
   if (out->num_ctas > 1)
      tl_sb_printf(&text, ", num_ctas=%d", out->num_ctas);
   out->text = tl_sb_cstr(&text);
   if (tl_object_get(config, "pre_hook", &hook) && hook.kind != TL_SV_NONE)
      tl_report(s->diags, R0204, t->decorator->range, "pre_hook");
}

static void
write_configs(Tuner *t, const TlMeta *meta, TlTuning *out)
{
   out->configs = tl_new_array(t->s->arena, TlConfig, t->num + 1);
   for (size_t i = 0; i < t->num; i++) {
      TlConfig *c = &out->configs[out->num_configs];
      *c = (TlConfig){0};
      write_config(t, meta, &t->configs[i], c);
      bool is_new = true; /* a -D may make two of them equal */
      for (unsigned k = 0; k < out->num_configs; k++)
         is_new &= strcmp(out->configs[k].text, c->text) != 0;
      out->num_configs += is_new;
   }
}

bool
tl_sema_tuning(TlSema *s, const TlSpecialization *spec, TlTuning *out)
{
   *out = (TlTuning){0};
   const TlSvFunc *fn = tl_choose_kernel(s, spec->kernel);
   if (!fn)
      return false;
   s->steps = 0;
   TlMeta meta;
   tl_read_decorators(s, fn, &meta);
   if (!meta.autotune)
      return false;
   Tuner t = {.s = s, .spec = spec, .fn = fn, .decorator = meta.autotune};
   t.frame = tl_module_frame(s, fn->source);
   t.frame->parent = fn->closure;
   TlSv configs = decorator_value(&t, "configs", 0);
   if (!take_configs(&t, &configs))
      return false;
   names_of(&t, "key", 1, &out->keys, &out->num_keys);
   names_of(&t, "reset_to_zero", -1, &out->reset_to_zero, &out->num_reset);
   names_of(&t, "restore_value", -1, &out->restore_value, &out->num_restore);
   out->warmup_ms = milliseconds(&t, "warmup");
   out->rep_ms = milliseconds(&t, "rep");
   static const char *const ignored[] = {"use_cuda_graph", "pre_hook", "post_hook", "do_bench"};
   for (unsigned i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
      const TlNode *n = tl_decorator_argument(t.decorator, ignored[i], -1);
      if (n)
         tl_report(s->diags, R0204, n->range, ignored[i]);
   }
   if (spec->value_names.len) {
      t.known = tl_known_values(s, spec);
      prune(&t);
   }
   write_configs(&t, &meta, out);
   return out->num_configs > 0;
}

/* One @heuristics: what its functions give for the arguments and the values found before. */
static void
evaluate_heuristics(Tuner *t, const TlNode *node, TlHeuristics *out)
{
   TlSv d = tl_decorator_value(t->s, t->fn, node, NULL);
   for (size_t i = 0; d.kind == TL_SV_DICT && i < d.fields->len; i++) {
      const TlSv *key = &d.fields->keys[i], *fn = &d.fields->values[i];
      if (key->kind != TL_SV_STR || fn->kind != TL_SV_FUNC || is_defined(t->spec, key->s.data))
         continue;
      TlSv pos[1] = {t->known};
      TlArgs args = {.pos = pos, .pos_range = (TlRange[1]){{0}}, .num_pos = 1};
      TlSv v = call_host(t, fn, args, NULL);
      if (v.kind == TL_SV_POISON || v.kind == TL_SV_OPAQUE || !tl_is_known(&v))
         continue; /* compiling says why */
      tl_dict_set(t->s, &t->known, key, v);
      tl_vec_push(t->s->arena, &out->names,
                  (const char *)tl_arena_strndup(t->s->arena, key->s.data, key->s.len));
      tl_vec_push(t->s->arena, &out->values, tl_sv_constant_text(t->s, &v));
   }
}

void
tl_sema_heuristics(TlSema *s, const TlSpecialization *spec, TlHeuristics *out)
{
   *out = (TlHeuristics){0};
   const TlSvFunc *fn = tl_choose_kernel(s, spec->kernel);
   if (!fn)
      return;
   TlMeta meta;
   tl_read_decorators(s, fn, &meta);
   Tuner t = {.s = s, .spec = spec, .fn = fn};
   t.frame = tl_module_frame(s, fn->source);
   t.frame->parent = fn->closure;
   t.known = tl_known_values(s, spec);
   tl_add_defaults(s, fn, &t.known);
   for (size_t h = 0; h < meta.heuristics.len; h++)
      evaluate_heuristics(&t, meta.heuristics.data[h], out);
}

uint64_t
tl_sema_source_hash(TlSema *s)
{
   for (size_t u = 0; u < s->impl->loaded.len; u++) { /* grows while imports are followed */
      TlSourceModule *source = s->impl->loaded.data[u];
      for (size_t i = 0; i < source->order.len && !source->is_stdlib; i++)
         if (source->order.data[i]->import)
            (void)tl_global_value(s, source, source->order.data[i]);
   }
   uint64_t h = 0;
   for (size_t u = 0; u < s->impl->loaded.len; u++) {
      const TlSource *src = tl_source(s->sources, s->impl->loaded.data[u]->file);
      h = tl_hash(src->text, src->len, h);
   }
   return h;
}
