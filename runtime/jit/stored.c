/* Entries of the disk cache: key, parts, and the check that imported files are still what they
 * were.  An import is kept as its path and the digest of its text; a path that was looked at and
 * had no file is kept as well, since a file that appears there would be taken now. */
#include "jit/stored.h"

#include "jit/options.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART_PTX, PART_JSON, PART_CUBIN, PART_DIAGS, PART_IMPORTS };
enum { MAX_IMPORT_BYTES = 16 << 20 };

void
tl_bytes_add(TlBytes *b, const void *data, size_t len)
{
   if (b->failed || !len)
      return;
   assert(b->len <= b->room);
   if (len > b->room - b->len) {
      size_t room = (b->room + len) * 2;
      unsigned char *more = realloc(b->data, room);
      if (!more) {
         b->failed = true;
         return;
      }
      b->data = more;
      b->room = room;
   }
   memcpy(b->data + b->len, data, len);
   b->len += len;
}

void
tl_bytes_number(TlBytes *b, uint64_t v)
{
   unsigned char bytes[8];
   for (int i = 0; i < 8; i++)
      bytes[i] = (unsigned char)(v >> 8 * i);
   tl_bytes_add(b, bytes, sizeof bytes);
}

void
tl_bytes_text(TlBytes *b, const char *text, size_t len)
{
   if (text && len == TILEC_STRLEN)
      len = strlen(text);
   assert(!text || len != UINT64_MAX); /* which stands for NULL */
   tl_bytes_number(b, text ? len : UINT64_MAX);
   if (text)
      tl_bytes_add(b, text, len);
}

static void
add_string(TlBytes *b, const char *text)
{
   tl_bytes_text(b, text, TILEC_STRLEN);
}

/* ---- Key ------------------------------------------------------------------------------------- */

/* Names of files are part of it: diagnostics and line tables show them. */
bool
tl_stored_key(const TilecCompileOptions *o, uint8_t key[TL_CACHE_KEY_BYTES])
{
   char build[256];
   TlBytes b = {0};
   if (!tilec_build_id(build, sizeof build) || !o->source || !o->kernel)
      return false;
   add_string(&b, "tilec kernel 1");
   add_string(&b, build);
   tl_options_key(o, &b);
   bool ok = !b.failed;
   assert(!ok || b.len > 0);
   if (ok)
      tilec_digest(b.data, b.len, key);
   free(b.data);
   return ok;
}

/* ---- Reading parts --------------------------------------------------------------------------- */

typedef struct Reader {
   const unsigned char *at;
   size_t left;
} Reader;

static bool
take(Reader *r, size_t len, const unsigned char **out)
{
   if (len > r->left)
      return false;
   *out = r->at;
   r->at += len;
   r->left -= len;
   return true;
}

static bool
take_number(Reader *r, uint64_t *out)
{
   const unsigned char *p;
   if (!take(r, 8, &p))
      return false;
   *out = 0;
   for (int i = 0; i < 8; i++)
      *out |= (uint64_t)p[i] << 8 * i;
   return true;
}

/* As a string of malloc; NULL at the end or when memory ran out. */
static char *
take_text(Reader *r)
{
   uint64_t len;
   const unsigned char *p;
   if (!take_number(r, &len) || len > r->left || !take(r, (size_t)len, &p))
      return NULL;
   char *text = malloc((size_t)len + 1);
   if (text) {
      memcpy(text, p, (size_t)len);
      text[len] = 0;
   }
   return text;
}

/* ---- Imports --------------------------------------------------------------------------------- */

static bool
read_text(const char *path, void **text, size_t *len)
{
   struct stat st;
   int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe in its place may block */
   bool ok =
      fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MAX_IMPORT_BYTES;
   unsigned char *block = ok ? malloc((size_t)st.st_size + 1) : NULL;
   size_t at = 0;
   ok = block != NULL;
   while (ok && at <= (size_t)st.st_size) {
      ssize_t n = read(fd, block + at, (size_t)st.st_size + 1 - at);
      ok = n >= 0;
      if (n <= 0)
         break;
      at += (size_t)n;
   }
   if (fd >= 0)
      close(fd);
   if (!ok) {
      free(block);
      return false;
   }
   *text = block;
   *len = at;
   return true;
}

static void
put_import(TlBytes *b, const TilecImport *i)
{
   uint8_t digest[TILEC_DIGEST_BYTES] = {0};
   add_string(b, i->path);
   tl_bytes_number(b, i->text != NULL);
   if (i->text)
      tilec_digest(i->text, i->len, digest);
   tl_bytes_add(b, digest, sizeof digest);
}

/* The text of a file, or of a variable of the environment ("$NAME"), into memory of malloc. */
static bool
read_import(const char *path, void **text, size_t *len)
{
   if (path[0] != '$')
      return read_text(path, text, len);
   const char *value = getenv(path + 1);
   *text = value ? strdup(value) : NULL;
   *len = *text ? strlen(value) : 0;
   return *text != NULL;
}

static bool
import_is_same(Reader *r)
{
   uint8_t digest[TILEC_DIGEST_BYTES];
   uint64_t was_there = 0;
   const unsigned char *want;
   void *text = NULL;
   size_t len;
   char *path = take_text(r);
   bool ok = path && take_number(r, &was_there) && take(r, sizeof digest, &want);
   if (ok) {
      bool is_there = read_import(path, &text, &len);
      ok = is_there == (was_there != 0);
      if (ok && is_there) {
         tilec_digest(text, len, digest);
         ok = memcmp(digest, want, sizeof digest) == 0;
      }
   }
   free(text);
   free(path);
   return ok;
}

/* In a cubin's place: an assembler has found errors in the PTX, and asking again is of no use. */
static const unsigned char refused[1];

/* ---- Entries --------------------------------------------------------------------------------- */

bool
tl_stored_get(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES], TlStored *out)
{
   *out = (TlStored){0};
   if (!tl_cache_get(cache, key, &out->entry))
      return false;
   const TlCachePart *part = out->entry.part;
   Reader imports = {part[PART_IMPORTS].data, part[PART_IMPORTS].len};
   while (imports.left)
      if (!import_is_same(&imports)) {
         tl_stored_free(out);
         return false;
      }
   out->ptx = part[PART_PTX].data;
   out->ptx_len = part[PART_PTX].len;
   out->json = part[PART_JSON].data;
   out->json_len = part[PART_JSON].len;
   out->lacks_cubin = part[PART_CUBIN].len == 0;
   if (part[PART_CUBIN].len > sizeof refused) {
      out->cubin = part[PART_CUBIN].data;
      out->cubin_len = part[PART_CUBIN].len;
   }
   return true;
}

void
tl_stored_free(TlStored *stored)
{
   free(stored->made);
   tl_cache_entry_free(&stored->entry);
   *stored = (TlStored){0};
}

void
tl_stored_diag(TlBytes *b, const TilecDiag *d)
{
   if (d->severity == TILEC_SEVERITY_ERROR || !d->rendered)
      return;
   tl_bytes_number(b, d->severity);
   add_string(b, d->rendered);
}

void
tl_stored_replay(const TlStored *stored, TilecDiagFn *fn, void *user)
{
   Reader r = {stored->entry.part[PART_DIAGS].data, stored->entry.part[PART_DIAGS].len};
   uint64_t severity;
   while (r.left && take_number(&r, &severity)) {
      char *text = take_text(&r);
      if (!text)
         return;
      TilecDiag d = {.severity = (TilecSeverity)severity, .text = text, .rendered = text};
      fn(user, &d);
      free(text);
   }
}

bool
tl_stored_put(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES], const TlStoredParts *p,
              char *why)
{
   TlBytes imports = {0};
   for (size_t i = 0; i < p->num_imports; i++)
      put_import(&imports, &p->imports[i]);
   TlCachePart part[TL_CACHE_PARTS] = {
      [PART_PTX] = {p->ptx, p->ptx_len},
      [PART_JSON] = {p->json, p->json_len},
      [PART_CUBIN] = {p->cubin ? p->cubin : refused, p->cubin        ? p->cubin_len
                                                     : p->is_refused ? sizeof refused
                                                                     : 0},
      [PART_DIAGS] = {p->diags->data, p->diags->len},
      [PART_IMPORTS] = {imports.data, imports.len},
   };
   bool ok = !imports.failed && !p->diags->failed;
   if (!ok)
      snprintf(why, TL_CACHE_WHY, "out of memory");
   ok = ok && tl_cache_put(cache, key, part, why);
   free(imports.data);
   return ok;
}

void
tl_stored_assemble(TlCache *cache, const uint8_t key[TL_CACHE_KEY_BYTES], const char *ptxas,
                   const TilecImageInfo *info, TlStored *stored, char *why)
{
   why[0] = 0;
   if (!stored->lacks_cubin || !cache->dir || !ptxas)
      return;
   assert(!stored->made);
   TlCachePart part[TL_CACHE_PARTS];
   memcpy(part, stored->entry.part, sizeof part);
   size_t len = 0;
   switch (tl_ptxas(cache, ptxas, info, stored->ptx, stored->ptx_len, &stored->made, &len, why)) {
   case TL_UNDECIDED:
      return;
   case TL_REFUSED:
      part[PART_CUBIN] = (TlCachePart){refused, sizeof refused};
      break;
   case TL_ASSEMBLED:
      part[PART_CUBIN] = (TlCachePart){stored->made, len};
      stored->cubin = stored->made;
      stored->cubin_len = len;
      break;
   }
   stored->lacks_cubin = false;
   tl_cache_put(cache, key, part, why);
}
