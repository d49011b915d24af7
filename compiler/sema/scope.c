/* Variables and name lookup.  A name is looked for in the frame, in the frames around it, in the
 * file and among the builtins, in this order.  A variable that cannot be used (set on one side of a
 * run-time `if` only, ..) stays in its frame with the reason, so that the error can name the
 * places. */
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

TlFrame *
tl_frame_new(TlSema *s, TlFrame *parent, TlSourceModule *source, TlActivation *act)
{
   TlFrame *f = tl_new(s->arena, TlFrame);
   f->parent = parent;
   f->source = source;
   f->act = act;
   f->born = ++s->impl->seq;
   return f;
}

TlVar *
tl_frame_var(TlFrame *f, const char *name)
{
   for (size_t i = f->vars.len; i-- > 0;)
      if (f->vars.data[i].name == name)
         return &f->vars.data[i];
   return NULL;
}

static TlScope
scope_in(const TlFrame *f, const char *name)
{
   return f->locals ? (TlScope)(uintptr_t)tl_map_get(f->locals, name) : 0;
}

/* The frame in which an assignment of f's code binds the name. */
static TlFrame *
binding_frame(TlFrame *f, const char *name)
{
   TlScope scope = scope_in(f, name);
   if (scope == TL_SCOPE_GLOBAL)
      return f->source->frame;
   for (; scope == TL_SCOPE_NONLOCAL; scope = scope_in(f, name)) {
      TlFrame *outer = f->parent;
      while (outer && (outer->is_class || outer->is_comp ||
                       (!scope_in(outer, name) && !tl_frame_var(outer, name))))
         outer = outer->parent;
      if (!outer)
         return f;
      f = outer;
   }
   return f;
}

void
tl_frame_set(TlSema *s, TlFrame *f, const char *name, TlSv value, TlRange range)
{
   assert(name);
   bool is_host = tl_is_host(f);
   if (is_host) {
      f = binding_frame(f, name);
      if (!tl_is_pure_for(s, f->born, range))
         return;
      if (f->is_module) {
         tl_global_set(s, f->source, name, value, range);
         return;
      }
   }
   TlVar *v = tl_frame_var(f, name);
   if (!v) {
      tl_vec_push(s->arena, &f->vars, (TlVar){.name = name});
      v = &tl_vec_last(&f->vars);
   } else if (is_host) {
      f->rebinds++;
      s->impl->changes++;
   }
   if (value.kind == TL_SV_VALUE && !value.value->name)
      value.value->name = name;
   tl_see(s, range, &value);
   *v = (TlVar){.name = name, .value = value, .range = range, .seq = ++s->impl->seq};
}

void
tl_frame_del(TlSema *s, TlFrame *f, const char *name, TlRange range)
{
   f = tl_is_host(f) ? binding_frame(f, name) : f;
   if (!tl_is_pure_for(s, f->born, range))
      return;
   f->rebinds++;
   s->impl->changes++;
   TlGlobal *g = f->is_module ? tl_map_get(&f->source->globals, name) : NULL;
   if (g) {
      tl_global_set(s, f->source, name, tl_sv_none(), range);
      g->state = TL_GLOBAL_DELETED;
   }
   TlVar *v = f->is_module ? NULL : tl_frame_var(f, name);
   if (v) {
      v->state = TL_VAR_DELETED;
      v->range = range;
      v->seq = ++s->impl->seq;
   }
}

TlVars
tl_vars_copy(TlSema *s, const TlVars *vars)
{
   TlVars copy = {.len = vars->len, .cap = vars->len};
   copy.data = tl_new_array(s->arena, TlVar, vars->len);
   if (vars->len)
      memcpy(copy.data, vars->data, vars->len * sizeof copy.data[0]);
   return copy;
}

/* ---- did you mean ---- */
static void
try_builtins(TlNearest *n, uint32_t namespaces)
{
   const TlBuiltin *row;
   for (unsigned i = 0; (row = tl_builtin_at(i)); i++)
      if (row->namespaces & namespaces)
         tl_nearest_try(n, row->name);
   if (namespaces & TL_NS_TL)
      for (unsigned d = 0; d < TL_DTYPE_COUNT; d++)
         tl_nearest_try(n, tl_dtype_info[d].triton_name);
}

/* ---- names that are another's ---- */
const char *
tl_name_instead(const char *name)
{
   static const struct {
      const char *name, *instead;
   } rows[] = {
#define TL_OTHER_NAME(name, instead) {name, instead},
#include "sema/other_names.def"
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].name, name) == 0)
         return rows[i].instead;
   return NULL;
}

/* How tl's or libdevice's function of that name is called, or NULL. */
static const char *
function_form(TlSema *s, const char *name)
{
   const TlBuiltin *row = tl_builtin_find(TL_NS_TL, name);
   if (row)
      return tl_arena_printf(s->arena, "tl.%s", tl_call_form(s, row));
   row = tl_builtin_find(TL_NS_LIBDEVICE, name);
   return row ? tl_arena_printf(s->arena, "libdevice.%s, of triton.language.extra",
                                tl_call_form(s, row))
              : NULL;
}

/* OpenCL's convert_float4(x), as_int(x), with rounding or saturation behind. */
static const char *
opencl_conversion(TlSema *s, const char *name)
{
   const char *p = tl_skip_prefix(name, "convert_");
   bool is_bits = !p;
   p = p ? p : tl_skip_prefix(name, "as_");
   size_t len = p ? strspn(p, "abcdefghijklmnopqrstuvwxyz") : 0;
   const char *type = p ? tl_other_type(p, len) : NULL;
   TlDtype d;
   if (!type || !tl_dtype_from_text(type, strlen(type), &d))
      return NULL;
   return tl_arena_printf(s->arena, "x.to(tl.%s%s)", tl_dtype_info[d].triton_name,
                          is_bits ? ", bitcast=True" : "");
}

/* The functions of C and CUDA that are tl's by another name: expf, __expf, __fsqrt_rn; of types:
 * __float2half, __half2float_rn.  What to write, or NULL. */
static const char *
c_function(TlSema *s, const char *name)
{
   const char *p = tl_skip_prefix(name, "__");
   size_t len = p ? strcspn(p, "_") : 0;
   if (p && memchr(p, '2', len) && p[len - 1] != '2')
      return "x.to(dtype), as in x.to(tl.float16)";
   char *bare = tl_arena_strndup(s->arena, p ? p : name, p ? len : strlen(name));
   len = strlen(bare);
   const char *whole = p ? p : ""; /* __popc, __int_as_float */
   if (tl_builtin_find(TL_NS_TL | TL_NS_LIBDEVICE, whole))
      return function_form(s, whole);
   if (p && *bare == 'f' && tl_builtin_find(TL_NS_TL, bare + 1)) /* __fsqrt_rn */
      bare++;
   else if (len > 2 && bare[len - 1] == 'f')
      bare[len - 1] = '\0';
   else
      return NULL;
   return function_form(s, bare);
}

/* torch's x.exp_(): the tile stays as it is. */
static const char *
in_place(TlSema *s, const char *name)
{
   size_t len = strlen(name);
   if (len < 3 || name[len - 1] != '_' || name[0] == '_')
      return NULL;
   const char *bare = tl_arena_strndup(s->arena, name, len - 1), *form = tl_name_instead(bare);
   form = form ? form : function_form(s, bare);
   return form ? tl_arena_printf(s->arena, "x = %s: a tile never changes in place", form) : NULL;
}

const char *
tl_other_name(TlSema *s, const char *name)
{
   const char *instead = tl_name_instead(name);
   if (!instead)
      instead = c_function(s, name);
   if (!instead)
      instead = opencl_conversion(s, name);
   if (!instead)
      instead = in_place(s, name);
   if (!instead)
      instead = tl_type_instead(s, name, false);
   if (instead)
      return tl_arena_printf(s->arena, "write %s", instead);
   if (tl_builtin_find(TL_NS_LIBDEVICE, name))
      return tl_arena_printf(s->arena, "write libdevice.%s(..), of triton.language.extra", name);
   return NULL;
}

const char *
tl_suggest_builtin(TlSema *s, uint32_t namespaces, const char *name)
{
   (void)s;
   TlNearest n = {.name = name};
   try_builtins(&n, namespaces);
   return n.best;
}

/* x and x_ptr: one is the other's first words. */
static bool
is_part(const char *a, const char *b)
{
   size_t n = strlen(a), m = strlen(b), least = n < m ? n : m;
   return n != m && strncmp(a, b, least) == 0 && (n < m ? b : a)[least] == '_';
}

const char *
tl_suggest(TlSema *s, TlFrame *f, const char *name)
{
   TlNearest n = {.name = name};
   TlSourceModule *source = NULL;
   if (!tl_wants_help(s->diags))
      return NULL;
   const TlFrame *in = f;
   for (; f; f = f->parent) {
      for (size_t i = 0; i < f->vars.len; i++)
         if (f->vars.data[i].state == TL_VAR_BOUND)
            tl_nearest_try(&n, f->vars.data[i].name);
      source = f->source;
   }
   for (size_t i = 0; source && i < source->order.len; i++)
      tl_nearest_try(&n, source->order.data[i]->name);
   for (size_t i = 0; source && i < source->stars.len; i++) {
      const TlSourceModule *from = tl_star_source(s, source, &source->stars.data[i]);
      for (size_t k = 0; from && k < from->order.len; k++)
         if (from->order.data[k]->name[0] != '_')
            tl_nearest_try(&n, from->order.data[k]->name);
   }
   try_builtins(&n, source && source->is_tile ? TL_NS_PYTHON | TL_NS_TL : TL_NS_PYTHON);
   for (; !n.best && in; in = in->parent)
      for (size_t i = 0; i < in->vars.len; i++)
         if (in->vars.data[i].state == TL_VAR_BOUND && is_part(in->vars.data[i].name, name))
            n.best = in->vars.data[i].name;
   return n.best;
}

/* ---- lookup ---- */
bool
tl_counts_down(const TlValue *step)
{
   TlBits bits;
   return tl_is_const(step, &bits) && tl_bits_to_int(step->type->dtype, bits) < 0;
}

/* The last index of a run-time loop from start, stop and step: start + (n - 1) * step.  Python has
 * no value when there was no iteration; here it is one step before the start, or the start. */
TlValue *
tl_last_index(TlSema *s, TlValue *const bound[3])
{
   TlValue *start = bound[0], *step = bound[2];
   TlValue *one = tl_const_int(&s->b, start->type->dtype, tl_counts_down(step) ? -1 : 1);
   TlValue *length = tl_b2(&s->b, TL_OP_SUB, bound[1], start);
   TlValue *steps = tl_b2(&s->b, TL_OP_DIV, tl_b2(&s->b, TL_OP_SUB, length, one), step);
   return tl_b2(&s->b, TL_OP_ADD, start, tl_b2(&s->b, TL_OP_MUL, steps, step));
}

/* Has an error named the place where the variable was set?  One use is enough to tell. */
static bool
is_told(const TlSema *s, const TlVar *v)
{
   for (const TlDiag *d = s->diags->first; d; d = d->next)
      if ((d->code == TL_DIAG_E0203 || d->code == TL_DIAG_E0204 || d->code == TL_DIAG_E0205) &&
          d->notes && d->notes->range.file == v->range.file &&
          d->notes->range.begin == v->range.begin)
         return true;
   return false;
}

/* ", such as tl.zeros([BLOCK], tl.float32)" of a tile; else nothing. */
static const char *
neutral_start(TlSema *s, const TlVar *v)
{
   const TlType *t = v->value.kind == TL_SV_VALUE ? v->value.value->type : NULL;
   if (!t || !tl_type_is_tile(t) || tl_type_elem(t)->kind != TL_TYPE_SCALAR)
      return "";
   TlSv zero = tl_dtype_is_float(tl_type_elem(t)->dtype) ? tl_sv_float(0) : tl_sv_int(0);
   return tl_arena_printf(s->arena, ", such as %s", tl_tile_of(s, &zero, t));
}

static TlSv
unusable(TlSema *s, const TlVar *v, TlRange range)
{
   if (is_told(s, v))
      return tl_sv_poison();
   switch (v->state) {
   case TL_VAR_ONE_SIDED:
      tl_report(s->diags, E0203, range, v->name);
      tl_note(s->diags, N0200, v->range, "it is set here");
      tl_note(s->diags, N0200, v->other, "the 'if' whose other side does not set it");
      tl_help(s->diags, "give '%s' a value before the 'if'%s%s", v->name,
              s->impl->act && s->impl->act->loops
                 ? ", or before the loop if it goes on from round to round"
                 : "",
              neutral_start(s, v));
      break;
   case TL_VAR_CONFLICT:
      tl_report(s->diags, E0204, range, v->name, v->types[0], v->types[1]);
      tl_note(s->diags, N0201, v->range, v->types[0]);
      tl_note(s->diags, N0201, v->other, v->types[1]);
      tl_help(s->diags, "%s", v->way_out);
      break;
   case TL_VAR_LOOP_LOCAL:
      if (v->loop) {
         tl_report(s->diags, W0202, range, v->name);
         return tl_sv_value(tl_last_index(s, v->loop));
      }
      tl_report(s->diags, E0205, range, v->name);
      tl_note(s->diags, N0200, v->range, "it is set here");
      tl_help(s->diags, "give '%s' a value of the same type before the loop", v->name);
      break;
   case TL_VAR_DELETED:
      tl_report(s->diags, E0206, range, v->name);
      tl_note(s->diags, N0200, v->range, "deleted here");
      break;
   case TL_VAR_BOUND:
      break;
   }
   return tl_sv_poison();
}

/* A builtin visible without a module name. */
static bool
bare_builtin(TlSema *s, const TlSourceModule *source, const char *name, TlSv *out)
{
   uint32_t ns = TL_NS_PYTHON;
   if (!source || source->is_tile)
      ns |= TL_NS_TL;
   const TlBuiltin *row = NULL;
   if (source &&
       source->is_tile) { /* the language's own meaning of min, max, sum .. comes second */
      row = tl_builtin_find(TL_NS_PYTHON, name);
      if (!row)
         row = tl_builtin_find(TL_NS_TL, name);
      if (!row)
         row = tl_builtin_find(TL_NS_TRITON | TL_NS_MATH | TL_NS_LIBDEVICE, name);
   } else {
      row = tl_builtin_find(ns, name);
   }
   if (row) {
      *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {row, NULL}};
      return true;
   }
   if (tl_host_builtin(s, name, out))
      return true;
   if (!source || !source->is_tile)
      return false;
   if (tl_dtype_constant(s, name, out))
      return true;
   if (strcmp(name, "tl") == 0 || strcmp(name, "triton") == 0 || strcmp(name, "libdevice") == 0) {
      *out = tl_module_value(s, strcmp(name, "tl") == 0       ? "triton.language"
                                : strcmp(name, "triton") == 0 ? "triton"
                                                              : "triton.language.extra.libdevice");
      return true;
   }
   if (strcmp(name, "math") == 0) {
      *out = tl_module_value(s, "triton.language.math");
      return true;
   }
   TlDtype dtype; /* fp32, i32, .. */
   if (tl_dtype_from_text(name, strlen(name), &dtype)) {
      *out = tl_sv_type(tl_type_scalar(s->types, dtype));
      return true;
   }
   return false;
}

/* A name that is local in a frame and not bound yet. */
static TlVar unbound;

static TlVar *
find_var(TlSema *s, TlFrame *f, const char *name, TlSourceModule **source)
{
   bool from_function = false;
   for (; f; f = f->parent) {
      *source = f->source;
      if (f->is_class && from_function)
         continue;
      TlVar *v = tl_frame_var(f, name);
      if (tl_is_host(f))
         tl_pure_read(s, f->born, &f->rebinds);
      if (v)
         return v;
      TlScope scope = scope_in(f, name);
      if (scope == TL_SCOPE_GLOBAL)
         return NULL;
      if (scope == TL_SCOPE_LOCAL)
         return &unbound;
      from_function = true;
   }
   return NULL;
}

bool
tl_lookup_quiet(TlSema *s, TlFrame *f, const char *name, TlSv *out)
{
   TlSourceModule *source = NULL;
   bool is_host = tl_is_host(f);
   TlVar *v = find_var(s, f, name, &source);
   if (v) {
      *out = v->value;
      return v != &unbound && v->state == TL_VAR_BOUND;
   }
   TlGlobal *g = source ? tl_global_find(s, source, name) : NULL;
   if (g && g->state != TL_GLOBAL_DELETED) {
      if (source->frame)
         tl_pure_read(s, source->frame->born, &g->seq);
      *out = tl_global_value(s, source, g);
      return true;
   }
   if (source && source->frame) /* a binding may come later */
      tl_pure_read(s, source->frame->born, &source->frame->rebinds);
   return (is_host && tl_host_builtin(s, name, out)) || bare_builtin(s, source, name, out);
}

/* blockIdx.x * blockDim.x + threadIdx.x is one mistake: an error is of such a name before it in
 * the line. */
static bool
is_of_last_slip(TlSema *s, TlRange range)
{
   for (const TlDiag *d = s->diags->first; d; d = d->next)
      if (d->code == TL_DIAG_E0200 && d->range.file == range.file && d->range.begin < range.begin &&
          tl_other_name(s, tl_range_text(s, d->range)) &&
          tl_source_line_col(s->sources, range.file, d->range.begin).line ==
             tl_source_line_col(s->sources, range.file, range.begin).line)
         return true;
   return false;
}

/* f(x), f<int>(x), f.x */
static bool
is_called(TlSema *s, TlRange name)
{
   const TlSource *file = tl_source(s->sources, name.file);
   const char *p = file->text + name.end;
   p += strspn(p, " ");
   return *p && strchr("(<.[", *p);
}

/* Is what to write a function of something: tl.trans(x), a / b? */
static bool
names_operand(const char *text)
{
   for (const char *p = text; *p; p++) {
      bool is_word = strchr("abx", *p) && !isalnum((unsigned char)p[1]) && p[1] != '_' &&
                     (p == text || (!isalnum((unsigned char)p[-1]) && p[-1] != '_'));
      if (is_word && strchr(")],.[*/+-&|^%<>=", p[1 + (p[1] == ' ')])) /* '\0' is among them */
         return true;
   }
   return false;
}

/* The names by which people know the libraries whose functions they write from habit. */
static bool
is_library(const char *name)
{
   static const char words[] =
      "np numpy cp cupy torch th nn F functional jax jnp lax pl pltpu plgpu mosaic cuda numba nb "
      "ti taichi wp warp mx tf tvm tilelang T cutlass cute cutile ct cl pyopencl hip metal std "
      "thrust cub gl gluon ttgl math cmath scipy sp";
   return tl_word_is_listed(words, name);
}

/* What to write for the name, in a chain that begins with a library's if is_known; or NULL. */
static const char *
name_of_part(TlSema *s, const char *name, bool is_known)
{
   const TlBuiltin *row = tl_builtin_find(TL_NS_TL, name);
   const char *other = tl_name_instead(name);
   bool is_method = row && (row->flags & TL_BUILTIN_METHOD); /* of a value, as the name may be */
   if (row && row->signature && (is_known || !is_method))
      return tl_arena_printf(s->arena, "write tl.%s", tl_call_form(s, row));
   if (other && (is_known || !names_operand(other)))
      return tl_arena_printf(s->arena, "write %s", other);
   if (is_known && tl_builtin_find(TL_NS_LIBDEVICE, name))
      return tl_arena_printf(s->arena, "write libdevice.%s(..), of triton.language.extra", name);
   return NULL;
}

const char *
tl_name_of_library(TlSema *s, const char *chain, bool is_known)
{
   char *rest = tl_arena_strdup(s->arena, chain), *dot;
   const char *found = NULL;
   while (!found && (dot = strrchr(rest, '.'))) {
      char *before = rest;
      for (char *p = rest; p < dot; p++)
         before = *p == '.' ? p + 1 : before;
      *dot = '_'; /* atomic.add is tl's atomic_add, and no sum */
      found = name_of_part(s, before, is_known);
      *dot = '\0';
      found = found ? found : name_of_part(s, dot + 1, is_known);
   }
   return found ? found : name_of_part(s, rest, is_known);
}

/* cuda.grid(1), pl.program_id(0), jax.lax.fori_loop(..): a module that was not imported, of a name
 * that is known. */
static const char *
name_behind(TlSema *s, const char *module, TlRange range)
{
   const TlSource *file = tl_source(s->sources, range.file);
   const char *p = file->text + range.end;
   size_t len = 1;
   if (*p != '.')
      return NULL;
   while (isalnum((unsigned char)p[len]) || p[len] == '_' || p[len] == '.')
      len++;
   const char *name = tl_arena_strndup(s->arena, p + 1, len - 1);
   bool is_known = is_library(module);
   const char *instead = tl_name_of_library(s, name, is_known);
   if (instead || !is_known)
      return instead;
   TlSv dtype;
   const char *last = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
   if (tl_dtype_constant(s, last, &dtype))
      return tl_arena_printf(s->arena, "the type is tl.%s in a kernel", last);
   return tl_arena_printf(s->arena,
                          "'%s' is another library's module: kernels call tl's functions, which "
                          "`tilec doc` lists",
                          module);
}

/* BLOCK_M */
static bool
is_constant_name(const char *name)
{
   size_t len = strlen(name);
   return len > 1 && *name >= 'A' && *name <= 'Z' &&
          strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len;
}

/* load(p, mask == m): the name is of a parameter of builtins, and "==" follows it. */
static bool
is_compared_argument(TlSema *s, TlRange range, const char *name)
{
   const char *after = tl_source(s->sources, range.file)->text + range.end;
   const TlBuiltin *row;
   after += strspn(after, " ");
   for (unsigned i = 0; strncmp(after, "==", 2) == 0 && (row = tl_builtin_at(i)); i++)
      for (const char *p = row->signature; p && *p; p = tl_parameter_end(p)) {
         p += strspn(p, ", *");
         size_t len = strcspn(p, "=, ");
         if (len == strlen(name) && strncmp(p, name, len) == 0)
            return true;
      }
   return false;
}

/* input_precision=ieee: the parameter that the name is given to, or "". */
static const char *
parameter_before(TlSema *s, TlRange range)
{
   const char *begin = tl_source(s->sources, range.file)->text, *p = begin + range.begin;
   while (p > begin && p[-1] == ' ')
      p--;
   if (p == begin || *--p != '=' || p == begin || strchr("=<>!", p[-1]))
      return "";
   while (p > begin && p[-1] == ' ')
      p--;
   const char *end = p;
   while (p > begin && (isalnum((unsigned char)p[-1]) || p[-1] == '_'))
      p--;
   return tl_arena_strndup(s->arena, p, (size_t)(end - p));
}

/* x.to(f8), tl.zeros(shape, dtype=long): what to write for it; NULL: no type is wanted there. */
static const char *
type_wanted(TlSema *s, TlRange range, const char *name)
{
   static const char call[] = ".to(";
   const size_t len = sizeof call - 1;
   const char *begin = tl_source(s->sources, range.file)->text, *p = begin + range.begin;
   bool is_to = (size_t)(p - begin) > len && strncmp(p - len, call, len) == 0;
   if (!is_to && !tl_ends_with(parameter_before(s, range), "dtype"))
      return NULL;
   return tl_type_instead(s, name, true);
}

/* w == x, a line of its own. */
bool
tl_is_compared_statement(TlSema *s, TlRange range)
{
   const char *begin, *line = tl_line_of(s, range, &begin);
   const char *after = begin + (range.end - range.begin);
   after += strspn(after, " ");
   return line == begin && (strncmp(after, "==", 2) == 0 || strncmp(after, "<-", 2) == 0);
}

/* #define NAME .. */
static bool
is_defined_in_comment(TlSema *s, TlRange range, const char *name)
{
   const TlSource *src = tl_source(s->sources, range.file);
   for (const char *p = src->text; (p = strstr(p, "#define")) != NULL;) {
      p += strlen("#define");
      p += strspn(p, " \t");
      size_t len = strcspn(p, " \t\r\n(");
      if (strlen(name) == len && strncmp(p, name, len) == 0)
         return true;
   }
   return false;
}

/* The name of a module that is not imported stands in each line. */
static bool
is_reported(const TlSema *s, const char *name)
{
   size_t len = strlen(name);
   for (const TlDiag *d = s->diags->first; d; d = d->next) {
      const char *quote = d->code == TL_DIAG_E0200 ? strchr(d->text, '\'') : NULL;
      if (quote && strncmp(quote + 1, name, len) == 0 && quote[len + 1] == '\'')
         return true;
   }
   return false;
}

TlSv
tl_lookup(TlSema *s, TlFrame *f, const char *name, TlRange range)
{
   TlSourceModule *source = NULL;
   TlVar *v = find_var(s, f, name, &source);
   if (v && v != &unbound && v->state != TL_VAR_BOUND) {
      TlSv none = unusable(s, v, range);
      if (tl_is_host(f))
         tl_raise_as(s, scope_in(f, name) ? "UnboundLocalError" : "NameError");
      return none;
   }
   TlSv out;
   if (v != &unbound && tl_lookup_quiet(s, f, name, &out)) {
      tl_see(s, range, &out);
      return out;
   }
   const char *other = name_behind(s, name, range);
   if (!other)
      other = tl_other_name(s, name);
   if (other && !is_called(s, range) && names_operand(other))
      other = NULL; /* a variable that is missing, t or mode, is no function */
   if ((other || is_constant_name(name)) && is_of_last_slip(s, range))
      return tl_sv_poison(); /* barrier(CLK_LOCAL_MEM_FENCE) too */
   if (strcmp(name, "tl") == 0 && is_reported(s, name))
      return tl_sv_poison();
   tl_report(s->diags, E0200, range, name);
   if (tl_is_host(f))
      tl_raise_as(s, scope_in(f, name) ? "UnboundLocalError" : "NameError");
   if (!s->diags->last)
      return tl_sv_poison(); /* nobody is told: a way out would be looked for in the whole file */
   const char *param = parameter_before(s, range), *word = tl_word_of(param, name);
   if (word) {
      tl_help(s->diags, "it is a text: %s=\"%s\"", param, word);
      return tl_sv_poison();
   }
   const char *type = is_called(s, range) ? NULL : type_wanted(s, range, name);
   if (type) {
      tl_help(s->diags, "write %s", type);
      return tl_sv_poison();
   }
   const char *near = tl_suggest(s, f, name);
   if (f->act && f->act->func && !tl_is_host(f) && !tl_is_compared_statement(s, range) &&
       tl_help_unset(s, f->act->func->node, name, range, near))
      return tl_sv_poison();
   if (near && is_constant_name(name) && strcasecmp(name, near) != 0 && !is_called(s, range) &&
       tl_builtin_find(TL_NS_TL | TL_NS_PYTHON, near))
      near = NULL; /* LOG2E is no log2 */
   if (strcmp(name, "tl") == 0 && !near) {
      tl_help(s->diags, "add 'import triton.language as tl'");
      return tl_sv_poison();
   }
   if (strcmp(name, "libdevice") == 0) {
      tl_help(s->diags, "add 'from triton.language.extra import libdevice'");
      return tl_sv_poison();
   }
   bool is_number = strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0;
   TlSv dtype;
   bool is_tl = source && !source->is_tile &&
                (tl_builtin_find(TL_NS_TL, name) || tl_dtype_constant(s, name, &dtype));
   /* A word of another language that begins in another case, as blockIdx beside BLOCK, is no slip
    * of the fingers. */
   bool is_of_library = is_library(name) && other;
   bool is_near_own =
      near && !is_of_library && !tl_builtin_find(TL_NS_TL | TL_NS_PYTHON, near) &&
      (!other || tolower((unsigned char)*near) != tolower((unsigned char)*name) || *near == *name);
   if (other && !tl_is_host(f) && (is_number || !is_near_own))
      tl_help(s->diags, "%s", other);
   else if (is_tl)
      tl_help(s->diags, "did you mean 'tl.%s'?", name);
   else if (near)
      tl_help(s->diags, "did you mean '%s'?", near);
   else if (strcmp(name, "tl") == 0)
      tl_help(s->diags, "add 'import triton.language as tl'");
   else if (strcmp(name, "kernel") == 0)
      tl_help(s->diags, "kernels stand at the top of the file, outside of others; what a kernel "
                        "calls is a function without @kernel");
   else if (tl_is_compared_statement(s, range))
      tl_help(s->diags, "'==' compares, '=' assigns: %s = ..", name);
   else if (is_compared_argument(s, range, name))
      tl_help(s->diags, "'==' compares; an argument is given by its name with one '=': %s=..",
              name);
   else if (is_defined_in_comment(s, range, name))
      tl_help(s->diags, "'#' begins a comment: write %s = VALUE at the top of the file", name);
   else if (is_constant_name(name))
      tl_help(s->diags,
              "make it a parameter, %s: tl.constexpr, or a constant at the top of the file: "
              "%s = %s",
              name, name, source && source->is_tile ? "VALUE" : "tl.constexpr(VALUE)");
   return tl_sv_poison();
}
