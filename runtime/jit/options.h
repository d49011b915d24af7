/* What the JIT does with the options of a compilation: copies, keys.  Each field's row in
 * tilec/compile_options.def decides; a field without a row does not compile. */
#ifndef TL_JIT_OPTIONS_H
#define TL_JIT_OPTIONS_H

#include "jit/stored.h"
#include "jit/texts.h"
#include "tilec/runtime.h"
#include "tilec/tilec.h"

/* The fields of the same name; defines differ in form and are left out. */
TilecCompileOptions tl_options_of_source(const TilecSource *source);
TilecSource tl_source_of_options(const TilecCompileOptions *options);

/* Copies every text that the source points to but those of its lists; false: no memory. */
bool tl_source_keep_texts(TilecSource *source, TlTexts *texts);

/* What is compiled depends on these bytes, and on imported files. */
void tl_options_key(const TilecCompileOptions *options, TlBytes *key);

/* The speed of what is compiled depends on these, and on the texts compiled; `hash` goes in. */
uint64_t tl_source_hash(const TilecSource *source, uint64_t hash);
uint64_t tl_mix_text(uint64_t hash, const char *text);

#endif
