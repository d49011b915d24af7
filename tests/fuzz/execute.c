#define _GNU_SOURCE
#include "execute.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
   MEMORY_BYTES = 256 << 20,
   COMPILE_MS = 2000,
   RUN_MS = 300,
   BUFFER_BYTES = 1 << 16,
   MAX_ARGS = 64,
   SIGNATURE_BYTES = 2048,
};

FuzzChoices
fuzz_choices(const char *text, size_t len)
{
   static const char mark[] = "#choices ";
   FuzzChoices c = {{0}};
   const char *end = memchr(text, '\n', len), *at;
   size_t line = end ? (size_t)(end - text) : len;
   if (line < sizeof mark - 1 || !(at = memmem(text, line, mark, sizeof mark - 1)))
      return c;
   at += sizeof mark - 1;
   for (size_t i = 0; i < FUZZ_CHOICES && at + i < text + line; i++) {
      static const char digits[] = "0123456789abcdef";
      const char *d = memchr(digits, at[i], 16);
      if (!d)
         break;
      c.digit[i] = (unsigned char)(d - digits);
   }
   return c;
}

/* ---- Compiling ------------------------------------------------------------------------------- */

static unsigned long messages;

/* Reads what a user would: a message that is no text is found by the sanitizers. */
static void
on_diag(void *user, const TilecDiag *d)
{
   (void)user;
   messages += strlen(d->rendered) + strlen(d->text) + (d->help ? strlen(d->help) : 0);
}

/* A type for each parameter without one, as the first of an item; constants are numbers. */
static void
signature(const TilecKernelDecl *decl, FuzzChoices c, char out[SIGNATURE_BYTES])
{
   static const char *const pointees[] = {"fp32", "fp16", "i32", "bf16",  "i64", "fp64",
                                          "i8",   "u8",   "i16", "fp8e5", "u32", "fp8e4nv",
                                          "i1",   "u64",  "u16", "fp32"};
   static const int values[] = {16, 32, 1, 64, 0, 2, 8, 128, 4, 3, 256, -1, 100, 1024, 7, 17};
   size_t len = 0;
   out[0] = 0;
   for (uint32_t i = 0; i < decl->num_params && len + 32 < SIGNATURE_BYTES; i++) {
      const TilecParamDecl *p = &decl->params[i];
      const char *comma = i ? "," : "";
      size_t room = SIGNATURE_BYTES - len;
      int n;
      if (p->is_constexpr && !p->default_value)
         n = snprintf(out + len, room, "%s%d", comma, values[c.digit[FUZZ_SCALAR]]);
      else if (p->is_constexpr || p->type)
         n = snprintf(out + len, room, "%s", comma);
      else if (strstr(p->name, "ptr") || strchr("xyzopqkvabcXYQKVABCO", p->name[0]))
         n = snprintf(out + len, room, "%s*%s:16", comma, pointees[c.digit[FUZZ_POINTEE]]);
      else
         n = snprintf(out + len, room, "%si32", comma);
      len += n > 0 ? (size_t)n : 0;
   }
}

static void
choose_options(TilecCompileOptions *o, FuzzChoices c)
{
   static const char *const archs[] = {"sm_90a", "sm_80", "sm_90a", "sm_89"};
   o->arch = archs[c.digit[FUZZ_TARGET] % 4];
   o->opt = (TilecOpt)(c.digit[FUZZ_OPT] % 5);
   o->fp_mode = c.digit[FUZZ_OPT] & 8 ? TILEC_FP_STRICT : TILEC_FP_TRITON;
   o->check = c.digit[FUZZ_OPT] & 4;
   o->num_warps = c.digit[FUZZ_WARPS] ? 1u << ((c.digit[FUZZ_WARPS] - 1) % 4) : 0;
   o->num_stages = c.digit[FUZZ_STAGES] % 6;
   o->timeout_ms = COMPILE_MS;
   o->keep_stages = TILEC_STAGE_BIT(TILEC_STAGE_IR) | TILEC_STAGE_BIT(TILEC_STAGE_LOWERED);
   o->remarks = "all";
}

/* What TILEC_INTERNAL says is a bug by definition. */
static void
no_bug(const TilecSession *s, TilecStatus status)
{
   if (status == TILEC_INTERNAL) {
      fprintf(stderr, "internal error: %s\n", tilec_session_error(s));
      abort();
   }
}

static TilecProgram *
compile(TilecSession *s, TilecCompileOptions *o, FuzzChoices c)
{
   char items[SIGNATURE_BYTES];
   TilecListing *listing = NULL;
   size_t len = strlen(o->file);
   if (strcmp(o->file + len - 4, ".tir") != 0) {
      TilecStatus status = tilec_list_kernels(s, o, &listing);
      no_bug(s, status);
      uint32_t n = status == TILEC_OK ? tilec_listing_count(listing) : 0;
      if (n) {
         const TilecKernelDecl *decl = tilec_listing_kernel(listing, c.digit[FUZZ_KERNEL] % n);
         signature(decl, c, items);
         o->kernel = decl->name;
         o->signature = items;
      }
   }
   TilecProgram *p;
   no_bug(s, tilec_compile(s, o, &p));
   tilec_listing_free(listing);
   return p;
}

/* ---- Running --------------------------------------------------------------------------------- */

static TilecDtype
dtype_of(const char *type)
{
   const char *name = strncmp(type, "tensordesc<", 11) == 0 ? type + 11 : type + (type[0] == '*');
   size_t len = strcspn(name, "[>");
#define ROW(id, number, text, bytes, kind)                                                         \
   if (len == sizeof text - 1 && strncmp(name, text, len) == 0)                                    \
      return TILEC_##id;
   TILEC_DTYPE_TABLE(ROW)
#undef ROW
   return TILEC_DTYPE_NONE;
}

static void
ignore_line(void *user, const char *line, size_t len)
{
   (void)user;
   for (size_t i = 0; i < len; i++)
      messages += (unsigned char)line[i];
}

/* An argument of each parameter that is passed; false: more than there is room for. */
static bool
arguments(const TilecKernelInfo *k, FuzzChoices c, TilecArg *args, size_t *num,
          unsigned char **memory)
{
   static const int values[] = {64, 100, 1, 0, 1024, 17, 2, 33, -1, 7, 3, 128, 32, 16, 1000, 5};
   *num = 0;
   for (uint32_t i = 0; i < k->num_args; i++) {
      const TilecArgInfo *a = &k->args[i];
      if (a->is_constexpr)
         continue;
      if (*num == MAX_ARGS)
         return false;
      TilecArg *out = &args[(*num)++];
      bool is_pointer = a->type[0] == '*' || strncmp(a->type, "tensordesc<", 11) == 0;
      TilecDtype dtype = dtype_of(a->type);
      if (a->value && strcmp(a->value, "None") == 0) {
         *out = tilec_none();
      } else if (is_pointer) {
         memory[*num - 1] = malloc(BUFFER_BYTES);
         if (!memory[*num - 1])
            return false;
         for (unsigned b = 0; b < BUFFER_BYTES; b++)
            memory[*num - 1][b] =
               (unsigned char)(b * 37 >> 3 & (c.digit[FUZZ_SCALAR] & 1 ? 0xff : 3));
         *out = tilec_ptr(dtype, memory[*num - 1], BUFFER_BYTES);
      } else {
         int value = a->value ? atoi(a->value) : values[c.digit[FUZZ_SCALAR]];
         *out = (TilecArg){TILEC_ARG_SCALAR, dtype, {value}, 0};
         if (dtype == TILEC_FP32 || dtype == TILEC_FP64)
            out->as.f = value;
      }
   }
   return true;
}

static void
run(const TilecProgram *p, FuzzChoices c)
{
   const TilecImageInfo *info = tilec_program_info(p);
   TilecArg args[MAX_ARGS];
   unsigned char *memory[MAX_ARGS] = {NULL};
   for (int mode = TILEC_HOST_CPU; mode <= TILEC_HOST_SIM && info->num_kernels; mode++) {
      TilecHostLaunch launch = {.struct_size = sizeof launch,
                                .mode = (TilecHostMode)mode,
                                .grid = {2, 1, 1},
                                .args = args,
                                .num_threads = 1,
                                .on_print = ignore_line,
                                .on_fault = ignore_line,
                                .timeout_ms = RUN_MS};
      TilecFault fault;
      if (arguments(&info->kernels[0], c, args, &launch.num_args, memory) &&
          tilec_program_run_cpu(p, &launch, &fault) == TILEC_INTERNAL) {
         fprintf(stderr, "internal error: %s\n", fault.message);
         abort();
      }
      for (int i = 0; i < MAX_ARGS; i++) {
         free(memory[i]);
         memory[i] = NULL;
      }
   }
}

void
fuzz_execute(const char *text, size_t len, const char *suffix, FuzzChoices c)
{
   TilecSessionOptions so = {
      .struct_size = sizeof so, .on_diag = on_diag, .memory_limit_bytes = MEMORY_BYTES};
   TilecSession *s;
   if (tilec_session_new(&so, &s) != TILEC_OK)
      return;
   char name[16];
   snprintf(name, sizeof name, "f.%s", suffix);
   TilecCompileOptions o = {
      .struct_size = sizeof o, .file = name, .source = text, .source_bytes = len};
   choose_options(&o, c);
   TilecProgram *p = compile(s, &o, c);
   if (p)
      run(p, c);
   tilec_program_free(p);
   tilec_session_free(s);
}
