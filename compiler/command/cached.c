/* Compiling for `run` with the disk cache.  Only the command looks at the environment: the folder
 * and the assembler are found here and given to the library. */
#include "command/cached.h"

#include "base/clock.h"
#include "command/ptxas.h"
#include "jit/stored.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOCK_MS = 10000 };

const char *
tl_cmd_cache_dir(TlCommand *c)
{
   const char *dir = tl_option(&c->cl, TL_OPT_CACHE_DIR);
   if (tl_option(&c->cl, TL_OPT_NO_CACHE))
      return NULL;
   if (dir)
      return dir;
   /* a relative path there is to be ignored: XDG Base Directory specification */
   const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
   if (xdg && xdg[0] == '/')
      return tl_arena_printf(c->arena, "%s/tilec", xdg);
   return home && home[0] == '/' ? tl_arena_printf(c->arena, "%s/.cache/tilec", home) : NULL;
}

/* Options that ask for more than PTX, or for messages in a form that is not kept. */
static bool
may_skip_compiling(TlCommand *c)
{
#define SHOWS_CODE(id)
#define SHOWS_IMAGE(id)
#define SHOWS_SHOWN(id) TL_OPT_##id,
#define SHOWS_NEITHER(id)
   static const TlOptionId shows[] = {
#define TILEC_OPTION(field, result, source, how, id, ...) SHOWS_##result(id)
#define TILEC_LIST(field, count, result, source, how, id, ...) SHOWS_##result(id)
#define TILEC_FIELD(field, result, source)
#define TILEC_FIELDS(field, count, result, source)
#include "tilec/compile_options.def"
      TL_OPT_STATS,       TL_OPT_SAVE_TEMPS,   TL_OPT_PRINT_AFTER,
      TL_OPT_VERIFY_EACH, TL_OPT_ERROR_FORMAT, TL_OPT_ERROR_LIMIT,
   };
   for (size_t i = 0; i < sizeof shows / sizeof shows[0]; i++)
      if (tl_option(&c->cl, shows[i]))
         return false;
   return true;
}

static void
print_kept(void *user, const TilecDiag *d)
{
   (void)user;
   fputs(d->rendered, stderr);
}

static void *
copy(TlCompilation *comp, const void *data, size_t len)
{
   return memcpy(tl_new_array(comp->arena, unsigned char, len), data, len);
}

static const char *
assembler(TlCommand *c)
{
   const char *path;
   return tl_ptxas_find(c, &path) ? path : NULL;
}

/* Everything but the record is copied into the compilation's memory. */
static bool
take(TlCommand *c, TlCompilation *comp, TlCache *cache, const uint8_t *key, TlStored *s,
     TlCmdImage *image)
{
   char why[TL_CACHE_WHY];
   if (tilec_image_read_json(s->json, s->json_len, &image->info, NULL, 0) != TILEC_OK)
      return false;
   if (s->lacks_cubin)
      tl_stored_assemble(cache, key, assembler(c), image->info, s, why);
   comp->info = *image->info;
   comp->text[TILEC_STAGE_PTX] = tl_arena_strndup(comp->arena, s->ptx, s->ptx_len);
   comp->text_len[TILEC_STAGE_PTX] = s->ptx_len;
   comp->last = TILEC_STAGE_PTX;
   comp->json = tl_arena_strndup(comp->arena, s->json, s->json_len);
   comp->json_len = s->json_len;
   if (s->cubin) {
      image->cubin = copy(comp, s->cubin, s->cubin_len);
      image->cubin_len = s->cubin_len;
   }
   tl_stored_replay(s, print_kept, NULL);
   return true;
}

static void
keep_diag(TlCompilation *comp, const TlDiag *d, TlBytes *out)
{
   assert(d->severity != TL_SEV_NOTE); /* notes belong to the diagnostic before them */
   TlSb sb;
   tl_sb_init(&sb, comp->arena);
   tl_diag_render(&comp->diags, d, false, &sb);
   TilecDiag kept = {.severity =
                        d->severity == TL_SEV_ERROR ? TILEC_SEVERITY_ERROR : TILEC_SEVERITY_WARNING,
                     .rendered = tl_sb_cstr(&sb)};
   tl_stored_diag(out, &kept);
}

static void
keep(TlCommand *c, TlCache *cache, const uint8_t *key, TlCompilation *comp, TlCmdImage *image)
{
   assert(comp->text[TILEC_STAGE_PTX] && comp->json);
   char why[TL_CACHE_WHY] = "";
   TlBytes diags = {0};
   void *made = NULL;
   for (const TlDiag *d = comp->diags.first; d; d = d->next)
      keep_diag(comp, d, &diags);
   TlStoredParts p = {.ptx = comp->text[TILEC_STAGE_PTX],
                      .ptx_len = comp->text_len[TILEC_STAGE_PTX],
                      .json = comp->json,
                      .json_len = comp->json_len,
                      .diags = &diags,
                      .imports = comp->imports.data,
                      .num_imports = comp->imports.len};
   const char *ptxas = assembler(c);
   if (ptxas)
      p.is_refused = tl_ptxas(cache, ptxas, &comp->info, p.ptx, p.ptx_len, &made, &p.cubin_len,
                              why) == TL_REFUSED;
   if (made) {
      p.cubin = image->cubin = copy(comp, made, p.cubin_len);
      image->cubin_len = p.cubin_len;
   }
   free(made);
   if (!tl_stored_put(cache, key, &p, why))
      tl_cmd_error("note: the kernel is not kept for the next run: %s", why);
   free(diags.data);
}

/* Waits for another process that makes the same kernel, for half of the time at most; the rest is
 * left for compiling. */
static int
lock_in_time(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES], TilecCompileOptions *o)
{
   uint32_t half = o->timeout_ms / 2;
   double begin_ms = tl_now_ms();
   int lock = tl_cache_lock(cache, key, half && half < LOCK_MS ? half : LOCK_MS);
   if (o->timeout_ms) {
      double left_ms = (double)o->timeout_ms - (tl_now_ms() - begin_ms);
      o->timeout_ms = left_ms > 1 ? (uint32_t)left_ms : 1;
   }
   return lock;
}

TilecStatus
tl_cmd_compile_cached(TlCommand *c, TlCompilation *comp, const TilecCompileOptions *options,
                      const TlCompileExtra *extra, TlCmdImage *image)
{
   TilecCompileOptions o = *options;
   TlCache cache = {.dir = tl_cmd_cache_dir(c), .max_bytes = TL_CACHE_DEFAULT_BYTES};
   uint8_t key[TL_CACHE_KEY_BYTES];
   TlStored stored;
   const char *why;
   *image = (TlCmdImage){0};
   bool use = cache.dir && may_skip_compiling(c) && strcmp(o.file, "-") != 0 &&
              tl_read_file(c->arena, o.file, &o.source, &o.source_bytes, &why) &&
              tl_stored_key(&o, key);
   int lock = -1;
   for (int round = 0; use && round < 2; round++) {
      if (tl_stored_get(&cache, key, &stored)) {
         bool ok = take(c, comp, &cache, key, &stored, image);
         tl_stored_free(&stored);
         if (ok) {
            tl_cache_unlock(lock);
            return TILEC_OK;
         }
      }
      if (round == 0 && (lock = lock_in_time(&cache, key, &o)) < 0)
         break;
   }
   TilecStatus status = tl_compile(comp, &o, extra);
   tl_cmd_diagnostics(c, comp);
   if (status == TILEC_OK && use && !setjmp(comp->oom))
      keep(c, &cache, key, comp, image);
   tl_cache_unlock(lock);
   return status;
}

void
tl_cmd_image_free(TlCmdImage *image)
{
   tilec_image_info_free(image->info);
}
