/* Calls.  Functions of the language are inlined: each call evaluates the body in a frame of its
 * own.  A host function is evaluated as Python when all its arguments are known.  Binding follows
 * Python: positions, keywords, defaults (evaluated where the function was defined), *args,
 * **kwargs. */
#include "sema/builtin.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

/* ---- arguments ---- */
typedef TL_VEC(TlSv) SvVec;
typedef TL_VEC(TlRange) RangeVec;
typedef TL_VEC(const char *) NameVec;

bool
tl_eval_args(TlSema *s, TlFrame *f, const TlNodeList *nodes, TlArgs *out)
{
   SvVec pos = {0}, kw = {0};
   RangeVec pos_range = {0}, kw_range = {0};
   NameVec names = {0};
   bool ok = true;
   for (size_t i = 0; i < nodes->len; i++) {
      const TlNode *n = nodes->data[i];
      if (n->kind == TL_AST_STARRED) {
         TlSv v = tl_eval_expr(s, f, tl_ast_Starred(n)->value), *items;
         size_t len;
         if (!tl_iterate(s, &v, n->range, &items, &len)) {
            ok = false;
            continue;
         }
         s->steps += len / 8;
         for (size_t k = 0; k < len; k++) {
            tl_vec_push(s->arena, &pos, items[k]);
            tl_vec_push(s->arena, &pos_range, n->range);
         }
      } else if (n->kind == TL_AST_KEYWORD) {
         const TlAstKeyword *k = tl_ast_Keyword(n);
         TlSv v = tl_eval_expr(s, f, k->value);
         ok &= v.kind != TL_SV_POISON;
         if (!k->name && v.kind != TL_SV_DICT) {
            if (v.kind != TL_SV_POISON)
               tl_report(s->diags, E0259, n->range, "**", "a dict is needed");
            ok = false;
         }
         for (size_t e = 0; !k->name && v.kind == TL_SV_DICT && e < v.fields->len; e++) {
            if (v.fields->keys[e].kind != TL_SV_STR)
               continue;
            TlText key = v.fields->keys[e].s;
            tl_vec_push(s->arena, &names, tl_intern(s->strings, key.data, key.len));
            tl_vec_push(s->arena, &kw, v.fields->values[e]);
            tl_vec_push(s->arena, &kw_range, n->range);
         }
         if (k->name) {
            tl_vec_push(s->arena, &names, k->name);
            tl_vec_push(s->arena, &kw, v);
            tl_vec_push(s->arena, &kw_range, n->range);
         }
      } else {
         TlSv v = tl_eval_expr(s, f, n);
         ok &= v.kind != TL_SV_POISON;
         tl_vec_push(s->arena, &pos, v);
         tl_vec_push(s->arena, &pos_range, n->range);
      }
   }
   *out = (TlArgs){.pos = pos.data,
                   .pos_range = pos_range.data,
                   .num_pos = (unsigned)pos.len,
                   .kw_name = names.data,
                   .kw = kw.data,
                   .kw_range = kw_range.data,
                   .num_kw = (unsigned)kw.len};
   return ok;
}

static bool
all_known(const TlArgs *args)
{
   for (unsigned i = 0; i < args->num_pos; i++)
      if (!tl_is_known(&args->pos[i]))
         return false;
   for (unsigned i = 0; i < args->num_kw; i++)
      if (!tl_is_known(&args->kw[i]))
         return false;
   return true;
}

/* ---- binding to a function's parameters ---- */
typedef struct Binder {
   const TlSvFunc *fn;
   const TlNodeList *params;
   TlFrame *frame;
   const TlArgs *args;
   TlRange range;
   bool *kw_used;
} Binder;

/* tl.randint(0, 10, (64,)): a number that a function of the library has to know, and got none. */
static bool
is_no_number(TlSema *s, const Binder *b, const TlAstParam *p, const TlSv *v, TlRange range)
{
   bool takes_int = b->fn->source && b->fn->source->is_stdlib && p->default_value &&
                    p->default_value->kind == TL_AST_INT &&
                    tl_is_constexpr_annotation(p->annotation);
   if (!takes_int || (v->kind != TL_SV_TUPLE && v->kind != TL_SV_STR && v->kind != TL_SV_TYPE))
      return false;
   tl_report(s->diags, E0302, range, p->name, b->fn->name, "an integer", tl_sv_describe(s, v));
   tl_help(s->diags, "it is called as %s(%s); `tilec doc %s` has an example", b->fn->name,
           tl_parameter_names(s, b->params), b->fn->name);
   return true;
}

static void
bind_one(TlSema *s, const Binder *b, const TlAstParam *p, TlSv v)
{
   if (tl_is_constexpr_annotation(p->annotation))
      v = tl_weaken(s, v);
   tl_frame_set(s, b->frame, p->name, v, p->node.range);
}

static TlSv
default_value(TlSema *s, const Binder *b, const TlAstParam *p, size_t at)
{
   if (b->fn->defaults)
      return b->fn->defaults[at];
   TlActivation act = {.is_host = true, .errors = s->diags->num_errors, .caller = s->impl->act};
   TlFrame *f = tl_frame_new(s, b->fn->closure, b->fn->source, &act);
   return tl_eval_expr(s, f, p->default_value);
}

static bool
find_keyword(const Binder *b, const char *name, unsigned *at)
{
   for (unsigned i = 0; i < b->args->num_kw; i++)
      if (b->args->kw_name[i] == name) {
         *at = i;
         return true;
      }
   return false;
}

/* Of a lambda the name by which it is called. */
static const char *
called_name(TlSema *s, const Binder *b)
{
   const char *text = tl_range_text(s, b->range);
   size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
   bool is_named = b->fn->node->kind == TL_AST_LAMBDA && len && text[len] == '(';
   return is_named ? tl_arena_strndup(s->arena, text, len) : b->fn->name;
}

static bool
report_binding(TlSema *s, const Binder *b, const TlAstParam *p)
{
   tl_report(s->diags, E0251, b->range, called_name(s, b), p->name);
   tl_help(s->diags, "give it a value, by its place or by its name: %s(%s)", called_name(s, b),
           tl_parameter_names(s, b->params));
   tl_raise_as(s, "TypeError");
   tl_note(s->diags, N0200, p->node.range, "the parameter is declared here");
   return false;
}

static bool
check_leftovers(TlSema *s, const Binder *b, unsigned next_pos, bool takes_kw)
{
   if (next_pos < b->args->num_pos) {
      tl_report(s->diags, E0252, b->args->pos_range[next_pos], called_name(s, b), next_pos,
                b->args->num_pos);
      tl_raise_as(s, "TypeError");
      return false;
   }
   for (unsigned i = 0; i < b->args->num_kw && !takes_kw; i++) {
      if (b->kw_used[i])
         continue;
      const char *name = b->args->kw_name[i];
      TlNearest near = {.name = name};
      for (size_t k = 0; k < b->params->len; k++) {
         const char *have = tl_ast_Param(b->params->data[k])->name;
         if (have && have == name) {
            tl_report(s->diags, E0254, b->args->kw_range[i], called_name(s, b), name);
            tl_raise_as(s, "TypeError");
            return false;
         }
         if (have)
            tl_nearest_try(&near, have);
      }
      tl_report(s->diags, E0253, b->args->kw_range[i], called_name(s, b), name);
      tl_raise_as(s, "TypeError");
      if (near.best)
         tl_help(s->diags, "did you mean '%s'?", near.best);
      else if (b->params->len)
         tl_help(s->diags, "its parameters are %s", tl_parameter_names(s, b->params));
      return false;
   }
   return true;
}

static bool
bind_params(TlSema *s, Binder *b)
{
   assert(b->fn->node->kind == TL_AST_FUNCTION || b->fn->node->kind == TL_AST_LAMBDA);
   unsigned next = 0;
   bool kw_only = false, takes_kw = false;
   const TlAstParam *missing = NULL;
   b->kw_used = tl_new_array(s->arena, bool, b->args->num_kw);
   for (size_t i = 0; i < b->params->len; i++) {
      const TlAstParam *p = tl_ast_Param(b->params->data[i]);
      unsigned at;
      if (p->kind == TL_AST_OP_KW_MARK) {
         kw_only = true;
      } else if (p->kind == TL_AST_OP_STAR) {
         kw_only = true;
         bind_one(s, b, p, tl_make_tuple(s, b->args->pos + next, b->args->num_pos - next, false));
         next = b->args->num_pos;
      } else if (p->kind == TL_AST_OP_STAR_STAR) {
         TlSv d = tl_dict_new(s);
         for (unsigned k = 0; k < b->args->num_kw; k++) {
            TlSv key = tl_make_str(s, b->args->kw_name[k], strlen(b->args->kw_name[k]));
            if (!b->kw_used[k])
               tl_dict_set(s, &d, &key, b->args->kw[k]);
         }
         takes_kw = true;
         bind_one(s, b, p, d);
      } else if (p->kind == TL_AST_OP_PLAIN) {
         if (!kw_only && next < b->args->num_pos) {
            if (is_no_number(s, b, p, &b->args->pos[next], b->args->pos_range[next]))
               return false;
            bind_one(s, b, p, b->args->pos[next++]);
         } else if (find_keyword(b, p->name, &at)) {
            if (is_no_number(s, b, p, &b->args->kw[at], b->args->kw_range[at]))
               return false;
            b->kw_used[at] = true;
            bind_one(s, b, p, b->args->kw[at]);
         } else if (p->default_value) {
            bind_one(s, b, p, default_value(s, b, p, i));
         } else {
            missing = missing ? missing : p;
         }
      }
   }
   if (!check_leftovers(s, b, next, takes_kw)) /* a misspelt keyword explains a missing one */
      return false;
   return !missing || report_binding(s, b, missing);
}

/* ---- inlining ---- */
/* Has this been told of the function?  One that calls itself twice would go the 2^64 ways on. */
static bool
is_told_endless(const TlSema *s, const TlSvFunc *fn)
{
   if (s->impl->endless != fn->node || !s->impl->num_calls)
      return false;
   for (const TlDiag *d = s->diags->first; d; d = d->next)
      if (d->code == TL_DIAG_E0255)
         return true;
   return false;
}

static bool
may_call(TlSema *s, const TlSvFunc *fn, TlRange range)
{
   if (is_told_endless(s, fn))
      return false;
   if (s->impl->num_calls < TL_MAX_CALLS)
      return true;
   s->impl->endless = fn->node;
   TlSb cycle;
   tl_sb_init(&cycle, s->arena);
   unsigned shown = 0;
   for (TlActivation *a = s->impl->act; a && shown < 4; a = a->caller)
      if (a->func) {
         tl_sb_printf(&cycle, "%s%s", shown ? " <- " : "", a->func->name);
         shown++;
      }
   tl_report(s->diags, E0255, range, fn->name, (unsigned)TL_MAX_CALLS, tl_sb_cstr(&cycle));
   tl_help(s->diags,
           "functions are inlined, so that a test of constants must end the recursion; else "
           "write a loop");
   return false;
}

static TlSv
run_generator(TlSema *s, TlFrame *frame, const TlSvFunc *fn)
{
   TlYields yields = {0};
   TlPure p;
   frame->act->yields = &yields;
   tl_pure_begin(s, &p);
   frame->born = ++s->impl->seq;
   tl_stmt_block(s, frame, &tl_ast_Function(fn->node)->body, 0, NULL);
   return tl_pure_end(s, &p, tl_make_iter(s, "generator", yields.items.data, yields.items.len));
}

static TlSv
run_body(TlSema *s, TlFrame *frame, const TlSvFunc *fn)
{
   assert(frame->act && frame->act->func == fn);
   if (fn->node->kind == TL_AST_LAMBDA)
      return tl_eval_expr(s, frame, tl_ast_Lambda(fn->node)->body);
   if (frame->locals && tl_is_generator(s, fn->node))
      return run_generator(s, frame, fn);
   TlFlow flow = tl_stmt_block(s, frame, &tl_ast_Function(fn->node)->body, 0, NULL);
   return flow == TL_FLOW_RETURN ? frame->act->ret : tl_sv_none();
}

/* From here on operations and messages are of this call. */
static void
enter_call(TlSema *s, uint32_t site)
{
   s->b.site = s->diags->site = site;
}

static uint32_t
new_site(TlSema *s, const TlSvFunc *fn, TlRange range)
{
   range.site = s->b.site;
   return tl_sources_add_call(s->sources, range, fn->name ? fn->name : "lambda");
}

/* Keeps calls of the library for the warnings about them; frame: with the bound parameters. */
static void
note_library_call(TlSema *s, const TlSvFunc *fn, const TlArgs *args, TlFrame *frame, TlRange range)
{
   static const char draws[] = "rand randn rand4x randn4x randint randint4x";
   if (args->num_pos >= 2 && tl_word_is_listed(draws, fn->name))
      tl_vec_push(s->arena, &s->impl->draws,
                  ((TlDraw){s->b.func, range, fn->name, args->pos[0], args->pos[1], s->b.block}));
   if (!tl_word_is_listed("sort topk", fn->name))
      return;
   bool is_part = strcmp(fn->name, "topk") == 0;
   const TlVar *x = tl_frame_var(frame, tl_intern_cstr(s->strings, "x"));
   const TlVar *order = tl_frame_var(frame, tl_intern_cstr(s->strings, "descending"));
   if (x && x->value.kind == TL_SV_VALUE && tl_type_is_tile(x->value.value->type))
      tl_vec_push(
         s->arena, &s->impl->sorted,
         ((TlSorted){s->b.func, range, x->value.value, is_part,
                     is_part || (order && order->value.kind == TL_SV_BOOL && order->value.b)}));
}

TlSv
tl_invoke_func(TlSema *s, TlFrame *f, const TlSvFunc *fn, const TlArgs *args, TlRange range)
{
   assert(fn->node);
   if (fn->memo)
      return tl_invoke_cached(s, f, fn, args, range);
   if (!may_call(s, fn, range) || !tl_step(s, range))
      return tl_sv_poison();
   TlArgs with_self = *args;
   if (fn->self) {
      with_self.pos = tl_new_array(s->arena, TlSv, args->num_pos + 1);
      with_self.pos_range = tl_new_array(s->arena, TlRange, args->num_pos + 1);
      with_self.pos[0] = *fn->self;
      with_self.pos_range[0] = range;
      for (unsigned i = 0; i < args->num_pos; i++) {
         with_self.pos[i + 1] = args->pos[i];
         with_self.pos_range[i + 1] = args->pos_range[i];
      }
      with_self.num_pos++;
   }
   bool is_host = (f && tl_is_host(f)) || (!fn->is_compiled && all_known(args));
   bool is_library = fn->source && fn->source->is_stdlib;
   TlActivation *act = tl_new(s->arena, TlActivation);
   *act = (TlActivation){.caller = s->impl->act,
                         .func = fn,
                         .call_range = range,
                         .is_host = is_host,
                         .errors = s->diags->num_errors};
   TlFrame *frame = tl_frame_new(s, fn->closure, fn->source, act);
   if (is_host && fn->node->kind == TL_AST_FUNCTION)
      frame->locals = tl_scopes_of(s, fn->node);
   Binder b = {.fn = fn, .frame = frame, .args = &with_self, .range = range};
   b.params = fn->node->kind == TL_AST_LAMBDA ? &tl_ast_Lambda(fn->node)->params
                                              : &tl_ast_Function(fn->node)->params;
   unsigned errors = s->diags->num_errors;
   if (!bind_params(s, &b))
      return tl_sv_poison();
   if (is_library)
      note_library_call(s, fn, args, frame, range);
   s->impl->act = act;
   s->impl->num_calls++;
   TlRange saved = s->b.range;
   uint32_t site = s->b.site;
   if (!is_host || is_library)
      enter_call(s, new_site(s, fn, range));
   TlSv v = run_body(s, frame, fn);
   if (is_host && s->diags->num_errors != errors)
      v = tl_sv_poison();
   s->b.range = saved;
   enter_call(s, site);
   s->impl->num_calls--;
   s->impl->act = act->caller;
   if (s->diags->num_errors != errors && range.file && s->impl->num_calls < 4 &&
       fn->node->kind == TL_AST_FUNCTION && is_host && !is_library) /* others are sites */
      tl_note(s->diags, N0203, range, fn->name);
   return v;
}

/* ---- calling any value ---- */
static TlSv
call_type(TlSema *s, TlFrame *f, const TlSv *fn, const TlArgs *args, TlRange range)
{
   assert(fn->kind == TL_SV_TYPE);
   const TlBuiltin *to = tl_builtin_method("to"); /* tl.float32(x) converts */
   if (!to || args->num_pos != 1 || args->num_kw)
      return tl_sv_refuse(s, E0256, range, tl_sv_describe(s, fn));
   TlSv self = args->pos[0], bound = {.kind = TL_SV_BUILTIN, .builtin = {to, &self}};
   TlSv type = *fn;
   TlArgs one = {.pos = &type, .pos_range = &range, .num_pos = 1};
   return tl_invoke_builtin(s, f, &bound, &one, range);
}

/* A function of a math library that host code picks by device: `backend.tl_extra_shim.pow`. */
static const TlBuiltin *
picked_libdevice(TlSema *s, const TlSv *fn, TlRange range)
{
   const char *text = fn->kind == TL_SV_OPAQUE ? fn->opaque->why : fn->module->name;
   const char *name = strrchr(text, '.');
   bool is_library = strstr(text, "libdevice") || strstr(text, "tl_extra");
   const TlBuiltin *row = name && is_library ? tl_builtin_find(TL_NS_LIBDEVICE, name + 1) : NULL;
   if (row)
      tl_report(s->diags, R0202, range, text, row->name);
   return row;
}

/* A call of host code that is not followed.  Libraries leave lists and dicts that they are given
 * alone, but for the few that are there to change them; of other code nothing is known. */
static TlSv
opaque_call(TlSema *s, const TlSv *fn, const TlArgs *args, TlRange range)
{
   const char *name = fn->kind == TL_SV_MODULE ? fn->module->name : fn->opaque->why;
   bool answer;
   if (tl_host_platform(tl_range_text(s, range), &answer))
      return tl_sv_bool(answer);
   const char *why = tl_arena_printf(s->arena, "%.80s", tl_range_text(s, range));
   TlSv out = tl_sv_lost_of(s, fn, why, range);
   size_t root = strcspn(name, ".([");
   const char *library = tl_arena_strndup(s->arena, name, root);
   bool changes = strcmp(library, "random") == 0 || strcmp(library, "operator") == 0;
   if (!tl_is_host_module(library) || changes) {
      tl_lose_values(s, args->pos, args->num_pos, out.opaque);
      tl_lose_values(s, args->kw, args->num_kw, out.opaque);
   }
   if (fn->kind == TL_SV_OPAQUE && fn->opaque->is_device_name) { /* name.lower() */
      TlLost *lost = tl_new(s->arena, TlLost);
      *lost = *out.opaque;
      lost->is_device_name = true;
      out.opaque = lost;
   }
   return out;
}

static TlSv
call_foreign(TlSema *s, TlFrame *f, const TlSv *fn, const TlArgs *args, TlRange range)
{
   if (f && tl_is_host(f)) {
      s->impl->foreign_calls++;
      return opaque_call(s, fn, args, range);
   }
   const TlBuiltin *row = picked_libdevice(s, fn, range);
   TlSv picked = {.kind = TL_SV_BUILTIN, .builtin = {row, NULL}};
   if (row)
      return tl_invoke_builtin(s, f, &picked, args, range);
   tl_report_opaque(s, fn, range);
   return tl_sv_poison();
}

/* functools.partial(fn, ..)(..) */
static TlSv
call_partial(TlSema *s, TlFrame *f, const TlSv *p, const TlArgs *args, TlRange range)
{
   TlSv fn, pos, kw;
   tl_object_get(p, "func", &fn);
   tl_object_get(p, "args", &pos);
   tl_object_get(p, "keywords", &kw);
   TlArgs all = {.num_pos = (unsigned)pos.tuple->len + args->num_pos};
   all.pos = tl_new_array(s->arena, TlSv, all.num_pos + 1);
   all.pos_range = tl_new_array(s->arena, TlRange, all.num_pos + 1);
   for (unsigned i = 0; i < all.num_pos; i++) {
      bool is_own = i < pos.tuple->len;
      all.pos[i] = is_own ? pos.tuple->items[i] : args->pos[i - pos.tuple->len];
      all.pos_range[i] = is_own ? range : args->pos_range[i - pos.tuple->len];
   }
   size_t room = kw.fields->len + args->num_kw + 1;
   all.kw = tl_new_array(s->arena, TlSv, room);
   all.kw_name = tl_new_array(s->arena, const char *, room);
   all.kw_range = tl_new_array(s->arena, TlRange, room);
   for (unsigned i = 0; i < args->num_kw; i++) {
      all.kw_name[i] = args->kw_name[i];
      all.kw[i] = args->kw[i];
      all.kw_range[i] = args->kw_range[i];
   }
   all.num_kw = args->num_kw;
   for (size_t i = 0; i < kw.fields->len; i++) {
      TlText key = kw.fields->keys[i].s;
      const char *name = tl_intern(s->strings, key.data, key.len);
      bool is_given = false;
      for (unsigned k = 0; k < args->num_kw; k++)
         is_given |= args->kw_name[k] == name;
      if (is_given)
         continue; /* the call's own comes first */
      all.kw_name[all.num_kw] = name;
      all.kw[all.num_kw] = kw.fields->values[i];
      all.kw_range[all.num_kw++] = range;
   }
   return tl_invoke(s, f, &fn, &all, range);
}

static TlSv
call_object(TlSema *s, TlFrame *f, const TlSv *self, const TlArgs *args, TlRange range)
{
   TlSv method;
   const TlSvFunc *cls = tl_class_of(self);
   if (strcmp(self->fields->type_name, "partial") == 0)
      return call_partial(s, f, self, args, range);
   if (cls && tl_class_attr(s, cls, "__call__", &method)) {
      tl_bind_method(s, self, range, &method);
      return tl_invoke(s, f, &method, args, range);
   }
   tl_report(s->diags, E0257, range, tl_sv_describe(s, self));
   return tl_sv_poison();
}

static void
report_no_function(TlSema *s, const TlSv *fn, TlRange range)
{
   const char *text = tl_range_text(s, range);
   tl_report(s->diags, E0257, range, tl_sv_describe(s, fn));
   if (fn->kind == TL_SV_TUPLE)
      tl_help(s->diags, "it is no function; take an item: %.*s[0]", (int)strcspn(text, "("), text);
   size_t name = strcspn(text, "(");
   if (tl_sv_is_runtime(fn) && name > 2 && strncmp(text + name - 2, ".T", 2) == 0)
      tl_help(s->diags, "the transpose is written without parentheses, %.*s, or tl.trans(x)",
              (int)name, text);
   if (fn->kind == TL_SV_MODULE && fn->module->kind == TL_MOD_BUILTIN) {
      bool is_random =
         name >= strlen("random") && tl_starts_with(text + name - strlen("random"), "random");
      tl_help(s->diags, "it is a module, and its functions are called by their names: %s",
              is_random ? "tl.rand(seed, offsets), tl.randint(seed, offsets)"
                        : tl_arena_printf(s->arena, "%.*s.f(..)", (int)name, text));
   } else if (name > 6 && strncmp(text + name - 6, ".numel", 6) == 0)
      tl_help(s->diags,
              "'%.*s' counts what the value itself holds, 1 of a pointer; how many elements an "
              "array has, a kernel is told by a parameter, as n",
              (int)name, text);
   else if (memchr(text, '.', name) && !tl_sv_is_runtime(fn) && fn->kind != TL_SV_TUPLE)
      tl_help(s->diags,
              "'%.*s' is a value, and no function: leave the parentheses out; how long an array is "
              "a kernel is told by a parameter",
              (int)name, text);
}

TlSv
tl_invoke(TlSema *s, TlFrame *f, const TlSv *fn, const TlArgs *args, TlRange range)
{
   switch (fn->kind) {
   case TL_SV_POISON:
      return *fn;
   case TL_SV_BUILTIN:
      return tl_invoke_builtin(s, f, fn, args, range);
   case TL_SV_FUNC:
      if (fn->func->node->kind == TL_AST_CLASS)
         return tl_instantiate(s, f, fn->func, args, range);
      return tl_invoke_func(s, f, fn->func, args, range);
   case TL_SV_TYPE:
      return call_type(s, f, fn, args, range);
   case TL_SV_OBJECT:
      return call_object(s, f, fn, args, range);
   default:
      if (tl_is_foreign(fn))
         return call_foreign(s, f, fn, args, range);
      report_no_function(s, fn, range);
      if (tl_is_plain(fn) || fn->kind == TL_SV_MODULE)
         tl_raise_as(s, "TypeError");
      return tl_sv_poison();
   }
}

static bool
is_running_kernel(const TlSema *s, const TlSv *fn)
{
   const TlActivation *act = s->impl->act;
   while (act && act->caller)
      act = act->caller;
   return act && act->func && fn->kind == TL_SV_FUNC && act->func->node == fn->func->node;
}

/* def sum(x, n): .. store(x, sum(load(x + i), 0)): what the kernel gives, nothing, is taken for a
 * value, so that the language's own sum is meant.  True after a report. */
static bool
is_kernel_for_builtin(TlSema *s, const TlAstCall *call, const TlSv *fn)
{
   const char *name = call->func->kind == TL_AST_NAME ? tl_ast_Name(call->func)->id : NULL;
   const char *other = NULL, *begin;
   if (!name || !is_running_kernel(s, fn) || tl_returns_value(fn->func->node))
      return false;
   bool is_hiding = tl_builtin_find(TL_NS_TL, name) != NULL;
   bool is_statement = tl_line_of(s, call->node.range, &begin) == begin;
   if (is_statement || (!is_hiding && !(other = tl_name_instead(name))))
      return false;
   tl_report(s->diags, E0257, call->func->range,
             tl_arena_printf(s->arena, "kernel '%s', which is this one and gives no value,", name));
   if (is_hiding)
      tl_help(s->diags, "its name hides tl.%s: give it another name, or write tl.%s", name, name);
   else
      tl_help(s->diags, "what is meant is written %s", other);
   return true;
}

/* After an error: a variable has taken the name of what was meant. */
static void
help_hidden(TlSema *s, const TlNode *callee, const TlSv *fn, unsigned errors)
{
   bool is_variable = fn->kind == TL_SV_VALUE || tl_sv_is_number(fn);
   const char *name = callee->kind == TL_AST_NAME ? tl_ast_Name(callee)->id : NULL;
   if (is_variable && name && tl_builtin_find(TL_NS_TL | TL_NS_PYTHON, name))
      tl_help(s->diags, "the variable '%s' hides the function; give it another name", name);
   const TlDiag *d = s->diags->last;
   bool is_of_call = d && (d->code == TL_DIAG_E0251 || d->code == TL_DIAG_E0252 ||
                           d->code == TL_DIAG_E0253 || d->code == TL_DIAG_E0255);
   bool is_itself = fn->kind == TL_SV_FUNC && s->impl->act && s->impl->act->func &&
                    s->impl->act->func->node == fn->func->node;
   if (name && is_of_call && is_itself && s->diags->num_errors != errors &&
       tl_builtin_find(TL_NS_TL | TL_NS_PYTHON, name)) /* def store(..): store(..) */
      tl_help(s->diags, "'%s' calls itself, and hides tl.%s: give it another name, or write tl.%s",
              name, name, name);
}

/* static_assert(condition, message): a message with values of the run is no error of the program,
 * for Triton evaluates it only where the assertion fails. */
static bool
eval_assertion(TlSema *s, TlFrame *f, const TlNodeList *nodes, TlArgs *out)
{
   TlNodeList condition = {.data = nodes->data, .len = 1};
   if (!tl_eval_args(s, f, &condition, out))
      return false;
   TlQuiet quiet;
   tl_quiet_begin(s, &quiet);
   TlSv message = tl_eval_expr(s, f, nodes->data[1]);
   const TlDiag *error = tl_quiet_end(s, &quiet);
   if (error && error->code == TL_DIAG_E0301)
      message = tl_make_str(s, "", 0);
   else if (error)
      tl_diags_repeat(s->diags, error);
   if (message.kind == TL_SV_POISON)
      return false;
   SvVec pos = {0};
   RangeVec ranges = {0};
   for (unsigned i = 0; i < out->num_pos; i++) {
      tl_vec_push(s->arena, &pos, out->pos[i]);
      tl_vec_push(s->arena, &ranges, out->pos_range[i]);
   }
   tl_vec_push(s->arena, &pos, message);
   tl_vec_push(s->arena, &ranges, nodes->data[1]->range);
   out->pos = pos.data;
   out->pos_range = ranges.data;
   out->num_pos = (unsigned)pos.len;
   return true;
}

static bool
is_assertion(const TlSv *fn, const TlNodeList *args)
{
   return fn->kind == TL_SV_BUILTIN && fn->builtin.row->fn == tl_builtin_static_assert &&
          args->len == 2 && args->data[0]->kind != TL_AST_STARRED &&
          args->data[0]->kind != TL_AST_KEYWORD && args->data[1]->kind != TL_AST_STARRED &&
          args->data[1]->kind != TL_AST_KEYWORD;
}

TlSv
tl_eval_call(TlSema *s, TlFrame *f, const TlAstCall *call)
{
   TlSv fn = tl_eval_expr(s, f, call->func);
   TlArgs args;
   bool ok = is_assertion(&fn, &call->args) ? eval_assertion(s, f, &call->args, &args)
                                            : tl_eval_args(s, f, &call->args, &args);
   if (fn.kind == TL_SV_POISON)
      return fn;
   bool host_value = fn.kind == TL_SV_OPAQUE || fn.kind == TL_SV_MODULE;
   if (!ok)
      tl_blame_access(s, &fn, &args);
   if ((!ok && !host_value) || is_kernel_for_builtin(s, call, &fn))
      return tl_sv_poison();
   TlRange saved = s->b.range;
   unsigned errors = s->diags->num_errors;
   s->b.range = call->node.range;
   TlSv v = tl_invoke(s, f, &fn, &args, call->node.range);
   s->b.range = saved;
   help_hidden(s, call->func, &fn, errors);
   return v;
}

/* ---- for builtins ---- */
static TlFrame *
current_frame(TlSema *s)
{
   return tl_frame_new(s, NULL, s->impl->main, s->impl->act);
}

TlSv
tl_sema_call(TlSema *s, const TlSv *fn, const TlSv *args, unsigned num_args, TlRange range)
{
   TlArgs a = {.num_pos = num_args};
   a.pos = tl_new_array(s->arena, TlSv, num_args);
   a.pos_range = tl_new_array(s->arena, TlRange, num_args);
   for (unsigned i = 0; i < num_args; i++) {
      a.pos[i] = args[i];
      a.pos_range[i] = range;
      if (args[i].kind == TL_SV_POISON)
         return tl_sv_poison();
   }
   return tl_invoke(s, current_frame(s), fn, &a, range);
}

bool
tl_sema_call_scalars(TlSema *s, const TlSv *fn, TlValue *const *args, unsigned num_args,
                     TlValue **results, unsigned max_results, unsigned *num_results, TlRange range)
{
   assert(num_args > 0 && max_results > 0);
   TlSv *values = tl_new_array(s->arena, TlSv, num_args);
   for (unsigned i = 0; i < num_args; i++)
      values[i] = tl_sv_value(args[i]);
   TlSv v = tl_sema_call(s, fn, values, num_args, range);
   TlFlat flat = {0};
   *num_results = 0;
   if (v.kind == TL_SV_POISON || !tl_flatten(s, &v, range, &flat))
      return false;
   if (flat.len > max_results)
      return tl_refuse(s->diags, E0258, range, max_results, flat.len);
   for (size_t i = 0; i < flat.len; i++)
      results[i] = flat.data[i];
   *num_results = (unsigned)flat.len;
   return true;
}

TlSv
tl_invoke_named(TlSema *s, uint32_t ns, const char *name, const TlSv *args, unsigned n,
                TlRange range)
{
   const TlBuiltin *row = tl_builtin_find(ns, name);
   assert(row);
   TlSv fn = {.kind = TL_SV_BUILTIN, .builtin = {row, NULL}};
   return tl_sema_call(s, &fn, args, n, range);
}
