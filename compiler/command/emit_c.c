/* From launch records to C functions: names, parameter types, and the condition under which each
 * specialisation may be launched. */
#include "command/emit_c.h"
#include "core/rule.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */
const char *
tl_c_name(TlArena *arena, const char *text)
{
   TlSb sb;
   tl_sb_init(&sb, arena);
   if (isdigit((unsigned char)*text) || !*text)
      tl_sb_char(&sb, 'k'); /* a leading underscore would be C's */
   for (; *text; text++) {
      unsigned char ch = (unsigned char)*text;
      bool plain = (ch < 0x80 && isalnum(ch)) || ch == '_';
      tl_sb_char(&sb, plain ? (char)ch : '_');
   }
   return tl_sb_cstr(&sb);
}

/* Words that a parameter of a C or C++ function cannot be called, that the functions use, or that
 * the headers which they include define as macros. */
static bool
is_reserved(const char *name)
{
   static const char words[] =
      "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
      "char32_t class compl const constexpr const_cast continue decltype default delete do double "
      "dynamic_cast else enum explicit export extern false float for friend goto if inline int "
      "linux long mutable namespace new noexcept not not_eq nullptr operator or or_eq private "
      "protected public register reinterpret_cast restrict return short signed sizeof static "
      "static_assert static_cast struct switch template this thread_local throw true try typedef "
      "typeid typename typeof typeof_unqual union unix unsigned using virtual void volatile "
      "while xor xor_eq stream grid grid_x grid_y grid_z asked params bad memcpy NULL errno stdin "
      "stdout stderr BUFSIZ CLOCKS_PER_SEC CSIGNAL EOF FILENAME_MAX FOPEN_MAX L_ctermid L_cuserid "
      "L_tmpnam P_tmpdir TIME_UTC TMP_MAX sched_priority";
   return tl_word_is_listed(words, name);
}

static bool
starts_with_one_of(const char *name, const char *const *prefixes)
{
   while (*prefixes && !tl_starts_with(name, *prefixes))
      prefixes++;
   return *prefixes != NULL;
}

/* Families of such words: C's own, types, limits, macros of headers, what the output defines. */
static bool
is_of_others(const TlAot *aot, const char *name)
{
   static const char *const numbers[] = {"INT",    "UINT",  "SIZE_",       "PTRDIFF_",
                                         "WCHAR_", "WINT_", "SIG_ATOMIC_", NULL};
   static const char *const macros[] = {"ADJ_",  "CLOCK_",   "CLONE_",  "DLFO_", "LM_ID_",
                                        "MOD_",  "PTHREAD_", "RENAME_", "RTLD_", "SCHED_",
                                        "SEEK_", "STA_",     "TIMER_",  NULL};
   size_t own = strlen(aot->name);
   assert(*name);
   return (name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]))) ||
          tl_ends_with(name + 1, "_t") || starts_with_one_of(name, macros) ||
          (starts_with_one_of(name, numbers) &&
           (tl_ends_with(name, "_MAX") || tl_ends_with(name, "_MIN") ||
            tl_ends_with(name, "_WIDTH"))) ||
          (strncasecmp(name, aot->name, own) == 0 && name[own] == '_');
}

/* Also apart from the parameters before it. */
static const char *
param_name(const TlAot *aot, const TlCKernel *k, uint32_t index, const char *name)
{
   assert(index < k->num_params);
   const char *c = tl_c_name(aot->arena, name);
   for (;;) {
      bool taken = is_reserved(c) || is_of_others(aot, c), leads = taken && !is_reserved(c);
      for (uint32_t i = 0; i < index; i++)
         taken |= k->params[i].c_name && strcmp(k->params[i].c_name, c) == 0;
      if (!taken)
         return c;
      c = tl_arena_printf(aot->arena, "%s%s_", leads || c[0] == '_' ? "p_" : "", c);
   }
}

/* ---- types ---- */
static const struct {
   const char *text;
   unsigned bytes;
   char kind; /* B, I, U, F */
} dtypes[] = {
#define ROW(id, number, text, bytes, kind) {text, bytes, #kind[0]},
   TILEC_DTYPE_TABLE(ROW)
#undef ROW
};

static void
scalar_type(const TlAot *aot, const char *type, TlCParam *p)
{
   for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
      if (strcmp(dtypes[i].text, type) != 0)
         continue;
      unsigned bytes = dtypes[i].bytes;
      bool is_small = dtypes[i].kind == 'F' && bytes < 4;
      p->kind = is_small ? TL_C_BITS : dtypes[i].kind == 'F' ? TL_C_FLOAT : TL_C_INT;
      if (dtypes[i].kind == 'B')
         p->c_type = "bool ";
      else if (p->kind == TL_C_FLOAT)
         p->c_type = bytes == 8 ? "double " : "float ";
      else
         p->c_type = tl_arena_printf(aot->arena, "%sint%u_t ",
                                     dtypes[i].kind == 'U' || is_small ? "u" : "", bytes * 8);
   }
}

/* "*fp32": float *; what C has no type for is void *. */
static void
param_type(const TlAot *aot, const char *type, bool is_const, TlCParam *p)
{
   if (type[0] != '*') {
      scalar_type(aot, type, p);
      return;
   }
   TlCParam elem = {0};
   scalar_type(aot, type + 1, &elem);
   bool is_plain = elem.kind == TL_C_INT || elem.kind == TL_C_FLOAT;
   p->kind = TL_C_POINTER;
   p->c_type = tl_arena_printf(aot->arena, "%s%s*", is_const ? "const " : "",
                               is_plain ? elem.c_type : "void ");
}

/* ---- parameters ---- */
static bool
fail(const TlAot *aot, const TlCKernel *k, const char *why)
{
   return tl_refuse(&aot->images[0].comp->diags, E0520, k->range, k->name, why);
}

static const TilecKernelInfo *
entry_info(const TlAot *aot, const TlCKernel *k, uint32_t i)
{
   assert(i < k->count);
   return &aot->images[0].comp->info.kernels[k->first + i];
}

/* None fits every pointer, whatever type the record gives it. */
static bool
is_typed(const TilecArgInfo *a)
{
   return strcmp(a->type, "constexpr") != 0 && !(a->value && strcmp(a->value, "None") == 0);
}

/* A constant that some entry has must be one that C can compare with. */
static bool
check_constant(const TlAot *aot, const TlCKernel *k, const TilecArgInfo *a, TlCParam *p)
{
   assert(a->value && p->kind != TL_C_NONE);
   int64_t ignored;
   char *end;
   bool is_none = strcmp(a->value, "None") == 0;
   bool ok = p->kind == TL_C_POINTER ? is_none
             : p->kind == TL_C_INT   ? !is_none && tl_rule_int_of(a->value, &ignored)
                                     : p->kind == TL_C_FLOAT && !is_none;
   if (ok && p->kind == TL_C_FLOAT) {
      double v = strtod(a->value, &end);
      ok = end != a->value && !*end && isfinite(v);
   }
   p->may_be_null |= is_none;
   return ok || fail(aot, k,
                     tl_arena_printf(aot->arena,
                                     "no launch can be compared with the "
                                     "constant %s of '%s'",
                                     a->value, a->name));
}

/* Where the parameter is declared; of a kernel that is no text the kernel. */
static TlRange
declared_at(const TlAot *aot, const TlCKernel *k, const char *name)
{
   const TlCompilation *comp = aot->images[0].comp;
   const TlKernelInfo *all;
   unsigned n = comp->sema ? tl_sema_kernels(comp->sema, &all) : 0;
   for (unsigned i = 0; i < n; i++)
      for (unsigned p = 0; strcmp(all[i].name, k->name) == 0 && p < all[i].num_params; p++)
         if (strcmp(all[i].params[p].name, name) == 0)
            return all[i].params[p].range;
   return k->range;
}

static bool
param_of(const TlAot *aot, TlCKernel *k, uint32_t index)
{
   assert(k->count > 0 && index < k->num_params);
   TlCParam *p = &k->params[index];
   const TilecArgInfo *first = &entry_info(aot, k, 0)->args[index], *typed = NULL;
   bool is_const = true, differs = false;
   *p = (TlCParam){.name = first->name};
   for (uint32_t i = 0; i < k->count; i++) {
      const TilecArgInfo *a = &entry_info(aot, k, i)->args[index];
      differs |= !a->value != !first->value || (a->value && strcmp(a->value, first->value) != 0);
      if (!is_typed(a))
         continue;
      is_const &= a->is_const;
      if (typed && strcmp(typed->type, a->type) != 0) {
         tl_report(&aot->images[0].comp->diags, E0521, declared_at(aot, k, a->name), a->name,
                   typed->type, a->type);
         tl_help(&aot->images[0].comp->diags, "build each type into an output of its own");
         return false;
      }
      typed = a;
   }
   if (!typed && !differs)
      return true;
   param_type(aot, typed ? typed->type : "i64", is_const, p);
   if (!p->kind)
      return fail(aot, k,
                  tl_arena_printf(aot->arena, "'%s' has type %s", typed->name, typed->type));
   p->c_name = param_name(aot, k, index, p->name);
   for (uint32_t i = 0; i < k->count; i++) {
      const TilecArgInfo *a = &entry_info(aot, k, i)->args[index];
      if (a->value && !check_constant(aot, k, a, p))
         return false;
   }
   return true;
}

bool
tl_c_params(const TlAot *aot, TlCKernel *k)
{
   k->num_params = entry_info(aot, k, 0)->num_args;
   k->params = tl_new_array(aot->arena, TlCParam, k->num_params + 1);
   for (uint32_t i = 0; i < k->num_params; i++)
      if (!param_of(aot, k, i))
         return false;
   return true;
}

/* ---- conditions ---- */
/* Where another entry stands for None, a pointer of this one is not null. */
static bool
has_condition(const TlCParam *p, const TilecArgInfo *a)
{
   return p->kind && (a->value || a->divisible > 1 || p->may_be_null);
}

static void
constant_condition(const TlCParam *p, const char *value, TlSb *sb)
{
   assert(p->kind == TL_C_POINTER || p->kind == TL_C_INT || p->kind == TL_C_FLOAT);
   int64_t v = 0;
   if (p->kind == TL_C_POINTER) {
      tl_sb_printf(sb, "!%s", p->c_name);
   } else if (p->kind == TL_C_INT) {
      (void)tl_rule_int_of(value, &v);
      tl_sb_printf(sb, v == INT64_MIN ? "%s == INT64_MIN" : "%s == %lld", p->c_name, (long long)v);
   } else {
      tl_sb_printf(sb, "(double)%s == %a", p->c_name, strtod(value, NULL));
   }
}

const char *
tl_c_condition(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info)
{
   TlSb sb;
   tl_sb_init(&sb, aot->arena);
   for (uint32_t i = 0; i < k->num_params; i++) {
      const TlCParam *p = &k->params[i];
      const TilecArgInfo *a = &info->args[i];
      if (!has_condition(p, a))
         continue;
      tl_sb_str(&sb, sb.len ? " && " : "");
      if (a->value)
         constant_condition(p, a->value, &sb);
      else if (p->may_be_null)
         tl_sb_printf(&sb, a->divisible > 1 ? "%s && " : "%s", p->c_name);
      if (!a->value && a->divisible > 1)
         tl_sb_printf(&sb, "%s%s %% %u == 0", p->kind == TL_C_POINTER ? "(uintptr_t)" : "",
                      p->c_name, a->divisible);
   }
   return tl_sb_cstr(&sb);
}

const char *
tl_c_facts(const TlAot *aot, const TlCKernel *k, const TilecKernelInfo *info)
{
   TlSb sb;
   tl_sb_init(&sb, aot->arena);
   for (uint32_t i = 0; i < k->num_params; i++) {
      const TilecArgInfo *a = &info->args[i];
      if (!has_condition(&k->params[i], a))
         continue;
      tl_sb_str(&sb, sb.len ? ", " : "");
      if (a->value)
         tl_sb_printf(&sb, "%s = %s", a->name, a->value);
      else if (a->divisible < 2)
         tl_sb_printf(&sb, "%s not None", a->name);
      else
         tl_sb_printf(&sb, "%s a multiple of %u", a->name, a->divisible);
   }
   return sb.len ? tl_sb_cstr(&sb) : "anything";
}

/* ---- kernels ---- */
static bool
same_text(const char *a, const char *b)
{
   return !a ? !b : b && strcmp(a, b) == 0;
}

/* Entries of all images must ask the same of a launch: one choice is made for all of them. */
static bool
same_terms(const TilecKernelInfo *a, const TilecKernelInfo *b)
{
   bool same = strcmp(a->entry, b->entry) == 0 && a->num_args == b->num_args;
   for (uint32_t i = 0; same && i < a->num_args; i++)
      same = strcmp(a->args[i].type, b->args[i].type) == 0 &&
             same_text(a->args[i].value, b->args[i].value) &&
             a->args[i].divisible == b->args[i].divisible;
   for (int d = 0; same && d < 3; d++)
      same = same_text(a->grid[d], b->grid[d]);
   return same;
}

static bool
check_entry(const TlAot *aot, const TlCKernel *k, uint32_t index)
{
   const TilecImageInfo *first = &aot->images[0].comp->info;
   for (size_t i = 0; i < aot->num_images; i++) {
      const TilecImageInfo *info = &aot->images[i].comp->info;
      const TilecKernelInfo *e =
         info->num_kernels == first->num_kernels ? &info->kernels[index] : NULL;
      if (!e || !same_terms(e, &first->kernels[index]))
         return fail(aot, k,
                     tl_arena_printf(aot->arena, "its parameters on %s and %s differ", first->arch,
                                     info->arch));
      if (e->num_hidden && !tl_c_same_maps(e, tl_c_mapped(aot, index)))
         return fail(aot, k, "its tensor maps differ between architectures");
      if (e->when || e->launch_grid[0])
         return fail(aot, k, "its grid or its use depends on the device");
   }
   return true;
}

static TlRange
range_of(const TlCompilation *comp, const char *kernel)
{
   for (size_t i = 0; i < comp->entries.len; i++)
      if (strcmp(comp->entries.data[i].kernel, kernel) == 0)
         return comp->entries.data[i].func->range;
   return (TlRange){0};
}

/* Names that differ in letters which C does not have get numbers. */
static const char *
prefix_of(const TlAot *aot, const TlCKernel *kernels, size_t index)
{
   const char *name = tl_c_name(aot->arena, kernels[index].name);
   const char *prefix = tl_arena_printf(aot->arena, "%s_%s", aot->name, name);
   for (size_t i = 0, number = 2; i < index; i++)
      if (strcmp(kernels[i].prefix, prefix) == 0) {
         prefix = tl_arena_printf(aot->arena, "%s_%s_%zu", aot->name, name, number++);
         i = (size_t)-1; /* from the start: the new name may be another kernel's */
      }
   return prefix;
}

bool
tl_emit_c(const TlAot *aot, TlSb *source, TlSb *header)
{
   assert(aot->num_images > 0);
   TlCompilation *comp = aot->images[0].comp;
   const TilecImageInfo *info = &comp->info;
   TlCKernel *kernels = tl_new_array(aot->arena, TlCKernel, info->num_kernels);
   size_t n = 0;
   for (uint32_t i = 0; i < info->num_kernels; i++) {
      const char *name = info->kernels[i].name;
      if (n == 0 || strcmp(kernels[n - 1].name, name) != 0)
         kernels[n++] =
            (TlCKernel){.name = name, .first = i, .has_grid = true, .range = range_of(comp, name)};
      TlCKernel *k = &kernels[n - 1];
      k->count++;
      k->has_grid &= info->kernels[i].grid[0] != NULL;
      if (!check_entry(aot, k, i))
         return false;
   }
   for (size_t i = 0; i < n; i++) {
      kernels[i].prefix = n == 1 ? aot->name : prefix_of(aot, kernels, i);
      if (!tl_c_params(aot, &kernels[i]))
         return false;
   }
   return tl_c_write(aot, kernels, n, source, header);
}
