/* See arguments.h. */
#include "command/arguments.h"
#include "core/rule.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- which kernel, which parameters ---- */
static const TlKernelInfo *
choose_kernel(TlCmdArgs *all, TlCompilation *comp)
{
   const TlKernelInfo *kernels, *found = NULL;
   unsigned n = tl_sema_kernels(comp->sema, &kernels), launched = 0;
   TlNearest near = {.name = all->kernel ? all->kernel : ""};
   TlSb names;
   tl_sb_init(&names, all->c->arena);
   for (unsigned i = 0; i < n; i++)
      launched += !kernels[i].is_helper;
   for (unsigned i = 0; i < n; i++) {
      if (all->kernel ? strcmp(kernels[i].name, all->kernel) == 0 : !kernels[i].is_helper)
         found = &kernels[i];
      tl_nearest_try(&near, kernels[i].name);
      if (!launched || !kernels[i].is_helper)
         tl_sb_printf(&names, "%s%s", names.len ? ", " : "", kernels[i].name);
   }
   if (!n)
      tl_cmd_error(
         "%s: no kernels; a kernel is a function, 'def name(parameters):', with @triton.jit, "
         "@jit or, in a .tile file, @kernel in the line above%s%s",
         all->file,
         tl_ends_with(all->file, ".py") ? "; a program is run by python -m tilec.triton " : "",
         tl_ends_with(all->file, ".py") ? all->file : "");
   else if (!found && near.best)
      tl_cmd_error("%s: no kernel '%s'; did you mean '%s'? The file has: %s", all->file,
                   all->kernel, near.best, tl_sb_cstr(&names));
   else if (!found)
      tl_cmd_error("%s: no kernel '%s'; the file has: %s", all->file, all->kernel,
                   tl_sb_cstr(&names));
   else if (!all->kernel && launched != 1)
      tl_cmd_error("%s: several kernels, choose one with -k: %s", all->file, tl_sb_cstr(&names));
   else
      return found;
   return NULL;
}

/* The note of where a parameter is declared, below an error of its argument: the sources are gone
 * when that is found. */
static const char *
declaration(TlCmdArgs *all, TlCompilation *comp, const TlKernelParam *p)
{
   TlDiag note = {.code = TL_DIAG_N0200,
                  .severity = TL_SEV_NOTE,
                  .range = p->range,
                  .text = "the parameter is declared here"};
   TlSb out;
   tl_sb_init(&out, all->c->arena);
   tl_diag_render(&comp->diags, &note, all->c->color, &out);
   return tl_sb_cstr(&out);
}

static void
copy_params(TlCmdArgs *all, TlCompilation *comp, const TlKernelInfo *k)
{
   assert(!all->list && all->num == 0); /* once */
   all->num = k->num_params;
   all->list = tl_new_array(all->c->arena, TlCmdArg, k->num_params + 1);
   TlKernelParam *params = tl_new_array(all->c->arena, TlKernelParam, k->num_params + 1);
   for (unsigned i = 0; i < k->num_params; i++) {
      params[i] = k->params[i];
      params[i].name = tl_arena_strdup(all->c->arena, k->params[i].name);
      if (params[i].type)
         params[i].type = tl_arena_strdup(all->c->arena, params[i].type);
      if (params[i].default_text)
         params[i].default_text = tl_arena_strdup(all->c->arena, params[i].default_text);
      all->list[i].param = &params[i];
      all->list[i].declared = declaration(all, comp, &k->params[i]);
   }
   if (!all->kernel)
      all->kernel = tl_arena_strdup(all->c->arena, k->name);
}

static bool
has_configurations(TlCompilation *comp, const TlKernelInfo *k)
{
   TlSpecialization spec = {.kernel = k->name};
   TlTuning tuning;
   return !setjmp(comp->oom) && tl_sema_tuning(comp->sema, &spec, &tuning);
}

int
tl_cmd_args_params(TlCmdArgs *all, TilecCompileOptions *o, const TlCompileExtra *extra)
{
   all->file = o->file;
   all->kernel = o->kernel;
   TlCompilation comp;
   TilecStatus status = tl_compilation_init(&comp, NULL, extra);
   if (status == TILEC_OK)
      status = tl_load_names(&comp, o);
   if (status != TILEC_OK) {
      tl_cmd_diagnostics(all->c, &comp);
      tl_compilation_free(&comp);
      return tl_cmd_exit_code(status);
   }
   const TlKernelInfo *k = choose_kernel(all, &comp);
   if (k) {
      copy_params(all, &comp, k);
      all->is_autotuned = has_configurations(&comp, k);
   }
   tl_compilation_free(&comp);
   o->kernel = all->kernel;
   return k ? EXIT_OK : EXIT_PROGRAM;
}

TlCmdArg *
tl_cmd_arg_find(TlCmdArgs *all, const char *name, size_t len)
{
   for (unsigned i = 0; i < all->num; i++)
      if (strlen(all->list[i].param->name) == len &&
          memcmp(all->list[i].param->name, name, len) == 0)
         return &all->list[i];
   return NULL;
}

/* BLOCK for BLOCK_SIZE, x_ptr for x: one is the first words of the other. */
static bool
are_first_words(const char *a, const char *b)
{
   size_t n = strlen(a), m = strlen(b), common = n < m ? n : m;
   return n != m && strncasecmp(a, b, common) == 0 && (n < m ? b : a)[common] == '_';
}

static void
unknown_parameter(TlCmdArgs *all, const char *name, size_t len)
{
   assert(!tl_cmd_arg_find(all, name, len));
   const char *wanted = tl_arena_strndup(all->c->arena, name, len);
   TlNearest near = {.name = wanted};
   for (unsigned i = 0; i < all->num; i++)
      tl_nearest_try(&near, all->list[i].param->name);
   for (unsigned i = 0; i < all->num && !near.best; i++)
      if (are_first_words(wanted, all->list[i].param->name))
         near.best = all->list[i].param->name;
   if (near.best)
      tl_cmd_error("kernel '%s' has no parameter '%s'; did you mean '%s'?", all->kernel, wanted,
                   near.best);
   else
      tl_cmd_error("kernel '%s' has no parameter '%s'; it has %s", all->kernel, wanted,
                   tl_cmd_arg_names(all, NULL));
}

const char *
tl_cmd_arg_names(TlCmdArgs *all, bool (*is_of)(const TlCmdArg *a))
{
   TlSb sb;
   tl_sb_init(&sb, all->c->arena);
   for (unsigned i = 0; i < all->num; i++)
      if (!is_of || is_of(&all->list[i]))
         tl_sb_printf(&sb, "%s%s", sb.len ? ", " : "", all->list[i].param->name);
   return sb.len ? tl_sb_cstr(&sb) : "none";
}

TlCmdArg *
tl_cmd_arg_named(TlCmdArgs *all, const char *name, size_t len)
{
   TlCmdArg *a = tl_cmd_arg_find(all, name, len);
   if (!a)
      unknown_parameter(all, name, len);
   return a;
}

/* ---- values against declared types ---- */
/* The dtype that a parameter points to, "*const fp16:16"; false: it is no pointer to numbers. */
static bool
pointee(const char *type, TlDtype *out)
{
   if (*type != '*')
      return false;
   type += 1 + strspn(type + 1, " ");
   const char *target = tl_skip_prefix(type, "const ");
   type = target ? target : type;
   return tl_dtype_from_text(type, strcspn(type, ":"), out);
}

/* A file of raw bits, which numpy keeps of types that it has no word for. */
static bool
is_file_of_bits(const char *text, TlDtype is, TlDtype want)
{
   bool has_word = want == TL_FP16 || want == TL_FP32 || want == TL_FP64;
   return text[0] == '@' && tl_dtype_is_int(is) && tl_dtype_is_float(want) && !has_word &&
          tl_dtype_info[is].bits == tl_dtype_info[want].bits;
}

/* An array of other elements than the parameter's, and how it becomes one: a file by numpy, a made
 * one by the word for its type. */
static bool
refuse_elements(const TlCmdArgs *all, const TlCmdArg *a, const char *text, TlDtype want)
{
   const char *name = a->param->name, *is = tl_dtype_info[a->value.array.dtype].text;
   const char *colon = strchr(text, ':'), *after = colon ? colon + 1 + strlen(is) : "";
   static const char *const numpy[] = {
      [TL_FP16] = "float16", [TL_FP32] = "float32", [TL_FP64] = "float64", [TL_I8] = "int8",
      [TL_I16] = "int16",    [TL_I32] = "int32",    [TL_I64] = "int64",    [TL_U8] = "uint8",
      [TL_U16] = "uint16",   [TL_U32] = "uint32",   [TL_U64] = "uint64",   [TL_DTYPE_COUNT] = NULL,
   };
   const char *way = tl_arena_printf(all->c->arena, "convert the array (numpy: array.astype(%s%s))",
                                     numpy[want] ? "numpy." : "", numpy[want] ? numpy[want] : "..");
   if (is_file_of_bits(text, a->value.array.dtype, want))
      return tl_cmd_refuse("argument '%s' is an array of %s; %s declares it %s: if these are the "
                           "bits of %s, write --arg %s=%s:%s",
                           name, is, all->file, a->param->type, tl_dtype_info[want].text, name,
                           text, tl_dtype_info[want].text);
   if (text[0] != '@' && colon && tl_starts_with(colon + 1, is))
      way = tl_arena_printf(all->c->arena, "write --arg %s=%.*s:%s%.80s", name, (int)(colon - text),
                            text, tl_dtype_info[want].text, after);
   return tl_cmd_refuse("argument '%s' is an array of %s; %s declares it %s: %s, or leave the type "
                        "of '%s' open, where the kernel computes with any",
                        name, is, all->file, a->param->type, way, name);
}

/* A declared pointer takes an array of its dtype, a declared integer an integer. */
static bool
fits_declared(const TlCmdArgs *all, const TlCmdArg *a, const char *text)
{
   const char *type = a->param->type, *name = a->param->name;
   TlDtype t;
   bool is_array = a->value.kind == TL_CLI_ARRAY;
   if (a->param->is_constexpr && is_array)
      return tl_cmd_refuse("argument '%s' is an array; '%s' is a constexpr: give a number, a word, "
                           "True or None",
                           name, name);
   if (!type || a->param->is_constexpr || a->value.kind == TL_CLI_NONE ||
       tl_cmd_is_descriptor(type))
      return true;
   if (*type == '*' && !is_array)
      return tl_cmd_refuse("argument '%s' is %.80s; %s declares it %s: give an array, as in "
                           "zeros:fp32[64] or @file.npy",
                           name, text, all->file, type);
   if (pointee(type, &t) && t != a->value.array.dtype)
      return refuse_elements(all, a, text, t);
   if (*type == '*')
      return true;
   if (is_array)
      return tl_cmd_refuse("argument '%s' is an array; %s declares it %s, a number", name,
                           all->file, type);
   bool is_int = tl_dtype_from_text(type, strcspn(type, ":"), &t) && !tl_dtype_is_float(t);
   if (!is_int || a->value.kind != TL_CLI_FLOAT)
      return true;
   double v = a->value.f;
   if (fabs(v) >= 0x1p63 && !isinf(v))
      return tl_cmd_refuse(
         "argument '%s' is %.80s; %s declares it %s, which that number does not fit", name, text,
         all->file, type);
   return isfinite(v) && v == floor(v)
             ? tl_cmd_refuse(
                  "argument '%s' is %.80s; %s declares it %s, a whole number: write %.0f", name,
                  text, all->file, type, v)
             : tl_cmd_refuse("argument '%s' is %.80s; %s declares it %s, a whole number, such as 8",
                             name, text, all->file, type);
}

/* A string or a name, which a constexpr may be. */
static bool
is_word(const char *text)
{
   size_t n = strlen(text);
   if (n >= 2 && (text[0] == '"' || text[0] == '\''))
      return text[n - 1] == text[0];
   return isalpha((unsigned char)text[0]) || text[0] == '_'
             ? text[strspn(text,
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")] == 0
             : false;
}

int
tl_cmd_array_code(const TlArray *array)
{
   switch (array->fault) {
   case TL_ARRAY_UNREADABLE:
      return EXIT_ENVIRONMENT;
   case TL_ARRAY_NO_NPY:
   case TL_ARRAY_OTHER_DTYPE:
      return EXIT_PROGRAM;
   case TL_ARRAY_NO_MEMORY:
      return EXIT_LIMIT;
   case TL_ARRAY_NO_FAULT:
      break;
   }
   return EXIT_USAGE; /* its text is wrong */
}

static int
take_value(TlCmdArgs *all, TlCmdArg *a, const char *text)
{
   const char *why, *define;
   if (a->is_given)
      return tl_cmd_misuse(
         "argument '%s' is given twice, the second time as '%.80s': leave one out", a->param->name,
         text);
   for (size_t at = 0; (define = tl_option_next(&all->c->cl, TL_OPT_DEFINE, &at));)
      if (strlen(a->param->name) == strcspn(define, "=") && tl_starts_with(define, a->param->name))
         return tl_cmd_misuse(
            "'%s' is given twice, by --arg as '%.80s' and by -D %s: leave one out", a->param->name,
            text, define);
   a->is_given = true;
   if (tl_cli_value(all->c->arena, text, &a->value, &why)) {
      if (fits_declared(all, a, text))
         return EXIT_OK;
      fputs(a->declared, stderr);
      return EXIT_PROGRAM;
   }
   a->word = a->param->is_constexpr && is_word(text) ? text : NULL;
   if (a->word)
      return EXIT_OK;
   tl_cmd_error("argument '%s': %s", a->param->name, why);
   return tl_cmd_array_code(&a->value.array);
}

/* An explicit dtype of an annotation such as "*bf16" reads a uint16 file as bf16. */
int
tl_cmd_args_values(TlCmdArgs *all)
{
   assert(all->list); /* the parameters are known */
   size_t at = 0;
   for (const char *text; (text = tl_option_next(&all->c->cl, TL_OPT_ARG, &at));) {
      const char *eq = strchr(text, '=');
      if (!eq)
         return tl_cmd_misuse("--arg takes NAME=VALUE; found '%s'", text);
      const char *comma = strchr(eq, ','), *more = comma ? comma + 1 + strspn(comma + 1, " ") : "";
      size_t name = strcspn(more, "=,:[]@");
      if (name && more[name] == '=' && eq[1] != '@')
         return tl_cmd_misuse("--arg takes one NAME=VALUE, and is repeated for each: --arg %.*s "
                              "--arg %.*s",
                              (int)(comma - text), text, (int)strcspn(more, ","), more);
      TlCmdArg *a = tl_cmd_arg_named(all, text, (size_t)(eq - text));
      int code = a ? take_value(all, a, eq + 1) : EXIT_PROGRAM;
      if (code != EXIT_OK)
         return code;
   }
   return EXIT_OK;
}

/* The value that -D gives the parameter; NULL: it gives none. */
static const char *
defined_value(const TlCmdArgs *all, const char *name)
{
   const char *define;
   for (size_t at = 0; (define = tl_option_next(&all->c->cl, TL_OPT_DEFINE, &at));) {
      size_t len = strcspn(define, "=");
      if (strlen(name) == len && define[len] && tl_starts_with(define, name))
         return define + len + 1;
   }
   return NULL;
}

/* The one size of the arrays given that no integer argument has; 0: none, or several. */
static int64_t
size_of_arrays(const TlCmdArgs *all)
{
   int64_t found = 0;
   for (unsigned i = 0; i < all->num; i++) {
      const TlCmdArg *a = &all->list[i];
      for (unsigned d = 0; a->is_given && a->value.kind == TL_CLI_ARRAY && d < a->value.array.rank;
           d++) {
         int64_t size = (int64_t)a->value.array.shape[d];
         bool is_had = size == found;
         for (unsigned k = 0; k < all->num && !is_had; k++)
            is_had = all->list[k].is_given && all->list[k].value.kind == TL_CLI_INT &&
                     all->list[k].value.i == size;
         if (!is_had && found)
            return 0;
         found = is_had ? found : size;
      }
   }
   return found;
}

/* What --arg may give a parameter, by its type. */
static const char *
example_value(const TlCmdArgs *all, const TlKernelParam *p)
{
   TlDtype t;
   if (!p->type)
      return "8, 1.0, zeros:fp32[64] or @file.npy";
   if (pointee(p->type, &t))
      return tl_arena_printf(all->c->arena, "zeros:%s[64] or @file.npy", tl_dtype_info[t].text);
   if (!tl_dtype_from_text(p->type, strcspn(p->type, ":"), &t))
      return "VALUE";
   if (t == TL_I1 || tl_dtype_is_float(t))
      return t == TL_I1 ? "True" : "1.0";
   int64_t size = size_of_arrays(all);
   return size ? tl_arena_printf(all->c->arena, "%lld", (long long)size) : "8";
}

bool
tl_cmd_args_complete(const TlCmdArgs *all)
{
   bool ok = true;
   for (unsigned i = 0; i < all->num; i++) {
      const TlKernelParam *p = all->list[i].param;
      if (p->is_constexpr || all->list[i].is_given || p->default_text)
         continue;
      ok = false;
      const char *defined = defined_value(all, p->name);
      if (!defined) {
         tl_cmd_error("kernel '%s' needs a value for '%s'%s%s, such as --arg %s=%s", all->kernel,
                      p->name, p->type ? ": " : "", p->type ? p->type : "", p->name,
                      example_value(all, p));
         continue;
      }
      tl_cmd_error("-D %s=%.80s: '%s' is %s%s and not constexpr: give it as --arg %s=%.80s",
                   p->name, defined, p->name, p->type ? "declared " : "a parameter of the launch",
                   p->type ? p->type : "", p->name, defined);
      fputs(all->list[i].declared, stderr);
   }
   return ok;
}

void
tl_cmd_args_defines(const TlCmdArgs *all, TilecCompileOptions *o)
{
   TlArena *arena = all->c->arena;
   TL_VEC(TilecDefine) defines = {0}, values = {0};
   for (size_t i = 0; i < o->num_defines; i++)
      tl_vec_push(arena, &defines, o->defines[i]);
   for (unsigned i = 0; i < all->num; i++) {
      const TlCmdArg *a = &all->list[i];
      const char *name = a->param->name;
      if (a->is_given && a->param->is_constexpr)
         tl_vec_push(arena, &defines, (TilecDefine){name, tl_cmd_arg_text(arena, a)});
      else if (a->is_given)
         tl_vec_push(arena, &values, (TilecDefine){name, tl_cmd_arg_value(arena, a)});
   }
   o->defines = defines.data;
   o->num_defines = defines.len;
   o->values = values.data;
   o->num_values = values.len;
}

const char *
tl_cmd_arg_scalar(const TlCmdArg *a)
{
   const char *type = a->param->type;
   TlDtype t;
   if (type && tl_dtype_from_text(type, strcspn(type, ":"), &t))
      return tl_dtype_info[t].text;
   if (a->value.kind == TL_CLI_FLOAT)
      return "fp32";
   if (a->value.kind == TL_CLI_BOOL)
      return "i1";
   if (a->value.is_u64)
      return "u64";
   return a->value.i >= INT32_MIN && a->value.i <= INT32_MAX ? "i32" : "i64";
}

const char *
tl_cmd_arg_text(TlArena *arena, const TlCmdArg *a)
{
   if (a->word)
      return a->word;
   switch (a->value.kind) {
   case TL_CLI_INT:
      return a->value.is_u64 ? tl_arena_printf(arena, "%llu", (unsigned long long)a->value.i)
                             : tl_arena_printf(arena, "%lld", (long long)a->value.i);
   case TL_CLI_FLOAT: {
      const char *text = tl_arena_printf(arena, "%.17g", a->value.f);
      bool is_whole = text[strspn(text, "-0123456789")] == '\0'; /* 64.0 is no integer */
      return is_whole ? tl_arena_printf(arena, "%s.0", text) : text;
   }
   case TL_CLI_BOOL:
      return a->value.i ? "True" : "False";
   default:
      return "None";
   }
}

const char *
tl_cmd_arg_value(TlArena *arena, const TlCmdArg *a)
{
   if (a->value.kind == TL_CLI_ARRAY)
      return tl_arena_printf(arena, "*%s", tl_dtype_info[a->value.array.dtype].text);
   return tl_cmd_arg_text(arena, a);
}

bool
tl_cmd_is_descriptor(const char *type)
{
   return type && tl_starts_with(type, "tensordesc<");
}

enum { ROW_BYTES = 16 }; /* what a tensor descriptor's strides are multiples of */

TilecTensor *
tl_cmd_arg_tensor(TlArena *arena, const TlCmdArg *a, const char *type)
{
   TilecTensor *t = tl_new(arena, TilecTensor);
   const TlArray *array = &a->value.array;
   const char *at = strchr(type, '[');
   while (at && (*at == '[' || *at == ',') && t->rank < TILEC_TENSOR_RANK) {
      char *end;
      t->block[t->rank++] = (uint32_t)strtoul(at + 1, &end, 10);
      at = end;
   }
   if (!a->is_given || a->value.kind != TL_CLI_ARRAY || array->rank != t->rank) {
      tl_cmd_error("argument '%s' is %s: it takes an array of %u dimension%s", a->param->name, type,
                   t->rank, t->rank == 1 ? "" : "s");
      return NULL;
   }
   int64_t stride = 1, bytes = tl_dtype_info[array->dtype].bytes;
   for (unsigned d = t->rank; d-- > 0; stride *= t->shape[d]) {
      t->shape[d] = (int64_t)array->shape[d];
      t->strides[d] = stride;
   }
   int64_t row = t->rank > 1 ? t->shape[t->rank - 1] : 0, step = ROW_BYTES / bytes;
   if (row * bytes % ROW_BYTES != 0) { /* then all strides are multiples */
      tl_cmd_error("argument '%s' is %s: its rows are %lld bytes apart, which must be a multiple "
                   "of %d: pad them to %lld elements",
                   a->param->name, type, (long long)(row * bytes), ROW_BYTES,
                   (long long)((row + step - 1) / step * step));
      return NULL;
   }
   return t;
}

bool
tl_cmd_grid(TlCommand *c, TilecCompileOptions *o, TlCmdGrid *out)
{
   const char *text = tl_option(&c->cl, TL_OPT_GRID), *p = text;
   bool are_numbers = text && text[strspn(text, "0123456789, ")] == 0;
   const char *eq = text ? strchr(text, '=') : NULL;
   *out = (TlCmdGrid){.size = {1, 1, 1}};
   if (eq && eq[1] != '=' && eq > text && !strchr("=<>!", eq[-1]))
      return tl_cmd_refuse("--grid takes X[,Y[,Z]] without names, as in 128,2; found '%s'", text);
   if (text && !are_numbers)
      o->grid = text;
   while (are_numbers && out->num < 3) {
      char *end;
      unsigned long v = strtoul(p, &end, 10);
      if (end == p || v > INT32_MAX || (*end && *end != ',') || (*end && out->num == 2))
         break;
      out->size[out->num++] = (uint32_t)v;
      if (!*end)
         return true;
      p = end + 1;
   }
   return !are_numbers || tl_cmd_refuse("--grid takes X[,Y[,Z]], up to three numbers below "
                                        "2147483648, as in 128,2; found '%s'",
                                        text);
}

/* ---- what a launch moves and does ---- */
double
tl_cmd_array_bytes(const TlCmdArgs *a)
{
   double bytes = 0;
   for (unsigned i = 0; i < a->num; i++)
      if (a->list[i].is_given && a->list[i].value.kind == TL_CLI_ARRAY)
         bytes += (double)a->list[i].value.array.bytes;
   return bytes;
}

typedef struct Names {
   TlCmdArgs *args;
   bool is_unknown; /* one that was asked for is no argument, or no integer */
} Names;

static int
find_integer(void *user, const char *name, size_t len)
{
   Names *names = user;
   const TlCmdArg *a = tl_cmd_arg_find(names->args, name, len);
   bool is_int = a && a->is_given && a->value.kind == TL_CLI_INT;
   names->is_unknown |= !is_int;
   return is_int ? (int)(a - names->args->list) : -1;
}

int
tl_cmd_expression(TlCommand *c, TlCmdArgs *args, TlOptionId id, double *out)
{
   assert(id == TL_OPT_BYTES || id == TL_OPT_FLOPS);
   const char *text = tl_option(&c->cl, id), *why;
   int64_t *slots = tl_new_array(c->arena, int64_t, args->num + 1), v = 0;
   Names names = {.args = args};
   char error[256] = "";
   if (!text)
      return EXIT_OK;
   for (unsigned i = 0; i < args->num; i++)
      slots[i] = args->list[i].is_given ? args->list[i].value.i : 0;
   why = error;
   TlRule *rule = tl_rule_parse(text, find_integer, &names, error, sizeof error);
   bool is_written = rule != NULL, ok = rule && tl_rule_eval(rule, slots, &v, &why) && v >= 0;
   tl_rule_free(rule);
   *out = (double)v;
   if (ok)
      return EXIT_OK;
   bool is_negative = is_written && v < 0 && (!why || !*why);
   tl_cmd_error("--%s '%s': %s%s", tl_option_rows[id].name, text,
                is_negative ? "its value is negative: it counts what is moved or done" : why,
                names.is_unknown ? "; it may name the arguments that are integers, as in 2*n" : "");
   return is_written || names.is_unknown ? EXIT_PROGRAM : EXIT_USAGE;
}

TilecStatus
tl_cmd_args_upload(TlCmdArgs *all, TilecRuntime *rt)
{
   assert(rt);
   for (unsigned i = 0; i < all->num; i++) {
      TlCmdArg *a = &all->list[i];
      if (!a->is_given || a->value.kind != TL_CLI_ARRAY)
         continue;
      assert(!a->buffer); /* once */
      TilecStatus status = tilec_buffer_new(rt, a->value.array.bytes, &a->buffer);
      if (status == TILEC_OK && a->value.array.bytes)
         status =
            tilec_buffer_upload(a->buffer, 0, a->value.array.data, a->value.array.bytes, NULL);
      if (status != TILEC_OK)
         return status;
   }
   return TILEC_OK;
}

TilecStatus
tl_cmd_args_download(TlCmdArgs *all)
{
   for (unsigned i = 0; i < all->num; i++) {
      TlCmdArg *a = &all->list[i];
      if (!a->buffer || !a->value.array.bytes)
         continue;
      assert(a->value.kind == TL_CLI_ARRAY);
      TilecStatus status =
         tilec_buffer_download(a->buffer, 0, a->value.array.data, a->value.array.bytes, NULL);
      if (status != TILEC_OK)
         return status;
   }
   return TILEC_OK;
}

void
tl_cmd_args_free(TlCmdArgs *all)
{
   for (unsigned i = 0; i < all->num; i++) {
      tilec_buffer_free(all->list[i].buffer);
      if (all->list[i].is_given && all->list[i].value.kind == TL_CLI_ARRAY)
         tl_array_free(&all->list[i].value.array);
   }
}
