/* The disk cache of compiled kernels for the subcommands that run them. */
#ifndef TL_COMMAND_CACHED_H
#define TL_COMMAND_CACHED_H

#include "command/command.h"
#include "jit/cache.h"

/* The folder: --cache-dir, else $XDG_CACHE_HOME/tilec, else ~/.cache/tilec; NULL with --no-cache or
 * when there is none. */
const char *tl_cmd_cache_dir(TlCommand *c);

/* As tl_compile to PTX, and prints the diagnostics; but takes PTX, cubin and launch record from the
 * cache, and keeps them there.  Then comp has these and nothing of the stages before.  With
 * options that show how the compiler works (--stats, -R, --emit …) it always compiles.
 * Free *image with tl_cmd_image_free, after the last use of comp. */
typedef struct TlCmdImage {
   const void *cubin; /* NULL: load the PTX */
   size_t cubin_len;
   TilecImageInfo *info; /* comp->info is a copy of it; NULL: compiled */
} TlCmdImage;
TilecStatus tl_cmd_compile_cached(TlCommand *c, TlCompilation *comp,
                                  const TilecCompileOptions *options, const TlCompileExtra *extra,
                                  TlCmdImage *image);
void tl_cmd_image_free(TlCmdImage *image);

#endif
