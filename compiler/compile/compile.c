/* The whole compiler in one visible sequence: compile(), at the end.
 * Out of memory anywhere below jumps back to the entry points here. */
#include "compile/compilation.h"
#include "base/clock.h"
#include "ir/pressure.h"
#include "ir/walk.h"
#include "sema/generic.h"
#include "sema/lint.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEFAULT_TIMEOUT_MS = 60000 };
static const size_t default_memory_limit = (size_t)768 << 20;

typedef struct Run {
   TlCompilation *comp;
   const TilecCompileOptions *options;
   const TlCompileExtra *extra;
   bool checks; /* all kernels, whatever their types: no more than their errors is asked for */
   TilecStage stop;
   double deadline_ms; /* of tl_now_ms */
   TilecStatus status; /* of the stages so far */
} Run;

TilecStatus
tl_compilation_init(TlCompilation *comp, const TilecAllocator *allocator,
                    const TlCompileExtra *extra)
{
   *comp = (TlCompilation){0};
   tl_mem_init(&comp->mem);
   if (allocator && allocator->alloc)
      comp->mem.alloc = allocator->alloc;
   if (allocator && allocator->release)
      comp->mem.release = allocator->release;
   comp->mem.user = allocator ? allocator->user : NULL;
   comp->mem.limit_bytes =
      extra && extra->memory_limit_bytes ? extra->memory_limit_bytes : default_memory_limit;
   comp->mem.oom = &comp->oom;
   assert(comp->mem.alloc && comp->mem.release);
   if (setjmp(comp->oom)) {
      tl_compilation_free(comp);
      return TILEC_NO_MEMORY;
   }
   comp->arena = tl_arena_new(&comp->mem);
   comp->scratch = tl_arena_new(&comp->mem);
   comp->strings = tl_strings_new(comp->arena);
   comp->sources = tl_sources_new(comp->arena);
   tl_diags_init(&comp->diags, comp->arena, comp->sources);
   if (extra && extra->max_errors)
      comp->diags.max_errors = extra->max_errors;
   comp->types = tl_types_new(comp->arena);
   comp->module = tl_module_new(comp->arena, comp->types, comp->strings, &comp->diags);
   return TILEC_OK;
}

void
tl_compilation_free(TlCompilation *comp)
{
   tl_arena_free(comp->scratch);
   tl_arena_free(comp->arena);
   comp->scratch = comp->arena = NULL;
}

static TilecStatus __attribute__((format(printf, 3, 4)))
fail(TlCompilation *comp, TilecStatus status, const char *format, ...)
{
   va_list args;
   va_start(args, format);
   vsnprintf(comp->error, sizeof comp->error, format, args);
   va_end(args);
   return status;
}

/* Errors among the diagnostics fail the stage that reported them. */
static TilecStatus
diagnosed(const TlCompilation *comp)
{
   return comp->diags.num_errors ? TILEC_BAD_SOURCE : TILEC_OK;
}

/* A part of the compiler gave up: it has said why, or it has a bug. */
static TilecStatus
gave_up(const TlCompilation *comp)
{
   return comp->diags.num_errors ? TILEC_BAD_SOURCE : TILEC_INTERNAL;
}

/* The deadline and the caller's cancel flag, looked at between stages and entries. */
static bool
is_cancelled(const Run *r)
{
   return (r->options->cancel && *r->options->cancel) || tl_now_ms() > r->deadline_ms;
}

/* ---- texts of stages ---- */
static bool
wants(const Run *r, TilecStage stage)
{
   assert(stage < TILEC_STAGE_COUNT);
   bool is_last = r->stop == stage && !r->checks;
   return is_last || (r->options->keep_stages & TILEC_STAGE_BIT(stage)) != 0;
}

static void
keep_text(Run *r, TilecStage stage, const char *text, size_t len)
{
   assert(stage < TILEC_STAGE_COUNT && (text || !len));
   r->comp->text[stage] = text ? text : "";
   r->comp->text_len[stage] = len;
   r->comp->last = stage;
}

static void
keep_ir(Run *r, TilecStage stage, const TlFunc *f)
{
   if (!wants(r, stage))
      return;
   TlSb sb;
   tl_sb_init(&sb, r->comp->arena);
   if (r->comp->text[stage]) /* of the entries before this one */
      tl_sb_mem(&sb, r->comp->text[stage], r->comp->text_len[stage]);
   tl_print_func(f, r->options->debug_info ? r->comp->sources : NULL, &sb);
   keep_text(r, stage, sb.data, sb.len);
}

/* ---- bytes ---- */
bool
tl_read_file(TlArena *arena, const char *path, const char **text, size_t *len, const char **why)
{
   bool is_stdin = strcmp(path, "-") == 0;
   struct stat st;
   if (!is_stdin && stat(path, &st) == 0 && !S_ISREG(st.st_mode)) { /* a pipe may block */
      *why = S_ISDIR(st.st_mode) ? "it is a directory; name the files in it"
                                 : "it is not a regular file";
      return false;
   }
   FILE *f = is_stdin ? stdin : fopen(path, "rb");
   if (!f) {
      *why = tl_arena_strdup(arena, strerror(errno));
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

static const char *
import_file(void *user, TlArena *arena, const char *path, size_t *len)
{
   TlCompilation *comp = user;
   const char *text, *why;
   if (!tl_read_file(arena, path, &text, len, &why))
      text = NULL;
   tl_vec_push(comp->arena, &comp->imports,
               (TilecImport){tl_arena_strdup(comp->arena, path), text, text ? *len : 0});
   return text;
}

/* A variable of the environment; a program that asked for it is made anew when it changes. */
static const char *
environment(void *user, const char *name)
{
   TlCompilation *comp = user;
   const char *value = getenv(name);
   const char *text = value ? tl_arena_strdup(comp->arena, value) : NULL;
   tl_vec_push(
      comp->arena, &comp->imports,
      (TilecImport){tl_arena_printf(comp->arena, "$%s", name), text, text ? strlen(text) : 0});
   return text;
}

static TilecStatus
read_source(Run *r)
{
   TlCompilation *comp = r->comp;
   const TilecCompileOptions *o = r->options;
   const char *text = o->source, *why = "";
   size_t len =
      o->source ? (o->source_bytes == TILEC_STRLEN ? strlen(o->source) : o->source_bytes) : 0;
   const char *name = o->file ? o->file : "<source>";
   if (!o->source && !o->file)
      return fail(comp, TILEC_BAD_ARGUMENT,
                  "neither a file nor a source text was given: one of the two is needed");
   if (!o->source && !tl_read_file(comp->arena, o->file, &text, &len, &why))
      return fail(comp, TILEC_IO, "cannot read '%s': %s", o->file, why);
   if (len > TL_MAX_SOURCE_BYTES)
      return fail(comp, TILEC_LIMIT, "%s: the source is larger than 16 MiB", name);
   comp->file = tl_sources_add(comp->sources, name, text, len);
   if (!o->source && tl_is_foreign(comp, name, text, len))
      return TILEC_BAD_SOURCE;
   return TILEC_OK;
}

/* ---- tokens, AST, names ---- */
static TlParseCx
parse_context(TlCompilation *comp)
{
   return (TlParseCx){comp->arena, comp->strings, comp->sources, &comp->diags};
}

/* For their text alone: the parser scans by itself. */
static TilecStatus
scan(Run *r)
{
   TlParseCx px = parse_context(r->comp);
   TlSb sb;
   if (!wants(r, TILEC_STAGE_TOKENS))
      return TILEC_OK;
   tl_sb_init(&sb, r->comp->arena);
   tl_print_tokens(&px, r->comp->file, &sb);
   keep_text(r, TILEC_STAGE_TOKENS, sb.data, sb.len);
   return diagnosed(r->comp);
}

/* Errors do not end the compilation yet: loading the names may report more. */
static TilecStatus
parse(Run *r)
{
   TlParseCx px = parse_context(r->comp);
   r->comp->ast = tl_parse_file(&px, r->comp->file);
   if (wants(r, TILEC_STAGE_AST)) {
      TlSb sb;
      tl_sb_init(&sb, r->comp->arena);
      tl_ast_print(r->comp->sources, &r->comp->ast->node, false, &sb);
      keep_text(r, TILEC_STAGE_AST, sb.data, sb.len);
   }
   return r->stop == TILEC_STAGE_AST ? diagnosed(r->comp) : TILEC_OK;
}

/* Of a file with errors too: editors ask for them. */
static TilecStatus
find_names(Run *r)
{
   if (r->checks || r->extra->lints)
      r->comp->names = tl_names_of(r->comp->arena, r->comp->sources, r->comp->ast);
   return TILEC_OK;
}

/* 90 of "sm_90a"; 0 = the default target's. */
static unsigned
capability_of(const char *arch)
{
   const char *number = arch ? tl_skip_prefix(arch, "sm_") : NULL;
   return number ? (unsigned)strtoul(number, NULL, 10) : 0;
}

static TilecStatus
load_names(Run *r)
{
   assert(r->comp->ast);
   TlCompilation *comp = r->comp;
   const TlSemaOptions so = {.user = comp,
                             .include_dirs = r->options->include_dirs,
                             .num_include_dirs = r->options->num_include_dirs,
                             .read_file = import_file,
                             .environment = environment,
                             .capability = capability_of(r->options->arch),
                             .assume = r->options->assume,
                             .num_assume = r->options->num_assume};
   comp->sema =
      tl_sema_new(comp->arena, comp->strings, comp->sources, &comp->diags, comp->module, &so);
   if (!tl_sema_load(comp->sema, comp->ast))
      return gave_up(comp);
   if (!r->extra->num_entries)
      tl_report_undecorated(comp, r->options->kernel);
   for (size_t i = 0; i < r->extra->num_entries; i++)
      tl_report_undecorated(comp, r->extra->entries[i].kernel);
   return diagnosed(comp);
}

/* ---- TYPED ---- */
TlSpecialization
tl_specialization_for(TlCompilation *comp, const TilecCompileOptions *o)
{
   TlSpecialization spec = {.kernel = o->kernel,
                            .signature = o->signature,
                            .num_warps = (int)o->num_warps,
                            .num_stages = (int)o->num_stages,
                            .debug = o->check,
                            .strict_fp = o->fp_mode == TILEC_FP_STRICT,
                            .fp32_dot = o->fp32_dot,
                            .print_threads = o->print_threads};
   spec.cuts_tf32 = comp->target && tl_target_has_mma(comp->target, TL_MMA_WG_TF32_F32);
   for (size_t i = 0; i < o->num_defines; i++) {
      tl_vec_push(comp->arena, &spec.define_names, o->defines[i].name);
      tl_vec_push(comp->arena, &spec.define_values, o->defines[i].value);
   }
   spec.grid = o->grid;
   for (size_t i = 0; i < o->num_values; i++) {
      tl_vec_push(comp->arena, &spec.value_names, o->values[i].name);
      tl_vec_push(comp->arena, &spec.values, o->values[i].value);
   }
   return spec;
}

/* PTX's symbols are ASCII: a letter beyond is spelled by its bytes, as in "gr_c3b6_c39fe"; what
 * qualifies a name, as in "Relu.forward", becomes "_". */
static const char *
ascii_name(TlCompilation *comp, const char *name)
{
   TlSb sb;
   tl_sb_init(&sb, comp->arena);
   for (const char *p = name; *p; p++) {
      bool is_ascii = (unsigned char)*p < 0x80;
      if (is_ascii)
         tl_sb_char(&sb, strchr(".<>", *p) ? '_' : *p);
      else
         tl_sb_printf(&sb, (unsigned char)*p >= 0xc0 ? "_%02x" : "%02x", (unsigned char)*p);
   }
   return tl_sb_cstr(&sb);
}

/* "elu", then "elu__1", "elu__2" for further specialisations: symbols of one module differ. */
static const char *
symbol_for(TlCompilation *comp, const char *kernel)
{
   assert(kernel);
   enum Owner { NOBODY, A_KERNEL, AN_ENTRY }; /* each kernel may have its own name once */
   const TlKernelInfo *kernels;
   unsigned num_kernels = tl_sema_kernels(comp->sema, &kernels);
   if (!comp->symbols.arena) {
      tl_map_init(&comp->symbols, comp->arena);
      for (unsigned i = 0; i < num_kernels; i++)
         tl_map_put(&comp->symbols, tl_intern_cstr(comp->strings, kernels[i].name),
                    (void *)(uintptr_t)A_KERNEL);
   }
   const char *own = tl_intern_cstr(comp->strings, kernel), *first = ascii_name(comp, kernel);
   const char *name = tl_intern_cstr(comp->strings, first);
   for (unsigned n = 1;; n++) {
      enum Owner owner = (enum Owner)(uintptr_t)tl_map_get(&comp->symbols, name);
      if (owner == NOBODY || (owner == A_KERNEL && name == own)) {
         tl_map_put(&comp->symbols, name, (void *)(uintptr_t)AN_ENTRY);
         return name;
      }
      name = tl_intern_cstr(comp->strings, tl_arena_printf(comp->arena, "%s__%u", first, n));
   }
}

static TilecStatus
type_entry(TlCompilation *comp, TlSpecialization *spec, const TlEntrySpec *entry)
{
   assert(comp->sema);
   spec->kernel = entry->kernel;
   spec->signature = entry->signature;
   TlFunc *f = tl_sema_compile(comp->sema, spec);
   if (!f)
      return gave_up(comp);
   TlEntry made = {.func = f, .kernel = f->name};
   f->name = symbol_for(comp, f->name);
   tl_vec_push(comp->arena, &comp->entries, made);
   return TILEC_OK;
}

static TilecStatus
type_kernels(Run *r)
{
   const TilecCompileOptions *o = r->options;
   TlSpecialization spec = tl_specialization_for(r->comp, o);
   spec.keeps_asserts = r->extra->keeps_asserts;
   const TlEntrySpec asked = {o->kernel, o->signature}, *specs = &asked;
   size_t num = 1;
   if (r->extra->num_entries) {
      specs = r->extra->entries;
      num = r->extra->num_entries;
   }
   TilecStatus status = TILEC_OK;
   for (size_t i = 0; status == TILEC_OK && i < num; i++)
      status = type_entry(r->comp, &spec, &specs[i]);
   if (status != TILEC_OK)
      return status;
   r->comp->func = r->comp->entries.data[0].func;
   status = diagnosed(r->comp);
   spec.kernel = r->comp->entries.data[0].kernel;
   spec.signature = specs[0].signature;
   if (status == TILEC_OK && r->extra->lints)
      r->comp->lints = tl_sema_lint_compiled(r->comp->sema, r->comp->names, r->comp->func, &spec);
   return status;
}

/* ---- all kernels of a file, for tl_check ---- */
static bool
has_param(const TlKernelInfo *k, const char *name)
{
   for (unsigned i = 0; i < k->num_params; i++)
      if (strcmp(k->params[i].name, name) == 0)
         return true;
   return false;
}

/* A define is for the kernels that have such a parameter; for all when none has. */
static TlSpecialization
specialization_of(Run *r, const TlKernelInfo *k)
{
   const TlKernelInfo *all;
   unsigned n = tl_sema_kernels(r->comp->sema, &all);
   TlSpecialization spec = tl_specialization_for(r->comp, r->options), mine = spec;
   mine.define_names.len = mine.define_values.len = 0;
   mine.define_names.data = tl_new_array(r->comp->arena, const char *, spec.define_names.len + 1);
   mine.define_values.data = tl_new_array(r->comp->arena, const char *, spec.define_names.len + 1);
   for (size_t i = 0; i < spec.define_names.len; i++) {
      bool is_any = false;
      for (unsigned j = 0; j < n; j++)
         is_any |= has_param(&all[j], spec.define_names.data[i]);
      if (is_any && !has_param(k, spec.define_names.data[i]))
         continue;
      mine.define_names.data[mine.define_names.len++] = spec.define_names.data[i];
      mine.define_values.data[mine.define_values.len++] = spec.define_values.data[i];
   }
   return mine;
}

static void
check_kernel(Run *r, const TlKernelInfo *k, const char *signature)
{
   TlCompilation *comp = r->comp;
   TlSpecialization spec = specialization_of(r, k);
   spec.signature = signature;
   TlChecked checked = tl_sema_check(comp->sema, &spec, k);
   if (!checked.func)
      return;
   TlEntry made = {.func = checked.func, .kernel = checked.func->name};
   made.func->name = symbol_for(comp, made.func->name);
   tl_vec_push(comp->arena, &comp->entries, made);
}

static TilecStatus
check_named(Run *r, const TlEntrySpec *entry)
{
   const TlKernelInfo *kernels, *found = NULL;
   unsigned n = tl_sema_kernels(r->comp->sema, &kernels), num = 0;
   for (unsigned i = 0; i < n; i++) { /* a file's only kernel needs no name */
      bool is_one = entry->kernel ? strcmp(kernels[i].name, entry->kernel) == 0
                                  : !kernels[i].is_helper || n == 1;
      found = is_one && !found ? &kernels[i] : found;
      num += is_one;
   }
   if (found && (entry->kernel || num == 1)) {
      check_kernel(r, found, entry->signature);
      return diagnosed(r->comp);
   }
   TlSpecialization spec = tl_specialization_for(r->comp, r->options);
   return type_entry(r->comp, &spec, entry); /* says what is wrong with the name */
}

static TilecStatus
check_kernels(Run *r)
{
   TlCompilation *comp = r->comp;
   const TlCompileExtra *extra = r->extra;
   if (extra->watch) {
      tl_sema_watch(comp->sema);
      r->stop = TILEC_STAGE_AST; /* passes would change what was seen */
   }
   const TlKernelInfo *kernels;
   unsigned n = tl_sema_kernels(comp->sema, &kernels);
   for (size_t i = 0; i < extra->num_entries; i++)
      if (extra->entries[i].kernel || extra->entries[i].signature) {
         TilecStatus status = check_named(r, &extra->entries[i]);
         if (status != TILEC_OK)
            return status;
      }
   tl_check_around(comp->sema, n || extra->watch);
   bool is_named = extra->num_entries && (extra->entries[0].kernel || extra->entries[0].signature);
   for (unsigned i = 0; i < n && !is_named; i++)
      if (!kernels[i].is_helper || n == 1)
         check_kernel(r, &kernels[i], NULL);
   if (comp->entries.len)
      comp->func = comp->entries.data[0].func;
   tl_sema_lint(comp->sema, comp->names, NULL);
   tl_diags_sort(&comp->diags);
   return diagnosed(comp);
}

/* ---- IR text ---- */
static bool
is_loaded(const TlCompilation *comp, const char *name)
{
   for (uint32_t i = 1; tl_source(comp->sources, i); i++)
      if (strcmp(tl_source(comp->sources, i)->name, name) == 0)
         return true;
   return false;
}

/* Loads the source files that locations of IR text name, as far as they can be read: messages and
 * line tables then speak of the kernel's source, not of the IR. */
static void
load_located_files(TlCompilation *comp)
{
   enum { MAX_FILES = 64 };
   static const char mark[] = "loc(\"";
   const char *p = tl_source(comp->sources, comp->file)->text;
   for (unsigned loaded = 0; loaded < MAX_FILES && (p = strstr(p, mark)) != NULL;) {
      p += sizeof mark - 1;
      size_t n = strcspn(p, "\"\n");
      const char *name = tl_intern(comp->strings, p, n), *text, *why;
      size_t len;
      p += n;
      if (is_loaded(comp, name))
         continue;
      if (!tl_read_file(comp->arena, name, &text, &len, &why))
         len = 0, text = "";
      tl_sources_add(comp->sources, name, text, len);
      loaded++;
   }
}

const char *
tl_unknown_arch(TlArena *arena, const char *arch)
{
   TlSb sb;
   tl_sb_init(&sb, arena);
   const char *product, *meant = tl_target_meant(arch, &product);
   bool has_blank = strchr(arch, ' ') && !product;
   tl_sb_printf(&sb, "unknown architecture '%s'%s", arch,
                has_blank ? " (several are a list without blanks, sm_80,sm_90a)" : "");
   if (product && !tl_target_for(meant))
      tl_sb_printf(&sb, ": %s is %s, which is too old", product, meant);
   else if (product)
      tl_sb_printf(&sb, ": %s is %s", product, meant);
   else if (meant)
      tl_sb_printf(&sb, "; did you mean %s?", meant);
   tl_sb_str(&sb, meant && !product ? " tilec knows " : "; tilec knows ");
   for (unsigned i = 0; tl_target_at(i); i++)
      tl_sb_printf(&sb, "%s%s", i ? ", " : "", tl_target_at(i)->arch);
   if (strchr(arch, ','))
      tl_sb_str(&sb, "; one of them, a list goes with --emit=c");
   return tl_sb_cstr(&sb);
}

static TilecStatus
unknown_arch(TlCompilation *comp, const char *arch)
{
   return fail(comp, TILEC_BAD_TARGET, "%s", tl_unknown_arch(comp->arena, arch));
}

static TilecStatus
set_target(TlCompilation *comp, const char *arch, uint32_t ptx_version)
{
   const TlTarget *known = tl_target_for(arch);
   if (!known)
      return unknown_arch(comp, arch);
   if (ptx_version && ptx_version < known->ptx)
      return fail(comp, TILEC_BAD_TARGET, "%s needs a newer PTX version than the one asked for",
                  arch);
   TlTarget *target = tl_new(comp->arena, TlTarget);
   *target = *known;
   if (ptx_version)
      target->max_ptx = ptx_version;
   comp->target = comp->passes.target = target;
   return TILEC_OK;
}

static TilecStatus
choose_target(Run *r)
{
   return set_target(r->comp, r->options->arch ? r->options->arch : "sm_90a",
                     r->options->ptx_version);
}

/* IR text with layouts names the target that they were chosen for. */
static TilecStatus
target_of_text(Run *r)
{
   TlCompilation *comp = r->comp;
   const char *arch = comp->func->target;
   if (!arch || strcmp(arch, comp->target->arch) == 0)
      return TILEC_OK;
   if (r->options->arch && tl_target_find(arch))
      return fail(comp, TILEC_BAD_TARGET, "'%s' was made for %s, not for %s", comp->func->name,
                  arch, comp->target->arch);
   return set_target(comp, arch, r->options->ptx_version);
}

static TilecStatus
read_ir(Run *r)
{
   TlCompilation *comp = r->comp;
   load_located_files(comp);
   if (!tl_read_module(comp->module, comp->sources, comp->file))
      return TILEC_BAD_SOURCE;
   for (TlFunc *f = comp->module->first_func; f; f = f->next)
      if (!comp->func && (!r->options->kernel || strcmp(f->name, r->options->kernel) == 0))
         comp->func = f;
   if (comp->func) {
      tl_vec_push(comp->arena, &comp->entries,
                  (TlEntry){.func = comp->func, .kernel = comp->func->name});
      return target_of_text(r);
   }
   return r->options->kernel
             ? fail(comp, TILEC_NOT_FOUND, "the file has no function '%s'", r->options->kernel)
             : fail(comp, TILEC_NOT_FOUND, "the file has no function");
}

/* ---- passes ---- */
typedef bool Pipeline(TlPassCx *cx, TlFunc *f);

/* Takes every entry in one state to another; the text of the state reached is the stage's. */
static TilecStatus
run_pipeline(Run *r, TilecStage stage, TlState from, Pipeline *pipeline, TlState to)
{
   assert(from <= to);
   TlCompilation *comp = r->comp;
   for (size_t i = 0; i < comp->entries.len; i++) {
      TlFunc *f = comp->entries.data[i].func;
      if (is_cancelled(r))
         return TILEC_CANCELLED;
      if (f->state == from && !pipeline(&comp->passes, f))
         return gave_up(comp);
      if (f->state == to)
         keep_ir(r, stage, f);
      if (f->state == to && r->extra->reached)
         r->extra->reached(r->extra->reached_user, f);
   }
   return diagnosed(comp);
}

static TilecStatus
clean_up(Run *r)
{
   TlCompilation *comp = r->comp;
   TilecStatus status =
      run_pipeline(r, TILEC_STAGE_IR, TL_STATE_TYPED, tl_pipeline_typed, TL_STATE_TYPED);
   for (size_t i = 0; status == TILEC_OK && i < comp->entries.len; i++) {
      TlEntry *e = &comp->entries.data[i];
      if (e->func->state == TL_STATE_TYPED && !r->checks)
         e->typed = r->stop == TILEC_STAGE_IR ? e->func : tl_func_clone(e->func);
      assert(!e->typed || e->typed->state == TL_STATE_TYPED);
   }
   return status;
}

static TilecStatus
place(Run *r)
{
   return run_pipeline(r, TILEC_STAGE_LAID, TL_STATE_TYPED, tl_pipeline_laid, TL_STATE_LAID);
}

/* Live ranges overestimate: of 56 kernels (sums, sorts, products of 1 to 32 warps) with up to 1.28
 * times the registers ptxas 13.0 spilled one, 4 bytes of it; of those with more all but one. */
static void
warn_of_spills(TlCompilation *comp, const TlFunc *f)
{
   const TlOp *at = NULL;
   if (!tl_warnings_has(&comp->diags.warnings, TL_WARNING_SPILLS))
      return;
   uint32_t words = tl_pressure(comp->scratch, f, tl_lowered_words(comp->scratch, f), &at);
   uint32_t registers = tl_registers_at(comp->target, f, at);
   if (words > registers + registers / 4)
      tl_report(&comp->diags, W0403, at && at->range.file ? at->range : f->range, words, registers);
}

static TilecStatus
lower(Run *r)
{
   TlCompilation *comp = r->comp;
   TilecStatus status =
      run_pipeline(r, TILEC_STAGE_LOWERED, TL_STATE_LAID, tl_pipeline_lowered, TL_STATE_LOWERED);
   for (size_t i = 0; status == TILEC_OK && i < comp->entries.len; i++)
      if (comp->entries.data[i].func->state == TL_STATE_LOWERED)
         warn_of_spills(comp, comp->entries.data[i].func);
   return status == TILEC_OK ? diagnosed(comp) : status;
}

/* The command's --passes: these instead of all stages after. */
static TilecStatus
run_asked_passes(Run *r)
{
   TlCompilation *comp = r->comp;
   const char *asked = r->extra->passes;
   if (!asked)
      return TILEC_OK;
   for (size_t i = 0; i < comp->entries.len; i++) {
      TlFunc *f = comp->entries.data[i].func;
      if (!tl_run_named_passes(&comp->passes, f, asked))
         return gave_up(comp);
      keep_ir(r, r->stop, f);
   }
   r->stop = TILEC_STAGE_AST;
   return diagnosed(comp);
}

/* ---- code ---- */
static TilecStatus
generate(Run *r)
{
   TlCompilation *comp = r->comp;
   assert(comp->entries.len > 0);
   const TilecCompileOptions *o = r->options;
   TlCgOptions co = {.target = comp->target,
                     .opt_level = o->opt == TILEC_OPT_DEFAULT ? 3 : (unsigned)o->opt - 1,
                     .line_info = o->debug_info,
                     .want_llvm = wants(r, TILEC_STAGE_LLVM),
                     .verify = r->extra->verify_each,
                     .few_programs = o->few_programs};
   TlCgResult result;
   TlFunc **funcs = tl_new_array(comp->arena, TlFunc *, comp->entries.len);
   for (size_t i = 0; i < comp->entries.len; i++)
      funcs[i] = comp->entries.data[i].func;
   if (!tl_codegen(comp->arena, funcs, (unsigned)comp->entries.len, comp->sources, &comp->diags,
                   &co, &result))
      return gave_up(comp);
   for (size_t i = 0; i < comp->entries.len; i++)
      comp->entries.data[i].few_per_sm = result.few_per_sm[i];
   if (result.llvm)
      keep_text(r, TILEC_STAGE_LLVM, result.llvm, strlen(result.llvm));
   if (r->stop > TILEC_STAGE_LLVM) {
      comp->ptx_version = result.ptx_version;
      keep_text(r, TILEC_STAGE_PTX, result.ptx, result.ptx_len);
   }
   return diagnosed(comp);
}

/* The launch record, where anything was compiled. */
static TilecStatus
describe(Run *r)
{
   TlCompilation *comp = r->comp;
   if (!comp->entries.len)
      return TILEC_OK;
   /* A finished program is read by many threads: nothing may be filled in lazily later. */
   for (uint32_t i = 1; tl_source(comp->sources, i); i++)
      tl_source_line_col(comp->sources, i, 0);
   return tl_describe(comp, r->options) ? TILEC_OK : TILEC_INTERNAL;
}

/* ---- the sequence ---- */
/* Runs a stage, unless one before it failed, was the last asked for, or took too long. */
static void
run(Run *r, TilecStage stage, TilecStatus (*f)(Run *r))
{
   if (r->status == TILEC_OK && stage <= r->stop)
      r->status = is_cancelled(r) ? TILEC_CANCELLED : f(r);
}

/* By its name, or because it begins with a function of IR, which no source does. */
static bool
is_ir_text(const Run *r)
{
   const TlSource *src = tl_source(r->comp->sources, r->comp->file);
   const char *text = src ? src->text : "";
   while (*text && (strchr(" \t\r\n", *text) || tl_starts_with(text, "//")))
      text += *text == '/' ? strcspn(text, "\n") : 1;
   return (r->options->file && tl_ends_with(r->options->file, ".tir")) ||
          tl_starts_with(text, "func @");
}

static TilecStatus
compile(Run *r)
{
   run(r, TILEC_STAGE_DEFAULT, choose_target);
   run(r, TILEC_STAGE_DEFAULT, read_source); /* a file, or text of the caller, to bytes */
   if (is_ir_text(r)) {
      run(r, TILEC_STAGE_IR, read_ir); /* bytes to IR of any state */
   } else {
      run(r, TILEC_STAGE_TOKENS, scan); /* bytes to tokens, where they are asked for */
      run(r, TILEC_STAGE_AST, parse);   /* bytes to AST */
      run(r, TILEC_STAGE_AST, find_names);
      run(r, TILEC_STAGE_IR, load_names);
      /* AST to TYPED: each kernel and signature asked for, or all kernels of the file */
      run(r, TILEC_STAGE_IR, r->checks ? check_kernels : type_kernels);
   }
   run(r, TILEC_STAGE_IR, run_asked_passes);
   run(r, TILEC_STAGE_IR, clean_up);   /* TYPED */
   run(r, TILEC_STAGE_LAID, place);    /* TYPED to LAID */
   run(r, TILEC_STAGE_LOWERED, lower); /* LAID to LOWERED */
   run(r, TILEC_STAGE_LLVM, generate); /* LOWERED to LLVM IR to PTX */
   return r->status == TILEC_OK && !r->checks ? describe(r) : r->status;
}

static Run
start(TlCompilation *comp, const TilecCompileOptions *o, const TlCompileExtra *extra)
{
   Run r = {.comp = comp, .options = o, .extra = extra};
   r.stop = o->stop_after == TILEC_STAGE_DEFAULT ? TILEC_STAGE_PTX : o->stop_after;
   r.deadline_ms = tl_now_ms() + (o->timeout_ms ? o->timeout_ms : DEFAULT_TIMEOUT_MS);
   comp->mem.deadline_ms = r.deadline_ms;
   comp->mem.cancel = o->cancel;
   comp->error[0] = 0;
   comp->diags.warnings_are_errors = o->warnings_are_errors;
   comp->diags.warnings = extra->warnings;
   comp->diags.remarks = o->remarks;
   comp->passes = (TlPassCx){.scratch = comp->scratch,
                             .sources = comp->sources,
                             .diags = &comp->diags,
                             .checks_hints = o->check,
                             .uses_boxes = o->tma == TILEC_TMA_ON && !o->plain_abi,
                             .persists = !o->plain_abi && !extra->has_block_each,
                             .short_programs = o->short_programs,
                             .verify_each = extra->verify_each,
                             .print_after = extra->print_after,
                             .print = extra->print,
                             .print_user = extra->print_user};
   return r;
}

/* What reads the result takes memory at any time. */
static void
end_deadline(TlCompilation *comp)
{
   comp->mem.deadline_ms = 0;
   comp->mem.cancel = NULL;
}

/* What was being compiled when memory or time ran out. */
static TlRange
last_place(const TlCompilation *comp)
{
   if (comp->entries.len && comp->entries.data[0].func)
      return comp->entries.data[0].func->range;
   TlRange here = comp->sema ? comp->sema->b.range : (TlRange){0};
   return here.file ? here : tl_range(comp->file, 0, 0);
}

static void
report_late(TlCompilation *comp, const TilecCompileOptions *o)
{
   unsigned ms = o->timeout_ms ? o->timeout_ms : DEFAULT_TIMEOUT_MS;
   tl_report(&comp->diags, E0266, last_place(comp), ms);
}

/* After the last stage that ran; a deadline seen between two of them names a place, too. */
static TilecStatus
ended(TlCompilation *comp, const TilecCompileOptions *o, TilecStatus status)
{
   end_deadline(comp);
   if (status == TILEC_CANCELLED && comp->file && !(o->cancel && *o->cancel))
      report_late(comp, o);
   return status;
}

/* After the jump: an error that names the place, in the little memory kept for it. */
static TilecStatus
ran_out(TlCompilation *comp, const TilecCompileOptions *o)
{
   enum { KEPT = 4 << 20 };
   bool is_late = comp->mem.is_late;
   size_t limit = comp->mem.limit_bytes;
   TilecStatus status = is_late ? TILEC_CANCELLED : TILEC_NO_MEMORY;
   comp->mem.is_late = false;
   comp->mem.deadline_ms = 0;
   comp->mem.cancel = NULL;
   if (comp->mem.fail_at >= 0 || setjmp(comp->oom) || !comp->file || (o->cancel && *o->cancel))
      return status;
   if (limit)
      comp->mem.limit_bytes = limit + KEPT;
   if (is_late)
      report_late(comp, o);
   else
      tl_report(&comp->diags, E0232, last_place(comp), limit >> 20);
   return status;
}

TilecStatus
tl_compile(TlCompilation *comp, const TilecCompileOptions *o, const TlCompileExtra *extra)
{
   if (setjmp(comp->oom))
      return ran_out(comp, o);
   Run r = start(comp, o, extra);
   return ended(comp, o, compile(&r));
}

TilecStatus
tl_check(TlCompilation *comp, const TilecCompileOptions *o, const TlCompileExtra *extra)
{
   if (setjmp(comp->oom))
      return ran_out(comp, o);
   Run r = start(comp, o, extra);
   r.checks = true;
   r.stop = r.stop < TILEC_STAGE_LOWERED ? r.stop : TILEC_STAGE_LOWERED;
   return ended(comp, o, compile(&r));
}

TilecStatus
tl_load_names(TlCompilation *comp, const TilecCompileOptions *o)
{
   static const TlCompileExtra none;
   if (setjmp(comp->oom))
      return ran_out(comp, o);
   Run r = start(comp, o, &none);
   r.stop = TILEC_STAGE_IR;
   run(&r, TILEC_STAGE_DEFAULT, read_source);
   run(&r, TILEC_STAGE_AST, parse);
   run(&r, TILEC_STAGE_IR, load_names);
   end_deadline(comp);
   return r.status;
}
