/* The whole compiler in one visible sequence: read, parse, type, lay out, lower, generate.
 * Out of memory anywhere below jumps back to the entry points here. */
#include "compile/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { DEFAULT_TIMEOUT_MS = 60000 };
static const size_t default_memory_limit = (size_t)4 << 30;

typedef struct Run {
   TlUnit *u;
   const TilecCompileOptions *options;
   const TlUnitExtra *extra;
   TilecStage stop;
   double deadline; /* seconds, monotonic */
} Run;

static double
now_seconds(void)
{
   struct timespec t;
   clock_gettime(CLOCK_MONOTONIC, &t);
   return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *
default_alloc(void *user, size_t bytes)
{
   (void)user;
   return malloc(bytes);
}

static void
default_release(void *user, void *block)
{
   (void)user;
   free(block);
}

TilecStatus
tl_unit_init(TlUnit *u, const TilecAllocator *allocator, const TlUnitExtra *extra)
{
   *u = (TlUnit){0};
   tl_mem_init(&u->mem);
   u->mem.alloc = allocator && allocator->alloc ? allocator->alloc : default_alloc;
   u->mem.release = allocator && allocator->release ? allocator->release : default_release;
   u->mem.user = allocator ? allocator->user : NULL;
   u->mem.limit_bytes =
      extra && extra->memory_limit_bytes ? extra->memory_limit_bytes : default_memory_limit;
   u->mem.oom = &u->oom;
   if (setjmp(u->oom)) {
      tl_unit_free(u);
      return TILEC_NO_MEMORY;
   }
   u->arena = tl_arena_new(&u->mem);
   u->scratch = tl_arena_new(&u->mem);
   u->strings = tl_strings_new(u->arena);
   u->sources = tl_sources_new(u->arena);
   tl_diags_init(&u->diags, u->arena, u->sources);
   if (extra && extra->max_errors)
      u->diags.max_errors = extra->max_errors;
   u->types = tl_types_new(u->arena);
   u->module = tl_module_new(u->arena, u->types, u->strings, &u->diags);
   return TILEC_OK;
}

void
tl_unit_free(TlUnit *u)
{
   tl_arena_free(u->scratch);
   tl_arena_free(u->arena);
   u->scratch = u->arena = NULL;
}

static TilecStatus
fail(TlUnit *u, TilecStatus status, const char *format, const char *detail)
{
   snprintf(u->error, sizeof u->error, format, detail);
   return status;
}

bool
tl_read_file(TlArena *arena, const char *path, const char **text, size_t *len, const char **why)
{
   FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
   if (!f) {
      *why = tl_arena_strdup(arena, strerror(errno));
      return false;
   }
   struct stat st;
   if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
      fclose(f);
      *why = "it is a directory";
      return false;
   }
   TlSb sb;
   tl_sb_init(&sb, arena);
   char block[16384];
   size_t n;
   while ((n = fread(block, 1, sizeof block, f)) > 0 && sb.len <= TL_MAX_SOURCE_BYTES)
      tl_sb_mem(&sb, block, n);
   bool bad = ferror(f) != 0;
   if (f != stdin)
      fclose(f);
   if (bad || sb.len > TL_MAX_SOURCE_BYTES) {
      *why = bad ? "it cannot be read" : "it is larger than 16 MiB";
      return false;
   }
   *text = tl_sb_cstr(&sb);
   *len = sb.len;
   return true;
}

static bool
has_suffix(const char *s, const char *suffix)
{
   size_t n = strlen(s), m = strlen(suffix);
   return n >= m && strcmp(s + n - m, suffix) == 0;
}

static const char *
import_file(void *user, TlArena *arena, const char *path, size_t *len)
{
   TlUnit *u = user;
   const char *text, *why;
   if (!tl_read_file(arena, path, &text, len, &why))
      text = NULL;
   tl_vec_push(u->arena, &u->imports,
               (TilecImport){tl_arena_strdup(u->arena, path), text, text ? *len : 0});
   return text;
}

static TilecStatus
read_source(TlUnit *u, const TilecCompileOptions *o)
{
   const char *text = o->source, *why = "";
   size_t len =
      o->source ? (o->source_bytes == TILEC_STRLEN ? strlen(o->source) : o->source_bytes) : 0;
   const char *name = o->file ? o->file : "<source>";
   if (!o->source && !o->file)
      return fail(u, TILEC_BAD_ARGUMENT, "%s", "neither a file nor a source text was given");
   if (!o->source && !tl_read_file(u->arena, o->file, &text, &len, &why)) {
      snprintf(u->error, sizeof u->error, "cannot read '%s': %s", o->file, why);
      return TILEC_IO;
   }
   if (len > TL_MAX_SOURCE_BYTES)
      return fail(u, TILEC_LIMIT, "%s: the source is larger than 16 MiB", name);
   u->file = tl_sources_add(u->sources, name, text, len);
   return TILEC_OK;
}

static void
keep_text(Run *r, TilecStage stage, const TlSb *sb)
{
   r->u->text[stage] = sb->data ? sb->data : "";
   r->u->text_len[stage] = sb->len;
   r->u->last = stage;
}

static bool
wants(const Run *r, TilecStage stage)
{
   return r->stop == stage || (r->options->keep_stages & TILEC_STAGE_BIT(stage)) != 0;
}

/* The deadline and the caller's cancel flag, looked at between stages. */
static bool
is_cancelled(const Run *r)
{
   return (r->options->cancel && *r->options->cancel) || now_seconds() > r->deadline;
}

static void
keep_ir(Run *r, TilecStage stage)
{
   if (!wants(r, stage))
      return;
   TlSb sb;
   tl_sb_init(&sb, r->u->arena);
   if (r->u->text[stage]) /* of the entries before this one */
      tl_sb_mem(&sb, r->u->text[stage], r->u->text_len[stage]);
   tl_print_func(r->u->func, r->options->debug_info ? r->u->sources : NULL, &sb);
   keep_text(r, stage, &sb);
}

static TilecStatus
diagnosed(TlUnit *u)
{
   return u->diags.num_errors ? TILEC_BAD_SOURCE : TILEC_OK;
}

/* Tokens and AST need no names or types. */
static TilecStatus
syntax_stages(Run *r)
{
   TlUnit *u = r->u;
   TlParseCx px = {u->arena, u->strings, u->sources, &u->diags};
   TlSb sb;
   if (wants(r, TILEC_STAGE_TOKENS)) {
      tl_sb_init(&sb, u->arena);
      tl_print_tokens(&px, u->file, &sb);
      keep_text(r, TILEC_STAGE_TOKENS, &sb);
   }
   if (r->stop == TILEC_STAGE_TOKENS)
      return diagnosed(u);
   if (wants(r, TILEC_STAGE_AST)) {
      TlAstModule *m = tl_parse_file(&px, u->file);
      tl_sb_init(&sb, u->arena);
      tl_ast_print(u->sources, &m->node, false, &sb);
      keep_text(r, TILEC_STAGE_AST, &sb);
   }
   return diagnosed(u);
}

static TlSemaOptions
sema_options(TlUnit *u, const TilecCompileOptions *o)
{
   return (TlSemaOptions){.user = u,
                          .include_dirs = o->include_dirs,
                          .num_include_dirs = o->num_include_dirs,
                          .read_file = import_file};
}

static TilecStatus
load_names(TlUnit *u, const TilecCompileOptions *o)
{
   TlSemaOptions so = sema_options(u, o);
   u->sema = tl_sema_new(u->arena, u->strings, u->sources, &u->diags, u->module, &so);
   if (!tl_sema_load(u->sema, u->file))
      return u->diags.num_errors ? TILEC_BAD_SOURCE : TILEC_INTERNAL;
   return diagnosed(u);
}

TlSpecialization
tl_unit_specialization(TlUnit *u, const TilecCompileOptions *o)
{
   TlSpecialization spec = {.kernel = o->kernel,
                            .signature = o->signature,
                            .num_warps = (int)o->num_warps,
                            .num_stages = (int)o->num_stages,
                            .debug = o->check,
                            .strict_fp = o->fp_mode == TILEC_FP_STRICT};
   for (size_t i = 0; i < o->num_defines; i++) {
      tl_vec_push(u->arena, &spec.define_names, o->defines[i].name);
      tl_vec_push(u->arena, &spec.define_values, o->defines[i].value);
   }
   spec.grid = o->grid;
   for (size_t i = 0; i < o->num_values; i++) {
      tl_vec_push(u->arena, &spec.value_names, o->values[i].name);
      tl_vec_push(u->arena, &spec.values, o->values[i].value);
   }
   return spec;
}

/* PTX's symbols are ASCII: a letter beyond is spelled by its bytes, as in "gr_c3b6_c39fe". */
static const char *
ascii_name(TlUnit *u, const char *name)
{
   TlSb sb;
   tl_sb_init(&sb, u->arena);
   for (const char *p = name; *p; p++) {
      bool is_ascii = (unsigned char)*p < 0x80;
      if (is_ascii)
         tl_sb_char(&sb, *p);
      else
         tl_sb_printf(&sb, (unsigned char)*p >= 0xc0 ? "_%02x" : "%02x", (unsigned char)*p);
   }
   return tl_sb_cstr(&sb);
}

/* "elu", then "elu__1", "elu__2" for further specialisations: symbols of one module differ. */
static const char *
symbol_for(TlUnit *u, const char *kernel)
{
   const TlKernelInfo *kernels;
   unsigned num_kernels = tl_sema_kernels(u->sema, &kernels);
   const char *first = ascii_name(u, kernel), *name = first;
   for (unsigned n = 1;; n++) {
      bool taken = false;
      for (size_t i = 0; i < u->entries.len; i++)
         taken |= strcmp(u->entries.data[i].func->name, name) == 0;
      for (unsigned i = 0; i < num_kernels; i++)
         taken |= strcmp(kernels[i].name, name) == 0 && strcmp(name, kernel) != 0;
      if (!taken)
         return name;
      name = tl_arena_printf(u->arena, "%s__%u", first, n);
   }
}

static TilecStatus
type_entry(Run *r, TlSpecialization *spec, const TlEntrySpec *entry)
{
   TlUnit *u = r->u;
   spec->kernel = entry->kernel;
   spec->signature = entry->signature;
   TlFunc *f = tl_sema_compile(u->sema, spec);
   if (!f)
      return u->diags.num_errors ? TILEC_BAD_SOURCE : TILEC_INTERNAL;
   TlEntry made = {f, f->name};
   f->name = symbol_for(u, f->name);
   tl_vec_push(u->arena, &u->entries, made);
   return TILEC_OK;
}

static TilecStatus
type_kernels(Run *r)
{
   TlUnit *u = r->u;
   const TilecCompileOptions *o = r->options;
   TilecStatus status = load_names(u, o);
   if (status != TILEC_OK)
      return status;
   TlSpecialization spec = tl_unit_specialization(u, o);
   const TlEntrySpec asked = {o->kernel, o->signature};
   bool many = r->extra && r->extra->num_entries;
   const TlEntrySpec *specs = many ? r->extra->entries : &asked;
   for (size_t i = 0; status == TILEC_OK && i < (many ? r->extra->num_entries : 1); i++)
      status = type_entry(r, &spec, &specs[i]);
   if (status != TILEC_OK)
      return status;
   u->func = u->entries.data[0].func;
   return diagnosed(u);
}

static bool
is_loaded(const TlUnit *u, const char *name)
{
   for (uint32_t i = 1; tl_source(u->sources, i); i++)
      if (strcmp(tl_source(u->sources, i)->name, name) == 0)
         return true;
   return false;
}

/* Loads the source files that locations of IR text name, as far as they can be read: messages and
 * line tables then speak of the kernel's source, not of the IR. */
static void
load_located_files(TlUnit *u)
{
   enum { MAX_FILES = 64 };
   static const char mark[] = "loc(\"";
   const char *p = tl_source(u->sources, u->file)->text;
   for (unsigned loaded = 0; loaded < MAX_FILES && (p = strstr(p, mark)) != NULL;) {
      p += sizeof mark - 1;
      size_t n = strcspn(p, "\"\n");
      const char *name = tl_intern(u->strings, p, n), *text, *why;
      size_t len;
      p += n;
      if (is_loaded(u, name))
         continue;
      if (!tl_read_file(u->arena, name, &text, &len, &why))
         len = 0, text = "";
      tl_sources_add(u->sources, name, text, len);
      loaded++;
   }
}

static TilecStatus
unknown_arch(TlUnit *u, const char *arch)
{
   TlSb known;
   tl_sb_init(&known, u->arena);
   for (unsigned i = 0; tl_target_at(i); i++)
      tl_sb_printf(&known, "%s%s", i ? ", " : "", tl_target_at(i)->arch);
   snprintf(u->error, sizeof u->error, "unknown architecture '%s'; tilec knows %s", arch,
            tl_sb_cstr(&known));
   return TILEC_BAD_TARGET;
}

static TilecStatus
choose_target(TlUnit *u, const char *arch, uint32_t ptx_version)
{
   const TlTarget *known = tl_target_find(arch);
   if (!known)
      return unknown_arch(u, arch);
   if (ptx_version && ptx_version < known->ptx)
      return fail(u, TILEC_BAD_TARGET, "%s needs a newer PTX version than the one asked for", arch);
   TlTarget *target = tl_new(u->arena, TlTarget);
   *target = *known;
   if (ptx_version)
      target->max_ptx = ptx_version;
   u->target = target;
   return TILEC_OK;
}

/* IR text with layouts names the target that they were chosen for. */
static TilecStatus
target_of_text(Run *r)
{
   TlUnit *u = r->u;
   const char *arch = u->func->target;
   if (!arch || strcmp(arch, u->target->arch) == 0)
      return TILEC_OK;
   if (r->options->arch && tl_target_find(arch)) {
      snprintf(u->error, sizeof u->error, "'%s' was made for %s; asked for is %s", u->func->name,
               arch, u->target->arch);
      return TILEC_BAD_TARGET;
   }
   return choose_target(u, arch, r->options->ptx_version);
}

static TilecStatus
read_ir(Run *r)
{
   TlUnit *u = r->u;
   load_located_files(u);
   if (!tl_read_module(u->module, u->sources, u->file))
      return TILEC_BAD_SOURCE;
   for (TlFunc *f = u->module->first_func; f; f = f->next)
      if (!u->func && (!r->options->kernel || strcmp(f->name, r->options->kernel) == 0))
         u->func = f;
   if (u->func) {
      tl_vec_push(u->arena, &u->entries, (TlEntry){u->func, u->func->name});
      return target_of_text(r);
   }
   return r->options->kernel
             ? fail(u, TILEC_NOT_FOUND, "the file has no function '%s'", r->options->kernel)
             : fail(u, TILEC_NOT_FOUND, "the file has no function%s", "");
}

static TlPassCx
pass_context(Run *r)
{
   TlUnit *u = r->u;
   TlPassCx cx = {.scratch = u->scratch,
                  .sources = u->sources,
                  .diags = &u->diags,
                  .target = u->target,
                  .remarks = r->options->remarks};
   if (r->extra) {
      cx.verify_each = r->extra->verify_each;
      cx.print_after = r->extra->print_after;
      cx.print = r->extra->print;
      cx.print_user = r->extra->print_user;
   }
   return cx;
}

static TilecStatus
pass_failure(TlUnit *u)
{
   return u->diags.num_errors ? TILEC_BAD_SOURCE : fail(u, TILEC_INTERNAL, "a pass failed%s", "");
}

static TilecStatus
generate(Run *r)
{
   TlUnit *u = r->u;
   const TilecCompileOptions *o = r->options;
   TlCgOptions co = {.target = u->target,
                     .opt_level = o->opt == TILEC_OPT_DEFAULT ? 3 : (unsigned)o->opt - 1,
                     .line_info = o->debug_info,
                     .want_llvm = wants(r, TILEC_STAGE_LLVM),
                     .verify = r->extra && r->extra->verify_each};
   TlCgResult result;
   TlFunc **funcs = tl_new_array(u->arena, TlFunc *, u->entries.len);
   for (size_t i = 0; i < u->entries.len; i++)
      funcs[i] = u->entries.data[i].func;
   if (!tl_codegen(u->arena, funcs, (unsigned)u->entries.len, u->sources, &u->diags, &co, &result))
      return u->diags.num_errors ? TILEC_BAD_SOURCE : TILEC_INTERNAL;
   if (result.llvm) {
      u->text[TILEC_STAGE_LLVM] = result.llvm;
      u->text_len[TILEC_STAGE_LLVM] = strlen(result.llvm);
      u->last = TILEC_STAGE_LLVM;
   }
   if (r->stop == TILEC_STAGE_LLVM)
      return TILEC_OK;
   u->ptx_version = result.ptx_version;
   u->text[TILEC_STAGE_PTX] = result.ptx;
   u->text_len[TILEC_STAGE_PTX] = result.ptx_len;
   u->last = TILEC_STAGE_PTX;
   return TILEC_OK;
}

/* u->func from whatever state to the stage asked for, LOWERED at most. */
static TilecStatus
lower_entry(Run *r, TlPassCx *cx)
{
   TlUnit *u = r->u;
   if (r->extra && r->extra->passes) {
      if (!tl_run_passes(cx, u->func, r->extra->passes))
         return u->diags.num_errors ? TILEC_BAD_SOURCE
                                    : fail(u, TILEC_BAD_ARGUMENT,
                                           "the passes '%s' cannot be run: an unknown name, or the "
                                           "IR is in another state",
                                           r->extra->passes);
      keep_ir(r, r->stop);
      return diagnosed(u);
   }
   if (u->func->state == TL_STATE_TYPED) {
      if (!tl_pipeline_typed(cx, u->func))
         return pass_failure(u);
      keep_ir(r, TILEC_STAGE_IR);
      u->typed = r->stop <= TILEC_STAGE_IR ? u->func : tl_func_clone(u->func);
      if (r->stop <= TILEC_STAGE_IR)
         return diagnosed(u);
      if (is_cancelled(r))
         return TILEC_CANCELLED;
      if (!tl_pipeline_laid(cx, u->func))
         return pass_failure(u);
   }
   if (u->func->state == TL_STATE_LAID) {
      keep_ir(r, TILEC_STAGE_LAID);
      if (r->stop <= TILEC_STAGE_LAID)
         return diagnosed(u);
      if (is_cancelled(r))
         return TILEC_CANCELLED;
      if (!tl_pipeline_lowered(cx, u->func))
         return pass_failure(u);
   }
   keep_ir(r, TILEC_STAGE_LOWERED);
   return diagnosed(u);
}

static TilecStatus
back_end(Run *r)
{
   TlUnit *u = r->u;
   TlPassCx cx = pass_context(r);
   TlFunc *first_typed = NULL;
   TilecStatus status = TILEC_OK;
   for (size_t i = 0; status == TILEC_OK && i < u->entries.len; i++) {
      u->func = u->entries.data[i].func;
      status = is_cancelled(r) ? TILEC_CANCELLED : lower_entry(r, &cx);
      if (i == 0)
         first_typed = u->typed;
   }
   u->func = u->entries.data[0].func;
   u->typed = first_typed;
   for (size_t i = 0; i < cx.times.len; i++)
      tl_vec_push(u->arena, &u->times, cx.times.data[i]);
   if (status != TILEC_OK || r->stop <= TILEC_STAGE_LOWERED || (r->extra && r->extra->passes))
      return status;
   if (is_cancelled(r))
      return TILEC_CANCELLED;
   status = generate(r);
   return status == TILEC_OK ? diagnosed(u) : status;
}

static TilecStatus
compile(Run *r)
{
   TlUnit *u = r->u;
   const TilecCompileOptions *o = r->options;
   u->diags.warnings_are_errors = o->warnings_are_errors;
   TilecStatus status = choose_target(u, o->arch ? o->arch : "sm_90a", o->ptx_version);
   if (status == TILEC_OK)
      status = read_source(u, o);
   if (status != TILEC_OK)
      return status;
   bool is_ir = o->file && has_suffix(o->file, ".tir");
   if (!is_ir && (status = syntax_stages(r)) != TILEC_OK)
      return status;
   if (r->stop <= TILEC_STAGE_AST)
      return TILEC_OK;
   if ((status = is_ir ? read_ir(r) : type_kernels(r)) != TILEC_OK)
      return status;
   if ((status = back_end(r)) != TILEC_OK)
      return status;
   /* A finished program is read by many threads: nothing may be filled in lazily later. */
   for (uint32_t i = 1; tl_source(u->sources, i); i++)
      tl_source_line_col(u->sources, i, 0);
   return tl_unit_describe(u, o) ? TILEC_OK : TILEC_INTERNAL;
}

TilecStatus
tl_unit_compile(TlUnit *u, const TilecCompileOptions *o, const TlUnitExtra *extra)
{
   if (setjmp(u->oom))
      return TILEC_NO_MEMORY;
   u->error[0] = 0;
   Run r = {.u = u, .options = o, .extra = extra};
   r.stop = o->stop_after == TILEC_STAGE_DEFAULT ? TILEC_STAGE_PTX : o->stop_after;
   r.deadline = now_seconds() + (o->timeout_ms ? o->timeout_ms : DEFAULT_TIMEOUT_MS) * 1e-3;
   return compile(&r);
}

TilecStatus
tl_unit_load_names(TlUnit *u, const TilecCompileOptions *o)
{
   if (setjmp(u->oom))
      return TILEC_NO_MEMORY;
   TilecStatus status = read_source(u, o);
   return status == TILEC_OK ? load_names(u, o) : status;
}
