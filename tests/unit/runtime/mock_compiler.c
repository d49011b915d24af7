/* See mock_compiler.h.  The record it makes is the point: facts of the signature become facts of
 * the arguments, as the real compiler's do. */
#include "mock_compiler.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

MockCompiler mock;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct TilecSession {
   TilecSessionOptions options;
   bool no_memory;
};
struct TilecListing {
   const TilecKernelDecl *decls;
};
struct TilecProgram {
   TilecImageInfo info;
   TilecKernelInfo kernel;
   TilecArgInfo args[32];
   char text[32][80];
   char json[16384];
   size_t json_len;
};

size_t
tilec_build_id(char *buffer, size_t bytes)
{
   return (size_t)snprintf(buffer, bytes, "%s", mock.build ? mock.build : "mock 1");
}

const char *
tilec_version(void)
{
   return "mock";
}

TilecStatus
tilec_session_new(const TilecSessionOptions *options, TilecSession **out)
{
   *out = calloc(1, sizeof **out);
   if (!*out)
      return TILEC_NO_MEMORY;
   (*out)->options = *options;
   mock.alive++;
   return TILEC_OK;
}

static void
gone(void *object)
{
   if (!object)
      return;
   mock.alive--; /* no lock: a forked child frees as well */
   free(object);
}

void
tilec_session_free(TilecSession *session)
{
   gone(session);
}

const char *
tilec_session_error(const TilecSession *session)
{
   return session->no_memory ? "mock: out of memory" : "mock: cannot read the file";
}

TilecStatus
tilec_list_kernels(TilecSession *session, const TilecCompileOptions *options, TilecListing **out)
{
   *out = NULL;
   if (options->file && strcmp(options->file, "missing.tile") == 0)
      return TILEC_IO;
   *out = calloc(1, sizeof **out);
   session->no_memory = !*out;
   if (!*out)
      return TILEC_NO_MEMORY;
   (*out)->decls = options->num_values && mock.describe ? mock.describe(options) : mock.decls;
   mock.alive++;
   return TILEC_OK;
}

void
tilec_listing_free(TilecListing *listing)
{
   gone(listing);
}

uint32_t
tilec_listing_count(const TilecListing *listing)
{
   (void)listing;
   return mock.num_decls;
}

const TilecKernelDecl *
tilec_listing_kernel(const TilecListing *listing, uint32_t index)
{
   return index < mock.num_decls ? &listing->decls[index] : NULL;
}

/* One parameter's record from its item of the signature. */
static void
fill_arg(TilecArgInfo *a, const TilecParamDecl *d, char *item)
{
   a->name = d->name;
   a->type = item;
   a->is_const = mock.is_const;
   char *colon = strchr(item, ':');
   if (d->is_constexpr) {
      a->type = "constexpr";
      a->is_constexpr = true;
      a->value = "128";
   } else if (strcmp(item, "None") == 0) {
      a->value = "None";
   } else if (colon) {
      *colon = 0;
      if (strcmp(colon + 1, "1") == 0)
         a->value = "1";
      else
         a->divisible = (uint32_t)atoi(colon + 1);
   }
}

static bool
put_json(void *user, const char *text, size_t len)
{
   TilecProgram *p = user;
   if (p->json_len + len > sizeof p->json)
      return false;
   memcpy(p->json + p->json_len, text, len);
   p->json_len += len;
   return true;
}

TilecStatus
tilec_compile(TilecSession *session, const TilecCompileOptions *o, TilecProgram **out)
{
   pthread_mutex_lock(&lock);
   mock.compiles++;
   mock.stop_after = o->stop_after;
   mock.num_warps = o->num_warps;
   mock.tma = o->tma;
   mock.short_programs = o->short_programs;
   mock.few_programs = o->few_programs;
   mock.lints = o->lints;
   snprintf(mock.signature, sizeof mock.signature, "%s", o->signature);
   snprintf(mock.arch, sizeof mock.arch, "%s", o->arch ? o->arch : "");
   mock.defines[0] = 0;
   for (size_t i = 0; i < o->num_defines; i++)
      snprintf(mock.defines + strlen(mock.defines), sizeof mock.defines - strlen(mock.defines),
               "%s=%s;", o->defines[i].name, o->defines[i].value);
   TilecStatus fail = mock.fail;
   mock.fail = TILEC_OK;
   for (size_t i = 0; i < o->num_defines && mock.bad_define; i++) {
      size_t n = strlen(o->defines[i].name);
      if (strncmp(mock.bad_define, o->defines[i].name, n) == 0 &&
          strcmp(mock.bad_define + n + 1, o->defines[i].value) == 0)
         fail = TILEC_BAD_SOURCE;
   }
   pthread_mutex_unlock(&lock);
   while (mock.hold) {
      struct timespec pause = {.tv_nsec = 1000000};
      nanosleep(&pause, NULL);
   }
   TilecProgram *p = calloc(1, sizeof *p);
   const TilecKernelDecl *decl = NULL;
   session->no_memory = !p;
   if (!p)
      return TILEC_NO_MEMORY;
   mock.alive++;
   for (uint32_t i = 0; i < mock.num_decls; i++)
      if (strcmp(mock.decls[i].name, o->kernel) == 0)
         decl = &mock.decls[i];
   if (fail || !decl) {
      TilecDiag d = {.severity = TILEC_SEVERITY_ERROR,
                     .text = "t",
                     .rendered = "x.tile:3:9: error[E0204]: unknown name 'blok'\n"};
      if (fail == TILEC_BAD_SOURCE)
         session->options.on_diag(session->options.user, &d);
      gone(p);
      *out = NULL;
      return fail;
   }
   const char *at = o->signature;
   for (uint32_t i = 0; i < decl->num_params; i++) {
      size_t len = strcspn(at, ",");
      snprintf(p->text[i], sizeof p->text[i], "%.*s", (int)len, at);
      at += len + (at[len] != 0);
      fill_arg(&p->args[i], &decl->params[i], p->text[i]);
   }
   uint32_t warps = o->num_warps ? o->num_warps : 4;
   p->kernel = (TilecKernelInfo){.name = decl->name,
                                 .entry = decl->name,
                                 .num_warps = warps,
                                 .threads = 32 * warps,
                                 .cluster = {1, 1, 1},
                                 .args = p->args,
                                 .num_args = decl->num_params,
                                 .hidden = mock.map,
                                 .num_hidden = mock.map && o->tma == TILEC_TMA_ON,
                                 .few_per_sm = mock.few_per_sm};
   if (!o->short_programs && o->tma == TILEC_TMA_ON)
      p->kernel.short_when = mock.short_when;
   p->info = (TilecImageInfo){.format = TILEC_IMAGE_FORMAT,
                              .arch = "sm_90a",
                              .ptx_version = 80,
                              .kernels = &p->kernel,
                              .num_kernels = 1};
   TilecDiag warning = {.severity = TILEC_SEVERITY_WARNING, .text = "w", .rendered = mock.warning};
   if (mock.warning)
      session->options.on_diag(session->options.user, &warning);
   tilec_image_write_json(&p->info, put_json, p);
   *out = p;
   return TILEC_OK;
}

void
tilec_program_free(TilecProgram *program)
{
   gone(program);
}

const char *
tilec_program_text(const TilecProgram *program, TilecStage stage, size_t *len)
{
   static const char ptx[] = "// .entry k .entry other ";
   (void)program;
   if (len)
      *len = sizeof ptx - 1;
   return stage == TILEC_STAGE_PTX ? ptx : NULL;
}

const char *
tilec_program_metadata(const TilecProgram *program, size_t *len)
{
   *len = program->json_len;
   return program->json;
}

bool
tilec_program_import(const TilecProgram *program, uint32_t index, TilecImport *out)
{
   (void)program;
   if (index >= mock.num_imports)
      return false;
   *out = mock.imports[index];
   return true;
}

const char *
tilec_listing_source(const TilecListing *listing, size_t *len)
{
   (void)listing;
   *len = 8;
   return "the text";
}

const TilecImageInfo *
tilec_program_info(const TilecProgram *program)
{
   return &program->info;
}

TilecStatus
tilec_program_run_cpu(const TilecProgram *program, const TilecHostLaunch *launch, TilecFault *fault)
{
   (void)program;
   return mock.run(launch, fault);
}
